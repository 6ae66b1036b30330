"""Help for what a compiler, linker or loader says about calls, types, functions and the machine."""

from __future__ import annotations

import re

from .advice_names import not_a_template
from .advice_pairs import ARGUMENT, NO_TENSOR, NUMBER, candidates, declared_as, in_dispatch, keeps_const, of_pair
from .compiler_log import Record, plain_name
from .names import STD, arguments, aten_functions, corrected, count_arguments, is_near, split_arguments
from .rules import Rules, without_aka
from .source_text import declarations, definition, heads_around, mask, offset_of, position

rules = Rules()


# Calls


rules.table(r"""
lambda.* to 'const char ?\*
  in .
    AT_DISPATCH_... takes a name between dtype and lambda: AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "forward", [&] { ... }).
""")


_TEMPLATES = {
    "array": "std::array<float, 3>: the type, and how many values",
    "pair": "std::pair<float, int>",
    "function": "std::function<float(float)>: what it returns, and what it takes",
    "map": "std::map<int, float>: the type of the keys, and of the values",
    "unordered_map": "std::unordered_map<int, float>: the type of the keys, and of the values",
    "TensorAccessor": "at::TensorAccessor<float, 2>: the type, and how many dimensions",
    "PackedTensorAccessor32": "at::PackedTensorAccessor32<float, 2>: the type, and how many dimensions",
    "PackedTensorAccessor64": "at::PackedTensorAccessor64<float, 2>: the type, and how many dimensions",
}


@rules.rule(
    r"number of template arguments|too (?:few|many) (?:template )?arguments for|requires template arg"
    r"|without an argument list|argument list for class template"
)
def _template_arguments(match: re.Match[str], record: Record) -> str:
    """Say what stands between < and > of a template."""
    code = mask(record.text)
    said = re.findall(r"'(?:\w+::)*(\w+)", record.message)
    for name in [*said, *re.findall(r"\w+(?=\s*<)|\w+", record.code[max(record.column - 20, 0) :] + record.code)]:
        if name in _TEMPLATES:
            return f"Its types stand between < and >, as in {_TEMPLATES[name]}."
        if own := re.search(
            rf"\btemplate\s*<([^;{{}}()]*)>\s*(?:struct|class|using|__global__|inline|static|[\w:]+[*&]*)[^;{{}}()]*\b{name}\s*[(){{}}=;:]",
            code,
        ):
            return f"'{name}' is declared with template <{own[1]}>: give that many between < and >."
    return ""


rules.table(r"""
std::vector<|no viable overloaded '[-+*/]?='
  in std::vector<[^<>;]*>\s+(\w+)\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)
  text [\w>]\s*\*\s*(?:const\s+|__restrict__\s+)?%2\b\s*[,;=)]
    The values of a vector are given by begin and end: \1(\2, \2 + \3).
no matching (?:constructor|function).*std::vector<
  in <\s*(std::vector<[^;]*>)\s*>\s*(\w+)\s*\(\s*([^,()]+),\s*([^,()]+)\)
    \3 rows of \4 values each are \2(\3, \1(\4)).
std::vector<|no viable overloaded '[-+*/]?='
  in (\w+)\s*[-+*/]=
  text \bstd::vector<[^;(){}]*>&?\s+%1\b
    A vector has no arithmetic: go through its elements, for (auto& one : \1) one += ...
  text (std::vector<[^;={}]*>)\s+(\w+)\s*\[([^;\[\]]+)\]\s*;
  in \b%2\s*(?:\.|\[[^\[\]]*\]\s*[-+*/]?=)
    The [ ] with which '\2' is declared make an array of vectors: one with \3 values is \1 \2(\3).
DeprecatedTypeProperties|'type' is deprecated|::type\(\) const' is deprecated
  in (\w+)\.type\(\)
    Write \1.scalar_type() in place of \1.type().
  in .
    Write x.scalar_type() in place of x.type().
data(?:<\w+>)?' is deprecated|data\(\) const
    Write x.const_data_ptr<T>() to read, x.mutable_data_ptr<T>() to write.
""")


