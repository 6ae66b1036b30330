// The crash recorder: writes down how its process dies, into memory that another process reads afterwards.
//
// It needs no header of torch, so it compiles in half a second, once per machine; the worker calls it through `ctypes`
// (workers/recorder.py).
//
// Everything that runs in a signal handler here does without malloc, without locks of its own and without stdio: the kernel
// may have died in the middle of any of them. Three choices follow from that:
//
//     The stack is walked by libgcc's unwinder, which is linked and used once beforehand: `backtrace()` would load it when it
//     is needed, with malloc.
//
//     An address is made "file and offset" at once, as nobody can ask a dead process for its mappings; and not from a table
//     kept beforehand, which a library that dies in its own static initialiser would not be in yet. glibc 2.35 and later have
//     `_dl_find_object` for this, made for signal handlers. With older ones it is `dladdr`, which takes the loader's lock as
//     their unwinder does: a crash may then hang (and time out) when another thread is loading a library at that very moment.
//
//     A fault in the handler itself ends the process at once, since all signals are blocked there. What was written until then
//     stands: signal, address and instruction come first, then the tensor, and then the stack frame by frame.
//
// No core is dumped: of a process with torch in it that can take longer than a person should wait for the report.
//
// The main thread has an alternate stack, so that it can run out of its own. Other threads have none: a process that runs out
// of stack there dies without a record. Children that the kernel forks do not write: the record is about the worker.

#include "recorder_processor.h"

#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <typeinfo>

