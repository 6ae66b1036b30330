"""What a schema can say of an op beyond tensors of one dtype: each kind is compiled, called, checked, timed, and found wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.errors import CheckError, DefinitionError, InputError, SignatureError
from lltm_inline.export.fake import output_dtypes
from lltm_inline.model.op import Schema
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.model.shapes import Shape
from lltm_inline.notebook.pipeline import Order, carry_out
from lltm_inline.run.function import each
from lltm_inline.run.setting import Setting
from lltm_inline.tables.timings import Timings
from tests.planted.contract import KINDS, Kind, registered
from tests.planted.kernels import Planted
from tests.texts import bodies
from tests.tiny import forget

pytestmark = pytest.mark.usefixtures("quick_compiler", "kinds")

#: The right ones that `make test` holds; `make test-all` holds all. What is planted falls in both.
SHORT = ("kind_rows", "kind_sgd")


def some(names: Any) -> list[Any]:
    """Mark all but the short ones as slow."""
    return [pytest.param(one, marks=() if key in SHORT else pytest.mark.full, id=name) for key, name, one in names]


RIGHT = some((name, name, kind) for name, kind in KINDS.items())
WRONG = [pytest.param(one, id=one.name) for kind in KINDS.values() for one in kind.planted]


@pytest.fixture(scope="module")
def kinds() -> Iterator[None]:
    """Register the ops and their right kernels."""
    with registered():
        yield


def f(kernel: Kernel | str) -> Any:
    """Load a kernel into this process."""
    return li.load(kernel, trust=True, progress=False)


@pytest.mark.parametrize("kind", RIGHT)
def test_each_kind_is_right(kind: Kind) -> None:
    """A right kernel of each kind is called right, by the worker and with the compiler's tracers, and so is the reference."""
    report = li.check(kind.kernel, progress=False)
    assert report.ok, report
    assert not report.forward_only and report.verdict == "right"
    skipped = str([section.skipped for section in report.sections])
    assert kind.skipped in skipped
    assert ("gradcheck" in str(report)) == bool(kind.op.gradients)
    assert li.check(f"{kind.op.name}/python", progress=False).ok


@pytest.mark.parametrize("wrong", WRONG)
def test_each_kind_can_be_wrong(wrong: Planted) -> None:
    """Each wrong kernel falls, for its own reason and in the words that name it."""
    kernel = registry[wrong.base]
    for old, new in wrong.edits:
        kernel = kernel.edit(old, new)
    report = li.check(kernel, progress=False)
    assert not report.ok and not report.forward_only
    found = [one for one in report[wrong.section].findings if one.quantity == wrong.quantity]
    assert found, report
    for text in wrong.says:
        assert text in str(found[0]), report


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_each_kind_can_be_timed_and_called_in_the_worker(kind: Kind) -> None:
    """Forward at least; what is random, changed or no tensor does not keep a kernel from being timed."""
    size = tuple(range(5, 5 + len(kind.op.letters)))
    timings = li.benchmark([f"{kind.op.name}/python", kind.kernel], [size], seconds=0.02, check=False, progress=False)
    directions = {row.direction for row in timings.rows}
    assert directions == ({"forward", "backward", "both"} if kind.op.gradients else {"forward"})
    inputs = kind.op.make_inputs(lambda *shape: torch.randn(shape).to(getattr(torch, kind.op.dtypes[-1])), size)
    torch.manual_seed(0)
    here = f(kind.kernel)(*[_copy(value) for value in inputs])
    torch.manual_seed(0)
    there = li.call(kind.kernel, *inputs, progress=False)
    torch.testing.assert_close(here, there)


def _copy(value: Any) -> Any:
    return each(value, torch.clone)


def test_a_call_changes_what_it_says_and_nothing_else() -> None:
    """In this process and through the worker the caller's own tensor is changed; autograd sees that it was."""
    for call in (f("kind_sgd/cpp"), lambda *values: li.call("kind_sgd/cpp", *values, progress=False)):
        w, g = torch.ones(3), torch.ones(3)
        before = w._version
        assert call(w, g, 0.5) is None
        assert w.tolist() == [0.5] * 3 and g.tolist() == [1.0] * 3 and w._version > before
        with pytest.raises(
            RuntimeError, match=r"changes a tensor in place that wants a gradient: call it under torch.no_grad"
        ):
            call(w.requires_grad_(), g, 0.5)
        with torch.no_grad():
            call(w, g, 0.5)
        assert w.tolist() == [0.0] * 3


