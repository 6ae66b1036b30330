// CUDA's names of types, and what a CUDA text asks of the runtime, in the meaning that they have on the CPU.
// A launch has ended when it returns, so there is one stream, and nothing to wait for.
#include <math.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define __grid_constant__
// Blocks that run at one time run on threads of the CPU of their own, one on each.
#define __shared__ static thread_local

#define CUDA_CPU_VECTOR_(type, name, align1, align2, align4)      \
  struct name##1 {                                                \
    type x;                                                       \
  };                                                              \
  struct alignas(align2) name##2 {                                \
    type x, y;                                                    \
  };                                                              \
  struct name##3 {                                                \
    type x, y, z;                                                 \
  };                                                              \
  struct alignas(align4) name##4 {                                \
    type x, y, z, w;                                              \
  };                                                              \
  inline name##1 make_##name##1(type x) {                         \
    return {x};                                                   \
  }                                                               \
  inline name##2 make_##name##2(type x, type y) {                 \
    return {x, y};                                                \
  }                                                               \
  inline name##3 make_##name##3(type x, type y, type z) {         \
    return {x, y, z};                                             \
  }                                                               \
  inline name##4 make_##name##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                          \
  }
CUDA_CPU_VECTOR_(signed char, char, 1, 2, 4)
CUDA_CPU_VECTOR_(unsigned char, uchar, 1, 2, 4)
CUDA_CPU_VECTOR_(short, short, 2, 4, 8)
CUDA_CPU_VECTOR_(unsigned short, ushort, 2, 4, 8)
CUDA_CPU_VECTOR_(int, int, 4, 8, 16)
CUDA_CPU_VECTOR_(unsigned, uint, 4, 8, 16)
CUDA_CPU_VECTOR_(long, long, 8, 16, 16)
CUDA_CPU_VECTOR_(long long, longlong, 8, 16, 16)
CUDA_CPU_VECTOR_(unsigned long long, ulonglong, 8, 16, 16)
CUDA_CPU_VECTOR_(float, float, 4, 8, 16)
CUDA_CPU_VECTOR_(double, double, 8, 16, 16)
#undef CUDA_CPU_VECTOR_

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  operator uint3() const {
    return {x, y, z};
  }
};

constexpr int warpSize = 32;

// The runtime. Its errors are those that a kernel lesson meets.
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9
};
using cudaError = cudaError_t;
using cudaStream_t = void*;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };

// What is seldom called is compiled for size: that costs least of an edit.
#define CUDA_CPU_COLD __attribute__((cold, noinline))

// What does not depend on the text stands in runtime.h and the files after it. With a precompiled header that is compiled once,
// into an object that is linked (CUDA_CPU_APART); without one it stands behind the declarations, and is the text's own.
#ifdef CUDA_CPU_LAB  // there it is a library of its own, see book.h
#define CUDA_CPU_SEEN "default"
#else
#define CUDA_CPU_SEEN "hidden"
#endif
#ifdef CUDA_CPU_APART
#define CUDA_CPU_OURS apart __attribute__((visibility(CUDA_CPU_SEEN)))
namespace cuda_cpu {
namespace apart {}
using namespace apart;
}  // namespace cuda_cpu
#else
#define CUDA_CPU_OURS
#endif

namespace cuda_cpu {
namespace CUDA_CPU_OURS {
constinit inline thread_local cudaError_t last_error = cudaSuccess;
inline size_t most_shared = 48 * 1024;  // of dynamic shared memory, until a text asks for more

// What failed last, in words, as long as nobody has asked.
inline std::string& last_fault() {
  static thread_local std::string what;
  return what;
}

CUDA_CPU_COLD std::string place(const char* file, int line);
CUDA_CPU_COLD cudaError_t note(cudaError_t error, const char* call, const char* file, int line);
void remember_allocation(void* begin, size_t bytes, size_t element, bool of_kernel);
void forget_allocation(void* begin);
}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu

inline const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    default:
      return "cudaErrorInvalidConfiguration";
  }
}

