"""Lesson 00 in a real JupyterLab, from the first cell to the panel at its end, as `make lab` shows it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.page import NotebookPage
from tests.browser.panel import Panel

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[2]


def tagged(book: nbformat.NotebookNode, tag: str) -> list[int]:
    """Return the cells that have a tag."""
    return [index for index, cell in enumerate(book.cells) if tag in cell.metadata.get("tags", ())]


def test_make_lab_opens_the_lesson() -> None:
    """`make lab` starts JupyterLab where the lessons are, on the first of them, and lets nothing ask for news."""
    command = ["make", "-C", str(ROOT), "-n", "lab", "VENV=no-such-environment", f"PYTHON={sys.executable}"]
    plan = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    opened = re.search(r"jupyter lab --notebook-dir=notebooks --LabApp.default_url=/lab/tree/(00_\S+)", plan)
    assert opened and (ROOT / "notebooks" / opened[1]).exists() and "--LabApp.news_url=None" in plan
    assert '"fetchNews": "false"' in plan, "a home without settings is not asked"


def test_lesson_runs_to_its_end(notebook: NotebookPage) -> None:
    """Run All reaches the panel; only cells that are meant to fail do; an exercise solved by hand turns advice into praise."""
    (lesson,) = (ROOT / "notebooks").glob("00_*.ipynb")
    shutil.copy(lesson, notebook.lab.folder)
    book = nbformat.read(lesson, as_version=4)
    notebook.open(lesson.name)
    notebook.shot("lesson-opened")
    notebook.wide()
    notebook.run_all()
    code = [index for index, cell in enumerate(book.cells) if cell.cell_type == "code"]
    assert all(notebook.counts()[index] for index in code)
    assert notebook.failed() == tagged(book, "raises-exception")
    checks = tagged(book, "self-check")
    assert all("not yet" in notebook.text(index).lower() for index in checks)
    notebook.whole("lesson-run")
    solution = re.search(r"```python\n(.*?)\n```", book.cells[tagged(book, "solution")[0]].source, re.DOTALL)
    assert solution
    exercise = tagged(book, "exercise")[0]
    notebook.write(exercise, solution[1])
    notebook.run(exercise)
    assert "not yet" not in notebook.run(checks[0]).lower()
    panel = Panel(notebook, code[-1])
    expect(panel.editor()).to_contain_text("#include")
    notebook.dark()
    notebook.whole("lesson-solved-dark")
