"""What is said of a worker's end: every kind of ending has its own words, and they are pinned in `endings.py`."""

from __future__ import annotations

import builtins
import ctypes
import json
import pickle
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from lltm_inline.autopsy.addresses import amount, reach
from lltm_inline.autopsy.crash import Crash, explain, tail
from lltm_inline.autopsy.facts import Facts
from lltm_inline.autopsy.symbolize import Place, calls_of
from lltm_inline.checking.postmortem import _with_findings, _with_replay
from lltm_inline.checking.report import Finding, Report, Section
from lltm_inline.errors import CrashError, LltmInlineError, TimeoutError
from lltm_inline.workers.black_box import Evidence, Frame, Region, State
from lltm_inline.workers.limits import Limits
from lltm_inline.workers.outcome import Died, Ending
from tests.run.worker.endings import BASE, CASES, EMPTY, HERE, MADE, TEXT, W, X, aborted, fault, thrown, timed_out, told
from tests.texts import bodies


@pytest.mark.parametrize("name", CASES)
def test_each_ending_is_named(name: str) -> None:
    """Each way to end has its own words: what happened, what was being done, and the likely cause in one sentence."""
    arguments, what, detail, cause = CASES[name]
    crash = told(**arguments)
    assert (crash.what, crash.detail, crash.cause) == (what, detail, cause)


def test_every_sentence_is_reached() -> None:
    """The endings reach every rule with a fixed sentence: nobody has added one that nothing leads to."""
    from lltm_inline.autopsy import causes, happened
    from lltm_inline.autopsy.facts import Rule

    fixed = {
        rule.sentence
        for module in (causes, happened)
        for table in vars(module).values()
        if isinstance(table, tuple)
        for rule in table
        if isinstance(rule, Rule) and isinstance(rule.sentence, str)
    }
    said = {text for _, *texts in CASES.values() for text in texts}
    assert fixed - said == {"not known"}


def test_crash_reads_as_the_line_with_its_context() -> None:
    """The text form: what, the line with the one before it, inputs and smallest size, cause, and what was printed."""
    crash = told(
        **fault(BASE + 56, region=X),
        places=[HERE, Place("axpy/mine", 3, "forward"), Place("axpy/mine (binding)", 4, "call")],
        smallest="N=1",
        output="x has 7\n",
        finished=("interface", "parity"),
        seconds=0.25,
    )
    assert str(crash) == (
        "kernel 'axpy/mine@2' crashed in forward: SIGSEGV (segmentation fault)\n"
        "  axpy/mine@2:6: it reads x[7], 1 element past the end of x (7,) float64\n"
        "     5 |   for (int64_t i = 0; i < x.numel(); ++i) {\n"
        "  -> 6 |     z.data_ptr<double>()[i] = x.data_ptr<double>()[i + 1];\n"
        "  called from axpy/mine@2:3\n"
        "  at N=7, float64: x (7,) float64, y (7,) float64; smallest failing size: N=1\n"
        "  likely cause: a loop or an index goes past the last of 7 elements: compare its limit with the size of this tensor\n"
        "  finished before: interface, parity\n"
        "  printed before: x has 7"
    )
    assert (crash.tensor, crash.index, crash.place, crash.seconds) == ("x", (7,), "axpy/mine@2:6", 0.25)
    assert crash.headline == (
        "'axpy/mine@2' crashed in forward: SIGSEGV (segmentation fault); "
        "axpy/mine@2:6: it reads x[7], 1 element past the end of x (7,) float64"
    )


def test_crash_of_which_nothing_is_known_is_short() -> None:
    """No line, no inputs, no output: what is left are two lines, and no empty ones between."""
    crash = explain(Facts(Died(Ending("exit", 3), State(), None, "\n"), "a/b", {}, (), Limits()))
    assert str(crash).count("\n") == 1
    assert str(crash).startswith(
        "kernel 'a/b' ended the process between two calls: _exit(3)\n  likely cause: the text ends"
    )


