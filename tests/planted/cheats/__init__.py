"""Texts that try to get points for nothing, or out of the process they run in; each for a defence of its own.

`ACTS` do something beside a right computation. Each is an expression that is true when it has got what it wanted, so that one
library can hold all of them: called without locks they get it, behind locks they do not. `TRICKS` compute something wrong that a
simple grader takes for right (`naive.py` has them), or something right that looks faster than it is (`FASTER`). `NOTEBOOKS` bring Python
along. All but these stand in texts beside this file: edits of the right kernel, and before them what they need at file scope. The
numbers are those of the cheats in the literature on such graders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.texts import Text, texts_in

HERE = Path(__file__).parent
#: Right, plain, and quick to compile.
RIGHT = (HERE / "right.cpp").read_text()
_START = "const at::Tensor a = x.contiguous(), b = y.contiguous();"


@dataclass(frozen=True)
class Act:
    """Something that a kernel has no business to do.

    Attributes:
        name: of it.
        number: in the list of cheats.
        scope: what it needs at file scope.
        done: an expression that does it, true where it worked.
        says: what the reason of the refused text holds.
        ends: it ends the process behind locks; else the expression is false there.
    """

    name: str
    number: int
    scope: str
    done: str
    says: str
    ends: bool = False

    @property
    def text(self) -> str:
        """The right kernel, which does this first."""
        return f"{self.scope}\n{RIGHT}".replace(_START, f"if ({self.done}) asked_();\n  {_START}", 1).replace(
            "\nat::Tensor forward", "\nstatic void asked_() {}\nat::Tensor forward", 1
        )


def scoped(text: Text) -> tuple[str, Text]:
    """Take a text apart: what stands at file scope, which a line `// before` ends, and the rest."""
    scope, _, rest = text.body.rpartition("// before\n")
    return scope.removesuffix("\n"), replace(text, body=rest)


def _acts() -> Iterator[Act]:
    for text in texts_in(HERE / "acts.txt", ["number", "says"], ["ends"]):
        scope, done = scoped(text)
        yield Act(
            text.name, int(text.said["number"]), scope, done.body.strip(), *text.words("says"), "ends" in text.said
        )


ACTS = tuple(_acts())
#: Those of which the locks alone do not care: they reach nothing behind them.
HARMLESS = {"takes_a_signal", "looks_for_a_symbol", "walks_the_libraries", "patches_python", "makes_code"}


def all_acts() -> str:
    """Write one text with all acts: `forward` does the one whose number x has elements, and returns whether it worked."""
    scope = "\n".join(dict.fromkeys(line for act in ACTS for line in act.scope.split("\n")))
    functions = "\n".join(f"bool act_{i}() {{ return {act.done}; }}" for i, act in enumerate(ACTS))
    table = ", ".join(f"act_{i}" for i in range(len(ACTS)))
    body = f"bool (*const acts[])() = {{{table}}};\n  const bool worked = acts[x.numel() - 1]();\n  {_START}"
    text = RIGHT.replace(_START, body, 1).replace("  return z;", "  z.fill_(worked);\n  return z;", 1)
    return f"{scope}\n#include <ATen/ops/fill.h>\n{text}".replace(
        "\nat::Tensor forward", f"\nstatic void asked_() {{}}\n{functions}\nat::Tensor forward", 1
    )


@dataclass(frozen=True)
class Cheat:
    """A text that a simple grader takes for right.

    Attributes:
        name: of it.
        number: in the list of cheats.
        edits: of the right text, (old, new).
        scope: what it needs at file scope.
        says: what the reason of some mark holds.
        naive: whether a simple grader gives it full points; what none can show is said where it is planted.
        ends: the simple grader's process ends with this status, and not with a verdict.
        how: which of `naive.py`; one that is told another library has that of `SLOW` or `WRONG`.
        forbid: what the exercise forbids.
    """

    name: str
    number: int
    edits: tuple[tuple[str, str], ...]
    says: str
    scope: str = ""
    naive: bool = True
    ends: int | None = None
    how: str = "grade"
    forbid: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it."""
        text = RIGHT
        for old, new in self.edits:
            assert text.count(old) >= 1, f"{self.name}: {old!r} is not in the right text"
            text = text.replace(old, new, 1)
        return f"{self.scope}\n{text}"


def _cheats(file: str) -> Iterator[Cheat]:
    for text in texts_in(HERE / file, ["number", "says"], ["why", "naive", "ends", "how", "forbid"]):
        scope, changes = scoped(text)
        yield Cheat(
            text.name,
            int(text.said["number"]),
            changes.edits,
            *text.words("says"),
            scope,
            "naive" not in text.said,
            int(text.said["ends"]) if "ends" in text.said else None,
            text.said.get("how", "grade"),
            text.words("forbid"),
        )


#: The work twelve times: what a kernel is to be faster than.
_TWELVE = (
    "for (int64_t i = 0; i < z.numel(); ++i) r",
    "for (int turn = 0; turn < 12; ++turn) for (int64_t i = 0; i < z.numel(); ++i) r",
)
SLOW = RIGHT.replace(*_TWELVE)
WRONG = RIGHT.replace("r[i] = 2 * p[i] + q[i];", "r[i] = 3 * p[i] + q[i];")
#: Each does that work, and tries to look faster than it is.
FASTER = tuple(_cheats("faster.txt"))
TRICKS = (
    *_cheats("tricks.txt"),
    Cheat("is_no_text_at_all", 29, (), "holds a NUL character", "\x00\x01\x02", naive=False),
)

#: Cells that a student adds, and files beside the notebook: to a grader that runs notebooks, the kernel is right then.
NOTEBOOKS = {
    "patches_the_check": (
        1,
        "import lltm_inline as li\nli.check = lambda *kernels, **how: type('Report', (), {'ok': True})",
        {},
    ),
    "replaces_the_reference": (
        2,
        "import lltm_inline as li\nobject.__setattr__(li.registry.ops['axpy'], 'reference', lambda x, y: 3 * x + y)",
        {},
    ),
    "shadows_the_package": (
        3,
        "",
        {"lltm_inline.py": "Kernel = check = lambda *given, **how: type('Report', (), {'ok': True})"},
    ),
}

#: Those of the list of which there is no text here, and why.
NOT_PLANTED = {
    16: "a tensor that computes when it is looked at: in C++ on a CPU a view that negates, which the runner resolves within the call",
    17: "work on another stream takes a GPU",
}
