"""What must work wherever people write kernels, cell by cell: run by the Python of the environment that is tried, with what it has.

    python walk.py kernel       in a Jupyter kernel, as Colab, Kaggle, JupyterLab and VS Code run cells
    python walk.py kernel 7 12  these alone, after the first
    python walk.py shell        in plain IPython, as `ipython` in a terminal
    python walk.py notebook F   the cells of a notebook, in a Jupyter kernel

It prints a line of JSON for each cell. It imports nothing of this project, so that what is tried is what has been installed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What a cell may take on a slow and busy machine: a header of torch is compiled in half a minute.
PATIENCE = 900
WIDGET = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True)
class Cell:
    """One cell, and what has to be read below it.

    Attributes:
        name: of what is shown by it, as the table has it.
        code: as typed.
        want: a pattern that is found in what the cell shows, errors and their names among it.
        fails: it must raise.
    """

    name: str
    code: str
    want: str
    fails: bool = False


_SNIPPET = '''
source = """
torch::Tensor row_softmax(torch::Tensor x) {
  auto e = x.exp();
  return e / e.sum(1, true);
}
"""
kernel = li.from_load_inline(
    "ext", source, functions=["row_softmax"], reference=lambda x: torch.softmax(x, 1), inputs=(torch.randn(3, 5),)
)
print(li.check(kernel).headline)
print(li.check(kernel.edit("x.exp()", "(x - std::get<0>(x.max(1, true))).exp()")).headline)
'''

_COMPLETION = """
from IPython.core.completer import provisionalcompleter
line = "%kernel show lltm/fu"
with provisionalcompleter():
    print([found.text for found in get_ipython().Completer.completions(line, len(line))])
"""

_CELL = """%%kernel axpy/mine --from axpy/cpp --check
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>

at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor x_row = x.contiguous(), y_row = y.contiguous();
  const at::Tensor z = at::empty_like(x_row);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "axpy", [&] {
    for (int64_t i = 0; i < z.numel(); ++i) {
      z.mutable_data_ptr<scalar_t>()[i] =
          scalar_t(A) * x_row.const_data_ptr<scalar_t>()[i] + y_row.const_data_ptr<scalar_t>()[i];
    }
  });
  return z;
}

