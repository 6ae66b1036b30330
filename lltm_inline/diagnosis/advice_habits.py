"""Help for what is no C++ at all: Python's habits, and slips that a compiler reports as something else."""

from __future__ import annotations

import re

from ..cpp.masks import closing
from .compiler_log import Record
from .names import corrected, is_near
from .rules import Rules
from .source_text import definition, heads_around, line_of, mask, offset_of, position

_DIRECTIVES = re.findall(r"\w+", "include define if ifdef ifndef else elif endif pragma undef error line")
_TYPE = (
    r"(?<!\w)(?:const\s+)?(?:float|double|int|long|bool|char|auto|unsigned|size_t|u?int\d+_t|scalar_t"
    r"|(?:at|std)::\w+(?:<[^;{}()]*>)?)(?!\w)[*&]*"
)
#: What clang++, g++ or nvcc says where a sentence of C++ goes on with something else.
_STUCK = r"^expected |^unexpected '"
_WORDS = (
    "new|delete|default|class|template|this|and|or|not|xor|switch|case|private|public|protected|typename|union|enum|struct|using"
    "|namespace|export|friend|goto|try|catch|throw|explicit|virtual|register|return|if|else|for|while|do|break|continue|typedef"
)
#: Brackets in brackets, and what stands in those of a `for` besides its ';'.
_INSIDE, _PART = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*", r"(?:[^(){};:]|::|\([^()]*\))*"
#: What no line outside of a function begins with.
_STATEMENT = (
    r"\s*(?:(?:for|if|while|switch|return|do|else)\b|[\w.]+(?:\[[^\]]*\])*\s*(?:[-+*/]?=(?!=)|\+\+|--))|.*std::\w+\s*<<"
)
rules = Rules(TYPE=_TYPE, STUCK=_STUCK, WORDS=_WORDS, INSIDE=_INSIDE, PART=_PART, STATEMENT=_STATEMENT)


# Python

rules.table(r"""
^expected |was not declared|undeclared|unknown type|does not name|with deduced type|has no initializer|requires a type spec
  in \bPYBIND11_MODULE\b
    The binding is generated from the op: leave out this block of PYBIND11_MODULE.
  in \bis\s+(?:not\s+)?None\b
    'is None' is Python: x.has_value() asks an optional, x.defined() a tensor, and p == nullptr a pointer.
  in \braise\s+\w
    C++ has no raise: TORCH_CHECK(condition, "text") stops with a text where the condition is false.
  in \bassert\s+[^(\s]
    A condition is checked with TORCH_CHECK(condition, "text").
  in \bif\s*\(.*\)\s*then\b
    C++ has no then: after the ( ) of an if comes what is to be done, in { }.
  in \bfor(?:each)?\s*\(\s*(?:(?:const\s+)?[\w:]+[&*]*\s+)?(\w+)\s+(?:in|of)\s+([\w.]+)
    C++ goes through values with a colon: for (const auto& \1 : \2).
  in (\w+)\s*:=
    C++ has no ':=': where the name is new, auto \1 = ..., and later \1 = ...
  in ^\s*(?:static\s+)?(const|constexpr|static)\s+(\w+)\s*=(?!=)
    The type is missing: \1 auto \2 = ... takes that of the value.
  in (?:^|\})\s*except\b
    C++ has no except: write catch (const std::exception& e) { ... }.
  in ^\s*(?:end|fi|done)\s*;?\s*$
    A block ends with '}'.
  in ^\s*(include(?=\s*[<"])|(?:pragma|define|undef|ifdef|ifndef|endif)\b(?!\s*(?:[=.;(\[]|$)))
    A # is missing: #\1.
  in \b(?:if|while)\s*\(\s*(?:not\s+)?[\w.]+\s+(?:not\s+)?in\s+(\w+)\s*\)
    'in' is Python: std::find(\1.begin(), \1.end(), value) != \1.end(), with #include <algorithm>, tells whether it is there.
  line (?<![\w"'])[fF]"
    f"..." is Python: in TORCH_CHECK commas stand between the parts, elsewhere + and std::to_string(x).
'int'|character constant too long|multi-character
  line (?<![\w'])'([^'\\]{2,})'
    A text stands in double quotes in C++: "\1".
""")


@rules.rule(_STUCK)
def _python_division(match: re.Match[str], record: Record) -> str:
    text = record.text
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


@rules.rule(r"^expected unqualified-id")
def _dtype_as_method(match: re.Match[str], record: Record) -> str:
    found = re.search(r"\.\s*(double|float|int|long|short|bool|char)\s*\(", record.code)
    return f"{found[1]} is a word of C++, and no method: write x.to(at::k{found[1].title()})." if found else ""


