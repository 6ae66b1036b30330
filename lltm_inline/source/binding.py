"""The C++ that registers a kernel's `forward` and `backward` with PyTorch, written from the op's schema and shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template

from .. import native
from ..base.arguments import plural
from ..base.device import Device
from ..model.registry import Argument, Kernel, Op
from ..model.shapes import Dim, Formula, Shape
from .custom_classes import NAMESPACE
from .signature import Interface, backward_arguments, cpp_type
from .types import CPP_DTYPES, PLAIN, TENSOR, item_of


def generate_binding(
    kernel: Kernel,
    op: Op,
    interface: Interface,
    device: Device,
    library: str,
    package: str = "",
    declared: Sequence[str] = (),
) -> str:
    """Write the C++ that registers a kernel's `forward` and `backward` with PyTorch, for tensors on `device`.

    Args:
        kernel, op, interface, device: what is bound, and where it runs.
        library: how C++ spells the name under which it is registered.
        package: of an export: the namespace of its operators, and of its functions, `PACKAGE::DEVICE`.
        declared: the schemas of its operators for `forward` and `backward`, which have other names there.

    Raises:
        KeyError: `kernel.binding` names no generated binding.
    """
    if kernel.binding == "pybind11":
        return _pybind11_binding(kernel, op, interface, device)
    signature = op.signature
    spelled = schemas(kernel, op, interface)
    functions = ["forward"]
    own = [f"{package}::{device.name}::{name}" if package else name for name in kernel.functions]
    backward = ""
    taken: tuple[Argument, ...] = ()
    extras = [Argument("", "Tensor")] * interface.extras
    if interface.has_backward:
        functions.append("backward")
        taken = backward_arguments(kernel, op, interface)
        count = len(op.gradients)
        single = next((argument.name for argument in taken if argument.type == "Tensor"), "")
        wanted = ", ".join(f"stack_[{len(taken) + index}] != 0" for index in range(count))
        raw = _dispatch_key(kernel, interface, "backward", device) != "CompositeImplicitAutograd"
        # Hooks on saved tensors may give back what forward packed with other strides.
        packed = [a.name for a in taken[len(signature.outputs) :] if a not in signature.inputs] if raw else []
        backward = (
            f"\nvoid boxed_backward(StableIValue* stack_, uint64_t, uint64_t) {{\n{_unpack(taken, packed)}\n{_guard(single, device)}"
            f"  const std::array<bool, {count}> wanted_{{{wanted}}};\n"
            f"  auto out_ = {_call(own[1], [*taken, Argument('wanted_', '')], 'wanted_', device)};\n"
            f"{_box(taken, (), [Argument('', 'Tensor')] * count, raw, kernel.functions[1] * ('backward' in interface.lists))}\n}}\n"
        )
    listed = kernel.functions[0] * ("forward" in interface.lists)
    schema = dict(zip(functions, declared or [spelled[name] for name in functions], strict=True))
    return _part(
        "binding",
        op=op.name,
        hint="" if package else " To write your own: kernel.replace(binding=...).",
        namespace=package or NAMESPACE,
        library=library,
        includes="#include <torch/csrc/stable/c/shim.h>\n"
        * any("[" in a.type or "str" in a.type for a in signature.inputs),
        checks=_input_checks(kernel, op, interface, device, op.name if package else kernel.name),
        convert=_conversions(kernel, op, interface, (*signature.inputs, *taken)),
        forward=_call(own[0], signature.inputs, _every(signature.outputs), device),
        forward_unpack=_unpack(signature.inputs),
        narrow=narrow_checks(interface),
        guard=_guard(op.first.told, device),
        changed=_changed(signature.changed) if package else "",  # in the playground the bridge does it
        out="auto out_ = " * bool(signature.outputs or extras),
        tensors=", ".join(argument.name for argument in signature.inputs if argument.name in op.shapes),
        forward_box=_box(signature.inputs, signature.outputs, extras, not interface.through_aten, listed),
        backward=backward,
        define="\n".join(
            f"  check(aoti_torch_library_def(library, {json.dumps(schema[name])}));" for name in functions
        ),
        implement="\n".join(
            f'  implement("{_dispatch_key(kernel, interface, name, device)}", "{schema[name].partition("(")[0]}", &boxed_{name});'
            for name in functions
        ),
    )


def schemas(kernel: Kernel, op: Op, interface: Interface, taken: Sequence[Argument] | None = None) -> dict[str, str]:
    """Return the operator schemas under which a kernel is registered: `forward`, `backward` and the differentiable `call`.

    Args:
        kernel, op, interface: as they are.
        taken: what `backward` takes before the flags, where extra tensors have names of their own.
    """

    def returns(outputs: Sequence[Argument], more: int) -> str:
        types = [f"Tensor({output.alias})" if output.alias else output.type for output in outputs] + ["Tensor"] * more
        return types[0] if len(types) == 1 else f"({', '.join(types)})"

    signature = op.signature
    inputs = ", ".join(argument.declaration for argument in signature.inputs)
    schema = {
        "forward": f"forward({inputs}) -> {returns(signature.outputs, interface.extras)}",
        "call": f"call({inputs}) -> {returns(signature.outputs, 0)}",
    }
    if interface.has_backward:
        arguments = backward_arguments(kernel, op, interface) if taken is None else taken
        spelled = [f"{argument.type} {argument.name}" for argument in arguments]
        spelled += [f"bool want_{argument.name}" for argument in op.gradients]
        schema["backward"] = f"backward({', '.join(spelled)}) -> {returns((), len(op.gradients))}"
    return schema


@dataclass(frozen=True)
class InputCheck:
    """What the C++ around a kernel asks of one tensor among its inputs.

    Attributes:
        name: of the input.
        optional: it may be missing.
        many: it is a list of tensors, each of which is looked at.
        shape: what its shape must be.
        dtype: what it must be made of; empty for what the first is made of that has no dtype in the schema.
        told: how C++ spells the tensor that tells what the others must be like: of a list its first.
        tells: the letters of the op's shapes that are read off that tensor, each with its axis.
        alike: it may have any shape, which must be that of the first tensor of which this is true.
    """

    name: str
    optional: bool
    many: bool
    shape: Shape
    dtype: str
    told: str
    tells: Mapping[str, int]
    alike: bool


def input_checks(op: Op) -> tuple[InputCheck, ...]:
    """Say what is asked of each tensor input: a letter is what the first tensor that must be there says it is.

    Example:
        >>> from ..model.registry import registry
        >>> [(check.name, dict(check.tells)) for check in input_checks(registry.ops["lltm"])][:2]
        [('input', {'B': 0, 'F': 1}), ('weights', {})]
    """
    checks = []
    known: set[str] = set()
    for a in op.signature.inputs:
        if a.name not in op.shapes:
            continue
        shape, tells = op.shape_of[a.name], dict[str, int]()
        if a in op.required and not shape.any_rank:
            for axis, dim in enumerate(shape.dims):
                if dim.letter and dim.letter not in known | {*tells}:
                    tells[dim.letter] = axis
        known |= {*tells}
        alike = shape.any_rank and (a.is_list or a.name != op.any_rank[0])
        checks.append(InputCheck(a.name, a.type == "Tensor?", a.is_list, shape, a.dtype, a.told, tells, alike))
    return tuple(checks)


def refuses_negated(kernel: Kernel, op: Op) -> bool:
    """Tell whether lazily negated views have to be refused: the dispatcher resolves them, texts for complex numbers know of them.

    `x.conj().imag` is one.
    """
    return kernel.binding == "pybind11" and not any(dtype.startswith("complex") for dtype in op.dtypes)


#: What takes values from the stack, with how the types of arguments end that need it; one may need those before it.
_TAKE = {"number": ("float", "int", "bool", "ScalarType"), "text": ("str",), "optional": ("?",), "list": ("[]",)}


#: Read here: where a lab's kernel runs, no file can be read any more.
_PARTS = native.parts("binding.cpp", __package__)


def _part(name: str, /, **words: object) -> str:
    """Fill in a part of `binding.cpp`."""
    return Template(_PARTS[name]).substitute(words)


def _changed(arguments: Sequence[Argument]) -> str:
    """Let autograd see that inputs were changed."""
    bump = "if (!{0}.is_inference()) {0}.unsafeGetTensorImpl()->bump_version();  // so autograd sees the change\n"
    loop = "  for (const at::Tensor& one_ : {0}) "
    return "".join(
        loop.format(argument.name) + bump.format("one_") if argument.is_list else f"  {bump.format(argument.name)}"
        for argument in arguments
    )


def _call(function: str, arguments: Sequence[Argument], wanted: str, device: Device) -> str:
    """Call a function of the text; on a device that looks at what it returns, at the parts that somebody wants."""
    call = f"::{function}({', '.join(argument.name for argument in arguments)})"
    return f'{device.returned}({call}, "{function}", {wanted})' if device.returned and wanted else call


def _every(outputs: Sequence[Argument]) -> str:
    """Say that all outputs are wanted; what is returned behind them is for `backward` alone."""
    return f"std::array{{{', '.join(['true'] * len(outputs))}}}" if outputs else ""


def narrow_checks(interface: Interface) -> str:
    """Refuse integers that do not fit into what `forward` takes."""
    return "".join(
        f'  if ({name} != static_cast<int32_t>({name})) fail("{name}", " is ", std::to_string({name}).c_str(), ", want 32 bits");\n'
        for name in interface.narrow
    )


def _dispatch_key(kernel: Kernel, interface: Interface, name: str, device: Device) -> str:
    """Say where a function is registered: what differentiates through ATen stands above autograd."""
    through_aten = kernel.double_backward if name == "backward" else interface.through_aten
    return "CompositeImplicitAutograd" if through_aten else device.tensors.upper()


def _guard(first: str, device: Device) -> str:
    """Make the device of a tensor the current one while a CUDA kernel runs; on the CPU there is but one."""
    return f"  const c10::OptionalDeviceGuard device_(at::device_of({first}));\n" if first and device.needs_gpu else ""


def _memory(kernel: Kernel, optional: bool, capacity: int) -> str:
    """Return the class that gives each result memory of its own."""
    words = {"tensor": TENSOR[kernel.api], "contiguous": "result.contiguous()", "clone": "result.clone()"}
    if kernel.api == "stable":
        words["contiguous"] = "result.is_contiguous() ? result : torch::stable::contiguous(result)"
        words["clone"] = "torch::stable::clone(result)"
    memory = _part(f"memory_of {kernel.api}") + _part("memory_of optional", **words) * optional
    return _part("packed", memory=memory, capacity=capacity, **words)


def _conversions(kernel: Kernel, op: Op, interface: Interface, arguments: Sequence[Argument]) -> str:
    """Return the functions that turn the dispatcher's values into C++ ones and back, those that are used."""
    types = {argument.type for argument in arguments}
    items = set(map(item_of, types))
    parts = [_part(f"convert {kernel.api}")]
    fresh = any(output.is_tensor and not output.alias for output in op.signature.outputs)
    if interface.has_backward or (fresh and not interface.through_aten):
        # What forward or backward takes, and what it returns: at most outputs and extra tensors, or a gradient for each input.
        capacity = 2 * len(arguments) + len(op.signature.outputs) + interface.extras
        parts.append(_memory(kernel, "Tensor?" in types, capacity))
    parts += [_part(f"take {what}") for what, ends in _TAKE.items() if any(one.endswith(ends) for one in items | types)]
    if any(not output.is_tensor for output in op.signature.outputs):
        parts.append(_part("give number"))
    return "\n".join(parts)


