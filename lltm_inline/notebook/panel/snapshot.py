"""What is seen of a panel where no widgets are: a picture of it as HTML, in an output of its own beside the panel's.

A notebook file keeps this output; a static export shows it, and so does a page whose kernel has gone. While the panel itself is
on the page it hides it, by its name.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from ...show import Html, page, paragraph, source, tag

_LANGUAGES = {"cuda": "cuda", "python": "python"}


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
    head = paragraph(tag("b", label), f" on {device}{edited}, as it stood in the panel")
    picture = tag("pre", Html(state["plot"]), cls="li-picture") if state["plot"] else ""
    return tag("div", page(head, *texts, Html(state["report"]), picture, Html(state["timings"])), cls=name)


class Snapshot:
    """The output; drawn with the first `show`, and then anew in its place."""

    def __init__(self) -> None:
        #: The class of its element.
        self.name = f"lltm-of-{uuid.uuid4().hex[:12]}"
        self._handle: Any = None

    def show(self, state: Mapping[str, Any]) -> None:
        """Draw it below the cell that runs; a second time for a second panel of the same session."""
        from IPython.display import DisplayHandle

        if self._handle is None:
            self._handle = DisplayHandle(self.name)
        self._handle.display(self._data(state), raw=True)

    def update(self, state: Mapping[str, Any]) -> None:
        """Draw it anew, if it is shown."""
        if self._handle is not None:
            self._handle.update(self._data(state), raw=True)

    def _data(self, state: Mapping[str, Any]) -> dict[str, str]:
        return {"text/html": snapshot(state, self.name), "text/plain": f"the text of {state['current']['label']}"}
