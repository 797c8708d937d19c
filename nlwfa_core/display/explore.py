"""Prepare the picture of Explore: linear and nonlinear models of the same strings, one above the
other, at every rank.

The browser computes states, Ĥ and next symbols itself, so a change of the rank needs no request to
the server. It gets SP's model of the largest rank, whose leading blocks are the models of all
smaller ranks, and all weights of each network and of each linear model that EM has trained; SP's
model of a still higher rank is sent alone, on request. `models.js` in `assets/explore` computes
with them, `material.js` turns them into what is drawn, and `lane.js`, `cut.js` and `explore.js`
draw it. Scores come from here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .. import limits
from ..errors import RecipeError, plural
from ..experiment.datasets import Data
from ..experiment.results import Result
from ..hankel.matrix import HankelMatrix
from ..hankel.recipe import HankelRecipe
from ..learning.fitting import fit
from ..learning.learners import HANKEL_LEARNERS, PFA
from ..learning.likelihood import path as likelihood
from ..learning.progress import RELATIVE, TrainingLog, loss_points, never
from ..learning.spectral import TruncatedSVD
from ..learning.two_steps import FitCache, svd_size
from ..metrics.evaluate import evaluate
from ..metrics.influences import influences, margins
from ..metrics.intervals import FEWEST_STRINGS, string_scores, too_few_strings
from ..metrics.score_table import Scores
from ..metrics.testset import TestSet
from ..models.model_files import LearnedModel, model_from_json
from ..models.ngram import NGRAM_ORDER, NGram
from ..models.nlwfa import NLWFA
from ..models.reading import ConditionalReading, StringReading
from ..models.wfa import WFA
from ..sources import dyck
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, Word, Words
from .lens import MAX_SINGULAR_VALUES, packed
from .panels import MAX_SIDE, state_order
from .string_labels import word_endings, word_labels
from .walk import first_word, is_bracketed, ladder_truth, ladder_words, open_brackets

FURTHEST_RANK = MAX_SINGULAR_VALUES  # of a linear model that is sent alone
NETWORKS = HANKEL_LEARNERS[1:]
LINEAR = (HANKEL_LEARNERS[0], PFA.name())  # fitted to the matrix, and by likelihood
MAX_RANK = 20  # of the linear models that are sent together, and of the networks that are drawn
HANKEL_RANKS = range(1, 13)  # of the shipped networks that are trained from the matrix
LIKELIHOOD_RANKS = range(1, 9)  # of those that are trained by likelihood
OTHER_SEEDS = 2  # further seeds with which a network is trained, to see whether the results agree
# How an address, and a lesson's step, set the picture apart from the recipe: the linear model, if
# not the first of LINEAR; its rank, while the lanes are unlinked; the string that is followed; the
# order of H's rows and columns, if not by state; H − Ĥ instead of Ĥ; where states lie; and the
# score by rank. Name -> the values that it may have, if they are few.
LINEAR_WAY = "linear"
LINEAR_RANK = "linear_rank"
WORD = "word"
ORDER = "order"
MATRIX = "matrix"
PLANE = "plane"
SCORE = "score"
LOOKS = (WORD, ORDER, MATRIX, PLANE, SCORE)  # what a person looks at, whatever the models
VIEW = {
    LINEAR_WAY: LINEAR[1:],
    LINEAR_RANK: tuple(str(rank) for rank in range(1, FURTHEST_RANK + 1)),
    WORD: (),
    ORDER: ("frequency",),
    MATRIX: ("difference",),
    PLANE: ("rings", "pca", "end"),
    SCORE: ("distance", "errors", "bits"),
}
# Its parts, as a lesson's step names them: `look: explore.depth`.
PARTS = (
    "cut",
    "bends",
    "shows",
    "verdict",
    "strings",
    "matrix",
    "lanes",
    "depth",
    "ranks",
    "follow",
)
PFA_STARTS = 8  # of EM, for the shipped linear models by likelihood
MOST_POINTS = 60  # of a loss curve
MOST_NUMBERS = 50_000  # in the transitions of one model that are sent
MOST_STRINGS = 40
MOST_TESTED = 20_000  # symbols of the test strings that are sent
MOST_GROUPS = 6
MAX_NAME = 12  # characters of a group's name, unless two would be the same
# the readings of networks that the browser can compute
BROWSER_READINGS = (StringReading(), ConditionalReading("softmax", normalised=True))
NESTED = "brackets open"
THREE_NESTED: Word = (dyck.OPEN,) * 3 + (dyck.CLOSE,) * 3
WHY_NO_LINEAR = (
    "SP's model is drawn only for matrices that count whole strings as they are: statistic "
    "“string”, no transform, no boundary symbol."
)
WHY_TOO_LARGE = "This model has too many numbers to be sent to a browser."
WHY_NO_NETWORK = (
    "Nonlinear models of such a matrix, or with outputs read in this way, are not drawn."
)


def explore_payload(data: Data, hankel: HankelMatrix, svd: TruncatedSVD) -> dict[str, Any]:
    """Make the payload of Explore. `trained_payload` makes that of trained models.

    Parameters
    ----------
    data : Data
    hankel : HankelMatrix
        Its first MAX_SIDE rows and columns are shown.
    svd : TruncatedSVD
        The largest singular values of H_λ.

    Returns
    -------
    dict
        Words are lists of symbols' numbers, and arrays of float64 are in base64, row by row.

        - "symbols", "separator": the alphabet; "unknown": the number of the symbol that stands for
          others, or −1; "inTokens": whether words are always split at white space
        - "total", "tests": how many training and test strings there are; "counted": the same in
          words; "few": a note that there are too few test strings for a verdict, or ""
        - "strings": the most frequent training strings, [word, count]; "tested", the same of the
          test strings, and "distinctTests", how many different ones there are
        - "prefixes", "suffixes": the words of the rows and columns that are shown
        - "cells": the entries of H that are not 0: "places" (row times the number of columns, plus
          column) and "values"
        - "whole": the shape of the whole matrix
        - "hasCounts": whether an entry of H, times "total", is a count
        - "groups": "title", what groups are; "names"; and the group of each row and each column
          ("rows", "columns"; −1: none)
        - "singular", "numericalRank": singular values; "mostRank": the highest rank that can be
          chosen
        - "linear": of SP: "model", a linear model, or None; "why" there is none; "scores", one for
          each rank from 1; "most", the highest rank of `further_payload`
        - "costs": objective -> learner -> about how many seconds the training of one rank up to 4
          takes, and that of a higher rank; without networks that would not be drawn
        - "grown": the highest rank of networks by likelihood that start from one with one state
          less
        - "otherSeeds": the number of further seeds with which a network is trained, to see whether
          they agree
        - "truth": what is known about the strings, see `_truth`
        - "ngram": the name and the scores of an n-gram of the training strings
        - "ladder": deeper and deeper strings, see `_ladder`
        - "word": the string that is followed first

        Scores are [total variation, word error rate, bits per symbol, test strings of weight 0,
        test strings of negative weight]; a number is None if it is undefined or unknown, and "∞" if
        it is infinite.
    """
    num_rows, num_columns = (min(MAX_SIDE, size) for size in hankel.block.shape)
    block = hankel.block[:num_rows][:, :num_columns]
    prefixes = hankel.basis.prefixes.take(np.arange(num_rows))
    suffixes = hankel.basis.suffixes.take(np.arange(num_columns))
    cells = block.tocoo()
    left = block @ svd.right[:num_columns]
    train = data.train
    order = np.lexsort((train.words.lengths, -train.counts))[:MOST_STRINGS]
    return {
        "symbols": list(data.alphabet.symbols),
        "separator": data.alphabet.separator,
        "unknown": data.alphabet.numbers.get(data.alphabet.unknown or "", -1),
        "inTokens": data.alphabet.in_tokens,
        "total": train.num_strings,
        "tests": data.test.sample.num_strings,
        "counted": _counted(data),
        "few": _too_few(data.test.sample.num_strings),
        "strings": [[list(train.words[row]), int(train.counts[row])] for row in order.tolist()],
        "tested": _tested(data.test.sample),
        "distinctTests": len(data.test.sample.words),
        "prefixes": [list(word) for word in prefixes],
        "suffixes": [list(word) for word in suffixes],
        "cells": {
            "places": (cells.row * num_columns + cells.col).tolist(),
            "values": cells.data.tolist(),
        },
        "whole": list(hankel.block.shape),
        "hasCounts": is_plain(hankel),
        "groups": _groups(data.alphabet, prefixes, suffixes, block, left),
        "singular": [float(value) for value in svd.singular_values[:MAX_RANK]],
        "numericalRank": int(svd.numerical_rank),
        "mostRank": max(1, min(limits.most("rank"), MAX_RANK, len(svd.singular_values))),
        "linear": _linear(hankel, svd, data.test),
        **_costs(train, hankel),
        "otherSeeds": OTHER_SEEDS,
        "truth": _truth(data, prefixes),
        "ngram": [
            f"{NGRAM_ORDER}-gram",
            _scores(evaluate(NGram.fit(train, NGRAM_ORDER), data.test)),
        ],
        "ladder": _ladder(data),
        "word": list(THREE_NESTED if is_bracketed(data.alphabet) else first_word(data)),
    }


def trained_payload(results: Mapping[str, Mapping[int, Result]]) -> dict[str, Any]:
    """Make the payload of finished runs of `NETWORKS`, and of `PFA`.

    Returns
    -------
    dict
        Learner -> rank, as text ->

        - "model": that of `network_payload`, or that of `linear_payload` for one model; None if
          none is drawn
        - "why" none is drawn
        - "scores": see `explore_payload`
        - "training": whether its training finished
        - "starts": the number of starts of EM of which it is the best; None for a network
        - "curves": of each stage of a network's training, see `_curve`
    """
    return {
        learner: {str(rank): _trained(result) for rank, result in by_rank.items()}
        for learner, by_rank in results.items()
    }


def seeds_payload(
    results: Mapping[str, Mapping[int, Sequence[Result]]],
) -> dict[str, dict[str, list[list[float | str | None]]]]:
    """Return learner -> rank, as text -> the scores of finished runs that differ from those of
    `trained_payload` only in the seed; see `explore_payload`.
    """
    return {
        learner: {
            str(rank): [_scores(one.scores) for one in same] for rank, same in by_rank.items()
        }
        for learner, by_rank in results.items()
    }


def influences_of_runs(
    results: Mapping[str, Mapping[int, Result]], test: TestSet
) -> dict[str, dict[int, FloatArray]]:
    """Compute what `margins_payload` needs from finished runs of `NETWORKS` and of `PFA`.

    Returns
    -------
    dict
        Learner -> rank -> array (3, num_distinct), see `metrics.influences.influences`; a rank is
        left out if its scores are for strings other than the test strings, as PAutomaC's are.
    """
    return {
        learner: _influences({rank: result.model for rank, result in by_rank.items()}, test)
        for learner, by_rank in results.items()
    }


def _influences(models: Mapping[int, LearnedModel], test: TestSet) -> dict[int, FloatArray]:
    known = {}
    for rank, model in models.items():
        with suppress(RecipeError):
            known[rank] = influences(string_scores(model, test))
    return known


def margins_payload(
    runs: Mapping[str, Mapping[int, FloatArray]],
    hankel: HankelMatrix,
    svd: TruncatedSVD,
    data: Data,
    further: int | None = None,
) -> dict[str, Any]:
    """Compute how certain the scores of finished runs are, from `influences_of_runs`, and those of
    SP at the ranks that are sent together, or only at the rank `further`. Without a run, nothing is
    computed, so new strings need not wait.

    Returns
    -------
    dict
        - "own": learner -> rank, as text -> how far the interval of each score reaches on either
          side: total variation, word error rate, bits per symbol; None if there is no interval
        - "between": learner -> rank, as text -> linear learner -> rank, as text -> the same of the
          difference between the network's scores and those of the linear model
    """
    ranks: Sequence[int] = []
    if any(runs.values()):
        most = min(MAX_RANK, most_linear(hankel, svd))
        ranks = [further] if further else range(1, most + 1)
    spectral = _spectral(hankel, svd, ranks) if ranks else []
    known = {LINEAR[0]: _influences(dict(zip(ranks, spectral, strict=True)), data.test), **runs}
    counts = data.test.sample.counts
    linear = [
        (name, str(rank), own) for name in LINEAR for rank, own in known.get(name, {}).items()
    ]
    between: dict[str, dict[str, dict[str, dict[str, list[float | None]]]]] = {}
    if linear:
        others = np.stack([own for _, _, own in linear])
        for learner in NETWORKS:
            between[learner] = {}
            for rank, own in known.get(learner, {}).items():
                gaps = margins(own, others, counts)
                by_name = between[learner][str(rank)] = {name: {} for name in LINEAR}
                for (name, other, _), gap in zip(linear, gaps, strict=True):
                    by_name[name][other] = _rounded(gap)
    return {
        "own": {
            learner: {
                str(rank): _rounded(margins(own, np.zeros_like(own), counts))
                for rank, own in by_rank.items()
            }
            for learner, by_rank in known.items()
        },
        "between": between,
    }


def _rounded(margins: FloatArray) -> list[float | None]:
    return [float(f"{margin:.3g}") if np.isfinite(margin) else None for margin in margins]


def preview_payload(fields: Any, num_symbols: int) -> dict[str, Any] | None:
    """Make the payload (`network_payload`) of a network that is still in training, from the JSON of
    `jobs.job.JobStatus.preview`.

    None if this is not the JSON of a network over `num_symbols` symbols that has finite weights and
    that a browser can compute.
    """
    try:
        model = model_from_json(fields)
    except (AttributeError, KeyError, RecipeError, TypeError, ValueError):
        return None
    if not isinstance(model, NLWFA) or model.num_symbols != num_symbols:
        return None
    layers = (model.initial, *model.transitions, *model.decoder, model.output)
    is_finite = all(np.isfinite(layer).all() for layer in layers)
    return _drawable(model)[0] if is_finite else None


def _costs(train: Sample, hankel: HankelMatrix) -> dict[str, Any]:
    """Estimate the seconds of processor time that a rank takes, "costs" and "grown" of
    `explore_payload`: for training by likelihood, from the number of prefixes or, for networks
    without a Gauss–Newton matrix, from how much they compute; for training from the matrix by the
    default optimisers, from its size and the number of symbols.

    The formulas are rough fits to the times for Dyck words, Tomita's languages, verbs and samples
    of automata on one processor core, with 60 to 2,000 strings: by likelihood they are right within
    a factor of 2, from the matrix within a factor of 4.
    """
    prefixes = Trie.of(train.words, train.num_symbols).num_nodes
    network = 0.008 * (prefixes * (train.num_symbols + 1)) ** 0.6
    # prior and seed have no effect on the size
    path = likelihood.Path(train, tanh_maps=True, tanh_decoder=True, prior=1.0, seed=0)
    with_matrix = path.largest_with_matrix(likelihood.FRESH_UP_TO)
    taught = 7e-6 * path.teaching(lambda value: None, never).num_predictions
    by_likelihood = (
        taught if with_matrix < 2 else network,
        network / 4 if with_matrix == likelihood.FRESH_UP_TO else taught,
    )
    cells = hankel.num_prefixes * hankel.num_suffixes
    from_matrix = (
        0.6 + 0.035 * hankel.num_symbols + 1e-6 * cells,
        2 + 0.2 * hankel.num_symbols + 4e-6 * cells,
    )
    pfa = 0.05 * prefixes**0.5
    linear = {PFA.name(): (pfa, pfa)}
    drawn = NETWORKS if is_plain(hankel) else ()
    return {
        "costs": {
            "hankel": dict.fromkeys(drawn, from_matrix) | linear,
            "likelihood": dict.fromkeys(NETWORKS, by_likelihood) | linear,
        },
        "grown": MAX_RANK if with_matrix == likelihood.FRESH_UP_TO else with_matrix,
    }


def _tested(sample: Sample) -> list[list[Any]]:
    """Return the most frequent strings of a sample, up to `MOST_TESTED` symbols: [word, count]."""
    order = np.lexsort((sample.words.lengths, -sample.counts))
    kept = order[np.cumsum(sample.words.lengths[order]) <= MOST_TESTED]
    return [[list(sample.words[row]), int(sample.counts[row])] for row in kept.tolist()]


def _counted(data: Data) -> str:
    """State how many strings there are for training, validation and test, and how many distinct
    strings are learned from.
    """
    train, validation, test = data.sizes
    held_out = f"{validation:,} for validation, " if validation else ""
    different = f"{train:,} for training ({len(data.train.words):,} different)"
    samples = (data.train, data.test.sample)
    learned, tested = (dict(zip(each.words, each.counts, strict=True)) for each in samples)
    return f"{different}, {held_out}{'the same' if learned == tested else f'{test:,}'} for test"


def _too_few(num_strings: int) -> str:
    """Report that there are too few test strings for a verdict; empty if there are enough.

    >>> _too_few(12), _too_few(30)
    ('12 test strings: too few for a verdict, which needs 30', '')
    """
    if not too_few_strings(num_strings):
        return ""
    number = plural(num_strings, "test string")
    return f"{number}: too few for a verdict, which needs {FEWEST_STRINGS}"


def is_plain(hankel: HankelMatrix | HankelRecipe) -> bool:
    """Return whether a matrix counts whole strings as they are."""
    return hankel.statistic == "string" and not hankel.bounded and hankel.transform == "none"


def _groups(
    alphabet: Alphabet, prefixes: Words, suffixes: Words, block: Any, left: Any
) -> dict[str, Any]:
    """Group rows and columns by state: by open brackets if there are brackets, otherwise as
    `panels.state_order` does.
    """
    if is_bracketed(alphabet):
        most = MOST_GROUPS - 1
        rows = [min(open_brackets(word), most) for word in prefixes]
        # an ending closes as many brackets as are open before it
        columns = [min(open_brackets(tuple(1 - s for s in word[::-1])), most) for word in suffixes]
        names = [str(depth) for depth in range(most)] + [f"{most}+"]
        return {"title": NESTED, "names": names, "rows": rows, "columns": columns}
    order = state_order(block, left)
    blocks = order.blocks[: MOST_GROUPS - 1]
    ends = np.cumsum([[0, 0]] + [[rows, columns] for rows, columns, _ in order.blocks], axis=0)
    group = [np.full(len(words), -1, dtype=np.int64) for words in (prefixes, suffixes)]
    for number in range(len(order.blocks)):
        for own, members, axis in zip(group, (order.rows, order.columns), (0, 1), strict=True):
            span = slice(ends[number, axis], ends[number + 1, axis])
            own[members[span]] = min(number, MOST_GROUPS - 1)
    firsts = Words.of(prefixes[first] for _, _, first in blocks)
    names = word_endings(firsts, alphabet, MAX_NAME)
    if len(order.blocks) > len(blocks):
        names.append("others")
    return {
        "title": "beginnings that go on like",
        "names": names,
        "rows": group[0].tolist(),
        "columns": group[1].tolist(),
    }


def _linear(hankel: HankelMatrix, svd: TruncatedSVD, test: TestSet) -> dict[str, Any]:
    """Learn the models of SP, up to the rank that can be sent."""
    most = most_linear(hankel, svd)
    if not most:
        why = WHY_TOO_LARGE if is_plain(hankel) else WHY_NO_LINEAR
        return {"model": None, "why": why, "scores": [], "most": 0}
    models = _spectral(hankel, svd, range(1, min(MAX_RANK, most) + 1))
    return {
        "model": linear_payload(models),
        "why": "",
        "scores": [_scores(evaluate(model, test)) for model in models],
        "most": most,
    }


def linear_scores(hankel: HankelMatrix, svd: TruncatedSVD, test: TestSet) -> dict[int, Scores]:
    """Score SP at every rank that is drawn: rank -> its scores on the test strings."""
    ranks = range(1, min(MAX_RANK, most_linear(hankel, svd)) + 1)
    models = _spectral(hankel, svd, ranks) if ranks else []
    return {rank: evaluate(model, test) for rank, model in zip(ranks, models, strict=True)}


def further_payload(
    data: Data,
    hankel: HankelMatrix,
    svd: TruncatedSVD,
    rank: int,
    runs: Mapping[str, Mapping[int, FloatArray]],
) -> dict[str, Any]:
    """Make the payload of SP's model of one rank above MAX_RANK, up to `most_linear`: "rank",
    "model" and "scores", see `linear_payload` and `explore_payload`, and "margins" of its scores
    and of their differences to those of runs, see `margins_payload`.
    """
    models = _spectral(hankel, svd, [rank])
    return {
        "rank": rank,
        "model": linear_payload(models),
        "scores": _scores(evaluate(models[0], data.test)),
        "margins": margins_payload(runs, hankel, svd, data, rank),
    }


def most_linear(hankel: HankelMatrix, svd: TruncatedSVD) -> int:
    """Return the highest rank of SP whose singular values are known and whose model is not too
    large for a browser; 0 if there is none.
    """
    if not is_plain(hankel):
        return 0
    most = min(FURTHEST_RANK, limits.most("rank"), svd.numerical_rank, len(svd.singular_values))
    while most and hankel.num_symbols * most**2 > MOST_NUMBERS:
        most -= 1
    return most


def _spectral(hankel: HankelMatrix, svd: TruncatedSVD, ranks: Sequence[int]) -> list[WFA]:
    """Learn SP's models of some ranks."""
    cache = FitCache()
    if len(svd.singular_values) >= svd_size(hankel, ranks[-1]):
        cache.svds[len(svd.singular_values)] = svd
    models = [fit(hankel, "SP", rank, cache=cache).model for rank in ranks]
    return [model for model in models if isinstance(model, WFA)]


