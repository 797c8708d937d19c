"""Spectral learning step by step, with the numbers that each step comes to: what a lecturer writes on the board.

The numbers are those of `learning.spectral`, not computed anew: what is shown is what the learner does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...experiment.recipe import HankelRecipe
from ...hankel.matrix import HankelMatrix
from ...learning.learners import FitCache, fit, svd_size
from ...learning.spectral import TruncatedSVD, fit_linear_maps, fit_spectral, weighted_block
from ...models.nlwfa import NLWFA
from ...models.reading import StringReading
from ...models.wfa import WFA
from ...strings.sample import Sample
from ...strings.words import Alphabet, Word
from . import latex
from . import recipe as formulas
from .by_hand import by_hand
from .latex import column, diagonal, matrix, number, row, sized, text

# Of the calculation of a string's weight: its states, and the weight.
MAX_LINES = 7


@dataclass(frozen=True, eq=False)
class Spectral:
    """What spectral learning came to.

    Attributes
    ----------
    hankel : HankelMatrix
    svd : TruncatedSVD
        Of its `weighted_block`, to the rank or more.
    maps : WFA
        α₀ and A_σ as they are solved for, before anything is converted.
    model : WFA or NLWFA
        What is learned: it gives strings weights.
    """

    hankel: HankelMatrix
    svd: TruncatedSVD
    maps: WFA
    model: WFA | NLWFA

    @property
    def plain(self) -> bool:
        """Whether it is the paper's method: entries as counted, no boundary symbols."""
        return self.hankel.transform == "none" and not self.hankel.bounded


@dataclass(frozen=True)
class Step:
    """One step on the board.

    Attributes
    ----------
    name : str
        A word or three, for a button.
    title : str
        Markdown.
    formula : str
        LaTeX.
    numbers : tuple of str
        LaTeX, a line each.
    notice : str
        What to look at, Markdown.
    """

    name: str
    title: str
    formula: str
    numbers: tuple[str, ...]
    notice: str


def spectral(hankel: HankelMatrix, rank: int) -> Spectral:
    """Learn by SP, and keep what it went through. Raises RecipeError if the basis does not allow the rank."""
    cache = FitCache()
    model = fit(hankel, learner="SP", rank=rank, cache=cache).model
    svd = cache.svds[svd_size(hankel, rank)]
    plain = hankel.transform == "none" and not hankel.bounded
    return Spectral(hankel, svd, (fit_spectral if plain else fit_linear_maps)(hankel, svd, rank), model)


def names(learned: Spectral) -> list[str]:
    """What the steps are called."""
    converted = learned.plain and learned.hankel.statistic != "string"
    return ["estimate", "decompose", "begin and end", "move", *(["back to strings"] if converted else []), "weight"]


def steps(learned: Spectral, recipe: HankelRecipe, alphabet: Alphabet, train: Sample, symbol: int, word: Word) -> Iterator[Step]:
    """The steps with their numbers.

    Parameters
    ----------
    alphabet : Alphabet
        That of the matrix, see `hankel.matrix.hankel_alphabet`.
    train : Sample
        The training strings.
    symbol : int
        Whose map is shown.
    word : tuple of int
        Whose weight is computed.
    """
    yield _estimate(learned, recipe, alphabet)
    yield _decompose(learned)
    yield _ends(learned)
    yield _move(learned, alphabet, symbol)
    if learned.plain and learned.hankel.statistic != "string":
        yield _convert(learned)
    yield _weigh(learned, alphabet, train, word)


def _estimate(learned: Spectral, recipe: HankelRecipe, alphabet: Alphabet) -> Step:
    hankel, block = learned.hankel, learned.hankel.block
    prefixes, suffixes = hankel.basis.prefixes, hankel.basis.suffixes
    shown = matrix(block, lambda place: _written(prefixes[place], alphabet), lambda place: _written(suffixes[place], alphabet))
    filled = block.nnz / (block.shape[0] * block.shape[1])
    first = float(block[0, 0])
    return Step(
        "estimate",
        f"Estimate: a cell holds {formulas.entries(recipe)}",
        r"\mathbf{H}_\lambda[u,v]=\hat f(uv),\qquad\mathbf{H}_\sigma[u,v]=\hat f(u\sigma v)",
        (r"\mathbf{H}_\lambda=" + sized(block, shown),),
        f"Row $u$ says how strings go on after $u$: rows that are multiples of each other mean the same for the future, which is "
        f"what a state will be. {filled:.1%} of the cells are filled; $\\mathbf{{H}}_\\lambda[\\lambda,\\lambda]={number(first)}$.",
    )


