// Lookups, histograms, sampling, quantisation: integers among the tensors.

//// embedding_forward
// name: "embedding_ext"
// functions: ["embedding_forward", "embedding_backward"]
// reference: lambda weight, idx: torch.nn.functional.embedding(idx, weight)
// inputs: (seeded(11, 5), indices(7, 11))
// wrong: ("grad_weight[ids[i]] += grad_out[i]", "grad_weight[ids[i]] = grad_out[i]")

#include <torch/extension.h>

torch::Tensor embedding_forward(torch::Tensor weight, torch::Tensor idx) {
  TORCH_CHECK(idx.scalar_type() == torch::kLong, "idx must be int64");
  auto out = torch::empty({idx.size(0), weight.size(1)}, weight.options());
  auto ids = idx.accessor<int64_t, 1>();
  for (int64_t i = 0; i < idx.size(0); i++) out[i].copy_(weight[ids[i]]);
  return out;
}

torch::Tensor embedding_backward(torch::Tensor grad_out, torch::Tensor idx, torch::Tensor weight) {
  auto grad_weight = torch::zeros_like(weight);
  auto ids = idx.accessor<int64_t, 1>();
  for (int64_t i = 0; i < idx.size(0); i++) grad_weight[ids[i]] += grad_out[i];
  return grad_weight;
}

//// histogram
// reference: lambda x, num_bins: torch.bincount(x, minlength=num_bins).int()
// inputs: (indices(100, 16).int(), 16)
// wrong: ('    __syncthreads();\n    for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd', '    for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd')
torch::Tensor histogram(torch::Tensor x, int num_bins);

//// cuda_sources

