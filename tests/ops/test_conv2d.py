"""The room of the convolution, beyond what `li.check` looks at."""

from __future__ import annotations

import itertools

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.check import check
from tests.ops.rooms import assert_found, build_all, each_planted
from tests.planted.conv2d import PLANTED, gradient_of_filters, gradient_of_images, hand, kernel_of
from tests.planted.kernels import Planted

OP = li.registry.ops["conv2d"]
#: Never im2col and BLAS, which is what small sizes and few channels get.
LIBRARY = li.registry["conv2d/aten"].replace(params={"SMALL": 0, "THIN": 0})
KERNELS = {"aten": li.registry["conv2d/aten"], "library": LIBRARY}
#: Of one value, of one place, of one filter that fills the image, around the widths of vectors, above SMALL, and thin.
SIZES = [
    (1, 1, 1, 1, 1, 1, 1),
    (2, 3, 5, 7, 4, 2, 3),
    (3, 2, 4, 5, 7, 4, 5),
    (0, 3, 5, 7, 4, 2, 3),
    (2, 1, 3, 19, 2, 1, 4),
    (2, 17, 9, 18, 16, 3, 3),
    (2, 8, 24, 24, 16, 3, 3),
    (4, 3, 40, 40, 8, 3, 3),
]


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build the kernels and the wrong ones at once, several compilers beside each other."""
    build_all(*KERNELS.values())


def inputs(size: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """Draw one set of inputs."""
    generator = torch.Generator().manual_seed(0)
    return list(OP.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), size))


def gradients_of(function, values, wanted=(True, True), d_y=None):
    """Run forward and backward, for gradients of those inputs that want one."""
    leaves = [value.detach().requires_grad_(want) for value, want in zip(values, wanted, strict=True)]
    y = function(*leaves)
    d_y = torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(1)) if d_y is None else d_y
    return y, torch.autograd.grad(y, [leaf for leaf in leaves if leaf.requires_grad], d_y)


@pytest.mark.parametrize("kernel", ["conv2d/python", *KERNELS.values()], ids=["python", *KERNELS])
def test_kernels_are_right(kernel: str | li.Kernel) -> None:
    """What ships passes every section of the check, and so does the way that large sizes go, at small ones."""
    report = check(kernel, progress=False)
    assert report.ok, str(report)


def test_planted_errors_start_from_a_right_backward() -> None:
    """The tutorial's two convolutions are right as they stand: the wrong kernels differ from them in one step each."""
    report = check(li.Kernel("conv2d/hand", python=hand()), progress=False)
    assert report.ok, str(report)


@each_planted(PLANTED)
def test_planted_error_is_found_for_its_own_reason(planted: Planted) -> None:
    """Each planted kernel is rejected, in the section, for the quantity and with the words that name its defect."""
    assert_found(planted, kernel_of(planted))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values_follow_the_formulas(kernel: li.Kernel, dtype: torch.dtype, size: tuple[int, ...]) -> None:
    """y is a sum over the window, d_x and d_w are the two convolutions of the page, whichever library computes them."""
    x, w = values = inputs(size, dtype)
    *_, K, L = size
    windows = x.double().unfold(2, K, 1).unfold(3, L, 1)  # (B, C, H-K+1, W-L+1, K, L)
    want = torch.einsum("bchwkl,ockl->bohw", windows, w.double())
    g = torch.randn(want.shape, dtype=dtype, generator=torch.Generator().manual_seed(1))
    y, (d_x, d_w) = gradients_of(li.load(kernel), values, d_y=g)
    scale = {torch.float32: 1e-5, torch.float64: 1e-13}[dtype]
    assert y.is_contiguous() and d_x.is_contiguous() and d_w.is_contiguous()
    torch.testing.assert_close(y.double(), want, rtol=0, atol=scale * max(1, w[0].numel()))
    if g.numel():
        doubles = [g.double(), x.double(), w.double()]
        d_x_want, d_w_want = gradient_of_images(*doubles), gradient_of_filters(*doubles)
        torch.testing.assert_close(d_x.double(), d_x_want, rtol=0, atol=scale * max(1, w[:, 0].numel()))
        torch.testing.assert_close(d_w.double(), d_w_want, rtol=0, atol=scale * max(1, g[:, 0].numel()))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
