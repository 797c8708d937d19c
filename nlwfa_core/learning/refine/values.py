"""A third step, which fits all parameters of a model together to the values of strings, by least
squares from many starts at once.

The method is that of Levenberg (1944) and Marquardt (1963). If outputs are squared, their signs are
unknown, and most starts end in poor minima. Training on short strings shows at little cost which
starts are better, and only these are then trained on longer strings.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from ... import limits
from ...errors import RecipeError, check_at_least
from ...hankel.valued_strings import ValuedStrings
from ...models.nlwfa import NLWFA
from ...models.reading import reading_for
from ...models.wfa import WFA
from ...strings.trie import Trie
from ...strings.words import FloatArray
from ..progress import CancelCheck, Progress, Report, TrainingLog, check_cancelled, never, silent
from ..tensors import DTYPE, one_thread
from .torch_states import Rollout, theta, transition_step

STARTS_PER_BATCH = 128  # random starts
# How strongly a batch balances strings of different lengths: values are divided by the root mean
# square of their length's values, raised to one of these powers. Batches alternate.
BALANCES = (1.0, 0.5)
MIN_FULL_STARTS = 8  # starts of a batch that are trained on all strings
START_SCALE = 0.5  # standard deviation of random entries, times √inputs
SOLVED_LOSS = 1e-24  # the relative loss below which no other start is tried
ROOT_LOSS = 1e-18  # the same for the square root of a linear model, which does not arise by chance
NUMBERS_PER_CHUNK = 2**23  # numbers in the derivatives that are held at once
DAMPING = 1e-2
MIN_DAMPING = 1e-16
MAX_DAMPING = 1e10
# A start is given up after PATIENCE steps in a row that each lower its loss by less than the share
# MIN_GAIN.
MIN_GAIN = 1e-4
PATIENCE = 5


@one_thread()
def refine_values(
    model: WFA | NLWFA,
    strings: ValuedStrings,
    *,
    restarts: int = 128,
    iterations: int = 30,
    seed: int = 0,
    root: WFA | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> tuple[WFA | NLWFA, TrainingLog]:
    """Minimise Σ (f(x) − value)² over all parameters of a model, starting from the model itself and
    from random models.

    Random models have layers of the same shapes. They are first trained on as many of the shortest
    strings as there are parameters. The best quarter of them is then trained on twice as many
    strings, and so on until all are used. A step costs O(starts · parameters · (num_nodes ·
    num_states + parameters²)), where num_nodes is the size of the strings' prefix tree.

    `model`: its outputs may be squared, but not normalised. `restarts`: the number of random
    models, which are tried in batches of STARTS_PER_BATCH. The search ends early if a model is
    exact up to rounding. `iterations`: the largest number of steps with each number of strings.
    `root`: another start, from `square_root`, which is used if `model` has linear transitions, no
    hidden layer in its decoder, as many states as `root`, and squares its output. If it fits the
    values, there are no random starts.

    Returns `model`: the model with the smallest error on all strings, which is never larger than
    that of the model passed in. A network keeps only its λ-column, so it can no longer compute
    scores of next symbols. `log`: its losses are the relative squared error of the model passed in,
    after training from `root` if there is one, and after each batch.

    Raises RecipeError if a number is negative, all values are 0, or the Jacobians, which hold
    starts × strings × parameters numbers, are too large. Raises Cancelled.
    """
    for name, number in (("restarts", restarts), ("iterations", iterations)):
        check_at_least(name, number, 0)
    problem = _Problem(model, strings)
    best = problem.start
    num_strings = len(strings.words)
    sizes = [min(len(best), num_strings)]
    # strings × starts
    most = max(min(restarts, STARTS_PER_BATCH) * sizes[0], (MIN_FULL_STARTS + 1) * num_strings)
    limits.check_limit(
        "the size of the Jacobians (starts × strings × parameters)",
        most * len(best),
        "jacobian_numbers",
    )
    while sizes[-1] < num_strings:
        sizes.append(min(2 * sizes[-1], num_strings))
    plain = _LeastSquares(problem, num_strings, 0.0)
    losses = [float(plain.errors(best[None]))]
    if root is not None and (start := problem.vector_of(root)) is not None:
        starts, errors = plain.descend(torch.stack((best, start)), iterations, cancelled)
        best = starts[errors.argmin()]
        losses.append(float(errors.min()))
        restarts = 0 if losses[-1] < ROOT_LOSS else restarts
    batches = [
        min(STARTS_PER_BATCH, restarts - done) for done in range(0, restarts, STARTS_PER_BATCH)
    ] or [0]
    generator = torch.Generator().manual_seed(seed)
    for number, batch in enumerate(batches if restarts or len(losses) == 1 else []):
        starts = problem.random(batch, generator)
        for stage, size in enumerate(sizes if batch else ()):
            report(
                Progress(
                    "refinement", number * len(sizes) + stage, len(batches) * len(sizes), losses[-1]
                )
            )
            balanced = _LeastSquares(problem, size, BALANCES[number % len(BALANCES)])
            starts, errors = balanced.descend(starts, iterations, cancelled)
            starts = starts[errors.argsort()[: max(MIN_FULL_STARTS, len(starts) // 4)]]
        starts, errors = plain.descend(torch.cat((starts, best[None])), iterations, cancelled)
        best = starts[errors.argmin()]
        losses.append(float(errors.min()))
        if losses[-1] < SOLVED_LOSS:
            break
    report(Progress("refinement", len(batches) * len(sizes), len(batches) * len(sizes), losses[-1]))
    return problem.model_of(best), TrainingLog("refinement", np.array(losses))


class _Problem:
    """A model's parameters as one vector, and the strings whose values it should compute.

    `strings`: the strings, shortest first, with all values divided by the same number. `start`
    (num_parameters,): the model's own parameters. `reading`: how outputs are read, including
    whether they are squared. Those of a WFA are not.
    """

    def __init__(self, model: WFA | NLWFA, strings: ValuedStrings) -> None:
        largest = float(np.abs(strings.values).max(initial=0.0))
        if not largest:
            raise RecipeError("every value is 0: there is nothing to refine on")
        self.model = model
        self.reading = (
            model.reading if isinstance(model, NLWFA) else reading_for("none", bounded=False)
        )
        self.nonlinear = (
            (model.nonlinear_transitions, model.nonlinear_termination)
            if isinstance(model, NLWFA)
            else (False, False)
        )
        transitions, decoder = (
            (model.transitions, model.decoder)
            if isinstance(model, NLWFA)
            else ((model.transitions,), ())
        )
        self.num_layers = len(transitions)
        # A power of 4: neither it nor its root is rounded.
        scale = 4.0 ** np.ceil(np.log2(largest) / 2)
        self.unit = scale**0.5 if self.reading.link == "square" else scale
        ordered = strings.take(np.argsort(strings.words.lengths, kind="stable"))
        self.strings = replace(ordered, values=ordered.values / scale)
        arrays = (model.initial, *transitions, *decoder, model.termination / self.unit)
        self.shapes = [array.shape for array in arrays]
        self.start = torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))

    def parts(self, vector: torch.Tensor) -> list[torch.Tensor]:
        """Split a vector of parameters into α₀, the layers of the transitions, the layers of the
        decoder, and α∞.
        """
        pieces = torch.split(vector, [int(np.prod(shape)) for shape in self.shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def vector_of(self, model: WFA) -> torch.Tensor | None:
        """Convert a WFA whose squared output should be f to parameters; None unless this model's
        layers have the same shapes.
        """
        arrays = (model.initial, model.transitions, model.termination / self.unit)
        if self.reading.link != "square" or [array.shape for array in arrays] != list(self.shapes):
            return None
        return torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))

    def random(self, number: int, generator: torch.Generator) -> torch.Tensor:
        """Draw normally distributed parameters, shape (number, num_parameters)."""
        spreads = [START_SCALE / shape[-2 if len(shape) > 1 else 0] ** 0.5 for shape in self.shapes]
        each = torch.cat(
            [
                torch.full((int(np.prod(shape)),), at)
                for shape, at in zip(self.shapes, spreads, strict=True)
            ]
        )
        return each * torch.randn((number, len(each)), generator=generator, dtype=DTYPE)

    def model_of(self, vector: torch.Tensor) -> WFA | NLWFA:
        initial, *layers, termination = (part.numpy().copy() for part in self.parts(vector))
        termination *= self.unit
        if isinstance(self.model, WFA):
            return WFA(initial, layers[0], termination)
        output: FloatArray = np.stack((termination, np.zeros_like(termination)), axis=1)
        transitions = tuple(layers[: self.num_layers])
        decoder = tuple(layers[self.num_layers :])
        return replace(
            self.model, initial=initial, transitions=transitions, decoder=decoder, output=output
        )


class _LeastSquares:
    """Minimises the relative squared error on the `number` shortest strings, from many vectors of
    parameters at once.
    """

    def __init__(self, problem: _Problem, number: int, balance: float) -> None:
        self.problem = problem
        part = problem.strings.take(np.arange(number))
        trie = Trie.of(part.words, len(part.alphabet))
        self.rollout = Rollout(trie)
        self.ends = self.rollout.row[torch.from_numpy(trie.ends)]
        lengths = part.words.lengths
        squares = np.bincount(lengths, weights=part.values**2) / np.maximum(np.bincount(lengths), 1)
        typical = np.where(squares > 0, squares, 1.0) ** (balance / 2)
        balanced = part.values / typical[lengths]
        norm = float(np.sqrt(balanced @ balanced)) or 1.0
        self.targets = torch.from_numpy(balanced / norm)
        self.weights = torch.from_numpy(1 / (typical[lengths] * norm))
        # How many columns of a Jacobian, and how many Jacobians, are computed at once.
        self._columns = max(
            1, NUMBERS_PER_CHUNK // (trie.num_nodes * max(shape[-1] for shape in problem.shapes))
        )
        self._jacobians = torch.func.vmap(
            self._jacobian, chunk_size=max(1, self._columns // len(problem.start))
        )
        self._all_residuals = torch.func.vmap(self._residuals)

    def _residuals(self, vector: torch.Tensor) -> torch.Tensor:
        problem = self.problem
        initial, *layers, termination = problem.parts(vector)
        states = self.rollout.states(
            initial, transition_step(layers[: problem.num_layers], problem.nonlinear[0])
        )[self.ends]
        for layer in layers[problem.num_layers :]:
            states = theta(states @ layer, problem.nonlinear[1])
        outputs = states @ termination
        residuals: torch.Tensor = problem.reading.linked(outputs) * self.weights - self.targets
        return residuals

    def _jacobian(self, vector: torch.Tensor) -> torch.Tensor:
        def along(tangent: torch.Tensor) -> torch.Tensor:
            derivative: torch.Tensor = torch.func.jvp(self._residuals, (vector,), (tangent,))[1]
            return derivative

        columns = torch.func.vmap(along, out_dims=1, chunk_size=self._columns)
        return columns(torch.eye(len(vector), dtype=DTYPE))

    def errors(self, vectors: torch.Tensor) -> torch.Tensor:
        """Compute the relative squared error for each vector of parameters, shape (num_vectors,); ∞
        in place of nan.
        """
        return (
            self._all_residuals(vectors)
            .square()
            .sum(dim=1)
            .nan_to_num(nan=torch.inf, posinf=torch.inf)
        )

    def descend(
        self, vectors: torch.Tensor, iterations: int, cancelled: CancelCheck
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take at most `iterations` steps from each vector.

        Returns the new vectors and their errors, which never grow.
        """
        vectors, errors = vectors.clone(), self.errors(vectors)
        damping = torch.full_like(errors, DAMPING)
        slow_steps = torch.zeros_like(errors)
        for _ in range(iterations):
            check_cancelled(cancelled)
            active = torch.nonzero(
                (errors > SOLVED_LOSS) & (slow_steps < PATIENCE) & (damping < MAX_DAMPING)
            )[:, 0]
            if not len(active):
                break
            steps = self._steps(vectors[active], damping[active])
            moved = vectors[active] + steps
            after = self.errors(moved)
            before = errors[active]
            better = after < before
            gains = torch.where(better, 1 - after / before, 1.0)
            vectors[active] = torch.where(better[:, None], moved, vectors[active])
            errors[active] = torch.where(better, after, before)
            damping[active] = torch.where(better, damping[active] / 4, damping[active] * 6).clamp(
                min=MIN_DAMPING
            )
            slow_steps[active] = torch.where(gains < MIN_GAIN, slow_steps[active] + 1, 0.0)
        return vectors, errors

    def _steps(self, vectors: torch.Tensor, damping: torch.Tensor) -> torch.Tensor:
        """Compute the steps (JᵀJ + λ d I)⁻¹ (−Jᵀr), where λ is the damping and d the mean of the
        diagonal of JᵀJ.
        """
        J = self._jacobians(vectors)
        residuals = self._all_residuals(vectors)
        squares = J.mT @ J
        diagonal = squares.diagonal(dim1=1, dim2=2).mean(dim=1) + torch.finfo(DTYPE).tiny
        damped = squares + (damping * diagonal)[:, None, None] * torch.eye(J.shape[2], dtype=DTYPE)
        # If overflow makes the system unsolvable, the step is nan, and so is its error: the step is
        # rejected.
        steps: torch.Tensor = torch.linalg.solve_ex(damped, -(J.mT @ residuals[:, :, None]))[0][
            :, :, 0
        ]
        return steps
