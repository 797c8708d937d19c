"""What every test runs under."""

from __future__ import annotations

import os

from hypothesis import settings

# Tests run side by side: threads of theirs would wait for each other. Read when numpy and torch are loaded, which is later.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A slow machine is no failure, and the same examples are drawn each time: what fails here fails everywhere.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("repeatable")
