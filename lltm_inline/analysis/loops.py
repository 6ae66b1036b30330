"""The loops in the machine code of a function, what each does at a time, and what it has in it that takes long.

1. A loop is a set of instructions each of which can be reached from each. Of loops in each other the innermost are told: there the
   time goes.
2. How much a loop does at a time is the widest register among its calculations: eight floats in 32 bytes.
3. What it waits for is seen in its instructions: a division, an atomic operation, a place that the next iteration reads, a stride.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, starmap

from ..base.arguments import plural

#: A jump or a call, and where to: `jne 1140 <f+0x7>`, `call 0x1030 <expf@plt>`, `b.ne 0x1140`.
_TARGET = re.compile(r"(?:0x)?([0-9a-f]+)(?: <(.+)>)?\s*(?:#.*)?$")
_JUMP = re.compile(r"(?:j\w+|b|b\.\w+|cbn?z|tbn?z|loop\w*|bra|bra\.uni|BRA(?:\.\w+)*)$")
_LEAVES = re.compile(r"(?:jmp|ret|ud2|hlt|b|br|brk|bra|bra\.uni|exit|trap|BRA|(?:EXIT|RET)(?:\.\w+)*)$")
#: Calls that never come back: what follows them belongs to something else.
_NO_RETURN = re.compile(
    r"Fail\b|__throw_|_Unwind_Resume|__cxa_(?:throw|rethrow)|terminate|\babort\b|_chk_fail|::error_|rethrow_exception"
)
CALL = re.compile(r"(?:call|callq|bl|blr|call\.uni|CALL(?:\.\w+)*)$")
#: Calculations with numbers that are not whole, comparisons among them, by what the name ends in on x86: packed or single,
#: of floats or of doubles.
_CALCULATION = re.compile(
    r"v?(?:add|sub|mul|div|fn?m(?:add|sub)\w*|max|min|sqrt|rsqrt\w*|rcp\w*|addsub|hadd|u?comi|cmp\w*?)(?:14)?([ps])([sd])$"
)
_ARM = re.compile(r"f(?:add|sub|mul|div|mla|mls|max|min|sqrt|n?madd|n?msub|maxnm|minnm|c?cmpe?|cmeq|cmg[et])$")
#: Of a CUDA text, for one thread.
_PTX = re.compile(r"(?:add|sub|mul|fma|mad|div|max|min|sqrt|rsqrt|rcp|ex2|lg2|sin|cos|tanh|setp)(?:\.\w+)*\.f(32|64)$")
_SASS = re.compile(r"(?:(F)|D)(?:ADD|MUL|FMA|MNMX|SETP)(2?)(?:\.\w+)*$")
_SQRT = ("sqrtss", "sqrtsd", "vsqrtss", "vsqrtsd")
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
    (CALL, {"a", "c", "d", "si", "di", "r8", "r9", "r10", "r11"}),
)
_ONE_PLACE = (
    ", writes to one place in memory in each iteration: add up in a local variable, and write it when the loop is done"
)
_NEIGHBOURS = " (threads whose places lie less than 64 bytes apart wait for each other besides)"
_ATOMIC = ", an atomic operation in each iteration, which waits for all threads: add up in a local variable, and do it once, at the end"
#: As wide is a loop that reads each number by itself.
_FEW = 2
#: What reads one number into a part of a vector, or many from as many places.
_PICKS = re.compile(r"v?(?:insertps|pinsr[dq]|movhp[sd]) +xmm\d+,.*PTR \[|vp?gather")
_DIVIDES = ", divides whole numbers (idiv, div), which takes as long as ten additions or more"
_ADDS_ONE = ("addss", "addsd", "vaddss", "vaddsd")
_IN_ORDER = ", adds up in order, one number at a time"
#: From so many additions on, each of which waits for the one before it, a loop adds up in order.
_CHAIN = 4
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

    @cached_property  # it is asked for again and again, of thousands
    def name(self) -> str:
        """What it does: the first word that is no prefix."""
        words = self.text.split()
        return next((word for word in words if word not in _PREFIXES and not word.startswith("@")), words[0])

    @cached_property
    def operands(self) -> str:
        """What stands behind its name."""
        return self.text.partition(self.name)[2].strip()

    @property
    def places(self) -> list[set[str]]:
        """The registers of each address that it reads or writes; on x86."""
        return list(map(_registers, re.findall(r"PTR \[(.+?)\]", self.text)))


_PREFIXES = ("lock", "rep", "repz", "repnz", "bnd", "notrack", "data16", "cs", "ds", "es")


def _written(one: Instruction) -> set[str]:
    """Name the registers that an instruction changes by its first operand."""
    first = one.operands.partition(",")[0]
    return set() if "[" in first or _KEEPS.fullmatch(one.name) else _registers(first)


def _changed(one: Instruction) -> set[str]:
    """Name all registers that an instruction changes."""
    return _written(one).union(*(more for pattern, more in _CHANGES if pattern.fullmatch(one.name)))


def _registers(text: str) -> set[str]:
    """Name the registers of the processor's own numbers in an operand, each by one name: `rax`, `eax` and `al` are one."""
    return {next(filter(None, found)) for found in _REGISTER.findall(text)}


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
        """The functions that it calls, each iteration anew; but for that of a square root, which is called for negative numbers alone."""
        rare = ("sqrt", "sqrtf") if self.has_sqrt else ()
        return tuple(name for name in dict.fromkeys(map(called, self.instructions)) if name and name not in rare)

    @property
    def has_sqrt(self) -> bool:
        """Whether it takes square roots one at a time."""
        return any(one.name in _SQRT for one in self.instructions)

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
    def adds_in_order(self) -> bool:
        """Whether numbers are added one by one, each to the sum of those before it, several in an iteration; on x86."""
        longest = chain_of = 0
        last = ""
        for one in self.instructions:
            registers = re.findall(r"[xyz](mm\d+)", one.text)
            if one.name in _ADDS_ONE and registers:
                # With two operands the first is read, too.
                read = registers[one.text.count(",") > 1 :]
                chain_of = chain_of + 1 if last in read else 1
                last, longest = registers[0], max(longest, chain_of)
            elif registers[:1] == [last] and "[" not in one.text.partition(",")[0]:
                last = ""
        return longest >= _CHAIN

    @property
    def strides(self) -> bool:
        """Whether an iteration reads or writes so far from the one before it as a register says, not beside it; on x86."""
        return bool(self._strided)

    @property
    def is_wide(self) -> bool:
        """Whether it reads its vectors whole, and does not put them together of numbers that it reads one by one (which is seen on x86)."""
        return self.widest > _FEW and not self.picks

    @property
    def picks(self) -> bool:
        """Whether it puts vectors together of numbers that it reads one by one (which is seen on x86)."""
        return any(_PICKS.match(one.text) for one in self.instructions)

    @cached_property
    def _strided(self) -> dict[str, str]:
        """The registers of places that an iteration moves on, each with the register that says how far."""
        steps = (re.fullmatch(r"add +(\w+),(\w+)", one.text) for one in self.instructions)
        by = {(step[1], step[2]) for step in steps if step and _registers(step[1]) and _registers(step[2])}
        changed, used = self._stored_and_changed[1], set[str]()
        used = used.union(*(place for one in self.instructions for place in one.places))
        # What is written besides begins anew in each iteration: a place within a row, to which the row's own is added.
        anew = set[str]().union(*(_written(one) for one in self.instructions if one.name != "add"))
        found = {min(_registers(which)): min(_registers(step)) for which, step in by if not _registers(step) & changed}
        return {which: step for which, step in found.items() if which in used - anew}

    @property
    def rereads(self) -> bool:
        """Whether it stores bytes, and reads in each iteration again what lies at one place: pointers, sizes, numbers; on x86.

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

    @property
    def writes_one_place(self) -> bool:
        """Whether each iteration writes to memory where the one before it has written, but for the stack; on x86."""
        stored, changed = self._stored_and_changed
        return any(not place & (changed | {"sp", "bp"}) for place in stored)

    @cached_property
    def _stored_and_changed(self) -> tuple[list[set[str]], set[str]]:
        """Return the registers of the address of each store, and those that an iteration changes."""
        stored, changed = list[set[str]](), set[str]()
        for one in self.instructions:
            place = _OPERAND.match(one.operands)
            if place and _STORES.fullmatch(one.name):
                stored.append(_registers(place[1]))
            changed |= _changed(one)
        return stored, changed

    @property
    def rest(self) -> str:
        """Its length and its calls, in words."""
        return plural(len(self.instructions), "instruction") + f", calls {', '.join(self.calls)}" * bool(self.calls)

    @property
    def said(self) -> str:
        """All of that."""
        return f"{self.pace}, {self.rest}"


def loops_of(instructions: Sequence[Instruction], has_threads: bool = False) -> Iterator[Loop]:
    """Yield the innermost loops that have something of the text in them, which may hand work to threads.

    A loop is a set of instructions each of which can be reached from each: a jump back alone may only lead from a rare case,
    which compilers put behind the end, to where the function goes on.
    """
    ways = _ways(instructions)
    for loop in _innermost(range(len(instructions)), ways):
        found = Loop(tuple(instructions[index] for index in loop), has_threads)
        if found.lines:
            yield found


def calls_in_loops(instructions: Sequence[Instruction], which: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines at which a loop, or one around it, calls a function of some; not where an exception is on its way."""
    for loop in _knots(range(len(instructions)), _ways(instructions)):
        # What is of no line is of that before it.
        for line, together in Loop(tuple(instructions[index] for index in loop)).by_line():
            yield from ((line, name) for name in map(called, together) if line and which.match(name))


