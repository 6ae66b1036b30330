"""Self-checks judge an answer by what it does: many right answers, unlike each other, are praised, and wrong ones are told truly."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
import torch

import lltm_inline as li
from lltm_inline.lesson import Verdict, passes
from tests.notebooks.player import BLOCK, exercises
from tests.tiny import forget

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

pytestmark = pytest.mark.usefixtures("quick_compiler")


def cells(exercise: str) -> tuple[str, str]:
    """Return the code of an exercise's solution, and of its self-check."""
    (path,) = NOTEBOOKS.glob(f"{exercise[:2]}_*.ipynb")
    book = nbformat.read(path, as_version=4)
    index = exercises(book)[int(exercise[3:]) - 1]
    return BLOCK.findall(book.cells[index + 1].source)[0], book.cells[index + 2].source


def judge(exercise: str, playground: Any = li, **answers: Any) -> Verdict:
    """Run a self-check over answers; return what its last line gives."""
    *before, last = ast.parse(cells(exercise)[1]).body
    assert isinstance(last, ast.Expr)
    names = {"li": playground, "torch": torch, **answers}
    exec(compile(ast.Module(before, []), exercise, "exec"), names)
    verdict: Verdict = eval(compile(ast.Expression(last.value), exercise, "eval"), names)
    return verdict


def conditions(exercise: str, answer: li.Kernel) -> list[str]:
    """List what a self-check would say of a kernel that is right, without building it."""
    asked: dict[str, Any] = judge(
        exercise, SimpleNamespace(lesson=li.lesson, signature=li.signature, self_check=lambda _, **given: given)
    )
    return [sentence for sentence, holds in asked["also"] if not holds(answer)]


X, Y = torch.arange(6.0).view(2, 3), torch.ones(2, 3)

#: 01.1 in Python, where the calls of ATen are the same: 2 x + y in one call.
ONE_CALL: list[Callable[[Any, Any], Any]] = [
    lambda x, y: torch.add(y, x, alpha=2),
    lambda x, y: y.add(x, alpha=2),
    lambda x, y: torch.add(y, x, alpha=2.0).view_as(y),
    lambda x, y: torch.sub(y, x, alpha=-2),
    lambda x, y: torch.rsub(x, y, alpha=-2),
    lambda x, y: torch.addcmul(y, x, torch.tensor(2.0)),
    lambda x, y: torch.addcdiv(y, x, torch.tensor(0.5)),
    lambda x, y: torch.add(y, x, alpha=2, out=torch.empty_like(x)),
    lambda x, y: torch.add(y.contiguous(), x.contiguous(), alpha=2),
    lambda x, y: torch.add(y.reshape(-1), x.reshape(-1), alpha=2).reshape(2, 3),
]
SEVERAL_CALLS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: 2 * x + y,
    lambda x, y: torch.add(2 * x, y),
    lambda x, y: x + x + y,
    lambda x, y: torch.add(torch.add(x, y), x),
    lambda x, y: y - (-2 * x),
    lambda x, y: y.clone().add_(x, alpha=2),
    lambda x, y: torch.mul(x, 2).add_(y),
    lambda x, y: torch.add(y, x, alpha=2).clone(),
    lambda x, y: torch.addcmul(y, x, torch.full_like(x, 2)),
    lambda x, y: torch.zeros_like(x).add_(y).add_(x, alpha=2),
    lambda x, y: torch.stack([x, x, y]).sum(0),
]


@pytest.mark.parametrize("function", [*ONE_CALL, *SEVERAL_CALLS])
def test_calls_that_write_whole_tensors_are_counted(function: Callable[[Any, Any], Any]) -> None:
    """One call counts as one, however it is spelled, and two count as two, also where `add` is one of them."""
    assert torch.equal(function(X, Y), 2 * X + Y)
    assert (len(passes(function, X, Y)) == 1) == (function in ONE_CALL)


