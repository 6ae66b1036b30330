"""What the threads of a kernel load and store, with values, on the CPU: where a program would print, and a GPU shows nothing.

1. The text is compiled so that it tells of each access before it is made: CUDA as for `counts`, C++ as for the races of a check. It is
   not compared with the reference: a wrong kernel is what somebody wants to look at.
2. It runs once. `cuda_cpu/counts.h` or `native/follow_trace.h` notes the accesses, some thousands at each place of the code.
3. Here places become lines, and bytes numbers.
"""

from __future__ import annotations

import math
import struct
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import lt
from typing import Any, Unpack

import torch

from ..base.arguments import integer, one_of, plural, refusal
from ..base.progress import say, showing
from ..checking.follow import second_of
from ..checking.guard import Guard, Trial
from ..checking.postmortem import carried_out
from ..checking.runner import CaseResult, laboratory, runner_of
from ..errors import CheckError, InputError
from ..model.outcomes import noting
from ..model.registry import Kernel, Op, registry, resolve
from ..run.cases.case import THREADS, Case, prime_size, size_text
from ..run.executor import Task, prepare
from ..run.function import Function, as_tuple
from ..run.library import load_all
from ..run.setting import CountOptions, Setting, choose_sizes, require_timing, takes
from ..source.template import require_text
from ..tables.timings import DIRECTIONS
from ..tables.trace import Trace, TraceRow
from ..workers import steps
from .counts import DEVICE, Counter, can_count, counting
from .inputs import Ring
from .machine import subject

#: So many accesses are rows; of what is beyond them only the number is told. And so many faults of C++ are told beside them.
MOST_ROWS, _MOST_FAULTS = 20_000, 3

#: All threads, or all blocks.
_ALL = (-1, -1, -1)


@takes(CountOptions)
def trace(
    kernel: Kernel | str,
    line: int | None = None,
    *,
    thread: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = 0,
    sizes: Sequence[int] | Mapping[str, int] | None = None,
    direction: str = "forward",
    dtype: torch.dtype = torch.float32,
    **options: Unpack[CountOptions],
) -> Trace:
    """Show what the threads of a kernel load and store, with values, in the order in which it happens: no GPU is needed.

    Of a kernel with CUDA source, loads, stores and atomics of global and of shared memory are shown, for each line of the source and
    each time that a thread runs it; of one in C++, those of tensors and of memory that the text allocates, where the text itself
    makes them. Local variables, local arrays and constant memory are not, nor what ATen's own functions do. A kernel may be wrong; a
    CUDA launch that is out of bounds or has a race ends with an error, C++ that does so with a warning. Between two barriers, threads
    run one after another here: a GPU may run them in any other order, and so may a CPU the three threads of a parallel loop. The
    first 20,000 accesses are rows.

    Args:
        kernel: a kernel with CUDA or C++ source, or its label.
        line: of the source, from 1; None for all.
        thread: its number in the block (x counts first), or (x, y, z), from 0; None for all. In C++ that of a parallel loop, 0 to 2.
        block: its number in the grid, or (x, y, z), likewise. C++ has one.
        sizes: one size, a tuple in the order of the op's letters or a dict by letter; default: that of the gradient check.
        direction: `forward` or `backward`.
        dtype: of the floating-point inputs.
        options: of `Setting`, by name.

    Returns:
        A Trace with one row for each access: `.rows[0].value` is what was loaded, what an atomic found, or what a store left.

    Raises:
        InputError: a line that the source does not have, or on which these threads load and store nothing; a thread or block
            that no launch has; C++ that leaves all memory to ATen, or with trust=True; or as for `memory`.
        CheckError: the kernel fails: a launch is out of bounds, or has a race.
        DefinitionError: the kernel is a Python function.
        CrashError, TimeoutError, ToolchainError, BuildError, UnknownKernelError: as for `counts`.

    Example:
        >>> t = trace("axpy/cuda", thread=3, sizes=(8,), progress=False)
        >>> [(row.what, row.element) for row in t.rows]
        [('global load', 'x[3]'), ('global load', 'y[3]'), ('global store', 'z[3]')]
        >>> x, y, z = (row.numbers[0] for row in t.rows)
        >>> abs(z - (2 * x + y)) < 1e-6
        True
    """
    setting, chosen = Setting.of(trace, options), resolve(kernel)
    require_timing(dtype=dtype, check=True)
    one_of("direction", direction, DIRECTIONS[:2])
    wanted = [_place(name, value) for name, value in (("block", block), ("thread", thread))]
    is_cuda = can_count(chosen)
    require_text(chosen, DEVICE if is_cuda else "cpu")
    if line is not None:
        integer("line", line, least=1, most=len((chosen.cuda if is_cuda else chosen.cpp).rstrip("\n").split("\n")))
    size = _size_of(registry.op_of(chosen), sizes)
    if not is_cuda and setting.here:
        raise refusal("trust", True, "False: what a text in C++ touches is noted in the worker")
    kind, setting = (Tracing, counting(setting, "trace")) if is_cuda else (TracingCpp, setting)
    with showing(f"trace of {chosen.label}", setting.progress, 2) as show:
        with noting([chosen]):
            built = prepare([chosen], replace(setting, progress=show), followed=not is_cuda)
        rows, said = carried_out(kind(built, size, dtype, direction, line, *wanted), setting, show)
    if said:
        warnings.warn(said, RuntimeWarning, stacklevel=2)
    return Trace(rows, chosen.label)


