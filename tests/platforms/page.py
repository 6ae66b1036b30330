"""docs/platforms.md, written from results.json."""

from __future__ import annotations

import json
from pathlib import Path

from tests.platforms.environments import ENVIRONMENTS, NOT_TRIED, ROOT
from tests.platforms.walk import CELLS

RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "platforms.md"

_HEAD = """\
# Where it runs

Each row is an environment that was made anew: this Python, this torch, and what stands there already on Colab and Kaggle. A wheel
of lltm_inline was installed by pip, and the cells of [walk.py](../tests/platforms/walk.py) ran there:

> {cells}

In "Colab" those of [colab.ipynb](../notebooks/colab.ipynb) ran, too. The command is `make matrix`; CI tries the rows in bold in each
of its runs. In "oldest" every dependency has the lowest version that `pyproject.toml` allows. In "Colab" and "Kaggle" are the versions
that these have (August 2026), not their machines; VS Code runs its notebooks in the same Jupyter kernel that ran these cells, and was
not tried itself. Linux on x86-64 only.

Not tried: {missing}.

| environment | Python | torch | IPython, ipywidgets | compiler | installed by pip | changed | cells that are right | on |
|---|---|---|---|---|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    results = json.loads(RESULTS.read_text())
    names = [cell.name for cell in CELLS]
    known = {trial["environment"] for trial in results}
    missing = [*NOT_TRIED, *(each.name for each in ENVIRONMENTS if each.name not in known)]
    text = _HEAD.format(cells=", ".join(names), missing=", ".join(missing))
    of_ci = {each.name for each in ENVIRONMENTS if each.ci}
    for trial in results:
        versions, cells = trial["versions"], trial["cells"]
        shells = ", ".join(versions.get(name, "none") for name in ("ipython", "ipywidgets"))
        wrong = [cell["cell"] for cell in cells if not cell["right"]]
        mark = "**" if trial["environment"] in of_ci else ""
        columns = [
            f"{mark}{trial['environment']}{mark}",
            versions["python"],
            versions["torch"],
            shells,
            versions["compiler"],
            f"{len(trial['added'])} packages",
            ", ".join(trial["changed"]) or "nothing",
            f"{len(cells) - len(wrong)} of {len(cells)}" + f", not: {', '.join(wrong)}" * bool(wrong),
            trial["date"],
        ]
        text += f"| {' | '.join(columns)} |\n"
    return text