def axpy(name: str, body: str, more: str = "") -> li.Kernel:
    """Make a kernel of `axpy` with this forward."""
    head = "#include <ATen/ATen.h>\n\nat::Tensor forward(const at::Tensor& x, const at::Tensor& y)"
    return li.Kernel(f"axpy/{name}", cpp=f"{head} {{\n  {body}\n}}\n{more}")


PAIR = "std::tuple<at::Tensor, at::Tensor>"
BACKWARD = f"{PAIR} backward(const at::Tensor& d_z, std::array<bool, 2> wanted)"
GRADIENTS = " { return {2 * d_z, d_z}; }"


@pytest.mark.parametrize(
    ("more", "is_there"),
    [
        (BACKWARD + GRADIENTS, True),
        (BACKWARD.replace("backward(", "backward (") + GRADIENTS, True),
        (BACKWARD.replace("backward(", "\nbackward\n(") + GRADIENTS, True),
        (BACKWARD.replace("backward(", "backward/* d_x, d_y */(") + GRADIENTS, True),
        (BACKWARD.replace("const at::Tensor& d_z, ", "const at::Tensor &d_z,\n    ") + GRADIENTS, True),
        (f"using Pair = {PAIR};\n" + BACKWARD.replace(PAIR, "Pair") + GRADIENTS, True),
        (f"auto twice(const at::Tensor& t) {{ return 2 * t; }}\n{BACKWARD} {{ return {{twice(d_z), d_z}}; }}", True),
        (f"#if 1\n{BACKWARD}{GRADIENTS}\n#endif\n", True),
        (f"// the gradient\n{BACKWARD}\n{{\n  // both\n  return {{2 * d_z, d_z}};\n}}\n", True),
        (f"at::Tensor same(at::Tensor t) {{ return t; }}\n\n{BACKWARD}{GRADIENTS}  // backward", True),
        ("", False),
        ("// backward(d_z) is for later", False),
        ("/* " + BACKWARD + GRADIENTS + " */", False),
        (f"#if 0\n{BACKWARD}{GRADIENTS}\n#endif\n", False),
        (f"{BACKWARD};", False),
        (f"#define {BACKWARD.rpartition(' ')[2]} backward(d_z)", False),
        ('const char* note = "backward(d_z)";', False),
        (BACKWARD.replace("backward(", "backwards(") + GRADIENTS, False),
        (BACKWARD.replace("backward(", "my_backward(") + GRADIENTS, False),
        ("struct Own { static at::Tensor backward(at::Tensor d_z) { return d_z; } };", False),
        ("at::Tensor helper(at::Tensor t) { t.backward(); return t; }", False),
    ],
)  # fmt: skip
def test_01_2_looks_for_a_function_and_not_for_a_word(more: str, is_there: bool) -> None:
    """A `backward` counts as it may be spelled, and no comment, declaration or other name passes for one."""
    said = conditions("01.2", axpy("loop", "return 2 * x + y;", more))
    assert said == ([] if is_there else ["It is right, but there is no function named backward in it."])


def roofs(add: tuple[Any, ...] = (16, 2, "copy"), square: tuple[Any, ...] = (12 * 2048**2, 2 * 2048**3, "GEMM")) -> Any:
    """Lay out an answer to exercise 06.2."""
    asked = ("bytes", "operations", "bound_by")
    return {"add_three": dict(zip(asked, add, strict=True)), "square": dict(zip(asked, square, strict=True))}