def test_dtypes_of_single_tensors_are_held() -> None:
    """A tensor of another dtype than the schema's is refused by the binding, and in the same words when it is traced."""
    rows = f("kind_rows/cpp")
    for index, said in ((torch.tensor([0], dtype=torch.int32), "Int"), (torch.tensor([0.0]), "Float")):
        with pytest.raises(RuntimeError, match=f"kind_rows/cpp: index is {said}, want Long"):
            rows(torch.ones(2, 3), index)
    assert rows(torch.ones(2, 3), torch.tensor([0])).shape == (1, 3)


@pytest.mark.full
@pytest.mark.parametrize("name", ["kind_rows", "kind_reduce"])
def test_pybind11_binds_them_too(name: str) -> None:
    """The classic binding takes and returns the same types, and is held to the same dtypes and shapes."""
    report = li.check(registry[f"{name}/cpp"].replace(binding="pybind11"), progress=False)
    assert report.ok, report


@pytest.mark.full
def test_numbers_that_do_not_fit_are_refused() -> None:
    """A text that takes `int` is given no number beyond it."""
    with pytest.raises(RuntimeError, match=r"bins is 4294967296, want 32 bits"):
        f("kind_counts/cpp")(torch.tensor([1]), 2**32)


@pytest.mark.full
def test_texts_lists_and_what_is_left_out_arrive() -> None:
    """Strings, lists, optional numbers and defaults come to the text as they were given."""
    reduce, clip = f("kind_reduce/cpp"), f("kind_clip/cpp")
    x = torch.arange(6.0).view(2, 3)
    assert reduce(x, [0, 1], "sum") == 15 and reduce(x, [1], mode="mean").tolist() == [1.0, 4.0]
    assert reduce(x, [1]).tolist() == [3.0, 12.0]
    assert clip(torch.tensor([-3.0, 3.0])).tolist() == [-1.0, 3.0]
    assert clip(torch.tensor([-3.0, 3.0]), None, 2).tolist() == [-3.0, 2.0]
    reduce(x.requires_grad_(), [0, 1], "sum").backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0] * 3] * 2


@pytest.mark.full
def test_what_follows_from_the_values_cannot_be_traced() -> None:
    """The fake kernel says which result nobody knows before the call, and what to do."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    for name, what in (("kind_nonzero", "the shape of where"), ("kind_numbers", "total")):
        function = f(f"{name}/cpp")
        with (
            FakeTensorMode() as mode,
            pytest.raises(InputError, match=f"cannot be traced: {what} follows from the values"),
        ):
            inputs = [mode.from_tensor(torch.ones(3, dtype=torch.float64))]
            function(*inputs, *[None] * (name == "kind_nonzero"))


@pytest.mark.full
def test_a_dtype_that_is_an_argument_is_traced() -> None:
    """The result that nobody has computed yet has the dtype that was asked for, here and in an export."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    cast = f("kind_cast/cpp")
    with FakeTensorMode() as mode:
        x = mode.from_tensor(torch.ones(3))
        assert [cast(x, dtype, [1.0]).dtype for dtype in (torch.float64, torch.int8)] == [torch.float64, torch.int8]
    assert output_dtypes(registry.ops["kind_cast"]) == ("dtype",)


TEXTS = bodies(__file__)
LOOP = TEXTS["loop"]


@pytest.fixture
def twice() -> Iterator[Kernel]:
    """Register an op that wants a gradient, and one that wants none, of which the same loop is a kernel."""
    shapes = {"x": "N", "y": "N"}
    registry.register(Op("twice", "(Tensor x) -> Tensor y", lambda x: 2 * x, shapes))
    registry.register(Op("twice_only", "(Tensor x) -> Tensor y", lambda x: 2 * x, shapes, differentiable=False))
    yield registry.register(Kernel("twice/cpp", cpp=LOOP))
    forget("twice")
    forget("twice_only")