def _unpack(arguments: Sequence[Argument], packed: Sequence[str] = ()) -> str:
    """Take the arguments from the stack; those in `packed` are made contiguous if they are not."""
    lines = []
    for index, argument in enumerate(arguments):
        item, value = item_of(argument.type), f"stack_[{index}]"
        take = {"Tensor": "take_", "str": "text_"}.get(item) or f"number_<{PLAIN[item]}>"
        if item == "ScalarType":
            value = f"static_cast<at::ScalarType>(number_<int32_t>({value}))"
        elif item == argument.type:
            value = f"{take}({value})"
        else:
            value = f"{'optional_' if argument.type.endswith('?') else 'list_'}({value}, {take})"
        lines.append(f"  auto {argument.name} = {f'dense_({value})' if argument.name in packed else value};")
    return "\n".join(lines)


def _box(
    taken: Sequence[Argument], outputs: Sequence[Argument], others: Sequence[Argument], raw: bool, listed: str
) -> str:
    """Write the results back: outputs as they are, the others in memory of their own, unless tracers look inside.

    Args:
        taken: what the function took.
        outputs, others: what it returns.
        raw: whether tracers look no further.
        listed: its name, where it returns a list.
    """
    every = (*outputs, *others)
    lines = []
    if listed:
        want = plural(len(every), "tensor")
        lines.append(
            f'  if (out_.size() != {len(every)}) fail("{listed} returned " + std::to_string(out_.size()) + " tensors, want {want}");'
        )
    fresh = raw and any(result.is_tensor and not result.alias for result in every)
    if fresh:
        arguments = ", ".join(f"memory_of({argument.name})" for argument in taken if argument.is_tensor)
        lines.append(f"  Memory_ memory_{{{arguments}}};")
    for index, result in enumerate(every):
        value = f"out_[{index}]" if listed else "out_" if len(every) == 1 else f"std::get<{index}>(out_)"
        if not result.is_tensor:
            value = f"bits_<{PLAIN[result.type]}>({value})"
        elif result.alias or not raw:
            value = f"give_(std::move({value}))"
        else:
            value = f"give_(memory_.{'packed' if index < len(outputs) else 'own'}({value}))"
        lines.append(f"  stack_[{index}] = {value};")
    return "\n".join(lines)