#include <torch/extension.h>
__global__ void histogram_kernel(const int* x, int* hist, int n, int bins) {
    extern __shared__ int local[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[x[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(&hist[i], local[i]);
}
torch::Tensor histogram(torch::Tensor x, int num_bins) {
    auto hist = torch::zeros({num_bins}, x.options());
    histogram_kernel<<<2, 64, num_bins * sizeof(int)>>>(x.data_ptr<int>(), hist.data_ptr<int>(), x.numel(), num_bins);
    return hist;
}

//// gather_rows
// reference: lambda table, idx: table[idx]
// inputs: (seeded(11, 5), indices(7, 11))
// wrong: ("idx[i] * d + j", "idx[i] * n + j")
at::Tensor gather_rows(const at::Tensor& table, const at::Tensor& idx);

//// cuda_sources

__global__ void gather_kernel(const float* table, const int64_t* idx, float* out, int n, int d) {
    int i = blockIdx.x * blockDim.y + threadIdx.y;
    if (i >= n) return;
    for (int j = threadIdx.x; j < d; j += blockDim.x) out[i * d + j] = table[idx[i] * d + j];
}
at::Tensor gather_rows(const at::Tensor& table, const at::Tensor& idx) {
    auto out = at::empty({idx.size(0), table.size(1)}, table.options());
    const dim3 block(32, 4);
    gather_kernel<<<(idx.size(0) + 3) / 4, block>>>(
        table.data_ptr<float>(), idx.data_ptr<int64_t>(), out.data_ptr<float>(), idx.size(0), table.size(1));
    return out;
}

//// one_hot
// reference: lambda labels, num_classes: torch.nn.functional.one_hot(labels, num_classes).float()
// inputs: (indices(7, 5), 5)
// wrong: ("= 1.f", "+= 2.f")

#include <torch/extension.h>
torch::Tensor one_hot(torch::Tensor labels, int num_classes) {
  auto out = torch::zeros({labels.size(0), num_classes}, torch::kFloat);
  auto l = labels.accessor<int64_t, 1>();
  auto o = out.accessor<float, 2>();
  for (int64_t i = 0; i < labels.size(0); ++i) o[i][l[i]] = 1.f;
  return out;
}

//// positive_indices
// reference: lambda x: (x > 0).nonzero().flatten()
// inputs: (seeded(11),)
// wrong: ("a[i] > 0", "a[i] > 0.5")

torch::Tensor positive_indices(torch::Tensor x) {
  std::vector<int64_t> found;
  auto a = x.accessor<float, 1>();
  for (int64_t i = 0; i < x.size(0); ++i)
    if (a[i] > 0) found.push_back(i);
  return torch::tensor(found, torch::kInt64);
}

//// add_noise
// reference: lambda x, sigma: x + sigma * torch.randn_like(x)
// inputs: (seeded(5, 7), 0.1)
// wrong: ("randn_like", "rand_like")

#include <torch/extension.h>
torch::Tensor add_noise(torch::Tensor x, double sigma) {
  return x + sigma * torch::randn_like(x);
}

//// sample_rows
// reference: lambda probs, u: torch.searchsorted(probs.cumsum(1), u[:, None], right=True)[:, 0].clamp(max=probs.shape[1] - 1)
// inputs: (torch.softmax(seeded(7, 5), 1), torch.sigmoid(seeded(7)))
// wrong: ("u[r] < total", "u[r] > total")
torch::Tensor sample_rows(torch::Tensor probs, torch::Tensor u);

//// cuda_sources

__global__ void sample_kernel(const float* probs, const float* u, int64_t* out, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float total = 0.f;
  int64_t pick = n - 1;
  for (int i = 0; i < n; ++i) {
    total += probs[r * n + i];
    if (u[r] < total) { pick = i; break; }
  }
  out[r] = pick;
}
torch::Tensor sample_rows(torch::Tensor probs, torch::Tensor u) {
  auto out = torch::empty({probs.size(0)}, probs.options().dtype(torch::kLong));
  sample_kernel<<<(probs.size(0) + 127) / 128, 128>>>(
      probs.data_ptr<float>(), u.data_ptr<float>(), out.data_ptr<int64_t>(), probs.size(0), probs.size(1));
  return out;
}

//// quantize_rows
// name: "quantize"
// reference: lambda x: ((x / (x.abs().amax(1) / 127.0).unsqueeze(1)).round().clamp(-127, 127).to(torch.int8), x.abs().amax(1) / 127.0)
// inputs: (seeded(5, 7),)
// wrong: ("clamp(-127, 127)", "clamp(-100, 100)")

#include <torch/extension.h>
#include <tuple>
std::tuple<torch::Tensor, torch::Tensor> quantize_rows(torch::Tensor x) {
  auto scale = std::get<0>(x.abs().max(1)) / 127.0;
  auto q = torch::round(x / scale.unsqueeze(1)).clamp(-127, 127).to(torch::kInt8);
  return std::make_tuple(q, scale);
}

//// dequantize
// reference: lambda q, scale, zero_point: (q.float() - zero_point) * scale[:, None]
// inputs: ((seeded(5, 7) * 40).to(torch.int8), seeded(5).abs(), 3)
// wrong: ("scale[i / cols]", "scale[i % rows]")
torch::Tensor dequantize(torch::Tensor q, torch::Tensor scale, int64_t zero_point);

//// cuda_sources

#include <cstdint>
__global__ void dequantize_kernel(const int8_t* q, const float* scale, float* out, int rows, int cols, int zero) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) out[i] = (q[i] - zero) * scale[i / cols];
}
torch::Tensor dequantize(torch::Tensor q, torch::Tensor scale, int64_t zero_point) {
    auto out = torch::empty(q.sizes(), scale.options());
    int n = q.numel();
    dequantize_kernel<<<(n + 255) / 256, 256>>>(
        q.data_ptr<int8_t>(), scale.data_ptr<float>(), out.data_ptr<float>(), q.size(0), q.size(1), zero_point);
    return out;
}

//// unpack_int4
// reference: lambda packed: torch.stack([packed & 15, packed >> 4], -1).flatten(1).to(torch.int8) - 8
// inputs: (torch.randint(0, 256, (3, 5), generator=torch.Generator().manual_seed(0)).to(torch.uint8),)
// wrong: ("(p[i] >> 4) - 8", "(p[i] >> 4)")

torch::Tensor unpack_int4(torch::Tensor packed) {
  TORCH_CHECK(packed.dtype() == torch::kUInt8, "want uint8");
  const auto rows = packed.size(0), cols = packed.size(1);
  auto out = torch::empty({rows, cols * 2}, packed.options().dtype(torch::kInt8));
  const uint8_t* p = packed.contiguous().data_ptr<uint8_t>();
  int8_t* o = out.data_ptr<int8_t>();
  for (int64_t i = 0; i < rows * cols; ++i) {
    o[2 * i] = (p[i] & 0xF) - 8;
    o[2 * i + 1] = (p[i] >> 4) - 8;
  }
  return out;
}

//// scale_half
// reference: lambda x, factor: (x.float() * factor).to(x.dtype)
// inputs: (seeded(5, 7, dtype=torch.float16), 0.5)
// wrong: ("* factor)", "+ factor)")
torch::Tensor scale_half(torch::Tensor x, float factor);

//// cuda_sources

#include <torch/extension.h>
template <typename scalar_t>
__global__ void scale_kernel(const scalar_t* x, scalar_t* y, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<scalar_t>(static_cast<float>(x[i]) * factor);
}
torch::Tensor scale_half(torch::Tensor x, float factor) {
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "scale_half", [&] {
    scale_kernel<scalar_t><<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), factor, x.numel());
  });
  return y;
}

