"""The machine code of a kernel, each of its lines beside what became of it, and what its loops do at a time.

1. `objdump` lists the instructions of the library, `addr2line` the line of the text of each: calls that were inlined, also those of
   a header, count for the line that made them.
2. A loop is a set of instructions each of which can be reached from each. Of loops in each other the innermost are told: there the
   time goes.
3. How much a loop does at a time is the widest register among its calculations: eight floats in 32 bytes.
"""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import accumulate, chain, groupby, repeat, starmap
from pathlib import Path
from typing import Any, ClassVar

from ..autopsy.symbolize import lines_of, short_name
from ..base.above import Shown
from ..base.arguments import boolean, plural
from ..base.device import DEVICES
from ..base.packages import install_command
from ..base.progress import Progress
from ..build.nvcc import Nvcc
from ..build.toolchain import find_toolchain
from ..errors import BuildError, DefinitionError, InputError, ToolchainError, UnknownPartError
from ..model.registry import Kernel, registry, resolve
from ..run.built import Built, build_all
from ..run.executor import prepare
from ..run.setting import Setting, choose_sizes
from ..source.template import devices_of, is_torch_free, require_text
from ..tables.words import percent
from . import ptx, sass
from .hot import Hot, hot_of
from .remarks import (
    ANY_CALL,
    ATOMIC,
    BRANCHES,
    BYTES,
    CARRIED,
    CHASES,
    DIVISION,
    FAR,
    IN_ORDER,
    MAY_NEED,
    ONE_PLACE,
    RARE,
    STARTS,
    THREADS,
    UNCLEAR,
    UNCLEAR_PLACES,
    UNCOUNTED,
    Remark,
    because_of_branches,
    because_of_calls,
    because_of_memory,
    because_of_order,
    because_of_sqrt,
    extents,
    has_threads,
    remarks_of,
)

#: The first that is there is taken; both list in Intel's syntax, the target first.
_TOOLS = (
    ("objdump", "-d", "-C", "--no-show-raw-insn", "-w", "-M", "intel"),
    ("llvm-objdump", "-d", "-C", "--no-show-raw-insn", "--x86-asm-syntax=intel"),
)
_FUNCTION = re.compile(r"([0-9a-f]+) <(.+)>:")
_INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+(\S.*)")
#: A jump or a call, and where to: `jne 1140 <f+0x7>`, `call 0x1030 <expf@plt>`, `b.ne 0x1140`.
_TARGET = re.compile(r"(?:0x)?([0-9a-f]+)(?: <(.+)>)?\s*(?:#.*)?$")
_JUMP = re.compile(r"(?:j\w+|b|b\.\w+|cbn?z|tbn?z|loop\w*|bra|bra\.uni|BRA(?:\.\w+)*)$")
_LEAVES = re.compile(r"(?:jmp|ret|ud2|hlt|b|br|brk|bra|bra\.uni|exit|trap|BRA|(?:EXIT|RET)(?:\.\w+)*)$")
#: Calls that never come back: what follows them belongs to something else.
_NO_RETURN = re.compile(
    r"Fail\b|__throw_|_Unwind_Resume|__cxa_(?:throw|rethrow)|terminate|\babort\b|_chk_fail|::error_|rethrow_exception"
)
_CALL = re.compile(r"(?:call|callq|bl|blr|call\.uni|CALL(?:\.\w+)*)$")
#: Calculations with numbers that are not whole, comparisons among them, by what the name ends in on x86: packed or single,
#: of floats or of doubles.
_CALCULATION = re.compile(
    r"v?(?:add|sub|mul|div|fn?m(?:add|sub)\w*|max|min|sqrt|rsqrt\w*|rcp\w*|addsub|hadd|u?comi|cmp\w*?)(?:14)?([ps])([sd])$"
)
_ARM = re.compile(r"f(?:add|sub|mul|div|mla|mls|max|min|sqrt|n?madd|n?msub|maxnm|minnm|c?cmpe?|cmeq|cmg[et])$")
#: Of a CUDA text, for one thread.
_PTX = re.compile(r"(?:add|sub|mul|fma|mad|div|max|min|sqrt|rsqrt|rcp|ex2|lg2|sin|cos|tanh|setp)(?:\.\w+)*\.f(32|64)$")
_SASS = re.compile(r"(?:(F)|D)(?:ADD|MUL|FMA|MNMX|SETP)(2?)(?:\.\w+)*$")
_SQRT = re.compile(r"v?sqrts[sd]")
#: What takes memory from the system.
_ALLOCATES = re.compile(
    r"operator new|malloc|calloc|at::(?:empty|zeros|ones|full)|c10::alloc_cpu|.*::_M_(?:realloc|range|fill|default)_(?:insert|append)"
)
_STARTS = re.compile(STARTS)
#: From float to double, and back.
_WIDENS, _NARROWS = re.compile(r"v?cvt([ps])s2\1d|fcvtl2?"), re.compile(r"v?cvt([ps])d2\1s|fcvtn2?")
_CONVERTS = ", from float to double and back (a constant like 0.5 asks for that: 0.5f does not)"
#: What changes its first operand, if that is memory; on x86.
_STORES = re.compile(r"v?mov\w*|set\w+|add|adc|sub|sbb|inc|dec|neg|not|and|or|xor|xadd|xchg|cmpxchg")
_OPERAND = re.compile(r"(?:\w+ (?:PTR|ptr) )?(?:\w+:)?\[(.+?)\]")
_REGISTER = re.compile(r"\b(?:[re]?([a-d])[xlh]|[re]?([sd]i|[sb]p)l?|(r\d+)[dwb]?)\b")
#: Their first operand stays as it was; and what changes which registers that it does not name.
_KEEPS = re.compile(r"cmp|test|bt|push|v?u?comis[sd]|j\w+")
_CHANGES = (
    (re.compile(r"i?mul|i?div|c[dq]qe?|cqo"), {"a", "d"}),
    (_CALL, {"a", "c", "d", "si", "di", "r8", "r9", "r10", "r11"}),
)
_ONE_PLACE = (
    ", writes to one place in memory in each turn: add up in a local variable, and write it when the loop is done"
)
_NEIGHBOURS = " (threads whose places lie less than 64 bytes apart wait for each other besides)"
_ATOMIC = ", an atomic operation in each turn, which waits for all threads: add up in a local variable, and do it once, at the end"
#: Of a jump that may go on: what follows farther behind it is not where it goes on.
_JUMP_BYTES = 6
_COMPARES = re.compile(r"v?u?comis[sd]")
#: What else sets the flags by which a jump goes.
_FLAGS = re.compile(r"cmp|test|add|sub|inc|dec|and|or|xor|sh[lr]")
_BRANCHES = (
    ", goes one way or another by a number: where these are random, each wrong guess of the processor costs some twenty clocks "
    "(to compute both and choose does without)"
)
_GATHERS = (
    ", reads places that numbers give which it has just read, as table[index[i]]: where these lie far apart, in more than a cache holds, "
    "each is a wait for memory"
)
_CHASES = ", goes from each place in memory to the next one that it names, as through a tree or a list: each read waits for the one before"
#: What is in a register: what changes from turn to turn as a counter does, or what was read at a place that such a one gives.
_TURNS, _READ = "turns", "read"
#: What fetches a number from memory into a register of the processor's own.
_FETCHES = re.compile(r"mov(?:sxd?|zx)? +(\w+),(?:\w+ PTR )\[(.+?)\]")
_DIVIDES = ", divides whole numbers (idiv), which takes as long as ten additions or more"
_ADDS_ONE = re.compile(r"v?adds[sd]")
_IN_ORDER = ", adds up in order, one number at a time"
#: From so many additions on, each of which waits for the one before it, a loop adds up in order.
_CHAIN = 4
#: Columns of the text beside its instructions.
_SOURCE = 60
#: From this share of common text on, two lines are one before and after an edit.
_ALIKE = 0.6
_HALF = re.compile(r"v?mov(?:sd|q|[lh]ps) +(?:xmm\d+,QWORD PTR|QWORD PTR .+,xmm)")
_REGISTERS = {"xmm": 16, "ymm": 32, "zmm": 64}
_TYPES = {"s": ("float", 4), "d": ("double", 8)}


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        address: in the library.
        text: `vaddps ymm0, ymm1, ymm2`.
        line: of the kernel's text; 0 for one that belongs to none.
    """

    address: int
    text: str
    line: int

    @property
    def name(self) -> str:
        """What it does: the first word that is no prefix."""
        words = self.text.split()
        return next((word for word in words if word not in _PREFIXES and not word.startswith("@")), words[0])


_PREFIXES = ("lock", "rep", "repz", "repnz", "bnd", "notrack", "data16", "cs", "ds", "es")


def _written(one: Instruction) -> set[str]:
    """Name the registers that an instruction changes by its first operand."""
    first = one.text.partition(one.name)[2].partition(",")[0]
    return set() if "[" in first or _KEEPS.fullmatch(one.name) else _registers(first)


def _registers(text: str) -> set[str]:
    """Name the registers of the processor's own numbers in an operand, each by one name: `rax`, `eax` and `al` are one."""
    return {next(filter(None, found)) for found in _REGISTER.findall(text)}


