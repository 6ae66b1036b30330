"""The room of the graph convolution, beyond what `li.check` looks at."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

import lltm_inline as li
from lltm_inline.checking.check import check
from tests.ops.rooms import assert_found, build_all, each_planted
from tests.planted.graph_conv import PLANTED, TUTORIAL, kernel_of
from tests.planted.kernels import Planted

OP = li.registry.ops["graph_conv"]
TEXTS = ("graph_conv/aten", "graph_conv/fused")
NAMES = ("graph_conv/function", *TEXTS)
#: Sizes of both orders, with F on either side of O, at it, and where there is nothing.
SIZES = [
    (1, 1, 1),
    (3, 17, 5),
    (3, 5, 17),
    (7, 5, 5),
    (0, 3, 5),
    (3, 0, 5),
    (3, 5, 0),
    (3, 0, 0),
    (129, 7, 3),
    (33, 3, 7),
]


#: One of each way in which `fused` goes.
ORDERS = [(7, 3, 5), (7, 5, 3), (7, 9, 3)]


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build the kernels and the wrong ones at once, several compilers beside each other."""
    build_all(*TEXTS)


def inputs(size: tuple[int, int, int], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """Draw one set of inputs."""
    generator = torch.Generator().manual_seed(0)
    return list(OP.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), size))


def gradients_of(function, values, wanted=(True,) * 4, d_y=None):
    """Run forward and backward, for gradients of those inputs that want one."""
    leaves = [value.detach().requires_grad_(want) for value, want in zip(values, wanted, strict=True)]
    y = function(*leaves)
    d_y = torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(1)) if d_y is None else d_y
    return y, torch.autograd.grad(y, [leaf for leaf in leaves if leaf.requires_grad], d_y)


@pytest.mark.parametrize("name", ["graph_conv/python", *NAMES])
def test_kernels_are_right(name: str) -> None:
    """What ships passes every section of the check."""
    report = check(name, progress=False)
    assert report.ok, str(report)


