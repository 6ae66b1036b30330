"""Self-checks judge an answer by what it does: many right answers, unlike each other, are praised, and wrong ones are told truly."""

from __future__ import annotations

import ast
import functools
import itertools
import os
import re
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest
import torch

import lltm_inline as li
from lltm_inline.export.exported import Exported
from lltm_inline.lesson import Verdict, passes
from lltm_inline.tables.timings import Row
from tests.notebooks.player import BLOCK, exercises

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


class Instead:
    """The playground, but for some of its functions."""

    def __init__(self, **functions: Any) -> None:
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(li, name)


def told(exercise: str, playground: Any = li, **answers: Any) -> str:
    """Return what a self-check says is missing of an answer; nothing where it praises."""
    verdict = judge(exercise, playground, **answers)
    return "" if verdict.ok else verdict.text


def conditions(exercise: str, answer: li.Kernel, instead: dict[str, Any] | None = None, **names: Any) -> str:
    """Return what a self-check would say of a kernel that is right, without building it; nothing where it would praise."""

    def self_check(_: str, *, praise: str, advice: str, also: Any = (), **__: Any) -> Verdict:
        return li.self_check(exercise, value=answer, praise=praise, advice=advice, also=also)

    given = re.findall(r"\b(?:kernel|changed_from)=(\w+),", cells(exercise)[1])
    return told(exercise, Instead(self_check=self_check, **(instead or {})), **dict.fromkeys(given, answer) | names)


def taught(exercise: str, *wanted: str, **names: Any) -> dict[str, Any]:
    """Define what an exercise's lesson has defined before it, by name."""
    (path,) = NOTEBOOKS.glob(f"{exercise[:2]}_*.ipynb")
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code" or cell.source.startswith("%%") or "exercise" in cell.metadata.get("tags", ()):
            continue
        for statement in ast.parse(re.sub("^%", "#", cell.source, flags=re.MULTILINE)).body:
            name = statement.targets[0] if isinstance(statement, ast.Assign) else statement
            if (getattr(name, "id", None) or getattr(name, "name", None)) in wanted:
                exec(compile(ast.Module([statement], []), exercise, "exec"), names)
    return {name: names[name] for name in wanted}


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
    assert said == ("" if is_there else "It is right, but there is no function named backward in it.")


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
        (None, "There is no answer here yet."),
        ({"add_three": 16, "square": ...}, "There is no answer here yet."),
        ({}, "add_three reads three tensors and writes one, 4 bytes each. Looking at the answer, {}, raised KeyError"),
        ("copy", "add_three reads three tensors and writes one, 4 bytes each. Looking at the answer, 'copy', raised TypeError"),
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
    """Put y after every row of x."""
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
        (op_of(reference=lambda x, y: torch.cat([y.expand(len(x), -1), x], 1)), "The reference should put y after"),
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


def edited_12_1(*changes: tuple[str, str]) -> str:
    """Judge the solution of 12.1, changed in some places; return what the self-check says is missing."""
    answer = cells("12.1")[0]
    for old, new in changes:
        assert old in answer
        answer = answer.replace(old, new)
    names = taught("12.1", "HANDLED", "implements", "ScaledIdentity", torch=torch) | {"torch": torch}
    exec(answer, names)
    return told("12.1", **names)


SUM, SCALED_SUM = "return left + right", "ScaledIdentity(left.n, left.value + right.value)"
PRODUCT, SCALED_PRODUCT = (
    "left.value * right if isinstance(left, ScaledIdentity) else left * right.value",
    "ScaledIdentity(left.n, left.value * right.value)",
)
DENSE = "left, right = (side.dense() if isinstance(side, ScaledIdentity) else side for side in (left, right))"
DENSE_PRODUCT = f"{DENSE}\n    return "
NOT_DENSE = "torch.matmul is right, but makes the dense matrix on its way"


