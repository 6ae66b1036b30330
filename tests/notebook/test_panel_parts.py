"""Params become controls, diagnostics and crashes become marks, hints become changes, and a panel is refused in words."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline import journal
from lltm_inline.autopsy.crash import Crash
from lltm_inline.diagnosis.diagnostics import Diagnostic
from lltm_inline.errors import InputError, ToolchainError, UnknownKernelError
from lltm_inline.notebook import panel
from lltm_inline.notebook.panel.board import card_of, in_html, log_text
from lltm_inline.notebook.panel.editor import (
    controls_of,
    fix_of,
    fixed,
    mark_of_crash,
    marks_of,
    marks_of_words,
    without_place,
)
from lltm_inline.notebook.panel.session import Session
from lltm_inline.notebook.panel.widget import snapshot
from lltm_inline.show.parts import folded
from lltm_inline.source.template import kernel_or_first
from lltm_inline.tables.timings import Timings
from tests.html_checks import read
from tests.tiny import forget, register


def control(value: float, text: str = "", now: float | None = None, name: str = "N") -> dict[str, Any]:
    """Make the control of one param."""
    kernel = li.Kernel("tiny/control", cpp=text or "...", params={name: value})
    return controls_of(kernel, {} if now is None else {name: now})[0]


@pytest.mark.parametrize(
    ("value", "ends"), [(8, (1, 512)), (2, (1, 128)), (2048, (32, 131072)), (32768, (512, 2097152))]
)
def test_powers_of_two_become_a_logarithmic_slider(value: int, ends: tuple[int, int]) -> None:
    """A power of two goes up and down in doublings, from at least 1."""
    found = control(value)
    assert (found["kind"], found["log"], found["step"]) == ("slider", True, 2)
    assert (found["min"], found["max"]) == ends


def test_threads_stay_within_what_a_gpu_takes() -> None:
    """Threads of a block are between a warp and 1024."""
    found = control(256, name="THREADS")
    assert (found["min"], found["max"]) == (32, 1024)


@pytest.mark.parametrize("use", ["if (N) f();", "if constexpr (N) f();", "#if N\n", "x = N ? 1 : 2;", "if (!N) f();"])
def test_a_switch_becomes_a_choice(use: str) -> None:
    """What a text only asks whether it is set is 0 or 1."""
    for value in (0, 1):
        assert (control(value, use)["kind"], control(value, use)["options"]) == ("choice", [0, 1])


def test_compared_values_become_a_choice() -> None:
    """What a text compares with numbers may be these, 0, and what it is."""
    assert control(0, "if (N == 1) f(); if (N == 2) g();")["options"] == [0, 1, 2]
    assert control(3, "if (N != 1) f();")["options"] == [0, 1, 3]


@pytest.mark.parametrize("value", [0, 1, 1000])
def test_other_numbers_are_typed(value: int) -> None:
    """A number without a scale of its own gets a field, and no ends that would change what is typed."""
    found = control(value, "y = N + 1;")
    assert found["kind"] == "number" and "min" not in found and "max" not in found


@pytest.mark.parametrize(("value", "ends"), [(0.6, (0.0, 1.2)), (-2.5, (-5.0, 0.0))])
def test_fractions_become_a_slider(value: float, ends: tuple[float, float]) -> None:
    """A floating-point number goes from nothing to twice the usual."""
    found = control(value)
    assert found["kind"] == "slider" and (found["min"], found["max"]) == ends and 0 < found["step"] < abs(value)


@pytest.mark.parametrize("now", [4, 100000, 3, 0, -7])
def test_a_control_can_show_what_is_set(now: int) -> None:
    """Whatever value a param has at present lies within its control's ends."""
    found = control(64, now=now)
    assert found["kind"] == "number" or found["min"] <= now <= found["max"]


def test_every_shipped_param_has_a_control() -> None:
    """Each kernel that ships gets one control for each param, and its value can be shown."""
    for kernel in li.registry.values():
        found = controls_of(kernel)
        assert [one["name"] for one in found] == list(kernel.params)
        for one in found:
            value = kernel.params[one["name"]]
            assert one["kind"] == "number" or value in one["options"] or one["min"] <= value <= one["max"]


