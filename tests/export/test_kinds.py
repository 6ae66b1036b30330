"""Exports of ops of every kind that a schema can say: the files that are written, and that they come back."""

from __future__ import annotations

import ast
import json
import runpy
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import torch

import lltm_inline as li
from lltm_inline.errors import DefinitionError, InputError
from lltm_inline.model.registry import Kernel, Op, registry
from tests import tiny
from tests.needs import program
from tests.planted.contract import KINDS, Kind, registered

#: The one that `make test` holds; `make test-all` holds all. `test_golden.py` builds them.
SHORT = "kind_rows"
ALL = [pytest.param(kind, marks=() if name == SHORT else pytest.mark.full, id=name) for name, kind in KINDS.items()]


@pytest.fixture(autouse=True)
def _kinds() -> Iterator[None]:
    """Have the ops for the time of a test."""
    with registered():
        yield


@pytest.mark.parametrize("kind", ALL)
def test_the_files(kind: Kind, tmp_path: Path) -> None:
    """Every file is complete: Python that ruff has nothing against, no slot left, no line too long."""
    for how in ("setuptools", "load"):
        exported = li.export(kind.kernel, tmp_path / how, how, check=False)
        for path in exported.files:
            text = (exported.path / path).read_text()
            assert "{{" not in text and "{%" not in text and text.endswith("\n") and not text.endswith("\n\n"), path
            if path.endswith(".py"):
                ast.parse(text)
                assert max(map(len, text.split("\n"))) <= 120, path
        for verb in (["check"], ["format", "--check"]) if program("ruff") else ():
            done = subprocess.run(
                [program("ruff"), *verb, "."], cwd=exported.path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kind", ALL)
def test_the_op_comes_back(kind: Kind, tmp_path: Path) -> None:
    """Where nobody has registered the op, the export brings it along, and can be exported again."""
    li.export(kind.kernel, tmp_path / "first", name="same", check=False)
    tiny.forget(kind.op.name)
    (kernel,) = registry.import_extension(tmp_path / "first")
    op = registry.op_of(kernel)
    assert kernel == kind.kernel
    functions = ("reference", "inputs", "cost")
    for field in fields(Op):
        assert field.name in functions or getattr(op, field.name) == getattr(kind.op, field.name), field.name
    li.export(kernel, tmp_path / "second", name="same", check=False)
    first, second = (json.loads((tmp_path / name / "kernel.json").read_text()) for name in ("first", "second"))
    assert first == second
    (tmp_path / "first" / "same" / "reference.py").write_text("import no_such_module\n")
    tiny.forget(kind.op.name)
    with pytest.raises(
        DefinitionError, match=r"reference.py' makes no op: ModuleNotFoundError: No module named 'no_such"
    ):
        registry.import_extension(tmp_path / "first")


@pytest.mark.parametrize(
    ("changes", "how", "message", "cure"),
    [
        (
            {},
            "cmake",
            "cannot be exported with how='cmake', whose C++ program "
            "knows tensors of one dtype, numbers, and gradients of all tensors only: "
            "its schema has 'Tensor[int64] index'. "
            "Use how='setuptools' or 'load'",
            {"how": "load"},
        ),
        (
            {"binding": "pybind11"},
            "setuptools",
            "is bound by pybind11, where an export "
            "knows tensors of one dtype, numbers, and gradients of all tensors only: "
            "its schema has 'Tensor[int64] index'. "
            "To export it, export kernel.replace(binding='torch_library')",
            {"binding": "torch_library"},
        ),
        (
            {"cuda": KINDS["kind_rows"].kernel.cpp},
            "setuptools",
            "is exported for one device (its schema has 'Tensor[int64] index'): give device='cpu' or 'cuda'",
            {"device": "cpu"},
        ),
    ],
)
def test_ways_that_are_refused(
    changes: dict[str, str], how: str, message: str, cure: dict[str, str], tmp_path: Path
) -> None:
    """What cannot be exported this way is refused with why, and with the way that it can."""
    kernel = registry["kind_rows/cpp"].replace(**changes)
    with pytest.raises(InputError) as caught:
        li.export(kernel, tmp_path / "export", how, check=False)
    assert str(caught.value).endswith(message)
    assert not list(tmp_path.iterdir())
    cured = kernel.replace(binding=cure["binding"]) if "binding" in cure else kernel
    exported = li.export(cured, tmp_path / "export", cure.get("how", how), device=cure.get("device"), check=False)
    assert "csrc/cpu_kernel.cpp" in exported.files


def test_a_stable_kernel_with_other_names_is_refused(tmp_path: Path) -> None:
    """On the stable ABI an export has no other way than to call them forward and backward."""
    tiny.register()
    text = tiny.STABLE.replace("Tensor forward(", "Tensor doubled(")
    kernel = Kernel("tiny/named", cpp=text, api="stable", params={"FACTOR": 2}, functions=("doubled", "backward"))
    with pytest.raises(
        InputError, match=r"on the stable ABI, .*: its functions are doubled and backward\. .* with ATen$"
    ):
        li.export(kernel, tmp_path / "export", check=False)
    tiny.forget("tiny")


def test_a_snippet_leaves_with_what_draws_its_inputs(tmp_path: Path) -> None:
    """Of an example the export has expressions that draw the same numbers, and a reference that writes where the snippet does."""
    text = """
void taken(torch::Tensor out, torch::Tensor x, torch::Tensor index, int64_t n) { out.copy_(x.index_select(0, index)); }
"""
    inputs = torch.zeros(4, 5), torch.rand(7, 5), torch.tensor([0, 6, 3, 3]), 4
    kernel = li.from_load_inline(
        "ext", text, functions=["taken"], reference=lambda out, x, index, n: x[index], inputs=inputs
    )
    op = registry.op_of(kernel)
    try:
        li.export(kernel, tmp_path / "export", name="same", check=False)
        written = (tmp_path / "export" / "csrc" / "cpu_kernel.cpp").read_text()
        assert written.index("<torch/extension.h>") < written.index(
            "torch::Tensor"
        )  # as load_inline puts it before all
        names = runpy.run_path(str(tmp_path / "export" / "same" / "reference.py"))
        size = dict(zip(op.letters, range(3, 9), strict=False))
        drawn = []
        for make in (op.inputs, names["make_inputs"]):
            torch.manual_seed(0)
            drawn.append(make(torch.randn, **size))
        torch.testing.assert_close(*drawn, rtol=0, atol=0)
        out, x, index, _ = drawn[1]
        assert x.min() >= 0 and x.max() <= 1 and index.dtype == torch.int64 and index.max() < len(x)
        assert names["reference"](*drawn[1]) is None
        torch.testing.assert_close(out, x[index])
    finally:
        tiny.forget("taken")
