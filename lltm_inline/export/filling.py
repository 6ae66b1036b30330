"""Files of an export that are the same for every kernel but for a few words: filled in here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SLOT = re.compile(r"@([a-z_]+)@")
#: Columns of every file that is written.
WIDTH = 120


def fill(text: str, **values: str) -> str:
    """Put values into the slots `@name@` of a text.

    A slot that stands alone in its line takes any number of lines, each indented as the slot is; with an empty value the
    line goes away, and the empty line behind it.

    Raises:
        KeyError: a slot without a value.

    Example:
        >>> print(fill("a = @a@\\n    @more@\\nend", a="1", more="b\\nc"))
        a = 1
            b
            c
        end
    """

    def lines(match: re.Match[str]) -> str:
        value = values[match[2]]
        if not value:
            return ""
        return "\n".join(f"{match[1]}{line}".rstrip() for line in value.split("\n")) + match[3] + match[4]

    text = re.sub(r"^([ \t]*)@([a-z_]+)@(\n|\Z)(\n?)", lines, text, flags=re.MULTILINE)
    return _SLOT.sub(lambda match: values[match[1]], text)


def commented(header: str, mark: str) -> str:
    """Write a header as comments, with an empty line behind it; nothing if there is none.

    Example:
        >>> commented("Copyright (c) 2026\\n\\nMIT", "#")
        '# Copyright (c) 2026\\n#\\n# MIT\\n\\n'
    """
    return "".join(f"{mark} {line}".rstrip() + "\n" for line in header.split("\n")) + "\n" if header else ""


def sequence(items: Iterable[str], ahead: str = "", behind: str = "", brackets: str = "[]") -> str:
    """Write a list or tuple of expressions in one line, or each in its own where that would be too long.

    Args:
        items: as Python writes them.
        ahead, behind: what stands in the same line around it, from the very start of the line.
        brackets: `"[]"` or `"()"`.

    Example:
        >>> sequence(["1", "2"], ahead="x = ")
        'x = [1, 2]'
    """
    items = list(items)
    comma = "," if brackets == "()" and len(items) == 1 else ""
    line = f"{ahead}{brackets[0]}{', '.join(items)}{comma}{brackets[1]}{behind}"
    if len(line) <= WIDTH:
        return line
    indent = " " * (len(ahead) - len(ahead.lstrip()))
    return (
        f"{ahead}{brackets[0]}\n"
        + "".join(f"{indent}    {item},\n" for item in items)
        + f"{indent}{brackets[1]}{behind}"
    )


def enumerated(words: Sequence[str]) -> str:
    """Write words as a sentence has them.

    Example:
        >>> enumerated(["weights"]), enumerated(["weights", "bias", "scale"])
        ('weights', 'weights, bias and scale')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
