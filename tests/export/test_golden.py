"""Exports as a person uses them: written, then each command that was printed typed into a shell, in an environment without us.

The environment is fresh: it has a pip and a Python of its own, and sees torch, numpy, pytest, setuptools and ninja of this one
through a path file, as installing torch again would take minutes. It does not see lltm_inline.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import lltm_inline as li
from lltm_inline.export.exported import Exported
from lltm_inline.model.registry import registry
from tests import tiny
from tests.needs import needs
from tests.planted.contract import KINDS, registered
from tests.quick import QUICK

_SECONDS = 900


class Shell:
    """A terminal in a fresh virtual environment."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        subprocess.run([sys.executable, "-m", "venv", str(directory / "venv")], check=True)
        self.bin = directory / "venv" / "bin"
        packages = subprocess.run(
            [str(self.bin / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        # Lines of a path file are paths; path files in those are not read, so an editable install there stays unseen.
        Path(packages, "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
        (directory / "home").mkdir()

    def run(self, command: str, cwd: Path | None = None, **more: str) -> str:
        """Type a command, and return what it printed; where it names this Python, it means the fresh one.

        Args:
            more: variables of the environment, such as CXX.
        """
        command = command.replace(sys.executable, str(self.bin / "python"))
        unset = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "PYTEST_", "LLTM_", "VIRTUAL"))
        }
        env = {
            **unset,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(self.directory / "home"),
            "MAX_JOBS": "2",
            **more,
        }
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=cwd or self.directory,
            env=env,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Open one terminal for all exports."""
    yield Shell(tmp_path_factory.mktemp("golden"))


#: Calls an exported lltm/stable, and prints the shape of a gradient.
CALL = (
    "import torch, lltm_stable; from lltm_stable.reference import make_inputs, reference; "
    "inputs = [value.requires_grad_() for value in make_inputs(torch.randn, B=3, F=17, S=5)]; "
    "h, cell = lltm_stable.lltm(*inputs); torch.testing.assert_close(h, reference(*inputs)[0]); h.sum().backward(); "
    "print(list(inputs[4].grad.shape))"
)


def pythons_with_torch() -> list[str]:
    """List other interpreters that have a torch: those on PATH, and those that LLTM_INLINE_PYTHONS names."""
    named = filter(None, os.environ.get("LLTM_INLINE_PYTHONS", "").split(os.pathsep))
    on_path = filter(
        None, (shutil.which(f"python3.{minor}") for minor in range(11, 16) if minor != sys.version_info.minor)
    )
    test = "import sys, torch; sys.exit(tuple(map(int, torch.__version__.split('.')[:2])) < (2, 10))"
    return [one for one in (*named, *on_path) if subprocess.run([one, "-c", test], capture_output=True).returncode == 0]


def exported(shell: Shell, kernel: str, how: str, **options: object) -> Exported:
    """Export a kernel that is right."""
    to = shell.directory / f"{kernel.replace('/', '_')}_{how}"
    return li.export(kernel, to, how, check=False, **options)  # type: ignore[arg-type]


def type_all(shell: Shell, export: Exported, **more: str) -> str:
    """Type every command of an export in order."""
    return "\n".join(shell.run(command, **more) for _, command in export.commands)


def test_the_environment_does_not_know_us(shell: Shell) -> None:
    """What works there works without lltm_inline."""
    assert "No module named 'lltm_inline'" in shell.run("python -c 'import torch, lltm_inline' 2>&1 || true")


@pytest.mark.full  # `kind_sgd` and lesson 15's are installed in this way, too
@pytest.mark.parametrize(
    ("kernel", "environment"),
    [
        pytest.param("axpy/cpp", {"CXX": QUICK}, id="axpy/cpp"),
        pytest.param("lltm/fused", {}, id="lltm/fused"),
        pytest.param("conv_bn/fused", {"CXX": QUICK}, id="conv_bn/fused"),
    ],
)
def test_setuptools(shell: Shell, kernel: str, environment: dict[str, str]) -> None:
    """It is installed, its tests pass and its benchmark runs; nothing of it needs lltm_inline."""
    export = exported(shell, kernel, "setuptools")
    printed = type_all(shell, export, **environment)
    assert " passed" in printed and "failed" not in printed
    assert "from lltm_inline" not in "".join((export.path / file).read_text() for file in export.files)
    assert f"{export.name}.py" not in os.listdir(export.path)


@pytest.mark.full
@needs("nvcc")
def test_cuda(shell: Shell) -> None:
    """Where a GPU is, it is installed and tested; where none is, its files are compiled."""
    export = exported(shell, "lltm/cuda_extern", "setuptools", extras=["B 3S"])
    if torch.cuda.is_available():
        assert " passed" in type_all(shell, export)
        return
    compile_only = [command for what, command in export.commands if "ompile" in what]
    assert compile_only
    for command in compile_only:
        shell.run(command)


@pytest.mark.full
@needs("cmake")
def test_cmake_and_the_class(shell: Shell) -> None:
    """The C++ program runs without Python, makes the class and saves it; the same library serves Python's tests."""
    export = exported(shell, "lltm/class", "cmake")
    printed = type_all(shell, export, CXX=QUICK)
    assert " passed" in printed and "failed" not in printed
    assert "LLTMCell, saved and loaded, computes the same" in printed
    weights, bias = torch.load(shell.directory / "lltm_class.pt")  # what the program saved
    assert weights.shape == (15, 22) and bias.shape == (15,)


@pytest.fixture(scope="module")
def wheel(shell: Shell) -> Path:
    """Build and install a wheel on the stable ABI, and run its tests."""
    printed = type_all(shell, exported(shell, "lltm/stable", "stable"))
    assert " passed" in printed and "failed" not in printed
    (built,) = shell.directory.rglob("lltm_stable-*.whl")
    return built


@pytest.mark.full
def test_stable_wheel(wheel: Path) -> None:
    """One wheel, tagged for every Python from 3.11 on."""
    assert "-cp311-abi3-" in wheel.name


@pytest.mark.full
def test_stable_wheel_elsewhere(shell: Shell, request: pytest.FixtureRequest) -> None:
    """The same wheel computes under other versions of Python and torch, those that this machine has."""
    others = pythons_with_torch()
    if not others:
        pytest.skip(
            "needs another Python with torch: none with 2.10 or newer is on PATH or named in LLTM_INLINE_PYTHONS"
        )
    wheel = request.getfixturevalue("wheel")  # not sooner: it takes half a minute to build
    for number, python in enumerate(others):
        place = shell.directory / f"other-{number}"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
        assert "[3, 5]" in shell.run(f"cd {place} && {python} -c '{CALL}'")


@pytest.mark.full
def test_load(shell: Shell) -> None:
    """The package compiles itself when it is imported first, and only then."""
    export = exported(shell, "axpy/cpp", "load")
    assert " passed" in type_all(shell, export, CXX=QUICK)


def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Multiply two matrices."""
    return x @ w


@pytest.mark.full
def test_stable_without_backward(shell: Shell) -> None:
    """A kernel made of calls of the stable ABI is one operator, into which autograd and torch.compile look."""
    li.registry.register(
        li.Op("product", "(Tensor x, Tensor w) -> Tensor y", product, {"x": "N F", "w": "F O", "y": "N O"})
    )
    text = """
    #include <torch/csrc/stable/ops.h>
    using torch::stable::Tensor;
    Tensor forward(const Tensor& x, const Tensor& w) { return torch::stable::matmul(x, w); }
    """
    try:
        kernel = li.Kernel("product/stable", cpp=text, api="stable")
        export = li.export(kernel, shell.directory / "product", "load", check=False)
        assert " passed" in type_all(shell, export)
    finally:
        tiny.forget("product")


@pytest.fixture
def kinds() -> Iterator[None]:
    """Have ops of every kind."""
    with registered():
        yield


@pytest.mark.full
@pytest.mark.usefixtures("kinds")
@pytest.mark.parametrize("name", KINDS)
def test_kinds(shell: Shell, name: str) -> None:
    """Ops of every kind that a schema can say are built, and what their packages test of them is right."""
    kernel = registry[f"{name}/cpp"]
    export = li.export(kernel, shell.directory / f"{name}_project", name=name, check=False)
    printed = "\n".join(
        shell.run(command + " --seconds 0.05" * ("benchmark" in command), CXX=QUICK) for _, command in export.commands
    )
    assert " passed" in printed and "failed" not in printed and "speed-up" in printed
    tiny.forget(name)
    (back,) = registry.import_extension(export.path)
    assert back == kernel


@pytest.mark.full
@pytest.mark.usefixtures("kinds")
def test_a_kind_that_is_loaded(shell: Shell) -> None:
    """The package of such an op compiles itself, too."""
    export = li.export("kind_mix/cpp", shell.directory / "loaded", "load", check=False)
    assert " passed" in shell.run(dict(export.commands)["run its tests"], CXX=QUICK)


def test_origin(shell: Shell) -> None:
    """The export says what it came from, and the registry takes it back as the same kernel, by the words of its README too."""
    export = exported(shell, "axpy/aten", "setuptools")
    data = json.loads((export.path / "kernel.json").read_text())
    assert (data["op"], data["how"], data["kernels"][0]["label"]) == ("axpy", "setuptools", "axpy/aten")
    (back,) = li.registry.import_extension(export.path)
    assert back == li.registry["axpy/aten"] and back.revision == 0
    # What its README says that lltm_inline does, as it stands.
    spans = re.findall(r"`(lltm_inline\.[^`]+)`", (export.path / "README.md").read_text())
    found = [eval(span.replace("this directory", str(export.path)), {"lltm_inline": li}) for span in spans]
    assert found == [(back,)]
