"""Loaded kernels: their place in autograd, and what their bindings refuse."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from lltm_inline.calling import load
from lltm_inline.errors import DefinitionError, InputError, ToolchainError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.run.function import Function
from tests.texts import bodies
from tests.tiny import STABLE, forget

pytestmark = pytest.mark.usefixtures("quick_compiler")

#   y = c x w + b (b may be missing; -1 times it when `flip`),  z = n x
# Every type of argument, two outputs, an extra tensor, and saved values that are an input, a number and an output.
PAIR = Path(__file__).with_name("pair.cpp").read_text()
SAVES = ("x", "w", "b", "c", "z")


def reference(
    x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None, c: float = 2, n: int = 3, flip: bool = False
) -> Any:
    """Say what the op is."""
    y = c * x * w + (0 if b is None else b)
    return (-y if flip else y), n * x


@pytest.fixture(scope="module", autouse=True)
def pair_op() -> Iterator[Op]:
    """Register the op of these tests."""
    yield registry.register(
        Op(
            "pair",
            "(Tensor x, Tensor w, Tensor? b, float c=2, int n=3, bool flip=False) -> (Tensor y, Tensor z)",
            reference,
            {"x": "B F", "w": "B F", "b": "F", "y": "B F", "z": "B F"},
            lambda randn, B, F: (randn(B, F), randn(B, F), randn(F), 2.0, 3, True),
        )
    )
    forget("pair")


def pair(**params: int) -> Function:
    """Load the kernel of these tests."""
    return load(
        Kernel("pair/stable", cpp=PAIR, api="stable", saves=SAVES, params={"TELL": 0, "WRONG_SHAPE": 0} | params),
        progress=False,
    )


def draw(*wants: bool, B: int = 3, F: int = 5) -> list[torch.Tensor]:
    """Draw x, w, b; those that want a gradient are leaves."""
    torch.manual_seed(0)
    tensors = [torch.randn(B, F), torch.randn(B, F), torch.randn(F)]
    return [tensor.double().requires_grad_(want) for tensor, want in zip(tensors, wants or (True,) * 3, strict=True)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("flip", [True, False])
def test_every_type_of_argument(bias: bool, flip: bool) -> None:
    """Tensors, missing tensors, numbers and flags arrive, and gradients come back."""
    x, w, b = draw()
    inputs = (x, w, b if bias else None, 1.5, 4, flip)
    function = pair()
    for got, want in zip(function(*inputs), reference(*inputs), strict=True):
        torch.testing.assert_close(got, want)
    assert torch.autograd.gradcheck(lambda x, w, b: function(x, w, b if bias else None, 1.5, 4, flip), (x, w, b))


def test_named_arguments_and_defaults() -> None:
    """Arguments go by name as well, and those with a default may be left out."""
    x, w, b = draw()
    function = pair()
    for got, want in zip(function(x, w=w, b=b, flip=True), reference(x, w, b, flip=True), strict=True):
        torch.testing.assert_close(got, want)
    with pytest.raises(TypeError, match=r"^pair/stable\(Tensor x, Tensor w, .*missing value for argument 'w'"):
        function(x)


@pytest.mark.parametrize("wants", [w for w in itertools.product([False, True], repeat=3) if any(w)])
def test_only_wanted_gradients_are_asked_for(wants: tuple[bool, ...]) -> None:
    """The mask that `backward` gets is the one of the inputs that want a gradient."""
    function = pair(TELL=1)
    y, _ = function(*draw(*wants))
    with pytest.raises(RuntimeError, match=f"wanted {''.join(str(int(want)) for want in wants)}$"):
        y.sum().backward()


def test_wanted_by_the_caller() -> None:
    """`torch.autograd.grad` for one input asks the kernel for that one only."""
    x, w, b = draw()
    y, _ = pair(TELL=1)(x, w, b)
    with pytest.raises(RuntimeError, match=r"wanted 010$"):
        torch.autograd.grad(y.sum(), w)


@pytest.mark.parametrize("used", [0, 1])
def test_undefined_gradients_arrive_as_zeros(used: int) -> None:
    """An output that nobody used has a gradient of zeros, of the right shape and dtype."""
    x, w, b = draw()
    function = pair()
    got = torch.autograd.grad(function(x, w, b)[used].sum(), (x, w, b))
    want = torch.autograd.grad(reference(x, w, b)[used].sum(), (x, w, b), allow_unused=True)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, torch.zeros_like(one) if other is None else other)


def test_no_graph_where_none_is_wanted() -> None:
    """Without gradients, under no_grad and in inference mode there is no graph."""
    function = pair()
    assert not any(output.requires_grad for output in function(*draw(False, False, False)))
    with torch.no_grad():
        assert not any(output.requires_grad for output in function(*draw()))
    with torch.inference_mode():
        assert all(output.is_inference() for output in function(*draw(False, False, False)))


def test_raw_forward_and_backward() -> None:
    """The raw functions give the extra tensors, honour the mask, and leave unwanted gradients out."""
    function = pair()
    x, w, b = draw(False, False, False)
    inputs = (x, w, b, 2.0, 3, False)
    results = function.forward(*inputs)
    assert len(results) == 3 and results[2].flatten()[:2].tolist() == [1, 3]
    gradients = function.backward([torch.ones_like(x), torch.ones_like(x)], inputs, results, (True, False, True))
    torch.testing.assert_close(gradients[0], 2 * w + 3)
    torch.testing.assert_close(gradients[2], torch.full((5,), 3.0, dtype=torch.float64))
    assert gradients[1] is None or not gradients[1].numel(), gradients[1]


def test_function_says_what_it_is() -> None:
    """A loaded kernel has its kernel, op and build, and shows itself with its arguments."""
    function = pair()
    assert repr(function) == "<Function pair/stable(x, w, b, c, n, flip)>"
    assert function.op is registry.ops["pair"] and function.build is not None and function.interface is not None
    assert function.interface.extras == 1
    assert pair()._call is function._call, "a second load is the first one's"


def test_second_derivative_is_refused() -> None:
    """A derivative of the derivative is an error when it is asked for, with the way out."""
    x, w, b = draw()
    [gradient] = torch.autograd.grad(pair()(x, w, b)[0].sum(), x, create_graph=True)
    with pytest.raises(
        RuntimeError,
        match=r"kernel pair/stable has no second derivative: .* Use a kernel that differentiates through ATen",
    ):
        gradient.sum().backward()
    x, w, b = draw()
    [gradient] = torch.autograd.grad(pair()(x, w, b)[0].sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"kernel pair/stable has no second derivative"):
        torch.autograd.grad((gradient + x).sum(), x)  # which walks only to where the inputs lie


def test_loading_from_several_threads() -> None:
    """Threads that load one kernel at once all get it: its operators are registered once."""
    kernel = pair().kernel
    kernel = kernel.replace(cpp=f"{kernel.cpp}// loaded by several threads\n")
    with ThreadPoolExecutor(4) as pool:
        functions = list(pool.map(lambda _: load(kernel, progress=False), range(4)))
    assert len({id(function._call) for function in functions}) == 1


def test_gradient_of_wrong_shape_is_refused() -> None:
    """A gradient of shape (1, B, F) for an input of (B, F) is an error, where autograd alone would sum it silently."""
    x, w, b = draw()
    y, _ = pair(WRONG_SHAPE=1)(x, w, b)
    with pytest.raises(RuntimeError, match=r"pair/stable: backward returned d_w of shape \[1, 3, 5\], want \[3, 5\]"):
        y.sum().backward()


def test_graph_is_used_once() -> None:
    """A second backward needs retain_graph, as everywhere in PyTorch."""
    x, w, b = draw()
    y, _ = pair()(x, w, b)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.sum().backward()


def test_saved_tensors_are_watched() -> None:
    """Changing a saved input or output in place before backward is an error, not a wrong gradient."""
    for changed in ("w", "z"):
        x, w, b = draw()
        w = w * 1
        y, z = pair()(x, w, b)
        with torch.no_grad():
            {"w": w, "z": z}[changed].mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_forward_mode_is_refused() -> None:
    """Forward-mode differentiation, which a kernel has not, is an error and not a missing tangent."""
    x, w, b = draw(False, False, False)
    with (
        torch.autograd.forward_ad.dual_level(),
        pytest.raises(NotImplementedError, match="pair/stable: forward-mode differentiation is not supported"),
    ):
        pair()(torch.autograd.forward_ad.make_dual(x, x), w, b)


def variant(body: str, saves: tuple[str, ...] = ()) -> Function:
    """Load a kernel of `tiny` whose `forward` returns what it is told; `backward` gives d_y back."""
    extra = body.startswith("{")
    text = (
        "#include <torch/csrc/stable/ops.h>\nusing torch::stable::Tensor;\n"
        f"{'std::tuple<Tensor, Tensor>' if extra else 'Tensor'} forward(const Tensor& x) {{\n"
        f"  Tensor y = torch::stable::clone(x);\n  return {body};\n}}\n"
        f"Tensor backward(const Tensor& d_y, {'const Tensor& kept, ' if extra else ''}std::array<bool, 1> wanted) {{ return d_y; }}\n"
    )
    return load(Kernel("tiny/variant", cpp=text, api="stable", saves=saves), progress=False)


def test_output_that_is_the_input_is_refused(tiny: Any) -> None:
    """Returning an input as an output would make a tensor its own gradient function's result."""
    with pytest.raises(RuntimeError, match="tiny/variant: output 0 is an input itself; return a new tensor"):
        variant("x")(torch.ones(3, requires_grad=True))


