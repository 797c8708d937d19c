"""Give one reader inputs guided by coverage: `PYTHONPATH=FOLDER python -m benchmarks.hostile.guided
READER`, Atheris in FOLDER.

The project does not require Atheris (libFuzzer): `pip install --target FOLDER atheris`. It sees
which branches of `nlwfa_core` an input takes, keeps the inputs that take new ones, and changes them
further: half by its own changes, half by the reader's (`readers.Reader`), which get past checksums.
An input is a finding if it is neither accepted nor refused with RecipeError; the first one of each
kind and place is stored. libFuzzer ends the process at an input that takes more than five seconds
or two gigabytes, the modules included; another process uses the remaining `--minutes`.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from random import Random
from time import monotonic

SECONDS = 5
MEGABYTES = 2048
MAX_BYTES = 2**14


def where(error: BaseException) -> str:
    """The kind of an error and the last line of the library that raised it."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "nlwfa_core" in frame.filename
    ]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


def child(name: str, folder: Path, seconds: int) -> None:
    """Run libFuzzer in this process, until `seconds` are over."""
    import atheris

    with atheris.instrument_imports(include=["nlwfa_core"]):
        from nlwfa_core.errors import RecipeError

        from .readers import reader

    tested = reader(name)
    logging.disable()  # what readers log would fill the output
    warnings.simplefilter("error")  # as in the tests: a warning is a finding, too
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(tested.sound):
        (corpus / f"sound-{number}").write_bytes(data)

    def read(data: bytes) -> None:
        try:
            tested.read(data)
        except RecipeError:
            pass
        except Exception as error:
            place = where(error)
            path = folder / f"finding-{hashlib.sha256(place.encode()).hexdigest()[:8]}"
            if not path.exists():
                path.write_bytes(data)
                with (folder / "findings.txt").open("a") as stream:
                    stream.write(
                        f"{path.name}: {place}: {str(error)[:300]}\n{traceback.format_exc()}\n"
                    )

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        if seed % 2 == 0:
            return atheris.Mutate(data, most)
        random = Random(seed)
        try:
            return tested.mutate(random, data)[:most]
        except Exception:  # not every input can be unpacked
            return tested.mutate(random, random.choice(tested.sound))[:most]

    limits = [
        f"-timeout={SECONDS}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-max_len={MAX_BYTES}",
        f"-max_total_time={seconds}",
    ]
    options = [
        *limits,
        "-print_final_stats=1",
        "-reload=0",
        f"-artifact_prefix={folder}/",
        str(corpus),
    ]
    atheris.Setup([sys.argv[0], *options], read, custom_mutator=mutate)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hostile.guided", description=__doc__
    )
    parser.add_argument("reader")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument(
        "--keep",
        type=Path,
        default=Path("runs", "guided"),
        help="folder for inputs with findings (runs/guided)",
    )
    parser.add_argument("--seconds", type=int, default=0, help=argparse.SUPPRESS)  # of a process
    arguments = parser.parse_args()
    folder = arguments.keep / "".join(
        letter if letter.isalnum() else "-" for letter in arguments.reader
    )
    if arguments.seconds:
        child(arguments.reader, folder, arguments.seconds)
        return 0
    end = monotonic() + 60 * arguments.minutes
    folder.mkdir(parents=True, exist_ok=True)
    while (left := int(end - monotonic())) > 0:
        command = [
            sys.executable,
            "-m",
            "benchmarks.hostile.guided",
            arguments.reader,
            "--keep",
            str(arguments.keep),
        ]
        with (folder / "log.txt").open("ab") as log:
            subprocess.run(
                [*command, "--seconds", str(left)],
                stdout=log,
                stderr=log,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
    found = [
        path
        for path in folder.iterdir()
        if path.name.startswith(("finding-", "timeout-", "oom-", "crash-"))
    ]
    print(
        f"{arguments.reader}: {len(found)} findings", *sorted(str(path) for path in found), sep="\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
