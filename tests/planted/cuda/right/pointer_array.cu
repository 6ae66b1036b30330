// An array of pointers in a struct: the argument of one launch.
// x = torch.randn(3, 10)
// y = x.sum(0)
struct Inputs { const float* p[3]; int count; };
__global__ void sum(Inputs in, float* y, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int k = 0; k < in.count; ++k) s += in.p[k][i];
  y[i] = s;
}
at::Tensor run(const at::Tensor& x) {
  auto y = at::empty({10}, x.options());
  Inputs in;
  in.count = 3;
  std::vector<at::Tensor> rows = x.unbind(0);
  for (int k = 0; k < 3; ++k) in.p[k] = rows[k].data_ptr<float>();
  sum<<<1, 32>>>(in, y.data_ptr<float>(), 10);
  return y;
}
