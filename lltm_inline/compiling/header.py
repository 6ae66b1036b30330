"""What is made once and not waited for: the precompiled headers, two thirds of a kernel's compile time, and our own libraries.

A header serves exactly one compiler and one set of flags. It is made by a process of its own, at low priority, while
kernels are compiled without it: nothing ever waits for it. It takes half a minute of a core and up to half a gigabyte, so it
is made where an edit is to be expected, see `_pays`, and it goes again when it is not used. It lives in our cache; torch's own precompiled
header (`use_pch=True`) is neither used nor touched.

Beside it stand empty libraries with the names of torch's own, stubs. A linker reads all 75 000 names of libtorch_cpu, which takes two
thirds of its time with gold and four fifths with GNU ld. What was linked with the stubs names the same libraries; but nobody has told
yet whether they have what it wants. That is looked up in those that this process has loaded.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from .. import native
from ..base.files import UTF8
from ..base.flags import STANDARD
from ..base.loaded import address_of, loaded_at
from ..errors import CacheError
from ..source.template import prelude_text, runtime_text
from ..version import __version__
from . import cache, environment, light
from .toolchain import Toolchain

#: g++ writes up to half a gigabyte; with less room than this the header is left out.
MIN_FREE_BYTES = 2 * 2**30

#: So much may all headers take together. When one more is made, and once in each process that uses one, those go that were used
#: longest ago, but none of the last minutes: whoever works with several must not make them again and again. A torch that is gone
#: uses none.
MAX_BYTES, SPARED_SECONDS, KEPT_SECONDS = 7e8, 300.0, 14 * 86400.0

#: So long may the making of one take. On a machine that has something better to do all the time, it gets nowhere.
MAX_SECONDS = 600

#: Words in a compiler's log that tell of the machine, not of the text: such a failure is not remembered.
PASSING_FAILURES = (
    "No space left",
    "Killed",
    "terminated program",
    "out of memory",
    "cannot allocate",
    "ninja: error",
    "Input/output error",
    "No such file or directory",  # a header may be installed any time
    "file not found",
)

_NAMES = {"gcc": "prelude.h.gch", "clang": "prelude.h.pch"}
_RUNTIME, _MACROS = "runtime.o", "macros.txt"
#: What `load_inline` links with, and for what there is a stub.
LIBRARIES = ("c10", "torch_cpu", "torch", "torch_python")
#: What `torch_has_what_is_missing_in` runs. Not nm, which takes twelve times as long: it looks at all sections.
READER = "readelf"
#: A macro that stands for more than its own name.
_MACRO = re.compile(r"^#define (\w+)(?! \1$)", re.MULTILINE)


def torch_cflags(prelude: str = "") -> tuple[str, ...]:
    """Return the flags that `load_inline` itself puts in front, behind those that make torch's headers light for texts of a prelude.

    A precompiled header must be made with the same.
    """
    from torch.utils.cpp_extension import include_paths

    system = [flag for path in [*include_paths(), python_include()] for flag in ("-isystem", path)]
    return (*light.flags(prelude), "-DTORCH_API_INCLUDE_EXTENSION_H", *system, "-fPIC", STANDARD)


def python_include() -> str:
    """Return the directory of Python's headers, as `load_inline` has it."""
    import sysconfig

    return sysconfig.get_path("include", scheme="posix_prefix")


def header_key(toolchain: Toolchain, prelude: str) -> str:
    """Return the digest of a precompiled header: compiler, flags, what else it reads, the headers, and this very torch."""
    import torch

    version_file = Path(torch.__file__).parent / "version.py"
    stamp = f"{torch.__version__} {version_file} {version_file.stat().st_mtime_ns}"
    texts = prelude_text(prelude, apart=True), runtime_text(prelude)
    flags = toolchain.cflags, torch_cflags(prelude), environment.of_compilers()
    return cache.digest("header", toolchain.identity, *flags, LIBRARIES, _MACROS, *texts, stamp)


def directory_of(toolchain: Toolchain, prelude: str) -> Path:
    """Return where a precompiled header lies, or would, with what is made beside it: stubs, macros, objects."""
    return cache.cache_dir() / "headers" / header_key(toolchain, prelude)


def header_flags(toolchain: Toolchain, prelude: str, *, begin: bool = True) -> tuple[str, ...]:
    """Return the flags that use the precompiled header, or none while there is no such header; begin to make it then."""
    directory = directory_of(toolchain, prelude)
    if (directory / _NAMES[toolchain.kind]).exists():
        cache.touch(directory)
        _prune()
        return tuple(map(shlex.quote, _using(toolchain.kind, directory)))
    if begin and not directory.exists() and _pays(directory.name):
        start(toolchain, prelude)
    return ()


@lru_cache(maxsize=1)
def _prune() -> None:
    """Remove what nobody has used, in a cache that may be read-only."""
    with suppress(CacheError, OSError):
        cache.prune(**_kept(), rooms=("headers",))


def _kept() -> dict[str, float]:
    return {"max_bytes": MAX_BYTES, "spared_s": SPARED_SECONDS, "max_age_s": KEPT_SECONDS}


def is_made(toolchain: Toolchain, prelude: str) -> bool:
    """Tell whether there is a precompiled header."""
    return (directory_of(toolchain, prelude) / _NAMES[toolchain.kind]).exists()


def _pays(key: str) -> bool:
    """Tell whether a header will be used: where somebody types, as texts are edited there; else from the second text on.

    A script that builds one kernel and ends would leave a header for nothing: the same text is not compiled again.
    """
    if hasattr(sys, "ps1"):  # Python's prompt, IPython, a notebook
        return True
    return cache.mark("asked", key)


