"""Turn numbers into the text of tables, captions and warnings: weights, scores, trajectories, drawn
strings, perplexities.

`metrics.tables` defines what a table is, and writes it as LaTeX, Markdown, CSV or JSON; titles and
units of scores come from `metrics.score_table.SCORES`, and diagnostics are written by
`metrics.diagnostics`. Tables of runs are in `recipe_differences` and `run_tables`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields

import numpy as np

from ..experiment.datasets import Data
from ..experiment.recipe import run_title
from ..experiment.results import Result
from ..experiment.sweeps import Grid, Point
from ..learning.learners import HANKEL_LEARNERS, STRING_LEARNERS
from ..metrics.intervals import too_few_strings
from ..metrics.pautomac_score import CONVENTIONS, pautomac_score
from ..metrics.score_table import MAIN_SCORES, SCORE_OF, SCORES, Score, Scores
from ..metrics.seeds import Spread
from ..metrics.tables import Numbers, Table, csv_text, format_score, write_table
from ..metrics.testset import over_one_alphabet
from ..models.mixture import Mixture, fit_mixture
from ..models.model import LogModel, Model, scaled_next_scores
from ..models.model_files import LearnedModel
from ..models.ngram import NGram
from ..models.nlwfa import NLWFA
from ..models.reading import LINKS
from ..models.sampling import Drawn, next_shares
from ..rounding import format_share, format_significant, told_apart
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, Word, Words
from .pairs import spread_text
from .projection import prefix_states
from .string_labels import prefixes_of, word_labels

# A factorisation that took fewer seconds was not computed but reused: some learners share it and
# differ only in their second step.
SHARED_SECONDS = 1e-3
# The end of a sentence on a lead whose interval contains 0.
CHANCE = "the difference may be chance"
# A sentence for captions below scores.
BETTER = (
    "Lower is better, except for "
    + " and ".join(f"“{score.short_title}”" for score in SCORES if score.higher_is_better)
    + ", of which 1 is best"
)


def scores_in(rows: Iterable[Scores]) -> tuple[Score, ...]:
    """Select the scores that a table of these rows needs: scores of single prefixes only if one of
    the rows has them.
    """
    entries = list(rows)
    return tuple(
        score
        for score in SCORES
        if not score.field.startswith("prefix_")
        or any(getattr(entry, score.field) is not None for entry in entries)
    )


def shown_scores(rows: Iterable[Scores], named: Collection[str] = ()) -> tuple[Score, ...]:
    """Select the scores that a table of these rows shows first: the main ones, and those that say
    where a model fails.

    `named`: short titles of further scores to show, for example because the text next to the table
    speaks of them.
    """
    entries = list(rows)
    return tuple(
        score
        for score in scores_in(entries)
        if score in MAIN_SCORES
        or score.field.startswith("prefix_")
        or score.short_title in named
        or (
            score.field.startswith("num_") and any(getattr(entry, score.field) for entry in entries)
        )
    )


def score_column(scores: Iterable[Scores], score: Score) -> Numbers:
    """Make a column of one score, with one number for each `Scores`."""
    return Numbers.written(
        (getattr(entry, score.field) for entry in scores),
        lambda value: format_score(value, score.form),
    )


def as_sentence(text: str) -> str:
    """Begin a string with a capital letter and end it with a full stop.

    >>> as_sentence("transitions: solved exactly")
    'Transitions: solved exactly.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def weight_table(models: Mapping[str, Model], word: Word) -> Table:
    """Make a table with the columns model, f(x) and log₂ f(x), one row for each model; a negative
    weight has no logarithm.
    """
    words = Words.of([word])
    weights = {name: float(model.weights(words)[0]) for name, model in models.items()}
    texts = told_apart(
        list(weights.values()), lambda weight, extra: format_significant(weight, 3 + extra)
    )
    logs: list[tuple[float | None, str]] = []
    cells: list[tuple[float, str]] = []
    for weight, text, model in zip(weights.values(), texts, models.values(), strict=True):
        log = (
            float(model.log2_weights(words)[0])
            if weight == 0 and isinstance(model, LogModel)
            else -np.inf
        )
        if log > -np.inf:  # too small for a double, but not 0
            cells.append((weight, f"2^{log:.1f}"))
        else:
            cells.append((weight, text))
            log = float(np.log2(weight)) if 0 < weight < np.inf else log
        logs.append((log, format_score(log)) if log > -np.inf or weight == 0 else (None, "none"))
    return {"model": list(weights), "f(x)": Numbers.of(cells), "log₂ f(x)": Numbers.of(logs)}


