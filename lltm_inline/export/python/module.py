"""Writes `modules.py` of an export: the op as an `nn.Module` that holds its parameters."""

from __future__ import annotations

import re

import torch

from ...op import Argument
from ...shapes import Shape
from ..filling import commented, enumerated, fill
from ..plan import Plan
from .doc import docstring, entries, meanings, results, section
from .fakes import function_head, parameter, parameters, results_annotation
from .letters import QUIET, extent, in_letters
from .ops import REFUSES

#: Names that the module needs for something else.
_TAKEN = {*dir(torch.nn.Module()), "device", "dtype", "reset_parameters"}

_MODULE = '''\
"""The op `@op@` as a module."""

@quiet@
from __future__ import annotations

@imports@

from .ops import @function@


class @module@(nn.Module):
    @members@
'''

_INIT = """\
@head@
    super().__init__()
    @lines@
"""

_RESET = '''\
def reset_parameters(self) -> None:
    """Draw @names@ anew, uniform in +-1/sqrt(fan_in); fan_in is @fan_in@."""
    bound = 1 / math.sqrt(max(@bound@, 1))
    for parameter in self.parameters():
        nn.init.uniform_(parameter, -bound, bound)
'''

_REPR = '''\
def extra_repr(self) -> str:
    """Say what `print` shows between the brackets."""
    return f"@shown@"
'''


def parameters_of(plan: Plan) -> tuple[Argument, ...]:
    """List the inputs that the module holds as parameters: those of `op.parameters` whose shape is one of letters."""
    op = plan.op
    wanted = set(op.parameters) - {*op.any_rank} - _TAKEN
    return tuple(argument for argument in op.signature.tensors if argument.name in wanted)


def letters_of(plan: Plan) -> tuple[str, ...]:
    """List the extents that the module is made with: the letters of its parameters, in the op's order."""
    needed = {letter for a in parameters_of(plan) for letter in plan.op.shape_of[a.name].letters}
    return tuple(letter for letter in plan.op.letters if letter in needed)


def numbers_of(plan: Plan) -> tuple[Argument, ...]:
    """List the inputs that are numbers with a default: the module is made with them, too."""
    inputs = plan.op.signature.inputs
    return tuple(a for a in inputs if not a.is_tensor and a.default is not None and a.name not in _TAKEN)


def module_arguments(plan: Plan) -> tuple[str, ...]:
    """List the arguments without which the module cannot be made, in order: letters.

    Example:
        >>> import lltm_inline as li
        >>> module_arguments(Plan(li.registry.ops["lltm"], (), "setuptools", "library", "lltm_fused"))
        ('F', 'S')
    """
    return letters_of(plan)


def forward_arguments(plan: Plan) -> tuple[Argument, ...]:
    """List what the module's `forward` takes, in the op's order: all that it does not hold."""
    held = {a.name for a in (*parameters_of(plan), *numbers_of(plan))}
    return tuple(a for a in plan.op.signature.inputs if a.name not in held)


def module_text(plan: Plan) -> str:
    """Write `modules.py`."""
    held, letters = parameters_of(plan), letters_of(plan)
    members = [_doc(plan), *_attributes(plan), *_init(plan)]
    if held:
        members.append(_reset(plan))
    members.append(_forward(plan))
    shown = [*letters, *(a.name for a in numbers_of(plan))]
    words = [f"{name}={{self.{name}}}" for name in shown]
    words += [f"{a.name}={{self.{a.name} is not None}}" for a in held if a.type == "Tensor?"]
    if words:
        members.append(fill(_REPR, shown=", ".join(words)))
    text = fill(
        _MODULE,
        op=plan.op.name,
        function=plan.op.name + f" as {_function(plan)}" * (_function(plan) != plan.op.name),
        quiet=QUIET if {"I", "O"} & set(letters) else "",
        imports="\n".join([*["import math", "", "import torch"] * bool(held), "from torch import Tensor, nn"]),
        module=plan.module,
        members="\n\n".join(member.strip("\n") for member in members),
    )
    return commented(plan.header, "#") + text


def _function(plan: Plan) -> str:
    """Name the op's function here: an argument may bear the name of the op."""
    name = plan.op.name
    return f"compute_{name}" if name in {argument.name for argument in plan.op.signature.inputs} else name


