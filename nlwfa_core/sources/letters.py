"""Describe what a reader can't see in the symbols of a file: letters written in two ways,
zero-width characters, signs for the empty word.

None of these is an error, because any of them may be meant as a symbol. But a model distinguishes
symbols that look the same, so the user gets a note.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from ..errors import listed, plural
from ..strings.words import LAMBDA, Alphabet, Words

MOST_SYMBOLS = 100_000  # of a larger alphabet, only the first are examined
# Characters without width that are part of no script. Joiners (U+200C, U+200D) are part of scripts
# and of emoji.
INVISIBLE = re.compile(
    "[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
)
CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")
# UTF-8 that was read as Windows-1252, and saved as UTF-8 again.
MISREAD = re.compile("[\u00c3\u00c2][\u0080-\u00bf]|\u00e2\u20ac.|\ufffd")
# How the empty word is written elsewhere. Here it is λ, or an empty line.
OTHER_EMPTY_WORDS = (
    "ε", "ϵ", "Λ", "<eps>", "<epsilon>", "<empty>", "eps", "epsilon", "EPSILON", "lambda", "LAMBDA", "\\epsilon", "\\lambda", '""',  # noqa: E501
    "''", "∅", "@0@", "@_EPSILON_SYMBOL_@",
)  # fmt: skip


def symbol_notes(symbols: Sequence[str]) -> list[str]:
    """Make notes on symbols that are not what they appear to be; none for most alphabets.

    >>> symbol_notes(["a", "b", "é"]), symbol_notes(["a", "λ"])
    ([], ["'λ' is a symbol of these strings. The empty string is written in the same way."])
    >>> symbol_notes(["cafe\\u0301", "caf\\u00e9"])
    ["Symbols that look alike: 'cafe\\\\u0301' and 'caf\\\\xe9' write accents in two ways. Save the file with composed letters (NFC)."]
    """  # noqa: E501
    if all(symbol.isascii() and symbol.isprintable() for symbol in symbols):
        return []
    symbols = symbols[:MOST_SYMBOLS]
    notes = []
    invisible = [symbol for symbol in symbols if INVISIBLE.search(symbol)]
    if invisible:
        notes.append(
            f"{plural(len(invisible), 'symbol')} with invisible characters: {_escaped(invisible)}."
        )
    controls = [symbol for symbol in symbols if CONTROL.search(symbol)]
    if controls:
        notes.append(
            f"{plural(len(controls), 'symbol')} with control characters: {_escaped(controls)}."
        )
    misread = [symbol for symbol in symbols if MISREAD.search(symbol)]
    if misread:
        notes.append(
            f"{plural(len(misread), 'symbol')} of text that was saved in one encoding and read in "
            f"another: {_escaped(misread)}."
        )
    if LAMBDA in symbols:
        notes.append(
            f"{LAMBDA!r} is a symbol of these strings. The empty string is written in the same way."
        )
    return notes + _two_forms(symbols)


def _two_forms(symbols: Sequence[str]) -> list[str]:
    """Make a note if two symbols have the same normal form, or if a letter and an accent are
    separate symbols that might be meant as one.
    """
    forms: dict[str, str] = {}
    for symbol in symbols:
        form = unicodedata.normalize("NFC", symbol)
        if form in forms:
            pair = f"{forms[form][:20]!a} and {symbol[:20]!a}"
            return [
                f"Symbols that look alike: {pair} write accents in two ways. Save the file "
                "with composed letters (NFC)."
            ]
        forms[form] = symbol
    accents = [symbol for symbol in symbols if len(symbol) == 1 and unicodedata.combining(symbol)]
    letters = [symbol for symbol in symbols if len(symbol) == 1 and symbol.isalpha()]
    joined = {
        form
        for accent in accents
        for letter in letters
        if len(form := unicodedata.normalize("NFC", letter + accent)) == 1
    }
    if not joined:
        return []
    both = sorted(joined.intersection(symbols))
    remark = f", but {listed(both)} is also one" if both else ""
    names = listed([f"U+{ord(accent):04X}" for accent in accents])
    return [
        f"Accents are symbols of their own ({names}){remark}: save the file with composed letters "
        "(NFC) if they should not be."
    ]


def _escaped(symbols: Iterable[str]) -> str:
    return listed([ascii(symbol[:20]) for symbol in symbols])


def as_windows_1252(row: bytes) -> str:
    """Decode a line that is not UTF-8 as Windows-1252. Return an empty string unless all characters
    of the result are letters and common signs.

    >>> as_windows_1252(b"gar\\xe7on aime caf\\xe9"), as_windows_1252(b"\\x93NUMPY\\x01")
    ('garçon aime café', '')
    """
    try:
        text = row.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    others = [character for character in text if not character.isascii()]
    letters = sum(character.isalpha() for character in others)
    return (
        text
        if text.replace("\t", "").isprintable()
        and 2 * letters >= len(others)
        and len(others) < len(text)
        else ""
    )


def empty_word_notes(parts: Sequence[Words], alphabet: Alphabet, in_tokens: bool) -> list[str]:
    """Make a note for each sign that other programs use for the empty word and that stands alone on
    a line, where it is read as an ordinary string.

    >>> words = Words.of([(1,), (0, 0), (1,)])
    >>> empty_word_notes([words], Alphabet(("a", "ε")), in_tokens=False)
    ['ε alone on 2 lines is read as a symbol; the empty word is written as λ or as an empty line.']

    `in_tokens`: whether strings were split at white space; otherwise each character is a symbol.
    """
    index = {symbol: number for number, symbol in enumerate(alphabet.symbols)}
    notes = []
    for name in OTHER_EMPTY_WORDS:
        symbols = [name] if in_tokens else list(name)
        if all(symbol in index for symbol in symbols):
            number = sum(_count(part, [index[symbol] for symbol in symbols]) for part in parts)
            if number:
                what = "a symbol" if len(symbols) == 1 else "a string"
                notes.append(
                    f"{name} alone on {plural(number, 'line')} is read as {what}; the empty word "
                    "is written as λ or as an empty line."
                )
    return notes


def _count(words: Words, word: Sequence[int]) -> int:
    """Count the words that equal a given one."""
    starts = words.offsets[:-1][words.lengths == len(word)]
    for place, symbol in enumerate(word):
        starts = starts[words.symbols[starts + place] == symbol]
    return len(starts)
