"""The LLTM room: reference and kernels, beyond what `li.check` looks at."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys

import pytest
import torch

import lltm_inline as li
from tests.needs import need

OP = li.registry.ops["lltm"]
BUILT = ("lltm/aten", "lltm/fused", "lltm/stable", "lltm/onednn")
EMPTY = [(0, 3, 5), (3, 0, 5), (3, 5, 0), (0, 0, 0)]
VECTOR_EDGES = [(2, 3, 7), (2, 3, 8), (2, 3, 9), (2, 3, 15), (2, 3, 16), (2, 3, 17), (129, 7, 127)]
SIZES = [(1, 1, 1), (3, 17, 5), *EMPTY, *VECTOR_EDGES, (2051, 3, 9)]
NAMES = [argument.name for argument in OP.signature.inputs]


def inputs(size: tuple[int, int, int], dtype: torch.dtype = torch.float64, seed: int = 0) -> list[torch.Tensor]:
    """Draw one set of inputs."""
    generator = torch.Generator().manual_seed(seed)
    return list(OP.make_inputs(lambda *shape: torch.randn(*shape, dtype=dtype, generator=generator), size))


def results_and_gradients(function, values, wanted=(True,) * 5, seed: int = 1):
    """Run forward and backward with fixed gradients of the outputs."""
    leaves = [value.detach().requires_grad_(want) for value, want in zip(values, wanted, strict=True)]
    results = function(*leaves)
    generator = torch.Generator().manual_seed(seed)
    grads = [torch.randn(result.shape, dtype=result.dtype, generator=generator) for result in results]
    return results, torch.autograd.grad(results, [leaf for leaf in leaves if leaf.requires_grad], grads)


def assert_close(got, want, tolerance: float) -> None:
    """Compare two tuples of tensors, relative to the largest element of each."""
    for index, (one, two) in enumerate(zip(got, want, strict=True)):
        assert one.shape == two.shape
        scale = two.abs().max().clamp_min(1) if two.numel() else 1
        assert ((one - two).abs() <= tolerance * scale).all(), f"number {index} differs"


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_kernel_equals_reference_to_rounding(name: str, size: tuple[int, int, int]) -> None:
    """Values and all five gradients agree to 1e-13 in float64, at corners, vector edges, and above `SPLIT`."""
    values = inputs(size)
    want, want_grads = results_and_gradients(OP.reference, values)
    got, got_grads = results_and_gradients(li.load(name), values)
    assert_close(got, want, 1e-13)
    assert_close(got_grads, want_grads, 1e-13)


@pytest.mark.parametrize("name", BUILT)
def test_float32_is_as_close_to_float64_as_pytorch_is(name: str) -> None:
    """The kernels' own exponential is no less exact than the library's, in float32 too."""
    values = inputs((64, 33, 129), torch.float32)
    doubles = [value.double() for value in values]
    exact, exact_grads = results_and_gradients(OP.reference, doubles)
    plain, plain_grads = results_and_gradients(OP.reference, values)
    got, got_grads = results_and_gradients(li.load(name), values)
    for one, two, best in zip((*got, *got_grads), (*plain, *plain_grads), (*exact, *exact_grads), strict=True):
        error, limit = ((value.double() - best).abs().max().item() for value in (one, two))
        assert error <= 4 * limit + 1e-7


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_large_values_overflow_nowhere(name: str, dtype: torch.dtype) -> None:
    """Gates of +-1000 saturate: no inf, no nan, in values and in gradients, as in the reference."""
    values = inputs((8, 4, 40), dtype)
    values[1] *= 1000
    values[4] *= 100
    want, want_grads = results_and_gradients(OP.reference, values)
    got, got_grads = results_and_gradients(li.load(name), values)
    for tensor in (*got, *got_grads):
        assert tensor.isfinite().all()
    assert_close((*got, *got_grads), (*want, *want_grads), 1e-4 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("name", BUILT)
def test_nan_and_infinity_come_out_where_they_go_in(name: str) -> None:
    """A nan stays a nan, and an infinite bias gives what the reference gives."""
    for value, gate in itertools.product((math.nan, math.inf, -math.inf), range(3)):
        values = inputs((2, 3, 20))
        values[2][gate * 20 + 4] = value
        want, got = OP.reference(*values), li.load(name)(*values)
        for one, two in zip(got, want, strict=True):
            torch.testing.assert_close(one, two, equal_nan=True, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", BUILT)
def test_a_gate_that_is_shut_lets_nothing_infinite_through(name: str) -> None:
    """sigmoid(-inf) is 0 and no tiny number: 0 times an infinite candidate is NaN, as in the reference."""
    values = dict(zip(NAMES, inputs((3, 17, 19)), strict=True))
    bias = values["bias"].view(3, -1)
    bias[0], bias[2] = -math.inf, math.inf
    new_h, new_cell = li.load(name)(*values.values())
    assert new_h.isnan().all() and new_cell.isnan().all()


@pytest.mark.parametrize("name", BUILT)
def test_every_subset_of_wanted_gradients(name: str) -> None:
    """Whatever set of inputs wants gradients, those come, equal to the reference's, and no others are computed."""
    values = inputs((3, 17, 5))
    function = li.load(name)
    raw = function.forward(*values)
    ones = [torch.ones_like(result) for result in raw[:2]]
    for wanted in itertools.product((False, True), repeat=5):
        if any(wanted):
            _, want = results_and_gradients(OP.reference, values, wanted)
            _, got = results_and_gradients(function, values, wanted)
            assert_close(got, want, 1e-13)
        gradients = function.backward(ones, values, raw, wanted)
        for flag, gradient, argument in zip(wanted, gradients, NAMES, strict=True):
            assert (gradient is not None and gradient.numel() > 0) == flag, f"d_{argument}"


