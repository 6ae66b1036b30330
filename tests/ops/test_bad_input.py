"""What every shipped kernel does with inputs that make no sense, or that are unusual: made from the op's schema and shapes alone.

Each error is a Python exception that names the argument, or the op with its signature; what is unusual and legal gives what
the reference gives.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.interface import _misfits
from lltm_inline.model.registry import Op
from lltm_inline.run.cases.case import Case, prime_size, with_extent
from lltm_inline.run.cases.drawing import make_inputs
from lltm_inline.run.cases.tolerance import tolerance
from lltm_inline.run.cases.tried import viewed
from lltm_inline.run.function import as_tuple, differentiable
from lltm_inline.source.template import devices_of

TEXTS = [name for name, kernel in li.registry.items() if kernel.python is None and "cpu" in devices_of(kernel)]
#: One kernel of each op, since what is refused is read from the op's schema; `make test-all` takes them all.
FIRST = {li.registry[name].op: name for name in reversed(TEXTS)}.values()
each_text = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FIRST else pytest.mark.full) for name in TEXTS]
)
PYTHON = [name for name, kernel in li.registry.items() if kernel.python is not None]
SPELLED = {
    torch.float64: "Double",
    torch.float32: "Float",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
}


@pytest.fixture(scope="module", autouse=True)
def built(request: pytest.FixtureRequest, quick_compiler: None) -> Iterator[None]:
    """Build the kernels that are asked for, several compilers beside each other; then compute on one thread."""
    asked = {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}
    li.build([name for name in TEXTS if name in asked], progress=False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def case_of(op: Op, dtype: torch.dtype = torch.float32) -> Case:
    """Return the case of the primes; shapes of any rank get two axes."""
    size = prime_size(op)
    return viewed(op, size, (5, 7)) if op.any_rank else Case("", size, dtype)


def inputs_of(op: Op, dtype: torch.dtype = torch.float32) -> list[Any]:
    """Make one set of inputs that fit; of complex ops, complex ones of this precision."""
    case = case_of(op)
    return list(make_inputs(op, Case("", case.size, dtype, view=case.view)))


def using(inputs: Sequence[Any], index: int, value: Any) -> list[Any]:
    """Put another value in the place of one input."""
    return [*inputs[:index], value, *inputs[index + 1 :]]


def tensors(op: Op) -> list[tuple[int, str]]:
    """List the tensor arguments with their positions."""
    return [(index, argument.name) for index, argument in enumerate(op.signature.inputs) if argument.is_tensor]


def refuses(name: str, inputs: Sequence[Any], words: str, error: Any = RuntimeError, **named: Any) -> None:
    """Hand a kernel inputs that make no sense, those of floating type with and without a graph, and look at its answer."""
    function = li.load(name)
    with pytest.raises(error, match=words):
        function(*inputs, **named)
    leaves = [value.detach().clone().requires_grad_() if differentiable(value) else value for value in inputs]
    with pytest.raises(error, match=words):
        function(*leaves, **named)


def results(function: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    """Return outputs, then gradients of their sum, each output with a weight of its own."""
    leaves = [value.detach().requires_grad_() if differentiable(value) else value for value in inputs]
    outputs = as_tuple(function(*leaves))
    total = sum((number + 1) * output.sum() for number, output in enumerate(outputs))
    wanted = [leaf for leaf in leaves if differentiable(leaf)]
    gradients = torch.autograd.grad(total, wanted, allow_unused=True)
    filled = [torch.zeros_like(w) if g is None else g for w, g in zip(wanted, gradients, strict=True)]
    return [*(output.detach() for output in outputs), *filled]


def same(op: Op, name: str, inputs: Sequence[Any], finite: bool = False) -> None:
    """Compare a kernel with the reference, NaN equal to NaN; or only what is finite in the reference."""
    limit = tolerance(op, Case("", prime_size(op), torch.float64))
    dense = [
        value.clone(memory_format=torch.contiguous_format) if isinstance(value, torch.Tensor) else value
        for value in inputs
    ]
    got, want = results(li.load(name), inputs), results(op.reference, dense)
    for one, other in zip(got, want, strict=True):
        if finite:
            assert one.shape == other.shape
            one, other = one[other.isfinite()], other[other.isfinite()]
        torch.testing.assert_close(one, other, rtol=max(limit.rtol, 1e-10), atol=max(limit.atol, 1e-10), equal_nan=True)


# What makes no sense


@each_text
def test_shape_that_fits_no_size_is_refused(name: str) -> None:
    """An axis more, an axis less, an extent more: the message has the name of a tensor, its shape, and the shape it wants."""
    op = li.registry.op_of(li.registry[name])
    inputs = [value.detach() if isinstance(value, torch.Tensor) else value for value in inputs_of(op)]
    size = case_of(op).size
    names = "|".join(name for _, name in tensors(op))
    for index, argument in tensors(op):
        shape = op.shape_of[argument]
        misfits = [] if shape.any_rank else _misfits(op, argument, size)
        if shape.any_rank and len(op.any_rank_inputs) > 1:
            misfits = [(*inputs[index].shape, 1), inputs[index].shape[1:], (35,), (), (1, 1)]
        elif not shape.any_rank and shape.dims:
            misfits.append(inputs[index].shape[1:])
        for misfit in misfits:
            bad = using(inputs, index, inputs[index].new_zeros(misfit))
            who = names if len(misfit) == len(shape.dims) or shape.any_rank else argument
            refuses(name, bad, rf"^{name}: ({who}) has shape \([\d, ]*\), want ")


@each_text
def test_dtype_that_the_op_has_not_is_refused(name: str) -> None:
    """Integers, truth values and half precision are refused by the name of the first tensor, and what is wanted is said."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op)
    first = op.signature.tensors[0].name
    for dtype, words in (
        (torch.int64, "Long"),
        (torch.int32, "Int"),
        (torch.uint8, "Byte"),
        (torch.bool, "Bool"),
        (torch.float16, "Half"),
        (torch.bfloat16, "BFloat16"),
    ):
        bad = [
            (value.real if value.is_complex() else value).to(dtype) if differentiable(value) else value
            for value in inputs
        ]
        refuses(name, bad, rf"^{name}: {first} is {words}, want ({'|'.join(SPELLED.values())})")


