"""The section `gradcheck`: gradients in float64 against the reference and finite differences, and what a second derivative does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.gradcheck import GradcheckError

from ..base.device import DEVICES
from ..run.cases.case import Case, Size, dtypes_of
from ..run.cases.drawing import seeded
from ..run.cases.expectation import tensor_inputs
from ..run.function import as_tuple, differentiable, each, gradients_of
from ..workers import steps
from .explain import explain
from .report import Finding
from .runner import Call, CaseResult, Matrix, Part, Runner, fill, one_line

COLUMN = "gradcheck"
#: Finite differences that would take more seconds are taken at a smaller size.
_PATIENCE = 10.0
#: How a message ends that tells of a gradient which a change of the input contradicts.
_BY_DIFFERENCES = "torch.autograd.gradcheck finds another by finite differences"
_NOT_REENTRANT = "backward gives another result for the same values when it runs again (gradcheck: not reentrant)"


def derivatives(runner: Runner, sizes: Sequence[Size], matrix: Matrix) -> Part:
    """Check gradients at each size: the reference's first, since it tells which elements are wrong.

    Args:
        runner: of the kernel.
        sizes: small ones; every input element costs two calls of forward.
        matrix: gets the column `gradcheck`.
    """
    part = Part(0, [], [])
    count = 0
    for size in sizes:
        case = Case("", size, dtypes_of(runner.op)[0])
        result = runner.run(case)
        if result.skipped:
            part.skipped.append(result.skipped)
            continue
        count += 1
        fill(matrix, COLUMN, result, ())
        known = {finding.quantity for finding in part.findings}
        wrong = [name for name in ("forward", "backward", *runner.gradients) if name in result.wrong]
        part.findings.extend(explain(runner, [case], "gradcheck", name, case) for name in wrong if name not in known)
        # What changes its inputs has a wrong Jacobian by finite differences: that would be the wrong reason.
        part.findings.extend(
            runner.finding(COLUMN, quantity, text, case) for quantity, text in result.impure if quantity not in known
        )
        if not wrong and not result.impure:
            count += 2
            case = _affordable(runner, case, part.skipped)
            found = [*_finite_differences(runner, case, matrix, part.skipped), *_second_derivative(runner, case)]
            part.findings.extend(finding for finding in found if finding.quantity not in known)
    for name in runner.outputs:
        matrix[name][COLUMN] = ""
    return part._replace(cases=count)


def _affordable(runner: Runner, case: Case, skipped: list[str]) -> Case:
    """Return the case, or one of the smallest sizes that is right as well, where a forward for each element takes too long."""
    call = runner.begin(case, CaseResult())
    if call is None:
        return case
    began = time.process_time()
    runner.forward(call, CaseResult())
    seconds = time.process_time() - began
    count = sum(leaf.numel() for leaf in tensor_inputs(runner.op, call.leaves) if leaf is not None)
    if 2 * seconds * count < _PATIENCE:
        return case
    smaller = replace(case, size=tuple(min(extent, 2 + place % 2) for place, extent in enumerate(case.size)))
    result = runner.run(smaller) if runner.op.allows(smaller.size) else None
    if result is None or result.wrong or result.skipped:
        return case
    skipped.append(
        f"finite differences at {case.describe(runner.op)}, which take too long: at {smaller.describe(runner.op)} they do not"
    )
    return smaller


def _finite_differences(runner: Runner, case: Case, matrix: Matrix, skipped: list[str]) -> list[Finding]:
    """Run torch.autograd.gradcheck, and translate the numbers in its message to names."""
    if case.dtype != torch.float64:
        skipped.append(
            f"finite differences: the op takes no float64 (dtypes={runner.op.dtypes}); gradients were compared with the "
            "reference's in float64"
        )
        return []
    call = runner.begin(case, CaseResult())
    if call is None:  # another case of this size has run out of memory since
        return []
    leaves = [leaf if given else leaf.detach() for leaf, given in zip(call.leaves, _given(call), strict=True)]
    left_out = [
        argument.name
        for argument, leaf, one in zip(runner.op.signature.inputs, call.leaves, leaves, strict=True)
        if leaf is not one
    ]
    if left_out:
        skipped.append(f"finite differences for {', '.join(left_out)}: the reference gives no gradient for it")
    if not any(differentiable(leaf) and leaf.requires_grad for leaf in leaves):
        return []
    # Outputs, and inputs by their gradients: where the reference has finite values.
    finite = {name: value.isfinite() for name, value in call.expected.wide.items()}
    if not all(mask.all() for mask in finite.values()):
        left = [
            f"{int((~mask).sum())} of {mask.numel()} elements of {name}"
            for name, mask in finite.items()
            if not mask.all()
        ]
        skipped.append(
            f"finite differences at {', '.join(left)}, where the reference is not finite ({case.describe(runner.op)})"
        )
    kept: list[int] = []
    try:
        with runner.step("gradcheck", call):
            function = _steady(runner.function, call)
            kept = [index for index, output in enumerate(as_tuple(function(*leaves))) if output.requires_grad]
            torch.autograd.gradcheck(_where_finite(function, call, finite, kept), tuple(leaves))
    except Exception as error:
        quantity, text = _translate(str(error), runner, kept)
        if text.endswith(_BY_DIFFERENCES) and quantity == _own_failure(runner, call, leaves, finite, kept):
            skipped.append(
                f"finite differences: {quantity} of the reference itself is not the derivative, as of a straight-through estimator; "
                "gradients were compared with the reference's"
            )
            return []
        for name in runner.gradients:  # it ends at the first that is wrong
            matrix[name][COLUMN] = COLUMN if name == quantity else ""
        return [runner.finding(COLUMN, quantity, text, case)]
    return []


def _own_failure(
    runner: Runner, call: Call, leaves: Sequence[Any], finite: Mapping[str, Tensor], kept: Sequence[int]
) -> str:
    """Name the first gradient of the reference itself that finite differences contradict; nothing where there is none."""
    own = [each(leaf, lambda one: one.detach().cpu().requires_grad_(one.requires_grad)) for leaf in leaves]
    function = _where_finite(_steady(runner.op.reference, call), call, finite, kept)
    try:
        torch.autograd.gradcheck(function, tuple(own))
    except GradcheckError as error:
        return _translate(str(error), runner, kept)[0]
    return ""


def _given(call: Call) -> list[bool]:
    """Tell for each input whether the reference gives a gradient for it; an index in a floating dtype has none."""
    leaves = [value.detach().requires_grad_() if differentiable(value) else value for value in call.expected.inputs]
    outputs = as_tuple(call.expected.op.reference(*leaves))
    wanted = [leaf for leaf in leaves if differentiable(leaf)]
    rest = iter(gradients_of(outputs, [torch.ones_like(output) for output in outputs], wanted))
    return [next(rest) is not None if differentiable(leaf) else True for leaf in leaves]


def _where_finite(
    function: Callable[..., Any], call: Call, finite: Mapping[str, Tensor], kept: Sequence[int]
) -> Callable[..., Any]:
    """Return the function, constant where the reference is not finite; of its outputs those that have a gradient, no count or index."""
    op, fixed = call.expected.op, [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in call.leaves]

    def masked(value: Tensor, other: Tensor, name: str) -> Tensor:
        mask = finite.get(name)
        return value if mask is None or mask.all() else torch.where(mask.to(value.device), value, other)

    def restricted(*inputs: Any) -> tuple[Any, ...]:
        given = [
            masked(value, constant, f"d_{argument.name}") if isinstance(value, Tensor) else value
            for argument, value, constant in zip(op.signature.inputs, inputs, fixed, strict=True)
        ]
        outputs = as_tuple(_alive(function)(*given))
        named = list(zip(op.signature.outputs, outputs, strict=True))
        return tuple(
            masked(value, torch.zeros_like(value), output.name) for output, value in map(named.__getitem__, kept)
        )

    return restricted


def _steady(function: Callable[..., Any], call: Call) -> Callable[..., Any]:
    """Return the function; one that draws random numbers draws the same ones in every call, or it could not be differentiated."""
    if not call.expected.random:
        return function

    def steady(*inputs: Any) -> Any:
        with seeded():
            return function(*inputs)

    return steady


def _alive(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function; each call of it counts as a sign of life."""
    steps.monitor.beat()
    return function


