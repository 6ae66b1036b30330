// The follower: who loads and stores what while a text runs, whether it may, and whether anything puts that in order.
//
// It is linked into a second library of a text, which is compiled with -fsanitize=thread and without the library of that: the
// compiler calls a function before each load and store, and these functions are here. So are those by which OpenMP and torch
// share out work. They run three threads, one at a time, and let the next one go on wherever order may come about. So neither
// cores nor luck decide what is found: two accesses to one place, one of them a store of another value than was there, are a
// race unless one happens before the other, by a barrier, a critical section, a lock, an atomic, or the end of the parallel
// part.
//
// Clocks: clock[a][b] is the last moment of thread b that happens before what thread a does now. A moment ends at whatever
// others may wait for. What b did at moment m is in order with what a does now where m <= clock[a][b].
//
// Followed are tensors, statics, what the text itself allocates, and variables of the caller. The memory of others (the C
// library, torch) may be handed from one thread to the next by ways that nobody sees here: that is left out.

#include <execinfo.h>
#include <link.h>
#include <pthread.h>  // before what declares its functions anew, with a visibility
#include <semaphore.h>

#include "follow_memory.h"

#include <algorithm>
#include <ctime>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "follow_trace.h"

#define PUBLIC extern "C" __attribute__((visibility("default")))
#define OURS extern "C" __attribute__((visibility("hidden")))

