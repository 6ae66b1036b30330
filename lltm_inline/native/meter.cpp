// The memory meter: is told of every allocation and every release of the CPU allocator.
//
// It is compiled once per machine, in a few seconds, and called through `ctypes` by measure/meter.py. c10's allocator reports
// to whatever stands in a slot of the thread's debug information, the one that PyTorch's own profiler uses. The bytes are what
// was asked for, exactly; nothing is sampled, and nothing is asked of the operating system.
//
// Autograd carries the slot to the threads on which a backward runs. `at::parallel_for` does not carry it to its workers, so
// the meter is put there by one parallel loop with an iteration for each of them.

#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>
#include <torch/csrc/stable/c/shim.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace {

namespace profiler = torch::profiler::impl;

// The allocator wants a MemoryReportingInfoBase in this slot, but autograd takes what is there for a whole profiler, and
// would read the members of one that is none: this is a profiler, a disabled one.
struct Meter : profiler::ProfilerStateBase {
  Meter() : ProfilerStateBase(profiler::ProfilerConfig(profiler::ProfilerState::Disabled)) {}

  profiler::ActiveProfilerType profilerType() override {
    return profiler::ActiveProfilerType::NONE;
  }

  bool memoryProfilingEnabled() const override {
    return true;
  }

  void reportMemoryUsage(void* block, int64_t size, size_t, size_t, c10::Device device) override {
    if (!device.is_cpu()) return;
    const std::lock_guard<std::mutex> guard(mutex);
    if (size > 0) {
      blocks[block] = size;
      now += size;
      peak = std::max(peak, now);
    } else if (const auto found = blocks.find(block); found != blocks.end()) {  // others were there before the meter
      now -= found->second;
      blocks.erase(found);
    }
  }

  std::mutex mutex;
  std::unordered_map<void*, int64_t> blocks;
  int64_t now = 0, peak = 0;
};

struct Handle {
  std::shared_ptr<Meter> meter;
  int64_t threads;
};

struct Watch {
  explicit Watch(const std::shared_ptr<Meter>& meter) : meter(meter.get()), guard(c10::DebugInfoKind::PROFILER_STATE, meter) {}
  const Meter* meter;
  c10::DebugInfoGuard guard;  // ends on the thread on which it began
};
thread_local std::vector<std::unique_ptr<Watch>> watches;

bool is_watched(const Handle& handle) {
  return !watches.empty() && watches.back()->meter == handle.meter.get();
}

void watch(int64_t, int64_t, void* handle) {
  const auto& here = *static_cast<const Handle*>(handle);
  if (!is_watched(here)) watches.push_back(std::make_unique<Watch>(here.meter));
}

void release(int64_t, int64_t, void* handle) {
  if (is_watched(*static_cast<const Handle*>(handle))) watches.pop_back();
}

}  // namespace

#define PUBLIC extern "C" __attribute__((visibility("default")))

PUBLIC void* meter_start(int64_t threads) {
  auto* handle = new Handle{std::make_shared<Meter>(), threads};
  watch(0, 1, handle);
  torch_parallel_for(0, threads, 1, watch, handle);
  return handle;
}

PUBLIC int64_t meter_now(void* handle) {
  auto& meter = *static_cast<Handle*>(handle)->meter;
  const std::lock_guard<std::mutex> guard(meter.mutex);
  return meter.now;
}

PUBLIC int64_t meter_peak(void* handle) {
  auto& meter = *static_cast<Handle*>(handle)->meter;
  const std::lock_guard<std::mutex> guard(meter.mutex);
  return meter.peak;
}

PUBLIC void meter_stop(void* handle) {
  auto* here = static_cast<Handle*>(handle);
  torch_parallel_for(0, here->threads, 1, release, here);
  release(0, 1, here);
  delete here;
}
