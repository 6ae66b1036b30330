"""Races, and accesses that miss, are found each time, by lines, element and variable; what is in order is left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.follow import Follower
from lltm_inline.checking.guard import Guard
from lltm_inline.compiling.compiler import make_job, run_jobs
from lltm_inline.compiling.job import follower_job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import BuildError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.run.built import build_all
from lltm_inline.run.library import load_built
from lltm_inline.run.setting import Setting
from tests.planted.together import Planted, together
from tests.quick import QUICK
from tests.tiny import registry_as_before

PLANTED = Path(__file__).parents[1] / "planted"
#: What two threads do to one place, and what one does to memory.
FOLDERS = ("threads", "memory")
WRONG = [path.stem for folder in FOLDERS for path in sorted((PLANTED / folder / "wrong").glob("*.cpp"))]
HEAD = (
    "".join(
        f"#include <{name}>\n"
        for name in ("torch/extension.h", "ATen/Parallel.h", "atomic", "functional", "mutex", "vector", "cstring")
    )
    + "#ifdef _OPENMP\n#include <omp.h>\n#endif\n"
)
#: clang++ is not told of OpenMP here: its threads are others than torch's.
COMPILERS = [QUICK, pytest.param("g++", marks=pytest.mark.full)]


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    """Forget the snippets of each test."""
    with registry_as_before():
        yield


@pytest.fixture
def op() -> Op:
    """An op that hands a tensor to one of many texts."""
    made = Op(
        "planted",
        "(Tensor x, int which) -> Tensor y",
        lambda x, which: x,
        {"x": "...", "y": "..."},
        inputs=lambda randn, N: (randn(N), 0),
        dtypes=("float32",),
    )
    return registry.register(made)


def planted(kind: str, compiler: str) -> tuple[list[Planted], str]:
    """The texts of a kind that a compiler takes for parallel ones."""
    paths = [path for folder in FOLDERS for path in sorted((PLANTED / folder / kind).glob("*.cpp"))]
    return together([path for path in paths if compiler != QUICK or "omp" not in path.stem], HEAD)


def followed(text: str, compiler: str) -> tuple[Any, Follower]:
    """Build a text for the follower, and load it."""
    (built,) = build_all([Kernel("planted/all", cpp=text)], Setting(compiler=compiler), followed=True)
    assert built.follower and built.follower.library
    function = load_built(built.follower)
    assert built.job
    return lambda x, which: function(x, which), Follower(built.follower.library, built.job)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.falls(*WRONG)
def test_faults(op: Op, compiler: str) -> None:
    """Each is found, ten times of ten, at its lines and by the name of what it is about."""
    texts, text = planted("wrong", compiler)
    function, follower = followed(text, compiler)
    guard, missed = Guard(progress=False), {}
    for one in texts * 10:
        with guard.at_end(torch.float32), follower.following(guard) as races:
            guard.expect("forward", {})
            x = guard.place("x", one.x)
            guard.name("y", function(x, one.number))
        told = [race for race in races if re.search(one.said("report"), race.text)]
        lines = {place.line for race in told for place in race.places if place}
        if not lines or not lines <= {*one.lines}:
            missed[one.name] = f"{[race.text for race in races]}; want {one.lines}"
    assert not missed, "\n".join(f"{name}: {what}" for name, what in missed.items())


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_in_order(op: Op, compiler: str) -> None:
    """Nothing is told of it, and it gives what PyTorch gives: three times, as one part may leave something to the next."""
    texts, text = planted("right", compiler)
    function, follower = followed(text, compiler)
    guard, told = Guard(progress=False), {}
    for one in texts * 3:
        x = one.x
        with guard.at_end(torch.float32), follower.following(guard) as races:
            y = function(guard.place("x", x), one.number)
        if races:
            told[one.name] = [race.text for race in races]
        torch.testing.assert_close(y, eval(one.said("y"), {"x": x, "torch": torch}), msg=one.name)
    assert not told, "\n".join(f"{name}: {what}" for name, what in told.items())


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.falls("int_loop", "rows_in_int", "widened_too_late")
def test_indices_of_32_bits(op: Op, compiler: str) -> None:
    """One that has to be beyond them in a large tensor is told at its line, with the size, and no other one."""
    texts, text = together(sorted((PLANTED / "memory" / "narrow").glob("*.cpp")), HEAD)
    function, follower = followed(text, compiler)
    guard, missed = Guard(progress=False), []
    for one in texts:
        for x in (one.x, torch.rand(11, 3)):
            with guard.at_end(torch.float32), follower.following(guard) as faults:
                guard.name("y", y := function(guard.place("x", x), one.number))
                assert torch.equal(y, x), one.name
            assert not faults
    told = follower.narrow()
    for one in texts:
        own = [note for note in told if any(note.startswith(f"planted/all:{line}: ") for line in one.lines)]
        if one.said("note") != "none" and not any(re.search(one.said("note") + r"\Z", note) for note in own):
            missed.append((one.name, own))
        told = [note for note in told if note not in own]
    assert not missed and not told, (missed, told)


@pytest.mark.usefixtures("quick_compiler")
def test_a_check_notes_an_index_of_32_bits() -> None:
    """Where the text does not look at such sizes itself."""
    text = """
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) {
  torch::Tensor y = torch::empty_like(x);
  for (int i = 0; i < x.numel(); ++i) y.data_ptr<float>()[i] = 2 * x.data_ptr<float>()[i];
  return y;
}
"""
    plain = text.replace("  for", "  float *p = x.data_ptr<float>(), *o = y.data_ptr<float>();\n  for")
    plain = re.sub(r"([xy])\.data_ptr<float>\(\)\[", lambda found: f"{'po'[found[1] == 'y']}[", plain)
    limited = plain.replace("empty_like(x);", "empty_like(x);\n  TORCH_CHECK(x.numel() <= INT_MAX);")
    for one, is_told in ((plain, True), (limited, False)):
        kernel = li.from_load_inline("e", one, functions=["f"], reference=lambda x: 2 * x, inputs=(torch.rand(37),))
        report = li.check(kernel, progress=False)
        assert report.ok
        told = "f/inline:6: i, an index of y and x, is computed in int: wrong from 2,147,483,648 elements on; make it int64_t i"
        assert (told in report["safety"].notes) == is_told, report["safety"]


SUM = """
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) {
  const float* p = x.data_ptr<float>();
  float total = 0;
  at::parallel_for(0, x.numel(), 1, [&](int64_t a, int64_t b) {
    float own = 0;
    for (int64_t i = a; i < b; ++i) own += p[i];
    total += own;
  });
  return at::full({1}, total, x.options());
}
"""


def snippet(text: str) -> Kernel:
    """A snippet that sums its input."""
    return li.from_load_inline(
        "e", text, functions=["f"], reference=lambda x: x.sum().reshape(1), inputs=(torch.rand(37),)
    )


@pytest.mark.usefixtures("quick_compiler")
def test_a_check_tells_the_race() -> None:
    """Though every number is right: the finding has element, threads, lines, and what to do."""
    report = li.check(snippet(SUM), progress=False)
    (found,) = report["safety"].findings
    assert re.fullmatch(
        r"race: a local variable that all threads share is written by thread 0 at f/inline:9 and "
        r"(?:read|written) by thread 1 at f/inline:9, in no certain order",
        found.text,
    )
    assert found.hints == (
        "let each thread write places of its own and put them together afterwards, or make it atomic",
    )


@pytest.mark.usefixtures("quick_compiler")
def test_a_check_of_what_is_in_order_follows_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is right, and its cases are counted."""
    text = (
        SUM.replace("{1}, total", "{1}, total.load()")
        .replace("float total = 0", "std::atomic<float> total{0}")
        .replace(
            "total += own", "for (float before = total; !total.compare_exchange_weak(before, before + own);) continue"
        )
    )
    report = li.check(snippet("#include <atomic>\n" + text), progress=False)
    monkeypatch.setattr("lltm_inline.run.built.follower_job", lambda job: None)
    without = li.check(snippet("#include <atomic>\n" + text), progress=False)
    assert report.ok and without.ok
    assert report["safety"].cases > without["safety"].cases


