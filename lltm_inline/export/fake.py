"""Writes the fake kernels of an export, as lines of Python: what a trace asks of the operators, by the steps of `run.fake`.

The letters of a size follow from the shapes of tensors, the shapes of results from the letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..model.op import Argument, Op
from ..model.shapes import ELEMENTS, Dim, Shape, solve
from ..run.cases.case import Case, prime_size
from ..run.cases.drawing import make_inputs
from ..run.compare import dtype_name
from ..source.binding import input_checks
from .plan import Plan

#: In `output_dtypes`: real where the inputs are complex.
_REAL = "real"


def fakes_of(plan: Plan) -> dict[str, Any]:
    """Write the bodies of the fake kernels, and what they need; nothing for what tracers look into."""
    if not plan.traced:
        return {}
    if plan.op.untold:  # the template says so
        return {"forward": [], "backward": [], "checks_shapes": False, "unknown": ""}
    forward = _fake_forward(plan)
    extents = Letters(any_shape=f"{plan.first}.shape").arguments(plan.op.shape_of[plan.op.first.name])
    return {
        "forward": forward,
        "backward": _fake_backward(plan) if plan.interface.has_backward and not plan.kernel.double_backward else [],
        "checks_shapes": any("_check_shape(" in line for line in forward),
        "unknown": f"{plan.first}.new_empty({extents})" if any("_unknown_shape(" in line for line in forward) else "",
    }


def output_dtypes(op: Op) -> tuple[str, ...]:
    """Say which dtype each output has: empty for that of the inputs, `"real"`, a name such as `"int64"`, or that of an argument.

    The reference tells, called at a small size in the widest dtype, and with another dtype for each argument that is one.

    Example:
        >>> import lltm_inline as li
        >>> output_dtypes(li.registry.ops["complex_abs2"])
        ('real',)
    """
    widest: torch.dtype = getattr(torch, op.dtypes[-1])
    real = widest.to_real()
    inputs = make_inputs(op, Case("", prime_size(op), real))
    names = {real: _REAL, widest: ""} if not op.first.dtype else {}
    outputs = op.run_reference(*inputs)
    found = [names.get(output.dtype, dtype_name(output.dtype)) for output in outputs]
    for place, argument in enumerate(op.signature.inputs):
        if argument.type == "ScalarType":
            other = torch.float32 if inputs[place] == torch.float64 else torch.float64
            moved = op.run_reference(*inputs[:place], other, *inputs[place + 1 :])
            follows = [one.dtype != two.dtype for one, two in zip(outputs, moved, strict=True)]
            found = [argument.name if moves else name for moves, name in zip(follows, found, strict=True)]
    return tuple(found)


def _fake_forward(plan: Plan) -> list[str]:
    """Write the fake kernel of `OP_forward`: look at the shapes, and make empty results."""
    op, shape_of, first = plan.op, plan.op.shape_of, plan.first
    required = [(a.told, shape_of[a.name]) for a in op.required]
    shapes = [*(shape_of[output.name] for output in op.signature.outputs), *(extra.shape for extra in plan.extras)]
    dtypes = [*output_dtypes(op), *(extra.dtype for extra in plan.extras)]
    looked_at = [shape_of[a.name] for a in op.signature.tensors if not shape_of[a.name].untold]
    letters = letters_from(required, [shape for shape in (*looked_at, *shapes) if shape is not None])
    lines = [*letters.lines, *_checks(op, letters)]
    changed = {argument.alias: argument.name for argument in op.signature.changed}
    for name, shape, dtype in zip(plan.results, shapes, dtypes, strict=True):
        made = f'_unknown_shape("{name}")'
        alias = next((output.alias for output in op.signature.outputs if output.name == name), "")
        if alias:
            made = changed[alias]
        elif shape is not None:
            made = _empty(first, letters.arguments(shape), _dtype(first, dtype, op))
        lines.append(f"{name} = {made}")
    if len(plan.results) == 1:
        return [*lines[:-1], f"return {lines[-1].partition(' = ')[2]}"]
    if not plan.results:
        return lines or ["pass"]
    return [*lines, f"return {', '.join(plan.results)}"]


def _checks(op: Op, letters: Letters) -> list[str]:
    """Write a check of each input whose shape is not what the letters were taken from."""
    lines = []
    for check in input_checks(op):
        name, shape = check.name, check.shape
        if check.many or name in letters.checked or letters.any_shape == f"{name}.shape" or shape.untold:
            continue
        extents = [f"*{letters.any_shape}"] if shape.any_rank else map(str, shape.dims)
        call = "_check_shape(" + ", ".join([f'"{name}"', name, *extents]) + ")"
        lines += [f"if {name} is not None:", f"    {call}"] if check.optional else [call]
    return lines


def _fake_backward(plan: Plan) -> list[str]:
    """Write the fake kernel of `OP_backward`: an empty gradient where one is wanted."""
    op, shape_of, taken = plan.op, plan.op.shape_of, plan.taken
    tensors, outputs = op.gradients, op.signature.outputs
    shapes = [
        *(shape_of[output.name] for output in outputs),
        *(shape_of.get(name) for name in plan.kernel.saves),
        *(extra.shape for extra in plan.extras),
    ]
    # The tensors that are always among the arguments.
    pairs = zip(taken, shapes, strict=True)
    known = [(argument.name, shape) for argument, shape in pairs if shape is not None and argument.type == "Tensor"]
    needed = [shape_of[tensor.name] for tensor in tensors]
    lines: list[str] = []
    letters = letters_from(known, needed)
    if not all(map(letters.tells, needed)) and len(outputs) == 1 and taken[0].type == "Tensor?":
        # No gradient comes in, none goes out.
        lines += [f"if {taken[0].name} is None:", f"    return {', '.join(['None'] * len(tensors))}"]
        known = [(taken[0].name, shape_of[outputs[0].name]), *known]
        letters = letters_from(known, needed)
    like = _like(plan, [name for name, _ in known])
    untold = [tensor for tensor, shape in zip(tensors, needed, strict=True) if not letters.tells(shape)]
    if untold or not like:
        return _not_traced(plan, (untold or list(tensors))[0])
    name, dtype = like
    if letters.any_shape and dict(known)[name].any_rank:
        letters.any_shape = f"{name}.shape"
    gradients = [
        f"{_empty(name, letters.arguments(shape), f'torch.{tensor.dtype}' if tensor.dtype else dtype)} if {flag} else None"
        for tensor, shape, flag in zip(tensors, needed, plan.wanted, strict=True)
    ]
    lines += letters.lines
    if len(gradients) == 1:
        return [*lines, f"return {gradients[0]}"]
    return [*lines, "return (", *(f"    {gradient}," for gradient in gradients), ")"]


def _like(plan: Plan, present: Sequence[str]) -> tuple[str, str] | None:
    """Choose the tensor from which gradients take device and dtype, and say how they differ from it in dtype."""
    op = plan.op
    inputs = {tensor.name for tensor in op.gradients if not tensor.dtype}
    by_output = dict(zip((f"d_{output.name}" for output in op.signature.outputs), output_dtypes(op), strict=True))
    saved = [argument.name for argument in plan.taken if argument.name in inputs]
    same = [name for name in (*saved, *(name for name, dtype in by_output.items() if not dtype)) if name in present]
    if same:
        return same[0], ""
    complex_of = [name for name, dtype in by_output.items() if dtype == _REAL and name in present]
    return (complex_of[0], f"{complex_of[0]}.dtype.to_complex()") if complex_of else None


def _not_traced(plan: Plan, tensor: Argument) -> list[str]:
    """Write the error of a backward that is not told the shape of a gradient."""
    shape = in_letters(plan.op.shape_of[tensor.name])
    given = ", ".join(argument.name for argument in plan.taken)
    return [
        "raise NotImplementedError(",
        f'    "{plan.name}: backward cannot be traced: the shape of d_{tensor.name}, {shape}, does not follow from what it is "',
        f"    \"given ({given}). Add '{tensor.name}' to the kernel's saves, and export anew\"",
        ")",
    ]


def _dtype(first: str, dtype: str, op: Op) -> str:
    widest = op.dtypes[-1]
    if dtype == _REAL or (widest.startswith("complex") and dtype == dtype_name(getattr(torch, widest).to_real())):
        return f"{first}.dtype.to_real()"
    if any(argument.type == "ScalarType" and argument.name == dtype for argument in op.signature.inputs):
        return dtype
    return f"torch.{dtype}" if dtype else ""


def _empty(like: str, extents: str, dtype: str) -> str:
    return f"{like}.new_empty({extents}{', dtype=' * bool(dtype)}{dtype})"


def in_letters(shape: Shape) -> str:
    """Write a shape for people: `(B, 3S)`, `any shape`, `a scalar`.

    Example:
        >>> in_letters(Shape.parse("B S+F"))
        '(B, S+F)'
    """
    if shape.any_rank:
        return "any shape"
    if shape.untold:
        return "of a shape that follows from the values"
    if not shape.dims:
        return "a scalar"
    return f"({', '.join(str(dim).replace(' * ', '').replace(' ', '') for dim in shape.dims)})"


@dataclass
class Letters:
    """Python lines that take the letters of a size from the shapes of tensors, as far as they follow.

    Attributes:
        lines: without indentation.
        values: what stands for each known letter.
        any_shape: what stands for the shape `...`; empty when no tensor has it.
        checked: the tensors whose shape needs no further look: the lines take them apart.
    """

    lines: list[str] = field(default_factory=list)
    values: set[str] = field(default_factory=set)
    any_shape: str = ""
    checked: set[str] = field(default_factory=set)

    def tells(self, shape: Shape) -> bool:
        """Tell whether the extents of a shape are known."""
        return bool(self.any_shape) if shape.any_rank else self.values.issuperset(shape.letters)

    def arguments(self, shape: Shape) -> str:
        """Write the arguments of `new_empty` for a shape."""
        if shape.any_rank:
            return self.any_shape
        return ", ".join(map(str, shape.dims)) or "()"


def letters_from(tensors: Sequence[tuple[str, Shape]], needed: Iterable[Shape]) -> Letters:
    """Write how the letters of the shapes `needed` follow from tensors, by the steps in which the playground's fake kernels go.

    Args:
        tensors: names in the function, each with its shape.
        needed: the shapes that are to be written down.

    Example:
        >>> letters_from([("x", Shape.parse("B 3S"))], [Shape.parse("B S")]).lines
        ['B = x.shape[0]', 'S = x.shape[1] // 3']
    """
    elements = next((name for name, shape in tensors if shape.any_rank), "")
    found = Letters(any_shape=f"{elements}.shape" if elements else "")
    solved = solve([shape for _, shape in tensors])
    sources = {letter: (tensors[which][0], axis, dim) for letter, (which, axis, dim) in solved.items()}
    letters = {letter for shape in needed if not shape.any_rank for letter in shape.letters}
    for letter, (_, _, dim) in reversed(sources.items()):  # with those from which they follow, which stand ahead
        letters |= {other for other, _ in dim.terms} if letter in letters else set()
    # A line for each tensor that gives letters, and one for each letter that needs a computation.
    shapes, whole = dict(tensors), dict[str, dict[int, str]]()
    for letter, (name, index, dim) in sources.items():
        if letter in letters and dim.letter:
            whole.setdefault(name, {})[index] = letter
    for name, by_index in whole.items():
        dims = len(shapes[name].dims)
        if len(by_index) == 1 and dims > 1:
            ((index, letter),) = by_index.items()
            found.lines.append(f"{letter} = {name}.shape[{index}]")
        else:
            names = [by_index.get(index, "_") for index in range(dims)]
            found.lines.append(f"{', '.join(names)} = {name}.shape" if dims > 1 else f"({names[0]},) = {name}.shape")
            if len(by_index) == dims:
                found.checked.add(name)
    found.values |= {letter for by_index in whole.values() for letter in by_index.values()}
    if ELEMENTS in letters and elements:
        found.lines.append(f"{ELEMENTS} = {elements}.numel()")
        found.values.add(ELEMENTS)
    pending = [letter for letter in sources if letter in letters and letter not in found.values]
    for letter in pending:  # in the order in which they were solved, each from those before it
        name, index, dim = sources[letter]
        found.lines.append(f"{letter} = {_solved(f'{name}.shape[{index}]', letter, dim)}")
        found.values.add(letter)
    return found


def _solved(value: str, letter: str, dim: Dim) -> str:
    """Solve an extent for a letter."""
    count = dict(dim.terms)[letter]
    rest = Dim(tuple((other, -n) for other, n in dim.terms if other != letter), -dim.constant)
    text = str(rest) if rest.terms or rest.constant else ""
    if text:
        value = f"{value} - {text[1:]}" if text.startswith("-") else f"{value} + {text}"
    if count == 1:
        return value
    if count == -1:
        return f"-({value})" if text else f"-{value}"
    return f"({value}) // {count}" if text else f"{value} // {count}"
