"""Look up runs in the history, filtered and sorted, a page at a time.

The database selects and sorts, so a page costs the same among 10,000 runs as among 100.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from ..errors import RecipeError, check_one_of
from ..experiment.recipe import UPLOADS, run_title
from ..learning.learners import HANKEL_LEARNERS
from ..limits import check_at_most
from ..metrics.score_table import SCORE_OF, Scores
from .runs import OWNED, REASONS, RUNS, STATE_WORDS, STATES, History, Run, clean, run_of_row

FIELDS = tuple(entry.name for entry in fields(Scores))
NEWEST = "newest"
# Columns that make up most of a row, but are not shown in a table of runs.
HEAVY = ("curves", "diagnostics", "sentences")
UNUSUAL = ("inf", "-inf", "nan")  # how numbers that are not finite are written
# The options of a Hankel matrix and its refinement that are words, by their place in a recipe.
OPTION_WORDS = (("hankel", "statistic"), ("hankel", "transform"), ("learning", "refine"))
TITLE_MIDDLE = run_title("", 0).removesuffix("0")  # between the learner and the rank
# Limits on a query: each word and each tag is a part of the database's expression, and each file
# several values in it.
MAX_SEARCH = 200
MAX_WORDS = 20
MAX_TAGS = 100
MAX_FILES = 200
RANK = re.compile(r"\bk\s*=\s*(\d{1,9})\b", re.IGNORECASE)  # as in a run's title


@dataclass(frozen=True)
class Query:
    """A query for runs: filters and an order."""

    # Each of its words must occur in a string of the run's row, whatever its case: the name, the
    # title (such as "SP, k = 10"), the status, the source, a file's title, the statistic, transform
    # or refinement, a tag, the version, why the run failed; or at the beginning of the key. "k =
    # 10" is one word, and means this rank alone. At most MAX_SEARCH characters and MAX_WORDS words.
    text: str = ""
    # states, learners, sources, tags: runs with any of these; empty for all
    states: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    # `NEWEST`, or one of `FIELDS`, with the best first. Runs without that score come last, even if
    # `last` is true.
    order: str = NEWEST
    last: bool = False  # reverse the order: the oldest or the worst first
    # a pseudonym: only runs on this person's list, with their names and tags
    owner: str | None = None
    # SHA-256 and title of each uploaded file that `text` may name
    titles: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Listing:
    """A page of runs, without their `HEAVY` fields, and how many there are on all pages."""

    runs: tuple[Run, ...]
    total: int


@dataclass(frozen=True)
class Choices:
    """The filters for a list of runs: state -> number of runs; the learners, sources and tags that
    occur, in order.
    """

    states: dict[str, int]
    learners: tuple[str, ...]
    sources: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def total(self) -> int:
        return sum(self.states.values())


def list_runs(history: History, query: Query, offset: int = 0, limit: int = 50) -> Listing:
    """Find a page of a query's runs.

    Raises RecipeError if the query's order is unknown, or its search text is too long.
    """
    conditions = [*_on_list(query.owner), *_conditions(history, query)]
    light = [column for column in _columns(query.owner) if column.name not in HEAVY]
    rows = (
        _from(sa.select(*light), query.owner)
        .where(*conditions)
        .order_by(*_order(history, query))
        .offset(offset)
        .limit(limit)
    )
    count = _from(sa.select(sa.func.count()), query.owner).where(*conditions)
    with history.reading.connect() as connection:
        return Listing(
            tuple(run_of_row(row._mapping) for row in connection.execute(rows)),
            connection.scalar(count) or 0,
        )


def get_runs(history: History, keys: Collection[str], owner: str | None = None) -> dict[str, Run]:
    """Return whole runs by their keys, in the order of the keys; for an owner, only those on the
    owner's list, with the owner's names.
    """
    rows = _from(sa.select(*_columns(owner)), owner).where(*_on_list(owner), RUNS.c.key.in_(keys))
    with history.reading.connect() as connection:
        runs = {row.key: run_of_row(row._mapping) for row in connection.execute(rows)}
    return {key: runs[key] for key in keys if key in runs}


def choices(history: History, owner: str | None = None) -> Choices:
    """Return the filters for a list of runs."""
    tags = sa.cast(_labels(owner)["tags"], sa.Text)
    kinds = _from(sa.select(RUNS.c.state, RUNS.c.learner, RUNS.c.source, sa.func.count()), owner)
    lists = _from(sa.select(tags), owner).where(*_on_list(owner), tags != "[]").distinct()
    with history.reading.connect() as connection:
        rows = connection.execute(
            kinds.where(*_on_list(owner)).group_by(RUNS.c.state, RUNS.c.learner, RUNS.c.source)
        ).all()
        used_tags = {tag for text in connection.scalars(lists) for tag in _tags(text)}
    states: dict[str, int] = {}
    for state, _, _, count in rows:
        states[state] = states.get(state, 0) + count
    learners, sources = ({row[column] for row in rows} for column in (1, 2))
    return Choices(states, *(tuple(sorted(names)) for names in (learners, sources, used_tags)))


def _from(select: sa.Select[Any], owner: str | None) -> sa.Select[Any]:
    return select.select_from(
        RUNS if owner is None else sa.join(OWNED, RUNS, OWNED.c.run == RUNS.c.key)
    )


def _on_list(owner: str | None) -> list[sa.ColumnElement[bool]]:
    shared: list[sa.ColumnElement[bool]] = [RUNS.c.deleted.is_(None)]
    return shared if owner is None else [*shared, OWNED.c.owner == owner, OWNED.c.removed.is_(None)]


def _labels(owner: str | None) -> dict[str, sa.ColumnElement[Any]]:
    """Return the columns of a person's own list that replace the lab's."""
    if owner is None:
        return {name: RUNS.c[name] for name in ("name", "tags", "submitted")}
    return {"name": OWNED.c.name, "tags": OWNED.c.tags, "submitted": OWNED.c.since}


def _columns(owner: str | None) -> list[sa.Label[Any]]:
    labels = _labels(owner)
    return [labels.get(column.name, column).label(column.name) for column in RUNS.c]


def _conditions(history: History, query: Query) -> list[sa.ColumnElement[bool]]:
    tags = sa.cast(_labels(query.owner)["tags"], sa.Text)
    conditions: list[sa.ColumnElement[bool]] = []
    for column, values in (
        (RUNS.c.state, query.states),
        (RUNS.c.learner, query.learners),
        (RUNS.c.source, query.sources),
    ):
        if values:
            conditions.append(column.in_(values))
    if query.tags:
        conditions.append(sa.or_(*(_tagged(tags, tag) for tag in query.tags)))
    check_at_most("the number of tags to filter by", len(query.tags), MAX_TAGS)
    check_at_most("a search", len(query.text), MAX_SEARCH, unit="characters")
    text = clean(query.text)
    matches = list(RANK.finditer(text))
    words = list(dict.fromkeys(RANK.sub(" ", text).split()))
    check_at_most("the number of words in a search", len(matches) + len(words), MAX_WORDS)
    ranks = [sa.or_(RUNS.c.rank == int(rank[1]), *_in_labels(query, rank[0])) for rank in matches]
    return [
        *conditions,
        *ranks,
        *(sa.or_(*_in_labels(query, word), *_in_row(history, query, word)) for word in words),
    ]


def _in_labels(query: Query, text: str) -> list[sa.ColumnElement[bool]]:
    """Make the conditions under which a run's name, tags or error message contains a string."""
    labels = _labels(query.owner)
    tags = sa.cast(labels["tags"], sa.Text)
    texts = [(column, form) for column in (labels["name"], RUNS.c.message) for form in _cases(text)]
    texts += [(tags, json.dumps(form)[1:-1]) for form in _cases(text)]
    return [column.icontains(form, autoescape=True) for column, form in texts]


