"""The judge believes nothing of what a runner sends: kernels can write to the same link, and say of any place that results lie there."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch

from lltm_inline.lab import inside
from lltm_inline.lab.inside import ARENA, DONE, HEADER, MAGIC, MISSING, NUMBER, RAISED, RECORD, TENSOR
from lltm_inline.lab.locked import Gone, Locked
from lltm_inline.lab.runner import _damages

FLOAT64, BOOL = 0, 11


#: What results would lie in, were this process the runner.
_PLACE = torch.tensor([1.5, -2.0, 7.0, 0.0], dtype=torch.float64)


def _locked() -> Any:
    """Make the judge's side of a runner that was forked by nobody, and needs no end: it reads what this process has."""
    locked = object.__new__(Locked)
    locked.output_file, locked._data = -1, bytearray()
    locked._sight, locked._held = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC), 0
    return locked


def _message(
    *records: bytes, magic: bytes = MAGIC, number: int = 7, status: int = DONE, text: bytes = b"", **lies: int
) -> bytes:
    count, length = lies.get("count", len(records)), lies.get("length", len(text))
    return HEADER.pack(magic, number, status, count, 0, length) + b"".join(records) + text


def _record(
    kind: int = TENSOR,
    dtype: int = FLOAT64,
    size: tuple[int, ...] = (2,),
    axes: int = -1,
    stride: tuple[int, ...] | None = None,
    place: int = _PLACE.data_ptr(),
) -> bytes:
    stride = (1,) * len(size) if stride is None else stride
    rest = [0] * (8 - len(size))
    return RECORD.pack(kind, dtype, len(size) if axes < 0 else axes, 1, 0, *size, *rest, *stride, *rest, place)


def test_an_answer() -> None:
    """Tensors, numbers and what is missing are read where they lie; until all of the answer is there, there is none."""
    locked = _locked()
    whole = _message(
        _record(),
        _record(NUMBER, size=(), place=_PLACE.data_ptr() + 16),
        _record(MISSING),
        _record(size=(0, 5), place=0),
        _record(size=(2, 2), stride=(0, 2)),
        text=b"one\x1b\xff",
    )
    for end in (0, HEADER.size - 1, HEADER.size, HEADER.size + RECORD.size, len(whole) - 1):
        locked._data = bytearray(whole[:end])
        assert locked._parsed(7) is None
    locked._data = bytearray(whole)
    tensor, number, missing, empty, strided = locked.read(locked._parsed(7)).values
    assert torch.equal(tensor, _PLACE[:2])
    assert (number, missing, tuple(empty.shape)) == (7.0, None, (0, 5)) and not locked._data
    assert strided.tolist() == [[1.5, 7.0], [1.5, 7.0]]
    locked._data = bytearray(_message(text=b"one\x1b\xff", status=RAISED))
    assert locked._parsed(7)[:2] == (True, "one?\ufffd")


def test_a_result_is_no_longer_the_kernels() -> None:
    """What is written into the memory once it was read changes nothing; of a bool any byte that is not 0 is True."""
    locked, place = _locked(), bytearray(b"\x02\x00")
    lies = torch.frombuffer(place, dtype=torch.uint8).data_ptr()
    locked._data = bytearray(_message(_record(dtype=BOOL, place=lies)))
    (tensor,) = locked.read(locked._parsed(7)).values
    place[:] = b"\x00\x01"
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
    "nowhere": _message(_record(place=0)),
    "in the kernel of the system": _message(_record(place=2**63)),
    "beyond all memory": _message(_record(place=2**64 - 64)),
    "a negative stride": _message(_record(stride=(-1,))),
    "strides beyond all memory": _message(_record(stride=(2**40,))),
    "one element too many": _message(_record(size=(ARENA // 8 + 1,))),
    "more than there is": _message(_record(size=(2**62, 4))),
    "nothing, of a size beyond all numbers": _message(_record(size=(0, 2**62, 2**62))),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_what_is_no_answer(forged: bytes) -> None:
    """It ends the runner, and is neither believed nor waited for."""
    locked = _locked()
    locked._data = bytearray(forged)
    with pytest.raises(Gone, match=r"^sends what is no answer$"):
        locked.read(locked._parsed(7))


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
