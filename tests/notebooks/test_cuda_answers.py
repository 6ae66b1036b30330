"""The self-checks of lessons 08 to 10: many answers of the exercises that need no compiler."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from lltm_inline.model.registry import Kernel
from tests.notebooks.test_answers import NOTHING_YET, conditions, hold, taught, told

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
    copies = ["x.contiguous();", "const auto row = x\n.contiguous();", "x.is_contiguous() ? x : x.contiguous();"]
    names = {"sizes": [], "re": re, **taught("10.1", "code", re=re)}
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
