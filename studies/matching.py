"""Select a basis by matching prefixes with suffixes, so no row or column is idle (Quattoni,
Carreras, Gallé 2017).

Frequent prefixes and suffixes may be redundant: if ten rows have their only non-zero entries in the
same five columns, five of the rows add nothing to the rank, whatever the numbers in them are. The
largest rank that a pattern of non-zero entries allows, its structural rank, is the size of a
maximum matching in the bipartite graph that has an edge for each non-zero entry.

`bases` compares the models that learn from such a basis with those that learn from the most
frequent prefixes and suffixes: at equal size they are no better (docs/method-notes.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np
from scipy import sparse

from nlwfa_core import limits
from nlwfa_core.errors import check_at_least, check_types
from nlwfa_core.hankel.basis import Basis, select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.strings.plain import SampleLike, as_sample
from nlwfa_core.strings.words import Words

# The prefixes and suffixes to choose from are so many times as many as are wanted: the most
# frequent ones.
CANDIDATES = 5


@check_types
def matching_basis(
    sample: SampleLike, num_prefixes: int, num_suffixes: int, statistic: str = "string"
) -> Basis:
    """Select prefixes and suffixes that can be matched: H has a non-zero entry for each pair, and
    no pair shares a row or a column.

    Among the CANDIDATES · max(num_prefixes, num_suffixes) most frequent ones, prefixes are taken in
    order of frequency if they can be matched with different suffixes together with those taken
    before, then suffixes likewise for these prefixes. The sets that can be matched are the
    independent sets of a matroid, so no set of as many prefixes that can be matched is more
    frequent in total (Edmonds and Fulkerson 1965). Then the words that the learners need are added:
    λ, the prefixes of prefixes and, for the statistics "prefix" and "factor", single symbols as
    suffixes. If fewer can be matched than are wanted, the most frequent others follow.

    Only a follows x, y and z, so their rows allow at most rank 1.

    >>> from nlwfa_core import select_basis
    >>> strings = {"xa": 3, "ya": 3, "za": 3, "wb": 1}
    >>> frequent, matching = select_basis(strings, 4, 4), matching_basis(strings, 4, 4)
    >>> [matching.alphabet.decode(prefix) for prefix in frequent.prefixes]
    ['λ', 'x', 'y', 'z']
    >>> [matching.alphabet.decode(prefix) for prefix in matching.prefixes]
    ['λ', 'x', 'xa', 'w']

    Parameters
    ----------
    sample : Sample, or strings as `strings.plain.as_sample` takes them
    num_prefixes, num_suffixes : int
    statistic : str
        "string", "prefix", "factor" or "suffix": what the matrix will count.

    Raises
    ------
    RecipeError
        If a number is below 1 or above the limit, the statistic is unknown, or the sample is empty.
    """
    for name, number in (("num_prefixes", num_prefixes), ("num_suffixes", num_suffixes)):
        check_at_least(name, number, 1)
        limits.check_limit(name, number, "basis")
    sample = as_sample(sample)
    number = min(CANDIDATES * max(num_prefixes, num_suffixes), limits.most("basis"))
    candidates = select_basis(sample, number, number, statistic)
    block = estimate_hankel(sample, candidates, statistic).block
    rows = _with_prefixes(candidates.prefixes, matchable_rows(block, num_prefixes), num_prefixes)
    single = candidates.suffixes.lengths <= (statistic in ("prefix", "factor"))
    needed = np.flatnonzero(single).tolist()
    columns = matchable_rows(sparse.csr_array(block[rows].T), num_suffixes)
    return Basis(
        candidates.prefixes.take(sorted(rows)),
        candidates.suffixes.take(
            sorted(_first([*needed, *columns, *range(len(candidates.suffixes))], num_suffixes))
        ),
        sample.num_symbols,
        sample.alphabet,
    )


def matchable_rows(block: sparse.csr_array, number: int) -> list[int]:
    """Take rows in order if they can be matched with different columns, by augmenting paths (Kuhn
    1955).

    Parameters
    ----------
    block : sparse array, shape (m, n)
        Only the places of its non-zero entries matter.
    number : int
        The largest number of rows to take.

    Returns
    -------
    list of int
        min(number, structural rank of the block) rows, in ascending order.
    """
    bounds = block.indptr.tolist()
    columns = block.indices.tolist()
    # the matching, in both directions
    row_of = dict[int, int]()
    column_of = dict[int, int]()
    # After a search in vain, no column that it reached can ever be freed: their rows reach only
    # these columns.
    is_dead = np.zeros(block.shape[1], dtype=bool)
    taken: list[int] = []
    for row in range(block.shape[0]):
        if len(taken) == number:
            break
        reached_from = dict[int, int]()
        queue = deque([row])
        free = -1
        while queue and free < 0:
            source = queue.popleft()
            for column in columns[bounds[source] : bounds[source + 1]]:
                if is_dead[column] or column in reached_from:
                    continue
                reached_from[column] = source
                if column not in row_of:
                    free = column
                    break
                queue.append(row_of[column])
        if free < 0:
            is_dead[list(reached_from)] = True
            continue
        taken.append(row)
        while True:  # along the path back to the row, each row on it gets the column after it
            source = reached_from[free]
            before = column_of.get(source)
            row_of[free], column_of[source] = source, free
            if before is None:
                break
            free = before
    return taken


def _with_prefixes(prefixes: Words, rows: list[int], number: int) -> list[int]:
    """Add the prefixes of prefixes, as far as there is room, then the most frequent others; λ is
    the first.
    """
    place = {prefix: row for row, prefix in enumerate(prefixes)}
    taken = dict.fromkeys([0])
    for row in [*rows, *range(len(prefixes))]:
        word = prefixes[row]
        missing = [
            place[word[:length]]
            for length in range(len(word) + 1)
            if place[word[:length]] not in taken
        ]
        if len(taken) + len(missing) <= number:
            taken.update(dict.fromkeys(missing))
    return list(taken)


def _first(values: Iterable[int], number: int) -> list[int]:
    """Return the first distinct values."""
    return list(dict.fromkeys(values))[:number]
