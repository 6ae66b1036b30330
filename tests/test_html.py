"""What results look like in a notebook: well formed, escaped, heard as well as seen, readable on light and on dark."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline.autopsy.crash import Crash
from lltm_inline.base.above import Shown
from lltm_inline.base.trace import lines_of
from lltm_inline.checking.report import Finding, Report, Section, alike
from lltm_inline.diagnosis.diagnostics import Diagnostic, excerpt_of
from lltm_inline.doctor import Diagnosis
from lltm_inline.errors import BuildError, CheckError, CrashError
from lltm_inline.model.kernel import Kernel
from lltm_inline.model.registry import Registry
from lltm_inline.show import views
from lltm_inline.show.parts import (
    MOST_LETTERS,
    Cell,
    Html,
    Prose,
    badge,
    bar,
    fold,
    image,
    note,
    page,
    paragraph,
    plain,
    right_or_wrong,
    table,
    tag,
    tick,
    with_code,
)
from lltm_inline.show.source import MOST_LINES, diff_source, excerpt, source
from lltm_inline.show.style import FAINT, INKS, SCOPE, TINTS, style
from lltm_inline.tables.memory import Memory, MemoryRow
from lltm_inline.tables.timings import Row, Timings
from tests.html_checks import contrast, mix, over, read, rgb, themes

EVIL = '<script>alert("1")</script>&\'\x00</pre></style>'

#: What VS Code defines in its default themes; the text colour and the ground of an output.
VSCODE = {
    "VS Code light": (
        {"--vscode-debugTokenExpression-string": "#a31515", "--vscode-debugTokenExpression-number": "#098658"},
        "#3b3b3b",
        "#ffffff",
    ),
    "VS Code dark": (
        {"--vscode-debugTokenExpression-string": "#ce9178", "--vscode-debugTokenExpression-number": "#b5cea8"},
        "#cccccc",
        "#1f1f1f",
    ),
    "a page without a theme": ({}, "#000", "#fff"),
}
CRASH = Crash("a/b@1", "forward", "SIGSEGV", EVIL, detail=EVIL, case=EVIL, inputs=(EVIL,), output=EVIL, excerpt=EVIL)
FOUND = Diagnostic("a/b@1", "a/b", 2, 9, "error", EVIL, (EVIL,), excerpt_of(f"int x;\n{EVIL}", 2, 9), EVIL)
WRONG = Report(
    "a/b@1",
    "cpu",
    (
        Section("parity", 3, (Finding("a/b@1", "parity", "y", EVIL, EVIL, EVIL, (EVIL,)),), (EVIL,), 1.0),
        Section("gradcheck", 1, (Finding("a/b@1", "gradcheck", "y", EVIL),)),
        Section("opcheck", 2),
    ),
    {"y": {"3": "ok", EVIL: EVIL, "5": ""}},
    output=EVIL,
)


def row(kernel: str, speedup: float, low: float | None, high: float | None, **more: Any) -> Row:
    """Make a row of timings."""
    what = {"op": "a", "size": {"B": 3}, "direction": "forward", "dtype": "float32", "device": "cpu", **more}
    return Row(
        kernel, **what, median=2e-6 / speedup, q1=1e-6, q3=3e-6, samples=9, calls=1, speedup=speedup, speedup_low=low,
        speedup_high=high,
    )  # fmt: skip


TIMINGS = Timings(
    (row("a/python", 1, 1, 1, cpu=EVIL), row("a/good", 2, 1.9, 2.1), row("a/bad", 0.5, 0.4, 0.6), row("a/same", 1, 0.9, 1.1),
     row("a/new", 1, None, None)),
    "a/python",
)  # fmt: skip
KERNEL = Kernel("a/b", cpp=f"\nint f() {{ return 1; }}  // {EVIL[:-25]}", doc=EVIL, slots={"T": "</b>"}, flags=("-O1",))


def everything() -> dict[str, str]:
    """Return the HTML of one result of each kind, hostile texts in all of them."""
    return {
        "crash": CRASH._repr_html_(),
        "crash error": CrashError("x", crash=CRASH)._repr_html_(),
        "build error": BuildError(EVIL, kernel="a/b@1", diagnostics=(FOUND, FOUND), log=EVIL)._repr_html_(),
        "build error without diagnostics": BuildError(f"kernel\n{EVIL}", kernel="a/b")._repr_html_(),
        "report": WRONG._repr_html_(),
        "check error": CheckError(EVIL)._repr_html_(),
        "check error with report": CheckError(EVIL, report=WRONG)._repr_html_(),
        "timings": TIMINGS._repr_html_(),
        "no timings": Timings((), "a/python")._repr_html_(),
        "kernel": KERNEL._repr_html_(),
        "python kernel": li.registry["lltm/python"]._repr_html_(),
        "op": li.registry.ops["lltm"]._repr_html_(),
        "registry": li.registry._repr_html_(),
        "empty registry": Registry()._repr_html_(),
        "diff": li.diff(li.registry["axpy/cpp"], KERNEL)._repr_html_(),
        "no diff": li.diff(KERNEL, KERNEL)._repr_html_(),
        "doctor": Diagnosis((li.doctor().findings[0],))._repr_html_(),
        "source": page(source(EVIL, language="text")),
        "image": page(image("image/png", b"\x89PNG", EVIL)),
        "parts": page(note("good", EVIL), badge(EVIL, "bad"), fold(EVIL, EVIL), plain(EVIL), bar(2, -1, 9, label=EVIL)),
    }


def derived(kind: type) -> Iterator[type]:
    """Yield the classes below one, however deep."""
    for one in kind.__subclasses__():
        yield one
        yield from derived(one)


def test_every_result_has_a_view() -> None:
    """Of the classes that show themselves each is in the table by its name, or derived from one that is, and no name is two."""
    for module in pkgutil.walk_packages(li.__path__, "lltm_inline."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    kinds = {kind for kind in derived(Shown) if kind.__module__.startswith("lltm_inline.")}
    names = [kind.__name__ for kind in kinds]
    assert set(views.VIEWS) <= set(names) and len(names) == len(set(names))
    assert all(any(base.__name__ in views.VIEWS for base in kind.__mro__) for kind in kinds)


@pytest.mark.parametrize("name", everything())
def test_html_is_well_formed_and_escaped(name: str) -> None:
    """Elements nest, tables stand in regions that have names, headings have a scope, regions have names, and no text becomes markup."""
    html = everything()[name]
    found = read(html)
    assert not found.problems
    assert html.startswith('<div class="lltm-inline"><style>') and html.count("<style>") == 1
    assert "<script" not in html and "style=" not in html and "\x00" not in html


def test_plain_strings_are_escaped_and_html_is_not() -> None:
    """A part takes text as text, wherever it stands, and HTML as it is."""
    assert tag("b", "<i>") == "<b>&lt;i&gt;</b>" and tag("b", Html("<i></i>")) == "<b><i></i></b>"
    assert tag("b", title='"<') == '<b title="&quot;&lt;"></b>' and tag("b", open=True, id=None) == "<b open></b>"
    shown = table(["a<", Cell("b<")], [["<c", Cell("<d", "bad", "num")], ["<group"]], caption="<e>")
    assert not re.findall(r"<[acdeg](?!\w)", shown) and shown.count("&lt;") == 7


def test_what_is_long_is_not_squeezed_into_columns() -> None:
    """A heading stands outside of what scrolls, sentences have a row across the table, and words stay whole."""
    shown = table(["kernel", "time"], [["a/b", "1 s", Prose(with_code("call `f` once"))], ["group"]], caption="times")
    assert shown.index("times</b>") < shown.index("li-wide") and "<caption" not in shown
    assert '<tr class="li-prose"><td colspan="2">call <code>f</code> once</td></tr>' in shown
    assert '<th colspan="2" scope="rowgroup">group</th>' in shown
    assert "anywhere" not in style() and "max-height:116em" in style()  # 80 lines of 1.4 em, and a little


def test_a_time_out_is_called_one() -> None:
    """The badge of a report does not speak of a crash where a kernel did not come back."""
    late = Crash("op/mine", "forward", "time-out after 10 s", "an endless loop", kind="timeout")
    shown = read(views.report(Report("op/mine", "cpu", (), {}, 1.0, crash=late))).text
    assert "timed out" in shown and "crashed" not in shown


def test_marked_line_says_so_without_colour() -> None:
    """A marked line has a sign, and what is meant is underlined, colours kept."""
    text = "   2 | int x = 1;\n-> 3 | return std::tanhh(x); // so\n     |             ^~~~~"
    shown = excerpt(text)
    assert read(shown).text == "2 int x = 1;\n▶ 3 return std::tanhh(x); // so\n"
    assert re.search(r'<span class="li-at"><span class="\w+">tanhh</span></span>', shown)
    assert '<span class="k">return</span>' in shown and '<span class="c1">// so</span>' in shown


def test_marks_outside_of_the_text_do_no_harm() -> None:
    """A column behind the end is passed over, and one that goes on there ends with the line."""
    for caret in (" " * 80 + "^", "  ^" + "~" * 500, ""):
        shown = excerpt(f"-> 1 | int x;\n     | {caret}")
        assert read(shown).text == "▶ 1 int x;\n" and not read(shown).problems
    assert read(source("")).text.strip() == "1"


def test_lines_end_also_without_the_style_sheet() -> None:
    """Where a page takes the styles away, line numbers and line ends are still there; windows' line ends and tabs are kept out."""
    assert read(source("a\r\n\tb\n\nc", language="text")).text == "1 a\n2  b\n3 \n4 c\n"


