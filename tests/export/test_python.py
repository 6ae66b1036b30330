"""The Python package of an export: fakes like the playground's own, autograd in Python, a module, and files fit to be read.

Nothing is compiled here: where a package has its library, these tests put operators that are made in Python.
"""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

import lltm_inline as li
from lltm_inline.errors import InputError
from lltm_inline.export.fake import letters_from, output_dtypes
from lltm_inline.export.plan import Extra, Part, Plan
from lltm_inline.export.python import module_arguments, python_files
from lltm_inline.model.registry import Kernel, Op
from lltm_inline.model.shapes import Shape
from lltm_inline.run.cases.case import Case, prime_size
from lltm_inline.run.cases.drawing import make_inputs
from lltm_inline.run.fake import Fake
from lltm_inline.source.binding import schemas
from lltm_inline.source.signature import backward_arguments
from lltm_inline.source.template import devices_of, render
from tests.needs import needs, program

#: The extra tensors of the shipped kernels, in letters of their ops.
EXTRAS = {
    "batch_norm2d/aten": ["3 C"],
    "conv_bn/unfused": ["B O H-K+1 W-L+1", "3 O"],
    "conv_bn/fused": ["3 O"],
    "graph_conv/aten": ["N F"],
    "graph_conv/fused": ["N 2O"],
    "lltm/aten": ["B S+F", "B S", "B S", "B S"],
    "trace/accessor": ["R C 0"],
} | {f"lltm/{name}": ["B 3S"] for name in ("fused", "stable", "onednn", "cuda", "cuda_accessor", "cuda_extern")}
KERNELS = [name for name, kernel in li.registry.items() if kernel.python is None and kernel.binding == "torch_library"]

#: An op with an optional input and a number; its kernels are never compiled.
AFFINE = Op(
    "affine",
    "(Tensor x, Tensor weight, Tensor? bias=None, float c=2) -> (Tensor y, Tensor z)",
    reference=lambda x, weight, bias=None, c=2.0: (
        c * (x @ weight.t() if bias is None else x @ weight.t() + bias),
        x @ weight.t(),
    ),
    shapes={"x": "B I", "weight": "O I", "bias": "O", "y": "B O", "z": "B O"},
    inputs=lambda randn, B, I, O: (randn(B, I), randn(O, I), randn(O), 3.0),  # noqa: E741  (the letters of ops)
    parameters=("weight", "bias"),
)
_AFFINE = """
std::tuple<T, T, T> forward(const T& x, const T& weight, const std::optional<T>& bias, double c) { return {}; }
std::tuple<T, T, T> backward(
    const T& d_y, const T& d_z, const T& x, const T& weight, double c, const T& signs, std::array<bool, 3> wanted) {
  return {};
}
"""

_numbers = count(1)


def plan_of(kernel: Kernel, op: Op | None = None, extras: Sequence[str | None] | None = None, **fields: Any) -> Plan:
    """Make the plan of an export whose name no other test has."""
    op = op or li.registry.op_of(kernel)
    device = devices_of(kernel)[0]
    interface = render(kernel, op, device).interface
    assert not interface.problems
    style = "stable" if kernel.api == "stable" else "pybind11" if kernel.binding == "pybind11" else "library"
    shapes = EXTRAS.get(kernel.name, []) if extras is None else extras
    return Plan(
        op,
        (Part(kernel, device, interface),),
        "setuptools",
        style,
        f"{kernel.name.replace('/', '_')}_{next(_numbers)}",
        tuple(Extra(None if shape is None else Shape.parse(shape)) for shape in shapes),
        **fields,
    )


def affine(api: str = "stable", binding: str = "torch_library") -> Plan:
    """Make the plan of an export of `affine`."""
    text = re.sub(r"\bT\b", "torch::stable::Tensor" if api == "stable" else "at::Tensor", _AFFINE)
    kernel = Kernel("affine/made", cpp=text, api=api, binding=binding, saves=("x", "weight", "c"))
    return plan_of(kernel, AFFINE, ["B O"])