rules.table(r"""
^expected |^unexpected '
  in (?:=|return|\()\s*[^;=]*[\w)\]]\s+if\b.*\belse\b
    C++ writes this choice as: condition ? value : other.
^expected
  in [*&]\s*restrict\b
    'restrict' is C: these compilers call it __restrict__ in C++.
^expected '\('
  in \belse\s+if\s*\{
    else if takes a condition, else if (...) {, and the last way is else { alone.
  in ^(?!\s*#).*\bfor\s+(\w+)\s+in\b
    A loop over numbers is: for (int64_t \1 = 0; \1 < n; ++\1) { ... }.
  in ^(?!\s*#).*\b(if|while|switch|for)\s+(?!constexpr\b)\w
    What stands behind '\1' needs ( ) around it.
""")


@rules.rule(r"^expected |was not declared|undeclared")
def _keyword_misspelt(match: re.Match[str], record: Record) -> str:
    code = record.code
    found = re.match(r"\s*(?:\}\s*)?(\w+)\s*\((?=.*;.*\)|.*\)\s*\{\s*$)", code)
    keywords = ("for", "while", "if", "switch")
    if found is None or found[1] in keywords or definition(record.text, found[1]):
        return ""
    near = [word for word in keywords if is_near(found[1], word) or sorted(found[1]) == sorted(word)]
    return f"Did you mean '{near[0]}'?" if near else ""


rules.table(r"""
^expected |was not declared|undeclared|unknown type
  in (?:^\s*|[(,]\s*)(?!default\b|public\b|private\b)(\w+)\s*:\s*(float|int|double|bool)\b
    In C++ the type stands before the name: \2 \1.
^expected (?:primary-)?expression(?: before ':'|$)|^expected (?:an expression|a statement)
  in ^\s*(?:\}\s*)?(?:if|for|while|else)\b.*:\s*$
    Take away the ':': a block of C++ stands in { }.
""")


@rules.rule(r"invalid preprocessing directive|unrecognized preprocessing directive")
def _hash(match: re.Match[str], record: Record) -> str:
    word = next(iter(re.findall(r"\w+", record.row)), "")
    near = {"elseif": "elif", "elsif": "elif", "import": "include"}.get(word) or corrected(word, _DIRECTIVES)
    return f"Did you mean #{near}?" if near else "A comment begins with //; a # begins an instruction such as #include."


rules.table(r"""
^module '(\w+)' not found|(?:'|identifier ')(?:import|from)'
  in ^\s*(?:import|from)\s+\w
    'import' is Python: C++ names a header, as in #include <cmath>.
\bconver(?:t|sion)\b
  in \breturn\b\s*\(?(?:[^;{}()\[\]<>,]|\(INSIDE\)|\[[^\[\]]*\]|<[^<>]*>)*,[^;{]*;
    Several values are returned in braces: return {a, b};.
expected '\]'|^expected (?:primary-)?expression|^subscripted value is not an array|no operator '\[\]'
  in (\w+)\s*\[[^\[\]:?]*(?<!:):(?!:)[^\[\]:]*\]
  text \b(std::vector<[^;(){}]*>)&?\s+%1\b
    C++ has no slices in [ ]: \2(\1.begin() + a, \1.begin() + b) copies a part.
expected '\]'|^expected (?:primary-)?expression|^subscripted value is not an array|no operator '\[\]'
  in (\w+)\s*\[([^\[\]:?]*)(?<!:):(?!:)([^\[\]:]*)\]
    C++ has no slices in [ ]: rows a to b of a tensor are \1.slice(0, a, b), column j is \1.select(1, j).
empty character constant|missing terminating ' character|^expected\b
  line ^\s*(?:'{3}|"{3})
    Three quotes are Python: a comment of several lines stands between /* and */.
^expected (?:identifier|variable name|an identifier|expression|an expression|'\{' before|body of lambda)
capture list$
  in (?:=|\breturn\b|[(,])\s*\[\s*(?:-?[\d.]+f?|\w+\s*,[^\[\]]*)?[^\[\]&=]*\]\s*[;,)]
    A list of values stands in braces: {1, 2, 3}.
^expected
  in =\s*\{[^{}]*\}\s*\*
    A list is not repeated by *: std::vector<float> v(n, 0.0f) holds a value n times.
  in \b(\w+_cast)\s*<([^<>]*)>\s*(\w+(?:\[[^\]]*\])?)
    The value of a cast stands in ( ): \1<\2>(\3).
^expected identifier before|^expected unqualified-id before '\['|^brackets are not allowed here|^expected an identifier
^structured binding declaration cannot have type
  in \b(float|double|int|int64_t|bool)\s*\[\w*\]\s*\w+\s*\(
    A function cannot return an array: it returns a std::array<\1, 3>, or writes through a pointer.
  in \b(float|double|int|int64_t|bool)\s*\[(\w*)\]\s*(\w+)
    The brackets of an array stand after its name: \1 \3[\2].
comparison between pointer and integer|operand types are incompatible
  line [=!]=\s*"(\\?[^"])"
    A single character stands in single quotes: '\1'.
comparison between pointer and integer
  in .
    A pointer is compared with a number here: one of the values that it leads to is taken with [ ], as in p[i].
stray '@'|unexpected character|unrecognized token|^expected
  in [\w)\]]\s*@\s*[\w(]
    C++ has no @ for matrices: write at::matmul(a, b).
has no initializer|requires an initializer|cannot deduce 'auto' type|was not declared|undeclared|^expected '\)'
  in (?:\bauto\s+\(?|^\s*\(?)(\w+(?:\s*,\s*\w+)+)\)?\s*=
    Several values are taken apart with brackets: auto [\1] = ...
^expected |^unexpected '
  in (?:=|\breturn\b|[(,])\s*(?:\.\.\.|\u2026)\s*[;,)]
    The '...' stands for what is yet to be written: put an expression in its place.
""")

