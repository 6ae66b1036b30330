"""What the snippets compute, in PyTorch, and their example inputs, where that does not fit into a line before their texts."""

from __future__ import annotations

import math  # noqa: F401, which a line before a text uses
from typing import Any

import torch


def seeded(*shape: int, dtype: torch.dtype = torch.float32, shift: int = 0) -> torch.Tensor:
    """Draw example inputs, the same in every run."""
    generator = torch.Generator().manual_seed(sum(shape) + shift)
    return torch.randn(*shape, generator=generator).to(dtype)


# Idioms


def lstm(x: Any, h: Any, c: Any, W: Any, b: Any) -> Any:
    """Take a step of an LSTM."""
    i, f, g, o = (torch.cat([x, h], 1) @ W.t() + b).chunk(4, 1)
    new_c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * new_c.tanh(), new_c


def sobel(image: Any) -> Any:
    """Return the magnitude of the gradient, zero at the borders."""
    row = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    both = torch.nn.functional.conv2d(image[None, None], torch.stack([row, row.t()])[:, None])[0]
    return torch.nn.functional.pad(both.square().sum(0).sqrt(), (1, 1, 1, 1))


# Matrix products and attention


def attend(q: Any, k: Any, v: Any, mask: Any, scale: Any) -> Any:
    """Compute masked attention."""
    scores = q @ k.transpose(-2, -1) * scale
    if mask is not None:
        scores = scores + mask
    return torch.softmax(scores, -1) @ v


# Lookups, sampling, quantisation


def indices(count: int, below: int) -> torch.Tensor:
    """Draw example indices."""
    return torch.randint(0, below, (count,), generator=torch.Generator().manual_seed(count))


def rotate(positions: Any, query: Any, cos_sin: Any) -> None:
    """Rotate pairs of `query` in place, as GPT-J has them."""
    cos, sin = cos_sin[positions].chunk(2, -1)
    x, y = query[..., ::2].clone(), query[..., 1::2].clone()
    query[..., ::2] = x * cos - y * sin
    query[..., 1::2] = x * sin + y * cos


def pack_bits(mask: torch.Tensor) -> torch.Tensor:
    """Put eight answers into a byte, the first one lowest."""
    padded = torch.nn.functional.pad(mask.to(torch.uint8), (0, -mask.shape[1] % 8))
    return (padded.view(len(mask), -1, 8) << torch.arange(8)).sum(-1).to(torch.uint8)


