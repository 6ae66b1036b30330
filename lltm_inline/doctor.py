"""What this machine can do, and the one command that mends each gap."""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from .base.above import Shown, aligned
from .base.arguments import plural, shown
from .base.packages import OF_LABS, OF_WORKERS, environment_command, install_command, missing_of, pip_command
from .base.processors import processors
from .compiling import cache
from .compiling.nvcc import find_cuda, find_nvcc, has_driver
from .compiling.toolchain import Toolchain, find_toolchain
from .errors import CacheError, ToolchainError, UnknownPartError

TORCH_WANTED = (2, 10)
PYTHON_WANTED = (3, 11)
#: The oldest compilers that take the C++20 of torch's headers.
COMPILERS_WANTED = {"gcc": 11, "clang": 14}
FREE_WANTED = 2e9

_NO_TORCH = "cannot be imported"
_NEW_CACHE = "export LLTM_INLINE_CACHE=~/lltm_inline-cache"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        what: its name, `"C++ compiler"`.
        state: `"ok"`, `"missing"` (nothing can be built until it is mended), or `"optional"` (something is slower,
            or cannot be tried).
        detail: what was found, or what the gap means.
        cure: the one command that mends it; empty when nothing needs mending, or no command can.
    """

    what: str
    state: Literal["ok", "missing", "optional"]
    detail: str
    cure: str = ""


@dataclass(frozen=True)
class Diagnosis(Shown):
    """What `doctor` found. It shows itself as a table."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether kernels can be built and run here; optional gaps do not count."""
        return not any(finding.state == "missing" for finding in self.findings)

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        missing = [finding.what for finding in self.findings if finding.state == "missing"]
        if missing:
            return f"Not ready, missing: {', '.join(missing)}."
        return "Ready: kernels can be built, checked and timed here."

    def __getitem__(self, what: str) -> Finding:
        if found := [one for one in self.findings if isinstance(what, str) and one.what == what]:
            return found[0]
        known = ", ".join(finding.what for finding in self.findings)
        raise UnknownPartError(f"doctor looked at no {shown(what)}; it looked at {known}")

    def __str__(self) -> str:
        rows = []
        for one in self.findings:
            rows.append((f"  {one.state.upper() if one.state == 'missing' else one.state:<8}", one.what, one.detail))
            rows += [("", "", f"-> {one.cure}")] * bool(one.cure)
        return "\n".join([self.headline, *aligned(rows)])

    __repr__ = __str__


def doctor() -> Diagnosis:
    """Look at what this machine can build and run; takes well under two seconds.

    Returns:
        One finding each for Python, its headers, torch, the C++ compiler, OpenMP, clang++, ninja, the cache directory,
        the free disk space, vector instructions, device cuda-cpu, nvcc, the GPU and what labs need; if torch cannot be imported, only
        for Python and torch, as this is hardly the environment to build in. Every gap has the one command that fixes it.

    Example:
        >>> doctor()["Python"].state
        'ok'
    """
    torch = _torch()
    if torch.state == "missing" and torch.detail.startswith(_NO_TORCH):
        return Diagnosis((_python(), torch))
    try:
        toolchain: Toolchain | None = find_toolchain()
        trouble = ""
    except ToolchainError as error:
        toolchain, trouble = None, str(error)
    building = (_compiler(toolchain, trouble), _openmp(toolchain), _clang(), _ninja(), _cache(), _disk())
    running = (_vectors(), _cuda_cpu(toolchain), _nvcc(), _gpu(), packages_of_labs())
    return Diagnosis((_python(), _headers(), torch, *building, *running))


PACKAGES = "packages of labs"


def packages_of_labs(without: Literal["missing", "optional"] = "optional") -> Finding:
    """Say whether what labs need is installed; `without` is the state where they cannot grade."""
    needed, several = missing_of(OF_LABS), missing_of(OF_WORKERS)
    command = pip_command("lltm-inline[lab]")
    if needed:
        return Finding(PACKAGES, without, f"no {', '.join([*needed, *several])}: labs cannot grade", command)
    if several:
        return Finding(PACKAGES, "optional", f"no {', '.join(several)}: labs grade with one worker", command)
    return Finding(PACKAGES, "ok", ", ".join((*OF_LABS, *OF_WORKERS)))


