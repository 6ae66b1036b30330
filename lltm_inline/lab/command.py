"""The table of `python -m lltm_inline lab VERB`: thin twins of the functions of `li.lab`."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..base.verbs import Option, Verb, count


def failed(found: Any) -> bool:
    """Tell whether what a verb returned is a reason for an exit code."""
    unlocked = not getattr(found, "green", True) or not getattr(found, "locked", True)
    return unlocked or any(one.not_graded for one in getattr(found, "grades", ()))


def _verb(name: str, help: str, words: tuple[Option, ...] = (), options: tuple[Option, ...] = ()) -> Verb:
    def run(given: Namespace) -> Any:
        """Call a function of labs with what was typed."""
        from .. import lab

        values = {each.argument: getattr(given, each.argument) for each in (*words, *options)}
        if "no_mutants" in values:
            values["mutants"] = not values.pop("no_mutants")
        return getattr(lab, name)(**values)

    return Verb(name, help, run, words, options)


_LAB = Option("lab", "", "its folder", needed=True)
_MADE = Option("lab", "", "its folder, or lab.zip", needed=True)
_HOW = (
    Option("--workers", "N", "how many at a time (default: one for each core)", read=count),
    Option("--trust", "", "run kernels unlocked; every report says so"),
    Option("--compiler", "COMPILER", "such as clang++"),
)

VERBS = (
    _verb("new", "make the folder of a lab: notebook, lab.toml, wrong kernels", (
        Option("folder", "", "that does not exist; its name becomes the lab's", needed=True),
        Option("op", "", "or FILE.py:OP/VARIANT", needed=True),
    ), (Option("--solution", "OP/VARIANT", "a kernel whose text becomes the solution"),)),
    _verb("make", "make what students get, and for graders lab.zip and gradescope.zip", (_LAB,)),
    _verb("selftest", "try a lab on its solution, wrong kernels, and changes of the solution", (_LAB,),
          (Option("--no-mutants", "", "leave the changes of the solution out"), *_HOW)),
    _verb("collect", "say what is in a folder of submissions, without running any", (
        _MADE,
        Option("source", "", "a folder or zip of notebooks or kernels, nbgrader's submitted/, or Gradescope's mount", needed=True),
    )),
    _verb("grade", "grade a class", (_MADE, Option("submissions", "", "as for collect", needed=True)), (
        Option("--to", "DIR", "where grades are kept", needed=True),
        Option("--scheduler", "ADDRESS", "of dask, in place of processes here"),
        Option("--resume", "", "continue an earlier run into DIR"),
        *_HOW,
    )),
    _verb("report", "write CSV files and a page for each student", (
        Option("folder", "", "into which grade has written", needed=True),
    ), (
        Option("--gradescope", "FILE", "write the results.json of the one submission there instead"),
        Option("--prairielearn", "FILE", "the same for PrairieLearn"),
        Option("--autolab", "FILE", "write the scores of the one submission there, a line for Autolab"),
    )),
    _verb("doctor", "try to break out of the sandbox, and say what this machine lacks"),
)  # fmt: skip
