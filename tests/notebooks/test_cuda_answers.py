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
from tests.notebooks.player import exercises
from tests.notebooks.test_answers import NOTEBOOKS, NOTHING_YET, at_leisure, conditions, hold, taught, told
from tests.texts import bodies
from tests.tiny import forget

pytestmark = pytest.mark.usefixtures("quick_compiler")

#: CI takes some answers of each exercise.
SOME = pytest.mark.parametrize("step", [pytest.param(6, id="some"), pytest.param(1, id="all")])

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
    look: Callable[[int, tuple[int, int]], Counts | str],
    texts: Sequence[str],
    said: Sequence[str],
    sizes: Sequence[tuple[int, int]],
    counted_at: tuple[int, int],
) -> None:
    """Let each answer be praised where nothing is to be said of it; else its check, or the self-check, says that."""
    for number, (text, want) in enumerate(zip(texts, said, strict=True)):
        wrong = [found for size in sizes if isinstance(found := look(number, size), str)]
        if wrong:
            assert want and re.search(want, "\n".join(wrong)), (text, wrong)
            continue
        counted = look(number, counted_at)
        instead = {"counts": lambda *_, counted=counted: counted}
        found = conditions(exercise, Kernel("answers/one", cuda=text), instead)
        assert found.startswith(want) and bool(found) == bool(want), (text, found)


GUARDED = "const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;\n  if (i < N) z[i] = 2 * x[i] + y[i];"
UP = "const int64_t blocks = (N + THREADS - 1) / THREADS;"
THREAD = "blockIdx.x * int64_t(blockDim.x) + threadIdx.x"
LOOP = f"for (int64_t i = {THREAD}; i < N; i += int64_t(gridDim.x) * blockDim.x) z[i] = 2 * x[i] + y[i];"
NO_GUARD = GUARDED.replace("if (i < N) ", "")

#: 08.1: the body of the kernel, the number of blocks, and what is wrong.
BOUNDS = [
    (GUARDED, UP, ""),
    (GUARDED, UP.replace("(N + THREADS - 1) / THREADS", "N / THREADS + 1"), ""),
    (GUARDED, UP.replace("(N + THREADS - 1) / THREADS", "N / THREADS + (N % THREADS != 0)"), ""),
    (GUARDED, "const unsigned blocks = std::ceil(N / double(THREADS));", ""),
    (GUARDED.replace("if (i < N) ", "if (i >= N) return;\n  "), UP, ""),
    (GUARDED.replace("i < N", "!(N <= i)"), UP, ""),
    (f"const int64_t i = {THREAD};\n  if (i < N) {{\n    z[i] = x[i] + x[i] + y[i];\n  }}", UP, ""),
    (LOOP, UP, ""),
    (LOOP, "const int64_t blocks = 1;", ""),
    (LOOP, "const int64_t blocks = 7;", ""),
    (NO_GUARD, UP, "out of bounds"),
    (NO_GUARD, "const int64_t blocks = N / THREADS;", "impossible launch|unwritten|differs"),
    (GUARDED, "const int64_t blocks = N / THREADS;", "impossible launch|unwritten|differs"),
    (GUARDED.replace("i < N", "i <= N"), UP, "out of bounds"),
    (GUARDED.replace("i < N", "i < N - 1"), UP, "unwritten|differs"),
    (GUARDED.replace("i < N", "threadIdx.x < N"), UP, "out of bounds"),
    (GUARDED.replace("blockIdx.x * int64_t(blockDim.x) + ", ""), UP, "race|unwritten|differs"),
    (GUARDED.replace("int64_t(blockDim.x)", "32"), UP, "race|unwritten|differs"),
    (
        LOOP.replace("i += int64_t(gridDim.x)", "i += 2 * int64_t(gridDim.x)"),
        "const int64_t blocks = 1;",
        "unwritten|differs",
    ),
    (LOOP.replace("i < N", "i <= N"), UP, "out of bounds"),
]


