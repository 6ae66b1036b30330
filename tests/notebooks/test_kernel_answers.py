"""The self-checks whose answer is a text in C++: ten right answers of each, unlike each other, and ten wrong ones.

Each has to be built: CI takes the solution's neighbours in `test_answers.py`, and `make test-all` all of these.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import lltm_inline as li
from tests.notebooks.test_answers import (
    HURRIED,
    Instead,
    cells,
    judge,
    ops_of_lesson_13,  # noqa: F401, which is a fixture
    solution,
    taught,
)
from tests.tiny import forget

pytestmark = [
    pytest.mark.full,
    pytest.mark.usefixtures("quick_compiler", "ops_of_lesson_13", "shift"),
]

#: An answer: what is another text in the solution, and how what is said of it begins; nothing of a right one.
Answer = tuple[tuple[tuple[str, str], ...], str]


def right(*pairs: tuple[str, str]) -> Answer:
    """Make an answer that is right."""
    return pairs, ""


def wrong(said: str, *pairs: tuple[str, str]) -> Answer:
    """Make one that is wrong."""
    return pairs, said


ROWS = "const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();"
SUM = "2 * x_p[i] + y_p[i]"
LOOP = f"for (int64_t i = 0; i < z.numel(); ++i) z_p[i] = {SUM};"
X_ROW = "x_row = x.contiguous(),"
STRIDES = "'axpy/hasty' z"

CONTIGUOUS = [
    right((ROWS, "const auto x_row = x.contiguous(); const auto y_row = y.contiguous();")),
    right((ROWS, "const at::Tensor x_row = x.clone(at::MemoryFormat::Contiguous), y_row = y.clone(at::MemoryFormat::Contiguous);")),
    right((X_ROW, "x_row = x.contiguous().view({-1}),")),
    right((X_ROW, "x_row = at::empty(x.sizes(), x.options()).copy_(x),")),
    right((X_ROW, "x_row = x.is_contiguous() ? x : x.contiguous(),")),
    right((ROWS, "const at::Tensor both = at::stack({x, y}), x_row = both[0], y_row = both[1];")),
    right((ROWS, "at::Tensor x_row = x, y_row = y.contiguous();\n  if (!x_row.is_contiguous()) x_row = x_row.contiguous();")),
    right((LOOP, "for (int64_t i = z.numel(); i-- > 0;) z_p[i] = x_p[i] + x_p[i] + y_p[i];")),
    right((LOOP, "std::transform(x_p, x_p + z.numel(), y_p, z_p, [](scalar_t a, scalar_t b) { return 2 * a + b; });")),
    right((SUM, "std::fma(scalar_t(2), x_p[i], y_p[i])")),
    wrong(STRIDES, ("x.contiguous()", "x")),
    wrong(STRIDES, ("x.contiguous()", "x.clone()")),
    wrong(STRIDES, (X_ROW, "x_row = x.reshape({-1}),")),
    wrong(STRIDES, ("x_row.const_data_ptr", "x.const_data_ptr")),
    wrong(STRIDES, ("at::empty(x.sizes(), x.options())", "at::empty_like(x)")),
    wrong(STRIDES, (X_ROW, "x_row = at::empty_like(x),")),
    wrong(STRIDES, ("int64_t i = 0", "int64_t i = 1")),
    wrong("'axpy/hasty' forward", ("x.options()", "at::kFloat")),
    wrong("'axpy/hasty' forward", (ROWS, f'TORCH_CHECK(x.is_contiguous(), "x is not contiguous");\n  {ROWS}')),
    wrong("'axpy/hasty' does not compile:", ("x.contiguous()", "x.contiguos()")),
]  # fmt: skip

TWICE, USED = "return 2 * t;", "const at::Tensor x_twice = twice(x);\n  return x_twice + y;"
NO_COMPILE = "'axpy/three' does not"

THREE = [
    right(("x_twice + y", "at::add(x_twice, y)")),
    right(("x_twice + y", "y + x_twice")),
    right((TWICE, "return t * 2;")),
    right((TWICE, "return t + t;")),
    right((TWICE, "return t.mul(2);")),
    right((TWICE, "return at::mul(t, 2);")),
    right((USED, "return twice(x) + y;")),
    right((USED, "auto x_twice = twice(x);\n  x_twice += y;\n  return x_twice;")),
    right(("twice(", "doubled(")),
    right((USED, "const at::Tensor x_twice = 2 * x;\n  return x_twice + y;")),
    wrong(NO_COMPILE, (TWICE, "return 2 * t")),
    wrong(NO_COMPILE, ("x_twice + y", "x_twice.plus(y)")),
    wrong(NO_COMPILE, ("return x_twice + y;\n}", "return x_twice + y;")),
    wrong(NO_COMPILE, ("twice(const at::Tensor& t)", "twice(at::Tensor& t)")),
    wrong(NO_COMPILE, ("x_twice + y", "x.twice() + y")),
    wrong(NO_COMPILE, ("x_twice + y", "twice + y")),
    wrong("'axpy/three' z", ("x_twice + y", "x_twice - y")),
    wrong("'axpy/three' z", (TWICE, "return 3 * t;")),
    wrong("'axpy/three' z", ("twice(x)", "twice(y)")),
    wrong("'axpy/three' z", ("x_twice + y", "x_twice")),
]  # fmt: skip

BRACES = "if (t.dim() == 0) {\n    return t + t;\n  }\n  return 2 * t;"
INSIDE = [
    right((BRACES, "if (t.dim() == 0) return t + t;\n  return 2 * t;")),
    right((BRACES, "return 2 * t;")),
    right((BRACES, "if (!t.dim()) {\n    return t + t;\n  } else {\n    return 2 * t;\n  }")),
    right((BRACES, "return t.dim() == 0 ? t + t : 2 * t;")),
    right((BRACES, "at::Tensor result = 2 * t;\n  if (t.dim() == 0) {\n    result = t + t;\n  }\n  return result;")),
    right((BRACES, "switch (t.dim()) {\n    case 0: return t + t;\n    default: return 2 * t;\n  }")),
    right((BRACES, "while (t.dim() == 0) {\n    return t + t;\n  }\n  return 2 * t;")),
    right((BRACES, "if (t.dim() == 0)\n  {\n    return t + t; }\n  return 2 * t;")),
    right((BRACES, "{\n    if (t.dim() == 0) { return t + t; }\n  }\n  return 2 * t;")),
    right(("dim() == 0", "dim() != 0")),
    wrong("'axpy/inside' does not", ("  }\n  return 2", "  }\n  }\n  return 2")),
    wrong("'axpy/inside' does not", (BRACES, f"{BRACES}\n  }}")),
    wrong("'axpy/inside' does not", ("dim() == 0)", "dim() = 0)")),
    wrong("'axpy/inside' does not", (TWICE, "return 2 * t")),
    wrong("'axpy/inside' does not", ("at::Tensor forward(", "at::Tensor backward(")),
    wrong("'axpy/inside' z", ("return t + t;", "return t;")),
    wrong("'axpy/inside' z", (TWICE, "return 3 * t;")),
    wrong("'axpy/inside' z", ("t.dim() == 0", "t.dim() <= 1"), ("return t + t;", "return t;")),
    wrong("'axpy/inside' z", ("twice(x) + y", "twice(x) + x")),
    wrong("'axpy/inside' z", ("twice(x) + y", "twice(y) + x")),
]  # fmt: skip

DECLARED = "at::Tensor twice(const at::Tensor& t);\n"
DEFINED = "at::Tensor twice(const at::Tensor& t) {\n  return 2 * t;\n}"
NO_LINK = "'axpy/apart' does not"
APART = [
    right(("twice(const at::Tensor& t)", "twice(at::Tensor t)")),
    right((DECLARED, "at::Tensor twice(const at::Tensor&);\n")),
    right((DECLARED, "at::Tensor twice(const at::Tensor& another);\n")),
    right(("at::Tensor twice(", "static at::Tensor twice(")),
    right((DECLARED, f"extern {DECLARED}")),
    right((DECLARED, DECLARED + DECLARED)),
    right((DECLARED, f"namespace {{\n{DEFINED}\n}}\n"), (f"}}\n\n{DEFINED}", "}")),
    right((DECLARED, f"template <class T> T twice(const T& t) {{ {TWICE} }}\n"), (f"}}\n\n{DEFINED}", "}")),
    right((DEFINED, f"at::Tensor twice(at::Tensor& t) {{ {TWICE} }}\n{DEFINED}")),
    right((DEFINED, "auto twice(const at::Tensor& t) -> at::Tensor { return t + t; }")),
    wrong(NO_LINK, (DEFINED, DEFINED.replace("twice", "twise"))),
    wrong(NO_LINK, (DEFINED, "")),
    wrong(NO_LINK, (DEFINED, f"namespace mine {{\n{DEFINED}\n}}")),
    wrong(NO_LINK, (DEFINED, DEFINED.replace("& t)", "& t, int n)"))),
    wrong(NO_LINK, (DEFINED, DEFINED.replace("const at::Tensor& t", "at::Tensor t"))),
    wrong(NO_LINK, (DEFINED, f"struct Own {{ static {DEFINED} }};")),
    wrong(NO_LINK, (DEFINED, DEFINED.replace("at::Tensor twice", "int twice"))),
    wrong(NO_LINK, (DECLARED, "")),
    wrong("'axpy/apart' z", (DEFINED, DEFINED.replace("2 * t", "3 * t"))),
    wrong("'axpy/apart' z", ("twice(x) + y", "twice(y) + x")),
]  # fmt: skip

CELL, HIDDEN = "old_cell + c * i", "at::tanh(new_cell) * o"
GATES = "at::addmm(bias, X, weights.t()).chunk(3, 1)"
ATEN = [
    right((CELL, "at::addcmul(old_cell, c, i)")),
    right((CELL, "c * i + old_cell")),
    right((CELL, "old_cell.add(c.mul(i))")),
    right((HIDDEN, "o * new_cell.tanh()")),
    right(("at::cat({old_h, input}, 1)", "at::concat({old_h, input}, -1)")),
    right((GATES, "at::linear(X, weights, bias).chunk(3, 1)")),
    right((GATES, "(at::matmul(X, weights.t()) + bias).chunk(3, -1)")),
    right((GATES, "at::addmm(bias, X, weights.t()).tensor_split(3, 1)")),
    right(("return {new_h, new_cell};", "return std::make_tuple(new_h, new_cell);")),
    right(("at::elu(z[2])", "at::where(z[2] > 0, z[2], at::expm1(z[2].clamp_max(0)))")),
    wrong("'lltm/mine' new_h", (CELL, "old_cell + c")),
    wrong("'lltm/mine' new_h", (CELL, "old_cell + c * o")),
    wrong("'lltm/mine' new_h", (HIDDEN, "at::tanh(new_cell)")),
    wrong("'lltm/mine' new_h", (HIDDEN, "at::tanh(old_cell) * o")),
    wrong("'lltm/mine' new_", ("at::elu(", "at::relu(")),
    wrong("'lltm/mine' new_", ("{old_h, input}", "{input, old_h}")),
    wrong("'lltm/mine' new_", ("return {new_h, new_cell};", "return {new_cell, new_h};")),
    wrong("'lltm/mine' new_", (GATES, "at::mm(X, weights.t()).chunk(3, 1)")),
    wrong("'lltm/mine' d_", ("at::sigmoid(z[0])", "1 / (1 + at::exp(-z[0]))")),
    wrong("'lltm/mine' does not compile:", ("return {new_h, new_cell};", "return new_h, new_cell;")),
]  # fmt: skip

D_O = "d_new_h * t * o * (1 - o)"
BY_HAND = [
    right((D_O, "at::sigmoid_backward(d_new_h * t, o)")),
    right((D_O, "d_new_h * t * (o - o * o)")),
    right((D_O, "t * d_new_h * o - d_new_h * t * o * o")),
    right((D_O, "(d_new_h * t).mul(o).mul(1 - o)")),
    right((D_O, "d_new_h * t * (o - at::square(o))")),
    right((D_O, "d_new_h * t * o * o.neg().add(1)")),
    right((D_O, "(1 - o) * o * t * d_new_h")),
    right(("d_new_h * o * (1 - t * t)", "at::tanh_backward(d_new_h * o, t)")),
    right(("d_z.t().mm(X)", "at::mm(d_z.t(), X)")),
    right(("d_old_cell = d_cell;", "d_old_cell = d_cell.clone();")),
    wrong("'lltm/hand' d_", (D_O, "d_new_h * t")),
    wrong("'lltm/hand' d_", (D_O, "d_new_h * t * o")),
    wrong("'lltm/hand' d_", (D_O, "d_new_h * t * (1 - o)")),
    wrong("'lltm/hand' d_", (D_O, "d_new_h * t * i * (1 - i)")),
    wrong("'lltm/hand' d_", (D_O, "d_new_cell * t * o * (1 - o)")),
    wrong("'lltm/hand' d_", (D_O, "d_new_h * o * (1 - o)")),
    wrong("'lltm/hand' d_", (D_O, "d_new_h * t * o * (1 + o)")),
    wrong("'lltm/hand' d_", (D_O, "-d_new_h * t * o * (1 - o)")),
    wrong("'lltm/hand' d_", ("{d_z_i, d_z_o, d_z_c}", "{d_z_o, d_z_i, d_z_c}")),
    wrong("'lltm/hand' d_bias", ("d_z.sum(0)", "d_z.sum(0, true)")),
]  # fmt: skip

D_Z = "d_y * s * (1 - s) * (1 - 2 * s)"
DERIVATIVE = [
    right((D_Z, "at::sigmoid_backward(d_y * (1 - 2 * s), s)")),
    right((D_Z, "d_y * (s - s * s) * (1 - 2 * s)")),
    right((D_Z, "d_y * (s - 3 * s * s + 2 * s * s * s)")),
    right((D_Z, "d_y * s * (1 - s) * (1 - s - s)")),
    right((D_Z, "(1 - 2 * s) * (1 - s) * s * d_y")),
    right((D_Z, "d_y * s * at::sigmoid(-z) * (1 - 2 * s)")),
    right((D_Z, "-d_y * s * (1 - s) * at::tanh(z / 2)")),
    right((D_Z, "d_y.mul(s).mul(s.neg().add(1)).mul(1 - 2 * s)")),
    right(("if (!wanted[0]) return at::Tensor();\n", "")),
    right(("return s * (1 - s);", "return s * at::sigmoid(-z);")),
    wrong("'d_sigmoid/mine' d_z", (D_Z, "d_y * (1 - 2 * s)")),
    wrong("'d_sigmoid/mine' d_z", (D_Z, "d_y * s * (1 - s)")),
    wrong("'d_sigmoid/mine' d_z", (D_Z, "d_y * s * (1 - s) * (1 + 2 * s)")),
    wrong("'d_sigmoid/mine' d_z", (D_Z, "d_y * s * (1 - s) * (1 - s)")),
    wrong("'d_sigmoid/mine' d_z", (D_Z, "s * (1 - s) * (1 - 2 * s)")),
    wrong("'d_sigmoid/mine' d_z", (D_Z, "-d_y * s * (1 - s) * (1 - 2 * s)")),
    wrong("'d_sigmoid/mine' d_z", (D_Z, "d_y * z * (1 - z) * (1 - 2 * z)")),
    wrong("'d_sigmoid/mine' d_z", (D_Z, "d_y * s * (1 - s) + (1 - 2 * s)")),
    wrong("'d_sigmoid/mine' y", ("return s * (1 - s);", "return s * (1 + s);")),
    wrong("'d_sigmoid/mine' does not compile:", (D_Z, "d_y s (1 - s) (1 - 2 s)")),
]  # fmt: skip

EXPONENT, QUOTIENT = "at::exp(-at::abs(z))", "e / at::square(1 + e)"
BODY = f"const at::Tensor e = {EXPONENT};\n  return {QUOTIENT};"
OVERFLOW = "'d_sigmoid/even' "
EVEN = [
    right((EXPONENT, "at::exp(at::minimum(z, -z))")),
    right((EXPONENT, "at::exp(at::where(z > 0, -z, z))")),
    right((EXPONENT, "z.abs().neg().exp()")),
    right((QUOTIENT, "e / (1 + e) / (1 + e)")),
    right((QUOTIENT, "e / (1 + 2 * e + e * e)")),
    right((QUOTIENT, "e / at::pow(1 + e, 2)")),
    right((BODY, "const at::Tensor s = at::sigmoid(z);\n  return s * (1 - s);")),
    right((BODY, "return at::sigmoid(z) * at::sigmoid(-z);")),
    right((BODY, "return (1 - at::square(at::tanh(z / 2))) / 4;")),
    right((BODY, "return at::exp(at::log_sigmoid(z) + at::log_sigmoid(-z));")),
    wrong(OVERFLOW, (EXPONENT, "at::exp(at::abs(z))")),
    wrong(OVERFLOW, (EXPONENT, "at::exp(-z * z)")),
    wrong(OVERFLOW, (EXPONENT, "at::exp(at::clamp_max(-z, 0))")),
    right((EXPONENT, "at::exp(at::clamp_max(-z, 80))")),
    wrong(OVERFLOW, (QUOTIENT, "e / (1 + e)")),
    wrong(OVERFLOW, (QUOTIENT, "1 / at::square(1 + e)")),
    wrong(OVERFLOW, (QUOTIENT, "e / at::square(1 - e)")),
    wrong(OVERFLOW, (BODY, "const at::Tensor e = at::exp(-z);\n  return at::nan_to_num(e / at::square(1 + e));")),
    wrong(OVERFLOW, (BODY, "return 1 / (at::exp(z) + 2 + at::exp(-z));")),
    wrong("'d_sigmoid/even' does not compile:", ("at::abs(z)", "abs z")),
]  # fmt: skip

STEP, T = "d_y_p[n] * (1 - t * t)", "const scalar_t t = y_p[n] / cap;"
D_X, TURNS = "'softcap/loop' d_x", "for (int64_t n = 0; n < y.numel(); ++n) {"
CAPPED = [
    right((STEP, "(1 - t) * (1 + t) * d_y_p[n]")),
    right((STEP, "d_y_p[n] * (1 - std::pow(t, 2))")),
    right((STEP, "std::fma(-t * t, d_y_p[n], d_y_p[n])")),
    right((T, "const auto t = scalar_t(y_p[n] / cap);")),
    right((T, "const scalar_t t = y_p[n] * (1 / cap);")),
    right((TURNS, "for (int64_t n = y.numel(); n-- > 0;) {")),
    right((TURNS, "int64_t n = -1;\n    while (++n < y.numel()) {")),
    right((f"{T}\n      d_x_p[n] = {STEP};", "d_x_p[n] = d_y_p[n] - d_y_p[n] * y_p[n] * y_p[n] / (cap * cap);")),
    right(("  return d_x;", "  return wanted[0] ? d_x : at::Tensor();")),
    right(("d_y.contiguous(), d_x = at::empty_like(d_y_row)", "d_y.contiguous(), d_x = at::empty(y.sizes(), y.options())"),
          ("empty_like.h>", "empty_like.h>\n#include <ATen/ops/empty.h>")),
    wrong(D_X, (STEP, "1 - t * t")),
    wrong(D_X, (STEP, "d_y_p[n] * (1 + t * t)")),
    wrong(D_X, (STEP, "d_y_p[n] * t * t")),
    wrong(D_X, (T, "const scalar_t t = y_p[n];")),
    wrong(D_X, (T, "const scalar_t t = y_p[n] * cap;")),
    wrong(D_X, (T, "const scalar_t t = std::tanh(y_p[n] / cap);")),
    wrong(D_X, (T, "const float t = y_p[n] / cap;")),
    wrong(D_X, ("d_y.contiguous(), d_x", "d_y, d_x")),
    wrong("'softcap/loop' ", (TURNS, "for (int64_t n = 1; n < y.numel(); ++n) {")),
    wrong("'softcap/loop' does not compile:", (T, "")),
]  # fmt: skip

READ_Y, READ_D = "i > 0 ? x_p[i - 1] : scalar_t(0)", "i + 1 < N ? d_y_p[i + 1] : scalar_t(0)"
FORTH = f"for (int64_t i = 0; i < x.numel(); ++i) y_p[i] = {READ_Y};"
BACK = f"for (int64_t i = 0; i < N; ++i) d_x_p[i] = {READ_D};"
FIRST = "if (x.numel() > 0) y_p[0] = 0;\n    "
SHIFTED = [
    right((FORTH, f"{FIRST}for (int64_t i = 1; i < x.numel(); ++i) y_p[i] = x_p[i - 1];")),
    right((FORTH, f"{FIRST}for (int64_t i = 0; i + 1 < x.numel(); ++i) y_p[i + 1] = x_p[i];")),
    right((FORTH, f"{FIRST}if (x.numel() > 1) std::copy(x_p, x_p + x.numel() - 1, y_p + 1);")),
    right((READ_Y, "i == 0 ? scalar_t(0) : x_p[i - 1]")),
    right(
        (
            FORTH,
            "for (int64_t i = 0; i < x.numel(); ++i) {\n      y_p[i] = 0;\n      if (i) y_p[i] = x_p[i - 1];\n    }",
        )
    ),
    right((FORTH, "scalar_t last = 0;\n    for (int64_t i = 0; i < x.numel(); ++i) {\n      y_p[i] = last;\n      last = x_p[i];\n    }")),
    right((READ_D, "i == N - 1 ? scalar_t(0) : d_y_p[i + 1]")),
    right((BACK, "for (int64_t i = 1; i < N; ++i) d_x_p[i - 1] = d_y_p[i];\n    if (N) d_x_p[N - 1] = 0;")),
    right((BACK, "for (int64_t i = N - 1; i >= 0; --i) d_x_p[i] = i < N - 1 ? d_y_p[i + 1] : 0;")),
    right((BACK, "if (N == 0) return;\n    for (int64_t i = 0; i < N - 1; ++i) d_x_p[i] = d_y_p[i + 1];\n    d_x_p[N - 1] = 0;")),
    wrong("'shift/mine'", (READ_Y, "x_p[i - 1]")),
    wrong("'shift/mine'", (READ_D, "d_y_p[i + 1]")),
    wrong("'shift/mine'", (FORTH, "y_p[0] = 0;\n    for (int64_t i = 1; i < x.numel(); ++i) y_p[i] = x_p[i - 1];")),
    wrong("'shift/mine'", (BACK, "d_x_p[N - 1] = 0;\n    for (int64_t i = 0; i < N - 1; ++i) d_x_p[i] = d_y_p[i + 1];")),
    wrong("'shift/mine' y", (FORTH, "for (int64_t i = 1; i < x.numel(); ++i) y_p[i] = x_p[i - 1];")),
    wrong("'shift/mine' y", (READ_Y, "i > 0 ? x_p[i - 1] : x_p[0]")),
    wrong("'shift/mine' y", (READ_Y, "i > 0 ? x_p[i] : scalar_t(0)")),
    wrong("'shift/mine' y", (READ_Y, "i > 1 ? x_p[i - 1] : scalar_t(0)")),
    wrong("'shift/mine' d_x", (READ_D, "i < N ? d_y_p[i] : scalar_t(0)")),
    wrong("'shift/mine'", (READ_D, "i < N ? d_y_p[i + 1] : scalar_t(0)")),
]  # fmt: skip

TWICE, SUMMED = "2 * x", "return twice + y;"
TOUR, COMPILES = "'axpy/tour' ", "'axpy/tour' does not compile:"
FIRST_TOUR = [
    right(),
    right((TWICE, "x * 2")),
    right((TWICE, "x + x")),
    right((TWICE, "at::mul(x, 2)")),
    right((TWICE, "x - (-x)")),
    right((SUMMED, "return y + twice;")),
    right((SUMMED, "return at::add(twice, y);")),
    right((SUMMED, "return y - -twice;")),
    right(("const at::Tensor twice", "const auto twice")),
    right(("  const at::Tensor twice = 2 * x;\n", ""), (SUMMED, "return at::add(y, x, 2);")),
    wrong(COMPILES, ("2 * x;", "2 * x")),
    wrong(COMPILES, ("2 * x;", "2 * x:")),
    wrong(COMPILES, ("2 * x;", "2 * x // ;")),
    wrong(COMPILES, (SUMMED, "return twice + y")),
    wrong(COMPILES, ("2 * x;", "2x;")),
    wrong(COMPILES, (SUMMED, "return twice + z;")),
    wrong(TOUR, (TWICE, "x")),
    wrong(TOUR, (TWICE, "2 * y")),
    wrong(TOUR, (SUMMED, "return twice - y;")),
    wrong(TOUR, (SUMMED, "return twice;")),
]

INPUT, HIDDEN, LEAN = "d_z.mm(weights.slice(1, S))", "d_z.mm(weights.slice(1, 0, S))", "'lltm/lean' "
IF_INPUT, IF_HIDDEN, PRODUCT = "if (wanted[0]) d_input", "if (wanted[3]) d_old_h", "d_z.t().mm(X)"
STILL_MORE = "It is right, and still makes more than one matrix product"
BOTH = """if (wanted[0] || wanted[3]) {
    const at::Tensor d_X = d_z.mm(weights);
    d_input = d_X.slice(1, S);
    d_old_h = d_X.slice(1, 0, S);
  }"""
ONLY_WANTED = [
    right(),
    right((INPUT, "at::mm(d_z, weights.slice(1, S))")),
    right((INPUT, "at::matmul(d_z, weights.narrow(1, S, weights.size(1) - S))")),
    right((HIDDEN, "d_z.mm(weights.narrow(1, 0, S))")),
    right((HIDDEN, "weights.slice(1, 0, S).t().mm(d_z.t()).t().contiguous()")),
    right((PRODUCT, "X.t().mm(d_z).t()")),
    right((PRODUCT, 'at::einsum("bj,bi->ji", {d_z, X})')),
    right((IF_INPUT, "d_input = !wanted[0] ? at::Tensor()"), (f"= {INPUT}", f": {INPUT}")),
    right((f"{IF_INPUT} = {INPUT};", BOTH), (f"  {IF_HIDDEN} = {HIDDEN};\n", "")),
    right(("d_z.sum(0)", "at::sum(d_z, 0)")),
    wrong(STILL_MORE, (IF_INPUT, "d_input")),
    wrong(STILL_MORE, (IF_HIDDEN, "d_old_h")),
    wrong(STILL_MORE, (IF_INPUT, "if (wanted[0] || wanted[1]) d_input")),
    wrong(
        STILL_MORE,
        (f"{IF_INPUT} = {INPUT};", BOTH.replace("wanted[3]", "wanted[2] || wanted[3]")),
        (f"  {IF_HIDDEN} = {HIDDEN};\n", ""),
    ),
    wrong(
        STILL_MORE,
        (INPUT, "d_X.slice(1, S)"),
        ("  at::Tensor d_input", "  const at::Tensor d_X = d_z.mm(weights);\n  at::Tensor d_input"),
    ),
    wrong(STILL_MORE, ("d_z.sum(0)", "at::ones({1, d_z.size(0)}, d_z.options()).mm(d_z).squeeze(0)")),
    wrong(LEAN, (INPUT, "d_z.mm(weights.slice(1, 0, S))")),
    wrong(LEAN, (HIDDEN, "d_z.mm(weights.slice(1, S))")),
    wrong(LEAN, (IF_INPUT, "if (!wanted[0]) d_input")),
    wrong("'lltm/lean' does not compile:", (INPUT, "d_z.mm(weights.slice(1, S)")),
]

EXERCISES = {
    "00.1": ("axpy/tour", FIRST_TOUR),
    "01.3": ("axpy/hasty", CONTIGUOUS),
    "02.1": ("axpy/three", THREE),
    "02.2": ("axpy/inside", INSIDE),
    "02.3": ("axpy/apart", APART),
    "03.1": ("lltm/mine", ATEN),
    "03.2": ("lltm/hand", BY_HAND),
    "03.3": ("lltm/lean", ONLY_WANTED),
    "04.1": ("d_sigmoid/mine", DERIVATIVE),
    "04.3": ("d_sigmoid/even", EVEN),
    "13.2": ("softcap/loop", CAPPED),
    "14.1": ("shift/mine", SHIFTED),
}
SAVES = {**dict.fromkeys(("03.2", "03.3"), ("weights", "new_cell")), "04.1": ("z",), "13.2": ("y", "cap")}


@pytest.fixture
def shift() -> Iterator[None]:
    """Register the op of exercise 14.1."""
    names = taught("14.1", "shift", torch=torch)
    li.registry.register(li.Op("shift", "(Tensor x) -> Tensor y", names["shift"], {"x": "N", "y": "N"}))
    yield
    forget("shift")


@pytest.mark.parametrize(
    ("exercise", "number"),
    [(name, number) for name, (_, answers) in EXERCISES.items() for number in range(len(answers))],
)
def test_texts(exercise: str, number: int) -> None:
    """What is right is praised, however it is written; of anything else it is told what is wrong with it."""
    name, answers = EXERCISES[exercise]
    changes, said = answers[number]
    answer = li.Kernel(name, cpp=solution(exercise, *changes), saves=SAVES.get(exercise, ()))
    checked = functools.partial(li.self_check, exercise)
    op = li.registry.ops["lltm"]
    names = taught(exercise, "products", torch=torch, li=li, op=op) if exercise == "03.3" else {}
    instead = {"self_check": lambda _, **given: checked(**{**given, "kernel": answer})}
    if exercise == "00.1":
        instead["registry"] = SimpleNamespace(history=lambda name: ("the text that does not compile", "this one"))
    verdict = judge(exercise, Instead(**instead), **names)
    assert verdict.ok == (not said) and verdict.text.startswith(said), (changes, verdict)


BIAS, ONE_ROW = "d_z.sum(0)", "It is wrong with one row already"
SNEAKY = [
    right((BIAS, "d_z.mean(0)")),
    right((BIAS, "d_z[0].clone()")),
    right((BIAS, "d_z.amax(0)")),
    right((BIAS, "d_z.sum(0) / d_z.size(0)")),
    right((BIAS, "d_z.sum(0) * d_z.size(0)")),
    right((BIAS, "d_z.slice(0, 0, 1).sum(0)")),
    right((BIAS, "d_z.prod(0)")),
    right((BIAS, "std::get<0>(d_z.median(0))")),
    right((BIAS, "d_z.slice(0, -1).sum(0)")),
    right((BIAS, "(d_z.size(0) > 1 ? at::zeros_like(d_z) : d_z).sum(0)")),
    wrong("is as it was.", (BIAS, f"{BIAS} /* the mean */")),
    wrong("is right, and this exercise wants one that is wrong", (BIAS, "d_z.sum({0})")),
    wrong("is right, and this exercise wants one that is wrong", (BIAS, "d_z.t().sum(1)")),
    right((BIAS, "d_z.mean(0) * d_z.size(0)")),
    wrong(ONE_ROW, (BIAS, "2 * d_z.sum(0)")),
    wrong(ONE_ROW, (BIAS, "-d_z.sum(0)")),
    wrong(ONE_ROW, (BIAS, "d_z.sum(0, true)")),
    wrong(ONE_ROW, (BIAS, "at::zeros_like(d_z).sum(0)")),
    wrong(ONE_ROW, (BIAS, "d_z.sum(1)")),
    wrong(ONE_ROW, (BIAS, "d_z.norm(2, 0)")),
    wrong("does not compile:", (BIAS, "d_z.mean(0")),
]  # fmt: skip

ROOM, KEEPS = "at::empty(x.sizes())", "/*keepdim=*/true"
D_S = f"(d_y * x).sum(1, {KEEPS})"
FLAT, TYPED = (KEEPS, "false"), (ROOM, "at::empty(x.sizes(), x.options())")
COPIED = "at::Tensor y = at::empty(x.sizes());\n  y.copy_(x * s.unsqueeze(1));\n  return y;"
MENDED = [
    right(FLAT, TYPED),
    right(FLAT, (ROOM, "at::zeros_like(x)")),
    right(FLAT, (ROOM, "at::empty(x.sizes(), x.scalar_type())")),
    right(FLAT, (COPIED, "return x * s.unsqueeze(1);")),
    right(FLAT, (COPIED, "return x * s.view({-1, 1});")),
    right(FLAT, (COPIED, "return (x.t() * s).t().contiguous();")),
    right(TYPED, (D_S, "(d_y * x).sum(-1)")),
    right(TYPED, (D_S, "(d_y * x).sum(1, true).squeeze(1)")),
    right(TYPED, (D_S, 'at::einsum("bf,bf->b", {d_y, x})')),
    right(TYPED, (D_S, "d_y.mul(x).sum(c10::IntArrayRef{1})")),
    wrong("'row_scale/hurried", FLAT),
    wrong("'row_scale/hurried", TYPED),
    wrong("is as it was.", (KEEPS, "true")),
    wrong("'row_scale/hurried", TYPED, (D_S, "(d_y * x).sum(0)")),
    wrong("'row_scale/hurried", TYPED, (D_S, "(d_y * x).sum(1, true).squeeze()")),
    wrong("'row_scale/hurried", TYPED, (D_S, "(d_y * x).mean(1)")),
    wrong("'row_scale/hurried", TYPED, (D_S, "d_y.sum(1)")),
    wrong("'row_scale/hurried", FLAT, ("return y;", "return y.to(x.scalar_type());")),
    wrong("'row_scale/hurried", FLAT, TYPED, ("d_x = d_y * s.unsqueeze(1)", "d_x = d_y * s")),
    wrong("'row_scale/hurried", FLAT, (ROOM, "at::empty(x.sizes(), s.dtype()")),
]  # fmt: skip

BEGIN = "at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {\n"
ENDLESS_MARK, OTHER_END = (
    "is right, and this exercise wants one that crashes",
    "'time-out' stands nowhere in what was found",
)


def loops(body: str, include: str = "") -> tuple[str, str]:
    """Put statements at the start of forward."""
    return BEGIN, f"{include}{BEGIN}  {body}\n"


ENDLESS = [
    right(loops("volatile int turns = 1;\n  while (turns > 0) turns = 1;")),
    right(loops("for (volatile bool on = true; on;) {}")),
    right(loops("volatile int turns = 0;\n  do ++turns; while (turns != 0 || true);")),
    right(loops("volatile int64_t n = 0;\nagain:\n  n = n + 1;\n  if (n >= 0) goto again;")),
    right(loops("std::this_thread::sleep_for(std::chrono::hours(1));", "#include <chrono>\n#include <thread>\n")),
    right(loops("for (volatile double n = 0; n < 1e15; n = n + 1) {}")),
    right(loops("std::atomic<bool> ready{false};\n  while (!ready) {}", "#include <atomic>\n")),
    right(loops("std::mutex lock;\n  lock.lock();\n  lock.lock();", "#include <mutex>\n")),
    right(loops("volatile unsigned n = 3;\n  while (n >= 0) n = n - 1;")),
    right(loops("if (x.numel() > 1) for (volatile int n = 1; n;) n = 1;")),
    wrong("is as it was.", loops("// while (true) {}")),
    wrong(ENDLESS_MARK, loops("for (volatile int n = 0; n < 3; n = n + 1) {}")),
    wrong(ENDLESS_MARK, loops("volatile bool on = false;\n  while (on) {}")),
    wrong(OTHER_END, loops("std::abort();", "#include <cstdlib>\n")),
    wrong(OTHER_END, loops("*static_cast<volatile int*>(nullptr) = 1;")),
    wrong(OTHER_END, loops("std::_Exit(0);", "#include <cstdlib>\n")),
    wrong("forward raises", loops('TORCH_CHECK(false, "time-out");')),
    wrong("z", loops("if (x.numel() > 2) return x.clone();", "#include <ATen/ops/clone.h>\n")),
    wrong("does not compile:", loops("while (true) {")),
    wrong("does not compile:", loops("while True:")),
]  # fmt: skip


X_ROW_OF_PICK = "  const at::Tensor x_row"
FITS = "0 <= index && index < x.numel()"
FAR, END = (f"Index {index} of 3 elements gives no IndexError." for index in (10**12, 3))


def looks(text: str) -> tuple[str, str]:
    """Put a statement before what forward reads."""
    return X_ROW_OF_PICK, f"  {text}\n{X_ROW_OF_PICK}"


POLITE = [
    right(looks(f'TORCH_CHECK_INDEX({FITS}, "pick: index ", index, " does not fit ", x.numel(), " elements");')),
    right(looks('TORCH_CHECK_INDEX(index >= 0 && index < x.size(0), "no index ", index);')),
    right(looks('TORCH_CHECK_INDEX(index >= 0, index, " < 0");\n  TORCH_CHECK_INDEX(index < x.numel(), index, " is too large");')),
    right(looks('TORCH_CHECK_INDEX(static_cast<uint64_t>(index) < static_cast<uint64_t>(x.numel()), "index ", index);')),
    right(looks('TORCH_CHECK_INDEX(!(index < 0 || index >= x.numel()), "index ", index);')),
    right(looks('if (index < 0 || index >= x.numel()) TORCH_CHECK_INDEX(false, "index ", index);')),
    right(looks('if (index < 0 || index >= x.numel()) C10_THROW_ERROR(IndexError, "index " + std::to_string(index));')),
    right(looks('const int64_t last = x.numel() - 1;\n  TORCH_CHECK_INDEX(last >= index && index >= 0, index, " of ", last);')),
    right(looks(f'[&] {{ TORCH_CHECK_INDEX({FITS}, "index ", index); }}();')),
    right(("    y.mutable", f'    TORCH_CHECK_INDEX({FITS}, "index ", index);\n    y.mutable')),
    wrong("is as it was.", looks(f'// TORCH_CHECK_INDEX({FITS}, "index ", index);')),
    wrong(FAR, looks(f'TORCH_CHECK({FITS}, "index ", index);')),
    wrong(FAR, looks(f'TORCH_CHECK_VALUE({FITS}, "index ", index);')),
    wrong(FAR, looks('TORCH_CHECK_INDEX(index >= 0, "index ", index);')),
    wrong("crashed in forward", looks("if (index < 0 || index >= x.numel()) index = 0;")),
    wrong(END, looks('TORCH_CHECK_INDEX(0 <= index && index <= x.numel(), "index ", index);')),
    wrong("crashed in forward", looks('TORCH_CHECK_INDEX(index < x.numel(), "index ", index);')),
    wrong("The message should name the index.", looks(f'TORCH_CHECK_INDEX({FITS}, "the index does not fit");')),
    wrong("'pick/bare", looks('TORCH_CHECK_INDEX(0 < index && index < x.numel(), "index ", index);')),
    wrong("does not compile:", looks(f'TORCH_CHECK_INDEX(({FITS}, "index ", index);')),
]  # fmt: skip

TWO_DTYPES = "dtype == ScalarType::Float || dtype == ScalarType::Double"
SAME_DTYPE = '  STD_TORCH_CHECK(y.scalar_type() == dtype, "x and y differ in dtype");\n'
DIMS, EXTENTS = "x.dim() == y.dim()", "for (int64_t i = 0; same && i < x.dim(); ++i) same = x.size(i) == y.size(i);"
SHAPE, CALLED, REGISTERED = 'STD_TORCH_CHECK(same, "x and y differ in shape");', "return forward(x, y);", "&forward_of"
CAREFUL = [
    right(),
    right((TWO_DTYPES, "!(dtype != ScalarType::Float && dtype != ScalarType::Double)")),
    right(("y.scalar_type() == dtype", "dtype == y.scalar_type()")),
    right((EXTENTS, "for (int64_t i = x.dim(); same && i-- > 0;) same = y.size(i) == x.size(i);")),
    right((EXTENTS, "if (same)\n    for (int64_t i = 0; i < y.dim(); ++i) same &= x.size(i) == y.size(i);")),
    right(("forward_of", "checked")),
    right((SHAPE, 'if (!same) throw std::runtime_error("x and y differ in shape");')),
    right((SAME_DTYPE, ""), ("(same,", "(same && y.scalar_type() == dtype,")),
    right((SAME_DTYPE, ""), (SHAPE, f"{SHAPE}\n{SAME_DTYPE}")),
    right((CALLED, "Tensor z = forward(x, y);\n  return z;")),
    wrong("'axpy/lean", (REGISTERED, "&forward")),
    wrong("'axpy/lean", (TWO_DTYPES, "true")),
    wrong("'axpy/lean", (SAME_DTYPE, "")),
    wrong("'axpy/lean", (SHAPE, "")),
    wrong("'axpy/lean", (EXTENTS, "")),
    wrong("'axpy/lean", (EXTENTS, "same = same && x.numel() == y.numel();")),
    wrong("'axpy/lean", (TWO_DTYPES, "dtype == ScalarType::Float")),
    wrong("'axpy/lean", (CALLED, "return forward(y, x);")),
    wrong("'axpy/lean", (DIMS, "x.dim() != y.dim()")),
    wrong("does not compile:", (CALLED, "return forward(x, y)")),
]  # fmt: skip


def edited(base: li.Kernel, changes: tuple[tuple[str, str], ...]) -> li.Kernel:
    """Change a kernel's texts as `edit` would; that would count it among the revisions of this process."""
    text = base.cpp
    for old, new in changes:
        assert old in text, (old, text)
        text = text.replace(old, new)
    return base.replace(cpp=text)


