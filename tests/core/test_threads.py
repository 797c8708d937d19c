"""The number of cores makes no difference, not even in the last digit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Fifty states, far more than the strings can tell apart: whatever is rounded otherwise shows.
SCRIPT = """
from nlwfa_core import run
from nlwfa_core.experiment.presets import PRESETS
result = run(PRESETS["first-steps"][1].with_learner("SP", 50))
print(result.model.transitions.tobytes().hex()[:10_000], result.scores)
"""


def test_one_core_and_several_give_the_same_bytes() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=ROOT, env={**os.environ, "OPENBLAS_NUM_THREADS": n, "OMP_NUM_THREADS": n},  # noqa: E501
            capture_output=True, check=True,
        ).stdout
        for n in ("1", "2")
    ]  # fmt: skip
    assert said[0] == said[1]
