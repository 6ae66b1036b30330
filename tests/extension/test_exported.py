"""An export comes back as the kernel that it was, or as a person has edited it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lltm_inline as li
from lltm_inline.compiling.job import make_job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import (
    DefinitionError,
    FileError,
    InputError,
    LltmInlineError,
    SignatureError,
    UnknownKernelError,
)
from lltm_inline.export.cpp import cpp_files
from lltm_inline.export.exported import origin_file
from lltm_inline.export.plan import HOWS, Extra, Part, Plan
from lltm_inline.model.kernel import revisions
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.source.template import devices_of, render
from tests.properties.malformed import ANYTHING, PROFILE, TEXTS, answer

_PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-3, 2**70), st.floats(), TEXTS)
JSON = st.one_of(
    _PLAIN,
    st.lists(_PLAIN, max_size=3),
    st.dictionaries(st.sampled_from(["cpp", "cuda", "x"]) | TEXTS, _PLAIN, max_size=3),
)
SHIPPED = [name for name, kernel in registry.items() if kernel.python is None]


@pytest.fixture(autouse=True)
def _registry_as_before() -> Iterator[None]:
    """Take out of the registry what a test has imported."""
    before, made = registry.snapshot(), {name: list(each) for name, each in revisions.items()}
    yield
    registry.restore(before)
    revisions.clear()
    revisions.update(made)


def exported(kernel: Kernel, directory: Path, how: str = "setuptools", device: str = "") -> Path:
    """Write what the way back reads of an export; nothing is built."""
    op = registry.op_of(kernel)
    devices = [one for one in devices_of(kernel) if one != "cuda-cpu" and device in ("", one)]
    parts = [Part(kernel, one, render(kernel, op, one).interface) for one in devices]
    style = "stable" if kernel.api == "stable" else "pybind11" if kernel.binding == "pybind11" else "library"
    extras = (Extra(None),) * parts[0].interface.extras
    sizes = tuple(op.named(size) for size in op.benchmark_sizes)
    plan = Plan(
        op,
        tuple(parts),
        how,
        style,
        f"{kernel.op}_exported",
        extras,
        "A licence.\n\nIts second line.",
        sizes,
        sizes,
        sizes[0],
    )
    for path, text in (cpp_files(plan) | origin_file(plan)).items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text(text)
    return directory


def only(kernels: tuple[Kernel, ...]) -> Kernel:
    """Return the one kernel that came back."""
    (kernel,) = kernels
    return kernel


def digest(kernel: Kernel) -> str:
    """Return the digest of a kernel's build."""
    return make_job(kernel, find_toolchain()).key


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_kernel(name: str, tmp_path: Path) -> None:
    """It comes back as the very kernel that it was; in a process that does not have it, with all its fields."""
    kernel = registry[name]
    exported(kernel, tmp_path)
    assert only(registry.import_extension(tmp_path)) is kernel
    for table in (registry._first, registry._current, revisions):
        table.pop(name, None)
    back = only(registry.import_extension(tmp_path))
    assert back == kernel and back.doc == kernel.doc and back.revision == 0 and registry[name] is back
    if "cpu" in devices_of(kernel):
        assert digest(back) == digest(kernel)


@pytest.mark.parametrize("how", HOWS)
def test_every_way_out(how: str, tmp_path: Path) -> None:
    """However it is built, an export comes back."""
    kernel = registry["lltm/stable"]
    assert only(registry.import_extension(exported(kernel, tmp_path, how))) is kernel


def test_an_edited_kernel_comes_back_as_its_revision(tmp_path: Path) -> None:
    """What was exported is a revision; it comes back as that one, and is the current one then."""
    kernel = registry["lltm/fused"].replace(params={"GRAIN": 4096})
    exported(kernel, tmp_path)
    back = only(registry.import_extension(tmp_path))
    assert back is kernel and registry["lltm/fused"] is kernel and digest(back) == digest(kernel)


def test_edited_files_come_back_as_the_next_revision(tmp_path: Path) -> None:
    """A line and a number that a person has changed in the files are in the kernel, with Windows line ends and a BOM or not."""
    kernel = registry["lltm/fused"]
    path = exported(kernel, tmp_path) / "csrc" / "cpu_kernel.cpp"
    text = path.read_text()
    edited = text.replace("#define GRAIN 2048", "#define GRAIN 512").replace(
        "// Columns first:last", "// Columns, first:last"
    )
    assert edited.count("\n") == text.count("\n") and edited != text
    path.write_bytes(b"\xef\xbb\xbf" + edited.replace("\n", "\r\n").encode())
    back = only(registry.import_extension(tmp_path))
    assert back.parent == "lltm/fused" and back.revision > 0 and registry["lltm/fused"] is back
    assert back.params == {**kernel.params, "GRAIN": 512}
    assert li.diff(kernel, back).kinds == ("params", "cpp") and li.diff(kernel, back).lines == 2
    assert only(registry.import_extension(tmp_path)) is back, "the same files again are no other revision"


