"""A CUDA text becomes C++ in which every line is where it was.

Only what C++ cannot be taught by a header is rewritten: launches, shared memory of a size that the launch gives, includes of
CUDA's headers, what a kernel calls of the C library, and where the text asks for tensors on a GPU. The checks also get to know
the names of tensors, shared arrays and variables, and which tensors nobody has written.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from ..base.arguments import did_you_mean
from ..cpp.bodies import Subscript, all_calls, find_launches, find_subscripts
from ..cpp.functions import Function, all_functions, find_declarations
from ..cpp.masks import closing, directives, heads, mask, placed, unquoted
from ..diagnosis.source_text import definition
from ..errors import TemplateError
from .header import header

_SHARED_BYTES = 48 * 1024

#: Headers whose names `names.h`, `device.h` and `torch.h` have.
_OUR_HEADERS = re.compile(
    r"(?:cuda|cuda_runtime|cuda_runtime_api|cuda_fp16|cuda_bf16|device_launch_parameters|vector_types|device_functions|"
    r"math_functions|math_constants|cooperative_groups|cooperative_groups/reduce|crt/.*)\.h$|(?:ATen|c10)/cuda/"
)
#: Headers of what is refused, and what to say of it.
_HEADERS = {
    r"cooperative_groups/": "what this header of cooperative groups has",
    r"mma\.h": "tensor cores (wmma)",
    r"cuda_fp[468]\.h": "numbers of 8 bits and fewer (fp8, fp6, fp4)",
    r"cuComplex\.h": "CUDA's complex numbers",
    r"cuda/": "libcu++",
    r"cuda_pipeline": "asynchronous copies",
}
#: Libraries of which headers and functions begin with the same letters: to include one is fine, to call it is refused.
_LIBRARIES = {
    "cub/": "cub",
    "thrust/": "thrust",
    "curand": "cuRAND",
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "cufft": "cuFFT",
    "cusparse": "cuSPARSE",
    "cusolver": "cuSOLVER",
    "nvtx": "NVTX",
}
#: Names of what is refused.
_NAMES = {
    r"this_grid|grid_group|this_cluster|cluster_group": "cooperative groups across blocks",
    r"coalesced_threads|coalesced_group|labeled_partition|binary_partition": "cooperative groups of the lanes that are active",
    r"thread_group": "cooperative groups whose size is no constant: take tiled_partition<32>",
    r"(?:cub|thrust)(?=\s*::)|namespace (?:cub|thrust)": "cub and thrust",
    r"nvcuda|wmma": "tensor cores (wmma)",
    r"__nv_fp[468]\w*": "numbers of 8 bits and fewer",
    r"cu(?:Float|Double)?Complex|make_cu\w*Complex": "CUDA's complex numbers",
    r"asm|__asm__": "inline PTX",
    r"tex[123]D\w*|texture|cudaTextureObject_t|surf[123]D\w*|cudaSurfaceObject_t": "textures and surfaces",
    r"__pipeline_\w+|__cvta_\w+": "asynchronous copies",
    r"cudaLaunchCooperativeKernel": "launches of cooperative kernels",
    r"cudaGraph\w*|cudaStreamBeginCapture": "CUDA graphs",
}
#: What CUDA itself no longer has.
_REMOVED = re.compile(r"__(?:shfl|shfl_up|shfl_down|shfl_xor|ballot|any|all)(?=\s*\()")
#: What belongs to the host: nvcc takes none of it in a kernel.
_OF_HOST = re.compile(
    r"\bstd\s*::\s*(?:cout|cerr|vector|string|map|sort)\b|\b(?:at|torch)\s*::\s*(?:Tensor|empty|zeros|ones)\b|\bTORCH_CHECK\b|"
    r"\b(?:throw|try)\b"
)
_WITH_ACCESSORS = ("generic_packed_accessor", "packed_accessor32", "packed_accessor64")
_DEVICE = re.compile(r"\b__(?:global|device)__\b")
_POINTERS = re.compile(r"(?:const_|mutable_)?data_ptr|packed_accessor(?:32|64)?|generic_packed_accessor|accessor")
#: The C++ library itself uses the name __noinline__, so that it can be no macro.
_TOKENS = {
    "is_cuda": "is_cpu",
    "kCUDA": "kCPU",
    "__noinline__": "__attribute__((noinline))",
    "assert": "CUDA_CPU_ASSERT_",
}
#: What code of kernels calls of the C library, and what the checks see of it.
_OF_C = {name: f"::cuda_cpu::kernel_{name}" for name in ("memcpy", "memset", "malloc", "free")} | {
    "memmove": "::cuda_cpu::kernel_memcpy"
}
#: Where nobody takes what was there, it is no matter whether that was ever written.
_EXCHANGES = ("atomicExch", "atomicExch_block")
_IN_KERNELS = {
    r"\bnew\b(?!\s*\()": "new (::cuda_cpu::OnHeap{})",
    r"\bdelete\b(?:\s*\[\s*\])?(?!\s*;)": "::cuda_cpu::OnHeap{} <<",
}
#: Where a text looks at how much 32 bits hold.
_LIMITS = re.compile(
    r"\bU?INT(?:32)?_MAX\b|(?i:\bcan_?use_?32_?bit\w*)|numeric_limits\s*<\s*(?:u?int(?:32_t)?|unsigned(?: int)?|index_t)\s*>|"
    r"\b(?:2'?147'?483'?64[78]|4'?294'?967'?29[56])|\b(?i:0x7f{7}|0xf{8})\b|\b1[uUlL]*\s*<<\s*3[0-2]\b"
)
_EMPTY = re.compile(r"(?:at|torch)\s*::\s*empty(?:_like|_strided)?\s*")
_TENSOR = re.compile(r"(?:const )?(?:(?:at|torch)\s*::\s*)?Tensor ?(?:const ?)?&?")


def rewrite(text: str, label: str, needs_kernel: bool = True) -> str:
    """Make C++ of a CUDA text.

    Args:
        text: the text, its slots filled in.
        label: of the kernel, for messages.
        needs_kernel: whether a text without one is refused.

    Returns:
        A text in which every line is where it was, to be compiled behind `header()`.

    Raises:
        TemplateError: it uses what cannot run on the CPU.

    Example:
        >>> text = "__global__ void k(int* x) { *x = 1; } void f(int* x) { k<<<1, 32>>>(x); }"
        >>> print(rewrite(text, "axpy/mine")[55:].partition("\\n")[0])
        ::cuda_cpu::Launch("k", __FILE__, __LINE__, 1, 32).run([&](auto&... cuda_cpu_) CUDA_CPU_PLAIN { k(cuda_cpu_...); }, x); }
    """
    source = _Text(text, label)
    _refuse(source, needs_kernel)
    finders = (_includes, _launches, _shared, _variables, _in_kernels, _subscripts, *_FOR_TENSORS)
    return _edited(text, [edit for find in finders for edit in find(source)])


def on_cpu(text: str) -> str:
    """Let a C++ text that works with tensors on a GPU work with tensors on the CPU, and tell the checks their names.

    Example:
        >>> on_cpu("TORCH_CHECK(x.is_cuda());")
        'TORCH_CHECK(x.is_cpu());'
    """
    source = _Text(text, "")
    return _edited(text, [edit for find in _FOR_TENSORS for edit in find(source)])


_Edit = tuple[int, int, str]


def _edited(text: str, edits: list[_Edit]) -> str:
    parts, end = [], 0
    for start, stop, new in sorted(edits):
        parts += [text[end:start], new]
        end = stop
    return "".join([*parts, text[end:]])


class _Text:
    """A text with its mask, and how to refuse a place in it."""

    def __init__(self, text: str, label: str) -> None:
        self.text, self.code, self.start = text, unquoted(text), f"kernel {label!r}, cuda line "

    def line(self, offset: int) -> int:
        """Number the line of a place as the directives `#line` before it do."""
        return placed(self.text, offset)[1]

    def refusal(self, offset: int, what: str) -> TemplateError:
        return TemplateError(f"{self.start}{self.line(offset)}: {what}")

    def cannot(self, offset: int, what: str) -> TemplateError:
        return self.refusal(offset, f"device 'cuda-cpu' cannot run {what}. Take device 'cuda', or write it without")

    def heads(self, offset: int) -> list[str]:
        return heads(self.code, offset)

    def in_function(self, offset: int) -> bool:
        return any("(" in head for head in self.heads(offset))

    def on_device(self, offset: int) -> bool:
        return any(map(_DEVICE.search, self.heads(offset)))

    def kernels(self) -> Iterator[Function]:
        return (
            one for one in all_functions(self.text) if one.body[0] and "__global__" in self.code[one.start : one.offset]
        )


def _includes(source: _Text) -> Iterator[_Edit]:
    found, code = directives(source.text), source.code
    for one in found:
        code = code.replace(one.header, " " * len(one.header)) if one.header else code
    for one in found:
        library = next((name for name in _LIBRARIES if one.header.startswith(name)), "")
        if library and (call := code.find(library.replace("/", "::"))) >= 0:
            raise source.cannot(call, _LIBRARIES[library])
        if library or _OUR_HEADERS.match(one.header):
            yield one.start, one.place + len(one.header) + 2, ""
        if what := next((what for header, what in _HEADERS.items() if re.match(header, one.header)), ""):
            raise source.cannot(one.start, what)


def _launches(source: _Text) -> Iterator[_Edit]:
    """`k<T><<<grid, block>>>(x)` becomes a call of `Launch(...).run`, which gets the kernel as a function of its arguments."""
    code, launches = source.code, {launch.configuration[0]: launch for launch in find_launches(source.text)}
    for match in re.finditer(r"<<<", code):
        here = match.start()
        if source.on_device(here):
            raise source.cannot(here, "a kernel that launches a kernel (dynamic parallelism)")
        if not source.in_function(here):
            raise source.refusal(here, "a launch stands in a function, and this one in none")
        launch = launches.get(here + 3)
        if launch is None:
            raise source.refusal(here, "a launch is written kernel<<<blocks, threads>>>(arguments)")
        begin, close, (first, last) = launch.start, launch.configuration[1], launch.arguments
        kernel = " ".join(source.text[begin:here].split())
        shown = kernel.replace("\\", "").replace('"', "'")
        breaks = "\n" * source.text.count("\n", begin, here)
        yield begin, here + 3, f'::cuda_cpu::Launch("{shown}", __FILE__, __LINE__, {breaks}'
        comma = ", " * bool(code[first:last].strip())
        breaks = "\n" * source.text.count("\n", close, first)
        call = f").run({breaks}[&](auto&... cuda_cpu_) CUDA_CPU_PLAIN {{ {kernel}(cuda_cpu_...); }}{comma}"
        yield close, first, call
    yield len(code), len(code), "\nstatic const ::cuda_cpu::Loaded cuda_cpu_loaded_;"


def _not_for_nvcc(source: _Text) -> None:
    """Refuse what g++ takes and nvcc does not: what is right here is to compile for a GPU, too."""
    code = source.code
    if found := re.search(r"\b__global__\s+template\b", code):
        raise source.refusal(found.start(), "template <...> stands before __global__")
    for found in _OF_HOST.finditer(code):
        if any(_DEVICE.search(head) and "__host__" not in head for head in source.heads(found.start())):
            what = re.sub(r"\s+", "", found[0])
            raise source.refusal(found.start(), f"{what} is of the host: the code of a kernel cannot use it")
    functions = all_functions(source.text)
    of_host = {one.name for one in functions if "__global__" not in code[one.start : one.offset]}
    names = {one.name for one in functions} - of_host  # a function of the host may have the same name
    for call in all_calls(source.text):
        if call.name in names and code.startswith(call.name, call.start) and source.in_function(call.start):
            raise source.refusal(
                call.start, f"a kernel is launched, not called: {call.name}<<<blocks, threads>>>(arguments)"
            )


def _shared(source: _Text) -> Iterator[_Edit]:
    code = source.code
    for one in find_declarations(source.text):
        if "__shared__" not in one.words:
            continue
        begin, end = one.start, one.end
        if one.has_value:
            raise source.refusal(begin, "shared memory has no initial value: let threads write it, and __syncthreads()")
        at_file = not source.in_function(begin)
        breaks = "\n" * code.count("\n", begin, end)
        if "extern" in one.words:
            if not one.is_open:
                raise source.refusal(begin, "dynamic shared memory is written extern __shared__ float name[];")
            (name,), type_ = one.names, one.type
            of_template = rf"template\s*<[^>]*\b(?:typename|class)\s+{re.escape(type_)}\b"
            if "AT_DISPATCH" in code and re.search(of_template, "".join(source.heads(begin))):
                raise source.refusal(
                    begin,
                    f"{name} has another type for each {type_}, and nvcc wants one for each name: declare extern __shared__ unsigned "
                    f"char memory[]; and {type_}* {name} = reinterpret_cast<{type_}*>(memory);",
                )
            storage = "static CUDA_CPU_OF_THREAD_ " * at_file
            memory = f'::cuda_cpu::dynamic_shared<{type_}>("{name}")'
            yield begin, end, f"{storage}{type_}* const {name} = {memory}{breaks}"
            if at_file:
                yield end + 1, end + 1, _told_at_file(name, memory)
            continue
        if code.startswith("static", begin):
            yield begin, begin + len("static"), ""
        for name in one.names:
            told = f'::cuda_cpu::declare_shared("{name}", {name})'
            fits = (
                f' static_assert(sizeof({name}) <= {_SHARED_BYTES}, "the shared array {name} needs more than 48 KiB, which a block'
                ' has: take a smaller one, or dynamic shared memory");'
            )
            if not at_file:
                yield end + 1, end + 1, f"{fits} {told};"
                continue
            bodies = _kernels_with(source, name, end)
            yield end + 1, end + 1, fits + ("" if bodies else _told_at_file(name, told))
            yield from ((body, body, f" {told};") for body in bodies)


def _kernels_with(source: _Text, name: str, declared: int) -> list[int]:
    """Return where the bodies begin of the kernels that alone name an array of the file: a block of another one has no room for it.

    None where something else names it, too, which any kernel may call.
    """
    code = source.code
    ends = declared + closing("{" + code[declared:], 0) - 1  # of its namespace
    named = {found.start() for found in re.compile(rf"\b{name}\b").finditer(code, declared, ends)}
    bodies = {one.body[0]: {at for at in named if at in range(*one.body)} for one in source.kernels()}
    alone = set().union(*bodies.values()) == named and not re.search(rf"::\s*{name}\b", code)
    return [begin for begin, found in bodies.items() if found] if alone else []


def _told_at_file(name: str, told: str) -> str:
    return f" static const ::cuda_cpu::SharedOfFile cuda_cpu_{name}_([] {{ {told}; }});"


def _variables(source: _Text) -> Iterator[_Edit]:
    """Tell the checks of variables that all blocks share: `__device__ int count;`."""
    for one in find_declarations(source.text):
        word = re.search(r"__(?:device|managed|constant)__", one.words)
        if word is None or "extern" in one.words:
            continue
        if source.in_function(one.start):
            raise source.refusal(one.start, f"a variable with {word[0]} stands outside of all functions")
        for name in one.names:
            yield one.end + 1, one.end + 1, f' static const ::cuda_cpu::Variable cuda_cpu_{name}_("{name}", {name});'


def _in_kernels(source: _Text) -> Iterator[_Edit]:
    for call in all_calls(source.text):
        of_c = re.fullmatch(r"(?:(?:std)?\s*::\s*)?(\w+)\s*", source.code[call.start : call.opening])
        if of_c and of_c[1] in _OF_C and source.on_device(call.start):
            yield call.start, call.start + len(of_c[0].rstrip()), _OF_C[of_c[1]]
        if call.is_statement and call.name in _EXCHANGES:
            yield call.start, call.opening, "::cuda_cpu::atomic_store"
    for pattern, new in _IN_KERNELS.items():
        for match in re.finditer(pattern, source.code):
            if source.on_device(match.start()):
                yield match.start(), match.end(), new


def _subscripts(source: _Text) -> Iterator[_Edit]:
    """Tell the checks which array an index is of, and by what type an index of a pointer is computed: see `told.h`."""
    rows: list[str] = []
    for number, one in enumerate(_indices(source)):
        said = _said(source, one)
        shown = ", ".join(
            '"' + word.replace("\\", "").replace('"', "'") + '"' for word in (said.name, *said.words, *said.source)
        )
        rows.append(f"{{__FILE__, {said.line}, {shown}}}")
        is_pointer = one.base and "[" not in one.base  # a row of something is no parameter, which alone may be one
        how = f"<decltype({one.source})>({number}, {one.base}, (" if is_pointer else f"_of_array({number}, ("
        yield one.index[0], one.index[0], f"::cuda_cpu::index{how}"
        yield one.index[1], one.index[1], "))"
    if rows:
        code = len(source.code)
        yield code, code, f" static const ::cuda_cpu::Subscripts cuda_cpu_subscripts_{{{', '.join(rows)}}};"


@dataclass(frozen=True)
class Index:
    """What is said of the index of a subscript.

    Attributes:
        file, line: where it stands, as `#line` counts.
        name: of the array.
        words: itself, and what makes it one of 64 bits, `int64_t i`.
        source: the same of what it was computed by.
    """

    file: str
    line: int
    name: str
    words: tuple[str, str]
    source: tuple[str, str]


def _indices(source: _Text, everywhere: bool = False) -> Iterator[Subscript]:
    """List the subscripts whose indices can be told of: what changes something is not repeated, not even for its type."""
    for one in find_subscripts(source.text):
        begin, end = one.index
        changes = any(mark in one.source for mark in ("++", "--", "="))
        if changes or {*"{}#"} & {*source.text[begin:end], *one.source, *one.base}:
            continue
        if everywhere or (source.on_device(begin) and one.first[0]):  # a number does not grow with a tensor
            yield one


def _said(source: _Text, one: Subscript) -> Index:
    words = " ".join(source.code[slice(*one.index)].split()), _wider(one.first[0])
    return Index(*placed(source.text, one.index[0])[:2], one.name, words, (one.source, _wider(one.first[1])))


def indices(text: str) -> list[Index]:
    """List the indices in a C++ text in the order of their numbers in `tell_indices`.

    Example:
        >>> [index.words[0] for index in indices("void f(int* x, int n) { x[2 * n] = 0; }")]
        ['2 * n']
    """
    source = _Text(text, "")
    return [_said(source, one) for one in _indices(source, everywhere=True)]


def tell_indices(text: str) -> str:
    """Have each index in a C++ text told to the follower, `native/follow_index.h`.

    Example:
        >>> tell_indices("void f(int* x, int n) { x[2 * n] = 0; }")
        'void f(int* x, int n) { x[::followed::index<decltype(2 * n)>(0, x, (2 * n))] = 0; }'
    """
    edits: list[_Edit] = []
    for number, one in enumerate(_indices(_Text(text, ""), everywhere=True)):
        (begin, end), how = one.index, f"::followed::at({number}, ("
        if one.base:
            kind = f"decltype({one.source}){', false' * one.is_address}"
            how = f"::followed::index<{kind}>({number}, {one.base}, ("
        edits += [(begin, begin, how), (end, end, "))")]
    return _edited(text, edits)


def looks_at_limits(texts: Iterable[str]) -> bool:
    """Tell whether texts look themselves at how much 32 bits hold.

    Example:
        >>> looks_at_limits(["TORCH_CHECK(x.numel() <= INT_MAX);"])
        True
    """
    return any(_LIMITS.search(mask(text)) for text in texts)


def _wider(variable: str) -> str:
    """Say what makes an index one of 64 bits whose first variable this is."""
    return f"int64_t({variable})" if "." in variable else f"int64_t {variable}".rstrip()


def narrow_indices(library: str, texts: Iterable[str]) -> list[str]:
    """Say which indices of a library in check mode are computed in 32 bits, and from which size on they are wrong.

    Nothing is said where a text looks at such sizes itself.
    """
    take = getattr(ctypes.CDLL(library), "cuda_cpu_narrow_indices", None)
    if take is None or looks_at_limits(texts):
        return []
    take.restype = ctypes.c_char_p
    return (take() or b"").decode().splitlines()


def _tokens(source: _Text) -> Iterator[_Edit]:
    for match in re.finditer(
        r"(?<![\w.])assert(?=\s*\()|\b(?:is_cuda|kCUDA|__noinline__)\b|\bDeviceType\s*::\s*CUDA\b", source.code
    ):
        yield match.start(), match.end(), _TOKENS.get(match[0], "DeviceType::CPU")
    for match in re.finditer(r"\b(?:at|torch)\s*::\s*PackedTensorAccessor(32|64)\b", source.code):
        yield match.start(), match.end(), f"::cuda_cpu::Accessor{'32' * (match[1] == '32')}"


def _named(source: _Text) -> Iterator[_Edit]:
    """Tell the checks which tensor a pointer or accessor is of."""
    for call in all_calls(source.text):
        is_data = call.name == "data" and source.code[call.opening - 1] == ">"
        if call.is_member and (is_data or _POINTERS.fullmatch(call.name)):
            tensor = source.text[call.start : call.dot].rstrip()
            sign = "->" if source.code[call.dot :].lstrip()[:1] == "-" else "."
            shown = re.sub(r"\s+", "", tensor).replace("\\", "").replace('"', "'")
            how = "with_accessors" if call.name in _WITH_ACCESSORS else "named"
            yield call.start, call.start, f"::cuda_cpu::{how}({'*' * (sign == '->')}"
            yield call.start + len(tensor), source.code.index(sign, call.dot) + len(sign), f', "{shown}").'


def _empty(source: _Text) -> Iterator[_Edit]:
    """Tell the checks which tensors hold nothing. One that is kept between calls may hold nothing in part of it."""
    code = source.code
    for call in all_calls(source.text):
        if call.name == "new_empty" if call.is_member else _EMPTY.fullmatch(code, call.start, call.opening):
            statement = code[max(code.rfind(mark, 0, call.start) for mark in ";{}") + 1 : call.start]
            if not re.search(r"\bstatic\b", statement):
                yield call.start, call.start, "::cuda_cpu::unwritten("
                yield call.end, call.end, ")"


def _calls(source: _Text) -> Iterator[_Edit]:
    """Tell the checks what a function of the host calls the tensors that it is given."""
    for one in all_functions(source.text):
        names = [own.name for own in one.parameters if own.name and _TENSOR.fullmatch(own.type)]
        if names and one.body[0]:
            named = ", ".join(f'{{"{own}", &{own}}}' for own in names)
            yield one.body[0], one.body[0], f' ::cuda_cpu::Call cuda_cpu_call_("{one.name}", {{{named}}});'


#: What is rewritten in every text of tensors.
_FOR_TENSORS = (_tokens, _named, _empty, _calls)


def _refuse(source: _Text, needs_kernel: bool) -> None:
    """Refuse what has no meaning on the CPU."""
    code = source.code
    if needs_kernel and not re.search(r"\b__global__\b", code):
        raise source.refusal(0, "no __global__ function, so there is no kernel. Write __global__ void name(...)")
    for names, what in _NAMES.items():
        if found := re.search(rf"\b(?:{names})\b", code):
            raise source.cannot(found.start(), f"{what} ({found[0]})")
    if removed := _REMOVED.search(code):
        raise source.refusal(
            removed.start(),
            f"CUDA no longer has {removed[0]}: write {removed[0]}_sync, with the mask of the lanes first",
        )
    for match in re.finditer(r"\b(?:__[a-z]\w*(?=\s*(?:\(|<\w+>\s*\())|cuda[A-Z]\w*)", code):
        name = match[0]
        if name in _known() or name.startswith(("__builtin_", "__reduce_")) or definition(source.text, name):
            continue
        called = re.compile(r"\s*[(<]").match(code, match.end())
        kind = "intrinsic" if name[0] == "_" else "call of CUDA's runtime" if called else "name of CUDA's runtime"
        raise source.refusal(
            match.start(), f"device 'cuda-cpu' does not know the {kind} {name}.{did_you_mean(name, sorted(_known()))}"
        )
    _not_for_nvcc(source)


@cache
def _known() -> frozenset[str]:
    """Return the names that our headers give a meaning."""
    names = re.findall(r"\b(?:__[a-z]\w*|cuda[A-Z]\w*)", header())
    marks = ("__restrict__", "__restrict", "__attribute__", "__noinline__", "__launch_bounds__")
    of_types = ("__typeof__", "__typeof", "__alignof__", "__alignof")  # of every C++ compiler on Linux, nvcc too
    return frozenset([*names, *marks, *of_types])
