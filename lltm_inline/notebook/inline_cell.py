"""What `%%load_inline` does, without IPython: a cell of somebody else's C++ or CUDA becomes a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ..base.arguments import shown
from ..errors import InputError
from ..extension.inline import from_load_inline
from ..model.kernel import Kernel
from ..model.registry import registry
from ..run.setting import Setting
from ..source.choose import usual_device
from .cell import Outcome, is_cuda, show_all, text_of
from .live import Notebook, Terminal
from .options import Option, laid_out, suggestion
from .pipeline import Order

OPTIONS = (
    Option("--reference", "EXPRESSION", "the same in PyTorch, such as torch.square; then the kernel is checked"),
    Option("--inputs", "EXPRESSION", "the arguments of one call, such as (torch.randn(3, 5), 2.0)"),
    Option("--gradient", "NAME", "the function that is the backward, where its name does not say so"),
    Option("--device", "DEVICE", "cpu, cuda or cuda-cpu; default: cpu, and for CUDA a GPU, where there is one"),
)

HELP = f"""Take a snippet for `load_inline` in as it is: build it, and check it where there is a reference.

    %%load_inline FUNCTION ... [options]
    C++ or CUDA text

The function becomes an op of its name, and the kernel FUNCTION/inline. Messages of the compiler count in
the lines of the cell.

{laid_out([(option.usage, option.help) for option in OPTIONS])}

To make a kernel in the playground's own form of it: %kernel adopt FUNCTION/inline"""


def run(
    line: str, body: str, evaluate: Callable[[str], Any], screen: Terminal | Notebook, *, lines_ahead: int = 0
) -> tuple[Kernel, ...]:
    """Make kernels of a cell, build them, and check those that have a reference.

    Args:
        line: behind `%%load_inline`.
        body: what stands below.
        evaluate: computes a Python expression in the notebook.
        screen: where to show what comes of it.
        lines_ahead: empty lines above `%%load_inline`.

    Raises:
        InputError, DefinitionError: what the cell says makes no sense, or does not go in; nothing was registered.
        BuildError: it does not compile; it was shown. CheckError: it is wrong; the Report was shown. CrashError: it crashed.
    """
    words, *parts = re.split(r"(?:^|\s)(--[\w-]+)(?=\s|$)", line)
    given = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    known = {option.name: option for option in OPTIONS}
    for name, value in given.items():
        if name not in known:
            raise InputError(
                f"%%load_inline: no option {shown(name)}.{suggestion(name, known)} Options: {', '.join(known)}"
            )
        if not value:
            raise InputError(f"%%load_inline: {name} needs a value: {known[name].usage}")
    text = text_of(body, lines_ahead, "%%load_inline")
    kind = "cuda_sources" if is_cuda(text) else "cpp_sources"
    values: dict[str, Any] = {
        name: evaluate(given[f"--{name}"]) for name in ("reference", "inputs") if f"--{name}" in given
    }
    made = from_load_inline(functions=words.split() or None, gradient=given.get("--gradient"), **{kind: text, **values})
    kernels = made if isinstance(made, tuple) else (made,)
    for kernel in kernels:
        setting = Setting(given.get("--device", usual_device(kernel)), progress=screen.progress)
        order = Order(kernel, setting, check=not registry.op_of(kernel).lacks)
        show_all(order, screen, partial(Outcome, kernel.label, note=kernel.doc))
    return kernels
