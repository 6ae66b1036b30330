"""What the benchmark scripts share: arguments, the machine's description, edits, a table, and the file of results."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["CCACHE_DISABLE"] = "1"  # torch uses ccache silently when it is on PATH
os.environ["SCCACHE_RECACHE"] = "1"

import lltm_inline as li  # noqa: E402
from lltm_inline.compiling.toolchain import ninja_directory  # noqa: E402

if (ninja := ninja_directory()) is not None:  # plain load_inline looks on PATH only
    os.environ["PATH"] = f"{ninja}{os.pathsep}{os.environ.get('PATH', '')}"

#: Texts of LLTM in the order of the ladder.
TEXTS = ("lltm/aten", "lltm/fused", "lltm/stable")


def arguments(doc: str | None, *, ops: bool = False, before: bool = False) -> argparse.Namespace:
    """Read the command line that every script has: `--quick` takes fewer samples; with `ops`, `--op` chooses some.

    With `before`, `--before` names another checkout of this project, which is timed in turns with this one.
    """
    parser = argparse.ArgumentParser(description=(doc or "").strip().partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples: to see that it runs, not to quote")
    if ops:
        choices = sorted(li.registry.ops)
        parser.add_argument("--op", nargs="+", metavar="NAME", choices=choices, default=choices, help="default: all")
    if before:
        help_text = "a checkout of an earlier commit, timed in turns with this one (git worktree add DIR COMMIT)"
        parser.add_argument("--before", metavar="DIR", type=Path, help=help_text)
    return parser.parse_args()


def compilers() -> list[str]:
    """Name those of g++ and clang++ that are here."""
    found = [name for name in ("g++", "clang++") if shutil.which(name)]
    if not found:
        raise SystemExit("no g++ or clang++ on PATH: nothing to compare")
    return found


def version(compiler: str) -> str:
    """Return the first line of `compiler --version`."""
    text = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    return text.partition("\n")[0]


def machine() -> dict[str, Any]:
    """Describe what the figures depend on; the load tells whether the machine was quiet."""
    import torch

    from lltm_inline.measure.machine import cpu_name

    return {
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 2),
        "torch": torch.__version__,
        "python": sys.version.partition(" ")[0],
        "compilers": {name: version(name) for name in compilers()},
    }


@dataclass(frozen=True)
class Ratio:
    """A comparison: median of `numerator` over median of `denominator`, and what it should be, at most or at least."""

    name: str
    value: float
    target: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target

    def __str__(self) -> str:
        if self.target is None:
            return f"{self.name}: {self.value:.3g}"
        sense = "at least" if self.at_least else "at most"
        return f"{self.name}: {self.value:.3g}, {sense} {self.target:.3g}: {'met' if self.met else 'MISSED'}"


@dataclass
class Results:
    """Rows of samples in seconds and the ratios between them; `save` prints both and writes them to `results/`."""

    name: str
    quick: bool
    rows: dict[str, list[float]] = field(default_factory=dict)
    ratios: list[Ratio] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    start: dict[str, Any] = field(default_factory=machine)
    #: The script and its options, where it is none of the same name.
    script: str = ""

    def add(self, row: str, *samples: float) -> None:
        """Add samples to a row, and show progress in a terminal."""
        self.rows.setdefault(row, []).extend(samples)
        if len(samples) == 1 and samples[0] > 0.1:
            print(f"  {row}: {samples[0]:.2f} s", file=sys.stderr, flush=True)

    def median(self, row: str) -> float:
        """Return a row's median."""
        return statistics.median(self.rows[row])

    def least(self, row: str) -> float:
        """Return a row's shortest sample, which other work on the machine has disturbed least."""
        return min(self.rows[row])

    def compare(self, name: str, numerator: str, denominator: str, target: float | None = None) -> None:
        """Add the ratio of two rows, if both have samples."""
        if self.rows.get(numerator) and self.rows.get(denominator):
            self.ratios.append(Ratio(name, self.median(numerator) / self.median(denominator), target))

    def require(self, name: str, value: float, target: float, *, at_least: bool = False) -> None:
        """Add any number that has a target."""
        self.ratios.append(Ratio(name, value, target, at_least))

    def note(self, name: str, value: float) -> None:
        """Add any number that has none."""
        self.ratios.append(Ratio(name, value))

    def save(self) -> Path:
        """Print the table, write the file and return its path; quick runs get a file of their own, which is not kept."""
        rows = [
            {
                "name": name,
                "median": statistics.median(samples),
                "least": min(samples),
                "most": max(samples),
                "samples": [float(f"{sample:.6g}") for sample in samples],
            }
            for name, samples in self.rows.items()
        ]
        data = {
            "benchmark": self.name,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": f"python benchmarks/{self.script or f'{self.name}.py'}{' --quick' if self.quick else ''}",
            "machine": {**self.start, "load_after": round(os.getloadavg()[0], 2)},
            "unit": "s",
            "rows": rows,
            "ratios": [
                {"name": r.name, "value": r.value, "target": r.target, "at_least": r.at_least, "met": r.met}
                for r in self.ratios
            ],
            **self.more,
        }
        directory = ROOT / "benchmarks" / "results"
        directory.mkdir(exist_ok=True)
        path = directory / f"{self.name}{'.quick' if self.quick else ''}.json"
        path.write_text(json.dumps(data, indent=1) + "\n")
        self._print(path)
        return path

    def _print(self, path: Path) -> None:
        here = self.start
        print(
            f"{self.name}: {here['cpu']}, {here['cores']} cores, {here['threads']} threads, torch {here['torch']}, load {here['load']}"
        )
        width = max(map(len, self.rows), default=0)
        for name, samples in self.rows.items():
            low, middle, high = min(samples), statistics.median(samples), max(samples)
            print(
                f"  {name:<{width}}  {seconds(middle):>9}  ({seconds(low)} to {seconds(high)}, {len(samples)} samples)"
            )
        for ratio in self.ratios:
            print(f"  {ratio}")
        print(f"  -> {path.relative_to(ROOT)}", flush=True)


