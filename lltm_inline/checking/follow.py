"""What a text does to memory on the CPU: accesses that miss, and what two threads do to one place in no certain order.

The text is compiled a second time, with each load and store calling the follower (`native/follow.cpp`). That knows the tensors and
what the text allocates, so each access past them, after they were freed, or of what nobody has written is found each time. It runs the
parallel parts of a few cases on three threads, one at a time, and knows what puts accesses in order: so a race is found whichever
thread is the faster one. What it finds becomes a finding of the section `safety`, at line, tensor and index.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ..autopsy.symbolize import Place, lines_of, symbolize
from ..base.progress import emit
from ..compiling.compiler import Build
from ..compiling.job import Job
from ..cpp.bodies import macro_lines_at
from ..cuda_cpu import Index, indices, looks_at_limits
from ..native.layout import RaceRecord, ReachedRecord, RegionRecord, SiteRecord, TracedRecord
from ..run.built import Built
from ..run.cases.case import THREADS, Case, Size, dtypes_of, elements, prime_size
from ..run.cases.tried import size_cases
from ..run.library import declared, load_built
from ..tables.trace import OF_CPP
from ..workers.outcome import Died
from .guard import Guard, Trial
from .report import Finding
from .runner import CaseResult, Part, Runner, threads
from .safety import is_right, obtain, safety_cases

#: As many as the follower runs, whatever the machine has.
_THREADS = 3
_MOST, _MOST_INDICES = 64, 4096
#: How many times as long a call may take that is followed, of a vectorised loop; and how long it may take.
_SLOWER, _SECONDS = 100, 8.0
_DONE = ("read", "written", "changed by an atomic")
_ATOMIC = 2
#: How `struct` has the numbers of a tensor; `w` is bfloat16.
_LETTERS = {
    "float64": "d", "float32": "f", "float16": "e", "bfloat16": "w", "complex64": "f", "complex128": "d", "bool": "?",
    "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint8": "B",
}  # fmt: skip
#: `enum Where`, but for what lies elsewhere: in a tensor, or in the memory of others.
_VARIABLE, _STATIC, _ALLOCATED = 1, 2, 3
_BITS = 31, 32
_FUNCTIONS = {
    "follow_start": (None,),
    "follow_stop": (ctypes.c_uint64, ctypes.POINTER(RaceRecord), ctypes.c_uint64),
    "follow_reached": (
        ctypes.c_uint64,
        ctypes.POINTER(ReachedRecord),
        ctypes.c_uint64,
        ctypes.POINTER(ctypes.c_uint64),
    ),
    "follow_trace": (None, ctypes.c_uint64, ctypes.c_int64),
    "follow_traced": (
        ctypes.c_uint64,
        ctypes.POINTER(ctypes.POINTER(TracedRecord)),
        ctypes.POINTER(ctypes.POINTER(SiteRecord)),
    ),
}


#: So many tolerances apart are results of which not the order of operations alone is another.
_FAR = 100
_UNFOLLOWED = "races: where each load and store is followed, the text "
_SET_IT = "give local variables and arrays a value where they are declared: float sums[8] = {};"
#: How findings begin that are of an access to where nothing of the text's lies.
STRAY = ("out of bounds: ", "freed: ")
#: `enum What`: what is said of one place, and what to do.
_RACE, _OUTSIDE, _FREED, _UNWRITTEN = range(4)
_MISSES = {
    _OUTSIDE: (
        "out of bounds: {name} is {done}",
        "compare the index with the size before it is used: the indices of n elements are 0 to n - 1",
    ),
    _FREED: (
        "freed: {name} is {done} after that was freed",
        "use memory before it is freed; a vector moves its elements when it grows, and pointers to them are void",
    ),
    _UNWRITTEN: (
        "uninitialised: {name} is {done}, and nothing has written it",
        "new memory holds nothing: write it first, or make it with at::zeros or as a std::vector",
    ),
}


@dataclass(frozen=True)
class Fault:
    """Two accesses to one place in no certain order, or one to where it must not be.

    Attributes:
        record: as the follower has written it down.
        thing, name: the variable, tensor or memory that it is about, and the words for the element.
        places: the lines of the later access and of the earlier one, None where they are not known; of one that misses its own.
    """

    record: RaceRecord
    thing: object
    name: str
    places: tuple[Place | None, ...] = ()

    @property
    def text(self) -> str:
        """`race: y[0] is written by thread 0 at lltm/mine:14 and read by thread 1 at lltm/mine:14, in no certain order`."""
        if self.record.what:
            return _MISSES[self.record.what][0].format(
                name=self.name, done=f"{_DONE[self.record.kind[0]]} {self._at(0)}"
            )
        earlier, later = (
            f"{_DONE[self.record.kind[i]]} by thread {self.record.thread[i]} {self._at(i)}" for i in (1, 0)
        )
        return f"race: {self.name} is {earlier} and {later}, in no certain order"

    def _at(self, number: int) -> str:
        place = self.places[number]
        return f"at {place.file}:{place.line}" if place else "at a line that is not known"

    @property
    def cure(self) -> str:
        """What to do."""
        if self.record.what:
            return _MISSES[self.record.what][1]
        if _ATOMIC in [*self.record.kind]:
            return "make all accesses to it atomic, or none"
        return "let each thread write places of its own and put them together afterwards, or make it atomic"

    def placed(self, subscripts: _Subscripts, lines: Mapping[int, Place]) -> Fault:
        """Return it with its lines, of those that are known; what misses by a subscript is named by that."""
        if not self.record.what:
            both = zip(self.record.offset, self.record.said, strict=True)
            return replace(self, places=tuple(subscripts.line(lines, [offset - 1], said) for offset, said in both))
        said, name = self.record.said[0], self.name
        if own := subscripts.get(said):
            name = f"{own.name}[{self.record.index}] ({name.removesuffix(',')})"
        return replace(self, name=name, places=(subscripts.line(lines, self.offsets, said),))

    @property
    def offsets(self) -> list[int]:
        """The instructions that were running: a call's return address belongs to the one after it."""
        found = self.record.callers if self.record.what else self.record.offset
        return [offset - 1 for offset in found if offset]