def test_under_another_name(tmp_path: Path) -> None:
    """An export may come in as another variant."""
    exported(registry["lltm/fused"], tmp_path)
    back = only(registry.import_extension(tmp_path, variant="mine"))
    assert back.label == "lltm/mine" and back.cpp == registry["lltm/fused"].cpp
    with pytest.raises(DefinitionError, match=r"^kernel 'linear/fused' saves input, weights"):
        registry.import_extension(tmp_path, op="linear")
    exported(registry["axpy/cpp"], tmp_path / "axpy")
    with pytest.raises(SignatureError, match="'forward' takes 2 arguments, op 'lltm' has 5"):
        registry.import_extension(tmp_path / "axpy", op="lltm")
    assert "lltm/cpp" not in registry
    with pytest.raises(
        UnknownKernelError, match=r"^kernel 'lltn/fused': no op 'lltn'\. Did you mean 'lltm'\? Ops: lltm, "
    ):
        registry.import_extension(tmp_path, op="lltn")


def with_slots() -> Kernel:
    """Make a kernel whose text has slots, and dollar signs of its own."""
    text = "\nat::Tensor forward(const at::Tensor& x, const at::Tensor& y, double c) {\n  // $$5\n  return $WHAT;\n}\n"
    return Kernel("axpy/slots", cpp=text, slots={"WHAT": "x * c\n      + y"})


def test_slots_come_back(tmp_path: Path) -> None:
    """The file has the slots filled in; while it says that, the templates come back, and after an edit the text."""
    kernel = registry.register(with_slots())
    path = exported(kernel, tmp_path) / "csrc" / "cpu_kernel.cpp"
    assert "  // $5\n  return x * c\n      + y;\n" in path.read_text()
    assert only(registry.import_extension(tmp_path)) is kernel
    path.write_text(path.read_text().replace("x * c", "c * x"))
    back = only(registry.import_extension(tmp_path))
    assert back.slots == {} and "  // $$5\n  return c * x\n      + y;\n" in back.cpp and back.parent == "axpy/slots"


def test_a_kernel_of_two_devices(tmp_path: Path) -> None:
    """Both texts make one kernel again; so does one of them, where the kernel is known that it left."""
    cuda = registry["lltm/cuda"]
    kernel = registry.register(
        replace(registry["lltm/aten"], name="lltm/both", cuda=registry["lltm/aten"].cpp, params={"N": 2})
    )
    assert cuda.cuda != kernel.cuda and devices_of(kernel) == ("cpu", "cuda", "cuda-cpu")
    assert only(registry.import_extension(exported(kernel, tmp_path / "both"))) is kernel
    assert only(registry.import_extension(exported(kernel, tmp_path / "one", device="cpu"))) is kernel
    path = tmp_path / "both" / "csrc" / "cuda_kernel.cu"
    path.write_text(path.read_text().replace("#define N 2", "#define N 3"))
    with pytest.raises(
        DefinitionError, match=r"both': param N is 2 in the cpp text and 3 in the cuda text: a kernel has one value$"
    ):
        registry.import_extension(tmp_path / "both")
    assert registry["lltm/both"] is kernel


@pytest.fixture
def origin(tmp_path: Path) -> Callable[..., Path]:
    """Export a kernel, and change its kernel.json."""
    path = exported(registry["lltm/fused"], tmp_path) / "kernel.json"
    whole = json.loads(path.read_text())

    def change(**changes: Any) -> Path:
        entry = {key: value for key, value in {**whole["kernels"][0], **changes}.items() if value is not ...}
        path.write_text(json.dumps({**whole, "kernels": [entry]}))
        return tmp_path

    return change


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ...}, "kernel.json': a kernel without 'name'. Export the kernel again"),
        ({"files": {"cpp": "../../../etc/passwd"}}, "kernel.json': '../../../etc/passwd' is outside of the export"),
        ({"files": {"cpp": "/etc/passwd"}}, "kernel.json': '/etc/passwd' is outside of the export"),
        ({"files": {"rust": "a.rs"}}, "kernel.json': files['rust'] is 'a.rs', want cpp or cuda and a path"),
        ({"files": {"cpp": 3}}, "kernel.json': files['cpp'] is 3, want cpp or cuda and a path"),
        ({"files": {"cpp": "csrc/none.cpp"}}, "none.cpp': No such file or directory"),
        ({"files": {}}, "kernel 'lltm/fused' needs a source text"),
        ({"files": {"cpp": "kernel.json"}}, "kernel.json': no line '#include \"lltm_exported.h\"', with which the head of the file ends"),
        ({"saves": ["q"]}, "kernel 'lltm/fused' saves q; op 'lltm' has input"),
        ({"flags": ["-o"]}, "kernel 'lltm/fused': flag '-o'"),
        ({"api": "other"}, "api='other', want 'aten' or 'stable'"),
        ({"slots": {"A": "1"}, "templates": {"cpp": "$B"}}, "slot $B has no value"),
    ],
)  # fmt: skip
def test_a_kernel_json_that_was_changed(origin: Callable[..., Path], changes: dict[str, Any], message: str) -> None:
    """What does not fit is named, and nothing is registered."""
    before = dict(registry)
    with pytest.raises(LltmInlineError, match=re.escape(message)):
        registry.import_extension(origin(**changes))
    assert dict(registry) == before


