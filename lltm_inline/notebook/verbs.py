"""What `%kernel VERB` does, without IPython: each verb is a thin twin of a public function or two."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.arguments import shown
from ..base.command_line import as_typed
from ..errors import InputError, UnknownKernelError
from ..model.kernel import Kernel
from ..model.op import Argument, Op, Schema
from ..model.registry import diff, registry
from .options import KINDS, by_argument, laid_out, require_plain, suggestion

#: Puts a text into the next cell.
NextCell = Callable[[str], None]


@dataclass(frozen=True)
class Verb:
    """One verb of `%kernel`.

    Attributes:
        name: the word.
        takes: what stands behind it.
        help: what it does, in one line.
        run: called with the words behind it and with what fills the next cell; returns what is shown.
        fewest, most: how many words it takes.
        options: those that it knows.
    """

    name: str
    takes: str
    help: str
    run: Callable[[Sequence[str], NextCell], Any]
    fewest: int = 1
    most: int = 1
    options: tuple[str, ...] = ()


def perform(line: str, next_cell: NextCell) -> Any:
    """Run one line behind `%kernel`.

    Args:
        line: verb and names.
        next_cell: puts a text into the next cell.

    Returns:
        What is to be shown, or None.

    Raises:
        InputError: no such verb, or names missing or too many.
        UnknownKernelError: a name that the registry does not have.

    Example:
        >>> perform("diff axpy/cpp axpy/cpp", print)
        axpy/cpp and axpy/cpp are the same
    """
    words = [require_plain(word, "%kernel") for word in line.split()]
    if not words:
        return Help()
    name, rest = words[0], words[1:]
    verb = VERBS.get(name)
    if verb is None:
        raise InputError(f"%kernel: no verb {shown(name)}.{suggestion(name, VERBS)} Verbs: {', '.join(VERBS)}")
    unknown = [word for word in rest if word.startswith("-") and word not in verb.options]
    if unknown:
        known = f" Options: {', '.join(verb.options)}" if verb.options else " It has none"
        raise InputError(f"%kernel {name}: no option {shown(unknown[0])}.{suggestion(unknown[0], verb.options)}{known}")
    count = sum(not word.startswith("-") for word in rest)
    if not verb.fewest <= count <= verb.most:
        raise InputError(
            f"%kernel {name}: {'too many' if count > verb.most else 'no'} names: %kernel {name} {verb.takes}"
        )
    with as_typed(by_argument(verb.options)):
        return verb.run(rest, next_cell)


class Help:
    """The verbs, as `%kernel` alone shows them."""

    def __repr__(self) -> str:
        return f"%kernel VERB ...\n{help_of_verbs()}"


def _list(words: Sequence[str], _: NextCell) -> Any:
    if not words:
        return registry
    if words[0] not in registry.ops:
        names = ", ".join(registry.ops)
        raise UnknownKernelError(f"no op {shown(words[0])}.{suggestion(words[0], registry.ops)} Ops: {names}")
    return registry.ops[words[0]]


def _show(words: Sequence[str], _: NextCell) -> Any:
    return registry[words[0]]


def _diff(words: Sequence[str], _: NextCell) -> Any:
    if len(words) == 2:
        return diff(words[0], words[1])
    kernel = registry[words[0]]
    parent = registry.parent_of(kernel)
    if parent is None:
        raise InputError(f"%kernel diff: {kernel.label} was edited from nothing; name two kernels to compare them")
    return diff(parent, kernel)


def _history(words: Sequence[str], _: NextCell) -> Any:
    return registry.history(words[0])


def _revert(words: Sequence[str], _: NextCell) -> Any:
    """Make an earlier revision the current one: the one that is named, or what the current one was edited from."""
    kernel = registry[words[0]]
    if "@" not in words[0]:
        before = registry.before(kernel)
        if before is None:
            raise InputError(f"%kernel revert: {kernel.label} is the first revision; there is nothing to go back to")
        kernel = before
    registry.register(kernel)
    return registry.history(kernel.name)


def _source(words: Sequence[str], next_cell: NextCell) -> None:
    """Put `%%kernel` and the text of a kernel into the next cell."""
    names = [word for word in words if not word.startswith("--")]
    kernel = registry[names[0]]
    if kernel.python is not None:
        others = [other.label for other in registry.values() if other.op == kernel.op and other.python is None]
        raise InputError(
            f"%kernel source: {kernel.label} is a Python function and has no C++ text. Others: {', '.join(others)}"
        )
    kind = next((word.removeprefix("--") for word in words if word.startswith("--")), next(iter(kernel.sources)))
    if kind not in kernel.sources:
        raise InputError(f"%kernel source: {kernel.label} has no {kind} text, only {', '.join(kernel.sources)}")
    # The cell starts from this very revision: with the params of the current one it would be another kernel.
    name = kernel.name if kernel is registry[kernel.name] else f"{kernel.name}@{kernel.revision}"
    next_cell(cell_of(kernel, kind, name))


def cell_of(kernel: Kernel, kind: str, line: str) -> str:
    """Write the cell that makes a kernel.

    Args:
        kernel: whose text it is.
        kind: of the text.
        line: what stands behind `%%kernel`, besides the kind.

    Example:
        >>> cell_of(registry["axpy/cpp"], "cpp", "axpy/cpp").split("\\n")[0]
        '%%kernel axpy/cpp'
    """
    ask = "" if kind == "cpp" or (kind == "cuda" and not kernel.cpp) else f" --kind {kind}"
    return f"%%kernel {line}{ask}\n{kernel.sources[kind].removeprefix(chr(10)).rstrip()}\n"


#: What stands for an argument that is no tensor until somebody writes what it should be.
_ANY = {
    "float": "0.5",
    "int": "2",
    "bool": "True",
    "str": "''",
    "int[]": "[2]",
    "float[]": "[0.5]",
    "ScalarType": "torch.float32",
    "Tensor[]": "[randn(N), randn(N)]",
}


def cell_of_op(text: str) -> str:
    """Write the cell that makes an op, with a reference that is to be written, and a panel for its kernels.

    Args:
        text: name and schema: `"scale(Tensor x, float s) -> Tensor y"`.

    Raises:
        DefinitionError: no op can have that name, or the schema does not read.
        InputError: there is such an op.

    Example:
        >>> print(cell_of_op("scale(Tensor x, float s) -> Tensor y").split("li.registry")[1])
        .register(
            li.Op(
                "scale",
                "(Tensor x, float s) -> Tensor y",
                scale,
                shapes={"x": "N", "y": "N"},  # a letter for each axis: "B F"
                inputs=lambda randn, N: (randn(N), 0.5),
            )
        )
        li.playground("scale")
        <BLANKLINE>
    """
    name, bracket, rest = (part.strip() for part in text.partition("("))
    schema, read = bracket + rest, Schema.parse(bracket + rest)
    if name in registry.ops:
        raise InputError(f"there is an op {name} already: {registry.ops[name]}")

    def any_of(argument: Argument) -> str:
        if argument.is_tensor:
            return "torch.zeros(N, dtype=torch.int64)" if argument.dtype else "randn(N)"
        return argument.default or _ANY[argument.type.removesuffix("?")]

    shapes = {each.name: "N" for each in (*read.inputs, *read.outputs) if each.type.startswith("Tensor")}
    Op(name, schema, lambda *_: None, shapes, lambda randn, N: ())  # whatever is wrong with it is said now
    made = f"{', '.join(map(any_of, read.inputs))}{',' * (len(read.inputs) == 1)}"
    names = ", ".join(f'"{each}": "N"' for each in shapes)
    return f'''import torch

import lltm_inline as li


def {name}({", ".join(each.name for each in read.inputs)}):
    """Compute it in plain PyTorch: each kernel is held against this."""
    raise NotImplementedError("the reference of {name} is not written yet")


li.registry.register(
    li.Op(
        "{name}",
        {json.dumps(schema)},
        {name},
        shapes={{{names}}},  # a letter for each axis: "B F"
        inputs=lambda randn, N: ({made}),
    )
)
li.playground("{name}")
'''


def _adopt(words: Sequence[str], next_cell: NextCell) -> None:
    """Put a kernel that came in by `from_load_inline` into the next cell, as one of our own form under another name."""
    kernel = registry[words[0]]
    if kernel.variant != "inline":
        raise InputError(
            f"%kernel adopt: {kernel.label} is no kernel of %%load_inline or li.from_load_inline. "
            f"For its text: %kernel source {kernel.name}"
        )
    (text,) = kernel.sources.values()
    device = " --device cuda-cpu" * bool(kernel.cuda)
    next_cell(f"%%kernel {kernel.op}/mine --from {kernel.name}{device}\n{text.strip(chr(10))}\n")


def _asm(words: Sequence[str], _: NextCell) -> Any:
    from ..analysis.assembly import assembly

    names = [word for word in words if not word.startswith("--")]
    return assembly(*(registry[name] for name in names), remarks="--remarks" in words, hot="--hot" in words)


def _roofline(words: Sequence[str], _: NextCell) -> Any:
    from ..analysis.roofline import roofline
    from ..measure.benchmark import benchmark

    return roofline(benchmark([registry[word] for word in words]))


def _recover(words: Sequence[str], _: NextCell) -> Any:
    names = [word for word in words if not word.startswith("--")]
    return registry.recover(names[0] if names else None, every="--every" in words)


_TEXTS = tuple(f"--{kind}" for kind in KINDS)
_ASM = "show the machine code of its loops, or how those of two differ; --remarks: what the compiler did; --hot: where time goes"
_ALL = (
    Verb("list", "[OP]", "list the kernels, or those of an op", _list, 0),
    Verb("show", "KERNEL", "show the source", _show),
    Verb("source", "KERNEL [--cuda]", "put the source into the next cell, for editing", _source, options=_TEXTS),
    Verb("adopt", "KERNEL", "put one that came in by %%load_inline into the next cell, as a kernel of our own", _adopt),
    Verb("diff", "KERNEL [KERNEL]", "compare two, or one with what it was edited from", _diff, 1, 2),
    Verb("asm", "KERNEL [KERNEL] [--remarks] [--hot]", _ASM, _asm, 1, 2, ("--remarks", "--hot")),
    Verb(
        "roofline",
        "KERNEL [KERNEL]",
        "time them, and say how far that is from what this machine can do",
        _roofline,
        1,
        2,
    ),
    Verb("history", "KERNEL", "list its revisions, what became of each, and how fast each was", _history),
    Verb("revert", "KERNEL[@N]", "go back to what it was edited from, or to revision N", _revert),
    Verb(
        *("recover", "[OP or KERNEL] [--every]"),
        "bring back what this notebook made before a restart; --every: also what others made",
        *(_recover, 0),
        options=("--every",),
    ),
)
VERBS = {verb.name: verb for verb in _ALL}


def help_of_verbs() -> str:
    """Lay the verbs out as the rows of a help text."""
    return laid_out([(f"{verb.name} {verb.takes}", verb.help) for verb in VERBS.values()])
