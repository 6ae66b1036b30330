//: What `template.py` puts before texts.
//: [parallel]
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
