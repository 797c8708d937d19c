"""Keep the sessions of a class: who joined, where they are, what they answered and handed in.

A session has a short code, with which students join, and a teacher's token. Anyone who has the
token can read everything in the session, reveal answers, and close or delete the session; the
database holds only a hash of the token. Members are pseudonyms (see `owners`) and may choose a
nickname. Each answer is committed at once, so a server that dies loses none that it has
acknowledged. Sessions are deleted `KEEP_DAYS` after they were opened.

Anybody can open sessions and join them, with as many made-up browsers as they like. So the limits
keep anybody from using up what others need: sessions that nobody has joined make room for new ones,
each member has a share of the answers and hand-ins, and a teacher can lock a session and remove
those who do not belong to it.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from time import time
from typing import Any

import sqlalchemy as sa

from ..errors import RecipeError, check_at_least
from ..limits import check_at_most, check_limit, most
from .database import reading
from .runs import clean

# without those that look like another one, and without vowels, which make words
LETTERS = "CDFHJKMNPQRTVWXY34679"
CODE_LENGTH = 5
CODE_ATTEMPTS = 100
KEEP_DAYS = 30
KEEP_SECONDS = KEEP_DAYS * 24 * 3600
MAX_NAME = 128  # characters of a task's name, and of a place
REMOVED = (
    "The teacher of the class session {code} has removed you from it. You can still use the lab."
)
# a session with this many members is a class, which no other session pushes out while it is used
CLASS_SIZE = 5
IN_USE_SECONDS = 3600.0
IDLE_SECONDS = 24 * 3600.0
JOIN_SECONDS = 60.0  # the time in which `joins_per_minute` people may join a session
BATCH = 500  # parameters of one statement

JSON = sa.JSON(none_as_null=True)


def _table(name: str, **columns: Any) -> sa.TableClause:
    return sa.table(name, *(sa.column(column, kind) for column, kind in columns.items()))


SESSIONS = _table(
    "class_sessions",
    code=sa.Text,
    teacher=sa.Text,
    opener=sa.Text,
    opened=sa.Float,
    closed=sa.Float,
    locked=sa.Float,
    opens=sa.Text,
    place=sa.Text,
    moved=sa.Float,
    revealed=JSON,
)
MEMBERS = _table(
    "class_members",
    session=sa.Text,
    member=sa.Text,
    nickname=sa.Text,
    joined=sa.Float,
    place=sa.Text,
    seen=sa.Float,
    removed=sa.Float,
)
ANSWERS = _table(
    "class_answers",
    session=sa.Text,
    member=sa.Text,
    task=sa.Text,
    seed=sa.BigInteger,
    attempt=sa.Integer,
    answer=sa.Text,
    credit=sa.Float,
    moment=sa.Float,
    seconds=sa.Float,
)
HAND_INS = _table(
    "class_hand_ins",
    session=sa.Text,
    member=sa.Text,
    number=sa.Integer,
    content=sa.Text,
    moment=sa.Float,
)


@dataclass(frozen=True)
class Member:
    """A person in a session; times are seconds since 1970."""

    member: str  # the pseudonym
    nickname: str  # may be empty
    joined: float  # joined, seen: `seen` is when the person went to `place`
    # the lesson and step, such as `rank/2`, or the page that the person has opened; may be empty
    place: str
    seen: float
    # when the teacher removed the person, whose answers are then no longer read
    removed: float | None = None


@dataclass(frozen=True)
class Answer:
    """One attempt by a member at a question."""

    member: str
    task: str  # the question's name, as in `teaching.questions.Response`
    seed: int
    attempt: int  # from 1
    answer: str  # as it was entered
    credit: float  # between 0 and 1, which is correct
    moment: float
    # since the question was first on the member's page; for an item of a quiz, since the quiz was
    seconds: float | None = None


@dataclass(frozen=True)
class HandIn:
    """A member's hand-in: a link or text."""

    member: str
    number: int
    content: str
    moment: float


@dataclass(frozen=True)
class ClassRecord:
    """Everything in a session, for its teacher."""

    code: str
    opened: float
    # closed, locked: when the teacher closed the session, and when joining was locked
    closed: float | None
    locked: float | None
    # the questions whose answers the teacher has revealed, as `question_name` writes them
    revealed: tuple[str, ...]
    # members, answers, hand_ins: in the order in which they came, without those of removed members
    members: tuple[Member, ...]
    answers: tuple[Answer, ...]
    hand_ins: tuple[HandIn, ...]
    removed: tuple[Member, ...] = ()  # those whom the teacher has removed
    # the step to which the teacher has moved the class, such as `rank/2`; "" before the first move
    place: str = ""


