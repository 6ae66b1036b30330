"""The parts of the magics without a notebook: options, the text of a cell, what can be completed, a terminal's IPython."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lltm_inline as li
from lltm_inline import journal
from lltm_inline.base.verbs import HELP_WIDTH
from lltm_inline.errors import BuildError, DefinitionError, InputError, TemplateError, UnknownKernelError
from lltm_inline.model.kernel import Kernel
from lltm_inline.model.outcomes import is_about
from lltm_inline.notebook import inline_cell
from lltm_inline.notebook.cell import kernel_of, run, text_of
from lltm_inline.notebook.completion import complete
from lltm_inline.notebook.live import Terminal
from lltm_inline.notebook.magics import _CELL_HELP, _LINE_HELP
from lltm_inline.notebook.options import OPTIONS, parse
from lltm_inline.notebook.verbs import VERBS, perform
from lltm_inline.tables.history import courses_of, revisions_of
from tests.tiny import BROKEN, STABLE, registry_as_before

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def op(tiny: Any) -> Iterator[Any]:
    """Give the throwaway op with one kernel of it, and end with the journal off."""
    li.registry.register(tiny(2))
    yield tiny
    journal.turn_off()


@pytest.fixture
def noted(op: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Turn the journal on, in a room of its own."""
    monkeypatch.setattr(journal, "room", lambda: tmp_path)
    journal.turn_on("/lessons/first.ipynb")
    return op


