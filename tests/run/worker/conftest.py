"""Shows the table of crashes behind the results of a run."""

from __future__ import annotations

from typing import Any

from tests.run.worker import crash_table


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was measured: the kernel, what was said of it, and after how long."""
    if not crash_table.MEASURED:
        return
    terminalreporter.section("what broken kernels did (docs/crashes.md)")
    for line in crash_table.MEASURED.values():
        says = line.says.replace("**", "")
        terminalreporter.write_line(f"{line.noticed:>13}  {line.does}: {says}"[: terminalreporter._tw.fullwidth])
