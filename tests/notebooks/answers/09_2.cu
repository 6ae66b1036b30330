//// right 1
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// right 2
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[32][33];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// right 3
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 3];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// right 4
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE - 1 + 2];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// right 5
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE + 1][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// right 6
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// right 7
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  __syncthreads();
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// right 8
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (!(r >= R || c >= C)) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// right 9
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x ^ threadIdx.y] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y ^ threadIdx.x];

//// right 10
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 1
// says: It is right, but lanes of a warp want different words of one bank
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 2
// says: It is right, but lanes of a warp want different words of one bank
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 2];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 3
// says: It is right, but lanes of a warp want different words of one bank
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE + 1][TILE];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 4
// says: It is right, but lanes of a warp want different words of one bank
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 16];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 5
// says: race|uninitialised
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 6
// says: race|uninitialised
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 7
// says: divergent barrier
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c], __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 8
// says: race|out of bounds|uninitialised
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 9
// says: differs|uninitialised
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE + 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.y][threadIdx.x];

//// wrong 10
// says: race|differs|out of bounds|uninitialised
  const int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) y[c * R + r] = x[r * C + c];
// becomes
  __shared__ T tile[TILE][TILE - 1];
  int64_t r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
  if (r < R && c < C) tile[threadIdx.y][threadIdx.x] = x[r * C + c];
  __syncthreads();
  r = blockIdx.y * TILE + threadIdx.x, c = blockIdx.x * TILE + threadIdx.y;
  if (r < R && c < C) y[c * R + r] = tile[threadIdx.x][threadIdx.y];

//// wrong 11
// says: It is right, but lanes of a warp read or write global memory far apart
