//// workers

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>

#include <vector>

// Every turn of a parallel loop makes a tensor of 1000 numbers; all live until the function ends.
at::Tensor twice(const at::Tensor& x) {
  std::vector<at::Tensor> made(8);
  at::parallel_for(0, 8, 1, [&](int64_t first, int64_t last) {
    for (auto n = first; n < last; ++n) made[n] = at::empty({1000}, x.options());
  });
  return at::add(x, x);
}
at::Tensor forward(const at::Tensor& x) { return twice(x); }
at::Tensor backward(const at::Tensor& d_y, std::array<bool, 1> wanted) { return twice(d_y); }