def _reached(come_from: Mapping[str, set[str]], start: str) -> set[str]:
    """Name the registers from which that of a number may come, over others."""
    reached, left = set[str](), [start]
    while left:
        new = come_from.get(left.pop(), set()) - reached
        reached |= new
        left += new
    return reached


@dataclass(frozen=True)
class Loop:
    """An innermost loop.

    Attributes:
        instructions: from the first to the jump back.
        has_threads: whether its text hands work to threads.
    """

    instructions: tuple[Instruction, ...]
    has_threads: bool = False

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the text of which there is something in it, in order."""
        return tuple(sorted({one.line for one in self.instructions if one.line}))

    @cached_property
    def widths(self) -> Mapping[str, int]:
        """How many floats and doubles it calculates with at a time; of those that it calculates with."""
        return _widths(self.instructions)

    @property
    def widest(self) -> int:
        """The largest of these; 0 where it calculates with none."""
        return max(self.widths.values(), default=0)

    @cached_property
    def calls(self) -> tuple[str, ...]:
        """The functions that it calls, each turn anew; but for that of a square root, which is called for negative numbers alone."""
        rare = ("sqrt", "sqrtf") if self.has_sqrt else ()
        return tuple(name for name in dict.fromkeys(map(_called, self.instructions)) if name and name not in rare)

    @property
    def has_sqrt(self) -> bool:
        """Whether it takes square roots one at a time."""
        return any(map(_SQRT.fullmatch, (one.name for one in self.instructions)))

    def by_line(self, most: int | None = None) -> Iterator[tuple[int, list[Instruction]]]:
        """Yield the first instructions in order, those together that belong to one line; one of no line goes with those before it."""
        lines = [one.line for one in self.instructions]
        known = accumulate(lines, lambda last, line: line or last, initial=0)
        next(known)  # the initial one
        first = zip(known, self.instructions[:most], strict=False)
        for line, together in groupby(first, key=lambda each: each[0]):
            yield line, [one for _, one in together]

    def __str__(self) -> str:
        return f"loop at {self.where}: {self.said}"

    @property
    def where(self) -> str:
        """Its lines in words."""
        lines = self.lines
        return f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]} to {lines[-1]}"

    @cached_property
    def pace(self) -> str:
        """How many numbers it calculates with at a time, in words."""
        words = ", ".join(starmap(words_of_width, self.widths.items())) or "no calculation with floats or doubles"
        names = [one.name for one in self.instructions]
        converts = any(map(_WIDENS.fullmatch, names)) and any(map(_NARROWS.fullmatch, names))
        words += _CONVERTS * converts + _DIVIDES * self.divides + _IN_ORDER * self.adds_in_order
        if self.calls:  # beside which nothing else counts for much
            return words
        words += _CHASES * self.chases + _BRANCHES * self.branches + _GATHERS * self.gathers
        if self.is_atomic:
            return words + _ATOMIC
        return words + (_ONE_PLACE + _NEIGHBOURS * self.has_threads) * self.writes_one_place

    @property
    def is_atomic(self) -> bool:
        """Whether it does an atomic operation; not beside calls, where it may be what counts the owners of a tensor; on x86."""
        return not self.calls and any(one.text.startswith("lock ") for one in self.instructions)

    @property
    def divides(self) -> bool:
        """Whether it divides whole numbers; on x86."""
        return any(one.name in ("idiv", "div") for one in self.instructions)

    @property
    def branches(self) -> bool:
        """Whether it jumps by a comparison of floats, and goes on either way; on x86.

        What each square root asks does not count, as no number is negative as a rule, nor what ends the loop, which is once.
        """
        names, jumps = [one.name for one in self.instructions], 0
        own = {one.address for one in self.instructions}
        for at, name in enumerate(names):
            if _COMPARES.fullmatch(name):
                after = (one for one in self.instructions[at + 1 :] if _JUMP.match(one.name) or _FLAGS.match(one.name))
                if (jump := next(after, None)) and _JUMP.match(jump.name):
                    to = _TARGET.search(jump.text)
                    follows = self.instructions.index(jump) + 1
                    gaps = [one.address - jump.address for one in self.instructions[follows : follows + 1]]
                    jumps += to is not None and int(to[1], 16) in own and gaps != [] and gaps[0] <= _JUMP_BYTES
        return jumps > sum(map(bool, map(_SQRT.fullmatch, names)))

    @property
    def chases(self) -> bool:
        """Whether the places of its reads come from such reads alone, through which it goes as through a tree or a list; on x86."""
        now = dict[str, tuple[set[str], bool]]()  # from which registers, as the turn found them, and whether by a read
        for one in self.instructions:
            moved = re.fullmatch(r"mov +(\w+),(?:QWORD PTR \[(\w+)(?:[+-]0x\w+)?\]|(\w+))", one.text)
            if moved and (to := _registers(moved[1])):
                at = _registers(moved[2] or moved[3]) - {"sp", "bp"}
                froms = [now.get(register, ({register}, False)) for register in at]
                now[min(to)] = (
                    set().union(*(each for each, _ in froms)),
                    moved[2] is not None or any(read for _, read in froms),
                )
            else:
                # What is computed besides is no pointer that was read.
                now |= dict.fromkeys(_written(one), (set[str](), False))
        come_from = {register: froms for register, (froms, _) in now.items()}
        return any(
            read and any(register in {each, *_reached(come_from, each)} for each in froms)
            for register, (froms, read) in now.items()
        )

    @property
    def gathers(self) -> bool:
        """Whether it reads places that numbers give which it has just read, and not a pointer that it reads again; on x86."""
        known = dict.fromkeys(self._counters, _TURNS)
        for one in self.instructions:
            first, _, others = one.text.partition(one.name)[2].partition(",")
            target = set[str]() if "[" in first or _KEEPS.fullmatch(one.name) else _registers(first)
            places = [_registers(place) for place in re.findall(r"PTR \[(.+?)\]", one.text)]
            if _READ in {known.get(register) for place in places for register in place}:
                return True
            read = _registers(others) if one.name.startswith(("mov", "lea")) else _registers(others) | target
            states = {known.get(register) for register in read}
            if _FETCHES.fullmatch(one.text):
                said = _READ if _TURNS in states and not read & {"sp", "bp"} else ""
            else:
                said = next((state for state in (_READ, _TURNS) if state in states), "")
            changed = target.union(*(more for pattern, more in _CHANGES if pattern.fullmatch(one.name)))
            known.update(dict.fromkeys(changed, said))
        return any("gather" in one.name for one in self.instructions)

    @property
    def _counters(self) -> set[str]:
        """The registers that a turn takes on from the one before it: what it does first with them is to add to them."""
        found, seen = set[str](), set[str]()
        for one in self.instructions:
            written = _registers(one.text.partition(one.name)[2].partition(",")[0])
            if not _KEEPS.fullmatch(one.name) and "[" not in one.text.partition(",")[0]:
                found |= written - seen if one.name in ("add", "sub", "inc", "dec") else set()
                seen |= written
        return found

    @property
    def adds_in_order(self) -> bool:
        """Whether numbers are added one by one, each to the sum of those before it, several in a turn; on x86."""
        longest = chain_of = 0
        last = ""
        for one in self.instructions:
            registers = re.findall(r"[xyz](mm\d+)", one.text)
            if _ADDS_ONE.fullmatch(one.name) and registers:
                # With two operands the first is read, too.
                read = registers[one.text.count(",") > 1 :]
                chain_of = chain_of + 1 if last in read else 1
                last, longest = registers[0], max(longest, chain_of)
            elif registers[:1] == [last] and "[" not in one.text.partition(",")[0]:
                last = ""
        return longest >= _CHAIN

    @property
    def strides(self) -> bool:
        """Whether a turn reads or writes so far from the one before it as a register says, not beside it; on x86."""
        return bool(self._strided)

    @property
    def turns_over(self) -> bool:
        """Whether it has a stride on one side alone, reading or writing, and goes along on the other: another inner loop changes which."""
        beside = (
            re.fullmatch(r"(?:add +(\w+),0x\w+|(?:inc|dec) +(\w+)|sub +(\w+),0x\w+)", one.text)
            for one in self.instructions
        )
        along = set[str]().union(*(_registers("".join(filter(None, one.groups()))) for one in beside if one))
        return self._stored_and_changed[0] != [] and (
            len({*self._strided.values()}) > 1
            or any(_registers(place) & along and not _registers(place) & {*self._strided} for place in self._places())
        )

    @cached_property
    def _strided(self) -> dict[str, str]:
        """The registers of places that a turn moves on, each with the register that says how far."""
        steps = (re.fullmatch(r"add +(\w+),(\w+)", one.text) for one in self.instructions)
        by = {(step[1], step[2]) for step in steps if step and _registers(step[1]) and _registers(step[2])}
        changed, used = self._stored_and_changed[1], set[str]().union(*map(_registers, self._places()))
        # What is written besides begins anew in each turn: a place within a row, to which the row's own is added.
        anew = set[str]().union(*(_written(one) for one in self.instructions if one.name != "add"))
        found = {min(_registers(which)): min(_registers(step)) for which, step in by if not _registers(step) & changed}
        return {which: step for which, step in found.items() if which in used - anew}

    @property
    def rereads(self) -> bool:
        """Whether it stores bytes, and reads in each turn again what lies at one place: pointers, sizes, numbers; on x86.

        A store of bytes may change anything, so nothing that is read stays in a register.
        """
        stores = any(
            re.match(r"(?:mov|set\w+) +BYTE PTR \[", one.text) and not _registers(one.text) & {"sp", "bp"}
            for one in self.instructions
        )
        changed = self._stored_and_changed[1]
        again = (
            _registers(place[1])
            for one in self.instructions
            if (place := re.match(r"v?\w+ +\w+,(?:\w+,)?[DQ]WORD PTR \[(.+?)\]", one.text)) and "lea" not in one.name
        )
        return stores and any(place and not place & (changed | {"sp", "bp"}) for place in again)

    def _places(self) -> Iterator[str]:
        """Yield each address that it reads or writes, as it is written."""
        for one in self.instructions:
            yield from re.findall(r"PTR \[(.+?)\]", one.text)

    @property
    def writes_one_place(self) -> bool:
        """Whether each turn writes to memory where the one before it has written, but for the stack; on x86."""
        stored, changed = self._stored_and_changed
        return any(not place & (changed | {"sp", "bp"}) for place in stored)

    @cached_property
    def _stored_and_changed(self) -> tuple[list[set[str]], set[str]]:
        """Return the registers of the address of each store, and those that a turn changes."""
        stored, changed = list[set[str]](), set[str]()
        for one in self.instructions:
            name, operands = one.name, one.text.partition(one.name)[2].strip()
            place = _OPERAND.match(operands)
            if place and _STORES.fullmatch(name):
                stored.append(_registers(place[1]))
            elif not place and not _KEEPS.fullmatch(name):
                changed |= _registers(operands.partition(",")[0])
            changed = changed.union(*(more for pattern, more in _CHANGES if pattern.fullmatch(name)))
        return stored, changed

    @property
    def rest(self) -> str:
        """Its length and its calls, in words."""
        return plural(len(self.instructions), "instruction") + f", calls {', '.join(self.calls)}" * bool(self.calls)

    @property
    def said(self) -> str:
        """All of that."""
        return f"{self.pace}, {self.rest}"


@dataclass(frozen=True)
class Routine:
    """A function of the library that has something of the kernel's text in it.

    Attributes:
        name: as C++ spells it.
        instructions: all of them.
        loops: the innermost ones that have something of the text in them.
        uses: of a CUDA kernel, the registers and the memory of a thread, and the memory of a block, in words.
    """

    name: str
    instructions: tuple[Instruction, ...]
    loops: tuple[Loop, ...]
    uses: str = ""

    @property
    def short(self) -> str:
        """The name without arguments."""
        return short_name(self.name)

    @property
    def kinds(self) -> list[tuple[Loop, str]]:
        """Its loops, one of each of which the same is said (a compiler makes copies), and how many those are, in words."""
        alike: dict[tuple[tuple[int, ...], str], list[Loop]] = {}
        for loop in self.loops:
            alike.setdefault((loop.lines, loop.said), []).append(loop)
        return [(loops[0], f" ({len(loops)} such loops)" if len(loops) > 1 else "") for loops in alike.values()]

    def by_loop(self) -> Iterator[tuple[Loop | None, list[Instruction]]]:
        """Yield the instructions in order, those together that belong to one loop, or to none."""
        loops = {one.address: loop for loop in self.loops for one in loop.instructions}
        for loop, together in groupby(self.instructions, key=lambda one: loops.get(one.address)):
            yield loop, list(together)


@dataclass(frozen=True)
class Assembly(Shown):
    """The machine code of a kernel.

    Attributes:
        kernel: label.
        compiler: which made it.
        text: of the kernel.
        routines: the functions that have something of the text in them, those with most of it first.
        other: that of another revision.
        note: what is shown in place of machine code, and what is missing.
        remarks: what the compiler says that it did with lines of the text, and why it did not do more; None where nobody asked.
        hot: to which lines the time goes; None where nobody asked.
        elsewhere: of a library that has nothing of the text, to which other texts its instructions belong, and how many to each.
        MOST: instructions that are shown; a page of more helps nobody, and takes a browser seconds.
    """

    MOST: ClassVar[int] = 4000

    kernel: str
    compiler: str
    text: str
    routines: tuple[Routine, ...]
    other: Assembly | None = None
    note: str = ""
    remarks: tuple[Remark, ...] | None = None
    hot: Hot | None = None
    elsewhere: tuple[tuple[str, int], ...] = ()

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of all routines."""
        return tuple(loop for routine in self.routines for loop in routine.loops)

    def width(self, dtype: str = "float") -> int:
        """Return how many numbers the widest loop calculates with at a time; 0 where none calculates with such.

        Args:
            dtype: `"float"` or `"double"`.

        Raises:
            UnknownPartError: another dtype.
        """
        if dtype not in ("float", "double"):
            raise UnknownPartError(f"no width for {dtype!r}: want 'float' or 'double'")
        return max((loop.widths.get(dtype, 0) for loop in self.loops), default=0)

    @property
    def calls(self) -> tuple[str, ...]:
        """The functions that loops call."""
        return tuple(dict.fromkeys(name for loop in self.loops for name in loop.calls))

    def calls_of(self, line: int) -> tuple[str, ...]:
        """Return the functions that the loops call which have something of a line in them."""
        return tuple(dict.fromkeys(name for loop in self.loops if line in loop.lines for name in loop.calls))

    def of_line(self, line: int) -> tuple[Instruction, ...]:
        """Return what became of a line of the text."""
        return tuple(one for routine in self.routines for one in routine.instructions if one.line == line)

    @property
    def without_loops(self) -> str:
        """What is said of one without loops."""
        if self.elsewhere:
            counts = ", ".join(f"{plural(count, 'instruction')} of {file}" for file, count in self.elsewhere)
            return (
                "No instruction is of the text: all that it says was inlined until nothing was left, or lies in other files. "
                f"The library has {counts}."
            )
        if not self.routines:
            return (
                "No instruction can be told to be of the text: the library has no line table (was it built with -g0?), "
                "or neither addr2line nor llvm-symbolizer is on PATH."
            )
        return "The text has no loops: what repeats, repeats in the functions that it calls."

    @property
    def headline(self) -> str:
        """What it is of, in one line."""
        own = sum(bool(one.line) for routine in self.routines for one in routine.instructions)
        return f"assembly of {self.kernel} by {self.compiler}: {plural(own, 'instruction')} of its text, {plural(len(self.loops), 'loop')}"

    @property
    def threads(self) -> str:
        """That its loops run on one thread, where a C++ text hands nothing to others."""
        alone = self.loops and "__global__" not in self.text and not has_threads(self.text)
        return "Its loops run on one thread: the text hands nothing to others (at::parallel_for)." if alone else ""

    def __str__(self) -> str:
        texts, left = self.text.split("\n"), self.MOST
        rows = [self.headline, *filter(None, [self.threads, self.note]), *self._asked(texts)]
        if self.other is not None:
            rows += ["", *self.differences]
        for routine in self.routines:
            rows += (
                ["", ": ".join(filter(None, [routine.short, routine.uses]))] if routine.loops or routine.uses else []
            )
            for loop, many in routine.kinds:
                rows.append(f"  {loop}{many}")
                for line, instructions in loop.by_line(left):
                    source = f"{line:4} | {texts[line - 1].strip()}" if 0 < line <= len(texts) else ""
                    beside = chain([source[:_SOURCE]], repeat(""))
                    rows += [
                        f"    {text:<{_SOURCE}}  {one.text}" for text, one in zip(beside, instructions, strict=False)
                    ]
                left = max(0, left - len(loop.instructions))
        rows += [] if self.loops else ["", self.without_loops]
        rows += self.left_out([loop for routine in self.routines for loop, _ in routine.kinds])
        return "\n".join(rows)

    def _asked(self, texts: Sequence[str]) -> list[str]:
        """Say where the time goes, and what the compiler says, if asked: it is what somebody with a slow kernel wants first."""
        rows: list[str] = []
        if self.hot is not None:
            rows += ["", self.hot.headline]
            rows += [
                f"  {percent(share):>4}  {f'{line:>4} | {text[:_SOURCE]}' if line else '     '}  {inside}".rstrip()
                for share, line, text, inside in self.hot.rows(texts)
            ]
        if self.remarks is not None:
            said = "what the compiler says:" if self.remarks else "The compiler says nothing of the text, good or bad."
            rows += ["", said]
            for one in self.remarks:
                rows += [f"  {one.line:4} | {texts[one.line - 1].strip()[:_SOURCE]}", f"         {one}"]
        return rows

    def left_out(self, of: Sequence[Loop | Routine]) -> list[str]:
        """Say how many instructions are left out where only the first are shown; nothing where all are."""
        total = sum(len(each.instructions) for each in of)
        where = f"li.assembly({self.kernel!r}).of_line(N) has those of line N"
        return [f"Here are {self.MOST} of {total} instructions: {where}."] if total > self.MOST else []

    @property
    def differences(self) -> list[str]:
        """Each loop beside that of the other revision in its place, and what is different; nothing without another."""
        return (
            [f"beside {self.other.kernel}:", *(self._diff(self.other) or ["  neither has a loop"])]
            if self.other
            else []
        )

    def _diff(self, other: Assembly) -> list[str]:
        mine, theirs = (
            [(texts, list(loops)) for texts, loops in groupby(each.loops, key=partial(_texts, each))]
            for each in (self, other)
        )
        rows = []
        matcher = difflib.SequenceMatcher(
            None, [texts for texts, _ in theirs], [texts for texts, _ in mine], autojunk=False
        )
        for _, first, end, start, stop in matcher.get_opcodes():
            left = [(loop, texts) for texts, loops in theirs[first:end] for loop in loops]
            for now, texts in [(loop, texts) for texts, loops in mine[start:stop] for loop in loops]:
                alike = [each for each in left if _alike(each[1], texts)]
                # Of a loop of vectors and the one for what is left over, the former is what a loop is compared with.
                # And of floats and doubles that a text is made for, the one of the same.
                ranks = [
                    (each[1] == texts, each[0].said == now.said, [*each[0].widths] == [*now.widths], each[0].widest)
                    for each in alike
                ]
                before = alike[ranks.index(max(ranks))] if alike else None
                if before is None:
                    rows.append(f"  new: {now}")
                    continue
                left.remove(before)
                same = before[0].said == now.said
                rows.append(
                    f"  loop at {now.where}: {f'{now.said}, as before' if same else f'{before[0].said} -> {now.said}'}"
                )
            gone = Counter(str(loop) for loop, _ in left)
            rows += [f"  gone: {loop}" + f" ({many} such loops)" * (many > 1) for loop, many in gone.items()]
        return rows


