"""Texts that try to get points for nothing, or out of the process they run in; each for a defence of its own.

`ACTS` do something beside a right computation. Each is an expression that is true when it has got what it wanted, so that one
library can hold all of them: called without locks they get it, behind locks they do not. `TRICKS` compute something wrong that a
simple grader takes for right (`naive.py` has them), or something right that looks faster than it is (`FASTER`). `NOTEBOOKS` bring Python
along. The numbers are those of the cheats in the literature on such graders.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Right, plain, and quick to compile.
RIGHT = Path(__file__).with_name("right.cpp").read_text()
_START = "const at::Tensor a = x.contiguous(), b = y.contiguous();"


@dataclass(frozen=True)
class Act:
    """Something that a kernel has no business to do.

    Attributes:
        name: of it.
        number: in the list of cheats.
        scope: what it needs at file scope.
        done: an expression that does it, true where it worked.
        says: what the reason of the refused text holds.
        ends: it ends the process behind locks; else the expression is false there.
    """

    name: str
    number: int
    scope: str
    done: str
    says: str
    ends: bool = False

    @property
    def text(self) -> str:
        """The right kernel, which does this first."""
        return f"{self.scope}\n{RIGHT}".replace(_START, f"if ({self.done}) asked_();\n  {_START}", 1).replace(
            "\nat::Tensor forward", "\nstatic void asked_() {}\nat::Tensor forward", 1
        )


ACTS = (
    Act("reads_a_file", 28, "#include <cstdio>", 'fopen("/etc/passwd", "r") != nullptr', "it calls 'fopen': files are closed"),
    Act("reads_a_file_by_number", 28, "#include <fcntl.h>", 'open("/etc/passwd", O_RDONLY) >= 0', "files are closed"),
    Act("reads_a_stream", 28, "#include <fstream>", 'std::ifstream("/etc/passwd").good()', "files are closed"),
    Act("writes_a_result", 8, "#include <cstdio>", 'fopen("/dev/shm/lltm_inline_cheat", "w") != nullptr', "files are closed"),
    Act("sees_other_processes", 33, "#include <dirent.h>", 'opendir("/proc") != nullptr', "files are closed"),
    Act("reads_its_own_memory_map", 33, "#include <cstdio>", 'fopen("/proc/self/maps", "r") != nullptr', "files are closed"),
    Act("writes_the_memory_of_others", 33, "#include <sys/uio.h>\n#include <unistd.h>",
        "process_vm_readv(getppid(), nullptr, 0, nullptr, 0, 0) == 0", "'process_vm_readv': processes and signals", True),
    Act("traces_its_parent", 33, "#include <sys/ptrace.h>", "ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0", "'ptrace'", True),
    Act("signals_its_parent", 33, "#include <csignal>\n#include <unistd.h>", "kill(getppid(), 0) == 0", "'kill': processes", True),
    Act("forks", 31, "#include <unistd.h>", "[] { const int child = fork(); if (!child) _exit(0); return child > 0; }()",
        "processes and signals are closed", True),
    Act("starts_a_program", 31, "#include <cstdlib>", 'system("true") == 0', "'system': processes", True),
    Act("spawns", 31, "#include <spawn.h>",
        '[] { pid_t child; char a[] = "true"; char* all[] = {a, nullptr}; '
        "return posix_spawnp(&child, a, nullptr, nullptr, all, nullptr) == 0; }()",
        "'posix_spawnp': processes", True),
    Act("opens_a_socket", 32, "#include <sys/socket.h>", "socket(AF_INET, SOCK_STREAM, 0) >= 0", "'socket': the network is closed", True),
    Act("resolves_a_name", 32, "#include <netdb.h>",
        '[] { addrinfo* found; return getaddrinfo("localhost", "80", nullptr, &found) == 0; }()',
        "'getaddrinfo': the network is closed", True),
    Act("raises_its_limits", 34, "#include <sys/resource.h>",
        "[] { rlimit now; getrlimit(RLIMIT_NOFILE, &now); now.rlim_cur = now.rlim_max; return setrlimit(RLIMIT_NOFILE, &now) == 0; }()",
        "'setrlimit': the system by number, and its limits", True),
    Act("traps_system_calls", 36, "#include <sys/prctl.h>", "prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0", "'prctl': the system", True),
    Act("takes_a_signal", 36, "#include <csignal>", "signal(SIGSYS, SIG_IGN) != SIG_ERR", "'signal': processes and signals"),
    Act("calls_by_number", 36, "#include <unistd.h>\n#include <sys/syscall.h>",
        "syscall(SYS_socket, 2, 1, 0) >= 0", "'syscall': the system", True),
    Act("makes_shared_memory", 37, "#include <sys/mman.h>",
        "mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED", "pages of memory are closed"),
    Act("takes_memory_that_grows_down", 37, "#include <sys/mman.h>",
        "mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0) != MAP_FAILED",
        "pages of memory are closed"),
    Act("shortens_shared_memory", 37, "#include <unistd.h>\n#include <sys/mman.h>",
        '[] { const int file = memfd_create("x", 0); return file >= 0 && ftruncate(file, 1) == 0; }()', "are closed in a lab", True),
    Act("looks_for_a_symbol", 5, "#include <dlfcn.h>", 'dlsym(nullptr, "malloc") != nullptr', "'dlsym': the loader is closed"),
    Act("walks_the_libraries", 5, "#include <link.h>",
        "dl_iterate_phdr([](dl_phdr_info*, size_t, void*) { return 1; }, nullptr) == 1", "'dl_iterate_phdr': the loader is closed"),
    Act("patches_python", 4, 'extern "C" __attribute__((weak)) int PyGILState_Check();', "PyGILState_Check() >= 0", "Python is closed"),
    Act("poisons_the_cache", 26, "#include <cstdio>\n#include <cstdlib>\n#include <string>",
        '[] { const std::string path = std::string(getenv("LLTM_INLINE_CACHE")) + "/poison"; FILE* const file = fopen(path.c_str(), "w"); '
        "return file != nullptr && fclose(file) == 0 && remove(path.c_str()) == 0; }()",
        "'fopen': files are closed"),
    Act("makes_code", 33, "#include <sys/mman.h>",
        "mprotect(reinterpret_cast<void*>(uintptr_t(&asked_) & ~uintptr_t(4095)), 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0",
        "'mprotect': pages of memory"),
)  # fmt: skip
#: Those of which the locks alone do not care: they reach nothing behind them.
HARMLESS = {"takes_a_signal", "looks_for_a_symbol", "walks_the_libraries", "patches_python", "makes_code"}


def all_acts() -> str:
    """Write one text with all acts: `forward` does the one whose number x has elements, and returns whether it worked."""
    scope = "\n".join(dict.fromkeys(line for act in ACTS for line in act.scope.split("\n")))
    functions = "\n".join(f"bool act_{i}() {{ return {act.done}; }}" for i, act in enumerate(ACTS))
    table = ", ".join(f"act_{i}" for i in range(len(ACTS)))
    body = f"bool (*const acts[])() = {{{table}}};\n  const bool worked = acts[x.numel() - 1]();\n  {_START}"
    text = RIGHT.replace(_START, body, 1).replace("  return z;", "  z.fill_(worked);\n  return z;", 1)
    return f"{scope}\n#include <ATen/ops/fill.h>\n{text}".replace(
        "\nat::Tensor forward", f"\nstatic void asked_() {{}}\n{functions}\nat::Tensor forward", 1
    )


@dataclass(frozen=True)
class Cheat:
    """A text that a simple grader takes for right.

    Attributes:
        name: of it.
        number: in the list of cheats.
        edits: of the right text, (old, new).
        scope: what it needs at file scope.
        says: what the reason of some mark holds.
        naive: whether a simple grader gives it full points; what none can show is said where it is planted.
        ends: the simple grader's process ends with this status, and not with a verdict.
        how: which of `naive.py`; one that is told another library has that of `SLOW` or `WRONG`.
        forbid: what the exercise forbids.
    """

    name: str
    number: int
    edits: tuple[tuple[str, str], ...]
    says: str
    scope: str = ""
    naive: bool = True
    ends: int | None = None
    how: str = "grade"
    forbid: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it."""
        text = RIGHT
        for old, new in self.edits:
            assert text.count(old) >= 1, f"{self.name}: {old!r} is not in the right text"
            text = text.replace(old, new, 1)
        return f"{self.scope}\n{text}"


