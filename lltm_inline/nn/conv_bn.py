"""Convolution and batch normalisation as one module."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..base.arguments import number, shown
from ..errors import InputError
from ..model.registry import Kernel
from .base import CHANNELS, FitError, KernelModule, require


class ConvBN2d(KernelModule):
    """Convolve images and normalise each channel over the batch, with a kernel that need not keep what is in between.

    In place of a `torch.nn.Conv2d(in_channels, out_channels, kernel_size, bias=False)` with a batch normalisation
    behind it: stride 1, no padding, and the same parameters under the same names. The normalisation is that of op
    `batch_norm2d`: unbiased variance, eps outside of the root, no scale and shift; it always uses the batch it is
    given, in `eval()` too.

    Args:
        in_channels: C.
        out_channels: O.
        kernel_size: K and L, or one number for both.
        eps: added to each channel's standard deviation.
        kernel: of op `conv_bn`, or its label.
        device, dtype: of the parameters.

    Attributes:
        weight: (O, C, K, L), as `torch.nn.Conv2d` draws it.

    Raises:
        UnknownKernelError: no kernel of that label.
        InputError: a kernel of another op, or a size below one.

    Example:
        >>> layer = ConvBN2d(3, 4, (2, 3), kernel="conv_bn/python")
        >>> layer
        ConvBN2d(3, 4, kernel_size=(2, 3), eps=0.001, kernel='conv_bn/python')
        >>> y = layer(torch.randn(2, 3, 5, 7))
        >>> y.shape, bool(y.mean((0, 2, 3)).abs().max() < 1e-5)
        (torch.Size([2, 4, 4, 5]), True)
    """

    op = "conv_bn"
    weight: torch.nn.Parameter

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        eps: float = 1e-3,
        kernel: str | Kernel = "conv_bn/fused",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        window = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
        if not isinstance(window, tuple | list) or len(window) != 2:
            raise InputError(f"ConvBN2d: kernel_size is {shown(kernel_size)}, want one number or two")
        rows, columns = window
        sizes = {
            "in_channels": in_channels,
            "out_channels": out_channels,
            "kernel rows": rows,
            "kernel columns": columns,
        }
        require("ConvBN2d", device, dtype, least=1, **sizes)
        number("eps", eps, where="ConvBN2d")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = (rows, columns)
        self.eps = eps
        self.kernel = kernel
        self.weight = torch.nn.Parameter(
            torch.empty(out_channels, in_channels, rows, columns, device=device, dtype=dtype)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew, as `torch.nn.Conv2d` does."""
        torch.nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, input: Tensor) -> Tensor:
        """Convolve and normalise.

        Args:
            input: (B, C, H, W), the images not smaller than the kernel's K and L.

        Returns:
            (B, O, H-K+1, W-L+1).

        Raises:
            RuntimeError: a shape, dtype or device that does not fit the parameters.
            ValueError: one value per channel, which has no variance.
            BuildError, ToolchainError: the first call builds the kernel.
        """
        self._check("input", input, self.weight, CHANNELS, (self.in_channels,), "(B, {}, H, W)")
        (K, L), (H, W) = self.kernel_size, input.shape[2:]
        if H < K or W < L:
            raise FitError(f"ConvBN2d: input has images of {H} x {W}, smaller than the kernel of {K} x {L}")
        return self._load(input)(input, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Say what `print` shows between the brackets."""
        sizes = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, eps={self.eps}"
        return f"{sizes}, {super().extra_repr()}"
