"""Read lessons from Markdown files. Each step of a lesson opens a page of the lab and may set
controls of the sidebar.

A file begins with a heading between two lines of `---`: title, minutes and summary; optionally
`recipe`, the fields from which the lesson starts, and `strings`, strings of its own. Each step
begins with a `## ` line. Below it come lines `name: value` (page, show, `recipe: fields`, `do:
label | fields`, models, look, hide: see `Step`), a blank line, the text, and optionally a question
with its answer (see `questions`). The text is Markdown and is not escaped: it must come from the
lab's authors, never from its users. docs/lessons.md explains all of this to teachers. Links to a
lesson are made in `pages.shared.share_link`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..display.explore import PARTS, VIEW
from ..errors import FormatError, RecipeError, did_you_mean
from ..experiment.presets import PRESETS
from ..experiment.recipe import FIELDS, Recipe, with_fields
from .markdown import Section, named_values, read_folder, read_heading, read_parts
from .questions import Question, read_question

START = PRESETS["first-steps"][1]
PART = "explore."  # how parts of Explore's picture are named
NO_CONTROLS = "none"  # what a step shows that needs no control of the sidebar
HEADING = ("title", "minutes", "summary", "recipe", "strings")
STEP = ("page", "show", "recipe", "do", "models", "look", "hide")
REPEATABLE = ("do", "models")
MISPLACED = re.compile(rf"({'|'.join(STEP)}):")
# The pages on which a step may take place: all that every visitor sees, but the class's.
PAGES = (
    "explore",
    "learn",
    "build",
    "data",
    "hankel",
    "train",
    "states",
    "predict",
    "compare",
    "classify",
    "practice",
    "take_away",
)
# The keys of the elements that a step may look at or hide, as the pages draw them.
ELEMENTS = (
    *(f"{PART}{part}" for part in PARTS),
    "build.asking",
    "build.answer",
    "build.added",
    "build.merging",
    "build.chosen",
    "build.merges",
    "data.shares",
    "data.strings.table",
    "own_strings",
    "hankel.lens",
    "hankel.values",
    "hankel.same",
    "hankel.chosen",
    "hankel.as_table",
    "hankel.block",
    "hankel.singular_values",
    "hankel.panels",
    "train.verdict",
    "train.training",
    "train.results",
    "train.scores.table",
    "train.all.table",
    "states.walk",
    "states.walk_groups",
    "predict.string",
    "ranks",
    "compare.verdict",
    "compare.results",
    "compare.curves",
    "compare.winners.table",
)


@dataclass(frozen=True)
class Action:
    """Describes a button in a step of a lesson, which sets fields of the recipe."""

    label: str
    # the fields to set and their values, under a recipe's flat names
    fields: tuple[tuple[str, str], ...]
    # what it sets in the picture of Explore: name -> value, see `display.explore.VIEW`
    view: Mapping[str, str]
    # the whole recipe after the click; None if the fields are set in the recipe that the sidebar
    # holds
    recipe: Recipe | None

    def applied(self, recipe: Recipe, values: Mapping[str, Any] | None = None) -> Recipe:
        """Return the recipe after the click. Raises RecipeError if the fields do not fit it.

        `values`: those of fields that have no effect in `recipe`, and may have one after the click.
        """
        return self.recipe or with_fields(recipe, dict(self.fields), values)


@dataclass(frozen=True)
class Step:
    """Holds one step of a lesson."""

    title: str
    # the first one is opened, and buttons lead to the others
    pages: tuple[str, ...]
    text: str
    # the controls that the sidebar shows; if empty, all of them; NO_CONTROLS: none
    show: tuple[str, ...]
    actions: tuple[Action, ...]
    # recipes whose trained models are shipped with the lab, so nobody waits at this step
    models: tuple[Recipe, ...]
    # The recipe that the sidebar is set to when the step opens, because the text is about it: that
    # of the step's line `recipe`, otherwise of its first action, otherwise of the step before. None
    # in a lesson that starts from no recipe.
    recipe: Recipe | None
    # what is set in the picture of Explore, from the same line as the recipe
    view: Mapping[str, str]
    # the keys of the elements that the step is about, which are scrolled into view; empty if it is
    # about the top of the page. `explore.depth` is a part of Explore's picture: only the parts that
    # the step names are drawn.
    look: tuple[str, ...]
    # the keys of the elements that contain the answer, which are hidden until the question has been
    # answered
    hide: tuple[str, ...]
    question: Question | None


@dataclass(frozen=True)
class Lesson:
    """Holds a lesson with its steps."""

    # the file's name without its leading number and its ending; links to the lesson contain it
    name: str
    title: str
    minutes: int
    summary: str
    # the lesson's own strings, one per line, used like an upload; empty if it has none
    strings: bytes
    steps: tuple[Step, ...]

    @cached_property
    def emphasised(self) -> frozenset[str]:
        """The words that the steps' texts, questions and answers emphasise in Markdown, such as
        "KL" in "the column *KL*".
        """
        texts = [text for step in self.steps for text in (step.text, repr(step.question))]
        return frozenset(
            word
            for text in texts
            for word in re.findall(r"\*([^*\s](?:[^*]{0,18}[^*\s])?)\*", text)
        )


def read_lessons(folder: Path, errors: list[str] | None = None) -> dict[str, Lesson]:
    """Read all lessons of a folder: name -> lesson, in the order of the numbers with which the file
    names begin.

    Such a number only determines this order and is not part of the lesson's name. `errors`: if
    a list is given, a file with an error is left out, and its error message is appended to the
    list.

    Raises RecipeError if a file has an error, unless there is such a list; the message names the
    file and the line.
    """
    return read_folder(folder, lambda name, text: [(name, read_lesson(name, text), 1)], errors)


def read_lesson(name: str, text: str) -> Lesson:
    """Read a lesson from the text of its file.

    Raises FormatError if the text has an error; it contains the number of the line.
    """
    section = read_heading(text, "a lesson")
    lines: dict[str, int] = {}
    heading: dict[str, str] = {}
    for line, key, value in named_values(section, HEADING):
        lines[key], heading[key] = line, value
    missing = [key for key in HEADING[:3] if not heading.get(key)]
    if missing:
        raise FormatError(f"the heading has no {missing[0]}", lines.get(missing[0], 1))
    if not re.fullmatch("[0-9]{1,3}", heading["minutes"]):
        raise FormatError(
            f"minutes must be a whole number; got {heading['minutes']!r}", lines["minutes"]
        )
    strings = "".join(f"{string}\n" for string in heading.get("strings", "").split()).encode()
    base = None
    if "recipe" in heading or strings:
        line = lines.get("recipe", 1)
        base = _set(START, _fields(heading.get("recipe", ""), line), line)
    if base and strings:
        upload = {"source": "upload", "upload": hashlib.sha256(strings).hexdigest()}
        base = base.changed(data=base.data.changed(**upload, upload_test=upload["upload"]))
    steps: list[Step] = []
    for part in read_parts(text, section, "a lesson", "step"):
        steps.append(_step(part, base, steps[-1] if steps else None))
    return Lesson(
        name, heading["title"], int(heading["minutes"]), heading["summary"], strings, tuple(steps)
    )


def _step(part: Section, base: Recipe | None, before: Step | None) -> Step:
    """Read a step. `base`: the lesson's recipe, if it has one. `before`: the step before this one.

    Raises FormatError if one of its lines is not as docs/lessons.md describes it.
    """
    first = part.first
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    actions: list[Action] = []
    models: list[Recipe] = []
    recipe: Recipe | None = None
    view: Mapping[str, str] = {}
    for line, key, value in named_values(part.values, STEP, REPEATABLE):
        lines[key] = line
        if key == "do":
            label, _, fields = value.partition("|")
            action_view, changes = _split(_fields(fields, line), line)
            after = _set(base or START, changes, line)
            actions.append(
                Action(label.strip(), tuple(changes.items()), action_view, after if base else None)
            )
        elif key == "recipe":
            if base is None:
                raise FormatError(
                    "only a lesson whose heading has a recipe or strings can set one in a step",
                    line,
                )
            view, changes = _split(_fields(value, line), line)
            recipe = _set(base, changes, line)
        elif key == "models":
            models += list(_models(value, base or START, line))
        else:
            values[key] = value
    pages, show, look, hide = (
        tuple(values.get(name, "").replace(",", " ").split())
        for name in ("page", "show", "look", "hide")
    )
    if not pages:
        raise FormatError("a step needs a page", first)
    for name in pages:
        if name not in PAGES:
            raise FormatError(
                f"page must be one of {', '.join(PAGES)}; got {name!r}{did_you_mean(name, PAGES)}",
                lines["page"],
            )
    unknown = [name for name in show if name not in FIELDS and show != (NO_CONTROLS,)]
    if unknown:
        raise FormatError(
            f"show: {unknown[0]!r} is not a control{did_you_mean(unknown[0], FIELDS)}",
            lines["show"],
        )
    text, question = _text_and_question(part)
    if recipe is None:
        scene: Action | Step | None = actions[0] if actions else before
        recipe = scene.recipe if scene else base
        view = scene.view if scene else {}
    _check_elements("look", look, lines)
    _check_elements("hide", hide, lines)
    if hide and (question is None or question.key is None):
        raise FormatError(
            "hide: a step hides something only until its question is answered, and this step has "
            "no answer to enter",
            lines["hide"],
        )
    return Step(
        part.title,
        pages,
        text,
        show,
        tuple(actions),
        tuple(models),
        recipe,
        view,
        look,
        hide,
        question,
    )


def _check_elements(key: str, names: tuple[str, ...], lines: Mapping[str, int]) -> None:
    """Raise FormatError unless all names of a line `look` or `hide` are keys of elements."""
    for name in names:
        if name not in ELEMENTS:
            page = name.partition(".")[0]
            allowed = [entry for entry in ELEMENTS if entry.startswith(f"{page}.")] or ELEMENTS
            raise FormatError(
                f"{key} must be one of {', '.join(allowed)}; got {name!r}"
                f"{did_you_mean(name, ELEMENTS)}",
                lines[key],
            )


def _text_and_question(part: Section) -> tuple[str, Question | None]:
    """Divide what is below a step's values into its text and its question, if it has one."""
    body = part.body.lines
    for line, text in enumerate(body, part.body.first):
        if text.startswith("?") and not text.startswith("? "):
            raise FormatError(
                f"a question begins with a question mark and a space; got {text[:60]!r}", line
            )
    # a line for the head that stands in the text instead
    start = next((index for index, line in enumerate(body) if line.strip()), 0)
    if body and (name := MISPLACED.match(body[start])):
        raise FormatError(
            f"{name[0]} must be directly below the step's title, without a blank line before it",
            part.body.first + start,
        )
    questions = [index for index, line in enumerate(body) if line.startswith("? ")]
    if len(questions) > 1:
        raise FormatError("a step can ask only one question", part.body.first + questions[1])
    cut = questions[0] if questions else len(body)
    text = "\n".join(body[:cut]).strip()
    if not text:
        raise FormatError("a step needs text", part.first)
    return text, read_question(body[cut:], part.body.first + cut) if questions else None


