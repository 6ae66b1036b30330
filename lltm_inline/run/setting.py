"""What public verbs are asked for, looked at before anything is built: a `Setting`, kernels, sizes and numbers."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict, TypeVar

import psutil

from ..base.arguments import LARGEST, boolean, did_you_mean, number, real_dtype, refusal, require_choices, shown
from ..errors import InputError
from ..model.registry import Kernel, Op, registry, resolve
from ..tables.timings import DIRECTIONS, KEPT_SECONDS
from ..workers import steps
from ..workers.limits import Limits


@dataclass(frozen=True)
class Setting:
    """How kernels are built and run: what `check`, `benchmark` and the others take by name, or as `setting`.

    Attributes:
        device: `"cpu"`, `"cuda"`, or `"cuda-cpu"`: CUDA source on the CPU.
        compiler: name or path, else the environment's CXX, else g++.
        cflags: instead of the default optimisation flags, one item per flag.
        progress: called with a text for each step, by what measures as `progress(done, total, text)`; None shows a live
            line after a second, False nothing.
        trust: run kernels in this process, not in the worker. A crash then ends this process.
        limits: of time, memory and output in the worker; None for the usual ones.

    Raises:
        InputError: one of them makes no sense.

    Example:
        >>> Setting(trust=True).here
        True
        >>> Setting(device="tpu")
        Traceback (most recent call last):
            ...
        lltm_inline.errors.InputError: no device 'tpu'; want one of cpu, cuda, cuda-cpu
    """

    device: str = "cpu"
    compiler: str | None = None
    cflags: Sequence[str] | None = None
    progress: Callable[..., Any] | bool | None = None
    trust: bool = False
    limits: Limits | None = None

    def __post_init__(self) -> None:
        require_choices(device=self.device, compiler=self.compiler, cflags=self.cflags, progress=self.progress)
        boolean("trust", self.trust)
        if not isinstance(self.limits, Limits | None):
            raise refusal("limits", self.limits, "Limits, such as li.Limits(seconds=10)")
        if self.cflags is not None:
            object.__setattr__(self, "cflags", tuple(self.cflags))

    @classmethod
    def of(cls, function: Callable[..., Any], options: CallOptions | CountOptions) -> Setting:
        """Make one of what a function was given by name: the `setting`, and what is to be otherwise.

        Raises:
            TypeError: the function takes no argument of that name.
            InputError: one of them makes no sense.

        Example:
            >>> @takes(Options)
            ... def verb(**options: Any) -> Setting:
            ...     return Setting.of(verb, options)
            >>> verb(setting=Setting("cuda-cpu", trust=True), trust=False)
            Setting(device='cuda-cpu', compiler=None, cflags=None, progress=None, trust=False, limits=None)
            >>> verb(devices="cpu")
            Traceback (most recent call last):
            TypeError: verb() got an unexpected keyword argument 'devices'. Did you mean 'device'?
        """
        known = inspect.signature(function).parameters
        for name in options:
            if name not in known:
                said = f"{function.__name__}() got an unexpected keyword argument {name!r}"
                raise TypeError(f"{said}.{near}" if (near := did_you_mean(name, known)) else said)
        given: dict[str, Any] = dict(options)
        setting = given.pop("setting", None)
        if not isinstance(setting, Setting | None):
            raise refusal("setting", setting, "a Setting")
        return replace(setting or cls(), **given)

    @property
    def here(self) -> bool:
        """Whether kernels run in this process. In the worker they do: it may die of them."""
        return self.trust or steps.in_worker()


class _AllOptions(TypedDict, total=False):
    compiler: str | None
    progress: Callable[..., Any] | bool | None
    limits: Limits | None
    setting: Setting | None


class CallOptions(_AllOptions, total=False):
    """What a function takes by name that always runs kernels in the worker; see `Setting`."""

    device: str
    cflags: Sequence[str] | None


class CountOptions(_AllOptions, total=False):
    """What a function takes by name that itself knows the device and the flags."""

    trust: bool


class Options(CallOptions, CountOptions, total=False):
    """What a function takes by name of which its `Setting` is made."""


_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_Verb = TypeVar("_Verb", bound=Callable[..., Any])
_LINE = "        options: of `Setting`, by name.\n"


def takes(options: type[CallOptions] | type[CountOptions]) -> Callable[[_Verb], _Verb]:
    """Let `help`, completion and `inspect.signature` show what a function takes as `**options`, name by name.

    Example:
        >>> @takes(Options)
        ... def verb(kernel: str, **options: Any) -> None: ...
        >>> list(inspect.signature(verb).parameters)
        ['kernel', 'device', 'compiler', 'cflags', 'progress', 'trust', 'limits', 'setting']
    """
    known = {one.name: (one.type, one.default) for one in fields(Setting)} | {"setting": ("Setting | None", None)}
    named = {name: how for name, how in known.items() if name in options.__annotations__}
    more = [inspect.Parameter(name, _BY_NAME, default=how[1], annotation=how[0]) for name, how in named.items()]
    listed = re.split(
        r"(?m)^(?= {8}\w)", (Setting.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0] + "\n"
    )
    meanings = [one for one in listed if one.partition(":")[0].strip() in named]
    meanings.append("        setting: a `Setting` with all of these; what is given beside it goes first.\n")

    def with_names(function: _Verb) -> _Verb:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        function.__doc__ = function.__doc__ and function.__doc__.replace(_LINE, "".join(meanings))
        return function

    return with_names


def choose_sizes(op: Op, sizes: Sequence[Sequence[int] | Mapping[str, int]] | None) -> list[tuple[int, ...]]:
    """Bring sizes into the order of the op's letters; None takes the op's own.

    Raises:
        InputError: there are none, or one does not fit the letters.
    """
    if sizes is not None and (not isinstance(sizes, Sequence) or isinstance(sizes, str | bytes)):
        numbers = f"numbers for ({', '.join(op.letters)})" if op.letters else "each (): no shape of the op has a letter"
        raise refusal("sizes", sizes, f"a list of sizes, {numbers}")
    given = list(op.benchmark_sizes if sizes is None else sizes)
    if not given and sizes is not None:
        raise InputError(f"op {op.name!r}: sizes is empty; leave it out for the usual ones")
    if not given:
        raise InputError(
            f"op {op.name!r} has no benchmark sizes: give sizes=[...], numbers for ({', '.join(op.letters)}), or register it with "
            "benchmark_sizes=[...]"
        )
    return list(dict.fromkeys(_size_of(op, size) for size in given))


def _size_of(op: Op, size: Any) -> tuple[int, ...]:
    """Bring one size into the order of the op's letters."""
    if isinstance(size, Mapping):
        if set(size) != set(op.letters):
            given = ", ".join(
                letter if isinstance(letter, str) and len(letter) < 9 else shown(letter) for letter in size
            )
            raise InputError(f"size {shown(dict(size))} names {given}, want {', '.join(op.letters)}")
        size = tuple(size[letter] for letter in op.letters)
    if not isinstance(size, Sequence) or isinstance(size, str | bytes):
        raise InputError(f"sizes is a list of sizes, such as [(16, 32, 128)]; got {shown(size)} in it")
    if not op.allows(size):
        raise InputError(f"size {tuple(size)} of op {op.name!r}: a tensor would have a negative extent")
    elements = sum(map(math.prod, op.extents(size)))
    room = psutil.virtual_memory().total
    if elements > LARGEST // 16 or elements * 4 > room:  # even in the smallest dtype that is checked
        raise InputError(
            f"size {tuple(size)} of op {op.name!r} has {elements:.3g} elements, "
            f"more than fit into the memory of this machine ({room / 2**30:.0f} GiB)"
        )
    return tuple(size)


