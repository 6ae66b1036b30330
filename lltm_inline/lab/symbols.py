"""What a text may not say, and what a library may not call: looked at before its first instruction.

This is no lock. What gets past it runs behind the locks of `sandbox`, and reaches nothing there; but what is named here is
refused with its name. And it is what an exercise means by `forbid = ["aten"]`: tensors may be made, copied and looked at, and
nothing may be computed by a call of a library.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from ..base.packages import pip_command
from ..cpp.masks import uncommented
from ..diagnosis.compiler_log import demangle
from ..errors import InfraError

#: What the assembler is handed as it stands, and, of attributes, what has a function run before a call.
_ASSEMBLY = re.compile(r"\b(?:asm|__asm|__asm__)\b")
_ATTRIBUTE = re.compile(
    r"(?P<opens>\[(?=\s*\[)|\b__attribute(?:__)?\s*\(|\b__declspec\s*\()|(?P<nested>[({\[])|(?P<ends>[)}\]])|"
    r"\b_*(?:constructor|destructor|ifunc|target_clones|section|alias|weakref|symver|init_priority)_*\b"
)
#: What is not code, of a text without comments; a name and a number are whole, and a pragma is a line.
_LITERAL = re.compile(
    r"""^[ \t]*\#[ \t]*pragma\b.*|(?P<no>^[ \t]*\#[ \t]*include\b.*|\b(?:u8|[uUL])?R"(?P<tag>[^\s()\\]{0,16})\((?s:.*?)\)(?P=tag)")|"""
    r"""\.?\d(?:'?\w|(?<=[eEpP])[+-]|\.)*|\w+|(?P<text>"(?>(?:\\.|[^"\\\n])*)"?|'(?>(?:\\.|[^'\\\n])*)'?)""",
    re.MULTILINE,
)
#: What names a file: as an include, or by asking for one.
_INCLUDE = re.compile(
    r"^[ \t\f]*(?:#|%:)[ \t\f]*(?:include|include_next|import|embed)\b[ \t\f]*(.*)|\b__has_(?:include(?:_next)?|embed)\b\s*\(?([^)\n]*)",
    re.MULTILINE,
)
_PRAGMA = re.compile(r"\b(?:dependency|pch_preprocess|include_alias)\b")
#: What would have lines of the text pass for those of a header, wherever it stands: no reader has to know what is a comment, or a
#: string, as compilers do. A slot may stand for a blank or a number.
_ROOM = r"(?>[ \t\f\v]|/\*(?>(?s:.*?)\*/))*+"
_AT_START = rf"(?:^|\*/|\$\{{?\w+\}}?){_ROOM}(?:#|%:){_ROOM}"
_LINE = re.compile(rf"{_AT_START}(?:line\b|[\d$])", re.MULTILINE)
#: What sets a macro that is no number, and what has a header read behind it: wherever they stand, too.
_NUMBER = rf"{_ROOM}\w+(?![\w(])(?:{_ROOM}(?:\d[\w.']*+|[-+*()<>]))*+{_ROOM}(?://.*)?$"
_MACRO = re.compile(rf"{_AT_START}(?:define\b(?!{_NUMBER})|undef\b)|\b(?:push|pop)_macro\b", re.MULTILINE)
_HEADER = re.compile(rf"{_AT_START}(?:include|import)", re.MULTILINE)
#: Where a compiler and a reader may see other lines: clang takes a carriage return alone for the end of one.
_CONTROL = re.compile(r"[^\t\n -~\x80-\U0010ffff]")
#: An include that names a header, of the compiler, of torch or of CUDA.
_PLAIN = re.compile(r"""(?:<(?P<a>[\w./+-]+)>|"(?P<b>[\w./+-]+)")\s*(?://.*|/\*.*)?\Z""")

