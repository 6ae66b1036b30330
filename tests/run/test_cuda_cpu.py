"""CUDA kernels on the CPU: right ones give the numbers of PyTorch in any order of threads, wrong ones are reported at their line."""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import lltm_inline as li
from lltm_inline.base.device import DEVICES
from lltm_inline.cuda_cpu import rewrite
from lltm_inline.errors import BuildError, TemplateError
from lltm_inline.model.registry import Kernel, Op, registry
from tests.tiny import forget

PLACE = Path(__file__).parents[1] / "planted" / "cuda"
HEADERS = "#include <ATen/ATen.h>\n#include <torch/types.h>\n#include <cuda_runtime.h>\n#include <vector>\n"


@dataclass(frozen=True)
class Planted:
    """A CUDA text, what its comments say of it, and where it begins in the text of all."""

    name: str
    text: str
    first: int

    def said(self, key: str) -> str:
        found = re.search(rf"^// {key}(?: =|:) (.+)$", self.text, re.MULTILINE)
        assert found, f"{self.name} does not say {key}"
        return found[1]

    @property
    def x(self) -> torch.Tensor:
        """The input."""
        torch.manual_seed(0)
        return eval(self.said("x"))

    @property
    def lines(self) -> list[int]:
        """The lines of the text of all at which it may be reported."""
        rows = self.text.split("\n")
        return [self.first + index for index, row in enumerate(rows) if row.endswith("// <-")]


def together(kind: str, *names: str) -> tuple[list[Planted], str]:
    """Put texts of a kind, or all, into one, which compiles once: each in a namespace, all behind one `forward`.

    `which` is the number of a text, and a hundred times the order in which its threads run.
    """
    paths = [path for path in sorted((PLACE / kind).glob("*.cu")) if not names or path.stem in names]
    include = re.compile(r"^#include.*$", re.MULTILINE)
    planted, text = [], HEADERS + "".join(f"{row}\n" for path in paths for row in include.findall(path.read_text()))
    for path in paths:
        text += f"namespace {path.stem} {{\n"
        planted.append(Planted(path.stem, include.sub("", path.read_text()), text.count("\n") + 1))
        text += planted[-1].text + "}\n"
    calls = "".join(f"  if (which == {i}) return {one.name}::run(x);\n" for i, one in enumerate(planted))
    head = "at::Tensor forward(const at::Tensor& x, int64_t which) {\n  ::cuda_cpu::thread_order = which / 100;\n  which %= 100;\n"
    return planted, f"{text}{head}{calls}  return x;\n}}\n"


@pytest.fixture(scope="module")
def op() -> Op:
    """An op that hands a tensor to one of many texts."""
    made = Op(
        "planted",
        "(Tensor x, int which) -> Tensor y",
        lambda x, which: x,
        {"x": "...", "y": "..."},
        inputs=lambda randn, N: (randn(N), 0),
        dtypes=("float32",),
    )
    registry.register(made)
    yield made
    forget("planted")


def loaded(text: str, *cflags: str) -> Callable[[torch.Tensor, int], torch.Tensor]:
    """Build a text in check mode."""
    kernel = Kernel("planted/all", cuda=text)
    function = li.load(kernel, device="cuda-cpu", cflags=[*DEVICES["cuda-cpu"].check_flags, *cflags], trust=True)
    return lambda x, which: function.forward(x, which)[0]


@pytest.mark.full
def test_right_kernels(op: Op) -> None:
    """They raise nothing in check mode, and give what PyTorch gives, in three orders of their threads."""
    planted, text = together("right")
    run = loaded(text)
    wrong = {}
    for order, (which, one) in itertools.product(range(3), enumerate(planted)):
        x = one.x
        try:
            torch.testing.assert_close(
                run(x, 100 * order + which), eval(one.said("y"), {"x": x, "torch": torch}), rtol=1e-4, atol=1e-4
            )
        except (RuntimeError, AssertionError) as error:
            wrong[f"{one.name} in order {order}"] = str(error)
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())


@pytest.mark.full
def test_wrong_kernels(op: Op) -> None:
    """Each is reported for its own reason, at its own line, and with its kernel."""
    planted, text = together("wrong")
    require_reports(planted, loaded(text))


def test_wrong_kernels_in_short(op: Op) -> None:
    """One of each kind, compiled quickly."""
    planted, text = together(
        "wrong",
        "barrier_in_branch",
        "far_into_another_tensor",
        "device_counter",
        "race_through_memcpy",
        "atomic_on_empty",
        "grid_rounded_down",
    )
    require_reports(planted, loaded(text, "-O0"))


def require_reports(planted: list[Planted], run: Callable[[torch.Tensor, int], torch.Tensor]) -> None:
    """Fail for those that are not reported as their texts say."""
    missed = {}
    for which, one in enumerate(planted):
        try:
            run(one.x, which)
            said = "nothing"
        except RuntimeError as error:
            said = str(error)
        at = any(re.search(rf"(?:line |planted/all:){line}\b", said) for line in one.lines)
        if not re.search(one.said("report"), said) or not at or not re.search("[Kk]ernel ", said):
            missed[one.name] = f"{said}; want {one.lines}"
    assert planted and not missed, "\n".join(f"{name}: {what}" for name, what in missed.items())


@pytest.mark.full
@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc")
def test_right_kernels_compile_for_a_gpu(op: Op) -> None:
    """nvcc takes the same texts."""
    _, text = together("right")
    text = text.replace("::cuda_cpu::thread_order = which / 100;", "")
    li.build(Kernel("planted/all", cuda=text), device="cuda", compile_only=True)


