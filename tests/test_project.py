"""The project's own files say the same thing everywhere."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import lltm_inline

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]

# The names that differ on conda-forge, and what environment.yml has although no package of that name is declared.
CONDA_NAMES = {"torch": "pytorch"}
CONDA_ONLY = {"python", "pip", "make", "cxx-compiler", "clangxx"}
# What is imported under another name than it is installed under, and what is needed without being imported.
IMPORT_NAMES = {
    "apache-tvm-ffi": "tvm_ffi",
    "pyelftools": "elftools",
    "tree-sitter": "tree_sitter",
    "tree-sitter-cuda": "tree_sitter_cuda",
}
NOT_IMPORTED = {
    "setuptools",
    "jupyterlab",
    "distributed",
    "cryptography",
}  # the third by name, where asked for; and it imports the last


def normal(name: str) -> str:
    """Spell a package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def split(requirement: str) -> tuple[str, str]:
    """Split `torch>=2.10` into name and rest."""
    match = re.match(r"([A-Za-z0-9_.-]*[A-Za-z0-9])(.*)", requirement.replace(" ", ""))
    assert match, requirement
    return normal(match[1]), match[2]


def declared(*extras: str) -> dict[str, str]:
    """Return what pyproject.toml declares, by name."""
    lists = [PROJECT["dependencies"], *(EXTRAS[extra] for extra in extras)]
    names = [requirement for requirements in lists for requirement in requirements]
    own = [re.fullmatch(r"lltm-inline\[(\w+)\]", name) for name in names]  # an extra that holds another
    found = dict(split(name) for name, of_ours in zip(names, own, strict=True) if not of_ours)
    return found | {name: bound for of_ours in own if of_ours for name, bound in declared(of_ours[1]).items()}


def pinned() -> dict[str, str]:
    """Return what constraints.txt pins, by name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(split(line) for line in lines if line and not line.startswith("#"))


def numbers(version: str) -> tuple[int, ...]:
    """Turn the numeric start of a version into a tuple that compares."""
    return tuple(map(int, re.findall(r"\d+", version.split("post")[0])))


def tracked() -> list[Path]:
    """List the files that are committed or could be: git's own list, without what it ignores."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and path != Path(__file__)]


def test_environment_yml_declares_what_pyproject_declares() -> None:
    """Every dependency with its lower bound is in environment.yml by its conda name, and little else is."""
    text = (ROOT / "environment.yml").read_text().partition("\ndependencies:\n")[2]
    found = dict(split(line) for line in re.findall(r"^ +- ([^#:\n]+)(?:#|$)", text, flags=re.MULTILINE))
    want = {CONDA_NAMES.get(name, name): bound for name, bound in declared("test", "check").items()}
    assert {name: bound for name, bound in found.items() if name not in CONDA_ONLY} == want
    assert set(found) >= CONDA_ONLY
    assert found["python"] == PROJECT["requires-python"]


def test_constraints_pin_every_dependency() -> None:
    """Every declared package has one exact version in constraints.txt, not below its declared bound."""
    pins = pinned()
    assert all(re.fullmatch(r"==[0-9][0-9a-z.]*", version) for version in pins.values()), pins
    for name, bound in declared("test", "check", "bench").items():
        assert name in pins, f"{name} is not pinned"
        assert numbers(pins[name]) >= numbers(bound), f"{name}{pins[name]} is below {bound}"


def test_constraints_cover_the_closure() -> None:
    """Whatever the declared packages need in this very environment is pinned, so no install reaches for a newer one."""
    from importlib.metadata import PackageNotFoundError, requires

    pins, todo, seen = pinned(), list(declared("test", "check", "bench")), set[str]()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needs = requires(name) or []
        except PackageNotFoundError:
            continue  # for another extra, system or Python than this one
        # A marker (extra, system, Python version) may or may not hold here: what it guards is followed if it is pinned.
        todo += [split(need.partition(";")[0])[0] for need in needs if ";" not in need]
    missing = seen - set(pins)
    assert not missing


def test_every_dependency_has_its_reason() -> None:
    """Each dependency in pyproject.toml stands on a line of its own, with a comment that says what it is for."""
    text = (ROOT / "pyproject.toml").read_text()
    for requirement in [*PROJECT["dependencies"], *(item for extra in EXTRAS.values() for item in extra)]:
        assert re.search(rf'^    "{re.escape(requirement)}", +# .{{8,}}', text, flags=re.MULTILINE), requirement


def test_imports_are_declared_and_dependencies_used() -> None:
    """The package imports nothing that it does not declare, and declares nothing that it does not import."""
    imported = set()
    for path in (ROOT / "lltm_inline").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                imported.add(node.module.partition(".")[0])
    imported -= set(sys.stdlib_module_names) | {"lltm_inline"}
    # IPython is that of the shell or kernel in which the magics run; ipywidgets is looked for, and done without.
    imported -= {"IPython", "ipywidgets"}
    assert {IMPORT_NAMES.get(name, name) for name in declared("lab", "jupyter")} - NOT_IMPORTED == imported


def test_only_the_panel_needs_what_the_core_does_not_bring() -> None:
    """Without the extra for Jupyter all imports but those of the panel's widget are of packages that are declared."""
    extra = {IMPORT_NAMES.get(name, name) for name in declared("jupyter").keys() - declared().keys()} - NOT_IMPORTED
    importing = {
        str(path.relative_to(ROOT / "lltm_inline"))
        for path in (ROOT / "lltm_inline").rglob("*.py")
        if re.search(rf"^\s*(?:import|from) (?:{'|'.join(extra)})\b", path.read_text(), flags=re.MULTILINE)
    }
    assert importing == {"notebook/panel/widget.py"}