std::tuple<at::Tensor, at::Tensor> backward(const at::Tensor& d_z, std::array<bool, 2> wanted) {
  return {wanted[0] ? at::mul(d_z, A) : at::Tensor(), wanted[1] ? d_z.clone() : at::Tensor()};
}
"""

_EXPORT = """
import subprocess, sys, tempfile
room = tempfile.mkdtemp()
exported = li.export("axpy/cpp", f"{room}/axpy_cpp", progress=False)
install = [sys.executable, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "--target", f"{room}/site"]
done = subprocess.run([*install, f"{room}/axpy_cpp"], capture_output=True, text=True)
print(f"{done.stdout}{done.stderr}"[-3000:] if done.returncode else "built")
sys.path.insert(0, f"{room}/site")
import axpy_cpp
x, y = torch.randn(2, 7)
print("agrees:", torch.allclose(axpy_cpp.axpy(x, y), li.registry.ops["axpy"].reference(x, y)))
"""

_PLOT = """
timings = li.benchmark(["axpy/python", "axpy/cpp"], sizes=[(1000,)], progress=False)
li.plot(timings).savefig("timings.png")
print(timings.verdict(), "plotted:", open("timings.png", "rb").read(4) == b"\\x89PNG")
"""

CELLS = (
    Cell("load_ext", "%load_ext lltm_inline\nimport torch, lltm_inline as li\nprint(li.__version__)", r"\d+\.\d+"),
    Cell("completion", _COMPLETION, "'lltm/fused'"),
    Cell("cell with --check", _CELL, "check of axpy/mine on cpu: right"),
    Cell("lltm/fused", "print(li.check('lltm/fused').headline)", r"'lltm/fused' is right in \d+ cases"),
    Cell("pasted snippet", _SNIPPET, r"(?s)got nan, want 1.*@1' is right in \d+ cases"),
    Cell(
        "wrong kernel",
        "print(li.check(li.registry['axpy/cpp'].edit('* x_p[i] + y_p[i]', '* x_p[i] - y_p[i]')).headline)",
        "differs in all 23 elements",
    ),
    Cell(
        "does not compile",
        "li.build(li.registry['axpy/cpp'].edit('* x_p[i] + y_p[i];', '* x_p[i] + y_p[i]'))",
        r"(?s)BuildError.*axpy/cpp.*;",
        fails=True,
    ),
    Cell(
        "cuda-cpu",
        "print(li.check('block_sum/cuda', device='cuda-cpu').headline)",
        r"'block_sum/cuda' is right in \d+ cases",
    ),
    Cell(
        "crash named",
        "print(li.check(li.registry['axpy/cpp'].edit('* x_p[i]', '* x_p[i + 1]')).headline)",
        r"SIGSEGV.*:15: it reads x\[1\], 1 element past the end of x \(1,\) float64",
    ),
    Cell("plot", _PLOT, "plotted: True"),
    Cell("export built and used", _EXPORT, r"(?s)built.*agrees: True"),
    Cell("panel", "panel = li.playground('axpy')\npanel", re.escape(WIDGET)),
)
#: In plain IPython there is no page that a panel could be on: it says so.
WITHOUT_A_PAGE = {
    "panel": Cell("panel", "li.playground('axpy')", "li.playground needs a notebook, and this is none", fails=True)
}

#: Runs a cell; returns what it showed, and whether it raised.
Run = Callable[[str], tuple[str, bool]]


@contextlib.contextmanager
def in_kernel() -> Iterator[Run]:
    """Give a Jupyter kernel of this Python to run cells in."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(startup_timeout=PATIENCE, extra_arguments=["--HistoryManager.enabled=False"])

    def run(code: str) -> tuple[str, bool]:
        shown: list[str] = []

        def hear(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "error":
                shown.extend([content["ename"], *content["traceback"]])
            shown.append(content.get("text", ""))
            for kind, data in content.get("data", {}).items():
                shown.extend([kind, data if kind == "text/plain" else ""])

        reply = client.execute_interactive(code, timeout=PATIENCE, output_hook=hear)
        return "\n".join(filter(None, shown)), reply["content"]["status"] != "ok"

    try:
        yield run
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@contextlib.contextmanager
def in_shell() -> Iterator[Run]:
    """Give the IPython of a terminal to run cells in."""
    from IPython.terminal.interactiveshell import TerminalInteractiveShell

    shell = TerminalInteractiveShell.instance()

    def run(code: str) -> tuple[str, bool]:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            done = shell.run_cell(code)
        return out.getvalue(), not done.success

    yield run


def of_notebook(path: Path) -> tuple[Cell, ...]:
    """Return the code cells of a notebook; one with a line `# shows: PATTERN` has to show that."""
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    found = []
    for number, cell in enumerate(cells, 1):
        meta = cell["metadata"].get("shows", {})
        found.append(
            Cell(f"{path.stem} {number}", "".join(cell["source"]), meta.get("pattern", ""), meta.get("fails", False))
        )
    return tuple(found)


def main(how: str, *rest: str) -> int:
    """Run the cells, and print what came of each."""
    cells = of_notebook(Path(rest[0])) if how == "notebook" else CELLS
    if how == "kernel" and rest:
        cells = (CELLS[0], *CELLS[int(rest[0]) : int(rest[1])])
    failed = 0
    with in_shell() if how == "shell" else in_kernel() as run:
        for cell in cells:
            wanted = WITHOUT_A_PAGE.get(cell.name, cell) if how == "shell" else cell
            began = time.perf_counter()
            shown, raised = run(wanted.code)
            plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
            right = raised == wanted.fails and re.search(wanted.want, plain) is not None
            failed += not right
            line = {"cell": cell.name, "right": right, "seconds": round(time.perf_counter() - began, 1)}
            print(json.dumps(line if right else {**line, "shown": plain[-4000:]}), flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
