"""Timings while they come in: the picture, what surrounds it, and one output of a notebook that is drawn anew in its place."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient

from lltm_inline.errors import CrashError, InputError
from lltm_inline.notebook import live
from lltm_inline.notebook.bars import BASELINE_COLOUR, COLOURS, picture
from lltm_inline.notebook.live import LivePicture, live_benchmark, live_html
from lltm_inline.tables.partial import Partial, Running
from lltm_inline.tables.timings import Timings
from tests.notebook.test_plot import KERNELS, SWEEP, timings

ROOT = Path(__file__).resolve().parents[2]
ONE = timings(SWEEP[1:2], KERNELS[:3], ["both"])
AT = Running(SWEEP[1], "both", 31, 52, 0.3, 0.5, 1, 1)


def texts(svg: str) -> list[str]:
    """List every text of a picture."""
    tree = ElementTree.fromstring(svg)
    return ["".join(node.itertext()) for node in tree.iter("{http://www.w3.org/2000/svg}text")]


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as the contrast rules of the web define it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(
    "whole", [ONE, timings(SWEEP, KERNELS), timings(SWEEP[:1], KERNELS[:1])], ids=["one", "many", "alone"]
)
def test_every_kernel_size_and_time_is_in_the_picture(whole):
    """With its name, its time and, where there is a baseline, how it compares; and for those who do not see it in words."""
    svg = picture(whole)
    shown = " | ".join(texts(svg))
    for row in whole.rows:
        assert f"{row.size_text.replace(' ', ', ')}: " in shown and row.kernel in shown
    assert ("speed-up over lltm/python, 99 % interval" in shown) == (len(whole.kernels) > 1)
    assert "time per call" in shown and "µs" in shown
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img" and "times per call: lltm/python" in str(root.get("aria-label"))


def test_colours_stand_out_from_a_light_and_a_dark_page():
    """Letters have the page's own colour; bars a contrast of 3 on white and on Lab's dark grounds; nothing is black or white."""
    for colour in (BASELINE_COLOUR, *COLOURS):
        at = luminance(colour)
        for ground in ("#ffffff", "#111111", "#1f1f1f"):
            low, high = sorted((at, luminance(ground)))
            assert (high + 0.05) / (low + 0.05) >= 3, (colour, ground)
    svg = picture(timings(SWEEP, KERNELS))
    assert 'fill="currentColor"' in svg
    used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', svg))
    assert used <= {"currentColor", BASELINE_COLOUR, *COLOURS}


def test_a_case_that_runs_has_its_round_and_is_not_final():
    """The header has the round, bars are dashed, what is no finding says yet; the finished picture has none of it."""
    rows = tuple(
        replace(row, speedup_low=None, speedup_high=None)
        if row.kernel == "lltm/fused"
        else replace(row, speedup_low=0.95)
        for row in ONE.rows
    )
    running = picture(Partial(rows, ONE.baseline, AT))
    shown = texts(running)
    assert "B=16, F=32, S=128: forward + backward, round 31 of at most 52" in shown
    assert (
        "too few rounds to tell yet" in shown
        and "no measurable difference yet" in shown
        and "stroke-dasharray" in running
    )
    assert picture(Timings(rows, ONE.baseline), running=AT) == running
    final = picture(Timings(rows, ONE.baseline))
    assert "yet" not in final and "dasharray" not in final and "round" not in final.replace("too few rounds", "")


def test_the_axis_of_speedups_stays_while_intervals_shrink():
    """Its ends are few, so a narrower interval is drawn narrower."""

    def interval(spread: float) -> tuple[float, float]:
        rows = (ONE.rows[0], replace(ONE.rows[1], speedup=1.05, speedup_low=1.05 / spread, speedup_high=1.05 * spread))
        tree = ElementTree.fromstring(picture(Timings(rows, ONE.baseline)))
        lines = [line for line in tree.iter("{http://www.w3.org/2000/svg}line") if line.get("stroke-width") == "4"]
        return float(str(lines[0].get("x1"))), float(str(lines[0].get("x2")))

    (low, high), (lower, higher) = interval(1.02), interval(1.04)
    assert lower < low < high < higher


@pytest.mark.parametrize("ends", [(1e-9, 1e9), (0.9999, 1.0001), (1e14, 1e15), (None, None)])
def test_extreme_figures_stay_inside(ends):
    """Whatever is drawn stands between the edges, and names are cut in the middle."""
    label = "a_very_long_name_of_an_op/and_a_long_variant@12"
    middle = 1.0 if ends[0] is None else (ends[0] * ends[1]) ** 0.5
    odd = replace(ONE.rows[1], kernel=label, speedup=middle, speedup_low=ends[0], speedup_high=ends[1], q3=1e3)
    for width in (300, 660):
        svg = picture(Timings((ONE.rows[0], odd), ONE.baseline), width=width)
        places = [float(value) for value in re.findall(r' (?:x|x1|x2|cx)="([-0-9.]+)"', svg)]
        assert min(places) >= 0 and max(places) <= width
        assert any("…" in text and text.endswith("@12") for text in texts(svg))


def test_letters_that_mean_something_in_html_are_written_as_letters():
    """A name cannot end a tag."""
    odd = replace(ONE.rows[0], kernel="<i>&\"'")
    for shown in (picture(Timings((odd,), odd.kernel)), live_html(Timings((odd,), odd.kernel), text="<i>")):
        assert "<i>" not in shown and "&i" not in shown.replace("&lt;i&gt;", "")
    assert texts(picture(Timings((odd,), odd.kernel)))[2] == "<i>&\"'"


def test_nothing_timed_is_said():
    """Empty timings are a picture with a sentence."""
    assert texts(picture(Timings((), "x"))) == ["nothing was timed"]
    assert texts(picture(Partial((), "x"))) == ["nothing was timed yet"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"timings": 3}, "timings=3, want what benchmark gave"),
        ({"running": 3}, "running=3, want a Running, or None"),
        ({"width": 10}, "width=10, want an integer from 300 to 10000"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, message):
    """By name, with the value and what is wanted."""
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        picture(**{"timings": ONE, **arguments})


def test_html_has_progress_while_it_runs_and_the_verdict_always():
    """A progress bar and 'yet' while rounds come in; afterwards the verdict, what stands behind it folded, and the conditions."""
    running = live_html(Partial(ONE.rows, ONE.baseline, AT), text="timing lltm")
    assert '<progress value="0.600"' in running and "not final yet" in running and "<details>" not in running
    final = live_html(timings(SWEEP, KERNELS[:2]))
    assert "<progress" not in final and final.count("<details>") == 2 and "A Processor" in final
    assert "B=256 F=32 S=128, backward: 1.10x faster" in final
    waiting = live_html(Partial((), ""), text="building lltm/fused")
    assert "<progress aria-label" in waiting and "<svg" not in waiting and "building lltm/fused" in waiting


def test_words_stay_in_their_lines_where_only_words_are_kept():
    """A page that does not trust a notebook takes elements away and leaves their text: that is a text in lines, then."""
    [drawn] = re.findall("<pre class=.li-picture.>(.*?)</pre>", live_html(timings(SWEEP[:1], KERNELS[:2])), re.DOTALL)
    lines = [" ".join(line.split()) for line in re.sub("<[^>]*>", "", drawn).strip().split("\n")]
    assert lines[0] == "time per call speed-up over lltm/python, 99 % interval"
    assert "B=1, F=32, S=128: forward" in lines
    assert "lltm/python 10.3 µs baseline, 1x" in lines and "lltm/aten 9.38 µs 1.10x faster (1.07-1.13)" in lines


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
    """Progress first, then the timings while they come in, then the final ones; the caller's own functions are told, too."""
    told: list[Any] = []
    result = live_benchmark(
        ["lltm/python"], [(2, 3, 5)], seconds=0.01, check=False,
        watch=told.append, progress=lambda *step: told.append(step),
    )  # fmt: skip
    assert isinstance(result, Timings) and len(result.rows) == 3
    assert shown[-1]["text/html"] == live_html(result) and shown[-1]["text/plain"] == result.verdict()
    assert any("round 1 of at most" in one["text/html"] for one in shown)
    assert any(isinstance(one, Partial) for one in told) and any(isinstance(one, tuple) for one in told)


