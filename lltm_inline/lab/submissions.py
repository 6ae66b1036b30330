"""What students handed in becomes answers: a folder, a zip, nbgrader's `submitted/` or Gradescope's mount. Nothing is executed."""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from ..base.above import Sheet
from ..base.arguments import path_of, plural, shown, using_file
from ..errors import FileError, InputError
from ..model.op import FrozenDict
from .cells import MOST_BYTES, cell_of, kernel_cell, read_notebook, too_large, value_of
from .lab import Exercise, Lab, Question, read_lab

_METADATA = "submission_metadata.json"
_MOST_FILES = 50_000
_TIMESTAMP = "timestamp.txt"


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
    """

    student: str
    answers: tuple[Answer, ...]
    handed_in: str = ""


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
            rows.append([one.student, one.handed_in or "-", "; ".join(dict.fromkeys(said)) or "to be graded"])
        return ["student", "handed in", "answers"], rows


def collect(lab: Lab | str | os.PathLike[str], source: str | os.PathLike[str]) -> Submissions:
    """Read what students handed in, without running any of it.

    Args:
        lab: its folder or its `lab.zip`.
        source: a folder with a notebook or a folder for each student, a zip of such a folder, nbgrader's `submitted/` or the
            folder of its course, or what Gradescope mounts at `/autograder`.

    Returns:
        The submissions; what is wrong with one stands in its answers, and touches no other student.

    Raises:
        FileError: the source is not there, or cannot be read. InputError: it has no notebook at all, or is no zip.
        DefinitionError: the lab breaks a rule.
    """
    lab = read_lab(lab)
    path = path_of("source", source)
    found: dict[str, list[_Found]] = {}
    elsewhere: dict[str, _Found] = {}
    if not path.exists():
        raise FileError(f"{shown(str(path))}: no such folder or zip")
    with using_file(path):
        for one in _in_folder(path) if path.is_dir() else _in_zip(path):
            if _is_book(one.path) or one.trouble:
                student, task = _whose(one.path)
                one = replace(one, student=student)
                if task in ("", lab.name):
                    found.setdefault(_folded(student), []).append(one)
                else:
                    said = f"no notebook of the lab in the student's folder; there is {shown(str(one.path))}"
                    elsewhere.setdefault(_folded(student), replace(one, trouble=one.trouble or said))
    found |= {name: [one] for name, one in elsewhere.items() if name not in found}
    if not found:
        raise InputError(
            f"{shown(str(path))}: no notebook of any student in it, want NAME.ipynb or NAME/{lab.notebook} for each"
        )
    made = [_submission(lab, ones) for _, ones in sorted(found.items())]
    return Submissions(lab.name, tuple(made))


@dataclass(frozen=True)
class _Found:
    """A file of a submission: its place, how to read it, or what is wrong with it."""

    path: PurePosixPath
    read: Callable[[], bytes]
    trouble: str = ""
    handed_in: str = ""
    student: str = ""


def _in_folder(root: Path) -> Iterator[_Found]:
    """List the files below a folder; what leads out of it is not followed."""
    metadata = _gradescope(root / _METADATA) if (root / _METADATA).is_file() else None
    base = root / "submission" if metadata else root / "submitted" if (root / "submitted").is_dir() else root
    seen = 0
    empty = (
        set()
        if metadata
        else {e.name for e in os.scandir(base) if e.is_dir(follow_symlinks=False) and e.name[0] != "."}
    )
    for place, folders, names in os.walk(base, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted([*names, *(each for each in folders if (Path(place) / each).is_symlink())]):
            path = Path(place) / name
            inside = PurePosixPath(path.relative_to(base))
            if seen > _MOST_FILES:
                raise InputError(
                    f"{shown(str(root))} holds more than {_MOST_FILES} files: it is no folder of submissions"
                )
            seen += 1
            info = path.lstat()
            trouble = _trouble(name, info.st_mode, info.st_size)
            stamp = path.with_name(_TIMESTAMP)
            when = _time_of(stamp.read_text(errors="replace")[:100]) if _is_plain(stamp) and _is_book(inside) else ""
            one = _Found(inside, path.read_bytes, trouble, when)
            if metadata is not None:
                one = replace(one, path=PurePosixPath(metadata[0], name), handed_in=metadata[1])
            empty.discard(inside.parts[0] if _is_book(inside) else "")
            yield one
    for name in sorted(empty):
        yield _Found(PurePosixPath(name, "-"), bytes, "there is no notebook in the folder")


def _trouble(name: str, mode: int, size: int) -> str:
    """Say why a file is not read: it is a link, no file at all, or a notebook that is too large."""
    if stat.S_ISLNK(mode):
        return f"{shown(name)} is a link, want the file itself"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):  # in a zip the type may be missing
        return f"{shown(name)} is no file"
    return too_large(shown(name), size) if _is_book(PurePosixPath(name)) else ""


def _is_book(path: PurePosixPath) -> bool:
    return path.suffix.lower() == ".ipynb"


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _in_zip(path: Path) -> Iterator[_Found]:
    """List the files in a zip. They are read in memory and no further than a notebook may be long, whatever their heads say."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            if len(members) > _MOST_FILES:
                raise InputError(f"{shown(str(path))} holds more than {_MOST_FILES} files: it is no zip of submissions")
            tops = {PurePosixPath(one.filename).parts[:1] for one in members if "__MACOSX" not in one.filename}
            # A folder that was zipped as a whole is one more step to every student.
            skip = (
                1
                if len(tops) == 1
                and all(len(PurePosixPath(one.filename).parts) > 1 for one in members)
                and _deep(members)
                else 0
            )
            for one in members:
                place = PurePosixPath(one.filename)
                if "__MACOSX" in place.parts or place.name.startswith("."):
                    continue
                trouble = _trouble(one.filename, one.external_attr >> 16, one.file_size)
                if place.is_absolute() or ".." in place.parts:
                    trouble = f"{shown(one.filename)} leads out of the zip"
                yield _Found(PurePosixPath(*place.parts[skip:]), partial(_unpacked, path, one), trouble)
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:
        raise InputError(f"{shown(str(path))} is no zip: {error}") from None


