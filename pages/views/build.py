"""Draw the Build page: an automaton that a person makes, in a drawing or in tables, and what it is.

The draft is in the session, with the drafts before it for undo. The tables are Streamlit's: they
hold their own changes to the rows that they were given, so they get new rows only if the draft is
changed elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import pandas as pd
import streamlit as st

from nlwfa_core import RecipeError
from nlwfa_core.display import walk
from nlwfa_core.display.figures.error_curve import error_curve_figure
from nlwfa_core.display.formulas import latex
from nlwfa_core.display.formulas.by_hand import by_hand
from nlwfa_core.display.graph import MAX_STATES, dot
from nlwfa_core.display.lens import MatrixChoice, singular_values_payload
from nlwfa_core.display.panels import panels_payload
from nlwfa_core.display.result_tables import drawn_table, drawn_warnings
from nlwfa_core.errors import did_you_mean, plural
from nlwfa_core.files import zipped
from nlwfa_core.learning.spectral import truncated_svd
from nlwfa_core.models import sampling
from nlwfa_core.models.algebra import minimise
from nlwfa_core.models.wfa import WFA
from nlwfa_core.rounding import format_beside, format_share
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Word
from nlwfa_core.teaching.automata import facts
from nlwfa_core.teaching.automata.asking import learned_by_asking
from nlwfa_core.teaching.automata.automaton_files import automaton_files, read_automaton
from nlwfa_core.teaching.automata.challenges import Challenge
from nlwfa_core.teaching.automata.draft import (
    MAX_LINK,
    ArrowRow,
    Draft,
    StateRow,
    draft_of_link,
    edited,
)
from nlwfa_core.teaching.automata.examples import BY_SEED, EMPTY, EXAMPLES, FIRST, example
from nlwfa_core.teaching.automata.learning_back import (
    NUM_SEEDS,
    SIZES,
    curve_sentence,
    learning_curve,
    source_files,
    source_recipe,
)
from nlwfa_core.teaching.automata.merging_stages import Stages, merging_stages
from pages.shared import components, contents, navigation, screen, sidebar, uploads, widgets
from pages.shared.context import computed
from pages.shared.widgets import escape_markdown, written_string

DRAFT = "build.draft"
PAST = "build.past"
FUTURE = "build.future"
ROWS = "build.rows"
VERSION = "build.version"
EXACT = 6  # significant digits where the exact value of a cell is meant
TASK = "build.task"
HINTS = "build.hints"
TEXT = "build.text"
WALK = "build.walk"
ERROR = "build.error"
RANK = "build.rank"
CUT = "build.cut"
OPEN_TRAIN_PAGE = "build.leave"
MAX_UNDO = 100
COLUMNS = {"states": ("name", "α₀", "α∞"), "arrows": ("from", "symbol", "to", "weight")}
NAME = "build-walk"
DIGITS = 4
NUM_DRAWN = 1_000
NUMBERS_HELP = (
    "The rank is that of the infinite Hankel matrix: the smallest number of states for this "
    "function. Σ f(x) is the sum of the weights of all strings; it converges if the spectral "
    "radius of A = Σ A_σ, its largest |eigenvalue|, is below 1."
)
LENGTH = 3  # the length of the prefixes and suffixes at first


def _draft() -> Draft:
    if DRAFT not in st.session_state:
        st.session_state[DRAFT] = _first()
    draft: Draft = st.session_state[DRAFT]
    return draft


def _first() -> Draft:
    """Return what the page begins with: an empty automaton for a task, otherwise an example, so
    that there is something to see.
    """
    return _empty() if st.session_state.get(TASK) else example(FIRST)


def _set(draft: Draft, from_tables: bool = False) -> None:
    """Make a draft the current one, and remember the one before it."""
    before = _draft()
    if draft == before:
        return
    st.session_state[PAST] = [*st.session_state.get(PAST, []), before][-MAX_UNDO:]
    st.session_state[FUTURE] = []
    _show(draft, from_tables)


def _show(draft: Draft, from_tables: bool = False) -> None:
    st.session_state[DRAFT] = draft
    st.session_state.pop(ERROR, None)
    if not from_tables:
        _give_rows(draft)


def _give_rows(draft: Draft) -> None:
    st.session_state[ROWS] = draft
    st.session_state[VERSION] = st.session_state.get(VERSION, 0) + 1


# Where to begin


def begin() -> None:
    """Draw the choice of a task or an example, undo and redo; and the task, if there is one.

    Write both into the address.
    """
    draft = _draft()
    text = "" if draft == _first() else draft.link_text()
    screen.write("automaton", text if len(text) <= MAX_LINK else "")
    screen.write("build", st.session_state.get(TASK) or "")
    challenges = contents.challenges()
    left, middle, right = st.columns([3, 3, 4], vertical_alignment="bottom")
    left.selectbox(
        "Begin with",
        list(EXAMPLES),
        index=None,
        format_func=lambda name: EXAMPLES[name].title,
        key="build.example",
        on_change=_begin_with,
        placeholder="Choose an example",
    )
    middle.selectbox(
        "Task",
        list(challenges),
        index=None,
        format_func=lambda name: f"{challenges[name].topic}: {challenges[name].title}",
        key=TASK,
        on_change=_begin_task,
        placeholder=f"Choose one of {len(challenges)} tasks",
        persist_state="session",
    )
    with right, st.container(horizontal=True, key="build_tools"):
        past = st.session_state.get(PAST, [])
        future = st.session_state.get(FUTURE, [])
        st.button(
            "Undo", key="build.undo", icon=":material/undo:", on_click=_undo, disabled=not past
        )
        st.button(
            "Redo", key="build.redo", icon=":material/redo:", on_click=_redo, disabled=not future
        )
        st.button(
            "Empty",
            key="build.empty",
            icon=":material/ink_eraser:",
            on_click=_set,
            args=(_empty(),),
        )
    if st.session_state.get("build.example") == BY_SEED:
        left.number_input(
            "Seed", 0, 2**31 - 1, key="build.seed", on_change=_begin_with, persist_state="session"
        )
    name = st.session_state.get(TASK)
    if name in challenges:
        _task(challenges[name])


def read_link() -> None:
    """Take the automaton and the task of a link; a value that is not valid is reported and left
    out.
    """
    packed = screen.unread("automaton")
    name = screen.unread("build")
    if name is not None:
        st.session_state[TASK] = name if name in contents.challenges() else None
        if name and name not in contents.challenges():
            text = (
                f"build: no task is called {name[:40]!r}, so it was ignored."
                f"{did_you_mean(name, contents.challenges(), is_sentence=True)}"
            )
            st.toast(escape_markdown(text), icon=":material/info:")
    if packed:
        try:
            draft = draft_of_link(packed)
        except RecipeError as error:
            widgets.error_toast(error)
        else:
            if draft != _draft():
                _set(draft)


def _begin_with() -> None:
    name = st.session_state["build.example"]
    if name:
        st.session_state[TASK] = None
        _set(example(name, st.session_state.get("build.seed") or 0))


def _empty() -> Draft:
    challenge = contents.challenges().get(st.session_state.get(TASK) or "")
    return Draft(EMPTY.states, (), challenge.alphabet.symbols) if challenge else EMPTY


def _begin_task() -> None:
    st.session_state["build.example"] = None
    st.session_state[HINTS] = 0
    if st.session_state[TASK]:
        _set(_empty())


def _undo() -> None:
    st.session_state[FUTURE] = [*st.session_state.get(FUTURE, []), _draft()]
    _show(st.session_state[PAST].pop())


def _redo() -> None:
    st.session_state[PAST] = [*st.session_state.get(PAST, []), _draft()]
    _show(st.session_state[FUTURE].pop())


def _task(challenge: Challenge) -> None:
    with st.container(border=True, key="build_task"):
        st.markdown(f"#### {challenge.title}\n\n{challenge.text}")
        hints = st.session_state.get(HINTS, 0)
        for hint in challenge.hints[:hints]:
            st.info(hint, icon=":material/lightbulb:")
        verdict = st.empty()
        with st.container(horizontal=True):
            check = st.button("Check", key="build.check", type="primary")
            st.button(
                "Hint",
                key="build.hint",
                on_click=_more_hints,
                disabled=hints >= len(challenge.hints),
            )
            st.button("Show the solution", key="build.solve", on_click=_solve, args=(challenge,))
        if check:
            _check(challenge, verdict)
        if st.session_state.get(f"{TASK}.solved") == challenge.name:
            st.markdown(f"**Solution.** {challenge.explanation}")


def _solve(challenge: Challenge) -> None:
    _set(challenge.solution)
    st.session_state[f"{TASK}.solved"] = challenge.name


def _more_hints() -> None:
    st.session_state[HINTS] = st.session_state.get(HINTS, 0) + 1


def _check(challenge: Challenge, place: Any) -> None:
    try:
        verdict = challenge.check(_draft())
    except RecipeError as error:
        place.error(escape_markdown(str(error)), icon=":material/error:")
        return
    if verdict.correct:
        place.success(escape_markdown(verdict.reason), icon=":material/check:")
        st.session_state[f"{TASK}.solved"] = challenge.name
    else:
        place.warning(escape_markdown(f"Not yet. {verdict.reason}"), icon=":material/edit:")


# The tables


def tables() -> None:
    """Draw the tables of states and arrows, the alphabet, and every mistake in its place."""
    version = st.session_state.setdefault(VERSION, 0)
    if f"build.states.{version}" not in st.session_state and st.session_state.get(ROWS) != _draft():
        _give_rows(_draft())  # the visitor left the page: the tables have forgotten the typing
        version = st.session_state[VERSION]
    rows: Draft = st.session_state.setdefault(ROWS, _draft())
    left, right = st.columns([2, 3])
    with left:
        states = _table(
            "states",
            rows.states,
            version,
            "A name, the entry of α₀ and the entry of α∞, such as 0.5, 1/3 or −2.",
        )
    with right:
        arrows = _table(
            "arrows",
            rows.arrows,
            version,
            "From a state, with a symbol, to a state, with a weight.",
        )
    draft = Draft(
        tuple(StateRow(*row) for row in states),
        tuple(ArrowRow(*row) for row in arrows),
        rows.symbols,
    )
    if draft != rows or st.session_state.get(f"{ROWS}.changed") == version:
        st.session_state[f"{ROWS}.changed"] = version
        _set(draft, from_tables=True)
    for mistake in _draft().mistakes:
        st.error(escape_markdown(mistake), icon=":material/error:")
    if _draft().mistakes:
        st.caption(
            "Rows with a mistake are left out of the automaton until they are corrected. "
            "Nothing that you typed is lost."
        )


def _table(kind: str, rows: Sequence[Sequence[str]], version: int, help: str) -> list[list[str]]:
    """Draw a table to be edited. Returns its rows as text; an empty cell is an empty text."""
    st.caption(f"**{kind.capitalize()}.** {help}")
    frame = pd.DataFrame([list(row) for row in rows], columns=list(COLUMNS[kind]), dtype="object")
    edited_frame = st.data_editor(
        frame,
        key=f"build.{kind}.{version}",
        num_rows="dynamic",
        hide_index=True,
        width="stretch",
        column_config={title: st.column_config.TextColumn(title) for title in COLUMNS[kind]},
        alt=f"The {kind} of the automaton",
    )
    return [
        ["" if pd.isna(cell) else str(cell) for cell in row]
        for row in edited_frame.to_numpy().tolist()
    ]


# The drawing


def drawing() -> tuple[WFA, Word]:
    """Draw the automaton, its key numbers, and a string that walks through it.

    Returns the automaton and the string.
    """
    draft = _draft()
    if not draft.names:
        st.button(
            "Add a state",
            key="build.first",
            type="primary",
            on_click=lambda: _set(_draft().with_state()),
        )
    wfa = draft.automaton
    alphabet = wfa.alphabet
    assert alphabet is not None
    target = _target(alphabet)
    graph = walk.automaton_graph(
        wfa, alphabet, plural(wfa.num_states, "state"), draft.names, DIGITS
    )
    text, word, problem = _typed(wfa)
    if walk.is_bracketed(alphabet):
        listed_words = walk.nested_words()
    else:
        listed_words = walk.shortest_words(wfa.num_symbols)
    reference = None
    if target is not None:
        reference = walk.Comparison("what the task asks for", target.weights(listed_words))
    payload = walk.own_stage_payload(alphabet, listed_words, reference) | {
        "name": NAME,
        "id": sha256(f"{draft.link_text()} {st.session_state.get(TASK)}".encode()).hexdigest()[:24],
        "scope": " ".join(alphabet.symbols),
        "views": [walk.drawing_payload(graph, listed_words)],
        "first": 0,
        "text": text,
        "error": problem,
        "truthPhrase": "it should be",
        "edit": {
            "states": [row._asdict() for row in _sound_states(draft)],
            "arrows": [list(row) for row in draft.arrows],
            "symbols": list(alphabet.symbols),
            "error": st.session_state.get(ERROR, ""),
        },
    }
    steps = walk.spelled(alphabet, word, None if target is None else target(word)) | {
        "views": [walk.walk_payload(graph, word)]
    }
    _draw_key_numbers(wfa, draft)
    components.walk(WALK, payload, steps, _edit)
    for note in draft.notes:
        st.info(escape_markdown(note), icon=":material/info:")
    if draft.mistakes:
        st.warning(
            f"{plural(len(draft.mistakes), 'row')} of the tables can't be read: see *Tables* "
            "below.",
            icon=":material/warning:",
        )
    return wfa, word


def _target(alphabet: Alphabet) -> WFA | None:
    """Return the automaton that the chosen task asks for; None without one over this alphabet."""
    challenge = contents.challenges().get(st.session_state.get(TASK) or "")
    return challenge.automaton if challenge and challenge.alphabet == alphabet else None


def _sound_states(draft: Draft) -> list[StateRow]:
    """Return the rows of the states that the automaton has, in their order."""
    rows = {row.name.strip(): row for row in reversed(draft.states)}
    return [StateRow(name, rows[name].initial, rows[name].termination) for name in draft.names]


def _typed(wfa: WFA) -> tuple[str, Word, str]:
    """Return the text that was typed last, the word to walk, and the reason if the text can't be
    read.
    """
    alphabet = wfa.alphabet
    assert alphabet is not None
    typed = st.session_state.get(WALK, {}).get("typed")
    if isinstance(typed, dict) and isinstance(typed.get("text"), str):
        st.session_state[TEXT] = typed["text"][: widgets.MAX_TYPED]
    first = walk.TWO_NESTED if walk.is_bracketed(alphabet) else (0, len(alphabet) - 1, 0)
    text = st.session_state.get(TEXT, alphabet.decode(first))
    try:
        word = alphabet.encode(text)
    except RecipeError as error:
        return text, (), str(error)
    cut = (
        f"Only the first {walk.MAX_SYMBOLS} of {len(word):,} symbols are read."
        if len(word) > walk.MAX_SYMBOLS
        else ""
    )
    return text, word[: walk.MAX_SYMBOLS], cut


def _edit() -> None:
    """Carry out an edit in the drawing; if that is not possible, the reason is shown next to what
    was entered.
    """
    edit = st.session_state[WALK].get("edit")
    if not isinstance(edit, dict):
        return
    try:
        _set(edited(_draft(), edit))
    except RecipeError as error:
        st.session_state[ERROR] = str(error)


def _draw_key_numbers(wfa: WFA, draft: Draft) -> None:
    mass = facts.mass(wfa, draft.names)
    total = facts.written(mass.total) if mass.radius < 1 else "diverges"
    numbers = (
        f"**{wfa.num_states}** {'state' if wfa.num_states == 1 else 'states'} · rank "
        f"**{minimise(wfa).num_states}** · Σ f(x) "
        f"**{total}** · spectral radius **{format_beside(mass.radius, 1.0)}**"
    )
    st.markdown(f"{numbers}  \n{escape_markdown(mass.sentence)}", help=NUMBERS_HELP)
    if mass.is_scalable:
        label = "Make it a distribution"
        st.button(
            label,
            key="build.scale",
            on_click=_scale,
            help="Divide the weights of all strings by their sum, and rescale each state so that "
            "the weights of its arrows and its end sum to 1.",
        )


def _scale() -> None:
    draft = _draft()
    try:
        wfa = draft.automaton
        _set(
            Draft.of(facts.scaled_to_one(wfa), [draft.names[state] for state in wfa.useful_states])
        )
    except RecipeError as error:
        widgets.error_toast(error)


# What it is


def matrix(wfa: WFA) -> None:
    """Draw a block of the Hankel matrix with its singular values, and what a state is needed
    for.
    """
    alphabet = wfa.alphabet
    names = _draft().names
    assert alphabet is not None
    most = facts.block_lengths(wfa.num_symbols)
    left, middle, right = st.columns(3)
    rows = left.slider(
        "Prefixes of up to … symbols", 0, most, min(LENGTH, most), key=f"build.prefixes.{most}"
    )
    columns = middle.slider(
        "Suffixes of up to … symbols", 0, most, min(LENGTH, most), key=f"build.suffixes.{most}"
    )
    kept = right.selectbox(
        "Leave out", ["nothing", *(f"state {name}" for name in names)], key="build.leave_out"
    )
    shown = wfa
    if kept in [f"state {name}" for name in names]:
        state = [f"state {name}" for name in names].index(kept)
        st.markdown(f"**{escape_markdown(facts.removal_sentence(wfa, state, names[state]))}**")
        shown = facts.without(wfa, state)
        st.button(
            f"Remove {escape_markdown(kept)}",
            key="build.remove",
            on_click=lambda: _set(_draft().without_state(names[state])),
        )
    hankel = facts.hankel_block(shown, rows, columns)
    if not hankel.block.data.any():
        st.info("Every entry of this block is 0: rank 0.", icon=":material/info:")
        return
    svd = truncated_svd(hankel.block, min(hankel.block.shape))
    size = f"{hankel.num_prefixes} × {hankel.num_suffixes}"
    st.markdown(
        f"{size} block: numerical rank **{svd.numerical_rank}**. "
        f"{facts.rank_sentence(svd.numerical_rank, shown)}"
    )
    identity = sha256(f"{_draft().link_text()} {kept} {rows} {columns}".encode()).hexdigest()[:24]
    most_rank = len(svd.singular_values)
    rank = min(max(st.session_state.get(RANK) or svd.numerical_rank, 1), most_rank)
    if st.session_state.get(f"{RANK}.of") != identity:  # another matrix begins with its own rank
        st.session_state[f"{RANK}.of"], st.session_state[RANK] = identity, svd.numerical_rank
        rank = max(svd.numerical_rank, 1)
    components.cut(
        CUT, {"id": identity, **singular_values_payload(svd, hankel), "rank": rank}, _set_rank
    )
    panels = panels_payload(hankel, svd, alphabet, MatrixChoice())
    components.panels("build.panels", {"basis": identity, "id": identity, **panels})
    table = widgets.opened("As a table", "build.as_table", "table")
    if table:
        labels = [alphabet.decode(word) for word in hankel.basis.prefixes]
        frame = pd.DataFrame(
            hankel.block.toarray(),
            columns=[alphabet.decode(word) for word in hankel.basis.suffixes],
        )
        frame.insert(0, "prefix", labels)
        table.dataframe(
            widgets.written_frame(frame, EXACT),
            hide_index=True,
            key="build.table",
            alt="The block of the Hankel matrix",
        )


def _set_rank() -> None:
    rank = st.session_state[CUT].get("rank")
    if type(rank) is int and rank >= 1:
        st.session_state[RANK] = rank


def by_hand_calculation(wfa: WFA, word: Word) -> None:
    """Write out the weight of the string as a product of matrices."""
    alphabet = wfa.alphabet
    assert alphabet is not None
    st.markdown(
        f"The string is {written_string(alphabet.decode(word))}; type another above the drawing."
    )
    symbols = [rf"\mathbf{{A}}_{{{latex.text(alphabet.symbols[symbol])}}}" for symbol in word]
    product = latex.joined([r"\alpha_0^\top", *symbols, r"\alpha_\infty"], r"\,")
    st.latex(f"f(x)={product}")
    calculation = by_hand(wfa, word, alphabet)
    titles = ("Parameters", "Step by step (states are row vectors)", "The weight")
    for title, formula in zip(titles, calculation.latex(DIGITS), strict=True):
        st.markdown(f"**{title}**")
        st.latex(formula)


def strings(wfa: WFA) -> None:
    """Draw strings from the automaton, if it is a probability distribution."""
    if not _is_distribution(wfa):
        return
    seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="build.draw_seed", persist_state="session")
    key = f"{_draft().link_text()} {seed}"
    draws = computed(sampling.draw, key, wfa, NUM_DRAWN, int(seed), max_length=200)
    assert wfa.alphabet is not None
    st.markdown(
        f"{NUM_DRAWN:,} strings, the most frequent first. *Expected* is {NUM_DRAWN:,} · f(x)."
    )
    widgets.draw_table(
        drawn_table(draws, wfa.alphabet), "build.drawn", "Strings drawn from the automaton"
    )
    widgets.warnings(*drawn_warnings(draws, 200))


def _is_distribution(wfa: WFA) -> bool:
    mass = facts.mass(wfa, _draft().names)
    if not mass.is_distribution:
        more = (
            " The button *Make it a distribution* divides by the sum." if mass.is_scalable else ""
        )
        st.info(
            "Strings can be drawn only from a probability distribution. "
            f"{escape_markdown(mass.sentence)}{more}"
        )
    return mass.is_distribution


def learn_back(wfa: WFA) -> None:
    """Offer the automaton as the source of the whole lab, and draw how many strings spectral
    learning needs.
    """
    if not _is_distribution(wfa):
        return
    st.markdown(
        "Draw strings from your automaton, and let the lab learn it from them: they "
        "become the sidebar's source, with your automaton as the truth."
    )
    left, middle, right = st.columns([2, 2, 3], vertical_alignment="bottom")
    size = left.number_input(
        "Number of strings", 5, 100_000, 5_000, key="build.size", persist_state="session"
    )
    seed = middle.number_input(
        "Seed", 0, 2**31 - 1, 0, key="build.source_seed", persist_state="session"
    )
    # A callback sets the sidebar, whose widgets are drawn before this page; then the page can be
    # left.
    label = "Learn it from strings"
    arguments = int(size), int(seed)
    right.button(
        label,
        key="build.source",
        type="primary",
        icon=":material/school:",
        on_click=_use_as_source,
        args=arguments,
    )
    if st.session_state.pop(OPEN_TRAIN_PAGE, False):
        navigation.switch("train")
    st.subheader("How many strings does it take?", anchor=False)
    if not st.toggle("Measure", key="build.measure", persist_state="session"):
        st.caption(
            f"Runs spectral learning on {len(SIZES)} sample sizes with {NUM_SEEDS} seeds each, in "
            "a few seconds."
        )
        return
    draft = _draft()
    curve = computed(learning_curve, draft.link_text(), draft.automaton)
    alt = (
        "Error of the learned weights against the number of strings, with five seeds each; both "
        "axes are logarithmic"
    )
    st.plotly_chart(error_curve_figure(curve.sizes, curve.errors), key="build.curve", alt=alt)
    st.markdown(curve_sentence(curve))
    st.caption(
        "The plot shows Σ |f̂(x) − f(x)| over all strings of up to "
        f"{plural(curve.longest, 'symbol')}, which hold {format_share(curve.compared_mass)} of "
        f"the probability. f̂ is learned by SP with the true rank, {curve.rank}, from the 30 "
        "most frequent prefixes and suffixes. Each dot is a seed; the line joins the medians."
    )


def _use_as_source(size: int, seed: int) -> None:
    """Draw strings from the automaton, make them the sidebar's data, and open Train."""
    old = sidebar.current()
    try:
        wfa = _draft().automaton
        files = source_files(wfa, size, seed, "built automaton")
        hashes = {field: uploads.store(file.data, file.title) for field, file in files.items()}
    except RecipeError as error:
        widgets.error_toast(error)
        return
    data = source_recipe(old.data, hashes, size, seed)
    new = old.changed(data=data).with_learner("SP", minimise(wfa).num_states)
    sidebar.set_recipe(new, forget=False)
    st.session_state[OPEN_TRAIN_PAGE] = True


