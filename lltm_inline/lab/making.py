"""A lab is made: its folder from an op, and from the folder what students get, and what graders get."""

from __future__ import annotations

import ast
import inspect
import json
import linecache
import os
import re
import secrets
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from ..base.above import Sheet
from ..base.arguments import first_line, offer, path_of, refusal, shown, using_file
from ..cpp.functions import at_file_scope
from ..errors import DefinitionError, FileError, InputError, UnknownKernelError
from ..model.kernel import Kernel
from ..model.op import Op
from ..model.own_file import kernels_of
from ..model.registry import registry
from .cells import BEGIN, END, cut, grade_id, read_notebook, source_of
from .lab import CUDA_CHECKS, OWN_OP, SECRET, TOML, Lab, own_folder, own_ops, read_lab

#: What nbgrader must be told, so that it cuts solutions out as `make` does, and hands out the notebook alone: it copies all else
#: that lies beside it, the secret and the wrong kernels among it.
NBGRADER = """\
# For nbgrader: lay this lab's folder into source/, and this file beside it.
c = get_config()  # noqa: F821
c.ClearSolutions.code_stub = {"python": ""}
c.CourseDirectory.ignore = [
    "lab.toml", "secret.txt", "selftest.json", "op.py", "*.cpp", "*.cu", "wrong", "student", "lab.zip", "gradescope.zip",
    ".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback",
]
"""

SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image.
set -e
apt-get update
apt-get install -y g++ python3-dev python3-venv
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install {requirements}
"""

RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission. Without results.json it says that the autograder has failed, and gives no points.
set -e
export PYTHONPATH=/autograder/source
cd /autograder
rm -rf work
venv/bin/python -m lltm_inline lab grade source/lab.zip . --to work --workers 1
venv/bin/python -m lltm_inline lab report work --gradescope results/results.json
"""

_TOML = """\
format = 1
name = "{name}"
notebook = "{name}.ipynb"
# due = 2030-12-01T23:59:00Z      # without it nothing is late
# late = 0.1                      # the share of the points that is lost for each day

[limits]                          # for one call of a kernel
seconds = {seconds}
memory_mib = 2048

[exercises.{op}]                 # the grade_id of the cell
kernel = "{op}/mine"
params = {params}                 # numbers that students may set
{more}

[exercises.{op}.points]
{points}
"""


