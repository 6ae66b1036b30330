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
TEXT = r"""
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#line 1 "lltm/fused"
double* volatile nowhere = nullptr;
double* volatile nonsense = reinterpret_cast<double*>(0x4141414141414141);
void (*volatile no_function)() = nullptr;
volatile int zero = 0;
volatile double sink;

static inline void poke(double* place) {
  *place = 1;  // null_write
}
extern "C" void null_write() { poke(nowhere); }
extern "C" void null_read() {
  sink = nowhere[3];  // null_read
}
extern "C" void read_past() {
  const size_t page = 4096;
  auto* room = static_cast<double*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(room + page / 8, page, PROT_NONE);
  for (volatile size_t i = 0; i <= page / 8; ++i) sink = room[i];  // read_past
}
extern "C" void nonsense_write() {
  *nonsense = 1;  // nonsense_write
}
extern "C" void divide() {
  sink = 7 / zero;  // divide
}
__attribute__((noinline)) int deeper(volatile int* level) {
  volatile int here[64];
  here[*level % 64] = *level + 1;
  return deeper(here + *level % 64) + here[0];  // recurse
}
extern "C" void recurse() {
  volatile int level = 1;
  sink = deeper(&level);
}
extern "C" void big_array() {
  volatile char big[64 << 20];
  big[zero] = 1;  // big_array
}
extern "C" void aborts() {
  std::abort();  // aborts
}
extern "C" void asserts() {
  assert(zero == 1);  // asserts
}
extern "C" void frees_twice() {
  void* volatile block = std::malloc(24);
  std::free(block);
  std::free(block);  // frees_twice
  sink = 1;
}
extern "C" void throws_noexcept() noexcept {
  throw std::runtime_error("thrown in noexcept");  // throws_noexcept
}
extern "C" void throws_number() noexcept {
  throw 42;  // throws_number
}
extern "C" void throws_text() noexcept {
  throw "a text";  // throws_text
}
extern "C" void throws_in_thread() {
  std::thread([] {
    throw std::out_of_range("thrown in a thread");  // throws_in_thread
  }).join();
}
extern "C" void forgets_join() {
  std::thread thread([] { sleep(60); });
}  // forgets_join
extern "C" void crashes_in_threads() {
  std::thread threads[8];
  std::atomic<int> ready{0};
  for (auto& thread : threads) {
    thread = std::thread([&] {
      for (++ready; ready < 8;) {}
      *nowhere = 1;  // crashes_in_threads
    });
  }
  for (auto& thread : threads) thread.join();
}
extern "C" void exits() {
  std::exit(0);  // exits
}
extern "C" void exits_with_3() {
  std::atexit([] { std::printf("its own end"); });
  std::exit(3);  // exits_with_3
}
extern "C" void exits_quickly() {
  std::quick_exit(5);  // exits_quickly
}
extern "C" void leaves() { _exit(3); }
extern "C" void copies() {
  std::memset(nowhere, 1, 1 << 20 | zero);  // copies
  sink = 1;
}
extern "C" void calls_null() {
  no_function();  // calls_null
  sink = 1;
}
extern "C" void traps() {
  __builtin_trap();  // traps
}
extern "C" void smashes_stack() {
  char small[16];
  volatile char* volatile place = small;
  for (int i = 0; i < 4096 + zero; ++i) place[i] = 0x41;
}  // smashes_stack
extern "C" void prints() {
  std::printf("whole line\nhalf a line");
  *nowhere = 1;  // prints
}
extern "C" void child_crashes() {
  if (const pid_t child = fork()) {
    waitpid(child, nullptr, 0);
  } else {
    *nowhere = 1;
  }
}
extern "C" void child_exits() {
  if (const pid_t child = fork()) {
    waitpid(child, nullptr, 0);
  } else {
    std::exit(4);
  }
}
extern "C" void loops(volatile char* stop) {
  while (!*stop) ++zero;  // loops
}
extern "C" void stands(volatile char* stop) {
  if (!*stop) {
    while (true) {}  // stands
  }
}
extern "C" void waits() {
  std::mutex mutex;
  mutex.lock();
  mutex.lock();  // waits
}
struct Region {
  char name[96], dtype[16];
  uint64_t base, nbytes, itemsize;
  int64_t ndim, shape[8];
};
extern "C" int find(uintptr_t address, Region* region) {
  *region = {"weights", "float64", address - 48, 48, 8, 2, {2, 3}};
  return 1;
}
extern "C" int find_nothing(uintptr_t, Region*) { return 0; }
extern "C" int find_and_crash(uintptr_t, Region*) {
  *nowhere = 1;
  return 1;
}
"""

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
box = BlackBox.open(int(box))
installed = Recorder(recorder, box)
box.note("forward", "lltm/fused@2", "case", ("x (7,) float64",))
loaded = ctypes.CDLL(library)
if finder:
    installed.set_finder(getattr(loaded, finder))
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
