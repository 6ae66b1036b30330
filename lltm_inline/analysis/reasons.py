"""Why a loop is slow and what helps, as its text tells it: what is called, which places it goes to, what one iteration hands to the next.

Nothing is advised that is not known to help: where the text does not tell, a reason stands without help. It reads C++ by regular
expressions, of innermost loops alone; what the machine code shows decides beside it (`assembly`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ..cpp.bodies import Loop, all_calls, find_loops
from ..cpp.functions import Function, all_functions
from ..cpp.masks import mask
from .why import PAYS, Why

LOOP = re.compile(r"\b(?:for|while|do)\b")
#: What takes memory of its own, which a copy takes, too.
_CONTAINER = r"std::(?:vector|deque|list|(?:unordered_)?(?:multi)?(?:map|set))\s*<[^;{}()]*>|std::string"
#: What hands work to threads.
HANDS = re.compile(r"\b(?:torch_)?parallel_(?:for|reduce)\b")
#: What compiles its body once for each dtype.
_DISPATCH = re.compile(r"[A-Z]+_DISPATCH_")
_THREADS = re.compile(rf"{HANDS.pattern}|#\s*pragma\s+omp\b[^\n]*\bparallel\b|\bstd::j?thread\b")

_ANOTHER_INSIDE = (
    "Let the loop over `{0}` be the inner one: then neighbours in memory are for neighbouring iterations.{1}"
)
_ONE_FOR_EACH = (
    " What an iteration takes on from the one before, a sum or a state, is then an array, with one for each `{0}`."
)
_IN_TILES = (
    "Where `{0}` and `{1}` change places, one side goes far whichever loop is the inner one. Go through them in tiles of 16 by 16, with "
    "the loop over `{2}` inside, along which is written. Where the elements of a row are a power of two, those below each other share "
    "few places in a cache: there that was 4 to 8 times as fast; elsewhere up to three times, or no faster."
)
#: g++ and clang++ make no vectors of std::max because of the pragma: NaN and -0 are at stake, and no order.
_OF_LARGEST = "Where no number is NaN or infinite, flags=('-ffinite-math-only', '-fno-signed-zeros') lets it be wide."
_LOCAL = "Compute it in a local variable `s`, written to memory when the loop is done"

_BY_ADDRESS = (
    "What a std::function, a pointer or a virtual function calls is not inlined: take it as a template argument."
)
#: What costs little, and is asked for again all the same, as the compiler cannot know that it stays.
_ASKS = r"TensorBase::(?:(?:mutable_|const_)?data_ptr|sizes?|strides?|numel)\b"
#: What makes a std::vector longer.
GROWS = r"_M_(?:realloc|range|fill|default)_(?:insert|append)"
#: What hands work to threads, and waits until it is done.
STARTS = r"GOMP_parallel|__kmpc_fork_call|torch_parallel_for|at::internal::invoke_parallel|(?:at|torch::stable)::parallel_for"
_MEMORY = r"operator (?:new|delete)|malloc|calloc|free\b|std::vector::_M_realloc_|std::__throw_length"
_GROWN = re.compile(r"\b(\w+)\s*(?:\.|->)\s*(push_back|emplace_back)\(")
_ASKS_FOR_ROOM = "it makes a std::vector longer in each iteration, and asks each time whether there is room"
_SET = "Give it its length before the loop, as `std::vector<float> v(n)`, and set `v[i]`."
#: What it is that a loop calls, and what helps; the first of which there is a call decides.
_CALLED = (
    (STARTS, Why.THREADS, Why.THREADS.help),
    (r"pthread_mutex_|pthread_spin_|GOMP_(?:critical|atomic)|std::(?:lock_guard|unique_lock|scoped_lock|mutex)",
     "it takes a lock in each iteration, for which threads wait",
     "Gather in a local variable of each thread, and take the lock once, when the loop is done."),
    (r"at::(?:_ops::)?cat\b",
     "it joins tensors in each iteration, which copies all of them",
     "Where one grows so, keep the parts in a std::vector, and join them once, when the loop is done."),
    (rf"at::(?!{_ASKS})",
     Why.CALLS,
     "A call of ATen's takes a microsecond or so: read numbers through an accessor or `data_ptr`, or call it once for all iterations."),
    (r"std::(?:__cxx11::)?(?:basic_)?(?:ios|[io]?(?:string)?stream|string)|std::locale|strto",
     "it makes or reads text in each iteration",
     "Compute with numbers, without text."),
    (r"std::(?:__detail::)?(?:(?:unordered_)?(?:multi)?(?:map|set)|_Map_base|_Hashtable|_Rb_tree)",
     "it looks something up in a std::map or the like in each iteration",
     "Where the keys are whole numbers and not too large, a std::vector that is indexed by them needs no search."),
    (rf"at::{_ASKS}",
     "it asks a tensor for its pointer, or for a size, in each iteration",
     "Ask once, before the loop, and keep the answer in a local: `float* py = y.data_ptr<float>();`, `const int64_t n = x.size(0);`."),
    (rf"std::vector::(?:{GROWS}|(?:push|emplace)_back)",
     "it makes a std::vector longer in each iteration, which takes memory anew, and moves all, whenever it is full",
     "Give it its length before the loop, as `std::vector<float> v(n)`, and set `v[i]`, or room at least, with `v.reserve(n)`."),
    (_MEMORY,
     "it takes memory, or gives it back, in each iteration",
     "Take it once, before the loop; for a few numbers, an array of a length that the compiler knows needs none."),
)  # fmt: skip
#: What a compiler calls on its own, as where a size is asked for or rows are copied, a clock, and a lambda, which has no name to read:
#: no matter beside another call.
RARE = re.compile(
    r"c10::|a function by its address|mem(?:cpy|move|set|cmp)|__errno_location|std::chrono|.*operator\(\)$"
)
#: What is left of one that asks for a size is called where that is symbolic, or of another dimension.
_ASKED = (".size(", ".stride(", ".numel(", ".dim(")
#: Functions of which at::vec::Vectorized has one.
_OF_NUMBERS = re.compile(
    r"(?:a?(?:cos|sin|tan)h?|atan2|erfc?|exp2?|expm1|log|log10|log1p|log2|lgamma|fmod|hypot|pow|ceil|floor|round|trunc)f?"
)
_CALLS_OF_NUMBERS = re.compile(rf"(?:std::|\b)(?:sqrt|{_OF_NUMBERS.pattern})\(")
_WITH_VECTORS = (
    "Write out what it computes, call at::vec::Vectorized's function in its place, or call it before the loop, where each iteration asks "
    "for the same."
)

#: Of numbers so small that a processor takes long over them.
AS_ZERO = (
    "On x86, `const unsigned mode = __builtin_ia32_stmxcsr(); __builtin_ia32_ldmxcsr(mode | 0x8040);` before the loop has the processor "
    "take them as 0, and `__builtin_ia32_ldmxcsr(mode);` after it ends that."
)
_SOME_OF_THEM = (
    "Where only some are asked for, as a median or the largest ten, std::nth_element or std::partial_sort takes less."
)
#: Between what was done and what is said against it.
BUT = ", but "
#: What a compiler says where iterations add to one place, among others.
_MAY_SHARE = (Why.COMPUTED, Why.UNCLEAR_PLACES, Why.UNCLEAR, Why.MAY_NEED, Why.CARRIED)


@dataclass(frozen=True)
class Remark:
    """What the compiler did, or did not do, with a line.

    Attributes:
        line: of the kernel's text.
        what: `vectorised`, `not vectorised`, `inlined`, `not inlined` or `unrolled`; by the machine code `allocates` or `waits`; by
            the text `repeats` or `sorts`; where the time was measured, `subnormal`.
        how: how far, or why not: a `Why` where it is one of these.
        help: what would change it, in a sentence; empty where nothing need be changed.
        share: of the time that its lines took, where that was measured.
    """

    line: int
    what: str
    how: str
    help: str = ""
    share: float | None = field(default=None, compare=False, repr=False)

    @property
    def is_good(self) -> bool:
        """Whether something was done, and nothing is said against it."""
        return self.what in ("vectorised", "inlined", "unrolled") and BUT not in self.how

    def because(self, why: Why, help: str = "") -> Remark:
        """Return the same for another reason, with what helps against that."""
        return replace(self, how=why, help=help or why.help)

    def __str__(self) -> str:
        return f"{self.what}: {self.how}" + f". {self.help}" * bool(self.help)


def because_of_calls(one: Remark, calls: Sequence[str], text: str = "") -> Remark:
    """Name the functions that a loop calls, where it was not vectorised: g++ speaks of its control flow, or of memory that is clobbered."""
    if not calls or one.what != "not vectorised":
        return one
    how, help = str(Why.CALLS), Why.CALLS.help
    own = [name for name in calls if not RARE.match(name)]
    if not own and any(asked in part for asked in _ASKED for part in _loop_around(text, one.line)):
        own = ["at::TensorBase::size"]
    calls = own or calls
    grown = _GROWN.search(_loop_around(text, one.line)[1])
    if grown and all(re.match(_MEMORY, name) for name in own):
        calls = [f"std::vector::{grown[2]}"]
        if re.search(rf"\b{grown[1]}\s*\.\s*reserve\(", text):
            return because_of_branches(replace(one, how=f"{_ASKS_FOR_ROOM} ({calls[0]})", help=_SET), text)
    for pattern, which, helps in _CALLED:
        if found := [name for name in calls if re.match(pattern, name)]:
            return replace(one, how=f"{which} ({', '.join(found)})", help=helps)
    if all("address" in name for name in calls):
        help = _BY_ADDRESS
    elif not own:
        help = ""  # to copy a row is as fast as it can be
    else:
        help = _WITH_VECTORS if all(map(_OF_NUMBERS.fullmatch, calls)) else help
        help = _FOR_POW * any(name in ("pow", "powf") for name in calls) + help
        if same := _same_in_each_iteration(text, one.line, calls):
            how, help = f"{Why.CALLS}, and `{same}` is the same in all", _AHEAD
        elif twice := _twice_in_an_iteration(_loop_around(text, one.line)[1], calls):
            help = "Compute it once in an iteration, in a local variable."
            how = f"{Why.CALLS}, `{twice}` more than once"
    return replace(one, how=f"{how} ({', '.join(calls)})", help=help)


def copied(line: int, text: str) -> tuple[str, str]:
    """Say what a line copies that a function of the text takes by value, or a loop over a container gives so; and what helps."""
    masked = mask(text)
    at = masked.split("\n")[line - 1]
    large = "|".join([_CONTAINER, *re.findall(rf"\busing\s+(\w+)\s*=\s*{_CONTAINER}\s*;", masked)])
    for function in defined(text):
        by_value = [(one.type.removeprefix("const "), one.name) for one in function.parameters if one.name]
        found = [(type_, name) for type_, name in by_value if re.fullmatch(large, type_)]
        if found and re.search(rf"\b{function.name}\s*\(", at):
            taken, better = (
                ", ".join(form.format(*one) for one in found) for form in ("`{0} {1}`", "`const {0}& {1}`")
            )
            return f"a copy in each iteration: {function.name} takes {taken} by value", f"Take {better}."
    each = re.search(rf"\bfor\s*\(\s*(?:const\s+)?(auto|{large})\s+(\w+)\s*:", at)
    return (f"a copy in each iteration: `{each[2]}`", f"Take `const {each[1]}& {each[2]}`.") if each else ("", "")


def defined(text: str) -> list[Function]:
    """List the functions that a text defines, wherever that is."""
    return [one for one in all_functions(text) if one.body[0]]


def same_for_each(text: str) -> Iterator[Remark]:
    """Yield where a loop calls a function of the text, which has a loop itself, in each iteration with the same."""
    masked = mask(text)
    for function in defined(text):
        body = masked[slice(*function.body)]
        changes = any(sign for _, _, sign in _ELEMENT.findall(body))
        if not LOOP.search(body) or re.search(r"\bstatic\b|\brand\b", body) or changes:
            continue  # it is short, or may give another number each time, or changes something
        for call in all_calls(text):
            if call.name != function.name:
                continue
            line, given = _line(masked, call.start), masked[call.opening : call.end]
            head, iteration = _loop_around(text, line)
            stays = _changed(head + iteration).isdisjoint(_NAMES.findall(given)) and not _NOT_LOCAL.search(given[1:-1])
            if head and stays:
                help = f"Compute it once, before the loop over `{_counter(head)}`." if _counter(head) else _AHEAD
                how = f"`{call.name}{given}` in each iteration, which is the same in all as far as the text shows"
                yield Remark(line, "repeats", how, help)


def sorts_in_loops(text: str) -> Iterator[Remark]:
    """Yield where a loop sorts in each iteration."""
    for call in all_calls(text):
        is_sort = call.name in ("sort", "stable_sort") and text.startswith("std::", call.start)
        if is_sort and _nest(text, line := _line(text, call.start)):
            yield Remark(line, "sorts", "all of it in each iteration", _SOME_OF_THEM)


def _same_in_each_iteration(text: str, line: int, calls: Sequence[str]) -> str:
    """Return a call of a function of numbers of which no iteration of the loop changes what it depends on; nothing where none is."""
    head, body = _loop_around(text, line)
    made, changed = _calls_of_numbers(body, calls), _changed(head + body)
    return next((each for each, given in made if changed.isdisjoint(_NAMES.findall(given))), "")


def _changed(iteration: str) -> set[str]:
    """Name all that an iteration changes or makes, variables and arrays."""
    written = {name for name, _, sign in _ELEMENT.findall(iteration) if sign} | {*_MADE.findall(iteration)}
    return written | {name for found in _CHANGES.findall(iteration) for name in found if name}


def _twice_in_an_iteration(body: str, calls: Sequence[str]) -> str:
    """Return a call of a function of numbers that an iteration makes more than once with the same; nothing where none is."""
    changed = _goes_on(body) | {name for name, _, is_written in _ELEMENT.findall(body) if is_written}
    made = [each for each, given in _calls_of_numbers(body, calls) if changed.isdisjoint(_NAMES.findall(given))]
    return next((each for each in made if made.count(each) > 1), "")


def _calls_of_numbers(body: str, calls: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the calls of functions of numbers, each with what it is given, where that is of locals and elements alone.

    What another call returns, or a member, is not known to stay.
    """
    for name in {name.removesuffix("f") for name in calls if name == "sqrt" or _OF_NUMBERS.fullmatch(name)}:
        for found in re.finditer(rf"(?:std::|\b){name}f?\s*\(((?:[^();]|\([^();]*\))*)\)", body):
            if not _NOT_LOCAL.search(found[1]):
                yield found[0], found[1]


