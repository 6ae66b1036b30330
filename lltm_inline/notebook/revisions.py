"""The picture of a history: the time of each revision, and below, how it compares with what it was edited from."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..errors import InputError
from ..model.registry import History
from ..tables.history import Course, courses_of, revisions_of
from .figure import BASELINE_COLOUR, GREY, Style, open_figure, plain, ratio_ticks, styles_of, time_ticks

#: States under which nobody would take a revision for a good one, however fast it is.
_LOUD = ("WRONG", "CRASHES", "TIMES OUT", "does not compile")


def plot_history(history: History, size: tuple[float, float] | None) -> Figure:
    """Draw the times of all revisions, a line for each size and direction; times of other machines have a row of their own.

    Raises:
        InputError: none of them was timed.
    """
    name = history[0].name
    groups = courses_of(history)
    if not groups:
        raise InputError(f"no revision of {name} was timed: there is nothing to plot. li.benchmark times them")
    revisions = revisions_of(history)
    places = {row.label: place for place, row in enumerate(revisions)}
    styles = styles_of(list(dict.fromkeys(course.case for courses in groups.values() for course in courses)), "")
    title, words = f"{name}, by revision", f"the times of {name} by revision. {history}"
    inches = (max(5.2, 1.2 + 0.9 * len(revisions)), 4.2 * len(groups))
    figure = open_figure(title, " — ".join(groups), words, styles=styles, inches=inches, size=size)
    panels = figure.subplots(2 * len(groups), 1, squeeze=False, sharex=True, height_ratios=[2.4, 1.8] * len(groups))
    high = figure.below / len(groups)
    for number, courses in enumerate(groups.values()):
        above, below = panels[2 * number][0], panels[2 * number + 1][0]
        _draw_times(above, courses, places, styles, 0.5 * high)
        _draw_ratios(below, courses, places, styles, 0.35 * high)
    labels = [
        "\n".join([row.label.removeprefix(name) or row.label, *[row.state] * (row.state in _LOUD)]) for row in revisions
    ]
    panels[-1][0].set_xticks(range(len(labels)), labels, fontsize=8)
    panels[-1][0].set_xlim(-0.4, len(labels) - 0.6)
    return figure


def _draw_times(
    axes: Axes, courses: Sequence[Course], places: dict[str, int], styles: dict[str, Style], inches: float
) -> None:
    """Draw a line through the medians with a whisker over the quartiles of each, and a ring around the best."""
    axes.set_yscale("log")
    for course in courses:
        rows, style = [step.row for step in course.steps], styles[course.case]
        at = [places[row.kernel] for row in rows]
        axes.plot(at, [row.median for row in rows], markersize=4.5, linewidth=1.5, **vars(style))
        axes.vlines(at, [row.q1 for row in rows], [row.q3 for row in rows], color=style.color, linewidth=3, alpha=0.5)
        best = [(place, step.row.median) for step, place in zip(course.steps, at, strict=True) if step.is_best]
        for place, median in best:
            axes.plot([place], [median], marker="o", markersize=12, markerfacecolor="none", color="black")
    if any(step.is_best for course in courses for step in course.steps):
        axes.set_title("ringed: the best so far", fontsize=8, loc="left", color=GREY)
    rows = [step.row for course in courses for step in course.steps]
    time_ticks(axes, min(row.q1 for row in rows) / 1.15, max(row.q3 for row in rows), inches)
    axes.set_ylabel("time per call", fontsize=9)
    plain(axes, rules=True)


def _draw_ratios(
    axes: Axes, courses: Sequence[Course], places: dict[str, int], styles: dict[str, Style], inches: float
) -> None:
    """Draw the speed-up over what each revision was edited from, with its interval; courses stand beside each other."""
    axes.set_yscale("log")
    axes.axhline(1, color=BASELINE_COLOUR, linewidth=1)
    ends = [1.0]
    for number, course in enumerate(courses):
        style, shift = styles[course.case], 0.12 * (number - (len(courses) - 1) / 2)
        for row in (step.row for step in course.steps if step.over):
            at = places[row.kernel] + shift
            ends += [end for end in (row.speedup, row.speedup_low, row.speedup_high) if end]
            axes.plot([at], [row.speedup], marker=style.marker, color=style.color, markersize=5)
            if row.speedup_low and row.speedup_high:
                axes.plot([at, at], [row.speedup_low, row.speedup_high], color=style.color, linewidth=3, alpha=0.5)
    ratio_ticks(axes.yaxis, ends, inches / 0.22)
    axes.set_ylabel("speed-up over what\nit was edited from", fontsize=8.5)
    plain(axes, rules=True)
