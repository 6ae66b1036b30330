"""The playground in one go: build, check, edit, get it wrong twice, time, plot. Run it with `python -m lltm_inline.demo`."""

from __future__ import annotations

import shlex
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from .base.above import aligned
from .base.packages import environment_command


def _missing(error: ImportError) -> str:
    """Say which package is missing, and the command that brings it."""
    return f"lltm-inline: {error.msg.splitlines()[0]}\n  -> {environment_command()}"


try:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from . import BuildError, Kernel, benchmark, build, check, diff, doctor, plot, registry
    from .errors import LltmInlineError
    from .tables.timings import Timings
except ImportError as error:  # a clone in which nobody has installed anything, and another interpreter than its own
    if __name__ != "__main__":
        raise
    sys.exit(_missing(error))

KERNELS = ("lltm/python", "lltm/aten", "lltm/fused", "lltm/stable")
#: (B, F, S): the sizes of the tutorial, and a sweep over B.
TUTORIAL_SIZES = ((16, 32, 128), (64, 1024, 128))
SWEEP = tuple((batch, 32, 128) for batch in (1, 4, 16, 64, 256, 1024))
QUICK_SWEEP = tuple((batch, 32, 128) for batch in (4, 16, 64))

# The line of lltm/fused that the demo edits: the gradient of the input gate.
LINE = "const V d_i = d_cell * c * i * (V(1) - i);"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; return the exit code: 0, or 1 after an error of the playground, or 130 after Ctrl-C."""
    try:
        run(parse(argv), Console(highlight=False))
    except LltmInlineError as error:
        Console(stderr=True, highlight=False).print(f"{type(error).__name__}: {error}", markup=False)
        return 1
    except ModuleNotFoundError as error:
        sys.exit(_missing(error))
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; the cache is clean")
        return 130
    return 0


def parse(argv: Sequence[str] | None = None) -> Namespace:
    """Read the command line."""
    parser = ArgumentParser(prog="python -m lltm_inline.demo", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer sizes and less time for each")
    out = "for plot and numbers; default: demo-output"
    parser.add_argument("--out", type=Path, default=Path("demo-output"), metavar="DIR", help=out)
    return parser.parse_args(argv)


def run(options: Namespace, console: Console) -> None:
    """Run all steps, printing what happens as it happens."""
    started = time.perf_counter()
    diagnosis = doctor()
    if not diagnosis.ok:
        console.print(str(diagnosis), markup=False, soft_wrap=True)
    _build_all(console)
    _check_all(console)
    _edit(console)
    _wrong_gradient(console)
    _compile_error(console)
    timings = _benchmark(options.quick, console)
    _save(timings, options.out, console)
    _title(console, "What to try next")
    steps = aligned([(f"  {command}", f"  {what}") for command, what in next_steps().items()])
    console.print("\n".join(steps), markup=False, soft_wrap=True)
    console.print(f"\nAll of it took {time.perf_counter() - started:.0f} s.")


def next_steps() -> dict[str, str]:
    """List commands that work as typed, in the directory and the environment that the demo ran in, and what each shows."""
    python = _typed(Path(sys.executable))
    steps = {
        f"{python} -m lltm_inline show lltm/fused": "the source, with line numbers",
        f"{python} -m lltm_inline check lltm/aten": "what the check looks at",
        f"{python} -m lltm_inline benchmark lltm/python lltm/fused --sizes 64,64,64": "your own sizes",
    }
    tour = Path(__file__).resolve().parent.parent / "notebooks" / "00_tour.ipynb"
    if tour.is_file():  # in a clone
        steps[f"{python} -m jupyterlab {_typed(tour)}"] = "the same in a notebook"
    return steps


def _typed(path: Path) -> str:
    """Spell a path as one types it here."""
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _title(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/]")


def _build_all(console: Console) -> None:
    sources = [registry[name] for name in KERNELS if registry[name].python is None]
    names = ", ".join(kernel.label for kernel in sources)
    _title(console, f"1. Build {names}: C++ strings through load_inline, in parallel")
    with console.status("compiling (the first time without a precompiled header, which is being made meanwhile)"):
        builds = build(sources, progress=False)
    console.print(f"  {builds[0].compiler} {' '.join(builds[0].flags)}", soft_wrap=True, markup=False)
    for item in builds:
        how = "from the cache" if item.cached else "built"
        console.print(f"  {item.kernel:<12} {how} in {item.seconds:.2f} s", markup=False)


def _check_all(console: Console) -> None:
    _title(console, "2. Check: parity with the reference in float32 and float64, purity, gradcheck")
    for name in KERNELS:
        with console.status(f"checking {name}"):
            report = check(name, progress=False)
        verdict = "[green]right[/]" if report.ok else "[red]WRONG[/]"
        console.print(f"  {verdict}  {report.headline}, {report.seconds:.1f} s", soft_wrap=True)


def _edit(console: Console) -> None:
    _title(console, "3. Edit one line and rebuild: the loop that you will live in")
    # The time of day makes it an edit that the cache has never seen, so that a compiler really runs.
    edited = _edited(console, f"const V d_i = d_cell * c * (i - i * i);  // {time.strftime('%H:%M:%S')}")
    with console.status("rebuilding"):
        result = build(edited, progress=False)
    with console.status("checking"):
        report = check(edited, progress=False)
    verdict = "right" if report.ok else "WRONG"
    console.print(f"  rebuilt in [bold]{result.seconds:.1f} s[/], checked in {report.seconds:.1f} s: {verdict}")


def _wrong_gradient(console: Console) -> None:
    _title(console, "4. A wrong edit is caught, by the gradient's name")
    wrong = _edited(console, LINE.replace("V(1) - i", "V(1) + i"))
    with console.status("building and checking"):
        report = check(wrong, progress=False)
    if report.ok:
        raise AssertionError("the check let a wrong kernel pass")
    for finding in report.findings[:2]:
        console.print(f"  [red]{finding.section}[/]  ", end="")
        console.print(str(finding), markup=False, soft_wrap=True)


def _compile_error(console: Console) -> None:
    _title(console, "5. A compile error is explained, at your own line")
    broken = registry["lltm/fused"].edit("const V i = sigmoid(load(gate_i)", "const V i = sigmiod(load(gate_i)")
    try:
        with console.status("building"):
            build(broken, progress=False)
    except BuildError as error:
        console.print("\n".join(f"  {line}" for line in str(error).split("\n")), markup=False, soft_wrap=True)


def _edited(console: Console, new: str) -> Kernel:
    """Edit the line, and show what was changed."""
    edited = registry["lltm/fused"].edit(LINE, new)
    for line in diff("lltm/fused", edited).text.split("\n"):
        if line[:1] in "+-" and line[:3] not in ("+++", "---"):
            console.print(f"  {line}", style="green" if line[0] == "+" else "red", markup=False)
    return edited


def _benchmark(quick: bool, console: Console) -> Timings:
    _title(console, "6. Benchmark: kernels interleaved, fresh inputs for every call, outputs checked before and after")
    columns = (TextColumn("  {task.description}"), BarColumn(24), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting")
        timings = benchmark(
            KERNELS,
            list(dict.fromkeys([*TUTORIAL_SIZES, *(QUICK_SWEEP if quick else SWEEP)])),
            seconds=0.15 if quick else 0.4,
            check=False,  # step 2 has done it; the quick comparison at every size remains
            progress=lambda done, total, text: bar.update(task, completed=done, total=total, description=text),
        )
    console.print(str(_at(timings, TUTORIAL_SIZES)), markup=False, soft_wrap=True)
    few = f"{len(TUTORIAL_SIZES)} of the {len(timings.sizes)} sizes that were timed"
    console.print(f"\n{few}; the numbers of step 7 have all.")
    # The lines of single sizes are in the plot; what remains is a sentence for each kernel.
    overall = [line for line in timings.verdict().split("\n") if not line.startswith(" ")]
    console.print("\n".join(["", *overall]), markup=False, soft_wrap=True)
    return timings


def _at(timings: Timings, sizes: Sequence[Sequence[int]]) -> Timings:
    """Keep the rows of these sizes."""
    return Timings(tuple(row for row in timings.rows if tuple(row.size.values()) in sizes), timings.baseline)


def _save(timings: Timings, out: Path, console: Console) -> None:
    _title(console, "7. Plot")
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "lltm.png"
    plot(_at(timings, SWEEP)).savefig(picture, dpi=150)
    numbers = timings.to_json(out / "lltm.json")
    console.print(f"  {picture}\n  {numbers}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
