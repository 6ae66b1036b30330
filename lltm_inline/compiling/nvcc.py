"""nvcc: where it is, for which GPUs it compiles, and what is missing, said before torch is asked.

`load_inline` reports a torch without CUDA as "CUDA_HOME not set" even where it is set, and a machine without a GPU as
`IndexError: list index out of range`. So every gap is looked for here first, and named with its cure.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ..base.device import DEVICES
from ..base.files import UTF8
from ..base.flags import STANDARD, once
from ..base.packages import install_command, pip_command
from ..errors import ToolchainError
from . import environment

#: What a text is compiled for where no GPU says otherwise: the oldest one that CUDA 13 knows.
OLDEST = "sm_75"

_DEFAULT_HOME = "/usr/local/cuda"
_WITHOUT_GPU = (
    "To run the kernel on the CPU: device='cuda-cpu'. "
    "To compile-check it without running it: li.build(kernel, device='cuda', compile_only=True)"
)

# 940: a function that returns nothing at its end; undefined behaviour is an error in CUDA texts as it is in C++ ones.
_FLAGS = (DEVICES["cuda"].level, STANDARD, "-Xcompiler=-fvisibility=hidden", "--diag-error=940")

#: Headers that a torch without CUDA, or a CUDA without its libraries, lacks. A text needs only the names in them.
#: They come after all other directories (`-idirafter`), so where the real header is, it is the one that is read.
STAND_INS = {
    "c10/cuda/impl/cuda_cmake_macros.h": "#define C10_CUDA_BUILD_SHARED_LIBS\n",
    "cublas_v2.h": "typedef struct cublasContext* cublasHandle_t;\ntypedef int cublasStatus_t;\n",
    "cublasLt.h": "typedef struct cublasLtContext* cublasLtHandle_t;\n",
    "cusolver_common.h": "typedef int cusolverStatus_t;\n",
    "cusolverDn.h": "typedef struct cusolverDnContext* cusolverDnHandle_t;\n",
    "cusparse.h": "typedef struct cusparseContext* cusparseHandle_t;\n",
}


@dataclass(frozen=True)
class Nvcc:
    """The CUDA compiler and its flags.

    Attributes:
        path: absolute.
        home: the CUDA installation that it belongs to.
        version: `"13.0"`.
        identity: everything that tells this nvcc from another.
        flags: of compilation, the architectures among them.
    """

    path: str
    home: str
    version: str
    identity: str
    flags: tuple[str, ...] = ()

    def with_flags(self, flags: tuple[str, ...]) -> Nvcc:
        """Add flags, as `flags.once` does."""
        return replace(self, flags=once(self.flags, flags))


def find_nvcc() -> Nvcc:
    """Find nvcc: in CUDA_HOME or CUDA_PATH, on PATH, or in /usr/local/cuda.

    Raises:
        ToolchainError: there is none, or it does not run.
    """
    home = environment.users("CUDA_HOME") or environment.users("CUDA_PATH")
    places = [os.path.join(home or _DEFAULT_HOME, "bin"), environment.users("PATH") or ""]
    # As torch does it: the default directory comes last, and only where nothing else is said.
    for place in places if home else reversed(places):
        if place and (path := shutil.which("nvcc", path=place)):
            path = os.path.abspath(path)
            return _identified(path, os.stat(path).st_mtime_ns)
    where = f"in CUDA_HOME={home}, on PATH" if home else f"on PATH, in {_DEFAULT_HOME}"
    command = install_command("nvcc")
    raise ToolchainError(
        f"no nvcc: looked {where}. "
        + (f"Install one with: {command}" if command else "No package of this system brings one")
    )


@lru_cache(maxsize=8)
def _identified(path: str, mtime: int) -> Nvcc:
    """Ask nvcc for its version, and for its home: what stands on PATH may be a script or a link."""
    command = [path, "--version"], [path, "--dryrun", "-E", "-x", "cu", os.devnull]
    try:
        text, dry = (subprocess.run(c, capture_output=True, **UTF8, timeout=60, check=True) for c in command)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolchainError(f"{path} does not run: {error}. Install another with: {install_command('nvcc')}") from None
    version = re.search(r"release (\d+\.\d+)", text.stdout)
    top = re.search(r"^#\$ TOP=(.+)$", dry.stderr + dry.stdout, re.MULTILINE)
    home = os.path.realpath(top[1]) if top else str(Path(os.path.realpath(path)).parents[1])
    return Nvcc(path, home, version[1] if version else "0.0", f"{home}\n{text.stdout}")


def find_cuda(*, compile_only: bool) -> Nvcc:
    """Make sure that CUDA texts can be built and run here, or with `compile_only` that they can be compiled.

    Returns:
        nvcc with its flags; the architectures are those of TORCH_CUDA_ARCH_LIST, else of this machine's GPUs, else
        (to compile only) the oldest one.

    Raises:
        ToolchainError: torch is no CUDA build, finds no GPU, there is no nvcc, or its CUDA is another than torch's.
    """
    if not compile_only:
        require_gpu()
    nvcc = find_nvcc()
    if not compile_only:
        _require_same_major(nvcc)
    return nvcc.with_flags((*_FLAGS, *_architectures(compile_only)))


def has_driver() -> bool:
    """Tell whether NVIDIA's driver is installed, which a machine with one of its GPUs needs for any CUDA."""
    return shutil.which("nvidia-smi") is not None


