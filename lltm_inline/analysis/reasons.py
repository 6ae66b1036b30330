"""Why a loop is slow and what helps, by what is known of it: what a compiler says, its machine code, and what its text says of calls,
of places and of what one iteration hands to the next.

Nothing is advised that is not known to help: where the text does not tell, a reason stands without help. It reads the text of
innermost loops by regular expressions; which loops, calls and functions there are is the tree's to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain

from ..cpp.bodies import Loop as LoopOfText
from ..cpp.bodies import all_calls, find_loops
from ..cpp.functions import Function, all_functions
from ..cpp.masks import mask
from .loops import Loop
from .why import PAYS, Remark, Why

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
#: What it is that a loop calls, and what helps where it is not what the reason itself says; the first of which there is a call decides.
_CALLED: tuple[tuple[str, Why, str | None], ...] = (
    (STARTS, Why.THREADS, None),
    (r"pthread_mutex_|pthread_spin_|GOMP_(?:critical|atomic)|std::(?:lock_guard|unique_lock|scoped_lock|mutex)", Why.LOCKS, None),
    (r"at::(?:_ops::)?cat\b", Why.JOINS, None),
    (rf"at::(?!{_ASKS})",
     Why.CALLS,
     "A call of ATen's takes a microsecond or so: read numbers through an accessor or `data_ptr`, or call it once for all iterations."),
    (r"std::(?:__cxx11::)?(?:basic_)?(?:ios|[io]?(?:string)?stream|string)|std::locale|strto", Why.TEXT, None),
    (r"std::(?:__detail::)?(?:(?:unordered_)?(?:multi)?(?:map|set)|_Map_base|_Hashtable|_Rb_tree)", Why.LOOKS_UP, None),
    (rf"at::{_ASKS}", Why.ASKS, None),
    (rf"std::vector::(?:{GROWS}|(?:push|emplace)_back)", Why.GROWS, None),
    (_MEMORY, Why.MEMORY, None),
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
#: A place in memory by its indices, none of which is read from memory itself.
_PLACE_OF = re.compile(r"\b[A-Za-z_]\w*((?:\s*\[[^\[\]]*\])+)")
#: What counts with a variable that it sets.
_COUNTS = re.compile(r"\(\s*[^;]*=[^;]*;")
#: An index that is computed ahead.
_INDEX = re.compile(r"[\s;{](?:u?int\w*|size_t|auto|long)\s+(\w+)\s*=\s*([^;]+);")
#: What has a place for each key.
_KEYED = re.compile(r"\bstd::(?:unordered_)?(?:multi)?(?:map|set)\s*<[^;(){}]*>\s*&?\s*(\w+)")
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


@dataclass(frozen=True)
class Evidence:
    """What is known of one loop.

    Attributes:
        said: what a compiler says that it did with it, or why not.
        text: of the kernel.
        loops: of the machine code, which have something of its lines.
        calls: what these call at the line of the remark.
    """

    said: Remark
    text: str
    loops: Sequence[Loop] = ()
    calls: Sequence[str] = ()

    def shows(self, fact: str) -> bool:
        """Tell whether it is vectorised, or calls something, or its machine code shows what a property of `Loop` tells."""
        if fact == "vectorised":
            return self.said.what == fact
        return bool(self.calls) if fact == "calls" else any(getattr(loop, fact) for loop in self.loops)

    @property
    def of_several(self) -> Evidence:
        """The same, of one loop of several, of which nobody knows which."""
        return replace(self, said=replace(self.said, how=f"{self.said.how}, one of the loops in it", why=None))

    @property
    def is_of_vectors(self) -> bool:
        """Whether a compiler has left it as it is because its text is one of vectors, as those of at::vec::Vectorized are."""
        return bool(self.loops) and all(loop.is_wide and not loop.calls for loop in self.loops)

    @cached_property
    def nest(self) -> tuple[tuple[str, str], ...]:
        """What stands in the brackets of each loop around the line, and what it does in each iteration; the innermost first."""
        return _nest(self.text, self.said.line)

    @property
    def head(self) -> str:
        """What stands in the brackets of the innermost; empty without one."""
        return self.nest[0][0] if self.nest else ""

    @property
    def body(self) -> str:
        """What an iteration of it does."""
        return self.nest[0][1] if self.nest else ""

    @cached_property
    def carried(self) -> set[str]:
        """The variables that an iteration changes and does not make."""
        names = {name for found in _CHANGES.findall(self.body) for name in found if name}
        return {name for name in names if not re.search(rf"[\w>][&*\s]\s*\b{name}\s*(?:=|;|\{{)", _declared(self.body))}

    @cached_property
    def reduction(self) -> str:
        """The clauses of OpenMP that let it go in another order: for what it adds up or compares, and nothing in it reads; else empty."""
        clauses = {}
        for found in _GOES_ON.finditer(self.body):
            name = found[1] or found[3] or found[6] or found[7]
            if name in self.carried and len(re.findall(rf"\b{name}\b", self.body)) == (2 if found[7] else 1):
                sign = found[8] or (found[2] or "+").replace("-", "+")
                clauses[name] = f"reduction({sign}:{name})"
        is_free = clauses.keys() == self.carried and not _EARLY.search(self.body)
        return " ".join(clauses.values()) if is_free else ""

    @cached_property
    def why(self) -> Why | None:
        """The compiler's reason, but for a sum whose indices begin anew in each iteration of the loop around it.

        Of that g++ says that it does not see its places, and makes vectors of it in another order.
        """
        is_sum = self.reduction and "(m" not in self.reduction and _COUNTS.match(self.head) and not _in_a_local(self)
        return Why.SUM if is_sum and self.said.why is Why.UNCLEAR_PLACES else self.said.why

    def same_calls(self, functions: Sequence[str], changed: set[str]) -> list[str]:
        """List the calls of some functions of numbers that are given nothing of what changes, but locals and elements alone.

        What another call returns, or a member, is not known to stay.
        """
        names = {name.removesuffix("f") for name in functions if name == "sqrt" or _OF_NUMBERS.fullmatch(name)}
        calls = (rf"(?:std::|\b){name}f?\s*\(((?:[^();]|\([^();]*\))*)\)" for name in names)
        found = chain.from_iterable(re.finditer(each, self.body) for each in calls)
        return [one[0] for one in found if not _NOT_LOCAL.search(one[1]) and changed.isdisjoint(_NAMES.findall(one[1]))]

    @cached_property
    def nearer(self) -> str:
        """Name the loop that belongs inside, of one whose iterations go far: one that leads to neighbours, and nowhere far.

        A transpose goes far either way. What the text does not show has no cure.
        """
        inner = _counter(self.head)
        for head, whole in self.nest[1:]:
            outer = _counter(head)
            if not outer or "++" not in head or _EARLY.search(self.body):
                continue  # it steps over neighbours, or ends where it has found something
            places = list(_places(self.body, whole))
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
                    return _IN_TILES.format(outer, inner, outer if outer in written else inner)
            elif outer in turned:
                return _ANOTHER_INSIDE.format(outer, _ONE_FOR_EACH.format(outer) if self.carried else "")
        return ""


def because_of_calls(known: Evidence) -> Remark | None:
    """Name the functions that a loop calls: g++ speaks of its control flow, or of memory that is clobbered.

    None where nothing is known of them.
    """
    one, text, calls = known.said, known.text, known.calls
    own = [name for name in calls if not RARE.match(name)]
    if not own and any(asked in part for asked in _ASKED for part in (known.head, known.body)):
        own = ["at::TensorBase::size"]
    calls, grown = own or calls, _GROWN.search(known.body)
    if grown and all(re.match(_MEMORY, name) for name in own):
        calls = [f"std::vector::{grown[2]}"]
        if re.search(rf"\b{grown[1]}\s*\.\s*reserve\(", text):
            return because_of_branches(replace(known, said=one.because(Why.HAS_ROOM, more=f" ({calls[0]})")))
    for pattern, which, help in _CALLED:
        if found := [name for name in calls if re.match(pattern, name)]:
            return one.because(which, help=help, more=f" ({', '.join(found)})")
    names = f" ({', '.join(calls)})"
    if not own:  # to copy a row is as fast as it can be
        return one.because(Why.CALLS, help=_BY_ADDRESS * all("address" in name for name in calls), more=names)
    if same := known.same_calls(calls, _changed(known.head + known.body)):
        return one.because(Why.SAME_CALL, same[0], more=names)
    made = known.same_calls(calls, known.carried | {name for name, _, sign in _ELEMENT.findall(known.body) if sign})
    if twice := [each for each in made if made.count(each) > 1]:
        return one.because(Why.CALLS_TWICE, twice[0], more=names)
    are_of_numbers, has_pow = all(map(_OF_NUMBERS.fullmatch, calls)), not {"pow", "powf"}.isdisjoint(calls)
    help = _FOR_POW * has_pow + (_WITH_VECTORS if are_of_numbers else Why.CALLS.help)
    return one.because(Why.CALLS, help=help, more=names) if are_of_numbers or has_pow else None


def taken_memory(line: int, name: str, text: str) -> Remark | None:
    """Say that a line of a loop takes memory whenever it is run, and for which copy, where a function takes one by value, or a loop.

    What is made before the loop, or has room, takes none as a rule.
    """
    masked = mask(text)
    at, nest = masked.split("\n")[line - 1], _nest(text, line)
    if not nest or any(re.search(rf"\b{one}\s*[\[.]", at) for one in _KEYED.findall(text)):
        return None  # for a key that is new, and that is to be kept
    if kept := _KEPT.search(at):
        vector = kept[1] or kept[2]
        made = re.search(rf"[\w>][&*\s]\s*{vector}\s*[;({{=]", _declared(nest[-1][1]))
        if not made or re.search(rf"\b{vector}\s*\.\s*reserve\(", text):
            return None
    how, help = f"memory in each iteration, perhaps ({name})", "Take it once, before the loop."
    large = "|".join([_CONTAINER, *re.findall(rf"\busing\s+(\w+)\s*=\s*{_CONTAINER}\s*;", masked)])
    if each := re.search(rf"\bfor\s*\(\s*(?:const\s+)?(auto|{large})\s+(\w+)\s*:", at):
        how, help = f"memory for a copy in each iteration: `{each[2]}`", f"Take `const {each[1]}& {each[2]}`."
    for function in defined(text):
        by_value = [(one.type.removeprefix("const "), one.name) for one in function.parameters if one.name]
        found = [one for one in by_value if re.fullmatch(large, one[0])]
        if found and re.search(rf"\b{function.name}\s*\(", at):
            forms = "`{0} {1}`", "`const {0}& {1}`"
            taken, better = (", ".join(form.format(*one) for one in found) for form in forms)
            how = f"memory for a copy in each iteration: {function.name} takes {taken} by value"
            return Remark(line, "allocates", how, f"Take {better}.")
    return Remark(line, "allocates", how, help)


def defined(text: str) -> list[Function]:
    """List the functions that a text defines, wherever that is."""
    return [one for one in all_functions(text) if one.body[0]]


def done_again(text: str) -> Iterator[Remark]:
    """Yield where a loop calls a function of the text, which has a loop itself, in each iteration with the same."""
    masked = mask(text)
    for function in defined(text):
        body = masked[slice(*function.body)]
        changes = any(sign for _, _, sign in _ELEMENT.findall(body))
        if not LOOP.search(body) or re.search(r"\bstatic\b|\brand\b", body) or changes:
            continue  # it is short, or may give another number each time, or changes something
        for call in (one for one in all_calls(text) if one.name == function.name):
            line, given = _line(masked, call.start), masked[call.opening : call.end]
            head, iteration = next(iter(_nest(text, line)), ("", ""))
            stays = _changed(head + iteration).isdisjoint(_NAMES.findall(given)) and not _NOT_LOCAL.search(given[1:-1])
            if head and stays:
                over = f" over `{_counter(head)}`" * bool(_counter(head))
                how = f"`{call.name}{given}` in each iteration, which is the same in all as far as the text shows"
                yield Remark(line, "repeats", how, f"Compute it once, before the loop{over}.")


def _changed(iteration: str) -> set[str]:
    """Name all that an iteration changes or makes, variables and arrays."""
    written = {name for name, _, sign in _ELEMENT.findall(iteration) if sign} | {*_MADE.findall(iteration)}
    return written | {name for found in _CHANGES.findall(iteration) for name in found if name}


def _same_root(known: Evidence) -> Remark | None:
    same = known.same_calls(("sqrt",), _changed(known.head + known.body))
    return known.said.because(Why.SAME_SQRT, same[0]) if same else None


def another_order(known: Evidence) -> str:
    """Say what lets a reduction be wide.

    There is no fix where an iteration needs the result of the one before it, as in a filter, or in a counter that says where
    to write.
    """
    said = known.reduction
    if help := _in_a_local(known):
        return help
    if "(m" in said:
        return _OF_LARGEST if "+" not in said and "*" not in said else Why.IN_ORDER.help
    ways = _in_another_order(known.head, said)
    return f"Where the order does not matter, {ways} lets it be wide, {PAYS}both." * bool(said)


def _in_another_order(head: str, clauses: str) -> str:
    """Say how a loop is allowed another order: above one that does not count, g++ and clang++ refuse the pragma."""
    pragma = f"`#pragma omp simd {clauses}` above "
    if _COUNTS.match(head):
        return f"{pragma}the loop or flags=('-ffast-math',)"
    return f"flags=('-ffast-math',), or {pragma}a loop over an index,"


def _in_a_local(known: Evidence) -> str:
    """Say that a sum belongs in a local variable, where each iteration adds to one element; and what else it needs to be wide."""
    iterations = {*_NAMES.findall(known.head), *_MADE.findall(known.body)} | known.carried
    for place, sign in _MEMORY_SUM.findall(known.body):
        if iterations.isdisjoint(_NAMES.findall(place)) and ";" in known.head:
            how = _in_another_order(known.head, f"reduction({sign.replace('-', '+')}:s)")
            return f"{_LOCAL}, and, where the order does not matter, with {how}."
    return ""


def because_of_memory(known: Evidence) -> Remark:
    """Leave out that iterations may be said not to share memory, where the text itself says that they do, or may.

    And that an index may wrap, where it has no number that may.
    """
    if help := _in_a_local(known):
        return replace(known.said, help=help)
    elements = [(name, "".join(index.split()), sign) for name, index, sign in _ELEMENT.findall(known.body)]
    for name, index, sign in elements:
        if sign and (
            {"[", "("} & {*index}
            or any(other == name and place != index for other, place, _ in elements)
            # What is added to at a place that each iteration computes, as in a histogram, is shared.
            or (sign != "=" and not {*_MADE.findall(known.body)}.isdisjoint(_NAMES.findall(index)))
        ):
            return replace(known.said, help="")
    may_wrap = known.why is not Why.COMPUTED or _NARROW.search(known.head + known.body)
    return known.said if may_wrap else replace(known.said, help="")


def _shared_place(known: Evidence) -> Remark | None:
    """Say that an iteration adds to a place that it has read, as a histogram does.

    What is no vector either way is slow where the same place comes again at once: its value is to be stored before it is read.
    """
    read = {name for name, index in _INDEX.findall(known.body) if "[" in index}
    for found in _ADDED_TO.finditer(known.body):
        place, index = next(filter(None, found.groups()[::2])), next(filter(None, found.groups()[1::2]))
        if "[" in index or not read.isdisjoint(_NAMES.findall(index)):
            return known.said.because(Why.SHARED_PLACE, place)
    return None


def _bits(known: Evidence) -> Remark | None:
    """Name a std::vector<bool>, of which g++ says that iterations share memory, and they do."""
    packed = re.findall(r"\bvector<bool>&?\s*(\w+)", mask(known.text))
    is_one = any(re.search(rf"\b{name}\s*\[", known.body) for name in packed)
    return known.said.because(Why.BITS) if is_one else None


def _early(known: Evidence) -> Remark | None:
    """Say that a loop may end early where it does, which nothing helps."""
    return known.said.because(Why.EARLY) if _EARLY.search(known.body) or "&&" in known.head else None


def because_of_branches(known: Evidence) -> Remark:
    """Leave out a cure for what the text does not do."""
    one, body = known.said, known.body
    if one.why is Why.UNCLEAR_PLACES:
        return replace(one, help=one.help * bool(_NOT_LOCAL.search(body)))
    if early := _early(known):
        return early
    inner = [range(loop.start, loop.end) for loop in find_loops(body)]  # what another loop has in it is its own matter
    own = [found.start() for found in re.finditer(r"\bif\b", body) if not any(found.start() in each for each in inner)]
    takes_some = own and _GROWN.search(body, own[0])  # which no `?:` does, nor a length that is known before
    return replace(one, help=one.help * (not takes_some and (one.why is not Why.BRANCHES or own != [])))


def _declared(body: str) -> str:
    """Leave out of a text what stands before a name and is no type."""
    return re.sub(r"\b(?:return|else|case|goto)\b", ";", body)


def _far(known: Evidence) -> Remark:
    return known.said.because(Why.FAR, help=known.nearer)


def far_for_long_steps(known: Evidence) -> Remark:
    """Say of a loop of which there are vectors for neighbours alone that it is none of these that works."""
    return replace(known.said, what="not vectorised").because(Why.FAR_STEPS, help=known.nearer)


def _places(body: str, whole: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each place of an iteration by its indices, and what is added in the last one: what leads along a row.

    In `whole`, indices may be computed ahead.
    """
    for name, index in _INDEX.findall(whole):
        body = re.sub(rf"\b{name}\b", index, body)
    for place in _PLACE_OF.findall(body):
        yield place, {each.strip() for each in place.rpartition("[")[2].rstrip("] ").replace("-", "+").split("+")}