def _ways(instructions: Sequence[Instruction]) -> list[tuple[int, ...]]:
    """Say for each instruction which may be the next, by their numbers."""
    at = {one.address: index for index, one in enumerate(instructions)}
    ways = []
    for index, one in enumerate(instructions):
        # Behind a predicate (`@P0 BRA 70`, `BRA UP0, 70`) it may go on.
        always = _LEAVES.match(one.name) and not one.text.startswith("@") and "," not in one.text
        leaves = always or _NO_RETURN.search(called(one))
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
    """Find the sets of instructions each of which can be reached from each (Kosaraju's algorithm, without recursion)."""
    inside, order, seen, back = set(part), list[int](), set[int](), defaultdict[int, list[int]](list)
    for root in sorted(inside):
        work = [(root, False)]
        while work:
            node, is_done = work.pop()
            if is_done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                ahead = [to for to in reversed(ways[node]) if to in inside]
                work += [(node, True), *((to, False) for to in ahead)]
                for to in ahead:
                    back[to].append(node)
    found = list[list[int]]()
    for root in reversed(order):
        knot, left = set[int](), [root]
        while left:
            if (node := left.pop()) in seen:
                seen.remove(node)
                knot.add(node)
                left += back[node]
        if len(knot) > 1 or root in ways[root]:
            found.append(sorted(knot))
    return found[::-1]


def called(one: Instruction) -> str:
    """Name the function that an instruction calls; nothing for an instruction that calls none."""
    if not CALL.match(one.name):
        return ""
    target = _TARGET.search(one.text)
    return (target and (target[2] or "").removesuffix("@plt")) or "a function by its address"


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
