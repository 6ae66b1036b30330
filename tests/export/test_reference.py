"""An op's reference as a module of its own: what is copied, what is imported, what is written as a value, what is refused."""

from __future__ import annotations

import functools
import linecache
import math
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

import lltm_inline as li
from lltm_inline.errors import InputError
from lltm_inline.export.reference import reference_text, tolerances_of
from lltm_inline.export.source import Import, definition_text, free_names, import_lines
from lltm_inline.model.registry import Op

FACTOR = 2.5
TABLE = {"gain": (1, 2.0), "none": None, "far": math.inf, "dtype": torch.float64}
WEIGHTS = torch.ones(3)
SHAPES = {"x": "N", "y": "N"}


def op_of(reference: Callable[..., Any], inputs: Callable[..., Any] | None = None) -> Op:
    """Make an op of one input and one output, which is not registered."""
    return Op("made", "(Tensor x) -> Tensor y", reference, SHAPES, inputs)


def run(op: Op) -> dict[str, Any]:
    """Run the text that is written for an op where nothing of this module or of lltm_inline is at hand."""
    text = f"from __future__ import annotations\n\n{reference_text(op)}"
    assert "lltm_inline" not in text
    names: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "reference.py", "exec"), names)
    return names


def randn(*shape: int) -> Tensor:
    """Draw the same numbers each time."""
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(7))


@pytest.fixture
def cell() -> Iterator[Callable[[str], dict[str, Any]]]:
    """Run a text as a notebook runs a cell: Python knows its lines, though there is no file."""
    made: list[str] = []

    def run_cell(text: str) -> dict[str, Any]:
        name = f"<ipython-input-{len(made)}-export>"
        made.append(name)
        text = textwrap.dedent(text)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(text, name, "exec"), names)
        return names

    yield run_cell
    for name in made:
        del linecache.cache[name]


@pytest.mark.parametrize("name", list(li.registry.ops))
def test_shipped_reference_stands_alone(name: str) -> None:
    """The text of each shipped op computes what the op does, from the same inputs, without lltm_inline."""
    op = li.registry.ops[name]
    names = run(op)
    size = op.check_size or (3, 17, 5)[: len(op.letters)]
    got = names["make_inputs"](randn, **op.named(size))
    want = op.make_inputs(randn, size)
    torch.testing.assert_close(got, want, rtol=0, atol=0)
    torch.testing.assert_close(names["reference"](*got), op.reference(*want), rtol=0, atol=0)
    assert names[op.reference.__name__] is names["reference"]


def test_constants_become_values() -> None:
    """Numbers, tuples, dicts, infinity and dtypes are written down, with the imports that they need."""

    def reference(x: Tensor) -> Tensor:
        return x.to(TABLE["dtype"]) * FACTOR * TABLE["gain"][1]

    text = reference_text(op_of(reference))
    assert "FACTOR = 2.5\n" in text
    assert 'TABLE = {"gain": (1, 2.0), "none": None, "far": math.inf, "dtype": torch.float64}' in text
    assert text.startswith("import math\n")
    names = run(op_of(reference))
    assert names["reference"](torch.ones(2)).tolist() == [5.0, 5.0]


def test_long_constants_are_broken() -> None:
    """A table that would not fit into a line has an item in each; an empty one stays empty."""
    table, names, none = tuple(range(100)), {f"name_{number}": number for number in range(20)}, []
    op = op_of(lambda x: x * len(table) * len(names) + len(none))
    assert max(map(len, reference_text(op).split("\n"))) <= 120
    assert "none = []\n" in reference_text(op)
    assert run(op)["reference"](torch.ones(1)).item() == 2000


def test_closures_are_followed() -> None:
    """A function made by a function takes along the constants and functions that it closes over."""
    gain = 3

    def helper(x: Tensor) -> Tensor:
        return gain * x

    def reference(x: Tensor) -> Tensor:
        return helper(x) + gain

    assert run(op_of(reference))["reference"](torch.ones(1)).item() == 6


def test_lambdas_become_functions() -> None:
    """A lambda is written as a function, also where two stand in one line."""
    op = op_of(lambda x: x * FACTOR, lambda randn, N: (randn(N).abs(),))
    text = reference_text(op)
    assert "def reference(x):\n    return x * FACTOR\n" in text
    assert "def make_inputs(randn, N):\n    return (randn(N).abs(),)\n" in text
    assert run(op)["make_inputs"](randn, N=5)[0].min() >= 0


def test_lambda_over_lines() -> None:
    """A lambda that goes over several lines stays one expression."""
    op = op_of(
        lambda x: x
        + FACTOR
        - 1
    )  # fmt: skip
    assert run(op)["reference"](torch.ones(1)).item() == 2.5


