"""The doctor: on a bare machine it says what is missing, what that means, and the one command that mends it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import SimpleNamespace

import pytest

from lltm_inline.base import packages
from lltm_inline.compiling.nvcc import Nvcc
from lltm_inline.errors import ToolchainError
from tests.needs import needs

# By import_module: `lltm_inline.doctor` is the function.
module = importlib.import_module("lltm_inline.doctor")
doctor, Diagnosis, Finding = module.doctor, module.Diagnosis, module.Finding

NAMES = (
    "Python",
    "Python headers",
    "torch",
    "C++ compiler",
    "OpenMP",
    "clang++",
    "ninja",
    "cache directory",
    "free disk",
    "vector instructions",
    "cuda-cpu",
    "nvcc",
    "GPU",
    "packages of labs",
)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make a machine of Debian's kind with nothing on PATH, and an interpreter with nothing beside it."""
    for name in ("CXX", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "no-cuda"))
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "ubuntu", "ID_LIKE": "debian"})
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(module.sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setattr(module.sysconfig, "get_path", lambda name: str(tmp_path / "include"))
    return tmp_path


def test_here_it_is_ready() -> None:
    """On the machine that runs the tests everything that is needed is there."""
    diagnosis = doctor()
    assert diagnosis.ok, str(diagnosis)
    assert tuple(finding.what for finding in diagnosis.findings) == NAMES
    assert str(diagnosis).startswith("Ready: kernels can be built, checked and timed here.\n  ok ")


def test_cuda_runs_where_there_is_a_compiler() -> None:
    """Without a GPU CUDA texts run all the same, and the doctor says on which device and by which compiler."""
    found = doctor()["cuda-cpu"]
    compiler = doctor()["C++ compiler"].detail.partition(" (")[0]
    assert found == Finding(
        "cuda-cpu", "ok", f"CUDA texts run, are checked and counted on the CPU by {compiler}: device cuda-cpu"
    )


def test_nvcc_says_what_it_enables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line of nvcc tells whether CUDA texts are built and run, compile-checked only, or neither, and why."""
    found = Nvcc("/cuda/bin/nvcc", "/cuda", "13.0", "")
    machine = {"run": "", "compile": ""}

    def find_cuda(*, compile_only: bool) -> Nvcc:
        trouble = machine["compile" if compile_only else "run"]
        if trouble:
            raise ToolchainError(trouble)
        return found

    monkeypatch.setattr(module, "find_nvcc", lambda: found)
    monkeypatch.setattr(module, "find_cuda", find_cuda)
    assert module._nvcc() == Finding("nvcc", "ok", "13.0 (/cuda/bin/nvcc): CUDA texts are built and run")
    machine["run"] = "torch 2.13.0 finds no GPU. See whether the driver does: nvidia-smi. To compile-check: ..."
    checked = "13.0 (/cuda/bin/nvcc): CUDA texts are compile-checked for a GPU, and run on cuda-cpu alone: torch 2.13.0 finds no GPU"
    assert module._nvcc() == Finding("nvcc", "ok", checked)
    machine["compile"] = (
        "TORCH_CUDA_ARCH_LIST='Foo': Unknown CUDA arch (Foo). Write numbers, as in '7.5;9.0+PTX', or unset it"
    )
    wrong = "13.0 (/cuda/bin/nvcc): TORCH_CUDA_ARCH_LIST='Foo': Unknown CUDA arch (Foo)"
    assert module._nvcc() == Finding("nvcc", "optional", wrong, "unset TORCH_CUDA_ARCH_LIST")


def test_bare_machine(bare: Path) -> None:
    """With an empty PATH each gap is named with its meaning and its cure."""
    diagnosis = doctor()
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    executable = bare / "bin" / "python"
    assert not diagnosis.ok
    assert diagnosis.headline == "Not ready, missing: Python headers, C++ compiler, ninja."
    gaps = [finding for finding in diagnosis.findings if finding.state != "ok"]
    assert [gap for gap in gaps if gap.what not in ("GPU", "vector instructions")] == [
        Finding(
            "Python headers",
            "missing",
            f"no Python.h in {bare / 'include'}",
            f"sudo apt-get install -y python{python}-dev",
        ),
        Finding(
            "C++ compiler",
            "missing",
            "no C++ compiler: looked for g++, c++, clang++ on PATH",
            "sudo apt-get install -y g++",
        ),
        Finding("OpenMP", "optional", "not tried: there is no compiler"),
        Finding(
            "clang++",
            "optional",
            'not there: it builds kernels about twice as fast as g++ (compiler="clang++")',
            "sudo apt-get install -y clang",
        ),
        Finding(
            "ninja",
            "missing",
            f"not on PATH, not beside {executable}, not a Python module",
            f"{executable} -m pip install ninja",
        ),
        Finding("cuda-cpu", "optional", "CUDA texts would run on the CPU: it needs the C++ compiler"),
        Finding(
            "nvcc",
            "optional",
            "not there: CUDA texts run and are checked on cuda-cpu alone",
            "sudo apt-get install -y nvidia-cuda-toolkit",
        ),
    ]


def test_empty_path_for_real(tmp_path: Path) -> None:
    """A real process with an empty PATH exits with 1 and prints the missing compiler with a cure, no traceback."""
    environment = {"PATH": "", "HOME": str(tmp_path), "LLTM_INLINE_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "lltm_inline", "doctor"]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 1, result.stderr
    assert result.stdout.startswith("Not ready, missing: C++ compiler.\n")
    lines = result.stdout.splitlines()
    where = next(number for number, line in enumerate(lines) if "C++ compiler  " in line)
    assert lines[where].split()[0] == "MISSING"
    assert lines[where + 1].strip().startswith("-> ")
    assert "\x1b" not in result.stdout
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("manager", "compiler", "headers"),
    [
        ("apt-get", "sudo apt-get install -y g++", "sudo apt-get install -y python{}-dev"),
        ("dnf", "sudo dnf install -y gcc-c++", "sudo dnf install -y python{}-devel"),
        ("conda", "conda install -y -c conda-forge cxx-compiler", "conda install -y -c conda-forge python={}"),
    ],
)
def test_cures_by_package_manager(
    bare: Path, monkeypatch: pytest.MonkeyPatch, manager: str, compiler: str, headers: str
) -> None:
    """The command is that of the package manager on PATH."""
    monkeypatch.setattr(packages.shutil, "which", lambda name, path=None: name if name == manager else None)
    assert packages.install_command("compiler") == compiler
    assert packages.install_command("python headers") == headers.format(f"{sys.version_info[0]}.{sys.version_info[1]}")


def test_choice_of_package_manager(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An active conda environment wins; with nothing on PATH the system's name decides; root needs no sudo."""

    def unknown() -> dict[str, str]:
        raise OSError("no os-release")

    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "rocky", "ID_LIKE": "rhel centos fedora"})
    assert packages.package_manager() == "dnf"
    monkeypatch.setattr("platform.freedesktop_os_release", unknown)
    assert packages.package_manager() == "conda"
    monkeypatch.setattr(packages.shutil, "which", lambda name, path=None: name if name == "apt-get" else None)
    assert packages.package_manager() == "apt-get"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert packages.install_command("clang") == "apt-get install -y clang"
    monkeypatch.setenv("CONDA_PREFIX", str(bare))
    assert packages.package_manager() == "conda"


