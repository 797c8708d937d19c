"""Generate the values of tasks about scores: word error rate, bits, distances, and which model drew
some strings.
"""

from __future__ import annotations

from fractions import Fraction
from math import log2
from random import Random

from .writing import label, number

END = "end"
SHARES = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8))
# P(a), P(b), P(end) of models with one state, in tenths.
MODELS = ((1, 4, 5), (4, 1, 5), (6, 2, 2), (2, 6, 2), (4, 4, 2), (1, 7, 2), (7, 1, 2), (3, 2, 5))


def wer(rng: Random) -> dict[str, str]:
    """Make a model's likeliest next symbols, and five test strings."""
    strings = ["".join(rng.choice("ab") for _ in range(rng.choice([1, 2, 2, 3]))) for _ in range(5)]
    guess = {
        "": rng.choice("ab"),
        "a": rng.choice(["a", "b", END]),
        "b": rng.choice(["a", "b", END]),
    }
    total = sum(len(string) + 1 for string in strings)
    errors = [
        sum(
            guess[before] != after
            for before, after in zip(["", *string], [*string, END], strict=True)
        )
        for string in strings
    ]
    inside = sum(
        guess[before] != after
        for string in strings
        for before, after in zip(["", *string[:-1]], string, strict=True)
    )
    return {
        "strings": "  ".join(strings),
        "at_the_start": guess[""],
        "after_a": guess["a"],
        "after_b": guess["b"],
        "total": str(total),
        "errors": ", ".join(map(str, errors)),
        "num_errors": str(sum(errors)),
        "rate": number(Fraction(sum(errors), total)),
        "without_end": number(Fraction(inside, total - 5)),
        "right": number(1 - Fraction(sum(errors), total)),
    }


