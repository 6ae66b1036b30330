"""Where a kernel can run. Whoever asks which device it is looks at these values, never at a name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """Where a kernel runs, and which of its texts is compiled for that.

    Attributes:
        name: as people write it.
        text: the kind of text, `"cpp"` or `"cuda"`.
        tensors: the type of torch's device on which its tensors are, `"cpu"` or `"cuda"`.
        words: how a message says where these tensors are.
        check_flags: with which a check has its text compiled, so that it finds what is wrong there.
        count_flags: with which its text counts what it asks of the memory; empty where nothing can count.
        timing: what is said beside a time that was measured there, so that nobody takes it for another one.
        level: how much the compiler optimises by default: where a time means little, an edit is to cost little.
        watched_seconds: how long one call may take there by default with these flags, which make it slow: an endless loop is found
            by its steps.
        returned: the C++ function through which all goes that a kernel returns there; empty where nothing looks at it.
    """

    name: str
    text: str
    tensors: str
    words: str
    check_flags: tuple[str, ...] = ()
    count_flags: tuple[str, ...] = ()
    timing: str = ""
    level: str = "-O3"
    watched_seconds: float = 0.0
    returned: str = ""

    @property
    def needs_gpu(self) -> bool:
        """Whether its kernels run on a GPU, for which nvcc compiles them."""
        return self.tensors == "cuda"


#: Whether a text for `cuda-cpu` is compiled for a check, or to be counted.
CHECKS, COUNTS = "-DCUDA_CPU_CHECK", "-DCUDA_CPU_COUNT"
#: Whether it is of a lab, where the runtime is a library beside it (`cuda_cpu/book.h`).
OF_LAB = "-DCUDA_CPU_LAB"
#: At every load, store and branch the compiler is to call what `cuda_cpu/checks.h` defines.
_CHECK_CUDA = ("-O1", CHECKS, "-fsanitize=thread,bounds,alignment", "-fsanitize-coverage=trace-pc")

_COUNT_CUDA = (*_CHECK_CUDA[:-1], COUNTS, "-fsanitize=return", "-fsanitize-coverage=trace-pc,trace-cmp")

#: All devices by name, the one that is taken first where a kernel has texts for several first.
DEVICES = {
    device.name: device
    for device in (
        Device("cpu", text="cpp", tensors="cpu", words="the CPU"),
        Device("cuda", text="cuda", tensors="cuda", words="a CUDA device"),
        Device(
            *("cuda-cpu", "cuda", "cpu", "the CPU"),
            check_flags=_CHECK_CUDA,
            count_flags=_COUNT_CUDA,
            timing="times of a CPU that runs CUDA source, not of a GPU",
            level="-O1",
            watched_seconds=60.0,
            returned="::cuda_cpu::returned",
        ),
    )
}
