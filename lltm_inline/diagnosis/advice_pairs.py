"""Help for two types that do not go together: one is given where the other is wanted, or an operator stands between them."""

from __future__ import annotations

import re

from .advice_tensors import LOGICAL, for_tensors, in_place_of_tensor
from .compiler_log import Record
from .names import arguments, count_arguments
from .rules import Rules, without_aka
from .source_text import definition, heads_around, mask, parameters

rules = Rules()

_PAIR = re.compile(
    r"(?:cannot|could not) convert .*?'(?P<a>[^']*)'\)? to (?:type )?'(?P<b>[^']*)'"
    r"|conversion (?:for argument \d+ )?from '(?P<c>[^']*)' to (?:non-scalar type )?'(?P<d>[^']*)'"
    r"|cannot (?:initialize|assign|convert).* type '(?P<f>[^']*)' (?:with|from|to|for).*?type '(?P<e>[^']*)'"
    r"|assigning to '(?P<h>[^']*)' from (?:incompatible type )?'(?P<g>[^']*)'"
    r"|(?:invalid 'static_cast'|static_cast|C-style cast) from (?:type )?'(?P<k>[^']*)' to (?:type )?'(?P<l>[^']*)'"
    r"|initialization of reference of type '(?P<n>[^']*)' from expression of type '(?P<m>[^']*)'"
    r"|reference to type '(?P<r>[^']*)' could not bind to an? [lr]value of type '(?P<q>[^']*)'"
    r"|(?:mismatched types|could not match) '(?P<p>[^']*)' (?:and|against) '(?P<o>[^']*)'"
    r"|no viable conversion from (?:returned value of type )?'(?P<i>[^']*)' to (?:function return type )?'(?P<j>[^']*)'"
)
NUMBER = r"(?:unsigned |signed |long |short )*(?:float|double|int|long|short|char|bool|(?:std::)?u?int\d+_t|scalar_t)"
_ITERATOR = "An iterator only points to a value: *it is the value itself."
_MORE_DIMENSIONS = "The accessor has more dimensions than there are indices here: write one [ ] for each."
NO_TENSOR = "A number is no tensor: where a function returns one, at::scalar_tensor(v, x.options()) makes it; y.fill_(v) sets all of y."
_EXTENTS = "These are all the extents: one of them is x.size(0), all elements are x.numel()."
_UNCALLED = "This is a function that is not called: its arguments stand in ( ) after its name."
_TENSOR = r"^(?:const )?at::Tensor"
_NO_VECTOR = "A tensor is no vector: std::vector<float> v(p, p + x.numel()) copies the values that p = x.const_data_ptr<float>() leads to."
_OPTIONAL = "It may hold nothing: ask x.has_value() first, then take *x."
_ROWS = "The rows of an array are no pointers: take it as float (*a)[4], say, or hand over &a[0][0] and take a float*."
_LIST = "It is a list with a length: keep it as at::IntArrayRef s = x.sizes(), or one extent as int64_t n = x.size(0)."
#: What is given, what is wanted, and the cure: the first pair that fits is told.
_GIVEN_FOR = (
    (r"^const char ?(?:\*|\[)", _TENSOR, 'A text is no tensor: TORCH_CHECK(condition, "text") stops with a text.'),
    (r"lambda", rf"^{NUMBER}$", "This is a function without a name: auto f = [](...) { ... }; keeps it, and ( ) after its '}' calls it."),
    (r"lambda", r"std::function<", "The lambda takes or returns other types than this std::function names between < and >."),
    (r"optional<", r"^(?!.*optional)", _OPTIONAL),
    (r"ArrayRef|TensorList", r"^(?:const )?std::vector<", "It only looks at values elsewhere: .vec() makes a std::vector of them."),
    (r"^(?!.*TensorAccessor).*ArrayRef", rf"^{NUMBER}$", _EXTENTS),
    (r"^(?:::)?std::tuple<", r"^(?:const )?at::Tensor$", "These are several values: auto [a, b] = ... takes them apart."),
    (rf"^(?:const )?std::vector<{NUMBER}>", _TENSOR, "at::tensor(v, x.options()) makes a tensor of a vector, with <ATen/ATen.h>."),
    (r"std::(?:vector|initializer_list)<int>", r"ArrayRef", "Extents are int64_t: take std::vector<int64_t>, or write {2, 3} in the call."),
    (rf"{_TENSOR}&?$", rf"^(?:const )?std::(?:vector|array)<{NUMBER}\b", _NO_VECTOR),
    (r"^(?:const )?std::vector<", r"\*$", "A vector is no pointer: v.data() points to its first value."),
    (rf"^(?:const )?{NUMBER}$", _TENSOR, NO_TENSOR),
    (rf"^(?:const )?{NUMBER}$", r"TensorAccessor<", _MORE_DIMENSIONS),
    (rf"^(?:const )?{NUMBER}\*$", r"[^*]\*(?: ?const)?\*$", "One pointer leads to all of it: (i, j) is p[i * columns + j]."),
    (r"\(\*\)\[|\]\[\w+\]$", r"\*\*$", _ROWS),
    (r"(?:\(\*\)|\[\w+\])\[\w+\]$", r"\*$", "The rows of an array lie one after the other: &a[0][0] points to its first value."),
    (r"__normal_iterator<|::(?:const_)?iterator$", rf"^{NUMBER}$", _ITERATOR),
    (rf"^(?:const )?{NUMBER}$", r"^(?:const )?std::vector<", "A number in ( ) says how many values there are: std::vector<float> v(n)."),
    (rf"^(?:const )?{NUMBER}$", r"^(?:const )?std::(?:pair|tuple)<", "Its values stand in braces: {a, b}."),
    (rf"^(?:const )?{NUMBER}$", r"^(?:const )?std::string$", "A number becomes text with std::to_string(...)."),
    (_TENSOR, r"^(?:const )?std::vector<at::Tensor>", "Braces make a list of tensors: {x}."),
    (r"TensorAccessor<", rf"^(?:const )?{NUMBER}$", _MORE_DIMENSIONS),
    (r"^(?!.*TensorAccessor).*ArrayRef", r"\*$", _LIST),
    (r"TensorAccessor<", r"\*$", "An accessor is no pointer: take x.const_data_ptr<T>() to read, x.mutable_data_ptr<T>() to write."),
    (r"TensorAccessor<", _TENSOR, "An accessor reads numbers, and is no tensor: a row of the tensor itself is x[i]."),
    (r"^(?:at|c10)::Scalar&?$", _TENSOR, "A Scalar is a number: at::scalar_tensor(s, x.options()) is a tensor."),
    (r"^(?:const )?at::Tensor&?$", r"^std::tuple<", "The function returns several values, and this is one: return {a, b};"),
    (r"^(?:const )?std::vector<", r"^std::tuple<", "A tuple holds a fixed number of values, a vector does not: return {v[0], v[1]};"),
    (r"^(?:const )?std::vector<at::Tensor", _TENSOR, "These are several tensors: at::cat(v, 0) or at::stack(v, 0) makes one of them."),
    (r"nullptr_t", _TENSOR, "No tensor is at::Tensor()."),
    (rf"{NUMBER}\*$", _TENSOR, "A pointer is no tensor: give the tensor itself that it points into."),
    (r"lambda", r"\(\*\)\(", "A lambda that captures is no plain function: take it as std::function<float(float)> f, say."),
    (r"^const char ?(?:\*|\[)", r"ScalarType|TypeMeta", "A dtype is a constant, not a text: at::kFloat, at::kDouble, at::kLong, ..."),
    (r"Vectorized<", rf"^(?:const )?(?:{NUMBER}|T)&?$",
     "A vector is several numbers: v.store(p + i) writes them all, and the loop goes on by the width of the vector."),
    (r"^void$", r"", "The function that is called here is declared void: it returns nothing."),
    (r"^const char ?(?:\*|\[)", r"^char$", "A single character stands in single quotes: 'a'."),
    (r"^const char ?(?:\*|\[)", rf"^{NUMBER}$", "A text is no number: leave the quotes away, or read it with std::stod(...)."),
    (r"\(\*?\)\(|^[^()<]+ ?\(.*\)(?: noexcept)?$", rf"^{NUMBER}$", _UNCALLED),
)  # fmt: skip


