"""Names that C++ and PyTorch know: what a beginner may have meant, and which header has it."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from ..cpp.bodies import split
from .source_text import words


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _each(names_of: Mapping[str, str]) -> Mapping[str, str]:
    """Turn a table of the names that share a value into one from each name to its value."""
    return {name: value for value, names in names_of.items() for name in names.split()}


#: Header of a name in std.
STD = _each({
    "cmath": "abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma "
    "fmax fmin fmod hypot fdim frexp ilogb logb lrint llround lround modf nan nearbyint nextafter remainder remquo "
    "rint scalbn signbit isnormal lerp isfinite isinf isnan ldexp lgamma log log10 log1p log2 pow round sin sinh "
    "sqrt tan tanh tgamma trunc",
    "algorithm": "max min sort fill fill_n copy copy_n clamp transform max_element min_element any_of all_of reverse "
    "nth_element partial_sort lower_bound upper_bound for_each count_if find find_if none_of equal generate "
    "replace remove_if unique rotate shuffle stable_sort partition binary_search minmax minmax_element swap_ranges "
    "adjacent_find all_of copy_if copy_backward count equal_range find_if_not includes is_sorted "
    "lexicographical_compare make_heap merge mismatch move_backward next_permutation partial_sort_copy pop_heap "
    "push_heap remove replace_if reverse_copy sample search set_difference set_intersection set_union sort_heap "
    "unique_copy generate_n for_each_n",
    "numeric": "accumulate iota inner_product reduce partial_sum adjacent_difference exclusive_scan inclusive_scan "
    "transform_reduce gcd lcm midpoint",
    "vector": "vector",
    "array": "array",
    "tuple": "tuple make_tuple tie get apply tuple_cat tuple_size tuple_size_v tuple_element tuple_element_t forward_as_tuple ignore",
    "utility": "pair make_pair move swap exchange forward as_const declval index_sequence make_index_sequence integer_sequence in_place",
    "optional": "optional nullopt make_optional bad_optional_access",
    "string": "string to_string stoi stof stod stol stoll stoul getline",
    "cstdio": "printf fprintf snprintf sprintf puts putchar fopen fclose fflush scanf sscanf",
    "iostream": "cout cerr cin endl clog flush",
    "sstream": "stringstream ostringstream istringstream",
    "fstream": "ofstream ifstream fstream",
    "iomanip": "setprecision setw setfill put_time quoted",
    "ios": "fixed scientific hex boolalpha",
    "ostream": "ostream",
    "numbers": "numbers",
    "ratio": "ratio milli micro nano",
    "exception": "exception exception_ptr current_exception rethrow_exception terminate",
    "new": "bad_alloc nothrow",
    "typeinfo": "type_info",
    "any": "any any_cast",
    "regex": "regex smatch regex_match regex_search regex_replace",
    "filesystem": "filesystem",
    "ctime": "time clock",
    "execution": "execution",
    "latch": "latch",
    "barrier": "barrier",
    "semaphore": "counting_semaphore binary_semaphore",
    "shared_mutex": "shared_mutex shared_lock",
    "valarray": "valarray",
    "ranges": "ranges views",
    "concepts": "floating_point integral same_as convertible_to",
    "random": "mt19937 mt19937_64 random_device default_random_engine uniform_real_distribution uniform_int_distribution "
    "normal_distribution bernoulli_distribution",
    "deque": "deque",
    "queue": "queue priority_queue",
    "stack": "stack",
    "list": "list",
    "bitset": "bitset",
    "variant": "variant visit holds_alternative get_if monostate",
    "string_view": "string_view",
    "initializer_list": "initializer_list",
    "iterator": "back_inserter distance advance next prev",
    "unordered_set": "unordered_set",
    "future": "async future",
    "limits": "numeric_limits",
    "memory": "unique_ptr shared_ptr make_unique make_shared weak_ptr",
    "cstring": "memcpy memset memmove strcmp strlen strncmp",
    "cstdlib": "malloc calloc free rand srand atoi atof getenv exit abort",
    "cstdint": "int64_t int32_t int16_t int8_t uint64_t uint32_t uint16_t uint8_t",
    "cstddef": "size_t ptrdiff_t",
    "functional": "function plus minus multiplies less greater bind ref cref hash",
    "complex": "complex",
    "map": "map",
    "unordered_map": "unordered_map",
    "set": "set",
    "thread": "thread",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once",
    "condition_variable": "condition_variable",
    "atomic": "atomic atomic_int atomic_flag",
    "chrono": "chrono",
    "stdexcept": "runtime_error invalid_argument out_of_range logic_error",
    "type_traits": "is_same_v is_same enable_if_t conditional_t decay_t remove_const_t remove_reference_t is_integral_v "
    "is_floating_point_v common_type_t",
    "bit": "bit_cast popcount bit_ceil bit_floor has_single_bit countl_zero countr_zero",
    "span": "span",
})  # fmt: skip

#: Header of a macro of the C library.
C_MACROS = _each({
    "cfloat": "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON",
    "climits": "INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN LLONG_MAX LLONG_MIN CHAR_BIT",
    "cstdint": "INT32_MAX INT32_MIN INT64_MAX INT64_MIN SIZE_MAX",
    "cmath": "INFINITY NAN HUGE_VAL M_PI M_E M_SQRT2 M_SQRT1_2",
    "cassert": "assert",
    "cstdio": "stderr stdout stdin EOF",
})  # fmt: skip
#: Names of other languages that are no misspellings.
FOREIGN = _each({
    "nullptr": "null nil undefined",
    "bool": "boolean",
    "std::string": "String str",
    "uint8_t": "byte uint8 u8",
    "auto": "let var",
    "else if": "elseif elsif",
    "for": "foreach",
    "M_PI": "PI pi",
    "INFINITY": "inf Inf Infinity",
    "scalar_t": "scalar",
    "float": "float32 f32",
    "double": "float64 f64 real number",
    "const": "final readonly",
    "int": "integer",
    "int64_t": "int64 i64 isize",
    "int32_t": "int32 i32",
    "uint32_t": "u32",
    "uint64_t": "u64",
    "size_t": "usize",
    "unsigned": "uint",
    "NAN": "NaN nan",
    "struct": "interface",
})  # fmt: skip

#: What other languages have by a plain name, and std has not.
NOT_IN_STD = _each({
    "std::accumulate(p, p + n, 0.0f), with #include <numeric>": "sum",
    "x > 0 ? x : 0": "relu",
    "std::max_element(p, p + n) - p, with #include <algorithm>": "argmax",
    "std::min_element(p, p + n) - p, with #include <algorithm>": "argmin",
    "std::accumulate(p, p + n, 0.0f) / n, with #include <numeric>": "mean",
    "1 / (1 + std::exp(-x)), with #include <cmath>": "sigmoid",
    "x * x": "square",
    "x * x, or std::sqrt(x) for the root": "sqr",
    "M_PI, with #include <cmath>": "pi PI",
    "std::numeric_limits<float>::infinity(), with #include <limits>": "infinity inf",
    "std::log1p(std::exp(x)), with #include <cmath>": "softplus",
    "(x > 0) - (x < 0)": "sign",
    "1 / std::sqrt(x), with #include <cmath>": "rsqrt",
    'std::cout << x << "\\n", with #include <iostream>': "print println",
})  # fmt: skip

#: What a Python programmer writes, and what C++ wants there.
PYTHON = _each({
    "write nullptr for a pointer, std::nullopt for an optional, at::Tensor() for no tensor": "None",
    "write true": "True",
    "write false": "False",
    "write else if": "elif",
    "a function starts with the type it returns, at::Tensor forward(...)": "def",
    "write x.size(0) for a tensor, v.size() for a vector": "len",
    "write for (int64_t i = 0; i < n; ++i)": "range enumerate zip",
    'write std::cout << x << "\\n" with #include <iostream>': "print",
    "write nothing, or {}": "pass",
    "a function takes its tensors by name, and a method of a struct names its members alone": "self",
    "write [&](float x) { return ...; }": "lambda",
    "write ==": "is",
    "what is declared in a { } ends with it, so write nothing": "del",
    "what is declared in a { } ends with it, as in { at::NoGradGuard guard; ... }": "with",
    "what is declared before all functions is seen by all of them": "global",
    "put the values into a std::vector, and return that": "yield",
    "each variable has one type, which is known when the text is compiled": "isinstance",
    "write for (const auto& item : items)": "in",
})  # fmt: skip
#: Modules that are written with a dot in Python.
PYTHON_MODULES = _each({
    "std:: for numbers, at:: for tensors": "np",
    "std::": "math",
    "at::": "F nn torch pytorch aten ATen",
})  # fmt: skip
#: What other languages reach by a dot.
FOREIGN_MODULES = _each({
    "std::, as in std::sqrt(x)": "Math",
    "std::numeric_limits<int>, as in std::numeric_limits<int>::max()": "Integer",
    "std::numeric_limits<float>, as in std::numeric_limits<float>::max()": "Float",
    "std::numeric_limits<double>, as in std::numeric_limits<double>::max()": "Double",
    'std::cout << x << "\\n"': "console Console System",
})  # fmt: skip
#: Members of a tensor that are called otherwise in C++.
TENSOR_MEMBERS = _each({
    "write x.size(0) for one extent, x.sizes() for all": "shape",
    "write x.dim()": "ndim",
    "write x.t()": "T",
    "write x.mT()": "mT",
    "write x.data_ptr<float>()": "data",
    "read the elements through x.accessor<float, 2>() or x.const_data_ptr<float>()": "tolist",
    "read the elements through x.const_data_ptr<float>()": "numpy",
    "write x.to(at::kFloat)": "float astype",
    "write x.to(at::kDouble)": "double",
    "write x.to(at::kHalf)": "half",
    "write x.to(at::kInt)": "int",
    "write x.to(at::kLong)": "long",
    "write x.to(at::kBool)": "bool",
    "write x.new_zeros({rows, columns}), or at::zeros({rows, columns}, x.options())": "new_zeros",
    "write x.to(other.scalar_type())": "type_as",
    "write x.numel() for all elements, x.size(0) for the rows": "length len",
    "write x.size(0)": "rows",
    "write x.size(1)": "cols",
    "write x.clone(), or y.copy_(x)": "copy",
    "write x.numel()": "nelement",
    "write y.zero_()": "zero",
    "write y.fill_(value)": "fill",
    "write x.const_data_ptr<float>() to read, x.mutable_data_ptr<float>() to write": "ptr",
    "go through its elements by a pointer, x.const_data_ptr<float>()": "begin",
    "write x[i][j].item<float>(), or read the elements through x.accessor<float, 2>()": "at",
})  # fmt: skip
#: What a std::vector has in place of a member that it has not.
VECTOR_MEMBERS = _each({
    "v.push_back(value)": "append add push",
    "v.size()": "length len",
    "v.pop_back()": "pop",
    "v.insert(v.end(), other.begin(), other.end())": "extend",
    "v.erase(v.begin() + i)": "remove",
    "v.front()": "first",
    "v.back()": "last",
    "std::accumulate(v.begin(), v.end(), 0.0f), with #include <numeric>": "sum",
    "*std::max_element(v.begin(), v.end()), with #include <algorithm>": "max",
    "*std::min_element(v.begin(), v.end()), with #include <algorithm>": "min",
    "v[i]": "get",
    "v[i] = value": "set",
    "v.empty()": "isEmpty is_empty",
    "std::find(v.begin(), v.end(), value) - v.begin(), with #include <algorithm>": "indexOf index",
    "auto w = v;": "copy",
    "std::vector<float>(v.begin() + a, v.begin() + b)": "slice",
    "std::find(v.begin(), v.end(), value) != v.end(), with #include <algorithm>": "contains",
})  # fmt: skip
#: What a std::numeric_limits has in place of a member that it has not.
LIMITS = _each({
    "infinity": "inf Inf INF",
    "quiet_NaN": "nan NaN",
    "epsilon": "eps",
    "max": "maximum MAX max_value",
    "min": "minimum MIN min_value",
})  # fmt: skip
#: Types of ATen that people write without `at::`.
AT_TYPES = frozenset(_names(
    "Tensor TensorOptions ScalarType IntArrayRef ArrayRef TensorAccessor Scalar kFloat kDouble kCPU kCUDA kHalf kBFloat16 kInt"
    " kLong kShort kByte kChar kBool kStrided Device DeviceType MemoryFormat Half BFloat16 TensorList PackedTensorAccessor32"
    " PackedTensorAccessor64 RestrictPtrTraits parallel_for"
))  # fmt: skip
#: Header of a name in at or c10 that is none of ATen/ops.
AT_HEADERS = _each({
    "ATen/Parallel.h": "parallel_for parallel_reduce get_num_threads get_thread_num set_num_threads in_parallel_region",
    "ATen/cpu/vec/vec.h": "vec",
    "ATen/cuda/CUDAContext.h": "cuda",
    "ATen/TensorIterator.h": "TensorIterator TensorIteratorConfig",
    "ATen/OpMathType.h": "opmath_type",
    "ATen/AccumulateType.h": "acc_type acc_type_device",
    "ATen/ceil_div.h": "ceil_div round_up",
    "ATen/Context.h": "globalContext manual_seed",
    "c10/util/irange.h": "irange",
})  # fmt: skip
#: Names that lie deeper than `at::`, in full, and the header of each.
QUALIFIED: Mapping[str, tuple[str, str]] = {
    "Vectorized": ("at::vec::Vectorized", "ATen/cpu/vec/vec.h"),
    "irange": ("c10::irange", "c10/util/irange.h"),
    "opmath_type": ("at::opmath_type", "ATen/OpMathType.h"),
    "acc_type": ("at::acc_type", "ATen/AccumulateType.h"),
    "getCurrentCUDAStream": ("at::cuda::getCurrentCUDAStream", "ATen/cuda/CUDAContext.h"),
    "CUDAGuard": ("c10::cuda::CUDAGuard", "c10/cuda/CUDAGuard.h"),
    "OptionalCUDAGuard": ("c10::cuda::OptionalCUDAGuard", "c10/cuda/CUDAGuard.h"),
    "AutogradContext": ("torch::autograd::AutogradContext", "torch/extension.h"),
    "variable_list": ("torch::autograd::variable_list", "torch/extension.h"),
    "TensorIterator": ("at::TensorIterator", "ATen/TensorIterator.h"),
    "TensorIteratorConfig": ("at::TensorIteratorConfig", "ATen/TensorIterator.h"),
}
MACRO_HEADERS: Mapping[str, str] = {
    "AT_DISPATCH_": "ATen/Dispatch.h",
    "TORCH_CHECK": "c10/util/Exception.h",
    "TORCH_LIBRARY": "torch/library.h",
    "PYBIND11_MODULE": "torch/extension.h",
    "AT_ERROR": "c10/util/Exception.h",
}
MACROS = _names(
    "AT_DISPATCH_FLOATING_TYPES AT_DISPATCH_ALL_TYPES AT_DISPATCH_FLOATING_TYPES_AND_HALF "
    "AT_DISPATCH_FLOATING_TYPES_AND2 AT_DISPATCH_INTEGRAL_TYPES AT_DISPATCH_SWITCH AT_DISPATCH_CASE TORCH_CHECK "
    "TORCH_LIBRARY TORCH_LIBRARY_FRAGMENT TORCH_LIBRARY_IMPL PYBIND11_MODULE TORCH_WARN TORCH_EXTENSION_NAME"
)
#: Macros that PyTorch had once.
OLD_MACROS: Mapping[str, str] = dict.fromkeys(("AT_CHECK", "AT_ASSERT", "AT_ASSERTM"), "TORCH_CHECK")
#: What Python's torch calls a dtype.
DTYPES: Mapping[str, str] = {
    "float32": "kFloat", "float64": "kDouble", "float16": "kHalf", "bfloat16": "kBFloat16", "int32": "kInt", "int64": "kLong",
    "uint8": "kByte", "int8": "kChar", "int16": "kShort", "bool": "kBool",
}  # fmt: skip
#: What an index of tensors is made of.
INDEXING = frozenset(_names("Slice None Ellipsis TensorIndex"))
_KEYWORDS = _names(
    "float double int bool char long short void auto const unsigned signed static struct class template typename return "
    "while switch case break continue default nullptr true false constexpr inline namespace using sizeof"
)


@lru_cache(maxsize=1)
def _headers_of_torch() -> Path | None:
    torch = sys.modules.get("torch")
    spec = None if torch is not None else find_spec("torch")
    roots = list(getattr(torch, "__path__", ())) or list(spec.submodule_search_locations or () if spec else ())
    return next((folder for root in roots if (folder := Path(root) / "include").is_dir()), None)


@lru_cache(maxsize=1)
def aten_functions() -> frozenset[str]:
    """Return the functions of namespace `at`, as torch's own headers name them; empty without torch."""
    root = _headers_of_torch()
    names = (path.name.removesuffix(".h") for path in (root / "ATen" / "ops").glob("*.h")) if root else ()
    return frozenset(
        name for name in names if not name.endswith(("_native", "_ops", "_dispatch")) and not name.startswith("_")
    )


