"""The panel's editor in a real Chromium: marks, keys, undo, what Python sends and is sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.notebook.harness import line, mark, sent, source, tell

pytestmark = pytest.mark.full


def test_error_stands_at_its_line_and_apply_mends_it(show: Callable[..., Page]) -> None:
    """The mark follows the line that it is about; apply changes the word, undo brings it back, Python learns both."""
    page = show("error")
    shown = page.get_by_test_id("mark")
    expect(shown).to_contain_text(
        "line 17: struct at::vec::Vectorized<float> has no member named load. Did you mean loadu?"
    )
    expect(page.locator(".cm-line.lltm-line-error")).to_contain_text("elu(V::load(g + 2")
    expect(page.locator(".cm-line.lltm-line-error + div")).to_have_attribute("data-testid", "mark")
    expect(page.locator(".lltm-under-error")).to_have_text("load")
    page.get_by_test_id("apply").click()
    expect(line(page, "const auto c")).to_contain_text("elu(V::loadu(g + 2")
    expect(shown).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(line(page, "const auto c")).to_contain_text("elu(V::load(g + 2")
    page.keyboard.press("Control+Enter")
    assert "V::load(g + 2" in sent(page, "build")["texts"]["cpp"]
    expect(shown).to_have_count(1)


def test_full_log_opens(show: Callable[..., Page]) -> None:
    """From the mark one click leads to what the compiler wrote."""
    page = show("error")
    page.get_by_test_id("full-log").click()
    expect(page.get_by_text("In function 'forward'")).to_be_in_viewport()


def test_marks_move_with_their_lines_and_go_with_an_edit(show: Callable[..., Page]) -> None:
    """A line typed above moves a mark along; a change of its own line ends it; the others stay."""
    page = show()
    tell(page, marks=[mark(7), mark(14, severity="warning"), mark(0)])
    shown = page.get_by_test_id("mark")
    expect(shown).to_have_count(3)
    expect(shown.nth(0)).to_have_text("error, somewhere: wrong in 0.full log")
    expect(shown.nth(2)).to_contain_text("warning, line 14")
    line(page, "using V").click()
    page.keyboard.press("End")
    page.keyboard.type("\n// one more")
    expect(page.locator(".cm-line.lltm-line-error")).to_contain_text("static V sigmoid")
    page.locator(".cm-line.lltm-line-error").click()
    page.keyboard.type("x")
    expect(shown).to_have_count(2)
    expect(page.locator(".cm-line.lltm-line-warning")).to_contain_text("for (int64_t s = 0")


def test_marks_of_a_text_that_has_changed_meanwhile_find_their_lines(show: Callable[..., Page]) -> None:
    """What was typed while the compiler ran shifts the marks of the text that it was given."""
    page = show()
    source(page).click()
    page.evaluate("model.silent = true")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+Enter")
    sent(page, "build")
    page.keyboard.type("// a\n// b\n")
    tell(page, marks=[mark(7)])
    expect(page.locator(".cm-line.lltm-line-error")).to_contain_text("static V sigmoid")


def test_first_error_is_in_sight(show: Callable[..., Page]) -> None:
    """Marks bring their first error into the editor's window, whichever way it was scrolled; the cursor stays."""
    page = show(width=800)
    line(page, "static void row").click()
    page.keyboard.press("End")
    page.wait_for_function("() => document.querySelector('.cm-scroller').scrollLeft > 0")
    tell(page, marks=[mark(27)])
    expect(page.get_by_test_id("mark")).to_be_in_viewport(ratio=1)
    expect(page.locator(".cm-line.lltm-line-error")).to_be_in_viewport()
    page.wait_for_function("() => document.querySelector('.cm-scroller').scrollLeft === 0")
    page.keyboard.type("// here")
    expect(line(page, "static void row")).to_contain_text("// here")


