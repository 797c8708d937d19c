"""Generate the values of tasks about networks: auto-encoders, tanh units, losses, gradient steps,
roots and squares.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

from .writing import column, number, numbers, vector

# Half units -> tanh, to two digits: the table that a task gives.
TANH = {0: Fraction(0), 1: Fraction(46, 100), 2: Fraction(76, 100), 4: Fraction(96, 100)}
TABLE = "tanh(0) = 0, tanh(0.5) = 0.46, tanh(1) = 0.76, tanh(2) = 0.96"


def linear_encoder(rng: Random) -> dict[str, str]:
    """Make a linear auto-encoder with two inputs, one unit and two outputs, and its squared
    error.
    """
    while True:
        inputs, encoder, decoder = ([rng.randint(-2, 3) for _ in range(2)] for _ in range(3))
        code = inputs[0] * encoder[0] + inputs[1] * encoder[1]
        if code and all(inputs) and any(decoder) and abs(code) < 7:
            break
    outputs = [code * weight for weight in decoder]
    errors = [x - y for x, y in zip(inputs, outputs, strict=True)]
    return {
        "inputs": vector(inputs),
        "encoder": column(encoder),
        "decoder": vector(decoder),
        "code": str(code),
        "outputs": numbers(outputs),
        "output_vector": vector(outputs),
        "errors": vector(errors),
        "loss": str(errors[0] ** 2 + errors[1] ** 2),
        "sum": str(abs(errors[0]) + abs(errors[1])),
    }


def tanh_unit(rng: Random) -> dict[str, str]:
    """Make a tanh unit with two inputs.

    The table of tanh values in the task's text has its weighted sum, up to the sign.
    """
    while True:
        weights = [Fraction(rng.choice([-2, -1, 1, 2, 3]), 2) for _ in range(2)]
        inputs = [Fraction(rng.choice([-2, -1, 0, 1, 2])) for _ in range(2)]
        argument = sum((w * x for w, x in zip(weights, inputs, strict=True)), Fraction(0))
        if abs(2 * argument) in (1, 2, 4):
            break
    output = _tanh(argument)
    return {
        "table": TABLE,
        "weights": vector(weights),
        "inputs": column(inputs),
        "argument": number(argument),
        "output": number(output),
        "opposite": number(-output),
    }


def tanh_network(rng: Random) -> dict[str, str]:
    """Make two tanh units with one input, and a linear output."""
    while True:
        value = Fraction(rng.choice([-2, -1, 1, 2]), 2)
        weights = [Fraction(rng.choice([-2, -1, 1, 2])) for _ in range(2)]
        outer = [rng.choice([-2, -1, 1, 2, 3]) for _ in range(2)]
        arguments = [weight * value for weight in weights]
        if weights[0] != weights[1] and all(abs(2 * argument) in TANH for argument in arguments):
            break
    units = [_tanh(argument) for argument in arguments]
    return {
        "table": TABLE,
        "input": number(value),
        "weights": vector(weights),
        "outer": column(outer),
        "arguments": vector(arguments),
        "units": vector(units),
        "output": number(outer[0] * units[0] + outer[1] * units[1]),
        "linear": number(outer[0] * arguments[0] + outer[1] * arguments[1]),
    }


def num_weights(rng: Random) -> dict[str, str]:
    """Make the sizes of an auto-encoder and of an automaton, and count the weights of both."""
    suffixes = rng.choice([10, 20, 30, 50, 100])
    rank = rng.choice([2, 3, 4, 5])
    symbols = rng.choice([2, 3, 4])
    return {
        "suffixes": str(suffixes),
        "rank": str(rank),
        "symbols": str(symbols),
        "encoder": str(suffixes * rank),
        "both": str(2 * suffixes * rank),
        "square": str(suffixes**2),
        "matrix": str(rank**2),
        "automaton": str(symbols * rank**2 + 2 * rank),
        "matrices": str(symbols * rank**2),
    }


def root(rng: Random) -> dict[str, str]:
    """Make a share of strings that is the square of a simple number."""
    value = Fraction(rng.choice([1, 2, 3, 4, 5, 6, 7]), 10)
    sign = rng.choice([-1, 1])
    return {
        "share": number(value**2),
        "root": number(value),
        "half": number(value**2 / 2),
        "output": number(sign * value),
        "square": number(value**2),
        "wrong_square": number(sign * value**2),
        "double": number(2 * sign * value),
    }


def gradient(rng: Random) -> dict[str, str]:
    """Make an exercise on one step of gradient descent on (w − c)²."""
    target, start = rng.sample([-3, -2, -1, 0, 1, 2, 3, 4, 5], 2)
    rate = Fraction(rng.choice([1, 2, 3, 4]), 10)
    slope = 2 * (start - target)
    return {
        "target": number(target),
        "start": number(start),
        "rate": number(rate),
        "slope": number(slope),
        "after": number(start - rate * slope),
        "uphill": number(start + rate * slope),
        "without_two": number(start - rate * slope / 2),
    }


def _tanh(argument: Fraction) -> Fraction:
    size = TANH[int(abs(2 * argument))]
    return -size if argument < 0 else size
