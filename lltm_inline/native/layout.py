"""What Python and the C++ beside it share: structures, for ctypes, and the numbers in them.

`Region` is in `region.h`, `Damage` in `guard_blocks.h`, `Race` in `follow.cpp` with `follow_memory.h`, `Site` and `Traced` in
`follow_trace.h`, and all of the record in `recorder_record.h`.
"""

from __future__ import annotations

import ctypes

#: What a record holds at most, and the flags with which the recorder is compiled to know it.
FRAMES, OBJECTS, PATH_BYTES, TEXT_BYTES, KERNEL_BYTES = 64, 16, 1024, 4096, 256
LIMITS = (
    f"-DMOST_FRAMES={FRAMES}",
    f"-DMOST_OBJECTS={OBJECTS}",
    f"-DPATH_BYTES={PATH_BYTES}",
    f"-DTEXT_BYTES={TEXT_BYTES}",
    f"-DKERNEL_BYTES={KERNEL_BYTES}",
)
#: `enum Kind`: how a process ended, in the order of its numbers; nothing for 0.
KINDS = ("", "signal", "terminate", "exit", "where")


class RegionRecord(ctypes.Structure):
    """`struct Region`: the tensor around an address."""

    _fields_ = (
        ("name", ctypes.c_char * 96),
        ("dtype", ctypes.c_char * 16),
        ("base", ctypes.c_uint64),
        ("nbytes", ctypes.c_uint64),
        ("itemsize", ctypes.c_uint64),
        ("ndim", ctypes.c_int64),
        ("shape", ctypes.c_int64 * 8),
    )


class DamageRecord(ctypes.Structure):
    """`struct Damage`: memory beside a tensor that was written to."""

    _fields_ = (
        ("region", RegionRecord),
        ("behind", ctypes.c_int64),
        ("nearest", ctypes.c_int64),
        ("elements", ctypes.c_int64),
        ("was", ctypes.c_ubyte * 16),
        ("is", ctypes.c_ubyte * 16),
    )


class RaceRecord(ctypes.Structure):
    """`struct Race`: two accesses to one place, of which nothing tells which comes first, the later one ahead; or one that misses."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("offset", ctypes.c_uint64 * 2),
        ("kind", ctypes.c_uint32 * 2),
        ("thread", ctypes.c_uint32 * 2),
        ("said", ctypes.c_uint32 * 2),
        ("base", ctypes.c_uint64),
        ("nbytes", ctypes.c_uint64),
        ("where", ctypes.c_uint32),
        ("what", ctypes.c_uint32),
        ("index", ctypes.c_int64),
        ("callers", ctypes.c_uint64 * 8),
    )


class ReachedRecord(ctypes.Structure):
    """`struct Reached`: how far an index of 32 bits has reached in one tensor."""

    _fields_ = (
        ("base", ctypes.c_uint64),
        ("most", ctypes.c_int64),
        ("element", ctypes.c_uint32),
        ("is_signed", ctypes.c_uint8),
        ("by_source", ctypes.c_uint8),
        ("has_others", ctypes.c_uint8),
    )


class SiteRecord(ctypes.Structure):
    """`struct Site`: a place of the code that loads or stores."""

    _fields_ = (("callers", ctypes.c_uint64 * 8), ("seen", ctypes.c_uint64))


class TracedRecord(ctypes.Structure):
    """`struct Traced`: one access that it made."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("subscript", ctypes.c_uint64),
        ("index", ctypes.c_int64),
        ("site", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("thread", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("base", ctypes.c_uint64),
        ("value", ctypes.c_ubyte * 16),
        ("letter", ctypes.c_char),
    )


class _FrameRecord(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("object", ctypes.c_int64))


class _ObjectRecord(ctypes.Structure):
    _fields_ = (("identity", ctypes.c_uint64), ("path", ctypes.c_char * PATH_BYTES))


class Record(ctypes.Structure):
    """`struct Record`: what the recorder saw."""

    _fields_ = (
        ("turn", ctypes.c_uint64),
        ("owner", ctypes.c_int64),
        ("kind", ctypes.c_int32),
        ("signal", ctypes.c_int32),
        ("code", ctypes.c_int32),
        ("status", ctypes.c_int32),
        ("address", ctypes.c_uint64),
        ("cpu", ctypes.c_double),
        ("has_address", ctypes.c_int8),
        ("write", ctypes.c_int8),
        ("main_thread", ctypes.c_int8),
        ("overflow", ctypes.c_int8),
        ("jump", ctypes.c_int8),
        ("waiting", ctypes.c_int8),
        ("still", ctypes.c_int8),
        ("has_region", ctypes.c_int8),
        ("done", ctypes.c_int8),
        ("region", RegionRecord),
        ("cuda_kernel", ctypes.c_char * KERNEL_BYTES),
        ("cuda_at", ctypes.c_uint32 * 6),
        ("exception", ctypes.c_char * TEXT_BYTES),
        ("message", ctypes.c_char * TEXT_BYTES),
        ("frame_count", ctypes.c_int64),
        ("object_count", ctypes.c_int64),
        ("frames", _FrameRecord * FRAMES),
        ("objects", _ObjectRecord * OBJECTS),
    )


class Records(ctypes.Structure):
    """`struct Records`: the recorder's part of the black box."""

    _fields_ = (("pid", ctypes.c_int64), ("death", Record), ("where", Record))
