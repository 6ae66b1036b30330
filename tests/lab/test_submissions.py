"""What students hand in is read without running it; whatever one of them does to a notebook touches nobody else."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline.errors import FileError, InputError
from lltm_inline.lab.cells import MOST_BYTES
from lltm_inline.lab.making import book_of
from lltm_inline.lab.submissions import Submission
from tests.lab.shared import KERNEL, book, hand_in, lab_in


def notes(one: Submission) -> list[str]:
    """Return what is said of each answer."""
    return [answer.not_graded or answer.reason for answer in one.answers]


def collected(tmp_path: Path, source: Path) -> dict[str, Submission]:
    """Read a folder by the lab of these tests."""
    return {one.student: one for one in li.lab.collect(lab_in(tmp_path / "lab"), source).submissions}


def _nbgrader(root: Path) -> Path:
    for student, when in (("ann", "2026-11-20 10:00:00.5 UTC"), ("bob", "2026-11-20 12:00:00+02:00\n")):
        for task in ("axpy", "other"):
            hand_in(root / "submitted" / student)
            hand_in(root / "submitted" / student / task, axpy=book(moved=f"moved = {len(task)}"))
            (root / "submitted" / student / task / "timestamp.txt").write_text(when)
    return root


def _flat(root: Path) -> Path:
    return hand_in(root, ann=book(moved="4"), bob=book(moved="moved = 4"))


def _folders(root: Path) -> Path:
    for student in ("ann", "bob"):
        hand_in(root)
        hand_in(root / student, axpy=book(moved="moved=4"), notes={"nbformat": 3})
    return root


def _zipped(form: Callable[[Path], Path], whole: bool) -> Callable[[Path], Path]:
    def make(root: Path) -> Path:
        root.mkdir()
        folder = form(root / "class")
        with zipfile.ZipFile(root / "class.zip", "w") as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(root if whole else folder))
        return root / "class.zip"

    return make


FORMS = {
    "folder": _flat,
    "folders": _folders,
    "nbgrader": _nbgrader,
    "submitted": lambda root: _nbgrader(root) / "submitted",
    "zip": _zipped(_flat, False),
    "zip of folders": _zipped(_folders, False),
    "zip of a folder": _zipped(_folders, True),
    "zip of nbgrader's": _zipped(_nbgrader, True),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_forms(tmp_path: Path, form: Callable[[Path], Path]) -> None:
    """The same class comes out of every form in which it is handed on."""
    (tmp_path / "class").mkdir()
    found = collected(tmp_path, form(tmp_path / "class" / "form"))
    assert list(found) == ["ann", "bob"]
    for one in found.values():
        kernel, value = one.answers
        assert "A * x + y" in kernel.text and kernel.params == {"A": 2} and value.text == "4" and notes(one) == ["", ""]
    if form in (FORMS["nbgrader"], FORMS["submitted"], FORMS["zip of nbgrader's"]):
        assert {one.handed_in for one in found.values()} == {"2026-11-20T10:00:00+00:00"}


def test_gradescope(tmp_path: Path) -> None:
    """Gradescope mounts one submission; its metadata say whose it is and when it was handed in."""
    hand_in(tmp_path / "at")
    hand_in(tmp_path / "at" / "submission", anything=book())
    hand_in(tmp_path / "at" / "source", axpy=book())
    users = [{"id": 1, "name": "Ann", "email": "ann@example.org"}, {"id": 2, "name": "Bob", "email": ""}]
    known = {"created_at": "2026-11-20T10:00:00.365935-07:00", "users": users, "assignment": {"due_date": "2018"}}
    (tmp_path / "at" / "submission_metadata.json").write_text(json.dumps(known))
    ((student, one),) = collected(tmp_path, tmp_path / "at").items()
    assert student == "Bob, ann@example.org" and one.handed_in == "2026-11-20T17:00:00+00:00" and notes(one) == ["", ""]
    (tmp_path / "at" / "submission_metadata.json").write_text('{"users": 3}')
    with pytest.raises(InputError, match="not as Gradescope writes it"):
        collected(tmp_path, tmp_path / "at")


TEXT = "at::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return A * x + y; }\n"
PYTHON = f"""import torch
from torch.utils.cpp_extension import load_inline