# Punctuation

rules.table(r"""
before '==' token|^invalid '==' at end of declaration|^expected\b
  in ^\s*(?!return\b)(?:const )?[\w:]+[*&]*\s+[*&]?\w+\s*==
    A single '=' gives a value: '==' only compares.
^expected (?:primary-)?expression|^expected an expression
  in [\w)\]]\s*(?:([<>!=+*/-])\s+=(?!=)|=\s+([<>])(?!=))
    Write \1\2= without a blank in it.
^stray '\\'|^expected
  in [\w)\]]\s*\\\s*[\w(]
    A \\ is no operator: / divides.
^expected|^wrong number of template arg|^too few template arg|^type name requires|^template argument list|^parse error in template
passed \d+ arguments, but takes|^too many arguments provided to function-like macro
  in \b(?:TORCH_\w+|AT_ASSERT|assert)\s*\((?!\s*\()[^;]*(?:\w<[^<>();]*,[^<>();]*>\s*(?:::|\()|_v<[^<>();]*,[^<>();]*>)
    A macro takes the comma between < and > for one of its own: put ( ) around the whole condition.
^expected ':'
  in (?:^|[{;])\s*(?:case\s+\w+|default)\b(?!\s*:)
    Behind the value of a case stands a ':', as in case 0: return x.
  in \?
    A choice names two values: condition ? value : other.
^expected |declar|does not name a type|unknown type|requires a type specifier
  in =\s*(\(\s*TYPE\s+[*&]*\w+(?:\s*,\s*TYPE\s+[*&]*\w+)*\s*\))\s*\{
    A lambda begins with its brackets: [&]\1 { return ...; }.
  in (\(\s*(?:TYPE\s+\w+(?:\s*,\s*TYPE\s+\w+)*|\w+\s*,[\w\s,]*)?\))\s*=>
    A lambda begins with its brackets: [&]\1 { return ...; }.
  in ^\s*(function|func|fn|fun|async|final|procedure)\s+[\w:]+[*&]*(?:\s+\w+)?\s*\(
    C++ has no '\1' before a function: its first word is the type that it returns.
  in (?:^|[{;])\s*(public|private|protected)\s+(?!:)[\w:]+[*&]*(?:\s+[\w:]+[*&]*)*\s+\w+\s*[(;=]
    In C++ no '\1' stands before a function or a variable; in a struct '\1:' has a line of its own.
  in [(,]\s*(TYPE)\s+(\w+)\s*([&*])\s*[,)]
    The '\3' stands before the name: \1\3 \2.
  in (?:=|\breturn|[-+*/(,])\s*\(\s*(float|double|int|int64_t|bool)\s+(\w+)\s*\)\s*[-+*/;,)]
    To convert a value, write \1(\2).
""")

_OPERATORS = {
    "!>": "<=", "!<": ">=", "=<": "<=", "=>": ">=", "===": "==", "!==": "!=", "<>": "!=", "=*": "*=", "~=": "!=", "=/": "/=",
}  # fmt: skip


@rules.rule(
    r"^expected (?:primary-)?expression|^expected an expression|^expected (?:',' or )?';'|unary '\*'|^expected '?\)|to 'bool'"
    r"|operator=="
)
def _operator_misspelt(match: re.Match[str], record: Record) -> str:
    found = re.search(r"(?<=[\w)\] ])(===|!==|!>|!<|=<|=>|<>|=/|~=|=\*(?= ))\s*[\w(-]", record.code)
    return f"C++ writes {_OPERATORS[found[1]]}, not {found[1]}." if found else ""


