"""The machine code of a kernel: its loops are found, and what is said of them is so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.analysis import cuda_code, hot
from lltm_inline.analysis.assembly import Assembly, Routine, _by_time, _remarks_of
from lltm_inline.analysis.hot import Hot, _counted
from lltm_inline.analysis.loops import Instruction, Loop, loops_of
from lltm_inline.analysis.reasons import (
    STARTS,
    Evidence,
    another_order,
    because_of_branches,
    because_of_memory,
    explained,
    has_threads,
)
from lltm_inline.analysis.remarks import told_in
from lltm_inline.analysis.why import Remark, Why
from lltm_inline.base.packages import pip_command
from lltm_inline.compiling.nvcc import find_cuda, find_nvcc
from lltm_inline.errors import BuildError, DefinitionError, ToolchainError, UnknownPartError
from lltm_inline.run.built import build_all
from lltm_inline.run.setting import Setting
from lltm_inline.show.views.analysis import listing
from lltm_inline.source.template import devices_of
from tests import tiny
from tests.html_checks import read
from tests.needs import need, needs
from tests.quick import QUICK
from tests.texts import bodies

#: By its path, where PATH has little else.
GCC = shutil.which("g++") or "g++"
TEXTS = bodies(__file__)
#: One loop over floats or doubles, which knows that nothing overlaps.
LOOP = TEXTS["loop"]
#: The loop's own line.
LINE = LOOP.split("\n").index("    y[i] = T(FACTOR) * x[i];") + 1
CALLS = LOOP.replace("T(FACTOR) * x[i]", "T(FACTOR) * std::tgamma(x[i])")

pytestmark = needs("x86-64")  # the widths are those of its vectors


@pytest.fixture(autouse=True)
def op() -> Iterator[None]:
    """Register the op."""
    tiny.register()
    yield
    tiny.forget("tiny")


def kernel(text: str = LOOP, variant: str = "loop") -> li.Kernel:
    """Make a kernel of a text."""
    return tiny.kernel(text=text, variant=variant)


def test_a_loop_is_shown_beside_its_line() -> None:
    """The vectors of both dtypes stand at the loop's line; text and HTML say how long they are."""
    shown = li.assembly(kernel(), compiler="g++", progress=False)
    assert shown.width("float") in (4, 8, 16) and shown.width("double") == shown.width("float") // 2
    assert not shown.calls
    assert all(LINE in loop.lines and max(loop.lines) == LINE for loop in shown.loops)
    assert all(instruction.line == LINE for instruction in shown.of_line(LINE)) and shown.of_line(LINE)
    said = str(shown)
    assert re.match(
        r"assembly of tiny/loop by g\+\+ [\d.]+: \d+ instructions of its text, 1 loop \(\d+ in the machine code\)\n",
        said,
    )
    assert f"{shown.width('float')} floats at a time" in said and f"{shown.width('double')} doubles at a time" in said
    assert re.search(rf" {LINE} \| y\[i\] = T\(FACTOR\) \* x\[i\]; +\S+", said)
    html = shown._repr_html_()
    assert not read(html).problems
    assert f"{shown.width('float')} floats at a time" in html
    assert re.search(r'<span class="nf">v?(?:mul|add)ps</span> <span class="nb">[xyz]mm\d+</span>,', html)


def test_two_are_compared_loop_by_loop() -> None:
    """A loop that now calls a function for each element is told beside the one that did not."""
    shown = li.assembly(kernel(CALLS, "calls"), kernel(), compiler="g++", progress=False)
    assert shown.width("float") == 1 and set(shown.calls) == {"tgammaf", "tgamma"}
    changes = shown.differences
    assert changes[0] == "beside tiny/loop:"
    assert any(
        "floats at a time" in line and "-> one float at a time" in line and "calls tgammaf" in line for line in changes
    )
    same = li.assembly(kernel(), kernel(variant="twin"), compiler="g++", progress=False)
    assert all(line.endswith(", as before") for line in same.differences[1:]) and len(same.differences) > 2
    for html in (shown._repr_html_(), listing(shown)):
        assert not read(html).problems and "<p>beside tiny/loop:</p><ul><li>loop at line" in html
    assert f"<p>beside tiny/twin:</p><details><summary>{len(same.loops)} loops as before</summary>" in listing(same)


@pytest.mark.full
@needs("clang++")
def test_clang() -> None:
    """What clang++ makes is read the same way."""
    shown = li.assembly(kernel(CALLS, "calls"), kernel(), compiler="clang++", progress=False)
    assert shown.other is not None and shown.other.width("float") in (4, 8, 16) and shown.width("float") == 1
    assert set(shown.calls) == {"tgammaf", "tgamma"}


@pytest.mark.full
@needs("llvm-objdump")
def test_llvm_objdump_does_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where binutils' objdump is not there, LLVM's lists the same loops."""
    with_binutils = li.assembly(kernel(), compiler="g++", progress=False)
    only(tmp_path, monkeypatch, "llvm-objdump", "addr2line", "as", "ld")
    with_llvm = li.assembly(kernel(), compiler=GCC, progress=False)
    assert [loop.widths for loop in with_llvm.loops] == [loop.widths for loop in with_binutils.loops]


@pytest.mark.full
@pytest.mark.parametrize(
    "name", [name for name, kernel in li.registry.items() if kernel.python is None and "cpu" in devices_of(kernel)]
)
@needs("readelf")
def test_whether_a_shipped_kernel_has_threads_is_known(name: str) -> None:
    """Its text says so where its library imports what starts them, however the text calls that, and nowhere else."""
    library = li.build(name, compiler=QUICK, progress=False).path
    symbols = subprocess.run(
        ["readelf", "-sWC", "--dyn-syms", library], capture_output=True, text=True, check=True
    ).stdout
    imports = "\n".join(line for line in symbols.splitlines() if " UND " in line)
    assert imports and has_threads(li.registry[name].cpp) == bool(re.search(STARTS, imports))


def only(directory: Path, monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    """Leave only these programs on PATH."""
    for name in programs:
        found = shutil.which(name)
        assert found
        (directory / name).symlink_to(Path(found).resolve())
    monkeypatch.setenv("PATH", str(directory))


def test_what_cannot_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No text, no such dtype, nothing that disassembles: each is told."""
    with pytest.raises(DefinitionError) as error:
        li.assembly("axpy/python")
    assert str(error.value) == "kernel 'axpy/python' is a Python function: it has no machine code of its own"
    shown = li.assembly(kernel(), compiler="g++", progress=False)
    with pytest.raises(UnknownPartError) as unknown:
        shown.width("half")
    assert str(unknown.value) == "no width for 'half': want 'float' or 'double'"
    only(tmp_path, monkeypatch, "addr2line", "as", "ld")
    with pytest.raises(ToolchainError) as lacks:
        li.assembly(kernel(), compiler=GCC, progress=False)
    assert str(lacks.value).startswith("the assembly of a kernel needs objdump or llvm-objdump on PATH. ")


@pytest.mark.full
def test_a_revision_that_does_not_compile_leaves_the_other_to_be_seen() -> None:
    """Beside another it is told in a sentence; alone it is an error as for `build`."""
    broken = kernel(LOOP.replace("T(FACTOR) *", "T(FACTORY) *"), "broken")
    shown = li.assembly(kernel(), broken, compiler="g++", progress=False)
    assert shown.loops and shown.other is None
    assert shown.note.startswith(
        "There is nothing of tiny/broken to compare it with: kernel 'tiny/broken' did not compile"
    )
    assert shown.note in str(shown) and "FACTORY" not in str(shown).partition(shown.note)[2]
    for pair in ((broken,), (broken, kernel())):
        with pytest.raises(BuildError, match="'FACTORY' was not declared"):
            li.assembly(*pair, compiler="g++", progress=False)


@pytest.mark.full
def test_a_library_without_lines_is_no_text_without_loops() -> None:
    """It is told that nothing is known; and what the compiler says is shown all the same."""
    shown = li.assembly(kernel(), compiler="g++", cflags=["-O3", "-g0"], progress=False, remarks=True)
    assert not shown.routines and not shown.loops and shown.remarks
    unknown = "No instruction can be told to be of the text: the library has no line table (was it built with -g0?), "
    assert unknown in str(shown) and "no loops" not in str(shown) and "-g0?" in shown._repr_html_()


@pytest.mark.full
def test_functions_that_are_inlined_away() -> None:
    """What is left of them stands in the functions around them."""
    text = (
        "#include <torch/csrc/stable/ops.h>\nusing torch::stable::Tensor;\n"
        "inline Tensor forward(const Tensor& x) { return x; }\n"
        "inline Tensor backward(const Tensor& d_y, std::array<bool, 1>) { return d_y; }"
    )
    shown = li.assembly(kernel(text, "inlined"), compiler="g++", progress=False)
    assert {routine.short for routine in shown.routines} == {"::boxed_forward", "::boxed_backward"}
    assert shown.of_line(3) and shown.of_line(4)


def test_what_is_inlined_is_told_at_a_call_of_it_and_once() -> None:
    """Not where a lambda of the function was inlined; of a template's instances that differ; nor of a library's function of that name."""
    text = "float once(float x) { return x; }\nfloat f(float x) { return once(x); }\nvoid g() { h(); }\n"
    text += 'void k() { AT_DISPATCH_ALL_TYPES(t, "k", [&] {\n  once(1);\n}); }'
    inlined, missed = (
        "optimized:  Inlined float once(float)/1 into",
        "missed:   not inlinable: f()/1 -> float once(float, int)/2,",
    )
    printed = f"a/b:2:3: {inlined} f()/2\na/b:2:3: {missed} --param max-inline-insns-single limit reached\n"
    printed += f"a/b:3:3: {inlined} g()/2\na/b:4:3: {inlined} k()/2\na/b:5:3: {missed} function body not available"
    assert [str(one) for one in told_in(printed, "a/b", text)] == [
        "not inlined: once in some of its instances, because it is long. `C10_ALWAYS_INLINE` before it inlines it all the same.",
        "inlined: once",
    ]


def test_magic_and_command(capsys: Any) -> None:
    """`%kernel asm` and `python -m lltm_inline asm` show the same."""
    from lltm_inline.__main__ import main
    from lltm_inline.notebook.verbs import perform

    assert main(["asm", "axpy/cpp"]) == 0
    printed = capsys.readouterr().out
    assert printed == f"{perform('asm axpy/cpp', print)}\n" and "floats at a time" in printed
    assert main(["asm", "axpy/cpp", "--remarks"]) == 0
    printed = capsys.readouterr().out
    assert printed == f"{perform('asm axpy/cpp --remarks', print)}\n" and "what the compiler says:" in printed


#: One line for each thing of which a compiler has something to say.
SAID = LOOP.replace(
    """template <class T>
void scale(T* __restrict y, const T* __restrict x, int64_t n) {
""",
    TEXTS["said"],
).replace("T(FACTOR) * x[i]", "near(x[i])")


def lines_of(text: str, part: str) -> list[int]:
    """Return the numbers of the lines that hold a text."""
    return [number for number, line in enumerate(text.split("\n"), 1) if part in line]