def test_long_text_is_cut() -> None:
    """Beyond some thousand lines only their number is told."""
    shown = source("x;\n" * (MOST_LINES + 7))
    assert shown.count('"li-row"') == MOST_LINES and "... 7 more lines" in shown


def test_excerpt_shows_the_lines_that_an_error_quotes() -> None:
    """The two lines of a compiler's error come back with their numbers, the second marked under the caret."""
    text = "".join(f"line{n};\n" for n in range(1, 120))
    shown = excerpt(excerpt_of(text, 100, 5))
    assert read(shown).text == "99 line99;\n▶ 100 line100;\n" and "li-at" in shown
    assert read(excerpt(excerpt_of("a;", 1, 0))).text == "▶ 1 a;\n"


def test_diff_has_the_numbers_and_words_for_signs() -> None:
    """Each line has the number that it has in its text, and says by sign and word whether it came or went."""
    before = li.Kernel("a/b", cpp="int a;\nint b;\nint c;\n-- d;\nint e;")
    shown = diff_source(li.diff(before, before.replace(cpp="int a;\nint x;\nint y;\nint c;\nint e;")).text)
    lines = read(shown).text.rstrip("\n").split("\n")
    assert lines == [
        "--- a/b (cpp)",
        "+++ a/b@1 (cpp)",
        " @@ -1,5 +1,5 @@",
        "1   int a;",
        "2 - removed: int b;",
        "2 + added: int x;",
        "3 + added: int y;",
        "4   int c;",
        "4 - removed: -- d;",
        "5   int e;",
    ]


