"""The section `opcheck`: whether the kernel is an operator as torch.compile, torch.export and torch.func expect one.

`torch.library.opcheck` compares the fake kernel with the real one, looks at the schema's promises, and traces forward and
backward with symbolic sizes.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError
from ..model.registry import Op
from ..run.cases.case import Case, Size, dtypes_of
from ..run.cases.drawing import seeded
from ..run.cases.expectation import Expected
from ..run.function import differentiable, each
from .explain import lacks_backward
from .report import Finding
from .runner import RAISES, Call, CaseResult, Part, Runner, one_line

_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
_MEANING = {
    "test_schema": "an output aliases an input, or an input is changed",
    "test_autograd_registration": "its place in autograd is not as it should be",
    "test_faketensor": "the fake kernel promises other shapes, dtypes or strides than forward gives",
    "test_aot_dispatch_dynamic": "torch.compile would compute something else, or cannot trace it",
}
#: They run the kernel on tensors that have no memory, and look into a text that has no backward.
_TRACERS = ("test_faketensor", "test_aot_dispatch_dynamic")

#: Of C++ that autograd runs itself, and that asks a tensor without memory for its size. An error is no wrong result.
_SYMBOLIC = re.compile(r"Cannot call \w+\(\) on tensor with symbolic sizes/strides")
#: Of what forward keeps for backward in a shape such as that of all rows of three axes, (N*M,): nobody has asked to have it traced.
_UNTOLD = re.compile(r"the shape of its extra tensor .*, which is not linear in the size")

#: What tracers have seen of kernels in this process, and found right.
_traced: set[tuple[Any, ...]] = set()


def is_operator(runner: Runner) -> bool:
    """Tell whether the kernel is registered with PyTorch's dispatcher; Python functions and pybind11 modules are not."""
    return runner.function.operator is not None


def warm_up() -> None:
    """Import what opcheck needs, which takes seconds: best while a compiler runs."""
    import torch._functorch.aot_autograd
    import torch._inductor.pattern_matcher
    import torch.testing._internal.optests  # noqa: F401


def opcheck(runner: Runner, size: Size) -> Part:
    """Run torch.library.opcheck on the kernel, with and without gradients."""
    findings: dict[str, Finding] = {}
    skipped: dict[str, None] = {}
    count = 0
    whole = Case("", size, dtypes_of(runner.op)[0])
    tests = [test for test in _TESTS if not (runner.op.untold and test in _TRACERS)]
    if runner.mistaken and _TRACERS[1] in tests:
        # It takes as long as all else in a check, and what it would compare is not right anyway.
        tests.remove(_TRACERS[1])
        skipped[f"{_TRACERS[1]}: what the kernel computes is wrong (see parity)"] = None
    if runner.op.untold:
        skipped[f"{' and '.join(_TRACERS)}: {runner.op.untold} follows from the values, so nothing can trace it"] = None
    for case in dict.fromkeys((whole, Case("", size, whole.dtype, wanted=(False,) * len(runner.gradients)))):
        told = runner.run(case).wrong.get("forward")
        if told is not None and told.cell == RAISES:
            skipped["forward raises (see parity)"] = None
            continue
        given = CaseResult()
        call = runner.begin(case, given)
        if call is None:
            skipped[given.skipped] = None
            continue
        if _TRACERS[1] in tests and (reason := _untraced(runner.op, call.expected)):
            tests = [test for test in tests if test != _TRACERS[1]]
            skipped[f"{_TRACERS[1]}: {reason}"] = None
        with runner.step("opcheck", call), warnings.catch_warnings():
            # torch traces in its anomaly mode, and the finding says what that warns of.
            warnings.filterwarnings("ignore", message=r"Anomaly Detection|Error detected in")
            results = _results(runner, call, tests)
        for name, result in results.items():
            reason = "" if result == "SUCCESS" else _known(runner, whole, name, str(result))
            if reason:
                skipped[f"{name}: {reason}"] = None
                continue
            count += 1
            if result != "SUCCESS" and name not in findings:
                text = f"{name} of torch.library.opcheck fails: {one_line(result)}"
                findings[name] = runner.finding("opcheck", "operator", text, case, _MEANING[name])
    return Part(count, list(findings.values()), list(skipped))