def bits(rng: Random) -> dict[str, str]:
    """Make a string of three symbols, with the probability of each symbol and of the end."""
    while True:
        exponents = [rng.choice([1, 1, 2, 3]) for _ in range(4)]
        if sum(exponents) % 4 == 0:
            break
    word = "".join(rng.choice("ab") for _ in range(3))
    shares = [Fraction(1, 2**exponent) for exponent in exponents]
    probability = shares[0] * shares[1] * shares[2] * shares[3]
    return {
        "word": word,
        "first": number(shares[0]),
        "second": number(shares[1]),
        "third": number(shares[2]),
        "end": number(shares[3]),
        "probability": f"1/{probability.denominator}",
        "bits": str(sum(exponents)),
        "sum": " + ".join(map(str, exponents)),
        "per_symbol": str(sum(exponents) // 4),
        "perplexity": str(2 ** (sum(exponents) // 4)),
        "per_three": number(Fraction(sum(exponents), 3)),
    }


def distributions(rng: Random) -> dict[str, str]:
    """Make the true distribution P and a model's Q over four strings, all powers of a half."""
    while True:
        true = rng.sample(SHARES, 4)
        model = rng.choice([[Fraction(1, 4)] * 4, rng.sample(SHARES, 4)])
        if true != model:
            break
    divergence = sum(p * int(log2(p / q)) for p, q in zip(true, model, strict=True))
    backward = sum(q * int(log2(q / p)) for p, q in zip(true, model, strict=True))
    score = sum(p * -int(log2(q)) for p, q in zip(true, model, strict=True))
    distance = sum((abs(p - q) for p, q in zip(true, model, strict=True)), Fraction(0)) / 2
    names = ("a", "b", "ab", "ba")
    lines = "\n".join(
        f"| `{name}` | {number(p)} | {number(q)} |"
        for name, p, q in zip(names, true, model, strict=True)
    )
    return {
        "table": f"| string | P | Q |\n|---|---|---|\n{lines}",
        "kl": number(divergence),
        "backward": number(backward),
        "score": number(score),
        "entropy": number(score - divergence),
        "total_variation": number(distance),
        "sum_of_differences": number(2 * distance),
        "kl_terms": " + ".join(
            rf"{number(p)} \cdot ({int(log2(p / q))})" for p, q in zip(true, model, strict=True)
        ),
        "score_terms": " + ".join(
            rf"{number(p)} \cdot {-int(log2(q))}" for p, q in zip(true, model, strict=True)
        ),
        "differences": " + ".join(number(abs(p - q)) for p, q in zip(true, model, strict=True)),
    }


def impossible(rng: Random) -> dict[str, str]:
    """Make a model that gives one of four test strings the weight 0."""
    true = rng.sample(SHARES, 4)
    zero = rng.randrange(4)
    model = [
        Fraction(0) if place == zero else share / (1 - true[zero])
        for place, share in enumerate(true)
    ]
    names = ("a", "b", "ab", "ba")
    lines = "\n".join(
        f"| `{name}` | {number(p)} | {number(q)} |"
        for name, p, q in zip(names, true, model, strict=True)
    )
    return {
        "table": f"| string | P | Q |\n|---|---|---|\n{lines}",
        "string": names[zero],
        "share": number(true[zero]),
    }


def negative(rng: Random) -> dict[str, str]:
    """Make scores of three next symbols, one of them negative, and the probability of one."""
    parts = rng.choice([(1, 4, 5), (2, 3, 5), (1, 3, 6), (2, 2, 6), (1, 2, 7)])
    scale = Fraction(1, rng.choice([10, 20, 50, 100]))
    scores = [-parts[0] * scale, parts[1] * scale, parts[2] * scale]
    order = rng.sample(range(3), 3)
    names = dict(zip(order, ("a", "b", END), strict=True))
    asked = rng.choice([1, 2])
    total = Fraction(sum(parts)) * scale
    plain = sum(scores, Fraction(0))
    lines = "\n".join(f"| {names[place]} | {number(scores[place])} |" for place in order)
    return {
        "table": f"| next | score |\n|---|---|\n{lines}",
        "asked": names[asked],
        "score": number(scores[asked]),
        "total": number(total),
        "share": number(scores[asked] / total),
        "plain": number(scores[asked] / plain),
    }


def fair_difference(rng: Random) -> dict[str, str]:
    """Make the word error rates of a linear and of a nonlinear model, each fitted to H and trained
    by likelihood.
    """
    linear = rng.randint(44, 52)
    gain = rng.randint(4, 9)
    ahead = rng.randint(1, 4)
    # likelihood also helps the nonlinear model
    nonlinear = linear - rng.randint(3, min(7, gain + ahead - 1))
    likely = [linear - gain, linear - gain - ahead]
    rates = [Fraction(rate, 100) for rate in (linear, likely[0], nonlinear, likely[1])]
    return {
        "table": "| model | from H | by likelihood |\n|---|---|---|\n"
        f"| linear | {number(rates[0])} | {number(rates[1])} |\n| nonlinear | "
        f"{number(rates[2])} | {number(rates[3])} |",
        "linear": number(rates[0]),
        "linear_likely": number(rates[1]),
        "nonlinear_likely": number(rates[3]),
        "fair": number(rates[1] - rates[3]),
        "unfair": number(rates[0] - rates[3]),
        "by_matrix": number(rates[0] - rates[2]),
    }


def drawn(rng: Random) -> dict[str, str]:
    """Make ten strings, drawn from one of four models with one state each, which is also the
    likeliest by far.
    """
    while True:
        models = rng.sample(MODELS, 4)
        source = rng.randrange(4)
        strings = [_draw(rng, models[source]) for _ in range(10)]
        if any(string is None for string in strings):
            continue
        texts = [string or "" for string in strings]
        counts = ["".join(texts).count("a"), "".join(texts).count("b"), len(texts)]
        logs = [
            sum(count * log2(part / 10) for count, part in zip(counts, model, strict=True))
            for model in models
        ]
        if sorted(logs)[-1] == logs[source] and logs[source] - sorted(logs)[-2] > 4:
            break
    described = [f"P(a) = {a / 10}, P(b) = {b / 10}, P(end) = {end / 10}" for a, b, end in models]
    right = described.pop(source)
    return {
        "strings": "  ".join(map(label, texts)),
        "right": right,
        "wrong_one": described[0],
        "wrong_two": described[1],
        "wrong_three": described[2],
        "count_a": str(counts[0]),
        "count_b": str(counts[1]),
        "total": str(sum(counts)),
        "share_a": f"{counts[0] / sum(counts):.2f}",
        "share_b": f"{counts[1] / sum(counts):.2f}",
        "share_end": f"{counts[2] / sum(counts):.2f}",
    }


def _draw(rng: Random, model: tuple[int, int, int]) -> str | None:
    """Draw a string; None if it gets longer than eight symbols."""
    text = ""
    while len(text) < 9:
        symbol = rng.choices(["a", "b", ""], model)[0]
        if not symbol:
            return text
        text += symbol
    return None
