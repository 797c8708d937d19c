"""The likelihood of next symbols in blocks: the same numbers and gradients as from whole tables, in
little memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from nlwfa_core.learning import next_symbol_loss
from nlwfa_core.learning.next_symbol_loss import (
    MANY_OUTPUTS,
    MIN_PROBABILITY,
    SCORES_PER_BLOCK,
    log_likelihood,
)
from nlwfa_core.learning.recurrent_networks import Network, batches
from nlwfa_core.learning.refine import likelihood
from nlwfa_core.learning.refine.likelihood import _as_distribution, _Trained
from nlwfa_core.learning.refine.torch_states import Continuations
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.reading import READINGS, reading_named
from nlwfa_core.models.recurrent import GATES
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from tests.core.records import learning_of

NETWORKS = [
    (name, link)
    for name in READINGS
    for link in ("identity", "square", "softmax")[: 3 if name == "conditional" else 2]
]


def drawn_sample(num_symbols: int, num_strings: int, seed: int = 0) -> Sample:
    rng = np.random.default_rng(seed)
    words = [
        tuple(rng.integers(0, num_symbols, rng.integers(0, 7)).tolist()) for _ in range(num_strings)
    ]
    return Sample.of(Words.of(words), Alphabet.numbered(num_symbols))


def linear_model(num_symbols: int, num_states: int = 3) -> WFA:
    rng = np.random.default_rng(1)
    return WFA(
        rng.uniform(size=num_states),
        rng.uniform(size=(num_symbols, num_states, num_states)) / num_symbols / 4,
        np.ones(3),
    )


def network_model(num_symbols: int, name: str, link: str) -> NLWFA:
    rng = np.random.default_rng(2)
    reading = reading_named(name, link, True)
    num_outputs = {"string": 4, "boundary": 1, "conditional": num_symbols + 1}[name]
    maps = rng.normal(size=(num_symbols + reading.has_end_map, 3, 3))
    return NLWFA(
        rng.normal(size=3),
        (maps,),
        (rng.normal(size=(3, 5)),),
        rng.normal(size=(5, num_outputs)),
        True,
        True,
        reading,
    )


def bits_and_gradients(model: WFA | NLWFA, sample: Sample) -> list[np.ndarray]:
    trained = _Trained.of(model)
    bits = trained.bits_per_symbol(Continuations(sample, model.num_symbols))
    bits.backward()  # type: ignore[no-untyped-call]
    return [
        bits.detach().numpy(),
        *(np.zeros(0) if one.grad is None else one.grad.numpy() for one in trained.tensors),
    ]


def use_blocks(monkeypatch: pytest.MonkeyPatch, scores: int) -> None:
    """Compute all scores in blocks of this many numbers."""
    monkeypatch.setattr(next_symbol_loss, "MANY_OUTPUTS", 0)
    monkeypatch.setattr(next_symbol_loss, "SCORES_PER_BLOCK", scores)
    monkeypatch.setattr(likelihood, "SCORES_AT_ONCE", scores)


@pytest.mark.parametrize("softmax", [True, False])
@pytest.mark.parametrize("scores_per_block", [1, 60, 10_000])
def test_blocks_give_the_likelihood_of_the_whole_table(
    softmax: bool, scores_per_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_symbol_loss, "SCORES_PER_BLOCK", scores_per_block)
    generator = torch.Generator().manual_seed(0)
    hidden, columns = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((20, 4), (4, 11))
    )
    pairs = torch.randperm(220, generator=generator)[:70]  # some rows have none
    rows = pairs // 11
    symbols = pairs % 11
    weights = torch.rand(70, generator=generator, dtype=torch.float64)
    results = []
    for blockwise in (True, False):
        inputs = hidden.clone().requires_grad_(), columns.clone().requires_grad_()
        if blockwise:
            value = log_likelihood(*inputs, rows, symbols, weights, softmax)
        else:
            scores = inputs[0] @ inputs[1]
            sizes = scores.exp() if softmax else scores.abs()
            floor = 0 if softmax else MIN_PROBABILITY
            value = (
                (sizes / sizes.sum(dim=1, keepdim=True) + floor).log()[rows, symbols] * weights
            ).sum()
        (3 * value).backward()
        results.append([value.detach(), *(one.grad for one in inputs)])
    for ours, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-12)
    with torch.no_grad():
        assert not log_likelihood(*inputs, rows, symbols, weights, softmax).requires_grad


@pytest.mark.parametrize(
    "model", [linear_model(4), *(network_model(4, *kind) for kind in NETWORKS)]
)
def test_refinement_in_blocks_has_the_same_loss_and_gradient(
    model: WFA | NLWFA, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = drawn_sample(4, 40)
    wanted = bits_and_gradients(model, sample)
    use_blocks(monkeypatch, 50)
    for ours, whole in zip(bits_and_gradients(model, sample), wanted, strict=True):
        np.testing.assert_allclose(ours, whole, rtol=1e-9, atol=1e-12)


def test_logits_fitted_in_parts_are_those_of_all_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    model = network_model(4, "conditional", "identity")
    sample = drawn_sample(4, 40)
    wanted = _as_distribution(model, sample)
    monkeypatch.setattr(likelihood, "SCORES_AT_ONCE", 50)
    ours = _as_distribution(model, sample)
    assert isinstance(ours, NLWFA) and isinstance(wanted, NLWFA) and ours.reading == wanted.reading
    np.testing.assert_allclose(ours.output, wanted.output, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-4)])
def test_recurrent_networks_have_the_same_loss_in_blocks(
    kind: str, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    (batch,) = batches(drawn_sample(4, 40), np.random.default_rng(0))
    results = []
    for scores in (None, 50):
        if scores:
            use_blocks(monkeypatch, scores)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = Network(kind, 4, 3, 0.0, dtype)
        network.loss(batch).backward()  # type: ignore[no-untyped-call]
        results.append(
            [network.loss(batch).detach(), *(parameter.grad for parameter in network.parameters())]
        )
    for ours, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance / 1000)


class Largest(TorchDispatchMode):
    """Records the largest number of entries of a tensor that torch computes."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(one, torch.Tensor):
                self.numbers = max(
                    self.numbers, one.untyped_storage().nbytes() // max(1, one.element_size())
                )
        return result


@pytest.mark.parametrize("learner", ["SP", "both.non", *GATES])
def test_no_table_of_all_scores_is_held(learner: str) -> None:
    num_symbols = MANY_OUTPUTS + 500
    sample = drawn_sample(num_symbols, 300)
    num_scores = Continuations(sample, num_symbols).row.numel() * (num_symbols + 1)
    assert num_scores > 5 * SCORES_PER_BLOCK
    with Largest() as largest:
        if learner in GATES:
            for batch in batches(sample, np.random.default_rng(0)):
                Network(learner, num_symbols, 3, 0.0).loss(batch).backward()  # type: ignore[no-untyped-call]
        else:
            bits_and_gradients(
                linear_model(num_symbols)
                if learner == "SP"
                else network_model(num_symbols, "conditional", "softmax"),
                sample,
            )
    assert 0 < largest.numbers <= SCORES_PER_BLOCK


def test_refinement_over_many_symbols_learns() -> None:
    num_symbols = MANY_OUTPUTS
    sample = drawn_sample(num_symbols, 60)
    model, log = likelihood.refine_likelihood(
        network_model(num_symbols, "conditional", "identity"),
        sample,
        None,
        learning_of("SP", 3, refine="likelihood", epochs_refinement=4, batch=20),
    )
    assert isinstance(model, NLWFA) and log.losses[-1] < log.losses[1]
