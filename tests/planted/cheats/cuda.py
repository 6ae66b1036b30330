"""What a CUDA text may try so that more is counted, or less found, than it does: each must lose its points, each for its own reason.

They stand in cuda.txt, as what takes the place of three words of the right kernel.
"""

from __future__ import annotations

from tests.planted.cheats import HERE
from tests.texts import texts_in

#: A right kernel: `HEAD` stands at file scope, `KERNEL` at the start of the kernel, `HOST` before the launch.
RIGHT = f"\n{(HERE / 'right.cu').read_text()}"


def text(head: str = "", kernel: str = "", host: str = "") -> str:
    """Plant something into the right kernel."""
    return RIGHT.replace("HEAD", head).replace("KERNEL", kernel).replace("HOST", host)


_ALL = {
    one.name: (
        text(**{old.lower(): new for old, new in one.edits}),
        one.said.get("criterion"),
        one.said.get("says", ""),
    )
    for one in texts_in(HERE / "cuda.txt", may=["criterion", "says"])
}
#: Refused before anything of it runs: name, text, words of the reason.
REFUSED = {name: (text, says) for name, (text, criterion, says) in _ALL.items() if criterion is None}
#: Run, and found out: name, text, the criterion that must fall, words of the reason.
FOUND = {name: (text, criterion, says) for name, (text, criterion, says) in _ALL.items() if criterion is not None}