#: What a CUDA text may not say once it is preprocessed: names of what checks and counts it, and what keeps that from looking.
_OF_CHECKS = re.compile(
    r"(?P<name>\w*(?:(?i:cuda_cpu)|__(?:tsan|sanitizer|ubsan|asan|wrap|real)_)\w*)|(?P<off>\b_*(?:no_sanitize\w*|"
    r"disable_sanitizer_instrumentation|no_instrument_function|optnone|optimize|naked)\b)|"
    r"^[ \t]*#[ \t]*(?P<pragma>pragma\b(?![ \t]*(?:unroll|nounroll|once|(?:GCC|clang)[ \t]+diagnostic)\b).*)",
    re.MULTILINE,
)
#: What the rewriter of CUDA texts and our headers' macros say of the runtime; what else of it a text's library may import; and how
#: the names begin by which compilers call it.
_SAID = (
    " Launch Call Loaded Variable SharedOfFile OnHeap Accessor Accessor32 Pair named with_accessors unwritten returned declare_shared "
    "dynamic_shared kernel_memcpy kernel_memset kernel_malloc kernel_free broken thread_index block_index block_size grid_size "
    "index index_of_array Subscripts "
)
_IMPORTED = (
    " Block Apart lane last_error last_fault most_shared is_loaded thread_order note place shown fail_shuffle fail_unasked off_axis "
    "remember_tensor remember_shared remember_variable remember_shared_of_file remember_allocation forget_allocation mark_unwritten "
    "name_dynamic_shared require_written before_wait before_atomic before_copy fence note_index note_array "
)
_HOOKS = ("__tsan_", "__sanitizer_", "__ubsan_", "__wrap_mem")
#: Families of functions that a C++ text may call and a CUDA text may not.
_FAMILIES_OF_CUDA = {
    "threads of its own are": r"pthread_\w+ thrd_\w+ _ZNSt6thread\w* GOMP_\w+ omp_\w+ __kmpc\w+ _ZN2at8internal\w+",
    "functions that write where nobody looks are": r"(?:frexp|modf|remquo|sincos)[fl]? lgamma[fl]?_r (?:__)?\w*printf(?:_chk)? \w*scanf "
    r"(?:__)?str(?!len|n?cmp)\w+ (?:__)?wcs\w+ (?:__)?wmem\w+ (?:__)?mem(?:p?cpy|ccpy|move|set|frob)\w* b(?:copy|zero) qsort(?:_r)? "
    r"f?write\w* getrandom getentropy mb\w+ wc\w+ iconv\w* \w*longjmp\w* \w*setjmp\w* set(?:v|line)?buf(?:fer)? atexit",
    "ways to bring values of a tensor to the host are": r"_ZN2at4_ops(?:\d+)(?:item|_local_scalar_dense|is_nonzero|equal|allclose)\w* "
    r"_ZNK2at6Tensor4item\w* _ZN2at6tensor\w*",
}

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
    r"_ZN3c10\d+(?:(?:try_)?make_)?(?:[tT]emp|Fatal|Signal).* _ZN2at\d+\w*MapAllocator.* "
    r"_ZN2at14DynamicLibrary.* aoti_torch_save_\w+ uv_\w+ mz_\w+",
}
_CLOSED, _CLOSED_TO_CUDA = (
    tuple((what, re.compile("|".join(f"(?:{one})" for one in names.split()))) for what, names in families.items())
    for families in (_FAMILIES, _FAMILIES_OF_CUDA)
)

