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
    """

    name: str
    text: str
    tensors: str
    words: str

    @property
    def needs_gpu(self) -> bool:
        """Whether its kernels run on a GPU, for which nvcc compiles them."""
        return self.tensors == "cuda"


#: All devices by name, the one that is taken first where a kernel has texts for several first.
DEVICES = {
    device.name: device
    for device in (
        Device("cpu", text="cpp", tensors="cpu", words="the CPU"),
        Device("cuda", text="cuda", tensors="cuda", words="a CUDA device"),
    )
}
