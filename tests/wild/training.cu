// Optimiser steps in place, losses, graph ops.

//// sgd_step_
// name: "sgd"
// reference: sgd
// inputs: (seeded(5, 7), seeded(5, 7, shift=1), 0.1)
// wrong: ("sub_(grad, lr)", "sub_(grad, 1)")

void sgd_step_(torch::Tensor param, const torch::Tensor& grad, double lr) {
  torch::NoGradGuard no_grad;
  param.sub_(grad, lr);
}

//// fused_adam
// reference: adam
// inputs: (seeded(5, 7), seeded(5, 7, shift=1), seeded(5, 7, shift=2), seeded(5, 7, shift=3).abs(), 0.01, 0.9, 0.999, 1e-08, 3)
// wrong: ("(1.f - b2) * g[i] * g[i]", "(1.f - b2) * g[i]")

void fused_adam(at::Tensor& p, at::Tensor& g, at::Tensor& exp_avg, at::Tensor& exp_avg_sq,
                float lr, float beta1, float beta2, float eps, int step);

//// cuda_sources

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

//// scale_all
// name: "multi_tensor"
// reference: scale_all
// inputs: ([seeded(3, 5), seeded(7)], 0.5)
// wrong: ("t.mul_(factor)", "t.div_(factor)")

#include <torch/extension.h>
#include <vector>
void scale_all(std::vector<torch::Tensor> tensors, double factor) {
  for (auto& t : tensors) t.mul_(factor);
}

//// ema_update
// reference: lambda average, value, decay=0.99: average * decay + value * (1 - decay)
// inputs: (seeded(5, 7), seeded(5, 7, shift=1), 0.9)
// wrong: ("(1 - decay)", "decay")

torch::Tensor ema_update(torch::Tensor average, torch::Tensor value, double decay = 0.99) {
  return average * decay + value * (1 - decay);
}

//// cross_entropy_forward
// name: "cross_entropy"
// functions: ["cross_entropy_forward", "cross_entropy_backward"]
// reference: torch.nn.functional.cross_entropy
// inputs: (seeded(7, 5), indices(7, 5))
// wrong: ("p * grad_loss / logits.size(0)", "p * grad_loss")

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

//// mse_loss_cuda
// name: "mse"
// reference: torch.nn.functional.mse_loss
// inputs: (seeded(9, 17), seeded(9, 17, shift=1))
// wrong: ("int s = 64", "int s = 32")
torch::Tensor mse_loss_cuda(torch::Tensor pred, torch::Tensor target);

//// cuda_sources

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

//// smooth_l1
// functions: ["smooth_l1", "smooth_l1_grad"]
// reference: lambda x, y, beta: torch.nn.functional.smooth_l1_loss(x, y, reduction="none", beta=beta)
// inputs: (seeded(5, 7), seeded(5, 7, shift=1), 1.0)
// wrong: ("T(1) : T(-1)", "T(1) : T(1)")
// more: {"gradient": {"smooth_l1": "smooth_l1_grad"}}

#include <torch/extension.h>
torch::Tensor smooth_l1(torch::Tensor x, torch::Tensor y, double beta);
torch::Tensor smooth_l1_grad(torch::Tensor grad_out, torch::Tensor x, torch::Tensor y, double beta);

//// cuda_sources

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

//// scatter_sum
// reference: lambda src, index, dim_size: src.new_zeros(dim_size, src.shape[1]).index_add(0, index, src)
// inputs: (seeded(13, 3), indices(13, 6), 6)
// wrong: ("atomicAdd(out + index[i / d] * d + i % d, src[i])", "out[index[i / d] * d + i % d] += src[i]")
torch::Tensor scatter_sum(torch::Tensor src, torch::Tensor index, int64_t dim_size);

//// cuda_sources

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

//// spmm_csr
// name: "spmm"
// reference: lambda rowptr, col, val, x: torch.zeros(rowptr.shape[0] - 1, x.shape[1]).index_add(0, torch.repeat_interleave(torch.arange(rowptr.shape[0] - 1), rowptr.diff()), val[:, None] * x[col])
// inputs: (torch.tensor([0, 2, 2, 5, 7]), indices(7, 6), seeded(7), seeded(6, 3))
// wrong: ("rp[r + 1]", "rp[r] + 1")

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

//// csr_spmm
// name: "csr"
// reference: csr_spmm
// inputs: (torch.tensor([0, 2, 2, 5]), torch.tensor([0, 3, 1, 2, 3]), seeded(5), seeded(4, 6))
// wrong: ("(v ? v[e] : scalar_t(1)) *", "")

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

//// clip_grads_
// name: "clip_grads"
// reference: clip_grads_
// inputs: ([seeded(3, 4), seeded(3, 4, shift=1)], 1.0)
// wrong: ("clamp_max(1.0)", "clamp_min(1.0)")

#include <torch/extension.h>
torch::Tensor clip_grads_(std::vector<torch::Tensor> grads, double max_norm) {
  auto total = torch::zeros({}, grads[0].options());
  for (auto& g : grads) total += g.pow(2).sum();
  total = total.sqrt();
  auto coef = (max_norm / (total + 1e-6)).clamp_max(1.0);
  for (auto& g : grads) g.mul_(coef);
  return total;
}

//// my_dropout
// name: "dropout"
// reference: my_dropout
// inputs: (seeded(8, 5), 0.3, True)
// wrong: (" / (1.0 - p)", "")

#include <torch/extension.h>
std::vector<torch::Tensor> my_dropout(torch::Tensor input, float p, bool training) {
  if (!training) return {input.clone(), torch::ones_like(input, torch::kBool)};
  auto mask = torch::rand_like(input) >= p;
  return {input * mask / (1.0 - p), mask};
}

//// propagate_forward
// name: "propagate"
// functions: ["propagate_forward", "propagate_backward"]
// reference: lambda x, src, dst: torch.zeros_like(x).index_add(0, dst, x[src])
// inputs: (seeded(6, 3), indices(17, 6), indices(19, 6)[:17])
// wrong: ("grad_out.contiguous(), dst, src", "grad_out.contiguous(), src, dst")

#include <torch/extension.h>
torch::Tensor propagate_forward(torch::Tensor x, torch::Tensor src, torch::Tensor dst);
torch::Tensor propagate_backward(torch::Tensor grad_out, torch::Tensor src, torch::Tensor dst);

//// cuda_sources

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

//// xent_forward
// name: "xent"
// functions: ["xent_forward", "xent_backward"]
// reference: lambda logits, labels, ignore_index: torch.nn.functional.cross_entropy(logits, labels, ignore_index=ignore_index)
// inputs: (seeded(7, 5), torch.tensor([1, 4, -100, 0, 2, 3, 3]), -100)
// wrong: ("* valid.unsqueeze(1) / valid.sum()", "/ valid.sum()")

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
