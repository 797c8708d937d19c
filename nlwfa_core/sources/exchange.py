"""Read automata that other programs wrote as text: OpenFst's text format with its tables of
symbols, and our own JSON of weights.

`export.automaton_formats` writes both; these files are read back as the same automaton (OpenFst's
weights are logarithms, so their last digit may differ). `pautomac` reads PAutomaC's models. Source:
the OpenFst manual, https://www.openfst.org, *Quick tour*.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from ..errors import FormatError, RecipeError, check_one_of, check_types, quoted
from ..files import from_json
from ..limits import WHOLE_FILE, check_limit
from ..models.wfa import WFA
from ..strings.words import Alphabet, check_written
from .other_files import check_no_other_file
from .string_files import bytes_of, clean, first_rows

JSON_FIELDS = ("initial", "transitions", "termination")
# What the numbers in a file of OpenFst are -> the weight of a path that such a number stands for.
SEMIRINGS = ("log", "real")
LABELS = ("numbers", "names")
READS = "import reads JSON, PAutomaC, OpenFst and JFLAP"
EPSILON = 0  # the label of an arc without a symbol


def automaton_format(data: bytes) -> str:
    """Recognise an automaton from the beginning of its file: "json", "pautomac" or "jflap", and ""
    for anything else.

    >>> (
    ...     automaton_format(b'{"initial": [1]}'),
    ...     automaton_format(b"I: (state)\\n"),
    ...     automaton_format(b"0 1 1\\n"),
    ... )
    ('json', 'pautomac', '')
    """
    head = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"{"):
        return "json"
    if re.match(rb"(<\?xml[^>]*>|<!--.*?-->|\s)*<structure\b", head, re.DOTALL):
        return "jflap"
    return "pautomac" if re.match(rb"[IFST]\s*:", head) else ""


@check_types
def read_weights_json(data: bytes | Path) -> WFA:
    """Read an automaton from JSON with the fields "initial", "transitions", "termination" and,
    optionally, "symbols" and "unknown", the symbol that stands for all others.

    `nlwfa export --to json` writes this form, with all digits of every weight.

    >>> read_weights_json(
    ...     b'{"initial": [1], "transitions": [[[0.5]]], "termination": [0.5], "symbols": ["a"]}'
    ... )("aa")
    0.125

    `data`: the file. Without "symbols", the symbols are the numbers 0, 1, …

    Raises RecipeError if the file is not JSON, a field is missing, the shapes do not match, a
    number is not finite, or the automaton is too large.
    """
    content = from_json(clean(bytes_of(data)))
    if not isinstance(content, dict) or not all(name in content for name in JSON_FIELDS):
        raise FormatError(
            f"an automaton in JSON must be an object with the fields {', '.join(JSON_FIELDS)}"
        )
    arrays = {}
    for name in JSON_FIELDS:
        try:
            array = np.array(content[name], dtype=np.float64)
        except (ValueError, TypeError, OverflowError):
            raise FormatError(f"{name} must be lists of numbers, all of the same length") from None
        if not _holds_numbers(content[name]):
            raise FormatError(f"{name} must hold numbers, not text, true or false")
        if not np.isfinite(array).all():
            raise FormatError(
                f"{name} must hold finite numbers; got {array[~np.isfinite(array)][0]}"
            )
        arrays[name] = array
    if any(array.ndim == 0 for array in arrays.values()):
        raise FormatError(f"{', '.join(JSON_FIELDS)} must be lists of numbers")
    num_symbols = len(arrays["transitions"])
    check_size(num_symbols, len(arrays["initial"]))
    symbols = content.get("symbols")
    if symbols is not None and not (
        isinstance(symbols, list) and all(isinstance(symbol, str) for symbol in symbols)
    ):
        raise FormatError("symbols must be a list of strings")
    if not isinstance(content.get("unknown"), str | None):
        raise FormatError("unknown must be one of the symbols, as text")
    try:
        alphabet = (
            Alphabet.numbered(num_symbols)
            if symbols is None
            else Alphabet(tuple(symbols), content.get("unknown"))
        )
        check_written(alphabet)
        return WFA(arrays["initial"], arrays["transitions"], arrays["termination"], alphabet)
    except RecipeError as error:
        raise FormatError(str(error)) from None


@check_types
def read_symbol_table(data: bytes | Path) -> dict[str, int]:
    """Read a symbol table of OpenFst: a line for each symbol, with its name and number. Number 0 is
    ε.

    >>> read_symbol_table(b"<eps> 0\\na 1\\nb 2\\n")
    {'<eps>': 0, 'a': 1, 'b': 2}

    Raises FormatError if a line is not a name and a number, or a name or a number occurs twice.
    """
    table: dict[str, int] = {}
    for line, row in enumerate(clean(bytes_of(data)).decode("utf-8").split("\n"), start=1):
        fields = row.split()
        if not fields:
            continue
        if len(fields) != 2 or not fields[1].isdecimal() or len(fields[1]) > 9:
            raise FormatError(f"expected a symbol and its number; got {quoted(row)}", line)
        if fields[0] in table or int(fields[1]) in table.values():
            raise FormatError(f"a symbol or number occurs twice: {quoted(row)}", line)
        table[fields[0]] = int(fields[1])
    return table


@check_types
def read_openfst(
    data: bytes | Path,
    symbols: dict[str, int] | None = None,
    semiring: str = "log",
    labels: str = "numbers",
) -> WFA:
    """Read an acceptor in OpenFst's text form, as `fstprint --acceptor` writes it.

    The weight of a string is the sum of the weights of its paths. Arcs with ε are eliminated: if E
    is their matrix, E* = (I − E)⁻¹ sums over all paths without a symbol, so α₀ᵀ = e₀ᵀ E* and A_σ =
    B_σ E*, where B_σ has the arcs of σ and e₀ stands for the initial state. A state from which no
    symbol or end follows, such as the initial state that our own export adds, is left out.

    >>> half = read_openfst(b"0 0 1 0.693147180559945\\n0 0.693147180559945\\n")  # −ln ½
    >>> round(half("0 0"), 6)
    0.125

    `data`: a line `state state label [weight]` for each arc and `state [weight]` for each final
    state. The first line begins with the initial state. Arcs may also have two equal labels, as
    `fstprint` writes them by default. `symbols`: the name and number of each symbol, from
    `read_symbol_table`. Without it, label n is symbol number n − 1, as our export writes it.
    `semiring`: "log" if a number w stands for the weight e⁻ʷ, as in OpenFst's log semiring; "real"
    if it is the weight. An arc without a number has the weight 1. `labels`: whether arcs have the
    symbols' "numbers" or, as from `fstprint --isymbols`, their "names".

    Raises FormatError if a line is malformed, a label is unknown, an arc has two different labels,
    it is unclear whether numbers are labels or weights, or the automaton would be too large. Raises
    RecipeError if `labels` is "names" but there is no table, or the sum over paths of ε diverges.
    """
    check_one_of("semiring", semiring, SEMIRINGS)
    check_one_of("labels", labels, LABELS)
    if labels == "names" and symbols is None:
        raise RecipeError("labels = 'names' needs the symbol table")
    cleaned = clean(bytes_of(data))
    check_no_other_file(first_rows(cleaned), READS)
    arcs, ends, states = _openfst_rows(
        cleaned.decode("utf-8"), semiring, symbols if labels == "names" else None
    )
    size = len(states)
    used = {label for _, _, label, _ in arcs} - {EPSILON}
    check_size(len(symbols) if symbols is not None else max(used, default=1), size)
    if symbols is None:
        alphabet = Alphabet.numbered(max(used, default=1))
        index = {label: label - 1 for label in used}
    else:
        named = {number: name for name, number in symbols.items() if number != EPSILON}
        unknown = sorted(used - named.keys())
        if unknown:
            raise FormatError(f"label {unknown[0]} is not in the symbol table")
        index = {number: place for place, number in enumerate(sorted(named))}
        alphabet = Alphabet(tuple(named[number] for number in sorted(named)))
    transitions = np.zeros((len(alphabet), size, size))
    empty = np.zeros((size, size))
    termination = np.zeros(size)
    for source, target, label, weight in arcs:
        (empty if label == EPSILON else transitions[index[label]])[
            states[source], states[target]
        ] += weight
    for state, weight in ends:
        termination[states[state]] += weight
    initial = np.eye(1, size)[0]
    if empty.any():
        if float(np.abs(np.linalg.eigvals(empty)).max()) >= 1:
            raise RecipeError("the weights of the paths without a symbol (ε) have no finite sum")
        closure = (
            np.linalg.inv(np.eye(size) - empty)
            if np.linalg.matrix_power(empty != 0, 2).any()
            else np.eye(size) + empty
        )
        initial = initial @ closure
        transitions = transitions @ closure
    useful = (termination != 0) | transitions.any(axis=(0, 2))
    useful |= not useful.any()  # the function 0 keeps its states: an automaton has at least one
    return WFA(initial[useful], transitions[:, useful][:, :, useful], termination[useful], alphabet)


def _openfst_rows(
    text: str, semiring: str, names: dict[str, int] | None
) -> tuple[list[tuple[int, int, int, float]], list[tuple[int, float]], dict[int, int]]:
    """Read the lines: arcs, final states, and the number of each state in the order in which they
    occur.
    """
    rows = [
        (line, fields)
        for line, row in enumerate(text.split("\n"), start=1)
        if (fields := row.split())
    ]
    num_labels = _labels_of_arcs(rows)
    arcs = list[tuple[int, int, int, float]]()
    ends = list[tuple[int, float]]()
    states = dict[int, int]()
    for line, fields in rows:
        is_arc = len(fields) > 2
        width = 2 + num_labels if is_arc else 1
        if len(fields) > width + 1:
            raise FormatError(
                "expected an acceptor: `state state label [weight]` or `state [weight]`; "
                f"got {quoted(' '.join(fields))}",
                line,
            )
        weight = _weight(fields[width], semiring, line) if len(fields) > width else 1.0
        ends_of = [_number(field, line) for field in fields[: 2 if is_arc else 1]]
        for state in ends_of:
            states.setdefault(state, len(states))
        if not is_arc:
            ends.append((ends_of[0], weight))
        elif names is None:
            arcs.append((ends_of[0], ends_of[1], _number(fields[2], line), weight))
        elif fields[2] in names:
            arcs.append((ends_of[0], ends_of[1], names[fields[2]], weight))
        else:
            raise FormatError(f"label {quoted(fields[2])} is not in the symbol table", line)
    return arcs, ends, states


WHOLE = re.compile("0|[1-9][0-9]*")


def _labels_of_arcs(rows: list[tuple[int, list[str]]]) -> int:
    """Return how many labels the arcs of a file have: 1, or 2 equal ones, as `fstprint` writes
    acceptors by default.

    A fourth field may be an output label or a weight. It is a label if a fifth follows, or if it
    equals the third in all arcs.

    Raises FormatError if an arc has two different labels, or fourth fields are whole numbers that
    may be either.
    """
    arcs = [
        (line, fields)
        for line, fields in rows
        if len(fields) > 2 and all(map(str.isdecimal, fields[:2]))
    ]
    pairs = [(line, fields) for line, fields in arcs if len(fields) > 3]
    is_equal = [fields[2] == fields[3] for _, fields in pairs]
    if not pairs or (len(pairs) < len(arcs) and not any(len(fields) > 4 for _, fields in pairs)):
        return 1
    if (
        any(len(fields) > 4 for _, fields in pairs)
        or all(is_equal)
        or not all(_is_number(fields[3]) for _, fields in pairs)
    ):
        for (line, fields), equal in zip(pairs, is_equal, strict=True):
            if not equal and (len(fields) > 4 or not _is_number(fields[3])):
                raise _transducer(fields, line)
        return 2
    weighted_ends = any(len(fields) == 2 for _, fields in rows)
    if all(WHOLE.fullmatch(fields[3]) for _, fields in pairs) and not weighted_ends:
        line, fields = pairs[is_equal.index(False)]
        raise FormatError(
            "the fourth field of an arc may be an output label or a weight; got "
            f"{quoted(' '.join(fields))}: print acceptors with fstprint --acceptor, write weights "
            "with a decimal point, such as 2.0, and turn a transducer into an acceptor with "
            "fstproject",
            line,
        )
    return 1


def _transducer(fields: list[str], line: int) -> FormatError:
    return FormatError(
        f"this is a transducer, whose arcs have different labels; got {quoted(fields[2])} and "
        f"{quoted(fields[3])}: only acceptors are read, such as those that fstproject makes",
        line,
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, line: int) -> int:
    if not (text.isdecimal() and text.isascii() and len(text) <= 9):
        raise FormatError(
            f"states and labels must be whole numbers from 0; got {quoted(text)}", line
        )
    return int(text)


def _weight(text: str, semiring: str, line: int) -> float:
    """Read a weight. In the log semiring, Infinity stands for the weight 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    weight = value if semiring == "real" else math.exp(-value) if value > -700 else math.nan
    if not math.isfinite(weight) or "_" in text:
        raise FormatError(
            f"a weight must be a finite number{' or Infinity' if semiring == 'log' else ''}; "
            f"got {quoted(text)}",
            line,
        )
    return weight


def _holds_numbers(value: object) -> bool:
    """Return whether nested lists hold only numbers: numpy would also convert "1" and true."""
    return (
        all(map(_holds_numbers, value)) if isinstance(value, list) else type(value) in (int, float)
    )


def check_size(num_symbols: int, num_states: int) -> None:
    """Raise FormatError if an automaton in a file is too large."""
    check_limit("the alphabet size", num_symbols, "symbols", WHOLE_FILE)
    check_limit(
        "symbols × states²",
        num_symbols * num_states**2,
        "automaton_numbers",
        WHOLE_FILE,
    )
