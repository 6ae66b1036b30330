"""An extension's functions are matched with an op by the names that they use, or refused by name."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lltm_inline.errors import DefinitionError, naming
from lltm_inline.extension.classic import adapter_text
from lltm_inline.extension.matching import Match, bound_of
from lltm_inline.extension.reading import find_modules
from lltm_inline.model.registry import Op

OP = Op(
    "gate",
    "(Tensor x, Tensor w, float c) -> (Tensor y, Tensor n)",
    lambda x, w, c: (x * w * c, x + w),
    {"x": "N", "w": "N", "y": "N", "n": "N"},
    inputs=lambda randn, N: (randn(N), randn(N), 2.0),
)
FORWARD = "Tensors gate_forward(Tensor x, Tensor w, double c) { return {y, n, z}; }\n"
BACKWARD = "Tensors gate_backward(Tensor grad_y, Tensor grad_n, Tensor z, Tensor w, double c) { return {d_x, d_w}; }\n"
MODULE = 'PYBIND11_MODULE(a, m) { m.def("forward", &gate_forward); m.def("backward", &gate_backward); }\n'


def matched(text: str, op: Op = OP) -> Match:
    """Match the functions of a text with an op."""
    (module,) = find_modules(text)
    with naming("extension 'gate'"):
        return Match(op, bound_of(module.functions, "gate"), text)


def test_names_decide() -> None:
    """Inputs, outputs and gradients stand where their names say; what nobody takes is not kept."""
    match = matched(
        "Tensors gate_forward(double c, Tensor w, Tensor x) { return {z, n, unused, y}; }\n"
        "Tensors gate_backward(Tensor w, Tensor grad_n, Tensor n, Tensor grad_y, double c, Tensor z) { return {grad_w, d_z, x_grad}; }\n"
        + MODULE
    )
    assert match.taken == ("c", "w", "x")
    assert match.outputs == (3, 1)
    assert match.extras == {"z": 0}
    assert match.saves == ("w", "n", "c")
    assert match.handed == ("w", "d_n", "n", "d_y", "c", "z")
    assert match.gradients == {"x": 2, "w": 0}


def test_short_names() -> None:
    """`forward`, `fwd` and `fw` are the same word."""
    for forward, backward in (("forward", "backward"), ("fwd", "bwd"), ("fw", "bw")):
        for prefix in ("", "gate_"):
            functions = {f"{prefix}{forward}": "f", f"{prefix}{backward}": "b", "helper": "h"}
            assert bound_of(functions, "gate") == {"forward": "f", "backward": "b"}


def test_nameless_gradients_are_taken_in_order() -> None:
    """`return {2 * grad, grad}` says of neither what it is the gradient of: they come as forward took the tensors."""
    match = matched(
        "Tensors gate_forward(double c, Tensor w, Tensor x) { return {y, n}; }\n"
        "Tensors gate_backward(Tensor grad_y, Tensor grad_n) { return {2 * grad_y, grad}; }\n" + MODULE
    )
    assert match.gradients == {"w": 0, "x": 1}
    one_named = "Tensors gate_backward(Tensor grad_y, Tensor grad_n) { return {2 * grad_y, grad_w}; }\n" + MODULE
    assert matched(FORWARD + one_named).gradients == {"x": 0, "w": 1}


@pytest.mark.parametrize(
    ("returned", "places"),
    [
        ("dx, dw, db", (0, 1, 2)),
        ("dx, db, dw", (0, 2, 1)),
        ("db, dw, dx", (2, 1, 0)),
        ("dx, dgamma, dbeta", (0, 1, 2)),
        ("dgamma, dbeta, dx", None),
        ("dx, scale, shift", None),
    ],
)
def test_gradients_that_say_their_first_letter(returned: str, places: tuple[int, ...] | None) -> None:
    """`dw` is of the one input that begins so, `weight`; `dgamma` says nothing, and comes in order where all others do."""
    op = Op(
        "gate",
        "(Tensor x, Tensor weight, Tensor bias) -> Tensor y",
        lambda x, weight, bias: x * weight + bias,
        dict.fromkeys(("x", "weight", "bias", "y"), "N"),
    )
    text = (
        "Tensor gate_forward(Tensor x, Tensor weight, Tensor bias) { return y; }\n"
        f"Tensors gate_backward(Tensor grad_y, Tensor x, Tensor weight) {{ return {{{returned}}}; }}\n{MODULE}"
    )
    if places is None:
        with pytest.raises(DefinitionError, match=f"returns {returned}, and none of them is d_weight or grad_weight"):
            matched(text, op)
    else:
        assert matched(text, op).gradients == dict(zip(("x", "weight", "bias"), places, strict=True))


def test_some_gradients_only() -> None:
    """An op that says which inputs have a gradient takes a backward that returns these alone."""
    op = replace(OP, differentiable=("x",))
    assert matched(FORWARD + BACKWARD.replace("d_x, d_w", "d_x") + MODULE, op).gradients == {"x": 0}
    assert matched(FORWARD + BACKWARD + MODULE, op).gradients == {"x": 0}


def test_positions_decide_where_names_say_nothing() -> None:
    """Other names than the op's: arguments, outputs and gradients in the op's order, and values under the extension's names."""
    match = matched(
        "Tensors gate_forward(Tensor a, Tensor b, double k) { return {out, sum, z}; }\n"
        "Tensors gate_backward(Tensor grad_out, Tensor grad_sum, Tensor z, Tensor out, Tensor b, double k) { return {d_b, d_a}; }\n"
        + MODULE
    )
    assert match.taken == ("x", "w", "c")
    assert match.handed == ("d_y", "d_n", "z", "y", "w", "c")
    assert match.saves == ("y", "w", "c")
    assert match.gradients == {"x": 1, "w": 0}
    plain = matched(FORWARD + BACKWARD.replace("grad_y", "one").replace("grad_n", "two") + MODULE)
    assert plain.handed == ("d_y", "d_n", "z", "w", "c"), "gradients come first, whatever they are called"