def _using(kind: str, directory: Path) -> tuple[str, ...]:
    """Return the flags that use what was made in a directory."""
    if kind == "clang":
        return ("-include-pch", str(directory / _NAMES[kind]))
    return ("-include", str(directory / "prelude.h"), "-Winvalid-pch")


def header_objects(toolchain: Toolchain, prelude: str) -> tuple[Path, ...]:
    """Return what a text is linked with that was compiled with the precompiled header."""
    if not runtime_text(prelude):
        return ()
    return (directory_of(toolchain, prelude) / _RUNTIME,)


def macros(toolchain: Toolchain, prelude: str) -> frozenset[str]:
    """Name the macros that a text has of the precompiled header; nothing where they are not known."""
    with suppress(FileNotFoundError):
        return frozenset(_MACRO.findall((directory_of(toolchain, prelude) / _MACROS).read_text(**UTF8)))
    return frozenset()


def start(toolchain: Toolchain, prelude: str, *, behind: bool = True) -> subprocess.Popen[bytes] | None:
    """Start making a precompiled header in a process of its own; None when there is no room for it.

    The process outlives this one, so that a short script leaves a faster next start behind, but not `MAX_SECONDS`. It holds
    the entry's lock; a second one finds it taken and ends. What else is compiled comes first (`behind`), unless somebody waits for it.
    """
    if cache.free_bytes() < MIN_FREE_BYTES or os.environ.get("LLTM_INLINE_NO_HEADER"):
        return None
    key = header_key(toolchain, prelude)
    name = _NAMES[toolchain.kind]
    pch = ("-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp") if toolchain.kind == "clang" else ()
    # clang from standard input: it would refuse the header later, when the file it was made from has moved. g++ cannot do that.
    source = "-" if toolchain.kind == "clang" else "prelude.h"
    command = [toolchain.compiler, *torch_cflags(prelude), *toolchain.cflags]
    runtime = [*command, *_using(toolchain.kind, Path()), "-c", "-x", "c++", "-", "-o", _RUNTIME]
    job = {
        "command": [*command, *pch, "-x", "c++-header", source, "-o", name],
        "text": prelude_text(prelude, apart=True),
        "runtime": (runtime, runtime_text(prelude)),
        "stubs": [
            *stub_commands(toolchain.compiler),
            [*command, "-E", "-dM", "-x", "c++", "prelude.h", "-o", _MACROS],
        ],
        "passing_failures": PASSING_FAILURES,
        "key": key,
        "behind": behind,
        "seconds": MAX_SECONDS,
        "kept": _kept(),
    }
    return _started(job)


def start_helpers() -> subprocess.Popen[bytes] | None:
    """Start making our own libraries at a prompt, from the import on, while the first kernel is typed; once for each torch and compiler.

    The bridge is the same for all kernels, and takes longer to compile than most of them. Whoever builds earlier makes what is missing,
    and what keeps these from being made is said there.
    """
    import torch

    if not hasattr(sys, "ps1") or os.environ.get("LLTM_INLINE_NO_HEADER"):
        return None
    with suppress(CacheError, OSError):
        if not cache.mark("helpers", __version__, torch.__version__, environment.users("CXX") or ""):
            return _started({"helpers": native.BESIDE, "behind": True, "seconds": MAX_SECONDS})
    return None


def _started(job: dict[str, Any]) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("header_process.py")
    with tempfile.TemporaryFile("w+") as given:  # longer than an argument may be
        json.dump(job, given)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", str(script)],
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C", "LLTM_INLINE_CACHE": str(cache.cache_dir())},
        )
    threading.Thread(target=process.wait, daemon=True).start()  # Python warns of one for which nobody waits
    return process


def stub_commands(compiler: str) -> list[list[str]]:
    """Return the commands that make the stubs, in the directory where they run.

    Example:
        >>> stub_commands("g++")[1][-3:]
        ['-Wl,-soname,libtorch_cpu.so', '-o', 'libtorch_cpu.so']
    """
    empty = [compiler, "-shared", "-nostdlib", "-x", "assembler", os.devnull]
    files = [f"lib{name}.so" for name in LIBRARIES]
    return [[*empty, f"-Wl,-soname,{file}", "-o", file] for file in files]


def stub_flags(toolchain: Toolchain, prelude: str) -> tuple[str, ...]:
    """Return the flags that link with the stubs beside a header; for one that is not there the library itself is taken."""
    # A linker that leaves out what nobody wants, as some compilers ask it to, would leave out all of these.
    return (shlex.quote(f"-L{directory_of(toolchain, prelude)}"), "-Wl,--no-as-needed")


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


def is_cause_of(log: str) -> bool:
    """Tell whether a compiler's complaint is about the precompiled header itself, or a linker's about what stands beside it."""
    return bool(_COMPLAINT.search(log))


_COMPLAINT = re.compile(
    r"AST file|PCH file|precompiled header|prelude\.h\.(?:gch|pch)['\"]? ?(?::|not|is|was|has)"
    rf"|^(?!.* -shared ).*headers/\w+/(?:{_RUNTIME}|lib\w+\.so)",  # but for the command, which ninja repeats
    re.MULTILINE,
)


def discard(toolchain: Toolchain, prelude: str) -> None:
    """Remove a precompiled header; the next build starts a new one."""
    shutil.rmtree(directory_of(toolchain, prelude), ignore_errors=True)


def wait(toolchain: Toolchain, prelude: str, seconds: float = 300.0) -> bool:
    """Wait until the precompiled header is there (for benchmarks and tests); False when it did not come."""
    deadline = time.monotonic() + seconds
    directory = directory_of(toolchain, prelude)
    if not directory.exists() and start(toolchain, prelude, behind=False) is None:  # there is no room for it
        return False
    while not directory.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return (directory / _NAMES[toolchain.kind]).exists()
