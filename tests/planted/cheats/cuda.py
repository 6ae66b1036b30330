"""What a CUDA text may try so that more is counted, or less found, than it does: each must lose its points, each for its own reason."""

from __future__ import annotations

#: A right kernel: `HEAD` stands at file scope, `KERNEL` at the start of the kernel, `HOST` before the launch.
RIGHT = """
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
HEAD
__global__ void square(const float* x, float* y, int n) {
  KERNEL
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float own = i < n ? x[i] : 0.0f;
  if (i < n) y[i] = own * own;
}

at::Tensor forward(const at::Tensor& x) {
  const at::Tensor x_row = x.contiguous(), y = at::empty(x.sizes(), x.options());
  const int n = x.numel();
  if (n == 0) return y;
  HOST
  square<<<(n + 127) / 128, 128>>>(x_row.const_data_ptr<float>(), y.mutable_data_ptr<float>(), n);
  return y;
}
"""


def text(head: str = "", kernel: str = "", host: str = "") -> str:
    """Plant something into the right kernel."""
    return RIGHT.replace("HEAD", head).replace("KERNEL", kernel).replace("HOST", host)


_PUT = "#define PUT_(a, b) a##b\n#define PUT(a, b) PUT_(a, b)\n"
#: Refused before anything of it runs: name, text, words of the reason.
REFUSED = {
    "turns_the_checks_off": (text(kernel="cuda_cpu::lane = nullptr;"), "'cuda_cpu', a name of what checks and counts it"),
    "puts_the_name_together": (text(_PUT, "PUT(cuda_, cpu)::lane = nullptr;"), "'cuda_cpu', a name of what checks and counts it"),
    "has_a_header_put_it_together": (
        text("#include <sys/cdefs.h>\nnamespace theirs = __CONCAT(cuda_c, pu);"), "a name of what checks and counts it"),
    "declares_the_counters": (
        text('extern "C" void* _ZN8cuda_cpu5apart6countsEv();', host="*(long*)_ZN8cuda_cpu5apart6countsEv() = 0;"),
        "a name of what checks and counts it"),
    "takes_the_counts_away": (
        text('extern "C" const char* cuda_cpu_counts();', host="cuda_cpu_counts();"), "a name of what checks and counts it"),
    "defines_what_looks": (text('extern "C" void __tsan_read4(void*) {}'), "'__tsan_read4', a name of what checks and counts it"),
    "defines_it_by_a_macro": (
        text(_PUT + 'extern "C" { static void PUT(__tsan_, write4)(void*) {} }'), "a name of what checks and counts it"),
    "leaves_a_function": (text(kernel="__sanitizer_cov_trace_pc();"), "a name of what checks and counts it"),
    "switches_it_off": (
        text('__attribute__((no_sanitize("thread", "coverage")))'), "keeps what checks it from looking"),
    "switches_it_off_by_a_macro": (
        text(_PUT + '#define __global__ [[gnu::PUT(no_sanitize_, thread)]]'), "keeps what checks it from looking"),
    "switches_it_off_by_a_pragma": (text("#pragma GCC push_options"), "keeps what checks it from looking"),
    "hides_the_pragma": (
        text('_Pragma("clang attribute push(__attribute__((disable_sanitizer_instrumentation)), apply_to = function)")'),
        "keeps what checks it from looking"),
    "lets_a_launch_be_another": (text("#define Launch counts_("), "a macro of its own"),
    "writes_assembly": (text(kernel='asm volatile("");'), "inline assembly is closed"),
    "opens_the_book": (text("#include <sys/mman.h>", host="mprotect((void*)(1l << 44), 4096, 3);"), "pages of memory are closed"),
    "stores_by_the_library": (
        text("#include <cmath>", "std::frexp(x[0], reinterpret_cast<int*>(1l << 44));"), "functions that write where nobody looks"),
    "counts_in_a_thread": (
        text("#include <thread>", host="std::thread([] {}).join();"), "threads of its own are closed"),
    "asks_for_values": (text(host="if (x_row[0].item<float>() > 1e9f) return y;"), "to the host are closed"),
    "has_torch_compute": (
        text("#include <ATen/ops/mul.h>", host="at::Tensor z = at::mul(x_row, x_row); return z;"), "without ATen"),
}  # fmt: skip

#: Run, and found out: name, text, the criterion that must fall, words of the reason.
FOUND = {
    "computes_on_the_host": (
        text(host="for (int i = 0; i < n; ++i) y.mutable_data_ptr<float>()[i] = x_row.const_data_ptr<float>()[i];"),
        "parity", "by code of the host"),
    "copies_to_the_host": (
        text("#include <vector>", host="std::vector<float> v(n); cudaMemcpy(v.data(), x_row.const_data_ptr<float>(), 4 * n, "
             "cudaMemcpyDeviceToHost);"), "parity", "by code of the host"),
    "writes_into_the_book": (
        text(kernel="*reinterpret_cast<volatile long*>(1l << 44) = 0;"), "bounds", "out of bounds: memory that belongs to no tensor"),
    "writes_into_the_book_on_the_host": (
        text(host="*reinterpret_cast<volatile long*>(1l << 44) = 0;"), "parity", "crashes (SIGSEGV)"),
    "swallows_what_is_found": (
        text(host="try { square<<<1, 64>>>(x_row.const_data_ptr<float>(), y.mutable_data_ptr<float>(), n + 64); } catch (...) {}"),
        "bounds", "out of bounds: x"),
    "races": (text(kernel="y[0] = float(threadIdx.x);"), "races", "race: y[0]"),
    "launches_less_when_it_is_counted": (
        text(host="static int calls = 0; if (++calls % 2) "), "launches 1", "launches per call|does not do the same|wrong"),
    "takes_what_lies_apart": (
        text("#define blockIdx blockIdx_\n__device__ struct { int x; } blockIdx_ = {0};"), "parity", ""),
    "strides": (
        text(kernel="if (int k = (threadIdx.x * 8 + threadIdx.x / 16) % 128 + blockIdx.x * 128; true) { if (k < n) y[k] = "
             "x[k] * x[k]; return; }"), "sectors 1.2", "times as many 32-byte sectors"),
}  # fmt: skip
