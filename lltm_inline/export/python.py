"""The Python package of an export: the op as a function and as a module, its autograd, and its reference; `fake` has its fake kernels."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from ..errors import InputError
from ..model.op import Argument, Op
from ..model.shapes import Shape
from .fake import fakes_of, in_letters
from .plan import Plan
from .reference import reference_text, tolerances_of
from .render import inner, refilled, render, rows

#: What modules, autograd and compiled modules are called where arguments of the op stand, too.
_TAKEN = {"ctx", "extension", "name", "self", "tensor", "wanted"}
#: Names that a module needs for something else.
_TAKEN_BY_MODULES = {*dir(torch.nn.Module()), "device", "dtype", "reset_parameters"}
_ANNOTATIONS = {"Tensor": "Tensor", "float": "float", "int": "int", "bool": "bool", "str": "str"}
_ANNOTATIONS |= {f"{type_}?": f"{annotation} | None" for type_, annotation in _ANNOTATIONS.items()}
_ANNOTATIONS |= {
    "Tensor[]": "list[Tensor]",
    "int[]": "list[int]",
    "float[]": "list[float]",
    "ScalarType": "torch.dtype",
}
#: What docstrings call arguments that are no tensors.
_KINDS = {"float": "a number", "int": "an integer", "bool": "True or False", "str": "a text", "ScalarType": "a dtype"}
_KINDS |= {"int[]": "integers", "float[]": "numbers"}
_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Examples?|Notes?|Source|References?|Attributes|Warnings?):\s*(.*)")


def python_files(plan: Plan) -> dict[str, str]:
    """Write the Python package, less `_library.py`.

    Returns:
        Text by path.

    Raises:
        InputError: the op's reference or inputs use something that cannot be written into a file, or an argument has a name
            that Python needs.
    """
    for argument in (*plan.op.signature.inputs, *plan.op.signature.outputs):
        if argument.name in _TAKEN:
            raise InputError(
                f"op {plan.op.name!r} has an argument {argument.name!r}, a name that the Python files of an export need for "
                "themselves: rename it in the op's schema and shapes, and in the kernel's saves"
            )
    doc = _doc(plan.op)
    common = {
        "doc": doc,
        "outputs": [output.name for output in plan.op.signature.outputs],
        "parameters": _parameters,
        "results": partial(
            _results, plain={one.name: one.type for one in plan.op.signature.outputs if not one.is_tensor}
        ),
    }
    texts = {
        "__init__.py": render("package/__init__.py", plan),
        "ops.py": render("package/ops.py", plan, **common, **_words_of_ops(plan)),
        "modules.py": render("package/modules.py", plan, **common, **_words_of_module(plan, doc)),
        "reference.py": render("package/reference.py", plan, **_words_of_reference(plan)),
    }
    return {f"{plan.name}/{name}": text for name, text in texts.items()}


# What docstrings say, in the words of the reference.


@dataclass(frozen=True)
class _Doc:
    """What docstrings say of an op, fit to stand between their quotes: a summary, what each input is, and what comes out."""

    summary: str
    meanings: dict[str, str]
    results: str


def _doc(op: Op) -> _Doc:
    """Take the docstring of an op's reference apart; what it does not say follows from the op's shapes."""
    sections = _sections(op)
    summary = sections[""] or op.doc.strip().partition("\n")[0].strip() or f"Compute the op `{op.name}`."
    found = re.finditer(r"^(\w+): (.*(?:\n .*)*)", sections.get("Args", ""), re.MULTILINE)
    said = {match[1]: match[2] for match in found}
    inputs = op.signature.inputs
    if not all(argument.name in said for argument in inputs):
        said = {argument.name: f"{_kind(op, argument)}." for argument in inputs}
    named = " and ".join(f"{output.name}, {_kind(op, output)}" for output in op.signature.outputs)
    if not named:
        named = f"nothing: it changes {' and '.join(argument.name for argument in op.signature.changed)}"
    meanings = {argument.name: _quotable(said[argument.name]) for argument in inputs}
    return _Doc(_quotable(summary), meanings, _quotable(sections.get("Returns", "") or f"{named}."))


def _quotable(text: str) -> str:
    """Write what a docstring may hold."""
    plain = "\n".join(line.rstrip() for line in text.split("\n"))
    return plain.replace("\\", "\\\\").replace('"""', "'''")