@st.fragment
def asking(wfa: WFA) -> None:
    """Draw how a learner finds the automaton by asking for weights and for counterexamples: the
    block of the Hankel matrix that it knows, and its hypothesis, after each counterexample.
    """
    st.markdown(
        "You are the teacher. A learner may ask for the weight of any string, and may ask *Is this "
        "your automaton?* If it is not, you name a string whose weight differs. Each such string "
        "adds a row, a column and a state. The table that the learner fills in is a block of the "
        "Hankel matrix."
    )
    alphabet = wfa.alphabet
    assert alphabet is not None
    lesson = computed(learned_by_asking, _draft().link_text(), wfa, max_states=MAX_STATES)
    last = len(lesson.stages) - 1
    stage = st.slider("Counterexamples so far", 0, last, 0, key="build.asked") if last else 0
    left, right = st.columns([3, 2])
    with left:
        with st.container(key="build.added"):
            if stage:
                st.markdown(lesson.step(stage, written_string))
            else:
                st.caption("Nothing is known yet: the hypothesis gives weight 0 to every string.")
        if stage:
            table = lesson.table(stage)
            widgets.draw_table(table, "build.observed", "The weights that the learner knows")
    with right, st.container(key="build.answer"):
        st.markdown(f"**Is this it?** {lesson.answer(stage, written_string)}")
        if stage:
            hypothesis = lesson.stages[stage].hypothesis
            st.graphviz_chart(
                dot(hypothesis, alphabet.symbols, 0.0, widgets.dark()),
                alt="The hypothesis: its states, and the transitions between them",
            )
    st.caption(
        "A row that is a state has a node of its own in the hypothesis. A row that is one symbol "
        "longer shows where the arrows lead: it is a weighted sum of the states' rows. This is "
        "L* (Angluin 1987), with weights in place of yes and no (Beimel et al. 2000)."
    )