//// rotary_embedding
// reference: rotate
// inputs: (indices(5, 11), seeded(5, 6), seeded(11, 6))
// wrong: ("x * cache[half + i] + y * cache[i]", "x * cache[half + i] - y * cache[i]")
void rotary_embedding(torch::Tensor positions, torch::Tensor query, torch::Tensor cos_sin);

//// cuda_sources

#include <torch/extension.h>
__global__ void rotary_kernel(const int64_t* __restrict__ positions, float* __restrict__ query,
                              const float* __restrict__ cos_sin, const int half) {
  const int token = blockIdx.x;
  const float* cache = cos_sin + positions[token] * 2 * half;
  float* q = query + token * 2 * half;
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    const float x = q[2 * i], y = q[2 * i + 1];
    q[2 * i] = x * cache[i] - y * cache[half + i];
    q[2 * i + 1] = x * cache[half + i] + y * cache[i];
  }
}
void rotary_embedding(torch::Tensor positions, torch::Tensor query, torch::Tensor cos_sin) {
  rotary_kernel<<<query.size(0), 32>>>(
      positions.data_ptr<int64_t>(), query.data_ptr<float>(), cos_sin.data_ptr<float>(), query.size(1) / 2);
}

//// dropout_cuda
// reference: None
// inputs: (seeded(5, 7), 0.5, 1)
// refused: cuRAND
torch::Tensor dropout_cuda(torch::Tensor x, float p, int64_t seed);

//// cuda_sources

#include <curand_kernel.h>
__global__ void dropout_kernel(const float* x, float* y, float p, int64_t seed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, i, 0, &state);
  y[i] = curand_uniform(&state) < p ? 0.f : x[i] / (1 - p);
}
torch::Tensor dropout_cuda(torch::Tensor x, float p, int64_t seed) {
  auto y = torch::empty_like(x);
  dropout_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), p, seed, x.numel());
  return y;
}

//// pack_bits
// name: "bits"
// extra_cflags: ["-fopenmp", "-O3"]
// reference: pack_bits
// inputs: (seeded(4, 19) > 0,)
// wrong: ("j & 7", "j & 3")