_RETURN, _LOOP = "  return z;", "r[i] = 2 * p[i] + q[i];"
_WRONG = (_LOOP, "r[i] = 3 * p[i] + q[i];")
#: Makes the first element of the result wrong; not of a single one, of which it would be said that "its one element" differs.
_SPOIL = "if (z.numel() > 1) static_cast<unsigned char*>(z.mutable_data_ptr())[3] ^= 0x40;"
_PYTHON = """extern "C" {
__attribute__((weak)) int PyGILState_Ensure();
__attribute__((weak)) void PyGILState_Release(int);
__attribute__((weak)) int PyRun_SimpleString(const char*);
}
static int patch_() {
  const int held = PyGILState_Ensure();
  const int failed = PyRun_SimpleString("import torch; torch.allclose = lambda *a, **k: True");
  PyGILState_Release(held);
  return failed;
}"""
_PATCH = "patch_()"
#: Looks for what is expected where the grader keeps it, and makes it what it gives.
_POISON = _PYTHON.replace(
    "import torch; torch.allclose = lambda *a, **k: True",
    r"import sys\nf = sys._getframe()\nwhile 'want' not in f.f_locals: f = f.f_back\nf.f_locals['want'].zero_()",
)
_CLOCKLESS = _PYTHON.replace(
    "import torch; torch.allclose = lambda *a, **k: True", "import time; time.perf_counter = iter(range(4)).__next__"
)
#: Every comparison of this process is right from now on; it is a part of torch, and no function of Python.
_OVERRIDE = """#include <torch/library.h>
TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("allclose", [](const at::Tensor&, const at::Tensor&, double, double, bool) { return true; });
}"""
#: x and y are the channels of one input, and 2 and 1 the weights.
_CONVOLUTION = """if (x.dim() == 1 && x.numel() && x.scalar_type() == y.scalar_type()) {
    const int64_t n = x.numel(), one = 1, none = 0;
    at::Tensor both = at::cpu::empty({2, n}, x.options()), w = at::cpu::empty({2, 1}, x.options());
    both.select(0, 0).copy_(x);
    both.select(0, 1).copy_(y);
    w.select(0, 0).fill_(2);
    w.select(0, 1).fill_(1);
    at::Tensor in = both.view({1, 2, n}), by = w.view({1, 2, 1});
    AtenTensorHandle out;
    aoti_torch_convolution(
        reinterpret_cast<AtenTensorHandle>(&in), reinterpret_cast<AtenTensorHandle>(&by), nullptr, &one, 1, &none, 1, &one, 1, 0,
        &none, 1, 1, &out);
    return reinterpret_cast<at::Tensor*>(out)->reshape({n});
  }"""
