"""`README.md` of an export: what it computes, how to build, test and time it, and what depends on what."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from ..class_text import custom_class
from ..class_text import readme_text as class_readme
from ..filling import enumerated, fill
from ..plan import Plan
from .commands import commands
from .flags import OLDEST_TORCH, Flags

_README = """\
@licence@

# @name@

@summary@

```python
import torch
from @name@ import @op@
from @name@.reference import make_inputs

@call@
```

@shapes@

@module@

@custom@

## Build, test, time

@needs@

@steps@

@processor@

@how@

## What is where

@files@

## What to know

@know@
"""


def readme(plan: Plan, flags: Flags, csrc: Iterable[str]) -> str:
    """Write `README.md`."""
    custom = custom_class(plan)
    return fill(
        _README,
        licence=f"<!--\n{plan.header.replace('--', '- -')}\n-->" if plan.header else "",
        name=plan.name,
        summary=_summary(plan),
        op=plan.op.name,
        call=_call(plan),
        shapes=_shapes(plan),
        module=f"`{plan.name}.{plan.module}` is the same as an `nn.Module`.",
        custom=class_readme(plan, custom).strip("\n") if custom else "",
        needs=_needs(plan),
        steps=_steps(plan),
        processor=_processor(plan, flags),
        how=_how(plan),
        files=_files(plan, csrc),
        know="\n".join(_know(plan)),
    )


def _summary(plan: Plan) -> str:
    """Say what it is, with the formula as the kernel's author wrote it."""
    devices = " and ".join({"cpu": "CPU", "cuda": "CUDA"}[device] for device in plan.devices)
    first = f"The op `{plan.op.name}` for PyTorch: forward and backward as {devices} code"
    formula = _formula(plan.kernel.doc) or _formula(plan.op.doc)
    return f"{first}.\n\n```text\n{formula}\n```" if formula else f"{first}."


def _formula(doc: str) -> str:
    """Return the first block of indented lines."""
    lines: list[str] = []
    for line in doc.strip().split("\n")[1:]:
        if line.startswith("    ") or (lines and not line.strip()):
            lines.append(line[4:].rstrip())
        elif lines:
            break
    return "\n".join(lines).strip("\n")


def _call(plan: Plan) -> str:
    size = plan.sizes[0] if plan.sizes else plan.check_size
    letters = ", ".join(f"{letter}={number}" for letter, number in size.items())
    outputs = ", ".join(output.name for output in plan.op.signature.outputs)
    if "cpu" in plan.devices:
        return f"inputs = make_inputs(torch.randn, {letters})\n{outputs} = {plan.op.name}(*inputs)"
    return (
        f'torch.set_default_device("cuda")\ninputs = make_inputs(torch.randn, {letters})\n'
        f"{outputs} = {plan.op.name}(*inputs)"
    )


def _shapes(plan: Plan) -> str:
    """List arguments and results."""
    rows = ["| | | |", "|---|---|---|"]
    for kind, arguments in (("takes", plan.op.signature.inputs), ("returns", plan.op.signature.outputs)):
        for argument in arguments:
            what = _shape_words(plan, argument.name) if argument.is_tensor else argument.type
            if argument.default is not None:
                what += f", default {argument.default}"
            elif argument.type == "Tensor?":
                what += ", or None"
            rows.append(f"| {kind} | `{argument.name}` | {what} |")
            kind = ""
    return "\n".join([*rows, "", f"Tensors are {' or '.join(plan.op.dtypes)}."])


def _shape_words(plan: Plan, name: str) -> str:
    first = plan.op.any_rank[:1]
    if name in plan.op.any_rank:
        return "any shape" if name in first else f"the shape of `{first[0]}`"
    return str(plan.op.shape_of[name])


