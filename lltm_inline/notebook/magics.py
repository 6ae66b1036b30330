"""The magics `%%kernel`, `%kernel` and `%%load_inline`: `%load_ext lltm_inline` brings them. Each is a thin twin of public functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from .. import journal
from ..base.command_line import as_typed
from ..base.shell import in_notebook
from ..base.verbs import by_argument, laid_out
from ..errors import BuildError, CheckError, CrashError, LltmInlineError
from ..journal.recovery import waiting
from ..model.outcomes import headline
from . import completion, inline_cell
from .cell import run
from .live import Notebook, Terminal
from .options import OPTIONS, parse
from .verbs import help_of_verbs, perform

_RED, _END = "\033[31m", "\033[0m"

_CELL_HELP = f"""Make a revision of a kernel of this cell, build it, and check and time it where that is
asked for.

    %%kernel op/variant [options]
    C++ or CUDA text that defines `forward` and `backward`

`backward` can be left out where ATen differentiates.

A name that the registry has gets a new revision; another name of one of its ops makes a new
kernel. The revision is registered, and kept in the journal, also where it does not compile:
nothing typed is lost. Messages of the compiler count in the lines of the cell, its first line
being `%%kernel`. A cell that does not compile, or is wrong under --check, stops "Run all".

{laid_out([(option.usage, option.help) for option in OPTIONS])}

`$name` and `{{expression}}` in the first line stand for values of Python.
To start from the text of a kernel: %kernel source axpy/cpp"""

_LINE_HELP = f"""Look at the kernels and revisions of this notebook, and bring their source into the
next cell.

    %kernel VERB ...

{help_of_verbs()}

A kernel is named as in `registry`: axpy/cpp is the current revision, axpy/cpp@2 that very one,
axpy/cpp@0 what ships."""


def load(shell: Any) -> None:
    """Give an IPython shell the magics and their completion, and turn the journal on; a second time changes nothing.

    Where a restart has left revisions behind, it says how to bring them back.

    Args:
        shell: the InteractiveShell.
    """
    journal.turn_on()
    cell, line, inline = _magics(shell)
    shell.register_magic_function(cell, "cell", "kernel")
    shell.register_magic_function(line, "line", "kernel")
    shell.register_magic_function(inline, "cell", "load_inline")
    if with_body not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(with_body)
    completion.load(shell)
    left = waiting()
    if left:
        print(
            f"{left} revision{'s' * (left > 1)} of this notebook from before the restart: "
            "%kernel recover, or li.registry.recover(), brings them back"
        )


def unload(shell: Any) -> None:
    """Take the magics and their completion away again; revisions and the journal stay."""
    for kind, name in (("cell", "kernel"), ("line", "kernel"), ("cell", "load_inline")):
        shell.magics_manager.magics[kind].pop(name, None)
    if with_body in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(with_body)
    completion.unload(shell)


def with_body(lines: list[str]) -> list[str]:
    """Give a cell of one line a second, empty one: so `%%kernel` itself says that there is no text, and not IPython.

    Example:
        >>> with_body(["%%kernel axpy/mine"])
        ['%%kernel axpy/mine\\n', '\\n']
    """
    if len(lines) == 1 and lines[0].split(maxsplit=1)[:1] in (["%%kernel"], ["%%load_inline"]):
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines


def _magics(shell: Any) -> tuple[Any, Any, Any]:

    def kernel_cell(line: str, cell: str) -> None:
        with _shortened(shell) as screen, as_typed(by_argument(OPTIONS)):
            run(parse(line), cell, screen, lines_ahead=_lines_ahead(shell, "%%kernel"))

    def inline_cell_(line: str, cell: str) -> None:
        with _shortened(shell) as screen:
            inline_cell.run(line, cell, shell.ev, screen, lines_ahead=_lines_ahead(shell, "%%load_inline"))

    def kernel_line(line: str) -> Any:
        return perform(line, lambda text: shell.set_next_input(text, replace=False))

    kernel_cell.__doc__, kernel_line.__doc__, inline_cell_.__doc__ = _CELL_HELP, _LINE_HELP, inline_cell.HELP
    return kernel_cell, kernel_line, inline_cell_


@contextmanager
def _shortened(shell: Any) -> Iterator[Terminal | Notebook]:
    """Give a cell its screen; an error is one line where the rest was shown."""
    try:
        yield Notebook() if in_notebook() else Terminal()
    except (BuildError, CheckError, CrashError) as error:
        if in_notebook():
            error.__dict__["_render_traceback_"] = partial(_shortened_lines, shell, error)
        raise


def _lines_ahead(shell: Any, magic: str) -> int:
    """Count the empty lines above a magic: IPython takes them away, but people count them."""
    if not in_notebook():
        return 0
    code = shell.get_parent().get("content", {}).get("code", "")
    above = code[: len(code) - len(code.lstrip())]
    return above.count("\n") if code.lstrip().startswith(magic) else 0


def _shortened_lines(shell: Any, error: LltmInlineError) -> list[str]:
    """Write what a notebook shows in place of a traceback: one line, where the cell has shown the rest already."""
    if shell.InteractiveTB.mode in ("Verbose", "Docs"):
        return type(error)._render_traceback_(error)
    notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
    return [f"{_RED}{type(error).__name__}{_END}: {headline(error)}{notes}"]