rules.table(r"""
^expected|^missing template arguments|^named return values|^stray '@'|incomplete type 'struct|unary '\*'|^indirection
  in \[[^\[\]]*\b(\w+)\s*&\s*[,\]]
    The & stands before the name: [&\1].
  in \w\s*\([^()]*,\s*\)\s*(?:const\s*)?\{|\]\s*\([^()]*,\s*\)
    Take the ',' before the ')' away: after the last parameter C++ has none.
  in \]\s*\([^()]*\)\s*(?:mutable\s*)?(?:->\s*[\w:]+\s*)?return\b
    The body of a lambda stands in { }: [&](...) { return ...; }.
  in ^\s*(?!return\b|else\b|struct\b|class\b|enum\b|union\b|namespace\b)[\w:<>]+[*&]*\s+[*&]*(\w+)\s*\{\s*return\b
    A function has ( ) after its name, even without parameters: \1() { ... }.
^expected (?:primary-)?expression(?: before '\.'|$)|^unexpected namespace name '\w+'|type name is not allowed
does not refer to a value|^expected unqualified-id before '\.'|^cannot use dot operator on a type
  in (?<![\w.:>])torch\.(\w+)
    Use '::' after a namespace, not a dot: at::\1.
  in (?<![\w.:>])(std|at|c10)\.(\w+)
    Use '::' after a namespace, not a dot: \1::\2.
  in (?<![\w.:>])([A-Za-z_]\w*)\.(\w+)
  text \b(?:struct|(?<!enum )class)\s+%1\b
    '\1' is a type, and only its objects have members: \1 g; and then g.\2.
  in (?<![\w.:>])([A-Za-z_]\w*)\.(\w+)
  text \b(?:enum|namespace)\s+(?:class\s+|struct\s+)?%1\b
    Use '::' after '\1', not a dot: \1::\2.
^(?!treating)
  in (?<![\w:?])\b(std|at|torch|c10):(?!:)\s*(\w+)
    A namespace takes two colons, '::': write \1::\2.
""")


@rules.rule(r"read-only|increment|decrement|cannot be used as a function|^called object type|not assignable|subscript")
def _goes_on(match: re.Match[str], record: Record) -> str:
    """Suspect a missing ';' where a statement that looks whole goes on in the next line."""
    lines = mask(record.text).split("\n")
    for number in (record.line, record.line - 1):
        if (
            0 < number < len(lines)
            and re.match(r"(?!\W*(?:else|if|for|while|switch|do)\b|\s*#).*[\w)\]]\s*$", lines[number - 1])
            and re.match(r"\s*(?:\+\+|--|\(|\[)", lines[number])
        ):
            record.line, record.column = number, len(lines[number - 1].rstrip()) + 1
            return "A ';' is missing at the end of this statement: it goes on in the next line."
    return ""