_LIBRARY = """\
import torch

library = torch.library.Library("{name}", "DEF")
for schema in {schemas}:
    library.define(schema)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Import the package of a plan, over operators without code or a compiled module that is none."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def make(plan: Plan, extension: Any = None) -> ModuleType:
        for path, text in python_files(plan).items():
            file = tmp_path / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        op = plan.op.name
        spelled = schemas(plan.kernel, plan.op, plan.interface)
        named = {"forward": f"{op}_forward", "backward": f"{op}_backward", "call": op}
        defined = [named[kind] + schema[len(kind) :] for kind, schema in spelled.items()]
        (tmp_path / plan.name / "_library.py").write_text(_LIBRARY.format(name=plan.name, schemas=defined))
        if extension is not None:
            module = ModuleType(f"{plan.name}._library")
            module.extension = extension  # type: ignore[attr-defined]
            sys.modules[module.__name__] = module
        importlib.invalidate_caches()
        return importlib.import_module(plan.name)

    yield make
    for name in set(sys.modules) - before:
        if (sys.modules[name].__dict__.get("__file__") or "").startswith(str(tmp_path)) or name.endswith("._library"):
            del sys.modules[name]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return one result or several as a tuple."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def kind(value: Any) -> Any:
    """Return what a fake tells of a tensor."""
    return value if value is None else (tuple(value.shape), value.dtype, value.stride())


@pytest.mark.parametrize("name", KERNELS)
def test_fakes_are_the_playgrounds(name: str, package: Callable[..., ModuleType]) -> None:
    """Each written fake kernel gives shapes, dtypes and strides that the playground's computed one gives, at several sizes."""
    kernel = li.registry[name]
    plan = plan_of(kernel)
    if not plan.interface.has_backward:  # it is traced through ATen
        assert "register_fake" not in python_files(plan)[f"{plan.name}/ops.py"]
        return
    ops = importlib.import_module(f"{package(plan).__name__}.ops")
    op = plan.op

    def run(*inputs: Any) -> tuple[Tensor, ...]:
        """Stand for the kernel: the reference's outputs, and extra tensors of the shapes above."""
        named = {a.name: value for a, value in zip(op.signature.inputs, inputs, strict=True)}
        sizes = letter_values(op, named)
        like = inputs[0]
        return (
            *op.run_reference(*inputs),
            *(like.new_empty(extra.shape(sizes)) for extra in plan.extras if extra.shape),
        )

    fake = Fake(kernel, op, plan.interface, run, "cpu")
    start = prime_size(op)
    for size in (start, tuple(n + 1 for n in start), tuple(2 * n for n in start)):
        for view in [None, (2, 3, 4)] if op.any_rank else [None]:
            shaped = size if view is None else (24,)
            inputs = make_inputs(op, Case("", shaped, torch.float32, view=view))
            meta = tuple(value.to("meta") if isinstance(value, Tensor) else value for value in inputs)
            found = as_tuple(ops._fake_forward(*meta))
            assert list(map(kind, found)) == list(map(kind, as_tuple(fake.forward(*meta))))
            if not kernel.double_backward:
                compare_backward(plan, fake, ops._fake_backward, meta, found)


def letter_values(op: Op, named: dict[str, Any]) -> dict[str, int]:
    """Read the letters off the inputs."""
    sizes: dict[str, int] = {}
    for name, value in named.items():
        if isinstance(value, Tensor) and not op.shape_of[name].any_rank:
            for dim, extent in zip(op.shape_of[name].dims, value.shape, strict=True):
                if dim.letter:
                    sizes.setdefault(dim.letter, extent)
    return sizes


def compare_backward(plan: Plan, fake: Fake, written: Callable[..., Any], inputs: Sequence[Any], found: Any) -> None:
    """Compare two fake backwards with all, none and each one of the gradients wanted."""
    op = plan.op
    outputs = [output.name for output in op.signature.outputs]
    values = dict(zip([*(a.name for a in op.signature.inputs), *outputs], [*inputs, *found], strict=False))
    values |= {f"d_{name}": result for name, result in zip(outputs, found, strict=False)}
    values |= {f"extra{number}": result for number, result in enumerate(found[len(outputs) :])}
    taken = [values[a.name] for a in backward_arguments(plan.kernel, op, plan.interface)]
    width = len(op.signature.tensors)
    for flags in [(True,) * width, (False,) * width, *(tuple(i == j for j in range(width)) for i in range(width))]:
        want = as_tuple(fake.backward(*taken, *flags))
        assert list(map(kind, as_tuple(written(*taken, *flags)))) == list(map(kind, want))


