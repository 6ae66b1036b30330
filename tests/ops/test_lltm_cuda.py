"""The CUDA kernels: what they compute, proven without a GPU on their C++ twins, and with one on the GPU itself.

What only a GPU can show (streams, graphs, several devices, speed) is marked `gpu`.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

import lltm_inline as li
from lltm_inline.model.kernel import Kernel
from lltm_inline.source.template import render
from tests.cuda_twin import twin
from tests.needs import need, needs
from tests.ops.rooms import each_planted
from tests.quick import QUICK

NAMES = ("lltm/cuda", "lltm/cuda_accessor", "lltm/cuda_extern", "axpy/cuda")

gpu = [
    pytest.mark.gpu,
    needs("a GPU"),
]


@dataclass(frozen=True)
class Planted:
    """A mistake that people make in CUDA kernels, as an edit of a right one, and words that its report must hold."""

    name: str
    edits: tuple[tuple[str, str], ...]
    says: tuple[str, ...]
    base: str = "lltm/cuda"
    threads: int = 256

    def kernel(self) -> Kernel:
        """Make the wrong kernel's twin."""
        kernel = li.registry[self.base]
        for old, new in self.edits:
            texts = {kind: text.replace(old, new) for kind, text in kernel.sources.items() if old in text}
            assert texts, old
            kernel = Kernel(
                f"lltm/{self.name}", **{**kernel.sources, **texts}, params={"THREADS": self.threads}, saves=kernel.saves
            )
        return twin(kernel, li.registry.ops["lltm"])


STREAM = ", 0, c10::cuda::getCurrentCUDAStream()>>>"
PLANTED = (
    Planted("default_stream", ((STREAM, ">>>"),), ("raises", "not torch's current stream")),
    Planted("no_launch_for_no_rows", (("if (B * S > 0) {", "{"),), ("invalid configuration argument", "B=0")),
    Planted(
        "too_many_threads", (("// gates holds", "// Gates hold"),), ("invalid configuration argument",), threads=2048
    ),
    Planted("unchecked_launch", (("      C10_CUDA_KERNEL_LAUNCH_CHECK();\n", ""),), ("new_h",), threads=2048),
    Planted("float_in_double", (("1 / (1 + exp(-z))", "1 / (1 + expf(-z))"),), ("float64", "new_h")),
    Planted("expanded_gradient", (("d_new_h.contiguous()", "d_new_h"),), ("expanded", "d_")),
    Planted("bias_with_an_axis_too_many", (("d_z.sum(0)", "d_z.sum(0, true)"),), ("d_bias", "(1, ")),
    Planted("rows_beyond_the_grid", (("65535", "64"), ("b += gridDim.y", "b += B")), ("new_h",)),
    Planted("elu_derivative", (("c > 0 ? 1 : c + 1", "c > 0 ? 1 : exp(c)"),), ("d_weights", "candidate cell")),
    Planted(
        "strided_state",
        (("old_cell.contiguous()", "old_cell"),),
        ("takes contiguous tensors",),
        base="lltm/cuda_extern",
    ),
)


@pytest.fixture(scope="module")
def twins() -> dict[str, Kernel]:
    """Build the kernels that ship in one go."""
    kernels = {name: twin(li.registry[name], li.registry.op_of(li.registry[name])) for name in NAMES}
    li.build(list(kernels.values()), progress=False, compiler=QUICK)
    return kernels


@pytest.mark.parametrize("name", NAMES)
def test_arithmetic(name: str, twins: dict[str, Kernel]) -> None:
    """Each kernel's own text, compiled for the CPU, is right: parity at all corner sizes, layouts, subsets, and gradcheck."""
    report = li.check(twins[name], progress=False, compiler=QUICK)
    assert report.ok, str(report)


@each_planted({planted.name: planted for planted in PLANTED})
def test_mistake_is_rejected_for_its_reason(planted: Planted) -> None:
    """Each mistake is found, and said to be what it is."""
    report = li.check(planted.kernel(), progress=False, compiler=QUICK)
    assert not report.ok
    for words in planted.says:
        assert words in str(report), str(report)


@pytest.mark.parametrize("name", NAMES[:3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_large_values_overflow_nowhere(name: str, dtype: torch.dtype, twins: dict[str, Kernel]) -> None:
    """Gates of +-1000 saturate; neither values nor gradients become inf or nan."""
    generator = torch.Generator().manual_seed(0)
    op = li.registry.ops["lltm"]
    values = op.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), (8, 4, 40))
    leaves = [value.requires_grad_() for value in (values[0], values[1] * 1000, *values[2:])]
    results = li.load(twins[name], compiler=QUICK)(*leaves)
    gradients = torch.autograd.grad([result.sum() for result in results], leaves)
    assert all(tensor.isfinite().all() for tensor in (*results, *gradients))