def is_taken_each_time(line: int, text: str) -> bool:
    """Tell whether a line of a loop takes memory whenever it is run; what is made before the loop, or has room, takes none as a rule."""
    at = mask(text).split("\n")[line - 1]
    nest, kept = _nest(text, line), _KEPT.search(at)
    name = kept and (kept[1] or kept[2])
    if any(re.search(rf"\b{one}\s*[\[.]", at) for one in _KEYED.findall(text)):
        return False  # for a key that is new, and that is to be kept
    if not kept or not nest:
        return bool(nest)
    made = re.search(rf"[\w>][&*\s]\s*{name}\s*[;({{=]", _declared(nest[-1][1]))
    return made is not None and not re.search(rf"\b{name}\s*\.\s*reserve\(", text)


def because_of_sqrt(one: Remark, text: str = "") -> Remark:
    """Say why a square root goes one at a time: the function is called for negative numbers alone, to set errno."""
    if one.what == "not vectorised" and (same := _same_in_each_iteration(text, one.line, ("sqrt",))):
        return replace(one, how=f"`{same}` is the same in all iterations, and takes long", help=_AHEAD)
    how = "sqrt has to set errno for a negative number, so it goes one at a time"
    help = "Where nobody reads errno, say so: flags=('-fno-math-errno',)."
    return replace(one, how=how, help=help) if one.what == "not vectorised" else one


