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


def test_no_file_is_renamed_by_what_is_worked_out(tmp_path: Path) -> None:
    """`replace` is a method of texts, and of a path it would be done to the file."""
    (tmp_path / "a.cpp").touch()
    renaming = f"CppExtension('a', [str(Path({str(tmp_path / 'a.cpp')!r}).replace({str(tmp_path / 'b.cpp')!r}))])"
    with pytest.raises(DefinitionError, match="is no literal"):
        read(tmp_path, f"from pathlib import Path\n{renaming}")
    assert (tmp_path / "a.cpp").exists()


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


FOLDED = """
import glob, os
from pathlib import Path
here = os.path.dirname(os.path.abspath(__file__))
name = "fast_" + "ops"
def get_extensions():
    root = Path(__file__).parent / "csrc"
    flags = ["-ffast-math"]
    flags.append("-DN=" + str(3))
    sources = glob.glob(os.path.join(here, "csrc", "*.cpp"))
    sources += [os.path.join("csrc", f"{one}.cu") for one in ("b", "c")]
    return [
        CUDAExtension(f"{name}", sources, extra_compile_args={"cxx": flags, "nvcc": ["-O2"] + flags}),
        CppExtension("other", [str(root / "a.cpp")]),
        CppExtension("third", sorted(root.glob("*.cpp"))),
    ]
"""


def test_what_follows_from_the_text_is_worked_out(tmp_path: Path) -> None:
    """Variables, sums, f-strings, comprehensions, `glob`, `os.path`, `pathlib` and `__file__` need no run."""
    (tmp_path / "csrc").mkdir()
    for file in ("a.cpp", "a2.cpp", "b.cu"):
        (tmp_path / "csrc" / file).touch()
    flags = ("-ffast-math", "-DN=3")
    assert [(one.name, one.sources, one.cxx_flags, one.nvcc_flags) for one in read(tmp_path, FOLDED)] == [
        ("fast_ops", ("csrc/a.cpp", "csrc/a2.cpp", "csrc/b.cu", "csrc/c.cu"), flags, ("-O2", *flags)),
        ("other", ("csrc/a.cpp",), (), ()),
        ("third", ("csrc/a.cpp", "csrc/a2.cpp"), (), ()),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CppExtension('a', glob('*.cpp'))", "line 1: CppExtension: sources are [], want a list of file names"),
        ("CppExtension('a', find('*.cpp'))", "line 1: sources=\"find('*.cpp')\" is no literal, and setup.py is read, not run."),
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