CHANGED = {"04.2": SNEAKY, "13.3": MENDED, "14.2": ENDLESS}


@pytest.fixture
def pick() -> Iterator[dict[str, Any]]:
    """Register the op of exercise 14.3; give its kernel and what calls it."""
    names = taught(
        "14.3", "pick", "bare", "wild", torch=torch, li=Instead(registry=SimpleNamespace(register=lambda one: one))
    )
    li.registry.register(
        li.Op(
            "pick",
            "(Tensor x, int index) -> Tensor y",
            names["pick"],
            {"x": "N", "y": "1"},
            lambda randn, N: (randn(N), N - 1),
        )
    )
    yield names
    forget("pick")


@pytest.mark.parametrize("number", range(len(POLITE)))
def test_refusals(pick: dict[str, Any], number: int) -> None:
    """The same of an index that is refused in place of a crash."""
    changes, said = POLITE[number]
    verdict = judge("14.3", **pick, polite=edited(pick["bare"], changes))
    assert verdict.ok == (not said) and said in verdict.text, (changes, verdict)


@pytest.mark.parametrize("number", range(len(CAREFUL)))
def test_bindings(number: int) -> None:
    """The same of a binding that refuses what does not fit."""
    changes, said = CAREFUL[number]
    kept = Instead(registry=SimpleNamespace(register=lambda one: one))
    names = taught("11.3", "STABLE", "lean", "BINDING", "careless", li=kept)
    exec(cells("11.3")[0], names)
    text = names["CAREFUL"]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    careful = names["lean"].replace(binding=text)
    verdict = judge("11.3", **names | {"careful": careful})
    assert verdict.ok == (not said) and said in verdict.text, (changes, verdict)