def test_output_kept_as_extra_is_no_leak(tiny: Any) -> None:
    """An output that is returned once more, to be kept for backward, does not keep itself alive for ever."""
    function = variant("{y, y}")
    x = torch.ones(2**20, requires_grad=True)
    function(x)[0].backward()
    before = psutil.Process().memory_info().rss
    for _ in range(60):  # 4 MiB each
        function(x)
    assert psutil.Process().memory_info().rss - before < 60 * 2**20
    y = function(x)
    y.sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((torch.ones(3, 5, dtype=torch.int64),) * 2, "pair/stable: x is Long, want Float or Double"),
        ((torch.ones(3, 5).half(),) * 2, "pair/stable: x is Half, want Float or Double"),
        ((torch.ones(3, 5).bfloat16(),) * 2, "pair/stable: x is BFloat16, want Float or Double"),
        ((torch.ones(3, 5), torch.ones(3, 5).double()), "pair/stable: w is Double, but x is Float"),
        ((torch.ones(3, 5), torch.ones(3, 5), torch.ones(5).double()), "pair/stable: b is Double, but x is Float"),
        (
            (torch.ones(3, 5), torch.ones(3, 5, device="meta")),
            "pair/stable: w is on another device than x",
        ),
        ((torch.ones(3, 5), torch.ones(5, 3)), r"pair/stable: w has shape \(5, 3\), want \(B, F\) = \(3, 5\)"),
        ((torch.ones(3, 5), torch.ones(5)), r"pair/stable: w has shape \(5\), want \(B, F\)"),
        ((torch.ones(3, 5), torch.ones(3, 5), torch.ones(3)), r"pair/stable: b has shape \(3\), want \(F\) = \(5\)"),
        ((torch.ones(3, 5), torch.ones(3, 5), torch.ones(())), r"pair/stable: b has shape \(\), want \(F\)"),
    ],
)
def test_binding_refuses(inputs: tuple[torch.Tensor, ...], message: str) -> None:
    """Dtypes, devices and shapes that the op has not are refused with both sides of the mismatch, with and without graph."""
    function = pair()
    inputs = (*inputs, None)[:3]
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        function(*inputs)
    if inputs[0].is_floating_point():
        with pytest.raises((RuntimeError, NotImplementedError), match=message):
            function(inputs[0].clone().requires_grad_(), *inputs[1:])