@pytest.mark.parametrize(
    ("ending", "step", "sentence"),
    [
        (Ending("signal", signal.SIGSEGV), "load", "crashed while it was loaded: SIGSEGV (segmentation fault)"),
        (Ending("signal", signal.SIGSEGV), "backward", "crashed in backward: SIGSEGV (segmentation fault)"),
        (Ending("signal", signal.SIGKILL), "forward", "was ended in forward: SIGKILL (killed from outside)"),
        (Ending("exit", 0), "gradcheck", "ended the process in gradcheck: _exit(0)"),
        (Ending("timeout", seconds=0.5), "benchmark", "did not come back in benchmark: time-out after 0.5 s"),
        (
            Ending("memory", 2**31),
            "opcheck",
            "was ended in opcheck: out of memory: more than 2 GiB beyond what the inputs need",
        ),
        (Ending("output", 64 << 20), "trial", "was ended in trial: too much output: more than 64 MiB"),
        (Ending("stopped", signal.SIGSTOP), "forward", "was stopped in forward: SIGSTOP (stopped from outside)"),
        (Ending("processes", 1), "forward", "forked in forward: it left 1 child process"),
        (Ending("signal", signal.SIGSEGV), "", "crashed between two calls: SIGSEGV (segmentation fault)"),
    ],
)
def test_step_and_ending_make_a_sentence(ending: Ending, step: str, sentence: str) -> None:
    """Whatever ended it, and in whatever step, the first line reads as a sentence."""
    assert str(told(ending, step=step)).split("\n")[0] == f"kernel 'axpy/mine@2' {sentence}"


def test_place_is_the_innermost_line_that_the_user_wrote() -> None:
    """Lines of the generated binding are shown only where there is no other; unknown lines never."""
    binding, unknown = Place("axpy/mine (binding)", 9, "call"), Place("axpy/mine", 0, "")
    sources = {"axpy/mine": TEXT, "axpy/mine (binding)": "\n" * 8 + "forward(x, y);\n"}
    assert told(**fault(0), places=[binding, unknown, HERE], sources=sources).place == "axpy/mine@2:6"
    alone = told(**fault(0), places=[binding], sources=sources)
    assert alone.place == "axpy/mine@2 (binding):9" and "-> 9 | forward(x, y);" in alone.excerpt


TEXTS = bodies(__file__)
DISPATCHED = TEXTS["dispatched"]


def test_line_inside_of_a_macro_is_found() -> None:
    """Compilers know the line of AT_DISPATCH only; the tensor tells which line of its body it was, where only one can be."""
    place = [Place("axpy/mine", 4, "forward")]
    reads = told(**fault(BASE + 56, region=X), text=DISPATCHED, places=place)
    assert (
        reads.place == "axpy/mine@2:8"
        and "-> 8 |       z_p[i] = x_p[i + 1] / 2;" in reads.excerpt
        and not reads.callers
    )
    divides = told(Ending("signal", signal.SIGFPE), text=DISPATCHED, places=place)
    assert divides.place == "axpy/mine@2:8"
    both = told(**fault(BASE + 56, write=True, region=replace(X, name="z")), text=DISPATCHED, places=place)
    assert both.place == "axpy/mine@2:4"
    assert both.detail == (
        "it writes z[7], 1 element past the end of z (7,) float64; the macro there hides in which of the lines 4 to 11"
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("f();\nwhile (!done)\n  ;\nfor (; i < 9; ++i) {}\n", "axpy/mine@2:2"),
        ("while (!done) {}\nfor (;;) {\n}\n", ""),
        ("while (true) ++i;\n", ""),
        ("DISPATCHED(x, [&] {\n  /* while (true) {} */\n  g();\n  for (;;);\n});\n", "axpy/mine@2:4"),
    ],
    ids=["one", "two", "none", "in a macro"],
)
def test_loop_with_nothing_in_it_has_its_own_line_or_none(text: str, place: str) -> None:
    """The line before it and that of the binding are not told; its own is where the text has one such loop."""
    seen = Evidence("where", still=True)
    crash = told(**timed_out(evidence=seen, busy=1.0), text=text, places=[Place("axpy/mine (binding)", 3, "call")])
    assert crash.place == place and "hides" not in crash.detail


