"""What can be written behind `%%kernel` and `%kernel`: one table each, for reading, for help and for completion."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.arguments import nearest, shown
from ..base.device import DEVICES
from ..errors import InputError
from ..model.registry import BINDINGS
from ..tables.timings import DIRECTIONS

KINDS = ("cpp", "cuda", "binding")
APIS = ("aten", "stable")

#: What a notebook shows of a help text without breaking its lines.
HELP_WIDTH = 96

_EXAMPLE = "axpy/mine"


@dataclass(frozen=True)
class Option:
    """One option of `%%kernel`.

    Attributes:
        name: with its dashes.
        takes: what stands behind it, `KERNEL`; with `...` one or more; nothing for a switch.
        help: what it does, in one line.
        choices: the words it may be given; empty for any.
    """

    name: str
    takes: str
    help: str
    choices: tuple[str, ...] = ()

    @property
    def many(self) -> bool:
        return self.takes.endswith("...")

    @property
    def usage(self) -> str:
        """How it is written: `--params NAME=NUMBER ...`."""
        return f"{self.name} {self.takes}".strip()


OPTIONS = (
    Option("--from", "KERNEL", "start with the params, slots, saves, flags and other texts of this kernel"),
    Option("--params", "NAME=NUMBER ...", "set params; those not named keep their value"),
    Option("--check", "", "then check it: parity, gradients, safety; a wrong kernel stops `Run all`"),
    Option("--benchmark", "", "then time it against the revision that it was edited from, or the reference"),
    Option(
        "--counts",
        "",
        "then count what its launches ask of the memory, beside the same; for a CUDA text, without a GPU",
    ),
    Option("--against", "KERNEL ...", "time it against these; means --benchmark, unless --counts is given"),
    Option(
        "--sizes",
        "SIZE ...",
        "time it at these sizes, such as 16,32,128, or `all` of the op's; default: the op's first one",
    ),
    Option(
        "--directions",
        "DIRECTION ...",
        "what to time: forward, backward, or both in one go; means --benchmark too",
        DIRECTIONS,
    ),
    Option("--seconds", "NUMBER", "how long to time each kernel at each size, about; means --benchmark too"),
    Option(
        "--device",
        "DEVICE",
        "cpu, cuda or cuda-cpu (CUDA source on the CPU); default: cpu, if it has a C++ text; else cuda, if there is a GPU",
        tuple(DEVICES),
    ),
    Option(
        "--kind",
        "KIND",
        "which text the cell is: cpp, cuda or binding; default: cuda for a CUDA device, or with a __global__",
        KINDS,
    ),
    Option("--saves", "NAME ...", "the inputs and outputs that `backward` is given; `--saves=` for none"),
    Option("--slots", "NAME=TEXT ...", "set slots; a text has no spaces here"),
    Option("--flags", "FLAG ...", "flags of the compiler, after the playground's own; `--flags=` for none"),
    Option("--api", "API", "aten or stable; default: what the includes say", APIS),
    Option("--binding", "BINDING", "the generated binding: torch_library or pybind11", BINDINGS),
)
BY_NAME = {option.name: option for option in OPTIONS}


def by_argument(options: Iterable[str]) -> dict[str, str]:
    """Return what is typed for each argument of our functions, by its name."""
    return {option.removeprefix("--"): option for option in options}


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
    seconds: float = 0.3
    directions: tuple[str, ...] = ()


def parse(line: str) -> CellOptions:
    """Read what stands behind `%%kernel`.

    Raises:
        InputError: no name or two, an unknown option, a missing or a wrong value; the message has the cure.

    Example:
        >>> parse("axpy/cpp --params GRAIN=1024 --check").params
        {'GRAIN': 1024}
    """
    names, given = _split(line)
    if not names:
        raise InputError(f"%%kernel: no kernel is named, want op/variant: %%kernel {_EXAMPLE}")
    if len(names) > 1:
        raise InputError(
            f"%%kernel: {', '.join(map(shown, names))}: want one name, and options behind it. Options: {_listed()}"
        )
    sizes = given.get("--sizes", ())
    timing = {"--benchmark", "--against", "--sizes", "--seconds", "--directions"} & set(given)
    one = {name: values[0] for name, values in given.items() if values}
    return CellOptions(
        name=names[0],
        source=one.get("--from", ""),
        kind=one.get("--kind", ""),
        device=one.get("--device", ""),
        params={name: _number(name, text) for name, text in _pairs("--params", given.get("--params", ()))},
        slots=dict(_pairs("--slots", given.get("--slots", ()))),
        saves=given.get("--saves"),
        flags=given.get("--flags"),
        api=one.get("--api"),
        binding=one.get("--binding"),
        check="--check" in given,
        benchmark="--benchmark" in given or (bool(timing) and "--counts" not in given),
        counts="--counts" in given,
        against=given.get("--against", ()),
        sizes=() if sizes == ("all",) else tuple(map(_size, sizes)),
        every_size=sizes == ("all",),
        seconds=_seconds(one["--seconds"]) if "--seconds" in one else CellOptions.seconds,
        directions=given.get("--directions", ()),
    )


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
    names, given = _split(line)
    wrong = next((word for word in (*names, *given) if word not in _HOW), None)
    if wrong is not None:
        raise InputError(f"{shown(wrong)} has no place in this field of the panel: it takes {', '.join(_HOW)}")
    found = parse(f"{_EXAMPLE} {line}")
    return {name.removeprefix("--"): getattr(found, name.removeprefix("--")) for name in given}


def _split(line: str) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Sort the words of a line into names and options with their values."""
    names: list[str] = []
    given: dict[str, tuple[str, ...]] = {}
    words = line.split()
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            names.append(require_plain(word))
            continue
        name, equals, value = word.partition("=")
        option = _option(name)
        if name in given:
            raise InputError(f"%%kernel: {name} is given twice")
        if equals and not value and name in ("--saves", "--flags"):
            given[name] = ()
            continue
        values = [value] * bool(equals)
        while words and option.takes and not words[0].startswith("--") and (option.many or not values):
            values.append(words.pop(0))
        given[name] = _values(option, values)
    return names, given


