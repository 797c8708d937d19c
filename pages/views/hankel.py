"""Draw the Hankel page: the lens, and singular values.

The lens is a component in the browser with three linked views of a matrix: a heat map, states as
points, and the list of strings. It reports clicks and zooms to the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from nlwfa_core import Recipe, limits
from nlwfa_core.display import lens
from nlwfa_core.display.formulas.latex import gathered
from nlwfa_core.display.formulas.recipe_formulas import SHIFTED, entry_formula
from nlwfa_core.display.lens import (
    LAYERS,
    MAX_MODEL_CELLS,
    Matrix,
    MatrixChoice,
    matrix_name,
    numerical_rank_sentence,
    part,
    weights_phrase,
)
from nlwfa_core.display.panels import panels_payload
from nlwfa_core.display.string_labels import count_by_hand
from nlwfa_core.rounding import format_apart, format_significant
from pages.shared import components, open_lesson, screen, sidebar, widgets
from pages.shared.context import Context, computed
from pages.shared.server import ASSETS
from pages.shared.widgets import escape_markdown, pinned_ink, written_frame

NAME = "hankel-lens"
SVD = "Truncated SVD"
TABLE_ROWS = 30
TABLE_COLUMNS = 12
CUT = "hankel.singular_values"
EXACT = 6  # significant digits where the exact value of a cell is meant
LINKED_CELL = "screen.cell.chosen"
ANSWERED = "hankel.answered"
_lens = components.component("lens")
# These send the lens what changes while the matrix stays the same.
_PART = (ASSETS / "lens" / "part.js").read_text(encoding="utf-8")
_points, _window, _chosen = (
    st.components.v2.component(f"nlwfa.lens_{part}", js=_PART)
    for part in ("points", "window", "chosen")
)


def controls(context: Context) -> tuple[int, str, str]:
    """Draw the choice of the matrix. Return the number of the block's symbol (−1 for H_λ), the
    layer, and the name of what approximates it ("" for H).
    """
    symbols = context.hankel_alphabet.symbols
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    layers = dict(zip(("matrix", "approximation", "difference"), LAYERS, strict=True))
    left, middle, right = st.columns(3)
    screen.follow("block", "hankel.block", numbers, -1)
    symbol = left.selectbox(
        "Block",
        [-1, *range(len(symbols))],
        # a lambda would keep this page's data until the session ends
        format_func=partial(_block_title, symbols),
        key="hankel.block",
        persist_state="session",
    )
    screen.follow("layer", "hankel.layer", layers, "H")
    layer = middle.segmented_control(
        "Show", LAYERS, default="H", required=True, key="hankel.layer", persist_state="session"
    )
    if layer == "H":
        screen.write("by", "")
        return symbol, layer, ""
    names = _approximations(context)
    screen.follow("by", "hankel.by", {name: name for name in names}, names[0])
    by = right.selectbox("Ĥ by", names, key="hankel.by", persist_state="session")
    return symbol, layer, by


def _block_title(symbols: Sequence[str], symbol: int) -> str:
    """Write the title of a block of the matrix: that of a symbol's number, or H_λ for −1."""
    if symbol < 0:
        return "H_λ: rows u"
    text = symbols[symbol]
    return f"H_{text}: rows u{text if len(text) == 1 else f' {text}'}"


def _approximations(context: Context) -> list[str]:
    """List the possible approximations of H: the truncated SVD, and trained learners if each cell
    is the weight of a string.
    """
    recipe = context.matrix_recipe
    comparable = recipe.statistic == "string" and recipe.transform == "none"
    num_cells = context.hankel.num_prefixes * context.hankel.num_suffixes
    return [SVD, *(context.results if comparable and num_cells <= MAX_MODEL_CELLS else ())]