def linear_payload(models: Sequence[WFA]) -> dict[str, Any]:
    """Make the payload of one linear model, or of those of rank 1, 2, …, each the leading blocks of
    the last one.

    Returns
    -------
    dict
        "initial" (k,), "transitions" (num_symbols, k, k) and "termination" (k,) of the last model;
        "symbols": the number of symbols; "sums", "errors": for each rank, the weights of all
        strings read from each state, and bounds of their errors.
    """
    last = models[-1]
    return {
        "initial": packed(last.initial, "<f8"),
        "transitions": packed(last.transitions, "<f8"),
        "termination": packed(last.termination, "<f8"),
        "symbols": last.num_symbols,
        "sums": [packed(model.prefix_termination, "<f8") for model in models],
        "errors": [packed(model.prefix_termination_error, "<f8") for model in models],
    }


def network_payload(model: NLWFA) -> dict[str, Any]:
    """Make the payload of a network with one of `BROWSER_READINGS`.

    Returns
    -------
    dict
        "initial" (k,); "layers": the layers of the maps G_σ, each (num_symbols, widths[i],
        widths[i + 1]); "decoder": the hidden layers of φ', each (heights[i], heights[i + 1]);
        "output" (heights[-1], 2) or, if "reading" is "conditional", (heights[-1], num_symbols + 1);
        "bends": whether tanh follows the layers of "steps" and of the
        "decoder".
    """
    output = model.output
    if model.reading.name == "string":
        output = np.column_stack((output[:, 0], output[:, 1:].sum(axis=1)))
    return {
        "initial": packed(model.initial, "<f8"),
        "widths": [model.num_states, *(layer.shape[2] for layer in model.transitions)],
        "layers": [packed(layer, "<f8") for layer in model.transitions],
        "heights": [model.num_states, *(layer.shape[1] for layer in model.decoder)],
        "decoder": [packed(layer, "<f8") for layer in model.decoder],
        "output": packed(output, "<f8"),
        "symbols": model.num_symbols,
        "reading": model.reading.name,
        "bends": {"steps": model.nonlinear_transitions, "decoder": model.nonlinear_termination},
    }