def _option(name: str) -> Option:
    if name in BY_NAME:
        return BY_NAME[name]
    near = suggestion(name, BY_NAME)
    raise InputError(f"%%kernel: no option {shown(name)}.{near} Options: {_listed()}")


def _values(option: Option, values: Sequence[str]) -> tuple[str, ...]:
    """Refuse too few values, a value of a switch, and a word that is not among the choices."""
    if not option.takes and values:
        raise InputError(f"%%kernel: {option.name} takes no value, got {shown(values[0])}")
    if option.takes and not values:
        raise InputError(f"%%kernel: {option.name} needs a value: {option.usage}")
    for value in values:
        if option.choices and value not in option.choices:
            near = suggestion(value, option.choices)
            raise InputError(f"%%kernel: {option.name} {shown(value)}, want one of {', '.join(option.choices)}.{near}")
    if option.name == "--saves" and (joined := next((value for value in values if "," in value), "")):
        names = " ".join(filter(None, joined.split(",")))
        raise InputError(f"%%kernel: --saves {shown(joined)}: names are separated by blanks: --saves {names}")
    if option.name not in ("--slots", "--flags"):
        values = [require_plain(value) for value in values]
    return tuple(values)


def require_plain(word: str, magic: str = "%%kernel") -> str:
    """Refuse a word in quotes: in a magic, names are written without.

    Example:
        >>> require_plain("'axpy/mine'")
        Traceback (most recent call last):
        lltm_inline.errors.InputError: %%kernel: 'axpy/mine' is in quotes; write it without: axpy/mine
    """
    plain = word.strip("'\"`\u201c\u201d\u2018\u2019")  # and as word processors write them
    if plain != word:
        raise InputError(f"{magic}: {word} is in quotes; write it without: {plain or _EXAMPLE}")
    return word


def suggestion(word: str, known: Iterable[str], likeness: float = 0.5) -> str:
    """Suggest the nearest of some words, as a sentence with a space ahead; nothing where none is near."""
    near = nearest(word, known, likeness)
    return f" Did you mean {near}?" if near else ""


def _listed() -> str:
    return ", ".join(BY_NAME)


def _pairs(option: str, words: Sequence[str]) -> list[tuple[str, str]]:
    """Split words such as `UNROLL=8`."""
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
        try:
            number: Any = read(text)
            if math.isfinite(number):
                return number
        except (ValueError, OverflowError):  # the second: an integer beyond all floating-point numbers
            continue
    raise InputError(f"%%kernel: --params {name}={text}, want a number, such as {name}=8")


def _size(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise InputError(f"%%kernel: --sizes {text}, want whole numbers with commas and no spaces: 16,32,128") from None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 3600:
        raise InputError(f"%%kernel: --seconds {text}, want a number above 0, such as 0.3")
    return seconds


def help_of_options() -> str:
    """Lay the options out as the rows of a help text."""
    return laid_out([(option.usage, option.help) for option in OPTIONS])


def laid_out(rows: Sequence[tuple[str, str]]) -> str:
    """Lay out what can be written beside what it does, in lines that a narrow window shows whole.

    Example:
        >>> print(laid_out([("show KERNEL", "show the source"), ("list", "list the kernels")]))
          show KERNEL  show the source
          list         list the kernels
    """
    width = max(len(word) for word, _ in rows)
    return "\n".join(
        textwrap.fill(
            text, HELP_WIDTH, initial_indent=f"  {word:<{width}}  ", subsequent_indent=" " * (width + 4),
            break_on_hyphens=False,
        )
        for word, text in rows
    )  # fmt: skip