def _types(text: str) -> str:
    return re.sub(r"\s+([*&])|\s*__restrict\b|, std::allocator<[^<>]*> ?(?=>)", r"\1", text)


def _pointee(pointer: str) -> str:
    return re.sub(r"\bconst\b|\*$|\[\w*\]$", "", pointer).strip()


def pair_in(message: str) -> tuple[str, str] | None:
    """Return the type that is given and the one that is wanted.

    >>> pair_in("cannot convert 'float' to 'float *' in initialization")
    ('float', 'float*')
    """
    match = _PAIR.search(without_aka(message))
    if match is None:
        return None
    given, wanted = (
        next(match[name] for name in names if match[name] is not None) for names in ("acegikmoq", "bdfhjlnpr")
    )
    return _types(given), _types(wanted)


def of_pair(given: str, wanted: str, record: Record, callee: str = "") -> str:
    """Say how to come from one type to another, or nothing.

    Args:
        given: the type of the value.
        wanted: the type of what takes it.
        record: about which.
        callee: the function of which it is an argument.
    """
    line, text = record.code, mask(record.text)
    for left, right, cure in _GIVEN_FOR:
        if re.search(left, given) and re.search(right, wanted):
            return cure
    if callee.endswith("_like") and "IntArrayRef" in given:
        of_sizes = callee.removesuffix("_like")
        return f"'{callee}' takes the sizes of a tensor: hand over the tensor, or write at::{of_sizes}(sizes, x.options())."
    tensor = re.fullmatch(r"(?:const )?at::Tensor&?", given)
    if tensor and (cure := for_tensors(callee, record) or in_place_of_tensor(wanted, record)):
        return cure
    if given.endswith("*") and wanted.endswith("*"):
        return _two_pointers(given, wanted, record, callee)
    plain = wanted.removeprefix("const ").rstrip("&")
    if given.rstrip("*") == plain and re.search(r"\bnew\b", line):
        return f"new gives a pointer, and none is needed here: write {plain} g; or {plain} g(...);."
    if re.fullmatch(r"(?:const )?(?:at|c10)::Scalar&?", given) and re.fullmatch(NUMBER, plain):
        if re.search(r"\.item\(\)", line):
            return f".item() without a type gives a c10::Scalar: write .item<{plain}>()."
        return f"A Scalar may hold any kind of number: s.to<{plain}>() takes it out."
    if "static_cast<" in line and given.endswith("*") != wanted.endswith("*"):
        return ""
    if re.search(r"[*\]]$", given) and _pointee(given) == plain:
        return f"This is a pointer to {plain}: one element of it is taken with [ ], as in x[i]."
    if wanted.endswith("*") and (set_to := re.match(r"\s*(\w+)\s*=[^=]", line)) and re.fullmatch(NUMBER, given):
        return f"'{set_to[1]}' is a pointer: the value behind it is set by {set_to[1]}[0] = ..."
    if given.removeprefix("const ") == _pointee(wanted) and wanted.endswith("*"):
        return "A pointer is wanted, and this is a value: & in front of a variable gives its address, as in &x."
    if re.fullmatch(NUMBER, given) and re.search(rf"\benum\b[^;{{]*\b{re.escape(plain)}\b", text):
        return f"A number becomes a value of an enum by static_cast<{plain}>(...)."
    return ""


