"""Every score against `tests.exact`, which computes it by its definition in exact arithmetic, on
inputs hard for floats.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nlwfa_core.cli.main import main
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.intervals import string_scores
from nlwfa_core.metrics.pautomac_score import CONVENTIONS, pautomac_score
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.conversion import to_string_probabilities
from nlwfa_core.models.model_files import save
from nlwfa_core.models.ngram import NGram, Uniform
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.pautomac import (
    read_pautomac_model,
    read_solution,
    write_pautomac,
    write_solution,
)
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from tests import exact
from tests.exact import ExactNGram, ExactWFA, Word
from tests.references import DATA

KINDS = ("probabilistic", "signed", "near one", "unreachable", "coarse", "unary", "many symbols")
OUTPUTS = st.just(0.0) | st.floats(1e-100, 1) | st.floats(-1, -1e-100)
TESTS = ("drawn", "repeated", "empty", "one", "long")


def automaton(kind: str, seed: int) -> WFA:
    """An automaton of string weights whose sum over all strings converges."""
    rng = np.random.default_rng(seed)
    num_symbols = {"unary": 1, "many symbols": 200}.get(kind, int(rng.integers(2, 5)))
    num_states = int(rng.integers(1, 5))
    if kind == "coarse":  # few values, so zeros and ties are exact
        transitions = (
            rng.choice([-0.25, 0, 0, 0.125, 0.25], (num_symbols, num_states, num_states))
            / num_states
        )
        return WFA(
            rng.choice([-1.0, 0.0, 1.0], num_states),
            transitions,
            rng.choice([0.0, 0.5, 1.0], num_states),
        )
    if kind == "signed":
        transitions = rng.normal(size=(num_symbols, num_states, num_states))
        transitions *= 0.8 / np.abs(np.linalg.eigvals(transitions.sum(axis=0))).max()
        return WFA(rng.normal(size=num_states), transitions, rng.normal(size=num_states))
    end = (
        rng.uniform(0.9e-4, 1.1e-4, num_states)
        if kind == "near one"
        else rng.uniform(0.02, 0.5, num_states)
    )
    transitions = rng.exponential(size=(num_symbols, num_states, num_states)) ** 2
    transitions *= ((1 - end) / transitions.sum(axis=(0, 2)))[None, :, None]
    initial = rng.dirichlet(np.ones(num_states))
    # a state that nothing reaches and one that reaches no end, each of infinite mass on its own
    if kind == "unreachable":
        larger = np.zeros((num_symbols, num_states + 2, num_states + 2))
        larger[:, :num_states, :num_states] = transitions
        larger[:, num_states, :], larger[:, :, -1] = 3.0, 2.0
        return WFA(np.append(initial, [0.0, 0.5]), larger, np.append(end, [1.0, 0.0]))
    return WFA(initial, transitions, end)


def strings(kind: str, num_symbols: int, seed: int) -> list[Word]:
    rng = np.random.default_rng([seed, 1])

    def word(length: int) -> Word:
        return tuple(rng.integers(0, num_symbols, length).tolist())

    if kind == "long":
        return [word(1500), word(1400)]
    if kind in ("empty", "one"):
        return [()] * 2 if kind == "empty" else [word(7)]
    drawn = [word(int(length)) for length in rng.geometric(0.3, 6) - 1]
    return drawn * 2 + drawn[:1] if kind == "repeated" else drawn


def exact_of(model: WFA) -> ExactWFA:
    return ExactWFA(model.initial, model.transitions, model.termination)


def close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    # 1e-12: a divergence of 0 is the difference of two scores of some bits.
    return (math.isnan(one) and math.isnan(other)) or math.isclose(
        one, other, rel_tol=1e-9, abs_tol=1e-12
    )


def check(values: dict[str, float | None], expected: dict[str, float | None]) -> None:
    wrong = {
        name: (values[name], value)
        for name, value in expected.items()
        if not close(values[name], value)
    }
    assert not wrong, f"(score, expected): {wrong}"


def check_scores(
    model: object,
    own: exact.Exact,
    rows: list[Word],
    truth: WFA | None,
    floor: float,
    num_symbols: int,
) -> None:
    """All scores of a model on some rows, and the same from the sums that intervals resample."""
    test = TestSet.of(Words.of(rows), Alphabet.numbered(num_symbols), true_model=truth)
    counts = Counter(rows)
    exact_truth = None if truth is None else exact_of(truth)
    words = rows if exact_truth is not None else list(dict.fromkeys(rows))
    outputs = [own.weight(word) for word in words]
    target = [
        Fraction(counts[word]) if exact_truth is None else exact_truth.weight(word)
        for word in words
    ]
    expected: dict[str, float | None] = dict(exact.string_scores(words, outputs, target, floor))
    if exact_truth is None:
        expected |= dict.fromkeys(("kl", "total_variation", "rmse", "true_log2_pauto"))
    else:
        expected["rmse"] = exact.root_mean_square(outputs, target)
    expected |= exact.next_symbol_scores(own, counts, exact_truth, floor)
    check(asdict(evaluate(model, test, floor)), expected)
    estimates = string_scores(model, test, floor).estimates
    check(estimates, {name: value for name, value in expected.items() if name in estimates})


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(TESTS[:-1]),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1e-3]),
    st.booleans(),
)
def test_scores_of_automata(kind: str, test: str, seed: int, floor: float, known: bool) -> None:
    model = automaton(kind, seed)
    truth = (
        automaton("many symbols" if kind == "many symbols" else "probabilistic", seed + 1)
        if known
        else None
    )
    if truth is not None and truth.num_symbols != model.num_symbols:
        truth = WFA(*(array for array in _over(truth, model.num_symbols)))
    check_scores(
        model,
        exact_of(model),
        strings(test, model.num_symbols, seed),
        truth,
        floor,
        model.num_symbols,
    )


def _over(model: WFA, num_symbols: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The automaton with another number of symbols, each as likely as the next."""
    share = model.transitions.sum(axis=0) / num_symbols
    return model.initial, np.repeat(share[None], num_symbols, axis=0), model.termination


