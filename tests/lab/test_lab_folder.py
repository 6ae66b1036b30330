"""A lab's folder is read, made, and made into what is handed out; each mistake in it is named with its file and field."""

from __future__ import annotations

import copy
import json
import linecache
import pickle
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest

import lltm_inline as li
from lltm_inline.__main__ import main
from lltm_inline.errors import DefinitionError, FileError, InputError, UnknownKernelError
from lltm_inline.lab import making
from lltm_inline.lab.cells import cut, kernel_cell, value_of
from lltm_inline.lab.lab import CUDA_CHECKS, count_of, read_lab
from lltm_inline.lab.making import handed_out
from tests.lab.shared import KERNEL, TOML, book, hand_in, lab_in
from tests.tiny import forget

OWN_OP = """
import lltm_inline as li

OP = li.Op("gate", "(Tensor x) -> Tensor y", lambda x: x.sigmoid(), {"x": "...", "y": "..."}, doc="sigmoid")
li.registry.register(OP)
"""


def test_what_stands_in_a_lab(tmp_path: Path) -> None:
    """Each field of lab.toml arrives, and solution, starter and answer come out of the notebook."""
    wrong = "// parity: forgets y\n" + KERNEL.partition("\n")[2].replace(" + y", "")
    lab = lab_in(tmp_path, wrong__axpy_dot_forgets_dot_cpp=wrong)
    (exercise,), (question,) = lab.exercises, lab.questions
    assert (lab.name, lab.due, lab.late, lab.limits.seconds, lab.of) == (
        "axpy",
        "2026-11-20T12:00:00+00:00",
        0.25,
        10,
        9,
    )
    assert (exercise.kernel, exercise.params, exercise.of) == ("axpy/mine", ("A",), 7)
    assert exercise.solution[1] == {"A": 2} and "A * x + y" in exercise.solution[0]
    assert "SOLUTION" not in exercise.starter and "A * x" not in exercise.starter
    assert exercise.wrong["axpy.forgets.cpp"][1:] == ("parity", "forgets y")
    assert (question.answer, question.tolerance) == (12, 0.5)
    assert str(lab) == "lab axpy: axpy (7), moved (2); 9 points, due 2026-11-20T12:00:00+00:00"
    assert lab.secret.decode() not in repr(lab)


def test_a_lab_is_a_value(tmp_path: Path) -> None:
    """A copy is equal and has the digest; any change of any file but the selftest's record gives another digest."""
    lab = lab_in(tmp_path)
    for other in (pickle.loads(pickle.dumps(lab)), copy.deepcopy(lab), read_lab(tmp_path)):
        assert other == lab and other.digest == lab.digest and other.exercises[0].op == lab.exercises[0].op
    (tmp_path / "selftest.json").write_text("{}")
    assert read_lab(tmp_path).digest == lab.digest
    (tmp_path / "secret.txt").write_text("11" * 32)
    assert read_lab(tmp_path).digest != lab.digest


