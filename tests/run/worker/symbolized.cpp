
#include <algorithm>
#include <vector>
#line 1 "lltm/fused"
__attribute__((noinline)) void outer(double* place);
static inline void inlined(double* place) {
  __builtin_trap();
}
extern "C" void user(double* place) {
  inlined(place);
}
#line 1 "lltm/fused (binding)"
extern "C" void binding() {
  __builtin_trap();
}
#line 1 "conv_bn/mine"
extern "C" void sorts(double* first) {
  std::vector<double> values(first, first + 100);
  std::sort(values.begin(), values.end());
  *first = values[0];
}
