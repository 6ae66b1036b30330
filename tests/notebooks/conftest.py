"""Shows at the end of a run how long each lesson took."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the table, if a lesson was run; what a test records reaches this process from others, too."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    taken = {name: seconds for report in reports for name, seconds in getattr(report, "user_properties", ())}
    lessons = {name.removeprefix("lesson "): taken[name] for name in sorted(taken) if name.startswith("lesson ")}
    if lessons:
        terminalreporter.section("lessons, unsolved and solved")
        for name, seconds in lessons.items():
            terminalreporter.write_line(f"{seconds:6.1f} s  {name}")
        terminalreporter.write_line(f"{sum(lessons.values()):6.1f} s  together")
