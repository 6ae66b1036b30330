"""What is thrown at public names, and how an answer is judged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from lltm_inline.compiling import cache
from lltm_inline.errors import LltmInlineError

#: The same examples on every run; the conftest has lifted the limit of time on a single one.
PROFILE = settings(
    derandomize=True,
    database=None,
    max_examples=250,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
_LONGEST_MESSAGE = 3000


class Unprintable:
    """A value whose repr fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


ODD_TEXTS = (
    "", " ", "x", "a b", 'a"b', "a'b", "a\nb", "\0", "\udc80", "\u2028", "\u0430xpy/cpp", "..", "/", "../../x", "~", "$", "${",
    "$$", "{", "}", ")", "-O2", "-", "--", "@", "@0", "tiny/python", "tiny/python@0", "tiny/python@", "tiny/python@-1",
    "tiny/python@\u0663", "tiny/none", "lltm/fused@1", "lltm/", "/lltm", "#line 3", "#include </etc/passwd>", "x" * 20_000,
    "cuda", "cuda-cpu", "float64", "forward", "9" * 5000,
)  # fmt: skip

NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-40, 40),
    st.sampled_from([2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**5000]),
    st.floats(),
)
TEXTS = st.one_of(st.sampled_from(ODD_TEXTS), st.text(st.characters(exclude_categories=()), max_size=12))
_OBJECTS = st.sampled_from(
    [
        None, object(), Unprintable(), int, str, ValueError, ValueError("x"), slice(1), range(3), {1}, iter("ab"), torch.float32,
        torch.int32, torch.ones(2), torch.ones(()), Path("x"), bytearray(b"x"), lambda *_, **__: None,
    ]
)  # fmt: skip
PLAIN = st.one_of(NUMBERS, TEXTS, st.binary(max_size=3), _OBJECTS)
ANYTHING = st.one_of(
    PLAIN,
    st.lists(PLAIN, max_size=4),
    st.lists(PLAIN, max_size=4).map(tuple),
    st.dictionaries(st.one_of(TEXTS, st.integers(0, 3), st.just("N")), PLAIN, max_size=3),
    st.lists(st.lists(PLAIN, max_size=3).map(tuple), max_size=3),
    st.lists(st.dictionaries(st.sampled_from(["N", "B", ""]), PLAIN, max_size=2), max_size=2),
)


def answer(call: Callable[[], Any]) -> Any:
    """Return what a call gives, or the error of ours that it raises; any other exception is a defect."""
    try:
        return call()
    except LltmInlineError as error:
        message = str(error)
        assert message.strip(), f"a {type(error).__name__} without a message"
        assert len(message) < _LONGEST_MESSAGE, message[:200]
        return error


def in_cache() -> list[str]:
    """List what the cache holds: entries, what is in the making, and locks."""
    found = []
    for room in ("kernels", "headers", "tmp", "locks"):
        found += [f"{room}/{name}" for name in sorted(os.listdir(cache.cache_dir() / room))]
    return found
