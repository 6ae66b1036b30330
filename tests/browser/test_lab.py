"""The tests' own tools: JupyterLab opens, runs cells, restarts, changes its theme, and asks nobody for anything."""

from __future__ import annotations

from typing import Any

import psutil
import pytest

from tests.browser import chromium
from tests.browser.lab import running_lab
from tests.browser.page import NotebookPage


@pytest.mark.full
def test_cells_run_in_a_real_lab(notebook: NotebookPage) -> None:
    """Run All, an edit with Shift-Enter, a restart and a reload do what a person expects of them."""
    notebook.open(notebook.lab.write("tools.ipynb", ["import os\nx = 6 * 7", "print(x, os.getpid())"]))
    notebook.run_all()
    answer, pid = notebook.text(1).split()
    assert answer == "42"
    notebook.write(1, "print(x + 1)")
    assert notebook.run(1).strip() == "43" and notebook.source(1) == "print(x + 1)"
    notebook.restart()
    assert "NameError" in notebook.run(1) and not psutil.pid_exists(int(pid))
    notebook.save()
    notebook.reload()
    assert "NameError" in notebook.text(1)
    notebook.dark()
    assert notebook.shot("tools").stat().st_size > 10_000


@pytest.mark.full
def test_nothing_is_left_of_a_lab(tmp_path: Any) -> None:
    """A Lab writes below its folder only, answers with a token only, and leaves no process."""
    with running_lab(tmp_path) as lab:
        process = psutil.Process(lab.pid)
        assert lab.folder.is_relative_to(tmp_path) and len(lab.token) > 20
        lab.reset()
    assert not process.is_running()


def test_missing_chromium_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Without a Chromium the reason is one sentence with the cure; a named program is taken before PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LLTM_INLINE_CHROMIUM", raising=False)
    assert chromium.find_chromium() is None and "apt-get install chromium" in chromium.CURE
    program = tmp_path / "my-chrome"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("LLTM_INLINE_CHROMIUM", str(program))
    assert chromium.find_chromium() == str(program)
