// A program of its own, for processors on which torch is not at hand: threads change places at barriers and in warps, and what
// they hold in registers stays what it was.
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

constexpr int kThreads = 96, kRounds = 5;

// More numbers than a thread has registers that a call leaves as they are.
__global__ void registers(const double* x, double* y) {
  __shared__ double handed[kThreads];
  const int t = threadIdx.x;
  double a = x[t], b = a + 1, c = a * 2, d = a - 3, e = a / 4, f = -a, g = a * a, h = 1 / (1 + g), i = 5 - a, j = a + 0.5;
  int64_t k = t, l = 3 * t, m = t * t, n = 7 - t, o = t ^ 5;
  for (int round = 0; round < kRounds; ++round) {
    handed[t] = a + double(k + l);
    __syncthreads();
    a = handed[(t + 1) % kThreads] / 2;
    __syncthreads();
    b = c + a, c = d - e, d = f * 0.5, e = g + h, f = i, g = j, h = b * 0.25, i = c, j = d;
    k = l - m, l = n + o, m = k & 63, n = -o, o = l % 11;
  }
  y[t] = a + b + c + d + e + f + g + h + i + j + double(k + l + m + n + o);
}

// The same one thread after the other.
void on_the_host(const double* x, double* y) {
  double v[kThreads][10];
  int64_t w[kThreads][5];
  for (int t = 0; t < kThreads; ++t) {
    const double a = x[t], first[] = {a, a + 1, a * 2, a - 3, a / 4, -a, a * a, 1 / (1 + a * a), 5 - a, a + 0.5};
    const int64_t whole[] = {t, 3 * t, t * t, 7 - t, t ^ 5};
    for (int i = 0; i < 10; ++i) v[t][i] = first[i];
    for (int i = 0; i < 5; ++i) w[t][i] = whole[i];
  }
  for (int round = 0; round < kRounds; ++round) {
    double handed[kThreads];
    for (int t = 0; t < kThreads; ++t) handed[t] = v[t][0] + double(w[t][0] + w[t][1]);
    for (int t = 0; t < kThreads; ++t) {
      auto& [a, b, c, d, e, f, g, h, i, j] = v[t];
      auto& [k, l, m, n, o] = w[t];
      a = handed[(t + 1) % kThreads] / 2;
      b = c + a, c = d - e, d = f * 0.5, e = g + h, f = i, g = j, h = b * 0.25, i = c, j = d;
      k = l - m, l = n + o, m = k & 63, n = -o, o = l % 11;
    }
  }
  for (int t = 0; t < kThreads; ++t) {
    y[t] = 0;
    for (const double one : v[t]) y[t] += one;
    for (const int64_t one : w[t]) y[t] += double(one);
  }
}

__global__ void warps(const double* x, double* y) {
  double sum = x[threadIdx.x];
  for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);
  const unsigned positive = __ballot_sync(0xffffffff, x[threadIdx.x] > 0);
  y[threadIdx.x] = sum + 1000 * __popc(positive) + __syncthreads_count(threadIdx.x % 3 == 0);
}

__global__ void stuck() {
  if (threadIdx.x < 16) __syncwarp();
  __syncthreads();
}

extern "C" AOTITorchError torch_parallel_for(int64_t begin, int64_t end, int64_t, ParallelFunc body, void* context) {
  body(begin, end, context);
  return 0;
}

int main() {
  double x[kThreads], y[kThreads], want[kThreads];
  for (int t = 0; t < kThreads; ++t) x[t] = std::sin(t);
  registers<<<3, kThreads>>>(x, y);
  on_the_host(x, want);
  for (int t = 0; t < kThreads; ++t) {
    if (std::abs(y[t] - want[t]) > 1e-9) return std::printf("registers: thread %d has %g, want %g\n", t, y[t], want[t]);
  }
  warps<<<1, kThreads>>>(x, y);
  for (int t = 0; t < kThreads; ++t) {
    double sum = kThreads / 3;
    for (int i = t / 32 * 32; i < t / 32 * 32 + 32; ++i) sum += x[i] + 1000 * (x[i] > 0);
    if (std::abs(y[t] - sum) > 1e-9) return std::printf("warps: thread %d has %g, want %g\n", t, y[t], sum);
  }
  for (int time = 0; time < 2; ++time) {  // a block that was given up leaves threads for the next one
    try {
      stuck<<<1, 32>>>();
      return std::printf("stuck: nothing was thrown\n");
    } catch (const std::runtime_error& error) {
      if (std::string(error.what()).find("waits for lanes that never come") == std::string::npos) return std::printf("%s\n", error.what());
    }
    warps<<<1, kThreads>>>(x, y);
  }
  std::printf("all is well\n");
}
