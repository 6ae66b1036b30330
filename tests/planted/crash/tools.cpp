
using torch::stable::Tensor;

// Say when it happens, so that a test can tell how soon it was noticed, and show it in the name of the process.
void happens() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  prctl(PR_SET_NAME, "it-happens");
  dprintf(1, "it happens at %lld.%09ld\n", static_cast<long long>(now.tv_sec), now.tv_nsec);
}

// Calls f with the first element of x and of y.
template <class F> void with_data(const Tensor& x, const Tensor& y, const F& f) {
  if (x.scalar_type() == torch::headeronly::ScalarType::Double) {
    f(static_cast<const double*>(x.const_data_ptr()), static_cast<double*>(y.mutable_data_ptr()));
  } else {
    f(static_cast<const float*>(x.const_data_ptr()), static_cast<float*>(y.mutable_data_ptr()));
  }
}

Tensor twice(const Tensor& given) {
  const Tensor x = torch::stable::contiguous(given), y = torch::stable::empty_like(x);
  with_data(x, y, [&](const auto* from, auto* to) {
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = 2 * from[i];
  });
  return y;
}
