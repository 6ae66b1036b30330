"""Takes from an op and its reference what docstrings of an export say: a summary, arguments and results."""

from __future__ import annotations

import inspect
import re

from ...op import Argument, Op
from .letters import in_letters

_SECTION = re.compile(r"(Args|Returns|Raises|Yields|Examples?|Notes?|Source|References?|Attributes|Warnings?):\s*(.*)")


def summary(op: Op) -> str:
    """Say what an op does: what stands ahead of the first section of its reference's docstring, or the op's first line.

    Example:
        >>> import lltm_inline as li
        >>> summary(li.registry.ops["lltm"])
        'Advance an LLTM cell by one step.'
    """
    return _sections(op)[""] or op.doc.strip().partition("\n")[0].strip() or f"Compute the op `{op.name}`."


def meanings(op: Op) -> dict[str, str]:
    """Say of each input what it is, `"(B, F)."`, in the words of the reference where it has some for all of them."""
    inputs = op.signature.inputs
    section = _sections(op).get("Args", "")
    said = {match[1]: match[2] for match in re.finditer(r"^(\w+): (.*(?:\n .*)*)", section, re.MULTILINE)}
    if all(argument.name in said for argument in inputs):
        return {argument.name: said[argument.name] for argument in inputs}
    return {argument.name: f"{_kind(op, argument)}." for argument in inputs}


def results(op: Op) -> str:
    """Say what the op returns."""
    named = (f"{output.name}, {_kind(op, output)}" for output in op.signature.outputs)
    return _sections(op).get("Returns", "") or f"{' and '.join(named)}."


def entries(said: dict[str, str]) -> str:
    """Write the entries of a section of a docstring.

    Example:
        >>> entries({"x": "any shape.", "eps": "a number."})
        'x: any shape.\\neps: a number.'
    """
    return "\n".join(f"{name}: {text}" for name, text in said.items())


def docstring(*parts: str) -> str:
    """Put paragraphs and sections into what stands between the quotes, in the first column; the last line is empty.

    Example:
        >>> docstring("Double it.", "Args:\\n    x: any shape.")
        'Double it.\\n\\nArgs:\\n    x: any shape.\\n'
    """
    return "\n\n".join(filter(None, parts)).replace("\\", "\\\\").replace('"""', "'''") + "\n"


def section(title: str, text: str) -> str:
    """Write a section of a docstring.

    Example:
        >>> section("Args", "x: any shape.")
        'Args:\\n    x: any shape.'
    """
    return f"{title}:\n" + "\n".join(f"    {line}".rstrip() for line in text.split("\n"))


def _kind(op: Op, argument: Argument) -> str:
    """Say of an argument what it is: a tensor of some shape, or a number."""
    if not argument.is_tensor:
        return {"float": "a number", "int": "an integer", "bool": "True or False"}[argument.type]
    shape = in_letters(op.shape_of[argument.name])
    if argument.name in op.any_rank[1:]:
        shape = f"of the shape of {op.any_rank[0]}"
    return shape + (", or None" if argument.type == "Tensor?" else "")


def _sections(op: Op) -> dict[str, str]:
    """Take the reference's docstring apart; the text ahead of the sections has an empty name."""
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
