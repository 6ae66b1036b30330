"""PTX, the code that nvcc makes of a CUDA text for any GPU, read by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..autopsy.symbolize import own_name
from ..compiling.compiler import run_jobs
from ..compiling.job import compile_checks, make_job
from ..compiling.nvcc import Nvcc
from ..compiling.toolchain import find_toolchain
from ..model.registry import Kernel
from ..run.setting import Setting

#: Where a function begins; a file by its number; where what follows comes from, and to where it was inlined.
_FUNCTION = re.compile(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)")
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
_LOC = re.compile(r"\.loc\s+(\d+ \d+ \d+)(?:.*inlined_at (\d+ \d+ \d+))?")
_LABEL = re.compile(r"([$\w]+):$")


def listed(text: str, file: str) -> Iterator[tuple[str, list[tuple[int, str, int]]]]:
    """Yield the functions of a PTX text, with number, text and line in a file of each instruction; line 0 for one that has none there.

    Args:
        text: of nvcc, made with `-lineinfo`.
        file: what `#line` calls the user's text.

    Example:
        >>> text = '.entry f() {\\n.loc 1 3 1\\n$L1:\\nadd.f32 %f1, %f1, %f2;\\nbra $L1;\\n}\\n.file 1 "op/mine"'
        >>> list(listed(text, "op/mine"))
        [('f', [(0, 'add.f32 %f1, %f1, %f2', 3), (1, 'bra 0', 3)])]
    """
    files = {number for number, path in _FILE.findall(text) if own_name(path) == file}
    callers = {at: above for at, above in _LOC.findall(text) if above}

    def line_of(place: str) -> int:
        seen = set[str]()
        while place and place not in seen:
            seen.add(place)
            number, line, _ = place.split()
            if number in files:
                return int(line)
            place = callers.get(place, "")
        return 0

    for name, body in _functions(text):
        rows: list[tuple[str, int]] = []
        labels: dict[str, int] = {}
        line, begun = 0, ""
        for row in body:
            if place := _LOC.match(row):
                line = line_of(place[1])
            elif label := _LABEL.match(row):
                labels[label[1]] = len(rows)
            elif begun or not row.startswith((".", "//", "{", "}", "(", ")")):
                begun = f"{begun} {row}".strip()
                if begun.endswith(";"):
                    rows.append((_as_listed(" ".join(begun[:-1].split())), line))
                    begun = ""
        if any(at for _, at in rows):
            yield name, [(number, _with_targets(row, labels), at) for number, (row, at) in enumerate(rows)]


def _as_listed(row: str) -> str:
    """Write a call as objdump does.

    Example:
        >>> _as_listed("call.uni (retval0), vprintf, ( param0, param1 )")
        'call.uni 0 <vprintf>'
    """
    return re.sub(r"(call(?:\.uni)?) (?:\([^)]*\), )?([A-Za-z_][\w$]*)\b.*", r"\1 0 <\2>", row)


def _with_targets(row: str, labels: Mapping[str, int]) -> str:
    """Put the number of an instruction where a label of it stands."""
    return re.sub(r"\$L\w+", lambda label: f"{labels.get(label[0], 0):x}", row)


def _functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the lines of each function that has a body."""
    name, depth, body = "", 0, list[str]()
    for row in map(str.strip, text.splitlines()):
        row = row.partition("//")[0].strip() or row
        if depth == 0 and (head := _FUNCTION.search(row)):
            name, body = head[1], []
        depth += row.count("{") - row.count("}")
        if depth:
            body.append(row)
        elif row.endswith("}") and name:
            yield name, body
            name = ""


def compiled(kernels: Sequence[Kernel], setting: Setting) -> tuple[Nvcc, list[Path]]:
    """Compile CUDA texts to PTX with the lines of the source, unless the cache has them; no GPU is needed.

    Raises:
        BuildError, ToolchainError: as for `build`.
    """
    toolchain = find_toolchain(setting.compiler, setting.cflags, setting.device, compile_only=True)
    assert toolchain.nvcc is not None
    nvcc = toolchain.nvcc.with_flags(("-lineinfo",))
    jobs = [compile_checks([make_job(kernel, replace(toolchain, nvcc=nvcc))])[0] for kernel in kernels]
    return nvcc, [build.path for build in run_jobs(jobs, setting.progress)]
