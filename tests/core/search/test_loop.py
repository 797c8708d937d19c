"""The search for the best model: what it reaches, how it ends, and that its recipes give the same
models again.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.learning.em import em_training
from nlwfa_core.learning.em.em_training import EMRecipe, EMTraining, fit_em, over_relaxed
from nlwfa_core.learning.em.hmm import EM, fit_hmm
from nlwfa_core.learning.em.pfa import PFAs, random_pfas
from nlwfa_core.learning.em.prefix_tree import PrefixTree
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.likelihood.many_symbols import Generation
from nlwfa_core.learning.merging import PDFATraining
from nlwfa_core.learning.progress import Progress, silent
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.metrics.evaluate import evaluate, next_symbol_score
from nlwfa_core.models.model_files import load, load_info, save
from nlwfa_core.models.ngram import NGram
from nlwfa_core.models.sampling import draw
from nlwfa_core.models.wfa import WFA
from nlwfa_core.search.budget import Budget
from nlwfa_core.search.candidates import Candidate
from nlwfa_core.search.families.em import EMTrainings
from nlwfa_core.search.families.family import WITHOUT_GAIN, Family, Task
from nlwfa_core.search.families.lstm import LSTM, LSTMRecipe
from nlwfa_core.search.families.merging import Merging
from nlwfa_core.search.families.networks import (
    Networks,
    by_likelihood,
    path_of_ranks,
    share_of_a_pass,
)
from nlwfa_core.search.families.ngrams import NGramRecipe
from nlwfa_core.search.loop import _Search, hold_out, search
from nlwfa_core.search.mixing import MOST_PREFIXES, Mixing, held_out_prefixes
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, Words

F = TypeVar("F", bound=Family)

AB = Alphabet(("a", "b"))
# State 0 emits a or ends, state 1 emits b: after b comes a, and strings end only after an even
# number of b's, never with b.
TRUTH = WFA([1.0, 0.0], [[[0.3, 0.4], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]], [0.3, 0.0], AB)


def epochs_of(recipe: Recipe) -> int:
    return int(recipe.learning.fields()["epochs_refinement"])


def strings(number: int, seed: int) -> Sample:
    drawn = draw(TRUTH, number, seed=seed)
    return Sample.of(drawn.words, AB, drawn.counts)


TRAIN = strings(60, 0)
TEST = strings(20_000, 1)
LEARNED = search(TRAIN, budget=Budget(minutes=3, max_states=6))


def test_sixty_strings_end_by_themselves_near_the_true_model() -> None:
    exact = next_symbol_score(TRUTH, TEST).bits_per_symbol
    assert LEARNED.converged and not LEARNED.stopped
    assert next_symbol_score(LEARNED.model, TEST).bits_per_symbol < exact + 0.08
    assert LEARNED.num_states <= 6 and isinstance(LEARNED.model, WFA)


def test_strings_that_were_held_out_are_learned_from_in_the_end() -> None:
    assert (LEARNED.num_train, LEARNED.num_validation, LEARNED.num_trained_on) == (48, 12, 60)
    train, validation = hold_out(TRAIN, 0)
    assert (train.num_strings, validation.num_strings) == (48, 12)
    part = LEARNED.components[0]
    _ = LEARNED.shares
    if isinstance(part.recipe, EMRecipe):
        assert part.recipe.iterations_on_all > 0


def test_validation_strings_that_are_passed_are_only_chosen_by() -> None:
    validation = strings(30, 5)
    best = search(TRAIN, validation, Budget(minutes=0.05, max_states=3))
    assert (best.num_train, best.num_validation, best.num_trained_on) == (60, 30, 60)
    assert next_symbol_score(best.model, validation).bits_per_symbol == pytest.approx(best.bits)
    families = {family.family: family for family in best.families}
    assert {"n-gram", "SP", "PDFA", "PFA", "HMM"} <= set(families)
    per_string = (
        best.bits * (validation.words.lengths + 1) @ validation.counts / validation.num_strings
    )
    # n-grams are a baseline
    chosen = next(family for family in best.families if family.family != "n-gram")
    assert chosen.bits == best.bits and chosen.perplexity == pytest.approx(2**per_string)
    assert [family.bits for family in best.families] == sorted(
        family.bits for family in best.families
    )


def test_each_part_is_learned_again_from_its_recipe() -> None:
    train, _ = hold_out(TRAIN, 0)
    for part in LEARNED.components:
        if isinstance(part.recipe, EMRecipe):
            again = fit_em(part.recipe, train, TRAIN)
            np.testing.assert_array_equal(again.weights(TEST.words), part.model.weights(TEST.words))


def test_a_stopped_search_gives_the_best_so_far() -> None:
    stop = threading.Event()
    seen: list[Progress] = []

    def report(progress: Progress) -> None:
        seen.append(progress)
        if progress.loss is not None:
            stop.set()

    best = search(
        strings(3000, 2), budget=Budget(minutes=5, max_states=20), stop=stop, report=report
    )
    assert best.stopped and not best.converged and best.num_trained_on == best.num_train == 2700
    assert np.isfinite(best.bits) and best.num_states <= 20
    assert all(progress.total == 300 for progress in seen)


def test_a_mixture_counts_all_its_states() -> None:
    best = search(strings(400, 3), budget=Budget(minutes=0.1, max_states=4))
    assert best.num_states == sum(part.num_states for part in best.components) <= 4
    assert best.shares.sum() == pytest.approx(1)


def test_searches_that_can_not_be_made_are_refused() -> None:
    one = Sample.of(Words.of([(0,)]), AB)
    for message, arguments in (
        ("at least 2 strings are needed, .*; got 1", {"train": one}),
        ("needs training strings; got none", {"train": Sample.of(Words.of([]), AB)}),
        (
            "needs validation strings; got none",
            {"train": one, "validation": Sample.of(Words.of([]), AB)},
        ),
    ):
        with pytest.raises(RecipeError, match=message):
            search(**arguments)  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="clock must be one of wall, processor; got 'sun'"):
        Budget(clock="sun")


# N-grams, and rankings


def zipf(number: int, seed: int) -> Sample:
    """Words of a vocabulary in which few words are frequent: n-grams do better on them than
    automata with few states.
    """
    vocabulary = np.random.default_rng(0)
    words = [
        tuple(vocabulary.integers(0, 6, vocabulary.integers(2, 7)).tolist()) for _ in range(60)
    ]
    shares = 1 / np.arange(1, 61)
    drawn = np.random.default_rng(seed).choice(60, number, p=shares / shares.sum())
    return Sample.of(Words.of([words[number] for number in drawn]), Alphabet(tuple("abcdef")))


@pytest.mark.parametrize("for_ranking", [False, True])
def test_n_grams_are_part_of_the_model_only_if_they_may(tmp_path: Path, for_ranking: bool) -> None:
    train = zipf(400, 1)
    test = zipf(400, 2)
    budget = Budget(minutes=0.03, max_states=3)
    automaton = search(train, budget=budget)
    assert isinstance(automaton.model, WFA) and all(
        part.num_states for part in automaton.components
    )
    best = search(train, budget=budget, other_models=["n-gram"], for_ranking=for_ranking)
    assert (
        any(isinstance(part.recipe, NGramRecipe) for part in best.components)
        and best.num_states <= 3
    )
    bits = [next_symbol_score(one.model, test).bits_per_symbol for one in (best, automaton)]
    assert bits[0] < bits[1] - 0.1
    save(best.model, tmp_path / "m", {"search": best.record}, alphabet=train.alphabet)  # type: ignore[arg-type]
    saved = load(tmp_path / "m")
    assert saved.weights(test.words).tolist() == best.model.weights(test.words).tolist()
    record = load_info(tmp_path / "m")["search"]
    assert record["level"] in ("string", "symbol") and (record["ndcg5"] is not None) == for_ranking
    for part, one in zip(record["components"], best.components, strict=True):
        if isinstance(one.recipe, NGramRecipe):  # it was counted again, on all strings
            again = NGram.fit(train, part["recipe"]["order"], part["recipe"]["smoothing"])
            assert again.weights(test.words).tolist() == one.model.weights(test.words).tolist()


@pytest.mark.slow
def test_an_lstm_is_part_of_the_model_only_if_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of words of a vocabulary it knows more than automata with two states."""
    for name, value in {
        "lstm.LSTM_UNITS": (200, 10),
        "lstm.LSTM_UPDATES": 300,
        "em.EMTrainings.largest": lambda self: 2,
    }.items():
        monkeypatch.setattr(f"nlwfa_core.search.families.{name}", value)
    # too few strings for NL-WFA
    train = zipf(190, 1)
    test = zipf(400, 2)
    assert not any(
        isinstance(one.recipe, LSTMRecipe)
        for one in search(train, budget=Budget(max_states=10)).components
    )
    best = search(train, budget=Budget(minutes=9, max_states=10, threads=2), other_models=["LSTM"])
    (part,) = [one for one in best.components if isinstance(one.recipe, LSTMRecipe)]
    assert isinstance(part.recipe, LSTMRecipe) and part.title == "LSTM, k = 10"
    # no n-grams
    assert "LSTM" in {one.family for one in best.families} and all(
        one.num_states for one in best.components
    )
    assert best.num_trained_on == train.num_strings and part.is_whole
    again = part.recipe.fit(train)
    assert again.weights(test.words).tolist() == part.model.weights(test.words).tolist()
    save(best.model, tmp_path / "m", {"search": best.record}, alphabet=train.alphabet)  # type: ignore[arg-type]
    assert (
        load(tmp_path / "m").weights(test.words).tolist() == best.model.weights(test.words).tolist()
    )


