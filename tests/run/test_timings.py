"""Rows, tables, verdicts and files of a benchmark's timings."""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lltm_inline.errors import InputError
from lltm_inline.measure.stats import FEWEST, is_clear, quartiles, rank, ratio
from lltm_inline.tables.timings import Row, Timings
from lltm_inline.tables.words import comparison, spread_text, time_text
from tests.csv_files import is_whole


def make_row(kernel: str = "toy/fast", **changes: Any) -> Row:
    """Make a row whose numbers have no short decimal form."""
    values: dict[str, Any] = {
        "kernel": kernel, "op": "toy", "size": {"B": 16, "F": 32}, "direction": "forward", "dtype": "float32",
        "device": "cpu", "median": 1e-5 / 3, "q1": 1e-5 / 3.3, "q3": 1e-5 / 2.7, "samples": 41, "calls": 7,
        "speedup": 4 / 3, "speedup_low": 1.27, "speedup_high": 1.35, "gb_per_s": 10 / 3, "gflop_per_s": 20 / 3,
        "share": 1 / 3, "bound_by": "copy", "flags": ("-O3", "-DTEXT=two words"), "threads": 4, "torch": "2.13.0",
        "compiler": "g++ 12.2.0", "cpu": 'a "quoted", processor',
    }  # fmt: skip
    return Row(**{**values, **changes})


def make_baseline(**changes: Any) -> Row:
    """Make the row of the baseline: a Python kernel without flags, compiler or cost."""
    bare = {"speedup": 1.0, "speedup_low": 1.0, "speedup_high": 1.0, "gb_per_s": None, "gflop_per_s": None}
    return make_row("toy/python", **{**bare, "share": None, "bound_by": "", "flags": (), "compiler": "", **changes})


SIZES: tuple[dict[str, int], ...] = ({"B": 16, "F": 32}, {"B": 64, "F": 1})
MANY = Timings(
    tuple(
        make(size=size, direction=direction)
        for size in SIZES
        for direction in ("forward", "both")
        for make in (make_baseline, make_row)
    ),
    "toy/python",
)


def test_json_and_csv_give_back_exactly_what_went_in(tmp_path):
    """Every number, text, flag and missing value survives both files bit by bit."""
    assert Timings.from_dict(MANY.to_dict()) == MANY
    assert Timings.from_json(MANY.to_json(tmp_path / "t.json")) == MANY
    assert is_whole(MANY, tmp_path / "t.csv")
    assert pickle.loads(pickle.dumps(MANY)) == MANY


@given(
    number=st.floats(min_value=1e-12, max_value=1e6),
    missing=st.none() | st.floats(min_value=1e-6, max_value=1e6),
    flag=st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1),
)
def test_any_number_and_flag_survives_the_files(tmp_path_factory, number, missing, flag):
    """The files are exact for arbitrary floats and flags, quotes and spaces included."""
    row = make_row(median=number, speedup_low=missing, flags=(flag,))
    timings, path = Timings((row,), row.kernel), tmp_path_factory.mktemp("t") / "t"
    assert is_whole(timings, path)
    assert Timings.from_json(timings.to_json(path)) == timings


def test_empty_timings_survive_and_show_themselves(tmp_path):
    """No rows is a normal value, not a crash."""
    empty = Timings((), "")
    assert is_whole(empty, tmp_path / "t.csv")
    assert Timings.from_json(empty.to_json(tmp_path / "t.json")) == empty
    assert "nothing was timed" in str(empty) and "nothing was timed" in empty._repr_html_()
    assert empty.verdict() == "nothing was timed"


@pytest.mark.parametrize("text", ["[]", "{}", "no json", '{"format": "lltm_inline timings 1", "rows": [{"a": 1}]}'])
def test_a_foreign_json_file_is_refused(tmp_path, text):
    """A file of something else is an InputError that says so, not a KeyError."""
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(InputError):
        Timings.from_json(path)


def test_rows_are_frozen():
    """A row cannot be changed, nor through the dict it was made from."""
    size = {"B": 1, "F": 2}
    row = make_row(size=size)
    size["B"] = 3
    assert row.size == {"B": 1, "F": 2}
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.median = 0.0  # type: ignore[misc]
    assert len({row, make_row(size=row.size)}) == 1


@pytest.mark.parametrize(
    ("speedup", "low", "high", "words"),
    [
        (1.31, 1.27, 1.35, "1.31x faster (1.27-1.35)"),
        (0.8, 0.78, 0.82, "1.25x slower (1.21-1.29)"),
        (1.1, 0.99, 1.2, "no measurable difference (0.99-1.20)"),
        (1.02, 1.005, 1.04, "no measurable difference (1.00-1.04)"),
        (0.99, 0.98, 0.995, "no measurable difference (0.98-1.00)"),
        (1.09, 1.0099, 1.19, "no measurable difference (1.00-1.19)"),
        (1.12, 1.0099, 1.24, "too noisy to tell (1.00-1.24)"),
        (1.5, 0.05, 145, "too noisy to tell (0.05-145)"),
        (2.0, None, None, "too few rounds to tell"),
        (120.4, 118.2, 130.0, "120x faster (118-130)"),
    ],
)
def test_words_claim_only_what_the_interval_holds(speedup, low, high, words):
    """A difference is claimed when the whole interval is beyond 1 and the noise floor, in the right direction."""
    assert comparison(speedup, low, high) == words