@pytest.mark.parametrize(
    "changes",
    [
        (),
        (("matrix.n * matrix.value", "sum([matrix.value] * matrix.n)"),),
        (("matrix.n * matrix.value", "matrix.dense().diagonal().sum().item()"),),
        ((SUM, "return torch.sub(left, right, alpha=-1)"),),
        ((SUM, "return (left + right).clone()"),),
        ((SCALED_SUM, "ScaledIdentity(n=right.n, value=right.value + left.value)"),),
        ((SCALED_PRODUCT, "ScaledIdentity(left.n, left.value * torch.trace(right) / right.n)"),),
        ((PRODUCT, "torch.mul(left.value, right) if isinstance(left, ScaledIdentity) else torch.mul(left, right.value)"),),
        ((PRODUCT, "right.clone().mul_(left.value) if isinstance(left, ScaledIdentity) else right.value * left"),),
        ((PRODUCT, "torch.stack([left.value * row for row in right]) if isinstance(left, ScaledIdentity) else left * right.value"),),
        ((PRODUCT, "torch.full((left.n, 1), left.value) * right if isinstance(left, ScaledIdentity) else left * right.value"),),
    ],
)  # fmt: skip
def test_12_1_right(changes: tuple[tuple[str, str], ...]) -> None:
    """A product may be written in any way that makes no dense matrix."""
    assert edited_12_1(*changes) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("matrix.n * matrix.value", "matrix.value"), "torch.trace is not n times the value, as a float."),
        (("return matrix.n * matrix.value", "return None"), "torch.trace is not"),
        (("@implements(torch.trace)\n", ""), "torch.trace is not"),  # the dense matrix has it as a tensor
        (("matrix.n * matrix.value", "n * matrix.value"), "torch.trace is not n times the value, as a float. Looking at the answer"),
        ((DENSE, DENSE.replace("side.dense()", "side.value")), "torch.add with a tensor on either side"),
        ((SCALED_SUM, "left.dense() + right.dense()"), "torch.add of two"),
        (("left.value + right.value", "left.value * right.value"), "torch.add of two"),
        (("left.value * right.value)", "left.value + right.value)"), "torch.matmul of two"),
        (("else left * right.value", "else right.value"), "torch.matmul with a tensor"),
        (("else left * right.value", "else None"), "torch.matmul with a tensor"),
        (("return " + PRODUCT, DENSE_PRODUCT + "left @ right"), NOT_DENSE),
        (("return " + PRODUCT, DENSE_PRODUCT + "(left[:, :, None] * right).sum(1)"), NOT_DENSE),
        ((PRODUCT, PRODUCT.replace("left.value * right", "left.dense().mm(right)")), NOT_DENSE),
        ((PRODUCT, PRODUCT.replace("left * right.value", "left @ torch.diag(torch.full((right.n,), right.value))")), NOT_DENSE),
        (("@implements(torch.matmul)\n", ""), "torch.matmul of two"),
    ],
)  # fmt: skip
def test_12_1_wrong(change: tuple[str, str], said: str) -> None:
    """Each function is compared with what it should give, and a product that makes the dense matrix is not praised."""
    found = edited_12_1(change)
    assert found.startswith(said), found


def solution(exercise: str, *changes: tuple[str, str]) -> str:
    """Take the text of a solution, changed in some places."""
    text = cells(exercise)[0].partition("\n")[2]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


SOLVED = ""


def hold(judged: Callable[[Any], str], right: Iterable[Any], wrong: Mapping[str, Iterable[Any]]) -> None:
    """Let all that is right be praised, and all that is wrong be told what is wrong with it."""
    for answer in right:
        assert judged(answer) == "", answer
    for said, answers in wrong.items():
        for answer in answers:
            assert judged(answer).startswith(said), (answer, judged(answer))


NOTHING_YET = "There is no answer here yet."
LINE = "i * (V(1) - i)"


def fused(line: str, name: str = "lltm/fused", **fields: Any) -> li.Kernel:
    """Make a kernel of the LLTM with another line; `edit` would count it among the revisions of this process."""
    return li.Kernel(name, cpp=li.registry["lltm/fused@0"].cpp.replace(LINE, line), revision=1, **fields)


def test_00_1() -> None:
    """The kernel from before the exercise compiles, and is no answer to it."""
    for runs, said in ((1, "This is still the kernel from further above"), (2, ""), (3, "")):
        registry = SimpleNamespace(history=lambda name, runs=runs: (fused(LINE),) * runs)
        assert conditions("00.1", fused(LINE), {"registry": registry}).startswith(said)


def test_00_2() -> None:
    """The line may have any other form; that something else differs is not enough."""
    right = ["(i - i * i)", "(i * V(1) - i * i)", "(V(1) - i) * i", "(-(i * i) + i)", f"(i - i * i) /* {LINE} */"]
    right += ["-(i * i - i)", "i * (V(1) + -i)", "(V(1) * i - i * i)", "(i + i * -i)", "i / (V(1) / (V(1) - i))"]
    same = [LINE, f"V(1) * {LINE}", f"({LINE})", "i*(V(1)-i)", f"{LINE}  // i - i * i"]
    same += [f"{LINE} * V(1)", "i  *  (V(1)  -  i)"]
    wrong = {
        "It is right, but that line still says": [*map(fused, same), fused(LINE, params={"GRAIN": 64})],
        "It is no revision of `lltm/fused`.": [fused("(i - i * i)", name) for name in ("lltm/other", "axpy/fused")],
    }
    hold(functools.partial(conditions, "00.2"), map(fused, right), wrong)


