"""The panel around its editor in a real Chromium: buttons, results, a kernel that is gone, what can be read and reached."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from lltm_inline.show.style import style
from lltm_inline.tables.timings import Timings
from tests.notebook.harness import CONTRAST, mark, sent, source, tell
from tests.test_html import row

pytestmark = pytest.mark.full


def test_params_by_slider_number_and_choice(show: Callable[..., Page]) -> None:
    """A logarithmic slider goes by powers of two, a typed number stays within the limits, and Python learns each."""
    page = show()
    page.get_by_test_id("param-GRAIN").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("param-GRAIN-number")).to_have_value("32768")
    expect(page.get_by_test_id("param-GRAIN")).to_have_attribute("aria-valuetext", "32768")
    page.get_by_test_id("param-UNROLL-number").fill("99")
    page.get_by_test_id("param-UNROLL-number").press("Tab")
    expect(page.get_by_test_id("param-UNROLL")).to_have_value("16")
    page.get_by_test_id("param-PAR").select_option("0")
    page.get_by_test_id("option-check_first").uncheck()
    want = json.dumps({"UNROLL": 16, "GRAIN": 32768, "PAR": 0})
    page.wait_for_function("want => JSON.stringify(model.get('params')) === want", arg=want.replace(" ", ""))
    page.wait_for_function("() => model.get('options').check_first === false")
    expect(page.get_by_text("edited", exact=True)).to_be_hidden()  # Python's `dirty` says it, once it has the draft


def test_while_something_runs_only_stop_can_be_pressed(show: Callable[..., Page]) -> None:
    """Buttons that would do nothing say so and stay where they are; Stop asks once and then waits."""
    page = show("benchmark")
    for verb in ("build", "check", "benchmark"):
        expect(page.get_by_test_id(verb)).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_test_id("busy")).to_have_text("benchmark · round 31 of 50")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "62")
    source(page).focus()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_test_id("log")).to_contain_text("something is running: Stop ends it")
    page.get_by_test_id("stop").click()
    sent(page, "stop")
    assert not page.evaluate("model.messages.some(each => each.do === 'build')")
    tell(page, busy={"verb": "stopping", "text": "", "started": 1, "done": 0, "total": 0})
    expect(page.get_by_test_id("stop")).to_have_attribute("aria-disabled", "true")
    tell(page, busy={"verb": "", "text": "", "started": 0, "done": 0, "total": 0})
    expect(page.get_by_test_id("build")).to_have_attribute("aria-disabled", "false")


def test_benchmark_keeps_its_plot_in_view(show: Callable[..., Page]) -> None:
    """While a benchmark runs its verdict and picture are in sight; who scrolls away is left in peace."""
    page = show()
    tell(page, report="<div style='height: 1500px'>long</div>")
    page.get_by_test_id("benchmark").click()
    expect(page.get_by_test_id("plot").locator("svg")).to_be_in_viewport(ratio=1)
    tell(page, verdict="no measurable difference yet")
    expect(page.get_by_test_id("verdict")).to_be_in_viewport(ratio=1)
    page.get_by_role("region", name="results").hover()
    page.mouse.wheel(0, -5000)
    page.wait_for_function("() => document.querySelector('.lltm-output').scrollTop === 0")
    before = page.get_by_test_id("plot").text_content()
    page.wait_for_function("before => document.querySelector('[data-testid=plot]').textContent !== before", arg=before)
    assert page.evaluate("[document.querySelector('.lltm-output').scrollTop, scrollY]") == [0, 0]


def test_what_is_old_is_not_shown_as_news(show: Callable[..., Page]) -> None:
    """While a build runs, and beside another revision, the verdict is pale; the worker leaves its place to what runs."""
    page = show()
    label, old = page.evaluate("model.get('current').label"), re.compile("lltm-old")
    tell(page, verdict=f"{label} is 1.2x faster", worker={"pid": 7, "mib": 9})
    verdict, worker = page.get_by_test_id("verdict"), page.get_by_test_id("worker")
    expect(verdict).not_to_have_class(old)
    expect(worker).to_be_visible()
    tell(page, busy={"verb": "build", "text": "", "started": 1, "done": 0, "total": 0})
    expect(verdict).to_have_class(old)
    expect(worker).to_be_hidden()
    tell(page, busy={"verb": "", "text": "", "started": 0, "done": 0, "total": 0})
    expect(verdict).not_to_have_class(old)
    tell(page, verdict="another is 1.2x faster")
    expect(verdict).to_have_class(old)


def test_elapsed_time_goes_on_after_a_reload(show: Callable[..., Page]) -> None:
    """What began two minutes ago by Python's clock has run for two minutes, however wrong this clock is."""
    page = show()
    tell(page, busy={"verb": "build", "text": "g++", "started": 5000, "done": 0, "total": 0})
    expect(page.locator(".lltm-time")).to_have_text(re.compile(r"^ · \d(\.\d)? s$"))
    page.evaluate("model.trigger('msg:custom', { tell: 'pong', now: 5125 })")
    expect(page.locator(".lltm-time")).to_have_text(re.compile(r"^ · 2 min \d\d s$"))


