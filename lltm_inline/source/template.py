"""Strings in, compilable texts out.

A rendered text is a complete C++ file: headers, `#define`s for the params, the user's text behind a `#line`
directive (so that every message counts in the user's own string), and the binding that registers it with PyTorch.
For device `cuda` there are two, a C++ file and a CUDA file:

    classic      the cuda text includes torch's headers and defines `forward` and `backward`;
                 the C++ file declares them and binds them
    torch-free   the cuda text defines kernels and launch functions (`launchers.py`), the cpp text defines `forward` and
                 `backward`, which call these with tensors; what lies between is generated, at the end of the CUDA file
                 and before the cpp text

For device `cuda-cpu` all of these are one C++ file; but for a torch-free text that knows nothing of torch the CUDA file is one
of its own, which needs no header of torch either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from string import Template

import torch

from .. import native
from ..base.arguments import offer, shown
from ..base.device import DEVICES
from ..cpp.functions import Function, find_function
from ..cpp.masks import behind_headers, headers, mask, placed, unquoted
from ..cuda_cpu import header as cuda_names
from ..cuda_cpu import on_cpu, rewrite
from ..cuda_cpu import runtime as cuda_runtime
from ..errors import DefinitionError, TemplateError, UnknownKernelError
from ..model.registry import BINDINGS, Kernel, Op, registry, resolve
from .binding import generate_binding
from .custom_classes import NAMESPACE
from .launchers import find_launchers, has_launch_functions, host_text, instances_text
from .signature import Interface, examine
from .types import TENSOR

_PARTS = native.parts("prelude.cpp", __package__)
PARALLEL, _LIBRARY_NAME = _PARTS["parallel"], _PARTS["library name"]
#: What a text starts with, by kind: `prelude.cpp` says why.
PRELUDE = {
    name: PARALLEL * ("ATen/Parallel.h" in _PARTS[name]) + _PARTS[name]
    for name in ("light", "aten", "library", "types", "extension", "stable")
}
PRELUDE["python"] = PRELUDE["types"] + _PARTS["python"]
#: Behind the name of a prelude: CUDA's names on the CPU stand behind its headers.
_ON_CPU = " cuda-cpu"
#: The kinds for which torch's headers are light, see `compiling/light.py`; and what stands behind the name of one for which they are
#: whole all the same, or of torch's functions have those alone that a text names.
LIGHT = tuple(f"{name}{where}" for where in ("", _ON_CPU) for name in ("light", "aten", "types"))
WHOLE, NAMED = " whole", " named"
#: Of the CUDA file of a torch-free text: CUDA's names alone.
CUDA_PRELUDE = "torch-free cuda-cpu"
_DEVICE_GUARD = "#include <ATen/DeviceGuard.h>\n"


def prelude_text(prelude: str, apart: bool = False) -> str:
    """Return what a text starts with.

    Args:
        prelude: key of the headers.
        apart: leave out what `runtime_text` has.

    Example:
        >>> prelude_text("aten cuda-cpu").startswith(prelude_text("aten"))
        True
    """
    if prelude == CUDA_PRELUDE:
        return cuda_names(tensors=False)
    prelude = prelude.removesuffix(WHOLE)
    first = PRELUDE[prelude.removesuffix(_ON_CPU)]
    return first + _PARTS["cuda-cpu"] + cuda_names(apart=apart) if prelude.endswith(_ON_CPU) else first


def runtime_text(prelude: str) -> str:
    """Return what need not be compiled with every text that starts so: an object is made of it, beside the precompiled header.

    Example:
        >>> runtime_text("aten"), "Launch::start" in runtime_text("aten cuda-cpu")
        ('', True)
    """
    return cuda_runtime() if prelude.removesuffix(WHOLE).endswith(_ON_CPU) and prelude != CUDA_PRELUDE else ""


_WHOLE = re.compile(r"^([ \t]*#[ \t]*include[ \t]*[<\"]torch/)(?:extension|torch|all)\.h", re.MULTILINE)
#: What is in those headers, and not in <torch/types.h>: without them torch::cuda is at::cuda, with streams and guards, too.
_OF_WHOLE = re.compile(
    r"(?P<python>\b(?:py|pybind11)::|\bPYBIND11)|\bTHP|\bautograd::|\btorch::(?:autograd|data|detail|fft|jit|load|mps|nested|nn|optim|"
    r"pickle_\w+|python|save|serialize|sparse|special|xpu)\b"
    r"|\btorch::cuda::(?:cudnn_is_available|device_count|is_available|manual_seed|synchronize)"
)


def lighter(text: str, binds: bool = False) -> str:
    """Include <torch/types.h> in the place of all of torch, where a text needs no more of it.

    Args:
        binds: what binds a module of Python's is before the text.

    Example:
        >>> lighter("#include <torch/extension.h>\\ntorch::Tensor f(torch::Tensor x);")
        '#include <torch/types.h>\\ntorch::Tensor f(torch::Tensor x);'
        >>> lighter("#include <torch/extension.h>\\nnamespace memcpy { }  using memcpy::f;")[:24]
        '#include <torch/types.h>'
    """
    needs = any(not (binds and found["python"]) for found in _OF_WHOLE.finditer(mask(text)))
    return text if needs else _WHOLE.sub(r"\1types.h", text)


@dataclass(frozen=True)
class Rendered:
    """Complete texts, ready to be compiled.

    Attributes:
        text: the C++ file.
        prelude: key of the headers it starts with.
        sources: text as the user wrote it, by the name that its `#line` directive gives it.
        interface: what `forward` and `backward` look like.
        cuda: the CUDA file, if there is one.
        parts: the C++ file in two, the user's text and its binding, which an edit of the other leaves as it is; nothing where
            they have more in common than the functions.
    """

    text: str
    prelude: str
    sources: dict[str, str]
    interface: Interface
    cuda: str = ""
    parts: tuple[str, str] | None = None

    @property
    def whole(self) -> str:
        """Both files of device `cuda-cpu` in one: a check sees what they have in common."""
        return prelude_text(self.prelude) + self.cuda + self.text if self.cuda else self.text


def render(kernel: Kernel, op: Op, device: str = "cpu") -> Rendered:
    """Render a kernel's templates into one C++ text, and for device `cuda` a CUDA text beside it.

    Args:
        kernel: with a text for the device.
        op: what it computes; the binding is generated from its schema and shapes.
        device: `"cpu"`, `"cuda"` or `"cuda-cpu"`.

    Raises:
        DefinitionError: the kernel has no text for this device.
        TemplateError: a slot without a value, a value without a slot, a stray `$`, or a launch function that cannot be
            called with tensors and numbers.

    Example:
        >>> from lltm_inline.model.registry import registry
        >>> rendered = render(registry["lltm/fused"], registry.ops["lltm"])
        >>> '#line 1 "lltm/fused"' in rendered.text
        True
    """
    require_text(kernel, device)
    body, where = _BODIES[device](kernel, op), DEVICES[device]
    body = replace(body, host=lighter(body.host), cuda=lighter(body.cuda))
    binding_name = f"{kernel.name} (binding)"
    if kernel.binding in BINDINGS:
        fits = not body.interface.problems
        binding_text = generate_binding(kernel, op, body.interface, where, body.library) if fits else ""
        binding = f'#line 1 "{binding_name}"\n{binding_text}'
    else:
        binding_text = kernel.binding
        binding = _fill(kernel, "binding", binding_name)
    used = "\n".join(kernel.sources.values())
    if unused := [slot for slot in kernel.slots if not re.search(rf"\$(?:{slot}\b|\{{{slot}\}})", used)]:
        raise TemplateError(f"kernel {kernel.label!r}: no source uses ${', $'.join(unused)}")
    lines = [f"// Kernel {kernel.name}, rendered by lltm_inline: a complete file, compile it as it is."]
    lines += [f"// Saved for backward: {', '.join(kernel.saves) or 'nothing'}."]
    lines += [_name(kernel)]
    prelude = _prelude_of(kernel, body.host) + _ON_CPU * (where.text == "cuda" and not where.needs_gpu)
    lines += [(prelude_text(prelude) + _DEVICE_GUARD * where.needs_gpu).rstrip("\n")]
    text = "\n".join([*lines, body.host.rstrip("\n"), binding.rstrip("\n"), ""])
    head = "\n".join([*lines, ""])
    parts = _in_parts(kernel, head, prelude_text(prelude), body, binding) if device == "cpu" and binding_text else None
    rendered = Rendered(text, prelude, {**body.sources, binding_name: binding_text}, body.interface, body.cuda, parts)
    tied = bool(body.cuda) and not where.needs_gpu and _are_tied(kernel, body)
    return replace(rendered, text=rendered.whole, cuda="") if tied else rendered


def _are_tied(kernel: Kernel, body: _Body) -> bool:
    """Tell whether the texts of a kernel make one file for `cuda-cpu`: its CUDA text needs torch, or the other the library's name."""
    cuda = body.cuda.removeprefix(prelude_text(CUDA_PRELUDE))
    return kernel.binding != "torch_library" or NAMESPACE in body.host or bool(_OF_TORCH.search(cuda))


