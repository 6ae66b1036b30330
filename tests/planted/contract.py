"""Ops of every kind that a schema can say, each with a right kernel and wrong ones, in the words of those who write such texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from lltm_inline.model.registry import Kernel, Op, registry
from tests.planted.kernels import Planted, planted_in
from tests.texts import Text, texts_in
from tests.tiny import forget

HEAD = "#include <ATen/ATen.h>\n#include <vector>\n#include <string>\n"


#: The wrong ones of all kinds, by name.
_WRONG = planted_in("kinds")


@dataclass(frozen=True)
class Kind:
    """An op with a reference, and the text of its right kernel, of which `edits/kinds.txt` has edits that make it wrong."""

    op: Op
    text: Text

    @property
    def kernel(self) -> Kernel:
        fields = {key: self.text.words(key) for key in ("functions", "saves") if key in self.text.said}
        return Kernel(f"{self.op.name}/cpp", cpp=HEAD + self.text.body, **fields)

    @property
    def planted(self) -> tuple[Planted, ...]:
        return tuple(one for one in _WRONG.values() if one.base == self.kernel.name)

    @property
    def skipped(self) -> str:
        """What a check says that it cannot try."""
        return self.text.said.get("skipped", "")


def _take_rows(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return x[index]


def _indices(randn: Callable[..., torch.Tensor], B: int, S: int, K: int) -> tuple[Any, ...]:
    return randn(B, S), torch.randint(B, (K,))  # of no rows there is none to take


def _sgd(w: torch.Tensor, g: torch.Tensor, lr: float = 0.5, decay: float | None = None) -> None:
    w.mul_(1 - lr * (decay or 0)).sub_(lr * g)


def _clip(x: torch.Tensor, low: float | None = None, high: float | None = None) -> torch.Tensor:
    low, high = -float("inf") if low is None else low, float("inf") if high is None else high
    return x.clone() if high < low else x.clamp(low, high)


def _pool(x: torch.Tensor, k: int = 2, stride: int = 1) -> torch.Tensor:
    if k < 1 or stride < 1:
        raise ValueError("want at least 1")
    return x.unfold(1, k, stride).sum(-1)


def _reduce(x: torch.Tensor, dims: list[int], mode: str) -> torch.Tensor:
    return x.sum(dims) if mode == "sum" else x.mean(dims)


def _noise(x: torch.Tensor, p: float = 0.5) -> torch.Tensor:
    if not 0 <= p < 1:
        raise ValueError("a probability")
    return x * torch.bernoulli(torch.full_like(x, 1 - p)) / (1 - p)


def _statistics(x: torch.Tensor) -> tuple[float, int, bool]:
    return x.sum().item(), x.numel(), bool((x > 0).any())


def _positive(x: torch.Tensor, mask: torch.Tensor | None) -> tuple[torch.Tensor, int]:
    found = torch.nonzero((x > 0) & (True if mask is None else mask)).flatten()
    return found, len(found)


def _mix(x: torch.Tensor, others: list[torch.Tensor], scale: float = 2) -> torch.Tensor:
    return x + scale * sum(others)


def _cast(x: torch.Tensor, dtype: torch.dtype, scales: list[float], up: bool = True) -> torch.Tensor:
    return (x * scales[0 if up else 1]).to(dtype)


def _foreach(ps: list[torch.Tensor], gs: list[torch.Tensor], lr: float = 0.5) -> None:
    for p, g in zip(ps, gs, strict=True):
        p.sub_(lr * g)


_OPS = (
    Op(
        "kind_rows",
        "kind_rows(Tensor x, Tensor[int64] index) -> Tensor",
        _take_rows,
        {"x": "B S", "index": "K", "output": "K S"},
        _indices,
    ),
    Op(
        "kind_counts",
        "(Tensor[int64] x, int bins=5) -> Tensor[int64] counts",
        lambda x, bins=5: torch.bincount(x % bins, minlength=bins),
        {"x": "N", "counts": "bins"},
        lambda randn, N: (torch.randint(20, (N,)), 5),
    ),
    Op(
        "kind_sgd",
        "(Tensor(a!) w, Tensor g, float lr=0.5, float? decay=None) -> ()",
        _sgd,
        {"w": "...", "g": "..."},
    ),
    Op(
        "kind_out",
        "(Tensor x, Tensor(a!) out) -> Tensor(a!)",
        lambda x, out: torch.mul(x, x, out=out),
        {"x": "N", "out": "N"},
    ),
    Op(
        "kind_pool",
        "(Tensor x, int k=2, int stride=1) -> Tensor y",
        _pool,
        {"x": "B L", "y": "B (L-k)/stride+1"},
        lambda randn, B, L: (randn(B, L), 2, 3),
        differentiable=False,
    ),
    Op(
        "kind_nonzero",
        "(Tensor x, Tensor[bool]? mask) -> (Tensor[int64] where, int count)",
        _positive,
        {"x": "N", "mask": "N", "where": "?"},
        lambda randn, N: (randn(N), randn(N) > 0),
        differentiable=False,
    ),
    Op(
        "kind_half",
        "(Tensor x) -> Tensor y",
        lambda x: F.softmax(x, 1),
        {"x": "B S", "y": "B S"},
        dtypes=("float16", "bfloat16"),
        differentiable=False,
    ),
    Op(
        "kind_reduce",
        '(Tensor x, int[] dims, str mode="sum") -> Tensor y',
        _reduce,
        {"x": "B S", "y": "B"},
        lambda randn, B, S: (randn(B, S), [1], "mean"),
        differentiable=("x",),
    ),
    Op(
        "kind_numbers",
        "(Tensor x) -> (float total, int count, bool any)",
        _statistics,
        {"x": "..."},
        dtypes=("float64",),
        differentiable=False,
    ),
    Op(
        "kind_noise",
        "(Tensor x, float p=0.5) -> Tensor y",
        _noise,
        {"x": "...", "y": "..."},
        dtypes=("float32",),
        differentiable=False,
    ),
    Op(
        "kind_mix",
        "(Tensor x, Tensor[] others, float scale=2) -> Tensor y",
        _mix,
        {"x": "...", "others": "...", "y": "..."},
        lambda randn, N: (randn(N), [randn(N), randn(N)], 3.0),
        differentiable=False,
    ),
    Op(
        "kind_total",
        "(Tensor[] xs) -> Tensor y",
        lambda xs: torch.stack(xs).sum(0),
        {"xs": "B S", "y": "B S"},
    ),
    Op(
        "kind_foreach",
        "(Tensor(a!)[] ps, Tensor[] gs, float lr=0.5) -> ()",
        _foreach,
        {"ps": "...", "gs": "..."},
    ),
    Op(
        "kind_cast",
        "(Tensor x, ScalarType dtype, float[] scales, bool up=True) -> Tensor y",
        _cast,
        {"x": "...", "y": "..."},
        lambda randn, N: (randn(N), torch.float32, [2.0, 0.5], True),
        differentiable=False,
    ),
    Op(
        "kind_clip",
        "(Tensor x, float? low=-1, float? high=None) -> Tensor y",
        _clip,
        {"x": "...", "y": "..."},
        differentiable=False,
    ),
)
#: By name of the op; the texts stand in the same order.
KINDS = {
    op.name: Kind(op, text)
    for op, text in zip(
        _OPS, texts_in(Path(__file__).with_name("kinds.cpp"), ["functions"], ["saves", "skipped"]), strict=True
    )
}
assert all(kind.op.name == kind.text.name for kind in KINDS.values())


@contextmanager
def registered() -> Iterator[None]:
    """Have all the ops and their right kernels for a while."""
    for kind in KINDS.values():
        registry.register(kind.op)
        registry.register(kind.kernel)
    yield
    for name in KINDS:
        forget(name)
