"""nbgrader itself reads a lab: it validates the notebook, and cuts the same lines as `make`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import lltm_inline as li
from tests.lab.shared import book, lab_in

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def nbgrader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install nbgrader into an environment of its own, on top of what is installed here."""
    home = tmp_path_factory.mktemp("nbgrader")
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    (inside,) = home.glob("lib/python*/site-packages")
    (inside / "below.pth").write_text(sysconfig.get_path("purelib"))
    install = subprocess.run(
        [home / "bin" / "pip", "install", "--quiet", "nbgrader>=0.9"], capture_output=True, text=True
    )
    if install.returncode:
        pytest.skip(f"needs nbgrader: {install.stderr[-300:]}")
    return home / "bin" / "nbgrader"


@pytest.mark.full
def test_nbgrader_validates_and_cuts(tmp_path: Path, nbgrader: Path) -> None:
    """The source notebook passes `nbgrader validate`; `generate_assignment` hands out what `make` hands out, and no secret beside it."""
    lab_in(tmp_path / "source" / "axpy")
    li.lab.make(tmp_path / "source" / "axpy")
    os.replace(tmp_path / "source" / "axpy" / "nbgrader_config.py", tmp_path / "nbgrader_config.py")
    ours = json.loads((tmp_path / "source" / "axpy" / "student" / "axpy.ipynb").read_text())

    def run(*words: str) -> str:
        environment = {
            **os.environ,
            "PATH": f"{nbgrader.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "JUPYTER_PATH": str(nbgrader.parents[1] / "share" / "jupyter"),
        }
        result = subprocess.run([nbgrader, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout + result.stderr

    notebook = book()
    notebook["cells"].insert(
        0, {**notebook["cells"][1], "id": "load", "metadata": {}, "source": "%load_ext lltm_inline"}
    )
    (tmp_path / "whole.ipynb").write_text(json.dumps(notebook))
    assert "Success" in run("validate", "whole.ipynb")
    run("generate_assignment", "axpy", "--create")
    assert [path.name for path in (tmp_path / "release" / "axpy").iterdir()] == ["axpy.ipynb"]
    theirs = json.loads((tmp_path / "release" / "axpy" / "axpy.ipynb").read_text())
    kernels = ["".join(each["cells"][1]["source"]) for each in (ours, theirs)]
    assert [line for line in kernels[0].split("\n") if line.strip()] == [
        line for line in kernels[1].split("\n") if line.strip()
    ]
    assert "A * x" not in kernels[0] and "12" not in "".join(theirs["cells"][2]["source"])
    known = [each["cells"][1]["metadata"]["nbgrader"] for each in (ours, theirs)]
    assert all(known[1][key] == value for key, value in known[0].items())
    # What a student hands in from nbgrader's notebook is found by our grader.
    (tmp_path / "submitted" / "ann" / "axpy").mkdir(parents=True)
    (tmp_path / "submitted" / "ann" / "axpy" / "axpy.ipynb").write_text(json.dumps(theirs))
    (one,) = li.lab.collect(tmp_path / "source" / "axpy", tmp_path / "submitted").submissions
    assert one.answers[0].text and not one.answers[0].not_graded and one.answers[1].reason == "there is no answer"