raise SystemExit("it was run")
text = {TEXT!r}
module = load_inline("mine", cpp_sources=[text], functions=["forward"])
"""
#: The files of a class of one, and what is said of it: the text is taken, or why not.
TEXTS = {
    "a file of the student's name": ({"ann.cpp": TEXT}, ""),
    "CS149": ({"ann/submission.cpp": TEXT, "ann/README.md": "#", "ann/other.cpp": "int n;"}, ""),
    "KernelBot": ({"ann/submission.py": PYTHON, "ann/reference.py": "1", "ann/task.yml": ""}, ""),
    "the cell's name": ({"ann/axpy.cpp": TEXT, "ann/more.cpp": ""}, ""),
    "the only one": ({"ann/mine.cpp": TEXT, "ann/mine.cu": "nothing of this lab's"}, ""),
    "nbgrader's folders": ({"submitted/ann/axpy/submission.cpp": TEXT, "submitted/ann/other/submission.cpp": ""}, ""),
    "GitHub Classroom": ({"hw-submissions/hw-ann/submission.cpp": TEXT, "hw-submissions/hw-ann/.git/x.cpp": ""}, ""),
    "two of them": (
        {"ann/submission.cpp": TEXT, "ann/submission.py": PYTHON},
        "2 kernels, want one: 'ann/submission.cpp', 'ann/submission.py'",
    ),
    "none of its kind": ({"ann/submission.cu": TEXT}, "there is no answer"),
    "no text": ({"ann.cpp": b"\xff"}, "'ann.cpp' cannot be read: 'utf-8' codec can't decode byte 0xff"),
    "no Python": ({"ann.py": "load_inline("}, "'ann.py' cannot be read: '(' was never closed"),
    "too much": ({"ann.py": "1+" * 100_001}, "'ann.py' has more than 200000 letters"),
    "too deep": ({"ann.py": "-" * 100_000 + "1"}, "'ann.py' cannot be read: "),
    "an escape": ({"ann.py": PYTHON.replace("it was run", "\\d")}, ""),
    "a text that is made": (
        {"ann.py": PYTHON.replace("[text]", "text + text")},
        "'ann.py' is not run, and has no one load_inline(..., cpp_sources=...) with a plain string",
    ),
}


@pytest.mark.parametrize(("files", "said"), TEXTS.values(), ids=list(TEXTS))
def test_texts_without_a_notebook(tmp_path: Path, files: dict[str, str | bytes], said: str) -> None:
    """A kernel by itself is read as if it stood in the cell that was handed out; a value has no answer then."""
    for name, text in files.items():
        path = tmp_path / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    cloned = tmp_path / "class" / "hw-submissions"
    ((student, one),) = collected(tmp_path, cloned if cloned.exists() else tmp_path / "class").items()
    kernel, value = one.answers
    assert student == "ann" and notes(one)[0].startswith(said) and not one.rewritten
    if not said:
        assert notes(one) == ["", "there is no answer"]
        assert (kernel.text, kernel.params, value.text) == (TEXT, {"A": 2}, "")


def test_a_notebook_counts_where_there_is_one(tmp_path: Path) -> None:
    """What else lies in the folder is the student's own, and somebody else's text is another submission."""
    hand_in(tmp_path / "class")
    hand_in(tmp_path / "class" / "ann", axpy=book(moved="4"))
    (tmp_path / "class" / "ann" / "submission.cpp").write_text("int n;")
    (tmp_path / "class" / "bob.cpp").write_text(TEXT)
    found = collected(tmp_path, tmp_path / "class")
    assert "A * x + y" in found["ann"].answers[0].text and found["bob"].answers[0].text == TEXT
    assert found["ann"].answers[0].text.startswith("\n"), "line n of a text is line n of its cell"


def _doubled() -> dict[str, Any]:
    notebook = book()
    notebook["cells"].append(notebook["cells"][1])
    return notebook


def _retyped() -> dict[str, Any]:
    notebook = book()
    notebook["cells"][1]["cell_type"] = "markdown"
    return notebook


def _changed(**cell: Any) -> dict[str, Any]:
    notebook = book()
    notebook["cells"][1] |= cell
    return notebook


NOT_GRADED = {
    "no JSON": (b"{", "no notebook"),
    "bytes": (b"\xff\xfe\x00", "no notebook"),
    "deep": (b"[" * 100_000, "no notebook"),
    "a list": ([], "format None, want 4"),
    "version 3": ({"nbformat": 3, "worksheets": []}, "format 3, want 4"),
    "version 5": ({"nbformat": 5, "cells": []}, "format 5, want 4"),
    "no cells": ({"nbformat": 4}, "no list of cells"),
    "odd cells": ({"nbformat": 4, "cells": [3]}, "no list of cells"),
    "missing": ({"nbformat": 4, "cells": []}, "cell 'axpy' is missing"),
    "doubled": (_doubled(), "cell 'axpy' is there 2 times"),
    "retyped": (_retyped(), "cell 'axpy' is a 'markdown' cell"),
    "no metadata": (_changed(metadata=[]), "cell 'axpy' is missing"),
    "no text": (_changed(source=[3]), "cell 'axpy' has no text"),
    "too long": (_changed(source="%%kernel axpy/mine\n" + "/" * 300_000), "letters, want at most"),
    "large": (b" " * (MOST_BYTES + 1), "more than 16: clear its outputs"),
}
NOTHING = {
    "empty": (_changed(source=""), "there is no answer"),
    "first line alone": (_changed(source="%%kernel axpy/mine"), "there is no answer"),
    "Python": (_changed(source="import os\nos.system('id')"), "want %%kernel"),
    "Python below": (_changed(source="%%kernel axpy/mine\nimport os\n"), "looks like Python"),
    "another kernel": (book(KERNEL.replace("axpy/mine", "axpy/cpp")), "makes 'axpy/cpp', want axpy/mine"),
    "another param": (book(KERNEL.replace("A=2", "A=2 B=3")), "--params B=3 cannot be set here. Params: A"),
    "flags": (book(KERNEL.replace("--check", "--flags -fplugin=x.so")), "--flags cannot be graded"),
    "saves": (book(KERNEL.replace("--check", "--saves x")), "other options than it was handed out with"),
    "CUDA": (book(KERNEL.replace("--check", "--kind cuda")), "is a cuda text, want cpp"),
    "binding": (book(KERNEL.replace("--check", "--kind binding")), "binding cannot be graded"),
    "unknown option": (book(KERNEL.replace("--check", "--chek")), "no option '--chek'"),
}


@pytest.mark.parametrize("name", [*NOT_GRADED, *NOTHING])
def test_one_bad_notebook(tmp_path: Path, name: str) -> None:
    """It is not graded, or earns nothing, and says why; the other student's is as good as before."""
    content, says = {**NOT_GRADED, **NOTHING}[name]
    found = collected(tmp_path, hand_in(tmp_path / "class", ann=content, bob=book()))
    answer = found["ann"].answers[0]
    assert says in (answer.not_graded if name in NOT_GRADED else answer.reason) and not answer.text
    assert not (answer.not_graded and answer.reason)
    assert notes(found["bob"]) == ["", ""]


