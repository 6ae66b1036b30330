"""What it costs a check that races are found: the loads and stores of a text are followed, in a second library of it.

From an edit to the report of `li.check`, and once more after `li.build` of the edit, as a click on Check after one on Build; with the
follower and without, in turns. The second library is compiled beside the first one, on another processor.
"""

from __future__ import annotations

import itertools
from typing import Any

from common import Results, arguments, compilers, edited, forget, fresh, li
from worker import timed

from lltm_inline.compiling import header
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.run import built

KERNELS = ("lltm/fused", "axpy/cpp")
WAYS = {"followed": built.follower_job, "not followed": lambda job: None}


def check(label: str, compiler: str, way: str, *, after_build: bool) -> tuple[float, Any]:
    """Edit a kernel and check it; return the seconds of the check, and what was built."""
    built.follower_job = WAYS[way]
    kernel = li.registry[label]
    kernel = kernel.replace(cpp=edited(kernel.cpp, fresh()))
    before = li.build(kernel, compiler=compiler, progress=False) if after_build else None
    seconds, report = timed(li.check, kernel, compiler=compiler, progress=False)
    assert report.ok, report
    return seconds, before or li.build(kernel, compiler=compiler, progress=False)


def main() -> None:
    """Take the samples in turns and save them."""
    quick = arguments(__doc__).quick
    results, builds = Results("followed", quick), []
    for compiler in compilers():
        for prelude in ("aten", "light"):
            header.wait(find_toolchain(compiler), prelude)
    for compiler, label in itertools.product(compilers(), KERNELS):
        for number, way, after in itertools.product(range(3 if quick else 7), WAYS, (False, True)):
            seconds, build = check(label, compiler, way, after_build=after)
            builds.append(build)
            if number > 1:  # the first ones make what all share
                results.add(f"{label} {compiler}, {'after a build' if after else 'edit and check'}, {way}", seconds)
        for what, most in (("edit and check", 1.3), ("after a build", None)):
            rows = (f"{label} {compiler}, {what}, {way}" for way in WAYS)
            results.compare(f"{label}, {compiler}, {what}: followed over not followed", *rows, most)
    forget(builds)
    results.save()


if __name__ == "__main__":
    main()
