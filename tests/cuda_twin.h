
#include <ATen/ATen.h>
#include <math.h>
#include <optional>
#include <string>

#define __global__
#define __device__
#define __host__
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
static dim3 gridDim, blockDim, blockIdx, threadIdx;
using cudaStream_t = void*;
enum cudaError_t { cudaSuccess, cudaErrorInvalidConfiguration, cudaErrorWrongStream };
static cudaError_t last_error = cudaSuccess;
static char current_stream;
inline cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidConfiguration ? "invalid configuration argument" : "not torch's current stream";
}
template <class F> void launch(const F& f, dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr) {
  TORCH_CHECK(last_error == cudaSuccess, "the launch before this one was not checked");
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (!threads || threads > 1024 || !grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535 || grid.x > 2147483647u) {
    last_error = cudaErrorInvalidConfiguration;
    return;
  }
  if (stream != &current_stream) {
    last_error = cudaErrorWrongStream;
    return;
  }
  gridDim = grid;
  blockDim = block;
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) f();
}
