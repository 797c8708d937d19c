"""Run scikit-splearn, hmmlearn and AALpy in a virtual environment of their own, through a pipe.

scikit-splearn is from 2018 and needs an older numpy than ours, so it needs another process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from . import ROOT

ENVIRONMENT = ROOT / ".venv-opponents"
REQUIREMENTS = (
    "numpy==1.26.4",
    "scipy==1.13.1",
    "scikit-learn==1.5.2",
    "pyyaml",
    "scikit-splearn==1.2.1",
    "hmmlearn==0.3.3",
    "aalpy==2.0.0",
)
PYTHON = ENVIRONMENT / "bin" / "python"
READY = ENVIRONMENT / "ready"


def available(set_up: bool) -> bool:
    """Whether the environment exists; if it does not and `set_up` is true, make it."""
    if READY.exists() and READY.read_text() == "\n".join(REQUIREMENTS):
        return True
    # the versions above have no wheels for later ones
    if not set_up or sys.version_info[:2] != (3, 11):
        return False
    print("setting up the opponents' environment …", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], check=True)
    subprocess.run(
        [
            str(PYTHON),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *REQUIREMENTS,
        ],
        check=True,
    )
    READY.write_text("\n".join(REQUIREMENTS))
    return True


class Opponents(AbstractContextManager["Opponents"]):
    """The worker process, which answers one request at a time.

    Our environment variables limit its threads.
    """

    def __init__(self) -> None:
        worker = Path(__file__).with_name("opponents_worker.py")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [str(PYTHON), "-W", "ignore", str(worker)], stdin=pipe, stdout=pipe, text=True
        )

    def __exit__(self, *exception: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises RuntimeError if the worker reports an error.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps({"do": do, **request}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        answer: dict[str, Any] = (
            json.loads(line) if line else {"error": "the opponents' process ended"}
        )
        if "error" in answer:
            raise RuntimeError(f"{do}: {answer['error']}")
        return answer

    def seconds(self, do: str, **request: Any) -> float:
        """Seconds that a request took inside the worker."""
        return float(self.ask(do, **request)["seconds"])
