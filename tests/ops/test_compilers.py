"""What ships, as users compile it: the other files of this folder compile quickly."""

from __future__ import annotations

import pytest

import lltm_inline as li
from lltm_inline.source.template import devices_of
from tests.needs import needs
from tests.ops.rooms import assert_right

#: Those of the LLTM are checked as users compile them in tests/run/test_check.py.
TEXTS = [
    name
    for name, kernel in li.registry.items()
    if kernel.python is None and "cpu" in devices_of(kernel) and kernel.op != "lltm"
]
#: With loops of their own, or many ways to go.
LOOPS = ("axpy/cpp", "batch_norm2d/aten", "complex_abs2/pointer", "conv2d/aten", "conv_bn/fused", "d_sigmoid/cpp")
pytestmark = pytest.mark.full


@pytest.mark.parametrize("name", TEXTS)
def test_shipped_kernel_is_right(name: str) -> None:
    """What ships passes the check."""
    assert_right(name)


@needs("clang++")
@pytest.mark.parametrize("name", LOOPS)
def test_clang_makes_the_same_of_it(name: str) -> None:
    """What ships is right from the other compiler too, whose threads are torch's own."""
    assert_right(name, "clang++")