@pytest.mark.parametrize(
    ("exercise", "number"), [(name, number) for name, answers in CHANGED.items() for number in range(len(answers))]
)
def test_changes(exercise: str, number: int) -> None:
    """The same of kernels that are to be changed: how is the student's choice, and that they are must be seen."""
    changes, said = CHANGED[exercise][number]
    axpy, hurried = li.registry["axpy/cpp@0"], li.Kernel("row_scale/hurried", cpp=HURRIED, saves=("x", "s"))
    base = {"04.2": li.registry["lltm/aten@0"], "13.3": hurried, "14.2": axpy}[exercise]
    name = {"04.2": "sneaky", "13.3": "mended", "14.2": "endless"}[exercise]
    verdict = judge(exercise, **{"hurried": hurried, "axpy": axpy, name: edited(base, changes)})
    assert verdict.ok == (not said) and said in verdict.text, (changes, verdict)


EXP, WHOLE = "x.exp()", "auto e = x.exp();\n  return e / e.sum(1, true);"
SOFTMAX = [
    right((EXP, "(x - std::get<0>(x.max(1, true))).exp()")),
    right((EXP, "(x - x.amax(1, true)).exp()")),
    right((EXP, "x.sub(x.amax(1, true).detach()).exp()")),
    right((EXP, "torch::exp(x - std::get<0>(torch::max(x, 1, true)))")),
    right((EXP, "(x - std::get<0>(x.sort(1, true)).narrow(1, 0, 1)).exp()")),
    right((WHOLE, "return torch::softmax(x, 1);")),
    right((WHOLE, "return x.log_softmax(1).exp();")),
    right((WHOLE, "return (x - x.logsumexp(1, true)).exp();")),
    right((WHOLE, "x = x - x.amax(1, true);\n  return x.exp() / x.exp().sum(1, true);")),
    right((WHOLE, "auto e = (x.t() - x.amax(1)).exp();\n  return (e / e.sum(0, true)).t().contiguous();")),
    wrong("'row_softmax/", (EXP, "x.exp() /* - x.amax(1, true) */")),
    wrong("'row_softmax/", (EXP, "x.clamp_max(80).exp()")),
    wrong("'row_softmax/", (EXP, "(x - x.mean(1, true)).exp()")),
    wrong("'row_softmax/", (EXP, "(x - 100).exp()")),
    wrong("'row_softmax/", (EXP, "(x - x.amax(0, true)).exp()")),
    wrong("'row_softmax/", (EXP, "(x - x.amax()).exp()")),
    wrong("'row_softmax/", (EXP, "(x - x.amin(1, true)).exp()")),
    wrong("'row_softmax/", (EXP, "x.exp().nan_to_num()")),
    wrong("'row_softmax/", (EXP, "(x - x.amax(1)).exp()")),
    wrong("'row_softmax/", (EXP, "(x - x.amax(1, true)).exp2()")),
]  # fmt: skip

