// What the processor can do at most: operations a second, and bytes a second from each level of its memory.
//
// It is compiled once per machine, with the flags of kernels, and called through `ctypes` by analysis/roofline.py. Each
// measurement is the best of many samples, as whoever works beside us can only make one slower.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr int BYTES = 64;
#elif defined(__AVX__)
constexpr int BYTES = 32;
#else
constexpr int BYTES = 16;
#endif

typedef float Floats __attribute__((vector_size(BYTES)));
typedef double Doubles __attribute__((vector_size(BYTES)));

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Threads wait for each other by turning: to sleep and wake would cost more than a sample.
struct Gate {
  explicit Gate(int threads) : threads(threads) {}

  void wait() {
    const int round = rounds.load();
    if (waiting.fetch_add(1) + 1 == threads) {
      waiting.store(0);
      rounds.fetch_add(1);
    } else {
      while (rounds.load() == round) std::this_thread::yield();
    }
  }

  const int threads;
  std::atomic<int> waiting{0}, rounds{0};
};

// Returns the seconds of one turn, with all threads at work: the best sample of as many as fit into the given time.
template <class Make>
double fastest(int threads, double seconds, Make make) {
  constexpr double LEAST = 2e-4;  // of a sample
  Gate gate(threads);
  int64_t turns = 1;
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  const auto run = [&](int me) {
    auto turn = make();
    turn();  // what it works on is made, and in the cache where it fits
    while (spent < seconds) {
      gate.wait();
      const double start = now();
      for (int64_t number = 0; number < turns; ++number) turn();
      gate.wait();
      if (me == 0) {
        const double took = now() - start;
        spent += took;
        if (took < LEAST) {
          turns *= 2;
        } else if (took / turns < best) {
          best = took / turns;
        }
      }
      gate.wait();
    }
  };
  std::vector<std::thread> others;
  for (int other = 1; other < threads; ++other) others.emplace_back(run, other);
  run(0);
  for (auto& other : others) other.join();
  return best;
}

// Twelve sums that do not wait for each other: as many as are on their way in two units that take four to six clocks.
template <class Vector>
double flops(int threads, double seconds) {
  constexpr int64_t STEPS = 1024, SUMS = 12, LANES = sizeof(Vector) / sizeof(Vector{}[0]);
  const double turn = fastest(threads, seconds, [] {
    return [] {
      Vector a{}, b{};
      asm volatile("" : "+m"(a), "+m"(b));
      // The compiler must not find out that they are the same.
      Vector s0 = b, s1 = s0 + b, s2 = s1 + b, s3 = s2 + b, s4 = s3 + b, s5 = s4 + b, s6 = s5 + b, s7 = s6 + b, s8 = s7 + b;
      Vector s9 = s8 + b, s10 = s9 + b, s11 = s10 + b;
      for (int64_t step = 0; step < STEPS; ++step) {
        s0 = s0 * a + b, s1 = s1 * a + b, s2 = s2 * a + b, s3 = s3 * a + b, s4 = s4 * a + b, s5 = s5 * a + b;
        s6 = s6 * a + b, s7 = s7 * a + b, s8 = s8 * a + b, s9 = s9 * a + b, s10 = s10 * a + b, s11 = s11 * a + b;
      }
      Vector sum = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
      asm volatile("" : "+m"(sum));
    };
  });
  return 2.0 * STEPS * SUMS * LANES * threads / turn;
}

__attribute__((noinline)) void scale(Floats* __restrict z, const Floats* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] * 1.5f;
}

__attribute__((noinline)) void add(Floats* __restrict z, const Floats* __restrict x, const Floats* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
}

__attribute__((noinline)) void sum(Floats* z, const Floats* x, int64_t n) {
  Floats s0{}, s1{}, s2{}, s3{};
  for (int64_t i = 0; i + 4 <= n; i += 4) {
    s0 += x[i], s1 += x[i + 1], s2 += x[i + 2], s3 += x[i + 3];
  }
  *z = s0 + s1 + s2 + s3;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) double roofs_flops(int wide, int threads, double seconds) {
  return wide ? flops<Doubles>(threads, seconds) : flops<Floats>(threads, seconds);
}

// Reads and writes so many bytes in each thread, again and again, in four ways; the fastest counts.
extern "C" __attribute__((visibility("default"))) double roofs_bytes(int64_t bytes, int threads, double seconds) {
  double best = 0;
  for (int way = 0; way < 4; ++way) {
    const int64_t arrays = way == 0 ? 1 : way == 1 ? 3 : 2, n = bytes / BYTES / arrays;
    const double turn = fastest(threads, seconds / 4, [=] {
      std::shared_ptr<Floats[]> memory(new Floats[3 * n + 1]());
      Floats *x = memory.get(), *y = x + n, *z = y + n;
      return [=] {
        (void)memory;
        if (way == 0) sum(z, x, n);
        if (way == 1) add(z, x, y, n);
        if (way == 2) scale(z, x, n);
        if (way == 3) std::memcpy(z, x, n * sizeof(Floats));
        asm volatile("" ::: "memory");
      };
    });
    const double rate = static_cast<double>(arrays * n * BYTES) * threads / turn;
    if (rate > best) best = rate;
  }
  return best;
}