namespace {

constexpr int kThreads = 3;
// So often the next thread goes on at what may put threads in order, in each parallel part; after that at one in so many.
constexpr unsigned kSwitches = 200, kSeldom = 4096;
constexpr size_t kMost = 64;  // races that are kept

enum Kind : uint32_t { kRead, kWrite, kAtomic };
enum Where : uint32_t { kElsewhere, kVariable, kStatic, kAllocated };

// `layout.py` has the same structure.
struct Race {
  uint64_t address;
  uint64_t offset[2];  // in this library, of the later access and of the earlier one, if it takes two
  uint32_t kind[2], thread[2];
  uint32_t said[2];       // the numbers of their subscripts, from 1; 0 where there is none
  uint64_t base, nbytes;  // of what the text has allocated
  uint32_t where, what;
  int64_t index;        // of what misses, that of its subscript
  uint64_t callers[8];  // of what misses, offsets as above, the innermost first; 0 where there are no more
};

// What each thread has last done to four bytes: at which moment, from where, and to which of them.
struct Cell {
  uint32_t moment[2][kThreads];  // of loads, of stores; atomics count as stores, with a mark
  uint32_t offset[2][kThreads], said[2][kThreads];
  uint8_t bytes[2][kThreads];
  bool atomic[2][kThreads], changed[kThreads];
};
constexpr uintptr_t kPage = 4096;
struct Page {
  Cell cells[kPage / 4];
};

enum State { kRunnable, kWaiting, kDone };
using Moments = uint32_t[kThreads];

struct Share {  // a loop whose iterations are handed out, a `single`, or sections
  bool begun = false;
  int64_t next = 0, end = 0, step = 1, chunk = 1;
};

struct Team {
  int count = 1;
  sem_t turn[kThreads];
  State state[kThreads];
  unsigned switches = 0;
  std::map<unsigned, Share> shares;
  unsigned entered[kThreads] = {};
  void* copied = nullptr;
};

struct Store {  // the last one, whose value is not there yet
  char* address = nullptr;
  size_t bytes = 0;
  Cell* cells[5];
  int count = 0, thread = 0;
  bool conflicts = false;
  char value[16];
  Race race;
};

bool on = false;
Team* team = nullptr;
uint32_t clocks[kThreads][kThreads];
const char *stack_low = nullptr, *stack_high = nullptr;  // the caller's
const char *image_low = nullptr, *image_high = nullptr;
Store last;

struct Told {  // a subscript: of which element, its index, its number from 1, and the type of the element
  const char* at;
  int64_t index;
  uint32_t number;
  char letter;
};

struct Self {
  bool looks = false;                          // at what its accesses touch
  int number = -1;                             // in the team; -1 for a thread whose order with others is not followed
  int busy = 0;                                // these functions are at work: what they do themselves is not looked at
  Team* inner = nullptr;                       // of a parallel part inside of one, which this thread runs alone
  const char *low = nullptr, *high = nullptr;  // its own variables
  Told told[16] = {};                          // the subscripts that it has come by last, the next one in turn
  unsigned next = 0;
};
thread_local Self self;

struct Busy {
  Self& mine;
  explicit Busy(Self& mine = self) : mine(mine) {
    ++mine.busy;
  }
  ~Busy() {
    --mine.busy;
  }
};

// Never destroyed: a text may delete what it has made while the process ends.
std::unordered_map<uintptr_t, Page*>& pages = *new std::unordered_map<uintptr_t, Page*>;
std::unordered_map<const void*, std::vector<uint32_t>>& published = *new std::unordered_map<const void*, std::vector<uint32_t>>;
std::vector<Race>& races = *new std::vector<Race>;
size_t largest_tensor = 0;  // of those that the text touches itself
struct Held {
  int holder, depth;
};
std::map<const void*, Held>& locks = *new std::map<const void*, Held>;

bool follows() {
  return self.number >= 0 && self.busy == 0;
}

// ---- Order ----

void acquire(const void* what) {
  const auto found = published.find(what);
  if (found == published.end()) return;
  auto& mine = clocks[self.number];
  for (int i = 0; i < kThreads; ++i) mine[i] = std::max(mine[i], found->second[i]);
}

void release(const void* what) {
  auto& moments = published[what];
  auto& mine = clocks[self.number];
  moments.resize(kThreads);
  for (int i = 0; i < kThreads; ++i) moments[i] = std::max(moments[i], mine[i]);
  ++mine[self.number];
}

void join_all() {
  Moments all = {};
  for (const auto& one : clocks)
    for (int i = 0; i < kThreads; ++i) all[i] = std::max(all[i], one[i]);
  for (int i = 0; i < kThreads; ++i) {
    std::memcpy(clocks[i], all, sizeof all);
    ++clocks[i][i];
  }
}

// ---- Races, and accesses that miss ----

Where where_is(const Race& race, uint64_t& base, uint64_t& nbytes) {
  const char* const at = reinterpret_cast<const char*>(race.address);
  if (at >= stack_low && at < stack_high) return kVariable;
  if (at >= image_low && at < image_high) return kStatic;
  const Piece* const piece = piece_at(race.address, nullptr);
  if (piece == nullptr || !piece->own) return kElsewhere;
  base = piece->begin, nbytes = piece->end - piece->begin;
  return kAllocated;
}

void tell(Race race) {
  race.where = where_is(race, race.base, race.nbytes);
  unsigned same = 0;
  for (const Race& known : races) {
    if (known.what != race.what) continue;
    if (known.offset[0] != race.offset[0] || known.offset[1] != race.offset[1] || known.where != race.where) continue;
    if (race.where != kElsewhere || ++same == 4) return;  // of memory elsewhere, only some lies in tensors
  }
  if (races.size() < kMost) races.push_back(race);
}

// The value of the last store is there now: one that was there before is as good as no store.
void settle() {
  if (last.address == nullptr) return;
  const bool same = std::memcmp(last.address, last.value, last.bytes) == 0;
  last.address = nullptr;
  if (same) return;
  for (int i = 0; i < last.count; ++i) last.cells[i]->changed[last.thread] = true;
  if (last.conflicts) tell(last.race);
}

// The subscript that a thread has just come by and that is of this element; one without a number where there is none.
const Told& subscript_of(const Self& mine, const char* address) {
  static const Told none{};
  for (unsigned back = 1; back <= 16; ++back) {
    const Told& one = mine.told[(mine.next - back) % 16];
    if (one.at == address && one.number) return one;
  }
  return none;
}

void note_callers(const void* from, uint64_t (&callers)[8]) {
  void* frames[32];
  void** const last = frames + backtrace(frames, 32);
  unsigned count = 0;
  for (void** each = std::find(frames, last, from); each < last && count < 8; ++each) {
    const char* const at = static_cast<const char*>(*each);
    if (at >= image_low && at < image_high) callers[count++] = uint64_t(at - image_low);
  }
}

void look(const char* address, size_t size, Kind kind, const void* from) {
  const auto first = reinterpret_cast<uintptr_t>(address);
  const Piece* const piece = piece_at(first, from);
  if (piece && !piece->own) largest_tensor = std::max(largest_tensor, size_t(piece->end - piece->begin));
  const What what = piece ? fault_of(*piece, first, size, kind != kWrite) : kRace;
  if (const int me = std::max(self.number, 0); piece && traces(me) && what != kOutside && what != kFreed) {
    const Told& said = subscript_of(self, address);
    const uint64_t base = piece->own ? piece->begin : 0;
    const Traced one{first, said.number, said.index, 0, kind, uint32_t(me), uint32_t(size), base, {}, said.letter};
    trace(one, kind == kWrite, from, [&](Site& site) { note_callers(from, site.callers); });
  }
  if (what == kRace) return;
  Race found{};
  found.address = what == kOutside && first >= piece->begin ? std::max(first, piece->end) : first;
  found.offset[0] = uint32_t(static_cast<const char*>(from) - image_low);
  found.kind[0] = kind, found.thread[0] = uint32_t(std::max(self.number, 0)), found.what = what;
  const Told& said = subscript_of(self, address);
  found.said[0] = said.number, found.index = said.index;
  note_callers(from, found.callers);
  tell(found);
}

// The page that was asked for last, as the next address is mostly in it, too.
uintptr_t page_number = 0;
Page* page = nullptr;

Cell& cell_at(uintptr_t address) {
  if (page == nullptr || address / kPage != page_number) {
    page_number = address / kPage;
    Page*& found = pages[page_number];
    if (found == nullptr) found = static_cast<Page*>(std::calloc(1, sizeof(Page)));
    if ((page = found) == nullptr) throw std::bad_alloc();
  }
  return page->cells[address % kPage / 4];
}

void access(const void* what, size_t size, Kind kind, const void* from) {
  Self& mine = self;  // asked for once: that takes a call
  char* const address = static_cast<char*>(const_cast<void*>(what));
  if (!mine.looks || mine.busy || (address >= mine.low && address < mine.high)) return;
  const Busy busy(mine);
  end_traced();
  look(address, size, kind, from);
  if (mine.number < 0) return;
  const int me = mine.number;
  settle();
  const uint32_t said = subscript_of(mine, address).number;
  const uint32_t offset = uint32_t(static_cast<const char*>(from) - image_low);
  const bool store = kind != kRead;
  const uint32_t* const clock = clocks[me];
  Race race{};
  bool conflicts = false;
  if (kind == kWrite && size <= sizeof last.value) {
    last.address = address, last.bytes = size, last.count = 0, last.thread = me;
    std::memcpy(last.value, address, size);
  }
  const auto begin = reinterpret_cast<uintptr_t>(address);
  for (uintptr_t at = begin; at < begin + size;) {
    const unsigned first = at % 4;
    const unsigned count = unsigned(std::min<uintptr_t>(4 - first, begin + size - at));
    const uint8_t bytes = uint8_t(((1u << count) - 1) << first);
    Cell& cell = cell_at(at);
    for (int other = 0; other < kThreads && !conflicts; ++other) {
      if (other == me) continue;
      for (const bool stored : {true, false}) {
        if (!store && !stored) continue;
        if (cell.moment[stored][other] <= clock[other] || !(cell.bytes[stored][other] & bytes)) continue;
        if (kind == kAtomic && cell.atomic[stored][other]) continue;
        if (stored && !store && !cell.atomic[stored][other] && !cell.changed[other]) continue;
        conflicts = true;
        race.address = at;
        race.offset[0] = offset, race.offset[1] = cell.offset[stored][other];
        race.said[0] = said, race.said[1] = cell.said[stored][other];
        race.kind[0] = kind, race.kind[1] = cell.atomic[stored][other] ? kAtomic : stored ? kWrite : kRead;
        race.thread[0] = me, race.thread[1] = other;
        break;
      }
    }
    // At another moment, what is known of the one before is forgotten, not dated anew. At the same one, what was no atomic
    // stays so.
    const bool again = cell.moment[store][me] == clock[me];
    if (!again || !(kind == kAtomic && !cell.atomic[store][me])) {
      cell.bytes[store][me] = uint8_t(again ? cell.bytes[store][me] | bytes : bytes);
      cell.moment[store][me] = clock[me], cell.offset[store][me] = offset, cell.said[store][me] = said;
      cell.atomic[store][me] = kind == kAtomic;
      if (store && !again) cell.changed[me] = kind == kAtomic || size > sizeof last.value;
    }
    if (last.address == address && last.count < 5) last.cells[last.count++] = &cell;
    at += count;
  }
  if (last.address == address) {
    last.conflicts = conflicts, last.race = race;
  } else if (conflicts) {
    tell(race);
  }
}

// ---- Threads, one at a time ----

void wait_for_turn() {
  while (sem_wait(&team->turn[self.number])) continue;
}

// Give the turn to the next thread that can go on; false where there is no other.
bool hand_on() {
  for (int i = 1; i < team->count; ++i) {
    const int next = (self.number + i) % team->count;
    if (team->state[next] != kRunnable) continue;
    sem_post(&team->turn[next]);
    return true;
  }
  return false;
}

bool let_others() {
  settle();
  if (!hand_on()) return false;
  wait_for_turn();
  return true;
}

void maybe_let_others() {
  if (++team->switches <= kSwitches || team->switches % kSeldom == 0) let_others();
}

// All wait, or are done: what they did happens before what they do next.
bool open_barrier() {
  for (int i = 0; i < team->count; ++i)
    if (team->state[i] == kRunnable) return false;
  join_all();
  for (int i = 0; i < team->count; ++i)
    if (team->state[i] == kWaiting) team->state[i] = kRunnable;
  return true;
}

void wait_for_all() {
  settle();
  team->state[self.number] = kWaiting;
  if (open_barrier()) return;
  hand_on();
  wait_for_turn();
}

template <class F>
void take_part(int number, const F& work) {
  self.number = number, self.looks = true;
  wait_for_turn();
  work(number);
  const Busy busy;
  settle();
  self.looks = number == 0;  // what the others have yet to take down they do while the next one runs
  team->state[number] = kDone;
  if (!hand_on() && open_barrier()) hand_on();  // some wait at a barrier to which this one does not come
  self.number = -1;
}

void own_stack(const char*& low, const char*& high) {
  pthread_attr_t attributes;
  void* base = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes)) return;
  pthread_attr_getstack(&attributes, &base, &size);
  pthread_attr_destroy(&attributes);
  low = static_cast<const char*>(base), high = low + size;
}