def test_lltm_refuses_in_the_letters_of_the_op() -> None:
    """Expected extents are shown as letters and as numbers."""
    lltm = load("lltm/stable", progress=False)
    B, F, S = 3, 17, 5
    good = [torch.randn(B, F), torch.randn(3 * S, S + F), torch.randn(3 * S), torch.randn(B, S), torch.randn(B, S)]
    assert len(lltm(*good)) == 2
    good[1] = torch.randn(3, 4)
    with pytest.raises(
        RuntimeError, match=r"^lltm/stable: weights has shape \(3, 4\), want \(3S, S\+F\) = \(15, 22\)$"
    ):
        lltm(*good)


def test_python_kernel() -> None:
    """The reference loads as the function that it is."""
    function = load("pair/python")
    assert function.build is None and function.interface is None
    assert function(*draw())[0].requires_grad
    with pytest.raises(InputError, match="'pair/python' is a Python function: it has no raw forward"):
        function.forward(*draw())
    with pytest.raises(InputError, match="'pair/python' has no backward of its own"):
        function.backward([], [], [], [])


def test_other_devices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that there is not, that a kernel has no text for, or that this machine lacks, is refused by name."""
    with pytest.raises(InputError, match="no device 'tpu'; want one of cpu, cuda, cuda-cpu"):
        load("pair/python", device="tpu")
    with pytest.raises(DefinitionError, match="'lltm/aten' has no cuda text: device 'cuda' needs one"):
        load("lltm/aten", device="cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ToolchainError, match=r"^no GPU was found|^torch \S+ (?:is a CPU build|finds no GPU)"):
        load("pair/python", device="cuda")


def test_kernels_share_a_process(tiny: Any) -> None:
    """Many kernels with the same function names live beside each other."""
    functions = [load(tiny(factor), progress=False) for factor in (2, 3)]
    functions.append(load(tiny(3, text=STABLE.replace("factor *", "1 + factor *")), progress=False))
    assert [f(torch.ones(1)).item() for f in functions] == [2, 3, 4]


TEXTS = bodies(__file__)
# What upstream's own tests hold load_inline to, here over both kinds of generated binding. pybind11 takes 15 s to compile, so
# one kernel does for all.
ACT = TEXTS["act"]
PROBE = TEXTS["probe"]
CLASSIC = TEXTS["classic"]


@pytest.fixture(scope="module")
def library(quick_compiler: None) -> Iterator[Function]:
    """Load the probe with the default binding."""
    registry.register(
        Op(
            "probe",
            "(Tensor x, int what) -> Tensor y",
            lambda x, what: x,
            {"x": "N", "y": "N"},
            lambda randn, N: (randn(N), 99),
        )
    )
    yield load(Kernel("probe/library", cpp=PROBE, slots={"ACT": ACT}), progress=False)
    forget("probe")


@pytest.fixture(scope="module")
def classic(pair_op: Op, quick_compiler: None) -> Function:
    """Load the kernel of the classic binding."""
    doc = 'The "classic" \\ one.\nMore.'
    kernel = Kernel("pair/classic", cpp=CLASSIC, slots={"ACT": ACT}, binding="pybind11", saves=("w", "x", "b"), doc=doc)
    return load(kernel, progress=False)


#: Called as `probe(x, what)`.
Probe = Callable[[torch.Tensor, int], Any]


@pytest.fixture
def probe(request: pytest.FixtureRequest, binding: str) -> Probe:
    """Give the function that does what is asked, by either binding."""
    if binding == "library":
        return request.getfixturevalue("library")
    function = request.getfixturevalue("classic")
    return lambda x, what: function(x[None], x[None], None, 2.0, 100 + what, False)[0][0]


both_bindings = pytest.mark.parametrize("binding", ["library", pytest.param("pybind11", marks=pytest.mark.full)])


@both_bindings
@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        (1, IndexError, "past the end"),
        (2, TypeError, "wrong type"),
        (3, ValueError, "wrong value"),
        (4, NotImplementedError, "not yet"),
        (5, IndexError, "wrong index"),
        (6, ValueError, "bad argument"),
        (7, RuntimeError, "plain"),
    ],
)
def test_exceptions_keep_their_type(
    binding: str, what: int, error: type[Exception], message: str, probe: Probe
) -> None:
    """A C++ exception arrives as the Python exception that it stands for, with its message."""
    if binding == "pybind11" and what in (1, 6):
        error = RuntimeError  # torch's wrapper of functions for pybind11 knows torch's own exceptions only
    with pytest.raises(error, match=message) as caught:
        probe(torch.ones(2), what)
    assert type(caught.value) is error


@both_bindings
def test_warning_is_one_python_warning(probe: Probe, capfd: pytest.CaptureFixture[str]) -> None:
    """TORCH_WARN in a kernel is one Python warning, and nothing on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert probe(torch.ones(2), 0).tolist() == [2, 2]
    assert [str(item.message).partition(" (")[0] for item in caught] == ["careful with 0"]
    assert caught[0].category is UserWarning
    assert capfd.readouterr().err == ""