def _written(word: Word, alphabet: Alphabet) -> str:
    return text(alphabet.decode(word)) if word else r"\lambda"


def _decompose(learned: Spectral) -> Step:
    k, svd = learned.maps.num_states, learned.svd
    U, V = svd.left[:, :k], svd.right[:, :k]
    squares = weighted_block(learned.hankel).data ** 2
    kept = float((svd.singular_values[:k] ** 2).sum() / (squares.sum() or 1.0))
    block = r"\mathbf{W}^{1/2}\mathbf{H}_\lambda" if learned.hankel.row_weights is not None else r"\mathbf{H}_\lambda"
    weighed = r"; rows count as often as their prefix was seen, $w_u$" if learned.hankel.row_weights is not None else ""
    following = svd.singular_values[k : k + 1]
    cut = f"; the largest that is cut off is ${number(float(following[0]))}$" if len(following) else ""
    return Step(
        "decompose",
        f"Truncated singular value decomposition, k = {k}",
        block + r"\approx\mathbf{U}\mathbf{D}\mathbf{V}^\top",
        (
            r"\mathbf{U}=" + sized(U, matrix(U)) + r"\qquad " + r"\mathbf{V}=" + sized(V, matrix(V)),
            r"\mathbf{D}=" + diagonal(svd.singular_values[:k]),
        ),
        f"These {k} singular values keep {kept:.2%} of the squared norm{weighed}{cut}. No matrix of rank {k} comes nearer.",
    )


def _ends(learned: Spectral) -> Step:
    maps, model, first = learned.maps, learned.model, learned.hankel.start_row
    begin = r"\lambda" if learned.hankel.num_marks < 2 else r"\vdash"
    numbers = [r"\alpha_0^\top=" + row(maps.initial)]
    if isinstance(model, NLWFA) and model.reading.is_chain:
        formula = rf"\alpha_0^\top=\mathbf{{H}}[{begin},:]\,\mathbf{{V}},\qquad\mathbf{{O}}=\text{{columns of }}\mathbf{{V}}^\top"
        numbers.append(r"\mathbf{O}=" + sized(model.output, matrix(model.output)))
        notice = (
            r"$\mathbf{O}$ has a column for each symbol, from the rows of $\mathbf{V}$ whose suffixes begin with it, and one for "
            r"the end: $\mathbf{z}\,\mathbf{O}$ is what comes next, $\alpha_0^\top\mathbf{O}$ what strings begin with."
        )
        return Step("begin and end", "The first state, and what is read off a state", formula, tuple(numbers), notice)
    numbers.append(r"\alpha_\infty=" + column(maps.termination))
    said, there = float(maps.initial @ maps.termination), float(learned.hankel.matrix[first, 0])
    return Step(
        "begin and end",
        "The first state, and how a state ends",
        rf"\alpha_0^\top=\mathbf{{H}}[{begin},:]\,\mathbf{{V}},\qquad\alpha_\infty=\mathbf{{V}}[\lambda,:]^\top",
        tuple(numbers),
        rf"$\alpha_0^\top\alpha_\infty={number(said)}$, and $\mathbf{{H}}[{begin},\lambda]={number(there)}$: what rank "
        f"{maps.num_states} makes of the first cell.",
    )


