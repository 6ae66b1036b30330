"""What students handed in becomes answers: a folder, a zip, nbgrader's `submitted/` or Gradescope's mount. Nothing is executed."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import unicodedata
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

from ..base.above import Sheet, printable
from ..base.arguments import path_of, plural, shown, using_file
from ..errors import FileError, InputError
from ..model.op import FrozenDict
from .cells import (
    MOST_BYTES,
    MOST_LETTERS,
    cell_of,
    grade_id,
    is_locked,
    kernel_cell,
    read_notebook,
    source_of,
    too_large,
    value_of,
)
from .grades import plain_cell
from .lab import Exercise, Lab, Question, read_lab
from .making import handed_out

_METADATA = "submission_metadata.json"
#: Of one student; and how deep folders are looked into.
_MOST_FILES, _DEEPEST = 50_000, 20
_TIMESTAMP = "timestamp.txt"
#: Of a text that is handed in without a notebook, by the kind of the lab's; and its name where the lab has one kernel.
_SUFFIX, _USUAL = {"cpp": ".cpp", "cuda": ".cu"}, "submission"
_LONGEST_TIME = 200
#: The name of any other zone may mean two.
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(?:Z|UTC|GMT|([+-]\d\d:?\d\d))?", re.ASCII)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Answer:
    """What one cell of a submission says.

    Attributes:
        exercise: its `grade_id`.
        text: of the kernel, or the value as Python writes it.
        params: of the kernel, those included that the instructor has set.
        reason: why it earns nothing, whatever the text does; empty where it is to be judged.
        not_graded: why there is no one cell to judge.
    """

    exercise: str
    text: str = ""
    params: Mapping[str, float] = field(default_factory=FrozenDict)
    reason: str = ""
    not_graded: str = ""


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    Attributes:
        student: as the folder, the file or Gradescope names them.
        answers: one for each cell of the lab.
        handed_in: when, in UTC as ISO 8601; empty where nobody has noted it.
        rewritten: the locked cells that say something else than they were handed out with, or are gone.
    """

    student: str
    answers: tuple[Answer, ...]
    handed_in: str = ""
    rewritten: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Submissions(Sheet):
    """The submissions of a class, as `collect` read them.

    Attributes:
        lab: its name.
        submissions: in the order of their names.
    """

    lab: str
    submissions: tuple[Submission, ...]

    @property
    def headline(self) -> str:
        """The sentence."""
        broken = sum(any(answer.not_graded for answer in one.answers) for one in self.submissions)
        said = f"; {broken} cannot be graded as they are" if broken else ""
        return f"lab {self.lab}: {plural(len(self.submissions), 'submission')}{said}."

    def sheet(self) -> tuple[Sequence[str], list[Sequence[str]]]:
        """What was found of each student."""
        rows: list[Sequence[str]] = []
        for one in self.submissions:
            said = [f"{a.exercise}: {a.not_graded or a.reason}" for a in one.answers if a.not_graded or a.reason]
            said += [f"locked cells were rewritten: {', '.join(one.rewritten)}"] * bool(one.rewritten)
            rows.append([one.student, one.handed_in or "-", "; ".join(dict.fromkeys(said)) or "to be graded"])
        return ["student", "handed in", "answers"], rows


def collect(lab: Lab | str | os.PathLike[str], source: str | os.PathLike[str]) -> Submissions:
    """Read what students handed in, without running any of it.

    Args:
        lab: its folder or its `lab.zip`.
        source: a folder with a notebook or a folder for each student, a zip of such a folder, nbgrader's `submitted/` or the
            folder of its course, what Gradescope mounts at `/autograder`, or what GitHub Classroom clones. In place of a notebook
            there may be the text of a kernel, such as `submission.cu`, or Python that hands it to `load_inline`.

    Returns:
        The submissions; what is wrong with one stands in its answers, and touches no other student.

    Raises:
        FileError: the source is not there, or cannot be read. InputError: it has no notebook at all, or is no zip.
        DefinitionError: the lab breaks a rule.
    """
    lab = read_lab(lab)
    path = path_of("source", source)
    files: dict[str, list[_Found]] = {}
    if not path.exists():
        raise FileError(f"{shown(str(path))}: no such folder or zip")
    # GitHub Classroom clones NAME-STUDENT into NAME-submissions.
    cloned = path.resolve().name
    classroom = cloned.removesuffix("submissions") if cloned.endswith("-submissions") else ""
    with using_file(path):
        for one in _in_folder(path) if path.is_dir() else _in_zip(path):
            student, task = (one.student, "") if one.student else _whose(one)
            student = student.removeprefix(classroom)
            student = student.encode(errors="backslashreplace").decode()  # file systems have names that are no text
            theirs = files.setdefault(_folded(student), []) if student else []
            if len(theirs) <= _MOST_FILES:
                theirs.append(replace(one, student=student, task=task))
    if not files:
        raise InputError(
            f"{shown(str(path))}: no notebook of any student in it, want NAME.ipynb or NAME/{lab.notebook} for each"
        )
    made = []
    for _, theirs in sorted(files.items()):
        for student in sorted({one.student for one in theirs}):
            found, said = own_result(partial(_submission, lab, student, theirs))
            made.append(found or Submission(student, tuple(Answer(c.grade_id, not_graded=said) for c in lab.cells)))
    return Submissions(lab.name, tuple(made))


