// What a record holds: the recorder's part of the black box. `layout.py` has the same structures, whose sizes are compared, and
// the numbers in capitals, with which this is compiled.

#include "region.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace {

constexpr int kFrames = MOST_FRAMES, kObjects = MOST_OBJECTS, kPath = PATH_BYTES, kText = TEXT_BYTES, kKernel = KERNEL_BYTES;
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
  char cuda_kernel[kKernel];  // of device cuda-cpu; empty for none
  uint32_t cuda_at[6];        // its block and its thread: x, y, z of each
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

}  // namespace
