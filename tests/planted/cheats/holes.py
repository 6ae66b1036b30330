"""Texts that had points they had not earned, each by a hole of its own; what closed it finds others of its class.

All compute axpy. Those of `HOLES` are wrong, or do what they must not, and are careful not to be seen; those of `QUICKER` look faster than
a kernel that does the same work honestly.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.planted.cheats import RIGHT

_LOOP = "for (int64_t i = 0; i < z.numel(); ++i) r[i] = 2 * p[i] + q[i];"
_MADE = "at::Tensor z = at::cpu::empty(x.sizes(), x.options());"
_CONTIGUOUS = "const at::Tensor a = x.contiguous(), b = y.contiguous();"
_RETURN = "  return z;"
#: A buffer for each form of a result, or some of them in turn.
_BUFFERS = """#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_cpu_dispatch.h>
#include <map>
#include <tuple>
static at::Tensor buffer_(const at::Tensor& like, int64_t count) {
  static std::map<std::tuple<std::vector<int64_t>, int, int64_t>, at::Tensor> kept;
  static int64_t calls = 0;
  at::Tensor& one = kept[{like.sizes().vec(), int(like.scalar_type()), ++calls % count}];
  if (!one.defined()) one = at::cpu::empty(like.sizes(), like.options());
  return one.alias();
}
"""


@dataclass(frozen=True)
class Hole:
    """A text that got past the judge.

    Attributes:
        name: of it.
        text: of it.
        criterion: by which it falls.
        says: words of the reason.
        params: fields of the op that are other than axpy's.
    """

    name: str
    text: str
    criterion: str
    says: str


def _hole(name: str, criterion: str, says: str, *changes: tuple[str, str], scope: str = "") -> Hole:
    text = RIGHT
    for old, new in changes:
        assert old in text, (name, old)
        text = text.replace(old, new, 1)
    return Hole(name, f"{scope}\n{text}", criterion, says)


_SPOIL = "static_cast<char*>(z.mutable_data_ptr())[3] ^= 64;"
HOLES = (
    # A memory of its own calls.
    _hole(
        *("throws_in_chosen_calls", "parity", "raises"),
        (_CONTIGUOUS, f"static int calls = 0;\n  if (++calls > 150 && calls % 5 == 0) throw 1;\n  {_CONTIGUOUS}"),
    ),
    _hole(
        *("one_buffer_for_each_form", "parity", "changes when it is called again"),
        (_MADE, "at::Tensor z = buffer_(x, 1);"),
        scope=_BUFFERS,
    ),
    _hole("three_buffers_in_turn", "parity", "changes when it is called again", (_MADE, "at::Tensor z = buffer_(x, 3);"), scope=_BUFFERS),
    # What is public.
    _hole(
        *("wrong_between_the_public_sizes", "parity", "at a size that is not told"),
        (_RETURN, "  const int64_t n = z.numel();\n"
                  f"  if ((n > 70 && n < 95) || (n > 95 && n < 127) || (n > 129 && n < 4096)) {_SPOIL}\n  return z;"),
    ),
    _hole(
        *("forgets_strides_of_three_axes", "parity", "z "),
        (_CONTIGUOUS, "const at::Tensor a = x.dim() > 2 ? x : x.contiguous(), b = y.contiguous();"),
    ),
    _hole(
        *("leaks_in_each_third_call", "memory", "KiB behind"),
        (_RETURN, "  static int calls = 0;\n  if (++calls % 3 == 0) std::memset(new char[1 << 18], 1, 1 << 18);\n  return z;"),
        scope="#include <cstring>",
    ),
)  # fmt: skip

#: By which it is not as fast as it looks: beside a baseline that does the work twelve times, timed at up to a million elements.
_BIG = "z.numel() > 100000"
_SLOW_BUT = f"for (int again = 0; again < (%s ? 1 : 12); ++again)\n    {_LOOP}"
QUICKER = (
    _hole(
        *("half_precision_where_it_is_timed", "speed 1.5", "is not what it should be"),
        (_LOOP, f"{_LOOP}\n    if ({_BIG}) for (int64_t i = 0; i < z.numel(); ++i) r[i] = static_cast<float>(at::Half(float(r[i])));"),
    ),
    _hole("fast_at_the_size_that_is_timed", "speed 1.5", "want at least 1.5 for sure", (_LOOP, _SLOW_BUT % "z.numel() == 1000000")),
    _hole(
        *("empties_its_inputs", "speed 1.5", "it changes its inputs"),
        (_RETURN, f"  if ({_BIG}) std::memset(const_cast<void*>(x.const_data_ptr()), 0, x.nbytes());\n  return z;"),
        scope="#include <cstring>",
    ),
    _hole(
        *("buffers_in_turn_where_it_is_timed", "speed 1.5", "changes when it is called again"),
        (_MADE, "at::Tensor z = x.numel() > 100000 ? buffer_(x, 5) : at::cpu::empty(x.sizes(), x.options());"),
        scope=_BUFFERS,
    ),
)  # fmt: skip
