"""Help for what nvcc says: about launches, about the two sides of a call, and about what a kernel must not do."""

from __future__ import annotations

import re

from .advice_pairs import keeps_const
from .advice_tensors import in_place_of_tensor
from .compiler_log import Record
from .names import arguments, corrected, split_arguments
from .rules import Rules
from .source_text import definition, heads_around, mask, offset_of, position

rules = Rules()

_KEYWORDS = re.findall(
    r"\w+",
    "__global__ __device__ __host__ __shared__ __constant__ __managed__ __restrict__ __launch_bounds__ __syncthreads __syncwarp "
    "__threadfence __shfl_sync __shfl_down_sync __shfl_up_sync __shfl_xor_sync __ballot_sync __any_sync __all_sync __ldg "
    "threadIdx blockIdx blockDim gridDim warpSize atomicAdd atomicMax atomicMin atomicCAS atomicExch cudaStream_t "
    "cudaMalloc cudaFree cudaMemcpy cudaMemset cudaMemcpyHostToDevice cudaMemcpyDeviceToHost cudaMemcpyDeviceToDevice "
    "cudaDeviceSynchronize cudaGetLastError cudaSuccess",
)
_BETWEEN = "Between <<< and >>> stand the blocks, the threads of a block, the bytes of shared memory, and the stream."
_ATOMIC = {
    "atomicAdd": "int, unsigned int, unsigned long long, float and double",
    "atomicSub": "int and unsigned int",
    "atomicExch": "int, unsigned int, unsigned long long and float",
}


@rules.rule(
    r"calling the __host__ function '([^']*)' from the __\w+__|'cout' in namespace 'std'|'std::cout'|identifier 'cout'"
)
def _host_function(match: re.Match[str], record: Record) -> str:
    if not match[1] and not any("__global__" in head for head in heads_around(record.text, record.line)):
        return ""
    if not match[1] or match[1].endswith("operator<<"):
        return 'A kernel writes with printf("%f\\n", v): std::cout is for the CPU.'
    if match[1].startswith(("at::", "c10::")):
        return "A kernel cannot use a tensor: hand it pointers, x.const_data_ptr<float>(), and numbers, x.numel()."
    if match[1].startswith("std::"):
        return f"'{match[1]}' exists on the CPU only: a kernel has pointers and arrays, and max, min, sqrt, exp, ... without std::."
    place = definition(record.text, match[1])
    if place:
        return f"'{match[1]}' is compiled for the CPU only: write __device__ in front of it, in line {place[0]}."
    return (
        f"'{match[1]}' exists on the CPU only: a kernel calls __device__ functions, and those of CUDA's math library."
    )


@rules.rule(r"a host function call cannot be configured")
def _not_a_kernel(match: re.Match[str], record: Record) -> str:
    name = re.search(r"(\w+)\s*(?:<[^<>]*>)?\s*<<<", record.row)
    place = definition(record.text, name[1]) if name else None
    where = f", in line {place[0]}" if place else ""
    what = f"'{name[1]}'" if name else "the function that is launched here"
    return f"Only a __global__ function can be launched: write __global__ in front of {what}{where}."


rules.table(r"""
namespace name is not allowed|was not declared|undeclared|^expected
  in \bcuda\.grid\s*\(\s*1\s*\)
    cuda.grid(1) is Numba's: in C++ it is blockIdx.x * int64_t(blockDim.x) + threadIdx.x.
  in \bcuda\.(threadIdx|blockIdx|blockDim|gridDim)\b
    'cuda.' is Numba's: in C++ it is \1 alone.
  in \bcuda\.(syncthreads|syncwarp)\s*\(
    'cuda.' is Numba's: in C++ it is __\1().
  in \bcuda\.atomic\.(add|max|min)\s*\(
    'cuda.' is Numba's: in C++ it is atomic followed by the name, as in atomicAdd(&y[i], v).
  in \bcuda\.shared\.array\b
    'cuda.' is Numba's: in C++ it is __shared__ float tile[256], say.
  in \btl\.program_id\b
    'tl.' is Triton's: in C++ a block has its number in blockIdx.x, and each thread its own in threadIdx.x.
a __global__ function call must be configured
    A kernel is launched: kernel<<<blocks, threads, 0, stream>>>(arguments).
a __global__ function must have a void return type
    A kernel returns nothing: it writes through a pointer.
expected '>>>'
    A launch has three brackets on each side: kernel<<<blocks, threads, 0, stream>>>(arguments).
to 'dim3'|configuration argument|too many arguments in execution configuration
    Between <<< and >>> stand the blocks, the threads of a block, the bytes of shared memory, and the stream.
unsupported GNU version|unsupported clang version
    Choose an older compiler: compiler='g++-12', say.
Unsupported gpu architecture
    Change TORCH_CUDA_ARCH_LIST: this nvcc knows the ones that `nvcc --list-gpu-arch` names.
""")


