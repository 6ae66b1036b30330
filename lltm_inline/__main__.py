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
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lltm_inline as li

from .base.arguments import did_you_mean, first_line, offer
from .base.command_line import as_typed, in_options
from .base.device import DEVICES
from .base.packages import environment_command
from .errors import DefinitionError, InputError, LltmInlineError, UnknownKernelError

if TYPE_CHECKING:
    from .compiling.cache import Entry
    from .model.kernel import Kernel
    from .tables.counts import Counts
    from .tables.timings import Timings

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
            code: int = options.run(options)
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
        self.set_defaults(parser=self)

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
    parser = _Parser(
        prog="lltm-inline",
        description="A playground for PyTorch kernels written inline.",
        epilog="The guided tour: python -m lltm_inline.demo",
    )
    parser.add_argument("--version", action="version", version=f"lltm-inline {li.__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    verb = verbs.add_parser("list", help="list ops and their kernels")
    verb.add_argument("op", nargs="?", help="only the kernels of this op")
    verb.set_defaults(run=_list)

    verb = verbs.add_parser("show", help="print the source of a kernel")
    verb.add_argument("kernel", metavar="OP/VARIANT")
    what = verb.add_mutually_exclusive_group()
    what.add_argument("--binding", action="store_true", help="the C++ that binds it to PyTorch instead")
    what.add_argument("--rendered", action="store_true", help="the complete files that are compiled instead")
    verb.add_argument(
        "--device", choices=tuple(DEVICES), help="for --binding and --rendered, where a kernel has texts for both"
    )
    verb.set_defaults(run=_show)

    verb = verbs.add_parser("check", help="compare kernels and their gradients with the reference")
    verb.add_argument(
        "kernels", metavar="OP/VARIANT", nargs="*", help="or FILE.py:OP/VARIANT, or FILE.py for all that it registers"
    )
    verb.add_argument("--all", action="store_true", help="every kernel, each as far as this machine goes, and a table")
    verb.add_argument("--device", default="cpu", help="cpu (default), cuda, or cuda-cpu: CUDA source on the CPU")
    verb.set_defaults(run=_check)

    verb = verbs.add_parser("benchmark", help="check kernels, time them against each other, and plot")
    verb.add_argument("kernels", metavar="OP/VARIANT", nargs="+", help="baseline: OP/python, else the first")
    verb.add_argument("--sizes", metavar="SIZE", nargs="+", type=_size, help="such as 16,32,128 64,1024,128")
    verb.add_argument("--device", default="cpu", help="cpu (default), cuda, or cuda-cpu: CUDA source on the CPU")
    verb.add_argument("--seconds", metavar="N", type=_amount, default=1.0, help="for each kernel and size (default 1)")
    verb.add_argument("--json", metavar="FILE", type=_output, help="write the timings there")
    verb.add_argument("--csv", metavar="FILE", type=_output, help="write the rows there")
    verb.add_argument("--plot", metavar="FILE", type=_picture, help="save the plot there (.png, .svg, .pdf)")
    verb.set_defaults(run=_benchmark)

    verb = verbs.add_parser(
        "counts", help="count what the launches of CUDA kernels ask of the memory; no GPU is needed"
    )
    verb.add_argument("kernels", metavar="OP/VARIANT", nargs="+", help="baseline: the first")
    verb.add_argument("--sizes", metavar="SIZE", nargs="+", type=_size, help="such as 1024 or 64,64,64")
    verb.add_argument("--json", metavar="FILE", type=_output, help="write the counts there")
    verb.add_argument("--csv", metavar="FILE", type=_output, help="write the rows there")
    verb.add_argument("--plot", metavar="FILE", type=_picture, help="save the picture there (.png, .svg, .pdf)")
    verb.set_defaults(run=_counts)

    verb = verbs.add_parser("asm", help="show the machine code of a kernel's loops beside its lines")
    verb.add_argument("kernel", metavar="OP/VARIANT")
    verb.add_argument("other", metavar="OP/VARIANT", nargs="?", help="one whose loops to compare with")
    verb.add_argument("--device", choices=DEVICES, help="of its texts; default: the first that it has one for")
    verb.add_argument("--remarks", action="store_true", help="also what the compiler did with each line, or why not")
    verb.add_argument("--hot", action="store_true", help="also to which lines the time goes, by samples of perf")
    verb.set_defaults(run=_asm)

    verb = verbs.add_parser("roofline", help="time kernels, and say how far that is from what this machine can do")
    verb.add_argument("kernels", metavar="OP/VARIANT", nargs="+")
    verb.add_argument("--sizes", metavar="SIZE", nargs="+", type=_size, help="such as 16,32,128 64,1024,128")
    verb.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    verb.add_argument("--seconds", metavar="N", type=_amount, default=1.0, help="for each kernel and size (default 1)")
    verb.add_argument("--plot", metavar="FILE", type=_picture, help="save the picture there (.png, .svg, .pdf)")
    verb.set_defaults(run=_roofline)

    verb = verbs.add_parser(
        "history", help="list what notebooks have made of a kernel, right or wrong, and how fast each was"
    )
    verb.add_argument("kernel", metavar="OP/VARIANT")
    verb.add_argument("--plot", metavar="FILE", type=_picture, help="save the picture there (.png, .svg, .pdf)")
    verb.set_defaults(run=_history)

    _add_export(verbs.add_parser("export", help="write a kernel out as a project that needs no lltm_inline"))

    verb = verbs.add_parser("doctor", help="say what this machine can do, and what mends the gaps")
    verb.set_defaults(run=_doctor)

    _add_cache(verbs.add_parser("cache", help="show, prune or clear the build cache"))

    from .lab.command import add_verbs

    add_verbs(verbs.add_parser("lab", help="exercises: make them, hand them out, grade a class"))
    return parser


def _add_export(parser: argparse.ArgumentParser) -> None:
    from .export.plan import HOWS

    parser.add_argument("kernel", metavar="OP/VARIANT", help="or an op, for its fused or C++ variant")
    parser.add_argument("--to", metavar="DIR", required=True, help="a directory that does not exist or is empty")
    parser.add_argument("--how", choices=HOWS, default=HOWS[0], help=f"what builds it (default {HOWS[0]})")
    parser.add_argument("--name", metavar="NAME", help="of the package (default OP_VARIANT)")
    parser.add_argument(
        "--header", metavar="FILE", type=_text_of, help="for the top of every file; comment signs are added"
    )
    parser.add_argument("--device", choices=tuple(DEVICES), help="only this one, where a kernel has texts for both")
    parser.add_argument(
        "--extras", metavar="SHAPE", nargs="+", help="of the extra tensors, such as 'B 3S', where no GPU can tell"
    )
    parser.add_argument("--no-check", action="store_true", help="export it unchecked, or wrong")
    parser.add_argument("--force", action="store_true", help="move what is in DIR to a directory beside it")
    parser.set_defaults(run=_export)


def _add_cache(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    verbs.add_parser("show", help="list the entries").set_defaults(run=_cache_show)
    verbs.add_parser("path", help="print the directory").set_defaults(run=_cache_path)
    verbs.add_parser("clear", help="remove everything").set_defaults(run=_cache_clear)
    verb = verbs.add_parser("prune", help="remove what was not used for long, then the oldest")
    verb.add_argument("--max-age-days", metavar="N", type=_amount, help="remove what was not used for N days")
    verb.add_argument("--max-mib", metavar="N", type=_amount, help="then remove the oldest until N MiB are left")
    verb.set_defaults(run=_cache_prune)


def _size(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write whole numbers with commas: 16,32,128") from None


def _amount(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 0 or more")
    return number


def _output(text: str) -> Path:
    """Check before a minute of timing whether its result can be written."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"no directory {str(path.parent)!r}")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a directory")
    return path


def _picture(text: str) -> Path:
    path = _output(text)
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise argparse.ArgumentTypeError(f"{text!r} ends in none of .png, .svg, .pdf")
    return path


def _text_of(text: str) -> str:
    try:
        return Path(text).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read: {error}") from None


def _list(options: argparse.Namespace) -> int:
    if options.op is not None and options.op not in li.registry.ops:
        raise UnknownKernelError(f"no op {options.op!r}.{offer(options.op, li.registry.ops)}")
    for op in li.registry.ops.values():
        if options.op not in (None, op.name):
            continue
        print(f"{op.name}: {first_line(op.doc)}")
        kernels = [kernel for kernel in li.registry.values() if kernel.op == op.name]
        width = max(len(kernel.label) for kernel in kernels)
        for kernel in kernels:
            print(f"  {kernel.label:<{width}}  {first_line(kernel.doc)}".rstrip())
    return FINE


def _show(options: argparse.Namespace) -> int:
    import inspect

    kernel = li.registry[options.kernel]
    if kernel.python is not None:
        if options.binding or options.rendered:
            raise InputError(f"kernel {kernel.label!r} is a Python function: it has no binding and nothing is rendered")
        _print_source(inspect.getsource(kernel.python), "python")
    elif options.binding or options.rendered:
        _show_rendered(kernel, options)
    else:
        for kind, text in kernel.sources.items():
            # One text is printed as it is; of several each needs its name.
            name = f"// {kernel.label} ({kind})\n" if len(kernel.sources) > 1 else ""
            _print_source(name + text.strip("\n"), "cpp")
    return FINE


def _show_rendered(kernel: Kernel, options: argparse.Namespace) -> None:
    """Print the files that are compiled for a kernel, or the binding in them."""
    from .source.template import devices_of, render

    rendered = render(kernel, li.registry.op_of(kernel), options.device or devices_of(kernel)[0])
    if options.binding:
        _print_source(rendered.sources[f"{kernel.name} (binding)"], "cpp")
        return
    _print_source(rendered.text, "cpp")
    if rendered.cuda:
        print()
        _print_source(rendered.cuda, "cuda")


def _print_source(text: str, language: str) -> None:
    """Print with colours and line numbers in a terminal, and as it is in a pipe: what is written to a file compiles."""
    text = text.strip("\n")
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(text, language, line_numbers=True, theme="ansi_dark", background_color="default"))


def _check(options: argparse.Namespace) -> int:
    if bool(options.kernels) == options.all:
        options.parser.error("the following arguments are required: OP/VARIANT, or --all in its place")
    if options.all:
        return _check_all(options.device)
    # All names first: a typing mistake in the last one should not show after a minute.
    from .model.own_file import kernels_of

    kernels = [kernel for word in options.kernels for kernel in kernels_of(word)]
    code = FINE
    for kernel in kernels:
        report = li.check(kernel, device=options.device)
        print(report, flush=True)
        if not report.ok:
            code = WRONG
    return code


def _check_all(device: str) -> int:
    from .checking.check_many import check_many, table

    rows = []
    for row in check_many(list(li.registry.values()), device):
        rows.append(row)
        if not row.ok:
            print(row.details, flush=True)
    print(table(rows), flush=True)
    return FINE if all(row.ok for row in rows) else WRONG


def _benchmark(options: argparse.Namespace) -> int:
    kernels = [li.registry[name] for name in options.kernels]
    return _found(li.benchmark(kernels, sizes=options.sizes, device=options.device, seconds=options.seconds), options)


def _counts(options: argparse.Namespace) -> int:
    return _found(li.counts([li.registry[name] for name in options.kernels], options.sizes), options)


def _asm(options: argparse.Namespace) -> int:
    more = {"remarks": options.remarks, "hot": options.hot}
    print(li.assembly(options.kernel, options.other, device=options.device, **more), flush=True)
    return FINE


def _roofline(options: argparse.Namespace) -> int:
    kernels = [li.registry[name] for name in options.kernels]
    found = li.roofline(li.benchmark(kernels, sizes=options.sizes, device=options.device, seconds=options.seconds))
    print(found, flush=True)
    if options.plot:
        li.plot(found).savefig(options.plot)
    return FINE


def _history(options: argparse.Namespace) -> int:
    from .journal.recovery import look

    name = options.kernel.partition("@")[0]
    recovered = look(name)
    history = li.registry.history(name)
    print("\n".join([str(history), "", *recovered.notes]), flush=True)
    if options.plot:
        li.plot(history).savefig(options.plot)
    return FINE


def _found(table: Timings | Counts, options: argparse.Namespace) -> int:
    """Print a table of measurements, and write it where it is to go."""
    print(table, flush=True)
    if options.json:
        table.to_json(options.json)
    if options.csv:
        table.to_csv(options.csv)
    if options.plot:
        li.plot(table).savefig(options.plot)
    return FINE


def _export(options: argparse.Namespace) -> int:
    exported = li.export(
        options.kernel,
        options.to,
        options.how,
        name=options.name,
        header=options.header or "",
        extras=options.extras,
        device=options.device,
        check=not options.no_check,
        force=options.force,
    )
    print(in_options(str(exported), options.parser.typed()))
    return FINE


def _doctor(_: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.text import Text

    diagnosis = li.doctor()
    text = Text(str(diagnosis))
    text.highlight_regex(r"(?m)^  ok\b", "green")
    text.highlight_regex(r"(?m)^  MISSING\b", "bold red")
    text.highlight_regex(r"(?m)^  optional\b", "yellow")
    text.highlight_regex(r"(?m)^ +-> .*$", "bold")
    # soft_wrap: a command that is broken over two lines cannot be copied.
    Console(highlight=False, soft_wrap=True).print(text)
    return FINE if diagnosis.ok else WRONG


def _cache_show(_: argparse.Namespace) -> int:
    from .compiling import cache

    entries = cache.entries()
    for entry in entries:
        print(f"{entry.key:<24}  {entry.bytes / _MIB:8.1f} MiB  used {_ago(entry.age_s):>12}  {entry.what}")
    print(f"{_sum(entries)} in {cache.cache_dir()}")
    return FINE


def _ago(seconds: float) -> str:
    for unit, length in (("day", _DAY), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}s ago" if seconds >= 1.5 * length else f"1 {unit} ago"
    return "just now"


def _sum(entries: Sequence[Entry]) -> str:
    noun = "entry" if len(entries) == 1 else "entries"
    return f"{len(entries)} {noun}, {sum(entry.bytes for entry in entries) / _MIB:.1f} MiB"


def _cache_path(_: argparse.Namespace) -> int:
    from .compiling import cache

    print(cache.cache_dir())
    return FINE


def _cache_prune(options: argparse.Namespace) -> int:
    from .compiling import cache

    if options.max_age_days is None and options.max_mib is None:
        raise InputError("cache prune: say what may stay, with --max-age-days N or --max-mib N")
    removed = cache.prune(
        max_age_s=None if options.max_age_days is None else options.max_age_days * _DAY,
        max_bytes=None if options.max_mib is None else options.max_mib * _MIB,
    )
    print(f"removed {_sum(removed)}; left {_sum(cache.entries())}")
    return FINE


def _cache_clear(_: argparse.Namespace) -> int:
    from .compiling import cache

    print(f"removed {_sum(cache.clear())}")
    return FINE


if __name__ == "__main__":
    sys.exit(main())