def _sum_again(known: Evidence) -> Remark | None:
    """Say that a sum or a product begins again in each iteration of the loop around it, though it is the same."""
    head, (around, whole) = known.head, (*known.nest[1:2], ("", ""))[0]
    found, outer = _SUM_ALONE.fullmatch(known.body), _counter(around)
    if not outer or not found or not re.search(rf"\b{found[1]}\s*=(?!=)[^;]*;", whole):
        return None
    changes, own = {outer} | _changed(whole), {_counter(head)}
    is_same = changes.isdisjoint({*_NAMES.findall(found[2])} - own) and (changes - own).isdisjoint(_NAMES.findall(head))
    may_change = _MAY_CHANGE.search(_CALLS_OF_NUMBERS.sub("(", whole))
    return known.said.because(Why.SAME_SUM, outer) if is_same and not may_change else None


def _sum_beside_vectors(known: Evidence) -> Remark | None:
    """Say that a sum goes in order; what is within an inner loop is no matter of the one around it."""
    ends, first = extents(known.text), known.said.line
    inner = [range(line, last + 1) for line, last in ends.items() if first < line <= ends.get(first, first)]
    if all({*loop.lines} <= {*chain(*inner)} for loop in known.loops if loop.adds_in_order):
        return None
    return known.said.because(Why.IN_ORDER, help=another_order(known) or None)


