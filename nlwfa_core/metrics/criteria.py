"""Akaike's and Schwarz's criteria, AIC and BIC, which combine the likelihood of the training
strings with a penalty for the number of free parameters.

They need no validation strings. The model must be a distribution and, strictly, the model with the
largest likelihood in its class: early stopping, pseudo-counts, smoothing and priors all give a
different model. If a class has more states than the strings need, even that is not enough, because
its parameters are then not determined (Gassiat 2002 on mixtures). So the criteria are only a guide.

Sources: H. Akaike (1974), "A new look at the statistical model identification", IEEE Transactions
on Automatic Control 19 (6); G. Schwarz (1978), "Estimating the dimension of a model", Annals of
Statistics 6 (2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from ..errors import RecipeError, check_types, plural
from ..models.model import HasModel, Model, alphabet_of, model_of, scaled_weights
from ..models.ngram import NGram, Uniform
from ..models.nlwfa import NLWFA
from ..models.recurrent import RecurrentModel
from ..models.wfa import WFA
from ..rounding import format_beside, on_one_thread
from ..strings.plain import SampleLike, as_sample
from ..strings.words import FloatArray

SUM_ERROR = 1e-6  # of probabilities that must sum to 1
NEEDS_LIKELIHOOD = (
    "AIC and BIC need a distribution that was learned by likelihood and gives no training string "
    "probability 0: an HMM, PFA or PDFA, a GRU or LSTM, or networks with the objective or the "
    "refinement likelihood"
)

WEIGHTS_COUNT = (
    "All weights of a network count as parameters: an upper bound, so AIC and BIC favour small "
    "networks."
)


@dataclass(frozen=True)
class InformationCriteria:
    """AIC and BIC of a model; lower is better. Values are comparable only for the same strings.

    Attributes
    ----------
    num_parameters : int
        As `num_parameters` counts them.
    log_likelihood : float
        The natural logarithm of the probability of all training strings, including their ends; nan
        if it has no meaning.
    num_strings : int
        The number of observations n; each string is one observation.
    why_undefined : str
        The reason why AIC and BIC are nan; otherwise empty.
    """

    num_parameters: int
    log_likelihood: float
    num_strings: int
    why_undefined: str = ""

    @property
    def aic(self) -> float:
        """Return 2 p − 2 ln L, with p parameters and the likelihood L (Akaike 1974)."""
        return 2 * self.num_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Return p ln n − 2 ln L, with p parameters and the likelihood L (Schwarz 1978)."""
        return self.num_parameters * log(self.num_strings) - 2 * self.log_likelihood


@check_types
def num_parameters(model: Model | HasModel) -> int:
    """Count the free parameters of a model, or of the model of a `Fit`.

    - PFA and PDFA (a WFA whose weights are the probabilities of states, which sum to 1): the
      probabilities that are not 0, less one for each sum. A probability of exactly 0 counts as part
      of the structure, which is not counted, even if it was learned. A PFA without zeros, with k
      states over |Σ| symbols, has k² |Σ| + k − 1 parameters, which is k (k − 1) more than strings
      can tell apart: other probabilities give the same function.
    - HMM (a PFA whose states choose symbol and next state independently): the same for the
      probabilities of the start, of moves, and of symbols and the end: k² + k |Σ| − 1.
    - Other WFAs: k² (|Σ| − 1) + 2k, one less if the weights sum to 1. These are the dimensions of
      the functions of rank k: all entries, less the k² of a change of basis, which leaves the
      function unchanged. If states are superfluous (`minimise`), the count is too large.
    - `NGram`: |Σ| for each longest history in the training strings. The probabilities of symbols
      that never follow a history come from shorter histories, which are not counted.
    - Networks (`NLWFA`, GRU and LSTM): all weights. This is an upper bound, because different
      weights can give the same function.

    >>> from nlwfa_core import NGram, fit
    >>> strings = ["ab", "ab", "b", "abb"]
    >>> num_parameters(fit(strings, "SP", rank=2)), num_parameters(NGram.fit(strings, order=2))
    (8, 6)

    Raises
    ------
    RecipeError
        If the model is of another kind, such as a mixture.
    """
    one = model_of(model)
    if isinstance(one, WFA):
        return _of_automaton(one)
    if isinstance(one, Uniform):
        return 0
    if isinstance(one, NGram):
        return one.num_symbols * len(np.unique(one.windows[0][:, :-1], axis=0))
    if isinstance(one, NLWFA):
        layers = one.initial, *one.transitions, *one.decoder, one.output
        return sum(layer.size for layer in layers)
    if isinstance(one, RecurrentModel):
        weights = one.inputs, one.recurrent, one.recurrent_bias, one.output, one.output_bias
        return sum(array.size for array in weights)
    raise RecipeError(
        "parameters can be counted only for a WFA, an NLWFA, an n-gram, a GRU or an LSTM; got a "
        f"{type(one).__name__}"
    )


