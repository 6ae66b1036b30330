"""Guarded memory: tensors between pages that fault when they are touched, and calls of a kernel with such tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..base.arguments import plural
from ..base.progress import Progress
from ..compiling.compiler import Build
from ..errors import LltmInlineError
from ..native.layout import DamageRecord, RegionRecord
from ..run.cases.case import Case
from ..run.cases.drawing import seeded
from ..run.cases.expectation import Expected, results_of
from ..run.cases.layouts import place
from ..run.compare import dtype_name
from ..run.library import load_helper
from .runner import Runner, threads

#: What fresh memory and the slack beside it hold, by the dtype that is computed in: signalling NaN, which arithmetic turns
#: into quiet NaN of the same payload. So memory that was never written can be told from what was computed with it, and both
#: from NaN that comes of the numbers themselves.
PATTERNS = {
    torch.float64: (0xFFF5_A5A5_FFA5_A5A5, 0xFFF6_5A5A_FFA6_5A5A),
    torch.float32: (0xFFA5_A5A5_FFA5_A5A5, 0xFFA6_5A5A_FFA6_5A5A),
    torch.float16: (0xFDA5_FDA5_FDA5_FDA5, 0xFD5A_FD5A_FD5A_FD5A),
    torch.bfloat16: (0xFFA5_FFA5_FFA5_FFA5, 0xFF9A_FF9A_FF9A_FF9A),
}
#: What c10 promises of its allocations: a kernel may load aligned vectors from the start of a tensor that it has made, as
#: ATen's own do. Inputs and incoming gradients may be parts of other tensors, so nobody may rely on their alignment; ATen,
#: MKL and oneDNN were never seen to read beyond such a tensor (random sizes, with AVX-512, AVX2 and SSE).
_ALIGNMENT = 64
_MOST = 64
_INTEGER, _WORD, _TEXT, _POINTER = ctypes.c_int64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_void_p
#: What the library defines: result and arguments.
_FUNCTIONS = {
    "guard_start": (ctypes.c_int, ctypes.c_int, _WORD, _WORD, _WORD, _TEXT, _WORD),
    "guard_stop": (_INTEGER,),
    "guard_listen": (None, _POINTER),
    "guard_align": (None, _WORD),
    "guard_expect": (None, _TEXT, _INTEGER, ctypes.POINTER(_WORD), ctypes.POINTER(_TEXT)),
    "guard_name": (ctypes.c_int, _POINTER, _TEXT, _TEXT, _WORD, _INTEGER, ctypes.POINTER(_INTEGER)),
    "guard_damages": (_INTEGER, ctypes.POINTER(DamageRecord), _INTEGER),
    "guard_find": (ctypes.c_int, ctypes.c_size_t, _POINTER),
}


@dataclass(frozen=True)
class Damage:
    """Memory beside a tensor that was written to.

    Attributes:
        name: of the tensor, `new_h`; of one that has none, what is known of it.
        shape, dtype: of the tensor; of one that a text has made for itself only the bytes are known.
        behind: past its end, or else before its start.
        distance: of the nearest damaged element, 1 for the one beside the tensor.
        elements: how many are damaged.
        old, new: bytes of the nearest one.

    Example:
        >>> Damage("new_h", (3, 5), "float64", True, 1, 1, bytes(8), bytes(8)).text
        '1 element past the end of new_h (3, 5) float64'
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    behind: bool
    distance: int
    elements: int
    old: bytes
    new: bytes

    @property
    def text(self) -> str:
        """`2 elements before the start of new_h (3, 5) float64, the nearest 3 elements away`."""
        where = "past the end" if self.behind else "before the start"
        unit, of = "element", f"{self.shape} {self.dtype}"
        if self.dtype == "bytes":
            unit, of = "byte", f"({self.shape[0]} bytes)"
        away = f", {'the nearest ' * (self.elements > 1)}{self.distance} {unit}s away" if self.distance > 1 else ""
        return f"{plural(self.elements, unit)} {where} of {self.name} {of}{away}"

    @property
    def value(self) -> Any:
        """The number that was written, where the dtype is known."""
        dtype = getattr(torch, self.dtype, None)
        return torch.frombuffer(bytearray(self.new), dtype=dtype)[0].item() if dtype is not None else None