def _in_row(history: History, query: Query, word: str) -> list[sa.ColumnElement[bool]]:
    """Make the conditions under which the table's row of a run or its recipe contains a word of the
    search.
    """
    title = RUNS.c.learner + TITLE_MIDDLE + sa.cast(RUNS.c.rank, sa.Text)
    hits = [
        text.icontains(word, autoescape=True) for text in (title, RUNS.c.source, RUNS.c.version)
    ]
    hits.append(RUNS.c.key.startswith(word.lower(), autoescape=True))
    states = [state for state in STATES if _is_in(word, STATE_WORDS.get(state, state))]
    unexplained = [state for state, reason in REASONS.items() if _is_in(word, reason)]
    hits += [
        RUNS.c.state.in_(states),
        sa.and_(RUNS.c.state.in_(unexplained), RUNS.c.message.is_(None)),
    ]
    words = sa.or_(
        *(_option(history, path).icontains(word, autoescape=True) for path in OPTION_WORDS)
    )
    hits.append(sa.and_(RUNS.c.learner.in_(HANKEL_LEARNERS), words))
    files = [content for content, title in query.titles if _is_in(word, title)]
    if len(files) > MAX_FILES:
        raise RecipeError(
            f"{word!r} is in the names of {len(files):,} uploaded files, and a search can "
            f"include at most {MAX_FILES}: type more of the name"
        )
    if files:
        uploaded = sa.or_(*(_option(history, ("data", name)).in_(files) for name in UPLOADS))
        hits.append(sa.and_(RUNS.c.source == "upload", uploaded))
    return hits


