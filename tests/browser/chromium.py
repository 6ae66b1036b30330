"""Chromium: where it is, how it is started, and how to get it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

#: Names of what playwright can drive, in the order in which they are looked for on PATH.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Headless in a container: no sandbox, no GPU, small shared memory, and nothing asks the network by itself.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
CURE = (
    "no Chromium on PATH, which drives JupyterLab in these tests. On Debian and Ubuntu: sudo apt-get install chromium. "
    "Elsewhere: install Chromium or Chrome, or name its program in LLTM_INLINE_CHROMIUM"
)


def find_chromium() -> str | None:
    """Return the path of a Chromium: the one that LLTM_INLINE_CHROMIUM names, or the first on PATH."""
    return shutil.which(os.environ.get("LLTM_INLINE_CHROMIUM") or "") or next(
        filter(None, map(shutil.which, NAMES)), None
    )


@contextmanager
def running_chromium(program: str) -> Iterator[Browser]:
    """Start Chromium without a window and with a new profile, and end it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
