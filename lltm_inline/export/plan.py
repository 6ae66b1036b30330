"""What is to be exported, settled before a line is written: names, kernels by device, and what the files need to know of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..cpp.functions import find_function
from ..model.registry import Argument, Kernel, Op
from ..model.reserved import is_reserved
from ..model.shapes import Shape
from ..source.custom_classes import CustomClass, custom_class
from ..source.signature import Interface, backward_arguments
from ..source.template import is_torch_free

#: The ways out: what builds the exported files.
HOWS = ("setuptools", "cmake", "load", "stable")

#: How an exported kernel is bound: in C++ with its autograd; on the stable ABI, or by pybind11, with autograd in Python; and, of
#: whatever kind its arguments and results are, by what the playground itself generates, with autograd in Python, too.
STYLES = ("library", "stable", "pybind11", "boxed")


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

    @property
    def files(self) -> dict[str, str]:
        """Where the kernel's texts are written, by kind of text."""
        if self.device == "cpu":
            return {"cpp": "csrc/cpu_kernel.cpp"}
        host = {"cpp": "csrc/cuda_host.cpp"} if is_torch_free(self.kernel) else {}
        return {**host, "cuda": "csrc/cuda_kernel.cu"}


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
    def custom(self) -> CustomClass | None:
        """The class that the CPU's text registers beside the operators, if there is one."""
        texts = (part.kernel.cpp for part in self.parts if part.device == "cpu")
        return next((custom_class(text, self.op, self.name) for text in texts), None)

    @property
    def public(self) -> list[str]:
        """What the package has beside the module: its function, and the class if there is one."""
        return [*([self.custom.name] if self.custom else []), self.op.name]

    @property
    def first(self) -> str:
        """The first tensor that must be there, as Python and C++ spell it."""
        return self.op.first.told

    @cached_property
    def extra_names(self) -> tuple[str, ...]:
        """The extra tensors, named as the kernel's own backward does, `gates`; `extra0` where it gives no name of use."""
        count = self.interface.extras
        numbered = tuple(f"extra{number}" for number in range(count))
        if not count or not self.interface.has_backward:
            return numbered
        found = (find_function(text, self.kernel.functions[1]) for text in (self.kernel.cpp, self.kernel.cuda) if text)
        spelled = next((function.names for function in found if function is not None), ())[-count - 1 : -1]
        names = tuple(map(str.lower, spelled))
        signature = self.op.signature
        known = {argument.name for argument in (*signature.inputs, *signature.outputs)}
        taken = (
            known | {f"{ahead}{name}" for name in known for ahead in ("d_", "want_")} | {"ctx", "inputs", "output", "l"}
        )
        plain = all(name.isidentifier() and name[0] != "_" and not is_reserved(name) for name in names)
        return names if plain and len({*names} - taken) == count else numbered

    @cached_property
    def taken(self) -> tuple[Argument, ...]:
        """What the operator `OP_backward` takes before the flags `want_NAME`: gradients, what is saved, extra tensors."""
        taken = backward_arguments(self.kernel, self.op, self.interface)
        ahead = taken[: len(taken) - self.interface.extras]
        return (*ahead, *(Argument(name, "Tensor") for name in self.extra_names))

    @property
    def saved(self) -> tuple[Argument, ...]:
        """What `OP_backward` takes behind the gradients: autograd keeps it."""
        return self.taken[len(self.op.signature.outputs) :]

    @property
    def wanted(self) -> tuple[str, ...]:
        """The flags of `OP_backward`, one for each input that has a gradient."""
        return tuple(f"want_{argument.name}" for argument in self.op.gradients)

    @property
    def results(self) -> tuple[str, ...]:
        """What `forward` returns: the outputs, then the extra tensors."""
        return (*(output.name for output in self.op.signature.outputs), *self.extra_names)

    @property
    def gradients(self) -> tuple[str, ...]:
        """What `backward` returns."""
        return tuple(f"d_{argument.name}" for argument in self.op.gradients)

    @property
    def takes_none(self) -> bool:
        """Whether `backward` takes every gradient as an optional tensor; else autograd makes zeros of undefined ones."""
        optional = self.interface.optional_grads
        return bool(optional) and all(optional)

    @cached_property
    def _named(self) -> frozenset[str]:
        """The names that tensors, numbers and flags have in C++."""
        named = {argument.name for argument in (*self.op.signature.inputs, *self.op.signature.outputs)}
        if self.interface.has_backward:
            named |= {argument.name for argument in self.taken} | {*self.gradients, *self.wanted}
        return frozenset(named)

    def free(self, name: str) -> str:
        """Return a name for a local variable of C++: with an underscore where something has it already."""
        return f"{name}_" if name in self._named else name

    @property
    def autograd_in_python(self) -> bool:
        """Whether Python connects `forward` and `backward`: on the stable ABI and with pybind11 C++ cannot."""
        return self.style != "library" and self.interface.has_backward

    @property
    def traced(self) -> bool:
        """Whether tracers need a fake kernel: they look into what is made of calls of ATen, and see nothing of pybind11."""
        return self.style != "pybind11" and not self.interface.through_aten

    @property
    def operator(self) -> str:
        """The operator that the function in Python calls, of which tracers know."""
        return f"{self.op.name}_forward" if self.autograd_in_python else self.op.name

    @property
    def labels(self) -> str:
        """The kernels by label, for headings."""
        return " and ".join(part.kernel.label for part in self.parts)
