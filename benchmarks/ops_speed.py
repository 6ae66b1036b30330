"""Every kernel of every op beside its reference in eager PyTorch and torch.compile of it, forward and forward + backward.

Each round gives one sample of every contestant, in random order; ratios are taken within rounds and come with a 99 %
interval (see `lltm_inline.measure.stats`). Every output and gradient is compared with the reference first. A large
copy takes its turns with the elementwise ops at a size far beyond the cache: its bytes a second are the yardstick.
`python benchmarks/ops_speed.py --op axpy trace` measures some ops only; docs/speed.md is written when all are measured.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from common import ROOT, Results, arguments, li, seconds
from contest import COMPILED, DIRECTIONS, EAGER, calls_of, compiled, in_turns, load_all, warm
from speed_table import markdown

from lltm_inline.errors import CheckError
from lltm_inline.measure import machine
from lltm_inline.measure.audit import Auditor
from lltm_inline.measure.inputs import Ring
from lltm_inline.measure.stats import quartiles, ratio

PAGE = ROOT / "docs" / "speed.md"
#: Elements of each tensor where bandwidth is measured: 28 MiB of float32. The C library asks the system for blocks of 32 MiB
#: and more anew each time, page by page, which takes longer than any of these kernels and would be all that is measured.
LARGE = 7 * 2**20
SHARE = 0.70
#: Ops whose fastest kernel is to reach that share. The others take several passes, or more arithmetic than a copy hides.
AT_BANDWIDTH = ("axpy", "d_sigmoid", "complex_abs2", "lltm")
#: Seconds that the whole run may take; cases get less time each when torch.compile has used up much of it.
BUDGET = 400.0

#: Kernels that are slower on purpose, with what they give for it.
TRADES = {"conv_bn/fused": "computes the convolution a second time: it trades time for memory"}


def contest(op: Any, size: tuple[int, ...], kernels: dict[str, Callable[..., Any]], notes: list[str]) -> Iterator[Any]:
    """Yield direction and calls of all contestants at one size, compared and warm."""
    ring = Ring(op, size, dtype=torch.float32, device="cpu", seed=2019)
    where = f"{op.name} {', '.join(f'{letter}={n}' for letter, n in op.named(size).items())}"
    auditor = Auditor(op, ring, where, gradients=True)
    for name, function in list(kernels.items()):
        try:
            auditor.before(name, function, times=1)
        except CheckError as error:
            notes.append(f"FAILED: {str(error).partition(chr(10))[0]}")
            del kernels[name]
    sets = ring.refill(min(4, ring.capacity))
    contestants = {EAGER: op.reference, COMPILED: compiled(op), **kernels}
    calls = {name: calls_of(function, ring, sets) for name, function in contestants.items()}
    warm(calls, notes, where)
    for direction in DIRECTIONS[: 1 + bool(ring.names)]:
        yield direction, {name: found[direction] for name, found in calls.items()}


class Purse:
    """Shares out what is left of a time among the cases that are left.

    Args:
        total: seconds.
        cases: how many there will be.
        most: seconds that one case may get.
    """

    def __init__(self, total: float, cases: int, most: float) -> None:
        self._ends, self._cases, self._most = time.perf_counter() + total, cases, most

    def next(self) -> float:
        """Return the seconds of the next case: half of its share, since comparing and compiling take the other half."""
        left = (self._ends - time.perf_counter()) / max(self._cases, 1) / 2
        self._cases -= 1
        return min(self._most, max(left, self._most / 8))


def measure_op(results: Results, op: Any, kernels: dict[str, Callable[..., Any]], purse: Purse, quick: bool) -> None:
    """Time all contestants at all sizes of an op, and keep medians and ratios."""
    peak = machine.peak(torch.float32, "cpu")
    for size in sizes_of(op, quick):
        for direction, calls in contest(op, size, kernels, results.more["notes"]):
            samples = in_turns(calls, purse.next())
            rivals = [name for name in (EAGER, COMPILED) if name in samples]
            best = min(rivals, key=lambda name: quartiles(samples[name])[1])
            for name, times in samples.items():
                low, middle, high = quartiles(times)
                row = {"op": op.name, "size": op.named(size), "direction": direction, "name": name, "median": middle}
                row |= {"q1": low, "q3": high, "rounds": len(times), **limit(op, size, direction, middle, peak)}
                if name not in rivals:
                    row |= {f"over {rival}": ratio(samples[rival], times) for rival in rivals}
                    row["better of two"] = best
                results.more["cells"].append(row)
            show(results.more["cells"][-len(samples) :])


def sizes_of(op: Any, quick: bool) -> tuple[tuple[int, ...], ...]:
    """Return the op's benchmark sizes, or the first of them."""
    return tuple(op.benchmark_sizes[: 1 if quick else None])


