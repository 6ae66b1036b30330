"""A submission's kernel as the judge calls it: what looks like a loaded function, and runs behind the locks."""

from __future__ import annotations

import itertools
import json
import math
import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from string import hexdigits
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..autopsy.symbolize import lines_of
from ..base.processors import processors
from ..checking.guard import Damage, Guard
from ..checking.runner import threads
from ..errors import InfraError, LltmInlineError
from ..model.registry import Op
from ..run.built import build_helper
from ..run.function import Function, each
from ..workers.limits import Limits
from . import sandbox
from .builder import runtime_of
from .inside import BOOK_HEAD, BOOK_LINE, BOOK_WHATS, Ask, Library, RunTask
from .locked import Answer, Broken, Gone, Kept, Locked, same

#: Locks and loading, on a machine that is busy.
_LOAD_SECONDS = 60.0
#: All calls of a kernel may take as long as so many of the slowest: who waits in each, a little less than is allowed, holds up the class.
_IN_ALL = 30
#: How many calls are made behind one that was asked for, drawn anew for each; and how often its results are held on to.
_MORE, _MOST_MORE, _HOLD = (0, 0, 0, 0, 0, 0, 1, 1, 2, 4), 48, 1 / 8
#: Calls of no more bytes are made again.
_SMALL = 1 << 16
CHANGES = "its result changes when it is called again: a result must be memory of its own"


class Book(NamedTuple):
    """What the launches of one call have done: how often each of `BOOK_WHATS`, its transactions, and those at best; its worst line."""

    faults: int
    said: str
    launches: int
    blocks: int
    warps: int
    barriers: int
    lost: int
    sums: dict[str, tuple[int, int, int]]
    worst: dict[str, int]


