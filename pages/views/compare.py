"""Draw the Compare page: runs side by side, the controls of a grid of runs, its curves, and the
table of all runs.

The *shown runs* are the pinned runs A and B, and the sidebar's run, "now". The *grid* has a run for
each learner, each rank or number of strings, and each seed that the visitor chose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import TypeVar

import streamlit as st

from nlwfa_core import HankelRecipe, Recipe, RecipeError, limits
from nlwfa_core.display.figures import for_a_wall
from nlwfa_core.display.figures.parallel import parallel_figure
from nlwfa_core.display.figures.score_curves import metric_figure, score_bars
from nlwfa_core.display.pairs import pair_caption, paired_table
from nlwfa_core.display.recipe_differences import (
    best_pair,
    difference_table,
    level_with,
    parallel_axes,
    ranking,
    run_table,
)
from nlwfa_core.display.records import problem_of, record_table
from nlwfa_core.display.result_tables import (
    BETTER,
    conventions_of,
    run_names,
    scores_csv,
    spread_table,
)
from nlwfa_core.errors import listed
from nlwfa_core.experiment import sweeps
from nlwfa_core.experiment.recipe import run_title
from nlwfa_core.experiment.sweeps import AGAINST, MAX_SEEDS, TIES, Grid, Outcome, Point, RankChoice
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.jobs.runner import num_cores
from nlwfa_core.learning.learners import HANKEL_LEARNERS, STRING_LEARNERS
from nlwfa_core.metrics.criteria import NEEDS_LIKELIHOOD
from nlwfa_core.metrics.diagnostics import DIAGNOSTIC_TITLES
from nlwfa_core.metrics.score_table import CRITERIA, FLAT_WINS, METRICS, RANK_METRICS, SCORE_OF
from nlwfa_core.sources.names import RANDOM
from pages.shared import (
    contents,
    last_result,
    pins,
    score_tables,
    share_link,
    sidebar,
    training,
    uploads,
    url_parameters,
    visitor_runs,
    widgets,
)
from pages.shared.context import Context, computed, finished
from pages.shared.widgets import error_toast, escape_markdown

Name = TypeVar("Name", str, Point)  # of a run
RANKS = (1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 50, 100)
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
SEEDS = {False: "the learning only", True: "the strings too"}
OPENING = "compare.opening"
LAST = "compare.last"
# the file that a chart's camera button saves
SVG = {"toImageButtonOptions": {"format": "svg", "filename": "nlwfa-lab"}}


@st.cache_resource(max_entries=1000, show_spinner=False)
def _outcome(key: str) -> Outcome:
    return Outcome.of(finished(key))


def outcome(recipe: Recipe) -> Outcome | None:
    """Return a finished run's scores and diagnostics; None if the run is not finished.

    The outcome has the requested recipe: the stored one may differ in options that its learner does
    not use.
    """
    status = visitor_runs.status(recipe)
    return (
        replace(_outcome(recipe.key()), recipe=recipe)
        if status and status.state == "done"
        else None
    )


def side_by_side(recipe: Recipe) -> dict[str, Recipe]:
    """Draw the scores and differing options of the shown runs.

    Returns these runs by their names in tables.
    """
    recipes = {f"{name}: {one.title}": one for name, one in pins.shown_runs(recipe).items()}
    if len(recipes) < 2:
        st.caption(
            "To see two runs side by side here, pin a run as A in the sidebar, then change "
            "something."
        )
        return recipes
    st.subheader("Side by side", anchor=False)
    training.train_at_once(list(recipes.values()), "compare.in_play")
    outcomes = {name: run for name, one in recipes.items() if (run := outcome(one))}
    training.train_controls(list(recipes.values()), "compare.in_play")
    if outcomes:
        if len({one.recipe.data for one in outcomes.values()}) > 1:
            widgets.notes(
                "These runs use different strings: each is scored on its own test strings."
            )
        score_tables.score_table(
            {name: one.scores for name, one in outcomes.items()}, "compare.in_play.scores"
        )
    every = st.toggle(
        "All options, not only the differences",
        key="compare.in_play.every",
        persist_state="session",
    )
    table = difference_table(recipes, every, uploads.titles(*recipes.values()))
    if table["option"]:
        widgets.draw_table(table, "compare.differences", "Options of the runs shown")
    return recipes


def sweep_controls(context: Context) -> Grid:
    """Draw the widgets for the grid of runs. Returns the chosen grid."""
    recipe = context.recipe
    left, right = st.columns(2)
    learners = left.pills(
        "Learners",
        list(HANKEL_LEARNERS),
        selection_mode="multi",
        default=["SP"],
        key="learners",
        bind="query-params",
    )
    opponents = right.pills(
        "Opponents",
        list(STRING_LEARNERS),
        selection_mode="multi",
        key="opponents",
        bind="query-params",
        help="These are a hidden Markov model and a probabilistic automaton trained by EM, and "
        "recurrent networks, each with as many states as the rank. They learn from the strings "
        "themselves, stop early on the validation strings, and take up to one or two minutes "
        "each.",
    )
    left, middle, right = st.columns([1, 2.4, 0.8])
    against = left.segmented_control(
        "Against", list(AGAINST), default="rank", required=True, key="against", bind="query-params"
    )
    with middle:
        values = _ranks(recipe) if against == "rank" else _sizes(context)
    linked = st.query_params.get("seeds", "")
    binding = url_parameters.number_binding("seeds", whole=True)
    num_seeds = right.number_input("Seeds", 1, MAX_SEEDS, 1, key="seeds", bind=binding)
    if linked and binding is None:
        url_parameters.report_refused("seeds", linked, num_seeds)
    new = False
    if num_seeds > 1:
        new = st.segmented_control(
            "A seed changes", list(SEEDS), default=False, format_func=SEEDS.get, required=True, key="compare.new_strings",  # noqa: E501
            persist_state="session",
        )  # fmt: skip
        st.caption(_seed_sentence(recipe, new))
    axis = "ranks" if against == "rank" else "sample_sizes"
    return Grid(
        base=recipe,
        learners=(*learners, *opponents),
        **{axis: values},
        num_seeds=num_seeds,
        new_strings=new,
        options=tuple(sidebar.hidden_options().items()),
    )


def _ranks(recipe: Recipe) -> list[int]:
    """Draw the choice of ranks, the same for all learners; `possible` leaves out ranks that a
    learner can't have.
    """
    matrix = sidebar.matrix()
    options = [
        rank
        for rank in sorted({*RANKS, recipe.learning.rank})
        if rank <= min(matrix.num_prefixes, matrix.num_suffixes, limits.most("rank"))
    ]
    default = [rank for rank in (1, 2, 3, 5, 10) if rank in options]
    return st.pills(
        "Ranks",
        options,
        selection_mode="multi",
        default=default,
        key="ranks",
        bind="query-params",
        wrap=True,
    )


def _sizes(context: Context) -> list[int]:
    """Draw the choice of numbers of training strings, up to a file's number of strings if they come
    from a file.
    """
    recipe = context.recipe
    num_strings = context.data.train.num_strings
    most = (
        num_strings
        if recipe.data.source in ("verbs", "upload")
        else max(num_strings, min(SIZES[-1], limits.most("generated_strings")))
    )
    options = sorted({size for size in SIZES if size < most} | {num_strings, most})
    default = [size for size in options if size <= num_strings][-4:]
    return st.pills(
        "Training strings",
        options,
        selection_mode="multi",
        default=default,
        key="sizes",
        bind="query-params",
        wrap=True,
        help=f"Each model has k = {recipe.learning.rank}, as set in the sidebar.",
    )


def _seed_sentence(recipe: Recipe, new: bool) -> str:
    if not new:
        return (
            "With each seed, networks start from different random weights, on the same strings. "
            "Spectral learning is not random, so one run is enough."
        )
    source = ", and so is the automaton that draws them" if recipe.data.source in RANDOM else ""
    return (
        f"Training, validation and test strings are drawn or split again{source}, so the bands "
        "also include that randomness."
    )


def possible(recipe: Recipe, sweep: Grid) -> Mapping[Point, Recipe]:
    """Return the runs of the grid without ranks that are too large for a learner, and draw a note
    that names these ranks.
    """
    if not sweep.learners or not (sweep.ranks or sweep.sample_sizes):
        return {}
    grid = sweep.points()
    if sweep.against != "rank":
        return grid
    allowed = {}
    refused = Counter[str]()
    matrices: dict[HankelRecipe, HankelMatrix] = {}
    for point, one in grid.items():
        if one.learning.needs_hankel:
            if one.hankel not in matrices:
                matrices[one.hankel] = Context(one.changed(data=recipe.data)).hankel
            hankel = matrices[one.hankel]
            largest = min(hankel.num_prefixes, hankel.num_suffixes)
            if one.learning.rank > largest:
                size = f"{hankel.num_prefixes:,} prefixes and {hankel.num_suffixes:,} suffixes"
                refused[
                    f"{point.learner}: ranks up to {largest} only, because its matrix has {size}."
                ] += 1
                continue
        allowed[point] = one
    widgets.notes(*refused)
    return allowed


def train(grid: Mapping[Point, Recipe]) -> dict[Point, Outcome]:
    """Draw the button that trains the grid's missing runs, their expected time, and failures.

    Returns the finished runs.
    """
    states = {point: visitor_runs.status(recipe) for point, recipe in grid.items()}
    outcomes = {
        point: replace(_outcome(grid[point].key()), recipe=grid[point])
        for point, status in states.items()
        if status and status.state == "done"
    }
    failed = {
        point: status for point, status in states.items() if status and status.state == "failed"
    }
    going = [
        point
        for point, status in states.items()
        if status and status.state in ("queued", "running")
    ]
    rest = [recipe for point, recipe in grid.items() if point not in failed]
    if going:
        done = sorted(
            (point.learner, status.seconds)
            for point, status in states.items()
            if status and status.state == "done"
        )
        seconds = {
            learner: [time for _, time in group]
            for learner, group in groupby(done, key=lambda entry: entry[0])
        }
        estimate = sweeps.time_left(
            seconds, Counter(point.learner for point in going), max(1, num_cores() - 1)
        )
        about = (
            "" if estimate is None else f", about {_duration(estimate)} if nobody else is training"
        )
        st.caption(f"{len(going)} of {len(grid)} models left{about}.")
    training.train_controls(rest, "compare", total=len(grid))
    if failed:
        messages = Counter(f"{point.learner}: {status.message}" for point, status in failed.items())
        with st.expander(
            f"{len(failed)} of {len(grid)} models could not be trained", icon=":material/error:"
        ):
            st.markdown(
                "\n".join(
                    f"- {escape_markdown(sentence)} ({count} ×)"
                    for sentence, count in messages.items()
                )
            )
            st.button(
                "Try these again",
                key="compare.again",
                on_click=_again,
                args=[grid[point] for point in failed],
            )
    return outcomes


def _again(*recipes: Recipe) -> None:
    try:
        visitor_runs.submit(*recipes)
    except RecipeError as error:
        error_toast(error)


def _duration(seconds: float) -> str:
    return f"{max(seconds, 1):.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def remember(sweep: Grid, outcomes: Mapping[Point, Outcome]) -> None:
    """Remember that the session has seen these runs of a grid."""
    st.session_state[LAST] = sweep, {point: one.recipe for point, one in outcomes.items()}


def last_grid(sweep: Grid) -> tuple[Grid, dict[Point, Outcome]] | None:
    """Return the last grid of which this session saw runs, with these runs. None if there is none,
    if its base recipe is that of `sweep`, or if this server no longer has its strings.
    """
    before: tuple[Grid, dict[Point, Recipe]] | None = st.session_state.get(LAST)
    if before is None or before[0].base == sweep.base:
        return None
    with suppress(RecipeError):
        if Context(before[0].base).data is not None:
            runs = {point: run for point, one in before[1].items() if (run := outcome(one))}
            return (before[0], runs) if runs else None
    return None


def note(last: Grid, recipe: Recipe) -> None:
    """Draw a line that says whose runs are drawn in grey in place of a recipe's."""
    last_result.note(last.base, recipe, f"the curves of {listed(last.learners)}")


