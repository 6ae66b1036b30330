"""Loads the library of a kernel into this process, and gives its `forward` and `backward` their place in autograd."""

from __future__ import annotations

import ctypes
import importlib.util
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import torch
from torch.library import register_fake

from ..base.progress import say
from ..compiling.compiler import Build, verify
from ..compiling.failures import failure_of
from ..model.registry import Argument, Op
from ..source.binding import schemas
from ..source.signature import Interface
from ..workers import steps
from .built import Built, build_helper
from .fake import Fake
from .function import Function, as_tuple

# By digest: a library is never unloaded, so a second load of the same thing is the first one's.
_functions: dict[str, Function] = {}
_bridges: dict[str, Any] = {}
_helpers: dict[str, ctypes.CDLL] = {}
_loading = threading.RLock()  # operators can be registered once only


def load_built(built: Built) -> Function:
    """Make a kernel that is built callable in this process; nothing is looked for, and nothing compiled.

    Raises:
        BuildError: the library cannot be loaded: a symbol that nobody defines.
        CacheError: the library is not the one that was built.
    """
    kernel, op, job, library = built.kernel, built.op, built.job, built.library
    if job is None or library is None or job.interface is None:
        return Function(kernel, op, None, None, cast(Callable[..., Any], kernel.python), device=built.device)
    with _loading:
        if job.key not in _functions:
            verify(library)
            make = _load_module if job.python_module else _load_library
            # In a thread of its own: the caller's may be tracing, as torch.export is, and would write our registration down.
            with ThreadPoolExecutor(1, thread_name_prefix="lltm_inline load") as pool, steps.step("load", kernel.label):
                try:
                    _functions[job.key] = pool.submit(make, built, job.interface, library).result()
                except (OSError, ImportError) as error:  # a symbol that nobody defines
                    raise failure_of(job, str(error)) from None
        # Two revisions may hold the same text.
        return replace(_functions[job.key], kernel=kernel, op=op)


def load_all(built: Sequence[Built]) -> list[Function]:
    """Load kernels, and tell of each."""
    functions = []
    for one in built:
        functions.append(load_built(one))
        say(f"loaded {one.kernel.label}", 1)
    return functions


def is_loaded(built: Built) -> bool:
    """Tell whether this process has loaded the library of a kernel."""
    return built.job is not None and built.job.key in _functions


def load_helper(
    name: str, functions: Mapping[str, tuple[Any, ...]], built: Build | None = None, progress: Any = None
) -> ctypes.CDLL:
    """Load a library of ours that is called through ctypes, once.

    Args:
        name: of it, see `lltm_inline.native`.
        functions: the result and the arguments of each, by name.
        built: the library; None builds it with `progress`, unless the cache has it.
    """
    built = built or build_helper(name, progress=progress)
    if built.digest not in _helpers:
        verify(built)
        _helpers[built.digest] = declared(ctypes.CDLL(str(built.path)), functions)
    return _helpers[built.digest]


def declared(library: ctypes.CDLL, functions: Mapping[str, tuple[Any, ...]]) -> ctypes.CDLL:
    """Tell ctypes the result and the arguments of functions, by name."""
    for function, (result, *arguments) in functions.items():
        getattr(library, function).restype, getattr(library, function).argtypes = result, arguments
    return library


def _attach(bridge: Build) -> Callable[..., None]:
    """Load the bridge, once, and return its `attach`."""
    if bridge.digest not in _bridges:
        verify(bridge)
        torch.ops.load_library(str(bridge.path))
        _bridges[bridge.digest] = getattr(torch.ops, bridge.namespace).attach
    return cast(Callable[..., None], _bridges[bridge.digest])


def _load_library(built: Built, interface: Interface, build: Build) -> Function:
    """Load a library of registered operators and attach it to autograd through the bridge."""
    kernel, op, device = built.kernel, built.op, built.device
    torch.ops.load_library(str(build.path))
    signature = op.signature
    inputs = [argument.name for argument in signature.inputs]
    places = {argument.name: index for index, argument in enumerate((*signature.inputs, *signature.outputs))}
    tensors = [argument.name for argument in op.gradients]
    _attach(built.helpers["bridge"])(
        build.namespace,
        kernel.name,
        schemas(kernel, op, interface)["call"],
        interface.has_backward,
        interface.through_aten,
        kernel.double_backward,
        tensors,
        [inputs.index(name) for name in tensors],
        [inputs.index(argument.name) for argument in signature.changed],
        # Autocast is for what takes float32, and not for what takes half precision by itself, or changes what it takes.
        []
        if {"float16", "bfloat16"} & {*op.dtypes} or signature.changed
        else [inputs.index(a.name) for a in signature.tensors if not a.dtype],
        [places[name] for name in kernel.saves],
        len(inputs),
        len(signature.outputs),
        interface.extras,
    )
    space = getattr(torch.ops, build.namespace)
    backward = space.backward.default if interface.has_backward else None
    function = Function(kernel, op, build, interface, space.call.default, space.forward.default, backward, device)
    if interface.through_aten:  # it is traced through ATen
        return function
    fake = Fake(kernel, op, interface, function.forward, device)
    register_fake(f"{build.namespace}::forward", fake.forward)
    if kernel.double_backward:  # so is its backward
        return function
    if interface.has_backward:
        register_fake(f"{build.namespace}::backward", fake.backward)
    return replace(function, fake=fake)


