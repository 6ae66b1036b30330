"""CUDA texts without a GPU: they are compiled, their errors are told in the user's own lines, and gaps are named first."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import cpp_extension

from lltm_inline.base.device import DEVICES
from lltm_inline.compiling import cache, compiler, inline, nvcc
from lltm_inline.compiling.compiler import build, make_job, run_jobs
from lltm_inline.compiling.job import compile_checks
from lltm_inline.compiling.nvcc import Nvcc
from lltm_inline.compiling.toolchain import Toolchain, find_toolchain
from lltm_inline.diagnosis.diagnostics import Diagnostic, parse
from lltm_inline.diagnosis.nvcc_log import in_words_of_gcc
from lltm_inline.errors import BuildError, DefinitionError, InputError, SignatureError, TemplateError, ToolchainError
from lltm_inline.model.registry import Kernel, registry
from lltm_inline.source.template import render
from tests.compiling.mistakes_cuda import CLASSIC, CUDA, MISTAKES, STUDENTS, Mistake
from tests.needs import need, needs
from tests.texts import bodies

TEXTS = bodies(__file__)
CPP = TEXTS["cpp"]


def kernel(cuda: str = CUDA, cpp: str = CPP, factor: float = 2, **fields: Any) -> Kernel:
    """Make a kernel of the op `tiny` with a CUDA text."""
    return Kernel("tiny/gpu", cpp=cpp, cuda=cuda, params={"FACTOR": factor}, **fields)


def compiled(text: Kernel, **options: Any) -> Any:
    """Compile-check a kernel."""
    return build(text, device="cuda", compile_only=True, progress=False, **options)


def with_nvcc(tools: nvcc.Nvcc, name: str | None = None) -> Toolchain:
    """Put an nvcc beside the C++ compiler, whether or not this machine has one."""
    return dataclasses.replace(find_toolchain(name), device=DEVICES["cuda"], nvcc=tools)


def entries(path: Path) -> list[str]:
    """List the kernels in a PTX file by their mangled names."""
    return re.findall(r"^\.visible \.entry (\w+)\(", path.read_text(), re.MULTILINE)


# What is compiled


@needs("nvcc")
@pytest.mark.parametrize(
    "name",
    [
        "lltm/cuda_extern",
        pytest.param("lltm/cuda_accessor", marks=pytest.mark.full),
        *(pytest.param(name, marks=pytest.mark.full) for name in ("lltm/cuda", "axpy/cuda")),
    ],
)
def test_shipped_kernels_compile_for_float_and_double(name: str) -> None:
    """Each shipped CUDA text compiles, and the PTX holds every kernel of it for float and for double."""
    found = compiled(registry[name])
    assert found.path.name == "kernel.ptx" and found.compiler.startswith("nvcc ") and "-arch=sm_75" in found.flags
    assert ".target sm_75" in found.path.read_text()
    for function in re.findall(r"__global__ void (\w+)\(", registry[name].cuda):
        here = [entry for entry in entries(found.path) if f"{len(function)}{function}I" in entry]
        types = {re.search(rf"{function}I([fd])E", entry) for entry in here}
        assert {match[1] for match in types if match} == {"f", "d"}, function


@pytest.mark.full
@needs("nvcc")
def test_an_edit_of_the_cuda_text_compiles_it_alone(tiny: Any, fresh_cache: Path, watched: Any) -> None:
    """The second text of a torch-free kernel is compiled by nvcc only; the first one is in the cache, and so are failures."""
    first = compiled(kernel())
    assert not first.cached and watched.compilations == 1
    again = compiled(kernel())
    assert again.cached and again.path == first.path and again.sha256 == first.sha256
    edited = compiled(kernel(cuda=CUDA.replace("x[i]", "x[n - 1 - i]")))
    assert not edited.cached and edited.digest != first.digest and watched.compilations == 1
    assert compiled(kernel(factor=3)).digest not in (first.digest, edited.digest)
    assert sorted(path.name for path in first.path.parent.iterdir()) == ["build.json", "cuda.cu", "kernel.ptx"]
    assert not list((fresh_cache / "tmp").iterdir())
    assert json.loads((first.path.parent / "build.json").read_text())["kernel"] == "tiny/gpu"
    assert str(first).startswith("tiny/gpu: built with nvcc ")


@needs("nvcc")
@pytest.mark.parametrize("flag", ["--resource-usage", pytest.param("-Xptxas=-v", marks=pytest.mark.full)])
def test_what_ptxas_says_of_each_kernel_is_kept(tiny: Any, flag: str) -> None:
    """Registers are told where they are asked for, of each kernel under the name that it has in the text; and nothing is without that."""
    text, told = kernel(), kernel(flags=(flag,))
    found, plain = compiled(told), compiled(text)
    assert entries(found.path) == entries(plain.path) and not plain.printed
    for dtype in ("float", "double"):
        name = rf"void times_kernel<{dtype}>\({dtype} const\*, {dtype}\*, (?:long|int64_t)\)"
        assert re.search(
            rf"Compiling entry function '{name}' for 'sm_75'\n(?:.*\n){{1,3}}.*Used \d+ registers", found.printed
        )
    assert "is not shown" not in found.log
    assert "All that the compiler printed" in str(found)
    again = compiled(told)
    assert again.cached and again.printed == found.printed


@needs("nvcc")
def test_an_option_that_ptxas_does_not_know(tiny: Any) -> None:
    """It is told, and not passed over."""
    with pytest.raises(BuildError, match=r"ptxas fatal *: Unknown option .-no-such-option."):
        compiled(kernel(flags=("-Xptxas=--no-such-option",)))


@pytest.mark.full
@needs("nvcc")
def test_failure_is_remembered(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CUDA text that does not compile is not tried again, and its error is the same."""
    broken = kernel(cuda=CUDA.replace("FACTOR *", "FACTORY *"))
    errors = []
    for _ in range(2):
        with pytest.raises(BuildError, match=r"(?s)did not compile \(nvcc \d+\.\d+ and g\+\+ .*'FACTORY'") as error:
            compiled(broken, compiler="g++")
        errors.append(error.value)
        monkeypatch.setattr(inline, "ptx_command", lambda *_: pytest.fail("compiled again"))
    assert errors[0].diagnostics == errors[1].diagnostics and str(errors[0]) == str(errors[1])
    assert errors[0].diagnostics[0].file == "tiny/gpu (cuda)" and errors[0].diagnostics[0].line == 3


