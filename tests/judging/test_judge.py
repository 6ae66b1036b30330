"""Files as people write them come to the verdict that stands in their first lines, and each cheat is told from its right twin."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

import lltm_inline as li
from lltm_inline.__main__ import main
from lltm_inline.judging.trial import differing
from lltm_inline.judging.verdict import CHEATS, CODES, Verdict, sarif
from tests.judging.twins import TWINS

FILES = Path(__file__).with_name("files")
#: What `make test` tries; each of the others is built from a text of its own, or shows less.
FIRST = {"relu_new", "relu_typo", "relu_out_of_bounds", "relu_remembered", "vectoradd"}


def solutions() -> list[pytest.param]:
    """List the files with a verdict in their first lines, and the folders of tasks."""
    found = [
        path
        for path in sorted([*FILES.rglob("*"), *TWINS.iterdir()], key=lambda path: path.stem)
        if path.suffix in (".py", ".cu", ".ipynb") and "verdict: " in path.read_text()
    ]
    paths = [path.parent if path.stem == "submission" else path for path in found]
    marks = {True: (), False: (pytest.mark.full,)}
    return [pytest.param(path, id=path.stem, marks=marks[path.stem in FIRST]) for path in paths]


def expected(path: Path) -> dict[str, str]:
    """Read what a file says of itself."""
    file = next((one for one in (path / "submission.py", path / "submission.cu") if one.is_file()), path)
    text = file.read_text() if file.suffix != ".ipynb" else "".join(json.loads(file.read_text())["cells"][1]["source"])
    rows = [line.lstrip("/# ").partition(": ") for line in text.splitlines()[:6] if line[:1] in "/#"]
    return {"text": text} | {key: value for key, _, value in rows if value}


@pytest.mark.parametrize("path", solutions())
def test_a_file_comes_to_its_verdict(path: Path) -> None:
    """With its finding on its line, in JSON as the schema says, and in the same words again."""
    want = expected(path)
    verdict = li.judge(path, progress=False)
    assert verdict.word == want["verdict"], verdict
    assert verdict.code == CODES[verdict.word]
    assert want.get("says", "") in str(verdict)
    if "cheat" in want:
        assert want["cheat"] in verdict.to_dict()["cheats"], verdict
    else:
        assert not verdict.to_dict()["cheats"], verdict
    if want.get("line"):
        (line,) = [
            number for number, row in enumerate(want["text"].split("\n"), 1) if want["line"] in row and row[:1] != "#"
        ]
        assert verdict.findings[0].line == line, verdict
    fits_schema(json.loads(verdict.to_json()))
    assert Verdict.from_dict(json.loads(verdict.to_json())) == verdict
    if path.stem == "relu_crash":  # what was told before is not lost
        assert verdict.notes, verdict
    if path.stem in ("relu_new", "relu_out_of_bounds", "relu_remembered"):
        assert li.judge(path, progress=False) == verdict  # times do not count


def fits_schema(values: dict[str, object]) -> None:
    """Hold JSON against `verdict.schema.json`."""
    schema = json.loads((Path(li.__file__).parent / "judging" / "verdict.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(values)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(values | {"verdict": "perhaps"})


def test_every_cheat_has_a_file_that_does_it() -> None:
    """And each file has a right twin with the same kernel, `relu_new.py`; of streams `relu_stream_waits.py`."""
    assert {expected(one.values[0]).get("cheat") for one in solutions()} >= {*CHEATS}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "no ModelNew"),
        ("class ModelNew: pass\n", "no file beside it defines Model"),
        ("def custom_kernel(data): pass\n", "no reference.py beside it"),
        ("from torch.utils.cpp_extension import load_inline\nload_inline('x', '')\n", "no function 'reference'"),
    ],
)
def test_what_is_none_is_refused_with_what_it_lacks(text: str, said: str, tmp_path: Path) -> None:
    """Nothing of it is run."""
    (tmp_path / "it.py").write_text(text)
    verdict = li.judge(tmp_path / "it.py", progress=False)
    assert (verdict.word, verdict.code) == ("refused", 4)
    assert said in str(verdict)


#: Both models in one file, without a kernel: nothing is built.
BOTH = """
import torch
from torch import nn  # on cuda
class Model(nn.Module):
    def __init__(self, a, b=0):
        super().__init__()
        self.a = a - b
    def forward(self, x):
        return x * self.a
class ModelNew(Model):
    def forward(self, x):
        return x + x
n = 2 ** 10 * 4
def get_inputs():
    return [torch.rand(n, n).cuda()]
def get_init_inputs():
    return [[3], {"b": 1}]
