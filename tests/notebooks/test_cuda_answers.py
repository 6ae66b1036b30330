"""The self-checks of lessons 08 to 10: many answers of each exercise, all kernels of one exercise in one library."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from torch import Tensor

import lltm_inline as li
from lltm_inline.base.device import DEVICES
from lltm_inline.errors import CheckError, LltmInlineError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.tables.counts import Counts
from tests.notebooks.test_answers import NOTEBOOKS, NOTHING_YET, conditions, hold, taught, told
from tests.notebooks.test_kernel_answers import answers, changed, numbered
from tests.texts import bodies
from tests.tiny import forget

pytestmark = pytest.mark.usefixtures("quick_compiler")

_INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)


@contextmanager
def library(
    texts: Sequence[str], reference: Callable[[Tensor], Tensor], shape: str, call: str = "forward(x)"
) -> Iterator[Callable[[int, tuple[int, int]], Counts | str]]:
    """Build many answers at once, and give a function that counts what one does, or returns what is wrong with it."""
    registry.register(
        Op(
            "answers",
            "(Tensor x, Tensor which) -> Tensor y",
            lambda x, which: reference(x),
            {"x": "R C", "which": "W", "y": shape},
            dtypes=("float32",),
        )
    )
    text = "".join(dict.fromkeys(head for one in texts for head in _INCLUDE.findall(one)))
    for number, one in enumerate(texts):
        text += f"namespace answer_{number} {{\n{_INCLUDE.sub('', one)}}}\n"
    calls = "".join(
        f"  if (which.size(0) == {number}) return answer_{number}::{call};\n" for number in range(len(texts))
    )
    text += f"at::Tensor forward(const at::Tensor& x, const at::Tensor& which) {{\n{calls}  return x;\n}}\n"
    kernel = Kernel("answers/all", cuda=text)

    def look(number: int, size: tuple[int, int]) -> Counts | str:
        try:
            return li.counts(kernel, [(*size, number)], progress=False, trust=True)
        except CheckError as error:
            return str(error)

    try:
        yield look
    finally:
        forget("answers")


def judge_all(
    exercise: str,
    text: str,
    reference: Callable[[Tensor], Tensor],
    shape: str,
    sizes: Sequence[tuple[int, int]],
    counted_at: tuple[int, int],
) -> None:
    """Let each answer be praised where nothing is to be said of it; else its check, or the self-check, says that."""
    all_answers = answers(exercise)
    texts = [changed(text, answer) for answer in all_answers]
    with library(texts, reference, shape) as look:
        for number, (answer, one) in enumerate(zip(all_answers, texts, strict=True)):
            want = answer.said.get("says", "")
            wrong = [found for size in sizes if isinstance(found := look(number, size), str)]
            if wrong:
                assert want and re.search(want, "\n".join(wrong)), (answer, wrong)
                continue
            counted = look(number, counted_at)
            instead = {"counts": lambda *_, counted=counted: counted}
            found = conditions(exercise, Kernel("answers/one", cuda=one), instead)
            assert found.startswith(want) and bool(found) == bool(want), (answer, found)


@pytest.mark.full
def test_08_1() -> None:
    """Enough blocks and a guard, in whatever form; either alone is not enough."""
    text = _cell("08", "%%kernel axpy/threads")
    text = text.replace("#include <ATen/ops/empty_like.h>\n", "#include <ATen/ops/empty_like.h>\n#include <cmath>\n")
    all_answers = answers("08.1")
    texts = [changed(text, answer) for answer in all_answers]
    sizes = [(1, 1), (1, 1000), (25, 31)]
    with library(texts, lambda x: 3 * x, "R C", "forward(x, x)") as look:
        for number, answer in enumerate(all_answers):
            want = answer.said.get("says", "")
            found = "\n".join(str(one) for size in sizes if isinstance(one := look(number, size), str))
            assert bool(found) == bool(want) and re.search(want, found), (answer, found)


def _book(lesson: str) -> nbformat.NotebookNode:
    (path,) = NOTEBOOKS.glob(f"{lesson}_*.ipynb")
    return nbformat.read(path, as_version=4)


def _cell(lesson: str, begin: str) -> str:
    """Return the one cell of a lesson that begins so, without its first line."""
    (source,) = [cell.source for cell in _book(lesson).cells if cell.source.startswith(begin)]
    return str(source).partition("\n")[2] + "\n"


RIGHT_08_2 = {"blocks": 6, "idle threads": 68, "parted warps": 1, "block of 650": 5, "thread of 650": 10}


def test_08_2() -> None:
    """Five numbers, each told by its name when it is wrong."""
    kinds: list[Callable[[int], Any]] = [int, float, np.int64, np.int32, np.float64, torch.tensor, complex, str.__len__]
    right = [{name: kind(n) for name, n in RIGHT_08_2.items()} for kind in kinds[:-1]]
    right += [dict(reversed(RIGHT_08_2.items())), RIGHT_08_2 | {"more": 1}, dict(sorted(RIGHT_08_2.items()))]
    wrong: dict[str, list[Any]] = {
        NOTHING_YET: [..., RIGHT_08_2 | {"blocks": ...}, dict.fromkeys(RIGHT_08_2, ...), 6, None],
        "Think again of 'blocks'": [RIGHT_08_2 | {"blocks": 5}, RIGHT_08_2 | {"blocks": "6"}, {}],
        "Think again of 'idle threads'": [RIGHT_08_2 | {"idle threads": 700}],
        "Think again of 'parted warps'": [RIGHT_08_2 | {"parted warps": n} for n in (0, 3, 24)],
        "Think again of 'block of 650'": [RIGHT_08_2 | {"block of 650": 6}],
        "Think again of 'thread of 650'": [RIGHT_08_2 | {"thread of 650": 650}, RIGHT_08_2 | {"thread of 650": None}],
    }
    hold(lambda answer: told("08.2", launch=answer), right, wrong)


@pytest.mark.full
def test_08_3() -> None:
    """Blocks of any two sides; a row walked by one thread is right, and not what is asked for."""
    ((text,),) = [
        re.findall('cuda=r"""(.*?)"""', cell.source, re.DOTALL)
        for cell in _book("08").cells
        if "flip/rows" in cell.source
    ]
    judge_all("08.3", text, lambda x: x.t().clone(), "C R", [(1, 1), (7, 33), (33, 7), (40, 65)], (40, 65))


@pytest.mark.full
def test_09_1() -> None:
    """Any loop without conflicts; races, barriers in branches and wrong ends are found by the check, conflicts by the counts."""
    judge_all("09.1", taught("09.1", "TREE", "SUM")["SUM"], lambda x: x.sum(1), "R", [(1, 1), (2, 300)], (4, 1024))


@pytest.mark.full
def test_09_2() -> None:
    """A barrier and an odd row, or any other way without conflicts; a half of it is told apart from the other half."""
    text = taught("09.2", "FAR", "TILED", "FLIP")["FLIP"]
    judge_all("09.2", text, lambda x: x.t().clone(), "C R", [(1, 1), (33, 7), (40, 65)], (64, 64))


RIGHT_09_3 = {"lane": 4, "31 - lane": 4, "2 * lane": 8, "lane + 1": 5, "lane / 8": 1, "0": 1, "64 * lane": 32}


def test_09_3() -> None:
    """Seven numbers, each told by its index when it is wrong."""
    kinds: list[Callable[[int], Any]] = [int, float, np.int64, np.int32, np.uint8, np.float64, torch.tensor, complex]
    right = [{name: kind(n) for name, n in RIGHT_09_3.items()} for kind in kinds]
    right += [dict(reversed(RIGHT_09_3.items())), RIGHT_09_3 | {"3 * lane": ""}]
    wrong: dict[str, list[Any]] = {
        NOTHING_YET: [..., None, RIGHT_09_3 | {"0": ...}, list(RIGHT_09_3.values())],
        "x[lane] takes another number": [{}, RIGHT_09_3 | {"lane": 1}, RIGHT_09_3 | {"lane": "4"}],
        "x[2 * lane] takes another number": [RIGHT_09_3 | {"2 * lane": 4}],
        "x[lane + 1] takes another number": [RIGHT_09_3 | {"lane + 1": n} for n in (4, 8)],
        "x[0] takes another number": [RIGHT_09_3 | {"0": 32}],
        "x[64 * lane] takes another number": [RIGHT_09_3 | {"64 * lane": 8}],
    }
    hold(lambda answer: told("09.3", sectors=answer), right, wrong)


def test_10() -> None:
    """Copies and accessors are looked for in the code and not in its comments; a header of PyTorch is one in any form."""

    def of(cuda: str, cpp: str = "") -> Kernel:
        return Kernel("scale/mine", cuda=cuda, cpp=cpp)

    plain = "__global__ void k() {}  // no contiguous()"
    copies = [
        "x.contiguous();",
        "x.clone();",
        "const auto row = x\n.contiguous();",
        "x.is_contiguous() ? x : x.contiguous();",
    ]
    names = {"sizes": [], "re": re, **taught("10.1", "code", "copies", re=re)}
    hold(
        lambda kernel: conditions("10.1", kernel, **names),
        [of(plain), of("/* contiguous */ x.stride(0);")],
        {"It is right, but a copy is made": map(of, copies)},
    )
    accessors = [
        "x.packed_accessor64<T, 2>();",
        "x.packed_accessor32<T, 2, at::RestrictPtrTraits>();",
        "x.packed_accessor<T, 2>();",
    ]
    hold(
        lambda kernel: conditions("10.2", kernel, **names),
        [of(f"{text} {plain}") for text in accessors],
        {
            "It is right, but not with accessors": [
                of(plain),
                of("// x.packed_accessor64<T, 2>()"),
                of("x.stride(0);"),
            ],
            "It is right, but a copy is made": [of(text + copies[0]) for text in accessors],
        },
    )
    forward = "at::Tensor forward(const at::Tensor& x) {}"
    headers = ["<ATen/ATen.h>", '"torch/types.h"', "<c10/util/Half.h>", "<torch/extension.h>", "<ATen/core/Tensor.h>"]
    hold(
        lambda kernel: conditions("10.3", kernel, **names),
        [
            of(f"#include <{name}>\n", forward)
            for name in ("algorithm", "cuda_runtime.h", "cuda_fp16.h", "cmath", "cstdint")
        ],
        {
            "It is right, but the cuda text includes": [of(f"# include {name}\n", forward) for name in headers],
            "It is right, but the cuda text has no launch": [of(forward), of(plain, "int x;")],
        },
    )


def _judge_scale(exercise: str, lesson: str) -> None:
    """Run each answer on dense and on strided tensors, and let the self-check look at the code of those that are right."""
    names = {"sizes": [], "re": re, **taught("10.1", "code", "copies", re=re)}
    all_answers = answers(exercise)
    texts = [changed(lesson, answer) for answer in all_answers]
    registry.register(
        Op(
            "answers",
            "(Tensor x, Tensor w, Tensor which) -> Tensor y",
            lambda x, w, which: x * w[:, None],
            {"x": "B N", "w": "B", "which": "W", "y": "B N"},
            dtypes=("float32",),
        )
    )
    text = "".join(dict.fromkeys(head for one in texts for head in _INCLUDE.findall(one)))
    text += "".join(f"namespace answer_{number} {{\n{_INCLUDE.sub('', one)}}}\n" for number, one in enumerate(texts))
    calls = "".join(
        f"  if (which.size(0) == {number}) return answer_{number}::forward(x, w);\n" for number in range(len(texts))
    )
    head = "at::Tensor forward(const at::Tensor& x, const at::Tensor& w, const at::Tensor& which) {\n"
    flags = [*DEVICES["cuda-cpu"].check_flags, "-O0"]
    try:
        kernel = Kernel("answers/all", cuda=f"{text}{head}{calls}  return x;\n}}\n")
        run = li.load(kernel, device="cuda-cpu", cflags=flags, trust=True)
        for number, (answer, one) in enumerate(zip(all_answers, texts, strict=True)):
            want, found = answer.said.get("says", ""), ""
            for x, w in ((torch.randn(3, 5), torch.randn(3)), (torch.randn(5, 3).t(), torch.randn(6)[::2])):
                try:
                    (y,) = run.forward(x, w, torch.empty(number))
                    found += "" if torch.allclose(y, x * w[:, None]) else "differs "
                except RuntimeError as error:
                    found += f"{error} "
            found = found or conditions(exercise, Kernel("answers/one", cuda=one), **names)
            assert re.search(want, found) and bool(found) == bool(want), (answer, found)
    finally:
        forget("answers")


@pytest.mark.full
def test_10_1() -> None:
    """Strides of any type and in any order; each that is left out, swapped or of another tensor is found on strided tensors."""
    names = taught("10.1", "KERNEL", "DENSE", "LAUNCH", "BACKWARD", "TEXT")
    text = names["TEXT"].replace(names["DENSE"], "").replace("x_row", "x").replace("w_row", "w")
    _judge_scale("10.1", text.replace(names["BACKWARD"], ""))


@pytest.mark.full
def test_10_2() -> None:
    """Accessors of either width, taken apart or not; wrong indices are told with the axis."""
    names = taught("10.1", "KERNEL", "DENSE", "LAUNCH", "BACKWARD", "TEXT")
    _judge_scale("10.2", names["TEXT"].replace(names["DENSE"], "").replace(names["BACKWARD"], ""))


LAUNCHER, FREE = bodies(__file__).values()


@numbered("10.3")
@pytest.mark.full
def test_10_3(exercise: str, number: int) -> None:
    """A launch function of any name, order and size of blocks; what it leaves out is found where it matters."""
    names = taught("10.1", "scale", "KERNEL", "BACKWARD", "code", "copies", re=re, li=li)
    texts = {"cuda": f"{names['KERNEL']}{LAUNCHER}", "cpp": f"{FREE}{names['BACKWARD']}"}
    answer = answers(exercise)[number]
    for old, new in answer.edits:
        assert any(old in text for text in texts.values()), old
        texts = {kind: text.replace(old, new, 1) for kind, text in texts.items()}
    schema = "(Tensor x, Tensor w) -> Tensor y"
    registry.register(Op("scale", schema, names["scale"], {"x": "B N", "w": "B", "y": "B N"}))
    kernel = Kernel("scale/free", **texts, saves=("x", "w"))
    try:
        report = li.check(
            kernel, device="cuda-cpu", sizes=[(3, 5), (7, 130), (1, 1), (0, 3)], progress=False, trust=True
        )
        found = "" if report.ok else str(report)
    except LltmInlineError as error:
        found = str(error)
    finally:
        forget("scale")
    want, found = answer.said.get("says", ""), found or conditions("10.3", kernel, sizes=[], re=re)
    assert re.search(want, found) and bool(found) == bool(want), found
