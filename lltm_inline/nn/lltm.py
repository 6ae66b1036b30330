"""The LLTM cell as a module."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..base.arguments import shown
from ..model.registry import Kernel
from .base import ALL, ALL_BUT_FIRST, ArgumentError, KernelModule, require


class LLTM(KernelModule):
    """Hold the parameters of an LLTM cell and advance its state with a kernel.

    An LLTM is an LSTM without a forget gate, and with an ELU in place of a tanh; as a module it is to that what
    `torch.nn.LSTMCell` is to an LSTM: it makes one step, and the caller has the state.

    Args:
        input_features: F.
        state_size: S.
        kernel: of op `lltm`, or its label; any revision will do.
        device, dtype: of the parameters.

    Attributes:
        weights: (3S, S+F), uniform in +-1/sqrt(S) at first; rows of input gate, output gate and candidate cell.
        bias: (3S), in the same range.

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

    op = "lltm"
    _sizes = ("input_features", "state_size")
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
        require("LLTM", device, dtype, input_features=input_features, state_size=state_size)
        self.input_features = input_features
        self.state_size = state_size
        self.kernel = kernel
        rows, columns = 3 * state_size, state_size + input_features
        self.weights = torch.nn.Parameter(torch.empty(rows, columns, device=device, dtype=dtype))
        self.bias = torch.nn.Parameter(torch.empty(rows, device=device, dtype=dtype))
        self.reset_parameters()

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
            RuntimeError: a shape, dtype or device that does not fit the parameters.
            BuildError, ToolchainError: the first call builds the kernel.
        """
        if not isinstance(state, tuple | list) or len(state) != 2:
            raise ArgumentError(f"LLTM: state={shown(state)}, want two tensors, (old_h, old_cell)")
        old_h, old_cell = state
        weights, bias = self.weights, self.bias
        self._check("input", input, weights, ALL_BUT_FIRST, (self.input_features,), "(B, {})")
        want = (input.shape[0], self.state_size)
        self._check("state[0]", old_h, weights, ALL, want, "({}, {})")
        self._check("state[1]", old_cell, weights, ALL, want, "({}, {})")
        new_h, new_cell = self._load(input)(input, weights, bias, old_h, old_cell)
        return new_h, new_cell
