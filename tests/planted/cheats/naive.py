"""A grader as people write it in an hour: it loads the library into its own process and compares a few calls. Each cheat passes it.

python -m tests.planted.cheats.naive < library and namespace, as JSON     prints the verdict, `full` or `nought`
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import torch


def grade(library: str, namespace: str) -> str:
    """Compare five calls with the formula, with inputs of a seed that everybody knows."""
    torch.ops.load_library(library)
    forward = getattr(torch.ops, namespace).forward.default
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(1000, generator=generator) for _ in range(2))
    for _ in range(5):
        z = forward(x, y)
        if not torch.allclose(z, 2 * x + y, rtol=1e-3):
            return "nought"
    return "full"


def act(library: str, namespace: str, number: int) -> bool:
    """Do one act, and tell whether it worked."""
    torch.ops.load_library(library)
    x = torch.zeros(number + 1)
    return bool(getattr(torch.ops, namespace).forward.default(x, x).all())


def run(what: str, path: Path, namespace: str, number: int = 0, seconds: float = 60) -> tuple[int, str]:
    """Run one of these functions in a process of its own; return its exit status and what it printed."""
    given = json.dumps([what, str(path), namespace, number])
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-m", __name__], input=given, capture_output=True, text=True, timeout=seconds, cwd=root
    )
    return done.returncode, done.stdout.strip()


if __name__ == "__main__":
    what, library, namespace, number = json.load(sys.stdin)
    print(grade(library, namespace) if what == "grade" else act(library, namespace, number))
