"""Spectral learning: exact blocks give back the automaton, and the Dyck grammar the known
figures.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import block_diag

from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.recipe import DataRecipe
from nlwfa_core.hankel.basis import Basis, select_basis
from nlwfa_core.hankel.estimate import build_hankel, estimate_hankel
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning import spectral
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.spectral import fit_linear_maps, fit_spectral, truncated_svd
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.pautomac_score import pautomac_score
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import random_automaton, random_wfa
from nlwfa_core.strings.plain import as_sample, as_words
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from tests.references import COUNTER, PARITY, REFERENCES, Reference, all_words, full_basis, ring


def assert_same_function(learned: WFA, target: WFA) -> None:
    """On all words up to length 6, each within 1e-8 of its own value (below 1e-12 of the largest:
    of that).
    """
    words = all_words(target.num_symbols, 6)
    expected = target.weights(words)
    np.testing.assert_allclose(
        learned.weights(words), expected, rtol=1e-8, atol=1e-12 * np.abs(expected).max()
    )


@pytest.mark.parametrize("seed", range(20))
def test_exact_blocks_give_random_automata_back(seed: int) -> None:
    num_states = 1 + seed % 8
    make = random_automaton if seed % 2 else random_wfa
    target = make(num_states, 3, seed, **({"mean_length": 4, "density": 0.4} if seed % 2 else {}))
    hankel = exact_hankel(target.weights, full_basis(3, 3))
    learned = fit(hankel, learner="SP", rank=num_states)
    assert isinstance(learned.model, WFA)
    assert (learned.model.num_states, learned.report.numerical_rank) == (num_states, num_states)
    assert learned.report.spectral_radius == pytest.approx(target.spectral_radius, rel=1e-8)
    assert bool(learned.report.messages) == (target.spectral_radius >= 1)
    assert_same_function(learned.model, target)


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
@pytest.mark.parametrize("beyond", [0, 3])
def test_a_rank_beyond_the_numerical_one_says_so(reference: Reference, beyond: int) -> None:
    rank = reference.wfa.num_states
    learned = fit(
        exact_hankel(reference.wfa.weights, full_basis(reference.wfa.num_symbols, 3)),
        learner="SP",
        rank=rank + (beyond and 1),
    )
    assert (
        isinstance(learned.model, WFA)
        and learned.model.num_states == learned.report.num_states == rank
    )
    assert_same_function(learned.model, reference.wfa)
    told = [
        message
        for message in learned.report.messages
        if message.startswith(f"Rank {rank + 1} was asked for, but H_λ has")
    ]
    assert len(told) == bool(beyond)


@pytest.mark.parametrize(
    "target",
    [PARITY.wfa, COUNTER.wfa, ring(4), random_automaton(6, 2, seed=1, mean_length=4, density=0.4)],
)
def test_the_sparse_solver_finds_the_numerical_rank_too(target: WFA) -> None:
    """255 × 255 cells go through ARPACK; past the rank it has nothing but rounding to find."""
    learned = fit(exact_hankel(target.weights, full_basis(2, 7)), learner="SP", rank=20)
    assert isinstance(learned.model, WFA)
    assert learned.model.num_states == learned.report.numerical_rank == target.num_states
    assert_same_function(learned.model, target)


def test_diverging_mass_is_told() -> None:
    hankel = exact_hankel(lambda words: 1.0 * words.lengths, full_basis(2, 2))
    message = fit(hankel, learner="SP", rank=2).report.messages[0]
    assert message.startswith("The mass diverges: ΣA has spectral radius 2")


@given(st.integers(0, 2**20), st.integers(1, 6))
def test_the_sparse_solver_finds_the_dense_one(seed: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    scales = 0.5 ** np.arange(30)  # distinct singular values, so that the vectors are determined
    block = rng.normal(size=(40, 30)) * scales * (rng.random((40, 30)) < 0.7)
    answers = []
    for cells in (0, 10**6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spectral, "DENSE_CELLS", cells)
            answers.append(truncated_svd(sparse.csr_array(block), rank))
    iterative, dense = answers
    np.testing.assert_allclose(iterative.singular_values, dense.singular_values, rtol=1e-9)
    np.testing.assert_allclose(
        np.linalg.svd(block, compute_uv=False)[:rank], dense.singular_values, rtol=1e-12
    )
    np.testing.assert_allclose(iterative.right, dense.right, atol=1e-6)
    for svd in answers:
        np.testing.assert_allclose(block @ svd.right, svd.left * svd.singular_values, atol=1e-9)
        assert (svd.right[np.abs(svd.right).argmax(axis=0), np.arange(rank)] > 0).all()
        assert (np.diff(svd.singular_values) <= 0).all() and svd.numerical_rank == rank


def test_a_block_smaller_than_the_rank_gives_what_it_has() -> None:
    svd = truncated_svd(sparse.csr_array(np.eye(3)[:2]), 5)
    assert (len(svd.singular_values), svd.left.shape, svd.right.shape) == (2, (2, 2), (3, 2))
    basis = Basis(Words.of([(), (0,)]), Words.of([()]), 1)
    zero = exact_hankel(lambda words: np.zeros(len(words)), basis)
    model = fit_spectral(zero, truncated_svd(zero.block, 1), 1)
    assert (model.num_states, model.weights(Words.of([(), (0, 0)])).tolist()) == (1, [0, 0])


def test_what_has_no_decomposition_is_refused() -> None:
    with pytest.raises(RecipeError, match="rank must be at least 1; got 0"):
        truncated_svd(sparse.csr_array(np.eye(2)), 0)
    with pytest.raises(
        RecipeError, match="the Hankel matrix has an entry that is not a finite number"
    ):
        truncated_svd(sparse.csr_array(np.diag([1, np.inf])), 1)


def test_learning_from_a_sample_by_hand() -> None:
    """λ, λ, a, aa and P = S = {λ, a}: H_λ = [[½, ¼], [¼, ¼]] has rank 2, and SP reproduces it and
    H_a = [[¼, ¼], [¼, 0]].
    """
    sample = Sample.of(Words.of([(), (), (0,), (0, 0)]), Alphabet(("a",)))
    hankel = estimate_hankel(sample, select_basis(sample, 2, 2))
    model = fit(hankel, learner="SP", rank=2).model
    np.testing.assert_allclose(
        model.weights(Words.of([(), (0,), (0, 0), (0, 0, 0)])), [0.5, 0.25, 0.25, 0], atol=1e-14
    )


# Known figures, each from one sample of 20,000 strings and one test set of 250 draws taken as
# drawn, rounded to 3 digits. log₂ Pauto by rank; the true model has 7.239 there. The same over the
# 67 distinct test words; the true model has 2.464. They were computed where rounding left some
# 1e-30 of a weight of 0. The exact scores are ∞; a floor of 1e-30 stands for that here.
RANKS = (5, 8, 10, 15, 20)
KNOWN_PAUTO = (7.569, 7.337, 7.258, 7.239, 7.239)
KNOWN_TRUE = 7.239
KNOWN_DISTINCT = (9.294, 4.580, 3.279, 2.466, 2.465)
KNOWN_TRUE_DISTINCT = 2.464
KNOWN_WER = {5: 0.433, 10: 0.436, 20: 0.350}
ROUNDING = 0.001  # of a difference of two figures with three digits
LEFT_BY_ROUNDING = 1e-30
NUM_DRAWS = 12


@pytest.fixture(scope="module")
def dyck() -> dict[str, np.ndarray]:
    """SP's figures on `NUM_DRAWS` independent samples and test sets."""
    rows: dict[str, list[object]] = {
        name: [] for name in ("excess", "distinct", "wer", "true", "true_wer", "shape")
    }
    for seed in range(NUM_DRAWS):
        data = load_data(DataRecipe(seed=seed))
        assert data.true_model is not None
        hankel = build_hankel(data.train, HankelRecipe())
        svd = truncated_svd(hankel.block, max(RANKS))
        models = [fit_spectral(hankel, svd, rank) for rank in RANKS]
        scores = [evaluate(model, data.test, LEFT_BY_ROUNDING) for model in models]
        true = evaluate(data.true_model, data.test)
        words = data.test.sample.words
        target = data.true_model.weights(words)
        least = pautomac_score(target, target).log2
        rows["excess"].append([score.log2_pauto - true.log2_pauto for score in scores])
        rows["distinct"].append(
            [
                pautomac_score(model.weights(words), target, LEFT_BY_ROUNDING).log2 - least
                for model in models
            ]
        )
        rows["wer"].append([score.wer for score in scores])
        rows["true"].append(true.log2_pauto)
        rows["true_wer"].append(true.wer)
        rows["shape"].append([hankel.num_closure_rows, hankel.num_suffixes, hankel.matrix.nnz])
    return {name: np.array(values, dtype=float) for name, values in rows.items()}


