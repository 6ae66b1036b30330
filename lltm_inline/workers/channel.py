"""Messages between the caller's process and the worker: a length, the number of open files that come along, and a pickle.

To the worker everything goes by cloudpickle: an op that was defined in a notebook cell exists nowhere else. From the worker
only values of ours, tensors, plain Python values and exceptions are accepted: a damaged worker may send anything.

All tensors of a message lie in one piece of memory that both processes map: one copy on the way, whatever the size.
"""

from __future__ import annotations

import ctypes
import functools
import io
import math
import mmap
import os
import pickle
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from ..errors import InputError
from ..model.registry import Op, registry
from .safe_pickle import SafeUnpickler

_HEADER = struct.Struct("<QI")
_ALIGNMENT = 64
_CHUNK = 1 << 20
_MOST_FILES = 1
#: Larger than any report, smaller than what a damaged length could ask for.
_LONGEST = 1 << 30


@dataclass(frozen=True)
class Parcel:
    """A tensor as it travels: where it lies in the memory that comes along, and where it is to live.

    Attributes:
        offset, count: of the stretch that its strides reach: bytes, and elements.
        dtype, shape, stride, device: its own.
        conjugate, negative: whether it is the conjugate, or the negative, of what lies there; torch leaves that undone.
    """

    offset: int
    count: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    device: str = "cpu"
    conjugate: bool = False
    negative: bool = False


def send(link: socket.socket, message: Any, tensors: Sequence[Any] = ()) -> None:
    """Send a message.

    Args:
        link: to the other process.
        message: to the worker anything that cloudpickle takes; from it what `receive` knows.
        tensors: come along as shared memory; what is no dense tensor travels inside the pickle.

    Raises:
        InputError: something in it cannot be pickled.
        OSError: the other side is gone.
    """
    parcels, file = _pack(tensors)
    try:
        payload = _quickly((message, parcels))
        header = _HEADER.pack(len(payload), int(file is not None))
        if file is None:
            link.sendall(header)
        else:
            socket.send_fds(link, [header], [file])
        link.sendall(payload)
    finally:
        if file is not None:
            os.close(file)


def _quickly(value: Any) -> bytes:
    """Pickle by reference where that is enough, which takes a tenth of the time."""
    try:
        return pickle.dumps(value, protocol=5)
    except Exception:  # whatever the user's objects raise: by value then
        return dump(value)


def dump(value: Any, op: Op | None = None) -> bytes:
    """Pickle anything for the worker.

    Args:
        value: may hold functions of a notebook.
        op: goes by a name of its own, see `adopt`; so does its reference, that it stays the same function.

    Raises:
        InputError: something in it cannot be pickled.
    """
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        """Lets an op and its reference travel as what the worker has of them."""

        def reducer_override(self, item: Any) -> Any:
            if op is not None and item is op:
                return adopt, (cloudpickle.dumps(op, protocol=5),)
            if op is not None and item is op.reference:
                return _reference_of, (op.name,)
            if isinstance(item, type) and issubclass(item, BackwardCFunction) and "_forward_cls" in vars(item):
                # Of an autograd.Function: torch makes one for each such class, on the other side too.
                return getattr, (vars(item)["_forward_cls"], "_backward_cls")
            is_part = isinstance(item, ModuleType) and item.__name__.startswith("torch._C.")
            if is_part and item.__name__ not in sys.modules:
                return _part_of_torch, (item.__name__,)  # torch.autograd.function.once_differentiable refers to one
            return super().reducer_override(item)

    stream = io.BytesIO()
    try:
        Pickler(stream, protocol=5).dump(value)
    except Exception as error:  # whatever the user's objects raise in __reduce__
        raise InputError(
            f"this cannot be sent to the worker: {type(error).__name__}: {error}. Let the op's functions hold no open files, "
            "locks or generators; or say trust=True, which runs the kernel in this process"
        ) from error
    return stream.getvalue()


def _part_of_torch(name: str) -> Any:
    return functools.reduce(getattr, name.split(".")[1:], torch)


_adopted: dict[bytes, Op] = {}
_MOST_OPS = 16


def adopt(pickled: bytes) -> Op:
    """Put an op into the registry; the same bytes give the same op, so that what is remembered about it stays good."""
    op = _adopted.get(pickled)
    if op is None:
        while len(_adopted) >= _MOST_OPS:
            del _adopted[next(iter(_adopted))]
        op = _adopted[pickled] = pickle.loads(pickled)
    registry.adopt(op)
    return op


def _reference_of(name: str) -> Any:
    return registry.ops[name].reference


