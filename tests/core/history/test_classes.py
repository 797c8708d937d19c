"""Sessions of a class: codes, tokens, answers that survive a killed server, limits, and their
end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import time

import pytest
import sqlalchemy as sa

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.history import classes
from nlwfa_core.history.classes import (
    CODE_LENGTH,
    LETTERS,
    Answer,
    Classes,
    read_code,
)
from nlwfa_core.history.owners import pseudonym
from nlwfa_core.history.runs import History

ROOT = Path(__file__).resolve().parents[3]
TOKEN = "t" * 64
ADA = "a" * 64
BOB = "b" * 64


@pytest.fixture
def room(tmp_path: Path) -> Classes:
    return Classes(History.open(tmp_path).engine)


def token_of(code: str) -> str:
    return TOKEN


def answer(
    member: str = ADA, task: str = "rank/1", attempt: int = 1, text: str = "3", credit: float = 1.0
) -> Answer:
    return Answer(member, task, 0, attempt, text, credit, 1.5)


def test_codes_can_be_read_aloud(room: Classes) -> None:
    codes = {room.open(token_of) for _ in range(40)}
    assert len(codes) == 40 and not set("0O1IL5S8B2ZUGAE") & set(LETTERS)
    for code in codes:
        assert len(code) == CODE_LENGTH and read_code(f" {code[:2].lower()}-{code[2:]} ") == code
    for wrong in ("", "CDF3", "CDF340", "CDF30", "<b>x</b>"):
        with pytest.raises(RecipeError, match="a code consists of 5 letters and digits"):
            read_code(wrong)


def test_the_teacher_chooses_the_lesson_to_which_joining_leads(room: Classes) -> None:
    code = room.open(token_of)
    assert room.opens(code) is None and room.opens("CDF34") is None
    for lesson in ("rank", "", "dyck"):
        room.choose_lesson(code, TOKEN, lesson)
        assert room.opens(code) == lesson


def test_the_teacher_moves_the_class(room: Classes) -> None:
    code = room.open(token_of)
    assert room.last_move(code) == room.last_move("CDF34") == ("", 0.0)
    before = time()
    room.move_class(code, TOKEN, "rank/2")
    place, moment = room.last_move(code)
    assert place == room.read(code, TOKEN).place == "rank/2" and before <= moment <= time()
    room.move_class(code, TOKEN, "rank/2")
    assert room.last_move(code) > (place, moment)  # whoever has gone elsewhere comes back
    room.choose_lesson(code, TOKEN, "dyck")
    assert room.last_move(code)[0] == ""


def test_members_are_counted_without_those_who_were_removed(room: Classes) -> None:
    code = room.open(token_of)
    for member in ("first", "second", "third"):
        room.join(code, member)
    room.remove(code, TOKEN, ["second"])
    assert room.num_members(code) == 2
    assert room.num_members("CDF34") == 0


def test_only_the_holder_of_the_token_teaches(room: Classes, tmp_path: Path) -> None:
    code = room.open(lambda code: pseudonym(tmp_path, f"teacher\0{code}\0browser"))
    token = pseudonym(tmp_path, f"teacher\0{code}\0browser")
    assert (
        room.is_teacher(code, token)
        and not room.is_teacher(code, TOKEN)
        and not room.is_teacher("CDF34", token)
    )
    assert room.read(code, token).revealed == ()
    for wrong in (TOKEN, "", token[:-1]):
        for act in (
            lambda token: room.read(code, token),
            lambda token: room.reveal(code, token, "rank/1"),
            lambda token: room.close(code, token),
            lambda token: room.choose_lesson(code, token, "rank"),
            lambda token: room.move_class(code, token, "rank/2"),
            lambda token: room.delete(code, token),
        ):
            with pytest.raises(
                RecipeError, match=f"Class session {code} does not exist, or this is not"
            ):
                act(wrong)
    room.reveal(code, token, "rank/1")
    room.reveal(code, token, "rank/2")
    room.reveal(code, token, "rank/1", revealed=False)
    assert room.read(code, token).revealed == ("rank/2",)
    assert token not in (tmp_path / "history.sqlite").read_bytes().decode("latin-1")  # a hash of it
    with pytest.raises(RecipeError, match="the length of a token must be at least 32; got 5"):
        room.open(lambda code: "short")


def test_answers_are_recorded_once_and_in_full(room: Classes) -> None:
    code = room.open(token_of)
    with pytest.raises(RecipeError, match="Join the class session"):
        room.record(code, [answer()])
    room.join(code, ADA, " <b>Ada</b>\n\0Lovelace ")
    room.join(code, BOB)
    first = answer(text="1/3", credit=0.1 + 0.2)
    second = answer(attempt=2)
    room.record(code, [first])
    room.record(code, [first, second])  # the first was sent again
    room.record(code, [answer(BOB, "cell", 1, "λ | ab")])
    room.move(code, ADA, "rank/2")
    record = room.read(code, TOKEN)
    assert [(entry.nickname, entry.place) for entry in record.members] == [
        ("<b>Ada</b> Lovelace", "rank/2"),
        ("", ""),
    ]
    assert record.answers == (first, second, answer(BOB, "cell", 1, "λ | ab"))
    assert record.answers[0].credit == 0.1 + 0.2
    assert room.answers_of(code, BOB) == [answer(BOB, "cell", 1, "λ | ab")]
    room.join(code, ADA, "Grace")
    assert [entry.nickname for entry in room.read(code, TOKEN).members] == ["Grace", ""]


def test_hand_ins_and_leaving(room: Classes) -> None:
    code = room.open(token_of)
    room.join(code, ADA)
    with pytest.raises(RecipeError, match="Join the class session"):
        room.hand_in(code, BOB, "x")
    room.hand_in(code, ADA, "  http://lab/?rank=3 ")
    room.hand_in(code, ADA, "=1+1")
    assert [(entry.number, entry.content) for entry in room.read(code, TOKEN).hand_ins] == [
        (1, "http://lab/?rank=3"),
        (2, "=1+1"),
    ]
    with pytest.raises(RecipeError, match="paste a link or write some text first"):
        room.hand_in(code, ADA, "  ")
    room.record(code, [answer()])
    room.leave(code, ADA)
    record = room.read(code, TOKEN)
    assert (
        not record.members
        and not record.answers
        and not record.hand_ins
        and room.member(code, ADA) is None
    )


def test_closed_deleted_and_forgotten(room: Classes, monkeypatch: pytest.MonkeyPatch) -> None:
    code = room.open(token_of)
    other = room.open(token_of)
    for each in (code, other):
        room.join(each, ADA)
        room.record(each, [answer()])
    room.close(code, TOKEN)
    assert room.exists(code) and not room.is_open(code)
    for act in (
        lambda: room.join(code, BOB),
        lambda: room.record(code, [answer(attempt=2)]),
        lambda: room.hand_in(code, ADA, "x"),
    ):
        with pytest.raises(
            RecipeError, match=f"The class session {code} is closed: nothing more is recorded"
        ):
            act()
    room.move(code, ADA, "rank/5")
    assert (
        room.read(code, TOKEN).members[0].place == "" and len(room.read(code, TOKEN).answers) == 1
    )
    room.close(code, TOKEN, closed=False)
    room.record(code, [answer(attempt=2)])
    room.delete(code, TOKEN)
    assert (
        not room.exists(code)
        and room.answers_of(code, ADA) == []
        and len(room.answers_of(other, ADA)) == 1
    )
    with pytest.raises(RecipeError, match=f"There is no class session {code}"):
        room.join(code, ADA)
    opened = time()
    day = 24 * 3600
    monkeypatch.setattr(classes, "time", lambda: opened + 29.9 * day)
    assert room.exists(other)
    monkeypatch.setattr(classes, "time", lambda: opened + 30 * day + 1)
    assert not room.exists(other) and not room.is_teacher(other, TOKEN)
    room.forget_old()
    monkeypatch.undo()
    assert not room.exists(other) and room.answers_of(other, ADA) == []


def test_limits_are_named(room: Classes, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {
        "class_members": 1,
        "class_answers": 1,
        "hand_ins": 1,
        "hand_in_characters": 5,
        "nickname": 3,
    }
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | small | {"answer_characters": 4})
    code = room.open(token_of)
    room.join(code, ADA, "Ada")
    room.record(code, [answer()])
    room.hand_in(code, ADA, "12345")
    for act, message in (
        (
            lambda: room.join(code, BOB),
            "the number of people in a class session must be at most 1; got 2",
        ),
        (lambda: room.join(code, ADA, "Adam"), "the length of a nickname must be at most 3; got 4"),
        (
            lambda: room.record(code, [answer(attempt=2)]),
            "the number of answers in a class session must be at most 1; got 2",
        ),
        (
            lambda: room.record(code, [answer(text="12345")]),
            "the length of an answer must be at most 4; got 5",
        ),
        (
            lambda: room.record(code, [answer(task="x" * 200)]),
            "the length of a question's name must be at most 128; got 200",
        ),
        (
            lambda: room.hand_in(code, ADA, "1"),
            "the number of hand-ins in a class session must be at most 1; got 2",
        ),
        (
            lambda: room.hand_in(code, ADA, "123456"),
            "the number of characters to hand in must be at most 5; got 6",
        ),
    ):
        with pytest.raises(RecipeError, match=message):
            act()
    room.record(code, [answer()])  # is there already
    assert len(room.read(code, TOKEN).answers) == 1


def test_sessions_that_nobody_joined_make_room(
    room: Classes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        limits, "IN_FORCE", limits.IN_FORCE | {"class_sessions": 4, "small_sessions": 2}
    )
    lesson = room.open(token_of, "teacher")
    room.join(lesson, ADA)
    flood = [room.open(token_of, f"fresh browser {number}") for number in range(20)]
    assert [code for code in flood if room.exists(code)] == flood[-3:] and room.exists(lesson)
    mine = [room.open(token_of, "one browser") for _ in range(5)]
    # one browser pushes out its own
    assert [code for code in mine if room.exists(code)] == mine[-2:]
    assert room.exists(flood[-1])


def test_sessions_with_few_members_make_room_for_others(
    room: Classes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens sessions and joins them alone does not close the page for others, nor end a
    class.
    """
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"class_sessions": 4})
    lesson = room.open(token_of, "teacher")
    for number in range(classes.CLASS_SIZE):
        room.join(lesson, f"{number}" * 64)
    flood = []
    for number in range(20):
        flood.append(room.open(token_of, f"fresh browser {number}"))
        room.join(flood[-1], ADA)
    assert [code for code in flood if room.exists(code)] == flood[-3:] and room.exists(lesson)
    pair = room.open(token_of, "another teacher")
    room.join(pair, ADA)
    room.join(pair, BOB)
    flood = []
    for number in range(20):
        flood.append(room.open(token_of, f"fresh browser {number}"))
        room.join(flood[-1], ADA)
    assert room.exists(pair) and room.exists(lesson)
    for code in (*flood[-2:], pair):
        for number in range(classes.CLASS_SIZE):
            room.join(code, f"{number}" * 64)
    with pytest.raises(
        RecipeError, match="the number of class sessions on this server must be at most 4; got 5"
    ):
        room.open(token_of, "another browser")