TEXT = "\nat::Tensor forward(const at::Tensor& x) {\n  return at::tanhh(x) + std::tanhh(1)\n}\n"
KERNEL = li.Kernel("tiny/marks", cpp=TEXT)


def said(message: str, help: str = "", line: int = 3, column: int = 14, file: str = "tiny/marks") -> Diagnostic:
    """Make what a compiler says."""
    return Diagnostic("tiny/marks", file, line, column, "error", message, help=help)


def test_diagnostics_become_marks() -> None:
    """A diagnostic in the kernel's text has text, line, columns, words and advice; others have no mark, and are not lost."""
    here = said("'tanhh' is not a member of 'at'", "Did you mean 'tanh'?")
    linker = said("'foo' is defined nowhere", line=0, column=0, file="")
    header = said("no", file="/usr/include/x.h")
    marks = marks_of(KERNEL, "cpu", [here, linker, header])
    assert [(one["kind"], one["line"], one["column"], one["end_column"]) for one in marks] == [("cpp", 3, 14, 19)]
    assert marks[0]["text"] == TEXT.split("\n")[2]
    assert marks[0]["advice"] == "Did you mean 'tanh'?" and marks[0]["severity"] == "error"
    assert without_place(marks, [here, linker, header]) == [linker, header]


@pytest.mark.parametrize(
    ("message", "help", "column", "after"),
    [
        ("'tanhh' is not a member of 'at'", "Did you mean 'tanh'?", 14, "at::tanh(x) + std::tanhh(1)"),
        ("'tanhh' is not a member of 'at'", "Did you mean 'at::tanh'?", 14, "at::tanh(x) + std::tanhh(1)"),
        ("'tanhh' was not declared", "Did you mean 'std::sin'?", 14, "at::std::sin(x) + std::tanhh(1)"),
        ("expected ';'", "A ';' is missing at the end of this statement.", 38, "at::tanhh(x) + std::tanhh(1);"),
    ],
)
def test_a_hint_becomes_a_change(message: str, help: str, column: int, after: str) -> None:
    """The change of a hint replaces the word that the compiler complains of, or puts in what is missing."""
    line = TEXT.split("\n")[2]
    fix = fix_of(said(message, help, column=column), line)
    assert fix is not None and fixed(TEXT, fix) == TEXT.replace("at::tanhh(x) + std::tanhh(1)", after)


@pytest.mark.parametrize("help", ["", "Did you mean #include <cmath>?", "Give it a body.", "Did you mean 'a b'?"])
def test_other_advice_is_left_to_the_person(help: str) -> None:
    """What takes more than a word is no change that a button could make."""
    assert fix_of(said("'tanhh' is not a member of 'at'", help), TEXT.split("\n")[2]) is None


def test_a_change_is_refused_where_the_line_has_changed() -> None:
    """A word that stands there no more is not replaced."""
    fix = fix_of(said("'tanhh' is not a member of 'at'", "Did you mean 'tanh'?"), TEXT.split("\n")[2])
    assert fix is not None
    assert fixed(TEXT.replace("at::tanhh", "at::sin"), fix) is None and fixed("", fix) is None


@pytest.mark.parametrize(
    ("place", "kind"), [("tiny/both@2 (cpp):4", "cpp"), ("tiny/both@2 (cuda):4", "cuda"), ("tiny/both@2:4", "cuda")]
)
def test_crashes_are_marked_in_the_right_text(place: str, kind: str) -> None:
    """The mark of a crash is in the text that the place names."""
    kernel = li.Kernel("tiny/both", cpp="a", cuda="b", revision=2)
    [mark] = mark_of_crash(kernel, "cuda", Crash(kernel.label, "forward", "SIGSEGV", "a pointer", place=place))
    assert (mark["kind"], mark["line"], mark["severity"], mark["advice"]) == (kind, 4, "crash", "a pointer")


