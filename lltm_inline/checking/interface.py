"""The section `interface`: what a kernel returns, before any value, and what it must refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..base.arguments import plural
from ..base.device import DEVICES
from ..base.flags import less_exact
from ..base.progress import emit
from ..model.registry import Kernel, Op
from ..model.shapes import Shape
from ..run.cases.case import Case, Size, dtypes_of
from ..run.cases.drawing import is_label, make_inputs
from ..run.cases.expectation import expect, tensor_inputs
from ..run.cases.layouts import place
from ..run.cases.tried import VIEWS, subset_cases, viewed
from ..run.compare import dtype_name
from ..run.function import as_tuple, differentiable, each
from ..source.signature import GENERATED
from ..workers import steps
from .explain import findings_of
from .report import Finding
from .runner import Call, CaseResult, Part, Runner, one_line

#: What stands in the adapter of a text from elsewhere (`export/templates/adapter.cpp.jinja`), and what that means for a check.
_BOTH = re.compile(rf"^{GENERATED}\S+ and \S+, with", re.MULTILINE)
_GRADIENTS_NOT_SHOWN = (
    "incoming gradients are made contiguous before the text, so that a missing .contiguous() does not show"
)
_DENSE = "// It makes inputs contiguous, as the text goes by how they lie in memory.\n"
_NOT_SHOWN = (
    "inputs{} are made contiguous before they reach the text: that it is right for others by itself, or "
    "for a view whose address is no multiple of 16 bytes, such as x[1:], is not shown"
)

_LESS_EXACT = "what {} changes: the CPU computes as without. On a GPU nvcc's such flags make division, expf, logf and the like less exact"

_CORNERS = "empty tensors, inf and NaN{} ({})"


def is_dense(runner: Runner) -> bool:
    """Tell whether this is a text from elsewhere that goes by how its inputs lie in memory."""
    return any(_DENSE in text for text in runner.kernel.sources.values())


def copied_in(runner: Runner, case: Case) -> tuple[str, ...]:
    """List the quantities for which what makes this case never reaches the text: the adapter has made contiguous what is not."""
    if case.layout != "contiguous" or case.laid:
        return (*runner.outputs, *runner.gradients) if is_dense(runner) else ()
    return (*runner.gradients,) if case.grads not in ("contiguous", "misaligned") and _is_adapted(runner) else ()


def _is_adapted(runner: Runner) -> bool:
    """Tell whether incoming gradients go through an adapter, which makes them contiguous for any text."""
    return any(_BOTH.search(text) for text in runner.kernel.sources.values())


def interface(runner: Runner, cases: Sequence[Case], size: Size) -> Part:
    """Look at numbers, shapes and dtypes of all that the kernel returns, and hand it inputs that make no sense."""
    findings = findings_of(runner, cases, structural=True)
    known = {finding.quantity for finding in findings}
    count, raw, notes = _raw_gradients(runner, size)
    refused, accepted, skipped = _refusals(runner, size)
    looked_at = sum(runner.run(case).came_back for case in cases)
    tried, lenient = _sizes_refused(runner, cases)
    new = [*_undeclared_shapes(runner, cases), *(finding for finding in raw if finding.quantity not in known)]
    if is_dense(runner):
        notes += (_NOT_SHOWN.format(" and incoming gradients" * _is_adapted(runner)),)
    elif _is_adapted(runner):
        notes += (_GRADIENTS_NOT_SHOWN,)
    notes += _letters(runner.op)
    kept = getattr(runner.op.reference, "kept", {}).values()  # of a snippet's
    extras = runner.function.interface.extras if runner.function.interface and _is_of_an_example(runner.op) else 0
    more = "" if kept else f"{plural(extras, 'further result')} of forward" * bool(extras)
    notes += (
        f"{' and '.join(kept) or more}: not compared, as only backward takes {'them' if max(len(kept), extras) > 1 else 'it'}",
    ) * bool(kept or more)
    skipped += [*_inexact(runner), *_untold(runner, cases)]
    return Part(looked_at + count + refused + tried, [*findings, *new, *accepted, *lenient], skipped, notes)


def _inexact(runner: Runner) -> list[str]:
    """Say which flags of a CUDA text are of no effect on the CPU, and so are not tried."""
    device = DEVICES[runner.device]
    flags = less_exact(runner.kernel.flags) if device.text == "cuda" and not device.needs_gpu else ()
    return [_LESS_EXACT.format(" and ".join(flags))] * bool(flags)


def _is_of_an_example(op: Op) -> bool:
    return bool(getattr(op.reference, "of_a_cell", False))


def _untold(runner: Runner, cases: Sequence[Case]) -> list[str]:
    """Say what is tried with no value but that of the example of which an op was made: a text may have it written in."""
    op = runner.op
    if op.corners:
        return []
    has_numbers = any(argument.type.removesuffix("?") in ("int", "float") for argument in op.signature.inputs)
    and_numbers = ", and 0, 1 and -1 for its numbers" * has_numbers
    if not _is_of_an_example(op):
        return [_CORNERS.format(and_numbers, "corners=False: nobody says what they give")]
    told = [_CORNERS.format(and_numbers, "an example does not tell what they should give")]
    sizes = dict.fromkeys(case.size for case in cases if runner.run(case).came_back)
    # Where no call came back, nothing was tried with any value.
    drawn = [make_inputs(op, Case("", size, dtypes_of(op)[0])) for size in [*sizes][:2]]
    varied = {name for case in cases if case.numbers and runner.run(case).came_back for name, _ in case.numbers}
    numbers = [
        f"{argument.name} = {values[0]!r}"
        for argument, *values in (zip(op.signature.inputs, *drawn, strict=True) if drawn else ())
        if not (argument.is_tensor or argument.is_list)
        and values[1:] in ([], values[:1])
        and argument.name not in varied
    ]
    extents = [
        f"{name} ({', '.join(shape.split())})"
        for name, shape in op.shapes.items()
        if isinstance(shape, str) and any(term.isdigit() and term != "1" for term in shape.split())
    ]
    labels = [
        argument.name
        for argument, value in (zip(op.signature.inputs, drawn[0], strict=True) if drawn and op.gradients else ())
        if is_label(value) and argument not in op.gradients
    ]
    if labels:
        told.append(f"gradients of {' and '.join(labels)}: nothing but 0 and 1 in the example, so taken for labels")
    if numbers:
        told.append(f"numbers other than the example's: {', '.join(numbers)}")
    if extents:
        told.append(f"extents other than the example's, where a number stands: {', '.join(extents)}")
    return told


def _letters(op: Op) -> tuple[str, ...]:
    """Say what the letters of sizes are, where an example gave them, so that nobody has chosen them."""
    if not _is_of_an_example(op):
        return ()
    shapes = {argument.name: op.shapes[argument.name] for argument in op.signature.inputs if argument.name in op.shapes}
    lettered = [f"{name} ({', '.join(shape.split())})" for name, shape in shapes.items() if set(shape) & {*op.letters}]
    return (f"sizes are given by letter: {', '.join(lettered)}; no other number of axes is tried",) * bool(lettered)


def _raw_gradients(runner: Runner, size: Size) -> tuple[int, list[Finding], tuple[str, ...]]:
    """Look at what backward itself returns: autograd would sum a (1, N) gradient to (N) and drop unwanted ones.

    Returns:
        How many calls were made, what is wrong, and what is computed for nothing, which takes time and does no harm.
    """
    texts: dict[str, tuple[str, Case]] = {}
    unwanted: set[str] = set()
    count = 0
    if not runner.op.gradients:
        return 0, [], ()
    for case in [
        Case("", size, dtypes_of(runner.op)[0]),
        *(case for case in subset_cases(runner.op, size) if any(case.wanted) and not case.used),
    ]:
        call = runner.begin(case, CaseResult())
        seen = runner.run(case).wrong
        if call is None or "forward" in seen:
            continue
        try:
            with runner.step("backward", call):
                gradients = _backward_itself(runner, call)
        except Exception as error:
            # Where autograd raises too, the section `parity` tells it.
            if "backward" not in seen:
                texts.setdefault("backward", (f"backward raises {one_line(error)} when called by itself", case))
            continue
        if gradients is None:
            continue
        count += 1
        names = runner.gradients
        if len(gradients) != len(names):
            text = f"backward returns {len(gradients)} gradients, want {len(names)}: {', '.join(names)}"
            texts.setdefault("backward", (text, case))
            continue
        inputs, asked = tensor_inputs(runner.op, call.leaves), case.wanted or (True,) * len(names)
        rows = zip(names, gradients, call.expected.gradients, inputs, asked, strict=True)
        for name, got, want, leaf, wanted in rows:
            if not wanted:
                unwanted |= {name} if got is not None else set()
            elif want is not None and got is not None and (text := _wrong_form(name, got, leaf)):
                texts.setdefault(name, (text, case))
    findings = [runner.finding("interface", name, text, case) for name, (text, case) in texts.items()]
    named = ", ".join(name for name in runner.gradients if name in unwanted)
    slow = f"backward computes {named} also where nobody wants it, which takes time: ask `wanted` first"
    return count, findings, (slow,) if unwanted else ()


def _backward_itself(runner: Runner, call: Call) -> Sequence[Any] | None:
    """Return what a kernel's own backward returns, before what autograd makes of it; None where that is not to be had."""
    function, op = runner.function, runner.op
    grads = [place(grad, "contiguous", runner.device).tensor for grad in call.expected.grads]
    wanted = call.case.wanted or (True,) * len(runner.gradients)
    if function.interface is not None:
        if not function.interface.has_backward:
            return None
        plain = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in call.leaves]
        return as_tuple(function.backward(grads, plain, function.forward(*plain), wanted))
    if not any(wanted):
        return None
    outputs = as_tuple(function(*call.leaves))
    node = outputs[0].grad_fn
    if not isinstance(node, torch.autograd.function.BackwardCFunction) or any(
        output.grad_fn is not node for output in outputs
    ):
        return None
    gradients = as_tuple(node.apply(*grads))
    if len(gradients) != len(call.leaves):
        return None
    # A Python autograd.Function may return what is not wanted: PyTorch drops it.
    kept = tensor_inputs(op, gradients)
    return [gradient if want else None for gradient, want in zip(kept, wanted, strict=True)]