def test_a_teacher_gets_rid_of_intruders(room: Classes) -> None:
    code = room.open(token_of)
    room.join(code, ADA, "Ada")
    room.join(code, BOB, "intruder")
    for member in (ADA, BOB):
        room.record(code, [answer(member)])
        room.hand_in(code, member, "x")
    for wrong in ("", "x" * 64):
        with pytest.raises(RecipeError, match="this is not its teacher's link"):
            room.remove(code, wrong, [ADA])
        with pytest.raises(RecipeError, match="this is not its teacher's link"):
            room.lock(code, wrong)
    room.remove(code, TOKEN, [BOB])
    record = room.read(code, TOKEN)
    assert [entry.member for entry in record.members] == [ADA] and [
        entry.member for entry in record.removed
    ] == [BOB]
    assert {entry.member for entry in (*record.answers, *record.hand_ins)} == {ADA} and room.member(
        code, BOB
    ) is None
    room.leave(code, BOB)  # does not help
    for act in (
        lambda: room.join(code, BOB, "somebody else"),
        lambda: room.record(code, [answer(BOB, attempt=2)]),
        lambda: room.hand_in(code, BOB, "y"),
    ):
        with pytest.raises(
            RecipeError, match=f"The teacher of the class session {code} has removed you from it"
        ):
            act()
    room.lock(code, TOKEN)
    with pytest.raises(RecipeError, match="its teacher has locked it"):
        room.join(code, "c" * 64)
    room.join(code, ADA, "Ada L.")
    room.record(code, [answer(attempt=2)])
    room.lock(code, TOKEN, locked=False)
    room.join(code, "c" * 64)
    room.readmit(code, TOKEN, [BOB])
    assert len(room.read(code, TOKEN).members) == 3 and not room.read(code, TOKEN).removed