#: What an iteration hands to the next in a variable of one name, as a statement of its own: `s += x`, `++n`, `n++`, `m = std::max(m, x)`.
_GOES_ON = re.compile(
    r"(?:(?<=[;{}),])|^|\belse\b)\s*(?:(\w+)\s*([-+*&|^])=(?!=)|(\w+)(\+\+|--)\s*(?=[;,])|(\+\+|--)(\w+)\s*(?=[;,])"
    r"|(\w+)\s*=\s*(?:std::)?f?(max|min)f?\s*(?:<\w+>)?\(\s*\7\s*,)"
)
#: Any change of such a variable.
_CHANGES = re.compile(
    r"(?<![\w.>\]])(\w+)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|(?<![\w.>\]])(\w+)(?:\+\+|--)|(?:\+\+|--)(\w+)\b(?!\s*[\[.(]|->)"
)
_NAMES = re.compile(r"\b[A-Za-z_]\w*")
#: A variable that a loop makes: behind its type, before what it is set to.
_MADE = re.compile(r"[\w>][&*\s]\s*(\w+)\s*(?:=(?!=)|[;:{,])")
_FOR_POW = "Multiply, where the exponent is a small whole number, and take a square root, where it is half of one. "
_AHEAD = "Compute it once, before the loop."
#: An element of an array, and whether it is written.
_INDEXED = r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]"
_ELEMENT = re.compile(rf"\b(\w+)\s*{_INDEXED}\s*((?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)?")
_MEMORY_SUM = re.compile(r"\w+\[([^\[\]]*)\]\s*([-+*])=")
#: All that a loop does, where it only adds up.
_SUM_ALONE = re.compile(r"[\s{]*(\w+)\s*\+=\s*([^;{}]+);[\s}]*")
#: A place that is added to, and its index.
_ADDED_TO = re.compile(rf"(?:\+\+|--)\s*(\w+\s*{_INDEXED})|(\w+\s*{_INDEXED})\s*(?:\+\+|--|[-+]=(?!=))")
#: A number that may wrap.
_NARROW = re.compile(r"\b(?:int|unsigned|u?int32_t)\b")
#: A number of a window that moves: `x[i + j]`, or `x[k]` for each k of it.
_WINDOW = re.compile(r"\s*(?:\w+\()?\w+\s*\[([^\[\]()*]*)\]\)?\s*")
_MOVE = (
    "Go on with `{0}` from one `{1}` to the next: add the number that comes in, and take away the one that goes out (errors of rounding "
    "go on with it: in double they are small, or begin anew now and then)."
)
#: A place in memory by its indices, none of which is read from memory itself.
_PLACE_OF = re.compile(r"\b[A-Za-z_]\w*((?:\s*\[[^\[\]]*\])+)")
#: An index that is computed ahead.
_INDEX = re.compile(r"[\s;{](?:u?int\w*|size_t|auto|long)\s+(\w+)\s*=\s*([^;]+);")
#: `y[n++] = x` behind an `if`: some are taken, and moved together.
_COUNTED_PLACE = re.compile(
    r"\[[^\[\]]*?\b(\w+)\+\+\s*\]\s*=(?!=)|\[\s*(\w+)\s*\]\s*=(?!=)[^;]*;\s*(?:\+\+\s*\2|\2\s*\+\+|\2\s*\+=\s*1)\s*;"
)
#: What has a place for each key.
_KEYED = re.compile(r"\bstd::(?:unordered_)?(?:multi)?(?:map|set)\s*<[^;(){}]*>\s*&?\s*(\w+)")
_WITHOUT_IF = (
    "Where the `if` goes either way at random, write in each iteration and count by the comparison, as in `y[{0}] = x; {0} += x > 0;`; "
    "`y` needs room for one more than are kept, and what lies after the last one is to be set again."
)
#: What takes memory where a vector or a string has no room for it, and none where it has.
_KEPT = re.compile(
    r"\b(\w+)\s*\.\s*(?:assign|resize|insert|append|(?:push|emplace)_back)\(|(?:^|[;{})])\s*(\w+)\s*\+?=\s*[A-Za-z_][\w.]*\s*;"
)
#: What may hide a pointer or a size: a member, or a call.
_NOT_LOCAL = re.compile(
    r"->|\b[A-Za-z_]\w*\.[A-Za-z_]|\b(?!(?:if|for|while|switch|u?int\w*|float|double)\b)[A-Za-z_]\w*\s*\("
)
_MAY_CHANGE = re.compile(rf"{_NOT_LOCAL.pattern}|\)\s*[-+*/]?=(?!=)")
_EARLY = re.compile(r"\b(?:break|return|goto|throw)\b")


