"""Implement the paper in a plain way, as an opponent to compare with. This file uses nothing from
`nlwfa_core`.

Source: Li, Rabusseau and Precup (2018), §2.3 and §4. Dictionaries for counts, a dense H over the
p-closure, a full SVD, autograd on the full reconstruction, one training loop for each symbol,
evaluation word by word. What the paper leaves open is as in the core (scaling by the largest entry,
the weights of the best epoch, next symbols by row sums), so results can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

Word = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PlainHankel:
    """Dense H over P' = P ∪ PΣ, the prefixes' rows first; `shifted[u][σ]` is the row of uσ."""

    matrix: np.ndarray  # (num_closure_rows, num_suffixes), float64
    shifted: np.ndarray  # (num_prefixes, num_symbols)
    num_prefixes: int

    @property
    def num_symbols(self) -> int:
        return self.shifted.shape[1]


def estimate(
    words: Sequence[Word], num_symbols: int, num_prefixes: int, num_suffixes: int
) -> PlainHankel:
    """Choose the most frequent prefixes and suffixes (ties by length, then alphabetically); H[u, v]
    is the frequency of uv.
    """
    counts = Counter(words)
    begins: Counter[Word] = Counter()
    ends: Counter[Word] = Counter()
    for word in words:
        for cut in range(len(word) + 1):
            begins[word[:cut]] += 1
            ends[word[cut:]] += 1

    def most_frequent(counts: Counter[Word], number: int) -> list[Word]:
        return sorted(counts, key=lambda word: (-counts[word], len(word), word))[:number]

    prefixes = most_frequent(begins, num_prefixes)
    suffixes = most_frequent(ends, num_suffixes)
    row = {word: number for number, word in enumerate(prefixes)}
    for u in prefixes:
        for symbol in range(num_symbols):
            row.setdefault((*u, symbol), len(row))
    column = {word: number for number, word in enumerate(suffixes)}
    matrix = np.zeros((len(row), len(column)))
    for word, count in counts.items():
        for cut in range(len(word) + 1):
            if word[:cut] in row and word[cut:] in column:
                matrix[row[word[:cut]], column[word[cut:]]] = count / len(words)
    shifted = np.array([[row[(*u, symbol)] for symbol in range(num_symbols)] for u in prefixes])
    return PlainHankel(matrix, shifted, len(prefixes))


def count_anywhere(
    words: Sequence[Word],
    num_symbols: int,
    prefixes: Sequence[Word],
    suffixes: Sequence[Word],
    statistic: str,
) -> PlainHankel:
    """Estimate H on a given basis: H[u, v] is how often uv begins a string ("prefix") or occurs in
    one ("factor"), on average.
    """
    row = {word: number for number, word in enumerate(prefixes)}
    for u in prefixes:
        for symbol in range(num_symbols):
            row.setdefault((*u, symbol), len(row))
    column = {word: number for number, word in enumerate(suffixes)}
    longest = max(map(len, suffixes))
    matrix = np.zeros((len(row), len(column)))
    for word, count in Counter(words).items():
        for start in range(len(word) + 1 if statistic == "factor" else 1):
            for middle in range(start, len(word) + 1):
                here = row.get(word[start:middle])
                if here is None:
                    break  # nor is anything longer: the rows are prefix-closed
                for end in range(middle, min(middle + longest, len(word)) + 1):
                    there = column.get(word[middle:end])
                    if there is not None:
                        matrix[here, there] += count
    shifted = np.array([[row[(*u, symbol)] for symbol in range(num_symbols)] for u in prefixes])
    return PlainHankel(matrix / len(words), shifted, len(prefixes))


def activate(values: torch.Tensor, nonlinear: bool) -> torch.Tensor:
    return torch.tanh(values) if nonlinear else values


def through(values: torch.Tensor, layers: Sequence[torch.Tensor], nonlinear: bool) -> torch.Tensor:
    for layer in layers:
        values = activate(values @ layer, nonlinear)
    return values


class Training:
    """Full-batch Adamax on a loss; `step` is one epoch."""

    def __init__(
        self, layers: Sequence[torch.Tensor], loss: Callable[[], torch.Tensor], rate: float
    ) -> None:
        self.layers = layers
        self.loss = loss
        self.optimizer = torch.optim.Adamax(layers, lr=rate)

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()

    def run(self, epochs: int) -> list[float]:
        """Train; return the losses after 0 … epochs steps, and keep the weights of the smallest."""
        losses: list[float] = []
        best: list[torch.Tensor] = []
        for epoch in range(epochs + 1):
            self.optimizer.zero_grad()
            loss = self.loss()
            losses.append(float(loss.detach()))
            if losses[-1] == min(losses):
                best = [layer.detach().clone() for layer in self.layers]
            if epoch < epochs:
                loss.backward()
                self.optimizer.step()
        with torch.no_grad():
            for layer, best_layer in zip(self.layers, best, strict=True):
                layer.copy_(best_layer)
        return losses


class AutoEncoder:
    """Step 1: squared error of the full reconstruction, relative to ‖H‖².

    `initial` are the weights to start from, encoder then decoder.
    """

    def __init__(
        self,
        matrix: np.ndarray,
        initial: Sequence[np.ndarray],
        nonlinear: bool,
        dtype: torch.dtype,
        rate: float = 0.015,
    ) -> None:
        self.scale = float(np.abs(matrix).max())
        self.H = torch.from_numpy(matrix / self.scale).to(dtype)
        self.layers = [torch.tensor(layer, dtype=dtype, requires_grad=True) for layer in initial]
        self.nonlinear = nonlinear
        norm = (self.H**2).sum()

        def loss() -> torch.Tensor:
            hidden = through(self.H, self.layers[:-1], nonlinear)
            return ((hidden @ self.layers[-1] - self.H) ** 2).sum() / norm

        self.training = Training(self.layers, loss, rate)

    @property
    def depth(self) -> int:
        return len(self.layers) // 2

    def latent(self) -> torch.Tensor:
        with torch.no_grad():
            # (num_closure_rows, rank)
            return through(self.H, self.layers[: self.depth], self.nonlinear)


def transition_trainings(
    latent: torch.Tensor,
    hankel: PlainHankel,
    initial: Sequence[np.ndarray],
    nonlinear: bool,
    rate: float = 0.001,
) -> list[Training]:
    """Step 2: one network and one loop for each symbol; losses are relative to the targets of all
    symbols together.
    """
    Z = latent[: hankel.num_prefixes]
    norm = (
        sum(
            float((latent[hankel.shifted[:, symbol]] ** 2).sum())
            for symbol in range(hankel.num_symbols)
        )
        or 1.0
    )

    def training(symbol: int) -> Training:
        layers = [
            torch.tensor(layer[symbol], dtype=latent.dtype, requires_grad=True) for layer in initial
        ]
        target = latent[hankel.shifted[:, symbol]]
        return Training(
            layers, lambda: ((through(Z, layers, nonlinear) - target) ** 2).sum() / norm, rate
        )

    return [training(symbol) for symbol in range(hankel.num_symbols)]


class NetworkModel:
    """α₀, G_σ and G_λ of a trained auto-encoder and its transitions, evaluated word by word."""

    def __init__(
        self, coder: AutoEncoder, trainings: Sequence[Training], nonlinear_transitions: bool
    ) -> None:
        self.initial = coder.latent()[0]
        self.transitions = [[layer.detach() for layer in training.layers] for training in trainings]
        self.decoder = [layer.detach() for layer in coder.layers[coder.depth : -1]]
        last = coder.layers[-1].detach() * coder.scale
        self.termination = last[:, 0]
        self.row_sum = last.sum(dim=1)
        self.nonlinear_transitions = nonlinear_transitions
        self.nonlinear_termination = coder.nonlinear

    def after(self, state: torch.Tensor, symbol: int) -> torch.Tensor:
        return through(state, self.transitions[symbol], self.nonlinear_transitions)

    def ends(self, state: torch.Tensor) -> float:
        return float(through(state, self.decoder, self.nonlinear_termination) @ self.termination)

    def goes_on(self, state: torch.Tensor, symbol: int) -> float:
        return float(
            through(self.after(state, symbol), self.decoder, self.nonlinear_termination)
            @ self.row_sum
        )


class SpectralModel:
    """SP by a full SVD, evaluated word by word."""

    def __init__(self, hankel: PlainHankel, rank: int) -> None:
        block = hankel.matrix[: hankel.num_prefixes]
        U, D, Vt = np.linalg.svd(block, full_matrices=False)
        V = Vt[:rank].T
        inverse = (U[:, :rank] / D[:rank]).T
        self.transitions = [
            inverse @ hankel.matrix[hankel.shifted[:, symbol]] @ V
            for symbol in range(hankel.num_symbols)
        ]
        self.initial = block[0] @ V
        self.termination = V[0]
        self.following = np.linalg.solve(np.eye(rank) - sum(self.transitions), self.termination)

    def after(self, state: np.ndarray, symbol: int) -> np.ndarray:
        return state @ self.transitions[symbol]

    def ends(self, state: np.ndarray) -> float:
        return float(state @ self.termination)

    def goes_on(self, state: np.ndarray, symbol: int) -> float:
        return float(self.after(state, symbol) @ self.following)


Model = NetworkModel | SpectralModel


def states(model: Model, word: Word) -> Iterator[torch.Tensor | np.ndarray]:
    """States after every prefix of a word, from λ on."""
    state = model.initial
    yield state
    for symbol in word:
        state = model.after(state, symbol)
        yield state


def weight(model: Model, word: Word) -> float:
    *_, last = states(model, word)
    return model.ends(last)


@torch.no_grad()
def scores(
    model: Model, words: Sequence[Word], target: np.ndarray, num_symbols: int
) -> dict[str, float]:
    """Compute the Pautomac score, the word error rate with and without the end, and bits per
    symbol.
    """
    outputs = np.abs([weight(model, word) for word in words])
    log_model = np.log2(outputs / outputs.sum())
    wrong = wrong_inner = inner = total = 0
    bits = bits_inner = 0.0
    for word in words:
        for state, right in zip(states(model, word), (*word, num_symbols), strict=True):
            following = np.array(
                [
                    *(model.goes_on(state, symbol) for symbol in range(num_symbols)),
                    model.ends(state),
                ]
            )
            total += 1
            wrong += int(following.argmax() != right)
            bits += float(np.log2(np.abs(following).sum()) - np.log2(abs(following[right])))
            if right < num_symbols:
                inner += 1
                wrong_inner += int(following[:-1].argmax() != right)
                bits_inner -= float(np.log2(abs(following[right]) / np.abs(following[:-1]).sum()))
    return {
        "log2_pauto": float(-(target / target.sum()) @ log_model),
        "wer": wrong / total,
        "wer_without_end": wrong_inner / inner,
        "bits_per_symbol": bits / total,
        "bits_without_end": bits_inner / inner,
    }
