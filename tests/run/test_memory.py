"""Memory, measured on kernels of which every byte is known: what they keep, what they drop, what they leave behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.report import Finding, Report, Section
from lltm_inline.errors import CheckError, InputError
from lltm_inline.measure.inputs import Stack, layer_sizes
from lltm_inline.measure.memory import Meter, memory
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.tables.memory import Memory, MemoryRow
from tests.csv_files import is_whole
from tests.needs import needs
from tests.texts import bodies
from tests.tiny import forget

pytestmark = pytest.mark.usefixtures("quick_compiler")

OP = Op("kept", "(Tensor x) -> Tensor y", lambda x: x + x, {"x": "N", "y": "N"}, benchmark_sizes=((100,),))


@pytest.fixture(autouse=True)
def _op() -> Iterator[None]:
    """Register y = 2x for a test."""
    registry.register(OP)
    yield
    forget("kept")


class Keep(torch.autograd.Function):
    """y = 2x, with so many floats dropped in forward, kept for backward, and dropped in backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, dropped: int, kept: int, later: int) -> torch.Tensor:
        """Make both, keep one."""
        temporary = torch.empty(dropped)
        ctx.kept = torch.empty(kept)
        ctx.later = later
        del temporary
        return x + x

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        """Make the third, and drop it."""
        torch.empty(ctx.later)
        return grads[0] + grads[0], None, None, None


def keeping(name: str, dropped: int = 0, kept: int = 0, later: int = 0) -> Kernel:
    """Make a right kernel that allocates so many floats."""
    return Kernel(f"kept/{name}", python=lambda x: Keep.apply(x, dropped, kept, later))


def measure(kernels: Any, sizes: Any = None, **changes: Any) -> Memory:
    """Measure without the full check, which has tests of its own."""
    return memory(kernels, sizes, **{"check": False, "progress": False, **changes})


@pytest.mark.parametrize(
    ("dropped", "kept", "later", "held", "peak"),
    [
        (0, 0, 0, 400, 800),  # y; with d_x at the end
        (5000, 0, 0, 400, 20_000),  # dropped before y
        (0, 1000, 0, 4400, 4800),
        (5000, 1000, 0, 4400, 24_000),
        (5000, 1000, 9000, 4400, 40_400),  # y, what is kept, and what backward makes
        (5000, 1000, 4000, 4400, 24_000),
    ],
)
def test_every_byte_is_counted(dropped, kept, later, held, peak):
    """Held, peak and outputs are what a hand count gives, exactly."""
    row = measure(keeping("some", dropped, kept, later)).rows[0]
    assert (row.held, row.outputs, row.peak, row.left) == (held, 400, peak, 0)


def test_the_lltm_holds_what_its_page_says():
    """lltm/fused keeps its two outputs and the gates, 5 numbers for each cell; a second measurement gives the same."""
    B, F, S = 16, 32, 128
    found = measure(["lltm/python", "lltm/fused"], [(B, F, S)])
    held = {row.kernel: row.held for row in found.rows}
    assert held["lltm/fused"] == 4 * 5 * B * S < held["lltm/python"]
    assert {row.outputs for row in found.rows} == {4 * 2 * B * S}
    assert measure(["lltm/python", "lltm/fused"], [(B, F, S)]) == found


TEXTS = bodies(__file__)
WORKERS = TEXTS["workers"]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_allocations_in_parallel_loops_are_counted(threads):
    """`at::parallel_for` does not carry the meter to its workers by itself."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        row = measure(Kernel("kept/workers", cpp=WORKERS)).rows[0]
    finally:
        torch.set_num_threads(before)
    assert (row.held, row.peak, row.left) == (400, 8 * 4000 + 800, 0)


class Nested(torch.autograd.Function):
    """A backward that runs another backward, and keeps a tensor meanwhile."""

    threads: set[int]

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, depth: int) -> torch.Tensor:
        """Pass the input on."""
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Go one level down."""
        Nested.threads.add(threading.get_ident())
        kept = torch.empty(100_000)
        if ctx.depth:
            with torch.enable_grad():
                Nested.apply(torch.ones(1, requires_grad=True), ctx.depth - 1).backward()
        del kept
        return grads[0].clone(), None


def test_a_backward_on_other_threads_is_counted():
    """Autograd takes backwards that are nested 60 deep to threads of its own; the meter goes with them."""
    Nested.threads = set()
    x = torch.ones(1, requires_grad=True)
    with Meter(progress=False) as meter:
        y = Nested.apply(x, 79)
        torch.autograd.grad(y, x)
        del y
        assert meter.now == 0
    assert len(Nested.threads) > 1
    assert 80 * 400_000 <= meter.peak < 80 * 400_000 + 4096


