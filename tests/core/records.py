"""Random records of any class, drawn from what its fields declare."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from nlwfa_core.experiment.recipe import UPLOADS, DataRecipe, Recipe, with_fields
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.learners import LEARNERS
from nlwfa_core.records import Option, Record, options_of

HIDDEN = [(1,), (2, 1, 2), (4, 2, 1, 2, 4), (3, 3, 2, 1, 2, 3, 3)]


def values_of(entry: Option) -> st.SearchStrategy[Any]:
    """Values that a field allows."""
    bounds = entry.bounds
    if entry.choices:
        return st.sampled_from(list(entry.choices))
    if entry.kind is int:
        return st.integers(int(bounds["ge"]), int(bounds["le"]))
    if entry.kind is float:
        lowest = bounds.get("ge", bounds.get("gt", 0))
        return st.floats(
            lowest,
            bounds.get("le", bounds.get("lt")),
            exclude_min="gt" in bounds,
            exclude_max="lt" in bounds,
        )
    if entry.kind is bool:
        return st.booleans()
    if entry.name in UPLOADS:
        return st.sampled_from(["", "0" * 64, "a1" * 32])
    if entry.kind is str:
        return st.sampled_from(["", "case", "2", "é x"])
    assert entry.name == "hidden"
    return st.sampled_from(HIDDEN)


def fields_of(kind: type[Record]) -> st.SearchStrategy[dict[str, Any]]:
    """Values of some fields, whether they have an effect or not."""
    names = set(options_of(kind)) - {"learner", "bounded"}
    drawn = {name: values_of(options_of(kind)[name]) for name in sorted(names)}
    return st.fixed_dictionaries({}, optional=drawn)


def records_of(kind: type[Record]) -> st.SearchStrategy[Any]:
    return fields_of(kind).map(kind.adapted)


KINDS: tuple[type[Record], ...] = (DataRecipe, *LEARNERS.values())


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    learning = draw(st.sampled_from(list(LEARNERS.values())).flatmap(records_of))
    data = draw(records_of(DataRecipe))
    if not learning.needs_hankel:
        return Recipe(data=data, learning=learning)
    counted = draw(fields_of(HankelRecipe))
    if counted.get("statistic") == "suffix" and (
        learning.networks or counted.get("transform", "none") != "none"
    ):
        counted["statistic"] = "factor"
    base = Recipe().changed(data=data)
    values = {name: value for name, value in learning.fields().items() if name != "seed"}
    return with_fields(base, counted | {"learner": learning.learner}, values)


# Of networks that are trained with Adamax, for a number of epochs that a test sets.
AS_IN_THE_PAPER: dict[str, Any] = {"optimizer": "adamax", "start": "random"}


def learning_of(learner: str, rank: int, **fields: Any) -> Any:
    """The options of a learner: of some fields, those that have an effect."""
    return LEARNERS[learner].adapted(fields, rank=rank)
