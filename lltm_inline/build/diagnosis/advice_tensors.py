"""Help for tensors that are taken for something else: for a number, a pointer, or what Python calls by the same name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .advice_habits import code_at
from .causes import call_at
from .compiler_log import Record
from .names import STD, aten_functions
from .rules import Rules, text_of
from .source_text import heads_around, mask, position

rules = Rules()

_TENSOR = r"'(?:const )?at::Tensor(?: ?&)?'"


# Values


@rules.rule(r".")
def _dispatch(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    """Look at the first argument of a dispatch, and at how its body begins."""
    code, text = code_at(record, sources), mask(text_of(record, sources))
    head = (heads_around(text, record.line) or [""])[-1]
    if record.severity == "error" and re.match(r"\s*AT_DISPATCH_\w+\s*\([^\[]*$", head):
        record.line, record.column = position(text, text.index(head) + len(head))
        return "The body of a dispatch is a lambda: put [&] in front of its '{'."
    said = " ".join([record.message, *(note.message for note in record.notes)])
    tensor = re.search(r"\bAT_DISPATCH_\w+\s*\(\s*(\w+)\s*,", code)
    if tensor and "at::Tensor" in said and re.search(r"[sS]calar_?[tT]ype", said):
        return f"A dispatch takes the dtype, not the tensor: {tensor[1]}.scalar_type()."
    return ""


@rules.rule(r"\bconver(?:t|sion)\b|^no matching function|^no instance of")
def _list_of_tensors(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"\bat::(cat|stack)\s*\(\s*(\w+)\s*,\s*(\w+)", code_at(record, sources))
    return f"The tensors stand in braces: at::{found[1]}({{{found[2]}, {found[3]}}})." if found else ""


@rules.rule(
    rf"{_TENSOR} to (?:type |function return type )?'([^']*)'|conversion from {_TENSOR} to '([^']*)'"
    rf"|{_TENSOR} is not contextually convertible to '([^']*)'"
)
def _for_a_value(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    if any(note.file.endswith("(binding)") for note in record.notes):
        return ""  # it is `forward` that does not fit the op
    return _instead_of(match[1] or match[2] or match[3], record, sources)


def _instead_of(target: str, record: Record, sources: Mapping[str, str]) -> str:
    """Say how to come from a tensor to a pointer or a number."""
    plain = re.sub(r"\bconst\b|[*&\s]", "", target)
    if target.rstrip().endswith("*"):
        return (
            f"A tensor is no pointer: take x.const_data_ptr<{plain}>() to read, x.mutable_data_ptr<{plain}>() to write."
        )
    if not re.fullmatch(r"float|double|int|long|(?:std::)?u?int\d+_t|bool|scalar_t", plain):
        return ""
    if plain == "bool":
        return (
            "A tensor is no condition: x.defined() asks whether there is one, x.item<bool>() takes one truth out of it."
        )
    if re.search(r"\w\s*\[", code_at(record, sources)):
        return (
            f"An element of a tensor is a tensor too: read numbers through x.const_data_ptr<{plain}>(), "
            f"or one by x[0].item<{plain}>()."
        )
    return f"This is a tensor, even if it holds one number: .item<{plain}>() takes it out."


@rules.rule(r"'(?:const )?(?:c10|at)::Scalar(?: ?&)?' to (?:type |function return type )?'(\w+)'")
def _scalar(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    return (
        f".item() without a type gives a c10::Scalar: write .item<{match[1]}>()."
        if ".item()" in code_at(record, sources)
        else ""
    )


@rules.rule(
    rf"no match for 'operator\*' \(operand type is {_TENSOR}\)|indirection requires pointer operand \({_TENSOR}"
)
def _star(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    return "A tensor is no pointer: *x.const_data_ptr<float>() is its first number, where it holds float."


@rules.rule(r"TensorAccessor<.*> ?'.* to (?:type )?'\w+'|conversion from 'TensorAccessor<.*' to '\w+'")
def _accessor(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    if re.search(r"\w\s*\[[^\[\]]*,", code_at(record, sources)):
        return "Each index stands in brackets of its own: a[i][j], not a[i, j]."
    return "The accessor has more dimensions than there are indices here: write one [ ] for each."


# Calls


@rules.rule(
    r"no match(?:ing function)? for call to|no matching function for call to|no instance of (?:overloaded )?function"
)
def _of_numbers(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    """Send a tensor that was given to a function of std to the one of the same name in `at`."""
    name = call_at(record, sources)
    said = " ".join([record.message, *(note.message for note in record.notes)])
    if STD.get(name) not in ("cmath", "algorithm") or name not in aten_functions() or "at::Tensor" not in said:
        return ""
    text = text_of(record, sources)
    whole = re.search(rf"#\s*include\s*<(?:ATen/ATen\.h|ATen/ops/{name}\.h|torch/\w+\.h)>", text)
    return f"This '{name}' is for numbers: for a tensor write at::{name}" + (
        "." if whole else f", with #include <ATen/ops/{name}.h>."
    )


@rules.rule(r"no matching (?:member )?function for call to|no instance of (?:overloaded )?function")
def _accessor_dimensions(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(
        r"\b(accessor|packed_accessor32|packed_accessor64)<\s*([\w:]+)\s*>\s*\(", code_at(record, sources)
    )
    return f"It wants the number of dimensions too: {found[1]}<{found[2]}, 2>()." if found else ""


@rules.rule(
    r"no matching (?:member )?function for call to|no instance of (?:overloaded )?function|expected single argument '\w+', have"
)
def _extents(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(
        r"(\bat::(?:zeros|ones|empty|rand|randn)|\.(?:view|reshape|expand|permute|repeat))\s*\(([^(){}]*)\)",
        code_at(record, sources),
    )
    said = " ".join([record.message, *(note.message for note in record.notes)])
    if not found or not re.search(r"[('](?:int64_t|int|long)&?[,)']|single argument|requires", said):
        return ""
    return f"The extents stand in braces: {found[1]}({{{found[2]}}})."


@rules.rule(r"at::Tensor(?:Base)?::size\(\)|single argument 'dim' was not specified|too few arguments in function call")
def _extent(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(\w+)\.size\(\)", code_at(record, sources))
    return f"Say which extent: {found[1]}.size(0); all elements are {found[1]}.numel()." if found else ""


@rules.rule(r"caffe2::TypeMeta'.*ScalarType'")
def _dtype(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    found = re.search(r"(\w+)\.dtype\(\)", code_at(record, sources))
    tensor = found[1] if found else "x"
    return f"Write {tensor}.scalar_type() in place of {tensor}.dtype()."


@rules.rule(
    r"reference to non-static member function must be called|^assuming pointer to member|invalid use of (?:non-static )?member function"
    r"|cannot resolve overloaded function|unresolved overloaded function|a pointer to a bound function may only be used"
    r"|from type '[^']*\(\w[\w:]*::\*?\)\(|reference to overloaded function|address of overloaded function"
)
def _not_called(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
    """Find the method that stands without its (): g++ points to it or to what follows."""
    uncalled = re.compile(r"(\w+)(\.|->)(\w+)\b((?:<[\w:, ]*>)?)(?!\s*[\w(:]|<)(\s*\[\s*(\w+)\s*\])?")
    found = [item for item in uncalled.finditer(code_at(record, sources)) if not item[1].isdigit()]
    near = [item for item in found if item.start() < record.column <= item.end() + 1] or found
    if not near:
        plain = re.search(r"(?<!\w)((?:std|at)::\w+)\s*[-+*/;,)]", code_at(record, sources))
        return f"'{plain[1]}' is a function that is not called: write {plain[1]}(...)." if plain else ""
    what = near[0]
    index = what[6] or "" if what[3] in ("size", "stride") else ""
    return f"'{what[3]}' is a function: write {what[1]}{what[2]}{what[3]}{what[4]}({index})."
