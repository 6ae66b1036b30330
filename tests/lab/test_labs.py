"""The labs that ship in `notebooks/labs/`: what students get is what `make` gives, and the first one is short."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import nbformat
import pytest

import lltm_inline as li
from lltm_inline.lab import Lab, read_lab
from lltm_inline.lab.lab import speed_of
from lltm_inline.lab.making import handed_out

LABS = Path(__file__).parents[2] / "notebooks" / "labs"
NAMES = ("axpy", "lltm_backward", "matrix_product", "softmax", "tiled_product", "warp_sum")
CUDA = NAMES[3:]

every_lab = pytest.mark.parametrize("name", NAMES)


def lines(folder: Path, lab: Lab) -> Counter[str]:
    """Count the lines that stand in the files of a lab, blank ones left out."""
    texts = [data.decode() for name, data in lab.files.items() if not name.endswith(".ipynb") and name != "secret.txt"]
    texts += ["".join(cell["source"]) for cell in json.loads(lab.files[lab.notebook])["cells"]]
    return Counter(line for text in texts for line in text.replace(folder.name, "NAME").splitlines() if line.strip())


def test_they_are_there() -> None:
    """The list is complete, and none of them has a secret that everybody could read."""
    assert sorted(path.name for path in LABS.iterdir() if path.is_dir()) == list(NAMES)
    ignored = (LABS.parents[1] / ".gitignore").read_text()
    assert all(f"/notebooks/labs/*/{name}" in ignored for name in ("secret.txt", "selftest.json", "*.zip"))


@every_lab
def test_students_get_what_make_gives(name: str) -> None:
    """Each lab can be read, has wrong kernels, and its starter is cut from its notebook as it is now."""
    lab = read_lab(LABS / name)
    student = nbformat.read(LABS / name / "student" / lab.notebook, as_version=4)
    nbformat.validate(student)
    ours = nbformat.from_dict(handed_out(lab))
    assert [(cell.cell_type, "".join(cell.source), cell.metadata) for cell in ours.cells] == [
        (cell.cell_type, cell.source, cell.metadata) for cell in student.cells
    ]
    assert all(len(exercise.wrong) >= 2 for exercise in lab.exercises)
    known = [cell.metadata.nbgrader for cell in student.cells if cell.metadata]
    assert {one.points for one in known if one.grade} == {cell.of for cell in lab.cells}


@pytest.mark.parametrize("name", CUDA)
def test_labs_of_cuda(name: str) -> None:
    """Each criterion but those that a text cannot fail alone has a wrong kernel; the starter is right, and asks too much of memory."""
    (exercise,) = read_lab(LABS / name).exercises
    assert exercise.kind == "cuda" and all(file.endswith(".cu") for file in exercise.wrong)
    fallen = {criterion for _, criterion, _ in exercise.wrong.values()}
    assert set(exercise.points) - fallen <= {"builds"} and fallen <= set(exercise.points)
    slow = [text for text, criterion, _ in exercise.wrong.values() if criterion.startswith("sectors")]
    assert [text.partition("\n")[2].strip() for text in slow] == [exercise.starter.strip()]


def test_the_lab_about_speed_compares_with_what_students_get() -> None:
    """Its baseline is the starter, and each criterion of speed has a wrong kernel that is right and too slow for it."""
    (exercise,) = read_lab(LABS / "matrix_product").exercises
    assert exercise.baseline.strip() == exercise.starter.strip()
    fallen = {criterion for _, criterion, _ in exercise.wrong.values()}
    assert {"speed 3"} == {name for name in fallen | set(exercise.points) if speed_of(name)}


def test_the_first_lab_takes_forty_lines(tmp_path: Path) -> None:
    """What an instructor has written of the axpy lab, beyond what `new` makes, is forty lines at most."""
    li.lab.new(tmp_path / "first", "axpy")
    made, ours = lines(tmp_path / "first", read_lab(tmp_path / "first")), lines(LABS / "axpy", read_lab(LABS / "axpy"))
    assert 0 < (ours - made).total() <= 40
