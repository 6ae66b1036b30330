// The guard: gives every tensor memory of its own between pages that fault when they are touched.
//
// It is compiled once per machine, in about a second, and called through `ctypes` by checking/guard.py. While it is switched on
// it stands in the place of c10's CPU allocator:
//
//     no access, 4 MiB | slack  data  slack | no access, 4 MiB
//
// The data lie flush with the last accessible page's end, or with the first one's start. What must be aligned leaves slack,
// which is filled with a pattern and compared when the tensor is freed and whenever somebody asks. Freed tensors stay out of
// reach for a while, so that a pointer which outlives its tensor faults too.
//
// A block knows its own deleter: tensors may outlive the guard. Tensors are named by those who know them; one that a signal
// handler asks for (`guard_find`, without a lock and without memory of the heap) has at least its size.

// The guard's blocks: memory between pages that nobody may touch, and what became of the slack beside the data.

// The tensor around an address, as the guard knows it and the recorder writes it down. `layout.py` has the same structure.

#include <cstdint>

struct Region {
  char name[96], dtype[16];
  uint64_t base, nbytes, itemsize;
  int64_t ndim, shape[8];
};


#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <vector>

// Memory beside a tensor that was written to; `layout.py` has the same structure.
struct Damage {
  Region region;
  int64_t behind;             // 1: past the end, 0: before the start
  int64_t nearest, elements;  // distance of the nearest damaged element, 1 for the neighbour; how many are damaged
  unsigned char was[16], is[16];
};