@each_planted(PLANTED)
def test_planted_error_is_found_for_its_own_reason(planted: Planted) -> None:
    """Each planted kernel is rejected, in the section, for the quantity and with the words that name its defect."""
    assert_found(planted, kernel_of(planted))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values_follow_the_formula(name: str, size: tuple[int, int, int]) -> None:
    """y and all four gradients are sums over products, in whichever order the kernel takes them."""
    values = inputs(size)
    a, x, w, b = values
    y, gradients = gradients_of(li.load(name), values)
    d_y = torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(y, torch.einsum("nm,mf,fo->no", a, x, w) + b)
    wants = (
        torch.einsum("no,fo,mf->nm", d_y, w, x),
        torch.einsum("nm,no,fo->mf", a, d_y, w),
        torch.einsum("nm,mf,no->fo", a, x, d_y),
        d_y.sum(0),
    )
    for got, want in zip(gradients, wants, strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", ORDERS, ids=["F < O", "O < F < 2 O", "2 O < F"])
def test_every_subset_of_wanted_gradients(name: str, size: tuple[int, int, int]) -> None:
    """Whatever set of inputs wants gradients, those come, in both orders, and a text computes no others."""
    values = inputs(size)
    function = li.load(name)
    for wanted in itertools.product((False, True), repeat=4):
        if any(wanted):
            _, want = gradients_of(OP.reference, values, wanted)
            _, got = gradients_of(function, values, wanted)
            for one, other in zip(got, want, strict=True):
                torch.testing.assert_close(one, other)
        if name in TEXTS:
            results = function.forward(*values)
            given = function.backward([torch.ones_like(results[0])], values, results, wanted)
            assert tuple(gradient is not None and gradient.numel() > 0 for gradient in given) == wanted


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", ORDERS, ids=["F < O", "O < F < 2 O", "2 O < F"])
def test_strided_inputs_and_expanded_gradients(name: str, size: tuple[int, int, int]) -> None:
    """Transposed, padded and spread tensors, and a gradient of stride 0, are read by their strides in both orders."""
    values = inputs(size)
    odd = [
        values[0].t().contiguous().t(),
        torch.cat([values[1], values[1]], 1)[:, : size[1]],
        torch.stack([values[2], values[2]], 2)[:, :, 0],
        torch.stack([values[3], values[3]], 1)[:, 0],
    ]
    d_y = torch.tensor(0.75, dtype=torch.float64).expand(size[0], size[2])
    y, got = gradients_of(li.load(name), odd, d_y=d_y)
    expected, want = gradients_of(OP.reference, values, d_y=d_y)
    for one, other in zip((y, *got), (expected, *want), strict=True):
        torch.testing.assert_close(one, other)


def test_the_transpose_of_a_matters() -> None:
    """With a directed ring d_x goes to the node that is looked at, where an undirected graph would not tell."""
    ring = torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
    d_y = torch.tensor([[1.0], [2], [3]])
    for name in NAMES:
        _, (d_x,) = gradients_of(
            li.load(name), [ring, torch.zeros(3, 1), torch.ones(1, 1), torch.zeros(1)], (False, True, False, False), d_y
        )
        assert d_x.flatten().tolist() == [3, 1, 2], name


def products(function, size: tuple[int, int, int], wanted: tuple[bool, ...]) -> int:
    """Count the multiply-adds of forward and backward together, from the products that the profiler saw."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as trace:
        gradients_of(function, inputs(size), wanted)
    total = 0
    for event in trace.events():
        if event.name in ("aten::mm", "aten::addmm"):
            first, second = [shape for shape in event.input_shapes if len(shape) == 2][-2:]
            total += first[0] * first[1] * second[1]
    return total


@pytest.mark.full
def test_unwanted_gradients_are_what_made_the_tutorial_slow() -> None:
    """With w and b wanted, `aten` multiplies as often as PyTorch does; the tutorial's way, three times as often."""
    size, wanted = (60, 6, 2), (False, False, True, True)
    large = 60 * 60 * 6
    plain = products(OP.reference, size, wanted)
    assert large < plain < 1.1 * large
    assert products(li.load("graph_conv/aten"), size, wanted) == plain
    tutorial = li.load(kernel_of(TUTORIAL)).forward, li.load(kernel_of(TUTORIAL)).backward
    values = inputs(size)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as trace:
        results = tutorial[0](*values)
        tutorial[1]([torch.ones_like(results[0])], values, results, wanted)
    shapes = [event.input_shapes[:2] for event in trace.events() if event.name == "aten::mm"]
    assert sum(a[0] * a[1] * b[1] for a, b in shapes) == 3 * large + 3 * 60 * 6 * 2


def test_gradients_that_nobody_wants_are_slow_and_not_wrong() -> None:
    """The check says which of them are computed for nothing, once, and calls the kernel right."""
    report = li.check(kernel_of(TUTORIAL), progress=False)
    note = "backward computes d_a, d_x, d_w, d_b also where nobody wants it, which takes time: ask `wanted` first"
    assert report.ok and report["interface"].notes == (note,), str(report)
    assert f"note: {note}" in str(report) and note in report._repr_html_()
    assert not li.check("graph_conv/aten", progress=False)["interface"].notes


@pytest.mark.parametrize(
    ("size", "kept"), [((7, 6, 3), "x w"), ((7, 5, 3), "a x"), ((7, 3, 5), "a x"), ((7, 4, 4), "a x")]
)
def test_order_follows_from_the_sizes(size: tuple[int, int, int], kept: str) -> None:
    """`fused` keeps a x where F < 2 O and x w elsewhere, at the start of a buffer of the shape (N, 2 O)."""
    a, x, w, b = inputs(size)
    _, extra = li.load("graph_conv/fused").forward(a, x, w, b)
    assert extra.shape == (size[0], 2 * size[2]) and extra.is_contiguous()
    product = {"a x": a @ x, "x w": x @ w}[kept]
    torch.testing.assert_close(extra.flatten()[: product.numel()].view(product.shape), product)


@pytest.mark.full
@pytest.mark.parametrize("library", [1, 2])
def test_either_library_is_right(library: int) -> None:
    """With every product by MKL, and with every product by oneDNN, values and gradients in float32 are the reference's."""
    function = li.load(li.registry["graph_conv/fused"].replace(params={"LIBRARY": library}))
    for size in SIZES:
        values = inputs(size, torch.float32)
        y, got = gradients_of(function, values)
        expected, want = gradients_of(OP.reference, values)
        for one, other in zip((y, *got), (expected, *want), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_results_do_not_share_memory() -> None:
    """No output or gradient is a view of another or of an input."""
    for size in ORDERS:
        values = inputs(size)
        for name in TEXTS:
            function = li.load(name)
            results = function.forward(*values)
            given = function.backward([torch.ones_like(results[0])], values, results, (True,) * 4)
            tensors = [*values, *results, *given]
            assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == len(tensors)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivative_is_refused(name: str) -> None:
    """A second backward is an error and not a silent zero, as it is of a Function without `once_differentiable`."""
    values = [value.requires_grad_() for value in inputs((3, 5, 2))]
    (d_w,) = torch.autograd.grad(li.load(name)(*values).sum(), [values[2]], create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(d_w.sum(), [values[1]])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({0: torch.zeros(3, 4)}, r"graph_conv/fused: a has shape \(3, 4\), want \(N, N\) = \(3, 3\)"),
        ({1: torch.zeros(4, 5)}, r"graph_conv/fused: x has shape \(4, 5\), want \(N, F\) = \(3, 5\)"),
        ({2: torch.zeros(4, 2)}, r"graph_conv/fused: w has shape \(4, 2\), want \(F, O\) = \(5, 2\)"),
        ({3: torch.zeros(2, 1)}, r"graph_conv/fused: b has shape \(2, 1\), want \(O\)"),
        ({0: torch.zeros(3, 3).double()}, "graph_conv/fused: x is Float, but a is Double"),
    ],
)
def test_bad_input_is_refused_by_name(change: dict[int, torch.Tensor], text: str) -> None:
    """Wrong shapes, ranks and dtypes name the argument, what it has and what it should have."""
    values = inputs((3, 5, 2), torch.float32)
    for place, value in change.items():
        values[place] = value
    with pytest.raises(RuntimeError, match=text):
        li.load("graph_conv/fused")(*values)


def test_cost_counts_the_products_with_a() -> None:
    """Through (a x) w there is one product with a, of width F; through a (x w) one of width O in each direction."""
    assert OP.cost is not None
    wide, narrow = OP.cost(4, N=100, F=3, O=2), OP.cost(4, N=100, F=10, O=2)
    assert wide.forward_flops == 2 * (100 * 100 * 3 + 100 * 6) + 200 and wide.backward_flops == 2 * 100 * 6 + 200
    assert narrow.forward_flops == narrow.backward_flops == 2 * (100 * 100 * 2 + 100 * 20) + 200