def test_removed_members_take_no_place(room: Classes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"class_members": 3})
    code = room.open(token_of)
    room.join(code, ADA)
    for wave in range(4):
        flood = [f"{wave}{number}" * 32 for number in range(2)]
        for member in flood:
            room.join(code, member)
        with pytest.raises(
            RecipeError, match="the number of people in a class session must be at most 3; got 4"
        ):
            room.join(code, BOB)
        room.remove(code, TOKEN, flood)
    record = room.read(code, TOKEN)
    # of the last waves
    assert [entry.member for entry in record.members] == [ADA] and len(record.removed) == 3


def test_who_is_removed_elsewhere_makes_nobody_forgotten_here(
    room: Classes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"class_members": 1})
    here, elsewhere = sorted(room.open(token_of) for _ in range(2))
    for code, member in ((here, ADA), (elsewhere, BOB)):
        room.join(code, member)
        room.remove(code, TOKEN, [member])
    room.remove(here, TOKEN, [])
    assert [len(room.read(code, TOKEN).removed) for code in (here, elsewhere)] == [1, 1]


def test_who_is_removed_from_one_session_stays_in_another(room: Classes) -> None:
    codes = sorted(room.open(token_of) for _ in range(3))
    for code in codes:
        room.join(code, ADA)
    room.remove(codes[1], TOKEN, [ADA])
    assert [len(room.read(code, TOKEN).members) for code in codes] == [1, 0, 1]


