"""Ops, kernels, revisions and the table that holds them."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.errors import DefinitionError, DuplicateKernelError, EditError, UnknownKernelError
from lltm_inline.model.registry import Cost, Kernel, Op, Schema, diff, registry
from tests.tiny import forget, inputs, reference

TEXT = "at::Tensor forward(const at::Tensor& x) {\n  return x + A;\n}\n"


@pytest.fixture
def kernel(tiny: Any) -> Kernel:
    """Register a kernel of the throwaway op."""
    return registry.register(Kernel("tiny/cpp", cpp=TEXT, params={"A": 2}, doc="y = x + A\n\nMore."))


def op(**fields: Any) -> Op:
    """Make an op, right but for the given fields."""
    return Op(
        **{"name": "tiny", "schema": "(Tensor x) -> Tensor y", "reference": reference, "shapes": {"x": "N", "y": "N"}}
        | fields
    )


def test_kernel_is_found_by_name_and_revision(kernel: Kernel) -> None:
    """A name gives the current kernel, a label that very revision, and revision 0 goes without number."""
    assert registry["tiny/cpp"] is kernel and registry["tiny/cpp@0"] is kernel
    edited = kernel.edit("x + A", "x - A")
    assert edited.label == "tiny/cpp@1" and edited.parent == "tiny/cpp"
    assert registry["tiny/cpp@1"] is edited, "an edit can be named without being registered"
    assert registry["tiny/cpp"] is kernel, "but becomes current only when it is"
    registry.register(edited)
    assert registry["tiny/cpp"] is edited and registry["tiny/cpp@0"] is kernel
    assert registry.history("tiny/cpp") == (kernel, edited)


def test_miss_names_the_nearest() -> None:
    """A misspelt kernel is answered with the nearest name and the kernels of its op."""
    with pytest.raises(UnknownKernelError) as error:
        registry["lltm/fusd"]
    assert str(error.value).startswith(
        "no kernel 'lltm/fusd'. Did you mean 'lltm/fused'? Kernels of lltm: python, aten, fused, stable"
    )


def test_other_misses(kernel: Kernel) -> None:
    """An unknown op lists the ops, an unknown revision lists the revisions, and both are KeyErrors too."""
    with pytest.raises(KeyError, match=r"^no kernel 'qqq/www'\. Ops: .*\blltm\b"):
        registry["qqq/www"]
    kernel.edit("x + A", "x - A")
    with pytest.raises(
        UnknownKernelError, match=r"^no revision 'tiny/cpp@7'\. Revisions of 'tiny/cpp': tiny/cpp, tiny/cpp@1$"
    ):
        registry["tiny/cpp@7"]
    with pytest.raises(
        UnknownKernelError,
        match=r"^kernel 'lltn/a': no op 'lltn'\. Did you mean 'lltm'\? Ops: lltm, .*Register an Op of that name first$",
    ):
        registry.op_of(Kernel("lltn/a", cpp=TEXT))


def test_duplicates_are_refused(kernel: Kernel) -> None:
    """A name is taken once; the same thing again is no duplicate."""
    assert registry.register(Kernel("tiny/cpp", cpp=TEXT, params={"A": 2})) == kernel
    with pytest.raises(
        DuplicateKernelError, match=r"'tiny/cpp' is registered already. To change it: registry\['tiny/cpp'\].replace"
    ):
        registry.register(Kernel("tiny/cpp", cpp=TEXT, params={"A": 3}))
    with pytest.raises(DuplicateKernelError):
        registry.register(op(doc="another"))
    assert registry["tiny/cpp"] == kernel and registry.ops["tiny"].doc == ""


def test_op_brings_its_reference(tiny: Any) -> None:
    """Registering an op makes its reference the kernel `op/python`."""
    assert registry["tiny/python"].python is reference
    assert "tiny" in registry.ops
    with pytest.raises(TypeError):
        registry.ops["tiny"] = op()  # type: ignore[index]


def test_registry_is_a_mapping_that_shows_itself(kernel: Kernel) -> None:
    """The table has a length, names to iterate over, and one line per kernel with what it is."""
    assert len(registry) == len(list(registry))
    assert "tiny/cpp" in registry and "tiny/none" not in registry
    [line] = [line for line in str(registry).splitlines() if line.startswith("tiny/cpp")]
    assert line.split(maxsplit=1)[1] == "y = x + A"
    assert "tiny/cpp" in registry._repr_html_()


def test_edit_wants_one_place(kernel: Kernel) -> None:
    """An edit that matches nowhere shows the nearest line; one that matches twice shows the places."""
    with pytest.raises(EditError) as error:
        kernel.edit("x * A", "x - A")
    assert str(error.value) == (
        "'x * A' occurs nowhere in kernel 'tiny/cpp', want exactly 1 place. Nearest, cpp line 2: 'return x + A;'"
    )
    places = r"'Tensor' occurs 2 times in kernel 'tiny/cpp' \(cpp line 1, cpp line 1\), want exactly 1"
    with pytest.raises(EditError, match=places):
        kernel.edit("Tensor", "tensor")
    with pytest.raises(EditError):
        kernel.edit("", "x")
    with pytest.raises(EditError, match="'tiny/python' is a Python function: it has no text to edit"):
        registry["tiny/python"].edit("a", "b")


def test_overlapping_matches_count(kernel: Kernel) -> None:
    """The same text twice in a row is two places."""
    doubled = kernel.replace(cpp="// aa\n" + TEXT)
    with pytest.raises(EditError, match="occurs 2 times"):
        doubled.replace(cpp="// abab\n" + TEXT).edit("ab", "c")


def test_same_content_same_revision(kernel: Kernel) -> None:
    """The same edit gives the same revision, the way back gives revision 0, another edit another number."""
    one = kernel.edit("x + A", "x - A")
    assert kernel.edit("x + A", "x - A") is one
    assert one.edit("x - A", "x + A") is kernel
    two = one.edit("x - A", "x * A")
    assert (two.label, two.parent) == ("tiny/cpp@2", "tiny/cpp@1")


def test_a_param_that_nobody_uses_is_refused(kernel: Kernel) -> None:
    """A new param that stands in no text is a slip; one whose text comes with it is none, and a use may be edited out."""
    with pytest.raises(
        DefinitionError, match=r"^kernel 'tiny/cpp': its texts use no param 'AA'\. Did you mean 'A'\? Params: A$"
    ):
        kernel.replace(params={"A": 3, "AA": 1})
    changed = kernel.replace(params={"AA": 1}, cpp=kernel.cpp.replace("A;", "A + AA;"))
    assert dict(changed.params) == {"A": 2, "AA": 1}
    assert dict(changed.edit(" + AA", "").replace(params={"AA": 4}).params) == {"A": 2, "AA": 4}
    slotted = kernel.replace(cpp=kernel.cpp + "// $MORE\n", slots={"MORE": "N"}, params={"N": 1})
    assert slotted.params["N"] == 1


def test_replace(kernel: Kernel) -> None:
    """Params are updated, not replaced; the doc alone makes a revision; name and unknown fields cannot be changed."""
    changed = kernel.replace(params={"B": 1.5}, cpp=f"{TEXT}// B\n")
    assert dict(changed.params) == {"A": 2, "B": 1.5} and dict(kernel.params) == {"A": 2}
    assert kernel.replace(doc="better").doc == "better"
    for field in ("name", "revision", "parent", "nonsense"):
        with pytest.raises(DefinitionError, match=rf"replace\(\) cannot change {field} of kernel 'tiny/cpp'"):
            kernel.replace(**{field: "x"})


def test_kernel_is_frozen_all_the_way(kernel: Kernel) -> None:
    """Neither fields nor the params inside can be changed."""
    with pytest.raises(AttributeError):
        kernel.cpp = ""  # type: ignore[misc]
    for change in (lambda d: d.update(A=3), lambda d: d.clear(), lambda d: d.pop("A"), lambda d: d.__setitem__("A", 3)):
        with pytest.raises(TypeError, match=r"frozen: use kernel.replace"):
            change(kernel.params)


@pytest.mark.parametrize("how", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy, copy.copy])
def test_values_travel(kernel: Kernel, how: Any) -> None:
    """Kernels and ops can be copied and sent to another process, and stay frozen there."""
    for value in (kernel, kernel.edit("x + A", "x - A"), registry["lltm/fused"]):
        there = how(value)
        assert there == value and there.label == value.label and hash(there) == hash(value)
        with pytest.raises(TypeError):
            there.params["A"] = 3
    small = registry.ops["tiny"]
    assert how(small) == small and how(small).shape_of == small.shape_of


def test_kernel_shows_itself(kernel: Kernel) -> None:
    """A kernel prints its source with line numbers, and says what it is in one line."""
    assert str(kernel).splitlines()[:2] == ["tiny/cpp (cpp)", "   1  at::Tensor forward(const at::Tensor& x) {"]
    assert repr(kernel) == "<Kernel tiny/cpp: 3 lines>"
    assert "forward" in kernel._repr_html_() and "background: #" not in kernel._repr_html_().partition("</p>")[0]
    assert repr(registry["tiny/python"]) == "<Kernel tiny/python: Python>"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cpp": ""}, "needs a source text"),
        ({"python": reference}, "needs a source text .* and not both"),
        ({"cpp": b"int x;"}, "cpp=b'int x;', want a string"),
        ({"cpp": "int\0x;"}, "cpp holds a NUL character"),
        ({"api": "cuda"}, "api='cuda', want 'aten' or 'stable'"),
        ({"api": "stable", "binding": "pybind11"}, "pybind11 needs ATen headers"),
        ({"params": {"2x": 1}}, "param '2x' is not a C identifier"),
        ({"params": {"X": "1; evil()"}}, "param X is '1; evil\\(\\)', want a finite number"),
        ({"params": {"X": float("nan")}}, "param X is nan, want a finite number"),
        ({"params": {"X": float("inf")}}, "param X is inf, want a finite number"),
        ({"slots": {"a-b": "x"}}, "slot 'a-b' must be an identifier"),
        ({"slots": {"a": 3}}, "slot 'a' must be an identifier with a string as its value"),
        ({"flags": ("O2",)}, "flag 'O2' must start with '-'"),
        ({"flags": ("-O2 -g",)}, "flag '-O2 -g' must start with '-' and hold no spaces"),
        ({"flags": (3,)}, r"flags=\(3,\), want a tuple of strings"),
        ({"flags": "-O2"}, "flags='-O2' is a string, want a tuple of strings"),
        ({"saves": "x"}, "saves='x' is a string, want a tuple of strings"),
    ],
)
def test_kernels_that_are_refused(fields: dict[str, Any], message: str) -> None:
    """Each rule that a kernel can break has its own message."""
    with pytest.raises(DefinitionError, match=message):
        Kernel("tiny/cpp", **{"cpp": TEXT} | fields)


@pytest.mark.parametrize(
    ("name", "ours"),
    [("cpp_sources", "cpp=, one text"), ("cuda_sources", "cuda=, one text"), ("extra_cflags", "flags=")],
)
def test_names_of_load_inline_are_translated(name: str, ours: str) -> None:
    """Who writes a kernel with the arguments of `load_inline` is told what they are called here; other names are Python's matter."""
    with pytest.raises(DefinitionError, match=f"no field '{name}': what load_inline calls so is {ours}"):
        Kernel("tiny/cpp", **{name: TEXT})
    with pytest.raises(TypeError, match="unexpected keyword argument 'cqp'"):
        Kernel("tiny/cpp", cqp=TEXT)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "Tiny"}, "op name 'Tiny' is not a lower-case identifier"),
        ({"schema": "Tensor x -> Tensor y"}, "does not read as"),
        ({"schema": "(Tensor x) -> Tensor x"}, "uses a name twice"),
        ({"schema": "(Tensor[]? x) -> Tensor y"}, "is not a type"),
        (
            {"schema": "(Tensor x) -> (float y)", "shapes": {"x": "N"}},
            "op 'tiny' returns float y, and an op with gradients returns tensors only",
        ),
        ({"shapes": {"x": "N"}}, "shapes are given for .'x'., but the schema's tensors are .'x', 'y'."),
        (
            {"shapes": {"x": "BF", "y": "N"}},
            "op 'tiny', shape of 'x': extent 'BF' is not a sum of terms .* Write one letter for each axis, blanks between",
        ),
        ({"shapes": {"x": "B F + G", "y": "N"}}, r"extent '\+' is not a sum of terms .* none inside a sum"),
        ({"shapes": {"x": "2N", "y": "N"}}, "no tensor has N as a whole extent"),
        ({"shapes": {"x": "N", "y": "M"}}, r"shape \(M\) of 'y' has M, which no required input has as a whole extent"),
        (
            {"schema": "(Tensor x, Tensor? b) -> Tensor y", "shapes": {"x": "N", "b": "M", "y": "N"}},
            "of 'b' has M, which no required input has",
        ),
        ({"schema": "(Tensor? x) -> Tensor y"}, "op 'tiny' takes no Tensor"),
        ({"schema": "(Tensor x, float c) -> Tensor y"}, "takes more than tensors: give inputs="),
        ({"parameters": ("w",)}, "parameters .'w'. are no tensor inputs"),
    ],
)
def test_ops_that_are_refused(fields: dict[str, Any], message: str) -> None:
    """Each rule that an op can break has its own message."""
    with pytest.raises(DefinitionError, match=message):
        op(**fields)


