"""What is known about the end of a worker, and the form of the tables that say something about it.

A table is a list of rules, sentences in order, each with when it is the one to say.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..diagnosis.source_text import GENERATED, mask
from ..workers.outcome import FROM_OUTSIDE
from .addresses import Reach, reach

if TYPE_CHECKING:
    from ..workers.black_box import Evidence
    from ..workers.limits import Limits
    from ..workers.outcome import Died
    from .symbolize import Place

#: Nothing is ever mapped below: Linux keeps this much free (vm.mmap_min_addr), so such an address is a null pointer plus an offset.
NULL_ZONE = 1 << 16
#: Linux uses this si_code where the processor raised a general protection fault, which has no address.
_SI_KERNEL = 128
#: A process has sent itself a signal.
_SI_TKILL = -6
#: Names of the signals that a kernel does not cause.
OUTSIDE = tuple(one.name for one in FROM_OUTSIDE)
#: What the C library says when it finds its own data destroyed.
HEAP_WORDS = (
    r"^(?:free|malloc|realloc|calloc|munmap_chunk|malloc_consolidate)\(\): |^corrupted |^double free|sysmalloc"
    r"|^Fatal glibc error: malloc"
)
_LAST_WORDS = re.compile(
    HEAP_WORDS + r"|stack smashing detected|buffer overflow detected|Assertion .*failed|^libgomp: |^terminate called"
)
_ASSERTION = re.compile(r"(?:^|: )(?P<file>[^:]+):(?P<line>\d+): .*Assertion [`'](?P<test>.*)' failed")
_TERMINATE = re.compile(r"terminate called after throwing an instance of '([^']*)'(?:\s+what\(\):\s+([^\n]*))?")


@dataclass(frozen=True)
class Assertion:
    """An `assert()` that failed: where it stands, and what it demands."""

    file: str
    line: int
    test: str


@dataclass(frozen=True)
class Uncaught:
    """An exception that nobody caught; the type is empty where `std::terminate()` was called without one."""

    type: str
    text: str


@dataclass(frozen=True)
class Facts:
    """Everything that is known about how a worker ended.

    Attributes:
        died: how it ended, what it was doing, what the recorder saw of it, and what it had printed.
        kernel: label, `axpy/mine@2`.
        sources: the user's texts by the name of their `#line`.
        places: lines of these texts, the innermost first.
        limits: what it was allowed.
        calls: functions of the C library that it was in, the innermost first; of the frames that the recorder saw, where left out.
    """

    died: Died
    kernel: str
    sources: Mapping[str, str]
    places: Sequence[Place]
    limits: Limits
    calls: Sequence[str] = ()

    @property
    def evidence(self) -> Evidence | None:
        """What the recorder saw."""
        return self.died.evidence

    @property
    def kind(self) -> str:
        """How it ended (`Ending.kind`); a signal that was recorded counts more than what became of the process then."""
        recorded = self.evidence is not None and self.evidence.kind in ("signal", "terminate")
        return "signal" if recorded and self.died.ending.kind == "timeout" else self.died.ending.kind

    @property
    def signal(self) -> str:
        """Name of the signal that ended it, or nothing; of several the first."""
        if self.kind != "signal":
            return ""
        recorded = self.evidence.signal if self.evidence and self.evidence.kind in ("signal", "terminate") else 0
        return signal_name(recorded or self.died.ending.code)

    @property
    def outside(self) -> bool:
        """A signal ended it that a kernel does not cause."""
        return self.signal in OUTSIDE

    @property
    def fault(self) -> Evidence | None:
        """What the recorder saw, where it was an instruction that failed and not a signal that somebody sent."""
        seen = self.evidence
        return seen if seen and self.signal and seen.kind == "signal" and seen.code > 0 else None

    @property
    def code(self) -> int:
        """Which kind of fault it was (`si_code`); 0 where none was seen."""
        return self.fault.code if self.fault else 0

    @property
    def sent(self) -> bool:
        """The signal was sent, with kill() or raise(); abort() sends one to itself, and does not count."""
        seen = self.evidence
        if not (seen and self.signal and seen.kind == "signal"):
            return False
        return seen.code <= 0 and (self.signal, seen.code) != ("SIGABRT", _SI_TKILL)

    @property
    def address(self) -> int | None:
        """The address that could not be touched, where it is known."""
        wild = self.code == _SI_KERNEL  # Linux tells address 0 then, which is not the truth
        return None if self.fault is None or wild or self.signal not in ("SIGSEGV", "SIGBUS") else self.fault.address

    @property
    def null(self) -> bool:
        """A null pointer, or one into a structure that a null pointer leads to."""
        return self.address is not None and self.address < NULL_ZONE

    @property
    def refused(self) -> bool:
        """The processor refused an address and does not say which."""
        return self.signal == "SIGSEGV" and self.fault is not None and self.address is None

    @property
    def still(self) -> bool:
        """It was in a loop that does nothing: a jump to itself, which has the line of whatever stands before it."""
        return bool(self.evidence and self.evidence.still and self.kind == "timeout")

    @cached_property
    def reach(self) -> Reach | None:
        """Where the address lies relative to a tensor, where it is near one."""
        region = self.fault.region if self.fault else None
        return reach(self.address, region) if region and self.address is not None and not self.null else None

    @property
    def called_exit(self) -> bool:
        """It called exit(), whatever became of that."""
        return bool(self.evidence and self.evidence.kind == "exit" and self.kind in ("exit", "signal", "timeout"))

    @property
    def cuda_thread(self) -> str:
        """The thread of a CUDA kernel that ran on the CPU: `kernel k, block (0, 0, 0), thread (5, 0, 0)`."""
        return self.evidence.cuda_thread if self.evidence else ""

    @property
    def helper_thread(self) -> bool:
        """It happened on another thread than the one that called the kernel; libraries are loaded on one of ours."""
        return (
            self.died.state.step != "load"
            and self.evidence is not None
            and self.evidence.kind != "where"
            and not self.evidence.main_thread
        )

    @property
    def place(self) -> Place | None:
        """The innermost line that the user wrote; a generated one where there is no other."""
        known = [place for place in self.places if place.line > 0]
        return next((place for place in known if not place.file.endswith(GENERATED)), known[0] if known else None)

    @cached_property
    def last_words(self) -> str:
        """What a library said because it was about to end the process."""
        seen = self.evidence.message if self.evidence and self.evidence.kind == "signal" else ""
        lines = [_plain(line) for line in f"{self.died.output}\n{seen}".splitlines()]
        return next((line for line in reversed(lines) if _LAST_WORDS.search(line)), "")

    @property
    def printed(self) -> str:
        """The output without these last words, which are told apart."""
        if self.signal != "SIGABRT":
            return self.died.output
        lines = self.died.output.rstrip("\n").split("\n")
        while lines and (_plain(lines[-1]) == self.last_words or re.match(r"terminate called|\s+what\(\):", lines[-1])):
            lines.pop()
        return "\n".join(lines)

    @cached_property
    def assertion(self) -> Assertion | None:
        """The `assert()` that failed."""
        match = _ASSERTION.search(self.last_words) if self.signal == "SIGABRT" else None
        return Assertion(match["file"].strip(), int(match["line"]), match["test"]) if match else None

    @cached_property
    def uncaught(self) -> Uncaught | None:
        """The exception that nobody caught."""
        if self.signal != "SIGABRT":
            return None
        if self.evidence is not None and self.evidence.kind == "terminate":
            return Uncaught(self.evidence.exception, self.evidence.message)
        if match := _TERMINATE.search(self.died.output):
            return Uncaught(match[1], match[2] or "")
        return Uncaught("", "") if "terminate called without an active exception" in self.died.output else None

    def has(self, pattern: str) -> bool:
        """Tell whether the pattern stands in the code of any of the user's own texts."""
        return any(re.search(pattern, mask(text)) for text in self._own())

    def near(self, pattern: str) -> bool:
        """Tell whether the pattern stands in the line where it happened or beside it; in any line where that is not known."""
        if self.place is None or self.place.file not in self.sources:
            return self.has(pattern)
        lines = mask(self.sources[self.place.file]).split("\n")
        return any(re.search(pattern, line) for line in lines[max(0, self.place.line - 2) : self.place.line + 1])

    def called(self, *names: str) -> str:
        """Name the one line that calls one of these functions, ` (line 14 calls abort)`.

        Nothing where none or several do, or where the line is known anyway.
        """
        if self.place is not None:
            return ""
        pattern = rf"(?<![\w.>:])(?:std::|::)?({'|'.join(map(re.escape, names))})\s*\("
        found = [
            (text.count("\n", 0, match.start()) + 1, match[1])
            for text in self._own()
            for match in re.finditer(pattern, mask(text))
        ]
        return f" (line {found[0][0]} calls {found[0][1]})" if len(found) == 1 else ""

    def _own(self) -> list[str]:
        return [text for name, text in self.sources.items() if not name.endswith(GENERATED)]


