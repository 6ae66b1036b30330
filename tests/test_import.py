"""`import lltm_inline` is light: it compiles nothing, and leaves what only some people need for later."""

from __future__ import annotations

import ast
import graphlib
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import pytest

import lltm_inline

HEAVY = (
    *("matplotlib", "IPython", "jupyterlab", "ipykernel", "ipywidgets", "pygments", "rich", "psutil", "ninja"),
    *("tree_sitter", "tree_sitter_cuda"),
    *("cloudpickle", "lltm_inline.workers", "lltm_inline.diagnosis.advice_names"),
)

# The audit hook sees every program that is started, by subprocess, os.system or a fork and exec.
PROBE = f"""
import json, sys
started = []
events = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork")
sys.addaudithook(lambda event, args: started.append(str(args)) if event in events else None)
import torch
before = len(started)
{{statement}}
print(json.dumps({{{{"heavy": [name for name in {HEAVY!r} if name in sys.modules], "started": started[before:]}}}}))
"""


def probe(statement: str, cache: Path) -> dict[str, list[str]]:
    """Run a statement in a new interpreter; return the heavy modules and the programs that it brought in."""
    import os

    result = subprocess.run(
        [sys.executable, "-c", PROBE.format(statement=statement)],
        capture_output=True,
        text=True,
        env={**os.environ, "LLTM_INLINE_CACHE": str(cache)},
    )
    assert result.returncode == 0, result.stderr
    found: dict[str, list[str]] = json.loads(result.stdout.splitlines()[-1])
    return found


def test_import_is_light(tmp_path: Path) -> None:
    """Importing the package imports no plotting, notebook or terminal library and no worker, starts no program and makes no cache."""
    assert probe("import lltm_inline", tmp_path / "cache") == {"heavy": [], "started": []}
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("import lltm_inline, matplotlib", "heavy"),
        ("import lltm_inline, rich", "heavy"),
        ("import lltm_inline; lltm_inline.Limits", "heavy"),
        ("import lltm_inline, subprocess; subprocess.run([sys.executable, '-c', ''])", "started"),
        ("import lltm_inline, os; os.system('true')", "started"),
    ],
)
@pytest.mark.full
def test_the_light_test_can_fail(statement: str, kind: str, tmp_path: Path) -> None:
    """The probe of the test above does notice a heavy module and a started program."""
    assert probe(statement, tmp_path / "cache")[kind]


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Name what a module imports, in functions and for type checkers too; a name of a package may be a module of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name("." * node.level + (node.module or ""), package)
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def circle_of(files: dict[str, str], packages: set[str]) -> list[str]:
    """Return modules that import each other in a circle, given the text of each by name; nothing where there is none."""
    graph = {}
    for name, text in files.items():
        found = set(imported(ast.parse(text), name if name in packages else name.rpartition(".")[0])) & files.keys()
        # `from .package import module` is an import of the module, whatever else the package holds.
        graph[name] = found - {one for one in found & packages if any(other.startswith(f"{one}.") for other in found)}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """What a module needs lies below it: whoever reads can begin at the bottom."""
    root = Path(lltm_inline.__file__).parent
    paths = {path: ".".join(path.relative_to(root.parent).with_suffix("").parts) for path in root.rglob("*.py")}
    files = {name.removesuffix(".__init__"): path.read_text() for path, name in paths.items()}
    assert (
        circle_of(files, {name.removesuffix(".__init__") for name in paths.values() if name.endswith("__init__")}) == []
    )


def test_the_circle_test_can_fail() -> None:
    """Also where one of the imports is inside a function."""
    files = {"a": "", "a.one": "from . import two", "a.two": "def f():\n    from .one import g"}
    assert set(circle_of(files, {"a"})) == {"a.one", "a.two"}