@pytest.mark.parametrize("compiler", ["g++", pytest.param("clang++", marks=pytest.mark.full)])
def test_remarks_of_both_compilers_have_one_wording(compiler: str) -> None:
    """Vectorised and inlined, or not and why, at the lines of the text, and of these only."""
    need(compiler)
    shown = li.assembly(kernel(SAID, "said"), compiler=compiler, progress=False, remarks=True)
    assert shown.remarks
    [loop] = lines_of(SAID, "for (int64_t i = 0")
    assert any(one.line == loop and one.what == "vectorised" for one in shown.remarks), shown
    assert any(one.what == "not inlined" and one.how.startswith("away, ") and one.help for one in shown.remarks), shown
    assert any(one.what == "inlined" and one.how == "near" for one in shown.remarks), shown
    called = li.assembly(kernel(CALLS, "calls"), compiler=compiler, progress=False, remarks=True)
    assert called.remarks
    [why, *_] = [one for one in called.remarks if one.what == "not vectorised"]
    assert re.fullmatch(r"it calls a function in each iteration \(tgammaf?(, tgammaf?)?\)", why.how), why
    assert why.help.startswith("Write out what it computes, or call it before the loop")  # at::vec has no tgamma
    assert "\nwhat the compiler says:\n" in str(called) and f"         {why}" in str(called)
    assert not read(called._repr_html_()).problems and "it calls a function in each iteration" in called._repr_html_()
    assert li.assembly(kernel(CALLS, "calls"), compiler=compiler, progress=False).remarks is None


def test_what_a_line_calls_counts_for_the_line() -> None:
    """A sample in another library is the line's that called it, by the address of the instruction after the call; perf writes either
    where that was or where it is in the file.
    """
    [built] = build_all([kernel(CALLS, "calls")], Setting("cpu", "g++", progress=False))
    assert built.library is not None
    rows = li.assembly(kernel(CALLS, "calls"), compiler="g++", progress=False).of_line(LINE)
    [call, *_] = [one.address for one in rows if "tgammaf" in one.text]
    [after] = [at for at in (one.address for one in rows) if call < at <= call + 8][:1]
    own, first, shift = os.path.realpath(built.library.path), 0x7F0000000000, 0x1000
    for seen in (first + after, after - shift):
        inside = (
            f"\t 1d tgammaf_r@@GLIBC (/lib/libm.so.6)\n\t {seen:x} forward ({own})\n\t ffff [unknown] ([unknown])\n\n"
        )
        at_line = f"\t {seen - after + call:x} forward ({own})\n\n"
        clock, next_one = (
            "cpu-clock:ppp: \n",
            at_line.replace(f"{seen - after + call:x}", f"{seen - after + call + 1:x}"),
        )
        assert _counted(2 * f"{clock}{next_one}", built, first, shift, "N=1").lines == ((LINE, 1.0),)
        around = "\t 2a _PyEval (anonymous namespace) (/lib/libpython3.so)\n\t 2b main (/bin/python)\n\n"
        system = inside.replace("tgammaf_r@@GLIBC (/lib/libm.so.6)", "asm_timer ([kernel.kallsyms])")
        assert _counted(system, built, first, shift, "N=1").calls == ((LINE, "", "[kernel.kallsyms]", 1.0),)
        way = inside.replace(" 1d tgammaf_r@@GLIBC (/lib/libm.so.6)", f" {seen - after + 16:x} tgammaf@plt ({own})")
        hot = _counted(3 * inside + 3 * at_line + way + around, built, first, shift, "N=1")
        assert hot.calls == ((LINE, "tgammaf_r", "libm.so.6", 3 / 8),)
        waits = "\t 2c gomp_team_barrier_wait (/lib/libgomp.so.1)\n\t 2d start (/lib/libc.so)\n\n"
        assert _counted(3 * at_line + 9 * waits, built, first, shift, "N=1").lines == ((LINE, 1.0),)
        assert (hot.samples, hot.lines, hot.others) == (8, ((LINE, 0.5),), (("libpython3.so", 1 / 8),))


