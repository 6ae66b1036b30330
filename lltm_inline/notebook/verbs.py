"""The table of verbs: what `python -m lltm_inline VERB` and `%kernel VERB` do. Each is a thin twin of a public function or two."""

from __future__ import annotations

import inspect
import json
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

from ..base.arguments import offer, shown
from ..base.command_line import as_typed
from ..base.device import DEVICES
from ..base.verbs import (
    COMMAND,
    MAGIC,
    Option,
    Verb,
    amount,
    by_argument,
    content,
    count,
    laid_out,
    output,
    picture,
    require_plain,
    size,
    suggestion,
)
from ..errors import InputError, UnknownKernelError
from ..export.plan import HOWS
from ..model.kernel import Kernel
from ..model.op import Argument, Op, Schema
from ..model.own_file import kernels_of
from ..model.registry import diff, registry
from ..source.template import devices_of, render
from ..tables.timings import DIRECTIONS, GLANCE_SECONDS, KEPT_SECONDS
from .options import KINDS

#: Puts a text into the next cell.
NextCell = Callable[[str], None]


def perform(line: str, next_cell: NextCell) -> Any:
    """Run one line behind `%kernel`.

    Args:
        line: verb, names and options.
        next_cell: puts a text into the next cell.

    Returns:
        What is to be shown, or None.

    Raises:
        InputError: no such verb or option, or names missing or too many.
        UnknownKernelError: a name that the registry does not have.

    Example:
        >>> perform("diff axpy/cpp axpy/cpp", print)
        axpy/cpp and axpy/cpp are the same
    """
    words = [require_plain(word, "%kernel") for word in line.split()]
    if words in ([], ["help"]):
        return Help()
    if (verb := VERBS.get(words[0])) is None:
        raise InputError(f"%kernel: no verb {shown(words[0])}.{suggestion(words[0], VERBS)} Verbs: {', '.join(VERBS)}")
    given = verb.read(words[1:], "%kernel")
    given.next_cell = next_cell
    with as_typed(by_argument(verb.known.values())):
        found = verb.run(given)
        if isinstance(found, Iterator):
            several = list(found)
            found = several[0] if len(several) == 1 else several
    save(found, given)
    return found


def save(found: Any, given: Namespace) -> None:
    """Write what was found into the files that a command or a magic names."""
    for kind in ("json", "csv"):
        if getattr(given, kind, None):
            getattr(found, f"to_{kind}")(getattr(given, kind))
    if getattr(given, "plot", None):
        _public("plot")(found).savefig(given.plot)


def _public(name: str) -> Any:
    """Find a function by its public name: the rooms behind it are imported when it is used."""
    return getattr(import_module(__package__.partition(".")[0]), name)


class Help:
    """The verbs, as `%kernel` alone shows them."""

    def __repr__(self) -> str:
        return f"%kernel VERB ...\n{help_of_verbs()}"


def _list(given: Namespace) -> Any:
    if given.op is None:
        return registry
    if given.op not in registry.ops:
        raise UnknownKernelError(f"no op {given.op!r}.{offer(given.op, registry.ops)}")
    return registry.ops[given.op]


def _diff(given: Namespace) -> Any:
    if given.other:
        return diff(given.kernel, given.other)
    kernel = registry[given.kernel]
    parent = registry.parent_of(kernel)
    if parent is None:
        raise InputError(f"%kernel diff: {kernel.label} was edited from nothing; name two kernels to compare them")
    return diff(parent, kernel)


def files_of(given: Namespace) -> list[tuple[str, str]]:
    """Write a kernel's source, its binding or what is compiled of it: texts, each with its language."""
    kernel = registry[given.kernel]
    if kernel.python is not None:
        if given.binding or given.rendered:
            raise InputError(f"kernel {kernel.label!r} is a Python function: it has no binding and nothing is rendered")
        return [(inspect.getsource(kernel.python), "python")]
    if not (given.binding or given.rendered):
        # One text is printed as it is; of several each needs its name.
        names = {kind: f"// {kernel.label} ({kind})\n" * (len(kernel.sources) > 1) for kind in kernel.sources}
        return [(names[kind] + text.strip("\n"), "cpp") for kind, text in kernel.sources.items()]
    rendered = render(kernel, registry.op_of(kernel), given.device or devices_of(kernel)[0])
    if given.binding:
        return [(rendered.sources[f"{kernel.name} (binding)"], "cpp")]
    return [(rendered.text, "cpp"), *([(rendered.cuda, "cuda")] * bool(rendered.cuda))]


def _revert(given: Namespace) -> Any:
    """Make an earlier revision the current one: the one that is named, or what the current one was edited from."""
    kernel = registry[given.kernel]
    if "@" not in given.kernel:
        before = registry.before(kernel)
        if before is None:
            raise InputError(f"%kernel revert: {kernel.label} is the first revision; there is nothing to go back to")
        kernel = before
    registry.register(kernel)
    return registry.history(kernel.name)


