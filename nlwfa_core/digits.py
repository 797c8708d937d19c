"""Write numbers for people: one form for pages, reports, messages and pictures.

Three significant digits are enough to read; a tiny or huge number has a power of ten, "−3.23·10⁻⁸", never "-3.23e-08"; "−" is
U+2212. `assets/numbers.js` writes the same texts in the browser. Scores, whose columns have a fixed number of decimals, are
written by `metrics.tables.format_score`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
# Numbers from 10^-4 up to 10^6 are written without a power of ten.
LEAST_POWER, FIRST_LARGE_POWER = -4, 6
# Numbers that differ by no more than this, relative to the larger one, differ by rounding errors.
SAME = 1e-9
ROUNDING = 1e-12  # a share that is so near to 0 or 1 is 0 or 1
MOST_EXTRA = 12  # digits that are added to tell two numbers apart


def format_significant(value: float | None, digits: int = 3) -> str:
    """Write a number with `digits` significant digits, and no zeros at its end.

    From 1,000 on, it has no decimals; a tiny or huge number has a power of ten. Halves are rounded away from zero, as in the
    browser.

    >>> format_significant(0.123456), format_significant(-0.25), format_significant(999.7), format_significant(12345.6)
    ('0.123', '−0.25', '1,000', '12,346')
    >>> format_significant(1.464e-07), format_significant(-3.231e-08), format_significant(2.5e6)
    ('1.46·10⁻⁷', '−3.23·10⁻⁸', '2.5·10⁶')
    >>> format_significant(None), format_significant(float("-inf")), format_significant(float("nan"))
    ('–', '−∞', 'undefined')
    """
    if value is None:
        return "–"
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal_from_float(float(value))
    if not rounded:
        return "0"
    power = rounded.adjusted()
    if not LEAST_POWER <= power < FIRST_LARGE_POWER:
        mantissa = rounded.scaleb(-power).normalize()
        return f"{mantissa:f}·10{superscript(power)}".replace("-", "−")
    if power >= digits:
        rounded = Decimal(float(value)).quantize(Decimal(1), ROUND_HALF_UP)
    return f"{rounded.normalize():,f}".replace("-", "−")


def format_exact(value: float) -> str:
    """Write a number with all its digits, as in a message that names a bound.

    >>> format_exact(20_000), format_exact(0.05), format_exact(1e-07), format_exact(2.5e-05), format_exact(1.0)
    ('20,000', '0.05', '1·10⁻⁷', '2.5·10⁻⁵', '1')
    """
    text = f"{value:,}".removesuffix(".0")
    mantissa, _, power = text.partition("e")
    return f"{mantissa}·10{superscript(int(power))}" if power else text


def format_share(share: float, decimals: int = 1) -> str:
    """Write a share as a percentage; one that would look like none or all, and is not, as "<0.1%" or ">99.9%".

    >>> format_share(0.758), format_share(0.0), format_share(0.0004), format_share(0.99999, 2), format_share(0.004, 0)
    ('75.8%', '0%', '<0.1%', '>99.99%', '<1%')
    """
    if not math.isfinite(share):
        return format_significant(share)
    if min(abs(share), abs(share - 1)) <= ROUNDING:
        return f"{share:.0%}"
    text = f"{share:.{decimals}%}"
    step = 10.0**-decimals
    if text == f"{0:.{decimals}%}":
        return f"<{step:.{decimals}f}%"
    if text == f"{1:.{decimals}%}" and share < 1:
        return f">{100 - step:.{decimals}f}%"
    return text.replace("-", "−")


def superscript(power: int) -> str:
    """Write a whole number in superscript digits.

    >>> superscript(-12)
    '⁻¹²'
    """
    return str(power).translate(SUPERSCRIPTS)


def power_of_ten(power: int) -> str:
    """Write a power of ten for an axis.

    >>> power_of_ten(0), power_of_ten(1), power_of_ten(-7)
    ('1', '10', '10⁻⁷')
    """
    return {0: "1", 1: "10"}.get(power, f"10{superscript(power)}")


def told_apart(values: Sequence[float | None], write: Callable[[float | None, int], str]) -> tuple[str, ...]:
    """Write numbers that are set against each other: with more digits, where two that differ would look equal.

    Numbers that are equal up to rounding have equal texts.

    Parameters
    ----------
    values : sequence of float or None
    write : callable
        Writes a number with so many digits more than usual.

    Examples
    --------
    >>> format_apart(1.0, 0.99996), format_apart(0.005, 0.005), format_apart(0.3, 0.1 + 0.2)
    (('1', '0.99996'), ('0.005', '0.005'), ('0.3', '0.3'))
    """
    texts = tuple(write(value, 0) for value in values)
    for extra in range(1, MOST_EXTRA + 1):
        if not _look_equal(values, texts):
            break
        texts = tuple(write(value, extra) for value in values)
    return texts


def _look_equal(values: Sequence[float | None], texts: Sequence[str]) -> bool:
    """Return whether two numbers that differ have the same text."""
    first: dict[str, float | None] = {}
    return any(not _same(first.setdefault(text, value), value) for value, text in zip(values, texts, strict=True))


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return one == other or (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=SAME)


def format_apart(first: float | None, second: float | None, digits: int = 3) -> tuple[str, str]:
    """Write two numbers that are set against each other with as many significant digits as it takes to tell them apart.

    >>> format_apart(0.0050, 0.004999), format_apart(2.0, 3.0)
    (('0.005', '0.004999'), ('2', '3'))
    """
    one, other = told_apart((first, second), lambda value, extra: format_significant(value, digits + extra))
    return one, other


def format_beside(value: float | None, limit: float, digits: int = 3) -> str:
    """Write a number whose side of a limit matters: it looks like the limit only if it equals it.

    >>> format_beside(0.99998, 1), format_beside(1.0, 1), format_beside(0.5, 1)
    ('0.99998', '1', '0.5')
    """
    return format_apart(value, limit, digits)[0]
