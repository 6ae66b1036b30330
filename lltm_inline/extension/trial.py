"""The function of a snippet itself, run in the worker on the example inputs, tells what it returns where nobody gave a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..base.device import DEVICES
from ..calling import call as call_in_worker
from ..errors import BuildError, CrashError, DefinitionError, LltmInlineError, SignatureError, ToolchainError
from ..model.kernel import Kernel
from ..model.registry import Argument, Op, registry
from ..run.function import as_tuple, each, tensors
from ..source.choose import usual_device
from .example import Call, call, words

#: The output of an op that is called to see how many tensors a function returns.
COUNT = "count_of_tensors"
COUNTS = (Argument(COUNT, "int"),)


class Trial:
    """The snippet's function itself, called in the worker in the place of a reference that nobody gave.

    Args:
        op, kernel: of the function, as far as its text tells; neither is registered.
    """

    def __init__(self, op: Op, kernel: Kernel) -> None:
        self.op, self.kernel, self.device = op, kernel, usual_device(kernel)
        self.crash: CrashError | None = None

    def __call__(self, *values: Any) -> Any:
        """Call it; once it has crashed it is not called again.

        Raises:
            CrashError: it crashed. Exception: whatever it raises.
        """
        if self.crash is not None:
            raise self.crash
        before = [each(value, Tensor.clone) for value in values]
        there = [each(value, lambda one: one.to(DEVICES[self.device].tensors)) for value in values]
        try:
            with registry.lent(self.op):
                returned = call_in_worker(self.kernel, *there, device=self.device)
        except CrashError as crash:
            self.crash = crash
            raise
        for value, other in zip(tensors(values), tensors(there), strict=True):
            value.copy_(other)
        changed = [v for v, b in zip(values, before, strict=True) if isinstance(v, Tensor) and not torch.equal(v, b)]
        results = [each(one, lambda tensor: _itself(tensor.cpu(), changed)) for one in as_tuple(returned)]
        return results[0] if len(results) == 1 else tuple(results)

    def first(self, values: Sequence[Any]) -> Call:
        """Call it with the example.

        Raises:
            CrashError: it crashes. DefinitionError: it raises. BuildError, SignatureError, ToolchainError: it cannot be built.
        """
        example = f"({', '.join(map(words, values))})"
        try:
            return call(self, values)
        except CrashError as crash:
            crash.add_note(
                f"{self.kernel.name}: it ran on the example inputs {example}. Give it such as it takes, or mend it."
            )
            raise
        except LltmInlineError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise DefinitionError(
                f"it fails on the example inputs {example}: {said}. Give inputs that it takes"
            ) from error


def _itself(result: Tensor, changed: Sequence[Tensor]) -> Tensor:
    """Return the argument that a result is: one that was changed, and holds what was returned."""
    same = [one for one in changed if one.dtype == result.dtype and torch.equal(one, result)]
    return same[0] if same else result


def seen(op: Op, op_of: Callable[..., Op], kernel_of: Callable[[Op], Kernel], values: Sequence[Any]) -> Op:
    """Complete an op without a reference by runs of the function itself: how many tensors it returns, their dtypes and shapes.

    Raises:
        CrashError, DefinitionError: the function crashes, or raises, on the example inputs.
        BuildError, SignatureError, ToolchainError: it cannot be built, and nothing else says how many tensors it returns.
    """
    uncounted = op.signature.outputs == COUNTS
    try:
        if uncounted:
            (count,) = Trial(op, kernel_of(op)).first(values).results
            op = op_of(count=count)
        trial = Trial(op, kernel_of(op))
        return op_of(trial=(trial, trial.first(values)))
    except (BuildError, SignatureError, ToolchainError):
        if uncounted:
            raise
        return op  # the first build says it again, of a kernel that is registered