def test_wheel_goes_on_to_the_notebook(show: Callable[..., Page]) -> None:
    """At the end of the results the wheel moves the notebook, and a long text among them has no wheel of its own."""
    page = show()
    long = "<pre class='li-scroll' style='overflow: auto'>" + "line<br>" * 60 + "</pre>"
    tell(page, report=f"<style>{style()}</style><div class='lltm-inline'>{long}</div>")
    page.evaluate("document.body.style.paddingBottom = '3000px'")
    pane = page.get_by_role("region", name="results")
    assert pane.locator("pre").evaluate("pre => pre.scrollHeight - pre.clientHeight") <= 0
    pane.hover()
    page.mouse.wheel(0, 5000)
    page.wait_for_function("() => scrollY === 0 && document.querySelector('.lltm-output').scrollTop > 0")
    page.wait_for_timeout(300)  # one turn of the wheel is one gesture, which stays with what it began on
    page.mouse.wheel(0, 500)
    page.wait_for_function("() => scrollY > 0")


def test_hidden_words_lengthen_nothing(show: Callable[..., Page]) -> None:
    """What is read aloud and not seen takes no room: neither the pane nor the panel can be scrolled because of it."""
    page = show()
    row = "<td style='min-width: 90px'><span class='li-hidden'>right</span>x</td>" * 40
    lines = "<br><span class='li-hidden'>added</span>" * 90
    body = f"<div class='li-wide'><table><tr>{row}</tr></table></div><pre class='li-scroll'>{lines}</pre>"
    tell(page, details=f"<style>{style()}</style><div class='lltm-inline'>{body}</div>")
    pane = page.get_by_role("region", name="results")
    assert pane.evaluate("pane => pane.scrollWidth - pane.clientWidth") <= 0
    for box in (".lltm-panel", ".lltm-body", "html"):
        assert page.locator(box).evaluate("box => box.scrollWidth - box.clientWidth") <= 0
        assert page.locator(box).evaluate("box => box.scrollHeight - box.clientHeight") <= 0
    assert page.locator(".lltm-details").evaluate("part => part.scrollHeight - part.clientHeight") <= 0


def test_a_table_fits_a_narrow_pane(show: Callable[..., Page]) -> None:
    """In 340 pixels, with rates and a long name, nothing scrolls sideways: the name stands above its figures, the bars are away.

    Where there is room each row is one line, with its bar.
    """
    rates = {"gflop_per_s": 0.28, "gb_per_s": 1650.0, "share": 1.35, "bound_by": "copy"}
    rows = [
        row("a/python", 1, 1, 1, **rates),
        row("a/quite_a_long_name@12", 1, 0.05, 145, **rates),
        row("a/new", 1.2, 1.1, 1.3),
    ]
    shown = Timings(tuple(rows), "a/python")._repr_html_()
    page = show()
    tell(page, details=f"<div style='width: 340px'>{shown}</div><div style='width: 900px'>{shown}</div>")
    narrow, wide = page.locator(".lltm-details .li-wide").all()
    assert narrow.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
    expect(narrow.locator("svg").first).to_be_hidden()
    expect(wide.locator("svg").first).to_be_visible()
    above = "box => { const [name, cell] = box.querySelectorAll('tbody tr:nth-child(2) > *'); "
    above += (
        "return cell.querySelector('span').getBoundingClientRect().top >= name.getBoundingClientRect().bottom - 2; }"
    )
    assert narrow.evaluate(above) and not wide.evaluate(above)