def test_op_of_its_own(tmp_path: Path) -> None:
    """An op that the lab brings is executed for the judge, again and again, and is not registered."""
    kernel = KERNEL.replace("axpy/mine", "gate/mine").replace("A * x + y", "x.sigmoid()").replace("--params A=2", "")
    toml = TOML.replace("axpy/mine", "gate/mine").replace('params = ["A"]\n', "")
    lab = lab_in(tmp_path, toml, book(kernel), op_dot_py=OWN_OP)
    assert lab.exercises[0].op.name == "gate" and "gate" not in li.registry.ops
    assert pickle.loads(pickle.dumps(lab)).exercises[0].op.name == "gate"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("format = 1", "format = 9", "lab.toml: format=9, and this lltm_inline reads format 1"),
        ("format = 1\n", "", "lab.toml: field 'format' is missing"),
        ('name = "axpy"', 'name = "a/b"', "name='a/b', want up to 64 letters"),
        ("late = 0.25", "late = 2", "late=2, want a finite number of at most 1"),
        ("late = 0.25", "late = -1", "late=-1, want a share from 0 to 1"),
        ("late", "lat", r"unknown field 'lat'. Did you mean 'late'\? Fields: late, "),
        ("2026-11-20T12:00:00Z", "2026-11-20", "want a time with its zone, such as 2026-12-01T23:59:00Z"),
        ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00", "want a time with its zone"),
        ("[limits]\nseconds = 10", "limits = 3", "limits=3, want a table"),
        ("seconds = 10", "seconds = 0", r"\[limits\]: seconds=0, want a positive, finite number"),
        ("axpy.ipynb", "other.ipynb", "notebook='other.ipynb', and there is no such file"),
        ("axpy/mine", "nothing/mine", "no such op, neither in op.py nor among "),
        ("axpy/mine", "axpy", r"\[exercises.axpy\]: kernel='axpy', and the cell 'axpy' of the notebook makes 'axpy/mine'"),
        ("axpy/mine", "axpy/other", "makes 'axpy/mine'"),
        ("builds = 1", "build = 1", r"points of 'build'. Did you mean 'builds'\? Criteria: builds, signature, parity, gradient x"),
        ("builds = 1", "builds = true", "points.builds=True, want a finite number"),
        ("builds = 1", "builds = -1", "points.builds=-1, want a number of 0 or more"),
        ("builds = 1", '"speed 2" = 1', "points for 'speed 2' need a baseline"),
        ("builds = 1", '"speed 0" = 1', r"points of 'speed 0'. Did you mean 'speed 2'\?"),
        ("builds = 1", "forbidden = 1", "points for 'forbidden' need a list"),
        ('params = ["A"]', 'params = "A"', "params='A' is a string, want a tuple of strings"),
        ('params = ["A"]', 'baseline = "b.cpp"', "baseline='b.cpp', and there is no such file"),
        ("[exercises.axpy]", "[exercises.other]", "cell 'other' is missing"),
        ("[values.moved]", "[values.axpy]", "want one value"),
        ("points = 2", "points = 0", r"\[values.moved\]: points=0, want a positive, finite number"),
        ("format = 1", "format = ", "lab.toml is no TOML"),
    ],
)  # fmt: skip
def test_a_field_that_is_wrong(tmp_path: Path, old: str, new: str, says: str) -> None:
    """A field that is missing, unknown or wrong is refused by the name of the file and the field."""
    assert old in TOML
    with pytest.raises(DefinitionError, match=says) as refused:
        lab_in(tmp_path, TOML.replace(old, new))
    assert str(tmp_path) in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("wrong__axpy_dot_a_dot_cpp", "int x;", "axpy.a.cpp, line 1: want the criterion by which it must fall"),
        (
            "wrong__axpy_dot_a_dot_cpp",
            "// safety: no points\nint x;",
            "line 1: .* Those that have points: builds, parity, gradient x",
        ),
        ("wrong__other_dot_a_dot_cpp", "// parity: no\n", "want the name GRADE_ID.NAME.cpp, or .cu. Exercises: axpy"),
        ("op_dot_py", "OP = 3\n", "op.py defines no op"),
        ("op_dot_py", "OP = li.Op()\n", "NameError: name 'li' is not defined. It must run by itself"),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, name: str, text: str, says: str) -> None:
    """A wrong kernel says by what it falls; an op.py defines an op."""
    with pytest.raises(DefinitionError, match=says):
        lab_in(tmp_path, **{name: text})


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (KERNEL.replace("// END SOLUTION", ""), "// BEGIN SOLUTION without // END SOLUTION"),
        (KERNEL.replace("// BEGIN SOLUTION", ""), "line 7: // END SOLUTION without the one before it"),
        (
            KERNEL.replace("  // BEGIN SOLUTION\n", "").replace("  // END SOLUTION\n", ""),
            "has no lines from // BEGIN SOLUTION",
        ),
        (KERNEL.replace("--check", "--from axpy/cpp"), "--from cannot be graded"),
        (KERNEL.replace("--check", "--flags -O1"), "--flags cannot be graded"),
        ("print(1)", "begins with 'print\\(1\\)', want %%kernel"),
    ],
)
def test_a_cell_that_is_wrong(tmp_path: Path, kernel: str, says: str) -> None:
    """The instructor's cell has a solution, in marks that fit, and no options that a lab has no use for."""
    with pytest.raises(DefinitionError, match=says):
        lab_in(tmp_path, notebook=book(kernel))


def test_no_lab(tmp_path: Path) -> None:
    """What is no lab is refused: a folder without lab.toml, a file that is no zip, nothing at all."""
    with pytest.raises(FileError, match=r"no lab.toml in it"):
        read_lab(tmp_path)
    with pytest.raises(FileError, match="no such lab"):
        read_lab(tmp_path / "lab.zip")
    (tmp_path / "lab.zip").write_bytes(b"PK\x03\x04 no zip")
    with pytest.raises(InputError, match=r"is no lab.zip"):
        read_lab(tmp_path / "lab.zip")