def test_matrix_says_right_wrong_and_not_looked_at() -> None:
    """A cell of the matrix has a sign, a ground, and words for those who see neither."""
    assert read(tick(True)).text == "✓right" and read(tick(False)).text == "✗wrong"
    text = read(views.report(WRONG)).text
    assert "✓right" in text and "✗wrong:  <script>" in text
    copied = views.report(replace(WRONG, matrix={"y": {"strided": "copied"}}))
    assert "copied" in read(copied).text and "✗wrong:" not in read(copied).text.rpartition("outputs and gradients")[2]
    assert [right_or_wrong(cell).kind for cell in ("ok", "3/5", "")] == ["good", "bad", ""]
    shorts = {"3/5": "3/5", "5/5": "all", "8123/33024": "8123/33k", "32960/33001": "32960/33001", "missing": "missing"}
    assert [*alike({"y": dict(zip(shorts, shorts, strict=True))})] == [(short,) for short in shorts.values()]


def test_findings_come_before_the_matrix_and_equal_groups_of_cases_are_one_row() -> None:
    """What is wrong is read first; groups of cases of which the same is said share a row, on a page and in a terminal."""
    matrix = {
        "y": {str(size): "ok" if size < 10 else "3/5" for size in range(1, 12)},
        "d_x": {**dict.fromkeys("12345", "ok"), "10": "shape"},
        "d_z": dict.fromkeys("12345", "ok"),
    }
    report = replace(WRONG, matrix=matrix, output="")
    text = views.report(report)
    assert text.index("gradcheck") < text.index("outputs and gradients by size and layout")
    assert re.findall(r'<th scope="row"[^>]*>(.*?)</th>', text) == ["1, 2, 3, 4, 5", "6, 7, 8, 9", "10", "11"]
    rows = str(report).split("\n\n")[-1].split("\n")
    assert rows[:3] == ["  y    d_x   in the cases", " ok     ok   1, 2, 3, 4, 5", " ok      -   6, 7, 8, 9"]
    assert rows[3:] == ["3/5  shape   10", "3/5      -   11", report.legend] and text.count("d_z") == 1
    wide = replace(report, matrix={"y": {f"{size},7,11": "3/5" for size in range(40)}})
    many = str(wide).split("\n\n")[-1].split("\n")
    assert many[2].startswith("      1") and max(map(len, many)) <= 100


