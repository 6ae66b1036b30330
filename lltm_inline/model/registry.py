"""The one table of ops, kernels and revisions: what each was edited from, which is current, what became of it; and diffs."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ..base.above import Shown, above, aligned
from ..base.arguments import did_you_mean, first_line, nearest, offer, require, shown
from ..errors import DefinitionError, DuplicateKernelError, UnknownKernelError
from .kernel import BINDINGS, Kernel, revise, revisions
from .op import Argument, Cost, Op, Schema

__all__ = [
    "BINDINGS", "Argument", "Cost", "Diff", "History", "Kernel", "Op", "Recovered", "Registry", "Schema", "State", "diff", "fit",
    "registry", "resolve",
]  # fmt: skip

_Entry = TypeVar("_Entry", Op, Kernel)


class State(NamedTuple):
    """What became of a revision.

    Attributes:
        name: `new`, `built`, `failed`, `right`, `wrong` or `crashed`.
        hint: why, in one line.
    """

    name: str = "new"
    hint: str = ""


#: Called with the kernel that is registered, then the current one of its name, or with a kernel and what became of it: a
#: `State`, or the `Timings` that it was timed with.
Listener = Callable[[Kernel, Any], None]
#: Of each revision so many timings are kept, the latest ones.
KEPT_TIMINGS = 8

_is_quiet: ContextVar[bool] = ContextVar("lltm_inline_is_quiet", default=False)


class Registry(Mapping[str, Kernel], Shown):
    """The table of kernels by `op/variant`. It refuses duplicates, validates first, and lists the names on a miss."""

    def __init__(self) -> None:
        self._ops: dict[str, Op] = {}
        self._first: dict[str, Kernel] = {}  # by name, revision 0
        self._current: dict[str, Kernel] = {}
        #: Is told what is registered from now on, and what becomes of each revision; the journal is.
        self.listener: Listener | None = None
        self._states: dict[str, State] = {}  # by label, of the revisions that somebody has registered, built or checked
        self._timed: dict[str, tuple[Any, ...]] = {}  # by label: `Timings`, of which this room knows nothing
        self._shipped: frozenset[str] = frozenset()
        self._adopted: dict[str, Op] = {}
        self._executed: dict[str, Any] = {}  # by op: the execution of the module that has registered it
        self._reloaded: set[str] = set()

    @property
    def ops(self) -> Mapping[str, Op]:
        """The ops by name."""
        return MappingProxyType(self._ops)

    def op_of(self, kernel: Kernel) -> Op:
        """Return the op that `kernel` computes.

        Raises:
            UnknownKernelError: no such op is registered.
        """
        require(isinstance(kernel, Kernel), "kernel", kernel, "a Kernel")
        if kernel.op in self._ops:
            return self._ops[kernel.op]
        cure = f"{offer(kernel.op, self._ops)}. Register an Op of that name first"
        raise UnknownKernelError(f"kernel {kernel.label!r}: no op {kernel.op!r}.{cure}")

    def register(self, entry: _Entry) -> _Entry:
        """Add an op (with its reference as `op/python`) or a kernel.

        A kernel of revision 1 or more becomes the current one of its name; `history` keeps the others. A notebook's cell may
        be run again after an edit, and a module be reloaded: an op whose reference was written there takes the place of the
        one before, and a kernel of such an op becomes the next revision, which is what is returned.

        Raises:
            DuplicateKernelError: another op, or another kernel of revision 0, has this name.
            UnknownKernelError: the kernel's op is not registered.
            DefinitionError: the kernel does not fit its op.
            InputError: neither an op nor a kernel.
        """
        require(isinstance(entry, Op | Kernel), "entry", entry, "an Op or a Kernel")
        if isinstance(entry, Op):
            self._register_op(entry)
            return entry
        op = self.op_of(entry)
        fit(entry, op)
        known = self._first.get(entry.name)
        is_run_again = _is_of_a_cell(op) or op.name in self._reloaded
        if known is not None and known != entry and is_run_again and entry.revision == 0:
            if entry.python is None:
                entry = revise(self._current[entry.name], entry)
            elif known.python is not None:  # a function has no revisions
                del self._first[entry.name]
                known = None
        if entry.revision == 0 and known is not None and known != entry:
            raise DuplicateKernelError(
                f"kernel {entry.name!r} is registered already. To change it: registry[{entry.name!r}].replace(cpp=...); "
                "to add another: choose another variant name"
            )
        self._first.setdefault(entry.name, entry)
        self._current[entry.name] = entry
        self._states.setdefault(entry.label, State())
        self._tell(entry, None)
        return entry

    def _register_op(self, op: Op) -> None:
        before = self._ops.get(op.name)
        if before == op:
            return
        # Another object each time that the module of an op's reference is executed; None where there is none.
        execution = getattr(sys.modules.get(_module_of(op)), "__spec__", None)
        if before is None or before is self._adopted.get(op.name):
            # An op that was adopted came without its module, which says now what the caller's process has said already.
            op = before or op
        elif _is_of_a_cell(before) and _is_of_a_cell(op):
            pass
        elif (
            execution is not None
            and _module_of(op) == _module_of(before)
            and execution is not self._executed.get(op.name)
        ):
            self._reloaded.add(op.name)
        else:
            raise DuplicateKernelError(f"op {op.name!r} is registered already; choose another name")
        self._ops[op.name] = op
        self._executed[op.name] = execution
        self._first.pop(f"{op.name}/python", None)
        self.register(Kernel(f"{op.name}/python", python=op.reference, doc=op.doc))

    def _tell(self, kernel: Kernel, became: Any) -> None:
        if self.listener is not None:
            self.listener(kernel, became)

    def note(self, kernel: Kernel, state: str, hint: str = "") -> None:
        """Take note of what became of a revision, a `State`; build, check and benchmark do.

        Only of one that its label stands for: a kernel that was never registered, nor made of one that was, can have any name.
        That a kernel compiles is no news of one that was checked.
        """
        if not self._stands_for(kernel):
            return
        before, now = self.state(kernel.label), State(state, hint)
        if now != before and (state != "built" or before.name in ("new", "failed")):
            self._states[kernel.label] = now
            self._tell(kernel, now)

    def note_timed(self, kernel: Kernel, timings: Any) -> None:
        """Take note of the `Timings` of a revision and what it was timed against, likewise; benchmark does."""
        if self._stands_for(kernel):
            self._timed[kernel.label] = (*self.timed(kernel.label), timings)[-KEPT_TIMINGS:]
            self._tell(kernel, timings)

    def timed(self, label: str) -> tuple[Any, ...]:
        """Return the last `Timings` of a revision, the latest last, as far as this process knows."""
        return self._timed.get(label, ())

    def _stands_for(self, kernel: Kernel) -> bool:
        return not _is_quiet.get() and self.get(f"{kernel.name}@{kernel.revision}") == kernel

    @contextmanager
    def no_notes(self) -> Iterator[None]:
        """Take no note of kernels that nobody wrote, such as the points of a sweep."""
        token = _is_quiet.set(True)
        try:
            yield
        finally:
            _is_quiet.reset(token)

    def state(self, label: str) -> State:
        """Return what became of a revision, as far as this process knows."""
        return self._states.get(label, State())

    def is_noted(self, kernel: Kernel) -> bool:
        """Tell whether a revision was ever registered, built, checked or brought back; the points of a sweep never are."""
        return kernel.label in self._states

    def mark_shipped(self) -> None:
        """Take note that what is registered now comes with the package."""
        self._shipped = frozenset(self)

    def is_shipped(self, kernel: Kernel) -> bool:
        """Tell whether a kernel comes with the package.

        Example:
            >>> registry.is_shipped(registry["axpy/cpp@0"])
            True
        """
        return kernel.revision == 0 and kernel.name in self._shipped

    def bring_back(self, history: Sequence[Kernel], states: Mapping[str, State]) -> None:
        """Let these be the revisions of a name, oldest first: those that this process made, and those of one before it.

        Args:
            history: the revisions. Where none of that name is registered, the first becomes the current one.
            states: what became of those that are brought back, by label; what this process has found itself stays.
        """
        name = history[0].name
        revisions[name] = list(history)
        for label, state in states.items():
            if self.state(label).name == "new":
                self._states[label] = state
        if name not in self:
            self.register(history[0])

    def bring_back_timed(self, label: str, tables: Sequence[Any]) -> None:
        """Put `Timings` of an earlier process before those that this one has taken."""
        mine = self.timed(label)
        self._timed[label] = (*(table for table in tables if table not in mine), *mine)[-KEPT_TIMINGS:]

    def recover(self, op_or_name: str | None = None, *, every: bool = False) -> Recovered:
        """Bring back the revisions that this notebook made before its kernel was restarted, from the journal in the cache.

        They keep their numbers where these are free, and the last one of each name becomes the current one. The journal is
        on from `%load_ext lltm_inline` or `li.playground` on; what a plain script makes is not in it.

        Args:
            op_or_name: only those of this op or of this kernel.
            every: also those of other notebooks.

        Returns:
            The revisions, oldest first; shows what was done.

        Raises:
            UnknownKernelError: neither the registry nor the journal has an op or kernel of that name.
            CacheError: the cache directory cannot be used.
            InputError: an argument of the wrong kind.
        """
        return above("recover")(op_or_name, every=every)

    def import_extension(
        self,
        directory: Any,
        op: str | None = None,
        variant: str | None = None,
        *,
        sources: Sequence[Any] | None = None,
        forward: str | None = None,
        backward: str | None = None,
    ) -> tuple[Kernel, ...]:
        """Take an extension's sources into the playground, as kernels; nothing of them is run.

        An export of `li.export` comes back as the kernels that it was made of, the very revisions where its files are as
        they were; what was edited there becomes the next revision. An op that is not registered comes back with them: its
        `reference.py` is run. An extension in the layout of PyTorch's tutorials, a
        `setup.py` with `CppExtension` or `CUDAExtension`, C++ and CUDA files and a `PYBIND11_MODULE`, becomes a kernel
        whose `forward` and `backward` call its functions; they are matched with the op by the names that they use. Headers of
        its own go into the text.

        Args:
            directory: that holds `kernel.json` or `setup.py`.
            op: that an extension computes; an export knows its own.
            variant: of the kernel; by default that of the exported kernel, or the extension's name.
            sources: its files, where there is no `setup.py`, or one that only running it would tell.
            forward, backward: the functions that compute the op and its gradients, where their names do not say it.

        Returns:
            The kernels, registered; each is the current one of its name.

        Raises:
            InputError: no extension there, or a file that is no source text.
            FileError: a file that cannot be read.
            DefinitionError: something that cannot be matched with the op, by name.
            UnknownKernelError: no such op.
        """
        return above("import_extension")(self, directory, op, variant, sources, forward, backward)

    def adopt(self, op: Op) -> None:
        """Take an op in place of any other of that name: in a worker, where the caller's process knows best."""
        self._ops[op.name] = self._adopted[op.name] = op

    @contextmanager
    def lent(self, op: Op) -> Iterator[None]:
        """Let an op stand for its name for a while, so that a kernel can run of which nobody is told."""
        before = self._ops.get(op.name)
        self._ops[op.name] = op
        try:
            yield
        finally:
            if before is None:
                del self._ops[op.name]
            else:
                self._ops[op.name] = before

    def snapshot(self) -> tuple[Mapping[str, Op], Mapping[str, Kernel], Mapping[str, Kernel]]:
        """Return what is registered now, for `restore`."""
        return dict(self._ops), dict(self._first), dict(self._current)

    def restore(self, snapshot: tuple[Mapping[str, Op], Mapping[str, Kernel], Mapping[str, Kernel]]) -> None:
        """Let exactly that be registered which was when `snapshot` was taken."""
        tables: tuple[dict[str, Any], ...] = (self._ops, self._first, self._current)
        for table, before in zip(tables, snapshot, strict=True):
            table.clear()
            table.update(before)

    def history(self, name: str) -> History:
        """List every revision of a name that was made in this process or brought back by `recover`, oldest first.

        Returns:
            The kernels. Shown, each has beside it what became of it, how many lines were changed, its times at the sizes at
            which it was timed, and how it compares with what it was edited from; `plot` draws that.

        Raises:
            UnknownKernelError: no kernel of that name.

        Example:
            >>> registry.history("cube/aten")  # doctest: +ELLIPSIS
            history of cube/aten; -> is the current revision
            -> cube/aten                ...
        """
        name = self[name].name
        first = self._first.get(name)
        made = tuple(revisions.get(name, ()))
        return History(made if first is None or first in made else (first, *made))

    def parent_of(self, kernel: Kernel) -> Kernel | None:
        """Return what a kernel was edited from, or None."""
        try:
            return self.revision_of(kernel.parent) if kernel.parent else None
        except UnknownKernelError:  # it is gone
            return None

    def before(self, kernel: Kernel) -> Kernel | None:
        """Return the revision of the same name to which one goes back from this one; None from the first.

        That is what it was edited from, else the one before it.

        Example:
            >>> registry.before(registry["axpy/cpp@0"]) is None
            True
        """
        earlier = [one for one in self.history(kernel.name) if one.revision < kernel.revision]
        found = [one for one in earlier if one.label == kernel.parent] or earlier
        return found[-1] if found else None

    def __getitem__(self, name: str) -> Kernel:
        if not isinstance(name, str):
            want = "a name is a string, like 'lltm/fused' or 'lltm/fused@2'"
            raise UnknownKernelError(f"no kernel {shown(name)}: {want}")
        base, at, revision = name.partition("@")
        if not at and base in self._current:
            return self._current[base]
        for kernel in (self._first.get(base), *revisions.get(base, ())):
            if kernel is not None and str(kernel.revision) == revision:
                return kernel
        raise UnknownKernelError(self._miss(name, base))

    def revision_of(self, label: str) -> Kernel:
        """Return the very revision that a label names, as `Kernel.label` and `Kernel.parent` have it.

        There `lltm/fused` is revision 0; `registry["lltm/fused"]` is the current one.

        Raises:
            UnknownKernelError: no such revision.
        """
        return self[label if "@" in label else f"{label}@0"]

    def _miss(self, name: str, base: str) -> str:
        if base in self._current:
            labels = ", ".join(kernel.label for kernel in self.history(base))
            return f"no revision {shown(name)}. Revisions of {base!r}: {labels}"
        hint = did_you_mean(base, self._current)
        op = (nearest(base, self._current) or base).partition("/")[0]
        if op in self._ops:
            variants = ", ".join(k.variant for k in self._current.values() if k.op == op)
            return f"no kernel {shown(name)}.{hint} Kernels of {op}: {variants}"
        return f"no kernel {shown(name)}.{offer(op, self._ops)}"

    def __iter__(self) -> Iterator[str]:
        return iter(self._current)

    def __len__(self) -> int:
        return len(self._current)

    def __str__(self) -> str:
        rows = [(kernel.label, first_line(kernel.doc)) for kernel in self._current.values()]
        return "\n".join(aligned(rows)) or "registry: empty"

    def __repr__(self) -> str:
        return str(self)


