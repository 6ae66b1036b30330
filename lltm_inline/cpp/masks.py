"""What is code in a C++ text: comments, strings, preprocessor lines and what the preprocessor leaves out become blanks.

Every character that stays keeps its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_MACRO = re.compile(r"[ \t]*#[ \t]*define[ \t]+\w+(?:\([^()\n]*\))?")
_CONDITION = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*(.*)")


@lru_cache(maxsize=32)  # an export asks for the functions of one text again and again
def mask(text: str) -> str:
    """Blank comments, strings and preprocessor lines; every other character keeps its place.

    >>> mask('int x; // {')
    'int x;     '
    """
    return _DIRECTIVE.sub(lambda match: blank(match[0]), _code(text))


@lru_cache(maxsize=32)
def taken(text: str) -> str:
    """Blank what the preprocessor leaves out, as far as the text alone tells: the inside of `#if 0`, and all branches but one.

    Of a condition that is not known the first branch stands for all: each of them has braces that are closed in it or in none.

    >>> taken("int a;\\n#if 0\\nint b;\\n#else\\nint c;\\n#endif").split()
    ['int', 'a;', '#if', '0', '#else', 'int', 'c;', '#endif']
    """
    lines = text.split("\n")
    #: For each condition that is open: whether this branch is taken, and whether one of it was.
    opened: list[tuple[bool, bool]] = []
    for number, code in enumerate(_code(text).split("\n")):
        condition = _CONDITION.match(code)
        if condition is None:
            if not all(now for now, _ in opened):
                lines[number] = blank(lines[number])
        elif condition[1].startswith("if"):
            now = not (condition[1] == "if" and condition[2].strip() in ("0", "false"))
            opened.append((now, now))
        elif opened and condition[1] == "endif":
            opened.pop()
        elif opened:
            now = not opened[-1][1] and condition[2].strip() not in ("0", "false")
            opened[-1] = now, opened[-1][1] or now
    return "\n".join(lines)


def uncommented(text: str) -> str:
    """Blank comments alone, those of several lines as one line: what a directive says, however it is spelled.

    >>> uncommented('/**/#/* one */define S "//"')
    '    #         define S "//"'
    """
    return _code(text, strings=False)


@lru_cache(maxsize=32)
def code_of(text: str, all_branches: bool = False) -> str:
    """Blank comments, preprocessor lines and, unless all branches are asked for, what the preprocessor leaves out; strings stay.

    >>> code_of('f("//"); // g\\n#define A')
    'f("//");     \\n         '
    """
    text = text if all_branches else taken(text)
    code, parts, done = uncommented(text), [], 0
    for directive in _DIRECTIVE.finditer(_code(text)):
        parts += [code[done : directive.start()], blank(directive[0])]
        done = directive.end()
    return "".join([*parts, code[done:]])


def macros(text: str) -> Iterator[tuple[int, str]]:
    """List what macros stand for, each with its place in the text.

    >>> list(macros("#define RUN(x) f(x); // one"))
    [(14, ' f(x);       ')]
    """
    code = uncommented(text)
    for directive in _DIRECTIVE.finditer(_code(text)):
        if macro := _MACRO.match(code, directive.start(), directive.end()):
            yield macro.end(), code[macro.end() : directive.end()].replace("\\\n", " \n")


def _code(text: str, strings: bool = True) -> str:
    """Blank comments, and strings."""
    parts, done, position = [], 0, 0
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
        if end >= 0 and (strings or opener[0] in ("//", "/*")):
            empty = blank(text[start:end])
            parts += [text[done:start], empty if strings else empty.replace("\n", "\f")]
            done = end
    return "".join([*parts, text[done:]])


def _last_ends(text: str) -> dict[str, int]:
    """Return where each end of a comment or a raw string stands last."""
    sizes = range(17) if 'R"' in text else ()
    raw = (found for size in sizes for found in re.finditer(rf'(?=(\)[^\s()\\]{{{size}}}"))', text))
    return {"*/": text.rfind("*/"), **{found[1]: found.start() for found in raw}}


def blank(text: str) -> str:
    """Put a blank in the place of every character but line ends."""
    return re.sub(r"[^\n]", " ", text)


def closing(masked: str, opening: int) -> int:
    """Return the place behind the bracket that closes the one at `opening`; the end of the text if none does."""
    depth = 0
    for match in re.compile(r"[(){}\[\]]").finditer(masked, opening):
        depth += 1 if match[0] in "({[" else -1
        if depth == 0:
            return match.end()
    return len(masked)