def assert_one_of_the_draws(known: float, draws: np.ndarray) -> None:
    """A known figure is one more draw: within 3 standard deviations of the mean of ours."""
    finite = draws[np.isfinite(draws)]
    assert len(finite) >= len(draws) / 2
    assert known == pytest.approx(finite.mean(), abs=3 * finite.std(ddof=1) + ROUNDING)


@pytest.mark.parametrize(("column", "rank"), list(enumerate(RANKS)))
def test_dyck_pautomac_scores_are_the_known_ones(
    dyck: dict[str, np.ndarray], column: int, rank: int
) -> None:
    assert_one_of_the_draws(KNOWN_PAUTO[column] - KNOWN_TRUE, dyck["excess"][:, column])
    assert_one_of_the_draws(
        KNOWN_DISTINCT[column] - KNOWN_TRUE_DISTINCT, dyck["distinct"][:, column]
    )
    if rank in KNOWN_WER:
        assert_one_of_the_draws(KNOWN_WER[rank], dyck["wer"][:, column])


def test_dyck_needs_fifteen_states(dyck: dict[str, np.ndarray]) -> None:
    """The mean excess falls with the rank, to less than 0.002 bits; no model is better than the
    true one.
    """
    excess = dyck["excess"]
    assert excess.min() >= 0
    assert (np.diff(excess[:, 1:].mean(axis=0)) < 0).all()
    assert excess[:, RANKS.index(15) :].mean() < 0.002
    assert_one_of_the_draws(KNOWN_TRUE, dyck["true"])


