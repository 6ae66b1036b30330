"""What the room `cpp` reads in C++ texts: those of this repository, and what readers by regular expressions took for something else.

tests/cpp.txt lists the functions of all texts of the repository: `python -m tests.test_cpp --write` writes it anew, and git shows what
is read in another way than before.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lltm_inline.cpp.bodies import all_calls, find_calls, find_launches, find_loops, find_returns, split
from lltm_inline.cpp.functions import Function, all_functions, at_file_scope, find_declarations, find_functions
from lltm_inline.cpp.tree import tree
from tests.texts import texts_in

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "cpp.txt"
#: Where the texts are that people write, or that stand for such.
PLACES = ("lltm_inline/ops", "notebooks", "tests/planted", "tests/wild")
#: What shows a string of a Python file to be a text of C++: a head with its body.
BODY = re.compile(r"\)\s*(?:const\s*|noexcept\s*)?\{")


def is_cpp(text: object) -> bool:
    """Tell whether a string of a Python file is a text of C++, and no half of one."""
    return isinstance(text, str) and BODY.search(text) is not None and text.count("{") == text.count("}")


#: In these files so many texts have a place that the grammar of tree-sitter has no rule for.
ERRORS = {
    "lltm_inline/ops/d_sigmoid/cpp.py": 1,  # a parameter pack of pointers, const From*... from
    "notebooks/00_tour.ipynb": 1,  # a mistake that the lesson makes
    "notebooks/02_compiler_errors.ipynb": 1,  # another one
    "tests/planted/cheats/__init__.py": 1,  # a part of a text
    "tests/planted/cheats/right.cu": 1,  # a word that stands for what is planted
    "tests/planted/cuda/right/variadic_map.cu": 1,  # a parameter pack of pointers
}


def texts() -> Iterator[tuple[str, str]]:
    """List the C++ texts of the repository, each with its file."""
    for path in sorted(path for place in PLACES for path in (ROOT / place).rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix in (".cu", ".cpp"):
            several = [text.unmarked for text in texts_in(path)]
            yield from ((name, text) for text in several if is_cpp(text))
            if not several:
                yield name, path.read_text()
        elif path.suffix == ".ipynb":
            sources = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]
            yield from (
                (name, source.partition("\n")[2]) for source in sources if source[:2] == "%%" and is_cpp(source)
            )
        elif path.suffix == ".py":
            strings = [one.value for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.Constant)]
            yield from ((name, text) for text in strings if is_cpp(text))


def spelled(function: Function) -> str:
    """Write a function as it stands in the list."""
    return f"{'::'.join([*function.spaces, function.name])}({', '.join(function.names)})"


def listed() -> list[str]:
    """Write the list: a line for each text."""
    return [f"{name}: {' '.join(map(spelled, find_functions(text)))}".rstrip() for name, text in texts()]


def test_functions_of_all_texts() -> None:
    """The room reads in all texts the functions that it read when somebody last looked at them."""
    known, now = LIST.read_text().splitlines(), listed()
    changed = "\n".join(difflib.unified_diff(known, now, "tests/cpp.txt", "as it is read now", n=0, lineterm=""))
    assert known == now, (
        "functions of texts in this repository are read in another way than tests/cpp.txt says. If a text is new or edited, or is read "
        f"better now, write the list anew: python -m tests.test_cpp --write\n{changed}"
    )


def test_texts_that_the_grammar_does_not_take() -> None:
    """The grammar has a rule for all that stands in these texts, but for some in which a mistake is planted, and few others."""
    found = Counter(name for name, text in texts() if tree(text).has_error)
    assert dict(found) == ERRORS, (
        "texts with syntax errors, by file: if these are mistakes on purpose, put them into ERRORS"
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("p->n, q", ("p->n", " q")),
        ("a < b, c", ("a < b", " c")),
        ("v[0, 1], z", ("v[0, 1]", " z")),
        ("std::tuple<A, B>(a), f<int, 3>(b)", ("std::tuple<A, B>(a)", " f<int, 3>(b)")),
        ("const at::Tensor&, std::array<bool, 2>", ("const at::Tensor&", " std::array<bool, 2>")),
        (
            "float a[2], const std::pair<int, int>& b = f(1, 2)",
            ("float a[2]", " const std::pair<int, int>& b = f(1, 2)"),
        ),
        ('g("a, b"), [](int i, int j) { return i, j; }', ('g("a, b")', " [](int i, int j) { return i, j; }")),
        ("f(a, , b), c,", ("f(a, , b)", " c")),
        ("x), (y", ("x), (y",)),
        ("", ()),
    ],
)
def test_lists_are_split_where_cpp_splits_them(text: str, parts: tuple[str, ...]) -> None:
    """The arrow and a comparison are no brackets, an index is one; what is no list of C++ is split outside of round ones."""
    assert split(text) == parts


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("at::Tensor f(at::Tensor x, bool b = 1 > 0, int n = 3) { return x; }", ["f(x, b, n)"]),
        ('extern "C" { at::Tensor f(at::Tensor x) { return x; } }', ["f(x)"]),
        ("void f(float tile[32][33], float (*g)(int), unsigned n, float *x) {}", ["f(tile, g, n, x)"]),
        ("void f() {} } if (x) { g(); } void h(int i) {}", ["f()", "h(i)"]),
        ("int f(int x) try { return x; } catch (int e) { return e; } void g() {}", ["f(x)", "g()"]),
        (
            "template <class T> T f(T x) { return x; } template <> float f<float>(float y) { return y; }",
            ["f(x)", "f(y)"],
        ),
        ("void f(std::array<int, 2> a = {1, 2}) {} void g() {}", ["f(a)", "g()"]),
        ("void f(int a { } void g() { (; } void h() {}", ["g()", "h()"]),
        ("std::tuple<int int> f(int x) {} __global__ template <class T> void k(T* y) {}", ["f(x)", "k(y)"]),
        ("MADE_BY_A_MACRO(a, b)\nstatic void f(int x) {}", ["f(x)"]),
        ("#if A\nvoid f() { if (x) {\n#else\nvoid f() { if (y) {\n#endif\n} }\nvoid g() {}", ["f()", "g()"]),
        ("struct alignas(16) S { void m() {} }; struct __align__(8) T { int n; }; void f(S s) {}", ["f(s)"]),
        ("$TYPES\nvoid f($TYPE x, int n = ${COUNT}) { ${BODY} }", ["f(x, n)"]),
        ("void f(int größe) { /* ä */ } void g(int n) {}", ["f(größe)", "g(n)"]),
        ("namespace a::b { void f() {} namespace { void g() {} } }", ["a::b::f()", "a::b::::g()"]),
    ],
)
def test_functions_of_a_text(text: str, functions: list[str]) -> None:
    """What compiles is read as a compiler does, and a mistake in one function hides no other one."""
    assert [spelled(one) for one in find_functions(text)] == functions


def test_types_and_places() -> None:
    """Types are as they are spelled, without what is no part of them; places are characters, whatever stands ahead."""
    text = "/* größer */ template <class T>\n[[nodiscard]] static inline auto f(const T *x, float t[2][3] = {})"
    text += " -> std::tuple<T, int> { return 1; }"
    [one] = at_file_scope(text)
    assert (one.template, one.returns, one.types) == (
        "template <class T>",
        "std::tuple<T, int>",
        ("const T *", "float [2][3]"),
    )
    assert [parameter.default for parameter in one.parameters] == ["", "{}"]
    assert [parameter.text for parameter in one.parameters] == ["const T *x", "float t[2][3]"]
    assert (
        text[one.offset] == "f"
        and text[slice(*one.body)] == " return 1; "
        and text[one.start :].startswith("[[nodiscard]]")
    )
    assert [one.returns for one in find_functions("const at::Tensor& f() {} int (*g())(float) {}")] == [
        "const at::Tensor&",
        "int (* )(float)",
    ]
    assert [one.specialises for one in find_functions("template <> float f<float>(float y) { return y; }")] == [True]
    assert at_file_scope("template <> float f<float>(float y) {} namespace a { void g() {} }") == ()


def test_launches() -> None:
    """They are found in each branch and in macros, whatever stands between the angle brackets; half of one is none."""
    text = """
    void f(int n) {
    #ifdef FAST
      ns::k<T, (n > 3)><<<n > 3 ? 1 : 2, dim3(3, 4)>>>(x, g(y));
    #else
      k <<<1, 2>>> ();
    #endif
    }
    #define RUN(...) \\
      do { k<<<3, 4>>>(__VA_ARGS__); } while (0)
    """
    found = [(one.start, one.configuration, one.arguments) for one in find_launches(text)]
    assert [(text[start : around[0]], text[slice(*around)], text[slice(*given)]) for start, around, given in found] == [
        ("ns::k<T, (n > 3)><<<", "n > 3 ? 1 : 2, dim3(3, 4)", "x, g(y)"),
        ("k <<<", "1, 2", ""),
        ("k<<<", "3, 4", "__VA_ARGS__"),
    ]
    assert find_launches("void f() { k<<<1, 2>>(x); }") == find_launches("void f() { <<<1, 2>>>(x); }") == ()
    [one] = find_launches(text := "void f() { k<<<1, 2>>>(x, y }")
    assert text[slice(*one.arguments)].strip() == "x, y"
    [one] = find_launches(text := "void f() { auto s = g() k<<<1, 2, 0, s>>>(x); }")
    assert text[one.start : one.configuration[0]] == "k<<<"
    [one] = find_launches(text := "void f() { k<T<<<1, 2>>>(x); }")
    assert text[one.start : one.configuration[0]] == "T<<<"
    [one] = find_launches(text := "void f(int x) { k<<<1, 2>>>(x }")
    assert text[slice(*one.arguments)].strip() == "x"


def test_declarations_and_functions_anywhere() -> None:
    """Variables are read with the words before their types; functions are found in classes and branches, too."""
    text = """
    __constant__ float w[2] = {1, 2}; int f(int);
    template <class T> struct S { __device__ T* get() { extern __shared__ const T mem[]; return mem; } };
    #ifdef A
    void g(at::Tensor x) { static __shared__ alignas(16) float tile[32][33], *u; }
    #endif
    """
    assert [(one.words, one.type, one.names, one.has_value, one.is_open) for one in find_declarations(text)] == [
        ("__constant__", "float", ("w",), True, False),
        ("extern __shared__", "const T", ("mem",), False, True),
        ("static __shared__ alignas(16)", "float", ("tile", "u"), False, False),
    ]
    assert all(text[one.end] == ";" for one in find_declarations(text))
    assert [(one.name, one.types, one.body != (0, 0)) for one in all_functions(text)] == [
        ("f", ("int",), False),
        ("get", (), True),
        ("g", ("at::Tensor",), True),
    ]


def test_places_of_calls() -> None:
    """A call says on what it is made, in macros, too."""
    text = "#define P(x) x.data_ptr<float>()\nvoid f() { g((a + b)->template h<T>(1), at::empty({n})); }"
    calls = all_calls(text)
    assert [(text[one.start : one.dot], text[one.opening : one.end]) for one in calls if one.is_member] == [
        ("(a + b)", "(1)"),
        ("x", "()"),
    ]
    assert [one.name for one in calls] == ["g", "h", "empty", "data_ptr"]


def test_calls_whose_result_nobody_takes() -> None:
    """A call alone is a statement, also behind a head; what a macro stands for may be anything."""
    text = "#define L(x) a(x)\n#define U(x) b(x);\nvoid f() { c(d()); if (e()) g(); else ::h<int>(1) ; k = (int)l(); while (m()) { } }"
    assert [one.name for one in all_calls(text) if one.is_statement] == ["c", "g", "h", "b"]


def test_loops() -> None:
    """A loop ends where its statement does, whichever that is; the `while` of a `do` is no loop of its own."""
    text = "void f() { for (auto x : g((1), 2)) if (x) y(); else z(); do { a(); } while (b); while (c) { d(); } }"
    found = [(text[one.start : one.end], text[slice(*one.head)]) for one in find_loops(text)]
    assert found == [
        ("for (auto x : g((1), 2)) if (x) y(); else z();", "(auto x : g((1), 2))"),
        ("do { a(); } while (b);", ""),
        ("while (c) { d(); }", "(c)"),
    ]


def test_calls_and_returns() -> None:
    """Chained calls come in the order in which they are written; a string may hold a comma; lambdas return for themselves."""
    body = 'm.def("f(x, y)", &f).def("g", [](int i) { return i; }); k<<<1, 2>>>(x); return a::h<float>({x, 1}, "a, b");'
    assert [(one.name, one.is_member, one.arguments) for one in find_calls(body)] == [
        ("def", True, ('"f(x, y)"', "&f")),
        ("def", True, ('"g"', "[](int i) { return i; }")),
        ("h", False, ("{x, 1}", '"a, b"')),
    ]
    [one] = find_returns(body)
    assert one.text == 'a::h<float>({x, 1}, "a, b")' and one.call and one.call.arguments == ("{x, 1}", '"a, b"')
    assert [one.text for one in find_returns("int y = x\n return y;")] == ["y"]
    lists = "return {a, b + 1}; return std::vector<T>{a}; return std::make_tuple(a, f(b, c)); return a - b; return {};"
    assert [one.parts for one in find_returns(lists)] == [("a", "b + 1"), ("a",), ("a", "f(b, c)"), None, ()]


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    LIST.write_text("\n".join(listed()) + "\n")
