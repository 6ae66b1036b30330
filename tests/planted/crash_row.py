"""What a row of the table in docs/crashes.md is made of: a kernel that is right but for one thing, and what is to be said of it.

All compute y = 2 x on LibTorch's stable ABI, so that each builds in a second. `// here` marks the line that a report must
name. What a compiler could take for undefined behaviour, and so for something that never happens, goes through `volatile`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.workers.limits import Limits

#: The marker of the line that a report must name.
HERE = "// here"

_HEAD = """\
#include <torch/csrc/stable/ops.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <sys/prctl.h>
#include <unistd.h>
"""

_TOOLS = (Path(__file__).parent / "crash" / "tools.cpp").read_text()

_BACKWARD = """
Tensor backward(const Tensor& d_y, std::array<bool, 1> wanted) {
  return wanted[0] ? twice(d_y) : Tensor();
}
"""


@dataclass(frozen=True)
class Row:
    """A kernel that must not take the caller's process with it, and what is to be said of it.

    Attributes:
        name: of the kernel, behind `crash/`.
        does: what it does, for the table.
        text: its C++ text, without the head that all share.
        plain: what becomes of a process that runs it without a worker; several where that is chance.
        verb: `"call"`, `"check"` or `"load"`, the one by which it is tried.
        said: `"crash"` (a Crash), `"finding"` (of a check), or the type of the exception that comes back as itself.
        what: words that must occur in `Crash.what` and `Crash.detail`, in the finding, or in the exception and its notes.
        cause: words of which one must occur in `Crash.cause`.
        step: in which it happens.
        tensor: the input that is overrun.
        headers: what its text includes beside those of all.
        calls: how often it is called; it happens in the last of them.
        limits: under which it is tried.
        signal: the one that the test sends while the kernel runs: to the worker, SIGINT to its own process.
        smallest: the smallest size at which it happens.
    """

    name: str
    does: str
    text: str
    plain: tuple[str, ...]
    verb: str = "call"
    said: str = "crash"
    what: tuple[str, ...] = ()
    cause: tuple[str, ...] = ()
    step: str = "forward"
    tensor: str = ""
    headers: tuple[str, ...] = ()
    calls: int = 1
    limits: Limits | None = None
    signal: str = ""
    smallest: str = ""

    @property
    def kernel(self) -> Kernel:
        """The kernel itself."""
        return Kernel(f"crash/{self.name}", cpp=self.cpp, api="stable")

    @property
    def cpp(self) -> str:
        """The whole text."""
        headers = "".join(f"#include <{header}>\n" for header in self.headers)
        backward = "" if "Tensor backward(" in self.text else _BACKWARD
        return f"{_HEAD}{headers}{_TOOLS}{self.text}{backward}"

    @property
    def comes_again(self) -> bool:
        """Whether it ends its process by itself and at once, so that the smallest size can be looked for."""
        ends = self.what[0].startswith(("SIG", "std::", "exit", "_exit"))
        return ends and self.said == "crash" and self.step != "load" and not self.signal

    @property
    def plainly(self) -> str:
        """What becomes of the plain process, in words."""
        first, *others = self.plain
        return " or ".join([first, *(other.removeprefix("goes on, and y is ") for other in others)])

    @property
    def limit(self) -> float:
        """The wall time after which it is stopped; 0 where it is not stopped for its time."""
        return self.limits.seconds if self.limits and "time-out" in self.what[0] else 0.0

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of the whole text of which a report must name one."""
        return tuple(number for number, line in enumerate(self.cpp.split("\n"), 1) if HERE in line)


def forward(body: str, before: str = "") -> str:
    """Write a text whose `forward` is right after it has done this."""
    lines = "".join(f"  {line}\n" if line else "\n" for line in body.strip("\n").split("\n"))
    return f"{before}\nTensor forward(const Tensor& x) {{\n{lines}  return twice(x);\n}}\n"


#: The right one: what a user goes on with. A worker that has outlived another row gets its name back.
GOOD = Kernel("crash/good", cpp=_HEAD + _TOOLS + forward('prctl(PR_SET_NAME, "at-rest");') + _BACKWARD, api="stable")


def reference(x: torch.Tensor) -> torch.Tensor:
    """Double a tensor."""
    return x * 2


def inputs(randn: Any, N: int) -> tuple[Any, ...]:
    """Draw the one input."""
    return (randn(N),)


def register() -> Op:
    """Put the op into the registry, if it is not there."""
    if "crash" not in registry.ops:
        registry.register(Op("crash", "(Tensor x) -> Tensor y", reference, {"x": "N", "y": "N"}, inputs))
    return registry.ops["crash"]