def _two_pointers(given: str, wanted: str, record: Record, callee: str) -> str:
    line, plain = record.code, _pointee(wanted)
    place = definition(record.text, callee) if callee else None
    if "_cast<" in line and given == f"const {wanted}":
        return f"This cast does not take the const away: keep it, as {given}, or take mutable_data_ptr<{plain}>() to write."
    if "_cast<" in line and "void" not in given:
        return "A cast of a pointer does not convert the values behind it: convert each of them, or the tensor, x.to(at::kFloat)."
    if given in ("void*", "const void*"):
        if "data_ptr" in line:
            method = next(iter(re.findall(r"\w*data_ptr(?=\(\))", line)), "data_ptr")
            return f"{method}() without a type gives {given}: write {method}<{plain}>()."
        return f"{given} has no type of its own: write static_cast<{wanted}>(...)."
    types = {_pointee(given), plain}
    if "const_data_ptr<scalar_t>" in line and given.startswith("const ") and wanted == "scalar_t*":
        given = "const scalar_t*"  # the compiler names one of the types that scalar_t stands for
    elif types <= {"float", "double", "scalar_t"} and len(types) > 1 and in_dispatch(record):
        if place:
            return (
                f"In a dispatch the elements are scalar_t, and '{callee}' of line {place[0]} takes {wanted} only: make it "
                f"a template, with template <typename T> before it and T in place of {plain}."
            )
        return "In a dispatch the elements are scalar_t: write scalar_t* on the left, and data_ptr<scalar_t>() on the right."
    if given == f"const {wanted}":
        if callee:
            return keeps_const(record, given, callee)
        if "const_data_ptr" in line:
            return (
                f"const_data_ptr only lets you read: declare the variable as {given}, or take "
                f"mutable_data_ptr<{plain}>() to write."
            )
        return (
            f"{given} only lets you read: declare this as {given} too, or drop the const where it comes "
            f"from if it has to be written."
        )
    return f"{given} and {wanted} are pointers to different types: both sides must name the same one."


