// What a CUDA text asks of torch's CUDA headers, which the rewriter leaves out.
namespace at {
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};
}  // namespace at

namespace c10::cuda {
struct CUDAStream {
  operator cudaStream_t() const {
    return nullptr;
  }
  cudaStream_t stream() const {
    return nullptr;
  }
};
inline CUDAStream getCurrentCUDAStream(int = -1) {
  return {};
}
inline CUDAStream getDefaultCUDAStream(int = -1) {
  return {};
}
struct CUDAGuard {
  template <class Device>
  explicit CUDAGuard(const Device&) {}
};
struct OptionalCUDAGuard {
  template <class... Device>
  explicit OptionalCUDAGuard(const Device&...) {}
};
}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::OptionalCUDAGuard;
}  // namespace at::cuda

#define C10_CUDA_CHECK(...)                                                         \
  do {                                                                              \
    const cudaError_t error_ = (__VA_ARGS__);                                       \
    TORCH_CHECK(error_ == cudaSuccess, "CUDA error: ", cudaGetErrorString(error_)); \
  } while (0)
#define AT_CUDA_CHECK(...) C10_CUDA_CHECK(__VA_ARGS__)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

extern "C" inline __attribute__((visibility("hidden"))) int32_t aoti_torch_get_current_cuda_stream(int32_t, void** stream) {
  *stream = nullptr;
  return 0;
}
