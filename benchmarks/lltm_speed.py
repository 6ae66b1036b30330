"""LLTM on this CPU: the reference, torch.compile of it, and the kernels, in turns.

Forward runs without autograd; forward + backward takes the gradients of weights and bias, for random gradients of both
outputs. Each round gives one sample of every kernel, in random order; ratios are taken within rounds (see
`lltm_inline.measure.stats`). Every output and gradient is compared with the reference first.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from typing import Any

import torch
from common import TEXTS, Results, arguments, cell_inputs, li

from lltm_inline.measure.stats import ratio

SIZES = ((16, 32, 128), (64, 1024, 128), (1, 64, 64), (16, 64, 64), (256, 64, 64), (4096, 64, 64))
COMPILED = "torch.compile"
REFERENCE = "lltm/python"
SAMPLE_SECONDS = 1e-3


def kernels() -> dict[str, Callable[..., Any]]:
    """Load everything that is compared, by name."""
    reference = li.registry[REFERENCE].python
    assert reference is not None
    li.build(list(TEXTS), progress=False)
    return {
        REFERENCE: reference,
        **{name: li.load(name, progress=False) for name in TEXTS},
        COMPILED: torch.compile(reference, dynamic=False),
    }


def calls_of(function: Callable[..., Any], size: tuple[int, int, int]) -> dict[str, Callable[[], Any]]:
    """Return one call for each direction; inputs change from call to call, so nothing can be kept."""
    torch.manual_seed(2019)
    rings = [cell_inputs(size, grad=("weights", "bias")) for _ in range(4)]
    gradients = torch.randn(size[0], size[2]), torch.randn(size[0], size[2])
    turn = iter(lambda: random.randrange(4), -1)

    def forward() -> Any:
        with torch.no_grad():
            return function(*rings[next(turn)])

    def both() -> Any:
        inputs = rings[next(turn)]
        return torch.autograd.grad(function(*inputs), inputs[1:3], gradients)

    return {"forward": forward, "forward + backward": both}


def compare_results(functions: dict[str, Callable[..., Any]], size: tuple[int, int, int]) -> None:
    """Stop if a kernel is wrong: outputs and gradients against the reference's."""
    inputs = cell_inputs(size, grad=("weights", "bias"))
    gradients = torch.randn(size[0], size[2]), torch.randn(size[0], size[2])
    want: list[torch.Tensor] = []
    for name, function in functions.items():
        outputs = function(*inputs)
        got = [*outputs, *torch.autograd.grad(outputs, inputs[1:3], gradients)]
        want = want or got
        for one, other in zip(got, want, strict=True):
            atol = 1e-3 * float(other.detach().abs().max())
            torch.testing.assert_close(one, other, rtol=1e-3, atol=atol, msg=f"{name} is wrong at {size}")


def sample(call: Callable[[], Any], number: int) -> float:
    """Return the seconds of one call, the mean over a few."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def measure(
    results: Results, functions: dict[str, Callable[..., Any]], size: tuple[int, int, int], seconds: float
) -> None:
    """Time all kernels at one size, in both directions."""
    ready = {name: calls_of(function, size) for name, function in functions.items()}
    for direction in ("forward", "forward + backward"):
        calls = {name: found[direction] for name, found in ready.items()}
        numbers = {}
        for name, call in calls.items():
            sample(call, 3)
            numbers[name] = max(1, min(200, int(SAMPLE_SECONDS / sample(call, 3))))
        samples: dict[str, list[float]] = {name: [] for name in calls}
        ends = time.perf_counter() + seconds
        while time.perf_counter() < ends or len(samples[REFERENCE]) < 9:
            order = list(calls)
            random.shuffle(order)
            for name in order:
                samples[name].append(sample(calls[name], numbers[name]))
        record(results, size, direction, samples)


def record(results: Results, size: tuple[int, int, int], direction: str, samples: dict[str, list[float]]) -> None:
    """Keep the samples and the ratios with their intervals."""
    for name, times in samples.items():
        results.rows[f"{size} {direction}: {name}"] = times
        for base in (REFERENCE, COMPILED):
            if name not in (REFERENCE, base):
                middle, low, high = ratio(samples[base], times)
                results.more.setdefault("speedups", []).append(
                    {
                        "size": size,
                        "direction": direction,
                        "kernel": name,
                        "over": base,
                        "ratio": middle,
                        "low": low,
                        "high": high,
                    }
                )


def main() -> None:
    """Measure every size and save the samples."""
    quick = arguments(__doc__).quick
    random.seed(2019)
    results = Results("lltm_speed", quick)
    functions = kernels()
    gc.disable()
    for size in SIZES:
        torch.compiler.reset()
        compare_results(functions, size)
        measure(results, functions, size, 0.3 if quick else 1.5)
    gc.enable()
    results.more["flags"] = " ".join(li.build("lltm/fused", progress=False).flags)
    speedups = results.more["speedups"]
    for entry in speedups:
        if entry["kernel"] == "lltm/fused" and entry["direction"] == "forward + backward":
            results.require(
                f"{entry['size']} lltm/fused over {entry['over']}, forward + backward", 1 / entry["ratio"], 1.0
            )
    results.save()
    for entry in speedups:
        interval = "" if entry["low"] is None else f" ({entry['low']:.2f}-{entry['high']:.2f})"
        print(
            f"  {entry['size']} {entry['direction']}: {entry['kernel']} is {entry['ratio']:.2f}x{interval} {entry['over']}"
        )


if __name__ == "__main__":
    main()
