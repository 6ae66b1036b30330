"""What a check tries: kernels that are wrong in one situation fall by it, and right ones of every kind stand."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import lltm_inline as li
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.run.cases.case import LARGE
from tests.planted import PLANTED as LLTM
from tests.planted.axpy import PLANTED as AXPY
from tests.planted.contract import KINDS
from tests.planted.kernels import Planted
from tests.planted.rare import OPS, PLANTED, kernel_of
from tests.tiny import forget

DOCS = Path(__file__).resolve().parents[2] / "docs" / "checks.md"


@pytest.fixture(scope="module", autouse=True)
def ops() -> Iterator[None]:
    """Register the ops."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    for op in OPS.values():
        registry.register(op)
    yield
    for name in OPS:
        forget(name)
    torch.set_num_threads(threads)


@pytest.fixture
def register() -> Iterator[Any]:
    """Register an op for one test."""
    names: list[str] = []

    def register(op: Op) -> Op:
        names.append(op.name)
        return registry.register(op)

    yield register
    for name in names:
        forget(name)


@pytest.mark.parametrize("planted", PLANTED.values(), ids=list(PLANTED))
def test_planted_error_is_found(planted: Planted) -> None:
    """Each is rejected, and the report names the situation."""
    report = li.check(kernel_of(planted), progress=False)
    assert not report.ok
    found = [str(one) for one in report[planted.section].findings if one.quantity == planted.quantity]
    assert any(all(text in one for text in planted.says) for one in found), f"want {planted.says} in\n{report}"


@pytest.mark.full
@pytest.mark.parametrize("name", list(OPS))
def test_references_are_right(name: str) -> None:
    """What the wrong ones differ from is right in every situation."""
    report = li.check(f"{name}/python", progress=False)
    assert report.ok, str(report)


def test_where_float32_overflows_a_kernel_may_too(register: Any) -> None:
    """exp(x * x) is infinite in float32 and finite in float64: a kernel that says so is right."""
    register(Op("rare_square", "(Tensor x) -> Tensor y", lambda x: torch.exp(x * x), dict.fromkeys("xy", "...")))
    report = li.check(Kernel("rare_square/mine", python=lambda x: (x**2).exp()), progress=False)
    assert report.ok, str(report)


