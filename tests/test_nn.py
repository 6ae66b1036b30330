"""Modules over a kernel: drop-ins for their plain PyTorch counterparts, with clear refusals."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import lltm_inline as li
from lltm_inline.compiling.compiler import build
from lltm_inline.errors import InputError, UnknownKernelError
from lltm_inline.model.registry import Kernel

KERNELS = {
    "LLTM": ("lltm/python", "lltm/aten", "lltm/stable", "lltm/fused"),
    "Linear": ("linear/python", "linear/aten"),
    "ConvBN2d": ("conv_bn/python", "conv_bn/unfused", "conv_bn/fused"),
    "GraphConv": ("graph_conv/python", "graph_conv/function", "graph_conv/aten", "graph_conv/fused"),
}
ALL = [(module, kernel) for module, kernels in KERNELS.items() for kernel in kernels]
FASTEST = [(module, kernels[-1]) for module, kernels in KERNELS.items()]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Build all kernels at once, several compilers beside each other."""
    build([name for _, name in ALL if li.registry[name].python is None], progress=False)


class PlainLLTM(torch.nn.Module):
    """An LLTM cell in plain PyTorch."""

    def __init__(self, input_features: int, state_size: int) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.empty(3 * state_size, state_size + input_features))
        self.bias = torch.nn.Parameter(torch.empty(3 * state_size))
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -(state_size**-0.5), state_size**-0.5)

    def forward(self, input: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Advance by one step."""
        i, o, c = torch.nn.functional.linear(torch.cat([state[0], input], 1), self.weights, self.bias).chunk(3, 1)
        cell = state[1] + torch.nn.functional.elu(c) * i.sigmoid()
        return cell.tanh() * o.sigmoid(), cell


class PlainConvBN(torch.nn.Conv2d):
    """A convolution of PyTorch's, normalised."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any) -> None:
        super().__init__(in_channels, out_channels, kernel_size, bias=False)

    def forward(self, input: Tensor) -> Tensor:
        """Convolve and normalise."""
        z = super().forward(input)
        return (z - z.mean((0, 2, 3), keepdim=True)) / (z.std((0, 2, 3), keepdim=True) + 1e-3)


class PlainGraphConv(torch.nn.Module):
    """Kipf's layer in plain PyTorch."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(in_features, out_features))
        self.bias = torch.nn.Parameter(torch.empty(out_features))
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -(out_features**-0.5), out_features**-0.5)

    def forward(self, input: Tensor, adj: Tensor) -> Tensor:
        """Map, then gather."""
        return adj @ (input @ self.weight) + self.bias


@dataclass(frozen=True)
class Pair:
    """A module, its plain counterpart, the arguments both are made with, inputs for both, and what `print` shows."""

    plain: Callable[..., torch.nn.Module]
    sizes: tuple[Any, ...]
    inputs: Callable[..., tuple[Any, ...]]
    shown: str

    def values(self, dtype: torch.dtype = torch.float32) -> tuple[Any, ...]:
        """Draw the same inputs each time."""
        generator = torch.Generator().manual_seed(0)
        return self.inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator))


PAIRS = {
    "LLTM": Pair(
        PlainLLTM,
        (7, 5),
        lambda randn: (randn(3, 7), (randn(3, 5), randn(3, 5))),
        "LLTM(input_features=7, state_size=5, kernel={!r})",
    ),
    "Linear": Pair(
        torch.nn.Linear,
        (7, 5),
        lambda randn: (randn(3, 7),),
        "Linear(in_features=7, out_features=5, bias=True, kernel={!r})",
    ),
    "ConvBN2d": Pair(
        PlainConvBN,
        (3, 4, (2, 3)),
        lambda randn: (randn(2, 3, 5, 7),),
        "ConvBN2d(3, 4, kernel_size=(2, 3), eps=0.001, kernel={!r})",
    ),
    "GraphConv": Pair(
        PlainGraphConv,
        (7, 5),
        lambda randn: (randn(3, 7), randn(3, 3)),
        "GraphConv(in_features=7, out_features=5, kernel={!r})",
    ),
}


def make(name: str, kernel: str | Kernel, **options: Any) -> Any:
    """Make a module of the sizes of its pair."""
    return getattr(li.nn, name)(*PAIRS[name].sizes, kernel=kernel, **options)


def flat(outputs: Any) -> tuple[Tensor, ...]:
    """One tensor or several, as a tuple."""
    return outputs if isinstance(outputs, tuple) else (outputs,)


def step(module: torch.nn.Module, inputs: tuple[Any, ...]) -> list[Tensor]:
    """Return outputs, and the gradients of the parameters for a loss that sees all of them."""
    module.zero_grad()
    outputs = flat(module(*inputs))
    sum((output * torch.arange(output.numel()).view_as(output).cos()).sum() for output in outputs).backward()
    return [*(output.detach() for output in outputs), *(parameter.grad for parameter in module.parameters())]


@pytest.mark.parametrize(("name", "kernel"), ALL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_module_is_its_plain_counterpart(name: str, kernel: str, dtype: torch.dtype) -> None:
    """From one seed both have the same parameters under the same names, and give the same values and gradients."""
    pair = PAIRS[name]
    torch.manual_seed(0)
    plain = pair.plain(*pair.sizes)
    torch.manual_seed(0)
    module = make(name, kernel)
    assert list(module.state_dict()) == list(plain.state_dict())
    for one, other in zip(module.parameters(), plain.parameters(), strict=True):
        assert torch.equal(one, other)
    values = pair.values(dtype)
    for one, other in zip(step(module.to(dtype), values), step(plain.to(dtype), values), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(("name", "kernel"), FASTEST)
def test_state_dict_goes_both_ways(name: str, kernel: str) -> None:
    """The plain module's parameters fit ours, and ours fit the plain one's, strictly."""
    pair = PAIRS[name]
    plain, module, again = pair.plain(*pair.sizes), make(name, kernel), pair.plain(*pair.sizes)
    module.load_state_dict(plain.state_dict(), strict=True)
    again.load_state_dict(module.state_dict(), strict=True)
    values = pair.values()
    for one, two, three in zip(*(flat(m(*values)) for m in (plain, module, again)), strict=True):
        torch.testing.assert_close(one, two)
        torch.testing.assert_close(one, three, rtol=0, atol=0)


@pytest.mark.parametrize(("name", "kernel"), FASTEST)
def test_copies_and_saved_modules_are_whole(name: str, kernel: str) -> None:
    """deepcopy and torch.save, before the first call and after it, carry the kernel as its text; parameters are the copy's own."""
    values = PAIRS[name].values()
    edited = li.registry[kernel]
    if name == "LLTM":  # one build is enough
        edited = edited.replace(flags=("-DOTHER",))
    module = make(name, edited)
    early = copy.deepcopy(module)
    want = flat(module(*values))
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    others = [early, copy.deepcopy(module), torch.load(file, weights_only=False)]
    for other in others:
        assert other.kernel == edited
        for one, two in zip(flat(other(*values)), want, strict=True):
            torch.testing.assert_close(one, two)
        for one, two in zip(other.parameters(), module.parameters(), strict=True):
            assert torch.equal(one, two) and one.data_ptr() != two.data_ptr()


@pytest.mark.parametrize(("name", "kernel"), FASTEST)
def test_module_shows_itself_and_its_kernel_can_be_changed(name: str, kernel: str) -> None:
    """print names sizes and kernel; a new kernel is used from the next call on."""
    module = make(name, kernel)
    assert repr(module) == PAIRS[name].shown.format(kernel)
    values = PAIRS[name].values()
    want = flat(module(*values))
    python = KERNELS[name][0]
    module.kernel = python
    assert module.kernel is li.registry[python] and python in repr(module)
    for one, two in zip(flat(module(*values)), want, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("name", KERNELS)
def test_parameters_can_be_on_another_device(name: str) -> None:
    """Parameters can be made without memory, as large models are, and an input elsewhere is said to be that."""
    module = make(name, KERNELS[name][-1], device="meta", dtype=torch.float64)
    assert all(parameter.is_meta and parameter.dtype == torch.float64 for parameter in module.parameters())
    with pytest.raises(RuntimeError, match=f"{name}: input is on cpu, the parameters are on meta"):
        module(*PAIRS[name].values())


@pytest.mark.parametrize("name", KERNELS)
def test_wrong_kernels_and_sizes_are_refused(name: str) -> None:
    """An unknown label, a kernel of another op and a size below zero are refused when the module is made, or its kernel set."""
    good = KERNELS[name][-1]
    with pytest.raises(UnknownKernelError, match=good):
        make(name, good[:-1])
    other = Kernel("other/cpp", cpp="at::Tensor forward(const at::Tensor& x) { return x; }")
    with pytest.raises(InputError, match=f"{name} wants a kernel of op '{good.partition('/')[0]}', and 'other/cpp'"):
        make(name, other)
    module = make(name, good)
    with pytest.raises(InputError, match="'other/cpp' is one of op 'other'"):
        module.kernel = other
    assert module.kernel.label == good
    with pytest.raises(InputError, match=rf"{name}: \w+=-1, want an integer from [01] to"):
        getattr(li.nn, name)(-1, 5, *((3,) if name == "ConvBN2d" else ()))


@pytest.mark.parametrize(
    ("name", "change", "error", "words"),
    [
        ("LLTM", lambda x, s: (x[:, 1:], s), RuntimeError, r"input has shape \(3, 6\), want \(B, 7\)"),
        ("LLTM", lambda x, s: (x[0], s), RuntimeError, r"input has shape \(7,\), want \(B, 7\)"),
        ("LLTM", lambda x, s: (x, (s[0][:, 1:], s[1])), RuntimeError, r"state\[0\] has shape \(3, 4\), want \(3, 5\)"),
        ("LLTM", lambda x, s: (x, (s[0], s[1][:2])), RuntimeError, r"state\[1\] has shape \(2, 5\), want \(3, 5\)"),
        ("LLTM", lambda x, s: (x, (s[0], None)), TypeError, r"argument 'state\[1\]' must be Tensor, not NoneType"),
        (
            "LLTM",
            lambda x, s: (x, (s[0].double(), s[1])),
            RuntimeError,
            r"state\[0\] is torch.float64, the parameters are",
        ),
        ("Linear", lambda x: (x[:, 1:],), RuntimeError, r"input has shape \(3, 6\), want \(\*, 7\)"),
        ("Linear", lambda x: (x.sum(),), RuntimeError, r"input has shape \(\), want \(\*, 7\)"),
        ("Linear", lambda x: (x.tolist(),), TypeError, "argument 'input' must be Tensor, not list"),
        ("Linear", lambda x: (x.double(),), RuntimeError, "input is torch.float64, the parameters are torch.float32"),
        ("Linear", lambda x: (x.long(),), RuntimeError, "input is torch.int64, the parameters are torch.float32"),
        (
            "Linear",
            lambda x: (x.to_sparse(),),
            RuntimeError,
            r"input is of layout torch.sparse_coo.*input.to_dense\(\)",
        ),
        ("ConvBN2d", lambda x: (x[:, 1:],), RuntimeError, r"input has shape \(2, 2, 5, 7\), want \(B, 3, H, W\)"),
        ("ConvBN2d", lambda x: (x[0],), RuntimeError, r"input has shape \(3, 5, 7\), want \(B, 3, H, W\)"),
        (
            "ConvBN2d",
            lambda x: (x[..., :2],),
            RuntimeError,
            "input has images of 5 x 2, smaller than the kernel of 2 x 3",
        ),
        ("ConvBN2d", lambda x: (x[:1, :, :2, :3],), ValueError, "variance of one value per channel"),
        ("ConvBN2d", lambda x: (x.half(),), RuntimeError, "input is torch.float16, the parameters are torch.float32"),
        ("GraphConv", lambda x, a: (x[:, 1:], a), RuntimeError, r"input has shape \(3, 6\), want \(N, 7\)"),
        ("GraphConv", lambda x, a: (x, a[:, 1:]), RuntimeError, r"adj has shape \(3, 2\), want \(3, 3\)"),
        (
            "GraphConv",
            lambda x, a: (x, a.to_sparse()),
            RuntimeError,
            r"adj is of layout torch.sparse_coo.*adj.to_dense\(\)",
        ),
        ("GraphConv", lambda x, a: (x, a.int()), RuntimeError, "adj is torch.int32, the parameters are torch.float32"),
    ],
)
def test_bad_input_is_blamed_by_name(name: str, change: Any, error: type[Exception], words: str) -> None:
    """Whatever is wrong with an argument, the message names it, and never the parameters, whichever kernel computes."""
    values = change(*PAIRS[name].values())
    for kernel in (KERNELS[name][0], KERNELS[name][-1]):
        with pytest.raises(error, match=words):
            make(name, kernel)(*values)


def test_linear_takes_any_number_of_axes_and_no_bias() -> None:
    """One axis, four, none of an axis, and bias=False are as torch.nn.Linear has them."""
    for bias in (True, False):
        plain = torch.nn.Linear(7, 5, bias=bias)
        for kernel in KERNELS["Linear"]:
            layer = li.nn.Linear(7, 5, bias=bias, kernel=kernel)
            assert isinstance(layer, torch.nn.Linear)
            layer.load_state_dict(plain.state_dict(), strict=True)
            for shape in [(7,), (3, 7), (2, 3, 7), (2, 1, 3, 7), (0, 7), (2, 0, 7)]:
                x = torch.randn(shape)
                torch.testing.assert_close(layer(x), plain(x))
    # No features in, which torch warns about.
    with pytest.warns(UserWarning, match="zero-element"):
        empty = li.nn.Linear(0, 5)
    assert torch.equal(empty(torch.ones(2, 3, 0)), empty.bias.expand(2, 3, 5))


def test_conv_bn_takes_one_number_for_the_kernel_size() -> None:
    """3 is (3, 3); three numbers, or one below one, are refused."""
    assert li.nn.ConvBN2d(3, 4, 3).weight.shape == (4, 3, 3, 3)
    assert li.nn.ConvBN2d(3, 4, 3, eps=0.5).eps == 0.5
    for wrong in ((1, 2, 3), 0, (2, 0)):
        with pytest.raises(InputError, match="ConvBN2d"):
            li.nn.ConvBN2d(3, 4, wrong)


@pytest.mark.parametrize(("name", "kernel"), FASTEST)
def test_autocast_takes_inputs_of_less_precision(name: str, kernel: str) -> None:
    """Under autocast a bfloat16 input meets float32 parameters, and is computed with in float32."""
    values = PAIRS[name].values()
    module = make(name, kernel)
    first, *rest = values
    rough = first.bfloat16()
    want = flat(module(rough.float(), *rest))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = flat(module(rough, *rest))
    for one, two in zip(got, want, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize(("name", "kernel"), FASTEST)
def test_module_compiles_whole(name: str, kernel: str) -> None:
    """torch.compile takes a module that was called before as one graph, and gives the same values and gradients."""
    values = PAIRS[name].values()
    module = make(name, kernel)
    want = step(module, values)
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    for one, two in zip(step(compiled, values), want, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("kernel", KERNELS["LLTM"])
def test_cell_trains(kernel: str) -> None:
    """A module over each kernel takes the same ten steps of SGD as one over the reference."""
    losses = []
    for one in (kernel, "lltm/python"):
        torch.manual_seed(0)
        cell = li.nn.LLTM(7, 5, one, dtype=torch.float64)
        optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
        x, state = torch.randn(3, 7, dtype=torch.float64), (torch.zeros(3, 5, dtype=torch.float64),) * 2
        for _ in range(10):
            optimizer.zero_grad()
            h, c = cell(x, cell(x, state))
            loss = (h - 1).square().mean() + c.square().mean()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-10)


def test_module_of_ones_own(tiny: Callable[..., Kernel]) -> None:
    """A module over an op of one's own needs its name and a forward; everything else is inherited."""

    class Tiny(li.nn.KernelModule):
        """Multiply by what the kernel multiplies by."""

        op = "tiny"

        def __init__(self, kernel: Kernel) -> None:
            super().__init__()
            self.kernel = kernel

        def forward(self, input: Tensor) -> Tensor:
            """Call the kernel."""
            return self._load(input)(input)

    module = Tiny(tiny(3))
    assert "tiny" in repr(module)
    x = torch.ones(4)
    assert torch.equal(module(x), 3 * x) and torch.equal(copy.deepcopy(module)(x), 3 * x)
    with pytest.raises(InputError, match="Tiny wants a kernel of op 'tiny'"):
        module.kernel = "lltm/fused"