@rules.rule(
    r"(?:no instance of function template|function) '(\w+)' (?:matches the|cannot be called with the given) argument list"
    r".*argument types are: \((.*)\)"
)
def _launch_arguments(match: re.Match[str], record: Record) -> str:
    name, place = match[1], definition(record.text, match[1])
    own = re.search(rf"(?:template\s*<([^<>{{}};]*)>)?[^<>{{}};]*\b{name}\s*\(([^{{}};()]*)\)\s*\{{", mask(record.text))
    if place is None or own is None:
        return ""
    where = f"'{name}' of line {place[0]}"
    takes, gives = split_arguments(own[2]), split_arguments(match[2])
    if len(takes) != len(gives):
        return f"{where} takes {arguments(len(takes))}, and is given {len(gives)}."
    types = re.findall(r"\w+(?=\s*(?:,|$))", own[1] or "")
    lost = next((one for one in types if not re.search(rf"\b{one}\b", own[2])), "")
    if lost and not re.search(rf"\b{name}\s*<(?!<)", record.code):
        return f"The arguments do not tell the template's {lost}: name it, {name}<...><<<blocks, threads>>>(...)."
    for wanted, given in zip(takes, gives, strict=True):
        if given.endswith("at::Tensor") and (pointer := re.search(r"(\w+)\s*\*", wanted)):
            own_type = "scalar_t" if "scalar_t" in record.text else "float"
            return in_place_of_tensor(f"{own_type if pointer[1] in types else pointer[1]}*", record)
    if number := re.search(r"argument #(\d+) does not match", record.said):
        index = int(number[1]) - 1
        swapped = any(
            "const" in take and "*" in give and "const" not in give for take, give in zip(takes, gives, strict=True)
        )
        if gives[index].startswith("const ") and "*" in takes[index] and "const" not in takes[index] and not swapped:
            return keeps_const(record, gives[index].replace(" *", "*"), name)
        _to_argument(record, index)
        if (
            gives[index] == "void *"
            and "data_ptr()" in record.code
            and (kind := re.search(r"(\w+)\s*\*", takes[index]))
        ):
            return f"data_ptr() without a type gives void*: write data_ptr<{kind[1]}>()."
        return f"Argument {number[1]} of {where} is {takes[index]}, and this is {gives[index]}."
    return f"Compare the arguments with those of {where}."


def _to_argument(record: Record, index: int) -> None:
    """Move a record from a launch to one of its arguments, which may stand lines below."""
    code = mask(record.text)
    opened = re.compile(r"[^;]*?>>>\s*\(").match(code, offset_of(code, record.line))
    if opened is None:
        return
    given = split_arguments(code[opened.end() : code.find(";", opened.end())])
    at = end = opened.end()
    for one in given[: index + 1]:
        at = code.index(one, end)
        end = at + len(one)
    record.line, record.column = position(code, at)


rules.table(r"""
more than one instance of overloaded function '(\w+)' matches.*argument types are: \((?:const )?([^,()]*), ([^,()]*)\)
    The arguments have two types, \2 and \3: convert one, as in \1(a, \2(b)).
""")


@rules.rule(r"expression must be a modifiable lvalue")
def _read_only(match: re.Match[str], record: Record) -> str:
    name = re.match(r"\w*", record.code[max(record.column - 1, 0) :])
    found = re.search(rf"\bconst\b[^,;(){{}}]*\b({name[0]})\b", mask(record.text)) if name and name[0] else None
    if found is None:
        return "What stands on the left is const, or no variable: look at its declaration."
    line = position(record.text, found.start(1))[0]
    return f"'{found[1]}' of line {line} is const: take that const away if it has to be written."


@rules.rule(
    r"too many arguments in function call|cannot convert|conversion from|too few arguments in function|Launch::Launch\("
)
def _configuration(match: re.Match[str], record: Record) -> str:
    if "Launch::Launch(" in match.string:
        return _BETWEEN
    start, end = record.code.find("<<<"), record.code.find(">>>")
    given = split_arguments(record.code[start + 3 : end])
    if len(given) == 3 and re.search(r"from '[^']*[sS]tream|convert '[^']*[sS]tream", record.message):
        return f"The stream is the fourth: <<<{given[0]}, {given[1]}, 0, stream>>>, with 0 bytes of shared memory."
    return _BETWEEN if start < record.column - 1 <= end else ""


