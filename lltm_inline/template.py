"""Strings in, one compilable text out.

A rendered text is a complete C++ file: headers, `#define`s for the params, the user's text behind a `#line`
directive (so that every message counts in the user's own string), and the binding that registers it with PyTorch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Template

from .binding import NAMESPACE, generate_binding
from .errors import TemplateError
from .registry import BINDINGS, Kernel, Op
from .signature import Interface, examine

# Without OpenMP (clang's would bring a second pool of threads, which spin against torch's and make a kernel ten times
# slower) `at::parallel_for` would be serial: let it run on torch's own threads.
_PARALLEL = """\
#if !defined(_OPENMP) && !defined(INTRA_OP_PARALLEL)
#define INTRA_OP_PARALLEL
#include <c10/util/Exception.h>
#include <torch/csrc/stable/c/shim.h>
namespace at::internal {
template <class F> void invoke_parallel(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
  const auto call = [](int64_t first, int64_t last, void* g) { (*static_cast<const F*>(g))(first, last); };
  TORCH_CHECK(!torch_parallel_for(begin, end, grain_size, call, const_cast<F*>(&f)), "an exception was thrown in at::parallel_for");
}
}  // namespace at::internal
#endif
"""


def _includes(*headers: str) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


_C_INTERFACE = "torch/csrc/inductor/aoti_torch/c/shim.h"

#: What a text starts with, by kind; exactly this is in its precompiled header. It stands in the rendered text too, so that a
#: text means the same with that header and without. The less a header holds, the faster g++ is with it: `light` is for texts
#: that name the few ATen headers they need.
PRELUDE = {
    "light": _PARALLEL
    + _includes(
        "ATen/core/Tensor.h", "ATen/Dispatch.h", "ATen/Parallel.h", "ATen/cpu/vec/vec.h", _C_INTERFACE, "array", "tuple"
    ),
    "aten": _PARALLEL
    + _includes("ATen/ATen.h", "ATen/Parallel.h", "ATen/cpu/vec/vec.h", _C_INTERFACE, "array", "tuple"),
    "library": _PARALLEL
    + _includes("ATen/ATen.h", "ATen/Parallel.h", "torch/library.h", _C_INTERFACE, "array", "tuple"),
    "extension": _includes("torch/extension.h", _C_INTERFACE, "array", "tuple"),
    "stable": _includes(
        "torch/csrc/stable/ops.h", "torch/csrc/stable/tensor.h", _C_INTERFACE, "array", "cmath", "string", "tuple"
    ),
}


@dataclass(frozen=True)
class Rendered:
    """A complete C++ text.

    Attributes:
        text: the file that is compiled.
        prelude: key of the headers it starts with.
        sources: text as the user wrote it, by the name that its `#line` directive gives it.
        interface: what `forward` and `backward` look like.
    """

    text: str
    prelude: str
    sources: dict[str, str]
    interface: Interface


def render(kernel: Kernel, op: Op) -> Rendered:
    """Render a kernel's templates into one C++ text.

    Args:
        kernel: with a `cpp` text.
        op: what it computes; the binding is generated from its schema and shapes.

    Raises:
        TemplateError: a slot without a value, a value without a slot, or a stray `$`.

    Example:
        >>> from lltm_inline.registry import registry
        >>> rendered = render(registry["lltm/fused"], registry.ops["lltm"])
        >>> '#line 1 "lltm/fused"' in rendered.text
        True
    """
    prelude = _prelude_of(kernel)
    body = _fill(kernel, "cpp", kernel.name)
    interface = examine(kernel, op, body)
    binding_name = f"{kernel.name} (binding)"
    if kernel.binding in BINDINGS:
        binding_text = generate_binding(kernel, op, interface) if not interface.problems else ""
        binding = f'#line 1 "{binding_name}"\n{binding_text}'
    else:
        binding_text = kernel.binding
        binding = _fill(kernel, "binding", binding_name)
    _refuse_unused(kernel)
    lines = [f"// Kernel {kernel.name}, rendered by lltm_inline: a complete file, compile it as it is."]
    lines += [f"// Saved for backward: {', '.join(kernel.saves) or 'nothing'}."]
    lines += [f"#ifndef {NAMESPACE}", f"#define {NAMESPACE} {kernel.op}_{kernel.variant}", "#endif"]
    lines += [PRELUDE[prelude].rstrip("\n")]
    lines += [f"#define {name} {_number(value)}" for name, value in sorted(kernel.params.items())]
    text = "\n".join([*lines, body.rstrip("\n"), binding.rstrip("\n"), ""])
    return Rendered(text, prelude, {kernel.name: kernel.cpp, binding_name: binding_text}, interface)


def _prelude_of(kernel: Kernel) -> str:
    """Choose what a kernel's text starts with, from the headers that it names."""
    included = set(re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)", "\n".join(kernel.sources.values()), re.MULTILINE))
    if kernel.api == "stable":
        return "stable"
    if kernel.binding == "pybind11" or included & {
        "torch/extension.h",
        "torch/torch.h",
        "torch/all.h",
        "torch/types.h",
    }:
        return "extension"
    if "torch/library.h" in included:
        return "library"
    return "aten" if "ATen/ATen.h" in included else "light"


def _number(value: int | float) -> str:
    return str(int(value)) if isinstance(value, bool | int) else repr(float(value))


class _Slots(Template):
    idpattern = r"[A-Za-z_][A-Za-z0-9_]*"
    flags = re.RegexFlag(0)


def _fill(kernel: Kernel, kind: str, name: str) -> str:
    """Put the slots into one source, with `#line` directives that keep the user's own line numbers."""
    out = [f'#line 1 "{name}"']
    for number, line in enumerate(getattr(kernel, kind).split("\n"), 1):
        try:
            filled = _Slots(line).substitute(kernel.slots)
        except KeyError as error:
            known = ", ".join(f"${slot}" for slot in kernel.slots) or "none"
            raise TemplateError(
                f"kernel {kernel.label!r}, {kind} line {number}: slot ${error.args[0]} has no value. Slots: {known}. "
                f"Give it with replace(slots={{{error.args[0]!r}: ...}}), or write $$ for a dollar sign"
            ) from None
        except ValueError:
            raise TemplateError(
                f"kernel {kernel.label!r}, {kind} line {number}: a '$' that starts no slot; write $$ for a dollar sign"
            ) from None
        # All lines of a slot count as the one in which it stands.
        out.append(filled.replace("\n", f'\n#line {number} "{name}"\n'))
        if "\n" in filled:
            out.append(f'#line {number + 1} "{name}"')
    return "\n".join(out)


def _refuse_unused(kernel: Kernel) -> None:
    text = "\n".join(kernel.sources.values())
    unused = [slot for slot in kernel.slots if not re.search(rf"\$(?:{slot}\b|\{{{slot}\}})", text)]
    if unused:
        raise TemplateError(f"kernel {kernel.label!r}: no source uses ${', $'.join(unused)}")
