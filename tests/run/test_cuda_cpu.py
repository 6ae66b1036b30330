"""CUDA kernels on the CPU: right ones give the numbers of PyTorch in any order of threads, wrong ones are reported at their line."""

from __future__ import annotations

import functools
import itertools
import re
import subprocess
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.base.device import DEVICES
from lltm_inline.compiling import header
from lltm_inline.compiling.job import make_job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.cuda_cpu import narrow_indices, rewrite
from lltm_inline.errors import BuildError, CrashError, TemplateError
from lltm_inline.model.registry import Kernel, Op, registry
from lltm_inline.source.template import CUDA_PRELUDE, prelude_text, render
from tests.conftest import UCONTEXT, Watched
from tests.needs import need, needs
from tests.planted.together import Planted
from tests.planted.together import together as put_together
from tests.quick import QUICK
from tests.texts import bodies
from tests.tiny import forget

PLACE = Path(__file__).parents[1] / "planted" / "cuda"
#: A GPU has its own.
ORDER = "::cuda_cpu::thread_order = which / 1000;"
HEADERS = "#include <ATen/ATen.h>\n#include <torch/types.h>\n#include <cuda_runtime.h>\n#include <vector>\n"


#: A text of all costs a compiler little more than one of a few: half of its time goes to what stands around them.
EVERY = ("right", "teaching", "wrong")


def together(*kinds: str, names: Collection[str] = ()) -> tuple[list[Planted], str]:
    """Put texts of some kinds, or all, into one.

    `which` is the number of a text, and a thousand times the order in which its threads run.
    """
    paths = [path for kind in kinds for path in sorted((PLACE / kind).glob("*.cu"))]
    return put_together(paths, HEADERS, f"  {ORDER}\n", names)


@pytest.fixture(scope="module")
def op() -> Op:
    """An op that hands a tensor to one of many texts."""
    made = Op(
        "planted",
        "(Tensor x, int which) -> Tensor y",
        lambda x, which: x,
        {"x": "...", "y": "..."},
        inputs=lambda randn, N: (randn(N), 0),
        dtypes=("float32",),
    )
    registry.register(made)
    yield made
    forget("planted")


def loaded(text: str, *cflags: str, compiler: str | None = None) -> Callable[[torch.Tensor, int], torch.Tensor]:
    """Build a text in check mode."""
    kernel, flags = Kernel("planted/all", cuda=text), [*DEVICES["cuda-cpu"].check_flags, *cflags]
    function = li.load(kernel, device="cuda-cpu", compiler=compiler, cflags=flags, trust=True)
    return lambda x, which: function.forward(x, which)[0]


#: Kernels whose threads wait for each other in every way, and some that do not.
RIGHT_SOME = (
    *("warp_reduction", "conditional_barrier", "block_votes", "active_lanes", "cooperative_groups", "double_buffer"),
    *(
        "accessors_3d",
        "assumed_alignment",
        "struct_in_shared_memory",
        "file_scope_shared",
        "spin_lock",
        "returns_a_view",
        "same_flag",
        "halves",
    ),
)
WRONG_SOME = (
    *(
        "barrier_in_branch",
        "shuffle_in_branch",
        "endless",
        "warp_without_sync",
        "fence_missing",
        "registers",
    ),
    *("far_into_another_tensor", "member_of_a_struct", "race_through_memcpy", "atomic_on_empty", "never_written"),
    *("accessor_within_memory", "constants_do_not_fit", "failed_assertion", "cudamalloc_not_set"),
)
#: With other compilers, and with the library's own way from stack to stack: names of kernels, none for all, and flags.
OTHERWISE = [
    pytest.param(QUICK, False, (), id="clang++ some"),
    pytest.param(QUICK, True, (), id="clang++"),
    pytest.param(QUICK, False, (UCONTEXT,), id="ucontext"),
    pytest.param("g++-11", True, (), id="g++-11"),  # it does not tell of branches; Colab has it
]


