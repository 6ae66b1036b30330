"""Extensions in the layout of PyTorch's tutorials become kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.errors import DefinitionError, FileError, InputError, LltmInlineError, UnknownKernelError
from lltm_inline.model.kernel import revisions
from lltm_inline.model.registry import Kernel, registry
from tests.cuda_twin import CUDA_ON_CPU, launches_as_loops
from tests.needs import needs
from tests.quick import QUICK
from tests.texts import bodies
from tests.tiny import STABLE

CLASSIC = Path(__file__).parent / "classic"
MODULE = (
    'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n  m.def("forward", &forward);\n  m.def("backward", &backward);\n}\n'
)


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    """Take out of the registry what a test has imported."""
    before, made = registry.snapshot(), dict(revisions)
    yield
    registry.restore(before)
    for name in [name for name in revisions if name not in made]:
        del revisions[name]


def extension(directory: Path, text: str, setup: str = "CppExtension('tiny_cpp', ['tiny.cpp'])") -> Path:
    """Write an extension of one file."""
    (directory / "setup.py").write_text(setup)
    (directory / "tiny.cpp").write_text(text)
    return directory


@pytest.mark.full
def test_the_tutorials_cpp_extension(quick_compiler: None) -> None:
    """It comes in with its own text, without its module, and with the two functions of a kernel; its check is right."""
    (kernel,) = registry.import_extension(CLASSIC / "cpp", op="lltm")
    assert kernel.label == "lltm/lltm_cpp" and registry["lltm/lltm_cpp"] is kernel
    assert kernel.saves == ("new_cell", "weights") and kernel.binding == "torch_library" and not kernel.cuda
    own = (CLASSIC / "cpp" / "lltm.cpp").read_text().partition("\nPYBIND11_MODULE")[0]
    assert kernel.cpp.startswith(own)
    assert kernel.cpp[len(own) :] == ADAPTER
    report = li.check(kernel)
    assert report.ok, str(report)


TEXTS = bodies(__file__)
ADAPTER = TEXTS["adapter"]


def cuda_kernel() -> Kernel:
    """Import the tutorial's CUDA extension."""
    (kernel,) = registry.import_extension(CLASSIC / "cuda", op="lltm", variant="classic")
    return kernel


@pytest.mark.full
def test_the_tutorials_cuda_extension_computes_what_it_should() -> None:
    """Both files become one CUDA text; with its launches as loops, its check is right on a CPU."""
    kernel = cuda_kernel()
    assert kernel.name == "lltm/classic" and not kernel.cpp and kernel.flags == ()
    assert kernel.cuda.startswith("// From lltm_cuda_kernel.cu.\n#include <torch/extension.h>\n")
    assert (
        kernel.cuda.index("__global__") < kernel.cuda.index("// From lltm_cuda.cpp.") < kernel.cuda.index("std::tuple")
    )
    assert "PYBIND11_MODULE" not in kernel.cuda
    text = re.sub(r"#include <cuda[^\n]*", "", launches_as_loops(kernel.cuda)).replace("__forceinline__", "")
    # A header that compiles in a third of the time.
    text = text.replace(
        "#include <torch/extension.h>", "#include <ATen/ATen.h>\nnamespace torch { using namespace at; }"
    )
    # The tutorial launches on the default stream, and does not look at errors.
    machine = CUDA_ON_CPU.replace("stream != &current_stream", "false")
    twin = registry.register(
        Kernel("lltm/classic_on_cpu", cpp=machine + text.replace("is_cuda()", "is_cpu()"), saves=kernel.saves)
    )
    report = li.check(twin)
    assert report.ok, str(report)


@pytest.mark.full
@needs("nvcc")
def test_the_tutorials_cuda_extension_compiles() -> None:
    """nvcc takes the text as it is, and g++ the binding."""
    assert li.build(cuda_kernel(), device="cuda", compile_only=True, progress=False).seconds > 0


def test_functions_of_the_playgrounds_names(tiny: Any, tmp_path: Path) -> None:
    """An extension whose own functions are called forward and backward keeps its text; the playground's have other names."""
    own = (
        "#include <ATen/ATen.h>\n#include <vector>\n\n"
        "std::vector<at::Tensor> forward(at::Tensor x) { return {x * 2}; }\n\n"
        "std::vector<at::Tensor> backward(at::Tensor grad) { return {grad * 2}; }\n\n"
    )
    (kernel,) = registry.import_extension(extension(tmp_path, own + MODULE), op="tiny", variant="named")
    assert kernel.cpp.startswith(own + "// What the playground calls: forward and backward, with arguments")
    assert kernel.functions == ("called_forward", "called_backward")
    report = li.check(kernel)
    assert report.ok, str(report)