def _results(runner: Runner, call: Call, tests: list[str]) -> dict[str, Any]:
    """Run tests of torch.library.opcheck on a kernel; a trace is not made again of a right one of which it sees what it has seen.

    It takes as long as all else in a check, and most edits leave alone what it sees.
    """

    def run(tests: list[str]) -> dict[str, Any]:
        return torch.library.opcheck(
            runner.function.operator, tuple(call.leaves), test_utils=tests, raise_exception=False
        )

    trace = _TRACERS[1]
    seen = _seen(runner, call) if trace in tests and not runner.run(call.case).wrong else None
    if seen is None:
        return run(tests)
    results = run([test for test in tests if test != trace])
    if any(result != "SUCCESS" for result in results.values()) or seen not in _traced:
        results |= run([trace])
    if all(result == "SUCCESS" for result in results.values()):
        _traced.add(seen)
    return results | {trace: results.get(trace, "SUCCESS")}


def _seen(runner: Runner, call: Call) -> tuple[Any, ...] | None:
    """Return all that a tracer sees of a kernel; None where that is its text.

    What is kept for backward and has no name is among it: a tracer is told what it is like.
    """
    function, op = runner.function, runner.op
    if function.fake is None:
        return None
    try:
        extras = function.fake.extras
    except InputError:  # a shape that is not linear in the size: the trace says so
        return None
    with torch.no_grad(), seeded(runner.device):
        results = function.forward(*(each(leaf, Tensor.clone) for leaf in call.leaves))
    alike = [repr(each(one, lambda tensor: (tensor.shape, tensor.dtype))) for one in (*call.leaves, *results)]
    of_op = op.name, op.schema, op.dtypes, op.differentiable, *op.shape_of.values()
    return *of_op, function.interface, function.kernel.saves, function.device, call.case, extras, *alike


def _untraced(op: Op, expected: Expected) -> str:
    """Say why there is nothing to compare with what torch.compile makes of an op; nothing where there is."""
    if expected.random:
        return "the op draws random numbers, and what is compiled draws others"
    if any(output.alias for output in op.signature.outputs):
        return "torch.compile takes no operator that returns one of its inputs"
    real = [differentiable(output) for output in expected.outputs]
    if real != sorted(real, reverse=True):
        return "torch's own test adds up all outputs, and cannot add a real number to an integer before it"
    return ""


def _known(runner: Runner, case: Case, test: str, result: str) -> str:
    """Say which finding of another section a failure follows from; nothing for one of its own."""
    wrong = runner.run(case).wrong
    message = result.strip().partition("\n")[0]
    if not runner.op.corners and runner.refuses(message):
        return f"the kernel refuses what it is traced with ({message})"
    if runner.apart and test in _TRACERS:
        return f"it is traced at sizes that the text does not take ({message}; see parity)"
    if not runner.op.corners and (untold := _UNTOLD.search(result)):
        return f"torch.compile cannot trace it: {untold[0]}"
    shared = [text for _, text in runner.run(case).impure if "shares its memory" in text]
    if shared and "alias" in message:
        return f"it fails because {shared[0].partition(':')[0]} (see purity)"
    for call in ("forward", "backward"):
        if call in wrong and message and message in wrong[call].sentence:
            return f"it fails because {call} raises (see parity)"
    if test == _TRACERS[1] and (untraced := _SYMBOLIC.search(result)):
        return f"torch.compile refuses its C++ where sizes change: {untraced[0]}"
    # What tracers find in a loop over memory that they do not have is of many kinds, and all of it ends with a backward.
    if test in _TRACERS and any(
        wrong[name].cell == "missing" and lacks_backward(runner, case) for name in runner.gradients if name in wrong
    ):
        return "it fails because the text has no backward (see parity)"
    return ""