class _Subscripts:
    """The subscripts that a text tells, by their numbers from 1.

    Args:
        job: of the kernel.
    """

    def __init__(self, job: Job | None) -> None:
        self.all, self._sources = (indices(job.text), job.sources) if job else ([], {})

    def get(self, number: int) -> Index | None:
        """Return one; None for 0."""
        return self.all[number - 1] if 0 < number <= len(self.all) else None

    def line(self, lines: Mapping[int, Place], offsets: Sequence[int], number: int) -> Place | None:
        """Return the line of an access: the compiler's, but in a macro, all of which has one line for it, that of its subscript.

        Args:
            lines: by places of code.
            offsets: of those that lead to it, the innermost first.
            number: of its subscript; 0 where there is none.
        """
        place, own = next((lines[offset] for offset in offsets if offset in lines), None), self.get(number)
        if own is None:
            return place
        hidden = place and own.file == place.file and macro_lines_at(self._sources.get(own.file, ""), place.line)
        return Place(own.file, own.line) if place is None or (hidden and own.line in hidden) else place


class Follower:
    """A library in which each load and store is followed; it is loaded.

    Args:
        built: of `follower_job`.
        job: of the kernel.
    """

    def __init__(self, built: Build, job: Job | None = None) -> None:
        self._said = _Subscripts(job)
        self._path, self._library = built.path, declared(ctypes.CDLL(str(built.path)), _FUNCTIONS)
        self._spans: dict[int, list[_Span | None]] = {}

    @contextmanager
    def following(self, guard: Guard) -> Iterator[list[Fault]]:
        """Enter a context that finds what is wrong in what is called in it: of each kind one for each thing that it is about.

        Args:
            guard: in a context of which this is, gives tensors memory by which they are known.
        """
        found: list[Fault] = []
        self._library.follow_start()
        guard.listen(self._library.follow_tensor)
        try:
            with threads(_THREADS):
                yield found
        finally:
            guard.listen(None)
            self._note_reach(guard)
            records = (RaceRecord * _MOST)()
            count = self._library.follow_stop(records, _MOST)
            faults = [fault for record in records[:count] if (fault := _named(record, guard))]
            lines = lines_of({offset for fault in faults for offset in fault.offsets}, self._path)
            things = {(fault.record.what, fault.thing): fault for fault in reversed(faults)}
            found += [fault.placed(self._said, lines) for fault in reversed(things.values())]

    def _note_reach(self, guard: Guard) -> None:
        """Note which indices have reached the last row of the largest tensor, and how many elements that has."""
        records, largest = (ReachedRecord * _MOST_INDICES)(), ctypes.c_uint64()
        for number in range(self._library.follow_reached(records, _MOST_INDICES, ctypes.byref(largest))):
            if (record := records[number]).base:
                self._spans.setdefault(number, []).append(_span(record, guard.region(record.base), largest.value))

    def trace(self, most: int, thread: int = -1) -> None:
        """Note each load and store of tensors and of what the text allocates from now on, so many of each place; none with 0."""
        self._library.follow_trace(most, thread)

    def traced(self, guard: Guard, file: str) -> dict[str, Any]:
        """Return what was noted since tracing began, in the form in which `cuda_cpu_counts` tells of a launch: one of `_THREADS` threads.

        Args:
            guard: in a context of which this is, knows the tensors.
            file: the lines of which are told.
        """
        found, where = ctypes.POINTER(TracedRecord)(), ctypes.POINTER(SiteRecord)()
        records = found[: self._library.follow_traced(ctypes.byref(found), ctypes.byref(where))]
        places = where[: 1 + max((one.site for one in records), default=-1)]
        callers = [[one - 1 for one in place.callers if one] for place in places]
        known = lines_of({one for some in callers for one in some}, self._path)
        lines = {one: place for one, place in known.items() if place.file == file}
        numbers: dict[tuple[Any, ...], int] = {}
        sites, traced = list[dict[str, Any]](), []
        for one in records:
            at = self._said.line(lines, callers[one.site], one.subscript)
            if lines and at is None:
                continue  # what a call returns is put together in the binding
            array, index, shape, letter = self._touched(one, guard)
            key = one.site, array, at
            if key not in numbers:
                seen = places[one.site].seen * all(site != one.site for site, *_ in numbers)
                numbers[key] = len(sites)
                sites.append({"line": at and at.line, "seen": seen, "what": OF_CPP[one.kind], "array": array})
            value = bytes(one.value)[: one.bytes].hex()
            traced.append((numbers[key], (0, 0, 0), (one.thread, 0, 0), index, shape, letter, value))
        return {"grid": (1, 1, 1), "block": (_THREADS, 1, 1), "sites": sites, "traced": traced}

    def _touched(self, record: TracedRecord, guard: Guard) -> tuple[str, tuple[int, ...], tuple[int, ...], str]:
        """Name what is touched: array, index, shape, and the type as `struct` has it, as far as they are known."""
        region = guard.region(record.address)
        if region is not None and not record.base:
            letter = _LETTERS.get(region.dtype.decode(errors="replace"), "")
            return _name_of(region), _index_in(region, record.address), tuple(region.shape[: region.ndim]), letter
        if own := self._said.get(record.subscript):
            return own.name, (record.index,), (), record.letter.strip(b"\0").decode()
        return "memory of the text", (record.address - record.base,), (), ""

    def narrow(self) -> list[str]:
        """Say which indices are computed in 32 bits, and from which size on they are wrong.

        That is proven without such a tensor: the compiler says by which type an index is computed, and cases of several sizes that it
        reaches the last element of the largest tensor. So it would have to be more than its type holds.
        """
        told: dict[tuple[str, str], list[str]] = {}  # of one line the names of all tensors
        for number, spans in self._spans.items():
            found = [span for span in spans if span and span.count]
            if number < len(self._said.all) and None not in spans and len({span.count for span in found}) > 1:
                words = found[0].text(self._said.all[number], exact=all(span.exact for span in found))
                told.setdefault(words, []).append(found[0].name)
        return [f"{start} {' and '.join(dict.fromkeys(names))}, {end}" for (start, end), names in told.items()]


