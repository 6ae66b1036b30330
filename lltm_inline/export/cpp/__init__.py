"""The C++ of an export: the kernels' own texts as files, and the operators around them."""

from __future__ import annotations

import re

from ... import ops
from ...custom_classes import NAMESPACE
from ...errors import DefinitionError
from ...kernel import Kernel
from ...launchers import find_launchers
from ...signature import Function, find_function, mask, split
from ...template import PARALLEL, fill, is_torch_free, place_of_params, prototype
from ..filling import fill as put
from ..plan import Part, Plan
from .autograd import autograd_ops
from .checks import checks_header
from .cuda import declarations_header, instances_text, launch_header
from .device import device_ops
from .example import example_program
from .kernel_file import DECLARED, KernelFile, write_kernel_file
from .plain import composite_ops, pybind11_ops, stable_ops
from .text import head, listed, tensor_type

_CSRC = "csrc"


def cpp_files(plan: Plan) -> dict[str, str]:
    """Write `csrc/`: kernels, operators and headers.

    Returns:
        Text by path.

    Raises:
        DefinitionError: a text cannot stand in a file of its own, or in a namespace.
    """
    files = {f"{plan.name}.h": _header(plan)}
    for part in plan.parts:
        files |= _kernel_files(plan, part)
    if any('#include "parallel.h"' in text for text in files.values()):
        files["parallel.h"] = f"{head(plan)}#pragma once\n\n{_PARALLEL_WHY}{PARALLEL}"
    files["checks.h"] = checks_header(plan)
    for part in plan.parts:
        if _has_device_ops(plan):
            files[f"{part.device}_ops.cpp"] = device_ops(plan, part)
    files["ops.cpp"] = _ops(plan)
    every = {f"{_CSRC}/{name}": text for name, text in files.items()}
    return {**every, "example/main.cpp": example_program(plan)} if plan.how == "cmake" else every


def cpp_sources(plan: Plan, device: str) -> tuple[str, ...]:
    """List what is compiled for a device, `"cpu"` or `"cuda"`: the operators' own `ops.cpp` for each."""
    names = ["ops.cpp"]
    for part in plan.parts:
        if part.device == device:
            names += [path.rpartition("/")[2] for path in files_of_part(plan, part).values()]
            names += [f"{device}_ops.cpp"] if _has_device_ops(plan) else []
    return tuple(f"{_CSRC}/{name}" for name in sorted(names))


def _has_device_ops(plan: Plan) -> bool:
    """Tell whether operators are registered for each device."""
    return plan.interface.has_backward and plan.style != "pybind11"


def _ops(plan: Plan) -> str:
    """Write `ops.cpp`."""
    through_aten = not plan.interface.has_backward or plan.kernel.double_backward
    if len(plan.parts) > 1 and through_aten:
        raise DefinitionError(
            f"kernel {plan.kernel.label!r} is differentiated through ATen, as one function for all devices, and has texts for "
            "two: give device='cpu' or 'cuda'"
        )
    if plan.style == "pybind11":
        return pybind11_ops(plan)
    if plan.style == "stable":
        return stable_ops(plan)
    return autograd_ops(plan) if plan.interface.has_backward else composite_ops(plan)


def files_of_part(plan: Plan, part: Part) -> dict[str, str]:
    """Name the files that hold a kernel's texts, by kind of text."""
    if part.device == "cpu":
        return {"cpp": f"{_CSRC}/cpu_kernel.cpp"}
    host = {"cpp": f"{_CSRC}/cuda_host.cpp"} if is_torch_free(part.kernel) else {}
    return {**host, "cuda": f"{_CSRC}/cuda_kernel.cu"}


_PARALLEL_WHY = """\
// at::parallel_for is serial without OpenMP, and clang's OpenMP would bring a second pool of threads, which fight with
// torch's for the cores. Let it run on torch's own threads. To be included ahead of all headers of ATen.
"""

_HEADER = """\
@head@

#pragma once

#include <@tensor@>

@includes@

@declarations@
"""


def _header(plan: Plan) -> str:
    """Write the header of the package: what the kernels define and the operators call."""
    declarations = []
    for part in plan.parts:
        kind = "cpp" if "cpp" in files_of_part(plan, part) else "cuda"
        masked = mask(fill(part.kernel, kind))
        space = f"{plan.name}::{part.device}"
        lines = [f"namespace {space} {{", ""]
        if plan.style == "stable":
            lines += ["using torch::stable::Tensor;", ""]
        for name in ("forward", "backward"):
            if function := find_function(masked, name):
                _require_linkage(part.kernel, kind, masked, function.offset)
                lines += [_declaration(function, name, plan.kernel.api), ""]
        declarations.append("\n".join([*lines, f"}}  // namespace {space}"]))
    text = "\n\n".join(declarations)
    includes = [f"#include <{name}>" for name in ("array", "optional", "tuple") if f"std::{name}<" in text]
    tensor = "torch/csrc/stable/tensor.h" if plan.style == "stable" else "ATen/core/Tensor.h"
    return put(_HEADER, head=head(plan).rstrip("\n"), tensor=tensor, includes="\n".join(includes), declarations=text)


def _require_linkage(kernel: Kernel, kind: str, masked: str, offset: int) -> None:
    """Refuse a function that only its own file sees.

    Raises:
        DefinitionError: it is static or inline.
    """
    start = max(masked.rfind(letter, 0, offset) for letter in ";{}") + 1
    word = re.search(r"\b(?:static|inline)\b", masked[start:offset])
    if word:
        line = masked.count("\n", 0, start + word.start()) + 1
        raise DefinitionError(
            f"kernel {kernel.label!r} ({kind}), line {line}: this function is {word[0]}, and another file of the export "
            f"calls it: delete the word '{word[0]}'"
        )


