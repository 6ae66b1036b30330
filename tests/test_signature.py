"""`forward` and `backward` held against the op's schema, before anything is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lltm_inline.compiling.compiler import build
from lltm_inline.cpp.functions import find_function
from lltm_inline.cpp.masks import mask
from lltm_inline.errors import SignatureError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.source.signature import cpp_declaration, examine
from lltm_inline.source.template import render
from tests.tiny import forget

ALL = """\
at::Tensor forward(const at::Tensor& x, const std::optional<at::Tensor>& b, double c, int64_t n, bool flag) {
  return x;
}
std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& d_y, const at::Tensor& x, std::array<bool, 2> wanted) {
  return {d_y, at::Tensor()};
}
"""


@pytest.fixture
def op() -> Iterator[Op]:
    """Register an op with every type of argument for one test."""
    schema = "(Tensor x, Tensor? b, float c, int n, bool flag) -> Tensor y"
    shapes = {"x": "N", "b": "N", "y": "N"}
    yield registry.register(
        Op("every", schema, lambda x, b, c, n, flag: x, shapes, lambda randn, N: (randn(N), None, 1.0, 2, True))
    )
    forget("every")


def problems(text: str, op: Op, **fields: Any) -> list[str]:
    """List what is wrong with a text as `line:column message`."""
    kernel = Kernel("every/cpp", cpp=text, **{"saves": ("x",)} | fields)
    return [f"{p.line}:{p.column} {p.message}" for p in render(kernel, op).interface.problems]


def test_right_text_has_no_problem(op: Op) -> None:
    """A text that fits is silent, and its interface is read."""
    assert problems(ALL, op) == []
    interface = examine(Kernel("every/cpp", cpp=ALL, saves=("x",)), op, ALL)
    assert (interface.extras, interface.has_backward) == (0, True)


@pytest.mark.parametrize("line", ["import numpy as np", "include <cmath>", "from math import pi", "using std::max;"])
def test_line_that_is_no_cpp_is_left_to_the_compiler(line: str, op: Op) -> None:
    """What stands before `forward` and is no C++ is no part of the type that it returns."""
    assert problems(f"{line}\n{ALL}", op) == []


@pytest.mark.parametrize(
    "spelling",
    [
        ("const at::Tensor& x", "at::Tensor x"),
        ("const at::Tensor& x", "torch::Tensor const & x"),
        ("const at::Tensor& x", "const Tensor\n& x"),
        ("const at::Tensor& x,", "const ::at::Tensor &x, /* , */ "),
        ("std::optional<at::Tensor>", "c10::optional< at::Tensor >"),
        ("int64_t n", "const std::int64_t n"),
        ("int64_t n", "int n"),
        ("const at::Tensor& x, c", "at::Tensor& x, c"),
        ("std::tuple<at::Tensor, at::Tensor> backward", "std::vector<at::Tensor> backward"),
        ("std::tuple<at::Tensor, at::Tensor> backward", "std::pair<at::Tensor, torch::Tensor> backward"),
        ("double c", "double"),
        ("at::Tensor forward(", "static inline at::Tensor forward("),
        ("at::Tensor forward(", "at::Tensor\nforward("),
        ("bool flag) {", "bool flag = true) noexcept {"),
        ("bool flag) {", "bool flag) noexcept(sizeof(int) == 4) {"),
        ("std::tuple<at::Tensor, at::Tensor> backward", "std::tuple< at::Tensor , torch::Tensor > backward"),
        ("std::array<bool, 2> wanted", "const std::array<bool,2>& wanted"),
        ("return x;", 'if (n) { auto forward = [](int i) { return i; }; forward(1); } const char* s = "}{"; return x;'),
    ],
)
def test_other_spellings_are_right_too(spelling: tuple[str, str], op: Op) -> None:
    """C++ can be spelled in many ways; none that compiles is refused."""
    assert spelling[0] in ALL
    assert problems(ALL.replace(*spelling, 1), op) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "at::Tensor forward(",
            "#if 0\nat::Tensor forward(const at::Tensor& x) { return x\n#endif\nat::Tensor forward(",
        ),
        (
            "  return x;\n}",
            "#ifdef FAST\n  if (n) {\n#else\n  if (n > 1) {\n#endif\n    return x;\n  }\n  return x;\n}",
        ),
        ("  return x;\n}", "#if 0\n  {\n#elif 1\n  { {\n#else\n  { { {\n#endif\n  } }\n  return x;\n}"),
        ("at::Tensor forward(", "[[nodiscard]] at::Tensor forward("),
        ("at::Tensor forward(", "__attribute__((noinline)) static at::Tensor forward("),
        (
            "std::tuple<at::Tensor, at::Tensor> backward",
            "using Two = std::tuple<at::Tensor, at::Tensor>;\nTwo backward",
        ),
        (
            "std::tuple<at::Tensor, at::Tensor> backward",
            "typedef std::tuple<at::Tensor, at::Tensor> Two;\nTwo backward",
        ),
        ("at::Tensor", "T"),
        (
            "std::tuple<at::Tensor, at::Tensor> backward",
            "using T = at::Tensor;\nusing Two = std::tuple<T, T>;\nTwo backward",
        ),
        ("std::array<bool, 2>", "Mask"),
        ("bool flag) {", 'bool flag) {  const char* raw = R"x({ /* " )x"; const char* more = "\\"{";'),
    ],
    ids=[
        "left out",
        "a brace in each branch",
        "three branches",
        "attribute",
        "old attribute",
        "using",
        "typedef",
        "of a tensor",
        "of an alias",
        "of the mask",
        "raw string",
    ],
)
def test_preprocessor_attributes_and_aliases_are_borne(old: str, new: str, op: Op) -> None:
    """What a compiler takes is not refused for what stands around the functions."""
    aliases = "typedef at::Tensor T;\nusing Mask = std::array<bool, 2>;\n" if new in ("T", "Mask") else ""
    assert problems(aliases + ALL.replace(old, new), op) == []


@pytest.mark.parametrize(
    ("returns", "named"),
    [
        ("std::list<at::Tensor>", "std::list<at::Tensor>"),
        ("std::array<torch::Tensor, 2>", "std::array<torch::Tensor, 2>"),
        ("Two", "Two = std::array<at::Tensor, 2>"),
    ],
)
def test_containers_of_tensors_are_named_with_what_to_write(returns: str, named: str, op: Op) -> None:
    """What is neither a tuple nor a vector: the message names it, and the tuple to write in its place."""
    alias = "using Two = std::array<at::Tensor, 2>; "
    cure = "write std::tuple<at::Tensor, at::Tensor>, with one at::Tensor for each; `return {a, b};` may stay."
    text = alias + ALL.replace("std::tuple<at::Tensor, at::Tensor>", returns)
    [problem] = render(Kernel("every/cpp", cpp=text, saves=("x",)), op).interface.problems
    assert problem.message == f"'backward' returns a {named}, want 2: d_x, d_b" and problem.help.endswith(cure)
    text = alias + ALL.replace("at::Tensor forward", f"{returns} forward", 1)
    [problem] = render(Kernel("every/cpp", cpp=text, saves=("x",)), op).interface.problems
    assert problem.message == f"'forward' returns '{named}', want at::Tensor, or a longer tuple"
    assert problem.help == f"Return y, then whatever extra tensors 'backward' needs: {cure}"


def test_alias_that_names_itself_ends(op: Op) -> None:
    """What no compiler takes does not keep the reader for ever."""
    assert problems("using T = U; using U = T;" + ALL.replace("at::Tensor forward", "T forward"), op)


def test_attribute_ahead_of_a_trailing_return_type(op: Op) -> None:
    """It is no part of the type."""
    head = ALL.split("{")[0].rstrip()
    trailing = head.replace("at::Tensor forward", "auto forward", 1) + " [[gnu::hot]] -> at::Tensor "
    assert problems(ALL.replace(head + " ", trailing, 1), op) == []


def test_trailing_return_type(op: Op) -> None:
    """`auto f() -> type` is a return type as well."""
    text = ALL.replace("at::Tensor forward(", "auto forward(", 1).replace("bool flag) {", "bool flag) -> at::Tensor {")
    assert problems(text, op) == []


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ("forward(", "forwards(", "1:1 no function 'forward' at file scope"),
        ("at::Tensor forward(", "struct Own {\nat::Tensor forward(", "2:12 no function 'forward' at file scope"),
        ("return x;", "return x; /* done", "2:13 a comment begins here, and has no end"),
        (", bool flag)", ")", "1:12 'forward' takes 4 arguments, op 'every' has 5: x, b, c, n, flag"),
        ("const at::Tensor& x, const std::optional<at::Tensor>& b, double c, int64_t n, bool flag", "const at::Tensor& x",
         "1:12 'forward' takes 1 argument, op 'every' has 5: x, b, c, n, flag"),
        ("const at::Tensor& d_y, const at::Tensor& x, ", "", "4:36 'backward' takes 1 argument, want 3: d_y, x, wanted"),
        ("const at::Tensor& x, const std::optional<at::Tensor>& b", "const at::Tensor& x, const at::Tensor& b",
         "1:12 argument 2 of 'forward' (b) is 'const at::Tensor&', want const std::optional<at::Tensor>&"),
        ("double c", "float c", "1:12 argument 3 of 'forward' (c) is 'float', want double"),
        ("int64_t n", "int16_t n", "1:12 argument 4 of 'forward' (n) is 'int16_t', want int64_t"),
        ("int64_t n", "int64_t& n", "1:12 argument 4 of 'forward' (n) is 'int64_t&', want int64_t"),
        ("const std::optional<at::Tensor>& b", "std::optional<at::Tensor>& b",
         "1:12 argument 2 of 'forward' (b) is 'std::optional<at::Tensor>&', want const std::optional<at::Tensor>&"),
        ("at::Tensor forward", "void forward", "1:6 'forward' returns 'void', want at::Tensor, or a longer tuple"),
        ("const at::Tensor& d_y, ", "", "4:36 'backward' takes 2 arguments, want 3: d_y, x, wanted"),
        ("bool, 2", "bool, 3", "4:36 the last argument of 'backward' is 'std::array<bool, 3>', want std::array<bool, 2>"),
        ("std::tuple<at::Tensor, at::Tensor>", "at::Tensor", "4:12 'backward' returns 1 gradient, want 2: d_x, d_b"),
        ("double c, int64_t n", "int64_t n, double c",
         "1:12 'forward' takes its arguments in the order x, b, n, c, flag; op 'every' passes x, b, c, n, flag"),
    ],
)  # fmt: skip
def test_what_does_not_fit(old: str, new: str, want: str, op: Op) -> None:
    """Each misfit is told in the words of the op, at the function's own line and column."""
    assert old in ALL
    assert want in problems(ALL.replace(old, new, 1), op)


