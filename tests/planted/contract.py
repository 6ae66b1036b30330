"""Ops of every kind that a schema can say, each with a right kernel and wrong ones, in the words of those who write such texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from lltm_inline.model.registry import Kernel, Op, registry
from tests.planted.kernels import Planted
from tests.tiny import forget

HEAD = "#include <ATen/ATen.h>\n#include <vector>\n#include <string>\n"


@dataclass(frozen=True)
class Kind:
    """An op, the text of its right kernel, and edits of that which make it wrong.

    Attributes:
        op: with a reference.
        text: of the right kernel.
        wrong: name, why, section, quantity, words of the message, and the edits.
        fields: of the kernel.
        skipped: what a check says that it cannot try.
    """

    op: Op
    text: str
    wrong: tuple[tuple[str, str, str, str, tuple[str, ...], tuple[tuple[str, str], ...]], ...] = ()
    fields: tuple[tuple[str, Any], ...] = ()
    skipped: str = ""

    @property
    def kernel(self) -> Kernel:
        return Kernel(f"{self.op.name}/cpp", cpp=HEAD + self.text, **dict(self.fields))

    @property
    def planted(self) -> tuple[Planted, ...]:
        return tuple(Planted(f"{self.op.name}_{one[0]}", *one[1:5], self.kernel.name, one[5]) for one in self.wrong)


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


KINDS = {
    kind.op.name: kind
    for kind in (
        Kind(
            Op(
                "kind_rows",
                "kind_rows(Tensor x, Tensor[int64] index) -> Tensor",
                _take_rows,
                {"x": "B S", "index": "K", "output": "K S"},
                _indices,
            ),
            """
at::Tensor rows(at::Tensor x, at::Tensor index) { return x.index_select(0, index); }
std::vector<at::Tensor> rows_backward(at::Tensor grad, const at::Tensor& x, at::Tensor index, std::array<bool, 1> wanted) {
  return {at::zeros_like(x).index_add(0, index, grad)};
}
""",
            (
                (
                    "repeated_rows_overwritten",
                    "a row that is taken twice gets one of its two gradients",
                    "parity",
                    "d_x",
                    ("d_x",),
                    ((".index_add(0, index, grad)", ".index_copy(0, index, grad)"),),
                ),
                (
                    "list_too_long",
                    "backward returns a gradient for the index, too",
                    "parity",
                    "backward",
                    ("rows_backward returned 2 tensors, want 1 tensor",),
                    (("return {at::zeros_like(x)", "return {at::Tensor(), at::zeros_like(x)"),),
                ),
            ),
            (("functions", ("rows", "rows_backward")), ("saves", ("x", "index"))),
        ),
        Kind(
            Op(
                "kind_counts",
                "(Tensor[int64] x, int bins=5) -> Tensor[int64] counts",
                lambda x, bins=5: torch.bincount(x % bins, minlength=bins),
                {"x": "N", "counts": "bins"},
                lambda randn, N: (torch.randint(20, (N,)), 5),
            ),
            """
at::Tensor counts(const at::Tensor& x, int bins) {
  TORCH_CHECK(bins > 0, "want a bin");
  const auto row = x.contiguous();
  auto counts = at::zeros({bins}, x.options());
  for (int64_t i = 0; i < x.numel(); ++i) ++counts.mutable_data_ptr<int64_t>()[row.const_data_ptr<int64_t>()[i] % bins];
  return counts;
}
""",
            (
                (
                    "one_is_not_counted",
                    "the last element is left out",
                    "parity",
                    "counts",
                    ("counts (5,) int64 differs in 1 of 5 elements",),
                    (("i < x.numel()", "i + 1 < x.numel()"),),
                ),
                (
                    "counts_in_32_bits",
                    "the counts are int32",
                    "interface",
                    "counts",
                    ("counts is int32, want int64",),
                    (("return counts;", "return counts.to(at::kInt);"),),
                ),
            ),
            (("functions", ("counts",)),),
        ),
        Kind(
            Op(
                "kind_sgd",
                "(Tensor(a!) w, Tensor g, float lr=0.5, float? decay=None) -> ()",
                _sgd,
                {"w": "...", "g": "..."},
            ),
            """
