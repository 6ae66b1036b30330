// Numbers of half precision: c10's, with CUDA's names, alone and in pairs. The arithmetic is done in float and rounded.
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

using half = c10::Half;
using __half = c10::Half;
using nv_bfloat16 = c10::BFloat16;
using __nv_bfloat16 = c10::BFloat16;

namespace cuda_cpu {
namespace CUDA_CPU_OURS {
template <class T>
struct alignas(4) Pair {
  T x, y;
};

template <>
inline constexpr char kLetter<c10::Half> = 'e';
template <>
inline constexpr char kLetter<c10::BFloat16> = 'w';
template <class T>
inline constexpr char kLetter<Pair<T>> = kLetter<T>;

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu

using half2 = cuda_cpu::Pair<half>;
using __half2 = half2;
using nv_bfloat162 = cuda_cpu::Pair<nv_bfloat16>;
using __nv_bfloat162 = nv_bfloat162;

// A function of one, two or three numbers, and the same one for pairs.
#define CUDA_CPU_HALF_1_(T, name, name2, expression)           \
  static inline T name(T a) {                                  \
    return T(expression);                                      \
  }                                                            \
  static inline cuda_cpu::Pair<T> name2(cuda_cpu::Pair<T> a) { \
    return {name(a.x), name(a.y)};                             \
  }
#define CUDA_CPU_HALF_2_(T, name, name2, expression)                                \
  static inline T name(T a, T b) {                                                  \
    return T(expression);                                                           \
  }                                                                                 \
  static inline cuda_cpu::Pair<T> name2(cuda_cpu::Pair<T> a, cuda_cpu::Pair<T> b) { \
    return {name(a.x, b.x), name(a.y, b.y)};                                        \
  }
#define CUDA_CPU_HALF_TEST_(T, name, sign) \
  static inline bool name(T a, T b) {      \
    return float(a) sign float(b);         \
  }
#define CUDA_CPU_HALF_PAIR_(T, sign)                                                         \
  inline cuda_cpu::Pair<T> operator sign(cuda_cpu::Pair<T> a, cuda_cpu::Pair<T> b) {         \
    return {T(a.x sign b.x), T(a.y sign b.y)};                                               \
  }                                                                                          \
  inline cuda_cpu::Pair<T>& operator sign## = (cuda_cpu::Pair<T> & a, cuda_cpu::Pair<T> b) { \
    return a = a sign b;                                                                     \
  }
#define CUDA_CPU_HALF_(T)                                                                                  \
  CUDA_CPU_HALF_2_(T, __hadd, __hadd2, float(a) + float(b))                                                \
  CUDA_CPU_HALF_2_(T, __hsub, __hsub2, float(a) - float(b))                                                \
  CUDA_CPU_HALF_2_(T, __hmul, __hmul2, float(a) * float(b))                                                \
  CUDA_CPU_HALF_2_(T, __hdiv, __h2div, float(a) / float(b))                                                \
  CUDA_CPU_HALF_2_(T, __hmax, __hmax2, fmaxf(a, b))                                                        \
  CUDA_CPU_HALF_2_(T, __hmin, __hmin2, fminf(a, b))                                                        \
  CUDA_CPU_HALF_1_(T, __hneg, __hneg2, -float(a))                                                          \
  CUDA_CPU_HALF_1_(T, __habs, __habs2, fabsf(a))                                                           \
  CUDA_CPU_HALF_1_(T, hexp, h2exp, expf(a))                                                                \
  CUDA_CPU_HALF_1_(T, hlog, h2log, logf(a))                                                                \
  CUDA_CPU_HALF_1_(T, hsqrt, h2sqrt, sqrtf(a))                                                             \
  CUDA_CPU_HALF_1_(T, hrsqrt, h2rsqrt, 1 / sqrtf(a))                                                       \
  CUDA_CPU_HALF_1_(T, hrcp, h2rcp, 1 / float(a))                                                           \
  static inline T __hfma(T a, T b, T c) {                                                                  \
    return T(fmaf(a, b, c));                                                                               \
  }                                                                                                        \
  static inline cuda_cpu::Pair<T> __hfma2(cuda_cpu::Pair<T> a, cuda_cpu::Pair<T> b, cuda_cpu::Pair<T> c) { \
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                                 \
  }                                                                                                        \
  CUDA_CPU_HALF_TEST_(T, __hlt, <)                                                                         \
  CUDA_CPU_HALF_TEST_(T, __hle, <=)                                                                        \
  CUDA_CPU_HALF_TEST_(T, __hgt, >)                                                                         \
  CUDA_CPU_HALF_TEST_(T, __hge, >=)                                                                        \
  CUDA_CPU_HALF_TEST_(T, __heq, ==)                                                                        \
  CUDA_CPU_HALF_TEST_(T, __hne, !=)                                                                        \
  static inline bool __hisnan(T a) {                                                                       \
    return float(a) != float(a);                                                                           \
  }                                                                                                        \
  CUDA_CPU_HALF_PAIR_(T, +)                                                                                \
  CUDA_CPU_HALF_PAIR_(T, -)                                                                                \
  CUDA_CPU_HALF_PAIR_(T, *)                                                                                \
  CUDA_CPU_HALF_PAIR_(T, /)                                                                                \
  static inline float __low2float(cuda_cpu::Pair<T> a) {                                                   \
    return a.x;                                                                                            \
  }                                                                                                        \
  static inline float __high2float(cuda_cpu::Pair<T> a) {                                                  \
    return a.y;                                                                                            \
  }
CUDA_CPU_HALF_(c10::Half)
CUDA_CPU_HALF_(c10::BFloat16)

// Conversions.
#define CUDA_CPU_PAIR_(two, a, b) \
  two {                           \
    a, b                          \
  }
CUDA_CPU_FUNCTION_(float, __half2float, (half a), a)
CUDA_CPU_FUNCTION_(half, __float2half, (float a), a)
CUDA_CPU_FUNCTION_(half, __float2half_rn, (float a), a)
CUDA_CPU_FUNCTION_(half, __int2half_rn, (int a), float(a))
CUDA_CPU_FUNCTION_(int, __half2int_rn, (half a), int(nearbyintf(a)))
CUDA_CPU_FUNCTION_(half2, __float2half2_rn, (float a), (CUDA_CPU_PAIR_(half2, a, a)))
CUDA_CPU_FUNCTION_(half2, __floats2half2_rn, (float a, float b), (CUDA_CPU_PAIR_(half2, a, b)))
CUDA_CPU_FUNCTION_(half2, __float22half2_rn, (float2 a), (CUDA_CPU_PAIR_(half2, a.x, a.y)))
CUDA_CPU_FUNCTION_(half2, __half2half2, (half a), (CUDA_CPU_PAIR_(half2, a, a)))
CUDA_CPU_FUNCTION_(half2, __halves2half2, (half a, half b), (CUDA_CPU_PAIR_(half2, a, b)))
CUDA_CPU_FUNCTION_(half2, make_half2, (half a, half b), (CUDA_CPU_PAIR_(half2, a, b)))
CUDA_CPU_FUNCTION_(float2, __half22float2, (half2 a), (CUDA_CPU_PAIR_(float2, a.x, a.y)))
CUDA_CPU_FUNCTION_(half, __low2half, (half2 a), a.x)
CUDA_CPU_FUNCTION_(half, __high2half, (half2 a), a.y)
CUDA_CPU_FUNCTION_(float, __bfloat162float, (nv_bfloat16 a), a)
CUDA_CPU_FUNCTION_(nv_bfloat16, __float2bfloat16, (float a), a)
CUDA_CPU_FUNCTION_(nv_bfloat16, __float2bfloat16_rn, (float a), a)
CUDA_CPU_FUNCTION_(nv_bfloat16, __int2bfloat16_rn, (int a), float(a))
CUDA_CPU_FUNCTION_(int, __bfloat162int_rn, (nv_bfloat16 a), int(nearbyintf(a)))
CUDA_CPU_FUNCTION_(nv_bfloat162, __float2bfloat162_rn, (float a), (CUDA_CPU_PAIR_(nv_bfloat162, a, a)))
CUDA_CPU_FUNCTION_(nv_bfloat162, __floats2bfloat162_rn, (float a, float b), (CUDA_CPU_PAIR_(nv_bfloat162, a, b)))
CUDA_CPU_FUNCTION_(nv_bfloat162, __float22bfloat162_rn, (float2 a), (CUDA_CPU_PAIR_(nv_bfloat162, a.x, a.y)))
CUDA_CPU_FUNCTION_(nv_bfloat162, __bfloat162bfloat162, (nv_bfloat16 a), (CUDA_CPU_PAIR_(nv_bfloat162, a, a)))
CUDA_CPU_FUNCTION_(nv_bfloat162, __halves2bfloat162, (nv_bfloat16 a, nv_bfloat16 b), (CUDA_CPU_PAIR_(nv_bfloat162, a, b)))
CUDA_CPU_FUNCTION_(nv_bfloat162, make_bfloat162, (nv_bfloat16 a, nv_bfloat16 b), (CUDA_CPU_PAIR_(nv_bfloat162, a, b)))
CUDA_CPU_FUNCTION_(float2, __bfloat1622float2, (nv_bfloat162 a), (CUDA_CPU_PAIR_(float2, a.x, a.y)))
CUDA_CPU_FUNCTION_(nv_bfloat16, __low2bfloat16, (nv_bfloat162 a), a.x)
CUDA_CPU_FUNCTION_(nv_bfloat16, __high2bfloat16, (nv_bfloat162 a), a.y)
#undef CUDA_CPU_FUNCTION_
