"""Short kernels of `axpy`, z = 2 x + y, that build in a second or two, and what goes wrong with them."""

from __future__ import annotations

#: Differentiates through ATen.
GOOD = r"""
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor z = at::add(y, x, 2);
  return z;
}
"""
#: What a person mistypes, and where: g++ knows what was meant. Line 7 of a cell, whose first line is `%%kernel`.
TYPO = GOOD.replace("return z;", "retrun z;")
TYPO_LINE = 7
#: Right in no element.
WRONG = GOOD.replace("y, x, 2", "y, x, 3")
#: Writes to address 0.
CRASH = GOOD.replace("  return z;", "  volatile int* nowhere = nullptr;\n  *nowhere = 1;\n  return z;")
#: Names its process, so that a test sees when it runs, and never returns.
ENDLESS = GOOD.replace(
    "  return z;", '  prctl(PR_SET_NAME, "it-happens");\n  for (volatile bool on = true; on;) {}\n  return z;'
).replace("#include <ATen/ops", "#include <sys/prctl.h>\n#include <ATen/ops")
