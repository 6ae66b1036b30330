"""`tests/test_NAME.py` of an export: values, gradients, and what torch.compile relies on, against the reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...errors import DefinitionError, InputError
from ...op import Op
from ...run.checking.cases import Case, make_inputs
from ..class_text import TEST_IMPORTS, class_test, custom_class
from ..filling import commented, fill, sequence
from ..plan import Plan
from ..python.module import forward_arguments, module_arguments, numbers_of, parameters_of
from ..python.reference import tolerances_of

_HEAD = '''\
"""Tests of @name@ against its reference in plain PyTorch."""

from __future__ import annotations

@imports@

import pytest
import torch
from torch import Tensor

from @name@ import @names@
from @name@.reference import TOLERANCES, make_inputs, reference

@arguments@

@size@
@sizes@
@devices@
'''

_HELPERS = '''\
@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Run a test on each device that there is code for."""
    return request.param


def draw(size: dict[str, int], precision: torch.dtype = torch.@double@, device: str = "cpu") -> list[Any]:
    """Make the inputs of one size, always the same."""
    generator = torch.Generator().manual_seed(2019)

    def randn(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator).to(precision)

    inputs = make_inputs(randn, **size)
    return [value.to(device) if isinstance(value, Tensor) else value for value in inputs]


def as_tuple(outputs: Any) -> tuple[Tensor, ...]:
    """Return outputs as a tuple, also when there is but one."""
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


def is_differentiable(value: Any) -> bool:
    """Tell whether this is a tensor that can have a gradient."""
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def widened(value: Any) -> Any:
    """Return a tensor in double precision, anything else as it is."""
    if not is_differentiable(value):
        return value
    return value.to(torch.complex128 if value.is_complex() else torch.float64)


def run(function: Any, inputs: list[Any], wanted: tuple[str, ...] = INPUTS) -> dict[str, Tensor]:
    """Run forward and backward, with incoming gradients that are always the same.

    Returns:
        The outputs by name, and the gradients of the inputs that are wanted as `d_` and their names.
    """
    named = dict(zip(INPUTS, inputs, strict=True))
    leaves = {
        name: value.detach().requires_grad_(name in wanted) if is_differentiable(value) else value
        for name, value in named.items()
    }
    outputs = as_tuple(function(*leaves.values()))
    results = dict(zip(OUTPUTS, (output.detach() for output in outputs), strict=True))
    chosen = [output for output in outputs if output.requires_grad]
    generator = torch.Generator().manual_seed(2020)
    incoming = [torch.randn(one.shape, dtype=widened(one).dtype, generator=generator).to(one) for one in chosen]
    sources = {name: leaf for name, leaf in leaves.items() if isinstance(leaf, Tensor) and leaf.requires_grad}
    gradients = torch.autograd.grad(chosen, list(sources.values()), incoming, materialize_grads=True)
    return results | {f"d_{name}": gradient for name, gradient in zip(sources, gradients, strict=True)}


def assert_right(function: Any, inputs: list[Any], precision: torch.dtype, wanted: tuple[str, ...] = INPUTS) -> None:
    """Compare outputs and gradients with those of the reference, which computes in double precision."""
    rtol, atol = TOLERANCES[str(precision).removeprefix("torch.")]
    results = run(function, inputs, wanted)
    for name, want in run(reference, [widened(value) for value in inputs], wanted).items():
        got, want = results[name], want.to(results[name].dtype)
        torch.testing.assert_close(got, want, rtol=rtol, atol=atol, msg=lambda text, name=name: f"{name}: {text}")
