"""How the C++ of an export is compiled, said once for `setup.py` and for `load`, and once for CMake.

The flags are those of the playground (`build.toolchain.default_cflags`), except that the processor can be chosen when one
builds, and the compiler is asked what that processor has: the library may be meant for another machine than this one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..filling import fill
from ..plan import Plan

#: The first torch on whose stable ABI the exports build, as pip writes it and as its headers want it.
OLDEST_TORCH, TARGET_VERSION = "2.10", "TORCH_TARGET_VERSION=0x020a000000000000"

#: Flags of nvcc.
NVCC_FLAGS = ("-O3", "-Xcompiler=-fvisibility=hidden")

#: What a text holds that uses ATen's vectors: their width follows from the flags.
_VECTORS = re.compile(r"\bcpu/vec\b|\bat::vec\b|\bCPU_CAPABILITY\b")


@dataclass(frozen=True)
class Flags:
    """What is particular about the flags of one export.

    Attributes:
        variable: the environment variable, or option of CMake, that names the processor.
        own: the kernel's own flags, and definitions.
        vectors: the sources use ATen's vectors.
    """

    variable: str
    own: tuple[str, ...]
    vectors: bool


def flags_of(plan: Plan, files: Mapping[str, str]) -> Flags:
    """Find out which flags an export needs, of which `files` are the C++."""
    own = tuple(flag for part in plan.parts if part.device == "cpu" for flag in part.kernel.flags)
    defines = (f"-D{TARGET_VERSION}",) if plan.style == "stable" else ()
    vectors = any(_VECTORS.search(text) for path, text in files.items() if path.startswith("csrc/"))
    return Flags(f"{plan.name.upper()}_MARCH", (*defines, *own), vectors)


def nvcc_flags(plan: Plan) -> tuple[str, ...]:
    """Return the flags of nvcc: those of every export, and the kernel's own."""
    return (*NVCC_FLAGS, *(flag for part in plan.parts if part.device == "cuda" for flag in part.kernel.flags))


_FUNCTION = '''\
def compiler_flags() -> list[str]:
    """Return the flags of C++: they depend on the compiler, and on the processor in @variable@."""
    compiler = shlex.split(get_cxx_compiler())
    if shutil.which(compiler[0]) is None:
        raise @error@(f"no C++ compiler {compiler[0]!r}: install one (apt-get install g++), or name yours in CXX")
    processor = os.environ.get("@variable@", "native")
    target = f"-march={processor}" if platform.machine() in ("x86_64", "AMD64") else f"-mcpu={processor}"
    command = [*compiler, target, "-dM", "-E", "-x", "c++", os.devnull]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode:
        raise @error@(f"@variable@={processor}: {asked.stderr}")
    macros = asked.stdout
    # clang's OpenMP is another than torch's, and the threads of the two would fight.
    threads = "-fopenmp-simd" if "__clang__" in macros else "-fopenmp"
    @vectors@
    # -g1: names and lines for a debugger@instead@.
    @result@'''

_WIDTH = """\
# How wide ATen's vectors are: as wide as the processor's.
if all(f"__AVX512{part}__" in macros for part in ("F", "BW", "DQ", "VL")):
    width = "AVX512"
else:
    width = "AVX2" if "__AVX2__" in macros and "__FMA__" in macros else "DEFAULT"
vectors = [f"-DCPU_CAPABILITY={width}", f"-DCPU_CAPABILITY_{width}"]
# Their headers make g++ warn, in thousands of lines.
vectors += ["-Wno-unknown-pragmas", "-Wno-maybe-uninitialized"]"""

#: What `compiler_flags` imports of Python's own, and of `torch.utils.cpp_extension`.
FLAGS_IMPORTS = ("os", "platform", "shlex", "shutil", "subprocess")
FLAGS_IMPORT_OF_TORCH = "get_cxx_compiler"


def flags_function(flags: Flags, error: str, *, setuptools: bool) -> str:
    """Write the Python function `compiler_flags`, which raises `error` with what is wrong."""
    instead = "; the -g that setuptools adds makes the library six times as large" if setuptools else ""
    words = ['"-O3"', "target", "threads", '"-fvisibility=hidden"', '"-g1"', *(f'"{flag}"' for flag in flags.own)]
    words += ["*vectors"] * flags.vectors
    return fill(
        _FUNCTION,
        variable=flags.variable,
        error=error,
        instead=instead,
        vectors=_WIDTH if flags.vectors else "",
        result=f"return [{', '.join(words)}]",
    )


_CMAKE = """\
# The processor to compile for: -D@variable@=x86-64-v3 for most machines since 2015.
set(@variable@ native CACHE STRING "Processor to compile for, as -march of the compiler takes it")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(flags -O3 -march=${@variable@})
else()
  set(flags -O3 -mcpu=${@variable@})
endif()
@vectors@
# clang's OpenMP is another than torch's, and the threads of the two would fight.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND flags -fopenmp-simd)
else()
  list(APPEND flags -fopenmp)
  target_link_options(@name@ PRIVATE -fopenmp)
endif()
target_compile_options(@name@ PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${flags}>")"""

_CMAKE_WIDTH = """\
# How wide ATen's vectors are: as wide as the processor's, so the compiler is asked what that has.
execute_process(
  COMMAND ${CMAKE_CXX_COMPILER} ${flags} -dM -E -x c++ /dev/null
  OUTPUT_VARIABLE macros RESULT_VARIABLE failed ERROR_VARIABLE message)
if(failed)
  message(FATAL_ERROR "@variable@=${@variable@}: ${message}")
elseif(macros MATCHES __AVX512F__ AND macros MATCHES __AVX512BW__ AND
       macros MATCHES __AVX512DQ__ AND macros MATCHES __AVX512VL__)
  list(APPEND flags -DCPU_CAPABILITY=AVX512 -DCPU_CAPABILITY_AVX512)
elseif(macros MATCHES __AVX2__ AND macros MATCHES __FMA__)
  list(APPEND flags -DCPU_CAPABILITY=AVX2 -DCPU_CAPABILITY_AVX2)
else()
  list(APPEND flags -DCPU_CAPABILITY=DEFAULT -DCPU_CAPABILITY_DEFAULT)
endif()"""


def flags_in_cmake(flags: Flags, name: str) -> str:
    """Write the same for the target `name` of CMake."""
    text = fill(
        _CMAKE,
        variable=flags.variable,
        name=name,
        vectors=fill(_CMAKE_WIDTH, variable=flags.variable) if flags.vectors else "",
    )
    own = f"\nlist(APPEND flags {' '.join(flags.own)})" if flags.own else ""
    return text.replace("\n# clang's", f"{own}\n# clang's", 1)
