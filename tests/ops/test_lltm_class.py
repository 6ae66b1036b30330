"""The LLTM cell as a custom class: an object that computes what the op does, is differentiated, saved and loaded."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.ops.lltm.class_ import KERNEL
from tests.ops.rooms import assert_right

OP = li.registry.ops["lltm"]
B, F, S = 3, 17, 5
# It includes all of torch's custom classes, which takes g++ twenty seconds; `test_bad_input.py` builds it with g++.
pytestmark = pytest.mark.usefixtures("quick_compiler")


def inputs(dtype: torch.dtype = torch.float64, seed: int = 0) -> list[torch.Tensor]:
    """Draw input, weights, bias, old_h and old_cell."""
    generator = torch.Generator().manual_seed(seed)
    return list(OP.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), (B, F, S)))


def cell_class(function: Any) -> Any:
    """Return the class that a loaded kernel has registered, in the namespace of its build."""
    return getattr(torch.classes, function.build.namespace).LLTMCell


@pytest.fixture(scope="module")
def LLTMCell(quick_compiler: None) -> Any:
    """The class of the kernel as it ships."""
    return cell_class(li.load("lltm/class", progress=False))


def make(LLTMCell: Any, dtype: torch.dtype = torch.float64) -> tuple[Any, list[torch.Tensor], list[torch.Tensor]]:
    """Make an object; return it, what it holds, and what its `forward` takes."""
    x, weights, bias, old_h, old_cell = inputs(dtype)
    held = [weights.requires_grad_(), bias.requires_grad_()]
    return LLTMCell(*held), held, [x, old_h, old_cell]


def reference(held: list[torch.Tensor], given: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute the same in plain PyTorch."""
    return OP.reference(given[0], *held, *given[1:])


def through_file(value: Any, **options: Any) -> Any:
    """Save a value with torch and load it."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


def test_kernel_is_right() -> None:
    """As an op it passes every section of a check."""
    assert_right("lltm/class")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_object_computes_what_the_reference_does(LLTMCell: Any, dtype: torch.dtype) -> None:
    """Both results agree, by position and by name."""
    cell, held, given = make(LLTMCell, dtype)
    want = reference(held, given)
    torch.testing.assert_close(cell.forward(*given), want)
    named = dict(zip(("input", "old_h", "old_cell"), given, strict=True))
    torch.testing.assert_close(cell.forward(**named), want)


def test_gradients_flow_to_weights_and_state(LLTMCell: Any) -> None:
    """First and second derivatives through two steps are those of the reference, for weights, bias, input and state."""
    cell, held, given = make(LLTMCell)
    for tensor in given:
        tensor.requires_grad_()

    def derivatives(step: Callable[..., Any]) -> list[torch.Tensor]:
        h, c = step(*given)
        loss = sum(result.square().sum() for result in step(given[0], h, c))
        leaves = [*held, *given]
        first = torch.autograd.grad(loss, leaves, create_graph=True)
        return [*first, *torch.autograd.grad(sum(one.square().sum() for one in first), leaves)]

    torch.testing.assert_close(derivatives(cell.forward), derivatives(lambda *values: reference(held, list(values))))


def test_object_holds_the_tensors_it_is_given(LLTMCell: Any) -> None:
    """They are the same Python objects: an optimizer's step, `load_state_dict` and `to` of a module reach the cell."""

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            _, weights, bias, *_ = inputs(torch.float32)
            self.weights, self.bias = torch.nn.Parameter(weights), torch.nn.Parameter(bias)
            self.cell = LLTMCell(self.weights, self.bias)

        def forward(self, *given: torch.Tensor) -> Any:
            return self.cell.forward(*given)

    module = Module()
    assert module.cell.weights() is module.weights and module.cell.bias() is module.bias
    given = make(LLTMCell, torch.float32)[2]
    before = module(*given)[0]
    before.sum().backward()
    torch.optim.SGD(module.parameters(), lr=0.5).step()
    assert not torch.equal(module(*given)[0], before)
    module.load_state_dict({name: torch.zeros_like(value) for name, value in module.state_dict().items()})
    torch.testing.assert_close(module(*given)[1], given[2])
    module.double()
    assert module.cell.weights().dtype == torch.float64
    assert module(*make(LLTMCell)[2])[0].dtype == torch.float64


def test_state_goes_through_a_file(LLTMCell: Any) -> None:
    """Weights and bias, parameters too, are saved and loaded with torch's safe defaults."""
    cell, held, given = make(LLTMCell)
    again = LLTMCell(*through_file((cell.weights(), cell.bias())))
    assert torch.equal(again.forward(*given)[0], cell.forward(*given)[0])
    assert again.weights().requires_grad and again.weights() is not held[0]
    parameters = LLTMCell(*map(torch.nn.Parameter, held))
    again = LLTMCell(*through_file((parameters.weights(), parameters.bias())))
    assert isinstance(again.weights(), torch.nn.Parameter)


def test_object_goes_through_a_file(LLTMCell: Any) -> None:
    """The object itself is saved by torch, and loaded where its class is allowed by name."""
    cell, _, given = make(LLTMCell)
    with torch.serialization.safe_globals([torch._C.ScriptObject]):
        again = through_file(cell)
    assert torch.equal(again.forward(*given)[0], cell.forward(*given)[0]) and again.bias().requires_grad
    with pytest.raises(Exception, match="ScriptObject"):
        through_file(cell)


