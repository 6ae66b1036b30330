// What threads load and store, access after access, for `li.trace`: only while somebody has asked for it.

#include <vector>

namespace {

// A place of the code, and one access that it made; `layout.py` has the same structures.
struct Site {
  uint64_t callers[8];  // offsets in this library, the innermost first; 0 where there are no more
  uint64_t seen;        // how often it was come by
};
struct Traced {
  uint64_t address, subscript;  // the number of the subscript that is of just this element, from 1; 0 where there is none
  int64_t index;                // what that is
  uint32_t site, kind, thread, bytes;
  uint64_t base;            // of what the text has allocated; 0 for a tensor
  unsigned char value[16];  // what was loaded, or what an atomic found; of a store what it has left
  char letter;              // the type of what that subscript is of, as Python's `struct` has it; 0 where it is not known
};

size_t most_traced = 0;      // of each site; 0: nobody has asked
int64_t traced_thread = -1;  // -1: all
std::vector<Site>& traced_sites = *new std::vector<Site>;
std::vector<Traced>& traced = *new std::vector<Traced>;
std::unordered_map<const void*, uint32_t>& site_numbers = *new std::unordered_map<const void*, uint32_t>;
bool is_storing = false;  // the last one is a store, whose value is not there yet

void keep_value(Traced& one) {
  std::memcpy(one.value, reinterpret_cast<const void*>(one.address), std::min<size_t>(one.bytes, sizeof one.value));
}

void end_traced() {
  if (is_storing) keep_value(traced.back());
  is_storing = false;
}

bool traces(int thread) {
  return most_traced && (traced_thread < 0 || traced_thread == thread);
}

// Note an access; `place` fills in its site, which takes a while.
template <class F>
void trace(const Traced& access, bool stores, const void* from, const F& place) {
  const auto [found, is_new] = site_numbers.try_emplace(from, uint32_t(traced_sites.size()));
  if (is_new) place(traced_sites.emplace_back());
  Site& site = traced_sites[found->second];
  if (++site.seen > most_traced) return;
  traced.push_back(access);
  traced.back().site = found->second;
  is_storing = stores;
  if (!stores) keep_value(traced.back());
}

}  // namespace