void sgd(at::Tensor w, at::Tensor g, double lr, std::optional<double> decay) {
  w.mul_(1 - lr * decay.value_or(0)).sub_(g, lr);
}
""",
            (
                (
                    "sign",
                    "it climbs",
                    "parity",
                    "w",
                    ("w",),
                    ((".sub_(g, lr)", ".add_(g, lr)"),),
                ),
                (
                    "changes_the_gradient",
                    "the gradient is scaled in place",
                    "purity",
                    "g",
                    ("forward changes the input g",),
                    ((".sub_(g, lr)", ".sub_(g.mul_(lr))"),),
                ),
                (
                    "works_on_a_copy",
                    "what is strided is copied, and the copy is changed",
                    "parity",
                    "w",
                    ("right for contiguous inputs",),
                    (("  w.mul_", "  w = w.contiguous();\n  w.mul_"),),
                ),
            ),
            (("functions", ("sgd",)),),
        ),
        Kind(
            Op(
                "kind_out",
                "(Tensor x, Tensor(a!) out) -> Tensor(a!)",
                lambda x, out: torch.mul(x, x, out=out),
                {"x": "N", "out": "N"},
            ),
            "at::Tensor& square(const at::Tensor& x, at::Tensor& out) { return at::mul_out(out, x, x); }\n",
            (
                (
                    "another_tensor",
                    "the result is right, and is not the tensor that was given",
                    "purity",
                    "output",
                    ("output is not the input out itself: return that",),
                    (
                        ("at::Tensor& square", "at::Tensor square"),
                        ("return at::mul_out(out, x, x)", "return at::mul_out(out, x, x).clone()"),
                    ),
                ),
            ),
            (("functions", ("square",)),),
            "torch.compile takes no operator that returns one of its inputs",
        ),
        Kind(
            Op(
                "kind_pool",
                "(Tensor x, int k=2, int stride=1) -> Tensor y",
                _pool,
                {"x": "B L", "y": "B (L-k)/stride+1"},
                lambda randn, B, L: (randn(B, L), 2, 3),
                differentiable=False,
            ),
            """
at::Tensor pool(at::Tensor x, int64_t k, int64_t stride) {
  TORCH_CHECK(k > 0 && stride > 0, "want at least 1");
  return x.unfold(1, k, stride).sum(-1);
}
""",
            (
                (
                    "one_window_short",
                    "the last window is left out",
                    "interface",
                    "y",
                    ("y has shape",),
                    ((".sum(-1)", ".sum(-1).narrow(1, 1, (x.size(1) - k) / stride)"),),
                ),
            ),
            (("functions", ("pool",)),),
        ),
        Kind(
            Op(
                "kind_nonzero",
                "(Tensor x, Tensor[bool]? mask) -> (Tensor[int64] where, int count)",
                _positive,
                {"x": "N", "mask": "N", "where": "?"},
                lambda randn, N: (randn(N), randn(N) > 0),
                differentiable=False,
            ),
            """
