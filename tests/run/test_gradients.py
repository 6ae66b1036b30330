"""Backward in all its forms: differentiated again, with gradients that are not there, with results that are views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.check import check
from lltm_inline.errors import DefinitionError, InputError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.run.function import Function
from tests.texts import bodies
from tests.tiny import STABLE, forget

pytestmark = [pytest.mark.full, pytest.mark.together, pytest.mark.usefixtures("quick_compiler")]

HEADER = "#include <ATen/ATen.h>\n#include <c10/core/GradMode.h>\nusing at::Tensor;\n"

TEXTS = bodies(__file__)
# y = x w,  z = x + w.  Of 1009 elements backward says what it is given.
BOTH = HEADER + TEXTS["both"]
# The same with gradients that are always there.
FILLED = BOTH.replace("const std::optional<Tensor>&", "const Tensor&").replace(
    'TORCH_CHECK(x.sym_numel() != 1009, "d_y ", d_y.has_value(), ", d_z ", d_z.has_value());',
    'TORCH_CHECK(x.sym_numel() != 1009, "d_y ", d_y.sum().item<double>(), ", d_z ", d_z.sum().item<double>());',
)
FILLED = FILLED.replace("!d_y ? *d_z : d_z ? *d_y * w + *d_z : *d_y * w", "d_y * w + d_z")
FILLED = FILLED.replace("!d_y ? *d_z : d_z ? *d_y * x + *d_z : *d_y * x", "d_y * x + d_z")
# One of the two optional, the other not.
MIXED = FILLED.replace("const Tensor& d_y", "const std::optional<Tensor>& d_y")
MIXED = MIXED.replace("d_y.sum().item<double>()", "d_y.has_value()")
MIXED = MIXED.replace("d_y * w + d_z", "d_y ? *d_y * w + d_z : d_z").replace(
    "d_y * x + d_z", "d_y ? *d_y * x + d_z : d_z"
)
# Results that are views of something else, in forward and in backward.
VIEWS = HEADER + TEXTS["views"]

# y = x^3, once more in ways that go wrong when they are differentiated again.
CUBE = HEADER + TEXTS["cube"]
KEPT = HEADER + TEXTS["kept"]
POINTER = CUBE.replace(
    "  return d_y * 3",
    """\
  Tensor d_x = at::empty(x.sizes(), x.options()), from = x.contiguous(), d = d_y.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "cube", [&] {
    for (int64_t i = 0; i < x.numel(); ++i) {
      const auto value = from.const_data_ptr<scalar_t>()[i];
      d_x.mutable_data_ptr<scalar_t>()[i] = 3 * value * value * d.const_data_ptr<scalar_t>()[i];
    }
  });
  return d_x;
  return d_y * 3""",
)
RAISES = CUBE.replace(
    "  return d_y * 3",
    '  TORCH_CHECK(!(c10::GradMode::is_enabled() && x.requires_grad()), "once only");\n  return d_y * 3',
)
DETACHED = CUBE.replace("d_y * 3 * x * x", "d_y * 3 * x.detach() * x")

KERNELS = {
    "optional": Kernel("both/optional", cpp=BOTH, saves=("x", "w"), double_backward=True),
    "filled": Kernel("both/filled", cpp=FILLED, saves=("x", "w"), double_backward=True),
    "mixed": Kernel("both/mixed", cpp=MIXED, saves=("x", "w"), double_backward=True),
    "once": Kernel("both/once", cpp=BOTH, saves=("x", "w")),
    "classic": Kernel("both/classic", cpp=BOTH, saves=("x", "w"), double_backward=True, binding="pybind11"),
    "views": Kernel("matrices/views", cpp=VIEWS, saves=("x", "w")),
    "cube": Kernel("third/cube", cpp=CUBE, saves=("x",), double_backward=True),
    "kept": Kernel("third/kept", cpp=KEPT, double_backward=True),
    "pointer": Kernel("third/pointer", cpp=POINTER, saves=("x",), double_backward=True),
    "raises": Kernel("third/raises", cpp=RAISES, saves=("x",), double_backward=True),
    "detached": Kernel("third/detached", cpp=DETACHED, saves=("x",), double_backward=True),
}
TWICE = ["optional", "filled", "mixed", "classic"]


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> Iterator[None]:
    """Register three ops and build everything at once."""

    def both(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * w, x + w

    registry.register(Op("both", "(Tensor x, Tensor w) -> (Tensor y, Tensor z)", both, dict.fromkeys("xwyz", "...")))
    registry.register(
        Op("matrices", "(Tensor x, Tensor w) -> (Tensor y, Tensor z)", both, dict.fromkeys("xwyz", "B F"))
    )
    registry.register(Op("third", "(Tensor x) -> Tensor y", lambda x: x**3, {"x": "...", "y": "..."}))
    li.build(list(KERNELS.values()), progress=False)
    yield
    for op in ("both", "matrices", "third"):
        forget(op)


def load(name: str) -> Function:
    """Load a kernel of the table above."""
    return li.load(KERNELS[name], progress=False)


def draw(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw x and w, which want gradients."""
    generator = torch.Generator().manual_seed(0)
    x, w = (torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_() for _ in "xw")
    return x, w


