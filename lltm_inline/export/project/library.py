"""`_library.py` of an export: what finds the compiled library, or compiles it, and loads it."""

from __future__ import annotations

from ..filling import commented, fill, sequence
from ..plan import Plan
from .flags import FLAGS_IMPORT_OF_TORCH, FLAGS_IMPORTS, OLDEST_TORCH, Flags, flags_function, nvcc_flags
from .setup import INSTALL
from .sources import Sources

_SETUPTOOLS = '''\
"""Loads the compiled library, which registers the operators of `torch.ops.@name@`."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import torch

HERE = Path(__file__).parent


def load_library() -> None:
    """Load `_C*.so`, which setuptools has built.

    Raises:
        ImportError: there is none for this Python, or it does not fit this torch.
    """
    libraries = [path for suffix in EXTENSION_SUFFIXES if (path := HERE / f"_C{suffix}").exists()]
    if not libraries:
        raise ImportError(
            f"@name@ is not built for this Python: there is no _C*.so in {HERE}. "
            "@cure@"
        )
    try:
        torch.ops.load_library(libraries[0])
    except OSError as error:
        raise ImportError(
            f"{libraries[0].name} of @name@ does not load with torch {torch.__version__} ({error}). "
            "@why@"
        ) from error


load_library()
'''

_PYBIND11 = '''\
"""Imports the compiled module: `extension.forward` and `extension.backward`."""

from __future__ import annotations

from pathlib import Path

import torch  # ahead of the module, which needs its libraries

try:
    from . import _C as extension
except ImportError as error:
    raise ImportError(
        f"@name@ is not built for this Python and torch {torch.__version__} ({error}). "
        f"If {Path(__file__).parent} is among its sources, build it there: "
        "@install@"
    ) from error

__all__ = ["extension"]
'''

_CMAKE = '''\
"""Loads the shared library, which registers the operators of `torch.ops.@name@`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
LIBRARY = Path(__file__).parent / f"lib@name@{SUFFIX}"


def load_library() -> None:
    """Load what CMake has built.

    Raises:
        ImportError: it is not there, or does not fit this torch.
    """
    if not LIBRARY.exists():
        raise ImportError(
            f"@name@ is not built: there is no {LIBRARY}. In {LIBRARY.parent.parent}: "
            f'cmake -S . -B build -DCMAKE_PREFIX_PATH="{torch.utils.cmake_prefix_path}" && cmake --build build'
        )
    try:
        torch.ops.load_library(LIBRARY)
    except OSError as error:
        raise ImportError(
            f"{LIBRARY.name} does not load with torch {torch.__version__} ({error}). "
            "@why@"
        ) from error


load_library()
'''

_LOAD = '''\
"""@what@

`load` keeps what it has built in TORCH_EXTENSIONS_DIR, by default ~/.cache/torch_extensions, and builds anew when a
source, a flag or torch has changed. A build that was killed leaves a file `lock` there, for which the next one waits:
delete it.
"""

from __future__ import annotations

@imports@

CSRC = Path(__file__).parent.parent / "csrc"
@sources@


@flags@


# ninja may be beside the interpreter only, if its environment is not activated.
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), os.path.dirname(sys.executable)])
@checks@
cflags = compiler_flags()
@load@
'''


def library_py(plan: Plan, sources: Sources, flags: Flags) -> str:
    """Write `_library.py`."""
    if plan.how == "load":
        text = _load(plan, sources, flags)
    elif plan.style == "pybind11":
        text = fill(_PYBIND11, name=plan.name, install=INSTALL)
    else:
        why = (
            f"It needs torch {OLDEST_TORCH} or later, and a processor like the one it was built for"
            if plan.style == "stable"
            else "It fits the torch that it was built with only: if this is another, build it anew"
        )
        cure = f"If this is the directory of its sources, build it there: {INSTALL}"
        if plan.how == "stable":
            cure = "If this is the directory of its sources, it stands before the installed wheel: start Python with -P"
        text = _CMAKE if plan.how == "cmake" else _SETUPTOOLS
        text = fill(text, name=plan.name, why=why, **({} if plan.how == "cmake" else {"cure": cure}))
    return commented(plan.header, "#") + text


_WHAT = {
    "library": "Compiles the C++ when it is imported first, and registers the operators of `torch.ops.@name@`.",
    "stable": "Compiles the C++ when it is imported first, and registers the operators of `torch.ops.@name@`.",
    "pybind11": "Compiles the C++ when it is imported first: `extension.forward` and `extension.backward`.",
}

_LOAD_CALL = """\
@result@load(
    "@name@_C",
    [str(CSRC / source) for source in @sources@],
    extra_cflags=cflags,
    extra_ldflags=[flag for flag in cflags if flag == "-fopenmp"],
    @nvcc@
    @python@
)"""

_CUDA_CHECK = """\
# Which GPUs: TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX", by default those of this machine.
with_cuda = torch.version.cuda is not None and CUDA_HOME is not None
"""

_CUDA_ONLY = """\
# Which GPUs: TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX", by default those of this machine.
if torch.version.cuda is None or CUDA_HOME is None:
    lacking = "there is no nvcc" if torch.version.cuda else f"torch {torch.__version__} is no CUDA build"
    raise ImportError(f"@name@ is made for GPUs: {lacking}")
"""


def _load(plan: Plan, sources: Sources, flags: Flags) -> str:
    """Write the file that compiles."""
    pybind11, cuda = plan.style == "pybind11", bool(sources.cuda)
    modules = sorted([*FLAGS_IMPORTS, "sys"])
    of_torch = [*["CUDA_HOME"] * cuda, FLAGS_IMPORT_OF_TORCH, "load"]
    imports = [
        *(f"import {name}" for name in modules),
        "from pathlib import Path",
        "",
        *["import torch"] * cuda,
        f"from torch.utils.cpp_extension import {', '.join(of_torch)}",
    ]

    def listed(name: str, paths: tuple[str, ...]) -> str:
        return sequence([f'"{path.removeprefix("csrc/")}"' for path in paths], ahead=f"{name} = ")

    both = bool(sources.cpu and sources.cuda)
    lists = [listed("SOURCES", sources.cpu or sources.cuda), *[listed("CUDA_SOURCES", sources.cuda)] * both]
    nvcc = ", ".join(f'"{flag}"' for flag in nvcc_flags(plan))
    call = fill(
        _LOAD_CALL,
        result="extension = " if pybind11 else "",
        name=plan.name,
        sources="([*SOURCES, *CUDA_SOURCES] if with_cuda else SOURCES)" if both else "SOURCES",
        nvcc=f"extra_cuda_cflags=[{nvcc}]," if cuda else "",
        python="" if pybind11 else "is_python_module=False,",
    )
    return fill(
        _LOAD,
        what=fill(_WHAT[plan.style], name=plan.name),
        imports="\n".join(imports),
        sources="\n".join(lists),
        flags=flags_function(flags, "ImportError", setuptools=False),
        checks=fill(_CUDA_CHECK if both else _CUDA_ONLY, name=plan.name).rstrip("\n") if cuda else "",
        load=call,
    )
