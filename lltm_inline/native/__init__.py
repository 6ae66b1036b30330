"""The C++ of our own that kernels need, in files beside this one, and how each of them is built.

bridge     gives each kernel a place in autograd
guard      gives tensors memory between pages that fault when they are touched
meter      counts the bytes that live on the CPU
recorder   writes down how its process dies
layout     what Python and the C++ share
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib import resources

from ..build.job import Job
from ..build.toolchain import Toolchain, find_toolchain
from . import layout

_LABELS = {"bridge": "autograd bridge", "guard": "memory guard", "meter": "memory meter", "recorder": "crash recorder"}
# -fno-plt: what a signal handler calls is looked up when the library is loaded, not while the process dies.
_CFLAGS = {"recorder": ("-fno-plt", *layout.LIMITS)}
# load_inline links with torch, which the recorder has no use for.
_LDFLAGS = {"recorder": ("-Wl,--as-needed",)}


def helper_job(name: str, toolchain: Toolchain) -> Job:
    """Return the job of `name.cpp`: compiled once per compiler, whatever the flags of the kernels are."""
    # -O1: of the microsecond that the bridge takes per call, more saves nothing, and costs a second of the first build.
    chosen = find_toolchain(toolchain.compiler, ("-O1", *_CFLAGS.get(name, ())))
    chosen = replace(chosen, ldflags=(*_LDFLAGS.get(name, ()), *chosen.ldflags))
    return Job(_LABELS[name], text(f"{name}.cpp"), None, {}, chosen)


@cache
def text(file: str) -> str:
    """Return a file with those of ours that it includes in their places: one text, so that one digest covers all of it.

    Example:
        >>> "struct Region {" in text("recorder.cpp"), '#include "' in text("recorder.cpp")
        (True, False)
    """
    own = resources.files(__name__).joinpath(file).read_text(encoding="utf-8")
    return re.sub(r'^#include "(.+)"$', lambda found: text(found[1]), own, flags=re.MULTILINE)