def test_a_mixture_of_next_symbols_is_chosen_where_it_is_best() -> None:
    """One coin shows mostly a, the other mostly b, and strings have as many of both: each symbol is
    then 0.45 likely by symbol.

    By string, a mixture of the coins is no better for strings of a's and b's than one coin and
    another bit for each string.
    """
    coins = [WFA([1.0], [[[a]], [[b]]], [0.1], AB) for a, b in ((0.88, 0.02), (0.02, 0.88))]
    validation = Sample.of(Words.of([(0, 1) * 10, (1, 0) * 10]), AB)
    candidates = [
        Candidate(
            "PFA",
            coin,
            next_symbol_score(coin, validation).bits_per_symbol,
            0.0,
            EMRecipe("PFA", 1),
        )
        for coin in coins
    ]
    arguments = (
        validation,
        validation,
        None,
        Budget(max_states=2),
        threading.Event(),
        silent,
        print,
    )
    searches = [_Search(*arguments, others, False) for others in (["n-gram"], [])]
    best, by_string = (one._mixing().best(candidates) for one in searches)
    assert (best.level, by_string.level) == ("symbol", "string")
    expected = -(20 * np.log2(0.45) + np.log2(0.1)) / 21
    assert best.bits == pytest.approx(expected, rel=1e-6) and by_string.bits > expected + 1
    assert (
        best.shares.tolist() == pytest.approx([0.5, 0.5], abs=1e-4)
        and best.title == "mixture by symbol of 2 × PFA 1"
    )