#: Where the text has what its binding declares; the compiler speaks of it where the functions are not those.
DECLARED = "declared_by_the_binding"


def _in_parts(kernel: Kernel, head: str, prelude: str, body: _Body, binding: str) -> tuple[str, str] | None:
    """Put a text and its binding into files of their own; the first one makes sure that its functions are what the other declares."""
    if kernel.binding != "torch_library" or NAMESPACE in body.host:
        return None
    found = {name: function for name in kernel.functions if (function := find_function(body.host, name))}
    declared = "\n".join(prototype(function, name, TENSOR[kernel.api]) for name, function in found.items())
    same_type = f'static_assert(std::is_same_v<decltype(&::{{0}}), decltype(&{DECLARED}::{{0}})>, "{DECLARED}");\n'
    same = "".join(map(same_type.format, found))
    names = f'{_LIBRARY_NAME}extern "C" const char* kernel_name_() {{ return "{kernel.name}"; }}\n'
    text = f"{head}namespace {DECLARED} {{\n{declared}\n}}\n{body.host}\n{same}{names}"
    # What names the kernel is asked for, so that all kernels of an op with the same functions have one binding.
    named = binding.replace(body.library, "library_name_()").replace(
        f'"{kernel.name}: "', 'std::string(kernel_name_()) + ": "'
    )
    apart = named.replace(f'"{kernel.name} (binding)"', f'"{kernel.op} (binding)"')
    return text, f'{prelude}extern "C" const char *library_name_(), *kernel_name_();\n{declared}\n{apart}'


