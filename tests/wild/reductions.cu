// Reductions, scans, softmax and normalisation: a row, a block, a warp.

//// reduce_sum
// reference: lambda input: input.sum().reshape(1)
// inputs: (seeded(37),)
// wrong: ("stride >= 1", "stride > 1")
torch::Tensor reduce_sum(torch::Tensor input);

//// cuda_sources

#include <torch/extension.h>
#define BLOCK_DIM 128

__global__ void sum_kernel(const float* input, float* output, int n) {
    __shared__ float input_s[BLOCK_DIM];
    unsigned int segment = 2 * blockDim.x * blockIdx.x;
    unsigned int i = segment + threadIdx.x;
    unsigned int t = threadIdx.x;
    float v = 0.0f;
    if (i < n) v += input[i];
    if (i + BLOCK_DIM < n) v += input[i + BLOCK_DIM];
    input_s[t] = v;
    for (unsigned int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (t < stride) {
            input_s[t] += input_s[t + stride];
        }
    }
    if (t == 0) {
        atomicAdd(output, input_s[0]);
    }
}

torch::Tensor reduce_sum(torch::Tensor input) {
    auto output = torch::zeros({1}, input.options());
    int n = input.numel();
    int blocks = (n + 2 * BLOCK_DIM - 1) / (2 * BLOCK_DIM);
    if (blocks > 0) sum_kernel<<<blocks, BLOCK_DIM>>>(input.data_ptr<float>(), output.data_ptr<float>(), n);
    return output;
}

//// mean_last_dim
// reference: lambda x: x.mean(-1)
// inputs: (seeded(5, 37),)
// wrong: ("sum / cols", "sum / 32")
torch::Tensor mean_last_dim(torch::Tensor x);

//// cuda_sources

__inline__ __device__ float warpReduceSum(float val) {
  for (int offset = 16; offset > 0; offset /= 2)
    val += __shfl_down_sync(0xffffffff, val, offset);
  return val;
}

__global__ void mean_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  int row = blockIdx.x;
  float sum = 0.f;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[row * cols + c];
  sum = warpReduceSum(sum);
  if (threadIdx.x == 0) y[row] = sum / cols;
}

torch::Tensor mean_last_dim(torch::Tensor x) {
  x = x.contiguous();
  auto y = torch::empty({x.size(0)}, x.options());
  if (x.size(0)) mean_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
  return y;
}

//// row_max
// reference: lambda x: tuple(x.max(1))
// inputs: (seeded(4, 9),)
// wrong: ("int64_t j = 1", "int64_t j = 2")

#include <torch/extension.h>
#include <vector>

std::vector<torch::Tensor> row_max(const torch::Tensor& x) {
    auto n = x.size(0), m = x.size(1);
    auto values = torch::empty({n}, x.options());
    auto indices = torch::empty({n}, x.options().dtype(torch::kInt64));
    auto xa = x.accessor<float, 2>();
    auto va = values.accessor<float, 1>();
    auto ia = indices.accessor<int64_t, 1>();
    for (int64_t i = 0; i < n; i++) {
        int64_t best = 0;
        for (int64_t j = 1; j < m; j++)
            if (xa[i][j] > xa[i][best]) best = j;
        va[i] = xa[i][best];
        ia[i] = best;
    }
    return {values, indices};
}

//// cumsum_dim
// name: "cumsum_ext"
// functions: {"cumsum_dim": "a running sum along one dimension"}
// reference: torch.cumsum
// inputs: (seeded(5, 7), 1)
// wrong: ("int64_t i = 1", "int64_t i = 2")

torch::Tensor cumsum_dim(torch::Tensor input, int64_t dim) {
  auto out = input.clone();
  auto n = input.size(dim);
  for (int64_t i = 1; i < n; ++i) {
    out.select(dim, i).add_(out.select(dim, i - 1));
  }
  return out;
}

//// frobenius
// reference: lambda x: x.double().norm().item()
// inputs: (seeded(4, 6),)
// wrong: ("p[i] * p[i]", "p[i]")

double frobenius(torch::Tensor x) {
  const auto c = x.contiguous().to(torch::kFloat64);
  const double* p = c.data_ptr<double>();
  double sum = 0;
  for (int64_t i = 0; i < c.numel(); i++) sum += p[i] * p[i];
  return std::sqrt(sum);
}