def module_of(build: Build) -> Any:
    """Import a library that is a module of Python's."""
    spec = importlib.util.spec_from_file_location(build.namespace, build.path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load_module(built: Built, interface: Interface, build: Build) -> Function:
    """Import a pybind11 module and wrap it the classic way, in a Python `autograd.Function`."""
    op = built.op
    module = module_of(build)

    def backward(*arguments: Any) -> Any:
        """Gather the flags of wanted gradients, which pybind11 takes as one array."""
        flags = len(op.gradients)
        return module.backward(*arguments[:-flags], list(arguments[-flags:]))

    known = built.kernel, op, build, interface
    if not interface.has_backward:
        call = _with_names(op, lambda *x: _outputs_of(op, module.forward(*x)))
        return Function(*known, call, module.forward, device=built.device)
    function = Function(*known, module.forward, module.forward, backward, built.device)
    return replace(function, _call=_with_names(op, _classic(function, interface).apply))


def _outputs_of(op: Op, results: Any) -> Any:
    """Leave out the extra tensors."""
    tensors, count = as_tuple(results), len(op.signature.outputs)
    return tensors[0] if count == 1 else tensors[:count] or None


def _classic(function: Function, interface: Interface) -> type[torch.autograd.Function]:
    """Put a kernel between Python's `forward` and `backward`, as the tutorials write it."""
    kernel, op = function.kernel, function.op
    count = len(op.signature.outputs)
    positions = [index for index, argument in enumerate(op.signature.inputs) if argument.is_tensor]
    differentiable = [op.signature.inputs.index(argument) for argument in op.gradients]

    class Classic(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            results = function.forward(*inputs)
            ctx.set_materialize_grads(False)
            ctx.kinds = [(result.shape, result.dtype, result.device) for result in results[:count]]
            ctx.constants = [None if index in positions else value for index, value in enumerate(inputs)]
            # A missing tensor is saved as None.
            ctx.save_for_backward(*(inputs[position] for position in positions), *results)
            return _outputs_of(op, results)

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
            if all(gradient is None for gradient in gradients):
                return (None,) * len(ctx.constants)
            gradients = tuple(
                torch.zeros(kind[0], dtype=kind[1], device=kind[2]) if gradient is None and not optional else gradient
                for gradient, kind, optional in zip(gradients, ctx.kinds, interface.optional_grads, strict=True)
            )
            if kernel.double_backward:
                return Classic.gradients(ctx, gradients)
            with torch.no_grad():
                computed = Classic.gradients(ctx, gradients)
            if torch.is_grad_enabled():  # create_graph
                depends = [
                    tensor for tensor in (*ctx.saved_tensors, *gradients) if tensor is not None and tensor.requires_grad
                ]
                return tuple(g if g is None else _Refuse.apply(g, kernel.name, *depends) for g in computed)
            return computed

        @staticmethod
        def gradients(ctx: Any, gradients: Sequence[torch.Tensor | None]) -> tuple[torch.Tensor | None, ...]:
            """Call the kernel's backward and check the shapes of what it returns."""
            saved = iter(ctx.saved_tensors)
            inputs = [next(saved) if index in positions else value for index, value in enumerate(ctx.constants)]
            wanted = [ctx.needs_input_grad[position] for position in differentiable]
            computed = iter(function.backward(gradients, inputs, list(saved), wanted))
            slots = [next(computed) if index in differentiable else None for index in range(len(inputs))]
            for index, gradient in enumerate(slots):
                if gradient is not None and gradient.shape != inputs[index].shape:
                    raise RuntimeError(
                        f"{kernel.name}: backward returned d_{op.signature.inputs[index].name} of shape {list(gradient.shape)}, "
                        f"want {list(inputs[index].shape)}"
                    )
            return tuple(gradient if need else None for gradient, need in zip(slots, ctx.needs_input_grad, strict=True))

    return Classic


class _Refuse(torch.autograd.Function):
    """Stands behind a gradient that cannot be differentiated again, and says so when that is tried."""

    @staticmethod
    def forward(ctx: Any, gradient: torch.Tensor, kernel: str, *_: torch.Tensor) -> torch.Tensor:
        ctx.kernel = kernel
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(f"kernel {ctx.kernel} has no second derivative: its backward is not differentiable")


def _with_names(op: Op, function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of positions be called with the op's argument names and defaults, as registered operators can."""

    def default(argument: Argument) -> Any:
        return inspect.Parameter.empty if argument.default is None else argument.value

    parameters = [
        inspect.Parameter(argument.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default(argument))
        for argument in op.signature.inputs
    ]
    signature = inspect.Signature(parameters)

    def call(*inputs: Any, **named: Any) -> Any:
        bound = signature.bind(*inputs, **named)
        bound.apply_defaults()
        return function(*bound.args)

    return call