def _wrong_form(name: str, got: Tensor, leaf: Tensor) -> str:
    """Say what is wrong with a gradient before one looks at its values: it has shape and dtype of what it is the gradient of."""
    if tuple(got.shape) != tuple(leaf.shape):
        return (
            f"{name} has shape {tuple(got.shape)}, want {tuple(leaf.shape)}: backward must sum over what was broadcast"
        )
    return f"{name} is {dtype_name(got.dtype)}, want {dtype_name(leaf.dtype)}" if got.dtype != leaf.dtype else ""


def _undeclared_shapes(runner: Runner, cases: Sequence[Case]) -> list[Finding]:
    """Hold the reference itself against the shapes that its op declares: bindings and fake kernels rely on these."""
    op = runner.op
    for case in cases:
        # Of an op that was made of one example, a slice may be cut off at others.
        if runner.run(case).skipped or not (op.corners or case.size == op.check_size):
            continue
        expected = expect(op, case)
        numbers = dict(zip((argument.name for argument in op.signature.inputs), expected.inputs, strict=True))
        for output, got in zip(op.signature.outputs, expected.outputs, strict=False):
            shape = op.shape_of.get(output.name)
            if shape is None or shape.untold:
                continue
            want = case.view if shape.any_rank and case.view is not None else shape({**numbers, **op.named(case.size)})
            if tuple(got.shape) != want:
                text = f"the op's reference returns {output.name} of shape {tuple(got.shape)}, the op declares {shape} = {want}"
                return [runner.finding("interface", output.name, text, case)]
    return []