class Runner(AbstractContextManager["Runner"]):
    """The process in which one submission's kernel runs; a new one takes its place when it has ended.

    A kernel has a memory: it can count its calls, and hand out one buffer for all of them. So with a seed the calls that a check asks
    for are not all: earlier ones are made again, a drawn number of them between any two; and results are read again after later calls.

    Args:
        library: what runs.
        op: what it computes, with all that the judge knows of it.
        limits: of each call.
        trust: run it also where a lock is missing.
        seed: from which all that follows; without one there is only what is asked for.

    Attributes:
        library, limits, trust: as above.
        numbers: of its requests; the first two of a process lock it and load the library.
        spent: seconds in which its answers were waited for, in all processes.
        faults: what was seen beside the calls that were asked for.
        raised: how many calls have raised.
        calm: no calls are made beside those that are asked for, and nothing is held on to.
        books: a list into which goes what each call of a CUDA text has done; None where nobody asks.
    """

    def __init__(
        self, library: Library, op: Op, limits: Limits, *, trust: bool = False, seed: bytes | None = None
    ) -> None:
        self._draw = random.Random(seed)
        #: Calls that were answered, and may be made again, with inputs of their own: a kernel may change those that it was given.
        self._good: deque[tuple[list[Any], Sequence[bool], int]] = deque(maxlen=4)
        #: What an answer gave, to be looked at again later; the last keeps its call alive.
        self._kept: tuple[Locked, Answer, Any] | None = None
        self.faults: list[str] = []
        self.raised, self.calm = 0, seed is None
        self.library, self.limits, self.trust = library, limits, trust
        try:
            self._helpers = {
                name: build_helper(name, library.toolchain.compiler, False) for name in ("bridge", "guard")
            }
            if library.kernel.cuda:
                self._helpers["runtime"] = runtime_of(library.toolchain)
        except LltmInlineError as error:
            raise InfraError(f"what runs submissions cannot be compiled: {error}") from error
        self.process: Locked | None = None
        self.numbers = itertools.count(2)
        self.spent = 0.0
        self._forgotten: list[int] = []
        self.guard, self.dtype = "", torch.float64
        self.damages: list[Damage] = []
        self.books: list[Book] | None = None
        device = library.toolchain.device.name
        self.function = Function(library.kernel, op, None, None, self._differentiable().apply, device=device)

    def start(self) -> Locked:
        """Fork, lock and load, unless that was done.

        Raises:
            Gone: it ended while its library was loaded.
            RuntimeError: the library cannot be loaded.
        """
        if self.process is None:
            seconds = math.ceil(_IN_ALL * self.limits.seconds * processors())
            task = RunTask(self.library, self._helpers, self.limits.memory, seconds)
            self.process, self._forgotten = Locked(task, self.limits.output), []
            try:
                held = self.process.receive(0, _LOAD_SECONDS).text.split(", ")
                missing = [name for name in sandbox.NEEDED if name not in held]
                if missing and not self.trust:
                    which = f"no {' and no '.join(missing)}, which lock a submission in"
                    raise InfraError(f"this machine has {which}: python -m lltm_inline lab doctor says more")
                self.process.ask("load")
                answer = self.process.receive(1, max(self.limits.seconds, _LOAD_SECONDS / 2))
                if answer.raised:
                    raise RuntimeError(answer.text)
            except BaseException:
                self.close()
                raise
        return self.process

    def close(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.kill()
            self.process, self._kept = None, None

    def call(
        self, values: Sequence[Any], wanted: Sequence[bool], threads: int, of: _Call | None = None
    ) -> tuple[_Call, Answer]:
        """Run forward with inputs, or differentiate an earlier call with the gradients of its outputs.

        Returns:
            The call, by which its gradients can be had, and what it gave.
        """
        call, answer = self._called(values, wanted, threads, of)
        if not self.calm:
            flat = (one for value in values for one in (value if isinstance(value, list | tuple) else [value]))
            size = sum(one.untyped_storage().nbytes() for one in flat if isinstance(one, Tensor))
            if of is None and size <= _SMALL:
                self._good.append(([each(value, torch.clone) for value in values], wanted, threads))
            self._look_back(call.process, answer, (call, of))
        return call, answer

    def _called(
        self, values: Sequence[Any], wanted: Sequence[bool], threads: int, of: _Call | None = None
    ) -> tuple[_Call, Answer]:
        if self.spent > _IN_ALL * self.limits.seconds:
            self.close()
            raise Gone(f"does not come back within {_IN_ALL * self.limits.seconds:g} s, all its calls together")
        process = self.start()
        process.require_silence()
        if of and process is not of.process:
            raise Gone("has ended since its forward was called")
        number = next(self.numbers)
        laid, kept = process.lay(number, values, () if of else wanted)
        call = _Call(self, process, number, kept)
        ask = Ask(
            number, None if of else laid, of.number if of else 0, laid if of else (), tuple(wanted), threads=threads
        )
        return call, self._answer(ask, [*kept, *of.kept] if of else kept)

    def _look_back(self, process: Locked, answer: Answer, keep: Any) -> None:
        """Make some calls that nobody asked for, and see whether an earlier result is still what it was.

        Raises:
            Gone: the process has ended.
        """
        for _ in range(_MOST_MORE if self._draw.random() < _HOLD / 32 else self._draw.choice(_MORE)):
            if not self._good:
                break
            try:
                self._called(*self._draw.choice(self._good))
            except RuntimeError as error:
                self.faults.append(f"raises at inputs that it has taken before: {error}")
        if self._kept is None or self._draw.random() < _HOLD:
            self.look_again()
            # Whoever gets the results may change them: what they were is kept beside.
            own = tuple(each(value, torch.clone) for value in answer.values)
            self._kept = process, answer._replace(values=own), keep

    def look_again(self) -> None:
        """See whether the result that was held on to is still what it was, and let it go; and that nothing else was said.

        Raises:
            Gone: the process has ended by itself, or has said what nobody asked for.
        """
        if self.process is not None:
            self.process.require_silence()
        held, self._kept = self._kept, None
        if held is not None and held[0] is self.process:
            process, answer, _ = held
            if not all(map(same, process.read(answer).values, answer.values)):
                self.faults.append(CHANGES)

    def _answer(self, ask: Ask, kept: Kept) -> Answer:
        assert self.process is not None
        process, started = self.process, time.monotonic()
        forget, self._forgotten = tuple(self._forgotten), []
        try:
            process.open_book(self.books is not None)
            process.ask(replace(ask, forget=forget, guard=self.guard, dtype=self.dtype))
            answer = process.receive(ask.number, self.limits.seconds)
            self.spent += time.monotonic() - started
            process.take_back(kept)
            answer = answer if answer.raised else process.read(answer)
        except BaseException:
            self.close()
            raise
        book = self._book() if self.library.kernel.cuda else None
        if answer.raised or (book and book.faults):
            self.raised += 1
            # What was found is told, whatever the text has made of the exception.
            # And the type of a runner's exception is left out, which is one here too.
            own = answer.text.removeprefix("RuntimeError: ")[:500]
            raise RuntimeError(self._with_lines(book.said) if book and book.faults else own)
        if book and self.books is not None:
            self.books.append(book)
        if self.guard:
            self.damages += _damages(answer.text)
        return answer

    def _book(self) -> Book:
        """Read what the call has done; places of the library become lines of the text."""
        assert self.process is not None
        data = self.process.book()
        _, faults, launches, blocks, warps, barriers, count, lost, said = BOOK_HEAD.unpack_from(data)
        rows = [BOOK_LINE.unpack_from(data, BOOK_HEAD.size + i * BOOK_LINE.size) for i in range(count)]
        wanted = (at for row in rows for at in row[5:] if at and self.books is not None)
        places = lines_of(wanted, self.library.build.path)
        sums, worst = dict.fromkeys(BOOK_WHATS, (0, 0, 0)), dict[str, tuple[int, int]]()
        for what, _, times, transactions, least, *calls in rows:
            name = BOOK_WHATS[what]
            own = [places[at].line for at in calls if at in places and places[at].file == self.library.kernel.name]
            if not own and name == BOOK_WHATS[-1]:
                continue  # in a function of ours, which a GPU has as an instruction
            before = sums[name]
            sums[name] = before[0] + times, before[1] + transactions, before[2] + least
            worst[name] = max(worst.get(name, (-1, 0)), (transactions - least or times, own[0] if own else 0))
        told = said.partition(b"\0")[0].decode(errors="replace")
        return Book(
            faults, told, launches, blocks, warps, barriers, lost, sums, {n: line for n, (_, line) in worst.items()}
        )

    def _with_lines(self, said: str) -> str:
        """Write lines of the text in the place of addresses of its library."""
        first, *parts = said.split("line @")
        at = [int("".join(itertools.takewhile(hexdigits.__contains__, part))[:8] or "0", 16) for part in parts]
        own = {at: place.line for at, place in lines_of(at, self.library.build.path).items()}
        told = (
            f"line {own.get(one, 'that is not known')}{part.lstrip(hexdigits)}"
            for one, part in zip(at, parts, strict=True)
        )
        return "".join((first, *told))

    def _differentiable(self) -> Any:
        """Make the function of autograd that stands for the kernel here."""
        runner = self

        class Remote(torch.autograd.Function):
            """Forward and backward behind the locks; what lies between them stays there."""

            @staticmethod
            def forward(ctx: Any, *inputs: Any) -> Any:
                wanted = tuple(
                    isinstance(v, Tensor) and need for v, need in zip(inputs, ctx.needs_input_grad, strict=True)
                )
                ctx.threads = torch.get_num_threads()
                with _honest(), threads(1):  # they are the kernel's: here they copy, and then wait by spinning
                    ctx.call, answer = runner.call(inputs, wanted, ctx.threads)
                ctx.set_materialize_grads(False)
                pairs = zip(answer.values, answer.attached, strict=True)
                ctx.mark_non_differentiable(*(v for v, attached in pairs if isinstance(v, Tensor) and not attached))
                return answer.values[0] if len(answer.values) == 1 else answer.values

            @staticmethod
            @once_differentiable
            def backward(ctx: Any, *grads: Any) -> Any:
                with _honest(), threads(1):
                    _, answer = runner.call(grads, ctx.needs_input_grad, ctx.threads, ctx.call)
                if len(answer.values) != len(ctx.needs_input_grad):
                    raise Gone("sends what is no answer")
                return answer.values[0] if len(answer.values) == 1 else answer.values

        return Remote

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _honest() -> Iterator[None]:
    """Tell what a kernel raises, which comes as a RuntimeError, from what fails on this side."""
    try:
        yield
    except Exception as error:
        if isinstance(error, InfraError) or not isinstance(error, RuntimeError):
            raise Broken(error) from error
        raise


class _Call:
    """A call whose gradients somebody may want, or whose results: when it goes, it is forgotten on both sides."""

    def __init__(self, runner: Runner, process: Locked, number: int, kept: Kept) -> None:
        self._runner, self.process, self.number, self.kept = runner, process, number, kept

    def __del__(self) -> None:
        self.process.forget(self.number)
        if self._runner.process is self.process:
            self._runner._forgotten.append(self.number)


class RemoteGuard(Guard):
    """The memory guard of a runner: tensors get their pages and their names on the other side."""

    finder, missed = 0, 0

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    @contextmanager
    def _entered(self, end: bool, dtype: torch.dtype) -> Iterator[Guard]:
        runner = self._runner
        runner.guard, runner.dtype, runner.damages = "end" if end else "start", dtype, []
        try:
            yield self
        finally:
            runner.guard = ""

    def place(self, name: str, tensor: Tensor, stretch: int = 0) -> Tensor:
        """Leave the tensor where it is."""
        return tensor.detach().clone()

    def expect(self, maker: str, sizes: Any) -> None:
        """Do nothing."""

    def name(self, name: str, tensor: Tensor) -> bool:
        """Do nothing."""
        return True

    def damages(self) -> tuple[Damage, ...]:
        """Tell what was written beside tensors since the last time."""
        found, self._runner.damages = tuple(self._runner.damages), []
        return found


def _damages(text: str) -> list[Damage]:
    """Read what the guard behind the locks has seen; what makes no sense is damage, too."""
    try:
        found = [
            Damage(str(n), tuple(map(int, s)), str(d), bool(b), int(i), int(e), bytes.fromhex(o), bytes.fromhex(w))
            for n, s, d, b, i, e, o, w in json.loads(text or "[]")[:64]
        ]
        for damage in found:
            _ = damage.value  # raises where the bytes are no number of that dtype
        return found
    except (ValueError, TypeError, OverflowError, RuntimeError):  # the last one, too, of lists within lists without end
        return [Damage("a tensor", (), "uint8", True, 1, 1, b"\0", b"\0")]
