"""`self_check` praises what is solved, says what is missing of what is not, and never fails on an answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.errors import InputError, ToolchainError
from lltm_inline.lesson import Verdict, _failed
from tests import tiny as tiny_module

PRAISE, ADVICE = "All of it holds.", "Look at the factor."


def verdict(**arguments: Any) -> Verdict:
    """Call `self_check` with a sentence of each kind."""
    return li.self_check("01.2", praise=PRAISE, advice=ADVICE, **arguments)


def test_right_kernel_is_praised(tiny: Callable[..., Any]) -> None:
    """A kernel that the check finds right is solved; the sentence is the author's, the evidence the report."""
    found = verdict(kernel=tiny(2))
    assert found.ok and found.text == PRAISE
    assert str(found) == repr(found) == f"Exercise 01.2: solved. {PRAISE}"
    assert found.evidence.ok


def test_wrong_kernel_gets_the_finding_and_the_advice(tiny: Callable[..., Any]) -> None:
    """Of a wrong kernel the verdict says what the check found first, and then what to do."""
    found = verdict(kernel=tiny(3))
    assert not found.ok
    assert found.text.startswith("'tiny/stable' y (23,) float64 differs in all 23 elements")
    assert found.text.endswith(f". {ADVICE}")
    assert str(found).startswith("Exercise 01.2: not yet. 'tiny/stable' y")
    assert found.evidence.findings


def test_compile_error_is_advice(tiny: Callable[..., Any]) -> None:
    """A kernel that does not compile is not an exception; the verdict has the compiler's first message with its line."""
    found = verdict(kernel=tiny(2, text=tiny_module.BROKEN))
    assert not found.ok
    assert found.text.startswith("'tiny/stable' does not compile: tiny/stable:20:")
    assert "'FACTORY' was not declared" in found.text and found.text.endswith(ADVICE)
    assert isinstance(found.evidence, li.BuildError)


def test_function_that_does_not_fit_is_advice(tiny: Callable[..., Any]) -> None:
    """A signature error, found before anything is compiled, is told in the same way."""
    found = verdict(kernel=tiny(2, text="Tensor forward() { return Tensor(); }"))
    assert not found.ok and found.text.startswith("'tiny/stable' does not fit op 'tiny': tiny/stable:1:")
    assert "'forward' takes 0 arguments, op 'tiny' has 1: x" in found.text


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("kernel 'a/b' did not compile (g++ 12.2, torch 2.13)", "does not compile"),
        ("kernel 'a/b' did not link (g++ 12.2, torch 2.13)\n  did not compile", "does not link"),
        ("kernel 'a/b' did not load (g++ 12.2, torch 2.13)", "does not load"),
        ("kernel 'a/b' does not fit op 'a'; nothing was compiled", "does not fit op 'a'"),
        ("kernel 'a/b' took longer than 300 s", "cannot be built"),
    ],
)
def test_where_a_build_failed_is_told_as_it_is(message: str, said: str) -> None:
    """What does not link or load is not said not to compile."""
    assert _failed(li.BuildError(message, kernel="a/b")) == said


@pytest.mark.parametrize("missing", [None, ..., "tiny/nowhere", "tiny/stable@7"])
def test_no_kernel_yet(tiny: Callable[..., Any], missing: Any) -> None:
    """None, the dots of an exercise, and a name that nobody has registered are no answer yet, and get no advice."""
    name = f" {missing!r}" if isinstance(missing, str) else ""
    here = "" if name else " here"
    assert str(verdict(kernel=missing)) == f"Exercise 01.2: not yet. There is no kernel{name}{here} yet."


def test_what_is_no_kernel() -> None:
    """A source text or a number in the place of a kernel is told as what it is."""
    assert verdict(kernel=3).text == f"The answer is 3, want a Kernel or the name of one. {ADVICE}"
    text = verdict(kernel="int f() { }").text
    assert text == f"The answer is the text 'int f() {{ }}', want a Kernel made of it, or the name of one. {ADVICE}"


@pytest.mark.parametrize("missing", [None, ...])
def test_no_value_yet(missing: Any) -> None:
    """None and dots are no answer of any kind, and no condition is asked about them."""
    found = verdict(value=missing, also=[("never", lambda value: 1 / 0)])
    assert found.text == f"There is no answer here yet. {ADVICE}"


def test_label_means_the_current_revision(tiny: Callable[..., Any]) -> None:
    """By name the newest registered revision is looked at, and `name@n` is the revision n."""
    first = li.registry.register(tiny(3))
    li.registry.register(first.replace(params={"FACTOR": 2}))
    assert verdict(kernel="tiny/stable").ok
    assert not verdict(kernel="tiny/stable@0").ok


def test_unchanged_kernel(tiny: Callable[..., Any]) -> None:
    """A kernel whose text differs from the given one in comments and blanks only is as it was, and gets no advice."""
    given = tiny(2)
    commented = given.edit("return times(x, FACTOR);", "return  times(x, FACTOR);  // done")
    found = verdict(kernel=commented, changed_from=given)
    assert found.text == "'tiny/stable@1' is as it was."
    other = dataclasses.replace(given, name="tiny/mine")
    assert verdict(kernel=other, changed_from=given).text == "'tiny/mine' still says what 'tiny/stable' says."
    assert verdict(kernel=tiny(2.0, flags=("-O2",)), changed_from=given).ok