def _sizes_refused(runner: Runner, cases: Sequence[Case]) -> tuple[int, list[Finding]]:
    """Run the kernel at the sizes that the reference refuses: an answer there is wrong, whatever it is."""
    refused = [case for case in cases if case.plain and runner.run(case).refused and runner.op.corners]
    faults: list[Case] = []
    for case in refused:
        if _verdict(runner, case.describe(runner.op), _inputs(runner.op, case, runner.device)) == COMPUTES:
            faults.append(case)
    if not faults:
        return len(refused), []
    why = runner.run(faults[0]).skipped.partition(": ")[2]
    text = "forward computes at a size where an error is due"
    return len(refused), [runner.finding("interface", "forward", text, faults[0], why)]


#: How a try of `refusals` ends when the kernel raised, and when it did not.
REFUSED, COMPUTES = "refused", "computes"
#: What is said of a kernel that cannot be asked.
NO_NONSENSE = "inputs that make no sense: the kernel had run out of memory"


class Try(NamedTuple):
    """One call with an input that makes no sense, and how it ended: `REFUSED`, `COMPUTES`, or how it took the worker down."""

    argument: str
    what: str
    verdict: str


def is_safe(kernel: Kernel, device: str) -> bool:
    """Tell whether nonsense cannot crash a kernel: the generated torch_library binding checks every input before it."""
    return kernel.python is not None or kernel.binding == "torch_library" or DEVICES[device].needs_gpu


