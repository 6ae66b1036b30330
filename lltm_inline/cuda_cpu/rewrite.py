"""A CUDA text becomes C++ in which every line is where it was.

Only what C++ cannot be taught by a header is rewritten: launches, shared memory of a size that the launch gives, includes of
CUDA's headers, what a kernel calls of the C library, and where the text asks for tensors on a GPU. The checks also get to know
the names of tensors, shared arrays and variables, and which tensors nobody has written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ..base.arguments import did_you_mean
from ..cpp.bodies import find_launches
from ..diagnosis.names import split_arguments
from ..diagnosis.source_text import at_file_scope, definition, heads_around, mask, position
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
    r"cub/": "cub",
    r"thrust/": "thrust",
    r"mma\.h": "tensor cores (wmma)",
    r"cuda_fp[468]\.h": "numbers of 8 bits and fewer (fp8, fp6, fp4)",
    r"cuComplex\.h": "CUDA's complex numbers",
    r"cuda/": "libcu++",
    r"curand": "cuRAND",
    r"cublas": "cuBLAS",
    r"cudnn": "cuDNN",
    r"cufft": "cuFFT",
    r"cuda_pipeline": "asynchronous copies",
}
#: Names of what is refused.
_NAMES = {
    r"this_grid|grid_group|this_cluster|cluster_group": "cooperative groups across blocks",
    r"coalesced_threads|coalesced_group|labeled_partition|binary_partition": "cooperative groups of the lanes that are active",
    r"thread_group": "cooperative groups whose size is no constant: take tiled_partition<32>",
    r"cub|thrust": "cub and thrust",
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
_GLOBAL = re.compile(
    r"\b__global__\b(?:[^;{}()]|__launch_bounds__\s*\([^()]*\))*?\b(?!__launch_bounds__)([A-Za-z_]\w*)\s*\("
)
_SPECIFIER = re.compile(
    r"\b(?:extern|static|__shared__|volatile)\b|(?:__align__|alignas)\s*\((?:[^()]|\([^()]*\))*\)|"
    r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)"
)
_POINTER_CALL = re.compile(
    r"(\.|->)\s*(?:template\s+)?(?:(?:const_|mutable_)?data_ptr\b|data\s*<|packed_accessor\b|(generic_packed_accessor|packed_accessor(?:32|64))\b|"
    r"accessor\s*<)"
)
#: The C++ library itself uses the name __noinline__, so that it can be no macro.
_TOKENS = {
    "is_cuda": "is_cpu",
    "kCUDA": "kCPU",
    "__noinline__": "__attribute__((noinline))",
    "assert": "CUDA_CPU_ASSERT_",
}
#: What code of kernels calls of the C library, and what the checks see of it.
_IN_KERNELS = {
    r"(?<![\w.>:])(?:(?:std)?\s*::\s*)?mem(?:cpy|move)(?=\s*\()": "::cuda_cpu::kernel_memcpy",
    r"(?<![\w.>:])(?:(?:std)?\s*::\s*)?memset(?=\s*\()": "::cuda_cpu::kernel_memset",
    r"(?<![\w.>:])(?:(?:std)?\s*::\s*)?malloc(?=\s*\()": "::cuda_cpu::kernel_malloc",
    r"(?<![\w.>:])(?:(?:std)?\s*::\s*)?free(?=\s*\()": "::cuda_cpu::kernel_free",
    r"\bnew\b(?!\s*\()": "new (::cuda_cpu::OnHeap{})",
    r"\bdelete\b(?:\s*\[\s*\])?(?!\s*;)": "::cuda_cpu::OnHeap{} <<",
}
_EMPTY = re.compile(r"\b(?:at|torch)\s*::\s*empty(?:_like|_strided)?\s*\(|(?<=\.)new_empty\s*\(")
_VARIABLE = re.compile(r"\b__(?:device|managed|constant)__\b[^;(){}=]*?[\w\]](?=\s*[;={])")
_FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\(([^(){};]*\bTensor\b[^(){};]*)\)\s*\{")


def rewrite(text: str, label: str, name: str) -> str:
    """Make C++ of a CUDA text.

    Args:
        text: the text, its slots filled in.
        label: of the kernel, for messages.
        name: of the text there, `"cuda"`.

    Returns:
        A text in which every line is where it was, to be compiled behind `header()`.

    Raises:
        TemplateError: it uses what cannot run on the CPU.

    Example:
        >>> text = "__global__ void k(int* x) { *x = 1; } void f(int* x) { k<<<1, 32>>>(x); }"
        >>> print(rewrite(text, "axpy/mine", "cuda")[55:].partition("\\n")[0])
        ::cuda_cpu::Launch("k", __FILE__, __LINE__, 1, 32).run([&](auto&... cuda_cpu_) CUDA_CPU_PLAIN { k(cuda_cpu_...); }, x); }
    """
    source = _Text(text, label, name)
    _refuse(source)
    finders = (_includes, _launches, _shared, _variables, _in_kernels, *_FOR_TENSORS)
    return _edited(text, [edit for find in finders for edit in find(source)])


def on_cpu(text: str) -> str:
    """Let a C++ text that works with tensors on a GPU work with tensors on the CPU, and tell the checks their names.

    Example:
        >>> on_cpu("TORCH_CHECK(x.is_cuda());")
        'TORCH_CHECK(x.is_cpu());'
    """
    source = _Text(text, "", "")
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

    def __init__(self, text: str, label: str, name: str) -> None:
        self.text, self.code, self.start = text, mask(text), f"kernel {label!r}, {name} line "

    def refusal(self, offset: int, what: str) -> TemplateError:
        return TemplateError(f"{self.start}{position(self.text, offset)[0]}: {what}")

    def cannot(self, offset: int, what: str) -> TemplateError:
        return self.refusal(offset, f"device 'cuda-cpu' cannot run {what}. Take device 'cuda', or write it without")


def _includes(source: _Text) -> Iterator[_Edit]:
    for match in re.finditer(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", source.text, re.MULTILINE):
        if "include" not in source.code[match.start() : match.end()]:
            continue
        if _OUR_HEADERS.match(match[1]):
            yield match.start(), match.end(), ""
        what = next((what for header, what in _HEADERS.items() if re.match(header, match[1])), "")
        if what:
            raise source.cannot(match.start(), what)


def _launches(source: _Text) -> Iterator[_Edit]:
    """`k<T><<<grid, block>>>(x)` becomes a call of `Launch(...).run`, which gets the kernel as a function of its arguments."""
    code, launches = source.code, {launch.configuration[0]: launch for launch in find_launches(source.text)}
    for match in re.finditer(r"<<<", code):
        here = match.start()
        if any(
            re.search(r"\b__(?:global|device)__\b", head) for head in heads_around(source.text, *position(code, here))
        ):
            raise source.cannot(here, "a kernel that launches a kernel (dynamic parallelism)")
        if not any("(" in head for head in heads_around(source.text, *position(code, here))):
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
        raise source.refusal(found.start(), "template <...> stands ahead of __global__")
    for found in _OF_HOST.finditer(code):
        if any(
            re.search(r"\b__(?:global|device)__\b", head) and not re.search(r"\b__host__\b", head)
            for head in heads_around(source.text, *position(code, found.start()))
        ):
            what = re.sub(r"\s+", "", found[0])
            raise source.refusal(found.start(), f"{what} is of the host: the code of a kernel cannot use it")
    for name in {found[1] for found in _GLOBAL.finditer(code)}:
        calls = []
        for found in re.finditer(rf"(?<![\w.>:]){name}\s*(?:<[^<>;(){{}}]*>\s*)?\(", code):
            if _in_function(source, found.start()):
                calls.append(found.start())
            elif "__global__" not in re.split(r"[;{}]", code[: found.start()])[-1]:
                break  # a function of the host has the same name
        else:
            for at in calls:
                # Behind a name or a type it is a variable that is declared.
                if re.search(r"(?:[{};,(=!&|?:]|\breturn)\s*$", code[:at]):
                    raise source.refusal(
                        at, f"a kernel is launched, not called: {name}<<<blocks, threads>>>(arguments)"
                    )


def _matching(code: str, at: int, closer: str) -> int:
    """Return where `closer` stands that belongs to what is open at `at`; -1 where it is missing."""
    depth = 0
    for index in range(at, len(code)):
        if depth == 0 and code.startswith(closer, index):
            return index
        depth += (code[index] in "([{") - (code[index] in ")]}")
        if depth < 0:
            return -1
    return -1


def _shared(source: _Text) -> Iterator[_Edit]:
    code = source.code
    for match in re.finditer(r"\b__shared__\b", code):
        if re.search(r"#\s*define\b[^\n]*$", code[: match.start()]):
            continue
        begin = max(code.rfind(mark, 0, match.start()) for mark in ";{}") + 1
        begin += len(code[begin : match.start()]) - len(code[begin : match.start()].lstrip())
        end = _matching(code, match.end(), ";")
        if end < 0:
            continue  # the compiler says what is missing
        declaration = code[begin:end]
        plain = " ".join(_SPECIFIER.sub(" ", declaration).split())
        if re.search(r"=|\{", plain):
            raise source.refusal(begin, "shared memory has no initial value: let threads write it, and __syncthreads()")
        at_file = at_file_scope(source.text, position(code, begin)[0]) and not _in_function(source, begin)
        breaks = "\n" * declaration.count("\n")
        if re.search(r"\bextern\b", declaration):
            form = re.fullmatch(r"(.+?)\b(\w+)\s*\[\s*\]", plain)
            if form is None:
                raise source.refusal(begin, "dynamic shared memory is written extern __shared__ float name[];")
            type_ = form[1].strip()
            heads = "".join(heads_around(source.text, *position(code, begin)))
            if "AT_DISPATCH" in code and re.search(
                rf"template\s*<[^>]*\b(?:typename|class)\s+{re.escape(type_)}\b", heads
            ):
                raise source.refusal(
                    begin,
                    f"{form[2]} has another type for each {type_}, and nvcc wants one for each name: declare extern __shared__ unsigned "
                    f"char memory[]; and {type_}* {form[2]} = reinterpret_cast<{type_}*>(memory);",
                )
            storage = "static thread_local " * at_file
            memory = f'::cuda_cpu::dynamic_shared<{type_}>("{form[2]}")'
            yield begin, end, f"{storage}{type_}* const {form[2]} = {memory}{breaks}"
            if at_file:
                yield end + 1, end + 1, _told_at_file(form[2], memory)
            continue
        static = re.compile(r"\bstatic\s+").match(code, begin)
        if static:
            yield static.start(), static.end(), ""
        names = [_declared(part) for part in split_arguments(plain)]
        for name in filter(None, names):
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
    ends = _matching(code, declared, "}")  # of its namespace
    named = [
        declared + found.start()
        for found in re.finditer(rf"\b{name}\b", code[declared : ends if ends >= 0 else len(code)])
    ]
    bodies = dict[int, set[int]]()
    for kernel in _GLOBAL.finditer(code, declared):
        opened = re.compile(r"\)\s*\{").match(code, max(0, _matching(code, kernel.end(), ")")))
        if opened:
            inside = range(opened.end(), max(opened.end(), _matching(code, opened.end(), "}")))
            bodies |= {inside.start: {at for at in named if at in inside}}
    alone = set().union(*bodies.values()) == {*named} and not re.search(rf"::\s*{name}\b", code)
    return [begin for begin, found in bodies.items() if found] if alone else []


def _told_at_file(name: str, told: str) -> str:
    return f" static const ::cuda_cpu::SharedOfFile cuda_cpu_{name}_([] {{ {told}; }});"


def _variables(source: _Text) -> Iterator[_Edit]:
    """Tell the checks of variables that all blocks share: `__device__ int count;`."""
    for match in _VARIABLE.finditer(source.code):
        end = _matching(source.code, match.end(), ";")
        outside = any(
            re.search(r"\)|\b(?:struct|class|union)\b", head)
            for head in heads_around(source.text, *position(source.text, match.start()))
        )
        if end >= 0 and _in_function(source, match.start()) and not source.code[: match.start()].rstrip().endswith("]"):
            raise source.refusal(
                match.start(), f"a variable with {match[0].split()[0]} stands outside of all functions"
            )
        if end < 0 or outside or re.search(r"\bextern\b|\boperator\b", match[0]):
            continue
        plain = " ".join(_SPECIFIER.sub(" ", source.code[match.start() : end]).split())
        for name in filter(
            None, (_declared(part.partition("=")[0].partition("{")[0]) for part in split_arguments(plain))
        ):
            yield end + 1, end + 1, f' static const ::cuda_cpu::Variable cuda_cpu_{name}_("{name}", {name});'


def _in_kernels(source: _Text) -> Iterator[_Edit]:
    for pattern, new in _IN_KERNELS.items():
        for match in re.finditer(pattern, source.code):
            heads = heads_around(source.text, *position(source.text, match.start()))
            if any(re.search(r"\b__(?:global|device)__\b", head) for head in heads):
                yield match.start(), match.end(), new


def _in_function(source: _Text, offset: int) -> bool:
    return any("(" in head for head in heads_around(source.text, *position(source.text, offset)))


def _declared(declarator: str) -> str:
    """Return the name that a declarator declares: `tile` of `float tile[32][33]`."""
    found = re.search(r"(\w+)\s*(?:\[.*\]\s*)?$", declarator)
    return found[1] if found else ""


def _tokens(source: _Text) -> Iterator[_Edit]:
    for match in re.finditer(
        r"(?<![\w.])assert(?=\s*\()|\b(?:is_cuda|kCUDA|__noinline__)\b|\bDeviceType\s*::\s*CUDA\b", source.code
    ):
        yield match.start(), match.end(), _TOKENS.get(match[0], "DeviceType::CPU")
    for match in re.finditer(r"\b(?:at|torch)\s*::\s*PackedTensorAccessor(32|64)\b", source.code):
        yield match.start(), match.end(), f"::cuda_cpu::Accessor{'32' * (match[1] == '32')}"


def _named(source: _Text) -> Iterator[_Edit]:
    """Tell the checks which tensor a pointer or accessor is of."""
    code = source.code
    for match in _POINTER_CALL.finditer(code):
        begin = _start_of_expression(code, match.start())
        if begin < 0:
            continue
        tensor = source.text[begin : match.start()]
        shown = re.sub(r"\s+", "", tensor).replace("\\", "").replace('"', "'")
        how = "with_accessors" if match[2] else "named"
        yield begin, begin, f"::cuda_cpu::{how}({'*' * (match[1] == '->')}"
        yield match.start(), match.end(1), f', "{shown}").'


def _empty(source: _Text) -> Iterator[_Edit]:
    """Tell the checks which tensors hold nothing. One that is kept between calls may hold nothing in part of it."""
    code = source.code
    for match in _EMPTY.finditer(code):
        close = _matching(code, match.end(), ")")
        dot = code[: match.start()].endswith(".")
        begin = _start_of_expression(code, match.start() - 1) if dot else match.start()
        statement = code[max(code.rfind(mark, 0, match.start()) for mark in ";{}") + 1 : match.start()]
        if close >= 0 and begin >= 0 and not re.search(r"\bstatic\b", statement):
            yield begin, begin, "::cuda_cpu::unwritten("
            yield close + 1, close + 1, ")"


def _calls(source: _Text) -> Iterator[_Edit]:
    """Tell the checks what a function of the host calls the tensors that it is given."""
    for match in _FUNCTION.finditer(source.code):
        if match[1] in ("if", "for", "while", "switch", "catch"):
            continue
        named = []
        for part in split_arguments(source.code[match.start(2) : match.end(2)]):
            form = re.fullmatch(r"\s*(?:const\s+)?(?:(?:at|torch)\s*::\s*)?Tensor\s*(?:const\s*)?&?\s*(\w+)\s*", part)
            if form:
                named.append(f'{{"{form[1]}", &{form[1]}}}')
        if named:
            told = f'::cuda_cpu::Call cuda_cpu_call_("{match[1]}", {{{", ".join(named)}}});'
            yield match.end(), match.end(), f" {told}"


def _start_of_expression(code: str, end: int) -> int:
    """Return where the expression begins that ends at `end`: `x`, `f(a).b`, `tensors[0]`, `(a + b)`; -1 where it is none of these."""
    at = end
    while True:
        at = bracket = len(code[:at].rstrip())
        while at and code[at - 1] in ")]":
            depth = 0
            while at > 0:
                at -= 1
                depth += (code[at] in ")]") - (code[at] in "([")
                if depth == 0:
                    break
            bracket, at = at, len(code[:at].rstrip())
        name = re.search(r"[A-Za-z_]\w*$", code[max(0, at - 200) : at])
        if name is None or name[0] == "return":
            return bracket if code[bracket] == "(" and (name or code[at - 1] in "=,(;{") else -1
        at -= len(name[0])
        before = re.search(r"(?:\.|->|::)\s*$", code[max(0, at - 20) : at])
        if before is None:
            return at
        at -= len(before[0])


#: What is rewritten in every text of tensors.
_FOR_TENSORS = (_tokens, _named, _empty, _calls)


def _refuse(source: _Text) -> None:
    """Refuse what has no meaning on the CPU."""
    code = source.code
    if not re.search(r"\b__global__\b", code):
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
    return frozenset([*names, "__restrict__", "__restrict", "__attribute__", "__noinline__", "__launch_bounds__"])