@pytest.mark.full
@SOME
def test_08_1(step: int) -> None:
    """Enough blocks and a guard, in whatever form; either alone is not enough."""
    text = _cell("08", "%%kernel axpy/threads")
    assert GUARDED in text and UP in text
    text = text.replace("#include <ATen/ops/empty_like.h>\n", "#include <ATen/ops/empty_like.h>\n#include <cmath>\n")
    texts = [text.replace(GUARDED, body).replace(UP, blocks) for body, blocks, _ in BOUNDS[::step]]
    sizes = [(1, 1), (1, 1000), (25, 31)]
    with library(texts, lambda x: 3 * x, "R C", "forward(x, x)") as look:
        for number, (*_, want) in enumerate(BOUNDS[::step]):
            found = "\n".join(str(one) for size in sizes if isinstance(one := look(number, size), str))
            assert bool(found) == bool(want) and re.search(want, found), (texts[number], found)


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


Y = "const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;"
X = "const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;"
STORE = "if (r < R && c < C) y[c * R + r] = x[r * C + c];"
BOTH = f"  {Y}\n  {X}\n  {STORE}\n"
FEWER = "It is right, but there are fewer threads than elements"


def _blocks(x: int, y: int) -> str:
    return f"const dim3 threads({x}, {y}), blocks((C + {x - 1}) / {x}, (R + {y - 1}) / {y});"


@pytest.mark.full
@SOME
def test_08_3(step: int) -> None:
    """Blocks of any two sides; a row walked by one thread is right, and not what is asked for."""
    book = _book("08")
    given: dict[str, Any] = {}
    exec(book.cells[exercises(book)[2]].source.rpartition("\n")[0], given)  # all but the last line, which edits
    row, launch = given["ROW"], given["LAUNCH"]
    ((text,),) = [
        re.findall('cuda=r"""(.*?)"""', cell.source, re.DOTALL) for cell in book.cells if "flip/rows" in cell.source
    ]
    crossed = BOTH.replace("blockIdx.y * int64_t(blockDim.y) + threadIdx.y", "#").replace(
        "blockIdx.x * int64_t(blockDim.x) + threadIdx.x", "blockIdx.y * int64_t(blockDim.y) + threadIdx.y"
    )
    crossed = crossed.replace("#", "blockIdx.x * int64_t(blockDim.x) + threadIdx.x")
    flat = f"  const int64_t i = {THREAD}, r = i / C, c = i % C;\n  {STORE}\n"
    answers = [
        *((BOTH, _blocks(*sides), "") for sides in ((32, 8), (16, 16), (8, 32), (32, 32), (5, 7), (64, 1))),
        (crossed, "const dim3 threads(8, 32), blocks((R + 7) / 8, (C + 31) / 32);", ""),
        (BOTH.replace("if (r < R && c < C) ", "if (r >= R || c >= C) return;\n  "), _blocks(32, 8), ""),
        (flat, "const dim3 threads(64), blocks((R * C + 63) / 64);", ""),
        (BOTH, "const dim3 threads(32, 8), blocks(C / 32 + 1, R / 8 + 1);", ""),
        (row, launch, FEWER),
        (row.replace("r < R", "R > r"), launch, FEWER),
        (row, "const dim3 threads(128), blocks((R + 127) / 128);", FEWER),
        (BOTH.replace("r < R && c < C", "r < R"), _blocks(32, 8), "race|out of bounds|unwritten|differs"),
        (BOTH.replace("r < R && c < C", "c < C"), _blocks(32, 8), "out of bounds"),
        (BOTH.replace("if (r < R && c < C) ", ""), _blocks(32, 8), "race|out of bounds"),
        (BOTH, launch, "unwritten|differs"),
        (crossed, _blocks(32, 8), "unwritten|differs"),
        (
            BOTH.replace("y[c * R + r] = x[r * C + c]", "y[r * C + c] = x[c * R + r]"),
            _blocks(32, 8),
            "unwritten|differs",
        ),
        (BOTH, "const dim3 threads(32, 8), blocks(C / 32, R / 8);", "impossible|unwritten|differs"),
    ]
    texts = [text.replace(row, body).replace(launch, blocks) for body, blocks, _ in answers[::step]]
    with library(texts, lambda x: x.t().clone(), "C R") as look:
        sizes = [(1, 1), (7, 33), (33, 7), (40, 65)]
        judge_all("08.3", look, texts, [said for *_, said in answers[::step]], sizes, (40, 65))


