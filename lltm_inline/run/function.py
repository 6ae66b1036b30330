"""A loaded kernel, and what the dispatcher says of it in the words of its op."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from ..base.above import Shown
from ..base.arguments import shown
from ..compiling.compiler import Build
from ..errors import InputError
from ..model.registry import Kernel, Op
from ..source.signature import Interface


@dataclass(frozen=True)
class Function(Shown):
    """A loaded kernel: call it like the op's reference; it differentiates.

    Attributes:
        kernel: what was loaded.
        op: what it computes.
        build: its library; None for a Python kernel.
        interface: of its C++ source; None for a Python kernel.
        device: where it runs.
        fake: all that a tracer sees of it (`run.fake.Fake`); None if it sees into the source, or there is nothing to trace.
    """

    kernel: Kernel
    op: Op
    build: Build | None
    interface: Interface | None
    _call: Callable[..., Any] = field(repr=False)
    _forward: Callable[..., Any] | None = field(default=None, repr=False)
    _backward: Callable[..., Any] | None = field(default=None, repr=False)
    device: str = "cpu"
    fake: Any = field(default=None, repr=False)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        try:
            return self._call(*inputs, **named)
        except NotImplementedError as error:
            if self.build is None or self.build.namespace not in str(error):
                raise
            # The dispatcher found no code for a device, and speaks of the digest.
            given = dict(zip((a.name for a in self.op.signature.inputs), inputs, strict=False)) | named
            missing = [a for a in self.op.required if given.get(a.name) is None or (a.is_list and not given[a.name])]
            if missing:  # there was no tensor to find code for
                what = "empty, want one Tensor at least" if missing[0].is_list else "None, want a Tensor"
                raise RuntimeError(f"{self.kernel.name}: {missing[0].name} is {what}") from None
            sparse = [
                (name, v) for name, v in given.items() if isinstance(v, torch.Tensor) and v.layout != torch.strided
            ]
            if sparse:
                name, value = sparse[0]
                raise NotImplementedError(
                    f"{self.kernel.label}: {name} has layout {value.layout}, want a dense tensor: {name}.to_dense()"
                ) from None
            devices = ", ".join(dict.fromkeys(str(tensor.device) for tensor in tensors(given)))
            raise NotImplementedError(
                f"{self.kernel.label}: the inputs are on {devices}; it was loaded for {self.device!r}"
            ) from None
        except RuntimeError as error:
            # The dispatcher names the digest and not the kernel when the arguments do not fit the schema.
            complaint, _, declaration = str(error).partition("Declaration: li_")
            unknown = re.match("Unknown keyword argument '[^']*'(?= for operator 'li_)", str(error))
            if not declaration and not unknown:
                raise
            complaint = unknown[0] if unknown else complaint
            raise TypeError(
                f"{self.kernel.label}{self.op.signature}: {complaint.partition('::call() ')[2] or complaint}"
            ) from None

    @property
    def operator(self) -> Any:
        """The registered operator behind this function (`torch.ops.li_....call.default`), None for Python and pybind11."""
        return self._call if isinstance(self._call, torch._ops.OpOverload) else None

    def forward(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        """Run the kernel's own `forward`, without autograd.

        Returns:
            The outputs, then the extra tensors that `backward` needs.

        Raises:
            InputError: a Python kernel has no `forward` of its own.
        """
        if self._forward is None:
            raise InputError(f"kernel {self.kernel.label!r} is a Python function: it has no raw forward")
        return as_tuple(self._raw(self._forward, inputs))

    def backward(
        self,
        gradients: Sequence[torch.Tensor | None],
        inputs: Sequence[Any],
        results: Sequence[torch.Tensor],
        wanted: Sequence[bool],
    ) -> tuple[torch.Tensor | None, ...]:
        """Run the kernel's own `backward`, without autograd.

        Args:
            gradients: one for each output.
            inputs: what `forward` was given.
            results: what `forward` returned, extra tensors included.
            wanted: which gradients to compute, one flag for each input that has one.

        Returns:
            One gradient for each input that has one, None where the kernel left it undefined.

        Raises:
            InputError: the kernel has no `backward`.
        """
        if self._backward is None:
            raise InputError(f"kernel {self.kernel.label!r} has no backward of its own")
        count = len(self.op.gradients)
        for name, given in (("gradients", gradients), ("inputs", inputs), ("results", results), ("wanted", wanted)):
            if not isinstance(given, list | tuple):
                raise InputError(f"{self.kernel.label}: {name}={shown(given)}, want a tuple")
        if len(inputs) != len(self.op.signature.inputs) or len(wanted) != count:
            raise InputError(
                f"{self.kernel.label}: backward takes {len(self.op.signature.inputs)} inputs and {count} flags of wanted "
                f"gradients, got {len(inputs)} and {len(wanted)}"
            )
        self._refuse_misfits(gradients, results)
        return as_tuple(self._raw(self._backward, (*gradients, *self._saved(inputs, results), *wanted)))

    def _raw(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Call what the library defines; what the dispatcher says of arguments of the wrong kind becomes ours."""
        try:
            return function(*arguments)
        except RuntimeError as error:
            complaint, _, declaration = str(error).partition("Declaration: li_")
            if not declaration:
                raise
            complaint = complaint.partition("() ")[2] or complaint
            raise InputError(f"{self.kernel.label}{self.op.signature}: {complaint.strip()}") from None

    def _refuse_misfits(self, gradients: Sequence[torch.Tensor | None], results: Sequence[torch.Tensor]) -> None:
        """Refuse what autograd would never hand over: backward itself does not look."""
        names = [output.name for output in self.op.signature.outputs]
        count = len(names) + (self.interface.extras if self.interface else 0)
        if len(gradients) != len(names) or len(results) != count:
            raise InputError(
                f"{self.kernel.label}: backward takes {len(names)} gradients and the {count} results of forward, "
                f"got {len(gradients)} and {len(results)}"
            )
        tensors = (*((f"d_{name}", g) for name, g in zip(names, gradients, strict=True) if g is not None),)
        for name, value in (*tensors, *((f"results[{index}]", result) for index, result in enumerate(results))):
            if not isinstance(value, torch.Tensor):
                raise InputError(f"{self.kernel.label}: {name}={shown(value)}, want a Tensor")
        for name, gradient, output in zip(names, gradients, results, strict=False):
            if gradient is not None and (gradient.shape, gradient.dtype) != (output.shape, output.dtype):
                raise InputError(
                    f"{self.kernel.label}: d_{name} is {tuple(gradient.shape)} {gradient.dtype}, "
                    f"want {tuple(output.shape)} {output.dtype} as {name}"
                )

    def _saved(self, inputs: Sequence[Any], results: Sequence[torch.Tensor]) -> list[Any]:
        signature = self.op.signature
        names = [argument.name for argument in (*signature.inputs, *signature.outputs)]
        values = dict(zip(names, [*inputs, *results], strict=False))
        return [*(values[name] for name in self.kernel.saves), *results[len(signature.outputs) :]]

    def __getstate__(self) -> dict[str, Any]:
        if self.build is not None:
            raise InputError(
                f"{self.kernel.label!r} is loaded into this process, and cannot be sent to another: send its .kernel, and call "
                "li.load with that there"
            )
        return vars(self)

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: object) -> Function:
        return self

    def __repr__(self) -> str:
        names = ", ".join(argument.name for argument in self.op.signature.inputs)
        return f"<Function {self.kernel.label}({names})>"


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return what a kernel gives as a tuple: a single tensor comes bare."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def gradients_of(
    outputs: Sequence[Any], grads: Sequence[torch.Tensor | None], wanted: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """Differentiate outputs, as far as autograd knows them.

    Args:
        outputs: of a kernel or a reference.
        grads: the incoming gradient of each; None for an output that is not used.
        wanted: the inputs for which gradients are wanted.

    Returns:
        A gradient for each of these, None where it has no influence.
    """
    pairs = zip(outputs, grads, strict=False)
    chosen = [(o, g) for o, g in pairs if g is not None and isinstance(o, torch.Tensor) and o.requires_grad]
    if not chosen or not wanted:
        return [None] * len(wanted)
    heads, incoming = zip(*chosen, strict=True)
    return list(torch.autograd.grad(heads, wanted, incoming, allow_unused=True))


