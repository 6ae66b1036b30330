"""One JupyterLab for all browser tests, one Chromium for each file of them, one page for each test; pictures are kept.

Pictures go to the folder that LLTM_INLINE_SCREENSHOTS names, or to pytest's temporary directory; where, is said at the
end. On a machine without Chromium these tests are skipped, or fail (tests/needs.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error

from tests.browser.chromium import find_chromium, running_chromium
from tests.browser.lab import Lab, running_lab
from tests.browser.page import NotebookPage, opened
from tests.needs import need
from tests.quick import QUICK

KEPT = pytest.StashKey[Path]()


@pytest.fixture(scope="session")
def chromium() -> str:
    """Find Chromium, or skip and say how to get it."""
    need("Chromium")
    return str(find_chromium())


@pytest.fixture(scope="session")
def lab(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Start JupyterLab, with the cache of this test session."""
    with running_lab(tmp_path_factory.mktemp("lab"), {"CXX": QUICK}) as lab:
        yield lab


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Start Chromium; not for longer than a module, because playwright keeps an event loop, which other tests want."""
    with running_chromium(chromium) as browser:
        yield browser


@pytest.fixture(scope="session")
def pictures(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Name the folder in which pictures are kept."""
    asked = os.environ.get("LLTM_INLINE_SCREENSHOTS")
    folder = Path(asked) if asked else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    request.config.stash[KEPT] = folder
    return folder


@pytest.fixture
def notebook(browser: Browser, lab: Lab, pictures: Path) -> Iterator[NotebookPage]:
    """Open a page; whatever it shows, it has asked nobody but its own JupyterLab."""
    with opened(browser, lab, pictures) as page:
        yield page
    assert not page.strangers, f"the page asked the network: {page.strangers}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Keep a picture of the page on which a test failed."""
    report = yield
    page = getattr(item, "funcargs", {}).get("notebook")
    if report.when == "call" and report.failed and page is not None:
        with suppress(Error):  # the browser is gone: its picture too
            report.sections.append(("picture of the page", str(page.shot(f"failed-{item.name}"))))
        report.sections.append(("errors in the page", "\n".join(page.complaints) or "none"))
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say where the pictures are."""
    folder = config.stash.get(KEPT, None)
    if folder is not None:
        terminalreporter.write_line(f"pictures of JupyterLab: {folder} ({len(list(folder.glob('*.png')))})")