rules.table(r"""
^expected unqualified-id|^expected a declaration
  in \)\s*;\s*\{
    Take away the ';' before this '{': it ends the function before its body.
STUCK|redefinition|redeclaration|conflicting|unused
  in \bfor\s*\((?=[^;){]*[=;])(?:PART;?PART|[^;{}]*(?:;[^;{}]*){3})\)
    The three parts of a for are separated by two ';': for (int64_t i = 0; i < n; ++i).
STUCK|label
  in \b(?:if|while)\s*\(INSIDE\)\s*(?:&&|\|\||==|!=|<=?|>=?|(?:and|or)\b)
    All of the condition stands in one more pair of ( ): if ((a) && (b)).
^expected |^unexpected '|label
  in \breduction\s*\((?:\s*[-+*]\s*,?)?\s*(\w+)\s*(?:[,:]\s*[-+*]\s*)?\)
    A reduction names its operator: reduction(+ : \1).
  in \belse\s*\(.*\)\s*\{
    else takes no condition: write else if (...).
^unexpected type name|^expected (?:primary-expression before|'\(' for function-style cast|expression$)|^use 'template'
  in (\w+)(\.|->)(\w+)<([\w:]+)>\s*\(
  text \btemplate\s*<
    What '\1' is depends on a template, so say that a type follows: \1\2template \3<\4>(...).
^expected |declar|^invalid parameter name|literal operator|invalid suffix|invalid digit|keyword
  in TYPE\s+[*&]*(WORDS)\s*[=;,)\[]
    '\1' is a word of C++ itself: choose another name.
  in \b(?:float|double|bool|int|int64_t|at::Tensor)\s+[*&]*(float|double|bool|char|short|signed)\s*[=;,)]
    '\1' is a word of C++ itself: choose another name.
  in TYPE\s+[*&]*\d+[A-Za-z_]\w*\s*[=;,)\[]
    A name does not begin with a digit.
  in TYPE\s+[*&]*(\w+)\s*[-.+]\s*(\w+)\s*=(?!=)
    A name has letters, digits and _ only, as in \1_\2.
^expected\b
  in \bfor\s*\(\s*(TYPE\s+\w+\s*=[^;]*,)\s*TYPE\s+(\w+)
    The first part of a for has one type, for all its names: for (\1 \2 ...
^unexpected type name|^expected (?:primary-expression before '[\w.;)]|'\(' for function-style cast|expression$)
^expected parentheses around type|template declaration cannot appear at block scope|^templates can only be declared
  in ^\s+template\s*<
    A template stands outside of functions: move it out.
  in =\s*(TYPE)\s*;
    A type is no value: \1() makes one, and a plain variable needs no '='.
  in ([\w:]+<[^<>;()]*>)\.(\w+)\s*\(
    Behind a type stands '::', not a dot: \1::\2(...).
  in \bAT_DISPATCH_\w+\(\s*TYPE\s*,
    A dispatch takes the dtype of a tensor: x.scalar_type().
  in (\w*data_ptr|item|accessor)\s*\(\s*(\w+)\s*[,)]
    The type stands in < >: \1<\2>().
  in \bsizeof\s+(TYPE)
    The type stands in ( ): sizeof(\1).
  in (?:\breturn|=)\s*(float|double|int|int64_t|bool)\s+(\w+)\s*[;)*/+-]
    A value is converted with ( ): \1(\2).
  in \b(?:to|dtype|zeros|ones|empty|full|TensorOptions)\s*\((?:[^;]*[^\w;])?TYPE\s*[,)]|[=!]=\s*TYPE\s*\)
    A dtype is named by a constant: at::kFloat, at::kDouble, at::kLong, ...
  in ^\s.*\w\s*\((?:[^()]*,)?\s*TYPE\s+[*&]*\w+\s*[,)]
    In a call the arguments stand without their types.
^expected (?:unqualified-id|a declaration|constr)|does not name a type|^unknown type name|requires a type specifier
  outside ^((?:STATEMENT).*)$
  text (?m)^[ \t]*#[ \t]*define\b.*[^\\\s][ \t]*\n%1$
    A macro ends where its line ends: put a backslash at the end of each of its lines but the last.
  outside ^(?:STATEMENT)
    A statement stands inside a function: move it into one, or look for a '}' too many before it.
^expected unqualified-id|^expected an identifier
  in [-+*/=(,]\s*(\d+),(\d+)f?\s*[-+*/;)]
    Write the number with a point: \1.\2.
""")


@rules.rule(r"^'else' without a previous 'if'|^expected (?:an )?expression|^expected a statement|^else without")
def _else_alone(match: re.Match[str], record: Record) -> str:
    """Find the if whose ( ) ends with a ';': that is all it guards, and the else stands alone."""
    code = mask(record.text)
    here = offset_of(record.text, record.line, max(record.column, 1))
    if not code[here:].lstrip().startswith("else"):
        return ""
    for found in reversed([*re.finditer(r"\bif\s*(?:constexpr\s*)?\(", code[:here])]):
        end = closing(code, found.end() - 1) + 1
        if re.match(r"\s*;", code[end:here]) and code[end:here].count("{") == code[end:here].count("}"):
            record.line, record.column = position(code, code.index(";", end))
            return "Take this ';' away: it ends the if, which then guards nothing, and the else after it has none."
        break
    return "There is no if for this else: look for a ';' after the if's condition, or for two statements without { }."


rules.table(r"""
unable to find numeric literal|no matching literal operator|invalid suffix '|user-defined literal operator not found
^invalid digit '\w' in decimal
  in (?<!\w)(\d+)_(\d+)
    The digits of a number are grouped with ', not with _: \1'\2.
  in (?<![\w.,])(\d+),(\d+[fF])\s*[-+*/;)]
    Write the number with a point: \1.\2.
  in (?<![\w.])(\d+)[fFd]\b
    A float has a point before its f, as in 1.0f; a double has no letter: \1.0.
  in (?<![\w.])(\d+(?:\.\d*)?)([A-Za-z_]\w*)
  text (?<!\w)%2\b
    A product needs its *: \1 * \2.
(?:operator\"\"|suffix ')([A-Za-z_]\w*)'
    No number ends with '\1': a float ends with f, as in 1.0f, a whole number with nothing.
""")


@rules.rule(_STUCK + r"|was not declared|undeclared")
def _define(match: re.Match[str], record: Record) -> str:
    """Find the macro of this line whose definition has a slip in it, and show that."""
    text = mask(record.text)
    here = set(re.findall(r"\w+", record.code))
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
            return f"Take away the blank before this '(': with it, '{found[1]}' has no parameters."
        return f"Take away this '{found[2] or found[3]}': it is put in wherever '{found[1]}' stands."
    return ""


