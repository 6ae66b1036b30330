"""Addresses become lines of the user's text, with either tool and either compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lltm_inline.autopsy import symbolize as module
from lltm_inline.autopsy.symbolize import Place, symbolize
from lltm_inline.workers.black_box import Frame
from tests.needs import need
from tests.run.worker.dying import compile_library

TEXT = Path(__file__).with_name("symbolized.cpp").read_text()


@pytest.fixture(scope="module", params=["g++", "clang++"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the text."""
    need(request.param)
    return compile_library(TEXT, tmp_path_factory.mktemp("lines") / "library.so", request.param)


@pytest.fixture(params=["addr2line", "llvm-symbolizer"])
def tool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave one tool on PATH."""
    need(request.param)
    found = str(shutil.which(request.param))
    (tmp_path / request.param).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / request.param


def _symbols(library: Path) -> dict[str, tuple[int, int]]:
    """Return address and size of each function."""
    output = subprocess.run(["/usr/bin/nm", "-S", library], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in output.splitlines()]
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4}


def test_inlined_calls_are_told(library: Path, tool: Path) -> None:
    """The line of an inlined function comes first, then the one that called it, with the names of `#line`."""
    address, _ = _symbols(library)["user"]
    inlined, user = symbolize([Frame(str(library), address)], library)
    assert (inlined.file, inlined.line) == ("lltm/fused", 3) and user.file == "lltm/fused"
    assert (user.line, user.function) == (6, "user")


def test_headers_are_left_out(library: Path, tool: Path) -> None:
    """Whatever header an instruction comes from, only lines of the user's text are told, its own names among them."""
    address, size = _symbols(library)["sorts"]
    places = symbolize([Frame(str(library), address + i) for i in range(size)], library)
    assert {place.file for place in places} == {"conv_bn/mine"} and {2, 3} <= {place.line for place in places} <= {
        1,
        2,
        3,
        4,
        5,
    }


def test_order_and_other_files(library: Path, tool: Path, tmp_path: Path) -> None:
    """The order is that of the frames; other files, and frames in none, are passed over; a link is the file itself."""
    symbols = _symbols(library)
    link = tmp_path / "link.so"
    link.symlink_to(library)
    frames = [
        Frame("", 4096),
        Frame("/usr/lib/none.so", symbols["user"][0]),
        Frame(str(link), symbols["binding"][0]),
        Frame(str(library), symbols["user"][0]),
    ]
    assert [(place.file, place.line) for place in symbolize(frames, library)] == [
        ("lltm/fused (binding)", 2),
        ("lltm/fused", 3),
        ("lltm/fused", 6),
    ]
    assert symbolize(frames[:2], library) == []


def test_without_any_tool(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without addr2line and llvm-symbolizer there are no lines, and no error."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert symbolize([Frame(str(library), _symbols(library)["user"][0])], library) == []


def test_all_frames_take_one_run(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole stack is one run of the tool, and a stack without the library none."""
    runs: list[object] = []
    real = module._run
    monkeypatch.setattr(module, "_run", lambda command: runs.append(command) or real(command))
    address = _symbols(library)["binding"][0]
    assert symbolize([Frame(str(library), address)] * 64, library) == [Place("lltm/fused (binding)", 2, "binding")] * 64
    assert symbolize([Frame("other.so", address)], library) == [] and len(runs) == 1


def test_library_that_is_gone_or_no_library(tmp_path: Path) -> None:
    """A library that was deleted, or is cut short, has no lines; nothing is raised."""
    path = tmp_path / "library.so"
    assert symbolize([Frame(str(path), 16)], path) == []
    path.write_bytes(b"\x7fELF" + os.urandom(100))
    assert symbolize([Frame(str(path), 16)], path) == []
