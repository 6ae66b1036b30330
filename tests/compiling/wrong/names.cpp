//// a function of std for a tensor
// head: tensors
// help: `at::exp` `<ATen/ops/exp.h>`
at::Tensor forward(const at::Tensor& x) {
  return exp(x);  // <-
}

//// std:: in front of a function for a tensor
// head: tensors
// help: `at::sqrt`
at::Tensor forward(const at::Tensor& x) {
  return std::sqrt(x);  // <-
}

//// a header of std that is not in any list
// help: `#include <deque>`
float forward(float x) {
  std::deque<float> waiting;  // <-
  waiting.push_back(x);
  return waiting.front();
}

//// random numbers without their header
// help: `#include <random>`
float forward(int seed) {
  std::mt19937 generator(seed);  // <-
  return generator();
}

//// a stream that is only declared
// help: `#include <sstream>`
#include <vector>
#include <string>
std::string forward(float x) {
  std::ostringstream text;  // <-
  text << x;
  return text.str();
}

//// largest float without its header
// help: `#include <cfloat>`
float forward(const float* x) {
  float best = -FLT_MAX;  // <-
  return x[0] > best ? x[0] : best;
}

//// null in small letters
// help: `nullptr`
const float* forward() {
  return null;  // <-
}

//// a counter without its type
// help: `int64_t i = `
void forward(float* x, int n) {
  for (i = 0; i < n; i++) x[i] = 0;  // <-
}

//// a single colon for two
// help: `'::'`
#include <vector>
float forward(int n) {
  std:vector<float> v(n);  // <-
  return v[0];
}

//// a dot behind a namespace
// help: `'::'`
float forward(float x) {
  return std.sqrt(x);  // <-
}

//// torch with a dot
// head: tensors
// help: `at::`
at::Tensor forward(const at::Tensor& x) {
  return torch.exp(x);  // <-
}

//// dtype of another name
// head: tensors
// help: `at::kFloat`
#include <ATen/ops/empty.h>
at::Tensor forward(int64_t n) {
  return at::empty({n}, at::kFloat32);  // <-
}
