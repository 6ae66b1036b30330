"""What nvcc's front end says, put into the form and the words of g++ and clang++, so that one parser serves all three.

    lltm/cuda(6): error: identifier "sigmm" is undefined          lltm/cuda:6:23: error: use of undeclared identifier 'sigmm'
        if (i < n) y[i] = sigmm(x[i]);                 becomes    lltm/cuda:9: note: instantiation of "void k...", requested here
                          ^
              detected during instantiation of "void k(...)" at line 9

A column is nowhere said; it follows from the caret, which stands under a line whose macros are expanded already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..cpp.bodies import macro_call_at
from .compiler_log import bare, plain_name
from .source_text import line_of, mask, offset_of

_PLACE = re.compile(
    r"(?P<file>[^\n]+?)\((?P<line>\d+)\): (?P<severity>(?:catastrophic |internal )?error|warning|note|remark)"
    r"(?: #(?P<number>\d+)(?:-D)?)?: (?P<message>.*)"
)
_TRAIL = re.compile(r"(?:detected during:? ?)?(?P<what>.*?) at line (?P<line>\d+)(?: of (?P<file>.+))?$")
_FATAL = re.compile(r"nvcc fatal\s*: (.*)")
_CHATTER = re.compile(
    r"\d+ (?:error|catastrophic|warning)s? .*detected|Remark: |Error limit reached|Compilation terminated"
)

#: Warnings of the front end by number, with the flag of g++ that warns of the same; all others stay in the log.
_FLAGS = {
    "39": "-Wdiv-by-zero",
    "111": "-Wunreachable-code",
    "117": "-Wreturn-type",
    "174": "-Wunused-value",
    "187": "-Wparentheses",
    "549": "-Wuninitialized",
    "940": "-Wreturn-type",
    "1444": "-Wdeprecated-declarations",
}

#: What the front end says, and how clang++ or g++ say it: the rules that give advice know these words.
_WORDS = (
    (r"^identifier '([\w:]+)' is undefined$", r"use of undeclared identifier '\1'"),
    (r"^expected an? '(.+)'$", r"expected '\1'"),
    (r"^namespace '([\w:]+)' has no member '(\w+)'$", r"no member named '\2' in namespace '\1'"),
    (r"^(?:class|struct|union) '(.+)' has no member '(\w+)'$", r"no member named '\2' in '\1'"),
    (r"^(closing brace of .* not found)$", r"expected '}': \1"),
    (r"^missing closing quote$", r"missing terminating quote"),
    (r"^expression must have class type but it has type ('.*')$", r"member reference base type \1 is not a structure"),
    (r"^(?:a value|argument) of type '(.*?)' (?:cannot be used to initialize an|cannot be assigned to an|is incompatible with) "
     r"(?:entity|parameter) of type '(.*?)'$", r"cannot convert '\1' to '\2'"),
    (r"^no suitable (?:constructor|.*conversion.*?) (?:exists to convert )?from '(.*?)' to '(.*?)'(?: exists)?$",
     r"cannot convert '\1' to '\2'"),
    (r"^no operator '(\S+)' matches these operands; +operand types are: (.*) \1 (.*)$",
     r"no match for 'operator\1' (operand types are '\2' and '\3')"),
    (r"^expression must have pointer-to-object type but it has type '(.*)'$", r"invalid types '\1[int]' for array subscript"),
    (r"^operand of '\*' must be a pointer but has type ('.*')$", r"indirection requires pointer operand (\1 invalid)"),
    (r"^'(.*)' has already been declared in the current scope$", r"redeclaration of '\1'"),
    (r"^an enclosing-function local variable cannot be referenced in a lambda body.*", r"variable is not captured"),
)  # fmt: skip
_CALL = re.compile(r"calling a (__\w+__) function\('(.*?)'\) from a (__[\w ]+__) function\('(.*?)'\) is not allowed")


@dataclass
class _Block:
    """One complaint: where, what, the line it shows, and how the front end came there."""

    file: str
    line: int
    severity: str
    number: str
    message: str
    excerpt: str = ""
    caret: int = -1
    trail: list[tuple[str, int, str]] = field(default_factory=list)


def in_words_of_gcc(log: str, sources: Mapping[str, str]) -> str:
    """Rewrite nvcc's complaints; every other line stays as it is.

    Args:
        log: what the compilers printed.
        sources: the user's texts by the name that `#line` gives them, for the columns.

    Example:
        >>> log = 'op/cuda(1): error: expected a ";"\\n  int x = 1 }\\n            ^\\n\\n1 error detected in the compilation of "cuda.cu".'
        >>> in_words_of_gcc(log, {"op/cuda": "int x = 1 }"})
        "op/cuda:1:11: error: expected ';'"
    """
    if not re.search(r"^\S[^\n]*\(\d+\): (?:\w+ )?(?:error|warning)\b|^nvcc fatal", log, re.MULTILINE):
        return log
    lines: list[str] = []
    before: _Block | None = None
    for item in _blocks(log):
        if isinstance(item, str):
            lines.append(item)
            continue
        follows = before and (before.file, before.line, before.severity) == (item.file, item.line, item.severity)
        if not (follows and "is undefined in device code" in item.message):  # said once already, as a forbidden call
            lines += _as_gcc(item, sources)
        before = item
    return "\n".join(lines)


def _blocks(log: str) -> Iterator[_Block | str]:
    """Cut a log into complaints and other lines."""
    block: _Block | None = None
    lines = log.split("\n")
    for index, line in enumerate(lines):
        match = _PLACE.match(line)
        if match:
            if block:
                yield block
            block = _Block(
                match["file"], int(match["line"]), match["severity"], match["number"] or "", match["message"].strip()
            )
        elif _CHATTER.match(line):
            continue
        elif fatal := _FATAL.match(line):
            yield f"fatal error: nvcc: {fatal[1]}"
        elif block is None or not line.startswith(" "):
            if block:
                yield block
            block = None
            if line.strip():
                yield line
        else:
            _take(block, line, lines[index + 1] if index + 1 < len(lines) else "")
    if block:
        yield block


def _take(block: _Block, line: str, following: str) -> None:
    """Read one of the indented lines behind a complaint."""
    if following.strip() == "^":
        block.excerpt = line
    elif line.strip() == "^":
        block.caret = line.index("^")
    elif match := _TRAIL.fullmatch(line.strip()):
        block.trail.append((match["file"] or block.file, int(match["line"]), match["what"]))
    elif not block.excerpt and not line.strip().startswith("detected during"):
        block.message += f"; {line.strip()}"


def _as_gcc(block: _Block, sources: Mapping[str, str]) -> list[str]:
    line, column = _place(block, sources)
    place = f"{block.file}:{line}:" + (f"{column}:" if column else "")
    severity = {"warning": "warning", "remark": "warning", "note": "note"}.get(block.severity, "error")
    flag = f" [{_FLAGS.get(block.number, '-Wnvcc')}]" if severity == "warning" else ""
    lines = [f"{place} {severity}: {_message(block)}{flag}"]
    return lines + [f"{file}:{line}: note: {what}, requested here" for file, line, what in block.trail]


def _message(block: _Block) -> str:
    message = re.sub(r'"([^"]*)"', r"'\1'", re.sub(r' \(aka "[^"]*"\)', "", block.message))
    if call := _CALL.match(message):
        callee, caller = call[2].partition("(")[0].replace("operator ", "operator"), _plain(call[4])
        callee = "operator<<" if "operator<<" in callee else bare(callee).split()[-1].strip(":")
        return f"calling the {call[1]} function '{callee}' from the {call[3]} function '{caller}' is not allowed"
    word = _word_at(block.excerpt, block.caret)
    if word and message == "this declaration has no storage class or type specifier":
        return f"'{word}' does not name a type"
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    return message


def _plain(function: str) -> str:
    """Return the name in what nvcc calls a function: `sigm` in `T1  ::sigm<float> (T1)`."""
    return plain_name(function.partition("(")[0].strip())


def _place(block: _Block, sources: Mapping[str, str]) -> tuple[int, int]:
    """Tell line and column in the user's own text; 0 for a column that is not to be told.

    What stands inside the ( ) of a macro is all told at the macro's own line.
    """
    text = sources.get(block.file, "")
    line = line_of(text, block.line)
    if not line:
        return block.line, 0
    if block.caret < 0:
        return block.line, _column_of_name(block, line)
    if block.excerpt[2:].rstrip() == line.rstrip():
        return block.line, block.caret - 1
    call = macro_call_at(text, block.line)
    code = text[offset_of(text, block.line) : call[1]] if call else line
    offset = _offset(block, code)
    if offset < 0:
        return block.line, 0
    return block.line + code.count("\n", 0, offset), offset - code.rfind("\n", 0, offset)


def _offset(block: _Block, code: str) -> int:
    """Tell where in the user's own code stands what the caret is under; -1 where that is not to be told."""
    shown = block.excerpt[2:]
    word = _word_at(block.excerpt, block.caret)
    if f"__{word}__" in code:  # __global__ is shown as __attribute__((global))
        word = f"__{word}__"
    if not word:
        return -1
    # Macros were expanded: look for the same word, the one that stands as many like it from the end.
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)" if word[0].isalnum() or word[0] == "_" else re.escape(word))
    behind = len(pattern.findall(mask(shown)[block.caret - 1 :]))
    places = [match.start() for match in pattern.finditer(mask(code))]
    return places[-1 - behind] if behind < len(places) else -1


def _column_of_name(block: _Block, line: str) -> int:
    """Find the name that a complaint without a caret is about."""
    message = _message(block)
    for name in re.findall(r"'(\w+)'", message):
        if found := re.search(rf"(?<!\w){name}(?!\w)", mask(line)):
            return found.start() + 1
    return 0


def _word_at(excerpt: str, caret: int) -> str:
    """Return the word or the single character above the caret."""
    if not 0 <= caret < len(excerpt):
        return ""
    word = re.match(r"\w+", excerpt[caret:])
    return word[0] if word else excerpt[caret]
