// What a processor tells of the instruction at which a thread was interrupted.

#include "recorder_stack.h"

#include <ucontext.h>

#include <cerrno>
#include <csignal>

namespace {

// What the processor knows of an interrupted thread.
struct Interrupted {
  uintptr_t pc = 0, sp = 0, caller = 0;
  bool is_page_fault = false, is_jump = false, is_waiting = false, is_still = false;
  int8_t write = -1;
};

Interrupted interrupted(const ucontext_t& context, int signal) {
  Interrupted found;
  const auto& machine = context.uc_mcontext;
  const bool is_fault = signal == SIGSEGV || signal == SIGBUS;
#if defined(__x86_64__)
  found.pc = machine.gregs[REG_RIP];
  found.sp = machine.gregs[REG_RSP];
  found.is_page_fault = is_fault && machine.gregs[REG_TRAPNO] == 14;
  if (found.is_page_fault) {
    found.is_jump = machine.gregs[REG_ERR] & 16;
    if (!found.is_jump) found.write = machine.gregs[REG_ERR] >> 1 & 1;
  }
  // The system call is begun anew afterwards, or fails with EINTR: the instruction is at hand, or just behind.
  const auto is_call = [](const unsigned char* code) { return code[0] == 0x0f && code[1] == 0x05; };
  if (!is_fault && object_of(found.pc)) {
    const auto* code = reinterpret_cast<const unsigned char*>(found.pc);
    found.is_waiting = is_call(code) || (machine.gregs[REG_RAX] == -EINTR && is_call(code - 2));
    found.is_still = code[0] == 0xeb && code[1] == 0xfe;  // a jump to itself
  }
#elif defined(__aarch64__)
  found.pc = machine.pc;
  found.sp = machine.sp;
  found.caller = machine.regs[30];
  const auto* next = reinterpret_cast<const _aarch64_ctx*>(machine.__reserved);
  for (; is_fault && next->magic;
       next = reinterpret_cast<const _aarch64_ctx*>(reinterpret_cast<const char*>(next) + next->size)) {
    if (next->magic != ESR_MAGIC) continue;
    const uint64_t esr = reinterpret_cast<const esr_context*>(next)->esr;
    found.is_jump = (esr >> 26) == 0x20;
    found.is_page_fault = found.is_jump || (esr >> 26) == 0x24;
    if (found.is_page_fault && !found.is_jump) found.write = esr >> 6 & 1;
  }
  if (!is_fault && object_of(found.pc)) {
    const auto* code = reinterpret_cast<const uint32_t*>(found.pc);
    constexpr uint32_t kCall = 0xd4000001;
    found.is_waiting = code[0] == kCall || (machine.regs[0] == uint64_t(-EINTR) && code[-1] == kCall);
    found.is_still = code[0] == 0x14000000;
  }
#endif
  return found;
}

}  // namespace
