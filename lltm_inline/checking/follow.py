"""Races on the CPU: what two threads of a text do to one place of memory in no certain order.

The text is compiled a second time, with each load and store calling the follower (`native/follow.cpp`). That runs the parallel parts
of a few cases on three threads, one at a time, and knows what puts accesses in order: so a race is found each time, whichever thread
is the faster one. What it finds becomes a finding of the section `safety`, at line, tensor and index.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from ..autopsy.symbolize import Place, lines_of
from ..compiling.compiler import Build
from ..native.layout import RaceRecord
from ..run.built import Built
from ..run.cases.case import THREADS, Case, Size, dtypes_of, prime_size
from ..run.cases.expectation import expect
from ..run.cases.tried import size_cases
from ..run.library import load_built
from .guard import Guard, Trial
from .report import Finding
from .runner import Part, Runner, one_line
from .safety import obtain

#: As many as the follower runs, whatever the machine has.
_THREADS = 3
_MOST = 64
_DONE = ("read", "written", "changed by an atomic")
_ELSEWHERE, _VARIABLE, _STATIC, _ALLOCATED = range(4)
_FUNCTIONS = {
    "follow_start": (None,),
    "follow_stop": (
        ctypes.c_uint64,
        ctypes.POINTER(RaceRecord),
        ctypes.c_uint64,
        ctypes.POINTER(ctypes.c_uint64),
    ),
}


class _Race(NamedTuple):
    """A race as the follower has it.

    Attributes:
        record: what the follower has written down.
        thing, name: the variable, tensor or memory that it is about, and the words for the element; nothing for memory of others.
    """

    record: RaceRecord
    thing: object
    name: str


def follow(runner: Runner, built: Built, sizes: Sequence[Size] | None) -> Part:
    """Run a kernel on a few cases with each load and store followed.

    Args:
        runner: of the kernel.
        built: its second library.
        sizes: in place of the corner sizes.

    Returns:
        A finding for each pair of lines between which there is a race.
    """
    assert built.library is not None
    guard, why = obtain(runner)  # gives tensors memory by which they are known
    if guard is None:
        return Part(0, [], [f"races, for want of {why}"])
    second = runner.of(runner.op)
    second.function, second.threads = load_built(built), _THREADS
    library = _loaded(built.library)
    findings: dict[object, Finding] = {}
    count, skipped = 0, []
    for case in _cases(runner, sizes):
        if runner.untried(case) or runner.takes_too_long(case):
            continue
        try:
            trial = Trial(second, case, expect(runner.op, case))
        except Exception as error:
            skipped.append(f"{case.describe(runner.op)}: the reference refuses it ({one_line(error)})")
            continue
        with guard.at_end(case.dtype):
            library.follow_start()
            try:
                trial.run(guard)
            finally:
                found = (RaceRecord * _MOST)()
                number = ctypes.c_uint64()
                library.follow_stop(found, _MOST, ctypes.byref(number))
            races = [race for record in found[: number.value] if (race := _named(record, guard)).name]
        count += 1
        lines = lines_of({offset for race in races for offset in _offsets(race)}, built.library.path)
        for race in races:
            places = [lines.get(offset) for offset in _offsets(race)]
            findings.setdefault(race.thing, _finding(second, case, race, places))
        if findings:  # of more elements the same would be told
            break
    return Part(count, list(findings.values()), skipped)


def _cases(runner: Runner, sizes: Sequence[Size] | None) -> Iterator[Case]:
    """List a small case and those of many elements: a text shares out its work from some number of elements on."""
    op = runner.op
    if sizes:
        yield from (Case(THREADS, tuple(size), dtypes_of(op)[-1]) for size in sizes)
        return
    yield Case(THREADS, prime_size(op), dtypes_of(op)[0])
    many = {case.size: replace(case, group=THREADS) for case in size_cases(op, None) if case.threaded}
    yield from (case for size, case in many.items() if math.prod(size) > 1)


def _loaded(build: Build) -> ctypes.CDLL:
    """Return what a kernel's second library offers beside the kernel; it is loaded already."""
    library = ctypes.CDLL(str(build.path))
    for name, (result, *arguments) in _FUNCTIONS.items():
        getattr(library, name).restype, getattr(library, name).argtypes = result, arguments
    return library


def _offsets(race: _Race) -> list[int]:
    # A call's return address belongs to the instruction after it.
    return [offset - 1 for offset in race.record.offset]


def _named(record: RaceRecord, guard: Guard) -> _Race:
    """Name what a race is about; nothing where that is the memory of others, as of the C library."""
    address = record.address
    if record.where == _VARIABLE:
        return _Race(record, address, "a variable of the caller, which all threads share,")
    if record.where == _STATIC:
        return _Race(record, address, "a static variable, which all threads share,")
    if record.where == _ALLOCATED:
        return _Race(record, record.base, f"byte {address - record.base} of {record.nbytes} that the text has allocated")
    region = guard.region(address)
    if region is None or not region.base <= address < region.base + region.nbytes:
        return _Race(record, None, "")
    name = region.name.decode(errors="replace").removesuffix(", after it was freed")
    number, index = (address - region.base) // region.itemsize, list[int]()
    for extent in reversed(region.shape[: region.ndim]):
        index.insert(0, number % extent)
        number //= extent
    return _Race(record, name, f"element {index} of {name}" if " " in name else f"{name}{index}")


def _finding(runner: Runner, case: Case, race: _Race, places: Sequence[Place | None]) -> Finding:
    """Say what two threads do to one place, where, and what to do."""
    kinds, threads = race.record.kind, race.record.thread
    what = [
        f"{_DONE[kind]} by thread {thread} at {f'{place.file}:{place.line}' if place else 'a line that is not known'}"
        for kind, thread, place in zip(kinds, threads, places, strict=True)
    ]
    text = f"race: {race.name} is {what[1]} and {what[0]}, in no certain order"
    cure = (
        "make all accesses to it atomic, or none"
        if _DONE.index("changed by an atomic") in [*kinds]
        else "let each thread write places of its own and put them together afterwards, or make it atomic"
    )
    made = race.thing if isinstance(race.thing, str) and " " not in race.thing else "forward"
    return runner.finding("safety", made, text, case, cure, smallest=case.size)
