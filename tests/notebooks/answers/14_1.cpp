//// right 1
for (int64_t i = 0; i < x.numel(); ++i) y_p[i] = i > 0 ? x_p[i - 1] : scalar_t(0);
// becomes
if (x.numel() > 0) y_p[0] = 0;
    for (int64_t i = 1; i < x.numel(); ++i) y_p[i] = x_p[i - 1];

//// right 2
for (int64_t i = 0; i < x.numel(); ++i) y_p[i] = i > 0 ? x_p[i - 1] : scalar_t(0);
// becomes
if (x.numel() > 0) y_p[0] = 0;
    for (int64_t i = 0; i + 1 < x.numel(); ++i) y_p[i + 1] = x_p[i];

//// right 3
for (int64_t i = 0; i < x.numel(); ++i) y_p[i] = i > 0 ? x_p[i - 1] : scalar_t(0);
// becomes
if (x.numel() > 0) y_p[0] = 0;
    if (x.numel() > 1) std::copy(x_p, x_p + x.numel() - 1, y_p + 1);

//// right 4
i > 0 ? x_p[i - 1] : scalar_t(0)
// becomes
i == 0 ? scalar_t(0) : x_p[i - 1]

//// right 5
for (int64_t i = 0; i < x.numel(); ++i) y_p[i] = i > 0 ? x_p[i - 1] : scalar_t(0);
// becomes
for (int64_t i = 0; i < x.numel(); ++i) {
      y_p[i] = 0;
      if (i) y_p[i] = x_p[i - 1];
    }

//// right 6
for (int64_t i = 0; i < x.numel(); ++i) y_p[i] = i > 0 ? x_p[i - 1] : scalar_t(0);
// becomes
scalar_t last = 0;
    for (int64_t i = 0; i < x.numel(); ++i) {
      y_p[i] = last;
      last = x_p[i];
    }

//// right 7
i + 1 < N ? d_y_p[i + 1] : scalar_t(0)
// becomes
i == N - 1 ? scalar_t(0) : d_y_p[i + 1]

//// right 8
for (int64_t i = 0; i < N; ++i) d_x_p[i] = i + 1 < N ? d_y_p[i + 1] : scalar_t(0);
// becomes
for (int64_t i = 1; i < N; ++i) d_x_p[i - 1] = d_y_p[i];
    if (N) d_x_p[N - 1] = 0;

//// right 9
for (int64_t i = 0; i < N; ++i) d_x_p[i] = i + 1 < N ? d_y_p[i + 1] : scalar_t(0);
// becomes
for (int64_t i = N - 1; i >= 0; --i) d_x_p[i] = i < N - 1 ? d_y_p[i + 1] : 0;

//// right 10
for (int64_t i = 0; i < N; ++i) d_x_p[i] = i + 1 < N ? d_y_p[i + 1] : scalar_t(0);
// becomes
if (N == 0) return;
    for (int64_t i = 0; i < N - 1; ++i) d_x_p[i] = d_y_p[i + 1];
    d_x_p[N - 1] = 0;

//// wrong 1
// says: 'shift/mine'
i > 0 ? x_p[i - 1] : scalar_t(0)
// becomes
x_p[i - 1]

//// wrong 2
// says: 'shift/mine'
i + 1 < N ? d_y_p[i + 1] : scalar_t(0)
// becomes
d_y_p[i + 1]

//// wrong 3
// says: 'shift/mine'
for (int64_t i = 0; i < x.numel(); ++i) y_p[i] = i > 0 ? x_p[i - 1] : scalar_t(0);
// becomes
y_p[0] = 0;
    for (int64_t i = 1; i < x.numel(); ++i) y_p[i] = x_p[i - 1];

//// wrong 4
// says: 'shift/mine'
for (int64_t i = 0; i < N; ++i) d_x_p[i] = i + 1 < N ? d_y_p[i + 1] : scalar_t(0);
// becomes
d_x_p[N - 1] = 0;
    for (int64_t i = 0; i < N - 1; ++i) d_x_p[i] = d_y_p[i + 1];

//// wrong 5
// says: 'shift/mine' y
for (int64_t i = 0; i < x.numel(); ++i) y_p[i] = i > 0 ? x_p[i - 1] : scalar_t(0);
// becomes
for (int64_t i = 1; i < x.numel(); ++i) y_p[i] = x_p[i - 1];

//// wrong 6
// says: 'shift/mine' y
i > 0 ? x_p[i - 1] : scalar_t(0)
// becomes
i > 0 ? x_p[i - 1] : x_p[0]

//// wrong 7
// says: 'shift/mine' y
i > 0 ? x_p[i - 1] : scalar_t(0)
// becomes
i > 0 ? x_p[i] : scalar_t(0)

//// wrong 8
// says: 'shift/mine' y
i > 0 ? x_p[i - 1] : scalar_t(0)
// becomes
i > 1 ? x_p[i - 1] : scalar_t(0)

//// wrong 9
// says: 'shift/mine' d_x
i + 1 < N ? d_y_p[i + 1] : scalar_t(0)
// becomes
i < N ? d_y_p[i] : scalar_t(0)

//// wrong 10
// says: 'shift/mine'
i + 1 < N ? d_y_p[i + 1] : scalar_t(0)
// becomes
i < N ? d_y_p[i + 1] : scalar_t(0)