def test_aliases_and_classes() -> None:
    """What is known under another name gets both, and a class is copied with what its methods use."""
    plus = _add_factor

    def reference(x: Tensor) -> Tensor:
        return _Scale(2.0).apply(plus(x))

    names = run(op_of(reference))
    assert names["reference"](torch.ones(1)).item() == 14.0
    assert names["plus"] is names["_add_factor"]


def _add_factor(x: Tensor) -> Tensor:
    return x + FACTOR


class _Scale:
    """A number to multiply by."""

    def __init__(self, by: float) -> None:
        self.by = by

    def apply(self, x: Tensor) -> Tensor:
        """Multiply by twice the number."""
        return _twice(x) * self.by


def _twice(x: Tensor) -> Tensor:
    return 2 * x


def test_imports_keep_their_names(cell: Callable[[str], dict[str, Any]]) -> None:
    """Modules are imported as the notebook does, by another name or by a dotted one, and names from where it has them."""
    names = cell(
        """
        import importlib.util
        import torch.nn.functional as F
        from math import sqrt as root
        from torch import Tensor

        def wave(x: Tensor) -> Tensor:
            importlib.util.find_spec("math")
            return F.elu(x) * root(4.0)
        """
    )
    op = op_of(names["wave"])
    lines = reference_text(op).partition("\n\n\n")[0].split("\n")
    assert lines[:2] == ["import importlib.util", "from collections.abc import Callable"]
    assert lines[2:] == [
        "from math import sqrt as root",
        "",
        "import torch.nn.functional as F",
        "from torch import Tensor",
    ]
    assert run(op)["reference"](torch.ones(1)).item() == 2.0


def test_notebook_cells_are_read(cell: Callable[[str], dict[str, Any]]) -> None:
    """Functions and classes of a notebook's cells are copied, though no file has them."""
    names = cell(
        """
        from typing import NamedTuple

        class Pair(NamedTuple):
            left: float

            def both(self, x):
                return self.left * x

        def reference(x):
            return Pair(4.0).both(x)
        """
    )
    assert run(op_of(names["reference"]))["reference"](torch.ones(1)).item() == 4.0


def test_function_of_torch_is_imported() -> None:
    """A reference that is a function of PyTorch itself is named, and not copied."""
    text = reference_text(op_of(torch.nn.functional.elu))
    assert "reference = torch.nn.functional.elu\n" in text
    assert run(op_of(torch.sin))["reference"](torch.zeros(1)).item() == 0


def test_recursion_and_decorators() -> None:
    """A function may call itself, and is copied with its decorators."""
    assert run(op_of(_halved))["reference"](torch.full((1,), 5.0)).item() == 0.625


@torch.no_grad()
def _halved(x: Tensor, times: int = 3) -> Tensor:
    return _halved(x / 2, times - 1) if times else x


def test_generator_that_others_call_keeps_its_name() -> None:
    """The generator of inputs becomes `make_inputs`; where something calls it by its own name it has both."""
    text = reference_text(op_of(_twice, _drawn))
    assert "def make_inputs(randn: Callable[..., Tensor], N: int)" in text
    assert "_drawn" not in text
    names = run(op_of(lambda x: x + _drawn(torch.ones, 1)[0], _drawn))
    assert names["make_inputs"] is names["_drawn"]


def _drawn(randn: Callable[..., Tensor], N: int) -> tuple[Tensor, ...]:
    return (randn(N),)


def test_missing_generator_is_written() -> None:
    """An op without inputs of its own gets a generator from its shapes."""
    op = Op("made", "(Tensor x, Tensor b) -> Tensor y", torch.add, {"x": "B 2F+1", "b": "F", "y": "B 2F+1"})
    text = reference_text(op)
    assert "def make_inputs(randn: Callable[..., Tensor], B: int, F: int) -> tuple[Tensor, Tensor]:" in text
    assert "    return randn(B, 2 * F + 1), randn(F)\n" in text


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (
            lambda x: x * WEIGHTS,
            r"op 'made': its function 'reference' uses WEIGHTS, which is tensor\(\[1., 1., 1.\]\): that cannot be written into "
            r"a file, and an export does without the playground. Write it as a plain `def`, or make it inside",
        ),
        (
            lambda x: li.load("lltm/fused")(x),
            r"uses the module 'lltm_inline', which is not installed, so the export could",
        ),
        (
            lambda x: op_of(x),
            r"'op_of' uses Op of lltm_inline, and an export does without that: write it in plain PyTorch",
        ),
        (lambda x: nobody(x), r"'reference' uses nobody, which is not defined"),  # noqa: F821
        (
            functools.partial(torch.mul, other=2),
            r"op 'made': its reference is functools.partial\(.*: that cannot be written",
        ),
    ],
)
def test_what_cannot_be_written(reference: Callable[..., Any], message: str) -> None:
    """Tensors, objects, the playground itself and names that are not there are refused, by name and with a cure."""
    with pytest.raises(InputError, match=message):
        reference_text(op_of(reference))