#: What a CUDA text says that needs a header of torch.
_OF_TORCH = re.compile(
    r"\b(?:at|c10|torch)\s*::|\b(?:AT|C10|TORCH)_(?!EXTENSION_NAME\b)[A-Z]|^[ \t]*#[ \t]*include[ \t]*[<\"](?:ATen|c10|torch)/",
    re.MULTILINE,
)


def _name(kernel: Kernel) -> str:
    """Name the library in a file that is compiled without `load_inline`."""
    return f"#ifndef {NAMESPACE}\n#define {NAMESPACE} {kernel.op}_{kernel.variant}\n#endif"


def devices_of(kernel: Kernel) -> tuple[str, ...]:
    """List the devices that a kernel has a text for.

    Example:
        >>> devices_of(Kernel("axpy/mine", cuda="at::Tensor forward(const at::Tensor& x) { return x; }"))
        ('cuda', 'cuda-cpu')
    """
    if kernel.python is not None:
        return tuple(DEVICES)
    has = {"cpp": bool(kernel.cpp and not is_torch_free(kernel)), "cuda": bool(kernel.cuda)}
    return tuple(name for name, device in DEVICES.items() if has[device.text])


def require_text(kernel: Kernel, device: str, cure: bool = True) -> None:
    """Refuse a device that a kernel has no text for.

    Raises:
        DefinitionError: it has none.
    """
    if kernel.python is not None:
        raise DefinitionError(f"kernel {kernel.label!r} is a Python function: there is nothing to build")
    text = DEVICES[device].text
    if text == "cuda" and kernel.api == "stable":
        raise DefinitionError(f"kernel {kernel.label!r} is on the stable ABI: device {device!r} needs api='aten'")
    if device in devices_of(kernel):
        return
    others = " and ".join(map(repr, devices_of(kernel)))
    if text == "cpp" and kernel.cpp:
        why = "its cuda text defines no 'forward', and its two texts make one CUDA kernel"
        if has_launch_functions(kernel.cuda):
            why = "its cpp text calls the launch functions of its cuda text"
        raise DefinitionError(f"kernel {kernel.label!r}: {why}, so it runs on {others} alone")
    say = f": say device={devices_of(kernel)[-1]!r}" if cure else " alone"
    needs = f"has no {text} text: device {device!r} needs one. It runs on {others}{say}"
    raise DefinitionError(f"kernel {kernel.label!r} {needs}")


#: The variants that come first, where there is one; else the first that has a C++ text.
_FIRST = ("fused", "cpp")


