"""The types of C++ that stand for types of an op: one table for kernels that are written for their op, and for functions of others.

Read (`read_type`), and written (`spelled`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..cpp.functions import squeezed
from ..model.op import LIST

#: By the type of an op, the names that it may have, before which a namespace of PyTorch or `std` may stand.
_NAMES = {
    "float": ("double", "float", "Scalar"),
    "bool": ("bool",),
    "str": ("string", "string_view"),
    "ScalarType": ("ScalarType", "Dtype"),
}
_KINDS = {name: (kind, name) for kind, names in _NAMES.items() for name in names} | {
    "Tensor": ("Tensor", "at::Tensor"),
    "TensorList": (LIST, "at::Tensor"),
    "IntArrayRef": ("int[]", "int64_t"),
    "IntList": ("int[]", "int64_t"),
}
_SPACE = r"(?:::)?(?:(?:std|at|c10|torch)\s*::\s*)?"
_PLAIN = re.compile(rf"{_SPACE}(\w+)")
_OUTER = re.compile(r"(?:std|at|c10|torch)::(optional|vector|ArrayRef)\s*<(.*)>")
_STABLE = "torch::stable::Tensor"
_INTEGER = re.compile(
    r"(?:std::)?u?int(?:8|16|32|64)?_t|(?:unsigned )?(?:int|long|short|char)(?: long)?(?: int)?|unsigned|(?:std::)?s(?:ize|size)_t"
)
#: Integers as wide as an op's, and those for which the binding sees whether a number fits.
WIDE = ("int64_t", "long", "long long", "long int", "long long int")
NARROW = ("int32_t", "int")

#: How the playground spells the types of an op that are no tensors: what is no list and cannot be missing.
PLAIN = {"float": "double", "int": "int64_t", "bool": "bool", "str": "std::string", "ScalarType": "at::ScalarType"}
#: How each API spells a tensor.
TENSOR = {"aten": "at::Tensor", "stable": "torch::stable::Tensor"}
#: How C++ and its messages spell dtypes.
CPP_DTYPES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}
#: The types of C that dtypes have in a launch function.
C_TYPES = {"float32": "float", "float64": "double", "int64": "int64_t", "int32": "int", "bool": "bool"}


@dataclass(frozen=True)
class CppType:
    """What a type of C++ stands for.

    Attributes:
        kind: the type of an op, such as `Tensor?` or `int[]`; empty where it is none.
        of: the tensor or number that it is, may be or holds, in C++: `at::Tensor`, `torch::stable::Tensor`, `double`, `int64_t`.
    """

    kind: str
    of: str


def read_type(spelled: str) -> CppType:
    """Read a type, whether it is a reference or `const`.

    Example:
        >>> read_type("const std::optional<torch::Tensor>&"), read_type("std::vector<long>"), read_type("float*").kind
        (CppType(kind='Tensor?', of='at::Tensor'), CppType(kind='int[]', of='long'), '')
    """
    plain = squeezed(re.sub(r"\bconst\b|&", " ", spelled))
    if outer := _OUTER.fullmatch(plain):
        inner = read_type(outer[2])
        return CppType(inner.kind and inner.kind + ("?" if outer[1] == "optional" else "[]"), inner.of)
    if _INTEGER.fullmatch(plain):
        return CppType("int", plain.removeprefix("std::"))
    if plain.removeprefix("::") == _STABLE:
        return CppType("Tensor", _STABLE)
    if plain == "Tensor":  # of either API
        return CppType("Tensor", "Tensor")
    found = _PLAIN.fullmatch(plain)
    return CppType(*_KINDS.get(found[1] if found else "", ("", "")))


def item_of(kind: str) -> str:
    """Return the type that an op's type holds, or may be: of `int[]` and `int?` it is `int`."""
    return kind.removesuffix("?").removesuffix("[]")


def spelled(kind: str, api: str) -> str:
    """Spell the type in which a function takes an argument of an op.

    Example:
        >>> spelled("Tensor?", "aten"), spelled("int[]", "aten"), spelled("float", "aten")
        ('const std::optional<at::Tensor>&', 'const std::vector<int64_t>&', 'double')
    """
    item = item_of(kind)
    plain = PLAIN.get(item) or TENSOR[api]
    whole = {"?": f"std::optional<{plain}>", "[]": f"std::vector<{plain}>"}.get(kind.removeprefix(item), plain)
    return f"const {whole}&" if item in ("Tensor", "str") or kind.endswith("]") else whole
