"""What an export says of a class that a kernel registers: which classes it knows what to do with, and the texts about one."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest

import lltm_inline as li
from lltm_inline.export.plan import Part, Plan
from lltm_inline.export.project import files_of
from lltm_inline.model.registry import Kernel
from lltm_inline.run.cases.case import prime_size
from lltm_inline.source.custom_classes import CustomClass
from lltm_inline.source.signature import Interface

KERNEL = li.registry["lltm/class"]
CELL = CustomClass("LLTMCell", "lltm_class", ("weights", "bias"), ("input", "old_h", "old_cell"))


def plan_of(kernel: Kernel = KERNEL) -> Plan:
    """Make the plan of an export by cmake."""
    op = li.registry.op_of(kernel)
    parts = (Part(kernel, "cpu", Interface(0, False)),)
    return Plan(op, parts, "cmake", "library", kernel.name.replace("/", "_"), check_size=op.named(prime_size(op)))


def written(plan: Plan) -> dict[str, str]:
    """Write the files of an export."""
    return files_of(plan)


def test_class_is_found() -> None:
    """The shipped class is known with its namespace, what it holds, and what it is given."""
    assert plan_of().custom == CELL
    assert CELL.qualified == "__torch__.torch.classes.lltm_class.LLTMCell"
    assert replace(plan_of(), name="cells").custom == replace(CELL, namespace="cells")


@pytest.mark.parametrize("name", [name for name, kernel in li.registry.items() if kernel.cpp and name != "lltm/class"])
def test_other_kernels_have_none(name: str) -> None:
    """No other kernel of the registry has a class."""
    assert plan_of(li.registry[name]).custom is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('torch::arg("weights"), torch::arg("bias")', 'torch::arg("weights")'),
        ('torch::arg("old_h")', 'torch::arg("state")'),
        (".def_pickle(", ".undef_pickle("),
        ('.def("bias"', '.def("offset"'),
        ('.def("forward"', '.def("step"'),
        ("      .def(torch::init", "      // .def(torch::init"),
    ],
)
def test_class_that_nobody_knows_how_to_use(old: str, new: str) -> None:
    """Without names for all of the op's inputs, a method for each that is held, or a state, a class is left alone."""
    assert plan_of(KERNEL.edit(old, new)).custom is None


def test_first_of_two_classes_and_a_namespace_of_its_own() -> None:
    """Definitions count for the class that they stand behind, and for the namespace of the block they stand in."""
    text = KERNEL.cpp.replace(
        'm.class_<LLTMCell>("LLTMCell")',
        'm.class_<Other>("Other").def(torch::init<>());\n  m.class_<LLTMCell>("LLTMCell")',
    )
    assert plan_of(KERNEL.replace(cpp=text)).custom == CELL
    text = text.replace("FRAGMENT(TORCH_EXTENSION_NAME", "FRAGMENT(cells")
    assert plan_of(KERNEL.replace(cpp=text)).custom == replace(CELL, namespace="cells")


def test_program_uses_the_class_by_name() -> None:
    """The function takes the op's inputs and finds the class by its full name; no line is longer than 120."""
    text = written(plan_of())["example/main.cpp"]
    assert "// Makes an object of the class LLTMCell, " in text
    assert 'torch::getCustomClass("__torch__.torch.classes.lltm_class.LLTMCell")' in text
    assert 'call("__init__", {first, weights, bias});' in text
    assert 'call("forward", {second, input, old_h, old_cell});' in text
    assert max(map(len, text.splitlines())) <= 120
    call = 'use_LLTMCell(input, weights, bias, old_h, old_cell, new_h, "lltm_class.pt")'
    assert f" = {call};" in text
    (parameters,) = re.findall(r"bool use_LLTMCell\((.*?)\) \{", text, re.DOTALL)
    assert parameters.count(",") == call.count(",")


def test_an_op_of_one_output_and_a_class_that_holds_one() -> None:
    """The result is a tensor and no tuple; what is saved is a tuple all the same."""
    plan = plan_of(li.registry["sin_add/aten"])
    names = [argument.name for argument in plan.op.signature.inputs]
    plan.__dict__["custom"] = CustomClass("Adder", "sin_add_aten", (names[0],), tuple(names[1:]))
    files = written(plan)
    assert "result.toTensor()" in files["example/main.cpp"]
    text = files["tests/test_sin_add_aten.py"]
    assert f"torch.save((cell.{names[0]}(),)," in text and "[0].sum()" not in text
    assert f"torch.save((cell.{names[0]}(),)," in files["README.md"]
    ast.parse(text)


def test_python_and_readme() -> None:
    """The package gives the class a name; its README says how to make, call, save and load an object."""
    files = written(plan_of())
    assert files["lltm_class/ops.py"].endswith("\nLLTMCell = torch.classes.lltm_class.LLTMCell\n")
    ast.parse(files["tests/test_lltm_class.py"])
    for line in (
        "cell = lltm_class.LLTMCell(weights, bias)",
        "new_h, new_cell = cell.forward(input, old_h, old_cell)",
        'torch.save((cell.weights(), cell.bias()), "cell.pt")',
        'cell = lltm_class.LLTMCell(*torch.load("cell.pt"))',
    ):
        assert line in files["README.md"].splitlines()