#: What a kernel may take of the libraries of C and C++, of compilers and of vectors, by whole classes; in `_MATHS` without the type.
_MATHS = r"""
    a?(?:sin|cos|tan)h?(?:pi)? sincos(?:pi)? atan2(?:pi)? exp(?:2|10|m1)? exp(?:2|10)m1 log(?:2|10|1p|b|2p1|10p1)? pow(?:10|n|r)?
    compoundn r?sqrt cbrt hypot rootn erfc? [tl]?gamma f?abs floor ceil trunc round(?:even)? l{0,2}(?:round|rint) nearbyint fmod
    remainder drem remquo fma f(?:max|min)(?:imum)?(?:_?mag)?(?:_num)? fdim [fd](?:add|sub|mul|div|sqrt|fma)
    f\d\dx?(?:add|sub|mul|div|sqrt|fma) ldexp frexp modf scal(?:bl?n|b) (?:il|l?l)ogb significand next(?:after|toward|up|down) copysign
    nan finite is(?:nan|inf|normal|signaling|eqsig) u?fromfpx? signbit fpclassify issubnormal iszero iscanonicall? [jy][01n]
    c(?:a?(?:sin|cos|tan)h?|exp|log(?:10)?|pow|sqrt|abs|arg|imag|real|proj) conj canonicalize (?:get|set)payload(?:sig)?
    totalorder(?:mag)?
"""
_ALLOWED = r"""
    (?:__(?:isoc\d\d_)?)?(?:mem(?:p?cpy|ccpy|move|set|cmp|r?chr|mem)|str(?!sm)\w+|wcs\w+|wmem\w+|raw\w+|(?:explicit_)?b(?:cmp|copy|zero)|ffsl{0,2})(?:_chk)?
    __fdelt_chk
    (?:__)?(?:isw?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit|ctype)|tow?(?:upper|lower|ascii|ctrans))(?:_l)?
    (?:__(?:isoc\d\d_)?)?v?(?:f|s|sn|as|fw|sw)?w?(?:printf|scanf)(?:_chk)? f?put(?:w?[cs]|w?char)(?:_unlocked)? putw? _IO_put[cs]
    f(?:write|flush)(?:_unlocked|_chk)? std(?:in|out|err) perror set(?:v|line)?buf(?:fer)? ferror feof clearerr malloc\w* c?free calloc
    realloc(?:array)? memalign p?valloc (?:posix_mem|aligned_)al\w+ l{0,2}(?:abs|div) ato[filq]l? s?rand(?:_r|om|om_r)?
    [delmns]rand48(?:_r)? seed48 initstate setstate qsort(?:_r)? [bl]search lfind (?:__)?abort at(?:_quick_)?exit (?:__)?(?:secure_)?getenv
    mb\w+ wc\w+ btowc wctob (?:new|free|use|dup)locale (?:set|conv)?locale(?:conv)? nl_langinfo\w* \w*gettext iconv\w* __ctype_\w+
    __(?:new|free|dup|use)locale __assert\w* __errno_location clock(?:_\w+)? (?:diff|mk|gm|local|asc|c|strf)?time(?:_r|gm|spec_get|local)?
    gettimeofday tz(?:set|name) (?:clock_)?nanosleep u?sleep pthread_(?!kill|sig)\w+ __pthread\w+ sem_(?!open|unlink)\w+
    (?:mtx|cnd|thrd|tss)_\w+ call_once sched_(?!set)\w+ __sched_cpu\w+ sysconf getpagesize getauxval get_n?procs\w* get[pt]id getrusage
    gnu_get_libc_version __libc_single_threaded __tls_get_addr _*(?:sig)?(?:set|long)jmp\w* __sigsetjmp __cxa_\w+ __dynamic_cast
    __once_proxy __(?:gxx|gcc)_personality_v0 _Unwind_\w+ __stack_chk_\w+ __gmon_start__ _ITM_\w+ __cpu_\w+ __dso_handle write getrandom
    getentropy arc4random\w* backtrace\w* fe[a-z]*(?:except|env|round|flag|mode)\w* __[a-z]+[sdthxb][fci]\d? __bid_\w+
    __(?:atomic|sync|emutls)_\w+ __aarch64_\w+ (?:GOMP|omp|kmp|__kmpc)_\w+ Sleef_\w+ _ZGV[a-zA-Z][MN](?:\d+|x)\w+ signgam
    _Z(?:n[wa]|d[la])\w+ _ZT[IS][PKRO]*[a-zD]\w? _Z(?:GV|T[CIHSTVWhvc][\dn_]*)?(?:N[VKRO]*)?(?:S[abiodst]|\d+__(?:gnu_|cxxabiv))\w*
"""
_OPEN = re.compile(
    rf"(?:__)?(?:{'|'.join(_MATHS.split())})(?:f(?:16|32|64|128)?x?|l|F)?(?:_r)?(?:_finite)?|{'|'.join(_ALLOWED.split())}"
)
#: In a name of the library of C++: somebody else's type, or function without a name, with which it was made.
_FOREIGN = re.compile(r"(?:(?<!_ZGV[a-z])N[VKRO]*|[IRJ])\d+(?!\d|__)|U[lt]")
#: And of torch, with BLAS and LAPACK, which an exercise may forbid.
_TORCHS = re.compile(
    r"_Z(?:GV|T[HISVW])?(?:N[VKRO]*)?(?:2at|3c10|5torch|6caffe2)\w*|(?:aoti_)?torch_\w+|(?:cblas|LAPACKE|mkl|dnnl)_\w+|[a-z]{4,8}_(?:64_?)?"
)
#: Where it does, by the names of what they are in: what makes tensors, looks at them, walks over them with a function of the
#: text's own, has threads, and tells torch and its gradients what an op is.
_TENSORS = re.compile(
    r"""at::(?:TensorBase(?!::(?:_backward|grad_fn)\b)|TensorIterator\w*|TensorGeometry|TensorMaker|TensorArg|OperandInfo|
    SplitUntil32Bit|Context|internal|CPUGeneratorImpl|Generator|SavedTensorDefaultHooks|RecordFunction|ThreadLocalState|
    sequence_number|functorch::functorchTLSAccessor)(?:::\w+)*|at::Tensor::(?:item|index|index_put_|narrow|select|to|new_\w+|
    as_strided_symint)|at::(?:check\w+|assert_no_\w+|has_internal_overlap|tensor|print|infer\w+|geometry_is_contiguous|
    [gs]et_num_\w*threads|get_overlap_status|get_thread_num|in\w*_num_threads|in_parallel_region|intraop_launch\w*|launch|
    globalContext|getCPUAllocator|toAccumulateType|maybe_data_ptr|detail::(?:empty_\w+|get\w+Hooks|getDefaultCPUGenerator|
    computeStorage\w+))|c10(?!::(?:Dispatcher|OperatorHandle|TypedOperatorHandle|RegisterOperators|
    impl::OperatorEntry)\b)(?:::\w+)*|caffe2::(?:TypeMeta|detail)(?:::\w+)*|torch::(?:Library|CppFunction|detail)(?:::\w+)*|
    torch::autograd::(?:AutogradContext|AutogradMeta|AnomalyMode|ForwardADLevel|InputMetadata(?!::\w*reduce)|SavedVariable|
    VariableInfo|Node|_wrap_outputs|impl::gradient_edge)(?:::\w+)*|torch::dynamo::autograd::get\w+|torch_(?!call_|c_)\w+|
    aoti_torch_(?:abi_version|(?:device_type|dtype|layout|memory_format|get|is|delete|new|create|assign|clone|empty|item|scalar_to|
    check|device_guard|grad_mode|library|print)_\w+|warn|clone|(?:tensor_)?copy_|as_strided|_reinterpret_tensor|_alloc_from_pool|
    zero_|stream_id|\w+_to_ivalue|view_as_real|aten_(?:fill__Scalar|full|narrow|new_empty|new_zeros))""",
    re.VERBOSE,
)

