"""Strings in, one compilable text out.

A rendered text is a complete C++ file: headers, `#define`s for the params, the user's text behind a `#line`
directive (so that every message counts in the user's own string), and the binding that registers it with PyTorch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Template

from .errors import TemplateError
from .registry import BINDINGS, Kernel, Op
from .shapes import Dim
from .signature import Interface, backward_arguments, cpp_type, examine

# Without OpenMP (clang's would bring a second pool of threads, which spin against torch's and make a kernel ten times
# slower) `at::parallel_for` would be serial: let it run on torch's own threads.
_PARALLEL = """\
#if !defined(_OPENMP) && !defined(INTRA_OP_PARALLEL)
#define INTRA_OP_PARALLEL
#include <c10/util/Exception.h>
#include <torch/csrc/stable/c/shim.h>
namespace at::internal {
template <class F> void invoke_parallel(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
  const auto call = [](int64_t first, int64_t last, void* g) { (*static_cast<const F*>(g))(first, last); };
  TORCH_CHECK(!torch_parallel_for(begin, end, grain_size, call, const_cast<F*>(&f)), "an exception was thrown in at::parallel_for");
}
}  // namespace at::internal
#endif
"""


def _includes(*headers: str) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


#: What each kind of kernel starts with; exactly this is in its precompiled header. It stands in the rendered text too, so
#: that a text means the same with that header and without.
PRELUDE = {
    "aten": _PARALLEL + _includes("ATen/ATen.h", "ATen/Parallel.h", "ATen/cpu/vec/vec.h", "torch/library.h", "array", "tuple"),
    "stable": _includes("torch/csrc/stable/library.h", "torch/csrc/stable/ops.h", "torch/csrc/stable/tensor.h", "array", "cmath", "sstream", "tuple"),
    "pybind11": _includes("torch/extension.h", "array", "tuple"),
}

#: The macro that holds a build's namespace (or module name). `load_inline`, `load` and setuptools all define it.
NAMESPACE = "TORCH_EXTENSION_NAME"

_DTYPES = {"float32": "Float", "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}


@dataclass(frozen=True)
class Rendered:
    """A complete C++ text.

    Attributes:
        text: the file that is compiled.
        prelude: key of the headers it starts with.
        sources: text as the user wrote it, by the name that its `#line` directive gives it.
        interface: what `forward` and `backward` look like.
    """

    text: str
    prelude: str
    sources: dict[str, str]
    interface: Interface


def render(kernel: Kernel, op: Op) -> Rendered:
    """Render a kernel's templates into one C++ text.

    Args:
        kernel: with a `cpp` text.
        op: what it computes; the binding is generated from its schema and shapes.

    Raises:
        TemplateError: a slot without a value, a value without a slot, or a stray `$`.

    Example:
        >>> from lltm_inline.registry import registry
        >>> rendered = render(registry["lltm/fused"], registry.ops["lltm"])
        >>> '#line 1 "lltm/fused"' in rendered.text
        True
    """
    prelude = "stable" if kernel.api == "stable" else "pybind11" if kernel.binding == "pybind11" else "aten"
    body = _fill(kernel, "cpp", kernel.name)
    interface = examine(kernel, op, body)
    binding_name = f"{kernel.name} (binding)"
    if kernel.binding in BINDINGS:
        binding_text = generate_binding(kernel, op, interface) if not interface.problems else ""
        binding = f'#line 1 "{binding_name}"\n{binding_text}'
    else:
        binding_text = kernel.binding
        binding = _fill(kernel, "binding", binding_name)
    _refuse_unused(kernel)
    lines = [f"// Kernel {kernel.name}, rendered by lltm_inline: a complete file, compile it as it is."]
    lines += [f"#ifndef {NAMESPACE}", f"#define {NAMESPACE} {kernel.op}_{kernel.variant}", "#endif"]
    lines += [PRELUDE[prelude].rstrip("\n")]
    lines += [f"#define {name} {_number(value)}" for name, value in sorted(kernel.params.items())]
    text = "\n".join([*lines, body.rstrip("\n"), binding.rstrip("\n"), ""])
    return Rendered(text, prelude, {kernel.name: kernel.cpp, binding_name: binding_text}, interface)


def _number(value: int | float) -> str:
    return str(int(value)) if isinstance(value, bool | int) else repr(float(value))


class _Slots(Template):
    idpattern = r"[A-Za-z_][A-Za-z0-9_]*"
    flags = re.RegexFlag(0)


def _fill(kernel: Kernel, kind: str, name: str) -> str:
    """Put the slots into one source, with `#line` directives that keep the user's own line numbers."""
    out = [f'#line 1 "{name}"']
    for number, line in enumerate(getattr(kernel, kind).split("\n"), 1):
        try:
            filled = _Slots(line).substitute(kernel.slots)
        except KeyError as error:
            known = ", ".join(f"${slot}" for slot in kernel.slots) or "none"
            raise TemplateError(
                f"kernel {kernel.label!r}, {kind} line {number}: slot ${error.args[0]} has no value. Slots: {known}. "
                f"Give it with replace(slots={{{error.args[0]!r}: ...}}), or write $$ for a dollar sign"
            ) from None
        except ValueError:
            raise TemplateError(
                f"kernel {kernel.label!r}, {kind} line {number}: a '$' that starts no slot; write $$ for a dollar sign"
            ) from None
        out.append(filled)
        if "\n" in filled:
            out.append(f'#line {number + 1} "{name}"')
    return "\n".join(out)


