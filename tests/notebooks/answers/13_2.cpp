//// right 1
d_y_p[n] * (1 - t * t)
// becomes
(1 - t) * (1 + t) * d_y_p[n]

//// right 2
d_y_p[n] * (1 - t * t)
// becomes
d_y_p[n] * (1 - std::pow(t, 2))

//// right 3
d_y_p[n] * (1 - t * t)
// becomes
std::fma(-t * t, d_y_p[n], d_y_p[n])

//// right 4
const scalar_t t = y_p[n] / cap;
// becomes
const auto t = scalar_t(y_p[n] / cap);

//// right 5
const scalar_t t = y_p[n] / cap;
// becomes
const scalar_t t = y_p[n] * (1 / cap);

//// right 6
for (int64_t n = 0; n < y.numel(); ++n) {
// becomes
for (int64_t n = y.numel(); n-- > 0;) {

//// right 7
for (int64_t n = 0; n < y.numel(); ++n) {
// becomes
int64_t n = -1;
    while (++n < y.numel()) {

//// right 8
const scalar_t t = y_p[n] / cap;
      d_x_p[n] = d_y_p[n] * (1 - t * t);
// becomes
d_x_p[n] = d_y_p[n] - d_y_p[n] * y_p[n] * y_p[n] / (cap * cap);

//// right 9
  return d_x;
// becomes
  return wanted[0] ? d_x : at::Tensor();

//// right 10
d_y.contiguous(), d_x = at::empty_like(d_y_row)
// becomes
d_y.contiguous(), d_x = at::empty(y.sizes(), y.options())
// and
empty_like.h>
// becomes
empty_like.h>
#include <ATen/ops/empty.h>

//// wrong 1
// says: 'softcap/loop' d_x
d_y_p[n] * (1 - t * t)
// becomes
1 - t * t

//// wrong 2
// says: 'softcap/loop' d_x
d_y_p[n] * (1 - t * t)
// becomes
d_y_p[n] * (1 + t * t)

//// wrong 3
// says: 'softcap/loop' d_x
d_y_p[n] * (1 - t * t)
// becomes
d_y_p[n] * t * t

//// wrong 4
// says: 'softcap/loop' d_x
const scalar_t t = y_p[n] / cap;
// becomes
const scalar_t t = y_p[n];

//// wrong 5
// says: 'softcap/loop' d_x
const scalar_t t = y_p[n] / cap;
// becomes
const scalar_t t = y_p[n] * cap;

//// wrong 6
// says: 'softcap/loop' d_x
const scalar_t t = y_p[n] / cap;
// becomes
const scalar_t t = std::tanh(y_p[n] / cap);

//// wrong 7
// says: 'softcap/loop' d_x
const scalar_t t = y_p[n] / cap;
// becomes
const float t = y_p[n] / cap;

//// wrong 8
// says: 'softcap/loop' d_x
d_y.contiguous(), d_x
// becomes
d_y, d_x

//// wrong 9
// says: 'softcap/loop'
for (int64_t n = 0; n < y.numel(); ++n) {
// becomes
for (int64_t n = 1; n < y.numel(); ++n) {

//// wrong 10
// says: 'softcap/loop' does not compile:
const scalar_t t = y_p[n] / cap;
// becomes
