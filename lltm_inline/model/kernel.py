"""One way to compute an op, from source strings. Kernels are values: an edit makes a new one, with the next revision number."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..base.above import Shown
from ..base.arguments import boolean, function, integer, mapping, offer, path_of, refusal, shown, string, strings
from ..base.files import escaped, read_source
from ..base.flags import complaint as complaint_of_flag
from ..errors import DefinitionError, EditError, InputError
from .op import FrozenDict
from .reserved import is_reserved

_NAME = re.compile(r"[a-z][a-z0-9_]*/[a-z][a-z0-9_]*\Z")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

#: No `#define` may be named so: the preprocessor's own words, macros of every text, and what a text has to define.
_TAKEN = {"_Pragma", "defined", "final", "override", "import", "module", "NULL", "assert", "errno", "offsetof"}
_TAKEN |= {"Tensor", "forward", "backward"}

#: Named bindings; any other `binding` text is the user's own template.
BINDINGS = ("torch_library", "pybind11")

#: Fields of a kernel that do not come along with its files.
_NOT_BESIDE_FILES = ("name", "cpp", "cuda", "binding", "python", "parent")

#: Arguments of `load_inline`, and what a kernel has in their place.
_OF_LOAD_INLINE = {
    "cpp_sources": "cpp=, one text,",
    "cuda_sources": "cuda=, one text,",
    "extra_cflags": "flags=",
    "extra_cuda_cflags": "flags=, for a CUDA text,",
}


@dataclass(frozen=True)
class Kernel(Shown):
    """One way to compute an op, from source strings. Immutable: `edit` and `replace` make new revisions.

    Args:
        name: `op/variant`, both lower-case identifiers.
        cpp: C++ source that defines `forward` and, unless it differentiates through ATen, `backward`.
        cuda: CUDA source. It defines `forward` and `backward` itself, or kernels and launch functions that `cpp` calls.
        binding: `"torch_library"` (generated, the default), `"pybind11"` (generated, the classic way), or a template.
        python: a Python function instead of source; the reference kernels are of this kind.
        params: numbers, rendered as `#define NAME value` lines after the headers that the source includes.
        slots: strings, inserted where the source says `$NAME`.
        saves: the inputs and outputs that `backward` needs, by name, in the order in which it takes them.
        double_backward: `backward` consists only of differentiable ATen calls, and may be differentiated itself. Saved inputs
            and outputs then carry their graph, extra tensors do not. Without it, a second derivative is an error.
        functions: names of the C++ functions, if they are not `forward` and `backward`: `("square",)`, or with the one for
            the gradients `("square", "square_backward")`.
        api: `"aten"`, or `"stable"` for sources that use only LibTorch's stable ABI headers.
        flags: compiler flags of this kernel, after the playground's own; for CUDA source, nvcc's.
        doc: formula, shapes, and what this variant changes compared with the previous one.
        revision: assigned by the playground; 0 is what ships.
        parent: label of the kernel this one was edited from.

    Raises:
        DefinitionError: a field breaks a rule.

    Example:
        >>> k = Kernel("axpy/mine", cpp="at::Tensor forward(const at::Tensor& x) { return x + A; }", params={"A": 2})
        >>> k.edit("x + A", "x - A").label
        'axpy/mine@1'
    """

    name: str
    cpp: str = ""
    cuda: str = ""
    binding: str = "torch_library"
    python: Callable[..., Any] | None = None
    params: Mapping[str, int | float] = field(default_factory=dict)
    slots: Mapping[str, str] = field(default_factory=dict)
    saves: tuple[str, ...] = ()
    double_backward: bool = False
    functions: tuple[str, ...] = ("forward", "backward")
    api: str = "aten"
    flags: tuple[str, ...] = ()
    doc: str = field(default="", compare=False)
    revision: int = field(default=0, compare=False)
    parent: str = field(default="", compare=False)

    def __new__(cls, *values: Any, **fields: Any) -> Kernel:
        """Refuse the names that `load_inline` has for fields, and say what they are called here."""
        for name, ours in _OF_LOAD_INLINE.items():
            if name in fields:
                raise DefinitionError(f"Kernel has no field {name!r}: what load_inline calls so is {ours} here")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        _check_types(self)
        for name in ("params", "slots"):
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))
        for name in ("saves", "flags", "functions"):
            object.__setattr__(self, name, tuple(item.strip() for item in getattr(self, name)))
        _validate(self)

    @classmethod
    def from_files(cls, name: str, *, cpp: Any = None, cuda: Any = None, binding: Any = None, **fields: Any) -> Kernel:
        """Make a kernel of source files, as they are; later edits of the files change nothing.

        Args:
            name: `op/variant`.
            cpp, cuda: paths of files that define what the fields `cpp` and `cuda` define. They are UTF-8; a byte order mark
                is dropped, and Windows line ends become plain ones.
            binding: path of a binding's template, or `"torch_library"` or `"pybind11"`.
            fields: the others of a kernel: `saves=`, `params=`, ... With `slots=`, a dollar sign starts a slot; else it is one.

        Raises:
            FileError: a file that cannot be read.
            InputError: no file; an empty one; one that is not UTF-8, or that includes a header that lies beside it.
            DefinitionError: a field breaks a rule.

        Example:
            >>> import pathlib, tempfile
            >>> path = pathlib.Path(tempfile.mkdtemp(), "scale.cpp")
            >>> _ = path.write_bytes(b"at::Tensor forward(const at::Tensor& x) { return x * A; }\\r\\n")
            >>> Kernel.from_files("scale/file", cpp=path, params={"A": 2}).cpp
            'at::Tensor forward(const at::Tensor& x) { return x * A; }\\n'
        """
        return cls(name, **_fields_of_files(name, cpp, cuda, binding, fields))

    def __hash__(self) -> int:
        return hash((self.name, self.cpp, self.cuda, self.binding, self.saves, self.functions, self.flags))

    @property
    def op(self) -> str:
        """Name of the op, the part before the slash."""
        return self.name.partition("/")[0]

    @property
    def variant(self) -> str:
        return self.name.partition("/")[2]

    @property
    def label(self) -> str:
        """The name with the revision, `lltm/fused@2`; revision 0 goes without."""
        return f"{self.name}@{self.revision}" if self.revision else self.name

    @property
    def sources(self) -> dict[str, str]:
        """The texts of this kernel by kind, those that it has."""
        custom = "" if self.binding in BINDINGS else self.binding
        return {kind: text for kind, text in (("cpp", self.cpp), ("cuda", self.cuda), ("binding", custom)) if text}

    def edit(self, old: str, new: str) -> Kernel:
        """Replace the one place where `old` occurs in this kernel's texts.

        Args:
            old: text that occurs exactly once over `cpp`, `cuda` and a custom `binding`.
            new: what stands there afterwards.

        Returns:
            The next revision of the kernel; the same edit twice gives the same revision.

        Raises:
            EditError: `old` occurs nowhere (the message shows the nearest line) or several times (it shows the lines).
        """
        for name, value in (("old", old), ("new", new)):
            string(name, value, where=f"edit of {self.label}", error=EditError)
        places = [
            (kind, source.count("\n", 0, match.start()) + 1)
            for kind, source in self.sources.items()
            for match in re.finditer(re.escape(old), source)
            if old
        ]
        if len(places) != 1:
            raise EditError(_edit_message(self, old, places))
        kind = places[0][0]
        return self.replace(**{kind: getattr(self, kind).replace(old, new)})

    def replace(self, **changes: Any) -> Kernel:
        """Make a new revision with other fields; `params` and `slots` given here update the old ones.

        Raises:
            DefinitionError: a field breaks a rule, or a param that the kernel did not have is used nowhere in its texts.

        Example:
            >>> Kernel("axpy/other", cpp="...", params={"A": 2}).replace(params={"A": 3}).params["A"]
            3
        """
        unknown = set(changes) - (set(self.__dataclass_fields__) - {"name", "revision", "parent"})
        if unknown:
            raise DefinitionError(f"replace() cannot change {', '.join(sorted(unknown))} of kernel {self.label!r}")
        for name in ("params", "slots"):
            if name in changes:
                how: dict[str, Any] = {"where": f"kernel {self.label!r}", "error": DefinitionError}
                changes[name] = {**getattr(self, name), **mapping(name, changes[name], _TABLES[name], **how)}
        made = replace(self, **changes)
        # Those that it has may become idle: an edit takes a use out.
        texts = "\n".join((*made.sources.values(), *made.slots.values()))
        if idle := [name for name in sorted({*made.params} - {*self.params}) if not re.search(rf"\b{name}\b", texts)]:
            known = offer(idle[0], sorted(self.params), "Params")
            raise DefinitionError(f"kernel {made.label!r}: its texts use no param {idle[0]!r}.{known}")
        return revise(self, made)

    def __str__(self) -> str:
        if self.python is not None:
            return f"{self.label}: Python function {getattr(self.python, '__qualname__', self.python)!s}"
        blocks = []
        for kind, text in self.sources.items():
            lines = text.rstrip("\n").split("\n")
            numbered = (f"{number:4d}  {line}" for number, line in enumerate(lines, 1))
            blocks.append("\n".join((f"{self.label} ({kind})", *numbered)))
        return "\n".join([*blocks, *filter(None, [self.doc.strip()])])

    def __repr__(self) -> str:
        lines = sum(text.count("\n") for text in self.sources.values())
        return f"<Kernel {self.label}: {f'{lines} lines' if self.python is None else 'Python'}>"


def _fields_of_files(name: str, cpp: Any, cuda: Any, binding: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Read the files of `Kernel.from_files` and return the fields of the kernel.

    Raises:
        InputError: a file that is no source text; no file at all.
        FileError: a file that cannot be read.
        DefinitionError: a field that a kernel of files does not have.
    """
    where = f"kernel {shown(name)}"
    known = [one.name for one in fields(Kernel) if one.name not in _NOT_BESIDE_FILES]
    if unknown := sorted(set(given) - set(known)):
        raise DefinitionError(
            f"{where}: from_files() takes no {', '.join(map(shown, unknown))}. Fields beside the files: {', '.join(known)}"
        )
    if cpp is None and cuda is None:
        raise InputError(f"{where}: from_files() needs a file: cpp='kernel.cpp' or cuda='kernel.cu'")
    paths = {kind: path_of(kind, value) for kind, value in (("cpp", cpp), ("cuda", cuda)) if value is not None}
    found: dict[str, Any] = {}
    if binding is not None and not (isinstance(binding, str) and binding in BINDINGS):
        paths["binding"] = path_of("binding", binding)
    elif binding is not None:
        found["binding"] = binding
    for kind, path in paths.items():
        text = read_source(path)
        # Who gives slots has written templates; to everybody else a dollar sign is one.
        found[kind] = text if given.get("slots") else escaped(text)
    return {**given, **found}