@pytest.mark.parametrize("name", BUILT)
def test_strided_inputs_and_expanded_gradients(name: str) -> None:
    """Transposed, sliced, misaligned and expanded tensors are read by their strides."""
    values = inputs((6, 4, 10))
    odd = [
        values[0].t().contiguous().t(),
        torch.cat([values[1], values[1]], 1)[:, :14],
        torch.stack([values[2], values[2]], 1)[:, 0],
        torch.empty(61, dtype=torch.float64)[1:].view(6, 10).copy_(values[3]),
        values[4][:1].expand(6, 10),
    ]
    plain = [value.contiguous() for value in odd]
    function = li.load(name)
    gradients = []
    for leaves, call in ((odd, function), (plain, OP.reference)):
        leaves = [leaf.detach().requires_grad_() for leaf in leaves]
        h, cell = call(*leaves)
        gradients.append(torch.autograd.grad(h.sum() + cell.t()[::2].sum(), leaves))
    assert_close(*gradients, 1e-13)


@pytest.mark.parametrize("name", BUILT)
def test_one_output_alone_and_two_steps(name: str) -> None:
    """A loss of one output only, and one of two chained steps, give the reference's gradients."""
    values = inputs((3, 17, 5))
    gradients = []
    for call in (li.load(name), OP.reference):
        x, weights, bias, h, cell = leaves = [value.detach().requires_grad_() for value in values]
        one = torch.autograd.grad(call(*leaves)[1].sum(), leaves, allow_unused=True)
        h, cell = call(x, weights, bias, *call(x, weights, bias, h, cell))
        two = torch.autograd.grad((h * h).sum(), leaves, retain_graph=True)
        again = torch.autograd.grad((h * h).sum(), leaves)
        gradients.append([*(gradient for gradient in one if gradient is not None), *two, *again])
    assert_close(gradients[0][-10:], gradients[1][-10:], 1e-13)
    assert_close(gradients[0][:5], gradients[1][:5], 1e-13)


@pytest.mark.parametrize("name", ["lltm/fused", "lltm/stable"])
def test_results_do_not_share_memory(name: str) -> None:
    """No output or gradient is a view of another or of an input, so none keeps more memory alive than its own."""
    values = inputs((40, 7, 64))
    function = li.load(name)
    raw = function.forward(*values)
    gradients = function.backward([torch.ones_like(result) for result in raw[:2]], values, raw, (True,) * 5)
    tensors = [*values, *raw, *gradients]
    assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == len(tensors)
    for tensor in (*raw, *gradients):
        assert tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()


@pytest.mark.parametrize("name", ["lltm/fused", "lltm/stable"])
def test_bias_gradient_does_not_depend_on_threads(name: str) -> None:
    """Blocks of rows are cut without regard to the number of threads, so sums are the same to the bit."""
    values = inputs((1000, 5, 64), torch.float32)
    function = li.load(name)
    raw = function.forward(*values)
    grads = [torch.ones_like(result) for result in raw[:2]]
    threads = torch.get_num_threads()
    try:
        sums = []
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            sums.append(function.backward(grads, values, raw, (False, False, True, False, False))[2])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(sums[0], sums[1]) and torch.equal(sums[0], sums[2])