@pytest.mark.full
def test_right_kernels(op: Op) -> None:
    """They raise nothing in check mode, and give what PyTorch gives, in three orders of their threads."""
    planted, text = together(*EVERY)
    require_numbers([one for one in planted if one.kind != "wrong"], loaded(text))


@pytest.mark.full
@pytest.mark.parametrize(("compiler", "is_all", "flags"), OTHERWISE)
def test_right_kernels_otherwise(op: Op, compiler: str | None, is_all: bool, flags: tuple[str, ...]) -> None:
    """The same with another compiler, and with another way to change stacks."""
    need(compiler or "g++")
    planted, text = together("right", names=() if is_all else RIGHT_SOME)
    require_numbers(planted, loaded(text, *flags, compiler=compiler))


@pytest.mark.full
def test_a_fence_is_linked_beside_a_header(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled apart, beside a precompiled header, has all that a text calls: the header is not thrown away."""
    monkeypatch.setattr(header, "discard", lambda *_: pytest.fail("the header was thrown away"))
    [one], text = together("right", names=("last_block",))
    assert "__threadfence();" in one.text
    require_numbers([one], loaded(text, compiler=QUICK))


def require_numbers(planted: list[Planted], run: Callable[[torch.Tensor, int], torch.Tensor]) -> None:
    """Fail for those that raise, or give other numbers than PyTorch."""
    wrong = {}
    assert planted
    for order, one in itertools.product(range(3), planted):
        x = one.x
        try:
            torch.testing.assert_close(
                run(x, 1000 * order + one.number), eval(one.said("y"), {"x": x, "torch": torch}), rtol=1e-4, atol=1e-4
            )
        except (RuntimeError, AssertionError) as error:
            wrong[f"{one.name} in order {order}"] = str(error)
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())


@pytest.mark.full
@pytest.mark.falls(*(path.stem for path in sorted((PLACE / "wrong").glob("*.cu"))))
def test_wrong_kernels(op: Op) -> None:
    """Each is reported for its own reason, at its own line, with its kernel, block and thread, and with advice."""
    planted, text = together(*EVERY)
    require_reports([one for one in planted if one.kind == "wrong"], loaded(text))


@pytest.mark.full
@pytest.mark.parametrize(("compiler", "is_all", "flags"), OTHERWISE)
def test_wrong_kernels_otherwise(op: Op, compiler: str | None, is_all: bool, flags: tuple[str, ...]) -> None:
    """The same with another compiler, and with another way to change stacks."""
    need(compiler or "g++")
    planted, text = together("wrong", names=() if is_all else WRONG_SOME)
    # clang++ does not look at the alignment of a struct that is copied whole; docs/guide.md says so.
    require_reports(planted, loaded(text, *flags, compiler=compiler), unseen="misaligned" if compiler == QUICK else "")


def test_wrong_kernels_in_short(op: Op) -> None:
    """One of each kind, compiled quickly."""
    names = (
        "barrier_in_branch",
        "far_into_another_tensor",
        "device_counter",
        "race_through_memcpy",
        "atomic_on_empty",
        "grid_rounded_down",
        "part_of_a_view",
        "constants_do_not_fit",
    )
    planted, text = together("wrong", names=names)
    require_reports(planted, loaded(text, compiler=QUICK))


NARROW = sorted((PLACE / "narrow").glob("*.cu"))


@pytest.mark.full
@pytest.mark.falls(*(path.stem for path in NARROW if not path.stem.startswith("right_")))
@pytest.mark.parametrize("compiler", [QUICK, "g++"])
def test_indices_of_32_bits(op: Op, compiler: str) -> None:
    """One that has to be beyond them in a large tensor is told at its line, with the size; no other one is, nor where the text looks."""
    need(compiler)
    planted, text = put_together(NARROW, HEADERS)
    kernel = Kernel("planted/all", cuda=text)
    function = li.load(kernel, device="cuda-cpu", compiler=compiler, cflags=DEVICES["cuda-cpu"].check_flags, trust=True)
    library = str(function.build.path) if function.build else ""
    for one in planted:
        for x in one.x:
            y = function.forward(x, one.number)[0]
            assert one.name == "right_rows" or torch.equal(y, x), one.name
    told, missed = narrow_indices(library, [text]), []
    for one in planted:
        own = [note for note in told if any(note.startswith(f"planted/all:{line}: ") for line in one.lines)]
        if one.said("note") != "none" and not any(re.search(one.said("note") + r"\Z", note) for note in own):
            missed.append((one.name, own))
        told = [note for note in told if note not in own]
    assert not missed and not told, (missed, told)
    for check in ("x.numel() <= INT_MAX", "at::native::canUse32BitIndexMath(x)", "x.numel() < 2147483648"):
        assert narrow_indices(library, [f"TORCH_CHECK({check});"]) == []


def require_reports(planted: list[Planted], run: Callable[[torch.Tensor, int], torch.Tensor], unseen: str = "") -> None:
    """Fail for those that are not reported as their texts say, but for one of which it is known."""
    missed = {}
    for one in planted:
        if one.name == unseen:
            continue
        try:
            run(one.x, one.number)
            said = "nothing"
        except RuntimeError as error:
            said = str(error)
        at = any(re.search(rf"(?:line |planted/all:){line}\b", said) for line in one.lines)
        of_a_thread = not re.search(r"impossible launch: |unwritten: | gives cudaError", said)
        names = r"Kernel .*, block \(\d+, \d+, \d+\), thread \(\d+, \d+, \d+\)" if of_a_thread else "[Kk]ernel "
        advice = r"\. (?!Kernel |Nobody )[A-Z_]"
        if not at or not all(re.search(pattern, said) for pattern in (one.said("report"), names, advice)):
            missed[one.name] = f"{said}; want {one.lines}"
    assert planted and not missed, "\n".join(f"{name}: {what}" for name, what in missed.items())


@pytest.mark.full
@needs("nvcc")
@pytest.mark.parametrize("kind", ["right", "teaching"])
def test_right_kernels_compile_for_a_gpu(op: Op, kind: str) -> None:
    """nvcc takes the same texts."""
    _, text = together(kind)
    text = text.replace(ORDER, "")
    li.build(Kernel("planted/all", cuda=text), device="cuda", compile_only=True)


@pytest.mark.gpu
@needs("a GPU")
@pytest.mark.parametrize("kind", ["right", "teaching"])
def test_right_kernels_on_a_gpu(op: Op, kind: str) -> None:
    """A GPU gives the numbers that PyTorch and `cuda-cpu` give, from the same texts."""
    planted, text = together(kind)
    text = text.replace(ORDER, "")
    on_gpu, on_cpu = (li.load(Kernel("planted/all", cuda=text), device=one, trust=True) for one in ("cuda", "cuda-cpu"))
    wrong = {}
    for which, one in enumerate(planted):
        y = on_gpu.forward(one.x.cuda(), which)[0].cpu()
        for other in (eval(one.said("y"), {"x": one.x, "torch": torch}), on_cpu.forward(one.x, which)[0]):
            if not torch.allclose(y, other, rtol=1e-4, atol=1e-4):
                wrong[one.name] = f"{y}, want {other}"
    assert not wrong, wrong


@pytest.mark.parametrize(
    ("compiler", "run"),
    [
        pytest.param("g++", (), id="here"),
        pytest.param("aarch64-linux-gnu-g++", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"), id="aarch64"),
    ],
)
def test_threads_change_places_without_torch(compiler: str, run: tuple[str, ...], tmp_path: Path) -> None:
    """A program that needs no library of torch runs on another processor, too, as far as an emulator is here."""
    need(compiler, *run[:1])
    text = rewrite((PLACE / "without_torch.cu").read_text(), "planted/free")
    (tmp_path / "main.cpp").write_text(prelude_text(CUDA_PRELUDE) + text)
    subprocess.run([compiler, "-O2", *header.torch_cflags(), "main.cpp", "-o", "main"], cwd=tmp_path, check=True)
    made = subprocess.run([*run, "./main"], cwd=tmp_path, capture_output=True, text=True)
    assert made.stdout == "all is well\n", made


KERNEL = "__global__ void k(float* x) { x[0] = 1; }\n"


#: What g++ would take, and what is said of it.
NVCC_REFUSES = [
    (
        KERNEL + "void f(float* x) { k(x); }",
        r"line 2: a kernel is launched, not called: k<<<blocks, threads>>>\(arguments\)",
    ),
    ("__global__ template <class T> void k(T* x) { *x = 1; }", "line 1: template <...> stands before __global__"),
    (
        "__global__ void k(int* x) {\n  __shared__ int s[2] = {0, 0};\n  *x = s[0];\n}",
        r"line 2: shared memory has no initial value: let threads write it, and __syncthreads\(\)",
    ),
    (
        "__global__ void k(int* x) {\n  __constant__ int s[2] = {0, 0};\n  *x = s[0];\n}",
        "line 2: a variable with __constant__ stands outside of all functions",
    ),
    (
        "#include <vector>\n__global__ void k(int* x) {\n  std::vector<int> v(2);\n  *x = v[0];\n}",
        "line 3: std::vector is of the host: the code of a kernel cannot use it",
    ),
    (
        "#include <ATen/Dispatch.h>\ntemplate <typename T>\n__global__ void k(T* x) {\n  extern __shared__ T s[];\n  *x = s[0];\n}\n"
        'void f(void* x) {\n  AT_DISPATCH_FLOATING_TYPES(at::kFloat, "f", [&] { k<<<1, 1, 8>>>((scalar_t*)x); });\n}',
        "line 4: s has another type for each T, and nvcc wants one for each name: declare extern __shared__ unsigned char memory",
    ),
]
#: The same names where nvcc takes them.
NVCC_TAKES = [
    "#include <vector>\n__global__ void add(int* x) { *x += 1; }\nvoid add(std::vector<int> v);\nvoid f(std::vector<int> v) { add(v); }",
    "__global__ void __launch_bounds__(64) k(int* x);\n__global__ void __launch_bounds__(64) k(int* x) { *x = 1; }\n"
    "struct D { D(int); };\nvoid f(int* x) { D k(3); }",
    "__host__ __device__ inline int f(int a) {\n#ifndef __CUDA_ARCH__\n  if (a < 0) throw 1;\n#endif\n  return a;\n}\n"
    "__constant__ int table[2] = {1, 2};\n__global__ void k(int* x) { __shared__ int s[2], t; t = s[0] = f(table[0]); *x = t; }",
]


@pytest.mark.parametrize("text", NVCC_TAKES)
def test_what_nvcc_takes_is_not_refused(text: str) -> None:
    """Functions of the host may have the name of a kernel, and variables; host code may use what is of the host."""
    assert rewrite(text, "op/mine")


@pytest.mark.full
@needs("nvcc")
@pytest.mark.parametrize(
    ("text", "refused"), [*((text, True) for text, _ in NVCC_REFUSES), *((text, False) for text in NVCC_TAKES)]
)
def test_nvcc_agrees(text: str, refused: bool, tmp_path: Path) -> None:
    """What is refused so is refused by nvcc, and what is taken is taken."""
    import torch.utils.cpp_extension as cpp

    (tmp_path / "k.cu").write_text(text)
    includes = [f"-I{path}" for path in cpp.include_paths()]
    made = subprocess.run(
        ["nvcc", "-ptx", "-std=c++20", *includes, "k.cu", "-o", "k.ptx"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (made.returncode != 0) == refused, made.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("void f() {}", "cuda line 1: no __global__ function"),
        ("#include <cublas_v2.h>\n" + KERNEL + "cublasHandle_t h;", "cuda line 3: device 'cuda-cpu' cannot run cuBLAS"),
        ("#include <cub/cub.cuh>\n" + KERNEL + "using namespace cub;", "cuda line 3: .* cannot run cub and thrust"),
        (
            KERNEL + "__device__ void f() { auto grid = cooperative_groups::this_grid(); }",
            r"line 2: device 'cuda-cpu' cannot run cooperative groups across blocks \(this_grid\)",
        ),
        (KERNEL + '__device__ void f() { asm("bar.sync 0;"); }', r"line 2: .* cannot run inline PTX \(asm\)"),
        (KERNEL + "__global__ void m(float* x) { k<<<1, 1>>>(x); }", r"line 2: .*\(dynamic parallelism\)"),
        (KERNEL + "__device__ float f(float v) { return __shfl_down(v, 1); }", "line 2: .* write __shfl_down_sync"),
        (
            KERNEL + "__device__ int f(int v) { return __popcc(v); }",
            "line 2: .* intrinsic __popcc. Did you mean '__popc'",
        ),
        (
            KERNEL + "void f(int* x) { cudaMallocPitch(&x, 4, 0); }",
            "line 2: .* does not know the call .* cudaMallocPitch",
        ),
        (KERNEL + "cudaArray_t array;", "line 2: .* does not know the name of CUDA's runtime cudaArray_t"),
        (
            KERNEL + "__device__ __nv_fp8_e4m3 v;",
            r"line 2: .* cannot run numbers of 8 bits and fewer \(__nv_fp8_e4m3\)",
        ),
        (
            KERNEL + "__device__ float f(cudaTextureObject_t t) { return 0; }",
            r"line 2: .* cannot run textures and surfaces \(cudaTextureObject_t\)",
        ),
        ("#include <mma.h>\n" + KERNEL, r"line 1: device 'cuda-cpu' cannot run tensor cores \(wmma\)"),
        (KERNEL + "__device__ cuFloatComplex v;", r"line 2: .* cannot run CUDA's complex numbers \(cuFloatComplex\)"),
        ("#include <cuComplex.h>\n" + KERNEL, "line 1: .* cannot run CUDA's complex numbers"),
        (KERNEL + "int r = (k<<<1, 1>>>(nullptr), 1);", "line 2: a launch stands in a function"),
        (KERNEL + "void f(float* x) { k<<<1, 1>>>; }", "line 2: a launch is written kernel"),
        *NVCC_REFUSES,
    ],
)
def test_refusals(text: str, message: str) -> None:
    """What cannot run on the CPU is refused by name and line, before anything is compiled."""
    with pytest.raises(TemplateError, match=message):
        rewrite(text, "op/mine")


def test_a_refusal_has_the_line_of_the_text(op: Op) -> None:
    """A text gets a directive before it before it is rewritten, which is no line of it."""
    with pytest.raises(TemplateError, match=r"'planted/all', cuda line 2: dynamic shared memory is written extern"):
        render(Kernel("planted/all", cuda="#include <vector>\nextern __shared__ float s;\n" + KERNEL), op, "cuda-cpu")


TEXTS = bodies(__file__, ".cu")
FORWARD = TEXTS["forward"]
LIGHT = "#include <ATen/core/Tensor.h>\n#include <ATen/ops/empty_like.h>\n\n\n"
COPY = "__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }\n"


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            COPY.replace("{ y", "{ __shared__ float s[25600]; s[0] = 1; y") + FORWARD,
            r"all:5:\d+: static assertion failed: the shared array s needs more than 48 KiB, which a block has: "
            r"take a smaller one, or dynamic shared memory\n",
        ),
        (
            COPY + FORWARD.replace("(), y.data_ptr<float>()", "()"),
            r"all:8: too few arguments .* 'k' takes 2 arguments, this call gives fewer",
        ),
        (
            COPY
            + "int early() {\n  k<<<1, 1>>>(nullptr, nullptr);\n  return 1;\n}\nconst int one = early();\n"
            + FORWARD,
            "kernel k is launched at planted/all:7, for the value of a static variable: .* Launch it from a function",
        ),
        (
            COPY + FORWARD.replace("<<<1, 32>>>", "<<<x.numel() - 32, 32>>>"),
            r"impossible launch: the x size of the grid is 0, and a GPU takes 1 to 2147483647\. Round the division up, and launch "
            r"nothing where there is nothing to do\. Kernel k, launched at planted/all:8\. Nobody has asked cudaGetLastError\(\) "
            r"when forward returns, and what the kernel should have done is missing\. Test what such a call returns",
        ),
        (
            COPY + FORWARD.replace("  return", "  cudaGetLastError();\n  cudaSetDevice(1);\n  return"),
            r"cudaSetDevice at planted/all:10 gives cudaErrorInvalidValue .* Nobody has asked",
        ),
    ],
)
def test_bad_input(op: Op, text: str, message: str) -> None:
    """What only the compiler or the loader sees is told at its line, too."""
    kernel = Kernel("planted/all", cuda=LIGHT + text)
    with pytest.raises((BuildError, RuntimeError), match=message):
        li.load(kernel, device="cuda-cpu", trust=True).forward(torch.ones(32), 0)


@pytest.mark.full
def test_shared_memory_of_the_file(op: Op) -> None:
    """Arrays that a function of the device names count for the block of each kernel, which may call it; before, that crashed."""
    text = """__shared__ float a[7000], b[7000];
__device__ float both(int i) { return (a[i] = 1) + (b[i] = 2); }
__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * both(threadIdx.x); }
"""
    with pytest.raises(
        RuntimeError,
        match=r"too much shared memory: with b the shared arrays of a block have 56000 bytes, and a block has 49152\. Take smaller "
        r"ones, or dynamic shared memory\. Kernel k, block \(0, 0, 0\), launched at planted/all:10",
    ):
        loaded(LIGHT + text + FORWARD, compiler=QUICK)(torch.ones(32), 0)
    fits = text.replace("7000], b[7000]", "7000], b[70]")
    assert torch.equal(loaded(LIGHT + fits + FORWARD, compiler=QUICK)(torch.ones(32), 0), torch.full((32,), 3.0))


DIES = TEXTS["dies"]


@pytest.mark.full
def test_a_crash_names_block_and_thread(op: Op) -> None:
    """Without a check, too: what kills the worker is told with kernel, block and thread, also where other threads run its blocks."""
    kernel, x = Kernel("planted/dies", cuda=LIGHT + DIES), torch.ones(2**14)
    run = functools.partial(li.call, kernel, x, device="cuda-cpu")
    assert torch.equal(run(0), x)
    line = 1 + next(i for i, row in enumerate(kernel.cuda.split("\n")) if row.endswith("// <-"))
    last = "kernel k, block (511, 0, 0), thread (5, 0, 0)"
    for which, what, detail in (
        (1, "SIGSEGV (segmentation fault)", f"which belongs to no tensor; {last}"),
        (2, "SIGFPE (integer division by zero)", last),
    ):
        with pytest.raises(CrashError) as caught:
            run(which)
        crash = caught.value.crash
        assert crash.what == what and crash.detail.endswith(detail) and crash.place == f"planted/dies:{line}", crash


def test_an_edit_costs_little() -> None:
    """All that stands before a text is in the precompiled header, ours too, and the compiler optimises no more than it must."""
    rendered = render(registry["lltm/cuda_accessor"], registry.ops["lltm"], "cuda-cpu")
    ahead = prelude_text(rendered.prelude)
    assert "__syncthreads" in ahead and ahead.rstrip("\n") in rendered.text
    assert rendered.text.count("void __syncthreads") == 1
    assert find_toolchain(device="cuda-cpu").cflags[0] == "-O1"


def test_an_edit_of_a_torch_free_text_compiles_that_text_alone() -> None:
    """It needs no header of ATen, and the other file is the same for all its revisions; a check has one file of both."""
    kernel = registry["lltm/cuda_extern"]
    edited = kernel.replace(cuda=kernel.cuda.replace("exp(-z)", "exp(-z) + T(0)"))
    rendered, other = (render(one, registry.ops["lltm"], "cuda-cpu") for one in (kernel, edited))
    assert other.text == rendered.text and other.cuda != rendered.cuda
    assert rendered.cuda.startswith(prelude_text(CUDA_PRELUDE)) and "ATen" not in rendered.cuda
    plain, again = (make_job(one, find_toolchain(device="cuda-cpu")) for one in (kernel, edited))
    assert plain.host is not None and again.host is not None
    assert plain.host.key == again.host.key and plain.key != again.key and plain.host.text == rendered.text
    checked = make_job(kernel, find_toolchain(cflags=DEVICES["cuda-cpu"].check_flags, device="cuda-cpu"))
    assert checked.host is None and rendered.cuda in checked.text and rendered.text in checked.text


@pytest.mark.parametrize(
    "fields",
    [
        {"cuda": "\n#include <c10/macros/Macros.h>"},
        {"cuda": "__device__ at::ArrayRef<int> a();"},
        {"cpp": "// TORCH_EXTENSION_NAME"},
        {"binding": "pybind11"},
    ],
    ids=["header", "name", "library", "binding"],
)
def test_texts_that_need_each_other_are_one_file(fields: dict[str, str]) -> None:
    """A CUDA text that names torch needs its headers; and what registers under the library's name is compiled with it."""
    kernel = registry["lltm/cuda_extern"]
    fields = {name: getattr(kernel, name) + text if name != "binding" else text for name, text in fields.items()}
    assert render(kernel.replace(**fields), registry.ops["lltm"], "cuda-cpu").cuda == ""