@dataclass(frozen=True)
class SessionSummary:
    """A session as an administrator sees it: no names, and nothing that anybody wrote."""

    code: str
    opened: float
    closed: float | None
    num_members: int
    num_answers: int
    num_hand_ins: int
    last_seen: float | None


def question_name(task: str, seed: int) -> str:
    """Name a question in one text: a task of the bank has a seed for its numbers, a lesson's
    question has none.

    >>> question_name("rank/1", 0), question_name("cell", 7)
    ('rank/1', 'cell#7')
    """
    return f"{task}#{seed}" if seed else task


def read_code(text: str) -> str:
    """Read a code as people type it. Raises RecipeError if it can't be one.

    >>> read_code(" cd-f3 4")
    'CDF34'
    """
    code = "".join(character for character in text.upper() if character not in " -\t")
    if len(code) != CODE_LENGTH or set(code) - set(LETTERS):
        raise RecipeError(
            f"a code consists of {CODE_LENGTH} letters and digits, such as CDF34, without "
            f"ABEGILOSUZ01258; got {text.strip()[:20]!r}"
        )
    return code


class Classes:
    """The sessions in a history's database. All methods may be called from any thread and process.

    `engine`: that of a `History`.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._reading = reading(engine)

    def open(self, token_of: Callable[[str], str], opener: str = "") -> str:
        """Open a session and return its code. Delete expired sessions.

        If there are too many sessions, one is deleted: preferably one that was not used within
        `IN_USE_SECONDS`; among those, the one with the fewest members; and among those, the one
        unused for longest. A session with `CLASS_SIZE` members stays, unless nobody has used it for
        `IDLE_SECONDS`. So someone who opens many empty sessions, or joins them alone, loses those
        first. The same holds for the sessions of one browser.

        `token_of`: code -> the teacher's token, of at least 32 characters, which nobody can guess.
        `opener`: the pseudonym of the browser that opens it.

        Raises RecipeError if there are too many sessions with `CLASS_SIZE` members, or the token is
        too short.
        """
        with self._engine.begin() as connection:
            _forget_old(connection)
            if opener:
                _forget_smallest(
                    connection, most("small_sessions") - 1, SESSIONS.c.opener == opener
                )
            allowed = most("class_sessions")
            classes = _count_sessions(connection, ~_may_go())
            check_at_most("the number of class sessions on this server", classes + 1, allowed)
            _forget_smallest(connection, allowed - classes - 1)
            codes = set(connection.scalars(sa.select(SESSIONS.c.code)))
            code = _fresh_code(codes)
            token = token_of(code)
            check_at_least("the length of a token", len(token), 32)
            values = {
                "code": code,
                "teacher": _digest(token),
                "opener": opener,
                "opened": time(),
                "revealed": [],
            }
            connection.execute(SESSIONS.insert().values(closed=None, locked=None, **values))
        return code

    def forget_old(self) -> None:
        """Delete the expired sessions."""
        with self._engine.begin() as connection:
            _forget_old(connection)

    def exists(self, code: str) -> bool:
        return self._session(code) is not None

    def is_open(self, code: str) -> bool:
        session = self._session(code)
        return session is not None and session["closed"] is None

    def opens(self, code: str) -> str | None:
        """Return the lesson that opens for those who join, "" for none; None if the teacher has not
        chosen.
        """
        session = self._session(code)
        return None if session is None else session["opens"]

    def choose_lesson(self, code: str, token: str, lesson: str) -> None:
        """Choose the lesson that opens for those who join, "" for none, even if the class has been
        moved elsewhere.

        Raises RecipeError if the code or the teacher's token is wrong.
        """
        check_at_most("the length of a lesson's name", len(lesson), MAX_NAME)
        self._change(code, token, opens=clean(lesson), place="")

    def move_class(self, code: str, token: str, place: str) -> None:
        """Move the class to a step, such as `rank/2`: the members' pages follow (see `last_move`).

        Raises RecipeError if the code or the teacher's token is wrong.
        """
        check_at_most("the length of a place", len(place), MAX_NAME)
        self._change(code, token, place=clean(place), moved=time())

    def last_move(self, code: str) -> tuple[str, float]:
        """Return the step to which the teacher has moved the class, and when, in seconds since
        1970; ("", 0.0) before the first move.
        """
        session = self._session(code)
        if session is None or session["moved"] is None:
            return "", 0.0
        return session["place"], session["moved"]

    def num_members(self, code: str) -> int:
        """Return how many people have joined a session, not counting those who were removed."""
        with self._reading.connect() as connection:
            return _count(connection, MEMBERS, code, MEMBERS.c.removed.is_(None))

    def is_teacher(self, code: str, token: str) -> bool:
        """Return whether this token is that of the session's teacher."""
        session = self._session(code)
        return session is not None and hmac.compare_digest(session["teacher"], _digest(token))

    def join(self, code: str, member: str, nickname: str = "") -> None:
        """Add a member, or change the nickname of one.

        Raises RecipeError if the session does not exist, or is closed, locked or full; if the
        teacher has removed this member; if too many people are joining at this moment; or if the
        nickname is too long.
        """
        name = " ".join(
            clean("".join(letter if letter.isprintable() else " " for letter in nickname)).split()
        )
        check_limit("the length of a nickname", len(name), "nickname")
        with self._engine.begin() as connection:
            session = _check_open(connection, code)
            here = MEMBERS.c.session == code, MEMBERS.c.member == member
            rows = _rows(connection, MEMBERS, MEMBERS.c.joined, *here)
            if rows and rows[0]["removed"] is not None:
                raise RecipeError(REMOVED.format(code=code))
            if rows:
                connection.execute(MEMBERS.update().where(*here).values(nickname=name))
                return
            if session["locked"] is not None:
                raise RecipeError(
                    f"Nobody else can join the class session {code} now: its teacher has locked it."
                )
            number = _count(connection, MEMBERS, code, MEMBERS.c.removed.is_(None)) + 1
            check_limit("the number of people in a class session", number, "class_members")
            since = time() - JOIN_SECONDS
            if _count(connection, MEMBERS, code, MEMBERS.c.joined > since) >= most(
                "joins_per_minute"
            ):
                raise RecipeError(
                    f"Too many people are joining the class session {code} at once. Try again in a "
                    "minute."
                )
            values = {
                "session": code,
                "member": member,
                "nickname": name,
                "joined": time(),
                "place": "",
                "seen": time(),
            }
            connection.execute(MEMBERS.insert().values(removed=None, **values))

    def member(self, code: str, member: str) -> Member | None:
        """Return a member of a session; None if the person has not joined it, or was removed."""
        here = MEMBERS.c.session == code, MEMBERS.c.member == member, MEMBERS.c.removed.is_(None)
        with self._reading.connect() as connection:
            rows = _rows(connection, MEMBERS, MEMBERS.c.joined, *here)
        return Member(**rows[0]) if rows else None

    def move(self, code: str, member: str, place: str) -> None:
        """Record where a member is now. Nothing is recorded after the session was closed."""
        check_at_most("the length of a place", len(place), MAX_NAME)
        with self._engine.begin() as connection:
            open_now = sa.exists().where(SESSIONS.c.code == code, SESSIONS.c.closed.is_(None))
            here = (
                MEMBERS.c.session == code,
                MEMBERS.c.member == member,
                MEMBERS.c.removed.is_(None),
                open_now,
            )
            connection.execute(
                MEMBERS.update().where(*here).values(place=clean(place), seen=time())
            )

    def record(self, code: str, answers: Iterable[Answer]) -> None:
        """Record answers, all or none. An answer that has already been recorded is left unchanged,
        so it may be sent again.

        Raises RecipeError if there is no such session, it is closed, the members have not joined
        it, or it has too many answers and the member has used up their share of them.
        """
        answers = list(answers)
        for answer in answers:
            check_at_most("the length of a question's name", len(answer.task), MAX_NAME)
            check_limit("the length of an answer", len(answer.answer), "answer_characters")
        with self._engine.begin() as connection:
            _check_open(connection, code)
            number = _count(connection, ANSWERS, code)
            for answer in answers:
                _check_member(connection, code, answer.member)
                values = {
                    **vars(answer),
                    "task": clean(answer.task),
                    "answer": clean(answer.answer),
                }
                same = [
                    ANSWERS.c[name] == values[name]
                    for name in ("member", "task", "seed", "attempt")
                ]
                if (
                    connection.scalar(
                        sa.select(ANSWERS.c.attempt).where(ANSWERS.c.session == code, *same)
                    )
                    is None
                ):
                    number += 1
                    own = partial(
                        _count, connection, ANSWERS, code, ANSWERS.c.member == answer.member
                    )
                    _check_share(
                        "the number of answers in a class session",
                        number,
                        most("class_answers"),
                        own,
                    )
                    connection.execute(ANSWERS.insert().values(session=code, **values))

    def answers_of(self, code: str, member: str) -> list[Answer]:
        """Return a member's own answers, in their order."""
        with self._reading.connect() as connection:
            here = ANSWERS.c.session == code, ANSWERS.c.member == member
            return [Answer(**row) for row in _rows(connection, ANSWERS, ANSWERS.c.moment, *here)]

    def hand_in(self, code: str, member: str, content: str) -> None:
        """Hand in a link or text.

        Raises RecipeError if it is empty or too long, if there are too many, or if the session does
        not exist or is closed.
        """
        text = clean(content).strip()
        if not text:
            raise RecipeError("paste a link or write some text first")
        check_limit("the number of characters to hand in", len(text), "hand_in_characters")
        with self._engine.begin() as connection:
            _check_open(connection, code)
            _check_member(connection, code, member)
            number = _count(connection, HAND_INS, code) + 1
            count_own = partial(_count, connection, HAND_INS, code, HAND_INS.c.member == member)
            _check_share(
                "the number of hand-ins in a class session", number, most("hand_ins"), count_own
            )
            here = HAND_INS.c.session == code, HAND_INS.c.member == member
            last = connection.scalar(sa.select(sa.func.max(HAND_INS.c.number)).where(*here)) or 0
            values = {
                "session": code,
                "member": member,
                "number": last + 1,
                "content": text,
                "moment": time(),
            }
            connection.execute(HAND_INS.insert().values(**values))

    def leave(self, code: str, member: str) -> None:
        """Delete a member, with all their answers and hand-ins, at the member's request, even after
        the session has been closed.
        """
        with self._engine.begin() as connection:
            for table in (ANSWERS, HAND_INS):
                connection.execute(
                    table.delete().where(table.c.session == code, table.c.member == member)
                )
            here = (
                MEMBERS.c.session == code,
                MEMBERS.c.member == member,
                MEMBERS.c.removed.is_(None),
            )
            connection.execute(MEMBERS.delete().where(*here))  # one who was removed stays removed

    def read(self, code: str, token: str) -> ClassRecord:
        """Read a whole session for its teacher.

        Raises RecipeError if the code or the teacher's token is wrong.
        """
        with self._reading.connect() as connection:
            session = _teachers_session(connection, code, token)
            members = _rows(connection, MEMBERS, MEMBERS.c.joined, MEMBERS.c.session == code)
            answers = _rows(connection, ANSWERS, ANSWERS.c.moment, ANSWERS.c.session == code)
            hand_ins = _rows(connection, HAND_INS, HAND_INS.c.moment, HAND_INS.c.session == code)
        people = [Member(**row) for row in members]
        removed = {entry.member: entry for entry in people if entry.removed is not None}
        return ClassRecord(
            code,
            session["opened"],
            session["closed"],
            session["locked"],
            tuple(session["revealed"]),
            tuple(entry for entry in people if entry.member not in removed),
            tuple(Answer(**row) for row in answers if row["member"] not in removed),
            tuple(HandIn(**row) for row in hand_ins if row["member"] not in removed),
            tuple(removed.values()),
            session["place"],
        )

    def reveal(self, code: str, token: str, question: str, revealed: bool = True) -> None:
        """Reveal the answers to a question on the board, or hide them again.

        Raises RecipeError if the code or the teacher's token is wrong.
        """
        check_at_most("the length of a question's name", len(question), 2 * MAX_NAME)
        with self._engine.begin() as connection:
            before = _teachers_session(connection, code, token)["revealed"]
            names = [name for name in before if name != question] + ([question] if revealed else [])
            connection.execute(
                SESSIONS.update().where(SESSIONS.c.code == code).values(revealed=names)
            )

    def close(self, code: str, token: str, closed: bool = True) -> None:
        """Close a session, after which nothing more is recorded, or open it again.

        Raises RecipeError if the code or the teacher's token is wrong.
        """
        self._change(code, token, closed=time() if closed else None)

    def lock(self, code: str, token: str, locked: bool = True) -> None:
        """Let nobody else join, or let people join again.

        Members continue as before. Raises RecipeError if the code or the teacher's token is wrong.
        """
        self._change(code, token, locked=time() if locked else None)

    def remove(self, code: str, token: str, members: Iterable[str]) -> None:
        """Remove members: nothing of theirs is read or recorded, and they can't join again.

        What they answered and handed in is kept, so `readmit` undoes this. Raises RecipeError if
        the code or the teacher's token is wrong.
        """
        self._set_removed(code, token, members, time())

    def readmit(self, code: str, token: str, members: Iterable[str]) -> None:
        """Undo `remove`. Raises RecipeError if the code or the teacher's token is wrong."""
        self._set_removed(code, token, members, None)

    def _set_removed(
        self, code: str, token: str, members: Iterable[str], moment: float | None
    ) -> None:
        with self._engine.begin() as connection:
            _teachers_session(connection, code, token)
            for batch in _batched(members):
                here = MEMBERS.c.session == code, MEMBERS.c.member.in_(batch)
                connection.execute(MEMBERS.update().where(*here).values(removed=moment))
            _forget_removed(connection, code)

    def summaries(self, opener: str = "") -> list[SessionSummary]:
        """List the sessions that somebody has opened, or all for an administrator, the newest
        first.
        """

        def counted(table: sa.TableClause) -> sa.ScalarSelect[Any]:
            return (
                sa.select(sa.func.count())
                .select_from(table)
                .where(table.c.session == SESSIONS.c.code)
                .scalar_subquery()
            )

        last_seen = (
            sa.select(sa.func.max(MEMBERS.c.seen))
            .where(MEMBERS.c.session == SESSIONS.c.code)
            .scalar_subquery()
        )
        columns = (
            SESSIONS.c.code,
            SESSIONS.c.opened,
            SESSIONS.c.closed,
            *map(counted, (MEMBERS, ANSWERS, HAND_INS)),
            last_seen,
        )
        with self._reading.connect() as connection:
            here = [SESSIONS.c.opener == opener] if opener else []
            rows = connection.execute(
                sa.select(*columns).where(*here).order_by(SESSIONS.c.opened.desc(), SESSIONS.c.code)
            )
            return [SessionSummary(*row) for row in rows]

    def delete_by_administrator(self, codes: Iterable[str]) -> None:
        """Delete sessions with everything in them.

        The caller must have access to the lab's folder or database.
        """
        with self._engine.begin() as connection:
            _forget(connection, list(codes))

    def delete(self, code: str, token: str) -> None:
        """Delete a session with everything in it, permanently.

        Raises RecipeError if the code or the teacher's token is wrong.
        """
        with self._engine.begin() as connection:
            _teachers_session(connection, code, token)
            _forget(connection, [code])

    def _change(self, code: str, token: str, **values: Any) -> None:
        """Set columns of a session.

        Raises RecipeError if the code or the teacher's token is wrong.
        """
        with self._engine.begin() as connection:
            _teachers_session(connection, code, token)
            connection.execute(SESSIONS.update().where(SESSIONS.c.code == code).values(values))

    def _session(self, code: str) -> dict[str, Any] | None:
        with self._reading.connect() as connection:
            return _find(connection, code)


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def _fresh_code(codes: set[str]) -> str:
    for _ in range(CODE_ATTEMPTS):
        code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))
        if code not in codes:
            return code
    raise RecipeError("No unused code was found for a new session; delete sessions that are over.")


