//// right 1
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 8), blocks((C + 31) / 32, (R + 7) / 8);

//// right 2
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(16, 16), blocks((C + 15) / 16, (R + 15) / 16);

//// right 3
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(8, 32), blocks((C + 7) / 8, (R + 31) / 32);

//// right 4
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 32), blocks((C + 31) / 32, (R + 31) / 32);

//// right 5
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(5, 7), blocks((C + 4) / 5, (R + 6) / 7);

//// right 6
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(64, 1), blocks((C + 63) / 64, (R + 0) / 1);

//// right 7
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t c = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(8, 32), blocks((R + 7) / 8, (C + 31) / 32);

//// right 8
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r >= R || c >= C) return;
  y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 8), blocks((C + 31) / 32, (R + 7) / 8);

//// right 9
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x, r = i / C, c = i % C;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(64), blocks((R * C + 63) / 64);

//// right 10
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 8), blocks(C / 32 + 1, R / 8 + 1);

//// wrong 1
// says: It is right, but there are fewer threads than elements

//// wrong 2
// says: It is right, but there are fewer threads than elements
  if (r < R) {
// becomes
  if (R > r) {

//// wrong 3
// says: It is right, but there are fewer threads than elements
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(128), blocks((R + 127) / 128);

//// wrong 4
// says: race|out of bounds|unwritten|differs
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 8), blocks((C + 31) / 32, (R + 7) / 8);

//// wrong 5
// says: out of bounds
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 8), blocks((C + 31) / 32, (R + 7) / 8);

//// wrong 6
// says: race|out of bounds
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 8), blocks((C + 31) / 32, (R + 7) / 8);

//// wrong 7
// says: unwritten|differs
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];

//// wrong 8
// says: unwritten|differs
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t c = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 8), blocks((C + 31) / 32, (R + 7) / 8);

//// wrong 9
// says: unwritten|differs
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[r * C + c] = x[c * R + r];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 8), blocks((C + 31) / 32, (R + 7) / 8);

//// wrong 10
// says: impossible|unwritten|differs
  const int64_t r = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R) {
    for (int64_t c = 0; c < C; ++c) y[c * R + r] = x[r * C + c];
  }
// becomes
  const int64_t r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
  const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// and
  const dim3 threads(64), blocks((R + 63) / 64);
// becomes
  const dim3 threads(32, 8), blocks(C / 32, R / 8);
