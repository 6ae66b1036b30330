//// late

Tensor forward(const Tensor& x) {
  static int calls = 0;
  if (++calls == 20) std::abort();
  Tensor y = twice(x);
  with_data(x, y, [&](const auto*, auto* to) {
    if (y.numel() == 0 || y.numel() % 4 != 0) return;
    volatile auto* behind = to + y.numel();
    behind[0] = 1;  // here
  });
  return y;
}