def test_changed_from_a_name(tiny: Callable[..., Any]) -> None:
    """By name the answer is compared with what that name was at first, not with itself."""
    first = li.registry.register(tiny(3))
    assert "is as it was" in verdict(kernel="tiny/stable", changed_from="tiny/stable").text
    li.registry.register(first.replace(params={"FACTOR": 2}))
    assert verdict(kernel="tiny/stable", changed_from="tiny/stable").ok


def test_a_wrong_kernel_can_be_what_is_wanted(tiny: Callable[..., Any]) -> None:
    """With `expect="wrong"` the kernel has to be wrong, and with `finds` in the way that was asked for."""
    assert verdict(kernel=tiny(3), expect="wrong", finds="d_x").ok
    found = verdict(kernel=tiny(3), expect="wrong", finds="d_bias")
    assert found.text.startswith("'d_bias' stands nowhere in what was found: 'tiny/stable' y (23,)")
    found = verdict(kernel=tiny(2), expect="wrong")
    assert (
        found.text == f"'tiny/stable' is right, and this exercise wants one that is wrong, and does not crash. {ADVICE}"
    )


def test_a_crash_can_be_what_is_wanted(tiny: Callable[..., Any]) -> None:
    """With `expect="crash"` only a crash will do; anywhere else it is an answer like others, and this process lives."""
    null = tiny(2, text=tiny_module.STABLE.replace("return to;", "*(volatile int*)nullptr = 1; return to;"))
    found = verdict(kernel=null, expect="crash", finds="SIGSEGV")
    assert found.ok and found.evidence.crash is not None
    assert "SIGSEGV" in verdict(kernel=null).text
    assert "and this exercise wants one that is wrong, and does not crash" in verdict(kernel=null, expect="wrong").text
    assert verdict(kernel=tiny(2), expect="crash").text.endswith(f"and this exercise wants one that crashes. {ADVICE}")


def test_conditions_are_told_in_their_own_words(tiny: Callable[..., Any]) -> None:
    """The first condition that does not hold is told by its sentence; a function is asked about the answer."""
    conditions = [("One.", True), ("It has no params.", lambda kernel: kernel.params), ("Three.", False)]
    found = verdict(kernel=tiny(2), also=conditions)
    assert not found.ok and found.text == "Three." and found.evidence is None
    assert verdict(value=3, also=[("It is even.", lambda number: number % 2 == 0)]).text == "It is even."
    assert verdict(value=4, also=[("It is even.", lambda number: number % 2 == 0)]).ok


def test_condition_that_raises_does_not_hold() -> None:
    """An answer of another kind than the condition expects is told with what Python said."""
    text = verdict(value="four", also=[("A number.", lambda number: number - 1 == 3)]).text
    assert text.startswith("A number. Looking at the answer, 'four', raised TypeError: unsupported operand")
    # A comparison of tensors is no truth value, and a student sees why.
    text = verdict(value=torch.ones(2), also=[("Ones.", lambda tensor: tensor == 1)]).text
    assert text.startswith(
        "Ones. Looking at the answer, tensor([1., 1.]), raised RuntimeError: Boolean value of Tensor"
    )


def test_html_says_the_same_and_is_escaped(tiny: Callable[..., Any]) -> None:
    """In a notebook the sentence stands with its state in words, and the evidence below it, folded."""
    shown = Verdict("01.2", False, "<b> & co")._repr_html_()
    assert "&lt;b&gt; &amp; co" in shown and "not yet" in shown and "<details" not in shown
    assert "<code>a &lt; b</code>, c" in Verdict("01.2", False, "`a < b`, c")._repr_html_()
    assert "one ` only" in Verdict("01.2", False, "one ` only")._repr_html_()
    shown = verdict(kernel=tiny(3))._repr_html_()
    assert "<details" in shown and "differs in all 23 elements" in shown
    shown = verdict(kernel=tiny(2))._repr_html_()
    assert "solved" in shown and PRAISE in shown and "<details" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"value": 1, "kernel": None}, "exercise 01.2: got kernel and value, want one of them"),
        ({}, "exercise 01.2: got neither kernel= nor value=, want one of them"),
        ({"value": 1, "praise": " "}, "praise=' ', want a text"),
        ({"value": 1, "advice": 3}, "advice=3, want a string"),
        ({"kernel": "axpy/cpp", "expect": "fast"}, "expect='fast', want one of 'right', 'wrong', 'crash'"),
        ({"value": 1, "also": ["It is odd."]}, "exercise 01.2: also='It is odd.', want pairs of a sentence and a condition"),
    ],
)  # fmt: skip
def test_a_lesson_that_contradicts_itself_is_refused(arguments: dict[str, Any], message: str) -> None:
    """What the author of a lesson got wrong raises, so that no student is told it."""
    with pytest.raises(InputError) as caught:
        li.self_check("01.2", **{"praise": PRAISE, "advice": ADVICE, **arguments})
    assert str(caught.value) == message


def test_a_machine_that_cannot_build_is_no_wrong_answer(
    tiny: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a compiler the exercise is not judged; the error has the command that mends the machine."""
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ToolchainError):
        verdict(kernel=tiny(2.5))