def because_of_order(one: Remark, text: str) -> Remark:
    """Suggest a fix for a loop-carried dependence: a reduction may be reordered.

    There is no fix where an iteration needs the result of the one before it, as in a filter, or in a counter that says where
    to write.
    """
    head, body = _loop_around(text, one.line)
    if help := _in_a_local(head, body):
        return replace(one, help=help)
    names, clauses = _goes_on(body), []
    for found in _GOES_ON.finditer(body):
        name = found[1] or found[3] or found[6] or found[7]
        if name in names and len(re.findall(rf"\b{name}\b", body)) == (2 if found[7] else 1):
            sign = found[8] or (found[2] or "+").replace("-", "+")
            clauses.append((name, f"reduction({sign}:{name})"))
    if re.search(r"\bif\b", body) and (counted := _COUNTED_PLACE.search(body)):
        return replace(one, help=_WITHOUT_IF.format(counted[1] or counted[2]))
    if not names or {name for name, _ in clauses} != names or _EARLY.search(body):
        return replace(one, help="")
    said = " ".join(clause for _, clause in clauses)
    if "(m" in said:
        return replace(one, help=_OF_LARGEST if "+" not in said and "*" not in said else Why.IN_ORDER.help)
    ways = _in_another_order(head, said)
    return replace(one, help=f"Where the order does not matter, {ways} lets it be wide, {PAYS}both.")


