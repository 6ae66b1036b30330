"""What can be written behind `%%kernel`: a table, for reading, help and completion."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError, Namespace
from contextlib import suppress
from typing import Any

from ..base.arguments import shown
from ..base.device import DEVICES
from ..base.verbs import EXAMPLE, Option, duration, size, split, value_of
from ..errors import InputError
from ..model.registry import BINDINGS
from ..tables.timings import DIRECTIONS, GLANCE_SECONDS

KINDS = ("cpp", "cuda", "binding")
APIS = ("aten", "stable")


def _param(text: str) -> tuple[str, int | float]:
    """Read `UNROLL=8`."""
    name, _, value = text.rstrip(",").partition("=")
    for read in (int, float):
        with suppress(ValueError, OverflowError):  # the second: an integer beyond all floating-point numbers
            number: Any = read(value)
            if name and math.isfinite(number):
                return name, number
    raise ArgumentTypeError(f"{shown(text)}, want a number, such as {name or 'UNROLL'}=8")


def _slot(text: str) -> tuple[str, str]:
    """Read `TYPE=float`."""
    name, _, value = text.rstrip(",").partition("=")
    if not (name and value):
        raise ArgumentTypeError(f"{shown(text)}, want a text, such as {name or 'TYPE'}=float")
    return name, value


OPTIONS = (
    Option("--from", "KERNEL", "start with the params, slots, saves, flags and other texts of this kernel", default=""),
    Option("--params", "NAME=NUMBER ...", "set params; those not named keep their value", read=_param, default=()),
    Option("--check", "", "then check it: parity, gradients, safety; a wrong kernel stops `Run all`"),
    Option("--benchmark", "", "then time it against the revision that it was edited from, or the reference"),
    Option("--counts", "", "then count what its launches ask of the memory, beside the same; for a CUDA text, without a GPU"),
    Option("--against", "KERNEL ...", "time it against these; means --benchmark, unless --counts is given", default=()),
    Option("--sizes", "SIZE ...", "time it at these sizes, such as 16,32,128, or `all` of the op's; default: the op's first one",
           read=size, default=()),
    Option("--directions", "DIRECTION ...", "what to time: forward, backward, or both in one go; means --benchmark too", DIRECTIONS,
           default=()),
    Option("--seconds", "NUMBER", "how long to time each kernel at each size, about; means --benchmark too", read=duration,
           default=GLANCE_SECONDS),
    Option("--device", "DEVICE", "cpu, cuda or cuda-cpu (CUDA source on the CPU); default: cpu, if it has a C++ text; "
           "else cuda, if there is a GPU", tuple(DEVICES), default=""),
    Option("--kind", "KIND", "which text the cell is: cpp, cuda or binding; default: cuda for a CUDA device, or with a __global__",
           KINDS, default=""),
    Option("--saves", "NAME ...", "the inputs and outputs that `backward` is given; `--saves=` for none", empty=True),
    Option("--slots", "NAME=TEXT ...", "set slots; a text has no spaces here", read=_slot, quoted=True, default=()),
    Option("--flags", "FLAG ...", "flags of the compiler, after the playground's own; `--flags=` for none", quoted=True, empty=True),
    Option("--api", "API", "aten or stable; default: what the includes say", APIS),
    Option("--binding", "BINDING", "the generated binding: torch_library or pybind11", BINDINGS),
)  # fmt: skip
BY_NAME = {option.name: option for option in OPTIONS}


def parse(line: str) -> Namespace:
    """Read what stands behind `%%kernel`.

    Returns:
        The options by their names, and besides them

        * `name`: `op/variant`, maybe with the revision that the cell starts from;
        * `source`: label of the kernel behind `--from`, or nothing;
        * `every_size`: time at all sizes of the op; without it, no `sizes` stand for the first one.

        `benchmark` is also set by what only makes sense with it. `saves`, `flags`, `api` and `binding` are None where those of
        the kernel stay.

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
    if joined := next((word for word in given.get("--saves", ()) if "," in word), ""):
        apart = " ".join(filter(None, joined.split(",")))
        raise InputError(f"%%kernel: --saves {shown(joined)}: names are separated by blanks: --saves {apart}")
    timing = {"--benchmark", "--against", "--sizes", "--seconds", "--directions"} & set(given)
    if every := given.get("--sizes") == ("all",):
        del given["--sizes"]
    values = {each.argument: value_of(each, given.get(each.name), "%%kernel") for each in OPTIONS}
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    values |= {"params": dict(values["params"]), "slots": dict(values["slots"])}
    values["benchmark"] |= bool(timing) and not values["counts"]
    return Namespace(name=names[0], source=values.pop("from"), every_size=every, **values)


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
