"""Torch's headers light: what does with them is compiled so, what does not is compiled with them whole, and both are the same."""

from __future__ import annotations

import secrets
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.compiling import header, inline, light
from lltm_inline.compiling.compiler import Job, make_job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import BuildError
from lltm_inline.model.kernel import Kernel
from lltm_inline.run.cases.case import prime_size
from tests.tiny import registry_as_before
from tests.wild import every

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


def later(*values: Any) -> Any:
    """Leave a case to `make test-all`: no text here is ever in a cache, and another case goes the same way."""
    return pytest.param(*values, marks=pytest.mark.full)


@pytest.fixture
def kernel(tiny: Any) -> Any:
    """Make kernels that do something to their input, of a name that no run of the tests has had before: what it needs is remembered."""
    variant = f"light_{secrets.token_hex(6)}"
    return lambda body, kind="aten": tiny(text=TEXTS[kind].replace("$BODY", body), api="aten", variant=variant)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Write down of each run of a compiler for a kernel how torch's headers were."""
    ways = {light.flags("aten whole"): "whole", light.flags("aten"): "light", light.flags("aten named"): "named"}
    runs: list[str] = []
    call = inline._call_load_inline

    def watched(job: Job, *rest: Any) -> tuple[str, str]:
        if job.interface is not None:  # no helper of ours
            runs.append(ways[light.flags(job.prelude or "")])
        return call(job, *rest)

    monkeypatch.setattr(inline, "_call_load_inline", watched)
    return runs