def _goes_on(body: str) -> set[str]:
    """Name the variables that an iteration changes and does not make."""
    names = {name for found in _CHANGES.findall(body) for name in found if name}
    return {name for name in names if not re.search(rf"[\w>][&*\s]\s*\b{name}\s*(?:=|;|\{{)", _declared(body))}


def _in_another_order(head: str, clauses: str) -> str:
    """Say how a loop is allowed another order: above one that does not count, g++ and clang++ refuse the pragma."""
    pragma = f"`#pragma omp simd {clauses}` above "
    if re.match(r"\(\s*[^;]*=[^;]*;", head):
        return f"{pragma}the loop or flags=('-ffast-math',)"
    return f"flags=('-ffast-math',), or {pragma}a loop over an index,"


def _in_a_local(head: str, body: str) -> str:
    """Say that a sum belongs in a local variable, where each iteration adds to one element; and what else it needs to be wide."""
    iterations = {*_NAMES.findall(head), *_MADE.findall(body)} | _goes_on(body)
    for place, sign in _MEMORY_SUM.findall(body):
        if iterations.isdisjoint(_NAMES.findall(place)) and ";" in head:
            how = _in_another_order(head, f"reduction({sign.replace('-', '+')}:s)")
            return f"{_LOCAL}, and, where the order does not matter, with {how}."
    return ""


