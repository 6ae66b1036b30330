"""Help for tensors that are taken for something else: for a number, a pointer, or what Python calls by the same name."""

from __future__ import annotations

import re

from .compiler_log import Record
from .names import STD, aten_functions
from .rules import Rules
from .source_text import heads_around, is_pointer, is_tensor, mask, position

rules = Rules()

LOGICAL = "Conditions on tensors are combined by at::logical_and(a, b) and at::logical_or(a, b)."
_TENSOR = r"'(?:const )?at::Tensor(?: ?&)?'"


# Values


@rules.rule(r".")
def _dispatch(match: re.Match[str], record: Record) -> str:
    """Look at the first argument of a dispatch, and at how its body begins."""
    code, text = record.code, mask(record.text)
    opened = [heads[-1] for column in (record.column, 1) if (heads := heads_around(text, record.line, max(column, 1)))]
    pattern = re.compile(r"\s*(AT_DISPATCH_\w+|(?:at::)?parallel_for)\s*\([^\[]*$")
    for head in opened if record.severity == "error" else ():
        if bare := pattern.match(head):
            record.line, record.column = position(text, text.index(head) + len(head))
            start = "[&](int64_t begin, int64_t end)" if "parallel_for" in bare[1] else "[&]"
            return f"The body of {bare[1]} is a lambda: put {start} in front of its '{{'."
    tensor = re.search(r"\bAT_DISPATCH_\w+\s*\(\s*(\w+)\s*,", code)
    if tensor and "at::Tensor" in record.said and re.search(r"[sS]calar_?[tT]ype", record.said):
        return f"A dispatch takes the dtype, not the tensor: {tensor[1]}.scalar_type()."
    return ""


rules.table(r"""
\bconver(?:t|sion)\b|^no matching function|^no instance of|^too many arguments
  in \bat::(cat|stack)\s*\(\s*(\w+(?:\.\w+\(\w*\))*)\s*,\s*([A-Za-z_]\w*(?:\.\w+\(\w*\))*)\s*[,)]
    The tensors stand in braces, the axis behind them: at::\1({\2, \3}, 0).
  in \b(at::einsum)\s*\([^,{}]*,\s*(\w+(?:\s*,\s*\w+)*)\s*\)
    The tensors stand in braces: \1("...", {\2}).
  in \b(save_for_backward|mark_dirty|mark_non_differentiable)\s*\(\s*(\w+(?:\s*,\s*\w+)+)\s*\)
    The tensors stand in braces: \1({\2}).
\bconver(?:t|sion)\b|^cannot initialize
  in (?:^|[{;])\s*(?:const\s+)?(int64_t|int|long|auto)\s+(\w+)\s*,\s*(\w+)\s*=\s*(\w+)\.sizes\(\)\s*;
    C++ does not take a list apart so: \1 \2 = \4.size(0), \3 = \4.size(1).
no matching (?:member )?function for call to|^too many arguments to function call
  in (\w+)\.type\(\s*((?:at|torch)::k\w+)\s*\)
    A tensor is converted by to: \1.to(\2).
use of deleted function '.*\baccessor\(\) &&|^call to deleted member function '(?:packed_)?accessor
  in .
    An accessor does not keep its tensor alive: give that a name first, at::Tensor t = ...; and then take t.accessor<float, 2>().
constant expression|no matching (?:member )?function|no instance of|template argument|type/value mismatch
  in \b(\w+)\s*<\s*(?:at::|torch::|c10::)k(Float|Double)\s*[,>]
    Between < and > stands a type, not a dtype: float for at::kFloat, double for at::kDouble, int64_t for at::kLong.
  in <\s*(\w+)\.(?:dtype|scalar_type|type)\s*\(\)
    Between < and > stands a type, and a dtype is known only when the kernel runs: inside
    AT_DISPATCH_FLOATING_TYPES(\1.scalar_type(), "name", [&] { ... }) it is called scalar_t.
""")


@rules.rule(
    rf"{_TENSOR} (?:is not contextually convertible )?to 'bool'|no match for 'operator!'.*{_TENSOR}"
    rf"|^invalid argument type {_TENSOR} to unary expression"
)
def _for_a_condition(match: re.Match[str], record: Record) -> str:
    found = re.search(r"\bstd::(\w+)\s*\(", record.code) if record.header else None
    return for_tensors(found[1], record) if found else in_place_of_tensor("bool", record)


