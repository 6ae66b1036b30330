"""How the tests compile kernels that are not about compilers: hundreds of them, most of them wrong on purpose."""

from __future__ import annotations

from pathlib import Path

#: What ships is compiled as its users do, with what they have.
QUICK = str(Path(__file__).with_name("quick-c++"))
