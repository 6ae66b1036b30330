"""The functions that a C++ text defines outside of other functions and classes, and the variables that it declares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .masks import blank, code_of, mask, without
from .tree import below, parse, tree

if TYPE_CHECKING:
    from tree_sitter import Node

_CUT = re.compile(r"[;{}]")
#: What opens a scope in which functions are as good as at file scope.
_SCOPE = re.compile(r"\bnamespace\b(?:\s*\[\[[^\]]*\]\])?([\w:\s]*)\Z|\A\s*extern\s*\Z")
#: A head that the grammar does not take: its type is as it stands, and a mistake in it hides no function.
_BROKEN = re.compile(r"(.*).{5}\b([A-Za-z_]\w*\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)\Z", re.DOTALL)
#: What may stand before a return type and is no part of it.
_AHEAD = ("storage_class_specifier", "attribute_declaration", "attribute_specifier")
#: What may hold declarators of others.
_INNER = ("parameter_list", "init_declarator", "compound_statement")
#: What stands before a type and is no part of it.
_WORDS = ("storage_class_specifier", "type_qualifier", "attribute_specifier", "__device__")
_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration")


@dataclass(frozen=True)
class Parameter:
    """One parameter: of `const float* x = nullptr` it is `("const float*", "x", "nullptr")`; what it does not have is empty.

    `text` is all of it but the default, as it is written.
    """

    type: str
    name: str
    default: str
    text: str


@dataclass(frozen=True)
class Function:
    """One definition of a function.

    Attributes:
        name: without namespaces, and without the arguments of a specialisation.
        returns: its type, without words such as static.
        parameters: in order.
        template: what stands before it, `template <class T>`; empty for none.
        specialises: whether it is a specialisation, `template <> float f<float>(float x)`.
        spaces: the namespaces that it stands in, the outermost first; the name of one may be empty.
        start: where it begins in the text.
        offset: where its name stands.
        body: where what stands between its braces begins and ends.
    """

    name: str
    returns: str
    parameters: tuple[Parameter, ...]
    template: str
    specialises: bool
    spaces: tuple[str, ...]
    start: int
    offset: int
    body: tuple[int, int]

    @property
    def types(self) -> tuple[str, ...]:
        """The types of its parameters."""
        return tuple(one.type for one in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(one.name for one in self.parameters)


@lru_cache(maxsize=64)
def find_functions(text: str) -> tuple[Function, ...]:
    """List the functions that a text defines, in namespaces, too, but not those of classes.

    >>> [(one.name, one.spaces) for one in find_functions("int f() { return g(1); } void g(int x); namespace a { void h() {} }")]
    [('f', ()), ('h', ('a',))]
    """
    code = code_of(text)
    found = (_function(code, *place) for place in _definitions(mask(code)))
    return tuple(one for one in found if one)


def at_file_scope(text: str) -> tuple[Function, ...]:
    """List those of them that stand in no namespace; a specialisation of a template is no function of its own."""
    return tuple(one for one in find_functions(text) if not one.spaces and not one.specialises)


def find_function(text: str, name: str) -> Function | None:
    """Find the definition of `name` at file scope, or None."""
    return next((one for one in at_file_scope(text) if one.name == name), None)


@lru_cache(maxsize=16)
def all_functions(text: str) -> tuple[Function, ...]:
    """List the functions that a text defines or declares anywhere, methods among them; what they return is not looked at.

    The body of what is only declared is empty: it begins at 0.

    >>> [(one.name, one.names, one.body) for one in all_functions("struct S { int f(int n) { return n; } }; int g();")]
    [('f', ('n',), (25, 36)), ('g', (), (0, 0))]
    """
    code, found = code_of(text, all_branches=True), []
    for node in below(tree(text), "function_definition", "declaration"):
        if named := _named(node):
            start, body = named[1].start_byte, node.child_by_field_name("body")
            inside = (body.start_byte + 1, body.end_byte - 1) if body else (0, 0)
            name, parameters = code[start : named[1].end_byte], _parameters(named[0], code)
            found.append(Function(name, "", parameters, "", False, (), node.start_byte, start, inside))
    return tuple(found)


def laid_open(text: str, space: str) -> str:
    """Return the code of a text with the inside of a namespace at file scope, where it was; of an empty name the nameless.

    >>> laid_open("namespace a::b { int f(); }", "a::b")
    '                 int f();  '
    """
    names, code, spans = space.split("::"), code_of(text), list[tuple[int, int]]()
    for node in below(parse(code), "namespace_definition"):
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        own = "" if name is None else code[name.start_byte : name.end_byte].rpartition("::")[2].strip()
        if body is not None and own in names:
            spans += [(node.start_byte, body.start_byte + 1), (body.end_byte - 1, body.end_byte)]
    return without(code, sorted(spans))


def _definitions(masked: str) -> Iterator[tuple[int, int, int, tuple[str, ...]]]:
    """Cut a text where its functions are, so that a mistake in one of them hides no other one.

    Yields for each where it begins, its first brace and what is behind its last, and the namespaces around it.
    """
    ends, inside = _braces(masked), list[list[str]]()
    begins = position = 0
    while match := _CUT.search(masked, position):
        position = match.end()
        head = masked[begins : match.start()]
        if match[0] == "}":
            del inside[-1:]
        elif match[0] == "{":
            end, scope = ends.get(match.start(), len(masked) + 1), _SCOPE.search(head)
            if scope:
                inside.append([] if scope[1] is None else re.findall(r"\w+", scope[1]) or [""])
            elif head.count("(") == head.count(")"):
                if ")" in head:
                    yield begins, match.start(), end, tuple(name for names in inside for name in names)
                position = end
            elif masked[end:].lstrip()[:1] in (",", ")"):
                position = end
                continue  # it is a default
            else:
                inside.append([])
        begins = position


def _braces(masked: str) -> dict[int, int]:
    """Pair the braces of a text in one go, as `closing` would one by one: place of the opening one to what is behind its other."""
    pairs, opened = dict[int, int](), list[int]()
    for brace in re.finditer(r"[{}]", masked):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            pairs[opened.pop()] = brace.end()
    return pairs


def _function(code: str, start: int, opening: int, end: int, spaces: tuple[str, ...]) -> Function | None:
    """Read the function that stands at a place of a text; None where it is none, as a condition behind a stray brace."""
    head = re.sub(r"\btry\s*\Z", "", code[start:opening])
    definition, broken = _definition(head), None
    if definition is None and (broken := _BROKEN.match(head)):
        definition = _definition(f"{blank(broken[1])}void {broken[2]}")
    named = _named(definition)
    if definition is None or named is None:
        return None
    declarator, name = named
    template = re.match(r"\s*(template\b.*)", head[: definition.start_byte], re.DOTALL)
    trailing = next(below(declarator, "trailing_return_type", but=_INNER), None)
    if broken:
        returns = head[: name.start_byte]
    elif trailing:
        returns = head[trailing.start_byte + 2 : trailing.end_byte]
    else:
        whole = definition.child_by_field_name("declarator") or declarator
        ahead = ((one.start_byte, one.end_byte) for one in definition.children if one.type in _AHEAD)
        outside = [*ahead, (name.start_byte, declarator.end_byte)]
        returns = _without(head, definition.start_byte, whole.end_byte, outside)
    return Function(
        head[name.start_byte : name.end_byte],
        squeezed(returns),
        _parameters(declarator, head),
        squeezed(template[1]) if template else "",
        name.parent is not None and name.parent.type == "template_function",
        spaces,
        start + definition.start_byte,
        start + name.start_byte,
        (opening + 1, end - 1),
    )


def _definition(head: str) -> Node | None:
    return next(below(parse(head + "{}"), "function_definition"), None)


def _named(definition: Node | None) -> tuple[Node, Node] | None:
    """Find what declares the parameters of a function, and its name; none where that is qualified, or an operator."""
    for declarator in below(definition, "function_declarator", but=_INNER):
        name = declarator.child_by_field_name("declarator")
        if name is not None and name.type == "template_function":
            name = name.child_by_field_name("name")
        if name is not None and name.type in ("identifier", "field_identifier") and name.text != b"catch":
            return declarator, name
    return None


def _parameters(declarator: Node, head: str) -> tuple[Parameter, ...]:
    given = declarator.child_by_field_name("parameters")
    return tuple(_parameter(one, head) for one in given.named_children if one.type in _PARAMETERS) if given else ()


def _parameter(node: Node, head: str) -> Parameter:
    default, declarator = node.child_by_field_name("default_value"), node.child_by_field_name("declarator")
    end = next((one.start_byte for one in node.children if one.type == "="), node.end_byte)
    name = next(below(declarator, "identifier", but=_INNER), None) if declarator else None
    return Parameter(
        squeezed(_without(head, node.start_byte, end, [(name.start_byte, name.end_byte)] if name else [])),
        head[name.start_byte : name.end_byte] if name else "",
        squeezed(head[default.start_byte : default.end_byte]) if default else "",
        squeezed(head[node.start_byte : end]),
    )


def _without(text: str, start: int, end: int, outside: Iterable[tuple[int, int]]) -> str:
    """Return a part of a text without some of it."""
    parts = []
    for begins, ends in outside:
        parts.append(text[start:begins])
        start = ends
    return " ".join([*parts, text[start:end]])


@dataclass(frozen=True)
class Declaration:
    """One declaration of variables: of `static __shared__ float a[3], b;` it is `("static __shared__", "float", ("a", "b"))`.

    Attributes:
        words: what stands before the type.
        type: of the first of them.
        names: of the variables.
        has_value: one of them has an initial value.
        is_open: it is an array without a size, `float memory[]`.
        start, end: where it begins, and where its `;` stands.
    """

    words: str
    type: str
    names: tuple[str, ...]
    has_value: bool
    is_open: bool
    start: int
    end: int


@lru_cache(maxsize=16)
def find_declarations(text: str) -> tuple[Declaration, ...]:
    """List the declarations of variables in a text, but not those of functions and members of classes.

    >>> [(one.type, one.names) for one in find_declarations("int n, f(int); void g() { const float* x = 0; }")]
    [('const float*', ('x',))]
    """
    code, found = code_of(text, all_branches=True), []
    for node in below(tree(text), "declaration"):
        declarators, type_ = node.children_by_field_name("declarator"), node.child_by_field_name("type")
        names = [next(below(one, "identifier"), None) for one in declarators]
        if type_ is None or not names or node.children[-1].type != ";":
            continue
        if any(next(below(one, "function_declarator", but=("init_declarator",)), None) for one in declarators):
            continue
        words = [code[one.start_byte : one.end_byte] for one in node.children if one.type in _WORDS]
        begins = names[0].start_byte if names[0] else type_.end_byte
        first = declarators[0]
        found.append(
            Declaration(
                " ".join(one for one in words if one != "const"),
                squeezed("const " * ("const" in words) + code[type_.start_byte : begins]),
                tuple(code[one.start_byte : one.end_byte] for one in names if one),
                any(one.type == "init_declarator" for one in declarators),
                len(names) == 1 and first.type == "array_declarator" and first.child_by_field_name("size") is None,
                node.start_byte,
                node.end_byte - 1,
            )
        )
    return tuple(found)


def squeezed(text: str) -> str:
    """Put one blank in the place of several, and of line ends.

    >>> squeezed(" const at::Tensor\\n&  x ")
    'const at::Tensor & x'
    """
    return " ".join(text.split())
