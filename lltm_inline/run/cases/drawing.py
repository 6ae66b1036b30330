"""Draws the inputs and the incoming gradients of a case, the same ones each time."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ...base.device import DEVICES
from ...model.op import of_dtype
from ...model.registry import Op
from ..compare import dtype_name
from ..function import differentiable, each
from .case import Case
from .layouts import alike
from .values import VALUES, takes

#: A seed that no kernel uses: one that reseeds torch with it would draw the reference's numbers.
SEED = 20_260_923
#: From which other inputs follow than everybody's; empty for those.
SECRET: ContextVar[bytes] = ContextVar("lltm_inline_secret", default=b"")


@contextmanager
def secret(seed: bytes) -> Iterator[None]:
    """Have inputs and incoming gradients drawn from a seed that only the caller knows."""
    token = SECRET.set(seed)
    try:
        yield
    finally:
        SECRET.reset(token)


def generator(*what: Any) -> torch.Generator:
    """Return the generator from which something is drawn: the same numbers each time."""
    text = repr(what).encode()
    if seed := SECRET.get():
        return torch.Generator().manual_seed(int.from_bytes(hashlib.blake2b(text, key=seed[:64]).digest()[:7]))
    return torch.Generator().manual_seed(zlib.crc32(text))


@contextmanager
def seeded(device: str = "cpu", seed: int = SEED) -> Iterator[Callable[[], bool]]:
    """Seed torch's random numbers, and restore their state afterwards; what it yields tells whether any was drawn."""
    gpu = DEVICES[device].needs_gpu
    with torch.random.fork_rng(devices=None if gpu else []):
        # torch.manual_seed takes down the stack for each kind of accelerator: a fifth of a small kernel's check.
        (torch.manual_seed if gpu else torch.default_generator.manual_seed)(seed)
        before = torch.get_rng_state()
        yield lambda: not torch.equal(torch.get_rng_state(), before)


def make_inputs(op: Op, case: Case) -> tuple[Any, ...]:
    """Make the inputs of a case, the same ones each time."""
    example = getattr(op.inputs, "example", None)
    if case.given and example is not None:
        return tuple(example(case.dtype))
    draw = generator(op.name, case.size)

    def randn(*shape: int) -> Tensor:
        return of_dtype(torch.randn(shape, dtype=torch.float64, generator=draw), dtype_name(case.dtype))

    with seeded(seed=draw.initial_seed()):  # an op may draw indices and masks by itself
        inputs = op.make_inputs(randn, case.size)
    numbers = dict(case.numbers)
    made: list[Any] = []
    for argument, value in zip(op.signature.inputs, inputs, strict=True):
        if case.view is not None and argument.name in op.any_rank:
            value = each(value, partial(torch.reshape, shape=case.view))
        if argument.name in case.without:
            value = None
        elif argument.name in numbers:
            value = numbers[argument.name]
        elif argument.is_list and case.members is not None:
            value = value[: case.members]
        elif case.gain != 1:
            value = each(
                value, lambda one: one * case.gain if differentiable(one) and (op.corners or _is_any(one)) else one
            )
        elif case.values and case.only in ("", argument.name) and takes(argument, case.values, case.dtype):
            value = each(value, partial(_with_values, name=case.values, signed=op.corners))
        laid = dict(case.laid).get(argument.name, "")
        made.append(each(value, partial(alike, layout=laid)) if laid else value)
    return tuple(made)


def _is_any(value: Tensor) -> bool:
    """Tell whether numbers are not all between 0 and 1, as shares and probabilities are."""
    return value.is_complex() or bool(((value < 0) | (value > 1)).any())


def is_yes_or_no(value: Tensor) -> bool:
    """Tell whether there is nothing but 0 and 1 in a tensor, as in labels and masks."""
    return bool(((value == 0) | (value == 1)).all())


def is_label(value: Any) -> bool:
    """Tell whether a tensor of real numbers says yes or no: both are there, and no ones or zeros alone, as scales and shifts begin with."""
    return (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value.numel() > 0
        and bool(value.min() < value.max())
        and is_yes_or_no(value)
    )


def _with_values(value: Tensor, name: str, signed: bool) -> Tensor:
    """Put numbers into every element of a tensor, or every second one; where signs may matter, none into one without any.

    Labels of 0 and 1 stay what they are, and numbers in order stay so, where that may matter.
    """
    values = VALUES[name]
    if value.dtype not in values.dtypes or (not (signed or value.is_complex()) and is_yes_or_no(value)):
        return value
    parts = torch.view_as_real(value) if value.is_complex() else value
    if values.last and not callable(values.numbers):
        return _with_last(value, values.numbers[0])
    flat = parts.clone().flatten()
    places = slice(1 if values.mixed and flat.numel() > 1 else 0, None, 2 if values.mixed else 1)
    found = values.numbers(flat.dtype, flat.numel()) if callable(values.numbers) else values.numbers
    numbers = torch.tensor(found, dtype=flat.dtype)
    filling = flat.view(value.shape[0], -1) if values.rows and value.dim() > 1 and value.numel() else flat.unsqueeze(1)
    count = filling[places].shape[0]
    filling[places] = numbers.repeat(count // len(numbers) + 1)[:count].unsqueeze(1)
    filled = flat.view(parts.shape) if signed or (parts < 0).any() else flat.view(parts.shape).abs()
    if not signed and filled.dim() and not value.is_complex() and bool((value.diff() >= 0).all()):
        filled = filled.sort().values  # what was in order may have to be
    return torch.view_as_complex(filled) if value.is_complex() else filled


def _with_last(value: Tensor, times: float) -> Tensor:
    """Have the largest or the least numbers of all in the last row and column; of shares and the like they stay among the others.

    They rise up to the last one, as which of equal numbers has the gradient is anybody's choice.
    """
    if not value.numel() or not value.dim():
        return value
    most = times * value.abs().max() if _is_any(value) else value.max() if times > 0 else value.min()
    first = 5 / 6 if _is_any(value) else 1 - times / 150
    rising = torch.linspace(first, 1, value.numel(), dtype=torch.float64).view(value.shape)
    value = value.clone()
    value[-1], value[..., -1] = most * rising[-1], most * rising[..., -1]
    return value


def make_grads(op: Op, case: Case, outputs: Sequence[Tensor], dtypes: Sequence[torch.dtype]) -> tuple[Tensor, ...]:
    """Make the incoming gradients of a case; expanded ones hold one value each."""
    draw = generator(op.name, case.size, "grads")
    if case.grads == "expanded":
        parts = [(0.75 + number) * (1 + 0.5j if d.is_complex else 1) for number, d in enumerate(dtypes)]
        return tuple(torch.full(one.shape, part, dtype=d) for one, part, d in zip(outputs, parts, dtypes, strict=True))
    grads = (torch.randn(output.shape, dtype=torch.float64, generator=draw) for output in outputs)
    laid = [case.layout_of_grad(result.name) for result in op.signature.results]
    made = (
        of_dtype(grad, dtype_name(d)) if d.is_complex else grad.to(d) for grad, d in zip(grads, dtypes, strict=True)
    )
    return tuple(alike(grad, how) for grad, how in zip(made, laid, strict=True))
