"""What builds, tests, times and explains an export: the files themselves; `test_golden.py` builds what they describe."""

from __future__ import annotations

import ast
import dataclasses
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from lltm_inline.export import render as rendering
from lltm_inline.export.cpp import cpp_files
from lltm_inline.export.plan import Extra, Part, Plan
from lltm_inline.export.project import build_files, commands, sources_of
from lltm_inline.export.render import as_tuple, broken, commented, rows
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.model.shapes import Shape
from lltm_inline.run.cases.case import prime_size
from lltm_inline.run.cases.tried import size_cases
from lltm_inline.source.template import devices_of, render
from tests.needs import needs, program

#: Kernels of every kind: one device and the other, shapes of any rank, an optional input, numbers, through ATen, a class.
LABELS = [
    *("lltm/fused", "lltm/stable", "lltm/cuda", "lltm/cuda_extern", "lltm/class", "axpy/cpp", "conv_bn/fused"),
    *("linear/aten", "cube/aten", "complex_abs2/pointer", "mul_constant/aten", "trace/accessor"),
]
CASES = [
    (label, how)
    for label in LABELS
    for how in ("setuptools", "cmake", "load", "stable")
    if how != "stable" or label == "lltm/stable"
] + [
    *(("axpy_both", how) for how in ("setuptools", "cmake", "load")),
    *(("axpy_bound", how) for how in ("setuptools", "load")),
]
_TEXTS = {
    "axpy_both": Kernel("axpy/both", cpp=registry["axpy/cpp"].cpp, cuda=registry["axpy/cuda"].cuda, params={"A": 2}),
    "axpy_bound": registry["axpy/cpp"].replace(binding="pybind11"),
}


def plan_of(kernel: Kernel | str, how: str, **changes: object) -> Plan:
    """Make the plan of an export without running the kernel."""
    kernel = registry[kernel] if isinstance(kernel, str) else kernel
    op = registry.op_of(kernel)
    parts = tuple(
        Part(kernel, device, render(kernel, op, device).interface)
        for device in devices_of(kernel)
        if device != "cuda-cpu"
    )
    style = "stable" if kernel.api == "stable" else "pybind11" if kernel.binding == "pybind11" else "library"
    plan = Plan(
        op,
        parts,
        how,
        style,
        kernel.name.replace("/", "_"),
        extras=(Extra(Shape.parse("B 3S")),) * parts[0].interface.extras,
        sizes=tuple(op.named(size) for size in op.benchmark_sizes),
        test_sizes=tuple(op.named(case.size) for case in size_cases(op, None))[:10],
        check_size=op.named(prime_size(op)),
    )
    return dataclasses.replace(plan, **changes)  # type: ignore[arg-type]


@cache
def files(kernel: str, how: str) -> dict[str, str]:
    """Write the files of one export once."""
    plan = plan_of(_TEXTS.get(kernel, kernel), how)
    return build_files(plan, cpp_files(plan))


def written(kernel: str, how: str, to: Path) -> Path:
    """Write them to a directory."""
    for path, text in files(kernel, how).items():
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        (to / path).write_text(text)
    return to


def typed(plan: Plan, to: Path) -> dict[str, str]:
    """Return the command lines of an export by what they do."""
    return dict(commands(plan, to, cpp_files(plan), "python"))


def python(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run Python and return what it printed."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, env={**os.environ, **env}, check=False
    )


def test_fill() -> None:
    """A name without a value is an error, and no hole in a file."""
    with pytest.raises(UndefinedError, match="'formula' is undefined"):
        rendering.render("README.md", plan_of("lltm/fused", "load"))


def test_commented() -> None:
    """A header becomes comments; without one there is nothing."""
    assert commented("a\n\nb", "//") == "// a\n//\n// b\n\n"
    assert commented("", "#") == ""


def test_lists_of_python() -> None:
    """A list is in one line while that is short, and a tuple of one keeps its comma."""
    assert broken(f"x = {as_tuple(['1'])}") == "x = (1,)"
    items = [f'"{letter * 30}"' for letter in "abcd"]
    long = broken(f"    x = [{rows(items)}]")
    assert long.startswith('    x = [\n        "aaa') and long.endswith(",\n    ]")


