"""What the modules over a kernel share."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from ..base.arguments import integer, real_dtype, refusal, shown
from ..base.device import DEVICES
from ..errors import InputError
from ..model.registry import Kernel, resolve
from ..source.template import devices_of

# Which extents of a tensor a module prescribes.
ALL, ALL_BUT_FIRST, LAST, CHANNELS = slice(None), slice(1, None), slice(-1, None), slice(1, -2)


#: The most parameters in one extent; a size beyond it is a slip of the keyboard.
_MOST = 2**31 - 1


class ArgumentError(InputError, TypeError):
    """A module's `forward` was given no tensor where it wants one."""


class FitError(InputError, RuntimeError):
    """A tensor does not fit the module: another shape, dtype, device or layout."""


def require(module: str, device: Any, dtype: Any, *, least: int = 0, **extents: Any) -> None:
    """Refuse sizes that are no integers, below `least` or beyond all memory, and where or as what no parameter can be."""
    given = ", ".join(f"{name}={shown(extent)}" for name, extent in extents.items())
    low = "must not be negative" if least == 0 else f"must be at least {least}"
    for name, extent in extents.items():
        if isinstance(extent, int) and not isinstance(extent, bool) and extent < least:
            raise InputError(f"{module}({given}): sizes {low}")
        integer(name, extent, least=least, most=_MOST, where=module)
    if dtype is not None:
        real_dtype(dtype)
    if device is None or isinstance(device, torch.device):
        return
    try:
        if isinstance(device, bool) or not isinstance(device, str | int):
            raise TypeError
        torch.device(device)
    except (RuntimeError, TypeError, ValueError) as error:
        raise refusal("device", device, "a device such as 'cpu' or 'cuda'", where=module) from error


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
    #: Names of the sizes that `print` shows.
    _sizes: ClassVar[tuple[str, ...]] = ()

    @property
    def kernel(self) -> Kernel:
        """The kernel that computes."""
        return self._kernel

    @kernel.setter
    def kernel(self, kernel: str | Kernel) -> None:
        found = resolve(kernel)
        if found.op != self.op:
            raise InputError(
                f"{type(self).__name__} wants a kernel of op {self.op!r}, and {found.label!r} is one of op {found.op!r}"
            )
        self._kernel = found
        self._functions: dict[str, Any] = {}

    def _load(self, input: Tensor) -> Any:
        """Return the kernel's function for the device of `input`; the first call on a device builds it."""
        place = "cuda" if input.is_cuda else "cpu"
        device = next((one for one in devices_of(self._kernel) if DEVICES[one].tensors == place), place)
        if device not in self._functions:
            from ..calling import load

            self._functions[device] = load(self._kernel, device=device)
        return self._functions[device]

    def _check(self, name: str, value: Any, like: Tensor, which: slice, extents: tuple[int, ...], shape: str) -> None:
        """Refuse an argument of another kind than the parameter `like`, or of other extents than the module prescribes.

        Kernels check what they are given, too, but against their first argument: their message would name the parameters.
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
            raise ArgumentError(f"{module}: argument {name!r} must be Tensor, not {type(value).__name__}")
        if value.shape[which] != extents:
            raise FitError(f"{module}: {name} has shape {tuple(value.shape)}, want {shape.format(*extents)}")
        if value.device != like.device:
            raise FitError(f"{module}: {name} is on {value.device}, the parameters are on {like.device}")
        if value.layout != torch.strided:
            raise FitError(f"{module}: {name} is of layout {value.layout}, want a dense tensor: {name}.to_dense()")
        if not torch.is_autocast_enabled(like.device.type):  # which brings all to one dtype
            raise FitError(
                f"{module}: {name} is {value.dtype}, the parameters are {like.dtype}: "
                f"convert {name}, or the module with .to(...)"
            )

    def extra_repr(self) -> str:
        """Say what `print` shows between the brackets."""
        sizes = [f"{name}={getattr(self, name)}" for name in self._sizes]
        return ", ".join(filter(None, (super().extra_repr(), *sizes, f"kernel={self.kernel.label!r}")))

    def __getstate__(self) -> dict[str, Any]:
        # A loaded library belongs to this process; a copy finds or builds its own.
        return {**super().__getstate__(), "_functions": {}}
