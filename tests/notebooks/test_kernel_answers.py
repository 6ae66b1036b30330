"""The self-checks whose answer is a text in C++: ten right answers of each, unlike each other, and ten wrong ones.

They are in `answers/`, a file for each exercise. Each has to be built, so that a run of CI takes an eighth of them.
"""

from __future__ import annotations

import ast
import functools
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
import torch

import lltm_inline as li
from lltm_inline.lesson import Verdict
from lltm_inline.model.op import Cost
from tests.notebooks.test_answers import NOTEBOOKS, Instead, cells, judge, solution, taught
from tests.quick import QUICK
from tests.texts import Text, texts_in
from tests.tiny import forget

pytestmark = [
    pytest.mark.full,
    pytest.mark.usefixtures("quick_compiler", "ops_of_lesson_13", "shift"),
]


def answers(exercise: str) -> list[Text]:
    """Read the answers of an exercise: edits of a text, and how what is said of it begins; nothing of a right one."""
    [file] = Path(__file__).with_name("answers").glob(f"{exercise.replace('.', '_')}.c*")
    return [*texts_in(file, may=("says", "saves"))]


def changed(text: str, answer: Text) -> str:
    """Change a text as an answer does."""
    for old, new in answer.edits:
        assert old in text, (answer.name, old, text)
        text = text.replace(old, new)
    return text


def numbered(*exercises: str) -> pytest.MarkDecorator:
    """Try all answers of some exercises."""
    numbers = [(exercise, number) for exercise in exercises for number in range(len(answers(exercise)))]
    return pytest.mark.parametrize(("exercise", "number"), numbers)


def hold(answer: Text, verdict: Verdict, *, anywhere: bool = False) -> None:
    """Let a right answer be praised, and a wrong one be told what is wrong with it, at once or somewhere in what is said."""
    says = answer.said.get("says", "")
    assert verdict.ok == (not says), (answer, verdict)
    assert says in verdict.text if anywhere else verdict.text.startswith(says), (answer, verdict)


#: By exercise: the kernel that it asks for.
KERNELS = {
    "00.1": "axpy/tour",
    "01.1": "axpy/mine",
    "01.2": "axpy/loop",
    "01.3": "axpy/hasty",
    "02.1": "axpy/three",
    "02.2": "axpy/inside",
    "02.3": "axpy/apart",
    "03.1": "lltm/mine",
    "03.2": "lltm/hand",
    "03.3": "lltm/lean",
    "04.1": "d_sigmoid/mine",
    "04.3": "d_sigmoid/even",
    "13.2": "softcap/loop",
    "14.1": "shift/mine",
}
SAVES = {**dict.fromkeys(("03.2", "03.3"), ("weights", "new_cell")), "04.1": ("z",), "13.2": ("y", "cap")}


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


@pytest.fixture
def shift() -> Iterator[None]:
    """Register the op of exercise 14.1."""
    names = taught("14.1", "shift", torch=torch)
    li.registry.register(li.Op("shift", "(Tensor x) -> Tensor y", names["shift"], {"x": "N", "y": "N"}))
    yield
    forget("shift")


@numbered(*KERNELS)
def test_texts(exercise: str, number: int) -> None:
    """What is right is praised, however it is written; of anything else it is told what is wrong with it."""
    answer = answers(exercise)[number]
    kernel = li.Kernel(KERNELS[exercise], cpp=solution(exercise, *answer.edits), saves=SAVES.get(exercise, ()))
    checked = functools.partial(li.self_check, exercise)
    op = li.registry.ops["lltm"]
    names = taught(exercise, "products", torch=torch, li=li, op=op) if exercise == "03.3" else {}
    instead = {"self_check": lambda _, **given: checked(**{**given, "kernel": kernel})}
    if exercise == "00.1":
        instead["registry"] = SimpleNamespace(history=lambda name: ("the text that does not compile", "this one"))
    hold(answer, judge(exercise, Instead(**instead), **names))


def edited(base: li.Kernel, answer: Text) -> li.Kernel:
    """Change a kernel's text as `edit` would; that would count it among the revisions of this process."""
    return base.replace(cpp=changed(base.cpp, answer))


def mine(base: li.Kernel, answer: Text) -> li.Kernel:
    """Make a student's kernel of another one, under a name of its own."""
    saves, text = answer.words("saves") or base.saves, changed(base.cpp, answer)
    return li.Kernel(f"{base.op}/mine", cpp=text, saves=saves, params=base.params, api=base.api)