TORCH_FREE = {
    "cuda": """
template <class T> __global__ void k(const T* x, T* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x]; }
template <class T> void twice(const T* x, T* y, int n, cudaStream_t s) { k<<<1, 32, 0, s>>>(x, y, n); }
""",
    "cpp": TEXTS["torch_free"],
}


@pytest.mark.full
def test_revisions_of_a_torch_free_text_side_by_side(op: Op, watched: Watched) -> None:
    """The second compiles one file, and each is a library of its own; what the compiler says of either file is kept."""
    kernel, flags = Kernel("planted/free", **TORCH_FREE), ["-O0"]
    other = kernel.replace(cuda=TORCH_FREE["cuda"].replace("2 * x", "int(0.5) + 3 * x"))
    first, second = (li.load(one, device="cuda-cpu", cflags=flags, trust=True) for one in (kernel, other))
    x = torch.arange(5.0)
    assert torch.equal(first.forward(x, 0)[0], 2 * x) and torch.equal(second.forward(x, 0)[0], 3 * x)
    assert watched.compilations == 3 and first.build is not None and second.build is not None
    warned = [one.warnings[0] for one in (first.build, second.build)]
    assert [(one.file, one.line) for one in warned] == [("planted/free (cpp)", 6)] * 2
    with pytest.raises(BuildError, match=r"free.* \(cuda\):3:.*'y2' was not declared"):
        li.build(kernel.replace(cuda=TORCH_FREE["cuda"].replace("(x, y, n); }", "(x, y2, n); }")), device="cuda-cpu")


