"""Strings in, one compilable text out: slots, params, line directives, bindings."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch

from lltm_inline.calling import load
from lltm_inline.compiling.compiler import build
from lltm_inline.compiling.header import torch_cflags
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import BuildError, TemplateError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.source.template import render
from tests.tiny import STABLE, forget

pytestmark = pytest.mark.usefixtures("quick_compiler")


def text_of(kernel: Kernel) -> str:
    """Render a kernel."""
    return render(kernel, registry.op_of(kernel)).text


def test_params_are_defines(tiny: Any) -> None:
    """Numbers become `#define` lines behind the text's headers: integers whole, floats exact, flags 0 or 1."""
    params = {"UNROLL": 8, "NEGATIVE": -3, "ON": True, "TINY": 1e-30}
    text = text_of(tiny(0.1, text=f"{STABLE}// {' '.join(params)}\n").replace(params=params))
    lines = text.splitlines()
    for line in ("#define FACTOR 0.1", "#define UNROLL 8", "#define NEGATIVE -3", "#define ON 1", "#define TINY 1e-30"):
        assert lines.index("#include <torch/csrc/stable/ops.h>") < lines.index(line)
        assert lines.index(line) < lines.index("using torch::stable::Tensor;")
    assert lines[lines.index("using torch::stable::Tensor;") - 2] == '#line 3 "tiny/stable"'


def test_params_leave_the_headers_alone(tiny: Any, fresh_cache: Path) -> None:
    """A param may have the name of a template parameter in a header that the text includes."""
    text = STABLE.replace("#include <torch/csrc/stable/ops.h>", "#include <torch/csrc/stable/ops.h>\n#include <regex>")
    kernel = tiny(text=f"{text}// _Tp T\n").replace(params={"_Tp": 1, "T": 2})
    assert not build(kernel, progress=False).cached


def test_slots(tiny: Any) -> None:
    """A slot is put where the text names it, in both spellings; a doubled dollar is a dollar."""
    kernel = tiny(text=STABLE + "// $WORD ${WORD}s $$5\n", slots={"WORD": "word"})
    assert text_of(kernel).count("// word words $5\n") == 1


@pytest.mark.parametrize(
    ("line", "slots", "message"),
    [
        (
            "$MISSING",
            {},
            r"kernel 'tiny/stable', cpp line 3: slot \$MISSING has no value. Slots: none. Give it with replace\(slots=",
        ),
        ("$WORDS", {"WORD": "x"}, r"slot \$WORDS has no value. Slots: \$WORD"),
        ("costs 5$", {}, r"cpp line 3: a '\$' that starts no slot; write \$\$ for a dollar sign"),
        ("nothing", {"WORD": "x", "OTHER": "y"}, r"kernel 'tiny/stable': no source uses \$WORD, \$OTHER"),
    ],
)
def test_slots_that_do_not_fit(line: str, slots: dict[str, str], message: str, tiny: Any) -> None:
    """A slot without a value, a value without a slot, and a stray dollar are told with their line."""
    kernel = tiny(text=f"\n\n// {line}\n{STABLE}", slots=slots)
    with pytest.raises(TemplateError, match=message):
        text_of(kernel)


def test_lines_after_a_slot_of_several_lines(tiny: Any, fresh_cache: Path) -> None:
    """A compile error counts in the user's template, before and behind a slot that holds several lines."""
    text = "$HELPERS\n" + STABLE.replace("return times(x, FACTOR);", "return times(y, FACTOR);")
    kernel = tiny(text=text, slots={"HELPERS": "int one();\nint two();\nint three();"})
    with pytest.raises(BuildError) as error:
        build(kernel, progress=False)
    first = error.value.diagnostics[0]
    assert text.split("\n")[first.line - 1] == "  return times(y, FACTOR);"
    assert "return times(y, FACTOR);" in first.excerpt


def test_error_in_a_custom_binding(tiny: Any, fresh_cache: Path) -> None:
    """An error in one's own binding template is reported in that template, at its own line."""
    binding = "#include <torch/csrc/stable/library.h>\nSTABLE_TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) {\n  m.define(unknown);\n}\n"
    with pytest.raises(BuildError) as error:
        build(tiny(binding=binding), progress=False)
    first = error.value.diagnostics[0]
    assert (first.file, first.line) == ("tiny/stable (binding)", 3)
    assert "tiny/stable (binding):3:" in str(error.value)