@pytest.mark.full
def test_where_the_time_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By samples, at the line that does the work; without perf, or where it may not look, a sentence stands in their place."""
    need("perf")
    hot = li.assembly(kernel(CALLS, "calls"), compiler="g++", progress=False, hot=(100_000,)).hot
    if hot is not None and hot.missing.startswith("perf took no samples"):
        pytest.skip(f"needs the right to take samples: {hot.missing}")
    assert hot and hot.case == "N=100000, forward" and hot.samples and not hot.missing
    assert sum(share for *_, share in (*hot.lines, *hot.others, *hot.calls)) == pytest.approx(1)
    assert (LINE, "tgammaf", "libm.so.6") in [called[:-1] for called in hot.calls], "its stack leads to the line"
    shown = li.assembly(kernel(), compiler="g++", progress=False, hot=(1_000_000,))
    if shown.hot is not None and shown.hot.missing.startswith("perf took no samples"):
        pytest.skip(f"needs the right to take samples: {shown.hot.missing}")
    assert shown.hot and shown.hot.lines[0][0] == LINE and f"%  {LINE:4} | y[i] = " in str(shown)
    assert not read(shown._repr_html_()).problems and "where the time goes, N=1000000, forward, " in shown._repr_html_()
    only(tmp_path, monkeypatch, "objdump", "addr2line", "as", "ld")
    without = li.assembly(kernel(), compiler=GCC, progress=False, hot=(1,))
    assert "\nWhere the time goes needs perf on PATH, to take samples. " in str(without) and without.loops
    assert "needs perf on PATH" in without._repr_html_()
    (tmp_path / "perf").write_text("#!/bin/sh\necho 'Permission denied' >&2\n")
    (tmp_path / "perf").chmod(0o755)
    (tmp_path / "sh").symlink_to("/bin/sh")
    refused = li.assembly(kernel(), compiler=GCC, progress=False, hot=(1,)).hot
    assert refused and refused.missing.endswith("this system may not allow it, or is too busy: Permission denied")


#: Loops that are not vectorised, each with words of the reason, which must be there, and of its cure.
REASONS = {
    "alias": (
        "for (int64_t i = 0; i < n; ++i) a[i] = d[i] + e[i], b[i] = d[i] * f[i], c[i] = a[i] - f[i] * e[i] / b[i];",
        "an iteration may need what the one before it has written", "__restrict",
    ),
    "carried": (
        "for (int64_t i = 1; i < n; ++i) state = 0.9f * state + d[i], a[i] = state;",
        "an iteration goes on from what the one before it has computed", "",
    ),
    "search": (
        "for (int64_t i = 0; i < n; ++i) { if (d[i] > 1) break; state = float(i); }",
        "", "",
    ),
}  # fmt: skip
LOOPS = TEXTS["loops"]


@pytest.mark.full
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("name", list(REASONS))
def test_the_reason_is_the_first_that_the_compiler_found(name: str, compiler: str) -> None:
    """Not the last one, after it has tried everything else: that arrays may overlap is no matter of types."""
    need(compiler)
    loop, how, help = REASONS[name]
    text = LOOPS.replace("LOOP", loop)
    shown = li.assembly(kernel(text, name), compiler=compiler, progress=False, remarks=True)
    assert shown.remarks
    found = [one for one in shown.remarks if one.what == "not vectorised" and one.line in lines_of(text, loop)]
    assert found and any(how in one.how and help in one.help for one in found), shown.remarks
    assert not any("vectype" in one.how or "data ref" in one.how for one in shown.remarks)


def listed(*rows: str) -> list[Instruction]:
    """Make instructions of `address text`, each of a line of its own."""
    split = [row.split(" ", 1) for row in rows]
    return [Instruction(int(address, 16), text, number) for number, (address, text) in enumerate(split, 1)]


def test_what_is_said_twice_of_a_line_is_one_remark() -> None:
    """A template is compiled for each type, and each may be told something else."""
    printed = "\n".join(
        f"a/b:{line}:9: optimized: loop with {iterations} iterations completely unrolled"
        for line, iterations in ((3, 6), (4, 2), (3, 12), (3, 6))
    )
    assert [str(one) for one in told_in(printed, "a/b", "")] == [
        "unrolled: all its iterations",
        "unrolled: all its iterations",
    ]
    text = "Tensor forward(const Tensor& x) {\n  for (int i = 0; i < 3; ++i)\n    y = at::cat({y, x});"
    assert [one.line for one in told_in(printed.replace(":4:", ":2:"), "a/b", text)] == [2], (
        "line 3 has no loop of its own"
    )


@pytest.mark.parametrize(
    ("calls", "help"),
    [
        (("expf",), "Write out what it computes, call at::vec::Vectorized's function"),
        (("tgammaf",), "Write out what it computes, or call it before the loop"),
        (("operator new", "operator delete"), "Take it once, before the loop"),
        (("a function by its address",), "What a std::function, a pointer or a virtual function calls is not inlined"),
        (("at::Tensor::item", "a function by its address"), "A call of ATen's takes a microsecond or so"),
        (
            ("at::_ops::slice_Tensor::call", "at::_ops::cat::call", "c10::TensorImpl::incref"),
            "Where one grows so, keep the parts",
        ),
        (("at::TensorBase::data_ptr",), "Ask once, before the loop, and keep the answer in a local"),
        (("a function by its address", "c10::detail::maybe_wrap_dim_slow"), "Ask once, before the loop"),
        (
            ("expf", "a function by its address", "c10::detail::maybe_wrap_dim_slow"),
            "Write out what it computes, call at::vec",
        ),
        (("std::map::operator[]", "operator new"), "Where the keys are whole numbers and not too large"),
        (("std::__cxx11::basic_ostringstream::basic_ostringstream", "operator new"), "Compute with numbers"),
        (("pthread_mutex_lock", "pthread_mutex_unlock"), "Gather in a local variable of each thread"),
        (("std::vector::_M_realloc_insert", "operator new"), "Give it its length before the loop"),
        (("std::vector::_M_realloc_insert",), "Give it its length before the loop"),
        (("GOMP_parallel",), "Share out the iterations of the outermost loop"),
        (("pow",), "Multiply, where the exponent is a small whole number"),
    ],
)
def test_what_helps_against_a_call_depends_on_what_is_called(calls: tuple[str, ...], help: str) -> None:
    """The call that takes the time decides, and is named, without those that a compiler makes beside it in rare cases."""
    text = "for (; i < x.size(0);) f();" if "c10::d" in "".join(calls) else ""
    said = explained(Evidence(Remark(1, "not vectorised", "why"), text, calls=calls))
    assert said.help.startswith(help)
    assert ("by its address" in said.how) == (calls == ("a function by its address",)) and "c10" not in said.how


@pytest.mark.parametrize(
    ("loop", "same"),
    [
        ("for (int c = 0; c < n; ++c) {\n y[c] = x[c] * std::exp(-g[r]);\n}", "std::exp(-g[r])"),
        ("for (int c = 0; c < n; ++c) y[c] = x[c] * std::exp(2 * g);", "std::exp(2 * g)"),
        ("for (int c = 0; c < n; ++c) y[c] = std::exp(x[c]);", ""),
        ("for (auto v : x) s += std::exp(v);", ""),
        ("for (int c = 0; c < n; ++c) { const float v = x[c] - m; y[c] = exp(v); }", ""),
        ("for (int c = 0; c < n; ++c) { g *= 0.9f; y[c] = expf(g); }", ""),
        ("for (int c = 0; c < n; ++c) { y[r] += exp(y[r]); }", ""),
        ("for (int c = 0; c < n; ++c) y[c] = exp(next());", ""),
        ("for (int c = 0; c < n; ++c) y[c] = exp(s.next);", ""),
    ],
)
def test_a_call_that_asks_for_the_same_in_each_iteration(loop: str, same: str) -> None:
    """It belongs before the loop, which is said where nothing that it depends on changes, and nowhere else."""
    said = explained(Evidence(Remark(1, "not vectorised", "why"), loop, calls=("expf",)))
    assert (
        (f"`{same}` is the same in all" in said.how) == bool(same) == (said.help == "Compute it once, before the loop.")
    )
    roots = loop.replace("exp(", "sqrt(").replace("expf", "sqrtf")
    root = explained(Evidence(Remark(1, "not vectorised", "why"), roots, [looped("vsqrtss xmm0,xmm0,xmm0|jne 0")]))
    assert (root.help == said.help) == bool(same)


@pytest.mark.parametrize(
    ("iteration", "twice"),
    [
        ("y[i] = std::exp(x[i]) / (1 + std::exp(x[i]));", "std::exp(x[i])"),
        ("const float v = x[i] - m; y[i] = exp(v) / (1 + exp(v));", "exp(v)"),
        ("y[i] = std::exp(x[i]) / (1 + std::exp(-x[i]));", ""),
        ("y[i] = std::exp(x[i]) + std::exp(x[i + 1]);", ""),
        ("m = std::exp(m) + x[i]; m = std::exp(m);", ""),
        ("y[i] = std::exp(y[i]); y[i] = std::exp(y[i]);", ""),
        ("y[i] = std::exp(next()) + std::exp(next());", ""),
    ],
)
def test_a_call_that_an_iteration_makes_twice(iteration: str, twice: str) -> None:
    """No compiler makes one of two, as the function may set errno."""
    text = f"for (int i = 0; i < n; ++i) {{ {iteration} }}"
    said = explained(Evidence(Remark(1, "not vectorised", "why"), text, calls=("expf",)))
    assert said.how == "it calls a function in each iteration" + f", `{twice}` more than once" * bool(twice) + " (expf)"
    assert (said.help == "Compute it once in an iteration, in a local variable.") == bool(twice)


def test_beside_a_call_a_place_that_is_written_counts_for_nothing() -> None:
    """What joins tensors writes the same pointer in each iteration: no sum is to be kept in a local for that."""
    loop = "call 9 <at::_ops::cat::call>|mov QWORD PTR [r14],rax|inc rbx|cmp rbx,rcx|jne 0"
    assert Loop(tuple(listed(*(f"{at} {one}" for at, one in enumerate(loop.split("|")))))).pace == (
        "no calculation with floats or doubles"
    )


def of_loop(text: str, loop: str, hot: Hot | None = None) -> Assembly:
    """Make the machine code of a loop, all of which belongs to line 2 of a text."""
    rows = tuple(Instruction(at, each, 2) for at, each in enumerate(loop.split("|")))
    return Assembly("k", "a compiler", text, (Routine("f", rows, (Loop(rows),)),), hot=hot)


COLUMNS = "for (int j = 0; j < m; ++j) for (int k = 0; k < n; ++k)\n  s += a[k] * b[k * m + j];"
FAR_APART = "vmovss xmm1,DWORD PTR [rcx]|vfmadd231ss xmm0,xmm1,DWORD PTR [rax]|add rax,0x4|add rcx,r15|jne 0"


@pytest.mark.parametrize(
    "told", [Remark(2, "not vectorised", Why.SUM), Remark(1, "vectorised", "16 numbers at a time")]
)
def test_a_walk_along_a_column_goes_before_the_order_of_a_sum(told: Remark) -> None:
    """As in a product of matrices; also where a compiler says that it made a loop of vectors, for steps of one, beside this one."""
    [said] = _remarks_of(of_loop(COLUMNS, FAR_APART), [told])
    assert said.how.endswith(Why.FAR) and said.help.startswith(
        "Let the loop over `j` be the inner one: then neighbours"
    )
    turned = FAR_APART.replace("xmm0,xmm1,DWORD PTR [rax]", "xmm1,xmm1,xmm0|vmovss DWORD PTR [rax],xmm1")
    over = COLUMNS.replace("s += a[k] *", "a[j * n + k] =")
    [other_way] = _remarks_of(of_loop(over, turned), [replace(told, how=Why.UNCLEAR)])
    assert Why.FAR in other_way.how and other_way.help.startswith(
        "Where `j` and `k` change places, one side goes far whichever"
    )
    along = COLUMNS.replace("k * m + j", "j * m + k")
    [side_by_side] = _remarks_of(of_loop(along, FAR_APART.replace("add rcx,r15", "add rcx,0x4")), [told])
    assert Why.FAR not in side_by_side.how and "the inner one" not in side_by_side.help


ROWS = "for (int64_t c = 0; c < C; ++c) {{ float s = 0; for (int64_t r = 0; r < R; ++r)\n  {{ {} }} y[c] = s; }}"


ITERATION = "inc eax|jne 0"
SWAP, TILES = (
    "Let the loop over `c` be the inner one",
    "Where `c` and `r` change places, one side goes far whichever loop",
)


@pytest.mark.parametrize("told", [Why.SUM, Why.UNCLEAR, "vectorised"])
@pytest.mark.parametrize(
    ("iteration", "helps"),
    [
        ("s += x[r * C + c];", SWAP),
        ("y[r * C + c] = 2 * x[C * r + c];", SWAP),
        ("s = 0.9f * s + x[r * C + c]; y[r * C + c] = s;", SWAP),
        ("s = std::max(s, x[r * C + c]);", SWAP),
        ("const int64_t at = r * C + c; y[at] = x[at];", SWAP),
        ("s += x[r][c];", SWAP),
        ("s += a[r] * x[b][r][c + 1];", SWAP),
        ("y[c * R + r] = x[r * C + c];", TILES),
        ("y[c][r] = x[r][c];", TILES),
        ("const int64_t at = c * R + r; y[at] = x[r * C + c];", TILES),
        ("float* row = y + c * R; row[r] = x[r * C + c];", ""),
        ("y[(c + 1) * R + r] = x[r * C + c];", TILES),
        ("y[place(c, r)] = x[r * C + c];", ""),
        ("s += x[k[r] + 7 * c];", ""),
        ("s += p[r * C] * x[c];", ""),
    ],
)
def test_another_inner_loop_is_named_where_it_leads_nowhere_far(iteration: str, helps: str, told: str) -> None:
    """What goes along a row for the loop around, and far for this one; a transpose goes far either way.

    Whatever the compiler says of it, and whatever the machine code shows besides.
    """
    text = ROWS.format(iteration)
    one = Remark(1, told, "8 bytes at a time") if told == "vectorised" else Remark(2, "not vectorised", told)
    early, steps = text.replace(" } y[c]", " if (s > 9) break; } y[c]"), text.replace("++c", "c += 64")
    for other in (early, steps):  # to look for something may end soon, and a step leads over neighbours
        [none] = _remarks_of(of_loop(other, FAR_APART), [one])
        assert other != text and "over `c`" not in none.help
    known = FAR_APART.replace("add rcx,r15", "add rcx,0x400")  # by how far the compiler knows, as for a row of 64
    if told != "vectorised" and helps == SWAP:
        assert _remarks_of(of_loop(text, known), [one])[0].help.startswith("Let the loop over `c`")
    [said] = _remarks_of(of_loop(text, FAR_APART), [one])
    assert said.how.endswith(Why.FAR) and said.help.startswith(helps) and bool(said.help) == bool(helps)
    assert ("is then an array, with one for each `c`" in said.help) == (helps == SWAP and iteration.startswith("s "))


def test_a_sum_of_which_g_plus_plus_says_that_it_does_not_see_its_places() -> None:
    """It makes vectors of it in another order; and vectors of the loop around it are for when it has no iteration at all."""
    text = "for (int i = 0; i < n; ++i) { double s = 0;\n  for (int j = 0; j < w; ++j) s += v[j] * x[i + j];\n  y[i] = s; }"
    told = [
        Remark(1, "vectorised", "16 numbers at a time"),
        Remark(2, "not vectorised", Why.UNCLEAR_PLACES, "Copy pointers."),
    ]
    [said] = _remarks_of(of_loop(text, ITERATION), told)
    assert said.how == Why.SUM and "`#pragma omp simd reduction(+:s)`" in said.help
    assert said.help.endswith("lets it be wide, which pays where iterations are many: time both.")


@pytest.mark.parametrize(
    ("iteration", "place"),
    [
        ("++count[p[i]];", "count[p[i]]"),
        ("count[p[i]]++;", "count[p[i]]"),
        ("count[k[i] * 2 + 1] += w[i];", "count[k[i] * 2 + 1]"),
        ("const int64_t at = p[i]; count[at] += 1;", "count[at]"),
        ("count[i] += w[i];", ""),
        ("count[p[i]] = w[i];", ""),
    ],
)
def test_a_histogram_waits_for_itself(iteration: str, place: str) -> None:
    """Of grey levels most of which are the same, four tables took a third of the time, by both compilers; nothing else helped."""
    text = f"for (int64_t i = 0; i < n; ++i)\n  {{ {iteration} }}"
    [said] = _remarks_of(of_loop(text, ITERATION), [Remark(2, "not vectorised", Why.COMPUTED, "Take `int64_t`.")])
    if place:
        assert said.how == (
            f"each iteration adds to a place that data give, as in `{place}`: where neighbours give the same one, each waits for the one "
            "before it"
        )
        assert said.help == "Where that is so, add to four tables in turn, and add these up at the end."
    else:
        assert (said.how, said.help) == (Why.COMPUTED, ""), "no number may wrap"
        [wraps] = _remarks_of(
            of_loop(text.replace("int64_t i", "int i"), ITERATION),
            [Remark(2, "not vectorised", Why.COMPUTED, "Take `int64_t`.")],
        )
        assert wraps.help == ("Take `int64_t`." if iteration.startswith("count[i]") else "")


@pytest.mark.parametrize(
    ("function", "line", "how", "help"),
    [
        ("using Point = std::vector<float>;\nfloat apart(Point a, const Point b)", "y[i] = apart(p[i], p[0]);",
         "memory for a copy in each iteration: apart takes `Point a`, `Point b` by value", "Take `const Point& a`, `const Point& b`."),
        ("\nfloat apart(const std::vector<float>& a, std::string b)", "y[i] = apart(p[i], q);",
         "memory for a copy in each iteration: apart takes `std::string b` by value", "Take `const std::string& b`."),
        ("\nfloat apart(const std::vector<float>& a, int b)", "y[i] = apart(p[i], 1);",
         "memory in each iteration, perhaps (operator new)", "Take it once, before the loop."),
        ("\nfloat apart(std::vector<float> a)", "float* t = new float[9]; y[i] = g(t);",
         "memory in each iteration, perhaps (operator new)", "Take it once, before the loop."),
        ("\nfloat apart(int a)", "for (auto row : rows) y[i] += row[0];",
         "memory for a copy in each iteration: `row`", "Take `const auto& row`."),
    ],
)  # fmt: skip
def test_what_is_copied_in_each_turn_is_named(function: str, line: str, how: str, help: str) -> None:
    """A container that a function takes by value: to take it by reference was 4 to 6 times as fast; it goes before what else is slow."""
    text = f"{function} {{ return 0; }}\nfor (int64_t i = 0; i < n; ++i) {{\n  {line} }}"
    called = replace(of_loop(text, "call 9 <operator new>|jne 0"), hot=None)
    rows = tuple(replace(one, line=4) for one in called.loops[0].instructions)
    called = replace(called, routines=(Routine("f", rows, tuple(loops_of(rows))),))
    told = _remarks_of(called, [])
    assert [(one.line, one.how, one.help) for one in told if one.what == "allocates"] == [(4, how, help)]
    slow = replace(called, remarks=(Remark(3, "not vectorised", Why.SUM, "No order."), *told))
    for function_, is_first in (("operator new", True), ("expf", False)):
        timed = Hot("N=1", 9, ((3, 0.8),), (), ((4, function_, "libc.so.6", 0.2),))
        shown = _by_time(replace(slow, hot=timed))
        [first, *_] = shown.remarks or ()
        assert (first.what == "allocates") == is_first
        assert f"   20%     4 | {line[:40]}" in str(shown) and shown._repr_html_().count(">share</th>") == 2
    noise = Remark(4, "not vectorised", "it has other loops in it")
    assert noise not in _remarks_of(called, [noise]), "where something is known that helps"


@pytest.mark.parametrize(
    ("body", "call", "is_told"),
    [
        ("float s = 0; for (int j = 0; j < n; ++j) s += x[j]; return s;", "mean(row, n)", True),
        ("float s = 0; for (int j = 0; j < n; ++j) s += x[j]; return s;", "mean(row + i, n)", False),
        ("float s = 0; for (int j = 0; j < n; ++j) s += x[j]; return s;", "mean(y, n)", False),
        ("float s = 0; for (int j = 0; j < n; ++j) s += x[j]; return s;", "mean(all.row(), n)", False),
        ("float s = 0; for (int j = 0; j < n; ++j) s += rand(); return s;", "mean(row, n)", False),
        ("for (int j = 0; j < n; ++j) x[j] = 0; return 1;", "mean(row, n)", False),
        ("return x[0] / n;", "mean(row, n)", False),
    ],
)
def test_what_is_computed_again_for_each_element_is_named(body: str, call: str, is_told: bool) -> None:
    """As the mean of a row, of which a layer norm needs one and took one for each element: 235 times as long, by both compilers."""
    text = f"float mean(float* x, int n) {{ {body} }}\nfor (int64_t i = 0; i < n; ++i)\n  y[i] = row[i] - {call};\nfloat m = mean(y, 9);"
    told = _remarks_of(of_loop(text, ITERATION), [])
    assert [str(one) for one in told if one.what == "repeats"] == [
        f"repeats: `{call}` in each iteration, which is the same in all as far as the text shows. "
        "Compute it once, before the loop over `i`."
    ] * is_told
    assert all(one.line == 3 for one in told)


@pytest.mark.parametrize("how", [Why.UNCLEAR_PLACES, Why.BRANCHES])
def test_a_store_to_one_place_goes_before_what_a_compiler_does_not_see(how: str) -> None:
    """A sum in memory is one whether or not the compiler knows that it is."""
    text = "for (int i = 0; i < n; ++i)\n  if (x[i] > 0) y[0] += x[i];"
    loop = "vaddss xmm0,xmm0,DWORD PTR [rcx+rax*4]|vmovss DWORD PTR [rdx],xmm0|inc rax|jne 0"
    told = Remark(2, "not vectorised", how, "another cure")
    [said] = _remarks_of(of_loop(text, loop), [told])
    assert said.how == Why.ONE_PLACE and said.help.startswith(f"{IN_A_LOCAL} with `#pragma omp simd reduction(+:s)`")
    [largest] = _remarks_of(of_loop(text.replace("y[0] += x[i]", "y[0] = x[i]"), loop), [told])
    assert (largest.how, largest.help) == (Why.ONE_PLACE, Why.ONE_PLACE.help), (
        "of what is no sum, no name of an operation is known"
    )
    [along] = _remarks_of(of_loop(text, loop.replace("[rdx]", "[rdx+rax*4]")), [told])
    assert along.how == how


def test_a_histogram_has_no_cure_for_its_index() -> None:
    """Its iterations do share elements, in whichever type the index is computed."""
    text = "for (int i = 0; i < n; ++i) {\n  const int k = x[i]; y[k] += 1;\n}"
    loop = "movsxd rdx,DWORD PTR [rax]|add DWORD PTR [rcx+rdx*4],0x1|add rax,0x4|jne 0"
    told = Remark(2, "not vectorised", Why.COMPUTED, "take `int64_t`")
    [said] = _remarks_of(of_loop(text, loop), [told])
    assert "as in `y[k]`" in said.how and "int64_t" not in said.help
    assert _remarks_of(of_loop(text.replace("+=", "="), loop), [told]) == (told,)


def test_an_atomic_variable_is_no_sum_for_simd() -> None:
    """clang++ says that it goes on from iteration to iteration, and it is no matter of that."""
    loop = "vcomiss xmm0,xmm1|mov rdx,QWORD PTR [rcx]|lock add QWORD PTR [rdx],0x1|inc rax|jne 0"
    text = "for (int i = 0; i < n; ++i)\n  k++;"
    [said] = _remarks_of(of_loop(text, loop), [Remark(2, "not vectorised", Why.CARRIED)])
    assert (said.how, said.help) == (Why.ATOMIC, Why.ATOMIC.help)


def test_threads_that_are_started_in_a_loop_around_others() -> None:
    """The call is of no line by clang++'s table, and has an inner loop beside it, where one thread does all."""
    text = "for (;;)\n  at::parallel_for(0, n, 1, [&](int b, int e) {\n    for (;;) x();\n  });"
    rows = ["mov eax,1", "add rax,2", "jne 1", "call 9 <torch_parallel_for>", "jne 0"]
    lines = [2, 3, 3, 0, 1]
    whole = tuple(Instruction(at, each, line) for at, (each, line) in enumerate(zip(rows, lines, strict=True)))
    shown = Assembly("k", "a compiler", text, (Routine("f", whole, (Loop(whole[1:3]),)),))
    told = [Remark(3, "vectorised", "64 bytes at a time")]
    remarks = _remarks_of(shown, told)
    first, *_ = (
        _by_time(replace(shown, remarks=remarks, hot=Hot("N=1", 9, ((3, 0.1),), (("libgomp.so.1", 0.8),)))).remarks
        or ()
    )
    assert "torch_parallel_for" in first.how
    printed = "a/b:2:9: missed: not vectorized: control flow in loop.\na/b:2:9: missed: couldn't vectorize loop"
    assert not told_in(printed, "a/b", text), "of a loop that parallel_for has"


