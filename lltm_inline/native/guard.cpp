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

#include "guard_blocks.h"

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

// Who is told of tensors from now on; nobody.
PUBLIC void guard_listen(Listener* told) {
  listener = told;
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
