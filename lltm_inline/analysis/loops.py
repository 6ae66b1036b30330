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
#: Of a jump that may go on: what follows farther behind it is not where it goes on.
_JUMP_BYTES = 6
_COMPARES = ("comiss", "comisd")
#: What else sets the flags by which a jump goes.
_FLAGS = ("cmp", "test", "add", "sub", "inc", "dec", "and", "or", "xor", "shl", "shr")
_BRANCHES = (
    ", goes one way or another by a number: where these are random, each wrong guess of the processor costs some twenty clocks "
    "(code that stores in each iteration, and adds the comparison to a count or a sum, does without)"
)
_GATHERS = (
    ", reads places that numbers give which it has just read, as table[index[i]]: where these lie far apart, in more than a cache holds, "
    "each is a wait for memory"
)
_CHASES = ", goes from each place in memory to the next one that it names, as through a tree or a list: each read waits for the one before"
#: What is in a register: what changes from iteration to iteration as a counter does, or what was read at a place that such a one gives.
_ITERATES, _READ = "iterations", "read"
#: What fetches a number from memory into a register of the processor's own.
_FETCHES = re.compile(r"mov(?:sxd?|zx)? +(\w+),(?:\w+ PTR )\[(.+?)\]")
_FETCHES_MANY = re.compile(r"v(?:movdq[ua]|pmov[sz]x)\w* +[xyz]mm\d+,.*PTR \[(?!r[sb]p|rip)")
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
            if name.endswith(_COMPARES):
                behind = self.instructions[at + 1 :]
                after = (one for one in behind if _JUMP.match(one.name) or one.name.startswith(_FLAGS))
                if (jump := next(after, None)) and _JUMP.match(jump.name):
                    to = _TARGET.search(jump.text)
                    follows = self.instructions.index(jump) + 1
                    gaps = [one.address - jump.address for one in self.instructions[follows : follows + 1]]
                    jumps += to is not None and int(to[1], 16) in own and gaps != [] and gaps[0] <= _JUMP_BYTES
        return jumps > sum(name in _SQRT for name in names)

    @property
    def chases(self) -> bool:
        """Whether the places of its reads come from such reads alone, through which it goes as through a tree or a list; on x86."""
        now = dict[str, tuple[set[str], bool]]()  # from which registers, as they were at first, and whether by a read
        for one in self.instructions:
            moved = re.fullmatch(r"mov +(\w+),(?:QWORD PTR \[(\w+)(?:[+-]0x\w+)?\]|(\w+))", one.text)
            if moved and (to := _registers(moved[1])):
                at = _registers(moved[2] or moved[3]) - {"sp", "bp"}
                froms = [now.get(register, ({register}, False)) for register in at]
                is_read = moved[2] is not None or any(read for _, read in froms)
                now[min(to)] = set().union(*(each for each, _ in froms)), is_read
            else:
                # What is computed besides is no pointer that was read.
                now |= dict.fromkeys(_written(one), (set[str](), False))
        come_from = {register: froms for register, (froms, _) in now.items()}
        return any(read and register in _reached(come_from, register) for register, (_, read) in now.items())

    @property
    def gathers(self) -> bool:
        """Whether it reads places that numbers give which it has just read, and not a pointer that it reads again; on x86."""
        known = dict.fromkeys(self._counters, _ITERATES)
        for one in self.instructions:
            if _READ in {known.get(register) for place in one.places for register in place}:
                return True
            read = _registers(one.operands.partition(",")[2])
            read |= set() if one.name.startswith(("mov", "lea")) else _written(one)
            states = {known.get(register) for register in read}
            if _FETCHES.fullmatch(one.text):
                said = _READ if _ITERATES in states and not read & {"sp", "bp"} else ""
            else:
                said = next((state for state in (_READ, _ITERATES) if state in states), "")
            known.update(dict.fromkeys(_changed(one), said))
        # Vectors of places are read; clang++ counts them where it has strides.
        texts = [one.text for one in self.instructions]
        return any("gather" in text for text in texts) and any(map(_FETCHES_MANY.match, texts))

    @property
    def _counters(self) -> set[str]:
        """The registers that an iteration takes on from the one before it: what it does first with them is to add to them."""
        found, seen = set[str](), set[str]()
        for one in self.instructions:
            written = _written(one)
            found |= written - seen if one.name in ("add", "sub", "inc", "dec") else set()
            seen |= written
        return found

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