def test_readme_says_how_much_is_installed() -> None:
    """README has the number of packages that come beside torch and their size, give or take what other versions make of them."""
    (small, small_mb), (large, large_mb) = re.findall(
        r"(\d+)(?: packages)?, about (\d+) MB", (ROOT / "README.md").read_text()
    )
    for number, megabytes, extras in ((small, small_mb, ()), (large, large_mb, ("jupyter",))):
        found = closure("lltm-inline", extras) - closure("torch", ()) - {"lltm-inline"}
        sizes = [
            os.path.getsize(place)
            for name in found
            for file in distribution(name).files or ()
            if file.suffix != ".pyc" and os.path.isfile(place := file.locate())
        ]
        assert abs(len(found) - int(number)) <= 5, sorted(found)
        assert 0.8 < sum(sizes) / 1e6 / int(megabytes) < 1.25


def closure(name: str, extras: tuple[str, ...]) -> set[str]:
    """Return a package of this environment with all that it needs."""
    seen, todo = set[tuple[str, tuple[str, ...]]](), [(name, extras)]
    while todo:
        package, wanted = one = todo.pop()
        if one in seen:
            continue
        try:
            needs = [Requirement(each) for each in distribution(package).requires or ()]
        except PackageNotFoundError:
            continue  # for another system than this one
        seen.add(one)
        here = [
            need for need in needs if not need.marker or any(need.marker.evaluate({"extra": e}) for e in ("", *wanted))
        ]
        todo += [(normal(need.name), tuple(sorted(need.extras))) for need in here]
    return {package for package, _ in seen}


def test_the_addresses_agree() -> None:
    """README's button and the first cell of the notebook for Colab lead to the repository that pyproject.toml names."""
    source = PROJECT["urls"]["Source"]
    owner = source.removeprefix("https://github.com/")
    button = f"https://colab.research.google.com/github/{owner}/blob/main/notebooks/colab.ipynb"
    assert button in (ROOT / "README.md").read_text()
    assert f"git+{source}" in (ROOT / "notebooks" / "colab.ipynb").read_text()


def test_the_package_has_its_other_files() -> None:
    """What the package has beside Python is declared as its data, so that a wheel has it too: C++, templates, the panel's bundle."""
    package = ROOT / "lltm_inline"
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["lltm_inline"]
    data = {path for pattern in patterns for path in package.glob(pattern)}
    sources = package / "notebook" / "panel" / "js"
    found = {path for path in tracked() if path.is_relative_to(package) and not path.is_relative_to(sources)}
    assert {path for path in found if path.suffix != ".py"} == data
    assert {path.suffix for path in data} >= {".cpp", ".h", ".jinja", ".js"}


def test_one_version_everywhere() -> None:
    """pyproject.toml, `__version__` and the newest release of the changelog carry the same version."""
    releases = re.findall(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert PROJECT["version"] == lltm_inline.__version__ == releases[0]


def test_makefile_has_the_targets() -> None:
    """Each promised target exists, and `make -n` of it plans an install with the constraints."""
    text = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "check", "bench", "lab", "clean"):
        assert re.search(rf"^{target}:", text, flags=re.MULTILINE), target
    for target in ("demo", "test", "check", "bench", "lab"):
        plan = subprocess.run(
            ["make", "-C", str(ROOT), "-n", target, "VENV=no-such-environment", f"PYTHON={sys.executable}"],
            capture_output=True,
            text=True,
        )
        assert plan.returncode == 0, plan.stderr
        assert "-c constraints.txt" in plan.stdout, target


@pytest.mark.parametrize(
    ("name", "want"),
    [("old-python", "is Python 3.10.0, want Python 3.11 or newer"), ("no-such-python", "on PATH. Install Python 3.11")],
)
def test_make_refuses_an_old_python(tmp_path: Path, name: str, want: str) -> None:
    """With no Python or one that is too old, make says so in one line, and leaves no half-made environment."""
    python = tmp_path / "old-python"
    python.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.10.0" || exit 1\n')
    python.chmod(0o755)
    arguments = [f"PYTHON={tmp_path / name}", f"VENV={tmp_path / 'venv'}"]
    result = subprocess.run(["make", "-C", str(ROOT), "test", *arguments], capture_output=True, text=True)
    assert result.returncode != 0
    assert want in result.stderr
    assert not (tmp_path / "venv").exists()


def test_ci_script_is_executable_bash() -> None:
    """`.ci/run` is an executable script that bash can parse."""
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0


def test_no_file_names_this_machine() -> None:
    """No file that could be committed names a path of a developer's machine or the host of a package registry."""
    hosts = ("pypi.org", "pythonhosted", "download.pytorch", "anaconda.org", "-index-url", "--find-links")
    patterns = {
        "a home or scratch directory": r"(?<![\w.-])/(?:root|work|tmp|home/\w+)/",
        "a package registry": "|".join(map(re.escape, hosts)),
        "a local build of torch": r"==[\d.]+\+(?:cpu|cu\d+)",
    }
    found = [
        f"{path.relative_to(ROOT)} names {what}: {match[0]}"
        for path in tracked()
        for what, pattern in patterns.items()
        if (match := re.search(pattern, path.read_text(errors="replace")))
    ]
    assert not found


def test_every_test_says_what_it_tests() -> None:
    """Each test function, wherever it stands, begins with a sentence."""
    silent = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert not silent
