"""Merge states with `learning.merging`, and keep each choice for the Build page.

The prefix tree of a sample is an automaton that repeats the sample. From its root on, each further
node is compared with the existing states: it is merged into the most similar one, or becomes a
state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from ...display.graph import inks, quoted
from ...display.palette import GREY, MARK
from ...display.string_labels import word_labels
from ...learning.merging import Choice, PDFATraining, fit_pdfa, merging_choices
from ...metrics.tables import Numbers, Table
from ...models.wfa import WFA
from ...rounding import format_significant
from ...strings.sample import Sample
from ...strings.words import Alphabet, Words

MOST_CHOICES = 60


@dataclass(frozen=True, eq=False)
class Stages:
    """All choices in a run of state merging, and its result.

    Attributes
    ----------
    alphabet : Alphabet
    choices : tuple of Choice
        The first MOST_CHOICES.
    model : WFA
        The automaton at the end.
    """

    alphabet: Alphabet
    choices: tuple[Choice, ...]
    model: WFA

    def states(self, number: int) -> list[str]:
        """List the labels of the states before a choice: the first strings that lead there."""
        return word_labels(Words.of(self.choices[number].states), self.alphabet)

    def candidate(self, number: int) -> str:
        """Return the label of the candidate of a choice."""
        choice = self.choices[number]
        word = (*choice.states[choice.origin], choice.symbol)
        return word_labels(Words.of([word]), self.alphabet)[0]

    def table(self, number: int) -> Table:
        """Make a table of the states that the candidate may be merged into: "state", "gain" in
        nats, and "the candidate is" what was chosen.
        """
        choice = self.choices[number]
        chosen = [""] * len(choice.states)
        if choice.into is not None:
            chosen[choice.into] = "merged into it"
        return {
            "state": self.states(number),
            "gain": Numbers.written(choice.gains.tolist(), format_significant),
            "the candidate is": chosen,
        }

    def sentence(self, number: int, write: Callable[[str], str] = str) -> str:
        """Describe what was chosen, with strings as `write` writes them."""
        choice = self.choices[number]
        candidate = write(self.candidate(number))
        if choice.into is None:
            like = "λ" if len(choice.states) == 1 else "any state"
            return f"{candidate} does not continue like {like}: it becomes a state."
        into = write(self.states(number)[choice.into])
        if choice.gains[choice.into] >= 0:
            return f"{candidate} continues like {into}: it is merged into that state."
        return f"{candidate} is too rare to become a state: it is merged into {into}, the nearest."

    def dot(self, number: int, dark: bool = False) -> str:
        """Write the automaton before a choice for Graphviz: states, and candidates with a dashed
        line, the one of this choice in colour. The label of an arrow has the number of strings that
        take it.
        """
        choice = self.choices[number]
        ink, paper, accent = inks(dark)
        font = f'fontname="monospace", fontsize=12, fontcolor="{ink}"'
        lines = [
            "digraph merging {",
            '  rankdir=LR; nodesep=0.25; ranksep=0.5; bgcolor="transparent";',
            f'  node [shape=circle, margin=0.03, style=filled, fillcolor="{paper}", '
            f'color="{accent}", penwidth=2, {font}];',
            f'  edge [color="{GREY}", {font}];',
        ]
        lines += [
            f'  s{state} [label="{quoted(label)}"];'
            for state, label in enumerate(self.states(number))
        ]
        symbols = self.alphabet.symbols
        for place, (source, symbol, target, count) in enumerate(choice.arrows):
            label = f'label="{quoted(symbols[symbol])} {count:,.0f}"'
            if target >= 0:
                lines.append(f"  s{source} -> s{target} [{label}];")
                continue
            is_this = (source, symbol) == (choice.origin, choice.symbol)
            colour = MARK if is_this else GREY
            word = word_labels(Words.of([(*choice.states[source], symbol)]), self.alphabet)[0]
            lines += [
                f'  c{place} [label="{quoted(word)}", style="filled,dashed", color="{colour}"];',
                f'  s{source} -> c{place} [{label}, style=dashed, color="{colour}"];',
            ]
        return "\n".join([*lines, "}", ""])


def merging_stages(train: Sample, max_states: int) -> Stages:
    """Merge the states of the prefix tree of a sample.

    Parameters and errors are those of `learning.merging.fit_pdfa`.
    """
    training = PDFATraining()
    choices = tuple(islice(merging_choices(train, max_states, training), MOST_CHOICES))
    return Stages(train.alphabet, choices, fit_pdfa(train, max_states, training))