def timed(kernels: Mapping[str, Mapping[str, Any]], *sizes: Mapping[str, int], **fields: Any) -> li.Timings:
    """Make the timings of some kernels, at some sizes; a row has what its kernel says."""
    given = {"direction": "both", "dtype": "float32", "device": "cpu", "median": 1e-6, "q1": 1e-6, "q3": 1e-6}
    given |= {"samples": 50, "calls": 9, "speedup": 1, "speedup_low": 1, "speedup_high": 1, "threads": 2, **fields}
    rows = (Row(name, name.partition("/")[0], size, **given | own) for size in sizes for name, own in kernels.items())
    return li.Timings(tuple(rows), next(iter(kernels), ""))


def test_00_3() -> None:
    """Both kernels at both batches, whatever else was timed."""
    base, mine, other = {"lltm/fused": {}}, {"lltm/fused@1": {}}, {"lltm/aten": {}}
    both, (small, large, middle) = base | mine, ({"B": B, "F": 32, "S": 128} for B in (16, 256, 64))
    right = [timed(both, small, large), timed(both, large, small), timed(both | other, small, large, threads=1)]
    right += [timed(base | other | mine, small, large), timed(both, small, middle, large, direction="forward")]
    right += [
        timed(both, large, small, threads=4),
        timed(both | other, large, middle, small),
        timed(both, small, small, large),
    ]
    right += [timed(both, small, large, dtype="float64"), timed({**both, "lltm/fused@7": {}}, small, large)]
    wrong = {
        NOTHING_YET: [None, ...],
        "Those are no timings": ["1.02x faster", {"B": 16}, both],
        "A batch is missing": [timed(both, small), timed(both, large), timed(both, middle), timed(both, {"N": 16})],
        "`mine` is not among the kernels": [timed(base | other, small, large), timed({})],
        "The verdict compares with the first": [timed(mine | base, small, large), timed(other | both, small, large)],
    }
    hold(lambda answer: told("00.3", both_batches=answer, mine=fused(LINE)), right, wrong)
    same = told("00.3", both_batches=right[0], mine=li.registry["lltm/fused@0"])
    assert same.startswith("`mine` is still `lltm/fused`")


@pytest.mark.parametrize(("exercise", "name"), [("03.2", "lltm/hand"), ("04.1", "d_sigmoid/mine")])
def test_a_gradient_by_hand_has_a_function(exercise: str, name: str) -> None:
    """Autograd would be right as well, and is not what is asked for."""
    text = solution(exercise)
    without = text.rpartition("\n}\n\n")[0] + "\n}\n"
    wrong = [without, f"{without}// Tensor backward(d) {{ }}\n", text.replace(" backward(", " backwards(")]
    told_so = {"It is right, but there is no function named backward": wrong}
    hold(lambda cpp: conditions(exercise, li.Kernel(name, cpp=cpp)), [text, text.replace("ard(", "ard (")], told_so)


def test_03_3() -> None:
    """One product is one however it is called, and a second one counts wherever it comes from."""

    def judged(z: str) -> str:
        def load(_: li.Kernel) -> Callable[..., Any]:
            return lambda x, W, b, h, cell: (eval(z, {"torch": torch, "X": torch.cat([h, x], 1), "W": W, "b": b}), cell)

        shapes = (4, 2), (9, 5), (9,), (4, 3), (4, 3)
        op = SimpleNamespace(inputs=lambda randn, *sizes: [randn(*shape) for shape in shapes])
        names = taught("03.3", "products", torch=torch, op=op, li=Instead(load=load))
        return conditions("03.3", li.Kernel("lltm/lean", cpp=" "), **names)

    right = ["torch.addmm(b, X, W.t())", "X @ W.t() + b", "(W @ X.t()).t() + b", "torch.nn.functional.linear(X, W, b)"]
    right += ["torch.einsum('bi,ji->bj', X, W)", "torch.tensordot(X, W, ([1], [1])) + b", "(X[:, None] * W).sum(2) + b"]
    more = [z.replace("X", "X.requires_grad_()") for z in right[:6]]
    wrong = [*more, "X[:, :3] @ W[:, :3].t() + X[:, 3:] @ W[:, 3:].t()"]
    hold(judged, right, {"It is right, and still makes more than one matrix product": wrong})


def at_leisure(*answers: tuple[Any, ...]) -> list[Any]:
    """Leave answers to `make test-all`, since each has to be built."""
    return [pytest.param(*answer, marks=pytest.mark.full) for answer in answers]