def test_a_meter_counts_what_is_made_after_it_only():
    """Releases of older blocks do not count, those of its own blocks do, and other meters see nothing of it."""
    old = torch.empty(1000)
    with Meter(progress=False) as meter:
        del old
        new = torch.empty(10)
        assert (meter.now, meter.peak) == (40, 40)
        with Meter(progress=False) as inner:
            more = torch.empty(5)
            assert inner.now == 20
        del new, more
        assert meter.now == 0
    free = torch.empty(1000)
    assert (meter.now, meter.peak) == (0, 40) and free.numel()


def test_a_meter_is_over_when_it_is_left_by_an_error():
    """After an exception nothing is counted any more, and the profiler of PyTorch works as before."""
    with pytest.raises(ValueError, match="planted"), Meter(progress=False):
        raise ValueError("planted")
    with torch.profiler.profile(profile_memory=True) as profile:
        torch.ones(1000).add(1)
    assert any(event.key == "aten::add" for event in profile.key_averages())


def test_a_kernel_that_keeps_too_much_shows():
    """Twice the memory held for backward is in the rows, the ratio, the table and the verdict."""
    found = measure(["kept/python", keeping("lean"), keeping("greedy", kept=2**18)], [(2**18,)])
    greedy = {row.kernel: row for row in found.rows}["kept/greedy"]
    assert found.ratio(greedy, "held") == 2.0
    assert "kept/greedy holds 2.00x of what kept/python holds, and peaks at 1.50x" in found.verdict()
    assert "kept/lean holds 1.00x" in found.verdict()
    for text in (str(found), found._repr_html_()):
        assert "2.00 MiB  2.00x" in text and "1.00 MiB  1.00x" in text and "kept, float32, cpu" in text


def test_a_kernel_that_keeps_something_for_good_shows():
    """What is still there after outputs and gradients are gone is a finding of its own."""
    hoard: list[torch.Tensor] = []

    def leaky(x: torch.Tensor) -> torch.Tensor:
        hoard.append(torch.empty(2**18))
        return x + x

    found = measure(["kept/python", Kernel("kept/leaky", python=leaky)])
    assert [row.left for row in found.rows] == [0, 2**20]
    assert "kept/leaky keeps 1.00 MiB for good at N=100" in found.verdict()
    assert "keeps 1.00 MiB for good" in str(found)


def test_layers_add_up():
    """A chain of layers holds each layer's own, and its output is the last one's."""
    one, four = (measure(keeping("some", kept=1000), depth=depth).rows[0] for depth in (1, 4))
    assert (one.held, one.outputs) == (4400, 400)
    assert (four.held, four.outputs, four.depth) == (4 * 4000 + 400, 400, 4)


def test_layers_have_inputs_of_their_own():
    """Each LLTM of a stack has its weights and state; the cell of every layer is an output."""
    op = registry.ops["lltm"]
    assert layer_sizes(op, (2, 3, 5), 3) == [(2, 3, 5), (2, 5, 5), (2, 5, 5)]
    stack = Stack(op, (2, 3, 5), 3, dtype=torch.float32, device="cpu")
    assert [tuple(layer[1].shape) for layer in stack.layers] == [(15, 8), (15, 10), (15, 10)]
    assert len({item.data_ptr() for item in stack.wanted}) == 6  # weights and bias of each
    outputs = stack.outputs(op.reference)
    assert len(outputs) == 4 and all(grad is not None for grad in stack.backward(outputs))


def test_sizes_of_layers_follow_from_the_shapes():
    """An image loses K - 1 in each layer, and channels become those of the output."""
    shapes = {"x": "B C H W", "w": "O C K K", "y": "B O H-K+1 W-K+1"}
    op = Op("layered", "(Tensor x, Tensor w) -> Tensor y", torch.conv2d, shapes)
    assert layer_sizes(op, (2, 3, 11, 13, 8, 3), 3) == [(2, 3, 11, 13, 8, 3), (2, 8, 9, 11, 8, 3), (2, 8, 7, 9, 8, 3)]
    with pytest.raises(
        InputError, match=r"'layered': at layer 6 \(B=2, C=8, H=1, .*negative extent; take fewer layers"
    ):
        layer_sizes(op, (2, 3, 11, 13, 8, 3), 7)


def no_gradient(x: torch.Tensor) -> torch.Tensor:
    """Count the elements."""
    return torch.tensor(float(x.numel()))