def test_every_option_is_read() -> None:
    """A line with all options comes out as written."""
    line = (
        "lltm/mine --from lltm/fused --params UNROLL=8 EPS=1e-3 --check --benchmark --counts --against lltm/aten lltm/python "
        "--sizes 2,3,5 16,32,128 --directions forward both --seconds 0.1 --device cuda --kind cpp --saves weights new_cell --slots T=float "
        "--flags -O1 -ffast-math --api aten --binding=pybind11"
    )
    assert parse(line) == Namespace(
        name="lltm/mine",
        source="lltm/fused",
        kind="cpp",
        device="cuda",
        params={"UNROLL": 8, "EPS": 1e-3},
        slots={"T": "float"},
        saves=("weights", "new_cell"),
        flags=("-O1", "-ffast-math"),
        api="aten",
        binding="pybind11",
        check=True,
        benchmark=True,
        counts=True,
        against=("lltm/aten", "lltm/python"),
        sizes=((2, 3, 5), (16, 32, 128)),
        every_size=False,
        seconds=0.1,
        directions=("forward", "both"),
    )
    assert all(option.name in line for option in OPTIONS)
    assert parse("axpy/cpp --sizes all").every_size and parse("axpy/cpp --sizes all").benchmark
    asked = parse("axpy/cuda --counts --sizes 100")
    assert asked.counts and asked.sizes and not asked.benchmark
    assert parse("--check axpy/cpp").name == "axpy/cpp" and not parse("axpy/cpp").benchmark


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "no kernel is named, want op/variant: %%kernel axpy/mine"),
        ("a/b c/d", "'a/b', 'c/d': want one name, and options after it. Options: --from, "),
        ("a/b --form c/d", "no option '--form'. Did you mean --from? Options: "),
        ("a/b -check", "no option '-check'. Did you mean --check? Options: "),
        ("a/b --check=yes", "--check takes no value, got 'yes'"),
        ("a/b --from", "--from needs a value: --from KERNEL"),
        ("a/b --from --check", "--from needs a value: --from KERNEL"),
        ("a/b --check --check", "--check is given twice"),
        ("a/b --params UNROLL", "--params: 'UNROLL', want a number, such as UNROLL=8"),
        ("a/b --params UNROLL=eight", "--params: 'UNROLL=eight', want a number, such as UNROLL=8"),
        ("a/b --slots =x", "--slots: '=x', want a text, such as TYPE=float"),
        ("a/b --sizes 16x32", "--sizes: '16x32' is no size; write whole numbers with commas: 16,32,128"),
        ("a/b --seconds soon", "--seconds: 'soon' is no number of 0 or more"),
        ("a/b --seconds 0", "--seconds: '0' is no time in seconds, such as 0.3"),
        ("a/b --device gpu", "--device 'gpu', want one of cpu, cuda, cuda-cpu."),
        ("a/b --kind cp", "--kind 'cp', want one of cpp, cuda, binding. Did you mean cpp?"),
        ('"a/b"', '"a/b" is in quotes; write it without: a/b'),
        ("a/b --from 'c/d'", "'c/d' is in quotes; write it without: c/d"),
        ("a/b --params 'A=2'", "'A=2' is in quotes; write it without: A=2"),
        ("\u201ca/b\u201d", "\u201ca/b\u201d is in quotes; write it without: a/b"),
    ],
)
def test_bad_line_is_refused(line: str, message: str) -> None:
    """What cannot be read is refused with the word that is wrong and what would be right."""
    with pytest.raises(InputError) as error:
        parse(line)
    assert str(error.value).startswith(f"%%kernel: {message}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%kernel asm axpy/cuda --hot", "--hot with --device cuda: "),
        ("%kernel asm axpy/cuda --remarks", "--remarks with --device cuda: "),
        ("%%load_inline square --reference 3", "from_load_inline(), 'square': --reference 3, want a function"),
        ("%%load_inline square --inputs 3", "from_load_inline(), 'square': --inputs 3, want the arguments of one call"),
        (
            "%%load_inline square --reference torch.sqare",
            "--reference torch.sqare cannot be computed in this notebook: ValueError",
        ),
        ("%%load_inline square --check=yes", "--check takes no value, got 'yes'"),
        ("%%load_inline square --check", "--check compares with a reference: add --reference EXPRESSION"),
        ("%%load_inline square --device cuda", "It runs on 'cpu': say --device cpu"),
    ],
)
def test_messages_name_arguments_as_they_are_typed(line: str, message: str) -> None:
    """What a function says of `device=` is said of `--device` to whoever has typed that in a magic."""
    magic, rest = line.split(maxsplit=1)
    with registry_as_before(), pytest.raises((InputError, DefinitionError)) as caught:
        if magic == "%kernel":
            perform(rest, print)
        else:
            inline_cell.run(rest, "\nat::Tensor square(at::Tensor x) { return x * x; }\n", int, Terminal())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("x = 1", 2),
        ("\n\ndef forward(x):\n    return x", 4),
        ("def forward(x)\n    return x", 0),
        ("import torch\ndef forward(x:\n  return (", 2),
        ("# a comment\nprint('{')", 3),
        ("li.check(k)", 2),
        ("import torch\nsizes = {\n    1: 2,\n}", 2),
        ("import torch; x = torch.ones(3);", 2),
        ("# if so\nimport torch", 3),
    ],
)
def test_python_is_recognised(body: str, line: int) -> None:
    """A body that is Python, even with a mistake in it, is refused with its first line of code."""
    if not line:
        assert text_of(body)
        return
    with pytest.raises(InputError, match=rf"^%%kernel: line {line} of the cell looks like Python: "):
        text_of(body)


@pytest.mark.parametrize(
    "body",
    [
        STABLE,
        BROKEN,
        "// nothing",
        "#include <x.h>\nDEFINE(forward)",
        "foo();",
        "int x =",
        "class A {\n};",
        "template <class T>",
        "return x;",
        "x = 2 * y;",
    ],
)
def test_cpp_is_not_taken_for_python(body: str) -> None:
    """C++, right or wrong, is never said to be Python."""
    assert text_of(body)


def test_lines_of_the_text_are_lines_of_the_cell() -> None:
    """The text has an empty line for `%%kernel` and each line above, and one newline at its end."""
    assert text_of("a;\nb;\n\n") == "\na;\nb;\n"
    assert text_of("a;", 2).split("\n")[3] == "a;"


