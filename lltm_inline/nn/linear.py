"""The linear layer as a module."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..base.arguments import boolean
from ..model.registry import Kernel
from .base import LAST, KernelModule, require


class Linear(KernelModule, torch.nn.Linear):
    """Apply y = input weight^T + bias with a kernel.

    A `torch.nn.Linear` in all but what computes: the same arguments and first values (from the same seed the same
    numbers), the same `state_dict`, and `isinstance(module, torch.nn.Linear)` holds, so that code that initialises or
    counts layers finds it.

    Args:
        in_features: I.
        out_features: O.
        bias: whether there is one.
        device, dtype: of the parameters.
        kernel: of op `linear`, or its label.

    Attributes:
        weight: (O, I), uniform in +-1/sqrt(I) at first.
        bias: (O), in the same range, or None.

    Raises:
        UnknownKernelError: no kernel of that label.
        InputError: a kernel of another op, or a size below zero.

    Example:
        >>> layer = Linear(17, 5, kernel="linear/python")
        >>> plain = torch.nn.Linear(17, 5)
        >>> layer.load_state_dict(plain.state_dict())
        <All keys matched successfully>
        >>> x = torch.randn(2, 3, 17)
        >>> bool(torch.allclose(layer(x), plain(x)))
        True
    """

    op = "linear"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        kernel: str | Kernel = "linear/aten",
    ) -> None:
        require("Linear", device, dtype, in_features=in_features, out_features=out_features)
        boolean("bias", bias, where="Linear")
        super().__init__(in_features, out_features, bias, device, dtype)
        self.kernel = kernel

    def forward(self, input: Tensor) -> Tensor:
        """Map the last axis of `input`.

        Args:
            input: (*, I), with any number of axes ahead.

        Returns:
            (*, O).

        Raises:
            RuntimeError: a shape, dtype or device that does not fit the parameters.
            BuildError, ToolchainError: the first call builds the kernel.
        """
        weight = self.weight
        self._check("input", input, weight, LAST, (self.in_features,), "(*, {})")
        function = self._load(input)
        if input.dim() == 2:
            return function(input, weight, self.bias)
        ahead = input.shape[:-1]
        rows = input.reshape(math.prod(ahead), self.in_features)
        return function(rows, weight, self.bias).reshape(*ahead, self.out_features)
