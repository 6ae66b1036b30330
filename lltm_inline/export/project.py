"""All files of an export, those first that are neither C++ nor its package: what builds, tests, times and explains it."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from ..base.arguments import REAL_DTYPES
from ..base.device import DEVICES
from ..base.flags import STANDARD, once
from ..errors import DefinitionError, InputError
from ..model.op import Argument, Op
from ..run.cases.case import Case, dtypes_of, prime_size
from ..run.cases.drawing import make_inputs
from ..run.cases.expectation import expect
from .cpp import cpp_files, cpp_sources
from .exported import origin_file
from .plan import Plan
from .python import forward_arguments, module_arguments, numbers_of, parameters_of, python_files
from .reference import tolerances_of
from .render import as_dict, fill, render

#: The first torch on whose stable ABI the exports build, as pip writes it and as its headers want it.
OLDEST_TORCH, TARGET_VERSION = "2.10", "TORCH_TARGET_VERSION=0x020a000000000000"
#: The directory of CMake's package Torch, as an argument in double quotes.
PREFIX_PATH = "-DCMAKE_PREFIX_PATH=\"$({python} -c 'import torch; print(torch.utils.cmake_prefix_path)')\""

#: What a text holds that uses ATen's vectors: their width follows from the flags.
_VECTORS = re.compile(r"\bcpu/vec\b|\bat::vec\b|\bCPU_CAPABILITY\b")
# Without CUDA in torch a header of its configuration is missing; what stands there matters to who links.
_TORCH = (
    "$({python} -c 'from torch.utils.cpp_extension import include_paths as i; print(*(f\"-I{{d}}\" for d in i()))') "
    "-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE "
)
_CUDA = '-I"$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")/include" '
_NVCC = 'nvcc -c {flags} -arch=sm_75 {headers}{source} -odir "$(mktemp -d)"'
_HOST = f"g++ -fsyntax-only {STANDARD} {{headers}}{{source}}"
_OF_TORCH = re.compile(r"#\s*include\s*<(?:ATen|c10|torch)/")
_OF_CUDA = re.compile(r"#\s*include\s*<(?:(?:ATen|c10)/cuda/|cuda)")


def sources_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """List the files that are compiled, as paths below the export's directory.

    Returns:
        `"cpu"`: what makes a library without CUDA, empty when the kernel needs a GPU; `"cuda"`: what comes in addition with CUDA.
    """
    cpu, cuda = (cpp_sources(plan, device) if device in plan.devices else () for device in ("cpu", "cuda"))
    return {"cpu": cpu, "cuda": tuple(path for path in cuda if path not in cpu)}


def flags_of(plan: Plan, csrc: Mapping[str, str]) -> dict[str, Any]:
    """Find out what is particular about the flags of an export, of which `csrc` is the C++.

    The others are those of the playground (`compiling.toolchain.default_cflags`), except that the processor can be chosen when one
    builds, and the compiler is asked what that processor has: the library may be meant for another machine than this one.
    """
    own = {part.device: part.kernel.flags for part in plan.parts}
    defines = (f"-D{TARGET_VERSION}",) if plan.style == "stable" else ()
    return {
        # The environment variable, or option of CMake, that names the processor.
        "variable": f"{plan.name.upper()}_MARCH",
        "level": DEVICES["cpu"].level,
        # Torch's own build has asked for an older one before 2.13.
        "standard": STANDARD,
        "own": (*defines, *own.get("cpu", ())),
        "vectors": any(_VECTORS.search(text) for path, text in csrc.items() if path.startswith("csrc/")),
        "nvcc": once((DEVICES["cuda"].level, STANDARD, "-Xcompiler=-fvisibility=hidden"), own.get("cuda", ())),
    }


def files_of(plan: Plan) -> dict[str, str]:
    """Write all files of an export: text by path."""
    csrc = cpp_files(plan)
    files = csrc | build_files(plan, csrc) | python_files(plan) | origin_file(plan)
    return dict(sorted({**files, ".gitignore": fill("gitignore")}.items()))


def build_files(plan: Plan, csrc: Mapping[str, str]) -> dict[str, str]:
    """Write what builds an export with this C++, its README, its tests, its benchmark, and what loads the library."""
    build = {"sources": sources_of(plan), "flags": flags_of(plan, csrc), "oldest": OLDEST_TORCH}
    library = {"cmake": "_cmake", "load": "_load"}.get(plan.how, "_pybind11" if plan.style == "pybind11" else "")
    tests = "boxed" if plan.style == "boxed" else "package"
    files = {
        "README.md": render("README.md", plan, csrc=csrc, **build, **_words_of_readme(plan, csrc)),
        "benchmark.py": render("benchmark.py", plan, **_words_of_benchmark(plan)),
        "pyproject.toml": render("pyproject.toml", plan, **build),
        f"tests/test_{plan.name}.py": render(f"tests/test_{tests}.py", plan, **_words_of_tests(plan)),
        f"{plan.name}/_library.py": render(f"package/_library{library}.py", plan, **build),
    }
    if plan.how in ("setuptools", "stable"):
        files["setup.py"] = render("setup.py", plan, **build)
    if plan.how == "cmake":
        files["CMakeLists.txt"] = render(
            "CMakeLists.txt", plan, **build, prefix_path=PREFIX_PATH.format(python="python")
        )
    return files


def _words_of_readme(plan: Plan, csrc: Mapping[str, str]) -> dict[str, Any]:
    shapes = {}
    for argument in (*plan.op.signature.inputs, *plan.op.signature.outputs):
        shapes[argument.name] = _shape_words(plan.op, argument) if argument.name in plan.op.shapes else argument.type
        if argument.default is not None:
            shapes[argument.name] += f", default {argument.default}"
        elif argument.type == "Tensor?":
            shapes[argument.name] += ", or None"
    op, size = plan.op, _letters(plan.sizes[0] if plan.sizes else plan.check_size)
    plain = op.first.dtype or "float32" in op.dtypes or plan.style != "boxed"
    return {
        "formula": _formula(plan.kernel.doc) or _formula(plan.op.doc),
        "size": size,
        "randn": "torch.randn" if plain else f"lambda *shape: {_drawn(op, f'torch.{op.dtypes[0]}')}",
        "shapes": shapes,
        "commands": commands(plan, Path("."), csrc, "python"),
        "kernel_files": [f"`{path}`" for part in plan.parts for path in part.files.values()],
    }


def _formula(doc: str) -> str:
    """Return the first block of indented lines, as the kernel's author wrote it."""
    lines: list[str] = []
    for line in doc.strip().split("\n")[1:]:
        if line.startswith("    ") or (lines and not line.strip()):
            lines.append(line[4:].rstrip())
        elif lines:
            break
    return "\n".join(lines).strip("\n")


