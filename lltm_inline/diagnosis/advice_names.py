"""Help for what a compiler says about characters, names and brackets."""

from __future__ import annotations

import re
from collections import Counter

from ..cpp.masks import closing
from . import names
from .compiler_log import Record
from .names import aten_functions, corrected, is_near, nearest_header, nearest_of_text
from .rules import Rules
from .source_text import (
    declarations,
    definition,
    function_around,
    heads_around,
    is_tensor,
    mask,
    offset_of,
    position,
    strange_character,
    words,
)

_UNKNOWN = (
    r"'([\w:]+)' (?:was not declared|has not been declared|does not name a type)"
    r"|use of undeclared identifier '(\w+)'|unknown type name '(\w+)'|no template named '(\w+)'"
    r"|'(\w+)': there are no arguments"
)
rules = Rules(UNKNOWN=_UNKNOWN)

# Characters and files


@rules.rule(
    r"extended character|unexpected character|stray|<U\+|\\U0|Unicode|not declared|undeclared|does not name|expected"
)
def _foreign_character(match: re.Match[str], record: Record) -> str:
    strange = strange_character(record.row)
    if strange is None:
        return ""
    record.column = strange[0]
    return (
        f"Column {strange[0]} holds {strange[1]}, which is no part of C++, perhaps pasted from a web "
        f"page: type it anew."
    )


rules.table(r"""
missing terminating
    A quote is missing: a string begins here and is not closed on this line.
unterminated (?:/\*|comment)
    Close the comment with */.
unterminated (#\w+|conditional)
    Close it with #endif.
""")


@rules.rule(r"(?:'([^']+)' file not found|fatal error: (\S+): No such|^(\S+): No such file or directory)")
def _no_header(match: re.Match[str], record: Record) -> str:
    header = match[1] or match[2] or match[3]
    if record.header:
        return f"The header of this line includes <{header}> in its turn, and the compiler does not find that one."
    near = nearest_header(header)
    if not near and "cuda" in header.lower() and "__global__" not in record.text:
        return "This header comes with CUDA, which this build does not have: keep it out of the cpp text."
    if near:
        return f"Did you mean #include <{near}>?"
    return f"The compiler finds no header of this name: check the spelling of #include <{header}>."


# Names


@rules.rule(
    r"'(?:::)?(forward|backward)' (?:was not declared|is not a member|has not been)"
    r"|undeclared identifier '(forward|backward)'|no member named '(forward|backward)'"
)
def _no_forward(match: re.Match[str], record: Record) -> str:
    name = match[1] or match[2] or match[3]
    for file, text in record.sources.items():
        called = set() if file.endswith("(binding)") else set(re.findall(r"\w+(?=\s*\()", mask(text)))
        near = corrected(name, called)
        place = definition(text, near) if near else None
        if place:
            record.file, (record.line, record.column) = file, place
            return f"The text defines no function '{name}'. Did you mean '{name}' where it says '{near}'?"
        found = None if file.endswith("(binding)") else re.search(rf"(?<![\w:.>]){name}\s*\(", mask(text))
        place = position(text, found.start() if found else 0)
        if found and (owner := re.search(r"\bnamespace\s+(\w+)", " ".join(heads_around(text, *place)))):
            record.file, (record.line, record.column) = file, place
            return f"The binding does not look into the namespace {owner[1]}: write using {owner[1]}::{name}; after its '}}'."
    return f"The text defines no function '{name}', which the binding calls."


rules.table(r"""
'scalar_t' was not declared|'scalar_t' has not been declared|(?:identifier|unknown type name) 'scalar_t'
'scalar_t' does not name
  in \btemplate\s*<\s*scalar_t\b
    Say what kind of parameter 'scalar_t' is: template <typename scalar_t>.
  in .
    scalar_t only exists inside AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "name", [&] { ... }), or in a template that
    declares it.
""")


@rules.rule(
    r"'(AT_\w+|TORCH_\w+|PYBIND11_\w+)' (?:was not|has not|does not)|(?:identifier|type name) '(AT_\w+|TORCH_\w+|PYBIND11_\w+)'"
)
def _macro(match: re.Match[str], record: Record) -> str:
    name = match[1] or match[2]
    header = next((header for start, header in names.MACRO_HEADERS.items() if name.startswith(start)), "")
    if name in names.MACROS and header:
        return f"Add #include <{header}> at the top."
    near = names.OLD_MACROS.get(name) or corrected(name, names.MACROS)
    near = near or ("AT_DISPATCH_FLOATING_TYPES" if "DISPATCH" in name else record.guess)
    return f"Did you mean '{near}'?" if near else ""