def test_prefixes_are_cut_from_the_strings() -> None:
    strings = Sample.of(Words.of([(), (0, 1), (1, 0, 1), (1, 0, 1)]), AB)
    seen = set()
    for seed in range(3):
        prefixes = held_out_prefixes(strings, seed)
        assert len(prefixes.words) == MOST_PREFIXES  # each string is cut equally often
        for prefix, target in zip(prefixes.words, prefixes.targets.symbols.tolist(), strict=True):
            seen.add((prefix, target))
    assert seen == {
        ((), -1),
        ((), 0),
        ((0,), 1),
        ((0, 1), -1),
        ((), 1),
        ((1,), 0),
        ((1, 0), 1),
        ((1, 0, 1), -1),
    }
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr("nlwfa_core.search.mixing.MOST_PREFIXES", 3)
        assert len(held_out_prefixes(strings, 0).words) == 3


# What is tried next


def test_merging_waits_for_em_unless_it_is_near_or_cheap() -> None:
    one = searching(TRAIN, Budget(minutes=1))
    state = one.state
    merging = of(one, Merging)
    em = of(one, EMTrainings)
    assert not merging.may_help()  # the first merging has no result yet
    state.candidates.append(Candidate("PDFA", TRUTH, 1.0, 5.0, PDFATraining(2, 10)))
    assert merging.may_help()  # nothing else is known
    training = EMTraining(EMRecipe("PFA", 2), losses=[1.2, 1.1, 1.0])  # promises 0.8
    em.trainings.append(training)
    assert training.forecast == pytest.approx(0.8) and not merging.may_help()
    training.losses = [1.0, 0.995, 0.995, 0.995]  # promises 0.99
    assert merging.may_help()
    training.losses = [1.0, 0.98, 0.98, 0.98]  # promises 0.96
    assert not merging.may_help()
    state.candidates[0].seconds = 0.5  # less than a fiftieth of a minute
    assert merging.may_help()
    merging.recipes.clear()
    assert not merging.may_help()


