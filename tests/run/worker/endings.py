"""Every way for a worker to end, as the arguments of `explain`, and the words that must be said of it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from lltm_inline.autopsy.crash import Crash, explain
from lltm_inline.autopsy.facts import Facts
from lltm_inline.autopsy.symbolize import Place
from lltm_inline.workers.black_box import Evidence, Region, State
from lltm_inline.workers.limits import Limits
from lltm_inline.workers.outcome import Died, Ending
from tests.texts import texts_in

TEXT = """#include <ATen/core/Tensor.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor z = at::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    z.data_ptr<double>()[i] = x.data_ptr<double>()[i + 1];
  }
  return z;
}
"""
BASE = 0x7F0000001000
X = Region("x", BASE, 56, 8, (7,), "float64")
W = Region("weights", BASE, 2640, 8, (15, 22), "float64")
EMPTY = Region("x", BASE, 0, 8, (0,), "float64")
GONE = Region("x, after it was freed", BASE, 56, 8, (7,), "float64")
MADE = Region("a tensor that forward makes, as large as new_h or new_cell", BASE, 120, 8, (15,), "float64")
HERE = Place("axpy/mine", 6, "forward")


def signalled(number: int, code: int = 1, **seen: Any) -> dict[str, Any]:
    """Make the arguments for a signal that the recorder saw."""
    return {"ending": Ending("signal", number), "evidence": Evidence("signal", number, code, **seen)}


def fault(address: int | None, write: bool | None = False, code: int = 2, **seen: Any) -> dict[str, Any]:
    """Make the arguments for a segmentation fault."""
    return signalled(signal.SIGSEGV, code, address=address, write=write, **seen)


def aborted(message: str = "", **given: Any) -> dict[str, Any]:
    """Make the arguments for an abort()."""
    return {**signalled(signal.SIGABRT, -6, message=message), **given}


def thrown(exception: str, message: str = "", main_thread: bool = True, **given: Any) -> dict[str, Any]:
    """Make the arguments for an exception that nobody caught."""
    seen = Evidence("terminate", signal.SIGABRT, exception=exception, message=message, main_thread=main_thread)
    return {"ending": Ending("signal", signal.SIGABRT), "evidence": seen, **given}


def timed_out(**given: Any) -> dict[str, Any]:
    """Make the arguments for a time-out."""
    return {"ending": Ending("timeout", seconds=10.0), "evidence": Evidence("where"), **given}


def told(
    ending: Ending, evidence: Evidence | None = None, *, step: str = "forward", text: str = TEXT, **given: Any
) -> Crash:
    """Explain an ending of `axpy/mine@2`."""
    state = State(step, "axpy/mine@2", "N=7, float64", ("x (7,) float64", "y (7,) float64"))
    died = Died(ending, state, evidence, given.pop("output", ""), busy=given.pop("busy", None))
    died.seconds = given.pop("seconds", 0.0)
    told = {name: given.pop(name) for name in ("smallest", "finished") if name in given}
    facts = {"kernel": "axpy/mine@2", "sources": {"axpy/mine": text}, "places": (), "limits": Limits(), **given}
    return explain(Facts(died, **facts), **told)


#: By name: the arguments, and what must be said, its detail and its cause.
CASES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    case.name: (eval(case.said["given"]), *(case.said.get(key, "") for key in ("what", "detail", "cause")))
    for case in texts_in(Path(__file__).with_suffix(".txt"), ["given", "what", "cause"], ["detail"])
}
