"""Graph convolution on this CPU: PyTorch, a C++ extension as a tutorial writes it, and the kernels, in turns.

A tutorial of this layer found its C++ extension 2.9 times slower than plain PyTorch (78.8 s against 27.5 s). `TEXT` is an
extension of that kind, built as everybody builds one, and called from a `torch.autograd.Function`. It is timed as it
is, and with one thing after the other mended, so that the difference of two rows is what that thing costs:

    all gradients, a x again    backward makes all four gradients, and multiplies a x out once more for d_w
    all gradients               forward keeps a x
    all gradients, -O3          compiled with optimisation, which plain `load_inline` leaves out
    wanted gradients            backward is told what is wanted: here d_w and d_b, as in the first layer of a network

The products with a are timed alone, too. Forward runs without autograd, forward + backward takes the gradients of w and b.
Each round gives one sample of every entrant, in random order; everything is compared with the reference first.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from typing import Any

import torch
from common import Results, arguments, li, scratch
from torch.autograd.function import once_differentiable

from lltm_inline.measure.stats import ratio

OP = li.registry.ops["graph_conv"]
#: The last is the tutorial's case: many more nodes than outputs, so that the products with a are all that counts.
TUTORIAL = (1024, 256, 16)
SIZES = (*OP.benchmark_sizes, TUTORIAL)
REFERENCE = "graph_conv/python"
OTHER_ORDER = "a @ (x @ w) + b"
COMPILED = "torch.compile"
FUSED = "graph_conv/fused"
SAMPLE_SECONDS = 1e-3

TEXT = r"""
#include <torch/extension.h>

std::vector<torch::Tensor> forward(torch::Tensor a, torch::Tensor x, torch::Tensor w, torch::Tensor b) {
  auto neighbours = torch::mm(a, x);
  return {torch::mm(neighbours, w) + b, neighbours};
}

std::vector<torch::Tensor> backward(
    torch::Tensor d_y, torch::Tensor a, torch::Tensor x, torch::Tensor w, torch::Tensor neighbours,
    std::vector<bool> wanted) {
  torch::Tensor d_a, d_x, d_w, d_b;
  if (wanted[0] || wanted[1]) {
    auto d_neighbours = torch::mm(d_y, w.t());
    if (wanted[0]) d_a = torch::mm(d_neighbours, x.t());
    if (wanted[1]) d_x = torch::mm(a.t(), d_neighbours);
  }
  if (wanted[2]) d_w = torch::mm(neighbours.t(), d_y);
  if (wanted[3]) d_b = d_y.sum(0);
  return {d_a, d_x, d_w, d_b};
}
"""


def build_text(name: str, *flags: str) -> Any:
    """Build and import the text with plain `load_inline`."""
    from torch.utils.cpp_extension import load_inline

    with scratch() as directory:
        return load_inline(
            name=name,
            cpp_sources=[TEXT],
            functions=["forward", "backward"],
            extra_cflags=list(flags),
            build_directory=str(directory),
        )


def extension(library: Any, *, all_gradients: bool, again: bool = False) -> Callable[..., Any]:
    """Wrap the text in a Function, as tutorials do."""

    class Extension(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, x: Any, w: Any, b: Any) -> Any:
            y, neighbours = library.forward(a, x, w, b)
            ctx.save_for_backward(a, x, w, *([] if again else [neighbours]))
            return y

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, d_y: Any) -> Any:
            a, x, w, *kept = ctx.saved_tensors
            neighbours = kept[0] if kept else a.mm(x)
            wanted = (True,) * 4 if all_gradients else ctx.needs_input_grad
            return tuple(library.backward(d_y, a, x, w, neighbours, wanted))

    return Extension.apply


def entrants() -> dict[str, Callable[..., Any]]:
    """Build and load everything that is compared, by name."""
    li.build(["graph_conv/aten", FUSED], progress=False)
    plain, optimised = build_text("graph_conv_plain"), build_text("graph_conv_optimised", "-O3", "-march=native")
    reference = OP.reference
    return {
        REFERENCE: reference,
        OTHER_ORDER: lambda a, x, w, b: a @ (x @ w) + b,
        COMPILED: torch.compile(reference, dynamic=False),
        "extension, all gradients, a x again": extension(plain, all_gradients=True, again=True),
        "extension, all gradients": extension(plain, all_gradients=True),
        "extension, all gradients, -O3": extension(optimised, all_gradients=True),
        "extension, wanted gradients": extension(plain, all_gradients=False),
        **{f"graph_conv/{name}": li.load(f"graph_conv/{name}") for name in ("function", "aten", "fused")},
    }


def inputs(size: tuple[int, int, int]) -> tuple[list[Any], Any]:
    """Make one set of inputs, of which w and b want a gradient, and a gradient of y."""
    values = OP.make_inputs(torch.randn, size)
    named = zip(OP.signature.inputs, values, strict=True)
    return [value.requires_grad_(argument.name in OP.parameters) for argument, value in named], torch.randn(
        size[0], size[2]
    )


def calls_of(function: Callable[..., Any], sets: list[tuple[list[Any], Any]]) -> dict[str, Callable[[], Any]]:
    """Return one call for each direction; inputs change from call to call, so nothing can be kept."""
    turn = iter(lambda: random.randrange(len(sets)), -1)

    def forward() -> Any:
        with torch.no_grad():
            return function(*sets[next(turn)][0])

    def both() -> Any:
        values, d_y = sets[next(turn)]
        return torch.autograd.grad(function(*values), values[2:], d_y)

    return {"forward": forward, "forward + backward": both}


def products_of(size: tuple[int, int, int], sets: list[tuple[list[Any], Any]]) -> dict[str, Callable[[], Any]]:
    """Return the products with a large factor, each alone: what forward needs, and what nobody wants."""
    a, x, w, _ = [value.detach() for value in sets[0][0]]
    d_y = sets[0][1]
    d_neighbours, narrow = d_y @ w.t(), x @ w
    return {
        "a x": lambda: a @ x,
        "d_a = (d_y w^T) x^T": lambda: d_neighbours @ x.t(),
        "d_x = a^T (d_y w^T)": lambda: a.t() @ d_neighbours,
        "a (x w), the second factor ready": lambda: a @ narrow,
    }


def compare_results(functions: dict[str, Callable[..., Any]], size: tuple[int, int, int]) -> None:
    """Stop if an entrant is wrong: y and the gradients of w and b against the reference's."""
    values, d_y = inputs(size)
    want: list[torch.Tensor] = []
    for name, function in functions.items():
        y = function(*values)
        got = [y, *torch.autograd.grad(y, values[2:], d_y)]
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


