"""What public names are given: one way to look at an argument, and one way to refuse it.

A refusal names the argument, the value and what is wanted, `rounds=0, want an integer of at least 1`, and comes before
anything is built, written or run.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError, LltmInlineError
from .device import DEVICES

#: What fits into the integers of C++ and of PyTorch's sizes.
LARGEST = 2**63 - 1

#: The dtypes in which inputs can be made.
REAL_DTYPES = ("float32", "float64", "complex64", "complex128", "float16", "bfloat16")

#: The dtypes that a tensor of an op can have.
DTYPES = (*REAL_DTYPES, "int64", "int32", "int16", "int8", "uint8", "bool")

_MOST_LETTERS = 80
_LONGEST_NAME = 200


#: How an argument is refused.
Refusal = type[LltmInlineError]


def shown(value: Any, most: int = _MOST_LETTERS) -> str:
    """Write any value for a message: on one line, no longer than `most`, and even where its own repr fails.

    Example:
        >>> shown("lltm"), shown("x" * 100, most=20), shown(10**5000)
        ("'lltm'", "'xxxxxxxx...xxxxxxx'", '<int of 16610 bits>')
    """
    try:
        text = " ".join(repr(value).split()) if not isinstance(value, str) else repr(value)
    except ValueError:  # Python writes no integer of more than 4300 digits
        text = f"<int of {value.bit_length()} bits>" if isinstance(value, int) else f"<{type(value).__name__}>"
    except Exception:  # a repr is somebody else's code, and may raise anything
        text = f"<{type(value).__name__}>"
    if len(text) <= most:
        return text
    half = (most - 3) // 2
    return f"{text[: most - 3 - half]}...{text[-half:]}"


def plural(count: int, noun: str) -> str:
    """Write a number of things.

    Example:
        >>> plural(1, "line"), plural(2, "line")
        ('1 line', '2 lines')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def first_line(text: str) -> str:
    """Return the first line of a text that says anything: the headline of what a kernel or op says of itself."""
    return text.strip().partition("\n")[0]


def raised(error: BaseException) -> str:
    """Say what was raised, in one line: `ValueError: no such size`."""
    return f"{type(error).__name__}: {first_line(str(error))}"


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the one of some words that was probably meant; nothing where none is near, or the word is longer than any name.

    Example:
        >>> nearest("fusd", ["python", "fused"]), nearest("x", ["python"])
        ('fused', '')
    """
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=likeness) if len(word) < _LONGEST_NAME else []
    return near[0] if near else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Ask whether the nearest of some words was meant, with a space ahead; nothing where none is near."""
    near = nearest(word, known)
    return f" Did you mean {near!r}?" if near else ""


def offer(name: str, names: Collection[str], what: str = "Ops") -> str:
    """Say behind a name that is not there which there are, with a space ahead; the one that was probably meant comes first.

    Example:
        >>> offer("ltm", ["axpy", "lltm"])
        " Did you mean 'lltm'? Ops: lltm, axpy"
    """
    near = nearest(name, names)
    return f"{did_you_mean(name, names)} {what}: {', '.join(sorted(names, key=lambda other: other != near)) or 'none'}"


def refusal(name: str, value: Any, want: str, *, where: str = "", error: Refusal = InputError) -> Exception:
    """Make the error of an argument.

    Args:
        name, value: of the argument.
        want: what it should be, `"a list of strings"`.
        where: whose argument it is, `"op 'lltm'"`.
        error: the class of the error.

    Example:
        >>> refusal("rounds", 0, "an integer of at least 1")
        InputError('rounds=0, want an integer of at least 1')
    """
    return error(f"{where}: " * bool(where) + f"{name}={shown(value)}, want {want}")


def require(holds: object, name: str, value: Any, want: str, where: str = "", error: Refusal = InputError) -> Any:
    """Return a value of which that holds, and refuse any other."""
    if not holds:
        raise refusal(name, value, want, where=where, error=error)
    return value


def string(name: str, value: Any, *, want: str = "a string", **how: Any) -> str:
    """Refuse what is no string.

    Raises:
        InputError: it is none. As in all functions here, `where` is said before it, and `error` can name another class.
    """
    return require(isinstance(value, str), name, value, want, **how)