"""


@pytest.mark.parametrize(
    ("old", "new", "word", "said"),
    [
        ("", "", "cheats", "n 4096 -> 128"),
        ("return x * self.a", "return x @ x[:1]", "refused", "the reference raises RuntimeError"),
        ("return x + x", "torch.cuda.CUDAGraph()", "refused", "needs a GPU"),
        ("return x + x", "raise ValueError('only 4096')", "refused", "it refuses these sizes: only 4096"),
    ],
)
def test_whose_fault_it_is(old: str, new: str, word: str, said: str, tmp_path: Path) -> None:
    """What the reference raises, and what nobody has here, is no fault of the solution; sizes may be written as sums."""
    (tmp_path / "it.py").write_text(BOTH.replace(old, new) if old else BOTH)
    verdict = li.judge(tmp_path / "it.py", progress=False)
    assert verdict.word == word, verdict
    assert said in str(verdict)


def test_a_file_that_is_no_python_has_its_line(tmp_path: Path) -> None:
    """It does not build."""
    (tmp_path / "it.py").write_text("x = 1\ndef f(:\n")
    verdict = li.judge(tmp_path / "it.py", progress=False)
    assert (verdict.code, verdict.findings[0].line) == (2, 2)


def test_no_python_of_a_file_runs_in_this_process(tmp_path: Path) -> None:
    """Nor does it end it, or leave anything here."""
    shutil.copy(FILES / "bench" / "relu.py", tmp_path / "relu.py")
    text = f"import os, sys\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nsys.exit(3)\nclass ModelNew: pass\n"
    (tmp_path / "relu_new.py").write_text(text)
    verdict = li.judge(tmp_path / "relu_new.py", progress=False)
    assert verdict.word == "crashed", verdict
    assert int((tmp_path / "pid").read_text()) != os.getpid()


def test_what_is_more_precise_than_the_reference_is_right() -> None:
    """And what is less precise is told so."""
    import torch

    x = torch.rand(1000) * 1e4
    wide = x.double().sum().reshape(1)
    plain = x.half().sum().reshape(1).float()
    assert not differing(wide.float(), wide, plain)
    assert "half precision" in differing(
        torch.tensor([1.002, 2.004]), torch.tensor([1.0, 2.0]).double(), torch.tensor([1.0, 2.0])
    )


def test_the_command_prints_json_and_sarif(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the exit code of the verdict; the finding stands on its line."""
    (tmp_path / "it.py").write_text("x = 1\ndef f(:\n")
    assert main(["judge", str(tmp_path / "it.py"), "--json", "--sarif", str(tmp_path / "it.sarif")]) == 2
    fits_schema(json.loads(capsys.readouterr().out))
    (result,) = json.loads((tmp_path / "it.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "does-not-build"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
    assert sarif([])["runs"][0]["results"] == []


def test_a_folder_is_judged_and_taken_up_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is the same is not judged again; the exit code is that of the worst."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("class ModelNew: pass\n")
    assert main(["judge", str(tmp_path), "--json"]) == 4
    rows = (tmp_path / "verdicts.jsonl").read_text().splitlines()
    assert len(rows) == len(capsys.readouterr().out.splitlines()) == 2
    (tmp_path / "verdicts.jsonl").write_text(rows[0] + "\n" + rows[1][:40])  # the machine went down
    (tmp_path / "a.py").write_text("class ModelNew: pass  # of another text\n")
    assert main(["judge", str(tmp_path), "--json", "--resume"]) == 4
    assert len((tmp_path / "verdicts.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("inputs", "word", "says"),
    [
        (["torch.randn(3, 4)", "2.0"], "right", "float factor"),
        (["(x[:3], 2)"], "right", "float factor"),  # by what the file names, and as a call has them
        (["torch.randn(3, 4)"], "refused", "inputs has 1 value, it takes 2"),
        (["torch.randn(3,"], "refused", "--inputs raises SyntaxError"),
    ],
)
def test_inputs_of_a_snippet_are_those_that_are_said(inputs: list[str], word: str, says: str) -> None:
    """And not those of the first call that it makes itself."""
    verdict = li.judge(FILES / "snippets" / "scaled.py", inputs=inputs, progress=False)
    assert verdict.word == word, verdict
    assert says in str(verdict) and "first call" not in str(verdict)


@pytest.mark.parametrize(("name", "maker"), [("bench/relu_new.py", "get_inputs"), ("bot/sums", "generate_input")])
def test_inputs_that_the_form_makes_are_refused(name: str, maker: str) -> None:
    """Where `--inputs` would not be read."""
    verdict = li.judge(FILES / name, inputs=["torch.randn(3)"], progress=False)
    assert verdict.word == "refused"
    assert f"{maker} says with what it is called" in str(verdict)


def test_inputs_of_a_folder_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """They would be those of one file."""
    assert main(["judge", str(FILES / "snippets"), "--inputs", "torch.randn(3)"]) == 2
    assert "belong to one file" in capsys.readouterr().err


@pytest.mark.full
def test_a_folder_is_judged_by_several_processes(tmp_path: Path) -> None:
    """As a class is graded; the verdicts are those of one."""
    for name in ("relu.py", "relu_new.py", "relu_decoy.py"):
        shutil.copy(TWINS / name, tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-m", "lltm_inline", "judge", tmp_path, "--jobs", "2", "--json"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert sorted(json.loads(line)["verdict"] for line in done.stdout.splitlines()) == ["cheats", "right"]


@pytest.mark.full
def test_cuda_source_is_held_against_a_named_reference() -> None:
    """By the check that every kernel has."""
    path = FILES / "sources" / "twice.cu"
    assert li.judge(path, reference="own.py:twice", inputs=["torch.randn(7, 5)"], progress=False).word == "right"
    wrong = li.judge(path, reference="own.py:thrice", inputs=["torch.randn(7, 5)"], progress=False)
    assert wrong.word == "wrong" and "out" in wrong.findings[0].text
    assert "--inputs" in str(li.judge(path, reference="own.py:twice", progress=False))
    assert "no quadruple in own.py" in str(li.judge(path, reference="own.py:quadruple", inputs=["1"], progress=False))