WHO = "threadIdx.x <= stride"
LECTURE = [
    right((WHO, "threadIdx.x < stride")),
    right((WHO, "threadIdx.x <= stride - 1")),
    right((WHO, "int(threadIdx.x) < stride")),
    right((WHO, "stride > threadIdx.x")),
    right((WHO, "!(threadIdx.x >= stride)")),
    right((WHO, "threadIdx.x + stride < 2 * stride")),
    right((WHO, "threadIdx.x / stride == 0")),
    right((WHO, "(threadIdx.x & (128 - stride)) == 0")),
    right((WHO, "threadIdx.x < 64 && threadIdx.x < stride")),
    right(
        (
            f"if ({WHO}) part[threadIdx.x] += part[threadIdx.x + stride];",
            "if (threadIdx.x < stride) {\n      float other = part[threadIdx.x + stride];\n      part[threadIdx.x] += other;\n    }",
        )
    ),
    wrong("'block_total/", (WHO, "threadIdx.x <= stride /* < */")),
    wrong("'block_total/", (WHO, "threadIdx.x < 64")),
    wrong("'block_total/", (WHO, "threadIdx.x < stride - 1")),
    wrong("'block_total/", (WHO, "threadIdx.x < stride / 2")),
    wrong("'block_total/", (WHO, "threadIdx.x > stride")),
    wrong("'block_total/", (WHO, "threadIdx.x != stride")),
    wrong("'block_total/", (WHO, "threadIdx.x < 2 * stride")),
    wrong("'block_total/", (WHO, "threadIdx.x < stride"), ("    __syncthreads();\n", "")),
    wrong("'block_total/", (WHO, "threadIdx.x < stride"), ("stride > 0", "stride > 1")),
    wrong("'block_total/", (WHO, "threadIdx.x < stride"), ("int stride = 64", "int stride = 32")),
]  # fmt: skip

