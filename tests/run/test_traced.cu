//// text
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

// x and y have 8 elements; `which` chooses a kernel by its length.
__global__ void tree(const float* x, float* y) {
  __shared__ float part[8];
  const int t = threadIdx.x;
  part[t] = x[t];  // fill
  __syncthreads();
  for (int s = 4; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];  // add
    __syncthreads();
  }
  y[t] = part[0];
}

__global__ void twice(const float* x, float* y) {
  __shared__ int seen[2][2];
  if (threadIdx.x == 0) seen[1][0] = 7;  // first
  __syncthreads();
  if (threadIdx.x == 1) seen[1][0] = -1;  // second
  __syncthreads();
  y[threadIdx.x] = seen[1][0];
}

__global__ void atomics(float* y) {
  y[threadIdx.x] = 1;
  __syncthreads();
  atomicAdd(&y[threadIdx.x % 2], 0.5f);  // atomic
}

__global__ void loops(const float* x, float* y) {
  float sum = 0;
  for (int i = 0; i < 30000; ++i) sum += x[0];  // loop
  y[threadIdx.x] = sum;  // end
}

__global__ void partly(const float* x, float* y) {
  if (threadIdx.x < 4) y[threadIdx.x] = x[threadIdx.x];
}

__global__ void blocks(const float* x, float* y) {
  const int i = blockIdx.x * 4 + threadIdx.y * 2 + threadIdx.x;
  y[i] = x[i];  // place
}

__global__ void bytes(const float* x, float* y) {
  extern __shared__ unsigned char pool[];
  ((float*)pool)[threadIdx.x] = 1;  // pool
  y[threadIdx.x] = 1;
}

at::Tensor forward(const at::Tensor& from, const at::Tensor& which) {
  const at::Tensor to = at::empty_like(from);
  const float* x = from.const_data_ptr<float>();
  float* y = to.mutable_data_ptr<float>();
  switch (which.size(0)) {
    case 0: tree<<<1, 8>>>(x, y); break;
    case 1: twice<<<1, 8>>>(x, y); break;
    case 2: atomics<<<1, 8>>>(y); break;
    case 3: loops<<<1, 8>>>(x, y); break;
    case 4: partly<<<1, 8>>>(x, y); break;
    case 5: blocks<<<2, dim3(2, 2)>>>(x, y); break;
    case 6: bytes<<<1, 8, 32>>>(x, y); break;
    case 7: bytes<<<1, 8, 16>>>(x, y); break;
  }
  return to;
}