def test_an_extension_through_aten(tiny: Any, tmp_path: Path) -> None:
    """Without a backward the kernel differentiates through ATen; what follows the module stays; a BOM and CRLF go."""
    text = (
        "\ufeff#include <torch/extension.h>\r\n\r\nat::Tensor later(at::Tensor x);\r\n"
        'PYBIND11_MODULE(x, m) { m.def("twice", &later, "$2"); }\r\n\r\nat::Tensor later(at::Tensor x) { return x * 2; }  // $\r\n'
    )
    (kernel,) = registry.import_extension(extension(tmp_path, text), op="tiny", variant="aten")
    assert kernel.cpp == (
        "#include <torch/extension.h>\n\nat::Tensor later(at::Tensor x);\n\nat::Tensor later(at::Tensor x) { return x * 2; }  // $$\n\n"
        "// What the playground calls: later, with arguments and results in the order of op 'tiny'.\n"
        "at::Tensor forward(const at::Tensor& x) {\n  return (later)(x);\n}\n"
    )
    assert kernel.saves == ()


def test_a_function_named_like_one_of_atens(tiny: Any, tmp_path: Path, quick_compiler: None) -> None:
    """It is the extension's own that is called, and not `at::square`, which takes the same arguments."""
    text = (
        "#include <ATen/ATen.h>\nat::Tensor square(at::Tensor x) { return x * 2; }\n"
        'PYBIND11_MODULE(x, m) { m.def("square", &square); }\n'
    )
    (kernel,) = registry.import_extension(extension(tmp_path, text), op="tiny", variant="square")
    assert li.load(kernel)(torch.tensor([1.0, 3.0])).tolist() == [2, 6]


def test_flags(tiny: Any, tmp_path: Path) -> None:
    """What every kernel is compiled with is left out; other flags are the kernel's, and those of a C++ file go through nvcc."""
    text = 'at::Tensor f(at::Tensor x) { return x; }\nPYBIND11_MODULE(x, m) { m.def("forward", &f); }\n'
    flags = "extra_compile_args={'cxx': ['-O3', '-std=c++17', '-g', '-ffast-math'], 'nvcc': ['-O2', '--use_fast_math']}"
    setup = f"CppExtension('tiny_a', ['tiny.cpp'], {flags}, define_macros=[('N', '3')])"
    (kernel,) = registry.import_extension(extension(tmp_path, text, setup), op="tiny")
    assert kernel.name == "tiny/tiny_a" and kernel.flags == ("-ffast-math", "-DN=3")
    (tmp_path / "k.cu").write_text("int y;\n")
    setup = f"CUDAExtension('pkg.tiny_b', ['tiny.cpp', 'k.cu'], {flags})"
    (kernel,) = registry.import_extension(extension(tmp_path, text, setup), op="tiny")
    assert kernel.name == "tiny/tiny_b" and kernel.flags == ("-Xcompiler=-ffast-math", "--use_fast_math")
    with pytest.raises(
        DefinitionError, match=r": kernel 'tiny/tiny_c': flag '-lz' links a library, which only the playground does"
    ):
        registry.import_extension(
            extension(tmp_path, text, "CppExtension('tiny_c', ['tiny.cpp'], extra_compile_args=['-lz'])"), op="tiny"
        )


def test_again_is_the_same_and_edited_is_a_revision(tiny: Any, tmp_path: Path) -> None:
    """An extension that is imported again is the kernel that it was; an edited one is its next revision."""
    text = 'at::Tensor f(at::Tensor x) { return x * 2; }\nPYBIND11_MODULE(x, m) { m.def("forward", &f); }\n'
    (first,) = registry.import_extension(extension(tmp_path, text), op="tiny")
    assert registry.import_extension(tmp_path, op="tiny") == (first,)
    (second,) = registry.import_extension(extension(tmp_path, text.replace("2;", "3;")), op="tiny")
    assert (second.label, second.parent) == ("tiny/tiny_cpp@1", "tiny/tiny_cpp")
    assert registry["tiny/tiny_cpp"] is second
    (again,) = registry.import_extension(extension(tmp_path, text), op="tiny")
    assert again is first and registry["tiny/tiny_cpp"] is first


def test_several_extensions(tiny: Any, tmp_path: Path) -> None:
    """Each becomes a kernel; if one cannot, none is registered."""
    text = 'at::Tensor f(at::Tensor x) { return x * 2; }\nPYBIND11_MODULE(x, m) { m.def("forward", &f); }\n'
    setup = "[CppExtension('one', ['tiny.cpp']), CppExtension('two', ['tiny.cpp'])]"
    kernels = registry.import_extension(extension(tmp_path, text, setup), op="tiny")
    assert [kernel.name for kernel in kernels] == ["tiny/one", "tiny/two"]
    with pytest.raises(InputError, match=r"holds the extensions one, two: variant='x' can name one only$"):
        registry.import_extension(tmp_path, op="tiny", variant="x")
    extension(tmp_path, text, "[CppExtension('three', ['tiny.cpp']), CppExtension('four', ['none.cpp'])]")
    with pytest.raises(FileError, match=r"none\.cpp': No such file or directory"):
        registry.import_extension(tmp_path, op="tiny")
    assert "tiny/three" not in registry


