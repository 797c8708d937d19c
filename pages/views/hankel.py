"""The linked lens: heat map, states and strings of one matrix, linked in the browser; what is chosen there is told here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from nlwfa_core import Recipe, limits
from nlwfa_core.hankel.matrix import hankel_alphabet
from nlwfa_core.lab import lens
from nlwfa_core.lab.lens import MAX_MODEL_CELLS, Matrix, MatrixChoice, numerical_rank_sentence, part
from nlwfa_core.lab.strings import count_by_hand
from pages.shared import cache, runs, sidebar
from pages.shared.server import ASSETS
from pages.shared.widgets import escape_markdown

NAME = "hankel-lens"
SVD = "Truncated SVD"
TABLE_ROWS, TABLE_COLUMNS = 30, 12
CUT = "hankel.singular_values"
_HTML, _CSS, _JS = ((ASSETS / "lens" / f"lens.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
_lens = st.components.v2.component("nlwfa.lens", html=_HTML, css=_CSS, js=_JS)
# They hand to the lens what changes while the matrix stays.
_PART = (ASSETS / "lens" / "part.js").read_text(encoding="utf-8")
_points, _window = (st.components.v2.component(f"nlwfa.lens_{part}", js=_PART) for part in ("points", "window"))
_CUT = {kind: (ASSETS / "cut" / f"cut.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")}
_cut = st.components.v2.component("nlwfa.cut", **_CUT)


def makers(recipe: Recipe) -> list[str]:
    """Who can make an Ĥ: the truncated SVD, and learners that have been run, where a cell is what a model gives a string."""
    hankel = cache.hankel(recipe.data, recipe.hankel)
    comparable = recipe.hankel.statistic == "string" and recipe.hankel.transform == "none"
    small = hankel.num_prefixes * hankel.num_suffixes <= MAX_MODEL_CELLS
    return [SVD, *(runs.results_of_learners(recipe) if comparable and small else ())]


def linked_lens(recipe: Recipe, symbol: int, layer: str, by: str) -> None:
    """A block of the matrix, an approximation of it or what that leaves, under the lens."""
    rank = recipe.learning.rank
    if layer == "H":
        _linked_lens(recipe, MatrixChoice(symbol), "H")
        return
    found = min(rank, len(cache.singular_values(recipe.data, recipe.hankel).singular_values))
    shown = MatrixChoice(symbol, layer, found) if by == SVD else MatrixChoice(symbol, layer, rank, recipe.with_learner(by).key())
    error = cache.lens_error(recipe.data, recipe.hankel, shown)
    how = f"Ĥ[u, v] = f(uv), what {by} gives uv"
    if by == SVD:
        weighed = cache.hankel(recipe.data, recipe.hankel).row_weights is not None
        rows = ", its rows weighed by how often their prefix was seen" if weighed else ""
        how = f"Ĥ = H V Vᵀ, V the first right singular vectors of H_λ{rows}"
    beyond = f" The decomposition stops at rank {found}." if by == SVD and found < rank else ""
    st.markdown(f"‖H − Ĥ‖ / ‖H‖ = **{error:.3g}** at rank {shown.rank}; {escape_markdown(how)}.{beyond}")
    _linked_lens(recipe, shown, f"{layer}, rank {shown.rank}" if by == SVD else f"{layer}, {by}")
    st.caption(
        "A trained network keeps what the weights of strings need, not its whole decoder. Where H holds string frequencies in at "
        f"most {MAX_MODEL_CELLS:,} cells, trained learners stand beside the SVD, with the weight f(uv) in each cell."
    )


@st.fragment
def _linked_lens(recipe: Recipe, shown: MatrixChoice, title: str) -> None:
    """Draw it, and below it what is known of the cell or prefix that was clicked.

    A fragment: what is chosen or zoomed to draws this part of the page again, and nothing else.
    """
    payload = _payload(recipe, shown) | {"title": title}
    matrix = cache.matrix(recipe.data, recipe.hankel, shown)
    with st.container(gap=None):
        told = _lens(key="hankel.lens", data=payload, on_selection_change=_nothing, on_window_change=_nothing)
        asked, chosen = _place(told.get("window"), "id", payload), _place(told.get("selection"), "basis", payload)
        points = {"lens": NAME, "rows": payload["rows"], "points": _states(recipe, shown)}
        _points(key="hankel.lens_points", data=points, height=1)
        if asked and "cells" not in payload["layer"]:
            values = lens.window(matrix, asked["row"], asked["column"], asked["numRows"], asked["numColumns"])
            _window(key="hankel.lens_window", data={"lens": NAME, "id": payload["id"], "window": values}, height=1)
    if chosen:
        _say_chosen(recipe, shown, chosen)
    else:
        st.caption(
            "Point at a cell, a point or a string: the same prefix lights in all three. A click keeps it and counts it by hand."
        )
    table = st.expander("As a table", icon=":material/table:", key="hankel.as_table", on_change="rerun")
    if table.open:  # what nobody looks at is neither made nor sent
        with table:
            _table(matrix, payload, chosen or asked or {"row": 0, "column": 0})


def _payload(recipe: Recipe, shown: MatrixChoice) -> dict[str, Any]:
    key = (recipe.data, recipe.hankel)
    basis = f"{recipe.data.key()[:16]}{recipe.hankel.key()[:16]}"
    return cache.lens_basis(*key, shown.symbol) | {
        "name": NAME,
        "basis": basis,
        "rows": f"{basis} {shown.symbol}",
        "id": f"{basis} {shown}",
        "layer": cache.lens_layer(*key, shown),
    }


def _states(recipe: Recipe, shown: MatrixChoice) -> dict[str, Any]:
    """A point for each prefix."""
    model = recipe.key() if runs.result(recipe) and recipe.learning.kind.needs_hankel else ""
    return cache.lens_points(recipe.data, recipe.hankel, shown.symbol, recipe.learning.rank, model)


def _nothing() -> None:
    """A state of the component has to have a callback."""


def _place(value: Any, name: str, payload: dict[str, Any]) -> dict[str, int] | None:
    """What the browser said, if it is a place in the matrix that is shown."""
    if not isinstance(value, dict) or value.get(name) != payload[name]:
        return None
    place = {key: entry for key, entry in value.items() if type(entry) is int and entry >= 0}
    rows, columns = payload["layer"]["shape"]
    wanted = {"row", "column", "numRows", "numColumns"} if name == "id" else {"row"}
    return place if wanted <= set(place) and place["row"] < rows and place.get("column", 0) < columns else None


def _say_chosen(recipe: Recipe, shown: MatrixChoice, chosen: dict[str, int]) -> None:
    data, hankel = cache.data(recipe.data), cache.hankel(recipe.data, recipe.hankel)
    alphabet = hankel_alphabet(data.alphabet, recipe.hankel.statistic, recipe.hankel.bounded)
    prefix = hankel.basis.prefixes[chosen["row"]] + shown.after
    row, block = chosen["row"], shown.block(hankel)
    written = escape_markdown(alphabet.decode(prefix))
    with st.container(border=True, key="hankel.chosen"):
        if "column" not in chosen:
            st.markdown(f"u is **{written}**: {block[[row]].nnz:,} cells other than zero, in all {block[[row]].sum():.6g}.")
            return
        column = chosen["column"]
        suffix = hankel.basis.suffixes[column]
        value = float(block[row, column])
        named = {"u": prefix, "v": suffix, "uv": prefix + suffix}
        words = ", ".join(f"{name} is **{escape_markdown(alphabet.decode(word))}**" for name, word in named.items())
        st.markdown(f"{words}: **H[u, v] = {value:.6g}**")
        st.markdown(escape_markdown(f"By hand: {count_by_hand(data.train, prefix + suffix, recipe.hankel)}."))
        if shown.layer != "H":
            near = cache.matrix(recipe.data, recipe.hankel, replace(shown, layer="Ĥ"))
            entry = float(part(near, slice(row, row + 1), slice(column, column + 1))[0, 0])
            st.markdown(escape_markdown(f"Ĥ[u, v] = {entry:.6g}; H − Ĥ = {value - entry:.6g}.".replace("-", "−")))


def _table(matrix: Matrix, payload: dict[str, Any], place: dict[str, int]) -> None:
    """The part around a place, exact: what the picture says to who can't see it."""
    held = lens.window(matrix, place["row"], place.get("column", 0), TABLE_ROWS, TABLE_COLUMNS)
    row, column, (num_rows, num_columns) = held["row"], held["column"], held["shape"]
    values = part(matrix, slice(row, row + num_rows), slice(column, column + num_columns))
    # Labels that are cut short may repeat: a table's columns must not.
    names = [f"{column + number + 1} · {text}" for number, text in enumerate(payload["suffixes"][column : column + num_columns])]
    table = pd.DataFrame(values, columns=names)
    table.insert(0, "prefix", payload["prefixes"][row : row + num_rows])
    st.dataframe(
        table,
        hide_index=True,
        key="hankel.table",
        # By position, the hidden index counted: names are a user's strings.
        column_config={1: st.column_config.Column(pinned=True)}
        | {2 + number: st.column_config.NumberColumn(format="%.6g") for number in range(num_columns)},
        alt=f"Exact values: {num_rows} prefixes from number {row + 1}, {num_columns} suffixes from number {column + 1}",
    )


def rank_cut(recipe: Recipe) -> None:
    """Singular values under the cut of the rank, which the browser moves and then tells; what the matrix itself allows is below."""
    svd, hankel = cache.singular_values(recipe.data, recipe.hankel), cache.hankel(recipe.data, recipe.hankel)
    data = cache.cut_payload(recipe.data, recipe.hankel) | {"rank": recipe.learning.rank}
    _cut(key=CUT, data=data, on_rank_change=_set_rank)
    st.markdown(numerical_rank_sentence(svd, hankel))
    table = st.expander("The values", icon=":material/table:", key="hankel.values", on_change="rerun")
    if table.open:
        ranks = pd.RangeIndex(1, len(svd.singular_values) + 1, name="rank")
        columns = {"singular value": svd.singular_values, "kept by this rank": data["kept"][: len(ranks)]}
        table.dataframe(pd.DataFrame(columns, index=ranks), key="hankel.values_table")


def _set_rank() -> None:
    rank = st.session_state[CUT].get("rank")
    if type(rank) is int and 1 <= rank <= limits.most("rank"):
        sidebar.set_rank(rank)
