"""A benchmark as SVG text, drawn in a millisecond: what is redrawn while rounds come in must not take a core from them.

For each size and direction a block; in it, for each kernel, a bar as long as its time with a whisker between the quartiles,
and to the right the speed-up over the baseline with its 99 % interval. Text takes the colour of the page that it stands on,
and the ground is transparent, so the same picture is right on a light and on a dark page. Where a notebook is not trusted its
page keeps the words alone: each line of the picture is one of the text, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..base.arguments import integer, refusal
from ..show.markup import Html, tag
from ..tables.partial import Partial, Running
from ..tables.timings import TITLES, Row, Timings
from ..tables.words import time_text

#: The grey of the baseline, and colours in the order of Okabe and Ito's: each has a contrast of 3 on white and on black.
BASELINE_COLOUR = "#858b92"
COLOURS = ("#0a7bbd", "#d55e00", "#009e73", "#c26b96", "#b27b00", "#8c7ae6")

#: In pixels.
WIDTH = 660

_FONT = "font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:12px;font-variant-numeric:tabular-nums"
_LINE, _HEAD, _GAP, _BAR = 21, 20, 8, 12
#: The width of a letter, rather too much than too little: which font a page has is not known.
_LETTER = 7.1
_TIME_ROOM, _WORDS_ROOM = 66, 226
#: Below this width the speed-up stands in a line of its own, under the bar.
_NARROW, _MARGIN = 640, 24
#: Ends of the axis of speed-ups. Few of them, so that the axis stays where it is while the intervals shrink.
_ENDS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1e3, 1e6, math.inf)


def picture(timings: Timings, *, running: Running | None = None, width: int = WIDTH) -> Html:
    """Draw timings as SVG, also of a benchmark that still runs.

    Args:
        timings: what `benchmark` gave, or gives to its `watch`.
        running: how far the case under way is; of `Partial` timings it is known.
        width: in pixels; the picture shrinks with the page.

    Returns:
        SVG whose letters have the colour of the page around it.

    Raises:
        InputError: no timings, or a width that is none.

    Example:
        >>> picture(Timings((), "lltm/python"))[:4]
        '<svg'
    """
    if not isinstance(timings, Timings):
        raise refusal("timings", timings, "what benchmark gave")
    if running is not None and not isinstance(running, Running):
        raise refusal("running", running, "a Running, or None")
    integer("width", width, least=300, most=10_000)
    if running is not None:
        timings = Partial(timings.rows, timings.baseline, running)
    if not timings.rows:
        body = _text(0, 14, "nothing was timed" + " yet" * isinstance(timings, Partial))
        return _svg(width, 22, "nothing was timed", body)
    sheet = _Sheet.of(timings, width)
    parts = [sheet.titles()]
    top = _HEAD
    for block in timings.cases().values():
        now = timings.running if isinstance(timings, Partial) and timings.is_running(block[0]) else None
        parts.append(_head(block[0], top, now.text if now is not None else "", width))
        top += _HEAD
        parts[-1] += sheet.line_at_1x(top, len(block))
        longest = max(row.median for row in block) * 1.15
        for number, row in enumerate(block):
            parts.append(sheet.row(row, top + number * sheet.step, longest, is_running=now is not None))
        top += len(block) * sheet.step + _GAP
    parts.append(sheet.axis(top - _GAP))
    return _svg(width, top + 14 * sheet.compares, _described(timings), "\n".join(parts))


@dataclass(frozen=True)
class _Sheet:
    """Where the columns stand, in pixels from the left."""

    timings: Timings
    colours: dict[str, str]
    names: float
    bars: float
    ratios: tuple[float, float]
    low: float
    high: float
    width: int

    @classmethod
    def of(cls, timings: Timings, width: int) -> _Sheet:
        names = min(0.3 * width, 10 + _LETTER * max(map(len, timings.kernels)))
        others = [label for label in timings.kernels if label != timings.baseline]
        colours = {label: COLOURS[number % len(COLOURS)] for number, label in enumerate(others)}
        bars: float = width - _TIME_ROOM
        ratios: tuple[float, float] = (_MARGIN, width - min(_WORDS_ROOM, width - 4 * _MARGIN))
        if others and width >= _NARROW:
            bars = names + max(30.0, 0.52 * (width - names - _WORDS_ROOM) - _TIME_ROOM / 2)
            ratios = (bars + _TIME_ROOM + 10, width - _WORDS_ROOM)
        return cls(timings, {timings.baseline: BASELINE_COLOUR, **colours}, names, bars, ratios, *_ends(timings), width)

    @property
    def compares(self) -> bool:
        return len(self.colours) > 1

    @property
    def step(self) -> int:
        """From one kernel to the next, in pixels down."""
        return _LINE * (1 + self.below)

    @property
    def below(self) -> bool:
        """Whether speed-ups stand under the bars."""
        return self.compares and self.width < _NARROW

    def at(self, ratio: float) -> float:
        """Return where a speed-up stands; what lies beyond the axis, at its end."""
        left, right = self.ratios
        share = math.log(min(max(ratio, self.low), self.high) / self.low) / math.log(self.high / self.low)
        return left + share * (right - left)

    def titles(self) -> str:
        """Name the columns."""
        over = f" over {self.timings.baseline}"
        if self.below:
            told = "time per call; below it the speed-up"
            return _text(0, 13, told + over * (len(told + over) * _LETTER <= self.width), faint=True)
        titles = _text(self.names, 13, "time per call", faint=True)
        if self.compares:
            told = f"speed-up{over}, 99 % interval"
            fits = len(told) <= int((self.width - self.ratios[0]) / _LETTER)
            titles += _text(self.ratios[0], 13, told if fits else "speed-up, 99 % interval", faint=True)
        return titles

    def line_at_1x(self, top: float, kernels: int) -> str:
        """Draw the line at 1x, beside the speed-ups alone."""
        if not self.compares:
            return ""
        pieces = [(top, top + kernels * self.step)]
        if self.below:
            pieces = [(top + row * self.step + _LINE, top + (row + 1) * self.step) for row in range(kernels)]
        at = f"{self.at(1):.1f}"
        ink = {"stroke": "currentColor", "stroke_opacity": ".55"}
        return "".join(tag("line", x1=at, x2=at, y1=f"{start:.0f}", y2=f"{end:.0f}", **ink) for start, end in pieces)

    def axis(self, top: float) -> str:
        """Write the ends of the axis of speed-ups below it, and 1x."""
        if not self.compares:
            return ""
        ends = [ratio for ratio in (self.low, self.high) if abs(self.at(ratio) - self.at(1)) > 5 * _LETTER]
        texts = [(self.at(ratio), f"{ratio:.2g}x" if ratio < 1 else f"{ratio:g}x") for ratio in (1.0, *ends)]
        return "".join(_text(at, top + 14, text, anchor="middle", faint=True) for at, text in texts)

    def row(self, row: Row, top: float, longest: float, *, is_running: bool) -> str:
        """Draw one kernel: name, bar, whisker, time; and its speed-up in a picture and in words."""
        colour, middle = self.colours[row.kernel], top + _LINE / 2

        def along(seconds: float) -> float:
            return self.names + (self.bars - self.names) * min(1.0, seconds / longest)

        size = {"width": f"{along(row.median) - self.names:.1f}", "height": _BAR}
        look = {"fill": colour, "stroke": colour, "fill_opacity": ".6" if is_running else ".9"}
        dashes = "3 2" if is_running else None
        parts = [
            _text(self.names - 8, middle + 4, _cut(row.kernel, int((self.names - 8) / _LETTER)), anchor="end"),
            tag("rect", x=f"{self.names:.1f}", y=f"{middle - _BAR / 2:.1f}", **size, **look, stroke_dasharray=dashes),
            _line(along(row.q1), along(row.q3), middle, "currentColor", 1.4),
            _text(along(max(row.median, min(row.q3, longest))) + 6, middle + 4, time_text(row.median)),
        ]
        lower = middle + _LINE * self.below
        return "".join(parts) + (self._speedup(row, lower, colour, is_running=is_running) if self.compares else "")

    def _speedup(self, row: Row, middle: float, colour: str, *, is_running: bool) -> str:
        left = self.ratios[1] + 10
        if row.kernel == self.timings.baseline:
            return _text(left, middle + 4, "baseline, 1x", faint=True)
        parts = []
        if row.speedup_low and row.speedup_high:
            parts.append(_line(self.at(row.speedup_low), self.at(row.speedup_high), middle, colour, 4))
        if row.outcome != "unknown":  # else a point would say what nobody can tell
            place = {"cx": f"{self.at(row.speedup):.1f}", "cy": f"{middle:.1f}", "r": 4}
            parts.append(tag("circle", **place, fill=colour, stroke="currentColor"))
        # Of what is no finding the picture shows the interval.
        words = row.words if row.outcome in ("faster", "slower") else row.finding + " yet" * is_running
        return "".join([*parts, _text(left, middle + 4, words)])


def _ends(timings: Timings) -> tuple[float, float]:
    """Return the ends of the axis of speed-ups: beyond all estimates, and beyond intervals unless they are very wide."""
    low = high = 1.0
    for row in timings.rows:
        if row.kernel != timings.baseline and row.speedup_low:
            low = min(low, row.speedup, max(row.speedup_low, row.speedup / 3))
            high = max(high, row.speedup, min(row.speedup_high or row.speedup, row.speedup * 3))
    below, above = (next(end for end in _ENDS if end >= reach * 0.999) for reach in (1 / low, high))
    return 1 / min(below, 1e9), min(above, 1e9)


def _head(row: Row, top: float, progress: str, width: int) -> str:
    """Name size and direction of a block, and the round if it is running."""
    text = f"{row.size_text.replace(' ', ', ')}: {TITLES[row.direction]}"
    if len(f"{text}, {progress}") * _LETTER > width:  # rather the round alone than half a number
        progress = progress.partition(" of ")[0]
    more = tag("tspan", f", {progress}", font_weight=400, fill_opacity=".8") if progress else ""
    return tag("text", text, more, x=0, y=top + 15, font_weight=600)


def _described(timings: Timings) -> str:
    """Say in words what the picture shows, for readers who cannot see it."""
    rows = [f"{row.kernel} {time_text(row.median)} at {row.size_text} {row.direction}" for row in timings.rows]
    shown = "; ".join(rows[:40]) + ("; and more" if len(rows) > 40 else "")
    return f"times per call: {shown}. {timings.verdict()}"


def _cut(label: str, letters: int) -> str:
    """Leave out the middle of a label that is too long: its end tells the revision."""
    half = letters // 2
    return label if len(label) <= letters else f"{label[: half - 1]}…{label[half - letters :]}"


def _line(left: float, right: float, y: float, colour: str, thickness: float) -> str:
    x1, x2 = f"{left:.1f}", f"{max(right, left + 1):.1f}"
    return tag("line", x1=x1, x2=x2, y1=f"{y:.1f}", y2=f"{y:.1f}", stroke=colour, stroke_width=thickness)


def _text(x: float, y: float, text: str, *, anchor: str = "start", faint: bool = False) -> str:
    faded = ".8" if faint else None
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, fill_opacity=faded) + " "


def _svg(width: int, height: float, label: str, body: str) -> Html:
    box = {"viewBox": f"0 0 {width} {height:.0f}", "width": width, "height": f"{height:.0f}"}
    style = f"max-width:100%;height:auto;{_FONT}"
    named = {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria_label": label}
    return tag("svg", Html(body), **named, **box, style=style, fill="currentColor")
