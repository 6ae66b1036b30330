"""What the machine does to a build or a call is nobody's grade; and what a text does to it, or says of it, is its own."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from lltm_inline.compiling import cache
from lltm_inline.errors import InfraError
from tests.lab.test_judge import grade
from tests.needs import needs
from tests.planted.cheats import RIGHT

pytestmark = needs("Landlock and seccomp")


def _new(name: str) -> str:
    """Write a right text that no other test compiles: it would be there already."""
    return f"// {name}\n{RIGHT}"


@contextmanager
def _meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Do something again and again while the body runs."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(0.01):
            act()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _compilers() -> Iterator[psutil.Process]:
    """Find what compiles in the cache of this test."""
    for one in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if one.name() in ("cc1plus", "clang", "clang++") and one.cwd().startswith(str(cache.cache_dir())):
                yield one


def test_a_compiler_that_is_killed_is_no_mistake_of_the_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where there is too little memory for all compilers at once: nothing is graded."""

    def kill() -> None:
        for one in _compilers():
            with suppress(psutil.Error):
                one.send_signal(signal.SIGKILL)

    with monkeypatch.context() as alone:
        alone.setenv("LLTM_INLINE_CACHE", str(tmp_path / "cache"))
        with _meanwhile(kill), pytest.raises(InfraError, match="nothing can be compiled here: "):
            grade(_new("killed"))
    assert not any(mark.reason for mark in grade(_new("killed")).values())


@pytest.mark.full
def test_a_cache_that_is_removed_is_no_mistake_of_the_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever tidies up while a class is graded takes no points."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "cache"))

    def remove() -> None:
        if any(True for _ in _compilers()):
            shutil.rmtree(tmp_path / "cache" / "tmp", ignore_errors=True)

    with _meanwhile(remove), pytest.raises(InfraError):
        grade(_new("removed"))


WORDS = {
    "error": '#error "x.s: No space left on device"',
    "pragma": '#pragma GCC error "fatal error: error writing to x.s: No space left on device"',
    "assertion": 'static_assert(false, "Killed signal terminated program cc1plus");',
    "two lines": 'static_assert(false, "x\\ng++: fatal error: Killed signal terminated program cc1plus");',
    "a warning, too": '#warning "No space left on device"\nint x = why;',
}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(text, id=name, marks=[pytest.mark.full] * (name not in ("error", "pragma")))
        for name, text in WORDS.items()
    ],
)
def test_a_text_that_says_so_is_wrong(words: str) -> None:
    """It speaks of the machine as a compiler does, at a line of its own."""
    marks = grade(f"{words}\n{RIGHT}")
    assert marks["builds"].reason.startswith("line ") and not any(mark.points for mark in marks.values())


def test_what_a_compiler_may_write() -> None:
    """More is the text's own mistake."""
    reason = grade(f"char all[200 << 20] = {{1}};\n{RIGHT}")["builds"].reason
    assert reason == "is compiled to more than a file may hold: is there a large initialised array?"


@pytest.mark.full
def test_hundreds_of_threads() -> None:
    """They wait for each other: what they take of the processors together ends them."""
    spin = "for (volatile bool on = true; on;) {}"
    text = RIGHT.replace(
        "const at::Tensor a =",
        f"std::vector<std::thread> all;\n  try {{ for (int n = 0; n < 480; ++n) all.emplace_back([] {{ {spin} }}); }} catch (...) {{}}\n"
        f"  {spin}\n  const at::Tensor a =",
        1,
    )
    marks = grade(f"#include <thread>\n#include <vector>\n{text}")
    assert "does not come back within" in marks["parity"].reason or "threads at once" in marks["parity"].reason
