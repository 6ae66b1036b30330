"""What `%%load_inline` does, without IPython: a cell of somebody else's C++ or CUDA becomes a kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..base.command_line import as_typed
from ..base.verbs import Option, by_argument, laid_out, split
from ..cpp.functions import at_file_scope
from ..errors import InputError
from ..extension.inline import from_load_inline
from ..extension.reading import find_modules
from ..model.kernel import Kernel
from ..model.registry import registry
from ..run.setting import Setting
from ..source.template import usual_device
from .cell import Outcome, is_cuda, show_all, text_of
from .live import Notebook, Terminal
from .pipeline import Order

OPTIONS = (
    Option(
        "--reference", "EXPRESSION ...", "the same in PyTorch, such as torch.square; then it is checked", quoted=True
    ),
    Option("--check", "", "refuse to go on without a check, and say what one needs"),
    Option("--inputs", "EXPRESSION ...", "the arguments of one call, such as (torch.randn(3, 5), 2.0)", quoted=True),
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


@as_typed(by_argument(OPTIONS))
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
    known = {option.name: option for option in OPTIONS}
    functions, words = split([_unquoted(word) for word in line.split()], known, "%%load_inline")
    given = {name: " ".join(values) for name, values in words.items()}
    if "--check" in given and "--reference" not in given:
        raise InputError(f"%%load_inline: --check compares with a reference: add {known['--reference'].usage}")
    text = text_of(body, lines_ahead, "%%load_inline")
    kind = "cuda_sources" if is_cuda(text) else "cpp_sources"
    if not functions and not any(module.functions for module in find_modules(text)):
        defined = list(dict.fromkeys(function.name for function in at_file_scope(text)))
        listed = f"Its functions: {', '.join(defined)}" if defined else "It defines no function"
        raise InputError(f"%%load_inline: which function of the text? Write %%load_inline FUNCTION. {listed}")
    values: dict[str, Any] = {}
    for name in ("reference", "inputs"):
        if f"--{name}" in given:
            value = _value(name, given[f"--{name}"], evaluate)
            if isinstance(value, str):  # in quotes, as for a shell
                value = _value(name, value, evaluate)
            values[name] = value
    made = from_load_inline(functions=functions or None, gradient=given.get("--gradient"), **{kind: text, **values})
    kernels = made if isinstance(made, tuple) else (made,)
    for kernel in kernels:
        setting = Setting(given.get("--device") or usual_device(kernel), progress=screen.progress)
        order = Order(kernel, setting, check="--check" in given or not registry.op_of(kernel).lacks)
        show_all(order, screen, partial(Outcome, kernel.label, note=kernel.doc))
    return kernels


def _value(name: str, text: str, evaluate: Callable[[str], Any]) -> Any:
    """Compute what stands behind an option; what is wrong with it is the person's, and needs no way through here."""
    try:
        return evaluate(text)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"%%load_inline: --{name} {text} cannot be computed in this notebook: {why}") from None


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" else word
