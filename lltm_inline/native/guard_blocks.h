// The guard's blocks: memory between pages that nobody may touch, and what became of the slack beside the data.

#include "region.h"

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
// Told of each block that is given to a tensor, or taken away: room, data, what they hold, and which of both.
using Listener = void(char* room, size_t room_size, char* data, size_t nbytes, uint64_t contents, int made);
Listener* listener = nullptr;
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
  // Of what the text has made for itself only the size is known, be it a double for sums of floats.
  const bool fits = same != expected.end() && block.nbytes % default_itemsize == 0;
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
  if (listener) listener(first, pages, data, nbytes, contents_word, true);
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
  if (listener) listener(block.pages, block.pages_size, block.data, block.nbytes, 0, false);
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