def test_custom_binding_works(tiny: Any) -> None:
    """A generated binding can be taken as a text, changed with slots, and used as one's own."""
    generated = render(tiny(7), registry.ops["tiny"]).sources["tiny/stable (binding)"]
    assert "check_inputs" in generated
    binding = generated.replace("auto out_ = ::forward(x);", "auto out_ = ::forward(${WHAT});").replace(
        "check_inputs(x);", ""
    )
    function = load(tiny(7, binding=binding, slots={"WHAT": "x"}), progress=False)
    x = torch.ones(3, requires_grad=True)
    y = function(x)
    y.sum().backward()
    assert y.tolist() == [7] * 3 and x.grad is not None and x.grad.tolist() == [7] * 3


@pytest.mark.full
@pytest.mark.parametrize("name", ["tiny/stable", "lltm/stable"])
def test_text_compiles_outside(name: str, tiny: Any, tmp_path: Path) -> None:
    """The rendered text is a complete file: a plain compiler command makes a library that torch can load."""
    kernel = tiny(5) if name == "tiny/stable" else registry[name]
    source, library = tmp_path / "kernel.cpp", tmp_path / "kernel.so"
    source.write_text(text_of(kernel))
    command = [find_toolchain().compiler, *torch_cflags(), "-shared", str(source), "-o", str(library)]
    command += [f"-L{Path(torch.__file__).parent / 'lib'}", "-ltorch_cpu", "-ltorch", "-lc10"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    program = f"import torch; torch.ops.load_library({str(library)!r}); print(torch.ops.{name.replace('/', '_')}.forward.default._schema)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{name.replace('/', '_')}::forward(Tensor ")


def test_torch_flags_are_the_ones_of_load_inline(watched: Any, naive: Any) -> None:
    """The flags for headers and for compiling by hand are those that `load_inline` itself gives."""
    naive("kernel", 'extern "C" int answer() { return 1; }')
    [call] = [line for line in watched.path.with_name("calls").read_text().splitlines() if " -c " in line]
    assert " ".join(torch_cflags()[1:]) in call
    assert sysconfig.get_path("include", scheme="posix_prefix") in call


def test_label_is_not_part_of_the_text(tiny: Any) -> None:
    """Two revisions with one text render alike, so that they share a build."""
    kernel = registry.register(tiny(2))
    assert text_of(kernel.replace(doc="another")) == text_of(kernel)


def test_binding_declares_what_the_op_declares() -> None:
    """Schemas, checks and masks of the generated binding follow from the op."""
    kernel = registry["lltm/aten"]
    text = text_of(kernel)
    inputs = "Tensor input, Tensor weights, Tensor bias, Tensor old_h, Tensor old_cell"
    assert f'"forward({inputs}) -> (' in text
    assert "bool want_input, bool want_weights, bool want_bias, bool want_old_h, bool want_old_cell" in text
    assert '"weights", weights, "(3S, S+F)", {3 * size_S, size_S + size_F}' in text


LIBRARY_BINDING = """
#include <torch/library.h>
TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) {
  m.def("forward(Tensor x) -> Tensor", TORCH_FN(forward));
}
"""


@pytest.mark.full
def test_own_torch_library_binding() -> None:
    """A binding of one's own may use TORCH_LIBRARY_FRAGMENT and its templates; the kernel differentiates through ATen."""
    text = "#include <ATen/ATen.h>\nat::Tensor forward(const at::Tensor& x) { return x * x; }\n"
    op = Op("square", "(Tensor x) -> Tensor y", lambda x: x * x, {"x": "N", "y": "N"})
    registry.register(op)
    try:
        kernel = Kernel("square/own", cpp=text, binding=LIBRARY_BINDING)
        assert render(kernel, op).prelude == "library"
        function = load(kernel, progress=False)
        x = torch.tensor([1.0, -3.0], requires_grad=True)
        y = function(x)
        assert torch.equal(y, torch.tensor([1.0, 9.0]))
        assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.tensor([2.0, -6.0]))
    finally:
        forget("square")


def test_there_is_room_for_the_memory_of_every_result() -> None:
    """A function may return more than it takes, and each result is held against what was taken and what came before it."""
    names = "abcde"
    op = Op(
        "many",
        f"(Tensor x) -> ({', '.join(f'Tensor {name}' for name in names)})",
        lambda x: (x,) * len(names),
        dict.fromkeys(("x", *names), "N"),
        differentiable=False,
    )
    tensors = ", ".join(["at::Tensor"] * len(names))
    text = f"""
    std::tuple<{tensors}> forward(const at::Tensor& x) {{
      at::Tensor y = x.clone();
      y.mutable_data_ptr<float>()[0] = 1;
      return {{{", ".join(["y.clone()"] * len(names))}}};
    }}
    """
    found = re.search(r"const void\* used_\[(\d+)\];", render(Kernel("many/cpp", cpp=text), op).text)
    assert found and int(found[1]) >= 1 + len(names)