def _shape_words(op: Op, argument: Argument) -> str:
    name, shape = argument.name, str(op.shape_of[argument.name])
    if name in op.any_rank:
        first = "the same shape" if argument.is_list else "any shape"
        shape = first if name == op.any_rank[0] else f"the shape of `{op.any_rank[0]}`"
    if op.shape_of[name].untold:
        shape = "a shape that follows from the values"
    many, changed = "a list, each of " * (argument.is_list), ", changed in place" * bool(argument.alias)
    return f"{many}{shape}{f', {argument.dtype}' * bool(argument.dtype)}{changed}"


def _drawn(op: Op, dtype: str, more: str = "") -> str:
    """Write what draws a tensor of the dtypes of an op: normal numbers, or whole ones from around zero."""
    if getattr(torch, op.dtypes[0]).is_floating_point or getattr(torch, op.dtypes[0]).is_complex or op.first.dtype:
        return f"torch.randn(*shape, dtype={dtype}{more})" if more else f"torch.randn(*shape).to({dtype})"
    return f"(4 * torch.randn(*shape{more})).round(){'.abs()' * ('uint8' in op.dtypes)}.to({dtype})"


def _letters(size: Mapping[str, int]) -> str:
    return ", ".join(f"{letter}={number}" for letter, number in size.items())


def _words_of_benchmark(plan: Plan) -> dict[str, Any]:
    op, gradients = plan.op, [argument.name for argument in plan.op.gradients]
    return {
        "gradients": [name for name in op.parameters or gradients if name in gradients],
        "drawn": _drawn(op, "dtype", ", device=device, generator=generator"),
        "dtype": _dtype_of(op, "float32"),
        "width": max([len(_letters(size)) for size in plan.sizes], default=0) + 1,
    }