def curves(context: Context, sweep: Grid, outcomes: Mapping[Point, Outcome]) -> None:
    """Draw a score against rank or number of strings, with the reference models on the same test
    strings.
    """
    metrics = [
        score.field
        for score in METRICS
        if any(getattr(one.scores, score.field) is not None for one in outcomes.values())
    ]
    with st.container(horizontal=True, gap="medium"):
        metric = _metric(metrics)
        strings = st.segmented_control(
            "Scored on",
            ["test", "validation"],
            default="test",
            required=True,
            key="compare.strings",
            persist_state="session",
        )
    curve_points = sweeps.curves(outcomes, metric, strings)
    lines = _references(context, sweep, metric) if strings == "test" else {}
    x_title = AGAINST[sweep.against]
    places = {x for points in curve_points.values() for x in points}
    if sweep.against == "rank" and len(places) == 1:
        alt = (
            f"{SCORE_OF[metric].title} of each learner at {x_title} = {next(iter(places))}, "
            "with the reference models"
        )
        bars = {name: spread for name, points in curve_points.items() for spread in points.values()}
        figure = score_bars(
            bars, {name: value for name, value in lines.items() if isinstance(value, float)}, metric
        )
    else:
        alt = f"{SCORE_OF[metric].title} against {x_title}, with the reference models"
        figure = metric_figure(curve_points, lines, metric, x_title)
    if share_link.is_slide():
        for_a_wall(figure)
    st.plotly_chart(figure, key="compare.curves", alt=alt, config=SVG)
    if any(spread.count > 1 for points in curve_points.values() for spread in points.values()):
        one = (
            ": they are scored with the sidebar's seed only" if lines and sweep.new_strings else ""
        )
        st.caption(
            "A line of several seeds is their mean, and its band is the 95 % interval of that "
            "mean (Student's t). With few seeds the band is wide, and the chart may cut it off. A "
            "seed whose score is not finite is left out of the mean; the chart then has no band at "
            f"that point, and marks ∞ at its top edge. Reference models have no band{one}."
        )
    if sweep.against == "strings" and context.recipe.data.source in ("verbs", "upload"):
        st.caption(
            "The file is split differently for each number of training strings, so each point has "
            "its own test strings."
        )