def weight_warnings(models: Mapping[str, Model], word: Word, data: Data) -> tuple[str, ...]:
    """Warn of negative and infinite weights, and of symbols of the string that occur in no training
    string.
    """
    sentences = []
    training_symbols = set(data.train.words.symbols.tolist())
    new = sorted(
        {data.alphabet.symbols[symbol] for symbol in word if symbol not in training_symbols}
    )
    if len(new) == 1:
        sentences.append(
            f"No training string contains {new[0]}, so the models have learned nothing about it."
        )
    elif new:
        sentences.append(
            f"Symbols that no training string contains: {', '.join(new)}. The models have learned "
            "nothing about them."
        )
    weights = {name: float(model.weights(Words.of([word]))[0]) for name, model in models.items()}
    negative = [
        f"{name} ({format_significant(weight)})"
        for name, weight in weights.items()
        if weight < 0 and np.isfinite(weight)
    ]
    if negative:
        sentences.append(f"A negative weight is not a probability: {'; '.join(negative)}.")
    infinite = [name for name, weight in weights.items() if not np.isfinite(weight)]
    if infinite:
        sentences.append(
            "The weight of this string is not a finite number because the model diverges: "
            f"{'; '.join(infinite)}."
        )
    return tuple(sentences)


def mixed(models: Mapping[str, Model], data: Data, level: str) -> Mixture:
    """Mix models with the weights under which the validation strings are likeliest; without such
    strings, with equal weights.

    Raises RecipeError if no model gives any validation string a positive weight.
    """
    parts = list(models.values())
    shares = np.full(len(parts), 1 / len(parts))
    if data.validation is not None:
        shares = fit_mixture(parts, data.validation.sample, level)[1]
    return Mixture(tuple(parts), shares, alphabet=data.alphabet, level=level)


def influence_table(
    names: Sequence[str], mixture: Mixture, word: Word, alphabet: Alphabet
) -> Table:
    """Tabulate what each model predicts after a prefix, and with what weight: one row for each
    model, and the last for the mixture.

    Columns: model; its weight in the mixture; its share of the mixture's prediction after the
    prefix; the next symbol that it finds likeliest; the probability that it gives this symbol; and
    how much it adds to the probability of the mixture's likeliest symbol.
    """
    trie = Trie.of(Words.of([word]), mixture.num_symbols)
    node = trie.ends
    symbols = (*alphabet.symbols, "end")
    next_probabilities = np.concatenate(
        [
            next_shares(scaled_next_scores(model, trie)[0][node])[0]
            for model in (*mixture.models, mixture)
        ]
    )
    influences = [*mixture.influences(trie)[node[0]].tolist(), 1.0]
    likeliest = [symbols[int(row.argmax())] if row.any() else "–" for row in next_probabilities]
    best = int(next_probabilities[-1].argmax())

    def written(values: Iterable[float]) -> Numbers:
        return Numbers.written(values, lambda value: format_score(value))

    return {
        "model": [*names, "mixture"],
        "weight": written([*mixture.shares.tolist(), 1.0]),
        "share after the prefix": written(influences),
        "likeliest next": likeliest,
        "its probability": written(next_probabilities.max(axis=1).tolist()),
        f"adds to {symbols[best]}": written((next_probabilities[:, best] * influences).tolist()),
    }


def reading_sentences(models: Mapping[str, Model]) -> tuple[str, ...]:
    """Explain how the outputs of nonlinear models become weights of strings, in one sentence for
    all models that do this in the same way.
    """
    names_by_sentence: dict[str, list[str]] = {}
    for name, model in models.items():
        if isinstance(model, NLWFA):
            names_by_sentence.setdefault(
                f"{model.reading.sentence}; {LINKS[model.reading.link].sentence}.", []
            ).append(name)
    return tuple(f"{', '.join(names)}: {sentence}" for sentence, names in names_by_sentence.items())


