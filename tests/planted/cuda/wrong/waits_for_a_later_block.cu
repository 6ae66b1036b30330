// A block waits in a loop for the one behind it.
// x = torch.randn(4)
// report: endless: a thread has branched
__global__ void backwards(const float* x, float* y, volatile int* done) {
  const int b = blockIdx.x;
  if (b + 1 < gridDim.x) {
    while (done[b + 1] == 0) {  // <-
    }
  }
  y[b] = x[b] + (b + 1 < gridDim.x ? y[b + 1] : 0.f);
  __threadfence();
  done[b] = 1;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x), done = at::zeros({4}, x.options().dtype(at::kInt));
  backwards<<<4, 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), done.data_ptr<int>());
  return y;
}
