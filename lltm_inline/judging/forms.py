"""What a file is, by what it defines: read as text alone, nothing of it runs here."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..base.arguments import shown
from ..errors import InputError

#: What a file of each form defines.
_MODEL, _NEW = {"Model", "get_inputs"}, "ModelNew"
_KERNEL, _SUBMISSION = "custom_kernel", ("submission.py", "submission.cu")
#: Under which names a reference lies beside a snippet, and the arguments of one call.
REFERENCES = ("reference", "ref_kernel", "reference_impl", "torch_reference")
INPUTS = ("inputs", "get_inputs", "example_inputs", "make_inputs", "generate_input")
_SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".cuh")


@dataclass(frozen=True)
class Form:
    """A file that can be judged.

    Attributes:
        name: `KernelBench`, `KernelBot`, `load_inline` or `source`.
        solution: the file with the kernel.
        reference: the file with what it is held against; of a `source` also `FILE:FUNCTION` or `MODULE:FUNCTION`.
        inputs: of a `source` or a snippet, expressions of Python.
        tests: of KernelBot, the arguments of `generate_input`.
    """

    name: str
    solution: str
    reference: str = ""
    inputs: tuple[str, ...] = ()
    tests: tuple[Mapping[str, Any], ...] = ()


def read_form(path: Path, reference: str = "", inputs: Sequence[str] = ()) -> Form:
    """Say what a file, or the folder of one task, is.

    Raises:
        InputError: it is nothing that can be judged; the message says what it lacks.
        SyntaxError: it is no Python.

    Example:
        >>> read_form(Path("kernel.cu"))
        Traceback (most recent call last):
            ...
        lltm_inline.errors.InputError: kernel.cu: no file of that name
    """
    if not path.exists():
        raise InputError(f"{path}: no file of that name")
    if path.is_dir():
        folder, path = path, submission_in(path) or path
        if path == folder:
            raise InputError(f"{path}: want a {' or '.join(_SUBMISSION)} in it, or name a file")
    beside = Path(reference) if reference else path.with_name("reference.py")
    is_source = path.suffix in _SOURCES
    is_task = is_source and not reference and beside.is_file() and path.name in _SUBMISSION
    if is_source and not is_task:
        if not reference:
            cure = "--reference FILE.py:FUNCTION --inputs 'torch.randn(7, 5)'"
            raise InputError(f"{path.name}: say what it should compute: {cure}")
        return Form("source", str(path), reference, tuple(inputs))
    names = {_KERNEL} if is_task else names_of(path)
    is_bench = _NEW in names or names >= _MODEL
    if inputs and (is_bench or _KERNEL in names):
        maker = "get_inputs" if is_bench else "generate_input"
        said = f"--inputs {shown(' '.join(inputs))}: {maker} says with what it is called: leave that out"
        raise InputError(f"{path.name}: {said}")
    if is_bench:
        other = reference or (str(path) if names >= {_NEW, *_MODEL} else _other(path, names))
        return Form("KernelBench", *((str(path), other) if _NEW in names else (other, str(path))))
    if _KERNEL in names:
        if not beside.is_file() and not {"ref_kernel", "generate_input"} <= names:
            lacks = "there is no reference.py beside it with ref_kernel and generate_input"
            raise InputError(f"{path.name}: it defines custom_kernel, and {lacks}")
        of = beside if beside.is_file() else path
        return Form("KernelBot", str(path), str(of), tests=tuple(_tests_of(path.parent)))
    if "load_inline" in names:
        own = path.with_name(f"{path.stem}_reference.py")
        held = reference or next((str(one) for one in (own, beside) if one.is_file()), str(path))
        if held == str(path) and not names & {*REFERENCES}:
            lacks = f"there is no function {REFERENCES[0]!r} in it or in a {REFERENCES[0]}.py beside it"
            raise InputError(f"{path.name}: it calls load_inline, and {lacks}")
        return Form("load_inline", str(path), held, tuple(inputs))
    want = "no ModelNew (KernelBench), no custom_kernel (KernelBot, CS149), no load_inline"
    raise InputError(f"{path.name}: nothing here can be judged: {want}")


def submission_in(folder: Path) -> Path | None:
    """Return the file with the solution of a task's folder; None where it is none."""
    return next((folder / name for name in _SUBMISSION if (folder / name).is_file()), None)