_SPACES = "(std|at|c10|torch)"


rules.table(r"""
'at' (?:has not been|was not) declared|^'at' does not name|undeclared identifier 'at'|is not a member of '(?:at|c10)'
named '\w+' in namespace '(?:at|c10)'|in namespace '(?:at|c10)' does not name|'(?:at|c10)::\w+' has not been declared
  text torch::stable
    A kernel on the stable ABI does without at::, so use torch::stable::, or make it api="aten".
'at' (?:has not been|was not) declared|^'at' does not name|undeclared identifier 'at'
    Add #include <ATen/ATen.h> at the top.
""")


@rules.rule(
    rf"'(\w+)' is not a member of '{_SPACES}'|no (?:member|type|template) named '(\w+)' in namespace '{_SPACES}'"
    rf"|'(\w+)' in namespace '{_SPACES}' does not name|'(?=(?:at|c10)::(\w+))(at|c10)::\w+' has not been declared"
)
def _in_namespace(match: re.Match[str], record: Record) -> str:
    name, space = (group for group in match.groups() if group)
    if space == "std":
        if header := _header_of(name, record) or names.STD.get(name):
            return f"Add #include <{header}> at the top."
        if name in names.NOT_IN_STD:
            return f"There is no std::{name}: write {names.NOT_IN_STD[name]}."
    elif name == "tensor" and (cure := _capital(record)):
        return cure
    elif dtype := names.DTYPES.get(name.removeprefix("k").lower()):
        return f"This dtype is at::{dtype} in C++."
    elif space == "torch" and name in {*aten_functions(), *names.AT_TYPES, *names.DTYPES.values()}:
        return f"Write at::{name}: the names in torch:: need #include <torch/types.h>, which takes long to compile."
    elif name in names.INDEXING:
        return f"It is at::indexing::{name}, with #include <ATen/TensorIndexing.h>."
    elif name in aten_functions():
        return f"Add #include <ATen/ops/{name}.h>, or <ATen/ATen.h> for all of at::."
    elif name in names.AT_HEADERS:
        return f"Add #include <{names.AT_HEADERS[name]}> at the top."
    of_c10 = {"irange", "Half", "BFloat16", "Scalar"}
    of_at = aten_functions() | names.AT_TYPES | names.AT_HEADERS.keys()
    guess = record.guess.removeprefix(f"{space}::")
    near = corrected(name, {"std": names.STD, "c10": of_c10}.get(space, of_at)) or (
        guess if is_near(name, guess) else ""
    )
    if near:
        return f"Did you mean '{near if space == 'std' else f'{space}::{near}'}'?"
    if space == "torch":
        return ""
    return f"No header that is included has {space}::{name}: check its spelling, or include its header."


rules.table(r"""
'torch'.*has not been declared|'torch::.*' has not|undeclared identifier 'torch'|namespace 'torch'|not a member of 'torch'
'torch' does not name a type
  in .
    Write at::Tensor, at::zeros, ...; the names in torch:: need #include <torch/types.h>, which takes long to compile.
""")


def _header_of(name: str, record: Record) -> str:
    """Return the header that g++ names in a note."""
    said = (re.search(r"'(?:std::)?(\w+)' is defined in header '<([^>]+)>'", note.message) for note in record.notes)
    return next((match[2] for match in said if match and match[1] == name), "")


@rules.rule(
    r"aggregate 'std::(\w+) .*' has incomplete type|undefined template 'std::(?:basic_)?(\w+)<|incomplete type 'std::(\w+)"
    r"|return type '(?:class |struct )?std::(\w+).*' is incomplete"
    r"|incomplete type"
)
def _only_declared(match: re.Match[str], record: Record) -> str:
    """Name the header of a type that other headers only declare."""
    name = next((group for group in match.groups() if group), "")
    if not name and (found := re.search(r"std::(\w+)", record.row)):
        name = found[1]
    if name in names.STD and not re.search(rf"#\s*include\s*<{names.STD[name]}>", record.text):
        return f"Add #include <{names.STD[name]}> at the top: so far '{name}' is only declared."
    own = re.search(
        r"incomplete type.*?'(?:struct |class )?(\w+)'|'(\w+) \w+' has incomplete|forward declaration of '(?:struct |class )?(\w+)'",
        record.said,
    )
    name = (own[1] or own[2] or own[3]) if own else ""
    around = heads_around(record.text, record.line, record.column)
    if "field" in record.message and around and re.search(rf"\b(?:struct|class)\s+{name}\b", around[-1]):
        return f"A struct cannot hold one of itself: hold a pointer, {name}*, or a std::vector<{name}>."
    return ""


