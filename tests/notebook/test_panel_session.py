"""The panel without a browser: each button, each error, and what is kept of an edit."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

import lltm_inline as li
from lltm_inline import journal
from lltm_inline.analysis import assembly
from lltm_inline.base.stop import raise_if_stopped
from lltm_inline.notebook import pipeline
from lltm_inline.notebook.cell import kernel_of, text_of
from lltm_inline.notebook.options import parse
from lltm_inline.notebook.panel import verbs
from lltm_inline.notebook.panel.board import revisions_of
from lltm_inline.notebook.panel.capture import captured
from lltm_inline.notebook.panel.session import PanelSetting, Session
from tests.conftest import HEAVY
from tests.quick import QUICK
from tests.stopping import PATIENCE, SLEEPY, command_of, compilers, until
from tests.tiny import BROKEN, STABLE, forget

pytestmark = pytest.mark.full

LOOP = "for (int64_t i = 0; i < from.numel(); ++i) {"
ENDLESS = STABLE.replace(LOOP, "for (volatile int64_t i = 0; true; i = i) {")
WILD = STABLE.replace("[i] = factor", "[i + (int64_t(1) << 40)] = factor")
WRONG = STABLE.replace("? times(d_y, FACTOR)", "? times(d_y, FACTOR + 1)")


@pytest.fixture(autouse=True)
def _own_journal() -> Iterator[None]:
    """Let no test see what another has noted of a revision."""
    journal.turn_off()
    yield
    journal.turn_off()


@pytest.fixture
def session(tiny: Callable[..., li.Kernel]) -> Iterator[Session]:
    """Give a panel of a small kernel that is right."""
    one = panel(li.registry.register(tiny()))
    yield one
    one.stop()
    assert one.wait(PATIENCE)


def panel(kernel: li.Kernel, device: str | None = None) -> Session:
    """Make a panel that spends little time on timing, in small sizes."""
    return Session(kernel, device, setting=PanelSetting(sizes=[(7,), (100,)], seconds=0.05), work=verbs.work)


def do(session: Session, verb: str, **message: Any) -> Mapping[str, Any]:
    """Press a button, wait for its end, and return what the panel shows."""
    session.handle({"do": verb, **message})
    assert session.wait(PATIENCE) and session.state["busy"]["verb"] == ""
    return session.state


def logged(session: Session) -> list[str]:
    """List the lines of the log."""
    return [line["text"] for line in session.state["log"]]


def states(session: Session) -> list[tuple[int, str]]:
    """List the numbers of the revisions with what is known of them."""
    return [(one["number"], one["state"]) for one in session.state["revisions"]]


def test_a_panel_begins_with_what_is_registered(session: Session) -> None:
    """A new panel shows the kernel's text, its params with controls, its revision, device and the variants of the op."""
    state = session.state
    assert state["title"] == "tiny" and state["texts"] == {"cpp": STABLE} and state["params"] == {"FACTOR": 2}
    assert state["current"] == {
        "name": "tiny/stable", "label": "tiny/stable", "device": "cpu", "kinds": ["cpp"], "revision": 0,
        "counts": False,
    }  # fmt: skip
    assert [one["editable"] for one in state["variants"]] == [False, True] and state["devices"] == ["cpu"]
    assert states(session) == [(0, "new")] and not state["dirty"] and state["controls"][0]["name"] == "FACTOR"
    assert revisions_of(li.registry["axpy/cpp@0"])[0]["state"] == "shipped"


def test_build_makes_a_revision_and_checks_it(session: Session) -> None:
    """Build records what stands in the editor, builds it, checks it, and shows the report and one line for each."""
    state = do(session, "build", texts={"cpp": f"{STABLE}\n// edited in {os.getpid()}"})  # by nobody before
    assert state["current"]["label"] == "tiny/stable@1" and not state["dirty"]
    assert states(session) == [(0, "new"), (1, "right")]
    assert logged(session)[0].startswith("built tiny/stable@1 in ") and "is right in" in logged(session)[1]
    assert "tiny/stable@1" in state["report"] and not state["marks"]
    assert li.registry["tiny/stable"].label == "tiny/stable@1"


def test_build_without_check(session: Session) -> None:
    """With the option off, Build ends with the build."""
    do(session, "edit", options={"check_first": False})
    do(session, "build", texts={"cpp": STABLE + "\n// not checked"})
    assert states(session)[-1] == (1, "built") and len(logged(session)) == 1
    do(session, "build")
    assert logged(session)[-1] == "tiny/stable@1 is in the cache"


def test_a_compile_error_is_marked_and_its_hint_mends_it(session: Session) -> None:
    """An error stands at its line with the hint; applying the hint changes the editor, and the next build is right."""
    state = do(session, "build", texts={"cpp": BROKEN})
    [mark] = state["marks"]
    assert BROKEN.split("\n")[mark["line"] - 1] == "  return times(x, FACTORY);" and "FACTOR" in mark["advice"]
    assert "did not compile" in logged(session)[-1] and "full log" in state["report"] and "FACTORY" in state["report"]
    assert states(session) == [(0, "new"), (1, "failed")] and state["revisions"][-1]["hint"].endswith("in this scope")
    generation = state["generation"]
    answer = session.handle({"do": "apply", "mark": 0})
    assert answer == {"tell": "focus", "kind": "cpp", "line": mark["line"]}
    assert state["texts"]["cpp"] == STABLE and state["generation"] == generation + 1 and not state["marks"]
    assert do(session, "build")["current"]["label"] == "tiny/stable"
    assert states(session)[0] == (0, "right")


