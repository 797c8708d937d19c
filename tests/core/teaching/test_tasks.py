"""The bank of tasks: every answer is computed again, from what the task shows, by the library or by
brute force.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest

from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.transforms import transformed
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from nlwfa_core.teaching.answers import ChoiceKey
from nlwfa_core.teaching.shipped import ASSETS
from nlwfa_core.teaching.tasks.bank import GENERATORS, read_bank, read_kinds, scheduled_task

BANK = read_bank(ASSETS / "tasks")
SEEDS = range(1, 21)
Values = dict[str, str]
TANH = {0.0: 0.0, 0.5: 0.46, 1.0: 0.76, 2.0: 0.96}


def word(text: str) -> tuple[int, ...]:
    return tuple("ab".index(symbol) for symbol in text.replace("λ", ""))


def strings(values: Values) -> list[str]:
    return [string.replace("λ", "") for string in values["strings"].split()]


def array(latex: str) -> np.ndarray:
    """The numbers that a LaTeX matrix shows."""
    inside = latex.removeprefix(r"\begin{pmatrix}").removesuffix(r"\end{pmatrix}")
    return np.array([[fraction(cell) for cell in row.split("&")] for row in inside.split(r"\\")])


def fraction(text: str) -> float:
    above, _, below = text.strip().partition("/")
    return float(above) / float(below or 1)


def table(values: Values) -> dict[str, list[float]]:
    """The rows of a Markdown table."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in values["table"].split("\n")[2:]
    ]
    return {row[0].strip("`"): [fraction(cell) for cell in row[1:]] for row in rows}


def hankel_cell(
    values: Values, statistic: str = "string", transform: str = "none", symbol: str = ""
) -> float:
    """A cell of the library's Hankel matrix of the sample."""
    sample = Sample.of(Words.of([word(string) for string in strings(values)]), Alphabet(("a", "b")))
    row = word(values["row"])
    column = word(values["column"])
    suffixes = sorted(
        {word(string)[cut:] for string in strings(values) for cut in range(len(string) + 1)}
        | {column}
    )
    basis = Basis(Words.of([row[:cut] for cut in range(len(row) + 1)]), Words.of(suffixes), 2)
    hankel = estimate_hankel(sample, basis, statistic=statistic)
    block = (
        hankel.symbol_block("ab".index(symbol)) if symbol else transformed(hankel, transform).block
    )
    return float(block.toarray()[-1, suffixes.index(column)])


def wfa(values: Values) -> WFA:
    matrices = np.stack([array(values["matrix_a"]), array(values["matrix_b"])])
    initial = array(values["initial"])[0] if "initial" in values else np.array([1.0, 0.0])
    termination = (
        array(values["termination"])[:, 0] if "termination" in values else np.array([0.0, 1.0])
    )
    return WFA(initial, matrices, termination)


def weight(model: WFA, text: str) -> float:
    return float(model.weights(Words.of([word(text)]))[0])


def one_state(values: Values, termination: float | None = None) -> WFA:
    end = fraction(values["termination"]) if termination is None else termination
    return WFA([1.0], [[[fraction(values["a"])]], [[fraction(values["b"])]]], [end])


def mean_length(values: Values) -> float:
    step = fraction(values["a"]) + fraction(values["b"])
    return sum(length * step**length * (1 - step) for length in range(2000))


def hmm_paths(values: Values, text: str) -> dict[str, float]:
    """Every sequence of states with its probability together with the symbols."""
    start = array(values["start"])[0]
    moves = array(values["moves"])
    emits = array(values["emits"])
    symbols = word(text)
    found = {}
    for path in product(range(2), repeat=len(symbols)):
        steps = [moves[i, j] for i, j in pairwise(path)]
        emitted = [emits[state, symbol] for state, symbol in zip(path, symbols, strict=True)]
        found["".join(str(state + 1) for state in path)] = float(
            start[path[0]] * np.prod(steps) * np.prod(emitted)
        )
    return found