def test_networks_wait_and_go_on_only_near_what_others_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "nlwfa_core.search.families.networks.path_of_ranks", lambda train, seed: None
    )
    train = strings(1000, 7)
    one = searching(train, Budget(minutes=1, max_states=10))
    state = one.state
    networks = of(one, Networks)
    one._note_best()
    assert (
        networks.next_task([]) is None
    )  # EM has not converged, and there is time to wait for that
    state.has_converged = True
    task = networks.next_task([])
    assert task is not None and task[0] == "both.non" and networks.next_task([]) is None
    recipe = arguments(task)[0]
    state.candidates += [
        Candidate("both.non", TRUTH, 1.1, 3.0, recipe),
        Candidate("SP", TRUTH, 1.0, 1.0, recipe),
    ]
    assert networks.next_task([]) is None and networks.short is None  # 10 % more bits than SP
    # n-grams don't matter here
    state.candidates.append(Candidate("n-gram", NGram.fit(train, 2), 0.5, 1.0, NGramRecipe(2)))
    state.candidates[0].bits = 1.04
    taught = networks.next_task([])
    assert taught is not None and arguments(taught)[0] == by_likelihood(10, 0)
    assert arguments(taught)[1] == pytest.approx(60 / 1.3, rel=0.1)
    long = networks.next_task([])
    assert (
        long is not None
        and epochs_of(arguments(long)[0]) > epochs_of(recipe)
        and networks.short is state.candidates[0]
    )
    assert networks.next_task([]) is None  # each once


def test_a_network_of_many_symbols_is_given_up_if_it_would_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # so that networks of all sizes are taught
    monkeypatch.setattr("nlwfa_core.learning.likelihood.path.is_large", lambda *_: True)
    generations = (Generation(2, 2, 3e-3, 0), Generation(1, 3, 4e-3, 2))
    monkeypatch.setattr("nlwfa_core.learning.likelihood.many_symbols.GENERATIONS", generations)
    monkeypatch.setattr("nlwfa_core.search.families.networks.GENERATIONS", generations)
    train = strings(300, 7)
    # the first of two passes of two networks, and of three passes over three times the strings
    assert share_of_a_pass(train) == pytest.approx(1 / (2 * 2 + 3 * 3))
    one = searching(train, Budget(minutes=5, clock="processor"))
    state = one.state
    networks = of(one, Networks)
    networks.teach(by_likelihood(4, 0), 0.0)
    assert not state.candidates and state.spent["both.non"] > 0
    networks.teach(by_likelihood(4, 0), 300.0)
    (taught,) = state.candidates
    assert taught.recipe == by_likelihood(4, 0) and taught.num_states == 4