def test_a_body_behind_a_semicolon(op: Op) -> None:
    """A `;` between the head and the body makes it a declaration, and the body nobody's."""
    head, _, rest = ALL.partition(" {\n")
    [problem] = render(Kernel("every/cpp", cpp=f"{head};\n{{\n{rest}", saves=("x",)), op).interface.problems
    assert problem.message == "no function 'forward' at file scope"
    assert problem.help == "Take the ';' after its ( ) away: it ends the function before its body."


def test_saves_that_were_forgotten(op: Op) -> None:
    """A `backward` that takes an input which nothing hands to it is asked about saves=; one of another length is not."""
    [problem] = render(Kernel("every/cpp", cpp=ALL), op).interface.problems
    assert problem.message == "'backward' takes 3 arguments, want 2: d_y, wanted"
    assert problem.help.startswith("Did you forget saves=('x',)? That is a gradient")
    text = ALL.replace("const at::Tensor& x, std::array", "const at::Tensor& x, const at::Tensor& z, std::array")
    [problem] = render(Kernel("every/cpp", cpp=text), op).interface.problems
    assert problem.help.startswith("That is a gradient")


def test_extra_tensors_are_counted(op: Op) -> None:
    """What `forward` returns beyond the outputs is what `backward` takes after the saved values."""
    text = ALL.replace("at::Tensor forward", "std::tuple<at::Tensor, at::Tensor> forward", 1)
    assert problems(text, op) == ["4:36 'backward' takes 3 arguments, want 4: d_y, x, extra0, wanted"]
    text = text.replace("const at::Tensor& x, std::array", "const at::Tensor& x, const at::Tensor& kept, std::array")
    assert problems(text, op) == []


