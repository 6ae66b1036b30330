
#include <torch/csrc/stable/ops.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

using torch::stable::Tensor;

int64_t planted(const char* verb, const char* name) {
  char its_verb[16], its_name[16];
  long distance = 0;
  const char* defect = std::getenv("DEFECT");
  if (defect == nullptr || std::sscanf(defect, "%15s %ld %15s", its_verb, &distance, its_name) != 3) return 0;
  return std::strcmp(verb, its_verb) || std::strcmp(name, its_name) ? 0 : distance;
}

template <typename T>
T touch(const Tensor& tensor, const char* name) {
  volatile T* data = static_cast<T*>(tensor.mutable_data_ptr());
  volatile T* end = data + tensor.numel() - 1;
  if (const int64_t d = planted("write", name)) (d > 0 ? end : data)[d] = T(0.25);
  const int64_t d = planted("read", name);
  return d ? 0 * (d > 0 ? end : data)[d] : 0;
}

template <typename T>
void twice(const Tensor& from, const Tensor& to, const char* from_name, const char* to_name) {
  Tensor temporary = torch::stable::empty_like(from);
  const int64_t n = from.numel();
  const T* x = static_cast<const T*>(from.const_data_ptr());
  T* t = static_cast<T*>(temporary.mutable_data_ptr());
  T* y = static_cast<T*>(to.mutable_data_ptr());
  for (int64_t i = 0; i < n - planted("skip", "temporary"); ++i) t[i] = x[i];
  const T extra = touch<T>(from, from_name) + touch<T>(temporary, "temporary");
  if (planted("read", "freed")) temporary = from;  // t is read further down
  for (int64_t i = 0; i < n - planted("skip", to_name); ++i) y[i] = 2 * t[i] + extra;
  const T more = touch<T>(to, to_name);
  if (more != 0) y[0] += more;  // NaN is not 0
}

Tensor apply(const Tensor& tensor, const char* from_name, const char* to_name) {
  Tensor from = torch::stable::contiguous(tensor), to = torch::stable::empty_like(from);
  if (from.numel() == 0) return to;
  if (from.scalar_type() == torch::headeronly::ScalarType::Double) twice<double>(from, to, from_name, to_name);
  else twice<float>(from, to, from_name, to_name);
  return to;
}

Tensor forward(const Tensor& x) {
  return apply(x, "x", "y");
}

Tensor backward(const Tensor& d_y, std::array<bool, 1> wanted) {
  return wanted[0] ? apply(d_y, "d_y", "d_x") : Tensor();
}
