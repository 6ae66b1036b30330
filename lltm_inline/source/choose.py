"""Which kernel is meant by the name of an op, and where one runs that nobody has said it of."""

from __future__ import annotations

import torch

from ..base.arguments import offer, shown
from ..base.device import DEVICES
from ..errors import UnknownKernelError
from ..model.kernel import Kernel
from ..model.registry import registry, resolve
from .template import devices_of

#: The variants that come first, where there is one; else the first that has a C++ text.
_FIRST = ("fused", "cpp")


def kernel_or_first(kernel: Kernel | str) -> Kernel:
    """Look up a kernel; of an op, the variant to begin with.

    Args:
        kernel: a kernel, its label, or the name of an op: then its fused or C++ variant comes first.

    Raises:
        UnknownKernelError: no op, kernel or revision of that name.

    Example:
        >>> kernel_or_first("lltm").label, kernel_or_first("lltm/aten").label
        ('lltm/fused', 'lltm/aten')
    """
    if not isinstance(kernel, str):
        return resolve(kernel)
    if "/" in kernel:
        return registry[kernel]
    if kernel not in registry.ops:
        names = sorted(registry.ops)
        raise UnknownKernelError(f"no op {shown(kernel)}.{offer(kernel, names)}")
    kernels = {one.variant: one for one in registry.values() if one.op == kernel}
    with_text = [one for one in kernels.values() if one.python is None]
    named = [kernels[variant] for variant in _FIRST if variant in kernels]
    on_cpu = [one for one in with_text if "cpu" in devices_of(one)]
    return [*named, *on_cpu, *with_text, *kernels.values()][0]


def usual_device(kernel: Kernel) -> str:
    """Choose where a kernel runs: on the first device that it has a text for and that this machine has.

    Example:
        >>> usual_device(registry["axpy/cpp"])
        'cpu'
    """
    devices = devices_of(kernel)
    here = [name for name in devices if not DEVICES[name].needs_gpu or torch.cuda.is_available()]
    return [*here, *devices][0]
