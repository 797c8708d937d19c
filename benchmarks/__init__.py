"""Ratios against named opponents, and against the machine: `python -m benchmarks`. README.md says how to read the report."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