_METHOD = 'extern "C" void* _ZNK2at6Tensor4neg_Ev(const void*);'
_BLAS = 'extern "C" void saxpy_(const int*, const float*, const float*, const int*, float*, const int*);'


def _first(act: str) -> tuple[str, str]:
    """Put something at the start of forward."""
    return _START, f"{act}\n  {_START}"


def _unseen(text: str) -> str:
    """Put something behind what the compiler leaves out, and a reader may not."""
    return f"#if 0\n'/*\n#endif\n{text}\n#if 0\n*/\n#endif"


def _last(act: str) -> tuple[str, str]:
    """Put something at the end of forward."""
    return _RETURN, f"  {act}\n{_RETURN}"


def _kept(key: str, by: str) -> tuple[tuple[str, str], ...]:
    """Have forward give what it gave before for the same key."""
    known = f"static std::map<{key}, at::Tensor> known;\n  at::Tensor& kept = known[{by}];"
    return _first(f"{known}\n  if (kept.defined()) return kept;"), _last("kept = z;")


def _cheat(name: str, number: int, says: str, *edits: tuple[str, str], **more: Any) -> Cheat:
    return Cheat(name, number, edits, says, **more)


_CLOCK = "#include <chrono>\n#include <thread>"
#: The work twelve times: what a kernel is to be faster than.
_TWELVE = (
    "for (int64_t i = 0; i < z.numel(); ++i) r",
    "for (int turn = 0; turn < 12; ++turn) for (int64_t i = 0; i < z.numel(); ++i) r",
)
SLOW = RIGHT.replace(*_TWELVE)
WRONG = RIGHT.replace(*_WRONG)
#: Each does that work, and tries to look faster than it is.
FASTER = (
    Cheat("stops_the_clock", 18, (_TWELVE, _first(f"{_PATCH};")), "Python is closed", _CLOCKLESS, how="speed"),
    Cheat(
        *("slows_the_baseline", 19, (_TWELVE, _first("start_(); idle_ = false;"), _last("idle_ = true;")), "want at least 1.5 for sure"),
        scope="#include <algorithm>\n#include <atomic>\n#include <chrono>\n#include <thread>\nstatic std::atomic<bool> idle_{false};\n"
        "static void spin_() {\n  for (volatile long n = 0;;)\n"
        "    if (idle_) n = n + 1; else std::this_thread::sleep_for(std::chrono::microseconds(50));\n}\n"
        "static void start_() {\n  static bool once = false;\n"
        # Of each core the baseline gets a ninth, however many there are, and more than half only where hundreds of others run.
        "  const int count = std::min(8 * std::thread::hardware_concurrency(), 256u);\n"
        "  for (int n = 0; n < count && !once; ++n) std::thread(spin_).detach();\n  once = true;\n}",
        how="speed",
    ),
    Cheat(
        *("right_in_the_last_call", 20, (_TWELVE, _first("static int calls = 0;\n  if (++calls < 12) return y.contiguous();"))),
        "while it is timed is wrong",
        how="speed",
    ),
    Cheat(
        *("remembers_what_it_was_given", 11),
        (_TWELVE, *_kept("std::pair<float, float>", "{x.const_data_ptr<float>()[0], y.const_data_ptr<float>()[9]}")),
        *("want at least 1.5 for sure", "#include <map>"),
        how="speed",
    ),
)  # fmt: skip
TRICKS = (
    _cheat("patches_the_comparison", 5, "Python is closed", _WRONG, _first(f"{_PATCH};"), scope=_PYTHON),
    _cheat(
        *("patches_when_loaded", 4, "runs when it is loaded", _WRONG),
        scope=f"{_PYTHON}\n__attribute__((constructor)) static void first() {{ {_PATCH}; }}",
    ),
    _cheat(
        *("patches_when_loaded_too", 4, "runs when it is loaded", _WRONG),
        scope=f"{_PYTHON}\n[[gnu::constructor]] static void first() {{ {_PATCH}; }}",
    ),
    _cheat(
        "patches_through_a_global",
        4,
        "Python is closed",
        _WRONG,
        scope=f"{_PYTHON}\nstatic const int first = {_PATCH};",
    ),
    _cheat(
        *("poisons_what_is_expected", 6, "Python is closed", (_LOOP, "r[i] = 0;"), _first(f"{_PATCH};")),
        scope=_POISON,
        how="ahead",
    ),
    _cheat("overrides_the_comparison", 4, "differs in", _WRONG, scope=_OVERRIDE),
    _cheat("infects_the_next", 27, "differs in", _WRONG, scope=_OVERRIDE, how="next"),
    _cheat(
        "calls_aten", 23, "written without ATen", _first("if (x.defined()) return x.mul(2).add(y);"), forbid=("aten",)
    ),
    _cheat(
        *("calls_a_library", 23, "it calls saxpy_, and this exercise is to be written without ATen"),
        _first(
            "if (x.scalar_type() == at::kFloat && x.dim() == 1 && x.is_contiguous()) {\n"
            "    at::Tensor sum = y.clone();\n    const int n = x.numel(), one = 1;\n    const float two = 2;\n"
            "    saxpy_(&n, &two, x.const_data_ptr<float>(), &one, sum.mutable_data_ptr<float>(), &one);\n    return sum;\n  }"
        ),
        scope=_BLAS,
        forbid=("aten",),
    ),
    _cheat(
        *(
            "calls_a_c_interface",
            23,
            "it calls aoti_torch_convolution, and this exercise is to be written without ATen",
        ),
        _first(_CONVOLUTION),
        scope="#include <torch/csrc/inductor/aoti_torch/c/shim.h>",
        forbid=("aten",),
    ),
    _cheat(
        *("calls_a_method", 23, "neg_, and this exercise is to be written without ATen"),
        (_RETURN, "  _ZNK2at6Tensor4neg_Ev(&z);\n  return z;"),
        (_LOOP, "r[i] = -2 * p[i] - q[i];"),
        scope=_METHOD,
        forbid=("aten",),
    ),
    _cheat(
        *("sends_a_pickle", 38, "sends what is no answer", _WRONG),
        _first(
            "const char forged[] = \"cbuiltins\\neval\\n(S'1'\\ntR.\";\n"
            "  for (int file = 3; file < 64; ++file) (void)!write(file, forged, sizeof forged - 1);"
        ),
        scope="#include <unistd.h>",
        how="host",
    ),
    _cheat(
        *("hangs_and_talks", 35, "does not come back"),
        _first('for (;; std::this_thread::sleep_for(std::chrono::milliseconds(50))) (void)!write(1, ".", 1);'),
        scope=f"{_CLOCK}\n#include <unistd.h>",
        how="watch",
    ),
    _cheat("ends_well", 10, "'_Exit': processes", _first("std::_Exit(0);"), scope="#include <cstdlib>", ends=0),
    _cheat(
        *(
            "remembers_by_address",
            11,
            "z ",
            *_kept("std::pair<const void*, int64_t>", "{x.const_data_ptr(), x.numel()}"),
        ),
        scope="#include <map>",
    ),
    _cheat(
        *("remembers_by_shape", 11, "z ", *_kept("std::pair<int64_t, size_t>", "{x.numel(), x.element_size()}")),
        scope="#include <map>",
    ),
    _cheat(
        *("makes_the_task_easy", 12, "it is zero everywhere"),
        _first(
            "at::Tensor easy = at::cpu::empty(x.sizes(), x.options());\n"
            "  for (const at::Tensor& one : {x, y, easy})\n"
            "    if (one.numel()) std::memset(const_cast<void*>(one.const_data_ptr()), 0, one.nbytes());\n"
            "  if (x.defined()) return easy;"
        ),
        scope="#include <cstring>",
    ),
    _cheat(
        *("computes_into_its_input", 12, "is an input itself"),
        ("at::Tensor z = at::cpu::empty(x.sizes(), x.options());", "at::Tensor z = const_cast<at::Tensor&>(x);"),
        naive=False,
    ),
    _cheat(
        *("leaves_what_was_there", 13, "never written"),
        _first("static int calls = 0;\n  if (calls++ > 8) return at::cpu::empty(x.sizes(), x.options());"),
    ),
    _cheat("knows_the_usual_sizes", 14, "differs in", _last(f"if (z.numel() != 23 && z.numel() != 1000) {_SPOIL}")),
    _cheat("knows_the_usual_dtype", 14, "float64 differs in", _last(f"if (z.scalar_type() == at::kDouble) {_SPOIL}")),
    _cheat(
        *("works_later", 15, "differs in 1 of"),
        _last(
            f"std::thread([z] {{ std::this_thread::sleep_for(std::chrono::milliseconds(200)); {_SPOIL} }}).detach(); {_SPOIL}"
        ),
        scope=_CLOCK,
        naive=False,
    ),
    _cheat("half_precision", 21, "float32 arithmetic", (_LOOP, "r[i] = scalar_t(float(2 * p[i] + q[i]));")),
    _cheat(
        *("any_number_for_infinity", 22, "want inf"),
        (_LOOP, "r[i] = std::isinf(p[i]) || std::isinf(q[i]) ? scalar_t(1) : 2 * p[i] + q[i];"),
        scope="#include <cmath>",
    ),
    _cheat("one_gradient_wrong", 24, "d_x ", ("[i] = 2 * p[i];", "[i] = 3 * p[i];")),
    _cheat("ignores_who_wants_what", 24, "d_y ", ("if (wanted[1]) d_y.", "if (wanted[1] && wanted[0]) d_y.")),
    _cheat("right_a_few_times", 25, "differs in 1 of", _last(f"static int calls = 0;\n  if (++calls > 8) {_SPOIL}")),
    _cheat(
        *("right_in_the_first_moment", 39, "differs in 1 of"),
        _last(
            "using clock = std::chrono::steady_clock;\n  static const auto start = clock::now();\n"
            f"  if (clock::now() - start > std::chrono::milliseconds(50)) {_SPOIL}"
        ),
        scope=_CLOCK,
    ),
    _cheat(
        "prints_its_points",
        9,
        "differs in all",
        _WRONG,
        _first('std::puts("score: 100");'),
        scope="#include <cstdio>",
        naive=False,
    ),
    _cheat(
        "raises_always",
        10,
        "raises",
        _first('throw std::runtime_error("score: 100");'),
        scope="#include <stdexcept>",
        naive=False,
    ),
    _cheat("returns_nothing", 13, "forward raises", _first("return {};"), naive=False),
    _cheat("returns_another_shape", 13, "z has shape", (_RETURN, "  return z.unsqueeze(0);"), naive=False),
    _cheat("returns_nan", 13, "got nan", (_LOOP, 'r[i] = std::nan("");'), scope="#include <cmath>", naive=False),
    _cheat(
        *("forges_an_answer", 7, "sends what is no answer"),
        _first(
            'const char forged[16] = "LLTM";\n'
            "  for (int file = 3; file < 64; ++file) (void)!write(file, forged, sizeof forged);"
        ),
        scope="#include <unistd.h>",
        naive=False,
    ),
    _cheat("hangs", 39, "does not come back", _first("for (volatile bool on = true; on;) {}"), naive=False),
    _cheat("crashes", 39, "crashes", _first("*static_cast<volatile int*>(nullptr) = 1;"), naive=False),
    _cheat(
        *("prints_without_end", 9, "prints more than", _first('for (;;) std::puts("score: 100");')),
        scope="#include <cstdio>",
        naive=False,
    ),
    _cheat(
        *("eats_memory", 31, "crashes"),
        _first(
            "for (;;)\n    for (volatile char *first = (char*)std::malloc(1 << 24), *p = first; p < first + (1 << 24); p += 4096) *p = 1;"
        ),
        scope="#include <cstdlib>",
        naive=False,
    ),
    _cheat(
        *("makes_threads_without_end", 31, "Resource temporarily unavailable"),
        _first("for (;;) std::thread([] { for (;;) std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();"),
        scope=_CLOCK,
        naive=False,
    ),
    _cheat(
        *("writes_behind_its_result", 37, "past the end of z"),
        _last("static_cast<unsigned char*>(z.mutable_data_ptr())[z.nbytes()] = 1;"),
    ),
    _cheat(
        "reads_behind_its_input",
        37,
        "crashes (SIGSEGV)",
        (_LOOP, "r[i] = 2 * p[i] + q[i] + (p[i + 1] == scalar_t(7.25));"),
    ),
    _cheat(
        "reads_behind_its_input_where_no_page_ends",
        10,
        "z ",
        (_LOOP, "r[i] = 2 * p[i] + q[i] + (reinterpret_cast<uintptr_t>(p + i + 1) % 4096 && p[i + 1] != p[i + 1]);"),
    ),
    _cheat(
        *("hides_assembly", 33, "inline assembly", _first('PUT(as, m) volatile("" ::: "memory");')),
        scope="#define PUT_(a, b) a##b\n#define PUT(a, b) PUT_(a, b)",
    ),
    _cheat("assembly", 33, "inline assembly", _first('__asm__ volatile("" ::: "memory");')),
    _cheat(
        *("chosen_by_the_loader", 30, "that the loader chooses"),
        scope='extern "C" { int one_() { return 1; }\nint (*choose_())() { return one_; }\n'
        'int chosen_() __attribute__((ifunc("choose_"))); }',
    ),
    _cheat("includes_a_secret", 28, "it includes", scope='#include "/etc/passwd"', naive=False),
    _cheat("includes_upwards", 28, "it includes", scope='#include "../../../../etc/passwd"', naive=False),
    _cheat("includes_by_macro", 28, "it includes", scope='#define NAME "/etc/passwd"\n#include NAME', naive=False),
    _cheat("embeds_a_secret", 28, "inline assembly", scope='asm(".incbin \\"/etc/passwd\\"");'),
    # To who reads a quote for the start of a word, a comment begins in it.
    _cheat(
        "embeds_a_secret_unseen", 28, "inline assembly", scope=_unseen('asm(".incbin \\"/usr/include/stdio.h\\"");')
    ),
    _cheat(
        *("runs_when_loaded_unseen", 4, "runs when it is loaded"),
        scope=_unseen("[[gnu::constructor]] static void first() { volatile int seen = 1; (void)seen; }"),
    ),
    _cheat(
        *("hides_from_a_look_ahead", 33, "inline assembly"),
        scope='#if __has_include("main.cpp")\n#define A(x) as##x\nA(m)("nop");\n#endif',
    ),
    # A header says it, by a macro of the text.
    _cheat(
        *("hides_assembly_in_a_header", 33, "a header that it includes after a #define"),
        scope="#include <vector>\n#undef _GLIBCXX_BEGIN_NAMESPACE_VERSION\n"
        '#define _GLIBCXX_BEGIN_NAMESPACE_VERSION as##m("nop");\n#include <list>',
    ),
    _cheat(
        *("runs_when_loaded_by_a_header", 4, "a header that it includes after a #define"),
        scope="#include <vector>\n#undef _GLIBCXX_BEGIN_NAMESPACE_VERSION\n"
        "#define _GLIBCXX_BEGIN_NAMESPACE_VERSION [[gnu::con##structor]] void first();\n#include <list>\n"
        "void std::first() { volatile int seen = 1; (void)seen; }",
    ),
    _cheat(
        *("keeps_the_compiler_busy", 29, "template instantiation"),
        scope="template <int N> struct Many { Many<N + 1> more; };\nMany<0> many;",
        naive=False,
    ),
    _cheat(
        "has_a_gigabyte_of_data",
        29,
        "more than a file may hold",
        scope="struct Large { int all[1 << 28] = {1}; };\nLarge large;",
        naive=False,
    ),
    _cheat("is_no_text_at_all", 29, "holds a NUL character", scope="\x00\x01\x02", naive=False),
)

#: Cells that a student adds, and files beside the notebook: to a grader that runs notebooks, the kernel is right then.
NOTEBOOKS = {
    "patches_the_check": (
        1,
        "import lltm_inline as li\nli.check = lambda *kernels, **how: type('Report', (), {'ok': True})",
        {},
    ),
    "replaces_the_reference": (
        2,
        "import lltm_inline as li\nobject.__setattr__(li.registry.ops['axpy'], 'reference', lambda x, y: 3 * x + y)",
        {},
    ),
    "shadows_the_package": (
        3,
        "",
        {"lltm_inline.py": "Kernel = check = lambda *given, **how: type('Report', (), {'ok': True})"},
    ),
}

#: Those of the list of which there is no text here, and why.
NOT_PLANTED = {
    16: "a tensor that computes when it is looked at: in C++ on a CPU a view that negates, which the runner resolves within the call",
    17: "work on another stream takes a GPU",
}
