// Check mode. The compiler is asked to call a function before every load and store (-fsanitize=thread, without its library),
// at every branch (-fsanitize-coverage=trace-pc), and where an index or an alignment is wrong (-fsanitize=bounds,alignment).
// These functions are here: they look up what lies at the address, and what other threads have done there.
//
// Two accesses to one place, one of them a store of another value than was there, are a race unless something puts them in
// order: the same thread; a barrier of the block or the warp between them; another launch; or, between blocks, a fence and an
// atomic after the first access and an atomic before the second one. Time goes on at whatever can put accesses in order.
//
// The functions run at every access, so they call nothing that is not here: the library's own functions are instrumented too.
#ifdef CUDA_CPU_CHECK
#include <dlfcn.h>
#include <link.h>

namespace cuda_cpu {
namespace CUDA_CPU_OURS {
// How often a thread may branch between two barriers before it counts as endless.
constexpr uint64_t kSteps = 10'000'000;

// "lltm/mine:14": the innermost line of the user's text at an address of code, by what the compiler has left in the library.
std::string line_at(const char* pc, const Launch& launch) {
#ifdef CUDA_CPU_LAB  // no program can be started there: who reads it looks the line up
  char place[32];
  std::snprintf(place, sizeof place, "@%zx", size_t(pc - checks().image_low - 1));
  return place;
#endif
  Dl_info library;
  if (!pc || !dladdr(pc, &library) || !library.dli_fname) return "a line that is not known";
  char command[4096];
  std::snprintf(
      command, sizeof command, "addr2line -i -e '%s' %zx 2>/dev/null", library.dli_fname,
      size_t(pc - static_cast<const char*>(library.dli_fbase)) - 1);
  FILE* const pipe = popen(command, "r");
  if (!pipe) return "a line that is not known";
  std::string found;
  char row[4096];
  while (std::fgets(row, sizeof row, pipe)) {
    const std::string text(row);
    const std::string file = std::string("/") + launch.file + ":";  // it may have spaces: "lltm/mine (cuda)"
    const size_t at = text.find(file);
    if (!found.empty() || at == std::string::npos) continue;
    found = text.substr(at + 1, text.find_first_of(" \n", at + file.size()) - at - 1);
  }
  pclose(pipe);
  return found.empty() ? "a line that is not known" : found;
}

std::string of_thread(const Access& access, const Launch& launch) {
  const uint64_t x = access.block % launch.grid.x, rest = access.block / launch.grid.x;
  const unsigned i = access.thread;
  return "thread " + shown({i % launch.block.x, i / launch.block.x % launch.block.y, i / launch.block.x / launch.block.y}) +
         " of block " + shown({unsigned(x), unsigned(rest % launch.grid.y), unsigned(rest / launch.grid.y)});
}

[[noreturn]] void outside(const char* address, size_t bytes, bool store, const char* pc, Lane* self) {
  const Region* const nearest = nearest_to(address, bytes);
  const Launch& launch = *self->block->launch;
  const std::string where = std::string(store ? " written" : " read") + " at line " + line_at(pc, launch);
  std::string what;
  if (uintptr_t(address) < 4096) {
    what = "null pointer," + where + ". Look at what the launch was given";
  } else if (self->block->is_on_a_stack(address)) {
    what = "out of bounds: a local variable of another thread," + where + ". Hand the value over in shared memory";
  } else if (const Region* const freed = freed_at(address)) {
    what = "freed: " + freed->name + " lies no longer where it is" + where +
           ". Keep it until the kernel has run: a tensor in a variable";
  } else if (nearest) {
    const bool is_dynamic = nearest->of == Of::shared && nearest->begin == dynamic_shared();
    what = "out of bounds: " + element_at(*nearest, address) + "," + where + "; " + size_of(*nearest) + ". " +
           (is_dynamic ? "The launch says how many bytes there are: kernel<<<blocks, threads, bytes>>>"
                       : "Compare the index with the size before it is used");
  } else {
    what = "out of bounds: memory that belongs to no tensor of the kernel," + where +
           ". Look at the pointer and its index; a pointer of the host is none of the device";
  }
  self->block->fail(what, self);
}

const char* const kDone[] = {"read", "written", "changed by an atomic", "changed by an atomic"};

// Whether a thread has already done at an address what another one does now.
bool does_again(const Access& before, const Access& now, const char* address) {
  const Checks& all = checks();
  const auto is_there = [&](const Spot& one) { return size_t(address - one.begin) < one.bytes; };
  const auto spot = std::find_if(all.spots.begin(), all.spots.end(), is_there);
  if (before.pc == now.pc || spot == all.spots.end()) return before.pc == now.pc;
  const Past& past = spot->past[uintptr_t(address) / 4 - uintptr_t(spot->begin) / 4];
  const auto is_same = [&](const Access& one) {
    return one.pc == now.pc && one.thread == before.thread && one.block == before.block && one.time >= all.launched;
  };
  return is_same(past.stored) || std::any_of(std::begin(past.reads), std::end(past.reads), is_same);
}

std::string race(const Access& before, const Access& now, const char* address, size_t bytes, const Launch& launch) {
  const char* const image = checks().image_low;
  const std::string line = line_at(image + now.pc, launch), line_before = line_at(image + before.pc, launch);
  const bool same_block = before.block == now.block;
  const bool some_atomic = Kind(before.kind) >= Kind::atomic || Kind(now.kind) >= Kind::atomic;
  const bool same_warp = before.thread / kWarp == now.thread / kWarp;
  const char* const cure =
      some_atomic   ? "Either all accesses between two barriers are atomic or none is"
      : !same_block ? "No barrier orders two blocks: let each write places of its own, or use atomics"
      : line == line_before && does_again(before, now, address)
          ? "Let one thread write it, or use an atomic: atomicAdd, for a sum"
      : line == line_before
          ? "Put __syncthreads() between two iterations of the loop; where there is none, read into a variable, call "
            "__syncthreads(), and write then"
      : !same_warp ? "Put __syncthreads() between them, where all threads of the block come by"
      : launch.threads() <= kWarp
          ? "Put __syncwarp() or __syncthreads() between them"
          : "Put __syncthreads() between them, where all threads of the block come by; __syncwarp() is enough "
            "where no other warp takes part";
  return "race: " + element_at(address, bytes) + " is " + kDone[now.kind] + " at line " + line + " by " +
         of_thread(now, launch) + ", and " + kDone[before.kind] + " at line " + line_before + " by " +
         of_thread(before, launch) + ", in no certain order. " + cure;
}

[[noreturn]] void fail_race(const Access& before, const Access& now, const char* address, size_t bytes, Lane* self) {
  self->block->fail(race(before, now, address, bytes, *self->block->launch), self);
}

[[noreturn]] void fail_uninitialised(const char* address, size_t bytes, bool shared, const char* pc, Lane* self) {
  self->block->fail(
      "uninitialised: " + element_at(address, bytes) + " is read at line " + line_at(pc, *self->block->launch) +
          (shared
               ? ", and no thread of the block has written it yet. If one does later, a __syncthreads() is missing in between; "
                 "shared memory holds nothing at the start"
               : ", and nothing has written it. New memory holds nothing: take at::zeros, or write it first"),
      self);
}

void settle(Lane* self) {
  Doubt& doubt = checks().doubt;
  const char* const address = std::exchange(doubt.address, nullptr);
  if (std::memcmp(address, doubt.value, doubt.bytes) == 0) return;
  fail_race(doubt.before, doubt.now, address, doubt.bytes, self);
}

// Whether something puts an earlier access before one that the thread makes now.
CUDA_CPU_INLINE bool is_ordered(const Access& before, const Lane& self, const Checks& all) {
  const Block& block = *self.block;
  if (before.block == block.number) {
    if (before.thread == self.index || before.time < block.synced) return true;
    if (before.thread / kWarp == self.index / kWarp && before.time < block.warp_synced[self.index / kWarp]) return true;
  }
  return before.time < all.orders[before.block].published && all.orders[block.number].asked;
}

CUDA_CPU_INLINE bool conflicts(const Access& before, const Access& now, bool shared, const Lane& self, const Checks& all) {
  if (before.time < all.launched || !(before.bytes & now.bytes)) return false;
  const Kind kind = Kind(now.kind), earlier = Kind(before.kind);
  if (kind >= Kind::atomic && earlier >= Kind::atomic) return false;
  if (shared && before.block != now.block) return false;  // each block has its own, in the same place here
  // A loop of atomicCAS begins with a load, of which the atomic then finds out whether it still holds.
  if (kind == Kind::load && earlier == Kind::compare_and_swap) return false;
  if (kind == Kind::compare_and_swap && earlier == Kind::load) return false;
  return !is_ordered(before, self, all);
}

CUDA_CPU_PLAIN __attribute__((noinline)) void doubt(
    const Access& before, const Access& now, const char* address, size_t bytes, Lane* self, Checks& all) {
  if (Kind(now.kind) != Kind::store || Kind(before.kind) >= Kind::atomic || bytes > sizeof all.doubt.value) {
    lane = nullptr;
    fail_race(before, now, address, bytes, self);
  }
  if (all.doubt.address) return;
  all.doubt.address = address;
  all.doubt.bytes = bytes;
  all.doubt.before = before;
  all.doubt.now = now;
  lane = nullptr;  // with clang this memcpy is the one below
  __builtin_memcpy(all.doubt.value, address, bytes);
  lane = self;
}

// Keep the first access where one of its kind belongs, as it is not the only one any more.
CUDA_CPU_PLAIN __attribute__((noinline)) void begin_past(Access& first, Past& past) {
  __builtin_memset(&past, 0, sizeof past);  // clang -O0 would assign by a call of the memcpy below
  const Kind kind = Kind(first.kind);
  (kind == Kind::load ? past.reads[0] : kind == Kind::store ? past.stored : past.changed) = first;
  first.is_all = false;
}

CUDA_CPU_INLINE uint32_t word_at(const char* address) {
  uint32_t word;
  __builtin_memcpy(&word, reinterpret_cast<const char*>(uintptr_t(address) & ~uintptr_t(3)), 4);
  return word;
}

// What the store before it has changed, this one has changed, too, unless a barrier lies between them.
CUDA_CPU_INLINE void remember_old(
    Access& now, const Access& before, bool is_new, const char* here, uint32_t since, const Block& block) {
  const uint32_t word = word_at(here);
  now.changes = is_new;
  now.old = word;
  if (before.time < since || (before.block == now.block && before.time < block.synced)) return;
  now.changes = before.changes || before.old != word;
  now.old = before.old;
}

// Whether a store has left what was there: who reads it later reads the same as who reads it before.
CUDA_CPU_PLAIN __attribute__((noinline)) bool is_idle(const Access& store, const char* here) {
  const uint32_t word = word_at(here);
  for (unsigned i = 0; i < 4; ++i) {
    if (store.bytes >> i & 1 && (store.old ^ word) >> 8 * i & 255) return false;
  }
  return !store.changes;
}

#ifdef CUDA_CPU_LAB
CUDA_CPU_PLAIN void look_at_host(const char* address, size_t bytes, Kind kind, const char* pc);
#else
CUDA_CPU_INLINE void look_at_host(const char*, size_t, Kind, const char*) {}
#endif

CUDA_CPU_INLINE void look_at(const void* where, const size_t bytes, const Kind kind, const void* pc, const bool reads) {
  Lane* const self = lane;
  if (!self) {
    look_at_host(static_cast<const char*>(where), bytes, kind, static_cast<const char*>(pc));
    return;
  }
  const char* const address = static_cast<const char*>(where);
  const Block& block = *self->block;
  Checks& all = *block.checks;
  if (all.doubt.address) {
    lane = nullptr;
    settle(self);
    lane = self;
  }
  const bool store = kind != Kind::load, atomic = kind >= Kind::atomic;
  if (atomic) {
    Order& order = all.orders[block.number];
    if (order.fenced) order.published = order.fenced;
    order.asked = true;
  }
  if (size_t(address - self->fiber->low) < Fiber::kStack) return;
  const Spot* spot = all.sites[uintptr_t(pc) / 2 % Checks::kSites];
  const size_t offset = address - spot->begin;
  if (offset >= spot->bytes || spot->bytes - offset < bytes) {
    spot = spot_at(address, bytes, pc, all);
    if (!spot) {
      // The launch keeps the kernel's arguments on the host's stack; tables of constants lie in the library.
      if (within(address, all.stack_low, all.stack_high) || within(address, all.image_low, all.image_high)) return;
      lane = nullptr;
      outside(address, bytes, store, static_cast<const char*>(pc), self);
    }
  }
  count_access(address, bytes, kind, static_cast<const char*>(pc));
  if (spot->fresh && reads && bytes >= 4) {
    size_t empty = 0;
    for (uint32_t word; empty + 4 <= bytes; empty += 4) {
      __builtin_memcpy(&word, address + empty, 4);
      if (word != kUnwritten) break;
    }
    if (empty == bytes) {
      lane = nullptr;
      fail_uninitialised(address, bytes, false, static_cast<const char*>(pc), self);
    }
  }
  Access now;
  now.time = all.time;
  now.block = uint32_t(block.number);
  now.pc = uint32_t(static_cast<const char*>(pc) - all.image_low);
  now.thread = uint16_t(self->index);
  now.kind = uint16_t(kind);
  now.written = 0;
  now.is_all = true;
  now.changes = false;
  now.old = 0;
  const uint32_t since = spot->shared ? block.begun : all.launched;  // each block has shared memory of its own
  size_t number = uintptr_t(address) / 4 - uintptr_t(spot->begin) / 4;
  for (const char* at = address; at < address + bytes; ++number) {
    const unsigned first = uintptr_t(at) % 4, left = unsigned(address + bytes - at),
                   count = left < 4 - first ? left : 4 - first;
    const unsigned mask = ((1u << count) - 1) << first & 15;
    now.bytes = mask & 15;
    const char* const here = at;
    at += count;
    Access& one = spot->first[number];
    const bool is_first = one.time < since;
    if (spot->shared && reads && mask & ~(is_first ? 0u : one.written)) {
      lane = nullptr;
      fail_uninitialised(address, bytes, true, static_cast<const char*>(pc), self);
    }
    if (is_first ||
        (one.is_all && one.thread == now.thread && one.block == now.block && one.kind == now.kind && one.bytes == now.bytes)) {
      if (store) {
        now.written = mask & 15;
        remember_old(now, one, spot->shared && is_first, here, since, block);
      }
      one = now;
      continue;
    }
    Past* const cell = spot->past + number;
    if (one.is_all) begin_past(one, *cell);
    if (conflicts(cell->stored, now, spot->shared, *self, all) && (store || !is_idle(cell->stored, here))) {
      doubt(cell->stored, now, address, bytes, self, all);
    }
    if (conflicts(cell->changed, now, spot->shared, *self, all)) doubt(cell->changed, now, address, bytes, self, all);
    if (store) {
      for (int i = 0; i < 3; ++i) {
        if (conflicts(cell->reads[i], now, spot->shared, *self, all)) doubt(cell->reads[i], now, address, bytes, self, all);
      }
      if (!atomic) remember_old(now, cell->stored, spot->shared && mask & ~one.written, here, since, block);
      (atomic ? cell->changed : cell->stored) = now;
      one.written |= mask & 15;
      continue;
    }
    const Access last = cell->reads[0];
    cell->reads[0] = now;
    if (last.time < all.launched) continue;
    if (last.block != now.block || last.thread / kWarp != now.thread / kWarp) {
      cell->reads[2] = last;
    } else if (last.thread != now.thread) {
      cell->reads[1] = last;
    }
  }
}

CUDA_CPU_PLAIN __attribute__((noinline)) void on_access(const void* address, size_t bytes, Kind kind, const void* pc) {
  look_at(address, bytes, kind, pc, kind != Kind::store);
}

// Most accesses are four or eight bytes: functions of their own have little to decide then.
template <size_t kBytes, Kind kKind>
CUDA_CPU_PLAIN __attribute__((noinline)) void on_access(const void* address, const void* pc) {
  if constexpr (kBytes == 4 || kBytes == 8) {
    look_at(address, kBytes, kKind, pc, kKind != Kind::store);
  } else {
    on_access(address, kBytes, kKind, pc);
  }
}

CUDA_CPU_PLAIN void before_atomic(const void* address, size_t bytes, bool compares, const void* pc) {
  on_access(address, bytes, compares ? Kind::compare_and_swap : Kind::atomic, pc);
}

CUDA_CPU_PLAIN void before_atomic_store(const void* address, size_t bytes, const void* pc) {
  look_at(address, bytes, Kind::atomic, pc, false);
}

CUDA_CPU_PLAIN void before_copy(const void* address, size_t bytes, bool store, const void* pc) {
  if (bytes) on_access(address, bytes, store ? Kind::store : Kind::load, pc);
}

CUDA_CPU_PLAIN void before_wait() {
  count_wait();
  Lane* const self = lane;
  if (!self || !self->block->checks->doubt.address) return;
  lane = nullptr;
  settle(self);
  lane = self;
}

CUDA_CPU_PLAIN void fence() {
  if (!lane) return;
  Checks& all = *lane->block->checks;
  all.orders[lane->block->number].fenced = ++all.time;
}

int extend_image(dl_phdr_info* info, size_t, void* inside) {
  const char* low = nullptr;
  const char* high = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const char* const begin = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
    low = low ? std::min(low, begin) : begin;
    high = std::max(high, begin + part.p_memsz);
  }
  if (!within(static_cast<const char*>(inside), low, high)) return 0;
  checks().image_low = low;
  checks().image_high = high;
  return 1;
}

// Where the text's library lies: around something that is its own.
void find_image(const void* inside) {
  if (!checks().image_low) dl_iterate_phdr(extend_image, const_cast<void*>(inside));
}

void begin_checks(const Launch& launch) {
  Checks& all = checks();
  find_image(launch.file);
  forget_if([](const Region& one) { return one.of == Of::shared || one.of == Of::variable; });
  for (const Region& one : OfFile::here().variables) all.regions.push_back(one);
  all.regions.push_back({dynamic_shared(), launch.shared, "dynamic shared memory", 1, Of::shared, {}, {}});
  if (!all.order_pages.reach(launch.blocks() * sizeof(Order))) throw std::bad_alloc();
  all.orders = reinterpret_cast<Order*>(all.order_pages.memory);
  std::memset(all.orders, 0, launch.blocks() * sizeof(Order));
  all.launched = ++all.time;
  all.doubt.address = nullptr;
  all.is_dynamic_named = false;
  all.launch = std::string("kernel ") + launch.kernel + " at " + place(launch.file, launch.line);
  all.threads = launch.blocks() * launch.threads();
  gather_spots();
  count_launch(launch);
}

void begin_block(Block& block) {
  block.checks = &checks();
  block.begun = block.synced = ++checks().time;
  for (uint32_t& one : block.warp_synced) one = block.begun;
  count_block(block);
  for (const auto declare : OfFile::here().shared) declare();
  checks().is_dynamic_named = false;  // a name that a kernel itself has for it counts more
}

std::string name_of_array(const char* file, uint32_t line);

uint64_t steps_left = kSteps;

// A thread that has made them all, and then as many again, is endless: others may have made some of the first ones.
CUDA_CPU_PLAIN __attribute__((noinline)) void steps_are_over(const char* pc) {
  steps_left = kSteps;
  Lane* const self = lane;
  if (!self || self->steps++ == 0) return;
  lane = nullptr;
  const std::string what = "endless: a thread has branched " + std::to_string(kSteps) +
                           " times without a barrier, last at line " + line_at(pc, *self->block->launch) +
                           ". See whether the loop can end; on a GPU it would hang";
  self->block->fail(what, self);
}

struct SourcePlace {
  const char* file;
  uint32_t line, column;
};
struct TypeName {
  uint16_t kind, info;
  char name[1];
};
struct IndexFault {
  SourcePlace place;
  const TypeName *array, *index;
};
struct TypeFault {
  SourcePlace place;
  const TypeName* type;
  unsigned char log_alignment, kind;
};
struct AssumptionFault {
  SourcePlace place, assumed_at;
  const TypeName* type;
};
constexpr const char* kAlign = ". Let what lies before it take a multiple of so many bytes";

// End the launch with what a check of the compiler's own has seen in a kernel.
template <class F>
CUDA_CPU_PLAIN void fail_at(const SourcePlace& where, const F& told) {
  Lane* const self = lane;
  if (!self) return;
  lane = nullptr;
  self->block->fail(told(" at line " + place(where.file, where.line)), self);
}

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu

#define CUDA_CPU_HOOK_ extern "C" __attribute__((visibility(CUDA_CPU_SEEN), noinline, used)) CUDA_CPU_PLAIN
// A step is a branch; where the compiler does not tell of branches, a load, a store or a call. A loop without any of these is
// ended by the limit of time alone there.
#define CUDA_CPU_STEP_()                                                             \
  do {                                                                               \
    const char* const here_ = static_cast<const char*>(__builtin_return_address(0)); \
    cuda_cpu::count_step(here_);                                                     \
    if (--cuda_cpu::steps_left == 0) cuda_cpu::steps_are_over(here_);                \
  } while (false)
#ifdef CUDA_CPU_STEPS_ARE_ACCESSES
#define CUDA_CPU_STEP_OF_ACCESS_() CUDA_CPU_STEP_()
#else
#define CUDA_CPU_STEP_OF_ACCESS_()
#endif
#define CUDA_CPU_ACCESS_(name, kind, size)                                                 \
  CUDA_CPU_HOOK_ void __tsan_##name(void* address) {                                       \
    CUDA_CPU_STEP_OF_ACCESS_();                                                            \
    cuda_cpu::on_access<size, cuda_cpu::Kind::kind>(address, __builtin_return_address(0)); \
  }