SUMMED = "part[t] += part[t + s];"
STEP = f"    if (t < s) {SUMMED}\n    __syncthreads();\n"
DOWN = "  for (int s = THREADS / 2; s > 0; s /= 2) {\n"
CONFLICTS = "It is right, but lanes still want different words of one bank"


@pytest.mark.full
@SOME
def test_09_1(step: int) -> None:
    """Any loop without conflicts; races, barriers in branches and wrong ends are found by the check, conflicts by the counts."""
    names = taught("09.1", "TREE", "SUM")
    tree, text = names["TREE"], names["SUM"]
    loop = f"{DOWN}{STEP}  }}\n"
    answers = [
        (loop, ""),
        (loop.replace("THREADS / 2", "128").replace("s /= 2", "s >>= 1"), ""),
        (
            loop.replace("int s = THREADS / 2; s > 0;", "unsigned s = THREADS >> 1; s;").replace("t < s", "t < int(s)"),
            "",
        ),
        (loop.replace(SUMMED, "part[t] = part[t + s] + part[t];"), ""),
        (loop.replace(SUMMED, "{\n      const T other = part[t + s];\n      part[t] += other;\n    }"), ""),
        (f"  int s = THREADS / 2;\n  while (s > 0) {{\n{STEP}    s /= 2;\n  }}\n", ""),
        (f"  int s = THREADS;\n  do {{\n    s /= 2;\n{STEP}  }} while (s > 1);\n", ""),
        (f"{DOWN}    __syncthreads();\n    if (t < s) {SUMMED}\n  }}\n  __syncthreads();\n", ""),
        ("".join(STEP.replace("s)", f"{s})").replace("+ s]", f"+ {s}]") for s in (128, 64, 32, 16, 8, 4, 2, 1)), ""),
        (tree.replace("const int at = 2 * s * t;", "const int at = t % (2 * s) ? THREADS : t;"), ""),
        (tree, CONFLICTS),
        (tree.replace("s *= 2", "s <<= 1"), CONFLICTS),
        (tree.replace("if (at < THREADS)", "if (at + s < THREADS)"), CONFLICTS),
        (loop.replace(f"{SUMMED}\n    __syncthreads();", SUMMED), "race|uninitialised"),
        (
            loop.replace(STEP, f"    if (t < s) {{\n      {SUMMED}\n      __syncthreads();\n    }}\n"),
            "divergent barrier",
        ),
        (loop.replace("s > 0", "s > 1"), "differs"),
        (loop.replace("int s = THREADS / 2", "int s = THREADS"), "out of bounds"),
        (loop.replace("t < s", "t <= s"), "race|differs|out of bounds"),
        (loop.replace("part[t] += part[t + s]", "part[t + s] += part[t]"), "differs"),
        (loop.replace("part[t + s]", "part[t + s - 1]"), "race|differs"),
        (loop.replace("THREADS / 2", "THREADS / 4"), "differs"),
        ("  if (t == 0) {\n    for (int i = 1; i < THREADS; ++i) part[0] += part[i + 1];\n  }\n", "out of bounds"),
    ]
    texts = [text.replace(tree, body) for body, _ in answers[::step]]
    with library(texts, lambda x: x.sum(1), "R") as look:
        judge_all("09.1", look, texts, [said for _, said in answers[::step]], [(1, 1), (2, 300)], (4, 1024))


AGAIN = "= x[r * C + c];\n"
APART = "It is right, but lanes of a warp read or write global memory far apart"
BANKS = "It is right, but lanes of a warp want different words of one bank"


