"""What torch.compile, torch.export and opcheck need to know of a kernel without running it: shapes and dtypes of its results.

Outputs and gradients follow from the op's shapes. The extra tensors that `forward` hands to `backward` are the kernel's
own business: their shapes are found by running it at a few small sizes. An extent e that is linear in the letters l of
a size n,

    e(n) = e(p) + sum over l of (n_l - p_l) (e(p with one more of l) - e(p)),

needs a run at some size p and one more for each letter; a last run elsewhere tells whether it is linear at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from ..base.device import DEVICES
from ..errors import InputError
from ..model.registry import Kernel, Op
from ..model.shapes import ANY_RANK, ELEMENTS, Dim, Shape, solve
from ..source.binding import input_checks
from ..source.signature import Interface, backward_arguments
from ..source.types import CPP_DTYPES
from .cases.case import Case, Size, dtypes_of, prime_size, with_extent
from .cases.drawing import make_inputs
from .cases.tried import viewed
from .compare import dtype_name
from .function import each

#: Added to every extent of the first run for the last one.
_ELSEWHERE = 3

Pairs = Iterable[tuple[Shape, Any]]


class Fake:
    """The results of one kernel without their values.

    Args:
        kernel: whose `forward` and `backward` these are.
        op: what it computes.
        interface: of its text.
        run: the kernel's own forward, without autograd.
        device: on which it runs.
    """

    def __init__(
        self, kernel: Kernel, op: Op, interface: Interface, run: Callable[..., tuple[Tensor, ...]], device: str
    ) -> None:
        self.kernel, self.op, self.interface, self.run = kernel, op, interface, run
        self.tensors = DEVICES[device].tensors
        self._extras: tuple[Shape, ...] | None = None
        self._dtypes: dict[Any, list[torch.dtype]] = {}

    def forward(self, *inputs: Any, **by_name: Any) -> Any:
        """Return empty outputs and extra tensors for inputs of which only shapes and dtypes are known."""
        signature, shape_of = self.op.signature, self.op.shape_of
        if self.op.untold:
            raise InputError(
                f"kernel {self.kernel.label!r} cannot be traced: {self.op.untold} follows from the values. Call it outside of what "
                "is compiled: torch.compiler.disable"
            )
        given = {a.name: value for a, value in zip(signature.inputs, inputs, strict=False)} | by_name  # less defaults
        named = {a.name: given[a.name] for a in signature.tensors if isinstance(given.get(a.name), Tensor)}
        named |= {a.name: given[a.name][0] for a in self.op.required if a.is_list and given[a.name]}
        members = [(a.name, one) for a in signature.inputs if a.is_list for one in given.get(a.name, ())]
        self._refuse_misfits(named, [*named.items(), *members])
        first = named[self.op.first.name]
        known = _Known((shape_of[name], value) for name, value in named.items())
        known.sizes |= {a.name: given.get(a.name, a.value) for a in signature.inputs if a.type == "int"}
        chosen = tuple((a.name, given.get(a.name, a.value)) for a in signature.inputs if a.type == "ScalarType")
        dtypes = self.dtypes(first.dtype, chosen)
        aliases = {argument.alias: named[argument.name] for argument in signature.changed if argument.is_tensor}
        outputs = [
            aliases[output.alias] if output.alias else first.new_empty(known.shape(shape_of[output.name]), dtype=dtype)
            for output, dtype in zip(signature.outputs, dtypes, strict=False)
        ]
        more = zip(self.extras, dtypes[len(outputs) :], strict=True)
        results = [*outputs, *(first.new_empty(known.shape(shape), dtype=dtype) for shape, dtype in more)]
        return results[0] if len(results) == 1 else tuple(results) or None

    def backward(self, *arguments: Any) -> Any:
        """Return empty gradients, and None where none is wanted."""
        signature, shape_of = self.op.signature, self.op.shape_of
        taken = backward_arguments(self.kernel, self.op, self.interface)
        names = [*(output.name for output in signature.outputs), *self.kernel.saves]
        shapes = [*(shape_of.get(name) for name in names), *self.extras]
        pairs = [(shape, v) for shape, v in zip(shapes, arguments, strict=False) if shape is not None]
        known = _Known(pairs)
        # A saved input has the dtype of its gradient; that of an output may be another.
        inputs = {tensor.name for tensor in self.op.gradients if not tensor.dtype}
        saved = [v for a, v in zip(taken, arguments, strict=False) if a.name in inputs]
        like = next(value for value in (*saved, *arguments) if isinstance(value, Tensor))
        gradients = []
        for tensor, wanted in zip(self.op.gradients, arguments[len(taken) :], strict=True):
            shape = shape_of[tensor.name]
            if wanted and not known.tells(shape):
                raise InputError(
                    f"kernel {self.kernel.label!r} cannot be traced: the shape {shape} of d_{tensor.name} does not follow from "
                    f"what backward is given ({', '.join(a.name for a in taken)}). Add {tensor.name!r} to saves"
                )
            dtype = getattr(torch, tensor.dtype) if tensor.dtype else like.dtype
            gradients.append(like.new_empty(known.shape(shape), dtype=dtype) if wanted else None)
        return gradients[0] if len(gradients) == 1 else tuple(gradients)

    def _refuse_misfits(self, named: dict[str, Any], every: Sequence[tuple[str, Any]]) -> None:
        """Refuse what the binding refuses, in its words: a trace has no tensors that the binding could look at.

        Args:
            named: the tensors that tell sizes, by the name of the input; of a list the first.
            every: all tensors with such names.
        """
        for tensor in self.op.required:
            if tensor.name not in named:
                what = "empty, want one Tensor at least" if tensor.is_list else "None, want a Tensor"
                self._refuse(f"{tensor.name} is {what}")
        name_of_first, first = self.op.first.told, named[self.op.first.name]
        checks = {check.name: check for check in input_checks(self.op)}
        accepted = [self.op.first.dtype] if self.op.first.dtype else self.op.dtypes
        if dtype_name(first.dtype) not in accepted:
            dtypes = " or ".join(_spelled(getattr(torch, dtype)) for dtype in accepted)
            self._refuse(f"{name_of_first} is {_spelled(first.dtype)}, want {dtypes}")
        for name, value in every:
            shape, own = checks[name].shape, checks[name].dtype
            if value.device != first.device:
                self._refuse(f"{name} is on another device than {name_of_first}")
            if own and dtype_name(value.dtype) != own:
                self._refuse(f"{name} is {_spelled(value.dtype)}, want {_spelled(getattr(torch, own))}")
            if not own and value.dtype != first.dtype:
                self._refuse(f"{name} is {_spelled(value.dtype)}, but {name_of_first} is {_spelled(first.dtype)}")
            if not (shape.any_rank or shape.untold) and value.dim() != len(shape.dims):
                self._refuse(f"{name} has shape {_written(value.shape)}, want {shape}")
        known = _Known((self.op.shape_of[name], value) for name, value in named.items())
        for name, value in every:
            shape = self.op.shape_of[name]
            want = value.shape if shape.untold else known.shape(shape)
            if len(want) != value.dim() or any(one != other for one, other in zip(value.shape, want, strict=True)):
                which = f"that of {self.op.any_shape}, " if shape.any_rank else f"{shape} = "
                self._refuse(f"{name} has shape {_written(value.shape)}, want {which}{_written(want)}")

    def _refuse(self, what: str) -> None:
        raise RuntimeError(f"{self.kernel.name}: {what}")

    @property
    def extras(self) -> tuple[Shape, ...]:
        """The shapes of the extra tensors in the op's letters.

        Raises:
            InputError: an extent is not linear in the letters.
        """
        if self._extras is None:
            self._extras = self._find_extras() if self.interface.extras else ()
        return self._extras

    def dtypes(self, dtype: torch.dtype, chosen: tuple[tuple[str, Any], ...] = ()) -> list[torch.dtype]:
        """Return the dtypes of all results for inputs of this one and arguments that are dtypes, by running the kernel once."""
        key = dtype, chosen
        if key not in self._dtypes:
            results = self._results(prime_size(self.op), dtype, numbers=chosen)
            self._dtypes[key] = [result.dtype for result in results if isinstance(result, Tensor)]
        return self._dtypes[key]

    def _find_extras(self) -> tuple[Shape, ...]:
        start = prime_size(self.op)
        elsewhere = tuple(extent + _ELSEWHERE for extent in start)
        base = self._extra_shapes(start)
        steps = [self._extra_shapes(with_extent(start, axis, extent + 1)) for axis, extent in enumerate(start)]
        far = self._extra_shapes(elsewhere)
        found = []
        for number, extents in enumerate(base):
            shape = self._like_any(number) or _fit(
                self.op, start, extents, [step[number] for step in steps if len(step[number]) == len(extents)]
            )
            sizes = self.op.named(elsewhere)
            if shape is None or shape(sizes) != far[number]:
                raise InputError(
                    f"kernel {self.kernel.label!r} cannot be traced: the shape of its extra tensor {number} is "
                    f"{extents} at {self.op.named(start)} and {far[number]} at {sizes}, which is not linear in the size"
                )
            found.append(shape)
        return tuple(found)

    def _like_any(self, number: int) -> Shape | None:
        """Return the shape `...` when an extra tensor follows the tensors that may have any shape."""
        if not self.op.any_rank:
            return None
        case = viewed(self.op, prime_size(self.op), (2, 3, 5))
        results = self._results(case.size, case.dtype, case.view)
        shape = results[len(self.op.signature.outputs) + number].shape
        return Shape.parse(ANY_RANK) if tuple(shape) == case.view else None

    def _extra_shapes(self, size: Size) -> list[tuple[int, ...]]:
        results = self._results(size, getattr(torch, self.op.dtypes[-1]))
        return [tuple(result.shape) for result in results[len(self.op.signature.outputs) :]]

    def _results(
        self,
        size: Size,
        dtype: torch.dtype,
        view: tuple[int, ...] | None = None,
        numbers: tuple[tuple[str, Any], ...] = (),
    ) -> tuple[Tensor, ...]:
        """Run the kernel's forward, in a thread of its own: this one is in the middle of tracing."""
        # Generators draw real numbers; ops of complex tensors make them from those.
        real = dtypes_of(self.op)[0] if self.op.first.dtype else dtype.to_real()

        def run() -> tuple[Tensor, ...]:
            inputs = make_inputs(self.op, Case("", size, real, view=view, numbers=numbers))
            return self.run(*(each(value, lambda one: one.to(self.tensors)) for value in inputs))

        with ThreadPoolExecutor(1, thread_name_prefix="lltm_inline fake") as pool:
            return pool.submit(run).result()