@st.fragment
def merging(wfa: WFA) -> None:
    """Draw how strings of the automaton become an automaton again: the states of their prefix tree
    are merged, choice by choice.
    """
    if not _is_distribution(wfa):
        return
    st.markdown(
        "Strings from your automaton form a prefix tree, with a node for each beginning. "
        "Beginnings with the same continuations share a state. So each node is compared with the "
        "existing states, and is merged into one of them or becomes a state."
    )
    picture = st.container(key="build.merging")
    left, right = st.columns(2)
    size = left.number_input(
        "Number of strings", 10, 5_000, 500, key="build.merged_strings", persist_state="session"
    )
    seed = right.number_input(
        "Seed", 0, 2**31 - 1, 0, key="build.merging_seed", persist_state="session"
    )
    link = _draft().link_text()
    stages = computed(_merged, f"{link} {size} {seed}", wfa, int(size), int(seed))
    if not stages.choices:
        st.caption("The only string is λ: there is nothing to merge.")
        return
    with picture:
        _choice(stages)
    st.caption(
        "The number on an arrow shows how many strings take it; the orange node is being "
        "compared. The gain, in nats, is two for each number of the automaton that a merge "
        "saves, minus what the merge costs in log-likelihood. At the end: "
        f"{plural(stages.model.num_states, 'state')}; your automaton has {wfa.num_states:,}. This "
        "is state merging as in ALERGIA (Carrasco and Oncina 1994), with likelihood as in MDI "
        "(Thollard, Dupont and de la Higuera 2000)."
    )


