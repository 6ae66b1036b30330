// All stops in one launch: blocks do not wait for each other.
// x = torch.randint(1, 50, (8, 8)).float()
// report: race: d\[\d+\]\[\d+\] .*is (read|written)
__global__ void relax(float* d, int n) {
  const int i = blockIdx.x, j = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    d[i * n + j] = fminf(d[i * n + j], d[i * n + k] + d[k * n + j]);  // <-
    __syncthreads();
  }
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor d = x.clone();
  relax<<<8, 8>>>(d.data_ptr<float>(), 8);
  return d;
}
