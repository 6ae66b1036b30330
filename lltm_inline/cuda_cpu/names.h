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

// A function that is one expression.
#define CUDA_CPU_FUNCTION_(T, name, parameters, expression) \
  static inline T name parameters {                         \
    return expression;                                      \
  }
#define CUDA_CPU_CALL_(name, parameters, expression) CUDA_CPU_FUNCTION_(cudaError_t, name, parameters, expression)

CUDA_CPU_FUNCTION_(
    const char*, cudaGetErrorName, (cudaError_t error),
    error == cudaSuccess                 ? "cudaSuccess"
    : error == cudaErrorInvalidValue     ? "cudaErrorInvalidValue"
    : error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
                                         : "cudaErrorInvalidConfiguration")
CUDA_CPU_FUNCTION_(
    const char*, cudaGetErrorString, (cudaError_t error),
    error == cudaSuccess                 ? "no error"
    : error == cudaErrorInvalidValue     ? "invalid argument"
    : error == cudaErrorMemoryAllocation ? "out of memory"
                                         : "invalid configuration argument")
CUDA_CPU_CALL_(cudaPeekAtLastError, (), (cuda_cpu::last_fault().clear(), cuda_cpu::last_error))
CUDA_CPU_CALL_(cudaGetLastError, (), (cuda_cpu::last_fault().clear(), std::exchange(cuda_cpu::last_error, cudaSuccess)))

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

CUDA_CPU_CALL_(cudaFreeAsync, (void* pointer, cudaStream_t), cudaFree(pointer))
// Of no bytes the pointers may be null.
CUDA_CPU_CALL_(
    cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind),
    (bytes ? std::memcpy(to, from, bytes) : to, cudaSuccess))
CUDA_CPU_CALL_(
    cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr),
    cudaMemcpy(to, from, bytes, kind))
CUDA_CPU_CALL_(cudaMemset, (void* to, int value, size_t bytes), (bytes ? std::memset(to, value, bytes) : to, cudaSuccess))
CUDA_CPU_CALL_(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t = nullptr), cudaMemset(to, value, bytes))

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

// All streams are one, in which a launch has ended when the next begins.
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2 };
CUDA_CPU_CALL_(cudaDeviceSynchronize, (), cudaPeekAtLastError())
CUDA_CPU_CALL_(cudaStreamSynchronize, (cudaStream_t), cudaPeekAtLastError())
CUDA_CPU_CALL_(cudaStreamQuery, (cudaStream_t), cudaPeekAtLastError())
CUDA_CPU_CALL_(cudaStreamCreate, (cudaStream_t * stream), (*stream = nullptr, cudaSuccess))
CUDA_CPU_CALL_(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned), cudaStreamCreate(stream))
CUDA_CPU_CALL_(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned, int), cudaStreamCreate(stream))
CUDA_CPU_CALL_(cudaStreamDestroy, (cudaStream_t), cudaSuccess)
CUDA_CPU_CALL_(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest), (*least = *greatest = 0, cudaSuccess))
CUDA_CPU_CALL_(cudaGetDevice, (int* device), (*device = 0, cudaSuccess))
CUDA_CPU_CALL_(cudaGetDeviceCount, (int* count), (*count = 1, cudaSuccess))
CUDA_CPU_CALL_(
    cudaSetDevice, (int device, CUDA_CPU_PLACE_),
    device == 0 ? cudaSuccess : cuda_cpu::note(cudaErrorInvalidValue, "cudaSetDevice", file, line))

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
  const std::pair<cudaDeviceAttr, size_t> known[] = {
      {cudaDevAttrMaxThreadsPerBlock, one.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, one.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, one.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, one.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, one.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, one.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, one.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, one.sharedMemPerBlock},
      {cudaDevAttrTotalConstantMemory, one.totalConstMem},
      {cudaDevAttrWarpSize, one.warpSize},
      {cudaDevAttrMaxRegistersPerBlock, one.regsPerBlock},
      {cudaDevAttrMultiProcessorCount, one.multiProcessorCount},
      {cudaDevAttrL2CacheSize, one.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, one.maxThreadsPerMultiProcessor},
      {cudaDevAttrComputeCapabilityMajor, one.major},
      {cudaDevAttrComputeCapabilityMinor, one.minor},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, one.sharedMemPerMultiprocessor},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, one.sharedMemPerBlockOptin}};
  const auto is_it = [=](const auto& pair) { return pair.first == attribute; };
  const auto* const found = std::find_if(std::begin(known), std::end(known), is_it);
  if (device || found == std::end(known)) return cuda_cpu::note(cudaErrorInvalidValue, "cudaDeviceGetAttribute", file, line);
  *value = int(found->second);
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

CUDA_CPU_CALL_(cudaEventCreate, (cudaEvent_t * event), (*event = new std::chrono::steady_clock::time_point, cudaSuccess))
CUDA_CPU_CALL_(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned), cudaEventCreate(event))
CUDA_CPU_CALL_(cudaStreamWaitEvent, (cudaStream_t, cudaEvent_t, unsigned = 0), cudaSuccess)
CUDA_CPU_CALL_(cudaEventQuery, (cudaEvent_t), cudaPeekAtLastError())
CUDA_CPU_CALL_(cudaEventSynchronize, (cudaEvent_t), cudaSuccess)
CUDA_CPU_CALL_(cudaEventDestroy, (cudaEvent_t event), (delete event, cudaSuccess))
CUDA_CPU_CALL_(
    cudaEventRecord, (cudaEvent_t event, cudaStream_t = nullptr), (*event = std::chrono::steady_clock::now(), cudaSuccess))
CUDA_CPU_CALL_(
    cudaEventElapsedTime, (float* milliseconds, cudaEvent_t begin, cudaEvent_t end),
    (*milliseconds = std::chrono::duration<float, std::milli>(*end - *begin).count(), cudaSuccess))
#undef CUDA_CPU_CALL_
