"""A notebook in JupyterLab as a person uses it: looks at cells, types, presses keys, chooses from menus.

What is on the screen is read from the screen. Only two things are asked of Lab itself, through `window.jupyterapp`: in
which state the kernel is, and how often a cell has run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, Request, expect

from tests.browser.lab import Lab

#: How long a slow and busy machine may take, in milliseconds, to show a thing and to build a kernel. Waiting ends when
#: the thing is there.
PATIENCE, BUILD_PATIENCE = 60_000, 240_000
#: Milliseconds between two looks. Playwright would look at every frame, and a page that draws sixty a second takes half a core.
PAUSE = 100

STATUS = "window.jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel?.status"
CELLS = "window.jupyterapp.shell.currentWidget.content.widgets"
COUNTS = f"JSON.stringify({CELLS}.map(cell => cell.model.executionCount ?? null))"
FAILED = f"""{CELLS}.flatMap((cell, index) =>
  cell.model.outputs?.toJSON().some(output => output.output_type === 'error') ? [index] : [])"""
#: Chromium draws what is not on the screen only when it gets there, and has no words for it before.
READ = """async place => {
  place.scrollIntoView({block: 'nearest'});
  for (let frame = 0; frame < 2; ++frame) await new Promise(requestAnimationFrame);
  return place.innerText;
}"""
#: Whether a cell waits or runs.
STARS = f"{CELLS}.some(cell => cell.node.querySelector('.jp-InputPrompt')?.innerText.includes('*'))"
#: Whether Run All is over. Lab starts cell after cell, so that between two of them nothing seems to run.
ALL_RUN = f"""before => {{
  const code = {CELLS}.filter(cell => cell.model.type === 'code' && cell.model.sharedModel.getSource().trim());
  const ran = cell => (cell.model.executionCount ?? 0) > before;
  const failed = cell => ran(cell) && !(cell.model.getMetadata('tags') ?? []).includes('raises-exception')
    && cell.model.outputs.toJSON().some(output => output.output_type === 'error');
  return {STATUS} === 'idle' && !{STARS} && (code.every(ran) || code.some(failed));
}}"""


class NotebookPage:
    """One notebook, open in a tab of a browser."""

    def __init__(self, page: Page, lab: Lab, pictures: Path) -> None:
        self.page = page
        self.lab = lab
        self.pictures = pictures
        self.strangers: list[str] = []
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", self._note)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _note(self, request: Request) -> None:
        if not request.url.startswith((self.lab.url, self.lab.url.replace("http", "ws", 1), "data:", "blob:")):
            self.strangers.append(request.url)

    def wait(self, condition: str, arg: Any = None, patience: int = BUILD_PATIENCE) -> None:
        """Wait until a condition in JavaScript holds; `arg` is what it is called with."""
        self.page.wait_for_function(condition, arg=arg, timeout=patience, polling=PAUSE)

    def open(self, name: str) -> None:
        """Show a notebook of the Lab's folder, and wait until its kernel answers."""
        self.page.goto(self.lab.address(name))
        self.wait_for_kernel()
        expect(self.page.locator(".jp-Notebook .jp-Cell").first).to_be_visible()

    def wait_for_kernel(self) -> None:
        """Wait until the kernel has nothing to do."""
        self.wait(f"{STATUS} === 'idle'")

    def cell(self, index: int) -> Locator:
        """Find a cell, counted from 0."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def output(self, index: int) -> Locator:
        """Find what stands below a cell."""
        return self.cell(index).locator(".jp-OutputArea").first

    def text(self, index: int) -> str:
        """Scroll to what stands below a cell, and read it as it stands there."""
        return str(self.output(index).evaluate(READ))

    def focus(self, index: int) -> None:
        """Put the cursor into a cell's editor."""
        self.cell(index).locator(".cm-content").first.click()

    def write(self, index: int, text: str) -> None:
        """Replace a cell's text, as pasting over everything does."""
        self.focus(index)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def source(self, index: int) -> str:
        """Return a cell's text."""
        return str(self.page.evaluate(f"{CELLS}[{index}].model.sharedModel.getSource()"))

    def counts(self) -> list[int | None]:
        """Return the numbers in the cells' brackets; None for a cell that has not run, or runs."""
        return list(json.loads(self.page.evaluate(COUNTS)))

    def failed(self) -> list[int]:
        """Return the cells that have ended in an error."""
        return list(self.page.evaluate(FAILED))

    def start(self, index: int) -> None:
        """Press Shift-Enter in a cell, and do not wait; one that is folded is chosen by a click on what stands below it."""
        if self.cell(index).locator(".jp-InputPlaceholder").count():
            self.output(index).click()
        else:
            self.focus(index)
        self.page.keyboard.press("Shift+Enter")

    def run(self, index: int) -> str:
        """Press Shift-Enter in a cell, wait for its end, and read what stands below it."""
        before = self.counts()
        self.start(index)
        self.wait_for_end(before)
        return self.text(index)

    def choose(self, menu: str, item: str) -> None:
        """Choose an item of a menu at the top."""
        self.page.locator(".lm-MenuBar-itemLabel").get_by_text(menu, exact=True).click()
        self.page.locator(".lm-Menu-itemLabel").get_by_text(re.compile(rf"^{re.escape(item)}")).first.click()

    def run_all(self) -> None:
        """Choose Run, Run All Cells, and wait until all have run, or one has failed that is not meant to."""
        before = max(filter(None, self.counts()), default=0)
        self.choose("Run", "Run All Cells")
        self.wait(ALL_RUN, before)

    def wait_for_end(self, before: list[int | None]) -> None:
        """Wait until cells have run, none waits or runs any more (no star in its brackets), and the kernel is idle.

        Args:
            before: What `counts` said before they were started.
        """
        self.wait(f"before => {STARS} || {COUNTS} !== before", json.dumps(before, separators=(",", ":")), PATIENCE)
        self.wait(f"!{STARS} && {STATUS} === 'idle'")

    def restart(self) -> None:
        """Choose Kernel, Restart Kernel, say yes, and wait for the new one."""
        self.choose("Kernel", "Restart Kernel…")
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.wait(f"{STATUS} !== 'idle'", patience=PATIENCE)
        self.wait_for_kernel()

    def reload(self) -> None:
        """Load the page anew, as F5 does; the kernel stays."""
        self.page.reload()
        self.wait_for_kernel()

    def save(self) -> None:
        """Press Control-S, and wait until the file is written."""
        self.page.keyboard.press("Control+s")
        self.wait("!window.jupyterapp.shell.currentWidget.context.model.dirty", patience=PATIENCE)

    def wide(self) -> None:
        """Hide the list of files at the left, as Control-B does."""
        self.page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")

    def dark(self) -> None:
        """Switch to Lab's dark theme."""
        self.page.evaluate("window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
        self.page.wait_for_selector("body[data-jp-theme-light=false]", state="attached")

    def shot(self, name: str, place: Locator | None = None) -> Path:
        """Keep a picture of the page, or of one place of it."""
        path = self.pictures / f"{name}.png"
        (place or self.page).screenshot(path=path, animations="disabled")
        return path

    def whole(self, name: str) -> Path:
        """Keep a picture of the whole notebook, in a window that is as high as it."""
        size = self.page.viewport_size
        high = self.page.evaluate(
            "Math.min(12000, document.querySelector('.jp-WindowedPanel-outer').scrollHeight + 200)"
        )
        self.page.set_viewport_size({"width": size["width"] if size else 1280, "height": high})
        try:
            self.page.locator(".jp-Notebook .jp-Cell").first.scroll_into_view_if_needed()
            return self.shot(name)
        finally:
            if size:
                self.page.set_viewport_size(size)


@contextmanager
def opened(browser: Browser, lab: Lab, pictures: Path, **options: Any) -> Iterator[NotebookPage]:
    """Give a page with nothing remembered; its kernels and its theme end with it."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    try:
        yield NotebookPage(context.new_page(), lab, pictures)
    finally:
        context.close()
        lab.reset()