def test_verdict_of_one_case_is_one_sentence():
    """With one size and direction the verdict is the sentence of the design."""
    timings = Timings((make_baseline(), make_row(speedup=1.31)), "toy/python")
    assert timings.verdict() == "toy/fast is 1.31x faster than toy/python (1.27-1.35)"
    slower = Timings((make_baseline(), make_row(speedup=0.5, speedup_low=0.4, speedup_high=0.8)), "toy/python")
    assert slower.verdict() == "toy/fast is 2.00x slower than toy/python (1.25-2.50)"
    same = Timings((make_baseline(), make_row(speedup=1.0, speedup_low=0.97, speedup_high=1.02)), "toy/python")
    assert same.verdict() == "toy/fast against toy/python: no measurable difference (0.97-1.02)"


def test_verdict_of_many_cases_has_an_overall_line_and_one_for_each():
    """The overall line takes `both` only, as geometric mean with a narrower interval than each case's."""
    lines = MANY.verdict().split("\n")
    assert len(lines) == 1 + 4
    assert lines[0] == (
        "toy/fast is 1.33x faster than toy/python (1.28-1.35), forward and backward together, mean of 2 cases"
    )
    assert lines[1] == "  B=16 F=32, forward: 1.33x faster (1.27-1.35)"


def test_verdict_says_when_a_kernel_wins_here_and_loses_there():
    """A mean of 1 must not hide that one size is twice as fast and another twice as slow."""
    rows = [make_baseline(size=size) for size in SIZES]
    rows.append(make_row(size=SIZES[0], speedup=2.0, speedup_low=1.9, speedup_high=2.1))
    rows.append(make_row(size=SIZES[1], speedup=0.5, speedup_low=1 / 2.1, speedup_high=1 / 1.9))
    first = Timings(tuple(rows), "toy/python").verdict().split("\n")[0]
    assert "no measurable difference" in first and first.endswith("faster in 1, slower in 1")


def test_verdict_of_a_kernel_alone_and_of_too_few_rounds():
    """Without a comparison, or without an interval, nothing is claimed."""
    assert "nothing to compare" in Timings((make_baseline(),), "toy/python").verdict()
    few = [make_row(size=size, speedup_low=None, speedup_high=None) for size in SIZES]
    text = Timings((*(make_baseline(size=size) for size in SIZES), *few), "toy/python").verdict()
    assert "faster" not in text and "too few rounds" in text


def test_the_overall_line_is_of_the_cases_that_tell():
    """One case with too few rounds does not hide what the others show; how many they are is said."""
    rows = [*(make_baseline(size=size) for size in SIZES), make_row(size=SIZES[0])]
    rows.append(make_row(size=SIZES[1], speedup=9.0, speedup_low=None, speedup_high=None))
    lines = Timings(tuple(rows), "toy/python").verdict().split("\n")
    assert lines[0] == "toy/fast is 1.33x faster than toy/python (1.27-1.35), forward, at B=16 F=32, 1 of 2 cases"
    assert lines[2].endswith("too few rounds to tell")


def test_a_ratio_of_which_nothing_can_be_told_is_not_shown():
    """In the table the words stand in its place, with the interval where there is one."""
    few, noisy = (
        make_row(speedup=7.09, speedup_low=low, speedup_high=high) for low, high in ((None, None), (0.05, 145))
    )
    table = Timings((make_baseline(), few), "toy/python")
    assert table.cells(few)[1] == "too few rounds to tell" and table.cells(noisy)[1] == "too noisy to tell (0.05-145)"
    assert "7.09" not in str(table)


def test_others_at_work_are_told():
    """What other programs had of the processors is part of the verdict; a little is none."""
    rows = (make_baseline(others=1.6), make_row(others=1.6))
    assert (
        Timings(rows, "toy/python")
        .verdict()
        .endswith("others had 1.6 of its processors as the timing began. Times and ratios are in doubt")
    )
    assert "busy" not in Timings((make_baseline(others=0.2), make_row(others=0.2)), "toy/python").verdict()