@pytest.mark.full
@needs("clang++")  # g++ does not look at it
def test_alignment_that_is_assumed(op: Op) -> None:
    """It is reported at the line that assumes it; where it is true, it costs nothing, and without optimisation neither."""
    planted, text = together("right", names=("assumed_alignment", "accessors_3d"))
    untrue = planted[1].text.replace("__builtin_assume_aligned(x, 16)", "__builtin_assume_aligned(x + 1, 16)")
    assert untrue != planted[1].text
    head = "at::Tensor forward"
    text = text.replace(head, f"namespace untrue {{\n{untrue}}}\n{head}").removesuffix("  return x;\n}\n")
    run = loaded(f"{text}  return untrue::run(x);\n}}\n", "-O0", compiler="clang++")
    require_numbers(planted, run)
    with pytest.raises(
        RuntimeError, match=r"misaligned: a pointer at line planted/all:\d+ is taken .* multiple of 16, and is not"
    ):
        run(planted[1].x, len(planted))


def test_lines_stay() -> None:
    """Every line is where it was, and comments and strings are left alone."""
    text = (PLACE / "right" / "template_commas.cu").read_text()
    made = rewrite(text, "op/mine")
    assert made.count("\n") == text.count("\n") + 1 and "<<<" not in made  # one at the end
    assert 'Launch("relu_times<scalar_t, 3>", __FILE__, __LINE__, dim3(' in made
    operators = (
        "struct V { int a; };\n__device__ bool operator==(V a, V b) { return a.a == b.a; }\n__global__ void k() {}"
    )
    assert rewrite(operators, "op/mine").startswith(f"{operators}\n")
    kept = '// k<<<1, 1>>>(x)\n__global__ void k() { printf("__shared__ float s[1]; <<<"); }'
    assert rewrite(kept, "op/mine").startswith(f"{kept}\n")