@pytest.mark.parametrize(
    "answer",
    [
        roofs(),
        roofs((16, 2, "Copy")),
        roofs((16.0, 2.0, "copy")),
        roofs((4 * 4, 1 + 1, "COPY")),
        roofs(square=(50331648, 17179869184, "gemm")),
        roofs(square=(3 * 4 * 2048 * 2048, 2048 * 2048 * 2 * 2048, "Gemm")),
        roofs(square=(5.0331648e7, 2.0 * 2048**3, "GEMM")),
        roofs(square=(torch.tensor(12 * 2048**2), torch.tensor(2 * 2048**3), "GEMM")),
        {**roofs(), "double": {"bytes": 8, "operations": 1, "bound_by": "copy"}},
        {name: {**parts, "intensity": parts["operations"] / parts["bytes"]} for name, parts in roofs().items()},
    ],
)
def test_06_2_right(answer: Any) -> None:
    """A number is one however it is written, and a name in small letters too."""
    assert judge("06.2", answer=answer).ok


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (roofs((..., ..., ...), (..., ..., ...)), "There is no answer here yet."),
        (roofs(square=(12 * 2048**2, 2 * 2048**3, ...)), "There is no answer here yet."),
        (roofs((12, 2, "copy")), "add_three reads three tensors and writes one, 4 bytes each."),
        (roofs((4, 2, "copy")), "add_three reads three tensors"),
        (roofs((16, 3, "copy")), "add_three does two additions for each element."),
        (roofs((16, 1, "copy")), "add_three does two additions"),
        (roofs(square=(8 * 2048**2, 2 * 2048**3, "GEMM")), "square reads two matrices and writes one, 4 bytes a number."),
        (roofs(square=(12 * 2048, 2 * 2048**3, "GEMM")), "square reads two matrices"),
        (roofs(square=(12 * 2048**2, 2048**3, "GEMM")), "Each of the n x n results of square takes n multiply-adds."),
        (roofs(square=(12 * 2048**2, 2 * 2048**2, "GEMM")), "Each of the n x n results"),
        (roofs((16, 2, "GEMM")), "Compare each intensity with the ridge of your machine"),
        (roofs(square=(12 * 2048**2, 2 * 2048**3, "copy")), "Compare each intensity"),
    ],
)  # fmt: skip
def test_06_2_wrong(answer: Any, said: str) -> None:
    """The first of the numbers that is wrong is told."""
    verdict = judge("06.2", answer=answer)
    assert not verdict.ok and verdict.text.startswith(said), verdict


def join(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Put y behind every row of x."""
    return torch.cat([x, y.expand(x.size(0), -1)], 1)


def op_of(
    z: str = "B F+G",
    x: str = "B F",
    y: str = "G",
    schema: str = "(Tensor x, Tensor y) -> Tensor z",
    **other: Any,
) -> li.Op:
    """Make an op as exercise 13.1 wants it, but for what is given."""
    fields = {"name": "join", "reference": join, **other}
    return li.Op(schema=schema, shapes={"x": x, "y": y, "z": z}, **fields)


@pytest.mark.parametrize(
    "answer",
    [
        op_of(),
        op_of("B G+F"),
        op_of("B  1F+1*G"),
        op_of("B F+G+0"),
        op_of("R C+D", "R C", "D"),
        op_of("N M+K", "N M", "K"),
        op_of(schema="(Tensor x,Tensor y)->(Tensor z)"),
        op_of(reference=lambda x, y: torch.hstack([x, y.repeat(len(x), 1)])),
        op_of(inputs=lambda randn, B, F, G: (randn(B, F), randn(G))),
        op_of(check_size=(2, 3, 5), benchmark_sizes=((1, 2, 3),), doc="x beside y"),
    ],
    ids=lambda op: str(op.shapes["z"]),
)
def test_13_1_right(answer: li.Op) -> None:
    """Letters, the order of a sum, and what else an op may say are the author's choice."""
    assert judge("13.1", op=answer).ok


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (..., "There is no answer here yet."),
        ("join", "It is no li.Op."),
        (join, "It is no li.Op."),
        (op_of(name="concat"), "The op should be called join."),
        (op_of(schema="(Tensor y, Tensor x) -> Tensor z"), "The schema should take the tensors x and y"),
        (op_of(schema="(Tensor x, Tensor? y) -> Tensor z", x="B F", y="3", z="B F+3"), "The schema should take"),
        (op_of(schema="(Tensor x, Tensor y, float a=1) -> Tensor z", inputs=lambda randn, **_: ()), "The schema should take"),
        (li.Op("join", "(Tensor x, Tensor y) -> Tensor out", join, {"x": "B F", "y": "G", "out": "B F+G"}), "The schema should take"),
        (op_of("B F+3", "B F", "3"), "x is a matrix and y a row of any lengths: give x two letters, and y one."),
        (op_of("B F+G", "B F", "1 G"), "x is a matrix"),
        (op_of("...", "...", "..."), "x is a matrix"),
        (op_of("B 2F", "B F", "F"), "What shares a letter has to agree in length"),
        (op_of("B B+G", "B B", "G"), "What shares a letter"),
        (op_of("B F"), "z should have as many rows as x, and as many columns as x and y together."),
        (op_of("F B+G"), "z should have"),
        (op_of("B F+G+1"), "z should have"),
        (op_of("B 2F+G"), "z should have"),
        (op_of("B F G"), "z should have"),
        (op_of(reference=lambda x, y: torch.cat([y.expand(len(x), -1), x], 1)), "The reference should put y behind"),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", str(value)),
)  # fmt: skip
def test_13_1_wrong(answer: Any, said: str) -> None:
    """What is missing is told, and is what is missing."""
    verdict = judge("13.1", op=answer)
    assert not verdict.ok and verdict.text.startswith(said), verdict


