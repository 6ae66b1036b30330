"""A kernel called once in the worker, on tensors of the caller's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..arguments import require_choices
from ..errors import CacheError, InputError
from ..progress import Progress
from ..registry import Kernel, registry, resolve
from .function import Function
from .isolated import Prepared, ask, echo, prepare
from .load import load, require_device
from .worker import steps
from .worker.limits import Limits, require_limits
from .worker.modules import when_dropped
from .worker.outcome import Result
from .worker.server import Modes, Tensors


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
    require_choices(device=device, compiler=compiler, cflags=cflags, progress=progress)
    require_limits(limits)
    kernel = resolve(kernel)
    require_device(device, kernel)
    wanted = registry.op_of(kernel).signature.inputs
    least = sum(argument.default is None for argument in wanted)
    if not least <= len(inputs) <= len(wanted):
        names = ", ".join(map(str, wanted))
        raise InputError(f"{kernel.label} takes {least} to {len(wanted)} inputs ({names}), got {len(inputs)}")
    if steps.in_worker():
        return _loaded(kernel, device, compiler, cflags)(*inputs)
    remote = _Remote(kernel, device, compiler, cflags, limits, progress)
    remote.prepared()
    results = _Differentiable.apply(remote, *inputs)
    return results[0] if remote.is_single else tuple(results)


@dataclass(frozen=True)
class _Remote:
    """A kernel in the worker."""

    kernel: Kernel
    device: str
    compiler: str | None
    cflags: Sequence[str] | None
    limits: Limits | None
    progress: Progress | bool | None

    @property
    def is_single(self) -> bool:
        return len(registry.op_of(self.kernel).signature.outputs) == 1

    def prepared(self, *, again: bool = False) -> Prepared:
        """Build what is needed, once: a call is to cost as little as it can."""
        cflags = None if self.cflags is None else tuple(self.cflags)
        key = (self.kernel, self.kernel.label, self.device, self.compiler, cflags, os.environ.get("LLTM_INLINE_CACHE"))
        known = None if again else _prepared.get(key)
        if known is None or not _exists(known):
            known = prepare([self.kernel], self.device, self.compiler, self.cflags, self.progress)
            if self.kernel.python is None:
                _prepared[key] = known
        return known

    def run(self, function: Any, tensors: Sequence[Any], *arguments: Any) -> tuple[Any, ...]:
        """Call a function in the worker; torch's random numbers go on as if it had been called here."""
        try:
            result = self._ask(function, tensors, arguments, self.prepared())
        except CacheError:  # something else lies in the cache than what was prepared
            result = self._ask(function, tensors, arguments, self.prepared(again=True))
        echo(result.output)
        states, *values = result.value
        set_random(states)
        return tuple(values)

    def _ask(self, function: Any, tensors: Sequence[Any], arguments: Sequence[Any], prepared: Prepared) -> Result:
        return ask(
            function,
            *(self.kernel, self.device, self.compiler, self.cflags, random_state(self.device), *arguments),
            tensors=tensors,
            kernels=[self.kernel],
            device=self.device,
            limits=self.limits,
            prepared=prepared,
        )


def _exists(prepared: Prepared) -> bool:
    recorder = () if prepared.recorder is None else (prepared.recorder.path,)
    return all(path.exists() for path in (*recorder, *(built.path for built in prepared.libraries.values())))


def random_state(device: str) -> tuple[bytes, ...]:
    """Take down where torch's random numbers are: the CPU's, and those of every GPU for device `"cuda"`."""
    states = [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if device == "cuda" else ())]
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
    def forward(ctx: Any, remote: _Remote, *inputs: Any) -> tuple[Tensor, ...]:
        ctx.remote = remote
        ctx.plain = [None if isinstance(value, Tensor) else value for value in inputs]
        ctx.places = [index for index, value in enumerate(inputs) if isinstance(value, Tensor)]
        ctx.save_for_backward(*(inputs[index] for index in ctx.places))
        ctx.began = Modes.here(), random_state(remote.device)
        return remote.run(forward_here, inputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        inputs = list(ctx.plain)
        for index, value in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[index] = value
        wanted = tuple(ctx.needs_input_grad[1:])
        return None, *ctx.remote.run(backward_here, [*inputs, *gradients], *ctx.began, len(inputs), wanted)


_loaded_here: dict[tuple[Any, ...], Function] = {}
_prepared: dict[tuple[Any, ...], Prepared] = {}
when_dropped.append(_loaded_here.clear)


def _loaded(kernel: Kernel, device: str, compiler: str | None, cflags: Sequence[str] | None) -> Function:
    """Load a kernel into this process; without looking into the cache where that was done before."""
    key = (kernel, device, compiler, None if cflags is None else tuple(cflags))
    known = _loaded_here.get(key)
    if known is not None and known.op == registry.op_of(kernel):
        return known
    loaded = load(kernel, device=device, compiler=compiler, cflags=cflags, progress=False, trust=True)
    # Not of Python, or each cell of a notebook that is run again would leave its function, and what that holds.
    if kernel.python is None:
        _loaded_here[key] = loaded
    return loaded


def _call(function: Any, kernel: Kernel, inputs: Sequence[Any]) -> tuple[Any, ...]:
    words = steps.describe(registry.op_of(kernel), inputs)
    with steps.step("forward", kernel.label, lambda: ("", words)):
        results = function(*inputs)
    return tuple(results) if isinstance(results, tuple | list) else (results,)


def forward_here(
    kernel: Kernel,
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
    random: Sequence[bytes],
    *inputs: Any,
) -> Tensors:
    """Call a kernel; for the worker."""
    function = _loaded(kernel, device, compiler, cflags)
    set_random(random)
    with torch.no_grad():
        results = _call(function, kernel, inputs)
    return Tensors((random_state(device), *results))


def backward_here(
    kernel: Kernel,
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
    random: Sequence[bytes],
    modes: Modes,
    random_before: Sequence[bytes],
    count: int,
    wanted: Sequence[bool],
    *tensors: Any,
) -> Tensors:
    """Call a kernel as it was called before, and differentiate it; for the worker."""
    function = _loaded(kernel, device, compiler, cflags)
    inputs = [v.requires_grad_() if want else v for v, want in zip(tensors[:count], wanted, strict=True)]
    now = Modes.here()
    modes.apply()
    set_random(random_before)
    outputs = _call(function, kernel, inputs)
    now.apply()
    set_random(random)
    chosen = [(o, g) for o, g in zip(outputs, tensors[count:], strict=True) if o.requires_grad]
    words = steps.describe(registry.op_of(kernel), inputs)
    found: Sequence[Any] = ()
    if chosen:
        with steps.step("backward", kernel.label, lambda: ("", words)):
            found = torch.autograd.grad(
                [o for o, _ in chosen],
                [v for v in inputs if isinstance(v, Tensor) and v.requires_grad],
                [g for _, g in chosen],
                allow_unused=True,
            )
    left = iter(found)
    return Tensors((random_state(device), *(next(left, None) if want else None for want in wanted)))