#: Operators of ATen that make tensors, copy them, or look at them, and compute nothing.
_MOVES = re.compile(
    r"(?!\w*(?:backward|sparse|quantized|mkldnn|dropout|_true))_?(?:(?:new_)?(?:empty|zeros|ones|full)(?:_like|_strided|_permuted)?|"
    r"contiguous|to|_to_copy|copy|clone|detach|alias|view(?:_as)?|reshape(?:_as)?|_unsafe_view|_reshape_alias|expand(?:_as)?|select|slice|"
    r"narrow|transpose|t|permute|movedim|swap(?:axes|dims)|numpy_T|mT|unsqueeze|squeeze|flatten|unflatten|ravel|as_strided|unbind|split\w*|"
    r"tensor_split|chunk|unsafe_(?:split|chunk)|unfold|diagonal|item|_local_scalar_dense|fill|zero|resize(?:_as)?|set|size|stride|is_\w+|"
    r"record_stream|scalar_tensor|requires_grad|retain_grad|_version|data|output_nr|lift\w*|cpu|type_as|narrow_copy|broadcast_\w+|"
    r"atleast_\w+|result_type)_?(?:_[a-zA-Z]\w*)?"
)
_OPERATOR = re.compile(r"at::(?:_ops|cpu|native|meta|composite\w+)::(\w+)(?:::\w+)*")


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
    whole = _whole(text)
    for form in (text, whole):
        if line := _LINE.search(form):
            return _told(
                form, line.end(), "a line that begins with #line, or # and a number, is closed in a lab: leave it out"
            )
    plain = uncommented(whole)
    for match in _INCLUDE.finditer(plain):
        said = (match[1] or match[2] or "").strip()
        name = _PLAIN.match(said)
        path = (name["a"] or name["b"]) if name else ""
        if not name or path.startswith("/") or ".." in path.split("/"):
            return _told(plain, match.end(), f"it includes {said[:60]!r}: want the plain name of a header, <cmath>")
    for number, row in enumerate(plain.split("\n"), 1):
        if _PRAGMA.search(row.partition("ragma")[2]):
            return f"line {number}: it includes a file by a pragma: want the plain name of a header, <cmath>"
    return complaint_of_code(plain)


