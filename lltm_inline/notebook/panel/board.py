"""What the panel shows, as plain values: whoever listens is told those that change."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from ...errors import LltmInlineError
from .words import folded, log_text, words_of

_MOST_LOG = 50
IDLE = {"verb": "", "text": "", "started": 0.0, "done": 0, "total": 0}

Listener = Callable[[dict[str, Any]], None]


def initial_state() -> dict[str, Any]:
    """Return the values of a panel that shows nothing yet: the names and kinds of all that the browser is told."""
    return {
        "title": "",
        "variants": [],
        "devices": [],
        "current": {},
        "revisions": [],
        "texts": {},
        "generation": 0,
        "params": {},
        "controls": [],
        "options": {"check_first": True},
        "marks": [],
        "busy": dict(IDLE),
        "log": [],
        **dict.fromkeys(("report", "timings", "plot", "verdict", "diff", "details"), ""),
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
            self.tell(details=folded("".join(traceback.format_exception(error)), "traceback"))

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
