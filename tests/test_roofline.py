"""The roofline: what the machine can do at most, and what is said of timings under it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.analysis import roofline as roofs_module
from lltm_inline.analysis.roofline import Level, Roofline, Roofs, caches, roofs, working_sets
from lltm_inline.compiling import cache
from lltm_inline.errors import InputError
from lltm_inline.measure.machine import cpu_name, crowd
from lltm_inline.tables.timings import Row, Timings
from tests.html_checks import read
from tests.notebook.test_plot import texts

ONE = Roofs("this", 1, "float32", 5e10, (Level("L1", 2e11), Level("L2", 1e11), Level("memory", 1e10)))
TWO = replace(ONE, threads=2, flops=1e11, levels=(Level("L1", 4e11), Level("L2", 2e11), Level("memory", 1.5e10)))


def row(flops: float, bytes_: float, **other: Any) -> Row:
    """Make a row that does so many operations and moves so many bytes a second."""
    values: dict[str, Any] = {
        "op": "axpy", "size": {"N": 4}, "direction": "forward", "dtype": "float32", "device": "cpu", "samples": 50, "calls": 9,
        "median": 8e-6, "q1": 7e-6, "q3": 9e-6, "speedup": 1, "speedup_low": 1, "speedup_high": 1, "threads": 2, "cpu": "this",
        "gflop_per_s": flops / 1e9, "gb_per_s": bytes_ / 1e9,
    }  # fmt: skip
    return Row("axpy/cpp", **{**values, **other})


def under(*rows: Row) -> Roofline:
    """Put rows under the two roofs."""
    return Roofline(Timings(rows, "axpy/cpp"), (ONE, TWO))


FROM_L2 = (
    "its data lie in L2, at least in part; 25% of the roof above it, bytes from L2 (50% of the roof of one thread)"
)


@pytest.mark.parametrize(
    ("flops", "bytes_", "said"),
    [
        (1.2e9, 1.2e10, "12.0 GB/s; 80% of the roof above it, bytes from memory"),
        (1.6e9, 1.6e10, "16.0 GB/s; 107% of the roof above it, bytes from memory"),
        (5e9, 5e10, f"50.0 GB/s, 3.33 times what memory gives: {FROM_L2}"),
        (9e9, 9e11, "900 GB/s, more than L1 gives: the kernel cannot have moved all that its op declares"),
        (9e10, 1e9, "1.00 GB/s; 90% of the roof above it, arithmetic"),
        (4e10, 1e9, "1.00 GB/s; 40% of the roof above it, arithmetic (80% of the roof of one thread)"),
    ],
    ids=["memory", "a little more", "cache", "beyond all", "arithmetic", "one thread would do"],
)
def test_what_is_said(flops: float, bytes_: float, said: str) -> None:
    """Of a rate that memory cannot give, where the data were; of the roof that is the lower one, the share."""
    found = under(row(flops, bytes_))
    assert found.words(found.timings.rows[0]) == said and found.verdict() == f"axpy/cpp, N=4, forward: {said}"


def test_a_text_that_hands_nothing_to_threads_is_named() -> None:
    """It stands under the roof of one thread, with the reason; a text with at::parallel_for, and a result of another session, do not."""
    loop = "for (int64_t i = 0; i < n; ++i) f(i);"
    for variant, text, said in (("serial", loop, True), ("shared", f"at::parallel_for(0, n, 1, g); {loop}", False)):
        label = li.registry.register(li.Kernel(f"axpy/{variant}", cpp=text)).label
        one = replace(row(4e10, 1e9), kernel=label)
        assert under(one).words(one).endswith(", and its loops use no other: no at::parallel_for in the text)") == said
    one = replace(row(4e10, 1e9), kernel="axpy/of_yesterday")
    assert under(one).words(one).endswith("(80% of the roof of one thread)")


def test_an_op_without_a_cost() -> None:
    """Its inputs and results count once, by their own dtypes, and are put under the roof of bytes; a picture would need operations."""
    schema, shapes = "(Tensor x, Tensor[int64] places) -> Tensor y", {"x": "N 3", "places": "N", "y": "N 3"}
    li.registry.register(li.Op("costless", schema, lambda x, places: x, shapes))
    timed = row(1, 1, op="costless", size={"N": 10**6}, median=4e-3, gflop_per_s=None, gb_per_s=None, cpu=cpu_name())
    found = li.roofline(Timings((timed,), "axpy/cpp"))
    assert found.timings.rows[0].gb_per_s == (12 + 8 + 12) / 4
    assert "op 'costless' declares no cost: each input and each result counts once" in str(found)
    assert "operations not known\n  8.00 GB/s" in str(found) and "of the roof above it, bytes from" in str(found)
    with pytest.raises(InputError, match="no picture without operations: op 'costless'"):
        li.plot(found)


def test_data_that_have_room_in_a_cache() -> None:
    """They are put under its roof, however slowly a kernel asks for them; what comes faster than it can give lies nearer."""
    levels = (Level("L1", 4e11, 2**16), Level("L2", 2e11, 2**21), Level("memory", 1.5e10))
    roomy = replace(TWO, levels=levels)
    for seconds, bytes_, said in (
        (8e-6, 4e9, "4.00 GB/s, 27% of what memory gives, but its data fit in L1; 1% of the roof above it, bytes from L1"),
        (1e-4, 4e9, "4.00 GB/s, 27% of what memory gives, but its data fit in L2; 2% of the roof above it, bytes from L2"),
        (4e-4, 4e9, "4.00 GB/s; 27% of the roof above it, bytes from memory"),  # three quarters of L2
        (1e-2, 4e9, "4.00 GB/s; 27% of the roof above it, bytes from memory"),
        (1e-5, 3e11, "300 GB/s, 20.0 times what memory gives: its data lie in L1, at least in part; 75% of the roof above it, "
         "bytes from L1"),
    ):  # fmt: skip
        found = Roofline(Timings((row(bytes_ / 10, bytes_, median=seconds),), "axpy/cpp"), (roomy,))
        assert found.words(found.timings.rows[0]) == said


def test_text_html_and_picture() -> None:
    """All three have the roofs of both thread counts, and each row; the picture is told in words."""
    found = under(row(1.2e9, 1.2e10), row(4e9, 5e10, size={"N": 64}, direction="backward"))
    told = str(found)
    assert told.startswith(
        "axpy, float32, cpu: under the roofs of this\n"
        "  1 thread, 50.0 GFLOP/s, L1 200 GB/s, L2 100 GB/s, memory 10.0 GB/s\n"
        "  2 threads, 100 GFLOP/s, L1 400 GB/s, L2 200 GB/s, memory 15.0 GB/s\n"
        "  memory is the lower roof below 6.67 FLOP/byte\n\n"
        "axpy/cpp, N=4, forward: 0.10 FLOP/byte, 1.20 GFLOP/s\n  12.0 GB/s; 80% "
    )
    doubt = "other programs were at work while the roofs were measured: they may be higher"
    doubted = replace(found, roofs=(ONE, replace(TWO, disturbed=1)))
    assert found.doubts == ()
    assert doubt in str(doubted) and doubt in doubted._repr_html_() and doubt not in told
    page = found._repr_html_()
    assert doubt not in page and not read(page).problems and "2 threads" in page and "bytes from L2" in page
    figure = li.plot(found)
    for part in ("L2 200 GB/s", "memory 15.0 GB/s", "2 threads: 100 GFLOP/s", "1 thread: 50.0 GFLOP/s"):
        assert part in texts(figure), part
    assert "80% of the roof above it" in figure.words  # type: ignore[attr-defined]


def test_the_picture_has_a_path_through_the_sizes_and_a_whisker_at_each() -> None:
    """A whisker ends at what the quartiles of the time give."""
    rows = (row(2e9, 2e10, median=1, q1=0.5, q3=2), row(4e9, 2e10, size={"N": 64}, median=4, q1=2, q3=8))
    lines = li.plot(under(*rows)).axes[0].lines
    drawn = [(tuple(line.get_xdata()), tuple(line.get_ydata())) for line in lines]
    path, whiskers = ((0.1, 0.2), (2e9, 4e9)), [((0.1, 0.1), (1e9, 4e9)), ((0.2, 0.2), (2e9, 8e9))]
    assert [each for each in drawn if each in (path, *whiskers)] == [path, *whiskers]


def test_what_is_refused() -> None:
    """No timings, no cost, another machine: each is told before anything is built."""
    with pytest.raises(InputError) as error:
        li.roofline("axpy/cpp")  # type: ignore[arg-type]
    assert str(error.value) == "timings='axpy/cpp', want what benchmark gave"
    with pytest.raises(InputError) as error:
        li.roofline(Timings((row(1, 1, gflop_per_s=None, gb_per_s=None, direction="backward"),), "axpy/cpp"))
    costless = "nothing to put under a roof: op 'axpy' declares no cost in operations and bytes: give it Op(cost=...)"
    assert str(error.value) == costless
    with pytest.raises(InputError, match="nothing was timed"):
        li.roofline(Timings((), "axpy/cpp"))
    with pytest.raises(InputError) as error:
        li.roofline(Timings((row(1, 1, cpu="an abacus"),), "axpy/cpp"))
    assert str(error.value).startswith(
        f"these were timed on an abacus, and this is {cpu_name()}: its roofs are others. "
    )


def test_roofs_are_measured_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A nearer level is not slower, two threads are kept apart from one, and the second time the cache answers.

    Roofs that were measured while others were at work are measured anew, and the higher ones are kept; but not for ever.
    """
    found = roofs(torch.float32, 1, progress=False)
    assert found.flops > 1e8 and found.levels[-1].name == "memory" and found.levels[0].name == "L1"
    assert found.levels[0].rate > found.levels[-1].rate > 1e7
    [store] = [
        path for path in (cache.cache_dir() / "toolchains").glob("roofs-*.json") if f"{found.flops}" in path.read_text()
    ]
    low = replace(found, flops=12345.0, levels=(replace(found.levels[0], rate=1e16), *found.levels[1:]))
    for times, flops in ((0, 12345.0), (roofs_module._MOST, 12345.0), (1, None)):
        store.write_text(json.dumps(asdict(replace(low, disturbed=times))))
        again = roofs(torch.float32, 1, progress=False)
        assert again.flops == flops if flops else again.flops > 1e8 and again.disturbed in (0, 2)
        assert again.levels[0].rate == 1e16
    store.write_text("{}")
    assert roofs(torch.float32, 1, progress=False).flops > 1e8, "what is broken is measured anew"