def test_a_kernel_of_another_op_is_no_answer() -> None:
    """Where a kernel is to be mended, another one that is right is not praised."""
    hurried = li.Kernel("row_scale/hurried", python=lambda x, s: x)
    verdict = judge("13.3", mended=li.registry["axpy/cpp"], hurried=hurried)
    assert verdict.text.startswith("'axpy/cpp' is a kernel of the op 'axpy', want one of 'row_scale'. Read the first")


TOP = "top(Tensor x, int k, Tensor? weights=None, float floor=0.0) -> (Tensor, Tensor)"


@pytest.mark.parametrize(
    "schema",
    [
        TOP,
        TOP.replace("=0.0", "=0"),
        TOP.replace("=0.0", " = 0."),
        TOP.replace("weights=None", "weights = None"),
        TOP.replace("weights=None", "weights=\tNone"),
        TOP.replace(", ", ","),
        TOP.replace("(Tensor, Tensor)", "(Tensor values, Tensor indices)"),
        f"mine::{TOP}",
        TOP.replace("top(", "top.one("),
        TOP.replace("int k, ", "int k, *, "),
    ],
)
def test_11_1_right(schema: str) -> None:
    """A schema is read by PyTorch, and so may be spelled as PyTorch allows."""
    assert judge("11.1", schema=schema).ok


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (..., "There is no answer here yet."),
        ("", "PyTorch cannot read it."),
        (TOP.partition(" ->")[0], "PyTorch cannot read it."),
        (TOP.partition("top")[2], "PyTorch cannot read it."),
        (TOP.replace("int k", "int64_t k"), "The types should be Tensor, int, Tensor? and float."),
        (TOP.replace("Tensor x, int k", "int k, Tensor x"), "The arguments should be x, k, weights and floor, in this order."),
        (TOP.replace(", float floor=0.0", ""), "The arguments should be"),
        (TOP.replace("Tensor? weights=None", "Tensor weights"), "The types should be Tensor, int, Tensor? and float."),
        (TOP.replace("int k", "float k"), "The types should be"),
        (TOP.replace("top(", "forward("), "The function is called top."),
        (TOP.replace("int k", "int k=1"), "x and k must be given: they have no default."),
        (TOP.replace("weights=None", "weights"), "weights has no default: `weights=None`."),
        (TOP.replace("floor=0.0", "floor"), "PyTorch cannot read it."),
        (TOP.replace("floor=0.0", "floor=1.0"), "floor is not 0.0 when it is left out."),
        (TOP.replace("(Tensor, Tensor)", "Tensor"), "It should return two tensors."),
        (TOP.replace("(Tensor, Tensor)", "Tensor[]"), "It should return two tensors."),
        (TOP.replace("Tensor x", "Tensor(a!) x"), "The function writes into none of its arguments"),
    ],
)  # fmt: skip
def test_11_1_wrong(schema: Any, said: str) -> None:
    """What a schema lacks is told, and is what it lacks."""
    verdict = judge("11.1", schema=schema)
    assert not verdict.ok and verdict.text.startswith(said), verdict


