"""Singular values for the browser: heights, ticks, shares against a dense matrix's."""

from __future__ import annotations

import numpy as np
import pytest

from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.lab import singular_values as cut
from nlwfa_core.learning.spectral import truncated_svd, weighted_block
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

WORDS = [(0,), (0, 1), (0, 1), (1, 1, 0), (), (0, 0, 1)]


@pytest.fixture
def hankel() -> HankelMatrix:
    sample = Sample.of(Words.of(WORDS), Alphabet(("a", "b")))
    return estimate_hankel(sample, select_basis(sample, num_prefixes=5, num_suffixes=5))


def test_shares_are_those_of_the_dense_matrix(hankel: HankelMatrix) -> None:
    values = np.linalg.svd(weighted_block(hankel).toarray(), compute_uv=False)
    made = cut.payload(truncated_svd(weighted_block(hankel), 50), hankel)
    expected = np.cumsum(values**2) / (values**2).sum()
    assert made["kept"] == [*(f"{share:.2%}" for share in expected), "100.00%"]
    assert made["names"][0] == f"σ₁ = {values[0]:.4g}"
    assert len(made["heights"]) == len(made["names"]) == len(made["kept"]) - 1 == len(values)


def test_heights_are_places_on_the_ticks_scale(hankel: HankelMatrix) -> None:
    svd = truncated_svd(weighted_block(hankel), 50)
    made = cut.payload(svd, hankel)
    ticks = dict(made["ticks"])
    assert ticks["1"] == 1.0  # frequencies are below 1
    low = min(ticks, key=lambda text: ticks[text])
    decades = {"10⁻¹": 1, "10⁻²": 2, "10⁻³": 3}[low]
    known = [height for height, value in zip(made["heights"], svd.singular_values, strict=True) if value > 1e-10]
    expected = [max(0.01, 1 + np.log10(value) / decades) for value in svd.singular_values if value > 1e-10]
    np.testing.assert_allclose(known, expected, atol=1e-4)


def test_beyond_the_values_that_are_known(hankel: HankelMatrix) -> None:
    part = truncated_svd(weighted_block(hankel), 2)
    made = cut.payload(part, hankel)
    assert made["kept"][2] == f"more than {made['kept'][1]}"
    assert made["said"].format(rank=3, kept=made["kept"][2]) == f"Rank 3 keeps {made['kept'][2]} of the squared norm of H_λ."
    assert cut.numerical_rank(part, hankel).startswith("The numerical rank is at least **2**: no more values are computed")
    whole = truncated_svd(weighted_block(hankel), 50)
    assert cut.numerical_rank(whole, hankel).startswith(f"The numerical rank is **{whole.numerical_rank}**. ")


def test_of_a_matrix_of_zeros_nothing_is_kept() -> None:
    sample = Sample.of(Words.of([(0, 0, 0)]), Alphabet(("a",)))
    empty = estimate_hankel(sample, select_basis(sample, num_prefixes=1, num_suffixes=1))  # λ and λ, never seen
    made = cut.payload(truncated_svd(weighted_block(empty), 5), empty)
    assert made["heights"] == [0.0] and made["kept"] == ["0.00%", "0.00%"] and made["ticks"] == [("0", 0.0)]