KERNEL = "__global__ void k(float* x) { x[0] = 1; }\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("void f() {}", "cuda line 1: no __global__ function"),
        ("#include <cub/cub.cuh>\n" + KERNEL, "cuda line 1: device 'cuda-cpu' cannot run cub"),
        (
            KERNEL + "__device__ void f() { auto grid = cooperative_groups::this_grid(); }",
            r"line 2: device 'cuda-cpu' cannot run cooperative groups across blocks \(this_grid\)",
        ),
        (KERNEL + '__device__ void f() { asm("bar.sync 0;"); }', r"line 2: .* cannot run inline PTX \(asm\)"),
        (KERNEL + "__global__ void m(float* x) { k<<<1, 1>>>(x); }", r"line 2: .*\(dynamic parallelism\)"),
        (KERNEL + "__device__ float f(float v) { return __shfl_down(v, 1); }", "line 2: .* write __shfl_down_sync"),
        (
            KERNEL + "__device__ int f(int v) { return __popcc(v); }",
            "line 2: .* intrinsic __popcc. Did you mean '__popc'",
        ),
        (
            KERNEL + "void f(int* x) { cudaMallocAsync(&x, 4, 0); }",
            "line 2: .* does not know the call .* cudaMallocAsync",
        ),
        (KERNEL + "cudaArray_t array;", "line 2: .* does not know the name of CUDA's runtime cudaArray_t"),
        (KERNEL + "int r = (k<<<1, 1>>>(nullptr), 1);", "line 2: a launch stands in a function"),
        (KERNEL + "void f(float* x) { k<<<1, 1>>>; }", "line 2: a launch is written kernel"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    """What cannot run on the CPU is refused by name and line, before anything is compiled."""
    with pytest.raises(TemplateError, match=message):
        rewrite(text, "op/mine", "cuda")


FORWARD = """at::Tensor forward(const at::Tensor& x, int64_t which) {
  at::Tensor y = at::empty_like(x);
  k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
"""
COPY = "__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }\n"


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            COPY.replace("{ y", "{ __shared__ float s[25600]; s[0] = 1; y") + FORWARD,
            r"all:5:\d+: static assertion failed: the shared array s needs more than 48 KiB, which a block has: "
            r"take a smaller one, or dynamic shared memory\n",
        ),
        (
            COPY + FORWARD.replace("(), y.data_ptr<float>()", "()"),
            r"all:8: too few arguments .* 'k' takes 2 arguments, this call gives fewer",
        ),
        (
            COPY
            + "int early() {\n  k<<<1, 1>>>(nullptr, nullptr);\n  return 1;\n}\nconst int one = early();\n"
            + FORWARD,
            "kernel k is launched at planted/all:7, for the value of a static variable: .* Launch it from a function",
        ),
    ],
)
def test_bad_input(op: Op, text: str, message: str) -> None:
    """What only the compiler or the loader sees is told at its line, too."""
    kernel = Kernel("planted/all", cuda=HEADERS + text)
    with pytest.raises((BuildError, RuntimeError), match=message):
        li.load(kernel, device="cuda-cpu", cflags=["-O0"], trust=True).forward(torch.ones(32), 0)


def test_lines_stay() -> None:
    """Every line is where it was, and comments and strings are left alone."""
    text = (PLACE / "right" / "template_commas.cu").read_text()
    made = rewrite(text, "op/mine", "cuda")
    assert made.count("\n") == text.count("\n") + 1 and "<<<" not in made  # one at the end
    assert 'Launch("relu_times<scalar_t, 3>", __FILE__, __LINE__, dim3(' in made
    operators = (
        "struct V { int a; };\n__device__ bool operator==(V a, V b) { return a.a == b.a; }\n__global__ void k() {}"
    )
    assert rewrite(operators, "op/mine", "cuda").startswith(f"{operators}\n")
    kept = '// k<<<1, 1>>>(x)\n__global__ void k() { printf("__shared__ float s[1]; <<<"); }'
    assert rewrite(kept, "op/mine", "cuda").startswith(f"{kept}\n")


@pytest.mark.full
@pytest.mark.parametrize("name", ["axpy/cuda", "lltm/cuda_accessor"])
def test_ops_run_as_they_are(name: str) -> None:
    """The CUDA kernels that ship are right on the CPU, their gradients included, from the text that nvcc takes."""
    report = li.check(name, device="cuda-cpu")
    assert report.ok and report.device == "cuda-cpu" and report["gradcheck"].cases


@pytest.mark.full
def test_timings_say_where() -> None:
    """A timing on the CPU cannot be taken for one of a GPU."""
    timings = li.benchmark(["axpy/cuda"], sizes=[(1000,)], device="cuda-cpu", seconds=0.05)
    assert {row.device for row in timings.rows} == {"cuda-cpu"} and "cuda-cpu" in str(timings)


def test_a_check_names_the_line(op: Op) -> None:
    """A check is in check mode: what a GPU would let pass is a finding, with the line of the user's own text."""
    text = (PLACE / "wrong" / "no_guard.cu").read_text()
    text = f"{HEADERS}{text}at::Tensor forward(const at::Tensor& x, int64_t which) {{ return run(x); }}\n"
    report = li.check(Kernel("planted/guard", cuda=text), device="cuda-cpu", sizes=[(100,)], trust=True)
    assert not report.ok and re.search(r"out of bounds: x\[100\], read at line planted/guard:10\b", str(report))
