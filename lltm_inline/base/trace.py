"""An error in a notebook: the user's own lines that led there, then the message, with colours where it has structure."""

from __future__ import annotations

import linecache
import re
import sysconfig
import traceback
from functools import partial
from pathlib import Path
from typing import Any

from .shell import running_shell

# Red and green where IPython has them; else only bold: on the red ground of an error no colour can be read in every theme.
_RED, _GREEN, _BOLD, _END = "\033[31m", "\033[32m", "\033[1m", "\033[0m"
_COLOUR = re.compile("\033\\[\\d+m")
_HERE = str(Path(__file__).resolve().parents[1])
#: IPython's own way to call a magic: the line is the whole cell again.
_MAGICS = ("get_ipython().run_cell_magic(", "get_ipython().run_line_magic(")
_MARKED = re.compile(r"\s*(?:-> +\d+ \||\|?\s*\^~*\s*$)")
_LEAD = re.compile(r"^(\s*)(likely cause:|hint:|[\w./ ()@-]+:\d+(?::\d+)?:) ")
_PLACE = re.compile(r'  File "([^"\n]*)"')
_AROUND = 1

#: How the note begins that holds the traceback in the worker.
WORKER_NOTE = "in the worker:\n"


def lines_of(error: BaseException) -> list[str]:
    """Return what IPython prints of an error: frames of this package, of torch and of Python's own library are left out.

    In the modes of `%xmode Verbose` and `%tb Verbose` nothing is left out.

    Args:
        error: that was raised.

    Returns:
        Pieces of text, each of one or more lines.

    Example:
        >>> from lltm_inline.errors import InputError
        >>> lines_of(InputError("rounds=0, want an integer of at least 1"))
        ['\\x1b[31mInputError\\x1b[0m: rounds=0, want an integer of at least 1']
    """
    shell = running_shell()
    table = getattr(shell, "InteractiveTB", None)
    if table is not None and getattr(table, "mode", "") in ("Verbose", "Docs"):
        return list(table.structured_traceback(type(error), error, error.__traceback__))
    frames = [] if getattr(table, "mode", "") == "Minimal" else traceback.extract_tb(error.__traceback__)
    notes = [note for note in map(_noted, getattr(error, "__notes__", ())) if note]
    own = [one for one in frames if _is_of_user(one.filename) and not (one.line or "").strip().startswith(_MAGICS)]
    parts = [*(f"{_frame(frame, shell)}\n" for frame in own), _message(error), *notes]
    plain = str(getattr(shell, "colors", "")).lower() == "nocolor"
    return [_COLOUR.sub("", part) for part in parts] if plain else parts


def shorten(error: BaseException) -> None:
    """Let IPython show an error that is not ours, such as what a kernel raised, as it shows ours."""
    error.__dict__["_render_traceback_"] = partial(lines_of, error)  # a lambda could not be pickled


def _is_of_user(path: str) -> bool:
    if path.startswith("<frozen "):
        return False
    hidden = [_HERE, *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))]
    if not any(path.startswith(f"{folder}/") for folder in hidden):
        return True
    # Packages may lie beneath the standard library: those of the user stay, what runs cells and tensors goes.
    package = path.partition("/site-packages/")[2].partition("/")[0]
    return bool(package) and not path.startswith(f"{_HERE}/") and package not in ("IPython", "ipykernel", "torch")


def _frame(frame: traceback.FrameSummary, shell: Any) -> str:
    """Show a line of the user's with the ones beside it, as IPython does."""
    name = f"File {frame.filename}:{frame.lineno}"
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = named(frame.filename) if named is not None else None
    if found:
        name = f"{found[0]} {found[1]}, line {frame.lineno}"
    where = f", in {frame.name}" if not frame.name.startswith("<") else ""
    lines = [f"{_GREEN}{name}{_END}{where}"]
    at = frame.lineno or 0
    for number in range(max(1, at - _AROUND), at + _AROUND + 1):
        text = linecache.getline(frame.filename, number).rstrip()
        if number == at:
            lines.append(f"{_GREEN}----> {number}{_END} {text}")
        elif text:
            lines.append(f"      {number} {text}")
    return "\n".join(lines)


def _noted(note: str) -> str:
    """Write a note; of a traceback in the worker the user's own lines, and nothing where there are none."""
    if not note.startswith(WORKER_NOTE):
        return note
    blocks = re.split(r"^(?=  File )", note, flags=re.MULTILINE)[1:]
    own = [block for block in blocks if (at := _PLACE.match(block)) and _is_of_user(at[1])]
    # Behind the last frame stands the message, which is told already.
    lines = [line for block in own for line in block.splitlines(keepends=True) if line.startswith("  ")]
    return "".join([WORKER_NOTE, *lines]).rstrip() if own else ""


def _message(error: BaseException) -> str:
    first, *rest = str(error).split("\n")
    name = f"{_RED}{type(error).__name__}{_END}"
    if not str(error):
        return name
    return "\n".join([f"{name}: {_BOLD}{first}{_END}" if rest else f"{name}: {first}", *map(_structured, rest)])


def _structured(line: str) -> str:
    """Set off what the eye looks for in a message: the place, the line, the likely cause."""
    if _MARKED.match(line):
        return f"{_BOLD}{line}{_END}"
    found = _LEAD.match(line)
    return f"{found[1]}{_BOLD}{found[2]}{_END}{line[found.end(2) :]}" if found else line