def test_05_3() -> None:
    """Any three values, chosen by what was measured; a label names a kernel, and a sweep has timings."""
    grains = {"axpy/cpp": 32768, "axpy/cpp@1": 4096, "axpy/cpp@2": 10**6, "axpy/cpp@3": 10**6, "axpy/cpp@4": 1}
    made = (li.Kernel("axpy/cpp", cpp=" ", params={"GRAIN": n}, revision=r) for r, n in enumerate(grains.values()))
    kernels = dict(zip(grains, made, strict=True))
    N, (first, one, two, _, four) = {"N": 200_000}, kernels.values()
    ends = {"axpy/cpp": (1, 1), "axpy/cpp@1": (1.5, 1.6), "axpy/cpp@2": (0.5, 0.6), "axpy/cpp@4": (1.4, 1.55)}
    ranked = timed({name: {"speedup_low": low, "speedup_high": high} for name, (low, high) in ends.items()}, N)

    def level(*indices: int, size: Any = N, **fields: Any) -> li.Timings:
        return timed({list(kernels)[index]: {} for index in indices}, size, **fields)

    same, short = level(0, 1, 2), level(0, 1, 2, speedup_low=None, speedup_high=None)
    right = [(same, first), (same, two), (same, "axpy/cpp"), (same, "axpy/cpp@2"), (short, two), (ranked, one)]
    right += [
        (level(2, 1, 0), two),
        (ranked, four),
        (SimpleNamespace(timings=ranked), "axpy/cpp@1"),
        (level(0, 1, 2, threads=4), one),
    ]
    wrong = {
        NOTHING_YET: [(..., one), (same, ...), (same, None), (..., ...)],
        "`timings` holds no timings": [(None, one), ("1.2x faster", one), ([same], one)],
        "Time at least three values of GRAIN.": [(level(0, 1), one), (level(0, 2, 3), two), (timed({}), one)],
        "Leave the shipped value, 32768, among them.": [(level(1, 2, 4), one)],
        "Time them at N = 200 000, with two": [(level(0, 1, 2, threads=1), one), (level(0, 1, 2, size={"N": 9}), one)],
        "The choice is no kernel that was timed": [(same, 4096), (same, four), (same, "axpy/cpp@9"), (same, [one])],
        "Another one is measurably faster": [(ranked, first), (ranked, two), (ranked, "axpy/cpp@2")],
    }
    playground = Instead(registry=SimpleNamespace(revision_of=kernels.__getitem__))
    hold(lambda answer: told("05.3", playground, timings=answer[0], choice=answer[1]), right, wrong)


