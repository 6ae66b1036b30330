"""The room of convolution and batch normalisation, beyond what `li.check` looks at."""

from __future__ import annotations

import itertools

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.check import check
from tests.ops.rooms import assert_found, build_all, each_planted
from tests.planted.conv_bn import PLANTED, kernel_of
from tests.planted.kernels import Planted

OP = li.registry.ops["conv_bn"]
BUILT = ("conv_bn/unfused", "conv_bn/fused")
SIZES = [
    (2, 3, 5, 7, 4, 2, 3),
    (2, 1, 1, 1, 3, 1, 1),
    (3, 2, 4, 5, 7, 4, 5),
    (0, 3, 5, 7, 4, 2, 3),
    (2, 8, 24, 24, 16, 3, 3),
]


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build the kernels, the two halves and the wrong ones at once, several compilers beside each other."""
    build_all(*BUILT, "conv2d/aten", "batch_norm2d/aten")


def inputs(size: tuple[int, ...], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """Draw images and filters."""
    generator = torch.Generator().manual_seed(0)
    return list(OP.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), size))[:2]


def gradients_of(function, values, wanted=(True, True), eps: float = 0.01):
    """Run forward and backward, for gradients of those inputs that want one."""
    leaves = [value.detach().requires_grad_(want) for value, want in zip(values, wanted, strict=True)]
    y = function(*leaves, eps)
    d_y = torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(1))
    return y.detach(), torch.autograd.grad(y, [leaf for leaf in leaves if leaf.requires_grad], d_y)


@pytest.mark.parametrize("name", ["conv_bn/python", *BUILT])
def test_kernels_are_right(name: str) -> None:
    """What ships passes every section of the check."""
    report = check(name, progress=False)
    assert report.ok, str(report)


@pytest.mark.filterwarnings("ignore:.*output of this custom operator")  # torch's own word for one of the mistakes
@each_planted(PLANTED)
def test_planted_error_is_found_for_its_own_reason(planted: Planted) -> None:
    """Each planted kernel is rejected, in the section, for the quantity and with the words that name its defect."""
    assert_found(planted, kernel_of(planted))


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_it_is_the_two_ops_one_after_the_other(name: str, size: tuple[int, ...]) -> None:
    """Values and gradients are those of the kernels of the two other rooms, chained."""
    conv, norm = li.load("conv2d/aten"), li.load("batch_norm2d/aten")
    values = inputs(size)
    want, want_gradients = gradients_of(lambda x, w, eps: norm(conv(x, w), eps), values)
    y, gradients = gradients_of(li.load(name), values)
    for one, other in zip((y, *gradients), (want, *want_gradients), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", BUILT)
def test_every_subset_of_wanted_gradients(name: str) -> None:
    """Each gradient comes alone and beside the other, and what is not wanted is not computed."""
    values = inputs((2, 3, 5, 7, 4, 2, 3))
    function = li.load(name)
    results = function.forward(*values, 0.01)
    _, both = gradients_of(function, values)
    for wanted in itertools.product((False, True), repeat=2):
        given = function.backward([torch.ones_like(results[0])], [*values, 0.01], results, wanted)
        assert tuple(gradient is not None and gradient.numel() > 0 for gradient in given) == wanted
        if any(wanted):
            _, got = gradients_of(function, values, wanted)
            for one, other in zip(got, itertools.compress(both, wanted), strict=True):
                torch.testing.assert_close(one, other)


def test_fused_keeps_three_numbers_per_channel_and_unfused_an_image_more() -> None:
    """Beside x and w, which live anyway, `fused` holds nothing of full size, and `unfused` the convolution's output."""
    values = inputs((2, 3, 5, 7, 4, 2, 3))
    kept = {}
    for name in BUILT:
        assert li.registry[name].saves == ("x", "w")
        y, *extras = li.load(name).forward(*values, 0.01)
        tensors = (*values, y, *extras)
        assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == len(tensors)
        for tensor in (y, *extras):  # none keeps more memory alive than its own
            assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
        kept[name] = [tuple(extra.shape) for extra in extras]
    assert kept == {"conv_bn/unfused": [(2, 4, 4, 5), (3, 4)], "conv_bn/fused": [(3, 4)]}


@pytest.mark.full
def test_saving_y_needs_no_second_convolution() -> None:
    """What the page says one may try is right: with y saved, backward neither keeps z nor computes it again."""
    kernel = li.registry["conv_bn/fused"]
    kernel = kernel.edit(
        "const at::Tensor& w, const at::Tensor& statistics, std",
        "const at::Tensor& w, const at::Tensor& y, const at::Tensor& statistics, std",
    )
    kernel = kernel.edit(
        "const at::Tensor z = convolution(x, w);\n  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z,",
        "const at::Tensor z = at::cpu::empty(y.sizes(), y.options());\n  normalise_backward(d_y.contiguous(), y, true, z,",
    ).replace(saves=("x", "w", "y"))
    report = check(kernel, progress=False)
    assert report.ok, str(report)


@pytest.mark.parametrize("name", ["conv_bn/python", *BUILT])
def test_filter_of_zeros_has_a_finite_gradient(name: str) -> None:
    """A filter of zeros gives a channel of zeros, whose deviation has no derivative: it is taken as zero, and never nan."""
    x, w = inputs((2, 3, 5, 7, 4, 2, 3))
    w[1] = 0
    _, want = gradients_of(OP.reference, [x, w])
    y, got = gradients_of(li.load(name), [x, w])
    assert not y[:, 1].any() and all(gradient.isfinite().all() for gradient in got)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", ["conv_bn/python", *BUILT])
def test_sizes_without_an_answer_are_errors(name: str) -> None:
    """One value per channel, and filters larger than the images, are refused in the words of the two ops."""
    function = li.load(name)
    with pytest.raises(
        ValueError,
        match=r"the variance of one value per channel is undefined: (?:x|the convolution) has shape \[1, 4, 1, 1\]",
    ):
        function(torch.ones(1, 3, 2, 3), torch.ones(4, 3, 2, 3))
    with pytest.raises(RuntimeError, match=r"the filters of w, \[6, 3\], are larger than the images of x, \[5, 7\]"):
        function(torch.ones(2, 3, 5, 7), torch.ones(4, 3, 6, 3))


@pytest.mark.parametrize("name", BUILT)
def test_second_derivative_is_an_error(name: str) -> None:
    """A second backward says that there is none, and is not silently zero."""
    x, w = (value.requires_grad_() for value in inputs((2, 3, 5, 7, 4, 2, 3)))
    (d_w,) = torch.autograd.grad(li.load(name)(x, w).pow(3).sum(), w, create_graph=True)
    with pytest.raises(RuntimeError, match=f"{name} has no second derivative"):
        d_w.sum().backward()


@pytest.mark.parametrize("name", BUILT)
def test_backward_twice_over_one_graph(name: str) -> None:
    """With retain_graph the second backward gives the same: what is written in place is not what was kept."""
    x, w = (value.requires_grad_() for value in inputs((2, 3, 5, 7, 4, 2, 3)))
    y = li.load(name)(x, w)
    before = y.detach().clone()
    first, second = (torch.autograd.grad(y.pow(3).sum(), (x, w), retain_graph=True) for _ in range(2))
    assert torch.equal(y, before)
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
