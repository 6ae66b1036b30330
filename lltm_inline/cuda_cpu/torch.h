// What a CUDA text asks of torch's CUDA headers, which the rewriter leaves out, and what looks at its tensors.
#include <array>
#include <tuple>

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
inline cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp one;
  return &one;
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
using c10::cuda::getCurrentDeviceProperties;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::OptionalCUDAGuard;
}  // namespace at::cuda

#define C10_CUDA_CHECK(...)                                                         \
  do {                                                                              \
    const cudaError_t error_ = (__VA_ARGS__);                                       \
    if (error_ != cudaSuccess) cudaGetLastError();                                  \
    TORCH_CHECK(error_ == cudaSuccess, "CUDA error: ", cudaGetErrorString(error_)); \
  } while (0)
#define AT_CUDA_CHECK(...) C10_CUDA_CHECK(__VA_ARGS__)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

extern "C" inline __attribute__((visibility("hidden"))) int32_t aoti_torch_get_current_cuda_stream(int32_t, void** stream) {
  *stream = nullptr;
  return 0;
}

namespace cuda_cpu {
namespace CUDA_CPU_OURS {
// What the rewriter tells the checks of tensors.
#ifdef CUDA_CPU_CHECK
void require_written(const at::TensorBase& tensor, const char* function);
#else
template <class T>
inline T&& named(T&& value, const char*) {
  return static_cast<T&&>(value);
}
template <class T>
inline T&& with_accessors(T&& value, const char*) {
  return static_cast<T&&>(value);
}
template <class T, size_t N, template <class> class P = at::DefaultPtrTraits>
using Accessor32 = at::PackedTensorAccessor32<T, N, P>;
template <class T, size_t N, template <class> class P = at::DefaultPtrTraits, class I = int64_t>
using Accessor = at::GenericPackedTensorAccessor<T, N, P, I>;
template <class T>
inline T unwritten(T tensor) {
  return tensor;
}
struct Named {
  const char* name;
  const at::TensorBase* tensor;
};
struct Call {
  Call(const char*, std::initializer_list<Named>) {}
  ~Call() {}
};
inline void require_written(const at::TensorBase&, const char*) {}
#endif

[[noreturn]] CUDA_CPU_COLD void fail_unasked(const char* function);

// What a function of the text has returned passes through here on its way out, `wanted` says which of it anybody wants.
template <class Result, size_t kCount>
Result returned(Result result, const char* function, const std::array<bool, kCount>& wanted) {
  if (!last_fault().empty()) fail_unasked(function);
  size_t i = 0;
  const auto look = [&](const auto& one) {
    const bool is_wanted = i < kCount && wanted[i++];
    if constexpr (std::is_convertible_v<decltype(one), const at::TensorBase&>) {
      if (is_wanted) require_written(one, function);
    }
  };
  if constexpr (requires { std::tuple_size<Result>::value; }) {
    std::apply([&](const auto&... each) { (look(each), ...); }, result);
  } else if constexpr (requires { result.push_back(result.front()); }) {
    for (const auto& one : result) look(one);
  } else {
    look(result);
  }
  return result;
}

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu
