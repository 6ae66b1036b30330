"""docs/platforms.md, written from results.json."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

from tests.platforms.environments import ENVIRONMENTS, NOT_TRIED, ROOT
from tests.platforms.walk import CELLS

RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "platforms.md"

_HEAD = """\
# Where it runs

Each row is a fresh environment: this Python, this torch, and the packages that Colab and Kaggle already have. A wheel
of lltm_inline was installed by pip, and the cells of [walk.py](../tests/platforms/walk.py) ran there:

{cells}

In "Colab" the cells of [colab.ipynb](../notebooks/colab.ipynb) ran too. The command is `make matrix`; each CI run tries
the rows in bold. In "oldest" every dependency has the lowest version that `pyproject.toml` allows. "Colab" and "Kaggle"
have the versions of those services (August 2026), not their machines. VS Code was not tried itself; it runs notebooks
in the same Jupyter kernel that ran these cells. Linux on x86-64 only. "Packages" is how many pip installed, "changed"
is which installed packages it replaced, "right" is how many cells gave the right result.

Not tried: {missing}.

| environment | Python | torch | IPython, ipywidgets | compiler | packages | changed | right | date |
|---|---|---|---|---|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    results = json.loads(RESULTS.read_text())
    names = [cell.name for cell in CELLS]
    known = {trial["environment"] for trial in results}
    missing = [*NOT_TRIED, *(each.name for each in ENVIRONMENTS if each.name not in known)]
    listed = textwrap.fill(", ".join(names), 120, initial_indent="> ", subsequent_indent="> ")
    text = _HEAD.format(cells=listed, missing=", ".join(missing))
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
            re.sub(r"\(.*?\) ", "", versions["compiler"]),  # without the distribution's own number
            str(len(trial["added"])),
            ", ".join(trial["changed"]) or "nothing",
            f"{len(cells) - len(wrong)}/{len(cells)}" + f", not: {', '.join(wrong)}" * bool(wrong),
            trial["date"],
        ]
        text += f"| {' | '.join(columns)} |\n"
    return text