def test_verdict_warns_of_a_busy_machine():
    """Where most samples scatter the verdict says so, with what to do; a single noisy row is no reason."""
    noisy = [dataclasses.replace(row, q3=2 * row.median) for row in MANY.rows]
    assert "busy" not in Timings((noisy[0], *MANY.rows[1:]), MANY.baseline).verdict()
    text = Timings(tuple(noisy), MANY.baseline).verdict().split("\n")[-1]
    assert "in 8 of 8 rows: is this machine busy?" in text and "call torch.set_num_threads(2)" in text


def test_conditions_leave_out_flags_that_only_warn():
    """What a reader needs beside a plot is what changes times: -Wl, stays, -Wall and -Werror=... go."""
    idle = ("-Wall", "-Werror=narrowing", "-fvisibility=hidden", "-gdwarf-4", "-g1", "-DCPU_CAPABILITY_AVX2")
    row = make_row(flags=("-O3", *idle, "-Wl,-z,defs"))
    assert Timings((row,), row.kernel).conditions().startswith("-O3 -Wl,-z,defs, 4 threads, ")


def test_table_shows_every_row_with_units_and_conditions():
    """The table names kernels, sizes, directions, units, intervals, flags, threads, compiler, torch and processor."""
    text = str(MANY)
    for part in ("toy/python", "toy/fast", "B=64 F=1, both", "3.33 µs (3.03-3.70)", "1.33x (1.27-1.35)", "33% of copy"):
        assert part in text, part
    for part in ("-O3 '-DTEXT=two words'", "4 threads", "g++ 12.2.0", "torch 2.13.0", "processor", "GFLOP/s", "GB/s"):
        assert part in text, part
    assert text.count("toy/fast") == 4 and text.count(" faster") == 4 and " us" not in text
    assert text.encode("latin-1")  # µ is in there, where a terminal has no UTF-8


def test_html_table_escapes_what_it_shows():
    """A notebook shows the same cells; texts cannot smuggle markup in."""
    timings = Timings((make_baseline(), make_row(cpu="<b>", compiler="<script>")), "toy/python")
    html = timings._repr_html_()
    assert (
        "<script>" not in html
        and "&lt;script&gt;" in html
        and """>1.33x</span> <span class="li-whole">(1.27-1.35)""" in html
    )


def test_select_keeps_rows_by_kernel_direction_and_size():
    """Selecting narrows the rows and keeps the baseline."""
    part = MANY.select(kernel="toy/fast", direction="both", size=SIZES[1])
    assert [(row.kernel, row.direction, row.size) for row in part.rows] == [("toy/fast", "both", SIZES[1])]
    assert part.baseline == MANY.baseline and MANY.kernels == ("toy/python", "toy/fast")
    assert MANY.directions == ("forward", "both") and MANY.sizes == SIZES


def test_times_have_three_digits_and_a_fitting_unit():
    """No time reads as 0.00 or 1000 of a smaller unit."""
    texts = [time_text(seconds) for seconds in (3e-10, 9.994e-7, 9.996e-7, 1.5e-3, 59.0, 4000.0)]
    assert texts == ["0.30 ns", "999 ns", "1.00 µs", "1.50 ms", "59.0 s", "4000 s"]
    assert spread_text(1e-3, 9e-4, 2e-3) == "1.00 ms (0.90-2.00)"


def test_rank_is_the_binomial_one():
    """The ranks agree with the sum over the binomial distribution, and with the large-sample formula."""
    assert FEWEST == 8 and rank(FEWEST - 1) == 0 and rank(FEWEST) == 1 and rank(0) == 0
    for n in (8, 9, 20, 57, 400):
        k = rank(n)
        outside = sum(math.comb(n, i) for i in range(k)) / 2**n
        assert 2 * outside <= 0.01 < 2 * (outside + math.comb(n, k) / 2**n)
    assert abs(rank(1500) - (1500 - 2.576 * math.sqrt(1500)) / 2) < 2


def test_ratio_uses_pairs_so_that_a_common_drift_cancels():
    """When both kernels slow down tenfold during the benchmark the ratio is still exact."""
    drift = [1.0 * 1.1**i for i in range(30)]
    speedup, low, high = ratio([2 * d for d in drift], [1 * d for d in drift])
    assert (speedup, low, high) == pytest.approx((2, 2, 2))
    assert ratio([2.0] * 7, [1.0] * 7) == (2.0, None, None)


def test_clear_means_narrow_and_has_nothing_to_do_with_1():
    """Stopping looks at the width alone: an interval just beside 1 is not a reason to stop."""
    assert is_clear(1.0, 0.995, 1.005) and is_clear(2.0, 1.9, 2.1)
    assert not is_clear(1.05, 1.02, 1.08) and not is_clear(1.0, 0.95, 1.05) and not is_clear(3.0, None, None)


def test_quartiles_of_few_numbers():
    """One sample is its own quartiles; two are interpolated."""
    assert quartiles([3.0]) == (3.0, 3.0, 3.0) and quartiles([1.0, 2.0]) == (1.25, 1.5, 1.75)