def test_shipped_text_makes_no_revision(op: Any) -> None:
    """The text of a kernel, as `source` writes it, is that kernel: nothing new is made."""
    cells: list[str] = []
    perform("source tiny/stable", cells.append)
    first, _, body = cells[0].partition("\n")
    assert (
        first == "%%kernel tiny/stable" and kernel_of(parse("tiny/stable"), text_of(body)) is li.registry["tiny/stable"]
    )


def test_source_of_a_revision_is_that_revision(op: Any) -> None:
    """What `source` writes of an earlier revision is, run as it is, that one, with its params; so is what ships."""
    first = li.registry["tiny/stable"]
    for number in (3, 5):
        li.registry.register(first.replace(params={"FACTOR": number}))
    for label, named in (
        ("tiny/stable@0", "tiny/stable@0"),
        ("tiny/stable@1", "tiny/stable@1"),
        ("tiny/stable@2", "tiny/stable"),
    ):
        cells: list[str] = []
        perform(f"source {label}", cells.append)
        line, _, body = cells[0].partition("\n")
        assert line == f"%%kernel {named}"
        assert kernel_of(parse(line.removeprefix("%%kernel ")), text_of(body)) == li.registry[label]
    assert len(li.registry.history("tiny/stable")) == 3


def test_saves_with_commas() -> None:
    """Names that commas join are told to be separated by blanks."""
    with pytest.raises(InputError, match=r"--saves 'x,y,': names are separated by blanks: --saves x y$"):
        parse("tiny/stable --saves x,y,")


@pytest.mark.parametrize(
    "line", ["tiny/stable --saves nothing", "tiny/stable --against nobody", "tiny/stable --sizes 1,2,3"]
)
def test_a_line_that_makes_no_sense_makes_no_revision(op: Any, line: str) -> None:
    """Neither in the registry nor in the history."""
    with pytest.raises((DefinitionError, UnknownKernelError, InputError)):
        run(parse(line), STABLE + "// x\n", Terminal())
    assert [kernel.label for kernel in li.registry.history("tiny/stable")] == ["tiny/stable"]


def test_messages_are_of_the_revision_that_they_name(op: Any) -> None:
    """`tiny/stable@1` is named neither by `tiny/stable@12` nor by `tiny/stable`."""
    first = li.registry["tiny/stable"]
    second = first.replace(params={"FACTOR": 3})
    text = "'tiny/stable@1' y differs"
    assert is_about(second, text) and not is_about(first, text) and not is_about(second, text.replace("@1", "@12"))


def test_what_stays_can_be_taken_away(op: Any) -> None:
    """Flags and saved names that a kernel has are gone after an option without a value; one that takes one word needs it."""
    li.registry.register(op(7, variant="seven", saves=("x",), flags=("-O1",)))
    bare = kernel_of(parse("tiny/seven --flags= --saves="), STABLE)
    assert bare.flags == bare.saves == () and kernel_of(parse("tiny/seven"), STABLE).flags == ("-O1",)
    with pytest.raises(InputError, match="--device '', want one of"):
        parse("tiny/seven --device=")


def test_what_a_cell_does_not_say_stays(op: Any) -> None:
    """Of a known kernel the other fields stay; with --from they are the other kernel's; of neither the defaults."""
    known = kernel_of(parse("tiny/stable --params MORE=3"), STABLE + "// MORE\n")
    assert known.label == "tiny/stable@1" and dict(known.params) == {"FACTOR": 2, "MORE": 3} and known.api == "stable"
    li.registry.register(op(7, variant="seven", saves=("x",), flags=("-O1",)))
    taken = kernel_of(parse("tiny/new --from tiny/seven --flags -O3"), STABLE)
    assert (taken.label, dict(taken.params), taken.saves, taken.flags) == ("tiny/new", {"FACTOR": 7}, ("x",), ("-O3",))
    assert taken.parent == "tiny/seven"
    assert li.registry.register(taken).label == "tiny/new"
    again = kernel_of(parse("tiny/new --from tiny/stable"), STABLE + "// y\n")
    assert again.label == "tiny/new@1" and again.params["FACTOR"] == 2 and again.flags == ()
    blank = kernel_of(parse("tiny/blank --saves y"), "at::Tensor x;")
    assert blank.api == "aten" and blank.saves == ("y",) and blank.parent == "" and blank.doc == "Made in a notebook."


