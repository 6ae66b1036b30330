"""Races on the CPU: what two threads of a text do to one place of memory in no certain order.

The text is compiled a second time, with each load and store calling the follower (`native/follow.cpp`). That runs the parallel parts
of a few cases on three threads, one at a time, and knows what puts accesses in order: so a race is found each time, whichever thread
is the faster one. What it finds becomes a finding of the section `safety`, at line, tensor and index.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..autopsy.symbolize import Place, lines_of
from ..base.progress import emit
from ..compiling.compiler import Build
from ..native.layout import RaceRecord
from ..run.built import Built
from ..run.cases.case import THREADS, Case, Size, dtypes_of, elements, prime_size
from ..run.cases.tried import size_cases
from ..run.library import declared, load_built
from .guard import Guard, Trial
from .report import Finding
from .runner import CaseResult, Part, Runner, threads
from .safety import obtain

#: As many as the follower runs, whatever the machine has.
_THREADS = 3
_MOST = 64
#: How many times as long a call may take that is followed, of a vectorised loop; and how long it may take.
_SLOWER, _SECONDS = 100, 8.0
_DONE = ("read", "written", "changed by an atomic")
_ATOMIC = 2
#: `enum Where`, but for what lies elsewhere: in a tensor, or in the memory of others.
_VARIABLE, _STATIC, _ALLOCATED = 1, 2, 3
_FUNCTIONS = {
    "follow_start": (None,),
    "follow_stop": (ctypes.c_uint64, ctypes.POINTER(RaceRecord), ctypes.c_uint64),
}


@dataclass(frozen=True)
class Race:
    """Two accesses to one place in no certain order.

    Attributes:
        record: as the follower has written it down.
        thing, name: the variable, tensor or memory that it is about, and the words for the element.
        places: the lines of the later access and of the earlier one, None where they are not known.
    """

    record: RaceRecord
    thing: object
    name: str
    places: tuple[Place | None, ...] = ()

    @property
    def text(self) -> str:
        """`race: y[0] is written by thread 0 at lltm/mine:14 and read by thread 1 at lltm/mine:14, in no certain order`."""
        earlier, later = (
            f"{_DONE[self.record.kind[i]]} by thread {self.record.thread[i]} at "
            + (f"{place.file}:{place.line}" if (place := self.places[i]) else "a line that is not known")
            for i in (1, 0)
        )
        return f"race: {self.name} is {earlier} and {later}, in no certain order"

    @property
    def cure(self) -> str:
        """What to do."""
        if _ATOMIC in [*self.record.kind]:
            return "make all accesses to it atomic, or none"
        return "let each thread write places of its own and put them together afterwards, or make it atomic"


class Follower:
    """A library in which each load and store is followed; it is loaded.

    Args:
        built: of `follower_job`.
    """

    def __init__(self, built: Build) -> None:
        self._path, self._library = built.path, declared(ctypes.CDLL(str(built.path)), _FUNCTIONS)

    @contextmanager
    def following(self, guard: Guard) -> Iterator[list[Race]]:
        """Enter a context that finds the races of what is called in it, one for each thing that they are about.

        Args:
            guard: in a context of which this is, gives tensors memory by which they are known.
        """
        found: list[Race] = []
        self._library.follow_start()
        try:
            with threads(_THREADS):
                yield found
        finally:
            records = (RaceRecord * _MOST)()
            count = self._library.follow_stop(records, _MOST)
            races = [race for record in records[:count] if (race := _named(record, guard))]
            # A call's return address belongs to the instruction after it.
            lines = lines_of({offset - 1 for race in races for offset in race.record.offset}, self._path)
            things = {race.thing: race for race in reversed(races)}
            for race in reversed(things.values()):
                found.append(replace(race, places=tuple(lines.get(offset - 1) for offset in race.record.offset)))


def follow(runner: Runner, built: Built, sizes: Sequence[Size] | None) -> Part:
    """Run a kernel on a few cases with each load and store followed.

    Args:
        runner: of the kernel.
        built: its second library.
        sizes: in place of the corner sizes.

    Returns:
        A finding for each variable or tensor about which there is a race, in the first case that has any.
    """
    if built.library is None:
        return Part(
            0, [], ["races: the text does not compile, or does not come back, where each load and store is followed"]
        )
    guard, why = obtain(runner)
    if guard is None:
        return Part(0, [], [f"races, which are found between {why}"])
    second = runner.of(runner.op)
    second.function, second.threads = load_built(built), _THREADS
    emit("follow")
    follower, findings, count = Follower(built.library), list[Finding](), 0
    for case in _cases(runner, sizes):
        if findings:  # of more elements the same would be told
            break
        result = CaseResult()
        expected = runner.expected(case, result)
        if result.refused:
            return Part(count, findings, [result.skipped])
        if expected is None:
            continue
        trial = Trial(second, case, expected)
        with guard.at_end(case.dtype), follower.following(guard) as races:
            trial.run(guard)
        count += 1
        for race in races:
            made = race.thing if isinstance(race.thing, str) and " " not in race.thing else "forward"
            findings.append(runner.finding("safety", made, race.text, case, race.cure, smallest=case.size))
    return Part(count, findings, [])


def _cases(runner: Runner, sizes: Sequence[Size] | None) -> list[Case]:
    """List a small case and a large one: a text shares out its work from some number of elements on."""
    op = runner.op
    narrow, wide = dtypes_of(op)[0], dtypes_of(op)[-1]
    if sizes:
        return [Case(THREADS, tuple(size), wide) for size in sizes]
    took = runner.longest.get("kernel")
    most = _SECONDS / _SLOWER * took.count / max(took.seconds, 1e-6) if took else math.inf
    many = [case.size for case in size_cases(op, None) if case.threaded and elements(op, case.size) <= most]
    large = max(many, key=lambda size: elements(op, size), default=prime_size(op))
    return [Case(THREADS, prime_size(op), narrow), Case(THREADS, large, wide)]


def _named(record: RaceRecord, guard: Guard) -> Race | None:
    """Name what a race is about; None where that is the memory of others, as of the C library."""
    address = record.address
    if record.where == _VARIABLE:
        return Race(record, address, "a local variable that all threads share")
    if record.where == _STATIC:
        return Race(record, address, "a static variable that all threads share")
    if record.where == _ALLOCATED:
        return Race(
            record, record.base, f"byte {address - record.base} of {record.nbytes} bytes that the text allocates"
        )
    region = guard.region(address)
    if region is None or not region.base <= address < region.base + region.nbytes:
        return None
    name = region.name.decode(errors="replace").removesuffix(", after it was freed")
    number, index = (address - region.base) // region.itemsize, list[int]()
    for extent in reversed(region.shape[: region.ndim]):
        index.insert(0, number % extent)
        number //= extent
    return Race(record, name, f"element {index} of {name}" if " " in name else f"{name}{index}")
