"""PTX, the code that nvcc makes of a CUDA text for any GPU, read by line; and what ptxas says that a GPU needs for it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..autopsy.symbolize import own_name
from ..build.compiler import run_jobs
from ..build.job import compile_checks, make_job
from ..build.nvcc import Nvcc
from ..build.toolchain import find_toolchain
from ..model.registry import Kernel
from ..run.setting import Setting

#: Where a function begins; a file by its number; where what follows comes from, and to where it was inlined.
_FUNCTION = re.compile(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)")
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
_LOC = re.compile(r"\.loc\s+(\d+ \d+ \d+)(?:.*inlined_at (\d+ \d+ \d+))?")
_LABEL = re.compile(r"([$\w]+):$")
_USES = re.compile(r"Compiling entry function '(\w+)'.*?(?=Compiling entry|\Z)", re.DOTALL)


def listed(text: str, file: str) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield the functions of a PTX text, with each instruction and its line in a file; 0 for one that has none there.

    Args:
        text: of nvcc, made with `-lineinfo`.
        file: what `#line` calls the user's text.

    Example:
        >>> text = '.entry f() {\\n.loc 1 3 1\\n$L1:\\nadd.f32 %f1, %f1, %f2;\\nbra $L1;\\n}\\n.file 1 "op/mine"'
        >>> list(listed(text, "op/mine"))
        [('f', [('add.f32 %f1, %f1, %f2', 3), ('bra 0', 3)])]
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
            yield name, [(_with_targets(row, labels), at) for row, at in rows]


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
    toolchain = replace(toolchain, nvcc=toolchain.nvcc.with_flags(("-lineinfo",)))
    jobs = [compile_checks([make_job(kernel, toolchain)])[0] for kernel in kernels]
    assert toolchain.nvcc is not None
    return toolchain.nvcc, [build.path for build in run_jobs(jobs, setting.progress)]


def uses_of(path: Path, nvcc: Nvcc) -> dict[str, str]:
    """Say by kernel what ptxas needs for it, in words; nothing where ptxas is not there."""
    ptxas = shutil.which("ptxas", path=str(Path(nvcc.home) / "bin")) or shutil.which("ptxas")
    architecture = next((flag.partition("=")[2] for flag in nvcc.flags if flag.startswith("-arch=")), "")
    if ptxas is None or not architecture:
        return {}
    command = [ptxas, "-v", f"-arch={architecture}", str(path), "-o", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return {match[1]: _uses(match[0]) for match in _USES.finditer(said.stderr + said.stdout)}


def _uses(said: str) -> str:
    """Say what one kernel needs.

    Example:
        >>> _uses("0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\\nUsed 24 registers, used 1 barriers, 2048 bytes smem")
        '24 registers a thread, 2048 bytes of shared memory a block, 8 bytes a thread spilled to memory'
    """

    def number(pattern: str) -> int:
        found = re.search(rf"(\d+) {pattern}", said)
        return int(found[1]) if found else 0

    parts = [f"{number('registers')} registers a thread", f"{number('bytes smem')} bytes of shared memory a block"]
    spilled = max(number("bytes spill stores"), number("bytes spill loads"))
    return ", ".join([*parts, f"{spilled} bytes a thread spilled to memory" if spilled else "nothing spilled"])