rules.table(r"""
^identifier '(\w+)' is undefined in device code
    '\1' is a variable of the CPU: write __constant__ or __device__ in front of it where it is declared, or hand it over.
^too few arguments (?:in|to) function
  in \bcudaMemcpy\s*\(
    cudaMemcpy takes four things: to, from, how many bytes, and the direction, as cudaMemcpyDeviceToDevice.
^an automatic '(__\w+__)' variable declaration is not allowed
    A \1 variable stands outside of all functions: in a kernel leave \1 away, and each thread has its own.
^dynamic initialization is not (?:supported|allowed) for
    A __shared__, __device__ or __constant__ variable begins without a value: set it in the kernel, or by cudaMemcpyToSymbol.
expression must have a constant value
  in __shared__
    The size of a __shared__ array is fixed when it is compiled: use a param, or extern __shared__ and the third number of the launch.
""")


@rules.rule(r"'(\w+)' (?:was not declared|does not name)|undeclared identifier '(\w+)'")
def _keyword(match: re.Match[str], record: Record) -> str:
    name = match[1] or match[2]
    if "__global__" not in record.text and not name.startswith("__"):
        return ""
    shared = re.search(rf"\b__shared__\s+({name}\s*\[[^\]]*\])", record.row)
    if shared:
        return f"Its type is missing: __shared__ float {shared[1]}, say."
    if f"{name}_sync" in _KEYWORDS:
        return f"It is called '{name}_sync' now, and takes the lanes first: {name}_sync(0xffffffff, ...)."
    near = corrected(name, _KEYWORDS)
    return f"Did you mean '{near}'?" if near else ""


rules.table(r"""
no (?:match for '?|)operator.*\b(?:uint3|dim3)\b
    threadIdx, blockIdx and blockDim hold three numbers: blockIdx.x * blockDim.x + threadIdx.x.
declaration is incompatible with previous
  in extern\s+__shared__\s+(\w+)\s+(\w+)\s*\[
    All kernels share one '\2', and it has one type: write extern __shared__ __align__(8) char bytes[]; and then
    \1* \2 = reinterpret_cast<\1*>(bytes).
initializer not allowed for __shared__
    A __shared__ array begins without values: let its threads set it, then call __syncthreads().
return value type does not match the function type
    This is not of the type that the function returns; a void function, as every kernel is, returns nothing.
expected an expression|must have (?:arithmetic|integral)|cannot determine which instance|expected '\('
  in (\w+)\s*(?:<[^<>]*>)?\s*<<
  text __global__[^;{}]*\b%1\b
    A kernel is launched with three brackets on each side: kernel<<<blocks, threads, 0, stream>>>(arguments).
""")


@rules.rule(
    r"(?:no instance of overloaded function|call to) '(atomic\w+|cudaMalloc)(?:'.*argument types are: )?\(([^,]*),"
)
def _address(match: re.Match[str], record: Record) -> str:
    first = re.search(rf"\b{match[1]}\s*\(\s*([^(),]+),", record.code)
    if match[1] != "cudaMalloc" and "*" in match[2]:
        knows = _ATOMIC.get(match[1], "int, unsigned int, long long and unsigned long long")
        kind = match[2].strip().rstrip("*").strip()
        return f"'{match[1]}' knows {knows}, and this is {kind}: take one of these, or write a loop around atomicCAS."
    if first is None or "**" in match[2].replace(" ", ""):
        return ""
    return f"'{match[1]}' takes the address of what it changes: {match[1]}(&{first[1].strip()}, ...)."


rules.table(r"""
^expected '?;
  in ^\s+.*\b__(?:global|device)__\s.*\w\s*\([^;]*\)\s*\{
    A function cannot stand inside another: move the kernel out, to file scope.
""")


@rules.rule(r"'(\w+)' was not declared|undeclared identifier '(\w+)'")
def _no_launch_function(match: re.Match[str], record: Record) -> str:
    """Tell why the cpp text does not see a function of the CUDA text."""
    if not record.file.endswith("(cpp)"):
        return ""
    name, kernel = match[1] or match[2], record.file.removesuffix("(cpp)")
    near = corrected(name, re.findall(r"void (\w+)\(const at::Tensor&", record.sources.get(f"{kernel}(launchers)", "")))
    if near:
        return f"Did you mean '{near}'?"
    if not re.search(rf"(?<!\w){name}\s*\(", mask(record.sources.get(f"{kernel}(cuda)", ""))):
        return ""
    return f"'{name}' of the cuda text is no launch function: those end in a parameter of type cudaStream_t."