def sized(name: str, shapes: dict[str, str], schema: str = "(Tensor x) -> Tensor y", **fields: Any) -> Op:
    """Make an op of which only the shapes matter."""
    return Op(name, schema, no_gradient, shapes, **fields)


@pytest.mark.parametrize(
    ("op", "size", "message"),
    [
        (
            sized("square", {"x": "N N", "y": ""}),
            (3,),
            "op 'square' cannot be stacked: layer 2 would get y () = () as its x (N, N)",
        ),
        (
            sized("tall", {"x": "N N", "y": "N 2N"}),
            (3,),
            "op 'tall' cannot be stacked: layer 2 would get y (N, 2N) = (3, 6) as its x (N, N)",
        ),
        (
            sized("count", {"x": "...", "y": ""}),
            (3,),
            "op 'count' cannot be stacked: layer 2 would get y () = () as its x (...)",
        ),
        (
            sized(
                "scaled", {"x": "B", "y": "B"}, "(float c, Tensor x) -> Tensor y", inputs=lambda randn, B: (2.0, randn(B))
            ),
            (3,),
            "op 'scaled' cannot be stacked: its first input c is a float, want a Tensor",
        ),
    ],
)  # fmt: skip
def test_ops_that_cannot_be_stacked_say_why(op, size, message):
    """Depth 2 is refused with both shapes; depth 1 is always possible."""
    assert layer_sizes(op, size, 1) == [size]
    with pytest.raises(InputError) as caught:
        layer_sizes(op, size, 2)
    assert str(caught.value) == message


def test_an_output_of_another_dtype_cannot_be_stacked():
    """Shapes alone do not tell: a complex input and a real output are found when the stack is made."""
    op = Op(
        "modulus", "(Tensor z) -> Tensor y", lambda z: z.abs(), {"z": "N", "y": "N"},
        inputs=lambda randn, N: (torch.complex(randn(N), randn(N)),), dtypes=("complex64",),
    )  # fmt: skip
    assert Stack(op, (3,), 1, dtype=torch.float32, device="cpu").outputs(op.reference)[0].shape == (3,)
    with pytest.raises(InputError, match="op 'modulus' cannot be stacked: y is float32, z is complex64"):
        Stack(op, (3,), 2, dtype=torch.float32, device="cpu")


@pytest.mark.parametrize(
    ("kernels", "changes", "message"),
    [
        ([], {}, "no kernel to measure: give one or more labels"),
        (["kept/python", "kept/python"], {}, "kept/python is given twice; each kernel is measured once"),
        (["kept/python", "lltm/python"], {}, "kernels of several ops cannot be compared: kept/python, lltm/python"),
        ("kept/python", {"sizes": [(1, 2)]}, r"size (1, 2) does not fit: want 1 non-negative integer (N)"),
        ("kept/python", {"sizes": []}, "op 'kept': sizes is empty"),
        ("kept/python", {"sizes": [{"M": 1}]}, "size {'M': 1} names M, want N"),
        ("kept/python", {"baseline": "kept/other"}, "baseline 'kept/other' is not among the kernels: kept/python"),
        ("kept/python", {"depth": 0}, "depth=0, want the number of layers: an integer of at least 1"),
        ("kept/python", {"depth": 1.5}, "depth=1.5, want the number of layers: an integer of at least 1"),
        ("kept/python", {"depth": True}, "depth=True, want the number of layers: an integer of at least 1"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(kernels, changes, message):
    """Each is an InputError that says what was wanted."""
    with pytest.raises(InputError) as caught:
        measure(kernels, **changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x * 3, r"(?s)'kept/wrong' y \(100,\) float32 differs.* at N=100\. It was not measured\."),
        (lambda x: (x + x).detach(), r"'kept/wrong' has no gradient.*It was not measured\."),
        (lambda x: x @ x[:1, None], r"'kept/wrong' failed at N=100: RuntimeError.*(?s:.*)It was not measured\."),
    ],
)
def test_a_wrong_kernel_is_not_measured(function: Callable[..., Any], message):
    """It is compared with the reference first, at the very size."""
    with pytest.raises(CheckError, match=message):
        measure(["kept/python", Kernel("kept/wrong", python=function)])


def test_the_full_check_runs_first_and_its_report_comes_along(monkeypatch):
    """A failed report stops the measurement and is in the exception; the reference itself is not checked."""
    from lltm_inline.checking import check as module

    asked = []

    def planted(kernel: Kernel, *_: Any, **__: Any) -> Report:
        asked.append(kernel.label)
        finding = Finding(kernel.label, "gradcheck", "d_x", "d_x is wrong in float64")
        return Report(kernel.label, "cpu", (Section("gradcheck", 1, (finding,)),))

    monkeypatch.setattr(module, "_check", planted)
    with pytest.raises(CheckError, match=r"(?s)'kept/lean' d_x is wrong in float64.*It was not measured") as caught:
        memory(["kept/python", keeping("lean")], progress=False)
    assert asked == ["kept/lean"] and caught.value.report is not None and not caught.value.report.ok


def test_a_kernel_that_fails_in_a_stack_is_a_check_error():
    """Right at the size of the first layer and failing afterwards is still the kernel's fault."""

    def once(x: torch.Tensor) -> torch.Tensor:
        if x.grad_fn is not None:
            raise RuntimeError("not upon another layer")
        return x + x

    with pytest.raises(CheckError, match="'kept/once' failed at N=100, 2 layers: not upon another layer"):
        measure(Kernel("kept/once", python=once), depth=2)


def test_an_op_without_gradients_has_its_outputs_only():
    """Integers in, integers out: nothing is kept, and the peak is that of forward."""
    registry.register(
        Op("tallied", "(Tensor n) -> Tensor y", lambda n: n + n, {"n": "N", "y": "N"}, lambda _, N: (torch.arange(N),))
    )
    row = measure("tallied/python", [(100,)]).rows[0]
    assert (row.held, row.outputs, row.peak, row.left) == (800, 800, 800, 0)
    forget("tallied")


def test_files_bring_back_what_was_written(tmp_path):
    """JSON, CSV and dict keep every number; other files are refused with words."""
    found = measure(["kept/python", keeping("lean")], [(3,), (5,)])
    assert Memory.from_dict(found.to_dict()) == found
    assert Memory.from_json(found.to_json(tmp_path / "memory.json")) == found
    assert is_whole(found, tmp_path / "memory.csv")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "none.json").write_text("{")
    for call, message in [
        (lambda: Memory.from_dict({"format": "x"}), "not a measurement of memory: format is 'x'"),
        (lambda: Memory.from_dict({**found.to_dict(), "rows": [{}]}), "incomplete or from another version"),
        (lambda: Memory.from_json(tmp_path / "list.json"), r"not a measurement of memory: it is \[\]"),
        (lambda: Memory.from_json(tmp_path / "none.json"), "is no JSON file"),
    ]:
        with pytest.raises(InputError, match=message):
            call()


