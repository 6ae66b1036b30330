"""The exported C++: texts as files and back, and what the operators do, compiled really."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from lltm_inline.compiling import header
from lltm_inline.compiling.nvcc import STAND_INS
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import DefinitionError
from lltm_inline.export.cpp import cpp_files, cpp_sources
from lltm_inline.export.kernel_file import KernelFile, read_kernel_file, write_kernel_file
from lltm_inline.export.plan import Extra, Part, Plan
from lltm_inline.export.python import python_files
from lltm_inline.export.render import broken, comment, listed
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.run.cases.case import prime_size
from lltm_inline.source.template import devices_of, fill, render
from tests.needs import needs
from tests.quick import QUICK
from tests.texts import bodies

KERNELS = [label for label, kernel in registry.items() if kernel.python is None]

TEXTS = bodies(__file__)
ODD_TEXT = TEXTS["odd_text"]


def odd_reference(saved: torch.Tensor, ctx: torch.Tensor | None, op: float, results: torch.Tensor) -> torch.Tensor:
    """Multiply and add, under names that the generated code would like to have for itself."""
    return saved * results * op + (0 if ctx is None else ctx)


ODD = Op(
    "odd",
    "(Tensor saved, Tensor? ctx, float op, Tensor results) -> Tensor y",
    odd_reference,
    dict.fromkeys(("saved", "ctx", "results", "y"), "B F"),
    inputs=lambda randn, B, F: (randn(B, F), randn(B, F), 3.0, randn(B, F)),
)
ODD_KERNEL = Kernel("odd/text", cpp=ODD_TEXT, saves=("op",))


def make_plan(kernel: Kernel | str, how: str = "setuptools", op: Op | None = None, header: str = "") -> Plan:
    """Make the plan of an export without running the kernel: C++ needs no shapes of extra tensors."""
    kernel = registry[kernel] if isinstance(kernel, str) else kernel
    op = op or registry.op_of(kernel)
    parts = tuple(
        Part(kernel, device, render(kernel, op, device).interface)
        for device in devices_of(kernel)
        if device != "cuda-cpu"
    )
    style = "stable" if kernel.api == "stable" else "pybind11" if kernel.binding == "pybind11" else "library"
    extras = (Extra(None),) * parts[0].interface.extras
    sizes = op.named(prime_size(op))
    return Plan(op, parts, how, style, kernel.name.replace("/", "_"), extras, header, (), (), sizes)


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command that must succeed."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=cwd, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write(plan: Plan, to: Path) -> None:
    """Write the C++ of an export."""
    for path, text in cpp_files(plan).items():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        (to / path).write_text(text, encoding="utf-8")


@cache
def torch_flags() -> tuple[str, ...]:
    """List what a compiler needs for torch's headers; warnings in these are not ours."""
    include = Path(torch.__file__).parent / "include"
    places = [include, include / "torch/csrc/api/include", sysconfig.get_paths()["include"]]
    return ("-std=c++20", "-O0", "-fPIC", "-fvisibility=hidden", *(f"-isystem{place}" for place in places))


def torch_headers() -> tuple[str, ...]:
    """List what a compiler needs to read torch's headers once for all tests; see `test_every_export_compiles_without_warnings`."""
    found = find_toolchain(compiler=QUICK)
    return (*header.torch_cflags(), *found.cflags, *header.header_flags(found, "extension"))


def compile_library(plan: Plan, to: Path, *flags: str, more: Sequence[str] = ()) -> Path:
    """Compile the CPU's sources as one, in which no warning may be, and link them, with `more` libraries if need be."""
    write(plan, to)
    unit = to / "unit.cpp"
    unit.write_text("".join(f'#include "{source}"\n' for source in cpp_sources(plan, "cpu")))
    lib = Path(torch.__file__).parent / "lib"
    library = to / f"lib{plan.name}.so"
    libraries = (f"-L{lib}", "-ltorch", "-ltorch_cpu", "-lc10", *more, f"-Wl,-rpath,{lib}")
    run(QUICK, *flags, "-Wall", "-Wextra", "-Werror", "-shared", unit, *libraries, "-o", library)
    return library