def kernel_or_first(kernel: Kernel | str) -> Kernel:
    """Look up a kernel; of an op, the variant to begin with.

    Args:
        kernel: a kernel, its label, or the name of an op: then its fused or C++ variant comes first.

    Raises:
        UnknownKernelError: no op, kernel or revision of that name.

    Example:
        >>> kernel_or_first("lltm").label, kernel_or_first("lltm/aten").label
        ('lltm/fused', 'lltm/aten')
    """
    if not isinstance(kernel, str):
        return resolve(kernel)
    if "/" in kernel:
        return registry[kernel]
    if kernel not in registry.ops:
        names = sorted(registry.ops)
        raise UnknownKernelError(f"no op {shown(kernel)}.{offer(kernel, names)}")
    kernels = {one.variant: one for one in registry.values() if one.op == kernel}
    with_text = [one for one in kernels.values() if one.python is None]
    named = [kernels[variant] for variant in _FIRST if variant in kernels]
    on_cpu = [one for one in with_text if "cpu" in devices_of(one)]
    return [*named, *on_cpu, *with_text, *kernels.values()][0]


def usual_device(kernel: Kernel) -> str:
    """Choose where a kernel runs: on the first device that it has a text for and that this machine has.

    Example:
        >>> usual_device(registry["axpy/cpp"])
        'cpu'
    """
    devices = devices_of(kernel)
    here = [name for name in devices if not DEVICES[name].needs_gpu or torch.cuda.is_available()]
    return [*here, *devices][0]


def is_torch_free(kernel: Kernel) -> bool:
    """Tell whether the cuda text knows no tensors: it has launch functions, which the cpp text calls."""
    return bool(kernel.cpp and kernel.cuda) and find_function(kernel.cuda, kernel.functions[0]) is None


@dataclass(frozen=True)
class _Body:
    """The middle of the files: `host` between headers and binding of the C++ file, `cuda` the whole CUDA file.

    `library` is how the binding spells the name under which it registers.
    """

    host: str
    interface: Interface
    sources: dict[str, str]
    cuda: str = ""
    library: str = f"C10_STRINGIZE({NAMESPACE})"


def _cpu_body(kernel: Kernel, op: Op) -> _Body:
    text = _fill(kernel, "cpp", kernel.name)
    host = _define_behind_headers(kernel, text, kernel.name)
    return _Body(host, examine(kernel, op, text), {kernel.name: kernel.cpp})


def _cuda_body(kernel: Kernel, op: Op) -> _Body:
    if is_torch_free(kernel):
        return _torch_free_body(kernel, op)
    text = _fill(kernel, "cuda", kernel.name)
    interface = examine(kernel, op, text)
    found = {name: find_function(text, name) for name in kernel.functions}
    prototypes = [prototype(function, name) for name, function in found.items() if function]
    host = "\n".join(["// Defined in the CUDA file.", *_defines(kernel), *prototypes])
    cuda = _cuda_file(kernel, ("array", "cstdint", "tuple"), _define_behind_headers(kernel, text, kernel.name))
    return _Body(host, interface, {kernel.name: kernel.cuda}, cuda)


def _cuda_cpu_body(kernel: Kernel, op: Op) -> _Body:
    """Put what is a CUDA file for nvcc into the C++ file, behind CUDA's names on the CPU."""
    if not is_torch_free(kernel):
        text = _fill(kernel, "cuda", kernel.name)
        host = _define_behind_headers(kernel, rewrite(text, kernel.label), kernel.name)
        return _Body(host, examine(kernel, op, text), {kernel.name: kernel.cuda})
    body = _torch_free_body(kernel, op, lambda cuda: rewrite(cuda, kernel.label))
    named = f"{_name(kernel)}\n{_PARTS['library name']}"
    return replace(
        body,
        host=f'extern "C" const char* library_name_();\n{on_cpu(body.host)}',
        cuda=f"{prelude_text(CUDA_PRELUDE)}{body.cuda}{named}",
        library="library_name_()",
    )


#: How the text of each device is made.
_BODIES = {"cpu": _cpu_body, "cuda": _cuda_body, "cuda-cpu": _cuda_cpu_body}


def _torch_free_body(kernel: Kernel, op: Op, rewritten: Callable[[str], str] = str) -> _Body:
    """Put the generated functions between the two texts, `rewritten` for a device."""
    names = {kind: f"{kernel.name} ({kind})" for kind in ("cpp", "cuda", "launchers", "instances")}
    cpp, cuda = (_fill(kernel, kind, names[kind]) for kind in ("cpp", "cuda"))
    launchers = find_launchers(kernel, op, cuda)
    host, instances = host_text(kernel, op, launchers), instances_text(launchers, op)
    sources = dict(zip(names.values(), (kernel.cpp, kernel.cuda, host, instances), strict=True))
    behind = f'#line 1 "{names["instances"]}"\n{instances}'
    return _Body(
        f'#line 1 "{names["launchers"]}"\n{host}{_define_behind_headers(kernel, cpp, names["cpp"])}',
        examine(kernel, op, cpp),
        sources,
        _cuda_file(kernel, ("cstdint",), _define_behind_headers(kernel, rewritten(cuda), names["cuda"]), behind),
    )


