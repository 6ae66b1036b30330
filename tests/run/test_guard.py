"""Guarded memory: where it lies, what it holds, what faults, and what must not break while it is on."""

from __future__ import annotations

import ctypes
import resource
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lltm_inline.checking.guard import PATTERNS, Damage, Guard
from lltm_inline.errors import LltmInlineError
from tests.run.forked import ending

PAGE = resource.getpagesize()


@pytest.fixture(scope="module")
def guard() -> Guard:
    """Give the guard, built once."""
    return Guard(progress=False)


def write(address: int, text: bytes = b"\1" * 8) -> bool:
    """Write to an address, without a look at what is there."""
    ctypes.memmove(address, text, len(text))
    return True


def read(address: int, count: int = 8) -> bool:
    """Read from an address."""
    return len(ctypes.string_at(address, count)) == count


def placed(guard: Guard, end: bool, act: Callable[[int, int], bool]) -> Callable[[], bool]:
    """Make a call that acts on the first and the last address of a guarded (3, 5) float64."""

    def call() -> bool:
        with guard.at_end() if end else guard.at_start():
            tensor = guard.place("x", torch.zeros(3, 5, dtype=torch.float64))
            return act(tensor.data_ptr(), tensor.data_ptr() + 120)

    return call


def test_what_lies_beyond_faults(guard):
    """Past the end or before the start, by an element or by a MiB: reads and writes end the process; within, they do not."""
    mib = 1 << 20
    fatal = {
        "read past the end": placed(guard, True, lambda first, last: read(last)),
        "read one byte past the end": placed(guard, True, lambda first, last: read(last, 1)),
        "read a MiB past the end": placed(guard, True, lambda first, last: read(last + mib)),
        "write past the end": placed(guard, True, lambda first, last: write(last)),
        "write a MiB past the end": placed(guard, True, lambda first, last: write(last + mib)),
        "read before the start": placed(guard, False, lambda first, last: read(first - 8)),
        "read a MiB before the start": placed(guard, False, lambda first, last: read(first - mib)),
        "write before the start": placed(guard, False, lambda first, last: write(first - 8)),
    }
    harmless = [
        placed(guard, end, lambda first, last: write(first) and write(last - 8) and read(first, 120))
        for end in (True, False)
    ]
    assert [ending(call) for call in harmless] == ["true", "true"]
    assert {what: ending(call) for what, call in fatal.items()} == dict.fromkeys(fatal, "SIGSEGV")


def test_a_pointer_that_outlives_its_tensor_faults(guard):
    """Freed memory stays out of reach, though other tensors are made meanwhile."""

    def call() -> bool:
        with guard.at_end():
            address = torch.empty(100).data_ptr()
            others = [torch.empty(100) for _ in range(50)]
            return read(address) and bool(others)

    assert ending(call) == "SIGSEGV"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("count", [1, 15, 16, 1023, 1024, 5000])
def test_where_tensors_lie(guard, count, dtype):
    """Placed tensors touch the page's end or start to the byte; others keep the alignment that c10 promises."""
    source = torch.arange(count, dtype=dtype)
    with guard.at_end(dtype):
        inputs, made = guard.place("x", source), torch.empty(count, dtype=dtype)
        assert (inputs.data_ptr() + inputs.nbytes) % PAGE == 0
        assert torch.equal(inputs, source)
        assert made.data_ptr() % 64 == 0
        assert -(made.data_ptr() + made.nbytes) % PAGE < 64
    with guard.at_start(dtype):
        inputs, made = guard.place("x", source), torch.empty(count, dtype=dtype)
        assert inputs.data_ptr() % PAGE == made.data_ptr() % PAGE == 0
        assert torch.equal(inputs, source)


@pytest.mark.parametrize(("dtype", "words"), [(torch.float64, torch.int64), (torch.float32, torch.int32)])
def test_fresh_memory_holds_signalling_nan(guard, dtype, words):
    """It is NaN; copies keep every bit, and arithmetic makes it quiet and keeps the payload, which differs from the slack's."""
    bits = 8 * dtype.itemsize
    with guard.at_end(dtype):
        made = torch.empty(3, dtype=dtype)
        assert made.isnan().all()
        fresh = {value % (1 << bits) for value in made.clone().view(words).tolist()}
        computed = {value % (1 << bits) for value in (made * 0 + 1).view(words).tolist()}
        beside = int.from_bytes(ctypes.string_at(made.data_ptr() + made.nbytes, dtype.itemsize), "little")
    contents, slack = (pattern % (1 << bits) for pattern in PATTERNS[dtype])
    quiet = 1 << (51 if bits == 64 else 22)
    assert (fresh, computed, beside) == ({contents}, {contents | quiet}, slack)


