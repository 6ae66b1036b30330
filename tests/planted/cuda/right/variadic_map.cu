// One kernel for functors of any number of pointers.
// x = torch.randn(3, 65)
// y = x[0] * x[1] + x[2].clamp(min=0)
namespace detail {
struct MulAddRelu {
  float floor;
  __device__ float operator()(float a, float b, float c) const { return fmaf(a, b, c > floor ? c : floor); }
};
template <typename F, typename... In>
__global__ void __launch_bounds__(128) map(F f, float* out, unsigned n, const In*... in) {
  const unsigned stride = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) out[i] = f(in[i]...);
}
}  // namespace detail
at::Tensor run(const at::Tensor& x) {
  const auto n = x.size(1);
  auto y = at::empty({n}, x.options());
  const float* const p = x.const_data_ptr<float>();
  using detail::map;
  map<detail::MulAddRelu, float, float, float><<<2, 16>>>(detail::MulAddRelu{0.f}, y.mutable_data_ptr<float>(), unsigned(n), p, p + n, p + 2 * n);
  return y;
}
