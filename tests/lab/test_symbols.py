"""What a text may not say is found however it is spelled, and what a library may not call by whatever name it has."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from elftools.elf.elffile import ELFFile

from lltm_inline.lab.symbols import complaint_of_calls, complaint_of_code, complaint_of_text

_ASM = 'asm(".byte 0x90");'
#: Ways to have a reader of the text and a compiler see different things, each with the line and what is said of it.
SPELLED = {
    "between the marks of two numbers": (f"int x = 1'0;{_ASM}int y = 1'0;", "line 1: inline assembly"),
    "between two quotes in single quotes": (f"int x = '\\\"a';{_ASM}int y = '\\\"a';", "line 1: inline assembly"),
    "in no raw string": (f'#define FOR\nauto x = FOR"(";{_ASM}auto y = ")";', "line 2: inline assembly"),
    "behind a raw string": (f'auto x = R"y()")y";{_ASM}', "line 1: inline assembly"),
    "behind an apostrophe in no code": (f"#if 0\nit's\n#endif\n{_ASM}", "line 4: inline assembly"),
    "over two lines": ('a\\\nsm("");', "line 1: inline assembly"),
    "over two lines with blanks": ('a\\ \t\nsm("");', "line 1: inline assembly"),
    "in a macro behind a comment": (f"int x;\n/**/#/**/define Q {_ASM}", "line 2: inline assembly"),
    "in a macro behind two lines of comment": (f"# /*\n*/ define Q {_ASM}", "line 2: inline assembly"),
    "behind a carriage return": (f"int x;\n// \r{_ASM}", "line 2: it has the control character"),
    "in an attribute with much room": (
        f"[[{' ' * 200}gnu::constructor]] void f();",
        "line 1: a function that runs when",
    ),
    "as lines of another file": ('int x;\n#line 4 "cmath"', "line 2: a line that begins with #line"),
    "as lines of another file, too": ('/* */# 4 "cmath" 3', "line 1: a line that begins with #line"),
    "an include behind a comment": ('/*\n*/#/**/include "/etc/passwd"', "line 2: it includes"),
    "an include over two lines": ('#inc\\\nlude "/etc/passwd"', "line 1: it includes"),
    "an include by another name": ('%:include_next "/etc/passwd"', "line 1: it includes"),
    "a question for a file": ('int x;\n#if __has_include ( "/etc/passwd")', "line 2: it includes"),
    "a question by another name": ("#define ASK __has_include", "line 1: it includes"),
    "a file that the text depends on": (
        'int x;\n_Pragma("GCC dependency \\"/etc/passwd\\"")',
        "line 2: it includes",
    ),
    "as lines of another file, in a comment": ('int x; /*\n# 1 "cmath" 1\n*/', "line 2: a line that begins with #line"),
    "as lines of another file, behind a comment": ('/* */ %: /*\n*/ 4 R"(a)"', "line 2: a line that begins with #line"),
    "as lines of another file, by a macro": ('#define X "a" 1\n# 4 X', "line 2: a line that begins with #line"),
    "as lines of another file, by a slot": ('int x;\n$NONE#$ONE "a" 1', "line 2: a line that begins with #line"),
    # A raw string has its lines as they stand, the next has them as one.
    "as lines of another file, in a raw string": (
        'auto x = R"(\\\n# 1 "a" 1\n)";',
        "line 2: a line that begins with #line",
    ),
    "as lines of another file, over two lines": ('int x;\n#\\\n1 "a" 1', "line 2: a line that begins with #line"),
    "in an attribute by other brackets": ("<:<:gnu::constructor:>:> void f();", "line 1: a function that runs when"),
    "in an attribute with a blank": ("[ [gnu::constructor] ] void f();", "line 1: a function that runs when"),
    "in an attribute behind a statement": (
        "__attribute__((aligned(sizeof([] {; return 1; }())), constructor)) void f();",
        "line 1: a function that runs when",
    ),
    "in an attribute of a pragma": (
        "#pragma clang attribute push(__attribute__((constructor)), apply_to = function)",
        "line 1: a function that runs when",
    ),
    "a question for what a file holds": ('#if __has_embed("/etc/passwd")', "line 1: it includes"),
    "an include by a macro": ("#define NAME <../x>\n#include NAME", "line 2: it includes"),
}
PLAIN = (
    "#if __has_include(<format>)\n#include <format>\n#endif",
    "// the asm of it, by a constructor\nint x = 1'000, y = 0x1'f;",
    "#include <ATen/ATen.h>  // it's all\n#include \"c10/core/Scalar.h\" /* asm */\nchar x = '\"', y = '\\'';",
    "#define BLOCK 32\r\n#pragma omp simd\r\nint x = BLOCK;",
    "int f([[maybe_unused]] int section, int alias, int constructor = 0);",
    '/* 1. item #1\n * #2 is that\n */ TORCH_CHECK(x, "argument #1", "#2");',
    "std::vector<::at::Tensor> x; // [[ it's",
    '/* one\n   two */\n#if 0\nthat\'s\n#endif\nauto text = R"(\\")";',
)


@pytest.mark.parametrize(("text", "says"), SPELLED.values(), ids=SPELLED)
def test_however_it_is_spelled(text: str, says: str) -> None:
    """It is found, at its line."""
    assert complaint_of_text(text).startswith(says)


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_text(text: str) -> None:
    """Nothing is said of it."""
    assert complaint_of_text(text) == ""


def test_what_the_preprocessor_leaves() -> None:
    """Strings are none of it, in whatever form; what stands behind one is."""
    for text in ('auto x = R"y(asm)y", z = "asm", u = u8"\\"asm";', "char x = '\"'; int y = 1'0; char z = '\"';"):
        assert complaint_of_code(text) == ""
        assert complaint_of_code(f"{text} {_ASM}").startswith("line 1: inline assembly")
    assert complaint_of_code(f'#pragma it\'s R"(\n{_ASM}\n)"').startswith("line 2: inline assembly")


#: Functions that compute, all of which a library of torch exports.
COMPUTING = """
    sgemm sgemm_ SGEMM sgemm_64 sgemm_batch_64_ gemm_bf16bf16f32 cblas_sgemm daxpy_ saxpy_64 SAXPY cdotu_ dscal dsymm_ ztrsm_ dsyr2k
    dnrm2_ idamax_ vsTanh vmdExp VSTANH_ vdexp_64_ mkl_sgemm MKL_Somatcopy sgesvd_ dgetrf dpotrs_ LAPACKE_sgetrf dnnl_sgemm
    nnp_sgemm_only_4x24__fma3 _ZN6fbgemm12cblas_gemm_i8i8i32E _ZN2at6native7cpublas4gemmE _ZN2at6native8add_stubE
    _ZN5torch2nn10functional6linearE _ZN2at4_ops2mm4callE aoti_torch_cpu_mm_out
