"""The room of the batch normalisation, beyond what `li.check` looks at."""

from __future__ import annotations

import math

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.check import check
from tests.needs import need
from tests.ops.rooms import assert_found, build_all, each_planted
from tests.planted.batch_norm2d import PLANTED, hand, kernel_of
from tests.planted.kernels import Planted

OP = li.registry.ops["batch_norm2d"]
KERNEL = li.registry["batch_norm2d/aten"]
#: Small pieces and no work too small for a thread, so that small sizes take every path; planes are never gathered, or always.
CUT, GATHERED = (
    KERNEL.replace(params={"PIECE": 16, "GRAIN": 1, "NARROW": 1}),
    KERNEL.replace(params={"NARROW": 1 << 30}),
)
KERNELS = {"aten": KERNEL, "cut": CUT, "gathered": GATHERED}
SIZES = [
    (2, 1, 1, 1),
    (1, 1, 1, 2),
    (3, 2, 5, 7),
    (5, 3, 1, 1),
    (1, 5, 3, 3),
    (4, 1, 2, 3),
    *((2, 3, 1, W) for W in (7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129)),
    (2, 3, 64, 65),
]


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build the kernels and the wrong ones at once, several compilers beside each other."""
    build_all(*KERNELS.values())


def images(size: tuple[int, ...], dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Draw images."""
    generator = torch.Generator().manual_seed(0)
    return OP.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), size)[0]


def gradient_of(function, x: torch.Tensor, eps: float = 0.01, d_y: torch.Tensor | None = None):
    """Run forward and backward."""
    x = x.detach().requires_grad_()
    y = function(x, eps)
    d_y = torch.randn(y.shape, dtype=y.dtype, generator=torch.Generator().manual_seed(1)) if d_y is None else d_y
    return y.detach(), torch.autograd.grad(y, x, d_y)[0]


@pytest.mark.parametrize("kernel", ["batch_norm2d/python", *KERNELS.values()], ids=["python", *KERNELS])
def test_kernels_are_right(kernel: str | li.Kernel) -> None:
    """What ships passes every section of the check, however the work is cut."""
    report = check(kernel, progress=False)
    assert report.ok, str(report)


def test_planted_errors_start_from_right_formulas() -> None:
    """The formulas of the page, in Python, are right as they stand: the wrong kernels differ from them in one step each."""
    report = check(li.Kernel("batch_norm2d/hand", python=hand()), progress=False)
    assert report.ok, str(report)


