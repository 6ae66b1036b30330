"""Wrong kernels of the graph convolution, each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from lltm_inline.model.registry import Kernel
from lltm_inline.ops.graph_conv.function import GraphConv
from tests.planted.kernels import Planted


class _Silent(torch.autograd.Function):
    """The derivative by hand, without a word about the second one."""

    forward = staticmethod(GraphConv.forward)

    @staticmethod
    def backward(ctx: Any, d_y: Tensor) -> tuple[Tensor, ...]:
        """Compute below autograd, as forward did."""
        a, x, w, neighbours = ctx.saved_tensors
        with torch.no_grad():
            d_neighbours = d_y.mm(w.t())
            return d_neighbours.mm(x.t()), a.t().mm(d_neighbours), neighbours.t().mm(d_y), d_y.sum(0)


def _fused(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "graph_conv/fused", edits)


def _aten(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "graph_conv/aten", edits)


_ALL = (
    _aten(
        "undirected",
        "d_x takes a where it should take its transpose: right for undirected graphs, whose a is symmetric",
        "parity",
        "d_x",
        ("d_x (3, 17) float64 differs in all 51 elements",),
        ("d_x = a.t().mm(d_neighbours);", "d_x = a.mm(d_neighbours);"),
    ),
    _aten(
        "forgets_the_neighbours",
        "d_w is x^T d_y: a linear layer's, right where a is the identity",
        "parity",
        "d_w",
        ("d_w (17, 5) float64 differs in all 85 elements",),
        ("d_w = neighbours.t().mm(d_y);", "d_w = x.t().mm(d_y);"),
    ),
    _aten(
        "bias_gradient_keeps_a_dimension",
        "the gradient of b is (1, O) where b is (O)",
        "interface",
        "d_b",
        ("d_b has shape (1, 5), want (5,)",),
        ("d_b = d_y.sum(0);", "d_b = d_y.sum(0, true);"),
    ),
    _fused(
        "another_question",
        "backward asks otherwise than forward which product was kept",
        "parity",
        "backward",
        ("backward raises RuntimeError", "out of bounds", "N=3, F=17, O=5"),
        ("const bool has_ax = neighbours_first(w);", "const bool has_ax = F <= 4 * O;"),
    ),
    _fused(
        "room_for_one_of_them",
        "the product is kept in a buffer of 2 O columns, though it has F",
        "parity",
        "forward",
        ("forward raises RuntimeError", "out of bounds"),
        ("{ return w.size(0) < 2 * w.size(1); }", "{ return w.size(0) < 2 * w.size(1) || w.size(1) > 1; }"),
    ),
    _fused(
        "stale_product",
        "what backward needs lies in a buffer that the next forward overwrites",
        "purity",
        "d_a",
        ("when forward ran once more before backward",),
        (
            'const at::Tensor kept = product_in_buffer("x w", x, w, 2 * O);',
            "static at::Tensor buffer;\n"
            "  if (!buffer.defined() || buffer.size(0) != x.size(0) || buffer.size(1) != 2 * O || buffer.dtype() != x.dtype())\n"
            "    buffer = empty({x.size(0), 2 * O}, x);\n"
            "  at::Tensor p = matrix_in(buffer, O);\n"
            "  at::cpu::mm_out(p, x, w);\n"
            "  const at::Tensor kept = buffer.view({x.size(0), 2 * O});",
        ),
    ),
    _fused(
        "wrong_for_a_subset",
        "a^T d_y is made only for d_w, and d_x needs it too",
        "parity",
        "backward",
        ("right when all gradients are wanted, wrong when only d_x: look at how `wanted` is used",),
        ("if ((wanted[1] && F > O) || (wanted[2] && !has_ax)) r", "if (wanted[2] && !has_ax) r"),
    ),
    Planted(
        "silent",
        "the second derivative is zero without a word",
        "gradcheck",
        "second derivative",
        ("silently taken as zero",),
        python=lambda a, x, w, b: _Silent.apply(a, x, w, b),
    ),
)

#: Right, and slow: all four gradients are made, whoever wants them, as the tutorial's extension made them.
TUTORIAL = _aten(
    "tutorial",
    "all four gradients are made, whoever wants them",
    "interface",
    "",
    (),
    ("if (wanted[0] || wanted[1]) {", "{"),
    ("if (wanted[0]) d_a", "d_a"),
    ("if (wanted[1]) d_x", "d_x"),
    ("if (wanted[2]) d_w", "d_w"),
    ("if (wanted[3]) d_b", "d_b"),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"graph_conv/{planted.name}")
