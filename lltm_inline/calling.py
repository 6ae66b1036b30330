"""Kernels called by the user: loaded into this process once they were tried out in the worker, or called there."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Unpack

import torch
from torch import Tensor

from .base.device import DEVICES
from .base.progress import showing
from .checking.postmortem import run_or_raise
from .checking.runner import Runner, runner_of, threads
from .errors import CrashError, DefinitionError, InputError
from .model.outcomes import noting
from .model.registry import Kernel, Op, registry, resolve
from .run.built import Built, build_all, is_tried, mark_tried, require_device
from .run.cases.case import THREADS, Case
from .run.cases.drawing import make_inputs
from .run.cases.expectation import in_time, leaves_of
from .run.cases.layouts import place
from .run.cases.tried import LONG_AXIS, size_cases
from .run.executor import Task, echo, prepare
from .run.function import Function, as_tuple, each, gradients_of
from .run.library import is_loaded, load_built
from .run.setting import CallOptions, Options, Setting, takes
from .workers import steps
from .workers.client import worker
from .workers.worker import Modes, Tensors

#: What tells wrong from right, and crashes no more than the sizes around it do.
_LEFT_OUT = ("remainders", LONG_AXIS, THREADS)
_trying = threading.RLock()  # what two threads load is tried out once


@takes(Options)
def load(kernel: Kernel | str, **options: Unpack[Options]) -> Function:
    """Build a kernel if necessary, try it in the worker, and make it callable in this process.

    The worker runs a library once, at small sizes. If it survives, the cache remembers that with the library.
    With `trust=True` it is loaded without being tried.

    Args:
        kernel: a kernel or its label.
        options: of `Setting`, by name.

    Returns:
        A differentiable function with the op's signature.

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
    setting = Setting.of(load, options)
    kernel = resolve(kernel)
    require_device(setting.device, kernel)
    with noting([kernel]):
        # The worker imports torch, which takes about as long as a compiler.
        (built,) = build_all([kernel], setting, None if setting.here else worker.warm)
        with _trying:
            if not setting.here and not is_loaded(built) and not is_tried(built):
                _try_out(built, setting)
                mark_tried(built)
        return load_built(built)


# What torch.compiler.disable does, without importing the compiler: a trace must not look into `load`, nor into what it calls.
_dynamo = torch._C._dynamo.eval_frame
# Private, so it may go; then only an unloaded module under torch.compile suffers.
if hasattr(_dynamo, "_FrameExecStrategy"):
    _dynamo.set_code_exec_strategy(load.__code__, _dynamo._FrameExecStrategy(*[_dynamo._FrameAction.SKIP] * 2))
load._torchdynamo_disable = True  # type: ignore[attr-defined]
load._torchdynamo_disable_msg = (  # type: ignore[attr-defined]
    "the kernel is not loaded yet: call lltm_inline.load, or a module over the kernel, once before compiling with fullgraph=True"
)


def _try_out(built: Built, setting: Setting) -> None:
    """Load and run a kernel in the worker. What it computes, or raises, is not looked at.

    Raises:
        CrashError: the worker died of it; TimeoutError: it did not come back.
    """
    try:
        with showing(f"trying out {built.kernel.label}", setting.progress):
            run_or_raise(TryOut((built,)), setting)
    except CrashError as error:
        error.add_note(
            "It was tried out at small sizes before this process loads it; load(..., trust=True) does without."
        )
        raise


@dataclass(frozen=True)
class TryOut(Task):
    """The first run of a library: at small sizes, so that what crashes at once does so in the worker."""

    def run(self) -> None:
        """Run forward and backward at the corner sizes that the reference takes.

        The reference runs forward alone, and at one of the dtypes: whether a size makes sense is all that it is asked.
        """
        runner = runner_of(self.built[0])
        takes: dict[tuple[Any, ...], bool] = {}
        for case in size_cases(runner.op, None):
            if case.group in _LEFT_OUT:
                continue
            try:
                inputs = make_inputs(runner.op, case)
            except DefinitionError:
                if 0 in case.size or not runner.op.letters:  # an index into nothing, say; or nobody knows what it takes
                    continue
                raise
            size = (case.size, case.view)
            if size not in takes:
                takes[size] = _takes(runner.op, case, inputs)
            if takes[size]:
                _run_case(runner, case, inputs)


