"""Timings while they come in: the table, what surrounds it, and one output of a notebook that is drawn anew in its place."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from lltm_inline.errors import CrashError, InputError
from lltm_inline.notebook import live
from lltm_inline.notebook.live import Notebook, live_benchmark, live_html
from lltm_inline.notebook.pipeline import Began
from lltm_inline.show.views import html_of
from lltm_inline.tables.partial import Partial, Running
from lltm_inline.tables.timings import Timings
from tests.html_checks import read
from tests.notebook.test_plot import KERNELS, SWEEP, timings

ROOT = Path(__file__).resolve().parents[2]
ONE = timings(SWEEP[1:2], KERNELS[:3], ["both"])
AT = Running(SWEEP[1], "both", 31, 52, 0.3, 0.5, 1, 1)


def middles(shown: str) -> list[list[float]]:
    """List the places in each bar that stands for a speed-up: where it begins and ends, and its line at 1x and its whisker."""
    bars = re.findall(r'<svg class="li-bar li-middle".*?</svg>', shown)
    return [[float(place) for place in re.findall(r' (?:x|x1|x2)="([-0-9.]+)"', one)] for one in bars]


def test_a_case_that_runs_has_its_round_and_is_not_final():
    """Its heading has the round, its bars no colour, and the verdict says that it is open; the finished table has none of it."""
    rows = tuple(
        replace(row, speedup_low=None, speedup_high=None)
        if row.kernel == "lltm/fused"
        else replace(row, speedup_low=0.95, speedup=0.99, speedup_high=1.02)
        for row in ONE.rows
    )
    running = read(html_of(Partial(rows, ONE.baseline, AT))).text
    assert "B=16 F=32 S=128, both, round 31 of at most 52" in running
    assert "B=16 F=32 S=128, both is under way: what is said of it is not final" in running
    final = read(html_of(Timings(rows, ONE.baseline))).text
    assert "not final" not in final and "round " not in final
    good = '<rect x="[^"]*" y="2" width="[^"]*" height="10" class="li-good"'
    assert not re.search(good, html_of(Partial(ONE.rows, ONE.baseline, AT))) and re.search(good, html_of(ONE))


def test_the_axis_of_speedups_stays_while_intervals_shrink():
    """Its ends are few, so a narrower interval is drawn narrower, around the same line at 1x."""

    def interval(spread: float) -> list[float]:
        rows = (ONE.rows[0], replace(ONE.rows[1], speedup=1.05, speedup_low=1.05 / spread, speedup_high=1.05 * spread))
        [[_, at, _, low, high, *_]] = middles(html_of(Timings(rows, ONE.baseline)))
        return [at, low, high]

    (at, low, high), (same, lower, higher) = interval(1.02), interval(1.04)
    assert at == same and lower < low < high < higher


@pytest.mark.parametrize("ends", [(1e-9, 1e9), (0.9999, 1.0001), (1e14, 1e15), (None, None)])
def test_extreme_figures_stay_inside(ends):
    """Whatever is drawn stands between the edges; of too few rounds there is no speed-up to draw."""
    middle = 1.0 if ends[0] is None else (ends[0] * ends[1]) ** 0.5
    odd = replace(ONE.rows[1], speedup=middle, speedup_low=ends[0], speedup_high=ends[1], q3=1e3)
    drawn = middles(html_of(Timings((ONE.rows[0], odd), ONE.baseline)))
    assert bool(drawn) == (ends[0] is not None)
    assert all(0 <= place <= 110 for places in drawn for place in places)


def test_letters_that_mean_something_in_html_are_written_as_letters():
    """A name cannot end a tag."""
    odd = replace(ONE.rows[0], kernel="<i>&\"'")
    shown = read(live_html(Timings((odd,), odd.kernel)))
    assert not shown.problems and "<i>&\"'" in shown.text


def test_html_has_progress_while_it_runs_and_the_verdict_always():
    """A progress bar while rounds come in; afterwards the verdict, what stands behind it folded, and the conditions."""
    running = live_html(Partial(ONE.rows, ONE.baseline, AT))
    assert '<progress value="0.600"' in running and "not final" in running and "<details>" not in running
    final = live_html(timings(SWEEP, KERNELS[:2]))
    assert "<progress" not in final and final.count("<details>") == 2 and "A Processor" in final
    assert "B=256 F=32 S=128, backward: 1.10x faster" in final
    waiting = live_html(Partial((), ""))
    assert "<progress aria-label" in waiting and "<table" not in waiting


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Pretend to be in a notebook, and list what its one output shows, drawing by drawing."""
    import IPython.display

    drawings: list[dict[str, str]] = []

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw and display_id and not drawings, "there is one output"
        drawings.append(data)
        return SimpleNamespace(update=lambda data, raw: drawings.append(data))

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(live, "in_notebook", lambda: True)
    return drawings


