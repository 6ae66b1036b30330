"""What is to be exported, settled before a line is written: names, kernels by device, and what the files need to know of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..registry import Argument, Kernel, Op
from ..shapes import Shape
from ..signature import Interface, backward_arguments

#: The ways out: what builds the exported files.
HOWS = ("setuptools", "cmake", "load", "stable")

#: How an exported kernel is bound: in C++ with its autograd; on the stable ABI, with autograd in Python; by pybind11, likewise.
STYLES = ("library", "stable", "pybind11")


@dataclass(frozen=True)
class Part:
    """One kernel on one device.

    Attributes:
        kernel: with a text for the device.
        device: `"cpu"` or `"cuda"`.
        interface: what its `forward` and `backward` look like.
    """

    kernel: Kernel
    device: str
    interface: Interface


@dataclass(frozen=True)
class Extra:
    """An extra tensor that `forward` hands to `backward`: what a fake kernel has to know of it.

    Attributes:
        shape: in the op's letters; None where it could not be found out, for want of a machine that runs the kernel.
        dtype: as torch names it, `"int64"`; empty when it is that of the inputs.
    """

    shape: Shape | None
    dtype: str = ""


@dataclass(frozen=True)
class Plan:
    """An export, before it is written.

    Attributes:
        op: what is computed.
        parts: the kernels, the CPU's first; all with the same `saves`, extra tensors and api.
        how: one of `HOWS`.
        style: one of `STYLES`.
        name: of the package, of the namespace in C++ and of that in `torch.ops`: `lltm_fused`.
        extras: the extra tensors between forward and backward.
        header: of every file, as the user gave it, without comment marks; may be empty.
        sizes: to time at, each with the value of every letter.
        test_sizes: to compare with the reference at: primes, ones, and none of each letter.
        check_size: the size at which gradients are checked.
        notes: what the person should know, in sentences.
    """

    op: Op
    parts: tuple[Part, ...]
    how: str
    style: str
    name: str
    extras: tuple[Extra, ...] = ()
    header: str = ""
    sizes: tuple[Mapping[str, int], ...] = ()
    test_sizes: tuple[Mapping[str, int], ...] = ()
    check_size: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def kernel(self) -> Kernel:
        """The kernel that stands for all: the CPU's, where there is one."""
        return self.parts[0].kernel

    @property
    def interface(self) -> Interface:
        return self.parts[0].interface

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(part.device for part in self.parts)

    @property
    def distribution(self) -> str:
        """The name under which pip knows it: `lltm-fused`."""
        return self.name.replace("_", "-")

    @property
    def module(self) -> str:
        """Name of the `nn.Module`: that of the op as a class has it, `LLTM`, `ConvBN`, `GraphConv`."""
        # A word without a vowel is an abbreviation.
        words = self.op.name.split("_")
        return "".join(word.capitalize() if set(word) & set("aeiou") else word.upper() for word in words)

    @cached_property
    def backward_arguments(self) -> tuple[Argument, ...]:
        """What the operator `OP_backward` takes ahead of the flags `want_NAME`, one for each tensor input."""
        return backward_arguments(self.kernel, self.op, self.interface)

    @property
    def labels(self) -> str:
        """The kernels by label, for headings."""
        return " and ".join(part.kernel.label for part in self.parts)