def resolve(kernel: Kernel | str, name: str = "kernel") -> Kernel:
    """Return the kernel itself, or the registry's kernel of that label.

    Raises:
        UnknownKernelError: a label that the registry does not have.
        InputError: neither a kernel nor a label.
    """
    if isinstance(kernel, str):
        return registry[kernel]
    return require(isinstance(kernel, Kernel), name, kernel, "a Kernel or a label such as 'lltm/fused'")


def _is_of_a_cell(op: Op) -> bool:
    """Tell whether an op was written in a notebook or a script, and not in a module, or made of a snippet there."""
    return _module_of(op) == "__main__" or getattr(op.reference, "of_a_cell", False)


def _module_of(op: Op) -> str:
    return getattr(op.reference, "__module__", None) or ""


def fit(kernel: Kernel, op: Op) -> None:
    """Check the parts of a kernel that need its op: the names in `saves`.

    Raises:
        DefinitionError: a saved name is no input or output of the op.
    """
    signature = op.signature
    names = [argument.name for argument in (*signature.inputs, *signature.outputs)]
    if unknown := ", ".join(name for name in kernel.saves if name not in names):
        raise DefinitionError(f"kernel {kernel.label!r} saves {unknown}; op {op.name!r} has {', '.join(names)}")


@dataclass(frozen=True)
class Diff(Shown):
    """What changed between two kernels, as a unified diff of their texts, and of all else that makes them."""

    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return self.text or f"{self.before} and {self.after} are the same"

    __repr__ = __str__

    @property
    def changed_lines(self) -> int:
        """Number of lines that `after` adds or changes."""
        return sum(line.startswith("+") and not line.startswith("+++") for line in self.text.split("\n"))

    @property
    def lines(self) -> int:
        """Number of lines that differ, those that are only gone among them."""
        return max(self.changed_lines, self.removed_lines)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What differs: `cpp`, `params`, `flags`, ..."""
        ahead, lines = f"+++ {self.after} (", self.text.split("\n")
        return tuple(line.removeprefix(ahead).removesuffix(")") for line in lines if line.startswith(ahead))

    @property
    def removed_lines(self) -> int:
        """Number of lines of `before` that are gone or changed."""
        return sum(line.startswith("-") and not line.startswith("---") for line in self.text.split("\n"))


class History(tuple[Kernel, ...], Shown):
    """The revisions of a kernel, oldest first; shows what became of each, and how fast each was."""

    def __repr__(self) -> str:
        return str(above("history_text")(self))

    __str__ = __repr__


class Recovered(tuple[Kernel, ...], Shown):
    """The revisions that `Registry.recover` brought back, oldest first; shows what was done.

    Attributes:
        notes: what was done, in sentences.
    """

    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(self.notes)

    __str__ = __repr__


def diff(before: Kernel | str, after: Kernel | str) -> Diff:
    """Compare two kernels, or two labels such as `"lltm/fused@1"`.

    Raises:
        UnknownKernelError: a label that the registry does not have.
        InputError: neither a kernel nor a label.

    Example:
        >>> k = registry["lltm/fused"]
        >>> diff(k, k)
        lltm/fused and lltm/fused are the same
    """
    one, two = resolve(before, "before"), resolve(after, "after")
    lines: list[str] = []
    for kind in ("params", "slots", "flags", "saves", "functions", "api", "cpp", "cuda", "binding"):
        before_lines, after_lines = (_as_lines(getattr(kernel, kind)) for kernel in (one, two))
        names = (f"{one.label} ({kind})", f"{two.label} ({kind})")
        lines += difflib.unified_diff(before_lines, after_lines, *names, lineterm="")
    return Diff(one.label, two.label, "\n".join(lines))


def _as_lines(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key} = {item}" for key, item in sorted(value.items())]
    return list(value) if isinstance(value, tuple) else str(value).split("\n")


#: The one registry. `lltm_inline.ops` fills it.
registry = Registry()
