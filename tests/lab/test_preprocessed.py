"""What is looked at is what is compiled: nothing that a text says is one thing to who looks and another to its compiler."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from lltm_inline.compiling import header
from lltm_inline.lab.builder import Refused, build, toolchain_of
from lltm_inline.model.registry import Kernel, registry
from tests.needs import need, needs
from tests.planted.cheats import RIGHT

pytestmark = needs("Landlock and seccomp")

_PLANTED = b"lltm_inline_planted"
_ASM = f'("{f".ascii ~{_PLANTED.decode()}~".replace("~", chr(92) + chr(34))}");'
_PASTE = "#define PASTE_(a, b) a##b\n#define PASTE(a, b) PASTE_(a, b)\n"
#: Assembly, to who preprocesses again what was preprocessed before.
AGAIN = {
    "a directive by a macro": f"#define HASH #\nHASH define LATER(a, b) a##b\nint f_() {{ LATER(as, m){_ASM} return 1; }}",
    "a directive by other letters": f"#define HASH %:\nHASH define LATER(a, b) a##b\nint f_() {{ LATER(as, m){_ASM} return 1; }}",
    "a name over two lines": f"int f_() {{ a\\/**/\nsm{_ASM} return 1; }}",
}
#: Words that a header has by a macro of the text. The headers are none of those that our own have read before.
_VERSION = "_GLIBCXX_BEGIN_NAMESPACE_VERSION"
BY_HEADERS = {
    "a name of headers": f"#undef {_VERSION}\n#define {_VERSION} as##m{_ASM}\n#include <list>",
    "any name": f"#define list list_; as##m{_ASM} template <class T, class A> class list\n#include <list>\n#undef list",
    "over two lines": f"# /*\n*/ de\\\nfine {_VERSION} as##m{_ASM}\n/*\n*/ %: /**/ include <list>",
    "behind a number": f"#define {_VERSION} 1 /*\n*/ - 1; as##m{_ASM}\n#include <list>",
    "an attribute of another name": "#define __pure__ constructor\n#include <set>",
    "an attribute in two files": "#define namespace con##structor)) void f_(); namespace\n"
    "__attribute__((\n#include <list>\n#undef namespace",
    "one that is put back": f"""#include <vector>
        #pragma push_macro("{_VERSION}")
        #include <deque>
        #pragma pop_macro("{_VERSION}")
        #define {_VERSION} as##m{_ASM}
        #include <list>""",
}
#: Twins that an exercise may hold: a macro before headers that have no assembly, numbers alone before one that has.
HONEST = {
    "a macro": """#define LOUD(x) TORCH_CHECK(x)
#undef QUIET
#ifdef __linux__
#include <list>
#endif
#include <set>
static std::list<std::set<int>> all_(2);""",
    "numbers": """#define LANES 8u /* of
them */
#define SOME
#define BITS (1 << 3)  // <csignal> has assembly
#include <csignal>
#define LOUD(x) TORCH_CHECK(x)
static const int signal_ = SIGFPE + LANES;""",
}
#: What may differ between two runs of a preprocessor, as one of them is made behind the other, or has another header.
SWITCHES = (
    *(f'__has_include("{file}")' for file in ("main.ii", "main.o", "main.o.d", "prelude.h", "build.ninja", ".ninja_log")),
    *(f"!defined({name})" for name in ("__OPTIMIZE__", "__PIC__", "TORCH_CHECK", "C10_STRINGIZE", "CPU_CAPABILITY")),
    *("!defined(TORCH_EXTENSION_NAME)", "__COUNTER__ > 1000000", "__INCLUDE_LEVEL__ > 0", "__LINE__ > 1000000"),
)  # fmt: skip


#: Each text is another one in each run, so that all are compiled.
each_compiler = pytest.mark.parametrize("compiler", ["clang++", pytest.param("g++", marks=pytest.mark.full)])


