
#include <cmath>
template <class T> __device__ T twice(T x) { return FACTOR * x; }

template <class T>
__global__ void times_kernel(const T* x, T* y, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = twice(x[i]);
}

template <class T>
void times(const T* x, T* y, int64_t n, cudaStream_t stream) {
  if (n) times_kernel<T><<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
