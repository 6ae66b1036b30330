"""The section `opcheck`: whether the kernel is an operator as torch.compile, torch.export and torch.func expect one.

`torch.library.opcheck` compares the fake kernel with the real one, looks at the schema's promises, and traces forward and
backward with symbolic sizes.
"""

from __future__ import annotations

from typing import Any

import torch

from ..report import Finding
from .cases import Case, Size
from .runner import Outcome, Part, Runner, one_line

_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
_MEANING = {
    "test_schema": "an output aliases an input, or an input is changed",
    "test_autograd_registration": "its place in autograd is not as it should be",
    "test_faketensor": "the fake kernel promises other shapes, dtypes or strides than forward gives",
    "test_aot_dispatch_dynamic": "torch.compile would compute something else, or cannot trace it",
}


def is_operator(runner: Runner) -> bool:
    """Tell whether the kernel is registered with PyTorch's dispatcher; Python functions and pybind11 modules are not."""
    return runner.function.operator is not None


def warm_up() -> None:
    """Import what opcheck needs, which takes seconds: best while a compiler runs."""
    import torch._functorch.aot_autograd
    import torch.testing._internal.optests  # noqa: F401


def opcheck(runner: Runner, size: Size) -> Part:
    """Run torch.library.opcheck on the kernel, with and without gradients."""
    operator = runner.function.operator
    findings: dict[str, Finding] = {}
    count = 0
    for case in (Case("", size), Case("", size, wanted=(False,) * len(runner.gradients))):
        call = runner.begin(case, Outcome())
        if call is None:
            continue
        with runner.step("opcheck", case, call):
            results: dict[str, Any] = torch.library.opcheck(
                operator, tuple(call.leaves), test_utils=_TESTS, raise_exception=False
            )
        count += len(results)
        for name, result in results.items():
            if result != "SUCCESS" and name not in findings:
                text = f"{name} of torch.library.opcheck fails: {one_line(result)}"
                findings[name] = Finding(
                    runner.kernel.label, "opcheck", "operator", text, case.describe(runner.op), hints=(_MEANING[name],)
                )
    return Part(count, list(findings.values()), [])
