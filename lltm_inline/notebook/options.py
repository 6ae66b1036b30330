"""What can be written behind `%%kernel`: a table, for reading, help and completion."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..base.arguments import shown
from ..base.device import DEVICES
from ..base.verbs import EXAMPLE, Option, duration, size, split, value_of
from ..errors import InputError
from ..model.registry import BINDINGS
from ..tables.timings import DIRECTIONS, GLANCE_SECONDS

KINDS = ("cpp", "cuda", "binding")
APIS = ("aten", "stable")

OPTIONS = (
    Option("--from", "KERNEL", "start with the params, slots, saves, flags and other texts of this kernel"),
    Option("--params", "NAME=NUMBER ...", "set params; those not named keep their value"),
    Option("--check", "", "then check it: parity, gradients, safety; a wrong kernel stops `Run all`"),
    Option("--benchmark", "", "then time it against the revision that it was edited from, or the reference"),
    Option("--counts", "", "then count what its launches ask of the memory, beside the same; for a CUDA text, without a GPU"),
    Option("--against", "KERNEL ...", "time it against these; means --benchmark, unless --counts is given"),
    Option("--sizes", "SIZE ...", "time it at these sizes, such as 16,32,128, or `all` of the op's; default: the op's first one",
           read=size),
    Option("--directions", "DIRECTION ...", "what to time: forward, backward, or both in one go; means --benchmark too", DIRECTIONS),
    Option("--seconds", "NUMBER", "how long to time each kernel at each size, about; means --benchmark too", read=duration),
    Option("--device", "DEVICE", "cpu, cuda or cuda-cpu (CUDA source on the CPU); default: cpu, if it has a C++ text; "
           "else cuda, if there is a GPU", tuple(DEVICES)),
    Option("--kind", "KIND", "which text the cell is: cpp, cuda or binding; default: cuda for a CUDA device, or with a __global__",
           KINDS),
    Option("--saves", "NAME ...", "the inputs and outputs that `backward` is given; `--saves=` for none", empty=True),
    Option("--slots", "NAME=TEXT ...", "set slots; a text has no spaces here", quoted=True),
    Option("--flags", "FLAG ...", "flags of the compiler, after the playground's own; `--flags=` for none", quoted=True, empty=True),
    Option("--api", "API", "aten or stable; default: what the includes say", APIS),
    Option("--binding", "BINDING", "the generated binding: torch_library or pybind11", BINDINGS),
)  # fmt: skip
BY_NAME = {option.name: option for option in OPTIONS}


@dataclass(frozen=True)
class CellOptions:
    """What a line behind `%%kernel` says.

    Attributes:
        name: `op/variant`, maybe with the revision that the cell starts from.
        source: label of the kernel behind `--from`, or nothing.
        kind: which text the cell is; nothing for what the device and the kernel suggest.
        device: where to build and run it; nothing for what the kernel has a text for.
        saves, flags, api, binding: None where the kernel's own stay; empty for none.
        benchmark: also where `--against`, `--sizes` or `--seconds` is given, and no `--counts`.
        counts: count what it asks of the memory.
        against: labels; empty for the revision that it was edited from.
        sizes: at which to time or count; empty for the first of the op's own.
        every_size: time at all sizes of the op.
        directions: what to time; empty for what `benchmark` times.
    """

    name: str
    source: str = ""
    kind: str = ""
    device: str = ""
    params: Mapping[str, int | float] = field(default_factory=dict)
    slots: Mapping[str, str] = field(default_factory=dict)
    saves: tuple[str, ...] | None = None
    flags: tuple[str, ...] | None = None
    api: str | None = None
    binding: str | None = None
    check: bool = False
    benchmark: bool = False
    counts: bool = False
    against: tuple[str, ...] = ()
    sizes: tuple[tuple[int, ...], ...] = ()
    every_size: bool = False
    seconds: float = GLANCE_SECONDS
    directions: tuple[str, ...] = ()


def parse(line: str) -> CellOptions:
    """Read what stands behind `%%kernel`.

    Raises:
        InputError: no name or two, an unknown option, a missing or a wrong value; the message has the cure.

    Example:
        >>> parse("axpy/cpp --params GRAIN=1024 --check").params
        {'GRAIN': 1024}
    """
    names, given = split(line.split(), BY_NAME, "%%kernel")
    if not names:
        raise InputError(f"%%kernel: no kernel is named, want op/variant: %%kernel {EXAMPLE}")
    if len(names) > 1:
        raise InputError(
            f"%%kernel: {', '.join(map(shown, names))}: want one name, and options after it. Options: {', '.join(BY_NAME)}"
        )
    sizes = given.get("--sizes", ())
    if joined := next((word for word in given.get("--saves", ()) if "," in word), ""):
        apart = " ".join(filter(None, joined.split(",")))
        raise InputError(f"%%kernel: --saves {shown(joined)}: names are separated by blanks: --saves {apart}")
    timing = {"--benchmark", "--against", "--sizes", "--seconds", "--directions"} & set(given)
    every = sizes == ("all",)
    read = (each for each in OPTIONS if each.name in given and not (every and each.name == "--sizes"))
    values: dict[str, Any] = {each.argument: value_of(each, given[each.name], "%%kernel") for each in read}
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    values |= {
        "params": {name: _number(name, text) for name, text in _pairs("--params", given.get("--params", ()))},
        "slots": dict(_pairs("--slots", given.get("--slots", ()))),
        "benchmark": "--benchmark" in given or (bool(timing) and "--counts" not in given),
    }
    return CellOptions(names[0], values.pop("from", ""), every_size=every, **values)


#: What the panel has no control for.
_HOW = ("--sizes", "--seconds", "--directions", "--flags")


def parse_how(line: str) -> dict[str, Any]:
    """Read how to build and time: the options of `%%kernel` that the panel takes in a field.

    Returns:
        Those that are given, by name; `sizes` is empty for all of the op's.

    Raises:
        InputError: as for `parse`, or another option.

    Example:
        >>> parse_how("--sizes 16,32,128 --seconds 0.1")
        {'sizes': ((16, 32, 128),), 'seconds': 0.1}
    """
    names, given = split(line.split(), BY_NAME, "%%kernel")
    wrong = next((word for word in (*names, *given) if word not in _HOW), None)
    if wrong is not None:
        raise InputError(f"{shown(wrong)} has no place in this field of the panel: it takes {', '.join(_HOW)}")
    found = parse(f"{EXAMPLE} {line}")
    return {name.removeprefix("--"): getattr(found, name.removeprefix("--")) for name in given}


def _pairs(option: str, words: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for word in words:
        name, equals, value = word.rstrip(",").partition("=")
        if not (name and equals and value):
            example = "UNROLL=8" if option == "--params" else "TYPE=float"
            raise InputError(f"%%kernel: {option} {shown(word)}, want {BY_NAME[option].takes}, such as {example}")
        pairs.append((name, value))
    return pairs


def _number(name: str, text: str) -> int | float:
    for read in (int, float):
        with suppress(ValueError, OverflowError):  # the second: an integer beyond all floating-point numbers
            number: Any = read(text)
            if math.isfinite(number):
                return number
    raise InputError(f"%%kernel: --params {name}={text}, want a number, such as {name}=8")