std::tuple<at::Tensor, int64_t> positive(const at::Tensor& x, const c10::optional<at::Tensor>& mask) {
  auto where = at::nonzero(mask ? x.gt(0).logical_and(*mask) : x.gt(0)).flatten();
  return {where, where.numel()};
}
""",
            (
                (
                    "mask_forgotten",
                    "the mask is not looked at",
                    "parity",
                    "count",
                    ("count",),
                    (("mask ? x.gt(0).logical_and(*mask) : x.gt(0)", "x.gt(0)"),),
                ),
            ),
            (("functions", ("positive",)),),
            "the shape of where follows from the values",
        ),
        Kind(
            Op(
                "kind_half",
                "(Tensor x) -> Tensor y",
                lambda x: F.softmax(x, 1),
                {"x": "B S", "y": "B S"},
                dtypes=("float16", "bfloat16"),
                differentiable=False,
            ),
            "at::Tensor softened(at::Tensor x) { return x.to(at::kFloat).softmax(1).to(x.scalar_type()); }\n",
            (
                (
                    "no_maximum",
                    "exp() overflows in half precision",
                    "parity",
                    "y",
                    ("y",),
                    (("x.to(at::kFloat).softmax(1)", "(x.exp() / x.exp().sum(1, true))"),),
                ),
                (
                    "other_axis",
                    "the columns sum to one",
                    "parity",
                    "y",
                    ("y",),
                    ((".softmax(1)", ".softmax(0)"),),
                ),
            ),
            (("functions", ("softened",)),),
        ),
        Kind(
            Op(
                "kind_reduce",
                '(Tensor x, int[] dims, str mode="sum") -> Tensor y',
                _reduce,
                {"x": "B S", "y": "B"},
                lambda randn, B, S: (randn(B, S), [1], "mean"),
                differentiable=("x",),
            ),
            """
at::Tensor reduce(const at::Tensor& x, std::vector<int64_t> dims, const std::string& mode) {
  return mode == "sum" ? x.sum(dims) : x.mean(dims);
}
""",
            (
                (
                    "mode_ignored",
                    "it always sums",
                    "parity",
                    "y",
                    ("y",),
                    (('mode == "sum"', "mode.size()"),),
                ),
            ),
            (("functions", ("reduce",)),),
        ),
        Kind(
            Op(
                "kind_numbers",
                "(Tensor x) -> (float total, int count, bool any)",
                _statistics,
                {"x": "..."},
                dtypes=("float64",),
                differentiable=False,
            ),
            """
std::tuple<double, int64_t, bool> statistics(at::Tensor x) {
  return {x.sum().item<double>(), x.numel(), x.gt(0).any().item<bool>()};
}
""",
            (
                (
                    "counts_rows",
                    "it counts rows in place of elements",
                    "parity",
                    "count",
                    ("count",),
                    (("x.numel()", "x.dim() ? x.size(0) : 1"),),
                ),
            ),
            (("functions", ("statistics",)),),
            "total follows from the values",
        ),
        Kind(
            Op(
                "kind_noise",
                "(Tensor x, float p=0.5) -> Tensor y",
                _noise,
                {"x": "...", "y": "..."},
                dtypes=("float32",),
                differentiable=False,
            ),
            """
at::Tensor noise(at::Tensor x, float p) {
  TORCH_CHECK(p >= 0 && p < 1, "a probability");
  return x * at::bernoulli(at::full_like(x, 1 - p)) / (1 - p);
}
""",
            (
                (
                    "not_scaled",
                    "what is left is not scaled up",
                    "parity",
                    "y",
                    ("y",),
                    ((" / (1 - p)", ""),),
                ),
            ),
            (("functions", ("noise",)),),
            "the op draws random numbers",
        ),
        Kind(
            Op(
                "kind_mix",
                "(Tensor x, Tensor[] others, float scale=2) -> Tensor y",
                _mix,
                {"x": "...", "others": "...", "y": "..."},
                lambda randn, N: (randn(N), [randn(N), randn(N)], 3.0),
                differentiable=False,
            ),
            """
at::Tensor mix(const at::Tensor& x, at::TensorList others, double scale) {
  at::Tensor y = x.clone(at::MemoryFormat::Contiguous);
  for (const at::Tensor& other : others) y = y.add(other, scale);
  return y;
}
""",
            (
                (
                    "last_one_left_out",
                    "the last of the list is not added",
                    "parity",
                    "y",
                    ("y",),
                    (("others) y = y", "others.slice(1)) y = y"),),
                ),
                (
                    "changes_a_member",
                    "a tensor of the list is scaled in place",
                    "purity",
                    "others[0]",
                    ("forward changes the input others[0]",),
                    (("y.add(other, scale)", "y.add(at::Tensor(other).mul_(scale))"),),
                ),
            ),
            (("functions", ("mix",)),),
        ),
        Kind(
            Op(
                "kind_total",
                "(Tensor[] xs) -> Tensor y",
                lambda xs: torch.stack(xs).sum(0),
                {"xs": "B S", "y": "B S"},
            ),
            """
