"""What people put into dicts, sets, caches and the workers of a DataLoader bears it: every public value, and every error."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline.analysis.assembly import Routine
from lltm_inline.analysis.hot import Hot
from lltm_inline.analysis.loops import Instruction, Loop
from lltm_inline.analysis.roofline import Level, Roofs
from lltm_inline.analysis.why import Remark
from lltm_inline.checking.report import Finding, Grid, Section
from lltm_inline.compiling.toolchain import Toolchain
from lltm_inline.diagnosis.diagnostics import Diagnostic
from lltm_inline.errors import InputError
from lltm_inline.tables.counts import CountsRow
from lltm_inline.tables.memory import MemoryRow
from lltm_inline.tables.sweep import Point
from lltm_inline.tables.timings import Row
from lltm_inline.tables.trace import TraceRow

_WHAT: dict[str, Any] = {"op": "axpy", "size": {"B": 3}, "dtype": "float32", "device": "cpu"}
_ROW = Row(
    "axpy/cpp", **_WHAT, direction="both", calls=9, samples=50,
    median=2e-6, q1=2e-6, q3=2e-6, speedup=1, speedup_low=1, speedup_high=1,
)  # fmt: skip
_GRID = Grid(2, 3, ("..#", "5.."))
_FINDING = Finding("axpy/cpp", "parity", "z", "z differs", "N=3", "N=1", ("a hint",), _GRID)
_CRASH = li.Crash("axpy/cpp", "forward", "exit(0)", "the text calls exit()", kind="exit", inputs=("x (7,) float64",))
_REPORT = li.Report("axpy/cpp", "cpu", (Section("parity", 3, (_FINDING,)),), {"z": {"23": "ok"}}, crash=_CRASH)
_MEMORY = MemoryRow("axpy/cpp", **_WHAT, depth=1, outputs=8, held=8, peak=16)
_COUNTED = CountsRow(
    "axpy/cuda", **_WHAT, direction="forward", launch=1, function="axpy<scalar_t>", grid=(4, 1, 1), block=(256, 1, 1), line=9,
    what="global load", array="x", width=4, accesses=1000, requests=32, transactions=125, least=125, lanes=(0, 4, -1),
)  # fmt: skip
_TRACED = TraceRow(
    "axpy/cuda", **_WHAT, direction="forward", launch=1, function="axpy<scalar_t>", order=1, block=(0, 0, 0), thread=(3, 0, 0),
    line=9, what="global load", array="x", index=(3,), shape=(8,), value="0.5",
)  # fmt: skip
_INSTRUCTION = Instruction(16, "vaddps ymm0,ymm1,ymm2", 3)
_ROUTINE = Routine("forward(at::Tensor const&)", (_INSTRUCTION,), (Loop((_INSTRUCTION,)),))
_REMARK = Remark(3, "vectorised", "32 bytes at a time")
_HOT = Hot("N=3, forward", 10, ((3, 0.5),), (("libm.so.6", 0.5),))
_ROOFS = Roofs("cpu", 1, "float32", 1e11, (Level("L1", 1e12), Level("memory", 1e10)))
_DIAGNOSTIC = Diagnostic("axpy/cpp", "axpy/cpp", 3, 1, "error", "expected '}'", help="Add it.")

#: One of each, by the name of its class.
VALUES = {
    type(value).__name__: value
    for value in (
        li.Build(
            "axpy/cpp", Path("library.so"), 1.0, False, ("-O3",), "g++ 12", "digest", "namespace", "log", "sha256"
        ),
        Toolchain("/usr/bin/g++", "gcc", "g++ 12", "identity", ("-O3",), ()),
        li.Cost(12, 2, 12, 1),
        li.Limits(seconds=2),
        li.registry["axpy/cpp"],
        li.registry.ops["axpy"],
        li.load("axpy/python"),
        li.Timings((_ROW,), "axpy/cpp"),
        li.Memory((_MEMORY,), "axpy/cpp"),
        li.Counts((_COUNTED,), "axpy/cuda"),
        li.Trace((_TRACED,), "axpy/cuda"),
        li.Assembly("axpy/cpp", "g++ 12", "text", (_ROUTINE,), remarks=(_REMARK,), hot=_HOT),
        li.Verdict("a.py", "KernelBench", "right", tried=("N=7: right",)),
        li.Setting("cuda-cpu", cflags=("-O1",), trust=True),
        li.Roofline(li.Timings((_ROW,), "axpy/cpp"), (_ROOFS,)),
        *(_REMARK, _HOT, _ROOFS, _ROOFS.levels[0]),
        li.Sweep("axpy/cpp", {"A": 1}, {"A": (1,)}, (Point({"A": 1}, "axpy/cpp", _ROW),), _ROW, None),
        *(_ROUTINE, _ROUTINE.loops[0], _ROUTINE.instructions[0]),
        *(_ROW, _MEMORY, _COUNTED, _TRACED, _FINDING, _GRID, _CRASH, _REPORT, _REPORT.sections[0], _DIAGNOSTIC),
    )
}
_MORE = {
    "BuildError": {"kernel": "axpy/cpp", "diagnostics": [_DIAGNOSTIC], "log": "log"},
    "SignatureError": {"kernel": "axpy/cpp"},
    "CheckError": {"report": _REPORT},
    "CrashError": {"crash": _CRASH, "timings": [_ROW]},
    "TimeoutError": {"crash": _CRASH},
}
ERRORS = [
    one for one in vars(li.errors).values() if inspect.isclass(one) and issubclass(one, li.errors.LltmInlineError)
]
WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda value: pickle.loads(pickle.dumps(value))}


def test_all_public_classes_are_here() -> None:
    """A class that is new among the public names joins the table."""
    assert {name for name in dir(li) if not name.startswith("__")} == set(
        li.__all__
    )  # and none of what the module imports
    public = {name for name in dir(li) if inspect.isclass(getattr(li, name))}
    assert public <= set(VALUES) | {error.__name__ for error in ERRORS}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("name", VALUES)
def test_values_are_hashed_compared_and_sent(name: str, way: Callable[[Any], Any]) -> None:
    """A copy is equal and has the same hash, so that it is found in a dict or set that has the other; another type is not equal."""
    value = VALUES[name]
    other = way(value)
    assert type(other) is type(value) and other == value and hash(other) == hash(value)
    assert {value: 1}[other] == 1 and len({value, other}) == 1
    assert value != name and value is not None


def test_loaded_library_stays_in_its_process(tiny: Any) -> None:
    """A function that a library stands behind is its own copy; pickling it says what to send in its place."""
    function = li.load(tiny(2), progress=False, trust=True)
    assert copy.copy(function) is function and copy.deepcopy([function]) == [function]
    with pytest.raises(
        InputError, match=r"^'tiny/stable' is loaded into this process, and cannot be sent .*: send its \.kernel"
    ):
        pickle.dumps(function)


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("error", ERRORS)
def test_errors_are_sent_whole(error: type[Exception], way: Callable[[Any], Any]) -> None:
    """A DataLoader's worker or a pool hands an error on: message, notes and what it carries arrive."""
    raised = error("what is wrong", **_MORE.get(error.__name__, {}))
    raised.add_note("a note")
    there = way(raised)
    assert type(there) is error and str(there) == str(raised) == "what is wrong" and there.__notes__ == ["a note"]
    assert vars(there) == vars(raised)
