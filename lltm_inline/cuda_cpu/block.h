// A block of CUDA threads on one thread of the CPU. Its threads run one after another, each until it ends or has to wait for
// others at a barrier; so a kernel without barriers never switches between stacks.
#include <torch/csrc/stable/c/shim.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace cuda_cpu {
namespace {

constexpr unsigned kWarp = 32, kMostThreads = 1024;
// In which order threads run does not matter to a right kernel, and the tests try several: 1 is backwards, 2 swaps neighbours.
int thread_order = 0;

enum class Wait : unsigned char { nothing, block, warp, ended };
enum class Meeting : unsigned char { sync, shuffle, vote, match, reduce, active };
const char* const kMeetings[] = {"__syncwarp", "a shuffle", "a vote", "__match_any_sync", "__reduce_sync", "__activemask"};

class Block;

#ifdef CUDA_CPU_CHECK
struct Checks;
void begin_checks(const struct Launch& launch);
void begin_block(Block& block);
void before_wait();
uint32_t next_time();
// What a launch hands to the kernel, all that a kernel may read of the host's stack, and the tensors that it points to.
class Apart {
 public:
  template <class... Arguments>
  explicit Apart(Arguments&... arguments) {
    move({{reinterpret_cast<char*>(&arguments), sizeof arguments}...});
  }
  Apart(const Apart&) = delete;
  ~Apart();

 private:
  struct Argument {
    char* bytes;
    size_t size;
  };
  struct Moved {
    char *home, *away;
    size_t bytes;
  };
  void move(std::initializer_list<Argument> arguments);
  std::vector<Moved> moved_;
};
#else
inline void begin_block(Block&) {}
inline void before_wait() {}
#endif

// One CUDA thread.
struct Lane {
  uint3 thread;
  unsigned index;  // in its block
  Block* block;
  Fiber* fiber;
  Wait wait;
  int line;  // of the barrier at which it waits
  Meeting meeting;
  unsigned mask;                                     // of the lanes that are to meet
  unsigned group;                                    // of the lanes that have met
  alignas(16) unsigned char offered[16], taken[16];  // what it brings to a meeting, and brought to the last one
  unsigned steps;                                    // without a barrier between them, in large units

  CUDA_CPU_PLAIN unsigned in_warp() const {
    return index % kWarp;
  }
};

// The CUDA thread that runs on this thread of the CPU; null while code of the host does, and while the runtime works for a
// check, of which the code is instrumented too: volatile, as the compiler does not know what the instrumented code will look
// at.
thread_local Lane* volatile lane = nullptr;

struct OffDevice {
  Lane* const self = lane;
  CUDA_CPU_PLAIN OffDevice() {
    lane = nullptr;
  }
  CUDA_CPU_PLAIN ~OffDevice() {
    lane = self;
  }
};

struct Launch {
  const char* kernel;
  const char* file;
  int line;
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;

  Launch(
      const char* kernel, const char* file, int line, dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr)
      : kernel(kernel), file(file), line(line), grid(grid), block(block), shared(shared), stream(stream) {}

  // Each argument is worked out once, and every thread gets its own copy, as from a GPU.
  template <class F, class... Arguments>
  __attribute__((noinline)) void run(F call, Arguments... arguments) const {
    auto thread = [&]() CUDA_CPU_PLAIN { call(arguments...); };
#ifdef CUDA_CPU_CHECK
    const Apart apart(thread, call, arguments...);
#endif
    start([](void* one) CUDA_CPU_PLAIN { (*static_cast<decltype(thread)*>(one))(); }, &thread);
  }

  uint64_t blocks() const {
    return uint64_t(grid.x) * grid.y * grid.z;
  }

  uint64_t threads() const {
    return uint64_t(block.x) * block.y * block.z;
  }