def test_the_static_output_is_hidden_while_the_panel_is_there(show: Callable[..., Page]) -> None:
    """What stands for the panel in a file is not seen beside it, nor the place that Lab makes for it; another's is."""
    page = show()
    outputs = "".join(
        f"<div class='jp-OutputArea-child'><p>place</p><div class='lltm-of-{name}'>text</div></div>" for name in "ab"
    )
    page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", outputs)
    expect(page.locator(".lltm-of-a")).to_be_hidden()
    expect(page.locator(".jp-OutputArea-child").first).to_be_hidden()
    expect(page.locator(".lltm-of-b")).to_be_visible()


def test_report_comes_into_view(show: Callable[..., Page]) -> None:
    """Whatever the results were scrolled to, a new report is seen; the notebook itself does not move."""
    page = show()
    tell(page, report="first", timings="<div style='height: 1500px'>long</div>")
    pane = page.get_by_role("region", name="results")
    pane.evaluate("element => element.scrollTo(0, 900)")
    tell(page, report="second")
    expect(page.get_by_text("second")).to_be_in_viewport()
    assert page.evaluate("scrollY") == 0


def test_opened_folds_stay_open(show: Callable[..., Page]) -> None:
    """A report that comes anew leaves open what was opened in it."""
    page = show()
    report = "<details><summary>parity</summary><p>body {}</p></details>"
    tell(page, report=report.format(1))
    page.get_by_text("parity").click()
    tell(page, report=report.format(2))
    expect(page.get_by_text("body 2")).to_be_visible()


@pytest.mark.parametrize(
    "how", ["model.trigger('comm:close')", "void (model.send = () => { throw new Error('disposed') })"]
)
def test_text_outlives_the_kernel(show: Callable[..., Page], how: str) -> None:
    """With the kernel gone the text stays and takes keys; the next panel of this kernel in this notebook offers what was typed."""
    page = show()
    page.evaluate(how)
    source(page).click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("// after the end\n")
    expect(page.get_by_test_id("notice")).to_contain_text("kernel is gone: run the cell again. Your text is kept.")
    expect(page.get_by_test_id("panel")).to_have_attribute("data-kernel", "gone")
    expect(page.get_by_test_id("build")).to_have_attribute("aria-disabled", "true")
    page.keyboard.type("// and more\n")
    expect(show(more="&notebook=other/02.ipynb").get_by_test_id("found")).to_be_hidden()
    after = show()
    expect(after.get_by_test_id("found")).to_contain_text(
        "kept text of lltm/fused that you typed in 01_first.ipynb on "
    )
    after.get_by_role("button", name="put it back").click()
    expect(source(after)).to_contain_text("// after the end// and more")
    after.wait_for_function("() => model.get('texts').cpp.startsWith('// after the end')")
    expect(after.get_by_test_id("found")).to_be_hidden()
    expect(show().get_by_test_id("found")).to_be_hidden()


def test_text_of_another_kernel_is_offered_when_that_is_chosen(show: Callable[..., Page]) -> None:
    """A panel that starts with one kernel offers what was typed into a second one as soon as it shows that."""

    def chosen() -> Page:
        page = show()
        current = {**page.evaluate("model.get('current')"), "name": "lltm/second", "label": "lltm/second@0"}
        expect(page.get_by_test_id("found")).to_be_hidden()
        tell(page, current=current, generation=7)
        return page

    page = chosen()
    page.evaluate("model.trigger('comm:close')")
    source(page).click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("// of the second\n")
    after = chosen()
    expect(after.get_by_test_id("found")).to_contain_text("kept text of lltm/second that you typed")
    after.get_by_role("button", name="put it back").click()
    expect(source(after)).to_contain_text("// of the second")


def test_what_has_no_word_of_its_own_is_told_when_pointed_at(show: Callable[..., Page]) -> None:
    """Each check box says what it does, and the sign beside a line what the compiler said of it."""
    page = show()
    for box in page.locator(".lltm-option:has(input[type=checkbox])").all():
        assert (box.get_attribute("title") or "").count(" ") > 4, box.text_content()
    tell(page, marks=[mark(3, severity="remark", message="this loop is not wide")])
    sign = page.locator(".cm-lineNumbers .lltm-sign-remark")
    sign.hover()
    expect(sign).to_have_attribute("title", "this loop is not wide.")


def test_panel_of_a_notebook_file_has_no_kernel(show: Callable[..., Page]) -> None:
    """A panel that is shown from what a file kept says that no kernel listens, and shows its text."""
    page = show(more="&disconnected")
    expect(page.get_by_test_id("notice")).to_contain_text("run the cell again")
    expect(source(page)).to_contain_text("static V sigmoid")


