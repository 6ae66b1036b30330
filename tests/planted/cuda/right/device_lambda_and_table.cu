// A table of the device, and a struct passed by value.
// x = torch.randn(20)
// y = torch.where(torch.arange(20) % 2 == 0, x * 3, x * 5)
__device__ const float factor[2] = {3, 5};
struct Job {
  const float* from;
  float* to;
  int n;
};
__global__ void work(Job job) {
  const auto scaled = [&](int i) { return job.from[i] * factor[i % 2]; };
  if (threadIdx.x < job.n) job.to[threadIdx.x] = scaled(threadIdx.x);
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  const Job job{x.data_ptr<float>(), y.data_ptr<float>(), 20};
  work<<<1, 32>>>(job);
  return y;
}
