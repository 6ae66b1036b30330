"""Wrong kernels of convolution and batch normalisation, each with the reason for which a check must reject it."""

from __future__ import annotations

from dataclasses import replace

from lltm_inline.model.registry import Kernel
from tests.planted.kernels import Planted

_AGAIN = "const at::Tensor z = convolution(x, w);\n  normalise_backward(d_y.contiguous(), z, /*saved_is_y=*/false, z, statistics);"


def _fused(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "conv_bn/fused", edits)


_ALL = (
    _fused(
        "spares_a_buffer_too_many",
        "d_z is written over the incoming gradient, which may be needed elsewhere",
        "purity",
        "d_y",
        ("backward changes the incoming gradient d_y",),
        (_AGAIN, _AGAIN.replace("false, z,", "false, d_y.contiguous(),")),
        ("return convolution_backward(z, x, w", "return convolution_backward(d_y.contiguous(), x, w"),
    ),
    _fused(
        "takes_z_for_y",
        "the convolution that is computed again is not normalised before it is used",
        "parity",
        "d_x",
        ("d_x (2, 3, 5, 7) float64 differs in all 210 elements",),
        (_AGAIN, _AGAIN.replace("/*saved_is_y=*/false", "/*saved_is_y=*/true")),
    ),
    _fused(
        "forgets_the_normalisation",
        "backward goes through the convolution only",
        "parity",
        "d_w",
        ("d_w (4, 3, 2, 3) float64 differs in all 72 elements",),
        ("return convolution_backward(z, x, w", "return convolution_backward(d_y, x, w"),
    ),
    _fused(
        "keeps_z_in_a_static",
        "z is not computed again but kept in a static, which the next forward overwrites",
        "purity",
        "d_w",
        ("when forward ran once more before backward",),
        (
            "at::Tensor statistics = normalise(z, z, eps);",
            "kept = z.clone();\n  at::Tensor statistics = normalise(z, z, eps);",
        ),
        (_AGAIN, _AGAIN.replace("= convolution(x, w);", "= kept.clone();")),
        ("inline void refuse_one_value", "static at::Tensor kept;\n\ninline void refuse_one_value"),
    ),
    _fused(
        "wrong_for_a_subset",
        "backward stops early when x is data, as it is in the first layer",
        "parity",
        "d_w",
        ("d_w is missing", "wrong when only d_w: look at how `wanted` is used"),
        ("if (!wanted[0] && !wanted[1]) return {};", "if (!wanted[0]) return {};"),
    ),
    Planted(
        "saves_what_it_overwrote",
        "z is normalised in place and kept for backward as if it still were z",
        "parity",
        "d_w",
        ("d_w (4, 3, 2, 3) float64 differs in all 72 elements",),
        "conv_bn/unfused",
        (("at::Tensor y = at::cpu::empty(z.sizes(), z.options());", "at::Tensor y = z.view(z.sizes());"),),
    ),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}


def kernel_of(planted: Planted) -> Kernel:
    """Make a wrong kernel of this op."""
    return replace(planted.kernel(), name=f"conv_bn/{planted.name}")