def accepts(description: str) -> Callable[[str], bool]:
    """Whether a string is in a language, from its description."""
    found = re.findall(r"`([ab]+)`", description)
    number = int((re.findall("[0-9]+", description) or [0])[0])
    if "number of" in description and "multiple" in description:
        return lambda text: text.count(found[0]) % number == 0
    if "numbers of" in description:
        return lambda text: (text.count("a") - text.count("b")) % number == 0
    if "begin with" in description:
        return lambda text: text.startswith(found[0])
    if "end with" in description:
        return lambda text: text.endswith(found[0])
    if "occurs exactly" in description:
        return lambda text: text.count(found[0]) == number
    return (
        (lambda text: len(text) == number)
        if "exactly" in description
        else lambda text: len(text) <= number
    )


def language_rank(values: Values) -> int:
    words = ["".join(symbols) for length in range(6) for symbols in product("ab", repeat=length)]
    inside = accepts(values["description"])
    return int(
        np.linalg.matrix_rank(
            np.array([[inside(u + v) for v in words] for u in words], dtype=float)
        )
    )


def same_future(values: Values) -> set[frozenset[str]]:
    suffixes = ["".join(symbols) for length in range(5) for symbols in product("ab", repeat=length)]
    modulus = int(values["modulus"])
    symbol = values["symbol"]
    rows = {
        u: [(u + v).count(symbol) % modulus == 0 for v in suffixes]
        for u in values["prefixes"].split()
    }
    return {frozenset(pair) for pair in combinations(rows, 2) if rows[pair[0]] == rows[pair[1]]}


def closing(values: Values) -> str:
    """The shortest ending, by search."""
    for length in range(9):
        for ending in map("".join, product("[]", repeat=length)):
            text = values["prefix"] + ending
            while "[]" in text:
                text = text.replace("[]", "")
            if not text:
                return ending
    raise AssertionError


def depths(text: str) -> list[int]:
    return [text[:cut].count("[") - text[:cut].count("]") for cut in range(len(text) + 1)]


def depth_of_rank(values: Values) -> int:
    """The deepest prefix whose state is not 0: by an SVD of a matrix with a block of two prefixes
    for each depth.
    """
    pairs = [pair for _, pair in sorted(table(values).items())]
    u, _, _ = np.linalg.svd(np.diag([value for pair in pairs for value in pair]))
    states = np.abs(u[:, : int(values["rank"])]).reshape(len(pairs), -1)
    return int(np.flatnonzero(states.any(axis=1))[-1])


def proportional(values: Values) -> set[frozenset[str]]:
    lines = [
        line.split("&")
        for line in values["table"].split(r"\hline")[1].split(r"\end")[0].split(r"\\")
    ]
    rows = {line[0].strip(): [float(cell) for cell in line[1:]] for line in lines}
    return {
        frozenset(pair)
        for pair in combinations(rows, 2)
        if np.linalg.matrix_rank([rows[name] for name in pair]) == 1
    }


def falling(values: Values) -> list[float]:
    found = [fraction(value) for value in values["values"].split(",")]
    assert found == sorted(found, reverse=True)
    return found


def predictions(values: Values) -> list[bool]:
    """For each prefix of each test string, whether the model's next symbol is wrong."""
    guess = {"": values["at_the_start"], "a": values["after_a"], "b": values["after_b"]}
    return [
        guess[string[:cut][-1:]] != (string[cut] if cut < len(string) else "end")
        for string in strings(values)
        for cut in range(len(string) + 1)
    ]


def string_bits(values: Values) -> float:
    return float(
        -np.log2(np.prod([fraction(values[name]) for name in ("first", "second", "third", "end")]))
    )


def pair(values: Values) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(list(table(values).values())).T
    assert np.allclose(both.sum(axis=1), 1)
    return both[0], both[1]


