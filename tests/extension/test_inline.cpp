//// itself

torch::Tensor pool(torch::Tensor x, int k, int s) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat, "want float");
  return torch::max_pool1d(x, k, s);
}
std::vector<torch::Tensor> means(torch::Tensor x, int64_t n) {
  std::vector<torch::Tensor> found;
  for (int64_t i = 0; i < n; ++i) found.push_back(x.mean(0) * i);
  found.push_back((x > 0).nonzero());
  return found;
}
torch::Tensor ends(torch::Tensor x) {
  int* nowhere = nullptr;
  *nowhere = 1;
  return x;
}

//// means

std::vector<torch::Tensor> center_fwd(torch::Tensor x, torch::Tensor w) {
  auto mean = x.mean(1, true);
  auto rest = x - mean;
  return {rest * w, mean, rest};
}
std::vector<torch::Tensor> center_bwd(torch::Tensor grad, torch::Tensor rest, torch::Tensor mean, torch::Tensor w) {
  auto g = grad * w;
  return {g - g.mean(1, true), (grad * rest).sum(0)};
}

//// rms

std::vector<torch::Tensor> rms_forward(torch::Tensor x, torch::Tensor w) {
  auto rows = x.reshape({-1, x.size(-1)});
  auto rstd = (rows.pow(2).mean(1) + 1e-5).rsqrt();
  auto y = (rows * rstd.unsqueeze(1) * w).view(x.sizes());
  return {y, rstd};
}

std::vector<torch::Tensor> rms_backward(torch::Tensor grad_y, torch::Tensor x, torch::Tensor w, torch::Tensor rstd) {
  auto rows = x.reshape({-1, x.size(-1)}), r = rstd.unsqueeze(1), g = grad_y.reshape(rows.sizes());
  auto scaled = g * w, n = rows * r;
  auto grad_x = (scaled - n * (scaled * n).mean(1, true)) * r;
  return {grad_x.view(x.sizes()), (g * n).sum(0)};
}

//// step

void step(std::vector<torch::Tensor> ps, torch::TensorList gs, double lr) {
  for (size_t i = 0; i < ps.size(); ++i) {
    float* p = ps[i].data_ptr<float>();
    for (int64_t j = 0; j < ps[i].numel(); ++j) p[j] -= lr * gs[i].data_ptr<float>()[j];
  }
}

//// odd

namespace {
using Names = std::vector<int>;
auto odd(torch::Tensor&& x, Names& k, std::string& mode, int& n, c10::optional<torch::Tensor>& b, const double& c) {
  n += k[0];
  return mode == "add" ? x + *b * n * c : x;
}
}

//// two

torch::Tensor wide(torch::Tensor x) {
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "wide", [&] {
    for (int64_t i = 0; i < x.numel(); ++i) y.data_ptr<scalar_t>()[i] = 2 * x.data_ptr<scalar_t>()[i];
  });
  return y;
}
static torch::Tensor inner(torch::Tensor x) {
  auto y = torch::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) y.data_ptr<float>()[i] = 2 * x.data_ptr<float>()[i];
  return y;
}
torch::Tensor narrow(torch::Tensor x) { return inner(x); }
#define CALL inner
torch::Tensor plain(torch::Tensor x) { return 2 * x; }
torch::Tensor single(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat, "float32 only");
  return 2 * x;
}
torch::Tensor mixed(torch::Tensor x) { return x.reshape({-1, 1}).mm(torch::full({1, 1}, 2.0)).view_as(x); }

//// no_guard

__global__ void twice_kernel(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2 * x[i];
}
torch::Tensor twice(torch::Tensor x) {
  auto y = torch::empty_like(x);
  TORCH_CHECK(x.scalar_type() == torch::kFloat, "twice_kernel");
  twice_kernel<<<(x.numel() + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