def test_returned_values_keep_apart_from_inputs() -> None:
    """What forward returns under the name of an input, or of a variable of the adapter, is an extra tensor of another name."""
    match = matched(
        "Tensors gate_forward(Tensor x, Tensor w, double c) { return {y, n, x, wanted}; }\n"
        "Tensors gate_backward(Tensor grad_y, Tensor grad_n, Tensor x, Tensor wanted, Tensor w) { return {d_x, d_w}; }\n"
        + MODULE
    )
    assert match.extras == {"x_": 2, "wanted_": 3} and match.saves == ("w",)
    assert match.handed == ("d_y", "d_n", "x_", "wanted_", "w")


def test_the_adapter() -> None:
    """What is written reads as one would write it by hand."""
    assert adapter_text(OP, matched(FORWARD + BACKWARD + MODULE), dense=False) == (
        "// What the playground calls: gate_forward and gate_backward, with arguments and results in the order of op 'gate'.\n"
        "std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& w, double c) {\n"
        "  const auto returned = (gate_forward)(x, w, c);\n"
        "  return {returned[0], returned[1], returned[2]};\n"
        "}\n"
        "\n"
        "std::tuple<at::Tensor, at::Tensor> backward(\n"
        "    const at::Tensor& d_y, const at::Tensor& d_n, const at::Tensor& w, double c, const at::Tensor& z,\n"
        "    std::array<bool, 2> wanted) {\n"
        "  const auto returned = (gate_backward)(d_y.contiguous(), d_n.contiguous(), z, w, c);\n"
        "  at::Tensor d_x, d_w;\n"
        "  if (wanted[0]) d_x = returned[0];\n"
        "  if (wanted[1]) d_w = returned[1];\n"
        "  return {d_x, d_w};\n"
        "}\n"
    )