// Run work on so many threads, one of them this one; inside of a parallel part, or where nobody follows, on this one alone.
template <class F>
void run_team(int count, const F& work, const Share& first = {}) {
  Team mine;
  if (first.begun) mine.shares[0] = first;
  if (!on || team != nullptr || count < 2) {
    Team* const outer = self.inner;
    self.inner = &mine;
    work(0);
    self.inner = outer;
    return;
  }
  mine.count = count;
  for (int i = 0; i < kThreads; ++i) {
    mine.state[i] = i < count ? kRunnable : kDone;
    sem_init(&mine.turn[i], 0, i == 0);
  }
  join_all();
  own_stack(stack_low, stack_high);
  self.low = stack_low, self.high = static_cast<const char*>(__builtin_frame_address(0));
  stack_low = self.high;  // the variables of those who called
  team = &mine;
  std::vector<std::thread> others;
  {
    const Busy busy;  // the memory of threads is not the text's
    for (int i = 1; i < count; ++i)
      others.emplace_back([i, &work] {
        own_stack(self.low, self.high);
        take_part(i, work);
      });
  }
  take_part(0, work);
  {
    const Busy busy;
    for (std::thread& one : others) one.join();
    others.clear();
  }
  team = nullptr;
  self.low = self.high = nullptr;
  join_all();
}

