// What lies where, for the follower: tensors, of which the guard tells, and memory that the text allocates for itself.
//
// Each has a room that nobody else uses: a tensor its pages, other memory what malloc keeps before it and what is added behind.
// An access to the room and not to the memory is out of bounds. What was deleted stays taken, as long as there is room for it.
// Fresh memory holds a pattern: who reads just that has read what nobody has written.

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>

namespace {

// What is found: as `layout.py` has it.
enum What : uint32_t { kRace, kOutside, kFreed, kUnwritten };

struct Piece {
  uintptr_t low, high;   // the room
  uintptr_t begin, end;  // the memory
  uint64_t fresh;        // what it holds at first, by addresses modulo 8
  bool own, freed;       // the text's
};

constexpr size_t kMostFreed = size_t(64) << 20;
constexpr uint64_t kFresh = 0xFFA5'A5A5'FFA5'A5A5, kSlack = 0xFFA6'5A5A'FFA6'5A5A;
constexpr size_t kSites = 1024;

// Never destroyed, as all of the follower.
std::map<uintptr_t, Piece>& pieces = *new std::map<uintptr_t, Piece>;  // by their rooms
std::deque<void*>& freed = *new std::deque<void*>;
size_t freed_bytes = 0;
// What each instruction has last touched: mostly it is the same again.
const Piece* sites[kSites] = {};

// A function of the same name elsewhere: the one that this library would have had without these here.
template <class F>
F* real(F*& known, const char* name, void* where = RTLD_NEXT) {
  if (known == nullptr) known = reinterpret_cast<F*>(dlsym(where, name));
  return known;
}

// Memory comes from where everybody's does: what one library allocates another one frees, and the process may have been started
// with an allocator of its own.
void* plain_malloc(size_t bytes) {
  static void* (*known)(size_t);
  return real(known, "malloc", RTLD_DEFAULT)(bytes);
}
void plain_free(void* what) {
  static void (*known)(void*);
  real(known, "free", RTLD_DEFAULT)(what);
}

// How many bytes before what it gives malloc has for itself: where it is glibc's, a size.
size_t before() {
  static const size_t found = [] {
    Dl_info library;
    void* const known = dlsym(RTLD_DEFAULT, "malloc");
    return known && dladdr(known, &library) && library.dli_fname && std::strstr(library.dli_fname, "/libc.so") ? 8 : 0;
  }();
  return found;
}

// How many bytes are added behind: the more the further a text may go too far without destroying anything of others.
size_t behind(size_t bytes) {
  return bytes < 64 ? 64 : bytes > 4096 ? 4096 : bytes;
}

bool holds(const void* first, size_t bytes, uint64_t word) {
  const auto at = static_cast<const unsigned char*>(first);
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != uint8_t(word >> 8 * ((reinterpret_cast<uintptr_t>(at) + i) % 8))) return false;
  return true;
}

void put(void* first, size_t bytes, uint64_t word) {
  const auto at = static_cast<unsigned char*>(first);
  for (size_t i = 0; i < bytes; ++i) at[i] = uint8_t(word >> 8 * ((reinterpret_cast<uintptr_t>(at) + i) % 8));
}

void forget(std::map<uintptr_t, Piece>::iterator which) {
  std::memset(sites, 0, sizeof sites);
  pieces.erase(which);
}

void forget_pieces() {
  std::memset(sites, 0, sizeof sites);
  pieces.clear();
  for (void* one : freed) plain_free(one);
  freed.clear(), freed_bytes = 0;
}

// The piece in whose room an address lies.
const Piece* piece_at(uintptr_t address, const void* from) {
  const Piece*& site = sites[reinterpret_cast<uintptr_t>(from) / 2 % kSites];
  if (site && address >= site->low && address < site->high) return site;
  auto next = pieces.upper_bound(address);
  if (next == pieces.begin() || address >= (--next)->second.high) return nullptr;
  return site = &next->second;
}

// Note what the text allocates; there is room behind it, see `behind`.
void add_piece(void* what, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(what);
  // What was there is of memory that somebody else has freed.
  for (auto next = pieces.lower_bound(begin + bytes + behind(bytes)); next != pieces.begin();) {
    const auto old = std::prev(next);
    if (old->second.high <= begin - before()) break;
    forget(old);
  }
  put(what, bytes, kFresh);
  put(static_cast<char*>(what) + bytes, behind(bytes), kSlack);
  pieces[begin - before()] = {begin - before(), begin + bytes + behind(bytes), begin, begin + bytes, kFresh, true, false};
}

// The text's own memory, if that is where something begins.
std::map<uintptr_t, Piece>::iterator own_piece(void* what) {
  const auto found = pieces.find(reinterpret_cast<uintptr_t>(what) - before());
  return found != pieces.end() && found->second.own ? found : pieces.end();
}

// Keep what the text deletes for a while; in a parallel part whatever it takes, as other threads may run.
void keep_freed(void* what, Piece& piece, bool parallel) {
  piece.freed = true;
  freed.push_back(what), freed_bytes += piece.end - piece.begin;
  while (!parallel && freed_bytes > kMostFreed) {
    const auto first = own_piece(freed.front());
    if (first != pieces.end()) {
      freed_bytes -= first->second.end - first->second.begin;
      forget(first);
    }
    plain_free(freed.front());
    freed.pop_front();
  }
}

// What is wrong with an access to an address in a room; nothing is `kRace`.
What fault_of(const Piece& piece, uintptr_t first, size_t size, bool reads) {
  if (piece.freed) return kFreed;
  if (first < piece.begin || first + size > piece.end) {
    // What lies behind is no more as it was where somebody else has freed the memory, and others have got it.
    return !piece.own || holds(reinterpret_cast<void*>(piece.end), piece.high - piece.end, kSlack) ? kOutside : kRace;
  }
  if (!reads || size > 8) return kRace;  // copies, and vectors, may hold what nobody looks at
  const uintptr_t begin = size < 4 ? first / 4 * 4 : first;
  const size_t bytes = size < 4 ? 4 : size;
  if (begin < piece.begin || begin + bytes > piece.end) return kRace;
  return holds(reinterpret_cast<void*>(begin), bytes, piece.fresh) ? kUnwritten : kRace;
}

}  // namespace
