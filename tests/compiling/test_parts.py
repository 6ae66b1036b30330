"""A text and its binding are compiled apart from the third edit on; where they cannot be, and whatever is wrong, nothing else changes."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.compiling import cache, compiler, header
from lltm_inline.compiling.compiler import Job, make_job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import BuildError, InputError

TEXT = """
#include <ATen/ATen.h>
$BEFORE
$STATIC at::Tensor forward(const at::Tensor& x) { return $BODY; }
at::Tensor backward(const at::Tensor& d_y, std::array<bool, 1> wanted) { return d_y * FACTOR; }
"""


@pytest.fixture
def kernel(tiny: Any) -> Any:
    """Make kernels of an op whose binding no run of the tests has compiled before."""
    name = f"parts_{secrets.token_hex(6)}"

    def make(body: str = "x * FACTOR", before: str = "", static: str = "", variant: str = "first") -> Any:
        text = TEXT.replace("$BODY", body).replace("$BEFORE", f"// {name}\n{before}").replace("$STATIC", static)
        return tiny(text=text, api="aten", variant=f"{name}_{variant}")

    return make


@pytest.fixture
def compiled(quick_compiler: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write down what the compiler is run for, where there is a precompiled header."""
    runs: list[str] = []
    call = compiler.compile_job

    def watched(job: Job, directory: Path, objects: Any = ()) -> tuple[str, str]:
        if job.interface is not None:
            runs.append("binding" if "(binding)" in job.label else "alone" if objects else "whole")
        return call(job, directory, objects)

    monkeypatch.setattr(compiler, "compile_job", watched)
    mark = cache.mark
    monkeypatch.setattr(cache, "mark", lambda *what: what[0] == "asked" or mark(*what))
    assert header.wait(find_toolchain(), "aten")
    return runs


def runs_of(compiled: list[str]) -> list[str]:
    """Return what ran, and begin anew; what runs side by side comes in the order of the alphabet."""
    runs, compiled[:] = sorted(compiled), []
    return runs


def test_an_edit_compiles_the_users_text_alone(kernel: Any, compiled: list[str]) -> None:
    """The gradient is that of the text, and so is the refusal."""
    li.load(kernel(), progress=False)
    compiled.clear()
    x = torch.randn(5, requires_grad=True)
    function = li.load(kernel("x * FACTOR + 1"), progress=False)
    assert runs_of(compiled) == ["alone"]
    y = function(x)
    y.sum().backward()
    assert torch.equal(y, x * 2 + 1)
    assert x.grad is not None
    assert torch.equal(x.grad, torch.full_like(x, 2))
    with pytest.raises((InputError, RuntimeError), match=r"tiny/parts_\w+_first: x is "):
        function(torch.ones(5, dtype=torch.int64))


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("using Matrix = at::Tensor;\n#define NOTHING", "Matrix(x) * FACTOR"),
        ("namespace { at::Tensor helper(const at::Tensor& x) { return x * FACTOR; } }", "helper(x)"),
        ("static int64_t calls = 0;", "(++calls, x * FACTOR)"),
    ],
)
def test_what_a_text_has_besides_stays_its_own(before: str, body: str, kernel: Any, compiled: list[str]) -> None:
    """Names for types, helpers, globals: the binding knows the functions alone."""
    x = torch.randn(5)
    li.load(kernel(), progress=False)
    compiled.clear()
    assert torch.equal(li.load(kernel(body, before), progress=False)(x), x * 2)
    assert runs_of(compiled) == ["alone"]


@pytest.mark.parametrize(
    ("static", "before"),
    [("static", ""), ("inline", ""), ("template <int = 0>", ""), ("", "#define bool int")],
)
def test_what_cannot_be_linked_is_compiled_whole(static: str, before: str, kernel: Any, compiled: list[str]) -> None:
    """A function that no other file sees, a type that a macro makes: found out once, and known at the next edit."""
    x = torch.randn(5)
    li.load(kernel(), progress=False)
    compiled.clear()
    assert torch.equal(li.load(kernel(before=before, static=static, variant="other"), progress=False)(x), x * 2)
    assert runs_of(compiled) == ["alone", "whole"]
    edit = kernel("x * FACTOR + 1", before, static, "other")
    assert torch.equal(li.load(edit, progress=False)(x), x * 2 + 1)
    assert runs_of(compiled) == ["whole"]


@pytest.mark.parametrize(
    "body", ["x * FACTORY", "x.adde(x)", "x * FACTOR; return", "helper(x)", "std::make_tuple(x, x)", "x * FACTOR; }"]
)
def test_mistakes_are_told_as_of_the_whole_text(
    body: str, kernel: Any, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line, message and help are the same, and the next text without the mistake is compiled alone."""
    x = torch.randn(5)
    li.load(kernel(), progress=False)
    declared = "at::Tensor helper(const at::Tensor& x);"  # and defined nowhere
    with pytest.raises(BuildError) as alone:
        li.build(kernel(body, declared), progress=False)
    assert "alone" in runs_of(compiled)
    assert torch.equal(li.load(kernel("x * FACTOR + 2"), progress=False)(x), x * 2 + 2)
    assert runs_of(compiled) == ["alone"]
    monkeypatch.setattr(compiler, "_binding_of", lambda job: None)
    with pytest.raises(BuildError) as whole:
        li.build(kernel(f"{body} /**/", declared), progress=False)
    assert runs_of(compiled) == ["whole"]
    assert [(one.line, one.message, one.help) for one in alone.value.diagnostics] == [
        (one.line, one.message, one.help) for one in whole.value.diagnostics
    ]


def test_kernels_of_an_op_share_a_binding_and_keep_their_names(kernel: Any, compiled: list[str]) -> None:
    """Who refuses an input says whose it was."""
    li.load(kernel(), progress=False)
    compiled.clear()
    functions = [li.load(kernel("x * FACTOR + 3", variant=name), progress=False) for name in ("one", "two")]
    assert runs_of(compiled) == ["alone", "alone"]
    for function, name in zip(functions, ("one", "two"), strict=True):
        with pytest.raises((InputError, RuntimeError), match=rf"_{name}: x is "):
            function(torch.ones(5, dtype=torch.int64))


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["axpy/cpp", "batch_norm2d/aten", "lltm/aten", "lltm/fused", "lltm/stable", "trace/accessor"]
)
def test_both_ways_compute_the_same(name: str, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that ship, bit for bit, with their gradients."""
    plain = li.registry[name]
    op, token = li.registry.ops[plain.op], secrets.token_hex(6)
    inputs = op.make_inputs(torch.randn, tuple(range(3, 3 + len(op.letters))))
    found, runs = [], []
    assert header.wait(find_toolchain(), make_job(plain, find_toolchain()).prelude or "")
    for way in ("first", "alone", "whole"):
        if way == "whole":
            monkeypatch.setattr(compiler, "_binding_of", lambda job: None)
        function = li.load(plain.replace(cpp=f"{plain.cpp}\n// {way} {token}"), progress=False)
        runs.append(runs_of(compiled))
        taken = [x.clone().requires_grad_(x.is_floating_point()) if isinstance(x, torch.Tensor) else x for x in inputs]
        results = function(*taken)
        results = (results,) if isinstance(results, torch.Tensor) else results
        sum(y.sum() for y in results).backward()
        found.append([*results, *(x.grad for x in taken if isinstance(x, torch.Tensor) and x.grad is not None)])
    assert runs[1:] == [["alone"], ["whole"]]
    assert all(all(map(torch.equal, found[0], other)) for other in found[1:])
