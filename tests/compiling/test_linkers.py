"""Each compiler with each linker: what every kernel needs is linked and loaded, with plain GNU ld above all."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from lltm_inline.compiling.compiler import run_jobs
from lltm_inline.compiling.job import Job, helper_job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import BuildError
from tests.needs import need

#: A Debian has bfd alone.
LINKERS = ("bfd", "gold", "lld", "mold")
#: A library of ours in a process that has torch, as it is when a kernel is loaded; every name is looked up at once.
LOAD = "import ctypes, os, sys, torch; [ctypes.CDLL(path, os.RTLD_NOW) for path in sys.argv[1:]]"


def linked_by(job: Job, linker: str) -> Job:
    """Have a job of ours linked by a linker, in place of the one that it would be given."""
    kept = [flag for flag in job.toolchain.ldflags if not flag.startswith("-fuse-ld=")]
    return replace(job, toolchain=replace(job.toolchain, ldflags=(*kept, f"-fuse-ld={linker}")))


@pytest.mark.full
@pytest.mark.parametrize(
    ("compiler", "linker"),
    [(compiler, linker) for compiler in ("g++", "clang++") for linker in LINKERS],
)
def test_what_kernels_need_links_and_loads(compiler: str, linker: str) -> None:
    """Bridge, guard and recorder have no name that a linker refuses, or that the interpreter with torch does not have."""
    need(compiler, f"ld.{linker}")
    chosen = find_toolchain(compiler)
    jobs = [linked_by(helper_job(name, chosen), linker) for name in ("bridge", "guard", "recorder")]
    paths = [str(build.path) for build in run_jobs(jobs, False)]
    done = subprocess.run([sys.executable, "-c", LOAD, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_text_of_ours_is_nobody_elses_fault() -> None:
    """Where a helper does not compile, the message says so, and gives no advice about a text that the user has not written."""
    job = Job("autograd bridge", "int f() { return missing; }", None, {}, find_toolchain())
    with pytest.raises(
        BuildError, match=r"^the autograd bridge, a part of lltm_inline that kernels need, .*no kernel is at fault"
    ) as error:
        run_jobs([job], False)
    assert "missing" in str(error.value) and not error.value.diagnostics and "Write its body" not in str(error.value)