def test_new_and_make(tmp_path: Path) -> None:
    """From a registered op comes a lab, and from that what students get: valid notebooks without any line of the solution."""
    folder = tmp_path / "first_lab"
    assert "first_lab" in str(li.lab.new(folder, "axpy"))
    lab = read_lab(folder)
    assert list(lab.exercises[0].points) == ["builds", "parity", "gradient x", "gradient y", "safety"]
    assert len(lab.secret) == 64 and (folder / "secret.txt").stat().st_mode & 0o77 == 0
    made = li.lab.make(folder)
    assert "grade refuses a lab that was not tested" in made.note
    student = (folder / "student" / "first_lab.ipynb").read_text()
    for name in ("first_lab.ipynb", "student/first_lab.ipynb"):
        nbformat.validate(nbformat.read(folder / name, as_version=4))
    assert "z_p[i]" not in student and "SOLUTION" not in student and "not written yet" in student
    assert lab.secret.decode() not in student
    assert read_lab(folder / "lab.zip").digest == lab.digest
    assert (folder / "lab.zip").stat().st_mode & 0o77 == 0
    first = (folder / "lab.zip").read_bytes()
    li.lab.make(folder)
    assert (folder / "lab.zip").read_bytes() == first
    with zipfile.ZipFile(folder / "gradescope.zip") as archive:
        assert {"setup.sh", "run_autograder", "lab.zip", "lltm_inline/lab/submissions.py"} <= set(archive.namelist())
        assert archive.getinfo("run_autograder").external_attr >> 16 == 0o755
        assert all(name in archive.read("setup.sh") for name in (b"torch==", b"pyelftools=="))


def test_new_of_an_op_in_a_file(tmp_path: Path) -> None:
    """An op of a file comes along as text: the lab has it, and so has the students' notebook."""
    op = OWN_OP.replace('"gate"', '"gate_in_file"')
    kernel = (
        'li.registry.register(li.Kernel("gate_in_file/cpp", cpp="""\n#include <ATen/ATen.h>\n'
        'at::Tensor forward(const at::Tensor& x) {\n  return x.sigmoid();\n}\n"""))\n'
    )
    (tmp_path / "gate_op.py").write_text(op)
    (tmp_path / "gate_solution.py").write_text(f"import gate_op\nimport lltm_inline as li\n{kernel}")
    (tmp_path / "gate_both.py").write_text(op.replace("in_file", "in_both") + kernel.replace("in_file", "in_both"))
    try:
        li.lab.new(
            tmp_path / "gates",
            f"{tmp_path / 'gate_op.py'}",
            solution=f"{tmp_path / 'gate_solution.py'}:gate_in_file/cpp",
        )
        li.lab.new(tmp_path / "both", f"{tmp_path / 'gate_both.py'}:gate_in_both/cpp")
        both = tmp_path / "gate_both.py"
        both.write_text(
            both.read_text() + "# return x.sigmoid()\n# " + kernel.split('"""')[1].strip().replace("\n", "\n# ")
        )
    finally:
        for name in ("gate_in_file", "gate_in_both"):
            forget(name)
    lab, other = read_lab(tmp_path / "gates"), read_lab(tmp_path / "both")
    # What has the solution is left out, and what uses that.
    assert "x.sigmoid();" in other.exercises[0].solution[0] and b"li.Kernel" not in other.files["op.py"]
    assert b"gate_in_both" in other.files["op.py"]
    assert lab.exercises[0].op.name == "gate_in_file" and "gate_in_file" not in li.registry.ops
    (op,) = [cell for cell in json.loads(lab.files["gates.ipynb"])["cells"] if "li.Op(" in str(cell)]
    assert op["metadata"]["nbgrader"]["locked"] is True