def test_dyck_small_models_know_shallow_words_only() -> None:
    """H_λ falls into blocks, one a depth, so five states know three depths, and f of a deeper word
    is 0.
    """
    train = load_data(DataRecipe(seed=0)).train
    nested = Words.of([(0,) * depth + (1,) * depth for depth in range(1, 8)])
    expected = 0.4 ** np.arange(1, 8)
    for rank, deepest in ((5, 3), (8, 4), (20, 7)):
        learned = fit(build_hankel(train, HankelRecipe()), learner="SP", rank=rank)
        weights = learned.model.weights(nested)
        np.testing.assert_allclose(weights[:deepest], expected[:deepest], rtol=0.4)
        assert not weights[deepest:].any()


@pytest.mark.parametrize("seed", range(5))
def test_parts_that_share_no_entry_stay_apart(seed: int) -> None:
    """Three blocks, rows and columns shuffled, two with the same singular values: each vector is
    exactly 0 outside its block.
    """
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    blocks = [
        rng.random((4, 5)),
        np.diag([3.0, 2.0, 2.0]),
        turn @ np.diag([3.0, 2.0, 2.0]) @ turn.T,
    ]
    whole = block_diag(*blocks)
    rows = rng.permutation(10)
    columns = rng.permutation(11)
    svd = truncated_svd(sparse.csr_array(whole[rows][:, columns]), 10)
    np.testing.assert_allclose(
        (svd.left * svd.singular_values) @ svd.right.T, whole[rows][:, columns], atol=1e-12
    )
    np.testing.assert_allclose(
        svd.singular_values, np.linalg.svd(whole, compute_uv=False), atol=1e-12
    )
    owners = np.repeat([0, 1, 2], [5, 3, 3])[columns]
    owners = np.where(owners == 1, 3 + columns, owners)  # the diagonal block is three
    for vector in svd.right.T:
        assert len(set(owners[vector != 0])) == 1


def test_no_map_leads_from_a_part_to_another_without_a_prefix_that_does() -> None:
    """Rows of the bracket grammar with different depths share no column, so that each depth is a
    part, and a bracket's map is exactly 0 between all but neighbouring depths.
    """
    recipe = HankelRecipe(num_prefixes=60, num_suffixes=50, transform="row")
    hankel = build_hankel(load_data(DataRecipe(num_strings=2_000)).train, recipe)
    svd = spectral.hankel_svd(hankel, 12)
    model = fit_linear_maps(hankel, svd, 12)
    # which parts the row of each prefix has, shape (num_rows, num_parts)
    rows = hankel.matrix @ svd.right != 0
    parts = np.unique(svd.parts)
    has = np.stack([rows[:, svd.parts == part].any(axis=1) for part in parts], axis=1).astype(int)
    assert len(parts) > 3
    for symbol, after in enumerate(hankel.shifted.T):
        leads = has[: hankel.num_prefixes].T @ has[after] > 0
        allowed = leads[svd.parts][:, svd.parts]
        assert leads.any() and not model.transitions[symbol][~allowed].any()