SIGNED = WFA([1.0], [[[-0.25]], [[0.125]]], [0.5])
TWO_STATES = WFA(
    [0.5, 0.5], [[[0.25, 0.125], [0.0, 0.5]], [[0.25, 0.25], [0.25, 0.0625]]], [0.125, 0.1875]
)


@pytest.mark.parametrize(("model", "floor"), [(SIGNED, 0.0), (SIGNED, 1e-3), (TWO_STATES, 0.0)])
def test_weights_of_long_strings_may_be_too_small_for_floats(model: WFA, floor: float) -> None:
    """Strings of 1,500 symbols, whose weights are below 2⁻¹⁵⁰⁰: they are not 0, and neither are the
    scores of what follows.
    """
    rows = strings("long", model.num_symbols, 3)
    check_scores(model, exact_of(model), rows, None, floor, model.num_symbols)
    check_scores(model, exact_of(model), [rows[0][:1100], ()], None, floor, model.num_symbols)
    logs = model.log2_weights(Words.of(rows))
    np.testing.assert_allclose(
        logs, [exact.log2(exact_of(model).weight(word)) for word in rows], rtol=1e-9
    )


def test_a_true_model_of_long_strings() -> None:
    """The true probabilities are all too small for floats; the scores are those of the strings'
    logarithms.
    """
    model = WFA([1.0], [[[0.25]], [[0.5]]], [0.25])
    rows = [word[: 1200 - number] for number, word in enumerate(strings("long", 2, 5))]
    check_scores(model, exact_of(model), rows, TWO_STATES, 0.0, 2)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["drawn", "repeated", "empty", "one"]),
    st.integers(1, 4),
    st.integers(1, 5),
)
def test_scores_of_n_grams(seed: int, test: str, num_symbols: int, order: int) -> None:
    """The strings to train on lack some of the symbols."""
    train = Counter(strings("repeated", num_symbols, seed))
    sample = Sample.of(
        Words.of(list(train)), Alphabet.numbered(num_symbols + 1), np.array(list(train.values()))
    )
    own = ExactNGram(train, order, num_symbols + 1)
    check_scores(
        NGram.fit(sample, order),
        own,
        strings(test, num_symbols + 1, seed + 1),
        None,
        0.0,
        num_symbols + 1,
    )


def test_scores_of_the_uniform_model() -> None:
    rows = strings("drawn", 3, 0)
    check_scores(
        Uniform(3), ExactNGram({}, 1, 3), rows, WFA(*_over(automaton("unary", 0), 3)), 0.0, 3
    )


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(KINDS[:-1]), st.integers(0, 10**6))
@example("unreachable", 0)
def test_sums_over_continuations_and_conversions(kind: str, seed: int) -> None:
    model = automaton(kind, seed)
    own = exact_of(model)
    words = strings("drawn", model.num_symbols, seed)
    given_words = Words.of(words)
    size = (
        float(np.abs(own.prefix.initial) @ np.abs(own.prefix.termination))
        if len(own.prefix.initial)
        else 0.0
    )
    np.testing.assert_allclose(
        model.total_weight(), float(own.prefix.weight(())), rtol=1e-9, atol=1e-9 * size
    )
    for statistic, automaton_of in (("prefix", own.prefix), ("factor", own.factor)):
        counted = WFA(*(np.array(array, dtype=float) for array in _arrays(automaton_of)))
        back = to_string_probabilities(counted, statistic)
        expected = [float(own.weight(word)) for word in words]
        scale = (
            float(np.abs(counted.initial) @ np.abs(counted.termination))
            if counted.num_states
            else 0.0
        )
        np.testing.assert_allclose(
            back.weights(given_words), expected, rtol=1e-9, atol=1e-12 * max(scale, 1.0)
        )


