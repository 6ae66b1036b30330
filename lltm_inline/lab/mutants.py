"""Wrong kernels made of a right one, with one operator, index, bound or constant changed: what grading must notice."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from ..cpp.masks import mask
from .cells import BEGIN, cut

#: What is changed into what, with the word for it. Each pattern finds a place in the code of a text.
_CHANGES = (
    ("operator", r"(?<=[\w)\]] )\+(?= [\w(])", ("-", "*")),
    ("operator", r"(?<=[\w)\]] )-(?= [\w(])", ("+",)),
    ("operator", r"(?<=[\w)\]] )\*(?= [\w(])", ("+", "/")),
    ("operator", r"(?<=[\w)\]] )/(?= [\w(])", ("*",)),
    ("operator", r"(?<= )\+=(?= )", ("-=", "=")),
    ("operator", r"(?<= )-=(?= )", ("+=",)),
    ("operator", r"(?<= )&&(?= )", ("||",)),
    ("bound", r"(?<=[\w)] )<(?= [\w(])(?!.*>)", ("<=",)),
    ("bound", r"(?<=[\w)] )<=(?= [\w(])", ("<",)),
    ("bound", r"(?<=[\w)] )>(?= [\w(])(?<!-> )", (">=", "<")),
    ("bound", r"(?<=[\w)] )>=(?= [\w(])", (">",)),
    ("bound", r"(?<=\w = )0(?=; )", ("1",)),
    ("index", r"(?<=\[)([a-z]\w*)(?=\])", (r"\1 + 1", r"\1 - 1", "0")),
    ("constant", r"(?<![\w.\[$#])(\d+\.\d+)(?![\w.])", (r"(\1 + 0.5)", r"(-\1)")),
    ("constant", r"(?<=[(*/+,-] )([2-9])(?=[\s;),])", (r"(\1 + 1)",)),
    ("function", r"\b(?:std::)?tanh\b(?=\()", ("std::sin",)),
    ("function", r"\b(?:std::)?exp\b(?=\()", ("std::expm1",)),
)


@dataclass(frozen=True)
class Mutant:
    """A text with one change.

    Attributes:
        text: all of it.
        line: where.
        change: what, `operator '+' -> '-'`.
    """

    text: str
    line: int
    change: str


def mutants(solution: str, seed: int | bytes = 0, most: int = 40) -> tuple[Mutant, ...]:
    """Make wrong kernels of a right one.

    Args:
        solution: a right text.
        seed: chooses, where there are more.
        most: how many at most.

    Returns:
        Them by line, of the lines between `// BEGIN SOLUTION` and `// END SOLUTION` where a text has such. What changes nothing
        that can be seen, such as the grain of a loop, may be among them.

    Example:
        >>> sorted({mutant.change for mutant in mutants("z[i] = a * x[i] + y[i];")})[:2]
        ["index 'i' -> '0'", "index 'i' -> 'i + 1'"]
    """
    code = mask(solution)
    # What students are given beside the solution is not what they write, and in the solution it may never be reached.
    given = set(cut(solution, "solution").split("\n")) if BEGIN in solution else set()
    lines = solution.split("\n")
    found: dict[str, Mutant] = {}
    for word, pattern, into in _CHANGES:
        for match in re.finditer(pattern, code):
            for template in into:
                new = match.expand(template)
                text = solution[: match.start()] + new + solution[match.end() :]
                line = solution.count("\n", 0, match.start()) + 1
                if text != solution and lines[line - 1] not in given:
                    found.setdefault(text, Mutant(text, line, f"{word} {match[0]!r} -> {new!r}"))
    chosen = list(found.values())
    if len(chosen) > most:
        chosen = random.Random(seed).sample(chosen, most)
    return tuple(sorted(chosen, key=lambda one: (one.line, one.change)))
