"""What is code in a C++ text: comments, strings, preprocessor lines and what the preprocessor leaves out become blanks.

Every character that stays keeps its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

#: What may open something that is no code. A number is whole: in 1'000 nothing opens; and FOR"(" is a name before a plain string.
_OPENER = re.compile(
    r"""//|/\*|\b(?:u8|[uUL])?R"(?P<tag>[^\s()\\]{0,16})\(|(?P<number>\b\d(?:'?\w|(?<=[eEpP])[+-]|\.)*)|"|'"""
)
_ENDS = {
    "//": re.compile(r"[^\n]*"),
    # `open` is the end of a line in which none of these ends.
    '"': re.compile(r'(?:\\.|[^"\\\n])*+(?:"|(?P<open>))', re.DOTALL),
    # Words in single quotes stay to be seen, as they are a mistake; a quote in them opens nothing.
    "'": re.compile(r"""(?:\\.|[^'\\\n])'|(?=[^'\n]*")(?:\\.|[^'\\\n])++(?:'|(?P<open>))""", re.DOTALL),
}
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_WORDS = re.compile(r"[ \t\f]*#[ \t\f]*(\w*)[ \t\f]*((?:[^\n\\]|\\.|\\\n)*)")
_MACRO = re.compile(r"\w+(?:\([^()\n]*\))?")
_CONDITIONS = ("if", "ifdef", "ifndef", "elif", "else", "endif")
_HEADER = re.compile(r"[<\"]([^>\"\n]+)[>\"]")


@dataclass(frozen=True)
class Directive:
    """One directive, with the lines that it goes on in: `#include <cmath>` is `("include", "<cmath>")`, and where that stands.

    `end` is that of all of it, `place` the beginning of `rest`, in which comments are blank.
    """

    name: str
    rest: str
    start: int
    place: int
    end: int

    @property
    def header(self) -> str:
        """The header that it includes; empty where it is something else."""
        found = _HEADER.match(self.rest) if self.name == "include" else None
        return found[1] if found else ""


@lru_cache(maxsize=32)
def directives(text: str) -> tuple[Directive, ...]:
    """List the directives of a text, those that are not taken among them.

    >>> [(one.name, one.rest, one.header) for one in directives("// #if\\n#include <cmath>\\n# define A /* */ 1")]
    [('include', '<cmath>', 'cmath'), ('define', 'A       1', '')]
    """
    code, found = uncommented(text), []
    for whole in _DIRECTIVE.finditer(unquoted(text)):
        if words := _WORDS.match(code, whole.start(), whole.end()):
            found.append(Directive(words[1], words[2].rstrip(), whole.start(), words.start(2), whole.end()))
    return tuple(found)


def headers(text: str) -> set[str]:
    """Name the headers that a text includes.

    >>> sorted(headers('#include <cmath>\\n#include "a.h"  // one'))
    ['a.h', 'cmath']
    """
    return {one.header for one in directives(text) if one.header}


def behind_headers(text: str, until: int) -> int:
    """Return the line behind the headers that a text includes before a place, and behind the conditions that these stand in.

    >>> behind_headers("#include <a>\\n#if A\\n#include <b>\\n#endif\\nint x;", 40)
    4
    """
    line, depth, has_header = 0, 0, False
    for one in directives(text):
        if until < one.end:
            break
        depth += one.name.startswith("if") - (one.name == "endif")
        has_header |= one.name == "include"
        if depth == 0 and has_header:
            line, has_header = text.count("\n", 0, one.end) + 1, False
    return line


def placed(text: str, offset: int) -> tuple[str, int, int]:
    """Return file, line and column of a place in a text, as the directives `#line` before it have it.

    >>> placed('#line 7 "a"\\nint x;', 16)
    ('a', 7, 5)
    """
    file, first, begins = "", 1, 0
    for one in directives(text):
        if one.name == "line" and one.end <= offset:
            number, _, file = one.rest.partition(" ")
            first, begins = int(number), one.end + 1
    return file.strip('"'), first + text.count("\n", begins, offset), offset - text.rfind("\n", 0, offset)


@lru_cache(maxsize=32)  # an export asks for the functions of one text again and again
def mask(text: str) -> str:
    """Blank comments, strings and preprocessor lines; every other character keeps its place.

    >>> mask('int x; // {')
    'int x;     '
    """
    return _DIRECTIVE.sub(lambda match: blank(match[0]), unquoted(text))


@lru_cache(maxsize=32)
def taken(text: str) -> str:
    """Blank what the preprocessor leaves out, as far as the text alone tells: the inside of `#if 0`, and all branches but one.

    Of a condition that is not known the first branch stands for all: each of them has braces that are closed in it or in none.

    >>> taken("int a;\\n#if 0\\nint b;\\n#else\\nint c;\\n#endif").split()
    ['int', 'a;', '#if', '0', '#else', 'int', 'c;', '#endif']
    """
    #: For each condition that is open: whether this branch is taken, and whether one of it was.
    opened, parts, done = list[tuple[bool, bool]](), list[str](), 0
    for one in directives(text):
        if one.name not in _CONDITIONS:
            continue
        between = text[done : one.start]
        parts += [between if all(now for now, _ in opened) else blank(between), text[one.start : one.end]]
        done, holds = one.end, one.rest.strip() not in ("0", "false")
        if one.name == "endif":
            del opened[-1:]
        elif one.name.startswith("if"):
            now = one.name != "if" or holds
            opened.append((now, now))
        elif opened:
            now = not opened[-1][1] and holds
            opened[-1] = now, opened[-1][1] or now
    return "".join([*parts, text[done:] if all(now for now, _ in opened) else blank(text[done:])])