class Guard:
    """Gives tensors guarded memory while one of its contexts is entered, on every thread of this process.

    Outside of these contexts it costs nothing. Tensors may outlive them.

    Args:
        built: its library; None builds it.
        progress: as for `build`; the first guard on a machine takes a second or two to compile.

    Raises:
        ToolchainError: there is no compiler.
        BuildError: the compiler fails.

    Example:
        >>> guard = Guard(progress=False)
        >>> with guard.at_end():
        ...     x = guard.place("x", torch.zeros(3, dtype=torch.float64))
        ...     print(guard.find(x.data_ptr() + 24), guard.damages())
        ('x', 24) ()
    """

    def __init__(self, built: Build | None = None, progress: Progress | bool | None = None) -> None:
        self._library = load_helper("guard", _FUNCTIONS, built, progress)
        #: How many tensors the last context left unguarded, because the system gave no more address space.
        self.missed = 0

    @property
    def finder(self) -> int:
        """Address of `int guard_find(uintptr_t address, Region*)`, which a signal handler may call."""
        return ctypes.cast(self._library.guard_find, ctypes.c_void_p).value or 0

    def listen(self, function: Any) -> None:
        """Have a function of C told of each tensor that is made or freed from now on (`Listener` in `guard_blocks.h`); None: none."""
        self._library.guard_listen(function and ctypes.cast(function, _POINTER))

    def at_end(self, dtype: torch.dtype = torch.float64) -> Any:
        """Enter a context in which data lie flush with the last accessible page: what reads on past them faults.

        Args:
            dtype: of the numbers; decides what NaN fresh memory holds (`PATTERNS`).

        Raises:
            LltmInlineError: on entering: another allocator has taken the place of c10's, or a guard is on.
        """
        return self._entered(True, dtype)

    def at_start(self, dtype: torch.dtype = torch.float64) -> Any:
        """Enter a context in which data lie flush with the first accessible page; otherwise as `at_end`."""
        return self._entered(False, dtype)

    @contextmanager
    def _entered(self, end: bool, dtype: torch.dtype) -> Iterator[Guard]:
        name = dtype_name(dtype).encode()
        fill = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
        if not self._library.guard_start(
            end, *PATTERNS.get(dtype, PATTERNS[torch.float32]), _ALIGNMENT, name, dtype.itemsize
        ):
            raise LltmInlineError("no guarded memory: torch's CPU allocator was replaced by another, or a guard is on")
        try:
            # Torch's own NaN would hide the guard's.
            torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
            yield self
        finally:
            torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]
            self.missed = int(self._library.guard_stop())

    def place(self, name: str, tensor: Tensor, stretch: int = 0) -> Tensor:
        """Copy a tensor into guarded memory, to the byte: no slack even where vectors would want alignment.

        Args:
            name: under which it is reported.
            tensor: strided as it shall be; what its strides jump over is copied too.
            stretch: how many elements of room to leave on either side, filled with NaN.

        Returns:
            The copy, with the strides of the tensor.
        """
        source = tensor.detach()
        reach = 1 + sum((extent - 1) * step for extent, step in zip(source.shape, source.stride(), strict=True))
        if not source.numel():
            return source.clone()
        self._library.guard_align(1)
        try:
            room = torch.empty(reach + 2 * stretch, dtype=source.dtype)
        finally:
            self._library.guard_align(0)
        if stretch:
            room.fill_(torch.nan if source.is_floating_point() or source.is_complex() else 0)
        room[stretch : stretch + reach] = source.as_strided((reach,), (1,), source.storage_offset())
        copy = room.as_strided(source.shape, source.stride(), stretch)
        self.name(name, copy)
        return copy

    def name(self, name: str, tensor: Tensor) -> bool:
        """Say what a tensor is called; False when its memory is not guarded."""
        base = tensor.untyped_storage().data_ptr()
        whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
        # Of a part of its memory, or one with gaps, indices are counted in the whole.
        shape = tuple(tensor.shape) if whole else (tensor.untyped_storage().nbytes() // tensor.element_size(),)
        extents = (ctypes.c_int64 * len(shape))(*shape)
        dtype = dtype_name(tensor.dtype).encode()
        found = self._library.guard_name(base, name.encode(), dtype, tensor.element_size(), len(shape), extents)
        return bool(found)

    def expect(self, maker: str, sizes: Mapping[str, int]) -> None:
        """Say who makes the next tensors, for those that nobody has named yet.

        Args:
            maker: `forward`.
            sizes: bytes of the tensors that it is known to make, by name.
        """
        names: dict[int, list[str]] = {}
        for name, nbytes in sizes.items():
            names.setdefault(nbytes, []).append(name)
        texts = [f"a tensor that {maker} makes, as large as {_either(alike)}" for alike in names.values()]
        encoded = (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))
        numbers = (ctypes.c_uint64 * len(texts))(*names)
        self._library.guard_expect(f"a tensor that {maker} makes".encode(), len(texts), numbers, encoded)

    def damages(self) -> tuple[Damage, ...]:
        """Compare what lies beside all tensors with what was put there; each damage is told once, then repaired."""
        found = (DamageRecord * _MOST)()
        count = self._library.guard_damages(found, _MOST)
        return tuple(_damage(damage) for damage in found[:count])

    def find(self, address: int) -> tuple[str, int] | None:
        """Return the name of the tensor that an address lies in or near, and the distance from its start in bytes."""
        region = self.region(address)
        return (region.name.decode(errors="replace"), address - region.base) if region else None

    def region(self, address: int) -> RegionRecord | None:
        """Return what is known of the tensor that an address lies in or near."""
        region = RegionRecord()
        return region if self._library.guard_find(address, ctypes.byref(region)) else None