def _translate(message: str, runner: Runner, kept: Sequence[int]) -> tuple[str, str]:
    """Turn gradcheck's "output 0 with respect to input 1" into names."""
    if "not reentrant" in message:
        return "gradcheck", _NOT_REENTRANT
    match = re.search(r"output (\d+) with respect to input (\d+)", message)
    if match is None:
        return "gradcheck", f"torch.autograd.gradcheck fails: {message.strip().splitlines()[0]}"
    name = runner.op.signature.inputs[int(match[2])].name
    output = runner.outputs[kept[int(match[1])]]
    return f"d_{name}", f"d_{name} is not the derivative of {output}: {_BY_DIFFERENCES}"


def _second_derivative(runner: Runner, case: Case) -> list[Finding]:
    """Differentiate twice: the result is right or a clear error; a wrong second derivative must not come silently."""
    for used in ((), *((name,) for name in runner.outputs if len(runner.outputs) > 1)):
        found = _twice_compared(runner, replace(case, used=used))
        if found:
            return found
    return []


def _twice_compared(runner: Runner, case: Case) -> list[Finding]:
    call = runner.begin(case, CaseResult())
    if call is None:
        return []

    def found(what: str) -> list[Finding]:
        return [runner.finding(COLUMN, "second derivative", f"second derivative {what}", case)]

    here = [each(leaf, Tensor.cpu) for leaf in call.leaves]
    used = call.expected.used
    try:
        want = _twice(_steady(runner.op.reference, call), here, call.expected.grads, used)
    except RuntimeError:  # PyTorch itself has no second derivative: there is nothing to compare with
        return []
    if want is None:
        return []
    try:
        with runner.step("gradcheck", call):
            got = _twice(
                _steady(runner.function, call),
                call.leaves,
                [grad.to(DEVICES[runner.device].tensors) for grad in call.expected.grads],
                used,
            )
    except Exception as error:
        # An error is one of the two right answers, unless the kernel promises the other.
        if not runner.kernel.double_backward:
            return []
        return found(f"raises {one_line(error)}, although the kernel says double_backward=True")
    cure = "let backward be differentiable itself, or raise (once_differentiable)"
    if got is None:
        return found(f"is silently taken as zero: {cure}")
    names = [argument.name for argument in runner.op.signature.inputs] + [f"d_{name}" for name in runner.outputs]
    near = 1e-8 if case.dtype == torch.float64 else 1e-4
    for name, one, other in zip(names, got, want, strict=True):
        if other is not None and (one is None or not torch.allclose(one.cpu(), other, near, near, equal_nan=True)):
            return found(f"for {name} is wrong without an error: {cure}")
    return []