def limit(op: Any, size: tuple[int, ...], direction: str, median: float, peak: machine.Peak) -> dict[str, Any]:
    """Say which share of the machine's own copy or GEMM speed a time is, by what the op declares."""
    if op.cost is None:
        return {}
    cost = op.cost(4, **op.named(size))
    parts = ("forward",) if direction == "forward" else ("forward", "backward")
    bytes_, flops = (sum(getattr(cost, f"{part}_{what}") for part in parts) for what in ("bytes", "flops"))
    share, bound = max((bytes_ / median / peak.copy, "copy"), (flops / median / peak.gemm, "GEMM"))
    return {"share": share, "bound by": bound}


def show(rows: list[dict[str, Any]]) -> None:
    """Print one size and direction."""
    first = rows[0]
    print(f"{first['op']} {' '.join(f'{k}={n}' for k, n in first['size'].items())}, {first['direction']}", flush=True)
    for row in rows:
        text = ""
        if "better of two" in row:
            middle, low, high = row[f"over {row['better of two']}"]
            text = f"{middle:5.2f}x ({low:.2f}-{high:.2f}) {row['better of two']}" if low else f"{middle:5.2f}x"
        print(f"  {row['name']:<22} {seconds(row['median']):>9}  {text}".rstrip(), flush=True)


def measure_bandwidth(
    results: Results, op: Any, kernels: dict[str, Callable[..., Any]], spend: float, count: int
) -> None:
    """Compare the bytes a second of an elementwise op with those of a copy of as many bytes, in turns."""
    size = (count,)
    ring = Ring(op, size, dtype=torch.float32, device="cpu", seed=2019)
    sets = ring.refill(4)
    cost = op.cost(4, **op.named(size))
    for direction in DIRECTIONS[: 1 + bool(ring.names)]:
        moved = cost.forward_bytes + (cost.backward_bytes if direction != "forward" else 0)
        source = torch.ones(int(moved / 8))
        target = torch.empty_like(source)
        calls = {name: calls_of(function, ring, sets)[direction] for name, function in kernels.items()}
        samples = in_turns(
            {"copy": partial(target.copy_, source), EAGER: calls_of(op.reference, ring, sets)[direction], **calls},
            spend,
        )
        for name, times in samples.items():
            if name != "copy":
                keep_share(results, op.name, f"N={count}", direction, name, ratio(samples["copy"], times), moved, times)


def keep_share(
    results: Results, op: str, size: str, direction: str, name: str, share: Any, moved: float, times: list[float]
) -> None:
    """Keep what part of the copy's bandwidth a kernel reached."""
    rate = moved / quartiles(times)[1]
    row = {"op": op, "size": size, "direction": direction, "name": name, "share": share, "bytes per second": rate}
    results.more["bandwidth"].append(row)
    print(f"  {name:<22} {rate / 1e9:6.1f} GB/s, {share[0]:.0%} of a copy  ({op} {size}, {direction})", flush=True)


