"""Reads out of C++ text what binds an extension to Python, and what its functions return and hand on by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..cpp.bodies import Returned, find_calls, find_returns
from ..cpp.functions import Function, at_file_scope, find_function, find_functions, squeezed
from ..cpp.masks import blank, code_of, mask

_MODULES = ("PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_IMPL", "TORCH_LIBRARY_FRAGMENT")
#: Keys of the dispatcher under which a function computes nothing of its own.
_OTHER_KEY = re.compile(r"Meta|Autograd\w*|Autocast\w*")
_BOUND = re.compile(r"(?:(?:torch::wrap_pybind_function|TORCH_FN)\s*\(\s*)?&?\s*([\w:]+|[^,()]*)")
#: A line of the preprocessor, with those that it goes on in.
_MACRO = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
#: So many functions are followed, one into the next.
_DEEPEST = 3
#: An argument that is handed on as it is.
_HANDED = re.compile(r"\s*(\w+)(?:\.contiguous\(\s*\))?\s*")
#: Ways to go on from a tensor that leave its shape as it is: what works in place, but for those that are there to change the shape.
_KEEPS = re.compile(
    r"(?!resize|set_|t_|transpose|swap|(?:un)?squeeze)\w+_|index_add|index_put|index_copy|scatter_add|contiguous|clone"
)
_NAME = re.compile(r"(?:std::move\s*\(\s*)?([A-Za-z_]\w*)\s*\)?\Z")


@dataclass(frozen=True)
class Module:
    """The block that binds an extension: where it stands, and which function it gives which name."""

    start: int
    end: int
    functions: dict[str, str] = field(default_factory=dict)


def find_modules(text: str) -> list[Module]:
    """Find the blocks of a text that bind its functions: `PYBIND11_MODULE`, and `TORCH_LIBRARY` with its kin.

    Example:
        >>> find_modules('PYBIND11_MODULE(x, m) { m.def("forward", &f, "doc"); }')[0].functions
        {'forward': 'f'}
        >>> [one.functions for one in find_modules('TORCH_LIBRARY_IMPL(x, CPU, m) { m.impl("f", &f_cpu); }')]
        [{'f': 'f_cpu'}]
    """
    code, found = code_of(text), []
    for module in find_functions(text):
        if module.name not in _MODULES:
            continue
        functions = {}
        for call in find_calls(code[slice(*module.body)]):
            name = re.match(r'"(\w+)', call.arguments[0]) if len(call.arguments) > 1 else None
            if name and call.is_member and call.name in ("def", "impl"):
                what = _BOUND.match(call.arguments[1])
                functions[name[1]] = what[1].strip() if what else ""
        if any(_OTHER_KEY.fullmatch(one.text) for one in module.parameters[1:2]):
            functions = {}
        bound = {name: _meant(code, what, module.spaces) for name, what in functions.items() if what}
        found.append(Module(module.offset, min(module.body[1] + 1, len(text)), bound))
    return found


def without_modules(text: str) -> str:
    """Leave out what binds a text by itself, and keep the number of every line."""
    for module in reversed(find_modules(text)):
        text = text[: module.start] + blank(text[module.start : module.end]) + text[module.end :]
    return text


def _meant(code: str, name: str, spaces: Sequence[str]) -> str:
    """Return the whole name of a function that is named in these namespaces, where it is defined in one of them."""
    if not re.fullmatch(r"\w+(?:::\w+)*", name) or ("::" not in name and find_function(code, name)):
        return name
    for count in range(len(spaces), 0, -1):
        whole = "::".join([*spaces[:count], name])
        *inside, own = whole.split("::")
        if any(one.name == own and one.spaces == tuple(inside) for one in find_functions(code)):
            return whole
    return name


@dataclass(frozen=True)
class Result:
    """What a function returns.

    Attributes:
        names: of each value, in order; nothing where it is no plain name.
        aliases: names under which a function that is called for the result takes this one's parameters.
        begun: of each value the variable or call whose shape it has, as far as the text tells: `w` of `w.index_add_(0, i, g)`.
    """

    names: tuple[str, ...]
    aliases: dict[str, str] = field(default_factory=dict)
    begun: tuple[str, ...] = field(default=(), repr=False, compare=False)


class Unclear(Exception):
    """A function whose result cannot be told from its text; the message is the end of a sentence that starts with its name."""


def result_of(code: str, function: Function, name: str, seen: tuple[str, ...] = ()) -> Result:
    """Follow what a function returns, through the functions that it only hands its parameters to.

    Args:
        code: the text.
        function: that is defined in it.
        name: of the function.
        seen: functions on the way here.

    Raises:
        Unclear: it returns no list of names.

    Example:
        >>> text = "Tensors f(Tensor x) { return {x, y}; }  Tensors g(Tensor a) { return f(a); }"
        >>> result_of(text, find_function(text, "g"), "g")
        Result(names=('x', 'y'), aliases={'x': 'a'})
    """
    results = [_result(code, function, name, one, seen) for one in find_returns(code[slice(*function.body)])]
    if not results:
        raise Unclear("returns nothing")
    if len({len(result.names) for result in results}) > 1:
        raise Unclear(f"returns {' or '.join(str(len(result.names)) for result in results)} tensors")
    return results[-1]


def _result(code: str, function: Function, name: str, one: Returned, seen: tuple[str, ...]) -> Result:
    if one.parts is not None:
        return Result(tuple(map(_name, one.parts)), begun=tuple(map(begun, one.parts)))
    if re.search(r"\bTensor\Z", function.returns):
        return Result((_name(one.text),), begun=(begun(one.text),))
    call = one.call
    called = find_function(code, call.name) if call and call.name not in (*seen, name) else None
    if call is None or called is None:
        raise Unclear(f"returns '{squeezed(one.text)}', which names no tensors: want return {{new_h, new_cell, ...}}")
    inner = result_of(code, called, call.name, (*seen, name))
    # What is handed on as `x.contiguous()` is x still.
    given = [match[0] if (match := re.match(r"[A-Za-z_]\w*", part)) else "" for part in call.arguments]
    aliases = {taken: one for taken, one in zip(called.names, given, strict=False) if taken != one}
    own = {taken: one or taken for taken, one in aliases.items()}
    whole = {taken: aliases.get(one, one) for taken, one in inner.aliases.items()} | aliases
    return Result(inner.names, whole, tuple(_renamed(one, own) for one in inner.begun))


def _name(text: str) -> str:
    match = _NAME.match(text.strip())
    return match[1] if match else ""


def begun(text: str) -> str:
    """Return the variable or call that an expression begins with, where the rest of it leaves the shape as it is.

    Example:
        >>> begun("gw.index_add_(0, i, g)"), begun("at::zeros({n, 3}, o).div_(2);"), begun("gw.sum(0)")
        ('gw', 'at::zeros({n, 3}, o)', '')
    """
    text = text.strip()
    chain = [call for call in find_calls(text) if call.start == 0]
    end = chain[-1].end if chain else len((re.match(r"[\w:]*", text) or [""])[0])
    begins = bool(chain) and (not chain[0].is_member or chain[0].name.startswith("new_"))
    if not re.match(r"\s*(?:[;,)]|\Z)", text[end:]) or not all(_KEEPS.fullmatch(call.name) for call in chain[begins:]):
        return ""
    if begins and chain[0].name == "move":
        return chain[0].arguments[0]
    return text[: chain[0].end if begins else chain[0].dot if chain else end].strip()


def body_of(code: str, function: Function) -> str:
    """Return the masked text between the braces of a function."""
    return mask(code)[slice(*function.body)]


def whole_body(code: str, function: Function, seen: tuple[int, ...] = ()) -> str:
    """Return the text between the braces of a function, and of those that it hands its arguments to, under its own names of these.

    Example:
        >>> text = "T f(T a, T b) { return g<float>(b, a.size(1)); } T g(T x, int n) { return x.numel() / n; }"
        >>> whole_body(text, find_function(text, "f")).split("\\n")[1].strip()
        'return b.numel() / given_n;'
    """
    body = body_of(code, function)
    parts, calls = {body: None}, find_calls(code[slice(*function.body)])
    for other in at_file_scope(code) if len(seen) < _DEEPEST else ():
        if other.offset in (function.offset, *seen):
            continue
        inner = ""
        for call in calls:
            if call.name != other.name or call.is_member:
                continue
            handed = [_HANDED.fullmatch(one) for one in call.arguments]
            own = {taken: one[1] if one else f"given_{taken}" for taken, one in zip(other.names, handed, strict=False)}
            inner = inner or whole_body(code, other, (*seen, function.offset))
            parts[_renamed(inner, own)] = None
    return "\n".join(parts)


def _renamed(body: str, names: Mapping[str, str]) -> str:
    """Give variables other names; what stands behind a dot is none."""
    return re.sub(r"(?<![.\w>])[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), body)


def used_by(names: Iterable[str], text: str, code: str) -> str:
    """Blank the bodies of functions that these do not use, so that what stands there is not taken for theirs.

    A function uses whatever it names, and so on. What stands outside of functions, such as classes and macros, belongs to all of them.

    Args:
        names: of functions at file scope.
        text: in which the macros stand.
        code: of the text.

    Example:
        >>> text = "int a() { return 1; } int b() { return 2; } int c() { return a(); }"
        >>> used_by(["c"], text, text)
        'int a() { return 1; } int b() {           } int c() { return a(); }'
    """
    bodies = [(one.name, *one.body) for one in find_functions(code) if not one.spaces]
    masked = outside = mask(code)
    for _, start, end in bodies:
        outside = outside[:start] + blank(outside[start:end]) + outside[end:]
    used, new, depth = set[str](), {*names, *re.findall(r"\w+", " ".join(_MACRO.findall(text)))}, 0
    for token in re.finditer(r"[{}]|(\w+)(\s*\()?", outside):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if token[1] and (depth or not token[2]):  # at file scope a name with brackets declares a function
            new.add(token[1])
    while new:
        used |= new
        new = {w for name, start, end in bodies if name in new for w in re.findall(r"\w+", masked[start:end])} - used
    for name, start, end in bodies:
        if name not in used:
            code = code[:start] + blank(code[start:end]) + code[end:]
    return code
