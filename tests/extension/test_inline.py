"""What people give to `load_inline` becomes a kernel of an op that is made on the spot; snippets in the wild's styles, and bad input."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.cpp_extension import load_inline

import lltm_inline as li
from lltm_inline.errors import (
    BuildError,
    CrashError,
    DefinitionError,
    InputError,
    LltmInlineError,
    SignatureError,
)
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.notebook.inline_cell import run
from lltm_inline.notebook.live import Terminal
from lltm_inline.notebook.verbs import perform
from lltm_inline.run.cases.case import Case
from lltm_inline.run.cases.drawing import make_inputs
from lltm_inline.run.cases.tried import other_numbers, wide_integers
from tests import tiny
from tests.quick import QUICK
from tests.texts import bodies
from tests.wild import KINDS, Wild, every, has_backward, table, table_of_kinds

SNIPPETS = {snippet.name: snippet for snippet in every()}
#: One of each kind, and of these what `make test` runs; the others are marked `full`.
FIRST = (
    *("sin_add", "mean_last_dim", "sgd_step_", "softmax_forward", "embedding_forward", "add_noise", "quantize_rows"),
    *("fake_quant", "gumbel_argmax"),
)
AT_ONCE = ("sin_add", "sgd_step_")
SQUARE = "torch::Tensor square(torch::Tensor x) { return x * x; }\n"


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    """Take out of the registry what a test has made."""
    with tiny.registry_as_before():
        yield


def brought_in(snippet: Wild, given: dict[str, Any] | None = None) -> Kernel:
    """Bring a snippet in, and return its first kernel."""
    made = li.from_load_inline(
        **(given or snippet.given), reference=snippet.reference, inputs=snippet.inputs, **snippet.more
    )
    return made[0] if isinstance(made, tuple) else made


def test_arguments_are_those_of_load_inline() -> None:
    """Every argument that this torch's `load_inline` takes is taken, by the same name and in the same place."""
    theirs = [*inspect.signature(load_inline).parameters]
    ours = [
        name
        for name, one in inspect.signature(li.from_load_inline).parameters.items()
        if one.kind == one.POSITIONAL_OR_KEYWORD
    ]
    assert ours[: len(theirs)] == theirs


def test_an_op_of_that_name_stays() -> None:
    """A snippet whose name an op has already gets another one, and says so."""
    made = li.from_load_inline("ext", SQUARE.replace("square", "axpy"), functions=["axpy"])
    assert isinstance(made, Kernel) and made.label == "axpy_inline/inline"
    assert made.doc.startswith(
        "axpy_inline(Tensor x) -> (Tensor output) ('axpy' is another op, which stays). It can be"
    )


def test_a_kernel_says_what_was_guessed() -> None:
    """In three lines below its text: letters, dtypes and gradient, each with where it comes from."""
    text = "torch::Tensor scaled(torch::Tensor x, double by) { const auto B = x.size(0); return x * by; }"
    how: dict[str, Any] = {"functions": ["scaled"], "reference": lambda x, by: x * by}
    made = li.from_load_inline("e", text, inputs=(torch.randn(3, 5), 2.0), **how)
    assert str(made).split("\n")[-3:] == [
        "letters: x B N, output B N; B as the text calls them, all others of the example",
        "dtypes: float32, float64; those of ATen, as far as the reference takes them",
        "gradient: x, through ATen, as the reference has one",
    ]
    made = li.from_load_inline("e", text.replace("* by", "* x.data_ptr<float>()[0]"), **how)
    assert str(made).split("\n")[-3:] == [
        "letters: x ?, output ?; no example tells them",
        "dtypes: float32; the usual one, as no example tells it",
        "gradient: none, as no function is its backward",
    ]
    both = SQUARE + "torch::Tensor square_backward(torch::Tensor g, torch::Tensor x) { return 2 * x * g; }\n"
    made = li.from_load_inline("e", both, functions=["square", "square_backward"], reference=torch.square, inputs=X)
    assert str(made).endswith("gradient: that of square_backward")


def test_what_the_snippets_become() -> None:
    """Schema, shapes, dtypes and gradients of each op are as a person would write them; texts stay as they are."""
    found = {}
    for name, snippet in SNIPPETS.items():
        if snippet.refused:
            continue
        kernel = brought_in(snippet)
        op = registry.op_of(kernel)
        found[name] = [op.schema, " | ".join(map(str, op.shapes.values())), " ".join(op.dtypes), str(op.differentiable)]
        (text,) = kernel.sources.values()
        own = snippet.given.get("cuda_sources") or snippet.given["cpp_sources"]
        own = own if isinstance(own, str) else "\n".join(own)
        kept = own.partition("PYBIND11_MODULE")[0].partition("TORCH_LIBRARY")[0]
        assert text.startswith(kept.rstrip().replace("$", "$$"))
    expected = json.loads((Path(__file__).parent / "snippets.json").read_text())
    assert found == expected


@pytest.mark.parametrize(
    "snippet",
    [pytest.param(one, id=name, marks=[pytest.mark.full] * (name not in AT_ONCE)) for name, one in SNIPPETS.items()],
)
def test_each_is_told_right_from_wrong(snippet: Wild) -> None:
    """A snippet that is right is called right, and with a mistake in it wrong; what cannot go in is refused by name."""
    how: dict[str, Any] = {"device": snippet.device, "compiler": QUICK}
    if snippet.refused:
        with pytest.raises(LltmInlineError, match=snippet.refused):
            li.build(brought_in(snippet), **how)
        return
    report = li.check(brought_in(snippet), **how)
    assert report.ok, str(report)
    if snippet.wrong[0] and (snippet.device == "cpu" or snippet.name in FIRST):  # CUDA takes long to compile
        wrong = li.check(brought_in(snippet, snippet.planted()), **how)
        assert not wrong.ok and not wrong.forward_only


def test_table_in_the_docs() -> None:
    """docs/wild.md holds the table of the snippets as they are, and README says how many."""
    root = Path(__file__).parents[2]
    page = (root / "docs" / "wild.md").read_text()
    assert table() in page
    assert f"[{len(SNIPPETS)} snippets](docs/wild.md)" in (root / "README.md").read_text()
    unchanged = [snippet for snippet in SNIPPETS.values() if not snippet.refused and not snippet.shim]
    refused = sum(bool(snippet.refused) for snippet in SNIPPETS.values())
    assert f"{len(SNIPPETS) - refused} of the {len(SNIPPETS)} snippets work, {len(unchanged)} of them unchanged" in page
    assert len(SNIPPETS) >= 40 and len(unchanged) >= 0.9 * len(SNIPPETS)


def test_kinds_in_the_docs() -> None:
    """docs/wild.md names for each kind of kernel one on the CPU, one in CUDA and one with a backward, and these are that."""
    assert table_of_kinds() in (Path(__file__).parents[2] / "docs" / "wild.md").read_text()
    for names in KINDS.values():
        assert [SNIPPETS[name].device for name in names[:2]] == ["cpu", "cuda-cpu"]
        assert not any(SNIPPETS[name].refused or SNIPPETS[name].shim for name in names if name)
        assert not names[2] or has_backward(SNIPPETS[names[2]])


@pytest.mark.full
def test_a_list_that_backward_gets() -> None:
    """It holds what the forward got, in a second backward through one graph too."""
    text = """
    torch::Tensor affine(torch::Tensor x, std::vector<torch::Tensor> w) { return x.mm(w[0]) + x.mm(w[1]); }
    torch::Tensor affine_backward(torch::Tensor grad, torch::Tensor x, std::vector<torch::Tensor> w) {
      auto d_x = grad.mm(w[0].t()) + grad.mm(w[1].t());
      return d_x;
    }
    """
    # whole numbers, so that sums come out the same in any order
    x, w = torch.randn(3, 4), [torch.arange(20.0).reshape(4, 5), torch.ones(4, 5)]
    kernel = li.from_load_inline(
        "e",
        text,
        functions=["affine", "affine_backward"],
        reference=lambda x, w: x.mm(w[0]) + x.mm(w[1]),
        inputs=(x, w),
    )
    report = li.check(kernel, compiler=QUICK)
    assert report.ok, str(report)
    y = li.load(kernel, compiler=QUICK)(x.requires_grad_(), w).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert torch.equal(x.grad, 2 * (w[0] + w[1]).sum(1).expand(3, 4))


@pytest.mark.full
def test_labels_stay_labels() -> None:
    """What is 0 or 1 in the example is 0 or 1 in a check; a check of other numbers would call this wrong."""
    text = """
    torch::Tensor margin(torch::Tensor x, torch::Tensor t) {
      auto y = torch::empty_like(x);
      AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "margin", [&] {
        const auto *p = x.data_ptr<scalar_t>(), *label = t.data_ptr<scalar_t>();
        for (int64_t i = 0; i < x.numel(); ++i) y.data_ptr<scalar_t>()[i] = label[i] > 0.5 ? p[i] : -p[i];
      });
      return y;
    }
    """
    given: dict[str, Any] = {"functions": ["margin"], "reference": lambda x, t: x * (2 * t - 1)}
    x, labels = torch.randn(6), torch.tensor([0.0, 1, 1, 0, 1, 0])
    for target, right in ((labels, True), (torch.rand(6), False)):
        report = li.check(li.from_load_inline("e", text, **given, inputs=(x, target)), compiler=QUICK)
        assert report.ok == right, str(report)


