"""Provide the strings that benchmarks work on: generated strings, and the competitions' files if
they are available.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nlwfa_core import read_strings
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.sources.random_automata import random_automaton, sample_words
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

from . import ROOT

AT_ONCE = 1_000_000  # strings drawn at a time


@dataclass(frozen=True, eq=False)
class Work:
    """Strings to learn from, and the sizes of basis and model.

    Attributes
    ----------
    name : str
    train : Words
        The training strings as drawn.
    words : Words
        The words whose weights are computed.
    alphabet : Alphabet
    num_prefixes, num_suffixes, rank : int
    """

    name: str
    train: Words
    words: Words
    alphabet: Alphabet
    num_prefixes: int = 1000
    num_suffixes: int = 1000
    rank: int = 10

    @property
    def title(self) -> str:
        size = (
            f"{len(self.train):,} strings, |Σ| = {len(self.alphabet)}, basis {self.num_prefixes} "
            f"× {self.num_suffixes}"
        )
        return f"{self.name}: {size}"

    def sample(self) -> Sample:
        """Make a new sample: an old one holds results of earlier work, such as its trees, which
        would speed up a second turn.
        """
        return Sample.of(self.train, self.alphabet)

    def counted(self, sample: Sample, statistic: str = "string") -> HankelMatrix:
        """Select the basis and estimate the Hankel matrix."""
        return estimate_hankel(
            sample, select_basis(sample, self.num_prefixes, self.num_suffixes, statistic), statistic
        )


def dyck(
    num_strings: int, num_prefixes: int = 1000, num_suffixes: int = 1000, num_words: int = 20_000
) -> Work:
    return Work(
        "Dyck",
        draw_dyck(num_strings),
        Dyck().sample_words(num_words, 1),
        ALPHABET,
        num_prefixes,
        num_suffixes,
    )


def draw_dyck(num_strings: int) -> Words:
    """Draw Dyck strings, at most a million at a time, each time with another seed."""
    sizes = [min(AT_ONCE, num_strings - done) for done in range(0, num_strings, AT_ONCE)]
    parts = [Dyck().sample_words(size, [2, number]) for number, size in enumerate(sizes)]
    lengths = np.concatenate([part.lengths for part in parts])
    return Words(
        np.concatenate([part.symbols for part in parts]), np.concatenate(([0], np.cumsum(lengths)))
    )


def automaton(num_symbols: int, num_strings: int, size: int = 1000) -> Work:
    """Draw strings from a random probabilistic automaton with 5 states."""
    model = random_automaton(5, num_symbols, 0)
    train, words = (sample_words(model, num_strings, seed) for seed in (1, 2))
    return Work(
        "random automaton", train, words, Alphabet.numbered(num_symbols), size, size, rank=5
    )


def data_folder() -> Path:
    """Folder of the competitions' files; the environment variable NLWFA_DATA overrides it."""
    return Path(os.environ.get("NLWFA_DATA") or ROOT.parent / "shared" / "data")


def spice() -> Work | None:
    """Read SPiCe problem 4, the paper's real data; None without the file."""
    path = data_folder() / "spice" / "4.spice.dev.train"
    return _from_file("SPiCe 4", path, 3000, 300) if path.exists() else None


def long_strings() -> Work | None:
    """Read SPiCe problem 1, whose strings have 41 symbols on average; None without the file."""
    path = data_folder() / "spice" / "1.spice.train"
    return _from_file("SPiCe 1", path, 1000, 1000) if path.exists() else None


def large_alphabet() -> Work | None:
    """Read SPiCe problem 11, with 6,722 symbols; None without the file."""
    path = data_folder() / "spice" / "11.spice.train"
    return _from_file("SPiCe 11", path, 1000, 1000) if path.exists() else None


def with_fewer_symbols(work: Work, num_symbols: int) -> Work:
    """Reduce the strings to `num_symbols` symbols: the last of them replaces all later ones."""
    last = num_symbols - 1
    train, words = (
        Words(np.minimum(words.symbols, last), words.offsets) for words in (work.train, work.words)
    )
    name = f"{work.name}, symbols from {last} on as one"
    alphabet = Alphabet.numbered(num_symbols)
    return replace(work, name=name, train=train, words=words, alphabet=alphabet)


def pautomac(problem: int) -> Work | None:
    """Read a PAutomaC problem; None without the file."""
    path = data_folder() / "pautomac" / f"{problem}.pautomac.train"
    return _from_file(f"PAutomaC {problem}", path, 1000, 1000) if path.exists() else None


def _from_file(name: str, path: Path, num_prefixes: int, num_suffixes: int) -> Work:
    file = read_strings(path.read_bytes(), "pautomac")
    return Work(name, file.words, file.words, file.alphabet, num_prefixes, num_suffixes)


def files() -> Iterator[tuple[str, Work | None]]:
    """Read every work that comes from a file: (name, work or None)."""
    yield "SPiCe 4", spice()
    for problem in (3, 24, 33):
        yield f"PAutomaC {problem}", pautomac(problem)