def _either(names: Sequence[str]) -> str:
    """`new_h or new_cell`; no more than three names."""
    return " or ".join([*names[:3], "others"] if len(names) > 3 else names)


def _damage(found: DamageRecord) -> Damage:
    region = found.region
    size = min(int(region.itemsize), 16)
    return Damage(
        region.name.decode(errors="replace"),
        tuple(region.shape[: region.ndim]),
        region.dtype.decode(errors="replace"),
        bool(found.behind),
        int(found.nearest),
        int(found.elements),
        bytes(found.was[:size]),
        bytes(getattr(found, "is")[:size]),
    )


@dataclass(eq=False)
class Trial:
    """One call of forward and backward between guard pages.

    Attributes:
        runner, case, expected: what is called, and what it should give.
        results: outputs and gradients by name.
        damages: what was written beside tensors, each with the step in which it was.
        before: called with each step, before it begins.
        errors: what was raised.
    """

    runner: Runner
    case: Case
    expected: Expected
    results: dict[str, Tensor] = field(default_factory=dict)
    damages: list[tuple[str, Damage]] = field(default_factory=list)
    before: Callable[[str], None] = lambda step: None
    errors: list[Exception] = field(default_factory=list)

    def run(self, guard: Guard) -> bool:
        """Call the kernel, and tell whether forward came back; a context of the guard is entered.

        What the kernel raises is the business of `parity`.
        """
        runner, case, expected = self.runner, self.case, self.expected

        def put(name: str, value: Tensor, layout: str) -> Tensor:
            """Copy a tensor into guarded memory in a layout; a misaligned one needs an element of room for that."""
            laid = value if layout == "contiguous" else place(value, layout, "cpu").tensor
            return guard.place(name, laid, stretch=int(layout == "misaligned"))

        leaves = runner.leaves(case, expected.inputs, put)

        def forward() -> tuple[Any, ...]:
            with threads(runner.threads_for(case)), seeded():
                return results_of(runner.op, runner.function(*leaves), leaves)

        outputs = self._call(guard, "forward", leaves, runner.outputs, forward)
        named = zip(runner.outputs, expected.grads, strict=True)
        grads = [put(f"d_{name}", grad, case.layout_of_grad(name)) for name, grad in named]
        if any(isinstance(output, Tensor) and output.requires_grad for output in outputs):
            names = [runner.gradients[i] for i in runner.wanted(leaves)]
            backward = partial(runner.differentiate, case, expected.used, leaves, outputs, grads)
            self._call(guard, "backward", leaves, names, backward)
        return bool(outputs)

    def _call(
        self,
        guard: Guard,
        step: str,
        leaves: Sequence[Any],
        names: Sequence[str],
        function: Callable[[], Sequence[Any]],
    ) -> Sequence[Any]:
        """Make one call, and keep what it gives and what it damages."""
        self.runner.note(step, self.case, leaves)
        made = {name: self.expected.wide[name] for name in names}
        # For tensors that are written beside before they have a name.
        itemsize = self.case.dtype.itemsize * (2 if any(tensor.is_complex() for tensor in made.values()) else 1)
        guard.expect(step, {name: tensor.numel() * itemsize for name, tensor in made.items()})
        found: Sequence[Any] = ()
        self.before(step)
        try:
            found = function()
        except Exception as error:  # `parity` says what it raises; what it wrote until then is told here
            self.errors.append(error)
            self.runner.note_error(self.case, error)
        for name, tensor in zip(names, found, strict=False):
            if isinstance(tensor, Tensor):
                guard.name(name, tensor)
                self.results[name] = tensor.detach()
        self.damages += [(step, damage) for damage in guard.damages()]
        return found
