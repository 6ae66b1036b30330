"""What `li.export` refuses before anything is built or written, in these words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline.errors import CheckError, DefinitionError, FileError, InputError, SignatureError, UnknownKernelError
from lltm_inline.export import planning
from lltm_inline.export.planning import require_name
from tests import tiny
from tests.needs import needs


@pytest.fixture(autouse=True)
def _tiny() -> Iterator[None]:
    """Have the op for the time of a test."""
    tiny.register()
    yield
    tiny.forget("tiny")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Lltm", "want lower-case letters"),
        ("1st", "want lower-case letters"),
        ("lltm-fused", "want lower-case letters"),
        ("two__lines", "want lower-case letters"),
        ("ends_", "want lower-case letters"),
        ("a" * 65, "at most 64"),
        ("", "want lower-case letters"),
        ("class", "it is a word of C++ or Python"),
        ("double", "it is a word of C++ or Python"),
        ("torch", "PyTorch or C++ has a namespace of that name"),
        ("json", "Python has a module of that name"),
        ("tests", "torch, or a file of the export, has that name"),
        ("aten", "torch, or a file of the export, has that name"),
    ],
)
def test_names(name: str, why: str, tmp_path: Path) -> None:
    """A name must do as a package, as a namespace in C++ and as one in `torch.ops`."""
    with pytest.raises(InputError) as caught:
        li.export("axpy/cpp", tmp_path, name=name)
    start = f"name {name!r} cannot be that of a package and a C++ namespace: "
    assert str(caught.value).startswith(start) or len(name) > 64
    assert why in str(caught.value) and str(caught.value).endswith("Give another with name=")


def test_the_usual_name() -> None:
    """The name of every shipped kernel gives one that will do."""
    for kernel in li.registry.values():
        assert require_name(kernel.name.replace("/", "_"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"how": "make"}, "export: how='make', want one of 'setuptools', 'cmake', 'load', 'stable'"),
        ({"to": ""}, "to='', want a path"),
        ({"to": "/"}, "to='/', want a directory below the root of the file system"),
        ({"to": Path("//"), "force": True}, "to='//', want a directory below the root of the file system"),
        ({"header": 3}, "header=3, want a string"),
        ({"header": "a\0b"}, "header holds a NUL character"),
        ({"extras": "B S"}, "extras='B S' is a string, want a tuple of strings"),
        ({"extras": ["N"]}, "extras: 1 given, and the forward of axpy/cpp returns 0 extra tensors"),
        ({"device": "gpu"}, "export: device='gpu', want one of 'cpu', 'cuda'"),
        ({"force": 1}, "force=1, want True or False"),
        ({"check": "no"}, "check='no', want True or False"),
    ],
)
def test_arguments(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Each is named with its value and with what is wanted."""
    given: dict[str, Any] = {"kernel_or_op": "axpy/cpp", "to": tmp_path / "export", "check": False, **arguments}
    with pytest.raises(InputError) as caught:
        li.export(**given)
    assert message in str(caught.value)
    assert not (tmp_path / "export").exists()


@pytest.mark.parametrize(
    ("kernel", "how", "message"),
    [
        (
            "axpy/python",
            "setuptools",
            "kernel 'axpy/python' is a Python function: an export is made of C++ or CUDA texts. "
            "Kernels of op 'axpy': axpy/aten, axpy/cpp, axpy/cuda",
        ),
        (
            "lltm/fused",
            "stable",
            "kernel 'lltm/fused' is made of ATen's headers, whose ABI changes with each torch: how='stable' needs a kernel "
            "with api='stable', such as 'lltm/stable'; how='setuptools' builds this one for the torch it finds",
        ),
        (
            li.registry["axpy/cpp"].replace(binding="pybind11"),
            "cmake",
            "kernel 'axpy/cpp@1' is bound by pybind11, which needs Python: for how='cmake' export "
            "kernel.replace(binding='torch_library')",
        ),
        (
            li.registry["axpy/cpp"].replace(binding="TORCH_LIBRARY(mine, m) {}"),
            "setuptools",
            "has a binding of its own, which fits the playground only. An export writes one from the op's "
            "schema: export kernel.replace(binding='torch_library'), or 'pybind11'",
        ),
    ],
)
def test_kernels_that_do_not_fit(kernel: Any, how: str, message: str, tmp_path: Path) -> None:
    """What cannot be exported this way is refused with the way that it can."""
    with pytest.raises(InputError) as caught:
        li.export(kernel, tmp_path / "export", how)
    assert message.replace("@1", "") in str(caught.value).replace("@1", "").replace("@2", "")
    assert not list(tmp_path.iterdir())


def test_an_unknown_kernel(tmp_path: Path) -> None:
    """The nearest name is told, as everywhere."""
    with pytest.raises(UnknownKernelError, match="Did you mean 'lltm'"):
        li.export("ltm", tmp_path)


def test_a_device_without_a_text(tmp_path: Path) -> None:
    """The kernel's other text is not taken in its place."""
    with pytest.raises(DefinitionError, match="has no cuda text: device 'cuda' needs one"):
        li.export("axpy/cpp", tmp_path / "export", device="cuda")