def test_each_stand_in_stands_in_for_a_header_of_torchs() -> None:
    """A header that torch has moved would be replaced by nobody, and its text compiled whole in silence."""
    from torch.utils.cpp_extension import include_paths

    folders = light.FOLDER, light.FOLDER.with_name("named")
    names = [path.relative_to(folder) for folder in folders for path in folder.rglob("*.h")]
    assert len(names) >= 10
    assert [name for name in names if not any((Path(folder) / name).is_file() for folder in include_paths())] == []


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("aten", "at::cat({x, x}).slice(0, 0, x.size(0)) * FACTOR"),
        later("aten", "([&] { at::DeviceGuard guard(x.device()); return x * FACTOR; })()"),
        ("aten", "([&] { std::ostringstream told; told << x << x.sizes(); return x * FACTOR; })()"),
        later("types", "x * torch::full({1}, FACTOR, x.options())"),
        later("types", "x * torch::tensor({double(FACTOR)}).to(torch::kFloat32)"),
        (
            "types",
            "([&] { torch::NoGradGuard guard; return x * torch::ones({1}, torch::requires_grad()).detach() * FACTOR; })()",
        ),
    ],
)
def test_most_texts_do_with_light_headers(kind: str, body: str, kernel: Any, compiled: list[str]) -> None:
    """Operators, factories, formatting: with torch's headers light, and once."""
    x = torch.randn(5)
    assert torch.equal(li.load(kernel(body, kind), progress=False)(x), x * 2)
    assert compiled == ["light"]


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize(
    "body",
    [
        later("at::globalContext().deterministicAlgorithms() ? x : x * FACTOR"),
        "x.index({at::indexing::Slice(0, x.size(0))}) * FACTOR",
        later("x.index({at::arange(x.size(0))}) * FACTOR"),
        later("at::index(x, c10::List<std::optional<at::Tensor>>({at::arange(x.size(0))})) * FACTOR"),
        later("([&] { c10::List<at::Tensor> list; list.push_back(x); return list.get(0) * FACTOR; })()"),
        "([&] { c10::IValue value(x); return value.toTensor() * FACTOR; })()",
        later('([&] { at::checkDim("forward", at::TensorArg(x, "x", 1), 1); return x * FACTOR; })()'),
    ],
)
def test_others_get_them_whole(body: str, kernel: Any, compiled: list[str]) -> None:
    """What is left out is no reason for a right text to be refused; the next edit of such a kernel has the headers whole at once."""
    x, first = torch.randn(5), kernel(body)
    assert torch.equal(li.load(first, progress=False)(x), x * 2)
    assert compiled == ["light", "whole"]
    edit = first.edit("return d_y * FACTOR;", "return FACTOR * d_y;")
    assert torch.equal(li.load(edit, progress=False)(x), x * 2)
    assert compiled == ["light", "whole", "whole"]


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize(
    "body",
    ["at::sigmod(x)", "x * FACTORY", *map(later, ("x.adde(x)", "at::add(x, x, x, x, x)", "x * FACTOR; return"))],
)
def test_mistakes_are_told_once_and_as_ever(
    body: str, kernel: Any, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no header knows is compiled once; what is said of it does not hang on how torch's headers are."""
    with pytest.raises(BuildError) as error:
        li.build(kernel(body), progress=False)
    assert compiled == ["light"]
    monkeypatch.setattr(light, "LIGHT", ())
    with pytest.raises(BuildError) as whole:
        li.build(kernel(f"{body} /**/"), progress=False)
    assert compiled == ["light", "whole"]
    assert [(one.line, one.message, one.help) for one in error.value.diagnostics] == [
        (one.line, one.message, one.help) for one in whole.value.diagnostics
    ]


#: No precompiled header, as the first time on a machine.
NO_HEADER = header, "header_flags", lambda toolchain, prelude, **begin: ()


@pytest.fixture
def no_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile as the first time on a machine."""
    monkeypatch.setattr(*NO_HEADER)


@pytest.mark.usefixtures("quick_compiler", "no_header")
@pytest.mark.parametrize(
    ("kind", "body", "runs"),
    [
        ("aten", "at::cat({x, x}).slice(0, 0, x.size(0)) * FACTOR", ["named"]),
        later("aten", "([&] { using namespace at; return mul(abs(x), sign(x)) * FACTOR; })()", ["named"]),
        ("types", "x * torch::full({1}, FACTOR, x.options())", ["named"]),
        later("types", "x * torch::tensor({double(FACTOR)}).to(torch::kFloat32)", ["named"]),
        later(
            "types",
            "([&] { namespace t = torch; return x * t::full({1}, double(FACTOR), t::requires_grad()).detach(); })()",
            ["named"],
        ),
        later(
            "types", "x * (FACTOR * at::vec::Vectorized<float>::size() / at::vec::Vectorized<float>::size())", ["named"]
        ),
        later("types", "\n#define PUT(a, b) a##b\ntorch::PUT(sin, h)(x * 0) + x * FACTOR", ["named", "light"]),
        ("aten", "x.index({at::indexing::Slice(0, x.size(0))}) * FACTOR", ["named", "light", "whole"]),
    ],
)
def test_the_first_time_the_functions_that_a_text_names_do(
    kind: str, body: str, runs: list[str], kernel: Any, compiled: list[str]
) -> None:
    """Without a precompiled header the headers of all the others are left out, and read where they are missing."""
    x = torch.randn(5)
    assert torch.equal(li.load(kernel(body, kind), progress=False)(x), x * 2)
    assert compiled == runs


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("at::empty_like(x)", []),
        ("torch::sin(x)", []),
        ("torch :: empty_like(x)", ["-DNAMES_FACTORIES"]),
        ("([&] { using namespace torch; return empty_like(x); })()", ["-DNAMES_FACTORIES"]),
        ("\n#define PUT(a, b) a##b\ntorch::PUT(emp, ty)({1})", ["-DNAMES_FACTORIES"]),
        ("x * int64_t(at::vec::Vectorized<float>::size())", ["-DNAMES_VEC"]),
    ],
)
def test_the_first_time_what_makes_tensors_is_read_where_it_is_named(body: str, read: list[str], kernel: Any) -> None:
    """torch:: has functions of its own that make tensors, and at:: has the same, which forget requires_grad: they must not be mixed up."""
    job = make_job(kernel(body, "types"), find_toolchain())
    assert [flag for flag in light.named(job).flags if flag.startswith("-DNAMES")] == read


@pytest.mark.usefixtures("quick_compiler", "no_header")
def test_a_mistake_of_the_first_text_is_told_as_ever(kernel: Any, compiled: list[str]) -> None:
    """The compiler proposes a function that the text does not name."""
    with pytest.raises(BuildError, match=r"Did you mean 'at::sigmoid'\?"):
        li.build(kernel("at::sigmod(x)"), progress=False)
    assert compiled == ["named", "light"]


WAYS = {"light": (light, "LIGHT", light.LIGHT), "whole": (light, "LIGHT", ()), "named": NO_HEADER}
WILD = {snippet.name: snippet for snippet in every() if snippet.device == "cpu" and not snippet.refused}
SHIPPED = [name for name, kernel in li.registry.items() if kernel.cpp and not kernel.cuda and kernel.api == "aten"]


def results(kernel: Kernel, inputs: list[Any], ways: tuple[str, ...]) -> list[Any]:
    """Run a kernel with torch's headers in each of these ways, on inputs of its own and the same random numbers."""
    found = []
    for way in ways:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(*WAYS[way])
            one = li.load(kernel.replace(cpp=f"{kernel.cpp}\n// {way} {secrets.token_hex(6)}"), progress=False)
        torch.manual_seed(0)
        given = deepcopy(inputs)
        found.append((one(*given), given))
    return found


@pytest.mark.full
@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize("name", SHIPPED)
def test_each_way_computes_the_same(name: str, compiled: list[str]) -> None:
    """Kernels that ship, bit for bit."""
    op = li.registry.ops[li.registry[name].op]
    inputs = op.make_inputs(torch.randn, prime_size(op))
    first, *others = results(li.registry[name], list(inputs), tuple(WAYS))
    whole = ["whole"] * len(WAYS)
    assert compiled in (list(WAYS), whole, ["light", *whole]), "where light ones do not do, that is remembered"
    for other in others:
        torch.testing.assert_close(other, first, rtol=0, atol=0, equal_nan=True)


@pytest.mark.full
@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize("name", WILD)
def test_a_published_text_computes_the_same(name: str, compiled: list[str]) -> None:
    """Bit for bit, what it writes into its inputs too. One that needs the headers whole gets them, and is no other text then."""
    snippet = WILD[name]
    with registry_as_before():
        made = li.from_load_inline(**snippet.given, reference=snippet.reference, inputs=snippet.inputs, **snippet.more)
        kernel = made[0] if isinstance(made, tuple) else made
        inputs = next(iter(snippet.inputs.values())) if isinstance(snippet.inputs, dict) else snippet.inputs
        if callable(inputs):
            op = li.registry.op_of(kernel)
            inputs = op.make_inputs(torch.randn, prime_size(op))
        light_one, whole = results(kernel, list(inputs), ("light", "whole"))
    assert compiled[-1] == "whole" and {*compiled} <= {"light", "whole"}
    torch.testing.assert_close(light_one, whole, rtol=0, atol=0, equal_nan=True)
