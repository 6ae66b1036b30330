"""Source files in: `Kernel.from_files`, and what it refuses."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lltm_inline as li
from lltm_inline.errors import DefinitionError, FileError, InputError, LltmInlineError
from lltm_inline.model.registry import Kernel, registry
from tests.properties.malformed import ANYTHING, PROFILE, answer
from tests.tiny import STABLE

TEXT = "at::Tensor forward(const at::Tensor& x) {\n  return x + A;\n}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a kernel's file."""
    path = tmp_path / "kernel.cpp"
    path.write_text(TEXT)
    return path


def refused(path: Path, data: bytes, error: type[Exception] = InputError) -> str:
    """Return what is said of a file of these bytes that is named without its directory: a message shortens long paths."""
    path.write_bytes(data)
    with contextlib.chdir(path.parent), pytest.raises(error) as raised:
        Kernel.from_files("tiny/file", cpp=path.name)
    return str(raised.value)


def test_a_file_is_a_kernel(tiny: Any, tmp_path: Path) -> None:
    """A file with the two functions is a kernel like any other: it builds, and its check is right."""
    path = tmp_path / "double.cpp"
    path.write_text(STABLE)
    kernel = Kernel.from_files("tiny/file", cpp=str(path), api="stable", params={"FACTOR": 2}, doc="y = 2 x")
    assert kernel == Kernel("tiny/file", cpp=STABLE, api="stable", params={"FACTOR": 2})
    assert kernel.doc == "y = 2 x" and kernel.label == "tiny/file"
    registry.register(kernel)
    assert li.check(kernel).ok
    torch.testing.assert_close(li.load(kernel)(torch.ones(3)), torch.full((3,), 2.0))


def test_files_are_taken_as_they_are(tmp_path: Path) -> None:
    """Every letter stays, but for a byte order mark and Windows line ends; both texts and a binding come the same way."""
    text = '\n\t// "é" \U0001f642  \n#include <cmath>\r \nint x;'
    cpp, cuda, binding = (tmp_path / name for name in ("a.cpp", "a.cu", "binding.cpp"))
    cpp.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    cuda.write_bytes(text.encode())
    binding.write_bytes(b"// binding\r\n")
    kernel = Kernel.from_files("tiny/file", cpp=cpp, cuda=cuda, binding=binding)
    assert kernel == Kernel("tiny/file", cpp=text, cuda=text, binding="// binding\n")
    assert Kernel.from_files("tiny/file", cpp=cpp, binding="pybind11").binding == "pybind11"
    assert Kernel.from_files("tiny/file", cuda=cuda).cpp == ""


def test_dollar_signs(tmp_path: Path) -> None:
    """A dollar sign in a file is one; who gives slots has written a template."""
    path = tmp_path / "kernel.cpp"
    path.write_text("// $5\n" + TEXT)
    assert Kernel.from_files("tiny/file", cpp=path).cpp == "// $$5\n" + TEXT
    path.write_text("$TYPE f();\n" + TEXT)
    assert Kernel.from_files("tiny/file", cpp=path, slots={"TYPE": "int"}).cpp == "$TYPE f();\n" + TEXT


def test_local_headers_go_into_the_text(tmp_path: Path) -> None:
    """A header that lies beside the file stands in place of its line, once, with those that it includes; others stay as they are."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "helper.h").write_text('#pragma once\n#include "sub/more.h"\nint helper();\n')
    (tmp_path / "sub" / "more.h").write_text('#include "../helper.h"\n#include <cmath>\n')
    path = tmp_path / "kernel.cpp"
    path.write_text('#include <cmath>\n  # include "helper.h"  // ours\n#include "sub/more.h"\n' + TEXT)
    assert Kernel.from_files("tiny/file", cpp=path).cpp == (
        "#include <cmath>\n// From helper.h.\n// From sub/more.h.\n// ../helper.h stands above.\n#include <cmath>\n\n"
        "int helper();\n\n// sub/more.h stands above.\n" + TEXT
    )
    (tmp_path / "helper.h").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"helper\.h' line 1: byte 0xff at offset 0 is not UTF-8"):
        Kernel.from_files("tiny/file", cpp=path)
    path.write_text('#include "ATen/ATen.h"\n// #include "helper.h"\n/*\n#include "helper.h"\n*/\n' + TEXT)
    assert Kernel.from_files("tiny/file", cpp=path).cpp.startswith('#include "ATen/ATen.h"\n')


def test_files_that_are_no_source_text(tmp_path: Path) -> None:
    """Empty, in another encoding, with a NUL: each is refused by name, the byte with its line."""
    path = tmp_path / "kernel.cpp"
    assert refused(path, b"\xef\xbb\xbf \r\n\n") == "'kernel.cpp' is empty: want C++ or CUDA text"
    assert refused(path, "// all well\r\n// caf\xe9\r\n".encode("latin-1")) == (
        "'kernel.cpp' line 2: byte 0xe9 at offset 19 is not UTF-8: save the file as UTF-8"
    )
    assert refused(path, "int x;".encode("utf-16")) == (
        "'kernel.cpp' line 1: byte 0xff at offset 0 is not UTF-8 (it looks like UTF-16): save the file as UTF-8"
    )
    assert refused(path, b"int x;\0", DefinitionError) == "kernel 'tiny/file': cpp holds a NUL character"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there, a directory, and a pipe, which would never end."""
    with pytest.raises(FileError, match=r"none\.cpp': No such file or directory$"):
        Kernel.from_files("tiny/file", cpp=tmp_path / "none.cpp")
    with pytest.raises(FileError, match=r": Is a directory$"):
        Kernel.from_files("tiny/file", cpp=tmp_path)
    os.mkfifo(tmp_path / "pipe.cu")
    with pytest.raises(FileError, match=r"pipe\.cu' is a device, a pipe or a socket: want a file$"):
        Kernel.from_files("tiny/file", cuda=tmp_path / "pipe.cu")


def test_arguments(file: Path) -> None:
    """What from_files cannot take is refused with what it can."""
    for given_, message in (
        ({}, "kernel 'tiny/file': from_files() needs a file: cpp='kernel.cpp' or cuda='kernel.cu'"),
        (
            {"binding": "pybind11"},
            "kernel 'tiny/file': from_files() needs a file: cpp='kernel.cpp' or cuda='kernel.cu'",
        ),
        ({"cpp": 3}, "cpp=3, want a path"),
        ({"cpp": ""}, "cpp='', want a path"),
        (
            {"cpp": file, "python": len, "sources": []},
            "kernel 'tiny/file': from_files() takes no 'python', 'sources'. Fields beside the files: params, slots, saves, "
            "double_backward, functions, api, flags, doc, revision",
        ),
        ({"cpp": file, "saves": "x"}, "kernel 'tiny/file': saves='x' is a string, want a tuple of strings"),
    ):
        with pytest.raises(LltmInlineError, match=f"^{re.escape(message)}$"):
            Kernel.from_files("tiny/file", **given_)  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="is not 'op/variant'"):
        Kernel.from_files("tiny", cpp=file)


@PROFILE
@given(st.sampled_from(["name", "cpp", "cuda", "binding", "saves", "params", "slots", "more"]), ANYTHING)
def test_anything(field: str, value: Any) -> None:
    """Whatever one argument is, there is a kernel or an error of ours."""
    given_ = {"name": "tiny/file", "cpp": __file__, field: value}
    assert isinstance(answer(lambda: Kernel.from_files(**given_)), Kernel | LltmInlineError)