def test_a_locked_cell_that_was_rewritten(tmp_path: Path) -> None:
    """It is told, of the student whose it is: what stands in it is not what is graded. Blanks and ends of lines are no change."""
    locked = {"grade_id": "op", "locked": True}
    ours, same, theirs, gone = (book() for _ in range(4))
    for one, text in ((ours, "x = 1\ny = 2"), (same, "x = 1\r\ny = 2\n"), (theirs, "x = 3")):
        one["cells"] += book_of([("code", text, locked)])["cells"]
    lab = lab_in(tmp_path / "lab", notebook=ours)
    found = li.lab.collect(lab, hand_in(tmp_path / "in", ann=same, bob=theirs, cid=gone))
    assert {one.student: one.rewritten for one in found.submissions} == {"ann": (), "bob": ("op",), "cid": ("op",)}
    assert str(found).count("locked cells were rewritten: op") == 2


def test_half_a_character(tmp_path: Path) -> None:
    """What no file can hold is a question mark: one such text would keep the class from its reports."""
    content = book(f"{KERNEL}// \ud800", "moved = 12  # \udfff")
    kernel, value = collected(tmp_path, hand_in(tmp_path / "class", ann=content))["ann"].answers
    assert kernel.text.encode().endswith(b"// ?\n") and value.text == "12"


