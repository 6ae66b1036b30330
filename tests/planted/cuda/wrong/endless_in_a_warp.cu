// Lanes that vote until one of them changes its mind.
// x = torch.zeros(32)
// report: endless: threads have waited 10\d\d times, last in a vote at line \d+, and everything is as it was
__global__ void waits(const float* x, float* y) {
  while (!__any_sync(0xffffffff, x[threadIdx.x] > 0)) {  // <-
  }
  y[threadIdx.x] = 1;
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  waits<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