def test_saved_name_must_exist(tiny: Any) -> None:
    """A kernel saves inputs and outputs of its op, and nothing else."""
    with pytest.raises(DefinitionError, match="kernel 'tiny/cpp' saves w; op 'tiny' has x, y"):
        registry.register(Kernel("tiny/cpp", cpp=TEXT, saves=("w",)))


def test_schema_reads_every_type() -> None:
    """All argument types and defaults are read, and printed back as they were."""
    text = "(Tensor x, Tensor? b, float c=2, int n=3, bool flag=False) -> (Tensor y, Tensor z)"
    schema = Schema.parse(text)
    assert str(schema) == text
    assert [a.name for a in schema.tensors] == ["x", "b"]
    assert str(Schema.parse("(Tensor x) -> Tensor y")) == "(Tensor x) -> (Tensor y)"


def test_make_inputs() -> None:
    """Without a generator, each tensor is drawn in the shape its letters give."""
    plain = op(shapes={"x": "N 2N", "y": "N 2N"}, cost=lambda itemsize, N: Cost(itemsize * N, N, 0, 0))
    assert plain.make_inputs(lambda *shape: shape, (3,)) == ((3, 6),)
    assert op(inputs=inputs).make_inputs(torch.ones, (3,))[0].tolist() == [1, 1, 1]


