"""The C++ of our own that kernels need, in files beside this one; `compiling.job.helper_job` says how each is built.

bridge     gives each kernel a place in autograd
follow     finds races and stray accesses: who loads and stores what
guard      gives tensors memory between pages that fault when they are touched
meter      counts the bytes that live on the CPU
recorder   writes down how its process dies
roofs      measures how fast the processor and its memory can be at most
layout     what Python and the C++ share
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from . import layout as layout

#: What a kernel needs beside it to be called: the bridge, and the others where that is in the worker.
BESIDE = ("bridge", "recorder", "guard")


@cache
def text(file: str, room: str = __name__) -> str:
    """Return a file with those of ours that it includes in their places: one text, so that one digest covers all of it.

    Args:
        file: its name.
        room: the package in which it is.

    Example:
        >>> "struct Region {" in text("recorder.cpp"), '#include "' in text("recorder.cpp")
        (True, False)
    """
    own = resources.files(room).joinpath(file).read_text(encoding="utf-8")
    return re.sub(r'^#include "(.+)"$', lambda found: text(found[1], room), own, flags=re.MULTILINE)


@cache
def parts(file: str, room: str) -> dict[str, str]:
    """Return the parts of a text of ours by name: before each stands `//: [name]`, and other lines with `//:` are comments of it.

    Args:
        file: its name.
        room: the package in which it is.

    Example:
        >>> parts("launchers.cpp", "lltm_inline.source")["function"].partition("(")[0]
        '[[maybe_unused]] void $name'
    """
    own = resources.files(room).joinpath(file).read_text(encoding="utf-8")
    bare = re.sub(r"^//:(?! \[).*\n", "", own, flags=re.MULTILINE)
    _, *found = re.split(r"^//: \[(.+)\]\n", bare, flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))