@pytest.mark.parametrize("place", ["", "other/kernel:3", "tiny/both@2", "tiny/both@2 (launchers):3"])
def test_crashes_without_a_line_have_no_mark(place: str) -> None:
    """Where the line is unknown, or in what is generated, nothing is marked."""
    kernel = li.Kernel("tiny/both", cpp="a", cuda="b", revision=2)
    assert not mark_of_crash(kernel, "cpu", Crash(kernel.label, "forward", "SIGSEGV", "", place=place))


def test_a_line_in_words_is_marked() -> None:
    """The line that a TemplateError names is marked with its sentence."""
    [mark] = marks_of_words(KERNEL, "kernel 'tiny/marks', cpp line 3: slot $A has no value. Slots: none")
    assert mark["text"] == TEXT.split("\n")[2]
    assert (mark["line"], mark["message"]) == (3, "slot $A has no value. Slots: none")
    assert not marks_of_words(KERNEL, "kernel 'tiny/marks' needs a source text")


def test_long_texts_are_folded_and_cut() -> None:
    """The log has the first lines of a message, a fold counts all of them, and everything is escaped."""
    assert log_text("\n".join("abcdefgh")) == "a\nb\nc\nd\n..."
    shown = folded("full log", "a < b\nc", count=True)
    assert "full log, 2 lines" in shown and "a &lt; b" in shown and folded("full log", "  \n", count=True) == ""
    assert "unexpected ValueError: 1 &lt; 2" in card_of(ValueError("1 < 2"))


def test_a_long_message_wraps() -> None:
    """An error without a picture of its own is a text that can be read to its end, however narrow the pane is."""
    assert '<pre class="li-wrap">device=' in card_of(InputError("device='cuda', but torch finds no GPU"))


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("lltmm", UnknownKernelError, "no op 'lltmm'. Did you mean 'lltm'? Ops: lltm"),
        ("lltm/fusd", UnknownKernelError, "no kernel 'lltm/fusd'. Did you mean 'lltm/fused'?"),
        ("lltm/fused@99", UnknownKernelError, "no revision 'lltm/fused@99'"),
        (3, InputError, "kernel=3, want a Kernel or a label"),
    ],
)
def test_unknown_names_are_refused(name: Any, error: type[Exception], words: str) -> None:
    """A name that nothing has is refused with the nearest one, notebook or not."""
    with pytest.raises(error, match=re.escape(words)):
        li.playground(name)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"device": "cuda"}, "kernel 'axpy/cpp': device='cuda', want one of 'cpu'"),
        ({"seconds": 0}, "seconds=0, want a positive, finite number"),
        ({"sizes": [(1, 2)]}, "size"),
        ({"compiler": 3}, "compiler=3"),
    ],
)
def test_senseless_arguments_are_refused(arguments: dict[str, Any], words: str) -> None:
    """An argument that makes no sense is refused before anything is shown."""
    with pytest.raises(InputError, match=re.escape(words)):
        li.playground("axpy/cpp", **arguments)


def test_without_a_notebook_the_message_says_what_to_do() -> None:
    """In a plain Python there is nobody to show a panel to: the message names the ways to one, and the functions."""
    with pytest.raises(ToolchainError, match=r"make lab.*li\.check.*li\.registry\['axpy/cpp'\]"):
        li.playground("axpy/cpp")


def test_without_widgets_the_message_has_the_command_and_the_magics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where anywidget is missing the message has the pip command for this Python and the magics that do the same."""
    monkeypatch.setattr(panel, "in_notebook", lambda: True)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.setattr(panel.importlib.util, "find_spec", lambda name: None if name == "anywidget" else name)
    with pytest.raises(ToolchainError) as caught:
        li.playground("axpy/cpp")
    for words in ("needs anywidget", sys.executable, "-m pip install anywidget", "%load_ext lltm_inline", "%%kernel"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("op", "label"),
    [("lltm", "lltm/fused"), ("axpy", "axpy/cpp"), ("trace", "trace/accessor"), ("conv_bn", "conv_bn/fused")],
)
def test_an_op_begins_with_a_kernel_that_can_be_edited(op: str, label: str) -> None:
    """The name of an op chooses its fused or C++ variant, else the first with a text for the CPU."""
    assert kernel_or_first(op).name == label


def test_opening_a_panel_warms_what_the_first_build_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The precompiled header of the kernel's text is asked for; no compiler, or nothing to compile, is no error here."""
    asked: list[str] = []
    monkeypatch.setattr(panel, "header_flags", lambda toolchain, prelude: asked.append(prelude))
    panel._warm(li.registry["axpy/cpp"], None)
    panel._warm(li.registry["lltm/stable"], None)
    panel._warm(li.registry["axpy/python"], None)
    panel._warm(li.registry["axpy/cuda"], None)
    panel._warm(li.registry["axpy/cpp"], "no-such-compiler")
    assert asked == ["light", "stable"]


