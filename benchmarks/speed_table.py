"""Renders docs/speed.md from results/ops_speed.json: `python benchmarks/speed_table.py [JSON]` prints it."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lltm_inline.tables.words import finding

EAGER, COMPILED = "eager", "torch.compile"

HEAD = """\
# Speed of every kernel

{origin}

Each cell is the median time of a call. In brackets: how many times faster than the better of eager PyTorch and
`torch.compile` of the same reference (the plain PyTorch implementation), at the same size, in the same rounds. **Bold**
is faster, _italics_ are slower: the whole 99 % interval of the ratio lies on one side of 1, by at least 1 %. For the
others the interval contains 1: there is no measurable difference, or, where it reaches beyond 1.2 times faster or
slower, it is too noisy to tell. `li.benchmark` judges by the same rule, in its table, its plot, the panel and its
verdict.

"Of the limit" is how much of this machine's own copy or GEMM speed the fastest kernel reaches, by the bytes and
operations that the op needs at least: at 100 % nothing is left to gain. Sizes that stay in the cache can be above it,
since the copy that they are compared with does not stay there; above 110 % a table of `li.benchmark` says "in the
cache". Where a call takes less than 20 µs, the cost of the call itself counts, and no share is given.
"""
_ORIGIN = (
    "Written by `python benchmarks/ops_speed.py` from what it measured; do not edit. {date}: {cpu}, {threads} threads, torch {torch}, "
    "{compiler}, load {load} before and {load_after} after. Kernels are built with `{flags}`."
)


def time_text(seconds: float) -> str:
    """Write a time with three digits.

    >>> time_text(0.0123), time_text(4.5e-06)
    ('12.3 ms', '4.50 µs')
    """
    unit, name = next((pair for pair in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if seconds >= pair[0]), (1e-6, "µs"))
    value = seconds / unit
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {name}"


def cell(row: Mapping[str, Any] | None) -> str:
    """Write the time of one contestant, and its ratio to the better of two."""
    if row is None:
        return ""
    text = time_text(row["median"])
    if "better of two" not in row:
        return text
    middle, low, high = row[f"over {row['better of two']}"]
    mark = {"faster": "**", "slower": "_"}.get(finding(low, high), "")
    return f"{text} ({mark}{middle:.2f}x{mark})"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table; numbers stand at the right."""
    rule = ["---", "---", *("--:" for _ in head[2:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines))


def of_op(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the table of one op: a line for each size and direction, a column for each contestant."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    names.sort(key=lambda name: (name != EAGER, name != COMPILED))
    cases: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        size = ", ".join(f"{letter}={number}" for letter, number in row["size"].items())
        cases.setdefault((size, row["direction"]), {})[row["name"]] = row
    lines, before = [], ""
    for (size, direction), found in cases.items():
        fastest = min(found.values(), key=lambda row: row["median"])
        counts = "share" in fastest and fastest["median"] > 20e-6
        limit = f"{fastest['share']:.0%} of {fastest['bound by']}" if counts else ""
        lines.append([size if size != before else "", direction, *(cell(found.get(name)) for name in names), limit])
        before = size
    heads = [f"`{name}`" if "/" in name else name for name in names]
    return table(["size", "direction", *heads, "of the limit"], lines)


def markdown(path: Path) -> str:
    """Render the whole page.

    Args:
        path: what `ops_speed.py` wrote.
    """
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    here = data["machine"]
    compiler = next(iter(here["compilers"].values()))
    day = data["date"].partition("T")[0]
    origin = _ORIGIN.format(date=day, compiler=compiler, flags=data["flags"], **_of(here))
    head = HEAD.format(origin=textwrap.fill(origin, 120, break_long_words=False, break_on_hyphens=False))
    parts = [head]
    for op in dict.fromkeys(row["op"] for row in data["cells"]):
        rows = [row for row in data["cells"] if row["op"] == op]
        parts += [f"## {op}\n\n{of_op(rows)}\n"]
        trades = {name: why for name, why in data["trades"].items() if any(row["name"] == name for row in rows)}
        parts += ["\n".join(f"`{name}` {why}." for name, why in trades.items()) + "\n"] if trades else []
    if data["bandwidth"]:
        parts.append(_bandwidth(data["bandwidth"]))
    if data["notes"]:
        parts.append("## Left out\n\n" + "\n".join(f"- {note}" for note in data["notes"]) + "\n")
    return "\n".join(parts)


def _of(here: Mapping[str, Any]) -> dict[str, Any]:
    return {name: here[name] for name in ("cpu", "threads", "torch", "load", "load_after")}


def _bandwidth(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for row in rows:
        middle, low, high = row["share"]
        interval = f" ({low:.0%} to {high:.0%})" if low else ""
        name = row["name"] if "/" in row["name"] else f"{row['op']}, {row['name']}"
        lines.append(
            [
                f"`{name}`",
                f"{row['size']}, {row['direction']}",
                f"{row['bytes per second'] / 1e9:.1f}",
                f"{middle:.0%}{interval}",
            ]
        )
    text = (
        "## Share of the bandwidth of a copy\n\nTensors far beyond the cache. The bytes are those that the op must move; a copy of "
        "as many bytes\ntook turns with the kernels.\n"
    )
    return f"{text}\n{table(['kernel', 'what', 'GB/s', 'of a copy'], lines)}\n"


if __name__ == "__main__":
    default = Path(__file__).with_name("results") / "ops_speed.json"
    print(markdown(Path(sys.argv[1]) if len(sys.argv) > 1 else default))
