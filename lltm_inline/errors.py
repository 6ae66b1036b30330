"""Every exception of the playground.

Each message says what is wrong, where, with which values, and what mends it. All of them derive from
`LltmInlineError`; where Python has a builtin that a caller would expect (`KeyError`, `ValueError`), the class
is that too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .build.diagnostics import Diagnostic
    from .run.report import Report


class LltmInlineError(Exception):
    """Anything that this package raises on purpose."""


class DefinitionError(LltmInlineError, ValueError):
    """An `Op` or `Kernel` whose fields contradict each other or break a rule, found when it is made."""


class UnknownKernelError(LltmInlineError, KeyError):
    """No kernel, revision or op of that name; the message lists the names, the nearest one first."""

    def __str__(self) -> str:
        # KeyError quotes its message; ours is a sentence.
        return str(self.args[0])


class DuplicateKernelError(LltmInlineError, ValueError):
    """The name is taken by something else."""


class EditError(LltmInlineError, ValueError):
    """The text to replace does not occur exactly once."""


class TemplateError(LltmInlineError, ValueError):
    """A slot without a value, a value without a slot, or a stray `$`."""


class InputError(LltmInlineError, ValueError):
    """An argument of a public function that makes no sense: a size, a device, a name of a baseline."""


class ToolchainError(LltmInlineError, RuntimeError):
    """No compiler, no ninja, no headers; the message holds the one command that mends it."""


class CacheError(LltmInlineError, RuntimeError):
    """The cache directory cannot be used, or an entry in it is not what was put there."""


class BuildError(LltmInlineError, RuntimeError):
    """A kernel that did not compile, link or load.

    Attributes:
        kernel: label of the kernel, `lltm/fused@2`.
        diagnostics: what the compiler said, the true first error first.
        log: the full text of compiler and linker.
    """

    def __init__(self, message: str, *, kernel: str, diagnostics: Sequence[Diagnostic] = (), log: str = "") -> None:
        super().__init__(message)
        self.kernel = kernel
        self.diagnostics = tuple(diagnostics)
        self.log = log


class SignatureError(BuildError):
    """`forward` or `backward` in the text does not fit the op's schema; found before anything is compiled."""


class CheckError(LltmInlineError):
    """A kernel that is wrong was to be timed or used; `report` says how it is wrong."""

    def __init__(self, message: str, *, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report