@pytest.mark.parametrize(("label", "how"), CASES)
def test_files(label: str, how: str) -> None:
    """Every file is complete: Python that parses, no slot left, no line too long, no path of this machine."""
    found = files(label, how)
    name = plan_of(_TEXTS.get(label, label), how).name
    expected = {"README.md", "benchmark.py", "pyproject.toml", f"tests/test_{name}.py", f"{name}/_library.py"}
    expected |= {"setup.py"} if how in ("setuptools", "stable") else set()
    assert set(found) == expected | ({"CMakeLists.txt"} if how == "cmake" else set())
    for path, text in found.items():
        assert not re.search(r"{{|{%|[\1-\3]", text), path
        assert text.endswith("\n") and not text.endswith("\n\n"), path
        assert sys.executable not in text and str(Path(__file__).parents[2]) not in text, path
        if path.endswith(".py"):
            ast.parse(text)
            assert max(map(len, text.split("\n"))) <= 120, path


@needs("ruff")
@pytest.mark.parametrize("label", ["lltm/fused", "lltm/cuda_extern", "axpy_both", "axpy_bound", "lltm/class"])
def test_ruff(label: str, tmp_path: Path) -> None:
    """The Python files are as ruff wants them, the order of imports among them."""
    from lltm_inline.export.python import python_files

    hows = ("setuptools", "load") if label == "axpy_bound" else ("setuptools", "cmake", "load")
    for how in hows:
        directory = written(label, how, tmp_path / how)
        for path, text in python_files(plan_of(_TEXTS.get(label, label), how)).items():
            (directory / path).write_text(text)
        for verb in (["check"], ["format", "--check"]):
            done = subprocess.run(
                [program("ruff"), *verb, "."], cwd=directory, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout


def test_header() -> None:
    """The header stands on top of every file, as comments of its language."""
    plan = plan_of("lltm/fused", "cmake", header="Copyright (c) 2026 Somebody\nMIT")
    found = build_files(plan, cpp_files(plan))
    for path, text in found.items():
        start = "<!--\nCopyright (c)" if path == "README.md" else "# Copyright (c) 2026 Somebody\n# MIT\n\n"
        assert text.startswith(start), path


def test_this_python() -> None:
    """Commands name this interpreter, by its short name only where a shell finds it under that."""
    plan = plan_of("lltm/fused", "load")
    first = next(commands(plan, Path("x"), cpp_files(plan)))[1].partition(" -m ")[0]
    assert first == shlex.quote(sys.executable) or shutil.which(first) == sys.executable


def test_commands() -> None:
    """What is printed can be typed as it is, also where the directory's name has a space in it."""
    to = Path("/some where/lltm")
    lines = typed(plan_of("lltm/fused", "setuptools"), to)
    assert lines == {
        "install what the build and the tests need, beside torch": "python -m pip install 'setuptools>=71' ninja pytest",
        "build and install it": "python -m pip install --no-build-isolation -e '/some where/lltm'",
        "run its tests": "python -m pytest '/some where/lltm/tests'",
        "time it against PyTorch": "python '/some where/lltm/benchmark.py'",
    }
    lines = typed(plan_of("lltm/fused", "cmake"), to)
    assert lines["run the C++ program"] == "'/some where/lltm/build/lltm_fused_example'"
    assert shlex.split(lines["build the library and the C++ program"])[2] == "/some where/lltm/build"
    lines = typed(plan_of("lltm/stable", "stable"), to)
    assert lines["install it"].endswith("'/some where/lltm/dist'/*.whl")
    assert lines["run its tests"].startswith("python -P -m pytest ")


def test_commands_of_cuda() -> None:
    """A CUDA kernel can be compiled where nothing can run it; torch's headers are named where a text has them."""
    lines = [
        line for what, line in typed(plan_of("lltm/cuda_extern", "setuptools"), Path("x")).items() if "only" in what
    ]
    nvcc = [line for line in lines if line.startswith("nvcc")]
    assert len(nvcc) == 1 and "include_paths" not in nvcc[0]
    assert all("include_paths" in line for line in lines if line not in nvcc)
    assert len(lines) == len(sources_of(plan_of("lltm/cuda_extern", "setuptools"))["cuda"])
    assert not [what for what in typed(plan_of("lltm/fused", "load"), Path("x")) if "only" in what]


def test_readme() -> None:
    """The README has every command, names files that are there, and shows how to call the function."""
    from lltm_inline.export.project import files_of

    kernels = ("lltm/fused", "setuptools"), ("lltm/class", "cmake"), ("lltm/fused", "load"), ("lltm/stable", "stable")
    for kernel, how in (*kernels, ("lltm/cuda_extern", "cmake"), ("axpy_both", "load"), ("axpy_bound", "load")):
        plan = plan_of(_TEXTS.get(kernel, kernel), how)
        every = files_of(plan)
        text = every["README.md"]
        for line in typed(plan, Path(".")).values():
            assert f"\n{line}\n" in text
        table = re.findall(r"^\| `([\w./]+)` \|", text.partition("## What is where")[2], re.MULTILINE)
        assert set(table) <= set(every) and {path for path in every if path.startswith("csrc/")} <= set(table)
        example = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
        assert f"from {plan.name} import {plan.op.name}\n" in example and "make_inputs(torch.randn, " in example
        assert ("## The class `LLTMCell`" in text) == (kernel == "lltm/class")
        assert all(len(line) <= 130 or line.startswith(("cmake", "nvcc", "g++")) for line in text.split("\n"))


def test_sizes_without_reference() -> None:
    """The tests leave out sizes for which there is no result: filters without elements, say."""
    tree = ast.parse(files("conv_bn/fused", "load")["tests/test_conv_bn_fused.py"])
    (sizes,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "SIZES"
    ]
    assert sizes and all(size["K"] > 0 and size["L"] > 0 for size in sizes)


def flags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **env: str) -> list[str]:
    """Run `compiler_flags` of a setup.py, with these variables in the environment."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    text = files("lltm/fused", "setuptools")["setup.py"].partition("def extension")[0]
    (tmp_path / "flags.py").write_text(text)
    return list(runpy.run_path(str(tmp_path / "flags.py"))["compiler_flags"]())


@needs("x86-64")
def test_flags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The processor that is named decides how wide vectors are, whatever this machine is."""
    assert "-DCPU_CAPABILITY_AVX2" in flags(monkeypatch, tmp_path, LLTM_FUSED_MARCH="x86-64-v3")
    assert "-DCPU_CAPABILITY_AVX512" in flags(monkeypatch, tmp_path, LLTM_FUSED_MARCH="x86-64-v4")
    assert "-DCPU_CAPABILITY_DEFAULT" in flags(monkeypatch, tmp_path, LLTM_FUSED_MARCH="x86-64")