inline const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    default:
      return "invalid configuration argument";
  }
}

static inline cudaError_t cudaPeekAtLastError() {
  cuda_cpu::last_fault().clear();
  return cuda_cpu::last_error;
}

static inline cudaError_t cudaGetLastError() {
  cuda_cpu::last_fault().clear();
  return std::exchange(cuda_cpu::last_error, cudaSuccess);
}

// Where a call stands.
#define CUDA_CPU_PLACE_ const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <class T>
static cudaError_t cudaMalloc(T** pointer, size_t bytes, CUDA_CPU_PLACE_) {
  *pointer = static_cast<T*>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (!*pointer) return cuda_cpu::note(cudaErrorMemoryAllocation, "cudaMalloc", file, line);
  size_t element = 1;
  if constexpr (!std::is_void_v<T>) element = sizeof(T);
  cuda_cpu::remember_allocation((void*)*pointer, bytes, element, false);
  return cudaSuccess;
}

template <class T>
static cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned = 1, CUDA_CPU_PLACE_) {
  return cudaMalloc(pointer, bytes, file, line);
}

static inline cudaError_t cudaFree(void* pointer) {
  cuda_cpu::forget_allocation(pointer);
  std::free(pointer);
  return cudaSuccess;
}

template <class T>
static cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t, CUDA_CPU_PLACE_) {
  return cudaMalloc(pointer, bytes, file, line);
}

static inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  return cudaFree(pointer);
}

static inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (bytes) std::memcpy(to, from, bytes);
  return cudaSuccess;
}

static inline cudaError_t cudaMemcpyAsync(
    void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}

static inline cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (bytes) std::memset(to, value, bytes);
  return cudaSuccess;
}

static inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t = nullptr) {
  return cudaMemset(to, value, bytes);
}

template <class T>
cudaError_t cudaMemcpyToSymbol(
    T& symbol, const void* from, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyDefault, CUDA_CPU_PLACE_) {
  if (offset + bytes > sizeof(T)) return cuda_cpu::note(cudaErrorInvalidValue, "cudaMemcpyToSymbol", file, line);
  std::memcpy((char*)&symbol + offset, from, bytes);
  return cudaSuccess;
}

template <class T>
cudaError_t cudaMemcpyFromSymbol(
    void* to, const T& symbol, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyDefault, CUDA_CPU_PLACE_) {
  if (offset + bytes > sizeof(T)) return cuda_cpu::note(cudaErrorInvalidValue, "cudaMemcpyFromSymbol", file, line);
  std::memcpy(to, (const char*)&symbol + offset, bytes);
  return cudaSuccess;
}

static inline cudaError_t cudaDeviceSynchronize() {
  return cudaPeekAtLastError();
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaPeekAtLastError();
}

static inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}

// All streams are one, in which a launch has ended when the next begins.
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2 };

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return cudaStreamCreate(stream);
}

static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return cudaStreamCreate(stream);
}

static inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}

static inline cudaError_t cudaStreamQuery(cudaStream_t) {
  return cudaPeekAtLastError();
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}

static inline cudaError_t cudaSetDevice(int device, CUDA_CPU_PLACE_) {
  return device == 0 ? cudaSuccess : cuda_cpu::note(cudaErrorInvalidValue, "cudaSetDevice", file, line);
}

static inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

static inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