def score_warnings(models: Mapping[str, Model], word: Word) -> tuple[str, ...]:
    """Warn of next-symbol scores after a string that are negative, not finite, or all 0."""
    scores = {}
    for name, model in models.items():
        trie = Trie.of(Words.of([word]), model.num_symbols)
        scores[name] = scaled_next_scores(model, trie)[0][trie.ends]
    shares = {name: next_shares(row) for name, row in scores.items()}
    negative = [
        f"{name} ({format_share(float(below[0]))} of the bars)"
        for name, (_, below) in shares.items()
        if below[0] > 0
    ]
    zero = [name for name, row in scores.items() if not row.any()]
    infinite = [name for name, (share, _) in shares.items() if not share.any() and name not in zero]
    sentences = (
        [f"Negative scores are drawn without their sign: {'; '.join(negative)}."]
        if negative
        else []
    )
    if zero:
        sentences.append(
            "Every symbol has score 0 here, so all symbols are tied and there are no bars: "
            f"{'; '.join(zero)}."
        )
    if infinite:
        sentences.append(
            f"A score is not a finite number, so there are no bars: {'; '.join(infinite)}."
        )
    return tuple(sentences)


def points_table(
    prefixes: Words,
    alphabet: Alphabet,
    coordinates: FloatArray,
    colours: Sequence[object],
    title: str,
) -> dict[str, Sequence[object]]:
    """Tabulate the points of a figure of states: their prefixes, their coordinates ("component 1"
    …), and their colours as `title`.

    `coordinates` (num_prefixes, num_components). `colours`: for each prefix a number or the name of
    a class, as `projection.colouring` returns them. `title`: the title of the last column.
    """
    components = {
        f"component {index + 1}": column.tolist() for index, column in enumerate(coordinates.T)
    }
    return {"prefix": word_labels(prefixes, alphabet), **components, title: colours}


def trajectory_table(model: LearnedModel, word: Word, alphabet: Alphabet) -> Table:
    """Make a table with the columns prefix, state 1 … state k and f(prefix), and one row for each
    prefix of the string.
    """
    prefixes = prefixes_of(word)
    states = prefix_states(model, prefixes)
    weights = model.weights(prefixes)
    columns = {f"state {index + 1}": column for index, column in enumerate(states.T)} | {
        "f(prefix)": weights
    }
    numbers = {
        title: Numbers.written(column.tolist(), format_significant)
        for title, column in columns.items()
    }
    return {"prefix": word_labels(prefixes, alphabet), **numbers}


def scores_csv(rows: Mapping[str, Scores]) -> bytes:
    """Write a CSV file with one line for each model: its name and all fields of its `Scores`, in
    full precision.
    """
    names = [field.name for field in fields(Scores)]
    lines = [(name, *(getattr(scores, field) for field in names)) for name, scores in rows.items()]
    return csv_text([("model", *names), *lines]).encode()


def spread_table(rows: Mapping[str, Sequence[Scores]]) -> Table:
    """Tabulate the main scores, as mean and standard deviation over seeds, with one row per model.

    A cell of a score displays "mean ± standard deviation"; its value, by which rows are sorted, is
    the mean, or ∞ if the score of any seed is infinite. Because the values of cells are all that an
    export contains, the standard deviations of all scores also have columns of their own, at the
    right.
    """
    table: Table = {
        "model": list(rows),
        "seeds": Numbers.written(map(len, rows.values()), lambda number: f"{number:.0f}"),
    }
    deviations: Table = {}
    for field in ("wer", "log2_pauto", "bits_per_symbol", "ndcg5", "kl"):
        title = SCORE_OF[field].short_title
        spreads = [
            Spread.of(v for one in scores if (v := getattr(one, field)) is not None)
            for scores in rows.values()
        ]
        means = [math.inf if spread.num_infinite else spread.mean for spread in spreads]
        table[title] = Numbers.of(
            (mean, spread_text(spread)) for mean, spread in zip(means, spreads, strict=True)
        )
        deviations[f"sd of {title}"] = Numbers.written(
            (spread.sd for spread in spreads), format_score
        )
    return table | deviations