def test_it_shows_itself():
    """A table with sizes, bytes and ratios; nothing measured is a sentence."""
    what: dict[str, Any] = {
        "op": "kept",
        "depth": 4,
        "dtype": "float32",
        "device": "cpu",
        "threads": 2,
        "torch": "2.13.0",
    }
    rows = [
        MemoryRow("kept/python", size={"N": 3}, held=2**22, outputs=2**19, peak=2**23, **what),
        MemoryRow("kept/lean", size={"N": 3}, held=2**20, outputs=2**19, peak=2**16, **what),
    ]
    assert str(Memory(tuple(rows), "kept/python")) == "\n".join(
        [
            "kept, float32, cpu, 4 layers: memory above inputs and parameters, and the ratio to kept/python",
            "",
            "               held for backward  of it outputs  peak",
            "N=3",
            "  kept/python  4.00 MiB  1.00x    0.50 MiB       8.00 MiB  1.00x",
            "  kept/lean    1.00 MiB  0.25x    0.50 MiB       64.0 KiB  0.01x",
            "",
            "2 threads, torch 2.13.0",
        ]
    )
    nothing = Memory((), "kept/python")
    assert str(nothing) == "Memory: nothing was measured" and "nothing was measured" in nothing._repr_html_()


def test_progress_only_grows_and_ends_at_the_total():
    """The callback gets done, total and a text that says what is being measured."""
    said: list[tuple[int, int, str]] = []
    measure(["kept/python", keeping("lean")], [(3,), (5,)], progress=lambda *step: said.append(step))
    done = [step[0] for step in said]
    assert done == sorted(done) and said[-1][0] == said[-1][1] and len({step[1] for step in said}) == 1
    assert any("measuring kept/lean at N=5" in text for _, _, text in said)


@pytest.mark.gpu
@needs("a GPU")
def test_a_gpu_is_measured_with_torchs_own_statistics():
    """Blocks of 512 bytes: y of 1 MiB is held, and the gradient is there at the peak."""
    row = measure("kept/python", [(2**18,)], device="cuda").rows[0]
    assert (row.held, row.peak, row.left) == (2**20, 2**21, 0)


def test_the_door_is_open():
    """`li.memory` and `li.Memory` are the same as here."""
    assert li.memory is memory and li.Memory is Memory