def test_a_figure_is_drawn_in_its_place_until_the_end(shown):
    """Timings while they come in, then the final ones; whoever has functions of their own called draws for themselves."""
    result = live_benchmark(["lltm/python"], [(2, 3, 5)], seconds=0.01, check=False)
    assert isinstance(result, Timings) and len(result.rows) == 3
    assert shown[-1]["text/html"] == live_html(result) and shown[-1]["text/plain"] == result.verdict()
    assert any("round 1 of at most" in one["text/html"] for one in shown)
    shown.clear()
    told: list[Any] = []
    live_benchmark(
        ["lltm/python"], [(2, 3, 5)], seconds=0.01, check=False,
        watch=told.append, progress=lambda *step: told.append(step),
    )  # fmt: skip
    assert any(isinstance(one, Partial) for one in told) and any(isinstance(one, tuple) for one in told) and not shown


def test_what_was_finished_stays_after_an_interrupt_and_a_crash(shown):
    """The last drawing says how it ended and shows the rows that the exception carries."""
    interrupt = KeyboardInterrupt()
    interrupt.timings = ONE  # type: ignore[attr-defined]
    crash = CrashError("it crashed", crash=None, timings=ONE.rows)  # type: ignore[arg-type]
    for error, how, rows in ((interrupt, "stopped", 3), (crash, "ended", 3), (ValueError("x"), "ended", 0)):
        shown.clear()
        screen = Notebook()
        screen.show(Began("benchmark", "benchmark of lltm/fused"))
        screen.__exit__(type(error), error)
        assert not shown, "an error before the first drawing draws nothing"
        screen.show(Began("benchmark", "benchmark of lltm/fused"))
        screen.watch(Partial(ONE.rows, ONE.baseline, AT))
        assert "<progress" in shown[-1]["text/html"]
        screen.__exit__(type(error), error)
        last = shown[-1]
        assert len(shown) == 2 and last["text/plain"].startswith(f"benchmark of lltm/fused: {how} after ")
        assert ("lltm/fused is 1.20x faster than lltm/python" in read(last["text/html"]).text) == bool(rows)
        assert "<progress" not in last["text/html"]


def test_errors_reach_the_caller(shown):
    """An unknown option is named with those that there are; a wrong one is refused as by benchmark; nothing is drawn."""
    with pytest.raises(
        InputError, match=r"^live_benchmark has no argument 'sizzes'; it takes kernels, sizes and baseline, "
    ):
        live_benchmark(["lltm/python"], sizzes=3)
    with pytest.raises(InputError, match="rounds=0, want at least one round"):
        live_benchmark(["lltm/python"], rounds=0)
    assert not shown


def test_nothing_is_drawn_outside_of_a_notebook_or_when_silence_is_wanted(shown, monkeypatch):
    """Then it is benchmark."""
    options: dict[str, Any] = {"seconds": 0.01, "check": False, "directions": ["forward"]}
    assert len(live_benchmark(["lltm/python"], [(2, 3, 5)], progress=False, **options).rows) == 1
    monkeypatch.setattr(live, "in_notebook", lambda: False)
    assert len(live_benchmark(["lltm/python"], [(2, 3, 5)], **options).rows) == 1
    assert not shown


@pytest.mark.full
def test_a_real_notebook_keeps_one_output(tmp_path):
    """Through a real kernel: many drawings, one output, and the last one stays, with plain text for those who want it.

    Where the timings end the cell, too, the verdict is said once.
    """
    code = (
        "import lltm_inline as li\n"
        "li.live_benchmark(['lltm/python'], [(2, 3, 5)], seconds=0.05, check=False, directions=['forward', 'both']);"
    )
    texts = (code, code.rstrip(";"), "1")  # the second cell ends with the timings, which show themselves
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])
    drawings: list[str] = []

    class Client(NotebookClient):
        """Counts what is drawn."""

        def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
            if msg["msg_type"] in ("display_data", "update_display_data"):
                drawings.append(msg["msg_type"])
            return super().process_message(msg, cell, cell_index)

    Client(book, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    outputs = book.cells[0].outputs
    assert [output.output_type for output in outputs] == ["display_data"], outputs
    assert "<table" in outputs[0].data["text/html"] and "timed alone" in outputs[0].data["text/plain"]
    assert drawings[0] == "display_data" and drawings.count("display_data") == 2
    shown = [output.data["text/html"] for output in book.cells[1].outputs]
    assert len(shown) == 2 and "<table" not in shown[0] and "<table" in shown[1]
    assert ["timed alone" in one for one in (*shown, outputs[0].data["text/html"])] == [
        False,
        True,
        True,
    ]


def test_a_live_table_needs_no_matplotlib():
    """Drawing it costs a millisecond and imports nothing large: what is timed must not be slowed down by it."""
    code = (
        "import sys; from lltm_inline.notebook.live import live_html; from lltm_inline.tables.timings import Timings; "
        "live_html(Timings((), 'x')); assert not {'matplotlib', 'IPython', 'ipywidgets'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_rows_of_other_kernels_can_be_missing():
    """Timings that an interrupt cut short are drawn as far as they go."""
    whole = timings(SWEEP, KERNELS[:3])
    for count in (1, 2, 4):
        assert html_of(Timings(whole.rows[:count], whole.baseline)).count('scope="row"') == count
