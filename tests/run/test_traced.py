"""What threads load and store is shown with the values that were there, in the order in which they were, whether or not it is right."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.__main__ import main
from lltm_inline.errors import CheckError, CrashError, DefinitionError, InputError
from lltm_inline.measure.trace import MOST_ROWS, value_text
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.notebook.verbs import perform
from lltm_inline.tables.trace import MOST_SHOWN, TraceRow
from tests.csv_files import is_whole
from tests.quick import QUICK
from tests.texts import bodies
from tests.tiny import forget

TEXTS = bodies(__file__, ".cu")
TEXT = TEXTS["text"]
CPP = bodies(__file__)["rows"]
NAMES = ("tree", "twice", "atomics", "loops", "partly", "blocks", "bytes", "outside")


def line(mark: str) -> int:
    """Return the number of the line with that comment."""
    return next(number for number, text in enumerate(TEXT.split("\n"), 1) if text.endswith(f"// {mark}"))


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """All kernels in one text; none of them computes what the reference does."""
    shapes = {"x": "N", "which": "W", "y": "N"}
    schema = "(Tensor x, Tensor which) -> Tensor y"
    registry.register(Op("traced", schema, lambda x, which: 3 * x, shapes, dtypes=("float32",)))
    yield registry.register(Kernel("traced/all", cuda=TEXT))
    forget("traced")


def traced(kernel: Kernel, name: str, mark: str = "", **options: Any) -> tuple[TraceRow, ...]:
    """Trace one of the kernels, in this process."""
    where = line(mark) if mark else None
    return seen(kernel, name, where, **options).rows


def seen(kernel: Kernel, name: str, where: int | None = None, **options: Any) -> Any:
    """Trace likewise, at a line by its number."""
    options = {"trust": True, **options}
    return li.trace(kernel, where, sizes=(8, NAMES.index(name)), compiler=QUICK, progress=False, **options)


def test_a_tree_in_shared_memory(kernel: Kernel) -> None:
    """Each step has the values that the step before has left, thread by thread, from barrier to barrier; in the worker, too."""
    filled = traced(kernel, "tree", "fill")
    assert [(row.what, row.element, row.thread) for row in filled[:2]] == [
        ("global load", "from[0]", (0, 0, 0)), ("shared store", "part[0]", (0, 0, 0)),
    ]  # fmt: skip
    values = torch.tensor([row.numbers[0] for row in filled if row.what == "global load"])
    assert values.unique().numel() == 8 and [row.value for row in filled[1::2]] == [row.value for row in filled[::2]]
    added = traced(kernel, "tree", "add")
    stored, loaded = ([row for row in added if row.what == f"shared {what}"] for what in ("store", "load"))
    parts, want = values.clone(), []
    for step in (4, 2, 1):
        parts[:step] += parts[step : 2 * step]
        want += [(i, struct.unpack("f", struct.pack("f", parts[i]))[0]) for i in range(step)]
    assert [(row.index[0], torch.tensor(row.numbers[0]).item()) for row in stored] == want
    assert [row.order for row in added] == list(range(1, 22)) and len(loaded) == 14
    assert {(row.shape, row.array, row.launch, row.left) for row in added} == {((8,), "part", 1, 0)}
    assert traced(kernel, "tree", "add", trust=False) == added
    one = traced(kernel, "tree", "add", thread=1)
    assert [row.element for row in one if row.what == "shared store"] == ["part[1]"] * 2


def test_another_thread_overwrites(kernel: Kernel) -> None:
    """A store has the value that it left, not what another thread wrote there later; the index has all axes, the type is the array's."""
    rows = [*traced(kernel, "twice", "first"), *traced(kernel, "twice", "second")]
    assert [(row.thread[0], row.element, row.value) for row in rows] == [
        (0, "seen[1][0]", "7"),
        (1, "seen[1][0]", "-1"),
    ]
    all_lines = seen(kernel, "twice")
    assert "seen[1][0] is written by 2 threads: last by thread 1 of block 0, and is -1 then" in all_lines.verdict()
    assert {row.value for row in all_lines.rows if row.what == "shared load"} == {"-1"}


