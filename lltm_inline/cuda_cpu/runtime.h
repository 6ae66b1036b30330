// What every launch needs and no text changes: blocks and their threads, and what a launch and its barriers find wrong.
namespace cuda_cpu {
namespace CUDA_CPU_OURS {
CUDA_CPU_COLD std::string place(const char* file, int line) {
  return std::string(file) + ":" + std::to_string(line);
}

CUDA_CPU_COLD std::string shown(uint3 v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

CUDA_CPU_COLD cudaError_t note(cudaError_t error, const char* call, const char* file, int line) {
  last_error = error;
  last_fault() = std::string(call) + " at " + place(file, line) + " gives " + cudaGetErrorName(error) + " (" +
                 cudaGetErrorString(error) + ")";
  return error;
}

#ifdef CUDA_CPU_CHECK
CUDA_CPU_PLAIN void mix(uint64_t& hash, const char* begin, const char* end) {
  for (uint64_t word; begin < end; begin += 8) {
    __builtin_memcpy(&word, begin, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
}
#endif

Block& Block::here() {
  static thread_local Block block;
  return block;
}

Block::Block() {
  if (recorder_add_teller) recorder_add_teller(&Block::tell, this);
}

Block::~Block() {
  if (recorder_remove_teller) recorder_remove_teller(this);
}

CUDA_CPU_PLAIN int Block::tell(const void* of, const char** kernel, uint32_t* at) {
  const Block& self = *static_cast<const Block*>(of);
  const Lane* const one = *self.current_;
  if (!one) return 0;
  *kernel = self.launch->kernel;
  const unsigned places[] = {self.index.x, self.index.y, self.index.z, one->thread.x, one->thread.y, one->thread.z};
  for (int i = 0; i < 6; ++i) at[i] = places[i];
  return 1;
}

void Block::run(const Launch& launch_, uint64_t number_, void (*body)(void*), void* context) {
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

[[noreturn]] CUDA_CPU_COLD void Block::fail(const std::string& what, Lane* self) {
  if (!self) give_up(describe(what, self));  // none has begun
  failure_ = describe(what, self);
  failed_ = true;
  jump(self->fiber->place, main_);
  std::abort();
}

[[noreturn]] CUDA_CPU_COLD CUDA_CPU_PLAIN void Block::fail_mask(Meeting meeting, int line) {
  const OffDevice off;
  fail(
      std::string(kMeetings[int(meeting)]) + " at line " + std::to_string(line) + " has a mask without lane " +
          std::to_string(off.self->in_warp()) + ", which calls it. Only lanes of the mask may call it",
      off.self);
}

bool Block::is_on_a_stack(const char* address) const {
  return std::any_of(
      fibers_.begin(), fibers_.end(), [&](const auto& one) { return size_t(address - one->low) < Fiber::kStack; });
}

CUDA_CPU_COLD std::string Block::describe(const std::string& what, const Lane* self) const {
  std::string text = what + ". Kernel " + launch->kernel + ", block " + shown(index);
  if (self) text += ", thread " + shown(self->thread);
  return text + ", launched at " + place(launch->file, launch->line);
}

CUDA_CPU_PLAIN void Block::work() {
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

CUDA_CPU_PLAIN void Block::enter(Fiber* fiber, Lane* self) {
  running_ = fiber;
  lane = self;
  jump(main_, fiber->place);
  if (failed_) give_up(failure_);
}

[[noreturn]] CUDA_CPU_COLD void Block::give_up(const std::string& what) {
  failed_ = false;
  idle_.clear();
  for (auto& one : fibers_) {
    one->start([] { here().work(); });
    idle_.push_back(one.get());
  }
  note_fault(what);
  throw std::runtime_error(what);
}

CUDA_CPU_PLAIN bool Block::release() {
  if (ended_ == count_) return false;
#ifdef CUDA_CPU_CHECK
  require_an_end();
#endif
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

CUDA_CPU_PLAIN bool Block::release_warp(unsigned warp, bool active) {
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

CUDA_CPU_COLD void Block::stuck() {
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

#ifdef CUDA_CPU_CHECK
// The stacks of the threads, on which their registers lie while they wait, and the memory of the launch. Nothing else decides
// what they do next: blocks run one after another.
uint64_t Block::state() const {
  uint64_t hash = ended_;
#ifndef CUDA_CPU_UCONTEXT
  for (unsigned i = 0; i < count_; ++i) {
    if (lanes_[i].wait == Wait::ended) continue;
    const Fiber& one = *lanes_[i].fiber;
    mix(hash, static_cast<const char*>(one.place), one.low + Fiber::kStack);
  }
  mix_memory(hash);
#endif
  return hash;
}

// A right kernel may meet often, but not twice in the same state: a loop in which nothing changes is told soon, one that
// counts is told after `most_waits`.
void Block::require_an_end() {
  constexpr uint64_t kSoon = 1024, kNear = 16;
  const uint64_t before = uint64_t(1) << (63 - __builtin_clzll(++meetings_));
  if (meetings_ < kSoon) return;
  std::string since;
#ifndef CUDA_CPU_UCONTEXT
  if (meetings_ == before) state_ = state();
  if (meetings_ != before && meetings_ - before <= kNear && state() == state_) {
    const uint64_t turns = meetings_ - before;
    since = ", and everything is as it was " + (turns == 1 ? "the time" : std::to_string(turns) + " times") + " before";
  }
#endif
  if (since.empty() && meetings_ * count_ < most_waits) return;
  const Lane& self = *std::find_if(lanes_, lanes_ + count_, [](const Lane& one) { return one.wait != Wait::ended; });
  give_up(describe(
      "endless: threads have waited " + std::to_string(meetings_) + " times, last in " +
          (self.wait == Wait::block ? "__syncthreads" : kMeetings[int(self.meeting)]) + " at line " +
          std::to_string(self.line) + since + ". See whether the loop can end; on a GPU it would hang",
      &self));
}
#endif

CUDA_CPU_PLAIN void Block::prepare() {
  count_ = cursor_ = unsigned(launch->threads());
  next_ = at_block_ = ended_ = 0;
  vote = 0;
#ifdef CUDA_CPU_CHECK
  meetings_ = 0;
#endif
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
            " have left the kernel, which is undefined. Let all threads reach the barrier: no if around it and no return ahead "
            "of it, but an if around the work alone",
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
  const auto over = [](const char* what, uint64_t got, uint64_t most, const char* less) {
    return std::string(what) + " is " + std::to_string(got) + ", and a GPU takes 1 to " + std::to_string(most) +
           (got ? less : ". Round the division up, and launch nothing where there is nothing to do");
  };
  const char* const blocks = ". Launch more blocks, of fewer threads";
  const char* const x_axis = ". Use the x axis for the longest extent, or let each thread do more";
  const char* const part = ". Let each block work on a smaller part at a time";
  if (threads() == 0 || threads() > kMostThreads) {
    return over("the number of threads in a block", threads(), kMostThreads, blocks);
  }
  if (block.z > 64) return over("the z size of a block", block.z, 64, blocks);
  if (grid.x == 0 || grid.x > 0x7fffffff) return over("the x size of the grid", grid.x, 0x7fffffff, x_axis);
  if (grid.y == 0 || grid.y > 65535) return over("the y size of the grid", grid.y, 65535, x_axis);
  if (grid.z == 0 || grid.z > 65535) return over("the z size of the grid", grid.z, 65535, x_axis);
  if (shared > 227 * 1024) return over("the dynamic shared memory in bytes", shared, 227 * 1024, part);
  if (shared > most_shared) {
    return "the dynamic shared memory is " + std::to_string(shared) + " bytes, and a kernel gets " +
           std::to_string(most_shared) +
           " unless cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) has asked for more. "
           "Call that before the launch, or take less";
  }
  return "";
}

// It stays in its place as long as the thread of the CPU lives.
CUDA_CPU_PLAIN char* dynamic_shared() {
  static CUDA_CPU_OF_THREAD_ std::unique_ptr<char[]> memory(new char[228 * 1024 + 256]);
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(memory.get()) + 127) / 128 * 128);
}

std::string& launched_too_early() {
  static std::string what;
  return what;
}

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
  note_fault(what);
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
  note_launch();
#else
  Blocks all{*this, body, context};
  torch_parallel_for(0, int64_t(blocks()), std::max<int64_t>(1, 4096 / int64_t(threads())), &Blocks::run, &all);
  if (all.has_failed) throw std::runtime_error(all.failure);
#endif
}

#ifdef CUDA_CPU_CHECK
[[noreturn]] CUDA_CPU_COLD CUDA_CPU_PLAIN void fail_shuffle(unsigned from, int line) {
  const OffDevice off;
  const char* const why =
      off.self->block->peer(*off.self, from) ? ", which has left the kernel" : ", which the block does not have";
  off.self->block->fail(
      "a shuffle at line " + std::to_string(line) + " reads from lane " + std::to_string(from) + why +
          ": the value is undefined. Let all lanes of the mask take part, or leave those out of the mask",
      off.self);
}
#endif

__attribute__((noinline)) CUDA_CPU_PLAIN void* kernel_memcpy(void* to, const void* from, size_t bytes) {
  before_copy(from, bytes, false, __builtin_return_address(0));
  before_copy(to, bytes, true, __builtin_return_address(0));
  return __builtin_memmove(to, from, bytes);
}

__attribute__((noinline)) CUDA_CPU_PLAIN void* kernel_memset(void* to, int value, size_t bytes) {
  before_copy(to, bytes, true, __builtin_return_address(0));
  return __builtin_memset(to, value, bytes);
}

[[noreturn]] CUDA_CPU_COLD CUDA_CPU_PLAIN void broken(const char* what, const char* file, int line) {
  if (!lane) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
    std::abort();
  }
  const OffDevice off;
  off.self->block->fail(
      std::string(what) + " at " + place(file, line) + ". Print the values that led there with printf, in the line before",
      off.self);
}

[[noreturn]] CUDA_CPU_COLD void fail_unasked(const char* function) {
  throw std::runtime_error(
      std::exchange(last_fault(), "") + ". Nobody has asked cudaGetLastError() when " + function +
      " returns, and what the kernel should have done is missing. Test what such a call returns, and "
      "cudaGetLastError() after a launch");
}

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu
