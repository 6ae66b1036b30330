#include <ATen/core/Tensor.h>
#include <ATen/Dispatch.h>
#include <ATen/cpu/vec/vec.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>
double number(const at::Tensor& x) { const double v = x.max().item(); return v; }  // help: .item<double>()
float any_number(at::Scalar s) { float v = s; return v; }  // help: s.to<float>()
at::Tensor of_two_extents(at::Tensor x, const int64_t n) { return x.reshape(n, n); }  // help: .reshape({n, n})
void rows(at::Tensor x) { int64_t n, m = x.sizes(); }  // help: int64_t n = x.size(0), m = x.size(1)
float gone(at::Tensor x) { auto a = x.exp().accessor<float, 1>(); return a[0]; }  // help: does not keep its tensor
float deeper(at::Tensor x) { auto a = x.accessor<float, 1>(); return a[0][1]; }  // help: has 1 dimension, and line
at::Tensor row(at::Tensor x) { auto a = x.accessor<float, 2>(); return a[0]; }  // help: is no tensor
at::Tensor first(at::Tensor x) { at::Tensor m, i = x.max(1); return m; }  // help: takes them apart
at::Tensor sized(at::Tensor x) { return at::Tensor(2, 3); }  // help: at::empty({rows, columns}
void sets(at::Tensor x) { x.requires_grad = true; }  // help: requires_grad_(true)
void comma_of_types() { TORCH_CHECK(std::is_same_v<float, int> && true, 1); }  // help: put ( ) around the whole
void adds(at::Tensor x) { float s = 0; s += x[0]; }  // help: An element of a tensor is a tensor too
void no_kind(at::Tensor x) { const float* p = x.const_data_ptr(); }  // help: write const_data_ptr<float>()
at::Tensor retyped(at::Tensor x) { return x.type(at::kFloat); }  // help: x.to(at::kFloat)
at::Tensor named(at::Tensor x) { return x.to(at::ScalarType::Float32); }  // help: at::kFloat
at::Tensor many(std::vector<at::Tensor> v) { return v; }  // help: at::stack(v, 0)
std::tuple<at::Tensor, at::Tensor> one(at::Tensor x) { return x; }  // help: return {a, b};
std::tuple<at::Tensor, at::Tensor> all(std::vector<at::Tensor> v) { return v; }  // help: return {v[0], v[1]};
void writes(at::Tensor x) { auto p = x.const_data_ptr<float>(); p[0] = 2; }  // help: take mutable_data_ptr there
void asked(std::array<bool, 2> wanted) { if (wanted.first) { } }  // help: taken with [ ]
void sign_behind(const at::Tensor x&) { }  // help: const at::Tensor& x
at::Tensor alike(at::Tensor x) { return at::zeros_like(x.sizes()); }  // help: at::zeros(sizes, x.options())
void stored(at::vec::Vectorized<float> v, float* p) { p[0] = v; }  // help: v.store(p + i)
at::Tensor parts(at::Tensor x) { auto [m, i] = x.max(); return m; }  // help: This is one tensor
void in_small(at::Tensor x) { at::tensor z = x; }  // help: The type is at::Tensor, with a capital T
at::Tensor joined(at::Tensor x) { at::Tensor z = at::cat(x.flatten(), x.exp()); return z; }  // help: at::cat({x.flatten(), x.exp()}, 0)
void joined_to_text(at::Tensor x, double a) { TORCH_CHECK(a > 0, "got " + a); }  // help: takes the parts one by one
float of_nothing(at::Tensor x, float a) { auto sq = [](float v) { v * v; }; return a + sq(a); }  // help: 'sq' has no return
float of_void(at::Tensor x, float a) { void f(float); return a + f(a); }  // help: it returns nothing
at::Tensor converted_to(at::Tensor x) { return x.to(float); }  // help: A dtype is named by a constant
const float* of_type(at::Tensor x) { return x.data_ptr(float); }  // help: data_ptr<float>()
void of_types(at::Tensor x) { AT_DISPATCH_FLOATING_TYPES(float, "f", [&] { }); }  // help: takes the dtype of a tensor
void of_tensor(at::Tensor x) { AT_DISPATCH_FLOATING_TYPES(x, "f", [&] { }); }  // help: x.scalar_type()
at::Tensor both_given(at::Tensor x) { return {x, x}; }  // help: One tensor is returned
bool both_true(at::Tensor x, at::Tensor y) { return x && y; }  // help: at::logical_and(a, b)
at::Tensor chosen_of(at::Tensor x) { return x ? x : x; }  // help: at::where(condition, a, b)
float data_of(at::Tensor x) { return x.data[0]; }  // help: x.const_data_ptr<float>()
at::Tensor of_functional(at::Tensor x) { return F::relu(x); }  // help: There is no namespace 'F'
at::Tensor index_of(at::Tensor x) { return x.index({at::Slice()}); }  // help: at::indexing::Slice
at::Tensor or_number(bool b, at::Tensor x) { return b ? x : 0.0f; }  // help: at::scalar_tensor(v, x.options())
at::Tensor method_alike(at::Tensor x) { return x.zeros_like(); }  // help: at::zeros_like(...)
int64_t optional_of(std::optional<at::Tensor> x) { return x.size(0); }  // help: x.has_value() first
at::Tensor given_pointer(at::Tensor x, float* p) { return x + p; }  // help: a tensor and a pointer
at::Tensor power(at::Tensor x) { return x ** 2; }  // help: write at::pow(x, 2)
std::string shown(at::Tensor x) { return std::to_string(x); }  // help: std::to_string is for numbers
at::Tensor limited(at::Tensor x) { return std::max(x, 0.0); }  // help: at::clamp_min(x, 0.0)
void exp_of_all(std::vector<float> v) { std::exp(v); }  // help: one = std::exp(one);
float largest(std::vector<float> v) { return std::max(v); }  // help: *std::max_element(v.begin(), v.end())
at::Tensor of_python(at::Tensor x) { return x.to(torch::float32); }  // help: at::kFloat in C++
at::Tensor near_torch(at::Tensor x) { return torch::sigmoyd(x); }  // help: 'torch::sigmoid'
at::Tensor near_at(at::Tensor x) { return sigmoyd(x); }  // help: sigmoid'
at::Tensor nowhere_in_at(at::Tensor x) { return at::gelu_of_mine(x); }  // help: No header that is included has at::gelu_of_mine
int64_t without_tensor(at::Tensor x) { return numel(); }  // help: write x.numel(...)
auto wide() { return Vectorized<float>(1); }  // help: 'at::vec::Vectorized'
void short_dispatch(at::Tensor x) { AT_DISPATCH_FLOAT(x.scalar_type(), "f", [&] { }); }  // help: 'AT_DISPATCH_FLOATING_TYPES'
float cast(at::Tensor x) { return (float)x; }  // help: .item<float>()
float* cast_to_pointer(at::Tensor x) { return (float*)x; }  // help: A tensor is no pointer
float infinite() { return std::numeric_limits<float>::inf(); }  // help: 'infinity', with ( ) after it
void changes(at::Tensor& x) { } void hands_const(const at::Tensor& x) { changes(x); }  // help: at::Tensor y = x.clone()
void fills(float* p) { } void hands_pointer(const at::Tensor& x) { fills(x.const_data_ptr<float>()); }  // help: hand over x.mutable_data_ptr<float>()
void fills_of_const(const float* p) { auto sets_one = [](float* q) { q[0] = 1; }; sets_one(p); }  // help: const
void index_of_sum(double d) { (d + 1)[0]; }  // help: Only arrays, pointers and accessors
at::Tensor two_too_many(at::Tensor x) { return x.sigmoid(1, 2); }  // help: takes no arguments
at::Tensor filled(at::Tensor x) { return x.fill_("a"); }  // help: A text is no tensor
void kept_as(float k) { std::function<float(float)> kept = [](const char* a) { return a; }; }  // help: other types than this std::function
void may_be_none(std::optional<double> s) { double v = s; }  // help: x.has_value()
at::Tensor of_vector(std::vector<float> v) { return v; }  // help: at::tensor(v, x.options())
at::Tensor of_int(at::Tensor x) { return x.reshape(std::vector<int>{2, 3}); }  // help: Extents are int64_t
void of_whole(std::vector<float> v) { fills(v); }  // help: v.data()
void of_rows() { float a[2][3]; float* p = a; }  // help: &a[0][0]
float of_iterator(std::vector<float> v) { float m = std::max_element(v.begin(), v.end()); return m; }  // help: *it is the value
void of_pair(float x) { std::pair<float, int> p = x; }  // help: Its values stand in braces
void of_text(float x) { std::string s = x; }  // help: std::to_string
std::vector<at::Tensor> of_one(at::Tensor x) { return x; }  // help: Braces make a list
void of_accessor(at::Tensor x) { float* p = x.accessor<float, 1>(); }  // help: An accessor is no pointer
at::Tensor of_scalar(at::Scalar s) { return s; }  // help: at::scalar_tensor(s, x.options())
at::Tensor of_nothing() { return nullptr; }  // help: No tensor is at::Tensor()
void of_letter() { char c = "a"; }  // help: single quotes
float half_of(float x) { return x / 2; } void of_function() { float v = half_of; }  // help: is not called
bool is_there(at::Tensor x) { return x == nullptr; }  // help: x.defined()
bool on_gpu(at::Tensor x) { return x.device() == "cuda"; }  // help: x.is_cuda()
std::string with_shape(at::Tensor x) { return "shape: " + x.sizes(); }  // help: x.numel()
float two_axes(at::Tensor x) { auto a = x.accessor<float, 2>(); return a[0] + 1; }  // help: more dimensions
void doubled_all(std::vector<float> v) { v * 2; }  // help: no arithmetic
void rule() { "-" * 3; }  // help: std::string(3, '-')
void joined(std::string s, float x) { s = s + x; }  // help: std::to_string
bool either(float a, float b) { return a | b; }  // help: combined by ||
float halved(float x) { return x >> 1; }  // help: and / divides
float hidden_by(std::vector<float> v) { auto p = v.begin(); return p * 2; }  // help: *it is the value
void no_comma(at::Tensor x) { AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f" [&] { }); }  // help: Before the lambda a ','
at::Tensor near_softplus(at::Tensor x) { return softpluss(x); }  // help: 'at::softplus'