  // What is wrong with the configuration, or nothing.
  std::string fault() const;
  bool can_start() const;
  void start(void (*body)(void*), void* context) const;
};

CUDA_CPU_COLD std::string shown(uint3 v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

class Block {
 public:
  // The threads of this thread of the CPU are used again for every block that it runs.
  static Block& here() {
    static thread_local Block block;
    return block;
  }

  void run(const Launch& launch_, uint64_t number_, void (*body)(void*), void* context) {
    launch = &launch_;
    number = number_;
    index = {
        unsigned(number % launch->grid.x), unsigned(number / launch->grid.x % launch->grid.y),
        unsigned(number / launch->grid.x / launch->grid.y)};
    size = launch->block;
    body_ = body;
    context_ = context;
    prepare();
    begin_block(*this);
    while (next_ < count_) {
      if (idle_.empty()) {
        fibers_.push_back(std::make_unique<Fiber>([] { here().work(); }));
        idle_.push_back(fibers_.back().get());
      }
      Fiber* const fiber = idle_.back();
      idle_.pop_back();
      enter(fiber, nullptr);
    }
    while (release()) {
      cursor_ = 0;
      while (Lane* const one = runnable()) enter(one->fiber, one);
    }
  }

  // Ends the launch. The stack of the thread is left as it is: nothing that a kernel holds needs to be given back.
  [[noreturn]] CUDA_CPU_COLD void fail(const std::string& what, Lane* self) {
    failure_ = describe(what, self);
    failed_ = true;
    jump(self->fiber->place, main_);
    std::abort();
  }

  // Stops the running thread until the others have come to where it waits.
  CUDA_CPU_PLAIN void park(Wait wait, int line) {
    before_wait();
    Lane* const self = lane;
    self->wait = wait;
    self->line = line;
    if (wait == Wait::block) ++at_block_;
    Lane* const next = runnable();
    lane = next;
    if (next) running_ = next->fiber;
    jump(self->fiber->place, next ? next->fiber->place : main_);
  }

  CUDA_CPU_PLAIN void meet(Meeting meeting, unsigned mask, int line) {
    lane->meeting = meeting;
    lane->mask = mask;
    if (!(mask >> lane->in_warp() & 1)) {
      const OffDevice off;
      fail(
          std::string(kMeetings[int(meeting)]) + " at line " + std::to_string(line) + " has a mask without lane " +
              std::to_string(off.self->in_warp()) + ", which calls it. Only lanes of the mask may call it",
          off.self);
    }
    park(Wait::warp, line);
  }

  // A lane of the same warp, or null where there is none.
  CUDA_CPU_PLAIN Lane* peer(const Lane& self, unsigned in_warp) {
    const unsigned i = self.index / kWarp * kWarp + in_warp;
    return i < count_ ? &lanes_[i] : nullptr;
  }

  // Whether it lies where threads have their local variables.
  bool is_on_a_stack(const char* address) const {
    return std::any_of(
        fibers_.begin(), fibers_.end(), [&](const auto& one) { return size_t(address - one->low) < Fiber::kStack; });
  }

  CUDA_CPU_COLD std::string describe(const std::string& what, const Lane* self) const {
    std::string text = what + ". Kernel " + launch->kernel + ", block " + shown(index);
    if (self) text += ", thread " + shown(self->thread);
    return text + ", launched at " + place(launch->file, launch->line);
  }

  const Launch* launch;
  uint64_t number;
  uint3 index;
  dim3 size;
  int vote = 0, count = 0, all = 1, any = 0;  // of __syncthreads_count and its like: what is gathered, and the results
#ifdef CUDA_CPU_CHECK
  Checks* checks;
  uint32_t begun, synced, warp_synced[kMostThreads / kWarp];  // when it began, and when all and each warp last met
  uint32_t met = 0;                                           // how often all have
#endif

 private:
  // On a fiber: run threads until none is left that has not begun.
  CUDA_CPU_PLAIN void work() {
    for (;;) {
      while (next_ < count_) {
        Lane* const self = &at(next_++);
        self->fiber = running_;
        lane = self;
        body_(context_);
        before_wait();
        lane = nullptr;
        self->wait = Wait::ended;
        ++ended_;
        running_ = self->fiber;
      }
      Fiber* const self = running_;
      idle_.push_back(self);
      jump(self->place, main_);
    }
  }

  CUDA_CPU_PLAIN void enter(Fiber* fiber, Lane* self) {
    running_ = fiber;
    lane = self;
    jump(main_, fiber->place);
    if (failed_) give_up(failure_);
  }

  // All that the threads were in the middle of is forgotten.
  [[noreturn]] CUDA_CPU_COLD void give_up(const std::string& what) {
    failed_ = false;
    idle_.clear();
    for (auto& one : fibers_) {
      one->start([] { here().work(); });
      idle_.push_back(one.get());
    }
    throw std::runtime_error(what);
  }

  void prepare();

  // The next one that can go on, until all have had their turn.
  CUDA_CPU_PLAIN Lane* runnable() {
    while (cursor_ < count_) {
      Lane& one = at(cursor_++);
      if (one.wait == Wait::nothing) return &one;
    }
    return nullptr;
  }

  CUDA_CPU_PLAIN Lane& at(unsigned i) {
    if (thread_order == 1) return lanes_[count_ - 1 - i];
    if (thread_order == 2 && (i ^ 1) < count_) return lanes_[i ^ 1];
    return lanes_[i];
  }

  // Let those go on that need not wait any longer; false where all have ended.
  CUDA_CPU_PLAIN bool release() {
    if (ended_ == count_) return false;
    if (at_block_ + ended_ == count_) {
      release_block();
      return true;
    }
    bool released = false;
    for (unsigned warp = 0; warp * kWarp < count_; ++warp) released |= release_warp(warp);
    // A lane asks who is active once nobody else can come.
    for (unsigned warp = 0; !released && warp * kWarp < count_; ++warp) released |= release_warp(warp, true);
    if (!released) stuck();
    return true;
  }

  void release_block();

  CUDA_CPU_PLAIN bool release_warp(unsigned warp, bool active = false) {
    Lane* const first = &lanes_[warp * kWarp];
    const unsigned width = std::min(kWarp, count_ - warp * kWarp);
    unsigned living = 0;
    for (unsigned i = 0; i < width; ++i) living |= unsigned(first[i].wait != Wait::ended) << i;
    bool released = false;
    for (unsigned i = 0; i < width; ++i) {
      const Lane& self = first[i];
      if (self.wait != Wait::warp || (self.meeting == Meeting::active) != active) continue;
      unsigned here = 0;
      for (unsigned j = 0; j < width; ++j) {
        const Lane& other = first[j];
        const bool same = other.wait == Wait::warp && other.meeting == self.meeting && other.mask == self.mask;
        here |= unsigned(same && (!active || other.line == self.line)) << j;
      }
      if (!active && self.mask & living & ~here) continue;
      for (unsigned j = 0; j < width; ++j) {
        if (!(here >> j & 1)) continue;
        first[j].wait = Wait::nothing;
        first[j].group = here;
        first[j].steps = 0;
        std::memcpy(first[j].taken, first[j].offered, sizeof first[j].taken);
      }
#ifdef CUDA_CPU_CHECK
      if (!active) warp_synced[warp] = next_time();
#endif
      released = true;
    }
    return released;
  }

  // No thread can go on: some wait for lanes of their warp that never come.
  CUDA_CPU_COLD void stuck() {
    for (unsigned i = 0; i < count_; ++i) {
      const Lane& self = lanes_[i];
      if (self.wait != Wait::warp) continue;
      for (unsigned j = 0; j < kWarp && i / kWarp * kWarp + j < count_; ++j) {
        const Lane& other = lanes_[i / kWarp * kWarp + j];
        if (!(self.mask >> j & 1) || other.wait == Wait::ended) continue;
        if (other.wait == Wait::warp && other.meeting == self.meeting && other.mask == self.mask) continue;
        const std::string what = other.wait == Wait::block ? "__syncthreads" : kMeetings[int(other.meeting)];
        give_up(describe(
            std::string(kMeetings[int(self.meeting)]) + " at line " + std::to_string(self.line) +
                " waits for lanes that never come: lane " + std::to_string(j) + " waits in " + what + " at line " +
                std::to_string(other.line) + ". All lanes of the mask must call it, so call it outside of the branch",
            &self));
      }
    }
  }

  void (*body_)(void*);
  void* context_;
  unsigned next_, cursor_, count_ = 0, at_block_, ended_;
  std::unique_ptr<Lane[]> memory_{new Lane[kMostThreads]};
  Lane* const lanes_ = memory_.get();
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;  // on which no thread waits
  Fiber* running_;
  Place main_;
  bool failed_ = false;
  std::string failure_;
};

CUDA_CPU_PLAIN void Block::prepare() {
  count_ = cursor_ = unsigned(launch->threads());
  next_ = at_block_ = ended_ = 0;
  vote = 0;
  unsigned i = 0;
  for (unsigned z = 0; z < size.z; ++z) {
    for (unsigned y = 0; y < size.y; ++y) {
      for (unsigned x = 0; x < size.x; ++x, ++i) {
        Lane& one = lanes_[i];
        one.thread = {x, y, z};
        one.index = i;
        one.block = this;
        one.wait = Wait::nothing;
        one.steps = 0;
      }
    }
  }
}

CUDA_CPU_PLAIN void Block::release_block() {
#ifdef CUDA_CPU_CHECK
  const Lane* waiting = nullptr;
  const Lane* elsewhere = nullptr;
  unsigned same = 0;
  for (unsigned i = 0; i < count_; ++i) {
    const Lane& one = lanes_[i];
    if (one.wait != Wait::block) continue;
    if (!waiting) waiting = &one;
    same += one.line == waiting->line;
    if (one.line != waiting->line) elsewhere = &one;
  }
  const std::string came = std::to_string(same) + " of " + std::to_string(count_) + " threads wait in __syncthreads at line " +
                           std::to_string(waiting->line);
  if (elsewhere) {
    give_up(describe(
        "divergent barrier: " + came + ", and " + std::to_string(at_block_ - same) + " at line " +
            std::to_string(elsewhere->line) + ". All threads of a block must reach the same __syncthreads",
        waiting));
  }
  if (ended_) {
    give_up(describe(
        "divergent barrier: " + came + ", and " + std::to_string(ended_) +
            " have left the kernel, which is undefined. Let all threads reach the barrier: put an if around the work, not a "
            "return before it",
        waiting));
  }
#endif
  count = vote;
  all = vote == int(at_block_);
  any = vote != 0;
  vote = 0;
  at_block_ = 0;
#ifdef CUDA_CPU_CHECK
  synced = next_time();
  ++met;
#endif
  for (unsigned i = 0; i < count_; ++i) {
    if (lanes_[i].wait == Wait::block) {
      lanes_[i].wait = Wait::nothing;
      lanes_[i].steps = 0;
    }
  }
}

CUDA_CPU_COLD std::string Launch::fault() const {
  const auto over = [](const char* what, uint64_t got, uint64_t most) {
    return std::string(what) + " is " + std::to_string(got) + ", and a GPU takes 1 to " + std::to_string(most);
  };
  if (threads() == 0 || threads() > kMostThreads) return over("the number of threads in a block", threads(), kMostThreads);
  if (block.z > 64) return over("the z size of a block", block.z, 64);
  if (grid.x == 0 || grid.x > 0x7fffffff) return over("the x size of the grid", grid.x, 0x7fffffff);
  if (grid.y == 0 || grid.y > 65535) return over("the y size of the grid", grid.y, 65535);
  if (grid.z == 0 || grid.z > 65535) return over("the z size of the grid", grid.z, 65535);
  if (shared > 227 * 1024) return over("the dynamic shared memory in bytes", shared, 227 * 1024);
  if (shared > most_shared) {
    return "the dynamic shared memory is " + std::to_string(shared) + " bytes, and a kernel gets " +
           std::to_string(most_shared) +
           " unless cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) has asked for more";
  }
  return "";
}

// Where a block's dynamic shared memory lies; it stays in its place as long as the thread of the CPU lives.
inline std::unique_ptr<char[]>& shared_memory() {
  static thread_local std::unique_ptr<char[]> memory(new char[228 * 1024 + 256]);
  return memory;
}

CUDA_CPU_PLAIN inline char* dynamic_shared() {
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(shared_memory().get()) + 127) / 128 * 128);
}