def likeliest(values: Values) -> str:
    def log_weight(name: str) -> float:
        a, b, end = (float(part) for part in re.findall(r"= ([0-9.]+)", values[name]))
        return float(
            one_state({"a": str(a), "b": str(b)}, end)
            .log2_weights(Words.of(list(map(word, strings(values)))))
            .sum()
        )

    return values[max(("right", "wrong_one", "wrong_two", "wrong_three"), key=log_weight)]


def encoded(values: Values) -> np.ndarray:
    return (array(values["inputs"]) @ array(values["encoder"]) @ array(values["decoder"]))[0]


def tanh(entries: np.ndarray) -> np.ndarray:
    return np.array([np.sign(entry) * TANH[float(abs(entry))] for entry in entries.ravel()])


def combined_rank(values: Values, combine: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> int:
    """The rank of a combination of two random matrices of the ranks of f and g."""
    rng = np.random.default_rng(0)
    first, second = (
        rng.normal(size=(60, int(values[name]))) @ rng.normal(size=(int(values[name]), 60))
        for name in ("first", "second")
    )
    return int(np.linalg.matrix_rank(combine(first, second)))


def factors(values: Values, text: str) -> list[int]:
    return [
        sum(string[start:].startswith(text) for start in range(len(string)))
        for string in strings(values)
    ]


def closed(values: Values) -> set[str]:
    prefixes = [prefix.replace("λ", "") for prefix in values["prefixes"].split(", ")]
    return {*prefixes, *(prefix + symbol for prefix in prefixes for symbol in "ab")}


def descent(values: Values) -> float:
    start, target, rate = (fraction(values[name]) for name in ("start", "target", "rate"))
    slope = ((start + 1e-6 - target) ** 2 - (start - 1e-6 - target) ** 2) / 2e-6
    return round(start - rate * slope, 6)


# Kind -> its answer, from the values that it shows: a number, several, or the text that is entered.
ANSWERS: dict[str, Callable[[Values], Any]] = {
    "frequency": lambda v: strings(v).count(v["word"]) / 10,
    "cell": hankel_cell,
    "prefix-cell": lambda v: hankel_cell(v, "prefix"),
    "factor-cell": lambda v: hankel_cell(v, "factor"),
    "row-cell": lambda v: hankel_cell(v, transform="row"),
    "cuts": lambda v: len(
        {(v["word"][:cut], v["word"][cut:]) for cut in range(len(v["word"]) + 1)}
    ),
    "other-cell": lambda v: next(
        f"{row} | {column}"
        for row, column in product(v["labels"].split(), repeat=2)
        if (row + column).replace("λ", "") == v["word"] and (row, column) != (v["row"], v["column"])
    ),
    "block-cell": lambda v: hankel_cell(v, symbol=v["symbol"]),
    "order": lambda v: " | ".join(string for string, _ in Counter(strings(v)).most_common()),
    "prefixes": lambda v: len({string[:cut] for string in strings(v) for cut in range(4)}),
    "closure-size": lambda v: len(closed(v)),
    "closure": lambda v: " | ".join(
        v[name] for name in ("new", "newest", "outside", "far") if v[name] in closed(v)
    ),
    "bigram": lambda v: (
        sum(factors(v, v["symbol"] + v["following"])) / sum(factors(v, v["symbol"]))
    ),
    "weight-empty": lambda v: weight(wfa(v), ""),
    "state-one": lambda v: wfa(v).initial @ wfa(v).transitions[word(v["first"])[0]],
    "state-two": lambda v: (
        wfa(v).initial
        @ np.linalg.multi_dot([wfa(v).transitions[symbol] for symbol in word(v["word"])])
    ),
    "backward": lambda v: wfa(v).transitions[word(v["second"])[0]] @ wfa(v).termination,
    "weight-two": lambda v: weight(wfa(v), v["word"]),
    "weight-three": lambda v: weight(wfa(v), v["long_word"]),
    "counter": lambda v: weight(wfa(v), v["word"]),
    "product": lambda v: _product(v),
    "scaled": lambda v: _scaled(v),
    "sum": lambda v: combined_rank(v, np.add),
    "hadamard": lambda v: combined_rank(v, np.multiply),
    "one-state": lambda v: weight(one_state(v), v["word"]),
    "mass": lambda v: one_state(v).total_weight(),
    "normaliser": lambda v: 1 / one_state(v, 1.0).total_weight(),
    "beginning": lambda v: (
        weight(one_state(v, 1.0), v["word"]) * one_state(v, fraction(v["left"])).total_weight()
    ),
    "mean-length": mean_length,
    "mass-two": lambda v: WFA(
        [1.0, 0.0], array(v["matrix"])[None], array(v["termination"])[:, 0]
    ).total_weight(),
    "hmm-first": lambda v: [
        probability for _, probability in sorted(hmm_paths(v, v["word"][0]).items())
    ],
    "hmm-forward": lambda v: sum(hmm_paths(v, v["two"]).values()),
    "hmm-viterbi": lambda v: max(paths := hmm_paths(v, v["word"]), key=lambda path: paths[path]),
    "hmm-entry": lambda v: (
        array(v["emits"])[int(v["row"]) - 1, word(v["symbol"])[0]]
        * array(v["moves"])[int(v["row"]) - 1, int(v["target"]) - 1]
    ),
    "language": language_rank,
    "same-state": lambda v: _pair_text(v, same_future(v)),
    "open-brackets": lambda v: len(closing(v)),
    "close-brackets": closing,
    "deepest": lambda v: max(depths(v["prefix"])),
    "matrix-rank": lambda v: np.linalg.matrix_rank(array(v["matrix"])),
    "proportional-rows": lambda v: _pair_text(v, proportional(v)),
    "gap": lambda v: int(np.argmax([a / b for a, b in pairwise(falling(v))])) + 1,
    "truncation-error": lambda v: np.linalg.norm(
        np.diag(falling(v)) - np.diag([*falling(v)[:2], 0, 0])
    ),
    "rank-one": lambda v: np.linalg.svd(array(v["matrix"]), compute_uv=False)[0],
    "blocks-one": lambda v: np.mean(array(v["block_a"]) / array(v["block"])),
    "blocks-two": lambda v: (
        np.linalg.solve(array(v["block"]), array(v["block_a"])).round(9).ravel()
    ),
    "wer": lambda v: np.mean(predictions(v)),
    "bits": string_bits,
    "bits-per-symbol": lambda v: string_bits(v) / 4,
    "perplexity": lambda v: 2 ** (string_bits(v) / 4),
    "kl": lambda v: np.sum(pair(v)[0] * np.log2(pair(v)[0] / pair(v)[1])),
    "total-variation": lambda v: np.abs(np.subtract(*pair(v))).sum() / 2,
    "pautomac": lambda v: -np.sum(pair(v)[0] * np.log2(pair(v)[1])),
    "one-zero": lambda v: (
        "the log₂ Pautomac score | KL(P ‖ Q)" if 0 in table(v)[v["string"]] else ""
    ),
    "fair-difference": lambda v: table(v)["linear"][1] - table(v)["nonlinear"][1],
    "depth-of-rank": depth_of_rank,
    "negative": lambda v: table(v)[v["asked"]][0] / sum(abs(row[0]) for row in table(v).values()),
    "which-model": likeliest,
    "auto-encoder": encoded,
    "loss": lambda v: np.sum((array(v["inputs"])[0] - encoded(v)) ** 2),
    "tanh-unit": lambda v: np.tanh(array(v["weights"]) @ array(v["inputs"]))[0, 0].round(2),
    "network": lambda v: tanh(array(v["weights"]) * fraction(v["input"])) @ array(v["outer"])[:, 0],
    "num-weights": lambda v: (
        np.zeros((int(v["suffixes"]), int(v["rank"]))).size
        + np.zeros((int(v["rank"]), int(v["suffixes"]))).size
    ),
    "num-weights-wfa": lambda v: _size(int(v["rank"]), int(v["symbols"])),
    "square-states": lambda v: combined_rank(v, lambda first, _: first**2),
    "square-state": lambda v: np.kron(array(v["state"])[0], array(v["state"])[0]),
    "square-value": lambda v: weight(
        WFA(array(v["state"])[0], np.zeros((1, 2, 2)), array(v["termination"])[:, 0]).squared(), ""
    ),
    "root": lambda v: np.sqrt(fraction(v["share"])),
    "root-back": lambda v: fraction(v["output"]) ** 2,
    "gradient": descent,
}


def _product(values: Values) -> str:
    return "$" + "".join(rf"\mathbf{{A}}_{symbol}" for symbol in values["word"]) + "$"


def _scaled(values: Values) -> float:
    """The weight of the word before and after, with an automaton that gives it the weight
    before.
    """
    length = len(values["word"])
    before = fraction(values["before"])
    changed = WFA(
        [before * fraction(values["factor"])], np.full((2, 1, 1), fraction(values["share"])), [1.0]
    )
    assert length == int(values["length"])
    return weight(changed, values["word"])


def _size(rank: int, symbols: int) -> int:
    model = WFA(np.ones(rank), np.ones((symbols, rank, rank)), np.ones(rank))
    return model.initial.size + model.transitions.size + model.termination.size


def _pair_text(values: Values, pairs: set[frozenset[str]]) -> str:
    """The option that names the only pair."""
    assert len(pairs) == 1
    names = next(iter(pairs))
    options = [values[name] for name in ("right", "wrong_one", "wrong_two", "wrong_three")]
    matching = [
        text for text in options if set(re.split("`| |and|the|rows", text)) - {""} == set(names)
    ]
    assert len(matching) == 1
    return matching[0]


def entered(answer: Any) -> str:
    """An answer as a person enters it."""
    if isinstance(answer, str):
        return answer
    return " ".join(repr(round(float(number), 9)) for number in np.atleast_1d(answer))


def test_the_bank_is_large_and_every_kind_is_computed_again() -> None:
    assert len(BANK) >= 60 and list(ANSWERS) and set(ANSWERS) == set(BANK)
    # which quizzes use
    assert {kind.generator for kind in BANK.values()} | {"fixed"} == set(GENERATORS)


@pytest.mark.parametrize("name", list(BANK))
def test_answers_are_what_the_library_or_brute_force_computes(name: str) -> None:
    texts = set()
    for seed in SEEDS:
        task = BANK[name].task(seed)
        key = task.question.key
        values = BANK[name].values(seed)
        assert key is not None
        answer = entered(ANSWERS[name](values))
        assert key.check(answer).correct, (seed, answer, key.truth, values)
        assert key.check(key.best).correct
        texts.add(task.text + task.question.text)
        for text in (task.text, task.question.text, task.question.solution):
            assert "{{" not in text and "inf" not in text.lower().replace(r"\infty", "").replace(
                "infinite", ""
            )
        if isinstance(key, ChoiceKey):
            assert len({option.text for option in key.options}) == len(key.options)
        for hint in getattr(key, "hints", ()):
            verdict = key.check(hint.answer)
            assert verdict.correct or verdict.reason
    assert len(texts) >= 4  # other seeds, other numbers


@pytest.mark.parametrize("name", list(BANK))
def test_answers_are_for_pencil_and_paper(name: str) -> None:
    for seed in SEEDS:
        key = BANK[name].task(seed).question.key
        for number in re.findall(r"[0-9.]+", key.truth) if hasattr(key, "tolerance") else ():  # type: ignore[union-attr]
            assert len(number.strip(".").replace(".", "").lstrip("0")) <= 5, (seed, key)


def test_a_seed_makes_the_same_task_again() -> None:
    for name, kind in BANK.items():
        assert kind.task(7) == kind.task(7), name


def test_each_round_has_every_kind_once() -> None:
    names = ["cell", "kl", "gap"]
    for first in (1, 4, 7):
        assert sorted(
            scheduled_task(BANK, names, number).kind.name for number in range(first, first + 3)
        ) == sorted(names)
    assert len(
        {scheduled_task(BANK, (), number).kind.name for number in range(1, len(BANK) + 1)}
    ) == len(BANK)
    assert (
        scheduled_task(BANK, names, 5) == scheduled_task(BANK, names[::-1], 5)
        and scheduled_task(BANK, names, 5).seed == 5
    )
    for wrong, number, message in (
        (("x",), 1, "kind of task must be one of"),
        ((), 0, "number must be at least 1; got 0"),
    ):
        with pytest.raises(RecipeError, match=message):
            scheduled_task(BANK, wrong, number)


HEAD = "---\ntitle: T\n---\n"
GOOD = "## One\nname: one\ngenerator: root\n\nText {{share}}.\n\n? What?\nanswer: {{root}}\nSo.\n"


def test_a_kind_by_hand() -> None:
    _, (kind,) = read_kinds(HEAD + GOOD)
    task = kind.task(3)
    values = kind.values(3)
    assert (kind.name, kind.title, kind.topic, task.text) == (
        "one",
        "One",
        "T",
        f"Text {values['share']}.",
    )
    assert task.question.key is not None and task.question.key.best == values["root"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GOOD, 1, "must begin with its heading"),
        (HEAD, 3, "at least one kind"),
        ("---\ntitle:\n---\n" + GOOD, 2, "the line title: is missing, or has no value"),
        (HEAD + GOOD.replace("name: one\n", ""), 5, "the line name: is missing, or has no value"),
        (
            HEAD + GOOD.replace("name: one", "name: One!"),
            4,
            "only lower-case letters, digits and hyphens; got 'One!'",
        ),
        (
            HEAD + GOOD.replace("generator: root", "generator: rot"),
            4,
            "no generator 'rot'; did you mean root?",
        ),
        (
            HEAD + GOOD.replace("{{share}}", "{{shar}}"),
            4,
            "has no value 'shar'; did you mean share?",
        ),
        (HEAD + GOOD.replace("? What?\n", ""), 4, "exactly one question; got 0"),
        (HEAD + GOOD.replace("answer: {{root}}\n", ""), 10, "needs a key"),
        (HEAD + GOOD.replace("answer: {{root}}", "answer: x{{root}}"), 11, "write a number"),
    ],
)
def test_errors_name_the_line(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_kinds(text)
    assert caught.value.line in (line, line - 1)


def test_two_kinds_with_one_name(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "1.md").write_text(HEAD + GOOD + GOOD, encoding="utf-8")
    with pytest.raises(RecipeError, match=r"1\.md: line .*the name 'one' is already taken"):
        read_bank(tmp_path)


def test_what_looks_like_code_stays_text() -> None:
    _, (kind,) = read_kinds(HEAD + GOOD.replace("Text", "Text ${7*7} %(x)s {x} {root}"))
    assert kind.task(1).text.startswith("Text ${7*7} %(x)s {x} {root} 0.")
    with pytest.raises(FormatError, match="has no value '__class__'"):
        read_kinds(HEAD + GOOD.replace("Text", "{{__class__}}"))


def test_the_example_for_teachers() -> None:
    """What docs/tasks.md shows can be read, and it names every generator."""
    text = (ASSETS.parent / "docs" / "tasks.md").read_text(encoding="utf-8")
    _, (kind,) = read_kinds(text.split("```markdown\n")[1].split("```")[0])
    for seed in SEEDS:
        values = kind.values(seed)
        key = kind.task(seed).question.key
        assert key is not None and key.check(entered(hankel_cell(values, "prefix"))).correct
    assert set(re.findall(r"^\| `([a-z_]+)`", text, re.MULTILINE)) == set(GENERATORS)
