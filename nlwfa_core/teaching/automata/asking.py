"""Learn an automaton by asking questions with `learning.functions.queries`, and keep each stage for
the Build page.

Each counterexample adds a row and a column to a block of the Hankel matrix, and a state to the
hypothesis. This is Angluin's observation table (1987), with weights in place of yes and no: its
upper rows are the states, and its lower ones, a symbol longer, show where the arrows go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...display.string_labels import word_labels
from ...errors import plural
from ...learning.functions.queries import LearnedByQueries, exact_oracle, learn_by_queries
from ...metrics.tables import Numbers, Table
from ...models.wfa import WFA
from ...rounding import format_apart, format_significant
from ...strings.words import Word, Words

STATE = "a state"
LONGER = "a symbol longer"


@dataclass(frozen=True, eq=False)
class Stage:
    """The learner after some counterexamples.

    Attributes
    ----------
    hypothesis : WFA
        It has one state for each counterexample so far.
    prefixes, suffixes : tuple of Word
        The rows that are states, and the columns, in the order in which they were added.
    counterexample : Word or None
        The shortest string to which the hypothesis gives a different weight; None if there is none.
    """

    hypothesis: WFA
    prefixes: tuple[Word, ...]
    suffixes: tuple[Word, ...]
    counterexample: Word | None


@dataclass(frozen=True, eq=False)
class Asked:
    """All stages of learning an automaton, beginning with the hypothesis without states.

    Attributes
    ----------
    target : WFA
    stages : tuple of Stage
        The last one has no counterexample, unless rounding hides the remaining differences.
    num_questions : int
        The number of strings for which the learner asked.
    """

    target: WFA
    stages: tuple[Stage, ...]
    num_questions: int

    def table(self, number: int) -> Table:
        """Make the table of a stage: the block of the Hankel matrix that the learner knows. Columns
        are "prefix"; "is", whether its row is a state; and one for each suffix.
        """
        stage = self.stages[number]
        rows = [*stage.prefixes, *_longer(stage.prefixes, self.target.num_symbols)]
        alphabet = self.target.alphabet
        assert alphabet is not None
        labels = word_labels(Words.of(rows), alphabet)
        kinds = [STATE] * len(stage.prefixes) + [LONGER] * (len(rows) - len(stage.prefixes))
        columns: Table = {"prefix": labels, "is": kinds}
        for suffix, label in zip(
            stage.suffixes, word_labels(Words.of(stage.suffixes), alphabet), strict=True
        ):
            values = self.target.weights(Words.of([(*row, *suffix) for row in rows]))
            columns[f"· {label}"] = Numbers.written(values.tolist(), format_significant)
        return columns

    def answer(self, number: int, write: Callable[[str], str] = str) -> str:
        """Describe what the teacher answers to "is this it?" in a stage, with strings as `write`
        writes them.
        """
        stage = self.stages[number]
        if stage.counterexample is None:
            asked = plural(self.num_questions, "string")
            return (
                f"Yes, on every string. The learner asked for the weights of {asked}, and needed "
                f"{plural(len(stage.prefixes), 'counterexample')}."
            )
        word = Words.of([stage.counterexample])
        values = [float(wfa.weights(word)[0]) for wfa in (stage.hypothesis, self.target)]
        alphabet = self.target.alphabet
        assert alphabet is not None
        said, true = format_apart(values[0], values[1])
        return f"No: {write(word_labels(word, alphabet)[0])} has weight {true}, not {said}."

    def step(self, number: int, write: Callable[[str], str] = str) -> str:
        """Describe what the counterexample before a stage has added; "" for the first."""
        if number == 0:
            return ""
        stage = self.stages[number]
        alphabet = self.target.alphabet
        assert alphabet is not None
        row, column = (
            write(word_labels(Words.of([words[-1]]), alphabet)[0])
            for words in (stage.prefixes, stage.suffixes)
        )
        return (
            f"Row {row}, column {column} was wrong in the previous hypothesis: the row is now a "
            f"state, and the block has rank {number}."
        )


def learned_by_asking(target: WFA, max_states: int) -> Asked:
    """Learn an automaton from its own answers to the learner's questions.

    Parameters
    ----------
    target : WFA
        With an alphabet.
    max_states : int
        With this many states, learning ends even if there is another counterexample.
    """
    learned = _asked(target, max_states)
    return Asked(target, tuple(_stages(target, learned)), learned.num_queries)


def _asked(target: WFA, max_states: int) -> LearnedByQueries:
    assert target.alphabet is not None
    return learn_by_queries(target.weights, target.alphabet, exact_oracle(target), max_states)


def _stages(target: WFA, learned: LearnedByQueries) -> Iterator[Stage]:
    words = tuple(learned.prefixes), tuple(learned.suffixes)
    shape = (target.num_symbols, 0, 0)
    nothing = WFA(np.zeros(0), np.zeros(shape), np.zeros(0), target.alphabet)
    for number in range(len(words[0]) + 1):
        hypothesis = _asked(target, number).model if number else nothing
        wrong = learned.counterexamples[number : number + 1]
        yield Stage(hypothesis, words[0][:number], words[1][:number], wrong[0] if wrong else None)


def _longer(prefixes: tuple[Word, ...], num_symbols: int) -> list[Word]:
    """List the words that are a symbol longer, without those that are there already."""
    longer = [(*word, symbol) for word in prefixes for symbol in range(num_symbols)]
    return [word for word in dict.fromkeys(longer) if word not in prefixes]
