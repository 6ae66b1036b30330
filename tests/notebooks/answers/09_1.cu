//// right 1
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];

//// right 2
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];

//// right 3
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (unsigned s = THREADS >> 1; s; s /= 2) {
    if (t < int(s)) part[t] += part[t + s];

//// right 4
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (t < s) part[t] = part[t + s] + part[t];

//// right 5
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (t < s) {
      const T other = part[t + s];
      part[t] += other;
    }

//// right 6
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
    __syncthreads();
// becomes
  int s = THREADS / 2;
  while (s > 0) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
    s /= 2;

//// right 7
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
    __syncthreads();
  }
// becomes
  int s = THREADS;
  do {
    s /= 2;
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  } while (s > 1);

//// right 8
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
    __syncthreads();
  }
// becomes
  for (int s = THREADS / 2; s > 0; s /= 2) {
    __syncthreads();
    if (t < s) part[t] += part[t + s];
  }
  __syncthreads();

//// right 9
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
    __syncthreads();
  }
// becomes
    if (t < 128) part[t] += part[t + 128];
    __syncthreads();
    if (t < 64) part[t] += part[t + 64];
    __syncthreads();
    if (t < 32) part[t] += part[t + 32];
    __syncthreads();
    if (t < 16) part[t] += part[t + 16];
    __syncthreads();
    if (t < 8) part[t] += part[t + 8];
    __syncthreads();
    if (t < 4) part[t] += part[t + 4];
    __syncthreads();
    if (t < 2) part[t] += part[t + 2];
    __syncthreads();
    if (t < 1) part[t] += part[t + 1];
    __syncthreads();

//// right 10
    const int at = 2 * s * t;
// becomes
    const int at = t % (2 * s) ? THREADS : t;

//// wrong 1
// says: It is right, but lanes still want different words of one bank

//// wrong 2
// says: It is right, but lanes still want different words of one bank
  for (int s = 1; s < THREADS; s *= 2) {
// becomes
  for (int s = 1; s < THREADS; s <<= 1) {

//// wrong 3
// says: It is right, but lanes still want different words of one bank
    if (at < THREADS) part[at] += part[at + s];
// becomes
    if (at + s < THREADS) part[at] += part[at + s];

//// wrong 4
// says: race|uninitialised
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
    __syncthreads();
// becomes
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];

//// wrong 5
// says: divergent barrier
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
    __syncthreads();
// becomes
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (t < s) {
      part[t] += part[t + s];
      __syncthreads();
    }

//// wrong 6
// says: differs
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = THREADS / 2; s > 1; s /= 2) {
    if (t < s) part[t] += part[t + s];

//// wrong 7
// says: out of bounds
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = THREADS; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];

//// wrong 8
// says: race|differs|out of bounds
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (t <= s) part[t] += part[t + s];

//// wrong 9
// says: differs
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (t < s) part[t + s] += part[t];

//// wrong 10
// says: race|differs
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = THREADS / 2; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s - 1];

//// wrong 11
// says: differs
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
// becomes
  for (int s = THREADS / 4; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];

//// wrong 12
// says: out of bounds
  for (int s = 1; s < THREADS; s *= 2) {
    const int at = 2 * s * t;
    if (at < THREADS) part[at] += part[at + s];
    __syncthreads();
// becomes
  if (t == 0) {
    for (int i = 1; i < THREADS; ++i) part[0] += part[i + 1];
