"""The same numbers on every processor: OpenBLAS and torch choose their kernels by it, and each can
be set to another.

Each kernel runs in a separate process. Kernels that this processor can't run are skipped, and so
are those that it chooses itself, with which test_shipped.py computes the same results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from tests.core.teaching.test_shipped import QUICK, WANTED, assert_same_scores

CPUINFO = Path("/proc/cpuinfo")
FLAGS = set(CPUINFO.read_text(encoding="utf-8").split()) if CPUINFO.exists() else set()
# OpenBLAS's name of a kernel -> what it needs, what threadpoolctl calls it, and torch's to go with
# it.
KERNELS = {
    "Nehalem": ("sse4_2", "Nehalem", "default"),
    "Haswell": ("avx2", "Haswell", "avx2"),  # and OpenBLAS's code for Zen
    "SkylakeX": ("avx512f", "SkylakeX", "avx512"),
}
PROGRAM = """
import dataclasses, hashlib, json, sys
import torch
from threadpoolctl import threadpool_info
from nlwfa_core.experiment.datasets import no_files
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.recipe import Recipe

recipes = [Recipe.from_json(text) for text in json.load(sys.stdin)]
architectures = [library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"]
scores = [dataclasses.asdict(run(recipe).scores) for recipe in recipes]
print(json.dumps({"openblas": architectures, "torch": torch.backends.cpu.get_cpu_capability(), "scores": scores}))
"""  # noqa: E501
# refined on rows or not at all
LINEAR = [key for key, recipe in WANTED.items() if recipe.learning.learner == "SP"]
# of some ranks: each takes a second or two, and calls the same kernels
QUICK_NETWORKS = [
    key
    for key in QUICK
    if WANTED[key].learning.learner == "both.non" and WANTED[key].learning.rank in (5, 10, 12)
]


def own_kernels() -> tuple[str, str]:
    """OpenBLAS's and torch's, if neither was told which to take."""
    import torch

    architectures = {
        library.get("architecture", "")
        for library in threadpool_info()
        if library["internal_api"] == "openblas"
    }
    return ", ".join(sorted(architectures)), torch.backends.cpu.get_cpu_capability().lower()


@pytest.mark.slow  # all shipped results, once for each type of processor
@pytest.mark.parametrize("kernel", KERNELS)
def test_shipped_results_come_back(kernel: str) -> None:
    flag, architecture, capability = KERNELS[kernel]
    if flag not in FLAGS:
        pytest.skip(f"this processor has no {flag}")
    if (architecture, capability) == own_kernels():
        pytest.skip("test_shipped.py computes with these kernels")
    keys = [*LINEAR, *QUICK_NETWORKS]
    asked = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([WANTED[key].to_json() for key in keys]),
        env=os.environ | {"OPENBLAS_CORETYPE": kernel, "ATEN_CPU_CAPABILITY": capability},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    answer = json.loads(asked.stdout)
    if architecture not in answer["openblas"]:
        pytest.skip(f"numpy computes with {answer['openblas']}, which takes no order")
    assert answer["torch"].lower() == capability
    for key, scores in zip(keys, answer["scores"], strict=True):
        assert_same_scores(scores, WANTED[key])