def _source(given: Namespace) -> None:
    """Put `%%kernel` and the text of a kernel into the next cell."""
    kernel = registry[given.kernel]
    if kernel.python is not None:
        others = [other.label for other in registry.values() if other.op == kernel.op and other.python is None]
        raise InputError(
            f"%kernel source: {kernel.label} is a Python function and has no C++ text. Others: {', '.join(others)}"
        )
    kind = next((kind for kind in KINDS if getattr(given, kind)), next(iter(kernel.sources)))
    if kind not in kernel.sources:
        raise InputError(f"%kernel source: {kernel.label} has no {kind} text, only {', '.join(kernel.sources)}")
    # The cell starts from this very revision: with the params of the current one it would be another kernel.
    name = kernel.name if kernel is registry[kernel.name] else f"{kernel.name}@{kernel.revision}"
    given.next_cell(cell_of(kernel, kind, name))


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


def _adopt(given: Namespace) -> None:
    """Put a kernel that came in by `from_load_inline` into the next cell, as one of our own form under another name."""
    kernel = registry[given.kernel]
    if kernel.variant != "inline":
        raise InputError(
            f"%kernel adopt: {kernel.label} is no kernel of %%load_inline or li.from_load_inline. "
            f"For its text: %kernel source {kernel.name}"
        )
    (text,) = kernel.sources.values()
    device = " --device cuda-cpu" * bool(kernel.cuda)
    given.next_cell(f"%%kernel {kernel.op}/mine --from {kernel.name}{device}\n{text.strip(chr(10))}\n")


def _check(given: Namespace) -> Iterator[Any]:
    """Check one after the other. All names first: a typing mistake in the last one should not show after a minute."""
    if bool(given.kernels) == given.all:
        raise InputError("the following arguments are required: OP/VARIANT, or --all in its place")
    if given.all:
        from ..checking.check_many import Checks, check_many

        rows = []
        for row in check_many(list(registry.values()), given.device):
            rows.append(row)
            if row.details:
                yield row.details
        yield Checks(tuple(rows))
        return
    for kernel in [kernel for word in given.kernels for kernel in kernels_of(word)]:
        yield _public("check")(kernel, device=given.device)


def _twin(name: str, *options: str) -> Callable[[Namespace], Any]:
    """Return what calls the public function of that name with these options."""
    return lambda given: _public(name)(**{option: getattr(given, option) for option in options})


_benchmark = _twin("benchmark", "kernels", "sizes", "device", "seconds")


def _sweep(given: Namespace) -> Any:
    given.params = dict(given.params)
    return _twin("sweep", "kernel", "params", "size", "direction", "device", "seconds")(given)


def _place(text: str) -> int | tuple[int, ...] | None:
    """Read a thread or a block: `3`, `1,0,0`, or `all`."""
    if text == "all":
        return None
    numbers = size(text)
    return numbers[0] if len(numbers) == 1 else numbers


def _export(given: Namespace) -> Any:
    how = {name: getattr(given, name) for name in ("name", "extras", "device", "force")}
    return _public("export")(
        given.kernel, given.to, given.how, header=given.header or "", check=not given.no_check, **how
    )


