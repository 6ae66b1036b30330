"""From a one-line edit to a loaded, called kernel: lltm_inline beside plain load_inline and tvm_ffi.cpp.load_inline.

All are timed in this one process, in turns, with the same compilers and the same text. `lltm_inline` has its
precompiled header; plain `load_inline` is called as everybody calls it: no flags, `torch/extension.h` implicit. For
tvm_ffi the text is the fused pass over raw pointers, without the GEMMs, which it has no way to call.

`--before DIR` times the same edits with an earlier commit too, in turns: each side in a process of its own that goes on
between the edits, as a notebook's does. Every second edit is loaded with `trust=True`, which leaves the try-out away.
"""

from __future__ import annotations

import itertools
import math
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
    sides,
)
from tvm_kernel import TVM_FLAGS, TVM_TEXT, tvm_inputs

from lltm_inline.compiling import header
from lltm_inline.compiling.toolchain import find_toolchain


def ours(results: Results, name: str, compiler: str, edits: int, builds: list) -> None:
    """Edit a kernel and call it; the first two edits warm up (bridge, imports, the binding) and are not counted."""
    kernel = li.registry[name]
    for _ in range(edits):
        text = edited(kernel.cpp, fresh())
        inputs = cell_inputs()
        start = time.perf_counter()
        function = li.load(kernel.replace(cpp=text), compiler=compiler, progress=False)
        function(*inputs)
        whole, row = time.perf_counter() - start, f"{name} lltm_inline {compiler}"
        results.add(row, whole)
        assert function.build is not None and not function.build.cached
        steps = function.build.steps
        for made, seconds in steps.items():
            results.add(f"{row}: {made}", seconds)
        results.add(f"{row}: the rest of the build", function.build.seconds - sum(steps.values()))
        results.add(f"{row}: load and call", whole - function.build.seconds)
        builds.append(function.build)


def plain(results: Results, name: str, compiler: str, edits: int, state: str) -> None:
    """Build the same text with plain `load_inline`: cold, or again after an edit under the same name."""
    kernel = li.registry[name]
    for _ in range(edits):
        text = edited(plain_text(kernel), fresh())
        inputs = cell_inputs()
        start = time.perf_counter()
        with environment({"CXX": compiler}):
            module = plain_load(f"plain_{kernel.variant}_{compiler.rstrip('+')}", text)
        module.forward(*inputs)
        results.add(f"{name} plain {compiler} {state}", time.perf_counter() - start)


def tvm(results: Results, compiler: str, edits: int) -> None:
    """Edit and call the raw-pointer kernel with tvm_ffi."""
    import tvm_ffi.cpp

    for _ in range(edits):
        text = TVM_TEXT.replace("// edit", f"[[maybe_unused]] const double edit = {fresh()};")
        inputs = tvm_inputs()
        start = time.perf_counter()
        with environment({"CXX": compiler}):
            module = tvm_ffi.cpp.load_inline(
                "lltm_raw", cpp_sources=text, functions=["forward", "backward"], extra_cflags=TVM_FLAGS
            )
        module.forward(*inputs)
        results.add(f"raw pointers tvm_ffi {compiler}", time.perf_counter() - start)


def verdicts(results: Results, name: str, compiler: str, edits: int) -> None:
    """Edit a kernel and check it: until it is known whether forward is right, and to the end; and the build of an edit alone, in turns.

    The first edit of each begins what the others have: worker, second library, cases.
    """
    kernel = li.registry[name]
    heard: dict[str, float] = {}

    def hear(message: str) -> None:
        heard.setdefault(message.rpartition(": ")[2], time.perf_counter())

    for turn in range(edits + 1):
        start = time.perf_counter()
        li.build(kernel.replace(cpp=edited(kernel.cpp, fresh())), compiler=compiler, progress=False)
        build = time.perf_counter() - start
        heard.clear()
        start = time.perf_counter()
        li.check(
            kernel.replace(cpp=edited(kernel.cpp, fresh())),
            compiler=compiler,
            progress=hear,
        )
        seconds = {
            "the build alone": build,
            "first verdict": heard["interface"] - start,
            "check": time.perf_counter() - start,
        }
        for what, value in seconds.items() if turn else ():
            results.add(f"{name} {compiler}, {what}", value)
    for what, target in (("first verdict", 1.5), ("check", None)):
        results.compare(
            f"{name}, {compiler}: edit until {what} over build",
            f"{name} {compiler}, {what}",
            f"{name} {compiler}, the build alone",
            target,
        )


#: The preludes of the texts that are timed: a precompiled header that is still being made would take their processor time.
PRELUDES = ("aten", "light", "stable")