def test_report_and_marks_are_those_of_the_revision_in_the_editor(session: Session) -> None:
    """A revision that is chosen shows what was said of it, and nothing of the one before; an edit of it has no marks."""
    state = do(session, "build", texts={"cpp": BROKEN})
    failure, marks = state["report"], state["marks"]
    session.handle({"do": "select", "revision": 0})
    assert state["report"] == "" and state["marks"] == []
    right = do(session, "check")["report"]
    session.handle({"do": "select", "revision": 1})
    assert state["report"] == failure and state["marks"] == marks != []
    session.handle({"do": "select", "revision": 0})
    assert state["report"] == right != ""


def test_a_warning_is_marked_where_the_build_went_well(session: Session) -> None:
    """In yellow, at its line; the revision is right all the same."""
    state = do(
        session,
        "build",
        texts={"cpp": STABLE.replace("  return to;", "  int n = 0;\n  if (n = 1) return to;\n  return to;")},
    )
    [mark] = state["marks"]
    assert mark["severity"] == "warning" and mark["text"] == "  if (n = 1) return to;" and not mark.get("quiet")
    assert states(session)[-1] == (1, "right")


def test_a_text_that_does_not_fit_the_op_is_marked(session: Session) -> None:
    """A signature that does not fit is marked before anything is compiled."""
    state = do(session, "build", texts={"cpp": STABLE.replace("forward(const Tensor& x)", "forward(double x)")})
    assert state["marks"] and "does not fit op 'tiny'" in logged(session)[-1]


def test_a_text_that_cannot_be_rendered_is_marked(session: Session) -> None:
    """A stray dollar sign is marked at its line, and the panel goes on."""
    state = do(session, "build", texts={"cpp": STABLE.replace("FACTOR);\n}", "$FACTOR);\n}", 1)})
    assert [mark["line"] for mark in state["marks"]] == [20] and "$FACTOR has no value" in state["marks"][0]["message"]
    assert "$FACTOR has no value" in logged(session)[-1] and states(session)[-1] == (1, "failed")
    assert "is right in" in logged_after(session, "build", texts={"cpp": STABLE})


def logged_after(session: Session, verb: str, **message: Any) -> str:
    """Press a button and return the last line of the log."""
    do(session, verb, **message)
    return logged(session)[-1]


def test_a_text_that_is_no_kernel_is_refused(session: Session) -> None:
    """An empty editor is no kernel: that is said, nothing runs, and the text stays as it was typed."""
    assert "needs a source text" in logged_after(session, "build", texts={"cpp": ""})
    assert session.state["texts"] == {"cpp": ""} and states(session) == [(0, "new")]
    assert "FACTOR is inf, want a finite number" in logged_after(
        session, "build", texts={"cpp": STABLE}, params={"FACTOR": float("inf")}
    )


def test_a_wrong_kernel_shows_which_gradient(session: Session) -> None:
    """Check of a wrong gradient shows the report, and Benchmark refuses to time it."""
    do(session, "check", texts={"cpp": WRONG})
    assert states(session)[-1] == (1, "wrong") and "d_x" in session.state["revisions"][-1]["hint"]
    assert "d_x" in logged(session)[-1] and "d_x" in session.state["report"]
    assert logged_after(session, "benchmark") == "tiny/stable@1 was not timed: it is wrong"
    assert not session.state["plot"]


def test_a_crash_is_marked_at_its_line(session: Session) -> None:
    """A crash stands at the line where it happened, and the next check works."""
    state = do(session, "check", texts={"cpp": WILD})
    [mark] = state["marks"]
    assert "(int64_t(1) << 40)" in WILD.split("\n")[mark["line"] - 1] and mark["severity"] == "crash"
    assert "SIGSEGV" in mark["message"] and "SIGSEGV" in logged(session)[-1] and "SIGSEGV" in state["report"]
    assert states(session)[-1] == (1, "crashed")
    assert "is right in" in logged_after(session, "check", texts={"cpp": STABLE})


def test_benchmark_grows_and_ends_with_a_verdict(session: Session) -> None:
    """Benchmark times the reference, what ships and the right revisions; the table changes while it runs."""
    told: list[dict[str, Any]] = []
    session.listen(told.append)
    do(session, "check", texts={"cpp": STABLE + "\n// one"})
    state = do(session, "benchmark", texts={"cpp": STABLE + "\n// two"})
    for label in ("tiny/python", "tiny/stable", "tiny/stable@1", "tiny/stable@2"):
        assert label in state["plot"]
    assert "<table" in state["plot"] and not state["timings"] and "tiny/stable@2" in state["verdict"]
    assert logged(session)[-1].startswith("tiny/stable@2 ")
    assert len({values["plot"] for values in told if "plot" in values}) > 1
    assert any("round" in values["busy"]["text"] for values in told if "busy" in values)