@pytest.fixture
def pick() -> Iterator[dict[str, Any]]:
    """Register the op of exercise 14.3; give its kernel and what calls it."""
    names = taught(
        "14.3", "pick", "bare", "wild", torch=torch, li=Instead(registry=SimpleNamespace(register=lambda one: one))
    )
    li.registry.register(
        li.Op(
            "pick",
            "(Tensor x, int index) -> Tensor y",
            names["pick"],
            {"x": "N", "y": "1"},
            lambda randn, N: (randn(N), N - 1),
        )
    )
    yield names
    forget("pick")


@numbered("14.3")
def test_refusals(pick: dict[str, Any], exercise: str, number: int) -> None:
    """The same of an index that is refused in place of a crash."""
    answer = answers(exercise)[number]
    hold(answer, judge(exercise, **pick, polite=edited(pick["bare"], answer)), anywhere=True)


@numbered("11.3")
def test_bindings(exercise: str, number: int) -> None:
    """The same of a binding that refuses what does not fit."""
    answer = answers(exercise)[number]
    kept = Instead(registry=SimpleNamespace(register=lambda one: one))
    names = taught("11.3", "STABLE", "lean", "BINDING", "careless", li=kept)
    exec(cells("11.3")[0], names)
    careful = names["lean"].replace(binding=changed(names["CAREFUL"], answer))
    hold(answer, judge(exercise, **names | {"careful": careful}), anywhere=True)


#: What is to be mended in 13.3.
HURRIED = (Path(__file__).with_name("answers") / "hurried.cpp").read_text()


@numbered("04.2", "13.3", "14.2")
def test_changes(exercise: str, number: int) -> None:
    """The same of kernels that are to be changed: how is the student's choice, and that they are must be seen."""
    answer = answers(exercise)[number]
    axpy, hurried = li.registry["axpy/cpp@0"], li.Kernel("row_scale/hurried", cpp=HURRIED, saves=("x", "s"))
    base = {"04.2": li.registry["lltm/aten@0"], "13.3": hurried, "14.2": axpy}[exercise]
    name = {"04.2": "sneaky", "13.3": "mended", "14.2": "endless"}[exercise]
    hold(answer, judge(exercise, **{"hurried": hurried, "axpy": axpy, name: edited(base, answer)}), anywhere=True)


#: By exercise: what its lesson has defined, the kernel that is to be changed last; and the name of the answer.
SNIPPETS = {
    "16.1": (("softmax_source", "row_softmax", "found"), "stable"),
    "16.2": (("sum_source", "block_total", "lecture"), "mended"),
    "16.3": (("norm_source", "rms", "pair"), "whole"),
}


def light(base: li.Kernel) -> li.Kernel:
    """Include what a text needs, and not all of torch, which takes ten seconds to compile."""
    heads = {"cpp": "#include <ATen/ATen.h>\n", "cuda": "#include <ATen/core/Tensor.h>\n#include <ATen/ops/zeros.h>\n"}
    texts = {
        kind: heads[kind] + text.replace("#include <torch/extension.h>", "").replace("torch::", "at::")
        for kind, text in base.sources.items()
        if kind in heads and text.strip()
    }
    return base.replace(**texts)


@numbered(*SNIPPETS)
def test_snippets(exercise: str, number: int) -> None:
    """The same of snippets that somebody has brought."""
    wanted, name = SNIPPETS[exercise]
    answer = answers(exercise)[number]
    names = taught(exercise, *wanted, torch=torch, li=li)
    base = light(names[wanted[-1]])
    try:
        kernel = base
        for old, new in answer.edits:
            kernel = kernel.edit(old.replace("torch::", "at::"), new.replace("torch::", "at::"))
        hold(answer, judge(exercise, **{wanted[-1]: base, name: kernel}))
    finally:
        forget(base.op)


@pytest.fixture
def lesson_05() -> Iterator[dict[str, Any]]:
    """Give what lesson 05 has defined before its exercises, with its op."""
    names = taught("05.1", "cell", "shapes", "timed", "forward", "ROW", "TEXT", torch=torch, li=li)
    schema = "(Tensor z, Tensor old_cell) -> (Tensor new_h, Tensor new_cell)"

    def inputs(randn: Callable[..., Any], B: int, S: int) -> tuple[Any, ...]:
        return randn(B, 3 * S), randn(B, S)

    li.registry.register(li.Op("cell", schema, names["cell"], names["shapes"], inputs))
    loop = li.Kernel("cell/loop", cpp=names["TEXT"], saves=("new_cell",), params={"GRAIN": 4096})
    yield {**names, "loop": loop, "re": re}
    forget("cell")
    forget("shares")


