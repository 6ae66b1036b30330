"""What a text may not say, and what a library may not call: looked at ahead of its first instruction.

This is no lock. What gets past it runs behind the locks of `sandbox`, and reaches nothing there; but what is named here is
refused with its name. And it is what an exercise means by `forbid = ["aten"]`: tensors may be made, copied and looked at, and
nothing may be computed by a call of a library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..errors import InfraError
from ..source.signature import mask, uncommented

#: What a text may not say, with whether it is one only as an attribute.
_IN_CODE = (
    ("inline assembly", r"\b(?:asm|__asm|__asm__)\b", False),
    (
        "a function that runs when it is loaded, or that the loader chooses,",
        r"\b_*(?:constructor|destructor|ifunc|target_clones|section|alias|weakref|init_priority)_*(?=\s*[(),\]])",
        True,
    ),
)
_ATTRIBUTE = re.compile(r"__attribute__|\[\[|__declspec")
_HASH = r"^[ \t\f]*(?:#|%:)[ \t\f]*"
#: What names a file: as an include, or by asking for one.
_INCLUDE = re.compile(
    rf"{_HASH}(?:include|include_next|import|embed)\b[ \t\f]*(.*)|\b__has_include(?:_next)?\b\s*\(?([^)\n]*)",
    re.MULTILINE,
)
_EMBED = re.compile(
    rf"{_HASH}embed\b|\b__has_embed\b|\.incbin\b|ragma\b.*\b(?:dependency|pch_preprocess|include_alias)\b", re.MULTILINE
)
_DEFINE = re.compile(rf"{_HASH}define\b(.*)", re.MULTILINE)
#: What would have lines of the text pass for those of a file that nobody has to look at.
_LINE = re.compile(rf"{_HASH}(?:line\b|\d)", re.MULTILINE)
#: Where a compiler and a reader may see other lines: clang takes a carriage return alone for the end of one.
_CONTROL = re.compile(r"[^\t\n -~\x80-\U0010ffff]")
#: An include that names a header, of the compiler, of torch or of CUDA.
_PLAIN = re.compile(r"""(?:<(?P<a>[^<>\n]+)>|"(?P<b>[^"\n]+)")\s*(?://.*|/\*.*)?\Z""")
#: By which a word can be put together that nobody sees, or that a macro may stand for: wherever a closed word stands at all.
_HIDDEN = re.compile(
    r"##|%:%:|\\[uU]|\b\w*(?:CAT|PASTE|JOIN|GLUE)\w*\s*\(|\b_*(?:asm|(?:con|de)structor|ifunc|target_clones|section|alias|weakref|init_priority)_*\b"
)

#: Families of functions that no kernel needs, each as patterns of whole names in the table of symbols.
_FAMILIES = {
    "files are": r"f?open(at|dir)?(64|at2)? creat(64)? freopen(64)? fdopen un?link(at)? rename(at2?)? mkdir(at)? mkn?od\w* f?chmod f?chown "
    r"f?truncate(64)? tmpfile(64)? mkstemp\w* readdir\w* remove symlink\w* _ZNK?St10filesystem.* _ZNK?St13basic_f(ilebuf|stream).* "
    r"_ZNK?St14basic_[io]fstream.* _ZT[VT]St1[34]basic_[io]?f(ilebuf|stream).*",
    "processes and signals are": r"v?fork _Fork exec[vl]p?e? fexecve posix_spawnp? system popen clone3? kill(pg)? t[gk]kill raise waitpid "
    r"wait[34]? waitid signal sigaction bsd_signal sigqueue _?exit _Exit quick_exit ptrace process_vm_\w+ pidfd_\w+ daemon setsid",
    "the network is": r"socket(pair)? connect bind listen accept4? send(to|m?msg)? recv(from|m?msg)? getaddrinfo gethostby\w+",
    "the system by number, and its limits, are": r"syscall prctl arch_prctl setr?limit(64)? prlimit(64)? unshare setns u?mount2? chroot "
    r"pivot_root seccomp\w* bpf set(e|re|res)?[ug]id setpriority nice sched_set\w+ alarm setitimer timer_create ioctl",
    "the loader is": r"dlm?open dlv?sym dlclose dlinfo dladdr1? dl_iterate_phdr _dl_\w+ __libc_dl\w+ _r_debug _rtld_global\w*",
    "pages of memory are": r"mmap(64)? munmap mremap mprotect pkey_\w+ remap_file_pages shm(get|at|dt|ctl|_open|_unlink) memfd_\w+",
    "Python is": r"_?Py[A-Z_]\w*",
    "torch's own loaders and allocators are": r"_ZN5torch3jit.* _ZN2at9from_file.* _ZN2at4_ops9from_file.* _ZN3c10\d+Set\w*Allocator.* "
    r"uv_\w+ mz_\w+",
}
_CLOSED = tuple(
    (what, re.compile("|".join(f"(?:{one})" for one in names.split()))) for what, names in _FAMILIES.items()
)