// What a text asks of the device: it has the limits of a launch that are held here, those of compute capability 9.0, and few
// multiprocessors, as a text may start blocks for each.
struct cudaDeviceProp {
  char name[256] = "cuda-cpu";
  size_t totalGlobalMem = size_t(1) << 34, sharedMemPerBlock = 48 * 1024, totalConstMem = 64 * 1024;
  size_t sharedMemPerMultiprocessor = 228 * 1024, sharedMemPerBlockOptin = 227 * 1024;
  int regsPerBlock = 65536, warpSize = 32, maxThreadsPerBlock = 1024, maxThreadsPerMultiProcessor = 2048;
  int maxThreadsDim[3] = {1024, 1024, 64}, maxGridSize[3] = {2147483647, 65535, 65535};
  int major = 9, minor = 0, multiProcessorCount = 8, l2CacheSize = 50 << 20, concurrentKernels = 1, integrated = 0;
};

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxBlockDimX,
  cudaDevAttrMaxBlockDimY,
  cudaDevAttrMaxBlockDimZ,
  cudaDevAttrMaxGridDimX,
  cudaDevAttrMaxGridDimY,
  cudaDevAttrMaxGridDimZ,
  cudaDevAttrMaxSharedMemoryPerBlock,
  cudaDevAttrTotalConstantMemory,
  cudaDevAttrWarpSize,
  cudaDevAttrMaxRegistersPerBlock = 12,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};

inline CUDA_CPU_COLD cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int device, CUDA_CPU_PLACE_) {
  if (device) return cuda_cpu::note(cudaErrorInvalidValue, "cudaGetDeviceProperties", file, line);
  *found = {};
  return cudaSuccess;
}

inline CUDA_CPU_COLD cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device, CUDA_CPU_PLACE_) {
  const cudaDeviceProp one;
  const auto found = [&]() -> size_t {
    switch (attribute) {
      case cudaDevAttrMaxThreadsPerBlock:
        return one.maxThreadsPerBlock;
      case cudaDevAttrMaxBlockDimX:
      case cudaDevAttrMaxBlockDimY:
      case cudaDevAttrMaxBlockDimZ:
        return one.maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX];
      case cudaDevAttrMaxGridDimX:
      case cudaDevAttrMaxGridDimY:
      case cudaDevAttrMaxGridDimZ:
        return one.maxGridSize[attribute - cudaDevAttrMaxGridDimX];
      case cudaDevAttrMaxSharedMemoryPerBlock:
        return one.sharedMemPerBlock;
      case cudaDevAttrTotalConstantMemory:
        return one.totalConstMem;
      case cudaDevAttrWarpSize:
        return one.warpSize;
      case cudaDevAttrMaxRegistersPerBlock:
        return one.regsPerBlock;
      case cudaDevAttrMultiProcessorCount:
        return one.multiProcessorCount;
      case cudaDevAttrL2CacheSize:
        return one.l2CacheSize;
      case cudaDevAttrMaxThreadsPerMultiProcessor:
        return one.maxThreadsPerMultiProcessor;
      case cudaDevAttrComputeCapabilityMajor:
        return one.major;
      case cudaDevAttrComputeCapabilityMinor:
        return one.minor;
      case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
        return one.sharedMemPerMultiprocessor;
      case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        return one.sharedMemPerBlockOptin;
    }
    return SIZE_MAX;
  }();
  if (device || found == SIZE_MAX) return cuda_cpu::note(cudaErrorInvalidValue, "cudaDeviceGetAttribute", file, line);
  *value = int(found);
  return cudaSuccess;
}

template <class F>
cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute attribute, int value, CUDA_CPU_PLACE_) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value > 227 * 1024) return cuda_cpu::note(cudaErrorInvalidValue, "cudaFuncSetAttribute", file, line);
    cuda_cpu::most_shared = std::max<size_t>(cuda_cpu::most_shared, value);
  }
  return cudaSuccess;
}

enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };

template <class F>
cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) {
  return cudaSuccess;
}

// Events hold the time of the CPU's clock.
using cudaEvent_t = std::chrono::steady_clock::time_point*;

static inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new std::chrono::steady_clock::time_point;
  return cudaSuccess;
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}

static inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) {
  return cudaSuccess;
}

static inline cudaError_t cudaEventQuery(cudaEvent_t) {
  return cudaPeekAtLastError();
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
  *event = std::chrono::steady_clock::now();
  return cudaSuccess;
}

static inline cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}

static inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(*end - *begin).count();
  return cudaSuccess;
}