def test_new_of_an_op_as_the_guide_registers_it(tmp_path: Path) -> None:
    """`li.registry.register(li.Op(...))` defines an op, without a name for it; where it does not stand, that file is named."""
    head = "import lltm_inline as li\n\n\ndef gate(x):\n    return x.sigmoid()\n\n\n"
    made = 'li.registry.register(li.Op("guide_gate", "(Tensor x) -> Tensor y", {}, {"x": "...", "y": "..."}))\n'
    solution = li.Kernel(
        "guide_gate/cpp",
        cpp="#include <ATen/ATen.h>\nat::Tensor forward(const at::Tensor& x) {\n  return x.sigmoid();\n}\n",
    )
    (tmp_path / "guide_op.py").write_text(head + made.replace("{}", "gate", 1))
    (tmp_path / "guide_gate.py").write_text(head)
    (tmp_path / "guide_parts.py").write_text(f"import guide_gate\n{head}{made.replace('{}', 'guide_gate.gate', 1)}")
    try:
        li.lab.new(tmp_path / "gates", str(tmp_path / "guide_op.py"), solution=solution)
        assert read_lab(tmp_path / "gates").exercises[0].op.name == "guide_gate"
        forget("guide_gate")
        with pytest.raises(
            DefinitionError, match=rf"^{tmp_path}/guide_gate.py defines no op 'guide_gate': li.registry.register\(li.Op"
        ):
            li.lab.new(tmp_path / "parts", str(tmp_path / "guide_parts.py"), solution=solution)
        with (tmp_path / "guide_gate.py").open("a") as file:
            file.write(made.replace("guide_gate", "other_gate").replace("{}", "gate", 1))
        linecache.checkcache()
        with pytest.raises(DefinitionError, match=r"guide_gate.py defines no op 'guide_gate': li.registry"):
            li.lab.new(tmp_path / "parts", li.registry.ops["guide_gate"], solution=solution)
        assert not (tmp_path / "parts").exists()
    finally:
        forget("guide_gate")


def test_new_of_an_op_in_a_notebook(tmp_path: Path) -> None:
    """The cell that defines an op comes along as text, as IPython keeps it; the solution of another cell does not."""
    cell = OWN_OP.replace('"gate"', '"gate_in_cell"')
    linecache.cache["<cell 1>"] = (len(cell), None, cell.splitlines(keepends=True), "<cell 1>")
    space: dict[str, Any] = {}
    try:
        exec(compile(cell, "<cell 1>", "exec"), space)
        forward = "\nat::Tensor forward(const at::Tensor& x) {\n  return x.sigmoid();\n}\n"
        solution = li.Kernel("gate_in_cell/cpp", cpp=f"#include <ATen/ATen.h>{forward}")
        li.lab.new(tmp_path / "gates", space["OP"], solution=solution)
        lab = read_lab(tmp_path / "gates")
        assert lab.files["op.py"].decode() == cell and "x.sigmoid();" in lab.exercises[0].solution[0]
        assert "return x.sigmoid" not in json.dumps(handed_out(lab))
    finally:
        del linecache.cache["<cell 1>"]
        forget("gate_in_cell")


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("has spaces", "axpy"), InputError, "a name of letters, digits"),
        (("fine", "axpi"), UnknownKernelError, r"no kernel 'axpi'. Did you mean 'axpy'\? Ops: axpy"),
        (("fine", 3), InputError, "op=3, want an Op"),
        (("fine", "axpy/python"), InputError, "want a kernel of 'axpy' with one text, C\\+\\+ or CUDA"),
        (("fine", "block_sum"), InputError, "has no kernel of one text, C\\+\\+ or CUDA"),
    ],
)
def test_new_refuses(tmp_path: Path, arguments: tuple[Any, Any], error: type[Exception], says: str) -> None:
    """No lab is begun of what cannot become one."""
    with pytest.raises(error, match=says):
        li.lab.new(tmp_path / arguments[0], arguments[1])
    assert not list(tmp_path.iterdir())


def test_new_writes_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What turns out to be no lab leaves no folder; a folder that is there and empty is taken."""
    (tmp_path / "there").mkdir()
    li.lab.new(tmp_path / "there", "axpy")
    monkeypatch.setattr(making, "_TOML", making._TOML.replace("format = 1", "format = 9"))
    with pytest.raises(DefinitionError, match="format=9"):
        li.lab.new(tmp_path / "fine", "axpy")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_new_of_cuda(tmp_path: Path) -> None:
    """What students write is cut out of the GPU's functions, too; and its points are those of CUDA."""
    folder = tmp_path / "cuda_lab"
    li.lab.new(folder, "axpy", solution="axpy/cuda")
    (exercise,) = read_lab(folder).exercises
    assert list(exercise.points) == ["builds", "parity", "gradient x", "gradient y", *CUDA_CHECKS]
    assert (
        "__global__ void axpy" in exercise.starter
        and "threadIdx" not in exercise.starter
        and "<<<" not in exercise.starter
    )
    toml = (folder / "lab.toml").read_text()
    assert "seconds = 60" in toml and "conflicts 0" in toml and "baseline" not in toml