def _refuse_unused(kernel: Kernel) -> None:
    text = "\n".join(kernel.sources.values())
    unused = [slot for slot in kernel.slots if not re.search(rf"\$(?:{slot}\b|\{{{slot}\}})", text)]
    if unused:
        raise TemplateError(f"kernel {kernel.label!r}: no source uses ${', $'.join(unused)}")


def generate_binding(kernel: Kernel, op: Op, interface: Interface) -> str:
    """Write the C++ that registers a kernel's `forward` and `backward` with PyTorch.

    Raises:
        KeyError: `kernel.binding` names no generated binding.
    """
    if kernel.binding == "pybind11":
        return _pybind11_binding(kernel, interface)
    return _stable_binding(kernel, op, interface) if kernel.api == "stable" else _library_binding(kernel, op, interface)


def schemas(kernel: Kernel, op: Op, interface: Interface) -> dict[str, str]:
    """Return the operator schemas under which a kernel is registered: `forward`, `backward` and the differentiable `call`."""

    def returns(count: int) -> str:
        return "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"

    signature = op.signature
    inputs = ", ".join(map(str, signature.inputs))
    schema = {
        "forward": f"forward({inputs}) -> {returns(len(signature.outputs) + interface.extras)}",
        "call": f"call({inputs}) -> {returns(len(signature.outputs))}",
    }
    if interface.has_backward:
        taken = [f"{argument.type} {argument.name}" for argument in backward_arguments(kernel, op, interface.extras)]
        taken += [f"bool want_{argument.name}" for argument in signature.tensors]
        schema["backward"] = f"backward({', '.join(taken)}) -> {returns(len(signature.tensors))}"
    return schema


# A boxed registration: the dispatcher hands over a stack of values and takes one back. torch's own unboxed wrapper
# does the same from templates, and costs a third of the compile time of a whole kernel.
_LIBRARY_BINDING = """\
// Generated from the schema of op '$op'. To write your own: kernel.replace(binding=...).
namespace {

$checks
void boxed_forward(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const c10::IValue* in = stack->data() + stack->size() - $inputs;
  $check_call
  auto out = ::forward($forward_arguments);
  stack->resize(stack->size() - $inputs);
  $forward_results
}
$backward
TORCH_LIBRARY_FRAGMENT($namespace, m) {
  m.def("$forward_schema");
  m.impl("forward", torch::dispatch($key, torch::CppFunction::makeFromBoxedFunction<&boxed_forward>()));
$register_backward}

}  // namespace
"""

_LIBRARY_BACKWARD = """
void boxed_backward(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
  const c10::IValue* in = stack->data() + stack->size() - $taken;
  auto out = ::backward($backward_arguments);
  stack->resize(stack->size() - $taken);
  $backward_results
}
"""


