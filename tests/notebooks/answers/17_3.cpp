//// right 1
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i]; sums[part] = sum; }

//// right 2
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0;
#pragma omp simd reduction(+:sum)
for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i]; sums[part] = sum; }

//// right 3
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      sums[part] = [=] { float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i]; return sum; }();

//// right 4
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { double sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i]; sums[part] = sum; }

//// right 5
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) { const float v = x_p[i]; sum = std::fma(v, v, sum); } sums[part] += sum; }

//// right 6
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i];
#pragma omp atomic
 sums[part] += sum; }

//// right 7
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { const float *from = x_p + part * n / parts, *to = x_p + (part + 1) * n / parts; float sum = 0; for (const float* v = from; v != to; ++v) sum += *v * *v; sums[part] = sum; }

//// right 8
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { const float *from = x_p + part * n / parts, *to = x_p + (part + 1) * n / parts; float sum = 0; while (from < to) { sum += *from * *from; ++from; } sums[part] = sum; }

//// right 9
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { const float *from = x_p + part * n / parts, *to = x_p + (part + 1) * n / parts; sums[part] = std::inner_product(from, to, from, 0.0f); }

//// right 10
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { const float *from = x_p + part * n / parts, *to = x_p + (part + 1) * n / parts; sums[part] = std::accumulate(from, to, 0.0f, [](float sum, float v) { return sum + v * v; }); }

//// right 11
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { const float *from = x_p + part * n / parts, *to = x_p + (part + 1) * n / parts; float even = 0, odd = 0; for (; from + 1 < to; from += 2) { even += from[0] * from[0]; odd += from[1] * from[1]; } if (from < to) odd += *from * *from; sums[part] = even + odd; }

//// right 12
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { const float *from = x_p + part * n / parts, *to = x_p + (part + 1) * n / parts; for (; from < to; from += 1024) { float sum = 0; for (auto v = from; v < std::min(from + 1024, to); ++v) sum += *v * *v; sums[part] += sum; } }

//// wrong 1
// says: 'squares/mine' is as it was.

//// wrong 2
// says: It is right, but its loop still writes to memory in each iteration.
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += std::pow(x_p[i], 2);

//// wrong 3
// says: It is right, but its loop still writes to memory in each iteration.
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] = sum += x_p[i] * x_p[i]; }

//// wrong 4
// says: It is right, but its loop still writes to memory in each iteration.
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float& sum = sums[part]; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i]; }

//// wrong 5
// says: It is right, but its loop still writes to memory in each iteration.
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) {
#pragma omp atomic
 sums[part] += x_p[i] * x_p[i]; }

//// wrong 6
// says: It is right, but its loop still writes to memory in each iteration.
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) { sum += x_p[i] * x_p[i]; sums[part] = sum; } }

//// wrong 7
// says: 'squares/mine' y
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i]; }

//// wrong 8
// says: 'squares/mine' y
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i]; sums[part] = sum; }

//// wrong 9
// says: 'squares/mine' y
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { int sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i]; sums[part] = sum; }

//// wrong 10
// says: 'squares/mine' y
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i]; sums[part] = sum * sum; }

//// wrong 11
// says: 'squares/mine' y
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = 0; i < n; ++i) sum += x_p[i] * x_p[i]; sums[part] = sum; }

//// wrong 12
// says: 'squares/mine' y
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum = 0; for (int64_t i = part * (n / parts); i < (part + 1) * (n / parts); ++i) sum += x_p[i] * x_p[i]; sums[part] = sum; }

//// wrong 13
// says: 'squares/mine' does not compile:
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      float sum = 0; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i]; sums[part] = sum;

//// wrong 14
// says: 'squares/mine' does not compile:
      for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sums[part] += x_p[i] * x_p[i];
// becomes
      { float sum; for (int64_t i = part * n / parts; i < (part + 1) * n / parts; ++i) sum += x_p[i] * x_p[i] sums[part] = sum; }
