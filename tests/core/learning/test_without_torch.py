"""The two steps without torch: what they draw at random, and that they do not import it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from nlwfa_core.learning.steps.descent import Descent, Epochs, seeded_layers, train

NETWORKS_WITHOUT_TORCH = """
import sys
from nlwfa_core import fit
strings = ["ab", "aabb", "", "abab", "aaabbb"] * 4
for learner in ("fac.non", "tran.non", "both.non"):
    fit(strings, learner, rank=3)
    fit(strings, learner, rank=3, starts=2, optimizer="lm")
    fit(strings, learner, rank=3, optimizer="adamax", epochs_factorisation=5, epochs_transitions=5)
    fit(strings, learner, rank=3, refine="hankel")
print("torch" in sys.modules)
"""


@pytest.mark.slow
def test_networks_are_trained_without_torch() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NETWORKS_WITHOUT_TORCH], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_random_weights_are_those_that_torch_draws(seed: int) -> None:
    shapes = [(5, 10), (3, 10, 5)]
    generator = torch.Generator().manual_seed(seed)
    for layer, shape in zip(seeded_layers(shapes, seed), shapes, strict=True):
        bound = (6.0 / (shape[-2] + shape[-1])) ** 0.5
        drawn = (torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1) * bound
        np.testing.assert_array_equal(layer, drawn.numpy())


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_adamax_is_torchs(schedule: str) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(6, 6))
    layer = rng.normal(size=6)
    tensor = torch.tensor(layer, requires_grad=True)
    descent = Descent(40, 0.05, schedule)

    def loss() -> tuple[float, list[np.ndarray]]:
        values = np.tanh(matrix @ layer)
        return float(values @ values), [2 * matrix.T @ (values * (1 - values**2))]

    log = train(Epochs([layer], loss, "transitions", descent))
    optimizer = torch.optim.Adamax([tensor])
    losses = []
    for epoch in range(41):
        optimizer.zero_grad()
        expected = torch.tanh(torch.tensor(matrix) @ tensor).square().sum()
        losses.append(float(expected.detach()))
        expected.backward()
        optimizer.param_groups[0]["lr"] = descent.rate_in(epoch)
        optimizer.step()
    np.testing.assert_allclose(log.losses, losses, rtol=1e-10)