@pytest.mark.full
@SOME
def test_09_2(step: int) -> None:
    """A barrier and an odd row, or any other way without conflicts; a half of it is told apart from the other half."""
    names = taught("09.2", "FAR", "TILED", "FLIP")
    far, tiled, text = names["FAR"], names["TILED"], names["FLIP"]
    wide, waits = ("[TILE][TILE]", "[TILE][TILE + 1]"), (AGAIN, f"{AGAIN}  __syncthreads();\n")
    crossed = ("[threadIdx.x][threadIdx.y]", "[threadIdx.x][threadIdx.y ^ threadIdx.x]")
    turned = ("tile[threadIdx.y][threadIdx.x] =", "tile[threadIdx.y][threadIdx.x ^ threadIdx.y] =")
    changes: list[tuple[list[tuple[str, str]], str]] = [
        ([wide, waits], ""),
        ([("[TILE][TILE]", "[32][33]"), waits], ""),
        ([("[TILE][TILE]", "[TILE][TILE + 3]"), waits], ""),
        ([("[TILE][TILE]", "[TILE][TILE - 1 + 2]"), waits], ""),
        ([("[TILE][TILE]", "[TILE + 1][TILE + 1]"), waits], ""),
        ([wide, ("  r = blockIdx.y", "  __syncthreads();\n  r = blockIdx.y")], ""),
        ([wide, ("  if (r < R && c < C) y[", "  __syncthreads();\n  if (r < R && c < C) y[")], ""),
        ([wide, waits, ("if (r < R && c < C) tile", "if (!(r >= R || c >= C)) tile")], ""),
        ([crossed, turned, waits], ""),
        ([wide, waits, ("  __syncthreads();\n", "  __syncthreads();\n  __syncthreads();\n")], ""),
        ([waits], BANKS),
        ([("[TILE][TILE]", "[TILE][TILE + 2]"), waits], BANKS),
        ([("[TILE][TILE]", "[TILE + 1][TILE]"), waits], BANKS),
        ([("[TILE][TILE]", "[TILE][TILE + 16]"), waits], BANKS),
        ([wide], "race|uninitialised"),
        ([], "race|uninitialised"),
        ([wide, (AGAIN, "= x[r * C + c], __syncthreads();\n")], "divergent barrier"),
        ([wide, waits, ("if (r < R && c < C) y[", "y[")], "race|out of bounds|uninitialised"),
        ([wide, waits, ("tile[threadIdx.x][threadIdx.y]", "tile[threadIdx.y][threadIdx.x]")], "differs|uninitialised"),
        ([("[TILE][TILE]", "[TILE][TILE - 1]"), waits], "race|differs|out of bounds|uninitialised"),
    ]
    answers = [(tiled, said, edits) for edits, said in changes]
    answers.append((far, APART, []))
    texts = []
    for body, _, edits in answers[::step]:
        for old, new in edits:
            assert old in body, old
            body = body.replace(old, new)
        texts.append(text.replace(far, body))
    with library(texts, lambda x: x.t().clone(), "C R") as look:
        judge_all("09.2", look, texts, [said for _, said, _ in answers[::step]], [(1, 1), (33, 7), (40, 65)], (64, 64))


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


ROW_MAJOR = "  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;\n"
HEAD = "template <class T>\n__global__ void scale(const T* x, const T* w, T* y, int64_t B, int64_t N, {}) {{\n{}}}\n"
THREE = "int64_t x0, int64_t x1, int64_t w0"
ELEMENT = "  if (i < B * N) y[i] = x[i / N * x0 + i % N * x1] * w[i / N * w0];\n"
STRIDES = "x.stride(0), x.stride(1), w.stride(0)"
COPIED = "It is right, but a copy is made"

