"""What nvcc makes of a CUDA text, read by line: PTX, for any GPU; and what ptxas makes of that for one GPU, what a thread of it needs
and its machine code (SASS), which nvdisasm lists."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from ..autopsy.symbolize import own_name
from ..base.files import UTF8
from ..base.packages import pip_command
from ..compiling.compiler import run_jobs
from ..compiling.job import compile_checks, make_job
from ..compiling.nvcc import Nvcc
from ..compiling.toolchain import find_toolchain
from ..model.registry import Kernel
from ..run.setting import Setting

#: Where a function begins; a file by its number; where what follows comes from, and to where it was inlined.
_PTX_FUNCTION = re.compile(r"\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$]+)")
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
_LOC = re.compile(r"\.loc\s+(\d+ \d+ \d+)(?:.*inlined_at (\d+ \d+ \d+))?")
_PTX_LABEL = re.compile(r"([$\w]+):$")

_USES = re.compile(r"Compiling entry function '(\w+)'.*?(?=Compiling entry|\Z)", re.DOTALL)
#: Where what follows comes from. Of a call that was inlined there is a row for each caller, the innermost first.
_PLACE = re.compile(r'//## File "(.+?)", line (\d+)')
#: A function, or a place in one (`.L_x_3`).
_LABEL = re.compile(r"([\w$.]+):")
_INSTRUCTION = re.compile(r"/\*([0-9a-f]+)\*/\s+(.+?)\s*;.*")
_TO = re.compile(r"`\(([\w$.]+)\)")
#: The wheels that bring NVIDIA's tools: triton comes with torch for CUDA.
_WHEELS = (("triton", "backends/nvidia/bin"), ("nvidia", "*/bin"))
#: Of what a tool says when it fails.
_LETTERS = 200


def listed_ptx(text: str, file: str) -> Iterator[tuple[str, list[tuple[int, str, int]]]]:
    """Yield the functions of a PTX text, with number, text and line in a file of each instruction; line 0 for one that has none there.

    Args:
        text: of nvcc, made with `-lineinfo`.
        file: what `#line` calls the user's text.

    Example:
        >>> text = '.entry f() {\\n.loc 1 3 1\\n$L1:\\nadd.f32 %f1, %f1, %f2;\\nbra $L1;\\n}\\n.file 1 "op/mine"'
        >>> list(listed_ptx(text, "op/mine"))
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

    for name, body in _ptx_functions(text):
        rows: list[tuple[str, int]] = []
        labels: dict[str, int] = {}
        line, begun = 0, ""
        for row in body:
            if place := _LOC.match(row):
                line = line_of(place[1])
            elif label := _PTX_LABEL.match(row):
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