def test_adapters_of_one_tensor() -> None:
    """A tensor alone is handed through, a tuple is taken apart, also under names of the text's own; inputs are made dense where asked."""
    op = Op("half", "(Tensor x) -> Tensor y", lambda x: x / 2, {"x": "N", "y": "N"})
    text = (
        "typedef at::Tensor Whole;\nusing Pair = std::tuple<Tensor, Whole>;\n"
        "Whole half(Whole x) { return x / 2; }\n"
        "Pair half_backward(Tensor g, Tensor x) { return std::make_tuple(d_x, rest); }\n"
        'PYBIND11_MODULE(a, m) { m.def("forward", &half); m.def("half_backward", &half_backward); }\n'
    )
    (module,) = find_modules(text)
    match = Match(op, bound_of(module.functions, "half"), text, "extension::")
    assert adapter_text(op, match, dense=True) == (
        "// What the playground calls: extension::half and extension::half_backward, with arguments and results in the order "
        "of op 'half'.\n"
        "// It makes inputs contiguous, as the text goes by how they lie in memory.\n"
        "at::Tensor forward(const at::Tensor& x) {\n"
        "  return extension::half(x.contiguous());\n"
        "}\n"
        "\n"
        "at::Tensor backward(const at::Tensor& d_y, const at::Tensor& x, std::array<bool, 1> wanted) {\n"
        "  const auto returned = extension::half_backward(d_y.contiguous(), x.contiguous());\n"
        "  return wanted[0] ? std::get<0>(returned) : at::Tensor();\n"
        "}\n"
    )


LISTED = (
    "Tensors gate_backward(Tensor grad_y, Tensor grad_n, std::vector<Tensor> saved, double c) {\n"
    "  auto w = saved[0]; auto z = saved[1];\n  return {d_x, d_w};\n}\n"
)


@pytest.mark.parametrize(
    ("forward", "backward", "handed", "extras"),
    [
        (FORWARD, LISTED, ("w", "z"), {"z": 2}),
        (FORWARD, LISTED.replace("auto w = saved[0]; auto z = saved[1]", "use(saved.at(0))"), ("z",), {"z": 2}),
        (
            FORWARD.replace("z}", "z, u}"),
            LISTED.replace("auto w = saved[0]; auto z = saved[1]", "use(saved[0], saved[1])"),
            ("z", "u"),
            {"z": 2, "u": 3},
        ),
    ],
    ids=["named there", "all that is left", "in order"],
)
def test_a_list_of_what_was_saved(forward: str, backward: str, handed: tuple[str, ...], extras: dict[str, int]) -> None:
    """What a backward takes as one list is put together: by the names that it gives the elements, or what forward returns beyond."""
    match = matched(forward + backward + MODULE)
    assert match.handed == ("d_y", "d_n", handed, "c") and match.extras == extras
    assert f"std::vector<at::Tensor>{{{', '.join(handed)}}}" in adapter_text(OP, match, dense=False)
    assert ("std::vector<at::Tensor>{w.contiguous(), z}" in adapter_text(OP, match, dense=True)) == ("w" in handed)


@pytest.mark.parametrize(
    ("taken", "body", "handed"),
    [
        ("int64_t vocab", "auto d_w = torch::zeros({vocab, n}, x.options());", "w.size(0)"),
        ("int vocab", "auto d_w = grad_y.new_empty({ n, vocab });", "w.size(1)"),
        ("int64_t many", "", "x.size(0)"),
        ("std::vector<int64_t> sizes", "Tensor d_x = at::zeros(sizes, w.options());", "x.sizes().vec()"),
        ("at::IntArrayRef sizes", "d_w = torch::full(sizes, 0.0);", "w.sizes().vec()"),
    ],
)
def test_sizes_that_backward_is_told(taken: str, body: str, handed: str) -> None:
    """A number that is an extent of an input is taken from it: of that whose gradient is made with it, or as forward calls it."""
    forward = FORWARD.replace("{ return", "{ auto many = x.size(0); return")
    backward = BACKWARD.replace("Tensor w, double c", taken).replace("{ return", f"{{ {body} return")
    match = matched(forward + backward + MODULE)
    assert match.handed == ("d_y", "d_n", "z", handed) and match.saves == (handed[0],)


