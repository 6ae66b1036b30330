"""Pieces of C++ as a person would set them: lines of at most 120 columns, comments, schemas, names that do not clash."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from ...registry import Argument
from ...signature import TENSOR, cpp_type
from ..filling import WIDTH, commented
from ..plan import Plan
from ..python.fakes import backward_parameters


def listed(start: str, items: Sequence[str], end: str, indent: int = 0) -> str:
    """Write items between brackets, over several lines where one is too short for them.

    Args:
        start: ends in the opening bracket.
        items: parameters, arguments or elements.
        end: begins with the closing bracket.
        indent: of the first line, in spaces.

    Example:
        >>> listed("f(", ["a", "b"], ");", 2)
        '  f(a, b);'
    """
    ahead = " " * indent
    line = f"{ahead}{start}{', '.join(items)}{end}"
    if len(line) <= WIDTH:
        return line
    pieces = [*(f"{item}," for item in items[:-1]), f"{items[-1]}{end}"]
    lines = [""]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + 1 + len(piece) > WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {piece}" if lines[-1] else f"{ahead}    {piece}"
    return "\n".join([f"{ahead}{start}", *lines])


def tensor_type(api: str) -> str:
    """Spell the type of a tensor: what is on the stable ABI says `using torch::stable::Tensor`."""
    return TENSOR[api].removeprefix("torch::stable::")


def parameters(arguments: Sequence[Argument], api: str) -> list[str]:
    """Spell the parameters of a C++ function: `const at::Tensor& x`."""
    types = (cpp_type(argument, api).replace(TENSOR[api], tensor_type(api)) for argument in arguments)
    return [f"{type_} {argument.name}" for type_, argument in zip(types, arguments, strict=True)]


def returned(count: int, api: str) -> str:
    """Spell the type of so many tensors: one is bare, several are a tuple."""
    return tensor_type(api) if count == 1 else f"std::tuple<{', '.join([tensor_type(api)] * count)}>"


def wanted(plan: Plan) -> list[str]:
    """Name the flags of the operator `OP_backward`, one for each tensor input."""
    return [f"want_{argument.name}" for argument in plan.op.signature.tensors]


def result_names(plan: Plan) -> list[str]:
    """Name what `forward` returns: the outputs, then the extra tensors."""
    outputs = [output.name for output in plan.op.signature.outputs]
    return [*outputs, *(argument.name for argument in extra_arguments(plan))]


def extra_arguments(plan: Plan) -> tuple[Argument, ...]:
    """List the extra tensors as `backward` takes them: last."""
    count = plan.interface.extras
    return backward_parameters(plan)[-count:] if count and plan.interface.has_backward else ()


def gradient_names(plan: Plan) -> list[str]:
    """Name what `backward` returns."""
    return [f"d_{argument.name}" for argument in plan.op.signature.tensors]


def free_name(plan: Plan, name: str) -> str:
    """Return a name for a local variable: with an underscore where a tensor has it already."""
    taken = {argument.name for argument in (*plan.op.signature.inputs, *plan.op.signature.outputs)}
    if plan.interface.has_backward:
        taken |= {argument.name for argument in backward_parameters(plan)} | {*gradient_names(plan), *wanted(plan)}
    return f"{name}_" if name in taken else name


def operator_schemas(plan: Plan) -> list[str]:
    """Return the schemas of the operators: `OP`, unless Python makes it, `OP_forward` and `OP_backward`."""
    op, signature = plan.op.name, plan.op.signature
    inputs = ", ".join(map(str, signature.inputs))
    call = f"{op}({inputs}) -> {_returns(len(signature.outputs))}"
    if not plan.interface.has_backward:
        return [call]
    taken = [f"{argument.type} {argument.name}" for argument in backward_parameters(plan)]
    taken += [f"bool {flag}" for flag in wanted(plan)]
    return [
        *[call] * (plan.style == "library"),
        f"{op}_forward({inputs}) -> {_returns(len(result_names(plan)))}",
        f"{op}_backward({', '.join(taken)}) -> {_returns(len(signature.tensors))}",
    ]


def _returns(count: int) -> str:
    return "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"


def definition(schema: str) -> str:
    """Write `m.def` of a schema, which may take several lines."""
    line = f'  m.def("{schema}");'
    if len(line) <= WIDTH:
        return line
    pieces = textwrap.wrap(schema, WIDTH - 10, break_long_words=False)
    quoted = [f'"{piece} "' for piece in pieces[:-1]] + [f'"{pieces[-1]}");']
    return "\n".join(["  m.def(", *(f"      {piece}" for piece in quoted)])


def head(plan: Plan, doc: str = "") -> str:
    """Write the beginning of a file: the licence, then the doc."""
    return commented(plan.header, "//") + (comment(doc) + "\n" if doc.strip() else "")


def comment(doc: str) -> str:
    """Write a docstring as a comment; paragraphs that are too wide for it are set anew, formulae moved to the left.

    Example:
        >>> comment("Scale.\\n\\n    y = c x")
        '// Scale.\\n//\\n//     y = c x\\n'
    """
    width = WIDTH - len("// ")
    paragraphs = re.split(r"(\n(?:[ \t]*\n)+)", textwrap.dedent(doc).strip("\n").rstrip())
    formulae = [_is_formula(paragraph) for paragraph in paragraphs]
    lines = [line for part, formula in zip(paragraphs, formulae, strict=True) if formula for line in part.split("\n")]
    surplus = min(max((len(line) for line in lines), default=0) - width, _INDENT - 1)
    text = ""
    for part, formula in zip(paragraphs, formulae, strict=True):
        text += re.sub(rf"^ {{{max(surplus, 0)}}}", "", part, flags=re.MULTILINE) if formula else _set(part, width)
    # A backslash at the end of a line would swallow the next one.
    marked = (re.sub(r"\\$", r"\\ .", f"// {line}".rstrip()) for line in text.split("\n"))
    return "".join(f"{line}\n" for line in marked)


_INDENT = 4


def _is_formula(paragraph: str) -> bool:
    """Tell a formula or table, which is indented, from prose."""
    lines = [line for line in paragraph.split("\n") if line.strip()]
    return bool(lines) and all(line.startswith(" " * _INDENT) for line in lines)


def _set(paragraph: str, width: int) -> str:
    """Break the lines of a paragraph that is too wide anew."""
    lines = paragraph.split("\n")
    if all(len(line) <= width for line in lines):
        return paragraph
    items: list[str] = []
    for line in lines:
        if not items or re.match(_MARK, line):
            items.append(line)
        else:
            items[-1] += f" {line.strip()}"
    return "\n".join(_filled(item, width) for item in items)


#: What a paragraph of a list begins with.
_MARK = r"\s*(?:[*-]|\d+\.)\s+"


def _filled(item: str, width: int) -> str:
    mark = re.match(_MARK, item) or re.match(r"\s*", item)
    assert mark is not None
    return textwrap.fill(
        item, width, subsequent_indent=" " * len(mark[0]), break_long_words=False, break_on_hyphens=False
    )
