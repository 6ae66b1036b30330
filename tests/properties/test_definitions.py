"""Malformed ops, kernels, edits and names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lltm_inline as li
from lltm_inline.cpp.masks import mask
from lltm_inline.errors import DefinitionError, EditError, InputError, LltmInlineError, UnknownKernelError
from lltm_inline.model.registry import Cost, Schema
from lltm_inline.model.shapes import Shape
from lltm_inline.source.template import render
from tests.properties.malformed import ANYTHING, PROFILE, TEXTS, answer, in_cache
from tests.tiny import forget, inputs, reference

OP = {
    "name": "odd", "schema": "(Tensor x) -> Tensor y", "reference": reference, "shapes": {"x": "N", "y": "N"}, "inputs": inputs,
    "benchmark_sizes": ((3,),), "check_size": (3,), "parameters": ("x",), "parts": {"x": ("a",)},
    "cost": lambda itemsize, N: Cost(N, N, N, N), "tolerances": {"float32": (1e-5, 1e-5)}, "dtypes": ("float32", "float64"),
    "doc": "y = 2x",
}  # fmt: skip
KERNEL: dict[str, Any] = {
    "name": "tiny/odd", "cpp": "at::Tensor forward(const at::Tensor& x) { return x + A; }", "cuda": "", "binding": "torch_library",
    "params": {"A": 1}, "slots": {}, "saves": (), "double_backward": False, "api": "aten", "flags": (), "doc": "", "revision": 0,
    "parent": "",
}  # fmt: skip
WORDS = (
    "Tensor", "Tensor?", "float", "int", "x", "y", "(", ")", "->", ",", "=", "None", "1", " ", "...", "3S", "S+F", "-", "B",
    "lambda", "d_y",
)  # fmt: skip
PIECES = (
    "at::Tensor forward(const at::Tensor& x) {", "return x;", "}", "{", "(", ")", "f(", '#line 3 "x"', "#include </etc/passwd>",
    "$", "$$", "${A}", "$A", 'R"(', '")', "/*", "*/", "//", "\\", "'", '"', "\n", "template <class T>", "backward(", "->", "\t",
    "\u200b", "PYBIND11_MODULE", "cudaStream_t s)", "void", "T* x,", "<", ">", "noexcept",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _nothing_left() -> Iterator[None]:
    """Hold the cache after all of this against the cache before."""
    before = in_cache()
    yield
    forget("odd")
    assert in_cache() == before


@pytest.fixture
def kernel(tiny: Any) -> li.Kernel:
    """Make a kernel to be edited."""
    return li.Kernel(**KERNEL)


@PROFILE
@given(st.sampled_from(sorted(OP)), ANYTHING)
def test_ops(field: str, value: Any) -> None:
    """An op of which one field is malformed is made, or refused with a DefinitionError."""
    made = answer(lambda: li.Op(**{**OP, field: value}))
    assert isinstance(made, li.Op | DefinitionError), repr(made)


@PROFILE
@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | TEXTS, TEXTS)
def test_schemas_and_shapes(schema: str, shape: str) -> None:
    """Schemas and shapes of the right words in the wrong order do not parse, or do; nothing else."""
    assert isinstance(answer(lambda: Schema.parse(schema)), Schema | DefinitionError)
    for text in (schema, shape):
        assert isinstance(answer(lambda text=text: Shape.parse(text)), Shape | DefinitionError)


@PROFILE
@given(ANYTHING)
def test_sizes_of_an_op(value: Any) -> None:
    """What is no size of an op is refused by all that takes one."""
    op = li.Op(**OP)
    for use in (
        op.named,
        op.allows,
        lambda size: op.cost_at(4, size),
        lambda size: op.make_inputs(lambda N: None, size),
    ):
        answer(lambda use=use: use(value))


@PROFILE
@given(st.sampled_from(sorted(KERNEL)), ANYTHING)
def test_kernels(field: str, value: Any) -> None:
    """A kernel of which one field is malformed is made and shown, or refused with a DefinitionError."""
    made = answer(lambda: li.Kernel(**{**KERNEL, field: value}))
    assert isinstance(made, li.Kernel | DefinitionError), repr(made)
    if isinstance(made, li.Kernel):
        assert str(made) and repr(made) and made._repr_html_() and hash(made) == hash(made)


@PROFILE
@given(value=ANYTHING)
def test_edits(kernel: li.Kernel, value: Any) -> None:
    """An edit or a replacement gives a revision, or an error that says why not."""
    assert isinstance(answer(lambda: kernel.edit(value, "x")), li.Kernel | EditError | DefinitionError)
    assert isinstance(answer(lambda: kernel.edit("x + A", value)), li.Kernel | EditError | DefinitionError)
    for field in KERNEL:
        assert isinstance(answer(lambda field=field: kernel.replace(**{field: value})), li.Kernel | DefinitionError)
    assert isinstance(answer(lambda: kernel.replace(nonsense=value)), DefinitionError)


@PROFILE
@given(value=ANYTHING)
def test_names(kernel: li.Kernel, value: Any) -> None:
    """The registry finds a kernel or says that there is none, as a mapping does, and takes nothing but ops and kernels."""
    before = len(li.registry)
    found = answer(lambda: li.registry[value])
    assert isinstance(found, li.Kernel | UnknownKernelError)
    assert (value in li.registry) == isinstance(found, li.Kernel)
    assert li.registry.get(value) is (found if isinstance(found, li.Kernel) else None)
    assert isinstance(answer(lambda: li.registry.history(value)), tuple | UnknownKernelError)
    assert isinstance(answer(lambda: li.registry.register(value)), LltmInlineError)
    assert isinstance(answer(lambda: li.registry.op_of(value)), InputError)
    for pair in ((value, kernel), (kernel, value)):
        answer(lambda pair=pair: li.diff(*pair))
    assert len(li.registry) == before


@PROFILE
@given(text=st.lists(st.sampled_from(PIECES), max_size=14).map("".join), device=st.sampled_from(["cpu", "cuda"]))
def test_sources(tiny: Any, text: str, device: str) -> None:
    """Any text is rendered, or refused with an error of ours; looking at it takes no time to speak of."""
    kernel = answer(lambda: li.Kernel("tiny/odd", cpp=text, cuda=text if device == "cuda" else ""))
    if isinstance(kernel, li.Kernel):
        answer(lambda: render(kernel, li.registry.ops["tiny"], device))


@pytest.mark.parametrize("piece", ["f(", "f(x) {", "/*", 'R"(', '"', "#\\\n", "f() -> "])
def test_long_texts_end(tiny: Any, piece: str) -> None:
    """A long text of brackets that are never closed is looked at in a moment: it once took minutes."""
    text = piece * 20_000
    assert mask(text).count("\n") == text.count("\n")
    answer(lambda: render(li.Kernel("tiny/odd", cpp=text), li.registry.ops["tiny"]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": None}, "op name None is not a lower-case identifier"),
        ({"schema": b"x"}, "schema=b'x', want a string"),
        ({"schema": "(Tensor x, float c=abc) -> Tensor y"}, "'abc' is no default of a float"),
        ({"schema": "(Tensor lambda) -> Tensor y"}, "'lambda' is a word of C++ or Python"),
        ({"schema": "(Tensor x, Tensor d_y) -> Tensor y"}, "d_y is the name of the gradient of y"),
        ({"schema": "(Tensor x\u00e9) -> Tensor y"}, "is not a type (Tensor, Tensor?, "),
        ({"reference": 5}, "reference=5, want a function"),
        ({"shapes": [1]}, "shapes=[1], want a dict of shapes by tensor"),
        ({"shapes": {"x": "N", "y": "9" * 5000}}, "is not a sum of terms like B, 3S or 1"),
        ({"tolerances": {"float64": (float("nan"), 1)}}, "tolerances['float64']=nan, want a finite number"),
        ({"tolerances": {"float64": (1,)}}, "tolerances['float64']=(1,), want (rtol, atol)"),
        ({"dtypes": ("float8",)}, "dtypes=('float8',), want some of float32, float64, complex64, complex128, float16"),
        ({"dtypes": "float32"}, "dtypes='float32' is a string, want a tuple of strings"),
        ({"check_size": (1, 2)}, "size (1, 2) does not fit: want 1 non-negative integer (N)"),
        ({"check_size": (True,)}, "size (True,) does not fit"),
        ({"benchmark_sizes": 3}, "benchmark_sizes=3, want a tuple of sizes"),
    ],
)
def test_what_is_said_of_an_op(fields: dict[str, Any], message: str) -> None:
    """The error names the field, the value and what is wanted."""
    with pytest.raises(DefinitionError) as error:
        li.Op(**{**OP, **fields})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"params": [1]}, "params=[1], want a dict of numbers by name"),
        ({"params": {"A": "1"}}, "param A is '1', want a finite number"),
        ({"slots": {1: "x"}}, "slots={1: 'x'}, want a dict of"),
        ({"flags": "-O2"}, "flags='-O2' is a string, want a tuple of strings"),
        ({"python": 5, "cpp": ""}, "python=5, want a function"),
        ({"name": 5}, "kernel name 5 is not 'op/variant'"),
        ({"revision": -1}, "revision=-1, want"),
    ],
)
def test_what_is_said_of_a_kernel(fields: dict[str, Any], message: str) -> None:
    """The error names the field, the value and what is wanted."""
    with pytest.raises(DefinitionError) as error:
        li.Kernel(**{**KERNEL, **fields})
    assert message in str(error.value)


def test_revision_zero(kernel: li.Kernel) -> None:
    """`name@0` is what was registered first, `name@` and `name@00` are no names, and a key of another type is missing."""
    li.registry.register(kernel)
    edited = li.registry.register(kernel.edit("x + A", "x - A"))
    assert li.registry["tiny/odd"] is edited and li.registry["tiny/odd@0"] is kernel
    for name in ("tiny/odd@", "tiny/odd@00", "tiny/odd@+1", "tiny/odd@1@1", None, 5, b"tiny/odd", ["tiny/odd"]):
        assert name not in li.registry
        with pytest.raises(UnknownKernelError):
            li.registry[name]  # type: ignore[index]
