"""Counts how often each rule of the diagnosis gives its advice in the tests, whose planted mistakes real compilers refuse.

    python -m tests.fires tests/compiling/test_diagnostics.py tests/compiling/test_nvcc.py -m "full or not full"
    python -m tests.fires --seldom 2 tests/compiling        only what at most two tests hear

One line for each sentence: how many tests heard it, the module and the line that has it, and in which tests, where those are few.
A row of a table is known by its sentence, any other sentence by its `return`. What no test hears has no text that provokes it:
such a rule is a guess about compilers, and goes.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from lltm_inline.diagnosis.compiler_log import Record
from lltm_inline.diagnosis.diagnostics import _asked

#: Module, and the sentence of a row of a table, or the line of a `return`.
Place = tuple[str, str | int]
#: Longer lists of tests are left out.
_FEW = 2


class Fires:
    """Hears which rule speaks in which test: a plugin of pytest."""

    def __init__(self) -> None:
        self.test = ""
        self.heard: defaultdict[Place, set[str]] = defaultdict(set)
        self.returns: dict[str, list[ast.Return]] = {}
        for module in _asked():
            self._listen(module)

    def _listen(self, module: ModuleType) -> None:
        name = module.__name__.rpartition(".")[2]
        nodes = ast.walk(ast.parse(inspect.getsource(module)))
        self.returns[name] = [node for node in nodes if isinstance(node, ast.Return) and _says(node)]
        for node in self.returns[name]:
            self.heard[name, node.lineno] = set()
        for at, (pattern, rule) in enumerate(module.rules._rules):
            module.rules._rules[at] = pattern, self._counted(rule, name)

    def _counted(self, rule: Callable[..., str], module: str) -> Callable[..., str]:
        sentence = inspect.getclosurevars(rule).nonlocals.get("sentence")
        if sentence is not None:
            self.heard[module, sentence] = set()

        def ask(match: Any, record: Record) -> str:
            spoke: list[Place] = []

            def listen(frame: FrameType, event: str, returned: Any) -> None:
                room = Path(frame.f_code.co_filename).stem
                if event == "return" and isinstance(returned, str) and returned and room in self.returns:
                    spoke.append((room, frame.f_lineno))

            before = sys.getprofile()
            sys.setprofile(listen if sentence is None else before)
            try:
                said = rule(match, record)
            finally:
                sys.setprofile(before)
            if said and sentence is not None:
                self.heard[module, sentence].add(self.test)
            for room, line in spoke if said else ():
                for node in self.returns[room]:
                    if node.lineno <= line <= (node.end_lineno or line):
                        self.heard[room, node.lineno].add(self.test)
            return said

        return ask

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Know which test runs."""
        self.test = item.name

    def table(self, seldom: int) -> str:
        """Write the counts, the least first, of what at most so many tests hear."""
        rows = []
        for (module, where), tests in sorted(self.heard.items(), key=lambda each: (len(each[1]), str(each[0]))):
            if len(tests) <= seldom:
                named = f"    {', '.join(sorted(tests))}" * (0 < len(tests) <= _FEW)
                rows.append(f"{len(tests):4}  {module}: {where}{named}")
        return "\n".join(rows)


def _says(node: ast.Return) -> bool:
    """Leave out what gives no advice: numbers, lists, whether something is so, and nothing."""
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and " " in str(part.value))
        or isinstance(part, ast.Name)
        for part in ([node.value] if not isinstance(node.value, ast.IfExp) else [node.value.body, node.value.orelse])
    )


def main() -> None:
    """Run tests, and print what they heard."""
    parser = argparse.ArgumentParser(prog="python -m tests.fires", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seldom", type=int, default=sys.maxsize, metavar="N", help="only what at most N tests hear")
    chosen, rest = parser.parse_known_args()
    fires = Fires()
    status = pytest.main(["-q", "-n0", *rest], plugins=[fires])
    sys.stdout.write(fires.table(chosen.seldom) + "\n")
    raise SystemExit(status)


if __name__ == "__main__":
    main()
