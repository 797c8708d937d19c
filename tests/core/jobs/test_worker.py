"""The worker's side: what it says, and when."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from threading import Event, Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core import NLWFA, load, options
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment import pipeline as experiment
from nlwfa_core.experiment.pipeline import prepare, run
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.files import LAB_FOLDER
from nlwfa_core.jobs import worker
from nlwfa_core.jobs.job import Job
from nlwfa_core.jobs.runner import ATTEMPTS, Runner
from nlwfa_core.learning.progress import BITS, Progress
from nlwfa_core.models.model_files import model_from_json
from tests.core.small import recipe_of
from tests.waiting import PATIENCE_SECONDS, wait_for

SMALL = recipe_of()


def order(folder: Path, recipe: Recipe = SMALL) -> dict[str, Any]:
    return {
        "recipe": recipe.to_json(),
        "folder": str(folder / "run"),
        "uploads": str(folder / "uploads"),
    }


def trainer() -> tuple[worker.Trainer, io.BytesIO]:
    said = io.BytesIO()
    inbox: Any = SimpleNamespace(cancelled=Event(), pause=worker.Pause(), saving=Lock())
    return worker.Trainer(inbox, worker.Outbox(said)), said


def messages(said: io.BytesIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.getvalue().splitlines()]


def test_it_says_its_stages_and_its_end(tmp_path: Path) -> None:
    training, said = trainer()
    training.follow(order(tmp_path))
    *before, last = messages(said)
    assert last == {"end": "done", "message": None}
    assert list(dict.fromkeys(message["progress"][0] for message in before)) == [
        "data",
        "hankel",
        "learning",
        "spectral",
        "scores",
    ]
    assert (tmp_path / "run" / "result.json").exists()


def test_it_sends_the_best_network_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SECONDS_BETWEEN_REPORTS", 0.0)
    training, said = trainer()
    learning = options("both.non", rank=1, objective="likelihood")
    training.follow(order(tmp_path, Recipe(data=SMALL.data, learning=learning)))
    previews = [model_from_json(each["preview"]) for each in messages(said) if each.get("preview")]
    model = load(tmp_path / "run")
    assert isinstance(previews[-1], NLWFA) and isinstance(model, NLWFA)
    np.testing.assert_allclose(previews[-1].initial, model.initial, rtol=0.01, atol=0.01)


def test_data_and_matrix_are_kept_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(
        experiment, "prepare", lambda recipe, *rest: made.append(recipe) or prepare(recipe, *rest)
    )
    training, _ = trainer()
    for rank in (2, 3):
        training.follow(order(tmp_path, SMALL.changed(learning=options("SP", rank=rank))))
    assert len(made) == 1
    training.follow(order(tmp_path, SMALL.changed(data=SMALL.data.changed(seed=1))))
    assert len(made) == 2


def test_opponents_share_the_data_and_need_no_matrix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(
        experiment, "prepare", lambda recipe, *rest: made.append(recipe) or prepare(recipe, *rest)
    )
    training, said = trainer()
    for learner in ("HMM", "HMM", "SP", "HMM"):
        training.follow(order(tmp_path, SMALL.with_learner(learner)))
    assert [recipe.learning.learner for recipe in made] == ["HMM", "SP"]
    stages = [message["progress"][0] for message in messages(said) if "progress" in message]
    assert stages[:2] == ["data", "learning"] and stages.count("hankel") == 1


def test_what_was_prepared_for_another_recipe_is_not_used() -> None:
    other = SMALL.changed(data=SMALL.data.changed(seed=1))
    fresh = run(SMALL)
    for prepared in (prepare(SMALL), prepare(other)):
        result = run(SMALL, prepared=prepared)
        assert result.scores == fresh.scores
        np.testing.assert_array_equal(result.model.initial, fresh.model.initial)
        assert result.seconds.keys() == fresh.seconds.keys()


@pytest.mark.parametrize(
    ("error", "words"),
    [(MemoryError(), "not enough memory"), (ZeroDivisionError("by 0"), "ZeroDivisionError: by 0")],
)
def test_what_goes_wrong_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(experiment, "run", fails)
    training, said = trainer()
    training.follow(order(tmp_path))
    last = messages(said)[-1]
    assert last["end"] == "failed"
    assert words in last["message"]
    assert "Traceback" not in last["message"]


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            RecipeError("can't write {home}/run/model.safetensors: No space left"),
            "can't write model.safetensors: No space left",
        ),
        (
            RecipeError("can't read {home}/uploads/0a: Permission denied"),
            "can't read 0a: Permission denied",
        ),
        (OSError(2, "No such file", "{home}/run/result.json"), "'result.json'"),
        (RuntimeError("in {lab}/nlwfa_core/jobs/worker.py"), "in worker.py"),
        (ValueError("{prefix}/lib/python3/site-packages/torch/x.py failed"), "x.py failed"),
    ],
)
def test_a_message_names_files_without_the_servers_folders(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    shown: str,
) -> None:
    folders = {"home": tmp_path, "lab": LAB_FOLDER, "prefix": sys.prefix}
    error.args = tuple(
        part.format(**folders) if isinstance(part, str) else part for part in error.args
    )
    if isinstance(error, OSError):
        error.filename = error.filename.format(**folders)

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(experiment, "run", fails)
    training, said = trainer()
    training.follow(order(tmp_path))
    message = messages(said)[-1]["message"]
    assert shown in message and not any(str(folder) in message for folder in folders.values())
    assert str(tmp_path) in caplog.text  # the administrator's log says where


def test_a_cancel_is_heard(tmp_path: Path) -> None:
    training, said = trainer()
    training.inbox.cancelled.set()
    training.follow(order(tmp_path))
    assert messages(said) == [{"end": "cancelled", "message": None}]
    assert not (tmp_path / "run").exists()


def test_many_reports_are_few_messages_and_no_loss_is_lost() -> None:
    said = io.BytesIO()
    outbox = worker.Outbox(said)
    for step in range(5000):
        outbox.report(Progress("transitions", step, 4999, step / 2, BITS))
    outbox.end("done")
    *before, _ = messages(said)
    assert [entry for message in before for entry in message["losses"]] == [
        ["transitions", step, step / 2, BITS] for step in range(5000)
    ]
    assert len(before) < 500


def test_stray_prints_do_not_reach_the_server(tmp_path: Path) -> None:
    code = (
        "import os; from nlwfa_core.experiment import pipeline; from nlwfa_core.jobs import "
        "worker\n"
        "def prints(*_):\n"
        "    print('a library prints'); os.write(1, b'and C'); raise worker.RecipeError('no')\n"
        "pipeline.prepare = prints; worker.main()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, stderr=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(order(tmp_path)).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"end": "failed", "message": "no"}
        process.stdin.close()
        assert process.stdout.read() == b""
        assert b"a library prints" in process.stderr.read()
    assert process.returncode == 0


@pytest.mark.parametrize("cut", [b"", b'{"recipe": "half of a me'])
def test_the_end_of_the_input_is_its_end(cut: bytes) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nlwfa_core.jobs.worker"],
        input=cut,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")


SAID = [
    {
        "progress": ["factorisation", 3, 10, 0.5, "loss"],
        "losses": [["factorisation", 2, 0.6, "loss"]],
        "held": False,
    },
    {
        "progress": ["data", 0, 0, None, "relative loss"],
        "losses": [],
        "held": True,
        "picture": None,
    },
    {"end": "failed", "message": "why"},
    {"end": "done", "message": None},
]
names = st.sampled_from(["end", "message", "progress", "losses", "x"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(names, values, max_size=3),
    max_leaves=6,
)
lines = st.binary(max_size=40) | json_values.map(lambda value: json.dumps(value).encode())


@given(st.lists(st.sampled_from(SAID), max_size=3), lines)
@settings(deadline=None)
def test_a_line_that_is_no_message_ends_the_messages(
    sound: list[dict[str, Any]], line: bytes
) -> None:
    """Whatever a worker writes, its server reads the messages before it, and then counts the worker
    as dead.
    """
    stream = io.BytesIO(
        b"".join(json.dumps(message).encode() + b"\n" for message in sound) + line + b"\n"
    )
    received = list(worker.read_messages(stream))
    assert json.loads(json.dumps(received[: len(sound)])) == sound
    job = Job("key", SMALL, report=lambda *_: None)
    for message in received:
        if "end" in message:
            assert message["end"] in ("done", "failed", "cancelled")
        else:
            job.note(message)


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(deadline=None)
def test_a_flipped_bit_in_a_message_is_read_or_ends_the_messages(place: float, bit: int) -> None:
    text = bytearray(b"".join(json.dumps(message).encode() + b"\n" for message in SAID))
    text[int(place * len(text))] ^= 1 << bit
    assert len(list(worker.read_messages(io.BytesIO(bytes(text))))) <= len(SAID)


def test_a_worker_that_sends_nonsense_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is tried again with a new process; the next job is not affected."""
    program = tmp_path / "once.py"
    program.write_text(
        "import pathlib, runpy, sys\n"
        f"first = pathlib.Path({str(tmp_path / 'first')!r})\n"
        "if not first.exists():\n"
        "    first.touch(); sys.stdin.readline(); print('no message', flush=True); "
        "sys.stdin.read()\n"
        "else:\n"
        "    sys.argv = ['worker']; runpy.run_module('nlwfa_core.jobs.worker', "
        "run_name='__main__')\n"
    )
    popen = subprocess.Popen
    monkeypatch.setattr(
        worker.subprocess,
        "Popen",
        lambda command, **options: popen([command[0], str(program)], **options),
    )
    runner = Runner(tmp_path / "home", num_workers=1)
    try:
        for recipe in (SMALL, SMALL.changed(learning=options("SP", rank=2))):
            runner.submit(recipe, "me")
            wait_for(
                lambda recipe=recipe: (job := runner.status(recipe.key())) and job.state == "done"
            )
    finally:
        runner.close()


