"""Loaded kernels as operators of PyTorch: torch.compile, torch.export, torch.func, autocast, meta tensors, copies."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode

import lltm_inline as li
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import InputError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.run.cases.case import Case, prime_size
from lltm_inline.run.cases.drawing import make_inputs
from lltm_inline.run.function import Function, as_tuple, differentiable
from lltm_inline.source.template import devices_of
from tests.quick import QUICK
from tests.texts import bodies
from tests.tiny import forget

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
]

SHIPPED = [name for name, kernel in li.registry.items() if kernel.python is None and "cpu" in devices_of(kernel)]
#: Every kind of argument and result among them: extra tensors, a number, None, a scalar, complex numbers, the stable ABI.
TRACED = [
    "lltm/fused",
    "lltm/stable",
    "linear/aten",
    "mul_constant/aten",
    "cube/aten",
    "complex_abs2/pointer",
    "trace/accessor",
    "conv_bn/fused",
]
HEADER = "#include <ATen/ATen.h>\nusing at::Tensor;\n"

TEXTS = bodies(__file__)
# y = 3 x w, in several ways to write forward and backward.
PRODUCT = HEADER + TEXTS["product"]
TAKES = "const Tensor& x, const Tensor& w,"
FORGETFUL = HEADER + TEXTS["forgetful"]
# The number of columns goes to backward as a value, where no trace can see it.
UNTOLD = HEADER + TEXTS["untold"]
THROUGH_ATEN = HEADER + TEXTS["through_aten"]
# What forward keeps is its input, and both gradients are one tensor: memory that a compiler must not use again.
SHARING = HEADER + TEXTS["sharing"]
SUM = HEADER + TEXTS["sum"]


def product(variant: str, text: str = PRODUCT, extra: str = "x.sum(1)", saves: tuple[str, ...] = ("x", "w")) -> Kernel:
    """Make a kernel of the op `product`."""
    slots = {"EXTRA": extra, "TAKES": TAKES} if text is PRODUCT else {}
    return Kernel(f"product/{variant}", cpp=text, slots=slots, saves=saves)


KERNELS = {
    "linear": product("linear", extra="at::cat({x, w.t()}).transpose(0, 1)"),  # (F, B+O), and no contiguous one
    "square": product("square", extra="at::empty({x.size(0) * x.size(0)}, x.options())"),
    "rank": product("rank", extra="at::empty(std::vector<int64_t>(x.size(0) % 3, 1), x.options())"),
    "forgetful": product("forgetful", FORGETFUL, saves=("w",)),
    "untold": Kernel("rows/untold", cpp=UNTOLD),
    "through_aten": product("through_aten", THROUGH_ATEN, saves=()),
    "classic": product("classic", THROUGH_ATEN, saves=()).replace(binding="pybind11"),
    "sharing": Kernel("pointwise/sharing", cpp=SHARING),
    "sum": Kernel("pointwise/sum", cpp=SUM),
}


@pytest.fixture(scope="module", autouse=True)
def built() -> Iterator[None]:
    """Register three ops, build everything at once, and load it; compute on one thread."""
    registry.register(
        Op("product", "(Tensor x, Tensor w) -> Tensor y", lambda x, w: 3 * x @ w, {"x": "B F", "w": "F O", "y": "B O"})
    )
    registry.register(
        Op("pointwise", "(Tensor x, Tensor y) -> Tensor z", lambda x, y: x * y, dict.fromkeys("xyz", "..."))
    )
    registry.register(Op("rows", "(Tensor x) -> Tensor y", lambda x: x.sum(1), {"x": "B F", "y": "B"}))
    quick = [kernel for kernel in KERNELS.values() if kernel.binding != "pybind11"]
    li.build([*SHIPPED, *quick], compiler=QUICK, progress=False)
    for name in [*SHIPPED, *quick]:
        li.load(name, compiler=QUICK, progress=False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    for op in ("product", "pointwise", "rows"):
        forget(op)


@pytest.fixture(autouse=True)
def forgetting() -> Iterator[None]:
    """Let no test see what another compiled."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def load(name: str) -> Function:
    """Load a kernel of the table above, or one that ships."""
    return li.load(KERNELS.get(name, name), compiler=QUICK, progress=False)