def test_kernel_without_backward_is_right_in_forward(twice: Kernel) -> None:
    """Of an op that wants gradients it is neither right nor wrong, says so, and is timed forward; one that is wrong stays wrong."""
    report = li.check(twice, progress=False)
    assert not report.ok and report.forward_only and report.verdict == "right in forward; no backward"
    assert report.headline == "'twice/cpp' is right in forward; no backward"
    text = str(report)
    assert "WRONG" not in text and "write a backward" in text and "differentiable=False" in text
    assert "right in forward; no backward" in report._repr_html_()
    assert report.to_dict()["forward_only"] and registry.state("twice/cpp").name == "built"
    timings = li.benchmark(["twice/python", twice], [(9,)], seconds=0.02, progress=False)
    assert {row.direction for row in timings.rows} == {"forward"}
    how = {"kernels": [twice], "sizes": [(9,)], "seconds": 0.02, "check": False}
    *_, timed = carry_out(Order(twice, Setting(progress=False), True, lambda: how))  # as in a cell
    assert isinstance(timed, Timings) and timed.directions == ("forward",) and not report.wrong
    with pytest.raises(CheckError, match=r"'twice/cpp' has no backward, so it can be timed in forward alone"):
        li.benchmark(["twice/python", twice], [(9,)], directions=["both"], seconds=0.02, progress=False)
    with pytest.raises(CheckError, match=r"'twice/cpp' is right in forward; no backward\nIt was not measured"):
        li.memory(twice, [(9,)], progress=False)
    wrong = li.check(twice.edit("2 * from[i]", "3 * from[i]"), progress=False)
    assert not wrong.ok and not wrong.forward_only and "WRONG" in str(wrong)


def test_kernel_without_backward_of_an_op_without_gradients_is_right(twice: Kernel) -> None:
    """Nothing is missing, nothing is left untried, and what it returns wants no gradient."""
    kernel = Kernel("twice_only/cpp", cpp=LOOP)
    report = li.check(kernel, progress=False)
    assert report.ok, report
    assert [section.name for section in report.sections] == ["interface", "parity", "purity", "opcheck", "safety"]
    assert not any(section.skipped for section in report.sections), report
    x = torch.ones(3, requires_grad=True)
    assert not f(kernel)(x).requires_grad
    with pytest.raises(InputError, match=r"op 'twice_only' has no gradients: li.check looks at the rest"):
        li.gradcheck(kernel)
    with pytest.raises(SignatureError, match=r"op 'twice_only' has no gradients, so nobody calls 'backward'"):
        li.build(kernel.replace(cpp=LOOP + "at::Tensor backward(const at::Tensor& d_y) { return d_y; }\n"))


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ("square(Tensor x) -> Tensor", ["output"]),
        ("(Tensor x) -> (Tensor, Tensor[int64])", ["output0", "output1"]),
        ("(Tensor x) -> (Tensor values, Tensor[int64] where)", ["values", "where"]),
        ("(Tensor(a!) x, int[] k=[1, -2], str mode='a b', float? c=None) -> ()", []),
        ("(Tensor(a!)[int64] x, Tensor[bool]? m=None, ScalarType d) -> Tensor(a!)", ["output"]),
        ("(Tensor(a!)[] xs, Tensor[] ys) -> float total", ["total"]),
    ],
)
def test_schemas(schema: str, names: list[str]) -> None:
    """Schemas as torch writes them are read, and written so that they are read again."""
    read = Schema.parse(schema)
    assert [output.name for output in read.outputs] == names
    assert Schema.parse(str(read)) == read


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("(Tensor[int46] x) -> Tensor y", r"'Tensor\[int46\]' has no dtype of torch. Did you mean 'int64'\?"),
        ("(Tensor x, *, Tensor(a!) out) -> ()", r"leave out '\*': arguments are given by position or by name"),
        ("(Tensor x) -> ()", r"an op returns something, or changes an input: Tensor\(a!\) x"),
        ("(Tensor x) -> Tensor(a!)", "each input that is changed has a letter of its own"),
        ("(Tensor(a!) x, Tensor(a!) y) -> ()", "each input that is changed has a letter of its own"),
        ("(Tensor(a!)[] xs) -> Tensor(a!)", "an output that is such an input, and no list, has the same"),
        ("(Tensor x) -> str", "'str' is no result. An op returns Tensor, int, float, bool, or ()"),
        ("(Tensor x, int[] k=[1.5]) -> Tensor", r"'\[1.5\]' is no default of a int\[\]"),
        ("(Tensor x, complex z) -> Tensor", "'complex' is not a type: want Tensor, Tensor"),
    ],
)
def test_schemas_that_are_refused(schema: str, message: str) -> None:
    """What a schema cannot say is refused with what it can."""
    with pytest.raises(DefinitionError, match=message):
        Schema.parse(schema)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"differentiable": ("z",)}, "differentiable names 'z', which is no tensor input"),
        ({"differentiable": ("i",)}, "differentiable names 'i', which holds no real numbers"),
        ({"differentiable": "x"}, "differentiable='x' is a string, want a tuple of strings"),
        (
            {"schema": "(Tensor(a!) x, Tensor[int64] i) -> Tensor y", "differentiable": ("x",)},
            "'x', which is changed in place",
        ),
        ({"schema": "(Tensor x, Tensor[int64] i) -> (Tensor y, int n)"}, "an op with gradients returns tensors only"),
        ({"schema": "(Tensor? x, Tensor[int64] i) -> Tensor y"}, r"give it a dtype, Tensor\[float32\]\? x"),
        (
            {"shapes": {"x": "N", "i": "N", "y": "(N-k)/2"}},
            "follows from k, which is neither a letter nor one of the op's integers",
        ),
        ({"shapes": {"x": "N", "i": "N", "y": "N**2"}}, r"extent 'N\*\*2' is no formula of letters"),
        ({"shapes": {"x": "N", "i": "N", "y": "M/2"}}, r"'y' has M, which no required input has"),
        ({"dtypes": ("int46",)}, "dtypes=.'int46',., want some of float32"),
    ],
)
def test_ops_that_are_refused(fields: dict[str, Any], message: str) -> None:
    """Each rule of an op's new words has its own message."""
    right = {
        "name": "made",
        "schema": "(Tensor x, Tensor[int64] i) -> Tensor y",
        "reference": lambda x, i: x,
        "shapes": {"x": "N", "i": "N", "y": "N"},
    }
    Op(**right)
    with pytest.raises(DefinitionError, match=message):
        Op(**right | fields)


