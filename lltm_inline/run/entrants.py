"""What timing and measuring memory begin with: kernels and sizes are chosen, then built, loaded and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from ..errors import CheckError, InputError
from ..progress import showing
from ..registry import Kernel, Op, registry
from .timing.sample import Entrant

#: Called as `progress(done, total, text)`; `done` only grows and ends at `total`.
Progress = Callable[[int, int, str], None]

Step = Callable[[int, str], None]


def choose_kernels(
    kernels: Sequence[Kernel | str] | Kernel | str, *, verb: str = "time", done: str = "timed"
) -> list[Kernel]:
    """Look up what was asked for: one or more kernels of one op, none of them twice.

    Raises:
        InputError: none, one twice, or kernels of several ops.
        UnknownKernelError: a label that the registry does not have.
    """
    given = [kernels] if isinstance(kernels, Kernel | str) else list(kernels)
    chosen = [registry[kernel] if isinstance(kernel, str) else kernel for kernel in given]
    if not chosen:
        raise InputError(f"no kernel to {verb}: give one or more labels, such as ['lltm/python', 'lltm/fused']")
    labels = [kernel.label for kernel in chosen]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is given twice; each kernel is {done} once")
    if len({kernel.op for kernel in chosen}) > 1:
        raise InputError(f"kernels of several ops cannot be compared: {', '.join(labels)}")
    return chosen


def choose_sizes(op: Op, sizes: Sequence[Sequence[int] | Mapping[str, int]] | None) -> list[tuple[int, ...]]:
    """Bring sizes into the order of the op's letters; None takes the op's own.

    Raises:
        InputError: there are none, or one does not fit the letters.
    """
    given = list(op.benchmark_sizes if sizes is None else sizes)
    if not given:
        raise InputError(
            f"op {op.name!r} has no benchmark sizes: give sizes=[...], numbers for ({', '.join(op.letters)})"
        )
    found = []
    for size in given:
        if isinstance(size, Mapping):
            if set(size) != set(op.letters):
                raise InputError(f"size {dict(size)} names {', '.join(size)}, want {', '.join(op.letters)}")
            size = tuple(size[letter] for letter in op.letters)
        if not isinstance(size, Sequence) or isinstance(size, str):
            raise InputError(f"sizes is a list of sizes, such as [(16, 32, 128)]; got {size!r} in it")
        if not op.allows(size):
            raise InputError(f"size {tuple(size)} of op {op.name!r}: a tensor would have a negative extent")
        found.append(tuple(size))
    return list(dict.fromkeys(found))


def choose_baseline(kernels: Sequence[Kernel], baseline: Kernel | str | None) -> str:
    """Return the label of the baseline: what was asked for, else the reference if it is there, else the first.

    Raises:
        InputError: the baseline is not among the kernels.
    """
    labels = [kernel.label for kernel in kernels]
    if baseline is None:
        reference = f"{kernels[0].op}/python"
        return reference if reference in labels else labels[0]
    label = baseline if isinstance(baseline, str) else baseline.label
    if label not in labels:
        raise InputError(f"baseline {label!r} is not among the kernels: {', '.join(labels)}")
    return label


def load_all(
    kernels: Sequence[Kernel], device: str, compiler: str | None, cflags: Sequence[str] | None, step: Step
) -> list[Entrant]:
    """Build what has a source text, all of it in parallel, and load everything."""
    from ..build.compiler import build
    from .load import load

    say = partial(step, 0)
    sources = [kernel for kernel in kernels if kernel.python is None]
    if len(sources) > 1:
        build(sources, device=device, compiler=compiler, cflags=cflags, progress=say)
    entrants = []
    for kernel in kernels:
        function = load(kernel, device=device, compiler=compiler, cflags=cflags, progress=say)
        built = function.build
        entrants.append(Entrant(kernel, function, built.flags if built else (), built.compiler if built else ""))
        step(1, f"loaded {kernel.label}")
    return entrants


def check_all(
    op: Op,
    entrants: Sequence[Entrant],
    device: str,
    compiler: str | None,
    cflags: Sequence[str] | None,
    step: Step,
    *,
    done: str = "timed",
) -> None:
    """Run the full check on every kernel but the reference itself.

    Raises:
        CheckError: one of them is wrong; `.report` has the whole report.
    """
    from .check import check

    for entrant in entrants:
        if entrant.kernel.python is not op.reference:
            say = partial(step, 0)
            report = check(entrant.kernel, device=device, compiler=compiler, cflags=cflags, progress=say)
            if not report.ok:
                raise CheckError(f"{report.headline}\nIt was not {done}. The whole report: e.report", report=report)
        step(1, f"checked {entrant.label}")


@contextmanager
def steps(progress: Progress | bool | None, title: str, total: int) -> Iterator[Step]:
    """Yield `step(more, text)`, which tells the caller's function, or a line on the screen, how far we are."""
    done = 0
    own = progress if callable(progress) else None
    with showing(title, False if own else bool(progress is not False)) as show:

        def step(more: int, text: str) -> None:
            nonlocal done
            done += more
            if own is not None:
                own(done, total, text)
            else:
                show(f"{text} ({done / total:.0%})")

        yield step


def tensor_device(device: str) -> str:
    """Name the device on which the tensors live."""
    return "cpu" if device == "cuda-cpu" else device
