"""What the first two steps of learning hand on, and the options of the third."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..errors import RecipeError
from ..strings.words import FloatArray
from .names import REFINEMENTS
from .progress import TrainingLog
from .spectral import TruncatedSVD


@dataclass(frozen=True)
class Refinement:
    """How all parameters are trained together, after the two steps.

    Attributes
    ----------
    objective : str
        One of `REFINEMENTS`.
    epochs : int
        Of "hankel": full-batch steps; of "likelihood": passes over the training strings.
    rate : float
        The learning rate; it falls to 0 along half a cosine.
    batch : int
        "likelihood": strings a step.
    weight_decay : float
        "likelihood": of AdamW (Loshchilov and Hutter 2019).
    dropout : float
        "likelihood": share of the states' entries that a step leaves out; for networks.
    restarts : int
        "likelihood": random starts beside the model of the two steps; the strings that choose choose.
    seed : int

    Raises
    ------
    RecipeError
        If the objective is unknown.
    """

    objective: str = "none"
    epochs: int = 40
    rate: float = 0.01
    batch: int = 500
    weight_decay: float = 0.0
    dropout: float = 0.0
    restarts: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.objective not in REFINEMENTS:
            raise RecipeError(f"refine: {self.objective!r} given, allowed: {', '.join(REFINEMENTS)}")


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A trained auto-encoder of Hankel rows.

    Attributes
    ----------
    latent : array, shape (num_rows, rank)
        φ(H_r) of every row of the Hankel matrix.
    encoder, decoder : tuples of arrays, shapes (width_i, width_{i+1})
        φ takes rows of H divided by `scale`; φ' gives them back so divided.
    scale : float
        H's largest entry. Raw frequencies span 10⁻⁵ … 0.4; the paper says nothing of scaling.
    nonlinear : bool
    log : TrainingLog
    """

    latent: FloatArray
    encoder: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    scale: float
    nonlinear: bool
    log: TrainingLog


@dataclass(frozen=True, eq=False)
class Kept:
    """What learners keep of one matrix, from one call to the next.

    Attributes
    ----------
    svds : dict
        Size -> the SVD of the matrix: one serves several ranks.
    factorisations : dict
        Whether nonlinear -> the options of the last auto-encoder of this kind, and what it came to: fac.non and both.non differ in
        their second step alone.
    """

    svds: dict[int, TruncatedSVD] = field(default_factory=dict)
    factorisations: dict[bool, tuple[dict[str, Any], Factorisation]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Steps:
    """What the two steps learned.

    Attributes
    ----------
    initial : array, shape (num_states,)
    transitions : tuple of arrays, shapes (num_maps, width_i, width_{i+1})
    decoder : tuple of arrays, shapes (width_i, width_{i+1})
        φ' with its last, linear layer, back to rows of H as they are.
    nonlinear : (bool, bool)
        Whether θ is tanh (else the identity) in the transitions, and in the decoder.
    logs : tuple of TrainingLog
    seconds : dict
        Stage -> wall time.
    svd : TruncatedSVD or None
        Of spectral learning.
    """

    initial: FloatArray
    transitions: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    nonlinear: tuple[bool, bool]
    logs: tuple[TrainingLog, ...]
    seconds: dict[str, float]
    svd: TruncatedSVD | None = None
