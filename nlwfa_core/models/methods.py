"""The methods of every model for use at a Python prompt: `model("a b")`, `model.next("a b")`,
`model.sample(100)`.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from ..errors import RecipeError, check_at_least, check_type, listed, plural
from ..strings.plain import WordLike, WordsLike, as_word, as_words
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, Words
from .model import alphabet_of, next_distributions, scaled_next_scores
from .sampling import draw

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .model import Model

END = "end"  # of the string, among next symbols
LARGEST_TABLE = 8  # states of a model whose weights are shown


class Methods:
    """The methods that all models share; each needs only the methods of `model.Model`."""

    @overload
    def __call__(self, strings: str | tuple[int, ...] | tuple[str, ...]) -> float: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, strings: WordsLike) -> FloatArray: ...

    def __call__(self, strings: Any) -> float | FloatArray:
        """Compute f(x) of one string (text or a tuple), or of many, shape (num_strings,).

        >>> from nlwfa_core import WFA, Alphabet
        >>> half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
        >>> half("aa"), half((0, 0)), half(["", "a"]).tolist()
        (0.125, 0.125, [0.5, 0.25])

        Raises RecipeError if a symbol is not in the model's alphabet.
        """
        model = cast("Model", self)
        if isinstance(strings, (str, tuple)):
            words = Words.of([as_word(strings, alphabet_of(model))])
            return float(model.weights(words)[0])
        return model.weights(as_words(strings, alphabet_of(model)))

    def next(self, prefix: WordLike = ()) -> dict[str, float]:
        """Return the probability of each symbol that can follow a prefix, and of the end of the
        string under the name "end".

        These are the model's |scores|, divided by their sum; all are 0 if all scores are 0.

        >>> from nlwfa_core import WFA, Alphabet
        >>> WFA([1], [[[0.25]], [[0.25]]], [0.5], Alphabet(("a", "b"))).next("ab")
        {'a': 0.25, 'b': 0.25, 'end': 0.5}

        Raises RecipeError if a symbol is not in the model's alphabet, or the alphabet has a symbol
        "end" (then use `next_scores`).
        """
        model = cast("Model", self)
        alphabet = alphabet_of(model) or Alphabet.numbered(model.num_symbols)
        if END in alphabet.symbols:
            raise RecipeError(
                f"the alphabet has a symbol {END!r}, which is next()'s name for the end of a "
                "string; rename the symbol, or use next_scores"
            )
        trie = Trie.of(Words.of([as_word(prefix, alphabet)]), model.num_symbols)
        shares = next_distributions(scaled_next_scores(model, trie)[0][trie.ends])[0]
        return dict(zip((*alphabet.symbols, END), shares.tolist(), strict=True))

    def sample(self, num_strings: int, seed: int = 0, max_length: int = 1000) -> Sample:
        """Draw strings, symbol by symbol, from the model's normalised |scores|. The same seed draws
        the same strings.

        `sampling.draw` does the same and returns more: chances, the number of strings that were
        given up, and the share of negative scores.

        >>> from nlwfa_core import WFA, Alphabet
        >>> WFA([1], [[[0.5]]], [0.5], Alphabet(("a",))).sample(3000).num_strings
        3000

        Raises RecipeError if strings do not end within `max_length` symbols, or all scores after a
        prefix are 0: the other strings alone would not be a sample of the model.
        """
        check_type("num_strings", num_strings, int)
        model = cast("Model", self)
        check_at_least("the number of strings", num_strings, 1)
        drawn = draw(model, num_strings, seed, max_length)
        for number, reason in (
            (
                drawn.num_cut,
                f"did not end within {max_length:,} symbols; a larger max_length may help",
            ),
            (
                drawn.num_stuck,
                "could not go on, because the model gives everything after a prefix the score 0",
            ),
        ):
            if number:
                raise RecipeError(
                    f"{number:,} of {plural(num_strings, 'string')} {reason}; draw returns "
                    "the others"
                )
        alphabet = alphabet_of(model) or Alphabet.numbered(model.num_symbols)
        return Sample(drawn.words, drawn.counts, alphabet)

    @property
    def _kind(self) -> str:
        """Return what kind of model this is, for its repr."""
        return type(self).__name__

    @property
    def _heading(self) -> str:
        """Describe the model in a line: its kind, and its numbers of states and symbols."""
        model = cast("Model", self)
        alphabet = alphabet_of(model)
        symbols = listed(alphabet.symbols) if alphabet else "known by their numbers"
        states = getattr(model, "num_states", None)
        parts = [self._kind, *([plural(states, "state")] if states is not None else [])]
        return f"{', '.join(parts)}, {plural(model.num_symbols, 'symbol')}: {symbols}"

    def __repr__(self) -> str:
        """Describe the model in a line, without the numbers in its attributes.

        >>> from nlwfa_core import WFA, Alphabet
        >>> WFA([1], [[[0.25]], [[0.25]]], [0.5], Alphabet(("a", "b")))
        <WFA, 1 state, 2 symbols: a, b>
        """
        return f"<{self._heading}>"

    def _repr_html_(self) -> str:
        rows = "".join(self._html_rows())
        return f"<table><caption>{escape(self._heading)}</caption>{rows}</table>"

    def _html_rows(self) -> Iterable[str]:
        """Rows of HTML with the model's numbers; none by default."""
        return ()


def html_row(name: str, *numbers: FloatArray) -> str:
    """Return a row of HTML: a name, and a cell for each array, rounded to four digits."""
    cells = (
        np.array2string(array, precision=4, suppress_small=True, threshold=100) for array in numbers
    )
    return f"<tr><th>{escape(name)}</th>{''.join(f'<td><pre>{escape(cell)}</pre></td>' for cell in cells)}</tr>"  # noqa: E501