#: What helps: what the reason itself says, or what is found in the text; nothing where that does not show it.
_Advice = Why | Callable[[Evidence], Remark | None]
_ON, _FLOW = (Why.CARRIED, Why.SUM), (Why.BRANCHES, Why.UNCOUNTED)
#: What a compiler says where iterations add to one place, among others.
_MAY_SHARE = (Why.COMPUTED, Why.UNCLEAR_PLACES, Why.UNCLEAR, Why.MAY_NEED, Why.CARRIED)
#: Why there are no vectors, as far as a compiler says (none: whatever it says); what else is known, and behind `-` what is not so; and
#: what is said of all that. The first that has something to say is heard.
_ADVICE: tuple[tuple[tuple[Why, ...], str, _Advice], ...] = (
    ((), "", _sum_again),
    ((), "vectorised adds_in_order", _sum_beside_vectors),
    ((), "vectorised strides picks -is_wide", _far),
    ((), "vectorised strides -is_wide", far_for_long_steps),
    ((), "vectorised", lambda known: known.said),
    ((), "calls", because_of_calls),
    ((), "calls", lambda known: known.said.because(Why.CALLS, more=f" ({', '.join(known.calls)})")),
    # Where the text shows that another loop leads to neighbours, that comes first: it changes all else.
    ((), "", lambda known: _far(known) if known.nearer else None),
    ((), "", _bits),
    (_MAY_SHARE, "", _shared_place),
    (_ON, "is_atomic", Why.ATOMIC),
    (_ON, "strides", _far),
    (_ON, "divides", Why.DIVISION),
    (_ON, "", lambda known: known.said.because(known.why or Why.CARRIED, help=another_order(known))),
    ((Why.MAY_NEED,), "", because_of_memory),
    # The machine code may show more: a square root branches, too, to a call for negative numbers.
    (_FLOW, "", _early),
    ((Why.FAR,), "-strides", lambda known: known.said.because(Why.UNCLEAR_PLACES, help="")),
    ((), "has_sqrt", _same_root),
    ((), "has_sqrt", Why.SQRT),
    ((), "is_atomic", Why.ATOMIC),
    ((), "rereads", Why.BYTES),
    ((), "divides", Why.DIVISION),
    ((), "strides", _far),
    ((), "writes_one_place", lambda known: known.said.because(Why.ONE_PLACE, help=_in_a_local(known) or None)),
    ((*_FLOW, Why.UNCLEAR_PLACES), "", because_of_branches),
    ((Why.COMPUTED,), "", because_of_memory),
    ((Why.UNCLEAR,), "", lambda known: known.said.because(Why.ATOMIC) if "std::atomic" in known.text else None),
)


def explained(known: Evidence) -> Remark:
    """Say of a loop what all that is known of it says together, and what helps."""
    told = (
        known.said.because(advice) if isinstance(advice, Why) else advice(known)
        for whys, facts, advice in _ADVICE
        if not whys or known.why in whys
        if all(known.shows(fact.lstrip("-")) != fact.startswith("-") for fact in facts.split())
    )
    return next(filter(None, told), known.said) if "vectorised" in known.said.what else known.said


def _counter(head: str) -> str:
    """Name what a loop counts with."""
    return next(iter(_NAMES.findall(head.rpartition(";")[2])), "")


@lru_cache(maxsize=64)  # of one text it is asked for each remark
def _nest(text: str, line: int) -> tuple[tuple[str, str], ...]:
    """Return what stands in the brackets of each loop around a line, and what it does in each iteration, without comments."""
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
def dispatched(text: str) -> dict[tuple[int, int], list[LoopOfText]]:
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