def run_names(grid: Grid, points: Iterable[Point]) -> dict[Point, str]:
    """Name each run of a comparison by learner and rank, and by number of strings and seed only if
    these vary.

    >>> run_names(Grid(num_seeds=2), [Point("SP", 3, 1)])
    {Point(learner='SP', value=3, seed=1): 'SP, k = 3, seed 2'}
    """
    names = {}
    by_rank = grid.against == "rank"
    for point in points:
        title = run_title(point.learner, point.value if by_rank else grid.base.learning.rank)
        size = "" if by_rank else f", {point.value:,} strings"
        names[point] = f"{title}{size}" + (f", seed {point.seed + 1}" if grid.num_seeds > 1 else "")
    return names


def verdicts(
    rows: Mapping[str, Scores],
    is_level: Callable[[str, str], bool] | None = None,
    field: str = "wer",
) -> tuple[str, ...]:
    """Write sentences about models that are beaten in WER: by a baseline, by an HMM or RNN or, if
    they are nonlinear, by SP.

    With too few test strings for an interval, a sentence states that instead.

    `rows`: model -> its scores on the same test strings. `is_level`: given two names from `rows`,
    says whether these test strings leave open which of the two has the lower WER (see
    `Interval.level`). Then a sentence says so of the models that it compares. Without it, values
    alone decide. `field`: the WER that is compared, "wer" or "wer_without_end".
    """

    def error(name: str) -> float:
        value: float = getattr(rows[name], field)
        return value

    def is_open(first: str, second: str) -> bool:
        return is_level is not None and is_level(first, second)

    for scores in rows.values():
        too_few = too_few_strings(scores.num_strings)
        if too_few:
            return (f"{too_few}. So no model is said to be ahead.",)
    learner_of = {name: name.split(",")[0] for name in rows}
    wer = SCORE_OF[field].short_title
    learners = sorted((name for name in rows if learner_of[name] in HANKEL_LEARNERS), key=error)
    sentences = []
    ngrams = [name for name in rows if name.endswith("-gram")]
    for baseline in ("uniform", *ngrams[:1]):
        if baseline not in rows:
            continue
        behind = [name for name in rows if name in learners and not error(name) < error(baseline)]
        if behind:
            sentences.append(
                f"Not ahead of the {baseline} model at predicting the next symbol ({wer}): "
                f"{'; '.join(behind)}."
            )
    if not learners:
        return tuple(sentences)
    opponents = [name for name in rows if learner_of[name] in STRING_LEARNERS]
    ahead = [name for name in opponents if error(name) < error(learners[0])]
    unclear = [name for name in ahead if is_open(name, learners[0])]
    clear = [name for name in ahead if name not in unclear]
    if clear:
        sentences.append(f"Ahead of every learner here ({wer}): {'; '.join(clear)}.")
    if unclear:
        sentences.append(
            f"Ahead of every learner here ({wer}), though {CHANCE}: {'; '.join(unclear)}."
        )
    linear = [name for name in learners if learner_of[name] == "SP"]
    nonlinear = [name for name in learners if learner_of[name] != "SP"]
    if linear and nonlinear and error(linear[0]) < error(nonlinear[0]):
        end = f", though {CHANCE}" if is_open(linear[0], nonlinear[0]) else ""
        sentences.append(f"The linear model is ahead of every nonlinear one here ({wer}){end}.")
    return tuple(sentences)


