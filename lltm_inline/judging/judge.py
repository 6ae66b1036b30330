"""A file is judged: read here, run in the worker, and what ends that is told as a crash. Many are judged as a class is graded."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..autopsy.crash import explain
from ..autopsy.facts import Facts
from ..autopsy.symbolize import symbolize
from ..base.arguments import path_of, raised
from ..base.progress import Event, showing
from ..compiling import header
from ..compiling.cache import digest
from ..errors import InputError, LltmInlineError
from ..lab.grading import pool
from ..run.built import build_helper
from ..workers.client import worker
from ..workers.limits import Limits
from ..workers.outcome import Died
from .forms import Form, forms_in, python_of, read_form
from .inside import judge_here
from .running import ON_CPU, place_in, toolchain_for
from .verdict import Finding, Verdict, word_of

#: The file in a folder that keeps its verdicts.
KEPT = "verdicts.jsonl"
#: One call may take so long: where each step of a launch is looked at, it takes a hundred times what it takes otherwise.
_LIMITS = Limits(seconds=60.0)


def judge(
    path: str | os.PathLike[str],
    *,
    reference: str = "",
    inputs: Sequence[str] = (),
    limits: Limits | None = None,
    progress: Any = None,
) -> Verdict:
    """Say whether a file of somebody's is right, and whether it is so without computing.

    No line is written for it: what it is, is told by what it defines. `Model` and `ModelNew` (KernelBench), `custom_kernel` with a
    `reference.py` beside it (KernelBot, CS149), a call of `load_inline` with a `reference`; or C++ or CUDA with both named. Its Python
    runs in the worker. CUDA source runs on the CPU where there is no GPU, at sizes that take seconds.

    Args:
        path: a file, a notebook, or the folder of one task.
        reference: the file with `Model`; of C++ or CUDA `FILE.py:FUNCTION` or `MODULE:FUNCTION`.
        inputs: of C++, CUDA or a call of `load_inline`, the arguments of one call as expressions: `"torch.randn(7, 5)"`.
        limits: of time, memory and output in the worker.
        progress: as for `check`.

    Returns:
        A Verdict; one of a file that is wrong, does not build or crashes, too.

    Example:
        >>> judge("nothing.py").word
        'refused'
    """
    given, began, limits = path_of("path", path), time.perf_counter(), limits or _LIMITS
    findings: list[Finding] = []
    told: dict[str, Any] = {"findings": findings, "tried": [], "not_tried": [], "notes": []}
    built: dict[str, tuple[str, str]] = {}
    form, found = Form("", str(given)), dict[str, Any]()
    device = "cuda" if torch.cuda.is_available() else "cuda-cpu"

    def on_event(event: Event) -> None:
        if event.kind == "told":
            told[event.values[0]].append(event.values[1])
        elif event.kind == "built":
            built[event.values[0]] = event.values[1:]
        elif event.kind == "progress":
            show(*event.values)

    try:
        form = read_form(Path(given), reference, tuple(inputs))
        with showing(f"judging {given}", progress) as show:
            if device == "cuda-cpu":  # started here, as what the worker starts ends with it
                header.header_flags(toolchain_for(device), ON_CPU)
            how: Any = {"limits": limits, "recorder": build_helper("recorder", progress=False), "on_event": on_event}
            found = worker.run(judge_here, form, device, **how, fresh=True).value
    except Died as died:
        findings.append(_crashed(died, form, built, limits))
    except (SyntaxError, LltmInlineError, OSError) as error:
        findings.append(_ended(error, form))
    finally:
        if form.name:
            worker.renew()  # nothing that a file has changed in its process is there for the next one
    found |= {what: tuple(dict.fromkeys(told[what])) for what in ("tried", "not_tried", "notes")}
    seconds = time.perf_counter() - began if form.name else 0.0
    return Verdict(str(given), form.name, word_of(findings), tuple(findings), **found, seconds=seconds)


def _ended(error: Exception, form: Form) -> Finding:
    """Tell what an error means that came before the file ran."""
    if isinstance(error, SyntaxError):
        file = os.path.basename(error.filename or form.solution)
        return Finding("does not build", f"no Python: {error.msg}", file, error.lineno or 0)
    if isinstance(error, InputError):
        return Finding("refused", str(error))
    return Finding("our fault", raised(error))


def _crashed(died: Died, form: Form, built: dict[str, tuple[str, str]], limits: Limits) -> Finding:
    """Tell of a death as of that of every kernel, with the line of the user's file."""
    places = next((found for _, library in built.values() if (found := symbolize(died.frames, library))), [])
    sources = {name: source for name, (source, _) in built.items()}
    crash = explain(Facts(died, form.name, sources, places, limits))
    text = python_of(Path(form.solution))
    line = next((n for one in places if (n := place_in(text, one.file, one.line, sources))), 0)
    said = f"{crash.sentence}{f': {crash.detail}' if crash.detail else ''}"
    kind = "our fault" if died.from_outside else "crashed"
    return Finding(kind, said, os.path.basename(form.solution), line, crash.cause, at=crash.case)


def judge_many(folder: Path, *, jobs: int = 1, resume: bool = False) -> Iterator[Verdict]:
    """Judge all that a folder has, and give each verdict as it comes; `verdicts.jsonl` in it keeps them.

    Args:
        folder: with files of any form, and folders of tasks.
        jobs: how many are judged at a time, each by a process of its own.
        resume: what that file has of a text that is still the same is not judged again.
    """
    kept = folder / KEPT
    known: dict[str, Verdict] = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if resume and kept.exists() else ():
        with suppress(ValueError, KeyError, TypeError):  # it was being written when the machine went down
            row = json.loads(line)
            known[row["key"]] = Verdict.from_dict(row)
    keys = {path: key_of(path) for path in forms_in(folder)}
    kept.write_text("".join(_line(key, known[key]) for key in keys.values() if key in known), encoding="utf-8")
    yield from (known[key] for key in keys.values() if key in known)

    def lost(path: Path, error: Exception) -> Verdict:  # with a process of dask's that ended
        return Verdict(str(path), "", "our fault", (Finding("our fault", raised(error)),))

    with pool(jobs, None, partial(judge, progress=False), lost) as each:
        for verdict in each([path for path, key in keys.items() if key not in known]):
            with kept.open("a", encoding="utf-8") as file:
                file.write(_line(keys[Path(verdict.path)], verdict))
            yield verdict


def _line(key: str, verdict: Verdict) -> str:
    return json.dumps({"key": key, **verdict.to_dict()}) + "\n"


def key_of(path: Path) -> str:
    """Return the digest of a file or a task's folder, and of all Python beside it, as its reference may lie there."""
    folder = path if path.is_dir() else path.parent
    files = filter(Path.is_file, sorted({path, *folder.glob("*.py"), *folder.glob("*.yml")}))
    return digest(str(path), *(part for file in files for part in (str(file), file.read_bytes())))
