"""Classes that a text registers with PyTorch: those that a second revision could not bring are refused before the build."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lltm_inline as li
from lltm_inline.cpp.masks import mask
from lltm_inline.errors import SignatureError
from lltm_inline.source.custom_classes import shared_names

pytestmark = pytest.mark.usefixtures("quick_compiler")

KERNEL = li.registry["lltm/class"]
OWN = "namespace TORCH_EXTENSION_NAME {"


def complaints(text: str) -> list[str]:
    """Return what is said of a text."""
    return [message for _, message, _ in shared_names(mask(text))]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            OWN,
            "namespace {",
            [
                "lltm/class@{}:19:7: PyTorch knows class 'LLTMCell' by its C++ name, and the next revision's by the same: to load both "
                "ends the process",
                "  Define it in 'namespace TORCH_EXTENSION_NAME { ... }': each build has a name of its own.",
            ],
        ),
        (
            "TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m)",
            "TORCH_LIBRARY(cells, m)",
            [
                "lltm/class@{}:68:12: class 'LLTMCell' is registered in namespace 'cells', and so is the next revision's: to load both "
                "ends the process",
                "  Register it with TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) { m.class_<LLTMCell>(...) ... }.",
            ],
        ),
    ],
    ids=["type", "registration"],
)
def test_build_refuses_what_cannot_be_loaded_twice(old: str, new: str, says: list[str]) -> None:
    """The error shows the line, says what would happen, and how to write it; nothing is compiled."""
    kernel = KERNEL.edit(old, new)
    with pytest.raises(SignatureError) as caught:
        li.build(kernel, progress=False)
    lines = str(caught.value).splitlines()
    assert f"  {says[0].replace('{}', str(kernel.revision))}" in lines and says[1] in lines


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"{OWN} struct A : H {{}}; }} TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) {{ m.class_<A>(); }}", 0),
        (
            "namespace x::TORCH_EXTENSION_NAME { class A final : public H { struct B {}; }; }\n"
            'TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) { m.class_<x::TORCH_EXTENSION_NAME::A>("A"); }',
            0,
        ),
        (f"struct A : H {{}}; {OWN} }} TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) {{ m.class_<A>(); }}", 1),
        ("template <class T> struct A : H {}; TORCH_LIBRARY(x, m) { m.class_<A<int>>(); }", 2),
        (f"{OWN} struct A {{}}; static auto a = torch::class_<A>(); }}", 1),
        ('#include "a.h"\nTORCH_LIBRARY(TORCH_EXTENSION_NAME, m) { m.class_<A>("A"); }', 0),
        ("// struct A {}; m.class_<A>()\nstruct class_ {}; template <class T> struct A {};", 0),
        ("", 0),
        ('TORCH_LIBRARY(my, m) { m.def("f(Tensor x) -> Tensor"); }', 1),
        ('TORCH_LIBRARY_FRAGMENT(my, m) { m.def("f(Tensor x) -> Tensor"); }', 1),
        ('STABLE_TORCH_LIBRARY(my, m) { m.def("f(Tensor x) -> Tensor"); }', 1),
        ('static auto r = torch::RegisterOperators().op("my::f", &f);', 1),
        ('TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) { m.def("f(Tensor x) -> Tensor"); }', 0),
        ("TORCH_LIBRARY_IMPL(aten, AutogradCPU, m) {}", 0),
    ],
)
def test_what_is_shared(text: str, count: int) -> None:
    """Each name that is the same in every build counts once; comments, other classes and headers' types do not."""
    assert len(complaints(text)) == count


def test_shipped_kernels_register_nothing_shared() -> None:
    """No kernel of the registry is refused for its classes, and one of them has a class to look at."""
    texts = {name: text for name, kernel in li.registry.items() for text in (kernel.cpp, kernel.cuda)}
    assert not [name for name, text in texts.items() if complaints(text)]
    assert "class_<" in KERNEL.cpp


DIES = """
import sys
import lltm_inline as li
from lltm_inline.ops.lltm.class_ import KERNEL
from lltm_inline.source import signature
if sys.argv[1] == "unchecked":
    signature.shared_names = lambda masked: ()
    KERNEL = KERNEL.replace(cpp=KERNEL.cpp.replace("TORCH_EXTENSION_NAME {", "everybody {"))
for kernel in (KERNEL, KERNEL.edit("at::tanh(new_cell) *", "at::tanh(-new_cell) *")):
    li.load(kernel, progress=False, trust=True)
    print(kernel.label, flush=True)
"""


@pytest.mark.full
@pytest.mark.parametrize("how", ["shipped", "unchecked"])
def test_a_type_that_two_libraries_share_ends_the_process(how: str, tmp_path: Path) -> None:
    """Two revisions are loaded where the class is in the build's namespace; where it is not, the second is the end."""
    environment = {**os.environ, "LLTM_INLINE_NO_HEADER": "1"}
    result = subprocess.run(
        [sys.executable, "-c", DIES, how], capture_output=True, text=True, cwd=tmp_path, timeout=600, env=environment
    )
    loaded = result.stdout.split()
    if how == "shipped":
        assert result.returncode == 0, result.stderr
        assert len(loaded) == 2
    else:
        assert result.returncode < 0 and len(loaded) == 1, result.stderr


def test_message_counts_in_the_users_own_lines() -> None:
    """A slot of several lines before the class moves no line number."""
    text = (
        "at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {\n$BODY\n}\nstruct A : H {};\n"
        "TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) { m.class_<A>(); }\n"
    )
    kernel = li.registry["sin_add/aten"].replace(cpp=text, slots={"BODY": "\n\n\n  return x;"})
    with pytest.raises(SignatureError, match=r"sin_add/aten@\d+:4:8: PyTorch knows class 'A'"):
        li.build(kernel, progress=False)


def test_operators_of_ones_own_namespace_are_refused_before_anything_is_loaded() -> None:
    """What would end the process when the next revision is loaded is told by name and line, and not compiled."""
    text = """#include <torch/library.h>
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) { return 2 * x + y; }
TORCH_LIBRARY(my, m) { m.def("twice", &forward); }
"""
    with pytest.raises(
        SignatureError, match=r"axpy/own:3:1: operators are registered in namespace 'my'.*ends the process"
    ):
        li.build(li.Kernel("axpy/own", cpp=text), progress=False)
