"""What is noted can be read by another process, whole, also when the writer is killed or scribbles over it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from lltm_inline.workers.black_box import BlackBox, State
from tests.run.worker.dying import PREAMBLE, ROOT

#: Writes notes of which every part tells the same number, as fast as it can.
_WRITER = (
    PREAMBLE
    + """
box = BlackBox(int(sys.argv[2]))
box.note("0", "0", "0", ())
print("ready", flush=True)
for number in range(1, 10**9):
    text = str(number)
    box.note(text, text * 9, text * 99, (text,) * (number % 7))
"""
)


def _write_from_another_process(box: BlackBox) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITER, str(ROOT), str(box.fileno())]
    process = subprocess.Popen(command, pass_fds=(box.fileno(),), stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def _assert_whole(state: State) -> None:
    number = state.step
    assert (state.kernel, state.case) == ((number * 9, number * 99) if number != "0" else ("0", "0"))
    assert state.inputs == (number,) * (int(number) % 7)


def test_what_is_noted_is_read() -> None:
    """A second mapping of the memory tells step, kernel, case, inputs, beats and since when."""
    with BlackBox.create() as box, BlackBox(os.dup(box.fileno())) as other:
        assert other.read() == State() and other.evidence() is None
        before = time.monotonic()
        box.note("forward", "lltm/fused@2", "case 3", ("x (7,) float64", "w (0, 3) float32"))
        state = other.read()
        assert state.step == "forward" and state.kernel == "lltm/fused@2" and state.case == "case 3"
        assert state.inputs == ("x (7,) float64", "w (0, 3) float32") and state.beats == 1
        assert before <= state.started <= time.monotonic()
        box.beat()
        assert other.read().beats == 2 and other.read().started >= state.started
        box.note("")
        assert other.read().step == "" and other.read().inputs == () and other.read().beats == 3


def test_who_opens_it_later_goes_on_counting() -> None:
    """A worker that is forked later writes behind what stands there."""
    with BlackBox.create() as box:
        box.note("load")
        with BlackBox(os.dup(box.fileno())) as other:
            other.note("forward")
        assert (box.read().step, box.read().beats) == ("forward", 2)


@pytest.mark.parametrize("length", [100, 8187, 8188, 8189, 100_000])
def test_long_texts_are_cut(length: int) -> None:
    """However long a description is, it stays in its place, and characters that are cut through do no harm."""
    with BlackBox.create() as box:
        box.note("forward", "é" * length, "case", ("x",))
        assert box.read().step == "forward" and set(box.read().kernel) <= {"é", "\ufffd"}
        box.note("backward", "lltm/fused", "", ("\ud800", ""))  # half a surrogate pair
        assert box.read().step == "backward" and box.read().inputs == ("?", "")


def test_reads_are_never_torn() -> None:
    """While another process writes as fast as it can, each read is of one note."""
    with BlackBox.create() as box:
        process = _write_from_another_process(box)
        seen: set[str] = set()
        reads, deadline = 0, time.monotonic() + 60
        while (reads < 20_000 or len(seen) < 1000) and time.monotonic() < deadline:
            state, reads = box.read(), reads + 1
            _assert_whole(state)
            seen.add(state.step)
        process.kill()
        process.communicate()
        assert len(seen) >= 1000


def test_what_a_killed_writer_leaves_is_whole() -> None:
    """Killed at any moment, in the middle of a note too, the writer leaves its last whole note."""
    random_ = random.Random(4)
    for _ in range(10):
        with BlackBox.create() as box:
            process = _write_from_another_process(box)
            time.sleep(random_.random() / 100)
            process.kill()
            process.communicate()
            _assert_whole(box.read())


def test_scribbles_are_read_without_harm() -> None:
    """Whatever a wild kernel writes over the memory, reading gives something, soon, and the step counts as late."""
    random_ = random.Random(4)
    with BlackBox.create() as box:
        size = os.fstat(box.fileno()).st_size
        for junk in (b"\xff" * size, b"\x41" * size, *(random_.randbytes(size) for _ in range(40))):
            os.pwrite(box.fileno(), junk, 0)
            assert box.read().started <= time.monotonic()
            evidence = box.evidence()
            assert evidence is None or len(evidence.frames) <= 64


def test_its_size_is_sealed() -> None:
    """A worker cannot cut it short, which would kill whoever reads it."""
    with BlackBox.create() as box:
        for size in (0, 1 << 20):
            with pytest.raises(PermissionError):
                os.ftruncate(box.fileno(), size)


def test_a_process_without_recorder_is_not_asked() -> None:
    """The question is a signal that would end it: it is not sent, and there is no answer."""
    with BlackBox.create() as box:
        process = _write_from_another_process(box)
        assert box.ask(process.pid) is None and process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