@pytest.mark.parametrize("at", [0, 20])
def test_of_two_versions_the_one_that_takes_the_time_counts(at: int) -> None:
    """clang++ makes one of vectors, for a step of one, and one for others: which is run is known when it has run."""
    rows = tuple(Instruction(index, each, 2) for index, each in enumerate(FAR_APART.split("|")))
    wide = tuple(Instruction(20 + index, each, 2) for index, each in enumerate(["vaddps zmm0,zmm0,zmm1", "jne 20"]))
    shown = Assembly("k", "a compiler", COLUMNS, (Routine("f", rows + wide, (Loop(rows), Loop(wide))),))
    remarks = _remarks_of(shown, [Remark(1, "vectorised", "16 numbers at a time")])
    assert [one.how for one in remarks] == ["16 numbers at a time"]
    hot = Hot("N=1, forward", 9, ((2, 1.0),), at=((at, 0.9), (at + 1, 0.1)))
    [said] = _by_time(replace(shown, remarks=remarks, hot=hot)).remarks or ()
    assert (Why.FAR in said.how) == ("over `j`" in said.help) == (at == 0)
    steps = Remark(1, "not vectorised", f"with steps longer than one, {Why.FAR}", said.help)
    assert said == (remarks[0] if at else steps)


@pytest.mark.parametrize(
    "read", ["vinsertps xmm0,xmm1,DWORD PTR [rbx+r15*1],0x10", "vgatherqps ymm0{k1},DWORD PTR [rbx+zmm1*4]", ""]
)
def test_vectors_of_numbers_that_lie_far_apart(read: str) -> None:
    """g++ makes vectors of them, too, and puts each together of numbers that it reads one by one: that takes the time."""
    iteration = ["vmovss xmm1,DWORD PTR [rbx]", read, "add rbx,r10", "vfmadd213ps ymm0,ymm0,YMMWORD PTR [r13]"]
    rows = tuple(
        Instruction(at, text, 2)
        for at, text in enumerate([*filter(None, iteration), "add r13,0x20", "cmp rdi,r13", "jne 0"])
    )
    shown = Assembly("k", "a compiler", COLUMNS, (Routine("f", rows, (Loop(rows),)),))
    hot = Hot("N=1, forward", 9, ((2, 1.0),), at=((1, 0.9),))
    told = Remark(1, "vectorised", "32 bytes at a time")
    for remarks in ((told,), _remarks_of(shown, [told])):
        [said] = _by_time(replace(shown, remarks=remarks, hot=hot)).remarks or ()
        assert said.how.count(Why.FAR) == bool(read) and said.is_good == (not read)


def test_what_is_true_of_two_statements_of_a_loop_is_said_once() -> None:
    """As where clang++ speaks of each call of a loop by itself."""
    text = "for (;;) {\n  f();\n  g();\n}\nfor (;;) f();"
    told = [Remark(line, "not vectorised", "it calls a function") for line in (3, 2, 5)]
    assert [one.line for one in _remarks_of(of_loop(text, "inc rax|jne 0"), told)] == [2, 5]


def test_a_loop_of_which_the_compiler_says_nothing() -> None:
    """g++ is silent where an exception may lead out of a loop; its machine code shows what it calls."""
    text = "for (int i = 0; i < n; ++i)\n  y = at::cat({y, x});"
    [said] = _remarks_of(of_loop(text, "call 9 <at::_ops::cat::call>|jne 0"), [])
    assert (
        said.line == 1
        and said.how == "it joins tensors in each iteration, which copies all of them (at::_ops::cat::call)"
    )
    for called in (
        "c10::TensorImpl::incref",
        "memcpy",
        "gemm",
    ):  # which nobody has asked for, or which may do much in a call
        assert not _remarks_of(of_loop(text, f"call 9 <{called}>|jne 0"), [])


def test_what_takes_the_time_is_said_first() -> None:
    """Where it goes stands before the machine code, and what is said of those lines before the rest."""
    text = "for (;;)\n  f();\nfor (;;)\n  g();"
    hot = Hot("N=1, forward", 10, ((4, 0.7), (2, 0.2)))
    said = (Remark(1, "not vectorised", "cold"), Remark(3, "not vectorised", "hot"), Remark(4, "inlined", "g"))
    shown = _by_time(replace(of_loop(text, "vaddss xmm0,xmm0,xmm1|jne 0", hot), remarks=said))
    assert shown.remarks == (said[1], said[0], said[2])
    places = [str(shown).index(part) for part in ("where the time goes", "hot", "cold", "loop at line 2")]
    assert places == sorted(places)


IN_A_LOCAL = (
    "Compute it in a local variable `s`, written to memory when the loop is done, and, where the order does not matter,"
)


@pytest.mark.parametrize(
    ("loop", "help"),
    [
        (
            "for (int i = 0; i < n; ++i) {\n s += x[i];\n}",
            "Where the order does not matter, `#pragma omp simd reduction(+:s)`",
        ),
        (
            "for (int i = 0; i < n; ++i) m = std::max(m, x[i]);",
            "Where no number is NaN or infinite, flags=('-ffinite-math-only', '-fno-signed-zeros') lets it be wide.",
        ),
        (
            "for (int i = 0; i < n; ++i) if (x[i] > 0) k++;",
            "Where the order does not matter, `#pragma omp simd reduction(+:k)`",
        ),
        ("for (int i = 0; i < n; ++i) { const float v = x[i]; s += v; p *= v; }", "reduction(+:s) reduction(*:p)`"),
        (
            "for (int i = 0; i < n; ++i) y[r] += x[i];",
            f"{IN_A_LOCAL} with `#pragma omp simd reduction(+:s)` above the loop",
        ),
        (
            "for (int i = 0; i < n; ++i) y[0] *= x[i];",
            f"{IN_A_LOCAL} with `#pragma omp simd reduction(*:s)` above the loop",
        ),
        (
            "for (int i = 0; i < n; ++i) { m = std::max(m, x[i]); s += x[i]; }",
            "Where the order does not matter, flags=('-ffast-math',)",
        ),
        ("for (int i = 0; i < n; ++i) y[i] += x[i];", ""),
        ("for (int i = 0; i < n; ++i) { const int k = a[i]; y[k] += x[i]; }", ""),
        (
            "for (float v : x) s += v;",
            "flags=('-ffast-math',), or `#pragma omp simd reduction(+:s)` above a loop over an index",
        ),
        ("for (; p < q; ++p) s += *p;", "flags=('-ffast-math',), or `#pragma omp simd reduction(+:s)"),
        ("for (int i = 0; i < n; ++i) { y[i] = x[i] * e; e *= 0.9f; }", ""),
        ("for (int i = 0; i < n; ++i) if (x[i] > 0) y[k++] = x[i];", ""),
        ("for (int i = 0; i < n; ++i) if (x[i] > 0) { y[k] = x[i]; ++k; }", ""),
        ("for (int i = 0; i < n; ++i) { y[k] = x[i]; k += x[i] > 0; }", ""),
        ("for (int i = 0; i < n; ++i) if (x[i] > best) { best = x[i]; at = i; }", ""),
        ("for (int i = 0; i < n; ++i) { s = 0.5f * s + x[i]; y[i] = s; }", ""),
        ("for (int i = 0; i < n; ++i) { s += x[i]; if (x[i] > 9) break; }", ""),
    ],
)
def test_another_order_is_for_what_only_its_end_counts_of(loop: str, help: str) -> None:
    """A sum, a product or a maximum that nothing in the loop reads; no filter, no counter by which it writes, no place of a maximum."""
    said = another_order(Evidence(Remark(1, "not vectorised", Why.CARRIED), loop))
    assert help in said and bool(help) == bool(said)


