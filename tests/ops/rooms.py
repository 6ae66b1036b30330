"""What the tests of the small ops share: shipped kernels are right, planted ones are found for their own reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

import lltm_inline as li
from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted
from tests.quick import QUICK

#: So many wrong kernels of each op fall in `make test`.
AT_ONCE = 3


def each_planted(planted: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Try the wrong kernels of an op: three in `make test`, as the sections of a check that find them are tried in each op."""
    rows = [
        pytest.param(one, id=name, marks=[pytest.mark.full] * (number >= AT_ONCE))
        for number, (name, one) in enumerate(planted.items())
    ]
    return pytest.mark.parametrize("planted", rows)


def build_all(*kernels: Kernel | str) -> None:
    """Build the right kernels of an op, several compilers beside each other."""
    li.build(list(kernels), progress=False)


def assert_found(planted: Planted, kernel: Kernel) -> None:
    """A planted kernel is rejected in its section, for its quantity, with the words that name its defect."""
    report = li.check(kernel, progress=False, compiler=QUICK)
    assert not report.ok
    found = [str(one) for one in report[planted.section].findings if one.quantity == planted.quantity]
    assert any(all(text in one for text in planted.says) for one in found), f"want {planted.says} in\n{report}"


def assert_right(name: str, compiler: str | None = None) -> None:
    """A shipped kernel passes every section of a check, and every section looked at something."""
    report = li.check(name, compiler=compiler, progress=False)
    assert report.ok, str(report)
    assert all(section.cases > 0 for section in report.sections)


def randn(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    """Draw a tensor, the same one each time."""
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def gradients(function: Callable[..., Any], inputs: Sequence[Tensor], grad: Tensor | None = None) -> tuple[Tensor, ...]:
    """Return the gradients of a function of one result for all inputs; `grad` is by default that of a sum, expanded."""
    leaves = [value.detach().requires_grad_() for value in inputs]
    result = function(*leaves)
    return torch.autograd.grad(result.sum() if grad is None else result, leaves, grad)
