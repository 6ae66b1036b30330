"""An LLTM learns to remember a bit with each kernel: the same loss curve to rounding, and the fused one is there first.

All kernels start from the same weights, see the same batches, and take turns within each step, so that slow drifts of the
machine meet them alike. One thread: cells of this size gain nothing by more. Training amplifies the differences of rounding
a little; tasks in which a loss falls from a plateau (the adding problem) amplify them until the curves part.
The picture docs/training.png is drawn from the figures of float32.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from common import ROOT, Results, arguments
from remember import GUESS, Training, train

from lltm_inline.notebook.figure import BASELINE_COLOUR, GREY, Plot, open_figure, plain, styles_of
from lltm_inline.tables.words import three

KERNELS = ("lltm/python", "lltm/aten", "lltm/fused")
STEPS, SMOOTH = 300, 10
PICTURE = ROOT / "docs" / "training.png"

#: In these the losses may differ, relatively: rounding, amplified by some hundred steps.
TOLERANCE = {"float64": 1e-11, "float32": 1e-3}


def difference(run: Training, base: Training) -> float:
    """Return the largest relative difference of two loss curves."""
    return max(abs(one - other) / other for one, other in zip(run.losses, base.losses, strict=True))


def record(results: Results, runs: Sequence[Training], dtype: str) -> None:
    """Keep curves and times, and what is asked of them."""
    base, fused = runs[0], runs[-1]
    for run in runs:
        results.rows[f"{dtype} step: {run.kernel}"] = run.seconds
        curve = {"dtype": dtype, "kernel": run.kernel, "losses": [float(f"{loss:.9g}") for loss in run.losses]}
        spent = {"seconds": sum(run.seconds), "difference": difference(run, base)}
        results.more.setdefault("curves", []).append({**curve, **spent})
        if run is not base:
            name = f"{dtype}: largest relative difference of losses, {run.kernel} and {base.kernel}"
            results.require(name, difference(run, base), TOLERANCE[dtype])
        if run is not fused:
            name = f"{dtype}: seconds of the whole training, {fused.kernel} over {run.kernel}"
            results.require(name, sum(fused.seconds) / sum(run.seconds), 1.0)
    last = [sum(run.losses[-SMOOTH:]) / len(run.losses[-SMOOTH:]) for run in runs]
    if len(base.losses) == STEPS:
        results.require(f"{dtype}: loss at the end over that of the best guess", max(last) / GUESS, 0.01)


def smooth(losses: Sequence[float]) -> list[float]:
    """Average each loss with up to SMOOTH - 1 before it: batches are small, and each is another one."""
    windows = (losses[max(0, end - SMOOTH) : end] for end in range(1, len(losses) + 1))
    return [sum(window) / len(window) for window in windows]


def picture(data: dict[str, Any], dtype: str = "float32") -> Plot:
    """Draw the curves of a results file: loss over steps, and loss over seconds.

    Args:
        data: what `results/training.json` holds.
        dtype: which of the trainings.
    """
    curves = {curve["kernel"]: curve for curve in data["curves"] if curve["dtype"] == dtype}
    steps = {row["name"].partition(": ")[2]: row["samples"] for row in data["rows"] if row["name"].startswith(dtype)}
    base = next(iter(curves))
    styles = styles_of(list(curves), base)
    here = data["machine"]
    conditions = (
        f"{dtype} · {here['threads']} thread{'s' * (here['threads'] != 1)} · torch {here['torch']} · {here['cpu']}"
    )
    title = "LLTM learns to remember a bit (T = 16, B = 64, S = 64)"
    figure = open_figure(title, conditions, title, inches=(8.0, 3.2))
    left, right = figure.subplots(1, 2, sharey=True)
    for number, (kernel, curve) in enumerate(curves.items()):
        style, losses = styles[kernel], smooth(curve["losses"])
        # On top of each other: the first is broad, and each next one narrower, so that all can be seen.
        wide: dict[str, Any] = {"color": style.color, "linewidth": (7, 3.5, 1.3)[min(number, 2)]}
        left.plot(range(1, len(losses) + 1), losses, label=kernel, alpha=0.35 if number == 0 else 1, **wide)
        spent = [sum(steps[kernel][: end + 1]) for end in range(len(losses))]
        right.plot(spent, losses, color=style.color, linestyle=style.linestyle, linewidth=1.6)
        right.plot(spent[-1:], losses[-1:], color=style.color, marker=style.marker, markersize=5)
    for axes, title, label in (
        (left, "loss over steps", "step"),
        (right, "loss over time", "seconds spent in this kernel's training"),
    ):
        axes.axhline(GUESS, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
        axes.set_yscale("log")
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_xlabel(label, fontsize=9)
        plain(axes, rules=True)
    _label(left, right, curves, styles, base)
    return figure


def _label(left: Any, right: Any, curves: dict[str, Any], styles: dict[str, Any], base: str) -> None:
    """Write names, differences and seconds beside the curves."""
    left.set_ylabel(f"mean squared error, mean of {SMOOTH} steps", fontsize=9)
    left.annotate("best answer without looking", (1, GUESS), (0.98, GUESS * 1.04), ("axes fraction", "data"),
                  ha="right", va="bottom", fontsize=7.5, color=GREY)  # fmt: skip
    left.legend(loc="lower left", fontsize=8.5, frameon=False, handlelength=2.6)
    most = max(curve["difference"] for curve in curves.values())
    text = f"on top of each other: they differ\nby {most:.0e} of the loss at most"
    left.text(0.98, 0.86, text, transform=left.transAxes, ha="right", va="top", fontsize=8, color=BASELINE_COLOUR)
    slowest = curves[base]["seconds"]
    for number, (kernel, curve) in enumerate(sorted(curves.items(), key=lambda item: item[1]["seconds"])):
        faster = "" if kernel == base else f", {three(slowest / curve['seconds'])}x faster"
        text = f"{kernel}: {three(curve['seconds'])} s{faster}"
        place = {"transform": right.transAxes, "ha": "right", "va": "top", "fontsize": 8.5}
        right.text(0.98, 0.92 - 0.075 * number, text, color=styles[kernel].color, **place)


def main() -> None:
    """Train in both precisions, save the figures, and draw the picture."""
    quick = arguments(__doc__).quick
    torch.set_num_threads(1)
    results = Results("training", quick)
    results.more["task"] = "remember a bit, T = 16, B = 64, S = 64, Adam, learning rate 0.001"
    for dtype in (torch.float64, torch.float32):
        runs = train(KERNELS, 60 if quick else STEPS, dtype=dtype)
        record(results, runs, str(dtype).removeprefix("torch."))
    path = results.save()
    target = path.with_suffix(".png") if quick else PICTURE
    picture(json.loads(Path(path).read_text())).savefig(target, dpi=150)
    print(f"  -> {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