@pytest.mark.parametrize("side", [30, 150])
def test_a_small_part_may_have_most_of_the_largest_values(side: int) -> None:
    """They are computed a few at a time, by LAPACK or ARPACK."""
    rng = np.random.default_rng(side)
    parts = [scale * rng.random((side, side)) for scale in (1.0, 0.01, 0.001)]
    block = sparse.block_diag(list(map(sparse.coo_array, parts)), format="csr")
    found = truncated_svd(block, 20)
    U, D, Vt = np.linalg.svd(block.toarray())
    np.testing.assert_allclose(found.singular_values, D[:20], rtol=1e-10)
    expected = U[:, :20] * D[:20] @ Vt[:20]
    reached = found.left * found.singular_values @ found.right.T
    np.testing.assert_allclose(reached, expected, atol=1e-9)


@pytest.mark.parametrize("rank", range(1, 7))
def test_equal_singular_values_have_one_basis(rank: int) -> None:
    """Whatever basis of their space an SVD finds, also where the rank cuts through the space."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(size, 6)))[0] for size in (9, 8))
    values = np.array([3.0, 2.0, 2.0, 2.0, 1.0, 1.0])
    answers = []
    for seed in range(6):
        noise = 1e-15 * np.random.default_rng(seed).normal(size=(9, 8))
        answers.append(truncated_svd(sparse.csr_array((left * values) @ right.T + noise), rank))
    for answer in answers[1:]:
        np.testing.assert_allclose(answer.right, answers[0].right, atol=1e-6)
        np.testing.assert_allclose(answer.left, answers[0].left, atol=1e-6)


@pytest.mark.parametrize(("num_states", "seed"), [(5, 0), (5, 4), (6, 0), (6, 7)])
def test_small_singular_values_that_differ_are_not_equal(num_states: int, seed: int) -> None:
    """The square of a function of k states has rank k (k + 1) / 2. Its least singular values are
    1e-10 of the largest or less, and differ from each other.
    """
    root = random_automaton(num_states, 2, seed, density=0.4)
    words = all_words(2, 4)
    hankel = exact_hankel(lambda words: root.weights(words) ** 2, Basis(words, words, 2))
    rank = num_states * (num_states + 1) // 2
    learned = fit(hankel, "SP", rank=rank).model
    longer = all_words(2, 8)
    expected = root.weights(longer) ** 2
    assert learned.num_states == rank
    np.testing.assert_allclose(learned.weights(longer), expected, atol=1e-12 * expected.max())


def test_the_largest_of_equally_large_entries_is_the_first() -> None:
    """(1, −1) / √2 and (−1, 1) / √2 are one direction: the sign must not hang on the last digit."""
    for noise in (1e-16, -1e-16):
        svd = truncated_svd(sparse.csr_array(np.array([[2.0, -2.0 + noise], [1.0, -1.0]])), 1)
        assert svd.right[0, 0] > 0 > svd.right[1, 0]


def test_dyck_word_error_rates_are_the_grammars(dyck: dict[str, np.ndarray]) -> None:
    error = dyck["true_wer"].std(ddof=1) / np.sqrt(NUM_DRAWS)
    assert dyck["true_wer"].mean() == pytest.approx(0.332, abs=0.005 + 2 * error)
    assert (dyck["wer"].mean(axis=0) > dyck["true_wer"].mean()).all()


def test_dyck_has_the_known_hankel_matrix(dyck: dict[str, np.ndarray]) -> None:
    rows, columns, non_zeros = dyck["shape"].T
    assert set(rows) == {2001} and set(columns) == {1000}
    assert_one_of_the_draws(11_002, non_zeros)
    assert non_zeros.mean() == pytest.approx(11_002, rel=0.02)


@pytest.mark.parametrize(
    ("prefixes", "suffixes", "empty"),
    [
        (["", "a", "b"], ["", "c", "d"], "the 3 suffixes and not among the 3 prefixes"),
        (["", "a", "ab", "abc"], ["", "c", "d"], "the 3 suffixes"),
        (["", "a", "ab", "abc"], ["", "c", "bc", "abc"], ""),
    ],
)
def test_a_basis_without_whole_strings_is_told(
    prefixes: list[str], suffixes: list[str], empty: str
) -> None:
    sample = as_sample(["abc", "abd", "abc", "bcd"])
    rows = as_words(prefixes, sample.alphabet)
    columns = as_words(suffixes, sample.alphabet)
    learned = fit(
        estimate_hankel(sample, Basis(rows, columns, sample.num_symbols, sample.alphabet)),
        "SP",
        rank=len(suffixes),
    )
    told = [
        message for message in learned.report.messages if message.startswith("No training string")
    ]
    assert bool(told) == bool(empty)
    if empty:
        assert (
            f"No training string is among {empty} of the basis, so every string has the weight 0."
            in told[0]
        )
        assert not learned.model(["abc", "abd", "bcd"]).any()
    else:
        assert learned.model("abc") > 0