"""
#: What any kernel may call.
USUAL = """
    strlen strcmp tanhf expf cpowf csqrt sincos sqrt memcpy sysconf dgettext sprintf calloc GOMP_parallel omp_get_num_threads
    Sleef_tanhf8_u10 _ZN6caffe28TypeMeta26error_unsupported_typemetaES0_ _ZN2at8internal15invoke_parallelE _ZN2at4_ops5empty4callE
    _ZN2at3cpu5emptyE _ZNK2at10TensorBase14const_data_ptrIfEE _ZN5torch7Library4_defE aoti_torch_get_data_ptr
"""


def test_what_computes() -> None:
    """A library of numbers is refused by its name in every spelling where ATen is; what makes and looks at tensors is not."""
    assert [name for name in COMPUTING.split() if not complaint_of_calls([name], ["aten"])] == []
    assert [name for name in USUAL.split() if complaint_of_calls([name], ["aten"])] == []
    allowed = [name for name in COMPUTING.split() if not complaint_of_calls([name], [])]
    assert {
        "sgemm_",
        "cblas_sgemm",
        "LAPACKE_sgetrf",
        "dnnl_sgemm",
        "_ZN2at4_ops2mm4callE",
        "aoti_torch_cpu_mm_out",
    } <= set(allowed)


def test_what_nobody_knows() -> None:
    """What is on no list is refused by its name, with the cure."""
    want = "it calls 'dup2', which is no function that a kernel needs: take those of C++ and of torch"
    assert complaint_of_calls(["dup2"], []) == complaint_of_calls(["dup2"], ["aten"]) == want
    said = complaint_of_calls(["_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode"], [])
    assert said == "it calls 'std::ofstream': files are closed in a lab"
    assert "at::sum, and" in complaint_of_calls(["_ZN2at4_ops15sum_dim_IntList4callE"], ["aten"])
    assert complaint_of_calls(["dup2", "kill"], []) == "it calls 'kill': processes and signals are closed in a lab"
    for name in ("pause", "_ZN4dnnl6stream4waitEv", "vsTanh", "fgets", "_GLOBAL_OFFSET_TABLE_x"):
        assert "no function that a kernel needs" in complaint_of_calls([name], [])


#: What torch exports that passes where ATen is forbidden, by what it is in: read it, and ask of each whether it computes.
PASSING = r"""
    Sleef std __gnu_\w+ at::TensorBase at::TensorIterator\w* at::TensorGeometry at::TensorMaker at::OperandInfo at::SplitUntil32Bit
    at::Context at::internal at::CPUGeneratorImpl at::Generator at::SavedTensorDefaultHooks at::RecordFunction at::ThreadLocalState
    at::sequence_number at::functorch at::Tensor at::check\w+ at::assert_no_\w+ at::has_internal_overlap at::tensor at::print at::infer\w+
    at::geometry_is_contiguous at::[gs]et_num_(?:interop_)?threads at::get_overlap_status at::get_thread_num at::in_parallel_region
    at::init_num_threads at::intraop\w+ at::launch at::globalContext at::getCPUAllocator at::toAccumulateType at::maybe_data_ptr
    at::detail c10(?:::(?!Dispatcher|OperatorHandle)\w+)? caffe2::TypeMeta caffe2::detail torch::Library torch::CppFunction torch::detail
    torch::dynamo torch::autograd aoti_torch torch
