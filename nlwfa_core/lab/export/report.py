"""Write a run as one self-contained HTML file: no script, no font, no network. Everything that a user wrote is escaped."""

from __future__ import annotations

import platform
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from importlib.metadata import PackageNotFoundError, version

from ...experiment.data import Data
from ...experiment.results import Result
from ...files import __version__, file_label
from ...hankel.matrix import HankelMatrix
from ...learning.progress import UNFINISHED
from ...learning.spectral import linear_loss
from ...metrics.diagnostics import DIAGNOSTIC_TITLES, Diagnostics, format_diagnostic
from ...metrics.intervals import string_scores
from ...metrics.scores import SCORES, Scores
from ...metrics.tables import format_score
from ...sources.recognition import reading_of
from ..options import NO_EFFECT, options, with_title
from ..pairs import COVERS, interval_text, run_intervals
from ..strings import split_sentence
from ..svg import heat_map_png, loss_svgs, singular_values_svg
from ..tables import BETTER, as_sentence, verdicts

LIBRARIES = ("numpy", "scipy", "torch")
RADIUS_NOTE = "The weights of all strings have a finite sum, the total mass, if the spectral radius of ΣA is below 1."
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ font: 16px/1.55 system-ui, sans-serif; color: #1b2430; background: #fff }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem }}
h1 {{ line-height: 1.2; margin-bottom: .3rem }} h2 {{ margin-top: 2.4rem; border-bottom: 1px solid #d5dbe2; padding-bottom: .2rem }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }} .wide {{ overflow-x: auto }}
th, td {{ padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #e6eaef }}
td.n, th.n {{ text-align: right; white-space: nowrap }}
code {{ overflow-wrap: anywhere; background: #f4f6f8; padding: .1rem .25rem }}
svg, img {{ max-width: 100%; height: auto }} img {{ image-rendering: pixelated; border: 1px solid #d5dbe2 }}
.warn {{ background: #fff6e0; border-left: 4px solid #e69f00; padding: .4rem .8rem; margin: .5rem 0 }}
.note {{ background: #f4f6f8; border-left: 4px solid #0072b2; padding: .4rem .8rem; margin: .5rem 0 }}
.wide table {{ font-size: .88rem }} .wide th {{ white-space: nowrap }}
.muted, figcaption {{ color: #56616f; font-size: .9rem }} figure {{ margin: 1rem 0 }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


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
    name = result.recipe.title
    diagnostics = result.diagnostics
    settings = {option: with_title(value, titles or {}) for option, value in options(result.recipe).items() if value != NO_EFFECT}
    uploads = [
        reading_of(file_label(name, (titles or {}).get(name, "")), data.readings[field])
        for field in data.readings
        if (name := getattr(result.recipe.data, field))
    ]
    sections = [
        f"<h1>{escape(name)}</h1>\n<p>{escape(data.title)}. A run of NL-WFA Lab {escape(__version__)}.</p>",
        f"<p>{escape(split_sentence(result.recipe.data, data))}</p>",
        *(f'<p class="muted">{escape(reading)}</p>' for reading in uploads),
        *(f'<p class="warn">{escape(sentence)}</p>' for sentence in diagnostics.warnings),
        *(f'<p class="note">{escape(sentence)}</p>' for sentence in result.notes if sentence not in diagnostics.warnings),
        "<h2>Scores on the test strings</h2>",
        _scores({name: result.scores} | dict(references)),
        *_intervals(result, data),
        "<h2>Is the model sound?</h2>",
        _rows(_soundness(diagnostics, result.model.num_states, result.recipe.learning.rank)),
        *([f'<p class="muted">{RADIUS_NOTE}</p>'] if diagnostics.spectral_radius is not None else []),
        *_pictures(result, hankel),
        "<h2>Recipe</h2>",
        _rows(settings.items()),
        "<h2>Software and run</h2>",
        _rows([("NL-WFA Lab", __version__), ("Python", platform.python_version()), *((lib, _version(lib)) for lib in LIBRARIES)]),
        f'<p class="muted">Recipe <code>{escape(result.recipe.key())}</code>. '
        + " · ".join(f"{escape(stage)} {seconds:.2f} s" for stage, seconds in result.seconds.items())
        + "</p>",
    ]
    if link:
        sections.append(f"<p>To open the lab with this recipe: <code>{escape(link)}</code></p>")
    return PAGE.format(title=escape(f"{name} – NL-WFA Lab"), body="\n".join(sections))


def _soundness(diagnostics: Diagnostics, num_states: int, rank: int) -> Iterator[tuple[str, str]]:
    """Yield the title and the value of each diagnostic that is known for a model, after its number of states."""
    yield "states", f"{num_states}"
    for field, title in DIAGNOSTIC_TITLES.items():
        if (value := getattr(diagnostics, field)) is not None:
            yield title, format_diagnostic(field, value, diagnostics.short_length, rank)


def _pictures(result: Result, hankel: HankelMatrix | None) -> list[str]:
    parts = []
    if hankel is not None:
        source = b64encode(heat_map_png(hankel.block)).decode()
        size = f"{hankel.num_prefixes:,} prefixes (rows) × {hankel.num_suffixes:,} suffixes (columns)"
        parts += [
            "<h2>Hankel matrix</h2>",
            f'<figure><img src="data:image/png;base64,{source}" alt="Heat map of the Hankel matrix">'
            f"<figcaption>H_λ, {size}. Dark is large (on a logarithmic scale), white is 0, red is negative.</figcaption></figure>",
            f"<figure>{singular_values_svg(hankel, result.recipe.learning.rank)}</figure>",
        ]
    linear = linear_loss(hankel, result.recipe.learning.rank) if hankel is not None and result.report.logs else None
    losses = loss_svgs(result.report, linear)
    if losses:
        parts += ["<h2>Learning</h2>", *(f"<figure>{drawing}</figure>" for drawing in losses.values())]
    for log in result.report.logs:
        kind = "warn" if log.state == UNFINISHED else "muted"
        parts.append(f'<p class="{kind}">{escape(as_sentence(log.summary))}</p>')
    return parts


def _scores(rows: Mapping[str, Scores]) -> str:
    """Make a table with a row for each model and a column for each score that one of them has, followed by the scores' meanings."""
    columns = [score for score in SCORES if any(getattr(scores, score.field) is not None for scores in rows.values())]
    lines = [
        [escape(name), *(format_score(getattr(scores, score.field), score.form) for score in columns)]
        for name, scores in rows.items()
    ]
    head = "".join(f'<th class="n">{escape(score.short_title)}</th>' for score in columns)
    body = "".join(f"<tr><th>{name}</th>{''.join(f'<td class=n>{cell}</td>' for cell in cells)}</tr>\n" for name, *cells in lines)
    first = next(iter(rows.values()))
    strings, weights = (
        ("test strings", "true probabilities") if first.true_log2_pauto is not None else ("distinct test strings", "frequencies")
    )
    return (
        f'<div class="wide"><table><thead><tr><th>model</th>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'
        + "".join(f"<p><strong>{escape(sentence)}</strong></p>" for sentence in verdicts(rows))
        + f'<p class="muted">{first.num_words:,} {strings}, weighted by their {weights}; {first.num_predictions:,} next-symbol '
        f"predictions. {BETTER}. No output is floored.</p>\n" + _rows((score.short_title, score.meaning) for score in columns)
    )


def _intervals(result: Result, data: Data) -> list[str]:
    """List the model's scores with their 95 % intervals; empty if its scores were computed over other test strings than these."""
    known = run_intervals(result.scores, string_scores(result.model, data.test))
    if not known:
        return []
    rows = [
        (
            score.short_title,
            f"{format_score(known[score.field].estimate, score.form)} ({interval_text(known[score.field], score.form)})",
        )
        for score in SCORES
        if score.field in known
    ]
    return [f"<h3>{escape(result.recipe.title)}: 95 % intervals</h3>", _rows(rows), f'<p class="muted">{escape(COVERS)}</p>']


def _rows(pairs: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>\n" for name, value in pairs)
    return f"<table><tbody>\n{rows}</tbody></table>"


def _version(library: str) -> str:
    """Return the version of an installed library without importing it, because importing torch would take seconds."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