#: Operators of ATen that make tensors, copy them, or look at them, and compute nothing.
_MOVING = re.compile(
    r"(?:new_)?(?:empty|zeros|ones|full)(?:_like|_strided|_quantized|_permuted)?|contiguous|to|_to_copy|copy|clone|detach|alias|"
    r"view(?:_as)?|reshape(?:_as)?|_unsafe_view|_reshape_alias|expand(?:_as)?|select|slice|narrow|transpose|t|permute|movedim|"
    r"unsqueeze|squeeze|flatten|unflatten|as_strided|unbind|split\w*|chunk|unfold|diagonal|item|_local_scalar_dense|fill|zero|"
    r"resize|set|size|stride|is_\w+|record_stream|scalar_tensor|requires_grad|retain_grad|_version|data|output_nr|lift\w*|cpu"
)
_OPERATOR = re.compile(r"_ZN2at(?:4_ops|3cpu|6native|4meta|\d+composite\w*?)(\d+)(\w+)")
_COMPUTING = (
    (
        "the dispatcher, by which any operator is called",
        r"_ZNK?3c1010Dispatcher.*|_ZNK?3c1014OperatorHandle.*|(aoti_)?torch_call_disp.*",
    ),
    (
        "an operator of ATen through its C interface",
        r"aoti_torch_(?:cpu|cuda|aten|mkl\w*|_?mm|_mm_plus_mm|bmm|addmm\w*|nonzero|repeat_\w+|scatter\w*|index_put\w*|view_as_real)\w*",
    ),
    (
        "a library that computes",
        # By their prefixes; BLAS and LAPACK by what their routines do, in each spelling: sgemm, SGEMM_64, dsyev_, vsTanh.
        r"(?i:(?:cblas|lapacke?|dnnl|fftwf?|nnp|xnn|pytorch_qnnp\w*|gemm)_\w+|mkl\w+|\w+_64_?)|vm?[sdcz](?:[A-Z]\w+|[a-z]\w+_)|VM?[SDCZ]\w+_|"
        r"(?i:i?[sdcz]{1,2}(?:amax|amin|asum|nrm2|axp?by|axpy\w?|scal|copy|swap|dot[cu]?i?|rotm?g?|gemm\w*|ge(?:mv|r[cu]?)|[sh][ybp]mv|gbmv|"
        r"[sh][yp]r2?k?|symm|hemm|t[rbp][ms][mv])(?:_\w*)?|[sdcz][a-z]{2}(?:trf|trs|tri|svx?|svd|sdd|ls|qrf|evd?|evr)_?)|"
        r"_ZN(?:4dnnl|5ideep|6fbgemm|7qnnpack).*",
    ),
    ("a module of torch", r"_ZNK?5torch(?:2nn|5optim).*"),
)


def complaint_of_text(text: str) -> str:
    """Say what a text holds that no exercise needs; nothing where it holds none of it.

    Example:
        >>> complaint_of_text('int x = 1; // asm("nop")'), complaint_of_text('void f() { asm("nop"); }')
        ('', 'line 1: inline assembly is closed in a lab: leave it out')
    """
    if len(text) > LONGEST:
        return f"the text has {len(text):,} letters, want at most {LONGEST:,}"
    text = text.replace("\r\n", "\n")
    if control := _CONTROL.search(text):
        return _told(text, control.start(), f"it has the control character {control[0]!r}: want a plain text")
    plain = _spelled(text)
    if line := _LINE.search(plain):
        return _told(plain, line.end(), "#line is closed in a lab: leave it out")
    for match in _INCLUDE.finditer(plain):
        said = (match[1] or match[2] or "").strip()
        name = _PLAIN.match(said)
        path = (name["a"] or name["b"]) if name else ""
        if not name or path.startswith("/") or ".." in path.split("/") or not re.fullmatch(r"[\w./+-]+", path):
            return _told(plain, match.end(), f"it includes {said[:60]!r}: want the plain name of a header, <cmath>")
    if embedded := _EMBED.search(plain):
        return _told(plain, embedded.end(), "it asks for a file, which is closed in a lab: leave it out")
    return complaint_of_code(plain)


#: Longer than any kernel, shorter than what keeps a reader busy.
LONGEST = 200_000


