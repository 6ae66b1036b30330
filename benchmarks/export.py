"""An exported `lltm/fused`: what writing it costs, how fast it is once installed, and what its import adds to torch's.

The export is installed with pip into a fresh virtual environment that shares this interpreter's packages (torch is not
installed again), and imported from there: by new processes of that environment, in turns with `import torch`, and by this
process, where the installed function and the playground's own take turns within each round, in random order. The
playground's own takes part twice, under two names: the ratio of the two is what noise alone makes of a comparison.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from common import Results, arguments, li, scratch, timed_python
from contest import calls_of, in_turns
from lltm_speed import compare_results

from lltm_inline.measure.inputs import Ring
from lltm_inline.measure.stats import ratio

KERNEL, NAME = "lltm/fused", "lltm_fused"
SMALLEST = (1, 1, 1)
OWN, AGAIN, INSTALLED = "the playground's", "the playground's, once more", "installed"

IMPORT = """
import json, time
start = time.perf_counter()
import {module}
print(json.dumps({{"seconds": time.perf_counter() - start}}))
"""

FIRST_EXPORT = """
import json, time
import torch
import lltm_inline as li
start = time.perf_counter()
li.export({kernel!r}, {to!r}, check=False)
print(json.dumps({{"seconds": time.perf_counter() - start}}))
"""


def environment(directory: Path) -> tuple[Path, Path]:
    """Make a virtual environment that shares this interpreter's packages; return its Python and where packages go.

    Python reads the .pth file and puts each directory that it lists at the end of sys.path. Of .pth files in those
    directories it takes no notice, so an editable install of lltm_inline is not importable there.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    (packages,) = directory.glob("lib/python*/site-packages")
    shared = [path for path in sys.path if path.endswith("-packages")]
    (packages / "shared.pth").write_text("\n".join(shared) + "\n")
    return directory / "bin" / "python", packages


def outside(python: Path, *words: str) -> str:
    """Run a Python of the environment with nothing of this repository in sight, and return what it printed."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run([str(python), *words], env=variables, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


def install(python: Path, project: Path) -> float:
    """Install an export with pip, and return the seconds that it took."""
    start = time.perf_counter()
    outside(python, "-m", "pip", "install", "--no-build-isolation", "--no-deps", str(project))
    return time.perf_counter() - start


def first_import(python: Path, module: str) -> float:
    """Return the seconds that an import takes in a new process of the environment."""
    return float(json.loads(outside(python, "-P", "-c", IMPORT.format(module=module)))["seconds"])


def time_export(results: Results, directory: Path, quick: bool) -> None:
    """Time `li.export`: in this process, and the first one in new processes, which also imports what it needs."""
    li.export(KERNEL, directory / "warm", check=False)
    for number in range(5 if quick else 25):
        start = time.perf_counter()
        li.export(KERNEL, directory / f"again-{number}", check=False)
        results.add("li.export", time.perf_counter() - start)
    for number in range(2 if quick else 7):
        code = FIRST_EXPORT.format(kernel=KERNEL, to=str(directory / f"first-{number}"))
        results.rows.setdefault("li.export, first in a process", []).append(timed_python(code)["seconds"])
    results.require("seconds of li.export", results.median("li.export"), 0.2)
    results.require("seconds of the first li.export in a process", results.median("li.export, first in a process"), 0.2)


def time_import(results: Results, python: Path, quick: bool) -> None:
    """Time the first import in new processes of the environment, in turns."""
    modules = ("torch", NAME)  # the package imports torch
    for module in modules:
        first_import(python, module)  # fills the file cache and writes the byte code
    for number in range(6 if quick else 15):
        for module in modules if number % 2 else reversed(modules):
            results.rows.setdefault(f"import {module}", []).append(first_import(python, module))
    results.compare(f"import {NAME} over import torch", f"import {NAME}", "import torch", 1.2)


def time_calls(results: Results, installed: Callable[..., Any], quick: bool) -> None:
    """Time the installed function against the playground's own, in both directions, at the op's sizes and the smallest."""
    own, op = li.load(KERNEL, progress=False), li.registry.ops["lltm"]
    functions: dict[str, Callable[..., Any]] = {OWN: own, AGAIN: own, INSTALLED: installed}
    gc.disable()
    for size in (SMALLEST, *op.benchmark_sizes):
        compare_results({"lltm/python": op.reference, **functions}, size)
        # All take the same tensors: where a tensor happens to lie in memory can change the time of a small GEMM by half.
        ring = Ring(op, size, dtype=torch.float32, device="cpu")
        sets = ring.refill(4)
        ready = {name: calls_of(function, ring, sets) for name, function in functions.items()}
        for direction in ready[OWN]:
            calls = {name: found[direction] for name, found in ready.items()}
            samples = in_turns(calls, 0.5 if quick else 6)
            results.rows |= {f"{size} {direction}: {name}": times for name, times in samples.items()}
            compare(results, size, direction, samples)
    gc.enable()


def compare(results: Results, size: tuple[int, ...], direction: str, samples: dict[str, list[float]]) -> None:
    """Note the ratios within rounds, with their intervals: of the installed one, and of the playground's own to itself."""
    where = f"{size} {direction}"
    found = {name: ratio(samples[name], samples[OWN]) for name in (INSTALLED, AGAIN)}  # above 1: slower than OWN
    for name, (middle, low, high) in found.items():
        entry = {"where": where, "what": name, "over": OWN, "ratio": middle, "low": low, "high": high}
        results.more.setdefault("comparisons", []).append(entry)
    if size == SMALLEST:  # nothing is computed: a ratio would only compare two ways in
        more = statistics.median(samples[INSTALLED]) - statistics.median(samples[OWN])
        results.require(f"{where}: us that a call of the installed one takes longer", more * 1e6, 2.0)
    else:
        results.require(f"{where}: installed over the playground's", found[INSTALLED][0], 1.05)


def main() -> None:
    """Export, install, import and time, and save the samples."""
    quick = arguments(__doc__).quick
    random.seed(2019)
    results = Results("export", quick)
    with scratch() as directory:
        time_export(results, directory, quick)
        python, packages = environment(directory / "environment")
        results.add("pip install", install(python, li.export(KERNEL, directory / "project", check=False).path))
        time_import(results, python, quick)
        sys.path.append(str(packages))
        time_calls(results, importlib.import_module(NAME).lltm, quick)
    results.more["flags"] = " ".join(li.build(KERNEL, progress=False).flags)
    results.save()
    for entry in results.more["comparisons"]:
        interval = "" if entry["low"] is None else f" ({entry['low']:.3f} to {entry['high']:.3f})"
        print(f"  {entry['where']}: {entry['what']} takes {entry['ratio']:.3f}x{interval} the time of {entry['over']}")


if __name__ == "__main__":
    main()