def test_others_at_work_are_noticed() -> None:
    """What this process does itself does not count, and what others do does."""
    others, start = crowd(), time.monotonic()
    ends = start + 0.5
    while time.monotonic() < ends:
        pass
    subprocess.run([sys.executable, "-c", "while __import__('time').process_time() < 1: pass"], check=True)
    assert others() * (time.monotonic() - start) > 0.9


def test_a_gpu_is_measured_by_what_pytorch_does_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same calls, on the CPU: copies of two sizes and a GEMM."""
    monkeypatch.setattr(roofs_module, "_GPU_BYTES", {"L2": 2**16, "memory": 2**24})
    monkeypatch.setattr(roofs_module, "_GPU_GEMM", 64)
    found = roofs_module._of_gpu("a GPU", torch.float32, "cpu")
    assert [level.name for level in found.levels] == ["L2", "memory"] and found.threads == 0
    assert found.flops > 1e5 and all(level.rate > 1e7 for level in found.levels)
    assert next(Roofline(Timings((row(1e9, 1e9),), "axpy/cpp"), (found,)).ceilings())[0] == "a GPU"


def test_caches_are_what_the_system_says(tmp_path: Path) -> None:
    """Those of instructions are no level; where nothing is said, usual ones are taken; no level is there twice."""
    for number, (kind, level, size) in enumerate(
        (("Data", "1", "48K"), ("Instruction", "1", "64K"), ("Unified", "2", "1024K"), ("Unified", "3", "32M"))
    ):
        place = tmp_path / f"index{number}"
        place.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (place / name).write_text(f"{text}\n")
    assert caches(tmp_path) == (48 * 2**10, 2**20, 32 * 2**20)
    assert caches(tmp_path / "nothing") == (32 * 2**10, 2**20, 16 * 2**20)
    assert [name for name, _ in working_sets(caches(tmp_path), 64)] == ["L1", "L2", "memory"]


@pytest.mark.full
def test_command(capsys: Any, tmp_path: Path) -> None:
    """`python -m lltm_inline roofline` times and shows it, and draws it; `%kernel roofline` shows the same at the op's sizes."""
    from lltm_inline.__main__ import main
    from lltm_inline.notebook.verbs import perform

    file = tmp_path / "roofs.svg"
    assert main(["roofline", "axpy/cpp", "--sizes", "64", "--seconds", "0.01", "--plot", str(file)]) == 0
    assert "axpy/cpp, N=64, both: " in capsys.readouterr().out and file.stat().st_size > 1000
    shown = perform("roofline axpy/cpp", print)
    assert isinstance(shown, Roofline)
    sizes = {tuple(row.size.values()) for row in shown.timings.rows}
    assert sizes == set(li.registry.ops["axpy"].benchmark_sizes)
