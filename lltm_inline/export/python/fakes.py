"""Writes fake kernels: Python functions that tell torch.compile the shapes and dtypes of an operator's results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from ...op import Argument, Op
from ...reserved import is_reserved
from ...run.checking.cases import prime_size
from ...shapes import Shape
from ...signature import find_function, mask
from ..filling import WIDTH, fill
from ..plan import Plan
from .letters import Letters, extent, in_letters, letters_from

_ANNOTATIONS = {"Tensor": "Tensor", "Tensor?": "Tensor | None", "float": "float", "int": "int", "bool": "bool"}
#: In `output_dtypes`: real where the inputs are complex.
_REAL = "real"

#: Refuses a shape while torch.compile traces, when there is no compiled code to do so.
CHECK_SHAPE = '''\
def _check_shape(name: str, tensor: Tensor, *shape: int) -> None:
    """Refuse a tensor of another shape, as the compiled code does."""

    def message() -> str:
        return f"@op@: {name} has shape {list(tensor.shape)}, want {list(shape)}"

    torch._check(tensor.dim() == len(shape), message)
    for extent, want in zip(tensor.shape, shape, strict=True):
        torch._check(extent == want, message)
'''

#: Stands where the shape of an extra tensor should.
UNKNOWN_SHAPE = '''\
def _unknown_shape(name: str) -> Tensor:
    """Stand for a tensor whose shape the export could not find out, for want of a machine that runs the kernel."""
    raise NotImplementedError(
        f"@name@ cannot be traced without the shape of {name}, which forward hands to backward. "
        f"Write it into {__file__}: {name} = @example@, or what it is; or export anew with extras=[...]"
    )
'''


def annotation(argument: Argument) -> str:
    """Write the Python type of an argument.

    Example:
        >>> annotation(Argument("bias", "Tensor?"))
        'Tensor | None'
    """
    return _ANNOTATIONS[argument.type]


def parameter(argument: Argument) -> str:
    """Write an argument as a parameter of a Python function.

    Example:
        >>> [parameter(Argument(*each)) for each in (("bias", "Tensor?", "None"), ("c", "float", "2"), ("n", "int", "007"))]
        ['bias: Tensor | None = None', 'c: float = 2.0', 'n: int = 7']
    """
    value = argument.default
    if argument.type == "int" and value is not None:
        value = str(int(value))
    elif argument.type == "float" and value is not None and value.lstrip("+-").isdigit():
        value = str(float(value))
    return f"{argument.name}: {annotation(argument)}" + ("" if value is None else f" = {value}")


def parameters(arguments: Sequence[Argument]) -> list[str]:
    """Write arguments as parameters of a Python function, where a default needs defaults behind it.

    Example:
        >>> parameters([Argument("a", "Tensor?", "None"), Argument("x", "Tensor"), Argument("c", "float", "2")])
        ['a: Tensor | None', 'x: Tensor', 'c: float = 2.0']
    """
    last = max((index for index, argument in enumerate(arguments) if argument.default is None), default=-1)
    return [parameter(a if index > last else replace(a, default=None)) for index, a in enumerate(arguments)]


def results_annotation(count: int, item: str = "Tensor") -> str:
    """Write the Python type of so many results.

    Example:
        >>> results_annotation(2)
        'tuple[Tensor, Tensor]'
    """
    return item if count == 1 else f"tuple[{', '.join([item] * count)}]"


def function_head(name: str, parameters: Sequence[str], returns: str, *, wide: int = 0) -> str:
    """Write the first line of a function, or its first lines where one would be too long with `wide` blanks ahead.

    Example:
        >>> function_head("f", ["x: Tensor"], "Tensor")
        'def f(x: Tensor) -> Tensor:'
    """
    line = f"def {name}({', '.join(parameters)}) -> {returns}:"
    if len(line) + wide <= WIDTH:
        return line
    inner = f"    {', '.join(parameters)}"
    if len(inner) + wide > WIDTH:
        inner = "\n".join(f"    {each}," for each in parameters)
    return f"def {name}(\n{inner}\n) -> {returns}:"


def extra_names(plan: Plan) -> tuple[str, ...]:
    """Name the extra tensors as the kernel's own `backward` does, `gates`; `extra0` where it gives them no name of use."""
    count = plan.interface.extras
    numbered = tuple(f"extra{number}" for number in range(count))
    if not count or not plan.interface.has_backward:
        return numbered
    kernel = plan.kernel
    found = (find_function(mask(text), "backward") for text in (kernel.cpp, kernel.cuda) if text)
    spelled = next((function.names for function in found if function is not None), ())[-count - 1 : -1]
    names = tuple(map(str.lower, spelled))
    signature = plan.op.signature
    known = {argument.name for argument in (*signature.inputs, *signature.outputs)}
    taken = known | {f"{ahead}{name}" for name in known for ahead in ("d_", "want_")} | {"ctx", "inputs", "output", "l"}
    plain = all(name.isidentifier() and name[0] != "_" and not is_reserved(name) for name in names)
    return names if plain and len({*names} - taken) == count else numbered


