"""What the tests of notebooks share: a Chromium that shows the panel without JupyterLab."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.chromium import find_chromium, running_chromium
from tests.needs import need
from tests.notebook.harness import opened_harness


@pytest.fixture(scope="module")
def harness_browser() -> Iterator[Browser]:
    """Start Chromium, or skip and say how to get it; for one module, because playwright keeps an event loop."""
    need("Chromium")
    with running_chromium(str(find_chromium())) as browser:
        yield browser


@pytest.fixture
def show(harness_browser: Browser) -> Iterator[Callable[..., Page]]:
    """Give `show(state, theme=..., width=..., views=...)`, which opens the harness; nothing may fail or ask the network."""
    with opened_harness(harness_browser) as show:
        yield show
