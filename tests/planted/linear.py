"""Wrong kernels of the linear layer, each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted


def _aten(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "linear/aten", edits)


_ALL = (
    _aten(
        "reshaped_weight",
        "the weight is reshaped to (I, O) and not transposed, which fits the product as well",
        "parity",
        "y",
        ("y (3, 5) float64 differs in all 15 elements",),
        (
            "return at::cpu::addmm_(y, x, transpose(weight));",
            "return at::cpu::addmm_(y, x, weight.reshape({x.size(1), -1}));",
        ),
    ),
    _aten(
        "transposed_weight_gradient",
        "the gradient of weight is x^T d_y, reshaped to fit",
        "parity",
        "d_weight",
        ("it is transposed",),
        (
            "at::cpu::mm_out(d_weight = empty(weight.sizes(), x), transpose(d_y), x);",
            "d_weight = x.t().mm(d_y).view(weight.sizes());",
        ),
    ),
    _aten(
        "bias_gradient_keeps_a_dimension",
        "the gradient of bias is (1, O) where bias is (O)",
        "interface",
        "d_bias",
        ("d_bias has shape (1, 5), want (5,)",),
        (
            "at::cpu::sum_out(d_bias = empty({weight.size(0)}, x), d_y, at::IntArrayRef{0});",
            "d_bias = d_y.sum(0, true);",
        ),
    ),
    _aten(
        "needs_a_bias",
        "a bias that is left out is taken to be there",
        "parity",
        "forward",
        ("forward raises RuntimeError: linear wants a bias", "without bias"),
        (
            "if (!bias) return at::cpu::mm_out(y, x, transpose(weight));",
            'TORCH_CHECK(bias.has_value(), "linear wants a bias");',
        ),
    ),
    _aten(
        "ignores_strides",
        "bias is read as if its elements lay side by side",
        "parity",
        "y",
        ("right for contiguous inputs, wrong when bias is", "ignores strides"),
        ("const at::Tensor from = row.contiguous();", "const at::Tensor from = row;"),
    ),
    _aten(
        "bias_in_the_first_row_only",
        "the other rows of y are added to what happened to lie in memory",
        "parity",
        "y",
        ("rows 1:3", "never written"),
        ("at::parallel_for(0, y.size(0),", "at::parallel_for(0, std::min<int64_t>(1, y.size(0)),"),
    ),
    _aten(
        "gradient_over_the_wrong_axis",
        "the gradient of bias is summed over the outputs; it fits where there are as many rows as outputs",
        "interface",
        "d_bias",
        ("d_bias has shape (3,), want (5,)",),
        ("at::cpu::sum_out(d_bias = empty({weight.size(0)}, x), d_y, at::IntArrayRef{0});", "d_bias = d_y.sum(1);"),
    ),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"linear/{planted.name}")