#: What people call without the tensor that it is a method of.
_METHODS = re.findall(
    r"\w+", "size stride numel dim sizes strides item data_ptr contiguous view reshape defined is_contiguous"
)


def _name(match: re.Match[str]) -> str:
    return next(filter(None, match.groups()))


def _with_header(said: str, header: str, text: str) -> str:
    included = re.search(rf"#\s*include\s*<{header}>", text)
    return f"Did you mean '{said}'?" + ("" if included else f" It needs #include <{header}>.")


@rules.rule(_UNKNOWN)
def _of_another_language(match: re.Match[str], record: Record) -> str:
    name = _name(match)
    for modules, whose in ((names.PYTHON_MODULES, "is Python"), (names.FOREIGN_MODULES, "is of another language")):
        if name in modules and f"{name}." in record.row:
            return f"'{name}.' {whose}: write {modules[name]}."
    if name in names.PYTHON_MODULES and f"{name}::" in record.row:
        return f"There is no namespace '{name}': write {names.PYTHON_MODULES[name]}."
    if name in names.INDEXING and (name != "None" or re.search(r"\bindex(?:_put_)?\s*\(", record.code)):
        return f"It is at::indexing::{name}, with #include <ATen/TensorIndexing.h>."
    if name in names.PYTHON:
        return f"'{name}' is Python: {names.PYTHON[name]}."
    if name in names.AT_TYPES:
        return f"Did you mean 'at::{name}'?"
    if name in names.QUALIFIED and not definition(record.text, name):
        return _with_header(*names.QUALIFIED[name], record.text)
    return ""


rules.table(r"""
UNKNOWN
  line \[[^\[\]]*\]\s*\((?:[^()]*,)?\s*NAME\s*[,)]
    Each parameter of a lambda has a type of its own in front: int64_t NAME, say.
  line #\s*pragma\s+omp\b.*\b(\w*private)\s*\([^()]*\bNAME\b
    What a loop declares is private by itself: leave 'NAME' out of \1(...), or declare it ahead.
  in ^(?!.*\b(?:for|if|while)\b).*\w\s*\((?:[^;]*,)?\s*NAME\s*(?:=[^=]|:[^:])
    C++ has no named arguments: pass the value alone, at its place.
  text \benum\s+(?:class|struct)\s+(\w+)[^{;]*\{[^}]*\bNAME\b
    'NAME' belongs to the enum class \1: write \1::NAME.
""")


@rules.rule(_UNKNOWN)
def _of_header(match: re.Match[str], record: Record) -> str:
    name = _name(match)
    if cure := not_a_template(name, record):
        return cure
    header = _header_of(name, record) or names.C_MACROS.get(name, "") or "omp.h" * name.startswith("omp_")
    return f"Add #include <{header}> at the top." if header else ""


@rules.rule(_UNKNOWN)
def _declared(match: re.Match[str], record: Record) -> str:
    name, text = _name(match), record.text
    return _declared_misspelt(name, text) or _declared_elsewhere(name, record, text)


rules.table(r"""
UNKNOWN
  outside [(,]\s*((?:const\s+)?[\w:]+(?:<[^<>]*>)?[*&]*)\s*[*&]*\w+\s*,\s*NAME\s*[,)]
  text \bNAME\b(?s:.)*\bNAME\b
    Each parameter has a type of its own in front: \1 NAME, say.
  outside [(,]\s*NAME\s*[,)]
  text \bNAME\b(?s:.)*\bNAME\b
    Each parameter has a type of its own in front: float NAME, say.
  in \b(?=[A-Z]\w?\b)NAME\b[*&]*\s+[*&]?\w|<\s*(?=[A-Z]\w?\b)NAME\s*[,>*]
  no template\s*<[^>]*\bNAME\b
    If 'NAME' stands for any type, write template <typename NAME> before the function; else declare it.
  line \bfor\s*\(\s*NAME\s*=
    Say its type where the loop begins: for (int64_t NAME = ...
  outside \([^{}]*?(\w+)\s*\[\s*NAME\s*\]
    An array that is a parameter has no length of its own: write float* \1, and int64_t NAME beside it.
""")