def test_f8_goes_from_mark_to_mark(show: Callable[..., Page]) -> None:
    """F8 brings the cursor to the next mark and around, Shift-F8 back."""
    page = show()
    tell(page, marks=[mark(7), mark(14)])
    source(page).focus()
    page.keyboard.press("Control+Home")
    for key, number in (("F8", 7), ("F8", 14), ("F8", 7), ("Shift+F8", 14)):
        page.keyboard.press(key)
        expect(page.locator(".cm-activeLineGutter")).to_have_text(str(number))


@pytest.mark.parametrize(
    ("key", "verb"), [("Control+Enter", "build"), ("Shift+Enter", "build"), ("Control+Shift+Enter", "check")]
)
def test_keys_ask_with_the_text_as_it_stands(show: Callable[..., Page], key: str, verb: str) -> None:
    """The keys send what was typed right before them, and leave no line break in the text."""
    page = show()
    page.evaluate("model.silent = true")
    source(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("// new")
    page.keyboard.press(key)
    message = sent(page, verb)
    assert message["texts"]["cpp"].endswith("}\n// new")
    assert message["params"] == {"UNROLL": 4, "GRAIN": 16384, "PAR": 1}


def test_saving_goes_on_to_the_notebook(show: Callable[..., Page]) -> None:
    """Ctrl-S sends the draft and reaches the page around the panel; other keys stay in the panel."""
    page = show()
    page.evaluate(
        "window.keys = []; document.body.addEventListener('keydown', (e) => e.target === document.body && keys.push(e.key))"
    )
    source(page).click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("// s")
    page.keyboard.press("Control+s")
    assert page.evaluate("model.messages.findLast(each => each.saved).saved.cpp.startsWith('// s')")
    assert page.evaluate("keys") == ["s"]
    expect(page.get_by_test_id("panel")).to_have_attribute("data-lm-suppress-shortcuts", "true")


def test_keyboard_alone_gets_in_and_out(show: Callable[..., Page]) -> None:
    """Tab indents in the editor; after Escape it leads through the rest of the panel, and Shift-Tab back to the buttons."""
    page = show()
    source(page).focus()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Tab")
    expect(line(page, "Parallel.h")).to_have_text("  #include <ATen/Parallel.h>")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("log")).to_contain_text("leave the editor now")
    page.keyboard.press("Tab")
    expect(page.get_by_role("separator")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(source(page)).to_be_focused()
    page.keyboard.press("Shift+Tab")  # Escape holds until the editor is left: Shift-Tab takes away the two blanks
    expect(line(page, "Parallel.h")).to_have_text("#include <ATen/Parallel.h>")
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_test_id("stop")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.testid") == "revert":
            break
    expect(page.get_by_test_id("revert")).to_be_focused()


def test_pythons_text_comes_with_a_generation_and_can_be_undone(show: Callable[..., Page]) -> None:
    """Texts alone leave what is being typed alone; with a new generation they replace it, and undo brings it back."""
    page = show()
    source(page).click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("// mine\n")
    tell(page, texts={"cpp": "// late echo\n"})
    expect(line(page, "// mine")).to_be_visible()
    tell(page, texts={"cpp": "// another revision\n"}, generation=2)
    expect(page.locator(".cm-line").first).to_have_text("// another revision")
    page.keyboard.press("Control+z")
    expect(line(page, "// mine")).to_be_visible()


def test_each_kernel_has_its_own_undo(show: Callable[..., Page]) -> None:
    """A look at another kernel's text is not undone into it."""
    page = show()
    current = page.evaluate("model.get('current')")
    tell(page, current={**current, "name": "lltm/aten"}, texts={"cpp": "int aten;\n"}, generation=2)
    expect(source(page)).to_contain_text("int aten;")
    source(page).click()
    page.keyboard.press("Control+z")
    expect(source(page)).to_contain_text("int aten;")


def test_marks_of_an_edited_text_find_their_lines(show: Callable[..., Page]) -> None:
    """A page that was loaded anew shows a mark where its line stands by now, and none for a line that was edited."""
    page = show()
    tell(page, texts={"cpp": "// one more\nint a;\nint b; // mended\n"}, generation=2)
    expect(source(page)).to_contain_text("one more")
    tell(page, marks=[mark(1, text="int a;"), mark(2, text="int b")])
    expect(page.get_by_test_id("mark")).to_have_count(1)
    expect(page.locator(".lltm-line-error")).to_have_text("int a;")


def test_marks_are_gone_after_a_look_at_another_kernel(show: Callable[..., Page]) -> None:
    """A kernel that is chosen again shows Python's marks, which are none, and not those of when it was left."""
    page = show("error")
    expect(page.get_by_test_id("mark")).to_be_visible()
    current, texts = page.evaluate("[model.get('current'), model.get('texts')]")
    tell(page, current={**current, "name": "lltm/aten"}, texts={"cpp": "int aten;\n"}, marks=[], generation=2)
    expect(source(page)).to_contain_text("int aten;")
    tell(page, current=current, texts=texts, generation=3)
    expect(source(page)).not_to_contain_text("int aten;")
    expect(page.get_by_test_id("mark")).to_have_count(0)


def test_reference_is_read_only(show: Callable[..., Page]) -> None:
    """The text of the reference can be read and copied, and takes no key and no build."""
    page = show()
    current = page.evaluate("model.get('current')")
    tell(
        page,
        current={**current, "name": "lltm/python", "kinds": ["python"]},
        texts={"python": "def f(): ..."},
        generation=2,
    )
    expect(source(page)).to_have_attribute("aria-readonly", "true")
    source(page).click()
    page.keyboard.type("x")
    expect(source(page)).to_have_text("def f(): ...")
    page.keyboard.press("Tab")  # there is nothing to indent: it goes on to what follows
    expect(source(page)).not_to_be_focused()
    assert source(page).inner_text() == "def f(): ..."
    expect(page.get_by_test_id("build")).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_test_id("check")).to_have_attribute("aria-disabled", "false")