G, WHOLE_G = "g * scale;", "g * scale - x * scale.pow(3) * (g * x).mean(1, true);"
RMS = [
    right((G, WHOLE_G)),
    right((G, "scale * (g - x * scale.square() * (g * x).mean(1, true));")),
    right((G, "g * scale - (g * x).mean(1, true) * scale * scale * scale * x;")),
    right((G, "g * scale - x * scale.pow(3) * (g * x).sum(1, true) / x.size(1);")),
    right((G, "g * scale - x * torch::pow(scale, 3) * (x * g).mean(-1, true);")),
    right((G, "g * scale - x * scale.pow(3) * (g * x).mean(1).unsqueeze(1);")),
    right((G, "torch::addcmul(g * scale, x * scale.pow(3), (g * x).mean(1, true), -1);")),
    right((G, "g * scale;\n  d_x = d_x - x * scale.pow(3) * (g * x).mean(1, true);")),
    right((G, "scale * g - (x * scale) * ((x * scale) * g).mean(1, true) * scale;")),
    right((G, "(g - (x * scale).mul((g * x * scale).mean(1, true))).mul(scale);")),
    wrong("'rms/", (G, "g * scale;  // - x * scale.pow(3)")),
    wrong("'rms/", (G, WHOLE_G.replace("scale - x", "scale + x"))),
    wrong("'rms/", (G, WHOLE_G.replace("pow(3)", "pow(2)"))),
    wrong("'rms/", (G, WHOLE_G.replace("mean", "sum"))),
    wrong("'rms/", (G, WHOLE_G.replace("mean(1, true)", "mean()"))),
    wrong("'rms/", (G, WHOLE_G.replace("mean(1, true)", "mean(0, true)"))),
    wrong("'rms/", (G, WHOLE_G.replace("mean(1, true)", "mean(1)"))),
    wrong("'rms/", (G, WHOLE_G.replace("(g * x)", "(d_y * x)"))),
    wrong("'rms/", (G, WHOLE_G.replace("- x *", "-"))),
    wrong("'rms/", (G, WHOLE_G), ("d_y * x * scale", "d_y * x")),
]  # fmt: skip