@each_planted(PLANTED)
def test_planted_error_is_found_for_its_own_reason(planted: Planted) -> None:
    """Each planted kernel is rejected, in the section, for the quantity and with the words that name its defect."""
    assert_found(planted, kernel_of(planted))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values_follow_the_formulas(kernel: li.Kernel, size: tuple[int, ...]) -> None:
    """y is (x - mean) / (s + eps) channel by channel, and d_x is the formula of the page."""
    x, eps = images(size), 0.01
    g = torch.randn(x.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(1))
    y, d_x = gradient_of(li.load(kernel), x, eps, g)
    for c in range(size[1]):
        values, incoming = x[:, c].flatten(), g[:, c].flatten()
        N = len(values)
        mean = math.fsum(values.tolist()) / N
        s = math.sqrt(math.fsum(((values - mean) ** 2).tolist()) / (N - 1))
        want = (values - mean) / (s + eps)
        gradient = (incoming - incoming.mean()) / (s + eps) - want * (incoming * want).sum() / ((N - 1) * s)
        torch.testing.assert_close(y[:, c].flatten(), want, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(d_x[:, c].flatten(), gradient, rtol=1e-11, atol=1e-11 * max(1, 1 / s))


def test_it_is_pytorchs_batch_norm_but_for_the_variance() -> None:
    """Without eps, y is that of torch.nn.functional.batch_norm, but for the root of N / (N-1)."""
    x = images((3, 2, 5, 7))
    N = 3 * 5 * 7
    want = torch.nn.functional.batch_norm(x, None, None, training=True, eps=1e-30)
    for name in ("batch_norm2d/python", "batch_norm2d/aten"):
        torch.testing.assert_close(li.load(name)(x, 0.0), want / math.sqrt(N / (N - 1)))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_large_mean_does_not_cost_the_variance(kernel: li.Kernel) -> None:
    """Where the mean is ten thousand times the deviation, float32 still has four digits; sum x^2 - N mean^2 has none."""
    x = images((4, 3, 9, 17), torch.float32) + 1e4
    want, want_gradient = gradient_of(OP.reference, x.double())
    y, d_x = gradient_of(
        li.load(kernel),
        x,
        d_y=torch.randn(x.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).float(),
    )
    assert (y - want).abs().max() < 2e-3 and (d_x - want_gradient).abs().max() < 2e-3
    naive = (x * x).mean((0, 2, 3)) - x.mean((0, 2, 3)) ** 2
    true = x.double().var((0, 2, 3), correction=0)
    assert ((naive - true).abs() / true).max() > 0.1


@pytest.mark.parametrize("name", ["batch_norm2d/python", *KERNELS])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_channel_of_equal_values_has_a_finite_gradient(name: str, value: float) -> None:
    """A ReLU that never fires gives a channel of zeros: y is zero there, and d_x is what is left without the deviation."""
    x = images((3, 2, 9, 17))
    x[:, 1] = value
    y, d_x = gradient_of(li.load(KERNELS.get(name, name)), x)
    g = torch.randn(x.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(1))
    assert not y[:, 1].any()
    torch.testing.assert_close(d_x[:, 1], (g[:, 1] - g[:, 1].mean()) / 0.01)
    torch.testing.assert_close(d_x[:, 0], gradient_of(OP.reference, x)[1][:, 0])


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_nan_stays_in_its_channel(kernel: li.Kernel) -> None:
    """One nan makes its own channel nan and no other, forward and backward."""
    x = images((3, 4, 5, 7))
    x[1, 2, 3, 4] = math.nan
    y, d_x = gradient_of(li.load(kernel), x)
    for tensor in (y, d_x):
        assert tensor[:, 2].isnan().all() and tensor[:, [0, 1, 3]].isfinite().all()


@pytest.mark.parametrize(
    "size", [(8, 2, 40, 41), (8, 5, 40, 41), (3, 64, 12, 13), (64, 16, 3, 3), (1, 3, 100, 130)], ids=str
)
def test_results_do_not_depend_on_threads(size: tuple[int, ...]) -> None:
    """Sums are cut without regard to the number of threads, with more channels than threads and with fewer."""
    x = images(size, torch.float32)
    function = li.load(CUT)
    threads = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(gradient_of(function, x))
    finally:
        torch.set_num_threads(threads)
    for y, d_x in results[1:]:
        assert torch.equal(y, results[0][0]) and torch.equal(d_x, results[0][1])


def test_float32_is_as_close_to_float64_as_pytorch_is() -> None:
    """Summing in pieces costs no accuracy."""
    x = images((16, 5, 33, 35), torch.float32)
    d_y = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    exact = gradient_of(OP.reference, x.double(), d_y=d_y.double())
    plain, got = gradient_of(OP.reference, x, d_y=d_y), gradient_of(li.load(KERNEL), x, d_y=d_y)
    for one, two, best in zip(got, plain, exact, strict=True):
        error, limit = ((value.double() - best).abs().max().item() for value in (one, two))
        assert error <= 2 * limit + 1e-7


@pytest.mark.full
@pytest.mark.parametrize("capability", ["AVX2", "DEFAULT"])
def test_other_vectors(capability: str) -> None:
    """The kernel is right with the vectors of most laptops, and where `at::vec` has none but only loops."""
    if capability == "AVX2":
        need("AVX2")
    proof = "static_assert(at::vec::Vectorized<float>::size() == 8);  // AVX-512 has 16\n"
    flags = ("-UCPU_CAPABILITY_AVX512", "-UCPU_CAPABILITY_AVX2", f"-DCPU_CAPABILITY_{capability}")
    report = check(KERNEL.replace(cpp=KERNEL.cpp + proof, flags=flags), progress=False)
    assert report.ok, str(report)


def test_backward_keeps_y_and_three_numbers_per_channel() -> None:
    """x is let go: y, which the next layer keeps anyway, is all that is saved at full size."""
    x = images((3, 2, 5, 7))
    y, *extras = li.load(KERNEL).forward(x, 0.01)
    assert KERNEL.saves == ("y",) and [tuple(extra.shape) for extra in extras] == [(3, 2)]
    assert len({tensor.untyped_storage().data_ptr() for tensor in (x, y, *extras)}) == 3


@pytest.mark.parametrize("name", ["batch_norm2d/python", "batch_norm2d/aten"])
def test_one_value_per_channel_is_an_error(name: str) -> None:
    """0/0 is refused in words, as PyTorch's batch_norm does, whatever the number of channels; no values at all are none."""
    function = li.load(name)
    for C in (1, 3):
        with pytest.raises(
            ValueError, match=rf"the variance of one value per channel is undefined: x has shape \[1, {C}, 1, 1\]"
        ):
            function(torch.ones(1, C, 1, 1))
    for size in [(0, 3, 5, 7), (2, 0, 5, 7), (2, 3, 0, 7), (0, 0, 0, 0)]:
        y, d_x = gradient_of(function, torch.ones(size))
        assert y.shape == d_x.shape == size


def test_what_does_not_fit_is_refused_by_name() -> None:
    """A missing axis and integers are errors with the argument's name; eps has a default and a name."""
    function = li.load(KERNEL)
    x = images((3, 2, 5, 7))
    with pytest.raises(RuntimeError, match=r"batch_norm2d/aten: x has shape \(2, 5, 7\), want \(B, C, H, W\)"):
        function(x[0])
    with pytest.raises(RuntimeError, match="x is Long, want Float or Double"):
        function(x.long())
    assert torch.equal(function(x), function(x, eps=1e-3)) and not torch.equal(function(x), function(x, 0.1))


def test_second_derivative_is_an_error() -> None:
    """A second backward says that there is none, and is not silently zero."""
    x = images((3, 2, 5, 7)).requires_grad_()
    (d_x,) = torch.autograd.grad(li.load(KERNEL)(x).pow(3).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="batch_norm2d/aten has no second derivative"):
        d_x.sum().backward()
