"""What a compiler says that it did, or could not do, with the lines of a text: g++'s and clang++'s remarks in one wording.

They come from a compile of their own (`Job.only == "remarks"`), which is made when somebody asks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..base.progress import Progress
from ..compiling.compiler import run_jobs
from ..cpp.masks import mask
from ..run.built import Built
from ..source.signature import own_text
from .reasons import HANDS, LOOP, defined, dispatched, extents
from .why import Remark, Why

_REMARK = re.compile(r"(.+?):(\d+):\d+: (optimized|missed|remark): +(.+?)(?: \[-Rpass.*\])?")
#: clang++ has the place of a remark behind it, where it does not find it among the files that it has read.
_PLACE = re.compile(r".+: note: could not determine the original source location for (.+?):(\d+):\d+")

#: What was done, as either compiler says it.
_DONE = (
    (r"loop vectorized using (\d+) byte vectors", "vectorised", "{} bytes at a time"),
    (r"vectorized loop \(vectorization width: (\d+), .*", "vectorised", "{} numbers at a time"),
    # g++ counts the jumps back, which are one less than the iterations, or not: no number is said.
    (r"(?:completely unrolled loop with|loop with) (\d+) iterations(?: completely unrolled.*)?", "unrolled", "all its iterations"),
    (r"(?:completely )?unrolled loop by a factor of (\d+).*", "unrolled", "{} iterations in one"),
)  # fmt: skip
_ALIASING = "loop versioned for vectorization because of possible aliasing"
#: The test costs so little that nothing is to be mended.
_VERSIONS = "in two versions, of which each call chooses one by whether the arrays overlap"
_UNROLLED_MORE = re.compile(r"loop unrolled (\d+) times.*")
#: What g++ says of a loop, behind all that it found out about it; clang++ gives the reason alone, at its own line.
_BARE = "couldn't vectorize loop"
_WHY_OF_CLANG = "loop not vectorized: "
#: What clang++ says beside another reason.
_NO_REASON = f"{_WHY_OF_CLANG}instruction cannot be vectorized"
#: And where there is no other: with AVX2, of a loop that goes far with each step.
_NO_GAIN = "the cost-model indicates that vectorization is not beneficial"

#: What decides wherever g++ has found it out: of an index that it cannot follow, it says first that arrays may overlap.
_DECISIVE: tuple[tuple[str, Why], ...] = (
    (r"volatile", Why.VOLATILE),
    (r"involving gather/scatter", Why.COMPUTED),
    (r"relevant stmt not supported: \S+ = \S+ [/%] ", Why.DIVISION),
)
#: Where a compiler is sure of what it has asked itself, the words are others.
_UNSAFE = r"unsafe dependent memory|reorder memory|possible dependence between"
_SAY_SO = Why.MAY_NEED.help.replace("Where that is not so, say it", "Where no iteration does, say so")
#: Why a loop was not vectorised.
_REASONS: tuple[tuple[str, Why], ...] = (
    (r"function calls or data references", Why.UNCLEAR),
    (r"call instruction cannot be vectorized", Why.CALLS),
    (r"identified as reduction|reduction used in loop|complicated access pattern", Why.CARRIED),
    (r"reorder floating-point|reduc op", Why.SUM),
    (_UNSAFE, Why.MAY_NEED),
    (r"dependence|alias", Why.MAY_NEED),
    (r"bad data ref|data ref(?:erence)? analysis failed|identify array bounds|cannot be analyzed", Why.UNCLEAR_PLACES),
    (r"strided load", Why.FAR),
    (r"consecutive inner loops|inner-loop|nested", Why.NESTED),
    (r"control flow|multiple exits|switch|latch|not understood by vectorizer|early exit|bad loop form", Why.BRANCHES),
    (r"number of (?:loop )?iterations", Why.UNCOUNTED),
    (r"not profitable|not beneficial|cost-model", Why.NO_GAIN),
)


def remarks_of(built: Built, progress: Progress | bool | None = None) -> tuple[Remark, ...]:
    """Compile a kernel once more, unless the cache has it, and return what the compiler says of the lines of its text, in their order."""
    assert built.job is not None
    [told] = run_jobs([replace(built.job, only="remarks")], progress)
    return told_in(told.path.read_text(), built.kernel.name, built.kernel.cpp)


def told_in(printed: str, name: str, text: str) -> tuple[Remark, ...]:
    """Read what a compiler has printed of a kernel, `name` for `#line`; of calls, only those of its text's own functions are told.

    Example:
        >>> told_in("a/b:3:9: optimized: loop vectorized using 32 byte vectors", "a/b", "")
        (Remark(line=3, what='vectorised', how='32 bytes at a time', help=''),)
    """
    mine = own_text(text)  # nobody can mend what is generated
    ends = math.inf if mine == text else mine.count("\n")
    own = {one.name for one in defined(text)} - {"forward", "backward"}
    found = [one for one in dict.fromkeys(_remarks(printed, name, own)) if one.line <= ends]
    widest = dict(sorted((one.line, _number(one)) for one in found if one.what == "vectorised"))
    lines = ["", *mask(text).split("\n")]
    ends_of, last_of_macro = extents(text), dict(sorted(dispatched(text)))
    some = {(one.line, one.how) for one in found if one.what == "inlined"} & {
        (one.line, one.how.partition(",")[0]) for one in found if one.what == "not inlined"
    }

    def is_named(one: Remark) -> bool:
        """Whether a line, or the dispatch that begins there, names the function: what is inlined into a lambda is told at its caller."""
        here = "\n".join(lines[one.line : last_of_macro.get(one.line, one.line) + 1])
        return re.search(rf"\b{re.escape(one.how.partition(',')[0])}\b", here) is not None

    def is_news(one: Remark) -> bool:
        if one.line < 1 or (
            one.what == "not vectorised" and ends_of and not any(a <= one.line <= b for a, b in ends_of.items())
        ):
            return False  # of a loop of a header's, or of nothing that the text says
        if one.what == "not vectorised" and HANDS.search("".join(lines[one.line : one.line + 1])):
            return False  # of one that ATen's parallel_for has
        if one.what == "unrolled" and one.line < len(lines) and not LOOP.search(lines[one.line]):
            return False  # of a loop in a function that was inlined there
        if "inlined" in one.what and (not is_named(one) or (one.line, one.how) in some):
            return False
        # What is left over at the end of a vectorised loop goes in shorter vectors or one by one, and needs no word.
        is_widest = _number(one) == widest.get(one.line, _number(one))
        return is_widest or "inlined" in one.what or one.how == _VERSIONS

    # A template, and a function that is inlined in several places, is compiled more than once: that is one remark.
    hows: dict[tuple[int, str, str], list[str]] = {}
    for one in sorted(filter(is_news, found), key=lambda one: one.line):
        name, comma, why = one.how.partition(",")
        how = f"{name} in some of its instances, {why.strip()}" if comma and (one.line, name) in some else one.how
        hows.setdefault((one.line, one.what, one.help), []).append(how)
    return tuple(
        Remark(line, what, how[0] if len(how) == 1 else "; ".join(how), help)
        for (line, what, help), how in hows.items()
    )


def _number(one: Remark) -> int:
    number = one.how.partition(" ")[0]
    return int(number) if one.what == "vectorised" and number.isdigit() else 0


def _told(printed: str) -> Iterator[tuple[str, int, str, str]]:
    """Yield file and line, what kind of remark stands there, and what it says."""
    lines = printed.splitlines()
    for line, after in zip(lines, [*lines, ""][1:], strict=True):
        if row := _REMARK.fullmatch(line):
            place = _PLACE.fullmatch(after) or row
            yield place[1], int(place[2]), row[3], row[4]


def _remarks(printed: str, name: str, own: set[str]) -> Iterator[Remark]:
    found_out: list[str] = []
    told = list(_told(printed))
    others = [said for _, _, _, said in told if said.startswith(_WHY_OF_CLANG) and said != _NO_REASON]
    for file, line, kind, said in told:
        if said == _BARE and file == name:
            yield _not_vectorised(line, found_out)
        elif file == name and said.startswith((_WHY_OF_CLANG, _NO_GAIN)):
            if said != _NO_REASON or not others:
                yield _not_vectorised(line, [said])
        elif file == name:
            yield from _done(line, said, own)
        found_out = [*found_out, said] if kind == "missed" and said != _BARE else []


def _not_vectorised(line: int, found_out: Sequence[str]) -> Remark:
    """Give the first thing that a compiler has found out which is a reason, in our words; else the last one in its own."""
    told = [row for row in _DECISIVE if any(re.search(row[0], said) for said in found_out)]
    told += [row for said in found_out for row in _REASONS if re.search(row[0], said)]
    if told:
        pattern, why = told[0]
        return Remark(line, "not vectorised", why, _SAY_SO if pattern == _UNSAFE else why.help)
    last = found_out[-1] if found_out else "the compiler does not say why"
    return Remark(line, "not vectorised", last.removeprefix("loop ").removeprefix("not vectorized: ").rstrip("."))


def _done(line: int, said: str, own: set[str]) -> Iterator[Remark]:
    for pattern, what, how in _DONE:
        if done := re.fullmatch(pattern, said):
            yield Remark(line, what, how.format(done[1]))
    if more := _UNROLLED_MORE.fullmatch(said):
        yield Remark(line, "unrolled", f"{int(more[1]) + 1} iterations in one")
    if said.startswith(_ALIASING):
        yield Remark(line, "vectorised", _VERSIONS)
    if called := _INLINED.match(said):
        yield from (Remark(line, "inlined", one) for one in _own(called[1] or called[2], own))
    called = _NOT_INLINED.match(said)
    if called and called[2] != "function body not available":  # of a library, of the same name
        reason = called[2] or called[4]
        how, help = next((words for pattern, *words in _WHY if re.search(pattern, reason)), (reason, ""))
        yield from (Remark(line, "not inlined", f"{one}, {how}", help) for one in _own(called[1] or called[3], own))


#: g++ demangles and counts (`float f(float)/12`), clang++ does neither (`'_Z1ff'`).
_INLINED = re.compile(r"(?:Inlin(?:ed|ing) (.+?) (?:in)?to |'?(\S+?)'? inlined into )")
_NOT_INLINED = re.compile(r"(?:not inlinable: .+? -> (.+), ([^,]+)|'?(\S+?)'? not inlined into .+? because (.+))")
_WHY = (
    (r"recursive", "because it calls itself", "Write it as a loop."),
    (r"noinline|not inlinable", "because it is declared `noinline`, or cannot be", "Take `noinline` away, if it is there."),
    (r"limit|costly|grow", "because it is long", "`C10_ALWAYS_INLINE` before it inlines it all the same."),
    (r"unlikely|cold", "because this call is rare", ""),
)  # fmt: skip


def _own(said: str, own: set[str]) -> list[str]:
    """Return the function of the text that a compiler names, if it is one, mangled or not; a lambda in it has no name of its own."""
    if re.match(r"'?_Z(?:Z|\w*IZ)\d", said) or "::<lambda" in said or "::{lambda" in said:
        return []
    return [name for name in own if re.search(rf"(?<!\w){name}(?=[(</ ]|$)|(?<=\D){len(name)}{name}", said)]
