"""The likely cause of what happened, in one sentence with the cure where there is one, as tables of rules over what is known.

The first rule of a table that applies has the word; the last one of each table applies always.
"""

from __future__ import annotations

import re

from ..base.arguments import plural
from .addresses import amount
from .facts import HEAP_WORDS, NULL_ZONE, Facts, Rule, always, dies_of, ended, first, in_any, prints
from .happened import COMPUTES, INPUTS, LOCKS, OUTPUTS, SLEEPS, WAITS

_SEGV_ACCERR, _FPE_INTDIV, _BUS_ADRALN = 2, 1, 1
_VECTORS = r"Vectorized<|\b_mm\d*_|\b__m(?:128|256|512)|\bvld1|\bvst1"
_ALLOCATOR = (
    *("malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "malloc_consolidate"),
)
_EXCEPTION = "throw std::runtime_error or use TORCH_CHECK instead: that becomes a Python exception"
_DESTRUCTOR = "no exception may leave a destructor: do what can fail in a function, before"
_HEAP = (
    "the heap's own data were overwritten: something wrote past the end or before the start of a block from malloc or "
    "new, perhaps in an earlier call; if the block belongs to a tensor, the section `safety` of li.check names the write"
)
#: How an allocation that failed is printed.
_REFUSED = r"bad_alloc|[Cc]annot allocate|can't allocate|not enough memory"
_SENDERS = ("raise", "kill", "pthread_kill", "tgkill")


def cause_of(facts: Facts) -> str:
    """Name the likely cause and, where there is one, the cure.

    Args:
        facts: everything that is known.

    Returns:
        One sentence, without the full stop.
    """
    return first(_CAUSES, facts)


def _loop_with_equals(facts: Facts) -> bool:
    """Tell whether the loop around the line of the crash is a `for` with `<=`."""
    if facts.place is None:
        return False
    above = facts.sources.get(facts.place.file, "").split("\n")[: facts.place.line][-6:]
    near = next((line for line in reversed(above) if re.search(r"\bfor\s*\(", line)), "")
    return bool(re.search(r"\bfor\s*\([^;]*;[^;]*<=", near))


def _elements(facts: Facts) -> str:
    return plural(facts.reach.count if facts.reach else 0, "element")


def _past(facts: Facts) -> bool:
    return facts.reach is not None and facts.reach.past


_TENSORS = (
    Rule(
        lambda f: f.reach and f.reach.freed,
        "a pointer outlives the tensor that it leads into: keep what .contiguous() or .to() returns in a variable "
        "for as long as the pointer is used",
    ),
    Rule(
        lambda f: f.reach and not f.reach.count,
        "the tensor is empty, and its first element is used all the same: test numel() first",
    ),
    Rule(
        lambda f: _past(f) and f.near(_VECTORS),
        "a whole vector is loaded or stored where fewer elements are left: handle the elements after the last whole "
        "vector separately",
    ),
    Rule(
        lambda f: _past(f) and _loop_with_equals(f), "the loop runs once too often: write < in place of <= in its test"
    ),
    Rule(
        lambda f: f.reach and f.reach.element == f.reach.count,
        lambda f: (
            f"a loop or an index goes past the last of {_elements(f)}: compare its limit with the size of this tensor"
        ),
    ),
    Rule(
        _past,
        "the index is computed from the wrong sizes: rows and columns swapped, the size of another tensor, or "
        "bytes instead of elements",
    ),
    Rule(
        lambda f: f.reach and f.reach.before,
        "an index is below 0: i - 1 where i is 0, a loop that counts down too far, or a -1 that means none",
    ),
    Rule(always, "the memory of this tensor may not be touched in this way"),
)

_NULL = (
    Rule(
        lambda f: (
            re.search(_REFUSED, f.died.output) or f.has(r"\b(?:malloc|calloc|realloc|aligned_alloc)\s*\(|\bnothrow\b")
        ),
        lambda f: (
            f"an allocation has just failed, as no step may take more than {amount(f.limits.memory)}, and the null "
            "pointer that malloc() returned was used: ask for less, and test the pointer"
        ),
    ),
    Rule(
        lambda f: f.died.state.step == "backward" and f.has(r"data_ptr"),
        "the pointer was never set, or is that of an undefined tensor: test wanted[...] before a gradient is "
        "written, and .defined() where a tensor may be missing",
    ),
    Rule(always, "the pointer was never set: it is nullptr, or that of a tensor that is undefined or has no elements"),
)

_SEGFAULTS = (
    Rule(
        lambda f: f.fault and f.fault.overflow,
        "a function calls itself without end, or a local array is larger than the stack: end the recursion, and put "
        "large arrays into a tensor or a std::vector",
    ),
    Rule(
        lambda f: f.fault and f.fault.jump,
        "a pointer to a function was never set or was overwritten, or a local array was written past its end, where "
        "the address to return to is",
    ),
    Rule(lambda f: f.reach, _TENSORS),
    Rule(in_any(*_ALLOCATOR), _HEAP),
    Rule(
        lambda f: f.cuda_thread and not f.null,
        "an index is far out of bounds, or a pointer was never set: li.check(kernel, device='cuda-cpu') names the array, its "
        "size and the index",
    ),
    Rule(
        lambda f: f.refused and f.near(_VECTORS),
        "a vector is loaded or stored at an address that is not a multiple of its size: use the unaligned form "
        "(_mm256_loadu_ps, Vectorized::loadu)",
    ),
    Rule(
        lambda f: f.refused,
        "a pointer was never set or was overwritten, or a vector instruction met an address that is not a multiple "
        "of its size",
    ),
    Rule(lambda f: f.null, _NULL),
    Rule(
        lambda f: f.address is not None and f.address >= (1 << 64) - NULL_ZONE,  # all bits of the pointer are set
        "the pointer was read from memory that nobody had written: fresh memory is filled with 0xFF in a check",
    ),
    Rule(
        lambda f: f.fault and f.code == _SEGV_ACCERR and f.fault.write,
        "it writes into memory that may only be read, such as a string literal or a constant",
    ),
    Rule(
        lambda f: f.address is not None,
        "a wild pointer: never set, made with an index that is far too large or was never set, or into memory that "
        "was given back long ago",
    ),
    Rule(always, "a pointer leads where no memory is; the crash left no record of more"),
)

_UNCAUGHT = (
    Rule(
        lambda f: "pure virtual method called" in f.died.output,
        "a virtual function was called of an object that is not built yet, or not any more",
    ),
    Rule(
        lambda f: (
            f.uncaught and re.search(r"bad_alloc|allocate|not enough memory", f"{f.uncaught.type} {f.uncaught.text}")
        ),
        lambda f: (
            f"an allocation failed, since no step may take more than {amount(f.limits.memory)}, where no "
            "exception may leave (noexcept, a destructor, a thread): look at its size, or raise Limits(memory=...)"
        ),
    ),
    Rule(
        lambda f: f.uncaught and not f.uncaught.type,
        "std::terminate() was called, a std::thread was destroyed without join(), or `throw;` stands outside of a "
        "catch: join a thread before it goes out of scope",
    ),
    Rule(
        lambda f: f.has(r"#\s*pragma\s+omp"),
        "no exception may leave an OpenMP region: catch it inside, or use at::parallel_for, which passes it to "
        "the caller",
    ),
    Rule(
        lambda f: f.helper_thread or (f.evidence is None and f.has(r"\bstd::j?thread\b|\bpthread_create\b")),
        "it was thrown on another thread, where the caller cannot catch it: catch it there, or use "
        "at::parallel_for, which passes it to the caller",
    ),
    Rule(lambda f: any("~" in place.function for place in f.places), _DESTRUCTOR),
    Rule(
        lambda f: f.has(r"\bnoexcept\b"),
        "no exception may leave a function that is marked noexcept: take the mark away, and it becomes a Python "
        "exception",
    ),
    Rule(lambda f: f.has(r"~\w+\s*\("), _DESTRUCTOR),
    Rule(
        always,
        "no exception may leave a destructor, a thread, a noexcept function or a callback of C: from anywhere else "
        "it becomes a Python exception",
    ),
)

_ABORTS = (
    Rule(
        prints(r"double free detected|\(fasttop\)"),  # (out), (!prev): the heap was damaged
        "the same memory is freed twice, as it has two owners: let one tensor, std::vector or std::unique_ptr own it",
    ),
    Rule(
        prints("invalid pointer"),
        "free() or delete got a pointer that malloc() or new never gave, such as one into the middle of a block, or the "
        "heap's data in front of the block were overwritten, maybe in an earlier call",
    ),
    Rule(
        prints("stack smashing"),
        "a local array was written past its end: compare the index with the array's length, or use std::array and "
        "its .at()",
    ),
    Rule(
        prints("buffer overflow"),
        "a function of the C library, such as strcpy, sprintf or memcpy, was to write more than its destination holds",
    ),
    Rule(prints(HEAP_WORDS), _HEAP),
    Rule(
        prints(r"/(?:bits|debug|ext)/.*Assertion"),
        "a container of the standard library was used against its rules: an index at or past its size(), say, or "
        "the front of an empty one",
    ),
    Rule(prints("Assertion"), f"these inputs are not what the text expects: {_EXCEPTION}"),
    Rule(prints("^libgomp"), "OpenMP could not start its threads: memory or the number of processes is at its limit"),
    Rule(in_any(*_ALLOCATOR), _HEAP),
    Rule(
        always,
        lambda f: (
            f"abort() was called{f.called('abort')}, by the text or by a library that found something broken: "
            f"{_EXCEPTION}"
        ),
    ),
)

_OTHER_SIGNALS = (
    Rule(
        lambda f: f.signal == "SIGBUS" and f.code == _BUS_ADRALN,
        "an address is not a multiple of the size of what is read or written there: a pointer was cast to one of a "
        "larger type",
    ),
    Rule(
        dies_of("SIGBUS"),
        "memory that is mapped from a file has lost its file: the disk or /dev/shm is full, or the file was cut short",
    ),
    Rule(
        lambda f: f.signal == "SIGFPE" and f.code == _FPE_INTDIV,
        "an integer is divided (/ or %) by 0, or the smallest one by -1: test the divisor first; only floating-point "
        "numbers have an infinity",
    ),
    Rule(dies_of("SIGFPE"), "a number is out of range, and feenableexcept() or -ftrapv made that fatal"),
    Rule(
        lambda f: f.signal in ("SIGILL", "SIGTRAP") and f.has(r"__builtin_(?:trap|unreachable|debugtrap)"),
        lambda f: (
            "the text came to its __builtin_trap() or "
            f"__builtin_unreachable(){f.called('__builtin_trap', '__builtin_unreachable', '__builtin_debugtrap')}"
        ),
    ),
    Rule(
        lambda f: f.signal == "SIGILL" and f.place,
        "a function came to its end without return, where compilers may put an illegal instruction: see the "
        "warnings of li.build",
    ),
    Rule(
        dies_of("SIGILL"),
        "the library was built for another processor (-march=native, and a cache that machines share), or a "
        "function came to its end without return: build it again here, and see the warnings",
    ),
    Rule(dies_of("SIGTRAP"), "it came to a breakpoint or a trap: int3, __builtin_trap(), or -ftrapv"),
    Rule(dies_of("SIGSYS"), "the sandbox around this process refuses a system call"),
    Rule(dies_of("SIGPIPE"), "it wrote to a pipe or socket whose other end is closed"),
    Rule(dies_of("SIGXCPU", "SIGXFSZ"), "a limit of the shell or the job was reached: see ulimit -a"),
    Rule(dies_of("SIGALRM", "SIGVTALRM", "SIGPROF"), "a timer ran out that alarm() or setitimer() had set"),
    Rule(always, "no wrong access and no wrong number causes this signal: somebody sent it"),
)

_LOADING = (
    Rule(
        ended("timeout"),
        "the library did not finish loading: an initialiser of a variable outside of functions, or a constructor "
        "function, loops or waits",
    ),
    Rule(
        always,
        "it happened while the library was loaded, before any function of it was called: look at the variables "
        "outside of functions, and at their initialisers and constructors",
    ),
)

_SIGNALS = (
    Rule(
        lambda f: f.sent or (f.outside and f.called(*_SENDERS)),
        lambda f: (
            "the signal was sent and not caused by an instruction: by raise() or kill() in the "
            f"text{f.called(*_SENDERS)}, or by another process"
        ),
    ),
    Rule(
        lambda f: f.outside,
        "somebody outside ended it: the system's out-of-memory killer (dmesg tells), a limit of the job, or a "
        "person; the next call has a new worker",
    ),
    Rule(lambda f: f.died.state.step == "load", _LOADING),
    Rule(
        lambda f: not f.died.state.step,
        "it happened between two calls, in code that was right before: an earlier call wrote where it must not, and "
        "destroyed what others keep in memory; see the section `safety` of li.check",
    ),
    Rule(
        lambda f: f.died.state.step == "reference" and not f.reach,
        "it was the reference that computed then, not the kernel: call it alone with these inputs; if it does not end the process "
        "by itself, an earlier call of the kernel wrote where it must not: see the section `safety` of li.check",
    ),
    Rule(lambda f: f.uncaught, _UNCAUGHT),
    Rule(dies_of("SIGABRT"), _ABORTS),
    Rule(dies_of("SIGSEGV"), _SEGFAULTS),
    Rule(always, _OTHER_SIGNALS),
)

_EXITS = (
    Rule(lambda f: f.died.state.step == "load", _LOADING),
    Rule(lambda f: f.called_exit, lambda f: f"the text ends the process with exit(){f.called('exit')}: {_EXCEPTION}"),
    Rule(
        always,
        lambda f: (
            "the text ends the process at once, with _exit() or "
            f"quick_exit(){f.called('_exit', '_Exit', 'quick_exit', 'syscall')}: {_EXCEPTION}"
        ),
    ),
)

_TIMEOUTS = (
    Rule(lambda f: f.died.state.step == "load", _LOADING),
    Rule(
        in_any(*LOCKS),
        "it waits without end for a lock or a thread: a mutex that is locked twice, two mutexes locked in "
        "different order, a thread that holds the lock and waits for Python's (the GIL), or a thread that never ends",
    ),
    Rule(in_any(*SLEEPS), "it sleeps: take the sleep out, or raise Limits(seconds=...)"),
    Rule(in_any(*INPUTS), "it waits for input or for another process, which nobody gives or ends"),
    Rule(
        lambda f: f.still,
        "an endless loop that changes nothing, not even what its own test reads; what another thread is to change "
        "must be std::atomic",
    ),
    Rule(
        lambda f: in_any(*OUTPUTS)(f) and f.died.busy is not None and f.died.busy > WAITS,
        "it prints or writes inside a loop: take that out, or raise Limits(seconds=...)",
    ),
    Rule(
        in_any(*OUTPUTS),
        "it waits until what it has written is read: its own pipe or socket that is full, or more output than could "
        "be read in the time",
    ),
    Rule(
        lambda f: f.died.busy is not None and f.died.busy >= COMPUTES,
        "an endless loop: a counter that never meets its limit (unsigned and counting down, a step of 0, a float), "
        "or simply more work than the limit allows: then raise Limits(seconds=...)",
    ),
    Rule(
        lambda f: (f.died.busy is not None and f.died.busy <= WAITS) or (f.evidence and f.evidence.waiting),
        "it waits for what never comes: a mutex that is locked twice, a lock whose holder waits for Python's lock "
        "(the GIL), or a condition that nobody signals",
    ),
    Rule(
        always,
        "an endless loop, a lock that is never released, or simply more work than the limit "
        "allows: then raise Limits(seconds=...)",
    ),
)

_CAUSES = (
    Rule(
        lambda f: f.called_exit and f.kind != "exit",
        lambda f: (
            f"the text calls exit(){f.called('exit')}, and what runs at the end of a process failed then: {_EXCEPTION}"
        ),
    ),
    Rule(ended("signal"), _SIGNALS),
    Rule(ended("exit"), _EXITS),
    Rule(ended("timeout"), _TIMEOUTS),
    Rule(
        ended("memory"),
        "one allocation is larger than intended (a product of sizes, bytes instead of elements, a negative "
        "number read as unsigned), or many are never freed; to allow more, raise Limits(memory=...)",
    ),
    Rule(ended("output"), "it prints inside a loop: take that out, or raise Limits(output=...)"),
    Rule(
        ended("garbled"),
        "the kernel has closed files that are not its own, or written into them: the worker's line to this process is one",
    ),
    Rule(
        ended("stopped"), "somebody outside stopped it (kill -STOP, Ctrl-Z, a debugger); the next call has a new worker"
    ),
    Rule(
        ended("processes"),
        lambda f: (
            f"the text forks or starts programs{f.called('fork', 'vfork', 'system', 'popen', 'posix_spawn')}, and "
            "they were ended: for work side by side use at::parallel_for"
        ),
    ),
    Rule(always, "not known"),
)