def _metric(metrics: list[str]) -> str:
    """Draw the choice of the score by its title.

    The address gets the name of the score's field, which a widget bound to the address would not
    write.
    """
    linked = url_parameters.value("metric")
    meanings = "\n".join(
        f"- **{SCORE_OF[name].short_title}**: {escape_markdown(SCORE_OF[name].meaning)}"
        for name in metrics
    )
    metric: str = st.selectbox(
        "Metric",
        metrics,
        index=metrics.index(linked) if linked in metrics else 0,
        format_func=lambda name: SCORE_OF[name].short_title,
        key="metric",
        persist_state="session",
        width=220,
        help=meanings,
    )
    url_parameters.set_value("metric", metric)
    url_parameters.write("metric")
    return metric


def _references(context: Context, sweep: Grid, metric: str) -> dict[str, float | dict[int, float]]:
    """Return the score of each reference model: one number if the x-axis is the rank, otherwise one
    for each number of strings.
    """
    if sweep.against == "rank":
        level = {name: getattr(scores, metric) for name, scores in context.reference_scores.items()}
        return {name: value for name, value in level.items() if value is not None}
    lines: dict[str, float | dict[int, float]] = {}
    recipe = context.recipe
    for size in sorted(sweep.sample_sizes):
        of_size = Context(recipe.changed(data=recipe.data.changed(num_strings=size)))
        for name, scores in of_size.reference_scores.items():
            value = getattr(scores, metric)
            line = lines.setdefault(name, {}) if value is not None else None
            if isinstance(line, dict):
                line[size] = value
    return lines


