"""What the panel shows beside its verbs: the machine code of a kernel that is built, and what is wrong with one that is typed."""

from __future__ import annotations

import time

from common import Results, arguments, compilers, li

from lltm_inline.compiling import header
from lltm_inline.compiling.front_end import FrontEnd
from lltm_inline.compiling.job import make_job
from lltm_inline.compiling.toolchain import find_toolchain

KERNELS = ("axpy/cpp", "lltm/aten", "lltm/fused")
#: Seconds that a person may wait; the browser waits 0.2 s for another key before it asks for marks.
ASSEMBLY, MARKS = 0.3, {"g++": 1.8, "clang++": 0.8}


def main() -> None:
    """Time both for each compiler, with a library and a precompiled header that are there."""
    quick = arguments(__doc__).quick
    results = Results("panel", quick)
    for compiler in compilers():
        toolchain = find_toolchain(compiler)
        for name in KERNELS:
            kernel, front_end = li.registry[name], FrontEnd()
            job = make_job(kernel, toolchain)
            li.build(kernel, compiler=compiler, progress=False)
            assert job.prelude is not None and header.wait(toolchain, job.prelude)
            code, marks = f"{name} by {compiler}: machine code", f"{name} by {compiler}: marks"
            for _ in range(3 if quick else 15):
                start = time.perf_counter()
                assert li.assembly(kernel, compiler=compiler, progress=False).routines
                results.add(code, time.perf_counter() - start)
                start = time.perf_counter()
                assert front_end.read(job, front_end.ask()) == ()
                results.add(marks, time.perf_counter() - start)
            results.require(f"{code}, seconds", results.median(code), ASSEMBLY)
            results.require(f"{marks}, seconds", results.median(marks), MARKS[compiler])
    results.save()


if __name__ == "__main__":
    main()
