"""What ptxas makes of PTX for one GPU: what a thread of it needs, and its machine code (SASS), which nvdisasm lists with its lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from ..autopsy.symbolize import own_name
from ..base.files import UTF8
from ..base.packages import pip_command
from ..compiling.nvcc import Nvcc

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


@dataclass(frozen=True)
class Translated:
    """What became of PTX for one GPU.

    Attributes:
        note: what is listed, or what is missing.
        uses: by kernel, what it needs, in words; empty without ptxas.
        listing: what nvdisasm prints; empty where it is not there.
    """

    note: str
    uses: dict[str, str] = field(default_factory=dict)
    listing: str = ""


def translated(path: Path, nvcc: Nvcc) -> Translated:
    """Translate PTX for the GPU that it is made for, as far as the tools are there.

    Args:
        path: of the PTX, made with `-lineinfo`.
        nvcc: which made it.
    """
    architecture = next(flag.partition("=")[2] for flag in nvcc.flags if flag.startswith("-arch="))
    is_ptx = "PTX, which the driver translates for its GPU."
    ptxas, nvdisasm = _tool("ptxas", nvcc), _tool("nvdisasm", nvcc)
    if ptxas is None:
        return Translated(f"{is_ptx} What a thread needs, and the machine code, take ptxas of the CUDA toolkit.")
    with tempfile.TemporaryDirectory() as directory:
        cubin = os.path.join(directory, "cubin")
        said = _run(ptxas, "-v", "-lineinfo", f"-arch={architecture}", str(path), "-o", cubin)
        uses = {match[1]: _uses(match[0]) for match in _USES.finditer(said.stderr + said.stdout)}
        if nvdisasm is None:
            how = f"The machine code (SASS) itself takes nvdisasm: {pip_command('nvidia-cuda-nvdisasm')}"
            return Translated(f"{is_ptx} {how}", uses)
        done = said if said.returncode else _run(nvdisasm, "-c", "-gi", cubin)
    if done.returncode:
        why = " ".join(f"{done.stderr}{done.stdout}".split())[:_LETTERS]
        return Translated(f"{is_ptx} There is no machine code of it: {os.path.basename(done.args[0])}: {why}", uses)
    note = f"SASS, the machine code for {architecture}; TORCH_CUDA_ARCH_LIST chooses another GPU."
    return Translated(note, uses, done.stdout)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, **UTF8)


def _tool(name: str, nvcc: Nvcc) -> str | None:
    """Find a tool of the CUDA toolkit: beside nvcc, on PATH, or in a wheel."""
    found = ((find_spec(package), inside) for package, inside in _WHEELS)
    homes = [(home, inside) for spec, inside in found if spec for home in spec.submodule_search_locations or ()]
    wheels = [str(place) for home, inside in homes for place in Path(home).glob(inside)]
    places = [str(Path(nvcc.home) / "bin"), os.environ.get("PATH", ""), *wheels]
    return shutil.which(name, path=os.pathsep.join(places))


def listed(listing: str, file: str) -> Iterator[tuple[str, list[tuple[int, str, int]]]]:
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
        >>> list(listed(text, "op/mine"))
        [('f', [(16, 'FADD R1, R1, R2', 3), (32, '@P0 BRA 10', 3), (48, 'EXIT', 3)])]
    """
    for name, rows, labels in _functions(listing, file):

        def target(found: re.Match[str], labels: dict[str, int] = labels) -> str:
            at = f"{labels.get(found[1], 0):x}"
            return at if found[1].startswith(".L") else f"{at} <{found[1].rpartition('$')[2]}>"

        # Behind the end stand a jump to itself and what fills the last line of the GPU's cache.
        while rows and (rows[-1][1] == "NOP" or labels.get("".join(_TO.findall(rows[-1][1]))) == rows[-1][0]):
            rows.pop()
        if any(line for _, _, line in rows):
            yield name, [(at, _TO.sub(target, text), line) for at, text, line in rows]


def _functions(listing: str, file: str) -> list[tuple[str, list[tuple[int, str, int]], dict[str, int]]]:
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
