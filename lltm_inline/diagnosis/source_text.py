"""Questions that can be answered from a C++ text without a compiler: where a bracket is open, where a name is declared.

What is whole is for `cpp`. What is read here has to be read in broken texts, too: brackets, places at which they are open, and words
that look like declarations, those of lambdas, loops and macros among them. Comments and the insides of strings are blank in it.
"""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from dataclasses import dataclass
from functools import lru_cache

from ..cpp.functions import all_functions, squeezed
from ..cpp.masks import blank, closing, heads, opaque, taken, unquoted, without
from ..cpp.masks import mask as code_mask

#: How the names of texts end that no user wrote.
GENERATED = ("(binding)", "(launchers)", "(instances)")

#: What opens and has no end is no code either, nor are words in single quotes.
_UNENDED = re.compile(r"""/\*.*|"[^\n]*|(?<!\w)'(?:\\.|[^'\\\n])*'?""", re.DOTALL)
_WORD = re.compile(r"(?<!\w)[A-Za-z_]\w*")
_PYTHON = re.compile(
    r"\s*(def \w+\(.*:|class \w+.*:|import [\w.]+( as \w+)?|from [\w.]+ import .*|@\w[\w.]*)\s*(#.*)?$"
)
#: What no C++ can be read as; `f(x);` could be either.
_ONLY_PYTHON = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.For, ast.With, ast.If)
_DIRECTIVE = re.compile(r"\s*#\s*(include|define|if|pragma)\b")
_PAIRS = {")": "(", "}": "{", "]": "["}
_CLOSERS = {opener: closer for closer, opener in _PAIRS.items()}


@lru_cache(maxsize=64)
def mask(text: str) -> str:
    """Blank out comments and literals, line and column kept.

    Args:
        text: a C++ source.

    Returns:
        A text of the same length.

    Example:
        >>> mask('f("(") // {')
        'f(   )     '
    """
    return _UNENDED.sub(lambda match: blank(match[0]), unquoted(text))


def swallowing_comments(text: str) -> list[tuple[int, int, str]]:
    """List the comments in which another one begins, as (line, column) and what stands between: the code that is lost.

    Example:
        >>> swallowing_comments("/* a\\nint f();\\n/* b */")
        [(1, 1, ' a\\nint f();\\n')]
    """
    comments = [(start, text[start + 2 : end].partition("/*")) for start, end, opener in opaque(text) if opener == "/*"]
    return [(*position(text, start), lost) for start, (lost, other, _) in comments if other and "\n" in lost]


@lru_cache(maxsize=64)
def words(text: str) -> frozenset[str]:
    """Return the identifiers of a text, those in comments and strings left out."""
    return frozenset(_WORD.findall(mask(text)))


