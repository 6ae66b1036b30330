"""The LLTM kernel whose GEMMs go to the faster of two libraries: its choice, and that each way is right."""

from __future__ import annotations

import itertools
import threading
import time

import pytest
import torch

import lltm_inline as li
from lltm_inline.checking.check import check
from lltm_inline.compiling.compiler import build
from lltm_inline.model.registry import Kernel
from lltm_inline.ops.gemm import GemmChoice, gemm_choices

pytestmark = [pytest.mark.full, pytest.mark.together, pytest.mark.usefixtures("quick_compiler")]

OP = li.registry.ops["lltm"]
KERNEL = li.registry["lltm/onednn"]
MKL, ONEDNN = KERNEL.replace(params={"LIBRARY": 1}), KERNEL.replace(params={"LIBRARY": 2})
#: As on a torch that was built without oneDNN: the function is nowhere.
WITHOUT = ONEDNN.replace(flags=("-Daoti_torch_cpu__linear_pointwise=nowhere_in_this_torch",))
SIZE = (64, 96, 32)

needs_onednn = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")


@pytest.fixture(scope="module", autouse=True)
def built(quick_compiler: None) -> None:
    """Build all that is called here at once."""
    build([KERNEL, MKL, ONEDNN, WITHOUT], progress=False)


def chosen() -> set[GemmChoice]:
    """Return what the kernel has chosen so far; each test below has classes of its own, through its F."""
    return set(gemm_choices(li.build(KERNEL, progress=False)))


def inputs(size: tuple[int, int, int] = SIZE, dtype: torch.dtype = torch.float32, seed: int = 0) -> list[torch.Tensor]:
    """Draw one set of inputs."""
    generator = torch.Generator().manual_seed(seed)
    return list(OP.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), size))


def run(function, values, wanted=(True,) * 5) -> list[torch.Tensor]:
    """Run forward and backward with gradients of one; return results and wanted gradients."""
    leaves = [value.detach().requires_grad_(want) for value, want in zip(values, wanted, strict=True)]
    results = function(*leaves)
    gradients = torch.autograd.grad(
        results, [leaf for leaf in leaves if leaf.requires_grad], list(map(torch.ones_like, results))
    )
    return [*results, *gradients]


def same_bits(one: list[torch.Tensor], two: list[torch.Tensor]) -> bool:
    """Compare two lists of tensors to the bit."""
    return all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("kernel", [KERNEL, ONEDNN, WITHOUT], ids=["measured", "oneDNN", "absent"])
def test_each_way_is_right(kernel: Kernel) -> None:
    """The kernel passes the check when it measures, when all is oneDNN whatever the size, and where there is none."""
    report = check(kernel, progress=False)
    assert report.ok, str(report)


@needs_onednn
@pytest.mark.parametrize("wanted", [w for w in itertools.product((False, True), repeat=5) if any(w)], ids=str)
def test_every_subset_of_wanted_gradients(wanted: tuple[bool, ...]) -> None:
    """Both gradients of the last product, either alone, or none: with oneDNN too, these are the reference's."""
    values = inputs()
    want = run(OP.reference, [value.double() for value in values], wanted)
    for got, exact in zip(run(li.load(ONEDNN), values, wanted), want, strict=True):
        assert got.dtype == torch.float32
        torch.testing.assert_close(got.double(), exact, rtol=1e-4, atol=1e-4 * float(exact.detach().abs().max()))


@needs_onednn
def test_choice_is_made_once_and_shown() -> None:
    """Each product is measured when its class first comes and never again; the entry says of what, and what was found."""
    B, F, S = 64, 300, 32
    function, before = li.load(KERNEL), chosen()
    run(function, inputs((B, F, S)))
    found = chosen() - before
    sizes = {choice.product: (choice.rows, choice.columns, choice.length) for choice in found}
    assert sizes == {
        "z": (B, 3 * S, S + F),
        "d_weights": (3 * S, S + F, B),
        "[d_old_h, d_input]": (B, S + F, 3 * S),
    }
    for choice in found:
        assert choice.threads == torch.get_num_threads() and choice.mkl_us > 0 and choice.onednn_us > 0
        assert choice.library == ("oneDNN" if choice.onednn_us < KERNEL.params["AHEAD"] * choice.mkl_us else "MKL")
    run(function, inputs((B - 3, F, S)))  # of the same class
    assert chosen() - before == found
    run(function, inputs((2 * B, F, S)))
    assert len(chosen() - before) == 2 * len(found)


def test_choice_reads_as_a_line() -> None:
    """A choice printed names the product, its size, both times and the winner."""
    line = str(GemmChoice("z", 2, 64, 384, 1152, 341.71, 306.64, "oneDNN"))
    assert " ".join(line.split()) == "z (64, 1152) x (1152, 384) 2 threads MKL 341.7 us oneDNN 306.6 us -> oneDNN"


