// A cellular automaton on bytes, whose edges meet, in steps that change buffers.
// x = (torch.rand(12, 9) > 0.6).float()
// y = (lambda a: [a := ((n := sum(a.roll((i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - a) == 3).float() + ((n == 2) & (a > 0)).float() for _ in range(3)][-1])(x)
using cell = unsigned char;
__device__ inline int wrap(int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; }
__global__ void step(const cell* __restrict__ now, cell* next, int rows, int cols) {
  const int c = blockDim.x * blockIdx.x + threadIdx.x;
  const int r = blockDim.y * blockIdx.y + threadIdx.y;
  if (r >= rows || c >= cols) return;
  int living = -int(now[r * cols + c]);
  for (int dr = -1; dr <= 1; ++dr)
    for (int dc = -1; dc <= 1; ++dc) living += now[wrap(r + dr, rows) * cols + wrap(c + dc, cols)];
  next[r * cols + c] = living == 3 || (living == 2 && now[r * cols + c]);
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor a = x.to(at::kByte), b = at::empty_like(a);
  const dim3 block(8, 4), grid((x.size(1) + 7) / 8, (x.size(0) + 3) / 4);
  for (int i = 0; i < 3; ++i) {
    step<<<grid, block>>>(a.data_ptr<cell>(), b.data_ptr<cell>(), x.size(0), x.size(1));
    std::swap(a, b);
  }
  return a.to(at::kFloat);
}
