"""Pictures of failures: where a tensor is wrong, in cells that a report holds, a page shows and a voice reads."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lltm_inline as li
from lltm_inline.checking.explain import grid_of
from lltm_inline.checking.report import Finding, Grid, Section
from lltm_inline.show.parts import Html
from tests.html_checks import read
from tests.tiny import STABLE

#: Right but for the last two elements of what backward gives.
LAST = STABLE.replace("return wanted[0] ? times(d_y, FACTOR) : Tensor();", """
  Tensor d_x = times(d_y, FACTOR);
  for (int64_t i = std::max<int64_t>(0, d_x.numel() - 2); i < d_x.numel(); ++i) {
    if (d_x.scalar_type() == torch::headeronly::ScalarType::Double) static_cast<double*>(d_x.mutable_data_ptr())[i] += 1;
    else static_cast<float*>(d_x.mutable_data_ptr())[i] += 1;
  }
  return wanted[0] ? d_x : Tensor();""").replace("#include <torch", "#include <algorithm>\n#include <torch")  # fmt: skip


def page(grid: Grid | None) -> Html:
    """Show a report of one finding."""
    finding = Finding("tiny/last", "parity", "d_x", "d_x differs", grid=grid)
    return Html(li.Report("tiny/last", "cpu", (Section("parity", 1, (finding,)),))._repr_html_())


def test_a_wrong_kernel_is_drawn(tiny: Callable[..., li.Kernel], quick_compiler: None) -> None:
    """The grid comes back from the worker with the finding; a page shows it, and JSON keeps it."""
    report = li.check(tiny(text=LAST, variant="last"), progress=False)
    found = next(finding for finding in report.findings if finding.section == "parity")
    assert found.quantity == "d_x" and found.grid is not None
    assert sum(row.count("#") for row in found.grid.cells) == 2 and set("".join(found.grid.cells)) == {".", "#"}
    shown = report._repr_html_()
    assert not read(shown).problems and "where d_x is wrong, row by row: " in shown and "filled is wrong: " in shown
    [again, *_] = [
        one for each in json.loads(json.dumps(report.to_dict()))["sections"] for one in each["findings"] if one["grid"]
    ]
    assert again["grid"]["cells"] == list(found.grid.cells)
    assert pickle.loads(pickle.dumps(report)).findings == report.findings


@given(
    shape=st.lists(st.integers(1, 50), min_size=1, max_size=3).filter(
        lambda shape: 1 < torch.Size(shape).numel() < 9000
    ),
    seed=st.integers(0, 1000),
    share=st.sampled_from((0.01, 0.5, 0.99)),
    width=st.sampled_from((0, 32)),
)
def test_every_wrong_element_is_in_a_filled_cell(shape: list[int], seed: int, share: float, width: int) -> None:
    """A cell is empty where all of its elements are right, and full where all are wrong; nothing is lost or doubled."""
    torch.manual_seed(seed)
    wrong = torch.rand(shape) < share
    grid = grid_of(wrong, width)
    if wrong.all() or not wrong.any():
        assert grid is None
        return
    assert grid is not None and len(grid.cells) <= 32 and len({len(row) for row in grid.cells}) == 1
    across = grid.columns if len(shape) == 1 else shape[-1]
    down, beside = (-(-count // -(-count // 32)) for count in (grid.rows, across))
    assert (len(grid.cells), len(grid.cells[0])) == (down, beside)
    elements: dict[tuple[int, int], list[bool]] = {}
    for index, value in enumerate(wrong.flatten().tolist()):
        row, column = divmod(index, across)
        elements.setdefault((row // -(-grid.rows // 32), column // -(-across // 32)), []).append(value)
    for (row, column), values in elements.items():
        letter = grid.cells[row][column]
        assert (letter == ".") == (not any(values)) and (letter == "#") == all(values)


def test_what_a_picture_adds_nothing_to_has_none() -> None:
    """One element, all of them and none are said in words."""
    for wrong in (torch.tensor(True), torch.ones(3, 4, dtype=torch.bool), torch.zeros(7, dtype=torch.bool)):
        assert grid_of(wrong) is None
    assert "<figure>" not in page(None)


def test_a_picture_is_small_and_says_what_it_shows() -> None:
    """The worst pattern takes few kB; what stands in the label is what is seen."""
    board = torch.arange(64 * 64).reshape(64, 64) // 2 % 2 == torch.arange(64)[:, None] // 2 % 2
    shown, light = page(grid_of(board)), page(None)
    assert len(shown) - len(light) < 6000 and "a cell is 2 x 2 elements" in shown
    corner = torch.zeros(5, 7, dtype=torch.bool)
    corner[1:3, 4:] = True
    corner[4, 0] = True
    assert "where d_x is wrong, row by row: 1 to 2: cells 4 to 6; 4: cells 0" in page(grid_of(corner))
    assert "filled is wrong: 5 rows down, 7 columns across" in page(grid_of(corner))
    assert "filled is wrong: 15 elements across" in page(grid_of(torch.arange(15) < 5))
    assert "filled is wrong: 8 pieces down, 16 elements across" in page(grid_of(torch.arange(121) < 5))


@pytest.mark.full
def test_blocks_of_a_cuda_kernel_lie_below_each_other() -> None:
    """What the last thread of each block forgets is the last column."""
    forgets = "+ (threadIdx.x == 7 ? T(0) : y[i])"
    kernel = li.registry["axpy/cuda"].edit("z[i] = T(A) * x[i] + y[i]", f"z[i] = T(A) * x[i] {forgets}")
    report = li.check(kernel.replace(params={"THREADS": 8}), device="cuda-cpu", progress=False)
    grid = next(finding.grid for finding in report.findings if finding.grid is not None)
    assert (grid.row, grid.column, grid.columns) == ("block", "thread", 8) and grid.rows > 1
    assert {row.rstrip(".") for row in grid.cells[:-1]} == {".......#"}
    assert f"{grid.rows} blocks down, 8 threads across" in page(grid)