def choice(recipe: Recipe, sweep: Grid) -> str:
    """Draw the choice of what the best run is chosen by: a score on validation strings or, among
    ranks, AIC or BIC. Return its field.
    """
    error_rate = recipe.data.error_rate
    metrics = RANK_METRICS
    if error_rate == "wer_without_end":
        ends = {"wer": error_rate, "bits_per_symbol": "bits_without_end"}
        metrics = tuple(ends.get(metric, metric) for metric in metrics)
    if sweep.against == "rank":  # AIC and BIC of different numbers of strings can't be compared
        metrics += tuple(CRITERIA)
    if st.session_state.get("compare.by") not in metrics:
        st.session_state["compare.by"] = error_rate  # other strings have another word error rate
    field: str = st.segmented_control(
        "Choose by",
        metrics,
        format_func=lambda name: CRITERIA.get(name) or SCORE_OF[name].short_title,
        required=True,
        key="compare.by",
        persist_state="session",
        help="The best rank is the one whose model has the lowest score on validation strings, or "
        "the lowest AIC or BIC, which are computed on the training strings, with a penalty for "
        f"each free parameter. {TIES} Test strings are not used.",
    )
    return field


def with_criteria(named: Mapping[Name, Outcome], recipe: Recipe, by: str) -> Mapping[Name, Outcome]:
    """Add AIC and BIC to outcomes if one of them chooses, except to runs from strings other than
    the page's: their values can't be compared. Strings that a seed drew count as the page's.
    """
    if by not in CRITERIA:
        return named
    strings = recipe.data
    return {
        name: replace(one, criteria=Context(one.recipe).criteria)
        if one.recipe.learning.learns_by_likelihood
        and one.recipe.data.changed(seed=strings.seed) == strings
        else one
        for name, one in named.items()
    }


