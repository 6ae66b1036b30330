"""Processes that die of a kernel: a library with a way to die per function, and a child that calls one of them.

The child imports no torch, which makes it thirty times faster; it gets the black box as a file descriptor, as a worker does.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lltm_inline.autopsy.symbolize import Place, symbolize
from lltm_inline.compiling import toolchain
from lltm_inline.workers.black_box import BlackBox, Evidence

ROOT = Path(__file__).resolve().parents[3]

#: `// name` stands at the line that is to be named.
TEXT = Path(__file__).with_name("dying.cpp").read_text()

#: A library that dies while it is loaded.
INITIALISER = """
double* volatile nowhere = nullptr;
#line 1 "lltm/fused"
static double first = [] {
  return *nowhere = 1;  // initialiser
}();
"""

#: Lets a program import the modules of the worker without all that the packages around them import; argument 1 is the root.
PREAMBLE = """
import sys, types
for name in ("lltm_inline", "lltm_inline.native", "lltm_inline.run", "lltm_inline.workers"):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [sys.argv[1] + "/" + name.replace(".", "/")]
from lltm_inline.compiling import toolchain
from lltm_inline.workers.black_box import BlackBox
"""

_CHILD = (
    PREAMBLE
    + """
import ctypes, mmap, os
from lltm_inline.workers.black_box import Recorder

recorder, library, function, finder, box, stop = sys.argv[2:]
libc, earlier = ctypes.CDLL(None), b"what was there before is taken down"
if function.startswith("exits"):
    libc.__cxa_atexit(ctypes.cast(libc.puts, ctypes.c_void_p), ctypes.c_char_p(earlier), None)
box = BlackBox(int(box))
installed = Recorder(recorder, box)
box.note("forward", "lltm/fused@2", "case", ("x (7,) float64",))
loaded = ctypes.CDLL(library)
if finder:
    installed.set_finder(ctypes.cast(getattr(loaded, finder), ctypes.c_void_p).value)
print("loaded", flush=True)
flag = mmap.mmap(int(stop), 1)
getattr(loaded, function)(ctypes.byref(ctypes.c_char.from_buffer(flag)))
box.beat()
print("went on", flush=True)
os._exit(0)
"""
)


def line_of(mark: str, text: str = TEXT) -> int:
    """Return the line, as `#line` counts, that ends in `// mark`."""
    lines = text[text.index("#line 1") :].splitlines()
    return next(number for number, line in enumerate(lines) if line.endswith(f"// {mark}"))


def compile_library(text: str, path: Path, compiler: str = "g++") -> Path:
    """Compile a text as kernels are, optimised and with lines."""
    flags = ["-std=c++20", "-O3", *toolchain._DEBUG, "-fno-stack-protector", "-w", "-fPIC", "-shared", "-pthread"]
    source = path.with_suffix(".cpp")
    source.write_text(text)
    subprocess.run([compiler, *flags, source.name, "-o", path], cwd=path.parent, check=True)
    source.unlink()  # as a build leaves nothing of its workspace
    return path


@dataclass(frozen=True)
class Child:
    """A process that calls one function of a library, with its death recorded."""

    process: subprocess.Popen[str]
    box: BlackBox
    library: Path
    stop: mmap.mmap

    def end(self, timeout: float = 60) -> Death:
        """Wait for its end."""
        out, err = self.process.communicate(timeout=timeout)
        evidence = self.box.evidence()
        places = symbolize(evidence.frames, self.library) if evidence else []
        return Death(self.process.returncode, out, err, evidence, places, self.box.read().beats)


@dataclass(frozen=True)
class Death:
    """How the child ended, and what the black box says about it."""

    code: int
    out: str
    err: str
    evidence: Evidence | None
    places: list[Place] = field(default_factory=list)
    beats: int = 0


@contextmanager
def child(recorder: Path, library: Path, function: str, finder: str = "") -> Iterator[Child]:
    """Start a child; it is killed at the end if it still lives."""
    stop = os.memfd_create("stop")
    os.ftruncate(stop, 1)
    with BlackBox.create() as box, mmap.mmap(stop, 1) as flag:
        arguments = [ROOT, recorder, library, function, finder, box.fileno(), stop]
        process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=(box.fileno(), stop),
        )
        os.close(stop)
        try:
            yield Child(process, box, library, flag)
        finally:
            process.kill()
            process.communicate()
