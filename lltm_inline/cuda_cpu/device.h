// What a CUDA text calls on the device: barriers, what the lanes of a warp do together, atomics, mathematics.
namespace cuda_cpu {
namespace CUDA_CPU_OURS {
// For a parameter that takes the type of another one.
template <class T>
struct Same {
  using type = T;
};
template <class T>
using As = typename Same<T>::type;

CUDA_CPU_PLAIN inline void wait_for_block(int predicate, int line) {
  lane->block->vote += predicate != 0;
  lane->block->park(Wait::block, line);
}

// Meet the lanes of the mask, and bring them a value.
template <class T>
CUDA_CPU_PLAIN void bring(Meeting meeting, unsigned mask, const T& value, int line) {
  static_assert(
      sizeof(T) <= sizeof lane->offered && std::is_trivially_copyable_v<T>, "a warp exchanges numbers of up to 16 bytes");
  __builtin_memcpy(lane->offered, &value, sizeof(T));
  lane->block->meet(meeting, mask, line);
}

template <class T>
CUDA_CPU_PLAIN T taken_from(unsigned in_warp) {
  T value;
  __builtin_memcpy(&value, lane->block->peer(*lane, in_warp)->taken, sizeof(T));
  return value;
}

[[noreturn]] CUDA_CPU_COLD CUDA_CPU_PLAIN void fail_shuffle(unsigned from, int line);

// What lane `from` has brought. A lane that is not there gives a value that nobody may use.
template <class T>
CUDA_CPU_PLAIN T shuffled(const T& own, unsigned mask, unsigned from, int line) {
  if (lane->group >> from & 1) return taken_from<T>(from);
#ifdef CUDA_CPU_CHECK
  if (mask >> from & 1) fail_shuffle(from, line);
#endif
  if constexpr (std::is_floating_point_v<T>) return T(NAN);
  return own;
}

template <class T>
CUDA_CPU_PLAIN T shuffle(unsigned mask, const T& value, unsigned from, int line) {
  bring(Meeting::shuffle, mask, value, line);
  return shuffled(value, mask, from, line);
}

CUDA_CPU_PLAIN inline unsigned ballot(unsigned mask, int predicate, int line) {
  bring(Meeting::vote, mask, predicate, line);
  unsigned result = 0;
  for (unsigned i = 0; i < kWarp; ++i) {
    if (lane->group >> i & 1) result |= unsigned(taken_from<int>(i) != 0) << i;
  }
  return result;
}

template <class T, class F>
CUDA_CPU_PLAIN T reduced(unsigned mask, T value, F join, int line) {
  bring(Meeting::reduce, mask, value, line);
  for (unsigned i = 0; i < kWarp; ++i) {
    if (i != lane->in_warp() && lane->group >> i & 1) value = join(value, taken_from<T>(i));
  }
  return value;
}

#ifdef CUDA_CPU_CHECK
void fence();
void before_atomic(const void* address, size_t bytes, bool compares, const void* pc);
void before_atomic_store(const void* address, size_t bytes, const void* pc);
void before_copy(const void* address, size_t bytes, bool store, const void* pc);
#else
inline void fence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void before_copy(const void*, size_t, bool, const void*) {}
#endif

// What kernels call of the C library: the checks see it.
__attribute__((noinline)) CUDA_CPU_PLAIN void* kernel_memcpy(void* to, const void* from, size_t bytes);
__attribute__((noinline)) CUDA_CPU_PLAIN void* kernel_memset(void* to, int value, size_t bytes);
CUDA_CPU_PLAIN inline void* kernel_malloc(size_t bytes) {
  const OffDevice off;
  void* const memory = std::malloc(bytes);
  if (memory && off.self) remember_allocation(memory, bytes, 1, true);
  return memory;
}
CUDA_CPU_PLAIN inline void kernel_free(void* memory) {
  const OffDevice off;
  if (off.self) forget_allocation(memory);
  std::free(memory);
}
// new (OnHeap{}) T is what new T is in a kernel, and OnHeap{} << p what delete p is.
struct OnHeap {
  template <class T>
  void operator<<(T* memory) const {
    kernel_free(memory);
  }
};

// Other blocks may run on other threads of the CPU: so the processor's own atomics, or its compare-and-exchange in a loop.
template <class T, class F>
__attribute__((noinline)) CUDA_CPU_PLAIN T atomically(T* address, F change, const void* pc, bool compares = false) {
  static_assert(
      !std::is_same_v<T, long> && !std::is_same_v<T, long long>,
      "CUDA has no atomics for signed 64-bit integers: use unsigned long long");
#ifdef CUDA_CPU_CHECK
  before_atomic(address, sizeof(T), compares, pc);
#endif
  using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  static_assert(sizeof(Bits) == sizeof(T), "CUDA has no atomics for this type");
  Bits* const bits = reinterpret_cast<Bits*>(address);
  Bits old_bits = __atomic_load_n(bits, __ATOMIC_SEQ_CST), new_bits;
  T old;
  do {
    __builtin_memcpy(&old, &old_bits, sizeof(T));
    const T next = change(old);
    __builtin_memcpy(&new_bits, &next, sizeof(T));
  } while (!__atomic_compare_exchange_n(bits, &old_bits, new_bits, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return old;
}

// An atomicExch whose result nobody takes.
template <class T>
__attribute__((noinline)) CUDA_CPU_PLAIN void atomic_store(T* address, As<T> value) {
#ifdef CUDA_CPU_CHECK
  before_atomic_store(address, sizeof(T), __builtin_return_address(0));
#endif
  __atomic_store(address, &value, __ATOMIC_SEQ_CST);
}

template <class To, class From>
To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &value, sizeof(To));
  return to;
}

[[noreturn]] CUDA_CPU_COLD CUDA_CPU_PLAIN void broken(const char* what, const char* file, int line);

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu

inline void* operator new(size_t bytes, cuda_cpu::OnHeap) {
  return cuda_cpu::kernel_malloc(bytes);
}
inline void* operator new[](size_t bytes, cuda_cpu::OnHeap) {
  return cuda_cpu::kernel_malloc(bytes);
}

#define CUDA_CPU_ASSERT_(...) \
  ((__VA_ARGS__) ? (void)0 : ::cuda_cpu::broken("assertion failed: " #__VA_ARGS__, __FILE__, __LINE__))
#define __trap() ::cuda_cpu::broken("__trap()", __FILE__, __LINE__)

#define CUDA_CPU_LINE_ int line = __builtin_LINE()

CUDA_CPU_PLAIN static inline void __syncthreads(CUDA_CPU_LINE_) {
  cuda_cpu::wait_for_block(0, line);
}
#define CUDA_CPU_VOTE_(name, result)                                     \
  CUDA_CPU_PLAIN static inline int name(int predicate, CUDA_CPU_LINE_) { \
    cuda_cpu::wait_for_block(predicate, line);                           \
    return cuda_cpu::lane->block->result;                                \
  }
CUDA_CPU_VOTE_(__syncthreads_count, count)
CUDA_CPU_VOTE_(__syncthreads_and, all)
CUDA_CPU_VOTE_(__syncthreads_or, any)
#undef CUDA_CPU_VOTE_
CUDA_CPU_PLAIN static inline void __syncwarp(unsigned mask = 0xffffffffu, CUDA_CPU_LINE_) {
  cuda_cpu::lane->block->meet(cuda_cpu::Meeting::sync, mask, line);
}

// From which lane the value comes: of `self`, in its part of `width` lanes that begins at `first`.
#define CUDA_CPU_SHUFFLE_(name, T2, by, expression)                                      \
  template <class T>                                                                     \
  CUDA_CPU_PLAIN T name(unsigned mask, T value, T2 by, int width = 32, CUDA_CPU_LINE_) { \
    const int self = cuda_cpu::lane->in_warp(), first = self & ~(width - 1);             \
    return cuda_cpu::shuffle(mask, value, expression, line);                             \
  }
CUDA_CPU_SHUFFLE_(__shfl_sync, int, from, first + (from & (width - 1)))
CUDA_CPU_SHUFFLE_(__shfl_up_sync, unsigned, by, self - int(by) >= first ? self - int(by) : self)
CUDA_CPU_SHUFFLE_(__shfl_down_sync, unsigned, by, self + int(by) < first + width ? self + int(by) : self)
CUDA_CPU_SHUFFLE_(__shfl_xor_sync, int, with, (self ^ with) < first + width ? self ^ with : self)
#undef CUDA_CPU_SHUFFLE_
#define CUDA_CPU_BALLOT_(T, name, test)                                               \
  CUDA_CPU_PLAIN static inline T name(unsigned mask, int predicate, CUDA_CPU_LINE_) { \
    return cuda_cpu::ballot(mask, predicate, line) test;                              \
  }
CUDA_CPU_BALLOT_(unsigned, __ballot_sync, )
CUDA_CPU_BALLOT_(int, __any_sync, != 0)
CUDA_CPU_BALLOT_(int, __all_sync, == cuda_cpu::lane->group)
#undef CUDA_CPU_BALLOT_
CUDA_CPU_PLAIN static inline unsigned __activemask(CUDA_CPU_LINE_) {
  cuda_cpu::lane->block->meet(cuda_cpu::Meeting::active, 0xffffffffu, line);
  return cuda_cpu::lane->group;
}
template <class T>
CUDA_CPU_PLAIN unsigned __match_any_sync(unsigned mask, T value, CUDA_CPU_LINE_) {
  cuda_cpu::bring(cuda_cpu::Meeting::match, mask, value, line);
  unsigned result = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if (cuda_cpu::lane->group >> i & 1) result |= unsigned(cuda_cpu::taken_from<T>(i) == value) << i;
  }
  return result;
}
#define CUDA_CPU_REDUCE_(name, T, expression)                                                     \
  CUDA_CPU_PLAIN static inline T __reduce_##name##_sync(unsigned mask, T value, CUDA_CPU_LINE_) { \
    return cuda_cpu::reduced(mask, value, [](T a, T b) -> T { return expression; }, line);        \
  }
CUDA_CPU_REDUCE_(add, int, a + b)
CUDA_CPU_REDUCE_(add, unsigned, a + b)
CUDA_CPU_REDUCE_(min, int, a < b ? a : b)
CUDA_CPU_REDUCE_(min, unsigned, a < b ? a : b)
CUDA_CPU_REDUCE_(max, int, a < b ? b : a)
CUDA_CPU_REDUCE_(max, unsigned, a < b ? b : a)
CUDA_CPU_REDUCE_(and, unsigned, a& b)
CUDA_CPU_REDUCE_(or, unsigned, a | b)
CUDA_CPU_REDUCE_(xor, unsigned, a ^ b)
#undef CUDA_CPU_REDUCE_

CUDA_CPU_FUNCTION_(void, __threadfence, (), cuda_cpu::fence())
CUDA_CPU_FUNCTION_(void, __threadfence_block, (), cuda_cpu::fence())
CUDA_CPU_FUNCTION_(void, __threadfence_system, (), cuda_cpu::fence())

namespace cuda_cpu {
namespace CUDA_CPU_OURS {
template <class T>
constexpr T whole(T number) {
  static_assert(std::is_integral_v<T>, "CUDA has atomicMin and atomicMax of integers only: write others with atomicCAS");
  return number;
}
}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu

#define CUDA_CPU_ATOMIC_OF_(name, expression)                                                                  \
  template <class T>                                                                                           \
  __attribute__((noinline)) CUDA_CPU_PLAIN T name(T* address, cuda_cpu::As<T> value) {                         \
    return cuda_cpu::atomically(address, [=](T old) -> T { return expression; }, __builtin_return_address(0)); \
  }
#define CUDA_CPU_ATOMIC_(name, expression)      \
  CUDA_CPU_ATOMIC_OF_(atomic##name, expression) \
  CUDA_CPU_ATOMIC_OF_(atomic##name##_block, expression)
CUDA_CPU_ATOMIC_OF_(gpuAtomicAdd, T(old + value))
CUDA_CPU_ATOMIC_(Add, T(old + value))
CUDA_CPU_ATOMIC_(Sub, T(old - value))
CUDA_CPU_ATOMIC_(Exch, value)
CUDA_CPU_ATOMIC_(Min, cuda_cpu::whole(value < old ? value : old))
CUDA_CPU_ATOMIC_(Max, cuda_cpu::whole(old < value ? value : old))
CUDA_CPU_ATOMIC_(And, T(old& value))
CUDA_CPU_ATOMIC_(Or, T(old | value))
CUDA_CPU_ATOMIC_(Xor, T(old ^ value))
CUDA_CPU_ATOMIC_(Inc, old >= value ? T(0) : T(old + 1))
CUDA_CPU_ATOMIC_(Dec, old == 0 || old > value ? value : T(old - 1))
#undef CUDA_CPU_ATOMIC_
#undef CUDA_CPU_ATOMIC_OF_
template <class T>
__attribute__((noinline)) CUDA_CPU_PLAIN T atomicCAS(T* address, cuda_cpu::As<T> compare, cuda_cpu::As<T> value) {
  return cuda_cpu::atomically(
      address, [=](T old) -> T { return old == compare ? value : old; }, __builtin_return_address(0), true);
}

// Loads and stores with a hint for the caches.
#define CUDA_CPU_LOAD_(name)                                       \
  template <class T>                                               \
  __attribute__((always_inline)) inline T name(const T* address) { \
    return *address;                                               \
  }
CUDA_CPU_LOAD_(__ldg)
CUDA_CPU_LOAD_(__ldcg)
CUDA_CPU_LOAD_(__ldcs)
#undef CUDA_CPU_LOAD_
template <class T>
__attribute__((always_inline)) inline void __stcs(T* address, cuda_cpu::As<T> value) {
  *address = value;
}

// Mathematics: what CUDA has and C++ has not. Fast-math names are as exact as the others here.
#define CUDA_CPU_EXTREME_(name, smaller, larger)                                                                         \
  template <class A, class B>                                                                                            \
  inline std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>> name(A a, B b) { \
    using T = std::common_type_t<A, B>;                                                                                  \
    if constexpr (std::is_floating_point_v<T>) return T(f##name(T(a), T(b)));                                            \
    return T(smaller) < T(larger) ? T(b) : T(a);                                                                         \
  }
CUDA_CPU_EXTREME_(min, b, a)
CUDA_CPU_EXTREME_(max, a, b)
#undef CUDA_CPU_EXTREME_
// These are names of the C library's own: its header declares them for itself.
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __powf powf
CUDA_CPU_FUNCTION_(float, rsqrt, (float x), 1 / sqrtf(x))
CUDA_CPU_FUNCTION_(double, rsqrt, (double x), 1 / sqrt(x))
CUDA_CPU_FUNCTION_(float, rsqrtf, (float x), 1 / sqrtf(x))
CUDA_CPU_FUNCTION_(float, __frsqrt_rn, (float x), 1 / sqrtf(x))
CUDA_CPU_FUNCTION_(float, __fdividef, (float x, float y), x / y)
CUDA_CPU_FUNCTION_(float, __fdiv_rn, (float x, float y), x / y)
CUDA_CPU_FUNCTION_(float, __frcp_rn, (float x), 1 / x)
CUDA_CPU_FUNCTION_(float, __fsqrt_rn, (float x), sqrtf(x))
CUDA_CPU_FUNCTION_(float, __fadd_rn, (float x, float y), x + y)
CUDA_CPU_FUNCTION_(float, __fsub_rn, (float x, float y), x - y)
CUDA_CPU_FUNCTION_(double, __dadd_rn, (double x, double y), x + y)
CUDA_CPU_FUNCTION_(double, __dsub_rn, (double x, double y), x - y)
CUDA_CPU_FUNCTION_(double, __dmul_rn, (double x, double y), x* y)
CUDA_CPU_FUNCTION_(double, __ddiv_rn, (double x, double y), x / y)
CUDA_CPU_FUNCTION_(double, __dsqrt_rn, (double x), sqrt(x))
CUDA_CPU_FUNCTION_(double, __fma_rn, (double x, double y, double z), fma(x, y, z))
CUDA_CPU_FUNCTION_(float, __fmul_rn, (float x, float y), x* y)
CUDA_CPU_FUNCTION_(float, __fmaf_rn, (float x, float y, float z), fmaf(x, y, z))
CUDA_CPU_FUNCTION_(float, __saturatef, (float x), x > 0 ? (x < 1 ? x : 1) : 0)
CUDA_CPU_FUNCTION_(float, normcdff, (float x), 0.5f * erfcf(-x * float(M_SQRT1_2)))
CUDA_CPU_FUNCTION_(double, normcdf, (double x), 0.5 * erfc(-x * M_SQRT1_2))
CUDA_CPU_FUNCTION_(float, sinpif, (float x), float(sin(M_PI* x)))
CUDA_CPU_FUNCTION_(float, cospif, (float x), float(cos(M_PI* x)))
CUDA_CPU_FUNCTION_(int, __float2int_rn, (float x), int(nearbyintf(x)))
CUDA_CPU_FUNCTION_(int, __float2int_rd, (float x), int(floorf(x)))
CUDA_CPU_FUNCTION_(int, __float2int_ru, (float x), int(ceilf(x)))
CUDA_CPU_FUNCTION_(int, __float2int_rz, (float x), int(x))
CUDA_CPU_FUNCTION_(unsigned, __float2uint_rn, (float x), unsigned(nearbyintf(x)))
CUDA_CPU_FUNCTION_(unsigned, __float2uint_rz, (float x), unsigned(x))
CUDA_CPU_FUNCTION_(int, __double2int_rn, (double x), int(nearbyint(x)))
CUDA_CPU_FUNCTION_(int, __double2int_rz, (double x), int(x))
CUDA_CPU_FUNCTION_(float, __int2float_rn, (int x), float(x))
CUDA_CPU_FUNCTION_(float, __uint2float_rn, (unsigned x), float(x))
CUDA_CPU_FUNCTION_(double, __int2double_rn, (int x), double(x))
CUDA_CPU_FUNCTION_(int, __float_as_int, (float x), cuda_cpu::bits_of<int>(x))
CUDA_CPU_FUNCTION_(unsigned, __float_as_uint, (float x), cuda_cpu::bits_of<unsigned>(x))
CUDA_CPU_FUNCTION_(float, __int_as_float, (int x), cuda_cpu::bits_of<float>(x))
CUDA_CPU_FUNCTION_(float, __uint_as_float, (unsigned x), cuda_cpu::bits_of<float>(x))
CUDA_CPU_FUNCTION_(long long, __double_as_longlong, (double x), cuda_cpu::bits_of<long long>(x))
CUDA_CPU_FUNCTION_(double, __longlong_as_double, (long long x), cuda_cpu::bits_of<double>(x))
CUDA_CPU_FUNCTION_(int, __popc, (unsigned x), __builtin_popcount(x))
CUDA_CPU_FUNCTION_(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
CUDA_CPU_FUNCTION_(int, __clz, (int x), x ? __builtin_clz(x) : 32)
CUDA_CPU_FUNCTION_(int, __clzll, (long long x), x ? __builtin_clzll(x) : 64)
CUDA_CPU_FUNCTION_(int, __ffs, (int x), __builtin_ffs(x))
CUDA_CPU_FUNCTION_(int, __ffsll, (long long x), __builtin_ffsll(x))
CUDA_CPU_FUNCTION_(int, __mul24, (int x, int y), int(unsigned(x) * unsigned(y)))
CUDA_CPU_FUNCTION_(unsigned, __umul24, (unsigned x, unsigned y), x* y)
CUDA_CPU_FUNCTION_(int, __mulhi, (int x, int y), int((int64_t(x) * y) >> 32))
CUDA_CPU_FUNCTION_(unsigned, __umulhi, (unsigned x, unsigned y), unsigned((uint64_t(x) * y) >> 32))
CUDA_CPU_FUNCTION_(
    unsigned long long, __umul64hi, (unsigned long long x, unsigned long long y),
    (unsigned long long)(((unsigned __int128)x * y) >> 64))
CUDA_CPU_FUNCTION_(unsigned, __sad, (int x, int y, unsigned z), z + (x < y ? y - x : x - y))
CUDA_CPU_FUNCTION_(void, __nanosleep, (unsigned), void())
CUDA_CPU_FUNCTION_(long long, clock64, (), std::chrono::steady_clock::now().time_since_epoch().count())

static inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= (x >> bit & 1) << (31 - bit);
  return result;
}
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned which) {
  const uint64_t bytes = uint64_t(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= unsigned(bytes >> 8 * (which >> 4 * i & 7) & 255) << 8 * i;
  return result;
}
#define CUDART_INF_F INFINITY
#define CUDART_INF double(INFINITY)
#define CUDART_NAN_F NAN
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931