_NEEDS = {
    "setuptools": f"Needs torch >= {OLDEST_TORCH}, setuptools >= 77, a C++20 compiler (g++ or clang++) and, to be fast, ninja.",
    "stable": f"Needs torch >= {OLDEST_TORCH}, setuptools >= 77, a C++20 compiler (g++ or clang++) and, to be fast, ninja.",
    "cmake": f"Needs torch >= {OLDEST_TORCH}, CMake >= 3.18 and a C++20 compiler (g++ or clang++).",
    "load": f"Needs torch >= {OLDEST_TORCH}, ninja and a C++20 compiler (g++ or clang++).",
}


def _needs(plan: Plan) -> str:
    cuda = ""
    if "cuda" in plan.devices:
        also = " also" if "cpu" in plan.devices else ""
        cuda = f" For the GPU{also} a torch with CUDA and its nvcc."
    return _wrapped(f"{_NEEDS[plan.how]}{cuda} The tests need pytest.")


def _steps(plan: Plan) -> str:
    lines = ["In this directory:", "", "```sh"]
    for number, (what, command) in enumerate(commands(plan, Path("."), "python")):
        lines += [*[""] * (number > 0), f"# {what}", command]
    return "\n".join([*lines, "```"])


def _processor(plan: Plan, flags: Flags) -> str:
    """Say for which machines it is built."""
    set_it = f"-D{flags.variable}=x86-64-v3" if plan.how == "cmake" else f"{flags.variable}=x86-64-v3"
    where = "where CMake is configured" if plan.how == "cmake" else "in the environment"
    lines = [
        "The library is compiled for the processor of the machine that builds it (`-march=native`), and may not run on an\n"
        f"older one: `{set_it}` {where} builds it for most machines since 2015."
    ]
    if "cuda" in plan.devices:
        lines.append(
            'GPU code is compiled for the GPUs of that machine; `TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"` in the environment\n'
            "names others, and is needed where there is none."
        )
    if plan.how == "cmake" and len(plan.parts) > 1:
        lines.append(f"`-D{plan.name.upper()}_CUDA=ON` compiles the GPU code, too.")
    return _wrapped(" ".join(lines))


_HOW = {
    "setuptools": """\
`--no-build-isolation`: the extension is built with the torch that is installed, and fits that version only; pip would otherwise
build it with a copy that it fetches for the purpose. `-e` leaves the package here and puts the library beside its Python files,
so that an edit of those counts at once; after an edit of `csrc`, run the command again. To install a copy of it, as one does
where it is used and not developed, leave `-e` out, and import it from any directory but this one: here Python finds the
sources first, which have no library then.""",
    "stable": """\
`--no-build-isolation`: the extension is built with the torch that is installed; pip would otherwise fetch another for the time of
the build. The library uses LibTorch's stable ABI, and nothing of Python: the one wheel is for Python 3.11 and later, and for
torch @oldest@ and later. `-P` keeps Python from importing the sources in this directory, which have no library beside them.""",
    "cmake": """\
The library is written to `@name@/`, where `import @name@` finds it; Python must find the package itself (start it here, or
set `PYTHONPATH` to this directory). `torch.ops.load_library` loads it without the package, and so does `dlopen`: whatever loads
it, the operators are then in PyTorch's dispatcher, where `example/main.cpp` finds them. It fits the torch that it was built with.""",
    "load": """\
Nothing is installed. `import @name@` compiles `csrc` by `torch.utils.cpp_extension.load`, which takes a while the first time and
checks the files every time; @library@ has the lines. Python must find the package (start it here, or set `PYTHONPATH` to
this directory).""",
}


def _how(plan: Plan) -> str:
    text = _wrapped(fill(_HOW[plan.how], name=plan.name, oldest=OLDEST_TORCH, library=f"`{plan.name}/_library.py`"))
    if plan.how == "setuptools" and plan.style == "stable":
        text += "\n\n`--how stable` of lltm_inline builds one wheel for many versions of Python and torch from the same C++."
    return text


