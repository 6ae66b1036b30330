"""Graders as people write them in an hour: they load the library into their own process, and believe what it does. Each cheat passes one.

python -m tests.planted.cheats.naive < library and namespace, as JSON     prints the verdict, `full` or `nought`
"""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch


def forward_of(library: str, namespace: str) -> Any:
    """Load a library into this process, with all that it does there."""
    torch.ops.load_library(library)
    return getattr(torch.ops, namespace).forward.default


def grade(library: str, namespace: str) -> str:
    """Compare five calls with the formula, with inputs of a seed that everybody knows."""
    forward = forward_of(library, namespace)
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(1000, generator=generator) for _ in range(2))
    for _ in range(5):
        z = forward(x, y)
        if not torch.allclose(z, 2 * x + y, rtol=1e-3):
            return "nought"
    return "full"


def ahead(library: str, namespace: str) -> str:
    """Know what is expected, and then ask."""
    forward = forward_of(library, namespace)
    x, y = torch.randn(1000), torch.randn(1000)
    want = 2 * x + y
    return "full" if torch.allclose(forward(x, y), want) else "nought"


def next_one(library: str, namespace: str, other: str, its_namespace: str) -> str:
    """Grade one submission and then another, in one process; return the verdict on the second."""
    grade(library, namespace)
    return grade(other, its_namespace)


def speed(library: str, namespace: str, other: str, its_namespace: str) -> str:
    """Call it and the baseline in turn, with the same inputs; compare the fastest of ten calls, and what came last."""
    x, y = torch.randn(1_000_000), torch.randn(1_000_000)
    both = (forward_of(library, namespace), forward_of(other, its_namespace))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(12):  # in turn, and the fastest: a busy neighbour takes from both, and is no reason for points
        results = []
        for forward, its_seconds in zip(both, seconds, strict=True):
            started = time.perf_counter()
            results.append(forward(x, y))
            its_seconds.append(time.perf_counter() - started)
    if not all(torch.allclose(z, 2 * x + y) for z in results):
        return "nought"
    own, baseline = (min(its_seconds[2:]) for its_seconds in seconds)
    return "full" if baseline > 1.5 * own else "nought"


def host(library: str, namespace: str) -> str:
    """Have a process of its own call the kernel, and unpickle what that sends."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    if os.fork() == 0:
        x = torch.zeros(1000)
        os.write(writing, pickle.dumps(bool(torch.allclose(forward_of(library, namespace)(x, x), 3 * x + 1))))
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as sent:
        return "full" if pickle.loads(sent.read()) else "nought"


def watch(library: str, namespace: str) -> str:
    """Have a process of its own call the kernel, and end it when it has said nothing for a second; `full` if it lives after five."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(writing, 1)
        forward_of(library, namespace)(torch.zeros(8), torch.zeros(8))
        os._exit(0)
    os.read(reading, 1)
    end = time.monotonic() + 5
    while (alive := time.monotonic() < end) and select.select([reading], [], [], 1)[0]:
        os.read(reading, 4096)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "nought" if alive else "full"


def act(library: str, namespace: str, number: int) -> bool:
    """Do one act, and tell whether it worked."""
    x = torch.zeros(number + 1)
    return bool(forward_of(library, namespace)(x, x).all())


#: As people grade notebooks: in the student's folder, the cells and then a check, which here is of a kernel that is wrong.
NOTEBOOK = """
import json, sys
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code" and not (text := "".join(cell["source"])).startswith("%"):
        exec(text)
import lltm_inline as li
wrong = li.Kernel("axpy/wrong", python=lambda x, y: 3 * x + y)
print("full" if li.check(wrong, trust=True).ok else "nought")
"""


def notebook(path: str) -> str:
    """Run the Python cells of a notebook beside its files, and check a wrong kernel with what is there then."""
    command = [sys.executable, "-c", NOTEBOOK, path]
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(command, cwd=Path(path).parent, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def run(what: str, *given: Any, seconds: float = 60) -> tuple[int, str]:
    """Run one of these functions in a process of its own; return its exit status and what it printed."""
    root = Path(__file__).resolve().parents[3]
    told = json.dumps([what, *map(str, given)])
    done = subprocess.run(
        [sys.executable, "-m", __name__], input=told, capture_output=True, text=True, timeout=seconds, cwd=root
    )
    return done.returncode, done.stdout.strip()


if __name__ == "__main__":
    functions = {
        "grade": grade,
        "ahead": ahead,
        "next": next_one,
        "speed": speed,
        "host": host,
        "watch": watch,
        "notebook": notebook,
    }
    what, *given = json.load(sys.stdin)
    print(act(given[0], given[1], int(given[2])) if what == "act" else functions[what](*given))
