// Check mode. The compiler is asked to call a function ahead of every load and store (-fsanitize=thread, without its library),
// at every branch (-fsanitize-coverage=trace-pc), and where an index or an alignment is wrong (-fsanitize=bounds,alignment).
// These functions are here: they look up what lies at the address, and what other threads have done there.
//
// Two accesses to one place, one of them a store, are a race unless something puts them in order: the same thread; a barrier
// of the block or the warp between them; another launch; or, between blocks, a fence and an atomic after the first access and
// an atomic ahead of the second one.
#ifdef CUDA_CPU_CHECK
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <optional>
#include <unordered_map>

namespace cuda_cpu {
namespace {

// How often a thread may branch between two barriers before it counts as endless.
constexpr uint64_t kSteps = 10'000'000;

enum class Kind : unsigned char { load, store, atomic, compare_and_swap };

struct Access {
  const char* pc;
  uint32_t time, block, epoch, warp_epoch;
  uint16_t thread;
  unsigned char bytes;  // which of the four of the cell
  Kind kind;
};

// What is known of four bytes: the last store, the last atomic, and three loads of which none makes another one superfluous.
struct Cell {
  Access stored, changed;
  Access reads[3];        // the last one; the last one of another thread of its warp; the last one of another warp
  unsigned char written;  // of shared memory: the bytes that the block has stored
  uint32_t written_at;
};

struct Page {
  Cell cells[256];
};

struct Region {
  const char* begin;
  const char* end;
  std::string name;
  size_t element;
  bool shared;
  std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage;  // of a tensor; one that is gone is no region any more
};

// A store of the value that is there already is no race: the next step of the thread shows whether it was one.
struct Doubt {
  const char* address = nullptr;
  size_t bytes;
  unsigned char value[16];
  Access before, now;
  std::string element;
};

struct Checks {
  uint32_t time = 1, launched = 0;
  std::vector<Region> regions;
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
  uintptr_t last_number = 0;
  Page* last_page = nullptr;
  const Region* last_region = nullptr;
  const char *stack_low = nullptr, *stack_high = nullptr;
  const char *image_low = nullptr, *image_high = nullptr;
  // Of each block: when a fence was last passed, when it was published by an atomic, whether it has asked others.
  struct Order {
    uint32_t fenced = 0, published = 0;
    bool asked = false;
  };
  std::vector<Order> orders;
  Doubt doubt;
};

Checks& checks() {
  static thread_local Checks all;
  return all;
}

// "lltm/mine:14": the innermost line of the user's text at an address of code, by what the compiler has left in the library.
std::string line_at(const char* pc, const Launch& launch) {
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
    const size_t at = text.find(std::string("/") + launch.file + ":");
    if (found.empty() && at != std::string::npos) found = text.substr(at + 1, text.find_first_of(" \n", at) - at - 1);
  }
  pclose(pipe);
  return found.empty() ? "a line that is not known" : found;
}

CUDA_CPU_PLAIN bool within(const char* address, const char* low, const char* high) {
  return low <= address && address < high;
}

CUDA_CPU_PLAIN const Region* region_at(const char* address, size_t bytes) {
  Checks& all = checks();
  const Region* const last = all.last_region;
  if (last && last->begin <= address && address + bytes <= last->end) return last;
  const Region* const first = all.regions.data();
  for (const Region* one = first + all.regions.size(); one-- > first;) {  // the last has the name that the launch knows
    if (one->begin <= address && address + bytes <= one->end) return all.last_region = one;
  }
  return nullptr;
}

std::string element_at(const Region& region, const char* address) {
  const long index = (address - region.begin) / long(region.element) - ((address - region.begin) % long(region.element) < 0);
  return region.name + "[" + std::to_string(index) + "]";
}

std::string of_thread(const Access& access, const Launch& launch) {
  const uint64_t x = access.block % launch.grid.x, rest = access.block / launch.grid.x;
  const unsigned i = access.thread;
  return "thread " + shown({i % launch.block.x, i / launch.block.x % launch.block.y, i / launch.block.x / launch.block.y}) +
         " of block " + shown({unsigned(x), unsigned(rest % launch.grid.y), unsigned(rest / launch.grid.y)});
}

void outside(const char* address, size_t bytes, bool store, const char* pc, Lane* self) {
  const Region* nearest = nullptr;
  size_t distance = 1 << 24;
  for (const Region& one : checks().regions) {
    const size_t away = address < one.begin ? one.begin - address : address + bytes - one.end;
    if (away < distance) {
      distance = away;
      nearest = &one;
    }
  }
  const Launch& launch = *self->block->launch;
  const std::string where = std::string(store ? " written" : " read") + " at line " + line_at(pc, launch);
  std::string what;
  if (uintptr_t(address) < 4096) {
    what = "null pointer," + where + ". Look at what the launch was given";
  } else if (nearest) {
    what = "out of bounds: " + element_at(*nearest, address) + "," + where + "; " + (nearest->shared ? "shared array " : "") +
           nearest->name + " has " + std::to_string((nearest->end - nearest->begin) / nearest->element) +
           " elements. Compare the index with the size before it is used";
  } else {
    what = "out of bounds: memory that belongs to no tensor of the kernel," + where +
           ". Look at the pointer and its index; a pointer of the host is none of the device";
  }
  self->block->fail(what, self);
}

CUDA_CPU_PLAIN Cell& cell_at(const char* address) {
  Checks& all = checks();
  const uintptr_t number = uintptr_t(address) / 1024;
  if (number != all.last_number || !all.last_page) {
    auto& page = all.pages[number];
    if (!page) page = std::make_unique<Page>();
    all.last_number = number;
    all.last_page = page.get();
  }
  return all.last_page->cells[uintptr_t(address) / 4 % 256];
}

// Whether something puts an earlier access ahead of one that the thread makes now.
CUDA_CPU_PLAIN bool is_ordered(const Access& before, const Lane& self) {
  Checks& all = checks();
  if (before.time < all.launched || before.time == 0) return true;
  const Block& block = *self.block;
  if (before.block == block.number) {
    if (before.thread == self.index || before.epoch != block.epoch) return true;
    if (before.thread / kWarp == self.index / kWarp && before.warp_epoch != block.warp_epochs[self.index / kWarp]) return true;
  }
  return before.time < all.orders[before.block].published && all.orders[block.number].asked;
}

const char* const kDone[] = {"read", "written", "changed by an atomic", "changed by an atomic"};

std::string race(const Access& before, const Access& now, const std::string& element, const Launch& launch) {
  const bool same_block = before.block == now.block;
  const char* const cure =
      before.kind >= Kind::atomic || now.kind >= Kind::atomic
          ? "Either all accesses between two barriers are atomic or none is"
          : (!same_block ? "No barrier orders two blocks: let each write places of its own, or use atomics"
                         : (before.thread / kWarp == now.thread / kWarp ? "Put __syncwarp() or __syncthreads() between them"
                                                                        : "Put __syncthreads() between them"));
  return "race: " + element + " is " + kDone[int(now.kind)] + " at line " + line_at(now.pc, launch) + " by " +
         of_thread(now, launch) + ", and " + kDone[int(before.kind)] + " at line " + line_at(before.pc, launch) + " by " +
         of_thread(before, launch) + ", in no certain order. " + cure;
}

void settle(Lane* self) {
  Doubt& doubt = checks().doubt;
  const bool changed = std::memcmp(doubt.address, doubt.value, doubt.bytes) != 0;
  doubt.address = nullptr;
  if (changed) self->block->fail(race(doubt.before, doubt.now, doubt.element, *self->block->launch), self);
}

CUDA_CPU_PLAIN void look_at(const char* address, size_t bytes, Kind kind, const char* pc, Lane* self) {
  const bool store = kind != Kind::load, atomic = kind >= Kind::atomic;
  Checks& all = checks();
  if (all.doubt.address) settle(self);
  if (atomic) {
    auto& order = all.orders[self->block->number];
    if (order.fenced) order.published = order.fenced;
    order.asked = true;
  }
  if (within(address, self->fiber->low, self->fiber->low + Fiber::kStack)) return;
  if (within(address, all.stack_low, all.stack_high)) return;  // the launch keeps the kernel's arguments there
  const Region* const region = region_at(address, bytes);
  const Block& block = *self->block;
  const Launch& launch = *block.launch;
  if (!region) {
    if (within(address, all.image_low, all.image_high)) return;
    return outside(address, bytes, store, pc, self);
  }
  count_access(region->name, region->begin, region->shared, address, bytes, int(kind), pc, *self);
  const uint32_t time = ++all.time;
  for (const char* at = address; at < address + bytes;) {
    const unsigned first = uintptr_t(at) % 4, count = std::min<size_t>(4 - first, address + bytes - at);
    const unsigned char mask = ((1u << count) - 1) << first;
    Cell& cell = cell_at(at);
    const Access now{
        pc,   time, uint32_t(block.number), block.epoch, block.warp_epochs[self->index / kWarp], uint16_t(self->index),
        mask, kind};
    if (region->shared && cell.written_at != block.begun) cell.written = 0, cell.written_at = block.begun;
    if (region->shared && (!store || atomic) && mask & ~cell.written) {
      const std::string what = "uninitialised: " + element_at(*region, address) + " is read at line " + line_at(pc, launch) +
                               ", and no thread of the block has written it. Shared memory holds nothing at the start";
      self->block->fail(what, self);
    }
    const auto conflicts = [&](const Access& before) CUDA_CPU_PLAIN {
      if (!(before.bytes & mask) || (atomic && before.kind >= Kind::atomic)) return false;
      if (region->shared && before.block != now.block) return false;  // each block has its own, in the same place here
      // A loop of atomicCAS begins with a load, of which the atomic then finds out whether it still holds.
      if (kind == Kind::load && before.kind == Kind::compare_and_swap) return false;
      if (kind == Kind::compare_and_swap && before.kind == Kind::load) return false;
      return !is_ordered(before, *self);
    };
    const auto compare_with = [&](const Access& before) CUDA_CPU_PLAIN {
      if (!conflicts(before)) return;
      if (kind != Kind::store || before.kind >= Kind::atomic || bytes > sizeof all.doubt.value) {
        self->block->fail(race(before, now, element_at(*region, address), launch), self);
      }
      if (all.doubt.address) return;
      all.doubt = {address, bytes, {}, before, now, element_at(*region, address)};
      std::memcpy(all.doubt.value, address, bytes);
    };
    compare_with(cell.stored);
    compare_with(cell.changed);
    if (store) {
      for (const Access& read : cell.reads) compare_with(read);
      (atomic ? cell.changed : cell.stored) = now;
      cell.written |= mask;
    } else {
      const Access last = cell.reads[0];
      if (last.time && last.block == now.block && last.thread / kWarp != now.thread / kWarp) cell.reads[2] = last;
      if (last.time && last.block != now.block) cell.reads[2] = last;
      if (last.time && last.thread != now.thread && last.block == now.block && last.thread / kWarp == now.thread / kWarp) {
        cell.reads[1] = last;
      }
      cell.reads[0] = now;
    }
    at += count;
  }
}

CUDA_CPU_PLAIN inline void on_access(const void* address, size_t bytes, Kind kind, const void* pc) {
  if (!lane) return;
  const OffDevice off;
  look_at(static_cast<const char*>(address), bytes, kind, static_cast<const char*>(pc), off.self);
}

CUDA_CPU_PLAIN void before_atomic(const void* address, size_t bytes, bool compares, const void* pc) {
  on_access(address, bytes, compares ? Kind::compare_and_swap : Kind::atomic, pc);
}

CUDA_CPU_PLAIN void before_wait() {
  Lane* const self = lane;
  if (!self) return;
  lane = nullptr;
  if (checks().doubt.address) settle(self);
  lane = self;
}

CUDA_CPU_PLAIN inline void fence() {
  if (!lane) return;
  const OffDevice off;
  checks().orders[off.self->block->number].fenced = ++checks().time;
}

template <class Predicate>
void forget_if(const Predicate& is_gone) {
  auto& regions = checks().regions;
  checks().last_region = nullptr;  // they move
  regions.erase(
      std::remove_if(
          regions.begin(), regions.end(),
          [&](const Region& one) { return (one.storage && one.storage->expired()) || is_gone(one); }),
      regions.end());
}

void remember(const char* begin, size_t bytes, std::string name, size_t element, bool shared, const at::TensorBase* tensor) {
  forget_if([&](const Region& one) { return one.begin == begin && one.end == begin + bytes; });
  std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage;
  if (tensor) storage = tensor->storage().getWeakStorageImpl();
  checks().regions.push_back({begin, begin + bytes, std::move(name), element, shared, std::move(storage)});
}

void remember_allocation(void* begin, size_t bytes, size_t element) {
  remember(static_cast<const char*>(begin), bytes, "memory of cudaMalloc", element, false, nullptr);
}

void forget_allocation(void* begin) {
  forget_if([&](const Region& one) { return one.begin == begin; });
}

// A tensor from which the text takes a pointer or an accessor.
template <class T>
T&& named(T&& value, const char* name) {
  if constexpr (std::is_convertible_v<const std::remove_reference_t<T>&, const at::TensorBase&>) {
    const at::TensorBase& tensor = value;
    if (tensor.defined() && tensor.numel() > 0) {
      int64_t last = 0;
      for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
      const size_t element = tensor.element_size();
      remember(static_cast<const char*>(tensor.const_data_ptr()), (last + 1) * element, name, element, false, &tensor);
    }
  }
  return static_cast<T&&>(value);
}

template <class T>
CUDA_CPU_PLAIN void declare_shared(const char* name, const T& array) {
  const OffDevice off;
  const char* const begin = (const char*)&array;  // it may be volatile
  for (const Region& one : checks().regions) {
    if (one.begin == begin && one.end == begin + sizeof(T) && one.name == name) return;
  }
  remember(begin, sizeof(T), name, sizeof(std::remove_all_extents_t<T>), true, nullptr);
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

void begin_checks(const Launch& launch) {
  Checks& all = checks();
  if (!all.image_low) {
    dl_iterate_phdr(extend_image, const_cast<int*>(&warpSize));
    pthread_attr_t attributes;
    void* low;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    all.stack_low = static_cast<const char*>(low);
    all.stack_high = all.stack_low + size;
  }
  forget_if([](const Region& one) { return one.shared; });
  if (launch.shared) remember(dynamic_shared<char>(), launch.shared, "dynamic shared memory", 1, true, nullptr);
  all.launched = ++all.time;
  all.orders.assign(launch.blocks(), {});
  all.doubt.address = nullptr;
  count_launch(launch);
}

void begin_block(Block& block) {
  block.begun = ++checks().time;
  count_block(block);
  ++block.epoch;
}

CUDA_CPU_PLAIN void step(const char* pc) {
  count_step(pc);
  Lane* const self = lane;
  if (!self || ++self->steps < kSteps) return;
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

}  // namespace
}  // namespace cuda_cpu

#define CUDA_CPU_HOOK_ extern "C" __attribute__((visibility("hidden"), noinline, used)) CUDA_CPU_PLAIN
#define CUDA_CPU_ACCESS_(name, kind, size)                                                 \
  CUDA_CPU_HOOK_ void __tsan_##name(void* address) {                                       \
    cuda_cpu::on_access(address, size, cuda_cpu::Kind::kind, __builtin_return_address(0)); \
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
#ifdef __clang__  // which calls it for the copy of a struct
CUDA_CPU_HOOK_ void* memcpy(void* to, const void* from, size_t bytes) noexcept {
  cuda_cpu::on_access(from, bytes, cuda_cpu::Kind::load, __builtin_return_address(0));
  cuda_cpu::on_access(to, bytes, cuda_cpu::Kind::store, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
#endif
CUDA_CPU_HOOK_ void __tsan_init() {}
CUDA_CPU_HOOK_ void __tsan_func_entry(void* from) {
  cuda_cpu::count_call(static_cast<const char*>(from));
}
CUDA_CPU_HOOK_ void __tsan_func_exit(void*) {
  cuda_cpu::count_return();
}
CUDA_CPU_HOOK_ void __tsan_vptr_update(void**, void*) {}
CUDA_CPU_HOOK_ void __tsan_vptr_read(void**) {}
CUDA_CPU_HOOK_ void __sanitizer_cov_trace_pc() {
  cuda_cpu::step(static_cast<const char*>(__builtin_return_address(0)));
}

// The atomics of the host, of reference counts for instance.
#define CUDA_CPU_HOST_ATOMIC_(bits)                                                                                  \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* a, int) {                  \
    return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                                                     \
  }                                                                                                                  \
  CUDA_CPU_HOOK_ void __tsan_atomic##bits##_store(volatile uint##bits##_t* a, uint##bits##_t v, int) {               \
    __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                                                        \
  }                                                                                                                  \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t* a, uint##bits##_t v, int) {  \
    return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST);                                                              \
  }                                                                                                                  \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile uint##bits##_t* a, uint##bits##_t v, int) { \
    return __atomic_fetch_add(a, v, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                  \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile uint##bits##_t* a, uint##bits##_t v, int) { \
    return __atomic_fetch_sub(a, v, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                  \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_fetch_and(volatile uint##bits##_t* a, uint##bits##_t v, int) { \
    return __atomic_fetch_and(a, v, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                                  \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_fetch_or(volatile uint##bits##_t* a, uint##bits##_t v, int) {  \
    return __atomic_fetch_or(a, v, __ATOMIC_SEQ_CST);                                                                \
  }                                                                                                                  \
  CUDA_CPU_HOOK_ int __tsan_atomic##bits##_compare_exchange_strong(                                                  \
      volatile uint##bits##_t* a, uint##bits##_t* c, uint##bits##_t v, int, int) {                                   \
    return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                          \
  }                                                                                                                  \
  CUDA_CPU_HOOK_ uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                          \
      volatile uint##bits##_t* a, uint##bits##_t c, uint##bits##_t v, int, int) {                                    \
    __atomic_compare_exchange_n(a, &c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                \
    return c;                                                                                                        \
  }                                                                                                                  \
  CUDA_CPU_HOOK_ int __tsan_atomic##bits##_compare_exchange_weak(                                                    \
      volatile uint##bits##_t* a, uint##bits##_t* c, uint##bits##_t v, int, int) {                                   \
    return __atomic_compare_exchange_n(a, c, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                          \
  }
CUDA_CPU_HOST_ATOMIC_(8)
CUDA_CPU_HOST_ATOMIC_(16)
CUDA_CPU_HOST_ATOMIC_(32)
CUDA_CPU_HOST_ATOMIC_(64)
CUDA_CPU_HOOK_ void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

CUDA_CPU_HOOK_ void __ubsan_handle_out_of_bounds(cuda_cpu::IndexFault* fault, unsigned long index) {
  cuda_cpu::Lane* const self = cuda_cpu::lane;
  if (!self) return;
  cuda_cpu::lane = nullptr;
  const std::string what = "out of bounds: index " + std::to_string(long(index)) + " at line " +
                           cuda_cpu::place(fault->place.file, fault->place.line) + ", in an array of type " +
                           fault->array->name + ". Compare the index with the size before it is used";
  self->block->fail(what, self);
}

CUDA_CPU_HOOK_ void __ubsan_handle_type_mismatch_v1(cuda_cpu::TypeFault* fault, unsigned long address) {
  cuda_cpu::Lane* const self = cuda_cpu::lane;
  if (!self || address < 4096) return;
  cuda_cpu::lane = nullptr;
  const std::string what = "misaligned: " + std::string(fault->type->name) + " at line " +
                           cuda_cpu::place(fault->place.file, fault->place.line) + " needs an address that is a multiple of " +
                           std::to_string(1 << fault->log_alignment) +
                           ". Let the index of the first element be a multiple of the vector's length";
  self->block->fail(what, self);
}
#endif