def leaves_of(op: Op, more: int = 0, dtype: torch.dtype = torch.float64) -> list[Any]:
    """Make one set of inputs, each extent by so much larger than a prime, that want gradients."""
    made = make_inputs(op, Case("", tuple(extent + more for extent in prime_size(op)), dtype))
    return [value.requires_grad_() if differentiable(value) else value for value in made]


def answers(function: Callable[..., Any], leaves: list[Any]) -> list[torch.Tensor]:
    """Return outputs and the gradients of their sum, each output with a weight of its own."""
    outputs = as_tuple(function(*leaves))
    total = sum((number + 1) * output.sum() for number, output in enumerate(outputs))
    return [*outputs, *torch.autograd.grad(total, [leaf for leaf in leaves if differentiable(leaf)])]


def assert_same(got: Any, want: Any) -> None:
    """Compare two tuples of tensors, or two tensors."""
    for one, other in zip(as_tuple(got), as_tuple(want), strict=True):
        torch.testing.assert_close(one, other)


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function without leaving a graph, but without generating code either."""
    return torch.compile(lambda *inputs: function(*inputs), fullgraph=True, **{"backend": "aot_eager"} | options)


# torch.compile


@pytest.mark.parametrize("name", TRACED)
def test_compiled_function_is_the_eager_one(name: str) -> None:
    """Forward and gradients agree at three sizes, the second of which makes sizes symbols; there is no graph break."""
    function = load(name)
    traced = compiled(function)
    for more in (0, 2, 5):
        leaves = leaves_of(function.op, more)
        assert_same(answers(traced, leaves), answers(function, leaves))
    assert not torch._dynamo.utils.counters["graph_break"]
    # Numbers become symbols later than sizes.
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2 + (function.op.name == "mul_constant")


def test_compiled_with_a_missing_tensor() -> None:
    """None for an optional tensor is a case of its own, in forward and in backward."""
    function = load("linear/aten")
    x, weight, _ = leaves_of(function.op)
    traced = compiled(lambda x, weight: function(x, weight, None))
    assert_same(answers(traced, [x, weight]), answers(function, [x, weight]))


@pytest.mark.parametrize("name", ["through_aten", "sin_add/aten"])
def test_compiled_kernel_that_differentiates_through_aten(name: str) -> None:
    """Without a backward the compiler sees the calls inside; sizes become symbols all the same, also when asked for."""
    function = load(name)
    traced = compiled(function)
    for more in (0, 2, 5):
        leaves = leaves_of(function.op, more)
        assert_same(answers(traced, leaves), answers(function.op.reference, leaves))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2
    torch._dynamo.reset()
    leaves = leaves_of(function.op)
    for leaf in leaves:
        torch._dynamo.mark_dynamic(leaf, list(range(leaf.dim())))
    assert_same(answers(compiled(function), leaves), answers(function.op.reference, leaves))


@pytest.mark.filterwarnings("error:.*The output of this custom operator:UserWarning")
def test_compiled_with_generated_code() -> None:
    """Generated code uses memory again: tensors that a kernel hands on, or back twice, are not written over."""
    x, y = (torch.randn(1000, dtype=torch.float64).requires_grad_() for _ in "xy")
    fused = load("lltm/fused")
    state = leaves_of(fused.op)

    def call(product: Any, sum: Any, lltm: Any) -> Callable[..., Any]:
        def run(x: torch.Tensor, y: torch.Tensor, *state: torch.Tensor) -> tuple[torch.Tensor, ...]:
            z = product(x.sin(), y.cos())
            w = sum((z + 1).exp() * z, x * y)
            h, cell = lltm(*(tensor * 1.5 for tensor in state))
            return (w.sin() * w).sum() * 1e-3, (h.exp() * cell).sum()

        return run

    inputs = [x, y, *state]
    traced = torch.compile(call(load("sharing"), load("sum"), fused), fullgraph=True)
    want = answers(call(torch.mul, torch.add, fused.op.reference), inputs)
    # What $CXX was when torch read it is another test's business.
    with torch._inductor.config.patch({"cpp.cxx": (None, find_toolchain().compiler)}):
        assert_same(answers(traced, inputs), want)


def test_compiled_without_gradients() -> None:
    """Under no_grad and in inference mode the compiled function is the eager one too."""
    function = load("lltm/fused")
    inputs = [leaf.detach() for leaf in leaves_of(function.op)]
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert_same(compiled(function)(*inputs), function(*inputs))


def test_compiled_under_autocast() -> None:
    """A trace holds the conversion to float32."""
    function = load("linear/aten")
    leaves = [leaf.detach().bfloat16().requires_grad_() for leaf in leaves_of(function.op)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got, want = answers(compiled(function), leaves), answers(function, leaves)
    assert_same(got, want)
    assert [tensor.dtype for tensor in got] == [torch.float32] + [torch.bfloat16] * 3


@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace:UserWarning")
def test_classic_binding_breaks_the_graph() -> None:
    """What pybind11 binds no compiler can look into: it computes, outside of the graph."""
    function = load("classic")
    leaves = leaves_of(function.op)
    traced = torch.compile(lambda *inputs: function(*inputs) * 2, backend="aot_eager")
    assert_same(traced(*leaves), function.op.reference(*leaves) * 2)
    assert torch._dynamo.utils.counters["graph_break"]


def cell(kernel: str = "lltm/fused") -> tuple[torch.nn.Module, Any]:
    """Make a module and what to call it with."""
    torch.manual_seed(0)
    module = li.nn.LLTM(17, 5, kernel)
    return module, (torch.randn(3, 17), (torch.randn(3, 5), torch.randn(3, 5)))


def test_compiled_module() -> None:
    """A module that was called once compiles into one graph, and its parameters get the gradients of the plain one."""
    module, inputs = cell()
    module(*inputs)
    other = copy.deepcopy(module)
    other.kernel = "lltm/python"
    traced = torch.compile(module, fullgraph=True, backend="aot_eager")
    for batch in (3, 8):
        x, state = torch.randn(batch, 17), (torch.randn(batch, 5), torch.randn(batch, 5))
        for one in (traced, other):
            one.zero_grad()
            sum(tensor.sum() for tensor in one(x, state)).backward()
        assert_same([p.grad for p in module.parameters()], [p.grad for p in other.parameters()])


def test_module_that_is_not_loaded() -> None:
    """With fullgraph=True the error tells the cure; without, the kernel is loaded beside the graph; then all is one graph."""
    module, inputs = cell()
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"call lltm_inline\.load, or a module .* before compiling"):
        torch.compile(module, fullgraph=True, backend="aot_eager")(*inputs)
    torch._dynamo.reset()
    want = cell("lltm/python")[0](*inputs)
    assert_same(torch.compile(module, backend="aot_eager")(*inputs), want)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1, (
        "the compiler looked into the loading of the kernel"
    )
    torch._dynamo.reset()
    assert_same(torch.compile(module, fullgraph=True, backend="aot_eager")(*inputs), want)


UNLOADED = """
import torch
import lltm_inline as li