#: By the kind of its text: the seconds of a call, which takes longer where each access is looked at, and what else can be graded.
_OF_KIND = {
    "cpp": {"seconds": "10", "more": """\
# forbid = ["aten"]               # points for "forbidden" need it
# baseline = "baseline.cpp"       # points for "speed 2" need it: at least twice as fast as that kernel"""},
    "cuda": {"seconds": "60", "more": """\
# "sectors 2" = 1, "conflicts 0" = 1, "divergent 1" = 1, "syncs 1" = 1, "launches 1" = 1 below: points for counts"""},
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Made(Sheet):
    """Files that were made.

    Attributes:
        folder: where they lie.
        files: each with what it is for.
        note: what is to be done next.
    """

    folder: Path
    files: tuple[tuple[str, str], ...]
    note: str = ""

    @property
    def headline(self) -> str:
        """The sentence."""
        return f"made in {self.folder}. {self.note}".rstrip()

    def sheet(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """The files."""
        return ["file", "what it is"], list(self.files)


def new(folder: str | os.PathLike[str], op: Op | str, *, solution: Kernel | str | None = None) -> Made:
    """Make the folder of a lab: notebook, `lab.toml`, `wrong/`; what you then edit is your lab.

    Args:
        folder: that does not exist or is empty; its name becomes the lab's.
        op: what students compute: a registered op, a `FILE.py` that registers one, or an `Op` of this notebook.
        solution: a kernel of that op whose text becomes the solution, or its name, or `FILE.py:OP/VARIANT`; default: `OP/cpp`, else
            the first with a C++ text.

    Returns:
        What was made.

    Raises:
        InputError: no such op, or one without a kernel to start from. FileError: the folder is not empty, or cannot be written.

    Example:
        >>> import tempfile
        >>> made = new(tempfile.mkdtemp() + "/first_lab", "axpy")
        >>> [name for name, _ in made.files]
        ['lab.toml', 'first_lab.ipynb', 'wrong/axpy.nothing.cpp', 'secret.txt']
    """
    folder = path_of("folder", folder)
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", folder.name):
        raise refusal("folder", str(folder), "a name of letters, digits, _ and -: it becomes the name of the lab")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileError(f"{shown(str(folder))} is not empty: want a folder that does not exist yet")
    op, kernel = _op_and_kernel(op, solution)
    is_shipped = op.name in registry.ops and registry.is_shipped(registry[f"{op.name}/python"])
    own = "" if is_shipped else _text_of(op, _source(kernel))
    text, suffix = _with_marks(kernel), ".cu" if kernel.cuda else ".cpp"
    points = "\n".join(
        f"{json.dumps(name) if ' ' in name else name} = {points}" for name, points in _points(op, kernel)
    )
    known = {"name": folder.name, "op": op.name, "params": json.dumps(list(kernel.params)), "points": points}
    toml = _TOML.format(**known, **_OF_KIND["cuda" if kernel.cuda else "cpp"])
    book = json.dumps(_notebook(folder.name, op, kernel, text, own), indent=1)
    wrong = f"// parity: nothing is computed yet\n{cut(text, op.name).strip()}\n"
    files = {
        TOML: (toml, "points, due date, limits"),
        f"{folder.name}.ipynb": (f"{book}\n", "the notebook, with the solution"),
        f"wrong/{op.name}.nothing{suffix}": (wrong, "a wrong kernel: selftest expects that it fails"),
        SECRET: (f"{secrets.token_hex(32)}\n", "the seeds of the hidden cases: never hand it out"),
        **({OWN_OP: (own, "the op")} if own else {}),
    }
    with using_file(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as directory:
            made = Path(directory, folder.name)
            for name, (content, _) in files.items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_text(content, encoding="utf-8")
            (made / SECRET).chmod(0o600)
            read_lab(made)  # it is a lab, or says now why not, and there is nothing
            made.rename(folder)
    said = tuple((name, what) for name, (_, what) in files.items())
    return Made(folder, said, "Edit it, then: lab selftest, lab make.")


def _op_and_kernel(op: Op | str, solution: Kernel | str | None) -> tuple[Op, Kernel]:
    """Find the op, and a kernel of it with a text."""
    if isinstance(op, str) and op not in registry.ops:
        solution = solution or (op if "/" in op else None)
        op = kernels_of(op)[0].op
    if isinstance(op, str):
        if op not in registry.ops:
            raise UnknownKernelError(f"no op {shown(op)}.{offer(op, registry.ops)}")
        op = registry.ops[op]
    if not isinstance(op, Op):
        raise refusal("op", op, "an Op, or the name of one")
    if solution is None:
        ours = [kernel for kernel in registry.values() if kernel.op == op.name and _source(kernel)]
        ours.sort(key=lambda kernel: (kernel.variant != "cpp", bool(kernel.cuda)))
        if not ours:
            where = f" in {_place(op)[0]}" * (not registry.is_shipped(registry[f"{op.name}/python"]))
            raise InputError(f"op {op.name!r}{where} has no kernel of one text, C++ or CUDA: give one: solution=")
        return op, ours[0]
    kernel = solution if isinstance(solution, Kernel) else kernels_of(solution)[0]
    if kernel.op != op.name or not _source(kernel):
        raise refusal("solution", kernel.label, f"a kernel of {op.name!r} with one text, C++ or CUDA")
    return op, kernel


def _points(op: Op, kernel: Kernel) -> list[tuple[str, int]]:
    more = CUDA_CHECKS if kernel.cuda else ("safety",)
    gradients = ((f"gradient {one.name}", 2) for one in op.gradients)
    return [("builds", 1), ("parity", 4), *gradients, *((name, 1) for name in more)]


def _source(kernel: Kernel) -> str:
    """Return the one text of a kernel; nothing where it has two, or none."""
    return "" if kernel.cpp and kernel.cuda else kernel.cpp or kernel.cuda


def _place(op: Op) -> tuple[str, str]:
    """Return the file or cell that has the reference of an op, and its text."""
    file = getattr(getattr(inspect.unwrap(op.reference), "__code__", None), "co_filename", "")
    return file, "".join(linecache.getlines(file))


def _without(text: str, solution: str, file: str) -> str:
    """Leave out of a text the statements that have the solution, and then those that use what these define."""
    gone, names, lines = set[ast.stmt](), set[str](), text.splitlines(keepends=True)
    body = ast.parse(text).body
    for statement in [*body, *body]:
        nodes = [*ast.walk(statement)]
        held = any(isinstance(node, ast.Constant) and solution in str(node.value) for node in nodes)
        if held or any(isinstance(node, ast.Name) and node.id in names for node in nodes):
            gone.add(statement)
            names |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for statement in gone:
        lines[statement.lineno - 1 : statement.end_lineno] = [""] * ((statement.end_lineno or 0) - statement.lineno + 1)
    kept = "".join(lines)
    if solution in kept:
        raise InputError(f"{file} has the solution in it, and students get it: move the solution into another file")
    return kept


def _text_of(op: Op, solution: str) -> str:
    """Return the text of the cell or file that defines an op, without the solution; it must run by itself."""
    file, text = _place(op)
    if not text:
        raise InputError(
            f"op {op.name!r}: the text that defines it cannot be found: write it into a file, and give FILE.py:OP/VARIANT"
        )
    text = _without(text, solution.strip(), file) if solution.strip() in text else text
    own_ops(text.encode(), file, op.name)
    return text


def _with_marks(kernel: Kernel) -> str:
    """Mark `forward`, `backward`, what launches and each `__global__` function as the solution; without it they say so, or do nothing."""
    text = _source(kernel)
    for function in reversed(at_file_scope(text)):
        first, last = function.body
        of_host = function.name in kernel.functions or "<<<" in text[first:last]
        if not of_host and "__global__" not in text[function.start : function.offset]:
            continue
        body = text[first:last].strip("\n").rstrip()
        body = f"\n  // {BEGIN}\n{body}\n  // {END}\n"
        body += '  throw std::runtime_error("not written yet");\n' * of_host
        text = text[:first] + body + text[last:]
    return text.strip() + "\n"


def _notebook(name: str, op: Op, kernel: Kernel, text: str, own: str) -> dict[str, Any]:
    """Lay out the notebook: what is asked, the op, the cell to fill in."""
    words = [f"%%kernel {op.name}/mine --check{' --device cuda-cpu' * bool(kernel.cuda)}"]
    words += [f"--params {' '.join(f'{key}={value}' for key, value in kernel.params.items())}"] * bool(kernel.params)
    words += [f"--saves {' '.join(kernel.saves)}"] * bool(kernel.saves)
    points = sum(points for _, points in _points(op, kernel))
    asked = f"{first_line(op.doc) or op.name}\n\nFill in the cell that begins with `%%kernel`, and run it."
    graded = {"grade_id": op.name, "grade": True, "solution": True, "points": points}
    parts: list[tuple[str, str, dict[str, Any]]] = [
        ("markdown", f"# {name}\n\n{asked}", {}),
        ("code", "import lltm_inline as li\n\n%load_ext lltm_inline", {}),
        *([("code", own.strip(), {"grade_id": "op", "locked": True})] if own else []),
        ("code", f"print(li.registry.ops[{op.name!r}])", {}),
        ("code", f"{' '.join(words)}\n{text}", graded),
    ]
    return book_of(parts)


def book_of(parts: Sequence[tuple[str, str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Write a notebook: for each cell its type, its text, and what nbgrader is to know of it."""
    cells = []
    for number, (kind, source, known) in enumerate(parts, 1):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = source.splitlines(keepends=True)
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        if known:
            usual = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
            cell["metadata"]["nbgrader"] = {**usual, **known}
        cells.append(cell)
    kernelspec = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernelspec}, "nbformat": 4, "nbformat_minor": 5}


def make(lab: Lab | str | os.PathLike[str]) -> Made:
    """Make of a lab what students get, `student/`, and what graders get: `lab.zip` and `gradescope.zip`.

    Args:
        lab: its folder.

    Returns:
        What was made; it says whether `selftest` has found this very lab to be right.

    Raises:
        DefinitionError: the lab breaks a rule. FileError: its folder cannot be written.
    """
    folder = own_folder(lab)
    lab = read_lab(folder)
    student = folder / "student"
    with using_file(folder):
        student.mkdir(exist_ok=True)
        (student / lab.notebook).write_text(json.dumps(handed_out(lab), indent=1) + "\n", encoding="utf-8")
        (folder / "nbgrader_config.py").write_text(NBGRADER, encoding="utf-8")
        _zip(folder / "lab.zip", lab.files)
        package = Path(__file__).parents[1]
        ours = {
            str(file.relative_to(package.parent)): file.read_bytes()
            for file in sorted(package.rglob("*"))
            if file.is_file() and "__pycache__" not in file.parts and "js" not in file.parts
        }
        setup = SETUP.format(requirements=" ".join(_requirements()))
        scripts = {"setup.sh": setup.encode(), "run_autograder": RUN.encode()}
        _zip(folder / "gradescope.zip", {**scripts, "lab.zip": (folder / "lab.zip").read_bytes(), **ours})
    note = "Before you grade: lab selftest, then lab make again; grade refuses a lab that was not tested."
    files = (
        (f"student/{lab.notebook}", "for students: the solutions are cut out"),
        ("lab.zip", "for graders: op, solutions and secret; never hand it out"),
        ("gradescope.zip", "for Gradescope: the same, with setup.sh and run_autograder"),
        ("nbgrader_config.py", "for nbgrader, which then cuts the same lines"),
    )
    return Made(folder, files, "" if lab.tested else note)


def handed_out(lab: Lab) -> dict[str, Any]:
    """Return the notebook of a lab without its solutions and without outputs.

    Raises:
        DefinitionError: a line of a solution would be handed out: its mark stands in a cell that is not graded.
    """
    book = read_notebook(lab.files[lab.notebook], lab.notebook)
    kernels = {exercise.grade_id for exercise in lab.exercises}
    for cell in book["cells"]:
        if cell.get("cell_type") == "code":
            cell["outputs"], cell["execution_count"] = [], None
        source, name = source_of(cell), grade_id(cell)
        if name in kernels:
            source = cut(source, name)
        elif name in {question.grade_id for question in lab.questions}:
            head, equals, _ = "\n".join(line for line in source.split("\n") if BEGIN not in line).partition("=")
            source = f"{head.rstrip()} = ..." if equals else "..."
        elif BEGIN in source:
            raise DefinitionError(
                f"{lab.notebook}: {shown(source, 60)} has a solution, and is no cell of {TOML}: it would be handed out"
            )
        cell["source"] = source.splitlines(keepends=True)
    return book


def _requirements() -> list[str]:
    """List the packages that grading needs, at the versions that they have here."""
    ours = Path(__file__).parents[2] / "pyproject.toml"
    if ours.is_file():  # a clone
        project = tomllib.loads(ours.read_text())["project"]
        needs = [*project["dependencies"], *project["optional-dependencies"]["lab"]]
    else:
        needs = [need for need in metadata.requires("lltm-inline") or [] if "extra ==" not in need or "lab" in need]
    names = [re.split(r"[^\w.-]", need)[0] for need in needs]
    here = {one.name.lower(): one.version.partition("+")[0] for one in metadata.distributions()}
    return [f"{name}=={here[name]}" if name in here else name for name in names]


def _zip(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a zip of the same bytes for the same files; it takes its place only when it is whole."""
    new = path.with_suffix(".new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.external_attr = (0o755 if name in ("setup.sh", "run_autograder") else 0o644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data)
    if "secret.txt" in files:
        new.chmod(0o600)
    new.replace(path)