def test_the_same_cell_stops_what_its_older_panel_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell that runs again stops its panel of before, not that of another cell, nor one of another kernel."""

    class Shell:
        cell = "a"

        def get_parent(self) -> dict[str, Any]:
            return {"metadata": {"cellId": self.cell}}

    class Panel:
        stopped = 0

        def stop(self) -> None:
            self.stopped += 1

    shell, panels = Shell(), [Panel() for _ in range(4)]
    monkeypatch.setattr(panel, "running_shell", lambda: shell)
    for one, (cell, name) in zip(panels, [("a", "x/y"), ("b", "x/y"), ("a", "x/z"), ("a", "x/y")], strict=True):
        shell.cell = cell
        panel._replace_older(one, name)  # type: ignore[arg-type]
    assert [one.stopped for one in panels] == [1, 0, 0, 0]


def test_a_mark_stands_at_the_function_that_is_unknown() -> None:
    """Where g++ points at the bracket behind a name, the mark and its fix are those of the name."""
    kernel = li.Kernel("tiny/marks", cpp="\nauto y = a * sigmoyd(x) + (b);\n")
    unknown = said("'sigmoyd' was not declared in this scope", "Did you mean 'sigmoid'?", line=2, column=21)
    [found] = marks_of(kernel, "cpu", [unknown])
    assert (found["column"], found["end_column"]) == (14, 21)
    assert found["fix"] == {"line": 2, "column": 14, "from": "sigmoyd", "to": "sigmoid"}
    [other] = marks_of(kernel, "cpu", [said("expected ';' before '(' token", line=2, column=27)])
    assert other["column"] == 27


def test_a_snapshot_shows_text_report_and_plot() -> None:
    """Without widgets a panel is its text, and what was last said of it; hostile texts stay texts."""
    state = Session(li.registry["axpy/cpp"]).state
    state |= {"report": card_of(InputError("a < b")), "plot": in_html(Timings((), "a/b")), "texts": {"cpp": "x </pre>"}}
    shown = read(snapshot(state, "name"))
    assert not shown.problems
    for words in ("axpy/cpp on cpu", "x </pre>", "a < b", "nothing was timed"):
        assert words in shown.text, words


def test_a_panel_names_its_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser keeps text by notebook and kernel; where no notebook is known it is told nothing."""
    for notebook in ("course/01.ipynb", ""):
        monkeypatch.setenv("JPY_SESSION_NAME", notebook)
        session = Session(li.registry["axpy/cpp"])
        session.handle({"do": "edit", "texts": {}})
        assert session.state["journal"]["notebook"] == notebook


def test_a_journal_that_cannot_be_read_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cache that cannot be used the panel opens all the same, and says why nothing was brought back."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "file" / "cache"))
    journal.turn_off()
    try:
        assert str(tmp_path) in panel._recover("axpy")
    finally:
        journal.turn_off()


def test_only_what_came_back_is_a_note(
    tiny: Callable[..., li.Kernel], fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A panel says what a restart had taken and the journal gave back, and nothing where nothing was missing."""
    journal.turn_off()
    try:
        assert panel._recover("tiny") == ""
        kernel = li.registry.register(tiny())
        li.registry.register(kernel.replace(params={"FACTOR": 5}))
        assert panel._recover("tiny") == ""
        forget("tiny")
        register()
        li.registry.register(tiny())
        assert panel._recover("tiny").startswith("brought back 1 revision of tiny")
    finally:
        journal.turn_off()
