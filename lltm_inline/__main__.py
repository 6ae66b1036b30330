"""The command line, `python -m lltm_inline VERB`: thin twins of the public functions.

Exit codes: 0 fine, 1 a wrong kernel or a gap in this machine, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import lltm_inline as li

from .base.above import aligned
from .base.arguments import did_you_mean, first_line
from .base.command_line import as_typed, in_options
from .base.packages import environment_command
from .base.verbs import MAGIC, Option, Verb, amount
from .compiling import cache
from .errors import DefinitionError, InputError, LltmInlineError, UnknownKernelError

FINE, WRONG, USAGE, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141
_DAY = 24 * 3600.0
_MIB = 2.0**20

#: What a message says to somebody who has the error object.
_LOG_OF_ERROR = r"\s+Full log: \.log of this error.*"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb of the command line.

    Args:
        arguments: words after the program's name; None takes those of this process.

    Returns:
        The exit code.

    Example:
        >>> main(["list", "lltm"])  # doctest: +ELLIPSIS
        lltm: ...
        0
    """
    if arguments is None:  # the process ends with it: going through all of torch for garbage takes a third of a second
        atexit.register(gc.freeze)
    if li.WITHOUT_TORCH:
        return _without_torch(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(arguments)
    try:
        with as_typed(options.parser.typed()):
            code: int = options.printer(options)
            sys.stdout.flush()
    except (UnknownKernelError, InputError, DefinitionError) as error:
        return _complain(error, USAGE)
    except (LltmInlineError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # The reader (head, less) has seen enough. Python would complain once more when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        return _complain(error, WRONG)
    except ModuleNotFoundError as error:  # torch is there, and a package that pip brings with this one is not
        return _complain(f"{error}\n  -> {environment_command()}", WRONG)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    return code


def _complain(error: object, code: int) -> int:
    # Nobody at a terminal holds the error, and so its log.
    print(f"lltm-inline: {re.sub(_LOG_OF_ERROR, '', str(error))}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """Reads the words of one verb, knows them afterwards, and asks whether the nearest was meant of those that it has."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.set_defaults(parser=self, is_wrong=lambda found: getattr(found, "wrong", not getattr(found, "ok", True)))

    def typed(self) -> dict[str, str]:
        """Return what is typed for each argument of the verb's function."""
        return {a.dest: (a.option_strings or [str(a.metavar or a.dest)])[-1] for a in self._actions}

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = did_you_mean(str(value), action.choices or ())
            raise argparse.ArgumentError(action, f"{error.message}.{near}") from None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, rest = super().parse_known_args(args, namespace)
        if rest:  # of this verb: who is asked about a word further out knows other options
            near = did_you_mean(rest[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(rest)}.{near}")
        return known, rest


def _without_torch(arguments: Sequence[str]) -> int:
    """Let the doctor speak, in plain text as there may be no rich either; everything else needs torch."""
    if list(arguments[:1]) == ["doctor"]:
        print(li.doctor())
        return WRONG
    return _complain(f"torch {li.WITHOUT_TORCH}\n  -> {environment_command()}", WRONG)


def _parser() -> argparse.ArgumentParser:
    from .judging.command import TABLE as JUDGING
    from .lab.command import VERBS as LAB
    from .lab.command import failed
    from .notebook.verbs import TABLE

    parser = _Parser(
        prog="lltm-inline",
        description="A playground for PyTorch kernels written inline.",
        epilog="The guided tour: python -m lltm_inline.demo",
    )
    parser.add_argument("--version", action="version", version=f"lltm-inline {li.__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for verb in TABLE:
        if verb.only != MAGIC:
            verb.add_to(verbs).set_defaults(printer=_PRINTERS.get(verb.name, _print))
    for verb in JUDGING:
        verb.add_to(verbs).set_defaults(printer=_tell)
    for name, said, those in (
        ("cache", "show, prune or clear the build cache", _CACHE),
        ("lab", "exercises: make them, hand them out, grade a class", LAB),
    ):
        inner = verbs.add_parser(name, help=said).add_subparsers(metavar="VERB", required=True)
        for verb in those:
            verb.add_to(inner).set_defaults(printer=_tell, **{"is_wrong": failed} if those is LAB else {})
    return parser


def _tell(options: argparse.Namespace) -> int:
    """Print what a verb finds, bit by bit; the exit code is that of the worst."""
    options.found = options.verb.run(options)
    code = FINE
    for one in options.found if isinstance(options.found, Iterator) else [options.found]:
        print(one, flush=True)
        code = max(code, getattr(one, "code", WRONG if options.is_wrong(one) else FINE))
    return code


def _print(options: argparse.Namespace) -> int:
    """Do the same, and write what is found where it is to go."""
    from .notebook.verbs import save

    code = _tell(options)
    save(options.found, options)
    return code


def _list(options: argparse.Namespace) -> int:
    for op in li.registry.ops.values() if options.op is None else [options.verb.run(options)]:
        print(f"{op.name}: {first_line(op.doc)}")
        kernels = [kernel for kernel in li.registry.values() if kernel.op == op.name]
        print(*aligned([(f"  {kernel.label}", first_line(kernel.doc)) for kernel in kernels]), sep="\n")
    return FINE


def _show(options: argparse.Namespace) -> int:
    from .notebook.verbs import files_of

    for number, (text, language) in enumerate(files_of(options)):
        if number and options.rendered:
            print()
        _print_source(text, language)
    return FINE


def _print_source(text: str, language: str) -> None:
    """Print with colours and line numbers in a terminal, and as it is in a pipe: what is written to a file compiles."""
    text = text.strip("\n")
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(text, language, line_numbers=True, theme="ansi_dark", background_color="default"))


def _history(options: argparse.Namespace) -> int:
    from .journal.recovery import recover
    from .notebook.verbs import save

    options.kernel = options.kernel.partition("@")[0]
    recovered = recover(options.kernel, every=True, own="")
    history = options.verb.run(options)
    print("\n".join([str(history), "", *recovered.notes]), flush=True)
    save(history, options)
    return FINE


def _export(options: argparse.Namespace) -> int:
    print(in_options(str(options.verb.run(options)), options.parser.typed()))
    return FINE


def _cache_show(_: argparse.Namespace) -> str:
    entries, form = cache.entries(), "{0.key:<24}  {1:8.1f} MiB  used {2:>12}  {0.what}"
    lines = [form.format(entry, entry.bytes / _MIB, _ago(entry.age_s)) for entry in entries]
    return "\n".join([*lines, f"{_sum(entries)} in {cache.cache_dir()}"])


def _ago(seconds: float) -> str:
    for unit, length in (("day", _DAY), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}s ago" if seconds >= 1.5 * length else f"1 {unit} ago"
    return "just now"


def _sum(entries: Sequence[cache.Entry]) -> str:
    noun = "entry" if len(entries) == 1 else "entries"
    return f"{len(entries)} {noun}, {sum(entry.bytes for entry in entries) / _MIB:.1f} MiB"


def _cache_prune(options: argparse.Namespace) -> str:
    if options.max_age_days is None and options.max_mib is None:
        raise InputError("cache prune: say what may stay, with --max-age-days N or --max-mib N")
    removed = cache.prune(
        max_age_s=None if options.max_age_days is None else options.max_age_days * _DAY,
        max_bytes=None if options.max_mib is None else options.max_mib * _MIB,
    )
    return f"removed {_sum(removed)}; left {_sum(cache.entries())}"


#: What is printed in another way than as `str`.
_PRINTERS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": _list, "show": _show, "history": _history, "export": _export,
}  # fmt: skip

_CACHE = (
    Verb("show", "list the entries", _cache_show),
    Verb("path", "print the directory", lambda _: cache.cache_dir()),
    Verb("clear", "remove everything", lambda _: f"removed {_sum(cache.clear())}"),
    Verb(
        *("prune", "remove what was not used for long, then the oldest", _cache_prune),
        options=(
            Option("--max-age-days", "N", "remove what was not used for N days", read=amount),
            Option("--max-mib", "N", "then remove the oldest until N MiB are left", read=amount),
        ),
    ),
)


if __name__ == "__main__":
    sys.exit(main())
