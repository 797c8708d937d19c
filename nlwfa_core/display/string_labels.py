"""Describe strings for the pages: labels, counts, the most frequent strings, and strings to suggest
to the user.

Strings are counted for learning in `strings.trie` and `hankel.estimate`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..experiment.datasets import LARGEST_SHARE, Data, tests_on_training_strings
from ..experiment.recipe import DataRecipe
from ..hankel.boundary import bounded_sample
from ..hankel.recipe import HankelRecipe
from ..metrics.tables import Numbers, Table, format_score
from ..rounding import format_significant
from ..sources.registry import GENERATORS
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, IntArray, Word, Words

MAX_LABEL = 24
MOST_SHARES = 12  # strings whose shares are drawn as bars
USUAL = 0.99  # the share of strings whose lengths a histogram shows
OCCURRENCES = {
    "string": "training strings that equal uv",
    "prefix": "training strings that begin with uv",
    "factor": "positions in training strings where uv occurs",
    "suffix": "training strings that end with uv",
}


def word_labels(words: Words, alphabet: Alphabet, after: Word = ()) -> list[str]:
    """Write words as text, each extended by the word `after`; long labels are shortened in the
    middle.
    """
    return [shortened(alphabet.decode(word + after)) for word in words]


def shortened(text: str) -> str:
    """Shorten a label in the middle to at most `MAX_LABEL` characters.

    >>> shortened("the dog that chased the cat")
    'the dog that…sed the cat'
    """
    half = MAX_LABEL // 2
    return text if len(text) <= MAX_LABEL else f"{text[:half]}…{text[-half + 1 :]}"


def word_endings(words: Words, alphabet: Alphabet, most: int) -> list[str]:
    """Write words as short texts: as many of a word's last symbols as fit into `most` characters,
    but at least one.

    Words that end in the same way get more symbols, up to `MAX_LABEL` characters, until their texts
    differ, and then a number. The ends of prefixes differ more than their beginnings.

    >>> words = Words.of([(0, 1, 2, 3), (0, 2, 2, 3)])
    >>> word_endings(words, Alphabet(("home", "item", "cart", "leave")), 11)
    ['…item cart leave', '…cart cart leave']
    """
    taken = []
    for word in words:
        fitting = (n for n in range(len(word), 1, -1) if len(_ending(word, alphabet, n)) <= most)
        taken.append(next(fitting, 1))
    texts = [_ending(word, alphabet, n) for word, n in zip(words, taken, strict=True)]
    while clashing := [
        n
        for n, word in enumerate(words)
        if texts.count(texts[n]) > 1
        and taken[n] < len(word)
        and len(_ending(word, alphabet, taken[n] + 1)) <= MAX_LABEL
    ]:
        for n in clashing:
            taken[n] += 1
            texts[n] = _ending(words[n], alphabet, taken[n])
    return [
        f"…{text[1:][1 - most :]} {texts[: n + 1].count(text)}" if texts.count(text) > 1 else text
        for n, text in enumerate(texts)
    ]


def _ending(word: Word, alphabet: Alphabet, length: int) -> str:
    return ("…" if length < len(word) else "") + alphabet.decode(word[-length:])


def prefixes_of(word: Word) -> Words:
    """List λ and every longer prefix of a word.

    >>> list(prefixes_of((0, 1)))
    [(), (0,), (0, 1)]
    """
    return Words.of(word[:length] for length in range(len(word) + 1))


def split_sentence(recipe: DataRecipe, data: Data) -> str:
    """State how many strings are for training, validation and test, and where the last two come
    from.
    """
    if tests_on_training_strings(recipe):
        return "Nothing is set aside: the test strings are the training strings."
    counted = " · ".join(
        f"{size:,} {role}"
        for size, role in zip(data.sizes, ("training", "validation", "test"), strict=True)
    )
    if recipe.source in GENERATORS:
        return f"{counted}: drawn independently of each other."
    if recipe.source == "upload" and recipe.upload_test:
        validation = "; validation strings are set aside at random from the training file"
        return f"{counted}: test strings have their own file{validation if data.sizes[1] else ''}."
    share = (
        "one string for each"
        if sum(data.sizes) < 1 / LARGEST_SHARE
        else "each at most a fifth of all"
    )
    return f"{counted}: validation and test strings are set aside at random, {share}."


def length_counts(sample: Sample) -> IntArray:
    """Count the strings of each length 0, 1, …, duplicates included: shape (longest + 1,)."""
    totals = np.zeros(int(sample.words.lengths.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(totals, sample.words.lengths, sample.counts)
    return totals


def usual_length(totals: IntArray) -> int:
    """Return the shortest length that a share USUAL of the strings does not exceed, from the
    numbers of strings of each length.

    >>> usual_length(np.array([0, 500, 490, 0, 9, 1]))
    2
    """
    return int(np.searchsorted(totals.cumsum(), USUAL * totals.sum()))


def symbol_counts(sample: Sample) -> IntArray:
    """Count the occurrences of each symbol in all strings, duplicates included: shape
    (num_symbols,).
    """
    totals = np.zeros(sample.num_symbols, dtype=np.int64)
    np.add.at(totals, sample.words.symbols, np.repeat(sample.counts, sample.words.lengths))
    return totals


def prefix_shares(sample: Sample, prefixes: Words) -> FloatArray:
    """Compute the share of the strings that begin with each prefix, shape (num_prefixes,)."""
    trie = Trie.of(Words.joined([prefixes, sample.words]), sample.num_symbols)
    begins = trie.prefix_counts(
        np.concatenate((np.zeros(len(prefixes), dtype=np.int64), sample.counts))
    )
    shares: FloatArray = begins[trie.ends[: len(prefixes)]] / max(sample.num_strings, 1)
    return shares


def most_frequent(sample: Sample, number: int) -> Table:
    """Tabulate the most frequent strings with their count and their share of all strings; ties in
    order of first appearance.
    """
    order = np.argsort(-sample.counts, kind="stable")[:number]
    return {
        "string": word_labels(sample.words.take(order), sample.alphabet),
        "count": Numbers.written(
            sample.counts[order].tolist(), lambda count: format_score(count, ",.0f")
        ),
        "share": Numbers.written(
            sample.frequencies()[order].tolist(), lambda share: format_score(share, ".2%")
        ),
    }


def shares_payload(sample: Sample, asked: str, is_over: bool) -> dict[str, Any] | None:
    """Return the shares of the strings of a small sample, shorter ones first, as bars. The share of
    the string `asked` is missing until the question about it `is_over`. None if the sample has more
    than `MOST_SHARES` different strings, or does not contain this one.
    """
    texts = word_labels(sample.words, sample.alphabet)
    if len(texts) > MOST_SHARES or asked not in texts:
        return None
    shares = sample.frequencies()
    order = sorted(range(len(texts)), key=lambda n: (len(sample.words[n]), texts[n]))
    bars = [
        (texts[n], None if texts[n] == asked and not is_over else float(shares[n])) for n in order
    ]
    return {
        "id": f"{asked} {is_over} {bars}",
        "bars": bars,
        "most": min(1.0, float(np.ceil(15 * shares.max()) / 10)),  # with room above the longest bar
        "step": 1 / min(sample.num_strings, 100),
        "asked": order.index(texts.index(asked)),
        "isOver": is_over,
    }


def most_frequent_word(sample: Sample) -> Word:
    """Return the most frequent string; of several, the one that appears first."""
    return sample.words[int(sample.counts.argmax())]


def short_word(sample: Sample, longest: int) -> Word:
    """Return the most frequent string of 1 to `longest` symbols; if there is none, the most
    frequent string.
    """
    fits = (sample.words.lengths > 0) & (sample.words.lengths <= longest)
    return (
        sample.words[int(np.where(fits, sample.counts, 0).argmax())]
        if fits.any()
        else most_frequent_word(sample)
    )


def word_to_follow(sample: Sample, length: int = 3) -> Word:
    """Return the most frequent string of at least `length` symbols; if there is none, the most
    frequent string.
    """
    long = np.flatnonzero(sample.words.lengths >= length)
    return (
        sample.words[int(long[sample.counts[long].argmax()])]
        if len(long)
        else most_frequent_word(sample)
    )


def occurrences(sample: Sample, word: Word, statistic: str) -> int:
    """Count by a plain search how many strings equal a word, begin or end with it, or how often it
    occurs, depending on the statistic.

    >>> sample = Sample.of(Words.of([(0, 1), (0, 0, 0)]), Alphabet(("a", "b")))
    >>> [
    ...     occurrences(sample, (0,), statistic)
    ...     for statistic in ("string", "prefix", "factor", "suffix")
    ... ]
    [0, 2, 4, 1]
    """
    words = sample.words
    length = len(word)
    if statistic == "factor":
        begins, left = words.suffixes()
        owners = np.repeat(np.arange(len(words)), words.lengths + 1)
    else:
        begins = words.offsets[:-1]
        left = words.lengths
        owners = np.arange(len(words))
    if statistic == "suffix":
        begins = begins + np.maximum(left - length, 0)
        left = np.where(left >= length, length, left)
    fits = left == length if statistic == "string" else left >= length
    begins = begins[fits]
    owners = owners[fits]
    for index, symbol in enumerate(word):
        equal = words.symbols[begins + index] == symbol
        begins = begins[equal]
        owners = owners[equal]
    return int(sample.counts[owners].sum())


def count_by_hand(sample: Sample, word: Word, recipe: HankelRecipe) -> str:
    """Explain how to work out by hand the entry of the Hankel matrix for a word uv.

    >>> count_by_hand(Sample.of(Words.of([(0,), (1,)]), Alphabet(("a", "b"))), (0,), HankelRecipe())
    'training strings that equal uv: 1, of 2: 1 / 2 = 0.5'
    """
    counted = bounded_sample(sample, recipe.statistic) if recipe.bounded else sample
    count = occurrences(counted, word, recipe.statistic)
    number = sample.num_strings
    divisor = (
        "the frequency of its row's prefix" if recipe.bounded else "the sum of its row as counted"
    )
    then = {"none": "", "sqrt": "; then its square root", "row": f"; then divided by {divisor}"}[
        recipe.transform
    ]
    share = format_significant(count / number, 6)
    return (
        f"{OCCURRENCES[recipe.statistic]}: {count:,}, of {number:,}: {count:,} / {number:,} = "
        f"{share}{then}"
    )