def _kind(op: Op, argument: Argument) -> str:
    """Say of an argument what it is: a tensor of some shape, or a number."""
    missing = ", or None" * argument.type.endswith("?")
    if argument.name not in op.shape_of:
        return _KINDS[argument.type.removesuffix("?")] + missing
    shape = in_letters(op.shape_of[argument.name])
    if argument.name in op.any_rank[1:]:
        shape = f"of the shape of {op.any_rank[0]}"
    elif argument.is_list and argument.name in op.any_rank:
        shape = "of the same shape"
    many, changed = "a list of tensors, each " * (argument.is_list), ", changed in place" * bool(argument.alias)
    return f"{many}{shape}{f', {argument.dtype}' * bool(argument.dtype)}{changed}{missing}"


def _sections(op: Op) -> dict[str, str]:
    """Take the reference's docstring apart; the text before the sections has an empty name."""
    doc = inspect.getdoc(op.reference) or "" if inspect.isfunction(op.reference) else ""
    found: dict[str, list[str]] = {"": []}
    current = ""
    for line in doc.split("\n"):
        match = _SECTION.fullmatch(line)
        if match:
            current = match[1]
            found[current] = [match[2]]
        else:
            found[current].append(line)
    return {name: inspect.cleandoc("\n".join(["", *lines])).strip() for name, lines in found.items()}


# Arguments and results.


def _parameters(arguments: Sequence[Argument]) -> list[str]:
    """Write arguments as parameters of a Python function, where a default needs defaults behind it.

    Example:
        >>> _parameters([Argument("a", "Tensor?", "None"), Argument("x", "Tensor"), Argument("c", "float", "2")])
        ['a: Tensor | None', 'x: Tensor', 'c: float = 2.0']
    """
    last = max((index for index, argument in enumerate(arguments) if argument.default is None), default=-1)
    return [_parameter(a if index > last else replace(a, default=None)) for index, a in enumerate(arguments)]


def _parameter(argument: Argument) -> str:
    value, type_ = argument.default, argument.type.removesuffix("?")
    if value not in (None, "None"):
        if type_ == "int":
            value = str(int(value))
        elif type_ == "float" and value.lstrip("+-").isdigit():
            value = str(float(value))
        elif type_ in ("str", "int[]", "float[]"):
            value = json.dumps(argument.value)  # as a formatter has it
    return f"{argument.name}: {_ANNOTATIONS[argument.type]}" + ("" if value is None else f" = {value}")


def _results(results: Sequence[str], item: str = "Tensor", plain: Mapping[str, str] | None = None) -> str:
    """Write the Python type of so many results, of which those in `plain` are numbers."""
    types = [(plain or {}).get(name, item) for name in results]
    return f"tuple[{', '.join(types)}]" if len(types) > 1 else types[0] if types else "None"


# The module.


def parameters_of(plan: Plan) -> tuple[Argument, ...]:
    """List the inputs that the module holds as parameters: those of `op.parameters` whose shape is one of letters."""
    op = plan.op
    wanted = set(op.parameters) - {*op.any_rank} - _TAKEN_BY_MODULES
    return tuple(argument for argument in op.signature.tensors if argument.name in wanted)


def numbers_of(plan: Plan) -> tuple[Argument, ...]:
    """List the inputs that are numbers with a default: the module is made with them, too."""
    inputs = plan.op.signature.inputs
    return tuple(a for a in inputs if not a.is_tensor and a.default is not None and a.name not in _TAKEN_BY_MODULES)


def module_arguments(plan: Plan) -> tuple[str, ...]:
    """List the arguments without which the module cannot be made, in the op's order: the letters of its parameters.

    Example:
        >>> import lltm_inline as li
        >>> module_arguments(Plan(li.registry.ops["lltm"], (), "setuptools", "library", "lltm_fused"))
        ('F', 'S')
    """
    needed = {letter for a in parameters_of(plan) for letter in plan.op.shape_of[a.name].letters}
    return tuple(letter for letter in plan.op.letters if letter in needed)


def forward_arguments(plan: Plan) -> tuple[Argument, ...]:
    """List what the module's `forward` takes, in the op's order: all that it does not hold."""
    held = {a.name for a in (*parameters_of(plan), *numbers_of(plan))}
    return tuple(a for a in plan.op.signature.inputs if a.name not in held)


