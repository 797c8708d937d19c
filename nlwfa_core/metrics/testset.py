"""Define test sets: test strings, and their target weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError, check_fields, check_type, check_types, listed, plural
from ..models.model import (
    MODELS_ALPHABET,
    LogModel,
    Model,
    alphabet_of,
    model_of,
    next_distributions,
    scaled_next_scores,
)
from ..models.unseen import (
    WithUnseen,
    check_some_known,
    extended,
    has_any_of,
    no_known_symbol,
)
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, IntArray, Words, distinct, float64_array
from .pautomac_score import magnitudes
from .ranking import Prefixes

# True probabilities whose sum is this close to 1 are normalised over the test strings. (PAutomaC's
# solutions are, to 1e-12.)
NORMALISED = 1e-6


@dataclass(frozen=True, eq=False)
class TestSet:
    """Test strings, and their target weights.

    Attributes
    ----------
    words : Words
        The words T of the Pautomac score, in the alphabet of the sample.
    target : array, shape (num_words,)
        The target P* of each word, not normalised.
    sample : Sample
        All test strings, including repeated strings, for next-symbol scores.
    target_is_true : bool
        Whether the target is the true probability; otherwise it is the frequency among the test
        strings.
    true_model : Model or None
        The model that generated the strings, for true next-symbol distributions; None if it is not
        known.
    prefixes : Prefixes or None
        Prefixes of other strings, with what followed them, to be scored as SPiCe does.

    Raises
    ------
    RecipeError
        If there is not one target for each word, or a word has a symbol that is not in the sample's
        alphabet.

    Examples
    --------
    >>> from nlwfa_core import NGram, TestSet, as_sample, evaluate
    >>> test = TestSet.empirical(as_sample(["ab", "b", "ab"]))
    >>> evaluate(NGram.fit(as_sample(["ab", "b"]), 2), test).num_words
    2
    """

    __test__ = False  # not a test for pytest to collect

    words: Words
    target: FloatArray
    sample: Sample
    target_is_true: bool
    true_model: Model | None = None
    prefixes: Prefixes | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", float64_array("target", self.target))
        check_fields(self)
        if self.true_model is not None:
            object.__setattr__(self, "true_model", model_of(self.true_model, "true_model"))
        if np.shape(self.target) != (len(self.words),):
            raise RecipeError(
                f"each of the {len(self.words):,} test strings needs one target; got targets "
                f"of shape {np.shape(self.target)}"
            )
        words = self.words.in_alphabet(self.alphabet, "the test sample's")
        if words.alphabet is None:
            words = replace(words, alphabet=self.alphabet)
        object.__setattr__(self, "words", words)

    def __repr__(self) -> str:
        """Describe the test set in a line.

        >>> TestSet.empirical(["ab", "b"])
        <TestSet of 2 strings, 2 distinct, true probabilities not known; 2 symbols: a, b>
        """
        strings = (
            f"{plural(self.sample.num_strings, 'string')}, {len(self.sample.words):,} distinct"
        )
        truth = "known" if self.target_is_true else "not known"
        return f"<TestSet of {strings}, true probabilities {truth}; {self.alphabet.summary}>"

    @property
    def alphabet(self) -> Alphabet:
        return self.sample.alphabet

    def in_alphabet(self, alphabet: Alphabet, owner: str = "the") -> TestSet:
        """Renumber the symbols of all strings to match another alphabet (see
        `Words.in_alphabet`).

        Words that become equal because their symbols are read as the symbol for the unknown are
        merged, and their targets are added up.

        Raises RecipeError if a symbol is read as the symbol for the unknown and true probabilities
        are known, because these probabilities are then those of other strings.
        """
        check_type("alphabet", alphabet, Alphabet)
        if alphabet == self.alphabet:
            return self
        if alphabet not in self._others:
            self._others[alphabet] = self._renumbered(alphabet, owner)
        return self._others[alphabet]

    def _renumbered(self, alphabet: Alphabet, owner: str) -> TestSet:
        sample = self.sample.in_alphabet(alphabet, owner)
        words = self.words.in_alphabet(alphabet, owner)
        others = unseen_symbols(self.sample, alphabet)
        if alphabet.unknown is None or not others:
            return replace(self, words=words, sample=sample)
        if self.target_is_true:
            raise RecipeError(
                "the true probabilities are of strings with symbols that are read as "
                f"{alphabet.unknown!r}: {listed(others)}; they can't be compared with the outputs "
                "of a model that does not tell these symbols apart"
            )
        first, inverse = distinct(words)
        target = np.zeros(len(first))
        np.add.at(target, inverse, self.target)
        prefixes = None if self.prefixes is None else self.prefixes.in_alphabet(alphabet, owner)
        return replace(
            self, words=words.take(first), target=target, sample=sample, prefixes=prefixes
        )

    def known_to(self, alphabet: Alphabet) -> TestSet:
        """Leave out the strings with a symbol that an alphabet does not have.

        >>> test = TestSet.empirical(["ab", "ac", "ab", "b"])
        >>> test.known_to(Alphabet(("a", "b"))).target.tolist()
        [0.6666666666666666, 0.3333333333333333]

        Raises RecipeError if no string is left.
        """
        check_type("alphabet", alphabet, Alphabet)
        others = unseen_symbols(self.sample, alphabet)
        if not others:
            return self
        numbers = [self.alphabet.numbers[symbol] for symbol in others]
        rows, kept = (
            np.flatnonzero(~has_any_of(words, numbers)) for words in (self.words, self.sample.words)
        )
        if not len(kept):
            raise RecipeError(
                "every test string contains a symbol that is not in the model's alphabet of "
                f"{alphabet.summary}"
            )
        sample = Sample(self.sample.words.take(kept), self.sample.counts[kept], self.alphabet)
        target = self.target[rows]
        if not self.target_is_true and target.any():
            target = target / target.sum()
        return replace(self, words=self.words.take(rows), target=target, sample=sample)

    @cached_property
    def true_weights(self) -> FloatArray | None:
        """Return the weights that a model should compute for the words of T, shape (num_words,).

        None if they are not known, or known only up to a factor. A target that sums to 1 over T is
        assumed to be known only up to a factor, because PAutomaC's solutions are normalised in this
        way.
        """
        if self.true_model is not None:
            return self.true_model.weights(self.words)
        normalised = abs(float(self.target.sum()) - 1) <= NORMALISED
        return self.target if self.target_is_true and not normalised else None

    @cached_property
    def next_truth(self) -> FloatArray | None:
        """Return the true probabilities of what follows each prefix of the strings, shape
        (num_nodes, num_symbols + 1).

        A row sums to 1, or is nan if the true model gives the prefix the probability 0. None
        without a true model.
        """
        if self.true_model is None:
            return None
        probabilities = next_distributions(
            scaled_next_scores(self.true_model, self.trie(self.true_model.num_symbols))[0]
        )
        probabilities[~probabilities.any(axis=1)] = np.nan
        return probabilities

    def trie(self, num_symbols: int) -> Trie:
        """Return the prefix tree of the strings, which is built once for each number of symbols."""
        check_type("num_symbols", num_symbols, int)
        if num_symbols not in self._tries:
            self._tries[num_symbols] = Trie.of(self.sample.words, num_symbols)
        return self._tries[num_symbols]

    def ends(self, num_symbols: int) -> IntArray | None:
        """Find the node of each word of T in the tree of `trie`, shape (num_words,); None if a word
        of T is not in that tree.
        """
        check_type("num_symbols", num_symbols, int)
        if num_symbols not in self._ends:
            trie = self.trie(num_symbols)
            nodes, starts = trie.walk(self.words)
            whole = bool((np.diff(starts) == self.words.lengths + 1).all())
            self._ends[num_symbols] = nodes[starts[1:] - 1] if whole else None
        return self._ends[num_symbols]

    @cached_property
    def _others(self) -> dict[Alphabet, TestSet]:
        return {}

    @cached_property
    def _tries(self) -> dict[int, Trie]:
        return {}

    @cached_property
    def _ends(self) -> dict[int, IntArray | None]:
        return {}

    @classmethod
    def of(
        cls,
        rows: Words,
        alphabet: Alphabet,
        counts: npt.ArrayLike | None = None,
        solution: FloatArray | None = None,
        true_model: Model | None = None,
    ) -> TestSet:
        """Make the test set of some strings. This is the only place that decides what T is.

        If true probabilities are known, from a solution or otherwise from the true model, T
        consists of the rows as drawn, so repeated strings count as often as they were drawn. If
        not, T consists of the distinct strings, and P* of their frequencies.

        >>> from nlwfa_core.models.ngram import Uniform
        >>> rows, alphabet = Words.of([(0,), (), (0,)]), Alphabet(("a",))
        >>> list(TestSet.of(rows, alphabet).words), TestSet.of(rows, alphabet).target.tolist()
        ([(0,), ()], [0.6666666666666666, 0.3333333333333333])
        >>> known = TestSet.of(rows, alphabet, true_model=Uniform(1))
        >>> list(known.words), known.target.tolist()
        ([(0,), (), (0,)], [0.25, 0.5, 0.25])

        Parameters
        ----------
        rows : Words
            The test strings in their order, including repeated strings.
        counts : array, shape (num_rows,), optional
            How often each row was drawn, as in a CSV file; by default once.
        solution : array, shape (num_rows,), optional
            The rows' true probabilities, up to a factor.
        true_model : Model, optional
            The source of the strings. Without a solution, its weights are the true probabilities.

        Raises
        ------
        RecipeError
            If the number of probabilities or of counts is not that of the rows, if a count is not a
            whole number of at least 1, or if a row has a symbol that is not in the alphabet.
        """
        check_type("rows", rows, Words)
        check_type("solution", solution, np.ndarray | None)
        if true_model is not None:
            true_model = model_of(true_model, "true_model")
        if solution is not None and len(solution) != len(rows):
            raise RecipeError(
                "the solution must have one probability per test string; got "
                f"{len(solution)} for {len(rows)}"
            )
        sample = Sample.of(rows, alphabet, counts)
        if solution is None and true_model is None:
            return cls.empirical(sample)
        if counts is not None:
            places = np.repeat(np.arange(len(rows)), np.asarray(counts))
            rows = rows.take(places)
            solution = None if solution is None else solution[places]
        target = solution
        if target is None and true_model is not None:
            target = true_model.weights(rows)
            # all too small: P* is known up to a factor
            if isinstance(true_model, LogModel) and not target.any():
                target = magnitudes(target, true_model.log2_weights(rows))
        return cls.as_drawn(rows, target, sample, true_model)  # type: ignore[arg-type]

    @classmethod
    @check_types
    def as_drawn(
        cls, words: Words, target: FloatArray, sample: Sample, true_model: Model | None = None
    ) -> TestSet:
        """Make a test set in which T consists of all rows of a test file, repeated rows included,
        and P* is known for each row.
        """
        if len(words) != len(target):
            raise RecipeError(
                f"the solution must have one probability per test string; got {len(target)} "
                f"for {len(words)}"
            )
        return cls(words, target, sample, target_is_true=True, true_model=true_model)

    @classmethod
    def empirical(cls, sample: SampleLike) -> TestSet:
        """Make a test set in which T consists of the distinct strings of a sample, and P* of their
        frequencies.

        (If T had repeated rows, the uniform model would always have the best score.)

        >>> TestSet.empirical(["ab", "b", "ab", "ab"]).target.tolist()
        [0.75, 0.25]
        """
        sample = as_sample(sample)
        return cls(sample.words, sample.frequencies(), sample, target_is_true=False)


def as_test_set(
    strings: TestSet | SampleLike, alphabet: Alphabet | None, name: str = "test"
) -> TestSet:
    """Make a test set from strings, with their frequencies as the target; a test set is returned
    unchanged.

    Symbols of written strings are numbered by an alphabet, to which other symbols are added.
    """
    if isinstance(strings, TestSet):
        return strings
    if isinstance(strings, Sample):
        return TestSet.empirical(strings)
    return TestSet.empirical(as_sample(strings, alphabet, name, extend=True))


def over_one_alphabet(model: Model, test: TestSet) -> tuple[Model, TestSet]:
    """Extend a model to the symbols of a test set that it does not know, and renumber the test
    set's symbols to match it.

    Raises RecipeError if the test set is empty, all of its strings have symbols that the model does
    not know, or the true model has another alphabet.
    """
    if not len(test.words):
        raise RecipeError("the test set has no strings")
    known = alphabet_of(model) or test.alphabet
    used = used_alphabet(test.sample)
    if known.unknown is not None and not set(used.symbols).intersection(known.symbols):
        raise no_known_symbol(known)
    model = extended(model, used)
    own = alphabet_of(model)
    true = alphabet_of(test.true_model) if test.true_model else None
    if own is not None and true is not None and own != true:
        raise RecipeError(
            f"the true model and the model must have the same alphabet; got {true.summary}, and "
            f"{known.summary}"
        )
    alphabet = own or true
    if alphabet is not None:
        test = test.in_alphabet(alphabet, MODELS_ALPHABET)
    elif not (test.alphabet.is_numbered or len(test.alphabet) >= model.num_symbols):
        raise RecipeError(
            f"the model has {plural(model.num_symbols, 'symbol')} and no alphabet that names "
            "them, so test strings need an "
            f"alphabet of as many symbols; got {test.alphabet.summary}"
        )
    if isinstance(model, WithUnseen):
        check_some_known(test.sample.words, known)
    if test.sample.num_symbols > model.num_symbols:
        num_used = int(test.sample.words.symbols.max(initial=-1)) + 1
        if num_used > model.num_symbols:
            raise RecipeError(
                f"the test strings use {num_used} symbols, but the model has {model.num_symbols}"
            )
    if test.true_model is not None and test.true_model.num_symbols != model.num_symbols:
        raise RecipeError(
            f"the true model has {test.true_model.num_symbols} symbols, but the model has "
            f"{model.num_symbols}"
        )
    return model, test


def unseen_symbols(sample: Sample, alphabet: Alphabet) -> list[str]:
    """List the symbols that occur in a sample but not in an alphabet."""
    used = np.unique(sample.words.symbols).tolist()
    return [
        symbol
        for symbol in (sample.alphabet.symbols[number] for number in used)
        if symbol not in alphabet.numbers
    ]


def used_alphabet(sample: Sample) -> Alphabet:
    """Return the alphabet of the symbols that occur in a sample; all its symbols if none occurs."""
    used = np.unique(sample.words.symbols).tolist()
    return (
        Alphabet(tuple(sample.alphabet.symbols[symbol] for symbol in used))
        if used
        else sample.alphabet
    )