def test_diff(kernel: Kernel) -> None:
    """A diff shows the changed lines of every part, under the labels of both kernels."""
    changed = kernel.edit("x + A", "x - A").replace(params={"A": 3})
    found = diff("tiny/cpp", changed)
    assert "--- tiny/cpp (cpp)\n+++ tiny/cpp@2 (cpp)" in str(found)
    assert "-A = 2\n+A = 3" in str(found) and "-  return x + A;\n+  return x - A;" in str(found)
    assert found.changed_lines == 2
    assert "return" in found._repr_html_()
    assert str(li.diff(kernel, kernel)) == "tiny/cpp and tiny/cpp are the same"


@pytest.fixture
def other_op() -> Iterator[Op]:
    """Register an op of another name for one test."""
    yield registry.register(op(name="tinier"))
    forget("tinier")


def test_unknown_op_is_nearest_first(other_op: Op, tiny: Any) -> None:
    """The nearest op comes first in the list."""
    with pytest.raises(UnknownKernelError, match=r"no kernel 'tinie/qqqqqqqqq'. Did you mean 'tinier'\? Ops: tinier, "):
        registry["tinie/qqqqqqqqq"]


def test_a_cell_that_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op of a notebook takes the place of the one before; its kernel is the next revision, and the same text the same one."""

    def cell(factor: int, text: str) -> tuple[Op, Kernel]:
        def reference(x: Any) -> Any:
            return factor * x

        reference.__module__ = "__main__"
        shapes = {"x": "N", "y": "N"}
        made = Op("recell", "(Tensor x) -> Tensor y", reference, shapes, lambda randn, N: (randn(N),))
        return registry.register(made), registry.register(Kernel("recell/cpp", cpp=text, params={"A": factor}))

    for table in ("_ops", "_first", "_current"):
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))
    first = cell(2, "one")
    second = cell(3, "two")
    assert registry.ops["recell"] is second[0] and registry["recell/python"].python is second[0].reference
    assert [first[1].label, second[1].label, second[1].parent] == ["recell/cpp", "recell/cpp@1", "recell/cpp"]
    assert registry["recell/cpp"] == second[1] and dict(second[1].params) == {"A": 3}
    assert cell(3, "two")[1].label == "recell/cpp@1"
    assert cell(2, "one")[1].label == "recell/cpp" == registry["recell/cpp"].label
    other = replace(second[0], reference=torch.abs)
    with pytest.raises(DuplicateKernelError, match="op 'recell' is registered already; choose another name"):
        registry.register(other)


_MODULE = """
import lltm_inline as li