@each_text
def test_tensors_of_two_dtypes_are_refused(name: str) -> None:
    """One tensor in double precision or of integers among others is named, with both dtypes."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op)
    (_, first), *others = tensors(op)
    for index, argument in others:
        for dtype, words in ((torch.float64, "Double"), (torch.int64, "Long"), (torch.float16, "Half")):
            bad = using(inputs, index, inputs[index].to(dtype))
            refuses(name, bad, rf"^{name}: {argument} is {words}, but {first} is Float$")


@each_text
def test_tensors_on_two_devices_are_refused(name: str) -> None:
    """One tensor on the meta device among others on the CPU is told by name; the first one makes the others the strangers."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op)
    if len(tensors(op)) == 1:
        assert as_tuple(li.load(name)(*using(inputs, 0, inputs[0].to("meta"))))[0].is_meta
        return
    (_, first), (_, second), *_ = tensors(op)
    for index, argument in tensors(op):
        words = f"{argument} is on another device than {first}"
        if argument == first:
            words = f"{first} is not on the CPU|{second} is on another device than {first}"
        refuses(name, using(inputs, index, inputs[index].to("meta")), rf"^{name}: ({words})$")


@each_text
def test_none_for_a_required_tensor_is_refused(name: str) -> None:
    """None in the place of each required tensor is told by name, and a missing optional one is none of this."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op)
    for index, argument in enumerate(op.signature.inputs):
        if argument.type == "Tensor":
            refuses(name, using(inputs, index, None), rf"^{name}: {argument.name} is None, want a Tensor$")
    required = [
        None if argument.is_tensor else value for argument, value in zip(op.signature.inputs, inputs, strict=True)
    ]
    refuses(name, required, rf"^{name}: \w+ is None, want a Tensor$")


@each_text
def test_what_is_no_tensor_is_refused(name: str) -> None:
    """A number, a list, a text or an array of NumPy in the place of a tensor is a TypeError with argument and op's signature."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op)
    for index, argument in enumerate(op.signature.inputs):
        wrong: list[Any] = [[1.0, 2.0], "text", {}] if argument.is_tensor else [None, "text", [1.0], torch.arange(2)]
        wrong += [1.5, np.ones((5, 7), np.float32)] if argument.is_tensor else []
        for value in wrong:
            words = rf"^{re.escape(name + str(op.signature))}: Expected a value of type '[\w\[\]]+' for argument '{argument.name}'"
            refuses(name, using(inputs, index, value), words, TypeError)