def _whole(text: str) -> str:
    """Make one line of those that go on in the next, as all but a raw string has it."""
    return re.sub(r"\\[ \t\f\v]*\n", "", text.replace("\r\n", "\n"))


def expands_in_headers(text: str) -> bool:
    """Tell whether headers that a text includes may have other words by its macros; a number is none.

    Example:
        >>> expands_in_headers("#define N 2\\n#include <list>"), expands_in_headers("#define N as##m\\n#include <list>")
        (False, True)
    """
    macro = _MACRO.search(whole := _whole(text))
    return macro is not None and _HEADER.search(whole, macro.end()) is not None


#: Longer than any kernel, shorter than what keeps a reader busy; and raw strings.
LONGEST, _RAW = 200_000, 100


def complaint_of_code(text: str) -> str:
    """Say what code without comments holds that no exercise needs; nothing where it holds none of it.

    Example:
        >>> complaint_of_code('auto text = "asm";'), complaint_of_code("<:<:gnu::constructor:>:> void f();")[:23]
        ('', 'line 1: a function that')
    """
    if (count := text.count('R"')) > _RAW:  # each that does not end is looked for through all of the text
        return f"the text has {count} raw strings, want at most {_RAW}"
    code = re.sub(r"<:(?!:[^:>])", " [", _without_literals(text)).replace(":>", " ]")
    if assembly := _ASSEMBLY.search(code):
        return _told(text, assembly.start(), "inline assembly is closed in a lab: leave it out")
    depth, attributes = 0, list[tuple[int, int]]()  # those that are open: their depth, and where they begin
    for one in _ATTRIBUTE.finditer(code):
        if one["ends"]:
            attributes = attributes[:-1] if attributes and attributes[-1][0] == depth else attributes
            depth -= 1
        elif one["opens"] or one["nested"]:
            depth += 1
            attributes += [(depth, one.start())] if one["opens"] and not attributes else []
        elif attributes:
            said = (
                "a function that runs when it is loaded, or that the loader chooses, is closed in a lab: leave it out"
            )
            return _told(text, attributes[0][1], said)
    return ""


def complaint_of_cuda(text: str, word: str = "") -> str:
    """Say what a CUDA text says of what checks and counts it; nothing where it says nothing.

    Args:
        text: as it was handed in, or what the preprocessor has made of it.
        word: that then stands for the runtime, where the rewriter speaks of it.

    Example:
        >>> complaint_of_cuda("void f() { cuda_cpu::lane = 0; }")
        "line 1: it says 'cuda_cpu', a name of what checks and counts it, which is closed in a lab"
    """
    code = _without_literals(text if word else uncommented(_whole(text)))
    if found := _OF_CHECKS.search(code):
        what = found["name"] or found["off"] or found["pragma"]
        why = "a name of what checks and counts it" if found["name"] else "which keeps what checks it from looking"
        return _told(text, found.start(), f"it says {what.strip()[:60]!r}, {why}, which is closed in a lab")
    for ahead, said in itertools.pairwise(code.split(word)) if word else ():
        scope, name = said.lstrip()[:2], said.lstrip()[2:].translate(dict.fromkeys(map(ord, "(<{"), " ")).split()[:1]
        if said[:1] != "_" and (scope != "::" or f" {''.join(name)} " not in _SAID):
            why = "a macro of its own changes what is said to what checks it: give it another name"
            return _told(text, len(ahead), why)
    return ""