def _is_of_std(name: str, record: Record) -> bool:
    """Tell whether a name can be one of std: a variable that is undeclared has its name from the user."""
    used = rf"\b{name}\s*<|[<>] *{name}\b|\b{name}[*&]*\s+[*&]?\w"
    return record.called == name or bool(re.search(used, record.code))


@rules.rule(_UNKNOWN)
def _of_a_library(match: re.Match[str], record: Record) -> str:
    name, text = _name(match), record.text
    if name in names.FOREIGN:
        return f"Did you mean '{names.FOREIGN[name]}'?"
    if name in names.STD and _is_of_std(name, record):
        return _with_header(f"std::{name}", names.STD[name], text)
    if record.called != name:
        return ""
    tensors = "at::" in text or "torch" in text
    if not tensors and name in names.NOT_IN_STD:
        return f"C++ has no function '{name}': write {names.NOT_IN_STD[name]}."
    if not tensors or name not in aten_functions():
        return ""
    given = re.search(rf"\b{name}\s*\(\s*(-?\d+|[A-Za-z_]\w*)?\s*[,)]", record.code)
    if given and name in _METHODS and not (given[1] and is_tensor(text, given[1])):
        return f"'{name}' belongs to a tensor: write x.{name}(...), with the tensor's name and a dot."
    return f"Did you mean 'at::{name}'?"


@rules.rule(_UNKNOWN)
def _misspelt(match: re.Match[str], record: Record) -> str:
    name, text = _name(match), record.text
    near = nearest_of_text(name, text) or (corrected(name, names.STD) if _is_of_std(name, record) else "")
    if not near and name.isupper():
        near = corrected(name, names.C_MACROS)
    if not near and name.upper() in names.C_MACROS:
        near = name.upper()
    if not near and record.called == name and ("at::" in text or "torch" in text):
        near = "at::" * bool(one := corrected(name, aten_functions())) + one
    return f"Did you mean '{'std::' * (near in names.STD and near not in words(text))}{near}'?" if near else ""


@rules.rule(_UNKNOWN)
def _nowhere(match: re.Match[str], record: Record) -> str:
    name = _name(match)
    if any(place < (record.line, record.column) for place in declarations(record.text, name)):
        return ""  # something is wrong with that declaration, and its own error says what
    if re.match(rf"\s*{name}\s*=[^=]", record.code):
        return (
            f"A variable begins with its type, where it first gets a value: float {name} = ..., at::Tensor {name} = ..."
        )
    return f"Nothing called '{name}' is declared before this line: check its spelling, or declare it first."


def not_a_template(name: str, record: Record) -> str:
    """Tell of a plain function of the text that is called with < >."""
    code = mask(record.text)
    place = definition(code, name)
    if place is None or re.search(rf"template\s*<[^;{{}}]*\b{name}\b", code):
        return ""
    if not re.search(rf"(?<!\w){name}\s*<", record.row):
        return ""
    return f"'{name}' of line {place[0]} is no template: call it without < >, or write template <typename T> before it."


def _declared_misspelt(name: str, text: str) -> str:
    """Suspect the declaration when it is the odd one out: `name` stands in several places, its near twin in one."""
    code = mask(text)
    counts = Counter(re.findall(r"[A-Za-z_]\w*", code))
    twin = corrected(name, [word for word, count in counts.items() if count == 1 and word != name])
    places = declarations(text, twin) if twin and counts[name] > 1 else []
    return f"Did you mean '{twin}', as it is spelt in line {places[0][0]}?" if places else ""


def _declared_elsewhere(name: str, record: Record, text: str) -> str:
    every = declarations(text, name)
    if any(line == record.line and column < record.column for line, column in every):
        return ""
    places = [place for place in every if place[0] != record.line]
    before = [place for place in places if place[0] < record.line]
    if before:
        if not _closed_between(text, before[-1], record.line):
            return ""
        owner = re.search(r"\b(struct|class|namespace)\s+(\w+)[^()]*$", (heads_around(text, *before[-1]) or [""])[-1])
        if owner and owner[1] == "namespace":
            return f"'{name}' stands in the namespace {owner[2]}: write {owner[2]}::{name}."
        if owner:
            return f"'{name}' of line {before[-1][0]} is a member of {owner[2]}, and needs an object of it, as in g.{name}."
        home, here = function_around(text, *before[-1]), function_around(text, record.line, record.column)
        if home == here and not heads_around(text, *before[-1]):
            return ""  # a parameter is seen in all of its function
        if home and home != here:
            other = f"'{name}' of line {before[-1][0]} belongs to {home}, and each function has variables of its own"
            if (home, here) == ("forward", "backward"):
                return f'{other}: make it here too, or have it handed over, as saves=("{name}",) does with an input or output.'
            return f"{other}: make it here too, or take it as an argument."
        empty = re.search(r"\bfor\s*\(.*\)(;)\s*\{?\s*$", mask(text).split("\n")[before[-1][0] - 1])
        if empty:
            return f"In line {before[-1][0]} the ';' after the ( ) is all that this for repeats: take that ';' away."
        return f"'{name}' of line {before[-1][0]} lives only inside its own {{ }}: declare it before that block."
    here, code = function_around(text, record.line, record.column), mask(text)

    def is_seen(line: int, column: int) -> bool:
        """Tell whether it helps to move a line up: it is of no other function, nor its parameter where the text is broken."""
        ahead = re.split(r"[{};]", code[: offset_of(text, line, column)])[-1]
        return function_around(text, line, column) in ("", name, here) and ahead.count("(") == ahead.count(")")

    late = next((line for line, column in places if is_seen(line, column)), 0)
    return f"'{name}' is declared in line {late}, too late for this line: move it up." if late else ""


