"""Write a run as one self-contained HTML file, without scripts, fonts or network requests.

The template escapes everything. Figures are SVG in data URIs, where scripts can't run.
"""

from __future__ import annotations

import platform
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..display.pairs import COVERS, interval_text
from ..display.recipe_differences import NO_EFFECT, options, with_title
from ..display.result_tables import BETTER, as_sentence, verdicts
from ..display.string_labels import split_sentence
from ..experiment.datasets import Data
from ..experiment.results import Result
from ..files import __version__, file_label
from ..hankel.matrix import HankelMatrix
from ..metrics.diagnostics import DIAGNOSTIC_TITLES, Diagnostics, format_diagnostic
from ..metrics.intervals import intervals, string_scores
from ..metrics.score_table import SCORES, Score, Scores
from ..metrics.tables import format_score
from ..sources.recognition import reading_of
from .figures import RunFigure, run_figures

LIBRARIES = ("numpy", "scipy", "torch")
TEMPLATE = Path(__file__).with_name("report.html")


def report(
    result: Result,
    data: Data,
    hankel: HankelMatrix | None,
    references: Mapping[str, Scores],
    link: str = "",
    titles: Mapping[str, str] | None = None,
) -> str:
    """Write the report of a run as HTML.

    Parameters
    ----------
    result : Result
    data : Data
        The strings of the run's recipe.
    hankel : HankelMatrix or None
        The Hankel matrix of the run's recipe; None for learners that need none.
    references : mapping of str to Scores
        Name of a reference model -> its scores on the same test strings.
    link : str
        A link that opens the lab with this recipe; empty for none.
    titles : mapping of str to str, optional
        SHA-256 -> title of an uploaded file.
    """
    from jinja2 import Environment

    recipe = result.recipe
    diagnostics = result.diagnostics
    titles = titles or {}
    models = {recipe.title: result.scores} | dict(references)
    scores = [
        score
        for score in SCORES
        if any(getattr(one, score.field) is not None for one in models.values())
    ]
    readings = [
        reading_of(file_label(name, titles.get(name, "")), data.readings[field])
        for field in data.readings
        if (name := getattr(recipe.data, field))
    ]
    libraries = ((library, _version(library)) for library in LIBRARIES)
    options_used = {
        option: with_title(value, titles)
        for option, value in options(recipe).items()
        if value != NO_EFFECT
    }
    sizes = zip(("training strings", "validation strings", "test strings"), data.sizes, strict=True)
    # for an upload, the recipe only says how many strings there may be
    options_used |= {title: f"{size}" for title, size in sizes if title in options_used}
    figures = {name: _picture(figure) for name, figure in run_figures(result, data, hankel).items()}
    matrix = [figures.pop(name) for name in ("hankel", "singular-values") if name in figures]
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        title=recipe.title,
        data=data.title,
        version=__version__,
        split=split_sentence(recipe.data, data),
        readings=readings,
        warnings=diagnostics.warnings,
        notes=[sentence for sentence in result.notes if sentence not in diagnostics.warnings],
        references=list(references),
        scores=[
            (score, *_cells([result.scores], score), _cells(references.values(), score))
            for score in scores
        ],
        verdicts=verdicts(models, field=recipe.data.error_rate),
        strings=_strings(result.scores),
        better=BETTER,
        intervals=_intervals(result, data),
        covers=COVERS,
        soundness=list(_soundness(diagnostics, result.model.num_states, recipe.learning.rank)),
        has_radius=diagnostics.spectral_radius is not None,
        matrix=matrix,
        weights=figures.pop("weights"),
        size="" if hankel is None else _size(hankel),
        losses=list(figures.values()),
        stages=[as_sentence(log.summary) for log in result.report.logs],
        settings=options_used.items(),
        software=[("NL-WFA Lab", __version__), ("Python", platform.python_version()), *libraries],
        key=recipe.key(),
        seconds=" · ".join(f"{stage} {seconds:.2f} s" for stage, seconds in result.seconds.items()),
        link=link,
    )


def _picture(figure: RunFigure) -> tuple[str, str]:
    """Return a figure's title and its SVG in base64."""
    return figure.title, b64encode(figure.files(("svg",))["svg"]).decode()


def _size(hankel: HankelMatrix) -> str:
    return f"{hankel.num_prefixes:,} prefixes (rows) × {hankel.num_suffixes:,} suffixes (columns)"


def _strings(scores: Scores) -> str:
    """State which strings the scores are computed over, and how these are weighted."""
    has_truth = scores.true_log2_pauto is not None
    strings, weights = (
        ("test strings", "true probabilities")
        if has_truth
        else ("distinct test strings", "frequencies")
    )
    return (
        f"{scores.num_words:,} {strings}, weighted by their {weights}; "
        f"{scores.num_predictions:,} next-symbol predictions."
    )


def _soundness(diagnostics: Diagnostics, num_states: int, rank: int) -> Iterator[tuple[str, str]]:
    """Yield the title and the value of each diagnostic that is known for a model, after its number
    of states.
    """
    yield "states", f"{num_states}"
    for field, title in DIAGNOSTIC_TITLES.items():
        value = getattr(diagnostics, field)
        if value is not None:
            yield title, format_diagnostic(field, value, diagnostics.short_length, rank)


def _cells(models: Iterable[Scores], score: Score) -> list[str]:
    """Write a score of each model."""
    return [format_score(getattr(one, score.field), score.form) for one in models]


def _intervals(result: Result, data: Data) -> dict[str, str]:
    """Write the ends of the 95 % interval of each of the model's scores: field of `Scores` -> text,
    empty for a score without one.

    No interval is written if the model's scores were computed over test strings other than these,
    or over too few for an interval.
    """
    known = {
        field: interval
        for field, interval in intervals(string_scores(result.model, data.test)).items()
        if interval.is_known
    }
    if not known:
        return {}
    return {
        score.field: interval_text(known[score.field], score.form) if score.field in known else ""
        for score in SCORES
    }


def _version(library: str) -> str:
    """Return the version of an installed library without importing it, because importing torch
    would take seconds.
    """
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