def test_revision_in_the_name_is_what_is_edited(op: Any) -> None:
    """`%%kernel op/variant@1` starts from that revision, whichever is current."""
    first = li.registry["tiny/stable"]
    li.registry.register(first.replace(params={"A": 1}, cpp=f"{STABLE}// A\n"))
    li.registry.register(first.replace(params={"B": 1}, cpp=f"{STABLE}// B\n"))
    made = kernel_of(parse("tiny/stable@1"), STABLE + "// x\n")
    assert (
        made.label == "tiny/stable@3" and dict(made.params) == {"FACTOR": 2, "A": 1} and made.parent == "tiny/stable@1"
    )


def test_cuda_cell_is_the_cuda_text() -> None:
    """The device, the kernel's only text, or --kind say which text a cell is."""
    cuda_only = li.registry["lltm/cuda"]
    assert cuda_only.cuda and kernel_of(parse("lltm/a --device cuda"), "x;").cuda == "x;"
    assert kernel_of(parse("lltm/a"), "x;").cpp == "x;"
    assert kernel_of(parse("lltm/a"), "__global__ void k() {}").cuda and kernel_of(parse("lltm/a"), "// __global__").cpp
    assert (
        kernel_of(parse("lltm/a --from lltm/cuda_extern"), "__global__ void k() {}").cpp
        == li.registry["lltm/cuda_extern"].cpp
    )
    assert kernel_of(parse("lltm/a --from lltm/fused --kind cuda"), "x;").cpp == li.registry["lltm/fused"].cpp


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        ("tiny/python", InputError, "'tiny/python' is a Python function and has no text. Choose another name"),
        ("tiny/a --from tiny/python", InputError, "--from tiny/python: 'tiny/python' is a Python function"),
        ("tinny/a", UnknownKernelError, "%%kernel tinny/a: no op 'tinny'. Did you mean tiny? Ops: "),
        ("gate/aten", UnknownKernelError, "; lesson 13 shows how to make one with li.Op"),
        ("gate/aten", UnknownKernelError, "%%kernel gate/aten: no op 'gate'. Ops: "),
        ("mine", InputError, "'mine' is no name of a kernel, want op/variant, such as axpy/mine, "),
        ("tiny", InputError, "'tiny' is no name of a kernel, want op/variant, such as tiny/mine"),
        ("tiny/A", DefinitionError, "not 'op/variant' in lower-case identifiers"),
        ("tiny/", InputError, "'tiny/' is no name of a kernel, want op/variant"),
        ("tiny/a --flags -o", DefinitionError, "flag '-o'"),
        ("tiny/a --params int=3", DefinitionError, "int is a word of C++"),
    ],
)
def test_impossible_kernels_are_refused(op: Any, line: str, error: type[Exception], message: str) -> None:
    """A kernel that cannot be is refused before it is registered or built."""
    before = set(li.registry)
    with pytest.raises(error) as caught:
        run(parse(line), STABLE, Terminal())
    assert message in str(caught.value) and set(li.registry) == before