def _called_from_binding(record: Record) -> bool:
    return any(note.file.endswith("(binding)") for note in record.notes)


@rules.rule(
    r"'(?:[\w:]+::)?(forward|backward)\(|call to '(?:[\w:]+::)?(forward|backward)'"
    r"|function '[^']*\b(forward|backward)\(|no matching function|convert|no viable conversion|too (?:few|many) arg|discards qualifiers"
)
def _binding(match: re.Match[str], record: Record) -> str:
    if not _called_from_binding(record):
        return ""
    name = re.search(r"\b(forward|backward)\b", record.row + record.message)
    which = name[1] if name else "forward"
    if "returned value" in record.message or "could not convert" in record.message:
        fits = "one tensor is returned bare, several as std::tuple<at::Tensor, ...>"
        return f"What {which} returns does not fit the op's signature: {fits}."
    of_count = r"^too (?:few|many) arguments|; .*?(?:requires .*argument|expects)"
    differs = "their number differs from what the binding passes" if re.search(of_count, record.said) else ""
    fits = differs or "a tensor is const at::Tensor&, a number double or int64_t"
    return f"The parameters of {which} do not fit the op's signature: {fits}."


@rules.rule(
    r"too (few|many) arguments to (?:function|method) '?((?!call, ).*?)'?$"
    r"|too (few|many) arguments to function call, "
    r"(?:expected (?:single argument '\w+'|(?:at least |at most )?(\d+)), have (\d+)|(?:at least|single) )"
)
def _argument_count(match: re.Match[str], record: Record) -> str:
    if match[3]:
        least = "at least " if "at least" in match[0] else "at most " if "at most" in match[0] else ""
        wants = int(match[4] or 1)
        told = f"It takes {f'{least}{arguments(wants)}' if wants else 'no arguments'}, this call gives {match[5] or 'none'}."
        return told + declared_as(record.called, record)
    takes = count_arguments(match[2])
    name = re.search(r"(\w+)\(", match[2])
    if takes is None or name is None:
        return ""
    most = "up to " if "at::" in match[2] else ""
    gives = "fewer" if match[1] == "few" else "more"
    told = f"{most}{arguments(takes)}" if takes else "no arguments"
    return f"'{name[1]}' takes {told}, this call gives {gives}.{declared_as(name[1], record)}"


@rules.rule(r"^too (few|many) arguments in function call$")
def _count_of_nvcc(match: re.Match[str], record: Record) -> str:
    called = re.findall(r"(\w+)\s*\(", record.code[: record.column - 1])
    own = [form for name in reversed(called) if (form := declared_as(name, record))]
    return f"This call gives too {match[1]} arguments.{own[0]}" if own else ""


_PARALLEL_FOR = "The lambda of parallel_for takes a range: [&](int64_t begin, int64_t end) { for (int64_t i = begin; i < end; ++i) ... }."


@rules.rule(r"no match(?:ing function)? for call|too few arguments")
def _range(match: re.Match[str], record: Record) -> str:
    """Tell of a vector that is handed to what takes a begin and an end."""
    found = re.search(r"\bstd::(\w+)\s*\(\s*(\w+)\s*([,)])", record.code)
    if not found or STD.get(found[1]) not in ("algorithm", "numeric") or found[1] in ("clamp", "gcd", "lcm"):
        return ""
    if not re.search(rf"\bstd::(?:vector|array|string)\b[^;(){{}}]*[>&\s]{found[2]}\b", mask(record.text)):
        return ""
    if found[1] in ("max", "min"):
        whole = f"*std::{found[1]}_element({found[2]}.begin(), {found[2]}.end())"
        return f"std::{found[1]} compares two values: of all in '{found[2]}' it is {whole}." if found[3] == ")" else ""
    rest = ", ...)" if found[3] == "," else ")"
    return f"std::{found[1]} takes a begin and an end: std::{found[1]}({found[2]}.begin(), {found[2]}.end(){rest}."