def test_report_folds_what_is_right_and_tells_each_thing_once() -> None:
    """Sections with findings are open; gradcheck finds again what parity found, and refers to it."""
    shown = views.report(WRONG)
    states = dict(re.findall(r"<details( open)?><summary>.*?<b>(\w+)</b>", shown)[i][::-1] for i in range(2))
    assert states == {"parity": " open", "gradcheck": ""}
    assert "the same as above, of y" in shown and "opcheck" in shown and "not tried" in shown


def test_timings_say_first_what_was_found() -> None:
    """The verdict comes first; each row has a bar with a whisker, and a word and a sign beside the colour."""
    shown = views.timings(TIMINGS)
    text = read(shown).text
    assert text.startswith("a/good is 2.00x faster than a/python (1.90-2.10)")
    assert shown.count("<svg") == 5 + 3 and shown.count("<line") == 5 * 3 + 3 * 4, (
        "a bar of each speed-up has a line at 1x"
    )
    for words in ("▲ faster", "▼ slower", "no measurable difference", "too few rounds to tell"):
        assert words in text
    assert "GFLOP/s" not in text, "a column without a figure is left out"
    with_rates = Timings((row("a/python", 1, 1, 1, gb_per_s=3.0),), "a/python")
    assert "GB/s" in read(views.timings(with_rates)).text


def test_numbers_stay_in_one_line() -> None:
    """An interval is never broken at its dash, in a table of timings or of memory: where it is narrow it stands below its number."""
    row = MemoryRow("a/b", "a", {"B": 3}, "float32", "cpu", 1, held=3_500_000, outputs=5, peak=9)
    for shown, count in ((views.timings(TIMINGS).partition("<table")[2], 8), (views.memory(Memory((row,), "a/b")), 3)):
        numbers = re.findall(r'<span class="li-(?:num|whole)[^"]*">([^<]+)', shown)
        assert len([one for one in numbers if re.search(r"\d", one)]) >= count, numbers
        rest = re.sub(r'<span class="li-(?:num|whole).*?</span>', "", re.sub(r"<svg.*?</svg>", "", shown))
        assert not re.search(r"\d-\d| us\b| MiB", rest.partition("</table>")[0].partition("<tbody>")[2])
    assert re.search(r"\.li-num\{[^}]*white-space:nowrap", style())
    assert ".li-whole{white-space:nowrap}" in style()


def test_bar_stays_in_its_place() -> None:
    """Shares outside of 0 to 1 are cut, and a bar with text beside it is not read aloud."""
    numbers = [float(number) for number in re.findall(r'x[12]="([\d.]+)"', bar(7, -1, 9, label="x", width=100))]
    assert min(numbers) >= 0 and max(numbers) <= 100
    assert 'aria-hidden="true"' in bar(0.5) and 'role="img" aria-label="half"' in bar(0.5, label="half")


