"""Records: whatever their fields declare holds for every value, and what has no effect does not
exist.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.recipe import DataRecipe
from nlwfa_core.learning.learners import LEARNERS, VALUE_LEARNERS, BothNon, options
from nlwfa_core.learning.shared_options import LearnerOptions
from nlwfa_core.records import NoEffect, Option, Record, option, options_of
from tests.core.records import KINDS, fields_of, records_of, values_of

ALL: tuple[type[Record], ...] = (*KINDS, *VALUE_LEARNERS.values())
kinds = st.sampled_from(KINDS)


class Walk(Record):
    """A record by hand: whoever runs may rest, and a rest takes longer for a dog."""

    gait: str = option("walk", title="gait", help="How.", choices=("walk", "run"))
    dog: bool = option(False, title="dog", help="With a dog.")
    rests: int = option(0, title="rests", help="How many.", ge=0, le=9, when={"gait": ["run"]})
    minutes: float = option(
        {"walk": 60.0, "run": 20.0}, by="gait", title="minutes", help="Time.", gt=0
    )
    leash: int = option(
        2, title="leash", help="Metres.", ge=1, when=({"dog": [True]}, {"gait": ["walk"]})
    )
    bark: str = option("wuff", title="bark", help="Sound.", when={"dog": [True], "gait": ["run"]})


def test_a_field_exists_where_its_conditions_are_met() -> None:
    assert Walk().fields() == {"gait": "walk", "dog": False, "minutes": 60.0}
    assert Walk(gait="run").fields() == {
        "gait": "run",
        "dog": False,
        "rests": 0,
        "minutes": 20.0,
        "bark": "wuff",  # one of the two is enough
    }
    assert set(Walk(dog=True).fields()) == {"gait", "dog", "minutes", "leash", "bark"}
    assert set(Walk(dog=True, gait="run").fields()) >= {"rests", "bark"}
    assert not Walk(dog=True, gait="run").has("leash")  # both are needed
    assert not Walk().has("colour")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rests": 0}, "rests has no effect with gait walk; it needs gait run"),
        ({"leash": 2}, "leash has no effect with dog False; it needs dog True"),
        (
            {"leash": 2, "dog": True, "gait": "run"},
            "leash has no effect with gait run; it needs gait walk",
        ),
        (
            {"bark": "wau"},
            "bark has no effect with dog False, gait walk; it needs dog True, or gait run",
        ),
    ],
)
def test_setting_a_field_without_effect_names_what_it_needs(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(NoEffect) as caught:
        Walk(**fields)
    assert str(caught.value) == message
    with pytest.raises(NoEffect):
        Walk().changed(**fields)


def test_a_change_keeps_what_still_has_an_effect() -> None:
    walk = Walk(gait="run", rests=3, minutes=30)
    assert walk.changed(dog=True) == Walk(gait="run", rests=3, minutes=30, dog=True)
    assert walk.changed(gait="walk") == Walk(minutes=30)
    # a default is that of the other gait
    assert Walk(gait="run").changed(gait="walk").minutes == 60.0
    assert Walk(gait="run", minutes=20).changed(gait="walk").minutes == 60.0
    assert Walk.adapted({"rests": 3, "minutes": 5, "colour": "red"}) == Walk(minutes=5)


def test_what_a_field_declares_is_read_from_the_record() -> None:
    minutes = options_of(Walk)["minutes"]
    assert (minutes.title, minutes.help, minutes.kind) == ("minutes", "Time.", float)
    assert minutes.bounds == {"gt": 0} and minutes.defaults == (60.0, 20.0)
    assert minutes.default_in({"gait": "run"}) == 20.0 and minutes.largest is None
    assert options_of(BothNon)["rank"].limit == "rank"
    assert options_of(BothNon)["rank"].largest == options_of(BothNon)["rank"].bounds["le"]


@pytest.mark.parametrize("kind", ALL)
def test_conditions_and_defaults_are_about_fields_or_facts_of_the_class(kind: type[Record]) -> None:
    for name, entry in options_of(kind).items():
        assert entry.title and entry.help.endswith("."), name
        for condition in entry.when:
            for other, values in condition.items():
                known = options_of(kind).get(other)
                if known is None:
                    assert hasattr(kind, other) or other == "refine", (name, other)
                else:
                    is_choice = set(values) <= set(known.choices) or values == [""]  # no text
                    assert is_choice or kind.__name__.startswith("Value")
        if entry.by and entry.by not in kind.model_fields:
            assert isinstance(getattr(kind, entry.by), str), name
        elif entry.by:
            # pydantic makes defaults in the order of the fields
            assert list(kind.model_fields).index(entry.by) < list(kind.model_fields).index(name)


@given(kinds.flatmap(records_of))
def test_records_go_to_json_and_back(record: Record) -> None:
    content = json.loads(record.model_dump_json())
    again = type(record)(**content)
    assert again == record and hash(again) == hash(record) and again.key() == record.key()
    assert set(content) == set(record.fields())


@given(kinds.flatmap(lambda kind: st.tuples(records_of(kind), records_of(kind))))
def test_records_are_equal_if_and_only_if_their_keys_are(pair: tuple[Record, Record]) -> None:
    one, other = pair
    assert (one == other) == (one.key() == other.key()) == (one.fields() == other.fields())


@given(kinds.flatmap(records_of), st.data())
def test_a_field_without_effect_is_refused_and_others_are_not(
    record: Record, data: st.DataObject
) -> None:
    entry: Option = data.draw(st.sampled_from(list(options_of(type(record)).values())))
    if entry.name == "learner":
        return
    value = data.draw(values_of(entry))
    stated = {name: kept for name, kept in record.fields().items() if name != entry.name}
    if record.has(entry.name):
        changed = record.changed(**{entry.name: value})
        assert getattr(changed, entry.name) == value
        return
    assert getattr(record, entry.name) == entry.default_in(record.fields())
    with pytest.raises(NoEffect) as caught:
        type(record)(**stated, **{entry.name: value})
    assert caught.value.field == entry.name
    assert set(caught.value.needs) and set(caught.value.needs) <= set(caught.value.setting)


@given(kinds.flatmap(lambda kind: st.tuples(records_of(kind), fields_of(kind))))
def test_a_change_of_any_fields_gives_a_valid_record(pair: tuple[Record, dict[str, Any]]) -> None:
    record, fields = pair
    changed = type(record).adapted(record.changes() | fields)
    assert type(record)(**changed.fields()) == changed
    for name, value in fields.items():
        assert not changed.has(name) or getattr(changed, name) == value


@given(kinds.flatmap(records_of))
def test_changes_are_all_that_a_record_needs(record: Record) -> None:
    assert type(record)(**record.changes()) == record
    assert record.changed() == record


@pytest.mark.parametrize(
    ("learner", "fields", "message"),
    [
        (
            "SP",
            {"hidden": "1"},
            "hidden has no effect with learner SP; it needs learner fac.non, tran.non or both.non",
        ),
        ("GRU", {"refine": "hankel"}, "refine has no effect with learner GRU; it needs learner SP"),
        (
            "PDFA",
            {"seed": 1},
            "seed has no effect with learner PDFA; it needs learner fac.non, tran.non, both.non, "
            "HMM, PFA, GRU or LSTM",
        ),
        (
            "both.non",
            {"rate_transitions": 0.1},
            "rate_transitions has no effect with learner both.non, optimizer lbfgs; it needs "
            "optimizer adamax",
        ),
        (
            "tran.non",
            {"hidden": "1"},
            "hidden has no effect with learner tran.non, optimizer lbfgs, refine none; it needs "
            "optimizer adamax, or refine hankel or likelihood",
        ),
        ("SP", {"colour": 1}, "unknown field 'colour'; the fields are learner, rank, refine"),
        ("both.non", {"optimiser": 1}, "unknown field 'optimiser'; did you mean optimizer?"),
        ("RNN", {}, "learner must be one of SP, fac.non, tran.non, both.non, HMM"),
    ],
)
def test_options_of_another_learner_are_refused_with_its_name(
    learner: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecipeError) as caught:
        options(learner, **fields)
    assert str(caught.value).startswith(message)


def test_functions_from_values_have_options_of_their_own() -> None:
    def learned(learner: str) -> LearnerOptions:
        return VALUE_LEARNERS[learner]()

    assert learned("SP").fields() == {"learner": "SP", "rank": 10, "refine": "none", "ridge": 1e-6}
    # with unknown cells, step 1 has no closed form, and linear maps always have one
    assert {"hidden", "start", "epochs_factorisation"} <= set(learned("tran.non").fields())
    assert not learned("fac.non").has("epochs_transitions") and not learned("fac.non").has("starts")
    with pytest.raises(NoEffect, match="it needs learner tran.non or both.non"):
        VALUE_LEARNERS["fac.non"](width_transitions=1)
    with pytest.raises(NoEffect, match="ridge has no effect with learner fac.non; it needs .* SP"):
        VALUE_LEARNERS["fac.non"](ridge=0.1)
    with pytest.raises(RecipeError, match="starts has no effect with learner both.non$"):
        VALUE_LEARNERS["both.non"](starts=2)


def test_a_learner_knows_what_it_is() -> None:
    assert [name for name, kind in LEARNERS.items() if not kind.is_random] == ["SP", "PDFA"]
    for name, kind in LEARNERS.items():
        assert kind.name() == name == kind().learner and kind.title
        assert kind.is_random == ("seed" in kind.model_fields)
        assert kind.networks == ("hidden" in kind.model_fields)
        assert kind.from_hankel == ("refine" in kind.model_fields)


def test_negative_zero_is_zero() -> None:
    assert DataRecipe(split_probability=-0.0).key() == DataRecipe(split_probability=0.0).key()


def test_a_copy_with_other_values_has_their_key_and_fields_without_effect() -> None:
    record: LearnerOptions = BothNon()
    other = record.changed(rank=record.rank + 1)
    assert record.key() != other.key() and record.changes() != other.changes()
    copied = record.model_copy(update={"rank": other.rank})
    assert (copied.key(), copied.changes(), copied) == (other.key(), other.changes(), other)
