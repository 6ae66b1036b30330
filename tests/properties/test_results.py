"""Malformed rows, files, selections and pictures; malformed arguments of modules; and that no public name is left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import lltm_inline as li
from lltm_inline.errors import FileError, InputError, LltmInlineError, UnknownPartError
from lltm_inline.notebook.plot import plot
from lltm_inline.tables.counts import Counts, CountsRow
from lltm_inline.tables.memory import Memory, MemoryRow
from lltm_inline.tables.timings import Row, Timings
from lltm_inline.tables.trace import Trace, TraceRow
from tests.properties.malformed import ANYTHING, NUMBERS, PROFILE, answer, in_cache

WHAT = {"op": "odd", "size": {"B": 3}, "dtype": "float32", "device": "cpu"}
TIMES = {"median": 2e-6, "q1": 1e-6, "q3": 3e-6, "samples": 50, "calls": 9}
SPEED = {"speedup": 2.0, "speedup_low": 1.9, "speedup_high": 2.1, "gb_per_s": 1.0, "gflop_per_s": 2.0, "share": 0.5}
ROW = {
    "kernel": "odd/a", **WHAT, "direction": "forward", **TIMES, **SPEED,
    "bound_by": "copy", "flags": ["-O2"], "threads": 1, "torch": "2", "compiler": "g++", "cpu": "one",
}  # fmt: skip
BYTES = {
    "kernel": "odd/a", **WHAT, "depth": 1, "held": 4, "outputs": 2, "peak": 8, "left": 0, "threads": 1, "torch": "2", "cpu": "",
}  # fmt: skip
COUNTED = {
    "kernel": "odd/a", **WHAT, "direction": "forward", "launch": 1, "function": "k", "grid": [1, 1, 1], "block": [32, 1, 1],
    "line": 3, "what": "global load", "array": "x", "width": 4, "accesses": 32, "requests": 1, "transactions": 32, "least": 4,
    "most": 0, "lanes": [32 * lane for lane in range(31)] + [-1],
}  # fmt: skip
TRACED = {
    "kernel": "odd/a", **WHAT, "direction": "forward", "launch": 1, "function": "k", "order": 1, "block": [0, 0, 0],
    "thread": [3, 0, 0], "line": 3, "what": "global load", "array": "x", "index": [3], "shape": [8], "value": "0.5", "left": 0,
}  # fmt: skip
KINDS: list[tuple[Any, Any, dict[str, Any]]] = [
    (Timings, Row, ROW),
    (Memory, MemoryRow, BYTES),
    (Counts, CountsRow, COUNTED),
    (Trace, TraceRow, TRACED),
]
FIELDS = [(kind, name) for kind in KINDS for name in kind[2]]

MODULES: dict[Any, dict[str, Any]] = {
    li.nn.LLTM: {"input_features": 3, "state_size": 2, "kernel": "lltm/python"},
    li.nn.Linear: {"in_features": 3, "out_features": 2, "bias": True, "kernel": "linear/python"},
    li.nn.ConvBN2d: {"in_channels": 3, "out_channels": 2, "kernel_size": 2, "eps": 1e-3, "kernel": "conv_bn/python"},
    li.nn.GraphConv: {"in_features": 3, "out_features": 2, "kernel": "graph_conv/python"},
}
ARGUMENTS = [(module, name) for module, fields in MODULES.items() for name in (*fields, "device", "dtype")]

#: Every public name, and where malformed arguments are thrown at it: here, in the other two modules, or nowhere.
COVERED = {
    "definitions": {"Cost", "Kernel", "Op", "diff", "registry"},
    "verbs": {"build", "load", "check", "gradcheck", "benchmark", "memory", "call", "sweep", "playground", "self_check", "export"},
    "counts": {"counts", "Counts"},
    "run/test_traced": {"trace", "Trace"},
    "test_assembly": {"assembly", "Assembly"},
    "test_roofline": {"roofline", "Roofline"},
    "extension/test_inline": {"from_load_inline"},
    "judging/test_judge": {"judge", "Verdict"},
    "results": {"Memory", "Timings", "Report", "doctor", "nn", "plot"},
    "made by the others, or takes nothing": {
        "Build", "BuildError", "CheckError", "Crash", "CrashError", "Function", "Limits", "Sweep", "TimeoutError", "WorkerError",
        "Setting", "errors", "lab", "live_benchmark", "ops", "worker",
    },
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _nothing_left() -> Iterator[None]:
    """Hold the cache after all of this against the cache before."""
    before = in_cache()
    yield
    assert in_cache() == before


def test_no_public_name_is_left_out() -> None:
    """A name that is added to `lltm_inline.__all__` is added here, and to the tests that throw things at it."""
    assert set(li.__all__) <= set().union(*COVERED.values())


def exercise(results: Any) -> None:
    """Show, judge and write results that were taken for good."""
    assert str(results) and results._repr_html_() and results.verdict()
    assert isinstance(results.conditions(), str)
    assert type(results).from_dict(results.to_dict()) == results


@PROFILE
@given(st.sampled_from(FIELDS), ANYTHING)
@example((KINDS[0], "median"), float("nan"))
@example((KINDS[0], "size"), {"B": 10**30})
@example((KINDS[0], "flags"), "-O2")
@example((KINDS[1], "held"), "4")
@example((KINDS[2], "accesses"), 2**63 - 1)
def test_rows(field: tuple[Any, str], value: Any) -> None:
    """A row of which one field is malformed is refused when it is read, or shown and judged like any other."""
    (kind, _, row), name = field
    data = {"format": _format(kind), "baseline": "odd/a", "rows": [row, {**row, name: value}]}
    results = answer(lambda: kind.from_dict(data))
    assert isinstance(results, kind | InputError)
    if isinstance(results, kind):
        exercise(results)


def _format(kind: Any) -> str:
    return str(kind((), "").to_dict()["format"])


@PROFILE
@given(st.sampled_from(KINDS), ANYTHING)
def test_results(what: tuple[Any, Any, dict[str, Any]], value: Any) -> None:
    """Whatever stands in the place of rows, baseline, data, selection or separator is refused or understood."""
    kind, row_kind, row = what
    good = kind([row_kind(**row)], "odd/a")
    for make in (
        lambda: kind(value, "odd/a"),
        lambda: kind([value], "odd/a"),
        lambda: kind(good.rows, value),
        lambda: kind.from_dict(value),
        lambda: kind.from_dict({**good.to_dict(), "rows": value}),
        lambda: good.select(kernel=value),
        lambda: good.select(size=value),
    ):
        made = answer(make)
        assert isinstance(made, kind | InputError)
    answer(lambda: good.conditions(value))
    answer(lambda: plot(value))
    if kind is Memory:
        answer(lambda: good.ratio(value, "held"))
        answer(lambda: good.ratio(good.rows[0], value))


@PROFILE
@given(
    what=st.sampled_from(KINDS),
    value=st.one_of(ANYTHING.filter(lambda value: not isinstance(value, str)), st.text(max_size=3)),
)
def test_paths(what: tuple[Any, Any, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    """What is no path, or leads nowhere, is a FileError or an InputError that shows it."""
    kind, row_kind, row = what
    good = kind([row_kind(**row)], "odd/a")
    if isinstance(value, str | Path):
        value = tmp_path_factory.getbasetemp() / "none" / f"x{value}".replace("/", "_")
    for use in (kind.from_json, good.to_json, good.to_csv):
        assert isinstance(answer(lambda use=use: use(value)), InputError)


@PROFILE
@given(data=st.one_of(st.binary(max_size=40), st.text(max_size=40).map(lambda text: text.encode("utf-8"))))
@example(data=b"[" * 100_000)
@example(data=b'{"format": "lltm_inline timings 1"}')
@example(data=b"x" * 200_000)
@example(data=b"\xff\xfe")
def test_contents_of_files(tmp_path: Path, data: bytes) -> None:
    """A file that holds something else is refused."""
    path = tmp_path / "file"
    path.write_bytes(data)
    for kind, _, _ in KINDS:
        assert isinstance(answer(lambda kind=kind: kind.from_json(path)), InputError)


def test_files_of_the_other_kind(tmp_path: Path) -> None:
    """A CSV file is no JSON file, and a missing file is an OSError, too."""
    timings = Timings([Row(**ROW)], "odd/a")
    with pytest.raises(InputError, match="is no JSON file"):
        Timings.from_json(timings.to_csv(tmp_path / "a.csv"))
    with pytest.raises(InputError, match="not a benchmark's timings: format is 'lltm_inline memory 1'"):
        Timings.from_json(Memory([MemoryRow(**BYTES)], "odd/a").to_json(tmp_path / "b.json"))
    with pytest.raises(OSError, match="No such file") as error:
        Timings.from_json(tmp_path / "none.json")
    assert isinstance(error.value, FileError | InputError)
    path = tmp_path / "c.json"
    path.write_text(json.dumps({**timings.to_dict(), "rows": [{**ROW, "median": None}]}))
    with pytest.raises(InputError, match="a row of timings: median=None, want a positive, finite number"):
        Timings.from_json(path)


@PROFILE
@given(st.one_of(ANYTHING, st.tuples(NUMBERS, NUMBERS)))
def test_inches(value: Any) -> None:
    """A figure of any size is drawn, or the size refused; figures of a normal size are drawn in other tests."""
    timings = Timings([Row(**ROW)], "odd/a")
    if isinstance(value, tuple | list) and len(value) == 2:
        answer(lambda: plot(timings, size=value))
    else:
        assert value is None or isinstance(answer(lambda: plot(timings, size=value)), InputError)


@PROFILE
@given(st.sampled_from(ARGUMENTS), ANYTHING)
def test_modules(argument: tuple[Any, str], value: Any) -> None:
    """A module made with one malformed argument is made, or refused with an error of ours."""
    kind, name = argument
    module = answer(lambda: kind(**{**MODULES[kind], name: value}))
    assert isinstance(module, torch.nn.Module | LltmInlineError)
    if isinstance(module, torch.nn.Module):
        assert repr(module)
        answer(lambda: setattr(module, "kernel", value))


@PROFILE
@given(st.sampled_from(list(MODULES)), ANYTHING, st.booleans())
def test_calls_of_modules(kind: Any, value: Any, first: bool) -> None:
    """A module called with something else than tensors says which argument is none."""
    module = kind(**MODULES[kind])
    inputs: dict[Any, list[Any]] = {
        li.nn.LLTM: [torch.ones(1, 3), (torch.ones(1, 2), torch.ones(1, 2))],
        li.nn.Linear: [torch.ones(1, 3)],
        li.nn.ConvBN2d: [torch.ones(2, 3, 4, 4)],
        li.nn.GraphConv: [torch.ones(2, 3), torch.ones(2, 2)],
    }
    given = inputs[kind]
    given[0 if first else -1] = value
    assert isinstance(answer(lambda: module(*given)), LltmInlineError | torch.Tensor)


def test_what_is_said_of_modules() -> None:
    """Errors name the argument; those that Python or PyTorch users expect by their builtin name have it as a base."""
    with pytest.raises(InputError, match=r"LLTM: input_features='3', want an integer"):
        li.nn.LLTM("3", 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"Linear: device='tpu9', want a device such as 'cpu' or 'cuda'"):
        li.nn.Linear(3, 2, device="tpu9")
    with pytest.raises(InputError, match=r"ConvBN2d: eps=nan, want a finite number"):
        li.nn.ConvBN2d(3, 2, 2, eps=float("nan"))
    cell = li.nn.LLTM(3, 2, kernel="lltm/python")
    with pytest.raises(TypeError, match=r"LLTM: state=None, want two tensors"):
        cell(torch.ones(1, 3), None)
    with pytest.raises(RuntimeError, match=r"LLTM: input has shape \(1, 4\), want \(B, 3\)"):
        cell(torch.ones(1, 4), (torch.ones(1, 2), torch.ones(1, 2)))


@PROFILE
@given(ANYTHING)
def test_parts_of_results(value: Any) -> None:
    """A report, and what doctor found, say which parts they have, as a mapping does."""
    report = li.Report("odd/a", "cpu", ())
    for found in (report, _DIAGNOSIS):
        error = answer(lambda found=found: found[value])
        assert isinstance(error, UnknownPartError | KeyError)


_DIAGNOSIS = li.doctor()


@pytest.mark.parametrize("use", [lambda f, x: f.forward(x), lambda f, x: f.backward(x, x, x, x)])
@pytest.mark.parametrize("value", [None, 5, "x", [], [None], (torch.ones(2),)])
def test_functions_of_python_kernels(use: Callable[..., Any], value: Any) -> None:
    """A Python kernel has no raw forward and backward, whatever they are given."""
    assert isinstance(answer(lambda: use(li.load("axpy/python"), value)), InputError)