def _find(connection: sa.Connection, code: str) -> dict[str, Any] | None:
    """Return a session's row; None if there is none, or if its time is over."""
    here = SESSIONS.c.code == code, SESSIONS.c.opened >= time() - KEEP_SECONDS
    row = connection.execute(sa.select(SESSIONS).where(*here)).mappings().one_or_none()
    return dict(row) if row else None


def _check_open(connection: sa.Connection, code: str) -> dict[str, Any]:
    session = _find(connection, code)
    if session is None:
        raise RecipeError(
            f"There is no class session {code[:20]}. Check the code; the teacher may have "
            "deleted the session."
        )
    if session["closed"] is not None:
        raise RecipeError(
            f"The class session {code} is closed: nothing more is recorded. Your own pages still "
            "work."
        )
    return session


def _check_member(connection: sa.Connection, code: str, member: str) -> None:
    here = MEMBERS.c.session == code, MEMBERS.c.member == member
    row = connection.execute(sa.select(MEMBERS.c.removed).where(*here)).one_or_none()
    if row is None:
        raise RecipeError(f"Join the class session {code} first, on the page Class.")
    if row.removed is not None:
        raise RecipeError(REMOVED.format(code=code))


def _teachers_session(connection: sa.Connection, code: str, token: str) -> dict[str, Any]:
    session = _find(connection, code)
    if session is None or not hmac.compare_digest(session["teacher"], _digest(token)):
        raise RecipeError(
            f"Class session {code[:20]} does not exist, or this is not its teacher's link. "
            "Open the teacher's link."
        )
    return session


