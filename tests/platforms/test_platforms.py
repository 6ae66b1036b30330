"""The page about platforms says what was tried, each platform that is promised has its row, and a trial can fail."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.platforms import __main__ as platforms
from tests.platforms.__main__ import runs_of, walk_all
from tests.platforms.environments import ENVIRONMENTS, NOT_TRIED, REQUIREMENTS, ROOT, find_python, floors
from tests.platforms.page import PAGE, RESULTS, page
from tests.platforms.walk import CELLS

TRIALS = json.loads(RESULTS.read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WALK = Path(__file__).with_name("walk.py")


def test_the_page_is_made_of_the_results() -> None:
    """docs/platforms.md is what the last whole run has written."""
    assert PAGE.read_text() == page()


@pytest.mark.parametrize("trial", TRIALS, ids=[trial["environment"] for trial in TRIALS])
def test_every_cell_was_right(trial: dict[str, object]) -> None:
    """All cells ran and were right, and the install changed no package that was there."""
    cells = {cell["cell"]: cell["right"] for cell in trial["cells"]}  # type: ignore[attr-defined]
    assert set(cells) >= {cell.name for cell in CELLS} and all(cells.values())
    untouched = {each.name for each in ENVIRONMENTS if each.untouched}
    assert untouched == {"Colab", "Kaggle"}
    assert trial["environment"] not in untouched or trial["changed"] == []


def test_what_is_promised_has_a_row_or_is_said_to_be_untried() -> None:
    """Each Python and torch that is promised has its row, the oldest of both and Colab's among them, or the page names it as not tried."""
    known = [trial["environment"] for trial in TRIALS]
    assert known == [each.name for each in ENVIRONMENTS if each.name in known]
    assert [each.name for each in ENVIRONMENTS if each.ci] == ["oldest", "Colab", "newest"] and {
        "oldest",
        "Colab",
        "newest",
    } <= {*known}
    tried = {f"Python {trial['versions']['python']}" for trial in TRIALS}
    tried |= {f"torch {'.'.join(trial['versions']['torch'].split('.')[:2])}" for trial in TRIALS}
    untried = {*NOT_TRIED, *(each.name for each in ENVIRONMENTS if each.name not in known)}
    promised = {f"Python 3.{minor}" for minor in range(11, 15)} | {f"torch 2.{minor}" for minor in range(10, 16)}
    assert tried | untried >= promised and not tried & untried
    assert PROJECT["requires-python"] == ">=3.11" and "torch>=2.10" in PROJECT["dependencies"]


def test_the_oldest_are_the_bounds() -> None:
    """The constraints of the environment with the oldest versions are the bounds of pyproject.toml, and no bound is an upper one."""
    assert "jinja2==3.1.*" in floors() and not any(">" in each or each.startswith("torch") for each in floors())
    bounds = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["jupyter"]]
    assert all(re.fullmatch(r"[\w-]+>=[\d.]+", each) for each in bounds)
    assert all((REQUIREMENTS / f"{each.before}.txt").exists() for each in ENVIRONMENTS)


def test_pythons_are_found_by_their_version() -> None:
    """The one that runs this is found, and none of a version that there is not."""
    assert find_python(f"3.{sys.version_info[1]}") is not None
    assert find_python("3.99") is None


def test_each_cell_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process or another; the first, which loads the magics, in each, and what is wrong in one of them is wrong."""
    for environment in ENVIRONMENTS:
        runs = runs_of(environment)
        if environment.how == "kernel":
            found = [
                CELLS[0].name,
                *(cell.name for _, first, last in runs[:2] for cell in CELLS[int(first) : int(last)]),
            ]
            assert found == [cell.name for cell in CELLS]
        assert bool(environment.notebook) == (runs[-1][0] == "notebook")
    said = {"early": [("a", True), ("b", True)], "late": [("a", False), ("c", True)]}
    walked = {run: [{"cell": cell, "right": right} for cell, right in cells] for run, cells in said.items()}
    monkeypatch.setattr(platforms, "walk", lambda name, python, compiler, run, home: walked[run[0]])
    cells = walk_all("one", "python", "g++", [("early",), ("late",)], "home")
    assert [(cell["cell"], cell["right"]) for cell in cells] == [("a", False), ("b", True), ("c", True)]


def test_a_trial_can_fail(tmp_path: Path) -> None:
    """A cell that shows something else than it should, or raises where it must not, is reported with what it showed."""
    cells = [
        {"cell_type": "code", "source": ["print(6 * 7)"], "metadata": {"shows": {"pattern": "^42$"}}},
        {"cell_type": "code", "source": ["print(6 * 7)"], "metadata": {"shows": {"pattern": "43"}}},
        {"cell_type": "code", "source": ["1 / 0"], "metadata": {}},
        {
            "cell_type": "code",
            "source": ["1 / 0"],
            "metadata": {"shows": {"pattern": "ZeroDivisionError", "fails": True}},
        },
    ]
    book = tmp_path / "book.ipynb"
    book.write_text(json.dumps({"cells": cells}))
    done = subprocess.run(
        [sys.executable, str(WALK), "notebook", str(book)], cwd=tmp_path, capture_output=True, text=True
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1 and [each["right"] for each in found] == [True, False, False, True], done.stderr
    assert found[1]["shown"].strip() == "42" and "division by zero" in found[2]["shown"]
