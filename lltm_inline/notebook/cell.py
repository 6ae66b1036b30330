"""A cell becomes a kernel: what `%%kernel` does, without IPython.

cell -> text whose lines count as the cell's -> Kernel, registered -> build -> check -> benchmark, each shown as it comes
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..base.arguments import nearest, shown
from ..base.device import DEVICES
from ..base.verbs import suggestion
from ..compiling.compiler import Build
from ..cpp.masks import headers, mask
from ..diagnosis.source_text import python_line
from ..errors import BuildError, InputError, TemplateError, UnknownKernelError
from ..measure.counts import can_count
from ..model.kernel import Kernel
from ..model.outcomes import is_about
from ..model.registry import Diff, diff, fit, registry
from ..run.setting import Setting, choose_sizes
from ..show.parts import fold, page, paragraph, tick
from ..show.source import diff_source
from ..source.template import usual_device
from .live import Notebook, Terminal
from .options import KINDS
from .pipeline import Order, carry_out

#: A kernel that is known not to work is nothing to be timed against.
_FAIR = ("new", "built", "right")
#: What a revision takes over from the kernel behind `--from`.
_INHERITED = ("cpp", "cuda", "binding", "params", "slots", "saves", "double_backward", "functions", "api", "flags")
#: How the headers of the stable ABI begin, and others of torch.
_STABLE = ("torch/csrc/stable/", "torch/headeronly/")
_ATEN = ("ATen/", "c10/", *(f"torch/{name}.h" for name in ("extension", "torch", "all", "types", "library")))


@dataclass(frozen=True)
class Outcome:
    """What became of a cell that compiled; shows itself as one line, behind which a notebook folds the difference.

    Attributes:
        kernel: label of the revision that the cell made.
        built: the build.
        difference: from what it was edited from, or None.
        note: what else there is to say, or nothing.
    """

    kernel: str
    built: Build
    difference: Diff | None = None
    note: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, [self._how(), self._changed(), self.note]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        changed: object = self._changed()
        if self.difference is not None and self.difference.text:
            changed = fold(self._changed(), diff_source(self.difference.text))
        return page(paragraph(tick(True, "compiles:"), " ", "; ".join(filter(None, [self._how(), self.note]))), changed)

    def _how(self) -> str:
        how = "from the cache" if self.built.cached else f"built with {self.built.compiler}"
        return f"{self.kernel}: {how} in {self.built.seconds:.2f} s"

    def _changed(self) -> str:
        if self.difference is None:
            return ""
        before, count = self.difference.before, self.difference.lines
        if not self.difference.text:
            return f"the same as {before}"
        others = [kind for kind in self.difference.kinds if kind not in KINDS]
        named = f" ({', '.join(others)})" if others else ""
        return f"{count} line{'s differ' if count != 1 else ' differs'} from {before}{named}"


def text_of(body: str, lines_ahead: int = 0, magic: str = "%%kernel") -> str:
    """Make a kernel's text of what stands below `%%kernel`.

    Args:
        body: all of the cell but its first line.
        lines_ahead: empty lines above `%%kernel`.
        magic: its name, for messages.

    Returns:
        The text with an empty line in the place of each line above it: so line n of the text is line n of the cell.

    Raises:
        InputError: there is no text, or it is Python.

    Example:
        >>> text_of("int x;")
        '\\nint x;\\n'
    """
    if not body.strip():
        raise InputError(
            f"{magic}: the cell has no C++ text below its first line. "
            "To start from a kernel's text: %kernel source axpy/cpp"
        )
    above = 1 + lines_ahead
    found = python_line(body)
    if found is not None:
        number, line = found
        raise InputError(
            f"{magic}: line {number + above} of the cell looks like Python: {shown(line.strip())}. {magic} takes C++: "
            f"run Python in a cell without {magic}, or start from a kernel's text with %kernel source axpy/cpp"
        )
    return "\n" * above + body.rstrip() + "\n"


def kernel_of(options: Namespace, text: str) -> Kernel:
    """Make the revision that a cell describes: of a kernel that is there, or the first one of a new name.

    Args:
        options: from the cell's first line.
        text: from its body.

    Returns:
        The kernel, not registered yet. The same cell again gives the same revision.

    Raises:
        UnknownKernelError: no such op, revision, or kernel behind `--from`.
        InputError: a Python function, which has no text.
        DefinitionError: the kernel breaks a rule, or does not fit its op. No revision is made then.
    """
    known = _known(options.name)
    origin = _with_text(registry[options.source], f"--from {options.source}") if options.source else None
    kind = options.kind or _kind(options, known or origin, text)
    given = {name: getattr(options, name) for name in ("saves", "flags", "api", "binding")}
    changes = {name: value for name, value in given.items() if value is not None}
    base = origin or _blank(options.name, kind, text) if known is None else origin
    tables = {name: {**getattr(base, name, {}), **getattr(options, name)} for name in ("params", "slots")}
    if known is not None:
        own = {} if origin is None else {name: getattr(origin, name) for name in _INHERITED}
        fields = {**own, **changes, **tables, kind: text}
        fit(replace(known, **fields), registry.op_of(known))
        return known.replace(**fields)
    assert base is not None
    parent = origin.label if origin else ""
    doc = f"Made in a notebook{f' from {parent}' if parent else ''}."
    made = {"name": options.name, "doc": doc, "revision": 0, "parent": parent}
    return replace(base, **{**made, **changes, **tables, kind: text})


def _known(name: str) -> Kernel | None:
    """Return the kernel that a cell edits, or None where it makes the first one of a name."""
    op, slash, variant = name.partition("/")
    if not (op and slash and variant):
        word = op or variant
        own = word if re.fullmatch(r"[a-z][a-z0-9_]*", word) else "mine"
        near = op if op in registry.ops else nearest(word, registry.ops, 0.75)
        examples = [f"{near}/mine"] if near else [f"{each}/{own}" for each in list(registry.ops)[:3]]
        example = ", ".join(examples)
        raise InputError(f"%%kernel: {shown(name)} is no name of a kernel, want op/variant, such as {example}.")
    if op not in registry.ops:
        near = suggestion(op, registry.ops, 0.7)
        raise UnknownKernelError(
            f"%%kernel {name}: no op {shown(op)}.{near} Ops: {', '.join(registry.ops)}; lesson 13 shows how to make one with li.Op"
        )
    if name in registry or "@" in name:
        return _with_text(registry[name], f"%%kernel {name}")
    return None


def _with_text(kernel: Kernel, where: str) -> Kernel:
    if kernel.python is not None:
        raise InputError(
            f"{where}: {kernel.label!r} is a Python function and has no text. "
            f"Choose another name, such as {kernel.op}/mine"
        )
    return kernel


def _kind(options: Namespace, base: Kernel | None, text: str) -> str:
    """Choose which text a cell is: CUDA for a CUDA device, where the kernel has nothing else, or where it has a `__global__`."""
    only_cuda = base is not None and bool(base.cuda) and not base.cpp
    return "cuda" if only_cuda or (not options.device and is_cuda(text)) else DEVICES[options.device or "cpu"].text


def is_cuda(text: str) -> bool:
    """Tell whether a text is CUDA: whether it has a `__global__`.

    Example:
        >>> is_cuda("__global__ void k(float* x) {}"), is_cuda("// no __global__ here")
        (True, False)
    """
    return "__global__" in mask(text)


def _blank(name: str, kind: str, text: str) -> Kernel:
    if kind == "binding":
        raise InputError(
            f"%%kernel: {name!r} has no text yet that could be bound: make that first, in a cell without --kind"
        )
    kinds = {one.startswith(_STABLE) for one in headers(text) if one.startswith((*_STABLE, *_ATEN))}
    return Kernel(name, **{kind: text}, api="stable" if kinds == {True} else "aten")  # type: ignore[arg-type]


def run(options: Namespace, body: str, screen: Terminal | Notebook, *, lines_ahead: int = 0) -> Kernel:
    """Make a kernel of a cell, register it, build it, and check and time it where the options say so.

    Args:
        options: from the cell's first line.
        body: what stands below.
        screen: shows each result as it comes: an `Outcome` or a `BuildError`, a `Report`, `Timings`.
        lines_ahead: empty lines above `%%kernel`.

    Returns:
        The kernel. It is registered, and with that in the journal, also where it does not compile.

    Raises:
        BuildError: it does not compile; it was shown. TemplateError: its slots do not fit its text.
        CheckError: it is wrong; the Report was shown. CrashError: it crashed in the check or while it was timed.
        InputError, DefinitionError, UnknownKernelError: what the cell says makes no sense; nothing was registered.
    """
    against = [registry[label] for label in options.against]
    op = registry.ops.get(options.name.partition("/")[0])
    if op is not None and (options.sizes or options.every_size):
        choose_sizes(op, options.sizes or None)  # those that do not fit are refused before anything is made
    kernel = kernel_of(options, text_of(body, lines_ahead))
    is_new = kernel.name not in registry
    registry.register(kernel)
    setting = Setting(options.device or usual_device(kernel), progress=screen.progress)
    parent, op = registry.parent_of(kernel), registry.op_of(kernel)
    # One size answers within seconds.
    sizes = options.sizes or (None if options.every_size else op.benchmark_sizes[:1]) or None

    def benchmark() -> dict[str, Any]:
        return {
            "kernels": [*(against or _opponents(kernel, parent)), kernel],
            "sizes": sizes,
            "seconds": options.seconds,
            "check": not options.check,
            "watch": screen.watch,
            **({"directions": options.directions} if options.directions else {}),
        }

    def counts() -> dict[str, Any]:
        return {"kernels": [*filter(can_count, against or _opponents(kernel, parent)), kernel], "sizes": sizes}

    order = Order(
        kernel, setting, options.check, benchmark if options.benchmark else None, counts if options.counts else None
    )
    try:
        show_all(order, screen, lambda built: _outcome(kernel, parent, built, is_new, options))
    except BuildError as error:
        for note in (_new(kernel) if is_new and not options.source else "", _kept(kernel, options)):
            if note and error.kernel == kernel.label and note not in getattr(error, "__notes__", ()):
                error.add_note(note)
        raise
    except TemplateError as error:
        if kernel.revision and is_about(kernel, str(error)):
            error.add_note(f"%kernel revert {kernel.name} goes back to what it was edited from")
        raise
    return kernel


def show_all(order: Order, screen: Terminal | Notebook, outcome: Callable[[Build], Outcome]) -> None:
    """Carry out what a cell asks for, and show what comes of it.

    Args:
        order: what is to be done.
        screen: where to show it.
        outcome: what to show of a build.

    Raises:
        BuildError: it does not compile; it was shown. CheckError: it is wrong; the Report was shown. CrashError: it crashed.
    """
    try:
        with screen:
            for found in carry_out(order):
                screen.show(outcome(found) if isinstance(found, Build) else found)
    except BuildError as error:
        screen.show(error)
        raise


def _outcome(kernel: Kernel, parent: Kernel | None, built: Build, is_new: bool, options: Namespace) -> Outcome:
    difference = diff(parent, kernel) if parent is not None else None
    new = ""
    if is_new and parent is None:
        new = _new(kernel) or f"{kernel.name} is a new kernel."
    return Outcome(kernel.label, built, difference, "; ".join(filter(None, [_kept(kernel, options), new])))


def _new(kernel: Kernel) -> str:
    """Ask whether a new name was meant to be one that is there: a variant of the op that is spelt nearly so.

    One that goes on where another ends, `fused2` or `fused_mine`, was meant.
    """
    others = [other.variant for other in registry.values() if other.op == kernel.op and other.name != kernel.name]
    typed = [other for other in others if not kernel.variant.startswith(other)]
    near = nearest(kernel.variant, typed, 0.8)
    return f"{kernel.name} is a new kernel: did you mean {kernel.op}/{near}?" if near else ""


def _kept(kernel: Kernel, options: Namespace) -> str:
    """Name the flags and saved names that a kernel has from an earlier revision, and that its cell does not name."""
    parts = []
    for name in ("flags", "saves"):
        values = getattr(kernel, name)
        origin = _origin(kernel, name)
        if values and getattr(options, name) is None and not registry.is_shipped(origin):
            takes = "them" if len(values) > 1 or name == "flags" else "it"
            parts.append(f"{name} {' '.join(values)}, kept from {origin.label}; --{name}= takes {takes} away")
    return "; ".join(parts)


def _origin(kernel: Kernel, name: str) -> Kernel:
    """Find the revision, going back from one to what it was edited from, that brought the value of a field."""
    seen = {kernel.label}
    while True:
        parent = registry.parent_of(kernel)
        if parent is None or parent.label in seen or getattr(parent, name) != getattr(kernel, name):
            return kernel
        seen.add(parent.label)
        kernel = parent


def _opponents(kernel: Kernel, parent: Kernel | None) -> list[Kernel]:
    """Choose what a kernel is timed against: what it was edited from, or the reference."""
    if (
        parent is not None
        and parent.op == kernel.op
        and parent != kernel
        and registry.state(parent.label).name in _FAIR
    ):
        return [parent]
    return [registry[f"{kernel.op}/python"]]
