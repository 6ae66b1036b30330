"""Help for what is no C++ at all: Python's habits, and slips that a compiler reports as something else."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .compiler_log import Record
from .names import nearest
from .rules import Rules, line_at, text_of
from .source_text import at_file_scope, line_of, mask, words

rules = Rules()

_DIRECTIVES = re.findall(r"\w+", "include define if ifdef ifndef else elif endif pragma undef error line")
#: What clang++, g++ or nvcc says where a sentence of C++ goes on with something else.
_STUCK = r"^expected |^unexpected '"


def code_at(record: Record, sources: Mapping[str, str]) -> str:
    """Return the line that a record is about, with comments and strings blank."""
    return line_of(mask(text_of(record, sources)), record.line)


def _bracketed(code: str, opener: str) -> tuple[str, str] | None:
    """Return what stands in the brackets that `opener`, a pattern, opens, and what stands behind them on the line."""
    found = re.search(opener, code)
    depth = 1
    for index in range(found.end() if found else len(code), len(code)):
        depth += (code[index] == "(") - (code[index] == ")")
        if found and depth == 0:
            return code[found.end() : index], code[index + 1 :].strip()
    return None


# Python

_PYTHON_LINES = (
    (
        r"\braise\s+\w",
        'C++ has no raise: TORCH_CHECK(condition, "text") stops with a text where the condition is false.',
    ),
    (r"\bassert\s+[^(\s]", 'A condition is checked with TORCH_CHECK(condition, "text").'),
    (
        r"(?<![\w\"'])[fF]\"",
        'f"..." is Python: in TORCH_CHECK commas stand between the parts, elsewhere + and std::to_string(x).',
    ),
)


@rules.rule(r"^expected |was not declared|undeclared|unknown type|does not name")
def _own_module(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    module = "PYBIND11_MODULE" in code_at(record, sources)
    return "The binding is generated from the op: leave out this block of PYBIND11_MODULE." if module else ""


@rules.rule(r"^expected |was not declared|undeclared|unknown type|does not name")
def _python_line(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    line = line_at(record, sources)
    return next((cure for python, cure in _PYTHON_LINES if re.search(python, line)), "")


@rules.rule(
    r"from 'int' to '(?:const )?char|of type '(?:const )?char ?\*.*of type 'int'|character constant too long|multi-character"
    r"|'int' is incompatible with parameter of type 'const char"
)
def _single_quotes(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(?<![\w'])'([^'\\]{2,})'", line_at(record, sources))
    return f'A text stands in double quotes in C++: "{found[1]}".' if found else ""


@rules.rule(_STUCK)
def _python_division(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    text = text_of(record, sources)
    # The comment cuts a statement short, which then goes on in the next line: there a compiler may stumble.
    before = max(
        (number for number, line in enumerate(text.split("\n")[: record.line - 1], 1) if line.strip()), default=1
    )
    for number in (record.line, before):
        found = re.search(r"[\w)\]]\s*(//)\s*[\w(][\w.()\[\]]*\s*[;)]\s*$", line_of(text, number))
        if found:
            record.line, record.column = number, found.start(1) + 1
            return "In C++ // begins a comment: / divides, and whole numbers give a whole number."
    return ""


#: What PyTorch has as methods of tensors, and C++ as words of its own.
_DTYPES = {name: f"k{name.title()}" for name in ("double", "float", "int", "long", "short", "bool", "char")}


@rules.rule(r"^expected unqualified-id")
def _dtype_as_method(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(rf"\.\s*({'|'.join(_DTYPES)})\s*\(", code_at(record, sources))
    return f"{found[1]} is a word of C++, and no method: write x.to(at::{_DTYPES[found[1]]})." if found else ""


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
    inside = found[1].strip() if found else ""
    if inside.startswith("{"):
        return ""
    if (whole := _bracketed(inside, r"^\(")) and whole[1] == "":
        inside = whole[0]
    while inside != (shorter := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>]*>", "", inside)):
        inside = shorter
    return "Several values are returned in braces: return {a, b};." if "," in inside else ""


@rules.rule(r"expected '\]'|^expected (?:primary-)?expression|^subscripted value is not an array|no operator '\[\]'")
def _slice(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(\w+)\s*\[([^\[\]:?]*)(?<!:):(?!:)([^\[\]:]*)\]", code_at(record, sources))
    if found is None:
        return ""
    return f"C++ has no slices in [ ]: rows a to b of a tensor are {found[1]}.slice(0, a, b), column j is {found[1]}.select(1, j)."


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


_OPERATORS = {"=<": "<=", "=>": ">=", "===": "==", "!==": "!=", "<>": "!=", "=*": "*=", "=/": "/="}


@rules.rule(r"^expected (?:primary-)?expression|^expected an expression|unary '\*'")
def _operator_misspelt(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(?<=[\w)\] ])(===|!==|=<|=>|<>|=/|=\*(?= ))\s*[\w(-]", code_at(record, sources))
    return f"C++ writes {_OPERATORS[found[1]]}, not {found[1]}." if found else ""


@rules.rule(r"^expected .*':'|^expected ';' at end of declaration")
def _choice_turned(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    turned = re.search(r"(?:=|return)[^?;]*[^:?;]:[^:][^?;]*\?", code_at(record, sources))
    return "The '?' comes first, then the ':': condition ? value : other." if turned else ""


@rules.rule(
    r"^expected (?:primary-)?expression(?: before '\.'|$)|^unexpected namespace name '\w+'|type name is not allowed"
    r"|does not refer to a value"
)
def _dot_behind_namespace(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(?<![\w.:>])(std|at|torch|c10)\.(\w+)", code_at(record, sources))
    if not found:
        for name, member in re.findall(r"(?<![\w.:>])([A-Za-z_]\w*)\.(\w+)", code_at(record, sources)):
            kind = re.search(
                rf"\b(enum|struct|class|namespace)\s+(?:class\s+|struct\s+)?{name}\b", mask(text_of(record, sources))
            )
            if kind and kind[1] in ("struct", "class"):
                return f"'{name}' is a type, and only its objects have members: {name} g; and then g.{member}."
            if kind:
                return f"Behind '{name}' stands '::', not a dot: {name}::{member}."
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


@rules.rule(_STUCK + r"|redefinition|redeclaration|conflicting|unused")
def _parts_of_for(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    head = _bracketed(code_at(record, sources), r"\bfor\s*\(")
    if head is None or not re.search("[=;]", head[0]) or head[0].count(";") == 2 or re.search(r"\{|[^:]:[^:]", head[0]):
        return ""
    return "The three parts of a for are separated by two ';': for (int64_t i = 0; i < n; ++i)."


@rules.rule(_STUCK + r"|label")
def _head_and_more(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    code = code_at(record, sources)
    head = _bracketed(code, r"\b(?:if|while)\s*\(")
    if head and re.match(r"(?:&&|\|\||==|!=|<=?|>=?|(?:and|or)\b)", head[1]):
        return "All of the condition stands in one more pair of ( ): if ((a) && (b))."
    if found := re.search(r"\breduction\s*\(\s*(\w+)\s*\)", code):
        return f"A reduction names its operator: reduction(+ : {found[1]})."
    if re.search(r"\belse\s*\(.*\)\s*\{", code):
        return "else takes no condition: write else if (...)."
    if re.match(r"\s*(?!for\b)[\w:]+[\w:<>*&\s]*\s\w+\s*\([^()]*\w\s*;[^()]*\)\s*\{?\s*$", code):
        return "The parameters of a function are separated by ','."
    return ""


_TYPE = (
    r"(?<!\w)(?:const\s+)?(?:float|double|int|long|bool|char|auto|unsigned|size_t|u?int\d+_t|scalar_t"
    r"|(?:at|std)::\w+(?:<[^;{}()]*>)?)(?!\w)[*&]*"
)
_WORDS = (
    "new|delete|default|class|template|this|and|or|not|xor|switch|case|private|public|protected|typename|union|enum|struct|using"
    "|namespace|export|friend|goto|try|catch|throw|explicit|virtual|register|return|if|else|for|while|do|break|continue|typedef"
)


@rules.rule(r"^expected |declar|^invalid parameter name|literal operator|invalid suffix|invalid digit|keyword")
def _bad_name(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    code = code_at(record, sources)
    if word := re.search(rf"{_TYPE}\s+[*&]*({_WORDS})\s*[=;,)\[]", code):
        return f"'{word[1]}' is a word of C++ itself: choose another name."
    if re.search(rf"{_TYPE}\s+[*&]*\d+[A-Za-z_]\w*\s*[=;,)\[]", code):
        return "A name does not begin with a digit."
    if name := re.search(rf"{_TYPE}\s+[*&]*(\w+)\s*[-.+]\s*(\w+)\s*=(?!=)", code):
        return f"A name has letters, digits and _ only, as in {name[1]}_{name[2]}."
    if "expected" in match[0] and re.match(rf"\s*{_TYPE}\s+\w+\s*(?:=[^;()]*)?,\s*{_TYPE}\s+\w+", code):
        return "A declaration has one type: put a ';' in place of the ',', and the second one begins anew."
    return ""


@rules.rule(
    r"^expected (?:primary-expression before '\w|'\(' for function-style cast|expression$|parentheses around type)"
)
def _type_for_value(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    code = code_at(record, sources)
    if found := re.search(rf"\bsizeof\s+({_TYPE})", code):
        return f"The type stands in ( ): sizeof({found[1]})."
    if found := re.search(r"(\w+)(\.|->)(\w+)<\s*$", code[: max(record.column - 1, 0)]):
        return f"What '{found[1]}' is depends on a template, so say that a type follows: {found[1]}{found[2]}template {found[3]}<...>()."
    if re.search(rf"\b(?:to|dtype|zeros|ones|empty|full|TensorOptions)\s*\((?:[^;]*[^\w;])?{_TYPE}\s*[,)]", code):
        return "A dtype is named by a constant: at::kFloat, at::kDouble, at::kLong, ..."
    if re.search(rf"\w\s*\((?:[^()]*,)?\s*{_TYPE}\s+[*&]*\w+\s*[,)]", code):
        return "In a call the arguments stand without their types."
    return ""


@rules.rule(
    r"^expected (?:unqualified-id|a declaration|constr)|does not name a type|^unknown type name|requires a type specifier"
)
def _outside(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    """Tell of a statement at file scope."""
    text = text_of(record, sources)
    if not at_file_scope(text, record.line) or not re.match(
        r"\s*(?:(?:for|if|while|switch|return|do|else)\b|[\w.]+(?:\[[^\]]*\])*\s*(?:[-+*/]?=(?!=)|\+\+|--))|std::\w+\s*<<",
        code_at(record, sources),
    ):
        return ""
    if re.match(r"\s*#\s*define\b.*[^\\\s]\s*$", line_of(mask(text), record.line - 1)):
        return "A macro ends where its line ends: put a backslash at the end of each of its lines but the last."
    return "A statement stands inside a function: move it into one, or look for a '}' too many ahead of it."


@rules.rule(r"^expected unqualified-id|^expected an identifier")
def _decimal_comma(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"[=(,]\s*-?(\d+),(\d+)", code_at(record, sources))
    return f"Write the number with a point: {found[1]}.{found[2]}." if found else ""


@rules.rule(
    r"unable to find numeric literal|no matching literal operator|invalid suffix '|user-defined literal operator not found"
)
def _number_on_name(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    text = text_of(record, sources)
    if found := re.search(r"(?<!\w)(\d+)_(\d+)", code_at(record, sources)):
        return f"The digits of a number are grouped with ', not with _: {found[1]}'{found[2]}."
    for number, name in re.findall(r"(?<![\w.])(\d+(?:\.\d*)?)([A-Za-z_]\w*)", code_at(record, sources)):
        if name in words(text):
            return f"A product needs its *: {number} * {name}."
    return ""


@rules.rule(_STUCK + r"|was not declared|undeclared")
def _define(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    """Find the macro of this line whose definition has a slip in it, and show that."""
    text = mask(text_of(record, sources))
    here = set(re.findall(r"\w+", code_at(record, sources)))
    missed = set(re.findall(r"'(\w+)'", record.message))
    for found in re.finditer(
        r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:(?:\([^)\n]*\))?[^\n]*(;)[ \t]*$|[ \t]*(=)|([ \t]+)\(([\w, ]*)\))",
        text,
        re.MULTILINE,
    ):
        if found[1] not in here or (found[4] and missed.isdisjoint(re.findall(r"\w+", found[5]))):
            continue
        at = found.start(2) if found[2] else found.start(3) if found[3] else found.start(4)
        record.line, record.column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        if found[4]:
            return f"Take away the blank ahead of this '(': with it, '{found[1]}' has no parameters."
        return f"Take away this '{found[2] or found[3]}': it is put in wherever '{found[1]}' stands."
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
    if not named and "forbids" not in match[0]:
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


@rules.rule(
    r"cannot bind non-const lvalue reference of type '(.*?)' to (?:an rvalue|a value)|initial value of reference to non-const"
    r"|^non-const lvalue reference to type .* cannot bind"
)
def _reference_to_value(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    if re.match(r"\s*[\w:<>, ]+&\s*\w+\s*[={(]", code_at(record, sources)):
        return "A reference needs a variable, and this is a value that is gone at once: take the & away, or write const ...&."
    return "The function may change what it is given, and this is no variable: put it into one first, or take it as const ...&."


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
    r"break statement used with OpenMP|'break' statement cannot be used in OpenMP|(?:branch to/from|exit from|return from) OpenMP",
    "A loop of OpenMP cannot be left: its iterations run at the same time. Take the pragma away, or what leaves the loop.",
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


@rules.rule(r"^jump to label|^cannot jump from this goto")
def _jump(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    goto = next((note for note in record.notes if "from here" in note.message), None)
    if goto:
        record.line, record.column = goto.line, goto.column
    return (
        "The jump passes over the declaration of a variable: declare that ahead of the goto, or put { } around its use."
    )


rules.fixed(
    r"invalid cast from type 'const char ?\*'|cast from 'const char ?\*' to '\w+' is not allowed",
    "A text is no number: infinity is INFINITY of <cmath>, and std::stof(...) reads a number from a text.",
)
rules.fixed(
    r"^label '(\w+)' used but not defined|^use of undeclared label '(\w+)'",
    r"There is no '\1\2:' in this function for the goto to go to.",
)
rules.fixed(
    r"^switch quantity not an integer|^statement requires expression of integer type",
    "switch is for whole numbers and enums: compare with if (...) ... else if (...).",
)
rules.fixed(
    r"^use of '(\w+)' before deduction of 'auto'|^variable '(\w+)' declared with deduced type '.*' cannot appear in its own",
    r"A lambda does not know its own name: make '\1\2' a function of its own, or a std::function with its types.",
)
rules.fixed(
    r"^reference to local binding '(\w+)' declared in enclosing",
    r"clang++ lets no lambda capture '\1' of auto [...]: begin the lambda with [&, &\1 = \1].",
)
rules.fixed(
    r"^cannot decompose",
    "auto [...] takes tuples, pairs, arrays and plain structs apart: take each value by itself here, as in x.size(0).",
)
rules.fixed(
    r"^for statement expected before|^statement after '#pragma omp.*' must be a for loop",
    "Behind this pragma of OpenMP comes the for itself, with nothing between them.",
)
rules.fixed(
    r"^initializer list cannot be used on the right hand side of operator",
    "Braces alone have no type that could be compared: name it, as in at::IntArrayRef({2, 3}).",
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


@rules.rule(
    r"not a constant expression|usable in a constant expression|template argument is not a constant|by a constant expression"
    r"|call to non-'constexpr' function|integral constant expression"
)
def _known_too_late(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    code = code_at(record, sources)
    if found := re.search(r"\b(AT_DISPATCH_\w+_AND\d?)\s*\(\s*(\w+)\.scalar_type\(\)", code):
        return f"This dispatch takes its extra dtypes first: {found[1]}(at::kHalf, {found[2]}.scalar_type(), ...)."
    cures = {
        r"\bconstexpr\b": "constexpr is for values that are known when the text is compiled: write const.",
        r"\bcase\b": "A case names a value that is known when the text is compiled: compare with if (...) ... else if (...).",
        r"\bstd::array\s*<": "The size of a std::array is known when the text is compiled: for another one take std::vector<float> v(n).",
    }
    told = (cure for what, cure in cures.items() if re.search(what, code))
    return next(told, "This has to be known when the text is compiled: a number, or a constexpr.")


@rules.rule(
    r"^expected (?:primary-)?expression before '\{'|^expected (?:identifier|variable name)|^capture default must be first"
)
def _braces_and_captures(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    code = code_at(record, sources)
    if re.search(r"[=!]=\s*\{", code):
        return "Braces alone have no type that could be compared: name it, as in at::IntArrayRef({2, 3})."
    if found := re.search(r"\[([\w, ]+),\s*([&=])\s*\]", code):
        return f"What captures all the rest stands first: [{found[2]}, {found[1]}]."
    return ""
