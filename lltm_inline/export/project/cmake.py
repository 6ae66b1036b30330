"""`CMakeLists.txt` of an export: a shared library for Python and C++, and a program that calls it."""

from __future__ import annotations

from ..filling import commented, fill
from ..plan import Plan
from .commands import PREFIX_PATH
from .flags import Flags, flags_in_cmake, nvcc_flags
from .sources import Sources

_CMAKE = """\
# Builds the shared library of @name@ and a program that calls it without Python:
#
#     @configure@
#     cmake --build build --parallel
#     ctest --test-dir build
cmake_minimum_required(VERSION 3.18)
project(@name@ LANGUAGES CXX)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_package(Torch QUIET)
if(NOT Torch_FOUND)
  message(FATAL_ERROR "Torch is not found. Say where it is, with the Python that has it:\\n"
    [[  @configure@]])
endif()

# The library goes into the package's own directory, where `import @name@` finds it.
@library@
set_target_properties(@name@ PROPERTIES
  CXX_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/@name@")
target_link_libraries(@name@ PRIVATE torch)

@flags@

@cuda@

# The program names nothing of the library: it finds the operators by their names, so the linker must not leave it out.
add_executable(@name@_example example/main.cpp)
target_link_libraries(@name@_example PRIVATE torch)
if(APPLE)
  target_link_libraries(@name@_example PRIVATE @name@)
else()
  target_link_libraries(@name@_example PRIVATE -Wl,--no-as-needed @name@ -Wl,--as-needed)
endif()

enable_testing()
add_test(NAME example COMMAND @name@_example)
"""

_ENABLE = """\
# Which GPUs: TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX" in the environment, by default those of this machine.
enable_language(CUDA)
set_target_properties(@name@ PROPERTIES CUDA_STANDARD 20)
target_compile_options(@name@ PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:@nvcc@>")
# Should device code call device code of another .cu file, it has to be relocatable: set the property
# CUDA_SEPARABLE_COMPILATION of the library."""

_OPTION = """\
option(@option@ "Compile the kernels for GPUs, too: needs nvcc and a torch with CUDA" OFF)
if(@option@)
  @enable@
  target_sources(@name@ PRIVATE@sources@)
endif()"""


def cmake_lists(plan: Plan, sources: Sources, flags: Flags) -> str:
    """Write `CMakeLists.txt`."""
    text = fill(
        _CMAKE,
        name=plan.name,
        configure=f"cmake -S . -B build {PREFIX_PATH.format(python='python')}",
        library=_library(plan.name, sources.cpu or sources.cuda),
        flags=flags_in_cmake(flags, plan.name),
        cuda=_cuda(plan, sources),
    )
    return commented(plan.header, "#") + text


def _library(name: str, paths: tuple[str, ...]) -> str:
    return f"add_library({name} SHARED\n" + "\n".join(f"  {path}" for path in paths) + ")"


def _cuda(plan: Plan, sources: Sources) -> str:
    if not sources.cuda:
        return ""
    enable = fill(_ENABLE, name=plan.name, nvcc=";".join(nvcc_flags(plan)))
    if not sources.cpu:
        return enable
    return fill(
        _OPTION,
        option=f"{plan.name.upper()}_CUDA",
        enable=enable,
        name=plan.name,
        sources="".join(f"\n    {path}" for path in sources.cuda),
    )