def choose_kernels(
    kernels: Sequence[Kernel | str] | Kernel | str, *, verb: str = "time", done: str = "timed"
) -> tuple[list[Kernel], Op]:
    """Look up what was asked for: one or more kernels of one op, none of them twice; and the op.

    Raises:
        InputError: none, one twice, or kernels of several ops.
        UnknownKernelError: a label that the registry does not have.
    """
    if not isinstance(kernels, Kernel | str | list | tuple):
        raise refusal("kernels", kernels, "a list of kernels or labels, such as ['lltm/python', 'lltm/fused']")
    given = [kernels] if isinstance(kernels, Kernel | str) else list(kernels)
    chosen = [resolve(kernel, "kernels: one") for kernel in given]
    if not chosen:
        raise InputError(f"no kernel to {verb}: give one or more labels, such as ['lltm/python', 'lltm/fused']")
    labels = [kernel.label for kernel in chosen]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is given twice; each kernel is {done} once")
    if len({kernel.op for kernel in chosen}) > 1:
        raise InputError(f"kernels of several ops cannot be compared: {', '.join(labels)}")
    return chosen, registry.op_of(chosen[0])


def require_timing(
    *, dtype: Any, check: Any, seconds: Any = KEPT_SECONDS, rounds: Any = 1, directions: Any = DIRECTIONS
) -> None:
    """Look at what is `benchmark`'s and `memory`'s own.

    Raises:
        InputError: a number, dtype or list that makes no sense.
    """
    real_dtype(dtype)
    boolean("check", check)
    try:
        number("seconds", seconds, positive=True)
    except InputError:
        raise refusal("seconds", seconds, "a positive time") from None
    if not isinstance(rounds, int) or isinstance(rounds, bool) or rounds < 1:
        raise refusal("rounds", rounds, "at least one round")
    if not isinstance(directions, list | tuple) or not directions or any(one not in DIRECTIONS for one in directions):
        raise refusal("directions", directions, f"some of {', '.join(DIRECTIONS)}")


def choose_baseline(kernels: Sequence[Kernel], baseline: Kernel | str | None) -> str:
    """Return the label of the baseline: what was asked for, else the reference if it is there, else the first.

    Raises:
        InputError: the baseline is not among the kernels.
    """
    labels = [kernel.label for kernel in kernels]
    if baseline is None:
        reference = f"{kernels[0].op}/python"
        return reference if reference in labels else labels[0]
    if not isinstance(baseline, Kernel | str):
        raise refusal("baseline", baseline, "a kernel or a label")
    label = baseline if isinstance(baseline, str) else baseline.label
    if label not in labels:
        raise InputError(f"baseline {shown(label)} is not among the kernels: {', '.join(labels)}")
    return label