class Nothing(torch.autograd.Function):
    """The identity, with a gradient that is not there."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Copy."""
        return x.clone()

    @staticmethod
    def backward(ctx: Any, d_y: torch.Tensor) -> None:
        """Return nothing."""


# Differentiated again


@pytest.mark.parametrize("name", TWICE)
def test_second_derivative(name: str) -> None:
    """First and second derivatives are those of finite differences, for both outputs and each of them alone."""
    function = load(name)
    inputs = draw(2, 3)
    for pick in (slice(None), slice(0, 1), slice(1, 2)):
        assert torch.autograd.gradcheck(lambda x, w, pick=pick: function(x, w)[pick], inputs)
    assert torch.autograd.gradgradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(lambda x, w: function(x, w)[0], inputs)


@pytest.mark.parametrize("name", TWICE)
def test_third_derivative(name: str) -> None:
    """What differentiates twice differentiates as often as one likes."""
    gradients = []
    for function in (load(name), registry.ops["both"].reference):
        x, w = draw(5)
        y, z = function(x, w)
        value = (y**2 * z).sum()
        for _ in range(3):
            value = torch.autograd.grad(value, x, create_graph=True)[0].sum()
        gradients.append(torch.autograd.grad(value, w)[0])
    torch.testing.assert_close(*gradients)


def test_second_derivative_through_an_output_and_for_the_incoming_gradient() -> None:
    """A saved output carries its graph, and so does the incoming gradient."""
    function = li.load("cube/aten", progress=False)
    x, d_y = draw(5)
    (first,) = torch.autograd.grad(function(x)[0], x, d_y, create_graph=True)
    got = torch.autograd.grad(first.sum(), [x, d_y])
    torch.testing.assert_close(got, (6 * x * d_y, 3 * x**2))


@pytest.mark.parametrize("name", ["once"])
def test_second_derivative_is_refused_without_the_promise(name: str) -> None:
    """The same text without double_backward=True has one derivative and says so."""
    x, w = draw(3)
    (first,) = torch.autograd.grad(load(name)(x, w)[0].sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"kernel both/once has no second derivative: its backward is not diff"):
        first.sum().backward()


@pytest.mark.parametrize("name", ["optional", "filled", "mixed", "once", "cube"])
def test_right_kernels_pass_the_check(name: str) -> None:
    """check finds nothing in any section, opcheck included."""
    report = check(KERNELS[name], progress=False)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kept", "second derivative for x is wrong without an error"),
        ("detached", "second derivative for x is wrong without an error"),
        ("pointer", "second derivative is silently taken as zero"),
        ("raises", "second derivative raises RuntimeError: once only, although the kernel says double_backward=True"),
    ],
)
def test_promise_that_is_not_kept_is_reported(name: str, words: str) -> None:
    """A constant where there is none, a raw pointer, an error: each is told, in the section on gradients, and nothing else is."""
    report = check(KERNELS[name], progress=False)
    found = [finding for finding in report.findings if finding.quantity == "second derivative"]
    assert len(found) == 1 and words in found[0].text, str(report)
    assert all(section.name in ("gradcheck", "opcheck") for section in report.sections if section.findings), str(report)


def test_kernel_without_the_promise_may_raise() -> None:
    """Of a kernel that promises nothing an error for the second derivative is a right answer."""
    report = check(KERNELS["raises"].replace(double_backward=False), progress=False)
    assert report.ok, str(report)


def test_stable_kernels_cannot_promise_it() -> None:
    """Autograd does not see the calls of the stable ABI, so the definition is refused."""
    with pytest.raises(
        DefinitionError,
        match=r"^kernel 'tiny/twice': double_backward needs api='aten': autograd does not see the stable ABI's calls$",
    ):
        Kernel("tiny/twice", cpp=STABLE, api="stable", double_backward=True)


# Gradients that are not there


@pytest.mark.parametrize("name", ["optional", "once", "classic", "mixed"])
@pytest.mark.parametrize(("used", "words"), [(0, "d_y 1, d_z 0"), (1, "d_y 0, d_z 1"), (None, "d_y 1, d_z 1")])
def test_unused_outputs_have_no_gradient(name: str, used: int | None, words: str) -> None:
    """An output that nobody used arrives as std::nullopt where backward takes an optional tensor, and as zeros elsewhere."""
    outputs = load(name)(*draw(1009))
    loss = outputs[used].sum() if used is not None else (outputs[0] + outputs[1]).sum()
    if name == "mixed":
        words = words.replace("d_z 1", "d_z 1009")  # the sum of ones
    with pytest.raises(RuntimeError, match=words):
        loss.backward()