SNIPPETS = {
    "16.1": (("softmax_source", "row_softmax", "found"), "stable", SOFTMAX),
    "16.2": (("sum_source", "block_total", "lecture"), "mended", LECTURE),
    "16.3": (("norm_source", "rms", "pair"), "whole", RMS),
}


def light(base: li.Kernel) -> li.Kernel:
    """Include what a text needs, and not all of torch, which takes ten seconds to compile."""
    heads = {"cpp": "#include <ATen/ATen.h>\n", "cuda": "#include <ATen/core/Tensor.h>\n#include <ATen/ops/zeros.h>\n"}
    texts = {
        kind: heads[kind] + text.replace("#include <torch/extension.h>", "").replace("torch::", "at::")
        for kind, text in base.sources.items()
        if kind in heads and text.strip()
    }
    return base.replace(**texts)


@pytest.mark.parametrize(
    ("exercise", "number"),
    [(name, number) for name, (*_, answers) in SNIPPETS.items() for number in range(len(answers))],
)
def test_snippets(exercise: str, number: int) -> None:
    """The same of snippets that somebody has brought."""
    wanted, name, answers = SNIPPETS[exercise]
    changes, said = answers[number]
    names = taught(exercise, *wanted, torch=torch, li=li)
    base = light(names[wanted[-1]])
    try:
        answer = base
        for old, new in changes:
            answer = answer.edit(old.replace("torch::", "at::"), new.replace("torch::", "at::"))
        verdict = judge(exercise, **{wanted[-1]: base, name: answer})
    finally:
        forget(base.op)
    assert verdict.ok == (not said) and verdict.text.startswith(said), (changes, verdict)
