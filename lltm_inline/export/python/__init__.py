"""Writes the Python package of an export: the op as a function and as a module, and its reference."""

from __future__ import annotations

import textwrap

from ...errors import InputError
from ..class_text import custom_class
from ..filling import WIDTH, commented, fill
from ..plan import Plan
from .module import module_arguments, module_text
from .ops import ops_text
from .reference import reference_text, tolerances_of

__all__ = ["VERSION", "module_arguments", "python_files"]

#: Of every export, to begin with.
VERSION = "0.1.0"

#: What modules, autograd and compiled modules are called where arguments of the op stand, too.
_TAKEN = {"ctx", "extension", "name", "self", "tensor", "wanted"}

_INIT = '''\
"""The op `@op@` as an extension of PyTorch, from the kernel @labels@."""

from __future__ import annotations

from .modules import @module@
from .ops import @public@

__all__ = [@names@]
__version__ = "@version@"
'''

_REFERENCE = '''\
"""@doc@"""

from __future__ import annotations

@definitions@
'''

_TOLERANCES = """\
#: How far results may be off, (rtol, atol), by the dtype in which `randn` draws.
TOLERANCES = {
    @lines@
}"""

_SIZES = """\
#: The sizes to time, by the letters of the shapes.
SIZES = (
    @lines@
)"""


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
    texts = {
        "__init__.py": _init(plan),
        "ops.py": ops_text(plan),
        "modules.py": module_text(plan),
        "reference.py": _reference(plan),
    }
    return {f"{plan.name}/{name}": text for name, text in texts.items()}


def _init(plan: Plan) -> str:
    custom = custom_class(plan)
    public = [*([custom.name] if custom else []), plan.op.name]
    names = [plan.module, *public]
    return commented(plan.header, "#") + fill(
        _INIT,
        op=plan.op.name,
        labels=plan.labels,
        module=plan.module,
        public=", ".join(public),
        names=", ".join(f'"{name}"' for name in names),
        version=VERSION,
    )


def _short(value: float) -> str:
    """Write `1.25e-4` for 0.000125."""
    digits, _, power = f"{value:e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}" if 0 < value < 1e-3 else repr(value)


def _narrow(paragraph: str) -> str:
    """Fill a paragraph again that is too wide; a formula stays as it is."""
    lines = paragraph.split("\n")
    if max(map(len, lines)) <= WIDTH or any(line[:1] in (" ", "*", "-") for line in lines):
        return paragraph
    return textwrap.fill(paragraph, WIDTH, break_long_words=False, break_on_hyphens=False)


def _reference(plan: Plan) -> str:
    """Write `reference.py`."""
    op = plan.op
    pairs = [f'"{dtype}": ({_short(rtol)}, {_short(atol)}),' for dtype, (rtol, atol) in tolerances_of(op).items()]
    sizes = ["{" + ", ".join(f'"{letter}": {n}' for letter, n in size.items()) + "}," for size in plan.sizes]
    constants = [
        fill(_TOLERANCES, lines="\n".join(pairs)),
        fill(_SIZES, lines="\n".join(sizes)) if sizes else f"{_SIZES.partition('(')[0]}()",
    ]
    doc = op.doc.strip() or f"The op `{op.name}` in plain PyTorch, and inputs to call it with."
    doc = "\n\n".join(map(_narrow, doc.split("\n\n"))).replace("\\", "\\\\").replace('"""', "'''")
    return commented(plan.header, "#") + fill(
        _REFERENCE,
        doc=doc + "\n" * ("\n" in doc or doc.endswith('"')),
        definitions=reference_text(op, constants).rstrip("\n"),
    )
