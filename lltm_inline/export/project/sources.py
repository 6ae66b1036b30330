"""Which files of an export are compiled: the C++ everywhere, and more of them where there is CUDA."""

from __future__ import annotations

from dataclasses import dataclass

from ..plan import Plan


@dataclass(frozen=True)
class Sources:
    """The files that are compiled, as paths below the export's directory.

    Attributes:
        cpu: what makes a library without CUDA; empty when the kernel needs a GPU.
        cuda: what comes in addition with CUDA.
    """

    cpu: tuple[str, ...]
    cuda: tuple[str, ...]

    @property
    def every(self) -> tuple[str, ...]:
        return (*self.cpu, *self.cuda)


def sources_of(plan: Plan) -> Sources:
    """List the files of an export that are compiled."""
    from ..cpp import cpp_sources

    by_device = {part.device: cpp_sources(plan, part.device) for part in plan.parts}
    cpu = by_device.get("cpu", ())
    return Sources(cpu, tuple(path for path in by_device.get("cuda", ()) if path not in cpu))
