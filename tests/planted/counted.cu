#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros_like.h>

// Kernels of which a person has counted what they do: see tests/run/test_counts.py. x and y have 1024 elements.
constexpr int N = 1024, BLOCK = 256;

__global__ void copy(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}

__global__ void strided(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, at = i % 128 * 8 + i / 128;
  y[at] = x[at];
}

__global__ void transpose(const float* x, float* y) {
  y[threadIdx.x * 32 + threadIdx.y] = x[threadIdx.y * 32 + threadIdx.x];
}

template <int WIDTH>
__global__ void tiled(const float* x, float* y) {
  __shared__ float tile[32][WIDTH];
  tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  y[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void interleaved(const float* x, float* y) {
  __shared__ float part[BLOCK];
  const int t = threadIdx.x;
  part[t] = x[blockIdx.x * BLOCK + t];
  __syncthreads();
  for (int s = 1; s < BLOCK; s *= 2) {
    const int at = 2 * s * t;
    if (at < BLOCK) part[at] += part[at + s];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = part[0];
}

__global__ void sequential(const float* x, float* y) {
  __shared__ float part[BLOCK];
  const int t = threadIdx.x;
  part[t] = x[blockIdx.x * BLOCK + t];
  __syncthreads();
  for (int s = BLOCK / 2; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = part[0];
}

__global__ void histogram(float* y) {
  atomicAdd(&y[(blockIdx.x * blockDim.x + threadIdx.x) % 8], 1.0f);
}

// Lane i makes i % 4 turns: the lanes that are in a turn together read together.
__global__ void turns(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < i % 4; ++k) sum += x[k];
  y[i] = sum;
}

// In each turn half of the lanes go on at once: the second reading of one lane is not that of another.
__global__ void every_other(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    if ((i + k) % 2) continue;
    sum += x[k * 32 + i % 32];
  }
  y[i] = sum;
}

__device__ float twice(const float* from) {
  return 2 * *from;
}

__global__ void two_ways(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = 0;
  if (i % 32 < 16) {
    value = twice(x + i);
  } else {
    value = twice(x + i);
  }
  y[i] = value;
}

__global__ void vectors(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
}

__global__ void guarded(const float* x, float* y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i];
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& chosen) {
  const int64_t which = chosen.size(0);
  const at::Tensor y = at::zeros_like(x);
  const float* from = x.const_data_ptr<float>();
  float* to = y.mutable_data_ptr<float>();
  const int blocks = N / BLOCK;
  if (which == 0) copy<<<blocks, BLOCK>>>(from, to);
  if (which == 1) strided<<<blocks, BLOCK>>>(from, to);
  if (which == 2) transpose<<<1, dim3(32, 32)>>>(from, to);
  if (which == 3) tiled<32><<<1, dim3(32, 32)>>>(from, to);
  if (which == 4) tiled<33><<<1, dim3(32, 32)>>>(from, to);
  if (which == 5) interleaved<<<blocks, BLOCK>>>(from, to);
  if (which == 6) sequential<<<blocks, BLOCK>>>(from, to);
  if (which == 7) histogram<<<blocks, BLOCK>>>(to);
  if (which == 8) turns<<<blocks, BLOCK>>>(from, to);
  if (which == 9) every_other<<<blocks, BLOCK>>>(from, to);
  if (which == 10) two_ways<<<blocks, BLOCK>>>(from, to);
  if (which == 11) vectors<<<1, BLOCK>>>(from, to);
  if (which == 12) guarded<<<blocks, BLOCK>>>(from, to, 1000);
  return y;
}