def _alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two loops have a line in common, or one line and its edit."""
    return any(difflib.get_close_matches(line, other, 1, _ALIKE) for line in one)


def _texts(whole: Assembly, loop: Loop) -> tuple[str, ...]:
    """Return the lines of the text of which there is something in a loop."""
    texts = whole.text.split("\n")
    return tuple(texts[line - 1].strip() for line in loop.lines if line <= len(texts))


def assembly(
    kernel: Kernel | str,
    other: Kernel | str | None = None,
    *,
    device: str | None = None,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    remarks: bool = False,
    hot: bool | Sequence[int] | Mapping[str, int] = False,
) -> Assembly:
    """Show the machine code that a kernel's text became, its innermost loops above all.

    Args:
        kernel: a `Kernel` or the name of one in the registry.
        other: another revision, built in the same way; its loops are compared with these. One that does not compile is told in
            the note.
        device: `"cpu"`, `"cuda-cpu"`, or `"cuda"` for what nvcc makes of a CUDA text, for which no GPU is needed: machine code
            (SASS) where nvdisasm is there, else PTX; the first that the kernel has a text for unless given.
        compiler, cflags, progress: as for `build`. The library comes out of the cache where it is there.
        remarks: also say what the compiler did with each line: vectorised, inlined, unrolled, or why not, and what would
            help. It takes a compile of its own, once.
        hot: also call the kernel forward for a second at this size, or at the op's first with True, and say to which lines
            the time goes. That needs `perf`, on Linux; where it is not there or not allowed, the result says so.

    Returns:
        An Assembly: it shows each line of a loop beside its instructions, and says how many numbers the loop calculates
        with at a time and what it calls.

    Raises:
        DefinitionError: the kernel has no text for the device.
        ToolchainError: neither objdump (of binutils) nor llvm-objdump is here; for `"cuda"`, no nvcc.
        BuildError, InputError, UnknownKernelError: as for `build`.

    Example:
        >>> a = assembly("axpy/cpp", progress=False)
        >>> a.width("float") >= 4, a.calls
        (True, ())
    """
    boolean("remarks", remarks)
    chosen = [resolve(each) for each in (kernel, other) if each is not None]
    device = devices_of(chosen[0])[0] if device is None else device
    setting = Setting(device, compiler, cflags, progress)
    if (remarks or hot is not False) and DEVICES[device].text != "cpp":
        asked_for = "remarks" if remarks else "hot"
        raise InputError(f"{asked_for}= with device={device!r}: it is told of C++ texts, device='cpu'")
    for each in chosen:
        if each.python is not None:
            raise DefinitionError(f"kernel {each.label!r} is a Python function: it has no machine code of its own")
        require_text(each, device)
    if device != "cuda":
        _disassembler()  # what is missing is said before anything is compiled
    asked: Any = None if hot is True else [hot]
    sizes = {each.op: choose_sizes(registry.op_of(each), asked)[0] for each in chosen} if hot is not False else {}
    try:
        found = _all_of(chosen, setting, remarks, sizes)
    except BuildError as error:
        if other is None or error.kernel != chosen[1].label:
            raise
        [alone] = _all_of(chosen[:1], setting, remarks, sizes)
        why = str(error).partition("\n")[0]
        return replace(
            alone, note=f"{alone.note} There is nothing of {chosen[1].label} to compare it with: {why}".strip()
        )
    return replace(found[0], other=found[1]) if other is not None else found[0]


def _all_of(
    kernels: Sequence[Kernel], setting: Setting, remarks: bool, sizes: Mapping[str, tuple[int, ...]]
) -> list[Assembly]:
    if DEVICES[setting.device].needs_gpu:
        nvcc, paths = ptx.compiled(kernels, setting)
        return [_cuda_of(kernel, path, nvcc) for kernel, path in zip(kernels, paths, strict=True)]
    version = find_toolchain(setting.compiler, setting.cflags, setting.device).version
    found = []
    for built in prepare(kernels, setting) if sizes else build_all(kernels, setting):
        one = _assembly_of(built, version)
        if remarks:
            one = replace(one, remarks=_remarks_of(one, remarks_of(built, setting.progress)))
        if sizes:
            one = replace(one, hot=hot_of(built, sizes[built.op.name], setting))
        found.append(_by_time(one) if sizes and remarks else one)
    return found


def _remarks_of(of: Assembly, told: Sequence[Remark]) -> tuple[Remark, ...]:
    """Hold what a compiler says of a text against its machine code, which shows more, in the order of lines."""
    ends, inmost = extents(of.text), {line for loop in of.loops for line in loop.lines}
    outer = {first for first, last in ends.items() if any(first < line <= last for line in ends)} - inmost
    # Of a loop around others they say what is true of these, or that there are others in it.
    kept = [one for one in told if not of.loops or one.what != "not vectorised" or one.line not in outer]
    said = [_explained(one, of, range(one.line, ends.get(one.line, one.line) + 1)) for one in kept]
    said += _silent(of, {_around(one.line, ends) for one in kept if one.what in ("vectorised", "not vectorised")})
    how = "memory in each turn, perhaps ({})"
    taken = [Remark(line, "allocates", how.format(name), _ONCE) for line, name in _called_in_loops(of, _ALLOCATES)]
    named = " ".join(one.how for one in said)
    started = {line: name for line, name in _called_in_loops(of, _STARTS) if name not in named}
    taken += [Remark(line, _WAITS, f"{THREADS[0]} ({name})", THREADS[1]) for line, name in started.items()]
    # Two reasons of a compiler's may have become one of the machine code, also of two statements of one loop.
    once = dict[tuple[int, str, str], Remark]()
    for one in sorted([*said, *taken], key=lambda each: each.line):
        line = _around(one.line, ends) if one.what == "not vectorised" else 0
        once.setdefault((line or one.line, one.what, one.how), one)
    return tuple(once.values())


def _around(line: int, ends: Mapping[int, int]) -> int:
    """Return the first line of the innermost loop around a line; 0 where there is none."""
    return max((first for first, last in ends.items() if first <= line <= last), default=0)


def _silent(of: Assembly, spoken: set[int]) -> list[Remark]:
    """Return the loops of the text that call something, or go through a list, and of which the compiler says nothing.

    g++ does not look at a loop out of which an exception may lead.
    """
    ends, found = extents(of.text), dict[int, dict[str, None]]()
    for loop in of.loops:
        for one in loop.instructions:
            name, line = _called(one), _around(one.line, ends)
            if name in loop.calls and not RARE.match(name):
                found.setdefault(line, {})[name] = None
            elif loop.chases:
                found.setdefault(line, {})
    said = {line: because_of_calls(Remark(line, "not vectorised", *CHASES), [*found[line]], of.text) for line in found}
    # One of the text's own may do much in a call, and then to call it costs nothing.
    return [one for line, one in said.items() if line and line not in spoken and one.help != ANY_CALL]


def _by_time(of: Assembly) -> Assembly:
    """Put what is said of the lines, or of the loops, that take most of the time first."""
    assert of.hot is not None and of.remarks is not None
    ends, shares = extents(of.text), dict.fromkeys(range(of.text.count("\n") + 2), 0.0)
    for line, share in (*of.hot.lines, *((line, share) for line, _, _, share in of.hot.calls)):
        shares[line] += share

    idle = sum(share for name, share in of.hot.others if name.startswith("libgomp"))

    def share_of(one: Remark) -> float:
        return idle * (one.what == _WAITS) + sum(
            shares[line] for line in range(one.line, ends.get(one.line, one.line) + 1)
        )

    return replace(
        of,
        remarks=tuple(
            sorted(
                (_measured(one, of) for one in of.remarks),
                key=lambda one: (one.what in _GOOD and _BUT not in one.how, -share_of(one)),
            )
        ),
    )


def _measured(one: Remark, of: Assembly) -> Remark:
    """Say of a loop with a version of vectors, for steps of one, that the time goes to the one for longer steps, where it does."""
    assert of.hot is not None
    shares, last = dict(of.hot.at), extents(of.text).get(one.line, one.line)
    loops = [loop for loop in of.loops if not {*range(one.line, last + 1)}.isdisjoint(loop.lines)]
    if one.what != "vectorised" or one.help or not shares or not loops:
        return one
    taken = [sum(shares.get(each.address, 0) for each in loop.instructions) for loop in loops]
    hottest = loops[taken.index(max(taken))]
    if not hottest.strides or _is_wide(hottest) or not max(taken):
        return one
    return replace(one, how=f"{one.how}{_BUT}most of the time {FAR[0]}", help=FAR[1] * (not hottest.turns_over))


def _is_wide(loop: Loop) -> bool:
    return loop.widest > _FEW


_BUT = ", but "
#: As wide is a loop that reads each number by itself.
_FEW = 2
#: Of what was done there is nothing to mend.
_GOOD = ("vectorised", "inlined", "unrolled")
_WAITS = "waits"
_ONCE = "Take it once, ahead of the loop."
#: Reasons that the machine code of a loop shows.
_SHOWN = {
    "chases": CHASES,
    "is_atomic": ATOMIC,
    "rereads": BYTES,
    "divides": DIVISION,
    "strides": FAR,
    "writes_one_place": ONE_PLACE,
}


def _explained(one: Remark, of: Assembly, lines: range) -> Remark:
    """Hold what a compiler says of a line against the loops that have something of the lines of its loop."""
    calls = of.calls_of(one.line)
    loops = [loop for loop in of.loops if not {*lines}.isdisjoint(loop.lines)]
    # What is within an inner loop is no matter of the one around it.
    inner = {line for first, last in extents(of.text).items() if first in lines[1:] for line in range(first, last + 1)}
    if one.what == "vectorised" and any(loop.adds_in_order for loop in loops if not inner.issuperset(loop.lines)):
        return replace(one, how=f"{one.how}{_BUT}the sum: {IN_ORDER[0]}", help=IN_ORDER[1]) if not one.help else one
    # A stride that another inner loop only moves from what is read to what is written has no cure that is known to help.
    inner_one = FAR[1] * (not any(loop.turns_over for loop in loops))
    if (
        one.what == "vectorised"
        and not one.help
        and any(loop.strides for loop in loops)
        and not any(map(_is_wide, loops))
    ):
        return replace(one, how=f"{one.how}{_BUT}{FAR[0]}", help=inner_one)
    if calls or one.what != "not vectorised":
        return because_of_calls(one, calls, of.text)
    if one.how in CARRIED:
        for has in ("is_atomic", "strides"):
            if any(getattr(loop, has) for loop in loops):
                return replace(one, how=_SHOWN[has][0], help=_SHOWN[has][1])
        return because_of_order(one, of.text)
    if one.how == MAY_NEED:
        return because_of_memory(one, of.text)
    if one.how in (BRANCHES[0], UNCOUNTED[0], UNCLEAR_PLACES):
        told = because_of_branches(one, of.text)
        # The machine code may show more: a square root branches, too, to a call for negative numbers.
        if told.how != one.how or not any(getattr(loop, has) for loop in loops for has in ("has_sqrt", *_SHOWN)):
            return told
    if one.help == FAR[1] and not any(loop.strides for loop in loops):
        return replace(one, how=UNCLEAR_PLACES, help="")
    if any(loop.has_sqrt for loop in loops):
        return because_of_sqrt(one, of.text)
    for has, (how, help) in _SHOWN.items():
        if any(getattr(loop, has) for loop in loops):
            return replace(one, how=how, help=inner_one if has == "strides" else help)
    is_atomic = one.how == UNCLEAR and "std::atomic" in of.text
    return replace(one, how=ATOMIC[0], help=ATOMIC[1]) if is_atomic else one


def _assembly_of(built: Built, version: str) -> Assembly:
    assert built.library is not None
    kernel, kind = built.kernel, DEVICES[built.device].text
    routines, elsewhere = _routines(built.library.path, _file_of(kernel, kind))
    text = kernel.sources[kind]
    if has_threads(text):
        routines = [
            replace(one, loops=tuple(replace(loop, has_threads=True) for loop in one.loops)) for one in routines
        ]
    return Assembly(kernel.label, version, text, tuple(routines), elsewhere=elsewhere)


def _cuda_of(kernel: Kernel, path: Path, nvcc: Nvcc) -> Assembly:
    made, file, routines = sass.translated(path, nvcc), _file_of(kernel, "cuda"), []
    found = sass.listed(made.listing, file) if made.listing else ptx.listed(path.read_text(errors="replace"), file)
    for name, rows in found:
        instructions = tuple(starmap(Instruction, rows))
        routines.append(Routine(_demangled(name), instructions, tuple(_loops(instructions)), made.uses.get(name, "")))
    return Assembly(kernel.label, f"nvcc {nvcc.version}", kernel.cuda, tuple(routines), note=made.note)


def _demangled(name: str) -> str:
    """Write a name as C++ does, where binutils or LLVM can; else as it is."""
    tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    return subprocess.run([tool, name], capture_output=True, text=True).stdout.strip() or name if tool else name


def _file_of(kernel: Kernel, kind: str) -> str:
    """Return what `#line` calls a text of a kernel."""
    return f"{kernel.name} ({kind})" if is_torch_free(kernel) else kernel.name


def _routines(path: Path, file: str) -> tuple[list[Routine], tuple[tuple[str, int], ...]]:
    """Return the functions of a library that have something of the text in them, those with most of it first.

    Where none has, also to which other texts the instructions belong.
    """
    functions = _disassembled(path)
    places = lines_of((address for rows in functions.values() for address, _ in rows), path)
    lines = {at: place.line for at, place in places.items() if place.file == file}
    found = []
    for name, rows in functions.items():
        if own := sum(address in lines for address, _ in rows):
            instructions = tuple(Instruction(address, _plain(text), lines.get(address, 0)) for address, text in rows)
            found.append((own, Routine(name, instructions, tuple(_loops(instructions)))))
    elsewhere = () if found else tuple(Counter(place.file for place in places.values()).most_common())
    return [routine for _, routine in sorted(found, key=lambda each: -each[0])], elsewhere


def _disassembler() -> tuple[str, ...]:
    """Return the command that lists the instructions of a library.

    Raises:
        ToolchainError: there is none.
    """
    for tool in _TOOLS:
        if shutil.which(tool[0]):
            return tool
    raise ToolchainError(
        f"the assembly of a kernel needs objdump or llvm-objdump on PATH. {install_command('objdump')}"
    )


def _disassembled(path: Path) -> dict[str, list[tuple[int, str]]]:
    """List the instructions of a library by function."""
    listed = subprocess.run(
        [*_disassembler(), str(path)], capture_output=True, text=True, errors="replace", check=True
    ).stdout
    functions: dict[str, list[tuple[int, str]]] = {}
    rows: list[tuple[int, str]] = []
    for line in listed.splitlines():
        if head := _FUNCTION.fullmatch(line):
            rows = functions.setdefault(head[2], [])
        elif row := _INSTRUCTION.fullmatch(line):
            rows.append((int(row[1], 16), row[2]))
    return functions


def _plain(text: str) -> str:
    """Leave the signature out of a name, and the place in a function behind a jump.

    Example:
        >>> _plain("call   5830 <at::TensorBase::options() const@plt>"), _plain("jne    b2b0 <f(int)+0x5e0>")
        ('call 5830 <at::TensorBase::options>', 'jne b2b0')
    """
    text = " ".join(text.split())
    name, _, rest = text.partition(" <")
    return name if not rest or not _CALL.match(name.split()[0]) else f"{name} <{short_name(rest[:-1])}>"


def _loops(instructions: Sequence[Instruction]) -> Iterator[Loop]:
    """Yield the innermost loops that have something of the text in them.

    A loop is a set of instructions each of which can be reached from each: a jump back alone may only lead from a rare case,
    which compilers put behind the end, to where the function goes on.
    """
    ways = _ways(instructions)
    for loop in _innermost(range(len(instructions)), ways):
        found = Loop(tuple(instructions[index] for index in loop))
        if found.lines:
            yield found


def _called_in_loops(of: Assembly, which: re.Pattern[str]) -> dict[tuple[int, str], None]:
    """Return at which lines a loop, or one around it, calls a function of some; not where an exception is on its way."""
    found = dict[tuple[int, str], None]()
    for instructions in (routine.instructions for routine in of.routines):
        for loop in _knots(range(len(instructions)), _ways(instructions)):
            # What is of no line is of that before it.
            for line, together in Loop(tuple(instructions[index] for index in loop)).by_line():
                found |= {(line, name): None for name in map(_called, together) if line and which.match(name)}
    return found


def _ways(instructions: Sequence[Instruction]) -> list[tuple[int, ...]]:
    """Say for each instruction which may be the next, by their numbers."""
    at = {one.address: index for index, one in enumerate(instructions)}
    ways = []
    for index, one in enumerate(instructions):
        # Behind a predicate (`@P0 BRA 70`, `BRA UP0, 70`) it may go on.
        always = _LEAVES.match(one.name) and not one.text.startswith("@") and "," not in one.text
        leaves = always or _NO_RETURN.search(_called(one))
        to = [index + 1] if index + 1 < len(instructions) and not leaves else []
        if _JUMP.match(one.name) and (target := _TARGET.search(one.text)):
            to += [at[there]] if (there := int(target[1], 16)) in at else []
        ways.append(tuple(to))
    return ways


def _innermost(part: Iterable[int], ways: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Yield the loops of a part of the instructions that have no other loop in them, in order."""
    for loop in sorted(_knots(part, ways)):
        # Without its first instruction, which is where it is entered as a rule, only loops within it are left.
        inner = list(_innermost(loop[1:], ways))
        yield from inner or [loop]


