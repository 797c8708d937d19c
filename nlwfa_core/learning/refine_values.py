"""All parameters of a model together, on the values of strings: least squares over a roll-out, from many starts at once.

The steps are Levenberg's (1944) and Marquardt's (1963). An output that is squared has no sign, so most starts end in poor minima:
short strings find those that don't at little cost, and longer ones sharpen what they found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from .. import limits
from ..errors import RecipeError
from ..hankel.values import ValuedStrings
from ..models.nlwfa import NLWFA
from ..models.wfa import WFA
from ..strings.trie import Trie
from ..strings.words import FloatArray
from .kernels import DTYPE
from .networks import one_thread
from .progress import CancelCheck, Progress, Report, TrainingLog, check_cancelled, never, silent
from .rollout import Rollout, theta, transition_step

TOGETHER = 128  # random starts in one batch
# Batches take turns in how they balance the lengths: strings are divided by their length's usual size to these powers.
BALANCES = (1.0, 0.5)
FEWEST = 8  # starts of a batch that are trained on all strings
SPREAD = 0.5  # of random entries, times √inputs
ENOUGH = 1e-24  # the relative loss below which other starts are not tried
NUMBERS_AT_ONCE = 2**23
DAMPING, SMALLEST_DAMPING, LARGEST_DAMPING = 1e-2, 1e-16, 1e10
SLOW, PATIENCE = 1e-4, 5  # a start is left alone after so many steps that gain less than this share


@one_thread()
def refine_values(
    model: WFA | NLWFA,
    given: ValuedStrings,
    *,
    restarts: int = 128,
    iterations: int = 30,
    seed: int = 0,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> tuple[WFA | NLWFA, TrainingLog]:
    """Minimise Σ (f(x) − value)² over all parameters of a model, from the model itself and from random ones of its shapes.

    Random ones first see the shortest strings, as many as there are parameters; the best quarter then sees twice as many, and so
    on to all. A step costs O(starts · parameters · (nodes of the strings' tree · num_states + parameters²)).

    Parameters
    ----------
    model : WFA or NLWFA
        Whose outputs are as decoded, or squared.
    restarts : int
        Random models, in batches of TOGETHER; the search ends early with one that gives the values to rounding.
    iterations : int
        Steps with each number of strings, at most.

    Returns
    -------
    model : WFA or NLWFA
        That of the smallest error on all strings, never above the given one's. A network keeps the λ-column alone and scores no
        next symbols.
    log : TrainingLog
        Of the given model, and after each batch.

    Raises
    ------
    RecipeError
        If a number is negative, all values are 0, or the Jacobians, of starts × strings × parameters, are too large.
    Cancelled
    """
    for name, number in (("restarts", restarts), ("iterations", iterations)):
        if number < 0:
            raise RecipeError(f"{name}: {number} given, at least 0 needed")
    problem = _Problem(model, given)
    best, everything = problem.start, len(given.words)
    sizes = [min(len(best), everything)]
    most = max(min(restarts, TOGETHER) * sizes[0], (FEWEST + 1) * everything)  # strings × starts
    limits.check_at_most("numbers in the Jacobians of a refinement", most * len(best), limits.most("jacobian_numbers"))
    while sizes[-1] < everything:
        sizes.append(min(2 * sizes[-1], everything))
    plain = _LeastSquares(problem, everything, 0.0)
    losses = [float(plain.errors(best[None]))]
    batches = [min(TOGETHER, restarts - done) for done in range(0, restarts, TOGETHER)] or [0]
    generator = torch.Generator().manual_seed(seed)
    for number, batch in enumerate(batches):
        starts = problem.random(batch, generator)
        for stage, size in enumerate(sizes if batch else ()):
            report(Progress("refinement", number * len(sizes) + stage, len(batches) * len(sizes), losses[-1]))
            balanced = _LeastSquares(problem, size, BALANCES[number % len(BALANCES)])
            starts, errors = balanced.descend(starts, iterations, cancelled)
            starts = starts[errors.argsort()[: max(FEWEST, len(starts) // 4)]]
        starts, errors = plain.descend(torch.cat((starts, best[None])), iterations, cancelled)
        best = starts[errors.argmin()]
        losses.append(float(errors.min()))
        if losses[-1] < ENOUGH:
            break
    report(Progress("refinement", len(batches) * len(sizes), len(batches) * len(sizes), losses[-1]))
    return problem.model_of(best), TrainingLog("refinement", np.array(losses))


class _Problem:
    """A model's parameters as one vector, and what it is to give.

    Attributes
    ----------
    given : ValuedStrings
        The shortest strings first, all values divided by one number.
    start : tensor, shape (num_parameters,)
        The model's own.
    """

    def __init__(self, model: WFA | NLWFA, given: ValuedStrings) -> None:
        largest = float(np.abs(given.values).max(initial=0.0))
        if not largest:
            raise RecipeError("every value is 0: there is nothing to refine by")
        self.model = model
        self.square = isinstance(model, NLWFA) and model.reading.link == "square"
        self.nonlinear = (model.nonlinear_transitions, model.nonlinear_termination) if isinstance(model, NLWFA) else (False, False)
        transitions, decoder = (model.transitions, model.decoder) if isinstance(model, NLWFA) else ((model.transitions,), ())
        self.num_layers = len(transitions)
        # A power of 4: neither it nor its root rounds.
        scale = 4.0 ** np.ceil(np.log2(largest) / 2)
        self.unit = scale**0.5 if self.square else scale
        ordered = given.take(np.argsort(given.words.lengths, kind="stable"))
        self.given = replace(ordered, values=ordered.values / scale)
        arrays = (model.initial, *transitions, *decoder, model.termination / self.unit)
        self.shapes = [array.shape for array in arrays]
        self.start = torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))

    def parts(self, vector: torch.Tensor) -> list[torch.Tensor]:
        """α₀, the layers of the transitions and of the decoder, α∞."""
        pieces = torch.split(vector, [int(np.prod(shape)) for shape in self.shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def random(self, number: int, generator: torch.Generator) -> torch.Tensor:
        """Normally distributed parameters, shape (number, num_parameters)."""
        spreads = [SPREAD / shape[-2 if len(shape) > 1 else 0] ** 0.5 for shape in self.shapes]
        each = torch.cat([torch.full((int(np.prod(shape)),), at) for shape, at in zip(self.shapes, spreads, strict=True)])
        return each * torch.randn((number, len(each)), generator=generator, dtype=DTYPE)

    def model_of(self, vector: torch.Tensor) -> WFA | NLWFA:
        initial, *layers, termination = (part.numpy().copy() for part in self.parts(vector))
        termination *= self.unit
        if isinstance(self.model, WFA):
            return WFA(initial, layers[0], termination)
        output: FloatArray = np.stack((termination, np.zeros_like(termination)), axis=1)
        transitions, decoder = tuple(layers[: self.num_layers]), tuple(layers[self.num_layers :])
        return replace(self.model, initial=initial, transitions=transitions, decoder=decoder, output=output)


class _LeastSquares:
    """The relative squared error on the `number` shortest strings, and its descent for many vectors of parameters at once."""

    def __init__(self, problem: _Problem, number: int, balance: float) -> None:
        self.problem = problem
        part = problem.given.take(np.arange(number))
        trie = Trie.of(part.words, len(part.alphabet))
        self.rollout = Rollout(trie)
        self.ends = self.rollout.place[torch.from_numpy(trie.ends)]
        lengths = part.words.lengths
        squares = np.bincount(lengths, weights=part.values**2) / np.maximum(np.bincount(lengths), 1)
        usual = np.where(squares > 0, squares, 1.0) ** (balance / 2)
        balanced = part.values / usual[lengths]
        norm = float(np.sqrt(balanced @ balanced)) or 1.0
        self.targets, self.weights = torch.from_numpy(balanced / norm), torch.from_numpy(1 / (usual[lengths] * norm))
        # Of forward derivatives: how many columns of a Jacobian, and how many Jacobians.
        self._columns = max(1, NUMBERS_AT_ONCE // (trie.num_nodes * max(shape[-1] for shape in problem.shapes)))
        self._jacobians = torch.func.vmap(self._jacobian, chunk_size=max(1, self._columns // len(problem.start)))
        self._all_residuals = torch.func.vmap(self._residuals)

    def _residuals(self, vector: torch.Tensor) -> torch.Tensor:
        problem = self.problem
        initial, *layers, termination = problem.parts(vector)
        states = self.rollout.states(initial, transition_step(layers[: problem.num_layers], problem.nonlinear[0]))[self.ends]
        for layer in layers[problem.num_layers :]:
            states = theta(states @ layer, problem.nonlinear[1])
        outputs = states @ termination
        return (outputs.square() if problem.square else outputs) * self.weights - self.targets

    def _jacobian(self, vector: torch.Tensor) -> torch.Tensor:
        def along(tangent: torch.Tensor) -> torch.Tensor:
            derivative: torch.Tensor = torch.func.jvp(self._residuals, (vector,), (tangent,))[1]
            return derivative

        columns = torch.func.vmap(along, out_dims=1, chunk_size=self._columns)
        return columns(torch.eye(len(vector), dtype=DTYPE))

    def errors(self, vectors: torch.Tensor) -> torch.Tensor:
        """Shape (num_vectors,); ∞ where one is not a number."""
        return self._all_residuals(vectors).square().sum(dim=1).nan_to_num(nan=torch.inf, posinf=torch.inf)

    def descend(self, vectors: torch.Tensor, iterations: int, cancelled: CancelCheck) -> tuple[torch.Tensor, torch.Tensor]:
        """Better vectors, and their errors: none ends above its own start."""
        vectors, errors = vectors.clone(), self.errors(vectors)
        damping, slow = torch.full_like(errors, DAMPING), torch.zeros_like(errors)
        for _ in range(iterations):
            check_cancelled(cancelled)
            going = torch.nonzero((errors > ENOUGH) & (slow < PATIENCE) & (damping < LARGEST_DAMPING))[:, 0]
            if not len(going):
                break
            steps = self._steps(vectors[going], damping[going])
            moved = vectors[going] + steps
            after, before = self.errors(moved), errors[going]
            better = after < before
            gains = torch.where(better, 1 - after / before, 1.0)
            vectors[going] = torch.where(better[:, None], moved, vectors[going])
            errors[going] = torch.where(better, after, before)
            damping[going] = torch.where(better, damping[going] / 4, damping[going] * 6).clamp(min=SMALLEST_DAMPING)
            slow[going] = torch.where(gains < SLOW, slow[going] + 1, 0.0)
        return vectors, errors

    def _steps(self, vectors: torch.Tensor, damping: torch.Tensor) -> torch.Tensor:
        """(JᵀJ + λ d I)⁻¹ (−Jᵀr), d the mean of JᵀJ's diagonal."""
        J, residuals = self._jacobians(vectors), self._all_residuals(vectors)
        squares = J.mT @ J
        diagonal = squares.diagonal(dim1=1, dim2=2).mean(dim=1) + torch.finfo(DTYPE).tiny
        damped = squares + (damping * diagonal)[:, None, None] * torch.eye(J.shape[2], dtype=DTYPE)
        # Where overflow made the system unsolvable the step is no number, and refused by its error.
        steps: torch.Tensor = torch.linalg.solve_ex(damped, -(J.mT @ residuals[:, :, None]))[0][:, :, 0]
        return steps
