// How a stack is walked into a record, also in a signal handler.

#include "recorder_record.h"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

namespace {

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
int (*find_object)(void*, dl_find_object*);
#endif

// Where the file was mapped that holds an address.
const link_map* object_of(uintptr_t address) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
  if (find_object) {
    dl_find_object found;
    return find_object(reinterpret_cast<void*>(address), &found) ? nullptr : found.dlfo_link_map;
  }
#endif
  Dl_info info;
  link_map* map = nullptr;
  return dladdr1(reinterpret_cast<void*>(address), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) ? map : nullptr;
}

int64_t place_of(Record& record, const link_map* map) {
  const int64_t count = record.object_count;
  for (int64_t i = 0; i < count; ++i) {
    if (record.objects[i].identity == reinterpret_cast<uintptr_t>(map)) return i;
  }
  if (!map || count == kObjects) return -1;
  record.objects[count].identity = reinterpret_cast<uintptr_t>(map);
  copy_text(record.objects[count].path, map->l_name ? map->l_name : "", kPath);
  record.object_count = count + 1;
  return count;
}

void add_frame(Record& record, uintptr_t address) {
  const int64_t count = record.frame_count;
  if (count == kFrames) return;
  const link_map* map = object_of(address);
  record.frames[count].object = place_of(record, map);
  record.frames[count].offset = map ? address - map->l_addr : address;
  record.frame_count = count + 1;
}

struct Walk {
  Record& record;
  bool begun;
  uintptr_t from;  // the instruction to begin behind, unless begun
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  int is_exact = 0;
  const uintptr_t address = _Unwind_GetIPInfo(context, &is_exact);
  if (!address || walk.record.frame_count == kFrames) return _URC_END_OF_STACK;
  if (walk.begun) {
    add_frame(walk.record, address - !is_exact);  // a return address belongs to the line behind the call
  } else {
    walk.begun = address == walk.from;
  }
  return _URC_NO_REASON;
}

void add_stack(Record& record) {
  Walk walk{record, true, 0};
  _Unwind_Backtrace(step, &walk);
}

void add_stack_behind(Record& record, uintptr_t instruction) {
  Walk walk{record, false, instruction};
  _Unwind_Backtrace(step, &walk);
}

}  // namespace