def test_indices_with_a_mark() -> None:
    """What is -100 in the place of an index in the example is so in a check, and of a label nothing else is negative."""
    text = "torch::Tensor f(torch::Tensor x, torch::Tensor t) { return x; }"
    labels = torch.tensor([1, 4, -100, 0, 2, 3, -100, 3])
    kernel = li.from_load_inline(
        "e", text, functions=["f"], reference=torch.nn.functional.cross_entropy, inputs=(torch.randn(8, 5), labels)
    )
    op = registry.op_of(kernel)
    drawn = op.make_inputs(torch.randn, (600, 7))[1]
    assert drawn.unique().tolist() == [-100, *range(7)] and 0.15 < (drawn < 0).double().mean() < 0.35
    assert op.make_inputs(torch.randn, (1, 7))[1].min() >= 0


@pytest.mark.full
def test_what_a_check_does_not_show_of_a_text_that_goes_by_memory() -> None:
    """Its inputs are made contiguous before it, which the report says; of one that takes them as they are it does not."""
    text = """
    torch::Tensor twice(torch::Tensor x) {
      auto y = torch::empty(x.sizes(), x.options());
      AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "twice", [&] {
        for (int64_t i = 0; i < x.numel(); ++i) y.data_ptr<scalar_t>()[i] = 2 * x.data_ptr<scalar_t>()[i];
      });
      return y;
    }
    """
    said = (
        "inputs are made contiguous before they reach the text: that it is right for others by itself, or "
        "for a view whose address is no multiple of 16 bytes, such as x[1:], is not shown"
    )
    for one, notes in ((text, (said,)), ("torch::Tensor twice(torch::Tensor x) { return 2 * x; }", ())):
        kernel = li.from_load_inline(
            "e", one, functions=["twice"], reference=lambda x: 2 * x, inputs=(torch.randn(4, 3),)
        )
        report = li.check(kernel, compiler=QUICK)
        assert not report.findings and report["interface"].notes == (
            *notes,
            "sizes are given by letter: x (N, M); no other number of axes is tried",
        )
        assert report.matrix["y" if notes else "output"]["strided"] == ("copied" if notes else "ok")


def test_called_without_a_reference(quick_compiler: None) -> None:
    """Without a reference a snippet can be built, loaded and called; a check says that it needs one."""
    kernel = li.from_load_inline("ext", SQUARE, functions=["square"], inputs=(torch.ones(3, 5),))
    x = torch.randn(4, 7)
    assert torch.equal(li.load(kernel)(x), x * x)
    assert "reference" in kernel.doc
    with pytest.raises(DefinitionError, match=r"op 'square' has no reference: from_load_inline\(\.\.\., reference="):
        li.check(kernel)


TEXTS = bodies(__file__)
ITSELF = TEXTS["itself"]


def test_the_function_itself_tells_its_shapes(quick_compiler: None) -> None:
    """Without a reference it runs on the example, in the worker; so it can be traced, and what it refuses is said at once."""
    x = torch.randn(2, 3, 19)
    kernel = li.from_load_inline("e", ITSELF, functions=["pool"], inputs=(x, 3, 2))
    op = registry.op_of(kernel)
    assert (op.shapes["output"], op.dtypes) == ("N M (K-k)/s+1", ("float32",))
    assert kernel.label == "pool/inline" and registry["pool/inline"] is kernel
    with pytest.raises(
        DefinitionError,
        match=r"'pool': it fails on the example inputs \(float64 \(2, 3, 19\), 3, 2\): RuntimeError: want float",
    ):
        li.from_load_inline("e", ITSELF, functions=["pool"], inputs=(x.double(), 3, 2))
    assert registry["pool/inline"] is kernel


@pytest.mark.full
def test_the_function_itself_tells_what_it_returns(quick_compiler: None) -> None:
    """How many tensors are in its vector, and their dtypes; what follows from the values has no shape; one that crashes is refused."""
    given: dict[str, Any] = {"functions": ["means"]}
    with pytest.raises(DefinitionError, match="give inputs, to see in a call how many tensors it returns"):
        li.from_load_inline("e", ITSELF, **given)
    kernel = li.from_load_inline("e", ITSELF, **given, inputs=(torch.randn(3, 5), 2))
    op = registry.op_of(kernel)
    assert op.schema == "(Tensor x, int n) -> (Tensor output0, Tensor output1, Tensor[int64] output2)"
    assert [op.shapes[f"output{place}"] for place in range(3)] == ["M", "M", "?"]
    assert [one.shape for one in li.load(kernel)(torch.ones(2, 4), 2)] == [(4,), (4,), (8, 2)]
    with pytest.raises(CrashError, match="ends/inline:14: it writes to address 0x0, a null pointer") as crashed:
        li.from_load_inline("e", ITSELF, functions=["ends"], inputs=X)
    assert crashed.value.__notes__ == [
        "ends/inline: it ran on the example inputs (float32 (3, 5)). Give it such as it takes, or mend it."
    ]
    assert "ends/inline" not in registry and "ends" not in registry.ops


@pytest.mark.full
def test_the_function_itself_tells_what_it_changes(quick_compiler: None) -> None:
    """Without a reference a change of an input is seen in the run, and comes back from the worker; what only looks so is none."""
    text = """
    torch::Tensor floor_(torch::Tensor x) { x.clamp_min_(0); return x; }
    torch::Tensor scale_(std::vector<torch::Tensor> gs, double by) {
      auto norm = gs[0].norm();
      for (auto& g : gs) g.mul_(by);
      return norm;
    }
    torch::Tensor plus(torch::Tensor x) { auto y = x.clone(); y.add_(1); return y; }
    """
    names = ["floor_", "scale_", "plus"]
    kernels = li.from_load_inline(
        "e", text, functions=names, inputs={"floor_": -X[0], "scale_": ([*X, *X], 2.0), "plus": X}
    )
    floor, scale, plus = kernels
    assert [registry.op_of(one).schema for one in kernels] == [
        "(Tensor(a!) x) -> (Tensor(a!) output)",
        "(Tensor(a!)[] gs, float by) -> (Tensor norm)",
        "(Tensor x) -> (Tensor y)",
    ]
    x = torch.full((2, 3), -1.0)
    assert li.call(floor, x) is x and x.eq(0).all() and li.call(plus, x).eq(1).all() and x.eq(0).all()
    ones = [torch.ones(2, 3)]
    assert li.call(scale, ones, 2.0) == pytest.approx(6**0.5) and ones[0].eq(2).all()


def test_called_without_inputs() -> None:
    """Without example inputs tensors may have any shape."""
    kernel = li.from_load_inline("ext", SQUARE, functions=["square"])
    x = torch.randn(2, 3, 4)
    assert torch.equal(li.load(kernel, compiler=QUICK)(x), x * x)
    assert "reference=..., inputs=..." in kernel.doc
    with pytest.raises(DefinitionError, match=r"op 'square' has no reference and no inputs: from_load_inline"):
        li.check(kernel, compiler=QUICK)


def test_errors_at_the_lines_of_the_snippet(quick_compiler: None) -> None:
    """A message counts in the user's own text, whose includes and line ends may be any."""
    text = "#include <torch/extension.h>\r\n\r\ntorch::Tensor square(torch::Tensor x) {\r\n  return x * y;\r\n}\r\n"
    with pytest.raises(BuildError) as failed:
        li.build(li.from_load_inline("ext", text, functions=["square"], inputs=(torch.ones(3),)))
    assert [(one.line, one.column) for one in failed.value.diagnostics] == [(4, 14)]


@pytest.mark.full
def test_what_a_text_registers_by_itself() -> None:
    """Two versions of a text with a library of its own live in one process; what cannot be left out is refused before that."""
    kernel = brought_in(SNIPPETS["own TORCH_LIBRARY"])
    x = torch.ones(2, 3)
    first, second = (
        li.load(one, compiler=QUICK) for one in (kernel, kernel.edit("return a * b + c", "return a * b - c"))
    )
    assert (first(x, x, 2.0) - second(x, x, 2.0)).unique().tolist() == [4.0]
    text = SQUARE + 'static auto registry = torch::RegisterOperators().op("my::square", &square);\n'
    with pytest.raises(SignatureError, match=r"(?s)square/inline:2:.*operators are registered under names of its own"):
        li.build(li.from_load_inline("ext", text, functions=["square"]))


@pytest.mark.full
def test_a_snippet_that_crashes() -> None:
    """It takes the worker down and not this process, which is told the line of the snippet; nothing of it is loaded here."""
    text = SQUARE.replace("return", "int* nowhere = nullptr;\n  *nowhere = 1;\n  return")
    kernel = li.from_load_inline("ext", text, functions=["square"], reference=torch.square, inputs=X)
    report = li.check(kernel, compiler=QUICK)
    assert not report.ok and "square/inline:2: it writes to address 0x0, a null pointer" in report.headline
    with pytest.raises(CrashError, match="tried out at small sizes before this process loads it"):
        li.load(kernel, compiler=QUICK)