@pytest.mark.parametrize(
    ("loop", "help"),
    [
        ("for (int i = 1; i < n; ++i) y[i] = y[i - 1] + x[i];", ""),
        ("for (int i = 0; i < n; ++i) y[k[i]] += x[i];", ""),
        ("for (int i = 0; i < n; ++i) y[at(i)] = x[i];", ""),
        ("for (int i = 0; i < n; ++i) { const int k = x[i]; y[k] += 1; }", ""),
        ("for (int i = 0; i < n; ++i) { const int k = 2 * i; y[k] = x[i]; }", "Where that is not so, say it"),
        ("for (int i = 0; i < n; ++i) y[r] += x[i];", "Compute it in a local variable `s`"),
        ("for (int i = 0; i < n; ++i) if (x[i] > 0) y[0] += 1;", "Compute it in a local variable `s`"),
        ("for (int i = 0; i < n; ++i) y[i] += x[i + 1];", "Where that is not so, say it"),
    ],
)
def test_turns_are_said_apart_only_where_they_can_be(loop: str, help: str) -> None:
    """No `__restrict` and no `simd` where an iteration reads what the one before it has written, or where two may write one element."""
    one = Remark(1, "not vectorised", Why.MAY_NEED, "Where that is not so, say it")
    said = because_of_memory(Evidence(one, loop)).help
    assert help in said and bool(help) == bool(said)


@pytest.mark.parametrize(
    ("loop", "how", "help"),
    [
        ("for (int i = 0; i < n && e > 0; ++i) {\n y[i] = e;\n}", "the loop may end early", False),
        ("for (int i = 0; i < n; ++i) {\n if (x[i] > 3) break;\n}", "the loop may end early", False),
        ("for (int i = 0; i < n; ++i) {\n if (x[i] > 3) y[i] = 3;\n}", Why.BRANCHES, True),
        ("for (int i = 0; i < n; ++i) {\n y[i] = x[i];\n}", Why.BRANCHES, False),
        (
            "for (int i = 0; i < n; ++i) {\n if (x[i]) for (j = 0; j < m; ++j) for (k = 0; k < m; ++k) y[i] = 3;\n}",
            Why.BRANCHES,
            True,
        ),
        (
            "for (int i = 0; i < n; ++i) {\n y[i] = 0; for (j = 0; j < m; ++j) if (x[j] > 3) y[i] = 3;\n}",
            Why.BRANCHES,
            False,
        ),
    ],
)
def test_a_loop_that_may_end_early_has_no_if_to_take_out(loop: str, how: str, help: bool) -> None:
    """That it ends early may be what makes it fast."""
    said, uncounted = (
        because_of_branches(Evidence(Remark(1, "not vectorised", why, why.help), loop))
        for why in (Why.BRANCHES, Why.UNCOUNTED)
    )
    assert said.how == how and bool(said.help) == help
    assert "?" in said.help or not help
    assert bool(uncounted.help) == (how == Why.BRANCHES)


@pytest.mark.parametrize("how", [Why.MAY_NEED, Why.UNCLEAR_PLACES, Why.CARRIED])
def test_eight_numbers_in_a_byte(how: str) -> None:
    """Iterations of a loop over a std::vector<bool> do share memory, so no pragma may say that they do not."""
    text = "std::vector<bool> keep(n);\nfor (int i = 0; i < n; ++i) keep[i] = x[i] > 0;"
    told = Remark(2, "not vectorised", how, "a cure")
    [said] = _remarks_of(of_loop(text, "inc rax|jne 0"), [told])
    assert said.how.startswith("a std::vector<bool> has eight numbers in a byte") and said.help.startswith(
        "Take std::vector<char>"
    )
    [other] = _remarks_of(of_loop(text.replace("<bool>", "<char>"), "inc rax|jne 0"), [told])
    assert other.how == how


def test_a_ring_goes_round_without_a_division() -> None:
    """The place in it goes on from iteration to iteration, and it is the division that takes the time."""
    text = "for (int i = 0; i < n; ++i)\n  at = (at + 1) % k, y[i] = buf[at];"
    [said] = _remarks_of(
        of_loop(text, "cqo|idiv rcx|mov rdx,rax|inc rbx|jne 0"), [Remark(2, "not vectorised", Why.CARRIED)]
    )
    assert said.how == Why.DIVISION and said.help.endswith("for `at = (at + 1) % n`, `if (++at == n) at = 0;`.")


def test_a_look_up_takes_no_memory_in_each_turn() -> None:
    """Only where a key is new, which is to be kept."""
    loop = "cmp QWORD PTR [rax+0x8],rsi|je 9|mov rax,QWORD PTR [rax]|test rax,rax|jne 0"
    text = "std::unordered_map<int, float> table;\nfor (int i = 0; i < n; ++i) y[i] = table[k[i]];"
    rows = tuple(
        Instruction(at, each, 2) for at, each in enumerate([*loop.split("|"), "call 9 <operator new>", "jne 0"])
    )
    shown = Assembly("k", "a compiler", text, (Routine("f", rows, (Loop(rows[:5]),)),))
    assert not _remarks_of(shown, [])
    assert _remarks_of(replace(shown, text=text.replace("table[k[i]]", "made(k[i])")), []), "by another call it does"


@pytest.mark.parametrize("what", ["vectorised", "not vectorised"])
@pytest.mark.parametrize(
    ("inner", "says", "helps"),
    [
        ("(int j = 0; j <= i; ++j) s += x[j];", "", ""),
        (
            "(int j = 0; j < n; ++j) s += std::exp(x[j] - w[b]);",
            "computes the same for each `i`",
            "Do it once, before",
        ),
        ("(int j = 0; j < n; ++j) s += x[j] < x[i];", "", ""),
        ("(int j = 0; j <= i; ++j) s += x[i - j] * w[j];", "", ""),
        ("(int j = i; j < n; ++j) s += x[j];", "", ""),
        ("(int j = 0; j < i / 2; ++j) s += x[j];", "", ""),
        ("(int j = 0; j < n; ++j) s += y[j];", "", ""),
        ("(int j = 0; j < n; ++j) s += x[j] * g;", "", ""),
        ("(int j = 0; j < k; ++j) s += x[j];", "", ""),
        ("(int j = 0; j < n; ++j) s += next(j);", "", ""),
    ],
)
def test_a_sum_that_begins_again(inner: str, says: str, helps: str, what: str) -> None:
    """What each iteration of the loop around it computes anew, though it is the same; and nothing else."""
    text = f"for (int i = 0; i < n; ++i) {{\n float s = 0; k += 2; g = i;\n for {inner}\n y[i] = s;\n}}"
    [said] = _remarks_of(of_loop("\n" + text, "inc rax|jne 0"), [Remark(4, what, Why.CARRIED)])
    assert (", but " in said.how) == (bool(says) and what == "vectorised") and says in said.how and helps in said.help
    [alone] = _remarks_of(
        of_loop("\n" + text.replace("float s = 0;", ""), "inc rax|jne 0"), [Remark(4, what, Why.CARRIED)]
    )
    for more in ("y[i] = s; step(x);", "y[i] = s; *(x + i) = s;", "y[i] = s; row.add(1);"):
        [unknown] = _remarks_of(
            of_loop("\n" + text.replace("y[i] = s;", more), "inc rax|jne 0"), [Remark(4, what, Why.CARRIED)]
        )
        assert ", but " not in unknown.how, "what it adds up may change meanwhile"
    assert ", but " not in alone.how, "a sum over both loops begins but once"


def test_what_is_in_locals_need_not_be_copied_into_locals() -> None:
    """Only a member, or a call, may hide a pointer or a size."""
    for body, helps in (
        ("y[n] = x[i]; n += x[i] > 0.0f", False),
        ("if (x[i] > 0) y[n++] = 1", False),
        ("y[i] = s.x[i]", True),
        ("y[i] = int(x[i])", False),
    ):
        one = Remark(1, "not vectorised", Why.UNCLEAR_PLACES, "Copy pointers and sizes into locals before the loop.")
        assert bool(because_of_branches(Evidence(one, f"for (int i = 0; i < k; ++i) {{ {body}; }}")).help) == helps


def test_what_the_text_has_no_loop_for_is_not_told() -> None:
    """Neither line 0, nor that of a function of ATen's with a loop in it."""
    text = "float f() {\n  at::parallel_for(0, n, 1, g);\n  for (;;)\n    y[i] = x[i];\n}"
    printed = "\n".join(
        f"a/b:{line}:9: missed: not vectorized: control flow in loop.\na/b:{line}:9: missed: couldn't vectorize loop"
        for line in (0, 2, 3)
    )
    assert [one.line for one in told_in(printed, "a/b", text)] == [3]


def test_a_lambda_is_not_the_function_around_it() -> None:
    """Either compiler names it by that function, which is itself inlined nowhere."""
    text = "float near(float x) { return x; }\nfloat f(float x) { g([&] { return near(x); }); }"
    printed = """\
a/b:2:9: remark: '_ZZ1ffENK3$_0clEv' inlined into '_Z1gv' with (cost=5, threshold=250) [-Rpass=inline]
a/b:2:9: optimized:  Inlining f(float)::<lambda()>/7 into void g()/3.
a/b:2:9: remark: '_ZN2at12parallel_forIZ1ffE3$_0EEvlllRKT_' inlined into '_Z1ff' with (cost=5, threshold=250) [-Rpass=inline]
a/b:2:9: remark: '_Z4nearf' inlined into '_ZZ1ffENK3$_0clEv' with (cost=5, threshold=250) [-Rpass=inline]"""
    assert [one.how for one in told_in(printed, "a/b", text)] == ["near"]


def test_a_compiler_that_says_nothing() -> None:
    """As with -O0: there are no remarks, and that is no error."""
    assert told_in("", "a/b", "float f();") == ()
    plain = (
        "a/b:4:9: remark: the cost-model indicates that vectorization is not beneficial [-Rpass-missed=loop-vectorize]"
    )
    assert [one.what for one in told_in(plain, "a/b", "")] == ["not vectorised"], (
        "all that clang++ says of it with AVX2"
    )


def test_nothing_is_said_of_what_is_generated() -> None:
    """The function that calls a snippet stands behind it, and is nobody's to mend."""
    text = "float f() {}\n// What the playground calls: f, with\nfloat forward() { f(); }\n"
    assert told_in("a/b:1:1: optimized: loop vectorized using 32 byte vectors", "a/b", text)
    assert not told_in("a/b:3:1: optimized: loop vectorized using 32 byte vectors", "a/b", text)


def test_what_only_gcc_understands_is_told_in_a_sentence() -> None:
    """Of a loop around others, and of one with several ways through it."""
    for said, how in (
        ("loop nest containing two or more consecutive inner loops cannot be vectorized", "it has other loops in it"),
        ("bad loop form.", "an iteration branches, or the loop may end early"),
    ):
        [one] = told_in(f"a/b:4:9: missed: not vectorized: {said}\na/b:4:9: missed: couldn't vectorize loop", "a/b", "")
        assert one.how == how and one.help