def load(plan: Plan, to: Path, *flags: str) -> Any:
    """Compile and load the operators of an export."""
    torch.ops.load_library(str(compile_library(plan, to, *flags or torch_headers())))
    return getattr(torch.ops, plan.name)


@pytest.mark.parametrize("label", KERNELS)
def test_what_is_written_looks_written(label: str) -> None:
    """No file has a line of the generator's own that is too long, two empty lines in a row, a slot, or a #line."""
    header = "Copyright (c) 2026 Somebody\n\nMIT"
    plan = make_plan(label, "cmake", header=header)
    texts = set("\n".join(fill(part.kernel, kind) for part in plan.parts for kind in part.kernel.sources).split("\n"))
    for path, text in cpp_files(plan).items():
        assert text.startswith("// Copyright (c) 2026 Somebody\n//\n// MIT\n\n"), path
        assert text.endswith("\n") and not text.endswith("\n\n"), path
        lines = text.split("\n")
        assert [line for line in lines if len(line) > 120 and line not in texts] == [], path
        assert [line for line in lines if line != line.rstrip() and line not in texts] == [], path
        assert "#line" not in text and not any(word in text for word in ("{{", "{%", "_::")), path
        if "kernel" not in path:
            assert "\n\n\n" not in text, path


@pytest.mark.parametrize("label", KERNELS)
def test_a_text_comes_back_from_its_file(label: str) -> None:
    """Each kernel's texts and params are read out of the written files again, letter for letter."""
    plan = make_plan(label)
    files = cpp_files(plan)
    for part in plan.parts:
        found: dict[str, int | float] = {}
        for kind, path in part.files.items():
            text, params = read_kernel_file(
                files[path], namespace=f"{plan.name}::{part.device}", include=f"{plan.name}.h", what=path
            )
            assert text == fill(part.kernel, kind)
            found |= params
        assert found == part.kernel.params


def test_sources_are_written_and_complete() -> None:
    """What is to be compiled is there, and each source file is to be compiled."""
    for label in KERNELS:
        plan = make_plan(label)
        files = {path for path in cpp_files(plan) if not path.endswith(".h")}
        assert {source for part in plan.parts for source in cpp_sources(plan, part.device)} == files


def test_headers_in_the_middle_stay_outside_of_the_namespace() -> None:
    """The namespace closes before a header that follows code, also within a condition, and opens again behind it."""
    text = "#include <a>\nint f();\n\n#if X\n#include <b>\n#endif\nint g() {\n  return 0;\n}\n"
    written = write_kernel_file(KernelFile(text, {}, "demo::cpu", "demo.h"), "demo")
    assert written == (
        '#include "demo.h"\n#include <a>\nnamespace demo::cpu {\n\nint f();\n\n#if X\n}  // namespace demo::cpu\n\n'
        "#include <b>\nnamespace demo::cpu {\n\n#endif\nint g() {\n  return 0;\n}\n\n}  // namespace demo::cpu\n"
    )
    assert read_kernel_file(written, namespace="demo::cpu", include="demo.h", what="demo") == (text, {})


def test_windows_line_ends_become_plain_ones() -> None:
    """A text with CRLF is written with LF."""
    written = write_kernel_file(KernelFile("#include <a>\r\nint f();\r\n", {"N": 3}, "demo::cpu", "demo.h"), "demo")
    assert "\r" not in written
    assert read_kernel_file(written.replace("\n", "\r\n"), namespace="demo::cpu", include="demo.h", what="demo") == (
        "#include <a>\nint f();\n",
        {"N": 3},
    )