#: What is wrong with each shows in the second library alone: of what the first one computes nothing depends on it.
ENDED = {
    "array": (
        "float ring[4] = {};",
        "if (ring[i % 5] > 5) o[i] = 0;",
        r"'f/inline[^']*' out of bounds: index 4 of ring at f/inline:8, in an array of type 'float ?\[4\]'",
    ),
    "untold": (  # what changes something is not told of: this is no index of p
        "float ring[4] = {}; int at = 0;",
        "if (ring[(at += 1) % 5] > 5) o[i] = 0;",
        r"'f/inline[^']*' out of bounds: index 4 at f/inline:8, in an array of type 'float ?\[4\]'",
    ),
    "std_array": (
        "std::array<float, 4> ring = {};",
        "if (ring[i % 5] > 5) o[i] = 0;",
        r"'f/inline[^']*' out of bounds: index 4 of ring at f/inline:8, which has 4 elements",
    ),
    "row": (
        "const torch::Tensor both = x.expand({2, x.size(0)}).contiguous(); const auto rows = both.accessor<float, 2>();",
        "if (i > 30 && rows[0][i + 1] > 5) o[i] = 0;",
        r"'f/inline[^']*' out of bounds: index 37 of rows at f/inline:8, which has 37 elements",
    ),
    "unset": (
        'float far[9], *seen = far; asm volatile("" : "+r"(seen));',
        "if (!(seen[3] > -1e30f && seen[3] < 1e30f)) o[i] = 1e20f;",
        r"'f/inline[^']*' uninitialised: y depends on what local variables hold before they are set",
    ),
}