def test_fakes_refuse_other_shapes(package: Callable[..., ModuleType]) -> None:
    """While tracing, a tensor of another shape is refused in the words of the compiled code; a missing one is let through."""
    ops = importlib.import_module(f"{package(affine()).__name__}.ops")
    x, weight, bias = (torch.empty(shape, device="meta") for shape in ((3, 5), (7, 5), (6,)))
    with pytest.raises(RuntimeError, match=r"affine: bias has shape \[6\], want \[7\]"):
        ops._fake_forward(x, weight, bias)
    with pytest.raises(RuntimeError, match=r"affine: weight has shape \[7, 5, 1\], want \[7, 5\]"):
        ops._fake_forward(x, weight[:, :, None], None)
    assert [tuple(result.shape) for result in ops._fake_forward(x, weight)] == [(3, 7)] * 3


def test_letters_are_solved() -> None:
    """What no extent gives by itself follows from sums and multiples, in the order in which they can be solved."""
    tensors = [("x", Shape.parse("3S+1 B")), ("w", Shape.parse("S+F 2-B"))]
    found = letters_from(tensors, [Shape.parse("F S B")])
    assert found.lines == ["B = x.shape[1]", "S = (x.shape[0] - 1) // 3", "F = w.shape[0] - S"]
    x, w = torch.empty(16, 4), torch.empty(12, 0)
    names: dict[str, Any] = {"x": x, "w": w}
    exec("\n".join(found.lines), names)
    assert (names["B"], names["S"], names["F"]) == (4, 5, 7)


def test_letter_of_any_shape() -> None:
    """The number of elements of a tensor of any shape is a letter, too, beside those of others."""
    found = letters_from([("x", Shape.parse("...")), ("w", Shape.parse("F"))], [Shape.parse("N F"), Shape.parse("...")])
    assert found.lines == ["(F,) = w.shape", "N = x.numel()"]
    assert (found.arguments(Shape.parse("N F")), found.arguments(Shape.parse("..."))) == ("N, F", "x.shape")


def test_letters_that_do_not_follow(package: Callable[..., ModuleType]) -> None:
    """A gradient whose shape nothing tells: the trace fails with what to change, the rest of the package works."""
    text = """
    torch::stable::Tensor forward(const torch::stable::Tensor& x) { return {}; }
    torch::stable::Tensor backward(const torch::stable::Tensor& d_y, std::array<bool, 1> wanted) { return {}; }
    """
    op = Op("rows", "(Tensor x) -> Tensor y", lambda x: x.sum(1), {"x": "B F", "y": "B"})
    plan = plan_of(Kernel("rows/made", cpp=text, api="stable"), op)
    ops = importlib.import_module(f"{package(plan).__name__}.ops")
    with pytest.raises(
        NotImplementedError, match=r"the shape of d_x, \(B, F\), does not follow .*\(d_y\). Add 'x' to the ke"
    ):
        ops._fake_backward(torch.empty(3), True)


def test_stable_kernel_without_backward() -> None:
    """It is made of calls of the stable ABI, so that autograd and tracers look into it: Python has nothing to add."""
    text = "torch::stable::Tensor forward(const torch::stable::Tensor& x) { return torch::stable::transpose(x, 0, 1); }"
    op = Op("turned", "(Tensor x) -> Tensor y", lambda x: x.t(), {"x": "B F", "y": "F B"})
    plan = plan_of(Kernel("turned/made", cpp=text, api="stable"), op)
    ops = python_files(plan)[f"{plan.name}/ops.py"]
    assert "register_autograd" not in ops and "register_fake" not in ops
    assert f'torch.library.register_autocast("{plan.name}::turned", "cpu", torch.float32)' in ops


def test_extra_of_unknown_shape(package: Callable[..., ModuleType]) -> None:
    """Where nobody could find out what an extra tensor looks like, a trace says where to write it down."""
    plan = plan_of(li.registry["lltm/cuda"], extras=[None])
    module = package(plan)
    inputs = [torch.empty(shape, device="meta") for shape in ((3, 17), (15, 22), (15,), (3, 5), (3, 5))]
    ops = importlib.import_module(f"{module.__name__}.ops")
    message = (
        rf"{plan.name} cannot be traced without the shape of gates, .*ops.py: gates = input.new_empty\(B, F\), or what"
    )
    with pytest.raises(NotImplementedError, match=message):
        ops._fake_forward(*inputs)


