"""All files of an export that are neither its C++ nor its package's Python: what builds, tests, times and explains it."""

from __future__ import annotations

from collections.abc import Mapping

from ..plan import Plan
from .benchmark import benchmark_py
from .cmake import cmake_lists
from .commands import commands
from .flags import flags_of
from .library import library_py
from .readme import readme
from .setup import pyproject, setup_py
from .sources import sources_of
from .tests import tests_py

__all__ = ["build_files", "commands"]


def build_files(plan: Plan, csrc: Mapping[str, str]) -> dict[str, str]:
    """Write the files that build an export, its README, its tests, its benchmark, and what loads the library.

    Args:
        plan: of the export.
        csrc: its C++ files, text by path.

    Returns:
        Texts by path below the export's directory.
    """
    sources, flags = sources_of(plan), flags_of(plan, csrc)
    files = {
        "README.md": readme(plan, flags, csrc),
        "benchmark.py": benchmark_py(plan),
        "pyproject.toml": pyproject(plan),
        f"tests/test_{plan.name}.py": tests_py(plan),
        f"{plan.name}/_library.py": library_py(plan, sources, flags),
    }
    if plan.how in ("setuptools", "stable"):
        files["setup.py"] = setup_py(plan, sources, flags)
    if plan.how == "cmake":
        files["CMakeLists.txt"] = cmake_lists(plan, sources, flags)
    return files
