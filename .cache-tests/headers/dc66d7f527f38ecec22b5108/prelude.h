#if !defined(_OPENMP) && !defined(INTRA_OP_PARALLEL)
#define INTRA_OP_PARALLEL
#include <c10/util/Exception.h>
#include <torch/csrc/stable/c/shim.h>
namespace at::internal {
template <class F> void invoke_parallel(int64_t begin, int64_t end, int64_t grain_size, const F& f) {
  const auto call = [](int64_t first, int64_t last, void* g) { (*static_cast<const F*>(g))(first, last); };
  const bool failed = torch_parallel_for(begin, end, grain_size, call, const_cast<F*>(&f));
  TORCH_CHECK(!failed, "an exception was thrown in at::parallel_for");
}
}  // namespace at::internal
#endif
#include <ATen/core/Tensor.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/cpu/vec/vec.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <array>
#include <tuple>
