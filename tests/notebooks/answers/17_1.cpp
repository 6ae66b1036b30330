//// right 1
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// right 2
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - new_m[i] / new_u[i] * rate;

//// right 3
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - std::min(rate, 1.0f) * new_m[i] / new_u[i];

//// right 4
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
// becomes
  const double rate = 0.002 / (1 - std::pow(0.9, t));
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// right 5
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
// becomes
  const float rate = 0.002f / (1 - std::exp(t * std::log(0.9f)));
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// right 6
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
// becomes
  float power = 1;
  for (int k = 0; k < int(t); ++k) power *= 0.9f;
  const float rate = 0.002f / (1 - power);
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// right 7
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
// becomes
  const auto rate_of = [](float step) { return 0.002f / (1 - std::pow(0.9f, step)); };
  const float rate = rate_of(t);
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// right 8
    float* __restrict new_p, float* __restrict new_m, float* __restrict new_u) {
// becomes
    float* __restrict new_p, float* __restrict new_m, float* __restrict new_u) {
  if (n == 0) return;
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// right 9
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
  }
  for (int64_t i = 0; i < n; ++i) {
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// right 10
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
// becomes
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
  #pragma omp simd
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// right 11
  for (int64_t i = 0; i < n; ++i) {
// becomes
  for (int i = 0; i < n; i++) {
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// wrong 1
// says: 'adamax/mine' is as it was.

//// wrong 2
// says: 'adamax/mine' is as it was.
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - /* rate */ 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];

//// wrong 3
// says: It is right, and its loop still calls a function.
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9, t)) * new_m[i] / new_u[i];

//// wrong 4
// says: It is right, and its loop still calls a function.
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - 0.002f / (1 - powf(0.9f, t)) * new_m[i] / new_u[i];

//// wrong 5
// says: It is right, and its loop still calls a function.
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - 0.002f / (1 - std::exp(t * std::log(0.9f))) * new_m[i] / new_u[i];

//// wrong 6
// says: It is right, and its loop still calls a function.
    new_u[i] = std::max(0.999f * u[i], std::abs(g[i]) + 1e-8f);
// becomes
    new_u[i] = std::max(0.999f * u[i], std::abs(g[i]) + 1e-8f);
  }
  for (int64_t i = 0; i < n; ++i) {

//// wrong 7
// says: 'adamax/mine' new_p
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - 0.002f * new_m[i] / new_u[i];

//// wrong 8
// says: 'adamax/mine' new_p
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
// becomes
  static const float rate = 0.002f / (1 - std::pow(0.9f, t));
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// wrong 9
// says: 'adamax/mine' new_p
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
// becomes
  const float rate = 0.002f / (1 - std::pow(0.999f, t));
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// wrong 10
// says: 'adamax/mine' new_p
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
// becomes
  const float rate = 0.002f / (1 - std::pow(0.9f, n));
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// wrong 11
// says: 'adamax/mine' new_p
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * m[i] / new_u[i];

//// wrong 12
// says: It is right and calls nothing, but takes one float at a time.
  const float rate = 0.002f / (1 - std::pow(0.9f, t));
// becomes
  volatile float rate = 0.002f / (1 - std::pow(0.9f, t));
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];

//// wrong 13
// says: It is right and calls nothing, but takes one float at a time.
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];
    if (new_u[i] == 0) break;

//// wrong 14
// says: 'adamax/mine' does not compile:
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rat * new_m[i] / new_u[i];

//// wrong 15
// says: It is right and calls nothing, but takes one float at a time.
    float* __restrict new_p, float* __restrict new_m, float* __restrict new_u) {
// becomes
    float* new_p, float* new_m, float* new_u) {
// and
    new_p[i] = p[i] - 0.002f / (1 - std::pow(0.9f, t)) * new_m[i] / new_u[i];
// becomes
    new_p[i] = p[i] - rate * new_m[i] / new_u[i];
