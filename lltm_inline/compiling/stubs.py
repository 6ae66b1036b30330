"""Links without reading the names of torch's libraries: empty ones of the same names stand beside a precompiled header.

A linker reads all 75 000 names of libtorch_cpu, which takes two thirds of its time with gold and four fifths with GNU ld. What was
linked with the stubs names the same libraries; but nobody has told yet whether they have what it wants. That is looked up in those
that this process has loaded.
"""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import subprocess
from pathlib import Path

from ..base.files import UTF8
from ..base.loaded import address_of, loaded_at

#: What `torch_has_what_is_missing_in` runs. Not nm, which takes twelve times as long: it looks at all sections.
READER = "readelf"
#: What `load_inline` links with.
LIBRARIES = ("c10", "torch_cpu", "torch", "torch_python")


def commands(compiler: str) -> list[list[str]]:
    """Return the commands that make the stubs, in the directory where they run.

    Example:
        >>> commands("g++")[1][-3:]
        ['-Wl,-soname,libtorch_cpu.so', '-o', 'libtorch_cpu.so']
    """
    empty = [compiler, "-shared", "-nostdlib", "-x", "assembler", os.devnull]
    files = [f"lib{name}.so" for name in LIBRARIES]
    return [[*empty, f"-Wl,-soname,{file}", "-o", file] for file in files]


def flags(directory: Path) -> tuple[str, ...]:
    """Return the flags that link with the stubs in a directory; for one that is not there the library itself is taken."""
    # A linker that leaves out what nobody wants, as some compilers ask it to, would leave out all of these.
    return (shlex.quote(f"-L{directory}"), "-Wl,--no-as-needed")


def torch_has_what_is_missing_in(library: Path) -> bool:
    """Tell whether every name that a library wants is one of torch's own libraries.

    What comes from elsewhere has a version, and was found by the linker. That a library has a name with which torch itself is
    linked, such as libgomp, is not enough: neither is it for a linker.
    """
    import torch

    listed = subprocess.run([READER, "--wide", "--dyn-syms", library], capture_output=True, check=False, **UTF8)
    names = re.findall(r" GLOBAL +DEFAULT +UND ([^\s@]+)$", listed.stdout, re.MULTILINE)
    # It is linked with the others: a name of any of them is found through it.
    library_of_torch = ctypes.CDLL(os.path.join(torch.__path__[0], "lib", "libtorch_python.so"))
    owners = {f"lib{name}.so" for name in LIBRARIES}

    def is_torchs(name: str) -> bool:
        found = loaded_at(address_of(library_of_torch[name])) if hasattr(library_of_torch, name) else None
        return found is not None and os.path.basename(found.library) in owners

    return listed.returncode == 0 and all(map(is_torchs, names))