def _trained(result: Result) -> dict[str, Any]:
    """Make the payload of one result. If no model is drawn, "why" gives the reason."""
    learning = result.recipe.learning
    model, why = _drawable(result.model)
    if learning.needs_hankel and not is_plain(result.recipe.hankel):
        model = None
        why = WHY_NO_NETWORK
    return {
        "model": model,
        "why": why,
        "scores": _scores(result.scores),
        "training": result.report.training,
        "used": result.model.num_used_states if isinstance(result.model, NLWFA) else None,
        "starts": learning.number_of_starts if isinstance(learning, PFA) else None,
        "curves": [_curve(log) for log in result.report.logs],
    }


def _curve(log: TrainingLog) -> dict[str, Any]:
    """Describe a stage of training: "stage", its name; "measure" of the loss; "isLogarithmic", for
    the axes of its curve; "points", [epoch, loss]; "verdict", how it ended.
    """
    points = loss_points(*log.thinned(MOST_POINTS), log.measure)
    return {
        "stage": log.stage,
        "measure": log.measure,
        "isLogarithmic": log.measure == RELATIVE,
        "points": [(epoch, float(f"{loss:.6g}")) for epoch, loss in points],
        "verdict": log.verdict,
    }


def _drawable(model: LearnedModel) -> tuple[dict[str, Any] | None, str]:
    """Return the payload of a network or of a linear model, or why it has none."""
    if isinstance(model, WFA):
        is_small = model.transitions.size <= MOST_NUMBERS
        return (linear_payload([model]), "") if is_small else (None, WHY_TOO_LARGE)
    if not isinstance(model, NLWFA) or model.reading not in BROWSER_READINGS:
        return None, WHY_NO_NETWORK
    size = sum(layer.size for layer in model.transitions) + sum(map(np.size, model.decoder))
    return (network_payload(model), "") if size <= MOST_NUMBERS else (None, WHY_TOO_LARGE)