def test_two_views_of_one_panel_show_the_same(show: Callable[..., Page]) -> None:
    """What is typed or moved in one view is in the other."""
    page = show(views=2)
    source(page).first.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("// typed above\n")
    expect(source(page).nth(1)).to_contain_text("// typed above")
    page.get_by_test_id("param-UNROLL").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("param-UNROLL-number").nth(1)).to_have_value("5")


def test_a_line_and_its_machine_code_light_up_together(show: Callable[..., Page]) -> None:
    """The cursor and the mouse point from either side; an edit above moves the line, and not what it became."""
    page = show("assembly")
    pane, lit = page.get_by_test_id("assembly"), page.locator(".cm-line.lltm-lit")
    expect(pane).to_contain_text("8 floats at a time")
    line(page, "const auto c").hover()
    expect(pane.locator(".lltm-lit")).to_have_attribute("data-line", "17")
    expect(pane.locator(".lltm-lit")).to_be_in_viewport()
    expect(lit).to_contain_text("const auto c")
    page.mouse.move(0, 0)
    expect(page.locator(".lltm-lit")).to_have_count(0)
    line(page, "using V").click()
    page.keyboard.type("\n")
    pane.locator("[data-line='14']").hover()
    expect(lit).to_contain_text("for (int64_t s = 0")
    pane.locator("[data-line='14']").click()
    expect(page.locator(".cm-activeLine")).to_contain_text("for (int64_t s = 0")
    line(page, "auto gates = at::addmm").click()
    expect(pane.locator(".lltm-lit")).to_have_count(0)
    line(page, "std::tuple<at::Tensor, at::Tensor> forward").click()
    expect(pane.get_by_text("call at::addmm")).to_be_visible()  # its function is unfolded