@pytest.mark.parametrize(("num_symbols", "grows"), [(20, True), (21, False)])
def test_ranks_grow_where_fit_grows_them(
    num_symbols: int, grows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FRESH", "GROWN", "LAST_ROUNDS"):  # that is quicker, and so are few generations
        monkeypatch.setattr(f"nlwfa_core.learning.likelihood.path.{name}", 1)
    generations = (Generation(1, 1, 3e-3, 0),)
    monkeypatch.setattr("nlwfa_core.learning.likelihood.many_symbols.GENERATIONS", generations)
    letters = Alphabet(tuple("abcdefghijklmnopqrstu"[:num_symbols]))
    train = Sample.of(Words.of([(0, 1), (0, 2), (1,)]), letters)
    cache = FitCache()
    fit(train, "both.non", rank=4, objective="likelihood", cache=cache)
    (path,) = cache.paths.values()
    assert (len(path.stages) == 4) == grows == (not path.alone)
    assert (path_of_ranks(train, 0) is not None) == grows


def test_ranks_grow_at_once_while_they_are_cheap_and_not_behind() -> None:
    """A minute: ranks that need up to nine seconds together do not wait."""
    one = searching(strings(1000, 7), Budget(minutes=1, max_states=5))
    state = one.state
    networks = of(one, Networks)
    task = networks.next_task([])
    assert task is not None and arguments(task) == (by_likelihood(1, 0), 9.0)
    assert networks.recipes is not None and networks.cache is not None
    ranks = [2, 3, 5]
    assert [recipe.learning.rank for recipe in networks.recipes] == ranks
    (path,) = networks.cache.paths.values()
    sp = Candidate("SP", TRUTH, 1.1, 1.0, arguments(task)[0])
    state.candidates.append(sp)
    state.best = sp.bits
    training = EMTraining(EMRecipe("PFA", 2), losses=[1.25])
    of(one, EMTrainings).trainings.append(training)

    def trained(bits: float, total: float, last: float) -> None:
        path.stages.append(None)  # type: ignore[arg-type]
        networks.rank_bits.append(bits)
        networks.seconds_of_ranks = total
        networks.seconds_of_last_rank = last

    trained(1.3, 1.0, 1.0)
    assert networks.next_task([]) is None  # behind a PFA of two states
    training.losses = [1.4]
    task = networks.next_task([])
    assert task is not None and arguments(task) == (by_likelihood(2, 0), 8.0)
    trained(1.15, 2.0, 1.0)
    task = networks.next_task([])  # 5 % behind SP
    assert task is not None and arguments(task) == (by_likelihood(3, 0), 7.0)
    trained(1.12, 6.0, 4.0)
    state.has_converged = True
    assert networks.next_task([]) is None  # rank 5 may take ten seconds more
    state.best = sp.bits = 1.12
    state.has_converged = False
    assert networks.next_task([]) is None  # EM has not converged
    state.has_converged = True
    task = networks.next_task([])
    assert task is not None and arguments(task)[0] == by_likelihood(5, 0)
    assert arguments(task)[1] == pytest.approx(60, rel=0.1)
    networks.recipes.append(arguments(task)[0])
    state.best = 1.11
    assert networks.next_task([]) is None
    state.without_gain = WITHOUT_GAIN
    assert networks.next_task([]) is not None
    assert networks.next_task([]) is None  # it was the last


def test_a_rank_that_takes_too_long_is_tried_again_unless_it_is_the_first() -> None:
    one = searching(TRAIN, Budget(minutes=5, max_states=1))
    state = one.state
    networks = of(one, Networks)
    networks.recipes = [by_likelihood(2, 0)]
    networks.cache = path_of_ranks(TRAIN, 0)
    networks.grow(by_likelihood(1, 0), 300.0)
    (part,) = state.candidates
    assert isinstance(part.recipe, Recipe) and part.seconds == state.spent["both.non"]
    again = fit(TRAIN, part.recipe.learning).model
    np.testing.assert_array_equal(again.weights(TEST.words), part.model.weights(TEST.words))
    networks.grow(networks.recipes.pop(), 0.0)
    assert networks.recipes == [by_likelihood(2, 0)] and state.candidates == [part]
    assert networks.seconds_of_ranks == state.spent["both.non"] > part.seconds
    networks.cache = path_of_ranks(TRAIN, 0)
    networks.grow(by_likelihood(1, 0), 0.0)
    assert not networks.recipes


@pytest.mark.slow
def test_brackets_are_learned_by_a_network_of_two_states() -> None:
    """Linear models of as many states are far behind: how many brackets are open is a number."""
    data = load_data(DataRecipe(num_strings=400, num_validation=200, num_test=1000, seed=3))
    assert data.true_model is not None and data.validation is not None
    budget = Budget(minutes=2, max_states=2, threads=1, clock="processor")
    best = search(data.train, data.validation.sample, budget)
    (part,) = best.components
    assert (part.family, part.num_states) == ("both.non", 2)
    families = {one.family: one.bits for one in best.families}
    assert min(families[name] for name in ("SP", "PFA", "HMM")) > 1.2 * part.bits
    bits = evaluate(best.model, data.test).bits_per_symbol
    assert bits < evaluate(data.true_model, data.test).bits_per_symbol + 0.1


def test_lstms_follow_each_other_while_they_are_near_and_there_is_time() -> None:
    one = _Search(
        TRAIN,
        TEST,
        TRAIN,
        Budget(minutes=1, max_states=300, threads=2),
        threading.Event(),
        silent,
        print,
        ["LSTM"],
        False,
    )
    state = one.state
    lstm = of(one, LSTM)
    first = lstm.late_task()
    assert first is not None and first[0] == "LSTM" and not arguments(first) and lstm.begun == 1
    assert lstm.late_task() is None
    assert lstm.next_task([]) is None  # the first has no result yet
    recipe = LSTMRecipe(100, 40, 4, 0)
    state.candidates += [
        Candidate("SP", TRUTH, 1.0, 1.0, PDFATraining(2, 10)),
        Candidate("LSTM", TRUTH, 1.2, 10.0, recipe),
    ]
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(
            Candidate, "num_states", property(lambda one: getattr(one.recipe, "num_states", 3))
        )
        state.has_converged = True
        assert lstm.next_task([]) is None  # 20 % more bits than SP
        state.candidates[1].bits = 1.03
        state.has_converged = False
        assert lstm.next_task([]) is None  # NL-WFA come before a second one
        state.has_converged = True
        task = lstm.next_task([])
        assert task is not None and arguments(task) == (replace(recipe, seed=1, dropout=0.4),)
        state.candidates.append(Candidate("LSTM", TRUTH, 1.01, 10.0, arguments(task)[0]))
        task = lstm.next_task([])
        # the better dropout
        assert task is not None and arguments(task) == (replace(recipe, seed=2, dropout=0.4),)
        state.candidates[2].seconds = 40.0  # 40 s, and 24 s for each thread on all strings
        assert lstm.next_task([]) is None
        state.candidates[2].seconds = 10.0
        state.candidates.append(
            Candidate("LSTM", TRUTH, 1.02, 10.0, replace(recipe, num_states=75, seed=3))
        )
        task = lstm.next_task([])
        assert (
            task is not None and arguments(task)[0].num_states == 25
        )  # what is left of 300 states
        state.budget = replace(state.budget, max_states=299)
        assert lstm.next_task([]) is None


def test_the_first_lstm_does_not_wait_when_nothing_else_is_left() -> None:
    budget = Budget(minutes=1, max_states=300, threads=1)
    one = _Search(TRAIN, TEST, TRAIN, budget, threading.Event(), silent, print, ["LSTM"], False)
    state = one.state
    state.candidates.append(Candidate("SP", TRUTH, 1.0, 1.0, PDFATraining(2, 10)))
    of(one, Networks).recipes = []
    assert of(one, LSTM).late_task() is None  # the other families come first
    state.best = 1.0
    state.without_gain = WITHOUT_GAIN
    task = one._next_task([])
    assert task is not None and task[0] == "LSTM" and one._next_task([]) is None


# EM in turns


@pytest.mark.parametrize(
    "recipe",
    [
        EMRecipe("PFA", 3, acceleration=1.2),
        EMRecipe("PFA", 4, "split", 2),
        EMRecipe("HMM", 3, seed=1, acceleration=1.5),
    ],
)
def test_turns_make_no_difference(recipe: EMRecipe) -> None:
    trees = PrefixTree(TRAIN), PrefixTree(TEST)
    once = EMTraining(recipe)
    turns = EMTraining(recipe)
    once.advance(TRAIN, trees, 12)
    for number in (5, 1, 6):
        turns.advance(TRAIN, trees, number)
    assert once.losses == turns.losses and len(once.losses) == 12
    bits = next_symbol_score(fit_em(replace(recipe, iterations=12), TRAIN), TEST).bits_per_symbol
    assert bits == pytest.approx(once.losses[-1], rel=1e-5)


def test_the_recipe_of_em_s_best_model_has_its_iterations() -> None:
    recipe = EMRecipe("PFA", 2)
    assert EMTraining(recipe).result_recipe.iterations == 0
    training = EMTraining(recipe, losses=[1.3, 1.1, 1.2])
    assert training.result_recipe == replace(recipe, iterations=2)


def test_em_of_an_hmm_in_turns_is_that_to_its_end() -> None:
    """From the same start, in float32 and in float64."""
    turns = fit_em(EMRecipe("HMM", 3, seed=3, iterations=5), TRAIN)
    whole = fit_hmm(TRAIN, 3, EM(5, seed=3))
    np.testing.assert_allclose(turns.weights(TEST.words), whole.weights(TEST.words), rtol=1e-4)


def test_an_over_relaxed_step_multiplies_by_a_power_of_the_m_step() -> None:
    before = PFAs(
        np.array([[0.5, 0.5]]), np.array([[[[0.2, 0.4], [0.1, 0.3]]]]), np.array([[0.4, 0.6]])
    )
    after = PFAs(
        np.array([[0.8, 0.2]]), np.array([[[[0.1, 0.4], [0.2, 0.3]]]]), np.array([[0.5, 0.5]])
    )
    one = over_relaxed(before, after, 1.0)
    three = over_relaxed(before, after, 3.0)
    np.testing.assert_allclose(one.transitions, after.transitions)
    np.testing.assert_allclose(
        three.initial, np.array([[0.8 * 1.6**2, 0.2 * 0.4**2]]) / (0.8 * 1.6**2 + 0.2 * 0.4**2)
    )
    first = np.array([0.1 * 0.5**2, 0.4, 0.5 * 1.25**2])
    second = np.array([0.2 * 2**2, 0.3, 0.5 * (5 / 6) ** 2])
    np.testing.assert_allclose(
        three.transitions[0, 0], [first[:2] / first.sum(), second[:2] / second.sum()]
    )
    np.testing.assert_allclose(
        three.termination[0], [first[2] / first.sum(), second[2] / second.sum()]
    )


@pytest.mark.parametrize("learner", ["PFA", "HMM"])
def test_over_relaxed_em_is_ahead_of_em_after_as_many_iterations(learner: str) -> None:
    """Each of its models is the result of an M step, so the likelihood of the training strings,
    without priors, hardly falls.
    """
    recipe = EMRecipe(learner, 4, pseudo_count=0)
    tree = PrefixTree(TEST)
    plain, ahead = (replace(recipe, acceleration=one, iterations=40) for one in (1.0, 1.2))
    bits = [next_symbol_score(fit_em(one, TEST), TEST).bits_per_symbol for one in (plain, ahead)]
    assert bits[1] < bits[0]
    training = EMTraining(ahead)
    training.advance(TEST, (tree, tree), 40)
    assert all(after <= before + 1e-6 for before, after in pairwise(training.losses))
    if learner == "HMM":  # moves do not depend on the symbol
        again = fit_em(EMRecipe(learner, 4, iterations=40, acceleration=1.2), TEST)
        moves = again.transitions / again.transitions.sum(axis=2, keepdims=True)
        np.testing.assert_allclose(moves[0], moves[1], atol=1e-6)


def test_em_on_all_strings_counts_all_of_them_unless_one_is_impossible() -> None:
    """One state has closed forms: the shares of a, b and ends among what was read."""
    train, everything = (
        Sample.of(Words.of(rows), AB) for rows in ([(0,), (0, 0)], [(0,), (0, 0), (0, 1)])
    )
    for pseudo_count, shares in ((1.0, (5 / 11, 2 / 11, 4 / 11)), (0.0, (3 / 5, 0, 2 / 5))):
        recipe = EMRecipe("PFA", 1, pseudo_count=pseudo_count, iterations=1, iterations_on_all=1)
        model = fit_em(recipe, train, everything)
        found = (*model.transitions[:, 0, 0], model.termination[0])
        assert found == pytest.approx(shares, rel=1e-6)


def test_a_split_start_begins_with_an_eighth_of_its_states(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def noted(tree: PrefixTree, number: int, num_states: int, rng: np.random.Generator) -> PFAs:
        begun.append(num_states)
        return random_pfas(tree, number, num_states, rng)

    monkeypatch.setattr(em_training, "random_pfas", noted)
    monkeypatch.setattr(em_training, "ITERATIONS_BEFORE_SPLIT", 0)
    for num_states in (3, 24):
        model = fit_em(EMRecipe("PFA", num_states, "split", iterations=0), TRAIN)
        assert model.num_states == num_states
    assert begun == [1, 3]


def test_recipes_of_em_are_checked() -> None:
    with pytest.raises(RecipeError, match="num_states must be at least 1; got 0"):
        EMRecipe("PFA", 0)
    with pytest.raises(RecipeError, match="acceleration must be between 1 and 10; got 0.5"):
        EMRecipe("PFA", 3, acceleration=0.5)
    with pytest.raises(
        RecipeError,
        match="EM of an HMM can start only at random probabilities; got the start 'split'",
    ):
        EMRecipe("HMM", 3, "split")
    with pytest.raises(
        RecipeError, match="the recipe has 2 iterations on all strings: also pass these strings"
    ):
        fit_em(EMRecipe("PFA", 2, iterations=1, iterations_on_all=2), TRAIN)


# Limits, and what comes last


def arguments(task: Task) -> tuple[Any, ...]:
    """What a task is carried out with."""
    return task.carry_out.args if isinstance(task.carry_out, partial) else ()


def searching(train: Sample, budget: Budget, **limited: int) -> _Search:
    return _Search(train, train, None, budget, threading.Event(), silent, print, (), False)


def of(one: _Search, family: type[F]) -> F:
    return next(other for other in one.families if isinstance(other, family))


def test_a_mixture_of_automata_is_no_larger_than_an_automaton_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two models of two states are the best mixture, but four states would have 2 × 4² = 32
    numbers.
    """
    halves = [
        WFA([1.0, 0.0], [[[a, 0], [0, 0]], [[b, 0], [0, 0]]], [0.1, 0.0], AB)
        for a, b in ((0.88, 0.02), (0.02, 0.88))
    ]
    validation = Sample.of(Words.of([(0,) * 9, (1,) * 9]), AB)
    candidates = [
        Candidate(
            "PFA", one, next_symbol_score(one, validation).bits_per_symbol, 0.0, EMRecipe("PFA", 2)
        )
        for one in halves
    ]
    most = limits.most
    whole = searching(validation, Budget())._mixing().by_string(candidates)
    monkeypatch.setattr(
        limits, "most", lambda name: 31 if name == "transition_numbers" else most(name)
    )
    limited = searching(validation, Budget())._mixing().by_string(candidates)
    assert (len(whole[0]), len(limited[0])) == (2, 1)


def test_no_model_has_more_states_than_the_limit_on_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    most = limits.most
    monkeypatch.setattr(limits, "most", lambda name: 3 if name == "rank" else most(name))
    best = search(strings(300, 4), budget=Budget(minutes=0.05, max_states=20, threads=1))
    assert {"SP", "PFA"} <= {family.family for family in best.families}
    assert all(part.num_states <= 3 for part in best.components)


def test_a_stop_during_the_choice_is_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    chosen = Mixing.best

    def choose(self: Mixing, usable: list[Candidate]) -> object:
        stop.set()
        return chosen(self, usable)

    monkeypatch.setattr(Mixing, "best", choose)
    best = search(TRAIN, budget=Budget(minutes=0.03, max_states=3), stop=stop)
    assert best.stopped and best.num_trained_on == best.num_train


def test_a_tree_that_is_too_large_for_all_strings_leaves_the_model_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = strings(3000, 6)
    train, validation = hold_out(whole, 0)
    sizes = [Trie.of(one.words, 2).num_nodes * 3 for one in (train, whole)]
    assert sizes[0] < sizes[1]
    monkeypatch.setattr("nlwfa_core.learning.merging.MAX_CELLS", sizes[0])
    one = _Search(train, validation, whole, Budget(), threading.Event(), silent, print, (), False)
    of(one, Merging).train(PDFATraining(2.0, 10))
    candidates = one.state.candidates
    parts, number = one._retrained(candidates, whole)
    assert len(parts) == 1 and parts[0].model is candidates[0].model and number == train.num_strings