def test_function_and_magic_are_twins(noted: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`run` in a terminal prints what a notebook shows, and marks what became of each revision."""
    made = run(parse("tiny/twin --params FACTOR=2 --check"), STABLE[1:], Terminal())
    assert made is li.registry["tiny/twin"] and li.registry.state("tiny/twin") == ("right", "")
    printed = capsys.readouterr().out
    assert printed.startswith("tiny/twin: ") and "check of tiny/twin on cpu: right" in printed
    with pytest.raises(BuildError):
        run(parse("tiny/twin"), BROKEN[1:], Terminal())
    assert li.registry.state("tiny/twin@1")[0] == "failed" and "FACTORY" in li.registry.state("tiny/twin@1")[1]
    assert [row.state for row in revisions_of(li.registry.history("tiny/twin"))] == ["right", "does not compile"]
    assert capsys.readouterr().out == "", "the exception says it"


def test_history_knows_what_functions_found(noted: Any) -> None:
    """What `li.build`, `li.check` and a benchmark find is in the history; a build does not undo what a check has found."""
    first = li.registry["tiny/stable"]
    for number in (3, 4):
        li.registry.register(first.replace(params={"FACTOR": number}))
    broken = li.registry.register(first.replace(cpp=BROKEN))
    li.build(first.replace(params={"FACTOR": 4}))
    assert not li.check("tiny/stable@1").ok
    li.build("tiny/stable@1")
    with pytest.raises(BuildError):
        li.check(broken)
    li.benchmark([first], [(4,)], seconds=0.01, directions=["forward"])
    [courses] = courses_of(li.registry.history("tiny/stable")).values()
    assert {case: len(steps) for case, steps in courses.items()} == {"N=4, forward": 1}
    assert [row.state for row in revisions_of(li.registry.history("tiny/stable"))] == [
        "right",
        "WRONG",
        "compiles",
        "does not compile",
    ]
    assert "FACTORY" in li.registry.state(broken.label)[1] and li.registry.state("tiny/stable@1")[1]
    li.check(Kernel("tiny/stable", cpp=BROKEN.replace("FACTORY", "2"), params={"FACTOR": 9}, api="stable"))
    assert li.registry.state("tiny/stable")[0] == "right", "another kernel of that name is not this one"


def test_history_has_no_points_of_a_sweep(noted: Any) -> None:
    """A sweep makes revisions that nobody wrote: neither the history nor the journal has them."""
    li.sweep("tiny/stable", {"FACTOR": [2, 3]}, size=(4,), seconds=0.01)
    edited = li.registry["tiny/stable"].replace(cpp=STABLE + "// mine\n")
    li.build(edited)
    assert len(li.registry.history("tiny/stable")) == 3
    assert [row.label for row in revisions_of(li.registry.history("tiny/stable"))] == ["tiny/stable", edited.label]


@pytest.mark.full
def test_flags_that_stay_are_told(noted: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Flags and saved names from an earlier cell are named, with the revision that brought them and what takes them away."""
    run(parse("tiny/flagged --params FACTOR=2 --flags -O1"), STABLE[1:], Terminal())
    assert "kept from" not in capsys.readouterr().out
    run(parse("tiny/flagged"), STABLE[1:] + "// x\n", Terminal())
    words = "flags -O1, kept from tiny/flagged; --flags= takes them away"
    assert capsys.readouterr().out.strip().endswith(f"1 line differs from tiny/flagged; {words}")
    with pytest.raises(BuildError) as error:
        run(parse("tiny/flagged"), BROKEN[1:], Terminal())
    assert error.value.__notes__ == [words]
    run(parse("tiny/flagged@1 --flags="), STABLE[1:] + "// x\n", Terminal())
    assert capsys.readouterr().out.strip().endswith("; 1 line differs from tiny/flagged@1 (flags)")
    assert [row.changed_lines for row in revisions_of(li.registry.history("tiny/flagged"))][-1] == 1


def test_slots_that_do_not_fit_name_the_way_back(noted: Any) -> None:
    """A bad slot stays with the kernel: the message says how to get rid of it."""
    with pytest.raises(TemplateError) as error:
        run(parse("tiny/stable --slots NOBODY=3"), STABLE[1:], Terminal())
    assert error.value.__notes__ == ["%kernel revert tiny/stable goes back to what it was edited from"]
    assert li.registry.state("tiny/stable@1")[0] == "failed"
    perform("revert tiny/stable", print)
    assert li.registry["tiny/stable"].label == "tiny/stable"


def test_new_name_is_asked_for_where_one_is_near(noted: Any) -> None:
    """A failed build of a new kernel says that it is new only where another name may have been meant."""
    for name, notes in (
        ("stabl", ["tiny/stabl is a new kernel: did you mean tiny/stable?"]),
        ("x", []),
        ("mine", []),
        ("stable2", []),
    ):
        with pytest.raises(BuildError) as error:
            run(parse(f"tiny/{name} --params FACTOR=2"), BROKEN[1:], Terminal())
        assert getattr(error.value, "__notes__", []) == notes


@pytest.mark.parametrize("text", [_CELL_HELP, _LINE_HELP], ids=["cell", "line"])
def test_help_fits_a_notebook(text: str) -> None:
    """No line of the help is longer than what a notebook shows of one."""
    assert max(map(len, text.split("\n"))) <= HELP_WIDTH


def test_journal_that_cannot_be_written_stops_nothing(op: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no way to write the journal, a cell warns once and builds all the same."""
    journal.turn_on("/lessons/first.ipynb")

    def read_only() -> Path:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(journal, "room", read_only)
    with pytest.warns(RuntimeWarning, match="not written to the journal: Read-only file system") as told:
        for factor in (2, 2.5):
            with contextlib.redirect_stdout(io.StringIO()):
                run(parse(f"tiny/ro --params FACTOR={factor}"), STABLE[1:], Terminal())
    assert len(told) == 1 and li.registry["tiny/ro"].label == "tiny/ro@1"


def test_completion_of_names_and_revisions(op: Any) -> None:
    """Kernels, ops and revisions are offered where one can stand."""
    li.registry.register(li.registry["tiny/stable"].replace(params={"FACTOR": 3}))
    assert words("%%kernel tiny/s") == ("tiny/stable",)
    assert "lltm/" in words("%%kernel l") and "lltm/fused" in words("%%kernel lltm/")
    assert words("%%kernel tiny/stable@") == ("tiny/stable@0", "tiny/stable@1")
    assert words("%kernel diff tiny/stable tiny/stable@1") == ("tiny/stable@1",)
    assert words("%kernel recover ti") == ("tiny", "tiny/python", "tiny/stable")
    assert words("%%kernel tiny/x --from ")[:2] == ("tiny/python", "tiny/stable"), "those of the op come first"


def test_completion_of_options_and_values(op: Any) -> None:
    """Options that are not given yet, and the values that each can have."""
    assert words("%%kernel tiny/x --check --") == tuple(each.name for each in OPTIONS if each.name != "--check")
    assert words("%%kernel tiny/stable --params ") == ("FACTOR=2",)
    assert words("%%kernel tiny/x --from tiny/stable --params F") == ("FACTOR=2",)
    assert words("%%kernel tiny/x --device ") == ("cpu", "cuda", "cuda-cpu")
    assert words("%%kernel tiny/x --device cpu ")[0] == "--from", "it has its one value"
    assert words("%%kernel tiny/x --saves ") == ("x", "y")
    assert words("%%kernel lltm/fused --sizes 16,")[0].startswith("16,")
    assert words("%%kernel tiny/stable ")[0] == "--from"


def test_help() -> None:
    """`%kernel` alone, or with `help`, has a line for each verb."""
    said = repr(perform("help", print))
    assert said == repr(perform("", print)) and all(f"\n  {verb} " in said for verb in VERBS), said


def test_completion_of_verbs() -> None:
    """Verbs, their options, and ops where an op is meant."""
    assert words("%kernel ") == tuple(VERBS)
    assert words("  %kernel re") == ("revert", "recover")
    assert words("%kernel recover --") == ("--every",)
    assert words("%kernel list lin") == ("linear",)
    assert words("%kernel nothing x") == ()


def test_completion_of_what_a_verb_takes(op: Any) -> None:
    """The params of the kernel where some are to be varied, and nothing where a name is to be made up."""
    assert words("%kernel sweep tiny/stable --params ") == ("FACTOR=2",)
    assert words("%kernel export tiny/stable --name ") == ()


def test_completion_of_the_text(op: Any) -> None:
    """In the body the words of the cell, the kernel and the op are offered, and nothing of Python."""
    assert words("%%kernel tiny/stable\nTensor fo") == ("for", "forward")
    assert words("%%kernel tiny/new\nint answer = 1;\nint b = ans") == ("answer",)


@pytest.mark.parametrize("cell", ["x = li.re", "%time x", "%%time\nli.re", "%%kernelx a", "%%kernel", "y = '%kernel '"])
def test_completion_leaves_the_rest_to_python(cell: str) -> None:
    """Elsewhere nothing is offered, so that Python's completion has its turn."""
    assert complete(cell, cell.count("\n"), len(cell.split("\n")[-1])) is None


def words(cell: str) -> tuple[str, ...]:
    """Return what can stand at the end of a cell."""
    found = complete(cell, cell.count("\n"), len(cell.split("\n")[-1]))
    assert found is not None
    return found.words


def test_revision_table_shows_itself(op: Any) -> None:
    """A history is text and a table with a heading of its own and headings."""
    first = li.registry["tiny/stable"]
    li.registry.register(first.replace(params={"FACTOR": 3}))
    li.registry.note(li.registry["tiny/stable@1"], "wrong", "x")
    table = li.registry.history("tiny/stable")
    assert "-> tiny/stable@1            WRONG            1 line from tiny/stable" in str(table)
    page = table._repr_html_()
    assert 'class="li-title"' in page and 'scope="row"' in page and "WRONG" in page and "current" in page


@pytest.mark.full
def test_magics_work_in_a_terminal(tmp_path: Path) -> None:
    """In IPython without a notebook results are printed, and an error says all there is."""
    script = (
        "from tests import tiny; tiny.register()\n"
        "shell = get_ipython()\n"
        "shell.run_line_magic('load_ext', 'lltm_inline')\n"
        f"shell.run_cell_magic('kernel', 'tiny/term --params FACTOR=2', {STABLE[1:]!r})\n"
        "shell.run_line_magic('kernel', 'source tiny/term')\n"
        "print('NEXT', repr(shell.rl_next_input[:20]))\n"
        f"shell.run_cell_magic('kernel', 'tiny/term', {BROKEN[1:]!r})\n"
    )
    (tmp_path / "script.ipy").write_text(script)
    result = subprocess.run(
        [sys.executable, "-m", "IPython", "--colors=NoColor", str(tmp_path / "script.ipy")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path)},
    )
    assert result.stdout.startswith("tiny/term: "), result.stdout + result.stderr
    assert "NEXT '%%kernel tiny/term\\n" in result.stdout
    assert "'FACTORY' was not declared in this scope" in result.stdout + result.stderr


def test_static_export_can_colour_the_cells() -> None:
    """Told that `%%kernel` is C++, nbconvert colours the cells as such; docs/guide.md says so."""
    import nbformat
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    cell = nbformat.v4.new_code_cell("%%kernel axpy/mine\n#include <tuple>\nconstexpr int answer = 42;\n")
    book = nbformat.v4.new_notebook(
        cells=[cell], metadata={"language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    )
    settings = Config({"HighlightMagicsPreprocessor": {"enabled": True, "languages": {"%%kernel": "cpp"}}})
    page, _ = HTMLExporter(config=settings).from_notebook_node(book)
    assert '<span class="k">constexpr</span>' in page


def test_python_kernel_is_not_recorded(op: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that is a Python function has no text, and does not reach the journal."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "cache"))
    journal.turn_on("/lessons/first.ipynb")
    li.registry.register(Kernel("tiny/function", python=lambda x: x * 2))
    assert [made.label for made in li.registry.recover("tiny")] == ["tiny/stable"]