def because_of_one_place(one: Remark, text: str) -> Remark:
    """Say that each iteration writes to one place in memory, and of a sum all that it needs to be wide."""
    return one.because(Why.ONE_PLACE, _in_a_local(*_loop_around(text, one.line)))


def because_of_memory(one: Remark, text: str) -> Remark:
    """Leave out that iterations may be said not to share memory, where the text itself says that they do, or may."""
    head, body = _loop_around(text, one.line)
    if help := _in_a_local(head, body):
        return replace(one, help=help)
    elements = [(name, "".join(index.split()), sign) for name, index, sign in _ELEMENT.findall(body)]
    made = set(_MADE.findall(body))
    for name, index, sign in elements:
        if sign and (
            {"[", "("} & {*index}
            or any(other == name and place != index for other, place, _ in elements)
            # What is added to at a place that each iteration computes, as in a histogram, is shared.
            or (sign != "=" and not made.isdisjoint(_NAMES.findall(index)))
        ):
            return replace(one, help="")
    return one


def because_of_shared_places(one: Remark, text: str) -> Remark:
    """Say that an iteration adds to a place that it has read, as a histogram does, and leave out a cure for what the text has not.

    What is no vector either way is slow where the same place comes again at once: its value is to be stored before it is read.
    """
    head, body = _loop_around(text, one.line)
    if one.what != "not vectorised" or one.how not in _MAY_SHARE:
        return one
    read = {name for name, index in _INDEX.findall(body) if "[" in index}
    for found in _ADDED_TO.finditer(body):
        place, index = next(filter(None, found.groups()[::2])), next(filter(None, found.groups()[1::2]))
        if "[" in index or not read.isdisjoint(_NAMES.findall(index)):
            return replace(one, how=Why.SHARED_PLACE.format(place), help=Why.SHARED_PLACE.help)
    return replace(one, help=one.help * (one.how != Why.COMPUTED or bool(_NARROW.search(head + body))))


def because_of_bits(one: Remark, text: str) -> Remark:
    """Name a std::vector<bool>, of which g++ says that iterations share memory, and they do."""
    packed = re.findall(r"\bvector<bool>&?\s*(\w+)", mask(text))
    _, body = _loop_around(text, one.line)
    is_one = one.what == "not vectorised" and any(re.search(rf"\b{name}\s*\[", body) for name in packed)
    return one.because(Why.BITS) if is_one else one