def test_stable_spelling(tiny: Any) -> None:
    """A kernel on the stable ABI takes the stable tensor, and says so."""
    op = registry.ops["tiny"]
    wrong = Kernel("tiny/x", cpp="at::Tensor forward(const at::Tensor& x) { return x; }", api="stable")
    [problem, *_] = render(wrong, op).interface.problems
    assert problem.message == "argument 1 of 'forward' (x) is 'const at::Tensor&', want const torch::stable::Tensor&"
    assert cpp_declaration(wrong, op) == "torch::stable::Tensor forward(const torch::stable::Tensor& x)"


def test_error_is_instant_and_needs_no_compiler(tiny: Any, watched: Any, fresh_cache: Any) -> None:
    """The whole message is there in 50 ms, and no compiler has run."""
    kernel = Kernel(
        "tiny/x", cpp="// y = 2 x\nat::Tensor forward(const at::Tensor& x, int64_t n) {\n  return x * n;\n}\n"
    )
    with pytest.raises(SignatureError):  # the first time, the compiler itself is looked at
        build(kernel, progress=False)
    calls = watched.calls
    with pytest.raises(SignatureError) as error:
        build(kernel, progress=False)
    assert watched.calls == calls and watched.compilations == 0
    assert str(error.value).splitlines() == [
        "kernel 'tiny/x' does not fit op 'tiny'; nothing was compiled",
        "  tiny/x:2:12: 'forward' takes 2 arguments, op 'tiny' has 1: x",
        "     1 | // y = 2 x",
        "  -> 2 | at::Tensor forward(const at::Tensor& x, int64_t n) {",
        "       |            ^~~~~~~",
        "  Want: at::Tensor forward(const at::Tensor& x), then any extra tensors in the returned tuple.",
    ]
    assert error.value.diagnostics[0].line == 2 and error.value.kernel == "tiny/x"