def _python() -> Finding:
    detail = f"{platform.python_version()} ({sys.executable}) on {platform.system()} {platform.machine()}"
    if sys.version_info < PYTHON_WANTED:
        wanted = ".".join(map(str, PYTHON_WANTED))
        return Finding("Python", "missing", f"{detail}, want {wanted} or newer", "conda env create -f environment.yml")
    return Finding("Python", "ok", detail)


def _headers() -> Finding:
    folder = sysconfig.get_path("include")
    if Path(folder, "Python.h").is_file():
        return Finding("Python headers", "ok", folder)
    return Finding("Python headers", "missing", f"no Python.h in {folder}", install_command("python headers"))


def _torch() -> Finding:
    wanted = ".".join(map(str, TORCH_WANTED))
    try:
        import torch
    except ImportError as error:
        detail = f"{_NO_TORCH}: {error}. The rest is looked at when torch is there"
        return Finding("torch", "missing", detail, environment_command())
    cuda = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    detail = f"{torch.__version__} ({cuda}, {torch.get_num_threads()} threads)"
    numbers = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if numbers and (int(numbers[1]), int(numbers[2])) < TORCH_WANTED:
        cure = f"{pip_command(f'torch>={wanted}')} --upgrade"
        return Finding("torch", "missing", f"{detail}, want {wanted} or newer", cure)
    if torch.get_num_threads() > (most := processors()):
        detail = f"{detail} on {plural(most, 'processor')}: they wait for each other"
        return Finding("torch", "optional", detail, f"export OMP_NUM_THREADS={most}")
    return Finding("torch", "ok", detail)


def _compiler(toolchain: Toolchain | None, trouble: str) -> Finding:
    if toolchain is None:
        if cxx := os.environ.get("CXX"):
            detail = f"the environment variable CXX={cxx!r} names no compiler"
            return Finding("C++ compiler", "missing", detail, "unset CXX")
        return Finding("C++ compiler", "missing", _without_advice(trouble), install_command("compiler"))
    detail = f"{toolchain.version} ({toolchain.compiler})"
    number = re.search(r"(\d+)\.", toolchain.version)
    wanted = COMPILERS_WANTED[toolchain.kind]
    if number and int(number[1]) < wanted:
        what = "clang" if toolchain.kind == "clang" else "compiler"
        return Finding("C++ compiler", "missing", f"{detail}, want {wanted} or newer for C++20", install_command(what))
    return Finding("C++ compiler", "ok", detail)


def _without_advice(message: str) -> str:
    """Cut the cure off an error's message: it stands in the finding's own column."""
    return re.split(r"\. (?:Install|Set|Close|See|Write|To run|To compile-check) ", message)[0]


def _openmp(toolchain: Toolchain | None) -> Finding:
    if toolchain is None:
        return Finding("OpenMP", "optional", "not tried: there is no compiler")
    # find_toolchain tries a program with -fopenmp, and takes the flag only where that worked.
    if "-fopenmp" in toolchain.cflags:
        return Finding("OpenMP", "ok", f"{toolchain.version} -fopenmp")
    if toolchain.kind == "clang":
        return Finding("OpenMP", "ok", "not used with clang: at::parallel_for runs on torch's own threads")
    detail = f"{toolchain.version} cannot compile with -fopenmp: kernels run on one thread"
    return Finding("OpenMP", "optional", detail, install_command("openmp of gcc"))


def _clang() -> Finding:
    try:
        toolchain = find_toolchain("clang++")
    except ToolchainError:
        detail = 'not there: it builds kernels about twice as fast as g++ (compiler="clang++")'
        return Finding("clang++", "optional", detail, install_command("clang"))
    return Finding("clang++", "ok", f"{toolchain.version} ({toolchain.compiler})")


