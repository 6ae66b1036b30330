"""What the autograd wrapper costs per call, over the bare operator, and beside torch's own ways to wrap one.

The kernel is LLTM at B = F = S = 1, where computing costs next to nothing; every way calls the same library. Weights
and bias want gradients, as they do in training. Forward alone is the call; forward + backward also runs backward.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import torch
from common import Results, arguments, cell_inputs, li

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
    results.save()


if __name__ == "__main__":
    main()