//// softmax_cuda
// name: "softmax"
// reference: lambda input: torch.softmax(input, 1)
// inputs: (seeded(3, 70),)
// wrong: ('    max_val = shared[0];\n    __syncthreads();', '    max_val = shared[0];')
torch::Tensor softmax_cuda(torch::Tensor input);

//// cuda_sources

#include <torch/extension.h>
#include <float.h>

__global__ void softmax_kernel(const float* input, float* output, int rows, int cols) {
    extern __shared__ float shared[];
    const float* x = input + blockIdx.x * cols;
    float* y = output + blockIdx.x * cols;

    float max_val = -FLT_MAX;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) max_val = fmaxf(max_val, x[i]);
    shared[threadIdx.x] = max_val;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + s]);
        __syncthreads();
    }
    max_val = shared[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(x[i] - max_val);
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
        __syncthreads();
    }
    sum = shared[0];

    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[i] = expf(x[i] - max_val) / sum;
}

torch::Tensor softmax_cuda(torch::Tensor input) {
    auto output = torch::empty_like(input);
    int rows = input.size(0);
    int cols = input.size(1);
    int threads = 64;
    softmax_kernel<<<rows, threads, threads * sizeof(float)>>>(input.data_ptr<float>(), output.data_ptr<float>(), rows, cols);
    return output;
}

//// softmax_forward
// name: "softmax_cpu"
// functions: ["softmax_forward", "softmax_backward"]
// reference: lambda x: torch.softmax(x, 1)
// inputs: (seeded(3, 7),)
// wrong: ("(grad * y).sum(1, true)", "grad.sum(1, true)")

#include <torch/extension.h>

at::Tensor softmax_forward(const at::Tensor& x) {
  auto e = (x - std::get<0>(x.max(1, true))).exp();
  return e / e.sum(1, true);
}

at::Tensor softmax_backward(const at::Tensor& grad, const at::Tensor& y) {
  return y * (grad - (grad * y).sum(1, true));
}

//// layer_norm_cuda
// name: "layer_norm"
// reference: lambda x, weight, bias, eps: torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias, eps)
// inputs: (seeded(3, 37), seeded(37), seeded(37, shift=1), 1e-5)
// wrong: ('    __syncthreads();\n    for', '    for')
torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, float eps);

//// cuda_sources

#include <torch/extension.h>
__global__ void layer_norm_kernel(const float* x, const float* w, const float* b, float* y, int n, float eps) {
    int row = blockIdx.x;
    const float* xr = x + row * n;
    float* yr = y + row * n;
    __shared__ float s_mean, s_rstd;
    if (threadIdx.x == 0) {
        float mean = 0.0f, var = 0.0f;
        for (int i = 0; i < n; i++) mean += xr[i];
        mean /= n;
        for (int i = 0; i < n; i++) var += (xr[i] - mean) * (xr[i] - mean);
        var /= n;
        s_mean = mean;
        s_rstd = rsqrtf(var + eps);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) yr[i] = (xr[i] - s_mean) * s_rstd * w[i] + b[i];
}

torch::Tensor layer_norm_cuda(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, float eps) {
    auto y = torch::empty_like(x);
    layer_norm_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), weight.data_ptr<float>(), bias.data_ptr<float>(),
                                         y.data_ptr<float>(), x.size(1), eps);
    return y;
}

//// rms_norm
// name: "layernorm_kernels"
// reference: lambda out, input, weight, epsilon: torch.nn.functional.rms_norm(input, (input.shape[1],), weight, epsilon)
// inputs: (torch.empty(3, 37), seeded(3, 37), seeded(37), 1e-6)
// wrong: ("variance / hidden_size", "variance / 32")
void rms_norm(torch::Tensor& out, torch::Tensor& input, torch::Tensor& weight, double epsilon);

//// cuda_sources

#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

template <typename scalar_t>
__global__ void rms_norm_kernel(scalar_t* __restrict__ out, const scalar_t* __restrict__ input,
                                const scalar_t* __restrict__ weight, const float epsilon, const int hidden_size) {
  __shared__ float s_variance;
  float variance = 0.0f;
  for (int idx = threadIdx.x; idx < hidden_size; idx += blockDim.x) {
    const float x = (float)input[blockIdx.x * hidden_size + idx];
    variance += x * x;
  }
  for (int mask = 16; mask > 0; mask >>= 1) variance += __shfl_xor_sync(0xffffffff, variance, mask);
  if (threadIdx.x == 0) s_variance = rsqrtf(variance / hidden_size + epsilon);
  __syncthreads();
  for (int idx = threadIdx.x; idx < hidden_size; idx += blockDim.x) {
    float x = (float)input[blockIdx.x * hidden_size + idx];
    out[blockIdx.x * hidden_size + idx] = ((scalar_t)(x * s_variance)) * weight[idx];
  }
}

