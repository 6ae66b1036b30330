"""A catalogue of cheats that can be made for any exercise out of its own solution: each must lose points there.

An act is put before a right computation: what it does beside that must not be possible. A trick stands between the caller and
the right computation, and is wrong by it. What all this rests on is in `sandbox`, `symbols` and `judge` of `lltm_inline.lab`.

Sources: the cheats that were tried on KernelBench, GPU MODE's kernelbot and pygpubench, nbgrader, Gradescope and kjudge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lltm_inline.cpp.functions import Function, find_function
from lltm_inline.lab.lab import Exercise


@dataclass(frozen=True)
class Cheat:
    """A text that must not have full points.

    Attributes:
        name: of the cheat.
        text: of it.
        why: it must fall.
        says: words of the reason that it must get; empty for any, where it is run.
    """

    name: str
    text: str
    why: str
    says: str = ""


#: Acts: name, what stands at file scope, what stands at the start of forward, and words of the reason that it must get.
_ACTS = (
    ("reads_a_file", "#include <cstdio>", 'if (FILE* f = std::fopen("/etc/passwd", "r")) std::fclose(f);', "files are closed"),
    ("writes_a_file", "#include <fstream>", 'std::ofstream("results.json") << "{}";', "files are closed"),
    ("includes_a_file", '#include "/etc/passwd"', "", "want the plain name of a header"),
    ("embeds_a_file", 'asm(".incbin \\"/etc/passwd\\"");', "", "inline assembly is closed"),
    ("assembly", "", 'asm volatile("" ::: "memory");', "inline assembly is closed"),
    ("hidden_assembly", "#define PUT_(a, b) a##b\n#define PUT(a, b) PUT_(a, b)", 'PUT(as, m) volatile("" ::: "memory");',
     "inline assembly is closed"),
    ("runs_when_loaded", "__attribute__((constructor)) static void first() { volatile int seen = 1; (void)seen; }", "",
     "runs when it is loaded"),
    ("chosen_by_the_loader", 'extern "C" { static int one_() { return 1; }\nstatic int (*choose_())() { return one_; }\n'
     'int chosen_() __attribute__((ifunc("choose_"))); }', "", "that the loader chooses"),
    ("looks_for_symbols", "#include <dlfcn.h>", 'if (dlsym(nullptr, "PyRun_SimpleString")) return {};', "the loader is closed"),
    ("runs_python", 'extern "C" __attribute__((weak)) int PyRun_SimpleString(const char*);',
     'PyRun_SimpleString("import torch");', "Python is closed"),
    ("starts_a_program", "#include <cstdlib>", 'if (std::system("true")) return {};', "processes and signals are closed"),
    ("forks", "#include <unistd.h>", "if (fork() == 0) for (;;) fork();", "processes and signals are closed"),
    ("signals", "#include <csignal>", "std::signal(SIGSYS, SIG_IGN);", "signals are closed"),
    ("calls_the_network", "#include <sys/socket.h>", "if (socket(AF_INET, SOCK_STREAM, 0) >= 0) return {};", "the network is closed"),
    ("raises_its_limits", "#include <sys/resource.h>", "rlimit most{RLIM_INFINITY, RLIM_INFINITY}; setrlimit(RLIMIT_DATA, &most);",
     "the system by number, and its limits, are closed"),
    ("calls_the_system_by_number", "#include <unistd.h>", "syscall(39);", "the system by number, and its limits, are closed"),
    ("makes_pages_executable", "#include <sys/mman.h>", "mprotect(nullptr, 4096, PROT_READ | PROT_EXEC);", "pages of memory are closed"),
    ("looks_into_others", "#include <sys/ptrace.h>", "ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);", "processes and signals are closed"),
    ("ends_the_process", "#include <cstdlib>", "std::_Exit(0);", "processes and signals are closed"),
    ("hangs", "", "for (volatile bool on = true; on;) {}", "does not come back"),
    ("crashes", "", "*static_cast<volatile int*>(nullptr) = 1;", "it crashes"),
    ("always_throws", "#include <stdexcept>", 'throw std::runtime_error("points");', "raises"),
    ("prints_without_end", "#include <cstdio>", 'for (;;) std::puts("score: 100");', "prints more than"),
    ("eats_memory", "#include <cstdlib>",
     "for (;;) for (volatile char *first = (char*)std::malloc(1 << 24), *p = first; p < first + (1 << 24); p += 4096) *p = 1;",
     "it crashes"),  # there is none left, and it writes to nullptr
    ("keeps_the_compiler_busy", "template <int N> struct Many { Many<N + 1> more; };\nMany<0> many;", "", "template instantiation"),
)  # fmt: skip

#: Tricks: name, what stands at file scope, the body of the new forward, and why it must fall. RETURNS, FIRST and CALL are
#: replaced; `spoil` makes one element wrong.
_SPOIL = """
inline at::Tensor& first_of_(at::Tensor& one) { return one; }
template <class T> at::Tensor& first_of_(T& all) { return std::get<0>(all); }
template <class T> void spoil_(T& result) {
  at::Tensor& one = first_of_(result);
  if (one.numel()) static_cast<unsigned char*>(one.mutable_data_ptr())[3] ^= 0x40;
}
"""
_TRICKS = (
    ("right_a_few_times", "#include <atomic>",
     "static std::atomic<int> calls{0};\n  RETURNS r = CALL;\n  if (++calls > 25) spoil_(r);\n  return r;",
     "every call is compared, and not the first alone"),
    ("right_for_known_sizes", "", "RETURNS r = CALL;\n  if (FIRST.numel() != 23 && FIRST.numel() % 8) spoil_(r);\n  return r;",
     "sizes are among those that nobody knows"),
    ("knows_its_inputs_by_address", "#include <map>\n#include <optional>",
     "static std::map<std::pair<const void*, int64_t>, std::optional<RETURNS>> known;\n"
     "  auto& one = known[{FIRST.const_data_ptr(), FIRST.numel()}];\n  if (!one) one = CALL;\n  return *one;",
     "other values lie at the same address"),
    ("one_buffer_for_all", "#include <map>\n#include <optional>",
     "static std::map<int64_t, std::optional<RETURNS>> kept;\n  RETURNS r = CALL;\n"
     "  auto& one = kept[FIRST.numel() * 16 + FIRST.element_size()];\n"
     "  if (!one) { one = r; return r; }\n  return *one;", "a result is of its own call"),
    ("changes_its_input", "", "RETURNS r = CALL;\n"
     "  if (FIRST.numel()) static_cast<unsigned char*>(const_cast<void*>(FIRST.const_data_ptr()))[3] ^= 0x40;\n  return r;",
     "inputs stay as they are"),
    ("writes_behind_its_result", "", "RETURNS r = CALL;\n  at::Tensor& one = first_of_(r);\n"
     "  static_cast<unsigned char*>(one.mutable_data_ptr())[one.nbytes()] = 1;\n  return r;", "memory beside a tensor is not its own"),
    ("wrong_in_one_element", "", "RETURNS r = CALL;\n  spoil_(r);\n  return r;", "all elements are compared"),
)  # fmt: skip
#: With `forbid = ["aten"]`.
_ATEN = (
    ("calls_aten", "#include <ATen/ops/exp.h>", "(void)at::exp(FIRST);", "written without ATen"),
    ("calls_a_method", "", "(void)FIRST.abs();", "written without ATen"),
    ("calls_a_c_interface", "#include <torch/csrc/inductor/aoti_torch/c/shim.h>", "(void)aoti_torch_mm_out(nullptr, nullptr, nullptr);",
     "written without ATen"),
    ("asks_the_dispatcher", "#include <ATen/core/dispatch/Dispatcher.h>",
     'c10::Dispatcher::singleton().findSchemaOrThrow("aten::abs", "");', "written without ATen"),
)  # fmt: skip
#: An argument that is a tensor, and what returns one first.
_TENSOR = re.compile(r"(?:const\s+)?(?:\w+::)*Tensor\s*&?")
_RETURNS = re.compile(r"(?:std::tuple<\s*)?(?:\w+::)*Tensor\b")


def cheats(exercise: Exercise, solution: str) -> tuple[Cheat, ...]:
    """Make the catalogue for one exercise.

    Args:
        exercise: whose limits on ATen hold.
        solution: a right text, in C++ with ATen, that takes a tensor and returns one first; of any other only what stands ahead
            of it is tried.

    Returns:
        Texts that must not have full points, each with the reason.
    """
    name = exercise.settings.get("functions", ("forward",))[0]
    forward = find_function(solution, name)
    # Tricks look at the bytes of tensors, which only ATen's show.
    arguments = zip(forward.types, forward.names, strict=True) if forward and "torch::stable" not in solution else ()
    first = next((argument for kind, argument in arguments if _TENSOR.fullmatch(kind)), "")
    found = []
    for title, scope, act, says in _ACTS + (_ATEN if "aten" in exercise.forbid else ()):
        if not act:
            found.append(Cheat(title, f"{scope}\n{solution}", says, says))
        elif forward is not None and (first or "FIRST" not in act):
            wrapped = _wrapped(solution, name, forward, f"{act.replace('FIRST', first)}\n  return CALL;")
            found.append(Cheat(title, f"{scope}\n{wrapped}", says, says))
    if forward is not None and first and _RETURNS.match(forward.returns):
        for title, scope, body, why in _TRICKS:
            text = _wrapped(solution, name, forward, body.replace("FIRST", first), _SPOIL)
            found.append(Cheat(title, f"{scope}\n{text}", why))
    return tuple(found)


def _wrapped(solution: str, name: str, forward: Function, body: str, scope: str = "") -> str:
    """Give the function of the solution another name, and write one in its place that calls it."""
    honest = f"honest_{name}"
    head = ", ".join(f"{kind} {one}" for kind, one in zip(forward.types, forward.names, strict=True))
    body = body.replace("RETURNS", forward.returns).replace("CALL", f"{honest}({', '.join(forward.names)})")
    renamed = re.sub(rf"\b{name}\b(?=\s*\()", honest, solution)
    return f"{renamed}\n{scope}{forward.returns} {name}({head}) {{\n  {body}\n}}\n"
