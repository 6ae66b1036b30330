"""How a tensor lies in memory: transposed, strided, padded, misaligned, expanded, with NaN all around."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ...base.device import DEVICES
from ..function import differentiable

LAYOUTS = ("transposed", "strided", "padded", "misaligned")
CHANNELS_LAST = "channels last"
#: All rows, or all columns, are one: the stride of that axis is 0, as `y.sum(0)` and `expand` make it. By name, which axis that is.
EXPANDED = {"expanded along its first axis": 0, "expanded along its last axis": -1}


def alike(value: Tensor, layout: str) -> Tensor:
    """Make all rows or columns of a tensor one, where the layout wants it: of numbers that add up exactly, none of them 0 or 1."""
    if layout not in EXPANDED or not value.dim() or not value.numel():
        return value
    one = value.narrow(EXPANDED[layout], 0, 1)
    if one.is_floating_point() and not bool(((one == 0) | (one == 1)).all()):
        one = torch.where(one.isfinite() & (one != 0), ((8 * one).floor() + 0.5) / 8, one)
    return one.expand(value.shape).clone()


@dataclass(frozen=True, eq=False)
class Placed:
    """A tensor laid out in memory, with the whole storage around it and a copy of that to compare with later."""

    tensor: Tensor
    storage: Tensor
    before: Tensor

    def changed(self) -> Tensor | None:
        """Return a mask of the storage's changed bytes, or None when every bit is as it was."""
        now = self.storage.view(torch.uint8)
        return None if torch.equal(now, self.before) else now != self.before


def place(value: Tensor, layout: str, device: str) -> Placed:
    """Lay a tensor out as `layout` says; NaN fills the gaps and the surroundings, so that a stray read shows."""
    shape = value.shape
    filler = math.nan if differentiable(value) else 0
    value = value.to(DEVICES[device].tensors)
    if layout == "expanded" and value.numel() and bool((value == value.flatten()[0]).all()):
        # Room for all elements, of which only the first is one: a kernel that reads on finds NaN and not foreign memory.
        storage = value.new_full((value.numel() + 64,), filler)
        storage[0] = value.flatten()[0]
        tensor = storage[0].expand(shape)
    elif layout in EXPANDED and value.dim() and value.numel():
        # With room for all, as above.
        one = value.narrow(EXPANDED[layout], 0, 1)
        storage = value.new_full((value.numel() + 64,), filler)
        storage[: one.numel()] = one.flatten()
        tensor = storage[: one.numel()].view(one.shape).expand(shape)
        if not torch.equal(tensor.nan_to_num(), value.nan_to_num()):  # an op whose inputs are made of each other
            return place(value, "contiguous", device)
    elif layout == CHANNELS_LAST and value.dim() >= 4:
        storage = value.movedim(1, -1).contiguous().flatten().clone()
        tensor = storage.view(shape[0], *shape[2:], shape[1]).movedim(-1, 1)
    elif layout == "transposed" and value.dim() >= 2:
        storage = value.transpose(-1, -2).contiguous().flatten().clone()
        tensor = storage.view(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2)
    elif layout in ("transposed", "strided", "padded") and value.dim():
        last = shape[-1] + 3 if layout == "padded" else 2 * shape[-1]
        storage = value.new_full((math.prod(shape[:-1]) * last,), filler)
        rows = storage.view(*shape[:-1], last)
        tensor = rows[..., : shape[-1]] if layout == "padded" else rows[..., ::2]
        tensor.copy_(value)
    else:
        # 64 elements of NaN after it, and as many before it, or one more where it is to be misaligned.
        start = 65 if layout == "misaligned" else 64
        storage = value.new_full((start + value.numel() + 64,), filler)
        tensor = storage[start : start + value.numel()].view(shape)
        tensor.copy_(value)
    return Placed(tensor, storage, storage.view(torch.uint8).clone())