@pytest.mark.parametrize(
    "line", ["namespace at {", "namespace std::ranges {", "template <> struct std::hash<int> {", "namespace c10\n{"]
)
def test_foreign_namespaces_are_refused(line: str) -> None:
    """What cannot live in the package's namespace is refused with its line and the cure."""
    file = KernelFile(f"#include <a>\nint f();\n{line}\n}}\n", {}, "demo::cpu", "demo.h")
    with pytest.raises(DefinitionError, match=r"demo, line 3: .* cannot stand in namespace demo::cpu.*of its own"):
        write_kernel_file(file, "demo")


def test_using_a_foreign_namespace_is_fine() -> None:
    """A text may use at and std, and name them in comments."""
    text = "using namespace at;\n// namespace std {\nnamespace vec = at::vec;\n"
    assert "namespace demo::cpu {" in write_kernel_file(KernelFile(text, {}, "demo::cpu", "demo.h"), "demo")


def test_lines_of_the_export_are_refused_in_a_text() -> None:
    """A text that holds a line by which its file is taken apart could not come back, and is refused."""
    with pytest.raises(DefinitionError, match=r"demo, line 2: '// Parameters\.' is a line that the export writes"):
        write_kernel_file(KernelFile("int f();\n// Parameters.\n", {}, "demo::cpu", "demo.h"), "demo")


def test_edited_params_come_back_and_bad_ones_say_where() -> None:
    """Numbers that a person edits in the block are the kernel's params; what is no number is named with its line."""
    written = write_kernel_file(KernelFile("#include <a>\nint f();\n", {"N": 3, "R": 0.5}, "d::cpu", "d.h"), "d")
    edited = written.replace("N 3", "N (-4)  // smaller").replace("R 0.5", "R 1e-3")
    assert read_kernel_file(edited, namespace="d::cpu", include="d.h", what="d")[1] == {"N": -4, "R": 0.001}
    with pytest.raises(
        DefinitionError, match=r"csrc/x\.cpp, line 4: '#define N M \+ 1' is no param, want '#define NAME NUMBER'"
    ):
        read_kernel_file(written.replace("N 3", "N M + 1"), namespace="d::cpu", include="d.h", what="csrc/x.cpp")
    with pytest.raises(DefinitionError, match=r"no line '#include \"d\.h\"', with which the head"):
        read_kernel_file("int f();\n", namespace="d::cpu", include="d.h", what="csrc/x.cpp")


def test_comments_are_set_within_the_width() -> None:
    """Prose that is too wide is set anew with its indentation; formulae keep their lines; no line swallows the next."""
    prose = "* " + "word " * 30 + "\n  more"
    text = comment(f"Title.\n\n    y = x{' ' * 90}(B, F), and something\n    z = y\n\n{prose}\n\nend \\")
    lines = text.split("\n")
    assert max(map(len, lines)) <= 120
    assert [line.strip() for line in lines].count("//  z = y") == 1 and "//   word word" in text
    assert lines[-2] == "// end \\ ."


def test_lists_break_where_they_must() -> None:
    """A call that does not fit into a line is broken behind its bracket, and again where need be."""
    text = broken(f"  f({listed(['x' * 50] * 4)});")
    assert text == "  f(\n" + f"      {'x' * 50}, {'x' * 50},\n" + f"      {'x' * 50}, {'x' * 50});"


_TURNED = "torch::stable::Tensor forward(const torch::stable::Tensor& x) { return torch::stable::transpose(x, 0, 1); }"


@pytest.mark.parametrize(
    "kernel",
    [
        *("axpy/cpp", "sin_add/aten", "cube/aten", "lltm/fused", "lltm/stable", "lltm/cuda"),
        Kernel("turned/stable", cpp=_TURNED, api="stable"),
    ],
    ids=lambda kernel: kernel if isinstance(kernel, str) else kernel.name,
)
def test_what_python_calls_is_there(kernel: Kernel | str) -> None:
    """Each operator that Python calls, or tells something of, is one that C++ defines and implements."""
    turned = Op("turned", "(Tensor x) -> Tensor y", lambda x: x.t(), {"x": "B F", "y": "F B"})
    plan = make_plan(kernel, op=None if isinstance(kernel, str) else turned)
    python, cpp = ("\n".join(files(plan).values()) for files in (python_files, cpp_files))
    called = set(re.findall(rf"torch\.ops\.{plan.name}\.(\w+)\.default|\"{plan.name}::(\w+)\"", python))
    names = {one or other for one, other in called}
    assert names and {name for name in names if f'm.impl("{name}",' not in cpp} == set()
    assert {name for name in names if not re.search(rf'm\.def\(\s*"{name}\(', cpp)} == set()