def _option(history: History, path: tuple[str, str]) -> sa.ColumnElement[str]:
    """Return an option of a run's recipe."""
    text: sa.ColumnElement[str] = RUNS.c.recipe[path].as_string()
    return (
        sa.case((sa.func.json_valid(RUNS.c.recipe), text))
        if history.engine.dialect.name == "sqlite"
        else text
    )


def _cases(text: str) -> list[str]:
    """Return a string and, if it is not ASCII, its lower, upper and capitalised forms, because
    SQLite ignores the case of ASCII only.

    >>> _cases("Für"), _cases("SP")
    (['Für', 'für', 'FÜR'], ['SP'])
    """
    return (
        [text]
        if text.isascii()
        else list(dict.fromkeys((text, text.lower(), text.upper(), text.capitalize())))
    )


def _is_in(word: str, text: str) -> bool:
    return word.lower() in text.lower()


def _tags(text: str) -> list[str]:
    """Return the strings of a JSON list; none if it is damaged."""
    try:
        tags = json.loads(text)
    except ValueError:
        return []
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []


def _tagged(tags: sa.ColumnElement[str], tag: str) -> sa.ColumnElement[bool]:
    """Return whether a JSON list contains a string.

    All databases have `replace`, and it is case-sensitive in all of them.
    """
    quoted_tag = json.dumps(tag)
    return sa.or_(
        *(sa.func.replace(tags, f"{before}{quoted_tag}", "") != tags for before in ("[", ", "))
    )


def _order(history: History, query: Query) -> list[sa.ColumnElement[Any]]:
    """Return the columns to sort by: a total order, so no run is on two pages."""
    moment = _labels(query.owner)["submitted"]
    newest = [moment.desc(), RUNS.c.key]
    if query.order == NEWEST:
        return [moment.asc(), RUNS.c.key] if query.last else newest
    check_one_of("order", query.order, (NEWEST, *FIELDS))
    text: sa.ColumnElement[Any] = RUNS.c.scores[query.order].as_string()
    # SQLite stores JSON as text, and fails where that is damaged
    if history.engine.dialect.name == "sqlite":
        text = sa.case((sa.func.json_valid(RUNS.c.scores), text))
    rank = sa.case(
        (text.is_(None), 3),
        (text == "nan", 2),
        (text.in_(UNUSUAL), 0 if query.last else 1),
        else_=1 if query.last else 0,
    )
    value = sa.case((text.not_in(UNUSUAL), sa.cast(text, sa.Float)))
    rising = query.last == (query.order in SCORE_OF and SCORE_OF[query.order].higher_is_better)
    return [rank, value.asc() if rising else value.desc(), *newest]
