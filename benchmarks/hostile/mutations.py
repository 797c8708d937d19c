"""Change a sound input into a hostile one: in its bytes, lines, numbers or JSON, by a seeded random
generator.

Keep the order of the random draws: with another order, the same seed would give other inputs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

# Most inputs are small, because small ones are read faster and find as many errors.
MAX_BYTES = 2**18
USUAL_MAX_BYTES = 2**14
# What breaks readers: numbers of every size and kind, marks of every kind, pieces of JSON, of CSV
# and of archives.
TOKENS = tuple(
    token if isinstance(token, bytes) else token.encode()
    for token in (
        *(
            "0",
            "-1",
            "1",
            "-0",
            "+1",
            "00001",
            "1_000",
            "0x10",
            "1e999",
            "-1e999",
            "1e-999",
            "0.1",
            ".",
            "1e",
            "½",
            "١٢",
            "²",
        ),
        *(
            "9" * 10,
            "9" * 18,
            "9" * 19,
            "9" * 40,
            "9" * 5000,
            str(2**31),
            str(2**31 - 1),
            str(2**63),
            str(2**64),
            str(-(2**63)),
        ),
        *(
            "NaN",
            "nan",
            "Infinity",
            "-Infinity",
            "inf",
            "null",
            "true",
            "[]",
            "{}",
            '""',
            '"',
            "''",
            "\\",
            "\\u0000",
            "\\ud800",
        ),
        *(
            "λ",
            "λ λ",
            "é",
            "e\u0301",
            "\u202e",
            "\u200b",
            "\ufeff",
            "\u2028",
            "\u2029",
            "\x85",
            "\x0b",
            "\x0c",
            "\x1c",
            "\U0001f600",
        ),
        *(
            "\0",
            "\n",
            "\r",
            "\r\n",
            "\n\n\n",
            "\t",
            " ",
            "  ",
            ",",
            ";",
            ":",
            "=",
            "@",
            "|",
            "(",
            ")",
            "#",
            "---",
            "## ",
            "? ",
            "../",
        ),
        *(
            b"\xff",
            b"\xc0\x80",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xef\xbb\xbf",
            b"\xff\xfe",
            b"PK\x03\x04",
            b"PK\x05\x06",
        ),
    )
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3.5,
        -0.0,
        1e308,
        2**31,
        2**53 + 1,
        2**63,
        2**64,
        -(2**63),
        10**30,
    ),
    *(
        float("nan"),
        float("inf"),
        -float("inf"),
        "",
        "0",
        "λ",
        "\0",
        "inf",
        "x" * 3000,
        "\ud800",
        "../x",
        "9" * 500,
    ),
    *(
        [],
        {},
        [[]],
        [None],
        {"": None},
        [0] * 300,
        ["a"] * 300,
        {str(number): number for number in range(200)},
        [[[[[[]]]]]],
    ),
)
NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")

Mutation = Callable[[Random, bytes], bytes]


def of_bytes(random: Random, data: bytes) -> bytes:
    """Make one to four changes of any kind."""
    largest = max(MAX_BYTES if random.random() < 0.05 else USUAL_MAX_BYTES, len(data) + 100)
    for _ in range(random.choice((1, 1, 2, 4))):
        data = random.choice(CHANGES)(random, data)[:largest]
    return data


def of_json(random: Random, data: bytes) -> bytes:
    """Replace, remove, repeat or nest values of a JSON text; one text in three is changed as bytes,
    instead or in addition.
    """
    kind = random.randrange(6)
    if kind == 0:
        return of_bytes(random, data)
    value = json.loads(data)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        value = _changed(random, value)
    text = json.dumps(value, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    if len(text) > MAX_BYTES:
        return of_bytes(random, data)
    if kind == 1:
        return of_bytes(random, text)
    # a repeated name, of which JSON readers take the last
    if kind == 2 and (names := re.findall(rb'"[a-z_]+": ', text)):
        name = random.choice(names)
        return text.replace(
            name, name + json.dumps(random.choice(VALUES)).encode() + b", " + name, 1
        )
    return text


def _changed(random: Random, value: Any) -> Any:
    """Change a JSON value in one position."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        name = random.choice(list(value))
        kind = random.randrange(12)
        if kind == 0:
            return {key: entry for key, entry in value.items() if key != name}
        if kind == 1:
            return value | {
                random.choice(
                    ("x", "", "format", "λ" * 50, name.upper(), f"{name}.0")
                ): random.choice(VALUES)
            }
        return value | {name: _changed(random, value[name])}
    if isinstance(value, list) and value and random.random() < 0.85:
        index = random.randrange(len(value))
        kind = random.randrange(8)
        if kind == 0:
            return value[:index] + value[index + 1 :]
        if kind == 1:
            return value + value[index:] * random.choice((1, 3, 50))
        return [*value[:index], _changed(random, value[index]), *value[index + 1 :]]
    if random.random() < 0.3 and type(value) in (int, float):
        return random.choice((-value, value * 10**6, value + 1, float(value), str(value)))
    if random.random() < 0.05:
        return [value] * (3 if isinstance(value, dict | list) else 2000)
    return random.choice(VALUES)


def _span(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randint(0, len(data))
    return start, min(len(data), start + int(2 ** random.uniform(0, 10)))


def _flip(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 3, 20)) if data else 0):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _cut(random: Random, data: bytes) -> bytes:
    return data[: random.randint(0, len(data))]


def _drop(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    return data[:start] + data[end:]


def _repeat(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    times = min(random.choice((1, 2, 30, 1000, 50_000)), MAX_BYTES // max(1, end - start))
    return data[:end] + data[start:end] * times + data[end:]


def _insert(random: Random, data: bytes) -> bytes:
    start, end = _span(random, data)
    return (
        data[:start]
        + random.choice(TOKENS) * random.choice((1, 1, 1, 2, 500))
        + data[random.choice((start, end)) :]
    )


def _number(random: Random, data: bytes) -> bytes:
    matches = list(NUMBER.finditer(data[:20_000]))
    if not matches:
        return _insert(random, data)
    match = random.choice(matches)
    return data[: match.start()] + random.choice(TOKENS[:32]) + data[match.end() :]


def _lines(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    kind = random.randrange(4)
    if kind == 0:
        random.shuffle(lines)
    elif kind == 1:
        lines.insert(random.randint(0, len(lines)), random.choice(lines))
    elif kind == 2:
        del lines[random.randrange(len(lines))]
    else:
        ends = [random.choice((b"\n", b"\r\n", b"\r", b"\n\r")) for _ in lines]
        return b"".join(line + end for line, end in zip(lines, ends, strict=True))
    return b"\n".join(lines)


def _nest(random: Random, data: bytes) -> bytes:
    mark = random.choice((b"[", b"{", b'{"data":', b"[[", b'["', b"((", b'{"a":['))
    start, _ = _span(random, data)
    return data[:start] + mark * random.choice((10, 900, 1100, 20_000)) + data[start:]


def _long_line(random: Random, data: bytes) -> bytes:
    start, _ = _span(random, data)
    return (
        data[:start]
        + random.choice((b"a", b"0 ", b"a b ", b",", b'"', "λ".encode(), b" "))
        * random.choice((300, 12_000))
        + data[start:]
    )


CHANGES: Sequence[Mutation] = (
    _flip,
    _cut,
    _drop,
    _repeat,
    _insert,
    _insert,
    _number,
    _number,
    _lines,
    _nest,
    _long_line,
)
