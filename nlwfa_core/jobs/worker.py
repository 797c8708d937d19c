"""Define worker processes: those of a server, which run one experiment after another, and those of
a sweep, which run groups.

A server starts `python -m nlwfa_core.jobs.worker`, and controls this process through a
`WorkerProcess`. They exchange JSON lines. The worker receives `{"recipe": JSON, "folder": …,
"uploads": …, "hold": …}`, one experiment at a time; `{"cancel": true}`; and `{"hold": epochs}`, to
wait after that many more epochs (0: at the next), or null, to continue. It sends any number of
`{"progress": [stage, step, total, loss, measure], "losses": [[stage, step, loss, measure], …],
"held": …, "picture": …, "preview": …}`, then `{"end": "done" | "failed" | "cancelled", "message":
…}`. The process ends when its input does, even in the middle of a run, so it ends with its server.

A worker of a sweep is a process of loky or Dask, which calls `run_group`.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Condition, Event, Lock, Thread, local
from time import monotonic, sleep
from typing import IO, Annotated, Any, BinaryIO, Literal, NotRequired, final

from pydantic import Field, TypeAdapter

# before Python 3.12, pydantic does not accept that of the standard library
from typing_extensions import TypedDict

from ..errors import Cancelled, RecipeError, sentence_of
from ..experiment.datasets import no_files
from ..experiment.pipeline import Workbench
from ..experiment.recipe import Recipe
from ..experiment.results import Result, save_result
from ..files import LAB_FOLDER, MAX_JSON_BYTES, FileShelf, without_folders
from ..learning.progress import Progress
from ..models.model_files import model_as_json
from ..rounding import ONE_THREAD
from .job import Job
from .snapshots import Snapshot, snapshot

NICENESS = 10  # a lower priority than that of the server, so its pages stay responsive
SECONDS_BETWEEN_REPORTS = 0.1
SECONDS_BETWEEN_PICTURES = 0.5
MOST_NUMBERS = 5_000  # in the maps of a preview
# how often a sweep's worker checks that its parent process is still alive
SECONDS_BETWEEN_LOOKS = 1.0

log = logging.getLogger(__name__)

# the browser, which draws the curves, has no exact integers above this
Step = Annotated[int, Field(ge=0, lt=2**53)]


@final
class ProgressMessage(TypedDict):
    """Defines the message that a worker sends while it runs an experiment."""

    progress: tuple[str, Step, Step, float | None, str]
    losses: list[tuple[str, Step, float, str]]
    held: NotRequired[bool]
    picture: NotRequired[Snapshot | None]
    preview: NotRequired[dict[str, Any] | None]


@final
class EndMessage(TypedDict):
    """Defines the message that a worker sends at the end of an experiment."""

    end: Literal["done", "failed", "cancelled"]
    message: str | None


MESSAGE: TypeAdapter[ProgressMessage | EndMessage] = TypeAdapter(ProgressMessage | EndMessage)


class WorkerProcess:
    """Controls a worker process from the server. The process is started when it is first needed,
    and restarted if it has died.

    `job`: the job that the worker is working on.
    """

    def __init__(self) -> None:
        self.job: Job | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Return the process ID; None if no process is alive."""
        return (
            self._process.pid
            if self._process is not None and self._process.poll() is None
            else None
        )

    def start(self) -> None:
        """Start the process if none is alive. Raises OSError if the operating system refuses."""
        if self.pid is not None:
            return
        self.reap()
        # in the path of the process, so the package need not be installed
        root = str(Path(__file__).parents[2])
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nlwfa_core.jobs.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # so that Ctrl-C in a terminal reaches only the server
        )

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the process.

        Does nothing if it has died; `messages` ends in that case.
        """
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, ValueError):  # raised if the process has died or was dismissed
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()

    def messages(self) -> Iterator[ProgressMessage | EndMessage]:
        """Yield the messages of the process until it dies or sends a line that is not a message."""
        if self._process is not None and self._process.stdout is not None:
            yield from read_messages(self._process.stdout)

    def dismiss(self) -> None:
        """Close the input of the process, so it exits by itself."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def kill(self) -> None:
        process = self._process
        if process is not None:
            process.kill()

    def reap(self) -> None:
        """Kill the process if it still runs, wait for it, and close its pipes."""
        if self._process is not None and self._process.stdout is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self.dismiss()
        self._process = None


def read_messages(stream: IO[bytes]) -> Iterator[ProgressMessage | EndMessage]:
    """Read a worker's messages.

    Stops at the first line that is not a message, because the worker can then no longer be trusted.
    """
    while line := stream.readline(MAX_JSON_BYTES):
        if not line.endswith(b"\n"):
            return  # the line is incomplete because the process died, or is too long
        try:
            message = MESSAGE.validate_python(json.loads(line))
        except (ValueError, RecursionError) as error:  # pydantic's errors are ValueErrors
            log.warning("a worker sent a line that is not a message: %.100r (%.200s)", line, error)
            return
        yield message


