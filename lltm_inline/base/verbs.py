"""What can be typed behind a command or a magic: a row for each verb and each option, for reading, help and completion.

A command reads its words by argparse (`add_to`), a magic by `split`; what a verb does gets the same values from both.
"""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import InputError
from .arguments import nearest, shown

#: What a notebook shows of a help text without breaking its lines.
HELP_WIDTH = 96

#: Where a verb or an option can be typed alone.
COMMAND, MAGIC = "command", "magic"

#: A name of a kernel, where a message or a help text needs one.
EXAMPLE = "axpy/mine"


@dataclass(frozen=True)
class Option:
    """What can be typed behind a verb: an option, or what stands in its place without one, the name of a kernel.

    Attributes:
        name: with its dashes; without any where no option is meant.
        takes: what stands behind it, `KERNEL`; with `...` one or more; nothing for a switch.
        help: what it does, in one line.
        choices: the words it may be given; empty for any.
        read: turns a word into a value.
        default: the value where it is not given; a switch has False.
        needed: whether it must be given.
        only: `COMMAND` or `MAGIC`, where it belongs to one of these.
        apart: name of a group of which one alone can be given.
        quoted: whether a word may have quotes, which are a part of it.
        empty: whether it can be given with nothing, `--flags=`.
    """

    name: str
    takes: str
    help: str
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] = str
    default: Any = None
    needed: bool = False
    only: str = ""
    apart: str = ""
    quoted: bool = False
    empty: bool = False

    @property
    def many(self) -> bool:
        return self.takes.endswith("...")

    @property
    def usage(self) -> str:
        """How it is written: `--params NAME=NUMBER ...`."""
        return f"{self.name} {self.takes}".strip()

    @property
    def argument(self) -> str:
        """The name of what it gives to a function."""
        return self.name.lstrip("-").replace("-", "_")

    def add_to(self, parser: Any) -> None:
        """Let a parser of a command know it."""
        how: dict[str, Any] = {"help": self.help}
        if not self.takes and self.name.startswith("-"):
            parser.add_argument(self.name, action="store_true", **how)
            return
        how |= {"type": self.read, "choices": self.choices or None, "default": self.default}
        how["metavar"] = None if self.choices else self.takes.removesuffix(" ...") or None
        if self.name.startswith("-"):
            parser.add_argument(self.name, nargs="+" if self.many else None, required=self.needed, **how)
        else:
            many = "+" if self.needed else "*"
            parser.add_argument(self.name, nargs=many if self.many else None if self.needed else "?", **how)


@dataclass(frozen=True)
class Verb:
    """One verb of a command, of a magic, or of both.

    Attributes:
        name: the word.
        help: what it does, in one line.
        run: called with all values by name, of a magic also with `next_cell`; returns what is shown. An iterator gives it bit by bit.
        words: what is typed behind it without dashes.
        options: those that it knows.
        only: `COMMAND` or `MAGIC`, where it belongs to one of these.
    """

    name: str
    help: str
    run: Callable[[Any], Any]
    words: tuple[Option, ...] = ()
    options: tuple[Option, ...] = ()
    only: str = ""

    @property
    def takes(self) -> str:
        """What stands behind it in a magic: names and switches."""
        words = [each.takes if each.needed else f"[{each.takes}]" for each in self.words]
        needed = [each.usage for each in self.known.values() if each.needed]
        switches = [f"[{each.name}]" for each in self.known.values() if not each.takes]
        return " ".join((" ".join(words).replace("OP/VARIANT", "KERNEL"), *needed, *switches)).strip()

    @property
    def known(self) -> dict[str, Option]:
        """The options of the magic, by name."""
        return {each.name: each for each in self.options if each.only != COMMAND}

    def add_to(self, verbs: Any) -> ArgumentParser:
        """Let a command know it."""
        parser: ArgumentParser = verbs.add_parser(self.name, help=self.help)
        groups: dict[str, Any] = {}
        for each in (*self.words, *self.options):
            if each.apart and each.apart not in groups:
                groups[each.apart] = parser.add_mutually_exclusive_group()
            if each.only != MAGIC:
                each.add_to(groups.get(each.apart, parser))
        parser.set_defaults(verb=self)
        return parser

    def read(self, words: Sequence[str], magic: str) -> Namespace:
        """Read what stands behind it in a magic.

        Raises:
            InputError: an option that it has not, a value that is none, names missing or too many.
        """
        where = f"{magic} {self.name}"
        names, given = split(words, self.known, where)
        least, most = sum(each.needed for each in self.words), len(self.words)
        many = bool(self.words) and self.words[-1].many
        if not least <= len(names) or (len(names) > most and not many):
            fault = "no" if len(names) < least else "too many"
            raise InputError(f"{where}: {fault} names: {where} {self.takes}")
        values: dict[str, Any] = {}
        for number, word in enumerate(self.words):
            values[word.argument] = names[number:] if word.many else names[number] if number < len(names) else None
        for each in self.options:
            if each.name in given or not each.needed:
                values[each.argument] = value_of(each, given.get(each.name), where)
            else:
                raise InputError(f"{where}: it needs {each.usage}")
        return Namespace(**values)


