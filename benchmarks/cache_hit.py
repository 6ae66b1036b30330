"""Going back to an earlier text, and starting again: no compiler runs, and a hit costs milliseconds.

The compiler is a script that writes a line to a log and then runs the real one, so that no run goes unseen.
"""

from __future__ import annotations

import os
import shlex
import shutil
import time
from pathlib import Path

from common import (
    Results,
    arguments,
    cell_inputs,
    compilers,
    edited,
    environment,
    forget,
    fresh,
    li,
    plain_load,
    plain_text,
    scratch,
    timed_python,
)

AGAIN = """
import json, sys, time
import torch, torch.utils.cpp_extension
sys.path.insert(0, {benchmarks!r})
from common import li, plain_load
texts = json.load(open({texts!r}))
times = {{}}
li.registry["lltm/aten"], li.load  # imports are not what is timed
for name, text in texts["ours"].items():
    kernel = li.registry[name].replace(cpp=text)
    start = time.perf_counter()
    build = li.build(kernel, compiler={compiler!r}, progress=False)
    times[name] = time.perf_counter() - start
    assert build.cached, name
start = time.perf_counter()
plain_load("plain_hit", texts["plain"])
times["plain"] = time.perf_counter() - start
print(json.dumps(times))
"""


def logging_compiler(directory: Path, compiler: str) -> Path:
    """Write a compiler that logs each run; its name ends as the real one's does."""
    path = directory / compiler
    real = shutil.which(compiler)
    assert real is not None
    path.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(directory / "log"))}\nexec {shlex.quote(real)} "$@"\n')
    path.chmod(0o755)
    return path


def runs(directory: Path) -> list[str]:
    """Return the compilations among the logged runs; questions for the version are none."""
    log = directory / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line for line in lines if " -c " in f" {line} " or "-shared" in line or "c++-header" in line]


def main() -> None:
    """Build A, B and A again, in this process and in a new one, and count the compiler's runs."""
    import json

    quick = arguments(__doc__).quick
    results = Results("cache_hit", quick)
    compiler = compilers()[-1]
    with scratch() as directory, environment({"TORCH_EXTENSIONS_DIR": str(directory), "LLTM_INLINE_NO_HEADER": "1"}):
        logged = str(logging_compiler(directory, compiler))
        number, builds, texts = fresh(), [], {}
        for name in ("lltm/aten", "lltm/fused", "lltm/stable"):
            kernel = li.registry[name]
            texts[name] = edited(kernel.cpp, number)
            a, b = kernel.replace(cpp=texts[name]), kernel.replace(cpp=edited(kernel.cpp, number + 1))
            builds += [li.build(a, compiler=logged, progress=False), li.build(b, compiler=logged, progress=False)]
            before = len(runs(directory))
            for _ in range(20):
                start = time.perf_counter()
                hit = li.build(a, compiler=logged, progress=False)
                results.add(f"{name} A -> B -> A, a hit", time.perf_counter() - start)
                assert hit.cached
            results.require(f"{name} A -> B -> A: compiler runs", len(runs(directory)) - before, 0)
        plain = edited(plain_text(li.registry["lltm/aten"]), number)
        with environment({"CXX": logged}):
            plain_load("plain_hit", plain).forward(*cell_inputs())
            for _ in range(20):
                start = time.perf_counter()
                plain_load("plain_hit", plain)
                results.add("lltm/aten plain, unchanged", time.perf_counter() - start)
        texts_file = directory / "texts.json"
        texts_file.write_text(json.dumps({"ours": texts, "plain": plain}))
        before = len(runs(directory))
        code = AGAIN.format(benchmarks=str(Path(__file__).resolve().parent), texts=str(texts_file), compiler=logged)
        for _ in range(2 if quick else 5):
            for name, seconds in timed_python(code, CXX=logged).items():
                results.add(
                    "lltm/aten plain, new process" if name == "plain" else f"{name} new process, a hit", seconds
                )
        results.require("new process: compiler runs", len(runs(directory)) - before, 0)
        forget(builds)
    for name in texts:
        results.require(f"{name}: seconds of a hit", results.median(f"{name} A -> B -> A, a hit"), 0.020)
        results.require(
            f"{name}: seconds of a hit in a new process", results.median(f"{name} new process, a hit"), 0.020
        )
    results.more["compiler"] = os.path.basename(logged)
    results.save()


if __name__ == "__main__":
    main()