int extend_image(dl_phdr_info* info, size_t, void* inside) {
  const auto at = reinterpret_cast<uintptr_t>(inside);
  uintptr_t low = 0, high = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    low = low ? std::min(low, begin) : begin, high = std::max(high, begin + part.p_memsz);
  }
  if (at < low || at >= high) return 0;
  image_low = reinterpret_cast<const char*>(low), image_high = reinterpret_cast<const char*>(high);
  return 1;
}

}  // namespace

PUBLIC void follow_start() {
  if (image_low == nullptr) dl_iterate_phdr(extend_image, &on);
  races.clear(), largest_tensor = 0;
  on = self.looks = true;
}

// For the guard, which calls it while it gives memory to a tensor, or takes it away.
PUBLIC void follow_tensor(char* room, size_t room_size, char* data, size_t nbytes, uint64_t fresh, int made) {
  if (!self.looks || self.busy) return;
  const Busy busy;
  const auto low = reinterpret_cast<uintptr_t>(room), begin = reinterpret_cast<uintptr_t>(data);
  end_traced();
  if (made) {
    pieces[low] = {low, low + room_size, begin, begin + nbytes, fresh, false, false};
  } else if (const auto found = pieces.find(low); found != pieces.end()) {
    forget(found);
  }
}

// Return how many races were found, and write them down.
PUBLIC uint64_t follow_stop(Race* found, uint64_t capacity) {
  on = self.looks = false;
  forget_pieces();
  const uint64_t count = std::min<uint64_t>(capacity, races.size());
  std::copy_n(races.begin(), count, found);
  races.clear();
  for (const auto& [number, page] : pages) std::free(page);
  pages.clear(), page = nullptr;
  published.clear(), locks.clear();
  return count;
}

// Trace from now on, so many accesses of each place at most, none with 0; of one thread, or of all with -1.
PUBLIC void follow_trace(uint64_t most, int64_t thread) {
  const Busy busy;
  end_traced();
  most_traced = most, traced_thread = thread;
  if (most == 0) return;
  traced.clear(), traced_sites.clear(), site_numbers.clear();
}

// What was traced: how many accesses, and where they are.
PUBLIC uint64_t follow_traced(const Traced** found, const Site** places) {
  *found = traced.data(), *places = traced_sites.data();
  return traced.size();
}

// ---- What the compiler calls ----

#define FROM __builtin_return_address(0)
#define ACCESS(name, size, kind)           \
  OURS void __tsan_##name(void* address) { \
    access(address, size, kind, FROM);     \
  }
ACCESS(read1, 1, kRead)
ACCESS(read2, 2, kRead)
ACCESS(read4, 4, kRead)
ACCESS(read8, 8, kRead)
ACCESS(read16, 16, kRead)
ACCESS(write1, 1, kWrite)
ACCESS(write2, 2, kWrite)
ACCESS(write4, 4, kWrite)
ACCESS(write8, 8, kWrite)
ACCESS(write16, 16, kWrite)
ACCESS(unaligned_read2, 2, kRead)
ACCESS(unaligned_read4, 4, kRead)
ACCESS(unaligned_read8, 8, kRead)
ACCESS(unaligned_read16, 16, kRead)
ACCESS(unaligned_write2, 2, kWrite)
ACCESS(unaligned_write4, 4, kWrite)
ACCESS(unaligned_write8, 8, kWrite)
ACCESS(unaligned_write16, 16, kWrite)
ACCESS(vptr_read, 8, kRead)

OURS void __tsan_init() {}
OURS void __tsan_func_entry(void*) {}
OURS void __tsan_func_exit() {
  if (self.busy || !(is_storing || follows())) return;
  const Busy busy;
  end_traced();
  if (self.number >= 0) settle();
}
OURS void __tsan_vptr_update(void* address, void*) {
  access(address, 8, kWrite, FROM);
}
OURS void __tsan_read_range(void* address, size_t bytes) {
  access(address, bytes, kRead, FROM);
}
OURS void __tsan_write_range(void* address, size_t bytes) {
  access(address, bytes, kWrite, FROM);
}