def in_place_of_tensor(target: str, record: Record) -> str:
    """Say how to come from a tensor to a pointer, a number or extents."""
    if any(note.file.endswith("(binding)") for note in record.notes):
        return ""  # it is `forward` that does not fit the op
    plain = re.sub(r"\bconst\b|[*&\s]", "", target).replace("void", "float")
    if target.rstrip().endswith("*"):
        return (
            f"A tensor is no pointer: take x.const_data_ptr<{plain}>() to read, x.mutable_data_ptr<{plain}>() to write."
        )
    if not re.fullmatch(r"float|double|int|long|(?:std::)?u?int\d+_t|bool|scalar_t", plain):
        return ""
    if plain == "bool" and "?" in record.code:
        return "A tensor is no condition: at::where(condition, a, b) chooses element by element."
    if plain == "bool" and re.search(r"&&|\|\|", record.code) and not re.search(r"\bif\b|\bwhile\b", record.code):
        return LOGICAL
    if plain == "bool":
        return (
            "A tensor is no condition: x.defined() asks whether there is one, x.item<bool>() takes one truth out of it."
        )
    if re.search(r"\w\s*\[", re.sub(r"^\s*[\w.]+\s*(?:\[[^\[\]]*\]\s*)+=(?!=)", "", record.code)):
        return (
            f"An element of a tensor is a tensor too: read numbers through x.const_data_ptr<{plain}>(), "
            f"or one by x[0].item<{plain}>()."
        )
    counts = (
        "" if re.search("float|double|scalar_t", plain) else "; x.numel() and x.size(0) count its elements and rows"
    )
    return f"This is a tensor, even if it holds one number: .item<{plain}>() takes it out{counts}."


rules.table(rf"""
no match for 'operator\*' \(operand type is {_TENSOR}\)|indirection requires pointer operand \({_TENSOR}
    A tensor is no pointer: *x.const_data_ptr<float>() is its first number, where it holds float.
TensorAccessor<
  in \w\s*\[[^\[\]]*,
    Each index stands in brackets of its own: a[i][j], not a[i, j].
  in \bstd::\w+\s*\(
    The accessor has more dimensions than there are indices here: write one [ ] for each.
""")


# Calls


@rules.rule(
    r"no match(?:ing function)? for call to|no matching function for call to|no instance of (?:overloaded )?function"
)
def _of_numbers(match: re.Match[str], record: Record) -> str:
    """Send a tensor that was given to a function of std to the one of the same name in `at`."""
    name = record.called
    # A lambda has the name of the function that it stands in.
    said = re.sub(r"\w+\([^()]*\)::(?=<lambda)", "", record.said)
    if name == "to_string" and "at::Tensor" in said:
        return "std::to_string is for numbers: x.item<float>() takes the one out of a tensor, and std::cout << x prints all."
    vector = re.search(rf"\b{name}\s*\(\s*(\w+)\s*\)", record.code)
    if (
        STD.get(name) == "cmath"
        and vector
        and re.search(rf"\bstd::vector<[^;(){{}}]*>&?\s+{vector[1]}\b", mask(record.text))
    ):
        return f"'{name}' takes one number: go through the elements, for (auto& one : {vector[1]}) one = std::{name}(one);."
    if "at::Tensor" not in said or re.search(rf"\bat::{name}\b", record.code):
        return ""
    return for_tensors(name, record)


def for_tensors(name: str, record: Record) -> str:
    """Send a tensor that was given to a function of numbers to the one of the same name in `at`."""
    if STD.get(name) not in ("cmath", "algorithm") or name not in aten_functions():
        return ""
    text = record.text
    values = re.search(rf"\b{name}\s*\(\s*(\w+)\s*,\s*([\w.]+)\s*\)", record.code) if name in ("max", "min") else None
    if values and is_tensor(text, values[1]) != is_tensor(text, values[2]):
        one, other = values.groups() if is_tensor(text, values[1]) else values.groups()[::-1]
        limit = "min" if name == "max" else "max"
        return f"This '{name}' is for numbers: for a tensor and a number write at::clamp_{limit}({one}, {other})."
    whole = re.search(rf"#\s*include\s*<(?:ATen/ATen\.h|ATen/ops/{name}\.h|torch/\w+\.h)>", text)
    return f"This '{name}' is for numbers: for a tensor write at::{name}" + (
        "." if whole else f", with #include <ATen/ops/{name}.h>."
    )


rules.table(r"""
no matching (?:member )?function for call to|no instance of (?:overloaded )?function|template argument
  in \b(accessor|packed_accessor32|packed_accessor64)<\s*([\w: ]+?)\s*>\s*\(
    It wants the number of dimensions too: \1<\2, 2>().
  in \b(accessor|packed_accessor32|packed_accessor64)(?:<[^<>]*>)?\s*\(
    First the type, then the number of dimensions, both known when the text is compiled: \1<float, 2>().
""")