def test_what_decides_goes_before_what_was_found_out_first() -> None:
    """Of an index that g++ cannot follow it says first that arrays may overlap, which `__restrict` would not change."""
    printed = """\
a/b:4:59: missed:  failed: evolution of base is not affine.
a/b:4:47: missed:   versioning for alias required: can't determine dependence between *_3 and *_10
a/b:4:59: missed:   possible alias involving gather/scatter between *_8 and *_10
a/b:4:25: missed: couldn't vectorize loop
a/b:7:59: missed:  failed: evolution of base is not affine.
a/b:7:56: missed:   not vectorized: relevant stmt not supported: _5 = i_24 % k_17(D);
a/b:7:25: missed: couldn't vectorize loop
a/b:9:47: missed:   not vectorized, possible dependence between data-refs *_4 and *_7
a/b:9:25: missed: couldn't vectorize loop"""
    computed, divided, carried = told_in(printed, "a/b", "")
    assert (
        computed.how
        == "which elements it reads or writes is computed in each iteration, and the compiler cannot tell whether iterations share some"
    )
    assert divided.how == "it divides whole numbers, which no vector does"
    assert carried.help.startswith("Where no iteration does, say so: `float* __restrict y`")
    assert "restrict" not in f"{computed.help}{divided.help}" and "simd" not in f"{computed.help}{divided.help}"


@pytest.mark.full
def test_an_index_that_is_computed() -> None:
    """The division is named, by its instruction: g++ says so only with `__restrict`, which does not help."""
    loop = "for (int64_t i = 0; i < n; ++i) a[i] = d[i] * e[i % (n / 2 + 1)];"
    text = LOOPS.replace("LOOP", loop)
    apart = re.sub(r"float\* (?=[a-f]\b)", "float* __restrict ", text)
    for one, how in ((text, "it divides whole numbers"), (apart, "it divides whole numbers")):
        remarks = li.assembly(kernel(one, "computed"), compiler="g++", progress=False, remarks=True).remarks
        assert [how in said.how for said in remarks or () if said.what == "not vectorised"] == [True], remarks


@pytest.mark.full
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_constant_that_is_a_double(compiler: str) -> None:
    """A loop that goes from float to double and back says so, and what asks for that."""
    need(compiler)
    said = "from float to double and back (a constant like 0.5 asks for that: 0.5f does not)"
    assert said not in str(li.assembly(kernel(), compiler=compiler, progress=False))
    doubles = kernel(LOOP.replace("T(FACTOR) * x[i]", "x[i] * 0.3 + 0.7"), "doubles")
    assert said in str(li.assembly(doubles, compiler=compiler, progress=False))


@pytest.mark.parametrize(
    ("texts", "is_one_place"),
    [
        ("addss xmm0,DWORD PTR [rdi]|movss DWORD PTR [rdx+rax*4],xmm0|add rdi,4|cmp rdi,rsi|jne 0", True),
        ("lock add DWORD PTR [rdx],1|inc ecx|cmp ecx,esi|jne 0", True),
        ("movss DWORD PTR [rip+0x20],xmm0|add rax,1|jne 0", True),
        ("movss DWORD PTR [rdx+rax*4],xmm0|add eax,1|cmp rax,rsi|jne 0", False),
        ("movss DWORD PTR [rsp+8],xmm0|add rax,1|jne 0", False),
        ("movss xmm0,DWORD PTR [rdx]|add rax,1|jne 0", False),
        ("cmp DWORD PTR [rdx],0|jne 0", False),
        ("mov DWORD PTR [rax],0|call 99 <expf>|jne 0", False),
        ("mov DWORD PTR [rdx],0|div rcx|jne 0", False),
    ],
)
def test_one_place_in_memory(texts: str, is_one_place: bool) -> None:
    """What is written in each iteration lies in one place where no register of its address changes; the stack is a thread's own."""
    assert Loop(tuple(Instruction(0, one, 1) for one in texts.split("|"))).writes_one_place == is_one_place


def looped(texts: str, *, has_threads: bool = False) -> Loop:
    """Make a loop of instructions."""
    return Loop(tuple(Instruction(4 * at, one, 1) for at, one in enumerate(texts.split("|"))), has_threads)


NONE = "no calculation with floats or doubles"


