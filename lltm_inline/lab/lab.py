"""What a lab is: its exercises, what each is graded by, and the limits a submission runs under; read from `lab.toml`."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import secrets
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import Any

from ..base.arguments import integer, mapping, number, offer, path_of, refusal, shown, string, strings, using_file
from ..errors import DefinitionError, FileError, InputError
from ..model.op import FrozenDict, Op
from ..model.registry import registry
from ..workers.limits import Limits
from .cells import cell_of, kernel_cell, read_notebook, value_of

#: The form of `lab.toml` and of `lab.zip` that this package reads.
FORMAT = 1
#: What can be graded, beside `gradient NAME` for each gradient of the op, and `speed 2` for at least twice as fast as the baseline.
CRITERIA = ("builds", "signature", "parity", "safety", "forbidden", "memory")
#: Of a CUDA text: what its launches must be without; and what is counted, each with a number that it may be at most.
CUDA_CHECKS = ("races", "bounds", "barriers", "uninitialised")
CUDA_COUNTS = {
    "sectors": "times as many 32-byte sectors move through global memory as inputs and results occupy",
    "conflicts": "extra passes of shared memory per pass that is needed",
    "divergent": "divergent branches per warp",
    "syncs": "barriers per block",
    "launches": "launches per call",
}
_NUMBERED = re.compile(rf"(speed|{'|'.join(CUDA_COUNTS)}) (\d+(?:\.\d+)?)")

TOML, SECRET, SELFTEST, OWN_OP = "lab.toml", "secret.txt", "selftest.json", "op.py"
_TEXTS = (".cpp", ".cu")
_MOST_BYTES = 16 * 2**20
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REQUIRED = object()


@dataclass(frozen=True)
class Exercise:
    """One `%%kernel` cell that students fill in.

    Attributes:
        grade_id: of the cell, nbgrader's name for it.
        op: what the kernel must compute; its reference is the truth, and is never sent to a student's code.
        kernel: the name under which students write it, `axpy/mine`.
        points: by criterion, in the order in which they are shown; those without points are still required.
        params: numbers that students may set in their cell.
        forbid: what the library must not call: `aten`, or names of symbols.
        baseline: text of the kernel against which it is timed; empty where no criterion asks.
        settings: the fields of the kernel that the instructor's own cell has fixed: `saves`, `slots`, `api`.
        solution: the instructor's text, with the values of the params.
        starter: what students are given in its place.
        wrong: by name, texts that must fall, each with the criterion by which and why.
        kind: of its text, `cpp` or `cuda`; a CUDA text runs on `cuda-cpu`.
    """

    grade_id: str
    op: Op
    kernel: str
    points: Mapping[str, float]
    params: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    baseline: str = ""
    settings: Mapping[str, Any] = field(default_factory=FrozenDict)
    solution: tuple[str, Mapping[str, float]] = ("", FrozenDict())
    starter: str = ""
    wrong: Mapping[str, tuple[str, str, str]] = field(default_factory=FrozenDict)
    kind: str = "cpp"

    @property
    def of(self) -> float:
        """The most points that can be earned."""
        return sum(self.points.values())


@dataclass(frozen=True)
class Question:
    """A cell whose answer is a value: a number, a text, or a list of these.

    Attributes:
        grade_id: of the cell.
        answer: the instructor's, from the source notebook.
        points: for the right one.
        tolerance: how far a number may be from the answer.
    """

    grade_id: str
    answer: Any
    points: float
    tolerance: float = 0.0

    @property
    def of(self) -> float:
        """The most points that can be earned."""
        return self.points


@dataclass(frozen=True)
class Lab:
    """A lab as the grader reads it, from the instructor's folder or from `lab.zip`.

    Attributes:
        name: of it.
        folder: where it lies.
        exercises: in the order of `lab.toml`.
        limits: of time, memory and output for one answer.
        secret: from which the seeds of hidden cases are derived; never in anything that is handed out.
        due: when it is due, in UTC as ISO 8601; empty for never.
        late: the share of the points that is lost for each day after that.
        questions: the cells whose answer is a value.
        notebook: name of the source notebook.
        files: of which it is made, by name.
    """

    name: str
    folder: Path
    exercises: tuple[Exercise, ...] = field(compare=False)
    limits: Limits
    secret: bytes = field(repr=False)
    due: str = ""
    late: float = 0.0
    questions: tuple[Question, ...] = field(default=(), compare=False)
    notebook: str = ""
    files: Mapping[str, bytes] = field(default_factory=FrozenDict, repr=False)

    def __reduce__(self) -> Any:
        # An op is functions; they are made again from its text wherever the lab is sent.
        return lab_of, (dict(self.files), self.folder)

    @cached_property
    def digest(self) -> str:
        """Of all its files but the record of its selftest: grades and selftests are of this very lab."""
        digest = hashlib.sha256()
        for name, data in sorted(self.files.items()):
            if name != SELFTEST:
                digest.update(f"{len(name)} {name} {len(data)} ".encode() + data)
        return digest.hexdigest()

    @property
    def tested(self) -> bool:
        """Whether `selftest` has found this very lab to be right."""
        try:
            record = json.loads(self.files.get(SELFTEST, b"{}"))
            return record["green"] is True and record["lab"] == self.digest
        except (ValueError, TypeError, KeyError):
            return False

    @property
    def cells(self) -> tuple[Exercise | Question, ...]:
        """All that is graded, exercises first."""
        return (*self.exercises, *self.questions)

    @property
    def of(self) -> float:
        """The most points that can be earned."""
        return sum(cell.of for cell in self.cells)

    def __str__(self) -> str:
        parts = ", ".join(f"{cell.grade_id} ({cell.of:g})" for cell in self.cells)
        return f"lab {self.name}: {parts}; {self.of:g} points" + (f", due {self.due}" if self.due else "")


def read_lab(path: Any) -> Lab:
    """Read a lab from its folder or from `lab.zip`.

    Raises:
        FileError: there is none, or it cannot be read.
        DefinitionError: a field of `lab.toml` is missing, unknown or wrong, or does not fit the notebook; the message names both.
    """
    if isinstance(path, Lab):
        return path
    path = path_of("lab", path)
    if path.is_dir():
        names = [
            PurePosixPath(file.relative_to(path)) for file in (*path.glob("*"), *path.glob("wrong/*")) if file.is_file()
        ]
        with using_file(path):
            files = {str(name): (path / name).read_bytes() for name in names if _belongs(name)}
        return lab_of(files, path)
    if not path.exists():
        raise FileError(f"{shown(str(path))}: no such lab, want a folder with {TOML}, or a lab.zip")
    try:
        with using_file(path), zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if _belongs(PurePosixPath(one.filename))]
            if sum(one.file_size for one in members) > _MOST_BYTES:
                raise InputError(f"{shown(str(path))} holds more than {_MOST_BYTES >> 20} MiB: it is no lab.zip")
            return lab_of({one.filename: archive.read(one) for one in members}, path)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise InputError(f"{shown(str(path))} is no lab.zip: {error}") from None


def speed_of(criterion: str) -> float | None:
    """Return how many times as fast as the baseline a criterion wants a kernel; None of a criterion that asks for something else.

    Example:
        >>> speed_of("speed 1.5"), speed_of("parity")
        (1.5, None)
    """
    found = _NUMBERED.fullmatch(criterion)
    return float(found[2]) if found and found[1] == "speed" else None


def count_of(criterion: str) -> tuple[str, float] | None:
    """Return what a criterion counts and the most that it allows; None of one that asks for something else.

    Example:
        >>> count_of("sectors 1.5"), count_of("races")
        (('sectors', 1.5), None)
    """
    found = _NUMBERED.fullmatch(criterion)
    return (found[1], float(found[2])) if found and found[1] in CUDA_COUNTS else None


def own_folder(lab: Any) -> Path:
    """Return the folder of a lab into which something is to be written; a secret is made where there is none."""
    folder = lab.folder if isinstance(lab, Lab) else path_of("lab", lab)
    if folder.is_file():
        raise InputError(f"{shown(str(folder))} is a lab.zip: want the folder of the lab, in which it was made")
    if (folder / TOML).is_file() and not (folder / SECRET).exists():
        with using_file(folder / SECRET):
            (folder / SECRET).touch(0o600)
            (folder / SECRET).write_text(secrets.token_hex(32) + "\n")
    return folder


def _belongs(name: PurePosixPath) -> bool:
    """Tell whether a file is a part of the lab, and not what was made of it or lies beside it."""
    if str(name.parent) != ".":
        return str(name.parent) == "wrong" and name.suffix in _TEXTS
    return name.suffix in (*_TEXTS, ".ipynb") or name.name in (TOML, SECRET, SELFTEST, OWN_OP)


class _Table:
    """A table of `lab.toml`, whose fields are taken one after another; what is left in the end is unknown."""

    def __init__(self, where: str, values: Any) -> None:
        self.where = where
        self.values = mapping("table", values, "a table", where=where, error=DefinitionError)
        self.known: list[str] = []

    def take(self, name: str, check: Callable[..., Any], default: Any = _REQUIRED, **bounds: Any) -> Any:
        """Return a field that was looked at, or its default."""
        self.known.append(name)
        if name not in self.values:
            if default is _REQUIRED:
                raise DefinitionError(f"{self.where}: field {name!r} is missing")
            return default
        return check(name, self.values.pop(name), where=self.where, error=DefinitionError, **bounds)

    def end(self) -> None:
        """Refuse what nobody has asked for."""
        for name in self.values:
            raise DefinitionError(f"{self.where}: unknown field {shown(name)}.{offer(name, self.known, 'Fields')}")


_table = partial(mapping, want="a table")


def lab_of(files: Mapping[str, bytes], folder: Path) -> Lab:
    """Make a lab of its files, by name."""
    if TOML not in files:
        raise FileError(f"{shown(str(folder))}: no {TOML} in it. lab new makes a lab")
    where = str(folder / TOML)
    try:
        top = _Table(where, tomllib.loads(files[TOML].decode("utf-8-sig")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DefinitionError(f"{where} is no TOML: {error}") from None
    version = top.take("format", integer, least=1)
    if version != FORMAT:
        raise DefinitionError(
            f"{where}: format={version}, and this lltm_inline reads format {FORMAT}: use the one it was made for"
        )
    name, notebook = top.take("name", _plain_name), top.take("notebook", string)
    due, late = top.take("due", _moment, ""), top.take("late", number, 0.0, most=1.0)
    limits = _limits(_Table(f"{where} [limits]", top.take("limits", _table, {})))
    exercises, values = top.take("exercises", _table, {}), top.take("values", _table, {})
    top.end()
    if late < 0:
        raise refusal("late", late, "a share from 0 to 1 for each day", where=where, error=DefinitionError)
    if not exercises:
        raise DefinitionError(f"{where}: no exercise, want a table [exercises.GRADE_ID] for each %%kernel cell")
    if notebook not in files:
        raise DefinitionError(f"{where}: notebook={shown(notebook)}, and there is no such file beside it")
    try:
        book = read_notebook(files[notebook], notebook)
        ops = own_ops(files[OWN_OP], str(folder / OWN_OP)) if OWN_OP in files else {}
        made = tuple(
            _exercise(_Table(f"{where} [exercises.{key}]", table), key, book, files, ops)
            for key, table in exercises.items()
        )
        questions = tuple(
            _question(_Table(f"{where} [values.{key}]", table), key, book) for key, table in values.items()
        )
    except InputError as error:
        raise DefinitionError(f"{folder}: {error}") from None
    double = set(exercises) & set(values)
    if double:
        raise DefinitionError(f"{where}: {min(double)!r} is both an exercise and a value")
    for file in files:
        if file.startswith("wrong/") and file.removeprefix("wrong/").partition(".")[0] not in exercises:
            raise DefinitionError(
                f"{folder / file}: want the name GRADE_ID.NAME.cpp, or .cu. Exercises: {', '.join(exercises)}"
            )
    secret = files.get(SECRET, b"").strip()
    used = {TOML, SECRET, SELFTEST, OWN_OP, notebook}
    kept = {n: data for n, data in files.items() if n in used or n.endswith(_TEXTS)}
    return Lab(name, folder, made, limits, secret, due, late, questions, notebook, FrozenDict(kept))


def _plain_name(name: str, value: Any, **known: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise refusal(name, value, "up to 64 letters, digits, _ and -", **known)
    return value


def _moment(name: str, value: Any, **known: Any) -> str:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise refusal(name, value, "a time with its zone, such as 2026-12-01T23:59:00Z", **known)
    return value.astimezone(UTC).isoformat(timespec="seconds")


def _limits(table: _Table) -> Limits:
    seconds = table.take("seconds", number, Limits.seconds, positive=True)
    memory = table.take("memory_mib", number, Limits.memory / 2**20, positive=True)
    output = table.take("output_mib", number, Limits.output / 2**20, positive=True)
    table.end()
    return Limits(seconds, int(memory * 2**20), int(output * 2**20))


def _exercise(
    table: _Table, key: str, book: dict[str, Any], files: Mapping[str, bytes], own: Mapping[str, Op]
) -> Exercise:
    """Read an exercise: its table, its cell in the source notebook, its baseline and its wrong kernels."""
    where = table.where
    kernel = table.take("kernel", string)
    op = {**registry.ops, **own}.get(kernel.partition("/")[0])
    if op is None:
        raise DefinitionError(
            f"{where}: kernel={shown(kernel)}: no such op, neither in {OWN_OP} nor among {', '.join(registry.ops)}"
        )
    points = table.take("points", _table)
    params, forbid = table.take("params", strings, ()), table.take("forbid", strings, ())
    baseline = table.take("baseline", string, "")
    table.end()
    cell = kernel_cell(cell_of(book, key), key)
    cuda = cell.kind == "cuda"
    more = (*CUDA_CHECKS, *(f"{count} 2" for count in CUDA_COUNTS)) if cuda else ("speed 2",)
    criteria = [*CRITERIA[:3], *(f"gradient {one.name}" for one in op.gradients), *CRITERIA[3:], *more]
    for name, value in points.items():
        if name not in criteria and not (count_of(name) if cuda else speed_of(name)):
            raise DefinitionError(f"{where}: points of {shown(name)}.{offer(name, criteria, 'Criteria')}")
        if number(f"points.{name}", value, where=where, error=DefinitionError) < 0:
            raise refusal(f"points.{name}", value, "a number of 0 or more", where=where, error=DefinitionError)
        if speed_of(name) and not baseline:
            raise DefinitionError(f"{where}: points for {name!r} need a baseline, the file of a kernel")
    if not sum(points.values()) > 0:
        raise DefinitionError(f"{where}: no points. Criteria: {', '.join(criteria)}")
    if "forbidden" in points and not forbid:
        raise DefinitionError(f"{where}: points for 'forbidden' need a list, forbid = [\"aten\"]")
    if baseline and baseline not in files:
        raise DefinitionError(f"{where}: baseline={shown(baseline)}, and there is no such file beside {TOML}")
    if cell.options.name != kernel:
        raise DefinitionError(
            f"{where}: kernel={shown(kernel)}, and the cell {key!r} of the notebook makes {cell.options.name!r}"
        )
    if cell.starter == cell.text:
        raise DefinitionError(
            f"{where}: the cell {key!r} of the notebook has no lines from // BEGIN SOLUTION to // END SOLUTION"
        )
    return Exercise(
        key, op, kernel, FrozenDict(points), params, forbid,
        _text(files[baseline], baseline) if baseline else "", FrozenDict(cell.settings),
        (cell.text, FrozenDict(cell.options.params)), cell.starter, FrozenDict(_wrong(key, files, points)), cell.kind,
    )  # fmt: skip


def _wrong(
    key: str, files: Mapping[str, bytes], points: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Read the wrong kernels of an exercise: the first line says by which criterion each must fall, and why."""
    for name, data in files.items():
        if name.startswith(f"wrong/{key}."):
            text = _text(data, name)
            first = re.match(r"\s*//\s*([^:\n]+):\s*(\S[^\n]*)", text)
            if first is None or first[1].strip() not in points:
                raise DefinitionError(
                    f"{name}, line 1: want the criterion by which it must fall and why, `// parity: forgets y`. "
                    f"Those that have points: {', '.join(points)}"
                )
            yield name.removeprefix("wrong/"), (text, first[1].strip(), first[2].strip())


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{name}: byte {error.start} is not UTF-8: save the file as UTF-8") from None


