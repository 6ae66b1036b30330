"""`li.playground`: edit, build, check and time a kernel in a panel below a notebook's cell.

board, editor, capture -> session -> verbs; the widget shows a session, and it alone needs a widget library.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ... import journal
from ...base.arguments import number, one_of, require_choices
from ...base.packages import pip_command
from ...base.shell import in_notebook, running_shell
from ...compiling.header import header_flags
from ...compiling.job import make_job
from ...compiling.toolchain import find_toolchain
from ...errors import LltmInlineError, ToolchainError
from ...model.kernel import Kernel
from ...model.registry import registry
from ...run.setting import choose_sizes
from ...source.template import devices_of, kernel_or_first
from ...tables.timings import GLANCE_SECONDS
from ...workers.client import worker

if TYPE_CHECKING:
    from .session import Session
    from .widget import Playground

__all__ = ["playground"]

#: The panels there are, by the cell that made them and the kernel that they began with.
_sessions: WeakValueDictionary[tuple[str, str], Session] = WeakValueDictionary()
_WITHOUT = (
    "Without the panel, in a cell: %load_ext lltm_inline, then %kernel source {name}; that makes a cell that begins with "
    "%%kernel {name} --check --benchmark"
)


def playground(
    kernel: Kernel | str,
    *,
    device: str | None = None,
    sizes: Sequence[Any] | None = None,
    seconds: float = GLANCE_SECONDS,
    compiler: str | None = None,
) -> Playground:
    """Show a panel to edit, build, check and time a kernel.

    The buttons call `build`, `check` and `benchmark` (or `counts`) in a background thread, so other cells can run meanwhile;
    Stop ends what they do at once. Each source that is built becomes a revision. The journal records it, and what was typed
    since: after a restart of the notebook's kernel, the same call brings both back.

    Args:
        kernel: a kernel, its label, or the name of an op, which means its fused or C++ variant first.
        device: `"cpu"`, `"cuda"` or `"cuda-cpu"`; default: the first that the kernel has source for and this machine has. On
            `"cuda-cpu"` Benchmark counts memory accesses of the launches, since times there are not those of a GPU.
        sizes: of the benchmark, as for `benchmark`.
        seconds: of the benchmark, for each kernel and size.
        compiler: as for `build`.

    Returns:
        The panel; a cell whose last line is the panel shows it.

    Raises:
        UnknownKernelError: no op, kernel or revision of that name.
        InputError: an argument that makes no sense.
        ToolchainError: there is no notebook to show it in, or anywidget is missing; the message names an alternative.

    Example:
        >>> playground("lltm")
        Traceback (most recent call last):
            ...
        lltm_inline.errors.ToolchainError: li.playground needs a notebook, and this is none. ...
    """
    chosen = kernel_or_first(kernel)
    require_choices(compiler=compiler)
    number("seconds", seconds, positive=True)
    if device is not None:
        one_of("device", device, devices_of(chosen), where=f"kernel {chosen.label!r}")
    if sizes is not None:
        choose_sizes(registry.op_of(chosen), sizes)
    _require_notebook(chosen)
    from .session import PanelSetting, Session
    from .verbs import work
    from .widget import Playground

    _warm(chosen, compiler)
    note = _recover(chosen.op)
    newest = isinstance(kernel, str) and "@" not in kernel
    first, setting = registry[chosen.name] if newest else chosen, PanelSetting(sizes, compiler, seconds)
    session = Session(first, device, setting, work=work, note=note, draft=newest)
    _replace_older(session, chosen.name)
    return Playground(session)


def _warm(kernel: Kernel, compiler: str | None) -> None:
    """Start the worker, and the precompiled header that the kernel's text needs, while the person reads the panel."""
    worker.warm()
    if "cpu" in devices_of(kernel) and kernel.python is None:
        with suppress(LltmInlineError, OSError):  # Build says what is wrong
            toolchain = find_toolchain(compiler)
            prelude = make_job(kernel, toolchain).prelude
            if prelude is not None:
                header_flags(toolchain, prelude)


def _replace_older(session: Session, name: str) -> None:
    """Stop what the panel runs that this cell made before: the new one takes its place, and with it its Stop."""
    shell = running_shell()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    cell = parent.get("metadata", {}).get("cellId")
    if not isinstance(cell, str):  # the front end does not say which cell it is
        return
    older = _sessions.get((cell, name))
    if older is not None:
        older.stop()
    _sessions[cell, name] = session


def _recover(op: str) -> str:
    """Turn the journal on, bring back what this notebook has made before, and say so."""
    try:
        journal.turn_on()
        before = {one.label for name in registry for one in registry.history(name)}
        found = registry.recover(op)
    except LltmInlineError as error:  # a cache that cannot be used: the panel works without
        return str(error)
    news = len(found.notes) > 1 or any(one.label not in before for one in found)
    return " ".join(found.notes) if news else ""


def _require_notebook(kernel: Kernel) -> None:
    """Refuse to go on where no panel can be shown."""
    without = _WITHOUT.format(name=kernel.label)
    if not in_notebook():
        raise ToolchainError(
            "li.playground needs a notebook, and this is none. Start one with: make lab, or jupyter lab. In Python the same "
            f"is done by li.check and li.benchmark of li.registry[{kernel.label!r}].edit(old, new)"
        )
    missing = [name for name in ("anywidget", "ipywidgets") if importlib.util.find_spec(name) is None]
    if missing:
        raise ToolchainError(
            f"li.playground needs {' and '.join(missing)}, and this Python ({sys.executable}) has not: "
            f"{pip_command('anywidget')}, then restart the kernel and reload the page. {without}"
        )
