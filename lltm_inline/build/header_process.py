"""Makes one precompiled header: lock, compile in a temporary directory, publish with one rename.

Run as a script, without torch and without the rest of the package, so that it costs a compiler run and nothing else.
A header that does not compile is published as its log alone, so that it is not tried again at every build.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout


def main(job: dict) -> None:  # type: ignore[type-arg]
    cache, key = Path(job["cache"]), job["key"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the temporary directory goes
    with suppress(OSError):
        os.nice(10)
    with suppress(Timeout), FileLock(cache / "locks" / f"{key}.lock", blocking=False):
        if (cache / "headers" / key).exists():
            return
        work = Path(tempfile.mkdtemp(prefix=f"{key}-{os.getpid()}-", dir=cache / "tmp"))
        try:
            (work / "prelude.h").write_text(job["text"])
            result = subprocess.run(job["command"], input=job["text"], cwd=work, capture_output=True, text=True)
            if result.returncode < 0:
                return  # killed: nothing is known about the header itself
            if any(word in result.stderr for word in job["passing_failures"]):
                return
            if result.returncode:
                for file in work.iterdir():
                    file.unlink()
                (work / "log.txt").write_text(result.stderr)
            with suppress(OSError):  # pruned or published by somebody else meanwhile
                work.rename(cache / "headers" / key)
        finally:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
