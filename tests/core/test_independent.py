"""From files to printed numbers, against plain NumPy and dictionaries that import nothing of the
library.

The definitions are those of the papers: Hankel matrices by counting, spectral learning by a dense
SVD (Balle et al. 2014), conversions by I − A, the forward pass of networks from the stored arrays
(Li, Rabusseau, Precup 2018), and each score by its formula, in loops over strings. The files have
empty and repeated strings, and symbols that the others lack; the models have negative weights; the
true automaton has a state that nothing reaches, and one that never ends.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from nlwfa_core.cli.main import main

Array = np.ndarray
Word = tuple[int, ...]
Weight = Callable[[Word], float]
Following = Callable[[Word], Array]  # scores of each symbol, and last of the end of the string

NUM_SYMBOLS = 6
RANK = 3
NAMES = "abcdef"


def draw(seed: int, number: int, symbols: int) -> list[Word]:
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(symbols, 2.0), symbols + 1)
    words = []
    for length in rng.geometric(0.35, number) - 1:
        word: list[int] = []
        for _ in range(length):
            word.append(int(rng.choice(symbols, p=share[word[-1] if word else symbols])))
        words.append(tuple(word))
    return words


# no test string has the last symbol
TRAIN = draw(1, 400, NUM_SYMBOLS)
TEST = draw(2, 60, NUM_SYMBOLS - 1)


# Learning


def cells(words: Sequence[Word], statistic: str) -> Counter[tuple[Word, Word]]:
    """How often each row u is followed by each column v, as the statistic counts it."""
    counts: Counter[tuple[Word, Word]] = Counter()
    for word in words:
        size = len(word)
        for start in range(size + 1) if statistic in ("factor", "suffix") else [0]:
            for middle in range(start, size + 1):
                for end in [size] if statistic in ("string", "suffix") else range(middle, size + 1):
                    counts[word[start:middle], word[middle:end]] += 1
    return counts


def most_frequent(counts: Counter[Word], number: int, symbols_first: bool = False) -> list[Word]:
    def order(word: Word) -> tuple[object, ...]:
        return (
            symbols_first and len(word) > 1,
            symbols_first and len(word) > 0,
            -counts[word],
            len(word),
            word,
        )

    return sorted(counts, key=order)[:number]


def basis(words: Sequence[Word], statistic: str, number: int) -> tuple[list[Word], list[Word]]:
    begins = Counter(word[:end] for word in words for end in range(len(word) + 1))
    ends = Counter(word[start:] for word in words for start in range(len(word) + 1))
    factors = Counter(
        factor
        for word in words
        for start in range(len(word) + 1)
        for end in range(start, len(word) + 1)
        for factor in [word[start:end]]
    )
    rows = most_frequent(factors if statistic in ("factor", "suffix") else begins, number)
    columns = (
        most_frequent(ends, number)
        if statistic in ("string", "suffix")
        else most_frequent(factors, number, True)
    )
    return rows, columns


@dataclass(frozen=True)
class Automaton:
    initial: Array
    transitions: Array
    termination: Array

    def state(self, word: Word) -> Array:
        state = self.initial
        for symbol in word:
            state = state @ self.transitions[symbol]
        return state

    def weight(self, word: Word) -> float:
        return float(self.state(word) @ self.termination)

    @cached_property
    def total(self) -> Array:
        """The weight of all strings from each state: the sum over lengths, not a solution of linear
        equations.
        """
        step = self.transitions.sum(axis=0)
        power = self.termination
        total = self.termination.copy()
        for _ in range(5_000):
            power = step @ power
            total += power
        return total

    def following(self, word: Word) -> Array:
        state = self.state(word)
        return np.array(
            [*(state @ A @ self.total for A in self.transitions), state @ self.termination]
        )


def spectral(words: Sequence[Word], statistic: str, number: int) -> Automaton:
    """An automaton of string probabilities, learned from any statistic."""
    rows, columns = basis(words, statistic, number)
    counts = cells(words, statistic)
    block = np.array([[counts[u, v] for v in columns] for u in rows]) / len(words)
    shifted = np.array(
        [[[counts[(*u, a), v] for v in columns] for u in rows] for a in range(NUM_SYMBOLS)]
    ) / len(words)
    V = np.linalg.svd(block)[2][:RANK].T
    A = np.linalg.pinv(block @ V) @ shifted @ V
    initial = block[rows.index(())] @ V
    termination = V[columns.index(())]
    rest = np.eye(RANK) - A.sum(axis=0)
    if statistic in ("prefix", "factor"):
        termination = rest @ termination
    return Automaton(
        initial @ rest if statistic in ("factor", "suffix") else initial, A, termination
    )


@dataclass(frozen=True)
class Network:
    """The arrays of a saved network, and what its header says of them."""

    arrays: dict[str, Array]
    header: dict[str, object]

    def layers(self, states: Array, name: str, nonlinear: bool, symbol: int | None = None) -> Array:
        for index in range(sum(key.startswith(name) for key in self.arrays)):
            layer = self.arrays[f"{name}.{index}"]
            states = states @ (layer if symbol is None else layer[symbol])
            states = np.tanh(states) if nonlinear else states
        return states

    def step(self, state: Array, symbol: int) -> Array:
        return self.layers(state, "transitions", bool(self.header["nonlinear_transitions"]), symbol)

    def outputs(self, state: Array) -> Array:
        outputs = (
            self.layers(state, "decoder", bool(self.header["nonlinear_termination"]))
            @ self.arrays["output"]
        )
        return outputs**2 if self.header["link"] == "square" else outputs

    def state(self, word: Word) -> Array:
        state = self.arrays["initial"]
        for symbol in word:
            state = self.step(state, symbol)
        return state

    def following(self, word: Word) -> Array:
        state = self.state(word)
        reading = self.header["reading"]
        if reading == "conditional":
            return self.outputs(state)
        first = 1 if reading == "string" else 0
        end = self.outputs(state if reading == "string" else self.step(state, NUM_SYMBOLS))[0]
        return np.array(
            [*(self.outputs(self.step(state, a))[first:].sum() for a in range(NUM_SYMBOLS)), end]
        )

    def weight(self, word: Word) -> float:
        if self.header["reading"] != "conditional":
            return float(self.following(word)[-1])
        symbols = [*word, NUM_SYMBOLS]
        return float(
            np.prod([self.following(word[:index])[symbol] for index, symbol in enumerate(symbols)])
        )


# Scores


def shares(scores: Array) -> Array:
    return np.abs(scores) / np.abs(scores).sum()


def next_scores(
    following: Following, words: Sequence[Word], truth: Following | None
) -> dict[str, float]:
    sums: Counter[str] = Counter()
    symbols = 0
    for word in words:
        for index, actual in enumerate([*word, NUM_SYMBOLS]):
            scores = following(word[:index])
            p = shares(scores)
            ranking = np.argsort(-scores)[:5]
            sums["wer"] += scores.argmax() != actual
            sums["bits_per_symbol"] -= np.log2(p[actual])
            sums["ndcg5"] += sum(
                1 / np.log2(place + 2) for place, symbol in enumerate(ranking) if symbol == actual
            )
            if actual < NUM_SYMBOLS:
                symbols += 1
                sums["wer_without_end"] += scores[:-1].argmax() != actual
                sums["bits_without_end"] -= np.log2(shares(scores[:-1])[actual])
            if truth is not None:
                true = shares(truth(word[:index]))
                discount = 1 / np.log2(np.arange(2, 7))
                sums["ndcg5_true"] += (
                    true[ranking] @ discount / (np.sort(true)[::-1][:5] @ discount)
                )
                sums["next_kl"] += sum(
                    t * np.log2(t / q) for t, q in zip(true, p, strict=True) if t > 0
                )
    number = sum(len(word) + 1 for word in words)
    return {
        name: value / (symbols if name.endswith("without_end") else number)
        for name, value in sums.items()
    }


def total_variation(P: dict[Word, float], Q: dict[Word, float]) -> float:
    total_P = sum(P.values())
    total_Q = sum(Q.values())
    return sum(abs(P[word] / total_P - Q[word] / total_Q) for word in P) / 2


def word_scores(weight: Weight, words: Sequence[Word], truth: Weight | None) -> dict[str, float]:
    counts = Counter(words)
    rows = list(counts) if truth is None else list(words)
    outputs = np.array([weight(word) for word in rows])
    target = np.array(
        [counts[word] if truth is None else truth(word) for word in rows], dtype=float
    )
    P = target / target.sum()
    Q = shares(outputs)
    scores = {
        "log2_pauto": -(P @ np.log2(Q)),
        "uniform_log2_pauto": np.log2(len(rows)),
        "num_negative": (outputs < 0).sum(),
    }
    if truth is not None:
        scores |= {
            "kl": P @ np.log2(P / Q),
            "total_variation": total_variation(
                dict(zip(rows, P, strict=True)), dict(zip(rows, Q, strict=True))
            ),
            "rmse": np.sqrt(((outputs - target) ** 2).mean()),
            "true_log2_pauto": -(P @ np.log2(P)),
        }
    return {name: float(value) for name, value in scores.items()}


# The command line


def pautomac(words: Sequence[Word]) -> str:
    lines = [
        f"{len(words)} {NUM_SYMBOLS}",
        *(" ".join(map(str, [len(word), *word])) for word in words),
    ]
    return "\n".join(lines) + "\n"


def table(words: Sequence[Word]) -> str:
    rows = Counter(" ".join(NAMES[symbol] for symbol in word) for word in words)
    return "tokens,count\n" + "".join(f'"{text}",{count}\n' for text, count in rows.items())


def json_lines(words: Sequence[Word]) -> str:
    return "".join(json.dumps([NAMES[symbol] for symbol in word]) + "\n" for word in words)


def command(capsys: pytest.CaptureFixture[str], line: str) -> str:
    code = main(line.split())
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def check_close(found: object, expected: float, name: str) -> None:
    assert isinstance(found, int | float), (name, found)
    assert abs(found - expected) <= 1e-9 * max(1.0, abs(expected)), (name, found, expected)


def check_model(
    capsys: pytest.CaptureFixture[str],
    model: Automaton | Network,
    known: Automaton | None,
    digits: bool,
) -> None:
    """Compare `score`, `weights` and `next` of the model in the folder "model" on the file
    "test".
    """
    option = "" if known is None else "--true-model truth"
    printed = json.loads(command(capsys, f"score --model model --test test --json {option}"))
    expected = next_scores(model.following, TEST, known.following if known else None)
    expected |= word_scores(model.weight, TEST, known.weight if known else None)
    for name, value in expected.items():
        check_close(printed[name], value, name)
    assert printed["num_zero"] == printed["num_nonfinite"] == 0
    weights = [
        float(line) for line in command(capsys, "weights --model model --words test").split()
    ]
    np.testing.assert_allclose(
        weights, [model.weight(word) for word in TEST], rtol=1e-9, atol=1e-13
    )
    word = max(TEST, key=len)
    prefix = " ".join(map(str, word)) if digits else " ".join(NAMES[symbol] for symbol in word)
    main(["next", "--model", "model", "--prefix", prefix, "--json"])
    following = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(
        [*following["scores"].values(), following["end"]],
        model.following(word),
        rtol=1e-9,
        atol=1e-13,
    )


@pytest.mark.parametrize("form", ["table", "pautomac"])
@pytest.mark.parametrize("statistic", ["string", "prefix", "factor", "suffix"])
def test_spectral_learning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    statistic: str,
    form: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    digits = form == "pautomac"
    Path("train").write_text(pautomac(TRAIN) if digits else table(TRAIN))
    Path("test").write_text(pautomac(TEST) if digits else json_lines(TEST))
    command(
        capsys,
        f"fit --train train --learner SP --rank {RANK} --statistic {statistic} --prefixes 14 "
        "--suffixes 14 --out model",
    )
    check_model(capsys, spectral(TRAIN, statistic, 14), None, digits)


NETWORKS = [
    ("both.non", "string", "none"),
    ("both.non", "string", "sqrt"),
    ("fac.non", "prefix", "none"),
    ("tran.non", "factor", "sqrt"),
    ("tran.non", "prefix", "row"),
]


@pytest.mark.parametrize(("learner", "statistic", "transform"), NETWORKS)
def test_the_forward_pass_of_networks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    learner: str,
    statistic: str,
    transform: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train").write_text(table(TRAIN))
    Path("test").write_text(json_lines(TEST))
    epochs = "--optimizer adamax --epochs-factorisation 9 --epochs-transitions 9"
    options = (
        f"--learner {learner} --rank {RANK} --statistic {statistic} --transform {transform} "
        f"--prefixes 20 --suffixes 20 {epochs}"
    )
    command(capsys, f"fit --train train {options} --out model")
    model = Network(
        load_file("model/model.safetensors"), json.loads(Path("model/model.json").read_text())
    )
    check_model(capsys, model, None, digits=False)


def probabilistic(seed: int) -> tuple[Automaton, str]:
    """An automaton as arrays and as a file.

    State 3 is never reached, and state 4 never ends; each has rows of sum 1.
    """
    rng = np.random.default_rng(seed)
    initial = np.array([0.6, 0.3, 0.1, 0.0, 0.0])
    end = np.array([0.3, 0.25, 0.4, 0.0, 0.0])
    emitted = rng.dirichlet(np.ones(NUM_SYMBOLS), 5)
    moves = rng.dirichlet(np.ones(5), (5, NUM_SYMBOLS))
    moves[:3, :, 3:] = 0
    moves[0, 0] = [0.5, 0.25, 0.125, 0.0, 0.125]  # the mass that enters state 4 is lost
    moves[4] = [0.0, 0.0, 0.0, 0.0, 1.0]
    moves /= moves.sum(axis=2, keepdims=True)
    lines = ["I: (state)", *(f"({q}) {p!r}" for q, p in enumerate(initial.tolist()) if p)]
    lines += ["F: (state)", *(f"({q}) {p!r}" for q, p in enumerate(end.tolist()))]
    lines += [
        "S: (state,symbol)",
        *(f"({q},{a}) {emitted[q, a].item()!r}" for q, a in np.ndindex(*emitted.shape)),
    ]
    lines += [
        "T: (state,symbol,state)",
        *(f"({q},{a},{r}) {moves[q, a, r].item()!r}" for q, a, r in np.ndindex(*moves.shape)),
    ]
    transitions = np.einsum("q,qa,qar->aqr", 1 - end, emitted, moves)
    return Automaton(initial, transitions, end), "\n".join(lines) + "\n"


@pytest.mark.parametrize("statistic", ["string", "factor"])
def test_scores_against_a_true_model_with_useless_states(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    statistic: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    truth, text = probabilistic(5)
    # the others change no weight
    useful = Automaton(truth.initial[:3], truth.transitions[:, :3, :3], truth.termination[:3])
    Path("truth").write_text(text)
    Path("train").write_text(pautomac(TRAIN))
    Path("test").write_text(pautomac(TEST))
    command(
        capsys,
        f"fit --train train --learner SP --rank {RANK} --statistic {statistic} --prefixes 14 "
        "--suffixes 14 --out model",
    )
    model = spectral(TRAIN, statistic, 14)
    assert word_scores(model.weight, TEST, None)["num_negative"] > 0 or statistic == "factor"
    check_model(capsys, model, useful, digits=True)


def test_mass_and_radius_with_useless_states() -> None:
    from nlwfa_core import WFA, read_pautomac_model

    truth, text = probabilistic(5)
    model = read_pautomac_model(text.encode())
    useful = Automaton(truth.initial[:3], truth.transitions[:, :3, :3], truth.termination[:3])
    mass = float(useful.initial @ useful.total)
    assert 0.5 < mass < 1
    check_close(model.total_weight(), mass, "mass")
    check_close(
        model.spectral_radius,
        float(np.abs(np.linalg.eigvals(useful.transitions.sum(axis=0))).max()),
        "radius",
    )
    for statistic in ("string", "prefix", "factor"):
        learned = spectral(TRAIN, statistic, 14)
        own = WFA(learned.initial, learned.transitions, learned.termination)
        radius = float(np.abs(np.linalg.eigvals(learned.transitions.sum(axis=0))).max())
        check_close(own.spectral_radius, radius, "radius")
        check_close(
            own.total_weight(),
            float(learned.initial @ learned.total) if radius < 1 else float("inf"),
            "mass",
        )