namespace {

constexpr size_t kGuard = size_t(4) << 20;  // more than the 1 MiB by which a wrong stride easily misses
constexpr int kBlocks = 1 << 14;            // two or three mappings each, of the 65530 that Linux grants a process
constexpr size_t kKept = 256;               // freed blocks kept out of reach
constexpr size_t kDamages = 64;
enum State { kUnused, kLive, kFreed };

struct Block {
  std::atomic<int> state;
  char *room, *pages, *data;  // of room_size, pages_size, nbytes
  size_t room_size, pages_size, nbytes;
  uint64_t slack;
  Region region;
};

struct Expected {
  uint64_t nbytes;
  char name[96];
};

// A signal handler reads these without a lock: no containers here.
Block blocks[kBlocks];
std::atomic<int> used{0};

std::atomic<bool> on{false};
bool flush_with_end = true;
uint64_t contents_word, slack_word, alignment = 64;
char default_dtype[16];
uint64_t default_itemsize = 1;
char default_name[96];
std::vector<Expected>& expected = *new std::vector<Expected>;
thread_local uint64_t next_alignment = 0;

// Never destroyed: tensors are freed as late as the interpreter pleases.
std::mutex& mutex = *new std::mutex;
std::unordered_map<void*, int>& live = *new std::unordered_map<void*, int>;
std::vector<int>& unused_blocks = *new std::vector<int>;
std::deque<int>& kept = *new std::deque<int>;
std::vector<Damage>& damages = *new std::vector<Damage>;
std::atomic<int64_t> missed{0};

size_t page_size() {
  static const size_t size = sysconf(_SC_PAGESIZE);
  return size;
}

void copy_text(char* to, size_t room, const char* from) {
  std::snprintf(to, room, "%s", from);
}

unsigned char pattern_at(uint64_t word, const char* address) {
  return reinterpret_cast<const unsigned char*>(&word)[reinterpret_cast<uintptr_t>(address) % 8];
}

void fill(char* first, char* last, uint64_t word) {
  while (first < last && reinterpret_cast<uintptr_t>(first) % 8) *first = pattern_at(word, first), ++first;
  for (; first + 8 <= last; first += 8) *reinterpret_cast<uint64_t*>(first) = word;
  while (first < last) *first = pattern_at(word, first), ++first;
}

bool is_intact(const char* first, const char* last, uint64_t word) {
  for (; first < last && reinterpret_cast<uintptr_t>(first) % 8; ++first)
    if (static_cast<unsigned char>(*first) != pattern_at(word, first)) return false;
  for (; first + 8 <= last; first += 8)
    if (*reinterpret_cast<const uint64_t*>(first) != word) return false;
  for (; first < last; ++first)
    if (static_cast<unsigned char>(*first) != pattern_at(word, first)) return false;
  return true;
}

// Write down what became of one side of a block, and repair it, so that it is told once.
void examine(const Block& block, bool behind) {
  char* const end = block.data + block.nbytes;
  char* const first = behind ? end : block.pages;
  char* const last = behind ? block.pages + block.pages_size : block.data;
  if (is_intact(first, last, block.slack)) return;
  Damage damage{block.region, behind, 0, 0, {}, {}};
  const int64_t itemsize = block.region.itemsize, size = last - first;
  for (int64_t byte = 0, seen = -1; byte < size; ++byte) {  // from the data outwards
    const char* address = behind ? first + byte : last - 1 - byte;
    if (static_cast<unsigned char>(*address) == pattern_at(block.slack, address) || byte / itemsize == seen) continue;
    seen = byte / itemsize;
    if (damage.elements++ == 0) damage.nearest = seen + 1;
  }
  const char* const element = behind ? end + (damage.nearest - 1) * itemsize : block.data - damage.nearest * itemsize;
  for (int64_t byte = 0; byte < std::min<int64_t>(itemsize, 16); ++byte) {
    if (element + byte < first || element + byte >= last) continue;
    damage.was[byte] = pattern_at(block.slack, element + byte);
    damage.is[byte] = element[byte];
  }
  fill(first, last, block.slack);
  if (damages.size() < kDamages) damages.push_back(damage);
}

void describe(Block& block) {
  Region& region = block.region;
  std::memset(&region, 0, sizeof region);
  const auto same = std::find_if(expected.begin(), expected.end(), [&](const Expected& e) { return e.nbytes == block.nbytes; });
  copy_text(region.name, sizeof region.name, same != expected.end() ? same->name : default_name);
  const bool fits = block.nbytes % default_itemsize == 0;
  copy_text(region.dtype, sizeof region.dtype, fits ? default_dtype : "bytes");
  region.base = reinterpret_cast<uint64_t>(block.data);
  region.nbytes = block.nbytes;
  region.itemsize = fits ? default_itemsize : 1;
  region.ndim = 1;
  region.shape[0] = block.nbytes / region.itemsize;
}

int take_slot() {
  if (!unused_blocks.empty()) {
    const int slot = unused_blocks.back();
    unused_blocks.pop_back();
    return slot;
  }
  const int slot = used.load();
  if (slot == kBlocks) return -1;
  used.store(slot + 1);
  return slot;
}

// Reserve as much as the system gives: less where the address space is limited.
char* reserve(size_t pages, size_t& guard) {
  for (guard = kGuard; guard >= page_size(); guard /= 32) {
    void* room = mmap(nullptr, pages + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) continue;
    if (!mprotect(static_cast<char*>(room) + guard, pages, PROT_READ | PROT_WRITE)) return static_cast<char*>(room);
    munmap(room, pages + 2 * guard);
  }
  return nullptr;
}

// Return nullptr where there is no room for one more: what then comes from the default allocator is not guarded.
void* allocate_guarded(size_t nbytes) {
  const uint64_t align = next_alignment ? next_alignment : alignment;
  if (nbytes > (size_t(1) << 46)) return nullptr;  // or the sums below would run over
  const size_t page = page_size(), pages = (nbytes + page - 1) / page * page;
  size_t guard = 0;
  char* const room = reserve(pages, guard);
  if (room == nullptr) return nullptr;
  char* const first = room + guard;
  char* const last = first + pages;
  char* const data =
      flush_with_end ? reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(last) - nbytes) / align * align) : first;
  fill(first, data, slack_word);
  fill(data, data + nbytes, contents_word);
  fill(data + nbytes, last, slack_word);
  const std::lock_guard<std::mutex> lock(mutex);
  const int slot = take_slot();
  if (slot < 0) {
    munmap(room, pages + 2 * guard);
    return nullptr;
  }
  Block& block = blocks[slot];
  block.room = room, block.room_size = pages + 2 * guard;
  block.pages = first, block.pages_size = pages;
  block.data = data, block.nbytes = nbytes, block.slack = slack_word;
  describe(block);
  live[data] = slot;
  block.state.store(kLive);
  return data;
}

void forget(int slot) {
  Block& block = blocks[slot];
  block.state.store(kUnused);
  munmap(block.room, block.room_size);
  unused_blocks.push_back(slot);
}

// Return false for memory that is not guarded.
bool free_guarded(void* data) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = live.find(data);
  if (found == live.end()) return false;
  const int slot = found->second;
  Block& block = blocks[slot];
  live.erase(found);
  if (!on) {
    forget(slot);
    return true;
  }
  examine(block, false);
  examine(block, true);
  block.state.store(kFreed);
  // Mapped anew: the memory goes back to the system, the addresses stay taken.
  mmap(block.pages, block.pages_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  kept.push_back(slot);
  if (kept.size() > kKept) {
    forget(kept.front());
    kept.pop_front();
  }
  return true;
}

}  // namespace


#include <c10/core/Allocator.h>