rules.table(r"""
no matching (?:member )?function for call to '.*\b(?:erase|insert)\b
  in \b(\w+)\.erase\(\s*([\w.+-]+)\s*\)
  text \bstd::vector<[^;(){}]*>&?\s+%1\b
    A place in a vector is told by an iterator: \1.erase(\1.begin() + \2).
  in \b(\w+)\.insert\(\s*([\w.+-]+)\s*\)
  text \bstd::vector<[^;(){}]*>&?\s+%1\b
    A place in a vector is told by an iterator: \1.insert(\1.begin() + i, \2); push_back adds at the end.
""")


@rules.rule(r"no match(?:ing function)? for call to '?(.*)|no matching function for call to (.*)")
def _no_match(match: re.Match[str], record: Record) -> str:
    said_name = re.search(r"call to '(?:[\w:]+::)?(\w+)\b", match[0])
    if record.header and "parallel_for" in record.row:
        return _PARALLEL_FOR
    name = record.called or (said_name[1] if said_name else "it")
    if cure := not_a_template(name, record):
        return cure
    said = " ; ".join(note.message for note in record.notes)
    if name.startswith("AT_DISPATCH") or ("no arguments were provided" in said and "AT_DISPATCH" in record.row):
        return _in_dispatch(record)
    pairs = re.findall(
        r"conflicting types for parameter '[^']*' \('([^']*)'(?: vs\.| and) '([^']*)'\)", without_aka(said)
    )
    plain = [both for both in pairs if not re.search(r"[<>*]|lambda|iterator", "".join(both))]
    if pairs and not plain:
        return ""
    if plain:
        one, other = plain[0]
        if name in ("max", "min", "clamp"):
            wider = next((kind for kind in ("scalar_t", "double", "float") if kind in plain[0]), "int64_t")
            if wider in ("double", "float") and in_dispatch(record):
                wider = "scalar_t"
            return f"The arguments have two types, {one} and {other}; name the one: std::{name}<{wider}>(...)."
        return "The arguments have two types where the template wants one: convert one of them with static_cast."
    given = re.search(rf"\b{name}\s*<([^<>;]*)>\s*\(", record.code)
    own = re.search(rf"\btemplate\s*<([^<>;{{}}]*)>\s*[^;{{}}()]*\b{name}\s*\(", mask(record.text))
    if given and own and len(split_arguments(given[1])) > len(split_arguments(own[1])):
        return f"'{name}' is declared with template <{own[1]}>, and more than that stands between < and > here."
    left = re.search(r"couldn't (?:deduce template parameter|infer template argument) '(\w+)'", said)
    tried = candidates(record)
    if left and (
        len(tried) == 1 or (name in ("make_shared", "make_unique") and not re.search(rf"\b{name}\s*<", record.code))
    ):
        told = "" if left[1].startswith("_") else f"'s {left[1]}"
        return f"The arguments do not tell the template{told}: name it, {name}<...>(...)."
    return ""


def _in_dispatch(record: Record) -> str:
    """Tell of a lambda that does not fit its caller: g++ blames the macro around them, its notes have the lambda."""
    note = next((note for note in record.notes if note.file == record.file and note.line), None)
    if note is None or note.line == record.line:
        return "The lambda of an AT_DISPATCH takes no parameters: begin it with [&] {."
    record.line, record.column = note.line, note.column
    if "parallel_for" in record.row:
        return _PARALLEL_FOR
    return ""


@rules.rule(r"'(\w+)' cannot be used as a function|called object type")
def _hidden(match: re.Match[str], record: Record) -> str:
    """Tell of a variable that has the name of a function."""
    name = match[1] or record.called
    known = name in STD or name in aten_functions() or definition(record.text, name)
    code = mask(record.text).split("\n")
    places = [
        line
        for line, column in (declarations(record.text, name) if known else [])
        if line <= record.line and not code[line - 1][column - 1 + len(name) :].lstrip().startswith("(")
    ]
    if not places:
        return ""
    return f"The variable '{name}' of line {places[-1]} hides the function of that name: give it another name."