def test_a_crash_in_a_benchmark_keeps_the_rows(session: Session) -> None:
    """A crash that only the timing meets is marked, and what was measured until then is shown."""
    crashing = STABLE.replace(LOOP, f"if (from.numel() == 100) *reinterpret_cast<volatile int*>(8) = 1;\n  {LOOP}")
    do(session, "edit", texts={"cpp": crashing})
    session.right.add((session.draft(), "cpu"))
    state = do(session, "benchmark")
    assert states(session)[-1] == (1, "crashed") and [mark["severity"] for mark in state["marks"]] == ["crash"]
    assert "N=7" in state["plot"] and "tiny/stable@1" in state["plot"]


def test_stop_ends_an_endless_kernel(session: Session) -> None:
    """Stop ends a check in the middle of an endless loop; the panel says so, and the next check works."""
    session.handle({"do": "check", "texts": {"cpp": ENDLESS}})
    until(lambda: session.state["busy"]["text"].endswith("parity"))
    session.handle({"do": "stop"})
    assert session.wait(PATIENCE)
    assert "was stopped after" in logged(session)[-1] and session.state["busy"]["verb"] == ""
    assert "is right in" in logged_after(session, "check", texts={"cpp": STABLE})


def test_stop_names_what_it_has_stopped(session: Session) -> None:
    """Stop in the check that follows a build says that the check was stopped."""
    session.handle({"do": "build", "texts": {"cpp": ENDLESS}})
    until(lambda: session.state["busy"]["text"].endswith("parity"))
    session.handle({"do": "stop"})
    assert session.wait(PATIENCE)
    assert "check of tiny/stable@1 was stopped after" in logged(session)[-1]


def test_two_panels_do_not_time_at_once(session: Session) -> None:
    """While another panel times, a benchmark waits, says so, and can be stopped; then it runs."""
    session.right |= {(session.draft(), "cpu"), (li.registry["tiny/stable"], "cpu")}
    with verbs._timing:
        session.handle({"do": "benchmark"})
        until(lambda: session.state["busy"]["text"] == "waiting for the other panel's benchmark")
        session.handle({"do": "stop"})
        assert session.wait(PATIENCE)
    assert "was stopped after" in logged(session)[-1] and not session.state["plot"]
    assert do(session, "benchmark")["plot"] and not verbs._timing.locked()


def test_an_edit_that_is_no_kernel_is_said_to_be_lost(session: Session) -> None:
    """What cannot be kept as a revision is not thrown away without a word."""
    do(session, "edit", texts={"cpp": ""})
    assert logged_after(session, "select", revision=0).startswith("your edit could not be kept: ")
    assert session.state["texts"] == {"cpp": STABLE}


def test_a_text_that_is_a_revision_is_that_revision(session: Session) -> None:
    """Build of a text that exists says whose it is; a verb takes away notes and verdicts of before."""
    do(session, "edit", options={"check_first": False})
    do(session, "build", texts={"cpp": STABLE + "\n// again"})
    do(session, "select", revision=0)
    session.tell(journal={"saved": 0, "note": "brought back"})
    state = do(session, "build", texts={"cpp": STABLE + "\n// again"})
    assert logged(session)[-2] == "this text is tiny/stable@1" and state["current"]["revision"] == 1
    assert state["journal"]["note"] == ""


def test_stop_ends_a_compiler(session: Session) -> None:
    """Stop ends a build in the middle of a compilation; no compiler stays."""
    session.handle({"do": "build", "texts": {"cpp": STABLE + HEAVY}})
    until(compilers)
    session.handle({"do": "stop"})
    assert session.wait(PATIENCE)
    assert "build of tiny/stable@1 was stopped after" in logged(session)[-1] and not compilers()
    assert states(session)[-1] == (1, "new")


def test_stop_keeps_the_rows_of_a_benchmark(session: Session) -> None:
    """Stop in the second size leaves the rows of the first one in the panel."""
    session.setting = PanelSetting(sizes=[(7,), (100,)], seconds=20.0)
    session.edit({"cpp": SLEEPY})
    session.right |= {(session.draft(), "cpu"), (li.registry["tiny/stable"], "cpu")}
    session.handle({"do": "benchmark"})
    until(lambda: session.state["busy"]["text"].startswith("N=100, both: round"))
    session.handle({"do": "stop"})
    assert session.wait(PATIENCE)
    assert "was stopped after" in logged(session)[-1]
    assert "N=7" in session.state["plot"] and "N=100" not in session.state["plot"]


def test_one_verb_at_a_time(session: Session) -> None:
    """A button pressed while something runs says so, and what runs goes on; other values can be changed meanwhile."""
    session.handle({"do": "check", "texts": {"cpp": ENDLESS}})
    until(lambda: session.state["busy"]["text"].endswith("parity"))
    session.handle({"do": "build"})
    assert logged(session)[-1] == "check is still running: press Stop first"
    answer = session.handle({"do": "ping"})
    assert answer is not None and answer["tell"] == "pong" and abs(answer["now"] - time.time()) < 60
    session.handle({"do": "select", "name": "tiny/python"})
    assert session.state["current"]["label"] == "tiny/python" and session.state["busy"]["verb"] == "check"
    session.stop()
    assert session.wait(PATIENCE) and not session.state["marks"]


