"""The table of planted kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lltm_inline.model.registry import Kernel, registry
from tests.planted import hand
from tests.planted.plain import PLAIN, SAVES


@dataclass(frozen=True)
class Planted:
    """One wrong kernel.

    Attributes:
        name: what is wrong, as an identifier.
        why: the same in a sentence.
        section, quantity: of the finding for which it must be rejected.
        says: texts that this finding must hold.
        base: name of the shipped kernel that `edits` change; empty for the plain one.
        edits: (old, new), each old text exactly once in the base.
        python: a function instead.
    """

    name: str
    why: str
    section: str
    quantity: str
    says: tuple[str, ...]
    base: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    python: Callable[..., Any] | None = None

    def kernel(self) -> Kernel:
        """Make the wrong kernel."""
        name = f"lltm/{self.name}"
        if self.python is not None:
            return Kernel(name, python=self.python)
        base = registry[self.base] if self.base else plain()
        text = base.cpp
        for old, new in self.edits:
            assert text.count(old) == 1, f"{self.name}: {old!r} occurs {text.count(old)} times in {base.label}"
            text = text.replace(old, new)
        return Kernel(
            name, cpp=text, params=base.params, slots=base.slots, saves=base.saves, api=base.api, flags=base.flags
        )


def plain() -> Kernel:
    """Return the plain kernel that most of the errors are planted in; it is right."""
    return Kernel("lltm/plain", cpp=PLAIN, saves=SAVES)


def _fused(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "lltm/fused", edits)


def _plain(name: str, why: str, section: str, quantity: str, says: tuple[str, ...], *edits: tuple[str, str]) -> Planted:
    return Planted(name, why, section, quantity, says, "", edits)


def _python(name: str, why: str, section: str, quantity: str, says: tuple[str, ...]) -> Planted:
    return Planted(name, why, section, quantity, says, python=getattr(hand, name))


_ALL = (
    _fused(
        "swapped_gates",
        "the gradients of input gate and output gate change places",
        "parity",
        "d_weights",
        ("rows 0:10 = input gate and output gate", "input gate and output gate are swapped", "B=1, F=1, S=1"),
        ("store(d_gate, d_i);", "store(d_gate, d_o);"),
        ("store(d_gate + S, d_o);", "store(d_gate + S, d_i);"),
    ),
    _fused(
        "wrong_sign",
        "the gradient of old_cell has the wrong sign",
        "parity",
        "d_old_cell",
        ("differs in all 15 elements", "wrong sign"),
        ("store(d_old_cell_p + b * S + s, d_cell);", "store(d_old_cell_p + b * S + s, d_cell.neg());"),
    ),
    _fused(
        "one_gate_scaled",
        "one gate of three is scaled by two",
        "parity",
        "d_weights",
        ("110 of 330 elements, all in rows 5:10 = output gate", "2 times want"),
        ("const V d_o = d_h * t * o * (V(1) - o);", "const V d_o = V(2) * d_h * t * o * (V(1) - o);"),
    ),
    _fused(
        "drops_the_tail",
        "columns after the last whole vector are never computed",
        "parity",
        "new_h",
        ("not a multiple of", "never written"),
        ("if (const int n = S - s; n > 0) {", "if (const int n = S - s; n < 0) {"),
    ),
    _plain(
        "missing_bias_gradient",
        "backward leaves the gradient of bias undefined",
        "parity",
        "d_bias",
        ("d_bias is missing",),
        ("if (wanted[2]) d_bias = d_gates.sum(0);", ""),
    ),
    _plain(
        "float_inside_double",
        "tanh is taken in float, whatever the dtype; gradcheck alone does not see it",
        "parity",
        "d_old_cell",
        ("float64", "looks like float32 arithmetic", "only in float64; float32 is right"),
        ("const scalar_t t = std::tanh(cell[at]);", "const scalar_t t = std::tanh(float(cell[at]));"),
    ),
    _plain(
        "transposed_weight_gradient",
        "the gradient of weights is its own transpose, reshaped to fit",
        "parity",
        "d_weights",
        ("it is transposed",),
        ("d_weights = d_gates.t().mm(X);", "d_weights = X.t().mm(d_gates).view({3 * S, X.size(1)});"),
    ),
    _plain(
        "stale_output",
        "every call writes its output into one static buffer",
        "purity",
        "new_h",
        ("after the kernel was called once more", "static buffer"),
        (
            "Tensor new_h = at::empty({B, S}, old_cell.options());",
            "static Tensor kept;\n"
            "  if (!kept.defined() || kept.numel() != B * S || kept.dtype() != old_cell.dtype())\n"
            "    kept = at::empty({B, S}, old_cell.options());\n"
            "  Tensor new_h = kept.view({B, S});",
        ),
    ),
    _plain(
        "stale_activations",
        "what backward needs lies in a buffer that the next forward overwrites",
        "purity",
        "d_bias",
        ("when forward ran once more before backward",),
        (
            "Tensor gates = at::addmm(bias, X, weights.t());",
            "static Tensor kept;\n"
            "  if (!kept.defined() || kept.size(0) != X.size(0) || kept.size(1) != bias.size(0) || kept.dtype() != X.dtype())\n"
            "    kept = at::empty({X.size(0), bias.size(0)}, X.options());\n"
            "  Tensor gates = kept.view_as(kept);\n"
            "  at::addmm_out(gates, bias, X, weights.t());",
        ),
    ),
    _plain(
        "reads_past_the_row",
        "rows of old_cell are taken to be one element longer than they are",
        "parity",
        "new_cell",
        ("rows 1:3", "read outside a tensor", "B=2"),
        ("= old[b * S + s] + c[s] * i[s];", "= old[b * (S + 1) + s] + c[s] * i[s];"),
    ),
    _plain(
        "ignores_strides",
        "old_cell is read as if it were contiguous",
        "parity",
        "new_cell",
        ("right for contiguous inputs, wrong when old_cell is transposed", "ignores strides"),
        ("const Tensor cells = old_cell.contiguous();", "const Tensor cells = old_cell;"),
    ),
    _plain(
        "ignores_expanded_gradients",
        "d_new_h is read through its pointer, though .sum() gives it stride 0",
        "parity",
        "d_old_cell",
        ("right for contiguous incoming gradients, wrong when they are expanded", "stride 0"),
        ("const Tensor dh = d_new_h.contiguous(), dcell", "const Tensor dh = d_new_h, dcell"),
    ),
    _plain(
        "wrong_for_one_row",
        "a shortcut for B = 1 takes the wrong tensor",
        "parity",
        "d_bias",
        ("only where B = 1",),
        ("d_bias = d_gates.sum(0);", "d_bias = B == 1 ? gates[0].clone() : d_gates.sum(0);"),
    ),
    _plain(
        "bias_gradient_keeps_a_dimension",
        "the gradient of bias is (1, 3S) where bias is (3S)",
        "interface",
        "d_bias",
        ("d_bias has shape (1, 15), want (15,)",),
        ("d_bias = d_gates.sum(0);", "d_bias = d_gates.sum(0, true);"),
    ),
    _plain(
        "zero_gradient",
        "forward is right and a gradient is zero",
        "parity",
        "d_input",
        ("differs in all 51 elements", "it is zero everywhere"),
        (
            "d_input = d_gates.mm(weights.slice(1, S));",
            "d_input = at::zeros({B, weights.size(1) - S}, gates.options());",
        ),
    ),
    _plain(
        "mutates_an_input",
        "forward clears old_h when it is done with it",
        "purity",
        "old_h",
        ("forward changes the input old_h in 15 of 15 elements",),
        ("return {new_h, new_cell, gates, X};", "old_h.zero_();\n  return {new_h, new_cell, gates, X};"),
    ),
    _plain(
        "returns_its_input",
        "new_cell is computed in old_cell's own memory",
        "purity",
        "new_cell",
        ("new_cell shares its memory with the input old_cell",),
        ("Tensor new_cell = at::empty({B, S}, old_cell.options());", "Tensor new_cell = cells.view({B, S});"),
    ),
    _plain(
        "wrong_for_a_subset",
        "backward stops early when no matrix product is wanted",
        "parity",
        "d_bias",
        ("d_bias is missing", "wrong when only d_bias: look at how `wanted` is used"),
        (
            "if (wanted[1]) d_weights",
            "if (!wanted[0] && !wanted[1]) return {d_input, d_weights, d_bias, d_old_h, wanted[4] ? d_old_cell : Tensor()};\n"
            "  if (wanted[1]) d_weights",
        ),
    ),
    _plain(
        "relies_on_alignment",
        "the pointer to old_cell is rounded down to 32 bytes",
        "parity",
        "new_cell",
        ("wrong when old_cell is misaligned",),
        (
            "const scalar_t* old = cells.const_data_ptr<scalar_t>();",
            "const auto address = reinterpret_cast<uintptr_t>(cells.const_data_ptr<scalar_t>());\n"
            "    const scalar_t* old = reinterpret_cast<const scalar_t*>(address & ~uintptr_t(31));",
        ),
    ),
    _plain(
        "narrow_output",
        "an output is float32 whatever the inputs are",
        "interface",
        "new_h",
        ("new_h is float32, want float64",),
        ("return {new_h, new_cell, gates, X};", "return {new_h.to(at::kFloat), new_cell, gates, X};"),
    ),
    _plain(
        "refuses_nothing_to_do",
        "an empty batch is refused where the reference computes",
        "parity",
        "forward",
        ("forward raises RuntimeError: empty batch", "only where B = 0"),
        ("Tensor gates = at::addmm", 'TORCH_CHECK(input.size(0) > 0, "empty batch");\n  Tensor gates = at::addmm'),
    ),
    _python(
        "overflow",
        "elu' is exp(z) times a mask, which overflows for large z",
        "parity",
        "d_weights",
        ("NaN", "30 times larger: exp() overflows"),
    ),
    _python(
        "lonely",
        "wrong for the unit vectors of gradcheck only",
        "gradcheck",
        "d_input",
        ("torch.autograd.gradcheck finds another",),
    ),
    _python(
        "undefined",
        "wrong when only one output is used",
        "parity",
        "d_bias",
        ("only new_h used (d_new_cell undefined)",),
    ),
    _python(
        "silent",
        "the second derivative is zero without a word",
        "gradcheck",
        "second derivative",
        ("silently taken as zero",),
    ),
    _python(
        "holes",
        "the second derivative leaves out the gates",
        "gradcheck",
        "second derivative",
        ("is wrong without an error",),
    ),
    _python(
        "three", "one output too many", "interface", "forward", ("forward returns 3 tensors, want 2: new_h, new_cell",)
    ),
    _python("casts", "computes with integer weights", "interface", "weights", ("computes with weights in int64",)),
    _python("detached", "an input is cut out of the graph", "parity", "d_input", ("d_input is missing",)),
    _python(
        "writes_outside",
        "writes behind the end of an input",
        "purity",
        "old_cell",
        ("forward writes outside of old_cell: 1 elements",),
    ),
    _python(
        "changes_gradient",
        "writes into the incoming gradient",
        "purity",
        "d_new_h",
        ("backward changes the incoming gradient d_new_h",),
    ),
    _python(
        "remembers",
        "another result for the same values",
        "purity",
        "new_h",
        ("when called again with the same values",),
    ),
    _python(
        "watched",
        "an output wants a gradient though no input does",
        "parity",
        "new_h",
        ("new_h requires grad although no input does",),
    ),
)

#: The planted kernels by name.
PLANTED = {planted.name: planted for planted in _ALL}
