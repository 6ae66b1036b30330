"""Help for what nvcc says: about launches, about the two sides of a call, and about what a kernel must not do."""

from __future__ import annotations

import re

from .advice_tensors import in_place_of_tensor
from .compiler_log import Record
from .names import arguments, nearest, split_arguments
from .rules import Rules
from .source_text import definition, mask, position

rules = Rules()

_KEYWORDS = re.findall(
    r"\w+",
    "__global__ __device__ __host__ __shared__ __constant__ __managed__ __restrict__ __launch_bounds__ __syncthreads __syncwarp "
    "__threadfence __shfl_sync __shfl_down_sync __shfl_up_sync __shfl_xor_sync __ballot_sync __any_sync __all_sync __ldg "
    "threadIdx blockIdx blockDim gridDim warpSize atomicAdd atomicMax atomicMin atomicCAS atomicExch cudaStream_t",
)
_BETWEEN = "Between <<< and >>> stand the blocks, the threads of a block, the bytes of shared memory, and the stream."
_LAUNCH = "kernel<<<blocks, threads, 0, stream>>>(arguments)"


@rules.rule(r"calling the __host__ function '(\w+)' from the (__\w+__)")
def _host_function(match: re.Match[str], record: Record) -> str:
    place = definition(record.text, match[1])
    if place:
        return f"'{match[1]}' is compiled for the CPU only: write __device__ in front of it, in line {place[0]}."
    return (
        f"'{match[1]}' exists on the CPU only: a kernel calls __device__ functions, and those of CUDA's math library."
    )


rules.table(r"""
calling the (?:__device__|__global__) function '(\w+)' from the __host__
    '\1' exists on the GPU only: write __host__ __device__ in front of it to have it on both sides.
""")


@rules.rule(r"a host function call cannot be configured")
def _not_a_kernel(match: re.Match[str], record: Record) -> str:
    name = re.search(r"(\w+)\s*(?:<[^<>]*>)?\s*<<<", record.row)
    place = definition(record.text, name[1]) if name else None
    where = f", in line {place[0]}" if place else ""
    what = f"'{name[1]}'" if name else "the function that is launched here"
    return f"Only a __global__ function can be launched: write __global__ in front of {what}{where}."


rules.table(r"""
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
        return f"Argument {number[1]} of {where} is {takes[index]}, and this is {gives[index]}."
    return f"Compare the arguments with those of {where}."


@rules.rule(r"expression must be a modifiable lvalue")
def _read_only(match: re.Match[str], record: Record) -> str:
    name = re.match(r"\w*", record.code[max(record.column - 1, 0) :])
    found = re.search(rf"\bconst\b[^,;(){{}}]*\b({name[0]})\b", mask(record.text)) if name and name[0] else None
    if found is None:
        return "What stands on the left is const, or no variable: look at its declaration."
    line = position(record.text, found.start(1))[0]
    return f"'{found[1]}' of line {line} is const: take that const away if it has to be written."


@rules.rule(r"too many arguments in function call")
def _configuration(match: re.Match[str], record: Record) -> str:
    code = record.code
    return _BETWEEN if code.find("<<<") < record.column - 1 <= code.find(">>>") else ""


rules.table(r"""
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
    near = nearest(name, _KEYWORDS)
    return f"Did you mean '{near}'?" if near else ""


rules.table(r"""
no operator '.*' matches these operands.*\b(?:uint3|dim3)\b
    threadIdx, blockIdx and blockDim hold three numbers: blockIdx.x * blockDim.x + threadIdx.x.
declaration is incompatible with previous
  in extern\s+__shared__\s+(\w+)\s+(\w+)\s*\[
    All kernels share one '\2', and it has one type: write extern __shared__ __align__(8) char bytes[]; and then
    \1* \2 = reinterpret_cast<\1*>(bytes).
initializer not allowed for __shared__
    A __shared__ array begins without values: let its threads set it, then call __syncthreads().
return value type does not match the function type
    This is not of the type that the function returns; a void function, as every kernel is, returns nothing.
""")


@rules.rule(r"expected an expression|must have (?:arithmetic|integral)|cannot determine which instance|expected '\('")
def _launch_brackets(match: re.Match[str], record: Record) -> str:
    """Suspect the brackets of a launch, where a kernel's name has two of them, or none behind."""
    code = record.code
    name = re.search(r"(\w+)\s*(?:<[^<>]*>)?\s*<<", code)
    if name is None or not re.search(rf"__global__[^;{{}}]*\b{name[1]}\b", mask(record.text)):
        return ""
    return f"A kernel is launched with three brackets on each side: {_LAUNCH}."


@rules.rule(r"no instance of overloaded function '(atomic\w+|cudaMalloc)'.*argument types are: \(([^,]*),")
def _address(match: re.Match[str], record: Record) -> str:
    first = re.search(rf"\b{match[1]}\s*\(\s*([^(),]+),", record.code)
    if first is None or match[2].count("*") > (match[1] == "cudaMalloc"):
        return ""
    return f"'{match[1]}' takes the address of what it changes: {match[1]}(&{first[1].strip()}, ...)."


rules.table(r"""
^expected '?;
  in ^\s+.*\b__(?:global|device)__\s.*\w\s*\([^;]*\)\s*\{
    A function cannot stand inside another: move the kernel out, to file scope.
argument of type '(.*?)' is incompatible with parameter of type '(.*?)'
    A value of type \1 stands where \2 is wanted: compare the arguments with the function's parameters.
""")


@rules.rule(r"'(\w+)' was not declared|undeclared identifier '(\w+)'")
def _no_launch_function(match: re.Match[str], record: Record) -> str:
    """Tell why the cpp text does not see a function of the CUDA text."""
    if not record.file.endswith("(cpp)"):
        return ""
    name, kernel = match[1] or match[2], record.file.removesuffix("(cpp)")
    near = nearest(name, re.findall(r"void (\w+)\(const at::Tensor&", record.sources.get(f"{kernel}(launchers)", "")))
    if near:
        return f"Did you mean '{near}'?"
    if not re.search(rf"(?<!\w){name}\s*\(", mask(record.sources.get(f"{kernel}(cuda)", ""))):
        return ""
    return f"'{name}' of the cuda text is no launch function: those end in a parameter of type cudaStream_t."
