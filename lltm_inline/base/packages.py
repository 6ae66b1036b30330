"""The one command that installs a thing on this machine, whichever package manager it has."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

#: Where this package lies: a clone, if its pyproject.toml is there.
_HOME = Path(__file__).resolve().parents[2]

#: Names of packages by thing and package manager. `{python}` stands for this interpreter's "3.11".
PACKAGES = {
    "compiler": {"apt-get": "g++", "dnf": "gcc-c++", "conda": "cxx-compiler"},
    "clang": {"apt-get": "clang", "dnf": "clang", "conda": "clangxx"},
    "cmake": {"apt-get": "cmake", "dnf": "cmake", "conda": "cmake"},
    "openmp of gcc": {"apt-get": "g++", "dnf": "libgomp", "conda": "cxx-compiler"},
    "python headers": {"apt-get": "python{python}-dev", "dnf": "python{python}-devel", "conda": "python={python}"},
    "objdump": {"apt-get": "binutils", "dnf": "binutils", "conda": "binutils"},
    "perf": {"apt-get": "linux-perf", "dnf": "perf"},
    "nvcc": {"apt-get": "nvidia-cuda-toolkit", "dnf": "cuda-toolkit", "conda": "cuda-nvcc"},
}

#: What labs need beside it, by the module that is imported: to read a library before it is loaded, to filter its system calls, and
#: several workers.
OF_LABS = {"pyelftools": "elftools", "pyseccomp": "pyseccomp"}
OF_WORKERS = {"distributed": "distributed", "cryptography": "cryptography"}


def missing_of(packages: Mapping[str, str]) -> list[str]:
    """Name those that are not installed."""
    return [name for name, module in packages.items() if find_spec(module) is None]


_COMMANDS = {
    "apt-get": "sudo apt-get install -y",
    "dnf": "sudo dnf install -y",
    "conda": "conda install -y -c conda-forge",
}


def package_manager() -> str:
    """Name the package manager to recommend: `"conda"`, `"apt-get"` or `"dnf"`.

    An active conda environment comes first, then what is on PATH; with nothing on PATH the name of the system decides.
    """
    if os.environ.get("CONDA_PREFIX"):
        return "conda"
    for manager in ("apt-get", "dnf", "conda"):
        if shutil.which(manager):
            return manager
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return "conda"
    families = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    if families & {"debian", "ubuntu"}:
        return "apt-get"
    return "dnf" if families & {"fedora", "rhel", "centos"} else "conda"


def install_command(what: str) -> str:
    """Return the command that installs `what`, a key of `PACKAGES`; empty where no package brings it.

    Example:
        >>> install_command("clang") != ""
        True
    """
    manager = package_manager()
    package = PACKAGES[what].get(manager)
    if package is None:
        return ""
    command = _COMMANDS[manager]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Root needs no sudo, and slim containers have none.
        command = command.removeprefix("sudo ")
    return f"{command} {package.format(python=f'{sys.version_info[0]}.{sys.version_info[1]}')}"


def pip_command(requirement: str) -> str:
    """Return the command that installs a Python package for this very interpreter.

    Example:
        >>> pip_command("ninja").endswith("-m pip install ninja")
        True
    """
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(requirement)}"


def environment_command() -> str:
    """Return the command that leads to an environment with torch and all else that this package needs.

    In a clone that is the one that `make` has made, where there is one; else this very environment, if it is the user's
    own, as the interpreter of the system is not for packages.
    """
    made = _HOME / ".venv"
    if (made / "bin" / "activate").is_file() and Path(sys.prefix).resolve() != made.resolve():
        return f"source {shlex.quote(str(made / 'bin' / 'activate'))}"
    if not (_HOME / "pyproject.toml").is_file():
        return pip_command("torch")
    own = sys.prefix != sys.base_prefix or os.environ.get("CONDA_PREFIX") == sys.prefix
    return f"{pip_command('-e')} {shlex.quote(str(_HOME))}" if own else f"make -C {shlex.quote(str(_HOME))} demo"
