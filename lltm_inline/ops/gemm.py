"""C++ text for kernels that live by their GEMMs: each product by the faster of the two libraries that PyTorch brings.

`at::mm` of float32 is MKL. MKL does not use AVX-512 on AMD; oneDNN, which PyTorch has for other purposes, does. On a Zen 5,
whose arithmetic is 512 bits wide, that doubles the speed of a large GEMM; on a Zen 4, which takes such an instruction in two
halves, it gains between nothing and a third; on Intel the two are about level. So nothing is assumed, it is measured:

    gemm::faster("d_w", like, M, N, K, mkl, onednn)     calls one of two functions that give the same

does both when a product of this name and class (M, N and K, each up to the next power of two, and the number of threads)
comes for the first time: once to warm up, then in turns, five at least and for five milliseconds. The one with the
shorter best time does this class for the rest of the process: the two round differently, and the same inputs must give
the same bits. oneDNN must be ahead by some margin, its time below `AHEAD` times MKL's: a product that is measured alone
finds its factors in the cache, and a small lead may be gone between other work. Below `SMALL` multiply-adds it is
MKL without a question, because oneDNN costs some microseconds more per call.

`LIBRARY` takes the choice out of the clock's hands: 1 is always MKL, 2 always oneDNN, 0 as above. Set it where bits must
be the same from one run of a program to the next: another process may choose differently. float64 is always MKL:
oneDNN has no double. So is everything where this torch has no oneDNN or was told not to use it
(`torch.backends.mkldnn.flags(enabled=False)`). `gemm_choices` shows what was found.

oneDNN has no function for a b; the operator `mkldnn::_linear_pointwise` is x w^T + b, here called by its C name, which
spares the dispatcher. Every product can be written so, with x = a and w = b^T:

* x must be dense, a row next to a row; a transposed factor is copied for it. The time of the copy is in the
  measurement, so it is made where it pays.
* w may be dense or the transpose of a dense matrix, so b needs no copy.
* Trap: of a w with gaps between its rows, as `weights[:, S:]` has, oneDNN takes the elements one by one. The result is
  right, and comes a thousand times later. `gemm::onednn` copies such a factor.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from ..compiling.compiler import Build, verify

#: What a kernel's `params` must hold for `TEXT`.
PARAMS = {"LIBRARY": 0, "SMALL": 1 << 18, "AHEAD": 0.8}

HEADERS = """\
#include <ATen/Context.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/empty_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <torch/csrc/inductor/aoti_torch/c/shim_cpu.h>
#include <torch/csrc/stable/c/shim.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <string>
"""

TEXT = r"""
// Null where this torch has no oneDNN.
extern "C" __attribute__((weak)) decltype(aoti_torch_cpu__linear_pointwise) aoti_torch_cpu__linear_pointwise;

// The product of two matrices, by either library.
namespace gemm {

inline at::Tensor mkl(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor out = at::cpu::empty({a.size(0), b.size(1)}, a.options());
  return at::cpu::mm_out(out, a, b);
}

bool onednn_can(const at::Tensor& m) {
  return m.scalar_type() == at::kFloat && at::hasMKLDNN() && at::globalContext().userEnabledMkldnn() &&
      &aoti_torch_cpu__linear_pointwise != nullptr;
}

inline AtenTensorHandle handle(const at::Tensor& m) { return reinterpret_cast<AtenTensorHandle>(const_cast<at::Tensor*>(&m)); }

// a b, and a row added to each row of it if there is one.
at::Tensor onednn(const at::Tensor& a, const at::Tensor& b, const at::Tensor* row = nullptr) {
  const at::Tensor x = a.contiguous();
  at::Tensor w = at::cpu::as_strided(b, {b.size(1), b.size(0)}, {b.stride(1), b.stride(0)}, b.storage_offset());
  if (!b.is_contiguous()) w = w.contiguous();  // never with gaps between rows
  AtenTensorHandle bias = row ? handle(*row) : nullptr, result;
  const auto error =
      aoti_torch_cpu__linear_pointwise(handle(x), handle(w), row ? &bias : nullptr, "none", nullptr, 0, nullptr, &result);
  TORCH_CHECK(!error, "oneDNN failed; the param LIBRARY = 1 takes MKL: kernel.replace(params={'LIBRARY': 1})");
  const std::unique_ptr<at::Tensor> owner(reinterpret_cast<at::Tensor*>(result));
  return std::move(*owner);
}

struct Choice {
  int64_t M, N, K;  // of the first product of its class
  double mkl = INFINITY, onednn = INFINITY;  // seconds
  bool is_onednn() const { return onednn < AHEAD * mkl; }
};

std::mutex choosing;
std::map<std::tuple<std::string, int, int, int, int>, Choice> choices;  // by name, threads, and class of M, N, K

template <class F> double seconds(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Calls one of two functions that give the same: the faster at this size, found by trying when its class first comes.
template <class Mkl, class OneDnn>
auto faster(const char* name, const at::Tensor& like, int64_t M, int64_t N, int64_t K, const Mkl& mkl, const OneDnn& onednn) {
  if (LIBRARY == 1 || M * N * K == 0 || !onednn_can(like)) return mkl();
  if (LIBRARY == 2) return onednn();
  if (M * N * K < SMALL) return mkl();
  uint32_t threads = 1;
  torch_get_num_threads(&threads);
  const auto up = [](int64_t n) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(n - 1))); };
  const auto key = std::make_tuple(std::string(name), static_cast<int>(threads), up(M), up(N), up(K));
  {
    std::unique_lock lock(choosing);
    if (const auto found = choices.find(key); found != choices.end()) {
      const bool first = found->second.is_onednn();
      lock.unlock();
      return first ? onednn() : mkl();
    }
  }
  mkl();
  onednn();  // generates its code
  Choice choice{M, N, K};
  double spent = 0;
  for (int turn = 0; turn < 5 || spent < 5e-3; ++turn) {
    const double one = seconds(mkl), other = seconds(onednn);
    choice.mkl = std::min(choice.mkl, one);
    choice.onednn = std::min(choice.onednn, other);
    spent += one + other;
  }
  std::unique_lock lock(choosing);
  choice = choices.emplace(key, choice).first->second;  // of two threads that tried, the first decides
  lock.unlock();
  return choice.is_onednn() ? onednn() : mkl();
}

}  // namespace gemm