li.build(["lltm/stable"], progress=False)
inputs = torch.randn(3, 17), (torch.randn(3, 5), torch.randn(3, 5))
module = li.nn.LLTM(17, 5, "lltm/stable")
if WHAT == "compile":
    outputs = torch.compile(module, backend="aot_eager")(*inputs)
else:
    outputs = torch.export.export(module, inputs).module()(*inputs)
want = li.load("lltm/python")(inputs[0], module.weights, module.bias, *inputs[1])
print(*(torch.allclose(one, other, atol=1e-6) for one, other in zip(outputs, want)))
"""


@pytest.mark.parametrize("what", ["compile", "export"])
def test_first_load_in_the_middle_of_a_trace(what: str, start: Callable[..., Any]) -> None:
    """In a process where nothing was loaded, neither the loading nor the registration of operators becomes part of a trace."""
    assert start(UNLOADED.replace("WHAT", repr(what))).output().splitlines()[-1] == "True True"


# torch.export and opcheck


@pytest.mark.parametrize("dynamic", [False, True])
def test_exported_module(dynamic: bool) -> None:
    """An exported program calls the operator, runs after saving and loading, and, when told so, at other batch sizes."""
    module, (x, state) = cell()
    module(x, state)
    batch = torch.export.Dim("B", min=1, max=999)
    shapes = ({0: batch}, ({0: batch}, {0: batch})) if dynamic else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about torch's own pickles
        program = torch.export.export(module, (x, state), dynamic_shapes=shapes)
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        again = torch.export.load(file)
    assert li.load("lltm/fused", progress=False).operator in [node.target for node in program.graph.nodes]
    if dynamic:
        x, state = torch.randn(9, 17), (torch.randn(9, 5), torch.randn(9, 5))
    for runs in (program.module(), again.module(), program.run_decompositions().module()):
        assert_same(runs(x, state), module(x, state))


class Calls(torch.nn.Module):
    """Calls a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        """Call it."""
        return self.function(*inputs)