def test_06_1() -> None:
    """Quartiles are quartiles however they are taken, of seconds, without the first calls."""
    now, ticks = [0.0], itertools.count()
    clock = SimpleNamespace(
        sleep=lambda s: now.append(now[-1] + s), perf_counter=lambda: now[-1] + 1e-12 * next(ticks) ** 2
    )

    def watch(summary: Callable[[list[float]], Any], warm: Any = lambda n: 5, take: Any = lambda n: n) -> Any:
        def stopwatch(call: Callable[[], object], samples: int = 50) -> Any:
            times = []
            for _ in range(warm(samples) + take(samples)):
                start = clock.perf_counter()
                call()
                times.append(clock.perf_counter() - start)
            return summary(times[warm(samples) :])

        return stopwatch

    def three(times: list[float], unit: float = 1) -> Any:
        return [unit * time for time in statistics.quantiles(times, n=4)]

    mean, at = statistics.fmean, [0.25, 0.5, 0.75]
    right = [watch(three, warm) for warm in (lambda n: 5, lambda n: 1, lambda n: n // 10, lambda n: 100)]
    right += [watch(lambda t: np.quantile(t, at)), watch(lambda t: torch.tensor(t).quantile(torch.tensor(at)))]
    right += [
        watch(lambda t: np.percentile(t, [25, 50, 75]).tolist()),
        watch(lambda t: statistics.quantiles(t, method="inclusive")),
    ]
    right += [watch(lambda t: tuple(sorted(t)[len(t) * n // 4] for n in (1, 2, 3))), watch(three, take=lambda n: n + 1)]
    extremes, spread = lambda t: (min(t), mean(t), max(t)), lambda t: (0, mean(t), mean(t) + statistics.stdev(t))
    wrong = {
        NOTHING_YET: [None, ...],
        "It does not call the function `samples` times": [
            watch(three, lambda n: 0), *(watch(three, take=lambda n, own=own: own) for own in (1, 50, 500)), max, 3,
        ],
        "Return three numbers in rising order": [watch(f) for f in (mean, print, lambda t: three(t)[:2], lambda t: three(t)[::-1])],
        "The slow first calls are in the result": [watch(extremes, lambda n: 1)],
        "One slow call of forty moves the result": [watch(f) for f in (extremes, spread, lambda t: [mean(t)] * 3)],
        "Give seconds": [watch(functools.partial(three, unit=unit)) for unit in (1e3, 1e-3)],
    }  # fmt: skip
    hold(lambda stopwatch: told("06.1", time=clock, quartiles_of=stopwatch), right, wrong)


def test_06_3() -> None:
    """All four combinations in one benchmark, whatever else it holds."""
    combinations = enumerate([(), ("-O0",), ("-fno-openmp",), ("-O0", "-fno-openmp")])
    flags: dict[str, Any] = {f"axpy/cpp@{number}": {"flags": own} for number, own in combinations}
    N, more = {"N": 300_000}, {"axpy/cpp@4": {"flags": ("-fno-openmp", "-O0")}}
    right = [timed(flags, N), timed(flags | more, N), timed(flags, {"N": 1}, N), timed({**more, **flags}, N)]
    right += [timed(flags, N, threads=4, direction="forward"), timed(dict([*flags.items()][:3]) | more, N)]
    right += [
        timed(flags, {"N": 9}, N, {"N": 99}),
        timed(dict(reversed(flags.items())), N),
        timed(flags, N, dtype="float64"),
    ]
    right += [timed(flags | {"axpy/aten": {"flags": ()}}, N)]
    fewer = [timed({name: own for name, own in flags.items() if name != left_out}, N) for left_out in flags]
    elsewhere = [timed(flags, {"N": 9}), timed(flags, N, threads=1), timed(flags, {"B": 1})]
    wrong = {
        NOTHING_YET: [None, ...],
        "Those are no timings": ["0.3x", [right[0]], flags],
        "One benchmark has to hold all four combinations": [*fewer, timed({}), timed(more, N)],
        "Time all of them at N = 300 000, with two threads.": elsewhere,
    }
    hold(lambda answer: told("06.3", timings=answer), right, wrong)


def test_07() -> None:
    """What is held is compared with what is measured."""
    held = {"conv_bn/unfused": 98_376, "conv_bn/fused": 49_224, "conv_bn/python": 147_456, "conv_bn/more": 60_000}
    held |= {"gate/keeps": 24_000} | {f"gate/holds_{size}": size for size in range(1200, 24_000, 1200)}

    def memory(kernels: Any, *_: Any, **__: Any) -> Any:
        names = kernels if isinstance(kernels, list) else [kernels.name]
        return SimpleNamespace(rows=[SimpleNamespace(kernel=name, held=held[name]) for name in names])

    z, both = 4 * 8 * 6 * 16 * 16, {"conv_bn/unfused": 2 * 49_152, "conv_bn/fused": 49_152}
    right = [(z, both), (float(z), {name: held[name] for name in both}), (z, both | {"conv_bn/python": 3 * z})]
    right += [(kind(z), {name: kind(n) for name, n in both.items()}) for kind in (np.int64, np.float64, torch.tensor)]
    right += [
        (z, dict(reversed(both.items()))),
        (z, {name: 1.0001 * n for name, n in both.items()}),
        (z, {name: 0.9999 * n for name, n in both.items()}),
    ]
    right += [(z, {name: n + 24 for name, n in both.items()})]
    wrong: dict[str, Any] = {
        NOTHING_YET: [(..., both), (z, both | {"conv_bn/fused": ...}), (z, ...)],
        "z_bytes is not 4 bytes": [(z // 4, both), (None, both), (str(z), both)],
        "held should have a number": [(z, answer) for answer in (None, {}, z, {"conv_bn/fused": z}, {"fused": z})],
        "li.memory measures something else": [(z, both | {"conv_bn/fused": n}) for n in (2 * z, 0, z / 1024, None)],
    }
    hold(lambda answer: told("07.1", Instead(memory=memory), z_bytes=answer[0], held=answer[1]), right, wrong)

    kernels = {
        name: li.Kernel(f"gate/{name}", cpp=" ")
        for name in ("keeps", *(f"holds_{size}" for size in range(1200, 24_000, 1200)))
    }
    less, keeps = [kernels[f"holds_{size}"] for size in range(1200, 12_001, 1200)], kernels["keeps"]
    wrong = {"It is right, but holds more than half of what it held": [*list(kernels.values())[13:], keeps]}
    hold(lambda kernel: conditions("07.2", kernel, {"memory": memory}, keeps=keeps), less, wrong)


def test_11() -> None:
    """A header in a comment is not included, and what holds all of PyTorch holds ATen."""

    def small(text: str, name: str = "d_sigmoid/small", api: str = "stable") -> li.Kernel:
        return li.Kernel(name, cpp=f"#include <torch/csrc/stable/ops.h>\n{text}\n", api=api)

    right = [solution("11.2"), "// no ATen/ here", "// #include <ATen/ATen.h>", "/* ATen/ATen.h */", "#include <cmath>"]
    right += ["/*\n#include <ATen/ATen.h>\n*/", "#if 0\n#include <ATen/ATen.h>\n#endif"]
    right += [
        "#include <torch/csrc/stable/library.h>",
        'const char* note = "ATen/ATen.h";',
        "#if 0\n#include <c10/util/Half.h>\n#endif",
    ]
    headers = [
        "<ATen/ops/add.h>",
        "<torch/torch.h>",
        '"c10/core/Scalar.h"',
        "<torch/library.h>",
        "<ATen/ATen.h>",
        '"ATen/Dispatch.h"',
        "<torch/extension.h>",
        "<torch/all.h>",
        "<c10/util/Half.h>",
    ]
    wrong = {
        "Do without ATen headers": [small("", api="aten"), *(small(f"  # include {name}") for name in headers)],
        "It should be a kernel of d_sigmoid.": [small("", "axpy/lean")],
    }
    hold(functools.partial(conditions, "11.2", re=re), map(small, right), wrong)
    own, named = ["STABLE_TORCH_LIBRARY_FRAGMENT(x, m) {}", "PYBIND11_MODULE(x, m) {}"], ["torch_library", "pybind11"]
    wrong_names = {"Use a binding text of your own.": named}
    hold(lambda text: conditions("11.3", li.Kernel("axpy/lean", cpp=" ", binding=text)), own, wrong_names)


CALL = "return cls(func(*args, **kwargs), tags)"
INIT = "    def __init__(self, {}):\n        self.tensor, self.tags = tensor, {}\n\n    @classmethod"
UNPACK = "tree_map(unpack, (args, kwargs or {}))"
ADD, CAT = (f"torch.{call} does not carry the tags of both, and no other." for call in ("add(a, b)", "cat([a, b])"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ("kwargs), tags)", "kwargs), [*tags])", ""),
        (UNPACK, "tree_map(unpack, args), tree_map(unpack, kwargs or {})", ""),
        ("    @classmethod", INIT.format("tensor, tags=()", "sorted(tags)"), ""),
        ("class AllTags(Tagged):", "class Collects:", ""),
        ("tags.update(leaf.tags)", "tags.update(set(leaf.tags))", ""),
        ("tags.update(leaf.tags)", "[tags.add(tag) for tag in leaf.tags]", ""),
        ("kwargs), tags)", "kwargs), tuple(sorted(tags)))", ""),
        ("not isinstance(leaf, Tagged)", 'not hasattr(leaf, "tags")', ""),
        ("func(*args, **kwargs)", "func.__call__(*args, **kwargs)", ""),
        ("__torch_function__", "another", NOTHING_YET),
        ("tags.update(leaf.tags)", "tags or tags.update(leaf.tags)", ADD),
        ("tags = set()", 'tags = {"mine"}', ADD),
        ("    @classmethod", INIT.format("", "()"), f"{ADD} Looking at the answer"),
        (CALL, "return func(*args, **kwargs)", f"{ADD} Looking at the answer"),
        ("return cls(", "return Tagged(", "The result should be of the type AllTags."),
        (UNPACK, "[unpack(arg) for arg in args], kwargs or {}", f"{CAT} Looking at the answer"),
        (UNPACK, "tree_map(unpack, args), kwargs or {}", "A keyword argument is not unpacked"),
        ("return leaf.tensor", "return leaf.tensor + 1", "The values are not those of the plain tensors."),
    ],
)  # fmt: skip
def test_12_2(old: str, new: str, said: str) -> None:
    """Tags may be kept in anything, and be collected anywhere."""
    names = taught("12.2", "Tagged", torch=torch) | {"torch": torch}
    inherits = "\n\nclass AllTags(Collects, Tagged):\n    pass\n" * new.startswith("class Collects")
    exec(cells("12.2")[0].replace(old, new) + inherits, names)
    found = told("12.2", **names)
    assert found.startswith(said) and bool(found) == bool(said), found
    assert told("12.2", **{**names, "AllTags": None}).startswith(NOTHING_YET)
    assert told("12.2", **{**names, "AllTags": dict}).startswith(ADD)


def test_12_3() -> None:
    """PyTorch's own function is no function of NumPy, wherever it is called."""
    right = ["np.cumsum(x.numpy())", "x.numpy().cumsum()", "np.add.accumulate(x.numpy())", "[*accumulate(x.tolist())]"]
    right += [
        "np.cumsum(np.asarray(x), axis=-1)",
        "[*map(lambda i, n=x.tolist(): sum(n[: i + 1]), range(len(x)))]",
        "np.tri(len(x)) @ x.numpy()",
    ]
    right += [
        "np.convolve(x.numpy(), np.ones(len(x)))[: len(x)]",
        "np.nancumsum(x.numpy())",
        "np.ufunc.accumulate(np.add, x.numpy())",
    ]
    plain = ["torch.cumsum(x, 0)", "x.cumsum(-1)", "x.clone().cumsum_(0)", "torch.cumsum(input=x, dim=0)"]
    plain += ["torch.ops.aten.cumsum(x, 0)", "torch.cumsum(x.double(), 0).float()", "np.asarray(torch.cumsum(x, 0))"]
    plain += ["torch.cumsum(torch.as_tensor(x.numpy()), 0)", "x.view(1, -1).cumsum(1)[0]", "x.flip(0).cumsum(0)"]

    def judged(result: str, name: str = "running_sum/numpy") -> str:
        names = {"np": np, "torch": torch, "accumulate": itertools.accumulate}
        kernel = li.Kernel(name, python=lambda x: torch.as_tensor(eval(result, names, {"x": x})))
        return conditions("12.3", kernel, {"load": lambda k: k.python})

    hold(judged, right, {"It is right, but torch.cumsum computes it": plain})
    assert judged(right[0], "axpy/numpy") == "It should be a kernel of running_sum."


def test_14_3() -> None:
    """An index is refused on either side, right behind the end, too, and is named."""

    def judged(kernel: Callable[[torch.Tensor, int], Any]) -> str:
        names = taught("14.3", "wild", torch=torch, li=Instead(call=lambda k, *arguments: k.python(*arguments)))
        return conditions("14.3", li.Kernel("pick/bare", python=kernel), **names)

    def refuses(indices: str, error: Any = IndexError, text: str = "index {}") -> Any:
        def kernel(x: torch.Tensor, i: int) -> torch.Tensor:
            if eval(indices, {"i": i}):
                raise error(text.format(i))
            return x[:1]

        return kernel

    far, end, below = (f"Index {index} of 3 elements gives no IndexError." for index in (10**12, 3, -1))
    right = map(refuses, ["not 0 <= i < 3", "i not in (0, 1, 2)", "i < 0 or i >= 3", "abs(2 * i - 2) > 2"])
    errors: list[Any] = [RuntimeError, ValueError, functools.partial(li.CrashError, crash=SimpleNamespace())]
    wrong = {
        far: [refuses("i < 0"), refuses("0"), *(refuses("not 0 <= i < 3", error) for error in errors)],
        end: [refuses("i > 3 or i < 0"), refuses("i > 10**6")],
        below: [refuses("i >= 3"), refuses("i > 2 or i < -1")],
        "The message should name the index.": [refuses("not 0 <= i < 3", text=text) for text in ("does not fit", "")],
    }
    hold(judged, right, wrong)


def test_15_1(tmp_path: Path) -> None:
    """Each thing that was asked of an export is looked at."""

    def made(header: str = "// Copyright (c) 2026", where: str = "robot", **other: Any) -> Exported:
        (tmp_path / where / "csrc").mkdir(parents=True, exist_ok=True)
        (tmp_path / where / "csrc" / "ops.cpp").write_text(f"{header}\n#include <array>\n")
        fields = {"kernel": "lltm/fused", "how": "cmake", "name": "robot_cell", "files": (), "commands": (), **other}
        return Exported(tmp_path / where, **fields)

    def judged(answer: Any) -> str:
        robot = made(**answer) if isinstance(answer, dict) else answer
        return told("15.1", robot=robot, exported=made(where="first"), place=tmp_path)

    right: list[Any] = [{}, {"where": "first/../robot"}, {"kernel": "lltm/fused@2"}, {"header": "// Copyright"}]
    right += [
        {"header": f"// Copyright{more}"} for more in ("s of mine", " 2026\n// All rights reserved", ": A. Student")
    ]
    right += [{"files": ("csrc/ops.cpp",)}, {"commands": ("cmake -B build",)}, {"where": "./robot"}]
    wrong: dict[str, Any] = {
        NOTHING_YET: [None, ...],
        "That is nothing that li.export returned.": ["robot", tmp_path, 3],
        "It should be lltm/fused that is exported.": [{"kernel": "lltm/stable"}, {"kernel": "axpy/cpp"}],
        "It should be built by CMake.": [{"how": "setuptools"}],
        "The package should be called robot_cell.": [{"name": "robot"}],
        "It should be in place / 'robot'.": [{"where": "lltm_mine"}],
        "The files should begin with the header": [{"header": text} for text in ("", "// MIT", "// // Copyright")],
    }
    hold(judged, right, wrong)


def test_15_3() -> None:
    """Her kernel, with her block size and the formula mended; no other one that is right."""
    new, shipped = "std::min(c + 1, T(1))", li.registry["lltm/stable@0"]
    hers = shipped.replace(
        cpp=shipped.cpp.replace("(c > 0 ? T(1) : c + 1)", new), params={**shipped.params, "GRAIN": 4096}
    )
    assert new in hers.cpp
    rewritten = (
        ("c * i * (1 - i)", "c * (1 - i) * i"),
        ("c * i * (1 - i)", "i * c * (1 - i)"),
        ("c * i * (1 - i)", "c * (i - i * i)"),
    )
    right = [hers, *(hers.replace(cpp=hers.cpp.replace(old, other)) for old, other in rewritten)]
    right += [hers.replace(cpp=f"{hers.cpp}// MORE\n", params={**hers.params, "MORE": n}) for n in range(3)]
    right += [hers.replace(cpp=f"{hers.cpp}// {word}\n") for word in ("mended", "GRAIN 2048", "sigmoid")]
    others = [li.registry[f"{name}@0"] for name in ("lltm/fused", "axpy/cpp", "lltm/aten", "lltm/onednn")]
    wrong = {
        "It is not the kernel that she changed": [
            *(kernel.replace(cpp=f"{kernel.cpp}// GRAIN\n", params={"GRAIN": 4096}) for kernel in others),
            shipped.replace(params={**shipped.params, "GRAIN": 4096}),
            *(li.Kernel(name, cpp=new, params={"GRAIN": 4096}) for name in ("lltm/hers", "axpy/stable")),
        ],
        "Her block size is lost": [hers.replace(params={**hers.params, "GRAIN": n}) for n in (2048, 1, 4097)],
    }
    hold(lambda kernel: conditions("15.3", kernel, mine=shipped, NEW=new), right, wrong)


LLTM_MINE = """
import torch

class LLTM(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x), x
"""
UNSAVED = "It does not run to its end without the playground, or saves no answer.pt."
OTHER = "answer.pt is not the new_h of the trained cell."


@pytest.mark.parametrize(
    ("old", "new", "said"),
    at_leisure(
        ("", "", SOLVED),
        ("import lltm_mine\n", "import lltm_mine, lltm_inline\n", UNSAVED),
        ("new_cell", "_", SOLVED),
        ("import lltm_mine\n", "import lltm_mine  # no lltm_inline\n", SOLVED),
        ("import lltm_mine\n", "import lltm_mine\nimport sys\n\nassert 'lltm_inline' not in sys.modules\n", SOLVED),
        ("torch.save(", "print('lltm_inline was not imported')\ntorch.save(", SOLVED),
        ("torch.save(new_h", "torch.save(new_h.detach().clone()", SOLVED),
        ("import lltm_mine\n", "import lltm_mine\nfrom lltm_mine import LLTM\n", SOLVED),
        ('"answer.pt"', 'open("answer.pt", "wb")', SOLVED),
        ("new_h, new_cell = cell(", "new_h, *_ = cell.forward(", SOLVED),
        ("import torch\n", "import torch\n\ntorch.manual_seed(3)\n", SOLVED),
        ("import torch\n", "import torch, importlib\nimportlib.import_module('lltm_' + 'inline')\n", UNSAVED),
        ("torch.save(new_h", "torch.save((new_h", UNSAVED),
        ("answer", "new_h", UNSAVED),
        ("saved[", "s[", UNSAVED),
        ("(new_h", "((new_h, new_cell)", OTHER),
        ("(new_h", "(torch.nn.Linear(7, 5)", OTHER),
        ("(new_h", "(new_h + 1", OTHER),
        ("(new_h", "({'new_h': new_h}", OTHER),
    ),
)  # fmt: skip
def test_15_2(old: str, new: str, said: str, tmp_path: Path) -> None:
    """A program is judged by the file that it leaves, and by what it has imported when it ends."""
    (tmp_path / "lltm_mine.py").write_text(LLTM_MINE)
    trained, x = torch.nn.Linear(7, 5), torch.ones(3, 7)
    torch.save({"weights": trained.state_dict(), "inputs": (x,)}, tmp_path / "trained.pt")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{NOTEBOOKS.parent}"}

    def shell(line: str) -> None:
        subprocess.run([sys.executable, *shlex.split(line)[1:]], cwd=tmp_path, env=environment, check=True)

    names = {"place": tmp_path, "shlex": shlex, "shell": shell, "wanted": trained(x)}
    program = solution("15.2").replace('"""', "").replace(old, new)
    found = told("15.2", program=program, **names)
    assert found.startswith(said) and bool(found) == bool(said), found
    hold(
        lambda text: told("15.2", program=text, **names), [], {NOTHING_YET: [None, ...], "It is no program": [3, print]}
    )
