"""Describe a recipe in words and formulas: what the matrix holds, and how a model is learned from
it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...experiment.recipe import Recipe
from ...hankel.recipe import HankelRecipe
from ...learning.shared_options import LearnerOptions
from ...models.reading import ConditionalReading, reading_for
from .latex import gathered

COUNTS = {
    "string": "the share of training strings that equal $uv$",
    "prefix": "the share of training strings that begin with $uv$",
    "factor": "the average number of times $uv$ occurs in a training string",
    "suffix": "the share of training strings that end with $uv$",
}
MARKED = {
    "prefix": "$x\\,{\\dashv}$: its end then counts as an ordinary symbol",
    "factor": "${\\vdash}\\,x\\,{\\dashv}$: its beginning and its end then count as ordinary "
    "symbols",
}

SHIFTED = r"u\sigma "  # the prefix of a row of H_σ
A_SIGMA = r"\mathbf{A}_\sigma=(\mathbf{H}_\lambda\mathbf{V})^{+}\,\mathbf{H}_\sigma\mathbf{V}"
SVD = (
    r"\begin{gathered}\mathbf{H}_\lambda \approx \mathbf{U}\mathbf{D}\mathbf{V}^\top,\quad "
    r"\alpha_0^\top = \mathbf{H}[\lambda,:]\,\mathbf{V},\\ "
    rf"{A_SIGMA},\quad "
    r"\alpha_\infty = \mathbf{V}[\lambda,:]^\top\end{gathered}"
)
LINEAR_MAPS = (
    r"\begin{gathered}%s\approx \mathbf{U}\mathbf{D}\mathbf{V}^\top,\quad \mathbf{z}_u = "
    r"\mathbf{H}[u,:]\,\mathbf{V},\\ "
    r"\min_{\mathbf{A}_\sigma}\textstyle\sum_u "
    r"%s\|\mathbf{z}_u\mathbf{A}_\sigma-\mathbf{z}_{u\sigma}\|^2,\quad "
    r"\alpha_0^\top = \mathbf{z}_{%s}\end{gathered}"
)
NETWORKS = (
    r"\begin{gathered}\min_{\phi,\phi'}\|\phi'(\phi(\mathbf{H}))-\mathbf{H}\|%s^2\text{ %s},\\ "
    r"\min_{G_\sigma}\|G_\sigma(\phi(\mathbf{H}_\lambda))-\phi(\mathbf{H}_\sigma)\|%s^2\text{ "
    r"%s}\end{gathered}"
)
CONVERSIONS = {
    "prefix": r"\alpha_\infty\leftarrow(\mathbf{I}-\mathbf{A})\,\alpha_\infty",
    "suffix": r"\alpha_0^\top\leftarrow\alpha_0^\top(\mathbf{I}-\mathbf{A})",
    "factor": r"\alpha_0^\top\leftarrow\alpha_0^\top(\mathbf{I}-\mathbf{A}),\quad "
    r"\alpha_\infty\leftarrow(\mathbf{I}-\mathbf{A})\,\alpha_\infty",
}
REFINED = {
    "hankel": r"\min\textstyle\sum_{u\in P'} %s\|%s-\mathbf{H}_u\|^2",
    "likelihood": r"\min\; -\textstyle\sum_x\sum_t \log_2\, p(x_t\mid x_1\cdots x_{t-1})",
}
# Trained by likelihood: the maps and the decoder, by whether they have tanh.
MAPS = {
    True: r"\mathbf{z}_{u\sigma}=\tanh(\tanh(\mathbf{z}_u\mathbf{E}_\sigma)\mathbf{F}_\sigma)",
    False: r"\mathbf{z}_{u\sigma}=\mathbf{z}_u\mathbf{A}_\sigma",
}
DECODERS = {True: r"\tanh(\mathbf{z}_u\mathbf{C})\mathbf{D}", False: r"\mathbf{z}_u\mathbf{D}"}
LIKELIHOOD = (
    r"\min\; -\textstyle\sum_{u}\sum_\sigma c(u\sigma)\ln p(\sigma\mid u)+"
    r"\tfrac{\rho}{2}\|\theta\|^2"
)


def entries(recipe: HankelRecipe) -> str:
    """Describe in Markdown what a cell of the matrix holds.

    >>> entries(HankelRecipe(transform="sqrt"))
    'the square root of the share of training strings that equal $uv$'
    """
    count = COUNTS[recipe.statistic]
    if recipe.transform == "row":
        return (
            f"{count}, divided by {'the same for $u$' if recipe.bounded else 'the sum of its row'}"
        )
    return f"the square root of {count}" if recipe.transform == "sqrt" else count


def matrix_sentence(recipe: HankelRecipe) -> str:
    r"""Describe in Markdown what the matrix holds, in a formula and in words.

    >>> matrix_sentence(HankelRecipe())
    'Here $\\mathbf{H}[u, v] = \\hat f(uv)$: **the share of training strings that equal $uv$**. '
    """
    return (
        f"Here $\\mathbf{{H}}[u, v] = {entry_formula(recipe)}$: **{entries(recipe)}**. "
        f"{marks(recipe)}"
    )


def entry_formula(recipe: HankelRecipe, prefix: str = "u") -> str:
    r"""Write in LaTeX what a cell of the matrix holds; f̂ is what was counted, and `prefix` is u,
    or uσ in the rows of H_σ.

    >>> entry_formula(HankelRecipe()), entry_formula(HankelRecipe(transform="sqrt"))
    ('\\hat f(uv)', '\\sqrt{\\hat f(uv)}')
    >>> print(entry_formula(HankelRecipe(transform="row", statistic="prefix", bounded=True)))
    \hat f(uv)\,/\,\hat f(u)
    >>> print(entry_formula(HankelRecipe(transform="row"), r"u\sigma "))
    \hat f(u\sigma v)\,/\,\textstyle\sum_{v'}\hat f(u\sigma v')
    """
    counted = rf"\hat f({prefix}v)"
    if recipe.transform == "sqrt":
        return rf"\sqrt{{{counted}}}"
    if recipe.transform == "row":
        divisor = (
            rf"\hat f({prefix.strip()})"
            if recipe.bounded
            else rf"\textstyle\sum_{{v'}}\hat f({prefix}v')"
        )
        return rf"{counted}\,/\,{divisor}"
    return counted


def marks(recipe: HankelRecipe) -> str:
    """Describe in Markdown how boundary symbols are counted. Empty if the recipe has none."""
    if not recipe.bounded:
        return ""
    return f"Each string $x$ is counted as {MARKED[recipe.statistic]}."


def steps(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Describe the steps from matrix to model as pairs of a title in Markdown and a LaTeX formula
    narrow enough for a phone.
    """
    kind = recipe.learning
    if not kind.needs_hankel:
        yield from _by_likelihood(kind)
        return
    hankel = recipe.hankel
    by_row = hankel.transform == "row"
    plain = hankel.transform == "none" and not hankel.bounded
    if hankel.transform == "sqrt":
        yield "**The matrix**: square roots", r"\mathbf{H}[u,v]\leftarrow\sqrt{\mathbf{H}[u,v]}"
    elif by_row:
        divisor = (
            r"\mathbf{H}[u,\lambda]" if hankel.bounded else r"\textstyle\sum_{v'}\mathbf{H}[u,v']"
        )
        yield (
            "**The matrix**: what follows $u$, given $u$. Each row has a weight $w_u$: how "
            "often its prefix was seen",
            rf"\mathbf{{H}}[u,v]\leftarrow\mathbf{{H}}[u,v]\,/\,{divisor}",
        )
    if kind.networks:
        weights = "_w" if by_row else ""
        first, second = (
            "with tanh" if tanh else "linear"
            for tanh in (kind.nonlinear_factorisation, kind.nonlinear_transitions)
        )
        yield (
            "**Steps 1 and 2**: an auto-encoder of the rows, then a map between their codes "
            "for each symbol",
            NETWORKS % (weights, first, weights, second),
        )
    elif plain:
        yield (
            "**Steps 1 and 2**: a singular value decomposition, then the maps between its rows",
            SVD,
        )
    else:
        block = r"\mathbf{W}^{1/2}\mathbf{H}_\lambda" if by_row else r"\mathbf{H}_\lambda"
        first = r"\vdash" if hankel.bounded and hankel.statistic == "factor" else r"\lambda"
        formula = LINEAR_MAPS % (block, r"w_{u\sigma}" if by_row else "", first)
        yield (
            "**Steps 1 and 2**: a singular value decomposition, then the maps between its rows",
            formula,
        )
    output = (
        r"\phi'(G_{%s}(\alpha_0))"
        if kind.networks
        else r"\alpha_0^\top\mathbf{A}_{%s}\mathbf{V}^\top"
    )
    weight = "w_u" if by_row else ""
    refinement = recipe.learning.refinement
    if refinement == "hankel":
        yield (
            "**Step 3**: all parameters are trained together on the rows",
            REFINED["hankel"] % (weight, output % "u"),
        )
    if plain and not kind.networks and hankel.statistic != "string":
        yield (
            "**Back to strings**, with $\\mathbf{A}=\\sum_\\sigma\\mathbf{A}_\\sigma$",
            CONVERSIONS[hankel.statistic],
        )
    elif not plain:
        yield "**Read as**", _reading(hankel, output)
    if refinement == "likelihood":
        yield (
            "**Step 3**: all parameters are trained together on what follows each prefix of "
            "the training strings, ends included",
            REFINED["likelihood"],
        )