def test_a_cell_runs_again() -> None:
    """The same snippet gives the same kernel, another one the next revision; the op goes along."""
    given: dict[str, Any] = {"functions": ["square"], "reference": torch.square, "inputs": (torch.ones(3, 5),)}
    first = li.from_load_inline("ext", SQUARE, **given)
    assert li.from_load_inline("ext", SQUARE, **given) == first
    changed = li.from_load_inline("ext", SQUARE.replace("x * x", "x * x * x"), **given)
    assert isinstance(changed, Kernel) and changed.label == "square/inline@1"
    assert li.from_load_inline("ext", SQUARE.replace("square", "linear"), functions=["linear"]).name == (
        "linear_inline/inline"
    )


def test_several_functions() -> None:
    """Each function becomes an op, with a reference and inputs by its name."""
    square, cube = li.from_load_inline(
        "ext",
        SQUARE + SQUARE.replace("square", "third").replace("x * x", "x * x * x"),
        functions=["square", "third"],
        reference={"square": torch.square, "third": lambda x: x**3},
        inputs={"square": (torch.ones(3, 5),), "third": (torch.ones(7),)},
    )
    assert (square.label, cube.label) == ("square/inline", "third/inline")
    assert registry.ops["third"].shapes["x"] == "N"


@pytest.mark.parametrize(
    ("forward", "backward", "gradient"),
    [
        ("foo", "foo_grad", {"foo": "foo_grad"}),
        ("foo", "foo_grad", "foo_grad"),
        ("foo", "foo_backward", None),
        ("foo_forward", "foo_backward", None),
        ("foo_fwd", "foo_bwd", None),
        ("foo_fw", "foo_bw", None),
    ],
)
def test_a_function_and_its_gradient(forward: str, backward: str, gradient: Any) -> None:
    """Two functions are one op where their names pair, or somebody says so."""
    text = (
        f"torch::Tensor {forward}(torch::Tensor x) {{ return x * x; }}\n"
        f"torch::Tensor {backward}(torch::Tensor g, torch::Tensor x) {{ return 2 * g * x; }}\n"
    )
    given: dict[str, Any] = {"reference": torch.square, "inputs": (torch.randn(3, 5),), "gradient": gradient}
    kernel = li.from_load_inline("ext", text, functions=[forward, backward], **given)
    assert (kernel.name, kernel.saves) == (
        "foo/inline",
        ("x",),
    ) and f"({backward})(d_output.contiguous(), x)" in kernel.cpp


