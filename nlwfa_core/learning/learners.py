"""The learners: a record of options for each, and the registries from which users choose.

A record knows how to learn; `fitting` runs it. The modules that do the work are imported only then,
so recipes, pages and the command line can use the records without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..errors import check_types
from ..records import option
from .kinds import HankelLearner, StringLearner
from .names import EM_STARTS, PSEUDO_COUNT
from .shared_options import (
    ByObjective,
    FromValues,
    LearnerOptions,
    Networks,
    learner_option,
    options_from,
    registry_of,
    seed_option,
    starts_option,
)

if TYPE_CHECKING:
    from ..hankel.matrix import HankelMatrix
    from ..models.recurrent import RecurrentModel
    from ..models.wfa import WFA
    from ..strings.sample import Sample
    from .likelihood.path import Stage
    from .progress import CancelCheck, Report
    from .two_steps import FitCache, Learned


class SP(HankelLearner):
    """Spectral learning. Its only options are the rank and the refinement.

    >>> from nlwfa_core import options
    >>> options("SP", rank=5)
    SP(learner='SP', rank=5, refine='none')
    """

    title: ClassVar[str] = "spectral learning, linear"
    is_random: ClassVar[bool] = False
    objective: ClassVar[str] = "hankel"

    learner: Literal["SP"] = learner_option("SP")

    def two_steps(
        self,
        hankel: HankelMatrix,
        validation: Sample | None,
        cache: FitCache,
        report: Report,
        cancelled: CancelCheck,
    ) -> Learned:
        """Compute the SVD of H, then all A_σ."""
        from .two_steps import spectral_steps

        return spectral_steps(hankel, self.rank, cache, report)


class NetworkLearner(HankelLearner, Networks, ByObjective):
    """The options of an auto-encoder and a network for each symbol, or of networks trained by
    likelihood.

    >>> from nlwfa_core import options
    >>> options("both.non", rank=3, objective="likelihood")
    BothNon(learner='both.non', rank=3, objective='likelihood', ridge=2.0, seed=0)
    """

    @property
    def needs_hankel(self) -> bool:
        """Return whether it learns from a Hankel matrix with these options."""
        return self.objective == "hankel"

    @property
    def in_words(self) -> str:
        """Return the title with these options: without a Hankel matrix, there is no factorisation,
        and its tanh is in the predictions from a state.

        >>> from nlwfa_core import options
        >>> options("both.non", objective="likelihood").in_words
        'tanh in the predictions and in the transitions, trained by likelihood'
        """
        if self.needs_hankel:
            return self.title
        predictions = self.title.replace("factorisation", "predictions")
        return f"{predictions.replace('termination', 'predictions')}, trained by likelihood"

    def two_steps(
        self,
        hankel: HankelMatrix,
        validation: Sample | None,
        cache: FitCache,
        report: Report,
        cancelled: CancelCheck,
    ) -> Learned:
        """Train the networks from some starts, and choose the best start."""
        from .two_steps import best_start

        return best_start(hankel, self, validation, cache, report, cancelled)

    def by_likelihood(
        self, train: Sample, cache: FitCache, report: Report, cancelled: CancelCheck
    ) -> Stage:
        """Train a network of this rank, and networks of lower ranks if they help, to predict what
        follows each prefix.
        """
        from .likelihood.path import Path

        key = self.learner, self.ridge, self.seed
        if key not in cache.paths or not cache.paths[key].is_of(train):
            tanh = self.nonlinear_transitions, self.nonlinear_factorisation
            cache.paths[key] = Path(train, *tanh, self.ridge, self.seed)
        return cache.paths[key].of_rank(self.rank, report, cancelled)


class FacNon(NetworkLearner):
    """The options of fac.non."""

    title: ClassVar[str] = "tanh in the factorisation, linear transitions"
    nonlinear_factorisation: ClassVar[bool] = True

    learner: Literal["fac.non"] = learner_option("fac.non")


class TranNon(NetworkLearner):
    """The options of tran.non."""

    title: ClassVar[str] = "tanh in the transitions, linear termination"
    nonlinear_transitions: ClassVar[bool] = True

    learner: Literal["tran.non"] = learner_option("tran.non")


class BothNon(NetworkLearner):
    """The options of both.non."""

    title: ClassVar[str] = "tanh in the factorisation and in the transitions"
    nonlinear_factorisation: ClassVar[bool] = True
    nonlinear_transitions: ClassVar[bool] = True

    learner: Literal["both.non"] = learner_option("both.non")


class HMM(StringLearner):
    """The options of a hidden Markov model.

    Everything else has the defaults of `learning.em.hmm.fit_hmm`.
    """

    title: ClassVar[str] = "a hidden Markov model, by EM"

    learner: Literal["HMM"] = learner_option("HMM")
    seed: int = seed_option()

    def fit(
        self, train: Sample, validation: Sample | None, report: Report, cancelled: CancelCheck
    ) -> WFA:
        """Learn a model by EM."""
        from .em.hmm import EM, fit_hmm

        training = EM(seed=self.seed)
        return fit_hmm(
            train, self.rank, training, validation=validation, report=report, cancelled=cancelled
        )


def _pseudo_count_option() -> Any:
    return option(
        PSEUDO_COUNT,
        title="pseudo-count of EM",
        help="PFA and PDFA: a number added to the (expected) count of each symbol, and of the end, "
        "in each state.",
        ge=0,
        le=1e6,
    )


class PFA(StringLearner):
    """The options of a probabilistic automaton. Everything else has the defaults of
    `learning.em.pfa.PFATraining`.

    Attributes
    ----------
    starts : int
        The number of starts of EM, of which the start with the fewest bits per symbol is used; 0
        means 1.
    em_start : str
        Where EM starts, one of `names.EM_STARTS`.
    pseudo_count : float
        A number added to each expected count (see `learning.em.pfa.PFATraining`).
    """

    title: ClassVar[str] = "a probabilistic automaton, by EM"
    optimizer: ClassVar[str] = "EM"

    learner: Literal["PFA"] = learner_option("PFA")
    starts: int = starts_option()
    em_start: str = option(
        "random",
        title="start of EM",
        help="Where EM of a PFA starts: "
        f"{'; '.join(f'{name}: {text}' for name, text in EM_STARTS.items())}.",
        choices=EM_STARTS,
    )
    pseudo_count: float = _pseudo_count_option()
    seed: int = seed_option()

    @property
    def number_of_starts(self) -> int:
        """Return the number of starts that are tried."""
        return self.starts or 1

    def fit(
        self, train: Sample, validation: Sample | None, report: Report, cancelled: CancelCheck
    ) -> WFA:
        """Learn a model by EM."""
        from .em.pfa import PFATraining, fit_pfa

        training = PFATraining(
            self.em_start,
            self.number_of_starts,
            pseudo_count=self.pseudo_count,
            seed=self.seed,
        )
        return fit_pfa(
            train, self.rank, training, validation=validation, report=report, cancelled=cancelled
        )


class PDFA(StringLearner):
    """The options of a deterministic automaton. Everything else has the defaults of
    `merging.PDFATraining`.

    Attributes
    ----------
    pseudo_count : float
        A number added to each count (see `merging.PDFATraining`).
    """

    title: ClassVar[str] = "a deterministic probabilistic automaton, by merging states"
    is_random: ClassVar[bool] = False

    learner: Literal["PDFA"] = learner_option("PDFA")
    pseudo_count: float = _pseudo_count_option()

    def fit(
        self, train: Sample, validation: Sample | None, report: Report, cancelled: CancelCheck
    ) -> WFA:
        """Merge states of the prefix tree."""
        from .merging import PDFATraining, fit_pdfa

        training = PDFATraining(pseudo_count=self.pseudo_count)
        return fit_pdfa(
            train, self.rank, training, validation=validation, report=report, cancelled=cancelled
        )


class RecurrentLearner(StringLearner):
    """The options of a recurrent network. Everything else has the defaults of
    `recurrent_networks.Training`.
    """

    seed: int = seed_option()

    def fit(
        self, train: Sample, validation: Sample | None, report: Report, cancelled: CancelCheck
    ) -> RecurrentModel:
        """Train a network to predict the next symbol."""
        from .recurrent_networks import Training, fit_recurrent

        training = Training(seed=self.seed)
        return fit_recurrent(
            train,
            self.learner,
            self.rank,
            training,
            validation=validation,
            report=report,
            cancelled=cancelled,
        )


class GRU(RecurrentLearner):
    """The options of a GRU."""

    title: ClassVar[str] = "a recurrent network with gated units"

    learner: Literal["GRU"] = learner_option("GRU")


class LSTM(RecurrentLearner):
    """The options of an LSTM."""

    title: ClassVar[str] = "a recurrent network with long short-term memory"

    learner: Literal["LSTM"] = learner_option("LSTM")


class ValueSP(FromValues):
    """The options of SP for functions learned from values."""

    title: ClassVar[str] = SP.title
    is_random: ClassVar[bool] = False

    learner: Literal["SP"] = learner_option("SP")
    # the ridge of the matrix completion (see `completion.complete`)
    ridge: float = option(
        1e-6,
        title="ridge",
        help="Ridge of SP's matrix completion, relative to the largest value.",
        gt=0,
        le=1000,
    )
    # the seed of the refinement's random starts
    seed: int = seed_option(when={"refine": ["values"]})


class ValueNetworks(FromValues, Networks):
    """The options of networks for functions learned from values."""


class ValueFacNon(ValueNetworks):
    """The options of fac.non for functions learned from values."""

    title: ClassVar[str] = FacNon.title
    nonlinear_factorisation: ClassVar[bool] = True

    learner: Literal["fac.non"] = learner_option("fac.non")


class ValueTranNon(ValueNetworks):
    """The options of tran.non for functions learned from values."""

    title: ClassVar[str] = TranNon.title
    nonlinear_transitions: ClassVar[bool] = True

    learner: Literal["tran.non"] = learner_option("tran.non")


class ValueBothNon(ValueNetworks):
    """The options of both.non for functions learned from values."""

    title: ClassVar[str] = BothNon.title
    nonlinear_factorisation: ClassVar[bool] = True
    nonlinear_transitions: ClassVar[bool] = True

    learner: Literal["both.non"] = learner_option("both.non")


LEARNERS = registry_of(
    SP,
    FacNon,
    TranNon,
    BothNon,
    HMM,
    PFA,
    PDFA,
    GRU,
    LSTM,
)
# Learners of functions from values.
VALUE_LEARNERS = registry_of(ValueSP, ValueFacNon, ValueTranNon, ValueBothNon)

HANKEL_LEARNERS = tuple(name for name, kind in LEARNERS.items() if kind.from_hankel)
NETWORK_LEARNERS = tuple(name for name, kind in LEARNERS.items() if kind.networks)
STRING_LEARNERS = tuple(name for name, kind in LEARNERS.items() if not kind.from_hankel)


@check_types
def options(learner: str, **fields: Any) -> LearnerOptions:
    """Make the options of a learner.

    >>> options("both.non", rank=5, tolerance=0.001).rank
    5

    Parameters
    ----------
    learner : str
        One of `LEARNERS`.
    fields
        Fields of that learner's record, such as `rank`. All others have their defaults.

    Raises
    ------
    RecipeError
        If the learner is unknown, or a field is unknown, has no effect with this learner or with
        the values of other fields, or has a value that is not allowed.
    """
    return options_from(LEARNERS, learner, fields)
