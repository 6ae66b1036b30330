//// right 1
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, std::max<int64_t>(1, GRAIN / std::max<int64_t>(1, S)), [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// right 2
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, GRAIN / (S + 1), [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// right 3
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, at::divup(GRAIN, S + !S), [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// right 4
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
int64_t rows = GRAIN; if (S) rows /= S;
at::parallel_for(0, B, rows, [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// right 5
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
constexpr int64_t cells = GRAIN;
const double rows = double(cells) / (S ? S : 1);
at::parallel_for(0, B, int64_t(std::ceil(rows)), [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// right 6
template <class F> void each_row(int64_t B, int64_t S, const F& f) {
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
template <class F> void each_row(int64_t B, int64_t S, const F& f) {
if (B * S < GRAIN) {
  for (int64_t b = 0; b < B; ++b) f(b);
} else {
at::parallel_for(0, B, 1, [&](int64_t b, int64_t last) { while (b < last) f(b++); });
}

//// right 7
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes

at::parallel_for(0, B * S, GRAIN, [&](int64_t first, int64_t last) {
  for (int64_t b = (first + S - 1) / S; b < (last + S - 1) / S; ++b) f(b);
});

//// right 8
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes

const int64_t rows = std::max<int64_t>(1, GRAIN / std::max<int64_t>(1, S)), pieces = (B + rows - 1) / rows;
at::parallel_for(0, pieces, 1, [&](int64_t first, int64_t last) {
  for (int64_t b = first * rows; b < std::min(B, last * rows); ++b) f(b);
});

//// right 9
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
// B / 2 would be too few
at::parallel_for(0, B, GRAIN / std::max<int64_t>(1, S), [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// right 10
template <class F> void each_row(int64_t B, int64_t S, const F& f) {
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
template <class F> void each_row(int64_t B, int64_t S, const F& f) {
#if 0
  for (int64_t b = 0; b < B; ++b) f(b);
#else
at::parallel_for(0, B, GRAIN / (S + 1), [&](int64_t b, int64_t last) { while (b < last) f(b++); });
#endif

//// right 11
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
const auto work = [&f](int64_t b, int64_t last) { for (; b != last; ++b) f(b); };
at::parallel_for(0, B, GRAIN / (S | 1), std::cref(work));

//// wrong 1
// says: Two threads do not share 64 rows of 1024 cells
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, GRAIN, [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// wrong 2
// says: 'cell/mine' still says what 'cell/loop' says.

//// wrong 3
// says: 'cell/mine' still says what 'cell/loop' says.
template <class F> void each_row(int64_t B, int64_t S, const F& f) {
// becomes
template <class F> void each_row(int64_t B, int64_t S, const F& f) {
  // at::parallel_for(0, B, GRAIN / S, f)

//// wrong 4
// says: Two threads do not share 64 rows of 1024 cells
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
  const int64_t grain = GRAIN / (S + 1);
  for (int64_t b = 0; b < B; ++b) f(b + 0 * grain);

//// wrong 5
// says: 500 rows of one cell
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, 1, [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// wrong 6
// says: 500 rows of one cell
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, 0 /* GRAIN / S */, [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// wrong 7
// says: 500 rows of one cell
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, B / 2, [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// wrong 8
// says: 500 rows of one cell
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, B / GRAIN, [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// wrong 9
// says: 500 rows of one cell
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, GRAIN / 256, [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// wrong 10
// says: At GRAIN=64 two threads
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, 4096 / (S + 1), [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// wrong 11
// says: `each_row` should do each row once.
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, GRAIN / (S + 1), [&](int64_t b, int64_t last) { for (b = 0; b < B;) f(b++); });

//// wrong 12
// says: 'cell/mine'
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, GRAIN / (S + 1), [&](int64_t b, int64_t last) { while (b + 1 < last) f(b++); });

//// wrong 13
// says: 'cell/mine'
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_for(0, B, GRAIN / S, [&](int64_t b, int64_t last) { while (b < last) f(b++); });

//// wrong 14
// says: 'cell/mine' does not
  for (int64_t b = 0; b < B; ++b) f(b);
// becomes
at::parallel_fore(0, B, GRAIN / (S + 1, [&](int64_t b, int64_t last) { while (b < last) f(b++); });
