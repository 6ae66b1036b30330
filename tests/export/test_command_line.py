"""`python -m lltm_inline export` is a thin twin of `li.export`, and what it prints can be typed."""

from __future__ import annotations

from pathlib import Path

import pytest

import lltm_inline as li
from lltm_inline.__main__ import main
from tests.html_checks import read


def test_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what went where, then each command behind a line that says what it does."""
    header = tmp_path / "LICENSE"
    header.write_bytes(b"\xef\xbb\xbfCopyright Ada\r\nAll rights\r\n")
    to = tmp_path / "export"
    words = ["axpy/aten", "--to", str(to), "--how", "load", "--name", "ada", "--header", str(header), "--no-check"]
    assert main(["export", *words]) == 0
    printed = capsys.readouterr().out.split("\n")
    assert printed[0].startswith(f"axpy/aten is in {to}: package ada, ") and printed[0].endswith("files, built by load")
    assert printed[1] == "axpy/aten was exported unchecked"
    assert all(line.startswith("# ") for line, before in zip(printed[3:], printed[2:], strict=False) if not before)
    assert (to / "ada" / "__init__.py").read_text().startswith("# Copyright Ada\n# All rights\n")
    assert (to / "csrc" / "ada.h").read_text().startswith("// Copyright Ada\n// All rights\n")
    assert "\r" not in "".join(path.read_bytes().decode() for path in to.rglob("*") if path.is_file())


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage is 2, and says what to do; nothing is written."""
    (tmp_path / "mine").touch()
    for words in (["axpy/aten"], ["lltm/fused", "--how", "stable"], ["axpy/aten", "--name", "No"], ["nothing/aten"]):
        assert main(["export", words[0], "--to", str(tmp_path), "--no-check", *words[1:]]) == 2
        assert capsys.readouterr().err.startswith("lltm-inline: ")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    with pytest.raises(SystemExit, match="2"):
        main(["export", "axpy/aten", "--to", str(tmp_path), "--header", str(tmp_path / "none")])
    assert "cannot be read" in capsys.readouterr().err


def test_it_shows_itself(tmp_path: Path) -> None:
    """In a notebook there are the commands to copy, and the files behind a fold."""
    export = li.export("axpy/aten", tmp_path / "a<b", "load", check=False)
    page = export._repr_html_()
    assert not read(page).problems
    assert "a&lt;b" in page and "csrc/cpu_kernel.cpp" in page
    for what, command in export.commands:
        assert what in page and command.split()[0] in page
