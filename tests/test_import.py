"""`import lltm_inline` is light: it compiles nothing, and leaves what only some people need for later."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    *("matplotlib", "IPython", "jupyterlab", "ipykernel", "ipywidgets", "pygments", "rich", "psutil", "ninja"),
    *("cloudpickle", "lltm_inline.run.worker"),
)

# The audit hook sees every program that is started, by subprocess, os.system or a fork and exec.
PROBE = f"""
import json, sys
started = []
events = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork")
sys.addaudithook(lambda event, args: started.append(str(args)) if event in events else None)
import torch
before = len(started)
{{statement}}
print(json.dumps({{{{"heavy": [name for name in {HEAVY!r} if name in sys.modules], "started": started[before:]}}}}))
"""


def probe(statement: str, cache: Path) -> dict[str, list[str]]:
    """Run a statement in a new interpreter; return the heavy modules and the programs that it brought in."""
    import os

    result = subprocess.run(
        [sys.executable, "-c", PROBE.format(statement=statement)],
        capture_output=True,
        text=True,
        env={**os.environ, "LLTM_INLINE_CACHE": str(cache)},
    )
    assert result.returncode == 0, result.stderr
    found: dict[str, list[str]] = json.loads(result.stdout.splitlines()[-1])
    return found


def test_import_is_light(tmp_path: Path) -> None:
    """Importing the package imports no plotting, notebook or terminal library and no worker, starts no program and makes no cache."""
    assert probe("import lltm_inline", tmp_path / "cache") == {"heavy": [], "started": []}
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("import lltm_inline, matplotlib", "heavy"),
        ("import lltm_inline, rich", "heavy"),
        ("import lltm_inline; lltm_inline.Limits", "heavy"),
        ("import lltm_inline, subprocess; subprocess.run([sys.executable, '-c', ''])", "started"),
        ("import lltm_inline, os; os.system('true')", "started"),
    ],
)
def test_the_light_test_can_fail(statement: str, kind: str, tmp_path: Path) -> None:
    """The probe of the test above does notice a heavy module and a started program."""
    assert probe(statement, tmp_path / "cache")[kind]