def in_dispatch(record: Record) -> bool:
    """Tell whether a record is about the body of an AT_DISPATCH, or how one begins."""
    return any("AT_DISPATCH" in head for head in heads_around(record.text, record.line))


def keeps_const(record: Record, given: str, callee: str) -> str:
    """Say what to do with something const that is handed to a function which could change it."""
    place = definition(record.text, callee) if callee else None
    if place is None:
        return (
            "It is const, and what takes it could change it: take it as const ...& to read it, else hand over a copy."
        )
    said = f"'{callee}' of line {place[0]} could change what it takes, and this is const"
    if given.endswith("*"):
        return (
            f"{said}: if it only reads, write const there, else hand over x.mutable_data_ptr<{_pointee(given)}>(), say."
        )
    copy = "at::Tensor y = x.clone()" if "at::Tensor" in given else "auto y = x"
    return f"{said}: if it only reads, let it take const ...&, else hand over a copy, {copy}."


@rules.rule(r"conver(?:t|sion)|^cannot (?:initialize|assign)|\bassigning to |static_cast")
def _one_for_another(match: re.Match[str], record: Record) -> str:
    pair = pair_in(record.message)
    if pair is None or record.header:
        return ""
    given, wanted = pair
    assigned = re.match(r"\s*(\w+)\s*=[^=]", record.code)
    if assigned and given.endswith("*"):  # T* a, b makes one pointer
        for number, line in enumerate(mask(record.text).split("\n")[: record.line - 1], 1):
            if re.search(rf"\w\s*\*\s*\w+\s*,[^;*()]*\b{assigned[1]}\b", line):
                return f"In line {number} the * belongs to the first name alone: write one before '{assigned[1]}' too."
    passed = next((found for note in record.notes if (found := ARGUMENT.search(note.message))), None)
    if cure := _braces(wanted, record) or of_pair(given, wanted, record, passed[2] if passed else ""):
        return cure
    if "..." in given:  # clang++ shortens what two tuples have in common
        return "The values that are returned do not fit the function's type: compare their number and their types."
    if given.startswith("<") and "overloaded" in given:
        return ""
    if "<" in given[:1]:
        return f"These braces make no {wanted}: compare their number and their types with what it holds."
    if passed:
        return (
            f"Argument {passed[1]} of '{passed[2]}' is {wanted}, and this is {given}.{declared_as(passed[2], record)}"
        )
    if re.search(r"\breturn\b", record.row) and re.search(r"return|could not", record.message):
        return f"The function returns {wanted}, but this is {given}."
    return f"A value of type {given} stands where {wanted} is wanted."


ARGUMENT = re.compile(r"initializing argument (\d+) of '[^(]*?([\w:]+)(?:<[^(]*>)?\(")


@rules.rule(
    r"at::Tensor::Tensor\(|constructor for initialization of '(?:const )?(at::Tensor|std::(?:tuple|pair)<[^']*>)'"
)
def _made_by_hand(match: re.Match[str], record: Record) -> str:
    return _braces(match[1] or "at::Tensor", record)


def _braces(wanted: str, record: Record) -> str:
    """Tell of a tensor, or a tuple of them, that is to be made of what stands in braces or parentheses."""
    code = record.code
    values = re.search(r"(?:[=>\w])(?<!else)(?<!do)(?<!try)\s*\{(.*)\}", code)
    if wanted.endswith("at::Tensor"):
        if re.search(r"\breturn\s*(?:at::Tensor\s*)?\{", code):
            return "One tensor is returned: for several the function returns std::tuple<at::Tensor, at::Tensor>."
        if re.search(r"at::Tensor(?:\s+\w+)?\s*\(\s*\w+\s*,\s*\w+\s*\)", code):
            return "A tensor of these extents is made by a function: at::empty({rows, columns}, x.options())."
    holds = count_arguments(re.sub(r"<(.*)>", r"(\1)", wanted)) if re.match(r"std::(?:tuple|pair)<", wanted) else None
    gives = count_arguments(f"({values[1]})") if values else None
    if holds and gives and holds != gives:
        return f"The {wanted[5:].partition('<')[0]} holds {holds} values, and these are {gives}."
    return ""