def _place(name: str, value: Any) -> tuple[int, int, int]:
    """Bring a thread or block into the form that `Wanted` in `cuda_cpu/counts.h` has.

    Raises:
        InputError: it is none.
    """
    if value is None:
        return _ALL
    several = isinstance(value, tuple | list)
    parts = list(value) if several else [value]
    most = 2**31 - 1
    if not 1 <= len(parts) <= 3 or not all(type(one) is int and 0 <= one <= most for one in parts):
        raise refusal(name, value, f"its number, (x, y, z) from 0 on, or None for all {name}s")
    x, y, z = [*parts, *([0] * 3 if several else [-1] * 3)][:3]
    return x, y, z


def _size_of(op: Op, sizes: Any) -> tuple[int, ...]:
    """Choose the one size of a trace."""
    is_list = isinstance(sizes, list) and not all(isinstance(one, int) for one in sizes)  # as `counts` takes
    chosen = choose_sizes(op, sizes if is_list else [prime_size(op) if sizes is None else sizes])
    if len(chosen) != 1:
        raise refusal("sizes", sizes, "one size")
    return chosen[0]


@dataclass(frozen=True)
class Tracing(Task):
    """What threads of a kernel load and store, see `trace`."""

    size: tuple[int, ...]
    dtype: torch.dtype
    direction: str
    line: int | None
    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    def run(self) -> tuple[tuple[TraceRow, ...], str]:
        """Load the kernel, run it, and return the rows, and what is wrong with a result that it does not return."""
        [function] = load_all(self.built)
        launches, said = self.launches(function)
        say(f"traced {function.kernel.label} at {size_text(function.op, self.size)}", 1)
        self._require(launches)
        columns = {**subject(function, self.size, self.dtype), "direction": self.direction}
        rows = list(islice(self._rows(launches), MOST_ROWS))
        left = sum(site["seen"] for launch in launches for site in filter(self._is_wanted, launch["sites"])) - len(rows)
        return tuple(TraceRow(**columns, order=order, left=left, **row) for order, row in enumerate(rows, 1)), said

    def launches(self, function: Function) -> tuple[list[dict[str, Any]], str]:
        """Run the kernel once; return what its launches have done, and what is wrong with a result that it does not return."""
        counter = Counter(self.built[0])
        counter.take()
        try:
            said = self._call(function, counter)
        finally:
            counter.trace(0, _ALL, _ALL)
        launches = counter.take()
        counter.add_lines(launches)
        return launches, said

    def _call(self, function: Function, counter: Counter) -> str:
        """Call the kernel once, and trace what is asked for; return what its check says of elements that nobody wrote."""
        op, label, where = function.op, function.kernel.label, size_text(function.op, self.size)
        ring = Ring(op, self.size, dtype=self.dtype, device=function.device)
        assert function.interface is not None  # it has a text
        backward = self.direction == "backward"
        if backward and not (ring.names and function.interface.has_backward):
            raise InputError(f"{label} has no backward of its own: direction='forward'")
        [one] = ring.refill(1)
        asked, direction = (MOST_ROWS, self.block, self.thread), "forward"
        try:
            with torch.set_grad_enabled(backward):
                if not backward:
                    counter.trace(*asked)
                with steps.step(direction, label, lambda: (where, ring.describe())):
                    results = as_tuple(function(*one.inputs))
                if backward:
                    counter.take()
                    counter.trace(*asked)
                    direction, chosen = self.direction, [results[i] for i in ring.differentiable]
                    with steps.step(direction, label, lambda: (where, ring.describe())):
                        torch.autograd.grad(chosen, one.wanted, one.grads, allow_unused=True)
        except Exception as error:
            if direction == self.direction and str(error).startswith("unwritten: "):
                return f"{label} at {where}: {error}"  # all launches have ended: who wrote what is what somebody wants to see
            text = f"'{label}' failed at {where}: {type(error).__name__}: {error}"
            raise CheckError(f"{text}\nIt was not traced.") from error
        return ""

    def _is_wanted(self, site: Mapping[str, Any]) -> bool:
        return self.line is None or site["line"] == self.line

    def _require(self, launches: Sequence[Mapping[str, Any]]) -> None:
        """Refuse a thread, a block or a line of which there is nothing.

        Raises:
            InputError: no launch has it, or nothing is loaded or stored there.
        """
        for name, wanted, within in (("block", self.block, "grid"), ("thread", self.thread, "block")):
            if launches and not any(_has(launch[within], wanted) for launch in launches):
                last = launches[-1]
                there = f"{plural(math.prod(last['grid']), 'block')} of {plural(math.prod(last['block']), 'thread')}"
                raise InputError(
                    f"{last['kernel']} ran as {there}: there is no {name} {wanted[0] if wanted[1] < 0 else wanted}"
                )
        lines = {site["line"] or 0 for launch in launches for site in launch["sites"] if site["seen"]}
        if self.line not in (None, *lines):
            some = ", ".join(map(str, sorted(lines - {0}))) or "none"
            raise InputError(f"line {self.line} loads and stores nothing there; lines that do: {some}")

    def _rows(self, launches: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the columns of each access on the line that is asked for."""
        for number, launch in enumerate(launches, 1):
            for at, block, thread, index, shape, letter, value in launch["traced"]:
                site = launch["sites"][at]
                if self._is_wanted(site):
                    yield {
                        "launch": number, "function": launch["kernel"], "block": block, "thread": thread,
                        "line": site["line"] or 0, "what": site["what"], "array": site["array"], "index": index, "shape": shape,
                        "value": value_text(letter, bytes.fromhex(value)),
                    }  # fmt: skip


class TracingCpp(Tracing):
    """The same of a text in C++, which has one block, and as many threads as the follower gives it."""

    def launches(self, function: Function) -> tuple[list[dict[str, Any]], str]:
        """Run the kernel once in the library in which each access is followed; see `Tracing.launches`."""
        [built] = self.built
        label, where = built.kernel.label, size_text(built.op, self.size)
        if built.follower is None or built.follower.library is None:
            why = "does not compile where each access is followed" if built.follower else "leaves all memory to ATen"
            raise InputError(f"{label} {why}: there is nothing to trace")
        with laboratory():
            runner = runner_of(built)
            assert function.interface is not None  # it has a text
            if self.direction == "backward" and not function.interface.has_backward:
                raise InputError(f"{label} has no backward of its own: direction='forward'")
            (second, follower), guard = second_of(runner, built), Guard(runner.guard, progress=False)
            case, result = Case(THREADS, self.size, self.dtype), CaseResult()
            expected = second.expected(case, result)
            if expected is None:
                raise CheckError(f"'{label}' was not traced: {result.skipped}")
            trial = Trial(second, case, expected)
            trial.before = lambda step: follower.trace(MOST_ROWS * (step == self.direction), self.thread[0])
            with guard.at_end(self.dtype), follower.following(guard) as faults:
                trial.run(guard)
                follower.trace(0)
                launch = follower.traced(guard, built.kernel.name)
        for error in trial.errors:
            text = f"'{label}' failed at {where}: {type(error).__name__}: {error}"
            raise CheckError(f"{text}\nIt was not traced.") from error
        return [{"kernel": self.direction, **launch}], "; ".join(fault.text for fault in faults[:_MOST_FAULTS])


def _has(extents: Sequence[int], wanted: Sequence[int]) -> bool:
    """Tell whether a grid has a block, or a block a thread."""
    return wanted[0] < math.prod(extents) if wanted[1] < 0 else all(map(lt, wanted, extents))


def value_text(letter: str, data: bytes) -> str:
    """Write the bytes of an access as numbers of their type, with as few digits as tell them from others of that type.

    Args:
        letter: the type as `struct` has it, `w` for bfloat16; empty where it is not known.
        data: as it lies in memory.

    Example:
        >>> value_text("f", struct.pack("2f", 0.1, -2)), value_text("w", b"\\x80\\x3f"), value_text("", b"\\x00\\x01")
        ('0.1 -2', '1', '0x0100')
    """
    if letter == "w":  # the upper half of a float
        halves = (data[i : i + 2] for i in range(0, len(data), 2))
        return " ".join(f"{struct.unpack('<f', bytes(2) + half)[0]:.4g}" for half in halves)
    # Bytes that are read several at a time may be anything: memory that a text takes a part of for each of its arrays.
    if not letter or len(data) % (width := struct.calcsize(letter)) or (width == 1 < len(data)):
        return f"0x{data[::-1].hex()}"
    return " ".join(_shortest(letter, number) for number in struct.unpack(f"={len(data) // width}{letter}", data))


def _shortest(letter: str, number: float) -> str:
    if letter not in "efd":
        return f"{number:d}"
    packed = struct.pack(letter, number)
    texts = (f"{number:.{digits}g}" for digits in range(1, 18))
    return next((text for text in texts if struct.pack(letter, float(text)) == packed), "nan")