def _input_checks(kernel: Kernel, op: Op, interface: Interface, device: Device, who: str = "") -> str:
    """Write `check_inputs`: device, dtype, rank and extent of every tensor, against the op's shapes; `who` complains.

    torch.compile looks into what differentiates through ATen: extents may be symbols there, and are compared as such.
    """
    tensors = [argument for argument in op.signature.inputs if argument.name in op.shapes]
    first, tensor, stable = op.first.told, TENSOR[kernel.api], kernel.api == "stable"
    symbolic = interface.through_aten and not stable and kernel.binding != "pybind11"
    size = "sym_size" if symbolic else "size"
    number = "c10::SymInt({}).guard_int(__FILE__, __LINE__)" if symbolic else "{}"
    scalar = "torch::headeronly::ScalarType" if stable else "at::ScalarType"
    ranks, shapes = [], list[str]()
    checks = input_checks(op)
    for check in checks:
        name, shape = check.name, check.shape
        guard, value = (f"if ({name}.has_value()) ", f"(*{name})") if check.optional else ("", name)
        if check.many:
            guard, value = f"for (const {tensor}& {name}_ : {name}) ", f"{name}_"
        if check.dtype and name != first:
            ranks.append(f'  {guard}has_dtype("{name}", {value}, {first}, {scalar}::{CPP_DTYPES[check.dtype]});')
        elif name != first:
            ranks.append(f'  {guard}same_kind("{name}", {value}, {first});')
        if refuses_negated(kernel, op):
            cure = f": pass {name}.resolve_neg()"
            ranks.append(f'  {guard}if ({value}.is_neg()) fail("{name}", " is a lazily negated view", "", "{cure}");')
        if check.alike:
            shapes.append(f'  {guard}same_shape("{name}", {value}, {op.any_shape});')
        if shape.any_rank or shape.untold:
            continue
        ranks.append(f'  {guard}if ({value}.dim() != {len(shape.dims)}) refuse("{name}", {value}, "{shape}", {{}});')
        test = " || ".join(f"{value}.{size}({axis}) != {_extent(dim)}" for axis, dim in enumerate(shape.dims))
        extents = ", ".join(number.format(_extent(dim)) for dim in shape.dims)
        if test:
            shapes.append(f'  {guard}if ({test}) refuse("{name}", {value}, "{shape}", {{{extents}}});')
    sources = {letter: f"{check.told}.{size}({axis})" for check in checks for letter, axis in check.tells.items()}
    letters = ", ".join(f"size_{letter} = {sources[letter]}" for letter in op.letters if letter in sources)
    dtypes = [op.first.dtype] if op.first.dtype else op.dtypes
    words = {"tensor": tensor, "first": first, "scalar": scalar, "size": size}
    words["dtype_name"] = "torch::headeronly::toString" if stable else "c10::toString"
    lists = [argument.name for argument in op.required if argument.is_list]
    return _part(
        "checks",
        **words,
        kernel=who or kernel.name,
        # STD_TORCH_CHECK would put our file and line in front of the message.
        fail="throw std::runtime_error(message)" if stable else "TORCH_CHECK(false, message)",
        empty="".join(
            f'  if ({name}.empty()) fail("{name}", " is empty, want one Tensor at least", "", "");\n' for name in lists
        ),
        device=device.tensors,
        device_words=device.words,
        parameters=", ".join(f"{cpp_type(argument, kernel.api)} {argument.name}" for argument in tensors),
        dtype_test=" || ".join(f"dtype == {scalar}::{CPP_DTYPES[dtype]}" for dtype in dtypes),
        dtype_words=" or ".join(CPP_DTYPES[dtype] for dtype in dtypes),
        has_dtype=_part("has dtype", **words) * any("has_dtype(" in line for line in ranks),
        same_shape=_part("same shape", **words | {"first": op.any_shape}) * any(check.alike for check in checks),
        ranks="\n".join(ranks),
        letters=f"  [[maybe_unused]] const {'c10::SymInt' if symbolic else 'int64_t'} {letters};" if letters else "",
        shapes="\n".join(shapes),
    )


