"""Kernels that take a process down, hang it, fill it or lie in it: the rows of the table in docs/crashes.md."""

from __future__ import annotations

from lltm_inline.workers.limits import Limits
from tests.planted.crash_memory import LIES, OVERRUNS, PLACES
from tests.planted.crash_row import GOOD, Row, forward, register

__all__ = ["GOOD", "GROUPS", "ROWS", "Row", "register"]

_SHORT = Limits(seconds=1.0)
_SMALL = Limits(memory=128 * 2**20)
_TINY = Limits(memory=32 * 2**20)
_ENDLESS = "volatile unsigned long turns = 0;\nhappens();\nfor (;;) turns = turns + 1;  // here"

_ENDINGS = (
    Row(
        "aborts",
        "calls abort()",
        forward("happens();\nstd::abort();  // here"),
        ("dies of SIGABRT",),
        what=("SIGABRT (abort)",),
        cause=("abort() was called",),
    ),
    Row(
        "exits",
        "calls exit(0)",
        forward("happens();\nstd::exit(0);  // here"),
        ("ends with exit status 0",),
        what=("exit(0)",),
        cause=("ends the process with exit()",),
    ),
    Row(
        "exits_at_once",
        "calls _exit(3)",
        forward("happens();\n_exit(3);"),
        ("ends with exit status 3",),
        what=("_exit(3)",),
        cause=("ends the process at once",),
    ),
    Row(
        "terminates",
        "calls std::terminate()",
        forward("happens();\nstd::terminate();  // here"),
        ("dies of SIGABRT",),
        headers=("exception",),
        what=("std::terminate",),
        cause=("terminate()",),
    ),
    Row(
        "throws",
        "throws std::runtime_error",
        forward('happens();\nif (x.dim() < 9) throw std::runtime_error("no such luck");'),
        ("goes on with RuntimeError",),
        headers=("stdexcept",),
        said="RuntimeError",
        what=("no such luck",),
    ),
    Row(
        "throws_c10_error",
        "throws c10::Error",
        forward('happens();\nTORCH_CHECK(x.dim() > 9, "nine axes, please");'),
        ("goes on with RuntimeError",),
        headers=("c10/util/Exception.h",),
        said="RuntimeError",
        what=("nine axes, please",),
    ),
    Row(
        "throws_an_int",
        "throws an int",
        forward("happens();\nif (x.dim() < 9) throw 42;"),
        ("goes on with RuntimeError",),
        said="RuntimeError",
        what=("unknown", "no std::exception (an int, a string)"),
    ),
    Row(
        "throws_in_a_thread",
        "throws std::runtime_error in a thread of its own",
        forward(
            """
happens();
std::thread([] { throw std::runtime_error("nobody catches me"); }).join();  // here
"""
        ),
        ("dies of SIGABRT",),
        headers=("stdexcept", "thread"),
        what=("std::runtime_error", "nobody catches me"),
        cause=("on another thread",),
    ),
)

_HANGS = (
    Row(
        "endless_loop",
        "loops without end",
        forward(_ENDLESS),
        ("hangs",),
        limits=_SHORT,
        what=("time-out after 1 s",),
        cause=("endless loop",),
    ),
    Row(
        "endless_loop_with_the_gil",
        "loops without end and holds the GIL",
        forward(
            f"PyGILState_Ensure();\n{_ENDLESS}",
            '\nextern "C" [[gnu::weak]] int PyGILState_Ensure();  // as under pybind11, but with fewer headers\n',
        ),
        ("hangs",),
        limits=_SHORT,
        what=("time-out after 1 s",),
        cause=("endless loop",),
    ),
    Row(
        "deadlock",
        "locks a mutex that it holds",
        forward("static std::mutex mutex;\nmutex.lock();\nhappens();\nmutex.lock();  // here"),
        ("hangs",),
        headers=("mutex",),
        limits=_SHORT,
        what=("time-out after 1 s",),
        cause=("mutex that is locked twice",),
    ),
)

_APPETITES = (
    Row(
        "ten_times_the_limit",
        "allocates ten times the limit",
        forward(
            """
happens();
volatile char* volatile block = new char[1280u << 20];
for (unsigned i = 0; i < 1280u << 20; i += 4096) block[i] = 'A';
delete[] block;
"""
        ),
        ("takes more than 1 GiB",),
        limits=_SMALL,
        what=("memory", "128 MiB"),
        cause=("allocation",),
    ),
    Row(
        "many_small_blocks",
        "allocates small blocks without end",
        forward(
            """
happens();
for (;;) {
  volatile char* volatile block = new char[4096];
  block[0] = 'A';
}
"""
        ),
        ("takes more than 1 GiB",),
        limits=_TINY,
        what=("memory", "32 MiB"),
        cause=("allocation",),
    ),
    Row(
        "malloc_unchecked",
        "takes blocks from malloc() without end, and never tests the pointer",
        forward(
            """
for (;;) {
  volatile char* volatile block = static_cast<volatile char*>(std::malloc(65536));
  if (!block) happens();
  for (int i = 0; i < 65536; i += 4096) block[i] = 'A';  // here
}
"""
        ),
        ("takes more than 1 GiB",),
        limits=_TINY,
        what=("SIGSEGV", "null pointer"),
        cause=("an allocation has just failed",),
    ),
    Row(
        "fork_bomb",
        "forks, in three generations",
        forward("happens();\nfor (int depth = 0; depth < 3; ++depth) fork();"),
        ("goes on as 8 processes",),
        what=("it left", "child process"),
        cause=("forks",),
    ),
    Row(
        "burst",
        "prints 1 GiB",
        forward(
            """
static char block[1 << 20];
for (char& letter : block) letter = 'A';
happens();
for (int i = 0; i < 1024; ++i) {
  for (ssize_t done = 0, count; done < (1 << 20); done += count) {
    count = write(1, block + done, (1 << 20) - done);  // here
    if (count < 0) return Tensor();
  }
}
"""
        ),
        ("goes on, and prints 1024 MiB",),
        what=("too much output: more than 64 MiB",),
        cause=("prints inside a loop",),
    ),
)

_SIGNALS = (
    Row(
        "killed",
        "is killed from outside while it works (SIGKILL)",
        forward(_ENDLESS.replace("  // here", "")),
        ("dies of SIGKILL",),
        what=("SIGKILL (killed from outside)",),
        cause=("outside",),
        signal="SIGKILL",
    ),
    Row(
        "stopped",
        "is stopped from outside while it works (SIGSTOP)",
        forward(_ENDLESS.replace("  // here", "").replace("turns + 1", "turns + 2")),
        ("stands still",),
        what=("SIGSTOP (stopped from outside)",),
        cause=("outside",),
        signal="SIGSTOP",
    ),
    Row(
        "interrupted",
        "works while the notebook's Stop button is pressed (SIGINT)",
        forward(_ENDLESS.replace("  // here", "").replace("turns + 1", "turns + 3")),
        ("hangs",),
        said="KeyboardInterrupt",
        what=("the worker was stopped",),
        signal="SIGINT",
    ),
)

#: The rows of the table, by what they have in common.
GROUPS = {
    "It touches memory that is not its own": OVERRUNS,
    "It ends the process, or throws": _ENDINGS,
    "It never comes back": _HANGS,
    "It takes more than it may": _APPETITES,
    "Somebody outside ends or stops it": _SIGNALS,
    "It computes, but does not do what it should": LIES,
    "It crashes at one place only": PLACES,
}
#: The rows by name.
ROWS = {row.name: row for group in GROUPS.values() for row in group}