def _move(learned: Spectral, alphabet: Alphabet, symbol: int) -> Step:
    maps, hankel = learned.maps, learned.hankel
    name, A = text(alphabet.symbols[symbol]), maps.transitions[symbol]
    begin = r"\lambda" if hankel.num_marks < 2 else r"\vdash"
    formula = r"\mathbf{A}_\sigma=(\mathbf{H}_\lambda\mathbf{V})^{+}\,\mathbf{H}_\sigma\mathbf{V}"
    if not learned.plain:
        weight = r"w_{u\sigma}" if hankel.row_weights is not None else ""
        formula = rf"\min_{{\mathbf{{A}}_\sigma}}\textstyle\sum_u {weight}"
        formula += r"\|\mathbf{z}_u\mathbf{A}_\sigma-\mathbf{z}_{u\sigma}\|^2"
        formula += r",\qquad\mathbf{z}_u=\mathbf{H}[u,:]\,\mathbf{V}"
    there = []
    if hankel.start_row < hankel.num_prefixes:
        reached = (hankel.matrix[[int(hankel.shifted[hankel.start_row, symbol])]] @ learned.svd.right[:, : maps.num_states])[0]
        there = [rf"\mathbf{{H}}_{{{name}}}[{begin},:]\,\mathbf{{V}}=" + row(reached)]
    return Step(
        "move",
        "A map for each symbol: from the state of $u$ to that of $u\\sigma$",
        formula,
        (
            rf"\mathbf{{A}}_{{{name}}}=" + sized(A, matrix(A)),
            rf"\alpha_0^\top\mathbf{{A}}_{{{name}}}=" + row(maps.initial @ A),
            *there,
        ),
        f"The second line is where the map leads from the first state{', the third where the data are' if there else ''}: least "
        "squares brings maps and data together for all prefixes at once. "
        f"The maps' sum has spectral radius {maps.spectral_radius:.4g}.",
    )


def _convert(learned: Spectral) -> Step:
    maps, model = learned.maps, learned.model
    assert isinstance(model, WFA)
    numbers = [r"\mathbf{A}=\sum_\sigma\mathbf{A}_\sigma=" + sized(maps.summed_transitions, matrix(maps.summed_transitions))]
    if learned.hankel.statistic == "factor":
        numbers.append(r"\alpha_0^\top\leftarrow " + row(model.initial))
    numbers.append(r"\alpha_\infty\leftarrow " + column(model.termination))
    return Step(
        "back to strings",
        f"From {learned.hankel.statistic} statistics back to strings",
        formulas.CONVERSIONS[learned.hankel.statistic],
        tuple(numbers),
        "What a prefix is worth is what all strings that begin with it are worth together, a geometric series of $\\mathbf{A}$: "
        "$\\mathbf{I}-\\mathbf{A}$ takes it apart again.",
    )


def _weigh(learned: Spectral, alphabet: Alphabet, train: Sample, word: Word) -> Step:
    calculation = by_hand(learned.model, word, alphabet)
    value = number(calculation.weight)
    if calculation.is_product:
        total = latex.joined([number(factor) for term in calculation.terms for factor in term.numbers], r"\cdot ")
    else:
        product = rf"\mathbf{{z}}_{{{len(calculation.states) - 1}}}\,\alpha_\infty"
        total = rf"\bigl({product}\bigr)^2" if calculation.is_squared else product
    lines = [*(state.latex(digits=3) for state in calculation.states), f"f(x)&={total}={value}"]
    reading = learned.model.reading if isinstance(learned.model, NLWFA) else StringReading()

    def entry(_word: str, end: str) -> str:
        last = rf"\mathbf{{A}}_{{{end}}}" if end else ""
        return rf"\alpha_0^\top\mathbf{{A}}_{{x_1}}\cdots\mathbf{{A}}_{{x_n}}{last}\,\alpha_\infty"

    negative = " A weight below 0 is no probability: nothing in the method forbids it." if calculation.weight < 0 else ""
    return Step(
        "weight",
        "The weight of one string, as a product",
        latex.gathered(reading.formulas(entry, r"\mathbf{z}_u\mathbf{O}_\sigma")),
        (latex.aligned(lines, MAX_LINES),),
        f"$f(x)={value}$; {_share(train, word):.1%} of the training strings are $x$.{negative}",
    )


def _share(train: Sample, word: Word) -> float:
    """Of the training strings that are this word."""
    alike = np.flatnonzero(train.words.lengths == len(word)).tolist()
    return float(sum(train.counts[place] for place in alike if train.words[place] == word) / train.counts.sum())