def linked_lens(context: Context, symbol: int, layer: str, by: str) -> None:
    """Draw the lens with a block of the matrix, an approximation of it, or the difference between
    the two.
    """
    recipe = context.recipe
    rank = recipe.learning.rank
    if symbol >= 0:
        entry = entry_formula(context.matrix_recipe, SHIFTED)
        st.caption(
            rf"In this block, $\mathbf{{H}}_\sigma[u, v] = {entry}$: its rows are those of "
            r"the prefixes $u\sigma$."
        )
    if layer == "H":
        _linked_lens(recipe, MatrixChoice(symbol), "H" if symbol < 0 else "H_σ")
        return
    hankel = context.hankel
    svd_rank = min(rank, len(context.svd.singular_values))
    choice = (
        MatrixChoice(symbol, layer, svd_rank)
        if by == SVD
        else MatrixChoice(symbol, layer, rank, context.with_learner(by).run_key)
    )
    residual = context.matrix(replace(choice, layer="H − Ĥ"))
    error = computed(lens.approximation_error, context.hankel_key, hankel, residual, choice=choice)
    whole = matrix_name(hankel, "H")
    rest = matrix_name(hankel, "(H − Ĥ)")
    how = f"Ĥ[u, v] = f(uv), the weight that {by} gives uv"
    if by == SVD:
        how = (
            "Ĥ = H V Vᵀ, where the columns of V are the first right singular vectors of "
            f"{matrix_name(hankel, 'H_λ')}{weights_phrase(hankel)}"
        )
    beyond = (
        f" The decomposition stops at rank {svd_rank}." if by == SVD and svd_rank < rank else ""
    )
    st.markdown(
        f"‖{rest}‖ / ‖{whole}‖ = **{format_significant(error)}** at rank {choice.rank}; "
        f"{escape_markdown(how)}.{beyond}"
    )
    _linked_lens(recipe, choice, f"{layer}, rank {choice.rank}" if by == SVD else f"{layer}, {by}")
    st.caption(
        "Trained models can be shown too, with the weight f(uv) in each cell, if H counts "
        "whole strings without a transform and "
        f"has at most {MAX_MODEL_CELLS:,} cells."
    )


@st.fragment
def _linked_lens(recipe: Recipe, choice: MatrixChoice, title: str) -> None:
    """Draw the matrix, and below it the details of the clicked cell or prefix.

    This is a fragment: a click or a zoom redraws only this part of the page.
    """
    context = Context(recipe)
    matrix = context.matrix(choice)
    payload = _payload(context, choice, matrix) | {"title": title}
    with st.container(gap=None):
        state = _lens(
            key="hankel.lens",
            data=payload,
            # Streamlit keeps what a callback holds until the session ends
            on_selection_change=partial(
                _answer,
                recipe,
                {"basis": payload["basis"], "layer": {"shape": payload["layer"]["shape"]}},
            ),
            on_window_change=_nothing,
        )
        if st.session_state.pop(ANSWERED, False):
            st.rerun()  # the question is not part of this fragment
        window = _position(state.get("window"), "id", payload)
        cell = _position(state.get("selection"), "basis", payload)
        linked = _linked_cell(payload)
        if linked and not cell:
            cell = linked
            _chosen(
                key="hankel.lens_chosen",
                data={"lens": NAME, "basis": payload["basis"], "chosen": linked},
                height=1,
            )
        screen.write(
            "cell",
            ",".join(str(cell[name] + 1) for name in ("row", "column") if name in cell)
            if cell
            else "",
        )
        points = {"lens": NAME, "rows": payload["rows"], "points": _points_payload(context, choice)}
        _points(key="hankel.lens_points", data=points, height=1)
        if window and "cells" not in payload["layer"]:
            values = lens.window(
                matrix, window["row"], window["column"], window["numRows"], window["numColumns"]
            )
            _window(
                key="hankel.lens_window",
                data={"lens": NAME, "id": payload["id"], "window": values},
                height=1,
            )
    if cell:
        _details(context, choice, cell)
    elif not open_lesson.draws_alone(open_lesson.MATRIX):
        st.caption(
            "Hover over a cell, a point or a string, and its prefix lights up in all three views. "
            "Each point is a prefix; prefixes with similar rows are near each other. Click to "
            "pin a prefix and see the count."
        )
    table = widgets.opened("As a table", "hankel.as_table", "table")
    if table:
        with table:
            _table(matrix, payload, cell or window or {"row": 0, "column": 0})