def test_dtypes_of_outputs() -> None:
    """The reference tells which outputs are real where inputs are complex, and which are of another dtype altogether."""
    assert output_dtypes(li.registry.ops["complex_abs2"]) == ("real",)
    assert output_dtypes(li.registry.ops["lltm"]) == ("", "")
    op = Op(
        "both", "(Tensor x) -> (Tensor y, Tensor i)", lambda x: (x, x.argmax(0)), {"x": "B F", "y": "B F", "i": "F"}
    )
    assert output_dtypes(op) == ("", "int64")
    plan = plan_of(li.registry["lltm/stable"].replace(), extras=["B 3S"])
    assert (
        "dtype=torch.int64"
        in python_files(replace(plan, extras=(replace(plan.extras[0], dtype="int64"),)))[f"{plan.name}/ops.py"]
    )


def forward(x: Tensor, weight: Tensor, bias: Tensor | None = None, c: float = 2.0) -> tuple[Tensor, Tensor, Tensor]:
    """Compute what a kernel of `affine` would: the outputs, and a tensor for backward."""
    z = x @ weight.t()
    return c * (z if bias is None else z + bias), z.clone(), z.sign()


class Backward:
    """What a kernel of `affine` would compute backward; it takes note of the flags."""

    def __init__(self) -> None:
        self.flags: list[tuple[bool, ...]] = []

    def __call__(self, *arguments: Any) -> tuple[Tensor | None, ...]:
        d_y, d_z, x, weight, c, signs, *flags = arguments
        flags = list(flags[0]) if isinstance(flags[0], list | tuple) else flags
        self.flags.append(tuple(flags))
        assert signs.shape == d_y.shape
        d = c * d_y + d_z
        gradients = d @ weight, d.t() @ x, c * d_y.sum(0)
        return tuple(gradient if flag else None for gradient, flag in zip(gradients, flags, strict=True))


@pytest.fixture(params=["stable", "pybind11"])
def made(request: pytest.FixtureRequest, package: Callable[..., ModuleType]) -> tuple[ModuleType, Backward]:
    """Import the package of `affine`, once with autograd registered in Python and once over a compiled module."""
    backward = Backward()
    if request.param == "pybind11":
        module = package(affine("aten", "pybind11"), SimpleNamespace(forward=forward, backward=backward))
    else:
        module = package(affine())
        library = importlib.import_module(f"{module.__name__}._library").library
        library.impl("affine_forward", forward, "CPU")
        library.impl("affine_backward", backward, "CPU")
    return module, backward


def inputs_of(wanted: str = "x weight bias") -> dict[str, Any]:
    """Draw inputs of `affine`, of which those named want a gradient."""
    generator = torch.Generator().manual_seed(3)
    shapes = {"x": (3, 5), "weight": (7, 5), "bias": (7,)}
    return {
        name: torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_(name in wanted.split())
        for name, shape in shapes.items()
    }


def test_autograd(made: tuple[ModuleType, Backward]) -> None:
    """Gradients are right with and without the optional input, for each output alone, and for those that are wanted."""
    module, backward = made
    inputs = inputs_of()
    assert torch.autograd.gradcheck(module.affine, (*inputs.values(), 1.5))
    assert torch.autograd.gradcheck(module.affine, (inputs["x"], inputs["weight"]))
    for index in (0, 1):
        chosen = module.affine(*inputs.values())[index]
        torch.testing.assert_close(
            torch.autograd.grad(chosen.sum(), inputs["x"]),
            torch.autograd.grad(AFFINE.reference(*inputs.values())[index].sum(), inputs["x"]),
        )
    backward.flags.clear()
    module.affine(**inputs_of("weight"), c=3.0)[0].sum().backward()
    assert backward.flags == [(False, True, False)]


def test_second_derivative_is_an_error(made: tuple[ModuleType, Backward]) -> None:
    """A second derivative is refused, and not taken for zero beside another term; a graph that nobody uses is none."""
    module, _ = made
    inputs = inputs_of()
    outputs = module.affine(*inputs.values())
    (d_x,) = torch.autograd.grad(outputs[0].square().sum(), inputs["x"], create_graph=True)
    loss = d_x.square().sum() + inputs["weight"].square().sum()
    with pytest.raises(
        RuntimeError, match=r"affine_made_\d+: affine has no second derivative: its backward is not differ"
    ):
        loss.backward()


def test_outputs_without_gradient(made: tuple[ModuleType, Backward]) -> None:
    """Where no input wants a gradient, none is recorded."""
    module, backward = made
    outputs = module.affine(**inputs_of(""))
    assert not any(output.requires_grad for output in outputs)
    assert not backward.flags