def _of_automaton(model: WFA) -> int:
    """Count the free parameters of a WFA, as `num_parameters` describes."""
    A = model.transitions
    ends = model.termination
    emissions = A.sum(axis=2)  # (num_symbols, num_states)
    totals = emissions.sum(axis=0)  # (num_states,)
    sums = np.append(totals + ends, model.initial.sum())
    least = min(part.min(initial=0) for part in (model.initial, A, ends))
    if not (least >= 0 and np.abs(sums - 1).max() <= SUM_ERROR):
        k = model.num_states
        num_symbols = model.num_symbols
        is_normalised = abs(model.total_weight() - 1) <= SUM_ERROR
        return k**2 * (num_symbols - 1) + 2 * k - is_normalised
    moves = A.sum(axis=0) / np.where(totals > 0, totals, 1)[:, None]
    if np.allclose(A, emissions[:, :, None] * moves, rtol=SUM_ERROR, atol=0):
        rows = [model.initial[None], moves, np.vstack((emissions, ends)).T]
    else:
        rows = [model.initial[None], np.column_stack((*A, ends))]
    return sum(_free(of_row) for of_row in rows)


def _free(probabilities: FloatArray) -> int:
    """Count the entries that are not 0 in rows of the sum 1, less one for each row."""
    return int(np.maximum(np.count_nonzero(probabilities, axis=1) - 1, 0).sum())


@check_types
@on_one_thread
def information_criteria(model: Model | HasModel, strings: SampleLike) -> InformationCriteria:
    """Compute AIC and BIC of a model, or of the model of a `Fit`, on its training strings.

    >>> from nlwfa_core import WFA
    >>> coin = WFA([1], [[[0.25]], [[0.25]]], [0.5])  # three outcomes: two free probabilities
    >>> criteria = information_criteria(coin, ["a", "b", "", ""])
    >>> criteria.num_parameters, round(criteria.aic, 3), round(criteria.bic, 3)
    (2, 15.09, 13.863)

    Parameters
    ----------
    model : Model, Fit or Result
    strings : Sample, or strings as `strings.plain.as_sample` takes them
        The strings from which the model was learned.

    Returns
    -------
    InformationCriteria
        AIC and BIC are nan if the model's weights do not sum to 1, as for SP, or if it gives a
        training string a weight of 0 or less; `why_undefined` gives the reason.

    Raises
    ------
    RecipeError
        If there are no strings, a string has a symbol that the model does not know, or the
        parameters of models of this kind are not counted.
    """
    one = model_of(model)
    number = num_parameters(one)
    sample = as_sample(strings, alphabet_of(one), "strings")
    if not len(sample.words):
        raise RecipeError("strings must hold at least one string; got none")
    reason = _why_no_distribution(one)
    if reason:
        return InformationCriteria(number, np.nan, sample.num_strings, reason)
    weights, exponents = scaled_weights(one, sample.words)
    if not (weights > 0).all():
        impossible = int(sample.counts[~(weights > 0)].sum())
        reason = f"{plural(impossible, 'training string')} with a weight of 0 or less"
        return InformationCriteria(number, np.nan, sample.num_strings, reason)
    logs = np.log(weights) + exponents * log(2)
    return InformationCriteria(number, float(sample.counts @ logs), sample.num_strings)


def _why_no_distribution(model: Model) -> str:
    """Explain why a model's weights do not sum to 1; empty if they do."""
    if isinstance(model, WFA):
        total = model.total_weight()
        if not abs(total - 1) <= SUM_ERROR:
            return f"its weights sum to {format_beside(total, 1.0)}, not to 1"
    elif isinstance(model, NLWFA):
        reading = model.reading
        if not (reading.normalised or reading.link == "softmax"):
            return "nothing makes its weights sum to 1"
    return ""