def _spelled(dtype: torch.dtype) -> str:
    return CPP_DTYPES.get(dtype_name(dtype), dtype_name(dtype))


def _written(shape: Sequence[Any]) -> str:
    return f"({', '.join(map(str, shape))})"


def _fit(op: Op, start: Size, extents: Sequence[int], steps: Sequence[Sequence[int]]) -> Shape | None:
    """Write extents in letters, given those at one more of each letter; None when the number of axes changes."""
    if len(steps) < len(start):
        return None
    dims = []
    for axis, extent in enumerate(extents):
        slopes = [step[axis] - extent for step in steps]
        terms = tuple((letter, slope) for letter, slope in zip(op.letters, slopes, strict=True) if slope)
        dims.append(Dim(terms, extent - sum(slope * n for slope, n in zip(slopes, start, strict=True))))
    return Shape(tuple(dims), tuple(f"axis{axis}" for axis in range(len(dims))))


class _Known:
    """The letters of a size as far as they follow from tensors; extents may be symbols of a tracer."""

    def __init__(self, pairs: Pairs) -> None:
        self.sizes: dict[str, Any] = {}
        self.any_shape: Sequence[Any] | None = None
        known = [(shape, value) for shape, value in pairs if isinstance(value, Tensor)]
        for shape, value in known:
            if shape.any_rank and self.any_shape is None:
                self.any_shape = value.shape
                self.sizes[ELEMENTS] = value.numel()
        for letter, (which, axis, dim) in solve([shape for shape, _ in known]).items():
            if letter not in self.sizes:
                extent, count = known[which][1].shape[axis], dict(dim.terms)[letter]
                rest = extent if dim.letter else extent - dim({**self.sizes, letter: 0})
                self.sizes[letter] = rest if count == 1 else rest // count

    def tells(self, shape: Shape) -> bool:
        return self.any_shape is not None if shape.any_rank else all(letter in self.sizes for letter in shape.letters)

    def shape(self, shape: Shape) -> Sequence[Any]:
        if shape.any_rank:
            assert self.any_shape is not None
            return self.any_shape
        return shape(self.sizes)