rules.table(r"""
no match(?:ing function)? for call to '?(?:[\w:]+::)?(\w+)
  said invalid explicitly-specified|usable in a constant|wrong number of template arg|type/value mismatch
    'NAME' does not take what stands between < and > here: for a typename a type, for an int a number that is known when the
    text is compiled.
  said expects an lvalue for
    The function may change what it is given, and this is no variable: put it into one first, or take it as const ...&.
cannot be used as a function|called object type .* is not a function
  in (?:\.|->)(\w+)\s*\(\s*\)
    '\1' is a value, not a method: take its ( ) away.
cannot be used as a function|called object type .* is not a function|no match
  in \bstd::(max|min)\s*\(((?:[^()\[,]|\([^()]*\))+(?:,(?:[^()\[,]|\([^()]*\))+){2,})\)
    std::\1 compares two values; more of them stand in braces: std::\1({\2}).
cannot be used as a function|called object type .* is not a function
    What stands before the '(' is no function: to multiply, write *; to take an element, write [ ].
""")


# Types


@rules.rule(
    r"narrowing conversion (?:of .* )?from '(.*?)' to '(.*?)'|type '(.*?)' cannot be narrowed to '(.*?)'"
    r"|cannot be narrowed (?:from type '(.*?)')?.*to '(.*?)'"
)
def _narrowing(match: re.Match[str], record: Record) -> str:
    source, target = match[1] or match[3] or match[5] or "the value", match[2] or match[4] or match[6]
    whole = re.search(r"\{\s*(\d+\.0*|\d+(?:\.\d*)?e\+?\d+)\s*\}", record.code)
    if whole and re.search(r"int|long|size_t", target) and float(whole[1]).is_integer() and float(whole[1]) < 2**63:
        return f"A number with a point or an e is a double: as a whole number this is {int(float(whole[1]))}."
    return (
        f"{target} cannot hold every {source}: write static_cast<{target}>(...) if the loss is meant, "
        f"else change the type."
    )


@rules.rule(r"^binding reference of type|drops 'const' qualifier|no matching (?:member )?function for call to")
def _loses_const(match: re.Match[str], record: Record) -> str:
    said = record.said
    lost = re.search(
        r"argument \('([^']*)'\) would lose const|reference of type '[^']*' to (?:value of type )?'([^']*)'", said
    )
    passed = ARGUMENT.search(said)
    callee = passed[2] if passed else record.called
    known = definition(record.text, callee) or len(candidates(record)) < 2
    return keeps_const(record, lost[1] or lost[2], callee) if lost and known else ""


def _of_a_copy(name: str, record: Record) -> str:
    """Show the lambda that only has a copy of what it would change."""
    used, code = record.line, mask(record.text)
    changed = re.finditer(r"(\w+)\s*(?:[-+*/]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*(\w+)", record.code)
    ahead = [found[1] or found[2] for found in changed if found.start() < record.column]
    name = name or (ahead[-1] if ahead else "it")
    here = offset_of(code, record.line, max(record.column, 1))
    begins = list(re.finditer(r"(?<![\w\])])(?<![\w\])] )\[\s*[=\w][^\[\]&]*\](?=\s*[({])", code[:here]))
    if begins:
        record.line, record.column = position(code, begins[-1].start())
    where = "" if record.line == used else f", which line {used} would change"
    return f"The lambda has only a copy of '{name}'{where}: begin it with [&]."