def winners(context: Context, sweep: Grid, outcomes: Mapping[Point, Outcome], by: str) -> None:
    """Draw a table with the rank of each learner that is best by the choice, and its scores on the
    test strings; nothing if the runs do not differ in rank.
    """
    if sweep.against != "rank":
        return
    st.subheader(
        f"Rank chosen by {CRITERIA[by]}" if by in CRITERIA else "Rank chosen on validation strings",
        anchor=False,
    )
    references = context.reference_scores
    chosen = sweeps.winners(outcomes, by)
    best_scores = {run_title(learner, best.rank): best.scores for learner, best in chosen.items()}
    if by in CRITERIA:
        learners = dict.fromkeys(point.learner for point in outcomes)
        missing = [learner for learner in learners if learner not in chosen]
        if missing:
            widgets.notes(f"No {CRITERIA[by]} for {listed(missing)}: {NEEDS_LIKELIHOOD}.")
        if not chosen:
            return
    if not best_scores:
        widgets.notes(
            "There are no validation strings to choose a rank by. Set some aside in the sidebar, "
            "under Held-out strings and seed."
        )
        return
    if all(len(scores) == 1 for scores in best_scores.values()):
        rows = {name: scores[0] for name, scores in best_scores.items()} | references
        runs_of = {
            run_title(point.learner, point.value): one.recipe for point, one in outcomes.items()
        }
        score_tables.score_table(rows, "compare.winners", recipes=runs_of)
        _level_ranks(chosen, by)
        return
    table = spread_table(best_scores | {name: [scores] for name, scores in references.items()})
    widgets.draw_table(
        table, "compare.winners", "Scores of the chosen ranks, mean ± standard deviation over seeds"
    )
    st.caption(
        f"Mean ± standard deviation over n seeds (divisor: n − 1), on the test strings. {BETTER}."
    )
    _level_ranks(chosen, by)


def _level_ranks(chosen: Mapping[str, RankChoice], by: str) -> None:
    """Name the ranks that have the same value as the chosen ones."""
    ties = [
        f"{run_title(learner, best.rank)} with k = {listed(list(map(str, best.level)))}"
        for learner, best in chosen.items()
        if best.level
    ]
    if ties:
        value = CRITERIA.get(by) or f"{SCORE_OF[by].short_title} on validation strings"
        st.caption(escape_markdown(f"Tied in {value}: {'; '.join(ties)}. {TIES}"))


def named_runs(
    sweep: Grid, outcomes: Mapping[Point, Outcome], shown_runs: Mapping[str, Recipe]
) -> dict[str, Outcome]:
    """Collect the finished runs of the grid and of the shown runs: name -> outcome."""
    names = run_names(sweep, outcomes)
    named = {names[point]: one for point, one in outcomes.items()}
    keys = {one.recipe.key() for one in named.values()}
    additional = {name: one for name, one in shown_runs.items() if one.key() not in keys}
    return named | {name: run for name, one in additional.items() if (run := outcome(one))}


