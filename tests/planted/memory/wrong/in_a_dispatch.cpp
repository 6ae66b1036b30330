// The body of a macro has one line for the compiler, and its subscripts their own.
// x = torch.rand(33)
// report: out of bounds: sums\[33\] \(byte 132 of 132 bytes that the text allocates\) is read
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "run", [&] {
    const scalar_t* p = x.data_ptr<scalar_t>();
    scalar_t* o = y.data_ptr<scalar_t>();
    std::vector<scalar_t> sums(p, p + x.numel());
    for (int64_t i = 0; i < x.numel(); ++i) {
      o[i] = 2 * p[i] + (sums[i + 1] > 9 ? 1 : 0);  // <-
    }
  });
  return y;
}