def test_a_flood_of_new_members_is_slowed_and_members_are_not(
    room: Classes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"joins_per_minute": 2})
    code = room.open(token_of)
    room.join(code, ADA)
    room.join(code, BOB)
    with pytest.raises(
        RecipeError, match=f"Too many people are joining the class session {code} at once"
    ):
        room.join(code, "c" * 64)
    room.join(code, ADA, "Ada")
    room.join(room.open(token_of), "c" * 64)
    later = time() + 61
    monkeypatch.setattr(classes, "time", lambda: later)
    room.join(code, "c" * 64)


@pytest.mark.parametrize("what", ["class_answers", "hand_ins"])
def test_nobody_uses_up_the_share_of_others(
    room: Classes, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {what: 8, "class_members": 4})
    code = room.open(token_of)
    room.join(code, ADA)
    room.join(code, BOB)

    def gives(member: str, number: int) -> bool:
        try:
            if what == "hand_ins":
                room.hand_in(code, member, "x")
            else:
                room.record(code, [answer(member, attempt=number)])
        except RecipeError as error:
            assert "must be at most 8; got" in str(error)
            return False
        return True

    assert sum(gives(BOB, number) for number in range(1, 30)) == 8
    # a quarter of 8, though the session is full
    assert sum(gives(ADA, number) for number in range(1, 30)) == 2


def test_an_administrator_lists_and_deletes(room: Classes) -> None:
    code = room.open(token_of)
    empty = room.open(token_of)
    room.join(code, ADA, "Ada")
    room.record(code, [answer()])
    counts = {
        entry.code: (entry.num_members, entry.num_answers, entry.num_hand_ins)
        for entry in room.summaries()
    }
    assert counts == {code: (1, 1, 0), empty: (0, 0, 0)} and "Ada" not in repr(room.summaries())
    room.delete_by_administrator([empty])
    assert not room.exists(empty) and room.exists(code)


def test_thirty_members_answer_at_once(room: Classes) -> None:
    code = room.open(token_of)
    members = [f"{number:064x}" for number in range(30)]

    def work(member: str) -> None:
        room.join(code, member)
        for attempt in (1, 2):
            room.record(code, [answer(member, attempt=attempt)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, members))
    record = room.read(code, TOKEN)
    assert len(record.members) == 30 and {
        (entry.member, entry.attempt) for entry in record.answers
    } == {(member, attempt) for member in members for attempt in (1, 2)}


WRITER = """
import sys
from pathlib import Path
from nlwfa_core.history.classes import Answer, Classes
from nlwfa_core.history.runs import History
home, code, member = sys.argv[1:]
room = Classes(History.open(Path(home)).engine)
room.join(code, member)
for number in range(1, 10_000):
    room.record(code, [Answer(member, f"rank/{number}", 0, 1, "3", 1.0, 1.0)])
    print(number, flush=True)
"""


def test_a_killed_server_loses_no_acknowledged_answer(tmp_path: Path, room: Classes) -> None:
    code = room.open(token_of)
    command = [sys.executable, "-c", WRITER, str(tmp_path), code, ADA]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    ) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if int(line) == 50:
                server.send_signal(signal.SIGKILL)
                break
        acknowledged = [50, *map(int, server.stdout.read().split())]
    again = Classes(History.open(tmp_path).engine)
    recorded = {entry.task for entry in again.read(code, TOKEN).answers}
    assert {f"rank/{number}" for number in range(1, acknowledged[-1] + 1)} <= recorded


def test_the_tables_of_runs_keep_their_columns(tmp_path: Path) -> None:
    inspector = sa.inspect(History.open(tmp_path).engine)
    columns = [column["name"] for column in inspector.get_columns("owned")]
    assert columns == ["owner", "run", "name", "tags", "since", "removed"]
    assert {"class_sessions", "class_members", "class_answers", "class_hand_ins"} <= set(
        inspector.get_table_names()
    )