// Calls of the C library that the compiler leaves as they are, or gives names of its own.
namespace {

void* (*real_memmove)(void*, const void*, size_t);
void* (*real_memset)(void*, int, size_t);

void* move(void* to, const void* source, size_t bytes, const void* from) {
  if (bytes) access(source, bytes, kRead, from), access(to, bytes, kWrite, from);
  return real(real_memmove, "memmove")(to, source, bytes);
}

void* fill(void* to, int value, size_t bytes, const void* from) {
  if (bytes) access(to, bytes, kWrite, from);
  return real(real_memset, "memset")(to, value, bytes);
}

}  // namespace

// The compiler has declared these itself, for all to see: here the names are the linker's.
OURS void* followed_memcpy(void* to, const void* source, size_t bytes) asm("memcpy");
OURS void* followed_memcpy(void* to, const void* source, size_t bytes) {
  return move(to, source, bytes, FROM);
}
OURS void* followed_memmove(void* to, const void* source, size_t bytes) asm("memmove");
OURS void* followed_memmove(void* to, const void* source, size_t bytes) {
  return move(to, source, bytes, FROM);
}
OURS void* followed_memset(void* to, int value, size_t bytes) asm("memset");
OURS void* followed_memset(void* to, int value, size_t bytes) {
  return fill(to, value, bytes, FROM);
}
OURS void* __tsan_memcpy(void* to, const void* source, size_t bytes) {
  return move(to, source, bytes, FROM);
}
OURS void* __tsan_memmove(void* to, const void* source, size_t bytes) {
  return move(to, source, bytes, FROM);
}
OURS void* __tsan_memset(void* to, int value, size_t bytes) {
  return fill(to, value, bytes, FROM);
}

namespace {

// Two atomics are no race; one that acquires or releases puts in order.
template <class T>
void atomic(const volatile void* what, int order, bool loads, bool stores, const void* from) {
  if (!follows()) return;
  access(const_cast<const void*>(what), sizeof(T), kAtomic, from);
  const Busy busy;
  const bool acquires = order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE;
  const bool releases = order != __ATOMIC_RELAXED && order != __ATOMIC_ACQUIRE && order != __ATOMIC_CONSUME;
  maybe_let_others();
  if (loads && acquires) acquire(const_cast<const void*>(what));
  if (stores && releases) release(const_cast<const void*>(what));
}

}  // namespace

#define CHANGES(bits, T, name)                                                    \
  OURS T __tsan_atomic##bits##_fetch_##name(volatile T* at, T value, int order) { \
    atomic<T>(at, order, true, true, FROM);                                       \
    return __atomic_fetch_##name(at, value, __ATOMIC_SEQ_CST);                    \
  }
#define COMPARES(bits, T, name)                                                                                  \
  OURS int __tsan_atomic##bits##_compare_exchange_##name(volatile T* at, T* expected, T value, int order, int) { \
    atomic<T>(at, order, true, true, FROM);                                                                      \
    return __atomic_compare_exchange_n(at, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
  }
#define ATOMICS(bits, T)                                                                                   \
  OURS T __tsan_atomic##bits##_load(const volatile T* at, int order) {                                     \
    atomic<T>(at, order, true, false, FROM);                                                               \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                          \
  }                                                                                                        \
  OURS void __tsan_atomic##bits##_store(volatile T* at, T value, int order) {                              \
    atomic<T>(at, order, false, true, FROM);                                                               \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                         \
  }                                                                                                        \
  OURS T __tsan_atomic##bits##_exchange(volatile T* at, T value, int order) {                              \
    atomic<T>(at, order, true, true, FROM);                                                                \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                               \
  }                                                                                                        \
  OURS T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T value, int order, int) { \
    atomic<T>(at, order, true, true, FROM);                                                                \
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);          \
    return expected;                                                                                       \
  }                                                                                                        \
  COMPARES(bits, T, strong)                                                                                \
  COMPARES(bits, T, weak)                                                                                  \
  CHANGES(bits, T, add)                                                                                    \
  CHANGES(bits, T, sub)                                                                                    \
  CHANGES(bits, T, and)                                                                                    \
  CHANGES(bits, T, or)                                                                                     \
  CHANGES(bits, T, xor)                                                                                    \
  CHANGES(bits, T, nand)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

OURS void __tsan_atomic_thread_fence(int order) {
  if (!follows() || order == __ATOMIC_RELAXED) return;
  static char fence;
  const Busy busy;
  maybe_let_others();
  acquire(&fence), release(&fence);
}
OURS void __tsan_atomic_signal_fence(int) {}

// ---- What the text allocates ----

