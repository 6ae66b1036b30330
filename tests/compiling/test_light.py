"""Torch's headers light: what does with them is compiled so, what does not is compiled with them whole, and both are the same."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.compiling import inline, light
from lltm_inline.compiling.compiler import Job
from lltm_inline.errors import BuildError

#: In each a slot for what is done to `x` on the way.
TEXTS = {
    "aten": """
#include <ATen/ATen.h>
at::Tensor forward(const at::Tensor& x) { return $BODY; }
at::Tensor backward(const at::Tensor& d_y, std::array<bool, 1> wanted) { return d_y * FACTOR; }
""",
    "types": """
#include <torch/extension.h>
torch::Tensor forward(torch::Tensor x) { return $BODY; }
torch::Tensor backward(torch::Tensor d_y, std::array<bool, 1> wanted) { return d_y * FACTOR; }
""",
}


@pytest.fixture
def kernel(tiny: Any) -> Any:
    """Make kernels that do something to their input, of a name that no run of the tests has had before: what it needs is remembered."""
    variant = f"light_{secrets.token_hex(6)}"
    return lambda body, kind="aten": tiny(text=TEXTS[kind].replace("$BODY", body), api="aten", variant=variant)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Write down of each run of a compiler whether torch's headers were light."""
    runs: list[bool] = []
    call = inline._call_load_inline

    def watched(job: Job, *rest: Any) -> tuple[str, str]:
        runs.append(bool(light.flags(job.prelude or "")))
        return call(job, *rest)

    monkeypatch.setattr(inline, "_call_load_inline", watched)
    return runs


def test_each_stand_in_stands_in_for_a_header_of_torchs() -> None:
    """A header that torch has moved would be replaced by nobody, and its text compiled whole in silence."""
    from torch.utils.cpp_extension import include_paths

    names = [path.relative_to(light.FOLDER) for path in light.FOLDER.rglob("*.h")]
    assert len(names) >= 7
    assert [name for name in names if not any((Path(folder) / name).is_file() for folder in include_paths())] == []


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("aten", "at::cat({x, x}).slice(0, 0, x.size(0)) * FACTOR"),
        ("aten", "([&] { at::DeviceGuard guard(x.device()); return x * FACTOR; })()"),
        ("aten", "([&] { std::ostringstream told; told << x << x.sizes(); return x * FACTOR; })()"),
        ("types", "x * torch::full({1}, FACTOR, x.options())"),
        ("types", "x * torch::tensor({double(FACTOR)}).to(torch::kFloat32)"),
        (
            "types",
            "([&] { torch::NoGradGuard guard; return x * torch::ones({1}, torch::requires_grad()).detach() * FACTOR; })()",
        ),
    ],
)
def test_most_texts_do_with_light_headers(kind: str, body: str, kernel: Any, compiled: list[bool]) -> None:
    """Operators, factories, formatting: with torch's headers light, and once."""
    x = torch.randn(5)
    assert torch.equal(li.load(kernel(body, kind), progress=False)(x), x * 2)
    assert compiled == [True]


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize(
    "body",
    [
        "at::globalContext().deterministicAlgorithms() ? x : x * FACTOR",
        "x.index({at::indexing::Slice(0, x.size(0))}) * FACTOR",
        "x.index({at::arange(x.size(0))}) * FACTOR",
        "at::index(x, c10::List<std::optional<at::Tensor>>({at::arange(x.size(0))})) * FACTOR",
        "([&] { c10::List<at::Tensor> list; list.push_back(x); return list.get(0) * FACTOR; })()",
        "([&] { c10::IValue value(x); return value.toTensor() * FACTOR; })()",
        '([&] { at::checkDim("forward", at::TensorArg(x, "x", 1), 1); return x * FACTOR; })()',
    ],
)
def test_others_get_them_whole(body: str, kernel: Any, compiled: list[bool]) -> None:
    """What is left out is no reason for a right text to be refused; the next edit of such a kernel has the headers whole at once."""
    x = torch.randn(5)
    assert torch.equal(li.load(kernel(body), progress=False)(x), x * 2)
    assert compiled == [True, False]
    assert torch.equal(li.load(kernel(f"{body} + 1"), progress=False)(x), x * 2 + 1)
    assert compiled == [True, False, False]


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize(
    "body",
    ["at::sigmod(x)", "x * FACTORY", "x.adde(x)", "at::add(x, x, x, x, x)", "x * FACTOR; return"],
)
def test_mistakes_are_told_once_and_as_ever(
    body: str, kernel: Any, compiled: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no header knows is compiled once; what is said of it does not hang on how torch's headers are."""
    with pytest.raises(BuildError) as error:
        li.build(kernel(body), progress=False)
    assert compiled == [True]
    monkeypatch.setattr(light, "LIGHT", ())
    with pytest.raises(BuildError) as whole:
        li.build(kernel(f"{body} /**/"), progress=False)
    assert compiled == [True, False]
    assert [(one.line, one.message, one.help) for one in error.value.diagnostics] == [
        (one.line, one.message, one.help) for one in whole.value.diagnostics
    ]


@pytest.mark.full
@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize("name", ["axpy/aten", "batch_norm2d/aten", "lltm/aten", "lltm/fused", "trace/accessor"])
def test_light_and_whole_compute_the_same(name: str, compiled: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that ship, bit for bit."""
    plain = li.registry[name]
    op, token = li.registry.ops[plain.op], secrets.token_hex(6)
    inputs = op.make_inputs(torch.randn, tuple(range(3, 3 + len(op.letters))))
    results = [li.load(plain.replace(cpp=f"{plain.cpp}\n// light {token}"), progress=False)(*inputs)]
    monkeypatch.setattr(light, "LIGHT", ())
    results.append(li.load(plain.replace(cpp=f"{plain.cpp}\n// whole {token}"), progress=False)(*inputs))
    assert compiled == [True, False]
    light_ones, whole_ones = ((one,) if isinstance(one, torch.Tensor) else one for one in results)
    assert all(map(torch.equal, light_ones, whole_ones))