class Pause:
    """Holds a training run between two epochs. The pause does not change the result.

    >>> pause = Pause()
    >>> pause.hold_after(2)
    >>> pause.reached(), pause.reached()
    (False, True)
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._epochs_left: int | None = None

    def hold_after(self, epochs: int | None) -> None:
        """Hold the training after this many more epochs (0: after the next report), or let it
        continue (None).
        """
        with self._changed:
            self._epochs_left = epochs
            self._changed.notify_all()

    def reached(self) -> bool:
        """Count an epoch that was reported. Returns whether the training has to wait now."""
        with self._changed:
            if self._epochs_left is not None:
                self._epochs_left = max(self._epochs_left - 1, 0)
            return self._epochs_left == 0

    def wait(self) -> None:
        """Wait until the training may continue, even if only for a few epochs."""
        with self._changed:
            self._changed.wait_for(lambda: self._epochs_left != 0)


class Inbox:
    """Reads the server's messages in a thread of its own, so a cancel takes effect in the
    middle of a run.

    `orders`: the messages with experiments to run. `cancelled`: is set when the current experiment
    has to stop. `saving`: must be held while a result is written: if the input ends in the
    meantime, the process waits for this lock before it exits.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.orders: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.cancelled = Event()
        self.pause = Pause()
        self.saving = Lock()
        Thread(target=self._listen, args=(stream,), daemon=True).start()

    def _listen(self, stream: BinaryIO) -> None:
        code = 1
        try:
            for line in stream:
                if not line.endswith(b"\n"):
                    break  # the line is incomplete because the server died
                self._follow(json.loads(line))
            code = 0
        # exit after any error, because a worker without this thread would not end with its server
        except Exception:
            log.exception("the server sent a line that is not a message")
        finally:
            with self.saving:
                os._exit(code)  # sys.exit would wait until the run has ended

    def _follow(self, message: dict[str, Any]) -> None:
        if "cancel" in message:
            self.cancelled.set()
            self.pause.hold_after(None)
        elif "recipe" in message:
            self.cancelled.clear()  # a cancel of the previous run may have come too late
            self.pause.hold_after(message.get("hold"))
            self.orders.put(message)
        else:
            self.pause.hold_after(message["hold"])


