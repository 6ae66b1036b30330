"""What a text may not say is found however it is spelled, and what a library may not call by whatever name it has."""

from __future__ import annotations

import pytest

from lltm_inline.lab.symbols import complaint_of_calls, complaint_of_text, hides_words

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
    "as lines of another file": ('int x;\n#line 4 "cmath"', "line 2: #line is closed"),
    "as lines of another file, too": ('/* */# 4 "cmath" 3', "line 1: #line is closed"),
    "an include behind a comment": ('/*\n*/#/**/include "/etc/passwd"', "line 2: it includes"),
    "an include over two lines": ('#inc\\\nlude "/etc/passwd"', "line 1: it includes"),
    "an include by another name": ('%:include_next "/etc/passwd"', "line 1: it includes"),
    "a question for a file": ('int x;\n#if __has_include ( "/etc/passwd")', "line 2: it includes"),
    "a question by another name": ("#define ASK __has_include", "line 1: it includes"),
    "a file that the text depends on": (
        'int x;\n_Pragma("GCC dependency \\"/etc/passwd\\"")',
        "line 2: it asks for a file",
    ),
    "an include by a macro": ("#define NAME <../x>\n#include NAME", "line 2: it includes"),
}
#: What only the preprocessor shows.
HIDDEN = (
    "#define PUT(a, b) a##b\nPUT(as, m);",
    "C10_CONCATENATE(as, m);",
    "%:define PUT(a, b) a%:%:b",
    "#define FIRST constructor\n__attribute__((FIRST)) void f();",
    "#define ATTRIBUTE __attribute__\nATTRIBUTE((constructor)) void f();",
    "\\u0061sm();",
)
PLAIN = (
    "#if __has_include(<format>)\n#include <format>\n#endif",
    "// the asm of it, by a constructor\nint x = 1'000, y = 0x1'f;",
    "#include <ATen/ATen.h>  // it's all\n#include \"c10/core/Scalar.h\" /* asm */\nchar x = '\"', y = '\\'';",
    "#define BLOCK 32\r\n#pragma omp simd\r\nint x = BLOCK;",
    '/* one\n   two */\n#if 0\nthat\'s\n#endif\nauto text = R"(\\")";',
)


@pytest.mark.parametrize(("text", "says"), SPELLED.values(), ids=SPELLED)
def test_however_it_is_spelled(text: str, says: str) -> None:
    """It is found, at its line."""
    assert complaint_of_text(text).startswith(says)


@pytest.mark.parametrize("text", HIDDEN)
def test_what_only_the_preprocessor_shows(text: str) -> None:
    """It is asked."""
    assert hides_words(text)


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_text(text: str) -> None:
    """Nothing is said of it, and no preprocessor runs."""
    assert (complaint_of_text(text), hides_words(text)) == ("", False)


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
    assert not any(complaint_of_calls([name], []) for name in COMPUTING.split())


def test_torchs_own_ways_to_files() -> None:
    """Libraries that torch brings along open files and start programs, too."""
    for name in ("uv_spawn", "uv_fs_open", "mz_zip_reader_init_file", "_ZN5torch3jit4loadE", "_ZN2at9from_fileE"):
        assert complaint_of_calls([name], []).endswith("torch's own loaders and allocators are closed in a lab")