def test_12_1() -> None:
    """Each function is compared with what it should give: a scalar added to every element is no identity added."""
    (path,) = NOTEBOOKS.glob("12_*.ipynb")
    given = next(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.id == "code-2")
    solved = cells("12.1")[0]

    def said(*changes: tuple[str, str]) -> str:
        answer = solved
        for old, new in changes:
            assert old in answer
            answer = answer.replace(old, new)
        names = {"torch": torch}
        exec(f"{given}\n{answer}", names)
        return str(judge("12.1", **names))

    dense = "left, right = (side.dense() if isinstance(side, ScaledIdentity) else side for side in (left, right))"
    number = "left, right = (side.value if isinstance(side, ScaledIdentity) else side for side in (left, right))"
    praised = "Exercise 12.1: solved. "
    assert said().startswith(praised)
    assert said(("matrix.n * matrix.value", "sum([matrix.value] * matrix.n)")).startswith(praised)
    assert said(("return left + right", "return torch.sub(left, right, alpha=-1)")).startswith(praised)
    assert "torch.trace is not n times the value." in said(("matrix.n * matrix.value", "matrix.value"))
    assert "There is no answer here yet." in said(("return matrix.n * matrix.value", "return None"))
    assert "torch.add with a tensor on either side" in said((dense, number))
    assert "torch.add of two" in said(("left.value + right.value", "left.value * right.value"))
    assert "torch.matmul of two" in said(("left.value * right.value)", "left.value + right.value)"))
    assert "torch.matmul with a tensor" in said(("else left * right.value", "else right.value"))


@pytest.fixture
def ops_of_lesson_13() -> Iterator[None]:
    """Register the ops that exercises 13.2 and 13.3 are about."""

    def softcap(x: torch.Tensor, cap: float = 30.0) -> torch.Tensor:
        return cap * torch.tanh(x / cap)

    def inputs(randn: Callable[..., Any], N: int) -> tuple[Any, ...]:
        return randn(N), 0.7

    any_shape, rows = {"x": "...", "y": "..."}, {"x": "B F", "s": "B", "y": "B F"}
    li.registry.register(li.Op("softcap", "(Tensor x, float cap=30.0) -> Tensor y", softcap, any_shape, inputs))
    li.registry.register(li.Op("row_scale", "(Tensor x, Tensor s) -> Tensor y", lambda x, s: x * s[:, None], rows))
    yield
    forget("softcap")
    forget("row_scale")


def solution(exercise: str, *changes: tuple[str, str]) -> str:
    """Take the text of a solution, changed in some places."""
    text = cells(exercise)[0].partition("\n")[2]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


SOLVED = ""
ONCE = "at::add(y, x, 2)"
FACTOR, COPY = ("2 * d_z", "d_z + d_z"), ("d_z.clone()", "d_z")
BODY = "at::Tensor twice(const at::Tensor& t) {\n  return 2 * t;\n}"
DERIVATIVE = "d_y_p[n] * (1 - t * t)"


