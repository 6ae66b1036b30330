"""Checks a kernel against its op: what it returns and refuses, parity with the reference, purity, and gradcheck.

A wrong kernel is a result, never an exception: whatever it raises becomes a finding of the report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ..errors import InputError
from ..progress import Progress, showing
from ..registry import Kernel, registry
from .checking.cases import Case, Size, edge_axis, layout_cases, prime_size, size_cases, subset_cases, with_extent
from .checking.derivatives import derivatives
from .checking.explain import findings_of
from .checking.interface import interface
from .checking.opcheck import is_operator, opcheck, warm_up
from .checking.purity import purity
from .checking.runner import Matrix, Part, Runner, fill, laboratory, matrix_of
from .load import load_meanwhile
from .report import Report, Section

DEVICES = ("cpu", "cuda", "cuda-cpu")
#: Extent of one letter in the cases about layout: whole vectors and a rest, in both dtypes.
_VECTOR_AND_REST = 19


def check(
    kernel: Kernel | str,
    *,
    device: str = "cpu",
    sizes: Sequence[Size] | None = None,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
) -> Report:
    """Check a kernel against the reference of its op.

    Args:
        kernel: a `Kernel` or the name of one in the registry.
        device: `"cpu"`, `"cuda"` or `"cuda-cpu"`.
        sizes: sizes to check at, in place of the corner sizes: zero, one, primes, block edges.
        compiler: as for `build`.
        cflags: as for `build`.
        progress: called with a text for each step; None shows a live line after a second, False nothing.

    Returns:
        A Report with the sections `interface`, `parity`, `purity`, `gradcheck` and, for a kernel that is registered with
        PyTorch's dispatcher, `opcheck`.

    Raises:
        BuildError: the kernel does not compile. A kernel that is merely wrong does not raise.
        UnknownKernelError: no kernel of that name.
        InputError: an unknown device, or a size that does not fit the op.

    Example:
        >>> check("lltm/python").ok
        True
    """
    runner, sizes = _prepare(kernel, device, sizes, compiler, cflags, progress)
    with showing(f"checking {runner.kernel.label}", progress) as say, laboratory():
        return _check(runner, sizes, device, say)


def gradcheck(
    kernel: Kernel | str,
    *,
    device: str = "cpu",
    sizes: Sequence[Size] | None = None,
    compiler: str | None = None,
    cflags: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
) -> Report:
    """Check the gradients of a kernel in float64: against the reference, against finite differences, and twice over.

    Args:
        kernel: a `Kernel` or the name of one in the registry.
        device: `"cpu"`, `"cuda"` or `"cuda-cpu"`.
        sizes: sizes in place of the primes; every input element costs two calls of forward.
        compiler: as for `build`.
        cflags: as for `build`.
        progress: as for `check`.

    Returns:
        A Report with the one section `gradcheck`.

    Raises:
        BuildError: the kernel does not compile.
        UnknownKernelError: no kernel of that name.
        InputError: an unknown device, or a size that does not fit the op.

    Example:
        >>> gradcheck("lltm/python").ok
        True
    """
    runner, sizes = _prepare(kernel, device, sizes, compiler, cflags, progress)
    with showing(f"gradcheck of {runner.kernel.label}", progress) as say, laboratory():
        return _gradcheck(runner, sizes, device, say)


def _prepare(
    kernel: Kernel | str,
    device: str,
    sizes: Sequence[Size] | None,
    compiler: str | None,
    cflags: Sequence[str] | None,
    progress: Progress | bool | None,
) -> tuple[Runner, list[Size] | None]:
    """Look at the arguments, then build and load the kernel."""
    if device not in DEVICES:
        raise InputError(f"no device {device!r}; want one of {', '.join(DEVICES)}")
    kernel = registry[kernel] if isinstance(kernel, str) else kernel
    op = registry.op_of(kernel)
    if sizes is not None:
        sizes = [tuple(op.named(size).values()) for size in sizes]
        if not sizes:
            raise InputError(f"check of {kernel.label!r}: sizes is empty; leave it out for the corner sizes")
        for size in sizes:
            if not op.allows(size):
                raise InputError(f"check of {kernel.label!r}: at size {size} a tensor would have a negative extent")
    function = load_meanwhile(kernel, warm_up, device=device, compiler=compiler, cflags=cflags, progress=progress)
    return Runner(function, kernel, op, device), sizes


def _check(runner: Runner, sizes: list[Size] | None, device: str, say: Progress) -> Report:
    op = runner.op
    small = sizes[0] if sizes else prime_size(op)
    mixed = sizes[0] if sizes else with_extent(small, edge_axis(op, small), _VECTOR_AND_REST)
    cases = [*size_cases(op, sizes), *layout_cases(op, mixed), *subset_cases(op, small)]
    columns = [*dict.fromkeys(case.group for case in cases), "called twice", "gradcheck"]
    matrix = matrix_of(op, columns)
    # Interface and purity read what the cases of parity saw, so these run first; the report has them in another order.
    steps: dict[str, Callable[[], Part]] = {
        "parity": lambda: _parity(runner, cases, matrix),
        "interface": lambda: interface(runner, cases, small),
        "purity": lambda: purity(runner, cases, matrix),
        "gradcheck": lambda: derivatives(runner, sizes or [small], matrix),
    }
    order = ["interface", "parity", "purity", "gradcheck"]
    if is_operator(runner):
        steps["opcheck"] = lambda: opcheck(runner, small)
        order.append("opcheck")
    return _report(runner, steps, order, matrix, device, say)


def _gradcheck(runner: Runner, sizes: list[Size] | None, device: str, say: Progress) -> Report:
    matrix = matrix_of(runner.op, ["gradcheck"])
    steps = {"gradcheck": lambda: derivatives(runner, sizes or [prime_size(runner.op)], matrix)}
    return _report(runner, steps, ("gradcheck",), matrix, device, say)


def _parity(runner: Runner, cases: Sequence[Case], matrix: Matrix) -> Part:
    """Run every case and enter it into the matrix."""
    ran, skipped = 0, []
    for case in cases:
        outcome = runner.run(case)
        if outcome.skipped:
            if not case.plain:  # that the kernel refuses a plain size, too, is tried in the section `interface`
                skipped.append(outcome.skipped)
        else:
            ran += 1
            fill(matrix, case.group, outcome, runner.outputs)
    return Part(ran, findings_of(runner, cases, structural=False), skipped)


def _report(
    runner: Runner,
    steps: dict[str, Callable[[], Part]],
    order: Sequence[str],
    matrix: Matrix,
    device: str,
    say: Progress,
) -> Report:
    begun = time.perf_counter()
    sections = {}
    for name, step in steps.items():
        say(f"checking {runner.kernel.label}: {name}")
        started = time.perf_counter()
        cases, findings, skipped = step()
        sections[name] = Section(name, cases, tuple(findings), tuple(skipped), time.perf_counter() - started)
    seen = {quantity: cells for quantity, cells in matrix.items() if any(cells.values())}
    return Report(
        runner.kernel.label, device, tuple(sections[name] for name in order), seen, time.perf_counter() - begun
    )
