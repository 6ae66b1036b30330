"""What stands in the body of a function: calls, launches of kernels, loops, what it returns, and lists between commas."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .masks import code_of, macros, mask, without
from .tree import below, parse, tree

if TYPE_CHECKING:
    from tree_sitter import Node

#: What a list may be of, with what stands around it there; the first as which it has no error counts.
_AS = (("f(", ");", "argument_list"), ("f<", "> x;", "template_argument_list"), ("void f(", ");", "parameter_list"))
#: Statements are parsed within a function.
_AHEAD = "void f() {"
#: How a list is written.
_LISTS = ("initializer_list", "compound_literal_expression")
_TUPLES = ("make_tuple", "tie", "tuple")
_NAMES = ("identifier", "field_identifier")
_COMPUTED = ("call_expression", "update_expression", "assignment_expression")
#: What stands before the brackets of a cast; of `(int64_t)i` nothing does.
_CASTS = (
    b"",
    b"static_cast",
    b"int64_t",
    b"uint64_t",
    b"int32_t",
    b"uint32_t",
    b"int",
    b"unsigned",
    b"long",
    b"size_t",
)


@dataclass(frozen=True)
class Call:
    """One call: `f<float>(a, b)` is `("f", False, ("a", "b"))`, `m.def("f", &f)` is `("def", True, ('"f"', "&f"))`.

    `start` is where it begins, `dot` where the `.` or `->` of a member stands and else the same, `opening` where its brackets begin.
    `is_statement` where it is one, as `f(x);` is: nobody takes what it gives.
    """

    name: str
    is_member: bool
    arguments: tuple[str, ...]
    start: int
    dot: int
    opening: int
    end: int
    is_statement: bool = False


@dataclass(frozen=True)
class Launch:
    """One `kernel<<<configuration>>>(arguments)`: where that begins, and where configuration and arguments begin and end."""

    start: int
    configuration: tuple[int, int]
    arguments: tuple[int, int]


def find_launches(text: str) -> tuple[Launch, ...]:
    """List the launches of kernels in a text, in all branches of its conditions and in its macros.

    >>> find_launches("void f() { k<int><<<1, 32>>>(x); }")
    (Launch(start=11, configuration=(20, 25), arguments=(29, 30)),)
    """
    found = []
    for place, root in _roots(text):
        for node in below(root, "kernel_call_syntax"):
            given, name = node.next_sibling, node.prev_sibling
            while name is not None and name.type == "ERROR":  # a ';' is missing before it
                name = name.children[-1] if name.children else None
            if name is None or given is None or node.parent is None or name.end_byte == name.start_byte:
                continue  # half of one
            if given.type not in ("argument_list", "("):
                continue
            called = text[place + name.start_byte : place + name.end_byte]
            inner = called.rfind("<") + 1 if called.count("<") > called.count(">") else 0  # a '>' is missing
            # Where their ')' is missing, arguments go on to the end of what is wrong.
            last = given.children[-1].start_byte if given.children else node.parent.end_byte
            within = place + node.children[0].end_byte, place + node.children[-1].start_byte
            arguments = place + given.start_byte + 1, place + last
            found.append(Launch(place + name.start_byte + inner, within, arguments))
    return tuple(found)


@dataclass(frozen=True)
class Loop:
    """One loop: where it begins and ends, and where its brackets do, which a `do` does not begin with."""

    start: int
    end: int
    head: tuple[int, int]


@lru_cache(maxsize=64)
def find_loops(text: str) -> tuple[Loop, ...]:
    """List the loops of a text as they begin.

    >>> find_loops("for (;;) { do f(); while (x); }")
    (Loop(start=0, end=31, head=(4, 8)), Loop(start=11, end=29, head=(11, 11)))
    """
    found = []
    for node in below(tree(text), "for_statement", "for_range_loop", "while_statement", "do_statement"):
        head = node.start_byte, node.start_byte
        if node.type != "do_statement":
            brackets = node.child_by_field_name("condition") if node.type == "while_statement" else node
            ends = [one for one in brackets.children if one.type in "()"] if brackets else []
            head = (ends[0].start_byte, ends[-1].end_byte) if ends else head
        found.append(Loop(node.start_byte, node.end_byte, head))
    return tuple(found)


@dataclass(frozen=True)
class Subscript:
    """One `name[index]`, or `name + index` of a pointer that a function takes.

    Attributes:
        name: of the array or pointer.
        base: what has the index, `x`, `job.x`, or `x[i]` in `x[i][j]`; empty where it is declared as an array, or has to be computed.
        is_address: the address alone is taken, which may be that of the element past the last one.
        index: where the index stands.
        source: what it was computed by: itself without casts, or the first value of the variable that it is, if that never changes.
        first: the first variable of the index, and of its source.
    """

    name: str
    base: str
    is_address: bool
    index: tuple[int, int]
    source: str
    first: tuple[str, str]


@lru_cache(maxsize=16)
def find_subscripts(text: str) -> tuple[Subscript, ...]:
    """List the subscripts in the functions of a text.

    >>> [(one.name, one.source) for one in find_subscripts("void f(int* x, int n) { const long i = n * 2; x[i] = x[(long)n]; }")]
    [('x', 'n * 2'), ('x', 'n')]
    """
    root, code, found = tree(text), code_of(text, all_branches=True), list[Subscript]()
    named = (next(below(one, *_NAMES), None) for one in below(root, "array_declarator"))
    arrays = {code[one.start_byte : one.end_byte] for one in named if one}
    for function in below(root, "function_definition", but=("function_definition",)):
        taken = (
            next(below(one, "identifier"), None)
            for one in below(function, "pointer_declarator", but=("compound_statement",))
        )
        pointers = {code[one.start_byte : one.end_byte] for one in taken if one}
        fixed = _fixed(function, code)
        for node in below(function, "subscript_expression", "binary_expression"):
            base, last = node.children[0], node.children[-1]
            is_sum = node.type == "binary_expression"
            inner = last if is_sum else last.named_children[0] if last.named_child_count == 1 else None
            name = _name_of(base, code)
            is_pointer = base.type == "identifier" and name in pointers
            if inner is None or not name or (is_sum and (node.children[1].type != "+" or not is_pointer)):
                continue
            source = _uncast(inner)
            value, end = fixed.get(code[source.start_byte : source.end_byte], (source, len(code)))
            if value.end_byte < inner.start_byte < end:
                source = _uncast(value)
            words = " ".join(code[source.start_byte : source.end_byte].split())
            is_array = (name in arrays and name not in pointers) or next(below(base, *_COMPUTED), None)
            around = node.parent
            is_address = around is not None and around.type == "pointer_expression" and around.children[0].type == "&"
            own = "" if is_array else code[base.start_byte : base.end_byte]
            place, first = (inner.start_byte, inner.end_byte), (_first(inner, code), _first(source, code))
            found.append(Subscript(name, own, is_address, place, words, first))
    return tuple(found)


def _name_of(base: Node, code: str) -> str:
    """Name the array of which `a[i]` or `s.a[i]` is an element; empty for what has no name, as the result of a call."""
    while base.type == "subscript_expression":
        base = base.children[0]
    named = base.child_by_field_name("field") if base.type == "field_expression" else base
    return code[named.start_byte : named.end_byte] if named is not None and named.type in _NAMES else ""


def _uncast(node: Node) -> Node:
    """Take brackets and casts off an expression: of `(long)(i * n)` it is `i * n`."""
    while node.type in ("parenthesized_expression", "cast_expression", "call_expression"):
        given = node.child_by_field_name("arguments") or node
        called = b"" if given is node else (node.children[0].text or b"").partition(b"<")[0]
        if called not in _CASTS or not given.named_children:
            break
        node = given.named_children[-1]
    return node


def _first(node: Node, code: str) -> str:
    """Name the first variable of an expression, `blockIdx.x` for instance; empty where there is none."""
    kinds = ("field_expression", "identifier")
    return next((code[one.start_byte : one.end_byte] for one in below(node, *kinds, but=kinds)), "")


def _fixed(function: Node, code: str) -> dict[str, tuple[Node, int]]:
    """Return the first values of the variables of a function that are declared once and never change, and where each goes away."""
    values: dict[str, tuple[Node, int]] = {}
    changed = set[str]()
    for node in below(function, "init_declarator", "assignment_expression", "update_expression", "pointer_expression"):
        target = next(filter(None, map(node.child_by_field_name, ("declarator", "left", "argument"))), None)
        if target is None or target.type != "identifier" or node.children[0].type == "*":
            continue
        name, value = code[target.start_byte : target.end_byte], node.child_by_field_name("value")
        scope = node.parent.parent if node.parent is not None else None
        if value is None or name in values or scope is None or scope.type != "compound_statement":
            changed.add(name)
        else:
            values[name] = value, scope.end_byte
    return {name: value for name, value in values.items() if name not in changed}


@lru_cache(maxsize=256)
def find_calls(body: str) -> tuple[Call, ...]:
    """List the calls in a body, those of lambdas among them, in the order of their brackets; launches of kernels are none.

    >>> [(call.name, call.arguments) for call in find_calls("return a::f<int>(x, g(y));")]
    [('f', ('x', 'g(y)')), ('g', ('y',))]
    """
    return _calls(body, _body(body), -len(_AHEAD))


@lru_cache(maxsize=16)
def all_calls(text: str) -> tuple[Call, ...]:
    """List the calls in a whole text, in all branches of its conditions and in its macros."""
    return tuple(call for place, root in _roots(text) for call in _calls(text, root, place))


def macro_call_at(text: str, line: int) -> tuple[int, int] | None:
    """Find the call of a macro that begins in a line and continues in others: where it begins, and behind its last bracket.

    >>> macro_call_at("f();\\nDISPATCH(x, [&] {\\n  g();\\n});", 2)
    (5, 32)
    """
    calls = (one for one in all_calls(text) if one.name.isupper() and len(one.name) > 3)
    spans = ((one.start, one.end) for one in calls if text.count("\n", 0, one.start) + 1 == line)
    return next((span for span in spans if "\n" in text[slice(*span)]), None)


def macro_lines_at(text: str, line: int) -> range:
    """Return the lines of the call of a macro that begins in a line and continues in others; none where there is no such call.

    >>> macro_lines_at("f();\\nDISPATCH(x, [&] {\\n  g();\\n});", 2)
    range(2, 5)
    """
    call = macro_call_at(text, line)
    return range(line, line + text.count("\n", *call) + 1) if call else range(0)


def _calls(text: str, root: Node, place: int) -> tuple[Call, ...]:
    found = dict[int, Call]()
    for node in below(root, "call_expression"):
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None or given is None or called.next_sibling != given:
            continue
        name = re.search(r"(\w+)\s*(?:<.*>)?\Z", text[place + called.start_byte : place + called.end_byte], re.DOTALL)
        begins, opening, end = place + node.start_byte, place + given.start_byte, place + given.end_byte
        arguments = parts_of(text, given, place)
        is_member = called.type == "field_expression"
        dot = place + called.children[0].end_byte if is_member else begins
        alone = node.parent is not None and node.parent.type == "expression_statement"
        is_statement = alone and text[end:].lstrip().startswith(";")
        found[opening] = Call(name[1] if name else "", is_member, arguments, begins, dot, opening, end, is_statement)
    return tuple(found[opening] for opening in sorted(found))


def _roots(text: str) -> list[tuple[int, Node]]:
    """Parse a text and what its macros stand for, each with its place."""
    return [(0, tree(text)), *((place, parse(body)) for place, body in macros(text))]


@dataclass(frozen=True)
class Returned:
    """What a `return` gives: `{a, b}` has the parts `("a", "b")`, as `std::make_tuple(a, b)` has; of other expressions these are None.

    `call` is the call that it is, where it is one alone.
    """

    text: str
    parts: tuple[str, ...] | None
    call: Call | None


@lru_cache(maxsize=256)
def find_returns(body: str) -> tuple[Returned, ...]:
    """List what stands behind each `return` of a body, but for those of lambdas.

    >>> [(one.text, one.parts) for one in find_returns("if (x) return {a, b}; auto f = [] { return 1; }; return f(x);")]
    [('{a, b}', ('a', 'b')), ('f(x)', None)]
    """
    plain = without(mask(body), _spans(body, "lambda_expression"))
    return tuple(_returned(body[one.start(1) : one.end(1)].strip()) for one in re.finditer(r"\breturn\b([^;]*)", plain))


def _returned(text: str) -> Returned:
    ahead = f"{_AHEAD}return "
    root, whole = parse(f"{ahead}{text};}}"), (len(ahead), len(ahead) + len(text))
    call = next((one for one in _calls(text, root, -len(ahead)) if (one.start, one.end) == (0, len(text))), None)
    parts = call.arguments if call and not call.is_member and call.name in _TUPLES else None
    if listed := next((one for one in below(root, *_LISTS) if (one.start_byte, one.end_byte) == whole), None):
        parts = parts_of(text, listed.child_by_field_name("value") or listed, -len(ahead))
    return Returned(text, parts, call)


def _spans(body: str, *kinds: str) -> list[tuple[int, int]]:
    """List where the outermost nodes of some kinds stand in a body."""
    found = below(_body(body), *kinds, but=kinds)
    return [(one.start_byte - len(_AHEAD), one.end_byte - len(_AHEAD)) for one in found]


def _body(body: str) -> Node:
    return parse(f"{_AHEAD}{body}}}")


@lru_cache(maxsize=512)
def split(text: str) -> tuple[str, ...]:
    """Split a list at its commas.

    >>> split("a < b, f<int, 3>(c)"), split("v[0, 1], p->n"), split("std::tuple<A, B>, const C&")
    (('a < b', ' f<int, 3>(c)'), ('v[0, 1]', ' p->n'), ('std::tuple<A, B>', ' const C&'))
    """
    commas = next((found for way in _AS if (found := _commas(text, *way)) is not None), None)
    if commas is None:  # no list of C++, or a part of one
        commas = _outside_of_brackets(text)
    return _between(text, 0, commas, len(text))


def parts_of(text: str, listed: Node, place: int = 0) -> tuple[str, ...]:
    """Return what stands between the commas of a list in the tree of a text, of which that of the node begins at `place`."""
    start, end = place + listed.start_byte + 1, place + listed.end_byte - 1
    if listed.has_error:
        parts = split(text[start:end])
    else:
        parts = _between(text, start, [place + one.start_byte for one in listed.children if one.type == ","], end)
    return tuple(map(str.strip, parts))


def _between(text: str, start: int, commas: list[int], end: int) -> tuple[str, ...]:
    starts = [start, *(one + 1 for one in commas)]
    parts = (text[start:end] for start, end in zip(starts, [*commas, end], strict=True))
    return tuple(part for part in parts if part.strip())


def _commas(text: str, ahead: str, behind: str, kind: str) -> list[int] | None:
    root = parse(ahead + text + behind)
    found = next(below(root, kind), None)
    if root.has_error or found is None or found.end_byte != len(ahead) + len(text) + 1:
        return None
    return [one.start_byte - len(ahead) for one in found.children if one.type == ","]


def _outside_of_brackets(text: str) -> list[int]:
    commas, depth = [], 0
    for mark in re.finditer(r"[()\[\]{},]", text):
        depth += (mark[0] in "([{") - (mark[0] in ")]}")
        if mark[0] == "," and depth == 0:
            commas.append(mark.start())
    return commas
