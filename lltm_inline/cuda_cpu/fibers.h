// Fibers: places where a function can stop and go on later, each with a stack of its own.
#include <sys/mman.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#define CUDA_CPU_UCONTEXT
#endif
#ifdef CUDA_CPU_UCONTEXT
#include <ucontext.h>
#endif

#include <new>

// The code that a sanitizer must not instrument: what the instrumented code calls.
#if defined(__clang__) && __has_attribute(disable_sanitizer_instrumentation)
// The first one, as calls of its own are told of otherwise, endlessly; "thread", as it is inlined into instrumented code
// otherwise.
#define CUDA_CPU_PLAIN \
  __attribute__((disable_sanitizer_instrumentation, no_sanitize("thread", "alignment", "bounds", "coverage")))
#elif defined(__clang__)
#define CUDA_CPU_PLAIN __attribute__((no_sanitize("thread", "alignment", "bounds", "coverage")))
#elif __GNUC__ >= 12
#define CUDA_CPU_PLAIN __attribute__((no_sanitize_thread, no_sanitize_undefined, no_sanitize_coverage))
#else  // It has no way to leave a function out of coverage: nothing is compiled with it.
#define CUDA_CPU_PLAIN __attribute__((no_sanitize_thread, no_sanitize_undefined))
#define CUDA_CPU_STEPS_ARE_ACCESSES
#endif

#ifndef CUDA_CPU_UCONTEXT
extern "C" __attribute__((visibility("hidden"))) void cuda_cpu_switch(void** from, void* to);
#endif
// Save the registers that a function must leave as they were, change the stack, and take the registers that lie there.
#if defined(CUDA_CPU_UCONTEXT)
#elif defined(__x86_64__)
asm(R"(
.text
.p2align 4
.type cuda_cpu_switch, @function
cuda_cpu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cuda_cpu_switch, . - cuda_cpu_switch
)");
#else
asm(R"(
.text
.p2align 4
.type cuda_cpu_switch, %function
cuda_cpu_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size cuda_cpu_switch, . - cuda_cpu_switch
)");
#endif

namespace cuda_cpu {
namespace CUDA_CPU_OURS {
// Where a function has stopped.
#ifdef CUDA_CPU_UCONTEXT
using Place = ucontext_t;

CUDA_CPU_PLAIN inline void jump(Place& from, Place& to) {
  swapcontext(&from, &to);
}
#else
using Place = void*;

CUDA_CPU_PLAIN inline void jump(Place& from, Place& to) {
  cuda_cpu_switch(&from, to);
}
#endif

class Fiber {
 public:
  static constexpr size_t kGuard = 4096 * 16, kStack = 128 * 1024;

  explicit Fiber(void (*run)()) {
    void* const memory =
        mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, kGuard, PROT_NONE);  // a stack that overflows faults there
    low = static_cast<char*>(memory) + kGuard;
    // The stacks lie at one distance from each other, so their first lines would all compete for one set of the cache.
    static thread_local unsigned made = 0;
    size_ = kStack - made++ * 5 % 64 * 64;
    start(run);
  }

  Fiber(const Fiber&) = delete;

  ~Fiber() {
    munmap(low - kGuard, kGuard + kStack);
  }

  // Let it begin with `run`, which never returns; what it was in the middle of is forgotten.
  void start(void (*run)()) {
#if defined(CUDA_CPU_UCONTEXT)
    getcontext(&place);
    place.uc_stack = {low, 0, size_};
    place.uc_link = nullptr;
    makecontext(&place, run, 0);
#elif defined(__x86_64__)
    void** top = reinterpret_cast<void**>(low + size_);
    std::fill(top - 8, top, nullptr);  // six registers, where to return to, and what that would return to
    top[-2] = reinterpret_cast<void*>(run);
    place = top - 8;
#else
    void** top = reinterpret_cast<void**>(low + size_);
    std::fill(top - 20, top, nullptr);
    top[-20 + 11] = reinterpret_cast<void*>(run);
    place = top - 20;
#endif
  }

  char* low;
  Place place;

 private:
  size_t size_;
};

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu
