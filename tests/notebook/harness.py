"""The panel's browser side in a real Chromium, with a pretended model: no JupyterLab, no kernel, no network."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, Route, expect

PANEL = Path(__file__).resolve().parents[2] / "lltm_inline" / "notebook" / "panel"
HOST = "panel.test"
#: How long a slow and busy machine may take to show a thing, in milliseconds; waiting ends when it is there.
PATIENCE = 30_000

# Ratio of contrast of every text against what lies behind it, below 4.5, with the text; what is disabled may be pale.
CONTRAST = """() => {
  const parse = (css) => {
    const numbers = (css.match(/[\\d.]+(?:e-?\\d+)?/g) ?? []).map(Number);
    const scale = css.startsWith("color(") ? 1 : 255;
    return [...numbers.slice(0, 3).map((n) => n / scale), numbers[3] ?? 1];
  };
  const over = (top, ground) => ground.map((c, i) => top[i] * top[3] + c * (1 - top[3]));
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.unshift(parse(getComputedStyle(e).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [1, 1, 1]);
  };
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) =>
    sum + weight * (c[i] <= 0.04045 ? c[i] / 12.92 : ((c[i] + 0.055) / 1.055) ** 2.4), 0);
  const found = [];
  const walker = document.createTreeWalker(document.querySelector(".lltm-panel"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility() || element.closest("[aria-disabled=true], :disabled, option, svg")) continue;
    const behind = ground(element);
    const [a, b] = [light(over(parse(getComputedStyle(element).color), behind)), light(behind)].sort();
    const ratio = (b + 0.05) / (a + 0.05);
    if (ratio < 4.5) found.push(`${text}: ${ratio.toFixed(2)}`);
  }
  return found;
}"""


@contextmanager
def opened_harness(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Give `show(state, theme=..., width=..., views=...)`, which opens the harness; nothing may fail or ask the network."""
    expect.set_options(timeout=PATIENCE)
    context = browser.new_context(reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    wrong: list[str] = []

    def serve(route: Route) -> None:
        address = urlsplit(route.request.url)
        file = PANEL / address.path.lstrip("/")
        if address.hostname != HOST or not file.is_file():
            wrong.append(f"asked for {route.request.url}")
            route.abort()
        else:
            route.fulfill(body=file.read_bytes(), content_type=mimetypes.guess_type(file.name)[0] or "text/plain")

    context.route("**/*", serve)

    def show(state: str = "idle", theme: str = "light", width: int = 1180, views: int = 1, more: str = "") -> Page:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 800})
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"http://{HOST}/js/harness/index.html?state={state}&theme={theme}&views={views}{more}")
        expect(page.get_by_test_id("source")).to_have_count(views)
        return page

    yield show
    context.close()
    assert not wrong


def tell(page: Page, **traits: Any) -> None:
    """Send traits as one message of Python's."""
    page.evaluate("traits => model.tell(traits)", traits)


def sent(page: Page, verb: str) -> dict[str, Any]:
    """Return the last message of a kind."""
    page.wait_for_function("verb => model.messages.some(each => each.do === verb)", arg=verb)
    return page.evaluate("verb => model.messages.findLast(each => each.do === verb)", verb)


def source(page: Page) -> Locator:
    """Find the text of the editor."""
    return page.get_by_test_id("source")


def line(page: Page, text: str) -> Locator:
    """Find the line of the editor in which a text stands."""
    return page.locator(".cm-line", has_text=text).first


def mark(number: int, **more: Any) -> dict[str, Any]:
    """Make a mark as Python sends it."""
    plain = {"kind": "cpp", "column": 0, "end_column": 0, "severity": "error", "advice": "", "fix": None}
    return {**plain, "line": number, "message": f"wrong in {number}", **more}
