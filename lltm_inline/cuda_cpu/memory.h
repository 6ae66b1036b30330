// What check mode knows of memory: which tensor, variable or shared array lies where, and what threads have done to each four
// bytes.
#ifdef CUDA_CPU_CHECK

#include <atomic>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <vector>

#define CUDA_CPU_INLINE CUDA_CPU_PLAIN inline __attribute__((always_inline))

namespace cuda_cpu {
namespace CUDA_CPU_OURS {
// What nobody has written is full of these words: NaN in every type of floating point.
constexpr uint32_t kUnwritten = 0xffcbffcb;

enum class Kind : unsigned char { load, store, atomic, compare_and_swap };

struct Access {
  uint32_t time, block;
  uint32_t pc;                                // counted from where the library begins
  uint16_t thread : 10, bytes : 4, kind : 2;  // which of the four bytes of the cell
  uint16_t written : 4, is_all : 1;           // of the first one
  uint16_t changes : 1;                       // whether a store is known to have changed what was there,
  uint32_t old;                               // which was this
};

// What is known of four bytes as soon as one access does not say it all: the last store, the last atomic, and three loads of
// which none makes another one superfluous.
struct Past {
  Access stored, changed;
  Access reads[3];  // the last one; the last one of another thread of its warp; the last one of another warp
};

// What memory is: a tensor, of cudaMalloc, of malloc in a kernel, a __device__ variable, shared.
enum class Of : unsigned char { tensor, memory, heap, variable, shared };

struct Region {
  const char* begin;
  size_t bytes;
  std::string name;
  size_t element;
  Of of;
  std::vector<int64_t> sizes, strides;                                    // in elements, where they are known
  std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage = {};  // one that is gone is no region any more
  bool is_argument = false;  // of the function that was called: its name goes before others
  ptrdiff_t away = 0;        // how far from home it lies during a launch
  char letter = 0;           // the type of its elements, see kLetter

  const char* end() const {
    return begin + bytes;
  }
};

// Regions as accesses need them: those that overlap are one.
struct Spot {
  const char* begin;
  size_t bytes;
  Access* first;  // of each four bytes the first access, and of some more
  Past* past;
  bool shared, fresh;
};

// A store of the value that is there already is no race: the next step of the thread shows whether it was one.
struct Doubt {
  const char* address = nullptr;
  size_t bytes;
  unsigned char value[16];
  Access before, now;
};

// Memory that stays when a launch ends, to be used by the next one.
struct Pages {
  char* memory = nullptr;
  size_t bytes = 0;

  // Make it at least so large, at the given address if any; false where that cannot be.
  bool reach(size_t wanted, char* at = nullptr) {
    if (wanted <= bytes) return true;
    if (memory) munmap(memory, bytes);
    wanted = (wanted + 65535) / 65536 * 65536;
#ifdef MAP_FIXED_NOREPLACE
    const int fixed = at ? MAP_FIXED_NOREPLACE : 0;
#else
    const int fixed = 0;
#endif
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed;
    void* const got = mmap(at, wanted, PROT_READ | PROT_WRITE, flags, -1, 0);
    memory = got == MAP_FAILED ? nullptr : static_cast<char*>(got);
    bytes = memory ? wanted : 0;
    if (!at || memory == at) return memory != nullptr;
    if (memory) munmap(memory, bytes);
    memory = nullptr;
    bytes = 0;
    return false;
  }
};

// Of a block: when a fence was last passed, when it was published by an atomic, whether it has asked others.
struct Order {
  uint32_t fenced, published;
  bool asked;
};

// A tensor of at::empty, and what its name is.
struct Fresh {
  const char* begin;
  size_t bytes, element;
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  std::string name;
};

// The tensors of a launch lie so far apart that an index that is wrong by less than half of it still tells whose it is.
constexpr uintptr_t kFirstRoom = uintptr_t(1) << 45, kRoom = uintptr_t(1) << 36, kRooms = 512;

struct Checks {
  uint32_t time = 1, launched = 0;
  Doubt doubt;
  static constexpr size_t kSites = 1024;
  const Spot* sites[kSites];  // what a place in the code has last met
  Order* orders;
  const char *stack_low, *stack_high, *image_low = nullptr, *image_high;
  Spot* spots_begin;
  Spot* spots_end;
  std::vector<Spot> spots;
  std::vector<Region> regions, freed;  // and those that were freed since the function was called
  std::vector<Pages> firsts, pasts, rooms;
  Pages order_pages;
  std::vector<Fresh> fresh;
  unsigned calls = 0;    // functions of the text that run
  std::string launch;    // the last one, for messages
  uint64_t threads = 0;  // of it
  bool is_dynamic_named;

