"""Write the page of all options, `docs/options.md`, from what the records declare:
`python -m nlwfa_core.experiment.option_page`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..errors import alternatives
from ..files import LAB_FOLDER
from ..hankel.recipe import HankelRecipe
from ..learning.learners import LEARNERS, VALUE_LEARNERS
from ..learning.shared_options import LearnerOptions
from ..records import Option, options_of
from .recipe import DataRecipe

PAGE = LAB_FOLDER / "docs" / "options.md"
ABOUT = """\
# Options

This page lists all options of recipes and commands. On the command line, `epochs_refinement` is `--epochs-refinement`. An option exists only under
the condition in the last column; setting it elsewhere is refused. (`python -m nlwfa_core.experiment.option_page` writes this page.)
"""  # noqa: E501


def option_page() -> str:
    """Write the page as Markdown."""
    parts = [ABOUT, "## Strings: `DataRecipe`\n", table(options_of(DataRecipe).values())]
    parts += ["## Matrix: `HankelRecipe`\n", table(options_of(HankelRecipe).values())]
    parts += ['## Learning: `options("both.non", rank=5)`\n', _tables(LEARNERS)]
    parts += ["## Functions learned from values: `fit_values`\n", _tables(VALUE_LEARNERS)]
    return "\n".join(parts)


def _tables(learners: Mapping[str, type[LearnerOptions]]) -> str:
    """Write a table for each set of learners that have the same options."""
    by_table: dict[str, list[str]] = {}
    for name, kind in learners.items():
        fields = [entry for entry in options_of(kind).values() if kind.could_have(entry.name)]
        rows = table((entry for entry in fields if entry.name != "learner"), kind)
        by_table.setdefault(rows, []).append(name)
    return "\n".join(f"### {', '.join(names)}\n\n{rows}" for rows, names in by_table.items())


def table(entries: Iterable[Option], kind: type[LearnerOptions] | None = None) -> str:
    """Write options as a table: name, help, range with default, and condition."""
    lines = ["| option | | | exists with |", "|---|---|---|---|"]
    for entry in entries:
        needs = "; ".join(filter(None, (_condition(each, kind) for each in entry.when)))
        text = entry.help
        if any(choice not in text for choice in entry.choices):
            text = f"{text.rstrip('.')}: {', '.join(entry.choices)}."
        bounds = entry.range.replace("<", "\\<")  # no tag of HTML
        lines.append(f"| `{entry.name}` | {text} | {bounds} | {needs} |")
    return "\n".join(lines) + "\n"


def _condition(condition: Mapping[str, Iterable[object]], kind: type[LearnerOptions] | None) -> str:
    """Write a condition on other fields; empty if the learner meets it anyway."""
    if kind is not None and any(
        other not in kind.model_fields and getattr(kind, other) in list(values)
        for other, values in condition.items()
    ):
        return ""
    return ", or ".join(
        f"`{other}` {alternatives([str(value) or 'empty' for value in values])}"
        for other, values in condition.items()
        if kind is None or other in kind.model_fields
    )


if __name__ == "__main__":
    PAGE.write_text(option_page(), encoding="utf-8")