def test_many_cells(tmp_path: Path) -> None:
    """Ten thousand cells hide nothing."""
    notebook = book()
    notebook["cells"] += [notebook["cells"][0]] * 10_000
    assert notes(collected(tmp_path, hand_in(tmp_path / "class", ann=notebook))["ann"]) == ["", ""]


def test_large_outputs_are_not_read(tmp_path: Path) -> None:
    """A notebook of 100 MB is refused by its size; no byte of it is read."""
    path = hand_in(tmp_path / "class", bob=book()) / "ann.ipynb"
    path.touch()
    os.truncate(path, 100_000_000)
    assert "has 95 MiB" in notes(collected(tmp_path, tmp_path / "class")["ann"])[0]


def test_values(tmp_path: Path) -> None:
    """A value is a literal; what calls something is no answer."""
    given = {"ann": "moved = 12", "bob": "moved = 6 * 2", "cat": "moved = ...", "dan": "import os"}
    found = collected(tmp_path, hand_in(tmp_path / "class", **{name: book(moved=text) for name, text in given.items()}))
    assert [found[name].answers[1].text for name in given] == ["12", "", "", ""]
    assert ["want one value" in notes(found[name])[1] for name in given] == [False, True, False, True]
    assert notes(found["cat"])[1] == "there is no answer"


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link is no submission, wherever it leads: not to another student's notebook, and not out of the folder."""
    folder = hand_in(tmp_path / "class", bob=book())
    hand_in(tmp_path / "elsewhere", axpy=book())
    (folder / "ann.ipynb").symlink_to("bob.ipynb")
    (folder / "cat").symlink_to(tmp_path / "elsewhere")
    (folder / "dan").mkdir()
    (folder / "dan" / "axpy.ipynb").symlink_to("/etc/passwd")
    os.mkfifo(folder / "eve.ipynb")
    found = collected(tmp_path, folder)
    assert list(found) == ["ann", "bob", "cat", "dan", "eve"]
    assert ["is a link" in notes(found[name])[0] for name in found] == [True, False, True, True, False]
    assert "is no file" in notes(found["eve"])[0]


def test_names(tmp_path: Path) -> None:
    """Names are what they are: with quotes, formulas and newlines; those that a person takes for one are told apart by nobody."""
    folder = hand_in(
        tmp_path / "class",
        **{"=1+1": book(), 'a"b\nc': book(), "Zoë": book(), "Zoe\u0308": book(), "X": book(), "x": book()},
    )
    found = li.lab.collect(lab_in(tmp_path / "lab"), folder)
    by = {one.student: notes(one)[0] for one in found.submissions}
    assert by["=1+1"] == by['a"b\nc'] == ""
    assert len(by) == 6 and sum("2 students of one name" in said for said in by.values()) == 4
    assert str(found).count("\n") == 1 + len(by)


