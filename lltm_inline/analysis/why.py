"""The reasons why a loop is slow, each with the sentence that says it and the one that says what helps; and a remark, which has one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

PAYS = "which pays where iterations are many: time "
_ONCE, _CALLS = "Compute it once, before the loop.", "it calls a function in each iteration"


class Why(StrEnum):
    """A reason: as a text it is its sentence, in which `{0}` is a place, a name or a call of the source.

    Attributes:
        help: what helps against it; empty where nothing does, or where the source decides what.

    Example:
        >>> str(Why.FAR), Why.CARRIED.help
        ('iterations read or write places that lie far from each other', '')
    """

    help: str

    def __new__(cls, how: str, help: str = "") -> Why:
        """Make a member of its two sentences."""
        member = str.__new__(cls, how)
        member._value_, member.help = how, help
        return member

    # What the machine code of a loop shows as well.
    ATOMIC = (
        "it reads or writes an atomic variable, one at a time and in order",
        "Add up in a local variable, and do the atomic operation once, when the loop is done.",
    )
    BYTES = (
        "it stores bytes, which may change anything in memory, so each iteration reads pointers, sizes or numbers again",
        "Copy what is read through a pointer, a struct or a capture into locals before the loop.",
    )
    DIVISION = (
        "it divides whole numbers, which no vector does",
        "Take the division out of the loop: for `i / n` and `i % n`, take a loop in a loop; for `at = (at + 1) % n`, "
        "`if (++at == n) at = 0;`.",
    )
    FAR = "iterations read or write places that lie far from each other"
    FAR_STEPS = f"with steps longer than one, {FAR}"
    ONE_PLACE = (
        "each iteration writes to the same place in memory",
        "Work on a local variable, and write it to memory when the loop is done.",
    )
    THREADS = (
        "it hands work to threads in each iteration, and waits for them",
        "Share out the iterations of the outermost loop that can be shared, once.",
    )

    # What a compiler says.
    CARRIED = "an iteration goes on from what the one before it has computed"
    SUM = "an iteration goes on from what the one before it has computed, as a sum does"
    MAY_NEED = (
        "an iteration may need what the one before it has written",
        "Where that is not so, say it: `float* __restrict y` as a parameter of a function, or `#pragma omp simd` above the loop.",
    )
    COMPUTED = (
        "which elements it reads or writes is computed in each iteration, and the compiler cannot tell whether iterations share some",
        "Where an index is computed in `int` or `uint32_t`, which may wrap, take `int64_t`; copy pointers and sizes into locals before "
        "the loop.",
    )
    UNCLEAR = (
        "it calls a function, or the compiler does not see which elements an iteration reads and writes",
        "Take the call out of it; copy pointers and sizes into locals before the loop.",
    )
    UNCLEAR_PLACES = (
        "the compiler does not see which elements an iteration reads and writes",
        "Copy pointers and sizes into locals before the loop, and step through memory one element at a time.",
    )
    VOLATILE = (
        "it reads or writes a `volatile` variable, one at a time and in order",
        "Take `volatile` away, or work on a local copy: it is no help against other threads either.",
    )
    NESTED = "it has other loops in it", "It is these that are to be vectorised."
    NO_GAIN = (
        "the compiler reckons that it would gain nothing",
        "Let each iteration use neighbours in memory, and more arithmetic for each number that is read.",
    )
    BRANCHES = (
        "an iteration branches, or the loop may end early",
        "`a ? b : c` in the place of `if` does not branch, where both may be computed.",
    )
    UNCOUNTED = (
        "how many iterations it takes is not known before it begins",
        "Count with an integer up to a local that does not change: `for (int64_t i = 0; i < n; ++i)`.",
    )
    CALLS = (
        _CALLS,
        "Write out what it computes, or call it before the loop, where each iteration asks for the same.",
    )

    # What it calls.
    SAME_CALL = f"{_CALLS}, and `{{0}}` is the same in all", _ONCE
    CALLS_TWICE = f"{_CALLS}, `{{0}}` more than once", "Compute it once in an iteration, in a local variable."
    LOCKS = (
        "it takes a lock in each iteration, for which threads wait",
        "Gather in a local variable of each thread, and take the lock once, when the loop is done.",
    )
    JOINS = (
        "it joins tensors in each iteration, which copies all of them",
        "Where one grows so, keep the parts in a std::vector, and join them once, when the loop is done.",
    )
    TEXT = "it makes or reads text in each iteration", "Compute with numbers, without text."
    LOOKS_UP = (
        "it looks something up in a std::map or the like in each iteration",
        "Where the keys are whole numbers and not too large, a std::vector that is indexed by them needs no search.",
    )
    ASKS = (
        "it asks a tensor for its pointer, or for a size, in each iteration",
        "Ask once, before the loop, and keep the answer in a local: `float* py = y.data_ptr<float>();`, `const int64_t n = x.size(0);`.",
    )
    GROWS = (
        "it makes a std::vector longer in each iteration, which takes memory anew, and moves all, whenever it is full",
        "Give it its length before the loop, as `std::vector<float> v(n)`, and set `v[i]`, or room at least, with `v.reserve(n)`.",
    )
    HAS_ROOM = (
        "it makes a std::vector longer in each iteration, and asks each time whether there is room",
        "Give it its length before the loop, as `std::vector<float> v(n)`, and set `v[i]`.",
    )
    MEMORY = (
        "it takes memory, or gives it back, in each iteration",
        "Take it once, before the loop; for a few numbers, an array of a length that the compiler knows needs none.",
    )
    SQRT = (
        "sqrt has to set errno for a negative number, so it goes one at a time",
        "Where nobody reads errno, say so: flags=('-fno-math-errno',).",
    )
    SAME_SQRT = "`{0}` is the same in all iterations, and takes long", _ONCE

    # What the text shows.
    EARLY = "the loop may end early"
    SAME_SUM = "it computes the same for each `{0}`", "Do it once, before the loop over `{0}`."
    SHARED_PLACE = (
        "each iteration adds to a place that data give, as in `{0}`: where neighbours give the same one, each waits for the one before it",
        "Where that is so, add to four tables in turn, and add these up at the end.",
    )
    BITS = (
        "a std::vector<bool> has eight numbers in a byte, which each iteration takes apart",
        "Take std::vector<char>, which has one in each.",
    )
    IN_ORDER = (
        "the sum: that goes one number at a time, in order",
        f"Where the order does not matter, flags=('-ffast-math',) lets it be wide, {PAYS}it.",
    )


@dataclass(frozen=True)
class Remark:
    """What the compiler did, or did not do, with a line.

    Attributes:
        line: of the kernel's text.
        what: `vectorised`, `not vectorised`, `inlined`, `not inlined` or `unrolled`; by the machine code `allocates` or `waits`; by
            the text `repeats`; where the time was measured, `subnormal`.
        how: how far, or why not.
        help: what would change it, in a sentence; empty where nothing need be changed.
        share: of the time that its lines took, where that was measured.
        why: the reason that `how` says, of what was done that against it; None for none, or in a compiler's own words.
    """

    line: int
    what: str
    how: str
    help: str = ""
    share: float | None = field(default=None, compare=False, repr=False)
    why: Why | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.how, Why):
            object.__setattr__(self, "why", self.how)

    @property
    def is_good(self) -> bool:
        """Whether something was done, and nothing is said against it."""
        return self.what in ("vectorised", "inlined", "unrolled") and self.why is None

    def because(self, why: Why, *parts: str, help: str | None = None, more: str = "") -> Remark:
        """Return the same for another reason, with parts of the source in its sentences; of what was done it is said against that.

        What helps is what the reason says, or `help`; `more` stands behind its sentence.
        """
        how = f"{why.format(*parts)}{more}"
        how = f"{self.how}, but {how}" if self.what == "vectorised" else how
        return replace(self, how=how, help=why.help.format(*parts) if help is None else help, why=why)

    def __str__(self) -> str:
        return f"{self.what}: {self.how}" + f". {self.help}" * bool(self.help)