def test_points_that_are_not_finite_are_left_out_and_said(register: Any) -> None:
    """A right reciprocal is right where an input is zero: infinity is compared, finite differences leave it out."""

    def inputs(randn: Any, N: int) -> tuple[Tensor]:
        x = randn(N)
        x[N // 2 : N // 2 + 1] = 0
        return (x,)

    register(Op("rare_inverse", "(Tensor x) -> Tensor y", torch.reciprocal, dict.fromkeys("xy", "N"), inputs=inputs))
    report = li.check(Kernel("rare_inverse/mine", python=lambda x: 1 / x), progress=False)
    assert report.ok, str(report)
    assert "finite differences at 1 of 23 elements of y" in " ".join(report["gradcheck"].skipped)


def test_float32_alone(register: Any) -> None:
    """An op that takes float32 alone is checked in float32, gradients against the reference in float64, and says so."""
    register(Op("rare_single", "(Tensor x) -> Tensor y", torch.tanh, dict.fromkeys("xy", "N"), dtypes=("float32",)))

    def right(x: Tensor) -> Tensor:
        if x.dtype != torch.float32:
            raise TypeError("float32 alone")
        return torch.tanh(x)

    report = li.check(Kernel("rare_single/mine", python=right), progress=False)
    assert report.ok, str(report)
    assert "the op takes no float64" in " ".join(report["gradcheck"].skipped)
    wrong = li.check(Kernel("rare_single/wrong", python=lambda x: right(x) + 1e-3 * x.detach()), progress=False)
    assert not wrong.ok


def test_index_without_a_gradient(register: Any) -> None:
    """An index has no gradient, in the reference and in the kernel alike: finite differences are not held against it."""

    def inputs(randn: Any, N: int) -> tuple[Tensor, Tensor]:
        return randn(N), torch.arange(N).flip(0).to(randn(1).dtype)

    shapes = dict.fromkeys("xiy", "N")
    register(Op("rare_pick", "(Tensor x, Tensor i) -> Tensor y", lambda x, i: x * i.detach(), shapes, inputs=inputs))
    right = li.gradcheck(Kernel("rare_pick/mine", python=lambda x, i: x * i.detach()), progress=False)
    assert right.ok, str(right)
    assert right["gradcheck"].skipped == ("finite differences for i: the reference gives no gradient for it",)
    wrong = li.gradcheck(Kernel("rare_pick/wrong", python=lambda x, i: x * i), progress=False)
    assert [finding.quantity for finding in wrong.findings] == ["d_i"]


class _Standardized(torch.autograd.Function):
    """Rows without mean, divided by their deviation; the gradient in another order than autograd's, and maybe in float32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, narrow: bool) -> Tensor:
        """Compute."""
        rest = x - x.mean(1, keepdim=True)
        s = (rest.square().sum(1, keepdim=True) / (x.shape[1] - 1)).sqrt()
        ctx.save_for_backward(rest / s, s)
        ctx.narrow = narrow
        return rest / s

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor, None]:
        """Differentiate."""
        y, s = ctx.saved_tensors
        d = d_y.float() if ctx.narrow else d_y
        d = d - d.mean(1, keepdim=True) - y.to(d.dtype) * (d * y).sum(1, keepdim=True).to(d.dtype) / (y.shape[1] - 1)
        return d.to(y.dtype) / s, None


def unrolled(x: Tensor, w: Tensor) -> Tensor:
    """Compute forty steps of a recurrence, which enlarges the rounding of each where there are many columns."""
    for _ in range(40):
        x = torch.tanh(x @ w)
    return x


def in_another_order(x: Tensor, w: Tensor, factor: float = 1.0) -> Tensor:
    """Do the same, adding up from the other end."""
    for _ in range(40):
        x = torch.tanh(factor * x.flip(1) @ w.flip(0))
    return x


@pytest.mark.full
def test_a_recurrence_that_leaves_no_digits(register: Any) -> None:
    """What rounding does to the reference, too, is no mistake, and is said; one that few columns show is found all the same."""
    shapes = {"x": "N M", "w": "M M", "y": "N M"}
    register(Op("tiny_rnn", "(Tensor x, Tensor w) -> Tensor y", unrolled, shapes, dtypes=("float64",)))
    report = li.check(Kernel("tiny_rnn/right", python=in_another_order), progress=False, trust=True)
    left_out = [
        one for one in report["parity"].skipped if "a rounding of the inputs changes the reference as much" in one
    ]
    assert report.ok and left_out, report

    def wrong(x: Tensor, w: Tensor) -> Tensor:
        return in_another_order(x, w, 1.001)

    report = li.check(Kernel("tiny_rnn/wrong", python=wrong), progress=False, trust=True)
    assert {"y", "d_x", "d_w"} <= {finding.quantity for finding in report["parity"].findings}, report


def test_a_condition_that_a_rounding_changes_is_no_recurrence(register: Any) -> None:
    """Where all inputs are 1, the reference changes at each rounding, too; `>=` in place of `>` is wrong all the same."""

    def steps(x: Tensor) -> Tensor:
        return torch.where(x > 1, x + 3, x)

    register(Op("rare_step", "(Tensor x) -> Tensor y", steps, dict.fromkeys("xy", "N M"), differentiable=False))
    wrong = Kernel("rare_step/mine", python=lambda x: torch.where(x >= 1, x + 3, x))
    assert not li.check(wrong, progress=False, trust=True).ok


@pytest.mark.filterwarnings("ignore:std")
@pytest.mark.parametrize("size", [(20, 2), (43, 2)])
def test_gradient_that_cancels_to_nothing(register: Any, size: tuple[int, int]) -> None:
    """What is left of the rounding differs from the reference's, and is right; float32 arithmetic is further off, and wrong."""

    def reference(x: Tensor) -> Tensor:
        return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)

    register(Op("rare_standard", "(Tensor x) -> Tensor y", reference, dict.fromkeys("xy", "N M"), check_size=(3, 5)))
    right = Kernel("rare_standard/mine", python=lambda x: _Standardized.apply(x, False))
    report = li.gradcheck(right, sizes=[size], progress=False)
    assert report.ok, str(report)
    wrong = Kernel("rare_standard/wrong", python=lambda x: _Standardized.apply(x, True))
    assert not li.gradcheck(wrong, sizes=[size], progress=False).ok