def verdict(named: Mapping[str, Outcome], by: str) -> None:
    """State which run is chosen, and whether it is better than the n-gram on the test strings."""
    chosen = next((name for name in ranking(named, by) if named[name].selection(by)), None)
    if chosen is None:
        return
    best = (
        f"The best by {CRITERIA[by]}"
        if by in CRITERIA
        else f"The best on validation strings by {SCORE_OF[by].short_title}"
    )
    choice = f"{best}: {chosen.removeprefix('now: ')}." if len(named) > 1 else ""
    recipe = named[chosen].recipe
    sentence = Context(recipe).lead_over_ngram(recipe.data.error_rate if by in CRITERIA else by)
    level = level_with(chosen, named, by)
    if level:
        others = "1 other" if len(level) == 1 else f"{len(level)} others"
        names = "; ".join(level[:5]) + ("; …" if len(level) > 5 else "")
        sentence = f"Tied with {others}: {names}. {TIES} {sentence}"
    st.markdown(
        f"**{escape_markdown(choice)}** {escape_markdown(sentence)}"
        if choice
        else escape_markdown(sentence)
    )


def records(context: Context, named: Mapping[str, Outcome]) -> None:
    """Draw the runs among the published figures, if the test files are those of a competition's
    public problem.
    """
    recipe = context.recipe
    problem = problem_of(recipe.data, contents.competition_problems())
    if problem is None:
        return
    st.subheader(escape_markdown(problem.title), anchor=False)
    runs_here = {name: one.scores for name, one in named.items() if one.recipe.data == recipe.data}
    with st.container(key="compare.records"):
        alt = "The runs among published figures, the best first"
        widgets.draw_table(record_table(problem, runs_here), "compare.records.table", alt)
    kind = f" {problem.kind_sentence}" if problem.kind else ""
    num_strings = context.data.train.num_strings
    st.caption(
        f"{'Higher' if problem.higher_is_better else 'Lower'} is better.{kind} Runs learned "
        f"from {num_strings:,} training strings here. "
        "Participants could also learn from the test files, and looked at them more than once."
    )


def pair(
    context: Context, named: Mapping[str, Outcome], shown_runs: Mapping[str, Recipe], by: str
) -> None:
    """Draw two models' differences in each score, with intervals: at first of the pinned runs, or
    of the pinned run and the sidebar's, or of the two best. The visitor chooses
    among all runs and the reference models."""
    st.subheader("Two models on the same test strings", anchor=False)
    pinned = pins.pinned()
    ordered = _pinned_first(named, shown_runs if pinned else {}, by)
    names = [*ordered, *context.references]
    opening = names[:2] if pinned else [*best_pair(ordered, by), *context.references][:2]
    last = st.session_state.get(OPENING)
    shown = [st.session_state.get(key) for key in ("compare.first", "compare.second")]
    # A pin is new or has been trained, or another run is best and the visitor chose no pair.
    if opening != last and (pinned or shown == last or not {*shown} <= {*names}):
        st.session_state[OPENING] = opening
        st.session_state["compare.first"], st.session_state["compare.second"] = opening
    left, right = st.columns(2)
    first = left.selectbox("First model", names, key="compare.first", persist_state="session")
    others = [name for name in names if name != first]
    second = right.selectbox("Second model", others, key="compare.second", persist_state="session")
    missing = [
        name
        for name, one in pinned.items()
        if all(one.key() != run.recipe.key() for run in ordered.values())
    ]
    if missing:
        st.caption(f"{listed(missing)} can be chosen here once trained.")
    try:
        models = [
            Context(ordered[name].recipe).string_scores
            if name in ordered
            else context.reference_string_scores(name)
            for name in (first, second)
        ]
        keys = [
            ordered[name].recipe.key() if name in ordered else f"{context.data_key} {name}"
            for name in (first, second)
        ]
        table = computed(
            paired_table, " ".join([*keys, first, second]), (first, second), (models[0], models[1])
        )
    except RecipeError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    widgets.draw_table(
        table,
        "compare.pair",
        f"Difference of {first} and {second}, with its interval, for each score",
    )
    caption = pair_caption((models[0], models[1]))
    widgets.table_downloads(
        dict.fromkeys(("csv", "latex", "markdown"), table),
        "difference",
        "compare.pair.files",
        caption,
    )
    st.caption(f"{caption} {BETTER}." + ("" if models[0].has_truth else f" {FLAT_WINS}"))