def _fields(text: str, line: int) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split()]
    wrong = [pair for pair in pairs if not pair[1]]
    if wrong:
        raise FormatError(f"expected field=value; got {wrong[0][0]!r}", line)
    return {name: value for name, _, value in pairs}


def _split(fields: dict[str, str], line: int) -> tuple[dict[str, str], dict[str, str]]:
    """Split fields into what they set in the picture of Explore, and those of a recipe."""
    view = {name: value for name, value in fields.items() if name in VIEW}
    for name, value in view.items():
        if VIEW[name] and value not in VIEW[name]:
            raise FormatError(f"{name} must be one of {', '.join(VIEW[name])}; got {value!r}", line)
    return view, {name: value for name, value in fields.items() if name not in VIEW}


def _set(recipe: Recipe, fields: dict[str, str], line: int) -> Recipe:
    try:
        return with_fields(recipe, fields)
    except RecipeError as error:
        raise FormatError(str(error), line) from None


def _models(text: str, base: Recipe, line: int) -> Iterator[Recipe]:
    """Read models such as `SP@3 both.non@5 num_strings=200`: a recipe for each learner@rank, all
    with the fields name=value.
    """
    words = text.split()
    fields = _fields(" ".join(word for word in words if "=" in word), line)
    for word in words:
        if "=" not in word:
            learner, at, rank = word.partition("@")
            if not at:
                raise FormatError(f"expected learner@rank; got {word!r}", line)
            yield _set(base, fields | {"learner": learner, "rank": rank}, line)