def in_turns(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """Take samples of all calls, one of each in every round, in random order."""
    numbers = {}
    for name, call in calls.items():
        sample(call, 3)
        numbers[name] = max(1, min(200, int(SAMPLE_SECONDS / sample(call, 3))))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends or len(next(iter(samples.values()))) < 9:
        order = list(calls)
        random.shuffle(order)
        for name in order:
            samples[name].append(sample(calls[name], numbers[name]))
    return samples


def record(results: Results, size: tuple[int, int, int], direction: str, samples: dict[str, list[float]]) -> None:
    """Keep the samples, and the speedup of each entrant over each thing that PyTorch offers, with its interval."""
    for name, times in samples.items():
        results.rows[f"{size} {direction}: {name}"] = times
        for base in (REFERENCE, OTHER_ORDER, COMPILED):
            if base in samples and name not in (REFERENCE, base):
                middle, low, high = ratio(samples[base], times)
                entry = {"size": size, "direction": direction, "kernel": name, "over": base}
                results.more.setdefault("speedups", []).append({**entry, "ratio": middle, "low": low, "high": high})


def main() -> None:
    """Measure every size and save the samples."""
    quick = arguments(__doc__).quick
    random.seed(2019)
    torch.manual_seed(2019)
    results = Results("graph_conv", quick)
    functions = entrants()
    seconds = 0.3 if quick else 2.0
    gc.disable()
    for size in SIZES:
        torch.compiler.reset()
        compare_results(functions, size)
        sets = [inputs(size) for _ in range(4)]
        ready = {name: calls_of(function, sets) for name, function in functions.items()}
        for direction in ("forward", "forward + backward"):
            record(results, size, direction, in_turns({name: ready[name][direction] for name in ready}, seconds))
    for name, times in in_turns(products_of(TUTORIAL, sets), seconds).items():
        results.rows[f"{TUTORIAL} product alone: {name}"] = times
    gc.enable()
    results.more["flags"] = " ".join(li.build(FUSED, progress=False).flags)
    speedups = results.more["speedups"]
    for entry in speedups:
        if entry["kernel"] == FUSED and entry["direction"] == "forward + backward":
            results.require(
                f"{entry['size']} {FUSED} over {entry['over']}, forward + backward", 1 / entry["ratio"], 1.0
            )
    slower = {
        entry["kernel"]: 1 / entry["ratio"]
        for entry in speedups
        if (entry["size"], entry["direction"], entry["over"]) == (TUTORIAL, "forward + backward", REFERENCE)
    }
    results.more["tutorial"] = slower
    results.save()
    print(f"  forward + backward at {TUTORIAL}, as a multiple of PyTorch's time:")
    for name, value in slower.items():
        print(f"    {value:5.2f}  {name}")


if __name__ == "__main__":
    main()
