"""Ordinary mistakes in Python: each is one error that says what was wanted and what came, before
anything is computed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlwfa_core
from nlwfa_core import (
    WFA,
    Alphabet,
    NGram,
    Recipe,
    Sample,
    TestSet,
    Words,
    draw,
    estimate_hankel,
    evaluate,
    fit,
    fit_values,
    load,
    load_info,
    options,
    prepare,
    read_pautomac_model,
    read_solution,
    read_strings,
    read_values,
    run,
    save,
    select_basis,
    select_rank,
)
from nlwfa_core.errors import RecipeError, check_type
from nlwfa_core.experiment.cross_validation import cross_validate
from nlwfa_core.metrics.comparison import compare
from nlwfa_core.metrics.intervals import (
    Interval,
    intervals,
    leader,
    string_scores,
)

AB = Alphabet(("a", "b"))
FILE = read_strings(b"ab\na\n\nba\nab\n")
SAMPLE = FILE.sample()
BASIS = select_basis(SAMPLE, 4, 4)
HANKEL = estimate_hankel(SAMPLE, BASIS)
FIT = fit(HANKEL, "SP", rank=2)
TEST = TestSet.empirical(SAMPLE)
TWO = Words.of([(0,), (1,)])

# What is called -> the error.
MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "text instead of bytes": (
        lambda: read_strings("ab"),
        TypeError,
        "data must be bytes or a Path; got 'ab' (Path(name) for a file, text.encode() for "
        "its content)",
    ),
    "a solution from text": (
        lambda: read_solution("1"),
        TypeError,
        "data must be bytes or a Path; got '1'",
    ),
    "a model from None": (
        lambda: read_pautomac_model(None),
        TypeError,
        "data must be bytes or a Path; got None",
    ),
    "values from a list": (
        lambda: read_values(["a,1"]),
        TypeError,
        "data must be bytes or a Path; got list",
    ),
    "a file that is not there": (
        lambda: read_strings(Path("nowhere")),
        RecipeError,
        "can't read nowhere: No such file or directory",
    ),
    "string scores of swapped arguments": (
        lambda: string_scores(TEST, FIT.model),
        TypeError,
        "model must have num_symbols, weights and next_scores",
    ),
    "intervals of a model": (
        lambda: intervals(FIT.model),
        TypeError,
        "model must be a StringScores; got WFA (string_scores(model, test) makes one)",
    ),
    "a fraction of resamples": (
        lambda: intervals(string_scores(FIT.model, TEST), 10.5),
        TypeError,
        "num_resamples must be a whole number or None; got 10.5",
    ),
    "resamples without a seed": (
        lambda: intervals(string_scores(FIT.model, TEST), seed=None),
        TypeError,
        "seed must be a whole number; got None",
    ),
    "a negative seed of resamples": (
        lambda: intervals(string_scores(FIT.model, TEST), seed=-1),
        RecipeError,
        "seed must be at least 0; got -1",
    ),
    "a comparison with a test set": (
        lambda: compare(FIT.model, TEST, SAMPLE),
        TypeError,
        "second must have num_symbols, weights and next_scores",
    ),
    "a leader by a score that is not there": (
        lambda: leader("weer", Interval(1.0, 1.0, 1.0)),
        RecipeError,
        "field must be one of ",
    ),
    "a cross-validation of swapped arguments": (
        lambda: cross_validate(Recipe(), SAMPLE),
        TypeError,
        "recipe must be a Recipe; got Sample",
    ),
    "folds as text": (
        lambda: cross_validate(SAMPLE, Recipe(), "5"),
        TypeError,
        "number must be a whole number; got '5'",
    ),
    "weights of a list": (
        lambda: FIT.model.weights([[0, 1]]),
        TypeError,
        "words must be Words; got list (Words.of(list) makes them)",
    ),
    "a sample of a list": (
        lambda: Sample([(0, 1)], np.ones(1, dtype=int), AB),
        TypeError,
        "a sample consists of Words and their Alphabet; got list and Alphabet",
    ),
    "words over text": (
        lambda: Words(np.array([0]), np.array([0, 1]), "ab"),
        TypeError,
        "alphabet must be an Alphabet or None; got 'ab'",
    ),
    "words of a list": (
        lambda: Words([0], np.array([0, 1])),
        TypeError,
        "symbols must be a numpy array; got [0]",
    ),
    "a format that is not there": (
        lambda: read_strings(b"a", "xml"),
        RecipeError,
        "format must be one of auto, ",
    ),
    "a fraction of prefixes": (
        lambda: select_basis(SAMPLE, 10.5, 4),
        TypeError,
        "num_prefixes must be a whole number; got 10.5",
    ),
    "text for a number": (
        lambda: select_basis(SAMPLE, "10", 4),
        TypeError,
        "num_prefixes must be a whole number; got '10'",
    ),
    "H without a basis": (
        lambda: estimate_hankel(SAMPLE, 10),
        TypeError,
        "basis must be a Basis; got 10",
    ),
    "fit of a number": (
        lambda: fit(5, "SP", rank=2),
        TypeError,
        "data must be a Sample, or strings, such as a list of text; got int; data may also be a "
        "HankelMatrix",
    ),
    "fit with a basis of a matrix that has one": (
        lambda: fit(HANKEL, "SP", rank=2, num_prefixes=3, statistic="factor"),
        RecipeError,
        "num_prefixes and statistic can be chosen only with strings; the Hankel matrix that was "
        "passed has its own",
    ),
    "fit with a basis that is not used": (
        lambda: fit(SAMPLE, "HMM", rank=2, num_prefixes=3),
        RecipeError,
        "num_prefixes has no effect with learner HMM; it needs learner SP, fac.non, tran.non or "
        "both.non",
    ),
    "fit with a statistic that networks can't learn": (
        lambda: fit(SAMPLE, "fac.non", rank=1, statistic="suffix"),
        RecipeError,
        "suffix statistics need the learner SP and the transform none",
    ),
    "fit with a fraction of a rank": (
        lambda: fit(HANKEL, "SP", rank=2.5),
        TypeError,
        "rank must be a whole number or None; got 2.5",
    ),
    "fit with True as rank": (
        lambda: fit(HANKEL, "SP", rank=True),
        TypeError,
        "rank must be a whole number or None; got True",
    ),
    "fit without a learner": (
        lambda: fit(HANKEL),
        TypeError,
        "learner and rank missing: pass a learner and a rank, such as 'SP', 5",
    ),
    "fit with an unknown option": (
        lambda: fit(HANKEL, "SP", 2, epochs=3),
        RecipeError,
        "unknown field 'epochs'; the fields are learner, rank, refine, ",
    ),
    "fit without a seed": (
        lambda: fit(HANKEL, "fac.non", 2, seed=None),
        RecipeError,
        "seed must be a whole number; got None",
    ),
    "fit with a negative seed": (
        lambda: fit(HANKEL, "fac.non", 2, seed=-1),
        RecipeError,
        "seed must be at least 0; got -1",
    ),
    "fit with an unknown refinement": (
        lambda: fit(HANKEL, "SP", 2, refine="likely"),
        RecipeError,
        "refine must be one of none, hankel, likelihood; got 'likely'",
    ),
    "fit with an option of networks": (
        lambda: fit(HANKEL, "SP", 2, tolerance=0.1),
        RecipeError,
        "tolerance has no effect with learner SP; it needs learner fac.non, tran.non or both.non",
    ),
    "fit with strings twice": (
        lambda: fit(SAMPLE, "SP", 2, strings=SAMPLE),
        TypeError,
        "strings can only be passed with a HankelMatrix; got <Sample of 5 strings, 4 distinct",
    ),
    "options of the wrong type": (
        lambda: options("fac.non", hidden=2),
        RecipeError,
        "hidden must be a list; got 2",
    ),
    "a refinement's epochs": (
        lambda: options("SP", refine="likelihood", epochs_refinement="many"),
        RecipeError,
        "epochs_refinement must be a whole number; got 'many'",
    ),
    "fit of a matrix by a learner from strings": (
        lambda: fit(HANKEL, "HMM", 2),
        RecipeError,
        "HMM learns from strings; got a HankelMatrix",
    ),
    "fit_values of a file": (
        lambda: fit_values(read_values(b"a,1\n"), "SP", 1),
        TypeError,
        "values must be ValuedStrings; got ValueFile (its strings are)",
    ),
    "evaluate a matrix": (
        lambda: evaluate(HANKEL, TEST),
        TypeError,
        "model must have num_symbols, weights and next_scores, as a WFA or the model of a "
        "Fit does; got HankelMatrix",
    ),
    "evaluate a class": (
        lambda: evaluate(WFA, TEST),
        TypeError,
        "model must have num_symbols, weights and next_scores",
    ),
    "a test set with two targets": (
        lambda: TestSet(TWO, np.ones(1), Sample.of(TWO, AB), True),
        RecipeError,
        "each of the 2 test strings needs one target; got targets of shape (1,)",
    ),
    "a fraction of an n-gram": (
        lambda: NGram.fit(SAMPLE, 2.5),
        TypeError,
        "order must be a whole number; got 2.5",
    ),
    "save with the path first": (
        lambda: save("m", FIT.model),
        TypeError,
        "path must be a Path or text; got WFA",
    ),
    "save to a number": (
        lambda: save(FIT.model, 3, alphabet=AB),
        TypeError,
        "path must be a Path or text; got 3",
    ),
    "load what is not there": (
        lambda: load("nowhere"),
        RecipeError,
        "can't read nowhere/model.json: No such file or directory",
    ),
    "run a dictionary": (
        lambda: run({}),
        TypeError,
        "recipe must be a Recipe; got dict (Recipe(**dictionary) makes one)",
    ),
    "prepare text": (lambda: prepare("SP"), TypeError, "recipe must be a Recipe; got 'SP'"),
    "ranks that are one rank": (
        lambda: select_rank(SAMPLE, TEST, 3),
        TypeError,
        "ranks must be a Sequence; got 3",
    ),
    "draw without a seed": (
        lambda: draw(FIT.model, 5, None),
        TypeError,
        "seed must be a whole number; got None",
    ),
    "a word of fractions": (
        lambda: Words.of([[0.0, 1.7]]),
        TypeError,
        "a symbol must be an integer, its number in the alphabet; got 0.0",
    ),
    "a word of True": (
        lambda: Words.of([(0, True)]),
        TypeError,
        "a symbol must be an integer, its number in the alphabet; got True",
    ),
    "a word of text": (
        lambda: Words.of(["12"]),
        TypeError,
        "a word must be a sequence of integers, the numbers of its symbols; got '12'",
    ),
    "a number as a word": (
        lambda: Words.of([0, 1]),
        TypeError,
        "a word must be a sequence of integers, the numbers of its symbols; got 0",
    ),
    "symbols that are not integers": (
        lambda: Words(np.array([0.5]), np.array([0, 1])),
        RecipeError,
        "the symbols of words must be an array of integers; got an array of float64",
    ),
    "words of negative length": (
        lambda: Words(np.array([0, 1]), np.array([0, 3, 2])),
        RecipeError,
        "the offsets of words must not decrease, because each is the position at which a word "
        "begins; got 3 and then 2",
    ),
    "a negative symbol": (
        lambda: Sample.of(Words.of([(-1,)]), AB),
        RecipeError,
        "symbol -1 is not in the alphabet of 2 symbols (0 … 1)",
    ),
    "fractions of counts": (
        lambda: Sample.of(TWO, AB, np.array([1.5, 2.7])),
        RecipeError,
        "counts must be whole numbers; got 1.5",
    ),
    "nan as count": (
        lambda: Sample.of(TWO, AB, np.array([1, np.nan])),
        RecipeError,
        "counts must be whole numbers; got nan",
    ),
    "one count for two words": (
        lambda: Sample.of(TWO, AB, np.array([1])),
        RecipeError,
        "each of the 2 words needs one count; got counts of shape (1,)",
    ),
    "one number as counts": (
        lambda: Sample.of(TWO, AB, 1),
        RecipeError,
        "each of the 2 words needs one count; got counts of shape ()",
    ),
    "a table of counts": (
        lambda: Sample.of(TWO, AB, np.ones((2, 1), dtype=int)),
        RecipeError,
        "each of the 2 words needs one count; got counts of shape (2, 1)",
    ),
    "True as count": (
        lambda: Sample.of(TWO, AB, np.array([True, True])),
        TypeError,
        "counts must be whole numbers; got np.True_, of type bool",
    ),
    "negative counts": (
        lambda: Sample.of(TWO, AB, np.array([2, -1])),
        RecipeError,
        "counts must be at least 1; got -1",
    ),
    "a count beyond int64": (
        lambda: Sample.of(TWO, AB, np.array([1, 2**63], dtype=np.uint64)),
        RecipeError,
        "counts must be between −2⁶³ and 2⁶³ − 1",
    ),
    "a WFA of rows of different lengths": (
        lambda: WFA([1.0, 0.0], [[[1.0], [0.0, 1.0]]], [1.0, 0.0]),
        TypeError,
        "transitions must be an array of numbers; got rows of different lengths",
    ),
    "a recipe's rank": (
        lambda: Recipe(learning={"rank": 2.5}),
        RecipeError,
        "learning.rank must be a whole number; got 2.5",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str) -> None:
    call, kind, message = MISTAKES[name]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_what_is_meant_is_accepted(tmp_path: Path) -> None:
    """What people write, where it can mean one thing only."""
    (tmp_path / "train.txt").write_bytes(b"ab\na\n\nba\nab\n")
    assert read_strings(tmp_path / "train.txt").sample().counts.tolist() == SAMPLE.counts.tolist()
    assert evaluate(FIT, TEST) == evaluate(FIT.model, TEST)
    written = options("fac.non", rank=np.int64(2), hidden=[2, 1, 2], refine="hankel")
    assert written == options("fac.non", rank=2, refine="hankel")
    by_name, by_record = (
        fit(HANKEL, learner, 1, refine="hankel") for learner in ("SP", options("SP", rank=2))
    )
    assert by_name.model.weights(TWO).tolist() == by_record.model.weights(TWO).tolist()
    save(FIT.model, str(tmp_path / "m"), {"n": np.int64(3)}, alphabet=AB)
    assert load_info(str(tmp_path / "m")) == {"n": 3}
    assert list(Words.of(np.array([[0, 1], [1, 0]], dtype=np.int8))) == [(0, 1), (1, 0)]
    assert (
        Sample.of(TWO, AB, [1.0, 2.0]).counts.tolist()
        == Sample.of(TWO, AB, (1, 2)).counts.tolist()
        == [1, 2]
    )
    assert WFA([1.0, 0], [[[0.5, 0], [0, 1]]], [0.5, 0]).weights(Words.of([(0,)])).tolist() == [
        0.25
    ]


@pytest.mark.parametrize(
    ("hint", "value", "fits"),
    [
        (int, np.int8(3), True),
        (int, 2.0, False),
        (float, 2, True),
        (float, np.float32(2), True),
        (float, False, False),
        (float, "2", False),
        (int | None, None, True),
        (bool, True, True),
        (bool, 1, False),
        (Callable[[int], int], len, True),
        (Callable[[int], int], 3, False),
        (Any, object(), True),
        (list[int], ["not looked at"], True),
        (tuple[int, ...], [1], False),
        (tuple[int, str], (1, 2), False),
        (tuple[int, str], (1, "2"), True),
    ],
)
def test_a_value_fits_an_annotation(hint: Any, value: object, fits: bool) -> None:
    if fits:
        check_type("x", value, hint)
    else:
        with pytest.raises(TypeError, match="must be"):
            check_type("x", value, hint)


CHECKED = {
    "draw",
    "evaluate",
    "exact_hankel",
    "fit",
    "prepare",
    "run",
    "load",
    "save",
    "value_scores",
}


def test_public_functions_check_their_arguments() -> None:
    functions = {
        name
        for name in nlwfa_core.__all__
        if name.startswith(("read_", "select_", "fit", "estimate_"))
    } | CHECKED
    for name in functions:
        parameters = inspect.signature(function := getattr(nlwfa_core, name)).parameters.values()
        number = sum(
            one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters
        )
        with pytest.raises(TypeError, match="must be|must have"):
            function(*[object()] * number)
        with pytest.raises(TypeError, match=rf"{name}\(\) missing"):
            function(*[object()] * (number - 1))