@rules.rule(
    r"discards qualifiers|but function is not marked const|(?:assignment|increment|decrement) of (?:read-only|data-member|member)"
    r"|with const-qualified type|read-only variable is not assignable|no viable overloaded '[-+*/]?='|captured by copy"
    r"|no matching member function"
    r"|cannot assign to .*const|assignment of function|^non-object type '.*\(.*\)' is not assignable|no viable overloaded operator\[\]"
)
def _constant(match: re.Match[str], record: Record) -> str:
    said = record.said
    if re.match(r"assignment of function|non-object type", record.message):
        return "This is a function, and nothing is assigned to it: what it gives back stands after return."
    if re.match(r"assigning to '.*\*' from", record.message):
        return ""
    if "no matching member" in record.message and "not marked const" not in said:
        return ""
    if "overloaded '='" in record.message and "TensorAccessor<" in said:
        return "The accessor has more dimensions than there are indices here: write one [ ] for each."
    if found := re.search(r"no known conversion from '([^']*)' to 'const at::Tensor'", without_aka(said)):
        return of_pair(found[1], "at::Tensor", record)
    heads = heads_around(record.text, record.line, record.column)
    copies = any(re.search(r"\[\s*[=\w][^\[\]&]*\]\s*(?:\([^()]*\))?\s*(?:->[^()]*)?$", head) for head in heads)
    variable = re.search(r"read-only variable '(\w+)'", record.message)
    mine = variable and not re.search(rf"\bconst\b[^;(){{}}]*\b{variable[1]}\b", mask(record.text))
    if "captured by copy" in record.message or (copies and mine):
        return _of_a_copy(variable[1] if variable else "", record)
    method = re.search(
        r"in call to '.*?(~?\w+|operator\S+)\([^']*'|member function (?:for call to )?'(\w+|operator\S+)'", said
    )
    name = (method[1] or method[2]) if method else ""
    if re.search(r"operator[-+*/]?=\(|overloaded '[-+*/]?='", said) and "Tensor" in said:
        if re.search(r"passing 'at::Tensor'.*operator=\(const c10::Scalar", said):
            return NO_TENSOR
        if not re.search(r"passing 'const|not marked const", said):
            return ""
        return "A const at::Tensor& cannot be made another tensor: give the result a name of its own."
    if "overloaded '" in record.message or "overloaded operator[]" in record.message:
        return ""
    head = next((head for head in reversed(heads) if re.search(r"\)\s*const\s*$", head)), "")
    if head and ("member" in record.message or "this" in record.message):
        return "The const after the ( ) of this method promises that it changes nothing: take that const away."
    if name:
        code = mask(record.text)
        own = re.search(rf"\b{re.escape(name)}\s*\([^()]*\)\s*\{{", code)
        cure = "drop the const where it is declared, or change a copy"
        if own:
            cure = f"if it does not, write const after its ( ) in line {position(code, own.start())[0]}"
        return f"The object is const, and '{name}' may change it: {cure}."
    through = "location" in record.message or "read-only variable is" in record.message
    for name in re.findall(r"(\w+)\s*(?:\[[^\[\]]*\])*\s*(?:[-+*/]?=(?!=)|\+\+|--)", record.code) if through else ():
        if found := re.search(rf"\b{name}\s*=[^;,]*\bconst_data_ptr\b", mask(record.text)):
            line = position(record.text, found.start())[0]
            return f"'{name}' of line {line} comes from const_data_ptr, which only lets you read: take mutable_data_ptr there to write."
    what = "A pointer to const only lets you read" if through else "It was declared const"
    return f"{what}: drop the const where it is declared if it has to change, else write to another variable."


rules.table(r"""
invalid type argument of unary '\*'|indirection requires pointer operand|^operand of '\*' must be a pointer
  in (\w+)\s*\*\*
  text \bTensor\s*&{0,2}\s+%1\b
    C++ has no **: write at::pow(\1, 2), say, or \1 * \1.
  in [\w)\]]\s*\*\*\s*[-\w(.]
    C++ has no **: write std::pow(a, b), or x * x.
invalid type argument of unary '\*'|indirection requires pointer operand
  in .
    Only a pointer can have a * in front.
which is of pointer type|is a pointer; did you mean to use '->'
    It is a pointer: write -> in place of the dot.
""")