def test_line_after_a_slot_of_several_lines(op: Op) -> None:
    """Lines count in the user's template, not in what the slots made of it."""
    text = "$HELPERS\n\n" + ALL.replace(", bool flag)", ")", 1)
    found = problems(text, op, slots={"HELPERS": "int a;\nint b;\nint c;"})
    assert found == ["3:12 'forward' takes 4 arguments, op 'every' has 5: x, b, c, n, flag"]


@pytest.mark.parametrize(
    "text",
    [
        "// at::Tensor forward(const at::Tensor& x) {",
        "/* at::Tensor forward(const at::Tensor& x) { */",
        'const char* s = "at::Tensor forward(const at::Tensor& x) {";',
        'const char* s = R"x(at::Tensor forward(const at::Tensor& x) {)x";',
        "#define F at::Tensor forward(const at::Tensor& x) { \\\n  }",
        "at::Tensor forward(const at::Tensor& x);",
        "namespace a { at::Tensor forward(const at::Tensor& x) { return x; } }",
        "struct S { at::Tensor forward(const at::Tensor& x) { return x; } };",
    ],
)
def test_what_only_looks_like_a_definition(text: str) -> None:
    """Comments, strings, macros, declarations, and functions inside of something are no `forward`."""
    assert find_function(text, "forward") is None


@given(st.text(alphabet="ab{}()/*\\\"'\n#R ;", max_size=60))
def test_mask_keeps_places(text: str) -> None:
    """Whatever the text, masking keeps its length and its lines."""
    masked = mask(text)
    assert len(masked) == len(text)
    assert [i for i, c in enumerate(masked) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]