def position(text: str, offset: int) -> tuple[int, int]:
    """Turn an offset into (line, column), both counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def line_of(text: str, number: int) -> str:
    """Return line `number` (from 1), or nothing where there is no such line."""
    lines = text.split("\n")
    return lines[number - 1] if 0 < number <= len(lines) else ""


def end_of_code_before(text: str, number: int) -> tuple[int, int] | None:
    """Return (line, column) just behind the last code before line `number`: where a missing `;` belongs."""
    code = without(text, ((start, end) for start, end, opener in opaque(text) if opener in ("//", "/*")))
    ahead = "\n".join(code.split("\n")[: number - 1]).rstrip()
    return position(ahead, len(ahead)) if ahead else None


def strange_character(line: str) -> tuple[int, str] | None:
    """Find the first character of a line that C++ code does not hold, outside literals and comments.

    Returns:
        Its column from 1 and what to call it.

    Example:
        >>> strange_character("a =\\N{NO-BREAK SPACE}b;")
        (4, 'U+00A0 NO-BREAK SPACE')
    """
    for column, character in enumerate(mask(line), 1):
        if ord(character) > 127:
            return column, f"U+{ord(character):04X} {unicodedata.name(character, 'a character without a name')}"
    return None


def declarations(text: str, name: str) -> list[tuple[int, int]]:
    """List the places, as (line, column), that look as if they declare `name`."""
    code = mask(text)
    places = []
    # `auto [a, name]` and the capture `[name = ...]` declare it too; what stands in an index does not.
    opened = r"\bauto\s*&{0,2}\s*\[(?:[^\]]*,)?\s*|[=(,]\s*\["
    pattern = rf"(?:[\w>*&]\s+[*&]?\s*|[>*&]|{opened})(?<!\w)({re.escape(name)})\s*(?=[=;,){{(\[:\]])"
    for match in re.finditer(pattern, code):
        ahead = code[: match.start(1)]
        before = re.search(r"(\w+)\s*$", ahead)
        if before and before[1] in {"return", "else", "case", "goto", "throw", "new", "delete", "co_return"}:
            continue
        if ahead.rstrip().endswith(("*", "&")) and not _POINTS.search(ahead):
            continue
        places.append(position(code, match.start(1)))
    return places


#: What stands before the name of a pointer or reference, and not before the second factor of a product.
_POINTS = re.compile(
    r"(?:(?:^|[;{}(,<>]|\b(?:const|static|constexpr|unsigned|long|volatile|extern))\s*[A-Za-z_][\w:]*"
    r"(?:<[^;{}]*>)?(?:\s+const)?\s*[*&]+(?:\s*(?:const|__restrict\w*|volatile))*|,\s*[*&]+)\s*$"
)


def is_pointer(text: str, name: str) -> bool:
    """Tell whether a text declares `name` with a `*` before it.

    Example:
        >>> is_pointer("void f(const float* x, int n);", "x"), is_pointer("void f(const float* x, int n);", "n")
        (True, False)
    """
    return any(line_of(text, line)[: column - 1].rstrip().endswith("*") for line, column in declarations(text, name))


def is_tensor(text: str, name: str) -> bool:
    """Tell whether a text declares `name` as a tensor.

    Example:
        >>> is_tensor("void f(const at::Tensor& x, double a);", "x"), is_tensor("void f(at::Tensor x, double a);", "a")
        (True, False)
    """
    return (
        re.search(rf"\bTensor\s*&{{0,2}}\s+{re.escape(name)}\b|\bTensor\s*&{re.escape(name)}\b", mask(text)) is not None
    )


def definition(text: str, name: str) -> tuple[int, int] | None:
    """Find where a function `name` is declared or defined, but for those of classes, as (line, column).

    Example:
        >>> definition('extern "C" { int f(); }', "f"), definition("void g() { f(1); }", "f")
        ((1, 18), None)
    """
    code = mask(text)
    for match in re.finditer(rf"(?<![\w:.>])({re.escape(name)})\s*\(", code):
        if all(re.search(r"\b(?:namespace|extern)\b[^()]*$", head) for head in heads(code, match.start(1))):
            return position(code, match.start(1))
    return None


def parameters(code: str, name: str) -> str | None:
    """Return what stands between the ( ) behind a name, blanks and newlines as one blank, or None.

    Example:
        >>> parameters("float gate(const float* x, int n = f()) {", "gate")
        'const float* x, int n = f()'
    """
    start = re.search(rf"(?<![\w.>])(?:operator)?{re.escape(name)}\s*(?:<[^;(]*>)?\s*\(", code)
    end = closing(code, start.end() - 1) if start else len(code)
    return squeezed(code[start.end() : end]) if start and end < len(code) else None


def uses(text: str, name: str) -> list[tuple[int, int]]:
    """List the places, as (line, column), where `name` is used; places that declare it come last."""
    code = mask(text)
    places = [position(code, match.start()) for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", code)]
    declared = set(declarations(text, name))
    return sorted(places, key=lambda place: place in declared)


def offset_of(text: str, line: int, column: int = 1) -> int:
    """Return where a place stands, counted from the start of the text; `position` is the way back."""
    return sum(len(row) + 1 for row in text.split("\n")[: line - 1]) + column - 1


def heads_around(text: str, line: int, column: int = 1) -> list[str]:
    """List what stands before each `{` that is open at a place, outermost first; a `[&](...)` is the head of a lambda.

    Example:
        >>> heads_around("namespace a {\\nvoid f() { g(", 2, 14)
        ['namespace a ', '\\nvoid f() ']
    """
    return heads(mask(text), offset_of(text, line, column))


def function_around(text: str, line: int, column: int = 1) -> str:
    """Name the function that a place is in, in its body or among its parameters; nothing at file scope.

    Example:
        >>> text = "void f(int n) {\\n  n = 1;\\n}"
        >>> function_around(text, 1, 12), function_around(text, 2), function_around(text, 3, 2)
        ('f', 'f', '')
    """
    here = offset_of(text, line, column)
    return next((one.name for one in all_functions(text) if one.start <= here < one.body[1]), "")


def at_file_scope(text: str, line: int) -> bool:
    """Tell whether a line begins outside of every function, though perhaps in a namespace or a struct."""
    return all(re.search(r"\b(?:namespace|extern|struct|class)\b[^()]*$", head) for head in heads_around(text, line))


@dataclass(frozen=True)
class BracketFault:
    """One bracket without its partner.

    Attributes:
        bracket: the bracket that stands alone.
        missing: the one that should be added (`{` for the body of a lambda), or nothing when `bracket` is one too many.
        line, column: of `bracket`.
        wanted: (line, column) where the missing one was found missing.
    """

    bracket: str
    missing: str
    line: int
    column: int
    wanted: tuple[int, int]


def bracket_fault(text: str) -> BracketFault | None:
    """Find the bracket that has no partner; indentation tells which of several it is.

    Returns:
        The likeliest culprit, or None when all brackets match.

    Example:
        >>> bracket_fault("int f() {\\n  if (a) {\\n    b();\\n}\\n").line
        2
    """
    code = mask(code_mask(taken(text)))  # two branches may open the same bracket
    if _balanced(code):
        return None
    stack: list[int] = []
    suspect: BracketFault | None = None
    early: BracketFault | None = None
    for match in re.finditer(r"[()\[\]{};]", code):
        here, char = match.start(), match[0]
        top = code[stack[-1]] if stack else ""
        if char == ";":
            head = (
                re.search(r"\b(?:for|if|while|switch)\s*(?:constexpr\s*)?$", code[: stack[-1]][-20:]) if stack else None
            )
            if top == "[" or (top == "(" and not head):
                return suspect if suspect and suspect.bracket == "(" else _unclosed(code, stack[-1], here)
        elif char in "([{":
            if char == "{" and stack and suspect is None and _opens_too_early(code, stack[-1], here):
                suspect = _unclosed(code, stack[-1], here)
            stack.append(here)
        elif top == _PAIRS[char]:
            opener = stack.pop()
            outer = code[stack[-1]] if stack else ""
            if char == "}" and suspect is None and outer != "(" and _closes_too_far_left(code, opener, here):
                suspect = _unclosed(code, opener, here)
            if (
                char == "}"
                and early is None
                and _starts_line(code, here)
                and _indent(code, here) > _indent(code, opener)
            ):
                early = BracketFault(char, "", *position(code, here), position(code, here))
        else:
            return (early if not stack else None) or _mismatch(code, stack, here, suspect)
    return suspect or (_unclosed(code, stack[-1], len(code.rstrip())) if stack else None)


def _balanced(code: str) -> bool:
    stack: list[str] = []
    for char in re.findall(r"[()\[\]{}]", code):
        if char in "([{":
            stack.append(char)
        elif not stack or stack.pop() != _PAIRS[char]:
            return False
    return not stack


def _mismatch(code: str, stack: list[int], here: int, suspect: BracketFault | None) -> BracketFault:
    char = code[here]
    if not stack:
        start = code.rfind("\n}", 0, here) + 1
        if char == "}" and (head := re.search(r"^\w[^\n;{}]*\)(?=[ \t]*\n[ \t]+\w)", code[start:here], re.MULTILINE)):
            end = position(code, start + head.end())
            return BracketFault("(", "{", *end, end)
        return suspect or BracketFault(char, "", *position(code, here), position(code, here))
    top = code[stack[-1]]
    if suspect and suspect.bracket == top == "(":
        return suspect
    if char == "]" and top == "{":  # what stands in [ ] never goes over a whole block
        return BracketFault(char, "", *position(code, here), position(code, here))
    if char == ")" and top == "{" and code[here + 1 : here + 2] == "}":  # `)}` for `})`
        return BracketFault(char, "", *position(code, here), position(code, here))
    if char == ")" and top == "{":
        # `});` with a '}' missing has its ')' at the start of the line; `f(x));` has it in the middle.
        line_start = code.rfind("\n", 0, here) + 1
        if code[line_start:here].strip(" }\t"):
            return BracketFault(char, "", *position(code, here), position(code, here))
        return suspect or _unclosed(code, stack[-1], here)
    return _unclosed(code, stack[-1], here)


def _unclosed(code: str, opener: int, here: int) -> BracketFault:
    headless = re.search(r"\]\s*\([^()]*\)(?:\s*mutable)?[ \t]*\n", code[opener:here]) if code[opener] == "(" else None
    if headless:  # `[&](int i)` and then the body: what is missing is its '{'
        end = opener + len(code[opener : opener + headless.end()].rstrip())
        return BracketFault("(", "{", *position(code, end), position(code, end))
    wanted = here
    if code[opener] == "(":  # behind the body of a lambda, and not in the statement that follows
        block = re.search(r"\}(?=[ \t]*\n[^}]*$)", code[opener:here])
        wanted = opener + block.end() if block else here
    return BracketFault(code[opener], _CLOSERS[code[opener]], *position(code, opener), position(code, wanted))


def _indent(code: str, offset: int) -> int:
    """Return how far the statement is indented that a bracket belongs to: its head may be spread over several lines."""
    head = code[:offset].rstrip()
    if code[offset] == "{" and head.endswith(")"):
        depth = 0
        for offset in range(len(head) - 1, -1, -1):
            depth += (code[offset] == ")") - (code[offset] == "(")
            if depth == 0:
                break
    start = code.rfind("\n", 0, offset) + 1
    end = code.find("\n", offset)
    line = code[start : end if end >= 0 else len(code)]
    return len(line) - len(line.lstrip())


def _closes_too_far_left(code: str, opener: int, here: int) -> bool:
    return _starts_line(code, here) and _indent(code, here) < _indent(code, opener)


def _starts_line(code: str, here: int) -> bool:
    return not code[code.rfind("\n", 0, here) + 1 : here].strip()


def _opens_too_early(code: str, opener: int, here: int) -> bool:
    """Tell whether a block that opens at `here` shows that the bracket at `opener` was meant to be closed before."""
    before = code[:opener]
    if code[opener] == "(":
        # `if (a > b {`: a '{' straight behind a value, where the condition is still open.
        return (
            bool(re.search(r"\b(if|for|while|switch)\s*$", before[-10:])) and code[:here].rstrip()[-1:] not in "=,(]{"
        )
    left_margin = _indent(code, here) == 0 and _indent(code, opener) == 0
    return left_margin and not re.search(r"\b(namespace|extern|struct|class|union|enum)\b[^;{}]*$", before[-200:])


def python_line(body: str) -> tuple[int, str] | None:
    """Find the first line that shows a text to be Python in the place of C++, with its number; None for all else.

    Example:
        >>> python_line("import torch\\n"), python_line("int x;")
        ((1, 'import torch'), None)
    """
    lines = re.split(r"\r\n?|\n", body)  # as Python counts them
    ends = {line.rstrip()[-1:] for line in lines}
    may_be_cpp = ";" in ends or any(_DIRECTIVE.match(line) for line in lines)
    try:
        with warnings.catch_warnings(action="ignore"):
            statements = ast.parse(body).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        statements = []
    if statements and (not may_be_cpp or any(isinstance(statement, _ONLY_PYTHON) for statement in statements)):
        number = statements[0].lineno
        return number, lines[number - 1]
    if may_be_cpp or "{" in ends:
        return None
    return next(((number, line) for number, line in enumerate(lines, 1) if _PYTHON.match(line)), None)