def test_bias_gradient_is_exact_over_long_batches() -> None:
    """The sum over 20 000 rows in float32 is as exact as PyTorch's, which is summed in a tree."""
    values = inputs((20_000, 1, 3), torch.float32)
    wanted = (False, False, True, False, False)
    _, (exact,) = results_and_gradients(OP.reference, [value.double() for value in values], wanted)
    for name in ("lltm/fused", "lltm/stable"):
        _, (got,) = results_and_gradients(li.load(name), values, wanted)
        # The gradients of the outputs are drawn anew in each dtype, so compare with the reference in float32.
        _, (want,) = results_and_gradients(OP.reference, values, wanted)
        assert ((got - want).abs() <= 1e-5 * exact.abs().max()).all()


@pytest.mark.parametrize("name", BUILT)
def test_backward_holds_only_what_it_needs(name: str) -> None:
    """A kernel keeps the gates for backward, and no copy of inputs that live anyway (`aten` keeps [old_h, input])."""
    B, F, S = 5, 7, 11
    extras = li.load(name).forward(*inputs((B, F, S)))[2:]
    kept = sum(extra.numel() for extra in extras)
    assert kept == 3 * B * S + (B * (S + F) if name == "lltm/aten" else 0)


def test_params_change_speed_and_nothing_else() -> None:
    """Other values of GRAIN and SPLIT cut the work elsewhere; results stay."""
    values = inputs((67, 5, 33))
    want, want_grads = results_and_gradients(OP.reference, values)
    kernel = li.registry["lltm/fused"].replace(params={"GRAIN": 1, "SPLIT": 3})
    got, got_grads = results_and_gradients(li.load(kernel), values)
    assert_close((*got, *got_grads), (*want, *want_grads), 1e-13)


@pytest.mark.full
@pytest.mark.parametrize("capability", ["AVX2", "DEFAULT"])
def test_other_vectors(capability: str) -> None:
    """`lltm/fused` is right with the vectors of most laptops, and where `at::vec` has none but only loops."""
    if capability == "AVX2":
        need("AVX2")
    shipped = li.registry["lltm/fused"]
    proof = "static_assert(at::vec::Vectorized<float>::size() == 8);  // AVX-512 has 16\n"
    flags = ("-UCPU_CAPABILITY_AVX512", "-UCPU_CAPABILITY_AVX2", f"-DCPU_CAPABILITY_{capability}")
    kernel = shipped.replace(cpp=shipped.cpp + proof, flags=flags)
    values = inputs((3, 17, 5))
    want, want_grads = results_and_gradients(OP.reference, values)
    got, got_grads = results_and_gradients(li.load(kernel), values)
    assert_close((*got, *got_grads), (*want, *want_grads), 1e-13)


def test_import_registers_and_compiles_nothing() -> None:
    """Importing the ops fills the registry with the kernels, in the order of the ladder, and loads no library."""
    code = (
        "import sys, lltm_inline as li; print(*[n for n in li.registry if n.startswith('lltm/')]);"
        "print('torch.utils.cpp_extension' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    names, imported = done.stdout.split("\n")[:2]
    assert names.startswith("lltm/python lltm/aten lltm/fused lltm/stable ") and imported == "False"


def test_every_kernel_says_what_it_changes() -> None:
    """Each module's docstring is the kernel's page: it heads the registry's table and holds the formula."""
    for name in ("lltm/python", *BUILT):
        doc = li.registry[name].doc
        assert doc.startswith("LLTM") and "new_cell = old_cell + c i" in doc
    for name in BUILT:
        assert "What it changes over" in li.registry[name].doc


def test_inputs_follow_the_tutorial() -> None:
    """Weights and bias are uniform in +-1/sqrt(S), the others normal; shapes are those of the op."""
    values = inputs((50, 40, 64))
    for value, name in zip(values, NAMES, strict=True):
        assert tuple(value.shape) == OP.shape_of[name]({"B": 50, "F": 40, "S": 64})
    bound = 1 / math.sqrt(64)
    assert values[1].abs().max() <= bound
    assert abs(values[1].std().item() - bound / math.sqrt(3)) < 0.01 * bound
    assert abs(values[0].std().item() - 1) < 0.05


def test_cost_counts_the_gemm() -> None:
    """A multiply-add counts as two, and backward's GEMM for d_weights is as large as forward's."""
    assert OP.cost is not None
    cost = OP.cost(4, B=64, F=1024, S=128)
    gemm = 2 * 64 * (128 + 1024) * 3 * 128
    assert gemm < cost.forward_flops < 1.01 * gemm and gemm < cost.backward_flops < 1.01 * gemm
    assert cost.forward_bytes > 4 * 3 * 128 * (128 + 1024)
