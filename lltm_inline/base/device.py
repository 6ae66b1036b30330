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
    """

    name: str
    text: str
    tensors: str
    words: str
    check_flags: tuple[str, ...] = ()

    @property
    def needs_gpu(self) -> bool:
        """Whether its kernels run on a GPU, for which nvcc compiles them."""
        return self.tensors == "cuda"


#: At every load, store and branch the compiler is to call what `cuda_cpu/checks.h` defines.
_CHECK_CUDA = ("-O1", "-DCUDA_CPU_CHECK", "-fsanitize=thread,bounds,alignment", "-fsanitize-coverage=trace-pc")

#: All devices by name, the one that is taken first where a kernel has texts for several first.
DEVICES = {
    device.name: device
    for device in (
        Device("cpu", text="cpp", tensors="cpu", words="the CPU"),
        Device("cuda", text="cuda", tensors="cuda", words="a CUDA device"),
        Device("cuda-cpu", text="cuda", tensors="cpu", words="the CPU", check_flags=_CHECK_CUDA),
    )
}