namespace {

bool keeps_account() {
  return on && self.looks && self.busy == 0;
}

// As malloc, but that 0 bytes are some; nothing where there is no more.
void* allocate(size_t bytes, size_t alignment = 16) {
  const bool noted = keeps_account();
  const Busy busy;
  const size_t room = std::max<size_t>(bytes, 1) + (noted ? behind(bytes) : 0);
  void* found = nullptr;
  if (alignment <= 16) {
    found = plain_malloc(room);
  } else if (posix_memalign(&found, alignment, room)) {
    return nullptr;
  }
  if (found == nullptr || !noted) return found;
  settle();
  add_piece(found, bytes);
  return found;
}

void* make(size_t bytes, size_t alignment = 16) {
  void* const found = allocate(bytes, alignment);
  if (found == nullptr) throw std::bad_alloc();
  return found;
}

void deallocate(void* what) {
  const bool noted = what != nullptr && keeps_account();
  const Busy busy;
  const auto piece = noted ? own_piece(what) : pieces.end();
  if (noted && piece != pieces.end()) {
    end_traced();
    settle();
    if (!piece->second.freed) keep_freed(what, piece->second, team != nullptr);
  } else {
    plain_free(what);
  }
}

}  // namespace

OURS void* followed_malloc(size_t bytes) asm("malloc");
OURS void* followed_malloc(size_t bytes) {
  return allocate(bytes);
}
OURS void* followed_aligned(size_t alignment, size_t bytes) asm("aligned_alloc");
OURS void* followed_aligned(size_t alignment, size_t bytes) {
  return allocate(bytes, alignment);
}
OURS void* followed_calloc(size_t count, size_t bytes) asm("calloc");
OURS void* followed_calloc(size_t count, size_t bytes) {
  size_t all = 0;
  void* const found = __builtin_mul_overflow(count, bytes, &all) ? nullptr : allocate(all);
  return found ? real(real_memset, "memset")(found, 0, all) : nullptr;
}
OURS void* followed_realloc(void* what, size_t bytes) asm("realloc");
OURS void* followed_realloc(void* what, size_t bytes) {
  static void* (*real_realloc)(void*, size_t);
  const auto piece = what && keeps_account() ? own_piece(what) : pieces.end();
  if (piece == pieces.end()) return what ? real(real_realloc, "realloc", RTLD_DEFAULT)(what, bytes) : allocate(bytes);
  const size_t old = piece->second.end - piece->second.begin;
  void* const found = allocate(bytes);
  if (found == nullptr) return nullptr;
  real(real_memmove, "memmove")(found, what, std::min(old, bytes));
  deallocate(what);
  return found;
}
OURS void followed_free(void* what) asm("free");
OURS void followed_free(void* what) {
  deallocate(what);
}

// operator new and delete, by the names that the linker has for them: these serve this library alone.
OURS void* _Znwm(size_t bytes) {
  return make(bytes);
}
OURS void* _Znam(size_t bytes) {
  return make(bytes);
}
OURS void* _ZnwmSt11align_val_t(size_t bytes, size_t alignment) {
  return make(bytes, alignment);
}
OURS void* _ZnamSt11align_val_t(size_t bytes, size_t alignment) {
  return make(bytes, alignment);
}
OURS void _ZdlPv(void* what) {
  deallocate(what);
}
OURS void _ZdaPv(void* what) {
  deallocate(what);
}
OURS void _ZdlPvm(void* what, size_t) {
  deallocate(what);
}
OURS void _ZdaPvm(void* what, size_t) {
  deallocate(what);
}
OURS void _ZdlPvSt11align_val_t(void* what, size_t) {
  deallocate(what);
}
OURS void _ZdaPvSt11align_val_t(void* what, size_t) {
  deallocate(what);
}
OURS void _ZdlPvmSt11align_val_t(void* what, size_t, size_t) {
  deallocate(what);
}
OURS void _ZdaPvmSt11align_val_t(void* what, size_t, size_t) {
  deallocate(what);
}

// ---- Arrays of a size that the compiler knows ----

struct TypeName {
  uint16_t kind, info;
  char name[1];
};
struct IndexFault {
  const char* file;
  uint32_t line, column;
  const TypeName *array, *index;
};

// After it anything may happen: the process ends here, and the recorder notes this text and where it was.
void end_at(int64_t index, const std::string& array, unsigned number) {
  try {
    throw std::out_of_range("index " + std::to_string(index) + ", " + array + " #" + std::to_string(number));
  } catch (...) {
    std::terminate();
  }
}

OURS void __ubsan_handle_out_of_bounds(IndexFault* fault, unsigned long index) {
  if (!self.looks || self.busy) return;
  const Busy busy;
  const auto& last = self.told[(self.next + 15) % 16];  // another one, where this has told nothing
  const unsigned number = last.index == long(index) ? last.number : 0;
  end_at(long(index), std::string("in an array of type ") + fault->array->name, number);
}

// ---- Indices of pointers, which `followed::index` tells of: see `follow_index.h` ----

// How far one of them has reached in one tensor; `layout.py` has the same structure.
struct Reached {
  uint64_t base;  // 0: nobody has come by
  int64_t most;
  uint32_t element;  // bytes
  uint8_t is_signed, by_source, has_others;
};

namespace {

std::vector<Reached>& reached = *new std::vector<Reached>;

}  // namespace

