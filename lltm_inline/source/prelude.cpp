//: What a text starts with, by kind; exactly this is in its precompiled header. It stands in the rendered text too, so that a
//: text means the same with that header and without. The less a header holds, the faster g++ is with it: `light` is for texts
//: that name the few ATen headers they need.
//: [light]
#include <ATen/core/Tensor.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/cpu/vec/vec.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <array>
#include <tuple>
//: [aten]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/cpu/vec/vec.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <array>
#include <tuple>
//: [library]
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <array>
#include <tuple>
//: [types]
//: What people write `#include <torch/extension.h>` for: a third of its time to compile. Without torch/autograd.h: g++ would
//: instantiate the templates of that again in each text (1.6 of 3.7 s), and few texts define a gradient in C++.
#include <torch/types.h>
#include <torch/utils.h>
#include <ATen/Parallel.h>
#include <ATen/cpu/vec/vec.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
//: [extension]
#include <torch/extension.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <array>
#include <tuple>
//: [python]
//: Behind `types`: of a module of Python's own that is bound by pybind11, without the rest of torch/extension.h.
#include <torch/csrc/utils/pybind.h>
//: [stable]
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <array>
#include <cmath>
#include <string>
#include <tuple>
//: [cuda-cpu]
//: Behind those where there are CUDA's names: the last ones are what each header of ATen/ops includes.
#include <ATen/DeviceGuard.h>
#include <ATen/Context.h>
#include <ATen/TensorUtils.h>
#include <ATen/TracerMode.h>
//: [parallel]
//: Before those that include <ATen/Parallel.h>.
//: Without OpenMP (clang's would bring a second pool of threads, which spin against torch's and make a kernel ten times
//: slower) `at::parallel_for` would be serial: let it run on torch's own threads.
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
//: [library name]
//: Where only the CUDA text is edited, the C++ file stays as it is: the name of the library is not in it.
#define LIBRARY_NAME_2_(name) #name
#define LIBRARY_NAME_(name) LIBRARY_NAME_2_(name)
extern "C" const char* library_name_() { return LIBRARY_NAME_(TORCH_EXTENSION_NAME); }
