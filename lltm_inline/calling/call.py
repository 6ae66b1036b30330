"""A kernel called once in the worker, on tensors of the caller's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..base.device import DEVICES
from ..base.progress import Progress
from ..checking.postmortem import run_or_raise
from ..errors import InputError
from ..model.registry import Kernel, registry, resolve
from ..run.built import Built, require_device
from ..run.executor import Task, echo, prepare
from ..run.function import Function
from ..run.library import load_built
from ..run.setting import Setting
from ..workers import steps
from ..workers.limits import Limits
from ..workers.server import Modes, Tensors


def call(
    kernel: Kernel | str,
    *inputs: Any,
    device: str = "cpu",
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    limits: Limits | None = None,
) -> Any:
    """Call a kernel once in the worker: whatever it does to its process, this one lives.

    The tensors are copied into memory that both processes share, and the results come back the same way. Gradients flow:
    backward runs in the worker, too, after forward has been run again there.

    Args:
        kernel: a kernel or its label.
        inputs: as for the op's reference; tensors on the CPU, or on a GPU for device `"cuda"`. Each stays on its device.
        device, compiler, cflags, progress: as for `load`.
        limits: of time, memory and output.

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
    setting = Setting(device, compiler, cflags, progress, limits=limits)
    kernel = resolve(kernel)
    require_device(device, kernel)
    wanted = registry.op_of(kernel).signature.inputs
    least = sum(argument.default is None for argument in wanted)
    if not least <= len(inputs) <= len(wanted):
        names = ", ".join(map(str, wanted))
        raise InputError(f"{kernel.label} takes {least} to {len(wanted)} inputs ({names}), got {len(inputs)}")
    built = prepare([kernel], setting)
    if setting.here:
        return load_built(built[0])(*inputs)
    results = _Differentiable.apply(built, setting, *inputs)
    return results[0] if len(built[0].op.signature.outputs) == 1 else tuple(results)


def _run(task: Task, setting: Setting, tensors: Sequence[Any]) -> tuple[Any, ...]:
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
        return _run(Forward(built, random), setting, inputs)

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
        return None, None, *_run(task, setting, [*inputs, *gradients])


def _call(function: Function, inputs: Sequence[Any]) -> tuple[Any, ...]:
    words = steps.describe(function.op, inputs)
    with steps.step("forward", function.kernel.label, lambda: ("", words)):
        results = function(*inputs)
    return tuple(results) if isinstance(results, tuple | list) else (results,)


@dataclass(frozen=True)
class Forward(Task):
    """One call of a kernel.

    Attributes:
        random: where the caller's random numbers are.
    """

    random: Sequence[bytes]

    def run(self, *inputs: Any) -> Tensors:
        """Call it; return where the random numbers are then, and the results."""
        function = load_built(self.built[0])
        set_random(self.random)
        with torch.no_grad():
            results = _call(function, inputs)
        return Tensors((random_state(function.device), *results))


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
        chosen = [(o, g) for o, g in zip(outputs, tensors[count:], strict=True) if o.requires_grad]
        words = steps.describe(function.op, inputs)
        found: Sequence[Any] = ()
        if chosen:
            with steps.step("backward", function.kernel.label, lambda: ("", words)):
                found = torch.autograd.grad(
                    [o for o, _ in chosen],
                    [v for v in inputs if isinstance(v, Tensor) and v.requires_grad],
                    [g for _, g in chosen],
                    allow_unused=True,
                )
        left = iter(found)
        return Tensors((random_state(function.device), *(next(left, None) if want else None for want in self.wanted)))