def _arrays(model: ExactWFA) -> tuple[exact.Numbers, exact.Numbers, exact.Numbers]:
    return model.initial, model.transitions, model.termination


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(OUTPUTS, st.floats(1e-3, 1), st.floats(1e-9, 1)), min_size=1, max_size=6))
def test_every_convention_of_perplexity(rows: list[tuple[float, float, float]]) -> None:
    outputs, target, substitutes = map(np.array, zip(*rows, strict=True))
    for name in CONVENTIONS:
        expected = exact.log2_perplexity(
            name, *(list(map(Fraction, column)) for column in zip(*rows, strict=True))
        )
        value = pautomac_score(outputs, target, convention=name, substitutes=substitutes).log2
        assert close(value, expected), name


def _model_text(model: WFA) -> str:
    """A PAutomaC model file, with all digits."""
    stay = 1 - model.termination
    emitted = model.transitions.sum(axis=2) / stay
    lines = ["I: (state)", *(f"\t({q}) {p!r}" for q, p in enumerate(model.initial.tolist()))]
    lines += ["F: (state)", *(f"\t({q}) {p!r}" for q, p in enumerate(model.termination.tolist()))]
    lines += [
        "S: (state,symbol)",
        *(f"\t({q},{a}) {emitted[a, q].item()!r}" for a, q in np.ndindex(*emitted.shape)),
    ]
    moved = model.transitions / (stay * emitted)[:, :, None]
    return (
        "\n".join(
            [
                *lines,
                "T: (state,symbol,state)",
                *(
                    f"\t({q},{a},{r}) {p!r}"
                    for (a, q, r), p in zip(
                        np.ndindex(*moved.shape), moved.ravel().tolist(), strict=True
                    )
                ),
            ]
        )
        + "\n"
    )


@pytest.mark.parametrize("solved", [False, True])
def test_the_command_prints_the_same_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], solved: bool
) -> None:
    """Against a model file, and against a solution. One symbol never occurs, and strings repeat."""
    truth = automaton("probabilistic", 11)
    model = WFA(truth.initial, truth.transitions[::-1], truth.termination)
    rows = strings("repeated", truth.num_symbols - 1, 11)
    save(model, tmp_path / "model", alphabet=Alphabet.numbered(truth.num_symbols))
    (tmp_path / "test").write_text(write_pautomac(Words.of(rows), truth.num_symbols))
    (tmp_path / "truth").write_text(_model_text(truth))
    (tmp_path / "solution").write_text(write_solution(truth.weights(Words.of(rows)) / 7))
    known = (
        ["--solution", str(tmp_path / "solution")]
        if solved
        else ["--true-model", str(tmp_path / "truth")]
    )
    command = [
        "score",
        "--model",
        str(tmp_path / "model"),
        "--test",
        str(tmp_path / "test"),
        "--format",
        "pautomac",
        "--json",
    ]
    assert main([*command, *known]) == 0
    printed = json.loads(capsys.readouterr().out)
    own = exact_of(model)
    true = exact_of(truth)
    outputs = [own.weight(word) for word in rows]
    target = [true.weight(word) for word in rows]
    expected: dict[str, float | None] = dict(exact.string_scores(rows, outputs, target))
    expected["rmse"] = exact.root_mean_square(
        outputs, [value / 7 for value in target] if solved else target
    )
    check(
        printed, expected | exact.next_symbol_scores(own, Counter(rows), None if solved else true)
    )


@pytest.mark.parametrize("problem", [33, 3, 24])  # an HMM, a PFA and a DPFA
def test_models_of_the_competition(problem: int) -> None:
    folder = DATA / "pautomac"
    if not folder.exists():
        pytest.skip("needs the competition's files")
    model = read_pautomac_model(folder / f"{problem}.pautomac_model.txt")
    file = read_strings(folder / f"{problem}.pautomac.test", "pautomac")
    solution = read_solution(folder / f"{problem}.pautomac_solution.txt")
    rows = [tuple(word) for word in file.words][:6]
    own = exact_of(model)
    weights = np.array([float(own.weight(word)) for word in rows])
    np.testing.assert_allclose(weights / solution[:6], (weights / solution[:6])[0], rtol=1e-9)
    assert own.prefix.weight(()) == pytest.approx(1, abs=1e-10)
    check_scores(model, own, rows, model, 0.0, model.num_symbols)