def test_a_signature_that_does_not_fit(tmp_path: Path) -> None:
    """It is found without a compiler, also where nothing is checked."""
    wrong = tiny.kernel(text=tiny.STABLE.replace("forward(const Tensor& x)", "forward(double x)"))
    with pytest.raises(SignatureError, match="nothing was compiled"):
        li.export(wrong, tmp_path / "export", check=False)


def test_a_directory_that_is_not_empty_costs_no_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused first: nobody waits for a check to be told so."""
    monkeypatch.setattr(planning, "make_plan", None)
    (tmp_path / "mine").touch()
    with pytest.raises(InputError, match="is not empty"):
        li.export("lltm/fused", tmp_path)
    with pytest.raises(FileError, match="is a file"):
        li.export("lltm/fused", tmp_path / "mine")


def test_a_wrong_kernel_is_refused(tmp_path: Path) -> None:
    """The report comes with the error, and the message says what is wrong and how to have it all the same."""
    wrong = tiny.kernel(factor=3)
    with pytest.raises(CheckError) as caught:
        li.export(wrong, tmp_path / "export", progress=False)
    assert str(caught.value).startswith("kernel 'tiny/stable' is wrong, and was not exported: 'tiny/stable' y (")
    assert str(caught.value).endswith("To export it as it is: check=False")
    assert caught.value.report is not None and not caught.value.report.ok
    assert not list(tmp_path.iterdir())
    with pytest.raises(CheckError):
        li.export(wrong, tmp_path / "export", check=caught.value.report)


def test_a_report_saves_the_second_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of this very kernel is believed; one of another is refused."""
    kernel = tiny.kernel()
    report = li.check(kernel, progress=False)
    monkeypatch.setattr(planning, "check_kernel", None)
    assert li.export(kernel, tmp_path / "export", "load", check=report).notes == ()
    with pytest.raises(InputError) as caught:
        li.export(kernel.edit("return times(x, FACTOR)", "return times(x, 2)"), tmp_path / "other", check=report)
    assert str(caught.value) == "check is a report of tiny/stable on cpu, want one of tiny/stable@1 on cpu"


@pytest.mark.full
@needs("that there is no GPU")  # where one is, it is checked there
def test_a_cuda_kernel_where_no_gpu_is(tmp_path: Path) -> None:
    """It is checked on cuda-cpu: a wrong one is refused, and what cuda-cpu cannot run is said to be unchecked."""
    extern = li.registry["lltm/cuda_extern"]
    more: dict[str, Any] = {"extras": ["B 3S"], "progress": False}
    [note] = [note for note in li.export(extern, tmp_path / "right", **more).notes if "no GPU" in note]
    assert re.search(r"was (not )?compiled for cuda.*, and checked on cuda-cpu: this machine has no GPU$", note)
    wrong = extern.replace(cuda=extern.cuda.replace("exp(-z))", "exp(z))"))
    with pytest.raises(CheckError, match="is wrong, and was not exported"):
        li.export(wrong, tmp_path / "wrong", **more)
    refused = extern.replace(cuda=extern.cuda.replace("return 1 / (1", 'asm(""); return 1 / (1'))
    [note] = [note for note in li.export(refused, tmp_path / "refused", **more).notes if "no GPU" in note]
    assert "but not checked" in note and "device 'cuda-cpu' cannot run" in note


def test_an_unchecked_kernel_is_marked(tmp_path: Path) -> None:
    """What was exported unchecked says so, in the result and in its README."""
    exported = li.export(tiny.kernel(factor=3), tmp_path / "export", check=False)
    assert exported.notes == ("tiny/stable was exported unchecked",)
    assert exported.notes[0] in (exported.path / "README.md").read_text()
    assert exported.notes[0] in str(exported) and exported.notes[0] in exported._repr_html_()


@pytest.mark.parametrize("name", ["run", "torch", "import", "reference"])
def test_names_of_ops(name: str, tmp_path: Path) -> None:
    """The op's function bears its name in files that have names of their own."""
    tiny.forget(name)
    li.registry.register(li.Op(name, "(Tensor x) -> Tensor y", tiny.reference, {"x": "N", "y": "N"}))
    with pytest.raises(InputError, match=f"^op '{name}' cannot be exported under this name, which C"):
        li.export(li.Kernel(f"{name}/aten", cpp=tiny.STABLE, api="stable"), tmp_path, name="mine", check=False)
    tiny.forget(name)


def test_an_op_without_sizes_is_timed_at_usual_ones(tmp_path: Path) -> None:
    """The benchmark of an op that says no sizes has a small and a large one."""
    export = li.export(tiny.kernel(), tmp_path / "export", "load", check=False, extras=[])
    assert '{"N": 1000}' in (export.path / "tiny_stable" / "reference.py").read_text()
    assert '{"N": 1000000}' in (export.path / "tiny_stable" / "reference.py").read_text()
