"""The panel of `li.playground` as a person uses it: its buttons, its editor, what it says."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.browser.page import BUILD_PATIENCE, NotebookPage


class Panel:
    """The panel below one cell of a notebook."""

    def __init__(self, notebook: NotebookPage, cell: int) -> None:
        self.page = notebook.page
        self.place = notebook.cell(cell).get_by_test_id("panel")
        expect(self.place).to_be_visible()

    def part(self, name: str) -> Locator:
        """Find a part by its `data-testid`."""
        return self.place.get_by_test_id(name)

    def editor(self) -> Locator:
        """Find where the text is typed."""
        return self.part("editor").locator(".cm-content")

    def paste(self, text: str) -> None:
        """Replace all of the text; a first, empty line is kept, as texts begin with one."""
        self.editor().click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def type_line(self, number: int, text: str) -> None:
        """Go to a line with the keyboard, and type it anew behind its indentation."""
        self.editor().click()
        self.page.keyboard.press("Control+Home")
        for _ in range(number - 1):
            self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Home")
        self.page.keyboard.press("Shift+End")
        self.page.keyboard.type(text)

    def press(self, button: str) -> None:
        """Press a button, once it can be pressed."""
        expect(self.part(button)).to_be_enabled(timeout=BUILD_PATIENCE)
        self.part(button).click()

    def idle(self) -> None:
        """Wait until nothing runs: there is nothing to stop, and one can build."""
        expect(self.part("stop")).to_be_disabled(timeout=BUILD_PATIENCE)
        expect(self.part("build")).to_be_enabled()

    def becomes(self, revision: int, state: str) -> None:
        """Wait until a revision is in a state, and nothing runs."""
        expect(self.part(f"revision-{revision}")).to_have_attribute("data-state", state, timeout=BUILD_PATIENCE)
        self.idle()

    def says(self, part: str, text: str) -> None:
        """Wait until a part says something."""
        expect(self.part(part)).to_contain_text(text, timeout=BUILD_PATIENCE)
