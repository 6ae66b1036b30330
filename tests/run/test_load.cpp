//// act

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <stdexcept>

at::Tensor act(const at::Tensor& x, int64_t what) {
  switch (what) {
    case 0: TORCH_WARN("careful with ", what); break;
    case 1: throw std::out_of_range("past the end");
    case 2: TORCH_CHECK_TYPE(false, "wrong type");
    case 3: TORCH_CHECK_VALUE(false, "wrong value");
    case 4: TORCH_CHECK_NOT_IMPLEMENTED(false, "not yet");
    case 5: TORCH_CHECK_INDEX(false, "wrong index");
    case 6: throw std::invalid_argument("bad argument");
    case 7: throw std::runtime_error("plain");
    case 8: return at::ones({1});
    case 9: {
      c10::AutoGradMode on(true);
      x.sum().backward();
    }
  }
  return x * 2;
}

//// probe

$ACT
at::Tensor forward(const at::Tensor& x, int64_t what) {
  return act(x, what);
}

//// classic

$ACT
using at::Tensor;

std::tuple<Tensor, Tensor> forward(const Tensor& x, const Tensor& w, const std::optional<Tensor>& b, double c, int64_t n, bool flip) {
  if (n >= 100) return {act(x, n - 100), x};
  Tensor y = c * x * w;
  if (b) y = y + *b;
  return {flip ? -y : y, n * x};
}

std::tuple<Tensor, Tensor, Tensor> backward(
    const Tensor& d_y, const Tensor& d_z, const Tensor& w, const Tensor& x, const std::optional<Tensor>& b, std::array<bool, 3> wanted) {
  TORCH_CHECK(!b || b->dim() == 1, "another tensor took the place of a missing one");
  Tensor d_x, d_w, d_b;
  if (wanted[0]) d_x = 2 * w * d_y + 3 * d_z;
  if (wanted[1]) d_w = 2 * x * d_y;
  if (wanted[2]) d_b = d_y.sum(0);
  return {d_x, d_w, d_b};
}