def test_an_op_that_takes_the_place_of_another() -> None:
    """Kernels of the one before are of it from then on, which is said where that makes a difference."""
    given: dict[str, Any] = {"functions": ["square"], "reference": torch.square}
    li.from_load_inline("a", SQUARE, **given, inputs=(torch.ones(3, 5),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        li.from_load_inline("b", SQUARE.replace("x * x", "x.square()"), **given, inputs=(torch.ones(4, 7),))
    with pytest.warns(UserWarning, match="x of shape 'N M', now 'N', .*square/inline, square/inline@1 will be checked"):
        li.from_load_inline("c", SQUARE, **given, inputs=(torch.ones(7),))
    text = SQUARE.replace("torch::Tensor x", "torch::Tensor x, double p").replace("x * x", "x.pow(p)")
    with pytest.warns(UserWarning, match=r"op square\(Tensor x, float p\) -> .* and no longer \(Tensor x\) ->"):
        li.from_load_inline("d", text, functions=["square"], reference=torch.pow, inputs=(torch.ones(7), 2.0))


MEANS = TEXTS["means"]


def _centered(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return what the snippet returns."""
    mean = x.mean(1, keepdim=True)
    return (x - mean) * w, mean, x - mean


RMS = TEXTS["rms"]


def test_what_forward_keeps_of_rows_of_three_axes(quick_compiler: None) -> None:
    """A number for each row of all tokens is no shape that torch.compile could be told; that makes no right text wrong."""
    kernel = li.from_load_inline(
        "ext",
        RMS,
        functions=["rms_forward", "rms_backward"],
        reference=lambda x, w: x * (x.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * w,
        inputs=(torch.randn(2, 3, 8), torch.randn(8)),
    )
    report = li.check(kernel)
    assert report.ok, str(report)
    assert "torch.compile cannot trace it: the shape of its extra tensor 0 is (" in str(report)
    tiny.forget("rms")


@pytest.mark.full
def test_results_that_are_there_for_backward(tmp_path: Path, quick_compiler: None) -> None:
    """A reference may return them, too: backward takes no gradient of them, so they are no outputs, and a check says so."""
    kernel = li.from_load_inline(
        "ext",
        MEANS,
        functions=["center_fwd", "center_bwd"],
        reference=_centered,
        inputs=(torch.randn(3, 5), torch.randn(5)),
    )
    assert registry.op_of(kernel).schema == "(Tensor x, Tensor w) -> (Tensor output0)"
    report = li.check(kernel, compiler=QUICK)
    assert report.ok and "mean and rest: not compared, as only backward takes them" in str(report)
    assert not li.check(kernel.edit("(grad * rest)", "(grad * mean)"), compiler=QUICK).ok
    exported = li.export(kernel, tmp_path / "center", name="center", check=False)
    tiny.forget("center")
    (back,) = registry.import_extension(exported.path)
    assert back == kernel and registry.op_of(back).reference(torch.ones(2, 2), torch.ones(2)).shape == (2, 2)


DETACHED = SQUARE.replace("return", "torch::NoGradGuard guard; return")
PYTHON = "import torch\n\ndef square(x):\n    return x * x\n"
OVERLOADED = SQUARE + "torch::Tensor square(torch::Tensor x, double c) { return x * c; }\n"
TEMPLATE = "template <typename T> torch::Tensor square(torch::Tensor x) { return x * x; }\n"
STRANGE = "torch::Tensor square(torch::Tensor x, std::map<int, int> m) { return x * x; }\n"
X = (torch.ones(3, 5),)
SUMMED = "using T = torch::Tensor;\nT square(const std::vector<T>& xs, T y) { return xs[0] + y; }\n"
LISTED: dict[str, Any] = {"cpp_sources": SUMMED, "reference": lambda xs, y: xs[0] + y, "inputs": ([X[0]], X[0])}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cpp_sources": ""}, "no cpp_sources and no cuda_sources. The first argument is a name"),
        ({"functions": None}, "no functions=, and nothing in the text binds one. Its functions: square"),
        ({"functions": []}, "functions is empty. Its functions: square"),
        ({"functions": ["sqare"]}, "the text defines no function 'sqare' at file scope. Did you mean 'square'?"),
        ({"cpp_sources": "// nothing\n"}, "It defines no function"),
        ({"cpp_sources": PYTHON}, "line 1 of the text is Python: 'import torch'. Want C++"),
        (
            {"cpp_sources": SQUARE + "void f() {\n  if (1) {\n}\n"},
            "line 3 of the text, 'if (1) {': this '{' is never closed",
        ),
        ({"cpp_sources": SQUARE + "}\n"}, "line 2 of the text, '}': this '}' closes nothing"),
        (
            {"cpp_sources": SQUARE + "int a = 3\n\n"},
            "line 2 of the text, 'int a = 3': the text ends here, and a ';' is missing",
        ),
        (
            {"cpp_sources": SQUARE + "struct A { int a; }\n"},
            "line 2 of the text, 'struct A { int a; }': the text ends here, and a ';'",
        ),
        (
            {"cpp_sources": OVERLOADED},
            "'square' is overloaded: square(torch::Tensor) and square(torch::Tensor, double)",
        ),
        ({"cpp_sources": TEMPLATE}, "'square' is a template: want a function that calls it with a type"),
        ({"cpp_sources": STRANGE}, "argument 2 is 'std::map<int, int> m', want a tensor, a number, a string"),
        (
            {"cpp_sources": SQUARE.replace("torch::Tensor square", "c10::optional<torch::Tensor> square")},
            "'square' returns 'c10::optional<torch::Tensor>', want tensors or numbers: one, several in a std::tuple",
        ),
        (
            {
                "cpp_sources": SQUARE + 'PYBIND11_MODULE(x, m) { m.def("f", [](torch::Tensor x) { return x; }); }\n',
                "functions": None,
            },
            "it binds a lambda, want a function with a name",
        ),
        ({"sycl_sources": "kernel"}, "sycl_sources='kernel': there is no SYCL here"),
        (
            {"device": "cuda"},
            "no argument 'device'. Give it where the kernel is used: li.load(kernel, device='cuda'), li.check(",
        ),
        ({"function": ["square"]}, "from_load_inline has no argument 'function'. Did you mean 'functions'?"),
        ({"extra_ldflags": ["-lcublas"]}, "extra_ldflags='-lcublas' links another library"),
        ({"inputs": (torch.ones(3), 2)}, "inputs has 2 values, it takes 1: Tensor x"),
        ({"inputs": (3.0,)}, "inputs: x=3.0, want a dense Tensor"),
        ({"reference": lambda x, y: x}, "the reference fails on the example inputs (float32 (3, 5)): TypeError"),
        ({"reference": lambda x: (x, x)}, "the reference returns 2 values, the function 1 value"),
        ({"reference": lambda x: "x"}, "the reference returns 'x', want tensors or numbers"),
        ({"reference": lambda x: None}, "the reference returns nothing, and changes none of its arguments"),
        (
            {
                "cpp_sources": "torch::Tensor square(int n) { return torch::ones(n); }",
                "inputs": (3,),
                "reference": torch.ones,
            },
            "it takes no Tensor, which would tell device and dtype. Write a function around it that takes one",
        ),
        ({"reference": 3}, "reference=3, want a function"),
        ({"reference": {"cube": torch.square}}, "reference has 'cube', want names of the functions: square"),
        ({"gradient": "square"}, "gradient='square': say of which function: {'FORWARD': 'square'}"),
        ({"gradient": {"square": "grad"}}, "gradient names 'grad', want some of functions: square"),
        ({"extra_cflags": ["-fuse-ld=mold"]}, "chooses another linker"),
        (LISTED | {"inputs": ([], X[0])}, "inputs: xs holds none: want tensors of one dtype, one at least"),
        (
            LISTED | {"inputs": ([X[0], torch.ones(3).int()], X[0])},
            "xs holds float32 (3, 5), int32 (3,): want tensors of one",
        ),
        (
            LISTED | {"inputs": ([X[0].int()], X[0])},
            "the tensors of the list xs are int32, want the dtype of the others, float32",
        ),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[:40],
)
def test_bad_input(given: dict[str, Any], message: str) -> None:
    """What does not go in is refused before anything is compiled, and the message says what would go in."""
    full: dict[str, Any] = {"cpp_sources": SQUARE, "functions": ["square"], "inputs": X, "reference": torch.square}
    with pytest.raises((InputError, DefinitionError)) as refused:
        li.from_load_inline("ext", **full | given)
    assert message in str(refused.value)


STEP = TEXTS["step"]


def _step(ps: list[torch.Tensor], gs: list[torch.Tensor], lr: float) -> None:
    for p, g in zip(ps, gs, strict=True):
        p.sub_(g, alpha=lr)


def test_lists_alone_and_changed() -> None:
    """A list tells shapes and dtype where no tensor stands beside it; what is changed in it is changed for the caller."""
    lists = [torch.randn(3, 5) for _ in range(2)]
    kernel = li.from_load_inline("e", STEP, functions=["step"], reference=_step, inputs=(lists, lists, 0.1))
    op = registry.op_of(kernel)
    assert op.schema == "(Tensor(a!)[] ps, Tensor[] gs, float lr) -> ()" and op.shapes == {"ps": "N M", "gs": "N M"}
    report = li.check(kernel, compiler=QUICK)
    assert report.ok, str(report)
    step, ps = li.load(kernel, compiler=QUICK), [torch.ones(2, 3), torch.zeros(2, 3).t().contiguous().t()]
    before = [p._version for p in ps]
    step(ps, [torch.ones(2, 3)] * 2, 0.5)
    li.call(kernel, ps, [torch.ones(2, 3)] * 2, 0.5, compiler=QUICK)
    assert [p.unique().tolist() for p in ps] == [[0.0], [-1.0]]
    assert all(p._version > version for p, version in zip(ps, before, strict=True))
    with pytest.raises(RuntimeError, match="step/inline: ps is empty, want one Tensor at least"):
        step([], [], 0.5)
    wrong = li.check(kernel.edit("p[j] -= lr", "p[j] -= (i + 1 < ps.size()) * lr"), compiler=QUICK)
    assert "ps (2, 3, 5) float32" in wrong.headline and "all in row 1" in wrong.headline
    without = li.from_load_inline("e", STEP, functions=["step"], inputs=(lists, lists, 0.1))
    assert registry.op_of(without).schema == "(Tensor(a!)[] ps, Tensor(b!)[] gs, float lr) -> ()"


ODD = TEXTS["odd"]


@pytest.mark.full
def test_arguments_that_are_no_values(quick_compiler: None) -> None:
    """What takes references gets variables, a function without a name for its return type or namespace goes in; none of it is our error."""
    x = torch.ones(2, 3)
    inputs = (x, [1], "add", 2, x, 3.0)
    kernel = li.from_load_inline("e", ODD, functions=["odd"], inputs=inputs)
    assert (
        registry.op_of(kernel).schema == "(Tensor x, int[] k, str mode, int n, Tensor? b, float c) -> (Tensor output)"
    )
    assert li.load(kernel, compiler=QUICK)(*inputs).unique().tolist() == [10.0]


def test_defaults() -> None:
    """What a function has a default for may be left out of the example, and of a call."""
    text = """
    const double kSlope = 0.5;
    torch::Tensor leak(torch::Tensor x, double slope = 1e-2f, bool on = true, c10::optional<double> top = c10::nullopt) {
      return x;
    }
    torch::Tensor scaled(torch::Tensor x, double by = 2., double slope = kSlope) { return x; }
    """
    leak, scaled = li.from_load_inline(
        "e",
        text,
        functions=["leak", "scaled"],
        reference={"leak": lambda x, *_: +x, "scaled": lambda x, *_: +x},
        inputs={"leak": X, "scaled": (*X, 2.0, 3.0)},
    )
    assert (
        registry.op_of(leak).schema == "(Tensor x, float slope=1e-2, bool on=True, float? top=None) -> (Tensor output)"
    )
    assert registry.op_of(scaled).schema == "(Tensor x, float by, float slope) -> (Tensor output)"
    with pytest.raises(InputError, match="inputs has 1 value, it takes 3: Tensor x, float by, float slope"):
        li.from_load_inline("e", text, functions=["scaled"], inputs=X)


def test_several_functions_need_names() -> None:
    """One reference cannot be that of two ops."""
    text = SQUARE + SQUARE.replace("square", "twice")
    with pytest.raises(InputError, match=r"reference is one, and the snippet has 2 functions: want a dict"):
        li.from_load_inline("ext", text, functions=["square", "twice"], reference=torch.square)


def test_function_that_returns_nothing_needs_a_reference_that_fits() -> None:
    """A reference that neither changes an argument nor returns what one becomes says nothing of an in-place function."""
    text = "void scale_(torch::Tensor x, double c) { x.mul_(c); }"
    with pytest.raises(DefinitionError, match="Let it change what the function changes"):
        li.from_load_inline("ext", text, functions=["scale_"], reference=lambda x, c: None, inputs=(torch.ones(3), 2.0))


@pytest.mark.parametrize(
    ("body", "reference", "shapes"),
    [
        ("T f(T x) { return x.t(); }", lambda x: x.t(), "N M | M N"),
        ("T f(T x, T y) { return x.mm(y); }", torch.mm, "N M | M K | N K"),
        ("T f(T x, T y) { return x + y; }", torch.add, "N M | N M | N M"),
        ("T f(T x, T b) { return x + b; }", lambda x, b: x + b[0], "N M | K M | N M"),
        (
            "T f(T x, T y) { int n = x.size(0), m = y.size(1); g(x.data_ptr<float>(), y.data_ptr<float>(), n, m); return x; }",
            torch.mm,
            "N N | N M | N M",
        ),
        ("T f(T x) { return x.squeeze(0).mm(x[0]); }", lambda x: x[0].mm(x[0].t()), "1 N M | N N"),
        (
            "T f(T x, T y) { int n = x.size(0); g(x.data_ptr<float>(), y.data_ptr<float>(), n, n); return x; }",
            torch.mm,
            "N N | N N | N N",
        ),
        (
            "T f(T x) { int n = x.size(0), m = x.size(1); g(x.data_ptr<float>(), n, m); return x; }",
            torch.exp,
            "N M | N M",
        ),
    ],
)
def test_extents_that_are_equal_by_chance(body: str, reference: Any, shapes: str) -> None:
    """They are told apart where the reference takes them so, and the text asks for both; timings keep the user's own."""
    one = torch.randn(1, 9, 9) if shapes.startswith("1") else torch.randn(9, 9)
    inputs = (one,) * body.count("T ", 3, body.index(")"))
    kernel = li.from_load_inline(
        "e", f"using T = torch::Tensor;\n{body}\n", functions="f", reference=reference, inputs=inputs
    )
    op = registry.op_of(kernel)
    assert " | ".join(op.shapes.values()) == shapes
    assert op.benchmark_sizes == ((9,) * len(op.letters),)


@pytest.mark.parametrize(
    ("text", "n", "made"),
    [
        ("int n) { k<<<1, 32>>>(x.data_ptr<float>(), n); }", 15, 77),  # the number of elements
        ("int n) { k<<<1, 32>>>(x.data_ptr<float>(), n); }", 5, 11),
        ("int n) { k<<<1, 32>>>(x.data_ptr<float>(), n, x.size(1)); }", 5, 5),  # by chance: it asks itself
        ("int n) { x.mul_(n); }", 5, 5),
    ],
)
def test_integers_that_are_extents(text: str, n: int, made: int) -> None:
    """Who does not ask for an extent is told it, and told another where the tensors have another."""
    text = "__global__ void k(float* x, int n) {}\nvoid f(torch::Tensor x, " + text
    kernel = li.from_load_inline(
        "e", "", text, functions=["f"], reference=lambda x, n: x.mul_(2), inputs=(torch.randn(3, 5), n)
    )
    op = registry.op_of(kernel)
    sizes = dict(zip(op.letters, (7, 11) if len(op.letters) == 2 else (11,), strict=True))
    assert op.make_inputs(torch.randn, tuple(sizes.values()))[1] == made


def test_dtypes_of_the_example() -> None:
    """A tensor of another dtype keeps it; of what a text dispatches over, all must have it."""
    text = "torch::Tensor f(torch::Tensor x, torch::Tensor w) { return x * w.to(x.scalar_type()); }"
    inputs = (torch.randn(3, 5), torch.randn(5).half())
    kernel = li.from_load_inline("e", text, functions=["f"], reference=lambda x, w: x * w.to(x.dtype), inputs=inputs)
    op = registry.op_of(kernel)
    assert op.schema == "(Tensor x, Tensor[float16] w) -> (Tensor output)"
    assert [one.dtype for one in op.make_inputs(torch.randn, (3, 5))] == [torch.float32, torch.float16]
    for macro, want in (
        ("AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), ", ()),
        ("AT_DISPATCH_ALL_TYPES_AND(at::kHalf, x.scalar_type(), ", ("float16",)),
        ("AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), ", ("float16",)),
        ("AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, torch::kBFloat16, x.scalar_type(), ", ("float16", "bfloat16")),
    ):
        text = f'torch::Tensor f(torch::Tensor x) {{ {macro}"f", [&] {{ g(x.data_ptr<scalar_t>(), x.numel()); }}); return x; }}'
        kernel = li.from_load_inline("e", text, functions=["f"], reference=lambda x: x + 1, inputs=X)
        assert registry.op_of(kernel).dtypes == ("float32", "float64", *want)


def _halves(x: torch.Tensor) -> torch.Tensor:
    """Return one half of it."""
    return x / 2


def test_it_leaves_as_any_other(tmp_path: Path, quick_compiler: None) -> None:
    """An export has the user's own reference, and brings the op back; of what has none it is said before anything is written."""
    text = "torch::Tensor halves(torch::Tensor x) { return x / 2; }"
    kernel = li.from_load_inline("ext", text, functions=["halves"], reference=_halves, inputs=(torch.randn(3, 5),))
    exported = li.export(kernel, tmp_path / "halves", name="halved", check=False)
    assert "def _halves(x: torch.Tensor)" in "".join(path.read_text() for path in Path(exported.path).rglob("*.py"))
    op = registry.op_of(kernel)
    tiny.forget(op.name)
    (back,) = registry.import_extension(exported.path)
    assert (
        back == kernel
        and registry.op_of(back).shapes == op.shapes
        and registry.op_of(back).reference is not op.reference
    )
    tiny.forget(op.name)
    lacking = li.from_load_inline("ext", text, functions=["halves"], inputs=(torch.randn(3, 5),))
    with pytest.raises(InputError, match="op 'halves' cannot be exported: op 'halves' has no reference"):
        li.export(lacking, tmp_path / "none", check=False)
    assert not (tmp_path / "none").exists()


def test_timed_without_a_reference(quick_compiler: None) -> None:
    """There is nothing to compare it with, which one has to say that one knows."""
    kernel = li.from_load_inline("ext", SQUARE, functions=["square"], inputs=X)
    assert "timed unchecked: li.benchmark('square/inline', check=False)" in kernel.doc
    with pytest.raises(DefinitionError, match=r"reference=\.\.\.\)\. To time it unchecked: check=False$"):
        li.benchmark(kernel)
    timings = li.benchmark(kernel, check=False, seconds=0.01)
    assert [(row.direction, row.size) for row in timings.rows] == [("forward", {"N": 3, "M": 5})]
    with pytest.raises(InputError, match="only forward can be timed"):
        li.benchmark(kernel, check=False, directions=["backward"])
    with pytest.raises(DefinitionError, match=r"has no reference and no inputs: from_load_inline\(.*\)$"):
        li.benchmark(li.from_load_inline("ext", SQUARE, functions=["square"]), check=False)


def test_flags_as_people_write_them() -> None:
    """Several in one string, a value as the next word, and what every build decides by itself."""
    text = "__global__ void k() {}\ntorch::Tensor f(torch::Tensor x) { return x; }"
    kernel = li.from_load_inline(
        "e",
        "",
        text,
        functions=["f"],
        extra_cflags=["-O2 -DN=3", "-D_GLIBCXX_USE_CXX11_ABI=0"],
        extra_cuda_cflags=[
            "-O3 -Xptxas -O3 -Xcompiler -O3",
            "-gencode",
            "arch=compute_80,code=sm_80",
            "--use_fast_math",
        ],
        extra_include_paths=["/include"],
    )
    assert isinstance(kernel, Kernel)
    assert kernel.flags == ("-Xcompiler=-DN=3", "-gencode=arch=compute_80,code=sm_80", "--use_fast_math", "-I/include")


def test_what_a_snippet_wants_to_be_equal() -> None:
    """Tables that are as long as each other in the example stay so where the text refuses others, which its reference would take."""
    text = """
    torch::Tensor f(torch::Tensor x, torch::Tensor a, torch::Tensor b, int64_t first) {
      TORCH_CHECK(a.sizes() == b.sizes() && 2 * a.size(1) == x.size(1), "a and b must be of one size");
      auto part = [&](torch::Tensor t) { return t.slice(0, first, first + x.size(0)).repeat({1, 2}); };
      return x * part(a) + part(b);
    }
    """

    def f(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, first: int) -> torch.Tensor:
        rows = slice(first, first + len(x))
        return x * a[rows].repeat(1, 2) + b[rows].repeat(1, 2)

    inputs = torch.randn(5, 8), torch.randn(32, 4), torch.randn(32, 4), 3
    kernel = li.from_load_inline("e", text, functions=["f"], reference=f, inputs=inputs)
    op = registry.ops[kernel.op]
    assert op.named(op.benchmark_sizes[0])["S" if "2S" in op.shapes["x"] else op.shapes["x"][-1]] == 4, op
    report = li.check(kernel, compiler=QUICK)
    assert report.ok and "the kernel refuses" not in str(report), str(report)
    assert [op.shapes[name] for name in "ab"] == ["L K"] * 2 or op.shapes["a"] == op.shapes["b"], op.shapes
    # Where the text does not say it in words that are read, the kernel says it when it is called.
    hidden = li.from_load_inline(
        "e", text.replace("a.sizes() == b.sizes()", "a.is_same_size(b)"), functions=["f"], reference=f, inputs=inputs
    )
    op = registry.ops[hidden.op]
    assert op.shapes["a"] != op.shapes["b"]
    report = li.check(hidden, compiler=QUICK)
    parity = str(report).partition("parity")[2].partition("purity")[0]
    assert report.ok and "the kernel refuses" not in parity, str(report)


TWO = TEXTS["two"]


def test_dtypes_are_those_of_the_function() -> None:
    """What a function takes follows from its text and from what that uses, and not from other functions of the snippet."""
    for text, want in (
        (TWO, {"wide": 2, "narrow": 1, "plain": 1, "inner": 1}),  # what a macro calls may be used by all of them
        (TWO.replace("#define", "//"), {"wide": 2, "narrow": 1, "plain": 2, "inner": 1}),
    ):
        for name, count in want.items():
            kernel = li.from_load_inline("e", text, functions=[name], reference=lambda x: 2 * x, inputs=X)
            op = registry.op_of(kernel)
            assert (op.dtypes, op.differentiable) == (("float32", "float64")[:count], name == "plain" and count == 2)


@pytest.mark.parametrize(
    "how", ["data_ptr<float>()", "const_data_ptr<float>()", "mutable_data_ptr<float>()", "data<float>()"]
)
def test_texts_that_go_by_memory(how: str) -> None:
    """However a text asks for a pointer, its inputs are made contiguous, and it has no gradients of its own."""
    text = f"torch::Tensor f(torch::Tensor x) {{ auto y = torch::empty_like(x); go(x.{how}, y); return y; }}"
    kernel = li.from_load_inline("e", text, functions=["f"], reference=lambda x: 2 * x, inputs=X)
    op = registry.op_of(kernel)
    assert "(f)(x.contiguous())" in kernel.cpp and (op.differentiable, op.dtypes) == (False, ("float32",))


@pytest.mark.parametrize(
    ("name", "said"),
    [("single", "RuntimeError: float32 only"), ("mixed", "RuntimeError: expected m1 and m2 to have the same dtype")],
)
def test_a_dtype_that_a_snippet_refuses(name: str, said: str) -> None:
    """A dtype that nobody has said it takes, and that it refuses at the size of the example, is not tried at any size, which is said."""
    given: dict[str, Any] = {"functions": [name], "reference": lambda x: 2 * x, "inputs": X}
    report = li.check(li.from_load_inline("e", TWO.replace("#define", "//"), **given), compiler=QUICK)
    assert report.ok and str(report).count(f"float64: the kernel refuses it ({said}") == 1, str(report)
    never = TWO.replace("#define", "//").replace("== torch::kFloat", "== torch::kInt").replace("full({1", "full({7")
    report = li.check(li.from_load_inline("e", never, **given), compiler=QUICK)
    assert not report.ok and "forward raises RuntimeError" in report.headline, str(report)


@pytest.mark.full
def test_a_dtype_in_which_a_snippet_is_less_exact() -> None:
    """A text that holds doubles in a float is right, and the report says where it was not compared; one that is wrong is so."""
    text = """
    torch::Tensor f(torch::Tensor x) {
      auto y = torch::empty_like(x);
      AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] {
        for (int64_t i = 0; i < x.numel(); ++i) {
          float v = x.data_ptr<scalar_t>()[i];
          y.data_ptr<scalar_t>()[i] = v / (1.0f + std::exp(-v));
        }
      });
      return y;
    }
    """
    given: dict[str, Any] = {"functions": ["f"], "reference": torch.nn.functional.silu}
    x = torch.randn(3, 5)
    report = li.check(li.from_load_inline("e", text, **given, inputs=(x,)), compiler=QUICK)
    assert report.ok and "float64: the text computes it in single precision, so it is compared" in str(report)
    wide = text.replace("float v", "scalar_t v").replace(
        "1.0f +", "1 + 2e-8 +"
    )  # as far off as roundings, and nothing is single
    for wrong, inputs in (
        (text.replace("1.0f", "1.01f"), x),
        (wide, x),
        (text, x.double()),
    ):  # the example itself has doubles
        report = li.check(li.from_load_inline("e", wrong, **given, inputs=(inputs,)), compiler=QUICK)
        assert not report.ok and "float64 differs" in report.headline


def test_inputs_of_derived_sizes() -> None:
    """The shapes that a function gives its inputs are read from calls at several sizes; what they do not tell is refused."""
    text = (
        "torch::Tensor f(torch::Tensor x, torch::Tensor t, int64_t n) { return x + t.slice(0, 0, n).repeat({1, 2}); }"
    )
    given: dict[str, Any] = {"functions": ["f"], "reference": lambda x, t, n: x + t[:n].repeat(1, 2)}
    kernel = li.from_load_inline(
        "e", text, **given, inputs=lambda randn, T, D: (randn(T, 2 * D), randn(T + 4, D), T)
    )  # fmt: skip
    op = registry.op_of(kernel)
    assert op.shapes == {"x": "T 2D", "t": "T+4 D", "output": "T 2D"}
    assert op.make_inputs(torch.randn, (3, 5))[2] == 3
    for inputs, message in (
        (
            lambda randn, T, D: (randn(T, 2 * D), randn(T * T, D), T),
            r"gives t the shapes \(841, 31\) at T=29, D=31 and \(961, 34\) at T=31, D=34, want extents that are sums of",
        ),
        (
            lambda randn, T, D: (randn(T, 2 * D), randn(T + 4, D).view(33, -1), T),
            r"inputs\(randn, T=30, D=31\) failed: RuntimeError: shape '\[33, -1\]' is invalid",
        ),
    ):
        with pytest.raises(DefinitionError, match=message):
            li.from_load_inline("e", text, **given, inputs=inputs)


def test_a_letter_that_no_input_has_whole() -> None:
    """It is refused with a cure: a number in its place goes in."""
    text = "torch::Tensor f(torch::Tensor x) { auto parts = x.chunk(2, -1); return parts[0] * parts[1]; }"
    given: dict[str, Any] = {"functions": ["f"], "reference": lambda x: x.chunk(2, -1)[0] * x.chunk(2, -1)[1]}
    cure = r"nothing tells it from the inputs. Put a number in its place, such as 16, and take H out of the arguments"
    with pytest.raises(
        DefinitionError, match=rf"inputs\(\) makes 2H, and no input has H itself as an extent, so {cure}"
    ):
        li.from_load_inline("e", text, **given, inputs=lambda randn, N, H: (randn(N, 2 * H),))
    with pytest.raises(DefinitionError, match=rf"inputs\(\) takes H, and no input has it as an extent, so {cure}"):
        li.from_load_inline("e", text, **given, inputs=lambda randn, N, H: (randn(N, 8),))
    kernel = li.from_load_inline("e", text, **given, inputs=lambda randn, N: (randn(N, 2 * 16),))
    assert registry.op_of(kernel).shapes == {"x": "N 32", "output": "N 16"}


def test_what_a_snippet_may_hold() -> None:
    """A static function, and one that the text registers in a library of its own, go in as any other."""
    fragment = 'TORCH_LIBRARY_FRAGMENT(mine, m) { m.def("square", &square); }\n'
    for text, functions in (("static " + SQUARE, ["square"]), (SQUARE + fragment, None)):
        kernel = li.from_load_inline("e", text, functions=functions, reference=torch.square, inputs=X)
        assert kernel.label.startswith("square/inline") and "TORCH_LIBRARY" not in kernel.cpp
        assert li.check(kernel, compiler=QUICK).ok


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


@pytest.mark.full
def test_a_reference_without_second_derivative() -> None:
    """There is nothing to hold the kernel's against, and the rest of the check is done."""
    text = "torch::Tensor f(torch::Tensor x) { return x * 2; }"
    kernel = li.from_load_inline("e", text, functions=["f"], reference=_Once.apply, inputs=(torch.randn(3, 5),))
    report = li.check(kernel, compiler=QUICK)
    assert report.ok and report["gradcheck"].cases, str(report)


@pytest.mark.full
def test_a_function_of_autograd_in_cpp() -> None:
    """What asks a tensor for its size in backward cannot be traced with sizes that change: that is said, and is no mistake."""
    text = """
    struct F : torch::autograd::Function<F> {
      static torch::Tensor forward(torch::autograd::AutogradContext* c, torch::Tensor x) {
        c->save_for_backward({x});
        return x.square().mean();
      }
      static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* c, torch::autograd::tensor_list d) {
        auto x = c->get_saved_variables()[0];
        return {2 * x * d[0] / x.numel()};
      }
    };
    torch::Tensor f(torch::Tensor x) { return F::apply(x); }
    """
    given: dict[str, Any] = {
        "functions": ["f"], "reference": lambda x: x.square().mean(), "inputs": (torch.randn(3, 5),)
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        report = li.check(li.from_load_inline("e", text, **given), compiler=QUICK)
    assert report.ok and "torch.compile refuses its C++ where sizes change: Cannot call numel()" in str(report)


@pytest.mark.parametrize(
    ("taken", "reference", "inputs", "shape"),
    [
        (
            "torch::Tensor x, torch::Tensor w, int stride, int pad",
            lambda x, w, stride, pad: torch.conv2d(x, w, stride=stride, padding=pad),
            (torch.randn(2, 3, 10, 12), torch.randn(4, 3, 5, 5), 2, 1),
            "N P (K-Q+2*pad)/stride+1 (L-Q+2*pad)/stride+1",
        ),
        (
            "torch::Tensor x, int k, int pad",
            lambda x, k, pad: torch.avg_pool1d(x, k, 1, pad),
            (torch.randn(2, 3, 19), 5, 2),
            "N M K-k+2*pad+1",
        ),
    ],
)
def test_windows(taken: str, reference: Any, inputs: tuple[Any, ...], shape: str) -> None:
    """What a window with stride and padding leaves of an axis is written as a formula, so that it can be traced."""
    text = f"torch::Tensor f({taken}) {{ return x; }}"
    kernel = li.from_load_inline("e", text, functions=["f"], reference=reference, inputs=inputs)
    assert registry.op_of(kernel).shapes["output"] == shape


def test_integers_that_are_one_off() -> None:
    """That the least change of the inputs may give another integer excuses a few, and not a kernel that is wrong for whole numbers."""
    text = "torch::Tensor f(torch::Tensor x) { return (x.ceil() - 1).to(torch::kLong); }"
    kernel = li.from_load_inline(
        "e", text, functions=["f"], reference=lambda x: x.floor().long(), inputs=lambda randn, N: (randn(N).round(),)
    )
    report = li.check(kernel, compiler=QUICK)
    assert not report.ok and "output (29,) int64 differs in all 29 elements" in report.headline


NO_GUARD = TEXTS["no_guard"]


@pytest.mark.full
def test_what_the_device_sees_is_no_refusal() -> None:
    """A text that quotes the name of its kernel, which stands in each report of the device, has refused nothing by that."""
    given: dict[str, Any] = {"functions": ["twice"], "reference": lambda x: 2 * x, "inputs": (torch.randn(64),)}
    kernel = li.from_load_inline("e", "torch::Tensor twice(torch::Tensor x);", NO_GUARD, **given)
    report = li.check(kernel, device="cuda-cpu", compiler=QUICK)
    assert not report.ok and "out of bounds: x[" in report.headline and "refuses" not in str(report), str(report)


def test_what_a_snippet_refuses_by_itself() -> None:
    """A size that a text refuses in words of its own is not tried, and named; at the example it has to compute."""
    text = 'torch::Tensor f(torch::Tensor x) { TORCH_CHECK(x.size(0) % 4 == 0, "rows must be a multiple of 4"); return x + 1; }'
    given: dict[str, Any] = {"functions": ["f"], "reference": lambda x: x + 1, "inputs": (torch.randn(8, 5),)}
    report = li.check(li.from_load_inline("e", text, **given), compiler=QUICK)
    assert report.ok and "the kernel refuses it (RuntimeError: rows must be a multiple of 4)" in str(report)
    report = li.check(li.from_load_inline("e", text.replace("% 4 == 0", "== 3"), **given), compiler=QUICK)
    assert not report.ok and "forward raises RuntimeError: rows must be a multiple of 4" in report.headline


def test_numbers_in_order_stay_so() -> None:
    """A table that is sorted in the example is sorted in every case; numbers that merely count are any numbers, but for their name."""
    text = "torch::Tensor f(torch::Tensor table, torch::Tensor x) { return torch::searchsorted(table, x); }"
    for values, name, is_sorted in (
        (torch.randn(9).sort().values, "table", True),
        (torch.randint(50, (9,)).sort().values, "table", True),
        (torch.randn(9), "table", False),
        (torch.linspace(0, 1, 9), "table", False),
        (torch.linspace(0, 1, 9), "edges", True),
    ):
        kernel = li.from_load_inline(
            "e",
            text.replace("table", name),
            functions=["f"],
            reference=torch.searchsorted,
            inputs=(values, torch.randn(5)),
        )
        op = registry.op_of(kernel)
        for special in ("", "+-100"):
            drawn = make_inputs(op, Case("", op.benchmark_sizes[0], torch.float64, values=special))[0]
            assert bool((drawn.diff() >= 0).all()) == is_sorted, (values, name)


@pytest.mark.full
def test_the_example_itself_is_a_case() -> None:
    """What no drawn inputs have, such as rows whose last number is twice the first, is seen where the example has it."""
    text = """
    torch::Tensor f(torch::Tensor x) {
      if (x.size(1) > 1 && (x.select(1, -1) == 2 * x.select(1, 0)).all().item<bool>()) return x;
      return x + 1;
    }
    """
    x = torch.rand(4, 5)
    x[:, -1] = 2 * x[:, 0]
    kernel = li.from_load_inline("e", text, functions=["f"], reference=lambda x: x + 1, inputs=(x,))
    report = li.check(kernel, compiler=QUICK)
    assert not report.ok and "at N=4, M=5, float64, the inputs of the example" in str(report)
    assert "hint: right for inputs that are drawn, wrong for those of the example" in str(report)


WRITTEN_IN = "torch::Tensor f(torch::Tensor x, double a, int64_t n) { return (x.view({-1, 2, 16}) * 3 + 0.5).sum(1); }"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (WRITTEN_IN, "wrong with n = 1: is the example's written into the text?"),
        (WRITTEN_IN.replace("2, 16", "n, 16"), "wrong with a = 0.75: is the example's written into the text?"),
        (WRITTEN_IN.replace("2, 16", "n, 16").replace("0.5)", "2 * a - 0.5)"), "wrong with a = 0.75"),
        (WRITTEN_IN.replace("2, 16", "n, 16").replace("0.5)", "a)"), ""),
        (WRITTEN_IN.replace("0.5)", "a)").replace("{ ret", '{ TORCH_CHECK(n == 2, "want n of 2"); ret'), ""),
    ],
)
def test_a_number_of_the_example_may_be_written_in(text: str, wrong: str) -> None:
    """A number is tried with other values that the reference takes, and may be refused; extents that no letter stands for are named."""
    kernel = li.from_load_inline(
        "e",
        text,
        functions=["f"],
        reference=lambda x, a, n: (x.view(-1, n, 16) * 3 + a).sum(1),
        inputs=(torch.randn(6, 32), 0.5, 2),
    )
    report = li.check(kernel, compiler=QUICK, progress=False)
    assert report.ok != bool(wrong) and wrong in str(report), str(report)
    assert ("is the example's written into the text?" in str(report)) == wrong.endswith("?"), str(report)
    assert "not tried: extents other than the example's, where a number stands: x (N, 32)" in str(report), str(report)
    refused = "TORCH_CHECK" in text
    assert ("not tried: numbers other than the example's: n = 2\n" in str(report)) == refused, str(report)
    assert ("n=1: the kernel refuses it (RuntimeError: want n of 2)" in str(report)) == refused, str(report)


def test_which_numbers_are_tried() -> None:
    """Those that the reference answers with other finite numbers of the declared shape; signs stay, and `float` holds them exactly."""
    text = """
    torch::Tensor f(torch::Tensor x, double low, float eps, int64_t threads, int64_t k, int64_t axis, bool twice, int64_t rows) {
      return go(x.size(0));
    }
    """

    def f(x: torch.Tensor, low: float, eps: float, threads: int, k: int, axis: int, twice: bool, rows: int) -> Any:
        return (x[:, :k].sum(axis, keepdim=True) + eps).clamp(min=low) * (2 if twice else 1)

    kernel = li.from_load_inline(
        "e", text, functions=["f"], reference=f, inputs=(torch.randn(6, 5), 0.5, 1e-5, 256, 4, -1, False, 6)
    )
    tried = [case.numbers[0] for case in other_numbers(registry.op_of(kernel))]
    assert tried == [
        ("low", 0.75),
        ("low", 0.375),
        ("eps", 0.25),
        ("eps", 7.499999810534064e-06),
        ("k", 3),
        ("k", 2),
        ("twice", True),
    ]


def test_a_number_that_indices_are_below() -> None:
    """It is not tried with less: a reference that compares bears indices beyond it, and what writes by them does not."""
    text = "torch::Tensor f(torch::Tensor at, int64_t n) { return go(at.size(0)); }"

    def count(at: torch.Tensor, n: int) -> torch.Tensor:
        return (at[:, None] == torch.arange(n)).sum(0)

    kernel = li.from_load_inline("e", text, functions=["f"], reference=count, inputs=(torch.arange(50) % 8, 8))
    op = registry.op_of(kernel)
    assert [case.numbers[0] for case in other_numbers(op)] == [("n", 9), ("n", 16)]
    assert not wide_integers(op)


@pytest.mark.parametrize(
    ("reference", "keys", "tried"),
    [
        (lambda k: (k ^ 77) % 1009, torch.randint(-1000, 1000, (9,)), True),
        (lambda k: k.sum(), torch.randint(0, 1000, (9,)), True),
        (lambda k: (k[:, None] == torch.arange(9)).sum(0), torch.randint(0, 9, (9,)), False),
        (lambda k: torch.arange(2000)[k], torch.randint(0, 1000, (9,)), False),
        (lambda k: torch.bincount(k, minlength=1000), torch.randint(0, 1000, (9,)), False),
        (lambda k: k.double().mean(), torch.randint(0, 1000, (9,)), False),
        (lambda k: torch.tensor(sum(range(k.max().item()))), torch.randint(0, 1000, (9,)), False),
        (lambda k: torch.tensor([len(range(one)) for one in k.tolist()]), torch.randint(0, 1000, (9,)), False),
    ],
)
def test_whole_numbers_that_are_data(reference: Any, keys: torch.Tensor, tried: bool) -> None:
    """Those of 64 bits are tried beyond 2^53 where the reference computes with them alone; never an index, a count or a real number."""
    text = "torch::Tensor f(torch::Tensor keys) { return go(keys.size(0)); }"
    keys[0] = 998 if keys.max() > 9 else 8
    kernel = li.from_load_inline("e", text, functions=["f"], reference=reference, inputs=(keys,))
    assert [case.only for case in wide_integers(registry.op_of(kernel))] == ["keys"] * tried


@pytest.mark.parametrize(
    ("body", "reference", "shapes"),
    [
        ("int M = A.size(0), K = A.size(1), N = B.size(1);", torch.matmul, "M K | K N"),
        ("const int64_t rows = A.size(0); int N = A.numel(); go(B.size(1), rows);", torch.matmul, "M K | K L"),
        (
            "const auto m = A.size(0); auto sizes = A.sizes(); const int k = A.sizes()[1]; go(B.size(1));",
            torch.matmul,
            "M K | K N",
        ),
        ("// A: (H, W)\n go(A.size(0), A.size(1), B.size(1));", torch.matmul, "N M | M K"),
    ],
)
def test_letters_of_the_text(body: str, reference: Any, shapes: str) -> None:
    """Sizes are called as the text calls them, and by no letter that means something else there."""
    text = f"torch::Tensor f(torch::Tensor A, torch::Tensor B) {{ {body} float* p = A.data_ptr<float>(); return C; }}"
    kernel = li.from_load_inline(
        "e", text, functions=["f"], reference=reference, inputs=(torch.randn(6, 5), torch.randn(5, 4))
    )
    assert " | ".join(str(shape) for shape in list(registry.op_of(kernel).shapes.values())[:2]) == shapes


@pytest.mark.full
def test_flags_that_mean_nothing_on_the_cpu() -> None:
    """What makes a GPU less exact is not tried on `cuda-cpu`, which the report says; nor is what is for the host's own code."""
    text = """
    #include <torch/extension.h>
    __global__ void k(const float* x, float* y, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = isinf(x[i] / 0.0f) ? 2 * x[i] : 0.0f;
    }
    torch::Tensor f(torch::Tensor x) {
      auto y = torch::empty_like(x);
      k<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
      return y;
    }
    """
    flags = {"extra_cflags": ["-O3", "-ffast-math"], "extra_cuda_cflags": ["--use_fast_math"]}
    kernel = li.from_load_inline(
        "e", "", text, functions=["f"], reference=lambda x: 2 * x, inputs=(torch.rand(40) + 1,), **flags
    )
    report = li.check(kernel, device="cuda-cpu", progress=False)
    assert report.ok, str(report)
    assert "what -ffast-math and --use_fast_math changes: the CPU computes as without" in str(report)


@pytest.mark.full
def test_gradients_that_are_copied() -> None:
    """Whatever a text asks of its gradients, they come contiguous: the matrix does not say that others were tried."""
    text = """
    torch::Tensor f(torch::Tensor x) { return 2 * x; }
    torch::Tensor f_backward(torch::Tensor grad, torch::Tensor x) { return 2 * grad.view({-1}).view(x.sizes()); }
    """
    kernel = li.from_load_inline(
        "e", text, functions=["f", "f_backward"], reference=lambda x: 2 * x, inputs=(torch.randn(4, 3),)
    )
    report = li.check(kernel, compiler=QUICK, progress=False)
    row = report.matrix["d_x"]
    assert report.matrix["output"]["grads strided"] == "ok"
    assert report.ok and (row["grads strided"], row["grads expanded"], row["strided"]) == ("copied", "copied", "ok")
    assert "a missing .contiguous() does not show" in str(report) and "copied: right, but made" in report.legend


def test_labels_have_no_gradient() -> None:
    """Two formulas that agree for labels of 0 and 1 are not equally steep there: a gradient for them is not asked for, which is said."""
    text = """
    torch::Tensor f(torch::Tensor x, torch::Tensor labels) {
      auto p = torch::sigmoid(x);
      return -(labels * torch::log(p) + (1 - labels) * torch::log(1 - p)) * (p * (1 - labels) + (1 - p) * labels);
    }
    """

    def loss(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        p = torch.where(labels == 1, x.sigmoid(), 1 - x.sigmoid())
        return -torch.log(p) * (1 - p)

    kernel = li.from_load_inline(
        "e", text, functions=["f"], reference=loss, inputs=(torch.randn(8), torch.tensor([0.0, 1, 1, 0, 1, 0, 0, 1]))
    )
    assert registry.op_of(kernel).differentiable == ("x",)
    report = li.gradcheck(kernel, compiler=QUICK, progress=False)
    assert report.ok, str(report)


def test_lengths_that_belong_together_and_crash() -> None:
    """What crashes where two lengths differ, and does not where they are one, is told both ways out; each is one."""
    text = """
    torch::Tensor f(torch::Tensor a, torch::Tensor b) {
      auto y = torch::zeros({a.size(0)}, a.options());
      float* p = y.data_ptr<float>();
      const int64_t step = b.size(0) > a.size(0) ? 100000000 : 1;
      for (int64_t i = 0; i < b.size(0); ++i) p[i * step] = a.data_ptr<float>()[i] + b.data_ptr<float>()[i];
      return y;
    }
    """
    given: dict[str, Any] = {"functions": ["f"], "reference": lambda a, b: a + b if len(a) == len(b) else a * 0}
    inputs = torch.randn(24), torch.randn(24)
    report = li.check(li.from_load_inline("e", text, **given, inputs=inputs), compiler=QUICK, progress=False)
    assert report.crash is not None
    said = re.search(r"say so: (TORCH_CHECK\(.*\)) in the text, or inputs = (lambda .*)", report.crash.cause)
    assert said is not None and "and the text does not crash with" in report.crash.cause, str(report)
    for own, way in ((text, eval(said[2])), (text.replace("auto y", f"{said[1]}; auto y"), inputs)):
        report = li.check(li.from_load_inline("e", own, **given, inputs=way), compiler=QUICK, progress=False)
        assert report.ok, str(report)


TOGETHER = "torch::Tensor f(torch::Tensor a, torch::Tensor b) { return (a + b).sum(0); }"


def test_sizes_that_belong_together() -> None:
    """A reference that takes tables of two lengths does not bury what else is wrong; each way out that the report names is one."""
    given: dict[str, Any] = {"functions": ["f"], "reference": lambda a, b: a.sum(0) + b.sum(0)}
    inputs = torch.randn(6, 4), torch.randn(6, 4)
    wrong = li.from_load_inline("e", TOGETHER.replace("sum(0)", "sum(0) * 2"), **given, inputs=inputs)
    report = li.check(wrong, compiler=QUICK, progress=False)
    first, *_, last = report["parity"].findings
    assert "output (4,) float64 differs in all 4 elements" in report.headline and first.quantity == "output"
    assert last.text.startswith("forward raises RuntimeError: The size of tensor a"), str(report)
    said = re.search(r"say so: (TORCH_CHECK\(.*\)) in the text, or inputs = (lambda .*)", last.hints[-1])
    assert said is not None and "the reference takes K != N, and the text does better with K = N" in last.hints[-1]
    for text, way in ((TOGETHER, eval(said[2])), (TOGETHER.replace("{ ret", f"{{ {said[1]}; ret"), inputs)):
        report = li.check(li.from_load_inline("e", text, **given, inputs=way), compiler=QUICK, progress=False)
        assert report.ok, str(report)


def test_a_number_of_a_snippet_that_never_comes_back() -> None:
    """Where each call raises, no value was tried, and the check says what was raised."""
    text = 'torch::Tensor f(torch::Tensor x, double a) { TORCH_CHECK_INDEX(a > 9, "never"); return x * a; }'
    kernel = li.from_load_inline("e", text, functions=["f"], reference=lambda x, a: x * a, inputs=(torch.randn(7), 0.5))
    report = li.check(kernel, compiler=QUICK, progress=False)
    assert not report.ok and "forward raises IndexError: never" in str(report), str(report)


def _counted(x: torch.Tensor) -> torch.Tensor:
    """Count for each number how many are below it, one pair after the other."""
    numbers = x.tolist()
    return torch.tensor([sum(one > other for other in numbers) for one in numbers])


@pytest.mark.full
def test_a_reference_that_takes_long() -> None:
    """Sizes at which it would take longer than a check may are left out, and the report says what it took before."""
    text = "torch::Tensor f(torch::Tensor x) { return (x.unsqueeze(1) > x).sum(1); }"
    kernel = li.from_load_inline("e", text, functions=["f"], reference=_counted, inputs=(torch.randn(7),))
    report = li.check(kernel, compiler=QUICK)
    assert report.ok and "the reference would take too long; it took" in str(report), str(report)


def _for_ever(x: torch.Tensor) -> torch.Tensor:
    """Take no time at all for few numbers, and never come back for many: no smaller size foretells it."""
    while len(x) > 3_000:
        pass
    return 2 * x


@pytest.mark.full
def test_a_reference_that_does_not_come_back() -> None:
    """It is stopped, and nothing is said against the kernel; what is larger is not tried either."""
    text = "torch::Tensor f(torch::Tensor x) { return 2 * x; }"
    kernel = li.from_load_inline("e", text, functions=["f"], reference=_for_ever, inputs=(torch.randn(7),))
    report = str(li.check(kernel, compiler=QUICK))
    assert "right (" in report and "the reference would take too long; it took 10 s at N=4096, float64" in report


@pytest.mark.full
def test_a_view_that_strides_do_not_allow() -> None:
    """A text that looks at its input in another shape refuses what is transposed, which is said; where it always fails it is wrong."""
    text = "torch::Tensor f(torch::Tensor x) { return x.view(-1) + 1; }"
    given: dict[str, Any] = {
        "functions": ["f"],
        "reference": lambda x: x.reshape(-1) + 1,
        "inputs": (torch.randn(4, 5),),
    }
    report = li.check(li.from_load_inline("e", text, **given), compiler=QUICK)
    assert report.ok and "the kernel refuses it (RuntimeError: view size is not compatible" in str(report)
    report = li.check(li.from_load_inline("e", text.replace("x.view", "x.t().view"), **given), compiler=QUICK)
    assert not report.ok


def test_magic(capsys: pytest.CaptureFixture[str], quick_compiler: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """`%%load_inline` brings a cell in, builds and checks it, and counts lines as the cell does."""
    names = {"torch": torch}
    (kernel,) = run(
        "square --reference torch.square --inputs (torch.ones(3, 5),)",
        SQUARE,
        lambda text: eval(text, names),
        Terminal(),
    )
    assert kernel.cpp.split("\n")[1] == SQUARE.strip()
    assert "right" in capsys.readouterr().out
    for line in ("square --reference 'torch.square' --inputs \"(torch.ones(3, 5),)\" --device 'cpu'", "'square'"):
        (kernel,) = run(line, SQUARE, lambda text: eval(text, names), Terminal())
        assert kernel.label.startswith("square/inline")
    with pytest.raises(
        InputError,
        match=r"^%%load_inline: which function of the text\? .* %%load_inline FUNCTION\. Its functions: square$",
    ):
        run("--reference torch.square", SQUARE, lambda text: eval(text, names), Terminal())
    with pytest.raises(InputError, match=r"%%load_inline: no option '--refrence'. Did you mean --reference\?"):
        run("square --refrence torch.square", SQUARE, lambda text: eval(text, names), Terminal())
    cells: list[str] = []
    perform("adopt square/inline", cells.append)
    assert cells[0].startswith("%%kernel square/mine --from square/inline\ntorch::Tensor square")
    # Without gradients it is right in forward: nothing to raise for.
    run(
        "square --reference torch.square --inputs (torch.ones(3, 5),)",
        DETACHED,
        lambda text: eval(text, names),
        Terminal(),
    )
    assert "right in forward; no backward" in capsys.readouterr().out
    shown: list[Any] = []
    monkeypatch.setattr(Terminal, "show", lambda self, what: shown.append(what))
    with pytest.raises(BuildError):
        run(
            "square --inputs (torch.ones(3, 5),)",
            SQUARE.replace("* x", "* y"),
            lambda text: eval(text, names),
            Terminal(),
        )
    assert isinstance(shown[-1], BuildError)
    with pytest.raises(InputError, match="axpy/cpp is no kernel of %%load_inline"):
        perform("adopt axpy/cpp", cells.append)