def _count(
    connection: sa.Connection, table: sa.TableClause, code: str, *conditions: sa.ColumnElement[bool]
) -> int:
    query = (
        sa.select(sa.func.count()).select_from(table).where(table.c.session == code, *conditions)
    )
    return connection.scalar(query) or 0


def _count_sessions(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(SESSIONS).where(condition)) or 0


def _num_members() -> sa.ScalarSelect[int]:
    here = MEMBERS.c.session == SESSIONS.c.code, MEMBERS.c.removed.is_(None)
    return sa.select(sa.func.count()).select_from(MEMBERS).where(*here).scalar_subquery()


def _check_share(what: str, number: int, maximum: int, count_own: Callable[[], int]) -> None:
    """Raise RecipeError if a session is full and the member has used up their share of it."""
    if number > maximum and count_own() >= maximum // most("class_members"):
        check_at_most(what, number, maximum)


def _last_use() -> sa.ColumnElement[float]:
    here = MEMBERS.c.session == SESSIONS.c.code, MEMBERS.c.removed.is_(None)
    last_seen = sa.select(sa.func.max(MEMBERS.c.seen)).where(*here).scalar_subquery()
    return sa.func.coalesce(last_seen, SESSIONS.c.opened)


def _may_go() -> sa.ColumnElement[bool]:
    """The condition under which a session may be deleted to make room for another."""
    return sa.or_(_num_members() < CLASS_SIZE, _last_use() < time() - IDLE_SECONDS)


