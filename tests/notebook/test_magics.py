"""`%%kernel` and `%kernel` in a real kernel, as JupyterLab runs it: what is shown, what stops, what is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.conftest import HEAVY
from tests.notebook.sessions import Session, reply, session, wait_until
from tests.tiny import STABLE

BEGIN = """
import lltm_inline as li
%load_ext lltm_inline
from lltm_inline.compiling import compiler
from tests import tiny

tiny.register()
li.registry.register(tiny.kernel())
compiled, compile_all = [], compiler._compile_all
def counted(*arguments):
    compiled.append(arguments)
    return compile_all(*arguments)
compiler._compile_all = counted
"""
BODY = STABLE[1:].rstrip()
#: The line of the cell, counted from the `%%kernel` line, in which `forward` returns.
LINE = next(number for number, line in enumerate(BODY.split("\n"), 2) if "return times(x, FACTOR)" in line)
BROKEN = BODY.replace("return times(x, FACTOR)", "return timez(x, FACTOR)")
WRONG = BODY.replace("return times(x, FACTOR)", "return times(x, FACTOR + 1)")
CRASH = BODY.replace("return times(x, FACTOR)", "*(volatile int*)nullptr = 1; return times(x, FACTOR)")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Give one kernel for the whole file, with the magics and a throwaway op; each worker of pytest edits a notebook of its own."""
    folder = tmp_path_factory.mktemp("jupyter")
    with session(folder, str(folder / "first.ipynb"), [BEGIN]) as running:
        yield running


def value(book: Session, expression: str) -> str:
    """Return what an expression is in the kernel, as text."""
    ran = book.run(f"print(({expression}))")
    assert ran.ok, ran.error
    return ran.printed.strip()


def test_right_kernel_is_shown_and_registered(book: Session) -> None:
    """A cell that compiles and is right shows one line and the report, and is the current kernel of its name."""
    ran = book.run("%%kernel tiny/mine --params FACTOR=2 --check", BODY)
    assert ran.ok, ran.error
    made, report = ran.texts
    assert made.startswith("tiny/mine: built with ") and made.endswith("; tiny/mine is a new kernel.")
    assert report.startswith("check of tiny/mine on cpu: right")
    assert len(ran.pages) == 2 and "compiles" in ran.pages[0]
    assert value(book, "li.registry['tiny/mine'].label, li.registry['tiny/mine'].api") == "('tiny/mine', 'stable')"
    assert value(book, "li.load('tiny/mine')(__import__('torch').ones(2)).tolist()") == "[2.0, 2.0]"


def test_same_cell_again_is_the_same_revision(book: Session) -> None:
    """Run again, a cell makes nothing new, and no compiler runs."""
    cell = ("%%kernel tiny/again --params FACTOR=2", BODY)
    labels = [book.run(*cell).texts[0] for _ in range(2)] + [book.run(*cell, "", "").texts[0]]
    assert labels[0].startswith("tiny/again: ") and labels[1].startswith("tiny/again: from the cache")
    assert labels[2].startswith("tiny/again: from the cache"), "empty lines at the end are no edit"


def test_edit_is_a_revision_with_its_difference(book: Session) -> None:
    """Another text is the next revision; the line says how many lines differ, and folds which."""
    assert book.run("%%kernel tiny/edited --params FACTOR=2", BODY).ok
    ran = book.run("%%kernel tiny/edited", BODY.replace("return times(x, FACTOR)", "return times(x, 1 * FACTOR)"))
    assert ran.texts[0].startswith("tiny/edited@1: built") and "1 line differs from tiny/edited" in ran.texts[0]
    assert "<details>" in ran.pages[0] and "1 line differs from tiny/edited" in ran.pages[0]
    assert value(book, "li.registry['tiny/edited'].params['FACTOR']") == "2", "params that are not named stay"


