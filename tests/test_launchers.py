"""Launch functions of torch-free CUDA texts: which are found, what is generated for them, and what they refuse at run time."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from lltm_inline.calling import load
from lltm_inline.compiling.header import torch_cflags
from lltm_inline.errors import TemplateError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.source.launchers import find_launchers, host_text, instances_text
from lltm_inline.source.template import devices_of, render
from tests.cuda_twin import launches_as_loops, twin
from tests.needs import needs
from tests.texts import bodies

pytestmark = pytest.mark.usefixtures("quick_compiler")

OP = Op("tiny", "(Tensor x) -> Tensor y", lambda x: x, {"x": "N", "y": "N"})
KERNEL = Kernel("tiny/gpu", cpp="//", cuda="//")


def launchers(text: str, op: Op = OP) -> Any:
    """Find the launch functions of a text."""
    return find_launchers(KERNEL, op, text)


def test_last_parameter_makes_a_launch_function() -> None:
    """A function at file scope that ends in a stream is one; kernels, helpers, members, and what comments say are none."""
    text = """
    // void no(const float* x, cudaStream_t stream) {}
    __global__ void kernel(const float* x) {}
    void helper(cudaStream_t stream, int n) {}
    void declared(const float* x, cudaStream_t stream);
    struct S { void member(float* x, cudaStream_t stream) {} };
    template <typename scalar_t>
    static inline void typed(const scalar_t* __restrict__ x, scalar_t const *y, scalar_t* z, scalar_t a, int n, std::int64_t N, bool b,
                             const cudaStream_t stream) {}
    void plain(const int64_t* index, float* x, double a, cudaStream_t) {}
    """
    typed, plain = launchers(text)
    assert (typed.name, typed.template, plain.name, plain.template) == ("typed", "scalar_t", "plain", "")
    assert [p.spelled("scalar_t", "float") for p in typed.parameters] == [
        "const float* x",
        "const float* y",
        "float* z",
        "float a",
        "int n",
        "int64_t N",
        "bool b",
    ]
    assert [p.spelled("", "") for p in plain.parameters] == ["const int64_t* index", "float* x", "double a"]
    instances = instances_text((typed, plain), OP)
    assert re.findall(r'extern "C" const char\* (\w+)', instances) == ["typed_float", "typed_double", "plain_launch"]
    assert "typed<double>(x, y, z, a, n, N, b, stream_);" in instances and "plain(index, x, a, stream_);" in instances
    host = host_text(KERNEL, OP, (typed, plain))
    assert (
        "void typed(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, double a, int64_t n, int64_t N, bool b)"
        in host
    )
    assert 'launch_.pointer<const int64_t>("index", index, at::kLong)' in host and 'launch_.narrow("n", n)' in host


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int f(float* x, cudaStream_t s) { return 0; }", "launch function 'f' returns 'int', want void"),
        (
            "template <class T, int N> void f(T* x, cudaStream_t s) {}",
            "begins with 'template <class T, int N>', want template <class T>",
        ),
        ("template <int N> void f(float* x, cudaStream_t s) {}", "begins with 'template <int N>'"),
        ("void f(float x, cudaStream_t s) {}", "takes no pointer, so that nothing tells on which device to launch"),
        (
            "template <class T> void f(float* x, T a, cudaStream_t s) {}",
            "takes no pointer to T, so that no tensor tells",
        ),
        (
            "void f(float** x, cudaStream_t s) {}",
            "takes 'float** x'. Want pointers (const T*, T*, const int64_t*, ...), numbers",
        ),
        ("void f(at::Tensor x, cudaStream_t s) {}", "takes 'at::Tensor x'. Want pointers"),
        ("void f(float& x, cudaStream_t s) {}", "takes 'float& x'"),
        ("void f(unsigned n, float* x, cudaStream_t s) {}", "takes 'unsigned n'"),
        ("void f(float*, cudaStream_t s) {}", "has a parameter without a name, 'float*'"),
        (
            "void f(float* x, cudaStream_t s) {}\nvoid f(double* x, cudaStream_t s) {}",
            "'f' is defined twice: give each",
        ),
        (
            "__global__ void k(float* x) {}",
            "no function 'forward', and no launch function either. A launch function stands at file scope",
        ),
    ],
)
def test_what_cannot_be_called_with_tensors(text: str, message: str) -> None:
    """A launch function that does not parse is refused with what is wanted, and the kernel's name."""
    with pytest.raises(TemplateError, match=re.escape(message)) as error:
        launchers(text)
    assert str(error.value).startswith("kernel 'tiny/gpu', cuda: ")


def test_dtypes_of_the_op() -> None:
    """Instances are those of the op's dtypes; a complex one has none."""
    text = "template <class T> void f(T* x, cudaStream_t s) {}"
    double = Op("tiny", "(Tensor x) -> Tensor y", lambda x: x, {"x": "N", "y": "N"}, dtypes=("float64",))
    assert "f_double" in instances_text(launchers(text, double), double)
    assert "f_float" not in instances_text(launchers(text, double), double) + host_text(
        KERNEL, double, launchers(text, double)
    )
    wild = Op("tiny", "(Tensor x) -> Tensor y", lambda x: x, {"x": "N", "y": "N"}, dtypes=("complex64",))
    with pytest.raises(
        TemplateError, match="op 'tiny' has dtype complex64: only float32 and float64 can be instantiated"
    ):
        launchers(text, wild)


def test_bracket_that_hides_a_launch_function() -> None:
    """Where a bracket is missing nothing is said here: nvcc says which."""
    assert launchers("__global__ void k(float* x) { if (x) {\n}\nvoid f(float* x, cudaStream_t s) {}") == ()