def test_marks_of_what_is_being_typed_are_quiet(show: Callable[..., Page]) -> None:
    """They underline the word and move nothing; the first is said in the row below, and pointing at it says all."""
    page = show()
    before = source(page).bounding_box()
    text = page.evaluate("() => model.get('texts').cpp.split('\\n')[16]")
    at = text.index("elu") + 1
    quiet = {"message": "'elu' is unknown", "advice": "Did you mean 'exp'?", "quiet": True}
    tell(page, marks=[mark(17, text=text, column=at, end_column=at + 3, **quiet)])
    under = page.locator(".lltm-under-error")
    expect(under).to_have_text("elu")
    expect(under).to_have_attribute("title", "'elu' is unknown. Did you mean 'exp'?")
    expect(page.get_by_test_id("mark")).to_have_count(0)
    expect(page.get_by_test_id("log")).to_contain_text("line 17: 'elu' is unknown.")
    assert source(page).bounding_box() == pytest.approx(before, abs=0.5)
    tell(page, marks=[])
    expect(under).to_have_count(0)


def test_remarks_stand_at_their_lines_and_move_nothing(show: Callable[..., Page]) -> None:
    """A sign beside the number, and all of it where one points; an error keeps its message, and typing moves a remark with its line."""
    page = show("assembly")
    before = source(page).bounding_box()
    told = [
        mark(18, severity="remark", message="not vectorised: it branches", advice="Take the `if` out."),
        mark(15, severity="done", message="inlined: sigmoid"),
    ]
    tell(page, marks=told)
    remark = page.locator(".cm-line.lltm-line-remark")
    expect(remark).to_have_attribute("title", "not vectorised: it branches. Take the `if` out.")
    expect(page.locator(".cm-line.lltm-line-done")).to_contain_text("const auto i")
    expect(page.locator(".cm-gutterElement.lltm-sign-remark")).to_have_text("18")
    expect(page.get_by_test_id("mark")).to_have_count(0)
    assert source(page).bounding_box() == pytest.approx(before, abs=0.5)
    line(page, "using V").click()
    page.keyboard.press("End")
    page.keyboard.type("\n")
    expect(remark).to_contain_text("const auto cell")
    tell(page, marks=[mark(8, quiet=True, message="typed", column=8, end_column=10), *told])
    expect(remark).to_contain_text("const auto cell")
    expect(page.locator(".lltm-under-error")).to_have_attribute("title", "typed.")
    tell(page, marks=[mark(7), *told])
    expect(page.get_by_test_id("mark")).to_have_count(1)
    row = page.get_by_test_id("assembly").locator("tr", has_text="it branches")
    remark.hover()
    expect(row).to_have_class("lltm-lit")
    row.get_by_text("18").hover()
    expect(page.locator(".cm-line.lltm-lit")).to_contain_text("const auto cell")


def test_completion_knows_the_kernel_and_its_op(show: Callable[..., Page]) -> None:
    """Control-Space offers words of the text and those of Python; Enter takes one that was chosen, else begins a line."""
    page = show()
    line(page, "using V").click()
    page.keyboard.press("End")
    page.keyboard.type(" d_w")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("d_weights")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(line(page, "using V")).to_have_text("using V = at::vec::Vectorized<float>; d_weights")
    page.keyboard.type(" sigm")
    expect(page.locator(".cm-tooltip-autocomplete")).to_contain_text("sigmoid")
    page.keyboard.press("Enter")
    expect(line(page, "using V")).to_have_text("using V = at::vec::Vectorized<float>; d_weights sigm")


def test_a_new_kernel_a_cell_and_how_to_time(show: Callable[..., Page]) -> None:
    """A name makes a kernel, the button copies a cell, and the field keeps what Python took."""
    page = show()
    page.get_by_test_id("variant").select_option(label="new kernel ...")
    expect(page.get_by_test_id("variant")).to_have_value("lltm/fused")
    page.get_by_test_id("new-kernel").fill("mine")
    page.keyboard.press("Enter")
    assert sent(page, "new")["name"] == "mine"
    page.get_by_test_id("copy-cell").click()
    assert sent(page, "copy")["kind"] == "cpp"
    page.get_by_test_id("option-how").fill("--sizes 16,32,128")
    page.keyboard.press("Enter")
    page.wait_for_function("() => model.get('options').how === '--sizes 16,32,128'")
    page.get_by_test_id("option-assembly").check()
    expect(page.get_by_test_id("assembly")).to_contain_text("will stand here: it is listed after each build")