@pytest.mark.parametrize(
    ("body", "returned", "ahead", "handed"),
    [
        ("auto g = torch::zeros({rows, 3}, x.options());", "g.index_add_(0, i, z).div_(n)", "", "w.size(0)"),
        ("", "at::zeros({3, rows}, o).scatter_add_(0, i, z)", "", "w.size(1)"),
        ("", "at::embedding_dense_backward(grad_y, i, rows, -1, false)", "", "w.size(0)"),
        ("", "f(z)", "auto k = w.contiguous(); const int64_t n = x.size(1), rows = k.size(0);", "w.size(0)"),
        ("auto g = torch::zeros({rows, 3}, x.options());", "g.sum(0)", "", ""),
        ("auto d_w = torch::zeros({rows, 3}, x.options()); d_w = at::sum(d_w, 0);", "d_w", "", ""),
        ("auto d_w = torch::zeros({3}); for (;;) d_w = torch::zeros({rows, 3});", "d_w", "", ""),
        ("", "f(z)", "if (c) rows = x.size(0); else rows = w.size(0);", ""),
    ],
)
def test_sizes_of_what_backward_goes_on_with(body: str, returned: str, ahead: str, handed: str) -> None:
    """Methods that work in place leave the shape of a gradient; what may be one size or another is refused, with the cure first."""
    backward = BACKWARD.replace("Tensor w, double c", "int64_t rows").replace("d_x, d_w", f"d_x, {returned}")
    text = (
        FORWARD.replace("{ return", f"{{ {ahead} return") + backward.replace("{ return", f"{{ {body} return") + MODULE
    )
    if handed:
        assert matched(text).handed[-1] == handed
        return
    cure = r"write there of which, such as const int64_t rows = x.size\(0\); else give both the same name"
    with pytest.raises(
        DefinitionError, match=f"'gate_forward' takes or returns: .*. If it is the size of a tensor, {cure}"
    ):
        matched(text)


def test_short_names_of_gradients() -> None:
    """`dx` is the gradient of x, and stands where its name says, not where it comes; a word that begins so is none."""
    for first, second in (("dw", "dx"), ("gradW", "gradX"), ("gw", "gx"), ("grad_W", "d_X")):
        backward = BACKWARD.replace("d_x, d_w", f"{first}, {second}")
        assert matched(FORWARD + backward + MODULE).gradients == {"x": 1, "w": 0}, first
    backward = BACKWARD.replace("Tensor grad_y, Tensor grad_n, Tensor z", "Tensor z, Tensor dn, Tensor dy")
    assert matched(FORWARD + backward + MODULE).handed == ("z", "d_n", "d_y", "w", "c")
    assert matched(FORWARD + BACKWARD.replace("d_x, d_w", "data, dim") + MODULE).gradients == {"x": 0, "w": 1}


ONLY_FORWARD = 'PYBIND11_MODULE(a, m) { m.def("forward", &gate_forward); }\n'
FILLING = (
    "void gate_forward(Tensor x, Tensor w, double c, Tensor& sum, Tensor y) { go(x, w, c, sum, y); }\n"
    "int gate_backward(Tensor grad_y, Tensor grad_sum, Tensor sum, Tensor w, Tensor grad_x, Tensor grad_w) { return 1; }\n"
)