  ~Checks() {
    for (auto* all : {&firsts, &pasts, &rooms}) {
      for (const Pages& one : *all) munmap(one.memory, one.bytes);
    }
    munmap(order_pages.memory, order_pages.bytes);
  }
};

Checks& checks() {
  static thread_local Checks all;
  return all;
}

CUDA_CPU_PLAIN uint32_t next_time() {
  return ++Block::here().checks->time;
}

// What the text declares at file scope: shared arrays, told of at the beginning of each block, and variables.
struct OfFile {
  std::vector<void (*)()> shared;
  std::vector<Region> variables;

  static OfFile& here() {
    static OfFile all;
    return all;
  }
};

CUDA_CPU_INLINE bool within(const char* address, const char* low, const char* high) {
  return low <= address && address < high;
}

// The region with the name that a launch knows: the last one.
const Region* region_at(const char* address, size_t bytes) {
  const auto& regions = checks().regions;
  for (size_t i = regions.size(); i-- > 0;) {
    if (regions[i].begin <= address && address + bytes <= regions[i].end()) return &regions[i];
  }
  return nullptr;
}

const Region* freed_at(const char* address) {
  const auto& freed = checks().freed;
  const auto found = std::find_if(
      freed.rbegin(), freed.rend(), [&](const Region& one) { return one.begin <= address && address < one.end(); });
  return found == freed.rend() ? nullptr : &*found;
}

// The lists are short, and std::sort takes much longer to compile.
template <class T, class F>
void insert_sorted(std::vector<T>& sorted, T one, const F& goes_before) {
  sorted.push_back(one);
  for (size_t i = sorted.size() - 1; i && goes_before(one, sorted[i - 1]); --i) std::swap(sorted[i], sorted[i - 1]);
}

// Those that are wanted, in the order in which they lie.
std::vector<const Region*> in_order(bool (*is_wanted)(const Region&)) {
  std::vector<const Region*> sorted;
  for (const Region& one : checks().regions) {
    if (is_wanted(one)) insert_sorted(sorted, &one, [](auto* a, auto* b) { return a->begin < b->begin; });
  }
  return sorted;
}

int64_t number_at(const Region& region, const char* address) {
  const int64_t bytes = address - region.begin, element = int64_t(region.element);
  return bytes / element - (bytes % element < 0);
}

// The index of an element on each axis; of what has no shape, or several indices, its number.
std::vector<int64_t> index_of(const Region& region, const char* address) {
  const int64_t flat = number_at(region, address);
  const auto &sizes = region.sizes, &strides = region.strides;
  std::vector<size_t> axes;  // the widest stride first
  for (size_t i = 0; i < sizes.size(); ++i) {
    insert_sorted(
        axes, i, [&](size_t a, size_t b) { return strides[a] != strides[b] ? strides[a] > strides[b] : sizes[a] > sizes[b]; });
  }
  std::vector<int64_t> index(axes.size());
  int64_t rest = flat;
  bool has_axes = axes.size() > 1 && flat >= 0;
  for (size_t i = 0; i < axes.size() && has_axes; ++i) {
    const size_t axis = axes[i];
    const int64_t stride = strides[axis];
    // Elements that lie in one place have no one index.
    if (stride <= 0 || (i + 1 < axes.size() && strides[axes[i + 1]] * sizes[axes[i + 1]] > stride)) has_axes = false;
    if (!has_axes) break;
    index[axis] = rest / stride;
    rest %= stride;
  }
  if (has_axes && !rest) return index;
  return {flat};
}

// "x[2][0] (element 10)"; without a shape "x[10]".
std::string element_at(const Region& region, const char* address) {
  const std::vector<int64_t> index = index_of(region, address);
  std::string text = region.name;
  for (const int64_t i : index) text += "[" + std::to_string(i) + "]";
  return index.size() > 1 ? text + " (element " + std::to_string(number_at(region, address)) + ")" : text;
}

std::string element_at(const char* address, size_t bytes) {
  const Region* const region = region_at(address, bytes);
  return region ? element_at(*region, address) : "memory";
}

// "x has 2x5 elements"
std::string size_of(const Region& region) {
  std::string text;
  for (const int64_t size : region.sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  if (text.empty()) text = std::to_string(region.bytes / region.element);
  const bool is_dynamic = region.begin == dynamic_shared();
  return (region.of == Of::shared ? (is_dynamic ? "dynamic shared array " : "shared array ") : "") + region.name + " has " +
         text +
         (region.element == 1 ? " bytes"
          : text == "1"       ? " element"
                              : " elements");
}

const Region* nearest_to(const char* address, size_t bytes) {
  const bool is_apart = within(address, (const char*)(kFirstRoom - kRoom / 2), (const char*)(kFirstRoom + kRoom * kRooms));
  size_t distance = is_apart ? kRoom / 2 : 1 << 16;
  const Region* nearest = nullptr;
  for (const Region& one : checks().regions) {
    const size_t away = address < one.begin ? one.begin - address : address + bytes - one.end();
    if (away >= distance) continue;
    distance = away;
    nearest = &one;
  }
  return nearest;
}

// Find what lies at an address that the place in the code has not met last. Null where that needs no check.
CUDA_CPU_PLAIN const Spot* spot_at(const char* address, size_t bytes, const void* pc, Checks& all) {
  const Spot* const first = all.spots_begin;
  for (const Spot* one = first; one < all.spots_end; ++one) {
    if (size_t(address - one->begin) < one->bytes && one->bytes - size_t(address - one->begin) >= bytes) {
      return all.sites[uintptr_t(pc) / 2 % Checks::kSites] = one;
    }
  }
  return nullptr;
}

bool is_fresh(const Region& region) {
  if (region.of == Of::memory || region.of == Of::heap) return true;
  const char* const home = region.begin - region.away;
  for (const Fresh& one : checks().fresh) {
    if (home < one.begin + one.bytes && one.begin < home + region.bytes) return true;
  }
  return false;
}

CUDA_CPU_PLAIN void spots_have_moved() {
  static constexpr Spot kNothing{nullptr, 0, nullptr, nullptr, false, false};
  Checks& all = checks();
  for (const Spot*& site : all.sites) site = &kNothing;
  all.spots_begin = all.spots.data();
  all.spots_end = all.spots_begin + all.spots.size();
}

// Each spot has a part of the memory that holds what is known of it, the same one as long as the launch lasts.
void add_spot(const Region& region) {
  Checks& all = checks();
  size_t i = 0;
  while (i < all.spots.size() && all.spots[i].bytes) ++i;
  if (i == all.firsts.size()) all.firsts.emplace_back(), all.pasts.emplace_back();
  Pages &first = all.firsts[i], &past = all.pasts[i];
  const size_t cells = region.bytes / 4 + 2;
  if (i < all.spots.size()) std::memset(first.memory, 0, std::min(first.bytes, cells * sizeof(Access)));  // of what was freed
  if (i == all.spots.size()) all.spots.emplace_back();
  if (!first.reach(cells * sizeof(Access)) || !past.reach(cells * sizeof(Past))) throw std::bad_alloc();
  all.spots[i] = {
      region.begin,
      region.bytes,
      reinterpret_cast<Access*>(first.memory),
      reinterpret_cast<Past*>(past.memory),
      region.of == Of::shared,
      is_fresh(region)};
  spots_have_moved();
}

void gather_spots() {
  Checks& all = checks();
  all.spots.clear();
  const auto sorted = in_order([](const Region& one) { return one.bytes > 0; });
  for (size_t i = 0; i < sorted.size();) {
    Region whole = *sorted[i];
    bool fresh = is_fresh(whole);
    while (++i < sorted.size() && sorted[i]->begin < whole.end()) {
      whole.bytes = std::max(whole.bytes, size_t(sorted[i]->end() - whole.begin));
      fresh |= is_fresh(*sorted[i]);
    }
    add_spot(whole);
    all.spots.back().fresh = fresh;
  }
  spots_have_moved();
}

template <class Predicate>
void forget_if(const Predicate& is_gone) {
  Checks& all = checks();
  const auto is_freed = [](const Region& one) { return one.storage && one.storage->expired(); };
  std::copy_if(all.regions.begin(), all.regions.end(), std::back_inserter(all.freed), is_freed);
  std::erase_if(all.regions, [&](const Region& one) { return is_freed(one) || is_gone(one); });
}

void remember(Region region) {
  bool is_known = false;
  forget_if([&](const Region& one) {
    if (one.begin != region.begin || one.bytes != region.bytes) return false;
    is_known |= one.is_argument;
    return !one.is_argument;
  });
  if (!is_known) checks().regions.push_back(std::move(region));
}

CUDA_CPU_PLAIN void fill_unwritten(void* begin, size_t bytes) {
  char* const at = static_cast<char*>(begin);
  for (size_t i = 0; i < bytes; i += 4) __builtin_memcpy(at + i, &kUnwritten, bytes - i < 4 ? bytes - i : 4);
}

CUDA_CPU_PLAIN bool is_unwritten(const char* begin, size_t from, size_t bytes) {
  if ((from | bytes) % 4 == 0) {
    uint32_t word = kUnwritten;
    for (size_t i = from; i < from + bytes && word == kUnwritten; i += 4) __builtin_memcpy(&word, begin + i, 4);
    return word == kUnwritten;
  }
  for (size_t i = from; i < from + bytes; ++i) {
    if ((unsigned char)begin[i] != (kUnwritten >> 8 * (i % 4) & 255)) return false;
  }
  return true;
}

void remember_allocation(void* begin, size_t bytes, size_t element, bool of_kernel) {
  fill_unwritten(begin, bytes);
  const char* const name = of_kernel ? "memory of malloc" : "memory of cudaMalloc";
  remember({static_cast<const char*>(begin), bytes, name, element, of_kernel ? Of::heap : Of::memory, {}, {}});
  if (of_kernel) add_spot(checks().regions.back());
}

void forget_allocation(void* begin) {
  forget_if([&](const Region& one) {
    if (one.begin == begin) checks().freed.push_back(one);
    return one.begin == begin;
  });
  for (Spot& one : checks().spots) {
    if (one.begin == begin) one.bytes = 0;
  }
}

void mix_memory(uint64_t& hash) {
  for (const Spot& one : checks().spots) {
    const size_t words = one.bytes / 8 * 8;
    mix(hash, one.begin, one.begin + words);
    uint64_t rest = 0;
    std::memcpy(&rest, one.begin + words, one.bytes - words);
    mix(hash, reinterpret_cast<const char*>(&rest), reinterpret_cast<const char*>(&rest + 1));
  }
}

// While a kernel runs, the tensors that its arguments point to lie in copies that are far apart: an index that is far outside
// of one of them does not meet another. A launch whose kernel may find pointers elsewhere leaves all in its place.
void Apart::move(std::initializer_list<Argument> arguments) {
  constexpr uintptr_t kNear = 4096;  // x - 1 points to x
  Checks& all = checks();
  all.stack_low = all.stack_high = arguments.begin()->bytes;
  for (const Argument& one : arguments) {
    all.stack_low = std::min<const char*>(all.stack_low, one.bytes);
    all.stack_high = std::max<const char*>(all.stack_high, one.bytes + one.size);
  }
  struct Range {
    char *begin, *end;
    bool is_wanted;
  };
  std::vector<Range> ranges;
  forget_if([](const Region&) { return false; });
  for (const Region* one : in_order([](const Region& one) { return one.of == Of::tensor || one.of == Of::memory; })) {
    if (!ranges.empty() && one->begin <= ranges.back().end) {
      ranges.back().end = std::max(ranges.back().end, const_cast<char*>(one->end()));
    } else {
      ranges.push_back({const_cast<char*>(one->begin), const_cast<char*>(one->end()), false});
    }
  }
  const auto range_of = [&](uintptr_t word) CUDA_CPU_PLAIN -> Range* {
    Range* nearest = nullptr;
    uintptr_t distance = kNear;
    for (Range& one : ranges) {
      const uintptr_t begin = uintptr_t(one.begin), end = uintptr_t(one.end);
      const uintptr_t away = word < begin ? begin - word : (word < end ? 0 : word - end + 1);
      if (away < distance) distance = away, nearest = &one;
    }
    return distance > 0 && freed_at(reinterpret_cast<const char*>(word)) ? nullptr : nearest;
  };
  const auto each_word = [](char* bytes, size_t size, const auto& visit) CUDA_CPU_PLAIN {
    char* const first = bytes + (8 - uintptr_t(bytes) % 8) % 8;
    for (char* at = first; at + 8 <= bytes + size; at += 8) {
      uintptr_t word;
      __builtin_memcpy(&word, at, 8);
      visit(at, word);
    }
  };
  if (ranges.empty()) return;
  bool is_pointed_to = false;
  const uintptr_t lowest = uintptr_t(ranges.front().begin), highest = uintptr_t(ranges.back().end);
  const auto look = [&](char*, uintptr_t word) CUDA_CPU_PLAIN {
    if (lowest <= word && word < highest && !is_pointed_to) is_pointed_to = range_of(word) != nullptr;
  };
  for (const Range& one : ranges) each_word(one.begin, one.end - one.begin, look);
  for (const Region& one : OfFile::here().variables) each_word(const_cast<char*>(one.begin), one.bytes, look);
  if (is_pointed_to) return;
  for (const Argument& one : arguments) {
    each_word(one.bytes, one.size, [&](char*, uintptr_t word) {
      if (Range* const range = range_of(word)) range->is_wanted = true;
    });
  }
  static std::atomic<uintptr_t> next_room{0};
  for (Range& range : ranges) {
    if (!range.is_wanted) continue;
    const size_t bytes = range.end - range.begin, shift = uintptr_t(range.begin) % 4096;
    const size_t number = moved_.size();
    if (number == all.rooms.size()) all.rooms.emplace_back();
    Pages& room = all.rooms[number];
    while (room.bytes < bytes + shift && next_room < kRooms) {
      room.reach(bytes + shift, reinterpret_cast<char*>(kFirstRoom + next_room++ * kRoom));
    }
    if (room.bytes < bytes + shift) {
      range.is_wanted = false;  // there is no room: it stays
      all.rooms.pop_back();
      continue;
    }
    moved_.push_back({range.begin, room.memory + shift, bytes});
    std::memcpy(moved_.back().away, range.begin, bytes);
    for (Region& one : all.regions) {
      if (one.of != Of::tensor && one.of != Of::memory) continue;
      if (one.away || !within(one.begin, range.begin, range.end)) continue;
      one.away = moved_.back().away - range.begin;
      one.begin += one.away;
    }
  }
  for (const Argument& one : arguments) {
    each_word(one.bytes, one.size, [&](char* at, uintptr_t word) {
      const Range* const range = range_of(word);
      for (const Moved& moved : moved_) {
        if (!range || range->begin != moved.home) continue;
        word += moved.away - moved.home;
        std::memcpy(at, &word, 8);
      }
    });
  }
}

Apart::~Apart() {
  for (const Moved& one : moved_) {
    if (std::memcmp(one.home, one.away, one.bytes) != 0) std::memcpy(one.home, one.away, one.bytes);
  }
  for (Region& one : checks().regions) {
    one.begin -= one.away;
    one.away = 0;
  }
}

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu
#endif