def _without_literals(text: str) -> str:
    return _LITERAL.sub(lambda one: re.sub(r"[^\n]", " ", one[0]) if one["no"] or one["text"] else one[0], text)


def own_texts(preprocessed: Iterable[str], is_header: Callable[[str], bool]) -> list[str]:
    """Return what comes of no header in preprocessed lines, for each source that they name; a line has its number there.

    Example:
        >>> own_texts(['# 1 "a.cpp"', "int a;", '# 1 "/h.h" 1', "int b;", '# 3 "a.cpp" 2', "int c;"], lambda path: "h" in path)
        ['int a;\\n\\nint c;']
    """
    texts, lines, within = dict[str, list[str]](), list[str](), [False]
    for line in preprocessed:
        marker = _MARKER.match(line)
        if marker is None:
            lines += [] if within[-1] else [line]
            continue
        if marker["flag"] == "1":
            within.append(within[-1] or is_header(marker["path"]))
        elif marker["flag"] == "2" and len(within) > 1:
            within.pop()
        if not within[-1]:
            lines = texts.setdefault(marker["path"], [])
            while lines and len(lines) >= int(marker["line"]) and not lines[-1].strip():
                lines.pop()
            lines += [""] * (int(marker["line"]) - 1 - len(lines))
    return ["\n".join(lines) for lines in texts.values()]


_MARKER = re.compile(r'# (?P<line>\d{1,6}) "(?P<path>(?:[^"\\]|\\.)*)"(?: (?P<flag>[12]))?')


def _told(text: str, place: int, what: str) -> str:
    ahead = text[: max(place, 0)]
    return f"line {ahead.count(chr(10)) + ahead.count(chr(12)) + 1}: {what}"


def complaint_of_library(path: Path, forbid: Sequence[str], cuda: bool = False) -> str:
    """Say what a library calls that it must not, by name; nothing where all is allowed.

    Args:
        path: of the library.
        forbid: `aten`, or names of symbols.
        cuda: it is of a CUDA text: what runs and checks its kernels is another library.

    Raises:
        InfraError: there is no package that reads libraries.
    """
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError as error:
        raise InfraError(f"labs read libraries with pyelftools. {pip_command('lltm-inline[lab]')}") from error
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            dynamic: Any = next(segment for segment in elf.iter_segments() if segment["p_type"] == "PT_DYNAMIC")
            kinds = {tag.entry.d_tag for tag in dynamic.iter_tags()}
            symbols = list(dynamic.iter_symbols())
            chosen = any(symbol["st_info"]["type"] in ("STT_GNU_IFUNC", "STT_LOOS") for symbol in symbols)
            executable = any(s["p_type"] == "PT_GNU_STACK" and s["p_flags"] & 1 for s in elf.iter_segments())
            parts: Any = [part for part in elf.iter_sections() if part["sh_type"] in ("SHT_SYMTAB", "SHT_DYNSYM")]
            every = [symbol for part in parts for symbol in part.iter_symbols()]
            imported = sorted({symbol.name for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name})
    except (ELFError, StopIteration, LookupError, ValueError, TypeError, AttributeError) as error:
        return f"its library cannot be read ({type(error).__name__})"
    if chosen:
        return (
            "it has a function that the loader chooses (ifunc, target_clones), which is closed in a lab: leave it out"
        )
    if executable or kinds & {"DT_RPATH", "DT_RUNPATH", "DT_AUDIT", "DT_DEPAUDIT", "DT_TEXTREL"}:
        return "its library asks for what no kernel needs: a stack that can be executed, or paths of its own"
    if cuda:
        for symbol in every:
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol.name.startswith(_HOOKS):
                return f"it defines {symbol.name!r}, a function of what checks and counts it, which is closed in a lab"
        imported = [name for name in imported if not name.startswith(_HOOKS) and not _is_of_runtime(name)]
    return complaint_of_calls(imported, forbid, cuda)