def test_recursion_is_told_once() -> None:
    """A stack of a thousand equal lines names the function, and no line twice."""
    crash = told(**fault(BASE, write=True, overflow=True), places=[Place("axpy/mine", 6, "fib(int)")] * 1000)
    assert crash.detail == "its stack is full of calls of fib(int)" and not crash.callers


def test_assertion_gives_its_own_line() -> None:
    """A failed assert() names file and line, so the excerpt is there without any debug information."""
    crash = told(**aborted(), output="python: axpy/mine:6: at::Tensor forward(): Assertion `i < 7' failed.\nAborted\n")
    assert crash.place == "axpy/mine@2:6" and "-> 6 |" in crash.excerpt


def test_first_of_two_signals_counts() -> None:
    """A process that dies of one signal while it is handling another, or hangs there, died of the first."""
    seen = Evidence("signal", signal.SIGABRT, -6, message="*** stack smashing detected ***: terminated")
    for ending in (Ending("signal", signal.SIGSEGV), Ending("timeout", seconds=10.0)):
        crash = told(ending, seen)
        assert (crash.what, crash.kind) == ("SIGABRT: stack smashing detected: terminated", "signal")


def test_last_words_are_not_told_twice() -> None:
    """What the C library prints when it gives up stands in the headline, and not in the output again."""
    crash = told(
        **thrown("std::runtime_error", "no"),
        output="before\nterminate called after throwing an instance of 'std::runtime_error'\n  what():  no\n",
    )
    assert crash.output == "before"


@pytest.mark.parametrize(
    ("region", "offset", "spot", "distance", "index"),
    [
        (X, 56, "x[7]", "1 element past the end", (7,)),
        (X, 57, "x[7]", "1 element past the end", (7,)),
        (X, 56 + 2**20, "x[131079]", "131073 elements (1 MiB) past the end", (131079,)),
        (X, -1, "x[-1]", "1 element before the start", (-1,)),
        (X, -24, "x[-3]", "3 elements before the start", (-3,)),
        (X, 8, "x[1]", "", (1,)),
        (W, 2640, "weights[15, 0] (element 330)", "1 element past the end", (15, 0)),
        (W, 2640 + 8 * 23, "weights[16, 1] (element 353)", "24 elements past the end", (16, 1)),
        (W, -8, "weights[-1, 21] (element -1)", "1 element before the start", (-1, 21)),
        (EMPTY, 0, "x[0]", "1 element past the end", (0,)),
        (Region("s", BASE, 8, 8, (), "float64"), 8, "element 1", "1 element past the end", (1,)),
        (Region("x", BASE, 80, 8, (7,), "float64"), 80, "element 10", "1 element past the end", (10,)),
        (Region("e", BASE, 0, 8, (3, 0), "float64"), 0, "e[0, 0] (element 0)", "1 element past the end", (0, 0)),
        (Region("", BASE, 5, 1, (5,), "bytes"), 5, "byte 5", "1 byte past the end", (5,)),
        (MADE, 128, "element 16", "2 elements past the end", (16,)),
    ],
)
def test_distance_is_counted_in_elements(
    region: Region, offset: int, spot: str, distance: str, index: tuple[int, ...]
) -> None:
    """An address becomes an index along each axis where that makes sense, and a distance from the nearer end."""
    found = reach(BASE + offset, region)
    assert (found.spot, found.distance, found.index) == (spot, distance, index)


