"""Run in the opponents' own virtual environment: read a JSON request from each line and write a
JSON answer.

It imports nothing from this project. Times are measured here, around the opponent's calls, so they
do not include the pipe. Word lists come as flat arrays with offsets, in npz files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from aalpy.learning_algs import run_Alergia
from hmmlearn.hmm import CategoricalHMM
from scipy.sparse.linalg import svds
from splearn import Hankel, Spectral
from splearn.datasets.data_sample import DataSample

State = dict[str, Any]


def tuples(file: Any, name: str) -> list[tuple[int, ...]]:
    symbols = file[f"{name}_symbols"].tolist()
    offsets = file[f"{name}_offsets"].tolist()
    return [tuple(symbols[a:b]) for a, b in pairwise(offsets)]


def padded(words: list[tuple[int, ...]], num_symbols: int) -> Any:
    """Make splearn's form of a sample: one row for each word, padded with −1."""
    rows = np.full((len(words), max(map(len, words)) or 1), -1.0)
    for row, word in zip(rows, words, strict=True):
        row[: len(word)] = word
    return DataSample(data=(num_symbols, len(words), rows)).data


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    started = perf_counter()
    result = action()
    return perf_counter() - started, result


def spectral(state: State, rank: int, sparse: bool) -> Spectral:
    # Sets, because a list would be searched from end to end for every prefix of every word.
    options = {
        "lrows": state["prefixes"],
        "lcolumns": state["suffixes"],
        "version": "classic",
        "partial": True,
    }
    return Spectral(rank=rank, sparse=sparse, mode_quiet=True, **options)


def load(state: State, file: str) -> dict[str, Any]:
    with np.load(file) as arrays:
        num_symbols = int(arrays["num_symbols"])
        state["train"] = padded(tuples(arrays, "train"), num_symbols)
        state["words"] = padded(tuples(arrays, "words"), num_symbols)
        state["prefixes"], state["suffixes"] = (
            set(tuples(arrays, "prefixes")),
            set(tuples(arrays, "suffixes")),
        )
    return {}


def count(state: State, sparse: bool, dictionaries: bool) -> dict[str, Any]:
    """Do what `fit` does before the SVD; without `dictionaries`, its counts of words, prefixes and
    suffixes are prepared for it.
    """
    estimator = spectral(state, 1, sparse)
    started = perf_counter()
    X = estimator.polulate_dictionnaries(state["train"])
    middle = perf_counter()
    options = {
        "lrows": state["prefixes"],
        "lcolumns": state["suffixes"],
        "version": "classic",
        "partial": True,
    }
    state["hankel"] = Hankel(sample_instance=X, sparse=sparse, mode_quiet=True, **options)
    return {"seconds": perf_counter() - (started if dictionaries else middle)}


def count_anywhere(state: State, version: str) -> dict[str, Any]:
    """Do the same for prefixes or factors. With a basis as sets it would count no uv outside them,
    and leave most cells at 0. So it counts up to the length of the longest uσv, and then fills the
    matrix of the basis."""
    rows = state["prefixes"]
    columns = state["suffixes"]
    longest = {"lrows": max(map(len, rows)) + 1, "lcolumns": max(map(len, columns))}
    started = perf_counter()
    estimator = Spectral(
        rank=1, sparse=False, mode_quiet=True, version=version, partial=True, **longest
    )
    X = estimator.polulate_dictionnaries(state["train"])
    options = {"lrows": rows, "lcolumns": columns, "version": version, "partial": True}
    state["hankel"] = Hankel(sample_instance=X, sparse=False, mode_quiet=True, **options)
    return {"seconds": perf_counter() - started}


def cells(state: State, file: str) -> dict[str, Any]:
    """List every non-zero of H_λ and each H_σ as (block, row, column, value); rows and columns by
    length, then alphabetically.
    """
    blocks = [
        block.tocoo() if hasattr(block, "tocoo") else block for block in state["hankel"].lhankel
    ]
    parts = []
    for number, block in enumerate(blocks):
        rows, columns = (block.row, block.col) if hasattr(block, "row") else np.nonzero(block)
        values = block.data if hasattr(block, "row") else block[rows, columns]
        parts.append(np.stack([np.full(len(rows), number), rows, columns, values]).astype(float))
    np.savez(file, cells=np.concatenate(parts, axis=1))
    return {}