def _ninja() -> Finding:
    on_path = shutil.which("ninja")
    beside, module = os.access(Path(sys.executable).parent / "ninja", os.X_OK), find_spec("ninja")
    places = {f"on PATH ({on_path})": on_path, "beside the interpreter": beside, "as a Python module": module}
    if found := [place for place, is_there in places.items() if is_there]:
        return Finding("ninja", "ok", ", ".join(found))
    detail = f"not on PATH, not beside {sys.executable}, not a Python module"
    return Finding("ninja", "missing", detail, pip_command("ninja"))


def _cache() -> Finding:
    try:
        path = cache.cache_dir()
        with tempfile.TemporaryFile(dir=path / "tmp"):
            pass
    except CacheError as error:
        _, chmod, place = str(error).partition("chmod 700 ")
        cure = f"{chmod}{place}" if chmod else _NEW_CACHE
        return Finding("cache directory", "missing", _without_advice(str(error)), cure)
    except OSError as error:
        return Finding("cache directory", "missing", f"cannot write to {error.filename}: {error.strerror}", _NEW_CACHE)
    mode = stat.S_IMODE(path.stat().st_mode)
    return Finding("cache directory", "ok", f"{path} (yours, writable, mode {mode:o})")


def _disk() -> Finding:
    try:
        free, headers = cache.free_bytes(), cache.entries(["headers"])
        made = any(cache.cache_dir().glob("tmp/*/prelude.h"))
    except (CacheError, OSError):
        return Finding("free disk", "optional", "not measured: there is no cache directory")
    # A precompiled header of g++ alone takes 0.4 GB for each set of flags.
    if free < FREE_WANTED:
        detail = f"{free / 1e9:.1f} GB beside the cache, want {FREE_WANTED / 1e9:.0f} GB"
        return Finding("free disk", "missing", detail, "python -m lltm_inline cache clear")
    taken = f"{plural(len(headers), 'precompiled header')}, {sum(header.bytes for header in headers) / 1e9:.1f} GB"
    return Finding("free disk", "ok", f"{free / 1e9:.0f} GB; {taken}{', and one more is being made' * made}")


def _vectors() -> Finding:
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    if capability == "DEFAULT":
        detail = "neither AVX2 nor AVX512: kernels run, but the vectorised ones gain little"
        return Finding("vector instructions", "optional", detail)
    return Finding("vector instructions", "ok", capability)


def _cuda_cpu(toolchain: Toolchain | None) -> Finding:
    if toolchain is None:
        return Finding("cuda-cpu", "optional", "CUDA texts would run on the CPU: it needs the C++ compiler")
    detail = f"CUDA texts run, are checked and counted on the CPU by {toolchain.version}: device cuda-cpu"
    return Finding("cuda-cpu", "ok", detail)


def _nvcc() -> Finding:
    try:
        nvcc = find_nvcc()
    except ToolchainError as error:
        what = _without_advice(str(error))
        detail = "not there" if what.startswith("no nvcc") else what
        detail += ": CUDA texts run and are checked on cuda-cpu alone"
        return Finding("nvcc", "optional", detail, install_command("nvcc"))
    found = f"{nvcc.version} ({nvcc.path})"
    try:
        find_cuda(compile_only=False)
    except ToolchainError as error:
        try:
            find_cuda(compile_only=True)
        except ToolchainError as mistake:  # an architecture that is none
            found += f": {_without_advice(str(mistake))}"
            return Finding("nvcc", "optional", found, "unset TORCH_CUDA_ARCH_LIST")
        why = _without_advice(str(error)).partition(": it cannot run")[0].partition(": nvidia-smi")[0]
        found += f": CUDA texts are compile-checked for a GPU, and run on cuda-cpu alone: {why}"
        return Finding("nvcc", "ok", found)
    return Finding("nvcc", "ok", f"{found}: CUDA texts are built and run")


def _gpu() -> Finding:
    import torch

    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        return Finding("GPU", "ok", f"{torch.cuda.get_device_name()} (sm_{major}{minor})")
    if has_driver() and not torch.version.cuda:
        detail = "there may be one (nvidia-smi is there), but this torch is a CPU build"
        return Finding("GPU", "optional", detail, pip_command("torch") + " --force-reinstall")
    return Finding("GPU", "optional", "none that torch can use: everything runs on the CPU")