@rules.rule(
    r"which is of non-class type '(.*?)'|member reference base type '(.*?)' is not a structure|^base of member reference is a function"
)
def _no_members(match: re.Match[str], record: Record) -> str:
    kind = (match[1] or match[2] or "").removeprefix("const ")
    if kind.endswith("()") or "function" in match[0]:
        return "With empty ( ) after its name it was declared as a function: take the ( ) away there."
    found = re.search(r"(\w+)\.(\w+)\s*\(\s*([^()]*)", record.row[: record.column + 40])
    rest = f", {found[3].strip()}" if found and found[3].strip() else ""
    call = f": write std::{found[2]}({found[1]}{rest})" if found and STD.get(found[2]) == "cmath" else ""
    if re.search(r"[*\]]$", kind) or re.search(r"->(?:size|numel|sizes|length|dim)\b", record.row):
        return "A pointer or an array knows nothing of its length: ask the tensor, x.numel(), or hand the number over."
    operator = {"add": "+", "sub": "-", "mul": "*", "div": "/"}.get(found[2].rstrip("_")) if found else None
    call = call or (f": {found[1]} {operator}= v changes it" if found and operator else "")
    return f"'{kind}' is a plain value and has no members{call}."


rules.table(rf"""
^base operand of '->' is not a pointer|^member reference type '(?:const )?{NUMBER}' is not a pointer
    This is a plain value, and has no members.
has non-pointer type|is not a pointer; did you mean to use '\.'|base operand of '->'
    It is no pointer: write a dot in place of ->.
""")


@rules.rule(
    r"invalid types .* for array subscript|subscripted value is n|array subscript is not an integer|pointer to function type"
)
def _index_of_function(match: re.Match[str], record: Record) -> str:
    names = re.findall(r"(\w+)\s*\[", record.code)
    name = next((name for name in names if definition(record.text, name)), "")
    if name:
        return f"'{name}' is a function: it is called with ( ), not with [ ]."
    if re.search(r"[*\]]\[(?:const )?(?:float|double|scalar_t|at::Tensor)\]|not an integer", match.string):
        return "An index is a whole number: static_cast<int64_t>(v) makes one of a float, i.item<int64_t>() one of a tensor."
    if cure := _dimensions(record):
        return cure
    indexed = re.search(r"(\w+)\s*(\[[^\[\]]*\])?\s*$", record.code[: max(record.column - 1, 0)])
    if indexed and indexed[2]:
        return (
            f"'{indexed[1]}[i]' is one number already: a pointer takes {indexed[1]}[i * columns + j], and an accessor says "
            f"its dimensions, accessor<float, 2>()."
        )
    indexed = indexed or re.match(r"(\w+)\s*\[", record.code[max(record.column - 1, 0) :])
    if indexed:
        place = next((line for line, _ in reversed(declarations(record.text, indexed[1])) if line <= record.line), 0)
        where = f", as line {place} declares it" if place else ""
        return f"'{indexed[1]}' is a single value{where}: only arrays, pointers and accessors have a [ ]."
    return "Only arrays, pointers and accessors can be indexed with [ ]."


def _dimensions(record: Record) -> str:
    """Find the accessor that has fewer dimensions than the indices at this place, and show where it is made."""
    around = re.finditer(r"(\w+)((?:\s*\[[^\[\]]*\])+)", record.code)
    used = next((item for item in around if item.start() < record.column <= item.end()), None)
    if used is None:
        return ""
    code, here, count = mask(record.text), record.line, used[2].count("[")
    made = re.compile(rf"\b{used[1]}\s*=[^;=]*\b((?:packed_)?accessor(?:32|64)?<[^<>,]+),\s*(\d+)\s*>")
    found = [item for item in made.finditer(code) if position(code, item.start())[0] <= here]
    if not found or int(found[-1][2]) >= count:
        return ""
    record.line, record.column = position(code, found[-1].start(1))
    has = f"{found[-1][2]} dimension{'s' * (found[-1][2] != '1')}"
    return f"This accessor has {has}, and line {here} takes {count} indices: {found[-1][1]}, {count}>()."