def test_no_package_no_command(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no package brings a thing the cure is empty instead of wrong."""
    monkeypatch.setenv("CONDA_PREFIX", str(bare))
    assert packages.install_command("perf") == ""


def test_wrong_cxx(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CXX that names no program is the thing to mend, not the compiler."""
    monkeypatch.setenv("CXX", "no-such-compiler")
    finding = doctor()["C++ compiler"]
    assert (finding.state, finding.cure) == ("missing", "unset CXX")
    assert finding.detail == "the environment variable CXX='no-such-compiler' names no compiler"


def compiler_script(folder: Path, name: str, version: str) -> None:
    """Write a compiler that says its version and fails at everything else."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit 0\nexit 1\n')
    (folder / name).chmod(0o755)


def test_old_compiler(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that is too old for C++20 is missing, and one that fails with -fopenmp means one thread."""
    compiler_script(bare / "bin", "g++", "g++ (Debian 8.3.0-6) 8.3.0")
    monkeypatch.setenv("PATH", str(bare / "bin"))
    diagnosis = doctor()
    assert diagnosis["C++ compiler"].state == "missing"
    assert diagnosis["C++ compiler"].detail == f"g++ 8.3.0 ({bare / 'bin' / 'g++'}), want 11 or newer for C++20"
    assert diagnosis["OpenMP"] == Finding(
        "OpenMP",
        "optional",
        "g++ 8.3.0 cannot compile with -fopenmp: kernels run on one thread",
        "sudo apt-get install -y g++",
    )


def test_clang_needs_no_openmp_of_its_own(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With clang++ the loops run on torch's own threads, so a missing OpenMP runtime is no gap."""
    compiler_script(bare / "bin", "clang++", "clang version 17.0.1")
    monkeypatch.setenv("PATH", str(bare / "bin"))
    diagnosis = doctor()
    assert (diagnosis["clang++"].state, diagnosis["OpenMP"].state) == ("ok", "ok")
    assert diagnosis["OpenMP"].detail == "not used with clang: at::parallel_for runs on torch's own threads"


@pytest.mark.parametrize("place", ["path", "beside", "module"])
def test_ninja_in_each_place(bare: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Ninja counts on PATH, beside the interpreter, and as a Python module."""
    folder = bare / ("bin" if place == "beside" else "elsewhere")
    if place == "module":
        monkeypatch.setattr(module, "find_spec", lambda name: object() if name == "ninja" else None)
        want = "as a Python module"
    else:
        folder.mkdir()
        (folder / "ninja").write_text("#!/bin/sh\n")
        (folder / "ninja").chmod(0o755)
        want = "beside the interpreter"
    if place == "path":
        monkeypatch.setenv("PATH", str(folder))
        want = f"on PATH ({folder / 'ninja'})"
    assert doctor()["ninja"] == Finding("ninja", "ok", want)


def test_torch_too_old_or_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A torch below 2.10 is missing with the command that upgrades it; so is one that cannot be imported."""
    old = SimpleNamespace(__version__="2.9.1", version=SimpleNamespace(cuda=None), get_num_threads=lambda: 2)
    monkeypatch.setitem(sys.modules, "torch", old)
    finding = module._torch()
    assert (finding.state, finding.detail) == ("missing", "2.9.1 (CPU build, 2 threads), want 2.10 or newer")
    assert finding.cure.endswith("-m pip install 'torch>=2.10' --upgrade")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert [finding.what for finding in doctor().findings] == ["Python", "torch"]
    assert doctor()["torch"].state == "missing"
    assert doctor()["torch"].detail.startswith("cannot be imported: ")


#: A Python as the system's own is, without anything that pip installs; `-S` leaves all of it out, also in a virtual environment.
PLAIN = [sys.executable, "-S", "-m", "lltm_inline"]


def test_starts_without_torch(tmp_path: Path) -> None:
    """In a Python without torch, or anything else, the doctor says where torch is; everything else says so in two lines."""
    environment = {"PATH": "", "HOME": str(tmp_path), "PYTHONPATH": str(packages._HOME)}
    result = subprocess.run([*PLAIN, "doctor"], capture_output=True, text=True, env=environment)
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.startswith("Not ready, missing: torch.\n  ok        Python  ")
    missing, cure = result.stdout.splitlines()[2:]
    said = "cannot be imported: No module named 'torch'"
    assert missing == f"  MISSING   torch   {said}. The rest is looked at when torch is there"
    assert cure.strip().startswith("-> ")
    result = subprocess.run([*PLAIN, "list"], capture_output=True, text=True, env=environment)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"lltm-inline: torch {said}\n  {cure.strip()}\n"
    demo = [*PLAIN[:-1], "lltm_inline.demo"]
    result = subprocess.run(demo, capture_output=True, text=True, env=environment)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"lltm-inline: No module named 'rich'\n  {cure.strip()}\n"
    script = "import lltm_inline as li; li.check"
    result = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, env=environment)
    assert result.stderr.endswith(f"lltm_inline.check needs torch, which {said}\n  {cure.strip()}\n")


#: Runs a module in a Python where one package is missing, and torch is not.
WITHOUT = """
import runpy, sys

_, missing, *sys.argv = sys.argv

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("package", "module"),
    [
        ("rich", ["lltm_inline.demo"]),
        pytest.param("platformdirs", ["lltm_inline.demo"], marks=pytest.mark.full),
        pytest.param("platformdirs", ["lltm_inline", "doctor"], marks=pytest.mark.full),
    ],
)
def test_another_package_is_missing(package: str, module: list[str]) -> None:
    """With torch, and without a package that pip brings beside it, the command that installs it is all that is said."""
    command = [sys.executable, "-c", WITHOUT, package, *module]
    environment = {**os.environ, "PYTHONPATH": str(packages._HOME)}
    environment.pop("LLTM_INLINE_CACHE", None)  # where it is, platformdirs is to say
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"lltm-inline: No module named '{package}'\n  -> {packages.environment_command()}\n"


@pytest.mark.full
def test_the_doctor_needs_no_rich() -> None:
    """What finds out what is missing works without it."""
    command = [sys.executable, "-c", WITHOUT, "rich", "lltm_inline", "doctor"]
    result = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(packages._HOME)}
    )
    assert "torch" in result.stdout and result.stderr == "" and result.returncode in (0, 1)


def test_where_torch_is_or_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a clone it is in the environment that make has made or makes; in one's own environment pip installs the clone."""
    home = tmp_path / "my clone"
    made = home / ".venv" / "bin" / "activate"
    monkeypatch.setattr(packages, "_HOME", home)
    monkeypatch.setattr(packages.sys, "executable", "/own/bin/python")
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert packages.environment_command() == "/own/bin/python -m pip install torch"
    home.mkdir()
    (home / "pyproject.toml").touch()
    for prefix, command in (
        ("/own", f"/own/bin/python -m pip install -e '{home}'"),
        ("/usr", f"make -C '{home}' demo"),
    ):
        monkeypatch.setattr(packages.sys, "prefix", prefix)
        monkeypatch.setattr(packages.sys, "base_prefix", "/usr")
        assert packages.environment_command() == command
    made.parent.mkdir(parents=True)
    made.touch()
    assert packages.environment_command() == f"source '{made}'"
    monkeypatch.setattr(packages.sys, "prefix", str(home / ".venv"))  # an install that was interrupted
    assert packages.environment_command() == f"/own/bin/python -m pip install -e '{home}'"


def test_cache_that_others_may_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache that others may write or read is missing; chmod mends it."""
    path = tmp_path / "cache"
    path.mkdir()
    path.chmod(0o777)
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(path))
    assert module._cache() == Finding(
        "cache directory",
        "missing",
        f"the cache directory {path} is open to others (mode 0777, want 0700)",
        f"chmod 700 {path}",
    )
    path.chmod(0o755)
    finding = module._cache()
    assert (finding.state, finding.cure) == ("missing", f"chmod 700 {path}")
    path.chmod(0o700)
    assert module._cache().state == "ok"


def test_cache_of_somebody_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cache directory of another user, or a path that is no directory, is missing; another place mends it."""
    path = tmp_path / "cache"
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(path))
    assert module._cache().state == "ok"
    with monkeypatch.context() as patch:
        patch.setattr("os.getuid", lambda: os.stat(path).st_uid + 1)
        finding = module._cache()
    assert (finding.state, finding.cure) == ("missing", "export LLTM_INLINE_CACHE=~/lltm_inline-cache")
    assert finding.detail.startswith(f"the cache directory {path} belongs to user ")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "file" / "cache"))
    finding = module._cache()
    assert (finding.state, finding.cure) == ("missing", "export LLTM_INLINE_CACHE=~/lltm_inline-cache")
    assert module._disk().state == "optional"