def test_several_notebooks_of_one(tmp_path: Path) -> None:
    """Of several notebooks the one with the lab's name counts; without it nobody guesses. An empty folder is told."""
    hand_in(tmp_path / "class")
    hand_in(tmp_path / "class" / "ann", axpy=book(), draft=book())
    hand_in(tmp_path / "class" / "bob", one=book(), two=book())
    (tmp_path / "class" / "cat").mkdir()
    found = collected(tmp_path, tmp_path / "class")
    assert notes(found["ann"]) == ["", ""]
    assert notes(found["bob"])[0] == "2 notebooks, want one: 'bob/one.ipynb', 'bob/two.ipynb'"
    assert notes(found["cat"])[0] == "there is no notebook in the folder"


def test_what_lies_elsewhere_is_not_lost(tmp_path: Path) -> None:
    """A copy beside the notebook, a file beside the folder, a folder too deep, a name in capitals: told, and nothing is guessed."""
    hand_in(tmp_path / "class", dup=book())
    hand_in(tmp_path / "class" / "dup", axpy=book())
    hand_in(tmp_path / "class" / "yan", **{"axpy": book(), "axpy (1)": book()})
    hand_in(tmp_path / "class" / "xi" / "sub", axpy=book())
    hand_in(tmp_path / "class", cap=book())
    (tmp_path / "class" / "cap.ipynb").rename(tmp_path / "class" / "cap.IPYNB")
    found = collected(tmp_path, tmp_path / "class")
    assert notes(found["dup"])[0] == "2 notebooks, want one: 'dup.ipynb', 'dup/axpy.ipynb'"
    assert notes(found["yan"])[0] == "2 notebooks, want one: 'yan/axpy (1).ipynb', 'yan/axpy.ipynb'"
    assert notes(found["xi"])[0] == "no notebook of the lab in the student's folder; there is 'xi/sub/axpy.ipynb'"
    assert notes(found["cap"])[0] == ""


def test_zips_that_lie(tmp_path: Path) -> None:
    """A bomb is not unpacked, a path that leads out and a link are refused, and a name that is there twice is nobody's."""
    path = tmp_path / "class.zip"
    link = zipfile.ZipInfo("eve.ipynb")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ann.ipynb", b" " * (MOST_BYTES + 1))
        archive.writestr("../bob.ipynb", json.dumps(book()))
        archive.writestr(link, "/etc/passwd")
        archive.writestr("cat.ipynb", json.dumps(book()))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("cat.ipynb", json.dumps(book()))
        archive.writestr("dan.ipynb", json.dumps(book()))
    found = {student: notes(one)[0] for student, one in collected(tmp_path, path).items()}
    assert "clear its outputs" in found.pop("ann") and "is a link" in found.pop("eve")
    assert found.pop("cat").startswith("2 notebooks") and found.pop("dan") == ""
    assert ["leads out of the zip" in said for said in found.values()] == [True]


def test_a_zip_with_a_wrong_head(tmp_path: Path) -> None:
    """Whatever size the head of a member states, no more is unpacked than a notebook may have."""
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ann.ipynb", b" " * 3 * MOST_BYTES)
        archive.writestr("bob.ipynb", json.dumps(book()))
    size = (3 * MOST_BYTES).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (100).to_bytes(4, "little")))
    found = collected(tmp_path, path)
    assert notes(found["ann"])[0] and notes(found["bob"]) == ["", ""]


def test_no_submissions(tmp_path: Path) -> None:
    """An empty folder, a missing one, and what is no zip are refused."""
    (tmp_path / "class").mkdir()
    with pytest.raises(InputError, match="no notebook of any student in it"):
        collected(tmp_path, tmp_path / "class")
    with pytest.raises(FileError, match="no such folder or zip"):
        collected(tmp_path, tmp_path / "nothing")
    (tmp_path / "class.zip").write_bytes(b"no zip")
    with pytest.raises(InputError, match="is no zip"):
        collected(tmp_path, tmp_path / "class.zip")