def _capital(record: Record) -> str:
    small = re.search(r"\b(at|torch)::tensor[&*]?\s+[&*]?\w", record.code)
    return f"The type is {small[1]}::Tensor, with a capital T; {small[1]}::tensor is a function." if small else ""


def _closed_between(text: str, place: tuple[int, int], line: int) -> bool:
    """Tell whether the brackets around a declaration end before a line."""
    lines = mask(text).split("\n")[place[0] - 1 : line]
    depth = 0
    for bracket in re.findall(r"[(){}]", "\n".join([lines[0][place[1] :], *lines[1:]])):
        depth += 1 if bracket in "({" else -1
        if depth < 0:
            return True
    return False


@rules.rule(
    r"has no member named '(\w+)'|no member named '(\w+)' in '([^']*)'|'(\w+)' is not a member of '([^']*)'"
    r"|not have any field named '(\w+)'|^member initializer '(\w+)' does not name"
    r"|has no non-static data member named '(\w+)'|^field designator '(\w+)' does not refer"
)
def _member(match: re.Match[str], record: Record) -> str:
    name = match[1] or match[2] or match[4] or match[6] or match[7] or match[8] or match[9]
    if "ScalarType" in record.message and (dtype := names.DTYPES.get(name.lower())):
        return f"This dtype is at::{dtype} in C++."
    if "std::array<" in record.message:
        return "The values of a std::array are taken with [ ], as in v[0], and v.size() is their number."
    if "optional<" in record.message:
        return f"It may hold nothing: ask x.has_value() first, then take {'*x' if name == 'defined' else f'x->{name}'}."
    if "AutogradContext" in record.message and name.startswith("saved_"):
        return "What was saved is ctx->get_saved_variables(), a std::vector of tensors."
    tensor = "Tensor" in record.message
    if tensor and name in names.TENSOR_MEMBERS:
        return f"In C++: {names.TENSOR_MEMBERS[name]}."
    if "numeric_limits<" in record.message:
        near = names.LIMITS.get(name) or corrected(name, ("infinity", "quiet_NaN", "epsilon", "lowest", "digits"))
        return f"It is called '{near}', with ( ) after it." if near else ""
    if "vector<" in record.message and name in names.VECTOR_MEMBERS:
        return f"For a std::vector write {names.VECTOR_MEMBERS[name]}."
    if "vector<" in record.message and names.STD.get(name) == "algorithm" and name != "clamp":
        more = "" if re.search("sort|reverse|element|unique|permutation", name) else ", ..."
        return f"It is a function, not a member: std::{name}(v.begin(), v.end(){more}), with #include <algorithm>."
    guess = record.guess
    if is_near(name, guess):
        return f"Did you mean '{guess}'?"
    if tensor and name in aten_functions():
        return f"It is a function, not a member: write at::{name}(...)."
    own = re.search(
        r"'(?:const )?(?:struct |class )?(\w+)(?:<[^']*)?' has no|(?:in|of|type) '(?:const )?(\w+)(?:<[^']*)?'",
        record.message,
    )
    kind = (own[1] or own[2]) if own else ""
    pattern = rf"\b(?:struct|class)\s+{kind}\b[^;{{]*\{{(.*?)\n?\}}\s*;"
    body = re.search(pattern, mask(record.text), re.DOTALL) if kind else None
    members = re.findall(r"(?:[\w>*&]\s+[*&]*|,\s*)(\w+)\s*(?=[;=({\[,])", body[1]) if body else []
    near = corrected(name, aten_functions() if tensor else members or words(record.text))
    if not near and members and body and "(" not in body[1]:
        return f"'{kind}' has {', '.join(members[:8])}."
    if not near and (match[6] or match[7]):
        return f"There is no member '{name}' to begin with a value: declare it in the struct, or leave it out here."
    return f"Did you mean '{near}'?" if near else ""