def own_result(read: Callable[[], _T]) -> tuple[_T | None, str]:
    """Read or mark something of one student's, or say why not: what goes wrong is that student's own result, never the class's.

    Example:
        >>> own_result(lambda: [][0])
        (None, 'it cannot be read: IndexError: list index out of range')
    """
    try:
        return read(), ""
    except InputError as error:
        return None, str(error)
    except Exception as error:  # nobody can list what a text may do to those who read it
        return None, f"it cannot be read: {type(error).__name__}: {printable(str(error))[:200]}"


@dataclass(frozen=True)
class _Found:
    """A file of a submission: its place, how to read its first bytes, or what is wrong with it; whose it is, and the folder below that."""

    path: PurePosixPath
    read: Callable[[int], bytes]
    trouble: str = ""
    handed_in: str = ""
    student: str = ""
    task: str = ""


def _first_bytes(opened: Callable[[], IO[Any]], most: int) -> bytes:
    """Read a file no further than so many bytes, however long it is, or says that it is."""
    with opened() as file:
        return file.read(most)


def _in_folder(root: Path) -> Iterator[_Found]:
    """List the files below a folder; what leads out of it is not followed."""
    gradescope = (root / _METADATA).is_file() and (root / "submission").is_dir()
    student, when = _gradescope(root / _METADATA) if gradescope else ("", "")
    base = root / "submission" if gradescope else root / "submitted" if (root / "submitted").is_dir() else root
    os.listdir(base)  # what cannot be read is no class of nobody
    for place, folders, names in os.walk(base):
        above = PurePosixPath(Path(place).relative_to(base))
        folders[:] = sorted(name for name in folders if name[0] != "." and len(above.parts) < _DEEPEST)
        if place == str(base) and not gradescope:  # an empty one is somebody's, too
            yield from (_Found(PurePosixPath(name, "-"), bytes) for name in folders)
        for name in sorted([*names, *(each for each in folders if (Path(place) / each).is_symlink())]):
            path = Path(place) / name
            info, lost = own_result(path.lstat)
            trouble = _trouble(name, info.st_mode, info.st_size) if info else lost
            inside = PurePosixPath("submission", name) if gradescope else above / name
            yield _Found(inside, partial(_first_bytes, partial(path.open, "rb")), trouble, when, student)


def _trouble(name: str, mode: int, size: int) -> str:
    """Say why a file is not read: it is a link, no file at all, or a notebook that is too large."""
    if stat.S_ISLNK(mode):
        return f"{shown(name)} is a link, want the file itself"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):  # in a zip the type may be missing
        return f"{shown(name)} is no file"
    return too_large(shown(name), size) if _is_book(PurePosixPath(name)) or _is_text(PurePosixPath(name)) else ""


def _is_book(path: PurePosixPath) -> bool:
    return path.suffix.lower() == ".ipynb"


def _is_text(path: PurePosixPath) -> bool:
    return path.suffix in (*_SUFFIX.values(), ".py")


def _in_zip(path: Path) -> Iterator[_Found]:
    """List the files in a zip. They are read in memory and no further than a notebook may be long, whatever their heads say."""
    try:
        archive = zipfile.ZipFile(path)  # open for as long as somebody may read a member of it
        members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:
        raise InputError(f"{shown(str(path))} is no zip: {error}") from None
    tops = {PurePosixPath(one.filename).parts[:1] for one in members if "__MACOSX" not in one.filename}
    # A folder that was zipped as a whole is one more step to every student: it has folders in it, or several notebooks.
    inside = all(one.is_dir() or len(PurePosixPath(one.filename).parts) > 1 for one in members)
    books = [book.parts for one in members if _is_book(book := PurePosixPath(one.filename))]
    skip = int(len(tops) == 1 and inside and (len(books) > 1 or any(len(parts) > 2 for parts in books)))
    for one in members:
        place = PurePosixPath(one.filename, *["-"] * one.is_dir())
        if "__MACOSX" in place.parts or place.name.startswith("."):
            continue
        trouble = "" if one.is_dir() else _trouble(one.filename, one.external_attr >> 16, one.file_size)
        if place.is_absolute() or ".." in place.parts:
            trouble = f"{shown(one.filename)} leads out of the zip"
        yield _Found(PurePosixPath(*place.parts[skip:]), partial(_first_bytes, partial(archive.open, one)), trouble)