HALF = TEXTS["half"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "compiler"),
    [("axpy/cuda", QUICK), ("lltm/cuda", "g++"), ("lltm/cuda_accessor", QUICK), ("lltm/cuda_extern", "g++")],
)
def test_ops_run_as_they_are(name: str, compiler: str) -> None:
    """The CUDA kernels that ship are right on the CPU, their gradients included, from the text that nvcc takes."""
    report = li.check(name, device="cuda-cpu", compiler=compiler)
    assert report.ok and report.device == "cuda-cpu" and report["gradcheck"].cases


@pytest.mark.full
def test_what_nobody_looks_at_may_stay_unwritten() -> None:
    """What `forward` keeps for `backward` may hold nothing in part of it; an output may not."""
    made = Op("half", "(Tensor x) -> Tensor y", lambda x: torch.cat([x, torch.zeros_like(x)]), {"x": "N", "y": "2*N"})
    registry.register(made)
    try:
        kernel = Kernel("half/all", cuda=HALF, saves=("x",))
        how: dict[str, Any] = {"device": "cuda-cpu", "sizes": [(3,)], "trust": True, "compiler": QUICK}
        report = li.check(kernel, **how)
        assert report.ok, report
        report = li.check(kernel.edit("n = 2 * N", "n = N"), **how)
        assert not report.ok and "unwritten: 3 of the 6 elements of y have no value" in str(report)
    finally:
        forget("half")


@pytest.mark.full
def test_timings_say_where() -> None:
    """A timing on the CPU cannot be taken for one of a GPU."""
    timings = li.benchmark(["axpy/cuda"], sizes=[(1000,)], device="cuda-cpu", seconds=0.05)
    assert {row.device for row in timings.rows} == {"cuda-cpu"} and "cuda-cpu" in str(timings)


def test_a_check_names_the_line(op: Op) -> None:
    """A check is in check mode: what a GPU would let pass is a finding, with the line of the user's own text."""
    text = (PLACE / "wrong" / "no_guard.cu").read_text()
    text = f"{HEADERS}{text}at::Tensor forward(const at::Tensor& x, int64_t which) {{ return run(x); }}\n"
    report = li.check(Kernel("planted/guard", cuda=text), device="cuda-cpu", sizes=[(100,)], trust=True, compiler=QUICK)
    assert not report.ok and re.search(r"out of bounds: x\[100\], read at line planted/guard:10\b", str(report))
