"""The very first build on a machine: nothing cached, a new process, until the kernel is loaded and called.

`lltm_inline` compiles the kernel and the autograd bridge side by side and makes the precompiled header behind them;
plain `load_inline` compiles the kernel. `import torch` is not counted for either.
"""

from __future__ import annotations

from common import Results, arguments, compilers, scratch, timed_python

OURS = """
import json, sys, time
import torch, torch.utils.cpp_extension
sys.path.insert(0, {benchmarks!r})
from common import cell_inputs
import lltm_inline as li
from lltm_inline.compiling import header
from lltm_inline.compiling.toolchain import find_toolchain
inputs = cell_inputs()
start = time.perf_counter()
li.load("lltm/aten", compiler={compiler!r}, progress=False)(*inputs)
callable_after = time.perf_counter() - start
header.wait(find_toolchain({compiler!r}), "aten")
print(json.dumps({{"build": callable_after, "header": time.perf_counter() - start}}))
"""

PLAIN = """
import json, sys, time
import torch, torch.utils.cpp_extension
sys.path.insert(0, {benchmarks!r})
from common import cell_inputs, li, plain_load, plain_text
inputs, text = cell_inputs(), plain_text(li.registry["lltm/aten"])
start = time.perf_counter()
plain_load("plain", text).forward(*inputs)
print(json.dumps({{"build": time.perf_counter() - start}}))
"""


def main() -> None:
    """Take the samples in turns and save them."""
    from pathlib import Path

    quick = arguments(__doc__).quick
    results = Results("first_build", quick)
    here = str(Path(__file__).resolve().parent)
    for compiler in compilers():
        for _ in range(1 if quick else 2):
            with scratch() as directory:
                first = timed_python(
                    OURS.format(benchmarks=here, compiler=compiler), LLTM_INLINE_CACHE=str(directory / "ours")
                )
                results.add(f"lltm/aten lltm_inline {compiler}", first["build"])
                results.add(f"lltm/aten lltm_inline {compiler}, and its precompiled header", first["header"])
                code = PLAIN.format(benchmarks=here)
                second = timed_python(code, TORCH_EXTENSIONS_DIR=str(directory / "plain"), CXX=compiler)
                results.add(f"lltm/aten plain {compiler}", second["build"])
        row, base = f"lltm/aten lltm_inline {compiler}", f"lltm/aten plain {compiler}"
        results.compare(f"{compiler}: first build over plain", row, base, 1.0)
    results.save()


if __name__ == "__main__":
    main()