def test_what_was_finished_stays_after_an_interrupt_and_a_crash(shown):
    """The last drawing says how it ended and shows the rows that the exception carries."""
    interrupt = KeyboardInterrupt()
    interrupt.timings = ONE  # type: ignore[attr-defined]
    crash = CrashError("it crashed", crash=None, timings=ONE.rows)  # type: ignore[arg-type]
    for error, how in (
        (interrupt, "stopped"),
        (crash, "ended by CrashError"),
        (ValueError("x"), "ended by ValueError"),
    ):
        shown.clear()
        figure = LivePicture()
        figure.fail(error)
        assert not shown, "an error before the first drawing draws nothing"
        figure.step(1, 3, "building")
        figure.watch(Partial(ONE.rows, ONE.baseline, AT))
        figure.fail(error)
        assert len(shown) == 3 and f"{how}: what was finished by then is here" in shown[-1]["text/html"]
        assert ("lltm/fused is 1.20x faster than lltm/python" in shown[-1]["text/plain"]) == (
            how != "ended by ValueError"
        )
        assert "<progress" not in shown[-1]["text/html"]


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
    assert "<svg" in outputs[0].data["text/html"] and "timed alone" in outputs[0].data["text/plain"]
    assert drawings[0] == "display_data" and drawings.count("display_data") == 2
    shown = [output.data["text/html"] for output in book.cells[1].outputs]
    assert len(shown) == 2 and "<svg" in shown[0] and "<table" in shown[1]
    assert ["timed alone" in re.sub("<svg[^>]*>", "", one) for one in (*shown, outputs[0].data["text/html"])] == [
        False,
        True,
        True,
    ]


def test_a_live_picture_needs_no_matplotlib():
    """Drawing it costs a millisecond and imports nothing large: what is timed must not be slowed down by it."""
    code = (
        "import sys; from lltm_inline.notebook.bars import picture; from lltm_inline.tables.timings import Timings; "
        "picture(Timings((), 'x')); assert not {'matplotlib', 'IPython', 'ipywidgets'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_rows_of_other_kernels_can_be_missing():
    """Timings that an interrupt cut short are drawn as far as they go."""
    whole = timings(SWEEP, KERNELS[:3])
    for count in (1, 2, 4):
        assert len(texts(picture(Timings(whole.rows[:count], whole.baseline)))) > count
