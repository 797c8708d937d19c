"""Challenges: languages and functions to build an automaton for, and the check of an attempt.

A file begins with a heading between two lines of `---` that has a title. Each challenge begins with
a `## ` line, its title. Below it come the lines `name:` (its name in links) and `symbols:`, a blank
line and the text, then lines `hint:`, and a solution: an automaton between ``` lines, as
`draft.read_draft` reads it, and the text that explains it. Nothing in a file is executed.
docs/tasks.md explains all of this to teachers.

An attempt is right if it computes the same function as the solution, whatever its states are
(`models.algebra.equivalent`). Otherwise the shortest string whose weight differs is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import FormatError, RecipeError, plural
from ...models.algebra import counterexample, minimise
from ...models.wfa import WFA
from ...strings.words import Alphabet
from ..answers import Verdict
from ..markdown import Section, read_folder, read_heading, read_parts, required_values
from .draft import Draft, read_draft
from .facts import all_words, longest_within, written

FENCE = "```"
FILE = "a file of automata to build"
MOST_COMPARED = 40  # strings that partial credit counts
NEARLY = 0.01  # relative error of a weight that was rounded


@dataclass(frozen=True)
class Challenge:
    """A function to build an automaton for."""

    name: str  # name, title, topic: its name in links, its title, and the title of its file
    title: str
    topic: str
    symbols: tuple[str, ...]
    text: str  # Markdown
    hints: tuple[str, ...]  # Markdown, shown one after the other
    solution: Draft
    explanation: str  # Markdown: why the solution is one

    @property
    def alphabet(self) -> Alphabet:
        return Alphabet.of(self.symbols)

    @property
    def automaton(self) -> WFA:
        """Return the automaton of the solution, over the challenge's symbols."""
        return _over(self.solution, self.alphabet)

    def check(self, draft: Draft) -> Verdict:
        """Check an attempt. Rows with a mistake are left out, as in the drawing.

        Raises RecipeError if the attempt has no state, or reads symbols that the challenge does not
        have.
        """
        wfa = _over(draft, self.alphabet)
        target = self.automaton
        smallest = minimise(target).num_states
        word = counterexample(wfa, target)
        if word is None:
            spare = wfa.num_states - smallest
            more = f" It has {plural(spare, 'state')} more than the smallest one." if spare else ""
            return Verdict(
                1, f"Right: your automaton gives every string the weight that it should.{more}"
            )
        longest = longest_within(len(self.alphabet), MOST_COMPARED, 8)
        words = all_words(len(self.alphabet), longest)
        mine, theirs = (one.weights(words) for one in (wfa, target))
        right = np.isclose(mine, theirs, rtol=1e-9, atol=1e-12)
        weight = wfa(word)
        wanted = target(word)
        sentences = [
            f"Right for {int(right.sum())} of the {plural(len(words), 'string')} of up to "
            f"{plural(longest, 'symbol')}.",
            f"The shortest string whose weight differs is {self.alphabet.decode(word)}: yours "
            f"gives {written(weight)}, but it should "
            f"be {written(wanted)}.",
        ]
        if wanted and abs(weight - wanted) <= NEARLY * abs(wanted):
            sentences.append(
                "That is nearly right: write fractions such as 1/3 instead of rounded decimals."
            )
        if wfa.num_states < smallest:
            sentences.append(
                f"No automaton with {plural(wfa.num_states, 'state')} computes this "
                f"function; it needs {smallest}."
            )
        sentences += [
            f"A row was left out because of a mistake: {sentence}."
            for sentence in draft.mistakes[:1]
        ]
        # Half of the credit at most for strings that are right anyway, as most weights of 0 are.
        return Verdict(0.5 * float(right.mean()), " ".join(sentences))


def _over(draft: Draft, alphabet: Alphabet) -> WFA:
    """Make a draft's automaton over an alphabet.

    Raises RecipeError if one of its arrows reads another symbol.
    """
    wfa = Draft(draft.states, draft.arrows, (*draft.symbols, *alphabet.symbols)).automaton
    assert wfa.alphabet is not None
    read = {
        symbol for symbol, A in zip(wfa.alphabet.symbols, wfa.transitions, strict=True) if A.any()
    }
    surplus = sorted(read - set(alphabet.symbols))
    if surplus:
        raise RecipeError(
            f"the strings of this task are over {', '.join(alphabet.symbols)}; an arrow "
            f"reads {surplus[0]}"
        )
    order = [wfa.alphabet.symbols.index(symbol) for symbol in alphabet.symbols]
    return WFA(wfa.initial, wfa.transitions[order], wfa.termination, alphabet)


def read_challenges(folder: Path, errors: list[str] | None = None) -> dict[str, Challenge]:
    """Read all challenges of a folder: name -> challenge, in the order of the files.

    `errors`: if a list is given, a file with an error is left out, and its error message is
    appended to the list.

    Raises RecipeError if a file has an error, or two challenges have the same name, unless there is
    such a list; the message names the file and the line.
    """
    return read_folder(folder, lambda _, text: _read_file(text), errors)


def _read_file(text: str) -> list[tuple[str, Challenge, int]]:
    heading = read_heading(text, FILE)
    topic = required_values(heading, ("title",))["title"]
    parts = read_parts(text, heading, FILE, "task")
    challenges = [_challenge(part, topic) for part in parts]
    return [
        (challenge.name, challenge, part.first)
        for challenge, part in zip(challenges, parts, strict=True)
    ]


def _challenge(part: Section, topic: str) -> Challenge:
    lines = part.lines
    first = part.first
    values = required_values(part.values, ("name", "symbols"))
    if not re.fullmatch("[a-z0-9-]+", values["name"]):
        raise FormatError(
            f"name: only lower-case letters, digits and hyphens; got {values['name']!r}", first + 1
        )
    fences = [index for index, line in enumerate(lines) if line.strip() == FENCE]
    if len(fences) != 2:
        raise FormatError(
            f"a task needs one solution, an automaton between two lines of {FENCE}", first
        )
    hints = [index for index, line in enumerate(lines[: fences[0]]) if line.startswith("hint:")]
    solution = read_draft("\n".join(lines[fences[0] + 1 : fences[1]]), first + fences[0] + 1)
    challenge = Challenge(
        name=values["name"],
        title=part.title,
        topic=topic,
        symbols=tuple(values["symbols"].split()),
        text="\n".join(lines[part.body.first - first : min([*hints, fences[0]])]).strip(),
        hints=tuple(lines[index].removeprefix("hint:").strip() for index in hints),
        solution=solution,
        explanation="\n".join(lines[fences[1] + 1 :]).strip(),
    )
    try:
        challenge.automaton  # noqa: B018  # tries it
    except RecipeError as error:
        raise FormatError(str(error), first + fences[0]) from None
    if not challenge.text or not challenge.hints or not challenge.explanation:
        raise FormatError(
            "a task needs text, a line that begins with hint: and, below its solution, the reason",
            first,
        )
    return challenge
