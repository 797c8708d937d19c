"""Compare the library with named opponents and with the machine's limits: `python -m benchmarks`.

README.md explains how to read the report."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