@rules.rule(r"^expected '(?:\)|\}|\]|>>>|,|;)'|^expected '\)' before|^expected ',' or ';'")
def _side_by_side(match: re.Match[str], record: Record) -> str:
    """Name two values between which nothing stands: g++ points behind the first, the others to the second."""
    if record.code[max(record.column - 1, 0) :].startswith(";"):
        return "Inside of ( ) a ',' separates: a ';' ends the statement." if match[0] == "expected ')'" else ""
    ahead, behind = record.row[: record.column - 1].rstrip(), record.row[record.column - 1 :].lstrip()
    left = re.search(r"""("(?:[^"\\]|\\.)*"|(?<![\w.])[\w.]+|[\w.]+\([^()]*\)|\])$""", ahead)
    right = re.match(r"""[\w.]*"|\w[\w.]*(?!\w*\s*<)""", behind)
    if not left or not right or re.fullmatch("return|const|unsigned|else|case|(?:long|short)", left[0]):
        return ""
    shown = ["this text in quotes" if '"' in one[0] else f"'{one[0]}'" for one in (left, right)]
    if match[0].endswith((";'", ",'")) and '"' not in left[0] + right[0]:
        return ""
    return f"Between {shown[0]} and {shown[1]} a ',' is missing, or an operator."


# Functions


rules.table(r"""
function[- ]definition is not allowed here
  in (\w+)\s*\(([^()]*)\)\s*\{
    A function cannot stand inside another: move it out, or write a lambda, auto \1 = [&](\2) { ... };.
forbids declaration of '\w+' with no type
  in .
    Write the type of what it returns before its name: void, float, at::Tensor, ...
requires a type specifier|^no template named '(?:forward|backward)'
  in (?:^|[{;}])\s*(?:template\s*<[^<>]*>\s*)?(?:(?:static|inline|extern|constexpr|virtual|const)\s+)*\w+\s*\(
    Write the type of what it returns before its name: void, float, at::Tensor, ...
^declaration of 'auto &?(\w+)' has no initializer
variable '(\w+)' with deduced type 'auto.*' requires an initializer|cannot deduce 'auto' type
    auto takes its type from a value: give '\1\2' one here, or write its type in place of auto.
^(?:break|continue) statement not within|^'(?:break|continue)' statement not in
(?:break|continue) statement may only
    break and continue stand inside a loop: to leave the function, write return.
conver|^no viable|^cannot initialize
  in std::(unique|shared)_ptr<[^;=]*>\s+(\w+)\s*=\s*new\s+([^;]*);
    A std::\1_ptr takes its pointer in ( ): \2(new \3).
array initializer must|fails to determine size|array must be initialized|conver|^cannot initialize
  in \bnew\s+(\w+)\s*\[
    new gives a pointer to values that nobody frees: std::vector<\1> v(n) holds n of them.
""")


@rules.rule(
    r"inconsistent types '(.*?)' and '(.*?)' deduced|return type '(.*?)' must match previous return type '(.*?)'"
)
def _two_results(match: re.Match[str], record: Record) -> str:
    heads = heads_around(record.text, record.line, record.column)
    own = next((head for head in reversed(heads) if re.search(r"\]\s*(?:\([^()]*\)[^()]*)?$", head)), "")
    if "AT_DISPATCH" in own or match[0].count("ScalarTypeToCPPType") > 1:
        return (
            "A return in here leaves the lambda of the dispatch alone: give back nothing, and return after its '});'."
        )
    types = [group for group in match.groups() if group]
    wider = next((one for one in ("scalar_t", "double", "float", "int64_t", "long") if one in types), types[0])
    if wider in ("double", "float") and any("AT_DISPATCH" in head for head in heads):
        wider = "scalar_t"
    return f"The lambda returns {types[0]} and {types[1]}: write the one that is meant after its parameters, -> {wider}, say."


rules.table(r"""
cannot bind non-const lvalue reference of type '(.*?)' to (?:an rvalue|a value)
initial value of reference to non-const|^non-const lvalue reference to type .* cannot bind
  in ^\s*[\w:<>, ]+&\s*\w+\s*[={(]
    A reference needs a variable, and this is a value that is gone at once: take the & away, or write const ...&.
  in .
    The function may change what it is given, and this is no variable: put it into one first, or take it as const ...&.

declared as reference but not initialized|declaration of reference variable|uninitialized 'const
of an object of const type
    A reference or a constant gets its value where it is declared, and keeps it.
^invalid controlling predicate|condition of OpenMP for loop must be
    A loop of OpenMP compares its counter with a limit: for (int64_t i = 0; i < n; ++i).
break statement used with OpenMP|'break' statement cannot be used in OpenMP
(?:branch to/from|exit from|return from) OpenMP
    A loop of OpenMP cannot be left: its iterations run at the same time. Take the pragma away, or what leaves the loop.
^scalar object '\w+' requires one element|^excess elements in scalar
    Braces hold the values of an array, float a[] = {1, 2, 3}, and not of a pointer or a number.
^too many initializers for|^excess elements in (?:array|struct)|^too many initializer values
    The braces hold more values than there are elements: make the array longer, or take values away.
""")