PROGRESS = (
    b'{"progress": ["learning", %s, 10, 0.5, "loss"], "losses": [["learning", %s, 0.5, "loss"]]}\n'
)


@pytest.mark.parametrize(
    ("written", "stays"),
    [
        (Random(0).randbytes(500) + b"\n", True),
        (b'{"end": "done", "mess', False),  # it died while writing
        (b"x" * 5000, True),  # a line without an end
        (PROGRESS % (b"3", b"1" + b"0" * 400) * 2, True),
        (PROGRESS % (b"1" + b"0" * 400, b"3") * 2, True),
        (PROGRESS % (b"-1", b"0"), True),
        # there is no result
        (PROGRESS % (b"3", b"3") + b'{"end": "done", "message": null}\n', True),
        (b'{"end": "done", "message": null}\n' * 3, True),
        (b'{"recipe": {}}\n', True),
    ],
)
def test_whatever_a_worker_writes_its_server_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bytes, stays: bool
) -> None:
    """The run ends with an error, the process is replaced, and the next run is served."""
    (tmp_path / "written").write_bytes(written)
    program = tmp_path / "worker.py"
    program.write_text(
        "import pathlib, sys\n"
        f"home = pathlib.Path({str(tmp_path)!r})\n"
        "for attempt in range(100):\n"
        "    if not (home / str(attempt)).exists():\n"
        "        break\n"
        "(home / str(attempt)).touch()\n"
        f"if attempt < {ATTEMPTS}:\n"
        "    sys.stdout.buffer.write((home / 'written').read_bytes())\n"
        "    sys.stdout.flush()\n"
        f"    {'sys.stdin.read()' if stays else 'sys.exit()'}\n"
        "for order in sys.stdin:\n"
        '    print(\'{"end": "failed", "message": "served"}\', flush=True)\n'
    )
    popen = subprocess.Popen
    monkeypatch.setattr(
        worker.subprocess,
        "Popen",
        lambda command, **options: popen([command[0], str(program)], **options),
    )
    monkeypatch.setattr(worker, "MAX_JSON_BYTES", 1000)
    runner = Runner(tmp_path / "home", num_workers=1)
    try:
        for recipe, message in (
            (SMALL, worker.died(ATTEMPTS)),
            (SMALL.changed(learning=options("SP", rank=2)), "served"),
        ):
            runner.submit(recipe, "me")
            wait_for(
                lambda recipe=recipe: (job := runner.status(recipe.key())) and job.state == "failed"
            )
            assert runner.status(recipe.key()).message == message
    finally:
        runner.close()


def test_a_line_that_is_no_order_ends_the_worker() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "nlwfa_core.jobs.worker"], input=b"no order\n", capture_output=True
    )
    assert process.returncode == 1 and b"JSONDecodeError" in process.stderr