def test_build_error_is_a_card() -> None:
    """The card has the message, the line, the cure, the other errors and the whole log."""
    others = (
        Diagnostic("a/b@1", "a/b", 5, 1, "error", "consequence"),
        Diagnostic("a/b@1", "a/b", 6, 1, "warning", "unused"),
    )
    error = BuildError(
        "kernel 'a/b@1' did not compile (g++ 12)\n  ...\n  1 line differs from a/b: li.diff(1, 2).  Full log: .log of this error, 2 lines",
        kernel="a/b@1", diagnostics=(FOUND, *others), log="one\ntwo",
    )  # fmt: skip
    text = read(views.build_error(error)).text
    for words in ("kernel 'a/b@1' did not compile (g++ 12)", "a/b@1:2:9", "▶ 2", "1 more error, mostly", "consequence",
                  "1 more warning", "1 line differs from a/b", "full log, 2 lines", "one\ntwo"):  # fmt: skip
        assert words in text, words
    assert "Full log: .log of this error" not in text


def test_kernel_numbers_its_lines_as_the_compiler_does() -> None:
    """A text that begins with an empty line starts at line 2, and what is set beside the text is told."""
    text = read(views.kernel(KERNEL)).text
    assert "2 int f() { return 1; }" in text and "\n1 " not in text
    assert "T = </b>; flags -O1" in text
    assert "def lltm(" in read(views.kernel(li.registry["lltm/python"])).text


def test_op_prints_short() -> None:
    """An op prints as its signature, what it is and its shapes, and its repr is one line."""
    op = li.registry.ops["axpy"]
    first, what, shapes = str(op).split("\n")
    assert first == f"op axpy{op.signature}" and what.strip() == op.doc.strip().split("\n")[0] and "x ..." in shapes
    assert repr(op) == f"<Op axpy{op.signature}>"


def test_every_rule_of_the_style_is_limited_to_results() -> None:
    """No rule can reach the page around it, colours are mixed or translucent, and nothing is loaded."""
    css = re.sub(r"@media[^{]*\{(.*?\})\}", r"\1", style())
    for selectors in re.findall(r"([^{}]+)\{[^{}]*\}", css):
        for selector in selectors.split(","):
            assert selector.strip().startswith(SCOPE), selector
    assert "url(" not in css and "@import" not in css and len(css) < 9000
    for value in re.findall(r"[;{]color:([^;}]+)", css):
        assert "color-mix" in value or value == "inherit"


def test_what_scrolls_holds_what_is_hidden_in_it() -> None:
    """Hidden words have a place of their own: a box that scrolls and has no position would let them lengthen the page around it."""
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", re.sub(r"@media[^{]*\{(.*?\})\}", r"\1", style()))
    found: dict[bool, set[str]] = {
        positioned: {
            selector.strip()
            for selectors, body in rules
            for selector in selectors.split(",")
            if re.search(r"position:relative" if positioned else r"overflow(-x)?:auto", body)
        }
        for positioned in (True, False)
    }
    assert found[False] and found[False] <= found[True], found[False] - found[True]
    assert SCOPE in found[True]


def grounds() -> dict[str, tuple[dict[str, str], str, list[str]]]:
    """Return the variables, the text colour and the grounds of each theme."""
    lab = {
        name: (names, names["--jp-content-font-color1"], [names["--jp-layout-color0"], names["--jp-layout-color1"]])
        for name, names in themes().items()
    }
    return lab | {name: (names, text, [ground]) for name, (names, text, ground) in VSCODE.items()}


@pytest.mark.parametrize("ink", [*INKS, "faint"])
def test_every_ink_can_be_read_in_every_theme(ink: str) -> None:
    """Contrast is 4.5 to 1 or more: in Lab's own themes, VS Code's, and on a bare page, on every tint as well."""
    tried = 0
    for theme, (names, text, pages) in grounds().items():
        colour = _ink(ink, names, rgb(text))
        for ground in map(rgb, pages):
            for tints in ((), ("good",), ("bad",), ("plain",), ("bad", "bad")):
                under = ground[:3]
                for name in tints:
                    under = over(TINTS[name], under)
                found = contrast(over(colour, under), under)
                assert found >= 4.5, f"{ink} in {theme} on {tints}: {found:.2f}"
                tried += 1
    assert tried >= 30, "Lab's own themes were found"