def _is_of_runtime(name: str) -> bool:
    parts = [part for part in _qualified(name).split("::") if part != "apart"]
    return parts[:1] == ["cuda_cpu"] and f" {''.join(parts[1:2])} " in _SAID + _IMPORTED


def complaint_of_calls(names: Iterable[str], forbid: Sequence[str], cuda: bool = False) -> str:
    """Say which of the functions that a library calls are closed to it.

    Example:
        >>> complaint_of_calls(["tanh", "fork"], [])
        "it calls 'fork': processes and signals are closed in a lab"
        >>> complaint_of_calls(["_ZN2at4_ops10mul_Tensor4callERKNS_6TensorES4_"], ["aten"])
        'it calls at::mul, and this exercise is to be written without ATen'
    """
    names = list(names)
    for name, (what, closed) in itertools.product(names, (*_CLOSED, *_CLOSED_TO_CUDA * cuda)):
        if closed.fullmatch(name):
            return f"it calls {_as_written(name)!r}: {what} closed in a lab"
    for name in names:
        if name in forbid:
            return f"it calls {name!r}, which this exercise forbids"
        plain = _qualified(name)
        if not _OPEN.fullmatch(name):
            if not _TORCHS.fullmatch(name):
                return f"it calls {_as_written(name)!r}, which is no function that a kernel needs: take those of C++ and of torch"
            operator = _OPERATOR.fullmatch(plain)
            moves = operator and "native" not in plain and _MOVES.fullmatch(operator[1])
            if "aten" in forbid and not moves and not _TENSORS.fullmatch(plain):
                return f"it calls {_as_written(name)}, and this exercise is to be written without ATen"
        elif "aten" in forbid and name.startswith("_Z") and _FOREIGN.search(name):
            return f"it calls {_as_written(name)}<...> of a library, and this exercise is to be written without ATen"
    return ""


def _as_written(name: str) -> str:
    """Write the name of a symbol as a person writes it, without the types of its arguments.

    >>> _as_written("_ZNSo5writeEPKcl"), _as_written("_ZN2at4_ops10add__Tensor4callERNS_6TensorERKS1_"), _as_written("fork")
    ('std::ostream::write', 'at::add_', 'fork')
    """
    plain = _qualified(name)
    if operator := _OPERATOR.fullmatch(plain):
        ends = [len(operator[1]), *(i for i in range(len(operator[1]) - 1, 0, -1) if operator[1][i] == "_")]
        return f"at::{next((operator[1][:i] for i in ends if hasattr(torch.ops.aten, operator[1][:i])), operator[1])}"
    if plain == name and name.startswith("_Z"):  # the library of C++ has names of its own for what is frequent
        plain, depth = "", 0
        for letter in demangle(name).partition("(")[0].replace("__cxx11::", ""):
            depth += letter == "<"
            plain += letter * (not depth)
            depth -= letter == ">"
    return plain.replace("std::basic_", "std::")


def _qualified(name: str) -> str:
    """Read out of a mangled name what it is in, and its own name.

    >>> _qualified("_ZNK2at10TensorBase14const_data_ptrIfEEPKT_v"), _qualified("_ZNSt6thread4joinEv"), _qualified("tanh")
    ('at::TensorBase::const_data_ptr', 'std::thread::join', 'tanh')
    """
    if not (start := re.match(r"_Z(?:GV|T[A-Z])?(?:N[VKRO]*)?(St)?", name)):
        return name
    parts, rest = ["std"] if start[1] else list[str](), name[start.end() :]
    while length := re.match(r"\d{1,4}", rest):
        end = length.end() + int(length[0])
        parts.append(rest[length.end() : end])
        rest = rest[end:]
    return "::".join(parts) or name
