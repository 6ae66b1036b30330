"""A `setup.py` is read, and never run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lltm_inline.errors import DefinitionError
from lltm_inline.extension.setup_py import Extension, read_setup

CLASSIC = Path(__file__).parent / "classic"


def read(tmp_path: Path, text: str) -> tuple[Extension, ...]:
    """Read a setup.py of this text."""
    path = tmp_path / "setup.py"
    path.write_text(text)
    return read_setup(path)


def test_the_tutorials_files() -> None:
    """The two files of the tutorial's layout: name, sources and flags, by position and by name."""
    assert read_setup(CLASSIC / "cpp" / "setup.py") == (Extension("lltm_cpp", ("lltm.cpp",)),)
    sources = ("lltm_cuda.cpp", "lltm_cuda_kernel.cu")
    assert read_setup(CLASSIC / "cuda" / "setup.py") == (Extension("lltm_cuda", sources, ("-O3",), ("-O3",)),)


def test_it_is_not_run(tmp_path: Path) -> None:
    """Whatever else the file does, it is not done."""
    text = "import os\nopen('ran', 'w')\nos._exit(3)\nsetup(ext_modules=[CppExtension('a', ['a.cpp'])])\n"
    assert [extension.name for extension in read(tmp_path, text)] == ["a"]
    assert [path.name for path in tmp_path.iterdir()] == ["setup.py"]


def test_other_spellings(tmp_path: Path) -> None:
    """Through a module, as a tuple, several in one file in their order, with macros, with Windows line ends and a BOM."""
    text = (
        "\ufeffext = [\r\n"
        "  cpp_extension.CppExtension(name='b', sources=('b.cc',), extra_compile_args=['-O2', '-ffast-math']),\r\n"
        "  Extension('pkg.a', sources=['csrc/a.cpp'], define_macros=[('N', '3'), ('FAST', None)],\r\n"
        "            include_dirs=['inc'], language='c++'),\r\n"
        "]\r\n"
    )
    assert read(tmp_path, text) == (
        Extension("b", ("b.cc",), ("-O2", "-ffast-math"), ("-O2", "-ffast-math")),
        Extension("pkg.a", ("csrc/a.cpp",), ("-DN=3", "-DFAST"), (), ("inc",)),
    )


NAMED = """
name = "fast_ops"
def get_extensions():
    flags = ["-ffast-math"]
    sources = ["csrc/a.cpp", "csrc/b.cu"]
    return [CUDAExtension(name, sources, extra_compile_args={"cxx": flags, "nvcc": ["-O2"]})]
"""


def test_names_that_are_set_once(tmp_path: Path) -> None:
    """What a name stands for is known where it is set to a literal, and never changed."""
    sources = ("csrc/a.cpp", "csrc/b.cu")
    assert read(tmp_path, NAMED) == (Extension("fast_ops", sources, ("-ffast-math",), ("-O2",)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CppExtension('a', glob('*.cpp'))", "line 1: sources=\"glob('*.cpp')\" is no literal, and setup.py is read, not run."),
        ("if cuda:\n  s = ['a.cu']\nCppExtension('a', s)", "line 3: sources='s' is no literal"),
        ("s = ['a.cpp']\ns.append(x)\nCppExtension('a', s)", "line 3: sources='s' is no literal"),
        ("s = ['a.cpp']\nif cuda:\n  s += ['a.cu']\nCppExtension('a', s)", "line 4: sources='s' is no literal"),
        ("s = ['a.cpp']\ns = ['b.cpp']\nCppExtension('a', s)", "line 3: sources='s' is no literal"),
        ("s = s + ['a.cpp']\nCppExtension('a', s)", "line 2: sources='s' is no literal"),
        ("CppExtension('a', [os.environ['SOURCE']])", "line 1: sources=\"[os.environ['SOURCE']]\" is no literal"),
        ("\nCppExtension('a', sources)", "line 2: sources='sources' is no literal"),
        ("CppExtension(name=NAME, sources=['a.cpp'])", "line 1: name='NAME' is no literal"),
        ("CppExtension('a')", "line 1: CppExtension: sources are None, want a list of file names. Write it out, or name the files"),
        ("CppExtension('a', 'a.cpp')", "sources are 'a.cpp', want a list of file names"),
        ("CppExtension('a', [])", "sources are [], want a list"),
        ("CUDAExtension(sources=['a.cu'])", "line 1: CUDAExtension: name is None, want a string"),
        ("CppExtension(**options)", "arguments with * or **, or more than name and sources by position"),
        ("CppExtension(*options)", "line 1: name='*options' is no literal"),
        ("CppExtension('a', ['a.cpp'], libraries=['z'])", "libraries=['z'] has no place in a kernel, which is built of its texts"),
        ("CppExtension('a', ['a.cpp'], include_dirs='include')", "include_dirs='include', want a list of directories"),
        ("CppExtension('a', ['a.cpp'], extra_compile_args='-O3')", "extra_compile_args='-O3', want lists of strings"),
        ("CppExtension('a', ['a.cpp'], extra_compile_args={'cxx': 3})", "extra_compile_args={'cxx': 3}, want lists of strings"),
        ("CppExtension('a', ['a.cpp'], define_macros=['A'])", "define_macros=['A'], want a list of (name, value)"),
        ("setup(name='a')", "declares no extension: looked for calls of CppExtension, CUDAExtension, Extension. Write one"),
        ("setup(", "line 1 is not Python: '(' was never closed"),
        ("a\0", "is not Python: source code string cannot contain null bytes"),
    ],
)  # fmt: skip
def test_what_only_running_it_would_tell(tmp_path: Path, text: str, message: str) -> None:
    """What is no literal, or has no place in a kernel, is named with its line, and what to do."""
    with pytest.raises(DefinitionError, match=rf"^'.*setup\.py'.*{re.escape(message)}"):
        read(tmp_path, text)