def nearest_header(name: str) -> str:
    """Return the header that `#include <name>` was to name: misspelt, with a needless .h, or without its folder."""
    known = {*STD.values(), *C_MACROS.values(), *MACRO_HEADERS.values(), "ATen/ATen.h", "ATen/Parallel.h", "omp.h"}
    if (plain := name.removesuffix(".h")) in known:
        return plain
    root = _headers_of_torch()
    places = (root / "torch/csrc/api/include", root) if root else ()
    folders = ("torch", "ATen", "ATen/core", "ATen/cuda", "c10/util", "c10/core", "c10/cuda")
    inside = (f"{folder}/{name}" for folder in folders if any((place / folder / name).is_file() for place in places))
    return next(inside, "") or corrected(name, known)


def is_near(name: str, other: str) -> bool:
    """Tell whether `name` can be a misspelling of `other`.

    >>> is_near("tanhh", "tanh"), is_near("alpha", "isalpha"), is_near("sort", "sqrt")
    (True, False, False)
    """
    if name == other or not name or not other:
        return False
    if name.lower() == other.lower():
        return True
    slips = _slips(name, other)
    return (slips <= 1 and len(name) > 4) or (
        slips <= max(1, len(name) // 4) and len(name) > 3 and slips < 4 and name not in STD
    )  # names that exist are not misspelt: `sort` is no `sqrt`, `close` no `clone`


def _slips(name: str, other: str) -> int:
    """Count letters added, lost, changed or swapped with their neighbour."""
    if abs(len(name) - len(other)) > 3:
        return 4
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(name, 1):
        before2, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and name[i - 2] == b:
                cost = min(cost, before2[j - 2] + 1)
            row.append(cost)
    return row[-1]


def corrected(name: str, names: Iterable[str]) -> str:
    """Return the one of `names` that `name` is a misspelling of, or nothing."""
    names = [*names]
    if same := next((other for other in names if other != name and other.lower() == name.lower()), ""):
        return same
    close = difflib.get_close_matches(
        name, [other for other in names if abs(len(other) - len(name)) < 3], n=3, cutoff=0.6
    )
    return next((other for other in sorted(close, key=lambda other: _slips(name, other)) if is_near(name, other)), "")


def nearest_of_text(name: str, text: str) -> str:
    """Return what a name may be a misspelling of: another name of the text, a keyword or a macro."""
    used = words(text)
    return corrected(name, used - {name}) or corrected(name, _KEYWORDS) or corrected(name, MACROS)


def arguments(count: int) -> str:
    """Say a number of arguments: `1 argument`, `2 arguments`."""
    return f"{count} argument{'s' * (count != 1)}"


def split_arguments(inside: str) -> list[str]:
    """Split what stands between the ( ) of a call or a signature.

    >>> split_arguments("float gate, std::pair<int, int> p"), split_arguments("void")
    (['float gate', 'std::pair<int, int> p'], [])
    """
    return [] if inside.strip() == "void" else [part.strip() for part in split(inside)]


def count_arguments(signature: str) -> int | None:
    """Count the parameters in the text of a signature.

    >>> count_arguments("float gate(float, std::pair<int, int>)"), count_arguments("void f()")
    (2, 0)
    """
    match = re.search(r"\((.*)\)[^()]*$", signature)
    return len(split_arguments(match[1])) if match else None