def test_outputs_as_arguments() -> None:
    """What a function fills is made before it, of the shape that the op says, and is no argument of the op; of gradients likewise."""
    assert adapter_text(OP, matched(FILLING + MODULE), dense=False) == (
        "// What the playground calls: gate_forward and gate_backward, with arguments and results in the order of op 'gate'.\n"
        "std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& x, const at::Tensor& w, double c) {\n"
        "  at::Tensor made_y = at::zeros({x.size(0)}, x.options());\n"
        "  at::Tensor made_sum = at::zeros({x.size(0)}, x.options());\n"
        "  (gate_forward)(x, w, c, made_sum, made_y);\n"
        "  return {made_y, made_sum};\n"
        "}\n"
        "\n"
        "std::tuple<at::Tensor, at::Tensor> backward(\n"
        "    const at::Tensor& d_y, const at::Tensor& d_n, const at::Tensor& n, const at::Tensor& w, const at::Tensor& x,\n"
        "    std::array<bool, 2> wanted) {\n"
        "  at::Tensor made_grad_x = at::zeros(x.sizes(), x.options());\n"
        "  at::Tensor made_grad_w = at::zeros(w.sizes(), w.options());\n"
        "  (gate_backward)(d_y.contiguous(), d_n.contiguous(), n, w, made_grad_x, made_grad_w);\n"
        "  at::Tensor d_x, d_w;\n"
        "  if (wanted[0]) d_x = made_grad_x;\n"
        "  if (wanted[1]) d_w = made_grad_w;\n"
        "  return {d_x, d_w};\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("shape", "taken", "zeros"),
    [
        ("2N-1 M", "Tensor x, Tensor out", "{2 * x.size(0) - 1, x.size(1)}, x.options()"),
        ("(N+c)/2", "Tensor output, Tensor x, int64_t c", "{(x.size(0) + c) / 2}, x.options()"),
        ("N", "Tensor x, int64_t c, Tensor anything", "{x.size(0)}, x.options()"),
    ],
)
def test_shapes_of_what_is_filled(shape: str, taken: str, zeros: str) -> None:
    """They are those of the op; which argument it is follows from its name, or it is the last one."""
    schema = "(Tensor x, int c=2) -> Tensor y" if "c" in taken.split() or " c" in taken else "(Tensor x) -> Tensor y"
    op = Op("gate", schema, lambda x, c=2: x, {"x": "N M", "y": shape})
    text = f"void gate_forward({taken}) {{ go(); }}\n" + ONLY_FORWARD
    assert f" = at::zeros({zeros});" in adapter_text(op, matched(text, op), dense=False)


def test_an_output_that_the_caller_gives() -> None:
    """An op whose schema has it, as a changed input, is called as the extension is; what it may return is that tensor itself."""
    text = "void gate_forward(Tensor x, Tensor out) { go(x, out); }\n" + ONLY_FORWARD
    for returned, shapes in (("()", {}), ("Tensor(a!) same", {"same": "N"})):
        schema = f"(Tensor x, Tensor(a!) out) -> {returned}"
        op = Op("gate", schema, lambda x, out: out.copy_(x), {"x": "N", "out": "N"} | shapes)
        written = adapter_text(op, matched(text, op), dense=False)
        assert "  (gate_forward)(x, out);\n" in written and ("return out;" in written) == bool(shapes)


