"""What the autograd wrapper costs per call, over the bare operator, and beside torch's own ways to wrap one.

First LLTM at B = F = S = 1, where computing costs next to nothing; every way calls the same library. Weights and bias
want gradients, as they do in training. Forward alone is the call; forward + backward also runs backward.
Then every kernel of every op at its smallest size: the call through autograd less that of the bare operator. Kernels that
differentiate through ATen have no wrapper: autograd's own work for each of their steps is what is seen there.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from common import Results, arguments, cell_inputs, li
from contest import load_all

from lltm_inline.measure.inputs import wanted

KERNEL = "lltm/fused"


def ways() -> dict[str, Callable[..., Any]]:
    """Wrap one kernel in every way; each takes the op's inputs and returns new_h and new_cell."""
    function = li.load(KERNEL, progress=False)
    kernel, op = function.kernel, function.op
    bare, bare_backward = function._forward, function._backward
    assert bare is not None and bare_backward is not None and function.build is not None
    names = [argument.name for argument in op.signature.inputs]
    outputs = [argument.name for argument in op.signature.outputs]

    def saved(inputs: tuple[Any, ...], results: tuple[Any, ...]) -> list[Any]:
        values = dict(zip([*names, *outputs], [*inputs, *results], strict=False))
        return [*(values[name] for name in kernel.saves), *results[len(outputs) :]]

    class Classic(torch.autograd.Function):
        """The tutorials' way."""

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            results = bare(*inputs)
            ctx.save_for_backward(*saved(inputs, results))
            return results[: len(outputs)]

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return tuple(bare_backward(*gradients, *ctx.saved_tensors, *ctx.needs_input_grad))

    custom = custom_op(bare, bare_backward, saved, len(outputs))
    module = li.nn.LLTM(1, 1, KERNEL)

    def through_module(input: Any, weights: Any, bias: Any, old_h: Any, old_cell: Any) -> Any:
        return module(input, (old_h, old_cell))

    return {
        "li.load": function,
        "Python autograd.Function": Classic.apply,
        "torch.library.custom_op": custom,
        "li.nn.LLTM": through_module,
        "lltm/python (eager)": li.registry["lltm/python"].python,  # type: ignore[dict-item]
    }


def custom_op(bare: Any, bare_backward: Any, saved: Any, count: int) -> Callable[..., Any]:
    """Register the kernel with `torch.library.custom_op` and `register_autograd`."""
    Tensor = torch.Tensor  # the annotations are read by torch, at run time

    def forward(input, weights, bias, old_h, old_cell):  # type: ignore[no-untyped-def]
        return list(bare(input, weights, bias, old_h, old_cell))

    forward.__annotations__ = dict.fromkeys(("input", "weights", "bias", "old_h", "old_cell"), Tensor) | {
        "return": list[Tensor]
    }
    op = torch.library.custom_op("lltm_inline_bench::lltm", forward, mutates_args=())

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*saved(inputs, tuple(output)))

    def backward(ctx: Any, gradients: Any) -> Any:
        d_outputs = [torch.zeros(1, 1) if gradient is None else gradient for gradient in gradients[:count]]
        return tuple(bare_backward(*d_outputs, *ctx.saved_tensors, *ctx.needs_input_grad))

    op.register_autograd(backward, setup_context=setup_context)
    return lambda *inputs: op(*inputs)[:count]


def per_call(call: Callable[[], Any], calls: int) -> float:
    """Return the seconds of one call, the mean over many."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def smallest(op: Any) -> tuple[int, ...]:
    """Return the smallest of a few sizes at which the reference gives something: not every op takes a single element."""
    for size in ((1,) * len(op.letters), (2,) * len(op.letters), op.check_size):
        try:
            op.reference(*op.make_inputs(torch.randn, size))
        except (RuntimeError, ValueError):
            continue
        return size
    raise SystemExit(f"op {op.name!r} fails at 1, 2 and check_size={op.check_size}")


def calls_of_op(op: Any, functions: dict[str, Callable[..., Any]]) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return by label the calls that are compared: bare, through autograd, and the same with a gradient wanted."""
    plain = op.make_inputs(torch.randn, smallest(op))
    names = wanted(op, plain)
    wanting = tuple(
        item.clone().requires_grad_() if argument.name in names else item
        for argument, item in zip(op.signature.inputs, plain, strict=True)
    )
    found: dict[str, dict[str, Callable[[], Any]]] = {}
    for label, function in functions.items():
        bare = function._forward  # type: ignore[attr-defined]
        if bare is None:
            continue  # a Python function: there is nothing beneath it
        found[label] = {
            "bare": lambda bare=bare: bare(*plain),
            "call": lambda function=function: function(*plain),
            "gradient wanted": lambda function=function: function(*wanting),
        }
    return found