@rules.rule(
    r"invalid operands (?:of types '([^']*)' and '([^']*)' )?"
    r"to binary (?:'operator(\S+)'|expression)(?: \('([^']*)' and '([^']*)'\))?"
    r"|no match for 'operator(\S+)'.*\(operand types are '([^']*)' and '([^']*)'"
)
def _operator(match: re.Match[str], record: Record) -> str:
    behind = record.row[max(record.column - 1, 0) :]
    operator = match[3] or match[6] or next(iter(re.findall(r"^[-+*/%^&|<>=!]+", behind)), "")
    types = [match[index] for index in (1, 2, 4, 5, 7, 8) if match[index]]
    if record.header:
        return (
            f"'{record.called or 'this call'}' needs an operation that {types[0] if types else 'the type'} does not have: "
            f"define its operator, or hand over a lambda."
        )
    for ask in (_of_values, _of_tensors, _of_operands, _of_own_types):
        if cure := ask(operator, types, record):
            return cure
    return f"There is no '{operator}' for these types." if types and operator else ""


def _of_values(operator: str, types: list[str], record: Record) -> str:
    if "void" in types:
        return "The function that is called here is declared void: it returns nothing."
    if operator.startswith("^"):
        return "^ is not a power: write std::pow(a, b), or x * x."
    if operator == "=" and len(types) == 2:
        return of_pair(types[1], types[0], record) or f"A value of type {types[1]} stands where {types[0]} is wanted."
    return ""


def _of_tensors(operator: str, types: list[str], record: Record) -> str:
    tensors = [bool(re.fullmatch(r"(?:const )?at::Tensor ?&?", item)) for item in types]
    numbers = [bool(re.fullmatch(NUMBER, item)) for item in types]
    if not any(tensors):
        return ""
    if operator.startswith(("&&", "||")):
        return LOGICAL
    if operator in ("+=", "-=", "*=", "/=") and tensors == [False, True] and numbers[0]:
        return in_place_of_tensor(types[0], record)
    whole = re.search(r"#\s*include\s*<(?:ATen/ATen|torch/\w+)\.h>", record.text)
    if not whole and all(tensor or number for tensor, number in zip(tensors, numbers, strict=True)):
        return "Operators on tensors need #include <ATen/ATen.h>."
    if any(item.endswith("*") for item in types):
        return (
            "This is a tensor and a pointer: use either both tensors, or both pointers, element by element, as in p[i]."
        )
    return ""


def _of_operands(operator: str, types: list[str], record: Record) -> str:
    said = "\n".join(types)
    fits = (cure for of, kinds, cure in _OPERANDS if re.match(of, operator) and re.search(kinds, said, re.MULTILINE))
    if cure := next(fits, ""):
        return cure
    pointer = next((item for item in types if re.search(r"\*$|\[\w*\]$", item) and "char" not in item), "")
    if pointer and operator[:1] in tuple("+-*/%<>=!"):
        return f"{_types(pointer)} is a pointer, where all the values begin: one of them is taken with [ ], as in x[i]."
    return ""


def _of_own_types(operator: str, types: list[str], record: Record) -> str:
    """Tell of an operator between values of a struct or an enum of the text."""
    text = mask(record.text)
    for kind in (re.sub(r"^const |[&*]$", "", item) for item in types):
        names = re.search(rf"\benum\s+(?:class|struct)\s+{re.escape(kind)}\b[^;{{]*\{{\s*(\w+)", text)
        if names:
            return f"A value of an enum class is no number: compare it with its names, as in {kind}::{names[1]}, or use a static_cast."
        if re.search(rf"\b(?:struct|class)\s+{re.escape(kind)}\b", text):
            return (
                f"'{kind}' has no {operator} of its own: use it between members, or define operator{operator} for it."
            )
    return ""