@dataclass(frozen=True)
class _Span:
    """How far an index has reached: over a tensor of so many elements, 0 where that tells nothing, to its very end or its last row."""

    record: ReachedRecord
    name: str
    count: int
    itemsize: int
    exact: bool

    def text(self, said: Index, exact: bool) -> tuple[str, str]:
        """Say what is wrong, before the name of the tensor and after it."""
        signed, by_source = self.record.is_signed, self.record.by_source
        limit = f"{2 ** _BITS[not signed] * self.record.element // self.itemsize:,}"
        (words, cure), kind = said.source if by_source else said.words, "int" if signed else "unsigned int"
        wrong = f"from {limit} elements on" if exact else f"where the last row begins at element {limit} or later"
        return f"{said.file}:{said.line}: {words}, an index of", f"is computed in {kind}: wrong {wrong}; make it {cure}"


def _span(record: ReachedRecord, region: RegionRecord | None, largest: int) -> _Span | None:
    """Say how far an index has reached; None where it is of several tensors, of a smaller one, or of a part."""
    if region is None or record.has_others or region.base != record.base or region.nbytes < largest:
        return None
    shape, nbytes = region.shape[: region.ndim], region.nbytes
    reached = (record.most + 1) * record.element
    row = math.prod(shape[1:]) * region.itemsize if region.ndim > 1 else record.element
    if reached + row - record.element < nbytes:
        return None
    tells = nbytes > 2 * region.itemsize and not (region.ndim > 1 and shape[0] < 2)
    count = nbytes // region.itemsize if tells else 0
    return _Span(record, _name_of(region), count, region.itemsize, reached >= nbytes)