def measure_lltm_pass(results: Results, function: Callable[..., Any], spend: float, size: tuple[int, int, int]) -> None:
    """Find the bandwidth of the elementwise pass inside lltm/fused: the kernel's time less that of its two GEMMs.

    The pass reads the gates (B, 3S) and old_cell and writes the activations in their place, new_cell and new_h.
    """
    B, _, S = size
    input, weights, bias, old_h, old_cell = li.registry.ops["lltm"].make_inputs(torch.randn, size)
    moved = 4.0 * B * S * (3 + 1 + 3 + 1 + 1)
    source = torch.ones(int(moved / 8))
    target = torch.empty_like(source)

    def gemms() -> torch.Tensor:
        return torch.mm(old_h, weights[:, :S].t()).addmm_(input, weights[:, S:].t())

    calls = {"copy": partial(target.copy_, source), "GEMMs": gemms}
    calls["all"] = partial(function, input, weights, bias, old_h, old_cell)
    with torch.no_grad():
        samples = in_turns(calls, spend)
    own = [max(whole - part, 1e-9) for whole, part in zip(samples["all"], samples["GEMMs"], strict=True)]
    where = f"B={B} F={size[1]} S={S}"
    share = ratio(samples["copy"], own)
    keep_share(results, "lltm", where, "forward, elementwise pass", "lltm/fused", share, moved, own)


def judge(results: Results) -> None:
    """Add what is asked of the figures: nothing measurably slower than the better of two, and 70 % of a copy."""
    for row in results.more["cells"]:
        text = (
            row["name"] in TRADES or li.registry.get(row["name"]) is None or li.registry[row["name"]].python is not None
        )
        if text or "better of two" not in row:
            continue
        middle, _, high = row[f"over {row['better of two']}"]
        where = " ".join(f"{letter}={n}" for letter, n in row["size"].items())
        name = f"{row['name']} {where}, {row['direction']}: speed-up over {row['better of two']}, upper end of its interval"
        results.require(name, high or middle, 1.0, at_least=True)
    best: dict[tuple[str, str], Any] = {}
    for row in results.more["bandwidth"]:
        key = row["op"], row["direction"]
        if (
            row["op"] in AT_BANDWIDTH
            and row["name"] != EAGER
            and row["share"][0] > best.get(key, {"share": [0.0]})["share"][0]
        ):
            best[key] = row
    for row in best.values():
        name = f"{row['name']} {row['size']}, {row['direction']}: share of the bandwidth of a copy"
        results.require(name, row["share"][0], SHARE, at_least=True)


def main() -> int:
    """Measure every op, save the figures, and write the page."""
    given = arguments(__doc__, ops=True)
    random.seed(2019)
    torch.manual_seed(2019)
    results = Results("ops_speed", given.quick)
    results.more |= {"notes": [], "cells": [], "bandwidth": [], "trades": TRADES}
    ops = [li.registry.ops[name] for name in given.op]
    kernels = load_all(ops, results.more["notes"])
    spend, started = 0.15 if given.quick else 1.2, time.perf_counter()
    purse = Purse(BUDGET, sum(2 * len(sizes_of(op, given.quick)) for op in ops), spend)
    gc.disable()
    for op in ops:
        measure_op(results, op, kernels[op.name], purse, given.quick)
        gc.collect()
    for op in ops:
        if op.cost is not None and op.letters == ("N",) and op.any_rank:
            measure_bandwidth(results, op, kernels[op.name], spend, LARGE // (64 if given.quick else 1))
            gc.collect()
    if "lltm/fused" in kernels.get("lltm", {}):
        measure_lltm_pass(results, kernels["lltm"]["lltm/fused"], spend, (1024 if given.quick else 16384, 8, 128))
    gc.enable()
    judge(results)
    results.more["seconds"] = time.perf_counter() - started
    results.more["flags"] = " ".join(li.build("lltm/fused", progress=False).flags)
    path = results.save()
    print(*(f"  {note}" for note in results.more["notes"]), sep="\n")
    page = path.with_suffix(".md") if given.quick or len(ops) < len(li.registry.ops) else PAGE
    page.write_text(markdown(path), encoding="utf-8")
    print(f"  -> {page.relative_to(ROOT)}")
    return any(note.startswith("FAILED") for note in results.more["notes"])


if __name__ == "__main__":
    sys.exit(main())