def times(x: Tensor, k: int) -> Tensor:
    """Multiply."""
    return k * x


def counted(x: Tensor, k: int) -> Tensor:
    """Multiply by counting."""
    y = torch.zeros_like(x)
    for _ in range(abs(k)):
        y = y + x
    return y if k >= 0 else -y


def counted_alone(x: Tensor, k: int) -> Tensor:
    """Count without calling torch, in a loop in C that looks at no signal."""
    return x * sum(repeat(1, abs(k))) * (1 if k > 0 else -1)


def element(x: Tensor, k: int) -> Tensor:
    """Look up."""
    return x + x[k] if x.numel() else x


def zeros(x: Tensor, k: int) -> Tensor:
    """Ask for as many elements."""
    return x + torch.zeros(abs(k)).sum()


def refuses(x: Tensor, k: int) -> Tensor:
    """Refuse what an int does not hold, as the binding of a text with `int k` does."""
    if k in LARGE:
        raise ValueError(f"{k} is too large")
    return k * x


def power(x: Tensor, k: int) -> Tensor:
    """Raise to a power, which is no longer finite soon."""
    return (1 + x.abs()) ** abs(k)


@pytest.mark.parametrize(
    ("reference", "kernel", "told"),
    [
        (times, times, ()),
        (times, lambda x, k: x * k, ()),
        (counted, times, ("k=2147483649: the reference does not come back soon: it may count up to it",)),
        (counted_alone, times, ("k=2147483649: the reference does not come back soon: it may count up to it",)),
        (times, counted, ("k=2147483649: the kernel does not come back soon: it may count up to it",)),
        (element, element, tuple(f"k={k}: the reference refuses it (IndexError: index " for k in LARGE)),
        (zeros, zeros, tuple(f"k={k}: the reference refuses it (RuntimeError: " for k in LARGE)),
        (power, power, tuple(f"k={k}: the reference's results are not finite" for k in LARGE)),
        (times, refuses, tuple(f"k={k}: the kernel refuses it (ValueError: {k} is too large)" for k in LARGE)),
    ],
)  # fmt: skip
def test_large_numbers_are_tried_where_both_come_back(
    reference: Any, kernel: Any, told: tuple[str, ...], register: Any
) -> None:
    """What counts up to a number, asks for as many elements, or refuses it is left out, and said; and the check goes on."""

    def inputs(randn: Any, N: int) -> tuple[Tensor, int]:
        return randn(N), 2

    op = Op("rare_large", "(Tensor x, int k) -> Tensor y", reference, dict.fromkeys("xy", "N"), inputs)
    register(op)
    report = li.check(Kernel("rare_large/mine", python=kernel), progress=False)
    skipped = [one.partition("float64, ")[2] for one in report["parity"].skipped]
    large = [one for one in skipped if "k=2147483649" in one or "k=-2147483649" in one or "k=1099511627776" in one]
    assert report.ok, str(report)
    assert len(large) == len(told) and all(map(str.startswith, large, told)), skipped


def test_a_crash_with_a_large_number_is_seen(register: Any) -> None:
    """What ends the copy of the process is run for all to see, and told as any crash is."""

    def inputs(randn: Any, N: int) -> tuple[Tensor, int]:
        return randn(N), 2

    def crashes(x: Tensor, k: int) -> Tensor:
        return k * x if k < LARGE[0] else ctypes.string_at(0)  # type: ignore[return-value]

    register(Op("rare_large", "(Tensor x, int k) -> Tensor y", times, dict.fromkeys("xy", "N"), inputs))
    report = li.check(Kernel("rare_large/mine", python=crashes), progress=False)
    assert report.crash is not None and "k=2147483649" in str(report), str(report)