_TABLES = {"params": "a dict of numbers by name, {'UNROLL': 8}", "slots": "a dict of texts by name, {'TYPE': 'float'}"}


def _check_types(kernel: Kernel) -> None:
    """Refuse fields of the wrong kind: what their values may be is for `_validate`."""
    where: dict[str, Any] = {"where": f"kernel {shown(kernel.name)}", "error": DefinitionError}
    if not isinstance(kernel.name, str):
        raise DefinitionError(f"kernel name {shown(kernel.name)} is not 'op/variant', like 'lltm/fused'")
    for name in ("cpp", "cuda", "binding", "api", "doc", "parent"):
        string(name, getattr(kernel, name), **where)
    if kernel.python is not None:
        function("python", kernel.python, **where)
    for name, want in _TABLES.items():
        mapping(name, getattr(kernel, name), want, **where)
    for name in ("saves", "flags", "functions"):
        strings(name, getattr(kernel, name), **where)
    boolean("double_backward", kernel.double_backward, **where)
    integer("revision", kernel.revision, **where)


def _validate(kernel: Kernel) -> None:
    name = kernel.name
    if not _NAME.match(name):
        want = "'op/variant' in lower-case identifiers, like 'lltm/fused'"
        raise DefinitionError(f"kernel name {shown(name)} is not {want}")
    if (kernel.python is None) == (not (kernel.cpp or kernel.cuda)):
        raise DefinitionError(f"kernel {name!r} needs a source text (cpp= or cuda=), or python=, and not both")
    if complaint := next(_complaints(kernel), ""):
        raise DefinitionError(f"kernel {name!r}: {complaint}")


