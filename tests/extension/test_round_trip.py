"""A kernel's text as a file of an export, and back: whatever the text."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from lltm_inline.errors import DefinitionError
from lltm_inline.export.kernel_file import KernelFile, read_kernel_file, write_kernel_file
from tests.properties.malformed import PROFILE

SPACE, HEADER = "demo::cpu", "demo.h"

LINES = (
    "", "", "  ", "\t", "#include <cmath>", '#include "other.h"', "  # include <array>", "#define N (A + 1)", "#if A", "#endif",
    "#ifdef __AVX2__", "#else", "#pragma once", "using namespace at;", "namespace {", "namespace inner {", "}  // namespace",
    "int f() { return A; }", "int g() {", "  return 1;", "}", "};", "struct S {", "// Comment with a { brace.", "/* {", "*/",
    "/* all */", 'const char* text = R"(', ')";', 'const char* s = "}{";', "char c = '{';", "template <class T>", "\\", "x \\",
    "// namespace demo::cpu {", "}  // namespace demo::gpu", "// Parameters", "#define A 3", "é ü \U0001f642", "\x0c", "\u2028",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(LINES), max_size=14).map("\n".join)
NAMES = st.sampled_from(["A", "GRAIN", "_x1", "THREADS"])
NUMBERS = st.one_of(
    st.integers(-(2**63) + 1, 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)


def there_and_back(file: KernelFile) -> tuple[str, dict[str, int | float]]:
    """Write a file and read it again."""
    source = write_kernel_file(file, "demo")
    return read_kernel_file(source, namespace=SPACE, include=HEADER, what="demo")


@PROFILE
@given(text=TEXTS, params=st.dictionaries(NAMES, NUMBERS, max_size=3), head=st.sampled_from(["", "// Doc.\n\n"]))
def test_text_and_params_survive(text: str, params: dict[str, int | float], head: str) -> None:
    """What is written can be read again, to the last blank line, and every param is the number that it was."""
    file = KernelFile(text, params, SPACE, HEADER, head)
    assert there_and_back(file) == (text, params)


@PROFILE
@given(text=TEXTS, params=st.dictionaries(NAMES, NUMBERS, max_size=1))
def test_what_stands_behind_is_no_part_of_the_text(text: str, params: dict[str, int | float]) -> None:
    """The functions that an export puts behind a CUDA text without torch do not come back."""
    from lltm_inline.export.kernel_file import BEHIND

    file = KernelFile(text, params, SPACE, HEADER, behind=f"{BEHIND}\nextern void f();\n")
    assert there_and_back(file) == (text, params)


@PROFILE
@given(
    text=st.text(st.characters(exclude_categories=("Cs",)), max_size=40),
    params=st.dictionaries(NAMES, NUMBERS, max_size=1),
)
def test_any_letters(text: str, params: dict[str, int | float]) -> None:
    """The text may hold anything; only Windows line ends become plain ones."""
    assume("\r" not in text)
    assert there_and_back(KernelFile(text, params, SPACE, HEADER)) == (text, params)


@PROFILE
@given(text=TEXTS, extra=st.sampled_from(["int added();", "", "#include <vector>"]))
def test_an_edit_comes_back(text: str, extra: str) -> None:
    """A line that a person adds above the last one, or behind all, is in the text that comes back."""
    file = KernelFile(f"int first();\n{text}", {"A": 1}, SPACE, HEADER)
    source = (
        write_kernel_file(file, "demo")
        .replace("#define A 1\n", "#define A 7\n")
        .replace("int first();", f"int first();\n{extra}")
    )
    back, params = read_kernel_file(source, namespace=SPACE, include=HEADER, what="demo")
    assert params == {"A": 7}
    assert back == f"int first();\n{extra}\n{text}"


def test_lines_of_the_export_are_refused() -> None:
    """A text that holds a line by which a file is taken apart would not come back: it is refused, with the line."""
    for line in ("// Parameters.", "// End of parameters.", "namespace demo::cpu {", "}  // namespace demo::cpu"):
        try:
            write_kernel_file(KernelFile(f"int f();\n{line}\n", {}, SPACE, HEADER), "demo")
        except DefinitionError as error:
            assert str(error) == f"demo, line 2: {line!r} is a line that the export writes: change it"
        else:
            raise AssertionError(line)
