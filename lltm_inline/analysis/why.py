"""The reasons why a loop is slow, each with the sentence that says it and the one that says what helps."""

from __future__ import annotations

from enum import StrEnum

PAYS = "which pays where iterations are many: time "


class Why(StrEnum):
    """A reason: as a text it is its sentence.

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
    CHASES = (
        "it goes from each place in memory to the next one that it names, as through a tree, a list or the chains of a hash table",
        "Keep what it reads side by side in a std::vector: where keys are whole numbers and not too large, one that is indexed by "
        "them needs no search.",
    )
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
    MAY_NEED = "an iteration may need what the one before it has written"
    COMPUTED = "which elements it reads or writes is computed in each iteration, and the compiler cannot tell whether iterations share some"
    UNCLEAR = "it calls a function, or the compiler does not see which elements an iteration reads and writes"
    UNCLEAR_PLACES = "the compiler does not see which elements an iteration reads and writes"
    BRANCHES = (
        "an iteration branches, or the loop may end early",
        "`a ? b : c` in the place of `if` does not branch, where both may be computed.",
    )
    UNCOUNTED = (
        "how many iterations it takes is not known before it begins",
        "Count with an integer up to a local that does not change: `for (int64_t i = 0; i < n; ++i)`.",
    )
    CALLS = (
        "it calls a function in each iteration",
        "Write out what it computes, or call it before the loop, where each iteration asks for the same.",
    )

    # What the text shows. How numbers are counted by what they are; `{0}` is the place.
    SHARED_PLACE = (
        "each iteration adds to a place that data give, as in `{0}`: where neighbours give the same one, each waits for the one before it",
        "Where that is so, add to four tables in turn, and add these up at the end.",
    )
    BITS = (
        "a std::vector<bool> has eight numbers in a byte, which each iteration takes apart",
        "Take std::vector<char>, which has one in each.",
    )
    IN_ORDER = (
        "that goes one number at a time, in order",
        f"Where the order does not matter, flags=('-ffast-math',) lets it be wide, {PAYS}it.",
    )