_BOTH = rf"\A(?:(?:const )?{NUMBER}&?(?:\n|\Z))+\Z"
#: An operator, a type that it does not take, one in a line, and the cure.
_OPERANDS = (
    (r"(?!<<)", r"ostream", "Output is written with <<."),
    (r"", r"optional<", _OPTIONAL),
    (r"", r"nullptr_t", "x.defined() asks whether there is a tensor, and p == nullptr is for pointers."),
    (r"", r"Device$", "Ask x.is_cuda(), or x.device().type() == at::kCUDA."),
    (r"", r"^[^()<\n]+ ?\(.*\)(?: noexcept.*)?$", _UNCALLED),
    (r"", r"TypeMeta|ScalarType", "A dtype is compared with a constant: x.scalar_type() == at::kFloat."),
    (r"", r"^(?!.*TensorAccessor).*ArrayRef", _EXTENTS),
    (r"", r"__normal_iterator<|_iterator\b|::iterator\b", _ITERATOR),
    (r"", r"TensorAccessor<", _MORE_DIMENSIONS),
    (r"", r"^(?:const )?std::(?:vector|array)<", "It has no arithmetic and no output of its own: go through its elements in a loop."),
    (r"\+", r"\A.*char.*(?:\n.*char.*)*\Z", 'A text in quotes is no std::string: write std::string("...") + ...'),
    (r"\+$", r"^(?:const )?char ?[*\[]",
     '+ does not join a text and a value: TORCH_CHECK(condition, "got ", n) takes the parts one by one, '
     'and std::string("got ") + std::to_string(n) makes one text of a number.'),
    (r"\*$", r"string|char", "A text is not repeated by *: std::string(3, '-') holds a character three times."),
    (r"", rf"string(?s:.*)^{NUMBER}$|^{NUMBER}$(?s:.*)string", "A number becomes text with std::to_string(...)."),
    (r"&$", _BOTH, "& is for the bits of whole numbers: two conditions are combined by &&."),
    (r"\|$", _BOTH, "| is for the bits of whole numbers: two conditions are combined by ||."),
    (r"<<$", _BOTH, "<< shifts the bits of a whole number: static_cast<int64_t>(v) makes one of a float, and * multiplies."),
    (r">>$", _BOTH, ">> shifts the bits of a whole number: static_cast<int64_t>(v) makes one of a float, and / divides."),
    (r"%", r"char", 'C++ puts no values into a text with %: TORCH_CHECK(condition, "got ", n) takes the parts one by one.'),
    (r"%", r"\A[^*\]]*\Z", "% is for whole numbers: write std::fmod(a, b)."),
)  # fmt: skip


@rules.rule(
    r"operands to '\?:' have different types '(.*)' and '(.*)'|^incompatible operand types \('(.*)' and '(.*)'\)"
)
def _choice(match: re.Match[str], record: Record) -> str:
    types = [_types(group) for group in match.groups() if group]
    if any(re.match(_TENSOR, one) for one in types) and any(
        re.fullmatch(rf"(?:const )?{NUMBER}", one) for one in types
    ):
        return "Both values of a choice have one type: at::scalar_tensor(v, x.options()) makes a tensor of the number."
    return f"Both values of a choice have one type, and these are {types[0]} and {types[1]}: convert one to the other's type."


rules.table(r"""
^no 'operator(\+\+|--)\(int\)' declared|^cannot (?:in|de)crement value of type '
  in (\+\+|--)
    There is no \1 for this type: count in a whole number.
""")


@rules.rule(
    r"^invalid cast from type|cast from .* (?:is not allowed|loses precision|loses information)|^cannot cast from type"
)
def _cast(match: re.Match[str], record: Record) -> str:
    if tensor := re.search(r"'(?:const )?at::Tensor' to (?:pointer )?type '([^']*)'", record.message):
        return in_place_of_tensor(tensor[1], record)
    if not re.search(r"\*|pointer", record.message):
        return ""
    return "A pointer is no number: the value it leads to is p[i] or *p, and that can be converted."


