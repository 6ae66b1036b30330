"""Which environments are tried."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements")
#: Names further Pythons, as the tests of exports do.
PYTHONS = "LLTM_INLINE_PYTHONS"


@dataclass(frozen=True)
class Environment:
    """One environment.

    Attributes:
        name: in the table.
        python: `"3.13"`.
        before: a file below `requirements`, without its ending: what is installed there already.
        install: what is asked of pip: lltm_inline itself (`.`) with extras, or `.` and further packages.
        compiler: the name that CXX has; empty where the first one that is found serves.
        how: `"kernel"` or `"shell"`, as `walk` takes it.
        untouched: an install must not change what is there, as others use it.
        ci: CI tries it, each run one of these in turn.
        floors: each dependency is installed in the oldest version that pyproject.toml allows.
        notebook: a notebook below `notebooks` whose cells run, too.
    """

    name: str
    python: str
    before: str
    install: tuple[str, ...] = (".[jupyter]",)
    compiler: str = ""
    how: str = "kernel"
    untouched: bool = False
    ci: bool = False
    floors: bool = False
    notebook: str = ""


ENVIRONMENTS = (
    Environment("oldest", "3.11", "torch-2.10", compiler="g++-11", ci=True, floors=True),
    Environment(
        "Colab", "3.13", "colab", install=(".",), compiler="g++-11", untouched=True, ci=True, notebook="colab.ipynb"
    ),
    Environment("newest", "3.12", "torch-2.15", compiler="clang++", ci=True),
    Environment("Kaggle", "3.12", "kaggle", install=(".", "anywidget"), compiler="g++-11", untouched=True),
    Environment("plain IPython", "3.11", "torch-2.13", install=(".", "ipython"), how="shell"),
    Environment("torch 2.12", "3.13", "torch-2.12"),
    Environment("torch 2.14", "3.13", "torch-2.14", compiler="clang++"),
)
#: Of what README promises this alone is not tried: no Python 3.14 was to be had.
NOT_TRIED = ("Python 3.14",)


def find_python(version: str) -> str | None:
    """Find a Python of this version: on PATH, in PYTHONS, or beside the one that runs this, as pyenv lays them."""
    base = Path(os.path.realpath(sys.base_prefix))
    places = [
        *filter(None, os.environ.get(PYTHONS, "").split(os.pathsep)),
        f"python{version}",
        str(base / "bin/python"),
    ]
    places += [str(other / "bin" / "python") for other in sorted(base.parent.glob(f"{version}*"))]
    for place in places:
        found = shutil.which(place)
        ask = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2], sys.executable)"
        done = subprocess.run([found, "-c", ask], capture_output=True, text=True) if found else None
        if done and done.returncode == 0 and done.stdout.split()[0] == version:
            return done.stdout.split()[1]
    return None


def floors() -> list[str]:
    """Return each dependency at its lower bound, as pip takes it for a constraint."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["jupyter"]]
    return [each.replace(">=", "==") + ".*" * (each.count(".") < 2) for each in wanted if not each.startswith("torch")]