def unquoted(text: str) -> str:
    """Blank comments and strings, and no directives.

    >>> unquoted('#define S f("(") // g')
    '#define S f(   )     '
    """
    return without(text, ((start, end) for start, end, _ in opaque(text)))


def uncommented(text: str) -> str:
    """Blank comments alone, those of several lines as one line: what a directive says, however it is spelled.

    >>> uncommented('/**/#/* one */define S "//"')
    '    #         define S "//"'
    """
    parts, done = [], 0
    for start, end, opener in opaque(text):
        if opener in ("//", "/*"):
            parts += [text[done:start], blank(text[start:end]).replace("\n", "\f")]
            done = end
    return "".join([*parts, text[done:]])


@lru_cache(maxsize=32)
def code_of(text: str, all_branches: bool = False) -> str:
    """Blank comments, preprocessor lines and, unless all branches are asked for, what the preprocessor leaves out; strings stay.

    >>> code_of('f("//"); // g\\n#define A')
    'f("//");     \\n         '
    """
    text = text if all_branches else taken(text)
    return without(uncommented(text), ((one.start, one.end) for one in directives(text)))


def macros(text: str) -> Iterator[tuple[int, str]]:
    """List what macros stand for, each with its place in the text.

    >>> list(macros("#define RUN(x) f(x); // one"))
    [(14, ' f(x);')]
    """
    for one in directives(text):
        if one.name == "define" and (macro := _MACRO.match(one.rest)):
            yield one.place + macro.end(), one.rest[macro.end() :].replace("\\\n", " \n")


@lru_cache(maxsize=32)
def opaque(text: str) -> tuple[tuple[int, int, str], ...]:
    """List comments and strings: where each begins and ends, and what opens it; what has no end is none.

    >>> opaque('f("a"); // g')
    ((2, 5, '"'), (8, 12, '//'))
    """
    found, position = list[tuple[int, int, str]](), 0
    # Nothing is looked for twice where it does not stand: that would take for ever.
    last, open_to = _last_ends(text), dict.fromkeys(_ENDS, 0)
    while opener := _OPENER.search(text, position):
        if opener["number"]:
            position = opener.end()
            continue
        start, end = opener.start(), -1
        plain = _ENDS.get(opener[0])
        close = "*/" if opener[0] == "/*" else f'){opener["tag"]}"'
        if plain is None and last.get(close, -1) >= opener.end():
            end = text.find(close, opener.end()) + len(close)
        # A quote in a string that does not end is behind a backslash there: what it would open ends as little.
        elif plain and start >= open_to[opener[0]] and (closed := plain.match(text, opener.end())):
            if closed.lastgroup:
                open_to[opener[0]] = closed.end()
            else:
                end = closed.end()
        position = end if end >= 0 else start + 1
        if end >= 0:
            found.append((start, end, opener[0]))
    return tuple(found)


def _last_ends(text: str) -> dict[str, int]:
    """Return where each end of a comment or a raw string stands last."""
    sizes = range(17) if 'R"' in text else ()
    raw = (found for size in sizes for found in re.finditer(rf'(?=(\)[^\s()\\]{{{size}}}"))', text))
    return {"*/": text.rfind("*/"), **{found[1]: found.start() for found in raw}}


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Blank some parts of a text, given as they stand in it."""
    parts, done = [], 0
    for start, end in spans:
        parts += [text[done:start], blank(text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def blank(text: str) -> str:
    """Put a blank in the place of every character but line ends."""
    return re.sub(r"[^\n]", " ", text)


def closing(masked: str, opening: int) -> int:
    """Return the place of the bracket that closes the one at `opening`; the end of the text where none does.

    >>> closing("f(g(x), 1);", 1), closing("f(g(x)", 1)
    (9, 6)
    """
    depth, opener = 0, masked[opening]
    for mark in re.compile({"(": r"[()]", "[": r"[\[\]]", "{": r"[{}]"}[opener]).finditer(masked, opening):
        depth += 1 if mark[0] == opener else -1
        if depth == 0:
            return mark.start()
    return len(masked)


def heads(masked: str, place: int) -> list[str]:
    """List what stands before each brace that is open at a place, outermost first; a `[&](...)` is the head of a lambda.

    >>> heads("namespace a { int b; void f() { g(", 34)
    ['namespace a ', ' void f() ']
    """
    opened, begins = list[str](), 0
    for mark in re.compile(r"[;{}]").finditer(masked, 0, place):
        if mark[0] == "{":
            opened.append(masked[begins : mark.start()])
        elif mark[0] == "}":
            del opened[-1:]
        begins = mark.end()
    return opened
