"""Modules over a kernel of your choice: the kernel computes, the module keeps the parameters."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from . import ops
from .errors import InputError
from .registry import Kernel, registry

__all__ = ["LLTM"]


class LLTM(torch.nn.Module):
    """Hold the parameters of an LLTM cell and advance its state with a kernel.

    The kernel is built when the module is first called, not when it is made; `copy.deepcopy` and `torch.save` take
    the kernel along as its text, never as a library.

    Args:
        input_features: F.
        state_size: S.
        kernel: of op `lltm`, or its label; any revision will do.
        device, dtype: of the parameters.

    Attributes:
        weights: (3S, S+F), uniform in +-1/sqrt(S) at first; rows of input gate, output gate and candidate cell.
        bias: (3S), likewise.
        kernel: may be set to another kernel of the op at any time.

    Raises:
        UnknownKernelError: no kernel of that label.
        InputError: a kernel of another op, or a size below zero.

    Example:
        >>> cell = LLTM(input_features=17, state_size=5, kernel="lltm/python")
        >>> h, c = cell(torch.randn(3, 17), (torch.zeros(3, 5), torch.zeros(3, 5)))
        >>> h.shape, sorted(cell.state_dict())
        (torch.Size([3, 5]), ['bias', 'weights'])

    Source: https://docs.pytorch.org/tutorials/advanced/cpp_extension.html
    """

    weights: torch.nn.Parameter
    bias: torch.nn.Parameter

    def __init__(
        self,
        input_features: int,
        state_size: int,
        kernel: str | Kernel = "lltm/fused",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if input_features < 0 or state_size < 0:
            raise InputError(f"LLTM({input_features}, {state_size}): sizes must not be negative")
        self.input_features = input_features
        self.state_size = state_size
        self.kernel = kernel
        rows, columns = 3 * state_size, state_size + input_features
        self.weights = torch.nn.Parameter(torch.empty(rows, columns, device=device, dtype=dtype))
        self.bias = torch.nn.Parameter(torch.empty(rows, device=device, dtype=dtype))
        self.reset_parameters()

    @property
    def kernel(self) -> Kernel:
        """The kernel that computes."""
        return self._kernel

    @kernel.setter
    def kernel(self, kernel: str | Kernel) -> None:
        found = registry[kernel] if isinstance(kernel, str) else kernel
        if found.op != ops.lltm.OP.name:
            raise InputError(f"LLTM wants a kernel of op 'lltm', and {found.label!r} is one of op {found.op!r}")
        self._kernel = found
        self._function: Any = None

    def reset_parameters(self) -> None:
        """Draw weights and bias anew, uniform in +-1/sqrt(state_size)."""
        bound = 1 / math.sqrt(max(self.state_size, 1))
        for parameter in (self.weights, self.bias):
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Advance the state by one step.

        Args:
            input: (B, F).
            state: old_h and old_cell, each (B, S).

        Returns:
            new_h and new_cell, each (B, S).

        Raises:
            BuildError, ToolchainError: the first call builds the kernel.
        """
        if self._function is None:
            from .run.load import load

            self._function = load(self._kernel)
        old_h, old_cell = state
        new_h, new_cell = self._function(input, self.weights, self.bias, old_h, old_cell)
        return new_h, new_cell

    def extra_repr(self) -> str:
        """Say what `print` shows between the brackets."""
        return f"input_features={self.input_features}, state_size={self.state_size}, kernel={self.kernel.label!r}"

    def __getstate__(self) -> dict[str, Any]:
        # A loaded library belongs to this process; a copy finds or builds its own.
        return {**super().__getstate__(), "_function": None}