def _refusals(runner: Runner, size: Size) -> tuple[int, list[Finding], list[str]]:
    """Hand the kernel inputs that make no sense; each must raise. One that may crash of them gets a worker for it alone."""
    if runner.exhausted:
        return 0, [], [NO_NONSENSE]
    if not is_safe(runner.kernel, runner.device):
        if steps.in_worker():
            return 0, [], []
        return 0, [], ["inputs that make no sense: a kernel with a binding of its own may crash of them (trust=True)"]
    tries = refusals(runner, size)
    return len(tries), refusal_findings(runner.kernel, tries), []


def refusals(runner: Runner, size: Size, start: int = 0) -> list[Try]:
    """Make the calls from number `start` on; in a worker those that may crash are told before and after."""
    nonsense = list(_nonsense(runner.op, size, runner.device))
    if runner.kernel.python is not None:
        # A kernel in Python may compute what the reference computes. PyTorch itself answers for devices; and on a meta
        # tensor it imports its compiler first, which takes a second.
        nonsense = [
            one for one in nonsense if not one[1].startswith("on device") and _refuses(runner.op.reference, one[2])
        ]
    told = not is_safe(runner.kernel, runner.device)
    tries = []
    for argument, what, inputs in nonsense[start:]:
        if told:
            emit("try", argument, what)
        verdict = _verdict(runner, f"{argument} {what}", inputs)
        tries.append(Try(argument, what, verdict))
        if told:
            emit("tried", verdict)
    return tries


def _verdict(runner: Runner, case: str, inputs: Sequence[Any]) -> str:
    with steps.step("forward", runner.kernel.label, lambda: (case, ())):
        return REFUSED if _refuses(runner.function, inputs) else COMPUTES


def refusal_findings(kernel: Kernel, tries: Sequence[Try]) -> list[Finding]:
    """Make one finding for each input with which the kernel computed or crashed."""
    faults: dict[str, list[str]] = {}
    for argument, what, verdict in tries:
        if verdict != REFUSED:
            faults.setdefault(argument, []).append(f"{verdict} with {argument} {what}")
    findings = []
    for argument, found in faults.items():
        found.sort(key=lambda text: text.startswith(COMPUTES))  # a crash is worse
        hints = (f"also {'; '.join(found[1:])}",) if found[1:] else ()
        findings.append(Finding(kernel.label, "interface", argument, f"{found[0]}, want a clear error", hints=hints))
    return findings


def _refuses(function: Callable[..., Any], inputs: Sequence[Any]) -> bool:
    try:
        with torch.no_grad():
            function(*inputs)
    except Exception:
        # Which exception and in what words is the kernel's business; that there is one, is ours.
        return True
    return False


def _inputs(op: Op, case: Case, device: str) -> list[Any]:
    return [each(value, lambda one: one.to(DEVICES[device].tensors)) for value in make_inputs(op, case)]


