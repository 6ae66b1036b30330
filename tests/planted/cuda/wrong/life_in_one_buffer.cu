// A cellular automaton that writes where its neighbours still read.
// x = torch.ones(6, 6)
// report: race: a\[\d\]\[\d\]
__global__ void step(float* a, int rows, int cols) {
  const int c = threadIdx.x, r = threadIdx.y;
  float living = 0;
  for (int dr = -1; dr <= 1; ++dr)
    for (int dc = -1; dc <= 1; ++dc)
      if (dr || dc) living += a[(r + dr + rows) % rows * cols + (c + dc + cols) % cols];  // <-
  a[r * cols + c] = living == 3;  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor a = x.clone();
  step<<<1, dim3(6, 6)>>>(a.data_ptr<float>(), 6, 6);
  return a;
}
