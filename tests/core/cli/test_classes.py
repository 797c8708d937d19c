"""The command with which an administrator lists and deletes class sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlwfa_core.cli.main import main
from nlwfa_core.history.classes import Classes
from nlwfa_core.history.runs import History


@pytest.fixture
def room(tmp_path: Path) -> Classes:
    return Classes(History.open(tmp_path).engine)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["classes", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_sessions_are_listed_and_deleted(
    room: Classes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = ("--home", str(tmp_path))
    assert said(capsys, *home)[:2] == (0, f"no class sessions in {tmp_path}\n")
    codes = [room.open(lambda code: "t" * 64) for _ in range(4)]
    room.join(codes[0], "a" * 64, "\x1b[2J Ada")
    _, text, _ = said(capsys, *home)
    assert all(code in text for code in codes) and "4 class sessions" in text and "Ada" not in text
    monkeypatch.setenv("NLWFA_HOME", str(tmp_path))
    entries = json.loads(said(capsys, "--json")[1])
    assert {entry["code"]: entry["num_members"] for entry in entries} == dict(
        zip(codes, (1, 0, 0, 0), strict=True)
    )
    written = f"{codes[1][:2]}-{codes[1][2:]}".lower()
    assert said(capsys, "--delete", written) == (0, f"deleted: 1 class session ({codes[1]})\n", "")
    assert said(capsys, "--delete-unjoined")[1].startswith("deleted: 2 class sessions")
    assert [entry.code for entry in room.summaries()] == codes[:1]
    assert said(capsys, "--delete-unjoined")[1] == "deleted: 0 class sessions\n"


def test_mistakes_change_nothing(
    room: Classes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = room.open(lambda code: "t" * 64)
    other = "CCCCC" if code != "CCCCC" else "DDDDD"
    monkeypatch.delenv("NLWFA_HOME", raising=False)
    for arguments, message in (
        ((), "--home is needed (the lab's folder), because NLWFA_HOME is not set"),
        (("--home", str(tmp_path / "none")), "does not exist"),
        (("--home", str(tmp_path), "--delete", "x"), "a code consists of 5 letters and digits"),
        (
            ("--home", str(tmp_path), "--delete", code, "--json"),
            "--json has no effect with --delete; it needs a list of all",
        ),
        (
            ("--home", str(tmp_path), "--delete-unjoined", "--json"),
            "--json has no effect with --delete-unjoined",
        ),
        (
            ("--home", str(tmp_path), "--delete", code, "--delete", other),
            f"there is no class session {other}; nothing was deleted",
        ),
    ):
        number, out, err = said(capsys, *arguments)
        assert (number, out) == (2, "") and err.startswith("error: ") and message in err
    assert room.exists(code)