def _scores(scores: Scores) -> list[float | str | None]:
    values = (scores.total_variation, scores.wer, scores.bits_per_symbol)
    return [*(_number(value) for value in values), scores.num_zero, scores.num_negative]


def _number(value: float | None) -> float | str | None:
    if value is None or np.isnan(value):
        return None
    return float(value) if np.isfinite(value) else "∞"


def _truth(data: Data, prefixes: Words) -> dict[str, Any]:
    """Describe what is known about the strings.

    "kind" is "brackets" (with the probabilities "split" and "wrap"), "linear" (with "model", a
    linear model) or "shares": then "next" has, for each prefix, the shares of what follows in the
    test strings, symbol -> share (the end is "end"), None if no test string begins with the prefix,
    and "seen", how many do. "name" says what it is, and "scores" are those of the true model.
    """
    model = data.true_model
    if model is not None:
        known: dict[str, Any] = {"name": "truth", "scores": _scores(evaluate(model, data.test))}
        if isinstance(model, dyck.Dyck):
            return known | {"kind": "brackets", "split": model.split, "wrap": model.wrap}
        if isinstance(model, WFA) and model.transitions.size <= MOST_NUMBERS:
            payload = linear_payload([model])
            return known | {"kind": "linear", "model": payload}
    shown = {word: number for number, word in enumerate(prefixes)}
    counts = [Counter[int]() for _ in prefixes]
    end = data.test.sample.num_symbols
    for word, count in zip(data.test.sample.words, data.test.sample.counts.tolist(), strict=True):
        for length in range(len(word) + 1):
            row = shown.get(word[:length])
            if row is not None:
                counts[row][word[length] if length < len(word) else end] += count
    return {
        "kind": "shares",
        "name": "test strings",
        "scores": None,
        "next": [_shares(followers, end) for followers in counts],
        "seen": [followers.total() for followers in counts],
    }


def _shares(followers: Counter[int], end: int) -> dict[str, float] | None:
    whole = followers.total()
    if not whole:
        return None
    return {
        "end" if symbol == end else str(symbol): count / whole
        for symbol, count in followers.items()
    }


def _ladder(data: Data) -> dict[str, Any]:
    """List strings that go deeper and deeper: "words", their "labels", and "truth", what weights
    are compared with: true weights, or shares of the test strings.
    """
    words = ladder_words(data)
    return {
        "words": [list(word) for word in words],
        "labels": word_labels(words, data.alphabet),
        "truth": ladder_truth(data).weights.tolist(),
        "isNested": is_bracketed(data.alphabet),
    }
