// The next ticket is drawn while others may still look at the last one.
// x = torch.randn(6, 32)
// report: race: tile(\[0\])? is
__global__ void rows(const float* x, float* y, int* next, int n) {
  __shared__ int tile;
  for (;;) {
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);  // <-
    __syncthreads();
    if (tile >= n) break;  // <-
    y[tile * 32 + threadIdx.x] = 2 * x[tile * 32 + threadIdx.x];  // <-
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x), next = at::zeros({1}, x.options().dtype(at::kInt));
  rows<<<2, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), next.data_ptr<int>(), x.size(0));
  return y;
}