def _words_of_module(plan: Plan, doc: _Doc) -> dict[str, Any]:
    op = plan.op
    held, numbers, letters = parameters_of(plan), numbers_of(plan), module_arguments(plan)
    optional = [argument.name for argument in held if argument.type == "Tensor?"]
    shapes = {argument.name: op.shape_of[argument.name] for argument in held}
    described = {", ".join(letters): "extents of the parameters."} if letters else {}
    described |= dict.fromkeys(optional, "whether there is one.")
    described |= {argument.name: doc.meanings[argument.name] for argument in numbers}
    made = ["self", *(f"{letter}: int" for letter in letters), *(f"{name}: bool = True" for name in optional)]
    made += map(_parameter, numbers)
    if held:
        described["device, dtype"] = "of the parameters."
        made += ["*", "device: torch.device | str | None = None", "dtype: torch.dtype | None = None"]
    given = forward_arguments(plan)
    inputs = [argument.name for argument in op.signature.inputs]
    return {
        "held": held,
        "numbers": numbers,
        "letters": list(letters),
        # An argument may bear the name of the op.
        "function": f"compute_{op.name}" if op.name in inputs else op.name,
        "described": described,
        "attributes": {name: _shaped(shape, doc.meanings[name]) for name, shape in shapes.items()},
        "made": made,
        "extents": {name: ", ".join(map(str, shape.dims)) or "()" for name, shape in shapes.items()},
        "given": given,
        "handed": [argument.name if argument in given else f"self.{argument.name}" for argument in op.signature.inputs],
        "shown": [
            *(f"{name}={{self.{name}}}" for name in (*letters, *(number.name for number in numbers))),
            *(f"{name}={{self.{name} is not None}}" for name in optional),
        ],
        **(_first_values(shapes) if held else {}),
    }


def _shaped(shape: Shape, said: str) -> str:
    """Put the shape before what is said of a parameter, unless it is there."""
    written = in_letters(shape)
    return said if written in said else f"{written}; {said}"


def _first_values(shapes: dict[str, Shape]) -> dict[str, str]:
    """Say by what the first values of the parameters are bounded."""
    matrices = [name for name, shape in shapes.items() if len(shape.dims) > 1]
    name = (matrices or list(shapes))[0]
    dims = shapes[name].dims[1:] if matrices else shapes[name].dims
    factors = [str(dim) for dim in dims]
    product = " * ".join(f"({factor})" if len(factors) > 1 and " " in factor else factor for factor in factors) or "1"
    what = f"the length of a row of {name}" if matrices and len(dims) == 1 else f"the elements of one {name}[i]"
    if not matrices:
        what = f"the length of {name}"
    return {
        "fan_in": f"{product.replace(' * ', '*').replace(' ', '')}, {what}",
        "bound": re.sub(r"\b([A-Z])\b", r"self.\1", product),
    }


# The reference.


def _words_of_reference(plan: Plan) -> dict[str, Any]:
    op = plan.op
    doc = op.doc.strip() or f"The op `{op.name}` in plain PyTorch, and inputs to call it with."
    doc = "\n\n".join(map(refilled, doc.split("\n\n"))).replace("\\", "\\\\").replace('"""', "'''")
    return {
        "doc": doc + "\n" * ("\n" in doc or doc.endswith('"')),
        "tolerances": {dtype: tuple(map(_short, pair)) for dtype, pair in tolerances_of(op).items()},
        "reference": lambda constants: reference_text(op, [constants.rstrip("\n")]).rstrip("\n"),
    }


def _short(value: float) -> str:
    """Write `1.25e-4` for 0.000125."""
    digits, _, power = f"{value:e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}" if 0 < value < 1e-3 else repr(value)


# Operators, their fakes, and autograd where C++ has none.


def _words_of_ops(plan: Plan) -> dict[str, Any]:
    fakes = fakes_of(plan)
    lines = [*fakes.get("forward", ()), *fakes.get("backward", ())]
    op = plan.op
    of_half = {"float16", "bfloat16"} & {*op.dtypes, *(argument.dtype for argument in op.signature.tensors)}
    words: dict[str, Any] = {
        "fakes": fakes,
        # As the playground has it: not for what takes half precision by itself, or changes what it takes.
        "casts": plan.style == "boxed"
        and "float32" in op.dtypes
        and not (op.first.dtype or of_half or op.signature.changed),
        "quiet": {"I", "O"} & {argument.name for argument in op.signature.inputs}
        or any(re.match(r"[\w, (]*\b[IO]\b[\w, )]* = ", line) for line in lines),
        "taken": [f"{one.name}: {_ANNOTATIONS[one.type]}" for one in plan.taken]
        + [f"{flag}: bool" for flag in plan.wanted],
    }
    if not plan.autograd_in_python:
        return words
    message = f'"{plan.name}: {plan.op.name} has no second derivative: its backward is not differentiable"'
    operators, once = plan.style != "pybind11", not plan.kernel.double_backward
    call = "_Backward.apply" if once else "extension.backward"
    optional = "Tensor | None" if plan.takes_none else "Tensor"
    incoming = [f"d_{output.name}: {optional}" for output in plan.op.signature.outputs]
    kept = _kept(plan)
    constant = [f"ctx.mark_non_differentiable({', '.join(plan.extra_names)})"] * bool(plan.extra_names)
    return words | {
        "refusal": f"raise RuntimeError({inner(message)})",
        "returned": "tuple[Tensor | None, ...]" if len(plan.op.signature.inputs) > 1 else "Tensor | None",
        "kept": kept,
        "setup": [*_taken_apart(plan), *kept, *constant] or ["pass"],
        "incoming": [*incoming, *(f"_d_{name}: Tensor" for name in plan.extra_names if operators)],
        "backward": _backward(plan, f"torch.ops.{plan.name}.{plan.op.name}_backward.default" if operators else call),
    }