def _ptx_functions(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the lines of each function that has a body."""
    name, depth, body = "", 0, list[str]()
    for row in map(str.strip, text.splitlines()):
        row = row.partition("//")[0].strip() or row
        if depth == 0 and (head := _PTX_FUNCTION.search(row)):
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


def translated(path: Path, nvcc: Nvcc) -> tuple[str, dict[str, str], str]:
    """Translate PTX, which nvcc made with `-lineinfo`, for the GPU that it is made for, as far as the tools are there.

    Returns:
        What is listed, or what is missing; by kernel what it needs, in words, empty without ptxas; and what nvdisasm prints, empty
        where it is not there.
    """
    architecture = next(flag.partition("=")[2] for flag in nvcc.flags if flag.startswith("-arch="))
    is_ptx = "PTX, which the driver translates for its GPU."
    ptxas, nvdisasm = _tool("ptxas", nvcc), _tool("nvdisasm", nvcc)
    if ptxas is None:
        return f"{is_ptx} What a thread needs, and the machine code, take ptxas of the CUDA toolkit.", {}, ""
    with tempfile.TemporaryDirectory() as directory:
        cubin = os.path.join(directory, "cubin")
        said = _run(ptxas, "-v", "-lineinfo", f"-arch={architecture}", str(path), "-o", cubin)
        uses = {match[1]: _uses(match[0]) for match in _USES.finditer(said.stderr + said.stdout)}
        if nvdisasm is None:
            how = f"The machine code (SASS) itself takes nvdisasm: {pip_command('nvidia-cuda-nvdisasm')}"
            return f"{is_ptx} {how}", uses, ""
        done = said if said.returncode else _run(nvdisasm, "-c", "-gi", cubin)
    if done.returncode:
        why = " ".join(f"{done.stderr}{done.stdout}".split())[:_LETTERS]
        return f"{is_ptx} There is no machine code of it: {os.path.basename(done.args[0])}: {why}", uses, ""
    note = f"SASS, the machine code for {architecture}; TORCH_CUDA_ARCH_LIST chooses another GPU."
    return note, uses, done.stdout


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, **UTF8)


def _tool(name: str, nvcc: Nvcc) -> str | None:
    """Find a tool of the CUDA toolkit: beside nvcc, on PATH, or in a wheel."""
    found = ((find_spec(package), inside) for package, inside in _WHEELS)
    homes = [(home, inside) for spec, inside in found if spec for home in spec.submodule_search_locations or ()]
    wheels = [str(place) for home, inside in homes for place in Path(home).glob(inside)]
    places = [str(Path(nvcc.home) / "bin"), os.environ.get("PATH", ""), *wheels]
    return shutil.which(name, path=os.pathsep.join(places))


def listed_sass(listing: str, file: str) -> Iterator[tuple[str, list[tuple[int, str, int]]]]:
    """Yield the functions that have something of a file in them, with address, text and line of each instruction; line 0 for none.

    Args:
        listing: what `nvdisasm -c -gi` prints.
        file: what `#line` calls the user's text.

    Example:
        >>> text = '''.text.f:
        ... //## File "/cache/op/mine", line 3
        ... .L_x_0:
        ... /*0010*/ FADD R1, R1, R2 ;
        ... /*0020*/ @P0 BRA `(.L_x_0) ;
        ... /*0030*/ EXIT ;
        ... .L_x_1:
        ... /*0040*/ BRA `(.L_x_1);
        ... /*0050*/ NOP;'''
        >>> list(listed_sass(text, "op/mine"))
        [('f', [(16, 'FADD R1, R1, R2', 3), (32, '@P0 BRA 10', 3), (48, 'EXIT', 3)])]
    """
    for name, rows, labels in _sass_functions(listing, file):

        def target(found: re.Match[str], labels: dict[str, int] = labels) -> str:
            at = f"{labels.get(found[1], 0):x}"
            return at if found[1].startswith(".L") else f"{at} <{found[1].rpartition('$')[2]}>"

        # Behind the end stand a jump to itself and what fills the last line of the GPU's cache.
        while rows and (rows[-1][1] == "NOP" or labels.get("".join(_TO.findall(rows[-1][1]))) == rows[-1][0]):
            rows.pop()
        if any(line for _, _, line in rows):
            yield name, [(at, _TO.sub(target, text), line) for at, text, line in rows]


def _sass_functions(listing: str, file: str) -> list[tuple[str, list[tuple[int, str, int]], dict[str, int]]]:
    """Return name, instructions and places of each function; those that a kernel calls have their places in common with it."""
    found, rows, labels = [], list[tuple[int, str, int]](), dict[str, int]()
    waiting, places, line = list[str](), list[tuple[str, str]](), 0
    for row in map(str.strip, listing.splitlines()):
        if place := _PLACE.match(row):
            places.append((place[1], place[2]))
        elif label := _LABEL.fullmatch(row):
            waiting.append(label[1])
            if label[1].startswith((".text.", "$")):
                labels = labels if label[1].startswith("$") else {}
                rows, line = [], 0
                found.append((label[1].removeprefix(".text.").rpartition("$")[2], rows, labels))
        elif instruction := _INSTRUCTION.fullmatch(row):
            at = int(instruction[1], 16)
            if places:
                line = next((int(number) for path, number in places if own_name(path) == file), 0)
            rows.append((at, " ".join(instruction[2].split()), line))
            labels.update(dict.fromkeys(waiting, at))
            waiting, places = [], []
    return found


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