def test_tensor_without_a_name_is_described() -> None:
    """What the kernel made itself is told by what it is as large as; raw memory in bytes."""
    assert told(**fault(BASE + 120, write=True, region=MADE)).detail == (
        "it writes element 15, 1 element past the end of a tensor that forward makes, as large as new_h or new_cell, (15,) float64"
    )
    raw = Region("", BASE, 2**20, 1, (2**20,), "bytes")
    assert (
        told(**fault(BASE - 16, region=raw)).detail
        == "it reads byte -16, 16 bytes before the start of a block of memory, 1 MiB"
    )


def test_sizes_are_written_in_the_largest_unit() -> None:
    """Bytes, KiB, MiB and GiB, with three figures at most."""
    assert [amount(n) for n in (0, 1, 1023, 1536, 2**20, 5 * 2**29)] == [
        "0 bytes", "1 byte", "1023 bytes", "1.5 KiB", "1 MiB", "2.5 GiB",
    ]  # fmt: skip


def test_functions_of_the_c_library_are_named() -> None:
    """A frame in the C library becomes the function's name, one in another file or between functions nothing."""
    library = ctypes.CDLL(None)
    lines = Path("/proc/self/maps").read_text().splitlines()
    maps = [line.split() for line in lines if "libc.so" in line or "libc-" in line]
    base, path = int(maps[0][0].partition("-")[0], 16), maps[0][-1]
    offset = {
        name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value - base
        for name in ("free", "pthread_mutex_lock")
    }
    inside = [Frame(path, offset["free"] + 1), Frame("/elsewhere/libm.so.6", offset["free"]), Frame("", 0)]
    assert calls_of([*inside, Frame(path, offset["pthread_mutex_lock"] + 1)]) == ("free", "pthread_mutex_lock")
    crash = told(**timed_out(evidence=Evidence("where", frames=(Frame(path, offset["pthread_mutex_lock"] + 1),))))
    assert crash.detail == "it was waiting in pthread_mutex_lock() when the time was up"


def test_errors_carry_the_crash() -> None:
    """A time-out is a TimeoutError of Python too, all are RuntimeErrors of ours, and survive being pickled."""
    crash = told(**fault(0))
    error = crash.error(timings=[])
    assert type(error) is CrashError and isinstance(error, LltmInlineError) and isinstance(error, RuntimeError)
    assert str(error) == str(crash) and error.crash is crash and error.timings == ()
    late = told(**timed_out()).error()
    assert type(late) is TimeoutError and isinstance(late, CrashError) and late.timings is None
    with pytest.raises(builtins.TimeoutError, match="did not come back in forward: time-out after 10 s"):
        raise late
    again = pickle.loads(pickle.dumps(late))
    assert type(again) is TimeoutError and again.crash == late.crash and str(again) == str(late)


def test_crash_is_plain_data() -> None:
    """A crash goes to JSON and back whole."""
    crash = told(**fault(BASE + 56, region=X), places=[HERE, HERE], finished=("parity",))
    assert Crash.from_dict(json.loads(json.dumps(crash.to_dict()))) == crash


def test_html_marks_the_line_and_escapes_the_rest() -> None:
    """In a notebook the guilty line is marked, with a sign too, C++ does not become HTML, and no element sets a colour."""
    crash = told(**fault(BASE + 56, region=X), places=[HERE], output="<script>alert(1)</script>\n")
    html = crash._repr_html_()
    [row] = [line for line in html.split("\n") if 'class="li-row li-bad"' in line]
    assert "▶ 6" in row and "data_ptr" in row and "&lt;" in row and "data_ptr<double>" not in html
    assert "<script" not in html and "&lt;script&gt;" in html
    assert "style=" not in html and html.count("<style>") == 1


def test_output_is_cut_to_its_end() -> None:
    """The last lines are kept, and how many there were before is said."""
    crash = told(Ending("exit", 0), output="".join(f"line {n}\n" for n in range(100)))
    assert crash.output.startswith("(80 lines left out)\nline 80\n") and crash.output.endswith("line 99")
    assert "  printed before:\n    (16 lines left out)\n    line 95\n" in str(crash)
    assert tail("a\nb\n", 2) == "a\nb" and tail("a\nb\nc", 2) == "(1 line left out)\nb\nc"