def _taken_apart(plan: Plan) -> list[str]:
    """Write what gives names to those inputs and results that backward takes."""
    kept = {argument.name for argument in plan.saved}
    lines = []
    for names, whole in (([a.name for a in plan.op.signature.inputs], "inputs"), (plan.results, "output")):
        if kept & {*names}:
            chosen = [name if name in kept else "_" for name in names]
            single = "(%s,)" if whole == "inputs" else "%s"
            lines.append(f"{', '.join(chosen) if len(chosen) > 1 else single % chosen[0]} = {whole}")
    return lines


def _kept(plan: Plan) -> list[str]:
    """Write what keeps for backward the tensors and numbers that it takes."""
    tensors = [argument.name for argument in plan.saved if argument.is_tensor]
    lines = [f"ctx.save_for_backward({', '.join(tensors)})"] * bool(tensors)
    lines += [f"ctx.{argument.name} = {argument.name}" for argument in plan.saved if not argument.is_tensor]
    return lines + ["ctx.set_materialize_grads(False)"] * plan.takes_none


def _backward(plan: Plan, call: str) -> list[str]:
    """Write the body of a backward: a call with what was kept, and None as the gradient of a number."""
    signature = plan.op.signature
    grads = [f"d_{output.name}" for output in signature.outputs]
    tensors = [argument.name for argument in plan.saved if argument.is_tensor]
    lines = []
    if plan.takes_none:
        nothing = ", ".join(["None"] * len(signature.inputs))
        lines += [f"if {' and '.join(f'{name} is None' for name in grads)}:", f"    return {nothing}"]
    kept = ["*ctx.saved_tensors"] * bool(tensors)
    if len(tensors) < len(plan.saved):
        if tensors:
            lines.append(f"{', '.join(tensors) if len(tensors) > 1 else f'({tensors[0]},)'} = ctx.saved_tensors")
        kept = [one.name if one.is_tensor else f"ctx.{one.name}" for one in plan.saved]
    flags, more = _flags(plan)
    lines += more
    called = f"{call}({inner(', '.join([*grads, *kept, flags]))})"
    if plan.op.gradients == signature.inputs:
        return [*lines, f"return {called}"]
    slots = [f"d_{argument.name}" if argument in plan.op.gradients else "None" for argument in signature.inputs]
    return [*lines, f"{', '.join(plan.gradients)} = {called}", f"return {', '.join(slots)}"]


def _flags(plan: Plan) -> tuple[str, list[str]]:
    """Write the flags of wanted gradients, one for each tensor, and the lines that they need.

    An operator takes each flag as an argument of its own.
    """
    inputs = plan.op.signature.inputs
    places = [index for index, argument in enumerate(inputs) if argument in plan.op.gradients]
    star = "*" * (plan.style != "pybind11")
    needed, lines = "ctx.needs_input_grad", []
    if star and any(inputs[index].default is not None for index in places):
        missing = ", ".join(["False"] * sum(argument.default is not None for argument in inputs))
        needed = "needed"
        lines += [
            "# The dispatcher hands on no arguments that have their default values.",
            f"needed = (*ctx.needs_input_grad, {missing})",
        ]
    if places == [*range(len(places))]:
        return star + (f"{needed}[:{len(places)}]" if lines or len(places) < len(inputs) else needed), lines
    lines.append(f"wanted = [{rows(f'{needed}[{index}]' for index in places)}]")
    return f"{star}wanted", lines
