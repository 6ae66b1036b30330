"""Wrong kernel texts of the kind that beginners write, with the line and the help that each one owes its reader.

They are in `wrong/`, many in a file, and what they say of themselves is in front of each:

    head: `tensors` for the headers of those before the text, `none` for nothing; two headers of std if it is not said.
    help: words that the help must hold, all of them, each between two `.
    clang: words that it must hold in place of these where clang++ says something else.
    only: the one compiler that finds the mistake, where the others do not.
    stage: `link` (with -z defs) or `load` (dlopen), where the text compiles.
    warns: `yes` where the first diagnostic is a warning.
    binding: `call` for one that calls `forward`.

A mark is at the line to which the first diagnostic must point; it is no part of what is compiled.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.texts import texts_in

PLACE = Path(__file__).with_name("wrong")
LIGHT = "#include <cmath>\n#include <cstdint>\n"
#: The lightest header that has tensors costs 1.5 s.
ATEN = "#include <ATen/core/Tensor.h>\n#include <ATen/Dispatch.h>\n"
_HEADS = {"numbers": LIGHT, "tensors": ATEN, "none": ""}
#: The generated binding that follows every text; some mistakes only show in it.
BINDING = "static const int binding_end = 0;\n"
_BINDINGS = {"": BINDING, "call": "at::Tensor call(const at::Tensor& x) {\n  return forward(x);\n}\n"}


@dataclass(frozen=True)
class Mistake:
    """One wrong text.

    Attributes:
        name: what was done wrong, in a few words.
        text: the whole cpp text.
        line: of it, to which the first diagnostic must point.
        help: words that the help must hold, all of them.
        warns: the text compiles; the first diagnostic is a warning.
        binding: what stands behind the text, as file `lltm/fused (binding)`.
        stage: "compile", "link", or "load".
        clang: words that the help must hold in place of `help`.
        only: the one compiler that finds the mistake.
    """

    name: str
    text: str
    line: int
    help: tuple[str, ...]
    warns: bool = False
    binding: str = BINDING
    stage: str = "compile"
    clang: tuple[str, ...] = ()
    only: str = ""


def mistakes_in(*files: str) -> Iterator[Mistake]:
    """Read the mistakes of some files in `wrong/`."""
    keys = ("head", "clang", "only", "stage", "warns", "binding")
    for text in (text for file in files for text in texts_in(PLACE / f"{file}.cpp", ["help"], keys)):
        head, said = text.said.get("head", "numbers"), text.said
        apart = "\n" if head != "none" and not text.body.startswith(("#include", "\n")) else ""
        above = _HEADS[head] + apart
        body = re.sub(r"\\N\{(.+?)\}", lambda found: unicodedata.lookup(found[1]), text.unmarked)
        [mark] = text.marks
        yield Mistake(
            text.name,
            above + body,
            above.count("\n") + mark,
            text.words("help"),
            "warns" in said,
            _BINDINGS[said.get("binding", "")],
            said.get("stage", "compile"),
            text.words("clang"),
            said.get("only", ""),
        )


#: The commonest.
MISTAKES = tuple(mistakes_in("common"))
#: Of the kinds that students ask about in public forums; the last two files have what lists of unseen mistakes were found to lack.
STUDENTS = tuple(
    mistakes_in(
        *("names", "tensors", "methods", "python", "brackets", "dispatch", "slips", "unseen", "unseen_again"),
    )
)