def _payload(context: Context, choice: MatrixChoice, matrix: Matrix) -> dict[str, Any]:
    key = context.hankel_key
    hankel = context.hankel
    basis = computed(
        lens.basis_payload, key, hankel, context.hankel_alphabet, choice=MatrixChoice(choice.symbol)
    )
    return basis | {
        "name": NAME,
        "basis": key,
        "rows": f"{key} {choice.symbol}",
        "id": f"{key} {choice}",
        "layer": computed(lens.layer_payload, key, matrix, hankel, choice=choice),
    }


def _points_payload(context: Context, choice: MatrixChoice) -> dict[str, Any]:
    """Make the payload of a point for each prefix: its state under the sidebar's run, or its row of
    the decomposition.
    """
    learning = context.recipe.learning
    result = context.result if learning.needs_hankel else None
    return computed(
        lens.prefixes_payload,
        context.hankel_key if result is None else f"{context.hankel_key} {context.run_key}",
        context.hankel,
        context.svd,
        result,
        choice=MatrixChoice(choice.symbol, rank=learning.rank),
    )


def _answer(recipe: Recipe, payload: dict[str, Any]) -> None:
    """Give the clicked cell of H as an answer, if the open lesson asks for cells.

    `payload`: what `_position` needs of it.
    """
    cell = _position(st.session_state["hankel.lens"].get("selection"), "basis", payload)
    if cell and "column" in cell:
        context = Context(recipe)
        basis = context.hankel.basis
        decode = context.hankel_alphabet.decode
        labels = decode(basis.prefixes[cell["row"]]), decode(basis.suffixes[cell["column"]])
        st.session_state[ANSWERED] = open_lesson.answer_by_cell(*labels)


def _nothing() -> None:
    """Do nothing: Streamlit gives a component a state only if it has a callback."""


def _position(value: Any, name: str, payload: dict[str, Any]) -> dict[str, int] | None:
    """Return the row and column that the browser reports; None if they are outside the matrix on
    the page.
    """
    if not isinstance(value, dict) or value.get(name) != payload[name]:
        return None
    position = {key: entry for key, entry in value.items() if type(entry) is int and entry >= 0}
    rows, columns = payload["layer"]["shape"]
    required = {"row", "column", "numRows", "numColumns"} if name == "id" else {"row"}
    inside = (
        required <= set(position) and position["row"] < rows and position.get("column", 0) < columns
    )
    return position if inside else None


def _linked_cell(payload: dict[str, Any]) -> dict[str, int] | None:
    """Return the cell or row that a link has chosen; None if the page does not show the link's
    matrix any more.
    """
    text = screen.unread("cell")
    if text is not None:
        numbers = [int(word) - 1 for word in text.split(",") if word.isdecimal() and len(word) < 6]
        cell = dict(zip(("row", "column"), numbers, strict=False))
        st.session_state[LINKED_CELL] = cell | {"basis": payload["basis"]}
    return _position(st.session_state.get(LINKED_CELL), "basis", payload)


def _details(context: Context, choice: MatrixChoice, cell: dict[str, int]) -> None:
    hankel = context.hankel
    alphabet = context.hankel_alphabet
    prefix = hankel.basis.prefixes[cell["row"]] + choice.after
    row = cell["row"]
    block = choice.block(hankel)
    written = escape_markdown(alphabet.decode(prefix))
    with st.container(border=True, key="hankel.chosen"):
        if "column" not in cell:
            total = format_significant(float(block[[row]].sum()), EXACT)
            st.markdown(
                f"u is **{written}**: {block[[row]].nnz:,} non-zero cells, summing to {total}."
            )
            return
        column = cell["column"]
        suffix = hankel.basis.suffixes[column]
        value = float(block[row, column])
        words = {"u": prefix, "v": suffix, "uv": prefix + suffix}
        legend = ", ".join(
            f"{name} is **{escape_markdown(alphabet.decode(word))}**"
            for name, word in words.items()
        )
        st.markdown(f"{legend}: **H[u, v] = {format_significant(value, EXACT)}**")
        count = count_by_hand(context.data.train, prefix + suffix, context.matrix_recipe)
        st.markdown(escape_markdown(f"By hand: {count}."))
        if choice.layer != "H":
            near = context.matrix(replace(choice, layer="Ĥ"))
            entry = float(part(near, slice(row, row + 1), slice(column, column + 1))[0, 0])
            rest = format_significant(value - entry, EXACT)
            st.markdown(
                escape_markdown(
                    f"Ĥ[u, v] = {format_apart(entry, value, EXACT)[0]}; H − Ĥ = {rest}."
                )
            )


