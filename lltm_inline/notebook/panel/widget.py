"""The panel as a widget: traits and messages between a `Session` and the browser, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ... import show
from ...errors import FileError
from .session import Session
from .snapshot import Snapshot

_STATIC = Path(__file__).parent / "static"
#: What the browser writes, too.
_SHARED = ("texts", "params", "options")


def _asset(name: str) -> str:
    """Read a file of the bundle, which is part of the package.

    Raises:
        FileError: it is missing.
    """
    try:
        return (_STATIC / name).read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"the panel's {name} cannot be read: {error.strerror} ({_STATIC / name}). Install lltm_inline again"
        ) from error


class Playground(anywidget.AnyWidget):
    """What `li.playground` returns; shows itself in JupyterLab, Notebook 7 and VS Code.

    Args:
        session: what it shows.
    """

    title = traitlets.Unicode().tag(sync=True)
    variants: Any = traitlets.List().tag(sync=True)
    devices: Any = traitlets.List().tag(sync=True)
    current = traitlets.Dict().tag(sync=True)
    revisions: Any = traitlets.List().tag(sync=True)
    texts = traitlets.Dict().tag(sync=True)
    generation = traitlets.Int().tag(sync=True)
    #: The generation of which the browser's texts and params are an edit; None before its first.
    seen: Any = traitlets.Int(None, allow_none=True).tag(sync=True)
    params = traitlets.Dict().tag(sync=True)
    controls: Any = traitlets.List().tag(sync=True)
    options = traitlets.Dict().tag(sync=True)
    marks: Any = traitlets.List().tag(sync=True)
    busy = traitlets.Dict().tag(sync=True)
    log: Any = traitlets.List().tag(sync=True)
    report = traitlets.Unicode().tag(sync=True)
    timings = traitlets.Unicode().tag(sync=True)
    plot = traitlets.Unicode().tag(sync=True)
    verdict = traitlets.Unicode().tag(sync=True)
    diff = traitlets.Unicode().tag(sync=True)
    details = traitlets.Unicode().tag(sync=True)
    journal = traitlets.Dict().tag(sync=True)
    worker = traitlets.Dict().tag(sync=True)
    dirty = traitlets.Bool().tag(sync=True)
    #: The name of what stands for the panel where it cannot be shown.
    snapshot = traitlets.Unicode().tag(sync=True)

    def __init__(self, session: Session) -> None:
        self._esm = _asset("panel.js")
        self._css = f"{show.style()}\n{_asset('panel.css')}"
        #: What the panel does; usable without it.
        self.session = session
        self._telling = False
        self._snapshot = Snapshot()
        with session.lock:
            super().__init__(**session.state, snapshot=self._snapshot.name)
            session.listen(self._tell)
        self.observe(self._told, names=list(_SHARED))
        self.on_msg(self._asked)

    def _tell(self, values: dict[str, Any]) -> None:
        """Pass on what has changed, in one message; the session holds its lock."""
        before, self._telling = self._telling, True
        try:
            with self.hold_sync():
                for name, value in values.items():
                    setattr(self, name, value)
        finally:
            self._telling = before
        if not values.get("busy", {"verb": "no"})["verb"]:  # something has ended
            self._snapshot.update(self.session.state)

    def _told(self, change: Any) -> None:
        """Take what the browser has written."""
        if self._telling:
            return
        self.session.handle({"do": "edit", change["name"]: change["new"], "generation": self.seen})
        with self.session.lock:  # what was not taken is put back
            self._tell({change["name"]: self.session.state[change["name"]]})

    def _asked(self, _: Any, message: Any, __: Any) -> None:
        """Do what a button asks for."""
        answer = self.session.handle(message if isinstance(message, dict) else {"do": message})
        if answer is not None:
            self.send(answer)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take values of the browser; not while a verb changes them in its thread."""
        with self.session.lock:
            super().set_state(sync_data)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        with self.session.lock:
            self._snapshot.show(self.session.state)
        return super()._repr_mimebundle_(**options)

    def __repr__(self) -> str:
        # All that is seen of the widget where no widgets are: in a static export, or on a page that has not loaded them.
        return f"panel of {self.session.state['current']['label']}: run the cell in a live notebook"
