// A block of CUDA threads on one thread of the CPU. Its threads run one after another, each until it ends or has to wait for
// others at a barrier; so a kernel without barriers never switches between stacks.
#include <torch/csrc/stable/c/shim.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// The crash recorder of a worker (native/recorder.cpp); null in any other process.
extern "C" {
[[gnu::weak]] void recorder_add_teller(int (*tell)(const void* of, const char** kernel, uint32_t* at), const void* of);
[[gnu::weak]] void recorder_remove_teller(const void* of);
}

namespace cuda_cpu {
namespace CUDA_CPU_OURS {
constexpr unsigned kWarp = 32, kMostThreads = 1024;
// In which order threads run does not matter to a right kernel, and the tests try several: 1 is backwards, 2 swaps
// neighbours.
inline int thread_order = 0;

enum class Wait : unsigned char { nothing, block, warp, ended };
enum class Meeting : unsigned char { sync, shuffle, vote, match, reduce, active };
const char* const kMeetings[] = {"__syncwarp", "a shuffle", "a vote", "__match_any_sync", "__reduce_sync", "__activemask"};

class Block;

#ifdef CUDA_CPU_CHECK
// In a check one launch runs at a time, and what belongs to a thread of the CPU would be memory that no check knows.
#define CUDA_CPU_OF_THREAD_
// How often the threads of a block may wait, all together, before it counts as endless: that takes half a minute.
inline uint64_t most_waits = uint64_t(1) << 25;
struct Checks;
void begin_checks(const struct Launch& launch);
void begin_block(Block& block);
void before_wait();
uint32_t next_time();
#ifdef CUDA_CPU_LAB  // see book.h
void note_fault(const std::string& what);
void note_launch();
#else
inline void note_fault(const std::string&) {}
inline void note_launch() {}
#endif
void mix_memory(uint64_t& hash);
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
#define CUDA_CPU_OF_THREAD_ thread_local
inline void begin_block(Block&) {}
inline void before_wait() {}
inline void note_fault(const std::string&) {}
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
constinit inline thread_local Lane* volatile lane = nullptr;

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
  CUDA_CPU_COLD std::string fault() const;
  CUDA_CPU_COLD bool can_start() const;
  void start(void (*body)(void*), void* context) const;
};

CUDA_CPU_COLD std::string shown(uint3 v);

class Block {
 public:
  // The threads of this thread of the CPU are used again for every block that it runs.
  static Block& here();

  Block();
  Block(const Block&) = delete;
  ~Block();

  void run(const Launch& launch_, uint64_t number_, void (*body)(void*), void* context);

  // Ends the launch. The stack of the thread is left as it is: nothing that a kernel holds needs to be given back.
  [[noreturn]] CUDA_CPU_COLD void fail(const std::string& what, Lane* self);

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
    if (!(mask >> lane->in_warp() & 1)) fail_mask(meeting, line);
    park(Wait::warp, line);
  }

  // A lane of the same warp, or null where there is none.
  CUDA_CPU_PLAIN Lane* peer(const Lane& self, unsigned in_warp) {
    const unsigned i = self.index / kWarp * kWarp + in_warp;
    return i < count_ ? &lanes_[i] : nullptr;
  }

  // Whether it lies where threads have their local variables.
  bool is_on_a_stack(const char* address) const;
  // Whether it is a part of this, or of the threads.
  CUDA_CPU_PLAIN bool has(const char* address) const {
    return size_t(address - (const char*)this) < sizeof *this ||
           size_t(address - (const char*)lanes_) < sizeof(Lane) * kMostThreads;
  }

  CUDA_CPU_COLD std::string describe(const std::string& what, const Lane* self) const;

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
  // In a signal handler: which of its threads runs, for the crash recorder.
  CUDA_CPU_PLAIN static int tell(const void* of, const char** kernel, uint32_t* at);
  // On a fiber: run threads until none is left that has not begun.
  CUDA_CPU_PLAIN void work();
  CUDA_CPU_PLAIN void enter(Fiber* fiber, Lane* self);
  // All that the threads were in the middle of is forgotten.
  [[noreturn]] CUDA_CPU_COLD void give_up(const std::string& what);
  [[noreturn]] CUDA_CPU_COLD CUDA_CPU_PLAIN void fail_mask(Meeting meeting, int line);
  CUDA_CPU_PLAIN void prepare();

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
  CUDA_CPU_PLAIN bool release();
  CUDA_CPU_PLAIN void release_block();
  CUDA_CPU_PLAIN bool release_warp(unsigned warp, bool active = false);

  // No thread can go on: some wait for lanes of their warp that never come.
  CUDA_CPU_COLD void stuck();

#ifdef CUDA_CPU_CHECK
  // All threads wait or have ended: whether they have been there before, and will be for ever.
  void require_an_end();
  uint64_t state() const;

  uint64_t meetings_, state_;  // since the block began; its state at the last one of which the number is a power of two
#endif

  Lane* volatile* const current_ = &lane;  // of this thread of the CPU
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

// The type of a number as Python's module struct has it, and w for bfloat16; 0 of all others. Of a vector, that of its parts.
template <class T>
inline constexpr char kLetter = std::is_same_v<T, float>                  ? 'f'
                                : std::is_same_v<T, double>               ? 'd'
                                : !std::is_integral_v<T> || sizeof(T) > 8 ? 0
                                : std::is_signed_v<T>                     ? "bh_i___q"[(sizeof(T) - 1) % 8]
                                                                          : "BH_I___Q"[(sizeof(T) - 1) % 8];
template <>
inline constexpr char kLetter<bool> = '?';
template <>
inline constexpr char kLetter<float2> = 'f';
template <>
inline constexpr char kLetter<float4> = 'f';

// A block's dynamic shared memory.
CUDA_CPU_PLAIN char* dynamic_shared();

// What the rewriter tells the checks.
struct Subscript {
  const char* file;
  int line;
  const char *name, *index, *cure, *source, *cure_of_source;
};
#if !defined(CUDA_CPU_CHECK) || defined(CUDA_CPU_COUNT)
template <class Source, class Base, class I>
CUDA_CPU_PLAIN __attribute__((always_inline)) constexpr I index(unsigned, const Base&, I i) {
  return i;
}
template <class I>
CUDA_CPU_PLAIN __attribute__((always_inline)) constexpr I index_of_array(unsigned, I i) {
  return i;
}
struct Subscripts {
  Subscripts(std::initializer_list<Subscript>) {}
};
#endif
#ifdef CUDA_CPU_CHECK
void name_dynamic_shared(const char* name, size_t element, char letter);
#else
inline void remember_allocation(void*, size_t, size_t, bool) {}
inline void forget_allocation(void*) {}
inline void name_dynamic_shared(const char*, size_t, char) {}
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
  name_dynamic_shared(name, sizeof(T), kLetter<std::remove_cv_t<T>>);
  return reinterpret_cast<T*>(dynamic_shared());
}

// Set once the text's static variables have their values. What is launched before is told by the next launch: an exception
// there would end the process.
inline bool is_loaded = false;
struct Loaded {
  Loaded() {
    is_loaded = true;
  }
};

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

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu

#define threadIdx (::cuda_cpu::thread_index())
#define blockIdx (::cuda_cpu::block_index())
#define blockDim (::cuda_cpu::block_size())
#define gridDim (::cuda_cpu::grid_size())