#: 10.1: the parameters behind the sizes, the body, what is handed over, and what is wrong.
STRIDED = [
    (THREE, ROW_MAJOR + ELEMENT, STRIDES, ""),
    ("int x0, int x1, int w0", ROW_MAJOR + ELEMENT, "int(x.stride(0)), int(x.stride(1)), int(w.stride(0))", ""),
    ("ptrdiff_t w0, ptrdiff_t x1, ptrdiff_t x0", ROW_MAJOR + ELEMENT, "w.stride(0), x.stride(1), x.stride(0)", ""),
    (
        THREE,
        f"{ROW_MAJOR}  if (i >= B * N) return;\n  const int64_t b = i / N, n = i - b * N;\n  y[i] = x[b * x0 + n * x1] * w[b * w0];\n",
        STRIDES,
        "",
    ),
    (
        THREE,
        f"{ROW_MAJOR}  const T* const row = x + i / N * x0;\n  if (i < B * N) y[i] = row[i % N * x1] * w[i / N * w0];\n",
        STRIDES,
        "",
    ),
    (THREE, f"  for (int64_t i = {THREAD}; i < B * N; i += int64_t(gridDim.x) * blockDim.x)\n{ELEMENT}", STRIDES, ""),
    (f"{THREE}, int64_t y0", ROW_MAJOR + ELEMENT.replace("y[i]", "y[i / N * y0 + i % N]"), f"{STRIDES}, y.stride(0)", ""),
    (THREE, ROW_MAJOR + ELEMENT.replace("w[i / N * w0]", "*(w + i / N * w0)"), STRIDES, ""),
    (THREE, ROW_MAJOR + ELEMENT.replace("y[i] = ", "y[i] = w0 == 0 ? x[0] * w[0] : "), STRIDES, ""),
    (f"{THREE}, unsigned", ROW_MAJOR + ELEMENT, f"{STRIDES}, 0u", ""),
    (THREE, ROW_MAJOR + "  if (i < B * N) y[i] = x[i] * w[i / N];\n", STRIDES, "differs|out of bounds"),
    (THREE, ROW_MAJOR + ELEMENT, "x.stride(1), x.stride(0), w.stride(0)", "differs|out of bounds"),
    (THREE, ROW_MAJOR + ELEMENT.replace(" * w0", ""), STRIDES, "differs"),
    (THREE, ROW_MAJOR + ELEMENT.replace(" * x1", ""), STRIDES, "differs|out of bounds"),
    (THREE, ROW_MAJOR + ELEMENT.replace("i / N", "i / B"), STRIDES, "differs|out of bounds"),
    (THREE, ROW_MAJOR + ELEMENT.replace("y[i]", "y[i / N * x0 + i % N * x1]"), STRIDES, "differs|out of bounds|unwritten"),
    (THREE, ROW_MAJOR + ELEMENT, STRIDES.replace("w.stride(0)", "4 * w.stride(0)"), "out of bounds"),
    (THREE, ROW_MAJOR + ELEMENT.replace("if (i < B * N) ", ""), STRIDES, "out of bounds"),
    (THREE, ROW_MAJOR + ELEMENT.replace("i < B * N", "i < N"), STRIDES, "unwritten|differs"),
    (THREE, ROW_MAJOR + ELEMENT, f"{STRIDES}); const at::Tensor dense = x.clone(", COPIED),
]  # fmt: skip

ACCESSOR = "template <class T, int D>\nusing Accessor = at::PackedTensorAccessor64<T, D, at::RestrictPtrTraits>;\n"
TAKES = "template <class T>\n__global__ void scale(Accessor<T, 2> x, Accessor<T, 1> w, Accessor<T, 2> y) {\n"
INDEX = "  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x, N = x.size(1);\n"
SET = "  if (i < x.size(0) * N) y[i / N][i % N] = x[i / N][i % N] * w[i / N];\n"
ACCESSED = f"{ACCESSOR}{TAKES}{INDEX}{SET}}}\n"
GIVES = ", ".join(
    f"{one}.packed_accessor64<scalar_t, {n}, at::RestrictPtrTraits>()" for one, n in (("x", 2), ("w", 1), ("y", 2))
)