@pytest.mark.usefixtures("quick_compiler")
@pytest.mark.parametrize("name", ENDED)
@pytest.mark.falls(*ENDED)
def test_arrays_of_the_text(name: str) -> None:
    """An index past one ends the second library, and a check says which; what nobody has set holds something else there."""
    first, then, said = ENDED[name]
    text = f"""
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) {{
  torch::Tensor y = torch::empty_like(x);
  float *p = x.data_ptr<float>(), *o = y.data_ptr<float>();
  {first}
  for (int64_t i = 0; i < x.numel(); ++i) {{
    o[i] = 2 * p[i]; {then}
  }}
  return y;
}}
"""
    kernel = li.from_load_inline("e", text, functions=["f"], reference=lambda x: 2 * x, inputs=(torch.rand(37),))
    report = li.check(kernel, progress=False)
    assert re.search(said, str(report)), report


@pytest.mark.usefixtures("quick_compiler")
def test_what_ends_where_an_array_ends() -> None:
    """The address of the element past the last one is right, and so is the 0 at the end of a string."""
    text = """
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) {
  torch::Tensor y = torch::empty_like(x);
  const std::string name = "name";
  std::array<float, 8> all{};
  const float* p = x.data_ptr<float>();
  auto o = y.accessor<float, 1>();
  for (int64_t begin = 0; begin < x.numel(); begin += 8) {
    const int64_t count = std::min<int64_t>(8, x.numel() - begin);
    std::copy_n(p + begin, count, &all[0]);
    for (float* at = &all[0]; at != &all[8]; ++at) *at *= name[4] + 2.0f;
    for (int64_t i = 0; i < count; ++i) o[begin + i] = all[i];
  }
  return y;
}
"""
    kernel = li.from_load_inline("e", text, functions=["f"], reference=lambda x: 2 * x, inputs=(torch.rand(37),))
    report = li.check(kernel, progress=False)
    assert report.ok and "races" not in str(report["safety"].skipped), report