def rotate_half(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate the first half of the features with the second, as LLaMA has them."""
    low, high = x.chunk(2, -1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1)


def keep_top(scores: torch.Tensor, k: int) -> torch.Tensor:
    """Put -inf in the place of all but the k largest of each row."""
    values, places = scores.topk(k, -1)
    return torch.full_like(scores, float("-inf")).scatter(-1, places, values)


def assigned(points: Any, centroids: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which centroid is nearest to each point, and how far it is, squared."""
    distance, label = ((points[:, None] - centroids) ** 2).sum(-1).min(1)
    return label, distance


# Normalisation


def add_rms_norm(input: Any, residual: Any, weight: Any, epsilon: Any) -> None:
    """Do what `fused_add_rms_norm` does to its first two arguments."""
    residual += input
    input.copy_(torch.nn.functional.rms_norm(residual, (residual.shape[1],), weight, epsilon))


# Optimiser steps in place, losses, graph ops


def sgd(param: Any, grad: Any, lr: Any) -> None:
    """Take a step."""
    param.sub_(grad, alpha=lr)


def adam(p: Any, g: Any, exp_avg: Any, exp_avg_sq: Any, lr: Any, beta1: Any, beta2: Any, eps: Any, step: Any) -> None:
    """Take a step of Adam in place."""
    exp_avg.mul_(beta1).add_(g, alpha=1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    denominator = (exp_avg_sq / (1 - beta2**step)).sqrt() + eps
    p.sub_(lr * (exp_avg / (1 - beta1**step)) / denominator)


def scale_all(tensors: Any, factor: Any) -> None:
    """Scale each tensor in place."""
    for tensor in tensors:
        tensor.mul_(factor)


def csr_spmm(rowptr: torch.Tensor, col: torch.Tensor, value: torch.Tensor | None, dense: torch.Tensor) -> torch.Tensor:
    """Add up rows of a matrix, as many as the row of another one has entries."""
    row = torch.repeat_interleave(torch.arange(len(rowptr) - 1), rowptr.diff())
    taken = dense[col] if value is None else dense[col] * value[:, None]
    return torch.zeros(len(rowptr) - 1, dense.shape[1], dtype=dense.dtype).index_add(0, row, taken)


def clip_grads_(grads: list[torch.Tensor], max_norm: float) -> torch.Tensor:
    """Scale gradients so that all together have a norm of at most this much."""
    total = torch.sqrt(sum(((grad**2).sum() for grad in grads), torch.zeros((), dtype=grads[0].dtype)))
    for grad in grads:
        grad.mul_((max_norm / (total + 1e-6)).clamp_max(1.0))
    return total


def my_dropout(x: torch.Tensor, p: float, training: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Leave elements out by chance, and say which are left."""
    if not training:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    mask = torch.rand_like(x) >= p
    return x * mask / (1 - p), mask


# Images and boxes


def boxes(count: int, shift: int = 0) -> torch.Tensor:
    """Draw example boxes, (x1, y1, x2, y2)."""
    corner = seeded(count, 2, shift=shift) / 2
    return torch.cat([corner, corner + seeded(count, 2, shift=shift + 1).abs() + 0.5], 1)


def iou(a: Any, b: Any) -> Any:
    """Return the overlap of each two boxes."""
    low, high = torch.maximum(a[:, None, :2], b[:, :2]), torch.minimum(a[:, None, 2:], b[:, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area = (a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1)
    return shared / (area - shared)


def keep(dets: Any, scores: Any, threshold: Any) -> Any:
    """Return the boxes that no better one covers."""
    order = scores.argsort(descending=True, stable=True)
    left, kept = order.tolist(), []
    overlap = iou(dets, dets)
    while left:
        best = left.pop(0)
        kept.append(best)
        left = [other for other in left if not overlap[best, other] > threshold]
    return torch.tensor(kept, dtype=torch.int64)


def nearest(xyz1: Any, xyz2: Any) -> Any:
    """Return for each point the squared distance to the nearest one, and which that is."""
    distance, index = ((xyz1[:, None] - xyz2) ** 2).sum(-1).min(1)
    return distance, index.int()


def rois(randn: Any, C: int, R: int) -> tuple[Any, ...]:
    """Make an image, and boxes that lie in it."""
    low = (randn(R, 2).abs() * 2).clamp(max=4).long()
    return randn(C, 9, 11), torch.cat([low, low + (randn(R, 2).abs() * 2).clamp(max=4).long()], 1)


def sample(image: Any, rois: Any, P: Any) -> Any:
    """Take P times P values from each box, between pixels."""
    H, W = image.shape[1:]
    size = (rois[:, 2:] - rois[:, :2]).clamp(min=1.0) / P
    at = rois[:, :2, None] + (torch.arange(P, dtype=rois.dtype) + 0.5) * size[..., None]
    x, y = (at[:, 0].clamp(0, W - 1)[:, None, :], at[:, 1].clamp(0, H - 1)[:, :, None])
    x0, y0 = x.floor().long(), y.floor().long()
    x1, y1 = (x0 + 1).clamp(max=W - 1), (y0 + 1).clamp(max=H - 1)
    fx, fy = x - x0, y - y0
    top = image[:, y0, x0] * (1 - fx) + image[:, y0, x1] * fx
    low = image[:, y1, x0] * (1 - fx) + image[:, y1, x1] * fx
    return (top * (1 - fy) + low * fy).transpose(0, 1)