@both_bindings
def test_default_dtype_is_seen(probe: Probe) -> None:
    """A tensor that the kernel makes without a dtype has the default dtype of Python's torch."""
    before = torch.get_default_dtype()
    try:
        for dtype in (torch.float64, torch.float32):
            torch.set_default_dtype(dtype)
            assert probe(torch.ones(1), 8).dtype is dtype
    finally:
        torch.set_default_dtype(before)


class Python(torch.autograd.Function):
    """A node whose backward needs the interpreter."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, d_y: torch.Tensor) -> torch.Tensor:
        return d_y


@both_bindings
def test_backward_inside_of_a_kernel(binding: str, probe: Probe) -> None:
    """Running autograd in a kernel works where the GIL is released, and is a clear error where pybind11 holds it."""
    leaf = torch.ones(3, requires_grad=True)
    if binding == "pybind11":
        with pytest.raises(RuntimeError, match="The autograd engine was called while holding the GIL"):
            probe(Python.apply(leaf), 9)
        return
    probe(Python.apply(leaf), 9)
    assert leaf.grad is not None and leaf.grad.tolist() == [1, 1, 1]


def test_kernel_without_backward_differentiates(library: Function) -> None:
    """A text without `backward` differentiates through ATen, twice if need be."""
    x = torch.ones(3, requires_grad=True)
    [gradient] = torch.autograd.grad(library(x * x, 99).sum(), x, create_graph=True)
    assert torch.autograd.grad(gradient.sum(), x)[0].tolist() == [4, 4, 4]


@pytest.mark.full
@pytest.mark.parametrize("bias", [True, False])
def test_classic_binding(bias: bool, classic: Function) -> None:
    """The generated pybind11 binding gives the same values and gradients, with a missing tensor as well."""
    function = classic
    x, w, b = draw()
    inputs = (x, w, b if bias else None, 2.0, 3, False)
    wants = [tensor for tensor in inputs if isinstance(tensor, torch.Tensor)]
    got, want = function(*inputs), reference(*inputs)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other)
    for one, other in zip(
        torch.autograd.grad(got[0].sum() + got[1].sum(), wants),
        torch.autograd.grad(want[0].sum() + want[1].sum(), wants),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.full
def test_classic_binding_takes_the_first_line_of_the_doc(classic: Function) -> None:
    """Quotes and backslashes of the docstring arrive in Python as they were written."""
    assert 'The "classic" \\ one.' in (classic._forward.__doc__ or "")


@pytest.mark.full
def test_classic_binding_honours_the_mask(classic: Function) -> None:
    """Gradients that nobody wants are left out in the classic form too."""
    function = classic
    x, w, b = draw(False, True, False)
    inputs = (x, w, b, 2.0, 3, False)
    gradients = function.backward([torch.ones_like(x)] * 2, inputs, function.forward(*inputs), (False, True, False))
    assert gradients[0] is None and gradients[2] is None and gradients[1] is not None
