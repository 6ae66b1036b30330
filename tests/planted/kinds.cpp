//// kind_rows
// functions: `rows` `rows_backward`
// saves: `x` `index`

at::Tensor rows(at::Tensor x, at::Tensor index) { return x.index_select(0, index); }
std::vector<at::Tensor> rows_backward(at::Tensor grad, const at::Tensor& x, at::Tensor index, std::array<bool, 1> wanted) {
  return {at::zeros_like(x).index_add(0, index, grad)};
}

//// kind_counts
// functions: `counts`

at::Tensor counts(const at::Tensor& x, int bins) {
  TORCH_CHECK(bins > 0, "want a bin");
  const auto row = x.contiguous();
  auto counts = at::zeros({bins}, x.options());
  for (int64_t i = 0; i < x.numel(); ++i) ++counts.mutable_data_ptr<int64_t>()[row.const_data_ptr<int64_t>()[i] % bins];
  return counts;
}

//// kind_sgd
// functions: `sgd`

void sgd(at::Tensor w, at::Tensor g, double lr, std::optional<double> decay) {
  w.mul_(1 - lr * decay.value_or(0)).sub_(g, lr);
}

//// kind_out
// functions: `square`
// skipped: torch.compile takes no operator that returns one of its inputs
at::Tensor& square(const at::Tensor& x, at::Tensor& out) { return at::mul_out(out, x, x); }

//// kind_pool
// functions: `pool`

at::Tensor pool(at::Tensor x, int64_t k, int64_t stride) {
  TORCH_CHECK(k > 0 && stride > 0, "want at least 1");
  return x.unfold(1, k, stride).sum(-1);
}

//// kind_nonzero
// functions: `positive`
// skipped: the shape of where follows from the values

std::tuple<at::Tensor, int64_t> positive(const at::Tensor& x, const c10::optional<at::Tensor>& mask) {
  auto where = at::nonzero(mask ? x.gt(0).logical_and(*mask) : x.gt(0)).flatten();
  return {where, where.numel()};
}

//// kind_half
// functions: `softened`
at::Tensor softened(at::Tensor x) { return x.to(at::kFloat).softmax(1).to(x.scalar_type()); }

//// kind_reduce
// functions: `reduce`

at::Tensor reduce(const at::Tensor& x, std::vector<int64_t> dims, const std::string& mode) {
  return mode == "sum" ? x.sum(dims) : x.mean(dims);
}

//// kind_numbers
// functions: `statistics`
// skipped: total follows from the values

std::tuple<double, int64_t, bool> statistics(at::Tensor x) {
  return {x.sum().item<double>(), x.numel(), x.gt(0).any().item<bool>()};
}

//// kind_noise
// functions: `noise`
// skipped: the op draws random numbers

at::Tensor noise(at::Tensor x, float p) {
  TORCH_CHECK(p >= 0 && p < 1, "a probability");
  return x * at::bernoulli(at::full_like(x, 1 - p)) / (1 - p);
}

//// kind_mix
// functions: `mix`

at::Tensor mix(const at::Tensor& x, at::TensorList others, double scale) {
  at::Tensor y = x.clone(at::MemoryFormat::Contiguous);
  for (const at::Tensor& other : others) y = y.add(other, scale);
  return y;
}

//// kind_total
// functions: `total`

at::Tensor total(at::TensorList xs) {
  at::Tensor y = at::zeros(xs[0].sizes(), xs[0].options());
  for (const at::Tensor& x : xs) y += x;
  return y;
}

//// kind_foreach
// functions: `step`

void step(const std::vector<at::Tensor>& ps, at::TensorList gs, double lr) {
  TORCH_CHECK(ps.size() == gs.size(), "want a gradient for each");
  for (size_t i = 0; i < ps.size(); ++i) ps[i].sub_(gs[i], lr);
}

//// kind_cast
// functions: `cast`

at::Tensor cast(const at::Tensor& x, at::ScalarType dtype, std::vector<double> scales, bool up) {
  return (x * scales[up ? 0 : 1]).to(dtype).contiguous();
}

//// kind_clip
// functions: `clip`

at::Tensor clip(const at::Tensor& x, std::optional<double> low, c10::optional<double> high) {
  at::Tensor y = x.clone(at::MemoryFormat::Contiguous);
  if (low && high && *high < *low) return y;
  if (low) y = y.clamp_min(*low);
  return high ? y.clamp_max(*high) : y;
}
