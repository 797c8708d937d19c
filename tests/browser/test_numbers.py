"""Numbers in the browser and on the server have one form."""

from __future__ import annotations

import random

from playwright.sync_api import Page

from nlwfa_core.rounding import format_apart, format_significant
from pages.shared.server import ASSETS

SCRIPT = (ASSETS / "numbers.js").read_text(encoding="utf-8")
FIXED = (
    0.0,
    1.0,
    -1.0,
    0.3125,
    -0.3125,
    0.125,
    2.5,
    99.96,
    999.6,
    1234.5,
    999_999.7,
    1e-4,
    9.9996e-5,
    -3.231e-08,
    5e-324,
    1.7e308,
)


def test_the_browser_writes_numbers_as_the_server_does(page: Page) -> None:
    generator = random.Random(1)
    values = [
        *FIXED,
        *(generator.uniform(-1, 1) * 10.0 ** generator.randint(-12, 9) for _ in range(2000)),
    ]
    script = (
        f"({{ values, digits }}) => {{ {SCRIPT}; return values.map((value) => written(value, "
        "digits)); }"
    )
    for digits in (1, 2, 3, 6):
        written = page.evaluate(script, {"values": values, "digits": digits})
        assert written == [format_significant(value, digits) for value in values]


def test_the_browser_tells_numbers_apart_as_the_server_does(page: Page) -> None:
    generator = random.Random(2)
    near = [
        (value, value * (1 + generator.uniform(-1, 1) * 10.0 ** -generator.randint(2, 8)))
        for value in FIXED[1:12]
    ]
    pairs = [
        (1.0, 0.99996),
        (0.005, 0.004996),
        (0.1 + 0.2, 0.3),
        (2.0, 3.0),
        (0.0, 0.0),
        (1e-9, 1.0001e-9),
        *near,
    ]
    written = page.evaluate(
        f"(pairs) => {{ {SCRIPT}; return pairs.map(([one, other]) => writtenApart(one, other)); }}",
        pairs,
    )
    assert [tuple(texts) for texts in written] == [format_apart(*pair) for pair in pairs]