@rules.rule(r"no match(?:ing (?:member )?function)? for call to|no matching constructor for initialization of")
def _arguments(match: re.Match[str], record: Record) -> str:
    """Tell what the candidates want: their number of arguments when none takes as many, else the one type that does not fit."""
    made = re.search(r"(\w+)(?:<.*>)?::\1\(|initialization of '(?:[\w:]*::)?(\w+)", record.message)
    said = re.search(r"call to '(?:[\w:]*::)?(\w+)", record.message)
    name = (made[1] or made[2]) if made else record.called or (said[1] if said else "it")
    struct = re.search(
        rf"\b(?:struct|class)\s+{re.escape(name)}\b[^;{{}}()]*\{{(.*?)\}}\s*\w*\s*;", mask(record.text), re.DOTALL
    )
    if made and struct and not re.search(rf"(?<!~)\b{re.escape(name)}\s*\(", struct[1]):
        return (
            f"'{name}' declares no constructor: its members get their values in braces, {name}{{...}}, in their order."
        )
    found = candidates(record)
    wants = sorted({one[0] for one in found if one[0] is not None})
    gives = next((one[1] for one in found if one[1] is not None), None)
    if gives is not None and all(one[0] is not None for one in found):
        if record.header:
            return f"What is handed to '{name}' must take {arguments(gives)}."
        least = "at least " if any("at least" in one[2] for one in found) else ""
        if not least and any(re.search(r"candidate: '[^(]*\bat::(?:Tensor::)?\w+\(", one[2]) for one in found):
            least = "up to "  # g++ tells nothing of defaults, which most of these have
        told = least + (
            arguments(wants[-1 if least == "up to " else 0])
            if least or len(wants) == 1
            else " or ".join(map(str, wants)) + " arguments"
        )
        if not any(wants):
            told = "no arguments"
        return f"'{name}' takes {told}, this call gives {gives}.{declared_as(name, record)}"
    pairs = {pair for one in found if one[0] is None and (pair := pair_in(one[2]))}
    if len(pairs) == 1 and sum(one[0] is None for one in found) == 1:
        given, wanted = pairs.pop()
        cure = of_pair(given, wanted, record, name)
        return cure or f"'{name}' wants {wanted} and gets {given}.{declared_as(name, record)}"
    cures = {cure for pair in pairs if (cure := of_pair(*pair, record, name))}
    if len(cures) == 1:
        return cures.pop()
    return f"'{name}' does not take these arguments: compare their number and types.{'' if made else declared_as(name, record)}"


def declared_as(name: str, record: Record) -> str:
    """Show how the function is declared that a call does not fit: as the user's text or the compiler has it."""
    name = name or next(iter(re.findall(r"'(\w+)' declared here", record.said)), "")
    own = re.findall(rf"[\w>*&]\s+[*&]?({name}\s*\([^;{{}}]*\))\s*(?:const\s*)?(?:->[^;{{}}]*)?\{{", mask(record.text))
    said = re.sub(r"call to '[^']*'", "", record.said)
    quoted = re.findall(rf"'([^']*\b{name}(?:<[^']*>)?\([^']*\)[^']*)'", said)
    shown = [note.shown for note in record.notes if re.search(f"^candidate|'{name}' declared here", note.message)]
    found = [parameters(one, name) for one in own or quoted or shown]
    plain = {
        re.sub(r"(?<![\w>])::|(?<![^\W_])_+(?=[A-Za-z])|(?<=\w) (?=[&*])", "", one)
        for one in found
        if one and "Dimname" not in one and not re.fullmatch(rf"(?:const )?{name} ?&&?", one)
    }
    form = min(plain, key=lambda one: (one.count(","), len(one)), default="")
    if not form or len(form) > 120 or (own and len(plain) > 1):
        return ""
    return f" {'It is' if len(plain) == 1 else 'One form is'} {name}({form})."


_EXPECTS = re.compile(r"expects (?:at least |at most )?(\d+) arguments?, (\d+) provided")
_REQUIRES = re.compile(
    r"(?:requires|allows) (?:at least |at most )?(\d+|no|single)[^,]*arguments?[^,]*, but (\d+|no) (?:arguments? )?(?:was|were)"
)


def candidates(record: Record) -> list[tuple[int | None, int | None, str]]:
    """List (how many it takes, how many are given, all that is said) of the functions that were tried; None where the number fits."""
    said: list[str] = []
    for note in record.notes:
        if not said or re.match(r"candidate(?! expects \d)", note.message):
            said.append(note.message)
        else:
            said[-1] += f" ; {note.message}"
    found: list[tuple[int | None, int | None, str]] = []
    for one in said:
        if "candidate" not in one or re.search(
            r"\(conversion\)|implicit (?:copy|move) constructor|(\w+)::\1\((?:const )?(?:[\w:]+::)?\1 ?(?:<[^>]*>)? ?&&?\)",
            one,
        ):
            continue
        count = _EXPECTS.search(one) or _REQUIRES.search(one)
        if count:
            wants = {"single": 1, "no": 0}.get(count[1])
            gives = 0 if count[2] == "no" else int(count[2])
            found.append((int(count[1]) if wants is None else wants, gives, one))
        else:
            found.append((None, None, one))
    return found