#: 10.2: changes of the kernel, changes of what is handed over, and what is wrong.
ACCESSORS: list[tuple[list[tuple[str, str]], list[tuple[str, str]], str]] = [
    ([], [], ""),
    ([("Accessor64", "Accessor32")], [("accessor64", "accessor32")], ""),
    ([(", at::RestrictPtrTraits", "")], [(", at::RestrictPtrTraits", "")], ""),
    ([("  if", "  if (i >= x.size(0) * N) return;\n  auto row = y[i / N];\n  if"), ("y[i / N][i % N] =", "row[i % N] =")], [], ""),
    ([("if (i < x.size(0) * N) ", "if (i >= y.size(0) * y.size(1)) return;\n  ")], [], ""),
    ([("* w[i / N]", "* w.data()[i / N * w.stride(0)]")], [], ""),
    ([("N = x.size(1)", "N = y.size(1)")], [], ""),
    ([("i / N", "(i - i % N) / N")], [], ""),
    ([("x.size(0) * N", "w.size(0) * N")], [], ""),
    ([("y[i / N][i % N] = x[i / N][i % N] * w[i / N]", "(y[i / N][i % N] = x[i / N][i % N]) *= w[i / N]")], [], ""),
    ([("x[i / N][i % N]", "x[i % N][i / N]")], [], "out of bounds|differs"),
    ([("w[i / N]", "w[i % N]")], [], "out of bounds|differs"),
    ([("if (i < x.size(0) * N) ", "")], [], "out of bounds"),
    ([("i < x.size(0) * N", "i <= x.size(0) * N")], [], "out of bounds"),
    ([("x.size(0) * N", "x.size(0) * x.size(0)")], [], "unwritten|out of bounds|differs"),
    ([("N = x.size(1)", "N = x.size(0)")], [], "out of bounds|unwritten|differs"),
    ([], [("x.packed", "y.packed")], "uninitialised|differs"),
    ([("* w[i / N]", "+ w[i / N]")], [], "differs"),
    ([("y[i / N][i % N]", "y[i / N][N - 1 - i % N]")], [], "differs"),
    ([], [("x.packed", "x.contiguous().packed")], COPIED),
]  # fmt: skip


def _judge_scale(exercise: str, texts: Sequence[str], said: Sequence[str]) -> None:
    """Run each answer on dense and on strided tensors, and let the self-check look at the code of those that are right."""
    names = {"sizes": [], "re": re, **taught("10.1", "code", "copies", re=re)}
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
        for number, (one, want) in enumerate(zip(texts, said, strict=True)):
            found = ""
            for x, w in ((torch.randn(3, 5), torch.randn(3)), (torch.randn(5, 3).t(), torch.randn(6)[::2])):
                try:
                    (y,) = run.forward(x, w, torch.empty(number))
                    found += "" if torch.allclose(y, x * w[:, None]) else "differs "
                except RuntimeError as error:
                    found += f"{error} "
            found = found or conditions(exercise, Kernel("answers/one", cuda=one), **names)
            assert re.search(want, found) and bool(found) == bool(want), (one, found)
    finally:
        forget("answers")


@pytest.mark.full
@SOME
def test_10_1(step: int) -> None:
    """Strides of any type and in any order; each that is left out, swapped or of another tensor is found on strided tensors."""
    names = taught("10.1", "KERNEL", "DENSE", "LAUNCH", "BACKWARD", "TEXT")
    text = names["TEXT"].replace(names["DENSE"], "").replace("x_row", "x").replace("w_row", "w")
    text, launch = text.replace(names["BACKWARD"], ""), names["LAUNCH"].replace("_row", "")
    texts = [
        text.replace(names["KERNEL"], HEAD.format(more, body)).replace(
            launch, launch.replace("B, N)", f"B, N, {given})")
        )
        for more, body, given, _ in STRIDED[::step]
    ]
    _judge_scale("10.1", texts, [want for *_, want in STRIDED[::step]])


@pytest.mark.full
@SOME
def test_10_2(step: int) -> None:
    """Accessors of either width, taken apart or not; wrong indices are told with the axis."""
    names = taught("10.1", "KERNEL", "DENSE", "LAUNCH", "BACKWARD", "TEXT")
    text = names["TEXT"].replace(names["DENSE"], "").replace(names["BACKWARD"], "")
    texts = []
    for kernel_changes, launch_changes, _ in ACCESSORS[::step]:
        kernel, given = ACCESSED, GIVES
        for old, new in kernel_changes:
            assert old in kernel, old
            kernel = kernel.replace(old, new)
        for old, new in launch_changes:
            assert old in given, old
            given = given.replace(old, new)
        launch = f"    scale<scalar_t><<<(B * N + 255) / 256, 256>>>({given});\n"
        texts.append(text.replace(names["KERNEL"], kernel).replace(names["LAUNCH"], launch))
    _judge_scale("10.2", texts, [want for *_, want in ACCESSORS[::step]])