def _gradescope(path: Path) -> tuple[str, str]:
    """Return whose submission Gradescope has mounted, and when it was handed in."""
    try:
        data = json.loads(_first_bytes(partial(path.open, "rb"), MOST_BYTES))
        names = [str(user.get("email") or user["name"]) for user in data["users"]]
        return ", ".join(sorted(names)), _time_of(data["created_at"], "created_at")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, InputError) as error:
        raise InputError(f"{path}: not as Gradescope writes it: {type(error).__name__}: {error}") from None


def _time_of(text: str, where: str) -> str:
    """Return a time in UTC as ISO 8601; a zone that is missing is UTC, and what is no time, or of a zone that may be two, is refused."""
    if found := _TIME.fullmatch(text.strip()):
        try:
            moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{found[3] or '+00:00'}")
            return moment.astimezone(UTC).isoformat(timespec="seconds")
        except (ValueError, OverflowError):
            pass
    raise InputError(f"{where} has {shown(text)}, want a time such as 2026-11-20 12:00:00 UTC, or 13:00:00+01:00 in it")


def _whose(one: _Found) -> tuple[str, str]:
    """Return the student that a place in the tree names, and the folder below that, which nbgrader names by the assignment."""
    parts = one.path.parts[one.path.parts[:1] == ("submitted",) :]
    if len(parts) < 2 and not (_is_book(one.path) or _is_text(one.path) or one.trouble):
        return "", ""  # it lies beside the submissions
    name = parts[0] if len(parts) > 1 else one.path.stem
    return name, "/".join(parts[1:-1])


def _folded(name: str) -> str:
    """Return what two names have in common that a person, a gradebook or a file system takes for one."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain_cell(name)).casefold()).split())


def _may_be(path: PurePosixPath, lab: Lab) -> bool:
    """Tell whether a notebook may be what a student hands in: the lab's by name or a copy of it, or a file that only names the student."""
    return len(path.parts) == 1 or path.stem.lower().startswith(PurePosixPath(lab.notebook).stem.lower())


def _submission(lab: Lab, student: str, files: Sequence[_Found]) -> Submission:
    """Read one student's notebook; what keeps it from being read is raised, and is the student's own trouble."""
    names = sorted({one.student for one in files})
    if len(names) > 1:
        raise InputError(f"{plural(len(names), 'student')} of one name: {', '.join(map(shown, names[:4]))}")
    if len(files) > _MOST_FILES:
        raise InputError(f"there are more than {_MOST_FILES} files")
    books = [one for one in files if _is_book(one.path) or (one.trouble and one.path.name != _TIMESTAMP)]
    here = [one for one in books if one.task in ("", lab.name)]
    named = [one for one in here if _may_be(one.path, lab)] or here
    if len(named) > 1:
        raise InputError(f"{len(named)} notebooks, want one: {', '.join(shown(str(one.path)) for one in named[:4])}")
    if trouble := next((one.trouble for one in named or books if one.trouble), ""):
        raise InputError(trouble)
    texts = [] if books else [one for one in files if _is_text(one.path) and one.task in ("", lab.name)]
    if not named and books:
        raise InputError(f"no notebook of the lab in the student's folder; there is {shown(str(books[0].path))}")
    if not (named := named or texts):
        raise InputError("there is no notebook in the folder")
    handed_in = named[0].handed_in
    # nbgrader's own, as it is laid out there; anywhere else it is a file like any other.
    for stamp in files if named[0].task == lab.name else ():
        if stamp.path == named[0].path.with_name(_TIMESTAMP):
            if stamp.trouble:
                raise InputError(stamp.trouble)
            handed_in = _time_of(stamp.read(_LONGEST_TIME).decode("utf-8-sig", "replace"), _TIMESTAMP)
    book = _as_book(lab, texts) if texts else read_notebook(named[0].read(MOST_BYTES + 1), shown(named[0].path.name))
    answers = []
    for cell in lab.cells:
        answer, said = own_result(partial(_answer, cell, book))
        answer = answer or Answer(cell.grade_id, not_graded=said)
        # Line n of a text is line n of its cell, or of its file.
        answers.append(replace(answer, text=answer.text.removeprefix("\n")) if texts else answer)
    return Submission(student, tuple(answers), handed_in, _rewritten(lab, book))