def _forget_smallest(
    connection: sa.Connection, most_left: int, *conditions: sa.ColumnElement[bool]
) -> None:
    """Delete sessions that may go, in the order of `Classes.open`, until at most this many of them
    are left.
    """
    in_use = sa.case((_last_use() > time() - IN_USE_SECONDS, 1), else_=0)
    order = in_use.desc(), _num_members().desc(), _last_use().desc(), SESSIONS.c.opened.desc()
    small = sa.select(SESSIONS.c.code).where(_may_go(), *conditions).order_by(*order)
    _forget(connection, list(connection.scalars(small))[max(0, most_left) :])


def _forget_removed(connection: sa.Connection, code: str) -> None:
    """Delete members who were removed, the earliest first, if there are more of them than a session
    may have members.
    """
    removed = sa.select(MEMBERS.c.member).where(
        MEMBERS.c.session == code, MEMBERS.c.removed.is_not(None)
    )
    members = list(connection.scalars(removed.order_by(MEMBERS.c.removed.desc())))[
        most("class_members") :
    ]
    for batch in _batched(members):
        for table in (ANSWERS, HAND_INS, MEMBERS):
            connection.execute(
                table.delete().where(table.c.session == code, table.c.member.in_(batch))
            )


def _batched(entries: Iterable[str]) -> Iterator[list[str]]:
    """Cut a list into pieces that a database accepts as parameters."""
    rest = list(entries)
    for start in range(0, len(rest), BATCH):
        yield rest[start : start + BATCH]


def _forget_old(connection: sa.Connection) -> None:
    old = sa.select(SESSIONS.c.code).where(SESSIONS.c.opened < time() - KEEP_SECONDS)
    _forget(connection, list(connection.scalars(old)))


def _forget(connection: sa.Connection, codes: Sequence[str]) -> None:
    for batch in _batched(codes):
        for table in (ANSWERS, HAND_INS, MEMBERS):
            connection.execute(table.delete().where(table.c.session.in_(batch)))
        connection.execute(SESSIONS.delete().where(SESSIONS.c.code.in_(batch)))


def _rows(
    connection: sa.Connection,
    table: sa.TableClause,
    order: sa.ColumnElement[Any],
    *conditions: sa.ColumnElement[bool],
) -> list[dict[str, Any]]:
    """Read rows without the column with the session's code."""
    columns = [column for column in table.c if column.name != "session"]
    return [
        dict(row)
        for row in connection.execute(
            sa.select(*columns).where(*conditions).order_by(order)
        ).mappings()
    ]