@rules.rule(
    r"\bis private within this context|is a private member of"
    r"|^calling a private constructor of|\(declared at line (\d+)\) is inaccessible"
)
def _private(match: re.Match[str], record: Record) -> str:
    places = [note.line for note in record.notes if "private here" in note.message and note.file == record.file]
    line = places[0] if places else int(match[1] or 0)
    if not line:
        return "It is private to its class: only what the class has as public can be used from outside."
    return f"The members of a class are private: write public: before line {line}, or struct in place of class."


@rules.rule(r"^jump to case label|cannot jump from switch statement")
def _jump_to_case(match: re.Match[str], record: Record) -> str:
    """Show the variable that a case declares without braces of its own."""
    passed = next((note for note in record.notes if re.search("crosses init|bypasses variable", note.message)), None)
    if passed and passed.file == record.file:
        record.line, record.column = passed.line, passed.column
    return "The next case would see a variable of this one: put { } around the statements of the case that declares it."


rules.table(r"""
invalid cast from type 'const char ?\*'|cast from 'const char ?\*' to '\w+' is not allowed
    A text is no number: infinity is INFINITY of <cmath>, and std::stof(...) reads a number from a text.
^reference to local binding '(\w+)' declared in enclosing
    clang++ lets no lambda use '\1' of auto [...]: give it a second name before the lambda, auto v = \1, and use that.
^type '(?:const )?at::Tensor' decomposes|^cannot decompose inaccessible member 'at::Tensor
    This is one tensor: take it as auto v = ..., and one of its rows as v[0].
^type '.*' decomposes into (\d+) elements?, but (\d+) names? (?:was|were) provided
    auto [...] has one name for each value: there are \1 values, and these are \2 names.
^(\d+) names? provided for structured binding|^only (\d+) names? provided for structured binding
    auto [...] has one name for each value, and these are \1\2 names: name all values, and no more.
^cannot decompose (?!non-)
    auto [...] takes tuples, pairs, arrays and plain structs apart: take each value by itself here, as in x.size(0).
""")


@rules.rule(r"^for statement expected before '\['")
def _pragma_in_macro(match: re.Match[str], record: Record) -> str:
    """Find the pragma that g++ reads before the macro around it."""
    text = record.text
    behind = re.compile(r"^[ \t]*(#)\s*pragma\s+(omp\b.*\S)", re.MULTILINE)
    found = behind.search(text, text.find(record.row))
    if found is None or not re.match(r"\s*[A-Z][A-Z0-9_]+\s*\(", record.row):
        return ""
    record.line, record.column = position(text, found.start(1))
    return f'A #pragma inside the ( ) of a macro is read before it: write _Pragma("{found[2]}") in its place.'


rules.table(r"""
not a constant expression|usable in a constant expression|no matching function for call to '(?:std::)?get\b
  in \bstd::get<\s*([A-Za-z_]\w*)\s*>
  text (?<!\bconstexpr )(?<!\bconst )(?:int|int64_t|size_t|auto|long|unsigned)\s+%1\s*[=,)]
  no (?:\bconstexpr\b|\btemplate\s*<)[^;{}()]*\b%1\b
    The number of a std::get is known when the text is compiled, and \1 is a variable: write each one out, std::get<0>(t).
""")


@rules.rule(
    r"use of deleted function '([^']*)::[^':]*\((?:const |\)')|deleted (?:copy )?constructor of '(?:const )?([^']*)'"
)
def _not_copied(match: re.Match[str], record: Record) -> str:
    what = re.sub(r" \[with .*", "", match[1] or match[2])
    if held := re.search(r"\[with _\w+ = ([^;\]]*)", match.string):  # g++ names the parameters of the template
        what = re.sub(r"<_\w+.*", f"<{held[1]}>", what)
    if re.search(r"\[\s*[=\w][^\[\]&]*\]\s*[({]", record.code):
        return f"A lambda that begins with [=] or a name copies it, and a {what} cannot be copied: begin it with [&]."
    moves = "" if re.search("atomic|mutex", what) else ", or hand it on, std::move(p)"
    return f"A {what} cannot be copied: take a reference, auto& q = p{moves}."


