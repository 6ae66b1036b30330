"""`python -m lltm_inline lab VERB`: thin twins of the functions of `li.lab`."""

from __future__ import annotations

import argparse
from typing import Any

FINE, WRONG = 0, 1


def add_verbs(parser: argparse.ArgumentParser) -> None:
    """Give a parser the verbs of labs."""
    verbs = parser.add_subparsers(metavar="VERB", required=True)

    verb = _verb(verbs, "new", "make the folder of a lab: notebook, lab.toml, wrong kernels")
    verb.add_argument("folder", help="that does not exist; its name becomes the lab's")
    verb.add_argument("op", help="or FILE.py:OP/VARIANT")
    verb.add_argument("--solution", metavar="OP/VARIANT", help="a kernel whose text becomes the solution")

    verb = _verb(verbs, "make", "make of it what students get, lab.zip and gradescope.zip")
    verb.add_argument("lab", help="its folder")

    verb = _verb(verbs, "selftest", "try a lab on its solution, wrong kernels, and changes of the solution")
    verb.add_argument("lab", help="its folder")
    verb.add_argument("--no-mutants", action="store_true", help="leave the changes of the solution out")
    _how(verb)

    verb = _verb(verbs, "collect", "say what is in a folder of submissions, without running any")
    verb.add_argument("lab", help="its folder, or lab.zip")
    verb.add_argument("source", help="a folder or zip of notebooks, nbgrader's submitted/, or Gradescope's mount")

    verb = _verb(verbs, "grade", "grade a class")
    verb.add_argument("lab", help="its folder, or lab.zip")
    verb.add_argument("submissions", help="as for collect")
    verb.add_argument("--to", metavar="DIR", required=True, help="where grades are kept")
    verb.add_argument("--scheduler", metavar="ADDRESS", help="of dask, in place of processes here")
    verb.add_argument("--resume", action="store_true", help="go on where another run into DIR has ended")
    _how(verb)

    verb = _verb(verbs, "report", "write CSV files and a page for each student")
    verb.add_argument("folder", help="into which grade has written")
    verb.add_argument("--gradescope", metavar="FILE", help="write the results.json of the one submission there instead")

    _verb(verbs, "doctor", "try to break out of the sandbox, and say what this machine lacks")


def _verb(verbs: Any, name: str, help: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=help)
    parser.set_defaults(run=_run, verb=name)
    return parser


def _how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", metavar="N", type=int, help="how many at a time (default: one for each core)")
    parser.add_argument("--trust", action="store_true", help="run kernels unlocked; it stands on every report")
    parser.add_argument("--compiler", help="such as clang++")


def _run(options: argparse.Namespace) -> int:
    from . import collect, grade, make, new, report, selftest
    from .doctor import doctor

    given = {name: value for name, value in vars(options).items() if name not in ("run", "verb", "parser")}
    if options.verb == "selftest":
        given["mutants"] = not given.pop("no_mutants")
    functions: dict[str, Any] = {
        "new": new, "make": make, "selftest": selftest, "collect": collect, "grade": grade, "report": report, "doctor": doctor,
    }  # fmt: skip
    found = functions[options.verb](**given)
    print(found, flush=True)
    failed = not getattr(found, "green", True) or not getattr(found, "locked", True)
    return WRONG if failed or any(one.not_graded for one in getattr(found, "grades", ())) else FINE
