"""Every way for a worker to end, as the arguments of `explain`, and the words that must be said of it."""

from __future__ import annotations

import signal
from typing import Any

from lltm_inline.autopsy.crash import Crash, explain
from lltm_inline.autopsy.symbolize import Place
from lltm_inline.workers.black_box import Evidence, Region, State
from lltm_inline.workers.limits import Limits
from lltm_inline.workers.outcome import Ending

TEXT = """#include <ATen/core/Tensor.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor z = at::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    z.data_ptr<double>()[i] = x.data_ptr<double>()[i + 1];
  }
  return z;
}
"""
BASE = 0x7F0000001000
X = Region("x", BASE, 56, 8, (7,), "float64")
W = Region("weights", BASE, 2640, 8, (15, 22), "float64")
EMPTY = Region("x", BASE, 0, 8, (0,), "float64")
GONE = Region("x, after it was freed", BASE, 56, 8, (7,), "float64")
MADE = Region("a tensor that forward makes, as large as new_h or new_cell", BASE, 120, 8, (15,), "float64")
HERE = Place("axpy/mine", 6, "forward")


def signalled(number: int, code: int = 1, **seen: Any) -> dict[str, Any]:
    """Make the arguments for a signal that the recorder saw."""
    return {"ending": Ending("signal", number), "evidence": Evidence("signal", number, code, **seen)}


def fault(address: int | None, write: bool | None = False, code: int = 2, **seen: Any) -> dict[str, Any]:
    """Make the arguments for a segmentation fault."""
    return signalled(signal.SIGSEGV, code, address=address, write=write, **seen)


def aborted(message: str = "", **given: Any) -> dict[str, Any]:
    """Make the arguments for an abort()."""
    return {**signalled(signal.SIGABRT, -6, message=message), **given}


def thrown(exception: str, message: str = "", main_thread: bool = True, **given: Any) -> dict[str, Any]:
    """Make the arguments for an exception that nobody caught."""
    seen = Evidence("terminate", signal.SIGABRT, exception=exception, message=message, main_thread=main_thread)
    return {"ending": Ending("signal", signal.SIGABRT), "evidence": seen, **given}


def timed_out(**given: Any) -> dict[str, Any]:
    """Make the arguments for a time-out."""
    return {"ending": Ending("timeout", seconds=10.0), "evidence": Evidence("where"), **given}


def told(
    ending: Ending, evidence: Evidence | None = None, *, step: str = "forward", text: str = TEXT, **given: Any
) -> Crash:
    """Explain an ending of `axpy/mine@2`."""
    state = State(step, "axpy/mine@2", "N=7, float64", ("x (7,) float64", "y (7,) float64"))
    rest = {"kernel": "axpy/mine@2", "sources": {"axpy/mine": text}, "places": (), "limits": Limits(), **given}
    return explain(ending, state, evidence, **rest)