def test_points_of_cuda(tmp_path: Path) -> None:
    """A CUDA text is graded by what is counted, a C++ text by speed, and neither by the other."""
    cuda = book(KERNEL.replace("--check", "--kind cuda"))
    points = '"sectors 1.5" = 1, races = 1'
    (exercise,) = lab_in(tmp_path, TOML.replace("builds = 1", points), cuda).exercises
    assert exercise.kind == "cuda" and count_of("sectors 1.5") == ("sectors", 1.5)
    with pytest.raises(DefinitionError, match=r"points of 'sectors 1.5'\.? .*Criteria: builds"):
        lab_in(tmp_path, TOML.replace("builds = 1", points))
    with pytest.raises(DefinitionError, match="points of 'speed 2'"):
        lab_in(tmp_path, TOML.replace("builds = 1", '"speed 2" = 1'), cuda)


def test_new_overwrites_nothing(tmp_path: Path) -> None:
    """A folder with something in it is refused."""
    (tmp_path / "mine").write_text("")
    with pytest.raises(FileError, match="is not empty"):
        li.lab.new(tmp_path, "axpy")
    with pytest.raises(InputError, match=r"is a lab.zip: want the folder"):
        (tmp_path / "lab.zip").write_bytes(b"")
        li.lab.make(tmp_path / "lab.zip")


def test_a_solution_in_another_cell_is_not_handed_out(tmp_path: Path) -> None:
    """A mark in a cell that nobody grades stops `make`."""
    notebook = book()
    notebook["cells"][2]["metadata"] = {}
    lab_in(tmp_path, TOML.partition("[values")[0], book())
    notebook["cells"][2]["source"] = "%%kernel axpy/more\n// BEGIN SOLUTION\nx\n// END SOLUTION"
    (tmp_path / "axpy.ipynb").write_text(json.dumps(notebook))
    with pytest.raises(DefinitionError, match="it would be handed out"):
        li.lab.make(tmp_path)


def test_an_answer_between_marks_leaves_none_behind(tmp_path: Path) -> None:
    """Of a value's cell students get the name and three dots, and a comment, if there is one."""
    marked = "# in bytes\n# BEGIN SOLUTION\nmoved = 12\n# END SOLUTION"
    cells = handed_out(lab_in(tmp_path, notebook=book(moved=marked)))["cells"]
    assert (
        "".join(next(one for one in cells if "moved" in "".join(one["source"]))["source"]) == "# in bytes\nmoved = ..."
    )


@pytest.mark.parametrize(
    ("source", "says"),
    [("1 + 1", "want one value"), ("a = 1; b = 2", "want one value"), ("f()", "want one value"), ("[" * 900, "want one value"),
     ("-" * 999 + "1", "want one value"), ("x" * 5000, "want one value"), ("9" * 999, ""), ("", ""), ("a = ...", "")],
)  # fmt: skip
def test_values(source: str, says: str) -> None:
    """A value is read as a literal, and nothing else is evaluated."""
    try:
        assert value_of(source) == ("" if not source or "..." in source else source)
    except InputError as error:
        assert says and says in str(error)


def test_lines_stay_where_they_are() -> None:
    """Line n of a kernel's text is line n of its cell, empty lines above it included."""
    cell = kernel_cell("\n\n" + KERNEL, "axpy")
    assert cell.text.split("\n")[6] == "  // BEGIN SOLUTION"
    assert cut("a\n  //BEGIN SOLUTION\nb\n//   END SOLUTION\nc", "x") == "a\nc"


def test_from_a_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands are thin twins of the functions; a mistake is one line on standard error, and an exit code."""
    lab, folder = str(tmp_path / "first"), str(hand_in(tmp_path / "class", ann=book()))
    assert main(["lab", "new", lab, "axpy"]) == main(["lab", "make", lab]) == main(["lab", "collect", lab, folder]) == 0
    assert "lab.zip" in capsys.readouterr().out
    for words, says in (
        (["new", lab, "axpy"], "is not empty"),
        (["grade", lab, folder, "--to", str(tmp_path / "grades")], "was not tested"),
        (["report", folder], "No such file"),
    ):
        assert main(["lab", *words]) == 2
        said = capsys.readouterr()
        assert said.out == "" and says in said.err and said.err.count("\n") == 1