@needs_onednn
def test_results_do_not_flicker() -> None:
    """From the first call on the same inputs give the same bits, those of one library or the other in each product."""
    function, values = li.load(KERNEL), inputs((64, 600, 32))
    first = run(function, values)
    assert all(same_bits(first, run(function, values)) for _ in range(5))
    assert any(torch.equal(first[0], run(li.load(way), values)[0]) for way in (MKL, ONEDNN))


@needs_onednn
def test_threads_that_come_first_together_agree() -> None:
    """Where several threads meet a new class at once, all measure, the first decides, and all get the same bits."""
    function, values, before = li.load(KERNEL), inputs((64, 1200, 32)), chosen()
    results: list[list[torch.Tensor]] = []
    threads = [threading.Thread(target=lambda: results.append(run(function, values))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(same_bits(results[0], other) for other in results[1:])
    assert len(chosen() - before) == 3


def test_double_and_small_products_are_left_to_mkl() -> None:
    """oneDNN has no double, and products below `SMALL` multiply-adds are not worth the question."""
    function, before = li.load(KERNEL), chosen()
    run(function, inputs((64, 2500, 32), torch.float64))
    run(function, inputs((1, 2500, 1)))
    assert chosen() == before


@needs_onednn
@pytest.mark.filterwarnings("ignore:TF32")  # torch's own, about a flag that it sets along
def test_oneDNN_can_be_switched_off() -> None:
    """`torch.backends.mkldnn.flags(enabled=False)` is obeyed: nothing is measured, and the bits are MKL's."""
    values, before = inputs((64, 2500, 32)), chosen()
    want = run(li.load(MKL), values)
    with torch.backends.mkldnn.flags(enabled=False):
        for kernel in (KERNEL, ONEDNN):
            assert same_bits(run(li.load(kernel), values), want)
    assert chosen() == before
    assert same_bits(run(li.load(WITHOUT), values), want)


@needs_onednn
def test_one_thread_has_choices_of_its_own() -> None:
    """The number of threads is part of a class: another number is measured anew, and results stay right."""
    function, values, before = li.load(KERNEL), inputs((64, 5000, 32)), chosen()
    threads = torch.get_num_threads()
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            for got, want in zip(run(function, values), run(OP.reference, values), strict=True):
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4 * float(want.detach().abs().max()))
    finally:
        torch.set_num_threads(threads)
    assert sorted({choice.threads for choice in chosen() - before}) == [1, 2]


@needs_onednn
def test_gaps_between_rows_do_not_cost_a_thousandfold() -> None:
    """Weights that are a part of a wider matrix are copied for oneDNN, which would take them one element at a time."""
    values = inputs((32, 256, 64))
    wide = [*values]
    wide[1] = torch.cat([values[1], values[1]], 1)[:, : values[1].shape[1]]
    function = li.load(ONEDNN)

    def least(given: list[torch.Tensor]) -> float:
        times = []
        for _ in range(9):
            start = time.thread_time()  # of this thread alone, so that a busy machine does not count
            function.forward(*given)
            times.append(time.thread_time() - start)
        return min(times)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert least(wide) < 20 * least(values)
    finally:
        torch.set_num_threads(threads)
    for got, want in zip(run(function, wide), run(function, values), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4 * float(want.detach().abs().max()))


def test_results_do_not_share_memory() -> None:
    """No output or gradient is a view of another, though two gradients come out of one product."""
    for size in (SIZE, (1, 96, 32)):
        values = inputs(size)
        function = li.load(ONEDNN)
        raw = function.forward(*values)
        gradients = function.backward([torch.ones_like(result) for result in raw[:2]], values, raw, (True,) * 5)
        tensors = [*values, *raw, *gradients]
        assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == len(tensors)
        assert all(tensor.is_contiguous() for tensor in (*raw, *gradients))


def test_holds_what_fused_holds() -> None:
    """Nothing more is kept for backward than in `lltm/fused`: the gates."""
    B, _, S = SIZE
    (extra,) = li.load(KERNEL).forward(*inputs())[2:]
    assert tuple(extra.shape) == (B, 3 * S) and KERNEL.saves == li.registry["lltm/fused"].saves


def test_text_is_that_of_fused_but_for_its_gemms() -> None:
    """The passes are those of `lltm/fused` line for line, and no GEMM is left that asks nobody."""
    fused = li.registry["lltm/fused"].cpp
    passes = fused[
        fused.index("// z (B, 3S) becomes") : fused.index("std::tuple<at::Tensor, at::Tensor, at::Tensor> forward(")
    ]
    assert passes in KERNEL.cpp
    own = KERNEL.cpp[KERNEL.cpp.index("}  // namespace gemm") :]
    assert own.count("mm_out(") == own.count("bmm_out(") + 1  # what remains is MKL's own way with d_weights
