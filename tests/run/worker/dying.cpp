
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#line 1 "lltm/fused"
double* volatile nowhere = nullptr;
double* volatile nonsense = reinterpret_cast<double*>(0x4141414141414141);
void (*volatile no_function)() = nullptr;
volatile int zero = 0;
volatile double sink;

static inline void poke(double* place) {
  *place = 1;  // null_write
}
extern "C" void null_write() { poke(nowhere); }
extern "C" void null_read() {
  sink = nowhere[3];  // null_read
}
extern "C" void read_past() {
  const size_t page = 4096;
  auto* room = static_cast<double*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(room + page / 8, page, PROT_NONE);
  for (volatile size_t i = 0; i <= page / 8; ++i) sink = room[i];  // read_past
}
extern "C" void nonsense_write() {
  *nonsense = 1;  // nonsense_write
}
extern "C" void divide() {
  sink = 7 / zero;  // divide
}
__attribute__((noinline)) int deeper(volatile int* level) {
  volatile int here[64];
  here[*level % 64] = *level + 1;
  return deeper(here + *level % 64) + here[0];  // recurse
}
extern "C" void recurse() {
  volatile int level = 1;
  sink = deeper(&level);
}
extern "C" void big_array() {
  volatile char big[64 << 20];
  big[zero] = 1;  // big_array
}
extern "C" void aborts() {
  std::abort();  // aborts
}
extern "C" void asserts() {
  assert(zero == 1);  // asserts
}
extern "C" void frees_twice() {
  void* volatile block = std::malloc(24);
  std::free(block);
  std::free(block);  // frees_twice
  sink = 1;
}
extern "C" void throws_noexcept() noexcept {
  throw std::runtime_error("thrown in noexcept");  // throws_noexcept
}
extern "C" void throws_number() noexcept {
  throw 42;  // throws_number
}
extern "C" void throws_text() noexcept {
  throw "a text";  // throws_text
}
extern "C" void throws_in_thread() {
  std::thread([] {
    throw std::out_of_range("thrown in a thread");  // throws_in_thread
  }).join();
}
extern "C" void forgets_join() {
  std::thread thread([] { sleep(60); });
}  // forgets_join
extern "C" void crashes_in_threads() {
  std::thread threads[8];
  std::atomic<int> ready{0};
  for (auto& thread : threads) {
    thread = std::thread([&] {
      for (++ready; ready < 8;) {}
      *nowhere = 1;  // crashes_in_threads
    });
  }
  for (auto& thread : threads) thread.join();
}
extern "C" void exits() {
  std::exit(0);  // exits
}
extern "C" void exits_with_3() {
  std::atexit([] { std::printf("its own end"); });
  std::exit(3);  // exits_with_3
}
extern "C" void exits_quickly() {
  std::quick_exit(5);  // exits_quickly
}
extern "C" void leaves() { _exit(3); }
extern "C" void copies() {
  std::memset(nowhere, 1, 1 << 20 | zero);  // copies
  sink = 1;
}
extern "C" void calls_null() {
  no_function();  // calls_null
  sink = 1;
}
extern "C" void traps() {
  __builtin_trap();  // traps
}
extern "C" void smashes_stack() {
  char small[16];
  volatile char* volatile place = small;
  for (int i = 0; i < 4096 + zero; ++i) place[i] = 0x41;
}  // smashes_stack
extern "C" void prints() {
  std::printf("whole line\nhalf a line");
  *nowhere = 1;  // prints
}
extern "C" void child_crashes() {
  if (const pid_t child = fork()) {
    waitpid(child, nullptr, 0);
  } else {
    *nowhere = 1;
  }
}
extern "C" void child_exits() {
  if (const pid_t child = fork()) {
    waitpid(child, nullptr, 0);
  } else {
    std::exit(4);
  }
}
extern "C" void loops(volatile char* stop) {
  while (!*stop) ++zero;  // loops
}
extern "C" void stands(volatile char* stop) {
  if (!*stop) {
    while (true) {}  // stands
  }
}
extern "C" void waits() {
  std::mutex mutex;
  mutex.lock();
  mutex.lock();  // waits
}
struct Region {
  char name[96], dtype[16];
  uint64_t base, nbytes, itemsize;
  int64_t ndim, shape[8];
};
extern "C" int find(uintptr_t address, Region* region) {
  *region = {"weights", "float64", address - 48, 48, 8, 2, {2, 3}};
  return 1;
}
extern "C" int find_nothing(uintptr_t, Region*) { return 0; }
extern "C" int find_and_crash(uintptr_t, Region*) {
  *nowhere = 1;
  return 1;
}
