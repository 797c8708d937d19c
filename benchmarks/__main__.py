"""`python -m benchmarks [NAME ...] [--quick] [--out DIR]`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import ROOT

SUITES = (
    "splearn",
    "statistics",
    "steps",
    "training",
    "refinement",
    "recurrent",
    "likelihood",
    "lesson",
    "hmm",
    "merging",
    "scaling",
    "alphabet",
    "functions",
    "convergence",
    "machine",
)
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Compare with named opponents."
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="tiny work: checks that everything runs, measures nothing",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"suites to run, by default all: {', '.join(SUITES)}",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "docs",
        help="folder of benchmarks.json and benchmarks.md (docs)",
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of every party (1)")
    parser.add_argument(
        "--repeats", type=int, help="turns of each side (5; fewer for long trainings)"
    )
    parser.add_argument(
        "--strings",
        type=int,
        default=1_000_000,
        help="largest sample of the growth table (1,000,000)",
    )
    arguments = parser.parse_args()
    names = arguments.names or SUITES
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        parser.error(f"{unknown[0]!r} is not a suite; choose from {', '.join(SUITES)}")
    for name in THREAD_VARIABLES:  # before numpy and torch read them
        os.environ[name] = str(arguments.threads)

    from .suites import Plan, run_suites

    plan = Plan.quick() if arguments.quick else Plan.full(arguments.repeats or 5, arguments.strings)
    paths = run_suites(plan, names, arguments.threads, arguments.out)
    print(*paths, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