def test_atomics_and_bytes(kernel: Kernel) -> None:
    """An atomic has what it finds, which it returns; memory of which nobody knows the type is hexadecimal."""
    rows = traced(kernel, "atomics", "atomic")
    assert {row.what for row in rows} == {"global atomic"}
    assert [row.value for row in rows if row.index == (0,)] == ["1", "1.5", "2", "2.5"]
    rows = traced(kernel, "bytes", "pool", thread=2)
    assert [(row.what, row.element, row.value, row.numbers) for row in rows] == [
        ("shared store", "pool[8]", "0x3f800000", ())
    ]


@pytest.mark.parametrize(
    ("letter", "data", "text"),
    [
        ("f", struct.pack("2f", 0.1, float("inf")), "0.1 inf"),
        ("d", struct.pack("d", 1 / 3), "0.3333333333333333"),
        ("f", struct.pack("f", float("nan")), "nan"),
        ("e", struct.pack("e", 0.1), "0.1"),
        ("w", b"\xcd\x3d", "0.1001"),
        ("q", struct.pack("q", -(2**62) - 1), "-4611686018427387905"),
        ("?", b"\1", "1"),
        ("B", b"\1\2", "0x0201"),
        ("f", b"\1\2", "0x0201"),
    ],
)
def test_values_are_written_as_short_as_they_can_be(letter: str, data: bytes, text: str) -> None:
    """The digits tell a number from all others of its type, and whole numbers keep all of theirs."""
    assert value_text(letter, data) == text


def test_a_loop_elsewhere_takes_no_room(kernel: Kernel) -> None:
    """Of a line that runs very often the first accesses are rows and the rest is counted; another line has all of its own."""
    found = seen(kernel, "loops", line("loop"))
    assert len(found.rows) == MOST_ROWS and found.rows[0].left == 8 * 30_000 - MOST_ROWS
    assert f"the first {MOST_SHOWN} of 20,000 rows, files have all; 220,000 more accesses are left out" in str(found)
    assert (
        str(found).count("global load") == MOST_SHOWN + 1 and found._repr_html_().count("global load") == MOST_SHOWN + 1
    )
    assert [row.thread[0] for row in traced(kernel, "loops", "end")] == list(range(8))


def test_threads_and_blocks(kernel: Kernel) -> None:
    """A thread is named by its number or its place, so is a block, and None stands for all."""
    by_number = traced(kernel, "blocks", "place", thread=2, block=1)
    assert [row.element for row in by_number] == ["from[6]", "to[6]"] and by_number[0].thread == (0, 1, 0)
    assert traced(kernel, "blocks", "place", thread=(0, 1), block=(1,)) == by_number
    assert len(traced(kernel, "blocks", "place")) == 8 and len(traced(kernel, "blocks", "place", block=None)) == 16


def test_elements_that_nobody_writes_are_told_and_the_others_shown(kernel: Kernel) -> None:
    """A result that is not returned is no reason to show nothing."""
    with pytest.warns(RuntimeWarning, match="unwritten: 4 of the 8 elements of to have no value when forward returns"):
        rows = traced(kernel, "partly")
    assert [row.index[0] for row in rows if row.what == "global store"] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("tree", {"where": 0}, "line=0, want an integer from 1 to 68"),
        ("tree", {"where": True}, "line=True, want an integer from 1 to 68"),
        ("tree", {"where": 69}, "line=69, want an integer from 1 to 68"),
        ("tree", {"thread": "0"}, "thread='0', want its number, (x, y, z) from 0 on, or None for all threads"),
        (
            "tree",
            {"block": (0, 0, 0, 0)},
            "block=(0, 0, 0, 0), want its number, (x, y, z) from 0 on, or None for all blocks",
        ),
        ("tree", {"thread": -1}, "thread=-1, want its number, (x, y, z) from 0 on, or None for all threads"),
        ("tree", {"direction": "both"}, "direction='both', want one of 'forward', 'backward'"),
        ("tree", {"direction": "backward"}, "traced/all has no backward of its own: direction='forward'"),
        ("tree", {"where": 5}, "line 5 loads and stores nothing there; lines that do: 8, 11, 14"),
        ("tree", {"where": 11, "thread": 7}, "line 11 loads and stores nothing there; lines that do: 8, 14"),
        ("blocks", {"thread": 40}, "blocks ran as 2 blocks of 4 threads: there is no thread 40"),
        ("blocks", {"block": (0, 1)}, "blocks ran as 2 blocks of 4 threads: there is no block (0, 1, 0)"),
    ],
)
def test_what_is_refused(kernel: Kernel, name: str, options: dict[str, Any], message: str) -> None:
    """The error says what there is."""
    with pytest.raises(InputError) as error:
        seen(kernel, name, **options)
    assert str(error.value) == message