def follow(runner: Runner, built: Built, sizes: Sequence[Size] | None) -> Part:
    """Run a kernel on a few cases with each load and store followed.

    Args:
        runner: of the kernel.
        built: the kernel, with its second library.
        sizes: in place of the corner sizes.

    Returns:
        A finding for each variable or tensor about which there is a fault, in the first case that has any; notes of indices.
    """
    if built.follower is None or built.follower.library is None:
        return Part(0, [], [f"{_UNFOLLOWED}does not compile"])
    guard, why = obtain(runner)
    if guard is None:
        return Part(0, [], [f"races, which are found between {why}"])
    second, follower = second_of(runner, built)
    emit("follow")
    findings, count = list[Finding](), 0
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
        if not findings and (unlike := _unlike(trial, Trial(runner, case, expected), guard)):
            text = f"uninitialised: {', '.join(unlike)} depends on what local variables hold before they are set"
            findings.append(runner.finding("safety", unlike[0], text, case, _SET_IT, smallest=case.size))
    if findings or built.job is None or looks_at_limits(built.job.sources.values()):
        return Part(count, findings, [])
    return Part(count, findings, [], tuple(follower.narrow()))


def second_of(runner: Runner, built: Built) -> tuple[Runner, Follower]:
    """Load the library of a kernel in which each load and store is followed."""
    assert built.follower is not None and built.follower.library is not None
    second = runner.of(runner.op)
    second.function, second.threads = load_built(built.follower), _THREADS
    return second, Follower(built.follower.library, built.job)


def _unlike(followed: Trial, plain: Trial, guard: Guard) -> list[str]:
    """Name what is another number where local variables begin with a pattern, by far more than another order of operations makes."""
    if all(is_right(followed, name, got) for name, got in followed.results.items()):
        return []
    with guard.at_end(plain.case.dtype):
        plain.run(guard)
    both = [name for name in followed.results if name in plain.results]
    return [name for name in both if not is_right(followed, name, followed.results[name], plain.results[name], _FAR)]


