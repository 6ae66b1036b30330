// A lane that its own mask leaves out.
// x = torch.randn(32)
// report: a vote .* has a mask without lane
__global__ void vote(const float* x, float* y) {
  y[threadIdx.x] = __ballot_sync(0x0000ffff, x[threadIdx.x] > 0);  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  vote<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