def test_revert_goes_back_and_keeps_the_edit(session: Session) -> None:
    """Revert throws an edit away, but keeps it as a revision; without an edit it goes back to where it came from."""
    first, second = STABLE + "\n// first", STABLE + "\n// second"
    do(session, "edit", options={"check_first": False})
    do(session, "build", texts={"cpp": first})
    state = do(session, "revert", texts={"cpp": second})
    assert state["texts"] == {"cpp": first} and not state["dirty"]
    assert logged(session)[-1] == "tiny/stable@1 is the current revision; your edit is kept as tiny/stable@2"
    assert li.registry["tiny/stable@2"].cpp == second and li.registry["tiny/stable"].label == "tiny/stable@1"
    assert do(session, "revert")["texts"] == {"cpp": STABLE}
    assert li.registry["tiny/stable"].label == "tiny/stable"
    assert "nothing to go back to" in logged_after(session, "revert")


def test_select_shows_revisions_variants_and_the_reference(session: Session) -> None:
    """Any revision can be shown, an edit is kept when another takes its place, and the reference shows its Python source."""
    do(session, "edit", texts={"cpp": STABLE + "\n// kept"})
    state = do(session, "select", revision=0)
    assert state["texts"] == {"cpp": STABLE}
    assert logged(session) == ["tiny/stable is in the editor; your edit is kept as tiny/stable@1"]
    assert do(session, "select", revision="1")["texts"]["cpp"].endswith("// kept")
    state = do(session, "select", name="tiny/python")
    assert "return x * 2" in state["texts"]["python"] and state["current"]["kinds"] == ["python"]
    do(session, "edit", texts={"python": "nonsense", "cpp": "nonsense"})
    assert "return x * 2" in session.state["texts"]["python"] and not session.state["dirty"]


def test_a_failure_of_one_kernel_is_not_said_of_the_next(session: Session) -> None:
    """What went wrong stays in the log, but not as its last line once another kernel or device is chosen."""
    for chosen in ({"name": "tiny/python"}, {"device": "cpu"}):
        session.handle({"do": "dance"})
        assert session.state["log"][-1]["level"] == "bad"
        session.handle({"do": "select", **chosen})
        assert session.state["log"][-1]["level"] == "info" and "tiny/python is" in logged(session)[-1]
        assert "cannot do 'dance'" in logged(session)[-2]


def test_a_text_of_the_kernel_shown_before_is_left_out(session: Session, tiny: Callable[..., li.Kernel]) -> None:
    """What was typed while the browser still showed another kernel does not become this one's, and the log says so."""
    li.registry.register(tiny(variant="other"))
    before = session.state["generation"]
    session.handle({"do": "select", "name": "tiny/other"})
    session.handle({"do": "edit", "texts": {"cpp": WRONG}, "params": {"FACTOR": 3}, "generation": before})
    assert not session.state["dirty"] and "meant for another" in logged(session)[-1]
    state = do(session, "check", texts={"cpp": WRONG}, generation=before)
    assert state["current"]["label"] == "tiny/other" and "is right" in logged(session)[-1]
    session.handle({"do": "edit", "texts": {"cpp": WRONG}, "generation": session.state["generation"]})
    assert session.state["dirty"] and session.state["texts"]["cpp"] == WRONG


def test_the_reference_can_be_checked_and_timed_but_not_built(session: Session) -> None:
    """For an op that has only Python the panel says what Build would need, and the other buttons work."""
    do(session, "select", name="tiny/python")
    said = logged_after(session, "build")
    assert "is a Python function: there is nothing to build" in said and "%%kernel tiny/mine" in said
    assert "is right in" in logged_after(session, "check")
    assert "timed alone" in logged_after(session, "benchmark")


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"do": "select", "name": "axpy/cpp"}, "this panel is of op 'tiny': 'axpy/cpp' needs a panel of its own"),
        ({"do": "select", "name": "tiny/stabel"}, "no kernel 'tiny/stabel'. Did you mean 'tiny/stable'?"),
        ({"do": "select", "revision": 7}, "no revision 'tiny/stable@7'. Revisions of 'tiny/stable': tiny/stable"),
        ({"do": "select", "device": "cuda"}, "kernel 'tiny/stable' has no text for device 'cuda': it has cpu"),
        ({"do": "apply", "mark": 0}, "there is no mark 0 any more: build again"),
        ({"do": "apply"}, "there is no mark None any more"),
        ({"do": "diff", "against": 5}, "no revision 'tiny/stable@5'"),
        ({"do": "diff", "against": []}, "against=[], want a label, or the number of a revision"),
        ({"do": "dance"}, "the panel cannot do 'dance'; it can select, "),
        ({"do": ["build"]}, "the panel cannot do ['build']"),
        ({}, "the panel cannot do None"),
        ({"do": "build", "texts": "text"}, "texts='text', want a dict by name"),
        ({"do": "edit", "params": 3}, "params=3, want a dict by name"),
    ],
)
def test_what_makes_no_sense_is_said_in_the_log(session: Session, message: dict[str, Any], words: str) -> None:
    """A message that makes no sense changes nothing, and the log says why."""
    do(session, **{"verb": message.pop("do", None), **message})
    assert session.state["log"][-1]["level"] == "bad" and words in logged(session)[-1]
    assert session.state["texts"] == {"cpp": STABLE}