at::Tensor total(at::TensorList xs) {
  at::Tensor y = at::zeros(xs[0].sizes(), xs[0].options());
  for (const at::Tensor& x : xs) y += x;
  return y;
}
""",
            (
                (
                    "two_of_three",
                    "it adds no more than two",
                    "parity",
                    "y",
                    ("y",),
                    ((": xs) y += x", ": xs.slice(0, 2)) y += x"),),
                ),
                (
                    "three_of_any",
                    "it is right for lists of three alone",
                    "parity",
                    "y",
                    ("lists of 1 tensor",),
                    (("y += x", "y += x * 3. / static_cast<double>(xs.size())"),),
                ),
            ),
            (("functions", ("total",)),),
        ),
        Kind(
            Op(
                "kind_foreach",
                "(Tensor(a!)[] ps, Tensor[] gs, float lr=0.5) -> ()",
                _foreach,
                {"ps": "...", "gs": "..."},
            ),
            """
void step(const std::vector<at::Tensor>& ps, at::TensorList gs, double lr) {
  TORCH_CHECK(ps.size() == gs.size(), "want a gradient for each");
  for (size_t i = 0; i < ps.size(); ++i) ps[i].sub_(gs[i], lr);
}
""",
            (
                (
                    "last_one_stays",
                    "the last of the list is not changed",
                    "parity",
                    "ps",
                    ("ps (3, 23) float64", "all in row 2"),
                    (("i < ps.size()", "i + 1 < ps.size()"),),
                ),
                (
                    "changes_a_gradient",
                    "a tensor of the other list is scaled in place",
                    "purity",
                    "gs[0]",
                    ("forward changes the input gs[0]",),
                    (("sub_(gs[i], lr)", "sub_(gs[i].mul_(lr))"),),
                ),
            ),
            (("functions", ("step",)),),
        ),
        Kind(
            Op(
                "kind_cast",
                "(Tensor x, ScalarType dtype, float[] scales, bool up=True) -> Tensor y",
                _cast,
                {"x": "...", "y": "..."},
                lambda randn, N: (randn(N), torch.float32, [2.0, 0.5], True),
                differentiable=False,
            ),
            """
at::Tensor cast(const at::Tensor& x, at::ScalarType dtype, std::vector<double> scales, bool up) {
  return (x * scales[up ? 0 : 1]).to(dtype).contiguous();
}
""",
            (
                (
                    "always_up",
                    "one of two answers is not looked at",
                    "parity",
                    "y",
                    ("up=0",),
                    (("up ? 0 : 1", "0"),),
                ),
                (
                    "dtype_ignored",
                    "the result has the dtype of the input",
                    "interface",
                    "y",
                    ("y is float64, want float32",),
                    ((".to(dtype)", ""),),
                ),
            ),
            (("functions", ("cast",)),),
        ),
        Kind(
            Op(
                "kind_clip",
                "(Tensor x, float? low=-1, float? high=None) -> Tensor y",
                _clip,
                {"x": "...", "y": "..."},
                differentiable=False,
            ),
            """
at::Tensor clip(const at::Tensor& x, std::optional<double> low, c10::optional<double> high) {
  at::Tensor y = x.clone(at::MemoryFormat::Contiguous);
  if (low && high && *high < *low) return y;
  if (low) y = y.clamp_min(*low);
  return high ? y.clamp_max(*high) : y;
}
""",
            (
                (
                    "zero_is_none",
                    "a bound of zero counts as none",
                    "parity",
                    "y",
                    ("=0",),
                    (("if (low) y", "if (low.value_or(0)) y"),),
                ),
            ),
            (("functions", ("clip",)),),
        ),
    )
}


@contextmanager
def registered() -> Iterator[None]:
    """Have all the ops and their right kernels for a while."""
    for kind in KINDS.values():
        registry.register(kind.op)
        registry.register(kind.kernel)
    yield
    for name in KINDS:
        forget(name)