rules.table(r"""
to bit-complement|^invalid argument type '(?:float|double|scalar_t)' to unary
  in ~
    ~ turns the bits of a whole number: the opposite of a condition is !a.
left operand of comma operator has no effect
    A comma in plain ( ) only drops what is before it: several values stand in braces, as in at::cat({a, b}, 1).
lvalue required as unary '&'|^cannot take the address of an rvalue
    & gives the address of a variable, and this is a value: leave the & away, or put the value into a variable first.
'([\w:]+)' is not a class, namespace, or enumeration|(?:class|struct) std::(\w+)' used without template arg
  in \b(std::\w+)::(\w+)
    This is a template: its type stands between < and >, as in \1<float>::\2.
  in (?<![\w:])(NAME)::(\w+)
    Behind an object stands a dot, not '::': \1.\2.
^variable or field '.*' declared void|^variable has incomplete type 'void'
    void says that a function returns nothing: give the variable the type of its value.
^'void\*' is not a pointer-to-object|pointer to incomplete type 'void'|lvalue of type 'void'|^incomplete type 'void' is not assignable
    Behind a void* stands nothing that has a type: take x.data_ptr<float>(), or static_cast<float*>(p).
^type/value mismatch|^template argument for (?:non-type )?template
    Between < and > a value stands where the template wants a type, or a type where it wants a number.
^variable-sized object .*not be initialized
    An array whose length is not known when the text is compiled takes no { }: std::vector<float> v(n) starts with
    zeros.
^array size missing in|^storage size of .* isn't known|needs an explicit size or an initializer
    Say how many values there are, float a[8], or take std::vector<float> a(n) for a number that varies.
a converted constant expression|is not implicitly convertible to|could not convert .* to '(?:int64_t|int|long)
  in \bcase\b
    A case names a whole number, or a value of an enum: compare all else with if (...) ... else if (...).
size of array .*has non-integral type|size of array has non-integer type|a converted constant expression
    The size of an array is a whole number: static_cast<int64_t>(v) makes one of a float.
^two or more data types|^expected '>'|template argument|template-parameter
  in <[^;(){}<>]*?\b(?!(?:const|unsigned|typename|class|long|struct)\b)((?:\w+::)*\w+)\s+(?!(?:const|int)\b)((?:\w+::)*\w+)[^;(){}<>]*>
    Between \1 and \2 a ',' is missing.
^expected '>'$
    A '<' of a template is never closed: add the '>' behind its types.
two or more data types in declaration|multiple types in one declaration|^cannot combine with previous
    Two types stand side by side: take one away; between two declarations a ';' is missing.
does not name a type|^unknown type name
  in \btypedef\s+(\w+)\s+(float|double|int|long|bool|char|int64_t)\s*;
    typedef has the new name last: typedef \2 \1.
  in \busing\s+\w+\s*=\s*(\w+)\.(?:scalar_type|dtype|type)\(\)
    A dtype is no type, and known only when the kernel runs: AT_DISPATCH_FLOATING_TYPES(\1.scalar_type(), "name", [&] { ... })
    makes it one, scalar_t.
^cannot decompose non-
    This is one value, with no parts: take it as auto m = ..., or let the function return a std::tuple.
as multidimensional array must have bounds|array has incomplete element type '[^']*\[|array of .* unknown bound|invalid array .*bound
  in \[\s*\]\s*\[
    Only the first [ ] may be empty, float a[][4]: for sizes that vary take float* a, and a[i * columns + j].
^reference to '(\w+)' is ambiguous|^'(\w+)' is ambiguous
    Two things are called '\1\2', and 'using namespace' shows both: give yours another name, or leave that using away.
^class template argument deduction failed|no viable constructor or deduction guide for deduction
    The types of this template are to be told from no value: write them between < and >, as in std::vector<float>.
no match for 'operator\[\]' \(operand types are '(?:const )?(?:::)?std::(?:tuple|pair)<
type '(?:const )?(?:::)?(?:std::)?(?:tuple|pair)<.*' does not provide a subscript|'(?:class )?(?:::)?std::tuple<.*has no member
^no member named '\w+' in '(?:::)?std::tuple
    A tuple has no [ ] and no members: std::get<0>(t) is its first value, and auto [a, b] = t takes it apart.
^'begin' was not declared|^invalid range expression of type
  in \bfor\s*\([^;]*[^:]:[^:]
    This for needs something that knows how many values it has, as a std::vector: count, for (int64_t i = 0; i < n; ++i).
not a constant expression|usable in a constant expression|template argument is not a constant|by a constant expression
call to non-'constexpr' function|integral constant expression
  in \bconstexpr\b
    constexpr is for values that are known when the text is compiled: write const.
  in \bcase\b
    A case names a value that is known when the text is compiled: compare with if (...) ... else if (...).
  in \bstd::array\s*<
    The size of a std::array is known when the text is compiled: for another one take std::vector<float> v(n).
  in .
    This has to be known when the text is compiled: a number, or a constexpr.
^expected (?:primary-)?expression before '\{'|^expected (?:identifier|variable name)|^capture default must be first
^initializer list cannot be used on the right hand side of operator
  in [=!]=\s*\{
    Braces alone have no type that could be compared: name it, as in at::IntArrayRef({2, 3}).
""")