// What the rewriter tells the checks.
#ifdef CUDA_CPU_CHECK
void name_dynamic_shared(const char* name, size_t element);
#else
inline void remember_allocation(void*, size_t, size_t, bool) {}
inline void forget_allocation(void*) {}
inline void name_dynamic_shared(const char*, size_t) {}
template <class T>
inline void declare_shared(const char*, const T&) {}
struct SharedOfFile {
  explicit SharedOfFile(void (*)()) {}
};
struct Variable {
  template <class T>
  Variable(const char*, const T&) {}
};
#endif

template <class T>
CUDA_CPU_PLAIN T* dynamic_shared(const char* name) {
  const OffDevice off;
  name_dynamic_shared(name, sizeof(T));
  return reinterpret_cast<T*>(dynamic_shared());
}

// Set once the text's static variables have their values. What is launched before is told by the next launch: an exception
// there would end the process.
bool is_loaded = false;
std::string& launched_too_early() {
  static std::string what;
  return what;
}
struct Loaded {
  Loaded() {
    is_loaded = true;
  }
};

CUDA_CPU_COLD bool Launch::can_start() const {
  if (!is_loaded) {
    launched_too_early() = std::string("kernel ") + kernel + " is launched at " + place(file, line) +
                           ", for the value of a static variable: before there is a device. Launch it from a function";
    return false;
  }
  if (!launched_too_early().empty()) throw std::runtime_error(launched_too_early());
  const std::string wrong = fault();
  if (wrong.empty()) return true;
  const std::string what = "impossible launch: " + wrong + ". Kernel " + kernel + ", launched at " + place(file, line);
#ifdef CUDA_CPU_CHECK
  throw std::runtime_error(what);
#endif
  last_error = cudaErrorInvalidConfiguration;
  last_fault() = what;
  return false;
}