def test_names(guard):
    """An address in or near a tensor leads to its name; before it has one, to what is known of its maker and its size."""
    with guard.at_end():
        x = guard.place("x", torch.zeros(3, 5, dtype=torch.float64))
        guard.expect("forward", {"new_h": 120, "new_cell": 120, "gates": 360})
        small, large, other = (torch.empty(n, dtype=torch.float64) for n in (15, 45, 7))
        assert guard.find(x.data_ptr()) == ("x", 0)
        assert guard.find(x.data_ptr() + 120 + (1 << 20)) == ("x", 120 + (1 << 20))
        assert guard.find(x.data_ptr() - (1 << 20)) == ("x", -(1 << 20))
        assert guard.find(small.data_ptr() - 8) == ("a tensor that forward makes, as large as new_h or new_cell", -8)
        assert guard.find(large.data_ptr()) == ("a tensor that forward makes, as large as gates", 0)
        assert guard.find(other.data_ptr()) == ("a tensor that forward makes", 0)
        known = [guard.region(one.data_ptr()) for one in (small, other, torch.empty(7, dtype=torch.float32))]
        assert [(one.dtype, one.shape[0]) for one in known] == [(b"float64", 15), (b"bytes", 56), (b"bytes", 28)], (
            "of what a text makes for itself nobody has told the dtype"
        )
        assert guard.name("new_h", small)
        assert guard.find(small.data_ptr()) == ("new_h", 0)
        address = small.data_ptr()
        del small
        assert guard.find(address) == ("new_h, after it was freed", 0)
        assert guard.find(id(guard)) is None
        assert not guard.name("elsewhere", torch.from_numpy(np.zeros(3)))
        assert guard.finder
    assert guard.find(address) is None


def test_what_is_written_beside_a_tensor_is_told_once(guard):
    """Side, distance, number of elements, old and new bytes; also for a tensor that is freed before anybody asks."""
    quarter = np.float64(0.25).tobytes()
    with guard.at_end():
        y = torch.empty(3, 5, dtype=torch.float64)
        guard.name("y", y)
        write(y.data_ptr() + 120, quarter)
        write(y.data_ptr() - 24, quarter + quarter)
        before, behind = sorted(guard.damages(), key=lambda damage: damage.behind)
        assert guard.damages() == ()
        z = torch.empty(13, dtype=torch.float64)
        guard.name("z", z)
        write(z.data_ptr() + 120, quarter)
        del z
        (freed,) = guard.damages()
    old = PATTERNS[torch.float64][1].to_bytes(8, "little")
    assert behind == Damage("y", (3, 5), "float64", True, 1, 1, old, quarter)
    made = Damage("a tensor that forward makes", (56,), "bytes", True, 3, 4, bytes(1), quarter[:1])
    assert made.text == "4 bytes past the end of a tensor that forward makes (56 bytes), the nearest 3 bytes away"
    assert made.value is None
    assert behind.text == "1 element past the end of y (3, 5) float64"
    assert behind.value == 0.25
    assert before.text == "2 elements before the start of y (3, 5) float64, the nearest 2 elements away"
    assert freed.text == "1 element past the end of z (13,) float64, 3 elements away"


def test_any_byte_of_the_slack_counts(guard):
    """The first byte past the end and the last before the start, and those at the ends of the pages."""
    for enter in (guard.at_end, guard.at_start):
        with enter():
            x = torch.empty(15, dtype=torch.float64)
            first, last = x.data_ptr() // PAGE * PAGE, -(-(x.data_ptr() + 120) // PAGE) * PAGE
            places = {x.data_ptr() + 120, last - 1}
            places |= {x.data_ptr() - 1, first} if enter == guard.at_end else set()
            for place in places:
                write(place, b"\1")
                assert len(guard.damages()) == 1