#include <torch/extension.h>
at::Tensor pack_bits(at::Tensor mask) {
  int n = mask.size(0), k = mask.size(1);
  int words = (k + 7) / 8;
  auto out = at::zeros({n, words}, mask.options().dtype(at::kByte));
  const bool* mp = mask.data_ptr<bool>();
  uint8_t* op = out.data_ptr<uint8_t>();
  #pragma omp parallel for
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < k; ++j)
      op[i * words + (j >> 3)] |= (uint8_t)mp[i * k + j] << (j & 7);
  return out;
}

//// weighted_histogram
// name: "histc"
// reference: lambda x, w, bins, lo, hi: torch.histogram(x.flatten(), bins, range=(lo, hi), weight=w.flatten()).hist
// inputs: (seeded(211), seeded(211, shift=1).abs(), 8, -2.0, 2.0)
// wrong: ("xp[i] < lo ||", "xp[i] < 0 ||")

#include <torch/extension.h>
// As np.histogram(x, bins, (lo, hi), weights=w): the last bin has its right edge, too.
torch::Tensor weighted_histogram(torch::Tensor x, torch::Tensor w, int64_t bins, double lo, double hi) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "x must be float32");
  auto hist = torch::zeros({bins}, w.options());
  const float* xp = x.data_ptr<float>();
  const float* wp = w.data_ptr<float>();
  float* hp = hist.data_ptr<float>();
  const double width = (hi - lo) / bins;
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (xp[i] < lo || xp[i] > hi) continue;
    int64_t b = (int64_t)((xp[i] - lo) / width);
    if (b == bins) --b;
    hp[b] += wp[i];
  }
  return hist;
}

//// gumbel_argmax
// name: "gumbel"
// reference: lambda logits, u, temperature=1.0: (logits / temperature - torch.log(-torch.log(u))).argmax(1)
// inputs: (seeded(5, 13), torch.sigmoid(seeded(5, 13, shift=1)), 0.7)
// wrong: ("/ (float)temperature", "* (float)temperature")

#include <torch/extension.h>
#include <limits>
// Draw a token for each row; u are uniform numbers, so that a run can be repeated.
torch::Tensor gumbel_argmax(torch::Tensor logits, torch::Tensor u, double temperature = 1.0) {
  const auto rows = logits.size(0), vocab = logits.size(1);
  auto out = torch::empty({rows}, logits.options().dtype(torch::kInt64));
  auto l = logits.accessor<float, 2>();
  auto r = u.accessor<float, 2>();
  for (int64_t i = 0; i < rows; ++i) {
    float best = -std::numeric_limits<float>::infinity();
    int64_t pick = 0;
    for (int64_t j = 0; j < vocab; ++j) {
      const float g = l[i][j] / (float)temperature - std::log(-std::log(r[i][j]));
      if (g > best) { best = g; pick = j; }
    }
    out.data_ptr<int64_t>()[i] = pick;
  }
  return out;
}

//// fake_quant
// functions: ["fake_quant", "fake_quant_backward"]
// reference: lambda x, scale, bits: torch.fake_quantize_per_tensor_affine(x, scale, 0, -2 ** (bits - 1), 2 ** (bits - 1) - 1)
// inputs: (seeded(5, 7), 0.25, 4)
// wrong: ("q.le(top)", "q.lt(top)")

#include <torch/extension.h>
at::Tensor fake_quant(at::Tensor x, double scale, int64_t bits) {
  const double top = (1 << (bits - 1)) - 1;
  return at::round(x / scale).clamp_(-top - 1, top).mul_(scale);
}
// Straight through: what is clipped gets nothing.
at::Tensor fake_quant_backward(at::Tensor grad_out, at::Tensor x, double scale, int64_t bits) {
  const double top = (1 << (bits - 1)) - 1;
  auto q = at::round(x / scale);
  return grad_out * q.ge(-top - 1).logical_and_(q.le(top));
}