@pytest.mark.full
@pytest.mark.parametrize(
    ("exercise", "name", "changes", "said"),
    [
        ("01.1", "axpy/mine", [(ONCE, "y.add(x, 2)")], SOLVED),
        ("01.1", "axpy/mine", [(ONCE, "at::sub(y, x, -2)")], SOLVED),
        ("01.1", "axpy/mine", [(ONCE, "at::add(2 * x, y)")], "It is right, but ATen still writes a whole tensor more than once"),
        ("01.1", "axpy/mine", [(ONCE, "at::add(x, y, 2)")], "'axpy/mine' z"),
        ("01.2", "axpy/loop", [FACTOR, COPY], SOLVED),
        ("01.2", "axpy/loop", [("2 * d_z", "d_z")], "'axpy/loop' d_x"),
        ("01.3", "axpy/hasty", [("x.contiguous()", "at::clone(x, at::MemoryFormat::Contiguous)")], SOLVED),
        ("01.3", "axpy/hasty", [("y.contiguous()", "y")], "'axpy/hasty' z"),
        ("02.1", "axpy/three", [("x_twice + y", "y.add(x_twice)")], SOLVED),
        ("02.1", "axpy/three", [("= twice(x)", "= twise(x)")], "'axpy/three' does not compile: axpy/three:"),
        ("02.2", "axpy/inside", [("{\n    return t + t;\n  }", "return t + t;")], SOLVED),
        ("02.2", "axpy/inside", [("  }\n", "")], "'axpy/inside' does not fit op 'axpy': axpy/inside:"),
        ("02.3", "axpy/apart", [(BODY, ""), ("at::Tensor twice(const at::Tensor& t);", BODY)], SOLVED),
        ("02.3", "axpy/apart", [(BODY, BODY.replace("const ", ""))], "'axpy/apart' does not link: axpy/apart:"),
        ("13.2", "softcap/loop", [(DERIVATIVE, "d_y_p[n] - t * d_y_p[n] * t")], SOLVED),
        ("13.2", "softcap/loop", [(DERIVATIVE, "d_y_p[n] * (1 - t)")], "'softcap/loop' d_x"),
    ],
)  # fmt: skip
def test_kernels(exercise: str, name: str, changes: list[tuple[str, str]], said: str, ops_of_lesson_13: None) -> None:
    """Kernels that are right are praised, however they are written; of others it is told what is wrong with them."""
    saves = ("y", "cap") if exercise == "13.2" else ()
    answer = li.Kernel(name, cpp=solution(exercise, *changes), saves=saves)
    checked = functools.partial(li.self_check, exercise)
    here = SimpleNamespace(
        lesson=li.lesson, load=li.load, self_check=lambda _, **given: checked(**{**given, "kernel": answer})
    )
    verdict = judge(exercise, here)
    assert verdict.ok == (said == SOLVED) and verdict.text.startswith(said), verdict


HURRIED = r"""
#include <ATen/ATen.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& s) {
  at::Tensor y = at::empty(x.sizes());
  y.copy_(x * s.unsqueeze(1));
  return y;
}

std::tuple<at::Tensor, at::Tensor> backward(
    const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& s, std::array<bool, 2> wanted) {
  at::Tensor d_x, d_s;
  if (wanted[0]) d_x = d_y * s.unsqueeze(1);
  if (wanted[1]) d_s = (d_y * x).sum(1, /*keepdim=*/true);
  return {d_x, d_s};
}
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([("at::empty(x.sizes())", "at::empty_like(x)"), (".sum(1, /*keepdim=*/true)", ".sum(1)")], SOLVED),
        ([(".sum(1, /*keepdim=*/true)", ".sum(1)")], "'row_scale/hurried"),
        ([("/*keepdim=*/true", "true")], "'row_scale/hurried@1' is as it was."),
    ],
)
def test_13_3(changes: list[tuple[str, str]], said: str, ops_of_lesson_13: None) -> None:
    """Both mistakes have to be mended, in whatever way."""
    hurried = mended = li.Kernel("row_scale/hurried", cpp=HURRIED, saves=("x", "s"))
    for old, new in changes:
        mended = mended.edit(old, new)
    verdict = judge("13.3", hurried=hurried, mended=mended)
    assert verdict.ok == (said == SOLVED) and verdict.text.startswith(said), verdict
