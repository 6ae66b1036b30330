"""This checkout beside an earlier one, in turns: import, a cache hit, a call, a check; edits are in `edit_latency --before`.

`python benchmarks/earlier.py --before DIR`, where DIR was made by `git worktree add DIR COMMIT`. Each side has a process of its
own that goes on between the turns, as a notebook's does; an import is timed in a new process. A ratio below 1 is faster now.
"""

from __future__ import annotations

from common import Results, arguments, sides

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

#: The other side, which never imports anything itself: each task is a new Python.
IMPORT = """
import subprocess, sys

code = "import time; start = time.perf_counter(); import lltm_inline; print(time.perf_counter() - start)"
for line in sys.stdin:
    subprocess.run([sys.executable, "-c", code], check=True)
"""

#: What is timed: an import names no kernel.
TASKS = [("import", ""), *((task, kernel) for task in ("call", "cache hit", "check") for kernel in KERNELS)]


def main() -> None:
    """Take the samples in turns and save them."""
    options = arguments(__doc__, before=True)
    if options.before is None:
        raise SystemExit("earlier: name the earlier checkout: --before DIR (git worktree add DIR COMMIT)")
    before = options.before.resolve()
    results, rounds = Results("earlier", options.quick), 2 if options.quick else 7
    with sides(before, SIDE) as ask, sides(before, IMPORT) as import_:
        for turn in range(rounds + 1):  # the first turn builds, warms up and is not counted
            for task, kernel in TASKS:
                for side in ask:
                    seconds = ask[side](task, kernel) if kernel else import_[side]()
                    if turn:
                        results.add(f"{task} {kernel}, {side}", seconds)
    for task, kernel in TASKS:
        row = f"{task} {kernel}"
        results.compare(f"{row}: now over {before.name}", f"{row}, now", f"{row}, before")
    results.save()


if __name__ == "__main__":
    main()