def report_of(crash: Crash | None, output: str = "") -> Report:
    """Make the report of a check that crashed after its first section."""
    parity = Section("parity", 9, (Finding("axpy/mine@2", "parity", "z", "z (7,) float64 differs"),))
    ending = (
        Section("crash", 1, (Finding("axpy/mine@2", "crash", "forward", f"forward {crash.what}"),)) if crash else None
    )
    return Report("axpy/mine@2", "cpu", (parity, ending) if ending else (parity,), crash=crash, output=output)


def test_report_tells_the_crash_first() -> None:
    """The crash is the headline, stands before what was found before, once, and a report with one is never ok."""
    crash = told(**fault(BASE + 56, region=X), places=[HERE])
    report = report_of(crash, "hello\n")
    assert report.headline == crash.headline
    text = str(report)
    assert text.startswith("check of axpy/mine@2 on cpu: WRONG")
    assert text.count("SIGSEGV") == 1 and text.index("SIGSEGV") < text.index("z (7,) float64 differs")
    html = report._repr_html_()
    assert html.count("SIGSEGV") == 1 and html.index("SIGSEGV") < html.index("(7,) float64 differs")
    data = json.loads(json.dumps(report.to_dict()))
    assert data["crash"]["place"] == "axpy/mine@2:6" and data["ok"] is False and data["output"] == "hello"
    right = Section("parity", 1)
    assert Report("a/b", "cpu", (right,)).ok and not Report("a/b", "cpu", (right,), crash=crash).ok


def test_report_shows_what_was_printed() -> None:
    """What a kernel printed stands at the end, its last 20 lines, in text, HTML and data alike."""
    report = report_of(None, "".join(f"<{n}>\n" for n in range(30)))
    assert str(report).endswith("printed:\n  (10 lines left out)\n" + "\n".join(f"  <{n}>" for n in range(10, 30)))
    assert "(10 lines left out)" in report._repr_html_() and "&lt;29&gt;" in report._repr_html_()
    assert report.to_dict()["output"].startswith("(10 lines left out)\n<10>\n") and report.to_dict()["crash"] is None
    assert "printed" not in str(report_of(None)) and "printed" not in report_of(None)._repr_html_()


def test_second_look_says_where_and_leaves_what_happened() -> None:
    """The signal and the step are those of the first death; line, tensor and cause come from the one between guard pages."""
    first = Crash("op/x", "backward", "SIGABRT: corrupted size vs. prev_size", "the heap", output="printed")
    again = Crash(
        "op/x", "forward", "SIGSEGV (segmentation fault)", "below 0", detail="it writes y[-1]", place="op/x:3"
    )
    crash = _with_replay(first, again)
    assert (crash.what, crash.step, crash.output) == (first.what, "backward", "printed")
    assert (crash.place, crash.cause) == ("op/x:3", "below 0")
    assert crash.detail == "run again between guard pages, in forward, it writes y[-1]"
    assert _with_replay(again, replace(again, tensor="y")).tensor == "y"


def test_damage_seen_without_a_crash_is_the_cause() -> None:
    """What the guard saw written beside a tensor explains the crash; elements that were never written do not."""
    first = Crash("op/x", "", "SIGABRT: free(): invalid pointer", "not known")
    written = Finding(
        "op/x", "safety", "y", "forward writes 2 elements past the end of y", "N=3, float64", "", ("look",)
    )
    unwritten = Finding("op/x", "safety", "y", "the one element of y was never written", "N=1, float64")
    crash = _with_findings(first, (unwritten, written))
    assert (crash.detail, crash.smallest) == (written.text, "N=3, float64") and crash.cause.endswith("used: look")
    assert _with_findings(first, (unwritten,)) == _with_findings(first, ()) == first
