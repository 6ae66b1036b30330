"""The verbs of the command line that judge files of others."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..base.verbs import Option, Verb, count, output
from ..errors import InputError


def _judge(given: Namespace) -> Iterator[Any]:
    from .forms import submission_in
    from .judge import judge, judge_many
    from .verdict import Line, sarif

    verdicts = []
    for path in map(Path, given.paths):
        if path.is_dir() and not submission_in(path):
            if given.reference or given.inputs:
                raise InputError(f"{path} is a folder of several: --reference and --inputs belong to one file")
            found = judge_many(path, jobs=given.jobs, resume=given.resume)
        else:
            found = iter([judge(path, reference=given.reference or "", inputs=given.inputs or ())])
        for verdict in found:
            verdicts.append(verdict)
            yield Line(**vars(verdict)) if given.json else verdict
    if given.sarif:
        Path(given.sarif).write_text(json.dumps(sarif(verdicts), indent=1), encoding="utf-8")


def _skill(_: Namespace) -> Iterator[str]:
    yield (Path(__file__).with_name("SKILL.md")).read_text(encoding="utf-8").rstrip("\n")


TABLE = (
    Verb("judge", "say whether a file of KernelBench, KernelBot, load_inline or CUDA is right, and does not cheat", _judge, (
        Option("paths", "PATH ...", "a file, a notebook, a task's folder, or a folder of all of these", needed=True),
    ), (
        Option("--reference", "WHERE", "the file with Model; of C++ or CUDA FILE.py:FUNCTION or MODULE:FUNCTION"),
        Option("--inputs", "EXPRESSION ...", "of C++, CUDA or load_inline: the arguments of one call, 'torch.randn(7, 5)' 2.0"),
        Option("--json", "", "a line of JSON for each verdict, as verdict.schema.json says"),
        Option("--sarif", "FILE", "write the findings there, for the lines of a pull request", read=output),
        Option("--jobs", "N", "of a folder: how many at a time (default 1)", read=count, default=1),
        Option("--resume", "", "of a folder: go on where verdicts.jsonl in it ends"),
    )),
    Verb("skill", "print a SKILL.md for programs that write kernels", _skill),
)  # fmt: skip