@pytest.mark.parametrize("size", [(2, 3, 5, 7, 4, 2, 3), (2, 8, 24, 24, 16, 3, 3), (4, 3, 40, 40, 8, 3, 3)], ids=str)
def test_every_subset_of_wanted_gradients(kernel: li.Kernel, size: tuple[int, ...]) -> None:
    """Each gradient comes alone and beside the other, and what is not wanted is not computed, small, large and thin."""
    values = inputs(size, torch.float32)
    function = li.load(kernel)
    results = function.forward(*values)
    assert len(results) == 1  # nothing is kept but x and w
    _, both = gradients_of(function, values)
    for wanted in itertools.product((False, True), repeat=2):
        given = function.backward([torch.ones_like(results[0])], values, results, wanted)
        assert tuple(gradient is not None and gradient.numel() > 0 for gradient in given) == wanted
        if any(wanted):
            _, got = gradients_of(function, values, wanted)
            for one, other in zip(got, itertools.compress(both, wanted), strict=True):
                torch.testing.assert_close(one, other)


@pytest.mark.parametrize("size", [(2, 3, 5, 7, 4, 2, 3), (2, 8, 24, 24, 16, 3, 3)], ids=str)
def test_channels_last_images(size: tuple[int, ...]) -> None:
    """Images in which the channels lie side by side give the same, and y is laid out as it always is."""
    x, w = inputs(size, torch.float32)
    function = li.load("conv2d/aten")
    y, gradients = gradients_of(function, [x, w])
    last = [value.to(memory_format=torch.channels_last) for value in (x, w)]
    d_y = torch.randn(y.shape, generator=torch.Generator().manual_seed(1)).to(memory_format=torch.channels_last)
    got, got_gradients = gradients_of(function, last, d_y=d_y)
    assert got.is_contiguous()
    for one, other in zip((got, *got_gradients), (y, *gradients), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", ["conv2d/python", "conv2d/aten"])
@pytest.mark.parametrize(
    ("size", "words"),
    [
        ((2, 3, 5, 7, 4, 6, 3), "conv2d: the filters of w, [6, 3], are larger than the images of x, [5, 7]"),
        ((2, 3, 5, 7, 4, 5, 8), "conv2d: the filters of w, [5, 8], are larger than the images of x, [5, 7]"),
        ((2, 3, 0, 7, 4, 1, 1), "conv2d: the filters of w, [1, 1], are larger than the images of x, [0, 7]"),
        ((2, 0, 5, 7, 4, 2, 3), "conv2d: w has shape [4, 0, 2, 3], want filters with at least one element"),
        ((2, 3, 5, 7, 0, 2, 3), "conv2d: w has shape [0, 3, 2, 3], want filters with at least one element"),
        ((2, 3, 5, 7, 4, 0, 3), "conv2d: w has shape [4, 3, 0, 3], want filters with at least one element"),
    ],
    ids=str,
)
def test_sizes_without_an_answer_are_errors(name: str, size: tuple[int, ...], words: str) -> None:
    """Where there is no place for a filter, or no filter, reference and kernel say the same words."""
    B, C, H, W, O, K, L = size  # noqa: E741
    with pytest.raises(RuntimeError) as error:
        li.load(name)(torch.ones(B, C, H, W), torch.ones(O, C, K, L))
    assert str(error.value).splitlines()[0] == words


def test_what_does_not_fit_is_refused_by_name() -> None:
    """Another number of channels, a missing axis and another dtype are errors with the argument's name."""
    function = li.load("conv2d/aten")
    x, w = torch.ones(2, 3, 5, 7), torch.ones(4, 3, 2, 3)
    for arguments, words in [
        ((x, torch.ones(4, 2, 2, 3)), r"conv2d/aten: w has shape \(4, 2, 2, 3\), want \(O, C, K, L\) = \(4, 3, 2, 3\)"),
        ((x[0], w), r"x has shape \(3, 5, 7\), want \(B, C, H, W\)"),
        ((x, w.double()), "w is Double, but x is Float"),
        ((x.half(), w.half()), "x is Half, want Float or Double"),
        ((x.long(), w.long()), "x is Long, want Float or Double"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            function(*arguments)


def test_second_derivative_is_an_error() -> None:
    """A second backward says that there is none, and is not silently zero."""
    x, w = (value.requires_grad_() for value in inputs((2, 3, 5, 7, 4, 2, 3)))
    (d_w,) = torch.autograd.grad(li.load("conv2d/aten")(x, w).square().sum(), w, create_graph=True)
    with pytest.raises(RuntimeError, match="conv2d/aten has no second derivative"):
        d_w.sum().backward()


def test_cost_counts_the_multiply_adds() -> None:
    """Each of the three convolutions of a step has B O (H-K+1) (W-L+1) C K L multiply-adds."""
    assert OP.cost is not None
    cost = OP.cost(4, B=2, C=3, H=5, W=7, O=4, K=2, L=3)
    assert cost.forward_flops == 2 * (2 * 4 * 4 * 5) * (3 * 2 * 3) and cost.backward_flops == 2 * cost.forward_flops
    assert cost.forward_bytes == 4 * (2 * 3 * 5 * 7 + 4 * 3 * 2 * 3 + 2 * 4 * 4 * 5)