def test_a_file_that_is_no_kernel_json(tmp_path: Path) -> None:
    """No JSON, another version, no kernels: each is said."""
    path = tmp_path / "kernel.json"
    for text, error, message in (
        ("{", InputError, r"kernel\.json' is not JSON: Expecting property name .*\. Export the kernel again$"),
        ("[" * 100_000, InputError, r"kernel\.json' is not JSON: .*recursion"),
        ("[]", InputError, r"kernel\.json': lltm_inline=None, want 1: another version wrote it$"),
        ('{"lltm_inline": 2}', InputError, r"kernel\.json': lltm_inline=2, want 1: another version wrote it$"),
        (
            '{"lltm_inline": 1, "name": "x"}',
            InputError,
            r"want a name and a list of kernels\. Export the kernel again$",
        ),
        ('{"lltm_inline": 1, "name": "x", "kernels": [3]}', InputError, r"a kernel without 'name'"),
        ("\xff", InputError, r"kernel\.json' line 1: byte 0xff at offset 0 is not UTF-8: save the file as UTF-8$"),
    ):
        path.write_bytes(text.encode("latin-1"))
        with pytest.raises(error, match=message):
            registry.import_extension(tmp_path)


def test_files_that_were_changed_too_far(tmp_path: Path) -> None:
    """A missing file, a missing head, a param that is no number: each with file and cure."""
    path = exported(registry["lltm/fused"], tmp_path) / "csrc" / "cpu_kernel.cpp"
    text = path.read_text()
    for changed, error, message in (
        (
            text.replace("#define GRAIN 2048", "#define GRAIN many"),
            DefinitionError,
            r"line \d+: '#define GRAIN many' is no param",
        ),
        (text.replace('#include "lltm_exported.h"\n', ""), DefinitionError, r"no line '#include \"lltm_exported\.h\"'"),
    ):
        path.write_text(changed)
        with pytest.raises(error, match=rf"cpu_kernel\.cpp'.*{message}"):
            registry.import_extension(tmp_path)
    path.unlink()
    with pytest.raises(FileError, match=r"cpu_kernel\.cpp': No such file or directory$"):
        registry.import_extension(tmp_path)


@PROFILE
@given(field=st.sampled_from(["directory", "op", "variant", "sources", "forward", "backward"]), value=ANYTHING)
def test_any_argument(field: str, value: Any) -> None:
    """Whatever one argument is, there are kernels or an error of ours."""
    given_ = {"directory": Path(__file__).parent / "classic" / "cpp", "op": "lltm", "variant": "any", field: value}
    assert isinstance(answer(lambda: registry.import_extension(**given_)), tuple | LltmInlineError)


ENTRY = {
    "name": "axpy/any", "label": "axpy/any", "device": "cpu", "files": {"cpp": "a.cpp"}, "binding": "torch_library", "api": "aten",
    "doc": "", "saves": [], "flags": [], "slots": {"x": "1"}, "templates": {"cpp": "$x"},
}  # fmt: skip


@PROFILE
@given(field=st.sampled_from([*ENTRY, "double_backward", "more"]), value=JSON)
def test_any_entry(tmp_path_factory: pytest.TempPathFactory, field: str, value: Any) -> None:
    """Whatever stands in kernel.json, there are kernels or an error of ours."""
    directory = tmp_path_factory.mktemp("export")
    (directory / "a.cpp").write_text('#include "x.h"\nint x;\n')
    (directory / "kernel.json").write_text(
        json.dumps({"lltm_inline": 1, "name": "x", "kernels": [{**ENTRY, field: value}]})
    )
    assert isinstance(answer(lambda: registry.import_extension(directory)), tuple | LltmInlineError)