def value_of(option: Option, words: Sequence[str] | None, where: str) -> Any:
    """Turn what is typed behind an option into its value.

    Raises:
        InputError: it is none.
    """
    if words is None:
        return option.default if option.takes else False
    if not option.takes:
        return True
    try:
        values = [option.read(word) for word in words]
    except ArgumentTypeError as error:
        raise InputError(f"{where}: {option.name}: {error}") from None
    return values if option.many else values[0]


def split(
    words: Sequence[str], options: Mapping[str, Option], where: str
) -> tuple[list[str], dict[str, tuple[str, ...]]]:
    """Sort the words behind a magic into names, and options with their values.

    Raises:
        InputError: an unknown option, one that is given twice, too few values, or one that is none of its choices.
    """
    names: list[str] = []
    given: dict[str, tuple[str, ...]] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            names.append(require_plain(word, where))
            continue
        name, equals, value = word.partition("=")
        if name not in options:
            known = f" Options: {', '.join(options)}" if options else " It has none"
            raise InputError(f"{where}: no option {shown(name)}.{suggestion(name, options)}{known}")
        option = options[name]
        if name in given:
            raise InputError(f"{where}: {name} is given twice")
        if equals and not value and option.empty:
            given[name] = ()
            continue
        values = [value] * bool(equals)
        while left and option.takes and not left[0].startswith("--") and (option.many or not values):
            values.append(left.pop(0))
        given[name] = _checked(option, values, where)
    return names, given


def _checked(option: Option, values: Sequence[str], where: str) -> tuple[str, ...]:
    """Refuse too few values, a value of a switch, and a word that is not among the choices."""
    if not option.takes and values:
        raise InputError(f"{where}: {option.name} takes no value, got {shown(values[0])}")
    if option.takes and not values:
        raise InputError(f"{where}: {option.name} needs a value: {option.usage}")
    for value in values:
        if option.choices and value not in option.choices:
            near = suggestion(value, option.choices)
            raise InputError(f"{where}: {option.name} {shown(value)}, want one of {', '.join(option.choices)}.{near}")
    return tuple(value if option.quoted else require_plain(value, where) for value in values)


def require_plain(word: str, where: str = "%%kernel") -> str:
    """Refuse a word in quotes: in a magic, names are written without.

    Example:
        >>> require_plain("'axpy/mine'")
        Traceback (most recent call last):
        lltm_inline.errors.InputError: %%kernel: 'axpy/mine' is in quotes; write it without: axpy/mine
    """
    plain = word.strip("'\"`\u201c\u201d\u2018\u2019")  # and as word processors write them
    if plain != word:
        raise InputError(f"{where}: {word} is in quotes; write it without: {plain or EXAMPLE}")
    return word


def suggestion(word: str, known: Iterable[str], likeness: float = 0.5) -> str:
    """Suggest the nearest of some words, as a sentence with a space ahead; nothing where none is near."""
    near = nearest(word, known, likeness)
    return f" Did you mean {near}?" if near else ""


def by_argument(options: Iterable[Option]) -> dict[str, str]:
    """Return what is typed for each argument of our functions, by its name."""
    return {option.argument: option.name for option in options}


def laid_out(rows: Sequence[tuple[str, str]]) -> str:
    """Lay out what can be written beside what it does, in lines that a narrow window shows whole.

    Example:
        >>> print(laid_out([("show KERNEL", "show the source"), ("list", "list the kernels")]))
          show KERNEL  show the source
          list         list the kernels
    """
    width = max(len(word) for word, _ in rows)
    fill = partial(textwrap.fill, width=HELP_WIDTH, subsequent_indent=" " * (width + 4), break_on_hyphens=False)
    return "\n".join(fill(text, initial_indent=f"  {word:<{width}}  ") for word, text in rows)


def size(text: str) -> tuple[int, ...]:
    """Read numbers between commas, or refuse with an ArgumentTypeError, as the readers below do."""
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no size; write whole numbers with commas: 16,32,128") from None


def amount(text: str) -> float:
    """Read a number of 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0:
        raise ArgumentTypeError(f"{text!r} is no number of 0 or more")
    return number


def duration(text: str) -> float:
    """Read a time in seconds, of which something can be measured."""
    if not 0 < (seconds := amount(text)) < 3600:
        raise ArgumentTypeError(f"{text!r} is no time in seconds, such as 0.3")
    return seconds


def count(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no whole number") from None


def output(text: str) -> Path:
    """Check before a minute of timing whether its result can be written."""
    path = Path(text)
    if not path.parent.is_dir():
        raise ArgumentTypeError(f"no directory {str(path.parent)!r}")
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a directory")
    return path


def picture(text: str) -> Path:
    """Check likewise whether a picture can be written."""
    path = output(text)
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise ArgumentTypeError(f"{text!r} ends in none of .png, .svg, .pdf")
    return path


def content(text: str) -> str:
    """Read the file of that name."""
    try:
        return Path(text).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentTypeError(f"{text!r} cannot be read: {error}") from None