namespace {

struct GuardAllocator : c10::Allocator {
  static void release(void* data) {
    if (data != nullptr && !free_guarded(data)) before->raw_deallocate(data);
  }

  // Context and data are one and the same, as of the default allocator: what copies on write asks for that.
  c10::DataPtr allocate(size_t nbytes) override {
    const bool guarded = nbytes > 0 && on;
    void* data = guarded ? allocate_guarded(nbytes) : nullptr;
    if (nbytes > 0 && data == nullptr) {
      // Also while the guard is off: a tensor that outlived it is resized by the allocator that made it.
      data = before->raw_allocate(nbytes);
      if (guarded) ++missed;
    }
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return &release;
  }

  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }

  static c10::Allocator* before;
};
c10::Allocator* GuardAllocator::before = nullptr;
GuardAllocator& allocator = *new GuardAllocator;

}  // namespace

#define PUBLIC extern "C" __attribute__((visibility("default")))

// Return 0 where another allocator insists on its place.
PUBLIC int guard_start(int end, uint64_t contents, uint64_t slack, uint64_t align, const char* dtype, uint64_t itemsize) {
  c10::Allocator* const now = c10::GetAllocator(c10::DeviceType::CPU);
  if (on || now->raw_deleter() == nullptr) return 0;
  const std::lock_guard<std::mutex> lock(mutex);
  flush_with_end = end, contents_word = contents, slack_word = slack, alignment = align;
  copy_text(default_dtype, sizeof default_dtype, dtype);
  default_itemsize = itemsize;
  copy_text(default_name, sizeof default_name, "a tensor");
  expected.clear();
  damages.clear();
  missed = 0;
  GuardAllocator::before = now;
  on = true;
  c10::SetAllocator(c10::DeviceType::CPU, &allocator, 0);
  if (c10::GetAllocator(c10::DeviceType::CPU) == &allocator) return 1;
  on = false;
  return 0;
}

// Return how many tensors went without a guard.
PUBLIC int64_t guard_stop() {
  c10::SetAllocator(c10::DeviceType::CPU, GuardAllocator::before, 0);
  const std::lock_guard<std::mutex> lock(mutex);
  on = false;
  for (const int slot : kept) forget(slot);
  kept.clear();
  return missed;
}

// Alignment of what this thread allocates next; 0 for the usual one.
PUBLIC void guard_align(uint64_t align) {
  next_alignment = align;
}

// What tensors that nobody has named yet are called: by their size, if it tells something.
PUBLIC void guard_expect(const char* name, int64_t count, const uint64_t* nbytes, const char* const* names) {
  const std::lock_guard<std::mutex> lock(mutex);
  copy_text(default_name, sizeof default_name, name);
  expected.assign(count, {});
  for (int64_t i = 0; i < count; ++i) {
    expected[i].nbytes = nbytes[i];
    copy_text(expected[i].name, sizeof expected[i].name, names[i]);
  }
}

// Return 0 for memory that is not guarded.
PUBLIC int guard_name(void* data, const char* name, const char* dtype, uint64_t itemsize, int64_t ndim, const int64_t* shape) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = live.find(data);
  if (found == live.end()) return 0;
  Region& region = blocks[found->second].region;
  copy_text(region.name, sizeof region.name, name);
  copy_text(region.dtype, sizeof region.dtype, dtype);
  region.itemsize = itemsize;
  region.ndim = std::min<int64_t>(ndim, 8);
  std::copy_n(shape, region.ndim, region.shape);
  return 1;
}

PUBLIC int64_t guard_damages(Damage* found, int64_t capacity) {
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& [data, slot] : live) {
    examine(blocks[slot], false);
    examine(blocks[slot], true);
  }
  const int64_t count = std::min<int64_t>(capacity, damages.size());
  std::copy_n(damages.begin(), count, found);
  damages.clear();
  return count;
}

// For a signal handler. Return 1 when the address lies in a guarded tensor or in the pages around it.
PUBLIC int guard_find(uintptr_t address, Region* region) {
  const int count = used.load();
  for (int slot = 0; slot < count; ++slot) {
    const Block& block = blocks[slot];
    const int state = block.state.load();
    const auto first = reinterpret_cast<uintptr_t>(block.room);
    if (state == kUnused || address < first || address - first >= block.room_size) continue;
    *region = block.region;
    if (state == kFreed) {
      const char after[] = ", after it was freed";
      size_t length = 0;
      while (length < sizeof region->name - sizeof after && region->name[length]) ++length;
      for (size_t i = 0; i < sizeof after; ++i) region->name[length + i] = after[i];
    }
    return 1;
  }
  return 0;
}
