"""Define the commands that score models on test strings: `score` scores one model, `compare` scores
two on the same strings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import RecipeError, check_between, plural
from ..experiment.recipe import SKIP
from ..files import ascii_json
from ..metrics.intervals import (
    CONFIDENCE,
    COUNTS,
    FEW_RESAMPLES,
    LEAST_CONFIDENCE,
    MANY_STRINGS,
    MAX_RESAMPLES,
    MOST_CONFIDENCE,
    NUM_RESAMPLES,
    Interval,
    StringScores,
    default_resamples,
    intervals,
    leaders,
    least_resamples,
    paired_differences,
    string_scores,
    too_few_strings,
)
from ..metrics.score_table import FLAT_WINS, conventions
from ..metrics.tables import write_table
from ..metrics.testset import used_alphabet
from ..models.model import alphabet_of
from ..models.wfa import WFA
from ..sources.pautomac import model_reading, read_pautomac_model, read_solution, solution_reading
from ..sources.preview import preview
from ..sources.reading import Reading
from ..sources.recognition import reading_of
from ..strings.words import Alphabet
from .inputs import (
    STRINGS,
    Model,
    ModelFile,
    errors_naming,
    file_name,
    read_bytes,
    read_model,
    read_scored_words,
    read_words,
)
from .recipe_options import takes_reading
from .terminal import AsJson, Output, TableForm, table_form
from .text import (
    against_record,
    against_summary,
    aligned,
    counted_strings,
    difference_records,
    intervals_in_words,
    pautomac_target,
    score_summary,
    without_unknown,
)

if TYPE_CHECKING:
    from ..metrics.testset import TestSet
    from ..models.model import Model as AnyModel
    from ..sources.string_files import StringFile

Test = Annotated[Path, typer.Option(help=f"Test strings: {STRINGS}")]
Solution = Annotated[
    Path | None,
    typer.Option(help="The true probabilities of the test strings: a PAutomaC solution file."),
]
TrueModel = Annotated[
    Path | None,
    typer.Option(
        help="The model that drew the strings, which also gives the true probabilities of next "
        "symbols: a folder, an automaton as JSON, or a PAutomaC model file."
    ),
]
Floor = Annotated[float, typer.Option(help="Normalised outputs below this value are raised to it.")]
Unseen = Annotated[
    Literal["zero", "skip"],
    typer.Option(
        help="What happens to a test string with a symbol that the model does not know: zero gives "
        "it the weight 0, skip leaves it out of the scores."
    ),
]
Resamples = Annotated[
    int | None,
    typer.Option(
        help=f"Resamples of the test strings for the intervals, by default {NUM_RESAMPLES:,} "
        f"({FEW_RESAMPLES} for more than {MANY_STRINGS:,} strings)."
    ),
]
Confidence = Annotated[
    float, typer.Option(help="Confidence of the intervals, such as 0.9 for 90 %.")
]


@takes_reading
def score(
    model: Model,
    test: Test,
    reading: Reading,
    solution: Solution = None,
    true_model: TrueModel = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="The folder of another model to compare with: prints the differences of all "
            "scores with intervals."
        ),
    ] = None,
    floor: Floor = 0.0,
    unseen: Unseen = "zero",
    resamples: Resamples = None,
    confidence: Confidence = CONFIDENCE,
    as_json: AsJson = False,
    table: TableForm = None,
) -> Output:
    """Score a model on test strings, with intervals from resamples of them."""
    from ..display.pairs import interval_table
    from ..experiment.notes import key_notes
    from ..metrics.diagnostics import diagnostics
    from ..metrics.evaluate import evaluate

    form = table_form(table, as_json)
    if form is not None and against is not None:
        raise RecipeError(
            "--table has no effect with --against; nlwfa compare writes two models as a table"
        )
    _check_resampling(resamples, confidence)
    saved = read_model(model)
    other = None if against is None else read_model(against)
    test_set, notes = _read_test_set(test, reading, (saved, other), solution, true_model, unseen)
    notes += key_notes(saved.info.get("training_keys"), test_set.sample)
    scores = evaluate(saved.model, test_set, floor)
    health = diagnostics(saved.model, scores)
    model_scores = string_scores(saved.model, test_set, floor)
    known = intervals(model_scores, resamples, confidence=confidence)
    too_few = too_few_strings(model_scores.num_strings)
    meaning = too_few or intervals_in_words(
        confidence, resamples or default_resamples(model_scores)
    )
    if too_few and (as_json or form is not None):  # the text says so itself
        notes = (*notes, too_few)
    if form is not None:
        caption = f"{model}; {conventions(model_scores.num_strings)}; {meaning}"
        text = write_table(interval_table(known), form, caption).removesuffix("\n")
        return Output(text, (*notes, *health.warnings), is_data=form == "csv")
    ends = {
        field: (interval.low, interval.high)
        for field, interval in known.items()
        if interval.is_known
    }
    record = asdict(scores) | {"intervals": ends}
    record |= {"confidence": confidence, "resamples": resamples or default_resamples(model_scores)}
    text = score_summary(scores, test_set.sample, health, known, meaning)
    if against is not None and other is not None:
        theirs = string_scores(other.model, test_set, floor)
        notes = (*notes, *_unknown_to(against, other, saved, test_set))
        differences = paired_differences(model_scores, theirs, resamples, confidence=confidence)
        record["against"] = against_record(str(against), theirs, differences)
        text += f"\n\n{against_summary(model_scores, theirs, differences, meaning)}"
        notes = (*notes, *_without_truth(model_scores))
    return Output(ascii_json(record) if as_json else text, (*notes, *health.warnings))


@takes_reading
def compare(
    first: Annotated[
        Path, typer.Argument(help="A model: the folder that `fit` wrote.", metavar="A")
    ],
    second: Annotated[Path, typer.Argument(help="Another model.", metavar="B")],
    test: Test,
    reading: Reading,
    solution: Solution = None,
    true_model: TrueModel = None,
    floor: Floor = 0.0,
    unseen: Unseen = "zero",
    resamples: Resamples = None,
    confidence: Confidence = CONFIDENCE,
    as_json: AsJson = False,
    table: TableForm = None,
) -> Output:
    """Compare two models on the same test strings: all scores, their differences A − B with
    intervals and p values.

    For two linear models, it also prints whether they compute the same function of all strings, and
    their L2 distance.
    """
    from ..display.pairs import compared_table
    from ..experiment.notes import key_notes, training_notes

    form = table_form(table, as_json)
    _check_resampling(resamples, confidence)
    models = [read_model(path) for path in (first, second)]
    test_set, notes = _read_test_set(test, reading, models, solution, true_model, unseen)
    for name, saved in zip("AB", models, strict=True):
        notes += tuple(
            f"{name}: {note}"
            for note in key_notes(saved.info.get("training_keys"), test_set.sample)
        )
    scores = [string_scores(saved.model, test_set, floor) for saved in models]
    notes = (*notes, *_unknown_to(second, models[1], models[0], test_set))
    notes += training_notes([saved.info.get("recipe") for saved in models])
    single = [intervals(one, resamples, confidence=confidence) for one in scores]
    differences = paired_differences(scores[0], scores[1], resamples, confidence=confidence)
    num_resamples = resamples or default_resamples(scores[0])
    too_few = too_few_strings(scores[0].num_strings)
    distance = _distance(models[0].model, models[1].model)
    ahead = leaders(differences, scores[0].has_truth)
    notes = (*notes, *_without_truth(scores[0]))
    if too_few and (as_json or form is not None):  # the text says so itself
        notes = (*notes, too_few)
    if as_json and table is None:
        record = {
            "models": [str(first), str(second)],
            "scores": [
                _with_intervals(one, known) for one, known in zip(scores, single, strict=True)
            ],
            "differences": difference_records(differences, ahead, {"first": "A", "second": "B"}),
            "distance": distance,
            "confidence": confidence,
            "resamples": num_resamples,
        }
        return Output(ascii_json(record), notes)
    method = too_few or f"{intervals_in_words(confidence, num_resamples)}, the same for both"
    target = pautomac_target(len(test_set.words), scores[0].has_truth)
    counted = counted_strings(len(test_set.words), scores[0].has_truth)
    if form in ("latex", "markdown"):
        differences = _without_zeros(differences, scores)
    of_what = f"; counts of strings are of {counted}, impossible of " + plural(
        scores[0].num_predictions, "prediction"
    )
    meaning = (
        f"A is {first}, B is {second}; log₂ Pautomac against {target}"
        f"{of_what if any(field in COUNTS for field in differences) else ''}; {method}"
    )
    rows = compared_table(
        (_with_counts(scores[0], single[0]), _with_counts(scores[1], single[1])),
        differences,
        ahead,
        together=form not in ("csv", "json"),
    )
    if form is not None:
        caption = f"{conventions(scores[0].num_strings)}; {meaning}"
        return Output(
            write_table(rows, form, caption).removesuffix("\n"), notes, is_data=form == "csv"
        )
    lines = [aligned(rows), meaning]
    if not too_few:
        verdict = (
            "level if the interval of the difference contains 0; p values are not corrected for "
            "the number of scores"
        )
        lines.append(f"ahead: {verdict}")
    return Output("\n".join([*lines, _distance_in_words(distance)]), notes)


def _unknown_to(
    path: Path, saved: ModelFile, first: ModelFile, test_set: TestSet
) -> tuple[str, ...]:
    """State which symbols a second model does not know, if its alphabet differs from the first
    model's, for which the notes state this already.
    """
    from ..experiment.notes import mapped_notes, unknown_notes
    from ..models.unseen import extended

    unknown = saved.alphabet.unknown
    if saved.alphabet == first.alphabet and unknown == first.alphabet.unknown:
        return ()
    if unknown is not None:
        mapped = mapped_notes(test_set.sample, saved.alphabet)
        return tuple(f"{path}: {note}" for note in mapped)
    alphabet = alphabet_of(extended(saved.model, used_alphabet(test_set.sample)))
    notes = (
        unknown_notes(test_set.sample.in_alphabet(alphabet), len(saved.alphabet))
        if alphabet
        else ()
    )
    return tuple(f"{path}: {note}" for note in notes)


def _without_truth(scores: StringScores) -> tuple[str, ...]:
    """Explain why there is no verdict on the Pautomac score, if there is none."""
    return () if scores.has_truth else (f"{FLAT_WINS} So it has no verdict.",)


def _without_zeros(
    differences: dict[str, Interval], scores: Sequence[StringScores]
) -> dict[str, Interval]:
    """Leave out the counts that are 0 for all models: a printed table does not need them."""
    return {
        field: one
        for field, one in differences.items()
        if field not in COUNTS or any(model.estimates[field] for model in scores)
    }


def _with_counts(scores: StringScores, known: dict[str, Interval]) -> dict[str, Interval]:
    """Add the scores that have no interval to those that have one."""
    return {
        field: known.get(field, Interval(value, math.nan, math.nan))
        for field, value in scores.estimates.items()
    }


def _with_intervals(scores: StringScores, known: dict[str, Interval]) -> dict[str, Any]:
    """Make a JSON object for each score: its value, and the ends of its interval if it has one."""
    return {
        field: {name: without_unknown(one)[name] for name in ("estimate", "low", "high")}
        for field, one in _with_counts(scores, known).items()
    }


def _distance(first: AnyModel, second: AnyModel) -> dict[str, Any] | None:
    """Compare two linear models over all strings; None if one is not linear.

    "reason" states what could not be computed.
    """
    from ..models.algebra import counterexample, distance

    if not (isinstance(first, WFA) and isinstance(second, WFA)):
        return None
    try:
        word = counterexample(first, second)
    except RecipeError as error:
        return {"equivalent": None, "counterexample": None, "l2": None, "reason": str(error)}
    known: dict[str, Any] = {
        "equivalent": word is None,
        "counterexample": None,
        "l2": None,
        "reason": None,
    }
    if word is not None:
        known["counterexample"] = (
            list(word) if first.alphabet is None else first.alphabet.decode(word)
        )
    try:
        return known | {"l2": distance(first, second)}
    except RecipeError as error:
        return known | {"reason": str(error)}


def _distance_in_words(known: dict[str, Any] | None) -> str:
    if known is None:
        return "over all strings: not computed, because this needs two linear models"
    if known["equivalent"] is None:
        return f"over all strings: not computed: {known['reason']}"
    if known["equivalent"]:
        return "over all strings: the models compute the same function"
    size = (
        "not computed: " + known["reason"]
        if known["l2"] is None
        else f"{known['l2']:.6g}".replace("inf", "∞")
    )
    return (
        f"over all strings: L2 distance {size}; the shortest string with different weights is "
        f"{known['counterexample']}"
    )


def _check_resampling(resamples: int | None, confidence: float) -> None:
    check_between("--confidence", confidence, LEAST_CONFIDENCE, MOST_CONFIDENCE)
    if resamples is not None:
        reason = f"an interval of {100 * confidence:g} % needs {least_resamples(confidence):,}"
        check_between("--resamples", resamples, least_resamples(confidence), MAX_RESAMPLES, reason)


def _read_test_strings(
    read: Callable[[Path, Reading, Alphabet], StringFile],
    test: Path,
    reading: Reading,
    models: Sequence[ModelFile | None],
    alphabet: Alphabet,
) -> StringFile:
    """Read test strings; if they can't be read, and no choice was made, then like the training
    strings of a model, where that has a meaning.
    """
    try:
        return read(test, reading, alphabet)
    except RecipeError:
        for saved in models if reading == Reading() else []:
            chosen = _training_reading(saved, test)
            if chosen is not None:
                file = read(test, chosen, alphabet)
                note = f"{test} is read like the model's training strings"
                return replace(file, notes=(*file.notes, note))
        raise


def _training_reading(saved: ModelFile | None, test: Path) -> Reading | None:
    """Return how a model's training strings were read, if the column of the strings was chosen by
    its name and the first line of the test file has that name, too.
    """
    choices = saved.info.get("reading") if saved is not None else None
    if not isinstance(choices, dict):
        return None
    with suppress(RecipeError):
        chosen = Reading(**choices)
        shown = preview(read_bytes(test), chosen)
        if shown is not None and chosen.text_column in shown.choices.get("text_column", ()):
            return chosen if chosen.text_column and not chosen.text_column.isdecimal() else None
    return None


def _read_test_set(
    test: Path,
    reading: Reading,
    models: Sequence[ModelFile | None],
    solution: Path | None,
    true_model: Path | None,
    unseen: str,
) -> tuple[TestSet, tuple[str, ...]]:
    """Read test strings for a model, and perhaps another, with what is known about their
    probabilities, and notes on how the files were read.
    """
    from ..experiment.datasets import file_test_set
    from ..experiment.notes import skipped_notes

    alphabets = [saved.alphabet for saved in models if saved is not None]
    if unseen == SKIP and all(alphabet.unknown is not None for alphabet in alphabets):
        raise RecipeError(
            "--unseen skip has no effect with a model that reads unseen symbols as "
            f"{alphabets[0].unknown!r}"
        )
    read = read_words if unseen == SKIP else read_scored_words
    file = _read_test_strings(read, test, reading, models, alphabets[0])
    notes = file.notes
    values = None
    truth = None if true_model is None else _read_true_model(true_model, file.alphabet)
    if solution is not None:
        data = read_bytes(solution)
        with errors_naming(solution):
            values = read_solution(data)
        notes += (reading_of(file_name(solution), solution_reading(values)),)
    if truth is not None and true_model is not None:
        size = f"{plural(truth.num_states, 'state')}, {plural(truth.num_symbols, 'symbol')}"
        sentence = (
            f"read as an automaton: {size}" if _is_automaton(true_model) else model_reading(truth)
        )
        notes += (reading_of(file_name(true_model), sentence),)
    test_set = file_test_set(file, values, truth)
    if unseen == SKIP:
        for alphabet in alphabets:
            if alphabet.unknown is None:
                notes += skipped_notes(test_set.sample, alphabet)
                test_set = test_set.known_to(alphabet)
    return test_set, notes


def _is_automaton(path: Path) -> bool:
    """Return whether a true model is a folder or an automaton as JSON, and not a PAutomaC model."""
    from ..sources.exchange import automaton_format

    return path.is_dir() or automaton_format(read_bytes(path)) == "json"


def _read_true_model(path: Path, alphabet: Alphabet) -> WFA:
    """Read an automaton with the alphabet of the scored model: a folder, an automaton as JSON, or a
    PAutomaC model.

    Raises RecipeError if it is not linear, has other symbols, or is a PAutomaC model, whose symbols
    are numbers, and that alphabet is not made of numbers.
    """
    if _is_automaton(path):
        truth = read_model(path).model
        if not isinstance(truth, WFA):
            raise RecipeError(
                f"--true-model {path}: the true model must be an automaton; this one is not linear"
            )
        with errors_naming(path):
            return truth.in_alphabet(alphabet)
    if alphabet != Alphabet.numbered(len(alphabet)):
        raise RecipeError(
            f"--true-model {path}: a PAutomaC model's symbols are numbers from 0; the "
            f"model's alphabet has {alphabet.summary}"
        )
    data = read_bytes(path)
    with errors_naming(path):
        return read_pautomac_model(data, alphabet=alphabet)