def _cuda_file(kernel: Kernel, needed: tuple[str, ...], *texts: str) -> str:
    first = f"// Kernel {kernel.name}, the CUDA file, rendered by lltm_inline: complete, compile it as it is."
    if headers(texts[0]) & {"torch/types.h", "torch/extension.h"}:  # load_inline puts it before every text
        needed = (*needed, "torch/types.h")
    lines = [first, *(f"#include <{header}>" for header in needed), *(text.rstrip("\n") for text in texts), ""]
    return "\n".join(lines)


def _define_behind_headers(kernel: Kernel, text: str, name: str) -> str:
    """Put the params behind the headers that a text includes: `#define A 2` would go through all of torch."""
    lines = text.split("\n")
    place = place_of_params(kernel.params, text)
    ahead = "\n".join([*lines[:place], ""])
    again = [f'#line {placed(ahead, len(ahead))[1]} "{name}"'] if place else []
    return "\n".join([*lines[:place], *_defines(kernel), *again, *lines[place:]])


def place_of_params(params: Mapping[str, int | float], text: str) -> int:
    """Return the line before which params are defined: behind the headers that a text includes before it uses one."""
    used = re.search(rf"\b(?:{'|'.join(params)})\b", unquoted(text)) if params else None
    return behind_headers(text, used.start() if used else len(text))


def prototype(function: Function, name: str, tensor: str = "at::Tensor") -> str:
    """Declare a function of another file: with its own types, as these are part of its name, spelt out in full."""

    def full(type_: str) -> str:
        type_ = re.sub(r"\b(?:c10|torch)::optional\b", "std::optional", type_)
        return re.sub(r"(?:(?:::)?\b(?:at|torch)::(?:stable::)?)?\bTensor\b", tensor, type_)

    return f"{full(function.returns)} {name}({', '.join(map(full, function.types))});"


def _defines(kernel: Kernel) -> list[str]:
    return [f"#define {name} {number(value)}" for name, value in sorted(kernel.params.items())]


def _prelude_of(kernel: Kernel, host: str) -> str:
    """Choose what the C++ file starts with, from the headers that its texts name."""
    texts = f"{host}\n{kernel.sources.get('binding', '')}"
    included = headers(texts)
    if kernel.api == "stable":
        return "stable"
    if kernel.binding == "pybind11" or included & {"torch/extension.h", "torch/torch.h", "torch/all.h"}:
        return "extension"
    if "torch/types.h" in included:
        return "types"
    if "torch/library.h" in included:
        return "library"
    return "aten" if "ATen/ATen.h" in included else "light"


def number(value: int | float) -> str:
    """Write the value of a param as C++ has it."""
    return str(int(value)) if isinstance(value, bool | int) else repr(float(value))


def fill(kernel: Kernel, kind: str) -> str:
    """Put the slots into one source of a kernel.

    Raises:
        TemplateError: a slot without a value, or a stray `$`.

    Example:
        >>> fill(Kernel("axpy/mine", cpp="$TYPE x;", slots={"TYPE": "float"}), "cpp")
        'float x;'
    """
    lines, ends = _fill(kernel, kind, kernel.name).split("\n"), f' "{kernel.name}"'
    return "\n".join(line for line in lines if not (line.startswith("#line ") and line.endswith(ends)))


class _Slots(Template):
    idpattern = r"[A-Za-z_][A-Za-z0-9_]*"
    flags = re.RegexFlag(0)


def _fill(kernel: Kernel, kind: str, name: str) -> str:
    """Put the slots into one source, with `#line` directives that keep the user's own line numbers."""
    out = [f'#line 1 "{name}"']
    for number, line in enumerate(getattr(kernel, kind).split("\n"), 1):
        where = f"kernel {kernel.label!r}, {kind} line {number}"
        try:
            filled = _Slots(line).substitute(kernel.slots)
        except KeyError as error:
            known = ", ".join(f"${slot}" for slot in kernel.slots) or "none"
            raise TemplateError(
                f"{where}: slot ${error.args[0]} has no value. Slots: {known}. "
                f"Give it with replace(slots={{{error.args[0]!r}: ...}}), or write $$ for a dollar sign"
            ) from None
        except ValueError:
            raise TemplateError(f"{where}: a '$' that starts no slot; write $$ for a dollar sign") from None
        # All lines of a slot count as the one in which it stands.
        out.append(filled.replace("\n", f'\n#line {number} "{name}"\n'))
        if "\n" in filled:
            out.append(f'#line {number + 1} "{name}"')
    return "\n".join(out)
