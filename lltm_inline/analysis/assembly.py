"""The machine code of a kernel, each of its lines beside what became of it, and what its loops do at a time.

1. `objdump` lists the instructions of the library, `addr2line` the line of the text of each: calls that were inlined, also those of
   a header, count for the line that made them.
2. `loops` finds the loops among them, and what each does at a time.
3. What the compiler says of a line (`remarks`) is held against these loops, and put in the order of where the time goes (`hot`).
"""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, repeat, starmap
from pathlib import Path
from typing import Any, ClassVar

from ..autopsy.symbolize import lines_of, short_name
from ..base.above import Shown
from ..base.arguments import boolean, first_line, plural
from ..base.device import DEVICES
from ..base.files import UTF8
from ..base.packages import install_command
from ..base.progress import Progress
from ..compiling.nvcc import Nvcc
from ..compiling.toolchain import find_toolchain
from ..diagnosis.compiler_log import demangle
from ..errors import BuildError, DefinitionError, InputError, ToolchainError, UnknownPartError
from ..model.registry import Kernel, registry, resolve
from ..run.built import build_all
from ..run.executor import prepare
from ..run.setting import Setting, choose_sizes
from ..source.template import devices_of, is_torch_free, require_text
from ..tables.words import percent
from . import cuda_code
from .hot import Hot, hot_of
from .loops import CALL, Instruction, Loop, called, calls_in_loops, loops_of
from .reasons import (
    AS_ZERO,
    GROWS,
    RARE,
    STARTS,
    Evidence,
    because_of_calls,
    dispatched,
    done_again,
    explained,
    extents,
    far_for_long_steps,
    has_threads,
    loop_that_calls,
    taken_memory,
)
from .remarks import remarks_of
from .why import Remark, Why