def _takes(op: Op, case: Case, inputs: Sequence[Any]) -> bool:
    try:
        # A step, for its memory to be limited: with a matrix of all pairs, say, many elements are too many.
        with steps.step("reference", f"{op.name}/python", lambda: (case.describe(op), ())), in_time(), torch.no_grad():
            op.reference(*leaves_of(op, inputs))
    except DefinitionError:  # there is none
        return True
    except Exception:  # whatever it raises for a size that it refuses
        return False
    return True


def _run_case(runner: Runner, case: Case, inputs: Sequence[Any]) -> None:
    leaves = runner.leaves(case, inputs, lambda _, value, layout: place(value, layout, runner.device).tensor.detach())

    def described() -> tuple[str, list[str]]:
        return case.describe(runner.op), steps.describe(runner.op, leaves)

    with suppress(Exception), threads(runner.threads_for(case)):  # what it raises, a check tells
        with steps.step("forward", runner.kernel.label, described):
            outputs = as_tuple(runner.function(*leaves))
        with steps.step("backward", runner.kernel.label, described):
            wanted = [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.requires_grad]
            grads = [torch.ones_like(output) if isinstance(output, Tensor) else None for output in outputs]
            gradients_of(outputs, grads, wanted)


@takes(CallOptions)
def call(kernel: Kernel | str, *inputs: Any, **options: Unpack[CallOptions]) -> Any:
    """Call a kernel once in the worker: whatever it does to that process, this one survives.

    The tensors are copied into memory that both processes share, and the results come back the same way. Gradients flow:
    backward runs in the worker too, after forward was run there again.

    Args:
        kernel: a kernel or its label.
        inputs: as for the op's reference; tensors on the CPU, or on a GPU for device `"cuda"`. Each stays on its device.
        options: of `Setting`, by name.

    Returns:
        What the kernel returns: a tensor, or a tuple of several.

    Raises:
        CrashError: it crashed; TimeoutError: it did not come back in time.
        BuildError, SignatureError, ToolchainError, CacheError: as for `build`.
        InputError: the wrong number of inputs, one that cannot be sent, or a result that cannot: only dense tensors can.
        Exception: whatever the kernel raised.

    Example:
        >>> call("axpy/python", torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
        tensor([3., 5.])
    """
    setting = Setting.of(call, options)
    kernel = resolve(kernel)
    require_device(setting.device, kernel)
    wanted = registry.op_of(kernel).signature.inputs
    least = sum(argument.default is None for argument in wanted)
    if not least <= len(inputs) <= len(wanted):
        names = ", ".join(map(str, wanted))
        raise InputError(f"{kernel.label} takes {least} to {len(wanted)} inputs ({names}), got {len(inputs)}")
    built = prepare([kernel], setting)
    if setting.here:
        return load_built(built[0])(*inputs)
    if built[0].op.signature.changed or not built[0].op.signature.outputs:
        results: Any = _changing(built, setting, inputs)
    else:
        results = _Differentiable.apply(built, setting, *inputs)
    return results[0] if len(results) == 1 else tuple(results) or None


def _changing(built: tuple[Built, ...], setting: Setting, inputs: Sequence[Any]) -> list[Any]:
    """Carry out a call of an op that changes inputs, and put what the worker has made of them into the caller's."""
    signature = built[0].op.signature
    given = dict(zip((argument.name for argument in signature.inputs), inputs, strict=False))
    changed = {argument.alias: given[argument.name] for argument in signature.changed}
    tensors: list[Tensor] = []
    for one in changed.values():
        each(one, tensors.append)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise RuntimeError(
            f"{built[0].kernel.name} changes a tensor in place that wants a gradient: call it under torch.no_grad()"
        )
    with torch.no_grad():
        values = _run_task(Forward(built, random_state(setting.device)), setting, inputs)
        for tensor, value in zip(tensors, values[len(signature.outputs) :], strict=True):
            tensor.copy_(value)
    return [changed.get(output.alias, value) for output, value in zip(signature.outputs, values, strict=False)]


