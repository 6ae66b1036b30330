"""The command line: what it prints, where, and with which exit code.

Each verb runs in a real process at least once; where only the words differ, `main` is called instead, as a process
needs seconds to import torch.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lltm_inline import Counts, Kernel, __version__, registry
from lltm_inline.__main__ import _complain, main
from lltm_inline.errors import BuildError, ToolchainError
from lltm_inline.model.registry import resolve
from tests.quick import QUICK


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m lltm_inline` with these words."""
    command = [sys.executable, "-m", "lltm_inline", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def refused(result: subprocess.CompletedProcess[str], code: int) -> str:
    """Assert that a command failed with one clear message on standard error only, and return it."""
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    return result.stderr


def call(*arguments: str) -> int:
    """Run `main` here; a refusal of argparse counts as the exit code that it is."""
    try:
        return main(arguments)
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code


def test_help_and_version() -> None:
    """`--help` lists the verbs and `--version` says the package's own."""
    text = run("--help").stdout
    for verb in ("list", "show", "check", "benchmark", "doctor", "cache"):
        assert re.search(rf"^    {verb}\b", text, flags=re.MULTILINE), verb
    assert run("--version").stdout == f"lltm-inline {__version__}\n"


@pytest.mark.full
def test_script_entry() -> None:
    """The installed command `lltm-inline` is the same program."""
    script = Path(sys.executable).with_name("lltm-inline")
    if not script.exists():
        pytest.skip("the package is not installed into this environment")
    result = subprocess.run([script, "--version"], capture_output=True, text=True)
    assert result.stdout == f"lltm-inline {__version__}\n"


@pytest.mark.full
def test_list() -> None:
    """`list` names every op and kernel, `list OP` those of one."""
    result = run("list")
    assert result.returncode == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    for name in ("lltm/python", "lltm/aten", "lltm/fused", "lltm/stable", "lltm/cuda_extern", "axpy/cuda"):
        [found] = [line for line in lines if line[0] == name]
        assert len(found) > 3, f"{name} has no headline"
    ops = {line[0].rstrip(":") for line in lines if line[0].endswith(":")}
    assert {"lltm", "axpy"} <= ops <= set(registry.ops)  # other tests register more in this process
    assert run("list", "lltm").stdout.startswith("lltm: ")


def test_list_of_an_unknown_op() -> None:
    """An op that does not exist is a usage error that names those that do."""
    message = refused(run("list", "lstm"), 2)
    assert message.startswith("lltm-inline: no op 'lstm'. Did you mean 'lltm'? Ops: lltm, ")


@pytest.mark.full
def test_show_is_the_source() -> None:
    """In a pipe `show` prints a kernel's text as it is, and a reference's Python."""
    assert run("show", "lltm/fused").stdout.strip("\n") == registry["lltm/fused"].cpp.strip("\n")
    assert run("show", "lltm/python").stdout.startswith("def ")


@pytest.mark.full
def test_show_binding_and_rendered() -> None:
    """`--binding` prints the generated binding, `--rendered` the complete file with source and binding."""
    binding = run("show", "lltm/fused", "--binding").stdout
    rendered = run("show", "lltm/fused", "--rendered").stdout
    assert "TORCH_LIBRARY_FRAGMENT" in binding
    assert '#line 1 "lltm/fused"' in rendered
    assert binding.strip("\n") in rendered
    assert "#include <" in rendered


def test_show_of_two_texts(capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel of two texts shows both by name, and rendered both complete files, what lies between them included."""
    kernel = registry["lltm/cuda_extern"]
    assert call("show", "lltm/cuda_extern") == 0
    plain = capsys.readouterr().out
    assert plain.startswith("// lltm/cuda_extern (cpp)\n#include <ATen")
    assert kernel.cpp.strip("\n") in plain and f"// lltm/cuda_extern (cuda)\n{kernel.cuda.strip(chr(10))}" in plain
    assert call("show", "lltm/cuda_extern", "--rendered") == 0
    rendered = capsys.readouterr().out
    assert rendered.count("// Kernel lltm/cuda_extern, ") == 2
    for words in (
        "void cell_forward(const at::Tensor& gates",
        'extern "C" const char* cell_forward_double(',
        "#define THREADS 256",
    ):
        assert words in rendered
    assert call("show", "lltm/cuda", "--binding") == 0
    assert 'implement("CUDA", "forward"' in capsys.readouterr().out
    assert call("show", "lltm/fused", "--rendered", "--device", "cuda") == 2
    assert "has no cuda text" in capsys.readouterr().err


def test_show_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt kernel gets the nearest name, a Python kernel has no binding, and two views are one too many."""
    assert "Did you mean 'lltm/fused'?" in refused(run("show", "lltm/fusd"), 2)
    for words, message in (
        (("lltm/python", "--binding"), "is a Python function"),
        (("lltm/fused", "--binding", "--rendered"), "not allowed with"),
    ):
        assert call("show", *words) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "required: VERB"),
        (("chekc",), "invalid choice: 'chekc'"),
        (("chek", "lltm/fused"), ". Did you mean 'check'?\n"),
        (("list", "ltm"), "no op 'ltm'. Did you mean 'lltm'? Ops: lltm, axpy"),
        (("check", "lltm/fused", "--devise", "cuda"), "arguments: --devise cuda. Did you mean '--device'?\n"),
        (("export", "axpy/cpp", "--to", "x", "--how", "cmaek"), ". Did you mean 'cmake'?\n"),
        (("lab", "slftest", "x"), ". Did you mean 'selftest'?\n"),
        (("check",), "required: OP/VARIANT, or --all"),
        (("check", "lltm/python", "--all"), "required: OP/VARIANT, or --all"),
        (("check", "lltm/fusd"), "no kernel 'lltm/fusd'"),
        (("check", "lltm/python", "--device", "tpu"), "tpu"),
        (("benchmark", "lltm/python", "--sizes", "16,x"), "'16,x' is no size"),
        (("benchmark", "lltm/python", "--sizes", "16,32"), "16, 32"),
        (("benchmark", "lltm/python", "--seconds", "-1"), "'-1' is no number"),
        (("benchmark", "lltm/python", "--json", "no-such-directory/t.json"), "no directory 'no-such-directory'"),
        (("benchmark", "lltm/python", "--csv", "."), "'.' is a directory"),
        (("benchmark", "lltm/python", "--plot", "plot.xls"), "'plot.xls' ends in none of"),
        (("cache",), "required: VERB"),
        (("cache", "prune"), "--max-age-days N or --max-mib N"),
        (("cache", "prune", "--max-mib", "lots"), "'lots' is no number"),
    ],
)
def test_wrong_usage(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake in the words gives exit code 2 and a message that names the word."""
    assert call(*words) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "lltm/cuda"), "It runs on 'cuda' and 'cuda-cpu': say --device cuda-cpu\n"),
        (("counts", "lltm/fused"), "no cuda text: device 'cuda-cpu' needs one. It runs on 'cpu' alone\n"),
        (
            ("asm", "axpy/cuda", "--hot", "--device", "cuda-cpu"),
            ": --hot with --device cuda-cpu: it is told of C++ texts",
        ),
        (("export", "axpy/cpp", "--to", str(Path(__file__).parent), "--how", "load"), "or --force, which moves"),
        (("export", "axpy/cpp", "--to", "/", "--force"), ": --to /, want a directory below the root"),
        (("export", "lltm/cuda", "--to", "x", "--name", "3a"), "Give another with --name\n"),
        (("export", "lltm/fused", "--to", "x", "--how", "stable"), ": --how stable needs"),
        (("benchmark", "lltm/fused", "--seconds", "0"), ": --seconds 0.0, want"),
        (("lab", "new", "a b", "axpy"), ": folder 'a b', want a name"),
        (("lab", "new", "fine", "block_sum"), "of one text, C++ or CUDA: give one: --solution\n"),
    ],
)
def test_arguments_are_named_as_they_are_typed(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message that names an argument as Python has it is written in the options of the verb, if the verb has it."""
    assert call(*words) == 2
    said = capsys.readouterr().err
    assert message in said and not re.search(r"\b(device|how|name|force|seconds|solution)=", said)


def test_check_of_a_right_kernel() -> None:
    """A right kernel gives exit code 0 and its report."""
    result = run("check", "lltm/python")
    assert result.returncode == 0, result.stderr
    assert "lltm/python" in result.stdout


def test_check_of_a_wrong_kernel(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One wrong kernel among several gives exit code 1, and all of them are reported."""
    import lltm_inline as li

    class Report:
        def __init__(self, label: str) -> None:
            self.label, self.ok = label, label == "lltm/python"

        def __str__(self) -> str:
            return f"{self.label}: {self.ok}"

    monkeypatch.setattr(li, "check", lambda kernel, device: Report(kernel.label))
    assert main(["check", "lltm/fused", "lltm/python"]) == 1
    assert capsys.readouterr().out == "lltm/fused: False\nlltm/python: True\n"


OWN = """
import lltm_inline as li


def gate(x):
    return 2 * x


li.registry.register(li.Op("gate", "(Tensor x) -> Tensor y", gate, {"x": "N", "y": "N"}))
li.registry.register(li.Kernel("gate/sum", python=lambda x: x + x))
li.registry.register(li.Kernel("gate/wrong", python=lambda x: 3 * x))
"""


@pytest.mark.full
def test_check_of_a_file_of_ones_own(tmp_path: Path) -> None:
    """Its kernels are checked by name, or all of them but the reference, and nothing is written beside it."""
    (tmp_path / "my_ops.py").write_text(OWN)
    result = run("check", str(tmp_path / "my_ops.py"), PYTHONDONTWRITEBYTECODE="")
    assert result.returncode == 1, result.stderr
    assert re.findall(r"^check of (\S+) on cpu: (\w+)", result.stdout, re.MULTILINE) == [
        ("gate/sum", "right"),
        ("gate/wrong", "WRONG"),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["my_ops.py"]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (None, "", "no file 'my_ops.py' in '{here}'"),
        (
            OWN,
            ":gate/sun",
            "no kernel 'gate/sun' in my_ops.py. Did you mean 'gate/sum'? It registers: gate/sum, gate/python, gate/wrong",
        ),
        (
            "x = 1\n",
            "",
            "my_ops.py registers no op and no kernel: li.registry.register(li.Op(...)) or register(li.Kernel(...)) in it does",
        ),
        ("x = 1\nx = 1 / 0\n", "", "my_ops.py, line 2: ZeroDivisionError: division by zero"),
        ("x = 1\nx = (\n", "", "my_ops.py, line 2: SyntaxError: '(' was never closed (my_ops.py, line 2)"),
        ("exit(3)\n", "", "my_ops.py, line 1: SystemExit: 3"),
    ],
)
def test_a_file_of_ones_own_that_cannot_be_checked(
    text: str | None, name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A file that is not there, that lacks the kernel or raises, is told in one line, with the line of the file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    if text is not None:
        Path("my_ops.py").write_text(text)
    before = registry.snapshot()
    try:
        assert call("check", f"my_ops.py{name}") == 2
    finally:
        registry.restore(before)
        sys.modules.pop("my_ops", None)
    assert capsys.readouterr().err == f"lltm-inline: {message.format(here=tmp_path)}\n"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Leave only some kernels in the registry, with a check that finds one of them wrong; give the names that were checked."""
    import lltm_inline as li
    from lltm_inline.checking import check_many

    checked: list[str] = []

    class Report:
        def __init__(self, label: str) -> None:
            self.ok, self.label = label != "lltm/aten", label
            self.verdict = "right" if self.ok else "WRONG"

        def __str__(self) -> str:
            return f"report of {self.label}"

    def check(kernel: Kernel, device: str) -> Report:
        checked.append(f"{kernel.label} on {device}")
        return Report(kernel.label)

    kernels = [registry[name] for name in ("lltm/python", "lltm/aten", "axpy/cpp", "lltm/cuda_extern")]
    monkeypatch.setattr(li.registry, "_current", {kernel.name: kernel for kernel in kernels})
    monkeypatch.setattr(check_many, "check", check)
    return SimpleNamespace(checked=checked, check_many=check_many)


def test_check_all(few: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`check --all` checks every kernel that can run here, prints the reports of wrong ones, and ends with a table."""
    monkeypatch.setattr(few.check_many, "find_cuda", no_gpu)
    assert main(["check", "--all"]) == 1
    assert few.checked == [
        "lltm/python on cpu",
        "lltm/aten on cpu",
        "axpy/cpp on cpu",
        "lltm/cuda_extern on cuda-cpu",
    ]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "report of lltm/aten"
    words = [line.split() for line in lines[1:]]
    assert [line[:3] for line in words[:-1]] == [
        ["lltm/python", "cpu", "right"],
        ["lltm/aten", "cpu", "WRONG"],
        ["axpy/cpp", "cpu", "right"],
        ["lltm/cuda_extern", "cuda-cpu", "right"],
    ]
    assert lines[-1] == "4 kernels: 3 right, 1 WRONG"


def no_gpu(*, compile_only: bool) -> None:
    """Stand in for a machine without a GPU."""
    raise ToolchainError("no GPU")


def test_check_all_with_more_and_with_less(
    few: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a GPU the CUDA kernels run on it; one that does not compile is wrong; device cuda needs a GPU."""
    from lltm_inline.errors import BuildError

    monkeypatch.delitem(registry._current, "lltm/aten")
    monkeypatch.setattr(few.check_many, "find_cuda", lambda **_: None)
    assert main(["check", "--all"]) == 0
    assert few.checked[-1] == "lltm/cuda_extern on cuda"
    few.checked.clear()
    assert main(["check", "--all", "--device", "cuda"]) == 0
    assert few.checked == ["lltm/python on cuda", "lltm/cuda_extern on cuda"]
    capsys.readouterr()

    monkeypatch.setattr(few.check_many, "find_cuda", no_gpu)

    def check(kernel: Kernel, device: str) -> None:
        raise BuildError(f"expected ';' for {device}", kernel=kernel.label)

    monkeypatch.setattr(few.check_many, "check", check)
    assert main(["check", "--all"]) == 1
    printed = capsys.readouterr().out
    assert "expected ';' for cuda-cpu" in printed and printed.count("does not compile") == 3
    assert main(["check", "--all", "--device", "cuda"]) == 1
    assert capsys.readouterr().err == "lltm-inline: no GPU\n"


def test_failures_have_their_codes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that is wrong or does not build and a gap in the machine give 1, Ctrl-C 130; each has one message."""
    import lltm_inline as li
    from lltm_inline.errors import BuildError, CheckError, ToolchainError

    raised: list[BaseException] = [
        BuildError("it does not compile", kernel="lltm/fused"),
        CheckError("d_weights differs"),
        ToolchainError("no C++ compiler"),
        OSError("disk full"),
        KeyboardInterrupt(),
    ]
    for error, code in zip(raised, (1, 1, 1, 1, 130), strict=True):

        def fail(*_: object, error: BaseException = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(li, "benchmark", fail)
        assert main(["benchmark", "lltm/python"]) == code
        assert capsys.readouterr().err == f"lltm-inline: {str(error) or 'interrupted'}\n"


def test_benchmark_writes_its_files(tmp_path: Path) -> None:
    """`benchmark` prints the table and writes the timings as JSON and CSV, and the plot."""
    files = {kind: tmp_path / f"timings.{kind}" for kind in ("json", "csv", "png")}
    outputs = [f"--json={files['json']}", f"--csv={files['csv']}", f"--plot={files['png']}"]
    result = run("benchmark", "lltm/python", "--sizes", "2,3,5", "3,3,5", "--seconds", "0.05", *outputs)
    assert result.returncode == 0, result.stderr
    assert "lltm/python" in result.stdout
    rows = json.loads(files["json"].read_text())["rows"]
    assert [row["size"] for row in rows if row["direction"] == "forward"] == [
        {"B": 2, "F": 3, "S": 5},
        {"B": 3, "F": 3, "S": 5},
    ]
    assert len(files["csv"].read_text().splitlines()) == len(rows) + 1
    assert files["png"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("line", "arguments", "options"),
    [
        ("check axpy/cpp --device cuda-cpu", (registry["axpy/cpp"],), {"device": "cuda-cpu"}),
        (
            "benchmark axpy/python axpy/cpp --sizes 64 128 --seconds 0.5",
            ([registry["axpy/python"], registry["axpy/cpp"]],),
            {"sizes": [(64,), (128,)], "device": "cpu", "seconds": 0.5},
        ),
        (
            "memory axpy/cpp --sizes 64 --depth 2",
            ([registry["axpy/cpp"]],),
            {"sizes": [(64,)], "device": "cpu", "depth": 2},
        ),
        (
            "sweep axpy/cpp --params GRAIN=512,2048 A=0.5 --size 64 --seconds=1",
            ("axpy/cpp", {"GRAIN": [512, 2048], "A": [0.5]}, (64,)),
            {"direction": None, "device": "cpu", "seconds": 1.0},
        ),
        ("counts axpy/cuda", ([registry["axpy/cuda"]],), {"sizes": None}),
        (
            "trace axpy/cuda --line 14 --thread 1,0 --block all --sizes 8",
            (registry["axpy/cuda"], 14),
            {"thread": (1, 0), "block": None, "sizes": (8,), "direction": "forward"},
        ),
        ("asm axpy/cpp --hot", ("axpy/cpp", None), {"device": None, "remarks": False, "hot": True}),
        (
            "export axpy/cpp --to there --no-check",
            ("axpy/cpp", "there", "setuptools"),
            {"name": None, "extras": None, "device": None, "force": False, "header": "", "check": False},
        ),
    ],
)
def test_a_verb_is_the_same_in_command_and_magic(
    line: str, arguments: tuple[Any, ...], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both call the public function with the same arguments, by place or by name; a kernel is its label as well."""
    import lltm_inline as li
    from lltm_inline.notebook.verbs import perform

    calls: list[Any] = []
    name = {"asm": "assembly"}.get(line.split()[0], line.split()[0])
    function = getattr(li, name)

    def named(*given: Any, **more: Any) -> None:
        found = dict(inspect.signature(function).bind(*given, **more).arguments)
        found |= found.pop("options", {})
        found |= {key: resolve(found[key]) for key in ("kernel", "other") if found.get(key) is not None}
        found |= {key: list(map(resolve, found[key])) for key in ("kernels",) if key in found}
        calls.append(found)

    monkeypatch.setattr(li, name, named)
    assert main(line.split()) == 0
    perform(line, print)
    named(*arguments, **options)
    assert calls[0] == calls[1] == calls[2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sweep axpy/cpp", "%kernel sweep: it needs --params NAME=N,N ..."),
        ("sweep axpy/cpp --params A", "%kernel sweep: --params: 'A' is no param with its values; write GRAIN=512,2048"),
        ("memory axpy/cpp --depth two", "%kernel memory: --depth: 'two' is no whole number"),
        ("benchmark axpy/cpp --plot x.xls", "%kernel benchmark: --plot: 'x.xls' ends in none of .png, .svg, .pdf"),
        ("check", "the following arguments are required: OP/VARIANT, or --all in its place"),
        (
            "export axpy/cpp --to x --how cmaek",
            "--how 'cmaek', want one of setuptools, cmake, load, stable. Did you mean cmake?",
        ),
    ],
)
def test_mistakes_in_a_magic(line: str, message: str) -> None:
    """What the command refuses is refused behind `%kernel` too, in its own words."""
    from lltm_inline.errors import InputError
    from lltm_inline.notebook.verbs import perform

    with pytest.raises(InputError) as error:
        perform(line, print)
    assert message in str(error.value)


def test_doctor() -> None:
    """`doctor` is ready here, and prints no colour codes into a pipe."""
    result = run("doctor")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("Ready: ")
    assert "\x1b" not in result.stdout


def entry(cache: Path, key: str, size: int, age_s: float) -> None:
    """Put an entry of this size into a cache, last used so long ago."""
    import time

    folder = cache / "kernels" / key
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir()
    (folder / "library.so").write_bytes(bytes(size))
    (folder / "build.json").write_text(json.dumps({"ok": True, "kernel": f"lltm/{key}"}))
    os.utime(folder, (time.time() - age_s,) * 2)


def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`cache` shows the entries, prunes by age and by size, and clears; each says what it removed."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    for key, age in (("young", 60.0), ("older", 3 * 86400.0), ("oldest", 40 * 86400.0)):
        entry(cache, key, 2**20, age)

    def verb(*words: str) -> str:
        assert call("cache", *words) == 0
        return capsys.readouterr().out

    monkeypatch.setenv("LLTM_INLINE_CACHE", str(cache))
    assert verb("path") == f"{cache}\n"
    lines = verb("show").splitlines()
    assert [line.split()[-1] for line in lines[:3]] == ["lltm/young", "lltm/older", "lltm/oldest"]
    assert ["1 minute ago" in lines[0], "3 days ago" in lines[1], "40 days ago" in lines[2]] == [True] * 3
    assert lines[3] == f"3 entries, 3.0 MiB in {cache}"
    assert verb("prune", "--max-age-days", "30") == "removed 1 entry, 1.0 MiB; left 2 entries, 2.0 MiB\n"
    assert verb("prune", "--max-mib", "1.5") == "removed 1 entry, 1.0 MiB; left 1 entry, 1.0 MiB\n"
    assert "lltm/young" in verb("show")
    assert verb("clear") == "removed 1 entry, 1.0 MiB\n"
    assert verb("show") == f"0 entries, 0.0 MiB in {cache}\n"


def test_unusable_cache(tmp_path: Path) -> None:
    """A cache directory that cannot be made is a gap: exit code 1 and its message."""
    (tmp_path / "file").write_text("")
    message = refused(run("cache", "show", LLTM_INLINE_CACHE=str(tmp_path / "file" / "cache")), 1)
    assert message.startswith("lltm-inline: cannot use the cache directory ")


@pytest.mark.full
def test_reader_that_leaves_early() -> None:
    """`| head` ends the command quietly."""
    command = f"{sys.executable} -m lltm_inline show lltm/fused --rendered | head -c 2"
    result = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("//", "")
    assert result.returncode in (0, 141)


@pytest.mark.full
def test_terminal_gets_colours_and_no_color_is_honoured() -> None:
    """In a terminal a source is coloured, and with NO_COLOR it is not."""
    import pty

    def in_terminal(**environment: str) -> str:
        reader, writer = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "lltm_inline", "show", "axpy/cpp"],
            stdout=writer,
            env={**os.environ, "TERM": "xterm-256color", **environment},
        )
        os.close(writer)
        output = b""
        while True:
            try:
                piece = os.read(reader, 4096)
            except OSError:  # Linux says EIO where others say end of file
                break
            if not piece:
                break
            output += piece
        os.close(reader)
        assert process.wait() == 0
        return output.decode()

    cyan = "\x1b[96;"  # of directives
    assert cyan in in_terminal(NO_COLOR="")
    assert cyan not in in_terminal(NO_COLOR="1")


def test_complaint_at_a_terminal_sends_nobody_to_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Where no error is at hand, its log is not pointed to."""
    told = "kernel 'a/b' did not compile\n  1 line differs from a/c.  Full log: .log of this error, 2 lines"
    assert _complain(BuildError(told, kernel="a/b"), 1) == 1
    assert capsys.readouterr().err == "lltm-inline: kernel 'a/b' did not compile\n  1 line differs from a/c.\n"


@pytest.mark.full
def test_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`counts` prints what launches ask of the memory, and writes it where it is to go."""
    monkeypatch.setenv("CXX", QUICK)
    files = {kind: tmp_path / f"counts.{kind}" for kind in ("json", "csv", "png")}
    written = ("--json", str(files["json"]), "--csv", str(files["csv"]), "--plot", str(files["png"]))
    assert main(["counts", "axpy/cuda", "--sizes", "64", *written]) == 0
    assert "N=64, forward: global load" in capsys.readouterr().out and all(
        path.stat().st_size for path in files.values()
    )
    assert Counts.from_json(files["json"]).total("load", "accesses", direction="forward") == 128
    assert main(["counts", "axpy/cpp"]) == 2
    assert "has no cuda text" in capsys.readouterr().err
