"""Which lines of a kernel the time goes to: samples that `perf` takes of the worker while it calls the kernel."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..autopsy.symbolize import lines_of, short_name
from ..base.arguments import plural
from ..base.packages import install_command
from ..base.processors import Thread, threads_of
from ..base.progress import Event, emit
from ..checking.postmortem import run_or_raise
from ..measure.inputs import Ring
from ..run.built import Built
from ..run.cases.case import dtypes_of
from ..run.executor import Task
from ..run.library import load_all
from ..run.setting import Setting
from ..source.signature import own_text
from ..tables.words import percent, size_text
from .reasons import has_threads

#: How long it is called: where the machine is so busy that perf comes too late, once more and longer.
_SECONDS = (1.0, 5.0)
#: A second; no round number, so that samples do not fall in step with what repeats.
_SAMPLES = "997"
#: Of the stack, in bytes: so much goes into a sample, to see who called whom. Libraries of PyTorch keep no frame pointers.
_STACK = "dwarf,16384"
#: How perf names samples that a clock has taken.
_CLOCKS = ("cpu-clock", "task-clock")
_FRAME = re.compile(r"\s*([0-9a-f]+) (.+) \((.+)\)")
#: How calls of ATen are spelled where they lead into it.
_ATEN = re.compile(r"at::_ops::(\w+)::\w+|at::TensorBase::__dispatch_(\w+)")
#: Of what perf says when it cannot.
_LETTERS = 300
#: What the processor counts, where it lets perf read it; a virtual machine often does not.
_COUNTED = ("instructions", "cycles", "cache-misses", "branch-misses")
#: Which share of the time of the busiest thread one takes that works.
_WORKS = 0.1
#: From this share on subnormal results are told, where calls take less than so much of the time without such numbers.
_SUBNORMAL, _FASTER = 0.01, 0.9
#: How often calls are timed with and without.
_TIMES = 7
_NOT_SHARED = ": nothing is shared out (at::parallel_for), or its grain is larger than the work"
#: How many rows are shown, each of so large a share: one percent, rounded.
_MOST, _LEAST = 12, 0.005
#: What libraries do whose names do not say it.
_DO = (
    ("libgomp", "threads that wait: shares are uneven, or too small, or one thread works alone meanwhile"),
    ("libm.", "exp, tanh and other functions of one number at a time"),
    ("libc.", "copying, filling and allocating memory"),
    ("libtorch_cpu", "ATen's functions, and PyTorch around the call"),
    ("[kernel", "the system: new pages of memory, and threads that are woken"),
)


@dataclass(frozen=True)
class Hot:
    """Where the time of a kernel goes.

    Attributes:
        case: what was called, `N=1000, forward`.
        samples: how many were taken.
        lines: of the text, each with its share of the samples; the largest first.
        others: what no line of the text has called, likewise: PyTorch around the kernel, and what other threads do for a library.
        calls: what lines of the text call in other libraries, and in which, likewise: `((7, "contiguous", "libtorch_cpu.so", 0.9),)`.
        threads: how many of PyTorch's threads work, in words.
        tiny: that results are so small that the processor took long over them, in words.
        counters: instructions a cycle, cache misses and mispredicted branches a call in words, or that nobody may read them.
        missing: why there are no samples.
        at: at which addresses of the kernel's library, each with its share.
    """

    case: str
    samples: int = 0
    lines: tuple[tuple[int, float], ...] = ()
    others: tuple[tuple[str, float], ...] = ()
    calls: tuple[tuple[int, str, str, float], ...] = ()
    threads: str = ""
    tiny: str = ""
    counters: str = ""
    missing: str = ""
    at: tuple[tuple[int, float], ...] = ()

    @property
    def headline(self) -> str:
        """What was sampled, or why nothing was."""
        said = f"where the time goes, {self.case}, {plural(self.samples, 'sample')}"
        return self.missing or f"{'; '.join(filter(None, (said, self.threads, self.counters)))}:"

    def rows(self, texts: Sequence[str]) -> list[tuple[float, str, str, str]]:
        """Return the largest shares, each with a line's number and text, and with what the line calls or a library.

        Args:
            texts: the lines of the kernel.
        """
        rows = [(share, line, "") for line, share in self.lines]
        rows += [(share, line, _inside(function, library)) for line, function, library, share in self.calls]
        rows += [(share, 0, _inside("", library)) for library, share in self.others]
        rows = sorted((row for row in rows if row[1] <= len(texts)), key=lambda row: -row[0])
        largest = [row for row in rows[:_MOST] if row[0] >= _LEAST] or rows[:1]
        rest = [share for share, *_ in rows[len(largest) :]]
        told = ["", *map(str.strip, texts)]
        shown = [(share, str(line or ""), told[line], inside) for share, line, inside in largest]
        return [*shown, *([(sum(rest), "", "", f"in {plural(len(rest), 'place')} with less each")] if rest else [])]


def _inside(function: str, library: str) -> str:
    """Say in what the time goes, and what a library does, if its name does not say it.

    Example:
        >>> _inside("contiguous", "libtorch_cpu.so"), _inside("", "libpython3.11.so")
        ('in contiguous of libtorch_cpu.so', 'in libpython3.11.so')
        >>> _inside("erff", "libm.so.6")
        'in erff of libm.so.6: exp, tanh and other functions of one number at a time'
    """
    does = next((f": {what}" for name, what in _DO if library.startswith(name)), "")
    is_aten = function and library.startswith("libtorch")
    return f"in {function} of {library}{'' if is_aten else does}" if function else f"in {library}{does}"


def _function(symbol: str) -> str:
    """Name a function as somebody who calls it does; nothing where the library does not tell.

    Example:
        >>> _function("at::TensorBase::__dispatch_contiguous"), _function("at::_ops::add__Tensor::call"), _function("expf@@GLIBC_2.27")
        ('contiguous', 'add_', 'expf')
        >>> _function("std::vector<long, std::allocator<long> >::_M_realloc_insert<long>"), _function("[unknown]")
        ('std::vector::_M_realloc_insert', '')
    """
    found = _ATEN.fullmatch(symbol)
    if not found:
        return "" if symbol.startswith("[") else short_name(symbol.partition("@")[0]).lstrip("_")
    words = (found[1] or found[2]).split("_")  # the name, and that of the overload if it has one
    names = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return next((name for name in names if hasattr(torch.ops.aten, name)), "_".join(words))


@dataclass(frozen=True)
class Sampling(Task):
    """Calls of a kernel for some seconds, while somebody takes samples of the process."""

    size: tuple[int, ...]
    seconds: float

    def run(self) -> None:
        """Say which process it is and where the library lies, then call the kernel forward."""
        [function] = load_all(self.built)
        op = function.op
        dtype = torch.float32 if torch.float32 in dtypes_of(op) else dtypes_of(op)[-1]
        inputs = Ring(op, self.size, dtype=dtype, device=function.device).refill(1)[0].inputs
        with torch.no_grad():
            results = function(*inputs)  # PyTorch's threads are there from now on
            library = self.built[0].library
            assert library is not None
            emit("sampling", os.getpid(), *_place(Path(os.path.realpath(library.path))))
            before, ends, calls = threads_of("self"), time.monotonic() + self.seconds, 0
            while time.monotonic() < ends:
                function(*inputs)
                calls += 1
            took = [now.ran - before.get(thread, Thread()).ran for thread, now in threads_of("self").items()]
            working = sum(seconds > _WORKS * max(took) for seconds in took)
            tiny = _tiny(subnormal(results), partial(function, *inputs))
            emit("sampled", calls, working, torch.get_num_threads(), tiny)


def subnormal(results: object) -> float:
    """Return the largest share of subnormal numbers in a tensor of some.

    Example:
        >>> subnormal((torch.tensor([1e-40, 0.0, 1.0, -1e-39]), 3))
        0.5
    """
    tensors = results if isinstance(results, tuple | list) else [results]
    shares = [
        float(((each != 0) & (each.abs() < torch.finfo(each.dtype).tiny)).double().mean())
        for each in tensors
        if isinstance(each, torch.Tensor) and each.is_floating_point() and each.numel()
    ]
    return max(shares, default=0.0)


def _tiny(share: float, call: Callable[[], object]) -> str:
    """Say that results are subnormal numbers, where more than a few are, and this processor takes long over them.

    Example:
        >>> _tiny(0.0, lambda: None)
        ''
    """
    if share < _SUBNORMAL:
        return ""
    took: dict[bool, list[float]] = {False: [], True: []}
    for are_zero in (False, True) * _TIMES:
        torch.set_flush_denormal(are_zero)
        began = time.perf_counter()
        call()
        took[are_zero].append(time.perf_counter() - began)
    torch.set_flush_denormal(False)
    ratio = min(took[True]) / min(took[False])
    said = f"{percent(share)} of a result lie below what float32 has in full (1.2e-38): with 0 in their place a call takes "
    return f"{said}{percent(ratio)} of the time" if ratio < _FASTER else ""


def _place(library: Path) -> tuple[int, int]:
    """Return where this process has a library, and how far its code lies from where it lies in the file."""
    maps = map(str.split, Path("/proc/self/maps").read_text().splitlines())
    parts = [(int(row[0].partition("-")[0], 16), row[1], int(row[2], 16)) for row in maps if row[-1] == str(library)]
    [code] = (at - in_file for at, may, in_file in parts if "x" in may)
    return parts[0][0], code - parts[0][0]


def hot_of(built: Built, size: tuple[int, ...], setting: Setting) -> Hot:
    """Call a kernel in the worker for a second or, where perf saw nothing of that, for some, and let it take samples."""
    case = f"{size_text(built.op.named(size))}, forward"
    program = shutil.which("perf")
    if program is None:
        return Hot(case, missing=f"Where the time goes needs perf on PATH, to take samples. {install_command('perf')}")
    found = Hot(case)
    for seconds in _SECONDS:
        if not found.samples:
            found = _sampled(program, built, size, setting, seconds, case)
    return found


def _sampled(program: str, built: Built, size: tuple[int, ...], setting: Setting, seconds: float, case: str) -> Hot:
    with tempfile.TemporaryDirectory() as directory:
        file, counts = os.path.join(directory, "perf.data"), Path(directory, "counts")
        perf: list[subprocess.Popen[str]] = []
        place = [0, 0]
        told: list[Any] = [0, 0, 0, ""]

        def on_event(event: Event) -> None:
            if event.kind == "sampled":
                told[:] = event.values
            if event.kind == "sampling":
                pid, *place[:] = event.values
                sampling = ["record", "-q", "-F", _SAMPLES, "--call-graph", _STACK, "-o", file]
                for asked in (sampling, ["stat", "-x,", "-e", ",".join(_COUNTED), "-o", str(counts)]):
                    command = [program, *asked, "-p", str(pid)]
                    perf.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))

        try:
            run_or_raise(Sampling((built,), size, seconds), setting, on_event)
        finally:
            for one in perf:
                one.send_signal(signal.SIGINT)
        said = [one.communicate()[1] for one in perf]
        counted = _counters(counts.read_text() if counts.exists() else "", told[0])
        command = [program, "script", "-i", file, "--no-inline", "-F", "event,ip,sym,dso"]
        listed = subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
    found = _counted(listed, built, place[0], place[1], case)
    if not found.samples:
        why = f"may not allow it, or is too busy: {' '.join(said[0].split())[:_LETTERS] or 'it says nothing'}"
        return Hot(case, missing=f"perf took no samples of the worker; this system {why}")
    # Threads that wait are busy, too: of a text that hands nothing to others it is known without looking.
    threads = _threads(told[1], told[2]) if has_threads(built.kernel.cpp) else ""
    return replace(found, threads=threads, tiny=told[3], counters=counted)


def _threads(working: int, threads: int) -> str:
    """Say how many threads work.

    Example:
        >>> _threads(2, 4), _threads(1, 1)
        ('2 of 4 threads work', '')
    """
    return f"{working} of {threads} threads work{'s' + _NOT_SHARED if working == 1 else ''}" if threads > 1 else ""


def _counters(printed: str, calls: int) -> str:
    """Say how many instructions a cycle, and how many cache misses and mispredicted branches a call there were.

    Args:
        printed: by `perf stat -x,`: number, unit, event and more in each line.
        calls: of the kernel meanwhile.

    Example:
        >>> _counters("300,,instructions,9,100.00\\n200,,cycles:u,9,100.00\\n50,,cache-misses,9,100.00", 4)
        '1.50 instructions a cycle, about 12 cache misses a call'
        >>> _counters("<not supported>,,instructions,0,100.00", 4)
        'perf may not read the counters of the processor here'
    """
    rows = [line.split(",") for line in printed.splitlines() if line[:1].isdigit()]
    counts = {row[2].partition(":")[0]: float(row[0]) for row in rows}
    said = []
    if counts.get("cycles"):
        said.append(f"{counts.get('instructions', 0) / counts['cycles']:.2f} instructions a cycle")
    for event, what in (("cache-misses", "cache misses"), ("branch-misses", "mispredicted branches")):
        if event in counts:
            said.append(f"about {counts[event] / max(1, calls):.0f} {what} a call")
    return ", ".join(said) or "perf may not read the counters of the processor here"


def _counted(listed: str, built: Built, first: int, shift: int, case: str) -> Hot:
    """Count what perf has listed.

    Args:
        listed: for each sample what was counted, and its stack, the innermost frame first, an address, a function and a library in each
            line; then an empty line.
        first, shift: where the library was, and how far its code from its place in the file: some versions of perf write the one
            address, some the other.
    """
    assert built.library is not None
    own = os.path.realpath(built.library.path)
    rows = (filter(None, map(_FRAME.fullmatch, each.splitlines())) for each in listed.split("\n\n"))
    stacks = [stack for each in rows if (stack := [row.groups() for row in each])]
    # A caller's address is that of the instruction after its call. A clock finds the processor behind what it has waited for; its own
    # counters, where they are open, know the instruction itself.
    behind = any(line.lstrip().startswith(_CLOCKS) for line in listed.splitlines())
    at = [[(int(ip, 16) - (behind or turn > 0), dso) for turn, (ip, _, dso) in enumerate(stack)] for stack in stacks]
    offsets = [[(ip - first if ip >= first else ip + shift) if dso == own else -1 for ip, dso in stack] for stack in at]
    places = lines_of({each for stack in offsets for each in stack if each >= 0}, own)
    lines, others, calls = Counter[int](), Counter[str](), Counter[tuple[int, str, str]]()
    shares, alone = has_threads(built.kernel.cpp), 0
    last = own_text(built.kernel.cpp).count("\n") + 1  # what is generated behind it is nobody's to mend
    for stack, ours in zip(stacks, offsets, strict=True):
        here = ((turn, places.get(each)) for turn, each in enumerate(ours))
        turn = next((turn for turn, at in here if at and at.file == built.kernel.name and at.line <= last), None)
        if turn is None and not shares and _library(stack[0][2]).startswith("libgomp"):
            alone += 1  # what a function of ATen's has woken waits for the next one, and the text for none of it
        elif turn is None:
            others["the kernel's library, at no line of its text" if ours[0] >= 0 else _library(stack[0][2])] += 1
        elif ours[0] >= 0:  # also of a header, or the way to another library
            lines[places[ours[turn]].line] += 1
        else:
            # A template of a header's may stand between the line and what it has called.
            _, symbol, dso = stack[max(inner for inner in range(turn) if ours[inner] < 0)]
            # In the system it may be anything that came in between.
            function = "" if dso.startswith("[") else _function(symbol)
            calls[places[ours[turn]].line, function, _library(dso)] += 1
    every, own_code = max(1, len(stacks) - alone), Counter(ours[0] for ours in offsets if ours[0] >= 0)
    return Hot(
        case,
        len(stacks) - alone,
        tuple((line, count / every) for line, count in lines.most_common()),
        tuple((name, count / every) for name, count in others.most_common()),
        tuple((*called, count / every) for called, count in calls.most_common()),
        at=tuple((at + behind, count / every) for at, count in own_code.items()),
    )


def _library(path: str) -> str:
    return path.rpartition("/")[2]