def test_a_kernel_for_two_devices_cannot_be_one_composite() -> None:
    """What differentiates through ATen is one function for all devices: two texts are refused."""
    text = "at::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return x + y; }"
    plan = make_plan(Kernel("sin_add/both", cpp=text, cuda=text))
    with pytest.raises(
        DefinitionError, match=r"'sin_add/both' is differentiated through ATen.*give device='cpu' or 'cuda'"
    ):
        cpp_files(plan)


def test_functions_that_other_files_cannot_call_are_refused() -> None:
    """A static or inline `forward` is refused with its line: the operators are in another file."""
    text = "#include <ATen/core/Tensor.h>\n\nstatic at::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return x; }"
    with pytest.raises(
        DefinitionError, match=r"'sin_add/own' \(cpp\), line 3: this function is static.*delete the word"
    ):
        cpp_files(make_plan(Kernel("sin_add/own", cpp=text)))


@pytest.mark.full
@needs("g++")
def test_gradients_flags_and_memory(tmp_path: Path) -> None:
    """Optional tensors, numbers, wanted gradients, autocast and refusals work, under names that invite clashes."""
    ops = load(make_plan(ODD_KERNEL, op=ODD), tmp_path)
    x, c, r = (torch.randn(3, 5, dtype=torch.float64, requires_grad=True) for _ in range(3))
    for ctx in (c, None):
        inputs = [tensor for tensor in (x, ctx, r) if tensor is not None]
        got, want = ops.odd(x, ctx, 3.0, r), odd_reference(x, ctx, 3.0, r)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(torch.autograd.grad(got.sum(), inputs), torch.autograd.grad(want.sum(), inputs))
    assert torch.autograd.gradcheck(ops.odd, (x, c, 3.0, r))
    (d_x,) = torch.autograd.grad(ops.odd(x, c, 3.0, r).sum(), [x], create_graph=True)
    with pytest.raises(RuntimeError, match="odd has no second derivative"):
        (d_x.sum() + r.sum()).backward()
    with torch.no_grad():
        y, left, right = ops.odd_forward(x, c, 3.0, r)
        assert left.data_ptr() != x.data_ptr() and right.data_ptr() != r.data_ptr()
        d_saved, d_ctx, d_results = ops.odd_backward(y, 3.0, left, right, False, True, False)
        assert d_saved is None and d_results is None and d_ctx.data_ptr() != y.data_ptr()
    with torch.autocast("cpu", torch.bfloat16):
        half = x.detach().bfloat16()
        assert ops.odd(half, None, 2.0, half).dtype == torch.float32


@pytest.mark.full
@needs("g++")
def test_inputs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """Shape, rank, dtype and device are checked before the kernel, and the message has name, letters and numbers."""
    ops = load(make_plan("axpy/cpp"), tmp_path)
    with pytest.raises(RuntimeError, match=r"axpy: y has shape \[4\], want that of x, \[3\]"):
        ops.axpy(torch.zeros(3), torch.zeros(4))
    with pytest.raises(RuntimeError, match=r"axpy: x is Half, want Float or Double"):
        ops.axpy(torch.zeros(3).half(), torch.zeros(3).half())
    with pytest.raises(RuntimeError, match=r"axpy: y is Double, but x is Float"):
        ops.axpy(torch.zeros(3), torch.zeros(3).double())


