"""The compiler's front end alone, over a text that is being typed: what is wrong with it is known before it is built."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from contextlib import suppress

from ..base.files import UTF8
from ..diagnosis.diagnostics import Diagnostic, parse
from . import light
from .failures import refuse_devices
from .header import header_flags, torch_cflags
from .job import Job

#: Whatever takes longer is left to Build, which says how long it took.
_SECONDS = 20.0


class FrontEnd:
    """One compiler at most: a new text ends the one that reads the former.

    Example:
        >>> FrontEnd().ask()
        1
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = 0
        self._process: subprocess.Popen[str] | None = None

    def ask(self) -> int:
        """End the compiler, if one runs: nobody waits for what it would say; return the number of the text that comes now."""
        with self._lock:
            self._asked += 1
            process, self._process = self._process, None
            if process is not None and process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return self._asked

    def read(self, job: Job, asked: int) -> tuple[Diagnostic, ...] | None:
        """Return what the compiler says of a C++ text, at the user's own lines; nothing is made of it.

        None where another text than the one of this number, or Build, came meanwhile; where it takes too long; or where the
        precompiled header is not there yet, without which it would take many seconds.

        Raises:
            BuildError: the text includes what is no file.
        """
        refuse_devices(job)
        said = self._said(job, asked)
        if said is not None and light.may_be_cause_of(said, job):
            said = self._said(light.whole(job), asked)
        if said is None or asked != self._asked:
            return None
        return parse(said, label=job.label, sources=job.sources)

    def _said(self, job: Job, asked: int) -> str | None:
        precompiled = header_flags(job.toolchain, job.prelude) if job.prelude else ()
        if not precompiled:
            return None
        flags = [*shlex.split(" ".join(precompiled)), *torch_cflags(job.prelude or ""), *job.cflags]
        command = [job.toolchain.compiler, *flags, "-fsyntax-only", "-x", "c++", "-"]
        with self._lock:
            if asked != self._asked:
                return None
            # A group of its own: g++ starts another program, which has to end with it.
            process = self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                **UTF8,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C"},
            )
        try:
            return str(process.communicate(job.text, timeout=_SECONDS)[1])
        except subprocess.TimeoutExpired:
            self.ask()
            return None