@pytest.mark.parametrize("name", [*TWICE, "once"])
@pytest.mark.parametrize("used", [0, 1])
def test_gradients_are_right_when_an_output_is_unused(name: str, used: int) -> None:
    """Undefined means zero."""
    inputs = draw(2, 3)
    got = torch.autograd.grad(load(name)(*inputs)[used].sum(), inputs)
    want = torch.autograd.grad(registry.ops["both"].reference(*inputs)[used].sum(), inputs)
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("name", [*TWICE, "once"])
def test_backward_without_any_gradient_is_not_called(name: str) -> None:
    """Where no output has a gradient none of the inputs has one either: they stay None, and a backward that throws does not."""
    x, w = draw(1009)
    y, z = load(name)(x, w)
    (Nothing.apply(y).sum() + Nothing.apply(z).sum()).backward()
    assert x.grad is None and w.grad is None
    (Nothing.apply(load(name)(x, w)[0]).sum() + w.sum()).backward()
    assert x.grad is None and w.grad is not None and w.grad.tolist() == [1] * 1009


def test_compiled_backward_with_a_gradient_that_is_not_there() -> None:
    """A trace holds the missing gradient as None."""
    function = load("once")
    inputs = draw(2, 3)
    torch._dynamo.reset()
    traced = torch.compile(lambda x, w: function(x, w)[0].sin(), fullgraph=True, backend="aot_eager")
    got = torch.autograd.grad(traced(*inputs).sum(), inputs)
    want = torch.autograd.grad((inputs[0] * inputs[1]).sin().sum(), inputs)
    torch.testing.assert_close(got, want)


# Results that are views


def test_results_are_contiguous() -> None:
    """Outputs and gradients are contiguous although the text returns transposed ones and slices, with and without a graph."""
    function = load("views")
    x, w = draw(3, 5)
    with torch.no_grad():
        assert all(output.is_contiguous() for output in function(x, w))
    outputs = function(x, w)
    gradients = torch.autograd.grad(outputs, [x, w], [torch.ones(5, 3, dtype=x.dtype).t()] * 2)
    assert all(tensor.is_contiguous() for tensor in (*outputs, *gradients))
    torch.testing.assert_close(outputs, (x * w, x + w))
    torch.testing.assert_close(gradients, (w + 1, x + 1))
    assert all(result.is_contiguous() for result in function.forward(x.detach(), w.detach()))


def test_kernel_that_returns_views_passes_the_check() -> None:
    """What comes out is what the fake kernel promises, so that a compiler may rely on it."""
    report = check(KERNELS["views"], progress=False)
    assert report.ok, str(report)


class Transposing(torch.autograd.graph.saved_tensors_hooks):
    """Gives every saved matrix back with other strides, as a hook that compresses or moves tensors may."""

    def __init__(self) -> None:
        super().__init__(
            lambda tensor: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor, lambda tensor: tensor
        )


@pytest.mark.parametrize("name", ["lltm/aten", "lltm/fused", "lltm/stable", "graph_conv/fused", "cube/aten"])
def test_saved_tensors_may_come_back_strided(name: str) -> None:
    """Hooks on saved tensors may change their strides; gradients stay those of the reference."""
    op = li.registry.op_of(li.registry[name])
    generator = torch.Generator().manual_seed(4)
    size = (3, 17, 5)[: len(op.letters)]
    inputs = op.make_inputs(lambda *shape: torch.randn(shape, dtype=torch.float64, generator=generator), size)
    if op.any_rank:
        inputs = tuple(torch.randn(3, 5, dtype=torch.float64, generator=generator) for _ in inputs)
    results = []
    for function in (op.reference, li.load(name, progress=False)):
        leaves = [value.clone().requires_grad_() for value in inputs]
        with Transposing():
            outputs = function(*leaves)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        torch.stack([output.sin().sum() for output in outputs]).sum().backward()
        results.append([leaf.grad for leaf in leaves])
    for want, got in zip(*results, strict=True):
        assert torch.allclose(want, got, rtol=1e-10, atol=1e-10)


def test_raw_backward_refuses_what_does_not_fit() -> None:
    """Function.backward looks at shapes and numbers before a pointer does."""
    function = li.load("lltm/fused", progress=False)
    inputs = [torch.randn(*shape) for shape in ((3, 17), (15, 22), (15,), (3, 5), (3, 5))]
    results = function.forward(*inputs)
    good, short = torch.randn(3, 5), torch.randn(1, 1)
    with pytest.raises(
        InputError, match=r"^lltm/fused: d_new_cell is \(1, 1\) torch.float32, want \(3, 5\) torch.float32 as new_cell$"
    ):
        function.backward([good, short], inputs, results, [True] * 5)
    with pytest.raises(
        InputError, match=r"^lltm/fused: backward takes 2 gradients and the 3 results of forward, got 1 and 3$"
    ):
        function.backward([good], inputs, results, [True] * 5)


def test_pybind11_refuses_lazy_views() -> None:
    """The classic binding is not asked by the dispatcher, which would resolve negated views."""
    kernel = li.registry["sin_add/aten"].replace(binding="pybind11")
    y = torch.randn(3, dtype=torch.cfloat).conj().imag
    with pytest.raises(RuntimeError, match=r"y is a lazily negated view: pass y.resolve_neg\(\)"):
        li.load(kernel, progress=False)(torch.randn(3), y)