"""
#: Operators of ATen among them, by the words of their names: those that make, copy, view, and say something of a tensor.
_MAKING = """
    empty zeros ones full like strided permuted new contiguous to copy clone detach alias view reshape expand as select slice narrow
    transpose t permute movedim swapaxes swapdims numpy T mT unsqueeze squeeze flatten unflatten ravel unbind split with sizes chunk cat
    unfold diagonal item local scalar dense cpu fill zero resize set size stride is record stream tensor requires grad retain version
    data output nr lift fresh type broadcast atleast 1d 2d 3d result unsafe scatter real complex inverse int padded device dtype layout
    other memory format from and symint out outf meta same feature intlist ints Tensor Scalar source Storage storage offset dim dims
    indices sections or using Sequence floating point neg conj inference leaf nonzero pinned signed distributed coalesced zerotensor
    vulkan available avx512 vnni supported tensors
"""


def test_of_what_torch_exports_nothing_computes() -> None:
    """Of all names of its libraries those that pass where ATen is forbidden are of the groups above, and few."""
    names = set[str]()
    for library in ("torch_cpu", "torch", "c10", "torch_python"):
        with Path(torch.__file__).with_name("lib").joinpath(f"lib{library}.so").open("rb") as file:
            symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
            names |= {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF" and symbol.name}
    passing = [name for name in names if not complaint_of_calls([name], ["aten"])]
    assert len(names) > 60_000 and len(passing) < 0.1 * len(names)
    groups = Counter(map(_group, passing))
    known = re.compile("|".join(f"(?:{one})" for one in PASSING.split()))
    assert [group for group in groups if not known.fullmatch(group) and not group.startswith("operator ")] == []
    words = {word for group in groups if group.startswith("operator ") for word in group[9:].split("_") if word}
    assert words - set(_MAKING.split()) == set()


def _group(name: str) -> str:
    """Say what a name of a library is in, or which operator of ATen it is; std, of one of the library of C++."""
    start = re.match(r"_Z(?:GV|T[A-Z])?(?:N[VKRO]*)?", name)
    if start is None:
        return name.partition("_")[0] if not name.startswith("aoti") else "aoti_torch"
    rest, parts = name[start.end() :], list[str]()
    if not rest[0].isdigit():
        return "std"
    while len(parts) < 3 and (length := re.match(r"\d+", rest)):
        parts.append(rest[length.end() : length.end() + int(length[0])])
        rest = rest[length.end() + int(length[0]) :]
    if parts[0] == "at" and len(parts) > 2 and re.match(r"_ops|cpu|meta|composite", parts[1]):
        return f"operator {parts[2]}"
    return "::".join(parts[: 1 if parts[0].startswith("__gnu_") else 2])


#: What honest texts take, one for a class; `test_no_false_alarm.py` has a text with many.
HONEST = """
    expm1 tanhf powl __pow_finite lgamma_r sincosf tgammaf128 erfcf cbrt fmaf j0 cexp csqrtf __isnanf nextafterf llround roundeven
    _ZGVdN4v_sin __muldc3 __divti3 __extendhfsf2 __truncsfbf2 __popcountdi2 __atomic_load_16 __emutls_get_address memcpy __memcpy_chk
    strlen wcslen strtod __isoc23_strtol atoi qsort rand drand48 malloc aligned_alloc posix_memalign printf __printf_chk puts stdout fputc
    snprintf getenv abort clock_gettime time localtime strftime nanosleep pthread_create pthread_mutex_lock sem_wait sched_yield
    __cxa_throw __gxx_personality_v0 _Unwind_Resume __dynamic_cast longjmp __tls_get_addr __assert_fail __stack_chk_fail GOMP_parallel
    GOMP_loop_ull_dynamic_next omp_get_thread_num __kmpc_fork_call Sleef_expf8_u10 Sleef_tanhd4_u10 _Znwm _ZdlPvSt11align_val_t _ZSt4cout
    _ZNSt6thread4joinEv _ZNSolsEi _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE
    _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_
    _ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm _ZNSt13random_device9_M_getvalEv _ZNSt18condition_variable10notify_allEv
    _ZNSt6chrono3_V212steady_clock3nowEv _ZTVN10__cxxabiv120__si_class_type_infoE _ZTISt13runtime_error
    _ZNSt3pmr25monotonic_buffer_resource18_M_release_buffersEv _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv _ZTIi
    _ZNK2at10TensorBase16mutable_data_ptrIN3c104HalfEEEPT_v _ZN2at18TensorIteratorBase8for_eachEN3c1012function_refIFvPPcPKlllEEEl
    _ZTVN2at18TensorIteratorBaseE _ZN2at20TensorIteratorConfig18add_borrowed_inputERKNS_10TensorBaseE _ZN2at15get_num_threadsEv
    _ZN2at8internal14set_thread_numEi _ZN2at4_ops10empty_like4callE _ZN2at4_ops11transpose_int4callE _ZN2at6detail9empty_cpuE
    _ZN3c106detail14torchCheckFailEPKcS2_jS2_ _ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
    _ZN3c1012promoteTypesENS_10ScalarTypeES0_ _ZN3c1019UndefinedTensorImpl10_singletonE _ZTHN3c104impl26raw_local_dispatch_key_setE
    _ZN3c10lsERSoNS_10DeviceE _ZN5torch7LibraryC1ENS0_4KindE _ZN5torch8autograd15AutogradContext17save_for_backwardE torch_library_impl
    torch_parallel_for aoti_torch_get_data_ptr
"""


def test_what_honest_texts_call() -> None:
    """Whatever the exercise forbids."""
    assert [
        name for name in HONEST.split() if complaint_of_calls([name], ["aten"]) or complaint_of_calls([name], [])
    ] == []


def test_torchs_own_ways_to_files() -> None:
    """Libraries that torch brings along open files and start programs, too."""
    for name in ("uv_spawn", "uv_fs_open", "mz_zip_reader_init_file", "_ZN5torch3jit4loadE", "_ZN2at9from_fileE"):
        assert complaint_of_calls([name], []).endswith("torch's own loaders and allocators are closed in a lab")
