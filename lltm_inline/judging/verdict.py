"""What a file comes to: a word, its findings, and what was tried; as text, as JSON and as SARIF."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..base.above import printable
from ..version import __version__

#: Of the JSON; `verdict.schema.json` beside this file says what is in it.
VERSION = 1
#: All verdicts, each with its exit code.
CODES = {"right": 0, "wrong": 1, "cheats": 1, "does not build": 2, "crashed": 3, "refused": 4, "our fault": 5}
#: Of several findings the first of these is the verdict.
_WORST = ("our fault", "crashed", "does not build", "refused", "wrong", "cheats")
#: The ways to be right without computing.
CHEATS = (
    "result remembered", "inputs recognised", "reference called", "output aliased", "stream or thread left running", "clock touched",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        kind: one of the verdicts.
        text: what it is, in one sentence with values.
        file, line: where, the line from 1; empty and 0 where nothing tells.
        cause, cure: why it is so as far as that shows, and what mends it.
        cheat: one of `CHEATS`, or nothing.
        at: the sizes at which it shows.
    """

    kind: str
    text: str
    file: str = ""
    line: int = 0
    cause: str = ""
    cure: str = ""
    cheat: str = ""
    at: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else ""
        parts = (("at", self.at), ("cause", self.cause), ("cure", self.cure))
        lines = [f"  {place}{f'{self.cheat}: ' * bool(self.cheat)}{self.text}"]
        return "\n".join([*lines, *(f"    {what}: {said}" for what, said in parts if said)])


def word_of(findings: Sequence[Finding]) -> str:
    """Return the verdict that findings come to."""
    kinds = [one.kind for one in findings]
    return next((word for word in _WORST if word in kinds), "right")


@dataclass(frozen=True)
class Verdict:
    """What a file comes to; `print(verdict)` reads as plain text, and is the same each time but for `seconds` and `speed`.

    Attributes:
        path: as it was given.
        form: what the file is, `KernelBench`; empty if it is nothing that can be judged.
        word: one of the verdicts.
        findings: what is wrong, the most telling first.
        tried, not_tried: at which sizes and for which cheats; what could not be tried, and why.
        notes: what was guessed or made smaller.
        device: where it ran.
        speed: how fast it is, where that means something.
        seconds: how long it took.

    Example:
        >>> print(Verdict("a.py", "KernelBench", "wrong", (Finding("wrong", "the output is 0", "a.py", 3, cure="compute it"),)))
        a.py: WRONG (KernelBench)
          a.py:3: the output is 0
            cure: compute it
    """

    path: str
    form: str
    word: str
    findings: tuple[Finding, ...] = ()
    tried: tuple[str, ...] = ()
    not_tried: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    device: str = ""
    speed: str = field(default="", compare=False)
    seconds: float = field(default=0.0, compare=False)

    @property
    def ok(self) -> bool:
        return self.word == "right"

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return CODES[self.word]

    def __str__(self) -> str:
        what = ", ".join(filter(None, (self.form, self.device)))
        lines = [f"{printable(self.path)}: {self.word if self.ok else self.word.upper()}{f' ({what})' * bool(what)}"]
        lines += map(str, self.findings)
        for name, said in (("tried", self.tried), ("not tried", self.not_tried), ("note", self.notes)):
            lines += [f"  {name}: {one}" for one in said]
        lines += [f"  speed: {self.speed}"] * bool(self.speed) + [f"  took {self.seconds:.1f} s"] * bool(self.seconds)
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as the JSON has them."""
        cheats = sorted({one.cheat for one in self.findings if one.cheat})
        return {"version": VERSION, "verdict": self.word, "code": self.code, "cheats": cheats, **asdict(self)}

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Verdict:
        """Make a verdict of what `to_dict` returned, before or after JSON."""
        own = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        known: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in own.items()}
        return cls(**known | {"findings": tuple(Finding(**one) for one in values["findings"])})


class Line(Verdict):
    """A verdict that is printed as its line of JSON."""

    __str__ = Verdict.to_json


def sarif(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Lay findings out as SARIF 2.1.0, which puts them on the lines of a pull request.

    Example:
        >>> sarif([Verdict("a.py", "", "refused", (Finding("refused", "no"),))])["runs"][0]["results"][0]["ruleId"]
        'refused'
    """

    def result(path: str, one: Finding) -> dict[str, Any]:
        place = {"artifactLocation": {"uri": one.file or path}, "region": {"startLine": max(one.line, 1)}}
        said = ". ".join(part.rstrip(".") for part in (one.text, one.cause, one.cure) if part)
        level = "note" if one.kind == "refused" else "error"
        where = [{"physicalLocation": place}]
        return {"ruleId": _rule(one.cheat or one.kind), "level": level, "message": {"text": said}, "locations": where}

    results = [result(verdict.path, one) for verdict in verdicts for one in verdict.findings]
    rules = [{"id": _rule(name)} for name in (*CODES, *CHEATS) if name != "right"]
    tool = {"driver": {"name": "lltm-inline", "version": __version__, "rules": rules}}
    runs = [{"tool": tool, "results": results}]
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": runs}


def _rule(name: str) -> str:
    return name.replace(" ", "-")