@each_text
def test_arguments_that_do_not_fit_the_signature_are_refused(name: str) -> None:
    """Too few, too many and misnamed arguments are a TypeError that shows the signature, and no digest."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op)
    start = rf"^{re.escape(name + str(op.signature))}: (?!.*li_)"
    first = op.signature.inputs[0].name
    named = {argument.name: value for argument, value in zip(op.signature.inputs, inputs, strict=True)}
    refuses(name, [], rf"{start}is missing value for argument '{first}'", TypeError)
    refuses(name, [*inputs, inputs[0]], rf"{start}expected at most {len(inputs)} argument", TypeError)
    refuses(name, inputs, start, TypeError, nobody=1)
    refuses(name, inputs, start, TypeError, **{first: inputs[0]})
    del named[first]
    refuses(
        name,
        [],
        rf"{start}(is missing value for argument '{first}'|Unknown keyword argument 'nobody')",
        TypeError,
        **named,
        nobody=1,
    )
    for argument in op.signature.inputs:
        if argument.default is None:
            less = {key: value for key, value in {first: inputs[0], **named}.items() if key != argument.name}
            refuses(name, [], rf"{start}is missing value for argument '{argument.name}'", TypeError, **less)


@each_text
def test_sparse_tensors_are_refused_or_right(name: str) -> None:
    """A sparse tensor is refused by its layout and name, or, by a kernel that differentiates through ATen, computed with."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op)
    for index, argument in tensors(op):
        sparse = using(inputs, index, inputs[index].to_sparse())
        try:
            got = as_tuple(li.load(name)(*sparse))
        except (NotImplementedError, RuntimeError) as error:
            assert re.match(rf"{name}: .*{argument}|{name}: .*layout", str(error)) or "parse" in str(error), error
        else:
            for one, other in zip(got, as_tuple(op.reference(*inputs)), strict=True):
                torch.testing.assert_close(one.to_dense() if one.is_sparse else one, other)


def test_integers_that_require_grad_are_torchs_own_error() -> None:
    """Such a tensor cannot be made in the first place."""
    with pytest.raises(RuntimeError, match=r"only Tensors of floating point .*dtype can require gradients"):
        torch.ones(3, dtype=torch.int64).requires_grad_()


@pytest.mark.parametrize("name", PYTHON)
def test_kernels_in_python_refuse_with_pythons_words(name: str) -> None:
    """None for a tensor, arguments too many and misnamed ones are errors of Python's or PyTorch's own."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op)
    function = li.load(name)
    for index, argument in enumerate(op.signature.inputs):
        if argument.type == "Tensor":
            with pytest.raises((TypeError, AttributeError)):
                function(*using(inputs, index, None))
    for arguments, named in ((inputs, {"nobody": 1}), ([*inputs, 1], {}), ([], {})):
        with pytest.raises(TypeError, match=r"argument"):
            function(*arguments, **named)


# What is unusual and legal


@each_text
def test_empty_tensors_work_as_in_the_reference(name: str) -> None:
    """Each extent 0 in turn, and all of them: the reference's shapes, its gradients, or an error where it has one."""
    op = li.registry.op_of(li.registry[name])
    sizes = [with_extent(prime_size(op), axis, 0) for axis in range(len(op.letters))]
    for size in [*sizes, (0,) * len(op.letters)]:
        inputs = make_inputs(op, Case("", size, torch.float64)) if op.allows(size) else None
        if inputs is None:
            continue
        try:
            op.reference(*inputs)
        except (RuntimeError, ValueError):
            with pytest.raises((RuntimeError, ValueError)):
                li.load(name)(*inputs)
        else:
            same(op, name, inputs)