def test_traced(package: Callable[..., ModuleType]) -> None:
    """torch.compile takes the registered style whole, forward and backward, also where the batch is a symbol."""
    module = package(affine())
    library = importlib.import_module(f"{module.__name__}._library").library
    library.impl("affine_forward", forward, "CPU")
    library.impl("affine_backward", Backward(), "CPU")
    compiled = torch.compile(module.affine, fullgraph=True, backend="aot_eager", dynamic=True)
    inputs = inputs_of()
    for rows in (3, 2):
        inputs["x"] = inputs["x"].detach()[:rows].requires_grad_()
        got = torch.autograd.grad(sum(output.sum() for output in compiled(*inputs.values())), [*inputs.values()])
        want = torch.autograd.grad(sum(out.sum() for out in AFFINE.reference(*inputs.values())), [*inputs.values()])
        torch.testing.assert_close(got, want)
    operator = getattr(torch.ops, module.__name__).affine_forward.default
    torch.library.opcheck(operator, (*inputs.values(), 2.0))


def test_autocast(package: Callable[..., ModuleType]) -> None:
    """Under autocast the registered style computes in float32, whatever other operators have made of the input."""
    module = package(affine())
    importlib.import_module(f"{module.__name__}._library").library.impl("affine_forward", forward, "CPU")
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        outputs = module.affine(torch.ones(3, 5, dtype=torch.bfloat16), torch.ones(7, 5))
    assert [output.dtype for output in outputs] == [torch.float32] * 2


def test_undefined_gradients(package: Callable[..., ModuleType]) -> None:
    """A kernel that takes optional gradients gets None for one that is zero; its backward may be differentiated again."""
    seen = []

    def backward(d_y: Tensor | None, d_dx: Tensor | None, x: Tensor, dx: Tensor, wanted: Sequence[bool]) -> Tensor:
        seen.append((d_y is None, d_dx is None, tuple(wanted)))
        zero = torch.zeros_like(x)
        return (zero if d_y is None else d_y) * dx + (zero if d_dx is None else d_dx) * 6 * x

    kernel = li.registry["cube/aten"].replace(binding="pybind11")
    module = package(plan_of(kernel), SimpleNamespace(forward=lambda x: (x**3, 3 * x**2), backward=backward))
    x = torch.tensor([2.0], dtype=torch.float64, requires_grad=True)
    (d_x,) = torch.autograd.grad(module.cube(x)[0], x, create_graph=True)
    assert d_x.item() == 12
    assert seen == [(False, True, (True,))]
    assert torch.autograd.grad(d_x, x)[0].item() == 12
    assert torch.autograd.gradgradcheck(module.cube, (x,))


def test_module_with_parameters(made: tuple[ModuleType, Backward]) -> None:
    """The module holds the op's parameters under their names, is made with letters and numbers, and trains."""
    package, _ = made
    layer = package.Affine(5, 7, c=1.5, dtype=torch.float64)
    assert {name: tuple(value.shape) for name, value in layer.state_dict().items()} == {"weight": (7, 5), "bias": (7,)}
    assert str(layer) == "Affine(I=5, O=7, c=1.5, bias=True)"
    assert max(parameter.abs().max() for parameter in layer.parameters()) <= 5**-0.5
    x = inputs_of("")["x"]
    outputs = layer(x)
    torch.testing.assert_close(outputs, AFFINE.reference(x, layer.weight, layer.bias, 1.5))
    sum(output.sum() for output in outputs).backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    bare = package.Affine(5, 7, bias=False, device="cpu")
    assert list(bare.state_dict()) == ["weight"]
    assert bare.bias is None
    assert module_arguments(affine()) == ("I", "O")


def test_module_of_lltm(package: Callable[..., ModuleType]) -> None:
    """The module of lltm is made with F and S, the batch comes with each call; equal seeds give equal parameters."""
    module = package(plan_of(li.registry["lltm/fused"]))
    torch.manual_seed(0)
    cell = module.LLTM(F=17, S=5)
    assert {name: tuple(value.shape) for name, value in cell.state_dict().items()} == {
        "weights": (15, 22),
        "bias": (15,),
    }
    torch.manual_seed(0)
    again = module.LLTM(17, 5)
    assert all(torch.equal(one, other) for one, other in zip(cell.parameters(), again.parameters(), strict=True))
    assert repr(cell) == "LLTM(F=17, S=5)"


