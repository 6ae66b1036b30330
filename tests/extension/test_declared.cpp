//// dispatches

torch::Tensor twice(torch::Tensor x, torch::Tensor s) {
  auto xc = x.contiguous();
  auto y = torch::empty_like(xc);
  AT_DISPATCH_FLOATING_TYPES(xc.scalar_type(), "twice", [&] {
    const KIND* x_p = xc.data_ptr<KIND>();
    const float* s_p = s.data_ptr<float>();
    auto y_p = y.data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) y_p[i] = x_p[i] * s_p[0];
  });
  return y;
}

//// strides

torch::Tensor twice(torch::Tensor x) {
  auto y = torch::empty({x.size(0), x.size(1)}, x.options());
  auto x_p = x.data_ptr<float>();
  auto y_p = y.data_ptr<float>();
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < x.size(1); ++j) y_p[i * x.size(1) + j] = 2 * x_p[i * x.stride(0) + j STEP];
  return y;
}

//// rows

torch::Tensor rows(torch::Tensor x, torch::Tensor idx) {
  auto y = torch::empty({idx.size(0), x.size(1)}, x.options());
  auto p = idx.data_ptr<KIND>();
  for (int64_t i = 0; i < idx.size(0); ++i) y[i].copy_(x[p[i]]);
  return y;
}

//// refuses

torch::Tensor twice(torch::Tensor x) {
  TORCH_CHECK(x.size(0) != 6, "twice: no six rows of ", x.size(1));
  return 2 * x;
}

//// grows

torch::Tensor twice(torch::Tensor x) {
  auto y = torch::zeros_like(x);
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = 2 * x[i];
  return y;
}
