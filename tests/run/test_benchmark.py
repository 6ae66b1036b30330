"""The benchmark, tested with kernels whose speed, mistakes and tricks are known.

No test here depends on real time: a planted clock advances by what each kernel says that it costs.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch

from lltm_inline.checking.report import Finding, Report, Section
from lltm_inline.errors import CheckError, InputError
from lltm_inline.measure import inputs, machine, sample
from lltm_inline.measure.benchmark import benchmark
from lltm_inline.measure.inputs import Ring
from lltm_inline.model.registry import Cost, Kernel, Op, registry
from tests.tiny import forget, registry_as_before

pytestmark = pytest.mark.usefixtures("quick_compiler")

SIZES = [(3, 17), (5, 7)]


def reference(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute two outputs that depend on both inputs."""
    return torch.tanh(x * w), x + w


def cost(itemsize: int, B: int, F: int) -> Cost:
    """Count a few bytes and operations."""
    return Cost(itemsize * 3 * B * F, B * F, itemsize * 6 * B * F, 2 * B * F)


OP = Op(
    "timed",
    "(Tensor x, Tensor w) -> (Tensor y, Tensor z)",
    reference,
    {"x": "B F", "w": "B F", "y": "B F", "z": "B F"},
    benchmark_sizes=((3, 17),),
    cost=cost,
)


class FakeClock:
    """Time that passes only when a kernel says so, with seeded noise of 2 % and a drift that doubles everything."""

    def __init__(self) -> None:
        self.now = 0
        self._noise = random.Random(7)

    def __call__(self) -> int:
        return self.now

    def spend(self, microseconds: float) -> None:
        """Let time pass, more of it the later it is."""
        drift = 1 + self.now / 1e9
        self.now += int(1000 * microseconds * drift * self._noise.uniform(0.98, 1.02))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClock]:
    """Put the planted clock in place, register the op, and let the machine's speed be known."""
    fake = FakeClock()
    monkeypatch.setattr(sample, "clock", fake)
    monkeypatch.setattr(inputs, "MOST_SETS", 32)  # kernels that take no planted time would fill the largest ring
    monkeypatch.setattr(machine, "peak", lambda *_: machine.Peak(copy=1e9, gemm=1e9))
    registry.register(OP)
    yield fake
    forget(OP.name)


class Spend(torch.autograd.Function):
    """Let time pass in the backward of a kernel."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, spend: Callable[[], None]) -> torch.Tensor:
        """Pass the input on."""
        ctx.spend = spend
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Spend the time and pass the gradient on."""
        ctx.spend()
        return grads[0], None