#: One side of before and after, in a process whose PYTHONPATH leads to it: an edit for each line that comes in.
SIDE = """
import json, re, shutil, sys, time
import torch
import lltm_inline as li
from lltm_inline.compiling import header
from lltm_inline.compiling.toolchain import find_toolchain

inputs = li.registry.ops["lltm"].make_inputs(torch.randn, (3, 17, 5))
li.worker.warm()
for line in sys.stdin:
    name, compiler, trust = json.loads(line)
    for prelude in ("aten", "light", "stable"):
        header.wait(find_toolchain(compiler), prelude)
    kernel = li.registry[name]
    edit = f"[[maybe_unused]] const double edit = {time.time_ns() // 1000};"
    text = re.sub(r"(\\bforward\\s*\\([^{};]*\\{\\n)", lambda found: f"{found[1]}{edit}\\n", kernel.cpp, count=1)
    start = time.perf_counter()
    try:
        function = li.load(kernel.replace(cpp=text), compiler=compiler, progress=False, trust=trust)
    except li.BuildError:  # some earlier commits do not link with clang++ and GNU ld
        print("nan", flush=True)
        continue
    function(*inputs)
    seconds = time.perf_counter() - start
    assert not function.build.cached
    shutil.rmtree(function.build.path.parent)
    print(seconds, flush=True)
"""


def before_and_after(results: Results, before: Path, names: list[str], rounds: int) -> None:
    """Time edits in two checkouts, in turns; the first edit of each kernel and compiler warms up and is not counted."""
    with sides(before, SIDE) as edits:
        for name, compiler in itertools.product(("lltm/fused", "lltm/stable"), names):
            for turn, trust, side in itertools.product(range(rounds + 1), (False, True), edits):
                seconds = edits[side](name, compiler, trust)
                if turn and not math.isnan(seconds):
                    results.add(f"{name} {side}{', trusted' * trust} {compiler}", seconds)
            now, earlier = (f"{name} {side} {compiler}" for side in ("now", "before"))
            results.compare(f"{name}, {compiler}: edit over the same at {before.name}", now, earlier)
            for side in edits:
                whole, build = (f"{name} {side}{more} {compiler}" for more in ("", ", trusted"))
                if whole in results.rows:
                    share = results.median(whole) / results.median(build) - 1
                    results.note(f"{name}, {compiler}: share of the try-out, {side}", max(0.0, share))


def compare(results: Results) -> None:
    """Add the ratios that docs/numbers.md quotes, with their targets."""
    for name in ("lltm/aten", "lltm/fused"):
        for compiler in ("g++", "clang++"):
            row, base = f"{name} lltm_inline {compiler}", f"{name} plain {compiler} edit"
            results.compare(f"{name}, {compiler}: edit over plain edit", row, base, 1 / 16)
        row = f"{name} lltm_inline clang++"
        results.compare(f"{name}, clang++: edit over plain g++ edit", row, f"{name} plain g++ edit", 1 / 30)
    for compiler in compilers():
        row, base = f"lltm/stable lltm_inline {compiler}", f"raw pointers tvm_ffi {compiler}"
        results.compare(f"lltm/stable, {compiler}: edit over tvm_ffi", row, base, 0.45)


def main() -> None:
    """Take the samples in turns and save them."""
    options = arguments(__doc__, before=True)
    quick = options.quick
    results, builds = Results("edit_latency", quick), []
    names = compilers()
    chains = [find_toolchain(compiler) for compiler in names]
    for toolchain in chains:  # all of them start, then all are waited for
        for prelude in PRELUDES:
            header.header_flags(toolchain, prelude)
    for toolchain in chains:
        for prelude in PRELUDES:
            if not header.wait(toolchain, prelude):
                raise SystemExit(
                    f"no precompiled header for {toolchain.version}: is there room in the cache directory?"
                )
    with (
        scratch() as directory,
        environment({"TORCH_EXTENSIONS_DIR": str(directory), "TVM_FFI_CACHE_DIR": str(directory / "tvm")}),
    ):
        warm_up = Results("warm-up", quick, start=results.start)
        for compiler in names:
            for name in ("lltm/aten", "lltm/fused", "lltm/stable"):
                ours(warm_up, name, compiler, 2, builds)
            tvm(warm_up, compiler, 1)
        texts = ("lltm/aten",) if quick else ("lltm/aten", "lltm/fused")
        for name in texts:
            for compiler in names:
                plain(results, name, compiler, 1, "cold")
        for _ in range(1 if quick else 2):
            for compiler in names:
                for name in ("lltm/aten", "lltm/fused"):
                    ours(results, name, compiler, 2, builds)
                    if name in texts:
                        plain(results, name, compiler, 1, "edit")
                for _ in range(3):
                    ours(results, "lltm/stable", compiler, 1, builds)
                    tvm(results, compiler, 1)
        for compiler in names:
            for name in texts:
                verdicts(results, name, compiler, 1 if quick else 4)
        if options.before is not None:
            before_and_after(results, options.before.resolve(), names, 1 if quick else 3)
    forget(builds)
    compare(results)
    results.save()


if __name__ == "__main__":
    main()
