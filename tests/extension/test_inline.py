"""What people give to `load_inline` becomes a kernel of an op that is made on the spot; snippets in the wild's styles, and bad input."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.cpp_extension import load_inline

import lltm_inline as li
from lltm_inline.errors import BuildError, DefinitionError, InputError, LltmInlineError
from lltm_inline.model.kernel import revisions
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.notebook.inline_cell import run
from lltm_inline.notebook.live import Terminal
from lltm_inline.notebook.verbs import perform
from tests import tiny
from tests.quick import QUICK
from tests.wild import Wild, every, table

SNIPPETS = {snippet.name: snippet for snippet in every()}
#: One of each kind; the others are a part of `make test-all`.
FIRST = ("sin_add", "mean_last_dim", "sgd_step_", "softmax_forward")
SQUARE = "torch::Tensor square(torch::Tensor x) { return x * x; }\n"


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    """Take out of the registry what a test has made."""
    before, made = registry.snapshot(), dict(revisions)
    yield
    for name in {*registry.ops} - {*before[0]}:
        tiny.forget(name)
    registry.restore(before)
    for name in [name for name in revisions if name not in made]:
        del revisions[name]


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
        name for name, one in inspect.signature(li.from_load_inline).parameters.items() if one.kind != one.KEYWORD_ONLY
    ]
    assert ours[: len(theirs)] == theirs


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
    [
        pytest.param(one, id=name, marks=() if name in FIRST else (pytest.mark.full, pytest.mark.long))
        for name, one in SNIPPETS.items()
    ],
)
def test_each_is_told_right_from_wrong(snippet: Wild) -> None:
    """A snippet that is right is called right, and with a mistake in it wrong; what cannot go in is refused by name."""
    how: dict[str, Any] = {"device": snippet.device, "compiler": QUICK if snippet.device == "cpu" else None}
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
    """docs/wild.md holds the table of the snippets as they are."""
    assert table() in (Path(__file__).parents[2] / "docs" / "wild.md").read_text()
    unchanged = [snippet for snippet in SNIPPETS.values() if not snippet.refused and not snippet.shim]
    assert len(SNIPPETS) >= 40 and len(unchanged) >= 0.9 * len(SNIPPETS)


def test_called_without_a_reference() -> None:
    """Without a reference a snippet can be built, loaded and called; a check says that it needs one."""
    kernel = li.from_load_inline("ext", SQUARE, functions=["square"], inputs=(torch.ones(3, 5),))
    x = torch.randn(4, 7)
    assert torch.equal(li.load(kernel, compiler=QUICK)(x), x * x)
    assert "reference" in kernel.doc
    with pytest.raises(DefinitionError, match=r"op 'square' has no reference: from_load_inline\(\.\.\., reference="):
        li.check(kernel, compiler=QUICK)


def test_called_without_inputs() -> None:
    """Without example inputs tensors may have any shape."""
    kernel = li.from_load_inline("ext", SQUARE, functions=["square"])
    x = torch.randn(2, 3, 4)
    assert torch.equal(li.load(kernel, compiler=QUICK)(x), x * x)
    assert "reference=..., inputs=..." in kernel.doc
    with pytest.raises(DefinitionError, match=r"op 'square' has no reference and no inputs: from_load_inline"):
        li.check(kernel, compiler=QUICK)


def test_errors_at_the_lines_of_the_snippet() -> None:
    """A message counts in the user's own text, whose includes and line ends may be any."""
    text = "#include <torch/extension.h>\r\n\r\ntorch::Tensor square(torch::Tensor x) {\r\n  return x * y;\r\n}\r\n"
    with pytest.raises(BuildError) as failed:
        li.build(li.from_load_inline("ext", text, functions=["square"], inputs=(torch.ones(3),)), compiler=QUICK)
    assert [(one.line, one.column) for one in failed.value.diagnostics] == [(4, 14)]


def test_a_cell_runs_again() -> None:
    """The same snippet gives the same kernel, another one the next revision; the op goes along."""
    given: dict[str, Any] = {"functions": ["square"], "reference": torch.square, "inputs": (torch.ones(3, 5),)}
    first = li.from_load_inline("ext", SQUARE, **given)
    assert li.from_load_inline("ext", SQUARE, **given) == first
    changed = li.from_load_inline("ext", SQUARE.replace("x * x", "x * x * x"), **given)
    assert isinstance(changed, Kernel) and changed.label == "square/inline@1"
    assert li.from_load_inline(
        "ext", SQUARE.replace("square", "linear"), functions=["linear"], inputs=(torch.ones(3),)
    ).name == ("linear_inline/inline")


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


PYTHON = "import torch\n\ndef square(x):\n    return x * x\n"
OVERLOADED = SQUARE + "torch::Tensor square(torch::Tensor x, double c) { return x * c; }\n"
TEMPLATE = "template <typename T> torch::Tensor square(torch::Tensor x) { return x * x; }\n"
STRANGE = "torch::Tensor square(torch::Tensor x, std::map<int, int> m) { return x * x; }\n"
X = (torch.ones(3, 5),)


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
            {"cpp_sources": OVERLOADED},
            "'square' is overloaded: square(torch::Tensor) and square(torch::Tensor, double)",
        ),
        ({"cpp_sources": TEMPLATE}, "'square' is a template: want a function that calls it with a type"),
        ({"cpp_sources": STRANGE}, "argument 2 is 'std::map<int, int> m', want a tensor, a number, a string"),
        ({"sycl_sources": "kernel"}, "sycl_sources='kernel': there is no SYCL here"),
        ({"extra_ldflags": ["-lcublas"]}, "extra_ldflags='-lcublas' links another library"),
        ({"inputs": (torch.ones(3), 2)}, "inputs has 2 values, it takes 1: Tensor x"),
        ({"inputs": (3.0,)}, "inputs: x=3.0, want a Tensor"),
        ({"reference": lambda x, y: x}, "the reference fails on the example inputs (float32 (3, 5)): TypeError"),
        ({"reference": lambda x: (x, x)}, "the reference returns 2 values, the function 1 value"),
        ({"reference": lambda x: "x"}, "the reference returns 'x', want tensors or numbers"),
        ({"reference": 3}, "reference=3, want a function"),
        ({"reference": {"cube": torch.square}}, "reference has 'cube', want names of the functions: square"),
        ({"gradient": {"square": "grad"}}, "gradient names 'grad', want some of functions: square"),
        ({"extra_cflags": ["-fuse-ld=mold"]}, "chooses another linker"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[:40],
)
def test_bad_input(given: dict[str, Any], message: str) -> None:
    """What does not go in is refused before anything is compiled, and the message says what would go in."""
    full: dict[str, Any] = {"cpp_sources": SQUARE, "functions": ["square"], "inputs": X, "reference": torch.square}
    with pytest.raises((InputError, DefinitionError)) as refused:
        li.from_load_inline("ext", **full | given)
    assert message in str(refused.value)


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


def test_magic(capsys: pytest.CaptureFixture[str], quick_compiler: None) -> None:
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
    with pytest.raises(InputError, match=r"%%load_inline: no option '--refrence'. Did you mean --reference\?"):
        run("square --refrence torch.square", SQUARE, lambda text: eval(text, names), Terminal())
    cells: list[str] = []
    perform("adopt square/inline", cells.append)
    assert cells[0].startswith("%%kernel square/mine --from square/inline\ntorch::Tensor square")
    with pytest.raises(InputError, match="axpy/cpp is no kernel of %%load_inline"):
        perform("adopt axpy/cpp", cells.append)