def paced(name: str, clock: FakeClock, forward: float, backward: float = 50.0) -> Kernel:
    """Make a right kernel that takes so many microseconds."""

    def run(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        clock.spend(forward)
        return reference(Spend.apply(x, lambda: clock.spend(backward)), w)

    return Kernel(f"timed/{name}", python=run)


def run(kernels: list[Kernel | str], **changes: Any) -> Any:
    """Benchmark without the full check, which has tests of its own."""
    return benchmark(
        kernels, **{"sizes": SIZES, "check": False, "trust": True, "progress": False, "rounds": 60, **changes}
    )


def test_two_identical_kernels_show_no_measurable_difference(clock):
    """Noise and drift alone never become a finding."""
    timings = run([paced("one", clock, 100), paced("two", clock, 100)])
    assert [row.outcome for row in timings.rows if row.kernel == "timed/two"] == ["same"] * 6
    assert timings.verdict().count("no measurable difference") == 7


def test_a_slower_kernel_is_slower_by_what_was_planted(clock):
    """The direction of the ratio, its size and its interval are right, for each direction alone."""
    timings = run([paced("base", clock, 100, 100), paced("slow", clock, 130, 100), paced("fast", clock, 100, 50)])
    found = {(row.kernel, row.direction): row for row in timings.rows if row.size == {"B": 3, "F": 17}}
    expected = {
        ("timed/slow", "forward"): 100 / 130, ("timed/slow", "backward"): 1.0, ("timed/slow", "both"): 200 / 230,
        ("timed/fast", "forward"): 1.0, ("timed/fast", "backward"): 2.0, ("timed/fast", "both"): 200 / 150,
    }  # fmt: skip
    for key, speedup in expected.items():
        row = found[key]
        assert row.speedup == pytest.approx(speedup, rel=0.01), key
        assert row.speedup_low <= speedup * 1.005 and row.speedup_high >= speedup * 0.995, key
        assert row.outcome == ("same" if speedup == 1 else "faster" if speedup > 1 else "slower"), key
    assert "timed/slow is 1.15x slower than timed/base" in timings.verdict()


def test_rows_carry_times_rates_and_conditions(clock):
    """Each row has seconds a call, rates from the op's cost, the share of the peak, and what the times depend on."""
    timings = run([paced("base", clock, 100, 100)], sizes=[(3, 17)], rounds=9)
    row = {row.direction: row for row in timings.rows}["both"]
    assert row.q1 <= row.median <= row.q3 and row.median == pytest.approx(200e-6, rel=0.1)
    assert (row.samples, row.calls, row.dtype, row.device, row.op) == (9, 1, "float32", "cpu", "timed")
    assert row.gb_per_s == pytest.approx(4 * 9 * 51 / row.median / 1e9)
    assert row.gflop_per_s == pytest.approx(3 * 51 / row.median / 1e9)
    assert row.bound_by == "copy" and row.share == pytest.approx(row.gb_per_s)
    assert (row.threads, row.torch, row.cpu) == (torch.get_num_threads(), torch.__version__, machine.cpu_name())
    assert (row.flags, row.compiler) == ((), "")


def test_short_calls_are_repeated_until_a_sample_is_long_enough(clock):
    """A sample lasts 200 us at least; all kernels make as many calls, and a slow one no needless ones."""
    kernels = [paced("base", clock, 9), paced("also", clock, 40), paced("slow", clock, 30_000)]
    timings = run(kernels, directions=["forward"], sizes=[(3, 17)], seconds=0.1)
    calls = {row.kernel: row.calls for row in timings.rows}
    assert calls["timed/base"] == calls["timed/also"] >= 15 and calls["timed/slow"] == 1


def test_rounds_end_when_clear_or_when_the_time_is_spent(clock):
    """Kernels far apart need few rounds; slow ones stop at the budget, after 8 rounds unless far over it."""
    clear = run([paced("base", clock, 100), paced("slow", clock, 300)], directions=["forward"])
    assert {row.samples for row in clear.rows} == {16}
    slow = [paced("base", clock, 20_000), paced("other", clock, 20_000)]
    assert {row.samples for row in run(slow, directions=["forward"], seconds=0.12, sizes=[(3, 17)]).rows} == {8}
    few = run(slow, directions=["forward"], seconds=0.01)
    assert {row.samples for row in few.rows} <= {1, 2, 3} and "too few rounds" in few.verdict()


def test_no_call_sees_the_data_of_the_call_before(clock):
    """Every timed call gets other values than the last one, in every input."""
    seen: list[tuple[float, float]] = []

    def spy(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        clock.spend(90)
        seen.append((x.sum().item(), w.sum().item()))
        return reference(x, w)

    run([Kernel("timed/spy", python=spy)], sizes=[(3, 17)])
    assert len(seen) > 50
    assert all(one[0] != two[0] and one[1] != two[1] for one, two in pairwise(seen))


def test_a_wrong_kernel_is_not_timed(clock):
    """The message names kernel, output, amount and size, and nothing is reported."""
    wrong = Kernel("timed/wrong", python=lambda x, w: (torch.tanh(x * w), x - w))
    with pytest.raises(
        CheckError, match=r"(?s)'timed/wrong' z \(3, 17\) float32 differs in .* at B=3, F=17.*not timed"
    ):
        run([paced("base", clock, 100), wrong])


def test_a_wrong_gradient_is_named(clock):
    """A right forward with a wrong gradient is refused, and the gradient named."""

    def half(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, z = reference(x, w)
        return y, z.detach() + (z - z.detach()) * 0.5

    with pytest.raises(CheckError, match=r"'timed/half' d_x \(3, 17\) float32 differs"):
        run([Kernel("timed/half", python=half)])


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("fewer", lambda x, w: torch.tanh(x * w), "returned 1 outputs at B=3, F=17, want 2: y, z"),
        ("shape", lambda x, w: (torch.tanh(x * w)[None], x + w), r"y has shape \(1, 3, 17\), want \(3, 17\)"),
        ("dtype", lambda x, w: (torch.tanh(x * w).double(), x + w), "y is float64, want float32"),
        ("detached", lambda x, w: (torch.tanh(x * w).detach(), (x + w).detach()), "has no gradient"),
        ("raises", lambda x, w: x @ w, "failed at B=3, F=17: RuntimeError"),
        ("mutates", lambda x, w: (x.detach().add_(1), reference(x, w))[1], "changes its input x"),
    ],
)
def test_each_way_to_be_wrong_has_its_own_message(clock, name, function, message):
    """What is wrong is said in words that name it."""
    with pytest.raises(CheckError, match=message):
        run([Kernel(f"timed/{name}", python=function)])


def test_forward_alone_asks_for_no_gradients(clock):
    """A kernel without gradients, or with wrong ones, is timed forward, and in no other direction."""

    def detached(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        clock.spend(100)
        return tuple(result.detach() for result in reference(x, w))  # type: ignore[return-value]

    kernels: list[Kernel | str] = ["timed/python", Kernel("timed/detached", python=detached)]
    assert len(run(kernels, directions=["forward"], sizes=[(3, 17)]).rows) == 2
    with pytest.raises(CheckError, match="has no gradient"):
        run(kernels, directions=["forward", "both"], sizes=[(3, 17)])


def test_a_kernel_wrong_at_one_size_only_is_caught(clock):
    """Every timed size is compared, not only the first."""

    def picky(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, z = reference(x, w)
        return (y, z) if x.shape[1] == 17 else (y * 2, z)

    assert run([Kernel("timed/picky", python=picky)], sizes=SIZES[:1]).rows
    with pytest.raises(CheckError, match="at B=5, F=7"):
        run([Kernel("timed/picky", python=picky)])


def make_cache(clock: FakeClock, key: Callable[[torch.Tensor], Any], after: int) -> Callable[..., Any]:
    """Make a kernel that computes for its first calls, and then returns what it kept under a key."""
    kept: dict[Any, Any] = {}
    calls = 0

    def run(x: torch.Tensor, w: torch.Tensor) -> Any:
        nonlocal calls
        calls += 1
        if calls > after and key(x) in kept:
            clock.spend(1)
            return kept[key(x)]
        clock.spend(100)
        kept[key(x)] = reference(x, w)
        return kept[key(x)]

    return run


@pytest.mark.parametrize("key", [lambda x: x.shape, lambda x: x.data_ptr(), id], ids=["shape", "address", "object"])
def test_a_kernel_that_keeps_results_is_caught_before_timing(clock, key):
    """Other values at the same address expose a cache, whatever it is keyed by."""
    with pytest.raises(CheckError, match=r"(?s)'timed/cached' y .* differs"):
        run([Kernel("timed/cached", python=make_cache(clock, key, 0))], directions=["forward"])


@pytest.mark.parametrize("direction", ["forward", "both"])
def test_a_kernel_that_begins_to_cheat_while_it_is_timed_is_caught(clock, direction):
    """Results of timed calls are compared too, so behaving until the timing starts does not help."""
    cheat = Kernel("timed/late", python=make_cache(clock, lambda x: x.data_ptr(), 60))
    with pytest.raises(CheckError, match="right before it was timed") as caught:
        run([cheat], directions=[direction], sizes=[(3, 17)])
    assert "'timed/late'" in str(caught.value)


@pytest.mark.parametrize("direction", ["backward", "both"])
def test_a_gradient_that_goes_wrong_while_it_is_timed_is_caught(clock, direction):
    """Gradients of timed calls are compared as well, also where the outputs stay right."""
    calls = 0

    def lazy(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        nonlocal calls
        calls += 1
        clock.spend(100)
        y, z = reference(x, w)
        return (y, z) if calls < 60 else (y, z - w + w.detach())

    with pytest.raises(CheckError, match=r"'timed/lazy' d_w .*right before it was timed"):
        run([Kernel("timed/lazy", python=lazy)], directions=[direction], sizes=[(3, 17)])


def test_a_stale_output_buffer_is_caught(clock):
    """A kernel that returns the same buffer each time overwrites the result of the call before."""
    buffer = torch.empty(3, 17)

    def stale(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad():
            return torch.tanh(x * w), torch.add(x, w, out=buffer)

    with pytest.raises(CheckError, match="'timed/stale' z"):
        run([Kernel("timed/stale", python=stale)], directions=["forward"], sizes=[(3, 17)])


def test_the_full_check_runs_first_and_its_report_comes_along(clock, monkeypatch):
    """A failed report stops the benchmark and is in the exception; the reference itself is not checked."""
    from lltm_inline.checking import check as module

    asked = []

    def planted(kernel: Kernel, *_: Any, **__: Any) -> Report:
        asked.append(kernel.label)
        finding = Finding(kernel.label, "gradcheck", "d_w", "d_w is wrong in float64")
        return Report(kernel.label, "cpu", (Section("gradcheck", 1, (finding,)),))

    monkeypatch.setattr(module, "_check", planted)
    with pytest.raises(CheckError, match="'timed/base' d_w is wrong in float64") as caught:
        run(["timed/python", paced("base", clock, 100)], check=True)
    assert asked == ["timed/base"] and caught.value.report is not None and not caught.value.report.ok


def test_the_baseline_is_the_reference_unless_one_is_named(clock):
    """Default: op/python if it is there, else the first; a name or kernel chooses another."""
    one, two = paced("one", clock, 100), paced("two", clock, 100)
    few: dict[str, Any] = {"rounds": 1, "directions": ["forward"]}
    assert run([one, "timed/python"], **few).baseline == "timed/python"
    assert run([one, two], **few).baseline == "timed/one"
    assert (
        run([one, two], baseline=two, **few).baseline
        == run([one, two], baseline="timed/two", **few).baseline
        == "timed/two"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": "timed/other"}, "baseline 'timed/other' is not among the kernels: timed/one"),
        ({"directions": ["sideways"]}, "want some of forward, backward, both"),
        ({"directions": "forward"}, "want some of forward, backward, both"),
        ({"directions": []}, "want some of forward, backward, both"),
        ({"sizes": [(1, 2, 3)]}, r"want 2 non-negative integers \(B, F\)"),
        ({"sizes": [{"B": 1, "X": 2}]}, "names B, X, want B, F"),
        ({"sizes": (3, 17)}, "sizes is a list of sizes"),
        ({"sizes": []}, "sizes is empty"),
        ({"rounds": 0}, "at least one round"),
        ({"seconds": 0.0}, "a positive time"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(clock, changes, message):
    """Each is an InputError that says what was wanted."""
    with pytest.raises(InputError, match=message):
        run([paced("one", clock, 100)], **changes)


def test_kernels_that_cannot_be_compared_are_refused(clock):
    """None, the same one twice, and those of two ops."""
    with registry_as_before():
        registry.register(Op("timed_too", "(Tensor x) -> Tensor y", torch.tanh, {"x": "B", "y": "B"}))
        for kernels, message in [
            ([], "no kernel to time"),
            (["timed/python", "timed/python"], "given twice"),
            (["timed/python", "timed_too/python"], "several ops"),
        ]:
            with pytest.raises(InputError, match=message):
                run(kernels)


def test_sizes_may_be_dicts_and_default_to_the_ops_own(clock):
    """A size by letter is the same as one by position."""
    few: dict[str, Any] = {"rounds": 1, "directions": ["forward"]}
    assert run(["timed/python"], sizes=None, **few).sizes == ({"B": 3, "F": 17},)
    assert run(["timed/python"], sizes=[{"F": 17, "B": 3}, (3, 17)], **few).sizes == ({"B": 3, "F": 17},)


@pytest.mark.full
def test_an_empty_size_and_other_dtypes_can_be_timed(clock):
    """Zero rows, double and half precision run through."""
    few: dict[str, Any] = {"rounds": 8, "seconds": 0.01}
    assert len(run(["timed/python"], sizes=[(0, 5)], **few).rows) == 3
    for dtype in (torch.float64, torch.bfloat16):
        assert {row.dtype for row in run(["timed/python"], dtype=dtype, **few).rows} == {
            str(dtype).removeprefix("torch.")
        }


def test_only_parameters_want_gradients():
    """`op.parameters` decides which inputs get a gradient; integer inputs never do."""
    schema, shapes = "(Tensor x, Tensor w, Tensor n) -> Tensor y", {"x": "B", "w": "B", "n": "B", "y": "B"}

    def make(randn: Callable[..., torch.Tensor], B: int) -> tuple[torch.Tensor, ...]:
        return randn(B), randn(B), torch.arange(B)

    op = Op("ringed", schema, lambda x, w, n: x * w + n, shapes, inputs=make)
    ring = Ring(op, (3,), dtype=torch.float32, device="cpu")
    assert ring.names == ("x", "w") and [t.requires_grad for t in ring.refill(1)[0].inputs] == [True, True, False]
    some = Op("ringed", schema, lambda x, w, n: x * w + n, shapes, inputs=make, parameters=("w",))
    assert Ring(some, (3,), dtype=torch.float32, device="cpu").names == ("w",)


def test_an_op_without_gradients_is_timed_forward_only():
    """The default directions shrink to what there is; asking for a backward alone is refused."""

    def make(_: Any, B: int) -> tuple[torch.Tensor, ...]:
        return (torch.arange(B),)

    registry.register(Op("counted", "(Tensor n) -> Tensor y", double, {"n": "B", "y": "B"}, inputs=make))
    timings = run(["counted/python"], sizes=[(5,)], seconds=0.01)
    assert [row.direction for row in timings.rows] == ["forward"]
    with pytest.raises(InputError, match="only forward"):
        run(["counted/python"], sizes=[(5,)], directions=["backward"])


def double(n: torch.Tensor) -> torch.Tensor:
    """Double an integer tensor."""
    return n * 2


def test_memory_for_fresh_inputs_is_limited(monkeypatch):
    """Large inputs are kept twice, not 256 times."""
    monkeypatch.setattr(inputs, "MOST_BYTES", 4 * 4 * 1000 * 10)
    assert Ring(OP, (10, 100), dtype=torch.float32, device="cpu").capacity == 10
    assert Ring(OP, (100, 1000), dtype=torch.float32, device="cpu").capacity == 2
    assert Ring(OP, (1, 1), dtype=torch.float32, device="cpu").capacity == 256


def test_progress_only_grows_and_ends_at_the_total(clock):
    """The callback gets done, total and a text that says what is being timed."""
    steps: list[tuple[int, int, str]] = []
    run([paced("one", clock, 100), "timed/python"], progress=lambda *step: steps.append(step))
    done = [step[0] for step in steps]
    assert done == sorted(done) and steps[-1][0] == steps[-1][1] and len({step[1] for step in steps}) == 1
    assert any("timing timed backward at B=5, F=7, round " in text for _, _, text in steps)


def test_ctrl_c_raises_and_loses_nothing(clock):
    """The interrupt goes on to the caller with the finished rows in it, and the garbage collector is on again."""

    def stop(done: int, total: int, text: str) -> None:
        if "backward" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        run([paced("one", clock, 100), paced("two", clock, 150)], progress=stop)
    partial = caught.value.timings  # type: ignore[attr-defined]
    assert [(row.kernel, row.direction) for row in partial.rows] == [("timed/one", "forward"), ("timed/two", "forward")]
    assert "2 rows" in caught.value.__notes__[0] and gc.isenabled()


def test_collector_and_threads_are_left_as_they_were(clock):
    """The collector is off inside timed calls and comes back as it was; threads never change."""
    states = []

    def watch(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        clock.spend(100)
        states.append((gc.isenabled(), torch.get_num_threads()))
        return reference(x, w)

    threads = torch.get_num_threads()
    run([Kernel("timed/watch", python=watch)], sizes=[(3, 17)], rounds=8)
    assert gc.isenabled() and states[-1] == (False, threads)
    gc.disable()
    try:
        run([Kernel("timed/watch", python=watch)], sizes=[(3, 17)], rounds=8)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_kernels_meet_in_random_order_in_every_round(clock):
    """Neither kernel is always first, and each has its turn once a round."""
    turns: list[str] = []

    def turn(name: str) -> Kernel:
        def run(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            clock.spend(6000)  # long enough for one call a sample and none that leads
            turns.append(name)
            return reference(x, w)

        return Kernel(f"timed/turn_{name}", python=run)

    run([turn("a"), turn("b")], sizes=[(3, 17)], directions=["forward"], rounds=12)
    rounds = ["".join(pair) for pair in zip(turns[-26::2], turns[-25::2], strict=True)]
    assert set(rounds) == {"ab", "ba"}


def test_the_machines_own_speed_is_measured_once():
    """Copy and GEMM speeds are positive, and the second look costs nothing."""
    first = machine.peak(torch.float32)
    assert first.copy > 1e8 and first.gemm > 1e8 and machine.peak(torch.float32) is first
    assert machine.machine().torch == torch.__version__ and machine.cpu_name()