def _pack(tensors: Sequence[Any]) -> tuple[list[Any], int | None]:
    """Copy dense tensors into shared memory, each with the stretch of its storage that its strides reach."""
    parcels: list[Any] = []
    stretches: list[tuple[int, Tensor]] = []
    end = 0
    for value in tensors:
        if not _travels(value):
            parcels.append(value)
            continue
        plain = torch._neg_view(value.detach()) if value.is_neg() else value.detach()
        stretch = _stretch(plain.conj() if value.is_conj() else plain).cpu()
        place = tuple(value.shape), tuple(value.stride()), str(value.device)
        parcels.append(Parcel(end, stretch.numel(), value.dtype, *place, value.is_conj(), value.is_neg()))
        stretches.append((end, stretch))
        end += -(-stretch.numel() * stretch.element_size() // _ALIGNMENT) * _ALIGNMENT
    if not end:
        return parcels, None
    file = os.memfd_create("lltm_inline tensors", os.MFD_CLOEXEC)
    os.ftruncate(file, end)
    for offset, stretch in stretches:
        _write(file, stretch, offset)
    return parcels, file


def _write(file: int, stretch: Tensor, offset: int) -> None:
    """Copy a stretch of memory into the file, by the system: no page of it needs to be mapped here."""
    memory = memoryview((ctypes.c_char * (stretch.numel() * stretch.element_size())).from_address(stretch.data_ptr()))
    done = 0
    while done < len(memory):  # one call writes 2 GiB at most
        done += os.pwrite(file, memory[done:], offset + done)


def _travels(value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        and value.layout == torch.strided
        and value.device.type in ("cpu", "cuda")
        and type(value) in (Tensor, torch.nn.Parameter)
        and not value.is_quantized
    )


def require_travellers(results: Sequence[Any]) -> None:
    """Refuse tensors that cannot come back from the worker.

    Raises:
        InputError: one is sparse, quantized, without memory, or of a class of its own.
    """
    for value in results:
        if isinstance(value, Tensor) and not _travels(value):
            what = f"{type(value).__name__} of layout {value.layout} on {value.device}, dtype {value.dtype}"
            raise InputError(
                f"a result is a {what}: only dense tensors come back from the worker. Return its to_dense(), or say "
                "load(..., trust=True), which runs the kernel in this process"
            )


def _stretch(value: Tensor) -> Tensor:
    """Return the stretch of storage between a tensor's first and last element."""
    count = 1 + sum((extent - 1) * step for extent, step in zip(value.shape, value.stride(), strict=True))
    return value.as_strided((count if value.numel() else 0,), (1,))


def _unpack(parcels: Sequence[Any], file: int | None) -> list[Any]:
    memory = None
    if file is not None:  # the tensors keep the mapping alive, each by a reference of its own
        memory = mmap.mmap(file, os.fstat(file).st_size, flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
    return [_rebuild(item, memory) if isinstance(item, Parcel) else item for item in parcels]


def _rebuild(parcel: Parcel, memory: mmap.mmap | None) -> Tensor:
    tensor = _laid_out(parcel, memory)
    tensor = tensor.conj() if parcel.conjugate else tensor
    tensor = torch._neg_view(tensor) if parcel.negative else tensor
    return tensor.data  # to autograd a tensor of its own, and no view: it may be changed in place


def _laid_out(parcel: Parcel, memory: mmap.mmap | None) -> Tensor:
    reach = 1 + sum((extent - 1) * step for extent, step in zip(parcel.shape, parcel.stride, strict=True))
    if not parcel.count or memory is None:
        return torch.empty_strided(parcel.shape, parcel.stride, dtype=parcel.dtype, device=parcel.device)
    if math.prod(parcel.shape) and reach > parcel.count:
        raise pickle.UnpicklingError(f"a tensor of {parcel.count} elements cannot have shape {parcel.shape}")
    flat = torch.frombuffer(memory, dtype=parcel.dtype, count=parcel.count, offset=parcel.offset).to(parcel.device)
    return flat.as_strided(parcel.shape, parcel.stride)


class Reader:
    """Puts messages together from what has arrived; never waits unless asked to.

    Args:
        link: to the other process.
        trusted: take any pickle, as the worker does from the process that made it.
    """

    def __init__(self, link: socket.socket, *, trusted: bool) -> None:
        self._link = link
        self._trusted = trusted
        self._data = bytearray()
        self._files: list[int] = []

    def feed(self) -> bool:
        """Read what is there; False at the end of the connection.

        Raises:
            BlockingIOError: nothing is there, and the link does not block.
        """
        data, files = b"", list[int]()
        with suppress(ConnectionError):  # the other side has ended, and left something unread
            data, files, _, _ = socket.recv_fds(self._link, _CHUNK, _MOST_FILES)
        self._files += files
        self._data += data
        return bool(data)

    @property
    def complete(self) -> bool:
        """Whether a whole message has arrived."""
        return len(self._data) >= _HEADER.size and len(self._data) >= _HEADER.size + _HEADER.unpack_from(self._data)[0]

    def message(self) -> tuple[Any, list[Any]] | None:
        """Return the next message and its tensors, or None while it is not complete.

        Raises:
            pickle.UnpicklingError: it holds what may not come from a worker, or is damaged.
        """
        if len(self._data) < _HEADER.size:
            return None
        length, files = _HEADER.unpack_from(self._data)
        if length > _LONGEST or files > _MOST_FILES:
            raise pickle.UnpicklingError(f"a message of {length} bytes with {files} files makes no sense")
        end = _HEADER.size + length
        if len(self._data) < end:
            return None
        payload = bytes(self._data[_HEADER.size : end])
        del self._data[:end]
        file = self._files.pop(0) if files else None
        try:
            message, parcels = pickle.loads(payload) if self._trusted else SafeUnpickler(io.BytesIO(payload)).load()
            return message, _unpack(parcels, file)
        finally:
            if file is not None:
                os.close(file)

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files.clear()