@rules.rule(
    r"^void value not ignored|invalid use of void expression|incompatible type 'void'|\b[rl]value of type 'void'|has incomplete type 'void'"
    r"|^invalid operands .*'void'"
)
def _void_lambda(match: re.Match[str], record: Record) -> str:
    """Find the lambda that is called here and has no return: it is void for that alone."""
    code = mask(record.text)
    for name in re.findall(r"(\w+)\s*\(", record.code):
        made = re.search(rf"\b{name}\s*=\s*\[[^\]]*\]\s*\([^()]*\)[^{{;]*\{{([^{{}}]*)\}}", code)
        if made and not re.search(r"\breturn\b", made[1]) and "->" not in made[0].partition("{")[0]:
            record.line, record.column = position(code, made.start())
            return f"The lambda '{name}' has no return, so it gives nothing: {{ return ...; }}."
    return ""


rules.table(r"""
^assigning to an array|invalid array assignment|^incompatible types in assignment of .* to '.*\[
^array type '.*' is not assignable|^array must be initialized with a brace|^array initializer must be
    An array is not assigned or copied as a whole: go through its elements, or make it a std::array<float, 3>, say.
^void value not ignored|invalid use of void expression
    The function that is called here is declared void: it returns nothing.
type '(?:const )?(?:std::(?:vector|array)<|at::T|TensorAccessor).* does not provide a call operator
^no match for call to '\((?:const )?(?:std::(?:vector|array)<|at::T|\S*TensorAccessor)
    An element is taken with [ ]: ( ) calls a function.
does not provide a call operator|^no match for call to '\((?!const |.*lambda|std::function<)
    This is an object and no function: it takes ( ) only if its struct has an operator().
lvalue required as (?:left|increment|decrement) operand|expression is not assignable
    This is a value, not a variable: it cannot be assigned to. A comparison is written ==.
""")


# Functions


rules.table(r"""
return.statement with a value, in function returning 'void'|void function '.*' should not return
  in .
    The function is declared void: put the type of what it returns in place of void, or return nothing.
no return statement in function returning|non-void function does not return|control reaches end of non-void
    The function promises a result: add a return statement, on every way through it.
return-statement with no value|non-void function .* should return
    The function promises a result: what it gives back stands after return.
redefinition of default argument|^default argument given for parameter
    The default value of a parameter stands once only, where the function is first declared: leave it out here.
""")


@rules.rule(
    r"redefinition of|redeclaration of|conflicting declaration|previously (?:declared|defined)|shadows a parameter"
    r"|already (?:been )?defined|conflicts with a previous declaration|cannot be overloaded with|^class member cannot be redeclared"
)
def _twice(match: re.Match[str], record: Record) -> str:
    earlier = next((note.line for note in record.notes if note.file == record.file and note.line), 0)
    where = f" in line {earlier}" if earlier else " before"
    whole = re.match(r"[^=;]*\([^=]*\)\s*(?:const\s*)?\{|\s*(?:struct|class|enum)\b", record.code)
    other = "take one of the two away" if whole else "leave out the type to assign to it"
    return f"This name is declared{where} already: choose another name, or {other}."


rules.table(r"""
assignment used as truth value|assignment as a condition
  in .
    A single = assigns: write == to compare.
^call (?:of overloaded|to) .*ambiguous|^ambiguous overload|overloaded operator .* is ambiguous
  in .
    Several functions fit equally well: convert the arguments to one type with static_cast, or write the namespace, std:: or
    at::.
requires (?:at least )?\d+ arguments?, but only|passed \d+ arguments, but takes
too (?:few|many) arguments provided to function-like macro
  in .
    The macro wants another number of arguments; a comma outside of ( ) separates two, even one inside { } or < >.
goes out of scope|^reference to local|returning reference to local|reference to stack memory|address of (?:stack|local)
    What is returned dies with the function: return it by value.
""")


