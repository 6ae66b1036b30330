"""How the panel works, and what it shows of a kernel: its texts and revisions."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...journal import journal
from ...model.kernel import Kernel
from ...model.op import Op
from ...model.registry import registry

#: Revisions shown as buttons, beside the one that ships.
_MOST_REVISIONS = 12


@dataclass(frozen=True)
class PanelSetting:
    """How the panel builds and times.

    Attributes:
        sizes: of the benchmark; None for the op's own.
        compiler: as for `build`.
        seconds: of the benchmark, for each kernel and size.
    """

    sizes: Sequence[Any] | None = None
    compiler: str | None = None
    seconds: float = 0.5


def texts_of(kernel: Kernel) -> dict[str, str]:
    """Return what the editor shows of a kernel: its texts by kind; of one in Python its source, which cannot be edited."""
    if kernel.python is None:
        return dict(kernel.sources)
    try:
        return {"python": textwrap.dedent(inspect.getsource(kernel.python))}
    except (OSError, TypeError):  # Python does not know it
        name = getattr(kernel.python, "__qualname__", kernel.python)
        return {"python": f"# {kernel.label} is the Python function {name}\n"}


def before(kernel: Kernel) -> Kernel | None:
    """Return the revision from which a kernel was made, else the one before it; None of the first."""
    earlier = [one for one in registry.history(kernel.name) if one.revision < kernel.revision]
    parents = [one for one in earlier if one.label == kernel.parent]
    found = parents or earlier
    return found[-1] if found else None


def revisions_of(kernel: Kernel) -> list[dict[str, Any]]:
    """List the last revisions, what ships and the kernel itself, with what is known of each."""
    history = registry.history(kernel.name)
    kept = {one.label: one for one in (history[0], *history[-_MOST_REVISIONS:], kernel)}
    revisions = []
    for one in sorted(kept.values(), key=lambda one: one.revision):
        state, hint = journal.state(one.label)
        if state == "new" and one.revision == 0:
            state = "shipped"
        revisions.append({"label": one.label, "number": one.revision, "state": state, "hint": hint})
    return revisions


def left_of(kernel: Kernel) -> journal.Draft | None:
    """Return the text that was left in the editor of a kernel, if it fits the kernel."""
    found = journal.draft(kernel.name)
    if found is None or kernel.python is not None or set(found.texts) != set(kernel.sources):
        return None
    return found if all(isinstance(text, str) for text in found.texts.values()) else None


def variants_of(op: Op) -> list[dict[str, Any]]:
    """List the kernels of an op, with the name, the variant, and whether there is a text to edit."""
    kernels = [kernel for kernel in registry.values() if kernel.op == op.name]
    return [{"name": one.name, "label": one.variant, "editable": one.python is None} for one in kernels]