@pytest.mark.parametrize(
    ("texts", "pace"),
    [
        ("vcmpltps k1,zmm3,ZMMWORD PTR [rax]|add rax,0x40|jne 0", "16 floats at a time"),
        ("vcomiss xmm0,DWORD PTR [rax]|seta BYTE PTR [rdx+rax*1]|inc rax|jne 0", "one float at a time"),
        ("add rax,1|jne 0", NONE),
        ("vmovss xmm0,DWORD PTR [rax+rdx*4]|cqo|idiv rsi|jne 0",
         f"{NONE}, divides whole numbers (idiv, div), which takes as long as ten additions or more"),
        ("vmulps ymm0,ymm0,ymm5|" + "vaddss xmm1,xmm1,xmm0|vshufps xmm0,xmm0,xmm0,1|" * 4 + "add rax,0x20|jne 0",
         "8 floats at a time, adds up in order, one number at a time"),
        ("movss xmm0,DWORD PTR [rax]|addss xmm0,xmm1|movss DWORD PTR [rax],xmm0|" * 4 + "add rax,0x10|jne 0", "one float at a time"),
        ("lock add DWORD PTR [rdx],1|inc ecx|jne 0",
         f"{NONE}, an atomic operation in each iteration, which waits for all threads: "
         "add up in a local variable, and do it once, at the end"),
        ("lock sub DWORD PTR [rdx+rcx*4],1|inc rcx|call 99 <at::select>|jne 0", NONE),
        ("vmovsd xmm1,QWORD PTR [rbx+0x4]|vminps xmm0,xmm1,xmm0|add rbx,8|jne 0", "2 floats at a time"),
        ("vmovups xmm1,XMMWORD PTR [rbx]|vmovsd xmm2,QWORD PTR [rcx]|vminps xmm0,xmm1,xmm0|jne 0", "4 floats at a time"),
        ("vcomiss xmm0,xmm1|seta dl|add rax,4|jne 0", "one float at a time"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_loop(texts: str, pace: str) -> None:
    """Comparisons are work on floats; a division of whole numbers, a sum in order and an atomic operation are named."""
    assert looped(texts).pace == pace


def test_neighbours_are_named_where_there_are_threads() -> None:
    """A loop of one thread alone has none that waits."""
    sum_ = "addss xmm0,DWORD PTR [rdi]|movss DWORD PTR [rdx],xmm0|add rdi,4|jne 0"
    place = "writes to one place in memory in each iteration: add up in a local variable, and write it when the loop is done"
    assert looped(sum_).pace == f"one float at a time, {place}"
    assert looped(sum_, has_threads=True).pace == (
        f"one float at a time, {place} (threads whose places lie less than 64 bytes apart wait for each other besides)"
    )


@pytest.mark.parametrize(
    ("texts", "rereads", "strides"),
    [
        ("mov rcx,QWORD PTR [rdi]|vcomiss xmm0,DWORD PTR [rcx+rax*4]|seta BYTE PTR [rdx+rax*1]|inc rax|jne 0", True, False),
        ("vmovss xmm0,DWORD PTR [rcx+rax*4]|vcomiss xmm0,xmm1|seta BYTE PTR [rdx+rax*1]|inc rax|jne 0", False, False),
        ("mov rcx,QWORD PTR [rdi]|vmovss DWORD PTR [rcx+rax*4],xmm0|inc rax|jne 0", False, False),
        ("mov rcx,QWORD PTR [rbp-0x8]|mov BYTE PTR [rcx+rax*1],dl|inc rax|jne 0", False, False),
        ("vmulss xmm0,xmm1,DWORD PTR [rbx+rdx*1]|inc rcx|add rdx,rsi|jne 0", False, True),
        ("vmulss xmm0,xmm1,DWORD PTR [rbx+rdx*1]|inc rcx|add rdx,0x4|jne 0", False, False),
        ("vmulss xmm0,xmm1,DWORD PTR [rbx+rcx*4]|inc rcx|add rdx,rsi|jne 0", False, False),
        ("lea rcx,[rdi+0x1]|add rdi,rbx|vmovss DWORD PTR [rax+rdi*4],xmm1|mov rdi,rcx|jmp 0", False, False),
        ("mov edx,0x0|cmovne rdx,rcx|add rdx,r11|vaddss xmm0,xmm0,DWORD PTR [rbx+rdx*4]|inc rcx|jne 0", False, False),
    ],
)  # fmt: skip
def test_bytes_and_strides(texts: str, rereads: bool, strides: bool) -> None:
    """A store of bytes has what is read beside it read again; a step that a register gives leads far away."""
    loop = looped(texts)
    assert (loop.rereads, loop.strides) == (rereads, strides)


#: Loops, each with the reason that is told of its second line, and of no other, and what helps.
NESTED = (
    ("for (int64_t r = 0; r < n; ++r)\n    for (int64_t j = 0; j < n; ++j) a[j * n + r] = d[j * n + r] * 2;",
     "iterations read or write places that lie far from each other", "Let the loop over `r` be the inner one"),
    ("for (int64_t r = 0; r < n; ++r)\n    for (int64_t j = 0; j < n; ++j) a[r] += d[r * n + j];",
     "an iteration goes on from what the one before it has computed", "Compute it in a local variable `s`"),
    ("struct In { const float* x; uint8_t* y; int64_t n; } in{d, (uint8_t*)a, n}; In* p = &in; asm(\"\" : \"+r\"(p) : : \"memory\");\n"
     "    for (int64_t i = 0; i < p->n; ++i) p->y[i] = p->x[i] > 0;",
     "it stores bytes, which may change anything in memory, so each iteration reads pointers, sizes or numbers again", "Copy what is read"),
)  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(("loop", "how", "help"), NESTED, ids=["stride", "sum", "bytes"])
def test_the_inner_loop_is_told_and_not_the_one_around_it(loop: str, how: str, help: str) -> None:
    """What is true of the inner loop alone is not said of the outer one."""
    text = LOOPS.replace("LOOP", loop)
    remarks = li.assembly(kernel(text, "nested"), compiler="g++", progress=False, remarks=True).remarks
    [line] = lines_of(text, loop.split("\n")[1])
    [told] = [one for one in remarks or () if one.what == "not vectorised"]
    assert (told.line, told.how) == (line, how) and help in told.help


@pytest.mark.parametrize(
    ("ahead", "line", "is_told"),
    [
        ("std::vector<float> t(n);", "t.assign(n, 0.5f);", False),
        ("std::vector<float> t;", "t.push_back(x[i]);", False),
        ("std::vector<float> t, u;", "t = u;", False),
        ("std::vector<float> t; t.reserve(n);", "std::vector<float> u; t.push_back(x[i]);", False),
        ("std::unordered_map<int64_t, int64_t> t;", "t[x[i]] = i;", False),
        ("", "std::vector<float> t(n);", True),
        ("", "std::vector<float> t; t.resize(n);", True),
        ("at::Tensor t;", "t = at::empty({n});", True),
        ("float* t;", "t = new float[n];", True),
    ],
)
def test_memory_is_taken_in_each_turn_where_a_turn_makes_what_holds_it(ahead: str, line: str, is_told: bool) -> None:
    """A vector that is made before the loop keeps its memory; the machine code has the call all the same, where there is no room."""
    text = f"{ahead}\nfor (int i = 0; i < n; ++i) {{ {line}\n  g(t); }}"
    rows = of_loop(text, "call 9 <operator new>|jne 0")
    told = _remarks_of(rows, [Remark(2, "vectorised", "64 bytes at a time")])
    assert not _remarks_of(replace(rows, text="\nstd::vector<std::vector<float>> t(n, row);"), []), (
        "a loop of a header's"
    )
    assert [one.how for one in told if one.what == "allocates"] == [
        "memory in each iteration, perhaps (operator new)"
    ] * is_told


def test_a_vector_that_has_room_is_asked_for_it() -> None:
    """With `reserve` no memory is taken anew: it is the question, and the length that is counted, which take the time."""
    text = "std::vector<float> t; t.reserve(n);\nfor (int i = 0; i < n; ++i)\n  t.push_back(x[i]);"
    calls = ("memmove", "operator delete", "operator new")
    without, said = (
        explained(Evidence(Remark(3, "not vectorised", "why"), each, calls=calls))
        for each in (text.replace("t.reserve(n);", ""), text)
    )
    assert without.how == (
        "it makes a std::vector longer in each iteration, which takes memory anew, and moves all, whenever it is full "
        "(std::vector::push_back)"
    )
    assert without.help.endswith("or room at least, with `v.reserve(n)`.")
    assert (
        said.how
        == "it makes a std::vector longer in each iteration, and asks each time whether there is room (std::vector::push_back)"
    )
    assert said.help == "Give it its length before the loop, as `std::vector<float> v(n)`, and set `v[i]`."


#: Loops, each with how it is told at its last line, and what helps, by both compilers; timed, what is named gave 2 to 400 times the speed.
CURES = (
    ("for (int64_t i = 0; i < n; ++i) { float s = 0;\n    for (int64_t j = 0; j < n; ++j) s += d[j * n + i];\n    a[i] = s; }",
     "far from each other", "Let the loop over `i` be the inner one"),
    ("for (int64_t i = 0; i < n; ++i)\n    for (int64_t j = 0; j < n; ++j) a[j * n + i] = 2 * d[j * n + i];",
     "far from each other", "Let the loop over `i` be the inner one"),
    ("for (int64_t i = 0; i < n; ++i)\n    for (int64_t j = 0; j < n; ++j) a[i * n + j] = d[j * n + i];",
     "far from each other", "Where `i` and `j` change places, one side goes far whichever loop is the inner one"),
    ("for (int64_t i = 0; i < n; ++i)\n    ++b[int64_t(d[i])];", "each iteration adds to a place that data give, as in `b[int64_t(d[i])]`",
     "Where that is so, add to four tables in turn"),
    ("for (int64_t i = 0; i < n; ++i)\n    for (int64_t j = 0; j < n; ++j) a[i] += d[i * n + j] * e[j];",
     "", "Compute it in a local variable `s`, written to memory when the loop is done, and, where the order does not matter, with `#pr"),
    ("float* end = a + n;\n    for (; a != end; ++a) state += *a;", "", "flags=('-ffast-math',), or `#pragma omp simd reduction(+:state)`"),
    ("for (int64_t i = 1; i < n; ++i)\n    state = std::max(state, d[i]);", "", "Where no number is NaN or infinite, flags=('-ff"),
)  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize(
    ("loop", "how", "help"),
    CURES,
    ids=["sum", "copy", "transpose", "histogram", "product", "pointer", "largest"],
)
def test_both_compilers_come_with_the_same_cure(loop: str, how: str, help: str, compiler: str) -> None:
    """Whatever they say of a loop, and whether they made vectors of it or not."""
    need(compiler)
    text = "#include <algorithm>\n" + LOOPS.replace("LOOP", loop)
    first = lines_of(text, loop.split("\n")[0])[0]
    remarks = li.assembly(kernel(text, "cured"), compiler=compiler, progress=False, remarks=True).remarks or ()
    told = [one for one in remarks if one.line in (first, first + 1) and one.what in ("vectorised", "not vectorised")]
    assert [
        (how in one.how, one.help.startswith(help) or help in one.help, bool(one.help))
        for one in told
        if how in one.how
    ] == [(True, True, bool(help))], remarks


@pytest.mark.full
def test_square_roots_and_memory_in_a_loop() -> None:
    """A call that only negative numbers take is none; memory that is taken in each iteration of an outer loop is told."""
    root = "for (int64_t i = 0; i < n; ++i) a[i] = std::sqrt(std::fabs(d[i]));"
    rows = "for (int64_t r = 0; r < n; ++r) { std::vector<float> t(64); for (int j = 0; j < 64; ++j) t[j] = d[j]; a[r] = t[r % 64]; }"
    for loop, what, how in (
        (root, "not vectorised", "sqrt has to set errno for a negative number, so it goes one at a time"),
        (rows, "allocates", "memory in each iteration, perhaps (operator new)"),
    ):
        text = "#include <cmath>\n#include <vector>\n" + LOOPS.replace("LOOP", loop)
        found = li.assembly(kernel(text, what[:3]), compiler="g++", progress=False, remarks=True)
        assert how in [one.how for one in found.remarks or () if one.what == what], found
        assert "sqrtf" not in found.calls
    fast = kernel("#include <cmath>\n" + LOOPS.replace("LOOP", root), "not").replace(flags=("-fno-math-errno",))
    assert li.assembly(fast, compiler="g++", progress=False).width() > 1


@pytest.mark.full
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_sum_in_memory(compiler: str) -> None:
    """A loop that adds up in memory says so, and one that adds up in a local variable does not."""
    need(compiler)
    for loop, said in (("b[0] += a[i];", True), ("b[i] = 2 * a[i];", False)):
        one = kernel(LOOPS.replace("LOOP", f"for (int64_t i = 0; i < n; ++i) {{ {loop} }}"), f"sum_{said}".lower())
        shown = str(li.assembly(one, compiler=compiler, progress=False))
        assert ("writes to one place in memory in each iteration" in shown) == said, shown


def test_a_loop_that_lost_its_vectors_is_compared_with_those() -> None:
    """Beside the vectors there was a loop for what was left over, of which nothing is left: it is that one that is gone."""
    vector, scalar = ("vaddps ymm0,ymm0,ymm1", "vaddss xmm0,xmm0,xmm1")

    def one(label: str, *texts: str) -> li.Assembly:
        loops = tuple(Loop((Instruction(at, text, 1),)) for at, text in enumerate(texts))
        return li.Assembly(label, "g++ 12", "y[i] += x[i];", (Routine("f()", (), loops),))

    before = one("tiny/a", scalar, vector)
    assert replace(one("tiny/b", scalar.replace("0,", "2,")), other=before).differences == [
        "beside tiny/a:",
        "  loop at line 1: one float at a time, 1 instruction, as before",
        "  gone: loop at line 1: 8 floats at a time, 1 instruction",
    ]
    longer = Loop((Instruction(0, scalar, 1), Instruction(1, scalar, 1)))
    after = replace(one("tiny/b"), routines=(Routine("f()", (), (longer,)),), other=before)
    assert after.differences[1] == (
        "  loop at line 1: 8 floats at a time, 1 instruction -> one float at a time, 2 instructions"
    )


def test_libraries_are_told_whole() -> None:
    """What libraries do is not cut at the width of the text, and what a line calls in them stands beside it."""
    calls = ((1, "contiguous", "libtorch_cpu.so", 0.4), (1, "erff", "libm.so.6", 0.004))
    others = (("libgomp.so.1", 0.3), ("[kernel.kallsyms]", 0.2))
    shown = li.Assembly(
        "tiny/a", "g++ 12", "y[i] += x[i];", (), hot=Hot("N=1, forward", 9, ((1, 0.096),), others, calls)
    )
    said = str(shown).split("\n")
    first = next(at for at, row in enumerate(said, 1) if row.startswith("where the time goes"))
    assert said[first : first + 5] == [
        "   40%     1 | y[i] += x[i];  in contiguous of libtorch_cpu.so",
        "   30%         in libgomp.so.1: threads that wait: shares are uneven, or too small, or one thread works alone meanwhile",
        "   20%         in [kernel.kallsyms]: the system: new pages of memory, and threads that are woken",
        "   10%     1 | y[i] += x[i];",
        "   <1%         in 1 place with less each",
    ]
    html = shown._repr_html_()
    assert not read(html).problems and "<div>in contiguous of libtorch_cpu.so</div>" in html and "&lt;1%" in html


def test_small_shares_are_told_in_one_row() -> None:
    """From one percent on a place has a row of its own, and of the rest it is said how many there are."""
    lines = ((1, 0.9), (2, 0.0051), (3, 0.004), (4, 0.0049))
    rows = Hot("N=1, forward", 9, lines, (("libm.so.6", 0.003),)).rows(["a", "b", "c", "d"])
    assert [(line, text) for _, line, text, _ in rows] == [("1", "a"), ("2", "b"), ("", "")]
    assert rows[-1] == (pytest.approx(0.0119), "", "", "in 3 places with less each")
    assert [line for _, line, _, _ in Hot("N=1, forward", 9, ((2, 0.001),)).rows(["a", "b"])] == ["2"]


@pytest.mark.parametrize("takes", [1, 1.05, 20])
def test_subnormal_numbers_are_told_where_they_cost_time(takes: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they do depends on the processor, so it is timed: with them, and with 0 in their place."""
    number, clock = torch.tensor([1e-39]), [0.0]
    monkeypatch.setattr(hot, "time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def call() -> None:
        clock[0] += takes if float(number + number) else 1

    told = hot._tiny(0.25, call)
    assert float(number) != 0, "the processor is left as it was"
    assert not hot._tiny(0.001, call), "a few are no matter"
    said = "25% of a result lie below what float32 has in full (1.2e-38): with 0 in their place a call takes 5% of the time"
    assert told == said * (takes == 20)


def test_subnormal_numbers_are_told_at_the_line_that_takes_the_time() -> None:
    """With what has the processor take them as 0, and not in the line before all."""
    hot = Hot("N=1, forward", 9, ((2, 0.9), (1, 0.1)), tiny="25% of a result lie below")
    shown = _by_time(replace(of_loop(COLUMNS, FAR_APART, hot), remarks=()))
    [said] = shown.remarks or ()
    assert (said.line, said.what, said.how, said.is_good) == (2, "subnormal", hot.tiny, False)
    assert (
        said.help.startswith("On x86, `const unsigned mode = __builtin_ia32_stmxcsr(); ")
        and hot.tiny not in hot.headline
    )


def test_what_was_not_done_is_nothing_good() -> None:
    """Also where nothing is known that would help."""
    for what, is_good in (("not vectorised", False), ("not inlined", False), ("inlined", True)):
        shown = li.Assembly("tiny/a", "g++ 12", "y[i] += x[i];", (), remarks=(Remark(1, what, "unexpected pattern"),))
        assert ("li-is-good" in listing(shown)) == is_good


def test_a_jump_back_from_a_rare_case_is_no_loop() -> None:
    """What a compiler puts behind the end comes back to where it left; nothing is repeated."""
    rows = listed("0 test al,al", "2 je 8", "4 add rax,1", "6 ret", "8 call 99 <slow>", "a jmp 4")
    assert not list(loops_of(rows))


def test_a_call_that_never_returns_closes_no_loop() -> None:
    """An exception is thrown: the next instruction belongs to something else."""
    rows = listed("0 add rax,1", "2 jne 6", "4 ret", "6 call 99 <__cxa_throw>", "8 jmp 0")
    assert not list(loops_of(rows))


def test_the_innermost_of_two_loops_is_told() -> None:
    """A loop over rows holds one over columns; one that stands beside them is told as well."""
    rows = listed("0 nop", "2 nop", "4 jne 2", "6 jne 0", "8 nop", "a jne 8", "c ret")
    assert [loop.lines for loop in loops_of(rows)] == [(2, 3), (5, 6)]


@pytest.mark.full
def test_a_cuda_text_is_shown_at_its_own_lines() -> None:
    """On the CPU, and as PTX where nvcc is: what stands beside the instructions is the CUDA text."""
    kernel = li.registry["axpy/cuda"]
    wanted = kernel.cuda.split("\n").index("__global__ void scale(const T* d_z, T* d_x, int64_t N) {") + 3
    shown = li.assembly(kernel, device="cuda-cpu", progress=False)
    assert shown.text == kernel.cuda and shown.of_line(wanted)
    need("nvcc")
    is_sass = cuda_code._tool("nvdisasm", find_nvcc()) is not None
    shown = li.assembly(kernel, progress=False)
    assert (
        shown.text == kernel.cuda
        and shown.compiler.startswith("nvcc ")
        and shown.width("float") == shown.width("double") == 1
    )
    assert {loop.lines[-1] for loop in shown.loops} == {wanted, wanted - 6}
    names = {one.name.partition(".")[0] for one in shown.of_line(wanted - 6)}
    assert names >= ({"LDG", "FFMA", "DFMA", "STG"} if is_sass else {"ld", "fma", "st"})
    routine = next(routine for routine in shown.routines if "scale" in routine.name)
    assert routine.short == "scale" and re.match(
        r"\d+ registers a thread, 0 bytes of shared memory a block, nothing spilled$", routine.uses
    )
    assert shown.note.startswith(
        "SASS, the machine code for sm_75; " if is_sass else "PTX, which the driver translates"
    )
    assert shown.note in str(shown) and routine.uses in str(shown)
    assert not read(shown._repr_html_()).problems


@pytest.mark.full
@needs("nvcc")
def test_cuda_tools_that_are_not_there_or_fail_leave_ptx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note says what is missing and the command that brings it, or what the tool said; PTX is shown."""
    path, nvcc = tmp_path / "kernel.ptx", find_cuda(compile_only=True)
    path.write_text(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry f() {\n.reg .b32 %r<2>;\nret;\n}\n")
    ptxas = shutil.which("ptxas", path=f"{nvcc.home}/bin")
    assert ptxas
    (tmp_path / "nvcc" / "bin").mkdir(parents=True)
    nvcc = replace(nvcc, home=str(tmp_path / "nvcc"))
    monkeypatch.setattr(cuda_code, "_WHEELS", ())
    monkeypatch.setenv("PATH", "")
    assert cuda_code.translated(path, nvcc) == (
        "PTX, which the driver translates for its GPU. What a thread needs, and the machine code, take ptxas of the CUDA toolkit.",
        {},
        "",
    )
    (tmp_path / "nvcc" / "bin" / "ptxas").symlink_to(ptxas)
    note, uses, _ = cuda_code.translated(path, nvcc)
    assert note == (
        "PTX, which the driver translates for its GPU. The machine code (SASS) itself takes nvdisasm: "
        f"{pip_command('nvidia-cuda-nvdisasm')}"
    )
    assert re.match(r"\d+ registers a thread, 0 bytes of shared memory a block, nothing spilled$", uses["f"])
    old = tmp_path / "nvcc" / "bin" / "nvdisasm"
    old.write_text("#!/bin/sh\necho 'nvdisasm fatal: Unsupported ELF version' >&2\nexit 1\n")
    old.chmod(0o755)
    refused, same, listing = cuda_code.translated(path, nvcc)
    assert refused.endswith(" There is no machine code of it: nvdisasm: nvdisasm fatal: Unsupported ELF version")
    assert same == uses and not listing


#: Of nvdisasm 13.5, shortened: a kernel with a loop and a call, the function that is called, and what fills the end.
SASS = """
\t.target\tsm_75
//--------------------- .text._Z1fPf --------------------------
\t.section\t.text._Z1fPf,"ax",@progbits
        .size           _Z1fPf,(.L_x_44 - _Z1fPf)
_Z1fPf:
.text._Z1fPf:
\t//## File "/cache/li/9f-opcf/axpy/cuda", line 18
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
.L_x_1:
\t//## File "/usr/include/c++/12/cmath", line 502 inlined at "/cache/li/9f-opcf/axpy/cuda", line 20
\t//## File "/cache/li/9f-opcf/axpy/cuda", line 20
        /*0010*/                   FFMA R9, R2, R2, R3 ;
        /*0020*/                   CALL.REL.NOINC `($_Z1fPf$__cuda_sm20_div_u64) ;
        /*0030*/              @!P1 BRA `(.L_x_1) ;
\t//## File "/usr/include/c++/12/cmath", line 502
        /*0040*/                   DADD R2, R2, R2 ;
        /*0050*/                   EXIT ;
$_Z1fPf$__cuda_sm20_div_u64:
        /*0060*/                   IMAD.HI.U32 R13, R10, R15, RZ ;
        /*0070*/                   RET.REL.NODEC R6 `(_Z1fPf) ;
.L_x_7:
        /*0080*/                   BRA `(.L_x_7);
        /*0090*/                   NOP;
.L_x_44:
"""


def test_sass_is_read_by_line() -> None:
    """What was inlined is of the line that called it, what is called is a function of its own, the end is no loop."""
    [(name, rows)] = cuda_code.listed_sass(SASS, "axpy/cuda")
    assert name == "_Z1fPf" and [line for _, _, line in rows] == [18, 20, 20, 20, 0, 0]
    assert rows[2][1] == "CALL.REL.NOINC 60 <__cuda_sm20_div_u64>" and rows[3] == (0x30, "@!P1 BRA 10", 20)
    [loop] = loops_of([Instruction(*row) for row in rows])
    assert loop.said == "one float at a time, 3 instructions, calls __cuda_sm20_div_u64"
    assert not list(cuda_code.listed_sass(SASS, "axpy/cpp"))
    both = SASS.replace("FFMA", "FFMA2").replace("@!P1 BRA `(.L_x_1)", "BRA UP0, `(.L_x_1)")
    [(_, rows)] = cuda_code.listed_sass(both, "axpy/cuda")
    [loop] = loops_of([Instruction(*row) for row in rows])
    assert loop.pace == "2 floats at a time"


def test_of_very_much_code_the_beginning_is_listed() -> None:
    """Pane, cell and text hold as many instructions as a browser shows at once, and say how many there are.

    The pane has functions with loops first.
    """
    many = tuple(Instruction(address, f"nop {address}", 1 + address % 7) for address in range(3000))
    routines = (Routine("f(int)", many, ()), Routine("g(int)", many, (Loop(many[:5]),)))
    shown = listing(li.Assembly("tiny/long", "g++ 12", "text", routines))
    assert shown.count(">nop<") == 4000 and shown.index("<code>g</code>") < shown.index("<code>f</code>")
    assert (
        "Here are 4000 of 6000 instructions: li.assembly(&#x27;tiny/long&#x27;).of_line(N) has those of line N."
        in shown
    )
    assert shown.count("li-looped") == 5 and not read(shown).problems
    loops = Loop(many[1:]), Loop(many), Loop((*many, many[0]))
    long = li.Assembly("tiny/long", "g++ 12", "text", (Routine("f(int)", (), loops),))
    where = "li.assembly('tiny/long').of_line(N) has those of line N."
    listed = f"Of each loop of the text, the instructions of the widest are listed: {where}"
    assert str(long).count(" nop ") == 2999 and listed in str(long) and "3001 instructions" in str(long)
    first = tuple(Instruction(address, f"nop {address}", 1) for address in range(3000))
    second = tuple(Instruction(address, f"nop {address}", 2) for address in range(900))
    several = Routine("f(int)", (), (Loop(first), Loop(first[1:]), Loop(second)))
    two = li.Assembly("tiny/long", "g++ 12", "for (;;) a();\nfor (;;) b();", (several,))
    assert str(two).count(" nop ") == 3900, "what is left out of one loop takes no room from the next"
    longest = li.Assembly("tiny/long", "g++ 12", "text", (Routine("f(int)", (), (Loop(many * 2),)),))
    assert str(longest).count(" nop ") == 4000 and f"Here are 4000 of 6000 instructions: {where}" in str(longest)
    html = long._repr_html_()
    assert html.count(">nop<") == 4000 and "Here are 4000 of 9000 instructions" in html and not read(html).problems


#: A loop that g++ counts as the line of the macro around it.
DISPATCHED = TEXTS["dispatched"]


def test_a_call_in_a_loop_within_a_dispatch_is_told() -> None:
    """What helps against it is said there as it is said of the same loop outside of the macro."""
    dispatched = tiny.kernel(text=DISPATCHED, variant="dispatched", api="aten")
    shown = li.assembly(dispatched, compiler="g++", progress=False, remarks=True)
    [remark] = shown.remarks or ()
    assert (
        remark.line == lines_of(DISPATCHED, "AT_DISPATCH")[0]
        and remark.what == "not vectorised"
        and "(exp, expf)" in remark.how
        and remark.help
    )
    assert " 1 loop (" in shown.headline


@pytest.mark.full
@pytest.mark.parametrize("compiler", [pytest.param(name, marks=needs(name)) for name in ("g++", "clang++")])
def test_of_several_loops_within_a_dispatch_the_one_that_calls_is_named(compiler: str) -> None:
    """At its own line, by what it calls; what the compiler says of another one stands at the macro's line, and says so."""
    again = "      for (int64_t i = first; i < last; ++i) to[i] += 1;\n"
    text = DISPATCHED.replace("    });\n  });", f"{again}    }});\n  }});")
    dispatched = tiny.kernel(text=text, variant="dispatched_twice", api="aten")
    good, bad = li.assembly(dispatched, compiler=compiler, progress=False, remarks=True).remarks or ()
    assert good.line == lines_of(text, "AT_DISPATCH")[0] and good.how.endswith(", one of the loops in it")
    assert bad.line == lines_of(text, "std::exp")[0] and bad.what == "not vectorised" and "expf" in bad.how and bad.help


@pytest.mark.full
@pytest.mark.parametrize(
    "name", [name for name, kernel in li.registry.items() if kernel.python is None and "cpu" in devices_of(kernel)]
)
def test_a_loop_of_vectors_is_not_called_one_without(name: str) -> None:
    """A text of at::vec::Vectorized is one of vectors, whatever the compiler could not add; and to copy a row takes no memory."""
    shown = li.assembly(name, compiler="g++", progress=False, remarks=True)
    for one in shown.remarks or ():
        loops = [loop for loop in shown.loops if one.line in loop.lines]
        assert one.what != "not vectorised" or not loops or any(not loop.is_wide or loop.calls for loop in loops), one
        assert "takes memory" not in one.how or "mem" not in one.how.partition("(")[2], one


def test_what_a_compiler_made_of_a_loop_of_the_text_stands_together() -> None:
    """The two loops of axpy/cpp are two in the headline and two headings, the widest first, and all is below these."""
    shown = li.assembly("axpy/cpp", compiler="g++", progress=False)
    assert f" 2 loops ({len(shown.loops)} in the machine code)" in shown.headline
    assert [title.partition(":")[0] for title in shown.by_text] == ["loop at line 26", "loop at line 10"]
    for kinds in shown.by_text.values():
        widths = [loop.widest for loop, _ in kinds]
        assert widths == sorted(widths, reverse=True) and widths[0] >= 4
    html = shown._repr_html_()
    assert html.count("<details><summary>loop at line ") == 2 and not read(html).problems


def test_copies_of_a_loop_are_told_once() -> None:
    """A compiler makes several of one line that do the same: the first is listed, with how many there are."""
    loop = looped("vaddss xmm0,xmm0,DWORD PTR [rdi]|add rdi,4|jne 0")
    shown = li.Assembly(
        "tiny/copies", "clang++ 14", "text", (Routine("f()", (), (loop, loop, looped("inc rax|jne 0"))),)
    )
    for said in (str(shown), shown._repr_html_()):
        assert said.count("(2 such loops)") == 1 and said.count("vaddss") == 1
