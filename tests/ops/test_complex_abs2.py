"""The room of |x|^2, beyond what `li.check` looks at."""

from __future__ import annotations

import pytest
import torch

import lltm_inline as li
from tests.ops.rooms import assert_found, assert_right, build_all, each_planted, gradients, randn
from tests.planted.complex_abs2 import PLANTED, kernel_of
from tests.planted.kernels import Planted

POINTER = "complex_abs2/pointer"
#: The classic binding hands tensors over as they come: bits of conjugate and sign are the kernel's own business there. Such a
#: build takes ten seconds, so one text serves for two: told to, it forgets those bits.
CLASSIC = li.registry[POINTER].replace(
    binding="pybind11",
    cpp=li.registry[POINTER].cpp.replace(
        "return x.resolve_conj()", 'if (std::getenv("FORGET_BITS")) return x.contiguous();\n  return x.resolve_conj()'
    ),
)

BINDINGS = [pytest.param(POINTER, id="torch_library"), pytest.param(CLASSIC, id="pybind11", marks=pytest.mark.full)]


def randc(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Draw a complex tensor."""
    return torch.complex(randn(*shape, dtype=dtype), randn(*shape, dtype=dtype, seed=1))


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build everything at once."""
    build_all(POINTER)


@pytest.mark.parametrize("name", ("complex_abs2/python", POINTER))
def test_shipped_kernels_are_right(name: str) -> None:
    """What ships passes the check."""
    assert_right(name)


@each_planted(PLANTED)
def test_planted_error_is_found(planted: Planted) -> None:
    """Each wrong kernel is rejected for its own reason."""
    assert_found(planted, kernel_of(planted))


def views(x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return tensors that are not in memory as they seem to be, made of a matrix."""
    return {
        "conjugate": x.conj(),
        "conjugate and transposed": x.mH,
        "transposed": x.t(),
        "every other": x[:, ::2],
        "one, expanded": x[:1, :1].expand(4, 3),
        "negative bit": torch._neg_view(x),
        "conjugate of a negative": torch._neg_view(x).conj(),
        "scalar": x[1, 1],
        "empty": x[:0],
    }


@pytest.mark.parametrize("kernel", BINDINGS)
@pytest.mark.parametrize("kind", views(randc(2, 2)))
def test_lazy_and_strided_views(kernel: li.Kernel | str, kind: str) -> None:
    """Whatever bits and strides x has, y = re^2 + im^2 and d_x = 2 d_y x of its values, under both bindings."""
    x = views(randc(4, 6))[kind]
    function = li.load(kernel)
    y, d_y = function(x), randn(*x.shape, seed=3)
    (d_x,) = gradients(function, [x], d_y)
    value = torch.complex(x.real.clone(), x.imag.clone())
    torch.testing.assert_close(y, value.abs() ** 2, rtol=1e-14, atol=0)
    torch.testing.assert_close(d_x.resolve_conj(), 2 * d_y * value, rtol=1e-14, atol=0)
    assert y.dtype == torch.float64


@pytest.mark.parametrize("kernel", BINDINGS)
def test_gradient_with_a_negative_bit(kernel: li.Kernel | str) -> None:
    """d_y may be the imaginary part of a conjugate: minus what stands in memory."""
    x, d_y = randc(5), randc(5).conj().imag
    assert d_y.is_neg()
    (d_x,) = gradients(li.load(kernel), [x], d_y)
    torch.testing.assert_close(d_x, 2 * d_y.clone() * x, rtol=1e-14, atol=0)


@pytest.mark.full
def test_why_the_bits_must_be_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `resolve_conj` forward is right for a conjugate view, and the gradient is that of another tensor."""
    monkeypatch.setenv("FORGET_BITS", "1")
    function, x = li.load(CLASSIC), randc(5)
    (plain,), (lazy,) = gradients(function, [x]), gradients(function, [x.conj()])
    assert torch.equal(function(x.conj()), function(x)) and torch.equal(plain, 2 * x)
    assert torch.equal(lazy, 2 * x) and not torch.equal(lazy, 2 * x.conj())


def test_storage_order_is_interleaved() -> None:
    """view_as_real shows what the pointer reads: re and im of one number side by side."""
    x = torch.view_as_complex(torch.tensor([[3.0, 4.0], [0.0, -2.0]]))
    assert li.load(POINTER)(x).tolist() == [25, 4]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gradient_is_the_direction_of_steepest_ascent(dtype: torch.dtype) -> None:
    """d_x holds dy/dre and dy/dim, as for two real inputs; a step against it makes y smaller."""
    x = randc(1000, dtype=dtype)
    (d_x,) = gradients(li.load(POINTER), [x])
    re, im = x.real.clone().requires_grad_(), x.imag.clone().requires_grad_()
    torch.testing.assert_close(torch.complex(*torch.autograd.grad((re**2 + im**2).sum(), (re, im))), d_x)
    assert (li.load(POINTER)(x - 0.1 * d_x) < li.load(POINTER)(x)).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_sizes_above_the_grain(threads: int) -> None:
    """Many threads give the values of one."""
    x, before = randc(200_003), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.testing.assert_close(li.load(POINTER)(x), x.real**2 + x.imag**2, rtol=1e-15, atol=0)
        torch.testing.assert_close(gradients(li.load(POINTER), [x])[0], 2 * x, rtol=0, atol=0)
    finally:
        torch.set_num_threads(before)


def test_real_tensors_are_refused() -> None:
    """A pointer to complex numbers over real ones would read behind the end; the binding says what it wants."""
    with pytest.raises(RuntimeError, match=r"^complex_abs2/pointer: x is Float, want ComplexFloat or ComplexDouble$"):
        li.load(POINTER)(torch.ones(3))
