"""The room of the sigmoid's derivative, beyond what `li.check` looks at."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
import torch

import lltm_inline as li
from tests.needs import need
from tests.ops.rooms import assert_found, assert_right, build_all, each_planted, gradients, randn
from tests.planted.d_sigmoid import PLANTED, kernel_of
from tests.planted.kernels import Planted

BUILT = ("d_sigmoid/aten", "d_sigmoid/cpp")


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build everything at once."""
    build_all(*BUILT)


@pytest.mark.parametrize("name", ("d_sigmoid/python", *BUILT))
def test_shipped_kernels_are_right(name: str) -> None:
    """What ships passes the check."""
    assert_right(name)


@each_planted(PLANTED)
def test_planted_error_is_found(planted: Planted) -> None:
    """Each wrong kernel is rejected for its own reason."""
    assert_found(planted, kernel_of(planted))


def exact(z: float) -> tuple[float, float]:
    """Return y and dy/dz at z, computed with fifty digits."""
    with localcontext() as context:
        context.prec = 50
        e = (-abs(Decimal(z))).exp()
        y = e / (1 + e) ** 2
        slope = y * (1 - e) / (1 + e)
        return float(y), float(-slope if z > 0 else slope)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_digit_is_right_far_out(dtype: torch.dtype) -> None:
    """`cpp` is right to a few units in the last place wherever the result is a normal number, where 1 - s has no digits left."""
    edge = 85 if dtype == torch.float32 else 700
    z = torch.cat([torch.linspace(-edge, edge, 2001, dtype=dtype), torch.linspace(-1, 1, 501, dtype=dtype)])
    y = li.load("d_sigmoid/cpp")(z)
    (d_z,) = gradients(li.load("d_sigmoid/cpp"), [z])
    want = torch.tensor([exact(value) for value in z.tolist()], dtype=torch.float64)
    for got, right, limit in ((y, want[:, 0], 4), (d_z, want[:, 1], 8)):
        # Next to zero p - q cancels: there an absolute error of an eps is all that can be asked for.
        off = (got.double() - right).abs() - limit * torch.finfo(dtype).eps * right.abs()
        near = z.double().abs() < 1
        assert off[~near].max() <= 0 and off[near].max() <= torch.finfo(dtype).eps


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_nothing_overflows(name: str, dtype: torch.dtype) -> None:
    """Huge and infinite inputs give zero, with the gradient zero; a nan stays a nan, and harms no neighbour."""
    z = torch.tensor([1e3, -1e3, 1e30, -1e30, torch.inf, -torch.inf, 0.0, torch.nan, 0.0], dtype=dtype)
    y = li.load(name)(z)
    (d_z,) = gradients(li.load(name), [z])
    assert torch.equal(y[:6], torch.zeros(6, dtype=dtype)) and torch.equal(d_z[:7], torch.zeros(7, dtype=dtype))
    assert y[6] == y[8] == 0.25 and y[7].isnan() and d_z[7].isnan()


def test_function_is_even_and_its_derivative_odd() -> None:
    """z and -z give the same y to the bit, and opposite gradients."""
    z = randn(1000)
    function = li.load("d_sigmoid/cpp")
    assert torch.equal(function(z), function(-z))
    assert torch.equal(gradients(function, [z])[0], -gradients(function, [-z])[0])


@pytest.mark.parametrize("name", BUILT)
def test_shapes_layouts_and_many_threads(name: str) -> None:
    """Any rank, any strides and sizes above the grain give what the reference gives, and z is left alone."""
    function, reference = li.load(name), li.registry.ops["d_sigmoid"].reference
    for z in (randn(), randn(0, 3), randn(4, 6).t(), randn(40)[3::2], randn(1).expand(2, 9), randn(100_003)):
        before = z.clone()
        torch.testing.assert_close(function(z), reference(z), rtol=1e-13, atol=1e-15)
        torch.testing.assert_close(gradients(function, [z]), gradients(reference, [z]), rtol=1e-12, atol=1e-15)
        assert torch.equal(z, before)


def test_nothing_but_z_is_held() -> None:
    """No kernel hands extra tensors to backward."""
    for name in BUILT:
        assert len(li.load(name).forward(randn(5))) == 1 and li.registry[name].saves == ("z",)


@pytest.mark.full
@pytest.mark.parametrize("capability", ["AVX2", "DEFAULT"])
def test_other_vectors(capability: str) -> None:
    """`cpp` is right with the vectors of most laptops, and where `at::vec` has none but only loops."""
    if capability == "AVX2":
        need("AVX2")
    shipped = li.registry["d_sigmoid/cpp"]
    proof = "static_assert(at::vec::Vectorized<float>::size() == 8);  // AVX-512 has 16\n"
    flags = ("-UCPU_CAPABILITY_AVX512", "-UCPU_CAPABILITY_AVX2", f"-DCPU_CAPABILITY_{capability}")
    function = li.load(shipped.replace(cpp=shipped.cpp + proof, flags=flags))
    for dtype in (torch.float32, torch.float64):
        z = 30 * randn(101, dtype=dtype)
        torch.testing.assert_close(function(z), li.load(shipped)(z))
        torch.testing.assert_close(gradients(function, [z]), gradients(li.load(shipped), [z]))


def test_grain_changes_speed_and_nothing_else() -> None:
    """Blocks that are no whole number of vectors give the same values."""
    z = randn(5000)
    kernel = li.registry["d_sigmoid/cpp"].replace(params={"GRAIN": 7})
    assert torch.equal(li.load(kernel)(z), li.load("d_sigmoid/cpp")(z))
