"""GRU and LSTM: torch's own layers against the evaluation in numpy, and learning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.learners import STRING_LEARNERS
from nlwfa_core.learning.progress import Progress
from nlwfa_core.learning.recurrent_networks import (
    BATCH,
    MOST_EPOCHS,
    SMALLEST_GAIN,
    Network,
    Training,
    batches,
    fit_recurrent,
    lowest_loss,
)
from nlwfa_core.learning.tensors import one_thread
from nlwfa_core.metrics.evaluate import next_symbol_score
from nlwfa_core.models.ngram import NGram, Uniform
from nlwfa_core.models.recurrent import GATES, RecurrentModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, Word, Words
from tests.core.records import learning_of
from tests.references import all_words

AB = Alphabet(("a", "b"))
strings_of = st.lists(
    st.lists(st.integers(0, 1), max_size=6).map(tuple), min_size=1, max_size=BATCH
)


@pytest.mark.parametrize("kind", GATES)
@given(strings=strings_of, seed=st.integers(0, 9))
def test_numpy_computes_what_torch_trains(kind: str, strings: list[Word], seed: int) -> None:
    """The loss of torch's layer over one batch of all strings is the frozen model's bits per
    symbol.
    """
    sample = Sample.of(Words.of(strings), AB)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(kind, 2, 3, dropout=0.0)
    for parameter in network.parameters():
        parameter.data *= 3
    (batch,) = batches(sample, np.random.default_rng(seed))
    bits = next_symbol_score(network.frozen(), sample).bits_per_symbol
    assert network.loss(batch).item() / np.log(2) == pytest.approx(bits, rel=1e-12)


@pytest.mark.parametrize("kind", GATES)
def test_what_follows_sums_to_1(kind: str) -> None:
    """So all strings up to a length, and all prefixes one longer, sum to 1 too."""
    model = Network(kind, 2, 4, dropout=0.0).frozen()
    words = all_words(2, 5)
    scores = model.next_scores(trie := Trie.of(words, 2))[trie.ends]
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-12)
    weights = model.weights(words)
    longest = words.lengths == 5
    beyond = weights[longest] / scores[longest, -1] * (1 - scores[longest, -1])
    assert weights.sum() + beyond.sum() == pytest.approx(1)


@pytest.mark.parametrize(("kind", "num_gates"), GATES.items())
def test_no_weights_are_the_uniform_model(kind: str, num_gates: int) -> None:
    shapes = [(3, 2 * num_gates), (2, 2 * num_gates), (2 * num_gates,), (2, 3), (3,)]
    words = all_words(2, 3)
    model = RecurrentModel(kind, *map(np.zeros, shapes))
    np.testing.assert_allclose(model.weights(words), Uniform(2).weights(words), rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("kind", GATES)
def test_the_layer_is_that_of_torch(kind: str, dtype: torch.dtype) -> None:
    """Outputs and gradients, to the last digit, for strings of different lengths."""
    sample = Sample.of(
        Words.of([(0, 1) * n for n in range(9)] + [(1,) * n for n in (1, 7, 20)]), AB
    )
    (batch,) = batches(sample, np.random.default_rng(0))
    results = []
    with one_thread(), torch.random.fork_rng(devices=[]):
        for use_torch in (True, False):
            torch.manual_seed(0)
            network = Network(kind, 2, 5, dropout=0.0, dtype=dtype)
            packed = batch._replace(data=network.embedding(batch.data[:, 0]))
            hidden = network.layer(packed)[0].data if use_torch else network._hidden(packed)
            (hidden**2).sum().backward()  # type: ignore[no-untyped-call]
            gradients = [
                network.embedding.weight.grad,
                *(parameter.grad for parameter in network.layer.parameters()),
            ]
            results.append([hidden.detach(), *gradients])
    for ours, wanted in zip(*reversed(results), strict=True):
        np.testing.assert_array_equal(ours, wanted)


class ComputedNumbers(TorchDispatchMode):
    """Counts the entries of all tensors that torch computes."""

    total = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.total += sum(
            one.numel()
            for one in (result if isinstance(result, (tuple, list)) else [result])
            if one is not None
        )
        return result


@pytest.mark.parametrize("kind", GATES)
def test_work_grows_with_the_length_of_strings_and_not_with_its_square(kind: str) -> None:
    totals = []
    for length in (50, 100, 200):
        (batch,) = batches(Sample.of(Words.of([(0, 1) * length]), AB), np.random.default_rng(0))
        with ComputedNumbers() as numbers:
            Network(kind, 2, 3, dropout=0.0).loss(batch).backward()  # type: ignore[no-untyped-call]
        totals.append(numbers.total)
    assert totals[2] - totals[1] == pytest.approx(2 * (totals[1] - totals[0]), rel=0.01)


def test_an_epoch_is_every_string_once() -> None:
    sample = Sample.of(Words.of([(0, 1), (), (1,)]), AB, np.array([100, 50, 7]))
    seen = list(batches(sample, np.random.default_rng(0)))
    assert len(seen) == -(-157 // BATCH)
    times = sum(np.bincount(batch.data[:, 1], batch.data[:, 2], minlength=3) for batch in seen)
    np.testing.assert_array_equal(times, [100, 107, 157])


@pytest.mark.slow
@pytest.mark.parametrize("kind", GATES)
def test_it_learns_the_brackets(kind: str) -> None:
    train, validation = (Dyck().sample(number, seed) for seed, number in enumerate((1000, 300)))
    losses: list[Progress] = []
    model = fit_recurrent(
        train, kind, 8, Training(240), validation=validation, report=losses.append
    )
    bits = [
        next_symbol_score(m, validation).bits_per_symbol
        for m in (model, NGram.fit(train, 3), Dyck())
    ]
    assert bits[0] < bits[1]
    assert bits[0] > bits[2] - 0.02
    assert (losses[0].loss or 0) > (losses[-1].loss or 0) > 0


def test_a_seed_decides_and_leaves_no_trace() -> None:
    train = Dyck().sample(100, 0)
    before = torch.random.get_rng_state()
    one, again, other = (
        fit_recurrent(train, "GRU", 3, Training(4, dropout=0.5, seed=seed)) for seed in (0, 0, 1)
    )
    assert (one.recurrent == again.recurrent).all()
    assert (one.recurrent != other.recurrent).any()
    assert (torch.random.get_rng_state() == before).all()


def test_validation_stops_early() -> None:
    train = Sample.of(Words.of([(0, 1, 1), (1,)]), AB)
    validation = Sample.of(Words.of([(1, 0), (0, 0, 0)]), AB)
    epochs: list[Progress] = []
    stopped = fit_recurrent(
        train, "GRU", 4, Training(100, 0.1, patience=3), validation=validation, report=epochs.append
    )
    assert len(epochs) < 100
    longest = fit_recurrent(train, "GRU", 4, Training(100, 0.1))
    assert (
        next_symbol_score(stopped, validation).bits_per_symbol
        < next_symbol_score(longest, validation).bits_per_symbol
    )


def test_learners_of_strings_by_name() -> None:
    train = Dyck().sample(100, 0)
    hmm = fit(train, learner="HMM", rank=2)
    assert isinstance(hmm.model, WFA) and hmm.model.num_states == hmm.report.num_states == 2
    assert hmm.report.spectral_radius == hmm.model.spectral_radius
    assert STRING_LEARNERS == ("HMM", "PFA", "PDFA", "GRU", "LSTM")
    stopped: list[str] = []
    for kind in GATES:
        with pytest.raises(Cancelled):
            fit(
                train,
                learning_of(kind, 2),
                report=lambda one: stopped.append(one.stage),
                cancelled=lambda: len(stopped) > 0,
            )
        assert stopped.pop() == kind


def test_what_can_not_be_learned_is_refused() -> None:
    sample = Sample.of(Words.of([(0,)]), AB)
    with pytest.raises(RecipeError, match="kind must be one of GRU, LSTM; got 'RNN'"):
        fit_recurrent(sample, "RNN", 2)
    with pytest.raises(RecipeError, match="states of the GRU must be between 1 and .*; got 0"):
        fit_recurrent(sample, "GRU", 0)
    with pytest.raises(RecipeError, match=r"dropout at least 0 and below 1 \(got 1.0\)"):
        Training(dropout=1.0)
    with pytest.raises(RecipeError, match=r"weight_decay at least 0 \(got -0.1\)"):
        Training(weight_decay=-0.1)
    assert Training(weight_decay=0.0).weight_decay == 0
    with pytest.raises(RecipeError, match="updates must be between 1 and .*; got 0"):
        Training(updates=0)
    with pytest.raises(RecipeError, match="the LSTM has nothing to learn from"):
        fit_recurrent(Sample.of(Words.of([]), AB), "LSTM", 2)
    with pytest.raises(RecipeError, match="over 1 symbol$"):
        fit_recurrent(sample, "GRU", 2, validation=Sample.of(Words.of([(0,)]), Alphabet(("a",))))
    with pytest.raises(RecipeError, match="arrays of the GRU with 2 states must have the shapes"):
        RecurrentModel(
            "GRU", np.zeros((3, 6)), np.zeros((2, 6)), np.zeros(6), np.zeros((2, 3)), np.zeros(2)
        )


@pytest.mark.parametrize("validation", [None, Sample.of(Words.of([(0, 1)]), AB)])
def test_diverged_training_keeps_a_sound_model(validation: Sample | None) -> None:
    train = Sample.of(Words.of([(0, 1, 1), (1,)]), AB, np.array([100, 100]))
    model = fit_recurrent(train, "GRU", 2, Training(100, 1e300), validation=validation)
    assert 0 < model.weights(all_words(2, 3)).min() < 1


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize(
    "strings", [[(0, 1)], [()], [(0,), (0,), (1,)], [(0, 1), (1, 0)], [(0,) * 4] * 70]
)
def test_a_small_sample_is_learned_in_few_epochs(kind: str, strings: list[Word]) -> None:
    """Training ends where hardly another model could make the strings more probable: near their
    entropy.
    """
    sample = Sample.of(Words.of(strings), AB)
    epochs = list[Progress]()
    model = fit_recurrent(sample, kind, 4, report=epochs.append)
    assert len(epochs) < MOST_EPOCHS / 2
    assert (
        next_symbol_score(model, sample).bits_per_symbol < lowest_loss(sample) + 2 * SMALLEST_GAIN
    )


def test_epochs_are_in_proportion_to_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be learned by heart, because dropout forgets it, is read a limited number of
    times.
    """
    monkeypatch.setattr("nlwfa_core.learning.recurrent_networks.MOST_EPOCHS", 100)
    epochs = list[Progress]()
    fit_recurrent(
        Sample.of(Words.of([(0, 1, 0)]), AB), "GRU", 1, Training(dropout=0.9), report=epochs.append
    )
    assert len(epochs) == 100


def test_the_lowest_loss_is_that_of_the_frequencies() -> None:
    # ½, ¼, ¼: 1.5 bits a string; 8 symbols and ends
    sample = Sample.of(Words.of([(0,), (0,), (), (1, 1)]), AB)
    assert lowest_loss(sample) == pytest.approx(4 * 1.5 / 8)