@numbered("05.1")
def test_05_1(exercise: str, number: int, lesson_05: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors may be written in any way, and what is left of a row go number by number; a row that names vectors and goes so all
    the same is not praised.
    """
    monkeypatch.setenv("CXX", shutil.which("clang++") or "g++")  # as users do: what is judged is its speed
    answer = answers(exercise)[number]
    hold(answer, judge(exercise, vector=mine(lesson_05["loop"], answer), **lesson_05))


@numbered("05.2")
def test_05_2(exercise: str, number: int, lesson_05: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece has so many cells, however that is written; how many threads work, and on what, is counted where they do."""
    monkeypatch.setenv("CXX", QUICK)
    answer = answers(exercise)[number]
    hold(answer, judge(exercise, parallel=mine(lesson_05["loop"], answer), **lesson_05))


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[li.Kernel]:
    """Give the kernel of lesson 07 that keeps too much, with its op."""
    monkeypatch.setenv("CXX", QUICK)
    names = taught("07.2", "gate", torch=torch)
    inputs = lambda randn, N: (randn(N), randn(N))  # noqa: E731
    li.registry.register(
        li.Op("gate", "(Tensor x, Tensor y) -> Tensor z", names["gate"], dict.fromkeys("xyz", "..."), inputs)
    )
    yield taught("07.2", "keeps", li=li)["keeps"]
    forget("gate")


@numbered("07.2")
def test_07_2(exercise: str, number: int, gate: li.Kernel) -> None:
    """The sigmoid may be computed again in any way, and a result that holds nothing may stay; another tensor in the place of s is no
    less, and what is kept elsewhere is another call's.
    """
    answer = answers(exercise)[number]
    hold(answer, judge(exercise, lean=mine(gate, answer), keeps=gate))


FUSED = li.registry["conv_bn/fused@0"]


@numbered("07.3")
def test_07_3(exercise: str, number: int) -> None:
    """Whatever backward is called and says, it is what it computes that counts; a convolution counts wherever it is called from, and
    memory whatever it is for.
    """
    answer = answers(exercise)[number]
    hold(answer, judge(exercise, both=mine(FUSED, answer), fused=FUSED))


def test_07_3_in_python() -> None:
    """What PyTorch keeps of it counts as well."""
    both = li.Kernel("conv_bn/mine", python=li.registry["conv_bn/python"].python)
    assert judge("07.3", both=both, fused=FUSED).text.startswith("It holds more than conv_bn/fused does.")


@pytest.fixture
def lesson_17(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Give what lesson 17 has defined before its exercises, with its ops, and g++: what is judged is its machine code."""
    monkeypatch.setenv("CXX", "g++")
    names = {"li": li, "re": re, "torch": torch, "Cost": Cost}
    wanted = "adamax", "STEP", "OUT", "RATE", "ema", "cost", "EMA", "SQUARES", "writes", "wide"
    names |= taught("17.1", *wanted, **names)
    (path,) = NOTEBOOKS.glob("17_*.ipynb")
    ops = [
        ast.unparse(statement)
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code" and "li.Op(" in cell.source
        for statement in ast.parse(re.sub("^%", "#", cell.source, flags=re.MULTILINE)).body
        if ast.unparse(statement).startswith("li.registry.register(li.Op(")
    ]
    for op in ops:
        exec(op, names)
    yield names
    for name in ("adamax", "ema", "squares"):
        forget(name)


@numbered("17.1")
def test_17_1(exercise: str, number: int, lesson_17: dict[str, Any]) -> None:
    """The power may leave the loop in any way; one that is called under another name is found, and so are arrays that overlap again."""
    OUT, answer = lesson_17["OUT"], answers(exercise)[number]
    apart = lesson_17["STEP"].replace(OUT, OUT.replace("float*", "float* __restrict"))
    calls = li.Kernel("adamax/mine", cpp=apart.replace("rate * new_m[i]", lesson_17["RATE"]), api="stable")
    hold(answer, judge(exercise, **{**lesson_17, "calls": calls, "mended": mine(calls, answer)}))


@numbered("17.2")
def test_17_2(exercise: str, number: int, lesson_17: dict[str, Any]) -> None:
    """Rows may be walked along in any way; states in an array alone do not help, and no more does another loop that walks along."""
    columns, answer = li.Kernel("ema/mine", cpp=lesson_17["EMA"], api="stable"), answers(exercise)[number]
    hold(answer, judge(exercise, **{**lesson_17, "columns": columns, "rows": mine(columns, answer)}))


@numbered("17.3")
def test_17_3(exercise: str, number: int, lesson_17: dict[str, Any]) -> None:
    """A sum of its own is one however it is kept; a reference to the common place is none, nor is an atomic operation."""
    text = f"#include <numeric>\n{lesson_17['SQUARES']}"  # which some answers take
    shared, answer = li.Kernel("squares/mine", cpp=text, api="stable"), answers(exercise)[number]
    hold(answer, judge(exercise, **{**lesson_17, "shared": shared, "own": mine(shared, answer)}))
