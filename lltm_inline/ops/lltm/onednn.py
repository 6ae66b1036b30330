"""LLTM with every GEMM through the faster of the two libraries that PyTorch brings, MKL and oneDNN.

    forward     z        = [old_h, input] weights^T                         (B, 3S)
                i, o, c  = sigmoid(z_i + b_i), sigmoid(z_o + b_o), elu(z_c + b_c)
                new_cell = old_cell + c i;   new_h = tanh(new_cell) o       (B, S)

    backward    d_z and d_old_cell in one pass over the cells
                d_weights = d_z^T [old_h, input]
                [d_old_h, d_input] = d_z weights

What it changes over `lltm/fused`: which library does the GEMMs. At large sizes these are nearly all of the time, and
`lltm/fused` leaves them to `at::mm`, which is MKL. Here each is done by both libraries when a size of its class first
comes, and from then on by the faster (`lltm_inline/ops/gemm.py` says how, and what a class is). What that gains depends
on the machine: almost nothing where MKL uses all of the processor, as on Intel, up to a third of a GEMM on an
AMD Zen 4, half on a Zen 5. What was found is shown by

    build = li.build("lltm/onednn"); print(*gemm_choices(build), sep="\\n")

and `LIBRARY` makes the choice without measuring: 1 is always MKL, 2 always oneDNN, 0 measures.

oneDNN multiplies x w^T, with x dense and w dense or the transpose of a dense matrix. So its way differs from MKL's:

* z is one product, of [old_h, input], which is concatenated for it. For MKL it stays the sum of two, of views.
* d_weights takes x = d_z^T, and that is a copy; [old_h, input] is taken as it is.
* d_old_h and d_input are made at once and cut apart; for one of them alone its columns of `weights` are copied.

The measurement includes all these copies, so they are only made where that is faster.
"""

from __future__ import annotations

from ...model.registry import Kernel
from .. import gemm
from ..gemm import gemm_choices
from . import fused

__all__ = ["KERNEL", "gemm_choices"]

_FORWARD = (
    """\
  at::Tensor gates = empty({B, 3 * S}, input), new_h = empty({B, S}, input), new_cell = empty({B, S}, input);
  at::cpu::mm_out(gates, old_h, transpose(columns(weights, 0, S)));
  at::cpu::addmm_(gates, input, transpose(columns(weights, S, S + F)));
""",
    """\
  at::Tensor new_h = empty({B, S}, input), new_cell = empty({B, S}, input);
  const at::Tensor gates = gemm::faster("z", input, B, 3 * S, S + F, [&] {
    at::Tensor z = gemm::mkl(old_h, transpose(columns(weights, 0, S)));
    return at::cpu::addmm_(z, input, transpose(columns(weights, S, S + F)));
  }, [&] { return gemm::onednn(concatenate(old_h, input), transpose(weights)); });
""",
)

_BACKWARD = (
    """\
  if (wanted[0]) at::cpu::mm_out(d_input = empty({B, F}, input), d_z, columns(weights, S, S + F));
  if (wanted[1]) d_weights = product_over_batch(d_z, concatenate(old_h, input));
""",
    """\
  if (wanted[1]) {
    const at::Tensor both = concatenate(old_h, input);
    d_weights = gemm::faster("d_weights", input, 3 * S, S + F, B,
        [&] { return product_over_batch(d_z, both); }, [&] { return gemm::onednn(transpose(d_z), both); });
  }
  const at::Tensor of_h = columns(weights, 0, S), of_input = columns(weights, S, S + F);
  const auto alone = [&](const char* name, const at::Tensor& w) {
    return gemm::faster(name, input, B, w.size(1), 3 * S,
        [&] { return gemm::mkl(d_z, w); }, [&] { return gemm::onednn(d_z, w); });
  };
  if (wanted[0] && wanted[3]) {
    std::tie(d_old_h, d_input) = gemm::faster("[d_old_h, d_input]", input, B, S + F, 3 * S,
        [&] { return std::make_pair(gemm::mkl(d_z, of_h), gemm::mkl(d_z, of_input)); },
        [&] {
          const at::Tensor both = gemm::onednn(d_z, weights);
          return std::make_pair(columns(both, 0, S).clone(), columns(both, S, S + F).clone());
        });
  } else {
    if (wanted[0]) d_input = alone("d_input", of_input);
    if (wanted[3]) d_old_h = alone("d_old_h", of_h);
  }
""",
)

#: What is different from the text of `lltm/fused`: each old text stands once in it.
EDITS = (
    ("#include <torch/csrc/stable/c/shim.h>\n", gemm.HEADERS + gemm.TEXT),
    (
        "// z (B, 3S) becomes the activations i, o, c.\n",
        "at::Tensor concatenate(const at::Tensor& old_h, const at::Tensor& input);\n\n"
        "// z (B, 3S) becomes the activations i, o, c.\n",
    ),
    _FORWARD,
    _BACKWARD,
    ("  if (wanted[3]) at::cpu::mm_out(d_old_h = empty({B, S}, input), d_z, columns(weights, 0, S));\n", ""),
)


def _edited(text: str) -> str:
    for old, new in EDITS:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text of lltm/fused"
        text = text.replace(old, new)
    return text


KERNEL = Kernel(
    "lltm/onednn",
    cpp=_edited(fused.CPP),
    params={**fused.KERNEL.params, **gemm.PARAMS},
    saves=fused.KERNEL.saves,
    doc=__doc__ or "",
)
