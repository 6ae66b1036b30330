//// dispatched
at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
  const at::Tensor z = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "axpy", [&] {
    const scalar_t *x_p = x_row.const_data_ptr<scalar_t>(), *y_p = y_row.const_data_ptr<scalar_t>();
    scalar_t* z_p = z.mutable_data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      z_p[i] = x_p[i + 1] / 2;
      z_p[i] += y_p[i];
    }
  });
  return z;
}