def _doc(plan: Plan) -> str:
    """Write the docstring of the class."""
    op, held, letters = plan.op, parameters_of(plan), letters_of(plan)
    said = meanings(op)
    arguments = {", ".join(letters): "extents of the parameters."} if letters else {}
    arguments |= {a.name: "whether there is one." for a in held if a.type == "Tensor?"}
    arguments |= {a.name: said[a.name] for a in numbers_of(plan)}
    arguments |= {"device, dtype": "of the parameters."} if held else {}
    names = [a.name for a in held]
    text = docstring(
        f"Hold {enumerated(names)}, and compute `{op.name}` with {'them' if len(names) > 1 else 'it'}."
        if held
        else f"Compute `{op.name}` as a layer of a network.",
        section("Args", entries(arguments)) if arguments else "",
        section("Attributes", entries({a.name: _shaped(op.shape_of[a.name], said[a.name]) for a in held}))
        if held
        else "",
    )
    return f'"""{text}"""' if held or arguments else f'"""{text.strip()}"""'


def _shaped(shape: Shape, said: str) -> str:
    """Put the shape ahead of what is said of a parameter, unless it is there."""
    written = in_letters(shape)
    return said if written in said else f"{written}; {said}"


def _attributes(plan: Plan) -> list[str]:
    """Write the types of the parameters."""
    types = {"Tensor": "nn.Parameter", "Tensor?": "nn.Parameter | None"}
    lines = [f"{argument.name}: {types[argument.type]}" for argument in parameters_of(plan)]
    return ["\n".join(lines)] if lines else []


def _init(plan: Plan) -> list[str]:
    """Write the constructor, if one is needed."""
    held, letters, numbers = parameters_of(plan), letters_of(plan), numbers_of(plan)
    if not held and not numbers:
        return []
    arguments = ["self", *(f"{letter}: int" for letter in letters)]
    arguments += [f"{a.name}: bool = True" for a in held if a.type == "Tensor?"]
    arguments += [parameter(a) for a in numbers]
    if held:
        arguments += ["*", "device: torch.device | str | None = None", "dtype: torch.dtype | None = None"]
    lines = [f"self.{name} = {name}" for name in (*letters, *(a.name for a in numbers))]
    for argument in held:
        extents = ", ".join(map(extent, plan.op.shape_of[argument.name].dims)) or "()"
        made = f"nn.Parameter(torch.empty({extents}, device=device, dtype=dtype))"
        optional = argument.type == "Tensor?"
        line = f"self.{argument.name} = {made}{f' if {argument.name} else None' * optional}"
        lines += [
            f'self.register_parameter("{argument.name}", {made} if {argument.name} else None)' if optional else line
        ]
    lines += ["self.reset_parameters()"] if held else []
    return [fill(_INIT, head=function_head("__init__", arguments, "None", wide=4), lines="\n".join(lines))]


def _reset(plan: Plan) -> str:
    """Write how the parameters get their first values."""
    held = parameters_of(plan)
    shapes = {argument.name: plan.op.shape_of[argument.name] for argument in held}
    matrices = [name for name, shape in shapes.items() if len(shape.dims) > 1]
    name = (matrices or list(shapes))[0]
    dims = shapes[name].dims[1:] if matrices else shapes[name].dims
    factors = [extent(dim) for dim in dims]
    product = " * ".join(f"({factor})" if len(factors) > 1 and " " in factor else factor for factor in factors) or "1"
    what = f"the length of a row of {name}" if matrices and len(dims) == 1 else f"the elements of one {name}[i]"
    if not matrices:
        what = f"the length of {name}"
    return fill(
        _RESET,
        names=enumerated([argument.name for argument in held]),
        fan_in=f"{product.replace(' * ', '*').replace(' ', '')}, {what}",
        bound=re.sub(r"\b([A-Z])\b", r"self.\1", product),
    )


def _forward(plan: Plan) -> str:
    """Write `forward`: the op's function, with what the module holds."""
    op = plan.op
    taken = forward_arguments(plan)
    said = meanings(op)
    doc = docstring(
        f"Compute `{op.name}`.",
        section("Args", entries({a.name: said[a.name] for a in taken})) if taken else "",
        section("Returns", results(op)),
        section("Raises", REFUSES),
    )
    head = function_head("forward", ["self", *parameters(taken)], results_annotation(len(op.signature.outputs)), wide=4)
    names = {argument.name for argument in taken}
    call = ", ".join(a.name if a.name in names else f"self.{a.name}" for a in op.signature.inputs)
    lines = [*f'"""{doc}"""'.split("\n"), f"return {_function(plan)}({call})"]
    return "\n".join([head, *(f"    {line}".rstrip() for line in lines)])