def _choice(stages: Stages) -> None:
    """Draw a choice: what there was before it, and what was chosen."""
    last = len(stages.choices)
    number = (st.slider("Choice", 1, last, 1, key="build.choice") if last > 1 else 1) - 1
    st.container(key="build.chosen").markdown(f"**{stages.sentence(number, written_string)}**")
    left, right = st.columns([3, 2])
    left.graphviz_chart(
        stages.dot(number, widgets.dark()),
        alt="States; the dashed ones are nodes still to be compared",
    )
    with right, st.container(key="build.merges"):
        widgets.draw_table(stages.table(number), "build.gains", "What each merge would gain")


def _merged(wfa: WFA, size: int, seed: int) -> Stages:
    draws = sampling.draw(wfa, size, seed, max_length=200)
    assert wfa.alphabet is not None
    return merging_stages(Sample(draws.words, draws.counts, wfa.alphabet), MAX_STATES)


def _exports(draft: Draft) -> tuple[dict[str, bytes], bytes]:
    """Return an automaton in all forms, name of a file -> content, and a zip archive of them."""
    contents = automaton_files(draft)
    return contents, zipped(contents)


def files() -> None:
    """Draw the upload of an automaton, and downloads in all forms that can express it."""
    left, right = st.columns(2)
    with left:
        st.markdown("**Import**")
        st.file_uploader(
            "a zip archive with model.json and model.safetensors, automaton.json, automaton.txt, a "
            "PAutomaC model or a JFLAP file (.jff)",
            key="build.upload",
            on_change=_upload,
            max_upload_size=4,
        )
        uploads.refusal("build.upload")
    with right:
        st.markdown("**Export**")
        contents, archive = computed(_exports, _draft().link_text(), _draft())
        st.download_button(
            "All formats, in a zip archive",
            archive,
            "automaton.zip",
            key="build.zip",
            on_click="ignore",
        )
        with st.container(horizontal=True):
            for name in (
                "automaton.txt",
                "automaton.json",
                "automaton.dot",
                "automaton.tex",
                "automaton.pautomac.txt",
                "automaton.openfst.txt",
                "automaton.jff",
            ):
                if name in contents:
                    st.download_button(
                        name, contents[name], name, key=f"build.file.{name}", on_click="ignore"
                    )
        if "automaton.pautomac.txt" not in contents:
            st.caption(
                "PAutomaC's format needs a probabilistic automaton: the weights of each state's "
                "arrows and its end sum to 1."
            )
        if len(_draft().link_text()) > MAX_LINK:
            st.caption("This automaton is too large for a link: share its file instead.")
        with st.expander("automaton.txt"):
            st.code(contents["automaton.txt"].decode(), language=None)


def _upload() -> None:
    file = st.session_state["build.upload"]
    if file is None:
        return
    uploads.forget_refusals()
    try:
        _set(read_automaton(file.getvalue()))
    except RecipeError as error:
        uploads.refuse("build.upload", file.name, error)
