"""Torch's headers without IValue, dispatcher and graph: half of what g++ takes for a text of ATen, which seldom needs any of them.

Stand-ins of the same names (`native/light`) lie in front of torch's own headers. What they leave out is declared nowhere, or has no
definition: a text that needs it does not compile, or does not link, and is compiled with the headers whole. So is a text that fails
for another reason and speaks of what is left out, for its message to be the one of the whole headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .. import native
from ..base.files import UTF8
from ..source.template import LIGHT, NAMED, WHOLE, prelude_text
from . import cache

if TYPE_CHECKING:
    from .job import Job

_Result = TypeVar("_Result")

FOLDER = Path(native.__file__).parent / "light"

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[^\W\d]\w*")
#: A name that a text has of namespace torch; the namespace itself where it is used as a whole.
_OF_TORCH = re.compile(r"\btorch\s*::\s*(?=(\w+))|\bnamespace\s+(?:\w+\s*=\s*)?(?=torch\b)")
#: Types of which a light header has the name alone.
_DEFINED = re.compile(r"\b(?:struct|class)\s+(?:[A-Z0-9_]+\s+)?(\w+)\s*(?:final\s*)?(?::[^;{}]*)?\{")
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:?) [`']?([\w:]+\(?)")
#: Of a compiler's log: an error, or what it says of a candidate, and the line of the text that it shows.
_ERROR = re.compile(r"\b(?:error|note): (.*\n.*)")


def flags(prelude: str) -> tuple[str, ...]:
    """Return the flags with which torch's headers are light for texts of a prelude; none where they are whole.

    Example:
        >>> len(flags("aten")), len(flags("aten named")), flags("aten whole"), flags("stable")
        (1, 3, (), ())
    """
    if prelude.removesuffix(NAMED) not in LIGHT:
        return ()
    names = (f"-I{FOLDER.with_name('named')}", "-DAT_PER_OPERATOR_HEADERS=") if prelude.endswith(NAMED) else ()
    return (*names, f"-I{FOLDER}")


def compiled(job: Job, compile: Callable[[Job], _Result]) -> _Result:
    """Compile a job with torch's headers light where that will do, and with them whole where it does not, as its next edit is at once.

    Raises:
        RuntimeError: that of `compile`, which is called with the job or with one of whole headers.
    """
    wants_whole = "whole headers", job.name, job.prelude or ""
    if job.prelude not in LIGHT or not cache.marked(*wants_whole):
        try:
            return compile(job)
        except RuntimeError as error:
            if not may_be_cause_of(str(error), job):
                raise
    result = compile(whole(job))
    cache.mark(*wants_whole)
    return result


def named(job: Job) -> Job:
    """Return a job with those of torch's functions alone that its text names: without a precompiled header that halves it again.

    Words in comments and names of the text's own only add headers; a name that a macro puts together is missing, and the compiler says so.
    """
    words = set(_WORD.findall(_INCLUDE.sub("", job.text)))
    # Without torch's own, torch:: would have those of at::, which forget requires_grad.
    makes = "##" in job.text or not _factories().isdisjoint(_OF_TORCH.findall(job.text))
    defines = ("-DNAMES_VEC",) * ("vec" in words) + ("-DNAMES_FACTORIES",) * makes
    includes = (f"-includeATen/ops/{name}.h" for name in sorted(_operators() & words))
    return replace(job, prelude=f"{job.prelude}{NAMED}", flags=(*defines, *includes, *job.flags))


def whole(job: Job) -> Job:
    """Return a job with torch's headers whole."""
    return replace(job, prelude=f"{job.prelude}{WHOLE}")


def may_be_cause_of(log: str, job: Job) -> bool:
    """Tell from a log whether a text may want the headers whole: a name of torch's is undefined, or an error speaks of one left out."""
    # A function of torch's; a text's own is defined in neither headers.
    if job.prelude not in LIGHT or any(name.startswith(("at::", "c10::", "torch::")) for name in undefined_in(log)):
        return job.prelude in LIGHT
    left_out = _left_out(job.prelude or "", tuple(_INCLUDE.findall(job.text)))
    return any(left_out.intersection(_WORD.findall(error)) for error in _ERROR.findall(log))


def undefined_in(log: str) -> list[str]:
    """Name what a linker misses; a function of C++ has `(` after its name."""
    return _UNDEFINED.findall(log)


@lru_cache(maxsize=8)
def _left_out(prelude: str, included: Sequence[str]) -> frozenset[str]:
    """Name what headers have that are read when they are whole, and not when they are light."""
    roots = (*_INCLUDE.findall(prelude_text(prelude)), *included)
    light = _read(roots, (FOLDER, *_torchs()))
    others = {path: text for path, text in _read(roots, _torchs()).items() if path not in light}
    known = {word for text in light.values() for word in _WORD.findall(text)}
    words = {word for text in others.values() for word in _WORD.findall(text)} - known - _operators()
    return frozenset(words.union(*map(_DEFINED.findall, others.values())))


@lru_cache(maxsize=1)
def _factories() -> frozenset[str]:
    """Name what makes a tensor in namespace torch; the empty name stands for all of that."""
    text = (_torchs()[0] / "torch/csrc/autograd/generated/variable_factories.h").read_text(**UTF8)
    return frozenset({"", *re.findall(r"^inline \S+ (\w+)\(", text, re.MULTILINE)})


@lru_cache(maxsize=1)
def _operators() -> frozenset[str]:
    return frozenset(path.stem for path in (_torchs()[0] / "ATen/ops").glob("*.h"))


def _torchs() -> tuple[Path, ...]:
    from torch.utils.cpp_extension import include_paths

    return tuple(map(Path, include_paths()))


def _read(names: Sequence[str], folders: Sequence[Path]) -> dict[Path, str]:
    """Read headers with all that they include, whatever the conditions; without the operators', which are the same either way."""
    todo = list(names)
    seen: set[str] = set()
    found: dict[Path, str] = {}
    while todo:
        name = todo.pop()
        if name in seen or name.startswith("ATen/ops/"):
            continue
        seen.add(name)
        path = next((path for path in (folder / name for folder in folders) if path.is_file()), None)
        if path is not None:
            text = path.read_text(**UTF8)
            found[path] = _COMMENT.sub(" ", text)
            todo += _INCLUDE.findall(text)
    return found