namespace {

char* stack_top;  // of the main thread
std::atomic<int (*)(uintptr_t, Region*)> finder;
std::terminate_handler terminate_before;

// Who knows which CUDA thread runs on a thread of the CPU; they stay, as a handler may be walking along them.
struct Teller {
  std::atomic<int64_t> thread;  // 0 for one that is gone
  int (*tell)(const void* of, const char** kernel, uint32_t* at);
  const void* of;
  Teller* next;
};
std::atomic<Teller*> tellers;

struct AbortMessage {  // as glibc keeps it for debuggers
  unsigned size;
  char text[1];
};
AbortMessage** abort_message;

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

void begin(Record& record, int signal, int code) {
  record.signal = signal;
  record.code = code;
  record.write = -1;
  record.status = record.has_address = record.overflow = record.jump = record.waiting = record.still = 0;
  record.main_thread = thread_id() == getpid();
  record.cpu = processor_seconds();
  record.has_region = 0;
  record.cuda_kernel[0] = 0;
  record.exception[0] = record.message[0] = 0;
  record.frame_count = record.object_count = 0;
}

void add_cuda_thread(Record& record) {
  const int64_t self = thread_id();
  for (const Teller* one = tellers; one; one = one->next) {
    const char* kernel = nullptr;
    if (one->thread == self && one->tell(one->of, &kernel, record.cuda_at)) copy_text(record.cuda_kernel, kernel, kKernel);
  }
}

void add_interrupted(Record& record, const Interrupted& at, const siginfo_t& info, Kind kind) {
  const bool is_fault = info.si_signo == SIGSEGV || info.si_signo == SIGBUS;
  // Without a page fault the processor does not say which address it was (SI_KERNEL).
  record.has_address = is_fault && info.si_code > 0 && info.si_code != SI_KERNEL;
  record.address = reinterpret_cast<uintptr_t>(info.si_addr);
  record.write = at.write;
  record.jump = at.is_jump;
  record.waiting = at.is_waiting;
  record.still = at.is_still;
  // All of a healthy stack can be touched; below it there is only what the next call would need.
  const uintptr_t top = record.main_thread && stack_top ? reinterpret_cast<uintptr_t>(stack_top) : at.sp + (1 << 20);
  record.overflow = at.is_page_fault && !at.is_jump && record.address + 8192 >= at.sp && record.address < top;
  record.kind = kind;
  add_frame(record, at.pc);
  if (record.has_address) {
    const auto find = finder.load();
    if (find && find(record.address, &record.region)) {
      record.has_region = 1;
      record.overflow = 0;
    }
  }
  add_cuda_thread(record);
  // Its stack is a small one, and not that of the thread of the CPU.
  if (record.cuda_kernel[0] && record.address >= at.sp + (128 << 10)) record.overflow = 0;
  add_stack_behind(record, at.pc);
  if (record.frame_count > 1 || object_of(at.pc)) return;
  // A call through a pointer to no function: nothing is known of the place, but the return address is where the call left it.
  uintptr_t caller = at.caller;
#if defined(__x86_64__)
  caller = *reinterpret_cast<const uintptr_t*>(at.sp);
#endif
  if (caller) add_frame(record, caller - 1);
}

// Claim the record of the death for this thread. Another thread's crash was first when that fails: it gets a second to write.
bool claim(Record& record) {
  const int64_t self = thread_id();
  int64_t owner = 0;
  if (record.owner.compare_exchange_strong(owner, self)) return true;
  for (int i = 0; i < 1000 && owner != self && !record.done; ++i) {
    const timespec millisecond{0, 1000000};
    nanosleep(&millisecond, nullptr);
  }
  return false;
}

// What a kernel has printed, and not ended with a newline.
void write_rest_of_stdout() {
#ifdef __GLIBC__
  const char* rest = stdout->_IO_write_base;
  const char* end = stdout->_IO_write_ptr;
  if (!rest || end < rest || end - rest > 65536) return;
  while (rest < end) {
    const ssize_t count = write(STDOUT_FILENO, rest, end - rest);
    if (count <= 0) return;
    rest += count;
  }
  stdout->_IO_write_ptr = stdout->_IO_write_base;
#endif
}

void die(int signal, siginfo_t* info, void* context) {
  if (is_recorded_process() && claim(records->death)) {
    Record& record = records->death;
    begin(record, signal, info->si_code);
    if (signal == SIGABRT && abort_message && *abort_message) {
      copy_text(record.message, (*abort_message)->text, kText, (*abort_message)->size);
    }
    add_interrupted(record, interrupted(*static_cast<ucontext_t*>(context), signal), *info, kSignal);
    record.done = 1;
  }
  if (is_recorded_process() && records->death.owner == thread_id()) write_rest_of_stdout();
  prctl(PR_SET_DUMPABLE, 0);
  struct sigaction fatal{};
  fatal.sa_handler = SIG_DFL;
  sigaction(signal, &fatal, nullptr);
  syscall(SYS_tgkill, getpid(), thread_id(), signal);  // delivered when the handler returns
}

void tell_where(int signal, siginfo_t* info, void* context) {
  const int before = errno;
  static std::atomic_flag busy = ATOMIC_FLAG_INIT;
  if (is_recorded_process() && !busy.test_and_set()) {
    Record& record = records->where;
    record.turn += record.turn % 2 + 1;
    begin(record, signal, info->si_code);
    add_interrupted(record, interrupted(*static_cast<ucontext_t*>(context), signal), *info, kWhere);
    ++record.turn;
    busy.clear();
  }
  errno = before;
}

// Name and text of the exception that nobody caught. Not in a signal handler: the heap may be used.
void add_exception(Record& record, const std::type_info& type) {
  copy_text(record.exception, type.name(), kText);
  try {
    throw;
  } catch (const std::exception& error) {
    copy_text(record.message, error.what(), kText);
  } catch (const std::string& text) {
    copy_text(record.message, text.c_str(), kText);
  } catch (const char* text) {
    copy_text(record.message, text ? text : "", kText);
  } catch (int number) {
    std::snprintf(record.message, kText, "%d", number);
  } catch (...) {
  }
  int status = 0;
  char* readable = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  if (readable) copy_text(record.exception, readable, kText);
  std::free(readable);
}

[[noreturn]] void terminated() {
  if (is_recorded_process() && claim(records->death)) {
    Record& record = records->death;
    begin(record, SIGABRT, 0);
    record.kind = kTerminate;
    add_stack(record);
    if (const std::type_info* type = abi::__cxa_current_exception_type()) add_exception(record, *type);
    record.done = 1;
  }
  if (terminate_before) terminate_before();
  std::abort();
}

bool note_exit(int status) {
  if (!is_recorded_process() || !claim(records->death)) return false;
  Record& record = records->death;
  begin(record, 0, 0);
  record.status = status;
  record.kind = kExit;
  add_stack(record);
  record.done = 1;
  return true;
}

// What would follow takes the whole of PyTorch down, object by object: ten times as long as a signal takes, while the caller
// waits. What the kernel's own text has for the end of a process was registered later, and so has been called by now.
void exited(int status, void*) {
  if (!note_exit(status)) return;
  std::fflush(nullptr);
  _exit(status);
}

void exited_quickly() {
  note_exit(-1);  // it is not told the status, and takes nothing down
}

bool give_stack() {
  constexpr size_t size = size_t(256) << 10, guard = size_t(64) << 10;
  void* memory = mmap(nullptr, size + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  mprotect(memory, guard, PROT_NONE);
  stack_t stack{};
  stack.ss_sp = static_cast<char*>(memory) + guard;
  stack.ss_size = size;
  pthread_attr_t attributes;
  if (!pthread_getattr_np(pthread_self(), &attributes)) {
    void* bottom = nullptr;
    size_t bytes = 0;
    if (!pthread_attr_getstack(&attributes, &bottom, &bytes)) stack_top = static_cast<char*>(bottom) + bytes;
    pthread_attr_destroy(&attributes);
  }
  return !sigaltstack(&stack, nullptr);
}

void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  sigfillset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

#define PUBLIC extern "C" __attribute__((visibility("default")))

// Ask for the tensor around an address, in signal handlers; the function returns 0 for none.
PUBLIC void recorder_set_finder(int (*function)(uintptr_t, Region*)) {
  finder = function;
}

// From now on a function tells of crashes of this thread, in signal handlers: its kernel, and its block and thread in `at`; or
// it returns 0, where no CUDA thread runs. `cuda_cpu/block.h` declares both of these.
PUBLIC void recorder_add_teller(int (*tell)(const void* of, const char** kernel, uint32_t* at), const void* of) {
  auto* const one = new Teller{thread_id(), tell, of, tellers};
  while (!tellers.compare_exchange_weak(one->next, one)) {
  }
}

PUBLIC void recorder_remove_teller(const void* of) {
  for (Teller* one = tellers; one; one = one->next) {
    if (one->of == of) one->thread = 0;
  }
}

PUBLIC uint64_t recorder_size() {
  return sizeof(Records);
}

// On the main thread, once, with the file of the black box and the recorder's place in it. Return 0 when it is done.
PUBLIC int recorder_install(int file, int64_t offset) {
  if (records) return 1;
  // A mapping of its own: the caller's may be gone before the last handler runs.
  void* mapped = mmap(nullptr, sizeof(Records), PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  if (mapped == MAP_FAILED || !give_stack()) return 2;
  auto* memory = static_cast<Records*>(mapped);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
  find_object = reinterpret_cast<decltype(find_object)>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
#endif
  abort_message = static_cast<AbortMessage**>(dlvsym(RTLD_DEFAULT, "__abort_msg", "GLIBC_PRIVATE"));
  begin(memory->where, 0, 0);
  add_stack(memory->where);  // whatever the unwinder sets up at its first use
  begin(memory->where, 0, 0);
  memory->pid = getpid();
  records = memory;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) handle(signal, die, 0);
  handle(SIGUSR1, tell_where, SA_RESTART);
  terminate_before = std::set_terminate(terminated);
  on_exit(exited, nullptr);
  at_quick_exit(exited_quickly);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  return 0;
}