TEXTS = bodies(__file__)
LAUNCHER = TEXTS["launcher"]
FREE = TEXTS["free"]

#: 10.3: changes of the cuda text, changes of the cpp text, and what is wrong.
LAUNCHERS: list[tuple[str, list[tuple[str, str]], list[tuple[str, str]]]] = [
    ("", [], []),
    ("", [("if (B * N > 0) scale", "if (B * N == 0) return;\n  scale")], []),
    ("", [("(B * N + 255) / 256, 256", "(B * N + 63) / 64, dim3(64)")], []),
    ("", [("scale<<<", "scale<T><<<")], []),
    ("", [("scale_rows", "launch")], [("scale_rows", "launch")]),
    (
        "",
        [
            ("scale<<<", "{\n    const dim3 blocks((B * N + 31) / 32), threads(32);\n    scale<<<"),
            ("(B * N + 255) / 256, 256", "blocks, threads"),
            ("B, N);\n}", "B, N);\n  }\n}"),
        ],
        [],
    ),
    (
        "",
        [
            (
                "const T* x, const T* w, T* y, int64_t B, int64_t N, cuda",
                "T* y, const T* x, const T* w, int64_t B, int64_t N, cuda",
            )
        ],
        [("x.contiguous(), w.contiguous(), y", "y, x.contiguous(), w.contiguous()")],
    ),
    (
        "",
        [],
        [
            ("x.contiguous(), w.contiguous()", "x_row, w_row"),
            ("  scale_rows", "  const at::Tensor x_row = x.contiguous(), w_row = w.contiguous();\n  scale_rows"),
        ],
    ),
    (
        "",
        [
            ("int64_t N, cuda", "int64_t N, int64_t threads, cuda"),
            ("(B * N + 255) / 256, 256", "(B * N + threads - 1) / threads, threads"),
        ],
        [("x.size(1)", "x.size(1), 96")],
    ),
    (
        "",
        [("\ntemplate <class T>\nvoid", "\n// One block for each 256 elements.\ntemplate <class T>\nvoid")],
        [("at::empty(x.sizes(), x.options())", "at::empty({x.size(0), x.size(1)}, x.options())")],
    ),
    ("impossible launch", [("if (B * N > 0) ", "")], []),
    ("impossible launch|unwritten", [("(B * N + 255) / 256", "B * N / 256")], []),
    ("strides|differs|WRONG", [], [("x.contiguous()", "x")]),
    ("differs|WRONG|out of bounds", [], [("x.contiguous(), w.contiguous()", "w.contiguous(), x.contiguous()")]),
    ("unwritten", [], [("  scale_rows(x.contiguous(), w.contiguous(), y, x.size(0), x.size(1));\n", "")]),
    ("unwritten|WRONG", [], [("x.size(0), x.size(1)", "x.size(0), 1")]),
    ("stream|launch", [(", cudaStream_t stream", ""), (", 0, stream", "")], []),
    ("out of bounds", [("if (i < B * N) ", "")], []),
    ("takes 5 arguments, this call gives 4", [("(x, w, y, B, N)", "(x, w, B, N)")], []),
    ("It is right, but the cuda text includes", [("\ntemplate", "#include <ATen/core/Tensor.h>\ntemplate")], []),
]


@pytest.mark.parametrize(("want", "cuda", "cpp"), at_leisure(*LAUNCHERS))
def test_10_3(want: str, cuda: list[tuple[str, str]], cpp: list[tuple[str, str]]) -> None:
    """A launch function of any name, order and size of blocks; what it leaves out is found where it matters."""
    names = taught("10.1", "scale", "KERNEL", "BACKWARD", "code", "copies", re=re, li=li)
    texts = {"cuda": f"{names['KERNEL']}{LAUNCHER}", "cpp": f"{FREE}{names['BACKWARD']}"}
    for kind, changes in (("cuda", cuda), ("cpp", cpp)):
        for old, new in changes:
            assert old in texts[kind], old
            texts[kind] = texts[kind].replace(old, new, 1)
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
    found = found or conditions("10.3", kernel, sizes=[], re=re)
    assert re.search(want, found) and bool(found) == bool(want), found