def because_of_branches(one: Remark, text: str) -> Remark:
    """Say that a loop may end early where it does, which nothing helps; else leave out a cure for what the text does not do."""
    head, body = _loop_around(text, one.line)
    if one.how == Why.UNCLEAR_PLACES:
        return replace(one, help=one.help * bool(_NOT_LOCAL.search(body)))
    if _EARLY.search(body) or "&&" in head:
        return replace(one, how="the loop may end early", help="")
    inner = [range(loop.start, loop.end) for loop in find_loops(body)]  # what another loop has in it is its own matter
    own = [found.end() for found in re.finditer(r"\bif\b", body) if not any(found.start() in each for each in inner)]
    if own and _GROWN.search(body, own[0]):
        return replace(one, help=f"Give the vector its length before the loop. {_WITHOUT_IF.format('k')}")
    return replace(one, help=one.help * (one.how != Why.BRANCHES or own != []))


def _declared(body: str) -> str:
    """Leave out of a text what stands before a name and is no type."""
    return re.sub(r"\b(?:return|else|case|goto)\b", ";", body)


def nearer(one: Remark, text: str) -> Remark:
    """Name the loop that belongs inside, of one whose iterations go far: one that leads to neighbours, and nowhere far.

    A transpose goes far either way. What the text does not show has no cure.
    """
    (head, body), *around = _nest(text, one.line) or [("", "")]
    inner = _counter(head)
    for head, whole in around:
        outer = _counter(head)
        if not outer or "++" not in head or _EARLY.search(body):
            continue  # it steps over neighbours, or ends where it has found something
        places = list(_places(body, whole))
        turned = {
            which
            for place, along in places
            for which, other in ((inner, outer), (outer, inner))
            if which in along and other not in along and other in _NAMES.findall(place)
        }
        # Multiplied, passed to a function, or no last index, it leads far, or nobody knows where.
        if re.search(rf"\b{outer}\s*(?:\*|\]\s*\[)|\*\s*{outer}\b|\([^()\[\]]*\b{outer}\b", whole):
            if turned == {inner, outer}:
                _, written = places[0]  # of a statement, what is written stands first
                return replace(one, help=_IN_TILES.format(outer, inner, outer if outer in written else inner))
            continue
        if outer in turned:
            more = _ONE_FOR_EACH.format(outer) if _goes_on(body) else ""
            return replace(one, help=_ANOTHER_INSIDE.format(outer, more))
    return replace(one, help="")