def test_six_gradients_for_five_inputs() -> None:
    """A backward that returns one gradient too many, as the tutorial's did, is refused before anything is compiled."""
    kernel = li.registry["lltm/cuda"]
    five = "std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> backward"
    assert five in kernel.cuda
    text = kernel.cuda.replace(five, five.replace("<", "<at::Tensor, "))
    rendered = render(Kernel("lltm/six", cuda=text, saves=kernel.saves), li.registry.ops["lltm"], "cuda")
    [problem] = rendered.interface.problems
    assert problem.message == "'backward' returns 6 gradients, want 5: d_input, d_weights, d_bias, d_old_h, d_old_cell"


def test_every_kernel_says_what_it_changes() -> None:
    """Each module's docstring is the kernel's page, and names the traps that it avoids."""
    for name in NAMES:
        doc = li.registry[name].doc
        assert "What it changes over" in doc and "`THREADS` is the number of threads of a block" in doc
    assert "65 535" in li.registry["lltm/cuda"].doc


# On a GPU


def on_gpu(
    name: str, size: tuple[int, ...], dtype: torch.dtype = torch.float64, device: str = "cuda"
) -> list[torch.Tensor]:
    """Draw one set of inputs on a device."""
    generator = torch.Generator().manual_seed(0)
    op = li.registry.op_of(li.registry[name])
    return [
        x.to(device) for x in op.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), size)
    ]


SIZES = {"lltm": (67, 33, 129), "axpy": (100_003,)}


class TestOnGpu:
    """What only a GPU can show."""

    pytestmark = gpu

    @pytest.mark.parametrize("name", NAMES)
    def test_check(self, name: str) -> None:
        """Every kernel is right on the GPU itself."""
        report = li.check(name, device="cuda", progress=False)
        assert report.ok, str(report)

    @pytest.mark.parametrize("name", NAMES)
    def test_stream(self, name: str) -> None:
        """A kernel runs on the current stream: it waits for what is before it there."""
        function, op = li.load(name, device="cuda"), li.registry.op_of(li.registry[name])
        late = on_gpu(name, SIZES[op.name])
        values = [torch.zeros_like(value) for value in late]
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(100_000_000)
            for value, new in zip(values, late, strict=True):
                value.copy_(new)
            got = function(*values)
        stream.synchronize()
        torch.testing.assert_close(got, op.reference(*late))

    @pytest.mark.parametrize("name", NAMES)
    def test_graph(self, name: str) -> None:
        """A CUDA graph records a kernel, and replays it with new inputs."""
        function, op = li.load(name, device="cuda"), li.registry.op_of(li.registry[name])
        values = on_gpu(name, SIZES[op.name])
        function(*values)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = function(*values)
        for value in values:
            value.mul_(0.5)
        graph.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(got, op.reference(*values))

    @pytest.mark.parametrize("name", NAMES)
    def test_second_device(self, name: str) -> None:
        """A kernel runs where its inputs are, while another device is the current one."""
        need("two GPUs")
        function, op = li.load(name, device="cuda"), li.registry.op_of(li.registry[name])
        values = [value.requires_grad_() for value in on_gpu(name, SIZES[op.name], device="cuda:1")]
        results = function(*values)
        results = results if isinstance(results, tuple) else (results,)
        torch.autograd.grad([result.sum() for result in results], values)
        assert results[0].device == torch.device("cuda:1") and torch.cuda.current_device() == 0
        torch.testing.assert_close(
            results[0], (op.reference(*values) if len(results) == 1 else op.reference(*values)[0])
        )

    @pytest.mark.parametrize("name", NAMES)
    def test_more_rows_than_a_grid_has(self, name: str) -> None:
        """More rows or elements than blocks fit into a grid are all computed."""
        function, op = li.load(name, device="cuda"), li.registry.op_of(li.registry[name])
        values = on_gpu(name, (70_001, 1, 3) if op.name == "lltm" else (20_000_003,), torch.float32)
        torch.testing.assert_close(function(*values), op.reference(*values))

    def test_wrong_device(self) -> None:
        """CPU tensors are refused by name, and so is a mixture."""
        values = on_gpu("lltm/cuda", (3, 17, 5))
        function = li.load("lltm/cuda", device="cuda")
        with pytest.raises(RuntimeError, match=r"bias is on another device than input|same device"):
            function(values[0], values[1], values[2].cpu(), *values[3:])
        with pytest.raises((RuntimeError, NotImplementedError), match="lltm/cuda"):
            function(*(value.cpu() for value in values))

    def test_launch_that_fails(self) -> None:
        """A launch with too many threads is an error with the kernel's name and CUDA's words, not a result of zeros."""
        kernel = li.registry["lltm/cuda_extern"].replace(params={"THREADS": 4096})
        with pytest.raises(
            RuntimeError, match=r"lltm/cuda_extern: launch of 'cell_forward': failed: invalid configuration argument"
        ):
            li.load(kernel, device="cuda")(*on_gpu("lltm/cuda", (3, 17, 5)))

    def test_benchmark(self) -> None:
        """The kernels can be timed against eager PyTorch on the GPU."""
        timings = li.benchmark(
            ["lltm/python", *NAMES[:3]], sizes=[(64, 32, 128)], device="cuda", seconds=0.05, progress=False
        )
        assert {row.kernel for row in timings.rows} >= set(NAMES[:3])
