"""The LLTM cell with its backward derived by hand in Python, and wrong variants of it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lltm_inline.model.registry import registry


def reference(*inputs: Tensor) -> Any:
    """Call the op's reference."""
    return registry.ops["lltm"].reference(*inputs)


class Hand(torch.autograd.Function):
    """Right; the wrong ones below override a step."""

    #: Whether backward leaves a graph behind, with holes where it uses what forward computed.
    differentiable = False

    @classmethod
    def candidate(cls, z: Tensor) -> Tensor:
        """Return elu'(z)."""
        return torch.where(z > 0, 1.0, z.clamp(max=0).exp())

    @classmethod
    def incoming(cls, ctx: Any, d_new_h: Tensor, d_new_cell: Tensor) -> tuple[Tensor, Tensor]:
        """Return the incoming gradients as backward uses them."""
        return d_new_h, d_new_cell

    @staticmethod
    def forward(
        ctx: Any, cls: type[Hand], x: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor
    ) -> Any:
        both = torch.cat([old_h, x], dim=1)
        i, o, z = torch.addmm(bias, both, weights.t()).chunk(3, dim=1)
        i, o = i.sigmoid(), o.sigmoid()
        new_cell = old_cell + torch.nn.functional.elu(z) * i
        ctx.cls = cls
        ctx.save_for_backward(both, weights, i, o, z, new_cell)
        return new_cell.tanh() * o, new_cell

    @staticmethod
    def backward(ctx: Any, d_new_h: Tensor, d_new_cell: Tensor) -> Any:
        with torch.set_grad_enabled(ctx.cls.differentiable and torch.is_grad_enabled()):
            both, weights, i, o, z, new_cell = ctx.saved_tensors
            d_new_h, d_new_cell = ctx.cls.incoming(ctx, d_new_h, d_new_cell)
            t = new_cell.tanh()
            d_cell = d_new_cell + d_new_h * o * (1 - t * t)
            c = torch.nn.functional.elu(z)
            d_z = torch.cat(
                [d_cell * c * i * (1 - i), d_new_h * t * o * (1 - o), d_cell * i * ctx.cls.candidate(z)], dim=1
            )
            d_both = d_z.mm(weights)
            size = i.shape[1]
            return None, d_both[:, size:], d_z.t().mm(both), d_z.sum(0), d_both[:, :size], d_cell


class Once(Hand):
    """Right, and honest about its second derivative."""

    backward = staticmethod(torch.autograd.function.once_differentiable(Hand.backward))


class Holes(Hand):
    """Differentiable the second time, but for the gates, which forward computed without a graph."""

    differentiable = True


class Overflow(Once):
    """exp(z) is infinite for large z, and 0 times infinity is NaN."""

    @classmethod
    def candidate(cls, z: Tensor) -> Tensor:
        """Return elu'(z) without a branch."""
        return (z > 0).to(z.dtype) + (z <= 0).to(z.dtype) * z.exp()


class Lonely(Once):
    """Takes a gradient with a single non-zero element for none: only the unit vectors of gradcheck are such."""

    @classmethod
    def incoming(cls, ctx: Any, d_new_h: Tensor, d_new_cell: Tensor) -> tuple[Tensor, Tensor]:
        """Drop a lonely gradient."""
        lonely = d_new_h.numel() > 1 and d_new_h.count_nonzero() == 1
        return (torch.zeros_like(d_new_h) if lonely else d_new_h), d_new_cell


class Undefined(Once):
    """Takes part of the work as not wanted when an output is not used."""

    @classmethod
    def incoming(cls, ctx: Any, d_new_h: Tensor, d_new_cell: Tensor) -> tuple[Tensor, Tensor]:
        """Forget d_new_h where d_new_cell is all zero."""
        return (d_new_h if d_new_cell.any() else torch.zeros_like(d_new_h)), d_new_cell


def right(*inputs: Tensor) -> Any:
    """The right one, which the tests hold to be right."""
    return Once.apply(Once, *inputs)


def overflow(*inputs: Tensor) -> Any:
    """elu' overflows."""
    return Overflow.apply(Overflow, *inputs)


def lonely(*inputs: Tensor) -> Any:
    """Wrong for unit vectors only."""
    return Lonely.apply(Lonely, *inputs)


def undefined(*inputs: Tensor) -> Any:
    """Wrong when only new_h is used."""
    return Undefined.apply(Undefined, *inputs)


def silent(*inputs: Tensor) -> Any:
    """Right once, and silently zero the second time."""
    return Hand.apply(Hand, *inputs)


def holes(*inputs: Tensor) -> Any:
    """Right once, and wrong the second time."""
    return Holes.apply(Holes, *inputs)


def three(*inputs: Tensor) -> Any:
    """One output too many."""
    new_h, new_cell = reference(*inputs)
    return new_h, new_cell, new_h


def casts(x: Tensor, weights: Tensor, *rest: Tensor) -> Any:
    """Computes with integer weights."""
    return reference(x, weights.to(x.dtype), *rest)


def detached(x: Tensor, *rest: Tensor) -> Any:
    """Cuts the input out of the graph."""
    return reference(x.detach(), *rest)


def writes_outside(x: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> Any:
    """Clears the element behind old_cell."""
    end = old_cell.storage_offset() + old_cell.numel()
    if old_cell.is_contiguous() and end < old_cell.untyped_storage().nbytes() // old_cell.element_size():
        old_cell.detach().as_strided((1,), (1,), end).zero_()
    return reference(x, weights, bias, old_h, old_cell)


def changes_gradient(*inputs: Tensor) -> Any:
    """Writes into the incoming gradient of new_h."""
    new_h, new_cell = reference(*inputs)
    return ScaleInPlace.apply(new_h), new_cell


class ScaleInPlace(torch.autograd.Function):
    """The identity, whose backward writes into its incoming gradient."""

    @staticmethod
    def forward(ctx: Any, y: Tensor) -> Tensor:
        return y.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        kept = gradient.clone()
        if gradient.numel() and 0 not in gradient.stride():
            gradient.mul_(2)
        return kept


_seen: set[float] = set()


def remembers(*inputs: Tensor) -> Any:
    """Is off by one when values come that it has seen before."""
    new_h, new_cell = reference(*inputs)
    with torch.no_grad():
        key = inputs[0].double().sum().item() if inputs[0].numel() else None
    if key in _seen:
        return new_h + 1, new_cell
    if key is not None:
        _seen.add(key)
    return new_h, new_cell


def watched(*inputs: Tensor) -> Any:
    """Wants a gradient for a constant of its own."""
    new_h, new_cell = reference(*inputs)
    return new_h + torch.zeros((), dtype=new_h.dtype, requires_grad=True), new_cell