def _twice(
    function: Callable[..., Any], leaves: Sequence[Any], grads: Sequence[Tensor], used: Sequence[bool]
) -> list[Tensor | None] | None:
    """Differentiate the sum of the squared first derivatives for each input, then for each incoming gradient.

    None when there is no first derivative, or none that can be differentiated.

    The second time with `backward()`, which runs every node of the graph: `autograd.grad` would leave out a node that
    raises, as `once_differentiable` makes one, since none of the inputs lies behind it.
    """
    inputs = [leaf.detach().requires_grad_(leaf.requires_grad) if differentiable(leaf) else leaf for leaf in leaves]
    wanted = [value for value in inputs if differentiable(value) and value.requires_grad]
    outputs = as_tuple(function(*inputs))
    # A count or an index has no gradient, nor has what does not depend on any input that can have one.
    real = [use and differentiable(output) and output.requires_grad for use, output in zip(used, outputs, strict=True)]
    incoming = [grad.clone().requires_grad_() if use else None for grad, use in zip(grads, real, strict=True)]
    if not any(real):
        return None
    first = torch.autograd.grad(
        [output for output, use in zip(outputs, real, strict=True) if use],
        wanted,
        [grad for grad in incoming if grad is not None],
        create_graph=True,
        allow_unused=True,
    )
    squares = [(gradient.abs() ** 2).sum() for gradient in first if gradient is not None and gradient.requires_grad]
    if not squares:
        return None
    torch.stack(squares).sum().backward()
    # Without a gradient: the first derivatives do not depend on it, the same as zero.
    return [
        (torch.zeros_like(value) if value.grad is None else value.grad) if differentiable(value) else None
        for value in (*inputs, *incoming)
    ]
