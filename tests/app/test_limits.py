"""A server with settings of its own: widgets end where the limits do, and what asks for more is
lowered, with a word on it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Limits are read when a process starts.
CODE = """
import json
from nlwfa_core.experiment.recipe import flat
from nlwfa_core.experiment.presets import PRESETS
from tests.app.lab import open_lab
found = []
app = open_lab()
found.append([[text.value for text in app.exception], [text.value for text in app.error]])
if not app.error:
    found.append({field.key: [field.max, field.value] for field in app.sidebar.number_input})
    app.selectbox(key="controls.preset").select("paper-dyck").run()
    found.append({field.key: [field.max, field.value] for field in app.sidebar.number_input})
    found.append([toast.value for toast in app.toast])
    found.append([text.value for text in app.exception])
print(json.dumps(found))
"""


def lab_with(settings: str, home: Path) -> list[object]:
    (home / "limits.toml").write_text(settings)
    environment = os.environ | {"NLWFA_HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment.pop("NLWFA_LIMITS", None)
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    found: list[object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_widgets_end_where_the_limits_do(tmp_path: Path) -> None:
    errors, first, preset, toasts, exceptions = lab_with(
        "rank = 2\nbasis = 50\nepochs = 70\ngenerated_strings = 200\n", tmp_path
    )
    assert errors == [[], []] and exceptions == []
    assert isinstance(first, dict) and isinstance(preset, dict) and isinstance(toasts, list)
    # The example that the lab opens with asks for 3 states, 100 prefixes and 2,000 strings.
    shown = [first[name] for name in ("rank", "num_prefixes", "num_strings", "num_test")]
    assert shown == [[2, 2], [50, 50], [200, 200], [200, 200]]
    assert (preset["rank"], preset["epochs_factorisation"]) == ([2, 2], [70, 70])
    assert any(
        "rank" in said and "at most 2 on this server, so 2 is used instead of 10" in said
        for said in toasts
    )
    assert any(
        "epochs" in said and "at most 70 on this server, so 70 is used instead of 1,000" in said
        for said in toasts
    )


def test_settings_that_cannot_be_followed_are_said_on_the_page(tmp_path: Path) -> None:
    ((exceptions, errors),) = lab_with("rnk = 2\n", tmp_path)  # type: ignore[misc]
    assert exceptions == [] and len(errors) == 1
    assert "limits.toml: 'rnk' is not the name of a limit; nearest: rank" in errors[0].replace(
        "\\", ""
    )