'''

_VALUES = '''\
@pytest.mark.parametrize("precision", TOLERANCES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values_and_gradients(size: dict[str, int], precision: str, device: str) -> None:
    """Outputs and gradients are those of the reference, also where an extent is 1 or 0."""
    dtype = getattr(torch, precision)
    assert_right(@op@, draw(size, dtype, device), dtype)


def test_strided_inputs(device: str) -> None:
    """Tensors may lie in memory with gaps."""
    gaps = [
        torch.stack([value, value + 1], dim=-1)[..., 0] if isinstance(value, Tensor) else value
        for value in draw(SIZE, device=device)
    ]
    assert_right(@op@, gaps, torch.@double@)


@pytest.mark.parametrize("name", @tensors@)
def test_one_gradient(name: str, device: str) -> None:
    """A gradient is the same when it is the only one that is wanted."""
    assert_right(@op@, draw(SIZE, device=device), torch.@double@, wanted=(name,))


def test_sum(device: str) -> None:
    """Incoming gradients may be one number for all elements, as `.sum()` gives them."""
    leaves = [value.requires_grad_() if is_differentiable(value) else value for value in draw(SIZE, device=device)]
    wanted = [leaf for leaf in leaves if is_differentiable(leaf)]
    found, want = (
        torch.autograd.grad(sum(output.sum() for output in as_tuple(function(*leaves))), wanted, materialize_grads=True)
        for function in (@op@, reference)
    )
    rtol, atol = TOLERANCES["@double@"]
    for gradient, expected in zip(found, want, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=rtol, atol=atol)
'''

_OPTIONAL = '''\
@pytest.mark.parametrize("name", [@optional@])
def test_without(name: str, device: str) -> None:
    """Optional inputs may be left out."""
    named = dict(zip(INPUTS, draw(SIZE, device=device), strict=True)) | {name: None}
    assert_right(@op@, list(named.values()), torch.@double@)
'''

_GRADCHECK = '''\
def test_gradcheck(device: str) -> None:
    """Gradients agree with differences of the outputs."""
    leaves = [value.requires_grad_() if is_differentiable(value) else value for value in draw(SIZE, device=device)]
    assert torch.autograd.gradcheck(@op@, leaves)
'''

_TWICE = '''\
def test_second_gradcheck(device: str) -> None:
    """So do second derivatives with differences of the gradients."""
    leaves = [value.requires_grad_() if is_differentiable(value) else value for value in draw(SIZE, device=device)]
    assert torch.autograd.gradgradcheck(@op@, leaves, fast_mode=True)
'''

_ONCE = '''\
def test_second_derivative(device: str) -> None:
    """Backward has no derivative itself: who asks for one is told, and does not get zeros."""
    leaves = [value.requires_grad_() if is_differentiable(value) else value for value in draw(SIZE, device=device)]
    wanted = [leaf for leaf in leaves if is_differentiable(leaf)]
    total = sum(output.abs().square().sum() for output in as_tuple(@op@(*leaves)))
    with pytest.raises(RuntimeError):
        gradients = torch.autograd.grad(total, wanted, create_graph=True)
        torch.autograd.grad(sum(gradient.abs().square().sum() for gradient in gradients), wanted)
'''

_OPCHECK = '''\
@pytest.mark.parametrize("gradients", [True, False], ids=["gradients", "no gradients"])
def test_opcheck(gradients: bool, device: str) -> None:
    """The operator keeps what its schema and its fake kernel promise to torch.compile."""
    inputs = [
        value.requires_grad_(gradients) if is_differentiable(value) else value for value in draw(SIZE, device=device)
    ]
    torch.library.opcheck(torch.ops.@name@.@operator@.default, tuple(inputs))


def test_compile(device: str) -> None:
    """torch.compile traces it in one graph, forward and backward, for all sizes at once."""
    torch.compiler.reset()
    compiled = torch.compile(@op@, fullgraph=True, dynamic=True, backend="aot_eager")
    for size in (SIZE, LARGER):
        assert_right(compiled, draw(size, device=device), torch.@double@)
'''

_REFUSALS = '''\
@pytest.mark.parametrize("name", [@refused@])
def test_refuses_shapes(name: str, device: str) -> None:
    """A tensor of a wrong shape is refused by name, before it is read."""
    named = dict(zip(INPUTS, draw(SIZE, device=device), strict=True))
    named[name] = named[name].unsqueeze(0)
    with pytest.raises(RuntimeError, match=rf"\\b{name} has shape"):
        @op@(**named)
'''

_DTYPES = '''\
def test_refuses_dtypes(device: str) -> None:
    """Integers are refused."""
    inputs = [
        torch.ones_like(value, dtype=torch.int64) if isinstance(value, Tensor) else value
        for value in draw(SIZE, device=device)
    ]
    with pytest.raises(RuntimeError, match="@first@ is .*, want "):
        @op@(*inputs)
'''

_MODULE = '''\
def test_module(device: str) -> None:
    """The module computes the same, and its state can be saved and loaded."""
    inputs = dict(zip(INPUTS, draw(SIZE, torch.float32, device), strict=True))
    module = @made@.to(device)
    @fill@
    other = @made@.to(device)
    other.load_state_dict(module.state_dict())
    outputs = as_tuple(other(@given@))
    for output, want in zip(outputs, as_tuple(@op@(**inputs)), strict=True):
        torch.testing.assert_close(output, want)
    @reach@
'''

_FILL = """\
with torch.no_grad():
    for name, parameter in module.named_parameters():
        parameter.copy_(inputs[name])"""

_REACH = """\
sum(output.sum() for output in outputs).backward()
assert all(parameter.grad is not None for parameter in other.parameters())"""


def tests_py(plan: Plan) -> str:
    """Write the tests."""
    op, interface = plan.op, plan.interface
    double = "float64" in tolerances_of(op)
    parts = [_HELPERS, _VALUES]
    if any(argument.type == "Tensor?" for argument in op.signature.inputs):
        parts.append(_OPTIONAL)
    if double:
        parts.append(_GRADCHECK)
        once = interface.has_backward and not plan.kernel.double_backward
        parts.append(_ONCE if once else _TWICE)
    if plan.style != "pybind11":
        parts.append(_OPCHECK)
    refused = [argument.name for argument in op.signature.tensors if argument.name not in op.any_rank[:1]]
    parts += [_REFUSALS] * bool(refused) + [_DTYPES, _module(plan)]
    custom = custom_class(plan)
    if custom is not None:
        parts.append(class_test(plan, custom))
    body = "\n\n".join("\n" + part.strip("\n") for part in parts) + "\n"
    words = {
        "op": op.name,
        "name": plan.name,
        "operator": f"{op.name}_forward" if plan.style == "stable" else op.name,
        "optional": ", ".join(f'"{argument.name}"' for argument in op.signature.inputs if argument.type == "Tensor?"),
        "tensors": "INPUTS" if len(op.signature.tensors) == len(op.signature.inputs) else "INPUT_TENSORS",
        "refused": ", ".join(f'"{name}"' for name in refused),
        "first": next(argument.name for argument in op.signature.tensors if argument.type == "Tensor"),
        "double": "float64" if double else "float32",
    }
    return commented(plan.header, "#") + _head(plan) + "\n" + fill(body, **words)


def _head(plan: Plan) -> str:
    """Write imports and constants."""
    custom = custom_class(plan)
    names = [plan.module, plan.op.name, *([custom.name] if custom else ())]
    op = plan.op
    tensors = [argument.name for argument in op.signature.tensors]
    inputs = [argument.name for argument in op.signature.inputs]
    sizes = [_size(size) for size in plan.test_sizes if _has_reference(op, size)]
    larger = {letter: number + 1 for letter, number in plan.check_size.items()}
    if not op.allows(tuple(larger.values())):
        larger = dict(plan.check_size)
    gpu = 'pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))'
    devices = [gpu if device == "cuda" else f'"{device}"' for device in plan.devices]
    constants = [
        sequence(_strings(inputs), ahead="INPUTS = ", brackets="()"),
        sequence(_strings(tensors), ahead="INPUT_TENSORS = ", brackets="()") if tensors != inputs else "",
        sequence(_strings([output.name for output in op.signature.outputs]), ahead="OUTPUTS = ", brackets="()"),
    ]
    return fill(
        _HEAD,
        name=plan.name,
        imports="\n".join(sorted(["from typing import Any", *(TEST_IMPORTS if custom else ())])),
        names=", ".join(sorted(names, key=lambda name: (name.islower(), name))),
        arguments="\n".join(filter(None, constants)),
        size=f"SIZE = {_size(plan.check_size)}\nLARGER = {_size(larger)}",
        sizes=sequence(sizes, ahead="SIZES = "),
        devices=sequence(devices, ahead="DEVICES = "),
    )


def _strings(names: Iterable[str]) -> list[str]:
    return [f'"{name}"' for name in names]


def _size(size: Mapping[str, int]) -> str:
    return "{" + ", ".join(f'"{letter}": {number}' for letter, number in size.items()) + "}"


def _has_reference(op: Op, size: Mapping[str, int]) -> bool:
    """Tell whether the reference computes anything at this size: a convolution by filters without elements does not."""
    try:
        op.run_reference(*make_inputs(op, Case("", tuple(size.values()))))
    except (DefinitionError, InputError):
        return False
    return True


def _module(plan: Plan) -> str:
    """Write the test of the `nn.Module`."""

    made = [str(plan.check_size[letter]) for letter in module_arguments(plan)]
    made += [f'{number.name}=inputs["{number.name}"]' for number in numbers_of(plan)]
    parameters = parameters_of(plan)
    return fill(
        _MODULE,
        made=f"{plan.module}({', '.join(made)})",
        fill=_FILL if parameters else "",
        given=", ".join(f'inputs["{argument.name}"]' for argument in forward_arguments(plan)),
        op=plan.op.name,
        reach=_REACH if parameters else "",
    )