def test_silent_kernel_is_told_from_a_dead_one(show: Callable[..., Page]) -> None:
    """No answer in three seconds is said as what it is, and taken back with the first answer."""
    page = show("silent")
    expect(page.get_by_test_id("notice")).to_contain_text("does not answer: it is busy with another cell, or gone")
    page.evaluate("model.trigger('msg:custom', { tell: 'pong' })")
    expect(page.get_by_test_id("notice")).to_be_hidden()
    expect(page.get_by_test_id("build")).to_have_attribute("aria-disabled", "false")


def test_text_that_came_through_after_all_is_not_offered_again(show: Callable[..., Page]) -> None:
    """What was typed while the kernel was silent, and reached it later, is nobody's to put back."""
    page = show("silent")
    expect(page.get_by_test_id("notice")).to_be_visible()
    source(page).click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("// while a cell ran\n")
    page.wait_for_function("() => model.get('texts').cpp.startsWith('// while a cell ran')")
    expect(show().get_by_test_id("found")).to_contain_text("put it back")
    page.evaluate("model.trigger('msg:custom', { tell: 'pong' })")
    expect(page.get_by_test_id("notice")).to_be_hidden()
    expect(show().get_by_test_id("found")).to_be_hidden()


def test_texts_of_python_are_shown_as_text(show: Callable[..., Page]) -> None:
    """What comes as plain text, from a compiler or a file's name, cannot become a part of the page."""
    page = show()
    evil = "<img src=x onerror=alert(1)>"
    current = page.evaluate("model.get('current')")
    tell(
        page,
        title=evil,
        current={**current, "label": evil, "name": evil},
        variants=[{"name": evil, "label": evil, "editable": True}],
        revisions=[{"label": evil, "number": 3, "state": "wrong", "hint": evil}],
        marks=[mark(7, message=evil, advice=evil)],
        log=[{"at": 1, "level": "bad", "text": evil}],
        verdict=evil,
        journal={"saved": 1, "note": evil},
        busy={"verb": "build", "text": evil, "started": 1, "done": 0, "total": 0},
    )
    expect(page.get_by_test_id("verdict")).to_have_text(evil)
    assert page.locator(".lltm-panel img").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", ["error", "benchmark", "crash", "dead", "cuda", "assembly"])
def test_everything_can_be_read(show: Callable[..., Page], state: str, theme: str) -> None:
    """In both themes every text has a contrast of 4.5 to 1 at least, and every control has a name."""
    page = show(state, theme)
    source(page).focus()
    dark = re.compile(r"lltm-dark")
    panel = expect(page.get_by_test_id("panel"))
    panel.to_have_class(dark) if theme == "dark" else panel.not_to_have_class(dark)
    assert page.evaluate(CONTRAST) == []
    nameless = """() => [...document.querySelectorAll(".lltm-panel :is(button, input, select, [role])")]
        .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.closest("label"))).map((e) => e.outerHTML)"""
    assert [
        tag for tag in page.evaluate(nameless) if "cm-" not in tag and 'role="log"' not in tag and "hidden" not in tag
    ] == []


@pytest.mark.parametrize("width", [360, 520, 840, 1180])
def test_nothing_is_wider_than_the_cell(show: Callable[..., Page], width: int) -> None:
    """At every width the panel fits, its buttons are all in sight, and a message ends where the editor does."""
    page = show("error", width=width)
    expect(page.get_by_test_id("mark")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    for verb in ("build", "check", "benchmark", "stop"):
        box = page.get_by_test_id(verb).bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
    shown, pane = page.get_by_test_id("mark").bounding_box(), page.get_by_test_id("editor").bounding_box()
    assert shown is not None and pane is not None
    assert shown["x"] + shown["width"] <= pane["x"] + pane["width"]


def test_divider_by_mouse_and_keys(show: Callable[..., Page]) -> None:
    """The line between text and results can be dragged, and moved with the arrow keys."""
    page = show()
    divider, pane = page.get_by_role("separator"), page.get_by_test_id("editor")
    box = divider.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 4, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 204, box["y"] + 50)
    page.mouse.up()
    wide = pane.bounding_box()
    assert wide is not None and abs(wide["width"] - (box["x"] + 204 - wide["x"])) < 12
    value = int(divider.get_attribute("aria-valuenow") or 0)
    divider.focus()
    page.keyboard.press("ArrowLeft")
    expect(divider).to_have_attribute("aria-valuenow", str(value - 5))