def strings(name: str, value: Any, *, where: str = "", error: Refusal = InputError) -> tuple[str, ...]:
    """Refuse what is no list or tuple of strings; a string alone is none."""
    if isinstance(value, str):
        raise error(f"{where}: " * bool(where) + f"{name}={shown(value)} is a string, want a tuple of strings")
    holds = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return tuple(require(holds, name, value, "a tuple of strings", where, error))


def integer(name: str, value: Any, *, least: int = 0, most: int = LARGEST, **how: Any) -> int:
    """Refuse what is no integer from `least` to `most`; True and 3.0 are none.

    Example:
        >>> integer("depth", 2, least=1)
        2
    """
    ends = f"of at least {least}" if most == LARGEST else f"from {least} to {most}"
    holds = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return require(holds, name, value, f"an integer {ends}", **how)


def number(name: str, value: Any, *, positive: bool = False, most: float = math.inf, **how: Any) -> float:
    """Refuse what is no finite number of at most `most`; with `positive`, zero and what is below, too."""
    kind = f"a {'positive, ' * positive}finite number" + ("" if most == math.inf else f" of at most {most:g}")
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        fits = fits and math.isfinite(value) and value <= most and (value > 0 or not positive)
    except OverflowError:  # an integer beyond all floating-point numbers
        fits = False
    return require(fits, name, value, kind, **how)


def boolean(name: str, value: Any, **how: Any) -> bool:
    """Refuse what is neither True nor False: `check="no"` would be true."""
    return require(isinstance(value, bool), name, value, "True or False", **how)


def one_of(name: str, value: Any, choices: Sequence[str], **how: Any) -> str:
    """Refuse what is none of the words of `choices`."""
    want = f"one of {', '.join(map(repr, choices))}"
    return require(isinstance(value, str) and value in choices, name, value, want, **how)


def function(name: str, value: Any, **how: Any) -> Any:
    """Refuse what cannot be called."""
    return require(callable(value), name, value, "a function", **how)


def mapping(name: str, value: Any, want: str, **how: Any) -> dict[str, Any]:
    """Refuse what is no dict with strings as its keys."""
    holds = isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
    return dict(require(holds, name, value, want, **how))


def require_choices(*, device: Any = "cpu", compiler: Any = None, cflags: Any = None, progress: Any = None) -> None:
    """Look at what all have in common that build a kernel, before anything is built.

    Raises:
        InputError: one of them is of the wrong kind.
    """
    if not isinstance(device, str) or device not in DEVICES:
        raise InputError(f"no device {shown(device)}; want one of {', '.join(DEVICES)}")
    named = compiler is None or (isinstance(compiler, str) and compiler and "\0" not in compiler)
    require(named, "compiler", compiler, "the name or path of a compiler, or None for the default")
    if cflags is not None:
        strings("cflags", cflags)
    progress_of(progress)


def progress_of(value: Any) -> Any:
    """Refuse a `progress` that is neither a function nor True, False or None; a class is no function."""
    holds = value is None or isinstance(value, bool) or (callable(value) and not isinstance(value, type))
    return require(holds, "progress", value, "a function, None for a line after a second, or False for nothing")


def real_dtype(value: Any) -> Any:
    """Refuse what is no dtype in which PyTorch draws random numbers; its name will not do."""
    import torch

    if isinstance(value, torch.dtype) and str(value).removeprefix("torch.") in REAL_DTYPES:
        return value
    hint = ""
    if isinstance(value, str) and isinstance(getattr(torch, value, None), torch.dtype):
        hint = f": torch.{value}, and not its name"
    raise refusal("dtype", value, f"a floating-point dtype such as torch.float32{hint}")


def path_of(name: str, value: Any) -> Path:
    """Refuse what is no path."""
    plain = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    require(isinstance(plain, str) and plain and "\0" not in plain, name, value, "a path")
    return Path(str(plain))


@contextmanager
def using_file(path: Path) -> Iterator[None]:
    """Turn what the system says of a file into a `FileError`.

    Raises:
        FileError: it is not there, is a directory, may not be read or written, or its name cannot be one.
    """
    try:
        yield
    except OSError as error:
        raise FileError(f"{shown(str(path))}: {error.strerror or error}") from error
    except UnicodeEncodeError as error:
        raise refusal("path", str(path), "a path that this system can spell") from error