def _by_likelihood(learning: LearnerOptions) -> Iterator[tuple[str, str]]:
    """Describe a network that is trained without a matrix."""
    decoded = DECODERS[learning.nonlinear_factorisation]
    reading = ConditionalReading("softmax", normalised=True)
    yield (
        "**The network**: a state for each prefix $u$, and the probabilities of what follows it",
        gathered((MAPS[learning.nonlinear_transitions], *reading.formulas(lambda *_: "", decoded))),
    )
    yield (
        "**Training**: all parameters together, on what follows each prefix of the training "
        "strings, ends included; $c$ counts it",
        LIKELIHOOD,
    )


def third_step(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Select the refinement from `steps`: one pair of a title and a formula, or none."""
    return ((title, formula) for title, formula in steps(recipe) if title.startswith("**Step 3**"))


def _reading(recipe: HankelRecipe, output: str) -> str:
    """Write the formula by which outputs become a string's weight: that of `models.reading`, in the
    notation of `steps`.
    """
    following = (
        f"{output % 'u'}[\\sigma]"
        if recipe.bounded
        else rf"\textstyle\sum_{{v\in\sigma\Sigma^*}}{output % 'u'}[v]"
    )
    formulas = reading_for(recipe.transform, recipe.bounded).formulas(
        lambda u, end: f"{output % (u + end)}[\\lambda]", following
    )
    return gathered(formulas)


def rank_notes(recipe: Recipe) -> tuple[str, ...]:
    """Warn if the basis does not allow the requested rank of a linear model, before anything is
    computed.

    >>> from nlwfa_core import options
    >>> small = HankelRecipe(num_prefixes=20, num_suffixes=10)
    >>> rank_notes(Recipe(hankel=small, learning=options("SP", rank=12)))
    ('Rank 12 is above what 20 prefixes and 10 suffixes allow: the model will have at most 10 states.',)
    """  # noqa: E501
    rank = recipe.learning.rank
    rows = recipe.hankel.num_prefixes
    columns = recipe.hankel.num_suffixes
    if recipe.learning.networks or rank <= min(rows, columns):
        return ()
    return (
        f"Rank {rank:,} is above what {rows:,} prefixes and {columns:,} suffixes allow: the "
        "model will have at most "
        f"{min(rows, columns):,} states.",
    )
