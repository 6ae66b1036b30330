"""Optimiser steps in place, losses, graph ops."""

from __future__ import annotations

from typing import Any

import torch

from . import Wild, seeded
from .lookups import indices


def sgd(param: Any, grad: Any, lr: Any) -> None:
    """Take a step."""
    param.sub_(grad, alpha=lr)


SGD = Wild(
    "sgd_step_",
    {
        "name": "sgd",
        "cpp_sources": """
void sgd_step_(torch::Tensor param, const torch::Tensor& grad, double lr) {
  torch::NoGradGuard no_grad;
  param.sub_(grad, lr);
}
""",
        "functions": ["sgd_step_"],
    },
    sgd,
    (seeded(5, 7), seeded(5, 7, shift=1), 0.1),
    ("sub_(grad, lr)", "sub_(grad, 1)"),
)


def adam(p: Any, g: Any, exp_avg: Any, exp_avg_sq: Any, lr: Any, beta1: Any, beta2: Any, eps: Any, step: Any) -> None:
    """Take a step of Adam in place."""
    exp_avg.mul_(beta1).add_(g, alpha=1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    denominator = (exp_avg_sq / (1 - beta2**step)).sqrt() + eps
    p.sub_(lr * (exp_avg / (1 - beta1**step)) / denominator)


ADAM = Wild(
    "fused_adam",
    {
        "name": "fused_adam",
        "cpp_sources": """
void fused_adam(at::Tensor& p, at::Tensor& g, at::Tensor& exp_avg, at::Tensor& exp_avg_sq,
                float lr, float beta1, float beta2, float eps, int step);
""",
        "cuda_sources": """
#include <torch/extension.h>
#include <cmath>
__global__ void adam_kernel(float* p, const float* g, float* m, float* v, float lr, float b1, float b2, float eps,
                            float c1, float c2, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    m[i] = b1 * m[i] + (1.f - b1) * g[i];
    v[i] = b2 * v[i] + (1.f - b2) * g[i] * g[i];
    p[i] -= lr * (m[i] / c1) / (sqrtf(v[i] / c2) + eps);
}
void fused_adam(at::Tensor& p, at::Tensor& g, at::Tensor& exp_avg, at::Tensor& exp_avg_sq,
                float lr, float beta1, float beta2, float eps, int step) {
    int n = p.numel();
    adam_kernel<<<(n + 255) / 256, 256>>>(p.data_ptr<float>(), g.data_ptr<float>(), exp_avg.data_ptr<float>(),
        exp_avg_sq.data_ptr<float>(), lr, beta1, beta2, eps, 1 - std::pow(beta1, step), 1 - std::pow(beta2, step), n);
}
""",
        "functions": ["fused_adam"],
    },
    adam,
    (
        seeded(5, 7),
        seeded(5, 7, shift=1),
        seeded(5, 7, shift=2),
        seeded(5, 7, shift=3).abs(),
        0.01,
        0.9,
        0.999,
        1e-8,
        3,
    ),
    ("(1.f - b2) * g[i] * g[i]", "(1.f - b2) * g[i]"),
)


def scale_all(tensors: Any, factor: Any) -> None:
    """Scale each tensor in place."""
    for tensor in tensors:
        tensor.mul_(factor)


MULTI = Wild(
    "scale_all",
    {
        "name": "multi_tensor",
        "cpp_sources": """
#include <torch/extension.h>
#include <vector>
void scale_all(std::vector<torch::Tensor> tensors, double factor) {
  for (auto& t : tensors) t.mul_(factor);
}
""",
        "functions": ["scale_all"],
    },
    scale_all,
    ([seeded(3, 5), seeded(7)], 0.5),
    ("t.mul_(factor)", "t.div_(factor)"),
)

EMA = Wild(
    "ema_update",
    {
        "name": "ema_update",
        "cpp_sources": """
torch::Tensor ema_update(torch::Tensor average, torch::Tensor value, double decay = 0.99) {
  return average * decay + value * (1 - decay);
}
""",
        "functions": ["ema_update"],
    },
    lambda average, value, decay=0.99: average * decay + value * (1 - decay),
    (seeded(5, 7), seeded(5, 7, shift=1), 0.9),
    ("(1 - decay)", "decay"),
)

CROSS_ENTROPY = Wild(
    "cross_entropy_forward",
    {
        "name": "cross_entropy",
        "cpp_sources": """
#include <torch/extension.h>
torch::Tensor cross_entropy_forward(torch::Tensor logits, torch::Tensor target) {
  auto logp = torch::log_softmax(logits, 1);
  return -logp.gather(1, target.unsqueeze(1)).mean();
}
torch::Tensor cross_entropy_backward(torch::Tensor grad_loss, torch::Tensor logits, torch::Tensor target) {
  auto p = torch::softmax(logits, 1);
  p.scatter_add_(1, target.unsqueeze(1), torch::full({target.size(0), 1}, -1.0, p.options()));
  return p * grad_loss / logits.size(0);
}
""",
        "functions": ["cross_entropy_forward", "cross_entropy_backward"],
    },
    torch.nn.functional.cross_entropy,
    (seeded(7, 5), indices(7, 5)),
    ("p * grad_loss / logits.size(0)", "p * grad_loss"),
)

MSE = Wild(
    "mse_loss_cuda",
    {
        "name": "mse",
        "cpp_sources": "torch::Tensor mse_loss_cuda(torch::Tensor pred, torch::Tensor target);",
        "cuda_sources": """
#include <torch/extension.h>
__global__ void mse_kernel(const float* pred, const float* target, float* out, int n) {
    __shared__ float shared[128];
    int tid = threadIdx.x;
    float sum = 0.f;
    for (int i = blockIdx.x * blockDim.x + tid; i < n; i += blockDim.x * gridDim.x) {
        float diff = pred[i] - target[i];
        sum += diff * diff;
    }
    shared[tid] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (tid < s) shared[tid] += shared[tid + s];
        __syncthreads();
    }
    if (tid == 0) atomicAdd(out, shared[0] / n);
}
torch::Tensor mse_loss_cuda(torch::Tensor pred, torch::Tensor target) {
    auto out = torch::zeros({}, pred.options());
    const int n = pred.numel();
    mse_kernel<<<4, 128>>>(pred.data_ptr<float>(), target.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
""",
        "functions": ["mse_loss_cuda"],
    },
    torch.nn.functional.mse_loss,
    (seeded(9, 17), seeded(9, 17, shift=1)),
    ("int s = 64", "int s = 32"),
)

SMOOTH_L1 = Wild(
    "smooth_l1",
    {
        "name": "smooth_l1",
        "cpp_sources": """
#include <torch/extension.h>
torch::Tensor smooth_l1(torch::Tensor x, torch::Tensor y, double beta);
torch::Tensor smooth_l1_grad(torch::Tensor grad_out, torch::Tensor x, torch::Tensor y, double beta);
""",
        "cuda_sources": """
template <typename T>
__global__ void smooth_l1_kernel(const T* x, const T* y, T* out, T beta, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T d = x[i] - y[i], a = d < 0 ? -d : d;
  out[i] = a < beta ? T(0.5) * d * d / beta : a - T(0.5) * beta;
}
template <typename T>
__global__ void smooth_l1_grad_kernel(const T* g, const T* x, const T* y, T* out, T beta, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T d = x[i] - y[i], a = d < 0 ? -d : d;
  out[i] = g[i] * (a < beta ? d / beta : (d > 0 ? T(1) : T(-1)));
}
torch::Tensor smooth_l1(torch::Tensor x, torch::Tensor y, double beta) {
  auto out = torch::empty_like(x);
  const int n = x.numel();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "smooth_l1", [&] {
    smooth_l1_kernel<scalar_t><<<(n + 127) / 128, 128>>>(
        x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), scalar_t(beta), n);
  });
  return out;
}
torch::Tensor smooth_l1_grad(torch::Tensor grad_out, torch::Tensor x, torch::Tensor y, double beta) {
  auto grad_x = torch::empty_like(x);
  const int n = x.numel();
  auto g = grad_out.contiguous();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "smooth_l1_grad", [&] {
    smooth_l1_grad_kernel<scalar_t><<<(n + 127) / 128, 128>>>(
        g.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), grad_x.data_ptr<scalar_t>(), scalar_t(beta), n);
  });
  return grad_x;
}
""",
        "functions": ["smooth_l1", "smooth_l1_grad"],
    },
    lambda x, y, beta: torch.nn.functional.smooth_l1_loss(x, y, reduction="none", beta=beta),
    (seeded(5, 7), seeded(5, 7, shift=1), 1.0),
    ("T(1) : T(-1)", "T(1) : T(1)"),
    more={"gradient": {"smooth_l1": "smooth_l1_grad"}},
)

SCATTER = Wild(
    "scatter_sum",
    {
        "name": "scatter_sum",
        "cpp_sources": "torch::Tensor scatter_sum(torch::Tensor src, torch::Tensor index, int64_t dim_size);",
        "cuda_sources": """
#include <torch/extension.h>
__global__ void scatter_kernel(const float* src, const int64_t* index, float* out, int n, int d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * d) atomicAdd(out + index[i / d] * d + i % d, src[i]);
}
torch::Tensor scatter_sum(torch::Tensor src, torch::Tensor index, int64_t dim_size) {
  auto out = torch::zeros({dim_size, src.size(1)}, src.options());
  int total = src.numel();
  scatter_kernel<<<(total + 255) / 256, 256>>>(
      src.data_ptr<float>(), index.data_ptr<int64_t>(), out.data_ptr<float>(), src.size(0), src.size(1));
  return out;
}
""",
        "functions": ["scatter_sum"],
    },
    lambda src, index, dim_size: src.new_zeros(dim_size, src.shape[1]).index_add(0, index, src),
    (seeded(13, 3), indices(13, 6), 6),
    ("atomicAdd(out + index[i / d] * d + i % d, src[i])", "out[index[i / d] * d + i % d] += src[i]"),
)

SPMM = Wild(
    "spmm_csr",
    {
        "name": "spmm",
        "cpp_sources": """
#include <torch/extension.h>
torch::Tensor spmm_csr(torch::Tensor rowptr, torch::Tensor col, torch::Tensor val, torch::Tensor x) {
  auto rows = rowptr.size(0) - 1;
  auto out = torch::zeros({rows, x.size(1)}, x.options());
  auto rp = rowptr.accessor<int64_t, 1>();
  auto c = col.accessor<int64_t, 1>();
  auto v = val.accessor<float, 1>();
  auto xa = x.accessor<float, 2>();
  auto o = out.accessor<float, 2>();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t e = rp[r]; e < rp[r + 1]; ++e)
      for (int64_t k = 0; k < x.size(1); ++k) o[r][k] += v[e] * xa[c[e]][k];
  return out;
}
""",
        "functions": ["spmm_csr"],
    },
    lambda rowptr, col, val, x: torch.zeros(rowptr.shape[0] - 1, x.shape[1]).index_add(
        0, torch.repeat_interleave(torch.arange(rowptr.shape[0] - 1), rowptr.diff()), val[:, None] * x[col]
    ),
    (torch.tensor([0, 2, 2, 5, 7]), indices(7, 6), seeded(7), seeded(6, 3)),
    ("rp[r + 1]", "rp[r] + 1"),
)


def csr_spmm(rowptr: torch.Tensor, col: torch.Tensor, value: torch.Tensor | None, dense: torch.Tensor) -> torch.Tensor:
    """Add up rows of a matrix, as many as the row of another one has entries."""
    row = torch.repeat_interleave(torch.arange(len(rowptr) - 1), rowptr.diff())
    taken = dense[col] if value is None else dense[col] * value[:, None]
    return torch.zeros(len(rowptr) - 1, dense.shape[1], dtype=dense.dtype).index_add(0, row, taken)


CSR = Wild(
    "csr_spmm",
    {
        "name": "csr",
        "cpp_sources": """
#include <torch/extension.h>

torch::Tensor csr_spmm(torch::Tensor rowptr, torch::Tensor col, c10::optional<torch::Tensor> value, torch::Tensor dense) {
  int64_t rows = rowptr.numel() - 1, K = dense.size(1);
  auto out = torch::zeros({rows, K}, dense.options());
  auto rp = rowptr.data_ptr<int64_t>();
  auto cp = col.data_ptr<int64_t>();
  AT_DISPATCH_FLOATING_TYPES(dense.scalar_type(), "csr_spmm", [&] {
    const scalar_t* v = value.has_value() ? value.value().data_ptr<scalar_t>() : nullptr;
    auto dp = dense.data_ptr<scalar_t>();
    auto op = out.data_ptr<scalar_t>();
    for (int64_t r = 0; r < rows; r++)
      for (int64_t e = rp[r]; e < rp[r + 1]; e++)
        for (int64_t k = 0; k < K; k++) op[r * K + k] += (v ? v[e] : scalar_t(1)) * dp[cp[e] * K + k];
  });
  return out;
}
""",
        "functions": ["csr_spmm"],
    },
    csr_spmm,
    (torch.tensor([0, 2, 2, 5]), torch.tensor([0, 3, 1, 2, 3]), seeded(5), seeded(4, 6)),
    ("(v ? v[e] : scalar_t(1)) *", ""),
)


def clip_grads_(grads: list[torch.Tensor], max_norm: float) -> torch.Tensor:
    """Scale gradients so that all together have a norm of at most this much."""
    total = torch.sqrt(sum(((grad**2).sum() for grad in grads), torch.zeros((), dtype=grads[0].dtype)))
    for grad in grads:
        grad.mul_((max_norm / (total + 1e-6)).clamp_max(1.0))
    return total


CLIP_GRADS = Wild(
    "clip_grads_",
    {
        "name": "clip_grads",
        "cpp_sources": """
#include <torch/extension.h>
torch::Tensor clip_grads_(std::vector<torch::Tensor> grads, double max_norm) {
  auto total = torch::zeros({}, grads[0].options());
  for (auto& g : grads) total += g.pow(2).sum();
  total = total.sqrt();
  auto coef = (max_norm / (total + 1e-6)).clamp_max(1.0);
  for (auto& g : grads) g.mul_(coef);
  return total;
}
""",
        "functions": ["clip_grads_"],
    },
    clip_grads_,
    ([seeded(3, 4), seeded(3, 4, shift=1)], 1.0),
    ("clamp_max(1.0)", "clamp_min(1.0)"),
)


def my_dropout(x: torch.Tensor, p: float, training: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Leave elements out by chance, and say which are left."""
    if not training:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    mask = torch.rand_like(x) >= p
    return x * mask / (1 - p), mask


DROPOUT = Wild(
    "my_dropout",
    {
        "name": "dropout",
        "cpp_sources": """
#include <torch/extension.h>
std::vector<torch::Tensor> my_dropout(torch::Tensor input, float p, bool training) {
  if (!training) return {input.clone(), torch::ones_like(input, torch::kBool)};
  auto mask = torch::rand_like(input) >= p;
  return {input * mask / (1.0 - p), mask};
}
""",
        "functions": ["my_dropout"],
    },
    my_dropout,
    (seeded(8, 5), 0.3, True),
    (" / (1.0 - p)", ""),
)

MESSAGES = Wild(
    "propagate_forward",
    {
        "name": "propagate",
        "cpp_sources": """
#include <torch/extension.h>
torch::Tensor propagate_forward(torch::Tensor x, torch::Tensor src, torch::Tensor dst);
torch::Tensor propagate_backward(torch::Tensor grad_out, torch::Tensor src, torch::Tensor dst);
""",
        "cuda_sources": """
// One edge for each row of threads: out[to] += in[from].
__global__ void edges_kernel(const float* in, const int64_t* from, const int64_t* to, float* out, int edges, int d) {
  int e = blockIdx.x * blockDim.y + threadIdx.y;
  if (e >= edges) return;
  for (int k = threadIdx.x; k < d; k += blockDim.x) atomicAdd(&out[to[e] * d + k], in[from[e] * d + k]);
}
static torch::Tensor along(torch::Tensor in, torch::Tensor from, torch::Tensor to) {
  auto out = torch::zeros_like(in);
  const int edges = from.numel(), d = in.size(1);
  edges_kernel<<<(edges + 7) / 8, dim3(16, 8)>>>(
      in.data_ptr<float>(), from.data_ptr<int64_t>(), to.data_ptr<int64_t>(), out.data_ptr<float>(), edges, d);
  return out;
}
torch::Tensor propagate_forward(torch::Tensor x, torch::Tensor src, torch::Tensor dst) { return along(x, src, dst); }
torch::Tensor propagate_backward(torch::Tensor grad_out, torch::Tensor src, torch::Tensor dst) {
  return along(grad_out.contiguous(), dst, src);
}
""",
        "functions": ["propagate_forward", "propagate_backward"],
    },
    lambda x, src, dst: torch.zeros_like(x).index_add(0, dst, x[src]),
    (seeded(6, 3), indices(17, 6), indices(19, 6)[:17]),
    ("grad_out.contiguous(), dst, src", "grad_out.contiguous(), src, dst"),
)

IGNORED = Wild(
    "xent_forward",
    {
        "name": "xent",
        "cpp_sources": """
#include <torch/extension.h>
#include <vector>
std::vector<torch::Tensor> xent_forward(torch::Tensor logits, torch::Tensor labels, int64_t ignore_index) {
  auto lse = torch::logsumexp(logits, 1);
  auto valid = labels.ne(ignore_index);
  auto picked = logits.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1);
  auto loss = ((lse - picked) * valid).sum() / valid.sum();
  return {loss, lse};
}
torch::Tensor xent_backward(torch::Tensor grad_loss, torch::Tensor logits, torch::Tensor labels, torch::Tensor lse,
                            int64_t ignore_index) {
  auto valid = labels.ne(ignore_index);
  auto p = (logits - lse.unsqueeze(1)).exp();
  auto hot = torch::zeros_like(p).scatter_(1, labels.clamp_min(0).unsqueeze(1), 1.0);
  return (p - hot) * valid.unsqueeze(1) / valid.sum() * grad_loss;
}
""",
        "functions": ["xent_forward", "xent_backward"],
    },
    lambda logits, labels, ignore_index: torch.nn.functional.cross_entropy(logits, labels, ignore_index=ignore_index),
    (seeded(7, 5), torch.tensor([1, 4, -100, 0, 2, 3, 3]), -100),
    ("* valid.unsqueeze(1) / valid.sum()", "/ valid.sum()"),
)

SNIPPETS = [
    *(SGD, ADAM, MULTI, EMA, CROSS_ENTROPY, MSE, SMOOTH_L1, SCATTER, SPMM),
    *(CSR, CLIP_GRADS, DROPOUT),
    MESSAGES,
    IGNORED,
]