def _deep(members: Sequence[zipfile.ZipInfo]) -> bool:
    """Tell whether a zip has folders in its one folder, or several notebooks there."""
    parts = [path.parts for one in members if _is_book(path := PurePosixPath(one.filename))]
    return len(parts) > 1 or any(len(each) > 2 for each in parts)


def _unpacked(path: Path, member: zipfile.ZipInfo) -> bytes:
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        return file.read(MOST_BYTES + 1)


def _gradescope(path: Path) -> tuple[str, str]:
    """Return whose submission Gradescope has mounted, and when it was handed in."""
    try:
        data = json.loads(path.read_bytes())
        names = [str(user.get("email") or user["name"]) for user in data["users"]]
        return ", ".join(sorted(names)), _time_of(data["created_at"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: not as Gradescope writes it: {type(error).__name__}: {error}") from None


def _time_of(text: Any) -> str:
    """Return a time in UTC as ISO 8601; a zone that is missing is UTC, and what is no time is none."""
    text = re.sub(r" (UTC|GMT)$", "", str(text).strip())  # nbgrader's; the name of any other zone may mean two
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""


def _whose(path: PurePosixPath) -> tuple[str, str]:
    """Return the student that a place in the tree names, and the folder below that, which nbgrader names by the assignment."""
    parts = path.parts
    if parts[:1] == ("submitted",):
        parts = parts[1:]
    name = parts[0] if len(parts) > 1 else path.stem
    # A file system may have names that are no text.
    return name.encode(errors="replace").decode(), "/".join(parts[1:-1])


def _folded(name: str) -> str:
    """Return what two names have in common that a person, or a file system, takes for one."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _may_be(path: PurePosixPath, lab: Lab) -> bool:
    """Tell whether a notebook may be what a student hands in: the lab's by name or a copy of it, or a file that only names the student."""
    return len(path.parts) == 1 or path.stem.lower().startswith(PurePosixPath(lab.notebook).stem.lower())


def _submission(lab: Lab, found: list[_Found]) -> Submission:
    """Read one student's notebook; what is wrong with it is the student's own trouble."""
    student = found[0].student
    named = [one for one in found if _may_be(one.path, lab)] or found
    handed_in = max(one.handed_in for one in named)
    trouble = next((one.trouble for one in named if one.trouble), "")
    names = sorted({one.student for one in found})
    if len(names) > 1:
        trouble = f"{plural(len(names), 'student')} of one name: {', '.join(map(shown, names))}"
    elif len(named) > 1:
        trouble = f"{len(named)} notebooks, want one: {', '.join(shown(str(one.path)) for one in named[:4])}"
    book = None
    if not trouble:
        try:
            book = read_notebook(named[0].read(), shown(named[0].path.name))
        except (InputError, OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
            trouble = str(error) or type(error).__name__
    answers = tuple(_answer(cell, book, trouble) for cell in lab.cells)
    return Submission(student, answers, handed_in)


def _answer(cell: Exercise | Question, book: dict[str, Any] | None, trouble: str) -> Answer:
    name = cell.grade_id
    if book is None:
        return Answer(name, not_graded=trouble)
    try:
        source = cell_of(book, name)
    except InputError as error:
        return Answer(name, not_graded=str(error))
    try:
        return _kernel_of(cell, source) if isinstance(cell, Exercise) else _value_in(cell, source)
    except InputError as error:
        return Answer(name, reason=str(error))


def _value_in(question: Question, source: str) -> Answer:
    value = value_of(source)
    return Answer(question.grade_id, value, reason="" if value else "there is no answer")


def _kernel_of(exercise: Exercise, source: str) -> Answer:
    """Read a kernel's cell: it must make the exercise's kernel in the way in which the instructor's cell does."""
    name = exercise.grade_id
    if not source.partition("\n")[2].strip():
        return Answer(name, reason="there is no answer")
    cell = kernel_cell(source, name)
    if cell.options.name != exercise.kernel:
        raise InputError(f"cell {name!r} makes {shown(cell.options.name)}, want {exercise.kernel}")
    if cell.kind != "cpp":
        raise InputError(f"cell {name!r} is a {cell.kind} text, want cpp")
    if cell.settings != dict(exercise.settings):
        wanted = " ".join(f"--{key} {value}" for key, value in exercise.settings.items()) or "none"
        raise InputError(f"cell {name!r}: its first line has other options than it was handed out with ({wanted})")
    default = exercise.solution[1]
    for key, value in cell.options.params.items():
        if key not in exercise.params and default.get(key) != value:
            allowed = ", ".join(exercise.params) or "none"
            raise InputError(f"cell {name!r}: --params {key}={value:g} cannot be set here. Params: {allowed}")
    return Answer(name, cell.text, FrozenDict({**default, **cell.options.params}))