def complaint_of_code(text: str) -> str:
    """Say what a text holds beside its includes that no exercise needs; nothing where it holds none of it."""
    # The bodies of macros are looked at, too: to `mask`, their lines are no code.
    for code in (mask(text), "\n".join(_DEFINE.findall(text))):
        for what, pattern, attribute in _IN_CODE:
            for match in re.finditer(pattern, code):
                ahead = max(code.rfind(mark, 0, match.start()) for mark in ";{}")
                if not attribute or _ATTRIBUTE.search(code, max(0, ahead), match.start()):
                    place = match.start() if len(code) == len(text) else text.find(match[0])
                    return _told(text, place, f"{what} is closed in a lab: leave it out")
    return ""


def _spelled(text: str) -> str:
    """Put a text as the preprocessor takes it apart: lines that go on are joined, comments are blanks."""
    return uncommented(re.sub(r"\\[ \t]*\n", "", text))


def _told(text: str, place: int, what: str) -> str:
    ahead = text[: max(place, 0)]
    return f"line {ahead.count(chr(10)) + ahead.count(chr(12)) + 1}: {what}"


def hides_words(text: str) -> bool:
    """Tell whether only the preprocessor shows what a text says: it puts words together, or names one that is closed.

    Example:
        >>> hides_words("int x;  // asm"), hides_words("#define PUT(a, b) a##b"), hides_words("#define A constructor")
        (False, True, True)
    """
    return _HIDDEN.search(_spelled(text)) is not None


def complaint_of_library(path: Path, forbid: Sequence[str]) -> str:
    """Say what a library calls that it must not, by name; nothing where all is allowed.

    Args:
        path: of the library.
        forbid: `aten`, or names of symbols.

    Raises:
        InfraError: there is no package that reads libraries.
    """
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError as error:
        raise InfraError("labs read libraries with pyelftools: pip install 'lltm-inline[lab]'") from error
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            dynamic: Any = next(segment for segment in elf.iter_segments() if segment["p_type"] == "PT_DYNAMIC")
            kinds = {tag.entry.d_tag for tag in dynamic.iter_tags()}
            symbols = list(dynamic.iter_symbols())
            chosen = any(symbol["st_info"]["type"] in ("STT_GNU_IFUNC", "STT_LOOS") for symbol in symbols)
            executable = any(s["p_type"] == "PT_GNU_STACK" and s["p_flags"] & 1 for s in elf.iter_segments())
            imported = sorted({symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name})
    except (
        ELFError,
        StopIteration,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        UnicodeError,
    ) as error:
        return f"its library cannot be read ({type(error).__name__})"
    if chosen:
        return (
            "it has a function that the loader chooses (ifunc, target_clones), which is closed in a lab: leave it out"
        )
    if executable or kinds & {"DT_RPATH", "DT_RUNPATH", "DT_AUDIT", "DT_DEPAUDIT", "DT_TEXTREL"}:
        return "its library asks for what no kernel needs: a stack that can be executed, or paths of its own"
    return complaint_of_calls(imported, forbid)


def complaint_of_calls(names: Iterable[str], forbid: Sequence[str]) -> str:
    """Say which of the functions that a library calls are closed to it.

    Example:
        >>> complaint_of_calls(["tanh", "fork"], [])
        "it calls 'fork': processes and signals are closed in a lab"
        >>> complaint_of_calls(["_ZN2at4_ops10mul_Tensor4callERKNS_6TensorES4_"], ["aten"])
        'it calls at::mul_Tensor, and this exercise is to be written without ATen'
    """
    for name in names:
        for what, closed in _CLOSED:
            if closed.fullmatch(name):
                return f"it calls {_plain_name(name)!r}: {what} closed in a lab"
        if name in forbid:
            return f"it calls {name!r}, which this exercise forbids"
        if "aten" in forbid:
            operator = _operator_of(name)
            if operator and not re.fullmatch(rf"_?(?:{_MOVING.pattern})_?(?:_[a-zA-Z]\w*)?", operator):
                return f"it calls at::{operator}, and this exercise is to be written without ATen"
            for what, pattern in _COMPUTING:
                if re.fullmatch(pattern, name):
                    return f"it calls {_plain_name(name)!r}, {what}, and this exercise is to be written without ATen"
    return ""


def _operator_of(name: str) -> str:
    """Return the name of an operator of ATen in a mangled one; nothing of any other.

    >>> _operator_of("_ZN2at4_ops19empty_memory_format4callEN3c108ArrayRefE"), _operator_of("tanh")
    ('empty_memory_format', '')
    """
    match = _OPERATOR.match(name)
    return match[2][: int(match[1])] if match else ""


def _plain_name(name: str) -> str:
    """Shorten a mangled name to what it says: the names in it."""
    if not name.startswith("_Z"):
        return name
    parts, rest = list[str](), name
    while (match := re.search(r"(\d+)([A-Za-z_]\w*)", rest)) and len(parts) < 3:
        length = int(match[1])
        parts.append(match[2][:length])
        rest = match[2][length:]
    return "::".join(parts) or name
