"""The one place that calls `torch.utils.cpp_extension.load_inline`, and what it takes to do so safely."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import environment, header
from .toolchain import Toolchain, ninja_directory

if TYPE_CHECKING:
    from .compiler import Job


def _fresh_namespace(key: str) -> str:
    """Name the operators of one build. torch never forgets a name, so a second build of the same text takes another."""
    return f"li_{key}_{secrets.token_hex(3)}"


def load_inline(job: Job, directory: Path) -> tuple[str, str]:
    """Build with the precompiled header if there is one; return the namespace and the command that was run.

    A damaged or outdated header (a system header was upgraded) must not stand between a user and her kernel: it is
    thrown away, and the text is compiled without.
    """
    precompiled = header.header_flags(job.toolchain, job.prelude) if job.prelude else ()
    try:
        return _call_load_inline(job, directory, precompiled)
    except RuntimeError as error:
        if not precompiled or not header.is_to_blame(str(error)):
            raise
    header.discard(job.toolchain, job.prelude or "")
    return _call_load_inline(job, directory, ())


def _call_load_inline(job: Job, directory: Path, precompiled: Sequence[str]) -> tuple[str, str]:
    from torch.utils import cpp_extension

    namespace = _fresh_namespace(job.key)
    flags = [*precompiled, *job.cflags]
    with _torch_settings(job.toolchain):
        cpp_extension.load_inline(
            name=namespace,
            cpp_sources=[job.text],
            extra_cflags=flags,
            extra_ldflags=list(job.toolchain.ldflags),
            build_directory=str(directory),
            is_python_module=job.python_module,
            no_implicit_headers=True,
        )
    return namespace, " ".join([job.toolchain.compiler, *flags])


_settings = threading.Condition()
_users: dict[str, int] = {}


@contextmanager
def _torch_settings(toolchain: Toolchain) -> Iterator[None]:
    """Set what `load_inline` takes from the environment, shared by builds that agree and one after another otherwise.

    CXX chooses the compiler, PATH finds ninja, LC_ALL makes the compiler speak the language that we parse. And torch's
    own precompiled header stays: `load_inline` deletes it from site-packages, or fails where that is read-only.
    """
    with _settings:
        _settings.wait_for(lambda: not _users or toolchain.compiler in _users)
        if not _users:
            _enter(toolchain)
        _users[toolchain.compiler] = _users.get(toolchain.compiler, 0) + 1
    try:
        yield
    finally:
        with _settings:
            _users[toolchain.compiler] -= 1
            if not _users[toolchain.compiler]:
                _users.clear()
                _leave()
                _settings.notify_all()


def _enter(toolchain: Toolchain) -> None:
    from torch.utils import cpp_extension

    ninja = ninja_directory()
    path = environment.users("PATH") or ""
    environment.override(
        CXX=toolchain.compiler,
        LC_ALL="C",
        PATH=f"{ninja}{os.pathsep}{path}" if ninja else path,
        TORCH_DONT_CHECK_COMPILER_ABI="1",  # find_toolchain has looked at the compiler; this saves a run of it
    )
    _replaced["remove"] = cpp_extension.remove_extension_h_precompiler_headers
    cpp_extension.remove_extension_h_precompiler_headers = lambda: None


def _leave() -> None:
    from torch.utils import cpp_extension

    environment.restore()
    cpp_extension.remove_extension_h_precompiler_headers = _replaced.pop("remove")


_replaced: dict[str, Any] = {}