def _complaints(kernel: Kernel) -> Iterator[str]:
    """Yield what is wrong, as ends of sentences: also what would come out in the C++ text, or at the compiler, as something else."""
    if kernel.api not in ("aten", "stable"):
        yield f"api={shown(kernel.api)}, want 'aten' or 'stable'"
    if not kernel.binding.strip():
        yield "binding is empty, want 'torch_library', 'pybind11' or a text"
    if kernel.double_backward and kernel.api == "stable":
        yield "double_backward needs api='aten': autograd does not see the stable ABI's calls"
    if kernel.binding == "pybind11" and kernel.api == "stable":
        yield "pybind11 needs ATen headers, so it cannot bind a stable kernel"
    for kind in ("cpp", "cuda", "binding"):
        yield from _complaints_of_letters(kind, getattr(kernel, kind))
    for key, value in kernel.params.items():
        if complaint := _complaint_of_param(key, value):
            yield f"param {complaint}"
    for key, slot in kernel.slots.items():
        if not _IDENTIFIER.match(key) or not isinstance(slot, str):
            yield f"slot {shown(key)} must be an identifier with a string as its value"
        yield from _complaints_of_letters(f"slot {key}", slot)
    for option in kernel.flags:
        if complaint := complaint_of_flag(option):
            yield f"flag {shown(option)} {complaint}"
    names = kernel.functions
    if len(names) not in (1, 2) or any(not _IDENTIFIER.match(one) or is_reserved(one) for one in names):
        want = "the name of a C++ function, or its name and that of the one for its gradients"
        yield str(refusal("functions", names, want))
    for saved in kernel.saves:
        if not _IDENTIFIER.match(saved):
            yield f"saves {shown(saved)}, want names of inputs and outputs"


