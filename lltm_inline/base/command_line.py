"""Messages name arguments as Python has them, `device='cuda'`; who typed a command or a magic reads `--device cuda`."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import BuildError, CrashError, LltmInlineError

_VALUE = r"(?:'[^'\n]*'|\"[^\"\n]*\"|\[[^\]\n]*\]|\([^)\n]*\)|True|False|None|-?\d[\w.+-]*)"
#: A call, which is Python wherever it stands, or an argument by name, with values that it may have or with none.
_ARGUMENT = re.compile(
    rf"\w\((?:[^()]|\([^()]*\))*\)|(?<![\w.-])(?P<name>[a-z_]+)=(?:(?P<values>{_VALUE}(?: or {_VALUE})*)|(?=[\s,.:;)]|\Z))"
)


def in_options(message: str, options: Mapping[str, str]) -> str:
    """Write the arguments that a message names as they are typed: what stands in `options`. All others, and calls, stay as they are.

    Example:
        >>> in_options("give device='cpu' or 'cuda', or force=True", {"device": "--device", "force": "--force"})
        'give --device cpu or cuda, or --force'
        >>> in_options("li.build(k, device='cuda') with check=False or sizes=[...]", {"no_check": "--no-check", "sizes": "--sizes"})
        "li.build(k, device='cuda') with --no-check or --sizes ..."
    """

    def typed(match: re.Match[str]) -> str:
        name, values = match["name"], match["values"]
        if values == "False":
            name = f"no_{name}"
        if name not in options:
            return match[0]
        given = [_typed(value) for value in re.findall(_VALUE, values or "") if value not in ("True", "False")]
        return f"{options[name]} {' or '.join(given)}".rstrip()

    return _ARGUMENT.sub(typed, message)


def _typed(value: str) -> str:
    """Write a value without the signs of Python: 'cpu', ['forward', 'both'], (16, 32)."""
    try:
        read: Any = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return value
    if isinstance(read, list):
        return " ".join("..." if one is ... else shlex.quote(str(one)) for one in read)
    return ",".join(map(str, read)) if isinstance(read, tuple) else shlex.quote(str(read))


@contextmanager
def as_typed(options: Mapping[str, str]) -> Iterator[None]:
    """Let an error that comes out name arguments as they are typed, as `in_options` does; the text of a kernel in it stays as it is.

    Example:
        >>> with as_typed({"device": "--device"}):
        ...     raise LltmInlineError("say device='cpu'")
        Traceback (most recent call last):
        lltm_inline.errors.LltmInlineError: say --device cpu
    """
    try:
        yield
    except LltmInlineError as error:
        if not isinstance(error, BuildError | CrashError):
            error.args = (in_options(str(error), options), *error.args[1:])
        raise