def test_shapes_of_outputs() -> None:
    """A formula divides as Python does, and knows what it follows from."""
    shape = Shape.parse("B (H-K+2*pad)/stride+1 3H", of_output=True)
    assert shape({"B": 2, "H": 8, "K": 3, "pad": 1, "stride": 2}) == (2, 4, 24)
    assert shape.letters == ("B", "H", "K") and shape.numbers == ("pad", "stride")
    assert Shape.parse("?", of_output=True).untold


def test_functions_have_names() -> None:
    """A text without the function that the kernel names is refused before it is compiled."""
    kernel = registry["kind_rows/cpp"]
    for functions, missing in ((("row",), "row"), (("rows", "rows_back"), "rows_back")):
        with pytest.raises(SignatureError, match=f"no function '{missing}' at file scope"):
            li.build(kernel.replace(functions=functions))
    with pytest.raises(DefinitionError, match=r"functions=\(\), want the name of a C\+\+ function"):
        kernel.replace(functions=())


def test_other_types_are_refused_with_the_wanted_one() -> None:
    """An argument of another type names the one that the schema asks for, before anything is compiled."""
    for name, old, new, want in (
        ("kind_reduce", "std::vector<int64_t> dims", "std::vector<int> dims", "want const std::vector<int64_t>&"),
        ("kind_clip", "std::optional<double> low", "double low", "want std::optional<double>"),
        ("kind_sgd", "double lr", "float lr", "want double"),
        ("kind_sgd", "void sgd", "int sgd", "want void"),
    ):
        with (
            pytest.raises(SignatureError, match=want)
            if "void" not in old
            else pytest.raises(SignatureError, match="returns 'int'")
        ):
            li.build(registry[f"{name}/cpp"].edit(old, new))