OURS void follow_index(
    unsigned number, const volatile void* first, size_t element, char letter, int64_t count, int64_t index, bool is_narrow,
    bool is_signed, bool by_source) {
  if (!self.looks || self.busy) return;
  const Busy busy;
  if (count >= 0 && uint64_t(index) >= uint64_t(count)) {
    const Piece* const piece = piece_at(reinterpret_cast<uintptr_t>(first), nullptr);
    const bool own = piece && piece->own;  // then the access tells
    if (!own) end_at(index, "which has " + std::to_string(count) + (count == 1 ? " element" : " elements"), number + 1);
  }
  const auto at = reinterpret_cast<uintptr_t>(first);
  self.told[self.next++ % 16] = {first ? reinterpret_cast<char*>(at + index * element) : nullptr, index, number + 1, letter};
  if (!is_narrow) return;
  if (number >= reached.size()) reached.resize(number + 1);
  Reached& site = reached[number];
  if (site.base == 0) site = {at, index, uint32_t(element), is_signed, by_source, false};
  site.has_others |= site.base != at;
  site.most = std::max(site.most, index);
}

// Say how far indices have reached, and how large the largest tensor was.
PUBLIC uint64_t follow_reached(Reached* found, uint64_t capacity, uint64_t* largest) {
  const uint64_t count = std::min<uint64_t>(capacity, reached.size());
  std::copy_n(reached.begin(), count, found);
  reached.clear();
  *largest = largest_tensor;
  return count;
}

// ---- Locks, and statics that are made at their first use ----

namespace {

void lock(const void* what) {
  if (!follows()) return;
  const Busy busy;
  const int mine = self.number + 1;
  maybe_let_others();
  Held& held = locks[what];
  while (held.holder != 0 && held.holder != mine && let_others()) continue;
  held.holder = mine;
  if (held.depth++ == 0) acquire(what);
}

void unlock(const void* what) {
  if (!follows()) return;
  const Busy busy;
  Held& held = locks[what];
  if (--held.depth > 0) return;
  held.holder = 0;
  release(what);
  maybe_let_others();
}

int (*real_lock)(pthread_mutex_t*);
int (*real_unlock)(pthread_mutex_t*);
int (*real_guard_acquire)(long long*);
void (*real_guard_release)(long long*);

}  // namespace

OURS int pthread_mutex_lock(pthread_mutex_t* what) {
  lock(what);
  return real(real_lock, "pthread_mutex_lock")(what);
}
OURS int pthread_mutex_unlock(pthread_mutex_t* what) {
  const int done = real(real_unlock, "pthread_mutex_unlock")(what);
  unlock(what);
  return done;
}
OURS int __cxa_guard_acquire(long long* what) {
  lock(what);
  const int first = real(real_guard_acquire, "__cxa_guard_acquire")(what);
  if (!first) unlock(what);
  return first;
}
OURS void __cxa_guard_release(long long* what) {
  real(real_guard_release, "__cxa_guard_release")(what);
  unlock(what);
}

// ---- OpenMP, as g++ calls it ----

namespace {

using Work = void(void*);

int threads_for(unsigned asked) {
  return asked == 0 || asked > kThreads ? kThreads : int(asked);
}

// The team of the innermost parallel part, and this thread's number in it.
Team& current() {
  return self.inner ? *self.inner : *team;
}

int number() {
  return self.inner ? 0 : self.number;
}

bool is_parallel() {
  return self.inner == nullptr && self.number >= 0;
}

Share& share() {
  return current().shares[current().entered[number()]];
}

// The next iterations of a loop; false where there are no more.
template <class T>
bool next_chunk(T* first, T* end) {
  const Busy busy;
  if (is_parallel()) maybe_let_others();
  Share& loop = share();
  const int64_t left = loop.step > 0 ? loop.end - loop.next : loop.next - loop.end;
  if (left <= 0) return false;
  const int64_t width = loop.chunk * (loop.step > 0 ? loop.step : -loop.step);
  *first = T(loop.next);
  loop.next = left > width ? loop.next + loop.chunk * loop.step : loop.end;
  *end = T(loop.next);
  return true;
}

template <class T>
bool begin_loop(int64_t first, int64_t end, int64_t step, int64_t chunk, T* from, T* to) {
  Share& loop = share();
  if (!loop.begun) loop = {true, first, end, step, chunk > 0 ? chunk : 1};
  return next_chunk(from, to);
}

void end_share() {
  ++current().entered[number()];
}

void barrier() {
  const Busy busy;
  if (is_parallel()) wait_for_all();
}

char critical, atomics;

}  // namespace