def test_directories_that_are_no_extension(tmp_path: Path) -> None:
    """No setup.py, no directory, no op: each is said, with what is there in its place."""
    (tmp_path / "a.cpp").write_text("int x;\n")
    for directory, options, error, message in (
        (
            tmp_path, {"op": "lltm"}, InputError,
            r"^'.*' holds neither kernel\.json nor setup\.py\. Or name the files: import_extension\(\.\.\., "
            r"sources=\['a\.cpp'\], forward='NAME'\)$",
        ),
        (CLASSIC, {"op": "lltm"}, InputError, r"holds neither kernel\.json nor setup\.py; cpp, cuda below it do\. Or name"),
        (tmp_path / "none", {}, FileError, r"none' is not there: want the directory of an extension$"),
        (tmp_path / "a.cpp", {}, FileError, r"a\.cpp' is a file: want the directory of an extension$"),
        (3, {}, InputError, "^directory=3, want a path$"),
        (CLASSIC / "cpp", {"op": 3}, InputError, "^op=3, want a string$"),
        (CLASSIC / "cpp", {}, InputError, r"say which op it computes, op='lltm'\. Ops: axpy, "),
        (CLASSIC / "cpp", {"op": "lltn"}, UnknownKernelError, r"^no op 'lltn'\. Did you mean 'lltm'\? Ops: lltm, .*Register an Op of that"),
        (CLASSIC / "cpp", {"op": "lltm", "variant": "A b"}, DefinitionError, r": kernel name 'lltm/A b' is not 'op/variant'"),
        (
            CLASSIC / "cpp", {"op": "linear"}, DefinitionError,
            r"^extension 'lltm_cpp' in '.*': 'lltm_forward' takes 5 arguments \(input, weights, bias, old_h, old_cell\), "
            r"op 'linear' has 3: x, weight, bias\. Or write",
        ),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            registry.import_extension(directory, **options)


@pytest.mark.parametrize(
    ("setup", "text", "message"),
    [
        ("CppExtension('a', ['tiny.cpp'])", STABLE, "no PYBIND11_MODULE or TORCH_LIBRARY in tiny.cpp, which would say what"),
        ("CppExtension('_C', ['tiny.cpp'])", MODULE, "'_C' cannot be a variant's name: give one, variant='cpp'"),
        ("CppExtension('a', ['tiny.c'])", "", "tiny.c is neither C++ nor CUDA: want .cpp, .cc, .cxx, .cu"),
        ("CppExtension('a', ['tiny.cpp'])", "  \n", "tiny.cpp' is empty: want C++ or CUDA text"),
    ],
)  # fmt: skip
def test_sources_that_make_no_kernel(tiny: Any, tmp_path: Path, setup: str, text: str, message: str) -> None:
    """It is said which, where, and what to do; nothing is registered."""
    (tmp_path / "b.h").write_text("int x;\n")
    if text == MODULE:
        text = 'at::Tensor forward(at::Tensor x) { return x; }\nPYBIND11_MODULE(x, m) { m.def("forward", &forward); }\n'
    with pytest.raises(LltmInlineError, match=re.escape(message)):
        registry.import_extension(extension(tmp_path, text, setup), op="tiny")
    assert not [name for name in registry if name.startswith("tiny/") and name != "tiny/python"]


PLAIN = "at::Tensor twice(const at::Tensor& x) { return two() * x; }\n"


def test_files_and_functions_that_somebody_names(tiny: Any, tmp_path: Path) -> None:
    """Where setup.py does not tell, the files are named, and the functions; headers in its directories go into the text."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "two.h").write_text("#pragma once\ninline double two() { return 2; }\n")
    extension(
        tmp_path,
        "#include <ATen/ATen.h>\n#include <two.h>\n"
        + PLAIN
        + 'PYBIND11_MODULE(x, m) { m.def("a", &twice); m.def("b", &twice); }\n',
        "CppExtension('tiny_cpp', ['tiny.cpp'], include_dirs=['include'])",
    )
    with pytest.raises(
        DefinitionError, match=r"binds a, b, and none of that .*: name it, import_extension\(\.\.\., forward='a'\)"
    ):
        registry.import_extension(tmp_path, op="tiny")
    (kernel,) = registry.import_extension(tmp_path, op="tiny", forward="a")
    assert "// From two.h.\ninline double two() { return 2; }" in kernel.cpp and "(twice)(x)" in kernel.cpp
    assert li.check(kernel, compiler=QUICK).ok
    (tmp_path / "setup.py").write_text("CppExtension('tiny_cpp', find('.'))")
    (tmp_path / "plain.cpp").write_text('#include <ATen/ATen.h>\n#include "include/two.h"\n' + PLAIN)
    with pytest.raises(
        DefinitionError, match=r"or name the files: import_extension\(\.\.\., sources=\['a\.cpp'\], forward='NAME'\)$"
    ):
        registry.import_extension(tmp_path, op="tiny")
    (kernel,) = registry.import_extension(tmp_path, op="tiny", sources=["plain.cpp"], forward="twice")
    assert kernel.label == "tiny/plain" and "// From include/two.h." in kernel.cpp


@pytest.mark.full
def test_an_extension_of_torch_library(tiny: Any, tmp_path: Path) -> None:
    """Its own TORCH_LIBRARY stays outside, what that binds is the kernel, and the check is right."""
    library = """
TORCH_LIBRARY(tiny_ext, m) { m.def("twice(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(tiny_ext, CPU, m) { m.impl("twice", &twice); }
TORCH_LIBRARY_IMPL(tiny_ext, Meta, m) { m.impl("twice", &like); }
"""
    text = "#include <ATen/ATen.h>\n#include <torch/library.h>\n" + PLAIN.replace("two()", "2")
    extension(tmp_path, text + "at::Tensor like(const at::Tensor& x) { return at::empty_like(x); }\n" + library)
    (kernel,) = registry.import_extension(tmp_path, op="tiny", forward="twice")
    assert "TORCH_LIBRARY" not in kernel.cpp and "(twice)(x)" in kernel.cpp
    report = li.check(kernel, compiler=QUICK)
    assert report.ok, str(report)


@pytest.mark.full
def test_outputs_as_arguments(tiny: Any, tmp_path: Path) -> None:
    """An extension that fills what its caller gives is right, gradients included; through the op's own out= form, too."""
    text = """
#include <ATen/ATen.h>
void tiny_fw(at::Tensor x, at::Tensor& out) { out.add_(x, 2); }
int tiny_bw(at::Tensor grad_out, at::Tensor grad_x) { grad_x.copy_(grad_out * 2); return 1; }
PYBIND11_MODULE(x, m) { m.def("tiny_fw", &tiny_fw); m.def("tiny_bw", &tiny_bw); }
"""
    (kernel,) = registry.import_extension(extension(tmp_path, text), op="tiny", variant="fills")
    assert kernel.saves == ("x",)
    report = li.check(kernel, compiler=QUICK)
    assert report.ok, str(report)
    wrong = li.check(kernel.edit("grad_out * 2", "grad_out * 3"), compiler=QUICK)
    assert "d_x" in wrong.headline, str(wrong)
    out = li.Op(
        "tiny_out",
        "(Tensor x, Tensor(a!) out) -> ()",
        lambda x, out: [out.copy_(x + out)][1:] or None,
        {"x": "N", "out": "N"},
        differentiable=False,
    )
    registry.register(out)
    (given,) = registry.import_extension(tmp_path, op="tiny_out", variant="fills", forward="tiny_fw")
    x, y = torch.ones(3), torch.ones(3)
    li.load(given, compiler=QUICK)(x, y)
    assert y.tolist() == [3.0] * 3
    assert "out (" in li.check(given, compiler=QUICK).headline  # it adds twice x


def test_names_that_make_no_sense(tiny: Any, tmp_path: Path) -> None:
    """Files that are no list, functions that are not there: each is said."""
    extension(tmp_path, "int two() { return 2; }\n" + PLAIN)
    for given, error, message in (
        ({"sources": "tiny.cpp", "forward": "twice"}, InputError, r"^sources='tiny\.cpp', want a list of files"),
        ({"sources": [], "forward": "twice"}, InputError, r"^sources=\[\], want a list of files"),
        ({"sources": ["none.cpp"], "forward": "twice"}, FileError, r"none\.cpp': No such file"),
        (
            {"sources": ["tiny.cpp"]},
            DefinitionError,
            r"Name them: import_extension\(\.\.\., forward='NAME', backward='NAME'\)$",
        ),
        ({"forward": "thrice"}, DefinitionError, r"'thrice' is no function at file scope of its sources"),
        ({"backward": "twice"}, InputError, r"^backward='twice' without a forward: name both$"),
    ):
        with pytest.raises(error, match=message):
            registry.import_extension(tmp_path, op="tiny", **given)
