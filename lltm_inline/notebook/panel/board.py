"""What the panel shows of a kernel and of what is done with it, as plain values. Listeners are called with those that change.

Of errors the log shows the beginning, and all is behind a fold.
"""

from __future__ import annotations

import inspect
import textwrap
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from ... import journal
from ...errors import LltmInlineError
from ...model.kernel import Kernel
from ...model.registry import registry
from ...show.parts import Html, fold, folded, note, page, plain, tag
from ...tables.history import became, courses_of

#: Revisions shown as buttons, beside the one that ships.
_MOST_REVISIONS = 12
_MOST_LOG = 50
#: Of a message the log shows the beginning; the card beside it has all.
_MOST_LINES = 4
IDLE = {"verb": "", "text": "", "started": 0.0, "done": 0, "total": 0}

Listener = Callable[[dict[str, Any]], None]


def initial_state() -> dict[str, Any]:
    """Return the values of a panel that shows nothing yet: the names and kinds of all that the browser is told."""
    return {
        **dict.fromkeys(
            ("title", "report", "timings", "plot", "verdict", "diff", "details", "assembly", "history"), ""
        ),
        **{name: [] for name in ("variants", "devices", "revisions", "controls", "words", "marks", "log")},
        **{name: {} for name in ("current", "texts", "params")},
        "generation": 0,
        "options": {
            "check_first": True,
            **dict.fromkeys(("assembly", "remarks", "hot_lines", "values", "roofline"), False),
            "how": "",
        },
        "busy": dict(IDLE),
        "journal": {"saved": 0, "note": "", "notebook": ""},
        "worker": {"pid": 0, "mib": 0},
        "dirty": False,
    }


class Board:
    """The values, and the one lock under which they change: messages and verbs come in different threads."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.state = initial_state()
        self.running = False
        #: The part of the verb that runs, and when it began.
        self.part, self.began = "", 0.0
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Have a function called with the values that have changed, in whichever thread changed them."""
        self._listeners.append(listener)

    def tell(self, **values: Any) -> None:
        """Change values, and tell those that are new."""
        with self.lock:
            changed = {name: value for name, value in values.items() if self.state[name] != value}
            self.state.update(changed)
            if changed:
                for listener in self._listeners:
                    listener(changed)

    def log(self, text: str, level: str = "info") -> None:
        """Add lines to the log; `level` is `info`, `good` or `bad`."""
        with self.lock:
            line = {"at": time.time(), "level": level, "text": log_text(text)}
            self.tell(log=[*self.state["log"], line][-_MOST_LOG:])

    def fail(self, error: BaseException) -> None:
        """Show an exception: ours with its message, any other with its traceback."""
        self.log(words_of(error), "bad")
        if not isinstance(error, LltmInlineError):
            self.tell(details=page(folded("traceback", "".join(traceback.format_exception(error)), count=True)))

    def progress(self, text: str, done: int = 0, total: int = 0) -> None:
        """Say what the running verb is doing."""
        with self.lock:
            if self.running:
                self.tell(busy={**self.state["busy"], "text": text, "done": done, "total": total})

    def phase(self, verb: str, text: str) -> None:
        """Say which part of the running verb begins, unless it is being stopped."""
        with self.lock:
            self.part, self.began = text, time.monotonic()
            if self.running and self.state["busy"]["verb"] != "stopping":
                self.tell(busy={**self.state["busy"], "verb": verb, "text": text, "done": 0, "total": 0})


def log_text(text: str) -> str:
    """Cut a message to what fits the log.

    Example:
        >>> log_text("one\\ntwo")
        'one\\ntwo'
    """
    lines = text.strip().split("\n")
    return "\n".join([*lines[:_MOST_LINES], *["..."] * (len(lines) > _MOST_LINES)])


def in_html(value: object) -> str:
    """Show a result as a notebook would: by its own HTML, else its text."""
    show = getattr(value, "_repr_html_", None)
    shown = show() if show is not None else None
    return shown if isinstance(shown, str) else str(page(plain(str(value))))


def words_of(error: BaseException) -> str:
    """Return the message of an exception; of one that is none of ours with its type."""
    if isinstance(error, LltmInlineError):
        return str(error)
    return f"unexpected {type(error).__name__}: {error}"


def card_of(error: BaseException) -> str:
    """Show an exception: by its own HTML, else its message set apart."""
    if hasattr(error, "_repr_html_"):
        return in_html(error)
    return str(page(note("bad", tag("pre", words_of(error), cls="li-wrap"))))


def texts_of(kernel: Kernel) -> dict[str, str]:
    """Return what the editor shows of a kernel: its texts by kind; of one in Python its source, which cannot be edited."""
    if kernel.python is None:
        return dict(kernel.sources)
    try:
        return {"python": textwrap.dedent(inspect.getsource(kernel.python))}
    except (OSError, TypeError):  # Python does not know it
        name = getattr(kernel.python, "__qualname__", kernel.python)
        return {"python": f"# {kernel.label} is the Python function {name}\n"}


def revisions_of(kernel: Kernel) -> list[dict[str, Any]]:
    """List the last revisions, what ships and the kernel itself, with what is known of each."""
    history = registry.history(kernel.name)
    kept = {one.label: one for one in (history[0], *history[-_MOST_REVISIONS:], kernel)}
    revisions = []
    for one in sorted(kept.values(), key=lambda one: one.revision):
        state, hint = became(one)
        revisions.append({"label": one.label, "number": one.revision, "state": state, "hint": hint})
    return revisions


def history_of(kernel: Kernel) -> str:
    """Show behind a fold how fast the revisions of a kernel were, and what else is known of them."""
    history = registry.history(kernel.name)
    return str(page(fold(f"times of {kernel.name} by revision", Html(in_html(history))))) if courses_of(history) else ""


def left_of(kernel: Kernel) -> journal.Draft | None:
    """Return the text that was left in the editor of a kernel, if it fits the kernel."""
    found = journal.draft(kernel.name)
    if found is None or kernel.python is not None or set(found.texts) != set(kernel.sources):
        return None
    return found if all(isinstance(text, str) for text in found.texts.values()) else None
