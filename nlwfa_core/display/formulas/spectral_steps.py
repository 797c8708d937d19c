"""Write spectral learning step by step, with numbers in the formulas, as a lecturer does on the
board.

The numbers come from `learning.spectral` and are not computed again, so each step shows what the
learner does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...hankel.matrix import HankelMatrix
from ...hankel.recipe import HankelRecipe
from ...learning.fitting import fit
from ...learning.spectral import TruncatedSVD, fit_linear_maps, fit_spectral, weighted_block
from ...learning.two_steps import FitCache, svd_size
from ...models.nlwfa import NLWFA
from ...models.reading import StringReading
from ...models.wfa import WFA
from ...rounding import format_beside, format_share
from ...strings.sample import Sample
from ...strings.words import Alphabet, Word
from . import latex
from . import recipe_formulas as formulas
from .by_hand import by_hand
from .latex import column, diagonal, matrix, number, row, sized, text

# Longest calculation of a string's weight that is written: one line for each state, and one for the
# weight.
MAX_LINES = 7


@dataclass(frozen=True, eq=False)
class Spectral:
    """Holds a model learned by SP, and the intermediate results of learning it.

    Attributes
    ----------
    hankel : HankelMatrix
    svd : TruncatedSVD
        The singular value decomposition of the matrix's `weighted_block`, at least up to the rank.
    maps : WFA
        α₀, A_σ and α∞ before statistics of prefixes or factors are converted to those of strings.
    model : WFA or NLWFA
        The learned model of strings.
    """

    hankel: HankelMatrix
    svd: TruncatedSVD
    maps: WFA
    model: WFA | NLWFA

    @property
    def is_plain(self) -> bool:
        """Return whether this is the paper's method: no transform of the entries, and no boundary
        symbols.
        """
        return self.hankel.transform == "none" and not self.hankel.bounded


@dataclass(frozen=True)
class Step:
    """Holds one step of the demonstration."""

    name: str  # one to three words for a button; links to the step contain them
    title: str  # Markdown
    formula: str  # LaTeX
    numbers: tuple[str, ...]  # the formula with numbers, one LaTeX formula per line
    notice: str  # what to look at, in Markdown


def spectral(hankel: HankelMatrix, rank: int) -> Spectral:
    """Learn a model by SP and return it with the intermediate results.

    Raises RecipeError if the basis does not allow the rank.
    """
    cache = FitCache()
    model = fit(hankel, learner="SP", rank=rank, cache=cache).model
    assert isinstance(model, WFA | NLWFA)
    svd = cache.svds[svd_size(hankel, rank)]
    plain = hankel.transform == "none" and not hankel.bounded
    return Spectral(
        hankel, svd, (fit_spectral if plain else fit_linear_maps)(hankel, svd, rank), model
    )


def step_names(result: Spectral) -> list[str]:
    """List the names of the steps, in order."""
    has_conversion = result.is_plain and result.hankel.statistic != "string"
    return [
        "estimate",
        "decompose",
        "begin and end",
        "move",
        *(["back to strings"] if has_conversion else []),
        "weight",
    ]


def steps(
    result: Spectral,
    recipe: HankelRecipe,
    alphabet: Alphabet,
    train: Sample,
    symbol: int,
    word: Word,
) -> Iterator[Step]:
    """Write the steps of spectral learning with their numbers.

    `alphabet`: the alphabet of the matrix, which includes its boundary symbols: see
    `hankel.boundary.hankel_alphabet`. `train`: the training strings. `symbol`: the symbol whose map
    is shown. `word`: the string whose weight is computed.
    """
    yield _estimate(result, recipe, alphabet)
    yield _decompose(result)
    yield _ends(result)
    yield _move(result, alphabet, symbol)
    if result.is_plain and result.hankel.statistic != "string":
        yield _convert(result)
    yield _weigh(result, alphabet, train, word)


def _estimate(result: Spectral, recipe: HankelRecipe, alphabet: Alphabet) -> Step:
    hankel = result.hankel
    block = result.hankel.block
    prefixes = hankel.basis.prefixes
    suffixes = hankel.basis.suffixes
    corners = matrix(
        block,
        lambda row: _written(prefixes[row], alphabet),
        lambda column: _written(suffixes[column], alphabet),
    )
    density = block.nnz / (block.shape[0] * block.shape[1])
    first = float(block[0, 0])
    return Step(
        "estimate",
        f"Estimate: a cell holds {formulas.entries(recipe)}",
        rf"\mathbf{{H}}_\lambda[u,v]={formulas.entry_formula(recipe)},\qquad"
        rf"\mathbf{{H}}_\sigma[u,v]={formulas.entry_formula(recipe, formulas.SHIFTED)}",
        (r"\mathbf{H}_\lambda=" + sized(block, corners),),
        "Row $u$ shows how strings continue after $u$. Prefixes whose rows are multiples of "
        "each other have the same future, and "
        f"share a state. {format_share(density)} of the cells are not 0; "
        f"$\\mathbf{{H}}_\\lambda[\\lambda,\\lambda]={number(first)}$.",
    )


def _written(word: Word, alphabet: Alphabet) -> str:
    return text(alphabet.decode(word)) if word else r"\lambda"


def _decompose(result: Spectral) -> Step:
    k = result.maps.num_states
    svd = result.svd
    U = svd.left[:, :k]
    V = svd.right[:, :k]
    squares = weighted_block(result.hankel).data ** 2
    explained = float((svd.singular_values[:k] ** 2).sum() / (squares.sum() or 1.0))
    block = (
        r"\mathbf{W}^{1/2}\mathbf{H}_\lambda"
        if result.hankel.row_weights is not None
        else r"\mathbf{H}_\lambda"
    )
    weights = (
        r". Each row is weighted by how often its prefix was seen, $w_u$"
        if result.hankel.row_weights is not None
        else ""
    )
    following = svd.singular_values[k : k + 1]
    dropped_sentence = (
        f". The largest that is dropped is ${number(float(following[0]))}$"
        if len(following)
        else ""
    )
    values = "This singular value keeps" if k == 1 else f"These {k} singular values keep"
    return Step(
        "decompose",
        f"Truncated singular value decomposition, k = {k}",
        block + r"\approx\mathbf{U}\mathbf{D}\mathbf{V}^\top",
        (
            r"\mathbf{U}="
            + sized(U, matrix(U))
            + r"\qquad "
            + r"\mathbf{V}="
            + sized(V, matrix(V)),
            r"\mathbf{D}=" + diagonal(svd.singular_values[:k]),
        ),
        f"{values} {format_share(explained, 2)} of the squared "
        f"norm{weights}{dropped_sentence}. No matrix of rank {k} is closer.",
    )


def _ends(result: Spectral) -> Step:
    maps = result.maps
    model = result.model
    first = result.hankel.start_row
    begin = r"\lambda" if result.hankel.num_marks < 2 else r"\vdash"
    numbers = [r"\alpha_0^\top=" + row(maps.initial)]
    if isinstance(model, NLWFA) and model.reading.is_chain:
        formula = (
            rf"\alpha_0^\top=\mathbf{{H}}[{begin},:]\,\mathbf{{V}},\qquad\mathbf{{O}}=\text{{columns "  # noqa: E501
            r"of }\mathbf{V}^\top"
        )
        numbers.append(r"\mathbf{O}=" + sized(model.output, matrix(model.output)))
        notice = (
            r"$\mathbf{O}$ has a column for each symbol, from the rows of $\mathbf{V}$ whose "
            r"suffixes begin with it, and one for "
            r"the end. $\mathbf{z}\,\mathbf{O}$ are the probabilities of what comes next; "
            r"$\alpha_0^\top\mathbf{O}$ those of what "
            r"comes first."
        )
        return Step(
            "begin and end",
            "The initial state, and the outputs of a state",
            formula,
            tuple(numbers),
            notice,
        )
    numbers.append(r"\alpha_\infty=" + column(maps.termination))
    approximation = float(maps.initial @ maps.termination)
    entry = float(result.hankel.matrix[first, 0])
    return Step(
        "begin and end",
        "The initial state, and the weights with which states end",
        rf"\alpha_0^\top=\mathbf{{H}}[{begin},:]\,\mathbf{{V}},\qquad\alpha_\infty=\mathbf{{V}}[\lambda,:]^\top",
        tuple(numbers),
        rf"$\alpha_0^\top\alpha_\infty={number(approximation)}$ is the "
        rf"rank-{maps.num_states} approximation of the first cell, "
        rf"$\mathbf{{H}}[{begin},\lambda]={number(entry)}$.",
    )


def _move(result: Spectral, alphabet: Alphabet, symbol: int) -> Step:
    """Write the equation of A_σ with the numbers of one symbol."""
    maps = result.maps
    hankel = result.hankel
    name = text(alphabet.symbols[symbol])
    A = maps.transitions[symbol]
    begin = r"\lambda" if hankel.num_marks < 2 else r"\vdash"
    formula = formulas.A_SIGMA
    if not result.is_plain:
        weight = r"w_{u\sigma}" if hankel.row_weights is not None else ""
        formula = rf"\min_{{\mathbf{{A}}_\sigma}}\textstyle\sum_u {weight}"
        formula += r"\|\mathbf{z}_u\mathbf{A}_\sigma-\mathbf{z}_{u\sigma}\|^2"
        formula += r",\qquad\mathbf{z}_u=\mathbf{H}[u,:]\,\mathbf{V}"
    data_line = []
    if hankel.start_row < hankel.num_prefixes:
        reached = (
            hankel.matrix[[int(hankel.shifted[hankel.start_row, symbol])]]
            @ result.svd.right[:, : maps.num_states]
        )[0]
        data_line = [rf"\mathbf{{H}}_{{{name}}}[{begin},:]\,\mathbf{{V}}=" + row(reached)]
    return Step(
        "move",
        "A map for each symbol: from the state of $u$ to that of $u\\sigma$",
        formula,
        (
            rf"\mathbf{{A}}_{{{name}}}=" + sized(A, matrix(A)),
            rf"\alpha_0^\top\mathbf{{A}}_{{{name}}}=" + row(maps.initial @ A),
            *data_line,
        ),
        "Line 2 is the state to which the map takes the initial "
        f"state{'; line 3 is this state in the data' if data_line else ''}. Least squares makes "
        "maps and data agree as well as possible for all prefixes at once. The sum of the maps "
        f"has spectral radius {format_beside(maps.spectral_radius, 1.0)}.",
    )


def _convert(result: Spectral) -> Step:
    maps = result.maps
    model = result.model
    assert isinstance(model, WFA)
    numbers = [
        r"\mathbf{A}=\sum_\sigma\mathbf{A}_\sigma="
        + sized(maps.summed_transitions, matrix(maps.summed_transitions))
    ]
    before = result.hankel.statistic == "suffix"
    if before or result.hankel.statistic == "factor":
        numbers.append(r"\alpha_0^\top\leftarrow " + row(model.initial))
    if not before:
        numbers.append(r"\alpha_\infty\leftarrow " + column(model.termination))
    return Step(
        "back to strings",
        f"From {result.hankel.statistic} statistics back to strings",
        formulas.CONVERSIONS[result.hankel.statistic],
        tuple(numbers),
        f"The weight of a {'suffix' if before else 'prefix'} is the sum of the weights of "
        "all strings that "
        f"{'end' if before else 'begin'} with it, a geometric series in $\\mathbf{{A}}$. "
        "Multiplying by $\\mathbf{I}-\\mathbf{A}$ undoes the sum.",
    )


def _weigh(result: Spectral, alphabet: Alphabet, train: Sample, word: Word) -> Step:
    calculation = by_hand(result.model, word, alphabet)
    value = number(calculation.weight)
    if calculation.is_product:
        total = latex.joined(
            [number(factor) for term in calculation.terms for factor in term.numbers], r"\cdot "
        )
    else:
        product = rf"\mathbf{{z}}_{{{len(calculation.states) - 1}}}\,\alpha_\infty"
        total = rf"\bigl({product}\bigr)^2" if calculation.is_squared else product
    lines = [*(state.latex(digits=3) for state in calculation.states), f"f(x)&={total}={value}"]
    reading = result.model.reading if isinstance(result.model, NLWFA) else StringReading()

    def entry(_word: str, end: str) -> str:
        last = rf"\mathbf{{A}}_{{{end}}}" if end else ""
        return rf"\alpha_0^\top\mathbf{{A}}_{{x_1}}\cdots\mathbf{{A}}_{{x_n}}{last}\,\alpha_\infty"

    negative = (
        " It is negative, so it is not a probability: nothing in the method prevents that."
        if calculation.weight < 0
        else ""
    )
    return Step(
        "weight",
        "The weight of one string, as a product",
        latex.gathered(reading.formulas(entry, r"\mathbf{z}_u\mathbf{O}_\sigma")),
        (latex.aligned(lines, MAX_LINES),),
        f"$f(x)={value}$; {format_share(_share(train, word))} of the training strings are "
        f"$x$.{negative}",
    )


def _share(train: Sample, word: Word) -> float:
    """Compute the share of training strings that equal a word."""
    same_length = np.flatnonzero(train.words.lengths == len(word)).tolist()
    return float(
        sum(train.counts[index] for index in same_length if train.words[index] == word)
        / train.counts.sum()
    )