def _values(text: str) -> tuple[str, list[int | float]]:
    """Read the values of a param, `GRAIN=512,2048`."""
    name, _, values = text.partition("=")
    try:
        return name, [float(each) if set(each) & set(".en") else int(each) for each in values.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no param with its values; write GRAIN=512,2048") from None


_KERNEL = Option("kernel", "OP/VARIANT", "", needed=True)
_OTHER = Option("other", "OP/VARIANT", "one whose loops to compare with")
_KERNELS = Option("kernels", "OP/VARIANT ...", "", needed=True)
_BASELINE = replace(_KERNELS, help="baseline: OP/python, else the first")
_DEVICE = Option("--device", "DEVICE", "cpu (default), cuda, or cuda-cpu: CUDA source on the CPU", default="cpu")
_ONE_OF = Option("--device", "DEVICE", "of its texts; default: the first that it has one for", tuple(DEVICES))
_SIZES = Option("--sizes", "SIZE ...", "such as 16,32,128 64,1024,128", read=size)
_SECONDS = Option(
    "--seconds", "N", f"for each kernel and size (default {KEPT_SECONDS:g})", read=amount, default=KEPT_SECONDS
)
_PLOT = Option("--plot", "FILE", "save the picture there (.png, .svg, .pdf)", read=picture)
_FILES = (
    Option("--json", "FILE", "write what was measured there", read=output),
    Option("--csv", "FILE", "write the rows there", read=output),
    _PLOT,
)

#: All verbs, in the order of the help.
TABLE = (
    Verb("list", "list ops and their kernels", _list, (Option("op", "OP", "only the kernels of this op"),)),
    Verb("show", "show the source of a kernel", lambda given: registry[given.kernel], (_KERNEL,), (
        Option("--binding", "", "the C++ that binds it to PyTorch instead", apart="what", only=COMMAND),
        Option("--rendered", "", "the complete files that are compiled instead", apart="what", only=COMMAND),
        replace(_ONE_OF, help="for --binding and --rendered, where a kernel has texts for both", only=COMMAND),
    )),
    Verb("source", "put the source into the next cell, for editing", _source, (_KERNEL,),
         tuple(Option(f"--{kind}", "", f"its {kind} text") for kind in KINDS), MAGIC),
    Verb("adopt", "put one that came in by %%load_inline into the next cell, as a kernel of our own", _adopt, (_KERNEL,), only=MAGIC),
    Verb("diff", "compare two, or one with what it was edited from", _diff, (_KERNEL, _OTHER), only=MAGIC),
    Verb("check", "compare kernels and their gradients with the reference", _check, (
        replace(_KERNELS, help="or FILE.py:OP/VARIANT, or FILE.py for all that it registers", needed=False),
    ), (Option("--all", "", "every kernel, each as far as this machine goes, and a table"), _DEVICE)),
    Verb("benchmark", "check kernels, time them against each other, and plot", _benchmark, (_BASELINE,),
         (_SIZES, _DEVICE, _SECONDS, *_FILES)),
    Verb("sweep", "time a kernel with many choices of its params", _sweep, (_KERNEL,), (
        Option("--params", "NAME=N,N ...", "the values to try", read=_values, needed=True),
        Option("--size", "SIZE", "such as 16,32,128; default: the first of the op's own", read=size),
        Option("--direction", "DIRECTION", "what to time; default: both", DIRECTIONS),
        *(_DEVICE, replace(_SECONDS, help=f"for each point (default {GLANCE_SECONDS:g})", default=GLANCE_SECONDS), *_FILES),
    )),
    Verb("memory", "measure what kernels hold for backward, and their peak",
         _twin("memory", "kernels", "sizes", "device", "depth"), (_BASELINE,),
         (_SIZES, _DEVICE, Option("--depth", "N", "number of layers (default 1)", read=count, default=1), *_FILES)),
    Verb("counts", "count what the launches of CUDA kernels ask of the memory; no GPU is needed",
         _twin("counts", "kernels", "sizes"), (replace(_KERNELS, help="baseline: the first"),), (_SIZES, *_FILES)),
    Verb("trace", "show what the threads of a kernel load and store, with values; no GPU is needed",
         _twin("trace", "kernel", "line", "thread", "block", "sizes", "direction"), (_KERNEL,), (
        Option("--line", "N", "of the source; default: all", read=count),
        Option("--thread", "THREAD", "3, or 1,0,0, or all (default)", read=_place),
        Option("--block", "BLOCK", "likewise (default 0)", read=_place, default=0),
        Option("--sizes", "SIZE", "such as 16,32,128; default: that of the gradient check", read=size),
        Option("--direction", "DIRECTION", "forward (default) or backward", DIRECTIONS[:2], default=DIRECTIONS[0]),
        *_FILES,
    )),
    Verb("asm", "show the machine code of its loops, or how those of two differ; --remarks: what the compiler did; "
         "--hot: where time goes", _twin("assembly", "kernel", "other", "device", "remarks", "hot"), (_KERNEL, _OTHER), (
        _ONE_OF,
        Option("--remarks", "", "also what the compiler did with each line, or why not"),
        Option("--hot", "", "also to which lines the time goes, by samples of perf"),
    )),
    Verb("roofline", "time kernels, and say how far that is from what this machine can do",
         lambda given: _public("roofline")(_benchmark(given)), (_KERNELS,),
         (_SIZES, replace(_DEVICE, help="cpu (default) or cuda"), _SECONDS, _PLOT)),
    Verb("history", "list the revisions of a kernel, what became of each, and how fast each was",
         lambda given: registry.history(given.kernel), (_KERNEL,)),
    Verb("revert", "go back to what it was edited from, or to revision N", _revert,
         (replace(_KERNEL, takes="KERNEL[@N]"),), only=MAGIC),
    Verb("recover", "bring back what this notebook made before a restart; --every: also what others made",
         lambda given: registry.recover(given.name, every=given.every), (Option("name", "OP or KERNEL", ""),),
         (Option("--every", "", "also what others made"),), MAGIC),
    Verb("export", "write a kernel out as a project that needs no lltm_inline", _export,
         (replace(_KERNEL, help="or an op, for its fused or C++ variant"),), (
        Option("--to", "DIR", "a directory that does not exist or is empty", needed=True),
        Option("--how", "HOW", f"what builds it (default {HOWS[0]})", HOWS, default=HOWS[0]),
        Option("--name", "NAME", "of the package (default OP_VARIANT)"),
        Option("--header", "FILE", "for the top of every file; comment signs are added", read=content),
        replace(_ONE_OF, help="only this one, where a kernel has texts for both"),
        Option("--extras", "SHAPE ...", "of the extra tensors, such as 'B 3S', where no GPU can tell", only=COMMAND),
        Option("--no-check", "", "export it unchecked, or wrong"),
        Option("--force", "", "move what is in DIR to a directory beside it"),
    )),
    Verb("doctor", "say what this machine can do, and what mends the gaps", _twin("doctor")),
)  # fmt: skip
#: Those of `%kernel`.
VERBS = {verb.name: verb for verb in TABLE if verb.only != COMMAND}


def help_of_verbs() -> str:
    """Lay the verbs out as the rows of a help text."""
    return laid_out([(f"{verb.name} {verb.takes}".strip(), verb.help) for verb in VERBS.values()])