extern "C" __attribute__((visibility("default"))) const char* gemm_choices() {
  static thread_local std::string text;
  const std::lock_guard lock(gemm::choosing);
  text.clear();
  for (const auto& [key, c] : gemm::choices) {
    text += std::get<0>(key);
    for (const int64_t n : {static_cast<int64_t>(std::get<1>(key)), c.M, c.N, c.K}) text += "\t" + std::to_string(n);
    for (const double s : {c.mkl, c.onednn}) text += "\t" + std::to_string(s * 1e6);
    text += c.is_onednn() ? "\toneDNN\n" : "\tMKL\n";
  }
  return text.c_str();
}

"""


@dataclass(frozen=True)
class GemmChoice:
    """Which library does the products of one name and class.

    Attributes:
        product: what the kernel calls it, `"d_weights"`.
        threads: with which it was measured.
        rows, columns, length: of the first product of its class: (rows, length) times (length, columns).
        mkl_us, onednn_us: the best time of each, copies included, in microseconds.
        library: `"MKL"` or `"oneDNN"`.
    """

    product: str
    threads: int
    rows: int
    columns: int
    length: int
    mkl_us: float
    onednn_us: float
    library: str

    def __str__(self) -> str:
        size = f"({self.rows}, {self.length}) x ({self.length}, {self.columns})"
        return (
            f"{self.product:<18}  {size:<28}  {self.threads} thread{'s' if self.threads > 1 else ' '}"
            f"  MKL {self.mkl_us:8.1f} us  oneDNN {self.onednn_us:8.1f} us  -> {self.library}"
        )


def gemm_choices(build: Build) -> list[GemmChoice]:
    """List what this process has measured so far for one kernel whose text holds `TEXT`, and chosen.

    Args:
        build: what `li.build` returned for the kernel or a revision of it.

    Returns:
        One entry for each class of products that came up; empty before the first call, and for float64 alone.

    Raises:
        CacheError: the library is not there any more, or not what was built.
        AttributeError: the kernel's text has no choice to make.

    Example:
        >>> import torch, lltm_inline as li
        >>> build, cell = li.build("lltm/onednn"), li.load("lltm/onednn")
        >>> B, F, S = 64, 96, 32
        >>> h, c = cell(torch.randn(B, F), torch.randn(3 * S, S + F), torch.randn(3 * S), torch.zeros(B, S), torch.zeros(B, S))
        >>> {choice.library for choice in gemm_choices(build)} <= {"MKL", "oneDNN"}  # empty where torch has no oneDNN
        True
    """
    verify(build)
    library = ctypes.CDLL(str(build.path))
    library.gemm_choices.restype = ctypes.c_char_p
    found = []
    for line in library.gemm_choices().decode().splitlines():
        product, threads, rows, columns, length, mkl, onednn, name = line.split("\t")
        sizes = int(threads), int(rows), int(columns), int(length)
        found.append(GemmChoice(product, *sizes, float(mkl), float(onednn), name))
    return found