def _as_book(lab: Lab, files: Sequence[_Found]) -> dict[str, Any]:
    """Lay texts into the lab's notebook, below the first lines of its cells: then they are read as any other."""
    book = handed_out(lab)
    for exercise in lab.exercises:
        cell = next(cell for cell in book["cells"] if grade_id(cell) == exercise.grade_id)
        mine = [one for one in files if one.path.suffix in (_SUFFIX[exercise.kind], ".py")]
        alone = len(lab.exercises) == 1
        named = [one for one in mine if one.path.stem in (exercise.grade_id, *[_USUAL] * alone)] or mine * alone
        if len(named) > 1:
            raise InputError(f"{len(named)} kernels, want one: {', '.join(shown(str(one.path)) for one in named[:4])}")
        cell["source"] = source_of(cell).partition("\n")[0] + "\n"
        cell["source"] += _text_of(named[0], exercise.kind) if named else ""
    return book


def _text_of(found: _Found, kind: str) -> str:
    """Return the text of a kernel: the file, or of one in Python the string that it hands to `load_inline`, which is not run."""
    where, data = shown(found.path.name), found.read(MOST_LETTERS + 1)
    if len(data) > MOST_LETTERS:
        raise InputError(f"{where} has more than {MOST_LETTERS} letters")
    try:
        text = data.decode("utf-8-sig")
        if found.path.suffix != ".py":
            return text
        with warnings.catch_warnings(action="ignore"):  # of an escape in a string, which nobody here can mend
            nodes, argument = [*ast.walk(ast.parse(text))], f"{kind}_sources"
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise InputError(f"{where} cannot be read: {str(error)[:100]}") from None
    assigned = ((target, node.value) for node in nodes if isinstance(node, ast.Assign) for target in node.targets)
    named = {getattr(target, "id", ""): value for target, value in assigned}
    handed = [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == argument]
    for value in handed[:1] if len(handed) == 1 else ():
        (one,) = value.elts if isinstance(value, ast.List | ast.Tuple) and len(value.elts) == 1 else (value,)
        plain = named.get(one.id) if isinstance(one, ast.Name) else one
        if isinstance(plain, ast.Constant) and isinstance(plain.value, str):
            return plain.value
    raise InputError(f"{where} is not run, and has no one load_inline(..., {argument}=...) with a plain string")


def _rewritten(lab: Lab, book: dict[str, Any]) -> tuple[str, ...]:
    """Name the locked cells of a lab that a student has rewritten; what stands in them is not what is graded."""
    theirs = {grade_id(cell): own_result(partial(source_of, cell))[0] for cell in book["cells"]}
    locked = [cell for cell in read_notebook(lab.files[lab.notebook], lab.notebook)["cells"] if is_locked(cell)]
    return tuple(
        grade_id(cell) for cell in locked if (theirs.get(grade_id(cell)) or "").split() != source_of(cell).split()
    )


def _answer(cell: Exercise | Question, book: dict[str, Any]) -> Answer:
    """Read the answer in a cell; what it says wrong costs its points, and where there is no one cell, there is no grade."""
    source = cell_of(book, cell.grade_id)
    try:
        if isinstance(cell, Exercise):
            return _kernel_of(cell, source)
        value = value_of(source)
        return Answer(cell.grade_id, value, reason="" if value else "there is no answer")
    except InputError as error:
        return Answer(cell.grade_id, reason=str(error))


def _kernel_of(exercise: Exercise, source: str) -> Answer:
    """Read a kernel's cell: it must make the exercise's kernel in the way in which the instructor's cell does."""
    name = exercise.grade_id
    if not source.partition("\n")[2].strip():
        return Answer(name, reason="there is no answer")
    cell = kernel_cell(source, name)
    if cell.options.name != exercise.kernel:
        raise InputError(f"cell {name!r} makes {shown(cell.options.name)}, want {exercise.kernel}")
    if cell.kind != exercise.kind:
        raise InputError(f"cell {name!r} is a {cell.kind} text, want {exercise.kind}")
    if cell.settings != dict(exercise.settings):
        wanted = " ".join(f"--{key} {value}" for key, value in exercise.settings.items()) or "none"
        raise InputError(f"cell {name!r}: its first line has other options than it was handed out with ({wanted})")
    default = exercise.solution[1]
    for key, value in cell.options.params.items():
        if key not in exercise.params and default.get(key) != value:
            allowed = ", ".join(exercise.params) or "none"
            raise InputError(f"cell {name!r}: --params {key}={value:g} cannot be set here. Params: {allowed}")
    return Answer(name, cell.text, FrozenDict({**default, **cell.options.params}))