def backward_parameters(plan: Plan) -> tuple[Argument, ...]:
    """List what `OP_backward` takes ahead of the flags, with the extra tensors under their names."""
    taken = plan.backward_arguments
    ahead = taken[: len(taken) - plan.interface.extras]
    return (*ahead, *(Argument(name, "Tensor") for name in extra_names(plan)))


def output_dtypes(op: Op) -> tuple[str, ...]:
    """Say which dtype each output has: empty for that of the inputs, `"real"`, or a name such as `"int64"`.

    The reference tells, called at a small size in the widest dtype.

    Example:
        >>> import lltm_inline as li
        >>> output_dtypes(li.registry.ops["complex_abs2"])
        ('real',)
    """
    widest: torch.dtype = getattr(torch, op.dtypes[-1])
    real = widest.to_real()
    generator = torch.Generator().manual_seed(0)
    inputs = op.make_inputs(lambda *shape: torch.randn(shape, dtype=real, generator=generator), prime_size(op))
    names = {real: _REAL, widest: ""}
    return tuple(names.get(output.dtype, _name(output.dtype)) for output in op.run_reference(*inputs))


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def has_fakes(plan: Plan) -> bool:
    """Tell whether the operators need fake kernels: what differentiates through ATen is traced through ATen."""
    return plan.style == "stable" or (plan.style == "library" and plan.interface.has_backward)


def fake_functions(plan: Plan) -> list[str]:
    """Write the fake kernels of the operators, each with its registration, and the functions that they call."""
    if not has_fakes(plan):
        return []
    functions = [_forward(plan)]
    if plan.style == "library" and plan.interface.extras:
        functions.append(_whole(plan))
    if plan.interface.has_backward and not plan.kernel.double_backward:
        functions.append(_backward(plan))
    helpers = [fill(CHECK_SHAPE, op=plan.op.name)] if any("_check_shape(" in text for text in functions) else []
    if any("_unknown_shape(" in text for text in functions):
        first = _first(plan.op)
        extents = Letters(any_shape=f"{first.name}.shape").arguments(plan.op.shape_of[first.name])
        helpers.append(fill(UNKNOWN_SHAPE, name=plan.name, example=f"{first.name}.new_empty({extents})"))
    return helpers + functions


def _first(op: Op) -> Argument:
    return next(argument for argument in op.signature.inputs if argument.type == "Tensor")


def _registration(plan: Plan, name: str) -> str:
    return f'@torch.library.register_fake("{plan.name}::{name}")'


def _forward(plan: Plan) -> str:
    """Write the fake kernel of `OP_forward`: look at the shapes, and make empty results."""
    op = plan.op
    signature, shape_of, first = op.signature, op.shape_of, _first(op)
    required = [(a.name, shape_of[a.name]) for a in signature.inputs if a.type == "Tensor"]
    names = [*(output.name for output in signature.outputs), *extra_names(plan)]
    shapes = [*(shape_of[output.name] for output in signature.outputs), *(extra.shape for extra in plan.extras)]
    dtypes = [*output_dtypes(op), *(extra.dtype for extra in plan.extras)]
    looked_at = [shape_of[a.name] for a in signature.tensors]
    letters = letters_from(required, [shape for shape in (*looked_at, *shapes) if shape is not None])
    lines = [*letters.lines, *_checks(op, letters)]
    for name, shape, dtype in zip(names, shapes, dtypes, strict=True):
        made = f'_unknown_shape("{name}")'
        if shape is not None:
            made = _empty(first.name, letters.arguments(shape), _dtype(first.name, dtype, op))
        lines.append(f"{name} = {made}")
    if len(names) == 1:
        lines[-1] = f"return {lines[-1].partition(' = ')[2]}"
    else:
        lines.append(f"return {', '.join(names)}")
    marks = [_registration(plan, f"{op.name}_forward")]
    if plan.style == "library" and not plan.interface.extras:
        marks.insert(0, _registration(plan, op.name))
    return "\n".join(
        [
            *marks,
            function_head("_fake_forward", parameters(signature.inputs), results_annotation(len(names))),
            *_indented(lines),
            "",
        ]
    )


def _checks(op: Op, letters: Letters) -> list[str]:
    """Write a check of each input whose shape is not what the letters were taken from."""
    lines = []
    for argument in op.signature.tensors:
        name, shape = argument.name, op.shape_of[argument.name]
        if name in letters.checked or letters.any_shape == f"{name}.shape":
            continue
        extents = [f"*{letters.any_shape}"] if shape.any_rank else [extent(dim) for dim in shape.dims]
        call = "_check_shape(" + ", ".join([f'"{name}"', name, *extents]) + ")"
        lines += [call] if argument.type == "Tensor" else [f"if {name} is not None:", f"    {call}"]
    return lines


