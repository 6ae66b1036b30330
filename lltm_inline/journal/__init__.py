"""The journal: what the registry tells of revisions, kept on disk, so that "Restart kernel" loses nothing.

DIR/journal/<session>.jsonl             one line for each thing that happened, appended: a start, a revision, what became of it
DIR/journal/<session>.<name>.draft      the text in the panel's editor that is no revision yet, replaced as a whole

DIR is the cache directory; `cache clear` and `cache prune` leave this room alone. A session is a notebook, known by its path;
without one it is a process, whose files are kept for a month. `li.registry.recover()` brings revisions back. Nothing is written
before `turn_on`, which `%load_ext` and `li.playground` call: a plain script leaves nothing behind.

file          the lines of one file, appended by one process or by several
recovery      what of them becomes revisions again, and under which numbers
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..base.shell import running_shell
from ..compiling.cache import cache_dir, digest
from ..errors import LltmInlineError
from ..model.kernel import Kernel
from ..model.registry import KEPT_TIMINGS, State, registry
from ..tables.timings import Timings
from .file import Line, append, trim, write_whole

#: For each kernel name so many revisions are kept, the latest ones, when a file is gone on with.
KEPT = 200

#: What a process without a notebook has written is kept so long.
_PROCESS_DAYS = 30
_DAY = 24 * 3600.0
_PROCESS = "process-"
_FIELDS = tuple(name for name in Kernel.__dataclass_fields__ if name != "python")


@dataclass(frozen=True)
class Draft:
    """Text in an editor that is no revision yet.

    Attributes:
        name: of the kernel, `lltm/fused`.
        texts: by kind, `{"cpp": ...}`.
        params: by name.
        base: label of the revision from which it started.
        time: when it was saved, in seconds since 1970.
    """

    name: str
    texts: Mapping[str, str]
    params: Mapping[str, int | float]
    base: str
    time: float


@dataclass
class _Journal:
    """What this process knows of its journal; nothing of it is needed to read one.

    Attributes:
        session: the notebook or process; nothing while the journal is off.
        saved: when something was written last.
        trouble: why nothing can be written.
        written: the revisions that stand in the file, or will as soon as it can be written, by label.
        file: the file that this process has begun.
        is_behind: whether something in `written` may not stand in the file that is begun next.
    """

    session: str = ""
    saved: float | None = None
    trouble: str = ""
    written: dict[str, Kernel] = field(default_factory=dict)
    file: Path | None = None
    is_behind: bool = False
    drafts: dict[str, Draft] = field(default_factory=dict)


_lock = threading.RLock()
_journal = _Journal()


def turn_on(session: str | None = None) -> str:
    """Write down every revision from now on that is registered; a second time changes nothing.

    Args:
        session: the notebook's path; None takes what VS Code or the Jupyter server says, else a random name.

    Returns:
        The session's name.
    """
    with _lock:
        if not _journal.session:
            _journal.session = session or notebook() or f"{_PROCESS}{uuid.uuid4().hex[:12]}"
            registry.listener = record
            for kernel in list(registry.values()):
                if not registry.is_shipped(kernel):
                    record(kernel)
        return _journal.session


def notebook() -> str:
    """Return the path of the notebook that this process serves, or nothing.

    VS Code comes first: what its server says changes from time to time.
    """
    names = getattr(running_shell(), "user_ns", {})
    return str(names.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME") or "")


def turn_off() -> None:
    """Write nothing down any more, and forget what this process knows; the files stay."""
    global _journal
    with _lock:
        registry.listener = None
        _journal = _Journal()


def session() -> str:
    """Return the name of this process's session; nothing while the journal is off."""
    return _journal.session


def title(name: str | None = None) -> str:
    """Name a session as people know it: the notebook's file, or `process 4f1a`.

    Example:
        >>> title("course/01_first_kernel.ipynb")
        '01_first_kernel.ipynb'
    """
    name = _journal.session if name is None else name
    return f"process {name[8:12]}" if name.startswith(_PROCESS) else Path(name).name


def record(kernel: Kernel, became: State | Timings | None = None) -> None:
    """Write down what the registry tells: that a revision is the current one, what became of it, or how fast it was.

    One that was built or checked and that nobody has registered stands aside: `recover` does not make it the current one.
    Where the disk cannot be written, a warning says so once, and all goes on; the next time that it can, nothing is left out.
    """
    if kernel.python is not None:
        return
    with _lock:
        if not registry.is_shipped(kernel) and _journal.written.get(kernel.label) != kernel:
            revision, *lines = _lines_of(kernel)
            _append(revision if became is None else {**revision, "aside": True}, *lines)
            note_written(kernel)
        elif became is None:
            _append({"current": kernel.label, "name": kernel.name})
        elif isinstance(became, Timings) or kernel.label in _journal.written:
            _append(_line_of(kernel, became))


def note_written(kernel: Kernel) -> None:
    """Take note that a revision stands in this session's file."""
    _journal.written.pop(kernel.label, None)  # the last one made stands last
    _journal.written[kernel.label] = kernel


def last_saved() -> float | None:
    """Return when this process last wrote something down, in seconds since 1970; None for never."""
    return _journal.saved


def trouble() -> str:
    """Say why nothing can be written down, or nothing."""
    return _journal.trouble