@rules.rule(r"^variable is not captured|'(\w+)' is not captured|variable '(\w+)' cannot be implicitly captured")
def _not_captured(match: re.Match[str], record: Record) -> str:
    what = f"'{match[1] or match[2]}'" if match[1] or match[2] else "it"
    begins = re.compile("lambda expression begins here|lambda has no capture-default")
    note = next((note for note in record.notes if note.file == record.file and begins.search(note.message)), None)
    if note is None:
        return f"The lambda does not see {what}: begin it with [&]."
    used, record.line, record.column = record.line, note.line, note.column
    where = f" in line {used}" if used != note.line else ""
    return f"The lambda that begins here does not see {what}{where}: begin it with [&]."


# Brackets and semicolons

rules.table(r"""
expected ';' after (?:struct|class|enum|union)
    A struct ends with '};': add the ';'.
""")


@rules.rule(
    r"^new types may not be defined in|declaration must not declare anything else|^expected unqualified-id before"
    r"|^expected initializer before|;' after|before 'at"
)
def _end_of_struct(match: re.Match[str], record: Record) -> str:
    """Find the struct that ends without its ';', before this place or from it on, and show its end."""
    code = mask(record.text)
    here = len("\n".join(code.split("\n")[: record.line - 1]))
    ends = [end for end in _ends_of_structs(code) if not re.match(r"\s*;", code[end:])]
    if "new types" in match[0]:  # said where the struct begins
        end = next((end for end in ends if end >= here), 0)
    else:  # said where the next line begins, or moved to the end of this one
        before = (len(code[:place].rstrip()) for place in (here, here + record.column))
        end = next((end for end in before if end in ends), 0)
    if not end:
        return ""
    record.line, record.column = position(code, end)
    return "A struct ends with '};': add the ';'."


def _ends_of_structs(code: str) -> list[int]:
    """List where the bodies of structs and enums end."""
    heads = re.finditer(r"\b(?:struct|class|enum|union)\b[^;{}()]*\{", code)
    return [closing(code, head.end() - 1) + 1 for head in heads]


@rules.rule(r"expected (?:',' or )?';'|expected ';'|expected initializer before|expected ',' or '\.\.\.' before")
def _semicolon(match: re.Match[str], record: Record) -> str:
    if re.search(r"[\w)\]]\s*//\s*[\w(][^;]*;\s*$", record.row) and not record.code.rstrip().endswith((";", "{", "}")):
        return "// begins a comment: whole numbers are divided by one /, which leaves out the rest."
    here = record.row[max(record.column - 1, 0) :].lstrip()
    word = None if re.search(r"before '\W", record.message) else re.match(r"\w+", here)
    if word and word[0] in names.PYTHON:
        return f"'{word[0]}' is Python: {names.PYTHON[word[0]]}."
    if "at end of" in record.message:
        return "A ';' is missing at the end of this statement."
    if word and word[0] in ("return", "break", "continue", "if", "for", "while", "do", "switch", "case", "throw"):
        return f"A ';' is missing before '{word[0]}', where the statement before it ends."
    if word:
        return f"Before '{word[0]}' something is missing: an operator, a ',' or a ';'."
    if here[:1] in tuple("*/%+-<>=&|^?.:!"):
        return ""  # the statement goes on, and what is wrong stands in it
    return "A ';' is missing at the end of this statement."


@rules.rule(r"^expected (?:primary-)?expression")
def _expression(match: re.Match[str], record: Record) -> str:
    here = record.row[max(record.column - 1, 0) :].lstrip()
    if re.search(r"\"\s*\[[&=]\]", record.row):
        return "Before the lambda a ',' is missing."
    text = mask(record.text)
    ahead = text[: offset_of(text, record.line, max(record.column, 1))].rstrip()
    if here.startswith((")", "]")) and ahead.endswith(","):
        record.line, record.column = position(text, len(ahead) - 1)
        return "Take this ',' away: after the last argument of a call C++ has none."
    if here.startswith((")", "]", ",", ";", "/", "%", "<", ">", "|", "?")):
        return "Something is missing here: an argument, or what stands after an operator."
    return ""
