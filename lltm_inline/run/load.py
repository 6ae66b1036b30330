"""Makes a kernel callable: its library is loaded, and its `forward` and `backward` take their place in autograd."""

from __future__ import annotations

import importlib.util
import inspect
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import torch
from torch.library import register_fake

from ..arguments import require_choices, shown
from ..binding import schemas
from ..build import cache
from ..build.compiler import Build, make_job, resolve, run_jobs, verify
from ..build.failures import failure_of
from ..build.nvcc import find_cuda, require_gpu
from ..build.toolchain import find_toolchain
from ..errors import InputError
from ..native import helper_job
from ..progress import Progress
from ..registry import Argument, Kernel, Op, registry
from ..signature import Interface
from ..template import render, require_text
from ..told import building
from .fake import Fake
from .function import Function, as_tuple
from .worker import steps
from .worker.limits import Limits


def load(
    kernel: Kernel | str,
    *,
    device: str = "cpu",
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    trust: bool = False,
    limits: Limits | None = None,
) -> Function:
    """Build a kernel if need be, try it out in the worker, and make it callable in this process.

    The worker runs a library once, at small sizes; that it came back is remembered beside the library in the cache.

    Args:
        kernel: a kernel or its label.
        device: `"cpu"`, or `"cuda"` for a kernel with a CUDA text.
        compiler, cflags, progress: as for `build`.
        trust: load it without trying it out.
        limits: of the worker.

    Returns:
        A function of the op's signature, differentiable.

    Raises:
        BuildError, SignatureError, ToolchainError, CacheError: as for `build`.
        CrashError: it crashed in the worker, or while it was loaded there; TimeoutError: it did not come back.

    Example:
        >>> import torch
        >>> lltm = load("lltm/fused")
        >>> B, F, S = 3, 17, 5
        >>> h, cell = lltm(torch.randn(B, F), torch.randn(3 * S, S + F), torch.randn(3 * S), torch.zeros(B, S), torch.zeros(B, S))
        >>> h.shape
        torch.Size([3, 5])
    """
    kernel = resolve(kernel)
    with building([kernel]):
        return load_meanwhile(
            kernel, None, device=device, compiler=compiler, cflags=cflags, progress=progress, trust=trust, limits=limits
        )


def load_meanwhile(
    kernel: Kernel | str,
    meanwhile: Callable[[], None] | None,
    *,
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
    progress: Progress | bool | None,
    trust: bool,
    limits: Limits | None = None,
) -> Function:
    """Load a kernel, and call `meanwhile` while a compiler runs, if one does."""
    require_choices(device=device, compiler=compiler, cflags=cflags, progress=progress, trust=trust)
    kernel = resolve(kernel)
    require_device(device, kernel)
    op = registry.op_of(kernel)
    if kernel.python is not None:
        return Function(kernel, op, None, None, kernel.python, device=device)
    toolchain = find_toolchain(compiler, cflags)
    job = make_job(kernel, toolchain, find_cuda(compile_only=False) if device == "cuda" else None)
    bridge = [] if job.python_module else [helper_job("bridge", toolchain)]
    here = trust or steps.in_worker()

    def while_compiling() -> None:
        if not here:
            from .worker.client import worker

            worker.warm()  # it imports torch, which takes about as long
        if meanwhile is not None:
            meanwhile()

    with _loading:
        if job.key not in _functions:
            built, *bridges = run_jobs([job, *bridge], progress, while_compiling)
            if not here and not is_tried(built):
                from .trial import try_out  # which needs this module in turn

                try_out(kernel, device, compiler, cflags, progress, limits)
                mark_tried(built)
            verify(built)
            make: Callable[..., Function] = _load_module if job.python_module else _load_library
            interface = render(kernel, op, device).interface
            # In a thread of its own: the caller's may be tracing, as torch.export is, and would write our registration down.
            with ThreadPoolExecutor(1, thread_name_prefix="lltm_inline load") as pool, steps.step("load", kernel.label):
                try:
                    loaded = pool.submit(make, kernel, op, interface, built, *bridges, device=device).result()
                except (OSError, ImportError) as error:  # a symbol that nobody defines
                    raise failure_of(job, str(error)) from None
            _functions[job.key] = loaded
        return replace(_functions[job.key], kernel=kernel, op=op)  # two revisions may hold the same text


# What torch.compiler.disable does, without importing the compiler: a trace must not look into `load`, nor into what it calls.
_dynamo = torch._C._dynamo.eval_frame
if hasattr(
    _dynamo, "_FrameExecStrategy"
):  # private, so it may go; then only an unloaded module under torch.compile suffers
    _dynamo.set_code_exec_strategy(load.__code__, _dynamo._FrameExecStrategy(*[_dynamo._FrameAction.SKIP] * 2))
load._torchdynamo_disable = True  # type: ignore[attr-defined]
load._torchdynamo_disable_msg = (  # type: ignore[attr-defined]
    "the kernel is not loaded yet: call lltm_inline.load, or a module over the kernel, once before compiling with fullgraph=True"
)

# By digest: a library is never unloaded, so a second load of the same thing is the first one's.
_functions: dict[str, Function] = {}
_bridges: dict[str, Any] = {}
#: Libraries that the worker has run for this process, by digest and hash: remembered also where the disk takes no record.
_tried: set[tuple[str, str]] = set()
_loading = threading.RLock()  # operators can be registered once only