def _declaration(function: Function, name: str, api: str) -> str:
    """Declare a function with the names that its text gives the parameters."""
    spelled = prototype(function, name).replace("torch::stable::", "").replace("at::Tensor", tensor_type(api))
    returns, _, types = spelled.removesuffix(");").partition(f" {name}(")
    named = [f"{type_.strip()} {own}".strip() for type_, own in zip(split(types), function.names, strict=True)]
    return listed(f"{returns} {name}(", named, ");")


def _kernel_files(plan: Plan, part: Part) -> dict[str, str]:
    """Write the files with a kernel's texts, and those between a CUDA text without torch and its C++ text."""
    kernel = part.kernel
    launchers = find_launchers(kernel, plan.op, fill(kernel, "cuda")) if is_torch_free(kernel) else ()
    files = {}
    for kind, path in files_of_part(plan, part).items():
        text = fill(kernel, kind)
        needed = _needed(text, part, kind)
        include, behind, doc, params = f"{plan.name}.h", "", _doc(kernel), dict(kernel.params)
        if launchers and kind == "cpp":
            params = {name: value for name, value in params.items() if re.search(rf"\b{name}\b", text)}
            needed, doc = (
                ['"launch.h"', *needed],
                f"What {kernel.name} does with tensors: its kernels are in cuda_kernel.cu.",
            )
        elif launchers:
            include, behind = DECLARED, instances_text(plan, launchers)
        more = _macro(plan, text) + "".join(f"#include {header}\n" for header in needed)
        file = KernelFile(text, params, f"{plan.name}::{part.device}", include, head(plan, doc) + more, behind)
        files[path.rpartition("/")[2]] = write_kernel_file(file, f"kernel {kernel.label!r} ({kind})")
    if launchers:
        files[DECLARED] = declarations_header(plan, launchers)
        files["launch.h"] = launch_header(plan, launchers)
    return files


def _doc(kernel: Kernel) -> str:
    """Return a kernel's doc for its file. One that ships goes on behind its formula about other kernels, and ends there."""
    if kernel.doc not in {shipped.doc for room in ops.ROOMS for shipped in room.KERNELS}:
        return kernel.doc
    formula = re.match(r".*?\n\n {4}.*?\n\n(?=\S)(?:[a-z].*?\n\n)?", kernel.doc, re.DOTALL)
    return formula[0] if formula else kernel.doc


def _macro(plan: Plan, text: str) -> str:
    """Define the playground's name of a build's namespace, for texts that register something themselves."""
    if not re.search(rf"\b{NAMESPACE}\b", text):
        return ""
    return (
        "// The name under which the kernel registers what else it has; setuptools would have that of the Python module.\n"
        f"#undef {NAMESPACE}\n#define {NAMESPACE} {plan.name}\n\n"
    )


#: What the playground puts ahead of every text, by the words that need it.
_PRELUDE = {
    "ATen/AccumulateType.h": r"\bacc_type\b",
    "ATen/Dispatch.h": r"\bAT_DISPATCH_",
    "ATen/NumericUtils.h": r"\b_is(?:nan|inf)\b",
    "ATen/Parallel.h": r"\bparallel_(?:for|reduce)\b|\bat::(?:get|set)_num_threads\b|\bin_parallel_region\b|\bdivup\b",
    "ATen/cpu/vec/vec.h": r"\bvec::|\bVectorized\b",
    "torch/csrc/inductor/aoti_torch/c/shim.h": r"\baoti_torch_|\btorch_(?:parallel_for|get_num_threads)\b",
}
#: And ahead of one on the stable ABI.
_STABLE_PRELUDE = {
    "torch/csrc/inductor/aoti_torch/c/shim.h": r"\baoti_torch_|\btorch_(?:parallel_for|get_num_threads)\b",
    "torch/csrc/stable/ops.h": r"\bstable::(?!Tensor\b)\w+",
    "cmath": r"\bstd::(?:a?(?:sin|cos|tan)h?|exp|expm1|log|log1p|sqrt|pow|fabs|fma|erf|round|floor|ceil)\b",
    "string": r"\bstd::(?:to_)?string\b",
}


def _needed(text: str, part: Part, kind: str) -> list[str]:
    """List the headers that a text relies on and does not include itself."""
    if kind == "cuda":
        return []
    prelude = _STABLE_PRELUDE if part.kernel.api == "stable" else _PRELUDE
    # What is included behind the params has to come ahead of them, too: headers may use the same names.
    place = place_of_params(part.kernel.params, text) if part.kernel.params else text.count("\n") + 1
    ahead = "\n".join(text.split("\n")[:place])
    included = set(re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)", ahead, re.MULTILINE))
    code = mask(text)
    parallel = part.kernel.api == "aten" and re.search(_PRELUDE["ATen/Parallel.h"], code)
    found = ['"parallel.h"'] if parallel else []
    if part.kernel.binding == "pybind11":
        return found + ["<torch/extension.h>"] * ("torch/extension.h" not in included)
    if included & {"torch/csrc/stable/c/shim.h", "torch/csrc/stable/ops.h"}:
        included.add("torch/csrc/inductor/aoti_torch/c/shim.h")
    if included & {"ATen/ATen.h", "torch/extension.h", "torch/torch.h", "torch/all.h", "torch/types.h"}:
        included.add("ATen/Dispatch.h")
    found += [f"<{header}>" for header, words in prelude.items() if header not in included and re.search(words, code)]
    return found