def test_module_without_parameters(package: Callable[..., ModuleType]) -> None:
    """An op without parameters gives a module without, which keeps numbers that have a default."""
    module = package(plan_of(li.registry["conv_bn/fused"]))
    assert repr(module.ConvBN(eps=0.5)) == "ConvBN(eps=0.5)"
    assert repr(package(plan_of(li.registry["axpy/cpp"])).Axpy()) == "Axpy()"
    assert not list(module.ConvBN().parameters())


def test_public_names(package: Callable[..., ModuleType]) -> None:
    """The package has the op and its module, a version, and signatures with types and defaults."""
    module = package(plan_of(li.registry["linear/aten"]))
    assert module.__all__ == ["Linear", "linear"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", module.__version__)
    head = "def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:\n"
    assert head in Path(module.linear.__code__.co_filename).read_text()
    assert "bias: (O), or None for no bias." in module.linear.__doc__


def test_docstring_from_shapes() -> None:
    """An op whose reference says nothing gets a docstring of shapes."""
    text = python_files(affine())
    ops = next(value for path, value in text.items() if path.endswith("ops.py"))
    for line in (
        '"""Compute the op `affine`.',
        "x: (B, I).",
        "bias: (O), or None.",
        "c: a number.",
        "y, (B, O) and z, (B, O).",
        "RuntimeError: the shape, dtype or device of a tensor does not fit.",
    ):
        assert f" {line}\n" in ops


@pytest.mark.parametrize("doc", ['say "hi"', "C:\\path\\new\\", 'two\n\nlines """quoted"""', '"', "'''", "", "Grüße"])
def test_any_doc_can_be_written(doc: str) -> None:
    """Quotes and backslashes of an op's doc stay inside of the docstrings."""
    plan = affine()
    plan = replace(plan, op=replace(plan.op, doc=doc))
    for path, text in python_files(plan).items():
        tree = ast.parse(text)
        if doc and path.endswith("reference.py"):
            assert (ast.get_docstring(tree, clean=False) or "").strip() == doc.replace('"""', "'''")


def test_header() -> None:
    """The header of the user stands above every file, as comments."""
    plan = replace(plan_of(li.registry["axpy/cpp"]), header="Copyright (c) 2026 A. Student\n\nMIT")
    for text in python_files(plan).values():
        assert text.startswith('# Copyright (c) 2026 A. Student\n#\n# MIT\n\n"""')


@pytest.mark.parametrize("name", ["self", "ctx", "extension"])
def test_names_that_python_needs(name: str) -> None:
    """An argument that could not stand in the files is refused before anything is written."""
    op = Op("made", f"(Tensor {name}) -> Tensor y", torch.neg, {name: "N", "y": "N"})
    plan = replace(plan_of(li.registry["axpy/cpp"]), op=op)
    with pytest.raises(
        InputError, match=rf"op 'made' has an argument '{name}', a name that the Python files of an export"
    ):
        python_files(plan)


def test_argument_named_as_the_op(package: Callable[..., ModuleType]) -> None:
    """A module calls the op's function also where an argument has the op's name."""
    op = Op("trace", "(Tensor trace) -> Tensor y", lambda trace: trace.sum(), {"trace": "N", "y": ""})
    text = "at::Tensor forward(const at::Tensor& trace) { return trace.sum(); }"
    plan = plan_of(Kernel("trace/made", cpp=text, binding="pybind11"), op)
    module = package(plan, SimpleNamespace(forward=lambda trace: trace.sum()))
    assert module.Trace()(torch.ones(3)).item() == 3


@needs("ruff")
@pytest.mark.parametrize("style", ["library", "pybind11"])
def test_files_are_clean(style: str, tmp_path: Path) -> None:
    """ruff finds nothing in what is written, nor anything to format, and none of it imports the playground."""
    for name in KERNELS:
        kernel = li.registry[name]
        if style == "pybind11":
            if kernel.api == "stable" or devices_of(kernel) != ("cpu",) or name == "lltm/class":
                continue
            kernel = kernel.replace(binding="pybind11")
        for path, text in python_files(plan_of(kernel)).items():
            file = tmp_path / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            assert "import lltm_inline" not in text
            assert "from lltm_inline" not in text
    for command in (["check", "--select=E4,E7,E9,F,I,W,B,UP,SIM,C4,PIE"], ["format", "--diff"]):
        found = subprocess.run(
            [
                program("ruff"),
                *command,
                "--isolated",
                "--no-cache",
                "--line-length=120",
                "--target-version=py311",
                str(tmp_path),
            ],
            capture_output=True,
            text=True,
        )
        assert found.returncode == 0, found.stdout + found.stderr
