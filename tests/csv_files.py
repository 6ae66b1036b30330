"""What `to_csv` writes, read by other means than ours."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path
from typing import Any

from lltm_inline.tables.table import Table


def is_whole(table: Table[Any], path: Path) -> bool:
    """Write a table to a CSV file, and tell whether each cell holds the value of its row to the last bit."""
    with table.to_csv(path).open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    wanted = [{"baseline": table.baseline, **row.to_dict(), **row.size} for row in table.rows]
    for row in wanted:
        row.pop("size")
    return lines == [{name: _cell(value) for name, value in row.items()} for row in wanted]


def _cell(value: Any) -> str:
    return shlex.join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