def _complaints_of_letters(what: str, source: str) -> Iterator[str]:
    """Yield what no file of source text can hold."""
    if "\0" in source:
        yield f"{what} holds a NUL character"
    if half := re.search("[\ud800-\udfff]", source):
        yield f"{what} holds {half[0]!a}, half a character of UTF-16"


def _complaint_of_param(name: str, number: object) -> str:
    """Say what is wrong with a param, as the end of a sentence; nothing when it can be a `#define`."""
    if not _IDENTIFIER.match(name):
        return f"{shown(name)} is not a C identifier"
    if name in _TAKEN or is_reserved(name):
        return f"{name} is a word of C++ or of what a text must define: choose another name"
    if "__" in name:
        return f"{name} holds '__', as the compiler's own names do: choose another name"
    if not isinstance(number, int | float):
        return f"{name} is {shown(number)}, want a finite number (texts go into slots)"
    # No literal of C++ is larger, and math.isfinite fails for what is larger than any float.
    if isinstance(number, int) and not -(2**63) < number < 2**64:
        return f"{name} is {shown(number)}, want an integer of at most 64 bits"
    if not math.isfinite(number):
        return f"{name} is {number}, want a finite number (texts go into slots)"
    return ""


def _edit_message(kernel: Kernel, old: str, places: list[tuple[str, int]]) -> str:
    if not kernel.sources:
        return f"kernel {kernel.label!r} is a Python function: it has no text to edit"
    if places:
        where = ", ".join(f"{kind} line {line}" for kind, line in places[:20]) + ", ..." * (len(places) > 20)
        return f"{shown(old, 200)} occurs {len(places)} times in kernel {kernel.label!r} ({where}), want exactly 1: give more of the line"
    texts = [(kind, text.split("\n")) for kind, text in kernel.sources.items()]
    lines = {line.strip(): (kind, n) for kind, text in texts for n, line in enumerate(text, 1)}
    # Comparing takes time with the square of the length, and only a text of a line or two is near to a line.
    near = difflib.get_close_matches(old.strip(), lines, n=1, cutoff=0.3) if len(old) < 500 else []
    hint = f" Nearest, {lines[near[0]][0]} line {lines[near[0]][1]}: {near[0]!r}" if near else ""
    return f"{shown(old, 200)} occurs nowhere in kernel {kernel.label!r}, want exactly 1 place.{hint}"


#: Every revision made in this process, by name, in order, behind the kernel that was edited first. It is the registry's; it
#: stands here as each edit takes its number from it: the same content always has the same number, two edits never share one.
revisions: dict[str, list[Kernel]] = {}


def revise(base: Kernel, entry: Kernel) -> Kernel:
    """Make of a kernel that was written anew the next revision of `base`; the same content again is the same revision."""
    known = revisions.setdefault(base.name, [base])
    for one in known:
        if one == entry and one.doc == entry.doc:
            return one
    made = replace(entry, revision=max(one.revision for one in known) + 1, parent=base.label)
    known.append(made)
    return made