def _extent(dim: Dim | Formula) -> str:
    assert isinstance(dim, Dim), "an input has no formula"
    terms = [f"size_{letter}" if count == 1 else f"{count} * size_{letter}" for letter, count in dim.terms]
    if dim.constant or not terms:
        terms.append(str(dim.constant))
    return " + ".join(terms)


def _pybind11_binding(kernel: Kernel, op: Op, interface: Interface, device: Device) -> str:
    """Write the classic binding of the tutorials, as `load_inline(functions=...)` would, but with its docstrings escaped."""
    inputs = op.signature.inputs
    doc = kernel.doc.strip().partition("\n")[0].replace("\\", "\\\\").replace('"', '\\"')
    named = f"torch::wrap_pybind_function({kernel.functions[-1]})"
    backward = f'  m.def("backward", {named}, "gradients of forward");\n'
    return _part(
        "pybind11",
        checks=_input_checks(kernel, op, interface, device),
        parameters=", ".join(f"{cpp_type(argument, kernel.api)} {argument.name}" for argument in inputs),
        tensors=", ".join(argument.name for argument in inputs if argument.name in op.shapes),
        narrow=narrow_checks(interface),
        forward=_call(kernel.functions[0], inputs, _every(op.signature.outputs), device),
        doc=doc,
        backward=backward if interface.has_backward else "",
    )