@pytest.fixture
def rows() -> Iterator[Kernel]:
    """Sums of rows in C++, in a parallel loop inside of a macro."""
    registry.register(Op("rows", "(Tensor x) -> Tensor y", lambda x: x.sum(1), {"x": "B N", "y": "B"}))
    yield registry.register(Kernel("rows/cpp", cpp=CPP))
    forget("rows")


def traced_cpp(kernel: Kernel, **options: Any) -> Any:
    """Trace at 4 rows of 2."""
    return li.trace(kernel, sizes=(4, 2), compiler=QUICK, progress=False, **options)


def test_cpp(rows: Kernel) -> None:
    """Each access has its own line, also where a macro has one for all; memory of the text has the type that its subscripts tell."""
    found = traced_cpp(rows)
    lines = {mark: CPP[: CPP.index(f"// {mark}\n")].count("\n") + 1 for mark in ("set", "add", "count")}
    own = [row for row in found.rows if row.line in lines.values()]
    assert {row.device for row in own} == {"cpu"} and {row.block for row in own} == {(0, 0, 0)}
    sets = [(row.element, row.value, row.thread[0]) for row in own if row.line == lines["set"]]
    assert sets == [("y[0]", "0", 0), ("y[1]", "0", 0), ("y[2]", "0", 1), ("y[3]", "0", 1)]
    adds = [row for row in own if row.line == lines["add"]]
    assert [(row.what, row.array) for row in adds[:3]] in (
        [("load", "x"), ("load", "y"), ("store", "y")],
        [("load", "y"), ("load", "x"), ("store", "y")],
    )
    x = {row.index: row.numbers[0] for row in adds if row.array == "x"}
    sums = {row.index: row.numbers[0] for row in adds if row.what == "store"}  # the last one of each
    assert len(x) == 8 and [*sums] == [(b,) for b in range(4)]
    assert all(abs(sums[b,] - x[b, 0] - x[b, 1]) < 1e-6 for b in range(4))
    counts = [(row.what, row.element, row.value) for row in own if row.line == lines["count"]]
    once = [
        (what, "seen[0]", value) for what, value in (("load", "0"), ("store", "-3"), ("load", "-3"), ("store", "-6"))
    ]
    assert counts == once * 2
    assert traced_cpp(rows, thread=1, line=lines["set"]).rows[0].element == "y[2]"
    assert "thread" in str(found) and "block" not in str(found) and ">block<" not in found._repr_html_()
    assert "seen[0] is written" not in found.verdict() and "three of them" in found.conditions()
    figure = li.plot(found)
    assert "y" in [axes.get_title(loc="left") for axes in figure.axes]


def test_backward_of_cpp() -> None:
    """What comes in and what goes out."""
    found = li.trace("axpy/cpp", sizes=(2,), direction="backward", compiler=QUICK, progress=False)
    assert [row.element for row in found.rows if row.what == "store"] == ["d_x[0]", "d_y[0]", "d_x[1]", "d_y[1]"]


def test_cpp_that_is_wrong(rows: Kernel) -> None:
    """What goes past a tensor is told, and the rest shown."""
    wrong = rows.edit("to[b] = 0;", "to[b + 1] = 0;")
    with pytest.warns(
        RuntimeWarning, match=r"out of bounds: to\[4\] \(element 4 of y, which has 4\) is written at rows/cpp"
    ):
        found = traced_cpp(wrong)
    assert found.rows