def test_what_nobody_can_make() -> None:
    """An output whose shape only the caller knows, and a tensor that is no output: each is refused with what would go in."""
    text = "void gate_forward(Tensor x, Tensor out) { go(); }\n" + ONLY_FORWARD
    for shape, more, message in (
        (
            "?",
            "",
            r"fills 'y', whose shape is \(\?\): only the caller knows it. .*, \(Tensor x, Tensor\(a!\) y\) -> \(\)",
        ),
        (
            "N",
            ", Tensor rest",
            "fills rest, which is no output of op 'gate': nothing says its shape. Make an op of which",
        ),
    ):
        op = Op("gate", "(Tensor x) -> Tensor y", lambda x: x, {"x": "N", "y": shape})
        with pytest.raises(DefinitionError, match=message):
            matched(text.replace("out)", f"out{more})"), op)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            FORWARD + "PYBIND11_MODULE(a, m) { m.def(\"f\", &f); m.def(\"g\", &g); }",
            "it binds f, g, and none of that is called forward: name it, import_extension(..., forward='f'). Or",
        ),
        (FORWARD + "PYBIND11_MODULE(a, m) { }", "it binds nothing, and none of that is called forward: name it"),
        (
            FORWARD + 'PYBIND11_MODULE(a, m) { m.def("a_forward", &a); m.def("b_forward", &b); }',
            "it binds a_forward and b_forward: name one, import_extension(..., forward='a_forward'). Or write",
        ),
        (FORWARD + MODULE, "'gate_backward' is no function at file scope of its sources"),
        (FORWARD + 'PYBIND11_MODULE(a, m) { m.def("forward", [](Tensor x) { return x; }); }', "binds a lambda"),
        (BACKWARD + "Tensors gate_forward(Tensor x) { return {y, n}; }\n" + MODULE, "'gate_forward' takes 1 argument (x), op 'gate' has 3"),
        (
            BACKWARD + "Tensors gate_forward(Tensor w, Tensor x, double k) { return {y, n}; }\n" + MODULE,
            "argument 1 of 'gate_forward' is 'w', and of op 'gate' it is 'x': give the arguments the op's names, x, w, c.",
        ),
        (
            BACKWARD + "Tensors gate_forward(Tensor x, Tensor w, double c) { return {y}; }\n" + MODULE,
            "'gate_forward' returns y, op 'gate' has 2 outputs: y, n.",
        ),
        (
            BACKWARD + "Tensors gate_forward(Tensor x, Tensor w, double c) { return all; }\n" + MODULE,
            "'gate_forward' returns 'all', which names no tensors: want return {new_h, new_cell, ...}.",
        ),
        (
            FORWARD + BACKWARD.replace("Tensor grad_n, ", "") + MODULE,
            "'gate_backward' takes grad_y as gradients, op 'gate' has 2 outputs: y, n. It takes a gradient of each output",
        ),
        (
            FORWARD + BACKWARD.replace("Tensor z", "Tensor q") + MODULE,
            "argument 'q' of 'gate_backward' is none of what 'gate_forward' takes or returns: x, w, c, y, n, z. "
            "Give both the same name.",
        ),
        (
            FORWARD + BACKWARD.replace("d_w", "w2") + MODULE,
            "'gate_backward' returns d_x, w2, and none of them is d_w or grad_w, the gradient of 'w': give it that name where "
            "it is returned, or make an op without that gradient: Op(..., differentiable=('x',)).",
        ),
        (
            FORWARD + LISTED.replace("saved[1]", "saved[2]") + MODULE,
            "'gate_backward' takes the list 'saved', and its text does not say what of that is which: call each element as the "
            "forward does, auto x = saved[0]. Forward takes and returns x, w, c, y, n, z.",
        ),
        (
            FORWARD.replace("{y, n, z}", "{2 * x, n, z}") + BACKWARD.replace("Tensor z, Tensor w", "int64_t count") + MODULE,
            "argument 'count' of 'gate_backward' is none of what 'gate_forward' takes or returns: x, w, c, y, n, z.",
        ),
        (FORWARD + BACKWARD.replace("d_w", "x * 2, z") + MODULE, "'gate_backward' returns d_x, (a nameless one), z, and none of them"),
    ],
)  # fmt: skip
def test_what_cannot_be_matched(text: str, message: str) -> None:
    """It is named, with what to do."""
    with pytest.raises(DefinitionError, match=rf"^extension 'gate':? {re.escape(message)}") as raised:
        matched(text)
    assert str(raised.value).endswith(
        "Or write 'forward' and 'backward' by hand, and take the file with li.Kernel.from_files"
    )