def fit(state: State, rank: int, sparse: bool) -> dict[str, Any]:
    state["model"] = spectral(state, rank, sparse)
    return {"seconds": timed(lambda: state["model"].fit(state["train"]))[0]}


def predict(state: State) -> dict[str, Any]:
    seconds, state["predicted"] = timed(lambda: state["model"].predict(state["words"]))
    return {"seconds": seconds}


def outcome(state: State, rank: int, file: str) -> dict[str, Any]:
    """Return singular values of its H_λ, by the solver that its sparse fit calls, and its last
    predictions.
    """
    block = state["model"].hankel.lhankel[0]
    block = block.tocsr() if hasattr(block, "tocsr") else np.asarray(block)
    values = np.sort(svds(block, k=rank, return_singular_vectors=False))[::-1]
    np.savez(file, singular_values=values, predicted=state["predicted"])
    return {}


def hmm(
    state: State,
    file: str,
    num_states: int,
    num_iterations: int,
    num_symbols: int,
    implementation: str,
) -> dict[str, Any]:
    """Run EM on the words, each with an end symbol; return seconds, iterations and ln P(word) of
    the test words. `implementation`: "log", the default, or "scaling", which is faster.
    """
    with np.load(file) as arrays:
        train = tuples(arrays, "train")
        test = tuples(arrays, "words")
    column = np.array([symbol for word in train for symbol in (*word, num_symbols)]).reshape(-1, 1)
    lengths = [len(word) + 1 for word in train]
    options = {"n_components": num_states, "n_iter": num_iterations, "tol": 0.0, "random_state": 0}
    options |= {"n_features": num_symbols + 1, "implementation": implementation}
    model = CategoricalHMM(**options)
    seconds, _ = timed(lambda: model.fit(column, lengths))
    logs = [float(model.score(np.array([*word, num_symbols]).reshape(-1, 1))) for word in test]
    return {"seconds": seconds, "iterations": model.monitor_.iter, "logs": logs}


def alergia(
    state: State, file: str, out: str, epsilon: float | str, num_symbols: int
) -> dict[str, Any]:
    """Run ALERGIA on the words, each with an end symbol; save P(symbol, next state | state) and
    P(end | state).
    """
    with np.load(file) as arrays:
        train = tuples(arrays, "train")
    data = [[("next", symbol) for symbol in (*word, num_symbols)] for word in train]
    seconds, model = timed(lambda: run_Alergia(data, "smm", eps=epsilon))
    states = [model.initial_state, *(one for one in model.states if one is not model.initial_state)]
    number = {id(one): place for place, one in enumerate(states)}
    moves = np.zeros((num_symbols, len(states), len(states)))
    ends = np.zeros(len(states))
    for place, one in enumerate(states):
        for following, symbol, probability in one.transitions["next"]:
            if symbol == num_symbols:
                ends[place] = probability
            else:
                moves[symbol, place, number[id(following)]] = probability
    np.savez(out, moves=moves, ends=ends)
    return {"seconds": seconds}


def versions(state: State) -> dict[str, Any]:
    return {
        name: version(name)
        for name in ("scikit-splearn", "hmmlearn", "aalpy", "numpy", "scipy", "scikit-learn")
    }


def main() -> None:
    state: State = {}
    answers = sys.stdout
    sys.stdout = sys.stderr  # so that what the libraries print is not taken for an answer
    for line in sys.stdin:
        request = json.loads(line)
        action = {
            f.__name__: f
            for f in (
                load,
                count,
                count_anywhere,
                cells,
                fit,
                predict,
                outcome,
                hmm,
                alergia,
                versions,
            )
        }[request.pop("do")]
        try:
            answer = action(state, **request)
        except Exception as error:  # sent to the other side, which raises it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


main()