def _library(text: str, compiler: str) -> bytes:
    """Build what a student may have written, and return its library."""
    kernel = Kernel("axpy/cheat", cpp=f"{RIGHT}\n{text}\n// {time.time_ns()}")
    return build(kernel, registry.ops["axpy"], toolchain_of(compiler), ("aten",)).build.path.read_bytes()


@each_compiler
@pytest.mark.parametrize("text", AGAIN.values(), ids=AGAIN)
def test_what_is_read_again(text: str, compiler: str) -> None:
    """It is refused, or is an error; nothing of it is compiled."""
    need(compiler)
    with pytest.raises(Refused):
        _library(text, compiler)


@pytest.mark.parametrize("text", AGAIN.values(), ids=AGAIN)
def test_clang_does_read_again(tmp_path: Path, text: str) -> None:
    """Without that, the test above would show nothing."""
    need("clang++")
    (tmp_path / "a.cpp").write_text(text)
    for command in (("-E", "a.cpp", "-o", "a.ii"), ("-c", "a.ii", "-o", "a.o")):
        subprocess.run(["clang++", "-std=c++20", *command], cwd=tmp_path, check=True)
    assert _PLANTED in (tmp_path / "a.o").read_bytes()


@each_compiler
@pytest.mark.parametrize("text", BY_HEADERS.values(), ids=BY_HEADERS)
def test_what_a_macro_makes_of_a_header(text: str, compiler: str) -> None:
    """It is refused for that, wherever the macro comes from."""
    need(compiler)
    with pytest.raises(Refused, match="a header that it includes after a #define of its own has what is closed"):
        _library(text, compiler)


@each_compiler
@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_macros_ahead_of_honest_headers(text: str, compiler: str) -> None:
    """They are compiled; and with a macro that is no number before that assembly they are not."""
    need(compiler)
    assert _library(text, compiler)
    if "csignal" in text:
        with pytest.raises(Refused, match="after a #define of its own"):
            _library(f"#define MORE(x) x\n{text}", compiler)


@pytest.mark.full
@pytest.mark.parametrize("compiler", ["clang++", "g++"])
def test_no_switch_is_another(compiler: str) -> None:
    """With a precompiled header: what is off to who looks is off to the compiler, and what is on is seen."""
    need(compiler)
    header.wait(toolchain_of(compiler), "light")
    # One command of ninja has g++ preprocess and compile: these files are there, and so it is seen what they switch.
    there = ("main.ii", "ninja") if compiler == "g++" else ()
    off = [one for one in SWITCHES if not any(file in one for file in there)]
    parts = [f"#if {one}\nint f{i}_() {{ PASTE(as, m){_ASM} return 1; }}\n#endif" for i, one in enumerate(off)]
    assert _PLANTED not in _library("\n".join([_PASTE, *parts]), compiler)
    for switch in ("__COUNTER__ >= 0", "defined(TORCH_CHECK)", '__has_include("main.cpp")', "defined(__OPTIMIZE__)"):
        with pytest.raises(Refused, match="inline assembly is closed"):
            _library(f"{_PASTE}\n#if {switch}\nint f_() {{ PASTE(as, m){_ASM} return 1; }}\n#endif", compiler)
    for pragma in ('_Pragma("GCC dependency \\"x\\"")', "#include_next __FILE__"):
        with pytest.raises(Refused):
            _library(pragma, compiler)


@pytest.mark.full
def test_a_macro_of_our_own_header() -> None:
    """One that is no macro call until it is read again is compiled without the header that defines it: an error."""
    need("clang++")
    header.wait(toolchain_of("clang++"), "light")
    assert "C10_CONCATENATE" in header.macros(toolchain_of("clang++"), "light")
    with pytest.raises(Refused) as refused:
        _library(f"#define NONE\nint f_() {{ C10_CONCATENATE NONE (as, m){_ASM} return 1; }}", "clang++")
    assert refused.value.stage == "builds" and "undeclared identifier 'as'" in refused.value.reason
    # And what stands for nothing else is compiled all the same.
    assert _library("int f_() { const int TORCH_VERSION_ = 1; return TORCH_VERSION_; }", "clang++")
