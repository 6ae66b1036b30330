//// right 1

//// right 2
  const int64_t blocks = (N + THREADS - 1) / THREADS;
// becomes
  const int64_t blocks = N / THREADS + 1;

//// right 3
  const int64_t blocks = (N + THREADS - 1) / THREADS;
// becomes
  const int64_t blocks = N / THREADS + (N % THREADS != 0);

//// right 4
  const int64_t blocks = (N + THREADS - 1) / THREADS;
// becomes
  const unsigned blocks = std::ceil(N / double(THREADS));

//// right 5
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  if (i >= N) return;
  z[i] = 2 * x[i] + y[i];

//// right 6
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  if (!(N <= i)) z[i] = 2 * x[i] + y[i];

//// right 7
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  if (i < N) {
    z[i] = x[i] + x[i] + y[i];
  }

//// right 8
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < N; i += int64_t(gridDim.x) * blockDim.x) z[i] = 2 * x[i] + y[i];

//// right 9
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < N; i += int64_t(gridDim.x) * blockDim.x) z[i] = 2 * x[i] + y[i];
// and
  const int64_t blocks = (N + THREADS - 1) / THREADS;
// becomes
  const int64_t blocks = 1;

//// right 10
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < N; i += int64_t(gridDim.x) * blockDim.x) z[i] = 2 * x[i] + y[i];
// and
  const int64_t blocks = (N + THREADS - 1) / THREADS;
// becomes
  const int64_t blocks = 7;

//// wrong 1
// says: out of bounds
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  z[i] = 2 * x[i] + y[i];

//// wrong 2
// says: impossible launch|unwritten|differs
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  z[i] = 2 * x[i] + y[i];
// and
  const int64_t blocks = (N + THREADS - 1) / THREADS;
// becomes
  const int64_t blocks = N / THREADS;

//// wrong 3
// says: impossible launch|unwritten|differs
  const int64_t blocks = (N + THREADS - 1) / THREADS;
// becomes
  const int64_t blocks = N / THREADS;

//// wrong 4
// says: out of bounds
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  if (i <= N) z[i] = 2 * x[i] + y[i];

//// wrong 5
// says: unwritten|differs
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  if (i < N - 1) z[i] = 2 * x[i] + y[i];

//// wrong 6
// says: out of bounds
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  if (threadIdx.x < N) z[i] = 2 * x[i] + y[i];

//// wrong 7
// says: race|unwritten|differs
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
// becomes
  const int64_t i = threadIdx.x;

//// wrong 8
// says: race|unwritten|differs
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
// becomes
  const int64_t i = blockIdx.x * 32 + threadIdx.x;

//// wrong 9
// says: unwritten|differs
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < N; i += 2 * int64_t(gridDim.x) * blockDim.x) z[i] = 2 * x[i] + y[i];
// and
  const int64_t blocks = (N + THREADS - 1) / THREADS;
// becomes
  const int64_t blocks = 1;

//// wrong 10
// says: out of bounds
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < N) z[i] = 2 * x[i] + y[i];
// becomes
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i <= N; i += int64_t(gridDim.x) * blockDim.x) z[i] = 2 * x[i] + y[i];
