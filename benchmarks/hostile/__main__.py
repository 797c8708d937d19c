"""`python -m benchmarks.hostile [--inputs N] [--only READER ...] [--seed N]`."""

from __future__ import annotations

import os
import sys

from .fuzz import main

if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