def seconds(value: float) -> str:
    """Write a time with the unit that fits it.

    >>> seconds(0.00123)
    '1.23 ms'
    """
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value / 1e-6:.3g} us"


def edited(text: str, number: int) -> str:
    """Change one line of `forward`, so that everything must be compiled again and nothing else is different."""
    changed, count = re.subn(
        r"(\bforward\s*\([^{};]*\{\n)", rf"\1[[maybe_unused]] const double edit = {number};\n", text, count=1
    )
    if not count:
        raise SystemExit("found no definition of forward in the text")
    return changed


def fresh() -> int:
    """Return a number that no earlier run has used, so that no cache knows the edited text."""
    return time.time_ns() // 1000


def forget(builds: Iterable[Any]) -> None:
    """Remove the cache entries of the edits that a benchmark made."""
    for build in builds:
        shutil.rmtree(build.path.parent, ignore_errors=True)


def cell_inputs(size: Sequence[int] = (3, 17, 5), *, grad: Sequence[str] = ()) -> tuple[Any, ...]:
    """Make inputs of an LLTM cell; those named in `grad` want a gradient."""
    import torch

    op = li.registry.ops["lltm"]
    values = op.make_inputs(torch.randn, size)
    return tuple(
        value.requires_grad_(argument.name in grad) for argument, value in zip(op.signature.inputs, values, strict=True)
    )


def plain_text(kernel: Any) -> str:
    """Return what a user of plain `load_inline` gives for the same kernel: its text and the numbers it names.

    Plain `load_inline` passes no flags, so the vector code of ATen, where it is used, is told so.
    """
    lines = [f"#define {name} {value}" for name, value in kernel.params.items()]
    return "\n".join(["#define CPU_CAPABILITY DEFAULT", *lines, "#include <array>", "#include <tuple>", kernel.cpp])


def plain_load(name: str, text: str) -> Any:
    """Build and import as everybody does: a list of one text, two function names, nothing else."""
    from torch.utils.cpp_extension import load_inline

    return load_inline(name=name, cpp_sources=[text], functions=["forward", "backward"])


@contextmanager
def environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables for a while; None removes one."""
    before = {name: os.environ.get(name) for name in changes}
    put(changes)
    try:
        yield
    finally:
        put(before)


def put(values: Mapping[str, str | None]) -> None:
    """Set or remove environment variables."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="lltm-inline-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def timed_python(code: str, **variables: str) -> dict[str, Any]:
    """Run code in a new Python process; it prints one JSON object as its last line."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"a benchmark process failed:\n{result.stderr}")
    return dict(json.loads(result.stdout.strip().splitlines()[-1]))


@contextmanager
def sides(before: Path, code: str) -> Iterator[dict[str, Callable[..., float]]]:
    """Start `code` in two checkouts, as `before` and `now`; yield for each what hands it a task and returns its seconds.

    Each side is one process that goes on between the tasks, as a notebook's does: a line in is the task's arguments as
    JSON, a line out the seconds, or nan for what that commit cannot do.
    """
    with ExitStack() as stack:
        yield {side: stack.enter_context(_side(tree, code)) for side, tree in (("before", before), ("now", ROOT))}


@contextmanager
def _side(tree: Path, code: str) -> Iterator[Callable[..., float]]:
    variables = {**os.environ, "PYTHONPATH": str(tree)}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # or an import compiles all sources anew
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables, cwd=tree
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        tasks, answers = process.stdin, process.stdout

        def seconds_of(*task: Any) -> float:
            print(json.dumps(task), file=tasks, flush=True)
            if not (answer := answers.readline()):
                raise SystemExit(f"a benchmark process ended at {task}: its error is above")
            return float(answer)

        yield seconds_of