def _words_of_tests(plan: Plan) -> dict[str, Any]:
    op = plan.op
    larger = {letter: number + 1 for letter, number in plan.check_size.items()}
    signature = op.signature
    tensors = [argument for argument in signature.inputs if argument.is_tensor or argument.is_list]
    gpu = 'pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))'
    return {
        "imported": sorted([plan.module, *plan.public], key=lambda name: (name.islower(), name)),
        "tensors": [argument.name for argument in tensors],
        "optional": [argument.name for argument in signature.inputs if argument.type == "Tensor?"],
        "refused": [
            argument.name
            for argument in tensors
            if argument.name not in op.any_rank[:1] and not op.shape_of[argument.name].untold
        ],
        "larger": larger if op.allows(tuple(larger.values())) else plan.check_size,
        "sizes": [as_dict(size) for size in plan.test_sizes if _has_reference(op, size)],
        "devices": [gpu if device == "cuda" else f'"{device}"' for device in plan.devices],
        "double": _dtype_of(op, "float64"),
        "made": [
            *(str(plan.check_size[letter]) for letter in module_arguments(plan)),
            *(f'{number.name}=inputs["{number.name}"]' for number in numbers_of(plan)),
        ],
        "held": parameters_of(plan),
        "drawn": _drawn(op, "dtype", ", generator=generator"),
        "random": plan.style == "boxed" and expect(op, Case("", prime_size(op), dtypes_of(op)[0])).random,
        "foreign": "int16"
        if "int16" not in (*op.dtypes, *(argument.dtype for argument in signature.tensors))
        else "complex64",
        "compiles": not (op.untold or any(output.alias for output in signature.outputs)),
        # What could have a derivative, were there one.
        "leaves": [
            argument.name
            for argument in signature.tensors
            if not op.gradients and not signature.changed and (argument.dtype or op.dtypes[0]) in REAL_DTYPES
        ],
        "given": [f'inputs["{argument.name}"]' for argument in forward_arguments(plan)],
    }


def _dtype_of(op: Op, wanted: str) -> str:
    """Return a dtype in which an op's inputs may be drawn: the one that is wanted, if it can be."""
    return wanted if wanted in tolerances_of(op) else next(iter(tolerances_of(op)))


def _has_reference(op: Op, size: Mapping[str, int]) -> bool:
    """Tell whether the reference computes anything at this size: a convolution by filters without elements does not."""
    try:
        op.run_reference(*make_inputs(op, Case("", tuple(size.values()))))
    except (DefinitionError, InputError):
        return False
    return True


def commands(plan: Plan, to: Path, csrc: Mapping[str, str], python: str = "") -> Iterator[tuple[str, str]]:
    """List what to type, in order.

    Args:
        plan: of the export.
        to: its directory; `Path(".")` for commands to type there.
        csrc: the C++ files of the export.
        python: the interpreter, as a shell reads it; this one unless given.

    Yields:
        For each command what it does, and the line itself.
    """
    python = python or _this_python()

    def place(path: str = "") -> str:
        return shlex.quote(str(to / path))

    needs = "pytest" if plan.how == "cmake" else "'setuptools>=71' ninja pytest"
    yield "install what the build and the tests need, beside torch", f"{python} -m pip install {needs}"
    if plan.how == "setuptools":
        yield "build and install it", f"{python} -m pip install --no-build-isolation -e {place()}"
    elif plan.how == "stable":
        wheels = place("dist")
        yield "build the wheel", f"{python} -m pip wheel --no-build-isolation --no-deps -w {wheels} {place()}"
        yield "install it", f"{python} -m pip install --no-deps --force-reinstall {wheels}/*.whl"
    elif plan.how == "cmake":
        build, program = place("build"), place(f"build/{plan.name}_example")
        yield "configure", f"cmake -S {place()} -B {build} {PREFIX_PATH.format(python=python)}"
        yield "build the library and the C++ program", f"cmake --build {build} --parallel"
        yield "run the C++ program", program if "/" in program else f"./{program}"
    # -P: without it, Python finds the package's sources beside the script first, in which there is no library.
    option = " -P" if plan.how == "stable" else ""
    yield "run its tests", f"{python}{option} -m pytest {place('tests')}"
    yield "time it against PyTorch", f"{python}{option} {place('benchmark.py')}"
    if "cuda" not in plan.devices:
        return
    # Where there is no GPU, and maybe no CUDA in torch, nothing is linked or run.
    nvcc = " ".join(map(shlex.quote, flags_of(plan, csrc)["nvcc"]))
    of_torch = _TORCH.format(python=python)
    for source in sources_of(plan)["cuda"]:
        if source.endswith(".cu"):
            headers = f"--expt-relaxed-constexpr {of_torch}" if _OF_TORCH.search(csrc[source]) else ""
            line = _NVCC.format(flags=nvcc, headers=headers, source=place(source))
        else:
            line = _HOST.format(headers=of_torch + _CUDA * bool(_OF_CUDA.search(csrc[source])), source=place(source))
        yield f"compile only, for a machine without a GPU: {source}", line


def _this_python() -> str:
    """Name this interpreter as short as its user can."""
    found = shutil.which("python")
    return (
        "python" if found and Path(found).absolute() == Path(sys.executable).absolute() else shlex.quote(sys.executable)
    )