def _nonsense(op: Op, size: Size, device: str) -> Iterable[tuple[str, str, list[Any]]]:
    """Yield (input, what is wrong with it, inputs): wrong dtypes, shapes that do not fit, another device; of a list the last."""
    inputs = _inputs(op, Case("", size, dtypes_of(op)[-1]), device)
    tensors = [
        value[-1] if a.is_list and value else value for a, value in zip(op.signature.inputs, inputs, strict=True)
    ]
    places = [(i, a) for i, a in enumerate(op.signature.inputs) if isinstance(tensors[i], Tensor)]
    free = [i for i, argument in places if not argument.dtype]
    several = len(free) > 1 or any(op.signature.inputs[i].is_list and len(inputs[i]) > 1 for i in free)

    def using(index: int, value: Tensor | None) -> list[Any]:
        others = [each(v, torch.clone) if a.alias else v for a, v in zip(op.signature.inputs, inputs, strict=True)]
        changed = [] if value is None else [*inputs[index][:-1], value] if op.signature.inputs[index].is_list else value
        return [*others[:index], changed, *others[index + 1 :]]

    for i, argument in places:
        if argument in op.required and argument.is_list:
            yield argument.name, "empty", using(i, None)
    for dtype in (torch.int64, torch.float16):
        if free and dtype_name(dtype) not in op.dtypes:
            whole = [
                each(value, partial(_cast, dtype=dtype)) if i in free and differentiable(tensors[i]) else value
                for i, value in enumerate(inputs)
            ]
            yield "all inputs", f"in {dtype_name(dtype)}", whole
    for i, argument in places:
        for dtype in (torch.int64, torch.float16, torch.float64, *[torch.int32] * (argument.dtype == "int64")):
            others = f", where the op has {argument}" * bool(argument.dtype)
            others = others or f" and the others in {dtype_name(tensors[i].dtype)}" * several
            if others and tensors[i].dtype != dtype:
                yield argument.name, f"in {dtype_name(dtype)}{others}", using(i, _cast(tensors[i], dtype))
    for i, argument in places:
        fits = f"{op.shape_of[argument.name]} = {tuple(tensors[i].shape)}"
        for shape in _misfits(op, argument.name, size, argument.is_list and len(inputs[i]) > 1):
            yield argument.name, f"of shape {shape}, where {fits}", using(i, tensors[i].new_zeros(shape))
    for i, argument in places:
        if len(places) > 1 or several:
            yield argument.name, "on device meta and the others not", using(i, tensors[i].to("meta"))
    yield from _turned(op, size, device)


def _turned(op: Op, size: Size, device: str) -> Iterable[tuple[str, str, list[Any]]]:
    """Yield inputs of any shape of which one has its extents in another order: as many axes and elements as the others have."""
    if len(op.any_rank_inputs) < 2:
        return
    view = VIEWS[1]
    inputs = _inputs(op, replace(viewed(op, size, view), dtype=dtypes_of(op)[-1]), device)
    for i, argument in enumerate(op.signature.inputs):
        if argument.name in op.any_rank_inputs and isinstance(inputs[i], Tensor):
            fresh = [each(v, torch.clone) if a.alias else v for a, v in zip(op.signature.inputs, inputs, strict=True)]
            fresh[i] = inputs[i].new_zeros(view[::-1])
            yield argument.name, f"of shape {view[::-1]}, where the others have {view}", fresh


def _cast(value: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert, from a complex number its real part."""
    return (value.real if value.is_complex() else value).to(dtype)


def _misfits(op: Op, name: str, size: Size, among: bool = False) -> list[tuple[int, ...]]:
    """List shapes of one input that no size allows, given those of the others: an extent more, the axes turned, an axis more.

    `among` others of a list, nothing but their shape fits.
    """
    sizes = op.named(size)
    shape = op.shape_of[name](sizes)
    if op.shape_of[name].untold:
        return []
    if op.shape_of[name].any_rank:
        return [(*shape, 1), (shape[0] + 1,)] if len(op.any_rank_inputs) > 1 or among else []
    longer = [(*shape[:axis], extent + 1, *shape[axis + 1 :]) for axis, extent in enumerate(shape)]
    turned = [shape[::-1]] if shape[::-1] != shape else []  # as many axes and elements
    others = {t.name: op.shape_of[t.name](sizes) for t in op.signature.tensors if t.type == "Tensor" or t.name == name}
    found = [misfit for misfit in (*longer, *turned) if among or not _consistent(op.shape_of, {**others, name: misfit})]
    return [*found, (1, *shape), (*shape[:-1], shape[-1], 1)] if shape else [*found, (1,)]


def _consistent(shape_of: dict[str, Shape], shapes: dict[str, tuple[int, ...]]) -> bool:
    """Return True when some size gives all these shapes."""
    sizes: dict[str, int] = {}
    for name, shape in shapes.items():
        for dim, extent in zip(shape_of[name].dims, shape, strict=True):
            if dim.letter:
                sizes.setdefault(dim.letter, extent)
    known = all(letter in sizes for name in shapes for letter in shape_of[name].letters)
    return not known or all(shape_of[name](sizes) == shape for name, shape in shapes.items())
