"""This checkout beside an earlier one, in turns: import, a cache hit, a call, a check; edits are in `edit_latency --before`.

`python benchmarks/earlier.py --before DIR`, where DIR was made by `git worktree add DIR COMMIT`. Each side has a process of its
own that goes on between the turns, as a notebook's does; an import is timed in a new process. A ratio below 1 is faster now.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from common import ROOT, Results, arguments

KERNELS = ("axpy/cpp", "lltm/fused", "lltm/stable")

#: What one side times: a line in is the name of a task and of a kernel, a line out the seconds.
SIDE = """
import json, sys, time
import torch
import lltm_inline as li

def inputs(kernel):
    op = li.registry.ops[kernel.partition("/")[0]]
    return op.make_inputs(torch.randn, [3 + n for n in range(len(op.letters))])

def call(kernel):
    function, values = li.load(kernel, progress=False), inputs(kernel)
    function(*values)
    start = time.perf_counter()
    for _ in range(5000):
        function(*values)
    return (time.perf_counter() - start) / 5000

def hit(kernel):
    start = time.perf_counter()
    li.load(kernel, progress=False)
    return time.perf_counter() - start

def check(kernel):
    start = time.perf_counter()
    assert li.check(kernel, progress=False).ok
    return time.perf_counter() - start

tasks = {"call": call, "cache hit": hit, "check": check}
for line in sys.stdin:
    task, kernel = json.loads(line)
    print(tasks[task](kernel), flush=True)
"""

IMPORT = "import time; start = time.perf_counter(); import lltm_inline; print(time.perf_counter() - start)"


def main() -> None:
    """Take the samples in turns and save them."""
    options = arguments(__doc__, before=True)
    if options.before is None:
        raise SystemExit("earlier: name the earlier checkout: --before DIR (git worktree add DIR COMMIT)")
    results, rounds = Results("earlier", options.quick), 2 if options.quick else 7
    trees: dict[str, Path] = {"before": options.before.resolve(), "now": ROOT}
    places = {side: {**os.environ, "PYTHONPATH": str(tree)} for side, tree in trees.items()}
    sides = {
        side: subprocess.Popen(
            [sys.executable, "-c", SIDE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=places[side],
            cwd=tree,
        )
        for side, tree in trees.items()
    }
    for turn in range(rounds + 1):  # the first turn builds, warms up and is not counted
        for side, tree in trees.items():
            done = subprocess.run(
                [sys.executable, "-c", IMPORT], env=places[side], cwd=tree, capture_output=True, text=True, check=True
            )
            if turn:
                results.add(f"import, {side}", float(done.stdout))
        for task in ("call", "cache hit", "check"):
            for kernel in KERNELS:
                for side, process in sides.items():
                    assert process.stdin is not None and process.stdout is not None
                    print(json.dumps([task, kernel]), file=process.stdin, flush=True)
                    seconds = float(process.stdout.readline())
                    if turn:
                        results.add(f"{task} {kernel}, {side}", seconds)
    for process in sides.values():
        process.communicate()
    for row in ["import", *(f"{task} {kernel}" for task in ("call", "cache hit", "check") for kernel in KERNELS)]:
        results.compare(f"{row}: now over {trees['before'].name}", f"{row}, now", f"{row}, before")
    results.save()


if __name__ == "__main__":
    main()
