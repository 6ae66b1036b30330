// A lab's text is somebody else's, who wants points. So there the runtime is a library of its own, and what it has found and
// counted stands in a book: pages that the judge has shared, at a fixed address. They are read-only whenever code of the text
// runs, and opened by the runtime alone, between the last thread of a launch and what comes behind the launch; a text can
// neither call for another protection (it may not import mprotect, nor make system calls) nor map over them.
//
// What counts while a launch runs lies in the runtime's memory. Code of a kernel does not reach it: each of its accesses is
// looked at before it is made. Nor does code of the host: its accesses come by here, too, and those to tensors, which on a GPU
// would be elsewhere, and to what is ours are faults.
#ifdef CUDA_CPU_LAB
namespace cuda_cpu {
namespace CUDA_CPU_OURS {
struct BookLine {
  uint32_t what, width;  // index into `kOfBook`
  uint64_t times, transactions, least;
  uint32_t calls[8];  // places in the library, the innermost first
};

// `lab/inside.py` knows its form.
struct Book {
  uint64_t wanted, faults, launches, blocks, warps, barriers, lines, lost;  // whether somebody wants to know
  char said[1024];
  BookLine line[2000];
};
constexpr uintptr_t kBook = uintptr_t(1) << 44;
constexpr size_t kBookBytes = 1 << 17;
static_assert(sizeof(Book) <= kBookBytes);
const char* const kOfBook[] = {"global load",  "global store",  "global atomic",   "shared load",
                               "shared store", "shared atomic", "divergent branch"};

template <class F>
void write_book(const F& write) {
  const OffDevice off;
  if (mprotect(reinterpret_cast<void*>(kBook), kBookBytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  write(*reinterpret_cast<Book*>(kBook));
  mprotect(reinterpret_cast<void*>(kBook), kBookBytes, PROT_READ);
}

void note_fault(const std::string& what) {
  write_book([&](Book& book) {
    if (book.faults++ == 0) std::snprintf(book.said, sizeof book.said, "%s", what.c_str());
  });
}

void note_site(Book& book, const Site& site) {
  BookLine found{0, uint32_t(site.width), site.times, site.transactions, site.least, {}};
  while (site.what != kOfBook[found.what]) ++found.what;
  for (size_t i = 0; i < std::min<size_t>(8, site.calls.size()); ++i) {
    found.calls[i] = uint32_t(site.calls[site.calls.size() - 1 - i] - checks().image_low - 1);
  }
  for (size_t i = 0; i < book.lines; ++i) {
    BookLine& one = book.line[i];
    if (one.what != found.what || one.width != found.width || std::memcmp(one.calls, found.calls, sizeof one.calls)) continue;
    one.times += found.times;
    one.transactions += found.transactions;
    one.least += found.least;
    return;
  }
  if (book.lines == std::size(book.line)) {
    ++book.lost;
  } else {
    book.line[book.lines++] = found;
  }
}

bool asked_to_count() {
  return reinterpret_cast<const Book*>(kBook)->wanted != 0;
}

// A launch has ended: what it did goes into the book, and is forgotten here.
void note_launch() {
  finish_block();
  write_book([](Book& book) {
    for (const Counted& one : counts().launches) {
      const uint64_t blocks = uint64_t(one.grid.x) * one.grid.y * one.grid.z;
      ++book.launches;
      book.blocks += blocks;
      book.warps += blocks * ((uint64_t(one.block.x) * one.block.y * one.block.z + kWarp - 1) / kWarp);
      book.barriers += one.barriers;
      for (const Site& site : one.sites) note_site(book, site);
    }
  });
  counts().launches.clear();
}

// Whether it lies in what on a GPU would be memory of the GPU: a tensor that lives, of cudaMalloc, a variable.
const Region* of_device(const char* address) {
  for (const Region& one : checks().regions) {
    const bool is_global = one.of == Of::tensor || one.of == Of::memory || one.of == Of::variable;
    if (is_global && within(address, one.begin, one.end()) && !(one.storage && one.storage->expired())) return &one;
  }
  for (const Region& one : OfFile::here().variables) {
    if (within(address, one.begin, one.end())) return &one;
  }
  for (const Fresh& one : checks().fresh) {
    if (!within(address, one.begin, one.begin + one.bytes) || one.storage.expired()) continue;
    static thread_local Region unnamed;
    unnamed = {one.begin, one.bytes, one.name.empty() ? "a tensor" : one.name, one.element, Of::tensor, {}, {}};
    return &unnamed;
  }
  return nullptr;
}

template <class T>
CUDA_CPU_PLAIN bool is_part(const char* address, const T& of) {
  return size_t(address - reinterpret_cast<const char*>(&of)) < sizeof of;
}

CUDA_CPU_PLAIN bool is_of_text(const char* pc) {
  static const char *low = nullptr, *high = nullptr;
  static bool is_asking = false;  // what is called here is instrumented, too
  if (is_asking) return false;
  is_asking = true;
  low = checks().image_low;
  high = checks().image_high;
  is_asking = false;
  return within(pc, low, high);
}

void fault_of_host(const Region* region, const char* address, bool store, const char* pc) {
  char line[32];
  std::snprintf(line, sizeof line, "line @%zx", size_t(pc - checks().image_low - 1));
  note_fault(
      region ? "host: " + element_at(*region, address) + (store ? " is written" : " is read") + " at " + line +
                   " by code of the host, and lies in the memory of the GPU. Launch a kernel for it"
             : std::string("host: what counts and checks is reached for at ") + line);
}

CUDA_CPU_PLAIN bool is_ours(const char* address) {
  return is_part(address, checks()) || is_part(address, counts()) || is_part(address, steps_left) ||
         is_part(address, OfFile::here()) || Block::here().has(address) || size_t(address - (const char*)kBook) < kBookBytes;
}

CUDA_CPU_PLAIN void look_at_host(const char* address, size_t, Kind kind, const char* pc) {
  if (!is_of_text(pc)) return;
  const Region* const region = of_device(address);
  if (region || is_ours(address)) fault_of_host(region, address, kind != Kind::load, pc);
}

// The linker gives a text these for the C library's: what compilers call for the copy of a struct, and cudaMemcpy. Of the
// memory of the GPU a host can have it copied within that, and into it, but in a lab nothing out of it.
CUDA_CPU_PLAIN void before_copy_of(void* to, const void* from, size_t bytes, const void* pc) {
  if (lane) {
    before_copy(from, bytes, false, pc);
    before_copy(to, bytes, true, pc);
  } else if (bytes && is_of_text(static_cast<const char*>(pc))) {
    const char* const begin = static_cast<const char*>(from);
    const Region* const region = of_device(begin);
    if (region && !of_device(static_cast<char*>(to))) fault_of_host(region, begin, false, static_cast<const char*>(pc));
    if (is_ours(begin) || is_ours(static_cast<char*>(to))) fault_of_host(nullptr, begin, false, static_cast<const char*>(pc));
  }
}

}  // namespace CUDA_CPU_OURS
}  // namespace cuda_cpu

CUDA_CPU_HOOK_ void* __wrap_memcpy(void* to, const void* from, size_t bytes) {
  cuda_cpu::before_copy_of(to, from, bytes, __builtin_return_address(0));
  return __builtin_memmove(to, from, bytes);
}
CUDA_CPU_HOOK_ void* __wrap_memmove(void* to, const void* from, size_t bytes) {
  cuda_cpu::before_copy_of(to, from, bytes, __builtin_return_address(0));
  return __builtin_memmove(to, from, bytes);
}
CUDA_CPU_HOOK_ void* __wrap_memset(void* to, int value, size_t bytes) {
  if (cuda_cpu::lane) cuda_cpu::before_copy(to, bytes, true, __builtin_return_address(0));
  if (!cuda_cpu::lane && cuda_cpu::is_ours(static_cast<char*>(to))) std::abort();
  return __builtin_memset(to, value, bytes);
}
#endif