def _library_binding(kernel: Kernel, op: Op, interface: Interface) -> str:
    signature = op.signature
    schema = schemas(kernel, op, interface)
    # A kernel without `backward` differentiates through ATen, so it is registered above autograd.
    key = "c10::DispatchKey::CPU" if interface.has_backward else "c10::DispatchKey::CompositeImplicitAutograd"
    backward = register = ""
    if interface.has_backward:
        arguments = backward_arguments(kernel, op, interface.extras)
        count = len(signature.tensors)
        wanted = ", ".join(f"in[{len(arguments) + index}].toBool()" for index in range(count))
        taken = [_unbox(argument.type, index) for index, argument in enumerate(arguments)]
        backward = Template(_LIBRARY_BACKWARD).substitute(
            taken=len(arguments) + count,
            backward_arguments=", ".join([*taken, f"std::array<bool, {count}>{{{wanted}}}"]),
            backward_results=_box("out", count),
        )
        register = (
            f'  m.def("{schema["backward"]}");\n  m.impl("backward", torch::dispatch(c10::DispatchKey::CPU, '
            "torch::CppFunction::makeFromBoxedFunction<&boxed_backward>()));\n"
        )
    return Template(_LIBRARY_BINDING).substitute(
        op=op.name,
        namespace=NAMESPACE,
        checks=_input_checks(kernel, op),
        check_call=f"check_inputs({', '.join(_unbox(a.type, i) for i, a in enumerate(signature.inputs) if a.is_tensor)});",
        inputs=len(signature.inputs),
        forward_arguments=", ".join(_unbox(argument.type, index) for index, argument in enumerate(signature.inputs)),
        forward_results=_box("out", len(signature.outputs) + interface.extras),
        forward_schema=schema["forward"],
        key=key,
        backward=backward,
        register_backward=register,
    )


def _unbox(type_: str, index: int) -> str:
    method = {"Tensor": "toTensor", "Tensor?": "toOptional<at::Tensor>", "float": "toDouble", "int": "toInt", "bool": "toBool"}
    return f"in[{index}].{method[type_]}()"


def _box(result: str, count: int) -> str:
    if count == 1:
        return f"stack->emplace_back(std::move({result}));"
    return "\n  ".join(f"stack->emplace_back(std::move(std::get<{index}>({result})));" for index in range(count))


# STD_TORCH_CHECK of the stable headers would put its function, file and line in front of the message.
_REQUIRE = """\
template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (ok) return;
  std::ostringstream message;
  (message << ... << parts);
  throw std::runtime_error(message.str());
}

"""

_CHECKS = """\
[[noreturn, gnu::cold, gnu::noinline]] void refuse(const char* name, const $tensor& tensor, const char* want, std::initializer_list<int64_t> sizes) {
  std::string has, wanted;
  for (int64_t i = 0; i < tensor.dim(); ++i) has += (i ? ", " : "") + std::to_string(tensor.size(i));
  for (const int64_t size : sizes) wanted += (wanted.empty() ? "" : ", ") + std::to_string(size);
  $check(false, "$kernel: ", name, " has shape (", has, "), want ", want, wanted.empty() ? "" : " = (" + wanted + ")");
  std::abort();
}

void same_kind(const char* name, const $tensor& tensor, const $tensor& first) {
  $check(tensor.device() == first.device(), "$kernel: ", name, " is on another device than $first");
  $check(tensor.scalar_type() == first.scalar_type(), "$kernel: ", name, " is ", $dtype_name(tensor.scalar_type()), ", but $first is ", $dtype_name(first.scalar_type()));
}

void check_inputs($parameters) {
  $check($first.is_cpu(), "$kernel: $first is not on the CPU");
  const auto dtype = $first.scalar_type();
  $check($dtype_test, "$kernel: $first is ", $dtype_name(dtype), ", want $dtype_words");
$ranks
$letters
$shapes
}
"""


def _input_checks(kernel: Kernel, op: Op) -> str:
    """Write `check_inputs`: device, dtype, rank and extent of every tensor, against the op's shapes."""
    tensors = op.signature.tensors
    required = [argument for argument in tensors if argument.type == "Tensor"]
    first = required[0].name
    stable = kernel.api == "stable"
    checks = _REQUIRE + _CHECKS if stable else _CHECKS
    tensor = "torch::stable::Tensor" if stable else "at::Tensor"
    scalar = "torch::headeronly::ScalarType" if stable else "at::ScalarType"
    sources: dict[str, str] = {}
    ranks, shapes = [], []
    for argument in tensors:
        name, shape = argument.name, op.shape_of[argument.name]
        value = name if argument.type == "Tensor" else f"(*{name})"
        guard = "" if argument.type == "Tensor" else f"if ({name}.has_value()) "
        same = "" if name == first else f'{guard}same_kind("{name}", {value}, {first});\n  '
        ranks.append(f'  {same}{guard}if ({value}.dim() != {len(shape.dims)}) refuse("{name}", {value}, "{shape}", {{}});')
        for axis, dim in enumerate(shape.dims):
            if dim.letter and argument.type == "Tensor":
                sources.setdefault(dim.letter, f"{name}.size({axis})")
        test = " || ".join(f"{value}.size({axis}) != {_extent(dim)}" for axis, dim in enumerate(shape.dims))
        extents = ", ".join(_extent(dim) for dim in shape.dims)
        shapes.append(f'  {guard}if ({test}) refuse("{name}", {value}, "{shape}", {{{extents}}});')
    return Template(checks).substitute(
        kernel=kernel.name,
        tensor=tensor,
        check="require" if stable else "TORCH_CHECK",
        first=first,
        parameters=", ".join(f"{cpp_type(argument, kernel.api)} {argument.name}" for argument in tensors),
        dtype_name="torch::headeronly::toString" if stable else "",
        dtype_test=" || ".join(f"dtype == {scalar}::{_DTYPES[dtype]}" for dtype in op.dtypes),
        dtype_words=" or ".join(_DTYPES[dtype] for dtype in op.dtypes),
        ranks="\n".join(ranks),
        letters="  const int64_t " + ", ".join(f"{letter} = {sources[letter]}" for letter in op.letters) + ";",
        shapes="\n".join(shapes),
    )


