"""What the modules over a kernel share."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from ..errors import InputError
from ..registry import Kernel, registry

# Which extents of a tensor a module prescribes.
ALL, ALL_BUT_FIRST, LAST, CHANNELS = slice(None), slice(1, None), slice(-1, None), slice(1, -2)


class KernelModule(torch.nn.Module):
    """What the modules here share: a kernel, built when the module is first called and not when it is made.

    `copy.deepcopy`, `torch.save` and `state_dict` take the kernel along as its text or not at all, never as a library.
    A module of your own names its op, sets `self.kernel`, and calls `self._load(input)` in `forward`.

    Attributes:
        op: name of the op whose kernels fit.
        kernel: may be set to another kernel of the op, or its label, at any time.

    Example:
        >>> class Double(KernelModule):
        ...     op = "linear"
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.kernel = "linear/python"
        ...     def forward(self, input):
        ...         return self._load(input)(input, 2 * torch.eye(input.shape[1]))
        >>> Double()(torch.ones(1, 2))
        tensor([[2., 2.]])
    """

    op: ClassVar[str] = ""

    @property
    def kernel(self) -> Kernel:
        """The kernel that computes."""
        return self._kernel

    @kernel.setter
    def kernel(self, kernel: str | Kernel) -> None:
        found = registry[kernel] if isinstance(kernel, str) else kernel
        if found.op != self.op:
            raise InputError(
                f"{type(self).__name__} wants a kernel of op {self.op!r}, and {found.label!r} is one of op {found.op!r}"
            )
        self._kernel = found
        self._functions: dict[str, Any] = {}

    def _load(self, input: Tensor) -> Any:
        """Return the kernel's function for the device of `input`; the first call on a device builds it."""
        device = "cuda" if input.is_cuda else "cpu"
        if device not in self._functions:
            from ..run.load import load

            self._functions[device] = load(self._kernel, device=device)
        return self._functions[device]

    def _check(self, name: str, value: Any, like: Tensor, which: slice, extents: tuple[int, ...], shape: str) -> None:
        """Refuse an argument of another kind than the parameter `like`, or of other extents than the module prescribes.

        Kernels check what they are given, too, but against their first argument: they would blame the parameters.
        """
        if (
            isinstance(value, Tensor)
            and value.shape[which] == extents
            and value.dtype == like.dtype
            and value.device == like.device
            and value.layout == torch.strided
        ):
            return
        module = type(self).__name__
        if not isinstance(value, Tensor):
            raise TypeError(f"{module}: argument {name!r} must be Tensor, not {type(value).__name__}")
        if value.shape[which] != extents:
            raise RuntimeError(f"{module}: {name} has shape {tuple(value.shape)}, want {shape.format(*extents)}")
        if value.device != like.device:
            raise RuntimeError(f"{module}: {name} is on {value.device}, the parameters are on {like.device}")
        if value.layout != torch.strided:
            raise RuntimeError(f"{module}: {name} is of layout {value.layout}, want a dense tensor: {name}.to_dense()")
        if not torch.is_autocast_enabled(like.device.type):  # which brings all to one dtype
            raise RuntimeError(
                f"{module}: {name} is {value.dtype}, the parameters are {like.dtype}: "
                f"convert {name}, or the module with .to(...)"
            )

    def extra_repr(self) -> str:
        """Say what `print` shows between the brackets."""
        return ", ".join(filter(None, (super().extra_repr(), f"kernel={self.kernel.label!r}")))

    def __getstate__(self) -> dict[str, Any]:
        # A loaded library belongs to this process; a copy finds or builds its own.
        return {**super().__getstate__(), "_functions": {}}