def test_exported_kernel_that_differentiates_through_aten() -> None:
    """Of a kernel without backward the calls inside are exported, and sizes may stay open."""
    function = load("sin_add/aten")
    length = torch.export.Dim("N", min=2, max=99)
    inputs = (torch.randn(5), torch.randn(5))
    program = torch.export.export(Calls(function), inputs, dynamic_shapes=(({0: length}, {0: length}),))
    longer = (torch.randn(7), torch.randn(7))
    assert_same(program.module()(*longer), function(*longer))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_kernels_are_operators(name: str) -> None:
    """PyTorch's own check of operators finds nothing, on inputs that want gradients and on others."""
    function = load(name)
    if function.operator is None:
        return  # of the classic binding
    leaves = leaves_of(function.op)
    torch.library.opcheck(function.operator, tuple(leaves))
    torch.library.opcheck(
        function.operator,
        tuple(v.detach() if isinstance(v, torch.Tensor) else v for v in leaves),
        test_utils="test_faketensor",
    )


# torch.func


def loss_of(function: Callable[..., Any], rest: list[Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a number that depends on a function's outputs, as a function of its first input."""
    return lambda x: sum((output.abs() ** 2).sum() for output in as_tuple(function(x, *rest)))


@pytest.mark.parametrize("name", SHIPPED)
def test_vmap(name: str) -> None:
    """vmap gives for each element of a batch what a loop gives, whether all inputs have the batch or the first one only."""
    function = load(name)
    first, *rest = (v.detach() if isinstance(v, torch.Tensor) else v for v in leaves_of(function.op))
    xs = torch.stack([first, first * 0.5, -first])
    want = [as_tuple(function.op.reference(x, *rest)) for x in xs]
    got = torch.func.vmap(function, in_dims=(0, *(None for _ in rest)))(xs, *rest)
    assert_same(got, tuple(torch.stack(outputs) for outputs in zip(*want, strict=True)))
    stacked = [torch.stack([v, v * 0.5], -1) if isinstance(v, torch.Tensor) else v for v in (first, *rest)]
    dims = tuple(-1 if isinstance(v, torch.Tensor) else None for v in stacked)
    got = torch.func.vmap(function, in_dims=dims, out_dims=0)(*stacked)
    two = [[v[..., i] if isinstance(v, torch.Tensor) else v for v in stacked] for i in range(2)]
    want = [as_tuple(function.op.reference(*inputs)) for inputs in two]
    assert_same(got, tuple(torch.stack(outputs) for outputs in zip(*want, strict=True)))


@pytest.mark.parametrize("name", SHIPPED)
def test_gradients_of_torch_func(name: str) -> None:
    """torch.func.grad, also for each element of a batch, and jacrev give what they give for the reference."""
    function = load(name)
    first, *rest = (v.detach() if isinstance(v, torch.Tensor) else v for v in leaves_of(function.op))
    loss, want = loss_of(function, rest), loss_of(function.op.reference, rest)
    assert_same(torch.func.grad(loss)(first), torch.func.grad(want)(first))
    xs = torch.stack([first, first * 0.5])
    assert_same(torch.func.vmap(torch.func.grad(loss))(xs), torch.func.vmap(torch.func.grad(want))(xs))
    if not first.is_complex():
        got = torch.func.jacrev(lambda x: loss(x) * torch.ones(2, dtype=x.dtype))(first)
        assert_same(got, torch.func.jacrev(lambda x: want(x) * torch.ones(2, dtype=x.dtype))(first))


def second_derivatives(loss: Callable[..., Any], x: torch.Tensor) -> dict[str, Callable[[], Any]]:
    """List ways to ask for the derivative of the derivative's square."""
    grad, leaf = torch.func.grad, x.detach().requires_grad_()
    square = lambda gradient: (gradient.abs() ** 2).sum()  # noqa: E731

    def inside(x: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(loss(x), x, create_graph=True)[0]

    return {
        "grad of grad": lambda: grad(lambda x: square(grad(loss)(x)))(x),
        "grad of vjp": lambda: grad(
            lambda x: square(torch.func.vjp(loss, x)[1](torch.ones((), dtype=x.real.dtype))[0])
        )(x),
        "autograd of grad": lambda: torch.autograd.grad(square(grad(loss)(leaf)) + square(leaf), leaf)[0],
        "backward of grad": lambda: (square(grad(loss)(leaf)) + square(leaf)).backward(),
        "autograd of autograd": lambda: torch.autograd.grad(square(inside(leaf)) + square(leaf), leaf)[0],
        "vmap of grad of grad": lambda: torch.func.vmap(grad(lambda x: square(grad(loss)(x))))(x[None]),
        "grad of vmap of grad": lambda: grad(lambda x: square(torch.func.vmap(grad(loss))(x[None])))(x),
    }


@pytest.mark.parametrize("name", SHIPPED)
def test_second_derivative_is_right_or_an_error(name: str) -> None:
    """However a second derivative is asked for, it is the reference's or an error that names the kernel; never a silent zero."""
    function = load(name)
    first, *rest = (v.detach() if isinstance(v, torch.Tensor) else v for v in leaves_of(function.op))
    if first.is_complex():
        first = first[:3]
    wants = second_derivatives(loss_of(function.op.reference, rest), first)
    through_aten = function.interface is not None and not function.interface.has_backward
    for way, ask in second_derivatives(loss_of(function, rest), first).items():
        if through_aten or (function.kernel.double_backward and way == "autograd of autograd"):
            got, want = ask(), wants[way]()
            if want is not None:
                assert_same(got, want)
            continue
        with pytest.raises(RuntimeError, match=f"kernel {name} has no second derivative"):
            ask()
            pytest.fail(f"{way}: computed")


@pytest.mark.parametrize("name", ["lltm/fused", "linear/aten", "cube/aten"])
def test_forward_mode_is_refused(name: str) -> None:
    """jvp, jacfwd and with it hessian are an error that says what is not supported."""
    function = load(name)
    first, *rest = (v.detach() if isinstance(v, torch.Tensor) else v for v in leaves_of(function.op))
    loss = loss_of(function, rest)
    for ask in (
        lambda: torch.func.jvp(loss, (first,), (first,)),
        lambda: torch.func.jacfwd(loss)(first),
        lambda: torch.func.hessian(loss)(first),
    ):
        with pytest.raises(NotImplementedError, match=f"^{name}: forward-mode differentiation is not supported"):
            ask()


# autocast, meta tensors


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast(name: str, half: torch.dtype) -> None:
    """Half precision becomes float32 before a kernel, and gradients come back in the dtype of the inputs."""
    function = load(name)
    leaves = leaves_of(function.op, dtype=torch.float32)
    if any(isinstance(leaf, torch.Tensor) and leaf.is_complex() for leaf in leaves):
        return  # there are no complex numbers of halves to speak of
    halves = [leaf.detach().to(half).requires_grad_() if differentiable(leaf) else leaf for leaf in leaves]
    floats = [leaf.detach().float().requires_grad_() if differentiable(leaf) else leaf for leaf in halves]
    mixed = [one if index % 2 else other for index, (one, other) in enumerate(zip(halves, floats, strict=True))]
    want = answers(function, floats)
    count = len(function.op.signature.outputs)
    for given in (halves, mixed):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            got = answers(function, given)
        wanted = [leaf for leaf in given if differentiable(leaf)]
        assert [tensor.dtype for tensor in got] == [torch.float32] * count + [leaf.dtype for leaf in wanted]
        gradients = [w.to(leaf.dtype) for w, leaf in zip(want[count:], wanted, strict=True)]
        if name == "lltm/class":  # autograd's own backward of a GEMM rounds where it is called under autocast
            got, gradients = got[:count], []
        assert_same(got, [*want[:count], *gradients])


@pytest.mark.parametrize(
    "name", [name for name in SHIPPED if name not in ("sin_add/aten", "complex_abs2/pointer", "lltm/class")]
)
def test_autocast_leaves_the_other_dtypes_alone(name: str) -> None:
    """float64 stays float64 under autocast, and float32 is not rounded on the way, not even in backward."""
    function = load(name)
    for dtype in (torch.float64, torch.float32):
        leaves = leaves_of(function.op, dtype=dtype)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            got = answers(function, leaves)
        assert_same(got, answers(function, leaves))


@pytest.mark.parametrize("name", SHIPPED)
def test_meta_tensors(name: str) -> None:
    """On the meta device a kernel gives shapes, dtypes and strides of outputs and gradients, and no values."""
    function = load(name)
    leaves = leaves_of(function.op)
    metas = [v.detach().to("meta").requires_grad_() if differentiable(v) else v for v in leaves]
    if function.interface is not None and not function.interface.has_backward:
        return  # ATen's own calls: their affair, and the binding wants the CPU
    for got, want in zip(answers(function, metas), answers(function, leaves), strict=True):
        assert got.is_meta and (got.shape, got.dtype, got.stride()) == (want.shape, want.dtype, want.stride())


# Fakes


def bad_inputs(op: Op) -> Iterator[list[Any]]:
    """Yield inputs that do not fit: an extent, a rank, a dtype in each tensor."""
    inputs = [v.detach() if isinstance(v, torch.Tensor) else v for v in leaves_of(op)]
    for index, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            longer = (value.shape[0] + 1, *value.shape[1:])
            wrong = [value.new_zeros(longer)] if op.any_rank and len(op.any_rank_inputs) > 1 else []
            wrong += [value.new_zeros(longer), value[None], value[0]] if not op.any_rank else []
            wrong += [value.float()] if index else [value.long() if not value.is_complex() else value.real]
            yield from ([*inputs[:index], one, *inputs[index + 1 :]] for one in wrong)


@pytest.mark.parametrize(
    "name", ["lltm/fused", "linear/aten", "axpy/cpp", "conv2d/aten", "square", "complex_abs2/pointer"]
)
def test_a_trace_refuses_in_the_words_of_the_binding(name: str) -> None:
    """Wrong extents, ranks and dtypes have one message, whether there are values or not."""
    function = load(name)
    for inputs in bad_inputs(function.op):
        try:
            function(*inputs)
        except RuntimeError as error:
            said = str(error)
        else:
            continue  # sizes that fit after all
        with pytest.raises(RuntimeError) as caught:
            function(*(v.to("meta") if isinstance(v, torch.Tensor) else v for v in inputs))
        assert str(caught.value) == said
        with pytest.raises((torch._dynamo.exc.TorchRuntimeError, RuntimeError)) as traced:
            compiled(function, dynamic=False)(*inputs)
        assert said.splitlines()[0] in str(traced.value)


def test_a_trace_refuses_two_devices() -> None:
    """A meta tensor among fake ones of the CPU is told by name."""
    function = load("lltm/fused")
    x, *rest = leaves_of(function.op)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = [mode.from_tensor(value.detach()) for value in rest]
        with pytest.raises(RuntimeError, match=r"^lltm/fused: weights is on another device than input$"):
            function(mode.from_tensor(x.detach().to("meta")), *fakes)


def test_shapes_of_extra_tensors_are_found() -> None:
    """Extents that are sums of letters are found by running the kernel, and hold at sizes with symbols."""
    function = load("linear")
    metas = [torch.empty(7, 4, device="meta"), torch.empty(4, 9, device="meta")]
    space = function._forward
    assert space is not None and [tuple(result.shape) for result in space(*metas)] == [(7, 9), (4, 16)]
    traced = compiled(function)
    for more in (0, 2, 5):
        leaves = leaves_of(function.op, more)
        assert_same(answers(traced, leaves), answers(function.op.reference, leaves))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "square",
            r"kernel 'product/square' cannot be traced: the shape of its extra tensor 0 is \(9,\) at \{'B': 3, 'F': 17, 'O': 5\} "
            r"and \(36,\) at \{'B': 6, 'F': 20, 'O': 8\}, which is not linear in the size",
        ),
        (
            "rank",
            r"kernel 'product/rank' cannot be traced: the shape of its extra tensor 0 is \(\) at .*, which is not linear in the size",
        ),
        (
            "forgetful",
            r"kernel 'product/forgetful' cannot be traced: the shape of its extra tensor 0 is \(136,\) at .* and \(280,\) at .*",
        ),
    ],
)
def test_extra_tensor_whose_shape_cannot_be_told(name: str, message: str) -> None:
    """An extra tensor of B^2 elements, or of a varying number of axes, is an error when traced; called, the kernel is right."""
    function = load(name)
    leaves = leaves_of(function.op)
    assert_same(answers(function, leaves), answers(function.op.reference, leaves))
    with pytest.raises(InputError, match=message):
        function(*(leaf.detach().to("meta") for leaf in leaves))
    with pytest.raises(Exception, match=message):
        compiled(function)(*leaves)