def names_of(path: Path) -> set[str]:
    """Name what the top level of a file of Python binds, and `load_inline` if it is called.

    Raises:
        SyntaxError: it is no Python. InputError: it is no text.
    """
    tree = ast.parse(python_of(path), str(path))
    stored = (one for node in tree.body for one in ast.walk(node) if isinstance(one, ast.Name))
    names = {one.id for one in stored if isinstance(one.ctx, ast.Store)}
    names |= {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return names | {"load_inline" for one in calls if getattr(one, "id", getattr(one, "attr", "")) == "load_inline"}


def python_of(path: Path) -> str:
    """Read a file of Python, or the code of a notebook: a line that is a magic becomes a comment.

    Raises:
        InputError: it is no text, or no notebook.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".ipynb":
            return text
        cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise InputError(f"{path.name}: {'no notebook' if path.suffix == '.ipynb' else 'no text'}: {error}") from None
    lines = [line for cell in cells for line in cell.split("\n")]
    return "\n".join(f"# {line}" if line.lstrip()[:1] in ("%", "!") else line for line in lines)


def _other(path: Path, names: set[str]) -> str:
    """Find the file with `Model` for one with `ModelNew`, or the other way round: the one whose name is most like it."""
    wanted = _MODEL if _NEW in names else {_NEW}
    found = []
    for one in sorted(path.parent.glob("*.py")):
        with suppress(SyntaxError, InputError):
            if one != path and names_of(one) >= wanted:
                found.append(one)
    # `relu_new.py` belongs to `relu.py`, and `relu6_new.py` to `relu6.py`.
    found.sort(key=lambda one: (-len(one.stem), one.stem))
    alike = [one for one in found if path.stem.startswith(one.stem)]
    alike = alike or [one for one in found if one.stem.startswith(path.stem)]
    if not alike and len(found) != 1:
        what = "Model and get_inputs" if wanted == _MODEL else _NEW
        named = " under a name like its own" * bool(found)
        raise InputError(f"{path.name}: no file beside it defines {what}{named}: say --reference FILE.py")
    return str((alike or found)[0])


def _tests_of(folder: Path) -> list[Mapping[str, Any]]:
    """Read the tests of a task: of its `task.yml`, or of `test_cases/*.txt`, a line `size: 128; seed: 3` for each."""
    if (folder / "task.yml").is_file():
        try:
            yaml = import_module("yaml")
        except ImportError:
            raise InputError("task.yml needs a reader of YAML: pip install pyyaml") from None
        try:
            task = yaml.safe_load((folder / "task.yml").read_text(encoding="utf-8")) or {}
            return [dict(one) for one in task.get("tests") or task.get("benchmarks") or ()]
        except (yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
            raise InputError(f"{folder.name}/task.yml: {error}") from None
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.glob("test_cases/*.txt")))
    lines = (line for text in texts for line in text.splitlines())
    rows = [dict(part.split(":", 1) for part in line.split(";") if ":" in part) for line in lines]
    return [{name.strip(): _value(value.strip()) for name, value in row.items()} for row in rows if row]


def _value(text: str) -> Any:
    with suppress(ValueError, SyntaxError):
        return ast.literal_eval(text)
    return text


def forms_in(folder: Path) -> Iterator[Path]:
    """List what can be judged in a folder: the folders of tasks, and files that define a solution, in the order of their names."""
    for path in sorted(folder.rglob("*")):
        if any(part.startswith((".", "__")) for part in path.relative_to(folder).parts):
            continue
        if path.is_dir():
            if (path / "reference.py").is_file() and submission_in(path):
                yield path
        elif path.suffix in (".py", ".ipynb"):
            if path.name in _SUBMISSION and path.with_name("reference.py").is_file():
                continue
            try:
                names = names_of(path)
            except (SyntaxError, InputError):
                yield path
                continue
            if names & {_NEW, _KERNEL} or ("load_inline" in names and names & {*REFERENCES}):
                yield path