def test_an_unexpected_exception_is_shown_and_leaves_the_panel_usable(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody foresaw shows with its traceback; the next button works."""

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("nobody expects this")

    with monkeypatch.context() as patched:
        patched.setattr(verbs, "carry_out", fail)
        assert logged_after(session, "build") == "unexpected ZeroDivisionError: nobody expects this"
    assert "Traceback" in session.state["details"] and "nobody expects this" in session.state["report"]
    assert "is right in" in logged_after(session, "build") and not session.state["details"]


def test_diff_shows_the_editor_against_a_revision(session: Session) -> None:
    """Diff compares the text in the editor with its revision, or a revision with the one it came from."""
    edited = STABLE.replace("times(x, FACTOR)", "times(x, FACTOR + 0)")
    state = do(session, "diff", texts={"cpp": edited})
    assert "the editor" in state["diff"] and "FACTOR" in state["diff"]
    do(session, "edit", options={"check_first": False})
    do(session, "build")
    by_default = do(session, "diff")["diff"]
    assert "tiny/stable@1" in by_default and do(session, "diff", against=0)["diff"] == by_default


def test_fractions_stay_fractions(tiny: Callable[..., li.Kernel]) -> None:
    """JavaScript knows no integers: a floating-point param that comes back as 3 is 3.0 for C++."""
    one = panel(li.registry.register(tiny(2.5)))
    one.edit(params={"FACTOR": 3, "UNKNOWN": 1})
    assert isinstance(one.draft().params["FACTOR"], float) and set(one.draft().params) == {"FACTOR"}


def test_a_draft_is_kept_and_comes_back(session: Session) -> None:
    """Text that was typed and not built is in the journal, and in the next panel of this kernel, on its own revision."""
    journal.turn_on("/books/one.ipynb")
    text = STABLE + "\n// typed"
    do(session, "edit", texts={"cpp": text})
    assert session.state["journal"]["saved"] > 0
    other = panel(li.registry["tiny/stable"])
    assert other.state["texts"] == {"cpp": text} and other.state["dirty"]
    assert "is not built yet; revert puts back tiny/stable" in logged(other)[-1]
    do(session, "edit", texts={"cpp": STABLE})
    assert panel(li.registry["tiny/stable"]).state["texts"] == {"cpp": STABLE}


def test_a_draft_that_fits_no_more_is_left_alone(session: Session) -> None:
    """A draft of another kind of text, or of a revision that is gone, does no harm."""
    journal.save_draft("tiny/stable", {"cuda": "x"}, {}, "tiny/stable")
    assert panel(li.registry["tiny/stable"]).state["texts"] == {"cpp": STABLE}
    journal.save_draft("tiny/stable", {"cpp": "x"}, {"OTHER": 1}, "tiny/stable@9")
    one = panel(li.registry["tiny/stable"])
    assert one.state["texts"] == {"cpp": "x"} and one.state["params"] == {"FACTOR": 2}


def test_a_cache_that_cannot_be_used_is_said(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cache that cannot be used the panel says so, and nothing that was typed is lost."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "file" / "cache"))
    said = logged_after(session, "build", texts={"cpp": STABLE + "\n// new"})
    assert str(tmp_path) in said and session.state["log"][-1]["level"] == "bad"
    assert session.state["texts"]["cpp"].endswith("// new") and states(session)[-1] == (1, "new")


def test_a_kernel_that_is_not_registered_becomes_so(tiny: Callable[..., li.Kernel]) -> None:
    """A Kernel given as it is takes its place in the registry, so that its revisions have names."""
    one = panel(tiny(variant="given"))
    assert li.registry["tiny/given"].label == "tiny/given" and one.state["current"]["label"] == "tiny/given"


def test_values_are_told_once_and_only_when_they_change(session: Session) -> None:
    """A listener hears what has changed and nothing else."""
    told: list[dict[str, Any]] = []
    session.listen(told.append)
    do(session, "edit", params={"FACTOR": 2})
    assert told == []
    do(session, "edit", params={"FACTOR": 4})
    assert told == [{"params": {"FACTOR": 4}}, {"dirty": True}]


def test_what_a_verb_prints_is_in_the_log(session: Session) -> None:
    """What a kernel prints while it is timed is shown."""
    talking = STABLE.replace(LOOP, f'static int once = printf("hello from C++\\n");\n  (void)once;\n  {LOOP}')
    talking = talking.replace("#include", "#include <cstdio>\n#include", 1)
    do(session, "edit", texts={"cpp": talking})
    session.right.add((session.draft(), "cpu"))
    do(session, "benchmark")
    assert any("printed: " in line and "hello from C++" in line for line in logged(session)), logged(session)


def test_of_what_a_kernel_prints_thousands_of_times_the_end_is_shown(
    tiny: Callable[..., li.Kernel], capsys: pytest.CaptureFixture[str]
) -> None:
    """A benchmark prints the last lines, as a check's report has them, and says how many it has left out."""
    talking = STABLE.replace(LOOP, f'std::printf("hello\\n");\n  {LOOP}').replace(
        "#include", "#include <cstdio>\n#include", 1
    )
    kernel = li.registry.register(tiny(text=talking))
    li.benchmark([kernel], [(7,)], seconds=0.02, check=False, progress=False)
    first, *lines = capsys.readouterr().out.splitlines()
    assert "left out)" in first and lines == ["hello"] * 20


def test_listeners_that_overlap_leave_nothing_behind() -> None:
    """However two threads begin and end to be listened to, prints and warnings go where they went before."""
    before = sys.stdout, warnings.showwarning
    begun, end = threading.Event(), threading.Event()

    def other() -> None:
        with captured(print):
            begun.set()
            end.wait(PATIENCE)

    thread = threading.Thread(target=other)
    with captured(print):
        thread.start()
        assert begun.wait(PATIENCE)
    end.set()
    thread.join()
    assert (sys.stdout, warnings.showwarning) == before


def test_other_threads_are_not_overheard(capsys: pytest.CaptureFixture[str]) -> None:
    """While a verb is listened to, another thread's prints and warnings go where they went."""
    said: list[str] = []

    def other() -> None:
        print("of another thread")
        warnings.warn("of another thread", UserWarning, stacklevel=1)

    with pytest.warns(UserWarning, match="of another thread"), captured(said.append):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        print("of this one")
    assert said == ["printed: of this one"] and capsys.readouterr().out == "of another thread\n"


def test_a_cuda_text_without_a_gpu_is_only_compiled(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no GPU, a CUDA text is for the CPU; if a GPU is chosen, Build says that it compiles, and does not check it."""
    asked: list[Any] = []
    built = li.build("tiny/stable", progress=False)

    def compile_only(kernel: li.Kernel, **options: Any) -> li.Build:
        asked.append((kernel.label, options["device"], options["compile_only"]))
        return built

    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(pipeline, "build", compile_only)
    assert panel(li.registry["axpy/cuda"]).device == "cuda-cpu"
    one = panel(li.registry["axpy/cuda"], "cuda")
    assert logged_after(one, "build").endswith("it compiles, and needs a GPU to run")
    assert asked == [("axpy/cuda", "cuda", True)] and len(logged(one)) == 1
    assert one.state["texts"].keys() == {"cuda"} and one.state["devices"] == ["cuda", "cuda-cpu"]


@pytest.mark.full
def test_benchmark_of_a_cuda_text_on_the_cpu_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """On `cuda-cpu` Benchmark checks, and then shows counts, their picture and no time: none would be that of a GPU."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setenv("CXX", QUICK)
    one = panel(li.registry["axpy/cuda"])
    state = do(one, "benchmark")
    assert state["verdict"] == "axpy/cuda: no line takes more than it needs" and "Counts, not times" in state["timings"]
    assert "which lane wants which address" in state["plot"] and "<img" in state["plot"]
    assert logged(one)[-1] == "axpy/cuda is counted, and not timed: no time on cuda-cpu is that of a GPU"


def test_a_wrong_kernel_that_ships_is_left_out(tiny: Callable[..., li.Kernel]) -> None:
    """Where revision 0 itself is wrong, the benchmark says so, and times the draft against the reference."""
    one = panel(li.registry.register(tiny(text=WRONG, variant="wrong")))
    do(one, "benchmark", texts={"cpp": STABLE})
    assert any(line.startswith("tiny/wrong is left out of the benchmark: ") for line in logged(one))
    assert logged(one)[-1].startswith("tiny/wrong@1 ") and "tiny/python" in one.state["plot"]


def test_marks_of_another_revision_are_not_shown(session: Session) -> None:
    """What is said of lines of one revision is not put into the text of another that was chosen meanwhile."""
    session.outcome(session.draft(), marks=[{"line": 1}])
    assert session.state["marks"] == [{"line": 1}]
    do(session, "edit", texts={"cpp": STABLE + "\n// other"})
    other = session.draft()
    session.outcome(other, marks=[{"line": 2}])
    assert session.state["marks"] == [{"line": 1}]


def test_machine_code_is_listed_where_its_pane_is_open(session: Session) -> None:
    """Asked for, it follows the revision that is shown; without, nothing is listed."""
    do(session, "build")
    assert session.state["assembly"] == ""
    do(session, "edit", options={"assembly": True})
    assert 'data-line="' in session.state["assembly"] and "assembly of tiny/stable by" in session.state["assembly"]
    assert "beside" not in session.state["assembly"]
    do(session, "build", texts={"cpp": STABLE.replace("factor *", "-factor * -")})
    assert "assembly of tiny/stable@1 by" in session.state["assembly"]
    assert "<p>beside tiny/stable:</p>" in session.state["assembly"]
    do(session, "edit", options={"assembly": False})
    assert session.state["assembly"] == ""


def test_remarks_hot_lines_and_roofs_are_shown_if_asked_for() -> None:
    """The first two open the pane, and hot lines want a kernel that is right; the roofs stand below the picture of a benchmark."""
    session = panel(li.registry["axpy/cpp"])
    do(session, "edit", options={"check_first": False, "remarks": True})
    do(session, "build")
    assert session.state["options"]["assembly"] and "what the compiler says of the text" in session.state["assembly"]
    marks = session.state["marks"]
    assert {mark["severity"] for mark in marks} <= {"remark", "done"}
    assert "vectorised" in {mark["message"].partition(":")[0] for mark in marks}
    misfit = li.registry["axpy/cpp"].cpp.replace(" forward(const at::Tensor& x", " forward(double x")
    do(session, "edit", texts={"cpp": misfit})  # no compiler is asked
    assert session.state["marks"][0]["quiet"] and session.state["marks"][1:] == marks
    do(session, "revert")
    assert session.state["marks"] == marks
    do(session, "edit", options={"hot_lines": True})
    assert "Where the time goes is told of a kernel that is right: Check it." in session.state["assembly"]
    do(session, "check")
    said = session.state["assembly"]
    assert any(words in said for words in ("where the time goes, N=7", "needs perf on PATH", "perf took no samples")), (
        said
    )
    do(session, "edit", options={"remarks": False})
    assert "what the compiler says" not in session.state["assembly"] and session.state["marks"] == []
    do(session, "edit", options={"roofline": True})
    do(session, "benchmark")
    assert "under the roofs of" in session.state["plot"] and "of the roof above it" in session.state["plot"]


def test_values_are_shown_if_asked_for() -> None:
    """What li.trace shows, its picture first, at the size in the field; of a text that goes past a tensor what that does."""
    session = panel(li.registry["axpy/cpp"])
    do(session, "edit", options={"check_first": False, "values": True, "how": "--sizes 3"})
    do(session, "build")
    shown = session.state["assembly"]
    assert session.state["options"]["assembly"] and "z[2]" in shown and "z[3]" not in shown
    assert shown.index("<img") < shown.index("what threads load and store") < shown.index("instruction")
    do(session, "edit", texts={"cpp": li.registry["axpy/cpp"].cpp.replace("z_p[i] =", "z_p[i + 1] =")})
    do(session, "build")
    assert "(element 3 of z, which has 3) is written at axpy/cpp:" in session.state["assembly"]
    do(session, "edit", options={"values": False})
    assert "what threads load and store" not in session.state["assembly"]


def test_what_lists_no_machine_code_is_said_in_the_pane(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without objdump the pane says what is missing."""
    do(session, "build")
    monkeypatch.setattr(assembly, "_TOOLS", ())
    do(session, "edit", options={"assembly": True})
    assert "needs objdump or llvm-objdump on PATH" in session.state["assembly"]


def test_what_is_typed_is_marked_before_it_is_built(session: Session) -> None:
    """The front end alone finds the error, quietly; what Build has shown stays loud, and a text that is right has no marks."""
    do(session, "edit", texts={"cpp": BROKEN})
    [mark] = session.state["marks"]
    assert mark["quiet"] and mark["message"].startswith("'FACTORY' was not declared") and "FACTOR" in mark["advice"]
    assert states(session) == [(0, "new")] and session.state["dirty"]
    do(session, "build")
    do(session, "edit", texts={"cpp": BROKEN.replace("to;", "ot;")})
    found = {mark["message"]: mark["quiet"] for mark in session.state["marks"]}
    assert sorted(found.values()) == [False, True] and not next(
        quiet for said, quiet in found.items() if "FACTORY" in said
    )
    do(session, "edit", texts={"cpp": f"{STABLE}// right again"})
    assert session.state["marks"] == []
    do(session, "edit", texts={"cpp": STABLE.replace("forward(const Tensor& x)", "forward(double x)")})
    assert session.state["marks"][0]["quiet"]  # its functions do not fit the op: no compiler is asked


def test_one_compiler_reads_the_newest_text(session: Session) -> None:
    """An edit ends the compiler that reads the former text, and so does Build."""
    slow = f"constexpr long slow(long n) {{ return n < 2 ? n : slow(n - 1) + slow(n - 2); }}\nstatic_assert(slow(60));{STABLE}"
    session.handle({"do": "edit", "texts": {"cpp": slow}})
    until(lambda: front_ends() == 1)
    do(session, "edit", texts={"cpp": BROKEN})
    assert front_ends() == 0 and len(session.state["marks"]) == 1
    session.handle({"do": "edit", "texts": {"cpp": slow}})
    until(lambda: front_ends() == 1)
    do(session, "build", texts={"cpp": STABLE})
    assert front_ends() == 0


def test_no_other_compiler_works_beside_the_one_for_remarks(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is typed is read when they are there; Build ends that compiler, and what it has built is listed anew."""
    listed = list[str]()

    def slowly(kernel: li.Kernel, **setting: Any) -> Any:
        listed.append(kernel.label)
        while setting.get("remarks"):  # until it is ended
            raise_if_stopped()
            assert session.compiling.locked() and not front_ends() and not compilers()
        return assembly.assembly(kernel, **setting)

    do(session, "build")
    monkeypatch.setattr(verbs, "assembly", slowly)
    session.handle({"do": "edit", "options": {"remarks": True}})
    until(lambda: listed == ["tiny/stable"])
    session.handle({"do": "edit", "texts": {"cpp": BROKEN}})
    session.handle({"do": "build", "texts": {"cpp": f"{STABLE}// once more"}})
    until(lambda: listed == ["tiny/stable", "tiny/stable@1"])
    session.handle({"do": "edit", "options": {"remarks": False}})
    assert session.wait(PATIENCE) and "assembly of tiny/stable@1 by" in session.state["assembly"]
    assert not [line for line in logged(session) if "unexpected" in line]


def front_ends() -> int:
    """Count the compilers of this process that only read."""
    return sum("-fsyntax-only" in command_of(process) for process in psutil.Process().children())


def test_a_cell_is_copied_with_all_that_makes_the_kernel(session: Session) -> None:
    """The cell holds the text as typed, the params, and how it is timed; as a cell it is this very kernel."""
    do(
        session,
        "edit",
        texts={"cpp": f"{STABLE}// typed"},
        params={"FACTOR": 3},
        options={"how": "--sizes 7 --flags -O2"},
    )
    answer = session.handle({"do": "copy", "kind": "cpp"})
    assert answer is not None
    head, _, body = answer["text"].partition("\n")
    assert head == "%%kernel tiny/stable --params FACTOR=3 --sizes 7 --flags -O2" and body == f"{STABLE[1:]}// typed\n"
    made = kernel_of(parse(head.removeprefix("%%kernel ")), text_of(body))
    assert (made.params, made.flags, made.cpp.strip()) == ({"FACTOR": 3}, ("-O2",), f"{STABLE}// typed".strip())


def test_a_new_kernel_fits_its_op_and_is_to_be_written(session: Session) -> None:
    """It compiles as it is, and says when it is called that it is not written yet; taken names and other ops are refused."""
    do(session, "new", name="mine")
    assert (
        session.state["current"]["label"] == "tiny/mine"
        and "at::Tensor forward(const at::Tensor& x) {" in session.state["texts"]["cpp"]
    )
    do(session, "build")
    assert "forward is not written yet" in session.state["report"]
    text = session.state["texts"]["cpp"]
    assert "at::Tensor backward(const at::Tensor& d_y, const at::Tensor& x, std::array<bool, 1> wanted) {" in text
    only_aten = text.partition("// Leave this out")[0].replace(
        'throw std::runtime_error("forward is not written yet")', "return 2 * x"
    )
    do(session, "build", texts={"cpp": only_aten})
    assert "'tiny/mine@1' is right" in logged(session)[-1], logged(session)
    for name, words in (
        ("stable", "there is a kernel tiny/stable already"),
        ("lltm/x", "makes kernels of op 'tiny'"),
        (3, "want a name"),
    ):
        do(session, "new", name=name)
        assert words in logged(session)[-1]


def test_the_cell_of_a_new_op_runs_and_its_kernels_can_be_written(session: Session) -> None:
    """Name and schema in place of a kernel's name: the cell registers the op; what does not read is refused."""
    answer = session.handle(
        {"do": "new", "name": "made(Tensor x, Tensor[int64] index, float s=2.5, int[] sizes) -> Tensor y"}
    )
    assert answer and answer["tell"] == "copy" and "the cell of op made is copied" in logged(session)[-1]
    exec(answer["text"].replace("li.playground(", "str("), {})
    try:
        op = li.registry.ops["made"]
        assert [type(each).__name__ for each in op.make_inputs(torch.randn, (3,))] == [
            "Tensor",
            "Tensor",
            "float",
            "list",
        ]
        with pytest.raises(NotImplementedError, match="the reference of made is not written yet"):
            op.reference(*op.make_inputs(torch.randn, (3,)))
        for name, words in (
            ("made(Tensor x) -> Tensor y", "there is an op made already: "),
            ("other(Tenso x) -> Tensor y", "'Tenso' is not a type"),
            ("Other(Tensor x) -> Tensor y", "op name 'Other' is not a lower-case identifier"),
            ("other(Tensor x", "does not read as '(Tensor x, float c) -> Tensor y'"),
        ):
            assert session.handle({"do": "new", "name": name}) is None
            assert words in logged(session)[-1]
    finally:
        forget("made")


def test_how_to_build_and_time(session: Session) -> None:
    """Sizes, seconds and directions are those of the field; flags make another revision; what makes no sense is not taken."""
    do(session, "edit", options={"how": "--sizes 11 --seconds 0.02 --directions forward --flags -O2"})
    assert session.state["dirty"]
    state = do(session, "benchmark")
    assert (
        state["current"]["label"] == "tiny/stable@1"
        and li.registry["tiny/stable"].flags == ("-O2",)
        and not state["dirty"]
    )
    assert "N=11" in state["plot"] and "both" not in state["verdict"]
    for how, words in (
        ("--check", "'--check' has no place in this field"),
        ("--sizes 1,2", "does not fit: want 1"),
        ("--seconds 0", "'0' is no time in seconds"),
        ("--sizes abc", "'abc' is no size"),
    ):
        timings = session.state["plot"]
        do(session, "edit", options={"how": how})
        assert words in logged(session)[-1] and session.state["options"]["how"] == how, "it stays, to be mended"
        do(session, "benchmark")
        assert words in logged(session)[-1] and session.state["plot"] == timings, "nothing runs with other sizes"
        assert "%%kernel" not in logged(session)[-1], "nobody has written that here"
    do(session, "edit", options={"how": "--seconds 0.02"})
    assert logged(session)[-1] == "sizes and flags: --seconds 0.02, from the next Build or Benchmark on"