@each_text
def test_expanded_and_overlapping_inputs(name: str) -> None:
    """Inputs whose elements share memory, with stride 0 along each axis or as a sliding window, are read by their strides."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op, torch.float64)
    for index, _ in tensors(op):
        value = inputs[index]
        views = [value.flatten()[0].expand(value.shape), value.flatten().as_strided(value.shape, (1,) * value.dim())]
        views += [value.narrow(axis, 0, 1).expand(value.shape) for axis in range(value.dim())]
        for view in views:
            same(op, name, using(inputs, index, view))
    same(
        op, name, [value[..., :1].expand(value.shape) if isinstance(value, torch.Tensor) else value for value in inputs]
    )


@each_text
def test_offsets_that_no_vector_is_aligned_to(name: str) -> None:
    """Inputs that begin one, two or three elements into their storage, and a flipped and permuted layout, change nothing."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op, torch.float64)
    for offset in (1, 2, 3):
        moved = []
        for value in inputs:
            if isinstance(value, torch.Tensor):
                storage = value.new_full((value.numel() + 2 * offset,), math.nan)
                value = storage[offset : offset + value.numel()].view(value.shape).copy_(value)
            moved.append(value)
        same(op, name, moved)
    backwards = [
        value.permute(*reversed(range(value.dim()))).contiguous().permute(*reversed(range(value.dim())))
        if isinstance(value, torch.Tensor)
        else value
        for value in inputs
    ]
    same(op, name, backwards)


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> torch.Tensor:
    """Map a file of 32 GiB, which is all hole, to memory."""
    path = tmp_path_factory.mktemp("far") / "hole"
    elements = 2**32 + 2**20
    try:
        with Path(path).open("wb") as file:
            file.truncate(8 * elements)
        return torch.from_file(str(path), shared=True, size=elements, dtype=torch.float64)
    except (OSError, RuntimeError) as error:
        pytest.skip(f"needs 32 GiB of address space: {error}")


@each_text
def test_strides_beyond_32_bits(name: str, far: torch.Tensor) -> None:
    """Rows, the last of which lies more than 2^31 elements behind the first, are found: no index is an int."""
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op, torch.float64)
    for index, _ in tensors(op):
        value = inputs[index]
        storage = far.view(torch.complex128) if value.is_complex() else far
        if value.dim() and len(value) > 1:
            step = 2**31 // (len(value) - 1) + 5  # what lies between the rows is never touched
            rows = storage.as_strided(value.shape, (step, *value.contiguous().stride()[1:]), 1)
            same(op, name, using(inputs, index, rows.copy_(value)))


@each_text
def test_values_that_are_not_finite(name: str) -> None:
    """One NaN in each tensor in turn goes where it goes in the reference; an infinity disturbs nothing that it does not there.

    Where an infinity meets another, or a zero, the order of operations decides between infinity and NaN: a kernel has its own.
    """
    op = li.registry.op_of(li.registry[name])
    inputs = inputs_of(op, torch.float64)
    for index, _ in tensors(op):
        for special in (math.nan, math.inf, -math.inf):
            value = inputs[index].clone()
            value.view(-1)[value.numel() // 2] = special
            same(op, name, using(inputs, index, value), finite=not math.isnan(special))


@each_text
def test_leaves_under_no_grad(name: str) -> None:
    """Where nothing is watched, inputs that require grad make outputs that do not, with the same bits."""
    op = li.registry.op_of(li.registry[name])
    leaves = [value.requires_grad_() if differentiable(value) else value for value in inputs_of(op)]
    watched = as_tuple(li.load(name)(*leaves))
    assert all(output.requires_grad for output in watched)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            outputs = as_tuple(li.load(name)(*leaves))
        assert not any(output.requires_grad or output.grad_fn for output in outputs)
        assert all(torch.equal(one, other) for one, other in zip(outputs, watched, strict=True))
