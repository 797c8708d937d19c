"""Runs that the database chooses and orders, against the same in plain Python; no run is lost or
twice on pages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import postgresql

from nlwfa_core.display.run_tables import reason, state_word
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.recipe import DataRecipe, Recipe, run_title
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.history.listing import FIELDS, Query, choices, get_runs, list_runs
from nlwfa_core.history.owners import OwnList
from nlwfa_core.history.runs import Event, History, Run
from tests.core.small import all_runs

RECIPE = Recipe().model_dump(mode="json")
SCORE = [0.25, 0.5, 0.125, "inf", "nan", None, -3.0, "-inf", 0.25, 1e-300, 12, 0.75]
STATES = ("done", "failed", "interrupted", "done")
TAGS = (["a"], [], ["b", "a"], ['quote " b', "ü"], ["A", 'x, "a"'])


def row(number: int) -> Run:
    return Run(
        key=f"{number:064x}",
        state=STATES[number % 4],
        recipe=RECIPE,
        version="1",
        source=("dyck", "verbs", "upload")[number % 3],
        learner=("SP", "both.non")[number % 2],
        rank=number,
        num_strings=10,
        seed=number,
        name=f"run {number} 100%_" if number % 5 else "",
        tags=TAGS[number % 5],
        scores={"wer": SCORE[number % 12], "ndcg5": SCORE[number % 12], "num_zero": number}
        if number % 4 in (0, 3)
        else None,
        curves={
            "factorisation": {
                "epochs": [0],
                "losses": [1.0],
                "measure": "relative loss",
                "state": "not finished",
                "summary": "no epochs",
            }
        },
        message="rank: too high" if number % 4 == 1 else None,
        submitted=float(number % 7),
    )


ROWS = [row(number) for number in range(48)]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    history = History.open(tmp_path_factory.mktemp("home"))
    history.note([*ROWS, Run(**{**vars(row(99)), "deleted": 1.0})])
    return history


def matches(run: Run, query: Query) -> bool:
    ranks = re.findall(r"\bk\s*=\s*\d+\b", query.text, re.IGNORECASE)
    labels = [run.name, run.message or "", *run.tags]

    def has(word: str) -> bool:
        texts = [
            *labels,
            run_title(run.learner, run.rank),
            state_word(run.state),
            reason(run),
            run.source,
            run.version,
        ]
        if "hankel" in run.recipe:
            texts += [
                run.recipe["hankel"]["statistic"],
                run.recipe["hankel"]["transform"],
                run.recipe["learning"]["refine"],
            ]
        return any(word.lower() in text.lower() for text in texts) or run.key.startswith(
            word.lower()
        )

    def has_rank(text: str) -> bool:
        return run.rank == int(text.partition("=")[2]) or any(
            text.lower() in label.lower() for label in labels
        )

    words = query.text
    for text in ranks:
        words = words.replace(text, " ")

    return (
        (not query.states or run.state in query.states)
        and (not query.learners or run.learner in query.learners)
        and (not query.sources or run.source in query.sources)
        and (not query.tags or bool({*query.tags} & {*run.tags}))
        and all(has(word) for word in words.split())
        and all(map(has_rank, ranks))
    )


def some(*values: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)


SEARCHES = [
    "", "run", "RUN 1", "rank high", "100%", "_", "%", "\\", "'", "ü", "Ü", "0000", "nothing", "both.non", "BOTH.NON, k = 7", "sp",  # noqa: E501
    "sp,", "k = 1", "K=11", "k =", "= 4", "dyck",
    "upload", "interrupted", "fail", "server stopped", "string", "likelihood", "quote ü",
]  # fmt: skip
QUERIES = st.builds(
    Query,
    text=st.sampled_from(SEARCHES)
    | st.lists(st.sampled_from(SEARCHES), min_size=2, max_size=3).map(" ".join),
    states=some("done", "failed", "queued"),
    learners=some("SP", "LSTM"),
    sources=some("dyck", "upload"),
    tags=some("a", "A", "b", 'quote " b', "ü", 'x, "a"', "no such"),
)


@settings(deadline=None, max_examples=150)
@given(QUERIES, st.integers(0, 20), st.integers(1, 20))
def test_what_is_listed_is_what_fits(
    history: History, query: Query, offset: int, limit: int
) -> None:
    wanted = sorted(
        (run for run in ROWS if matches(run, query)), key=lambda run: (-run.submitted, run.key)
    )
    found = list_runs(history, query, offset, limit)
    assert found.total == len(wanted)
    assert [run.key for run in found.runs] == [run.key for run in wanted[offset : offset + limit]]
    assert all(run.curves is None and run.tags == ROWS[run.rank].tags for run in found.runs)


def texts_of(history: History, text: str, **titles: str) -> set[str]:
    """The learners and ranks of the runs that a search lists."""
    files = tuple((content * 64, title) for content, title in titles.items())
    return {
        run_title(run.learner, run.rank)
        for run in list_runs(history, Query(text, titles=files)).runs
    }


def test_a_search_covers_what_a_row_shows(tmp_path: Path) -> None:
    """Titles, sources, options in words, files by their titles; a rank is a number, not a beginning
    of one.
    """
    recipes = [
        Recipe().with_learner("fac.non", 10),
        Recipe().with_learner("SP", 100).changed(hankel=HankelRecipe(statistic="prefix")),
        # an HMM has no Hankel matrix
        Recipe().with_learner("HMM", 1),
        Recipe()
        .with_learner("SP", 2)
        .changed(data=DataRecipe(source="upload", upload="a" * 64, upload_test="b" * 64)),
        Recipe().with_learner("SP", 3).changed(data=DataRecipe(source="upload", upload="c" * 64)),
    ]
    history = History.open(tmp_path)
    history.note([Event(recipe.key(), recipe, "queued", 1.0) for recipe in recipes])
    assert (
        texts_of(history, "fac.non")
        == texts_of(history, "FAC k = 10")
        == texts_of(history, "k=10")
        == {"fac.non, k = 10"}
    )
    assert texts_of(history, "10") == {"fac.non, k = 10", "SP, k = 100"} and texts_of(
        history, "k = 1"
    ) == {"HMM, k = 1"}
    assert len(texts_of(history, "dyck")) == 3 and texts_of(history, "prefix") == {"SP, k = 100"}
    # the table says "waiting"
    assert len(texts_of(history, "WAITING")) == 5 and not texts_of(history, "queued")
    titles = {"a": "29.pautomac.train", "b": "Prüfung 29.txt", "d": "another 29"}
    assert (
        texts_of(history, "29.", **titles)
        == texts_of(history, "PRÜFUNG", **titles)
        == {"SP, k = 2"}
    )
    assert texts_of(history, "upload") == {"SP, k = 2", "SP, k = 3"} and not texts_of(
        history, "another", **titles
    )
    for harmless in ("%", "_", "k = 99999999999999999999", "'; DROP TABLE runs", "\\%"):
        assert not texts_of(history, harmless)
    history.close()


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("metric", ["wer", "ndcg5", "num_zero"])
def test_the_best_come_first_and_runs_without_a_score_last(
    history: History, metric: str, last: bool
) -> None:
    found = list_runs(history, Query(order=metric, last=last), 0, 100).runs
    assert len(found) == len(ROWS)
    values = [
        float("nan") if (value := (run.scores or {}).get(metric)) is None else float(value)
        for run in found
    ]
    real = [value for value in values if not math.isnan(value)]
    finite = [value for value in real if math.isfinite(value)]
    assert finite == sorted(finite, reverse=(metric == "ndcg5") != last)
    # What is not finite is no good score, whatever its sign; what is no number at all comes last
    # either way.
    edge = real[: len(real) - len(finite)] if last else real[len(finite) :]
    assert not any(map(math.isfinite, edge)) and values[: len(real)] == real


@pytest.mark.parametrize(
    "query", [Query(), Query(order="wer"), Query(order="wer", last=True), Query(last=True)], ids=str
)
def test_pages_hold_each_run_once(history: History, query: Query) -> None:
    keys = [
        run.key for offset in range(0, 60, 7) for run in list_runs(history, query, offset, 7).runs
    ]
    assert len(keys) == len(ROWS) and {*keys} == {run.key for run in ROWS}


def test_an_order_that_there_is_not_is_told(history: History) -> None:
    with pytest.raises(RecipeError, match="order must be one of newest, log2_pauto"):
        list_runs(history, Query(order="wer; DROP TABLE runs"))
    assert "wer" in FIELDS


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            Query(" ".join(f"w{number}" for number in range(21))),
            "the number of words in a search must be at most 20; got 21",
        ),
        (
            Query(" ".join(f"k = {number}" for number in range(21))),
            "the number of words in a search must be at most 20; got 21",
        ),
        (
            Query("k = 1 " * 11 + "a b c d e f g h i j"),
            "the number of words in a search must be at most 20; got 21",
        ),
        (Query("a" * 201), "a search must be at most 200 characters; got 201"),
        (
            Query(" " * 1_000_000),
            "a search must be at most 200 characters; got 1,000,000",
        ),
        (
            Query(" ".join(f"w{number}" for number in range(4000))),
            "a search must be at most 200 characters",
        ),
        (
            Query(tags=tuple(map(str, range(101)))),
            "the number of tags to filter by must be at most 100; got 101",
        ),
        (
            Query(
                "train",
                titles=tuple((f"{number:064x}", f"train {number}") for number in range(201)),
            ),
            "'train' is in the names of 201 uploaded files, and a search can include at most 200: "
            "type more of the name",
        ),
    ],
)
def test_a_search_has_limits(history: History, query: Query, message: str) -> None:
    """Before the database gets an expression that is too deep for it."""
    with pytest.raises(RecipeError, match=re.escape(message)):
        list_runs(history, query)


def test_the_largest_search_is_answered(history: History) -> None:
    words = " ".join(f"Ä{number}" for number in range(20))
    titles = tuple((f"{number:064x}", f"{words} {number}") for number in range(200))
    assert (
        list_runs(history, Query(words, tags=tuple(map(str, range(100))), titles=titles)).total == 0
    )
    assert (
        list_runs(history, Query("run " * 50)).total == list_runs(history, Query("run")).total > 0
    )
    assert list_runs(history, Query("run\0")).total == list_runs(history, Query("run")).total


def test_whole_runs_and_what_filters_offer(history: History) -> None:
    keys = [ROWS[5].key, ROWS[2].key, "f" * 64, row(99).key]
    assert list(get_runs(history, keys)) == keys[:2]
    assert get_runs(history, keys)[keys[0]].curves == ROWS[5].curves
    offered = choices(history)
    assert offered.states == {"done": 24, "failed": 12, "interrupted": 12} and offered.total == 48
    assert (offered.learners, offered.sources) == (("SP", "both.non"), ("dyck", "upload", "verbs"))
    assert offered.tags == tuple(sorted({tag for tags in TAGS for tag in tags}))


def test_a_person_sees_their_own_list_under_their_names(tmp_path: Path) -> None:
    history = History.open(tmp_path)
    history.note(ROWS)
    me = OwnList(history, "me")
    you = OwnList(history, "you")
    me.add([ROWS[0].key, ROWS[3].key, "e" * 64])  # what has no row yet is not shown
    you.add([ROWS[3].key])
    me.rename(ROWS[3].key, "mine")
    me.tag(ROWS[3].key, ["my tag"])
    found = {run.key: (run.name, run.tags) for run in list_runs(history, Query(owner="me")).runs}
    assert found == {ROWS[0].key: ("", []), ROWS[3].key: ("mine", ["my tag"])}
    assert [run.name for run in list_runs(history, Query(owner="you")).runs] == [""]
    assert [
        run.name
        for run in list_runs(history, Query(owner="me", text="mine", tags=("my tag",))).runs
    ] == ["mine"]
    # the lab's name for it is not theirs
    assert list_runs(history, Query(owner="me", text="run")).total == 0
    assert choices(history, "me").tags == ("my tag",) and choices(history, "you").tags == ()
    assert list(get_runs(history, [run.key for run in ROWS], "you")) == [ROWS[3].key]
    assert next(run for run in all_runs(history) if run.key == ROWS[3].key).name == ROWS[3].name
    history.close()


class Elsewhere:
    """A history in PostgreSQL that writes down what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.reading = self.engine = self
        self.dialect = postgresql.dialect()  # type: ignore[no-untyped-call]

    @contextmanager
    def connect(self) -> Iterator[Elsewhere]:
        yield self

    def execute(self, statement: sa.Select[Any]) -> list[Any]:
        self.asked.append(str(statement.compile(dialect=postgresql.dialect())))  # type: ignore[no-untyped-call]
        return []

    def scalar(self, statement: sa.Select[Any]) -> int:
        return len(self.execute(statement))


@pytest.mark.parametrize("owner", [None, "me"])
def test_another_database_is_asked_in_its_own_words(owner: str | None) -> None:
    """No server of it here: that the questions can be put is all that is looked at."""
    elsewhere: Any = Elsewhere()
    list_runs(elsewhere, Query("100%", ("done",), ("SP",), ("dyck",), ("a",), "wer", owner=owner))
    assert get_runs(elsewhere, ["0" * 64], owner) == {}
    rows = elsewhere.asked[0]
    assert (
        "runs.scores ->> " in rows and "ILIKE" in rows and "LIMIT" in rows and "curves" not in rows
    )
    assert all(("owned.owner = " in asked) == (owner is not None) for asked in elsewhere.asked)