def each(value: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    """Apply a function to a tensor, or to each of a list of tensors; anything else stays as it is.

    Example:
        >>> each([torch.ones(1), torch.zeros(1)], lambda tensor: tensor.item()), each(2, abs)
        ([1.0, 0.0], 2)
    """
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, list | tuple) and all(isinstance(item, torch.Tensor) for item in value):
        return [function(item) for item in value]
    return value


def tensors(value: Any) -> list[torch.Tensor]:
    """List the tensors of a value, those in its lists, tuples and dicts, too."""
    return [one for one in tree_leaves(value) if isinstance(one, torch.Tensor)]


def copied(value: Any) -> Any:
    """Copy the tensors of a value, so that what is done to it later shows; what they were computed from is left behind."""
    return tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), value)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values have the same tensors, bit for bit.

    Example:
        >>> nan, zero = torch.tensor([float("nan")]), torch.zeros(1)
        >>> same(nan, nan.clone()), same(nan, zero), same([zero], zero.int())
        (True, False, False)
    """
    mine, theirs = tensors(one), tensors(other)
    pairs = zip(mine, theirs, strict=False)
    return len(mine) == len(theirs) and all(
        a.shape == b.shape and a.dtype == b.dtype and torch.equal(_bytes(a), _bytes(b)) for a, b in pairs
    )


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().resolve_neg().flatten().view(torch.uint8)


def differentiable(value: Any) -> bool:
    """Tell whether this is a tensor that can have a gradient."""
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())
