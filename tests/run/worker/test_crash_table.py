"""docs/crashes.md is what the tests of its entries have measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.planted.crashes import ROWS
from tests.run.worker import crash_table


def test_page_has_these_lines_and_no_others() -> None:
    """docs/crashes.md has an entry for each planted kernel, in its place; the kernel's own test compares it with what it measured."""
    known = crash_table.written()
    assert list(known) == [does for group in crash_table.groups().values() for does in group]
    assert crash_table.PATH.read_text() == crash_table.lay_out(known)


def test_line_that_was_not_measured_so_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails the test that measures it, whatever else runs; written on demand, it is right, and no other entry has changed."""
    page, (row, *_) = tmp_path / "crashes.md", ROWS.values()
    before = crash_table.written()
    changed = before | {row.does: replace(before[row.does], says="**it is fine**")}
    page.write_text(crash_table.lay_out(changed))
    monkeypatch.setattr(crash_table, "PATH", page)
    monkeypatch.setattr(crash_table, "MEASURED", {})
    monkeypatch.delenv(crash_table.WRITE, raising=False)
    with pytest.raises(AssertionError) as failed:
        crash_table.hold(row.does, row.plainly, row.verb, before[row.does].says, 1.5)
    told = str(failed.value)
    assert f"measured: ### {row.does}\n" in told and f" written: ### {row.does}\n" in told and "**it is fine**" in told
    assert told.endswith("write it again: LLTM_INLINE_WRITE_TABLE=1 make test-all ARGS='-k crash'")
    with pytest.raises(AssertionError, match=" written: nothing\n"):
        crash_table.hold("sings", "goes on", "call", "**it sings**", None)
    monkeypatch.setenv(crash_table.WRITE, "1")
    crash_table.hold(row.does, row.plainly, row.verb, before[row.does].says, 1.5)
    after = crash_table.written()
    assert after.pop(row.does).noticed == "1.50 s" and after.items() < before.items()
