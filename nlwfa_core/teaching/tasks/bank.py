"""Read kinds of tasks from Markdown files (the bank), and make the task of a kind with the numbers
of a seed.

A file begins with a heading between two lines of `---` that has a title. Each kind begins with a
`## ` line, its title. Below it come the lines `name:` (its name in links) and `generator:`, a blank
line, the text, and a question with a key (see `questions`). A placeholder `{{value}}` is replaced
by the text of the generator's value of that name. Nothing in a file is executed. docs/tasks.md
explains all of this to teachers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

from ...errors import FormatError, RecipeError, check_at_least, check_one_of, did_you_mean
from ..answers import ChoiceKey
from ..markdown import Section, read_folder, read_heading, read_parts, required_values
from ..questions import Question, read_question
from . import (
    automaton_tasks,
    language_tasks,
    network_tasks,
    probability_tasks,
    sample_tasks,
    score_tasks,
)

Generator = Callable[[Random], dict[str, str]]


def fixed(rng: Random) -> dict[str, str]:
    """Return no values, for a question without numbers of its own."""
    return {}


GENERATORS: dict[str, Generator] = {
    generator.__name__: generator
    for generator in (
        sample_tasks.sample,
        sample_tasks.sample_block,
        sample_tasks.sample_cells,
        sample_tasks.sample_order,
        sample_tasks.sample_prefixes,
        sample_tasks.closure,
        sample_tasks.bigram,
        automaton_tasks.automaton,
        automaton_tasks.counter,
        automaton_tasks.product,
        automaton_tasks.scaled,
        automaton_tasks.combined,
        automaton_tasks.squared_state,
        probability_tasks.one_state,
        probability_tasks.triangular,
        probability_tasks.hmm,
        language_tasks.language,
        language_tasks.same_state,
        language_tasks.brackets,
        language_tasks.depth_blocks,
        language_tasks.matrix_rank,
        language_tasks.proportional_rows,
        language_tasks.singular_gap,
        language_tasks.truncation,
        language_tasks.rank_one,
        language_tasks.one_state_blocks,
        language_tasks.two_state_blocks,
        score_tasks.wer,
        score_tasks.bits,
        score_tasks.distributions,
        score_tasks.impossible,
        score_tasks.negative,
        score_tasks.fair_difference,
        score_tasks.drawn,
        network_tasks.linear_encoder,
        network_tasks.tanh_unit,
        network_tasks.tanh_network,
        network_tasks.num_weights,
        network_tasks.root,
        network_tasks.gradient,
        fixed,
    )
}
HEADING = ("title",)
KIND = ("name", "generator")
PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Task:
    """A task with its numbers."""

    kind: Kind
    seed: int
    text: str  # Markdown
    question: Question  # with a key


@dataclass(frozen=True)
class Kind:
    """A kind of task."""

    name: str  # name, title, topic: its name in links, its title, and the title of its file
    title: str
    topic: str
    generator: str  # a key of `GENERATORS`
    text: str  # Markdown with placeholders
    question: tuple[str, ...]  # the lines of its question, with placeholders
    line: int  # the line of the file at which the question begins

    def values(self, seed: int) -> dict[str, str]:
        """Generate the values of a seed. Raises RecipeError if the seed is negative."""
        check_at_least("seed", seed, 0)
        return GENERATORS[self.generator](Random(f"{self.generator} {seed}"))

    def task(self, seed: int) -> Task:
        """Make the task with a seed's numbers.

        Raises RecipeError if the seed is negative or a placeholder has no value.
        """
        put = partial(PLACEHOLDER.sub, partial(_value, self.values(seed)))
        question = read_question([put(line) for line in self.question], self.line)
        if isinstance(question.key, ChoiceKey):
            question = replace(question, key=question.key.shuffled(seed))
        return Task(self, seed, put(self.text), question)


def read_bank(folder: Path, errors: list[str] | None = None) -> dict[str, Kind]:
    """Read all kinds of a folder: name -> kind, in the order of the files.

    `errors`: if a list is given, a file with an error is left out, and its error message is
    appended to the list.

    Raises RecipeError if a file has an error, or two kinds have the same name, unless there is such
    a list; the message names the file and the line.
    """
    return read_folder(
        folder,
        lambda _, text: [(kind.name, kind, kind.line) for kind in read_kinds(text)[1]],
        errors,
    )


def read_kinds(text: str, heading: tuple[str, ...] = HEADING) -> tuple[dict[str, str], list[Kind]]:
    """Read the heading and the kinds of a file, and try each with one seed.

    `heading`: the names of the lines in the heading, `title` among them.

    Raises FormatError with the number of the line that has the error.
    """
    section = read_heading(text, "a file of tasks")
    values = required_values(section, heading)
    return values, [
        _kind(part, values["title"])
        for part in read_parts(text, section, "a file of tasks", "kind")
    ]


def scheduled_task(bank: dict[str, Kind], names: Sequence[str], number: int) -> Task:
    """Make task `number` of a practice with some kinds: in each round, every kind occurs once, in
    an order of the round's own.

    `names`: kinds of the bank; all of them if empty. `number`: at least 1. It is also the task's
    seed.

    Raises RecipeError if a name is not in the bank, or the number below 1.
    """
    check_at_least("number", number, 1)
    for name in names:
        check_one_of("kind of task", name, bank)
    kinds = sorted(set(names)) or list(bank)
    practice_round, place = divmod(number - 1, len(kinds))
    Random(f"round {practice_round}").shuffle(kinds)
    return bank[kinds[place]].task(number)


def _kind(part: Section, topic: str) -> Kind:
    first = part.first
    body = part.body.lines
    values = required_values(part.values, KIND)
    if not re.fullmatch("[a-z0-9-]+", values["name"]):
        raise FormatError(
            f"name: only lower-case letters, digits and hyphens; got {values['name']!r}", first
        )
    if values["generator"] not in GENERATORS:
        near = did_you_mean(values["generator"], GENERATORS)
        raise FormatError(f"there is no generator {values['generator']!r}{near}", first)
    questions = [index for index, line in enumerate(body) if line.startswith("? ")]
    if len(questions) != 1:
        raise FormatError(
            f"a kind of task must have exactly one question; got {len(questions)}", first
        )
    question = tuple(body[questions[0] :])
    text = "\n".join(body[: questions[0]]).strip()
    kind = Kind(
        values["name"],
        part.title,
        topic,
        values["generator"],
        text,
        question,
        part.body.first + questions[0],
    )
    try:
        if kind.task(0).question.key is None:
            raise FormatError("a task's question needs a key, such as 'answer: 3'", kind.line)
    except FormatError:
        raise
    except RecipeError as error:
        raise FormatError(str(error), first) from None
    return kind


def _value(values: dict[str, str], match: re.Match[str]) -> str:
    if match[1] not in values:
        raise RecipeError(
            f"the generator has no value {match[1]!r}{did_you_mean(match[1], values)}"
        )
    return values[match[1]]
