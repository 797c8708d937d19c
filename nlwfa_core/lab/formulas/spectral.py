"""Spectral learning step by step, with the numbers that each step comes to: what a lecturer writes on the board.

The numbers are those of `learning.spectral`, not computed anew: what is shown is what the learner does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...experiment.recipe import HankelRecipe
from ...hankel.matrix import HankelMatrix
from ...learning.learners import fit, svd_size
from ...learning.spectral import TruncatedSVD, fit_linear_maps, fit_spectral, weighted_block
from ...learning.steps import Kept
from ...models.nlwfa import NLWFA
from ...models.wfa import WFA
from ...rounding import flush_product
from ...strings.sample import Sample
from ...strings.words import Alphabet, FloatArray, Word
from . import recipe as formulas
from .latex import column, diagonal, matrix, number, row, sized, text

# Of a longer string, so many states are written, and the last.
MAX_STATES = 6


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
    kept = Kept()
    model = fit(hankel, "SP", rank, kept=kept).model
    svd = kept.svds[svd_size(hankel, rank)]
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
        That of the matrix, see `lab.views.hankel_alphabet`.
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
        (sized(r"\mathbf{H}_\lambda", block, shown),),
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
            sized(r"\mathbf{U}", U, matrix(U)) + r"\qquad " + sized(r"\mathbf{V}", V, matrix(V)),
            r"\mathbf{D}=" + diagonal(svd.singular_values[:k]),
        ),
        f"These {k} singular values keep {kept:.2%} of the squared norm{weighed}{cut}. No matrix of rank {k} comes nearer.",
    )


def _ends(learned: Spectral) -> Step:
    maps, model, first = learned.maps, learned.model, learned.hankel.start_row
    begin = r"\lambda" if learned.hankel.num_marks < 2 else r"\vdash"
    numbers = [r"\alpha_0^\top=" + row(maps.initial)]
    if isinstance(model, NLWFA) and model.reading == "conditional":
        formula = rf"\alpha_0^\top=\mathbf{{H}}[{begin},:]\,\mathbf{{V}},\qquad\mathbf{{O}}=\text{{columns of }}\mathbf{{V}}^\top"
        numbers.append(sized(r"\mathbf{O}", model.output, matrix(model.output)))
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
            sized(rf"\mathbf{{A}}_{{{name}}}", A, matrix(A)),
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
    numbers = [sized(r"\mathbf{A}=\sum_\sigma\mathbf{A}_\sigma", maps.summed_transitions, matrix(maps.summed_transitions))]
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


def weight_by_hand(learned: Spectral, word: Word) -> tuple[list[FloatArray], list[float], float]:
    """States after each prefix of a word; factors, where the weight is a product of conditional probabilities; the weight.

    Returns
    -------
    states : list of arrays, shape (num_states,)
        One more than the word has symbols; where the end is a symbol with a map, one more still.
    factors : list of float
        p(x_t | x₁ … x_{t−1}) and p(end | x); empty for other readings.
    weight : float
    """
    model, maps = learned.model, learned.maps
    states = [model.initial]
    for symbol in word:
        states.append(flush_product(states[-1], maps.transitions[symbol]))
    if isinstance(model, WFA):
        return states, [], float(flush_product(states[-1], model.termination[:, None])[0])
    if model.reading == "conditional":
        chosen = zip(states, (*word, model.num_symbols), strict=True)
        factors = [float(flush_product(state, model.output[:, [symbol]])[0]) for state, symbol in chosen]
        return states, factors, float(np.prod(factors))
    if model.reading == "boundary":
        states.append(flush_product(states[-1], maps.transitions[model.num_symbols]))
    value = float(flush_product(states[-1], model.termination[:, None])[0])
    return states, [], value**2 if model.link == "square" else value


def _weigh(learned: Spectral, alphabet: Alphabet, train: Sample, word: Word) -> Step:
    model = learned.model
    with np.errstate(over="ignore", invalid="ignore"):
        states, factors, value = weight_by_hand(learned, word)
    names = [text(alphabet.symbols[symbol]) for symbol in word]
    if isinstance(model, NLWFA) and model.reading == "boundary":
        names.append(text(alphabet.symbols[model.num_symbols]))
    lines = [rf"\mathbf{{z}}_0&=\alpha_0^\top={row(states[0])}"]
    lines += [
        rf"\mathbf{{z}}_{{{place}}}&=\mathbf{{z}}_{{{place - 1}}}\mathbf{{A}}_{{{name}}}={row(state)}"
        for place, (name, state) in enumerate(zip(names, states[1:], strict=True), start=1)
    ]
    if len(lines) > MAX_STATES:
        lines[MAX_STATES - 2 : -1] = [r"&\;\;\vdots"]
    last = rf"\mathbf{{z}}_{{{len(names)}}}"
    if factors:
        shown = [number(factor) for factor in (factors if len(factors) <= MAX_STATES else factors[: MAX_STATES - 2])]
        shown += [] if len(factors) <= MAX_STATES else [r"\cdots", number(factors[-1])]
        lines.append(r"f(x)&=" + r"\cdot ".join(shown) + "=" + number(value))
        formula = r"f(x)=p(\text{end}\mid x)\textstyle\prod_t p(x_t\mid x_1\cdots x_{t-1})"
        formula += r",\quad p(\sigma\mid u)=\mathbf{z}_u\mathbf{O}_\sigma"
    else:
        square = isinstance(model, NLWFA) and model.link == "square"
        product = rf"\bigl({last}\,\alpha_\infty\bigr)^2" if square else rf"{last}\,\alpha_\infty"
        lines.append(rf"f(x)&={product}={number(value)}")
        dots = r"\mathbf{A}_{x_1}\cdots\mathbf{A}_{x_n}" + (r"\mathbf{A}_{\dashv}" if len(names) > len(word) else "")
        formula = rf"f(x)=\alpha_0^\top {dots}\,\alpha_\infty"
        formula = rf"f(x)=\bigl(\alpha_0^\top {dots}\,\alpha_\infty\bigr)^2" if square else formula
    share = _share(train, word)
    sign = " A weight below 0 is no probability: nothing in the method forbids it." if value < 0 else ""
    return Step(
        "weight",
        "The weight of one string, as a product",
        formula,
        (r"\begin{aligned}" + r"\\ ".join(lines) + r"\end{aligned}",),
        f"$f(x)={number(value)}$; of the training strings, $x$ is a share of ${number(share)}$.{sign}",
    )


def _share(train: Sample, word: Word) -> float:
    """Of the training strings that are this word."""
    alike = np.flatnonzero(train.words.lengths == len(word)).tolist()
    return float(sum(train.counts[place] for place in alike if train.words[place] == word) / train.counts.sum())
