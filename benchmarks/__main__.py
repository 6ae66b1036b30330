"""Runs every benchmark, each in a process of its own: `python -m benchmarks [--quick]`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

SCRIPTS = (
    "import_time",
    "worker",
    "followed",
    "watching",
    "call_overhead",
    "export",
    "lltm_speed",
    "ops_speed",
    "cuda_cpu",
    "graph_conv",
    "training",
    "memory",
    "cache_hit",
    "edit_latency",
    "first_build",
    "from_load_inline",
    "panel",
    "lab",
    "browser_loop",
)


def main() -> int:
    """Run all scripts, also after one of them failed, and return 1 if any did."""
    failed = []
    for name in SCRIPTS:
        started = time.perf_counter()
        script = Path(__file__).with_name(f"{name}.py")
        if subprocess.run([sys.executable, str(script), *sys.argv[1:]]).returncode:
            failed.append(name)
        print(f"  ({time.perf_counter() - started:.0f} s)\n", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
