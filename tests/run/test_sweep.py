"""A sweep over a kernel's params: points that are slow, fast, wrong, broken and crash are each told for what they are."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline.errors import BuildError, CheckError, CrashError, DefinitionError, InputError
from lltm_inline.measure import sweep as module
from lltm_inline.measure.sweep import sweep
from lltm_inline.run.built import Built
from lltm_inline.tables.partial import Partial
from lltm_inline.tables.sweep import Point, Sweep
from lltm_inline.tables.timings import Row, Timings
from tests import tiny as tiny_module

pytestmark = pytest.mark.usefixtures("quick_compiler")

#: What SPIN does: 200000 is slow, 0 fast, below 0 does not compile, 5 is wrong, 7 crashes.
TEXT = "#include <cstdlib>\n" + tiny_module.STABLE.replace(
    "Tensor times(const Tensor& tensor, double factor) {",
    r"""static_assert(SPIN >= 0, "SPIN counts something");

Tensor times(const Tensor& tensor, double factor) {
  if (SPIN == 5) factor += 1;
  if (SPIN == 7) std::abort();
  for (volatile int i = 0; i < SPIN; i = i + 1) {
  }""",
)
SLOW, FAST, BROKEN, WRONG, CRASHES = 200_000, 0, -1, 5, 7


def spinning(spin: int, **params: float) -> li.Kernel:
    """Make the kernel with some SPIN, as an edit of one that is never built."""
    return li.Kernel(
        f"tiny/spin{spin}".replace("-", "m"), cpp=TEXT, api="stable", params={"FACTOR": 2, "SPIN": spin, **params}
    )


@pytest.fixture(scope="module")
def swept() -> Iterator[Sweep]:
    """Sweep once for all tests that look at the result."""
    tiny_module.register()
    told: list[Partial] = []
    found = sweep(
        spinning(SLOW),
        {"SPIN": [SLOW, FAST, BROKEN, WRONG, CRASHES]},
        (30,),
        seconds=0.4,  # forty rounds: of ten, two during which other programs run make it too noisy to tell
        progress=False,
        watch=told.append,
    )
    assert told and told[-1].baseline == f"tiny/spin{SLOW}"
    yield found
    tiny_module.forget("tiny")


def test_the_fastest_point_is_the_best_and_was_timed_twice(swept):
    """It is faster than the kernel as it stands, and its figure is that of the second time."""
    assert swept.kernel == f"tiny/spin{SLOW}" and swept.base.kernel == swept.kernel
    assert swept.best.params == {"SPIN": FAST} and swept.best.row.outcome == "faster"
    assert swept.confirmed.kernel == swept.best.kernel and swept.confirmed.outcome == "faster"
    assert swept.verdict().startswith(
        f"SPIN=0 ({swept.best.kernel}) is {swept.confirmed.words.partition(' (')[0]} than {swept.kernel}"
    )
    assert "timed a second time" in swept.verdict()


def test_points_that_cannot_be_timed_say_why(swept):
    """One that does not compile, one that is wrong and one that crashes are no reason to lose the others."""
    problems = {point.params["SPIN"]: point.problem for point in swept.rows}
    assert problems[SLOW] == problems[FAST] == ""
    assert "did not compile" in problems[BROKEN] and "SPIN counts something" in problems[BROKEN]
    assert problems[WRONG].startswith("y (30,) float32 differs in all 30 elements") and "timed" not in problems[WRONG]
    assert "crash" in problems[CRASHES] or "null" in problems[CRASHES]
    for spin in (BROKEN, WRONG, CRASHES):
        assert f"SPIN={spin} was not timed: {problems[spin]}" in swept.verdict()


def test_the_kernel_as_it_stands_is_one_of_its_points(swept):
    """Where its own params are among the values it is timed once, and is 1x."""
    own = swept.rows[0]
    assert own.kernel == swept.kernel and own.row == swept.base and own.row.speedup == 1
    assert len(swept.timings.rows) == 2 and swept.timings.baseline == swept.kernel
    assert swept.own == {"FACTOR": 2, "SPIN": SLOW}


def test_a_sweep_shows_itself_as_text_and_as_a_table(swept):
    """Both have the values, the best one, the verdict and the conditions."""
    for shown in (str(swept), swept._repr_html_()):
        for part in ("SPIN", "best ", "as it stands", "not timed", "timed a second time", "torch"):
            assert part in shown, part
    assert 'class="li-title"' in swept._repr_html_() and 'scope="row"' in swept._repr_html_()


def test_files_give_back_what_was_found(swept, tmp_path):
    """JSON gives the same sweep back; CSV has a line a point."""
    assert Sweep.from_json(swept.to_json(tmp_path / "sweep.json")) == swept
    with swept.to_csv(tmp_path / "sweep.csv").open(newline="") as file:
        records = list(csv.DictReader(file))
    assert [record["SPIN"] for record in records] == [str(point.params["SPIN"]) for point in swept.rows]
    assert float(records[1]["median"]) == swept.rows[1].row.median and records[2]["median"] == ""
    assert "did not compile" in records[2]["problem"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "not a sweep: format is None, want 'lltm_inline sweep 1'"),
        (3, "not a sweep: it is 3"),
        ({"format": "lltm_inline sweep 1"}, "a sweep: incomplete or from another version"),
        ({"format": "lltm_inline sweep 1", "rows": [3]}, "a sweep: incomplete or from another version"),
    ],
)
def test_other_data_is_refused(data, message):
    """With a sentence that says what it is."""
    with pytest.raises(InputError, match=message):
        Sweep.from_dict(data)


@pytest.mark.parametrize(("spin", "error"), [(BROKEN, BuildError), (WRONG, CheckError), (CRASHES, CrashError)])
def test_a_kernel_that_cannot_be_timed_as_it_stands_is_an_error(swept, spin, error):
    """There is nothing to count speed-ups against."""
    with pytest.raises(error):
        sweep(spinning(spin), {"SPIN": [FAST]}, (30,), seconds=0.01, progress=False)


@pytest.mark.parametrize(
    ("params", "changes", "message"),
    [
        ({"SPINN": [1]}, {}, "kernel 'tiny/spin0' has no param 'SPINN'. Did you mean 'SPIN'? It has FACTOR, SPIN"),
        ({"X": [1]}, {}, "kernel 'tiny/spin0' has no param 'X'. It has FACTOR, SPIN"),
        ({}, {}, "params={}, want one or two of the params of 'tiny/spin0' (it has FACTOR, SPIN)"),
        ([1], {}, "params=[1], want a dict of lists of numbers by name, {'UNROLL': [1, 2, 4]}"),
        ({"SPIN": 4}, {}, "params['SPIN']=4, want a list of numbers"),
        ({"SPIN": []}, {}, "params['SPIN']=[], want a list of numbers"),
        ({"SPIN": "124"}, {}, "params['SPIN']='124', want a list of numbers"),
        ({"SPIN": [1, "2"]}, {}, "params['SPIN']: one='2', want a finite number"),
        ({"SPIN": [float("nan")]}, {}, "params['SPIN']: one=nan, want a finite number"),
        ({"SPIN": range(9), "FACTOR": range(8)}, {}, "params makes more than 64 points: try fewer values"),
        ({"SPIN": range(10**9)}, {}, "params makes more than 64 points: try fewer values"),
        ({"SPIN": [1]}, {"direction": "up"}, "direction='up', want one of 'forward', 'backward', 'both'"),
        ({"SPIN": [1]}, {"size": (1, 2)}, "want 1 non-negative integer"),
        ({"SPIN": [1]}, {"watch": 3}, "watch=3, want a function"),
        ({"SPIN": [1]}, {"check": "no"}, "check='no', want True or False"),
        ({"SPIN": [1]}, {"seconds": 0}, "seconds=0, want a positive time"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_before_anything_is_built(
    swept, monkeypatch, params, changes, message
):
    """Each with the value and what is wanted, and no revision is made."""
    monkeypatch.setattr(module, "prepare", None)
    before = li.registry.history(li.registry.register(spinning(FAST)).name)
    with pytest.raises(InputError) as caught:
        sweep("tiny/spin0", params, **{"size": (30,), "progress": False, **changes})
    assert message in str(caught.value)
    assert li.registry.history("tiny/spin0") == before


def test_a_value_that_no_param_can_have_makes_no_revision(swept):
    """All values are looked at before the first revision is made."""
    li.registry.register(spinning(FAST))
    before = li.registry.history("tiny/spin0")
    with pytest.raises(DefinitionError, match="param SPIN is 1180591620717411303424"):
        sweep("tiny/spin0", {"SPIN": [3, 2**70]}, (30,))
    assert li.registry.history("tiny/spin0") == before


def test_kernels_without_params_are_refused(swept):
    """The reference is a Python function; it has nothing to sweep."""
    with pytest.raises(InputError, match=r"kernel 'tiny/python' has no param 'SPIN'. It has none"):
        sweep("tiny/python", {"SPIN": [1]}, (30,))


def planted(label: str, speedup: float, spread: float = 0.02) -> Row:
    """Make a row whose interval is as wide as that on both sides."""
    times = {"median": 1e-5 / speedup, "q1": 1e-5 / speedup, "q3": 1e-5 / speedup, "samples": 50, "calls": 1}
    where: dict[str, Any] = {"op": "tiny", "size": {"N": 30}, "direction": "both", "dtype": "float32", "device": "cpu"}
    ends = {"speedup_low": speedup * (1 - spread), "speedup_high": speedup * (1 + spread)}
    return Row(
        label,
        **where,
        **times,
        speedup=speedup,
        **(ends if label != "tiny/spin0" else {"speedup_low": 1, "speedup_high": 1}),
    )


@pytest.mark.parametrize(
    ("first", "second", "best", "words"),
    [
        ((1.0, 0.99), None, None, "no point is measurably faster than tiny/spin0 as it stands (SPIN=0)"),
        (
            (1.3, 0.9),
            1.2,
            {"SPIN": 1},
            "SPIN=1 (tiny/spin0@1) is 1.20x faster than tiny/spin0 as it stands (1.17-1.23)",
        ),
        (
            (1.1, 1.05),
            1.0,
            None,
            "SPIN=1 (tiny/spin0@1) seemed so, and was not when it was timed a second time: no measurable difference",
        ),
    ],
)
def test_a_best_point_must_be_faster_twice(swept, monkeypatch, first, second, best, words):
    """The fastest of many owes some of its lead to chance: it is the best only if that holds on its own."""
    asked: list[list[str]] = []

    def time_built(built: tuple[Built, ...], *_: Any) -> Timings:
        asked.append([one.kernel.label for one in built])
        speedups = (1.0, *first) if len(asked) == 1 else (1.0, second or 0)
        rows = [planted(one.kernel.label, speedup) for one, speedup in zip(built, speedups, strict=True)]
        return Timings(tuple(rows), "tiny/spin0")

    tiny_module.forget("tiny")
    tiny_module.register()
    base = li.registry.register(spinning(FAST))
    monkeypatch.setattr(module, "time_built", time_built)
    monkeypatch.setattr(
        module,
        "prepare",
        lambda kernels, _, **how: tuple(Built(one, li.registry.ops["tiny"], "cpu") for one in kernels),
    )
    monkeypatch.setattr(module, "run_or_raise", lambda *_: None)
    found = sweep(base, {"SPIN": [1, 2]}, (30,), progress=False)
    assert asked == [
        ["tiny/spin0", "tiny/spin0@1", "tiny/spin0@2"],
        *([["tiny/spin0", "tiny/spin0@1"]] if second else []),
    ]
    assert (found.best.params if found.best else None) == best
    assert words in found.verdict() and found.base.kernel == "tiny/spin0"
    assert ("best" in str(found)) == (best is not None)


def test_points_that_the_sweep_does_not_tell_apart_are_named():
    """Those whose interval reaches into that of the best."""
    rows = {spin: planted(f"tiny/spin0@{spin}", speedup, 0.05) for spin, speedup in ((1, 1.4), (2, 1.35), (3, 1.1))}
    points = tuple(Point({"SPIN": spin}, row.kernel, row) for spin, row in rows.items())
    found = Sweep("tiny/spin0", {"SPIN": 0}, {"SPIN": (1, 2, 3)}, points, planted("tiny/spin0", 1.0), rows[1])
    assert [point.text for point in found.near_best] == ["SPIN=2"]
    assert "does not tell it apart from SPIN=2" in found.verdict()
    alone = replace(found, confirmed=None)
    assert alone.best is None and alone.near_best == ()


def test_too_few_rounds_and_noise_are_told():
    """Points without an interval are no findings, and quartiles far apart ask whether the machine is busy."""
    few = replace(planted("tiny/spin0@1", 1.4), speedup_low=None, speedup_high=None, q1=1e-6, q3=1e-4)
    base = replace(planted("tiny/spin0", 1.0), q3=1e-4)
    points = (Point({"SPIN": 1}, few.kernel, few), Point({"SPIN": 0}, "tiny/spin0", base))
    found = Sweep("tiny/spin0", {"SPIN": 0}, {"SPIN": (1, 0)}, points, base)
    assert found.table() == [["SPIN", "speed-up"], ["1", "?"], ["0", "as it stands"]]
    assert found.verdict().split("\n")[:2] == [
        "no point is measurably faster than tiny/spin0 as it stands (SPIN=0)",
        "  1 of 1 points, marked with ?, had too few rounds or were too noisy to tell: give it more seconds",
    ]
    assert "is this machine busy?" in found.verdict()


def test_one_param_has_intervals_and_findings():
    """Of one param a table has room for how sure each figure is, in the words of a benchmark's table."""
    rows = [planted("tiny/spin0@1", 1.4, 0.05), planted("tiny/spin0@2", 1.02, 0.04), planted("tiny/spin0@3", 1.1, 0.4)]
    points = tuple(Point({"SPIN": number}, row.kernel, row) for number, row in enumerate(rows, 1))
    found = Sweep("tiny/spin0", {"SPIN": 0}, {"SPIN": (1, 2, 3)}, points, planted("tiny/spin0", 1.0), rows[0])
    _, *lines = found.table()
    assert [line[1].partition(") ")[2] for line in lines] == ["faster", "no measurable difference", "too noisy to tell"]
    assert all("(" in line[1] for line in lines) and lines[2][1].startswith("? (")


def test_two_params_make_a_grid():
    """A line for each value of the first, a column for each of the second."""
    points = tuple(
        Point({"A": a, "B": b}, f"tiny/spin0@{a}{b}", planted(f"tiny/spin0@{a}{b}", a * b))
        for a in (1, 2)
        for b in (1, 3)
    )
    found = Sweep("tiny/spin0", {"A": 9, "B": 9}, {"A": (1, 2), "B": (1, 3)}, points, planted("tiny/spin0", 1.0))
    assert found.table() == [["A \\ B", "1", "3"], ["1", "1.00x", "3.00x"], ["2", "2.00x", "6.00x"]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kernel": 3}, "a sweep: kernel=3, want a string"),
        ({"params": 3}, "a sweep: params=3, want a dict"),
        ({"params": {"SPIN": 3}}, r"a sweep: params\['SPIN'\]=3, want a tuple of numbers"),
        ({"params": {"SPIN": (1, 2, 3)}}, "a point for each combination of their values, in order"),
        ({"own": {"SPIN": "x"}}, r"a sweep: own\['SPIN'\]='x', want a finite number"),
        ({"own": {}}, "a sweep of params that the kernel does not have: SPIN"),
        ({"rows": 3}, "a sweep: rows=3, want a tuple of Point"),
        ({"base": 3}, "a sweep: base is a Row of timings, and confirmed another or None"),
        ({"confirmed": planted("tiny/x", 2.0)}, "a sweep: 'tiny/x' was timed a second time and is none of its points"),
    ],
)
def test_sweeps_are_looked_at(fields, message):
    """One that was edited by hand is refused, not drawn."""
    points = (Point({"SPIN": 1}, "tiny/spin0@1", planted("tiny/spin0@1", 1.4)),)
    right: dict[str, Any] = {"kernel": "tiny/spin0", "own": {"SPIN": 0}, "params": {"SPIN": (1,)}, "rows": points}
    with pytest.raises(InputError, match=message):
        Sweep(**{**right, "base": planted("tiny/spin0", 1.0), **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"params": 3}, "a point: params=3, want a dict of numbers by name"),
        ({"params": {"A": "x"}}, "want a finite number"),
        ({"row": 3}, "a point: row=3, want a Row of timings, or None"),
        ({"problem": "it is wrong"}, "a point has either a row of timings or a problem"),
        ({"row": None}, "a point has either a row of timings or a problem"),
    ],
)
def test_points_are_looked_at(fields, message):
    """One that was edited by hand is refused, not drawn."""
    with pytest.raises(InputError, match=message):
        Point(**{"params": {"A": 1}, "kernel": "tiny/spin0", "row": planted("tiny/spin0", 1.0), **fields})


def test_the_first_error_is_told_in_a_line():
    """Of the compiler's error its own message, of any other the first line."""
    error = BuildError("long\ntext", kernel="tiny/x", diagnostics=[SimpleNamespace(message="expected ';'")])  # type: ignore[list-item]
    assert module._reason(error, "tiny/x") == "it did not compile: expected ';'"
    assert module._reason(CheckError("'tiny/x' y is wrong. It was not timed.\nmore"), "tiny/x") == "y is wrong."
