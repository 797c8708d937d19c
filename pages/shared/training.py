"""Draw the controls and the progress of training: start, pause, step, cancel; progress bars, live
loss curves, and live states.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.display.autoencoder import network_drawing
from nlwfa_core.display.figures.live import LINEAR_NOTE, LOSS_NOTES, loss_options, picture_options
from nlwfa_core.display.formulas.recipe_formulas import rank_notes
from nlwfa_core.display.projection import colouring, prefix_states
from nlwfa_core.display.string_labels import word_labels
from nlwfa_core.errors import plural
from nlwfa_core.experiment.recipe import with_fields
from nlwfa_core.experiment.results import Result
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.jobs.pace import duration
from nlwfa_core.jobs.runner import JobStatus
from nlwfa_core.jobs.snapshots import NetworkPicture, Snapshot, picture_of
from nlwfa_core.learning.learners import HANKEL_LEARNERS
from nlwfa_core.learning.progress import MAX_SHOWN
from nlwfa_core.learning.shared_options import LARGEST_SEED
from nlwfa_core.learning.spectral import linear_loss as spectral_loss
from nlwfa_core.rounding import format_share, format_significant
from nlwfa_core.strings.words import Alphabet, Words
from pages.shared import components, open_lesson, sidebar, visitor_runs
from pages.shared.context import Context, computed
from pages.shared.navigation import FIRST
from pages.shared.widgets import error_toast, errors_as_messages, escape_markdown

POLL_SECONDS = 0.4
ELSEWHERE_SECONDS = 2.0
MAX_BARS = 2
# A run that needs no button is one that nobody has to wait for: it is not started by itself if
# others like it have taken longer than this.
AT_ONCE_SECONDS = 30.0
BRIEF_SECONDS = 3.0
AT_ONCE = "training.at_once"
REPLACED = "training.replaced"
EPOCHS = (1, 10, 100)
SEED = "learning_seed"  # the flat name of the seed of a network's training
STAGES = {
    "data": "reading the strings",
    "hankel": "counting into the Hankel matrix",
    "learning": "preparing to learn",
    "spectral": "decomposing",
    "factorisation": "training the factorisation",
    "transitions": "training the transitions",
    "refinement": "refining",
    "likelihood": "training by likelihood",
    "EM": "learning by EM",
    "GRU": "training the network",
    "LSTM": "training the network",
    "scores": "scoring",
}
HEIGHT = 360
NETWORK_NOTE = (
    "Each line shows a unit's value times the line's weight, blue if positive and red if "
    "negative. Only the strongest lines between two layers are shown. The stronger a unit's "
    "colour, the larger its value, relative to the largest value in its layer over all these "
    "prefixes; a thick ring means that tanh bends the value. Entries of H are divided by the "
    "largest entry. As training lowers the loss, the picture of H − Ĥ fades."
)


def needs_no_button(recipe: Recipe) -> bool:
    """Return whether a recipe is trained without being asked for: no network, no refinement, and a
    rank that the basis allows.
    """
    learning = recipe.learning
    quick = learning.needs_hankel and not learning.networks and learning.refinement == "none"
    return quick and not rank_notes(recipe)


def train_at_once(recipes: Sequence[Recipe], key: str) -> None:
    """Start those of the recipes that need no button and that nobody has run.

    A run that has failed or was cancelled is not started again, and none is started twice in a
    session, so there is a button for it. A run that this function started for earlier settings and
    that still waits in the queue is withdrawn, because those settings would be gone when its turn
    came. Only such a run is started again when the settings come back.

    Parameters
    ----------
    recipes : sequence of Recipe
        The recipes that the page shows.
    key : str
        The page's key.
    """
    started: dict[tuple[str, str], Recipe] = st.session_state.setdefault(AT_ONCE, {})
    replaced: set[str] = st.session_state.setdefault(REPLACED, set())
    shown = {recipe.key(): recipe for recipe in recipes}
    for place, old in list(started.items()):
        if (
            place[0] == key
            and place[1] not in shown
            and (status := visitor_runs.status(old))
            and status.state == "queued"
        ):
            visitor_runs.cancel(old)
            del started[place]
            replaced.add(place[1])
    for name, recipe in shown.items():
        status = visitor_runs.status(recipe)
        is_new = status is None and not any(name == other for _, other in started)
        if not needs_no_button(recipe) or not (
            is_new or (status and status.state == "cancelled" and name in replaced)
        ):
            continue
        if (visitor_runs.estimate(recipe) or 0.0) > AT_ONCE_SECONDS:
            continue
        started[key, name] = recipe
        replaced.discard(name)
        try:
            visitor_runs.submit(recipe)
        except RecipeError as error:
            error_toast(error)


def _with_estimate(label: str, recipes: list[Recipe]) -> tuple[str, str]:
    """Return a button's label with the estimated time of its training, and the explanation of the
    estimate.
    """
    seconds = visitor_runs.estimate(*recipes)
    if seconds is None:
        return (
            label,
            "How long this takes is not known yet: no run that differs from this one only in rank "
            "and seeds has finished on this server.",
        )
    return (
        f"{label} (about {duration(seconds)})",
        "Estimated from runs that differ only in rank and seeds. It takes longer if others are "
        "training.",
    )


def train_controls(
    recipes: list[Recipe], key: str, show_losses: bool = False, total: int | None = None
) -> None:
    """Draw a button that starts those of the recipes that have not been run, and their live
    progress with a button to cancel.

    The button says how many of how many runs it starts.

    Parameters
    ----------
    show_losses : bool
        If true, there must be one recipe; its losses are drawn, and its training can be paused
        between epochs.
    total : int, optional
        The number of models that the page speaks of, if some are not among the recipes.
    """
    states = [(recipe, visitor_runs.status(recipe)) for recipe in recipes]
    missing = [
        recipe
        for recipe, status in states
        if status is None or status.state in ("failed", "cancelled")
    ]
    active = [
        recipe for recipe, status in states if status and status.state in ("queued", "running")
    ]
    for recipe, status in states:
        if status and status.state == "failed":
            st.error(escape_markdown(f"{recipe.title}: {status.message}"), icon=":material/error:")
        elif status and status.state == "cancelled":
            st.info(escape_markdown(f"{recipe.title}: cancelled."), icon=":material/info:")
    if missing:
        with st.container(horizontal=True):
            # The button has no callback: if it is pressed right after a number was typed, a
            # callback would get the old recipes.
            number = total or len(recipes)
            of_all = (
                f"{len(missing)} of {plural(number, 'model')}"
                if number > 1
                else missing[0].learning.learner
            )
            text, explanation = _with_estimate(f"Train {of_all}", missing)
            if st.button(
                text,
                key=f"{key}.start",
                type="primary",
                icon=":material/play_arrow:",
                help=explanation,
            ):
                _start(missing)
            if show_losses and st.button(
                "Step by step",
                key=f"{key}.hold",
                icon=":material/step:",
                help="Start, and pause before the first epoch",
            ):
                _start(missing, paused=True)
    if active:
        st.fragment(_watch, run_every=POLL_SECONDS)(active, key, show_losses)


def running_elsewhere(recipe: Recipe, page: str) -> None:
    """Draw a line about runs of this visitor that are in progress and not shown on this page, with
    a button that cancels them.
    """
    if _elsewhere(recipe, page):
        st.fragment(_watch_elsewhere, run_every=ELSEWHERE_SECONDS)(recipe, page)


def _elsewhere(recipe: Recipe, page: str) -> list[JobStatus]:
    """List the visitor's waiting and running jobs that this page does not show itself, the running
    ones first.
    """
    active = [
        status
        for status in visitor_runs.mine().values()
        if status.state in ("queued", "running") and not _is_brief(status)
    ]
    jobs = sorted(active, key=lambda status: status.state == "queued")
    if page == FIRST:  # Explore says in its lanes how far these are
        return [
            status
            for status in jobs
            if status.recipe.data != recipe.data or status.recipe.learning.needs_hankel
        ]
    if page == "compare":
        return [status for status in jobs if status.recipe.data != recipe.data]
    shown = set()
    if page == "train":
        context = Context(recipe)
        shown = {context.with_learner(learner).run_key for learner in HANKEL_LEARNERS}
    elif page == "predict":
        shown = {recipe.key()}
    return [status for status in jobs if status.recipe.key() not in shown]


def _is_brief(status: JobStatus) -> bool:
    """Return whether a job started by itself and has just begun: it ends before its line could be
    read.
    """
    started = {key for _, key in st.session_state.get(AT_ONCE, {})}
    return status.key in started and status.seconds < BRIEF_SECONDS


@errors_as_messages()
def _watch_elsewhere(recipe: Recipe, page: str) -> None:
    jobs = _elsewhere(recipe, page)
    if not jobs:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key="elsewhere"):
        left = (
            "" if jobs[0].seconds_left is None else f", about {duration(jobs[0].seconds_left)} left"
        )
        more = f", and {len(jobs) - 1} more" if len(jobs) > 1 else ""
        doing = (
            "waits for its turn"
            if jobs[0].state == "queued"
            else "is paused"
            if jobs[0].held
            else f"is training{left}"
        )
        st.markdown(
            f":material/model_training: **{escape_markdown(jobs[0].recipe.title)}** {doing}{more}",
            width="content",
        )
        stop = [status.recipe for status in jobs]
        st.button(
            "Stop it" if len(jobs) == 1 else "Stop all",
            key="elsewhere.stop",
            on_click=cancel,
            args=stop,
            type="tertiary",
        )


def is_going(recipe: Recipe) -> bool:
    """Return whether a run is waiting or running."""
    status = visitor_runs.status(recipe)
    return status is not None and status.state in ("queued", "running")


def another_seed(recipe: Recipe) -> None:
    """Draw a button that trains the same network with the next seed that nobody has used, so there
    is training to watch. In a lesson, its steps determine what is trained.
    """
    if not recipe.learning.networks or open_lesson.place():
        return
    seeds = range(recipe.seed + 1, LARGEST_SEED + 1)
    same = (with_fields(recipe, {SEED: seed}) for seed in seeds)
    missing = next((each for each in same if visitor_runs.status(each) is None), None)
    if missing is None:
        return
    label, explanation = _with_estimate(
        f"Watch training: k = {recipe.learning.rank}, seed {missing.seed}", [missing]
    )
    st.button(
        label,
        key="train.another",
        icon=":material/play_arrow:",
        help="The same network from different random weights, because this one is already "
        f"trained. {explanation}",
        on_click=_train_seed,
        args=(missing,),
    )


def _train_seed(recipe: Recipe) -> None:
    """Set the sidebar to a recipe's seed and start its run; if it can't start, say why."""
    sidebar.set_values({SEED: recipe.seed})
    try:
        visitor_runs.submit(recipe)
    except RecipeError as error:
        error_toast(error)


def loss_charts(
    losses: Mapping[str, tuple[str, Sequence[int], Sequence[float]]],
    key: str,
    linear_loss: float | None = None,
) -> None:
    """Draw a chart of loss curves for each measure of loss, that of the latest stage on top.

    Parameters
    ----------
    losses : mapping
        Stage of training -> (measure, epochs, losses).
    key : str
    linear_loss : float, optional
        SP's loss at the same rank, drawn as a line with the factorisation's curve.
    """
    measures = list(dict.fromkeys(measure for measure, *_ in losses.values()))[::-1]
    with st.container(key=key):
        for measure in measures:
            curves = {
                stage: (epochs, values)
                for stage, (name, epochs, values) in losses.items()
                if name == measure
            }
            alt = f"{measure[0].upper()}{measure[1:]} of each stage against the epoch"
            height = HEIGHT if len(measures) == 1 else HEIGHT * 2 // 3
            st.echarts_chart(
                loss_options(curves, measure, linear_loss),
                key=f"{key}.{measure}",
                height=height,
                alt=alt,
            )
            has_line = linear_loss is not None and "factorisation" in curves
            st.caption(f"{LOSS_NOTES[measure]} {LINEAR_NOTE if has_line else ''}")


def result_charts(context: Context, result: Result, key: str) -> None:
    """Draw a finished run's auto-encoder, if its training was watched, and below it its loss curves
    and, next to them, its states.
    """
    recipe = context.recipe
    logs = result.report.logs
    losses = {log.stage: (log.measure, *log.thinned()) for log in logs}
    prefixes = context.prefixes(MAX_SHOWN)
    status = visitor_runs.status(recipe)
    before = status.picture if status and recipe.hankel.statistic == "string" else None
    picture = picture_of("done", prefix_states(result.model, prefixes), before)
    with st.container():
        if status and status.picture and status.picture.network and not open_lesson.place():
            _auto_encoder(context, status.picture.network, f"{key}.network", training=False)
    _side_by_side(context, losses, picture, prefixes, result.alphabet, key)


def _side_by_side(
    context: Context,
    losses: Mapping[str, tuple[str, Sequence[int], Sequence[float]]],
    picture: Snapshot | None,
    prefixes: Words,
    alphabet: Alphabet,
    key: str,
) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        loss_charts(losses, f"{key}.losses", linear_loss(context, losses))
    if picture is not None:
        picture_prefixes = prefixes.take(list(picture.rows))
        classes = colouring("last symbol", picture_prefixes, alphabet)
        options = picture_options(
            picture, word_labels(picture_prefixes, alphabet), [str(name) for name in classes]
        )
        alt = "Principal components of the states of the most frequent prefixes"
        right.echarts_chart(options, key=f"{key}.picture", height=HEIGHT, alt=alt)
        goals = (
            " The rings are the states of the factorisation, which the transitions should reach."
            if picture.targets
            else ""
        )
        right.caption(
            f"The states of the {len(picture.rows)} most frequent prefixes, each scaled to "
            "norm 1, along their first two principal "
            f"components, which explain {format_share(picture.explained, 0)} of the "
            f"variance. Colours: the last symbol.{goals}"
        )


def _auto_encoder(context: Context, network: NetworkPicture, key: str, training: bool) -> None:
    """Draw the auto-encoder: the row of a prefix on its way through it, and what is left of H."""
    drawing = network_drawing(network, context.hankel.basis, context.hankel_alphabet, training)
    components.network(key, drawing)
    st.caption(NETWORK_NOTE)


def linear_loss(context: Context, stages: Collection[str]) -> float | None:
    """Return SP's loss at a recipe's rank, for a chart with the factorisation's curve; None if
    there is no such curve or loss.
    """
    if "factorisation" not in stages:
        return None
    try:
        hankel = context.hankel
    except RecipeError:
        return None  # the strings are not on this server
    return computed(_linear_loss, context.hankel_key, hankel, rank=context.recipe.learning.rank)


def _linear_loss(hankel: HankelMatrix, rank: int) -> float | None:
    with suppress(RecipeError):  # the loss is not defined for this matrix
        return spectral_loss(hankel, rank)
    return None


def _start(recipes: list[Recipe], paused: bool = False) -> None:
    try:
        visitor_runs.submit(*recipes, paused=paused)
    except RecipeError as error:
        error_toast(error)
    else:
        st.rerun()


class _Clicks:
    """Counts each click on a step button once: Streamlit may call back again for a click whose
    redraw it interrupted.

    Attributes
    ----------
    waiting : bool
        Whether a click has been counted and the buttons have not been drawn to the end since.
    """

    waiting = False


@contextmanager
def _drawing(key: str) -> Iterator[_Clicks]:
    """Mark the end of a redraw.

    A redraw that Streamlit interrupts (not by an `Exception`) has not ended; one that fails has
    ended.
    """
    clicks: _Clicks = st.session_state.setdefault(f"{key}.clicks", _Clicks())
    try:
        yield clicks
    except Exception:
        clicks.waiting = False
        raise
    clicks.waiting = False


def _step(recipe: Recipe, epochs: int, clicks: _Clicks) -> None:
    if not clicks.waiting:
        _pause(recipe, epochs)
        clicks.waiting = True


def _pause(recipe: Recipe, epochs: int = 0) -> None:
    try:
        visitor_runs.pause(recipe, epochs)
    except RecipeError as error:
        st.toast(escape_markdown(str(error)), icon=":material/info:", duration="long")


def _play(*recipes: Recipe) -> None:
    for recipe in recipes:
        visitor_runs.play(recipe)


def cancel(*recipes: Recipe) -> None:
    """Cancel runs, and say so if one continues for somebody else."""
    visitor_runs.cancel(*recipes)
    if any(
        (status := visitor_runs.status(recipe)) and status.state in ("queued", "running")
        for recipe in recipes
    ):
        st.toast(
            "Someone else is waiting for this run, so it continues.",
            icon=":material/info:",
            duration="long",
        )


@errors_as_messages()
def _watch(active: list[Recipe], key: str, show_losses: bool) -> None:
    """Draw the progress of the active runs at short intervals.

    When a run ends, the whole page is redrawn.
    """
    going = [
        status
        for recipe in active
        if (status := visitor_runs.watch(recipe)) and status.state in ("queued", "running")
    ]
    if len(going) < len(active):
        st.rerun()
    with _drawing(key) as clicks:
        with st.container(horizontal=True):
            if show_losses:
                _pause_buttons(going[0], key, clicks)
            elif paused := [status.recipe for status in going if status.held]:
                text = (
                    "One of these runs is paused, by you on another page or by someone who is "
                    "waiting for the same run."
                )
                st.button(
                    "Continue",
                    key=f"{key}.play",
                    on_click=_play,
                    args=paused,
                    icon=":material/play_arrow:",
                    help=text,
                )
            st.button(
                "Cancel", key=f"{key}.cancel", on_click=cancel, args=active, icon=":material/stop:"
            )
        _progress(going, key, show_losses)


def _progress(going: list[JobStatus], key: str, show_losses: bool) -> None:
    if show_losses:
        st.markdown(_stages(going[0]))
    for status in [status for status in going if status.state == "running"][:MAX_BARS]:
        st.progress(*_bar(status))
    words = queue_words(going)
    if words:
        st.caption(escape_markdown(words))
    if show_losses:
        status = going[0]
        losses = {
            stage: (curve.measure, curve.epochs, curve.losses)
            for stage, curve in status.losses.items()
        }
        context = Context(status.recipe)
        if status.picture:
            # what is being trained comes first
            is_network = status.progress is None or status.progress.stage == "factorisation"
            first = st.container()
            second = st.container()
            if status.picture.network:
                with first if is_network else second:
                    _auto_encoder(
                        context, status.picture.network, f"{key}.live.network", is_network
                    )
            prefixes = context.hankel.basis.prefixes
            alphabet = context.hankel_alphabet
            with second if is_network else first:
                _side_by_side(context, losses, status.picture, prefixes, alphabet, f"{key}.live")
        elif losses:
            loss_charts(losses, f"{key}.live.losses", linear_loss(context, losses))


def _pause_buttons(status: JobStatus, key: str, clicks: _Clicks) -> None:
    recipe = status.recipe
    if not status.paused:
        text = (
            "Pause after this epoch. A paused run continues after a quarter of an hour, or when "
            "you leave."
        )
        st.button(
            "Pause",
            key=f"{key}.pause",
            on_click=_pause,
            args=(recipe,),
            icon=":material/pause:",
            help=text,
        )
        return
    st.button(
        "Continue",
        key=f"{key}.play",
        on_click=visitor_runs.play,
        args=(recipe,),
        icon=":material/play_arrow:",
        type="primary",
    )
    for epochs in EPOCHS:
        label = f"+{epochs}"
        text = f"{epochs} more epoch{'' if epochs == 1 else 's'}"
        st.button(
            label,
            key=f"{key}.step.{epochs}",
            on_click=_step,
            args=(recipe, epochs, clicks),
            icon=":material/step:",
            help=text,
        )


def _stages(status: JobStatus) -> str:
    """Write the stages of a run as badges in Markdown, the current one highlighted."""
    learning = status.recipe.learning
    now = status.progress.stage if status.progress else ""
    names = ["factorisation", "transitions"] if learning.networks else ["spectral"]
    names += ["refinement"] if learning.refinement != "none" else []
    if learning.from_hankel and not learning.needs_hankel:
        names = ["likelihood"]
    return " → ".join(
        f":{'blue' if name == now else 'grey'}-badge[{number} {name}]"
        for number, name in enumerate(names, start=1)
    )


def _bar(status: JobStatus) -> tuple[float, str]:
    """Return the filled share of the progress bar, and the text above it."""
    name = status.recipe.title
    progress = status.progress
    if progress is None:
        return 0.0, f"{name}: starting"
    stage = STAGES.get(progress.stage, progress.stage)
    if progress.loss is None:
        return 0.0, f"{name}: {stage}"
    unit = "iteration" if progress.stage == "EM" else "epoch"
    share = min(progress.step / max(progress.total, 1), 1.0)
    text = (
        f"{name}: {stage}, {unit} {progress.step:,} of {progress.total:,}, {progress.measure} "
        f"{format_significant(progress.loss)}"
    )
    if status.held:
        return share, f"{text} · paused"
    if status.seconds_left is None:
        return share, text
    more = progress.stage == "factorisation" or (
        progress.stage == "transitions" and status.recipe.learning.refinement != "none"
    )
    return (
        share,
        f"{text} · about {duration(status.seconds_left)} left{' in this stage' if more else ''}",
    )


def queue_words(statuses: Sequence[JobStatus]) -> str:
    """Write the queue position of the first of several runs that are waiting; empty if none is.

    >>> _ordinal(1), _ordinal(2), _ordinal(3), _ordinal(4), _ordinal(11), _ordinal(21)
    ('1st', '2nd', '3rd', '4th', '11th', '21st')
    """
    waiting = [(status.position, status) for status in statuses if status.position]
    if not waiting:
        return ""
    position, status = min(waiting, key=lambda each: each[0])
    running = [job for job in visitor_runs.mine().values() if job.state == "running"]
    if position == 1 and running:
        left = (
            ""
            if running[0].seconds_left is None
            else f" (about {duration(running[0].seconds_left)})"
        )
        return f"Starts when your other training run ends: {running[0].recipe.title}{left}."
    first = "Waiting" if len(waiting) == 1 else f"{len(waiting)} waiting, the first one"
    when = (
        "" if status.seconds_left is None else f", starts in about {duration(status.seconds_left)}"
    )
    return f"{first}: {_ordinal(position)} of {status.num_queued} in the queue{when}."


def _ordinal(number: int) -> str:
    ending = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"