def test_from_takes_over_what_the_cell_does_not_say(book: Session) -> None:
    """With --from, a new kernel has the other's params and flags, and counts its lines from there."""
    assert book.run("number = 3").ok
    ran = book.run(
        "%%kernel tiny/child --from tiny/stable --params EXTRA={number} --flags -DUNUSED=1", BODY + "\n// more"
    )
    assert ran.ok and "3 lines differ from tiny/stable" in ran.texts[0]
    made = value(book, "dict(li.registry['tiny/child'].params), li.registry['tiny/child'].flags")
    assert made == "({'FACTOR': 2, 'EXTRA': 3}, ('-DUNUSED=1',))"


@pytest.mark.parametrize("above", [0, 2])
def test_compiler_counts_in_the_lines_of_the_cell(book: Session, above: int) -> None:
    """A message names the line as the cell's gutter does, also below empty lines, and shows the cell's text; the cell fails."""
    ran = book.run(*[""] * above, "%%kernel tiny/broken --params FACTOR=2", BROKEN)
    assert ran.error.startswith("BuildError: kernel 'tiny/broken")
    [card], [page] = ran.texts, ran.pages
    assert f":{LINE + above}:" in card.split("\n")[1] and "'timez' was not declared in this scope" in card
    assert f"-> {LINE + above} |   return timez(x, FACTOR);" in card
    assert "timez" in page and "lltm-inline" in page
    assert len(ran.traceback.strip().split("\n")) <= 2 and "timez" in ran.traceback


def test_text_that_does_not_compile_is_kept(book: Session) -> None:
    """The revision of a failed cell is in the history and can be brought into the next cell."""
    assert book.run("%%kernel tiny/kept --params FACTOR=2", BODY).ok
    assert not book.run("%%kernel tiny/kept", BROKEN).ok
    history = book.run("%kernel history tiny/kept").texts[0]
    assert "-> tiny/kept@1" in history and "does not compile" in history and "1 line from tiny/kept" in history
    [payload] = book.run("%kernel source tiny/kept").reply["payload"]
    assert payload["text"] == f"%%kernel tiny/kept\n{BROKEN}\n" and not payload["replace"]
    ran = book.run("%kernel revert tiny/kept")
    assert "-> tiny/kept  " in ran.texts[0] and value(book, "li.registry['tiny/kept'].label") == "tiny/kept"
    assert (
        book.run(*book.run("%kernel source tiny/kept").reply["payload"][0]["text"].split("\n"))
        .texts[0]
        .startswith("tiny/kept: from the cache")
    ), "the source of a kernel, run as it is, is that kernel"


def test_wrong_kernel_stops_after_its_report(book: Session) -> None:
    """Under --check a wrong kernel shows its report, and then the cell fails with the headline in one line."""
    ran = book.run("%%kernel tiny/wrong --params FACTOR=2 --check", WRONG)
    assert ran.error.startswith("CheckError: 'tiny/wrong' ") and "WRONG" in ran.texts[1]
    assert len(ran.traceback.strip().split("\n")) == 1
    assert "WRONG" in book.run("%kernel history tiny/wrong").texts[0]


def test_crash_is_told_and_the_kernel_lives(book: Session) -> None:
    """A kernel that crashes in its check is told as what it was, and the notebook goes on."""
    pid = value(book, "__import__('os').getpid()")
    ran = book.run("%%kernel tiny/crash --params FACTOR=2 --check", CRASH)
    assert ran.error.startswith("CrashError: ") and "SIGSEGV" in ran.error
    assert value(book, "__import__('os').getpid()") == pid
    assert "CRASHES" in book.run("%kernel history tiny/crash").texts[0]


def test_benchmark_against_others(book: Session) -> None:
    """Timings of the cell's kernel and of those named are shown; without names, of what it was edited from."""
    options = "--sizes 64 --seconds 0.02"
    ran = book.run(
        f"%%kernel tiny/fast --from tiny/stable --against tiny/python tiny/stable {options}", BODY + "\n// fast"
    )
    assert ran.ok, ran.error
    assert all(name in ran.pages[1] for name in ("tiny/python", "tiny/stable", "tiny/fast")) and len(ran.texts) == 2
    ran = book.run(f"%%kernel tiny/fast --check --benchmark {options}", BODY + "\n// faster")
    assert ran.ok and len(ran.texts) == 3 and "tiny/fast@1" in ran.pages[2] and "tiny/python" not in ran.pages[2]
    ran = book.run(f"%%kernel tiny/fast --benchmark {options}", WRONG)
    assert ran.error.startswith("CheckError: 'tiny/fast@2' "), "a wrong kernel is not timed"