void rms_norm(torch::Tensor& out, torch::Tensor& input, torch::Tensor& weight, double epsilon) {
  int hidden_size = input.size(-1);
  int num_tokens = input.numel() / hidden_size;
  const at::cuda::OptionalCUDAGuard device_guard(device_of(input));
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  rms_norm_kernel<float><<<num_tokens, 32, 0, stream>>>(
      out.data_ptr<float>(), input.data_ptr<float>(), weight.data_ptr<float>(), epsilon, hidden_size);
}

//// fused_add_rms_norm
// reference: add_rms_norm
// inputs: (seeded(3, 7), seeded(3, 7, shift=1), seeded(7), 1e-6)
// wrong: ("residual.add_(input)", "residual.copy_(input)")

#include <torch/torch.h>

void fused_add_rms_norm(torch::Tensor& input, torch::Tensor& residual, const torch::Tensor& weight, double epsilon) {
  TORCH_CHECK(input.is_contiguous() && residual.is_contiguous(), "input and residual must be contiguous");
  residual.add_(input);
  auto r = residual.pow(2).mean(-1, true).add_(epsilon).rsqrt_();
  input.copy_(residual * r * weight);
}

//// layernorm_fw
// name: "layernorm"
// functions: ["layernorm_fw", "layernorm_bw"]
// reference: lambda x, gamma, beta: torch.nn.functional.layer_norm(x, (x.shape[1],), gamma, beta)
// inputs: (seeded(5, 7), seeded(7), seeded(7, shift=1))
// wrong: ("- g.mean(1, true) ", "")

#include <torch/extension.h>
#include <vector>

std::vector<torch::Tensor> layernorm_fw(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta) {
  auto mean = x.mean(1, true);
  auto rstd = 1 / (x.var(1, false, true) + 1e-5).sqrt();
  auto y = (x - mean) * rstd * gamma + beta;
  return {y, mean, rstd};
}

std::vector<torch::Tensor> layernorm_bw(torch::Tensor d_y, torch::Tensor x, torch::Tensor gamma, torch::Tensor mean,
                                        torch::Tensor rstd) {
  auto h = (x - mean) * rstd;
  auto d_gamma = (d_y * h).sum(0);
  auto d_beta = d_y.sum(0);
  auto g = d_y * gamma;
  auto d_x = rstd * (g - g.mean(1, true) - h * (g * h).mean(1, true));
  return {d_x, d_gamma, d_beta};
}

//// masked_mean_fwd
// name: "masked_mean"
// functions: ["masked_mean_fwd", "masked_mean_bwd"]
// reference: lambda x, mask: (x * mask).sum(1) / mask.sum(1).clamp(min=1)
// inputs: (seeded(5, 7), seeded(5, 7, shift=1) > 0)
// wrong: ("(grad.unsqueeze(1) / count) * mask", "grad.unsqueeze(1) / count * torch::ones_like(mask)")

#include <torch/extension.h>
torch::Tensor masked_mean_fwd(const torch::Tensor& x, const torch::Tensor& mask) {
  TORCH_CHECK(x.dim() == 2 && mask.sizes() == x.sizes(), "x and mask must be matrices of one size");
  auto out = torch::zeros({x.size(0)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "masked_mean_fwd", [&] {
    auto xa = x.accessor<scalar_t, 2>();
    auto ma = mask.accessor<bool, 2>();
    auto oa = out.accessor<scalar_t, 1>();
    for (int64_t i = 0; i < x.size(0); ++i) {
      int64_t count = 0;
      for (int64_t j = 0; j < x.size(1); ++j)
        if (ma[i][j]) { oa[i] += xa[i][j]; ++count; }
      oa[i] /= std::max<int64_t>(count, 1);
    }
  });
  return out;
}
torch::Tensor masked_mean_bwd(const torch::Tensor& grad, const torch::Tensor& mask) {
  auto count = mask.sum(1, /*keepdim=*/true).clamp_min(1);
  return (grad.unsqueeze(1) / count) * mask;
}