def _question(table: _Table, key: str, book: dict[str, Any]) -> Question:
    points = table.take("points", number, positive=True)
    tolerance = table.take("tolerance", number, 0.0)
    table.end()
    answer = value_of(cell_of(book, key))
    if not answer:
        raise DefinitionError(f"{table.where}: the cell {key!r} of the notebook has no answer")
    return Question(key, ast.literal_eval(answer), points, tolerance)


def own_ops(data: bytes, where: str, want: str = "") -> dict[str, Op]:
    """Execute the instructor's `op.py`, and return the ops that it makes or registers, `want` among them; nothing stays registered."""
    space: dict[str, Any] = {"__name__": "lab_op"}
    before = registry.snapshot()
    shipped = {kernel.op for kernel in registry.values() if registry.is_shipped(kernel)}
    # It may register ops whose names are taken by those of this session.
    registry.restore(
        tuple({name: one for name, one in table.items() if name.partition("/")[0] in shipped} for table in before)  # type: ignore[arg-type]
    )
    try:
        exec(compile(_text(data, where), where, "exec"), space)
        registered = [op for name, op in registry.ops.items() if name not in shipped or before[0][name] is not op]
    except Exception as error:  # whatever the instructor's file raises
        raise DefinitionError(
            f"{where}: {type(error).__name__}: {error}. It must run by itself: put its imports into it"
        ) from error
    finally:
        registry.restore(before)
    made = (value for value in space.values() if isinstance(value, Op))
    found = {op.name: op for op in (*registered, *made)}
    if not found or (want and want not in found):
        raise DefinitionError(
            f"{where} defines no op{f' {want!r}' * bool(want)}: li.registry.register(li.Op(...)) in it does"
        )
    return found
