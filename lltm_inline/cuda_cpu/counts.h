// Counts: what the warps of a launch ask of the memory. The text is compiled as it is written, in check mode; only what stands
// here is optimised.
//
// On a GPU the lanes of a warp do one thing at a time; here each runs alone, from one barrier to the next. So accesses of
// several lanes are put together that are made at the same moment: at the same instruction, by way of the same calls, in the
// same iteration of every loop around it. That is where lanes that have gone different ways meet again on a GPU, too.
#ifdef CUDA_CPU_COUNT
#include <dlfcn.h>

#include <array>
#include <unordered_map>

namespace cuda_cpu {
namespace CUDA_CPU_OURS {
constexpr size_t kSector = 32, kBanks = 32, kWord = 4;
#ifdef CUDA_CPU_LAB  // of most launches nobody wants to know
bool is_counting = false;
bool asked_to_count();
#else
constexpr bool is_counting = true;
#endif

CUDA_CPU_PLAIN inline uint64_t joined(uint64_t all, uint64_t one) {
  all = (all ^ one) * 0x9e3779b97f4a7c15u;
  return all ^ all >> 29;
}

CUDA_CPU_PLAIN inline uint64_t number_of(const void* address) {
  return reinterpret_cast<uintptr_t>(address);
}

// A branch back to `head` begins another iteration. What lies behind `tail` is not in the loop.
struct Loop {
  const char *head, *tail;
  uint64_t iteration;
  bool is_inside;
};

// A function that a lane is in.
struct Entry {
  const char* from;
  uint64_t place, begun;        // by way of which calls; and in which iterations of the loops around them
  uint64_t moment;              // `begun`, and the iterations of its own loops
  const char* block = nullptr;  // of code, the last one that it has come to
  const char* compared = nullptr;
  std::vector<Loop> loops;
};

// A place in the text where one thing is done.
struct Site {
  std::vector<const char*> calls;  // the innermost last
  std::string array, what;
  size_t width = 0;
  uint64_t times = 0, accesses = 0, transactions = 0, least = 0;
  uint64_t worst = 0;                          // transactions of the request that needed most
  std::array<int64_t, kWarp> lanes{};          // and which byte of the array each lane wanted there, or -1
  std::unordered_map<uintptr_t, uint64_t> at;  // of atomics: how many at each address
  uint64_t seen = 0;                           // by threads that are traced, also beyond what there is room for
};

// What the lanes of a warp ask for at one moment.
struct Request {
  size_t site;
  const char* begin;
  std::array<const char*, kWarp> lanes{};
};

struct Fork {
  const char* to;
  bool is_divergent = false;
};

// What a thread that is traced has loaded, what its atomic has found, or what its store has left.
struct Traced {
  size_t site;
  uint3 block, thread;
  std::vector<int64_t> index, sizes;  // in its array, and of that
  char letter;                        // see kLetter
  const char* address;
  std::string value;
};

// Which threads of which blocks are traced: x, y and z, or a number and -1; -1 alone stands for all. At each site so many
// times.
struct Wanted {
  std::array<int64_t, 3> block, thread;
  uint64_t most = 0;
};

struct Counted {
  std::string kernel;
  int line;
  dim3 grid, block;
  size_t shared;
  uint64_t barriers = 0;
  std::vector<Site> sites;
  std::vector<Traced> traced;
};

struct Counts {
  std::vector<Counted> launches;
  std::unordered_map<uint64_t, size_t> sites;  // of the last launch, by place and what is done
  Wanted wanted;
  bool is_open = false;  // the last one that is traced is a store, and about to be made
  // Of the block that runs.
  const Block* block = nullptr;
  uint32_t begun = 0;
  std::vector<std::vector<Entry>> threads;
  std::vector<Request> requests;
  std::unordered_map<uint64_t, size_t> request_at;
  std::unordered_map<uint64_t, Fork> forks;
};

Counts& counts() {
  static Counts all;
  return all;
}

Site& site_of(const std::vector<Entry>& calls, const char* pc, const Region* region, const char* what, size_t width) {
  Counts& all = counts();
  const uint64_t place = joined(calls.empty() ? 0 : calls.back().place, number_of(pc));
  const char* const begin = region && region->of != Of::heap ? region->begin : nullptr;
  const uint64_t key = joined(joined(place, number_of(begin)), number_of(what) + width);
  std::vector<Site>& sites = all.launches.back().sites;
  const auto [found, is_new] = all.sites.try_emplace(key, sites.size());
  if (is_new) {
    Site site;
    for (const Entry& call : calls) site.calls.push_back(call.from);
    site.calls.push_back(pc);
    site.array = region ? region->name : width ? "memory" : "";
    site.what = what;
    site.width = width;
    site.lanes.fill(-1);
    sites.push_back(std::move(site));
  }
  return sites[found->second];
}

// What some lanes want, in order, each place once for each lane that wants it.
std::vector<uintptr_t> wanted_by(const Request& request, size_t first = 0, size_t lanes = kWarp) {
  std::vector<uintptr_t> all;
  for (size_t lane = first; lane < first + lanes; ++lane) {
    if (request.lanes[lane]) all.push_back(number_of(request.lanes[lane]));
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Global memory moves in sectors of 32 bytes.
void count_sectors(const Request& request, const Site& site, uint64_t& transactions, uint64_t& least) {
  uintptr_t bytes = 0, counted = 0, sector = 0;  // up to which both are counted
  for (const uintptr_t begin : wanted_by(request)) {
    const uintptr_t end = begin + site.width, behind = (end - 1) / kSector + 1;
    bytes += end - std::max(begin, counted);
    transactions += behind - std::max(begin / kSector, sector);
    counted = end;
    sector = behind;
  }
  least = (bytes + kSector - 1) / kSector;
}

// Shared memory gives a word of each of its 32 banks at a time, to any number of lanes. Lanes that want 8 bytes are served in
// halves of a warp, for 16 bytes in quarters.
void count_passes(const Request& request, const Site& site, uint64_t& transactions, uint64_t& least) {
  const size_t lanes = site.width <= kWord ? kWarp : site.width <= 2 * kWord ? kWarp / 2 : kWarp / 4;
  for (size_t first = 0; first < kWarp; first += lanes) {
    std::array<size_t, kBanks> words{};  // that each bank has to give
    size_t counted = 0, most = 0;
    for (const uintptr_t at : wanted_by(request, first, lanes)) {
      const size_t begin = at - number_of(request.begin), behind = (begin + site.width - 1) / kWord + 1;
      for (size_t word = std::max(begin / kWord, counted); word < behind; ++word) {
        most = std::max(most, ++words[word % kBanks]);
      }
      counted = behind;
    }
    transactions += most;
    least += most > 0;
  }
}

// Of atomics at one address, one is done after the other.
void count_turns(const Request& request, Site& site, uint64_t& transactions, uint64_t& least) {
  uint64_t here = 0;
  uintptr_t last = 0;
  for (const uintptr_t at : wanted_by(request)) {
    here = at == last ? here + 1 : 1;
    last = at;
    transactions = std::max(transactions, here);
    ++site.at[at];
  }
  least = 1;
}

bool is_wanted(const std::array<int64_t, 3>& wanted, uint64_t number, uint3 at) {
  if (wanted[1] < 0) return wanted[0] < 0 || uint64_t(wanted[0]) == number;
  return wanted[0] == at.x && wanted[1] == at.y && wanted[2] == at.z;
}

void trace_access(const Lane& self, size_t site, const Region* region, const char* address, size_t bytes, Kind kind) {
  Counts& all = counts();
  if (!is_wanted(all.wanted.thread, self.index, self.thread)) return;
  if (!is_wanted(all.wanted.block, self.block->number, self.block->index)) return;
  Counted& launch = all.launches.back();
  if (launch.sites[site].seen++ >= all.wanted.most) return;
  Traced one{site, self.block->index, self.thread, {}, {}, 0, address, std::string(address, bytes)};
  if (region) {
    one.index = index_of(*region, address);
    if (one.index.size() == region->sizes.size()) one.sizes = region->sizes;
    one.letter = region->letter;
  }
  launch.traced.push_back(std::move(one));
  all.is_open = kind == Kind::store;
}

// A store is told of before it is made: what it has left is read at whatever its thread does next.
void end_traced() {
  Counts& all = counts();
  if (!std::exchange(all.is_open, false)) return;
  Traced& last = all.launches.back().traced.back();
  last.value.assign(last.address, last.value.size());
}

void finish_block() {
  Counts& all = counts();
  all.is_open = false;  // of a launch that has failed
  if (!all.block) return;
  Counted& launch = all.launches.back();
  launch.barriers += all.block->met - all.begun;
  for (const Request& request : all.requests) {
    Site& site = launch.sites[request.site];
    uint64_t transactions = 0, least = 0;
    (site.what.ends_with("atomic")     ? count_turns(request, site, transactions, least)
     : site.what.starts_with("shared") ? count_passes(request, site, transactions, least)
                                       : count_sectors(request, site, transactions, least));
    ++site.times;
    site.accesses += kWarp - std::count(request.lanes.begin(), request.lanes.end(), nullptr);
    site.transactions += transactions;
    site.least += least;
    if (transactions <= site.worst) continue;
    site.worst = transactions;
    for (size_t i = 0; i < kWarp; ++i) site.lanes[i] = request.lanes[i] ? request.lanes[i] - request.begin : -1;
  }
  all.block = nullptr;
  all.requests.clear();
  all.request_at.clear();
  all.forks.clear();
}

void count_launch(const Launch& launch) {
#ifdef CUDA_CPU_LAB
  is_counting = asked_to_count();
#endif
  Counts& all = counts();
  finish_block();
  all.sites.clear();
  all.launches.push_back({launch.kernel, launch.line, launch.grid, launch.block, launch.shared});
}

void count_block(const Block& block) {
  if (!is_counting) return;
  Counts& all = counts();
  finish_block();
  all.block = &block;
  all.begun = block.met;
  all.threads.assign(kMostThreads, {});
}

// A thread waits or ends.
CUDA_CPU_PLAIN void count_wait() {
  if (!lane || !is_counting) return;
  const OffDevice off;
  end_traced();
}

CUDA_CPU_PLAIN void count_call(const char* from) {
  if (!lane || !is_counting) return;
  const OffDevice off;
  end_traced();
  std::vector<Entry>& calls = counts().threads[off.self->index];
  const uint64_t place = calls.empty() ? 0 : calls.back().place, moment = calls.empty() ? 0 : calls.back().moment;
  const uint64_t begun = joined(moment, number_of(from));
  calls.push_back({from, joined(place, number_of(from)), begun, begun});
}

CUDA_CPU_PLAIN void count_return() {
  if (!lane || !is_counting) return;
  const OffDevice off;
  end_traced();
  std::vector<Entry>& calls = counts().threads[off.self->index];
  if (!calls.empty()) calls.pop_back();
}

// A condition, which may be that of a branch.
CUDA_CPU_PLAIN void count_comparison(const char* pc) {
  if (!lane || !is_counting) return;
  const OffDevice off;
  std::vector<Entry>& calls = counts().threads[off.self->index];
  if (!calls.empty()) calls.back().compared = pc;
}

// A lane has come to a block of code.
CUDA_CPU_PLAIN void count_step(const char* to) {
  if (!lane || !is_counting) return;
  const OffDevice off;
  end_traced();
  Counts& all = counts();
  std::vector<Entry>& calls = all.threads[off.self->index];
  if (calls.empty()) return;
  Entry& call = calls.back();
  const char* const from = call.block;
  if (from) {
    const uint64_t here = joined(joined(call.moment, number_of(from)), off.self->index / kWarp);
    const auto [fork, is_first] = all.forks.try_emplace(here, Fork{to});
    if (!is_first && fork->second.to != to && !fork->second.is_divergent) {
      fork->second.is_divergent = true;
      Site& site = site_of(calls, call.compared ? call.compared : from, nullptr, "divergent branch", 0);
      ++site.times;
    }
    std::vector<Loop>& loops = call.loops;
    if (to <= from) {
      while (!loops.empty() && loops.back().head > to) loops.pop_back();
      if (loops.empty() || loops.back().head != to) loops.push_back({to, from, 0, true});
      loops.back().tail = std::max(loops.back().tail, from);
      ++loops.back().iteration;
    }
    call.moment = call.begun;
    for (Loop& loop : loops) {
      loop.is_inside = to <= loop.tail;
      if (loop.is_inside) call.moment = joined(joined(call.moment, number_of(loop.head)), loop.iteration);
    }
  }
  call.block = to;
  call.compared = nullptr;
}

const char* const kWhats[2][3] = {
    {"global load", "global store", "global atomic"}, {"shared load", "shared store", "shared atomic"}};

CUDA_CPU_PLAIN void count_access(const char* address, size_t bytes, Kind kind, const char* pc) {
  if (!is_counting) return;
  const OffDevice off;
  end_traced();
  const Lane& self = *off.self;
  Counts& all = counts();
  const Region* const region = region_at(address, bytes);
  const bool shared = region && region->of == Of::shared;
  const char* const begin = region ? region->begin : address - number_of(address) % kSector;
  const std::vector<Entry>& calls = all.threads[self.index];
  const char* const what = kWhats[shared][std::min(int(kind), 2)];
  const Site& site = site_of(calls, pc, region, what, bytes);
  const size_t number = &site - all.launches.back().sites.data();
  if (all.wanted.most) trace_access(self, number, region, address, bytes, kind);
  uint64_t key = joined(calls.empty() ? 0 : calls.back().moment, number * kMostThreads + self.index / kWarp);
  for (;;) {
    const auto [found, is_new] = all.request_at.try_emplace(key, all.requests.size());
    if (is_new) all.requests.push_back({number, begin});
    const char*& wanted = all.requests[found->second].lanes[self.in_warp()];
    if (!wanted) {
      wanted = address;
      return;
    }
    key = joined(key, 1);  // a lane that comes again at the same moment: where code jumps back by `goto`
  }
}

std::string quoted(const std::string& text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all + '"';
}

template <class Values, class F>
std::string listed(const Values& values, const F& shown) {
  std::string all;
  for (const auto& value : values) all += (all.empty() ? "" : ", ") + shown(value);
  return "[" + all + "]";
}

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu

// Trace from now on: at most so many accesses of each site, none with 0; see `Wanted`.
extern "C" __attribute__((visibility("default"))) void cuda_cpu_trace(
    int64_t most, int64_t bx, int64_t by, int64_t bz, int64_t tx, int64_t ty, int64_t tz) {
  cuda_cpu::counts().wanted = {{bx, by, bz}, {tx, ty, tz}, uint64_t(most)};
}

// What was counted and traced since the last call, as JSON. Places of code are offsets in this library.
extern "C" __attribute__((visibility("default"))) const char* cuda_cpu_counts() {
  using namespace cuda_cpu;
  static std::string text;
  finish_block();
  Dl_info library{};
  dladdr(reinterpret_cast<const void*>(&cuda_cpu_counts), &library);
  const auto offset = [&](const char* pc) { return std::to_string(pc - static_cast<const char*>(library.dli_fbase) - 1); };
  const auto number = [](auto value) { return std::to_string(value); };
  const auto sizes = [&](const dim3& v) { return listed(std::array<unsigned, 3>{v.x, v.y, v.z}, number); };
  const auto site = [&](const Site& one) {
    uint64_t most = 0;
    for (const auto& [_, times] : one.at) most = std::max(most, times);
    return "{\"calls\": " + listed(one.calls, offset) + ", \"what\": " + quoted(one.what) +
           ", \"array\": " + quoted(one.array) + ", \"width\": " + number(one.width) + ", \"times\": " + number(one.times) +
           ", \"accesses\": " + number(one.accesses) + ", \"transactions\": " + number(one.transactions) +
           ", \"least\": " + number(one.least) + ", \"worst\": " + number(one.worst) + ", \"most\": " + number(most) +
           ", \"seen\": " + number(one.seen) + ", \"lanes\": " + listed(one.lanes, number) + "}";
  };
  const auto traced = [&](const Traced& one) {
    std::string value;
    for (const unsigned char byte : one.value) (value += "0123456789abcdef"[byte / 16]) += "0123456789abcdef"[byte % 16];
    // Not by its name alone: there may be std::quoted as well.
    return "[" + number(one.site) + ", " + sizes(one.block) + ", " + sizes(one.thread) + ", " + listed(one.index, number) +
           ", " + listed(one.sizes, number) + ", " + cuda_cpu::quoted(std::string(one.letter != 0, one.letter)) + ", " +
           cuda_cpu::quoted(value) + "]";
  };
  text = listed(counts().launches, [&](const Counted& one) {
    return "{\"kernel\": " + quoted(one.kernel) + ", \"line\": " + number(one.line) + ", \"grid\": " + sizes(one.grid) +
           ", \"block\": " + sizes(one.block) + ", \"shared\": " + number(one.shared) +
           ", \"barriers\": " + number(one.barriers) + ", \"sites\": " + listed(one.sites, site) +
           ", \"traced\": " + listed(one.traced, traced) + "}";
  });
  counts().launches.clear();
  return text.c_str();
}

#define CUDA_CPU_COMPARES_(name, T)                                                                                       \
  extern "C" __attribute__((visibility(CUDA_CPU_SEEN), noinline, used)) CUDA_CPU_PLAIN void __sanitizer_cov_trace_##name( \
      T, T) {                                                                                                             \
    cuda_cpu::count_comparison(static_cast<const char*>(__builtin_return_address(0)));                                    \
  }
CUDA_CPU_COMPARES_(cmp1, uint8_t)
CUDA_CPU_COMPARES_(cmp2, uint16_t)
CUDA_CPU_COMPARES_(cmp4, uint32_t)
CUDA_CPU_COMPARES_(cmp8, uint64_t)
CUDA_CPU_COMPARES_(const_cmp1, uint8_t)
CUDA_CPU_COMPARES_(const_cmp2, uint16_t)
CUDA_CPU_COMPARES_(const_cmp4, uint32_t)
CUDA_CPU_COMPARES_(const_cmp8, uint64_t)
CUDA_CPU_COMPARES_(cmpf, float)
CUDA_CPU_COMPARES_(cmpd, double)
extern "C" __attribute__((visibility(CUDA_CPU_SEEN), noinline, used)) CUDA_CPU_PLAIN void __sanitizer_cov_trace_switch(
    uint64_t, void*) {
  cuda_cpu::count_comparison(static_cast<const char*>(__builtin_return_address(0)));
}
#undef CUDA_CPU_COMPARES_
#elif defined(CUDA_CPU_CHECK)
namespace cuda_cpu {
namespace CUDA_CPU_OURS {
inline void count_launch(const Launch&) {}
inline void count_block(const Block&) {}
CUDA_CPU_PLAIN inline void count_wait() {}
CUDA_CPU_PLAIN inline void count_call(const char*) {}
CUDA_CPU_PLAIN inline void count_return() {}
CUDA_CPU_PLAIN inline void count_step(const char*) {}
CUDA_CPU_PLAIN inline void count_access(const char*, size_t, Kind, const char*) {}
}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu
#endif