@needs("clang++")
def test_flags_of_clang(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """clang does without its OpenMP; g++ takes its own."""
    assert "-fopenmp" in flags(monkeypatch, tmp_path, CXX="g++")
    assert "-fopenmp-simd" in flags(monkeypatch, tmp_path, CXX="clang++")


def test_flags_say_what_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No compiler, and no processor of that name, are told in one sentence."""
    with pytest.raises(SystemExit, match=r"no C\+\+ compiler 'no-such-g\+\+': install one .* or name yours in CXX"):
        flags(monkeypatch, tmp_path, CXX="no-such-g++")
    with pytest.raises(SystemExit, match=r"LLTM_FUSED_MARCH=pentium-ix: .*pentium-ix"):
        flags(monkeypatch, tmp_path, CXX="g++", LLTM_FUSED_MARCH="pentium-ix")


def test_stable_setup() -> None:
    """The wheel is one for many: Python's stable ABI, and LibTorch's of the oldest torch that has what is used."""
    setup, project = (files("lltm/stable", "stable")[path] for path in ("setup.py", "pyproject.toml"))
    assert '"py_limited_api": True' in setup and 'options={"bdist_wheel": {"py_limited_api": "cp311"}}' in setup
    assert "-DTORCH_TARGET_VERSION=0x020a000000000000" in setup
    assert 'dependencies = ["torch>=2.10"]' in project and "install_requires" not in setup
    assert "install_requires" in files("lltm/fused", "setuptools")["setup.py"]


@pytest.mark.full
@needs("a torch without CUDA")
def test_setup_without_cuda(tmp_path: Path) -> None:
    """Where torch has no CUDA, a kernel for GPUs is refused; one for both is built without, and says so."""
    refused = python(written("lltm/cuda_extern", "setuptools", tmp_path / "a") / "setup.py", "--version")
    assert refused.returncode != 0 and "lltm_cuda_extern is made for GPUs, and " in refused.stderr
    text = files("axpy_both", "setuptools")["setup.py"]
    (tmp_path / "b.py").write_text(text.partition("\n\nsetup(")[0] + "\nprint(extension().sources)\n")
    told = python(tmp_path / "b.py")
    assert "axpy_both: built without its CUDA sources, as " in told.stderr
    assert "cpu_kernel.cpp" in told.stdout and ".cu" not in told.stdout


def test_options_of_cuda_are_explained() -> None:
    """The files say how GPUs are chosen and how device code is linked across files."""
    setup, lists = files("lltm/cuda", "setuptools")["setup.py"], files("lltm/cuda", "cmake")["CMakeLists.txt"]
    assert "TORCH_CUDA_ARCH_LIST" in setup and "-rdc=true" in setup and '"dlink": True' in setup
    assert "enable_language(CUDA)" in lists and "CUDA_SEPARABLE_COMPILATION" in lists
    both = files("axpy_both", "cmake")["CMakeLists.txt"]
    assert "option(AXPY_BOTH_CUDA " in both and both.index("if(AXPY_BOTH_CUDA)") < both.index("enable_language(CUDA)")
    assert "CUDA" not in files("lltm/fused", "cmake")["CMakeLists.txt"]


@needs("cmake", "g++")
def test_cmake_without_torch(tmp_path: Path) -> None:
    """CMake says how to name the torch that it does not find."""
    written("lltm/fused", "cmake", tmp_path)
    done = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "Torch is not found" in done.stderr
    assert "-DCMAKE_PREFIX_PATH=\"$(python -c 'import torch; print(torch.utils.cmake_prefix_path)')\"" in done.stderr


@pytest.mark.parametrize(
    ("how", "cure"),
    [
        ("setuptools", r"there is no _C\*\.so in .*: python -m pip install --no-build-isolation -e \."),
        ("cmake", r"there is no .*liblltm_fused\.so.*: cmake -S \. -B build -DCMAKE_PREFIX_PATH="),
    ],
)
def test_import_before_the_build(how: str, cure: str, tmp_path: Path) -> None:
    """Who imports the package before it is built is told the command that builds it."""
    library = written("lltm/fused", how, tmp_path) / "lltm_fused" / "_library.py"
    with pytest.raises(ImportError, match=cure):
        runpy.run_path(str(library))


def test_import_of_a_broken_library(tmp_path: Path) -> None:
    """A library that does not load is named, with this torch, and what to do."""
    package = written("lltm/fused", "cmake", tmp_path) / "lltm_fused"
    (package / f"liblltm_fused{'.dylib' if sys.platform == 'darwin' else '.so'}").write_bytes(b"no library")
    with pytest.raises(ImportError, match=r"liblltm_fused\.\w+ does not load with torch .*build it anew"):
        runpy.run_path(str(package / "_library.py"))


@pytest.mark.full
def test_benchmark(tmp_path: Path) -> None:
    """The script prints a line for each size and direction, and refuses to time what is wrong."""
    from lltm_inline.export.python import python_files

    directory = written("mul_constant/aten", "load", tmp_path)
    reference = python_files(plan_of("mul_constant/aten", "load"))["mul_constant_aten/reference.py"]
    package = directory / "mul_constant_aten"
    (package / "reference.py").write_text(re.sub(r"\d[\d_]{5,}", "100", reference))
    for factor, code in ((1, 0), (2, 1)):
        (package / "__init__.py").write_text(
            f"from .reference import reference\ndef mul_constant(*inputs): return {factor} * reference(*inputs)\n"
        )
        done = python(directory / "benchmark.py", "--seconds", "0.001")
        assert done.returncode == code, done.stderr
        if code:
            assert "mul_constant_aten is wrong at {" in done.stderr and "forward: off by up to" in done.stderr
        else:
            rows = [line for line in done.stdout.split("\n") if re.search(r"\b(for|back)ward\b", line)]
            assert len(rows) == 2 * len(registry.ops["mul_constant"].benchmark_sizes)
