"""The C++ between a torch-free CUDA text and the ATen code that calls it, written from the text's launch functions.

A launch function is one at file scope whose last parameter is a `cudaStream_t`; nothing else marks it:

    template <class T>
    void cell(const T* z, T* new_cell, int64_t B, int64_t S, cudaStream_t stream) {
      cell_kernel<T><<<blocks, threads, 0, stream>>>(z, new_cell, B, S);
    }

From it follow, for every dtype of the op, a C function in the CUDA file that instantiates it and returns what CUDA says
of the launch (`cell_float`, `cell_double`), and one function of tensors in the C++ file:

    void cell(const at::Tensor& z, const at::Tensor& new_cell, int64_t B, int64_t S);

That one checks that the tensors are on one CUDA device, dense and of the right dtype, launches there on torch's current
stream, and throws CUDA's words if the launch failed. An undefined tensor becomes a null pointer. So neither side needs the
other's headers: the CUDA text compiles in a tenth of the time, or less, that one takes which includes torch's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from string import Template

from .. import native
from ..cpp import functions as cpp
from ..cpp.functions import Function, at_file_scope
from ..cpp.masks import mask
from ..errors import TemplateError
from ..model.registry import Kernel, Op
from .types import C_TYPES, CPP_DTYPES

#: The dtypes of an op for which a template is instantiated.
_OF_TEMPLATES = ("float32", "float64")
#: How ATen calls the types of pointers.
SCALAR_TYPES = {type_: f"at::k{CPP_DTYPES[dtype]}" for dtype, type_ in C_TYPES.items()}
_STREAM = "cudaStream_t"
#: Makes an error of what is wrong with a launch function.
_Fail = Callable[[str], TemplateError]

_WANT = "Want pointers (const T*, T*, const int64_t*, ...), numbers (int64_t, int, double, float, bool, T), then cudaStream_t"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a launch function: `const T* z` is `("z", "T", pointer, const)`."""

    name: str
    type: str
    is_pointer: bool
    is_const: bool

    def spelled(self, template: str, type_: str) -> str:
        """Spell it in C++, with `type_` for the template's parameter."""
        plain = type_ if self.type == template else self.type
        return f"{'const ' * (self.is_const and self.is_pointer)}{plain}{'*' * self.is_pointer} {self.name}"


@dataclass(frozen=True)
class Launcher:
    """A launch function: `template` is the name of its type parameter, or nothing when it is no template."""

    name: str
    template: str
    parameters: tuple[Parameter, ...]

    def symbol(self, type_: str) -> str:
        """Name the C function for one type."""
        return f"{self.name}_{type_}" if self.template else f"{self.name}_launch"

    def declared(self, type_: str, stream: str) -> str:
        """Declare that function, with a stream of this type."""
        parameters = [one.spelled(self.template, type_) for one in self.parameters]
        return f'extern "C" const char* {self.symbol(type_)}({", ".join([*parameters, f"{stream} stream_"])})'


def find_launchers(kernel: Kernel, op: Op, text: str) -> tuple[Launcher, ...]:
    """Read the launch functions of a CUDA text.

    Args:
        kernel: for messages.
        op: whose dtypes the templates are instantiated for.
        text: the rendered CUDA text.

    Raises:
        TemplateError: there is none, or one that cannot be called with tensors and numbers.
    """
    found = []
    for function in filter(_is_launch_function, at_file_scope(text)):
        fail = partial(_refusal, kernel, function.name)
        if function.returns != "void":
            raise fail(f"returns '{function.returns}', want void")
        template = _template_parameter(function.template, fail)
        if template and (wrong := [dtype for dtype in op.dtypes if dtype not in _OF_TEMPLATES]):
            only = "only float32 and float64 can be instantiated"
            raise fail(f"is a template, and op {op.name!r} has dtype {wrong[0]}: {only}")
        parameters = tuple(_parameter(one, template, fail) for one in function.parameters[:-1])
        if not any(parameter.is_pointer for parameter in parameters):
            raise fail("takes no pointer, so that nothing tells on which device to launch")
        if template and not any(p.is_pointer and p.type == template for p in parameters):
            raise fail(f"takes no pointer to {template}, so that no tensor tells which type to launch")
        found.append(Launcher(function.name, template, parameters))
    names = [launcher.name for launcher in found]
    if repeated := next((name for name in names if names.count(name) > 1), ""):
        raise _refusal(kernel, repeated, "is defined twice: give each launch function a name of its own")
    masked = mask(text)
    if not found and masked.count("{") == masked.count("}"):  # else a bracket hides it, and nvcc will say which
        raise TemplateError(
            f"kernel {kernel.label!r}, cuda: no function 'forward', and no launch function either. A launch function stands at "
            "file scope and ends in a stream: template <class T> void launch(const T* x, T* y, int64_t n, cudaStream_t stream)"
        )
    return tuple(found)


def has_launch_functions(text: str) -> bool:
    """Tell whether a CUDA text has a launch function, right or wrong."""
    return any(map(_is_launch_function, at_file_scope(text)))


