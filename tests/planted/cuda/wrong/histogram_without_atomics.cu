// A histogram in global memory that is counted with ++.
// x = torch.rand(100)
// report: race: count\[\d\]
__global__ void histogram(const float* x, int* count) {
  ++count[int(x[threadIdx.x] * 4)];  // <-
}
at::Tensor run(const at::Tensor& x) {
  at::Tensor count = at::zeros({4}, x.options().dtype(at::kInt));
  histogram<<<1, 100>>>(x.data_ptr<float>(), count.data_ptr<int>());
  return count.to(at::kFloat);
}
