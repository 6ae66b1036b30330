"""`checks.h` of an export: what a kernel may rely on, and what torch may rely on in turn."""

from __future__ import annotations

import re

from ...shapes import Dim
from ..filling import fill
from ..plan import Plan
from .text import head, listed, parameters, tensor_type

_KINDS = {"float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}

_CHECKS = """\
@head@

#pragma once

@includes@

namespace @name@ {

@using@

@helpers@
// A kernel takes this for granted, and memory as it finds it: what does not fit must not reach it.
@check_inputs@

@own_memory@
}  // namespace @name@
"""

_INCLUDES = {
    "aten": "#include <ATen/core/Tensor.h>",
    "stable": """\
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <initializer_list>
#include <string>""",
}

_DEVICE = """\
inline void check_device(const char* name, const @tensor@& tensor) {
  @check@(tensor.is_@device@(), "@op@: ", name, " is not on @place@");
}

"""

_DTYPE = """\
inline void check_dtype(const char* name, const @tensor@& tensor) {
  const @scalar@ dtype = tensor.scalar_type();
  @check@(
      @test@,
      "@op@: ", name, " is ", @dtype@, ", want @want@");
}

"""

_SAME_KIND = """\
inline void check_kind(const char* name, const @tensor@& tensor, const @tensor@& @first@) {
  @check@(tensor.device() == @first@.device(), "@op@: ", name, " is on another device than @first@");
  @check@(
      tensor.scalar_type() == @first@.scalar_type(),
@message@
}

"""

_NEGATED = """\
inline void check_plain(const char* name, const @tensor@& tensor) {
  @check@(!tensor.is_neg(), "@op@: ", name, " is a lazily negated view: pass ", name, ".resolve_neg()");
}

"""

_TEXT_OF = """\
template <class Sizes>
std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const int64_t size : sizes) text.append(text.empty() ? "[" : ", ").append(std::to_string(size));
  return text.empty() ? "[]" : text + "]";
}

"""

_RANK = """\
inline void check_rank(const char* name, const @tensor@& tensor, int64_t rank, const char* letters) {
  @check@(tensor.dim() == rank, "@op@: ", name, " has shape ", @sizes@, ", want ", letters);
}

"""

_SHAPE = """\
inline void check_shape(const char* name, const at::Tensor& tensor, const char* letters, @array@ want) {
  TORCH_CHECK(
      @sizes@ == want,
      "@op@: ", name, " has shape ", @sizes@, ", want ", letters, " = ", want);
}

"""

_STABLE_SHAPE = """\
inline void check_shape(
    const char* name, const Tensor& tensor, const char* letters, std::initializer_list<int64_t> want) {
  const auto sizes = tensor.sizes();
  STD_TORCH_CHECK(
      std::equal(sizes.begin(), sizes.end(), want.begin(), want.end()),
      "@op@: ", name, " has shape ", text_of(sizes), ", want ", letters, " = ", text_of(want));
}

"""

_SAME_SHAPE = """\
inline void check_same_shape(const char* name, const @tensor@& tensor, const @tensor@& @first@) {
  @check@(
      tensor.@method@() == @first@.@method@(),
      "@op@: ", name, " has shape ", @sizes@, ", want that of @first@, ", @first_sizes@);
}

"""

_OWN_MEMORY = """\
// By its schema an operator returns new tensors, and torch.compile takes it at its word: it reuses their memory, and
// reads them as contiguous. So a result that shares memory with an argument or another result is copied.
@start@
  for (auto result = results.begin(); result != results.end(); ++result) {
    @tensor@& tensor = **result;
    if (!tensor.defined()) continue;
    @make_contiguous@
    bool shared = false;
    for (const @tensor@* argument : arguments) shared |= argument && share_memory(tensor, *argument);
    for (auto earlier = results.begin(); earlier != result; ++earlier) shared |= share_memory(tensor, **earlier);
    if (shared) tensor = @clone@;
  }
}

"""

_LISTS = (("", "results"), ("const ", "arguments"))

_SHARE_MEMORY = {
    "aten": """\
inline bool share_memory(const at::Tensor& tensor, const at::Tensor& other) {
  return other.defined() && other.numel() && tensor.is_alias_of(other);
}

""",
    "stable": """\
inline Tensor dense(const Tensor& tensor) {
  return tensor.is_contiguous() ? tensor : torch::stable::contiguous(tensor);
}

inline const char* storage_of(const Tensor& tensor) {
  return static_cast<const char*>(tensor.const_data_ptr()) - tensor.storage_offset() * tensor.element_size();
}

inline bool share_memory(const Tensor& tensor, const Tensor& other) {
  return other.defined() && other.numel() && storage_of(tensor) == storage_of(other);
}

""",
}


def checks_header(plan: Plan) -> str:
    """Write `checks.h`."""
    api = plan.kernel.api
    # torch.compile looks into what differentiates through ATen: extents may be symbols there.
    symbolic = not plan.interface.has_backward and plan.style == "library"
    body = _check_inputs(plan, symbolic)
    stable = api == "stable"
    own = _SHARE_MEMORY[api] + fill(
        _OWN_MEMORY,
        tensor=tensor_type(api),
        start=listed(
            "inline void own_memory(",
            [f"std::initializer_list<{const}{tensor_type(api)}*> {name}" for const, name in _LISTS],
            ") {",
        ),
        clone="torch::stable::clone(tensor)" if stable else "tensor.clone()",
        make_contiguous="tensor = dense(tensor);"
        if stable
        else "if (!tensor.is_contiguous()) tensor = tensor.contiguous();",
    )
    owns = plan.interface.has_backward and plan.style != "pybind11"
    return fill(
        _CHECKS,
        head=head(plan).rstrip("\n"),
        includes=_INCLUDES[api] + "\n\n#include <initializer_list>" * (owns and not stable),
        name=plan.name,
        using="using torch::headeronly::ScalarType;\nusing torch::stable::Tensor;" if stable else "",
        helpers=_helpers(plan, body, symbolic).rstrip("\n") + "\n",
        check_inputs=body,
        own_memory=own.rstrip("\n") + "\n" if owns else "",
    )


def _helpers(plan: Plan, body: str, symbolic: bool) -> str:
    """Write the functions that `check_inputs` calls."""
    op, stable = plan.op, plan.kernel.api == "stable"
    first = next(argument.name for argument in op.signature.tensors if argument.type == "Tensor")
    device = plan.parts[0].device
    method = "sym_sizes" if symbolic else "sizes"
    kinds = [_KINDS[dtype] for dtype in op.dtypes]
    scalar = "ScalarType" if stable else "at::ScalarType"
    sizes = "text_of({}.sizes())" if stable else f"{{}}.{method}()"
    words = {
        "op": op.name,
        "tensor": tensor_type(plan.kernel.api),
        "check": "STD_TORCH_CHECK" if stable else "TORCH_CHECK",
        "scalar": scalar,
        "test": " || ".join(f"dtype == {scalar}::{kind}" if stable else f"dtype == at::k{kind}" for kind in kinds),
        "dtype": "torch::headeronly::toString(dtype)" if stable else "dtype",
        "want": " or ".join(kinds),
        "method": method,
        "sizes": sizes.format("tensor"),
        "array": "c10::SymIntArrayRef" if symbolic else "at::IntArrayRef",
        "device": device,
        "place": {"cpu": "the CPU", "cuda": "a CUDA device"}[device],
    }
    if op.any_rank:
        words |= {"first_sizes": sizes.format(op.any_rank[0])}
    templates = {
        "check_device": _DEVICE,
        "check_dtype": _DTYPE,
        "check_kind": _SAME_KIND,
        "check_plain": _NEGATED,
        "check_rank": _RANK,
        "check_shape": _STABLE_SHAPE if stable else _SHAPE,
        "check_same_shape": _SAME_SHAPE,
    }
    called = [name for name in templates if re.search(rf"\b{name}\(", body)]
    text = ""
    for name in called:
        words["first"] = op.any_rank[0] if name == "check_same_shape" else first
        words["message"] = _unlike(op.name, first, words["dtype"])
        text += fill(templates[name], **words)
    return (_TEXT_OF if "text_of(" in text else "") + text


def _unlike(op: str, first: str, dtype: str) -> str:
    """Write the message that two dtypes differ, in one line or two."""
    own, others = (dtype.replace("dtype", f"{name}.scalar_type()") for name in ("tensor", first))
    ahead, behind = f'      "{op}: ", name, " is ", {own}, ", but {first} is ",', f"{others});"
    return f"{ahead} {behind}" if len(ahead) + len(behind) < 120 else f"{ahead}\n      {behind}"


def _check_inputs(plan: Plan, symbolic: bool) -> str:
    """Write `check_inputs`: kind, rank and extents of every tensor, against the op's shapes."""
    op = plan.op
    tensors = op.signature.tensors
    first = next(argument.name for argument in tensors if argument.type == "Tensor")
    classic = plan.style == "pybind11"
    kinds = [f'  check_device("{first}", {first});'] if classic else []
    kinds.append(f'  check_dtype("{first}", {first});')
    ranks, shapes = [], []
    sources: dict[str, str] = {}
    for argument in tensors:
        name, shape = argument.name, op.shape_of[argument.name]
        guard, value = ("", name) if argument.type == "Tensor" else (f"if ({name}) ", f"*{name}")
        if name != first:
            kinds.append(f'  {guard}check_kind("{name}", {value}, {first});')
        if classic and not any(dtype.startswith("complex") for dtype in op.dtypes):
            kinds.append(f'  {guard}check_plain("{name}", {value});')
        if shape.any_rank:
            if name != op.any_rank[0]:
                shapes.append(f'  {guard}check_same_shape("{name}", {value}, {op.any_rank[0]});')
            continue
        known = len(sources)
        for axis, dim in enumerate(shape.dims):
            if not guard and dim.letter and dim.letter not in sources:
                sources[dim.letter] = f"{name}.{'sym_size' if symbolic else 'size'}({axis})"
        if len(sources) > known:
            ranks.append(f'  {guard}check_rank("{name}", {value}, {len(shape.dims)}, "{shape}");')
        if len(sources) - known < len(shape.dims) or not shape.dims:
            extents = ", ".join(extent(dim) for dim in shape.dims)
            shapes.append(f'  {guard}check_shape("{name}", {value}, "{shape}", {{{extents}}});')
    used = {word for line in shapes for word in re.findall(r"\b[A-Z]\b", line.rpartition("{")[2])}
    letters = [f"{letter} = {source}" for letter, source in sources.items() if letter in used]
    declared = listed(f"const {'c10::SymInt' if symbolic else 'int64_t'} ", letters, ";", 2) if letters else ""
    start = listed("inline void check_inputs(", parameters(tensors, plan.kernel.api), ") {")
    return "\n".join(filter(None, [start, *kinds, *ranks, declared, *shapes, "}"]))


def extent(dim: Dim) -> str:
    """Write an extent in C++.

    Example:
        >>> extent(Dim.parse("H-K+1"))
        'H - K + 1'
    """
    text = ""
    for letter, count in dim.terms:
        term = letter if abs(count) == 1 else f"{abs(count)} * {letter}"
        if text:
            text += f" {'-' if count < 0 else '+'} {term}"
        else:
            text = f"-{term}" if count < 0 else term
    if not text:
        return str(dim.constant)
    return f"{text} {'-' if dim.constant < 0 else '+'} {abs(dim.constant)}" if dim.constant else text