#: The first that is there is taken; both list in Intel's syntax, the target first.
_TOOLS = (
    ("objdump", "-d", "-C", "--no-show-raw-insn", "-w", "-M", "intel"),
    ("llvm-objdump", "-d", "-C", "--no-show-raw-insn", "--x86-asm-syntax=intel"),
)
_FUNCTION = re.compile(r"([0-9a-f]+) <(.+)>:")
_INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+(\S.*)")
#: What takes memory from the system.
_ALLOCATES = re.compile(rf"operator new|malloc|calloc|at::(?:empty|zeros|ones|full)|c10::alloc_cpu|.*::{GROWS}")
_STARTS = re.compile(STARTS)
#: Columns of the text beside its instructions.
_SOURCE = 60
#: From this share of common text on, two lines are one before and after an edit.
_ALIKE = 0.6


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
        text: the kernel's source.
        routines: the functions that contain some of the source, those with most of it first.
        other: the machine code of another revision.
        note: what is shown instead of machine code, and what is missing.
        remarks: what the compiler says that it did with lines of the source, and why it did not do more; None if not requested.
        hot: which lines take the time; None if not requested.
        MOST: how many instructions are shown; a longer page helps nobody, and takes a browser seconds.
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

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of all routines."""
        return tuple(loop for routine in self.routines for loop in routine.loops)

    @property
    def by_text(self) -> dict[str, list[tuple[Loop, str]]]:
        """The loops, those together that one of the text (or a CUDA kernel) became, under a heading, the widest first.

        Of those of which the same is said (a compiler makes copies) there is one, with how many there are, in words.
        """
        ends, found = extents(self.text), dict[tuple[str, int], dict[tuple[tuple[int, ...], str], list[Loop]]]()
        for routine in self.routines:
            if routine.uses:
                found[f"{routine.short}: {routine.uses}", 0] = {}
            for loop in sorted(routine.loops, key=lambda each: -each.widest):
                at = max(_around(line, ends) or line for line in loop.lines)
                alike = found.setdefault((f"{routine.short}: {routine.uses}", 0) if routine.uses else ("", at), {})
                alike.setdefault((loop.lines, loop.said), []).append(loop)
        parts = {}
        for (heading, _), alike in found.items():
            kinds = sorted(alike.values(), key=lambda loops: -loops[0].widest)
            count = sum(map(len, kinds))
            made = f"; {count} loops in the machine code" if count > 1 else ""
            title = heading or f"loop at {kinds[0][0].where}: {kinds[0][0].pace}{made}"
            parts[title] = [(loops[0], f" ({len(loops)} such loops)" * (len(loops) > 1)) for loops in kinds]
        return parts

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
        if not self.routines:
            return (
                "No instruction can be told to be of the text: the library has no line table (was it built with -g0?), "
                "neither addr2line nor llvm-symbolizer is on PATH, or all that it says was inlined until nothing was left."
            )
        return "The text has no loops: what repeats, repeats in the functions that it calls."

    @property
    def headline(self) -> str:
        """What it is of, in one line."""
        own = sum(bool(one.line) for routine in self.routines for one in routine.instructions)
        said, made = plural(sum(map(bool, self.by_text.values())), "loop"), len(self.loops)
        many = f" ({made} in the machine code)" if said != plural(made, "loop") else ""
        return f"assembly of {self.kernel} by {self.compiler}: {plural(own, 'instruction')} of its text, {said}{many}"

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
        for title, kinds in self.by_text.items():
            rows += ["", title]
            for number, (loop, many) in enumerate(kinds):
                rows.append(f"  {loop}{many}")
                listed = 0 if number else left  # a page folds those of the others; here they would be a thousand lines
                for line, instructions in loop.by_line(listed):
                    source = f"{line:4} | {texts[line - 1].strip()}" if 0 < line <= len(texts) else ""
                    beside = chain([source[:_SOURCE]], repeat(""))
                    rows += [
                        f"    {text:<{_SOURCE}}  {one.text}" for text, one in zip(beside, instructions, strict=False)
                    ]
                left -= min(listed, len(loop.instructions))
        rows += [] if self.loops else ["", self.without_loops]
        widest = [loop for kinds in self.by_text.values() for loop, _ in kinds[:1]]
        if len(widest) < sum(map(len, self.by_text.values())):
            rows += ["", f"Of each loop of the text, the instructions of the widest are listed: {self._where}."]
        rows += self.left_out(widest)
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
                share = "" if self.hot is None else f"{percent(one.share) if one.share is not None else '':>4}  "
                rows += [f"  {share}{one.line:4} | {texts[one.line - 1].strip()[:_SOURCE]}", f"         {one}"]
        return rows

    def left_out(self, of: Sequence[Loop | Routine]) -> list[str]:
        """Say how many instructions are left out where only the first are shown; nothing where all are."""
        total = sum(len(each.instructions) for each in of)
        return [f"Here are {self.MOST} of {total} instructions: {self._where}."] if total > self.MOST else []

    @property
    def _where(self) -> str:
        return f"li.assembly({self.kernel!r}).of_line(N) has those of line N"

    @property
    def differences(self) -> list[str]:
        """Each loop beside that of the other revision in its place, and what is different; nothing without another."""
        if self.other is None:
            return []
        mine, theirs = (
            [(texts, list(loops)) for texts, loops in groupby(each.loops, key=partial(_texts, each))]
            for each in (self, self.other)
        )
        rows = []
        matcher = difflib.SequenceMatcher(
            None, [texts for texts, _ in theirs], [texts for texts, _ in mine], autojunk=False
        )
        for _, first, end, start, stop in matcher.get_opcodes():
            left = [(loop, texts) for texts, loops in theirs[first:end] for loop in loops]
            for now, texts in [(loop, texts) for texts, loops in mine[start:stop] for loop in loops]:
                # They have a line in common, or one line and its edit.
                nearest = partial(difflib.get_close_matches, possibilities=texts, n=1, cutoff=_ALIKE)
                alike = [each for each in left if any(map(nearest, each[1]))]
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
                was = before[0].said
                said = f"{now.said}, as before" if was == now.said else f"{was} -> {now.said}"
                rows.append(f"  loop at {now.where}: {said}")
            gone = Counter(str(loop) for loop, _ in left)
            rows += [f"  gone: {loop}" + f" ({many} such loops)" * (many > 1) for loop, many in gone.items()]
        return [f"beside {self.other.kernel}:", *(rows or ["  neither has a loop"])]


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
    """Show the machine code of a kernel's source, above all its innermost loops.

    Args:
        kernel: a `Kernel` or the name of one in the registry.
        other: another revision, built in the same way; its loops are compared with these. If it does not compile, the
            note says so.
        device: `"cpu"`, `"cuda-cpu"`, or `"cuda"` for what nvcc generates, which needs no GPU: machine code (SASS) if
            nvdisasm is available, else PTX. Default: the first device that the kernel has source for.
        compiler, cflags, progress: as for `build`. The library comes from the cache if it is there.
        remarks: also say what the compiler did with each line: vectorised, inlined, unrolled, or why not, and what would
            help. This compiles once more, the first time.
        hot: also call the kernel forward for a second at this size (True: at the op's first size), and say which lines take
            the time. This needs `perf`, on Linux; if it is missing or not allowed, the result says so.

    Returns:
        An Assembly: it shows each line of a loop next to its instructions, and says how many numbers the loop computes at
        a time and what it calls.

    Raises:
        DefinitionError: the kernel has no source for the device.
        ToolchainError: neither objdump (of binutils) nor llvm-objdump is installed; for `"cuda"`, no nvcc.
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
        raise InputError(f"{asked_for}= with device={device!r}: it is told of C++ texts, which device='cpu' has")
    for each in chosen:
        if each.python is not None:
            raise DefinitionError(f"kernel {each.label!r} is a Python function: it has no machine code of its own")
        require_text(each, device)
    if device != "cuda":
        _disassembler()  # what is missing is said before anything is compiled
    asked: Any = None if hot is True else [hot]
    sizes = {each.op: choose_sizes(registry.op_of(each), asked)[0] for each in chosen} if hot is not False else {}
    return _compared(chosen, setting, remarks, sizes)


def _compared(
    chosen: Sequence[Kernel], setting: Setting, remarks: bool, sizes: Mapping[str, tuple[int, ...]]
) -> Assembly:
    """Return the machine code of a kernel, with that of another if there is one that compiles."""
    try:
        found, *others = _all_of(chosen, setting, remarks, sizes)
    except BuildError as error:
        if error.kernel not in [one.label for one in chosen[1:]]:
            raise
        [alone] = _all_of(chosen[:1], setting, remarks, sizes)
        why = f"There is nothing of {error.kernel} to compare it with: {first_line(str(error))}"
        return replace(alone, note=f"{alone.note} {why}".strip())
    return replace(found, other=others[0]) if others else found


def _all_of(
    kernels: Sequence[Kernel], setting: Setting, remarks: bool, sizes: Mapping[str, tuple[int, ...]]
) -> list[Assembly]:
    if DEVICES[setting.device].needs_gpu:
        nvcc, paths = cuda_code.compiled(kernels, setting)
        return [_cuda_of(kernel, path, nvcc) for kernel, path in zip(kernels, paths, strict=True)]
    version = find_toolchain(setting.compiler, setting.cflags, setting.device).version
    found = []
    for built in prepare(kernels, setting) if sizes else build_all(kernels, setting):
        assert built.library is not None
        text = built.kernel.sources[DEVICES[built.device].text]
        file = _file_of(built.kernel, DEVICES[built.device].text)
        routines = _routines(built.library.path, file, has_threads(text))
        one = Assembly(built.kernel.label, version, text, tuple(routines))
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
    several = {first for (first, _), loops in dispatched(of.text).items() if len(loops) > 1}
    known = [Evidence(one, of.text, _loops_in(of, _lines_of(one, of.text)), of.calls_of(one.line)) for one in told]
    # Of a loop around others they say what is true of these, or that there are others in it.
    kept = [
        one.of_several if one.said.line in several else one
        for one in known
        if one.said.what != "not vectorised"
        or not (of.loops and (outer & {one.said.line, _around(one.said.line, ends)} or one.is_of_vectors))
    ]
    said = [explained(one) for one in kept]
    said += _silent(of, {_around(one.said.line, ends) for one in kept if "vectorised" in one.said.what})
    taken = [*done_again(of.text)]
    for line, name in _called_in_loops(of, _ALLOCATES):
        one = taken_memory(line, name, of.text)
        taken += [one] if one else []
    named = " ".join(one.how for one in said)
    started = {line: name for line, name in _called_in_loops(of, _STARTS) if name not in named}
    taken += [Remark(line, _WAITS, f"{Why.THREADS} ({name})", Why.THREADS.help) for line, name in started.items()]
    # Two reasons of a compiler's may have become one of the machine code, also of two statements of one loop.
    once = dict[tuple[int, str, str], Remark]()
    for one in sorted([*said, *taken], key=lambda each: each.line):
        line = _around(one.line, ends) if one.what == "not vectorised" else 0
        once.setdefault((line or one.line, one.what, one.how), one)
    # What is said of a loop within is not said of the one around it.
    within = {(line, how) for line in ends for start, _, how in once if line < start <= ends[line]}
    missed = {line for line, what, _ in once if what == "not vectorised"}
    # Vectors of a loop with another one in it, which has none, are for when that has no iteration.
    vain = {(line, "vectorised") for line, last in ends.items() if any(line < inner <= last for inner in missed)}
    # Where something is known that helps, what only says that more is not known is no news.
    helped = {at for (line, _, _), one in once.items() if one.help for at in (line, one.line)}
    return tuple(
        one
        for (line, what, how), one in once.items()
        if (one.line, what) not in vain
        and (what != "not vectorised" or (one.line, how) not in within)
        and (what != "not vectorised" or one.help or helped.isdisjoint((line, one.line)))
    )


def _lines_of(one: Remark, text: str) -> range:
    """Return the lines of the loop that begins where a remark stands; that line alone where none does."""
    return range(one.line, extents(text).get(one.line, one.line) + 1)


def _loops_in(of: Assembly, lines: range) -> list[Loop]:
    """Return the loops that have something of some lines."""
    return [loop for loop in of.loops if not {*lines}.isdisjoint(loop.lines)]


def _around(line: int, ends: Mapping[int, int]) -> int:
    """Return the first line of the innermost loop around a line; 0 where there is none."""
    return max((first for first, last in ends.items() if first <= line <= last), default=0)


def _silent(of: Assembly, spoken: set[int]) -> list[Remark]:
    """Return the loops of the text that call something, and of which the compiler says nothing.

    g++ does not look at a loop out of which an exception may lead.
    """
    ends, found = extents(of.text), dict[int, dict[str, None]]()
    for loop in of.loops:
        for one in loop.instructions:
            name, line = called(one), _around(one.line, ends)
            if name in loop.calls and not RARE.match(name):
                found.setdefault(line or loop_that_calls(of.text, one.line, name), {})[name] = None
    known = (
        Evidence(Remark(line, "not vectorised", ""), of.text, calls=[*names])
        for line, names in found.items()
        if line and line not in spoken
    )
    # One of the text's own may do much in a call, and then to call it costs nothing.
    return [told for one in known if (told := because_of_calls(one))]


def _by_time(of: Assembly) -> Assembly:
    """Put what is said of the lines, or of the loops, that take most of the time first."""
    assert of.hot is not None and of.remarks is not None
    shares = dict.fromkeys(range(of.text.count("\n") + 2), 0.0)
    for line, share in (*of.hot.lines, *((line, share) for line, _, _, share in of.hot.calls)):
        shares[line] += share
    idle = sum(share for name, share in of.hot.others if name.startswith("libgomp"))

    def share_of(one: Remark) -> float:
        return idle * (one.what == _WAITS) + sum(shares[line] for line in _lines_of(one, of.text))

    memory = sum(share for _, function, _, share in of.hot.calls if _TAKES_TIME.match(function))

    def first(one: Remark) -> float:
        """What takes the most time; what is done for nothing goes ahead, as much else is slow because of it."""
        return share_of(one) + (one.what == "repeats" or (one.what == "allocates" and memory > _MUCH))

    measured = [_measured(one, of) for one in of.remarks]
    if of.hot.tiny and of.hot.lines:
        measured.append(Remark(of.hot.lines[0][0], "subnormal", of.hot.tiny, AS_ZERO))
    # What is computed again may take its time at the lines of the function that computes it.
    told = [one if one.what == "repeats" else replace(one, share=share_of(one)) for one in measured]
    return replace(of, remarks=tuple(sorted(told, key=lambda one: (one.is_good, -first(one)))))


def _measured(one: Remark, of: Assembly) -> Remark:
    """Say of a loop with a version of vectors, for steps of one, that the time goes to the one for longer steps, where it does."""
    assert of.hot is not None
    shares, loops = dict(of.hot.at), _loops_in(of, _lines_of(one, of.text))
    if one.what != "vectorised" or one.why or not shares or not loops:
        return one
    taken = [sum(shares.get(each.address, 0) for each in loop.instructions) for loop in loops]
    hottest = loops[taken.index(max(taken))]
    goes_far = hottest.strides and not hottest.is_wide and max(taken)
    return far_for_long_steps(Evidence(one, of.text)) if goes_far else one


#: What memory is taken and given back by. From this share of the time on it is named first: no register holds what lies in memory.
_TAKES_TIME, _MUCH = re.compile(r"operator (?:new|delete)|c?free\b|\w*malloc|\w*calloc|mem(?:cpy|move|set)"), 0.03
_WAITS = "waits"


def _cuda_of(kernel: Kernel, path: Path, nvcc: Nvcc) -> Assembly:
    (note, uses, listing), file, routines = cuda_code.translated(path, nvcc), _file_of(kernel, "cuda"), []
    ptx = path.read_text(errors="replace")
    for name, rows in cuda_code.listed_sass(listing, file) if listing else cuda_code.listed_ptx(ptx, file):
        instructions = tuple(starmap(Instruction, rows))
        routines.append(Routine(demangle(name), instructions, tuple(loops_of(instructions)), uses.get(name, "")))
    return Assembly(kernel.label, f"nvcc {nvcc.version}", kernel.cuda, tuple(routines), note=note)


def _file_of(kernel: Kernel, kind: str) -> str:
    """Return what `#line` calls a text of a kernel."""
    return f"{kernel.name} ({kind})" if is_torch_free(kernel) else kernel.name


def _routines(path: Path, file: str, threads: bool) -> list[Routine]:
    """Return the functions of a library that have something of the text in them, those with most of it first."""
    functions = _disassembled(path)
    places = lines_of((address for rows in functions.values() for address, _ in rows), path)
    lines = {at: place.line for at, place in places.items() if place.file == file}
    found = []
    for name, rows in functions.items():
        if own := sum(address in lines for address, _ in rows):
            instructions = tuple(Instruction(address, _plain(text), lines.get(address, 0)) for address, text in rows)
            found.append((own, Routine(name, instructions, tuple(loops_of(instructions, threads)))))
    return [routine for _, routine in sorted(found, key=lambda each: -each[0])]


def _disassembler() -> tuple[str, ...]:
    """Return the command that lists the instructions of a library.

    Raises:
        ToolchainError: there is none.
    """
    for tool in _TOOLS:
        if shutil.which(tool[0]):
            return tool
    command = install_command("objdump")
    raise ToolchainError(f"the assembly of a kernel needs objdump or llvm-objdump on PATH. {command}")


def _disassembled(path: Path) -> dict[str, list[tuple[int, str]]]:
    """List the instructions of a library by function."""
    listed = subprocess.run([*_disassembler(), str(path)], capture_output=True, **UTF8, check=True).stdout
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
    return name if not rest or not CALL.match(name.split()[0]) else f"{name} <{short_name(rest[:-1])}>"


def _called_in_loops(of: Assembly, which: re.Pattern[str]) -> dict[tuple[int, str], None]:
    """Return at which lines a loop, or one around it, calls a function of some."""
    return dict.fromkeys(chain.from_iterable(calls_in_loops(routine.instructions, which) for routine in of.routines))