def index_fault(died: Died, built: Built) -> Finding | None:
    """Say at which index of an array a kernel was stopped that was followed; None where it ended in another way.

    Args:
        died: how it ended.
        built: the kernel.
    """
    evidence, library = died.evidence, built.follower and built.follower.library
    if not evidence or not library or (evidence.exception, evidence.message[:5]) != ("std::out_of_range", "index"):
        return None
    message, _, number = evidence.message.rpartition(" #")
    if not number.isdigit():  # the text's own, which no exception may leave
        return None
    if own := _Subscripts(built.job).get(int(number)):
        message = message.replace(",", f" of {own.name} at {own.file}:{own.line},", 1)
    elif places := symbolize(died.frames, library.path):
        message = message.replace(",", f" at {places[0].file}:{places[0].line},", 1)
    text = f"out of bounds: {message}"
    step = died.state.step or "forward"
    return Finding(built.kernel.label, "safety", step, text, died.state.case, hints=(_MISSES[_OUTSIDE][1],))


def unfollowed(died: Died, built: Built) -> str:
    """Say that a kernel could not be followed, as it ended otherwise than at an index, and where."""
    assert built.follower is not None and built.follower.library is not None
    own = [one for one in symbolize(died.frames, built.follower.library.path) if one.file == built.kernel.name]
    how = "does not come back" if died.ending.kind == "timeout" else "ends the process"
    return f"{_UNFOLLOWED}{how}{f' at {own[0].file}:{own[0].line}' if own else ''}"


def _cases(runner: Runner, sizes: Sequence[Size] | None) -> list[Case]:
    """List the small cases of `safety`, and a large one: a text shares out its work from some number of elements on."""
    op, wide = runner.op, dtypes_of(runner.op)[-1]
    if sizes:
        return [Case(THREADS, tuple(size), wide) for size in sizes]
    small = [replace(case, group=THREADS) for case in safety_cases(op) if not case.threaded and case.dtype == wide]
    took = runner.longest.get("kernel")
    most = _SECONDS / _SLOWER * took.count / max(took.seconds, 1e-6) if took else math.inf
    many = [case.size for case in size_cases(op, None) if case.threaded and elements(op, case.size) <= most]
    large = max(many, key=lambda size: elements(op, size), default=prime_size(op))
    return [Case(THREADS, prime_size(op), dtypes_of(op)[0]), *small, Case(THREADS, large, wide)]


def _name_of(region: RegionRecord) -> str:
    """Name a tensor, whether or not it was freed since."""
    return region.name.decode(errors="replace").removesuffix(", after it was freed")


def _named(record: RaceRecord, guard: Guard) -> Fault | None:
    """Name what a fault is about; None where that is the memory of others, as of the C library."""
    address = record.address
    if record.where == _VARIABLE:
        return Fault(record, address, "a local variable that all threads share")
    if record.where == _STATIC:
        return Fault(record, address, "a static variable that all threads share")
    if record.where == _ALLOCATED:
        return Fault(
            record, record.base, f"byte {address - record.base} of {record.nbytes} bytes that the text allocates"
        )
    region = guard.region(address)
    if region is None or not (record.what == _OUTSIDE or region.base <= address < region.base + region.nbytes):
        return None
    name = _name_of(region)
    if record.what == _OUTSIDE:
        number, count = (address - region.base) // region.itemsize, region.nbytes // region.itemsize
        return Fault(record, name, f"element {number} of {name}, which has {count},")
    index = [*_index_in(region, address)]
    return Fault(record, name, f"element {index} of {name}" if " " in name else f"{name}{index}")


def _index_in(region: RegionRecord, address: int) -> tuple[int, ...]:
    """Return the index of the element at an address of a tensor, one for each axis."""
    number, index = (address - region.base) // region.itemsize, list[int]()
    for extent in reversed(region.shape[: region.ndim]):
        index.insert(0, number % extent)
        number //= extent
    return tuple(index)