@pytest.mark.full
def test_threads_of_a_kernel_do_not_hold_up_a_large_number(register: Any) -> None:
    """A copy of a process has none of OpenMP's threads, and would wait for them: it was told to count, after five seconds."""
    text = """#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
at::Tensor forward(const at::Tensor& x, int64_t k) {
  const at::Tensor row = x.contiguous(), y = at::empty_like(row);
  const double* from = row.const_data_ptr<double>();
  double* to = y.mutable_data_ptr<double>();
  #pragma omp parallel for num_threads(2)
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = double(NARROW) * from[i];
  return y;
}
"""
    op = Op(
        "rare_large",
        "(Tensor x, int k) -> Tensor y",
        times,
        dict.fromkeys("xy", "N"),
        lambda randn, N: (randn(N), 2),
        dtypes=("float64",),
        differentiable=False,
    )
    register(op)
    for narrow, is_right in (("k", True), ("int(k)", False)):
        kernel = Kernel("rare_large/threads", cpp=text.replace("NARROW", narrow))
        report = li.check(kernel, progress=False, compiler="g++")
        assert "does not come back" not in str(report) and report["purity"].cases, report
        assert report.ok == is_right, report


@pytest.mark.filterwarnings("error")
def test_large_numbers_are_tried_without_a_worker(register: Any) -> None:
    """With trust, too: it is a copy of the user's process that may not come back."""

    def inputs(randn: Any, N: int) -> tuple[Tensor, int]:
        return randn(N), 2

    op = Op("rare_large", "(Tensor x, int k) -> Tensor y", counted, dict.fromkeys("xy", "N"), inputs)
    register(op)
    report = li.check(Kernel("rare_large/mine", python=times), progress=False, trust=True)
    assert report.ok and "does not come back soon" in str(report)
    register(replace(op, name="rare_larger", reference=times))
    narrow = Kernel("rare_larger/mine", python=lambda x, k: ctypes.c_int32(k).value * x)
    report = li.check(narrow, progress=False, trust=True)
    assert "wrong for k = 2147483649: an int holds 32 bits" in str(report), str(report)


def test_what_a_copy_needs_at_first_is_not_what_a_number_takes(register: Any) -> None:
    """Its first call may take longer than a number may, and no collection of garbage goes through all that it holds."""
    known, mine = set(), os.getpid()

    def begins(x: Tensor, k: int) -> Tensor:
        if os.getpid() != mine and gc.isenabled():
            raise RuntimeError("a collection may come")
        if os.getpid() not in known:
            known.add(os.getpid())
            until = time.process_time() + 1
            while time.process_time() < until:
                pass
        return times(x, k)

    def inputs(randn: Any, N: int) -> tuple[Tensor, int]:
        return randn(N), 2

    register(Op("rare_large", "(Tensor x, int k) -> Tensor y", begins, dict.fromkeys("xy", "N"), inputs))
    narrow = Kernel("rare_large/mine", python=lambda x, k: ctypes.c_int32(k).value * x)
    report = li.check(narrow, progress=False, trust=True)
    assert "wrong for k = 2147483649: an int holds 32 bits" in str(report), str(report)


def test_a_copy_that_is_held_up_is_told_of(register: Any) -> None:
    """It is not said of the reference or the kernel that they do not come back."""
    mine = os.getpid()

    def stays(x: Tensor, k: int) -> Tensor:
        if os.getpid() != mine:
            signal.alarm(1)
            signal.pause()
        return times(x, k)

    def inputs(randn: Any, N: int) -> tuple[Tensor, int]:
        return randn(N), 2

    register(Op("rare_large", "(Tensor x, int k) -> Tensor y", stays, dict.fromkeys("xy", "N"), inputs))
    report = li.check(Kernel("rare_large/mine", python=times), progress=False, trust=True)
    told = "large numbers in k: the copy of the process in which they are tried is held up"
    assert report.ok and told in report["parity"].skipped, report["parity"].skipped


def test_every_situation_is_on_the_page() -> None:
    """docs/checks.md has an entry for each of the kernels here, and every kernel that it names is planted."""
    entries = re.findall(r"Kernels?: ((?:`[\w/]+`(?:, )?)+)", " ".join(DOCS.read_text().split()))
    named = {name for names in entries for name in re.findall(r"`([\w/]+)`", names)}
    elsewhere = {f"lltm/{name}" for name in LLTM} | {f"axpy/{name}" for name in AXPY}
    elsewhere |= {planted.name for kind in KINDS.values() for planted in kind.planted}
    assert set(PLANTED) <= named <= set(PLANTED) | elsewhere