def test_precompiled_headers_are_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """How many there are, what they take, and whether one is being made."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module.cache, "free_bytes", lambda: 54_000_000_000)
    assert module._disk().detail == "54 GB; 0 precompiled headers, 0.0 GB"
    for place, count in (("headers/a", 300_000_000), ("tmp/b", 1)):
        header = module.cache.cache_dir() / place / "prelude.h"
        header.parent.mkdir()
        with header.open("wb") as file:
            file.truncate(count)
    assert module._disk().detail == "54 GB; 1 precompiled header, 0.3 GB, and one more is being made"


def test_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Under 2 GB free is a gap, and clearing the cache its cure."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module.cache, "free_bytes", lambda: 1_240_000_000)
    assert module._disk() == Finding(
        "free disk", "missing", "1.2 GB beside the cache, want 2 GB", "python -m lltm_inline cache clear"
    )


def test_gpu_behind_a_cpu_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with nvidia-smi and a CPU build of torch is told about the build; one without has no gap to mend."""
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False), version=SimpleNamespace(cuda=None))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(module.shutil, "which", lambda name, path=None: name)
    assert "CPU build" in module._gpu().detail
    assert module._gpu().cure.endswith("-m pip install torch --force-reinstall")
    monkeypatch.setattr(module.shutil, "which", lambda name, path=None: None)
    assert module._gpu() == Finding("GPU", "optional", "none that torch can use: everything runs on the CPU")


@pytest.mark.gpu
@needs("a GPU")
def test_gpu_is_named() -> None:
    """A GPU that torch can use is named with its architecture."""
    import torch

    finding = doctor()["GPU"]
    assert finding.state == "ok"
    assert torch.cuda.get_device_name() in finding.detail


def test_shows_itself() -> None:
    """The text aligns what was found, with the cure on a line of its own; the table escapes what it shows."""
    diagnosis = Diagnosis(
        (
            Finding("Python", "ok", "3.11.7"),
            Finding("ninja", "missing", "<not> there", "pip install ninja"),
            Finding("GPU", "optional", "none"),
        )
    )
    assert str(diagnosis) == repr(diagnosis)
    assert str(diagnosis).splitlines() == [
        "Not ready, missing: ninja.",
        "  ok        Python  3.11.7",
        "  MISSING   ninja   <not> there",
        "                    -> pip install ninja",
        "  optional  GPU     none",
    ]
    html = diagnosis._repr_html_()
    assert "&lt;not&gt; there<br><code>pip install ninja</code>" in html
    assert "<not>" not in html
    with pytest.raises(FrozenInstanceError):
        diagnosis.findings = ()