_OPENMP = re.findall(
    r"\w+",
    "parallel for simd single sections section task taskloop master critical barrier atomic declare teams target",
)


@rules.rule(r"ignoring '?#pragma|unknown pragma ignored")
def _pragma(match: re.Match[str], record: Record) -> str:
    name, directive = [*re.findall(r"\w+", record.row.partition("pragma")[2]), "", ""][:2]
    if name == "omp" and directive not in _OPENMP and (near := corrected(directive, _OPENMP)):
        return f"Did you mean #pragma omp {near}?"
    if name == "omp":
        return "OpenMP is off, so this loop stays serial: add -fopenmp to the flags."
    if name in _OPENMP:
        return f"Did you mean #pragma omp {name}?"
    if is_near(name, "omp") or sorted(name) == sorted("omp"):
        return "Did you mean #pragma omp?"
    return "The compiler does not know it: check its spelling."


rules.table(r"""
embedding a #pragma directive within macro arguments
    clang++ takes no #pragma inside the ( ) of a macro: write _Pragma("omp parallel for") in its place.
""")


# Link, load, machine


def _other_types(name: str, symbol: str, record: Record) -> str:
    """Show the body that a function of this name has for other parameters than it was declared with."""
    code = mask(record.sources[record.file])
    body = re.search(rf"(?<![\w.>:]){name}\s*\(([^(){{}};]*)\)\s*(?:const\s*)?(?:noexcept\s*)?\{{", code)
    wanted = re.search(r"\(.*\)", symbol)
    if body is None or wanted is None or "::" in symbol.partition("(")[0]:
        return ""
    record.line, record.column = position(code, body.start())
    return f"This body takes ({body[1].strip()}), and what is declared and called is {name}{wanted[0]}: both need the same types."


@rules.rule(r"defined nowhere")
def _undefined(match: re.Match[str], record: Record) -> str:
    symbol = record.symbol
    if re.fullmatch(r"\w+(?:::\w+)*::\w+", symbol) and re.search(
        rf"\bstatic\s[^;(]*\b{plain_name(symbol)}\s*;", record.text
    ):
        return "A static member is only declared in its struct: write inline in front of static, and give it its value there."
    if re.match(r"(?:.*[ *&])?(?:at|c10|torch|caffe2)::", symbol.split("(")[0]):
        return (
            "It belongs to PyTorch: the library was linked against another version, or the header "
            "declares what this build of torch does not have."
        )
    name, near = plain_name(symbol), ""
    if record.file in record.sources:
        text = mask(record.sources[record.file])
        near = corrected(name, set(re.findall(r"\w+(?=\s*\([^;{}]*\)\s*\{)", text)) - {name, "if", "for", "while"})
        if cure := _other_types(name, symbol, record):
            return cure
    if near:
        return f"Did you mean '{near}', which has a body?"
    return "Write its body, with exactly these parameter types, or link the library that has it."


rules.table(r"""
defined several times
    Two texts define it: make it static, or give one of them another name.
linker cannot find (-l\S+)
    Install the library of \1, or take the flag away.
Killed|virtual memory exhausted|out of memory
    The compiler ran out of memory: close other programs, or build fewer kernels at a time.
No space left
    The disk is full: make room, or set LLTM_INLINE_CACHE to a directory elsewhere.
unrecognized .*option|unknown argument|unsupported option
    This compiler does not know that flag: take it out of cflags or of the kernel's flags.
internal compiler error
    The compiler itself failed: simplify this line, or try the other compiler.
static(?: assertion|_assert) failed(?!.*(?:the shared array|CUDA has))
  in \bstatic_assert\b
    The condition of this static_assert does not hold.
""")