def test_closure_over_a_tensor() -> None:
    """A function that closes over a tensor is refused by the name of the tensor."""
    table = torch.zeros(2)
    with pytest.raises(InputError, match=r"its function 'reference' uses table, which is tensor\(\[0., 0.\]\)"):
        reference_text(op_of(lambda x: x + table))


def test_source_that_is_not_there() -> None:
    """A function made by exec has no source: said with what to do."""
    names: dict[str, Any] = {}
    exec("def made(x):\n    return x", names)
    with pytest.raises(
        InputError, match=r"the source of its function 'made' cannot be read .*define it in a file or a note"
    ):
        reference_text(op_of(names["made"]))


def test_one_name_for_two_things(cell: Callable[[str], dict[str, Any]]) -> None:
    """Two modules may each have a `scale`; one file cannot."""
    first = cell("scale = 2\ndef reference(x):\n    return x * scale\n")
    second = cell("scale = 3\ndef inputs(randn, N):\n    return (randn(N) * scale,)\n")
    with pytest.raises(InputError, match="scale stands for two things in what its reference and inputs use, 2 and 3"):
        reference_text(op_of(first["reference"], second["inputs"]))


def test_name_that_the_export_needs(cell: Callable[[str], dict[str, Any]]) -> None:
    """A helper cannot be called what tests and benchmark look for."""
    names = cell("SIZES = 2\ndef reference(x):\n    return x * SIZES\n")
    with pytest.raises(InputError, match="use a name SIZES, which the export needs for itself: rename it"):
        reference_text(op_of(names["reference"]))


def test_imports_inside_functions() -> None:
    """An import of the playground inside a function would fail in the export, and is refused."""
    with pytest.raises(InputError, match=r"has 'from lltm_inline import ops', which finds nothing in an export"):
        reference_text(op_of(_imports))


def _imports(x: Tensor) -> Tensor:
    from lltm_inline import ops

    return x if ops else -x


def test_own_module_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the user's own cannot be imported by the export: functions from it can be copied."""
    helpers = ModuleType("helpers")
    monkeypatch.setitem(sys.modules, "helpers", helpers)
    with pytest.raises(InputError, match=r"Import functions by name \(from helpers import ...\): they are copied"):
        reference_text(op_of(lambda x: helpers.scale(x)))


def test_tolerances() -> None:
    """They stand under the dtype in which inputs are drawn; those of the op win."""
    assert tolerances_of(li.registry.ops["complex_abs2"]) == {"float32": (2**-13, 2**-13), "float64": (1e-12, 1e-12)}
    op = Op(
        "made", "(Tensor x) -> Tensor y", torch.neg, SHAPES, tolerances={"float32": (0.1, 0.2)}, dtypes=("float32",)
    )
    assert tolerances_of(op) == {"float32": (0.1, 0.2)}


def test_free_names() -> None:
    """Names of annotations, defaults and decorators count; local ones, nested ones and the function's own do not."""
    text = """
    @mark(level)
    def f(x: Tensor, y=DEFAULT):
        local = helper(x)
        def inner(z):
            return local + other + f(z)
        return [inner(item) for item in local]
    """
    assert free_names(textwrap.dedent(text)) == ["DEFAULT", "Tensor", "helper", "level", "mark", "other"]


def test_import_lines() -> None:
    """Imports stand in the order of isort: Python's own ahead, modules before names, constants, classes, the rest."""
    imports = {
        Import("torch", "nn"),
        Import("torch", "Tensor"),
        Import("numpy", "", "np"),
        Import("math", "sqrt", "root"),
    }
    assert import_lines(imports) == "from math import sqrt as root\n\nimport numpy as np\nfrom torch import Tensor, nn"


def test_changed_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was changed after it was imported would give the text of something else."""
    file = tmp_path / "changing.py"
    file.write_text("def first(x):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import changing

    file.write_text("\ndef second(x):\n    return -x\n\n\ndef first(x):\n    return x\n")
    with pytest.raises(OSError, match="the file has changed since it was imported"):
        definition_text(changing.first, "first")


def test_a_reference_that_bears_a_name_of_the_export() -> None:
    """It would take the place of the function of inputs, or the other way round."""

    def make_inputs(x: Any) -> Any:
        return x

    op = li.Op("odd", "(Tensor x) -> Tensor y", make_inputs, {"x": "N", "y": "N"})
    with pytest.raises(InputError, match="its reference is called make_inputs, a name that the export needs"):
        reference_text(op)
