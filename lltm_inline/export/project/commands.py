"""What one types to build, test and time an export, and to run its C++ program."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ..plan import Plan
from .flags import nvcc_flags
from .sources import sources_of

#: The directory of CMake's package Torch, as an argument in double quotes.
PREFIX_PATH = "-DCMAKE_PREFIX_PATH=\"$({python} -c 'import torch; print(torch.utils.cmake_prefix_path)')\""

#: What a build without isolation, and the tests, must find installed.
NEEDS = {
    "setuptools": ("setuptools>=77", "ninja", "pytest"),
    "stable": ("setuptools>=77", "ninja", "pytest"),
    "cmake": ("pytest",),
    "load": ("setuptools>=77", "ninja", "pytest"),
}

# Without CUDA in torch a header of its configuration is missing; what stands there matters to who links.
_TORCH = (
    "$({python} -c 'from torch.utils.cpp_extension import include_paths as i; print(*(f\"-I{{d}}\" for d in i()))') "
    "-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE "
)
_CUDA = '-I"$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")/include" '
_NVCC = 'nvcc -c -std=c++20 {flags} -arch=sm_75 {headers}{source} -odir "$(mktemp -d)"'
_HOST = "g++ -fsyntax-only -std=c++20 {headers}{source}"
_OF_TORCH = re.compile(r"#\s*include\s*<(?:ATen|c10|torch)/")
_OF_CUDA = re.compile(r"#\s*include\s*<(?:(?:ATen|c10)/cuda/|cuda)")


@dataclass(frozen=True)
class _Place:
    """Where the export is, and which Python runs it; both as a shell reads them."""

    directory: Path
    python: str

    def __call__(self, path: str = "") -> str:
        """Return a path in the export."""
        return shlex.quote(str(self.directory / path))


def commands(plan: Plan, to: Path, python: str = "") -> tuple[tuple[str, str], ...]:
    """List what to type, in order.

    Args:
        plan: of the export.
        to: its directory; `Path(".")` for commands to type there.
        python: the interpreter, as a shell reads it; this one unless given.

    Returns:
        For each command what it does, and the line itself.
    """
    place = _Place(to, python or _this_python())
    lists = {"setuptools": _setuptools, "stable": _stable, "cmake": _cmake, "load": _load}
    needs = f"{place.python} -m pip install {' '.join(shlex.quote(one) for one in NEEDS[plan.how])}"
    first = ("install what the build and the tests need, beside torch", needs)
    return (first, *lists[plan.how](plan, place), *_compile_only(plan, place))


def _this_python() -> str:
    """Name this interpreter as short as its user can."""
    found = shutil.which("python")
    return (
        "python" if found and Path(found).absolute() == Path(sys.executable).absolute() else shlex.quote(sys.executable)
    )


def _setuptools(plan: Plan, place: _Place) -> tuple[tuple[str, str], ...]:
    return (
        ("build and install it", f"{place.python} -m pip install --no-build-isolation -e {place()}"),
        *_try(place),
    )


def _stable(plan: Plan, place: _Place) -> tuple[tuple[str, str], ...]:
    wheels = place("dist")
    # -P: without it, Python finds the package's sources beside the script first, in which there is no library.
    return (
        ("build the wheel", f"{place.python} -m pip wheel --no-build-isolation --no-deps -w {wheels} {place()}"),
        ("install it", f"{place.python} -m pip install --no-deps --force-reinstall {wheels}/*.whl"),
        *_try(place, " -P"),
    )


def _cmake(plan: Plan, place: _Place) -> tuple[tuple[str, str], ...]:
    build, prefix = place("build"), PREFIX_PATH.format(python=place.python)
    program = place(f"build/{plan.name}_example")
    return (
        ("configure", f"cmake -S {place()} -B {build} {prefix}"),
        ("build the library and the C++ program", f"cmake --build {build} --parallel"),
        ("run the C++ program", program if "/" in program else f"./{program}"),
        *_try(place),
    )


def _load(plan: Plan, place: _Place) -> tuple[tuple[str, str], ...]:
    return _try(place)


def _try(place: _Place, option: str = "") -> tuple[tuple[str, str], ...]:
    return (
        ("run its tests", f"{place.python}{option} -m pytest {place('tests')}"),
        ("time it against PyTorch", f"{place.python}{option} {place('benchmark.py')}"),
    )


def _compile_only(plan: Plan, place: _Place) -> tuple[tuple[str, str], ...]:
    """Compile what needs CUDA where there is no GPU, and maybe no CUDA in torch: nothing is linked or run."""
    if "cuda" not in plan.devices:
        return ()
    from ..cpp import cpp_files

    csrc = cpp_files(plan)
    lines = []
    for source in sources_of(plan).cuda:
        text = csrc[source]
        if source.endswith(".cu"):
            flags = " ".join(map(shlex.quote, nvcc_flags(plan)))
            headers = f"--expt-relaxed-constexpr {_TORCH.format(python=place.python)}" if _OF_TORCH.search(text) else ""
            line = _NVCC.format(flags=flags, headers=headers, source=place(source))
        else:
            headers = _TORCH.format(python=place.python) + (_CUDA if _OF_CUDA.search(text) else "")
            line = _HOST.format(headers=headers, source=place(source))
        lines.append((f"compile only, for a machine without a GPU: {source}", line))
    return tuple(lines)
