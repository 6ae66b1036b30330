"""`benchmark.py` of an export: the playground's way of timing, as a script that needs nothing of it."""

from __future__ import annotations

from ..filling import commented, fill, sequence
from ..plan import Plan

_BENCHMARK = '''\
"""Times @name@ against its reference in plain PyTorch: `python benchmark.py --help`.

In each round both give one sample, in random order, so that slow drifts of the machine meet both alike. A sample is
the mean over as many calls as last 200 µs. Rounds at the start are forgotten: caches, allocators and clocks have to
settle. The speed-up is the median of the ratios within the rounds; the numbers in brackets are quartiles.

Forward runs without autograd. Backward is timed alone, over a graph that was built before: for the gradients of
@wanted@.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from @name@ import @op@
from @name@.reference import SIZES, TOLERANCES, make_inputs, reference

@names@
@gradients@
SAMPLE_SECONDS = 200e-6
FORGOTTEN_ROUNDS = 5
FEWEST_ROUNDS = 8


def draw(size: dict[str, int], dtype: torch.dtype, device: str) -> list[Any]:
    """Make the inputs of one size, which want the gradients that are timed."""
    generator = torch.Generator(device).manual_seed(2019)

    def randn(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=dtype, device=device, generator=generator)

    inputs = list(make_inputs(randn, **size))
    for name, value in zip(INPUTS, inputs, strict=True):
        if name in GRADIENTS and isinstance(value, Tensor):
            value.requires_grad_()
    return inputs


def as_tuple(outputs: Any) -> tuple[Tensor, ...]:
    """Return outputs as a tuple, also when there is but one."""
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


def calls_of(function: Callable[..., Any], inputs: list[Any]) -> dict[str, Callable[[], Any]]:
    """Return what is timed of one function: `forward` and `backward`."""

    def forward() -> Any:
        with torch.no_grad():
            return function(*inputs)

    outputs = [output for output in as_tuple(function(*inputs)) if output.requires_grad]
    incoming = [torch.ones_like(output).contiguous() for output in outputs]
    wanted = [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]

    def backward() -> Any:
        return torch.autograd.grad(outputs, wanted, incoming, retain_graph=True, allow_unused=True)

    return {"forward": forward, "backward": backward}


def compare(size: dict[str, int], dtype: torch.dtype, device: str) -> None:
    """Refuse to time a wrong kernel."""
    inputs = draw(size, dtype, device)
    rtol, atol = TOLERANCES[str(dtype).removeprefix("torch.")]
    ours, theirs = calls_of(@op@, inputs), calls_of(reference, inputs)
    for direction in ours:
        pairs = zip(as_tuple(ours[direction]()), as_tuple(theirs[direction]()), strict=True)
        for got, want in pairs:
            # Both round, each in its own way.
            if want is not None and not torch.allclose(got, want, rtol=4 * rtol, atol=4 * atol):
                off = (got - want).abs().max().item()
                sys.exit(f"@name@ is wrong at {size}, {direction}: off by up to {off:.3g}")


def seconds_of(call: Callable[[], Any], count: int, device: str) -> float:
    """Return the mean time of `count` calls."""
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def rounds_of(calls: dict[str, Callable[[], Any]], seconds: float, device: str) -> dict[str, list[float]]:
    """Time several calls by turns for about `seconds`; return one time a round for each."""
    counts = {}
    for name, call in calls.items():
        call()
        counts[name] = max(1, round(SAMPLE_SECONDS / seconds_of(call, 3, device)))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(samples[order[0]]) < FORGOTTEN_ROUNDS + FEWEST_ROUNDS:
        random.shuffle(order)
        for name in order:
            samples[name].append(seconds_of(calls[name], counts[name], device))
    return {name: times[FORGOTTEN_ROUNDS:] for name, times in samples.items()}


def quartiles(numbers: list[float], form: str) -> str:
    """Write the median with the quartiles."""
    low, middle, high = (format(number, form) for number in statistics.quantiles(numbers, n=4))
    return f"{middle} [{low}, {high}]"


def main() -> None:
    """Read the command line, time all sizes, and print a table."""
    parser = argparse.ArgumentParser(description="Time @name@ against its reference in plain PyTorch.")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each size and direction, about; default: 1")
    parser.add_argument("--dtype", choices=sorted(TOLERANCES), default="float32", help="default: float32")
    parser.add_argument("--device", choices=[@devices@], default="@device@", help="default: @device@")
    options = parser.parse_args()
    dtype = getattr(torch, options.dtype)
    threads = f"{torch.get_num_threads()} threads"
    print(f"torch {torch.__version__}, {threads}, {options.dtype}, {options.device}; times in µs")
    print(f"{'size':<@width@} {'':<9} {'PyTorch':>30} {'@name@':>30} {'speed-up':>22}")
    for size in SIZES:
        compare(size, dtype, options.device)
        inputs = draw(size, dtype, options.device)
        both = {"PyTorch": calls_of(reference, inputs), "@name@": calls_of(@op@, inputs)}
        for direction in ("forward", "backward"):
            calls = {name: calls[direction] for name, calls in both.items()}
            gc.collect()
            gc.disable()
            times = rounds_of(calls, options.seconds, options.device)
            gc.enable()
            columns = [quartiles([1e6 * one for one in times[name]], ".1f") for name in calls]
            where = ", ".join(f"{letter}={number}" for letter, number in size.items())
            columns.append(quartiles([one / other for one, other in zip(*times.values(), strict=True)], ".2f"))
            print("{:<@width@} {:<9} {:>30} {:>30} {:>22}".format(where, direction, *columns))


if __name__ == "__main__":
    main()
'''


def benchmark_py(plan: Plan) -> str:
    """Write `benchmark.py`."""
    inputs = [argument.name for argument in plan.op.signature.inputs]
    gradients = list(plan.op.parameters or (argument.name for argument in plan.op.signature.tensors))
    where = [", ".join(f"{letter}={number}" for letter, number in size.items()) for size in plan.sizes]
    text = fill(
        _BENCHMARK,
        name=plan.name,
        op=plan.op.name,
        wanted=" and ".join(", ".join(f"`{name}`" for name in gradients).rsplit(", ", 1)),
        names=sequence([f'"{name}"' for name in inputs], ahead="INPUTS = ", brackets="()"),
        gradients=sequence([f'"{name}"' for name in gradients], ahead="GRADIENTS = ", brackets="()"),
        devices=", ".join(f'"{device}"' for device in plan.devices),
        device=plan.devices[0],
        width=str(max([len(text) for text in where], default=0) + 1),
    )
    return commented(plan.header, "#") + text
