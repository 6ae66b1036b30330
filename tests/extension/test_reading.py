"""What can be read out of an extension's C++ text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lltm_inline.cpp.functions import find_function
from lltm_inline.extension.reading import Module, Result, Unclear, find_modules, result_of
from tests.properties.malformed import PROFILE, TEXTS

PIECES = (
    "Tensors f(Tensor x)", "{", "}", "(", ")", "return", "{x, y}", "f(x)", "g(x)", ";", "std::move(x)", "[&]", "->", "if (x)", "//", '"',
    "PYBIND11_MODULE(a, m)", 'm.def("forward", &f);', "m.def(", ",", "\n", "std::make_tuple(x, y)", "mutable", "]", "<", ">",
)  # fmt: skip


def result(text: str, name: str = "f") -> Result:
    """Return what a function of a text returns."""
    function = find_function(text, name)
    assert function is not None
    return result_of(text, function, name)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Tensors f(Tensor x) { return {new_h, std::move(cell), x * 2, z[0]}; }", ("new_h", "cell", "", "")),
        ("Tensors f(Tensor x) { return std::vector<torch::Tensor>{a, b}; }", ("a", "b")),
        ("std::tuple<Tensor, Tensor> f(Tensor x) { return std::make_tuple(a, g(b, c)); }", ("a", "")),
        ("std::tuple<Tensor, Tensor> f(Tensor x) { return std::tuple<Tensor, Tensor>(a, b); }", ("a", "b")),
        ("torch::Tensor f(Tensor x) { return y; }", ("y",)),
        ("at::Tensor f(Tensor x) { return x * 2; }", ("",)),
        ("Tensors f(Tensor x) { if (x) { return {a, c}; } /* return {q}; */ return {a, b}; }", ("a", "b")),
        ("Tensors f(Tensor x) { auto g = [&](int i) { return i; }; run([&] { return; }); return {a}; }", ("a",)),
        ("auto f(Tensor x) -> std::vector<Tensor> { return {a}; }", ("a",)),
    ],
)
def test_what_is_returned(text: str, names: tuple[str, ...]) -> None:
    """Lists in every spelling, tensors alone; lambdas and comments return nothing of the function's."""
    assert result(text) == Result(names)


def test_functions_that_hand_on() -> None:
    """A function that only calls another returns what that one does, and its parameters have that one's names too."""
    text = """
    Tensors h(Tensor p, Tensor q) { return {p, r}; }
    Tensors g(Tensor u, Tensor v) { CHECK(u); return h(v, u.contiguous()); }
    Tensors f(Tensor a, Tensor b) { return g(a, b); }
    """
    assert result(text) == Result(("p", "r"), {"p": "b", "q": "a", "u": "a", "v": "b"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Tensors f(Tensor x) { return out; }",
            "returns 'out', which names no tensors: want return {new_h, new_cell, ...}",
        ),
        ("Tensors f(Tensor x) { return f(x); }", "returns 'f(x)', which names no tensors"),
        ("Tensors f(Tensor x) { return other(x); }", "returns 'other(x)', which names no tensors"),
        (
            "Tensors f(Tensor x) { return g(x); }  Tensors g(Tensor x) { return f(x); }",
            "returns 'f(x)', which names no tensors",
        ),
        ("Tensors f(Tensor x) { if (x) return {a}; return {a, b}; }", "returns 1 or 2 tensors"),
        ("Tensors f(Tensor x) { throw 1; }", "returns nothing"),
    ],
)
def test_what_cannot_be_told(text: str, message: str) -> None:
    """A result that is put together elsewhere has no names."""
    with pytest.raises(Unclear) as raised:
        result(text)
    assert str(raised.value).startswith(message)


def test_modules() -> None:
    """The block of pybind11, wherever it stands; comments and strings hold none."""
    text = (
        '// PYBIND11_MODULE(a, m) { m.def("no", &no); }\nconst char* s = "PYBIND11_MODULE(b, m) {}";\nint x;\n'
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n  m.doc() = "}";\n  // m.def("old", &old);\n'
        '  m.def("forward", &lltm::forward, "m.def(\\"no\\", &no)");\n  m.def( "backward" , torch::wrap_pybind_function(lltm_backward));\n'
        '  m.def("twice", [](int x) { return 2 * x; });\n}\nint y;\n'
    )
    (module,) = find_modules(text)
    assert text[module.start : module.end].startswith("PYBIND11_MODULE(TORCH")
    assert text[module.end :] == "\nint y;\n"
    assert module.functions == {"forward": "lltm::forward", "backward": "lltm_backward", "twice": "[]"}
    assert find_modules("int x;") == find_modules("PYBIND11_MODULE(a, m)") == []
    assert find_modules("PYBIND11_MODULE(a, m) { ") == [Module(0, 24, {})]


def test_libraries() -> None:
    """Blocks of the dispatcher: a schema alone binds nothing, nor do fakes and autograd; an implementation does."""
    text = (
        'TORCH_LIBRARY(ops, m) {\n  m.def("muladd(Tensor a, float c) -> Tensor");\n  m.def("twice(Tensor a) -> Tensor", &twice);\n}\n'
        'TORCH_LIBRARY_IMPL(ops, CPU, m) {\n  m.impl("muladd", TORCH_FN(muladd_cpu));\n}\n'
        'TORCH_LIBRARY_IMPL(ops, Meta, m) {\n  m.impl("muladd", &muladd_meta);\n}\n'
    )
    assert [module.functions for module in find_modules(text)] == [{"twice": "twice"}, {"muladd": "muladd_cpu"}, {}]


def test_libraries_within_a_namespace() -> None:
    """As PyTorch's own tutorial has them: a function of the same namespace is bound by its short name."""
    defined = "Tensor outer(Tensor a) { return a; } namespace ext { Tensor mul(Tensor a) { return a; } namespace cpu {"
    text = defined + 'Tensor add(Tensor a) { return a; } TORCH_LIBRARY_IMPL(ops, CPU, m) { m.impl("mul", &mul); } } '
    text += 'TORCH_LIBRARY(ops, m) { m.def("add", &cpu::add); m.def("out", &outer); m.def("none", &none); } }'
    assert [module.functions for module in find_modules(text)] == [
        {"mul": "ext::mul"},
        {"add": "ext::cpu::add", "out": "outer", "none": "none"},
    ]


@PROFILE
@given(st.lists(st.sampled_from(PIECES), max_size=16).map(" ".join) | TEXTS)
def test_any_text(text: str) -> None:
    """Whatever the text, it is read to an end."""
    find_modules(text)
    function = find_function(text, "f")
    if function is None:
        return
    try:
        assert isinstance(result_of(text, function, "f"), Result)
    except Unclear as error:
        assert str(error)