#define CUDA_CPU_ACCESSES_(size)                       \
  CUDA_CPU_ACCESS_(read##size, load, size)             \
  CUDA_CPU_ACCESS_(write##size, store, size)           \
  CUDA_CPU_ACCESS_(unaligned_read##size, load, size)   \
  CUDA_CPU_ACCESS_(unaligned_write##size, store, size) \
  CUDA_CPU_ACCESS_(volatile_read##size, load, size)    \
  CUDA_CPU_ACCESS_(volatile_write##size, store, size)
CUDA_CPU_ACCESSES_(1)
CUDA_CPU_ACCESSES_(2)
CUDA_CPU_ACCESSES_(4)
CUDA_CPU_ACCESSES_(8)
CUDA_CPU_ACCESSES_(16)
CUDA_CPU_HOOK_ void __tsan_read_range(void* address, unsigned long bytes) {
  cuda_cpu::on_access(address, bytes, cuda_cpu::Kind::load, __builtin_return_address(0));
}
CUDA_CPU_HOOK_ void __tsan_write_range(void* address, unsigned long bytes) {
  cuda_cpu::on_access(address, bytes, cuda_cpu::Kind::store, __builtin_return_address(0));
}
#if defined(__clang__) && !defined(CUDA_CPU_LAB)  // which calls it for the copy of a struct
CUDA_CPU_HOOK_ void* memcpy(void* to, const void* from, size_t bytes) noexcept {
  cuda_cpu::on_access(from, bytes, cuda_cpu::Kind::load, __builtin_return_address(0));
  cuda_cpu::on_access(to, bytes, cuda_cpu::Kind::store, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
#endif
CUDA_CPU_HOOK_ void __tsan_init() {}
CUDA_CPU_HOOK_ void __tsan_func_entry(void* from) {
  CUDA_CPU_STEP_OF_ACCESS_();
  cuda_cpu::count_call(static_cast<const char*>(from));
}
CUDA_CPU_HOOK_ void __tsan_func_exit(void*) {
  cuda_cpu::count_return();
}
CUDA_CPU_HOOK_ void __tsan_vptr_update(void**, void*) {}
CUDA_CPU_HOOK_ void __tsan_vptr_read(void**) {}
CUDA_CPU_HOOK_ void __sanitizer_cov_trace_pc() {
  CUDA_CPU_STEP_();
}

// The atomics of the host, of reference counts for instance.
#define CUDA_CPU_HOST_CHANGE_(bits, name, change)                                                                 \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t* a, uint##bits##_t v, int) { \
    return change(a, v, __ATOMIC_SEQ_CST);                                                                        \
  }
#define CUDA_CPU_HOST_EXCHANGE_(bits, name)                                                 \
  CUDA_CPU_HOOK_ int __tsan_atomic##bits##_compare_exchange_##name(                         \
      volatile uint##bits##_t* a, uint##bits##_t* c, uint##bits##_t v, int, int) {          \
    return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define CUDA_CPU_HOST_ATOMIC_(bits)                                                                    \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* a, int) {    \
    return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                       \
  }                                                                                                    \
  CUDA_CPU_HOOK_ void __tsan_atomic##bits##_store(volatile uint##bits##_t* a, uint##bits##_t v, int) { \
    __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                    \
  CUDA_CPU_HOST_CHANGE_(bits, exchange, __atomic_exchange_n)                                           \
  CUDA_CPU_HOST_CHANGE_(bits, fetch_add, __atomic_fetch_add)                                           \
  CUDA_CPU_HOST_CHANGE_(bits, fetch_sub, __atomic_fetch_sub)                                           \
  CUDA_CPU_HOST_CHANGE_(bits, fetch_and, __atomic_fetch_and)                                           \
  CUDA_CPU_HOST_CHANGE_(bits, fetch_or, __atomic_fetch_or)                                             \
  CUDA_CPU_HOST_EXCHANGE_(bits, strong)                                                                \
  CUDA_CPU_HOST_EXCHANGE_(bits, weak)                                                                  \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                            \
      volatile uint##bits##_t* a, uint##bits##_t c, uint##bits##_t v, int, int) {                      \
    __atomic_compare_exchange_n(a, &c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
    return c;                                                                                          \
  }
CUDA_CPU_HOST_ATOMIC_(8)
CUDA_CPU_HOST_ATOMIC_(16)
CUDA_CPU_HOST_ATOMIC_(32)
CUDA_CPU_HOST_ATOMIC_(64)
CUDA_CPU_HOOK_ void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

CUDA_CPU_HOOK_ void __ubsan_handle_out_of_bounds(cuda_cpu::IndexFault* fault, unsigned long index) {
  cuda_cpu::fail_at(fault->place, [&](const std::string& line) {
    return "out of bounds: index " + std::to_string(long(index)) + line + ", in " +
           cuda_cpu::name_of_array(fault->place.file, fault->place.line) + "an array of type " + fault->array->name +
           ". Compare the index with the size before it is used";
  });
}

// Of __builtin_assume_aligned; only clang calls it.
CUDA_CPU_HOOK_ void __ubsan_handle_alignment_assumption(
    cuda_cpu::AssumptionFault* fault, unsigned long, unsigned long alignment, unsigned long) {
  cuda_cpu::fail_at(fault->place, [&](const std::string& line) {
    return "misaligned: a pointer" + line + " is taken to be a multiple of " + std::to_string(alignment) + ", and is not" +
           cuda_cpu::kAlign;
  });
}

// Of a function that ends without a return; the compiler goes on to what lies behind it, so nothing may be thrown.
CUDA_CPU_HOOK_ void __ubsan_handle_missing_return(cuda_cpu::SourcePlace* place) {
  std::fprintf(stderr, "a function ends without a return at line %s\n", cuda_cpu::place(place->file, place->line).c_str());
  std::abort();
}

CUDA_CPU_HOOK_ void __ubsan_handle_type_mismatch_v1(cuda_cpu::TypeFault* fault, unsigned long address) {
  if (address < 4096) return;
  cuda_cpu::fail_at(fault->place, [&](const std::string& line) {
    return "misaligned: " + std::string(fault->type->name) + line + " needs an address that is a multiple of " +
           std::to_string(1 << fault->log_alignment) + cuda_cpu::kAlign;
  });
}
#endif