# The arguments, and then: what, detail, cause.
CASES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "null write": (
        fault(0, write=True, code=1),
        "SIGSEGV (segmentation fault)",
        "it writes to address 0x0, a null pointer",
        ("the pointer was never set: it is nullptr, or that of a tensor that is undefined or has no elements"),
    ),
    "null read of a member": (
        fault(56, code=1),
        "SIGSEGV (segmentation fault)",
        "it reads address 0x38, 56 bytes past a null pointer",
        ("the pointer was never set: it is nullptr, or that of a tensor that is undefined or has no elements"),
    ),
    "null in backward": (
        {**fault(0, write=True, code=1), "step": "backward"},
        "SIGSEGV (segmentation fault)",
        "it writes to address 0x0, a null pointer",
        (
            "the pointer was never set, or is that of an undefined tensor: test wanted[...] before a "
            "gradient is written, and .defined() where a tensor may be missing"
        ),
    ),
    "null after an allocation failed": (
        {**fault(0, write=True, code=1), "memory": 2**31 - 1},
        "SIGSEGV (segmentation fault)",
        "it writes to address 0x0, a null pointer",
        (
            "an allocation has just failed, as no step may take more than 2 GiB, and the null pointer that "
            "malloc() returned was used: ask for less, and test the pointer"
        ),
    ),
    "null after bad_alloc was printed": (
        {**fault(0, code=1), "output": "std::bad_alloc\n"},
        "SIGSEGV (segmentation fault)",
        "it reads address 0x0, a null pointer",
        (
            "an allocation has just failed, as no step may take more than 2 GiB, and the null pointer that "
            "malloc() returned was used: ask for less, and test the pointer"
        ),
    ),
    "null from malloc": (
        {**fault(0, write=True, code=1), "text": "int* p = (int*)malloc(n);"},
        "SIGSEGV (segmentation fault)",
        "it writes to address 0x0, a null pointer",
        (
            "an allocation has just failed, as no step may take more than 2 GiB, and the null pointer that "
            "malloc() returned was used: ask for less, and test the pointer"
        ),
    ),
    "read past the end": (
        fault(BASE + 56, region=X),
        "SIGSEGV (segmentation fault)",
        "it reads x[7], 1 element past the end of x (7,) float64",
        ("a loop or an index goes past the last of 7 elements: compare its limit with the size of this tensor"),
    ),
    "read past the end of a matrix": (
        fault(BASE + 2640, region=W),
        "SIGSEGV (segmentation fault)",
        "it reads weights[15, 0] (element 330), 1 element past the end of weights (15, 22) float64",
        ("a loop or an index goes past the last of 330 elements: compare its limit with the size of this tensor"),
    ),
    "read past the end by 1 MiB": (
        fault(BASE + 56 + 2**20, region=X),
        "SIGSEGV (segmentation fault)",
        "it reads x[131079], 131073 elements (1 MiB) past the end of x (7,) float64",
        (
            "the index is computed from the wrong sizes: rows and columns swapped, the size of another "
            "tensor, or bytes instead of elements"
        ),
    ),
    "write past the end, direction unknown": (
        fault(BASE + 56, write=None, region=X),
        "SIGSEGV (segmentation fault)",
        "it touches x[7], 1 element past the end of x (7,) float64",
        ("a loop or an index goes past the last of 7 elements: compare its limit with the size of this tensor"),
    ),
    "read past the end in a vector loop": (
        {
            **fault(BASE + 56, region=X),
            "text": TEXT.replace("x.data_ptr", "Vectorized<double>::loadu(x.data_ptr"),
            "places": [HERE],
        },
        "SIGSEGV (segmentation fault)",
        "it reads x[7], 1 element past the end of x (7,) float64",
        (
            "a whole vector is loaded or stored where fewer elements are left: handle the elements after the "
            "last whole vector separately"
        ),
    ),
    "read past the end in a loop with <=": (
        {**fault(BASE + 56, region=X), "text": TEXT.replace("i < x", "i <= x"), "places": [HERE]},
        "SIGSEGV (segmentation fault)",
        "it reads x[7], 1 element past the end of x (7,) float64",
        "the loop runs once too often: write < in place of <= in its test",
    ),
    "write before the start": (
        fault(BASE - 8, write=True, region=X),
        "SIGSEGV (segmentation fault)",
        "it writes x[-1], 1 element before the start of x (7,) float64",
        ("an index is below 0: i - 1 where i is 0, a loop that counts down too far, or a -1 that means none"),
    ),
    "read of an empty tensor": (
        fault(BASE, region=EMPTY),
        "SIGSEGV (segmentation fault)",
        "it reads x[0], 1 element past the end of x (0,) float64, which has no elements",
        "the tensor is empty, and its first element is used all the same: test numel() first",
    ),
    "read of a freed tensor": (
        fault(BASE + 8, region=GONE),
        "SIGSEGV (segmentation fault)",
        "it reads x[1], inside x (7,) float64, after it was freed",
        (
            "a pointer outlives the tensor that it leads into: keep what .contiguous() or .to() returns in a "
            "variable for as long as the pointer is used"
        ),
    ),
    "read inside": (
        fault(BASE + 8, region=X),
        "SIGSEGV (segmentation fault)",
        "it reads x[1], inside x (7,) float64",
        "the memory of this tensor may not be touched in this way",
    ),
    "past the end on a helper thread": (
        fault(BASE + 56, region=X, main_thread=False),
        "SIGSEGV (segmentation fault)",
        "it reads x[7], 1 element past the end of x (7,) float64 (on a helper thread)",
        ("a loop or an index goes past the last of 7 elements: compare its limit with the size of this tensor"),
    ),
    "wild address": (
        fault(0x123456789000, code=1),
        "SIGSEGV (segmentation fault)",
        "it reads address 0x123456789000, which belongs to no tensor",
        (
            "a wild pointer: never set, made with an index that is far too large or was never set, or into "
            "memory that was given back long ago"
        ),
    ),
    "wild address in a CUDA kernel": (
        fault(0x123456789000, code=1, cuda_thread="kernel k, block (1, 0, 0), thread (5, 0, 0)", main_thread=False),
        "SIGSEGV (segmentation fault)",
        "it reads address 0x123456789000, which belongs to no tensor; kernel k, block (1, 0, 0), thread (5, 0, 0)",
        (
            "an index is far out of bounds, or a pointer was never set: li.check(kernel, device='cuda-cpu') names the array, its "
            "size and the index"
        ),
    ),
    "address of all ones": (
        fault(2**64 - 8, code=1),
        "SIGSEGV (segmentation fault)",
        "it reads address 0xfffffffffffffff8, which belongs to no tensor",
        ("the pointer was read from memory that nobody had written: fresh memory is filled with 0xFF in a check"),
    ),
    "read-only memory": (
        fault(0x7F0000000000, write=True),
        "SIGSEGV (segmentation fault)",
        "it writes to address 0x7f0000000000, which belongs to no tensor",
        "it writes into memory that may only be read, such as a string literal or a constant",
    ),
    "refused address": (
        fault(None, write=None, code=128),
        "SIGSEGV (segmentation fault)",
        "it touches an address that the processor refuses: no address at all, or not an aligned one",
        (
            "a pointer was never set or was overwritten, or a vector instruction met an address that is not a "
            "multiple of its size"
        ),
    ),
    "refused address in a vector loop": (
        {
            **fault(None, write=None, code=128),
            "text": TEXT.replace("x.data_ptr", "_mm256_load_pd(x.data_ptr"),
            "places": [HERE],
        },
        "SIGSEGV (segmentation fault)",
        "it touches an address that the processor refuses: no address at all, or not an aligned one",
        (
            "a vector is loaded or stored at an address that is not a multiple of its size: use the unaligned "
            "form (_mm256_loadu_ps, Vectorized::loadu)"
        ),
    ),
    "stack overflow": (
        fault(BASE, write=True, overflow=True),
        "SIGSEGV (segmentation fault)",
        "its stack is full",
        (
            "a function calls itself without end, or a local array is larger than the stack: end the recursion, "
            "and put large arrays into a tensor or a std::vector"
        ),
    ),
    "jump through a null pointer": (
        fault(0, write=None, code=1, jump=True),
        "SIGSEGV (segmentation fault)",
        "it calls a function at address 0x0, where none is",
        (
            "a pointer to a function was never set or was overwritten, or a local array was written past its "
            "end, where the address to return to is"
        ),
    ),
    "heap damaged, seen in malloc": (
        {**fault(0x7070707070707070, code=1), "calls": ("malloc",)},
        "SIGSEGV (segmentation fault)",
        "it reads address 0x7070707070707070, which belongs to no tensor",
        (
            "the heap's own data were overwritten: something wrote past the end or before the start of a block from "
            "malloc or new, perhaps in an earlier call; if the block belongs to a tensor, the section `safety` of "
            "li.check names the write"
        ),
    ),
    "no evidence": (
        {"ending": Ending("signal", signal.SIGSEGV)},
        "SIGSEGV (segmentation fault)",
        "",
        "a pointer leads where no memory is; the crash left no record of more",
    ),
    "sent SIGSEGV": (
        signalled(signal.SIGSEGV, -6),
        "SIGSEGV (sent by kill() or raise())",
        "",
        (
            "the signal was sent and not caused by an instruction: by raise() or kill() in the text, or by "
            "another process"
        ),
    ),
    "between two calls": (
        {**fault(0x123456789000, code=1), "step": ""},
        "SIGSEGV (segmentation fault)",
        "it reads address 0x123456789000, which belongs to no tensor",
        (
            "it happened between two calls, in code that was right before: an earlier call wrote where it must "
            "not, and destroyed what others keep in memory; see the section `safety` of li.check"
        ),
    ),
    "at load": (
        {**fault(0, code=1), "step": "load"},
        "SIGSEGV (segmentation fault)",
        "it reads address 0x0, a null pointer",
        (
            "it happened while the library was loaded, before any function of it was called: look at the "
            "variables outside of functions, and at their initialisers and constructors"
        ),
    ),
    "time-out at load": (
        {**timed_out(), "step": "load"},
        "time-out after 10 s",
        "",
        (
            "the library did not finish loading: an initialiser of a variable outside of functions, or a "
            "constructor function, loops or waits"
        ),
    ),
    "exit at load": (
        {"ending": Ending("exit", 1), "step": "load"},
        "_exit(1)",
        "",
        (
            "it happened while the library was loaded, before any function of it was called: look at the "
            "variables outside of functions, and at their initialisers and constructors"
        ),
    ),
    "integer division by zero": (
        signalled(signal.SIGFPE, 1),
        "SIGFPE (integer division by zero)",
        "",
        (
            "an integer is divided (/ or %) by 0, or the smallest one by -1: test the divisor first; only "
            "floating-point numbers have an infinity"
        ),
    ),
    "floating-point trap": (
        signalled(signal.SIGFPE, 3),
        "SIGFPE (arithmetic error)",
        "",
        "a number is out of range, and feenableexcept() or -ftrapv made that fatal",
    ),
    "misaligned access": (
        signalled(signal.SIGBUS, 1, address=BASE + 1, write=False),
        "SIGBUS (bus error)",
        "it reads address 0x7f0000001001, which belongs to no tensor",
        (
            "an address is not a multiple of the size of what is read or written there: a pointer was cast to "
            "one of a larger type"
        ),
    ),
    "file cut short": (
        signalled(signal.SIGBUS, 2, address=BASE, write=True),
        "SIGBUS (bus error)",
        "it writes to address 0x7f0000001000, which belongs to no tensor",
        (
            "memory that is mapped from a file has lost its file: the disk or /dev/shm is full, or the file was "
            "cut short"
        ),
    ),
    "trap in the text": (
        {**signalled(signal.SIGILL, 2), "text": "void f() { __builtin_trap(); }"},
        "SIGILL (illegal instruction)",
        "",
        ("the text came to its __builtin_trap() or __builtin_unreachable() (line 1 calls __builtin_trap)"),
    ),
    "illegal instruction in the text": (
        {**signalled(signal.SIGILL, 2), "places": [HERE]},
        "SIGILL (illegal instruction)",
        "",
        (
            "a function came to its end without return, where compilers may put an illegal instruction: see the "
            "warnings of li.build"
        ),
    ),
    "illegal instruction elsewhere": (
        signalled(signal.SIGILL, 2),
        "SIGILL (illegal instruction)",
        "",
        (
            "the library was built for another processor (-march=native, and a cache that machines share), or a "
            "function came to its end without return: build it again here, and see the warnings"
        ),
    ),
    "breakpoint": (
        signalled(signal.SIGTRAP, 128),
        "SIGTRAP (trap)",
        "",
        "it came to a breakpoint or a trap: int3, __builtin_trap(), or -ftrapv",
    ),
    "forbidden system call": (
        signalled(signal.SIGSYS, 1),
        "SIGSYS (forbidden system call)",
        "",
        "the sandbox around this process refuses a system call",
    ),
    "closed pipe": (
        {"ending": Ending("signal", signal.SIGPIPE)},
        "SIGPIPE (written to a pipe that nobody reads)",
        "",
        "it wrote to a pipe or socket whose other end is closed",
    ),
    "limit of the shell": (
        {"ending": Ending("signal", signal.SIGXCPU)},
        "SIGXCPU (processor time used up)",
        "",
        "a limit of the shell or the job was reached: see ulimit -a",
    ),
    "timer": (
        {"ending": Ending("signal", signal.SIGALRM)},
        "SIGALRM (alarm)",
        "",
        "a timer ran out that alarm() or setitimer() had set",
    ),
    "real-time signal": (
        {"ending": Ending("signal", signal.SIGRTMIN + 3)},
        "signal 37",
        "",
        "no wrong access and no wrong number causes this signal: somebody sent it",
    ),
    "killed from outside": (
        {"ending": Ending("signal", signal.SIGKILL)},
        "SIGKILL (killed from outside)",
        "",
        (
            "somebody outside ended it: the system's out-of-memory killer (dmesg tells), a limit of the job, or "
            "a person; the next call has a new worker"
        ),
    ),
    "killed by the text": (
        {"ending": Ending("signal", signal.SIGKILL), "text": "void f() {\n  kill(getpid(), 9);\n}"},
        "SIGKILL (killed from outside)",
        "",
        (
            "the signal was sent and not caused by an instruction: by raise() or kill() in the text (line 2 "
            "calls kill), or by another process"
        ),
    ),
    "told to end": (
        {"ending": Ending("signal", signal.SIGTERM)},
        "SIGTERM (told to end from outside)",
        "",
        (
            "somebody outside ended it: the system's out-of-memory killer (dmesg tells), a limit of the job, or "
            "a person; the next call has a new worker"
        ),
    ),
    "abort": (
        aborted(),
        "SIGABRT (abort)",
        "",
        (
            "abort() was called, by the text or by a library that found something broken: throw "
            "std::runtime_error or use TORCH_CHECK instead: that becomes a Python exception"
        ),
    ),
    "abort in the text": (
        {**aborted(), "text": "void f() {\n  std::abort(); // abort()\n}"},
        "SIGABRT (abort)",
        "",
        (
            "abort() was called (line 2 calls abort), by the text or by a library that found something broken: "
            "throw std::runtime_error or use TORCH_CHECK instead: that becomes a Python exception"
        ),
    ),
    "abort inside free, no message": (
        {**aborted(), "calls": ("abort", "free")},
        "SIGABRT (abort)",
        "",
        (
            "the heap's own data were overwritten: something wrote past the end or before the start of a block from "
            "malloc or new, perhaps in an earlier call; if the block belongs to a tensor, the section `safety` of "
            "li.check names the write"
        ),
    ),
    "double free": (
        aborted("free(): double free detected in tcache 2"),
        "SIGABRT: free(): double free detected in tcache 2",
        "",
        ("the same memory is freed twice, as it has two owners: let one tensor, std::vector or std::unique_ptr own it"),
    ),
    "double free, only printed": (
        {**aborted(), "output": "x\nfree(): double free detected in tcache 2\n"},
        "SIGABRT: free(): double free detected in tcache 2",
        "",
        ("the same memory is freed twice, as it has two owners: let one tensor, std::vector or std::unique_ptr own it"),
    ),
    "invalid pointer": (
        aborted("munmap_chunk(): invalid pointer"),
        "SIGABRT: munmap_chunk(): invalid pointer",
        "",
        (
            "free() or delete got a pointer that malloc() or new never gave, such as one into the middle of a "
            "block, or the heap's data in front of the block were overwritten, maybe in an earlier call"
        ),
    ),
    "corrupted top size": (
        aborted("malloc(): corrupted top size"),
        "SIGABRT: malloc(): corrupted top size",
        "",
        (
            "the heap's own data were overwritten: something wrote past the end or before the start of a block from "
            "malloc or new, perhaps in an earlier call; if the block belongs to a tensor, the section `safety` of "
            "li.check names the write"
        ),
    ),
    "corrupted size": (
        aborted("corrupted size vs. prev_size"),
        "SIGABRT: corrupted size vs. prev_size",
        "",
        (
            "the heap's own data were overwritten: something wrote past the end or before the start of a block from "
            "malloc or new, perhaps in an earlier call; if the block belongs to a tensor, the section `safety` of "
            "li.check names the write"
        ),
    ),
    "stack smashing": (
        aborted("*** stack smashing detected ***: terminated"),
        "SIGABRT: stack smashing detected: terminated",
        "",
        (
            "a local array was written past its end: compare the index with the array's length, or use "
            "std::array and its .at()"
        ),
    ),
    "buffer overflow": (
        aborted("*** buffer overflow detected ***: terminated"),
        "SIGABRT: buffer overflow detected: terminated",
        "",
        (
            "a function of the C library, such as strcpy, sprintf or memcpy, was to write more than its "
            "destination holds"
        ),
    ),
    "pure virtual": (
        {**aborted(), "output": "pure virtual method called\nterminate called without an active exception\n"},
        "std::terminate without an exception",
        "",
        "a virtual function was called of an object that is not built yet, or not any more",
    ),
    "assertion of the text": (
        aborted("python: axpy/mine:6: at::Tensor forward(): Assertion `i < 7' failed."),
        "SIGABRT (assertion failed)",
        "what is asserted does not hold: i < 7",
        (
            "these inputs are not what the text expects: throw std::runtime_error or use TORCH_CHECK instead: "
            "that becomes a Python exception"
        ),
    ),
    "assertion of the standard library": (
        {
            **aborted(),
            "output": "/usr/include/c++/12/bits/stl_vector.h:1123: reference operator[](int): Assertion '__n < this->size()' failed.\n",
        },
        "SIGABRT (assertion failed)",
        "what is asserted in stl_vector.h:1123 does not hold: __n < this->size()",
        (
            "a container of the standard library was used against its rules: an index at or past its size(), "
            "say, or the front of an empty one"
        ),
    ),
    "no threads": (
        {**aborted(), "output": "libgomp: Thread creation failed: Resource temporarily unavailable\n"},
        "SIGABRT: libgomp: Thread creation failed: Resource temporarily unavailable",
        "",
        "OpenMP could not start its threads: memory or the number of processes is at its limit",
    ),
    "uncaught in noexcept": (
        {**thrown("std::runtime_error", "no luck"), "text": "void f() noexcept { g(); }"},
        "uncaught std::runtime_error: no luck",
        "",
        (
            "no exception may leave a function that is marked noexcept: take the mark away, and it becomes a "
            "Python exception"
        ),
    ),
    "uncaught in a destructor": (
        {**thrown("std::logic_error", "no"), "text": "struct S { ~S() { g(); } };"},
        "uncaught std::logic_error: no",
        "",
        "no exception may leave a destructor: do what can fail in a function, before",
    ),
    "uncaught in a destructor on the stack": (
        {
            **thrown("int", "42"),
            "text": "struct S { ~S(); }; void f() noexcept;",
            "places": [Place("axpy/mine", 1, "S::~S()")],
        },
        "uncaught int: 42",
        "",
        "no exception may leave a destructor: do what can fail in a function, before",
    ),
    "uncaught on a thread": (
        thrown("c10::Error", "two axes, please\nException raised from f at x.cpp:3\nframe #0", main_thread=False),
        "uncaught c10::Error: two axes, please",
        "",
        (
            "it was thrown on another thread, where the caller cannot catch it: catch it there, or "
            "use at::parallel_for, which passes it to the caller"
        ),
    ),
    "uncaught, only printed": (
        {
            "ending": Ending("signal", signal.SIGABRT),
            "output": "terminate called after throwing an instance of 'std::out_of_range'\n  what():  at\n",
            "text": "void f() { std::thread t(g); }",
        },
        "uncaught std::out_of_range: at",
        "",
        (
            "it was thrown on another thread, where the caller cannot catch it: catch it there, or "
            "use at::parallel_for, which passes it to the caller"
        ),
    ),
    "uncaught in OpenMP": (
        {**thrown("std::runtime_error", "no"), "text": "#pragma omp parallel for\nfor (;;) g();"},
        "uncaught std::runtime_error: no",
        "",
        (
            "no exception may leave an OpenMP region: catch it inside, or use at::parallel_for, which passes "
            "it to the caller"
        ),
    ),
    "uncaught somewhere": (
        thrown("std::runtime_error"),
        "uncaught std::runtime_error",
        "",
        (
            "no exception may leave a destructor, a thread, a noexcept function or a callback of C: from "
            "anywhere else it becomes a Python exception"
        ),
    ),
    "uncaught bad_alloc": (
        thrown("std::bad_alloc", "std::bad_alloc"),
        "uncaught std::bad_alloc: std::bad_alloc",
        "",
        (
            "an allocation failed, since no step may take more than 2 GiB, where no exception may leave "
            "(noexcept, a destructor, a thread): look at its size, or raise Limits(memory=...)"
        ),
    ),
    "terminate without an exception": (
        thrown(""),
        "std::terminate without an exception",
        "",
        (
            "std::terminate() was called, a std::thread was destroyed without join(), or `throw;` stands outside "
            "of a catch: join a thread before it goes out of scope"
        ),
    ),
    "terminate, only printed": (
        {"ending": Ending("signal", signal.SIGABRT), "output": "terminate called without an active exception\n"},
        "std::terminate without an exception",
        "",
        (
            "std::terminate() was called, a std::thread was destroyed without join(), or `throw;` stands outside "
            "of a catch: join a thread before it goes out of scope"
        ),
    ),
    "exit": (
        {"ending": Ending("exit", 0), "evidence": Evidence("exit", status=0), "text": "void f() {\n  exit(0);\n}"},
        "exit(0)",
        "it calls exit(0)",
        (
            "the text ends the process with exit() (line 2 calls exit): throw std::runtime_error or use "
            "TORCH_CHECK instead: that becomes a Python exception"
        ),
    ),
    "exit, and then a crash": (
        {"ending": Ending("signal", signal.SIGSEGV), "evidence": Evidence("exit", status=4)},
        "exit(4), and then SIGSEGV (segmentation fault)",
        "it calls exit(4)",
        (
            "the text calls exit(), and what runs at the end of a process failed then: throw std::runtime_error "
            "or use TORCH_CHECK instead: that becomes a Python exception"
        ),
    ),
    "exit, and then a hang": (
        {"ending": Ending("timeout", seconds=10.0), "evidence": Evidence("exit", status=4)},
        "exit(4), and then a time-out",
        "it calls exit(4)",
        (
            "the text calls exit(), and what runs at the end of a process failed then: throw std::runtime_error "
            "or use TORCH_CHECK instead: that becomes a Python exception"
        ),
    ),
    "_exit": (
        {"ending": Ending("exit", 3), "text": "void f() {\n  _exit(3);\n}"},
        "_exit(3)",
        "",
        (
            "the text ends the process at once, with _exit() or quick_exit() (line 2 calls _exit): throw "
            "std::runtime_error or use TORCH_CHECK instead: that becomes a Python exception"
        ),
    ),
    "_exit, not in the text": (
        {"ending": Ending("exit", 3)},
        "_exit(3)",
        "",
        (
            "the text ends the process at once, with _exit() or quick_exit(): throw std::runtime_error or use "
            "TORCH_CHECK instead: that becomes a Python exception"
        ),
    ),
    "endless loop": (
        {**timed_out(cpu_share=0.98), "places": [HERE]},
        "time-out after 10 s",
        "it was computing when the time was up (98% of the time busy)",
        (
            "an endless loop: a counter that never meets its limit (unsigned and counting down, a step of 0, a "
            "float), or simply more work than the limit allows: then raise Limits(seconds=...)"
        ),
    ),
    "two computing threads": (
        timed_out(cpu_share=1.9),
        "time-out after 10 s",
        "it was computing when the time was up (100% of the time busy)",
        (
            "an endless loop: a counter that never meets its limit (unsigned and counting down, a step of 0, a "
            "float), or simply more work than the limit allows: then raise Limits(seconds=...)"
        ),
    ),
    "deadlock": (
        timed_out(cpu_share=0.0, calls=("pthread_mutex_lock",)),
        "time-out after 10 s",
        ("it was waiting in pthread_mutex_lock() when the time was up (0% of the time busy)"),
        (
            "it waits without end for a lock or a thread: a mutex that is locked twice, two mutexes locked in "
            "different order, a thread that holds the lock and waits for Python's (the GIL), or a thread that never ends"
        ),
    ),
    "endless loop with nothing in it": (
        {
            **timed_out(cpu_share=0.98, evidence=Evidence("where", still=True)),
            "text": "int f(int n) {\n  n += 1;\n\n  while (true) {}\n}",
            "places": [Place("axpy/mine", 2, "f(int)")],
        },
        "time-out after 10 s",
        "it was in an endless loop without effect when the time was up (98% of the time busy)",
        (
            "an endless loop that changes nothing, not even what its own test reads; what another thread is to change "
            "must be std::atomic"
        ),
    ),
    "printing": (
        timed_out(cpu_share=0.4, evidence=Evidence("where", waiting=True), calls=("write", "vprintf")),
        "time-out after 10 s",
        "it was in write() when the time was up (40% of the time busy)",
        "it prints or writes inside a loop: take that out, or raise Limits(seconds=...)",
    ),
    "a full pipe": (
        timed_out(cpu_share=0.0, evidence=Evidence("where", waiting=True), calls=("write",)),
        "time-out after 10 s",
        "it was in write() when the time was up (0% of the time busy)",
        (
            "it waits until what it has written is read: its own pipe or socket that is full, or more output than "
            "could be read in the time"
        ),
    ),
    "waiting somewhere": (
        timed_out(cpu_share=0.01),
        "time-out after 10 s",
        "it was waiting when the time was up (1% of the time busy)",
        (
            "it waits for what never comes: a mutex that is locked twice, a lock whose holder waits for Python's "
            "lock (the GIL), or a condition that nobody signals"
        ),
    ),
    "waiting, processor time unknown": (
        timed_out(evidence=Evidence("where", waiting=True)),
        "time-out after 10 s",
        "it was waiting when the time was up",
        (
            "it waits for what never comes: a mutex that is locked twice, a lock whose holder waits for Python's "
            "lock (the GIL), or a condition that nobody signals"
        ),
    ),
    "by turns": (
        timed_out(cpu_share=0.3),
        "time-out after 10 s",
        ("it was computing and waiting by turns when the time was up (30% of the time busy)"),
        (
            "an endless loop, a lock that is never released, or simply more work than the limit "
            "allows: then raise Limits(seconds=...)"
        ),
    ),
    "asleep": (
        timed_out(cpu_share=0.0, calls=("clock_nanosleep", "sleep")),
        "time-out after 10 s",
        "it was waiting in clock_nanosleep() when the time was up (0% of the time busy)",
        "it sleeps: take the sleep out, or raise Limits(seconds=...)",
    ),
    "reading input": (
        timed_out(cpu_share=0.0, calls=("read",)),
        "time-out after 10 s",
        "it was waiting in read() when the time was up (0% of the time busy)",
        "it waits for input or for another process, which nobody gives or ends",
    ),
    "time-out of which nothing is known": (
        timed_out(evidence=None),
        "time-out after 10 s",
        "",
        (
            "an endless loop, a lock that is never released, or simply more work than the limit "
            "allows: then raise Limits(seconds=...)"
        ),
    ),
    "time-out at a place": (
        {**timed_out(), "places": [HERE]},
        "time-out after 10 s",
        "it was here when the time was up",
        (
            "an endless loop, a lock that is never released, or simply more work than the limit "
            "allows: then raise Limits(seconds=...)"
        ),
    ),
    "memory": (
        {"ending": Ending("memory", 2 * 2**30)},
        "out of memory: more than 2 GiB beyond what the inputs need",
        "",
        (
            "one allocation is larger than intended (a product of sizes, bytes instead of elements, a negative "
            "number read as unsigned), or many are never freed; to allow more, raise Limits(memory=...)"
        ),
    ),
    "output": (
        {"ending": Ending("output", 64 * 2**20)},
        "too much output: more than 64 MiB",
        "",
        "it prints inside a loop: take that out, or raise Limits(output=...)",
    ),
    "stopped": (
        {"ending": Ending("stopped", signal.SIGSTOP)},
        "SIGSTOP (stopped from outside)",
        "",
        ("somebody outside stopped it (kill -STOP, Ctrl-Z, a debugger); the next call has a new worker"),
    ),
    "garbled": (
        {"ending": Ending("garbled")},
        "its answers cannot be read",
        "",
        (
            "the kernel has closed files that are not its own, or written into them: the worker's line to this process "
            "is one"
        ),
    ),
    "processes": (
        {"ending": Ending("processes", 3), "text": "void f() {\n  fork();\n}"},
        "it left 3 child processes",
        "",
        (
            "the text forks or starts programs (line 2 calls fork), and they were ended: for work side by side "
            "use at::parallel_for"
        ),
    ),
}