def _table(matrix: Matrix, payload: dict[str, Any], position: dict[str, int]) -> None:
    """Draw a table of exact values around a position, for people who can't see the picture."""
    window = lens.window(
        matrix, position["row"], position.get("column", 0), TABLE_ROWS, TABLE_COLUMNS
    )
    row, column, (num_rows, num_columns) = window["row"], window["column"], window["shape"]
    values = part(matrix, slice(row, row + num_rows), slice(column, column + num_columns))
    # Shortened labels may be equal, but the names of a table's columns must differ.
    names = [
        f"{column + number + 1} · {text}"
        for number, text in enumerate(payload["suffixes"][column : column + num_columns])
    ]
    table = pd.DataFrame(values, columns=names)
    table.insert(0, "prefix", payload["prefixes"][row : row + num_rows])
    st.dataframe(
        written_frame(table, EXACT, pinned_ink()),
        hide_index=True,
        key="hankel.table",
        # Columns are named by position, with the hidden index as 0, because their titles are a
        # user's strings.
        column_config={1: st.column_config.Column(pinned=True)},
        alt=f"Exact values: {num_rows} prefixes starting at number {row + 1}, {num_columns} "
        f"suffixes starting at number {column + 1}",
    )


def decomposition(context: Context, symbol: int) -> None:
    """Draw which matrix the singular values below belong to, and how Ĥ is computed from it.

    Rows that have weights are decomposed with these weights; the block of a symbol has no
    decomposition of its own, but is projected onto the same right singular vectors.
    """
    weights = "" if context.hankel.row_weights is None else r"\mathbf{W}^{1/2}"
    lines = [
        rf"{weights}\mathbf{{H}}_\lambda \approx \mathbf{{U}}\,\mathbf{{D}}\,\mathbf{{V}}^\top",
        r"\text{rank } k \text{ keeps the } k \text{ largest values in } \mathbf{D}",
    ]
    if symbol >= 0:
        lines.insert(1, r"\hat{\mathbf{H}}_\sigma = \mathbf{H}_\sigma\mathbf{V}\,\mathbf{V}^\top")
    st.latex(gathered(lines))


def rank_cut(context: Context, symbol: int) -> None:
    """Draw the singular values as bars with a mark at the rank, which can be dragged, and below
    them H, Ĥ and H − Ĥ at that rank.
    """
    key = context.hankel_key
    svd = context.svd
    hankel = context.hankel
    bars = computed(lens.singular_values_payload, key, svd, hankel)
    components.cut(CUT, bars | {"id": key, "rank": context.recipe.learning.rank}, _set_rank)
    panels = computed(
        panels_payload, key, hankel, svd, context.hankel_alphabet, choice=MatrixChoice(symbol)
    )
    # A matrix that falls into blocks is at first shown in blocks; a lesson asks how many there are.
    by_state = panels["order"]["fallsApart"] and not open_lesson.place()
    # without the rank: see panels.js
    page = {"basis": key, "id": f"{key} {symbol}", "byState": by_state}
    components.panels("hankel.panels", panels | page)
    st.markdown(numerical_rank_sentence(svd, hankel))
    table = widgets.opened("The values", "hankel.values", "table")
    if table:
        ranks = pd.RangeIndex(1, len(svd.singular_values) + 1, name="rank")
        columns = {
            "singular value": svd.singular_values,
            "kept by this rank": bars["kept"][: len(ranks)],
        }
        table.dataframe(
            written_frame(pd.DataFrame(columns, index=ranks)), key="hankel.values_table"
        )


def _set_rank() -> None:
    rank = st.session_state[CUT].get("rank")
    if type(rank) is int and 1 <= rank <= limits.most("rank"):
        sidebar.set_rank(rank)
        open_lesson.answer_by_cut(rank)