def _run_task(task: Task, setting: Setting, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Carry out a task in the worker; torch's random numbers go on as if it had been done here."""
    result = run_or_raise(task, setting, tensors=tensors)
    echo(result.output)
    states, *values = result.value
    set_random(states)
    return tuple(values)


def random_state(device: str) -> tuple[bytes, ...]:
    """Take down where torch's random numbers are: the CPU's, and those of every GPU for device `"cuda"`."""
    states = [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if DEVICES[device].needs_gpu else ())]
    return tuple(state.numpy().tobytes() for state in states)


def set_random(states: Sequence[bytes]) -> None:
    """Let torch's random numbers go on from where `random_state` found them."""
    cpu, *gpus = (torch.frombuffer(bytearray(state), dtype=torch.uint8) for state in states)
    torch.set_rng_state(cpu)
    for index, state in enumerate(gpus):
        torch.cuda.set_rng_state(state, index)


class _Differentiable(torch.autograd.Function):
    """The worker between autograd's forward and backward."""

    @staticmethod
    def forward(ctx: Any, built: tuple[Built, ...], setting: Setting, *inputs: Any) -> tuple[Tensor, ...]:
        random = random_state(setting.device)
        ctx.how = built, setting, Modes.here(), random
        ctx.plain = [None if isinstance(value, Tensor) else value for value in inputs]
        ctx.places = [index for index, value in enumerate(inputs) if isinstance(value, Tensor)]
        ctx.save_for_backward(*(inputs[index] for index in ctx.places))
        return _run_task(Forward(built, random), setting, inputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        inputs = list(ctx.plain)
        for index, value in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[index] = value
        built, setting, modes, random_before = ctx.how
        built = prepare([built[0].kernel], setting)  # the cache may have been emptied meanwhile
        wanted = tuple(ctx.needs_input_grad[2:])
        task = Backward(built, random_state(setting.device), modes, random_before, wanted)
        return None, None, *_run_task(task, setting, [*inputs, *gradients])


def _call(function: Function, inputs: Sequence[Any]) -> tuple[Any, ...]:
    words = steps.describe(function.op, inputs)
    with steps.step("forward", function.kernel.label, lambda: ("", words)):
        returned = function(*inputs)
    return as_tuple(returned) if function.op.signature.outputs else ()


@dataclass(frozen=True)
class Forward(Task):
    """One call of a kernel.

    Attributes:
        random: where the caller's random numbers are.
    """

    random: Sequence[bytes]

    def run(self, *inputs: Any) -> Tensors:
        """Call it; return where the random numbers are then, the results, and the inputs that it changed."""
        function = load_built(self.built[0])
        set_random(self.random)
        with torch.no_grad():
            results = _call(function, inputs)
            given = dict(zip((argument.name for argument in function.op.signature.inputs), inputs, strict=False))
            changed: list[Tensor] = []
            for argument in function.op.signature.changed:
                each(given[argument.name], changed.append)
        return Tensors((random_state(function.device), *results, *changed))


@dataclass(frozen=True)
class Backward(Task):
    """A call as it was made before, and its gradients.

    Attributes:
        random: where the caller's random numbers are.
        modes, random_before: of torch, when the call was made.
        wanted: for each input, whether its gradient is.
    """

    random: Sequence[bytes]
    modes: Modes
    random_before: Sequence[bytes]
    wanted: Sequence[bool]

    def run(self, *tensors: Any) -> Tensors:
        """Take the inputs, then the gradients of the outputs; return where the random numbers are, and the gradients."""
        function = load_built(self.built[0])
        count = len(self.wanted)
        inputs = [v.requires_grad_() if want else v for v, want in zip(tensors[:count], self.wanted, strict=True)]
        now = Modes.here()
        self.modes.apply()
        set_random(self.random_before)
        outputs = _call(function, inputs)
        now.apply()
        set_random(self.random)
        words = steps.describe(function.op, inputs)
        with steps.step("backward", function.kernel.label, lambda: ("", words)):
            tracked = [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]
            left = iter(gradients_of(outputs, tensors[count:], tracked))
        return Tensors((random_state(function.device), *(next(left, None) if want else None for want in self.wanted)))