OURS void GOMP_parallel(Work* work, void* data, unsigned asked, unsigned) {
  run_team(threads_for(asked), [=](int) { work(data); });
}
OURS void GOMP_barrier() {
  barrier();
}
OURS void GOMP_critical_start() {
  lock(&critical);
}
OURS void GOMP_critical_end() {
  unlock(&critical);
}
OURS void GOMP_critical_name_start(void** name) {
  lock(name);
}
OURS void GOMP_critical_name_end(void** name) {
  unlock(name);
}
OURS void GOMP_atomic_start() {
  lock(&atomics);
}
OURS void GOMP_atomic_end() {
  unlock(&atomics);
}
OURS void GOMP_ordered_start() {
  lock(&critical);
}
OURS void GOMP_ordered_end() {
  unlock(&critical);
}
OURS bool GOMP_single_start() {
  if (!self.inner && !team) return true;  // outside of any parallel part
  const Busy busy;
  const bool first = !share().begun;
  share().begun = true;
  end_share();
  return first;
}
OURS void* GOMP_single_copy_start() {
  if (GOMP_single_start()) return nullptr;
  barrier();
  return current().copied;
}
OURS void GOMP_single_copy_end(void* data) {
  current().copied = data;
  barrier();
}
OURS void GOMP_loop_end() {
  end_share();
  barrier();
}
OURS void GOMP_loop_end_nowait() {
  end_share();
}

#define LOOP(name)                                                                                                \
  OURS bool GOMP_loop_##name##_start(long first, long end, long step, long chunk, long* from, long* to) {         \
    return begin_loop(first, end, step, chunk, from, to);                                                         \
  }                                                                                                               \
  OURS bool GOMP_loop_##name##_next(long* from, long* to) {                                                       \
    return next_chunk(from, to);                                                                                  \
  }                                                                                                               \
  OURS void GOMP_parallel_loop_##name(                                                                            \
      Work* work, void* data, unsigned asked, long first, long end, long step, long chunk, unsigned) {            \
    run_team(threads_for(asked), [=](int) { work(data); }, Share{true, first, end, step, chunk > 0 ? chunk : 1}); \
  }                                                                                                               \
  OURS bool GOMP_loop_ull_##name##_start(                                                                         \
      bool up, uint64_t first, uint64_t end, uint64_t step, uint64_t chunk, uint64_t* from, uint64_t* to) {       \
    return up && begin_loop(int64_t(first), int64_t(end), int64_t(step), int64_t(chunk), from, to);               \
  }                                                                                                               \
  OURS bool GOMP_loop_ull_##name##_next(uint64_t* from, uint64_t* to) {                                           \
    return next_chunk(from, to);                                                                                  \
  }
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)

OURS unsigned GOMP_sections_next() {
  int64_t from = 0, to = 0;
  return next_chunk(&from, &to) ? unsigned(from) : 0;
}
OURS unsigned GOMP_sections_start(unsigned count) {
  int64_t from = 0, to = 0;
  return begin_loop<int64_t>(1, int64_t(count) + 1, 1, 1, &from, &to) ? unsigned(from) : 0;
}
OURS void GOMP_parallel_sections(Work* work, void* data, unsigned asked, unsigned count, unsigned) {
  run_team(threads_for(asked), [=](int) { work(data); }, Share{true, 1, int64_t(count) + 1, 1, 1});
}
OURS void GOMP_sections_end() {
  GOMP_loop_end();
}
OURS void GOMP_sections_end_nowait() {
  end_share();
}

OURS int omp_get_thread_num() {
  return is_parallel() ? self.number : 0;
}
OURS int omp_get_num_threads() {
  return is_parallel() ? team->count : 1;
}
OURS int omp_get_max_threads() {
  return on ? kThreads : 1;
}
OURS int omp_get_num_procs() {
  return kThreads;
}
OURS int omp_in_parallel() {
  return is_parallel();
}
OURS void omp_set_num_threads(int) {}
OURS void omp_set_dynamic(int) {}
OURS void omp_init_lock(void*) {}
OURS void omp_destroy_lock(void*) {}
OURS void omp_set_lock(void* what) {
  lock(what);
}
OURS void omp_unset_lock(void* what) {
  unlock(what);
}
OURS double omp_get_wtime() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// ---- Torch's threads, as torch/csrc/stable/c/shim.h declares them ----

// Libtorch's own: `at::get_thread_num()` gives what was set.
extern "C" __attribute__((weak)) void set_thread_num(int) asm("_ZN2at8internal14set_thread_numEi");

OURS int32_t torch_parallel_for(int64_t begin, int64_t end, int64_t grain, void (*work)(int64_t, int64_t, void*), void* data) {
  if (begin >= end) return 0;
  const int64_t size = end - begin, most = grain > 0 ? (size + grain - 1) / grain : size;
  const int count = size <= grain || !on || team != nullptr ? 1 : int(std::min<int64_t>(kThreads, most));
  const int64_t chunk = (size + count - 1) / count;
  bool failed = false;
  run_team(count, [&](int number) {
    const int64_t first = begin + number * chunk;
    if (first >= end) return;
    if (set_thread_num != nullptr && count > 1) set_thread_num(number);
    try {
      work(first, count == 1 ? end : std::min(end, first + chunk), data);
    } catch (...) {
      failed = true;
    }
    if (set_thread_num != nullptr && count > 1) set_thread_num(0);
  });
  return failed;
}
OURS int32_t torch_get_thread_idx(uint32_t* number) {
  *number = uint32_t(omp_get_thread_num());
  return 0;
}
OURS int32_t torch_get_num_threads(uint32_t* number) {
  *number = on ? kThreads : 1;
  return 0;
}