def test_forms_of_a_kernel() -> None:
    """The texts say which devices run a kernel: with `forward` in both it has all, with launch functions those of CUDA."""
    forward = "at::Tensor forward(const at::Tensor& x) { return x; }"
    launch = "void f(float* x, cudaStream_t s) {}"
    for texts, devices in (
        ({"cpp": forward}, ("cpu",)),
        ({"cuda": forward}, ("cuda", "cuda-cpu")),
        ({"cpp": forward, "cuda": forward}, ("cpu", "cuda", "cuda-cpu")),
        ({"cpp": forward, "cuda": launch}, ("cuda", "cuda-cpu")),
    ):
        assert devices_of(Kernel("tiny/x", **texts)) == devices
    assert devices_of(registry["lltm/python"]) == ("cpu", "cuda", "cuda-cpu")


def test_files_of_both_forms() -> None:
    """The C++ file of a classic text declares its functions by their true types; params stand behind the CUDA text's headers."""
    text = "\n/*\n#include <x>\n*/\n#include <torch/types.h>\nusing torch::Tensor;\nTensor forward(Tensor x) { return A * x; }\n"
    rendered = render(Kernel("tiny/classic", cuda=text, params={"A": 2}), OP, "cuda")
    assert "\nat::Tensor forward(at::Tensor);\n" in rendered.text and "torch/types.h" not in rendered.text
    assert '#include <torch/types.h>\n#define A 2\n#line 6 "tiny/classic"\nusing torch::Tensor;' in rendered.cuda
    assert rendered.prelude == "light" and 'fail("x", " is not on a CUDA device"' in rendered.text
    assert "CompositeImplicitAutograd" in rendered.text
    extern = render(registry["lltm/cuda_extern"], registry.ops["lltm"], "cuda")
    assert (
        'implement("CUDA", "backward"' in extern.text
        and "const c10::OptionalDeviceGuard device_(at::device_of(d_new_h))" in extern.text
    )
    assert [name.partition(" ")[2] for name in extern.sources] == [
        "(cpp)",
        "(cuda)",
        "(launchers)",
        "(instances)",
        "(binding)",
    ]
    assert "torch" not in re.sub(r"//[^\n]*", "", extern.cuda) and "ATen" not in extern.cuda
    assert render(registry["lltm/fused"], registry.ops["lltm"]).cuda == ""


def test_params_used_in_a_condition_stay_ahead_of_it() -> None:
    """A text that asks for a param before its last header gets the params before that."""
    text = "\n#include <a>\n#if A > 1\n#include <b>\n#endif\n#include <c>\nat::Tensor forward(const at::Tensor& x) { return x; }\n"
    rendered = render(Kernel("tiny/classic", cuda=text, params={"A": 2}), OP, "cuda")
    assert '#include <a>\n#define A 2\n#line 3 "tiny/classic"\n#if A > 1' in rendered.cuda


TEXTS = bodies(__file__, ".cu")
CUDA = TEXTS["cuda"]
CPP = TEXTS["cpp"]


@pytest.fixture(scope="module")
def shift() -> Any:
    """Register an op with a kernel whose launches can be made wrong, and give its twin on the CPU."""
    op = Op(
        "shift",
        "(Tensor x, float mode=0) -> Tensor y",
        lambda x, mode=0: 2.5 * x,
        {"x": "N", "y": "N"},
        inputs=lambda randn, N: (randn(N), 0.0),
    )
    registry.register(op)
    yield lambda threads=32: load(
        twin(Kernel("shift/gpu", cpp=CPP, cuda=CUDA, params={"THREADS": threads}), op), progress=False
    )
    from tests.tiny import forget

    forget("shift")


def test_what_launches_refuse(shift: Any) -> None:
    """The generated functions launch for either dtype, and name argument and reason where they do not."""
    function = shift()
    for dtype in (torch.float32, torch.float64):
        assert function(torch.arange(70, dtype=dtype)).tolist() == [2.5 * i for i in range(70)]
    assert function(torch.ones(0)).shape == (0,)
    x = torch.ones(5, dtype=torch.float64)
    for inputs, message in (
        ((x, 1.0), "shift is Double, want Long"),
        ((x, 2.0), "n = 1099511627776 does not fit into an int"),
        ((x, 3.0), "was called without a defined tensor"),
        ((x, 4.0), "Int tensors, want Float or Double"),
        ((x, 5.0), "y is Double, want Float"),
        ((x.repeat(2)[::2], 0.0), "takes contiguous tensors: call .contiguous() and keep the result in a variable"),
    ):
        with pytest.raises(RuntimeError, match=re.escape(f"shift/gpu: launch of 'add': {message}")):
            function(*inputs)


def test_failed_launch_is_an_error(shift: Any) -> None:
    """A launch that CUDA refuses is an error with the kernel's name and CUDA's words; the next one is not blamed for it."""
    function = shift(4096)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="shift/gpu: launch of 'add': failed: invalid configuration argument"):
            function(torch.ones(3))


@needs("g++")
def test_host_side_needs_no_cuda(tmp_path: Path) -> None:
    """The C++ file compiles with a plain C++ compiler, without any header of CUDA."""
    source = tmp_path / "main.cpp"
    source.write_text(render(registry["lltm/cuda_extern"], registry.ops["lltm"], "cuda").text)
    command = ["g++", *torch_cflags(), "-M", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Tensor.h" in done.stdout and not re.search(r"cuda_runtime|c10/cuda|ATen/cuda", done.stdout)


def test_twin_rewrites_launches() -> None:
    """The tests' own rewriter: a launch with brackets in its arguments becomes a call with all of them."""
    assert launches_as_loops("k<T><<<f(a, b), 256, 0, s>>>(x[0], (y), z());") == (
        "launch([&] { k<T>(x[0], (y), z()); }, f(a, b), 256, 0, s);"
    )