@pytest.mark.full
@needs("g++")
def test_a_differentiable_backward_is_differentiated_again(tmp_path: Path) -> None:
    """With double_backward the second derivative is right, and an unused output costs nothing but is no error."""
    ops = load(make_plan("cube/aten"), tmp_path)
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(ops.cube, (x,)) and torch.autograd.gradgradcheck(ops.cube, (x,))


@needs("g++")
def test_the_stable_style_needs_nothing_but_stable_headers(tmp_path: Path) -> None:
    """On the stable ABI forward and backward are registered, compiled for torch 2.10, and agree with the reference."""
    plan = make_plan("lltm/stable")
    only = ("-DTORCH_TARGET_VERSION=0x020a000000000000", "-DTORCH_STABLE_ONLY", "-Wno-unknown-pragmas")
    ops = load(plan, tmp_path, *torch_flags(), *only)
    inputs = [t.requires_grad_() for t in plan.op.make_inputs(torch.randn, tuple(plan.check_size.values()))]
    want = plan.op.run_reference(*inputs)
    with torch.no_grad():
        new_h, new_cell, gates = ops.lltm_forward(*inputs)
        torch.testing.assert_close((new_h, new_cell), want)
        ones = torch.ones_like(new_h), torch.ones_like(new_cell)
        saved = (inputs[0], inputs[1], inputs[3], new_cell, gates)
        got = ops.lltm_backward(*ones, *saved, True, True, True, False, True)
    wanted = torch.autograd.grad(want, inputs, ones)
    assert got[3] is None
    for index in (0, 1, 2, 4):
        torch.testing.assert_close(got[index], wanted[index], rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match=r"lltm: bias has shape \[4\], want \(3S\) = \[15\]"):
        ops.lltm_forward(*inputs[:2], torch.zeros(4), *inputs[3:])


