"""The panel as a widget: traits and messages between a `Session` and the browser; and what is seen where no widgets are.

That is a picture of the panel as HTML, in an output of its own beside the panel's. A notebook file keeps this output; a static
export shows it, and so does a page whose kernel has gone. While the panel itself is on the page it hides it, by its name.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets
from IPython.display import DisplayHandle

from ...errors import FileError
from ...show.parts import Html, page, paragraph, tag
from ...show.source import source
from ...show.style import style
from .board import initial_state
from .session import Session

_STATIC = Path(__file__).parent / "static"
_LANGUAGES = {"cuda": "cuda", "python": "python"}
#: What the browser writes, too.
_SHARED = ("texts", "params", "options")


def _asset(name: str) -> str:
    """Read a file of the bundle, which is part of the package."""
    try:
        return (_STATIC / name).read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"the panel's {name} cannot be read: {error.strerror} ({_STATIC / name}). Install lltm_inline again"
        ) from error


#: The values of a session, and besides them `seen`, the generation of which the browser's texts and params are an edit (None
#: before its first), and `snapshot`, the name of what stands for the panel where it cannot be shown.
_TRAITS = {name: traitlets.Any().tag(sync=True) for name in (*initial_state(), "seen", "snapshot")}


class Playground(type("Traits", (anywidget.AnyWidget,), _TRAITS)):  # type: ignore[misc]
    """What `li.playground` returns; shows itself in JupyterLab, Notebook 7 and VS Code.

    Args:
        session: what it shows.
    """

    def __init__(self, session: Session) -> None:
        self._esm = _asset("panel.js")
        self._css = f"{style()}\n{_asset('panel.css')}"
        #: What the panel does; usable without it.
        self.session = session
        self._telling = self._is_shown = False
        #: What stands for the panel where it cannot be shown: drawn below the cell that runs, and then anew in its place.
        self._output = DisplayHandle(f"lltm-of-{uuid.uuid4().hex[:12]}")
        with session.lock:
            super().__init__(**session.state, snapshot=self._output.display_id)
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
        has_ended = not values.get("busy", {"verb": "no"})["verb"]
        if self._is_shown and (has_ended or "current" in values):  # another kernel is shown
            self._output.update(self._drawn(), raw=True)

    def _drawn(self) -> dict[str, str]:
        state = self.session.state
        shown = snapshot(state, self._output.display_id)
        return {"text/html": shown, "text/plain": f"the text of {state['current']['label']}"}

    def _told(self, change: Any) -> None:
        if self._telling:
            return
        self.session.handle({"do": "edit", change["name"]: change["new"], "generation": self.seen})
        with self.session.lock:  # what was not taken is put back
            self._tell({change["name"]: self.session.state[change["name"]]})

    def _asked(self, _: Any, message: Any, __: Any) -> None:
        answer = self.session.handle(message if isinstance(message, dict) else {"do": message})
        if answer is not None:
            self.send(answer)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take values of the browser; not while a verb changes them in its thread."""
        with self.session.lock:
            super().set_state(sync_data)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        with self.session.lock:  # a second time for a second panel of the same session
            self._is_shown = True
            self._output.display(self._drawn(), raw=True)
        return super()._repr_mimebundle_(**options)

    def __repr__(self) -> str:
        # All that is seen of the widget where no widgets are: in a static export, or on a page that has not loaded them.
        return f"panel of {self.session.state['current']['label']}: run the cell in a live notebook"


def snapshot(state: Mapping[str, Any], name: str = "") -> Html:
    """Show the text of a panel, and below it what was last said of it and timed.

    Args:
        state: of its session.
        name: by which the panel hides it.
    """
    label, device = state["current"]["label"], state["current"]["device"]
    texts = [
        source(text, language=_LANGUAGES.get(kind, "cpp"), label=f"{label}, {kind}")
        for kind, text in state["texts"].items()
    ]
    edited = ", edited and not built" if state["dirty"] else ""
    said = f" on {device}{edited}, as it stood in the panel: run the cell for the panel itself"
    # A file that is opened again has this, and behind it a view of no model, of which Lab writes an error and no element.
    output = ".jp-OutputArea-child"
    no_view = f"{output}:has(.{name or 'no-panel'}) + {output}:has(> .jp-OutputArea-output.jupyter-widgets) {{ display: none; }}"
    head = paragraph(tag("b", label), said)
    shown = page(head, *texts, Html(state["report"]), Html(state["plot"]), Html(state["timings"]))
    return tag("div", tag("style", Html(no_view)), shown, cls=name)