@rules.rule(
    r"no matching (?:member )?function for call to|no instance of (?:overloaded )?function"
    r"|^too many arguments to function call, expected (?:single argument '\w+'|1), have"
)
def _extents(match: re.Match[str], record: Record) -> str:
    found = re.search(
        r"(\bat::(?:zeros|ones|empty|rand|randn)|\.(?:view|reshape|expand|permute|repeat))\s*"
        r"\(((?:[^(){},]|\([^(){}]*\))+,(?:[^(){}]|\([^(){}]*\))*?)(,[^,]*(?:option|dtype|at::k)[^,]*)?\)",
        record.code,
    )
    call = re.search(r"call to '(?:\w+::)*(\w+)|single argument|expected 1", record.message)
    if found and call and call[1] and not found[1].endswith(call[1]):
        return ""
    if not found or not re.search(r"[('](?:const )?(?:int64_t|int|long)&?[,)']|^too many|requires", record.said):
        return ""
    return f"The extents stand in braces: {found[1]}({{{found[2]}}}{found[3] or ''})."


rules.table(r"""
at::Tensor::\w+\(|without (?:an )?object
  in \bat::Tensor::(\w+)\s*\(
    '\1' is a method, and needs its tensor and a dot: x.\1(...).
^taking (?:the )?address of (?:an? )?(?:rvalue|temporary)
  in &\s*(\w+)\s*\[
  text \bTensor&?\s+%1\b
    An element of a tensor is a tensor too: its first number is at \1.const_data_ptr<float>().
no matching (?:member )?function for call to|^too many arguments (?:to|in) function
  in (\w+)\.(size|stride)s\s*\(\s*(-?\w+)\s*\)
    \2s() gives all of them, and takes no number: one is \1.\2(\3).
at::Tensor(?:Base)?::size\(\)|single argument 'dim' was not specified|too few arguments in function call
  in (\w+)\.size\(\)
    Say which extent: \1.size(0); all elements are \1.numel().
no matching function for call to 'at::Tensor::|^too few arguments (?:to|in) function call
  in (\w+)\.(softmax|log_softmax|logsumexp|cumsum|cumprod|cummax|cummin|unsqueeze)\s*\(\s*\)
    Say along which axis, -1 for the last one: \1.\2(-1).
no matching function for call to '(?:at::)?parallel_for\b
    parallel_for takes four things: at::parallel_for(begin, end, grain, [&](int64_t first, int64_t last) { ... }).
caffe2::TypeMeta'.*ScalarType'
  in (\w+)\.dtype\(\)
    Write \1.scalar_type() in place of \1.dtype().
""")


@rules.rule(r"^wrong type argument to unary|^invalid argument type '.*\*(?:const)?' to unary")
def _sign_of_pointer(match: re.Match[str], record: Record) -> str:
    for found in re.finditer(r"[-+~]\s*(\w+)(?!\s*[\w(\[.])", record.code):
        if is_pointer(record.text, found[1]):
            return f"'{found[1]}' is a pointer, where all the values begin: one of them is {found[1]}[i]."
    return ""


@rules.rule(
    r"reference to non-static member function must be called|^assuming pointer to member|invalid use of (?:non-static )?member function"
    r"|cannot resolve overloaded function|unresolved overloaded function|a pointer to a bound function may only be used"
    r"|from type '[^']*\(\w[\w:<>, ]*::\*?\)\(|reference to overloaded function|address of overloaded function"
    r"|wrong type argument to unary|invalid argument type '[^']*\(\*?\)\(|overloaded function type|^unable to deduce 'auto' from"
)
def _not_called(match: re.Match[str], record: Record) -> str:
    """Find the method that stands without its (): g++ points to it or to what follows."""
    uncalled = re.compile(r"(\w+|\))(\.|->)(\w+)\b((?:<[\w:, ]*>)?)(?!\s*[\w(:]|<)(\s*\[\s*(\w+)\s*\])?")
    found = [item for item in uncalled.finditer(record.code) if not item[1].isdigit()]
    near = [item for item in found if item.start() < record.column <= item.end() + 1] or found
    if not near:
        plain = re.search(r"(?<!\w)((?:std|at)::\w+(?:<[^<>]*>::\w+)?)\s*[-+*/;,)]", record.code)
        return f"'{plain[1]}' is a function that is not called: write {plain[1]}(...)." if plain else ""
    what = near[0]
    tensor = re.search(rf"\bTensor&?\s+{re.escape(what[1])}\b", mask(record.text))
    if tensor and what[3] == "data":
        return f"The elements of a tensor are behind a pointer: {what[1]}.const_data_ptr<float>()."
    index = (what[6] or ("0" if tensor else "")) if what[3] in ("size", "stride", "at", "select") else ""
    start = what[1].strip(")")
    if re.match(r"\s*=[^=]", record.code[what.end() :]):
        set_by = {"requires_grad": "requires_grad_(true)", "grad": "mutable_grad() = ..."}.get(what[3])
        return f"'{what[3]}' is a function, to which nothing is assigned" + (
            f": write {start}{what[2]}{set_by}." if set_by else "."
        )
    return f"'{what[3]}' is a function: write {start}{what[2]}{what[3]}{what[4]}({index})."