@pytest.mark.full
@needs("g++")
def test_pybind11_binds_forward_and_backward(tmp_path: Path) -> None:
    """The classic module checks what the dispatcher sees to elsewhere: lazily negated views."""
    plan = make_plan(registry["axpy/cpp"].replace(binding="pybind11"))
    library = compile_library(plan, tmp_path, *torch_headers(), "-DTORCH_EXTENSION_NAME=_C", more=["-ltorch_python"])
    spec = importlib.util.spec_from_file_location("_C", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = torch.randn(4)
    torch.testing.assert_close(module.forward(x, x), 3 * x)
    torch.testing.assert_close(module.backward(x, [True, False])[0], 2 * x)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        module.forward(x, None)
    with pytest.raises(RuntimeError, match=r"axpy: x is a lazily negated view: pass x\.resolve_neg\(\)"):
        module.forward(torch.randn(4, dtype=torch.complex64).conj().imag, x)


def units(to: Path, labels: Sequence[str]) -> list[list[Path]]:
    """Write what the exports of kernels have for the host, in units to compile: chains of growing sets of torch's headers.

    Behind files that include no others of torch than it does itself, a file misses what it would miss alone, and the headers
    are read once. Headers of the standard library do not count: those of torch bring them.
    """
    groups: dict[frozenset[str], list[Path]] = {}
    for label in labels:
        plan = make_plan(label, "cmake")
        place = to / plan.name
        write(plan, place)
        sources = {source for device in plan.devices for source in cpp_sources(plan, device)} | {"example/main.cpp"}
        for source in sorted(one for one in sources if one.endswith(".cpp")):
            seen = [place / source, *(place / "csrc").glob("*.h")] if "csrc" in source else [place / source]
            includes = frozenset(
                line for file in seen for line in re.findall("^#include <.*/.*", file.read_text(), re.MULTILINE)
            )
            groups.setdefault(includes, []).append(place / source)
    chains: list[tuple[frozenset[str], list[Path]]] = []
    for includes in sorted(groups, key=lambda one: (len(one), sorted(one))):
        longest = max((chain for chain in chains if chain[0] < includes), key=lambda chain: len(chain[0]), default=None)
        if longest is not None:
            chains.remove(longest)
        chains.append((includes, [*(longest[1] if longest else []), *groups[includes]]))
    return [files for _, files in chains]


@pytest.mark.full
@needs("g++")
def test_every_export_compiles_without_warnings(tmp_path: Path) -> None:
    """Each file of each kernel includes what it uses, the C++ program too; test_golden builds and runs some."""
    places = f"-idirafter{stand_ins(tmp_path)}"
    for number, files in enumerate(units(tmp_path, KERNELS)):
        unit = tmp_path / f"unit_{number}.cpp"
        lines = []
        for index, file in enumerate(files):
            macros = re.findall(r"^ *#define (\w+)", file.read_text(), re.MULTILINE)
            # Only one that is called main may end without a word.
            silent = ['#pragma GCC diagnostic ignored "-Wreturn-type"'] if file.name == "main.cpp" else []
            lines += [
                "#pragma GCC diagnostic push",
                *silent,
                f"#define main main_{index}",
                f'#include "{file}"',
                *(f"#undef {name}" for name in ["main", *macros]),
                "#pragma GCC diagnostic pop",
            ]
        unit.write_text("\n".join(lines) + "\n")
        run(QUICK, *torch_flags(), "-Wall", "-Wextra", "-Werror", "-fsyntax-only", places, unit)


@pytest.mark.full
@needs("nvcc")
@pytest.mark.parametrize(
    "label",
    ["lltm/cuda", "axpy/cuda", "lltm/cuda_accessor"],
)
def test_cuda_compiles(label: str, tmp_path: Path) -> None:
    """nvcc compiles a CUDA file that includes torch; test_golden compiles one without torch."""
    write(make_plan(label), tmp_path)
    places = [flag.replace("-isystem", "-I") for flag in torch_flags() if flag.startswith("-isystem")]
    places.append(f"-Xcompiler=-idirafter,{stand_ins(tmp_path)}")
    source, target = tmp_path / "csrc/cuda_kernel.cu", tmp_path / "cu.o"
    run("nvcc", "-std=c++20", "-arch=sm_75", *places, "-c", source, "-o", target)


def stand_ins(to: Path) -> Path:
    """Write what takes the place of CUDA's headers of libraries, where only its compiler is installed."""
    for name, text in STAND_INS.items():
        (to / "stand_ins" / name).parent.mkdir(parents=True, exist_ok=True)
        (to / "stand_ins" / name).write_text(text)
    return to / "stand_ins"


def test_exports_do_not_speak_of_the_playground() -> None:
    """What is written, from a doc's formula to a comment in a text, is true where there is no playground and no other kernel."""
    foreign = re.compile(rf"lltm_inline|playground|lesson|`(?:{'|'.join(registry)})`")
    for label in KERNELS:
        plan = make_plan(label, "cmake")
        for path, text in {**cpp_files(plan), **python_files(plan)}.items():
            assert foreign.findall(text) == [], f"{label}: {path}"


def test_a_doc_heads_the_file() -> None:
    """Of a kernel that ships the formula, without the lesson behind it; of anybody else's all that its author wrote."""
    head, _, _ = cpp_files(make_plan("conv_bn/fused"))["csrc/cpu_kernel.cpp"].partition("#")
    assert (
        head.startswith("// Convolution and batch normalisation as one layer")
        and "//     forward     z = conv2d" in head
    )
    assert head.endswith("and g = d_y.\n\n")
    doc = "Scale.\n\n    y = 2 x\n\nNot for large numbers."
    head, _, _ = cpp_files(make_plan(Kernel("axpy/mine", cpp=registry["axpy/aten"].cpp, params={"A": 2}, doc=doc)))[
        "csrc/cpu_kernel.cpp"
    ].partition("#")
    assert head == "// Scale.\n//\n//     y = 2 x\n//\n// Not for large numbers.\n\n"
