"""What compilers say of wrong texts, kept: a log is of one text, under one command, by one version of the compiler."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from tests.compiling.mistakes import ATEN, Mistake

FLAGS = ("-std=c++20", "-fPIC", "-O0", "-Wparentheses", "-Wunknown-pragmas", "-Werror=return-type", "-Werror=narrowing")
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}


def flags_of(compiler: str) -> tuple[str, ...]:
    """Return the flags of the corpus; clang++ may be without OpenMP's header."""
    return (*FLAGS, *(["-fopenmp"] if Path(compiler).name == "g++" else []))


@lru_cache
def torch_headers() -> tuple[str, str]:
    """Find torch's headers, and its version, without importing torch."""
    spec = importlib.util.find_spec("torch")
    assert spec is not None and spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    return str(package / "include"), (package / "version.py").read_text()


def identity(compiler: str) -> str:
    """Tell this compiler, and the linker, from any others, an upgrade in the same place too."""
    paths = [os.path.realpath(path) for name in (compiler, "ld") if (path := shutil.which(name))]
    stamps = [f"{path} {os.stat(path).st_mtime_ns} {os.stat(path).st_size}" for path in paths]
    return "\n".join([*stamps, _version(compiler, *stamps)])


@lru_cache
def _version(compiler: str, *stamps: str) -> str:
    """Ask a compiler for its version, once for each file that it has been."""
    return subprocess.run([compiler, "--version"], env=ENVIRONMENT, capture_output=True, text=True).stdout


def run(command: Sequence[str], folder: str) -> str:
    """Return what a command says of its errors."""
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return done.stderr


class Logs:
    """What each compiler says of each text of the corpus.

    A text is compiled when it is asked for first, by whichever worker of pytest: so is the header of the tensor texts. In a folder
    that outlives the run it is not compiled again while text, flags, compiler and torch are the same.

    Args:
        folder: where they are kept.
        flags: of each compilation, by compiler.
    """

    def __init__(self, folder: Path, flags: Callable[[str], Sequence[str]] = flags_of) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.flags = flags

    def of(self, mistake: Mistake, compiler: str) -> str:
        """Return all that compiler, linker and loader say about one wrong text."""
        text = f'#line 1 "lltm/fused"\n{mistake.text}\n#line 1 "lltm/fused (binding)"\n{mistake.binding}'
        return self._kept(compiler, mistake.text.startswith(ATEN), text, ["-c"], mistake.stage)

    def of_text(self, text: str, compiler: str, *arguments: str, tensors: bool) -> str:
        """Return what a compiler says of a text as file `lltm/fused`, which it does not compile to its end."""
        return self._kept(compiler, tensors, f'#line 1 "lltm/fused"\n{text}', ["-fsyntax-only", *arguments], "compile")

    def _kept(self, compiler: str, tensors: bool, text: str, arguments: list[str], stage: str) -> str:
        """Return a log: the one that was kept under the same text, command, compiler and torch, or a new one."""
        about = (tensors and ATEN, text, arguments, stage)

        def make() -> str:
            with TemporaryDirectory() as folder:
                Path(folder, "main.cpp").write_text(text, encoding="utf-8")
                return self._run(compiler, [*self._using(compiler, tensors), *arguments], stage, folder)

        return self._once(self._path(compiler, "log", *about), make).read_text(encoding="utf-8")

    def _path(self, compiler: str, suffix: str, *about: object) -> Path:
        told = repr((identity(compiler), torch_headers(), tuple(self.flags(compiler)), *about))
        return self.folder / f"{Path(compiler).name}-{hashlib.sha256(told.encode()).hexdigest()[:24]}.{suffix}"

    def _once(self, path: Path, make: Callable[[], str]) -> Path:
        """Return a file that holds what `make` returns, which is called if nobody else has made the file."""
        if not path.exists():
            with FileLock(f"{path}.lock"):
                if not path.exists():
                    part = path.with_suffix(".part")  # whoever is killed while writing leaves no half of a log
                    part.write_text(make(), encoding="utf-8")
                    part.rename(path)
        return path

    def _using(self, compiler: str, tensors: bool) -> list[str]:
        """Return the beginning of a command, with the header of the tensor texts, precompiled, where the text is one of them."""
        plain = [*self.flags(compiler), "-isystem", torch_headers()[0]]
        if not tensors:
            return plain
        header = self._path(compiler, "h", ATEN)
        compiled = f"{header}.{'gch' if Path(compiler).name == 'g++' else 'pch'}"

        def precompile() -> str:
            header.write_text(ATEN)
            command = [compiler, *plain, "-x", "c++-header", str(header), "-o", compiled]
            subprocess.run(command, check=True, env=ENVIRONMENT)
            return ""

        self._once(header.with_suffix(".made"), precompile)
        return [*(["-include", str(header)] if compiled.endswith("gch") else ["-include-pch", compiled]), *plain]

    def _run(self, compiler: str, arguments: list[str], stage: str, folder: str) -> str:
        log = run([compiler, *arguments, "main.cpp", *(["-o", "main.o"] if "-c" in arguments else [])], folder)
        if stage != "compile":
            strict = ["-Wl,-z,defs"] if stage == "link" else []
            log += run([compiler, "-shared", "main.o", "-o", "main.so", *strict], folder)
        if stage == "load":
            load = f"import ctypes, os; ctypes.CDLL({folder + '/main.so'!r}, os.RTLD_NOW)"
            log += run([sys.executable, "-c", load], folder)
        return log