def _plain(line: str) -> str:
    return re.sub(r"\*{3} ?| ?\*{3}", "", line).strip()


def signal_name(number: int) -> str:
    """Return `SIGSEGV` for 11; where the system has no name for it, `signal 40`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


#: When a sentence is the one to say.
Test = Callable[[Facts], object]


@dataclass(frozen=True)
class Rule:
    """When a sentence is the one to say; and the sentence, who writes it, or a table of rules that has it."""

    applies: Test
    sentence: str | Callable[[Facts], str] | Sequence[Rule]

    def __call__(self, facts: Facts) -> str:
        if isinstance(self.sentence, str):
            return self.sentence
        return self.sentence(facts) if callable(self.sentence) else first(self.sentence, facts)


def first(rules: Sequence[Rule], facts: Facts) -> str:
    """Return the sentence of the first rule that applies, or nothing."""
    return next((rule(facts) for rule in rules if rule.applies(facts)), "")


def always(facts: Facts) -> bool:
    """Apply to everything: the last rule of a table."""
    return True


def ended(*kinds: str) -> Test:
    """Apply to endings of these kinds."""
    return lambda facts: facts.kind in kinds


def dies_of(*names: str) -> Test:
    """Apply to these signals."""
    return lambda facts: facts.signal in names


def prints(pattern: str) -> Test:
    """Apply where the pattern stands in what a library said before it ended the process."""
    return lambda facts: facts.signal == "SIGABRT" and re.search(pattern, facts.last_words)


def in_any(*names: str) -> Test:
    """Apply where the worker was in one of these functions of the C library."""
    return lambda facts: not set(names).isdisjoint(facts.calls)
