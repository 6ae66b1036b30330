"""CUDA kernels on the CPU: right ones give the numbers of PyTorch in any order of threads, wrong ones are reported at their line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import lltm_inline as li
from lltm_inline.cuda_cpu import CHECK_FLAGS, rewrite
from lltm_inline.errors import TemplateError
from lltm_inline.model.registry import Kernel, Op, registry
from tests.tiny import forget

PLACE = Path(__file__).parents[1] / "planted" / "cuda"
HEADERS = "#include <ATen/ATen.h>\n#include <torch/types.h>\n#include <cuda_runtime.h>\n#include <vector>\n"


@dataclass(frozen=True)
class Planted:
    """A CUDA text, what its comments say of it, and where it begins in the text of all."""

    name: str
    text: str
    first: int

    def said(self, key: str) -> str:
        found = re.search(rf"^// {key}(?: =|:) (.+)$", self.text, re.MULTILINE)
        assert found, f"{self.name} does not say {key}"
        return found[1]

    @property
    def x(self) -> torch.Tensor:
        """The input."""
        torch.manual_seed(0)
        return eval(self.said("x"))

    @property
    def lines(self) -> list[int]:
        """The lines of the text of all at which it may be reported."""
        rows = self.text.split("\n")
        return [self.first + index for index, row in enumerate(rows) if row.endswith("// <-")]


def together(kind: str) -> tuple[list[Planted], str]:
    """Put all texts of a kind into one, which compiles once: each in a namespace, all behind one `forward`."""
    planted, text = [], HEADERS
    for path in sorted((PLACE / kind).glob("*.cu")):
        text += f"namespace {path.stem} {{\n"
        planted.append(Planted(path.stem, path.read_text(), text.count("\n") + 1))
        text += planted[-1].text + "}\n"
    calls = "".join(f"  if (which == {i}) return {one.name}::run(x);\n" for i, one in enumerate(planted))
    return planted, f"{text}at::Tensor forward(const at::Tensor& x, int64_t which) {{\n{calls}  return x;\n}}\n"


@pytest.fixture(scope="module")
def op() -> Op:
    """An op that hands a tensor to one of many texts."""
    made = Op(
        "planted",
        "(Tensor x, int which) -> Tensor y",
        lambda x, which: x,
        {"x": "...", "y": "..."},
        inputs=lambda randn, N: (randn(N), 0),
        dtypes=("float32",),
    )
    registry.register(made)
    yield made
    forget("planted")


def loaded(text: str, *flags: str) -> Callable[[torch.Tensor, int], torch.Tensor]:
    """Build a text in check mode."""
    kernel = Kernel("planted/all", cuda=text)
    function = li.load(kernel, device="cuda-cpu", cflags=[*CHECK_FLAGS, *flags], trust=True)
    return lambda x, which: function.forward(x, which)[0]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_right_kernels(op: Op, order: int) -> None:
    """They raise nothing in check mode, and give what PyTorch gives, in three orders of their threads."""
    planted, text = together("right")
    run = loaded(text, f"-DCUDA_CPU_ORDER={order}")
    wrong = {}
    for which, one in enumerate(planted):
        x = one.x
        try:
            torch.testing.assert_close(run(x, which), eval(one.said("y"), {"x": x, "torch": torch}), rtol=1e-4, atol=1e-4)
        except (RuntimeError, AssertionError) as error:
            wrong[one.name] = str(error)
    assert not wrong


@pytest.mark.parametrize("order", [0, 1, 2])
def test_wrong_kernels(op: Op, order: int) -> None:
    """Each is reported for its own reason, at its own line, and with its kernel."""
    planted, text = together("wrong")
    run = loaded(text, f"-DCUDA_CPU_ORDER={order}")
    missed = {}
    for which, one in enumerate(planted):
        try:
            run(one.x, which)
            said = "nothing"
        except RuntimeError as error:
            said = str(error)
        at = any(re.search(rf"(?:line |planted/all:){line}\b", said) for line in one.lines)
        if not re.search(one.said("report"), said) or not at or "Kernel " not in said:
            missed[one.name] = f"{said}; want {one.lines}"
    assert not missed
