"""A catalogue of cheats that can be made for any exercise out of its own solution: each must lose points there.

An act is put before a right computation: what it does beside that must not be possible. A trick stands between the caller and
the right computation, and is wrong by it. What all this rests on is in `sandbox`, `symbols` and `judge` of `lltm_inline.lab`.

Sources: the cheats that were tried on KernelBench, GPU MODE's kernelbot and pygpubench, nbgrader, Gradescope and kjudge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lltm_inline.cpp.functions import Function, find_function
from lltm_inline.lab.lab import Exercise
from tests.planted.cheats import HERE, scoped
from tests.texts import texts_in


@dataclass(frozen=True)
class Cheat:
    """A text that must not have full points.

    Attributes:
        name: of the cheat.
        text: of it.
        why: it must fall.
        says: words of the reason that it must get; empty for any, where it is run.
    """

    name: str
    text: str
    why: str
    says: str = ""


#: Makes one element wrong.
_SPOIL = """
inline at::Tensor& first_of_(at::Tensor& one) { return one; }
template <class T> at::Tensor& first_of_(T& all) { return std::get<0>(all); }
template <class T> void spoil_(T& result) {
  at::Tensor& one = first_of_(result);
  if (one.numel()) static_cast<unsigned char*>(one.mutable_data_ptr())[3] ^= 0x40;
}
"""
#: Each has what stands at file scope, and, of an act, which `says` words of the reason that it must get, what stands at the start of
#: forward, or, of a trick, with `why` it must fall, the body of the new forward. RETURNS, FIRST and CALL are replaced.
_ALL = [*texts_in(HERE / "catalogue.txt", (), ["says", "why", "forbid"])]
#: An argument that is a tensor, and what returns one first.
_TENSOR = re.compile(r"(?:const\s+)?(?:\w+::)*Tensor\s*&?")
_RETURNS = re.compile(r"(?:std::tuple<\s*)?(?:\w+::)*Tensor\b")


def cheats(exercise: Exercise, solution: str) -> tuple[Cheat, ...]:
    """Make the catalogue for one exercise.

    Args:
        exercise: whose limits on ATen hold.
        solution: a right text, in C++ with ATen, that takes a tensor and returns one first; of any other only what stands ahead
            of it is tried.

    Returns:
        Texts that must not have full points, each with the reason.
    """
    name = exercise.settings.get("functions", ("forward",))[0]
    forward = find_function(solution, name)
    # Tricks look at the bytes of tensors, which only ATen's show.
    arguments = zip(forward.types, forward.names, strict=True) if forward and "torch::stable" not in solution else ()
    first = next((argument for kind, argument in arguments if _TENSOR.fullmatch(kind)), "")
    found = []
    for one in _ALL:
        scope, rest = scoped(one)
        body = rest.body.removesuffix("\n").replace("FIRST", first or "FIRST")
        if "why" in one.said:
            if forward is not None and first and _RETURNS.match(forward.returns):
                text = _wrapped(solution, name, forward, body, _SPOIL)
                found.append(Cheat(one.name, f"{scope}\n{text}", one.said["why"]))
            continue
        [says] = one.words("says")
        if not set(one.words("forbid")) <= {*exercise.forbid}:
            continue
        if not body:
            found.append(Cheat(one.name, f"{scope}\n{solution}", says, says))
        elif forward is not None and "FIRST" not in body:
            wrapped = _wrapped(solution, name, forward, f"{body}\n  return CALL;")
            found.append(Cheat(one.name, f"{scope}\n{wrapped}", says, says))
    return tuple(found)


def _wrapped(solution: str, name: str, forward: Function, body: str, scope: str = "") -> str:
    """Give the function of the solution another name, and write one in its place that calls it."""
    honest = f"honest_{name}"
    head = ", ".join(f"{kind} {one}" for kind, one in zip(forward.types, forward.names, strict=True))
    body = body.replace("RETURNS", forward.returns).replace("CALL", f"{honest}({', '.join(forward.names)})")
    renamed = re.sub(rf"\b{name}\b(?=\s*\()", honest, solution)
    return f"{renamed}\n{scope}{forward.returns} {name}({head}) {{\n  {body}\n}}\n"