def every_op(results: Results, quick: bool) -> None:
    """Time the wrapper of every kernel of every op, in turns within an op, and ask for less than 4 us of each."""
    results.more["notes"], results.more["wrapper_us"] = [], {}
    functions = load_all(list(li.registry.ops.values()), results.more["notes"])
    for op in li.registry.ops.values():
        found = calls_of_op(op, functions[op.name])
        for calls in found.values():
            for call in calls.values():
                per_call(call, 100)
        samples: dict[tuple[str, str], list[float]] = {}
        for _ in range(5 if quick else 25):
            for label, calls in found.items():
                for way, call in calls.items():
                    samples.setdefault((label, way), []).append(per_call(call, 200))
        for label in found:
            function = functions[op.name][label]
            base = statistics.median(samples[label, "bare"])
            cost = {way: (statistics.median(samples[label, way]) - base) * 1e6 for way in ("call", "gradient wanted")}
            own = function.interface is not None and function.interface.has_backward  # type: ignore[attr-defined]
            results.more["wrapper_us"][label] = {"bare": base * 1e6, **cost, "own backward": own}
            for way, value in cost.items():
                if own:
                    results.require(f"{label}: us of the wrapper per forward call, {way}", value, 4.0)


def main() -> None:
    """Time all ways in turns and save the samples."""
    quick = arguments(__doc__).quick
    torch.set_num_threads(1)
    results = Results("call_overhead", quick)
    plain, wanting = cell_inputs((1, 1, 1)), cell_inputs((1, 1, 1), grad=("weights", "bias"))
    found = ways()
    bare = li.load(KERNEL, progress=False)._forward
    assert bare is not None
    calls: dict[str, Callable[[], Any]] = {"forward: bare operator": lambda: bare(*plain)}
    gradient = torch.ones(1, 1)
    for name, way in found.items():
        calls[f"forward: {name}"] = lambda way=way: way(*wanting)
        if name != "li.nn.LLTM":
            calls[f"forward, nothing wants a gradient: {name}"] = lambda way=way: way(*plain)
        calls[f"forward + backward: {name}"] = lambda way=way: torch.autograd.backward(
            way(*wanting), (gradient, gradient)
        )
    for call in calls.values():
        per_call(call, 200)
    gc.disable()
    for _ in range(10 if quick else 40):
        for name, call in calls.items():
            results.rows.setdefault(name, []).append(per_call(call, 200))
    gc.enable()
    base = results.median("forward: bare operator")
    results.require("us of the wrapper per forward call", (results.median("forward: li.load") - base) * 1e6, 4.0)
    without = results.median("forward, nothing wants a gradient: li.load")
    results.require("us of the wrapper when nothing wants a gradient", (without - base) * 1e6, 4.0)
    results.compare(
        "Python autograd.Function over li.load, forward", "forward: Python autograd.Function", "forward: li.load"
    )
    every_op(results, quick)
    results.save()
    for label, cost in results.more["wrapper_us"].items():
        kind = "" if cost["own backward"] else "  (differentiates through ATen)"
        print(
            f"  {label:<22} bare {cost['bare']:6.2f} us, wrapper {cost['call']:5.2f} us, "
            f"with a gradient wanted {cost['gradient wanted']:5.2f} us{kind}"
        )
    print(*(f"  {note}" for note in results.more["notes"]), sep="\n")


if __name__ == "__main__":
    main()