def conventions_table(
    outputs: FloatArray, target: FloatArray, substitutes: FloatArray | None = None
) -> Table:
    """Make a table of one model's perplexity by each of the `CONVENTIONS`.

    Parameters
    ----------
    outputs, target : arrays, shape (num_words,)
        Weights under the model, and true probabilities, as in `pautomac_score`.
    substitutes : array, shape (num_words,), optional
        The words' probabilities under a 3-gram of the training strings; without them, the
        convention "trigram" is left out.
    """
    rows = []
    for name, convention in CONVENTIONS.items():
        if name == "trigram" and substitutes is None:
            continue
        log2 = pautomac_score(outputs, target, convention=name, substitutes=substitutes).log2
        changed = (
            convention.replace(outputs, outputs if substitutes is None else substitutes) != outputs
        )
        rows.append((name, convention.rule, log2, int(changed.sum()), convention.source))
    names, rules, logs, numbers, sources = (list(column) for column in zip(*rows, strict=True))
    return {
        "convention": names,
        "what it does": rules,
        # Streamlit's tables can't show numbers above 2⁵³. Their logarithm is in the next column.
        "perplexity": Numbers.of(
            (2.0**log2 if log2 < 53 else log2 * math.inf, _perplexity(log2)) for log2 in logs
        ),
        "log₂": Numbers.written(logs, format_score),
        "words affected": Numbers.written(numbers, lambda number: format_score(number, ",.0f")),
        "source": sources,
    }


def _perplexity(log2: float) -> str:
    """Write a perplexity 2^log2: as a number up to 2²⁰, above that as a power, because its digits
    would mean nothing.
    """
    if not math.isfinite(log2):
        return format_score(log2)
    return f"{2**log2:.1f}" if log2 < 20 else f"2^{log2:.0f}"


def conventions_of(result: Result, data: Data) -> Table:
    """Make the `conventions_table` of a result's model on its test words."""
    outputs = []
    for known in (result.model, NGram.fit(data.train, 3)):
        model, test = over_one_alphabet(known, data.test)
        outputs.append(model.weights(test.words))
    return conventions_table(outputs[0], data.test.target, outputs[1])


def time_sentence(seconds: Mapping[str, float]) -> str:
    """Write the seconds that each stage of a run took.

    >>> time_sentence({"data": 0.1, "learning": 2.0, "factorisation": 1e-5, "transitions": 0.25})
    'Time: data 0.10 s · factorisation reused from another run · transitions 0.25 s'
    """
    stages = {stage: f"{value:.2f} s" for stage, value in seconds.items() if stage != "learning"}
    if seconds.get("factorisation", 1.0) < SHARED_SECONDS:
        stages["factorisation"] = "reused from another run"
    return "Time: " + " · ".join(f"{stage} {text}" for stage, text in stages.items())


def drawn_warnings(draws: Drawn, max_length: int) -> tuple[str, ...]:
    """Warn of drawn strings that do not follow f(x) or were left out; empty if there are none."""
    sentences = []
    if draws.num_negative:
        sentences.append(
            f"In {draws.num_negative:,} of {draws.num_choices:,} draws some scores were negative "
            f"({format_share(draws.negative_share)} of the total). Their absolute values "
            "were used, so strings are not drawn with "
            "probability f(x)."
        )
    if draws.num_cut:
        sentences.append(
            f"{draws.num_cut:,} of {draws.num_strings:,} strings reached {max_length:,} symbols "
            "without ending and were left out."
        )
    if draws.num_stuck:
        sentences.append(
            f"{draws.num_stuck:,} of {draws.num_strings:,} strings could not be continued: "
            "after their prefix every score is 0, "
            "or a score is not finite."
        )
    return tuple(sentences)


def drawn_table(draws: Drawn, alphabet: Alphabet) -> Table:
    """Make a table with the columns string, count, expected count (number of strings × probability
    of being drawn) and f(x).
    """
    expected = (draws.num_strings * draws.chances).tolist()
    return {
        "string": [alphabet.decode(word) for word in draws.words],
        "count": Numbers.written(draws.counts.tolist(), lambda number: f"{number}"),
        "expected": Numbers.written(expected, format_significant),
        "f(x)": Numbers.written(draws.weights.tolist(), format_significant),
    }


def drawn_csv(draws: Drawn, alphabet: Alphabet) -> bytes:
    """Write the `drawn_table` as CSV in full precision."""
    return write_table(drawn_table(draws, alphabet), "csv").encode()