def require_device(device: str, kernel: Kernel | None = None) -> None:
    """Refuse what cannot be run before anything is made for it: an unknown device, a kernel without a text for it, no GPU.

    Raises:
        InputError: the device is neither `"cpu"` nor `"cuda"`.
        DefinitionError: the kernel has no text for it.
        ToolchainError: torch cannot use a GPU.
    """
    if not isinstance(device, str) or device not in ("cpu", "cuda"):
        raise InputError(f"device {shown(device)}: this version runs kernels on 'cpu' and 'cuda'")
    if kernel is not None and kernel.python is None:
        require_text(kernel, device)
    if device == "cuda":
        require_gpu()


def mark_tried(build: Build) -> None:
    """Note that the worker has run a library, in a check for instance, and that it came back."""
    if (build.digest, build.sha256) not in _tried:
        cache.mark_proven(build.digest, build.sha256)
        _tried.add((build.digest, build.sha256))


def is_tried(build: Build) -> bool:
    """Tell whether the worker has run this very library, for this process or, as a record in the cache says, for another."""
    return (build.digest, build.sha256) in _tried or cache.is_proven(build.digest, build.sha256)


def _attach(bridge: Build) -> Callable[..., None]:
    """Load the bridge, once, and return its `attach`."""
    if bridge.digest not in _bridges:
        verify(bridge)
        torch.ops.load_library(str(bridge.path))
        _bridges[bridge.digest] = getattr(torch.ops, bridge.namespace).attach
    return cast(Callable[..., None], _bridges[bridge.digest])


def _load_library(
    kernel: Kernel, op: Op, interface: Interface, build: Build, bridge: Build, *, device: str
) -> Function:
    """Load a library of registered operators and attach it to autograd through the bridge."""
    torch.ops.load_library(str(build.path))
    signature = op.signature
    inputs = [argument.name for argument in signature.inputs]
    places = {argument.name: index for index, argument in enumerate((*signature.inputs, *signature.outputs))}
    tensors = [argument.name for argument in signature.tensors]
    _attach(bridge)(
        build.namespace,
        kernel.name,
        schemas(kernel, op, interface)["call"],
        interface.has_backward,
        kernel.double_backward,
        tensors,
        [inputs.index(name) for name in tensors],
        [places[name] for name in kernel.saves],
        len(inputs),
        len(signature.outputs),
        interface.extras,
    )
    space = getattr(torch.ops, build.namespace)
    backward = space.backward.default if interface.has_backward else None
    function = Function(kernel, op, build, interface, space.call.default, space.forward.default, backward, device)
    if interface.has_backward:  # what differentiates through ATen is traced through ATen
        fake = Fake(kernel, op, interface, function.forward, device)
        register_fake(f"{build.namespace}::forward", fake.forward)
        if not kernel.double_backward:
            register_fake(f"{build.namespace}::backward", fake.backward)
    return function


def _load_module(kernel: Kernel, op: Op, interface: Interface, build: Build, *, device: str) -> Function:
    """Import a pybind11 module and wrap it the classic way, in a Python `autograd.Function`."""
    spec = importlib.util.spec_from_file_location(build.namespace, build.path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    count = len(op.signature.outputs)

    def outputs_of(results: Any) -> Any:
        """Leave out the extra tensors."""
        tensors = as_tuple(results)
        return tensors[0] if count == 1 else tensors[:count]

    def backward(*arguments: Any) -> Any:
        """Gather the flags of wanted gradients, which pybind11 takes as one array."""
        flags = len(op.signature.tensors)
        return module.backward(*arguments[:-flags], list(arguments[-flags:]))

    if not interface.has_backward:
        return Function(
            kernel,
            op,
            build,
            interface,
            _with_names(op, lambda *x: outputs_of(module.forward(*x))),
            module.forward,
            device=device,
        )
    function = Function(kernel, op, build, interface, module.forward, module.forward, backward, device)
    positions = [index for index, argument in enumerate(op.signature.inputs) if argument.is_tensor]

    class Classic(torch.autograd.Function):
        """The kernel between Python's `forward` and `backward`, as the tutorials write it."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            results = function.forward(*inputs)
            ctx.set_materialize_grads(False)
            ctx.kinds = [(result.shape, result.dtype, result.device) for result in results[:count]]
            ctx.constants = [None if index in positions else value for index, value in enumerate(inputs)]
            ctx.save_for_backward(
                *(inputs[position] for position in positions), *results
            )  # a missing tensor is saved as None
            return outputs_of(results)

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
            wanted = [ctx.needs_input_grad[position] for position in positions]
            computed = iter(function.backward(gradients, inputs, list(saved), wanted))
            slots = [next(computed) if index in positions else None for index in range(len(inputs))]
            for index, gradient in enumerate(slots):
                if gradient is not None and gradient.shape != inputs[index].shape:
                    raise RuntimeError(
                        f"{kernel.name}: backward returned d_{op.signature.inputs[index].name} of shape {list(gradient.shape)}, "
                        f"want {list(inputs[index].shape)}"
                    )
            return tuple(gradient if need else None for gradient, need in zip(slots, ctx.needs_input_grad, strict=True))

    return replace(function, _call=_with_names(op, Classic.apply))


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
    values = {"True": True, "False": False, "None": None}

    def default(argument: Argument) -> Any:
        text = argument.default
        if text is None:
            return inspect.Parameter.empty
        return values[text] if text in values else int(text) if argument.type == "int" else float(text)

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
