// For a text that is a module of Python's: what its functions return is looked at on their way out, as of every kernel.
namespace judged {
template <class R, class... A>
auto looked_at(R (*f)(A...), const char* name) {
  return [f, name](A... a) -> R {
    if constexpr (std::is_void_v<R>) {
      f(std::forward<A>(a)...);
      if (!::cuda_cpu::last_fault().empty()) ::cuda_cpu::fail_unasked(name);
    } else {
      std::array<bool, 16> all;
      all.fill(true);
      return ::cuda_cpu::returned(f(std::forward<A>(a)...), name, all);
    }
  };
}
template <class F>
F looked_at(F f, const char*) {
  return f;
}
struct Module : pybind11::module_ {
  template <class F, class... X>
  Module& def(const char* name, F f, const X&... x) {
    pybind11::module_::def(name, looked_at(f, name), x...);
    return *this;
  }
};
}  // namespace judged
#define LOOKED_AT_MODULE(name, m)           \
  static void judged_bind(judged::Module&); \
  PYBIND11_MODULE(name, of_python) {        \
    judged::Module own{of_python};          \
    judged_bind(own);                       \
  }                                         \
  static void judged_bind(judged::Module& m)