def _ink(name: str, names: dict[str, str], text: tuple[float, ...]) -> tuple[float, ...]:
    if name == "faint":
        return (*text[:3], (text[3] if len(text) == 4 else 1.0) * FAINT / 100)
    ink = INKS[name]
    value = next((names[variable] for variable in ink.names if variable in names), ink.fallback)
    return mix(rgb(value), ink.share / 100, text)


def test_contrast_is_measured_rightly() -> None:
    """Black on white is 21 to 1, a mid grey at the border is seen, and the test above can fail."""
    assert contrast(rgb("black"), rgb("white")) == pytest.approx(21)
    assert contrast(rgb("#767676"), rgb("white")) == pytest.approx(4.54, abs=0.01)
    assert contrast(over((0, 0, 0, 0.2), (255, 255, 255)), (255, 255, 255)) < 2


def test_checker_sees_what_is_wrong() -> None:
    """The check of HTML fails for what it is there to find."""
    for broken in (
        "<div><p></div></p>", "<table><tbody></tbody></table>", "<th>a</th>", "<p><div></div></p>", "<svg></svg>",
        "<b", "<i onclick='x()'></i>", "<pre tabindex='0'></pre>", "<b class='a' class='b'></b>", "<div>",
    ):  # fmt: skip
        assert broken == "<b" or read(broken).problems, broken


def test_traceback_keeps_the_users_lines_only() -> None:
    """Outside of IPython too: the line that called is there, frames of the package and its causes are not."""
    with pytest.raises(li.errors.InputError) as caught:
        li.benchmark("lltm/fused", rounds=0)
    text = "\n".join(caught.value._render_traceback_())
    assert 'li.benchmark("lltm/fused", rounds=0)' in text and "in test_traceback_keeps" in text
    assert "measure/benchmark.py" not in text and "rounds=0, want" in text and "During handling" not in text


def test_traceback_sets_off_the_structure_of_a_message() -> None:
    """Place, marked line and caret are set off; the rest of the message is as it was printed."""
    message = "kernel 'a/b@1' did not compile\n  a/b@1:2:1: no such name\n     1 | x\n  -> 2 | y\n       | ^~\n  likely cause: so"
    [text] = lines_of(BuildError(message, kernel="a/b@1"))
    assert re.sub(r"\x1b\[\d+m", "", text) == f"BuildError: {message}"
    assert "\x1b[1m  -> 2 | y\x1b[0m" in text and "\x1b[1ma/b@1:2:1:\x1b[0m no such name" in text
    assert "\x1b[1mlikely cause:\x1b[0m so" in text and "\x1b[1m       | ^~\x1b[0m" in text


def test_traceback_has_no_colours_where_ipython_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython's setting `NoColor` holds for our messages too, and its modes are looked at."""
    error = BuildError("one\n  likely cause: two", kernel="a/b")
    monkeypatch.setattr("lltm_inline.base.trace.running_shell", lambda: SimpleNamespace(colors="NoColor"))
    assert lines_of(error) == ["BuildError: one\n  likely cause: two"]
    table = SimpleNamespace(mode="Verbose", structured_traceback=lambda *_: ["all of it"])
    monkeypatch.setattr("lltm_inline.base.trace.running_shell", lambda: SimpleNamespace(InteractiveTB=table))
    assert lines_of(error) == ["all of it"]


def test_long_log_is_cut() -> None:
    """Of a log of megabytes the beginning is shown, and how much is left out."""
    shown = plain("x" * (MOST_LETTERS + 5))
    assert len(shown) < MOST_LETTERS + 200 and shown.endswith("\n... 5 more characters</pre>")


def test_paragraph_takes_parts() -> None:
    """Parts stand side by side in a paragraph."""
    assert paragraph("a", tag("b", "c"), cls="li-small") == '<p class="li-small">a<b>c</b></p>'