@pytest.mark.parametrize(
    ("crashes", "says"),
    [
        (
            "*static_cast<volatile int*>(nullptr) = 1;",
            r"in forward: SIGSEGV .*\n  rows/cpp@\d+:9: it reads address 0x0, a null pointer; the macro there hides",
        ),
        (
            "std::array<int, 2> two; two[begin + N] = 1;",
            r"in forward: out of bounds\n  index 2 of two at rows/cpp:18, which has 2 elements\n  at B=4, N=2",
        ),
    ],
)
def test_cpp_that_crashes(rows: Kernel, crashes: str, says: str) -> None:
    """It is told with the line of the library that was traced."""
    with pytest.raises(CrashError, match=says):
        traced_cpp(rows.edit("seen[0] -= 3;", crashes))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thread": 3}, "forward ran as 1 block of 3 threads: there is no thread 3"),
        ({"block": 1}, "forward ran as 1 block of 3 threads: there is no block 1"),
        ({"line": 2}, "line 2 loads and stores nothing there; lines that do: "),
        ({"line": 99}, "line=99, want an integer from 1 to 23"),
        ({"direction": "backward"}, "rows/cpp has no backward of its own: direction='forward'"),
        ({"trust": True}, "trust=True, want False: what a text in C++ touches is noted in the worker"),
    ],
)
def test_what_is_refused_of_cpp(rows: Kernel, options: dict[str, Any], message: str) -> None:
    """The error says what there is."""
    with pytest.raises(InputError) as error:
        traced_cpp(rows, **options)
    assert str(error.value).startswith(message)


def test_other_kernels_and_other_errors(kernel: Kernel) -> None:
    """What computes with ATen alone touches nothing itself; two sizes are one too many; a launch out of bounds is what it was."""
    with pytest.raises(InputError, match=r"^axpy/aten leaves all memory to ATen: there is nothing to trace"):
        li.trace("axpy/aten", compiler=QUICK, progress=False)
    with pytest.raises(DefinitionError, match="is a Python function"):
        li.trace("axpy/python")
    with pytest.raises(InputError, match=r"sizes=\[\(8, 0\), \(8, 1\)\], want one size"):
        li.trace(kernel, sizes=[(8, 0), (8, 1)])
    with pytest.raises(
        CheckError, match=r"(?s)^'traced/all' failed at N=8, W=7: .*out of bounds: .*It was not traced\.$"
    ):
        seen(kernel, "outside")


def test_table_files_and_page(kernel: Kernel, tmp_path: Path) -> None:
    """Text and page have each value; files bring all back."""
    found = seen(kernel, "twice")
    for text in (str(found), found._repr_html_()):
        assert "traced/all, float32" in text and "seen[1][0]" in text and "-1" in text and "shared store" in text
        assert "any order" in text
    assert li.Trace.from_json(found.to_json(tmp_path / "a.json")) == found and is_whole(found, tmp_path / "a.csv")
    assert str(li.Trace((), "a/b")) == "Trace: nothing was loaded or stored"


def test_picture(kernel: Kernel) -> None:
    """A field for each array, a cell for each element; what is written in it is when, and by whom."""
    figure = li.plot(seen(kernel, "twice"))
    figure.canvas.draw()
    fields = {axes.get_title(loc="left").split(",")[0]: axes for axes in figure.axes}
    assert list(fields) == ["seen of block 0", "to"]
    texts = {name: [text.get_text() for text in axes.texts] for name, axes in fields.items()}
    assert texts["seen of block 0"] == ["[1]", "1 2+\nt0 t1+"] and len(fields["seen of block 0"].patches) == 2
    assert texts["to"] == ["0", *(f"{4 + 2 * i}\nt{i}" for i in range(8))]
    with pytest.raises(InputError, match="nothing was loaded or stored"):
        li.plot(li.Trace((), "a/b"))


@pytest.mark.full
def test_command_and_magic(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both show what the function gives, also of backward, and write it where it is to go."""
    monkeypatch.setenv("CXX", QUICK)
    files = [str(tmp_path / f"trace.{kind}") for kind in ("csv", "png")]
    words = ["trace", "axpy/cuda", "--thread", "3", "--sizes", "8", "--direction", "backward"]
    assert main([*words, "--csv", files[0], "--plot", files[1]]) == 0
    assert "d_z[3]" in capsys.readouterr().out and all(Path(file).stat().st_size for file in files)
    assert [row.element for row in perform(" ".join(words), print).rows] == ["d_z[3]", "d_x[3]"]
    assert main(["trace", "axpy/cpp", "--sizes", "2"]) == 0 and "axpy/cpp, float32" in capsys.readouterr().out
    assert main(["trace", "axpy/python"]) == 2 and "is a Python function" in capsys.readouterr().err