@pytest.mark.usefixtures("quick_compiler")
def test_an_exception_of_the_text_is_no_index_of_ours() -> None:
    """It may be of the same type, and begin with the same word."""
    text = """
#include <torch/extension.h>
static float two(int64_t i) noexcept { if (i > 5) throw std::out_of_range("index too large"); return 2; }
torch::Tensor f(torch::Tensor x) {
  torch::Tensor y = torch::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) y.data_ptr<float>()[i] = two(i) * x.data_ptr<float>()[i];
  return y;
}
"""
    kernel = li.from_load_inline("e", text, functions=["f"], reference=lambda x: 2 * x, inputs=(torch.rand(37),))
    crash = li.check(kernel, progress=False).crash
    assert crash is not None and crash.what == "uncaught std::out_of_range: index too large"


@pytest.mark.usefixtures("quick_compiler")
def test_what_destroys_the_memory_of_others() -> None:
    """It is told by vector, byte and line, whether malloc ends the process of it much later, or nobody notices."""
    text = """
#include <torch/extension.h>
torch::Tensor f(torch::Tensor x) {
  std::vector<float> sums(x.numel());
  for (int64_t i = 0; i < x.numel() + 4; ++i) sums[i] = x.data_ptr<float>()[0];
  return 2 * x;
}
"""
    kernel = li.from_load_inline("e", text, functions=["f"], reference=lambda x: 2 * x, inputs=(torch.rand(38),))
    report = li.check(kernel, progress=False)
    assert not report.ok
    said = "out of bounds: sums[38] (byte 152 of 152 bytes that the text allocates) is written at f/inline:5"
    assert said in str(report), report


def test_what_leaves_memory_to_torch_is_not_compiled_twice() -> None:
    """A comment that speaks of parallel loops makes no difference."""
    text = "#include <torch/extension.h>\n// parallel_for\ntorch::Tensor f(torch::Tensor x) { return x.sum(); }"
    toolchain = find_toolchain(QUICK)
    assert follower_job(make_job(snippet(text), toolchain)) is None
    assert follower_job(make_job(snippet(SUM), toolchain)) is not None


def test_a_text_that_fails_fails_by_itself() -> None:
    """The error is that of the text as it is compiled for the user; and one that cannot be followed is checked without."""
    (built,) = build_all([snippet(SUM)], Setting(compiler=QUICK), followed=True)
    assert built.job
    job = follower_job(built.job)
    assert job
    broken = replace(job, text=f"{job.text}\nint f() {{ return nothing; }}\n")
    assert run_jobs([broken], progress=False) == []
    assert run_jobs([broken], progress=False) == [], "as it is remembered"
    with pytest.raises(BuildError, match="nothing"):
        run_jobs([replace(broken, spare=False)], progress=False)


@pytest.mark.usefixtures("quick_compiler")
def test_a_text_that_cannot_be_followed_is_checked_without() -> None:
    """The report says so."""
    text = SUM.replace("torch::Tensor f(", "#if __has_feature(thread_sanitizer)\n#error no\n#endif\ntorch::Tensor f(")
    text = text.replace("float total", "std::atomic<float> total").replace("{1}, total", "{1}, total.load()")
    report = li.check(
        snippet(text.replace("= 0;\n  at", "{0};\n  at").replace("total += own", "own += 0")), progress=False
    )
    assert "races: where each load and store is followed, the text does not compile" in report["safety"].skipped
    assert "race" not in str(report["safety"].findings)


@pytest.mark.usefixtures("quick_compiler")
def test_a_text_that_crashes_where_it_is_followed_is_checked_without() -> None:
    """What is right is not wrong for what the second library does."""
    abort = "\n#if __has_feature(thread_sanitizer)\n  std::abort();\n#endif"
    text = SUM.replace("f(torch::Tensor x) {", f"f(torch::Tensor x) {{{abort}").replace("total += own", "own += 0")
    report = li.check(snippet(text.replace("float total = 0", "float total = x.sum().item<float>()")), progress=False)
    assert report.ok and "where each load and store is followed, the text ends the process" in str(
        report["safety"].skipped
    )