def save_draft(name: str, texts: Mapping[str, str], params: Mapping[str, int | float], base: str = "") -> None:
    """Keep what stands in an editor and is no revision yet, in place of what was kept of this name before.

    Args:
        name: of the kernel, `lltm/fused`.
        texts: by kind.
        params: by name.
        base: label of the revision from which it started.
    """
    draft = Draft(name, dict(texts), dict(params), base, time.time())
    _journal.drafts[name] = draft
    if _journal.session:
        _write(lambda: write_whole(_draft_path(name), json.dumps(asdict(draft))))


def draft(name: str) -> Draft | None:
    """Return what `save_draft` kept of a name, in this process or in one before it of the same notebook."""
    if name in _journal.drafts or not _journal.session:
        return _journal.drafts.get(name)
    try:
        return Draft(**json.loads(_draft_path(name).read_text(encoding="utf-8")))
    except (OSError, LltmInlineError, ValueError, TypeError):
        return None


def drop_draft(name: str) -> None:
    """Forget a draft: it has become a revision, or was given up."""
    _journal.drafts.pop(name, None)
    if _journal.session:
        _write(lambda: _draft_path(name).unlink(missing_ok=True))


def room() -> Path:
    """Return the journal's directory, made if need be.

    Raises:
        CacheError: the cache directory cannot be used.
        OSError: it cannot be made.
    """
    path = cache_dir() / "journal"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def path_of(name: str) -> Path:
    """Return the file of a session."""
    return room() / f"{_PROCESS * name.startswith(_PROCESS)}{digest(name)}.jsonl"


def _draft_path(name: str) -> Path:
    return path_of(_journal.session).with_suffix(f".{name.replace('/', '.')}.draft")


def _append(*lines: Line) -> None:
    """Append to this session's file, which begins by saying whose it is; where that fails, the file is begun again."""

    def write() -> None:
        path = path_of(_journal.session)
        begun: list[Line] = []
        if _journal.file != path:
            _journal.is_behind |= _journal.file is not None  # the cache is another one by now
            begun = _begun(path)
        for line in (*begun, *lines):
            append(path, {**line, "time": time.time()})
        _journal.file, _journal.is_behind = path, False

    if not _write(write):
        _journal.file, _journal.is_behind = None, True


def _begun(path: Path) -> list[Line]:
    """Say of a file whose it is, and what is missing there of what was made until now."""
    _remove_old()
    trim(path, KEPT, KEPT_TIMINGS)
    lines: list[Line] = [{"begin": _journal.session}]
    if _journal.is_behind:
        kernels = _journal.written.values()
        lines += [line for kernel in kernels for line in _lines_of(kernel)]
        now = [registry[name] for name in {kernel.name for kernel in kernels} & set(registry)]
        lines += [{"current": kernel.label, "name": kernel.name} for kernel in now]
    return lines


def _lines_of(kernel: Kernel) -> list[Line]:
    """Return a revision as a line, and what became of it and how fast it was as others, if anything is known."""
    state = registry.state(kernel.label)
    known: list[State | Timings] = [*[state] * (state.name != "new"), *registry.timed(kernel.label)]
    return [{"kernel": as_dict(kernel), "name": kernel.name}, *(_line_of(kernel, became) for became in known)]


def _line_of(kernel: Kernel, became: State | Timings) -> Line:
    if isinstance(became, Timings):
        return {"timings": became.to_dict(), "label": kernel.label, "name": kernel.name}
    return {"state": became.name, "hint": became.hint, "label": kernel.label, "name": kernel.name}


def _write(action: Callable[[], Any]) -> bool:
    """Do something to the disk and return whether that went well; where it fails, warn once and go on."""
    with _lock:
        try:
            action()
        except (OSError, LltmInlineError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            if not _journal.trouble:
                text = (
                    f"revisions are not written to the journal: {reason}. They live until this process ends; to keep them, "
                    "make room, or set LLTM_INLINE_CACHE to a directory that can be written"
                )
                # No line of the user's is to blame: none is shown, and none of ours.
                warnings.warn_explicit(text, RuntimeWarning, "lltm_inline", 1, module=__name__)
            _journal.trouble = reason
            return False
        _journal.saved, _journal.trouble = time.time(), ""
        return True


def _remove_old() -> None:
    """Remove what processes without a notebook wrote long ago: nobody asks for it, and each leaves a file of its own."""
    for path in room().glob(f"{_PROCESS}*"):
        with suppress(OSError):  # another process has removed it already
            if path.stat().st_mtime < time.time() - _PROCESS_DAYS * _DAY:
                path.unlink()


def as_dict(kernel: Kernel) -> dict[str, Any]:
    """Return what a kernel is made of as plain values, ready for JSON."""
    values = {name: getattr(kernel, name) for name in _FIELDS}
    return {**values, **{name: dict(values[name]) for name in ("params", "slots")}}


def from_dict(values: Mapping[str, Any]) -> Kernel | None:
    """Make a kernel of what `as_dict` returned, before or after JSON; None where that is not possible any more."""
    try:
        return Kernel(**{name: values[name] for name in _FIELDS if name in values})
    except (LltmInlineError, TypeError, KeyError):
        return None


def files() -> list[Path]:
    """List the files of all sessions."""
    return sorted(room().glob("*.jsonl"))