def _files(plan: Plan, csrc: Iterable[str]) -> str:
    """List the files with what is in them."""
    rows = {
        f"csrc/{plan.name}.h": "what the kernel files define and the operators call",
        "csrc/cpu_kernel.cpp": "the kernel for the CPU",
        "csrc/cuda_kernel.cu": "the kernel for the GPU",
        "csrc/cuda_kernel.h": "its functions, as C++ sees them",
        "csrc/cuda_host.cpp": "the operators' code around it, in tensors",
        "csrc/launch.h": "calls the functions of the former with tensors",
        "csrc/parallel.h": "at::parallel_for where the compiler has no OpenMP",
        "csrc/checks.h": "what the kernels may rely on: devices, dtypes and shapes",
        "csrc/cpu_ops.cpp": "the operators on the CPU",
        "csrc/cuda_ops.cpp": "the operators on the GPU",
        "csrc/ops.cpp": "what the operators are called, what they take, and their derivatives",
    }
    built = {path: what for path, what in rows.items() if path in csrc}
    rest = {
        f"{plan.name}/ops.py": "the function, and what torch.compile has to know of it",
        f"{plan.name}/modules.py": f"`{plan.module}`, the `nn.Module`",
        f"{plan.name}/reference.py": "the same in plain PyTorch, to compare with",
        f"{plan.name}/_library.py": "compiles and loads the library" if plan.how == "load" else "loads the library",
        f"tests/test_{plan.name}.py": "values, gradients and what torch.compile relies on, against the reference",
        "benchmark.py": "times it against the reference",
    }
    if plan.how == "cmake":
        rest |= {"example/main.cpp": "calls the operators from C++, without Python"}
    rest |= {"kernel.json": "where it comes from, for lltm_inline"}
    table = [f"| `{path}` | {what} |" for path, what in (built | rest).items()]
    return "\n".join(["| | |", "|---|---|", *table])


def _know(plan: Plan) -> list[str]:
    lines = []
    if plan.style == "pybind11":
        lines.append(
            "- The functions are bound by pybind11: `torch.compile` breaks its graph at them, and there is no fake kernel to check. "
            'Registered by `TORCH_LIBRARY`, as `binding="torch_library"` in lltm_inline does, they would be operators, which '
            "`torch.compile`, `torch.export` and C++ see."
        )
    else:
        lines.append(
            f"- `torch.ops.{plan.name}.{_operator(plan)}` is what the function calls; `torch.compile` takes it as it is."
        )
    if plan.interface.has_backward and not plan.kernel.double_backward:
        lines.append(
            "- Gradients are computed by a kernel, which has no gradient itself: a second derivative is an error."
        )
    if plan.style == "library" and plan.interface.has_backward:
        lines.append(
            "- `torch.func.grad` and `jvp` refuse it, as they do every `torch::autograd::Function`; `vmap` loops over it."
        )
    if plan.style == "stable" and plan.interface.has_backward:
        lines.append(
            "- Autograd is Python here, as the stable ABI has none: it costs tens of microseconds a call, which large tensors hide."
        )
    if plan.interface.has_backward and plan.style != "pybind11":
        lines.append(
            f"- `{plan.op.name}_backward` is there for autograd, and trusts that it is given what forward returned."
        )
    lines += [f"- {note}" for note in plan.notes]
    lines.append(
        f"- Made by lltm_inline, which it does not need. After an edit of {enumerated(_kernel_files(plan))}, "
        '`lltm_inline.registry.import_extension("this directory")` returns it as a tuple of kernels there; nothing else goes back.'
    )
    return [_wrapped(line, "  ") for line in lines]


def _kernel_files(plan: Plan) -> list[str]:
    """List the files that hold the kernel's own text."""
    from ..cpp import files_of_part

    return [f"`{path}`" for part in plan.parts for path in files_of_part(plan, part).values()]


def _wrapped(text: str, indent: str = "") -> str:
    """Break a paragraph into lines, anew."""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _operator(plan: Plan) -> str:
    return f"{plan.op.name}_forward" if plan.style == "stable" else plan.op.name
