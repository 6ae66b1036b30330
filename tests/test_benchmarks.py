"""The benchmarks' own code: who takes part, how a page of figures is written, and that targets can be missed."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lltm_inline as li
from tests.tiny import forget

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the scripts' modules be imported, without what they change in the environment."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("CCACHE_DISABLE", "SCCACHE_RECACHE", "PATH"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    yield


def row(name: str, median: float, **more: Any) -> dict[str, Any]:
    """Make the figures of one contestant."""
    return {"op": "axpy", "size": {"N": 1000}, "direction": "forward", "name": name, "median": median, **more}


@pytest.mark.parametrize("script", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_what_a_script_imports_is_there(script):
    """Nothing runs the scripts but a person who wants figures: what they import of the project may not move without them."""
    imports = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if (node.module or "").split(".")[0] in ("lltm_inline", "tests", "common")]
    for node in ours:
        module = importlib.import_module(node.module)
        for name in (name.name for name in node.names):
            assert hasattr(module, name) or importlib.import_module(f"{node.module}.{name}"), (node.module, name)


def test_a_page_shows_who_is_faster(tmp_path):
    """Ratios stand beside times, bold and slanted where an interval says so, and what was left out is named."""
    from speed_table import markdown

    best = {"better of two": "eager"}
    data = {
        "date": "2026-01-01T10:00:00", "flags": "-O3", "notes": ["axpy/cuda is left out"],
        "trades": {"axpy/slow": "is slow on purpose"},
        "machine": {
            "cpu": "A Processor", "threads": 2, "torch": "2.13.0", "load": 0.1, "load_after": 0.2,
            "compilers": {"g++": "g++ 12"},
        },
        "cells": [
            row("torch.compile", 4e-5),
            row("eager", 3e-5),
            row("axpy/cpp", 2.5e-5, **best, **{"over eager": [1.2, 1.1, 1.3], "share": 0.8, "bound by": "copy"}),
            row("axpy/slow", 6e-5, **best, **{"over eager": [0.5, 0.4, 0.6]}),
            row("axpy/same", 3e-5, **best, **{"over eager": [1.0, 0.9, 1.1]}),
        ],
        "bandwidth": [
            {"op": "axpy", "size": "N=7", "direction": "forward", "name": "axpy/cpp", "share": [0.9, 0.8, 1.0], "bytes per second": 1e10}
        ],
    }  # fmt: skip
    path = tmp_path / "data.json"
    path.write_text(json.dumps(data))
    page = markdown(path)
    assert (
        "| size | direction | eager | torch.compile | `axpy/cpp` | `axpy/slow` | `axpy/same` | of the limit |" in page
    )
    assert (
        "| N=1000 | forward | 30.0 µs | 40.0 µs | 25.0 µs (**1.20x**) | 60.0 µs (_0.50x_) | 30.0 µs (1.00x) | 80% of copy |"
        in page
    )
    assert "| `axpy/cpp` | N=7, forward | 10.0 | 90% (80% to 100%) |" in page
    for text in ("A Processor, 2 threads", "`axpy/slow` is slow on purpose.", "- axpy/cuda is left out"):
        assert text in page


def test_kernels_without_a_cpu_text_are_left_out_with_a_line():
    """A CUDA text alone, or one with a host side, is none that a CPU can run."""
    from contest import runs_on_cpu, variants

    op = li.Op("benched", "(Tensor x) -> Tensor y", lambda x: x * 2, {"x": "N", "y": "N"})
    li.registry.register(op)
    try:
        cuda = li.registry.register(li.Kernel("benched/cuda", cuda="at::Tensor forward(const at::Tensor& x);"))
        cpp = li.registry.register(
            li.Kernel("benched/cpp", cpp="at::Tensor forward(const at::Tensor& x) { return x; }")
        )
        notes: list[str] = []
        assert variants(op, notes) == [cpp] and not runs_on_cpu(cuda)
        assert notes == ["benched/cuda is left out: it has no text for a CPU"]
    finally:
        forget("benched")


def test_targets_are_met_or_missed():
    """A ratio knows its sense, and says it."""
    from common import Ratio

    assert str(Ratio("held", 0.5, 0.6)) == "held: 0.5, at most 0.6: met"
    assert str(Ratio("share", 0.5, 0.7, at_least=True)) == "share: 0.5, at least 0.7: MISSED"
    assert Ratio("peak", 1.0).met is None and str(Ratio("peak", 1.0)) == "peak: 1"


def test_time_left_is_shared_out():
    """Cases get their wish while there is time, and an eighth of it when there is none."""
    from ops_speed import Purse

    assert Purse(1000.0, 10, 1.2).next() == 1.2
    assert Purse(-5.0, 10, 1.2).next() == pytest.approx(0.15)
    assert Purse(10.0, 10, 1.2).next() == pytest.approx(0.5, rel=0.01)


TEMPLATE = """\
/*@Thread@*/ declare /*@Warp@*/ declare
/*@NoRaceBug@*/ declare /*@RaceBug@*/ declare
/*@+Warp@*/
/*@NoRaceBug@*/ /*@RaceBug@*/ suppress
/*@-Warp@*/
a;
/*@+Thread@*/ /*@+RaceBug@*/
b;
/*@-Thread@*/ /*@-RaceBug@*/
/*@+Warp@*/ /*@+or@*/ /*@+RaceBug@*/
c;
/*@-Warp@*/ /*@-or@*/ /*@-RaceBug@*/
/*@Thread@*/ d; /*@Warp@*/ e;
/*@NoSyncBug@*/ f; /*@SyncBug@*/ f;"""


def test_variants_of_a_template(tmp_path):
    """Tags of one line are alternatives, frames hold what belongs to some, and a bug that changes nothing is none."""
    from indigo3 import lines, squeezed, variants_of

    path = tmp_path / "BFS_CUDA_V_Topo.idg"
    path.write_text(TEMPLATE)
    found = {one.name: squeezed(lines(TEMPLATE, frozenset(one.chosen))) for one in variants_of(path)}
    assert found == {
        "BFS_V_Topo Thread": "a;d;f;",
        "BFS_V_Topo Thread RaceBug": "a;b;c;d;f;",
        "BFS_V_Topo Warp": "a;c;e;f;",
    }
    of_bug = next(one for one in variants_of(path) if one.bug == "RaceBug")
    assert of_bug.without_bug().name == "BFS_V_Topo Thread"


def test_what_is_written_of_the_suite_is_in_its_results():
    """docs/checks.md sums up what benchmarks/results/indigo3.json counts."""
    data = json.loads((BENCHMARKS / "results" / "indigo3.json").read_text())
    page = (
        (BENCHMARKS.parent / "docs" / "checks.md")
        .read_text()
        .partition("## On a public suite")[2]
        .partition("\n## ")[0]
    )
    named = []
    for row in re.findall(r"^\| (`.*) \|$", page, re.MULTILINE):
        bugs, *figures = row.split(" | ")
        names = re.findall(r"\w+Bug", bugs)
        counted = [sum(data["bugs"][name][what] for name in names) for what in ("run", "found", "hidden", "missed")]
        assert counted == [int(figure.partition(":")[0]) for figure in figures], row
        named += names
    assert sorted(named) == sorted(data["bugs"])
    clean = data["none"]
    assert f"Of {clean['run']} codes without a planted bug {clean['said']} are reported" in " ".join(page.split())