#ifndef CUDA_CPU_CHECK
struct Blocks {
  const Launch& launch;
  void (*body)(void*);
  void* context;
  bool has_failed = false;
  std::string failure = {};

  // Some of them, on any thread of the CPU; what is thrown there must not leave it.
  static void run(int64_t first, int64_t end, void* of) {
    Blocks& all = *static_cast<Blocks*>(of);
    try {
      for (int64_t number = first; number < end; ++number) Block::here().run(all.launch, number, all.body, all.context);
    } catch (const std::exception& error) {
      if (!__atomic_exchange_n(&all.has_failed, true, __ATOMIC_SEQ_CST)) all.failure = error.what();
    }
  }
};
#endif

void Launch::start(void (*body)(void*), void* context) const {
  if (!can_start()) return;
#ifdef CUDA_CPU_CHECK
  begin_checks(*this);
  for (uint64_t number = 0; number < blocks(); ++number) Block::here().run(*this, number, body, context);
#else
  Blocks all{*this, body, context};
  torch_parallel_for(0, int64_t(blocks()), std::max<int64_t>(1, 4096 / int64_t(threads())), &Blocks::run, &all);
  if (all.has_failed) throw std::runtime_error(all.failure);
#endif
}

CUDA_CPU_PLAIN inline uint3 thread_index() {
  return lane->thread;
}
CUDA_CPU_PLAIN inline unsigned index_in_block() {
  return lane->index;
}
CUDA_CPU_PLAIN inline uint3 block_index() {
  return lane->block->index;
}
CUDA_CPU_PLAIN inline uint3 block_size() {
  const dim3& size = lane->block->size;
  return {size.x, size.y, size.z};
}
CUDA_CPU_PLAIN inline uint3 grid_size() {
  const dim3& grid = lane->block->launch->grid;
  return {grid.x, grid.y, grid.z};
}

}  // namespace
}  // namespace cuda_cpu

#define threadIdx (::cuda_cpu::thread_index())
#define blockIdx (::cuda_cpu::block_index())
#define blockDim (::cuda_cpu::block_size())
#define gridDim (::cuda_cpu::grid_size())
