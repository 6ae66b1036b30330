"""The demo, as people start it: in a pipe, without colour."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lltm_inline.demo import LINE, main, next_steps
from lltm_inline.errors import InputError
from lltm_inline.model.registry import registry
from lltm_inline.tables.timings import Timings

ROOT = Path(__file__).resolve().parent.parent


def demo(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the demo in a process of its own, its output in a pipe."""
    command = [sys.executable, "-m", "lltm_inline.demo", *arguments]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": path}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment, timeout=600)


@pytest.mark.full
def test_the_whole_demo(tmp_path: Path) -> None:
    """It builds, checks, edits, catches a wrong gradient, explains a compile error, times and plots, without one escape code."""
    result = demo("--quick", "--out", "out", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    text = result.stdout
    assert "\x1b" not in text
    steps = [
        "1. Build",
        "2. Check",
        "3. Edit",
        "4. A wrong edit",
        "5. A compile error",
        "6. Benchmark",
        "7. Plot",
        "What to try next",
    ]
    assert [text.index(step) for step in steps] == sorted(text.index(step) for step in steps)
    assert text.count("right  'lltm/") == 4
    assert "WRONG" not in text
    assert "all in rows 0:5 = input gate" in text and "d_weights (15, 22)" in text
    assert (
        "'sigmiod' was not declared in this scope. Did you mean 'sigmoid'?" in text or "Did you mean 'sigmoid'" in text
    )
    assert (tmp_path / "out" / "lltm.png").read_bytes().startswith(b"\x89PNG")
    timings = Timings.from_json(tmp_path / "out" / "lltm.json")
    assert timings.kernels == ("lltm/python", "lltm/aten", "lltm/fused", "lltm/stable")
    assert json.loads((tmp_path / "out" / "lltm.json").read_text())


def test_an_error_of_the_playground_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said on standard error, without a traceback, and the exit code is 1."""

    def refuse(*_: object) -> None:
        raise InputError("nothing fits")

    monkeypatch.setattr("lltm_inline.demo.run", refuse)
    assert main(["--quick"]) == 1
    assert capsys.readouterr() == ("", "InputError: nothing fits\n")


def test_next_steps_work_as_typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each command names the interpreter that ran the demo, as no other may have torch; a shell without PATH finds it."""
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
        assert all(command.startswith(".venv/bin/python -m ") for command in next_steps())
    show, *others, lab = next_steps()
    assert all(command.startswith(f"{sys.executable} -m lltm_inline") for command in (show, *others))
    assert lab == f"{sys.executable} -m jupyterlab {ROOT / 'notebooks' / '00_tour.ipynb'}"
    environment = {"PATH": "", "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    shown = subprocess.run(["/bin/sh", "-c", show], env=environment, capture_output=True, text=True)
    assert LINE in shown.stdout, shown.stderr


def test_the_edited_line_is_in_the_kernel() -> None:
    """The line that the demo edits occurs once in the shipped source."""
    assert registry["lltm/fused"].cpp.count(LINE) == 1