def three(x):
    return x + x


OP = li.registry.register(li.Op("twice", "(Tensor x) -> Tensor y", lambda x: 2 * x, {"x": "N", "y": "N"}))
TEXT = li.registry.register(li.Kernel("twice/cpp", cpp="one"))
SUM = li.registry.register(li.Kernel("twice/sum", python=three))
"""


@pytest.fixture
def module_of_ops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import a module that registers an op and its kernels; a cell or a module on `sys.path` does the same."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "module_of_ops.py").write_text(_MODULE)
    before = registry.snapshot()
    yield importlib.import_module("module_of_ops")
    registry.restore(before)
    del sys.modules["module_of_ops"]


def test_a_module_that_is_reloaded(module_of_ops: Any) -> None:
    """Its op takes the place of the one before, and its kernels become revisions; the same name twice in it is refused."""
    first = module_of_ops.TEXT
    importlib.reload(module_of_ops)
    assert registry.ops["twice"] is module_of_ops.OP and first == module_of_ops.TEXT
    assert registry["twice/sum"].python is module_of_ops.three
    Path(module_of_ops.__file__).write_text(_MODULE.replace("one", "another"))
    importlib.reload(module_of_ops)
    assert [module_of_ops.TEXT.label, registry["twice/cpp"].cpp] == ["twice/cpp@1", "another"]
    with pytest.raises(DuplicateKernelError, match="op 'twice' is registered already"):
        registry.register(replace(module_of_ops.OP, reference=module_of_ops.three))


def test_a_module_that_is_imported_after_its_op_has_come(module_of_ops: Any) -> None:
    """An op without a named function reaches the worker before its module: the one that has come is the one that stays."""
    ops, first, current = (
        {name: one for name, one in table.items() if "twice" not in name} for table in registry.snapshot()
    )
    registry.restore((ops, first, current))
    registry.adopt(replace(module_of_ops.OP, reference=lambda x: x + x))
    come = registry.ops["twice"]
    importlib.reload(module_of_ops)
    assert registry.ops["twice"] is come and registry["twice/python"].python is come.reference
    assert registry["twice/sum"].python is module_of_ops.three