def test_failed_cell_stops_run_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In "Run all" the cells behind a failed `%%kernel` are not run."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    cells = [BEGIN, f"%%kernel tiny/broken --params FACTOR=2\n{BROKEN}", "print('not reached')"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    with pytest.raises(CellExecutionError, match="timez"):
        NotebookClient(book, timeout=120, kernel_name="python3", shutdown_kernel="immediate").execute()
    assert book.cells[2].execution_count is None


def test_interrupt_leaves_all_clean(book: Session) -> None:
    """Stopped while it compiles, a cell ends as interrupted; no compiler is left, the text is kept, the next cell works."""

    def compilers() -> set[str]:
        found = set()
        for child in psutil.Process(book.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
                found.add(child.name())
        return found & {"cc1plus", "g++", "ninja"}

    heavy = "\n".join(["%%kernel tiny/heavy --params FACTOR=2", BODY, HEAVY])
    cell = book.client.execute(heavy, stop_on_error=False)
    wait_until(lambda: "cc1plus" in compilers())
    book.manager.interrupt_kernel()
    told = reply(book.client, cell)
    assert told["status"] == "error" and told["ename"] == "KeyboardInterrupt"
    wait_until(lambda: not compilers(), 20)
    assert "spin" in value(book, "li.registry['tiny/heavy'].cpp")
    assert "not built" in book.run("%kernel history tiny/heavy").texts[0]
    assert book.run("%%kernel tiny/heavy", BODY).ok


BAD = {
    "%%kernel tinny/mine\nint x;": "UnknownKernelError: %%kernel tinny/mine: no op 'tinny'. Did you mean tiny? Ops: ",
    "%%kernel tiny\nint x;": "InputError: %%kernel: 'tiny' is no name of a kernel, want op/variant, such as tiny/mine.",
    "%%kernel\nint x;": "InputError: %%kernel: no kernel is named, want op/variant: %%kernel axpy/mine",
    "%%kernel tiny/mine": "InputError: %%kernel: the cell has no C++ text below its first line. To start from",
    "%%kernel tiny/mine\n   \n": "InputError: %%kernel: the cell has no C++ text below its first line. To start from",
    "%%kernel tiny/mine\n\nimport torch\nx = torch.ones(2)": (
        "InputError: %%kernel: line 3 of the cell looks like Python: 'import torch'. %%kernel takes C++: run Python in a cell"
    ),
    "%%kernel tiny/mine --chekc\nint x;": "InputError: %%kernel: no option '--chekc'. Did you mean --check? Options: --from, ",
    "%%kernel 'tiny/mine'\nint x;": "InputError: %%kernel: 'tiny/mine' is in quotes; write it without: tiny/mine",
    "%%kernel tiny/Mine\nint x;": "DefinitionError: kernel name 'tiny/Mine' is not 'op/variant' in lower-case identifiers",
    "%%kernel tiny/stable --params FACTR=3\nFACTOR;": (
        "DefinitionError: kernel 'tiny/stable': its texts use no param 'FACTR'. Did you mean 'FACTOR'? Params: FACTOR"
    ),
    "%%kernel cube/aten --api stable\nint x;": "DefinitionError: kernel 'cube/aten': double_backward needs --api aten: autograd",
    "%%kernel tiny/python\nint x;": "InputError: %%kernel tiny/python: 'tiny/python' is a Python function and has no text.",
    "%%kernel tiny/new --from tiny/nil\nint x;": "UnknownKernelError: no kernel 'tiny/nil'.",
    "%%kernel tiny/new --kind binding\nint x;": "InputError: %%kernel: 'tiny/new' has no text yet that could be bound",
    "%%kernel tiny/stable@7\nint x;": "UnknownKernelError: no revision 'tiny/stable@7'. Revisions of 'tiny/stable': ",
    "%%kernel tiny/stable --against nobody\nint x;": "UnknownKernelError: no kernel 'nobody'.",
    "%kernel reverse tiny/mine": "InputError: %kernel: no verb 'reverse'. Did you mean revert? Verbs: list, show, ",
    "%kernel show": "InputError: %kernel show: no names: %kernel show KERNEL",
    "%kernel show a b": "InputError: %kernel show: too many names: %kernel show KERNEL",
    "%kernel show --all tiny/stable": "InputError: %kernel show: no option '--all'. It has none",
    "%kernel source tiny/python": "InputError: %kernel source: tiny/python is a Python function and has no C++ text. Others: ",
    "%kernel source --cuda tiny/stable": "InputError: %kernel source: tiny/stable has no cuda text, only cpp",
    "%kernel revert tiny/stable": "InputError: %kernel revert: tiny/stable is the first revision; there is nothing to go back to",
    "%kernel diff tiny/stable": "InputError: %kernel diff: tiny/stable was edited from nothing; name two kernels",
    "%kernel list tinny": "UnknownKernelError: no op 'tinny'. Did you mean 'tiny'? Ops: ",
    "%kernel recover tinny": "UnknownKernelError: nothing to recover of 'tinny': no op or kernel of that name. Did you mean",
}


@pytest.mark.parametrize("cell", list(BAD), ids=lambda cell: cell.replace("\n", " / ")[:40])
def test_bad_input_is_one_sentence(book: Session, cell: str) -> None:
    """What makes no sense fails with one sentence that says what, and the cure; nothing is registered or built."""
    look = "sorted(kernel.label for kernel in li.registry.values()), len(compiled)"
    before = value(book, look)
    ran = book.run(cell)
    assert ran.error.startswith(BAD[cell]), ran.error
    assert not ran.texts and ran.traceback.count("\n") <= 4, ran.traceback
    assert value(book, look) == before


def test_other_verbs_show_what_functions_return(book: Session) -> None:
    """`list`, `show` and `diff` show what `registry`, a kernel and `li.diff` show."""
    pairs = {
        "%kernel list": "li.registry",
        "%kernel list tiny": "li.registry.ops['tiny']",
        "%kernel show tiny/stable": "li.registry['tiny/stable']",
        "%kernel diff tiny/stable tiny/python": "li.diff('tiny/stable', 'tiny/python')",
    }
    for line, code in pairs.items():
        assert book.run(line).pages == book.run(code).pages != []
    help_text = book.run("%kernel").texts[0]
    assert all(f"  {verb} " in help_text for verb in ("list", "show", "source", "diff", "history", "revert", "recover"))


@pytest.mark.parametrize(("magic", "words"), [("%%kernel", "--against KERNEL ..."), ("%kernel", "revert KERNEL[@N]")])
def test_question_mark_shows_help(book: Session, magic: str, words: str) -> None:
    """`%%kernel?` lists the options, `%kernel?` the verbs."""
    [payload] = book.run(f"{magic}?").reply["payload"]
    assert words in payload["data"]["text/plain"]


def test_completion(book: Session) -> None:
    """The tabulator completes kernels, revisions, options and their values, verbs, params and the words of the text."""
    assert book.run("%%kernel tiny/tab --params FACTOR=2", BODY).ok
    assert book.complete("%%kernel tiny/ta|") == ["%%kernel tiny/tab"]
    assert "%%kernel axpy/" in book.complete("%%kernel ax|")
    assert "%%kernel tiny/tab --from tiny/stable" in book.complete("%%kernel tiny/tab --from tiny/st|")
    assert book.complete("%%kernel tiny/tab --par|") == ["%%kernel tiny/tab --params"]
    assert book.complete("%%kernel tiny/tab --params |") == ["%%kernel tiny/tab --params FACTOR=2"]
    assert book.complete("%%kernel tiny/tab --device cp|\nint x;") == ["%%kernel tiny/tab --device cpu\nint x;"]
    assert book.complete("%%kernel axpy/cpp --sizes 1|")[0].startswith("%%kernel axpy/cpp --sizes 1")
    assert book.complete("%kernel rev|") == ["%kernel revert"]
    assert book.complete("x = 1\n%kernel history tiny/tab@|") == ["x = 1\n%kernel history tiny/tab@0"]
    assert book.complete("%%kernel tiny/tab\nTensor forw|") == ["%%kernel tiny/tab\nTensor forward"]
    assert not any("lltm_inline" in each for each in book.complete("%%time\nx = lltm_inl|"))


def test_two_texts_and_the_op_that_a_notebook_defines(book: Session) -> None:
    """`--kind` chooses the text: the second cell gives a kernel its binding, and `source --binding` brings that back."""
    assert book.run("%%kernel tiny/bound --params FACTOR=2", BODY).ok
    binding = value(
        book,
        "__import__('lltm_inline.source.template', fromlist=['render']).render(li.registry['tiny/bound'], li.registry.ops['tiny'])"
        ".sources['tiny/bound (binding)'].replace('$', '$$')",
    )
    ran = book.run("%%kernel tiny/bound --kind binding", binding)
    assert ran.ok, ran.error
    assert value(book, "list(li.registry['tiny/bound'].sources)") == "['cpp', 'binding']"
    [payload] = book.run("%kernel source tiny/bound --binding").reply["payload"]
    assert payload["text"].startswith("%%kernel tiny/bound --kind binding\n")


def test_unload_takes_the_magics_away(book: Session) -> None:
    """After `%unload_ext` there is no magic and no completion; `%load_ext` brings both back, once."""
    assert book.run("%unload_ext lltm_inline").ok
    assert "not found" in book.run("%kernel list").printed and book.complete("%kernel rev|") == []
    again = book.run("%load_ext lltm_inline", "%reload_ext lltm_inline")
    assert again.ok and not again.outputs
    assert book.complete("%kernel rev|") == ["%kernel revert"]


def test_second_notebook_keeps_to_itself(book: Session, tmp_path: Path) -> None:
    """Two notebooks that are open at once and edit one kernel have each its own revisions."""
    cell = ("%%kernel tiny/shared --params FACTOR=2", BODY)
    assert book.run(*cell).ok and not book.run(cell[0], BROKEN).ok
    with session(tmp_path, str(tmp_path / "second.ipynb"), [BEGIN]) as second:
        assert second.run(*cell).ok and second.run(cell[0], BODY + "\n// more").ok
        assert (
            "nothing to bring back of tiny/shared of second.ipynb: all its revisions are here"
            in second.run("%kernel recover tiny/shared").texts[0]
        )
        assert second.run("%kernel history tiny/shared").texts[0].count("tiny/shared@") == 1
    assert value(book, "[k.label for k in li.registry.history('tiny/shared')]") == "['tiny/shared', 'tiny/shared@1']"


def test_zz_restart_and_recover(book: Session) -> None:
    """After "Restart kernel", and after the kernel was killed, `recover` brings back the revisions with their numbers."""
    assert book.run("%%kernel tiny/survivor --params FACTOR=2", BODY).ok
    assert not book.run("%%kernel tiny/survivor", BROKEN).ok
    for kill in (False, True):
        if kill:
            psutil.Process(book.pid).kill()
        book.restart()
        begun = book.run(BEGIN)
        assert begun.ok and "of this notebook from before the restart: %kernel recover, or li.registry" in begun.printed
        ran = book.run("%kernel recover tiny/survivor")
        assert ran.texts[0].startswith("brought back 2 revisions of tiny/survivor of first.ipynb: ")
        history = book.run("%kernel history tiny/survivor").texts[0]
        assert "-> tiny/survivor@1" in history and "does not compile" in history and "compiles" in history
    [payload] = book.run("%kernel source tiny/survivor").reply["payload"]
    assert payload["text"] == f"%%kernel tiny/survivor\n{BROKEN}\n"
    assert len(book.run("back = li.registry.recover()\nback").texts[0]) > 100