class Outbox:
    """Sends messages to the server: progress about ten times a second, with all losses since the
    last message.

    A picture of the states (a `Snapshot`) is included at the beginning and the end of a stage,
    during a pause, and otherwise so rarely that making pictures takes at most 4 % of the time. A
    preview, which is a small model whose training has not ended, is included whenever there is one.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.latest = Progress("", 0, 0)
        self.losses: list[tuple[str, int, float, str]] = []
        self.last_sent = 0.0
        self.picture: Snapshot | None = None
        self.next_picture = 0.0

    def report(self, progress: Progress) -> None:
        """Report progress to the server.

        `experiment.pipeline.run` takes this method as its callback.
        """
        new_stage = progress.stage != self.latest.stage
        if new_stage and self.latest.look is not None:
            self.flush(picture=True)
        self.latest = progress
        if progress.loss is not None:
            self.losses.append((progress.stage, progress.step, progress.loss, progress.measure))
        if new_stage or monotonic() - self.last_sent >= SECONDS_BETWEEN_REPORTS:
            self.flush(picture=new_stage)

    def flush(self, held: bool = False, picture: bool = False) -> None:
        latest = self.latest
        losses = self.losses
        self.losses = []
        self.last_sent = monotonic()
        progress = [latest.stage, latest.step, latest.total, latest.loss, latest.measure]
        self._send(
            {
                "progress": progress,
                "losses": losses,
                "held": held,
                "picture": self._take_picture(held or picture),
                "preview": self._take_preview(),
            }
        )

    def _take_preview(self) -> dict[str, Any] | None:
        """Return the best model so far as JSON, if there is one and it is small."""
        if self.latest.preview is None:
            return None
        model = self.latest.preview()
        is_small = sum(layer.size for layer in model.transitions) <= MOST_NUMBERS
        return model_as_json(model) if is_small else None

    def _take_picture(self, now: bool) -> dict[str, Any] | None:
        """Make a picture as JSON, if one is requested (`now`) or due; otherwise return None."""
        latest = self.latest
        started = monotonic()
        if latest.look is None or not (now or started >= self.next_picture):
            return None
        picture = snapshot(latest.stage, latest.step, latest.look(), self.picture)
        self.picture = picture or self.picture
        ended = monotonic()
        self.next_picture = ended + max(SECONDS_BETWEEN_PICTURES, 25 * (ended - started))
        return asdict(picture) if picture else None

    def end(self, state: str, message: str | None = None) -> None:
        """Send the last message of a run."""
        if self.losses:
            self.flush()
        self.latest = Progress("", 0, 0)
        self.picture = None
        self._send({"end": state, "message": message})

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self.stream.write(json.dumps(message).encode() + b"\n")
            self.stream.flush()
        except OSError:
            os._exit(0)  # the server has ended


class Trainer:
    """Runs experiments.

    Keeps the data and the Hankel matrix of the last one in memory, because the next often uses the
    same.
    """

    def __init__(self, inbox: Inbox, outbox: Outbox) -> None:
        self.inbox = inbox
        self.outbox = outbox
        self.bench = Workbench()
        # stage -> how long the run was held during that stage
        self.seconds_held: dict[str, float] = {}

    def follow(self, order: dict[str, Any]) -> None:
        """Run one experiment, save its result, and send how it ended.

        Raises no errors: they are sent instead.
        """
        folder = Path(order["folder"])
        try:
            result = self._run(Recipe.from_json(order["recipe"]), FileShelf(Path(order["uploads"])))
            with self.inbox.saving:
                save_result(folder, result)
        except Cancelled:
            self.outbox.end("cancelled")
        except Exception as error:
            if isinstance(error, RecipeError):
                log.warning("a run failed, %s: %s", folder, error)
            else:
                log.exception("a run failed, %s", folder)
            if isinstance(error, MemoryError):
                self.bench.prepared = None
            # Anybody may read this in the history; the log has the whole paths.
            home = Path(order["uploads"]).parent
            self.outbox.end(
                "failed", without_folders(sentence_of(error), home, LAB_FOLDER, Path(sys.prefix))
            )
        else:
            self.outbox.end("done")

    def _run(self, recipe: Recipe, shelf: FileShelf) -> Result:
        self.seconds_held = {}
        files = shelf.get if recipe.data.upload else no_files
        result = self.bench.run(recipe, self._report, self.inbox.cancelled.is_set, files)
        report = replace(result.report, seconds=self._without_pauses(result.report.seconds))
        return replace(result, report=report, seconds=self._without_pauses(result.seconds))

    def _report(self, progress: Progress) -> None:
        self.outbox.report(progress)
        if progress.loss is not None and self.inbox.pause.reached():
            started = monotonic()
            self.outbox.flush(held=True)
            self.inbox.pause.wait()
            self.outbox.flush()
            held = self.seconds_held.get(progress.stage, 0.0)
            self.seconds_held[progress.stage] = held + monotonic() - started

    def _without_pauses(self, seconds: dict[str, float]) -> dict[str, float]:
        """Subtract the pauses from the time of each stage."""
        pauses = {**self.seconds_held, "learning": sum(self.seconds_held.values())}
        return {stage: value - pauses.get(stage, 0.0) for stage, value in seconds.items()}


Files = dict[str, bytes]
# The outcome of a run: None if its folder is written; its files if the worker has no access to the
# sweep's disk; or why it failed.
Outcome = Files | str | None
_own = local()  # the workbench of each thread of a worker
_saving = Lock()


def run_group(
    recipes: Mapping[str, str], home: str, server: str, seconds: float | None = None
) -> dict[str, Outcome]:
    """Run recipes one after another in a worker of a sweep.

    `recipes`: key -> recipe as JSON. `home`: the folder of the lab; uploads are read from
    `home/uploads`. `server`: the name of the sweep's file in `home/servers`. If this worker can
    read the file, it shares the sweep's disk, and writes results to `home/runs`. `seconds`: after
    this time no run is started.

    Returns a dict: key -> the outcome of each run that was started.

    Raises RecipeError if a result can't be written.
    """
    if not hasattr(_own, "bench"):
        _own.bench = Workbench()
    bench: Workbench = _own.bench
    started = monotonic()
    folder = Path(home)
    outcomes: dict[str, Outcome] = {}
    for key, text in recipes.items():
        if seconds is not None and monotonic() >= started + seconds:
            break
        try:
            recipe = Recipe.from_json(text)
            result = bench.run(
                recipe, files=FileShelf(folder / "uploads").get if recipe.data.upload else no_files
            )
        except Exception as error:
            if isinstance(error, MemoryError):
                bench.prepared = None
            outcomes[key] = sentence_of(error)
            continue
        with _saving:
            if (folder / "servers" / server).exists():
                save_result(folder / "runs" / key, result)
                outcomes[key] = None
            else:
                outcomes[key] = _files(result)
    return outcomes


def _files(result: Result) -> Files:
    """Make the files of a result's folder, name -> bytes."""
    with TemporaryDirectory(prefix="nlwfa-run-") as folder:
        save_result(Path(folder), result, sync=False)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def exit_with_parent(parent: int) -> None:
    """End a sweep's worker process when the sweep is killed, even in the middle of a run."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(SECONDS_BETWEEN_LOOKS)
        with _saving:
            os._exit(1)

    Thread(target=watch, daemon=True).start()


def died(times: int) -> str:
    """Write the message for a run that failed because its worker process died in each of `times`
    attempts.
    """
    often = {2: "twice", 3: "three times"}.get(times, f"{times} times")
    return (
        f"The process of this run died {often} (killed, or out of memory). Try a smaller basis, "
        "fewer strings or a lower rank."
    )


def main() -> None:
    """Run the experiments that a server sends, until it closes this process's input."""
    # From here on, everything printed to stdout, even by C code, goes to stderr, because stdout is
    # for messages only.
    protocol = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    logging.basicConfig(stream=sys.stderr)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    inbox = Inbox(sys.stdin.buffer)
    trainer = Trainer(inbox, Outbox(protocol))
    while True:
        trainer.follow(inbox.orders.get())


if __name__ == "__main__":
    main()
