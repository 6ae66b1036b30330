"""A snippet for load_inline, brought in as it is, beside plain `load_inline`: paste to first result, an edit, and one call.

Texts include `torch/extension.h`. Each side begins in a process of its own without any cache; `import torch` is not counted.
At a prompt the import begins to make what all kernels share: there the text is pasted when that is made, and how long it took is a row.
An edit is one for which the precompiled header is there; plain `load_inline` keeps nothing from one to the next. What wrapping adds to
a call is the call of `li.load` less that of the module which `load_inline` makes of the same text, in one process, in turns.
"""

from __future__ import annotations

from pathlib import Path

from common import Results, arguments, compilers, scratch, timed_python

#: The name of a function, and its text.
TEXTS = {
    "scale": """
#include <torch/extension.h>
torch::Tensor scale(torch::Tensor x) { return x * 2; }
""",
    "row_norms": """
#include <torch/extension.h>
#include <cmath>
torch::Tensor row_norms(torch::Tensor x) {
  TORCH_CHECK(x.dim() == 2, "x must be a matrix");
  auto out = torch::empty({x.size(0)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "row_norms", [&] {
    auto in = x.accessor<scalar_t, 2>();
    auto norms = out.accessor<scalar_t, 1>();
    for (int64_t i = 0; i < in.size(0); ++i) {
      scalar_t sum = 0;
      for (int64_t j = 0; j < in.size(1); ++j) sum += in[i][j] * in[i][j];
      norms[i] = std::sqrt(sum);
    }
  });
  return out;
}
""",
}

#: At a prompt: as where somebody pastes the text into a notebook after having imported the package and read on.
PROMPT = """
import sys, time
sys.ps1 = ">>> "
import torch, torch.utils.cpp_extension
sys.path.insert(0, {benchmarks!r})
began = time.perf_counter()
from common import fresh, li
from lltm_inline import native
from lltm_inline.compiling import cache
while len(cache.entries(["kernels"])) < len(native.BESIDE):
    time.sleep(0.05)
shared = time.perf_counter() - began
"""

#: What both sides begin with; `edited` makes a text that no cache knows.
HEAD = """
import json, os, sys, time
sys.path.insert(0, {benchmarks!r})
import torch, torch.utils.cpp_extension
from common import fresh, li
from from_load_inline import TEXTS
name, x = {name!r}, torch.ones(3, 5)

def edited():
    return TEXTS[name].replace("sum = 0", f"sum = 0 * scalar_t({{fresh()}})").replace("x * 2", f"x * {{fresh()}}")
"""

OURS = (
    HEAD
    + """
from lltm_inline.compiling import header
from lltm_inline.compiling.toolchain import find_toolchain
seconds = []
for _ in range({edits}):
    text = edited()
    start = time.perf_counter()
    kernel = li.from_load_inline("ext", text, functions=[name], inputs=(x,))
    li.load(kernel, compiler={compiler!r}, progress=False)(x)
    seconds.append(time.perf_counter() - start)
    if {edits} > 1:
        header.wait(find_toolchain({compiler!r}), "types")  # of what such texts include
print(json.dumps({{"seconds": seconds, "shared": globals().get("shared")}}))
"""
)

PLAIN = (
    HEAD
    + """
seconds = []
for _ in range(2):
    text = edited()
    start = time.perf_counter()
    module = torch.utils.cpp_extension.load_inline("ext", text, functions=[name])
    getattr(module, name)(x)
    seconds.append(time.perf_counter() - start)

ours = li.load(li.from_load_inline("ext", text, functions=[name], inputs=(x,)), progress=False)
ways = {{"ours": ours, "plain": getattr(module, name)}}
torch.set_num_threads(1)
calls = {{way: [] for way in ways}}
with torch.no_grad():
    for _ in range({rounds}):
        for way, call in ways.items():
            start = time.perf_counter()
            for _ in range(500):
                call(x)
            calls[way].append((time.perf_counter() - start) / 500)
print(json.dumps({{"seconds": seconds, **calls}}))
"""
)


def main() -> None:
    """Take the samples in turns and save them."""
    quick = arguments(__doc__).quick
    results = Results("from_load_inline", quick)
    here = str(Path(__file__).resolve().parent)
    for name in list(TEXTS)[: 1 if quick else None]:
        for compiler in compilers()[: 1 if quick else None]:
            for _ in range(1 if quick else 2):
                with scratch() as directory:
                    where = {
                        "LLTM_INLINE_CACHE": str(directory / "ours"),
                        "TORCH_EXTENSIONS_DIR": str(directory / "plain"),
                    }
                    given = {"benchmarks": here, "name": name, "compiler": compiler, "rounds": 5 if quick else 40}
                    given["edits"] = 1
                    prompt = timed_python(
                        (PROMPT + OURS).format(**given), CXX=compiler, LLTM_INLINE_CACHE=str(directory / "prompt")
                    )
                    results.add(f"{name} lltm_inline {compiler}, first at a prompt", *prompt["seconds"])
                    results.add(f"{name} lltm_inline {compiler}, what all kernels share", prompt["shared"])
                    given["edits"] = 3
                    first, _, edit = timed_python(OURS.format(**given), CXX=compiler, **where)["seconds"]
                    results.add(f"{name} lltm_inline {compiler}, first", first)
                    results.add(f"{name} lltm_inline {compiler}, edit", edit)
                    plain = timed_python(PLAIN.format(**given), CXX=compiler, **where)
                    first, edit = plain["seconds"]
                    results.add(f"{name} plain {compiler}, first", first)
                    results.add(f"{name} plain {compiler}, edit", edit)
                    for way, label in (("ours", "lltm_inline"), ("plain", "plain")):
                        results.rows.setdefault(f"{name} {label} {compiler}, a call", []).extend(plain[way])
            for what, base, target in (
                ("first", "first", 1.0),
                ("first at a prompt", "first", 0.3),
                ("edit", "edit", 0.25),
            ):
                row, base = f"{name} lltm_inline {compiler}, {what}", f"{name} plain {compiler}, {base}"
                results.compare(f"{name}, {compiler}: {what} over plain", row, base, target)
            # Of the shortest samples: a few microseconds drown in what else the machine does.
            ours, base = (results.least(f"{name} {way} {compiler}, a call") for way in ("lltm_inline", "plain"))
            results.require(f"{name}, {compiler}: us of the wrapper per call", (ours - base) * 1e6, 1.0)
    results.save()


if __name__ == "__main__":
    main()