def _knots(part: Iterable[int], ways: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Find the sets of instructions each of which can be reached from each (Tarjan's algorithm, without recursion)."""
    inside, order, low = set(part), dict[int, int](), dict[int, int]()
    stack, on_stack, found = list[int](), set[int](), list[list[int]]()
    for root in sorted(inside):
        work = [(root, iter(ways[root]))] if root not in order else []
        while work:
            node, rest = work[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                stack.append(node)
                on_stack.add(node)
            for to in rest:
                if to not in inside:
                    continue
                if to not in order:
                    work.append((to, iter(ways[to])))
                    break
                if to in on_stack:
                    low[node] = min(low[node], order[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    knot = stack[stack.index(node) :]
                    del stack[-len(knot) :]
                    on_stack.difference_update(knot)
                    if len(knot) > 1 or node in ways[node]:
                        found.append(sorted(knot))
    return found


def _called(one: Instruction) -> str:
    """Name the function that an instruction calls; nothing for an instruction that calls none."""
    if not _CALL.match(one.name):
        return ""
    target = _TARGET.search(one.text)
    return (
        (target[2] or "").removesuffix("@plt") or "a function by its address" if target else "a function by its address"
    )


def _widths(instructions: Sequence[Instruction]) -> dict[str, int]:
    found: dict[str, int] = {}
    # Where numbers come or go by eight bytes and never by sixteen, half of each register is used.
    halves = any(map(_HALF.match, (one.text for one in instructions)))
    halves = halves and not any("XMMWORD PTR" in one.text for one in instructions)
    for one in instructions:
        if how := _CALCULATION.fullmatch(one.name):
            dtype, size = _TYPES[how[2]]
            registers = [_REGISTERS[name] for name in re.findall("[xyz]mm", one.text)]
            width = max(registers, default=16) // size if how[1] == "p" else 1
            width = width // 2 if width * size == _REGISTERS["xmm"] and halves else width
        elif _ARM.fullmatch(one.name) and (shape := re.search(r"\bv\d+\.(\d+)([sd])|\b([sd])\d+\b", one.text)):
            dtype, _ = _TYPES[shape[2] or shape[3]]
            width = int(shape[1] or 1)
        elif how := _PTX.fullmatch(one.name):
            dtype, width = {"32": "float", "64": "double"}[how[1]], 1
        elif how := _SASS.fullmatch(one.name):
            dtype, width = "float" if how[1] else "double", int(how[2] or 1)
        else:
            continue
        found[dtype] = max(found.get(dtype, 0), width)
    return found


def words_of_width(dtype: str, width: int) -> str:
    """Say how many numbers are calculated with at a time.

    Example:
        >>> words_of_width("float", 8), words_of_width("double", 1)
        ('8 floats at a time', 'one double at a time')
    """
    return f"one {dtype} at a time" if width == 1 else f"{width} {dtype}s at a time"