def test_gradient_whose_shape_cannot_be_told() -> None:
    """The error names the gradient and the tensor to save; where nobody wants it, all is well."""
    function = load("untold")
    leaves = leaves_of(function.op)
    assert_same(answers(function, leaves), answers(function.op.reference, leaves))
    message = (
        r"kernel 'rows/untold' cannot be traced: the shape \(B, F\) of d_x does not follow from what backward is given "
        r"\(d_y, extra0\)\. Add 'x' to saves"
    )
    meta = leaves[0].detach().to("meta").requires_grad_()
    with pytest.raises(InputError, match=message):
        torch.autograd.grad(function(meta).sum(), meta)
    with pytest.raises(Exception, match=message):
        compiled(function)(*leaves)
    assert_same(compiled(function)(leaves[0].detach()), function(*leaves).detach())


def test_probing_leaves_the_random_generator_alone() -> None:
    """The runs that find shapes draw from a generator of their own."""
    registered = product("fresh", extra="at::cat({x, w.t()}) * 1")
    function = li.load(registered, progress=False)
    before = torch.get_rng_state()
    function(torch.empty(7, 4, device="meta"), torch.empty(4, 9, device="meta"))
    assert torch.equal(torch.get_rng_state(), before)


# Copies


def test_copies_of_a_module_after_compiling() -> None:
    """deepcopy, pickle and torch.save take a module along that was compiled, and the compiled one."""
    module, inputs = cell()
    module(*inputs)
    traced = torch.compile(module, backend="aot_eager")
    want = traced(*inputs)
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    saved = torch.load(file, weights_only=False)
    for one in (copy.deepcopy(module), copy.deepcopy(traced), pickle.loads(pickle.dumps(module)), saved):
        assert_same(one(*inputs), want)
    assert_same(torch.compile(saved, fullgraph=True, backend="aot_eager")(*inputs), want)