def _pinned_first(
    named: Mapping[str, Outcome], shown_runs: Mapping[str, Recipe], by: str
) -> dict[str, Outcome]:
    """Order runs: the shown ones by the names that they have as pins, then the others with the best
    first.
    """
    by_key = {one.recipe.key(): one for one in named.values()}
    shown = {name: by_key[one.key()] for name, one in shown_runs.items() if one.key() in by_key}
    keys = {one.recipe.key() for one in shown.values()}
    return shown | {
        name: named[name] for name in ranking(named, by) if named[name].recipe.key() not in keys
    }


def all_runs(named: Mapping[str, Outcome], by: str) -> None:
    """Draw all runs with their differing options, scores and diagnostics, as a table and as
    parallel coordinates, in lists that open; and what the diagnostics warn of.
    """
    health = {name: one.diagnostics for name, one in named.items()}
    widgets.warning_list([f"{name}: {text}" for name in health for text in health[name].warnings])
    title = "All runs" if len(named) == 1 else f"All {len(named)} runs"
    table = widgets.opened(title, "compare.all", "table_chart")
    if table:
        with table:
            _table_of_runs(named, by)
            widgets.note_list([f"{name}: {text}" for name in health for text in health[name].notes])
    if len(named) > 2:
        # a chart in a closed list would be drawn too: a second or two without a graphics card
        lines = widgets.opened("One line for each run", "compare.lines", "stacked_line_chart")
        if lines:
            with lines:
                _lines(named)


def _table_of_runs(named: Mapping[str, Outcome], by: str) -> None:
    every = st.toggle("All options and diagnostics", key="compare.every", persist_state="session")
    table = run_table(named, by, every)
    hidden = () if every else {SCORE_OF["share_tied"].short_title, *DIAGNOSTIC_TITLES.values()}
    widgets.draw_table(
        table,
        "compare.runs",
        "All runs, the best first",
        {"training": st.column_config.Column(help=widgets.TRAINING_HELP)},
        column_order=[title for title in table if title not in hidden],
    )
    order = (
        f"{CRITERIA[by]}, on the training strings"
        if by in CRITERIA
        else f"the {SCORE_OF[by].title} on validation strings"
    )
    files = widgets.table_downloads(
        dict.fromkeys(("latex", "markdown"), table), "runs", "compare.runs.files"
    )
    if files is not None:
        csv = scores_csv({name: one.scores for name, one in named.items()})
        label = "All numbers as CSV"
        icon = ":material/download:"
        files.download_button(
            label,
            csv,
            "scores.csv",
            "text/csv",
            key="compare.csv",
            type="tertiary",
            icon=icon,
            on_click="ignore",
        )
    st.caption(
        f"Ordered by {order}. {TIES} All other scores are on the test strings."
        f"{' Radius and total mass have a closed form only for linear models.' if every else ''}"
    )


def _lines(named: Mapping[str, Outcome]) -> None:
    st.markdown(
        "Drag along an axis to keep some of the runs. "
        f"{'Brighter' if widgets.dark() else 'Darker'} lines have a lower word error rate."
    )
    figure = parallel_figure(parallel_axes(named), SCORE_OF["wer"].short_title, widgets.dark())
    alt = "Parallel coordinates of all runs; the table above has the numbers"
    st.plotly_chart(figure, key="compare.parallel", alt=alt)


def conventions(named: Mapping[str, Outcome], by: str) -> None:
    """Draw a model's perplexity by the conventions of several programs, in a list that opens."""
    box = widgets.opened(
        "Why programs print different perplexities", "compare.perplexities", "calculate"
    )
    if not box:
        return
    with box:
        st.markdown(
            "An output of 0 or below has no logarithm. Public programs handle such outputs "
            "differently, so they print different perplexities."
        )
        name = st.selectbox("Model", ranking(named, by), key="compare.model")
        run = Context(named[name].recipe)
        if run.result is not None:
            widgets.draw_table(
                computed(conventions_of, run.run_key, run.result, run.data),
                "compare.conventions",
                "Perplexity of one model by each convention",
                {title: st.column_config.Column(width=300) for title in ("what it does", "source")},
                row_height=106,  # above 64, text wraps; the longest source has five lines
                height="content",
            )