def _is_launch_function(function: Function) -> bool:
    return bool(function.types) and [one for one in function.types[-1].split() if one != "const"] == [_STREAM]


def _refusal(kernel: Kernel, name: str, what: str) -> TemplateError:
    """Make the error of one launch function."""
    return TemplateError(f"kernel {kernel.label!r}, cuda: launch function {name!r} {what}")


def _template_parameter(text: str, fail: _Fail) -> str:
    if not text:
        return ""
    match = re.fullmatch(r"template\s*<\s*(?:class|typename)\s+(\w+)\s*>", text)
    if match is None:
        raise fail(f"begins with '{text}', want template <class T>, or no template")
    return match[1]


def _parameter(one: cpp.Parameter, template: str, fail: _Fail) -> Parameter:
    plain = re.sub(r"\b__restrict(?:__)?\b", "", one.type).replace("std::", "").strip()
    match = re.fullmatch(r"(const )?(\w+)( const)?\s*(\*?)(?:\s*const)?", plain)
    if match is None or match[2] not in (*SCALAR_TYPES, *filter(None, [template])):
        raise fail(f"takes '{one.text}'. {_WANT}")
    if not one.name:
        raise fail(f"has a parameter without a name, '{one.type}'")
    return Parameter(one.name, match[2], bool(match[4]), bool(match[1] or match[3]))


def types_of(launcher: Launcher, op: Op) -> list[str]:
    """List the types for which a launch function is instantiated; one without a name where it is no template."""
    return [C_TYPES[dtype] for dtype in op.dtypes] if launcher.template else [""]


#: Read here, as in `binding`.
_PARTS = native.parts("launchers.cpp", __package__)


def _part(name: str, /, **words: str) -> str:
    """Fill in a part of `launchers.cpp`."""
    return Template(_PARTS[name]).substitute(words)


def instances_text(launchers: tuple[Launcher, ...], op: Op) -> str:
    """Write the end of the CUDA file: C functions that instantiate and call the launch functions."""
    text = _part("instances")
    for launcher in launchers:
        arguments = ", ".join([*(parameter.name for parameter in launcher.parameters), "stream_"])
        for type_ in types_of(launcher, op):
            called = f"{launcher.name}{f'<{type_}>' * bool(launcher.template)}({arguments})"
            text += _part("instance", declared=launcher.declared(type_, _STREAM), called=called)
    return text


def host_text(kernel: Kernel, op: Op, launchers: tuple[Launcher, ...]) -> str:
    """Write the beginning of the C++ file: functions of tensors under the launch functions' own names."""
    declarations = [f"{one.declared(type_, 'void*')};" for one in launchers for type_ in types_of(one, op)]
    functions = [
        _part(
            "function",
            name=launcher.name,
            parameters=", ".join(host_parameter(p, launcher.template) for p in launcher.parameters),
            tensors=", ".join(f"&{p.name}" for p in launcher.parameters if p.is_pointer),
            dispatch=_dispatch(launcher, op),
        )
        for launcher in launchers
    ]
    return _part("host", kernel=kernel.name, declarations="\n".join(declarations), functions="\n".join(functions))


def host_parameter(parameter: Parameter, template: str) -> str:
    """Spell a parameter of the function of tensors: a pointer becomes a tensor, a number the widest of its kind."""
    if parameter.is_pointer:
        return f"const at::Tensor& {parameter.name}"
    wide = {template: "double", "float": "double", "int": "int64_t"}
    return f"{wide.get(parameter.type, parameter.type)} {parameter.name}"


def _dispatch(launcher: Launcher, op: Op) -> str:
    """Write the calls of the C functions, one for each dtype."""
    if not launcher.template:
        return f"  {_call(launcher, '')}\n"
    typed = ", ".join(f"&{p.name}" for p in launcher.parameters if p.is_pointer and p.type == launcher.template)
    lines = [f"  const auto dtype_ = launch_.dtype({{{typed}}});\n"]
    types = types_of(launcher, op)
    lines += [f"  if (dtype_ == {SCALAR_TYPES[type_]}) return {_call(launcher, type_)}\n" for type_ in types]
    want = " or ".join(CPP_DTYPES[dtype] for dtype in op.dtypes)
    lines.append(f'  launch_.fail(c10::toString(dtype_), " tensors, want {want}");\n')
    return "".join(lines)


def _call(launcher: Launcher, type_: str) -> str:
    return f"launch_.check({launcher.symbol(type_)}({', '.join(launch_arguments(launcher, type_))}));"


def launch_arguments(launcher: Launcher, type_: str) -> list[str]:
    """Write with what the C function for one type is called, within the function of tensors."""

    def argument(one: Parameter) -> str:
        plain = type_ if one.type == launcher.template else one.type
        if one.is_pointer:
            return f'launch_.pointer<{"const " * one.is_const}{plain}>("{one.name}", {one.name}, {SCALAR_TYPES[plain]})'
        return f'launch_.narrow("{one.name}", {one.name})' if one.type == "int" else one.name

    return [*map(argument, launcher.parameters), "launch_.stream"]
