"""What is found out about kernels while something is done with them, noted in the registry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..errors import BuildError, CheckError, CrashError, DefinitionError, LltmInlineError, TemplateError
from .kernel import Kernel
from .registry import registry

_STATES: dict[type[LltmInlineError], str] = {
    BuildError: "failed",
    TemplateError: "failed",
    DefinitionError: "failed",
    CheckError: "wrong",
    CrashError: "crashed",
}


@contextmanager
def noting(kernels: Sequence[Kernel]) -> Iterator[None]:
    """Note that kernels were built, or which of them does not compile, is wrong or crashes, as an error says."""
    try:
        yield
    except tuple(_STATES) as error:
        state = next(state for kind, state in _STATES.items() if isinstance(error, kind))
        text = headline(error)
        for kernel in kernels:
            named = error.kernel == kernel.label if isinstance(error, BuildError) else is_about(kernel, text)
            if named and registry.state(kernel.label).name != state:  # a check has said why, and says it better
                registry.note(kernel, state, text)
        raise
    for kernel in kernels:
        registry.note(kernel, "built")


def headline(error: LltmInlineError) -> str:
    """Say in one line what is wrong, without the advice."""
    diagnostics = getattr(error, "diagnostics", ())
    if diagnostics:
        return f"{diagnostics[0].place}: {diagnostics[0].message}"
    return str(error).partition("\n")[0]


def is_about(kernel: Kernel, text: str) -> bool:
    """Tell whether a message names this very revision, and not one that it was timed against."""
    return re.search(rf"(?<![\w/]){re.escape(kernel.label)}(?![\w@])", text) is not None