@needs("nvcc")
def test_other_compiler_and_cache_path(tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc reads headers with the compiler that is asked for, and in a path that a shell would take apart."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "a b;(c)&"))
    monkeypatch.setenv("LLTM_INLINE_NO_HEADER", "1")
    need("clang++")
    tools = nvcc.find_cuda(compile_only=True)
    jobs = [compile_checks([make_job(kernel(), with_nvcc(tools, name))])[0] for name in ("clang++", "g++")]
    builds = run_jobs(jobs, progress=False)
    assert "clang++" in builds[0].compiler and builds[0].digest != builds[1].digest
    for found in builds:
        assert found.path.is_relative_to(tmp_path) and entries(found.path)


@needs("nvcc")
def test_digest_holds_what_nvcc_depends_on(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc, its flags, the architectures and the variables that nvcc reads each change the digest."""
    tools = nvcc.find_cuda(compile_only=True)

    def key(**changes: Any) -> str:
        return make_job(kernel(), with_nvcc(dataclasses.replace(tools, **changes))).key

    keys = {key(), key(identity="another"), key(flags=("-arch=sm_90",)), key(flags=(*tools.flags, "-use_fast_math"))}
    keys.add(make_job(kernel(flags=("-lineinfo",)), with_nvcc(tools)).key)
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-G")
    assert len({*keys, key()}) == 6


@pytest.mark.full
@needs("nvcc")
def test_architectures(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """TORCH_CUDA_ARCH_LIST decides, its oldest one for PTX; without it the oldest that there is; nonsense is refused."""
    flags = nvcc.find_cuda(compile_only=True).flags
    assert flags[-1] == "-arch=sm_75"
    for listed, flag in {"9.0;8.6+PTX": "-arch=sm_86", "9.0a": "-arch=sm_90a", "12.0 10.0": "-arch=sm_100"}.items():
        monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", listed)
        assert nvcc.find_cuda(compile_only=True).flags[-1] == flag
    assert ".target sm_100" in compiled(kernel()).path.read_text()
    assert nvcc.find_cuda(compile_only=True).with_flags(("-arch=sm_80",)).flags[-1] == "-arch=sm_80"
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "Foo")
    with pytest.raises(ToolchainError, match=r"^TORCH_CUDA_ARCH_LIST='Foo': Unknown CUDA arch.* Write numbers, as in"):
        compiled(kernel())
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "3.5")
    with pytest.raises(
        BuildError, match=r"(?s)nvcc: .*Unsupported gpu architecture 'sm_35'.*Change TORCH_CUDA_ARCH_LIST"
    ):
        compiled(kernel())


@pytest.mark.full
@needs("nvcc")
def test_headers_of_cuda_that_are_missing(tiny: Any) -> None:
    """What texts include for streams, guards and checks compiles also beside a torch without CUDA, by both names of a stream."""
    text = """
#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
__global__ void nothing() {}
at::Tensor forward(const at::Tensor& x) {
  const c10::cuda::CUDAGuard guard(x.device());
  nothing<<<1, 1, 0, at::cuda::getCurrentCUDAStream()>>>();
  nothing<<<1, 1, 0, c10::cuda::getCurrentCUDAStream()>>>();
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return x;
}
"""
    assert entries(compiled(Kernel("tiny/context", cuda=text)).path) == ["_Z7nothingv"]
    for name, header in nvcc.STAND_INS.items():
        assert "#include" not in header and len(header) < 200, name


# What is refused before anything is compiled


def without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take nvcc away."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))


def with_gpu(monkeypatch: pytest.MonkeyPatch, version: str = "13.0") -> None:
    """Pretend that torch is a CUDA build and finds a GPU."""
    monkeypatch.setattr(torch.version, "cuda", version)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)


def refusal(**options: Any) -> str:
    """Build for CUDA and return the message of the ToolchainError."""
    with pytest.raises(ToolchainError) as error:
        build(kernel(), device="cuda", progress=False, **options)
    return str(error.value)


def test_torch_without_cuda(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU build of torch is called that where a driver is, with the way to another one and the way to go on without."""
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(nvcc, "has_driver", lambda: True)
    message = refusal()
    assert message.startswith(
        f"torch {torch.__version__} is a CPU build: it cannot use a GPU. Install a CUDA build with: "
    )
    assert message.endswith(
        "-m pip install torch --force-reinstall. To run the kernel on the CPU: device='cuda-cpu'. To compile-check it without running it: "
        "li.build(kernel, device='cuda', compile_only=True)"
    )


def test_no_gpu_and_no_torch_for_one(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no driver is, that is what is said, and not to install gigabytes that would change nothing."""
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(nvcc, "has_driver", lambda: False)
    message = refusal()
    assert message.startswith(
        "no GPU was found on this machine: nvidia-smi, which comes with NVIDIA's driver, is not on"
    )
    assert "nstall a" not in message and message.endswith("li.build(kernel, device='cuda', compile_only=True)")


def test_no_gpu(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CUDA build of torch that finds no GPU says so, and whether the GPUs were hidden."""
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert refusal().startswith(
        f"torch {torch.__version__} finds no GPU. See whether the driver does: nvidia-smi. "
        "To run the kernel on the CPU: device='cuda-cpu'. To compile-check it"
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "finds no GPU (CUDA_VISIBLE_DEVICES='')." in refusal()


def test_no_nvcc(tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without nvcc it is said where it was looked for, also for a compile check, and doctor's cure is given."""
    compiler = shutil.which("g++") or "g++"
    without(monkeypatch, tmp_path)
    monkeypatch.setattr(nvcc, "install_command", lambda what: f"install {what}")
    want = f"no nvcc: looked in CUDA_HOME={tmp_path / 'cuda'}, on PATH. Install one with: install nvcc"
    assert refusal(compile_only=True, compiler=compiler) == want
    with_gpu(monkeypatch)
    assert refusal(compiler=compiler) == want
    monkeypatch.delenv("CUDA_HOME")
    monkeypatch.setattr(nvcc, "_DEFAULT_HOME", str(tmp_path / "default"))
    assert f"looked on PATH, in {tmp_path / 'default'}." in refusal(compiler=compiler)


@needs("nvcc")
def test_cuda_of_another_generation(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc and torch must agree in the first number of their CUDA."""
    with_gpu(monkeypatch, "11.8")
    found = nvcc.find_nvcc()
    assert refusal() == (
        f"nvcc is of CUDA {found.version} ({found.path}), torch was built with CUDA 11.8: the first numbers must agree. "
        "Set CUDA_HOME to an installation of CUDA 11"
    )


def test_nvcc_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken nvcc is named with what it answered."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "nvcc"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    with pytest.raises(ToolchainError, match=rf"^{script} does not run: .* exit status 3"):
        nvcc.find_nvcc()


@needs("nvcc")
def test_home_behind_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An nvcc on PATH that is a script or a link leads to the installation that it belongs to, which torch cannot tell."""
    real = nvcc.find_nvcc()
    script = tmp_path / "nvcc"
    script.write_text(f'#!/bin/sh\nexec {real.path} "$@"\n')
    script.chmod(0o755)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = nvcc.find_nvcc()
    assert (
        found.path == str(script) and found.home == real.home and Path(found.home, "include", "cuda_runtime.h").exists()
    )


def test_wrong_arguments_come_first(tiny: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is wrong with the kernel or the call is said before the machine is looked at."""
    without(monkeypatch, tmp_path)
    for name, device, message in (
        ("lltm/fused", "cuda", "kernel 'lltm/fused' has no cuda text: device 'cuda' needs one"),
        ("lltm/stable", "cuda", "kernel 'lltm/stable' is on the stable ABI: device 'cuda' needs api='aten'"),
        ("lltm/python", "cuda", "'lltm/python' is a Python function: there is nothing to build"),
        ("lltm/cuda", "cpu", "kernel 'lltm/cuda' has no cpp text: device 'cpu' needs one"),
        (
            "lltm/cuda_extern",
            "cpu",
            "its cpp text calls the launch functions of its cuda text, so it runs on 'cuda' and 'cuda-cpu' alone",
        ),
    ):
        with pytest.raises(DefinitionError, match=re.escape(message)):
            build(name, device=device, progress=False)
    pasted = Kernel("tiny/pasted", cpp=CPP, cuda="at::Tensor times_cuda(at::Tensor x) { return x; }")
    with pytest.raises(
        DefinitionError,
        match="its cuda text defines no 'forward', and its two texts make one CUDA kernel, so it runs on",
    ):
        build(pasted, device="cpu", progress=False)
    with pytest.raises(InputError, match="no device 'tpu'; want one of cpu, cuda, cuda-cpu"):
        build("lltm/cuda", device="tpu", progress=False)
    with pytest.raises(InputError, match="say device='cuda' too"):
        build("lltm/cuda", compile_only=True, progress=False)


@needs("nvcc")
def test_signature_of_a_cuda_text(tiny: Any) -> None:
    """`forward` and `backward` of both forms are held against the op, in the text in which they stand."""
    classic = "\n#include <ATen/core/Tensor.h>\nat::Tensor forward(const at::Tensor& x, int n) { return x; }\n"
    with pytest.raises(SignatureError, match=r"tiny/classic:3:12: 'forward' takes 2 arguments") as error:
        compiled(Kernel("tiny/classic", cuda=classic))
    assert error.value.diagnostics[0].excerpt
    with pytest.raises(SignatureError, match="no function 'forward' at file scope"):
        compiled(Kernel("tiny/classic", cuda="__global__ void k() {}"))
    with pytest.raises(SignatureError, match=r"tiny/gpu \(cpp\):1:1: no function 'forward' at file scope"):
        compiled(kernel(cpp=CPP.replace("forward", "front")))
    with pytest.raises(TemplateError, match="no launch function either"):
        compiled(kernel(cuda=CUDA.replace(", cudaStream_t stream", "")))


# What load_inline is given


@needs("nvcc")
def test_what_load_inline_gets(tiny: Any, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a GPU both texts go to `load_inline`, with nvcc's flags, our nvcc and its home; afterwards all is as before."""
    real = nvcc.find_nvcc()
    seen: dict[str, Any] = {}

    def load_inline(**arguments: Any) -> None:
        import os

        seen.update(
            arguments, home=cpp_extension.CUDA_HOME, **{n: os.environ.get(n) for n in ("CC", "CXX", "PYTORCH_NVCC")}
        )
        Path(arguments["build_directory"], f"{arguments['name']}.so").write_bytes(b"library")
        Path(arguments["build_directory"], "cuda.cuda.o").write_bytes(b"object")

    with_gpu(monkeypatch, real.version)
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    monkeypatch.setattr(cpp_extension, "load_inline", load_inline)
    real_run = compiler.run_jobs
    monkeypatch.setattr(compiler, "run_jobs", lambda jobs, progress: real_run(jobs[:1], progress))  # without the bridge
    before = cpp_extension.CUDA_HOME
    found = build(kernel(), device="cuda", progress=False)
    rendered = render(kernel(), registry.ops["tiny"], "cuda")
    assert (
        seen["cpp_sources"] == [rendered.text]
        and seen["cuda_sources"] == [rendered.cuda]
        and seen["no_implicit_headers"]
    )
    assert "-gencode=arch=compute_90,code=sm_90" in seen["extra_cuda_cflags"] and "-O3" in seen["extra_cuda_cflags"]
    assert "-Wl,-z,defs" in seen["extra_ldflags"] and "-O3" in seen["extra_cflags"]
    assert seen["home"] == real.home and seen["PYTORCH_NVCC"] == real.path and seen["CC"] == seen["CXX"]
    assert cpp_extension.CUDA_HOME is before
    assert [path.name for path in found.path.parent.iterdir() if path.suffix != ".json"] == ["library.so"]
    assert found.flags == tuple(seen["extra_cuda_cflags"]) and found.namespace == seen["name"]


PRETENDED = """
import sys, torch
torch.version.cuda, torch.cuda.is_available = sys.argv[1], lambda: True
import lltm_inline as li
from tests import tiny
from tests.compiling.test_nvcc import kernel
tiny.register()
tiny.without_bridge()
found = li.build(kernel(flags=("--resource-usage",)), device="cuda", progress=False)
torch.ops.load_library(str(found.path))
forward = getattr(torch.ops, found.namespace).forward.default
print(found.path.name, forward._schema, torch._C._dispatch_has_kernel_for_dispatch_key(forward.name(), "CUDA"))
try:
    forward(torch.ones(3))
except NotImplementedError as error:
    print("refused" if "'CPU' backend" in str(error) else error)
print(found.printed)
"""


@pytest.mark.full
@needs("nvcc")
def test_load_inline_for_real(tiny: Any, fresh_cache: Path, tmp_path: Path) -> None:
    """`load_inline` builds, links and loads both texts of a kernel, where torch is said to have CUDA, and CUDA tensors only fit.

    Of torch's CUDA libraries the generated functions need one symbol; stand-ins have it, where this torch has no such library.
    """
    home = Path(nvcc.find_nvcc().home)
    runtime = next((home / place for place in ("lib64", "lib") if (home / place / "libcudart.so").exists()), None)
    if runtime is None:
        pytest.skip(f"no CUDA runtime library in {home}")
    source = tmp_path / "shim.cpp"
    source.write_text('extern "C" int aoti_torch_get_current_cuda_stream(int, void**) { return 1; }\n')
    for name in ("torch_cuda", "c10_cuda"):
        subprocess.run(["g++", "-shared", "-fPIC", str(source), "-o", str(tmp_path / f"lib{name}.so")], check=True)
    paths = {
        "TORCH_CUDA_ARCH_LIST": "7.5;9.0+PTX",
        "LIBRARY_PATH": str(tmp_path),
        "LD_LIBRARY_PATH": f"{tmp_path}:{runtime}",
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", PRETENDED, nvcc.find_nvcc().version],
        capture_output=True,
        text=True,
        env={**os.environ, **paths},
    )
    assert done.returncode == 0, done.stderr
    first, second, *printed = done.stdout.splitlines()
    assert re.fullmatch(r"library\.so li_\w+::forward\(Tensor x\) -> Tensor True", first), first
    assert second == "refused"
    for gpu in ("sm_75", "sm_90"):
        assert any("'void times_kernel<float>(" in line and line.endswith(f"for '{gpu}'") for line in printed), printed
    assert any(re.search(r"Used \d+ registers", line) for line in printed)


# What nvcc says


@needs("nvcc")
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name.replace(" ", "-"))
def test_mistake_is_told_at_its_line(mistake: Mistake, tiny: Any) -> None:
    """What a beginner does wrong is told once, at the line and column in her own text, with the cure."""
    text = mistake.wrong
    with pytest.raises(BuildError) as error:
        compiled(kernel(cuda=text))
    first = error.value.diagnostics[0]
    offset = text.index(mistake.at)
    assert (first.file, first.line) == ("tiny/gpu (cuda)", text.count("\n", 0, offset) + 1), str(first)
    if mistake.name not in ("nothing returned", "two brackets for three"):
        where = text.split("\n")[first.line - 1][first.column - 1 :]
        assert first.column and (where.startswith(mistake.at.partition("\n")[0]) or mistake.old.endswith(";")), str(
            first
        )
    for word in mistake.words:
        assert word in str(first), str(first)
    same = [item for item in error.value.diagnostics if (item.line, item.message) == (first.line, first.message)]
    assert len(same) == 1, "float and double say it once"
    assert "tiny/gpu (cuda):" in str(error.value)


@pytest.mark.full
@needs("nvcc")
def test_mistake_on_the_other_side(tiny: Any) -> None:
    """A launch function that the cpp text misspells, or calls wrongly, is told there; one without a stream is explained."""
    with pytest.raises(BuildError, match=r"tiny/gpu \(cpp\):7:3: 'timess' was not declared.* Did you mean 'times'\?"):
        compiled(kernel(cpp=CPP.replace("times(x,", "timess(x,")), compiler="g++")
    with pytest.raises(BuildError, match=r"tiny/gpu \(cpp\):7:\d+: .*'times") as error:
        compiled(kernel(cpp=CPP.replace(", x.numel()", "")), compiler="g++")
    assert "const at::Tensor&" in error.value.log
    other = CUDA + "template <class T> void thrice(const T* x, T* y, int64_t n) {}\n"
    with pytest.raises(
        BuildError,
        match=r"'thrice' of the cuda text is no launch function: those end in a parameter of type cudaStream_t",
    ):
        compiled(kernel(cuda=other, cpp=CPP.replace("times(x,", "thrice(x,")), compiler="g++")


@needs("nvcc")
def test_params_and_slots_keep_the_lines(tiny: Any) -> None:
    """Params that expand and slots of several lines leave line and column where the user wrote them."""
    text = CUDA.replace("FACTOR * x", "FACTOR * $BODY + nowhere(FACTOR, x)")
    with pytest.raises(BuildError) as error:
        compiled(kernel(cuda=text, slots={"BODY": "(x\n + x)"}))
    first = error.value.diagnostics[0]
    assert first.line == 3 and "'nowhere'" in first.message


@pytest.mark.full
@needs("nvcc")
@pytest.mark.parametrize("mistake", STUDENTS, ids=lambda mistake: mistake.name.replace(" ", "-"))
def test_mistake_of_students_is_told_at_its_line(mistake: Mistake, tiny: Any) -> None:
    """What students ask about is told at its line, with the cure, in a launch inside a dispatch too."""
    text = Kernel("tiny/gpu", cuda=mistake.wrong) if mistake.text is CLASSIC else kernel(cuda=mistake.wrong)
    with pytest.raises(BuildError) as error:
        compiled(text)
    first = error.value.diagnostics[0]
    assert first.line == mistake.line and first.help, str(first)
    assert all(word in str(first) for word in mistake.words), str(first)


@pytest.mark.parametrize(
    ("edit", "said", "place", "words"),
    [
        (
            ("__global__ void", "void"),
            "a host function call cannot be configured",
            (17, 5),
            ("write __global__ in front of 'times_kernel', in line 8",),
        ),
        (("(n + 255)", "(m + 255)"), 'identifier "m" is undefined', (17, 21), ("'m'",)),
        (
            ("times_kernel<<<", "times_kernel<<"),
            'cannot determine which instance of function template "times_kernel" is intended',
            (17, 5),
            ("three brackets on each side",),
        ),
    ],
    ids=["no __global__", "unknown name", "two brackets"],
)
def test_launch_inside_a_dispatch(
    edit: tuple[str, str], said: str, place: tuple[int, int], words: tuple[str, ...]
) -> None:
    """What nvcc tells at the macro's line is put at the user's own line and column, and helped there."""
    text = CLASSIC.replace(*edit)
    call = re.search(r"  AT_DISPATCH.*?(\[&\].*?\})\);", text, re.DOTALL)
    assert call
    shown = "   " + " ".join(call[1].split())
    caret = shown.index("m + 255" if "identifier" in said else "times_kernel")
    log = f'op/cuda(16): error: {said}\n{shown}\n{" " * caret}^\n\n1 error detected in the compilation of "cuda.cu".\n'
    [found] = parsed(log, text)
    assert (found.line, found.column) == place
    assert all(word in str(found) for word in words)


def parsed(log: str, text: str) -> tuple[Diagnostic, ...]:
    """Parse a log of nvcc about one text."""
    return parse(log, label="op/cuda@1", sources={"op/cuda": text, "op/cuda (binding)": ""})


def test_columns_behind_macros() -> None:
    """nvcc shows a line with its macros expanded; the column is that of the same word in the user's own line."""
    shown = "  __attribute__((global)) void k(int n) { int m = (2 + n) * missing * (2 + n); }"
    caret = " " * shown.index("missing") + "^"
    log = f'op/cuda(1): error: identifier "missing" is undefined\n{shown}\n{caret}\n\n1 error detected in the compilation of "cuda.cu".\n'
    text = "__global__ void k(int n) { int m = SUM(n) * missing * SUM(n); }"
    [found] = parsed(log, text)
    assert found.column == text.index("missing") + 1
    [found] = parsed(log, "__global__ void k(int n) { int m = ALL(n); }")
    assert found.column == 0 and found.line == 1


def test_way_to_an_instantiation() -> None:
    """An error inside a header of torch is told at the user's line that led there."""
    log = (
        '/t/include/ATen/Some.h(30): error: class "int" has no member "x"\n    t.x\n      ^\n          detected during:\n'
        '            instantiation of "void at::some(T) [with T=int]" at line 40\n'
        '            instantiation of "void k<T>(T) [with T=int]" at line 2 of op/cuda\n\n'
    )
    [found] = parsed(log, "first\nk(1)")
    assert (found.file, found.line) == ("op/cuda", 2) and "the error itself is in ATen/Some.h:30" in found.notes


def test_torch_without_its_header() -> None:
    """A pasted text that says torch:: without its header gets the same help from nvcc as from g++."""
    log = (
        "op/cuda(1): error: this declaration has no storage class or type specifier\n"
        "  torch::Tensor forward(torch::Tensor x) { return x; }\n  ^\n\n"
    )
    [found] = parsed(log, "torch::Tensor forward(torch::Tensor x) { return x; }")
    assert found.message == "'torch' does not name a type" and "#include <torch/types.h>" in found.help


def test_warnings_of_nvcc_stay_in_the_log() -> None:
    """An unused variable is no diagnostic; a missing return, which nvcc only warns of, is one."""
    log = (
        'op/cuda(1): warning #177-D: variable "i" was declared but never referenced\n\n'
        'op/cuda(2): warning #940-D: missing return statement at end of non-void function "f"\n\n'
        'Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"\n'
    )
    [found] = parsed(log, "int i;\n}")
    assert found.severity == "warning" and found.line == 2


def test_other_logs_are_left_alone() -> None:
    """What g++ and clang++ print is not touched."""
    log = "lltm/fused:3:14: error: 'gate' was not declared\n  3 | f(2): error: x\n"
    assert in_words_of_gcc(log, {}) is log
    assert in_words_of_gcc("nvcc fatal   : Unsupported gpu architecture 'compute_35'", {}) == (
        "fatal error: nvcc: Unsupported gpu architecture 'compute_35'"
    )


def test_unsupported_host_compiler() -> None:
    """A host compiler that is too new for nvcc is the machine's fault, and the cure is another one."""
    log = "/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 15 are not supported!"
    [found] = parsed(log, "int i;")
    assert "compiler=" in found.help


def test_cache_of_the_result_is_checked(tiny: Any) -> None:
    """The files that jobs leave are named by what they are."""
    job = make_job(kernel(), with_nvcc(nvcc.Nvcc("/nvcc", "/", "13.0", "x", ("-O3",))))
    assert job.result == cache.LIBRARY and job.shown_flags == ("-O3",)
    assert dataclasses.replace(job, only="ptx").result == "kernel.ptx"
    assert len({job.key, dataclasses.replace(job, only="ptx").key, dataclasses.replace(job, only="object").key}) == 3


def test_a_standard_is_given_once() -> None:
    """nvcc refuses a second standard, as it does a second architecture: the kernel's own takes the place of ours."""
    ours = Nvcc("nvcc", "/", "13.0", "", ("-O3", "-std=c++20", "-arch=sm_75"))
    assert ours.with_flags(("-std=c++23",)).flags == ("-O3", "-arch=sm_75", "-std=c++23")
    assert ours.with_flags(("-arch=sm_90", "-DN=1")).flags == ("-O3", "-std=c++20", "-arch=sm_90", "-DN=1")