def test_copy_shares_nothing(LLTMCell: Any) -> None:
    """A deep copy holds tensors of its own, leaves of autograd, that need gradients as the first's do."""
    cell, held, given = make(LLTMCell)
    before = cell.forward(*given)[0].detach()
    other = copy.deepcopy(cell)
    with torch.no_grad():
        for tensor in held:
            tensor.zero_()
    assert torch.equal(other.forward(*given)[0], before)
    assert other.weights().is_leaf and other.weights().requires_grad
    assert not copy.deepcopy(LLTMCell(held[0].detach(), held[1].detach())).weights().requires_grad


def test_object_takes_part_in_a_compiled_function(LLTMCell: Any) -> None:
    """torch.compile breaks the graph at the method and computes the same."""
    cell, _, given = make(LLTMCell)

    def twice(*values: torch.Tensor) -> Any:
        h, c = cell.forward(values[0] * 2, *values[1:])
        return h + 1, c

    torch._dynamo.reset()
    compiled = torch.compile(twice, backend="aot_eager")
    torch.testing.assert_close(compiled(*given), twice(*given))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": torch.zeros(4, 12)}, r"weights has shape [4, 12], want (3S, S+F)"),
        ({"weights": torch.zeros(15, 4)}, r"weights has shape [15, 4], want (3S, S+F)"),
        ({"weights": torch.zeros(())}, r"weights has shape [], want (3S, S+F)"),
        ({"weights": None}, "weights or bias is None, want Tensors"),
        ({"bias": torch.zeros(5)}, r"bias has shape [5], want (3S) = [15]"),
        ({"bias": torch.zeros(15).double()}, "bias is Double, but weights is Float"),
        ({"bias": torch.zeros(15, device="meta")}, "bias is on meta, but weights is on cpu"),
        ({"input": torch.zeros(B, 4)}, r"input has shape [3, 4], want (B, F) = [3, 17]"),
        ({"input": torch.zeros(())}, "input is None or a number, want a Tensor (B, F)"),
        ({"input": None}, "input is None or a number, want a Tensor (B, F)"),
        ({"old_h": torch.zeros(B, S, 1)}, r"old_h has shape [3, 5, 1], want (B, S) = [3, 5]"),
        ({"old_h": None}, "old_h is None, want a Tensor"),
        ({"old_cell": torch.zeros(1, S)}, r"old_cell has shape [1, 5], want (B, S) = [3, 5]"),
        ({"old_cell": torch.zeros(B, S).double()}, "old_cell is Double, but weights is Float"),
    ],
)
def test_misfits_are_refused(LLTMCell: Any, change: dict[str, Any], message: str) -> None:
    """Each tensor that does not fit is named, with what it is and what it should be."""
    names = [argument.name for argument in OP.signature.inputs]
    values = dict(zip(names, inputs(torch.float32), strict=True)) | change
    with pytest.raises(RuntimeError) as caught:
        LLTMCell(values["weights"], values["bias"]).forward(values["input"], values["old_h"], values["old_cell"])
    assert str(caught.value).splitlines()[0] == f"LLTMCell: {message}"


def test_empty_batch_and_state(LLTMCell: Any) -> None:
    """No rows, no features or no state at all: results have the right shape."""
    for batch, features, state in ((0, 3, 5), (3, 0, 5), (3, 5, 0), (0, 0, 0)):
        cell = LLTMCell(torch.zeros(3 * state, state + features), torch.zeros(3 * state))
        results = cell.forward(torch.zeros(batch, features), *[torch.zeros(batch, state)] * 2)
        assert [tuple(result.shape) for result in results] == [(batch, state)] * 2


@pytest.mark.full
def test_revisions_have_classes_of_their_own(LLTMCell: Any) -> None:
    """An edited kernel's class computes what its text says, the shipped one's still what its own does."""
    cell, held, given = make(LLTMCell)
    before = cell.forward(*given)
    edited = cell_class(li.load(KERNEL.edit("at::tanh(new_cell) *", "at::tanh(-new_cell) *"), progress=False))
    other = edited(*held)
    torch.testing.assert_close(other.forward(*given)[0], -before[0])
    assert torch.equal(LLTMCell(*held).forward(*given)[0], before[0])
    assert torch.equal(copy.deepcopy(other).forward(*given)[0], other.forward(*given)[0])
    assert str(cell) != str(other)


@pytest.mark.full
def test_another_process_reads_the_file(LLTMCell: Any, tmp_path: Path) -> None:
    """What one process saved, another loads into an object that computes the same."""
    cell, _, given = make(LLTMCell)
    torch.save((cell.weights(), cell.bias()), tmp_path / "cell.pt")
    torch.save((*given, cell.forward(*given)[0].detach()), tmp_path / "case.pt")
    code = (
        "import sys, torch, lltm_inline as li\n"
        "namespace = li.load('lltm/class', progress=False).build.namespace\n"
        "cell = getattr(torch.classes, namespace).LLTMCell(*torch.load(sys.argv[1]))\n"
        "*given, want = torch.load(sys.argv[2])\n"
        "torch.testing.assert_close(cell.forward(*given)[0], want)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "cell.pt"), str(tmp_path / "case.pt")], check=True, timeout=300
    )
