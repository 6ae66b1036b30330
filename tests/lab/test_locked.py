"""The judge believes nothing of what a runner sends: kernels can write to the same link, and into the same memory."""

from __future__ import annotations

import mmap
from typing import Any

import pytest
import torch

from lltm_inline.lab import inside
from lltm_inline.lab.inside import ARENA, DONE, HALF, HEADER, MAGIC, MISSING, NUMBER, RAISED, RECORD, TENSOR
from lltm_inline.lab.locked import Gone, Locked
from lltm_inline.lab.runner import _damages

FLOAT64, BOOL = 0, 11


def _locked() -> Any:
    """Make the judge's side of a runner that was forked by nobody, and needs no end."""
    locked = object.__new__(Locked)
    locked.memory, locked._closed, locked._data = mmap.mmap(-1, ARENA), True, bytearray()
    return locked


def _message(
    *records: bytes, magic: bytes = MAGIC, number: int = 7, status: int = DONE, text: bytes = b"", **lies: int
) -> bytes:
    count, length = lies.get("count", len(records)), lies.get("length", len(text))
    return HEADER.pack(magic, number, status, count, 0, length) + b"".join(records) + text


def _record(
    kind: int = TENSOR, dtype: int = FLOAT64, size: tuple[int, ...] = (2,), offset: int = HALF, axes: int = -1
) -> bytes:
    return RECORD.pack(kind, dtype, len(size) if axes < 0 else axes, 1, 0, *size, *[0] * (8 - len(size)), offset)


def test_an_answer() -> None:
    """Tensors, numbers and what is missing come back as they were laid; until all of it is there, nothing does."""
    locked = _locked()
    for place, value in ((HALF, torch.tensor([1.5, -2.0])), (HALF + 64, torch.tensor([7.0]))):
        raw = value.double().view(torch.uint8)
        torch.frombuffer(locked.memory, dtype=torch.uint8, count=raw.numel(), offset=place).copy_(raw)
    whole = _message(
        _record(),
        _record(NUMBER, size=(), offset=HALF + 64),
        _record(MISSING),
        _record(size=(0, 5)),
        text=b"one\x1b\xff",
    )
    for end in (0, HEADER.size - 1, HEADER.size, HEADER.size + RECORD.size, len(whole) - 1):
        locked._data = bytearray(whole[:end])
        assert locked._parsed(7) is None
    locked._data = bytearray(whole)
    tensor, number, missing, empty = locked._parsed(7).values
    assert torch.equal(tensor, torch.tensor([1.5, -2.0], dtype=torch.float64))
    assert (number, missing, tuple(empty.shape)) == (7.0, None, (0, 5)) and not locked._data
    locked._data = bytearray(_message(text=b"one\x1b\xff", status=RAISED))
    assert locked._parsed(7)[:2] == (True, "one?\ufffd")


def test_a_result_is_no_longer_the_kernels() -> None:
    """What is written into the memory after the answer changes nothing; of a bool any byte that is not 0 is True."""
    locked = _locked()
    locked.memory[HALF : HALF + 2] = b"\x02\x00"
    locked._data = bytearray(_message(_record(dtype=BOOL)))
    (tensor,) = locked._parsed(7).values
    locked.memory[HALF : HALF + 2] = b"\x00\x01"
    assert tensor.tolist() == [True, False]


FORGED = {
    "another word": _message(magic=b"LLTN"),
    "another request": _message(number=8),
    "a status that is none": _message(status=2),
    "more records than there may be": _message(count=inside.MOST_RECORDS + 1),
    "a text without end": _message(length=inside.LONGEST_TEXT + 1),
    "two answers": _message() * 2,
    "a record too many": _message(_record(), count=0),
    "a kind that is none": _message(_record(kind=3)),
    "a dtype that is none": _message(_record(dtype=12)),
    "more axes than there may be": _message(_record(size=(1,) * 8, axes=9)),
    "255 axes": _message(_record(size=(1,) * 8, axes=255)),
    "a negative extent": _message(_record(size=(-1, -2))),
    "the judge's half": _message(_record(offset=HALF - 64)),
    "between two elements": _message(_record(offset=HALF + 8)),
    "behind the end": _message(_record(size=(9,), offset=ARENA - 64)),
    "beyond all memory": _message(_record(offset=2**64 - 64)),
    "more than there is": _message(_record(size=(2**62, 4))),
    "nothing, of a size beyond all numbers": _message(_record(size=(0, 2**62, 2**62))),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_what_is_no_answer(forged: bytes) -> None:
    """It ends the runner, and is neither believed nor waited for."""
    locked = _locked()
    locked._data = bytearray(forged)
    with pytest.raises(Gone, match=r"^sends what is no answer$"):
        locked._parsed(7)


@pytest.mark.parametrize(
    "text",
    ["{", "[1]", "[[]]", "[" * 60000, '[["z",[2],"float64",true,Infinity,1,"",""]]', '[["z",[2],"float64",true,1,1,"0g",""]]',
     '[["z",[2],"nn",true,1,1,"",""]]', '[["z",[2],"float64",true,1,1,"00","00"]]'],
)  # fmt: skip
def test_damage_that_makes_no_sense(text: str) -> None:
    """It is damage, and says no more than that."""
    (damage,) = _damages(text)
    assert damage.text == "1 element past the end of a tensor () uint8" and damage.value == 0


def test_damage() -> None:
    """What the guard has seen comes back as it was."""
    (damage,) = _damages('[["z", [2], "float64", true, 3, 1, "0000000000000000", "000000000000f03f"]]')
    assert damage.text == "1 element past the end of z (2,) float64, 3 elements away" and damage.value == 1.0
    assert _damages("") == []
