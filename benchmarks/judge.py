"""How many verdicts `judge FOLDER` comes to in a minute on a core, over 200 files of other people's forms.

The files are those of `tests/judging/files`, each in several texts of its own (a comment in the kernel tells them apart, so each is
compiled), three of five of them right ones. They are judged by the command line, with as many processes as there are cores, from an
empty cache, and each verdict is held against the one that stands in the file's first lines.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, Results, arguments

from tests.judging.twins import BENCH, TWINS

#: What lies beside the solutions, and the solutions: right ones, and others.
REFERENCES = ("pool.py", "relu.py", "wide.py")
RIGHT = ("relu_new", "pool_new", "wide_new", "matmul", "relu_cpp")
OTHERS = ("relu_sign", "relu_typo", "relu_out_of_bounds", "relu_unwritten", "relu_remembered", "relu_calls_model")


def folder_of(count: int, folder: Path) -> dict[str, str]:
    """Write so many files into a folder, and return the verdict that each should come to."""
    for name in REFERENCES:
        (folder / name).write_text((BENCH / name).read_text())
    right, others = itertools.cycle(RIGHT), itertools.cycle(OTHERS)
    wanted = {}
    for number in range(count):
        name = next(right) if number % 5 < 3 else next(others)
        text = next(place / f"{name}.py" for place in (TWINS, BENCH) if (place / f"{name}.py").is_file()).read_text()
        # The first line of the kernel's own, whether it is CUDA or C++.
        changed = re.sub(r"(?m)^(__global__|torch::Tensor \w+\()", rf"/* {number} */ \1", text, count=1)
        assert changed != text, name
        file = folder / f"{name}_{number}.py"
        file.write_text(changed)
        said = re.search(r"# verdict: (.+)", text)
        wanted[file.name] = said[1] if said else "right"
    return wanted


def main() -> None:
    """Judge the folder and save what came of it."""
    quick = arguments(__doc__).quick
    results, cores = Results("judge", quick), len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as cache:
        wanted = folder_of(10 if quick else 200, Path(place))
        command = [sys.executable, "-m", "lltm_inline", "judge", place, "--json", "--jobs", str(cores)]
        environment = {**os.environ, "LLTM_INLINE_CACHE": cache, "PYTHONPATH": str(ROOT)}
        os.chmod(cache, 0o700)
        began, found, last = time.perf_counter(), {}, 0.0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            for line in process.stdout or ():
                verdict, now = json.loads(line), time.perf_counter() - began
                found[Path(verdict["path"]).name] = verdict["verdict"]
                results.add("between two verdicts of a folder", now - last)
                last = now
        minutes = (time.perf_counter() - began) / 60
    unlike = {name: (found.get(name, "none"), want) for name, want in wanted.items() if found.get(name) != want}
    print(unlike or "each came to its verdict", file=sys.stderr)
    results.note(f"verdicts a minute a core, {len(wanted)} files", len(found) / minutes / cores)
    results.require("files that came to another verdict than they should", len(unlike), 0)
    results.save()


if __name__ == "__main__":
    main()
