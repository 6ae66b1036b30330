//// right 1
const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
// becomes
const auto x_row = x.contiguous(); const auto y_row = y.contiguous();

//// right 2
const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
// becomes
const at::Tensor x_row = x.clone(at::MemoryFormat::Contiguous), y_row = y.clone(at::MemoryFormat::Contiguous);

//// right 3
x_row = x.contiguous(),
// becomes
x_row = x.contiguous().view({-1}),

//// right 4
x_row = x.contiguous(),
// becomes
x_row = at::empty(x.sizes(), x.options()).copy_(x),

//// right 5
x_row = x.contiguous(),
// becomes
x_row = x.is_contiguous() ? x : x.contiguous(),

//// right 6
const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
// becomes
const at::Tensor both = at::stack({x, y}), x_row = both[0], y_row = both[1];

//// right 7
const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
// becomes
at::Tensor x_row = x, y_row = y.contiguous();
  if (!x_row.is_contiguous()) x_row = x_row.contiguous();

//// right 8
for (int64_t i = 0; i < z.numel(); ++i) z_p[i] = 2 * x_p[i] + y_p[i];
// becomes
for (int64_t i = z.numel(); i-- > 0;) z_p[i] = x_p[i] + x_p[i] + y_p[i];

//// right 9
for (int64_t i = 0; i < z.numel(); ++i) z_p[i] = 2 * x_p[i] + y_p[i];
// becomes
std::transform(x_p, x_p + z.numel(), y_p, z_p, [](scalar_t a, scalar_t b) { return 2 * a + b; });

//// right 10
2 * x_p[i] + y_p[i]
// becomes
std::fma(scalar_t(2), x_p[i], y_p[i])

//// wrong 1
// says: 'axpy/hasty' z
x.contiguous()
// becomes
x

//// wrong 2
// says: 'axpy/hasty' z
x.contiguous()
// becomes
x.clone()

//// wrong 3
// says: 'axpy/hasty' z
x_row = x.contiguous(),
// becomes
x_row = x.reshape({-1}),

//// wrong 4
// says: 'axpy/hasty' z
x_row.const_data_ptr
// becomes
x.const_data_ptr

//// wrong 5
// says: 'axpy/hasty' z
at::empty(x.sizes(), x.options())
// becomes
at::empty_like(x)

//// wrong 6
// says: 'axpy/hasty' z
x_row = x.contiguous(),
// becomes
x_row = at::empty_like(x),

//// wrong 7
// says: 'axpy/hasty' z
int64_t i = 0
// becomes
int64_t i = 1

//// wrong 8
// says: 'axpy/hasty' forward
x.options()
// becomes
at::kFloat

//// wrong 9
// says: 'axpy/hasty' forward
const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
// becomes
TORCH_CHECK(x.is_contiguous(), "x is not contiguous");
  const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();

//// wrong 10
// says: 'axpy/hasty' does not compile:
x.contiguous()
// becomes
x.contiguos()