def _extent(dim: Dim) -> str:
    terms = [letter if count == 1 else f"{count} * {letter}" for letter, count in dim.terms]
    if dim.constant or not terms:
        terms.append(str(dim.constant))
    return " + ".join(terms)


_STABLE_BINDING = """\
// Generated from the schema of op '$op' for LibTorch's stable ABI. To write your own: kernel.replace(binding=...).
namespace {
using torch::stable::detail::from;
using torch::stable::detail::to;

$checks
void boxed_forward(StableIValue* stack, uint64_t, uint64_t) {
  $unpack
  check_inputs($tensors);
  auto out = ::forward($names);
  $forward_results
}
$backward
STABLE_TORCH_LIBRARY_FRAGMENT($namespace, m) {
  m.def("$forward_schema");
$define_backward}

STABLE_TORCH_LIBRARY_IMPL($namespace, $key, m) {
  m.impl("forward", &boxed_forward);
$register_backward}

}  // namespace
"""


def _stable_binding(kernel: Kernel, op: Op, interface: Interface) -> str:
    signature = op.signature
    schema = schemas(kernel, op, interface)
    backward = define = register = ""
    key = "CPU" if interface.has_backward else "CompositeImplicitAutograd"  # above autograd, as in the other binding
    if interface.has_backward:
        arguments = backward_arguments(kernel, op, interface.extras)
        count = len(signature.tensors)
        wanted = ", ".join(f"to<bool>(stack[{len(arguments) + index}])" for index in range(count))
        backward = (
            f"\nvoid boxed_backward(StableIValue* stack, uint64_t, uint64_t) {{\n  {_stable_unpack(arguments)}\n"
            f"  const std::array<bool, {count}> wanted{{{wanted}}};\n"
            f"  auto out = ::backward({', '.join(argument.name for argument in arguments)}, wanted);\n"
            f"  {_stable_box(count)}\n}}\n"
        )
        define = f'  m.def("{schema["backward"]}");\n'
        register = '  m.impl("backward", &boxed_backward);\n'
    return Template(_STABLE_BINDING).substitute(
        op=op.name,
        namespace=NAMESPACE,
        checks=_input_checks(kernel, op),
        unpack=_stable_unpack(signature.inputs),
        tensors=", ".join(argument.name for argument in signature.tensors),
        names=", ".join(argument.name for argument in signature.inputs),
        forward_results=_stable_box(len(signature.outputs) + interface.extras),
        forward_schema=schema["forward"],
        backward=backward,
        define_backward=define,
        key=key,
        register_backward=register,
    )


def _stable_unpack(arguments: tuple) -> str:  # type: ignore[type-arg]
    types = {
        "Tensor": "torch::stable::Tensor",
        "Tensor?": "std::optional<torch::stable::Tensor>",
        "float": "double",
        "int": "int64_t",
        "bool": "bool",
    }
    return "\n  ".join(f"const auto {a.name} = to<{types[a.type]}>(stack[{i}]);" for i, a in enumerate(arguments))


def _stable_box(count: int) -> str:
    if count == 1:
        return "stack[0] = from(out);"
    return "\n  ".join(f"stack[{index}] = from(std::get<{index}>(out));" for index in range(count))


def _pybind11_binding(kernel: Kernel, interface: Interface) -> str:
    """Write the classic binding of the tutorials, as `load_inline(functions=...)` would, docstrings escaped."""
    doc = kernel.doc.strip().partition("\n")[0].replace("\\", "\\\\").replace('"', '\\"')
    lines = [f'  m.def("forward", torch::wrap_pybind_function(forward), "{doc}");']
    if interface.has_backward:
        lines.append('  m.def("backward", torch::wrap_pybind_function(backward), "gradients of forward");')
    return "// Generated: the classic pybind11 binding.\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n" + "\n".join(lines) + "\n}\n"