def _whole(plan: Plan) -> str:
    """Write the fake kernel of `OP`: what that of `OP_forward` does, less the extra tensors."""
    signature = plan.op.signature
    count = len(signature.outputs)
    names = ", ".join(a.name for a in signature.inputs)
    chosen = "[0]" if count == 1 else f"[:{count}]"
    return "\n".join(
        [
            _registration(plan, plan.op.name),
            function_head("_fake", parameters(signature.inputs), results_annotation(count)),
            *_indented([f"return _fake_forward({names}){chosen}"]),
            "",
        ]
    )


def _backward(plan: Plan) -> str:
    """Write the fake kernel of `OP_backward`: an empty gradient where one is wanted."""
    op = plan.op
    signature, shape_of = op.signature, op.shape_of
    taken = backward_parameters(plan)
    flags = [f"want_{tensor.name}" for tensor in signature.tensors]
    spelled = [*(f"{a.name}: {annotation(a)}" for a in taken), *(f"{flag}: bool" for flag in flags)]
    count = len(flags)
    head = function_head("_fake_backward", spelled, results_annotation(count, "Tensor | None"))
    known = _known_of_backward(plan, taken)
    needed = [shape_of[tensor.name] for tensor in signature.tensors]
    lines: list[str] = []
    letters = letters_from(known, needed)
    if not all(map(letters.tells, needed)) and len(signature.outputs) == 1 and taken[0].type == "Tensor?":
        # No gradient comes in, none goes out.
        lines += [f"if {taken[0].name} is None:", f"    return {', '.join(['None'] * count)}"]
        known = [(taken[0].name, shape_of[signature.outputs[0].name]), *known]
        letters = letters_from(known, needed)
    like = _like(plan, taken, [name for name, _ in known])
    if like and letters.any_shape and dict(known)[like[0]].any_rank:
        letters.any_shape = f"{like[0]}.shape"
    untold = [tensor for tensor, shape in zip(signature.tensors, needed, strict=True) if not letters.tells(shape)]
    if untold or not like:
        lines = _not_traced(plan, (untold or list(signature.tensors))[0], taken)
    else:
        name, dtype = like
        gradients = [
            f"{_empty(name, letters.arguments(shape), dtype)} if {flag} else None"
            for shape, flag in zip(needed, flags, strict=True)
        ]
        lines += letters.lines
        lines += [f"return {gradients[0]}"] if count == 1 else ["return (", *(f"    {g}," for g in gradients), ")"]
    return "\n".join([_registration(plan, f"{op.name}_backward"), head, *_indented(lines), ""])


def _known_of_backward(plan: Plan, taken: Sequence[Argument]) -> list[tuple[str, Shape]]:
    """List the tensors that are always among the arguments of backward, each with its shape."""
    op = plan.op
    outputs = [op.shape_of[output.name] for output in op.signature.outputs]
    shapes = [*outputs, *(op.shape_of.get(name) for name in plan.kernel.saves), *(extra.shape for extra in plan.extras)]
    pairs = zip(taken, shapes, strict=True)
    return [(argument.name, shape) for argument, shape in pairs if shape is not None and argument.type == "Tensor"]


def _like(plan: Plan, taken: Sequence[Argument], present: Sequence[str]) -> tuple[str, str] | None:
    """Choose the tensor from which gradients take device and dtype, and say how they differ from it in dtype."""
    op = plan.op
    inputs = {tensor.name for tensor in op.signature.tensors}
    by_output = dict(zip((f"d_{output.name}" for output in op.signature.outputs), output_dtypes(op), strict=True))
    saved = [argument.name for argument in taken if argument.name in inputs]
    same = [name for name in (*saved, *(name for name, dtype in by_output.items() if not dtype)) if name in present]
    if same:
        return same[0], ""
    complex_of = [name for name, dtype in by_output.items() if dtype == _REAL and name in present]
    return (complex_of[0], f"{complex_of[0]}.dtype.to_complex()") if complex_of else None


def _not_traced(plan: Plan, tensor: Argument, taken: Sequence[Argument]) -> list[str]:
    """Write the error of a backward that is not told the shape of a gradient."""
    shape = in_letters(plan.op.shape_of[tensor.name])
    given = ", ".join(argument.name for argument in taken)
    return [
        "raise NotImplementedError(",
        f'    "{plan.name}: backward cannot be traced: the shape of d_{tensor.name}, {shape}, does not follow from what it is "',
        f"    \"given ({given}). Add '{tensor.name}' to the kernel's saves, and export anew\"",
        ")",
    ]


def _dtype(first: str, dtype: str, op: Op) -> str:
    if dtype == _REAL or (
        op.dtypes[-1].startswith("complex") and dtype == _name(getattr(torch, op.dtypes[-1]).to_real())
    ):
        return f"{first}.dtype.to_real()"
    return f"torch.{dtype}" if dtype else ""


def _empty(like: str, extents: str, dtype: str) -> str:
    return f"{like}.new_empty({extents}{', dtype=' * bool(dtype)}{dtype})"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