def require_gpu() -> None:
    """Make sure that torch can run something on a GPU.

    Raises:
        ToolchainError: there is no GPU, torch is no CUDA build, or finds none.
    """
    import torch

    if torch.version.cuda is None and not has_driver():
        raise ToolchainError(
            "no GPU was found on this machine: nvidia-smi, which comes with NVIDIA's driver, is not on PATH. Device 'cuda' "
            f"cannot run here, whichever torch is installed. {_WITHOUT_GPU}"
        )
    if torch.version.cuda is None:
        kind = "ROCm" if torch.version.hip else "CPU"
        raise ToolchainError(
            f"torch {torch.__version__} is a {kind} build: it cannot use a GPU. "
            f"Install a CUDA build with: {pip_command('torch')} --force-reinstall. {_WITHOUT_GPU}"
        )
    if not torch.cuda.is_available():
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        why = f" (CUDA_VISIBLE_DEVICES={hidden!r})" if hidden is not None else ""
        raise ToolchainError(
            f"torch {torch.__version__} finds no GPU{why}. See whether the driver does: nvidia-smi. {_WITHOUT_GPU}"
        )


def _require_same_major(nvcc: Nvcc) -> None:
    import torch

    wanted = str(torch.version.cuda)
    found, major = (version.partition(".")[0] for version in (nvcc.version, wanted))
    if found != major:
        raise ToolchainError(
            f"nvcc is of CUDA {nvcc.version} ({nvcc.path}), torch was built with CUDA {wanted}: the first numbers must agree. "
            f"Set CUDA_HOME to an installation of CUDA {major}"
        )


def _architectures(compile_only: bool) -> tuple[str, ...]:
    """Return the flags that name the GPUs; PTX is made for one, the oldest, because what it takes the others take too."""
    from torch.utils import cpp_extension

    listed = os.environ.get("TORCH_CUDA_ARCH_LIST", "").strip()
    if compile_only and not listed:
        return (f"-arch={OLDEST}",)
    try:
        flags = tuple(cpp_extension._get_cuda_arch_flags())
    except ValueError as error:
        raise ToolchainError(
            f"TORCH_CUDA_ARCH_LIST={listed!r}: {error}. Write numbers, as in '7.5;9.0+PTX', or unset it"
        ) from None
    if not compile_only:
        return flags
    numbers: list[tuple[str, str]] = re.findall(r"sm_(\d+)([a-z]?)", " ".join(flags))
    oldest = min(numbers, key=lambda number: (int(number[0]), number[1]))
    return (f"-arch=sm_{oldest[0]}{oldest[1]}",)


def write_stand_ins(directory: Path) -> None:
    """Write the headers that may be missing into `directory`."""
    for name, text in STAND_INS.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"// Stands in for a header that this machine lacks.\n#pragma once\n{text}")
