//// scribbles
// does: writes into its input x
// plain: `goes on, and x is changed`
// verb: check
// said: finding
// what: `forward changes the input x`

Tensor forward(const Tensor& x) {
  const Tensor y = twice(x);
  with_data(x, x, [&](const auto*, auto* to) {
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = 7;
  });
  return y;
}

//// unwritten
// does: leaves the last element of y unwritten
// plain: `goes on, and y is wrong` `goes on, and y is right`
// verb: check
// said: finding
// what: `was never written`

Tensor forward(const Tensor& given) {
  const Tensor x = torch::stable::contiguous(given), y = torch::stable::empty_like(x);
  with_data(x, y, [&](const auto* from, auto* to) {
    for (int64_t i = 0; i + 1 < x.numel(); ++i) to[i] = 2 * from[i];
  });
  return y;
}