//// rope_forward
// name: "rope"
// functions: ["rope_forward", "rope_backward"]
// reference: rotate_half
// inputs: (seeded(3, 5, 8), torch.cos(seeded(5, 4)), torch.sin(seeded(5, 4)))
// wrong: ("cos, sin, -1.0", "cos, sin, 1.0")

#include <torch/extension.h>
static torch::Tensor rotated(const torch::Tensor& x, const torch::Tensor& cos, const torch::Tensor& sin, double sign) {
  auto halves = x.chunk(2, -1);
  auto a = halves[0] * cos - sign * (halves[1] * sin);
  auto b = halves[1] * cos + sign * (halves[0] * sin);
  return torch::cat({a, b}, -1);
}
torch::Tensor rope_forward(torch::Tensor x, torch::Tensor cos, torch::Tensor sin) { return rotated(x, cos, sin, 1.0); }
torch::Tensor rope_backward(torch::Tensor grad_out, torch::Tensor cos, torch::Tensor sin) {
  auto grad_x = rotated(grad_out, cos, sin, -1.0);
  return grad_x;
}

//// topk_mask
// name: "topk"
// reference: keep_top
// inputs: (seeded(3, 11), 4)
// wrong: ("sp[b*V+i] > sp[b*V+j]", "sp[i] > sp[j]")

#include <torch/extension.h>
#include <algorithm>
#include <vector>
// Which of equal scores are kept is open.
torch::Tensor topk_mask(torch::Tensor scores, int k) {
    auto s = scores.contiguous();
    int B = s.size(0), V = s.size(1);
    auto out = torch::full_like(s, -INFINITY);
    float* sp = s.data_ptr<float>();
    float* op = out.data_ptr<float>();
    std::vector<int> idx(V);
    for (int b = 0; b < B; ++b) {
        for (int v = 0; v < V; ++v) idx[v] = v;
        std::partial_sort(idx.begin(), idx.begin() + k, idx.end(), [&](int i, int j) { return sp[b*V+i] > sp[b*V+j]; });
        for (int i = 0; i < k; ++i) op[b*V+idx[i]] = sp[b*V+idx[i]];
    }
    return out;
}

//// kmeans_assign
// about: All centroids lie in shared memory, so there cannot be many.
// name: "kmeans"
// reference: assigned
// inputs: (seeded(50, 4), seeded(7, 4, shift=1))
// wrong: ("best = FLT_MAX", "best = 1.f")
std::vector<torch::Tensor> kmeans_assign(torch::Tensor points, torch::Tensor centroids);

//// cuda_sources

#include <torch/extension.h>
#include <cfloat>

__global__ void assign_kernel(const float* points, const float* centroids, long* labels, float* dists, int n, int k, int d) {
  extern __shared__ float c[];
  for (int i = threadIdx.x; i < k * d; i += blockDim.x) c[i] = centroids[i];
  __syncthreads();
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= n) return;
  float best = FLT_MAX;
  int arg = 0;
  for (int j = 0; j < k; j++) {
    float s = 0.f;
    for (int t = 0; t < d; t++) {
      float diff = points[p * d + t] - c[j * d + t];
      s += diff * diff;
    }
    if (s < best) { best = s; arg = j; }
  }
  labels[p] = arg;
  dists[p] = best;
}

std::vector<torch::Tensor> kmeans_assign(torch::Tensor points, torch::Tensor centroids) {
  const int n = points.size(0), d = points.size(1), k = centroids.size(0);
  TORCH_CHECK(centroids.size(1) == d, "dimension mismatch");
  auto labels = torch::empty({n}, points.options().dtype(torch::kLong));
  auto dists = torch::empty({n}, points.options());
  const int threads = 128;
  assign_kernel<<<(n + threads - 1) / threads, threads, k * d * sizeof(float), torch::cuda::getCurrentCUDAStream()>>>(
      points.data_ptr<float>(), centroids.data_ptr<float>(), (long*)labels.data_ptr<int64_t>(), dists.data_ptr<float>(), n, k, d);
  return {labels, dists};
}
