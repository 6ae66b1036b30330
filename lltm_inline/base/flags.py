"""Compiler flags that a user may give: what they must not do, and why.

A flag goes through ninja and a shell to a compiler, and from there, if it asks for that, to an assembler, a linker, a plugin
or a file. Allowed are the families that change how a text is compiled; refused is what the playground itself decides (what is
made, from what, and where it goes), what is handed on to another program, what loads code into the compiler, and what reads
or writes a file beside the text. It is a list of what is allowed, because compilers learn new flags every year; and a list of
what is not within it, because `-f` and `-W` are families with everything in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: The standard of C++ that every text is compiled with: torch's headers need it from 2.13 on, and before that `load_inline` asks
#: for C++17. It comes after torch's own flags and before the user's, so that the last one holds.
STANDARD = "-std=c++20"

#: g++ and clang++: warnings, language, optimisation, machine, debug information, macros and directories of headers.
_CPP = (
    r"-D[A-Za-z_]\w*(?:=.*)?",
    r"-U[A-Za-z_]\w*",
    r"-(?:I|isystem|iquote|idirafter).+",
    r"-O(?:[0-3gsz]|fast)?",
    r"-std=[a-z0-9+]+",
    r"-[fm][a-z].*",
    r"-[Ww](?:[a-z].*)?",
    r"-g[a-z0-9+-]*(?:=[a-z0-9]+)?",
    r"-Rpass(?:-[a-z]+)?=.+",
    r"-pedantic(?:-errors)?",
    r"-pthread",
    r"-pipe",
    r"--param=[a-z0-9-]+=\d+",
)

#: nvcc, for the flags of a CUDA text.
_NVCC = (
    r"--?(?:arch|code|gencode|gpu-architecture|gpu-code|generate-code)=.+",
    r"--?(?:use_fast_math|lineinfo|generate-line-info|device-debug|restrict|extended-lambda|expt-[a-z-]+)",
    r"--?(?:ftz|prec-div|prec-sqrt|fmad|maxrregcount|default-stream|threads|t|split-compile|diag-suppress|dopt)=[\w,-]+",
    r"--?(?:resource-usage|res-usage|source-in-ptx|src-in-ptx|extra-device-vectorization|debug)",
    r"-G",
    r"--[a-z-]*warn[a-z-]*(?:=\w+)?",
    r"(?:-Xptxas|--ptxas-options)=.+",
    r"(?:-Xcudafe|--cudafe-options)=--(?:diag|display)_[\w=]+",
    r"(?:-Xcompiler|--compiler-options)=.+",
)
_OF_CPP = re.compile(rf"(?:{'|'.join(_CPP)})\Z")
_ALLOWED = re.compile(rf"(?:{'|'.join((*_CPP, *_NVCC))})\Z")

#: Within the families: why not, and what it looks like.
_REFUSED = (
    ("hands words to the linker, the assembler or the preprocessor", r"-W[lap](?:,.*)?|-X(?:linker|assembler|clang|preprocessor)"),
    ("loads code into the compiler", r"-f(?:plugin|pass-plugin|load|no-plugin).*|-mllvm.*|-wrapper.*|-specs.*|-B.*|-gcc.*"),
    ("chooses another linker or assembler", r"-fuse-ld.*|--ld-path.*|-f(?:no-)?integrated-.*|-f(?:no-)?use-linker-plugin"),
    ("changes what is made, or where", r"-[ocSErsn]|-o.*|-x.*|-M.*|-save-temps.*|-fsyntax-only|-fpreprocessed|-fdirectives-only"
     r"|-shared|-static.*|-nost.*|-f(?:ltrans|wpa|lto-partition|lto|thinlto|whole-program).*|-foffload.*|-fcompare-debug.*"),
    ("links a library, which only the playground does", r"-[lL](?!ineinfo\Z).*"),
    ("reads or writes other files", r"-f(?:dump|profile|test-coverage|callgraph-info|stack-usage|time-trace|save-optimization-record"
     r"|crash-diagnostics|modules?|pch|preprocess|embed|prebuilt|emit|branch-probabilities|auto-profile).*|-include.*|-imacros.*|-gsplit-dwarf.*"
     r"|-i(?:sysroot|prefix|withprefix).*|--coverage|-coverage"),
    ("makes messages that the playground cannot read", r"-f(?:no-)?diagnostics-.*|-fmessage-length.*|-fno-show-column|-fansi-escape-codes"),
)  # fmt: skip

_FOR_COMPILER = ("-Xcompiler", "--compiler-options")

#: What ninja or a shell would take apart.
_SHELL = frozenset(" '\"`$;|&<>()\\*?[]{}~!")


#: What makes numbers less exact: on a GPU in the code that runs there, and in the host's code, which is not what a kernel computes.
_LESS_EXACT = re.compile(r"--?(?:use_fast_math|(?:ftz|prec-div|prec-sqrt|fmad)=\w+)")
_LESS_EXACT_ON_HOST = re.compile(
    r"-Ofast|-f(?:fast-math|unsafe-math-optimizations|finite-math-only|associative-math|reciprocal-math)"
)


def once(own: Iterable[str], given: Sequence[str]) -> tuple[str, ...]:
    """Put flags behind our own for nvcc, which takes architectures and a standard only once: those that are given count.

    Example:
        >>> once(["-O3", "-std=c++20"], ["-std=c++23", "-lineinfo"])
        ('-O3', '-std=c++23', '-lineinfo')
    """
    chosen = [word for word in ("arch", "-std=") if any(word in flag for flag in given)]
    return (*(flag for flag in own if not any(word in flag for word in chosen)), *given)


def for_host(flags: Iterable[str]) -> tuple[str, ...]:
    """Return nvcc's flags as a C++ compiler takes them that compiles the code of the device, too.

    That is what they say to the host compiler, and what both know, without what would make numbers less exact: nvcc would not let
    the code of the device have it.

    Example:
        >>> for_host(["-Xcompiler=-ffast-math,-g", "--use_fast_math", "-arch=sm_80", "-DN=3"])
        ('-g', '-DN=3')
    """
    parts = _parts(flags)
    return tuple(part for part in parts if _OF_CPP.match(part) and not _LESS_EXACT_ON_HOST.fullmatch(part))


def less_exact(flags: Iterable[str]) -> tuple[str, ...]:
    """List those of nvcc's flags that make numbers less exact, and that `for_host` leaves out.

    Example:
        >>> less_exact(["-Xcompiler=-ffast-math", "-use_fast_math", "-O3"])
        ('-ffast-math', '-use_fast_math')
    """
    return tuple(p for p in _parts(flags) if _LESS_EXACT.fullmatch(p) or _LESS_EXACT_ON_HOST.fullmatch(p))


def _parts(flags: Iterable[str]) -> list[str]:
    """Take apart what nvcc hands on to the host compiler."""
    return [
        part
        for flag in flags
        for part in (flag.partition("=")[2].split(",") if flag.startswith(_FOR_COMPILER) else [flag])
    ]


def complaint(flag: object) -> str:
    """Say what is wrong with a compiler flag, as the end of a sentence that starts with it; nothing when it is fine.

    Example:
        >>> complaint("-march=native")
        ''
        >>> complaint("-fuse-ld=mold")
        'chooses another linker or assembler: leave it out'
    """
    if not isinstance(flag, str) or not flag.startswith("-") or not flag.isprintable() or _SHELL & {*flag}:
        return "must start with '-' and hold no spaces or shell characters: give one list item per flag"
    if flag.startswith("-std=") and not flag.endswith(("20", "2a", "23", "2b", "26", "2c")):
        return "chooses an older standard: the headers of torch need C++20; leave it out"
    for reason, pattern in _REFUSED:
        if re.fullmatch(pattern, flag):
            return f"{reason}: leave it out"
    if not _ALLOWED.match(flag):
        return "is none that a kernel may have: want -D, -U, -I, -O, -f, -m, -W, -g, -std= or an option of nvcc for CUDA code"
    # There may be others in it, or a path where there can be none.
    name, _, value = flag.partition("=")
    if name in _FOR_COMPILER:
        if any(part.startswith(_FOR_COMPILER) for part in value.split(",")):
            return "holds itself: leave it out"
        found = [f"{part!r}, which {why}" for part in value.split(",") if (why := complaint(part))]
        return f"holds {found[0]}" if found else ""
    if name in ("-Xptxas", "--ptxas-options"):
        wrong = [part for part in value.split(",") if not re.fullmatch(r"-v|-O[0-3]|-w|--?[a-z-]+(?:=\w+)?", part)]
        wrong += [part for part in value.split(",") if re.match(r"-o|--?output|--?opt[a-z]*-file", part)]
        return f"hands {wrong[0]!r} to ptxas: leave it out" if wrong else ""
    may_name_file = flag.startswith(("-f", "-m", "-W", "-w", "-g")) and not name.endswith("-prefix-map")
    if may_name_file and {"/", "@"} & {*value}:
        return "reads or writes other files: leave it out"
    return ""