def test_strides_are_kept(guard):
    """A transposed, a strided and an expanded tensor keep values and strides, and nothing lies behind their last element."""
    base = torch.arange(60, dtype=torch.float64).reshape(6, 10)
    for tensor in (base.t(), base[:, ::2], base[1:4, 2:7], base[2, 3].expand(4, 5), base[0, 0], base[:0]):
        with guard.at_end():
            copy = guard.place("x", tensor)
            assert copy.stride() == tensor.stride()
            assert torch.equal(copy, tensor)
            assert not tensor.numel() or copy.untyped_storage().data_ptr() + copy.untyped_storage().nbytes() == (
                copy.data_ptr() + 8 * (1 + sum((n - 1) * s for n, s in zip(copy.shape, copy.stride(), strict=True)))
            )
        with guard.at_start():
            stretched = guard.place("x", tensor, stretch=1)
            assert torch.equal(stretched, tensor)
            assert not tensor.numel() or stretched.data_ptr() % 64 == 8


def test_tensors_outlive_the_guard(guard):
    """A tensor made under guard is read, resized, cloned and freed after it; one made before is freed under guard."""
    before = torch.ones(50)
    with guard.at_end():
        kept = torch.full((50,), 3.0)
        grown = torch.ones(5).resize_(5000)
        del before
        assert grown.isnan().sum() == 4995
    assert kept.sum() == 150
    kept.resize_(100_000)[50:] = 1
    grown.resize_(3)
    copied = grown.clone()
    del grown
    assert kept.sum() == 150 + 99_950
    assert copied.sum() == 3
    with guard.at_end():
        kept.resize_(200_000)
        assert kept[:50].sum() == 150
    assert guard.missed == 0


def test_unusual_tensors(guard):
    """Empty tensors, memory of others, and copies on write work as ever."""
    with guard.at_end():
        assert torch.empty(0).numel() == torch.empty(3, 0).sum() == 0
        foreign = torch.from_numpy(np.ones(7))
        lazy = torch._lazy_clone(foreign + 1)
        lazy += 1
        source = torch.ones(9)
        one, two = torch._lazy_clone(source), torch._lazy_clone(source)
        one += 1
        del source
        two += 2
        storage = torch.UntypedStorage(16)
        storage.resize_(32)
    lazier = torch._lazy_clone(two)
    del two
    lazier += 1
    assert (lazy.sum(), one.sum(), lazier.sum(), storage.nbytes()) == (21, 18, 36, 32)
    assert guard.missed == 0


def test_many_threads(guard):
    """Threads make and free tensors at once, each its own and each other's; none loses its values."""
    wrong: list[Any] = []
    shared: list[torch.Tensor] = []

    def work(number: int) -> None:
        for turn in range(100):
            mine = torch.full((1 + turn * 7 % 600,), float(number))
            shared.append(mine.clone())
            if (mine != number).any():
                wrong.append((number, turn))
            if len(shared) > 20:
                shared.pop(0)

    with guard.at_end():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert guard.damages() == ()
    assert not wrong
    assert guard.missed == 0


def test_an_exception_switches_it_off(guard):
    """After whatever happened in a context, fresh memory is ordinary memory."""
    with pytest.raises(ZeroDivisionError), guard.at_end():
        _ = torch.empty(3).numel() / 0
    assert guard.find(torch.empty(3).data_ptr()) is None


def test_one_at_a_time(guard):
    """A guard within a guard is refused, and leaves the outer one on."""
    with guard.at_end():
        with pytest.raises(LltmInlineError, match="a guard is on"), guard.at_start():
            pytest.fail("entered")
        assert guard.find(torch.empty(3).data_ptr())


def test_without_address_space_tensors_go_unguarded(guard):
    """Where the system gives no more address space, tensors come from elsewhere, and are counted."""

    def call() -> bool:
        with guard.at_end():
            taken = PAGE * int(Path("/proc/self/statm").read_text().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (taken + (64 << 20), resource.RLIM_INFINITY))
            tensors = [torch.full((100,), float(number)) for number in range(3000)]
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            right = all((tensor == number).all() for number, tensor in enumerate(tensors))
            near = guard.find(tensors[0].data_ptr()) is not None
        return right and near and 0 < guard.missed < 3000

    assert ending(call) == "true"


def test_more_tensors_than_it_has_room_for(guard):
    """The table of guarded tensors is full at some number; what comes then is unguarded and right."""
    with guard.at_end():
        tensors = [torch.ones(1) for _ in range(17_000)]
        assert sum(tensor.item() for tensor in tensors) == 17_000
    room = 1 << 14  # also for what was freed a moment ago
    assert 17_000 - room <= guard.missed <= 17_000 - room + 256
    del tensors
    with guard.at_end():
        assert guard.find(torch.empty(3).data_ptr())
    assert guard.missed == 0
