"""The first half of the crash recorder's C++: what a record holds, and how a stack is walked into it."""

from __future__ import annotations

STACK = r"""
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dlfcn.h>
#include <exception>
#include <link.h>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <typeinfo>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

// run/worker/black_box.py has the same structures, and compares the sizes.
struct Region {
  char name[96], dtype[16];
  uint64_t base, nbytes, itemsize;
  int64_t ndim, shape[8];
};

namespace {

constexpr int kFrames = 64, kObjects = 16, kPath = 1024, kText = 4096;
enum Kind : int32_t { kNothing, kSignal, kTerminate, kExit, kWhere };

struct Frame {
  uint64_t offset;
  int64_t object;
};

struct Object {
  uint64_t identity;
  char path[kPath];
};

struct Record {
  std::atomic<uint64_t> turn;  // odd while a `where` is written
  std::atomic<int64_t> owner;  // the thread whose crash it is
  std::atomic<int32_t> kind;   // set when what stands before `region` is written
  int32_t signal, code, status;
  uint64_t address;
  double cpu;
  int8_t has_address, write, main_thread, overflow, jump, waiting, still;
  std::atomic<int8_t> has_region, done;
  Region region;
  char exception[kText], message[kText];
  std::atomic<int64_t> frame_count, object_count;
  Frame frames[kFrames];
  Object objects[kObjects];
};

struct Records {
  int64_t pid;
  Record death, where;
};

Records* records;
char* stack_top;  // of the main thread
std::atomic<int (*)(uintptr_t, Region*)> finder;
std::terminate_handler terminate_before;

struct AbortMessage {  // as glibc keeps it for debuggers
  unsigned size;
  char text[1];
};
AbortMessage** abort_message;

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
int (*find_object)(void*, dl_find_object*);
#endif

int64_t thread_id() {
  return syscall(SYS_gettid);
}

bool is_recorded_process() {
  return records && records->pid == getpid();
}

void copy_text(char* to, const char* from, size_t room, size_t length = SIZE_MAX) {
  size_t i = 0;
  for (; i + 1 < room && i < length && from[i]; ++i) to[i] = from[i];
  to[i] = 0;
}

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
"""
