"""Help for what is no C++ at all: Python's habits, and slips that a compiler reports as something else."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .compiler_log import Record
from .names import nearest
from .rules import Rules, line_at, text_of
from .source_text import line_of, mask, words

rules = Rules()

_DIRECTIVES = re.findall(r"\w+", "include define if ifdef ifndef else elif endif pragma undef error line")
#: What clang++, g++ or nvcc says where a sentence of C++ goes on with something else.
_STUCK = r"^expected |^unexpected '"


def code_at(record: Record, sources: Mapping[str, str]) -> str:
    """Return the line that a record is about, with comments and strings blank."""
    return line_of(mask(text_of(record, sources)), record.line)


# Python


@rules.rule(
    r"from 'int' to '(?:const )?char|of type '(?:const )?char ?\*.*of type 'int'|character constant too long|multi-character"
    r"|'int' is incompatible with parameter of type 'const char"
)
def _single_quotes(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(?<![\w'])'([^'\\]{2,})'", line_at(record, sources))
    return f'A text stands in double quotes in C++: "{found[1]}".' if found else ""


@rules.rule(_STUCK)
def _python_division(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    if not re.search(r"[\w)\]]\s*//\s*[\w(][\w.()\[\]]*\s*[;)]", line_at(record, sources)):
        return ""
    return "In C++ // begins a comment: / divides, and whole numbers give a whole number."


@rules.rule(_STUCK)
def _python_choice(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    python = re.search(r"(?:=|return|\()\s*[^;=]*[\w)\]]\s+if\b.*\belse\b", code_at(record, sources))
    return "C++ writes this choice as: condition ? value : other." if python else ""


@rules.rule(r"^expected '\('")
def _condition(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"\b(if|while|switch|for)\s+(?!constexpr\b)(\w+)(\s+in\b)?", code_at(record, sources))
    if not found:
        return ""
    if found[1] == "for":
        counter = found[2] if found[3] else "i"
        return f"A loop over numbers is: for (int64_t {counter} = 0; {counter} < n; ++{counter}) {{ ... }}."
    return f"What stands behind '{found[1]}' needs ( ) around it."


@rules.rule(r"^expected (?:primary-)?expression(?: before ':'|$)|^expected (?:an expression|a statement)")
def _colon(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    code = code_at(record, sources)
    if re.match(r"\s*(?:\}\s*)?(?:if|for|while|else)\b.*:\s*$", code):
        return "Take away the ':': a block of C++ stands in { }."
    return ""


@rules.rule(r"invalid preprocessing directive|unrecognized preprocessing directive")
def _hash(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.match(r"\s*#\s*(\w+)", line_at(record, sources))
    near = nearest(found[1], _DIRECTIVES) if found else ""
    return f"Did you mean #{near}?" if near else "A comment begins with //; a # begins an instruction such as #include."


@rules.rule(r"^module '(\w+)' not found|(?:'|identifier ')(?:import|from)'")
def _import(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    python = re.match(r"\s*(?:import|from)\s+\w", line_at(record, sources))
    return "'import' is Python: C++ names a header, as in #include <cmath>." if python else ""


@rules.rule(r"\bconver(?:t|sion)\b")
def _several_values(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"\breturn\b([^;{]*);", code_at(record, sources))
    inside = found[1] if found else ""
    while inside != (shorter := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>]*>", "", inside)):
        inside = shorter
    return "Several values are returned in braces: return {a, b};." if "," in inside else ""


@rules.rule(r"expected '\]'|^subscripted value is not an array|no operator '\[\]'")
def _slice(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(\w+)\s*\[([^\[\]:?]*)(?<!:):(?!:)([^\[\]:]*)\]", code_at(record, sources))
    return f"C++ has no slices in [ ]: the rows a to b of a tensor are {found[1]}.slice(0, a, b)." if found else ""


@rules.rule(r"empty character constant|missing terminating ' character|^expected (?:expression|an expression)$")
def _three_quotes(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    if re.match(r"\s*(?:'''|\"\"\")", line_at(record, sources)):
        return "Three quotes are Python: a comment of several lines stands between /* and */."
    return ""


@rules.rule(r"^expected (?:identifier|variable name|an identifier|expression|an expression)")
def _list(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    python = re.search(
        r"(?:=|\breturn\b|[(,])\s*\[\s*(?:-?[\d.]+f?|\w+\s*,[^\[\]]*)?[^\[\]&=]*\]\s*[;,)]", code_at(record, sources)
    )
    return "A list of values stands in braces: {1, 2, 3}." if python else ""


@rules.rule(
    r"^expected identifier before|^expected unqualified-id before '\['|^brackets are not allowed here|^expected an identifier"
)
def _array_type(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"\b(float|double|int|int64_t|bool)\s*\[(\w*)\]\s*(\w+)\s*(\(?)", code_at(record, sources))
    if found is None:
        return ""
    if found[4]:
        return f"A function cannot return an array: it returns a std::array<{found[1]}, {found[2] or 3}>, or writes through a pointer."
    return f"The brackets of an array stand behind its name: {found[1]} {found[3]}[{found[2]}]."


@rules.rule(r"comparison between pointer and integer|operand types are incompatible")
def _character(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"[=!]=\s*\"(\\?[^\"])\"", line_at(record, sources))
    return f"A single character stands in single quotes: '{found[1]}'." if found else ""


@rules.rule(r"stray '@'|unexpected character|unrecognized token|^expected ")
def _matrix_product(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    python = re.search(r"[\w)\]]\s*@\s*[\w(]", code_at(record, sources))
    return "C++ has no @ for matrices: write at::matmul(a, b)." if python else ""


@rules.rule(r"has no initializer|requires an initializer|cannot deduce 'auto' type")
def _taken_apart(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"\bauto\s+(\w+(?:\s*,\s*\w+)+)\s*=", code_at(record, sources))
    return f"Several values are taken apart with brackets: auto [{found[1]}] = ..." if found else ""


@rules.rule(_STUCK)
def _left_to_write(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    left = re.search(r"(?:=|\breturn\b|[(,])\s*(?:\.\.\.|\u2026)\s*[;,)]", code_at(record, sources))
    return "The '...' stands for what is yet to be written: put an expression in its place." if left else ""


# Punctuation


@rules.rule(r"before '==' token|^invalid '==' at end of declaration|^expected ")
def _double_equals(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    begins = re.match(r"\s*(?:const )?[\w:]+[*&]*\s+[*&]?\w+\s*==", code_at(record, sources))
    return "A single '=' gives a value: '==' only compares." if begins and "return" not in begins[0] else ""


@rules.rule(r"^expected (?:primary-)?expression|^expected an expression")
def _comparison_turned(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"[\w)\]]\s*=([<>])\s*[\w(-]", code_at(record, sources))
    return f"The comparison is written {found[1]}=, not ={found[1]}." if found else ""


@rules.rule(
    r"^expected (?:primary-)?expression(?: before '\.'|$)|^unexpected namespace name '\w+'|type name is not allowed"
)
def _dot_behind_namespace(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(?<![\w.:>])(std|at|torch|c10)\.(\w+)", code_at(record, sources))
    if not found:
        return ""
    space = "at" if found[1] == "torch" else found[1]
    return f"Behind the name of a namespace stands '::', not a dot: {space}::{found[2]}."


@rules.rule(r".")
def _single_colon(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(?<![\w:?])\b(std|at|torch|c10):(?!:)\s*(\w+)", code_at(record, sources))
    return (
        f"A namespace takes two colons, '::': write {found[1]}::{found[2]}."
        if found and record.severity == "error"
        else ""
    )


@rules.rule(r"^expected unqualified-id|^expected a declaration")
def _semicolon_behind_head(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    before = code_at(record, sources)[: max(record.column - 1, 0)]
    if re.search(r"\)\s*;\s*$", before):
        return "Take away the ';' ahead of this '{': it ends the function before its body."
    return ""


@rules.rule(r"^expected |redefinition|redeclaration|conflicting|unused")
def _commas_in_for(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"\bfor\s*\(([^;]*)\)\s*[^;()]*", code_at(record, sources))
    if found and found[1].count(",") >= 2 and ";" not in found[1] and "=" in found[1]:
        return "The three parts of a for are separated by ';': for (int64_t i = 0; i < n; ++i)."
    return ""


@rules.rule(r"^expected unqualified-id|^expected an identifier")
def _decimal_comma(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"[=(,]\s*-?(\d+),(\d+)", code_at(record, sources))
    return f"Write the number with a point: {found[1]}.{found[2]}." if found else ""


@rules.rule(r"unable to find numeric literal operator|invalid suffix '|user-defined literal operator not found")
def _number_on_name(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    text = text_of(record, sources)
    for number, name in re.findall(r"(?<![\w.])(\d+(?:\.\d*)?)([A-Za-z_]\w*)", code_at(record, sources)):
        if name in words(text):
            return f"A product needs its *: {number} * {name}."
    return ""


@rules.rule(_STUCK)
def _semicolon_in_define(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    """Find the macro of this line that brings a ';' along, and show its definition."""
    text = mask(text_of(record, sources))
    here = set(re.findall(r"\w+", code_at(record, sources)))
    for found in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^)\n]*\))?[^\n]*;[ \t]*$", text, re.MULTILINE):
        if found[1] in here:
            record.line, record.column = text.count("\n", 0, found.end()) + 1, len(found[0].rstrip())
            return f"Take away this ';': it is put in wherever '{found[1]}' stands."
    return ""


@rules.rule(r"^expected '(?:\)|>>>)'")
def _missing_comma(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    if "before string" in record.message or line_at(record, sources)[max(record.column - 1, 0) :].startswith('"'):
        return "Ahead of this text in quotes a ',' is missing."
    for pair in re.finditer(r"(?<![\w.])([\w.]+)\s+(?=([\w.]+))", code_at(record, sources)):
        at = record.column - 1  # g++ points behind the first, the others to the second
        if pair.end(1) <= at <= pair.end() and pair[1] not in ("return", "const", "unsigned"):
            return f"Between '{pair[1]}' and '{pair[2]}' a ',' is missing, or an operator."
    return ""


# Functions


@rules.rule(r"function[- ]definition is not allowed here")
def _function_inside(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(\w+)\s*\(([^()]*)\)\s*\{", code_at(record, sources))
    example = f", auto {found[1]} = [&]({found[2]}) {{ ... }};" if found else ""
    return f"A function cannot stand inside another: move it out, or write a lambda{example}."


@rules.rule(
    r"forbids declaration of '\w+' with no type|requires a type specifier|^no template named '(?:forward|backward)'"
)
def _no_return_type(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    named = re.match(r"\s*(\w+)\s*\(", code_at(record, sources))
    if not named and "no template" in match[0]:
        return ""
    return "Write the type of what it returns ahead of its name: void, float, at::Tensor, ..."


rules.fixed(
    r"^declaration of 'auto &?(\w+)' has no initializer|variable '(\w+)' with deduced type 'auto.*' requires an initializer"
    r"|cannot deduce 'auto' type",
    r"auto takes its type from a value: give '\1\2' one here, or write its type in place of auto.",
)
rules.fixed(
    r"^(?:break|continue) statement not within|^'(?:break|continue)' statement not in|(?:break|continue) statement may only",
    "break and continue stand inside a loop: to leave the function, write return.",
)


@rules.rule(r"inconsistent types '(.*?)' and '(.*?)' deduced|return type '(.*?)' must match previous return type")
def _two_results(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    return (
        f"The lambda returns two types: write the one that is meant behind its parameters, -> {match[2] or match[3]}."
    )


rules.fixed(
    r"cannot bind non-const lvalue reference of type '(.*?)' to an rvalue|initial value of reference to non-const",
    "The function may change what it is given, and this is no variable: put it into one first, or take it as const ...&.",
)
rules.fixed(
    r"\bis private within this context|is a private member of|\(declared at line \d+\) is inaccessible",
    "The members of a class are private: write public: ahead of them, or struct in place of class.",
)
rules.fixed(
    r"declared as reference but not initialized|declaration of reference variable|uninitialized 'const|of an object of const type",
    "A reference or a constant gets its value where it is declared, and keeps it.",
)
rules.fixed(
    r"^invalid controlling predicate|condition of OpenMP for loop must be",
    "A loop of OpenMP compares its counter with a limit: for (int64_t i = 0; i < n; ++i).",
)
rules.fixed(
    r"break statement used with OpenMP|'break' statement cannot be used in OpenMP",
    "A loop of OpenMP cannot be left: its iterations run at the same time. Take the pragma away, or the break.",
)
rules.fixed(
    r"^too many initializers for|^excess elements in array|^too many initializer values",
    "The braces hold more values than there are elements: make the array longer, or take values away.",
)
rules.fixed(r"^expected '>'$", "A '<' of a template is never closed: add the '>' behind its types.")
rules.fixed(
    r"^jump to case label|cannot jump from switch statement|^transfer of control bypasses initialization",
    "A variable of one case would be seen by the next: put { } around the statements of the case that declares it.",
)
rules.fixed(r"^duplicate case value", "This case stands in the switch already: take one of the two away.")
rules.fixed(
    r"^default argument missing for parameter|^missing default argument on parameter",
    "Behind a parameter with a default all others need one too: move those without to the front.",
)
rules.fixed(
    r"^class template argument deduction failed|no viable constructor or deduction guide for deduction",
    "The types of this template are to be told from no value: write them between < and >, as in std::vector<float>.",
)
rules.fixed(
    r"no match for 'operator\[\]' \(operand types are 'std::(?:tuple|pair)<|type 'std::(?:tuple|pair)<.*' does not provide a subscript",
    "A tuple has no [ ]: std::get<0>(t) is its first value, and auto [a, b] = t takes it apart.",
)


@rules.rule(r"^'begin' was not declared|^invalid range expression of type '[^']*\*'")
def _range_of_pointer(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    if not re.search(r"\bfor\s*\([^;]*[^:]:[^:]", code_at(record, sources)):
        return ""
    return "A pointer does not know how many values there are: for (int64_t i = 0; i < n; ++i)."
