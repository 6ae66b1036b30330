"""Every exception of the playground.

Each message says what is wrong, where, with which values, and how to fix it. All of them derive from
`LltmInlineError`; where Python has a builtin that a caller would expect (`KeyError`, `ValueError`), the class
is that too.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .base.above import Shown
from .base.trace import lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .diagnosis.diagnostics import Diagnostic


class LltmInlineError(Exception):
    """Anything that this package raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # As exceptions are copied and pickled otherwise, they are made again of their message alone.
        return made_again, (type(self), self.args), vars(self)

    def _render_traceback_(self) -> list[str]:
        """Say how IPython shows this error: the user's own lines and the message; `%tb Verbose` shows all lines."""
        return lines_of(self)


def made_again(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Make an exception without running its constructor; its attributes are for the caller to set."""
    # What is a RuntimeError and an OSError finds the __new__ of the first, which Python takes for the wrong one.
    error = OSError.__new__(kind, *args) if issubclass(kind, OSError) else kind.__new__(kind, *args)
    error.args = args  # an OSError leaves that to its constructor
    return error


class DefinitionError(LltmInlineError, ValueError):
    """An `Op` or `Kernel` whose fields contradict each other or break a rule, found when it is made."""


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Let what is refused in this block begin with what it is refused of: `from_load_inline('ext'), 'f': it takes no Tensor`."""
    try:
        yield
    except (DefinitionError, InputError) as error:
        error.args = (f"{where}: {error}",)
        raise


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


class FileError(InputError, OSError):
    """A file that cannot be read or written; the message has the path and what the system says."""


class UnknownPartError(InputError, KeyError):
    """A result has no part of that name; the message lists those that it has."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would quote it


class ToolchainError(LltmInlineError, RuntimeError):
    """No compiler, no ninja, no headers; the message holds the one command that mends it."""


class CacheError(LltmInlineError, RuntimeError):
    """The cache directory cannot be used, or an entry in it is not what was put there."""


class BuildError(LltmInlineError, RuntimeError, Shown):
    """A kernel that did not compile, link or load, or took too long to.

    Attributes:
        kernel: label of the kernel, `lltm/fused@2`.
        diagnostics: what the compiler said, the actual first error first.
        log: the full text of compiler and linker.
    """

    def __init__(self, message: str, *, kernel: str, diagnostics: Sequence[Diagnostic] = (), log: str = "") -> None:
        super().__init__(message)
        self.kernel = kernel
        self.diagnostics = tuple(diagnostics)
        self.log = log


class SignatureError(BuildError):
    """`forward` or `backward` in the text does not fit the op's schema; found before anything is compiled."""


class CheckError(LltmInlineError, Shown):
    """A wrong kernel was about to be timed or used.

    Attributes:
        report: a `Report` that says how it is wrong, or None.
    """

    # Results raise errors, so no error knows the class of a result: imports would go in a circle.
    def __init__(self, message: str, *, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class CrashError(LltmInlineError, RuntimeError, Shown):
    """A kernel that took the worker down with it; the caller's process, its variables and the next call are untouched.

    Attributes:
        crash: a `Crash`: what happened, where, with which inputs, and the likely cause.
        timings: the rows that a benchmark had measured before, or None.
        report: the `Report` of a check that it ended, or None.
    """

    def __init__(self, message: str, *, crash: Any, timings: Sequence[Any] | None = None, report: Any = None) -> None:
        super().__init__(message)
        self.crash, self.report = crash, report
        self.timings = None if timings is None else tuple(timings)


class TimeoutError(CrashError, builtins.TimeoutError):
    """A kernel that did not come back within its wall time; `crash` says where it was, and whether it computed or waited."""


class WorkerError(LltmInlineError, RuntimeError):
    """The worker cannot be started, or the process that starts it has ended."""


class InfraError(LltmInlineError, RuntimeError):
    """The grader itself failed, and not a student: the machine, the sandbox, or what a lab is made of; there is no grade then."""
