"""Tries lltm_inline in each environment: makes it, installs a wheel, runs the cells, and writes down what came of them.

    python -m tests.platforms                all of them; each is written down in results.json and docs/platforms.md
    python -m tests.platforms Colab oldest   these alone
    python -m tests.platforms --ci 5         that one of CI's that has its turn in run 5; nothing is written down
    --keep DIR                               leaves the environments there, some 5 GB each, for the next time

It ends with 1 where a cell is not as it must be, or where an install has changed what Colab or Kaggle has.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from tests.platforms.environments import ENVIRONMENTS, REQUIREMENTS, ROOT, Environment, find_python, floors
from tests.platforms.page import PAGE, RESULTS, page
from tests.platforms.walk import CELLS

WALK = Path(__file__).with_name("walk.py")
#: Of these the table gives the versions.
_SHOWN = ("torch", "ipython", "ipykernel", "ipywidgets", "jupyterlab", "setuptools", "numpy")


class Failure(Exception):
    """An environment cannot be made."""


@dataclass(frozen=True)
class Trial:
    """What came of one environment, as results.json holds it.

    Attributes:
        environment: its name.
        versions: of Python, packages and compiler.
        added: what pip has installed, by name and version.
        changed: what was there before and is another now.
        cells: those that ran, as `walk` prints them.
    """

    environment: str
    versions: dict[str, str]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    cells: tuple[dict[str, Any], ...] = field(default=())

    @property
    def ok(self) -> bool:
        return bool(self.cells) and all(cell["right"] for cell in self.cells)


def say(name: str, text: str) -> None:
    """Print a line at once, with the time."""
    print(f"{time.strftime('%H:%M:%S')} {name}: {text}", flush=True)


def wheel_of(directory: Path) -> Path:
    """Build the wheel from a copy of what git knows, as it would be uploaded."""
    copy = directory / "source"
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "-w", str(directory)]
    subprocess.run([*pip, str(copy)], check=True)
    return next(directory.glob("*.whl"))


def installed(python: str) -> dict[str, str]:
    """Return the packages of an environment by name."""
    pip = [python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
    return {each["name"].lower(): each["version"] for each in json.loads(subprocess.check_output(pip, text=True))}


def pip_install(name: str, python: str, arguments: Sequence[str]) -> None:
    """Install, and say what pip says where it fails."""
    command = [python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{name}: pip install {' '.join(arguments)} failed:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")


def try_out(environment: Environment, wheel: Path, directory: Path, *, keep: bool) -> Trial:
    """Make an environment, install the wheel there, and run the cells.

    Raises:
        Failure: there is no such Python or compiler, or pip fails.
    """
    name, python = environment.name, find_python(environment.python)
    compiler = shutil.which(environment.compiler or "g++")
    if python is None or compiler is None:
        raise Failure(
            f"{name}: no Python {environment.python}" if python is None else f"{name}: no {environment.compiler}"
        )
    room = directory / name.replace(" ", "-")
    own, lowest = str(room / "bin" / "python"), room / "floors.txt"
    made = room / "packages.json"
    if not made.exists():
        say(name, f"installs {environment.before} into a new environment of Python {environment.python}")
        subprocess.run([python, "-m", "venv", "--clear", str(room)], check=True)
        lowest.write_text("\n".join(floors()) if environment.floors else "")
        pip_install(name, own, ["-r", str(REQUIREMENTS / f"{environment.before}.txt"), "-c", str(lowest)])
        made.write_text(json.dumps(installed(own)))
    elif "lltm-inline" in installed(own):  # of the last time: pip would take this version for the same
        subprocess.run([own, "-m", "pip", "uninstall", "-q", "-y", "lltm-inline"], check=True)
    before = json.loads(made.read_text())
    asked = [f"{wheel}{each[1:]}" if each.startswith(".") else each for each in environment.install]
    pip_install(name, own, ["-c", str(lowest), *asked])
    after = installed(own)
    version = subprocess.check_output([compiler, "--version"], text=True).splitlines()[0]
    trial = Trial(
        name,
        {"python": environment.python, "compiler": version, **{key: after[key] for key in _SHOWN if key in after}},
        tuple(f"{key} {after[key]}" for key in sorted(after.keys() - before.keys())),
        tuple(f"{key} {before[key]} -> {after.get(key)}" for key in before if after.get(key) != before[key]),
    )
    say(name, f"installed; changed: {', '.join(trial.changed) or 'nothing'}; added: {', '.join(trial.added)}")
    with tempfile.TemporaryDirectory(prefix="lltm_inline-platform-", ignore_cleanup_errors=True) as home:
        cells = walk_all(name, own, compiler, runs_of(environment), home)
    if not keep:
        shutil.rmtree(room)
    return replace(trial, cells=cells)


def runs_of(environment: Environment) -> list[tuple[str, ...]]:
    """Return what is run in an environment, each in a process of its own: of the cells one half beside the other."""
    half, end = len(CELLS) // 2, len(CELLS)
    kernels = [("kernel", "1", str(half)), ("kernel", str(half), str(end))]
    notebook = [("notebook", str(ROOT / "notebooks" / environment.notebook))] if environment.notebook else []
    return [*(kernels if environment.how == "kernel" else [(environment.how,)]), *notebook]


def walk_all(
    name: str, python: str, compiler: str, runs: Sequence[Sequence[str]], home: str
) -> tuple[dict[str, Any], ...]:
    """Run them at the same time, as each waits for one compiler most of the time; of a cell that two have run the worse counts."""
    with ThreadPoolExecutor(len(runs)) as pool:
        walks = [*pool.map(lambda run: walk(name, python, compiler, run, home), runs)]
    cells: dict[str, dict[str, Any]] = {}
    for cell in (cell for each in walks for cell in each):
        if cell["cell"] not in cells or not cell["right"]:
            cells[cell["cell"]] = cell
    return tuple(cells.values())


def walk(name: str, python: str, compiler: str, run: Sequence[str], home: str) -> list[dict[str, Any]]:
    """Run the cells, with a home and its cache of their own; say of each how it went."""
    cells = []
    hidden = ("PYTHONPATH", "CXX", "LLTM_INLINE_CACHE", "VIRTUAL_ENV", "JUPYTER_PATH", "JUPYTER_DATA_DIR")
    own = {key: value for key, value in os.environ.items() if key not in hidden}
    own |= {"HOME": home, "XDG_CACHE_HOME": f"{home}/.cache", "CXX": compiler, "PYTHONWARNINGS": "ignore"}
    own["LLTM_INLINE_NO_HEADER"] = "1"  # it would be there when the cells have ended
    own["PATH"] = f"{Path(python).parent}{os.pathsep}{own['PATH']}"
    process = subprocess.Popen(
        [python, str(WALK), *run], cwd=home, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        if not line.startswith("{"):
            said.append(line)
            continue
        cell = json.loads(line)
        cells.append(cell)
        how = "ok  " if cell["right"] else "FAIL"
        say(name, f"{how} {cell['cell']} {cell['seconds']} s {cell.get('shown', '')}")
    if process.wait() and all(cell["right"] for cell in cells):
        raise Failure(f"{name}: the cells ended with {process.returncode}:\n{''.join(said)[-3000:]}")
    return cells


def write_down(trial: Trial) -> None:
    """Put what came of an environment in the place of what had come of it before."""
    known = {each["environment"]: each for each in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    known[trial.environment] = vars(trial) | {"date": str(date.today())}
    rows = [known[each.name] for each in ENVIRONMENTS if each.name in known]
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    PAGE.write_text(page())


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the environments, two at a time."""
    parser = argparse.ArgumentParser(prog="python -m tests.platforms", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(each.name for each in ENVIRONMENTS)}")
    parser.add_argument("--ci", type=int, metavar="N", help="that one of CI's that has its turn in run N")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="leave the environments there")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - {each.name for each in ENVIRONMENTS}
    if unknown:
        parser.error(f"no environment {', '.join(sorted(unknown))}")
    chosen = [each for each in ENVIRONMENTS if not options.names or each.name in options.names]
    if options.ci is not None:
        turns = [each for each in ENVIRONMENTS if each.ci]
        chosen = [turns[options.ci % len(turns)]]
    with tempfile.TemporaryDirectory(prefix="lltm_inline-platforms-") as scratch:
        directory = options.keep or Path(scratch)
        wheel = wheel_of(Path(scratch))
        with ThreadPoolExecutor(2) as pool:
            tried = [pool.submit(try_out, each, wheel, directory, keep=bool(options.keep)) for each in chosen]
            for each in as_completed(tried):
                if each.exception() is None and options.ci is None:
                    write_down(each.result())
    failures = [str(each.exception()) for each in tried if each.exception() is not None]
    trials = [each.result() for each in tried if each.exception() is None]
    print(*failures, sep="\n")
    untouched = {each.name for each in ENVIRONMENTS if each.untouched}
    passed = sum(trial.ok and not (trial.changed and trial.environment in untouched) for trial in trials)
    print(f"platforms: {passed} passed, {len(chosen) - passed} failed")
    return int(passed < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