def _places(body: str, whole: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each place of an iteration by its indices, and what is added in the last one: what leads along a row.

    Args:
        body: of the iteration.
        whole: in which indices may be computed ahead.
    """
    for name, index in _INDEX.findall(whole):
        body = re.sub(rf"\b{name}\b", index, body)
    for place in _PLACE_OF.findall(body):
        yield place, {each.strip() for each in place.rpartition("[")[2].rstrip("] ").replace("-", "+").split("+")}


def because_of_repeats(one: Remark, text: str) -> Remark:
    """Say that a sum or a product begins again in each iteration of the loop around it, though it is the same, or most of it is."""
    (head, body), (around, whole) = [*_nest(text, one.line), ("", ""), ("", "")][:2]
    found, outer = _SUM_ALONE.fullmatch(body), _counter(around)
    begins = found and re.search(rf"\b{found[1]}\s*=(?!=)[^;]*;", whole)
    if not outer or not found or not begins or "vectorised" not in one.what:
        return one
    changes = _changed(whole)
    terms = {*_NAMES.findall(found[2])} - {_counter(head)}
    window = _WINDOW.fullmatch(found[2])
    if window and not has_threads(text):
        along = {each.strip() for each in window[1].replace("-", "+").split("+")}
        ends = head.split(";")[:2]
        if {outer, _counter(head)} <= along or (
            along == {_counter(head)} and all(outer in _NAMES.findall(each) for each in ends) and "--" not in head
        ):
            how = f"for each `{outer}` it adds up again all but one of the numbers that it has added up for the one before"
            return replace(one, how=_beside(one, how), help=_MOVE.format(found[1], outer))
    if outer in terms or not terms.isdisjoint(changes) or _MAY_CHANGE.search(_CALLS_OF_NUMBERS.sub("(", whole)):
        return one
    how, help = f"it computes the same for each `{outer}`", f"Do it once, before the loop over `{outer}`."
    if not ({outer} | changes - {_counter(head)}).isdisjoint(_NAMES.findall(head)):
        if not re.search(rf"=\s*0\s*;\s*\w+\s*<=?\s*{outer}\s*;", head) or has_threads(text):
            return one
        how = f"for each `{outer}` it adds up again what it has added up for the one before"
        help = f"Begin `{found[1]}` before the loop over `{outer}`, and add what is new alone."
    return replace(one, how=_beside(one, how), help=help)


def _beside(one: Remark, how: str) -> str:
    """Say of what was done what is against it; what was not done is no matter then."""
    return f"{one.how}{BUT}{how}" if one.what == "vectorised" else how


def _counter(head: str) -> str:
    """Name what a loop counts with."""
    return next(iter(_NAMES.findall(head.rpartition(";")[2])), "")


def _loop_around(text: str, line: int) -> tuple[str, str]:
    """Return what stands in the brackets of the innermost loop around a line, and what it does in each iteration; without comments."""
    return next(iter(_nest(text, line)), ("", ""))


@lru_cache(maxsize=64)  # of one text it is asked for each remark
def _nest(text: str, line: int) -> tuple[tuple[str, str], ...]:
    """Return this of each loop around a line, the innermost first."""
    masked, found = mask(text), list[tuple[str, str]]()
    last = 0
    for loop in reversed(find_loops(text)):
        if _line(text, loop.start) <= line <= _line(text, loop.end) and loop.end >= last:
            last = loop.end
            found.append((masked[slice(*loop.head)], masked[loop.head[1] : loop.end]))
    return tuple(found)


@lru_cache(maxsize=8)
def extents(text: str) -> dict[int, int]:
    """Return the first and the last line of each loop of a text; of one nest in a macro also those of the macro, where g++ sees it.

    Example:
        >>> extents("for (;;)\\n  for (;;) {\\n    f();\\n  }\\nwhile (a) f();")
        {1: 4, 2: 4, 5: 5}
        >>> extents('AT_DISPATCH_ALL_TYPES(t, "f", [&] {\\n  while (a)\\n    while (b) f();\\n});')
        {1: 4, 2: 3, 3: 3}
    """
    found = {first: last for (first, last), loops in dispatched(text).items() if len(loops) == 1}
    for loop in find_loops(text):
        line = _line(text, loop.start)
        found[line] = max(found.get(line, 0), _line(text, loop.end))
    return found


@lru_cache(maxsize=8)
def dispatched(text: str) -> dict[tuple[int, int], list[Loop]]:
    """Return the innermost loops in each dispatch, by its first and its last line: of all of them a compiler knows the first alone."""
    loops = find_loops(text)
    inmost = [one for one in loops if not any(one.start < other.start < one.end for other in loops)]
    return {
        (_line(text, call.start), _line(text, call.end)): [one for one in inmost if call.opening < one.start < call.end]
        for call in all_calls(text)
        if _DISPATCH.match(call.name)
    }


def loop_that_calls(text: str, line: int, name: str) -> int:
    """Return the line of the one loop in the dispatch at a line that calls a function, in either precision; 0 for none or several.

    Example:
        >>> text = 'AT_DISPATCH_ALL_TYPES(t, "f", [&] {\\n  while (a) exp(b);\\n  while (a) log(b);\\n});'
        >>> loop_that_calls(text, 1, "logf"), loop_that_calls(text, 1, "sin")
        (3, 0)
    """
    names = {name, name.removesuffix("f")}
    starts = [one.start for one in all_calls(text) if one.name.rpartition("::")[2] in names]
    within = [one for (first, _), loops in dispatched(text).items() if first == line for one in loops]
    found = [one.start for one in within if any(one.start < start < one.end for start in starts)]
    return _line(text, found[0]) if len(found) == 1 else 0


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def has_threads(text: str) -> bool:
    """Tell whether a text hands work to threads.

    Example:
        >>> has_threads("at::parallel_for(0, n, 1, f);"), has_threads("f();  // no parallel_for")
        (True, False)
    """
    return _THREADS.search(mask(text)) is not None
