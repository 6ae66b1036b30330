"""Writes `ops.py` of an export: the op as a Python function, its fake kernels and, where C++ has none, its autograd."""

from __future__ import annotations

import re

from ..class_text import custom_class, python_text
from ..filling import commented, fill
from ..plan import Plan
from .autograd import classic_autograd, registered_autocast, registered_autograd
from .doc import docstring, entries, meanings, results, section, summary
from .fakes import extra_names, fake_functions, function_head, parameters, results_annotation
from .letters import QUIET

_MODULE = '''\
"""@what@"""

@quiet@
from __future__ import annotations

@imports@

@library@


@body@
'''


_FAKES = """\
# What torch.compile, torch.export and opcheck ask of an operator: the shapes and dtypes of its results, without values.
# The letters are those of the docstring of `@op@`.
"""

#: What a docstring says of tensors that the compiled code refuses.
REFUSES = "RuntimeError: the shape, dtype or device of a tensor does not fit."


def ops_text(plan: Plan) -> str:
    """Write `ops.py`."""
    fakes = fake_functions(plan)
    blocks = [_function(plan)]
    if plan.style == "pybind11" and plan.interface.has_backward:
        blocks = [*classic_autograd(plan), *blocks]
    if fakes:
        blocks += [f"{fill(_FAKES, op=plan.op.name)}\n\n{fakes[0]}", *fakes[1:]]
    if plan.style == "stable":
        blocks += [registered_autograd(plan)] * plan.interface.has_backward
        blocks[-1] += f"\n{registered_autocast(plan)}"
    custom = custom_class(plan)
    if custom is not None:
        blocks.append(python_text(plan, custom))
    body = "\n\n".join(f"{block.strip(chr(10))}\n" for block in blocks).rstrip("\n")
    imports = ["import torch"] * ("torch." in body) + ["from torch import Tensor"]
    text = fill(
        _MODULE,
        what=_what(plan),
        quiet=QUIET if any(re.search(r"^ +[\w, (]*\b[IO]\b[\w, )]* = ", fake, re.MULTILINE) for fake in fakes) else "",
        imports="\n".join([*["from typing import Any", ""] * ("Any" in body), *imports]),
        library="from ._library import extension"
        if plan.style == "pybind11"
        else "from . import _library  # noqa: F401  (registers the operators)",
        body=body,
    )
    return commented(plan.header, "#") + text


def _what(plan: Plan) -> str:
    """Write the docstring of the module."""
    op, name = plan.op.name, plan.name
    if plan.style == "pybind11":
        return f"The op `{op}` as a Python function over the compiled module."
    if not plan.interface.has_backward and plan.style == "library":
        return f"The operator `torch.ops.{name}.{op}` as a Python function."
    if plan.style == "stable":
        return f"The op `{op}` as a Python function over operators of `torch.ops.{name}`, and what PyTorch must know of these."
    return f"The operator `torch.ops.{name}.{op}` as a Python function, and what tracers must know of it."


def _function(plan: Plan) -> str:
    """Write the op's function."""
    op = plan.op
    signature = op.signature
    outputs = [output.name for output in signature.outputs]
    arguments = ", ".join(argument.name for argument in signature.inputs)
    body = f"return torch.ops.{plan.name}.{op.name}.default({arguments})"
    if plan.style == "stable":
        call = f"torch.ops.{plan.name}.{op.name}_forward.default({arguments})"
        body = f"return {call}"
        if plan.interface.extras:
            body = f"{', '.join([*outputs, *(f'_{name}' for name in extra_names(plan))])} = {call}\nreturn {', '.join(outputs)}"
    elif plan.style == "pybind11":
        body = f"return {f'_{plan.module}.apply' if plan.interface.has_backward else 'extension.forward'}({arguments})"
    doc = docstring(
        summary(op),
        section("Args", entries(meanings(op))),
        section("Returns", results(op)),
        section("Raises", REFUSES),
    )
    head = function_head(op.name, parameters(signature.inputs), results_annotation(len(outputs)))
    lines = [*f'"""{doc}"""'.split("\n"), *body.split("\n")]
    return "\n".join([head, *(f"    {line}".rstrip() for line in lines)])
