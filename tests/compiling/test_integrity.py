"""Whom the cache trusts: its owner alone, libraries by their hash, and names, params and flags by what they can do."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lltm_inline.base.flags import complaint
from lltm_inline.compiling import cache
from lltm_inline.compiling.compiler import build, run_jobs, verify
from lltm_inline.compiling.job import Job
from lltm_inline.compiling.toolchain import find_toolchain, validated_cflags
from lltm_inline.errors import BuildError, CacheError, DefinitionError, InputError
from lltm_inline.model.registry import Kernel, Op
from tests.needs import need
from tests.tiny import BROKEN, entries, inputs, reference

TEXT = "at::Tensor forward(const at::Tensor& x) { return x; }"
LIBRARY = 'extern "C" __attribute__((visibility("default"))) int answer() {{ return {}; }}\n'


def job(number: int = 1, label: str = "tiny/plain") -> Job:
    """Make a job of a text without headers, which builds in a tenth of a second."""
    return Job(label, LIBRARY.format(number), None, {}, find_toolchain(None, ["-O0"]))


def build_plain(number: int = 1) -> Any:
    """Build it, and let every warning be an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return run_jobs([job(number)], False)[0]


# The directory


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o720, 0o704, 0o702, 0o750, 0o755, 0o777])
@pytest.mark.parametrize("room", ["", "kernels", "tmp"])
def test_open_to_others_is_refused(mode: int, room: str, fresh_cache: Path) -> None:
    """Whoever may look into the cache or write there is one too many; the message has the cure, and the cure works."""
    place = cache.cache_dir() / room
    place.chmod(mode)
    with pytest.raises(CacheError) as error:
        cache.cache_dir()
    assert str(error.value) == (
        f"the cache directory {place} is open to others (mode {mode:04o}, want 0700). Close it with: chmod 700 {place}"
    )
    subprocess.run(str(error.value).rpartition("Close it with: ")[2].split(), check=True)
    assert cache.cache_dir() == fresh_cache


def test_nothing_is_built_in_an_open_cache(fresh_cache: Path) -> None:
    """Neither is anything loaded from it: `build` says so, and runs no compiler."""
    first = build_plain()
    fresh_cache.chmod(0o755)
    for number in (1, 2):
        with pytest.raises(CacheError, match="is open to others"):
            build_plain(number)
    fresh_cache.chmod(0o700)
    assert build_plain().cached and len(entries()) == 1 and build_plain().path == first.path


def test_directories_above_are_made_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has to be made above the cache is for its owner alone too, whatever the umask."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "a" / "b" / "cache"))
    before = os.umask(0)
    try:
        path = cache.cache_dir()
    finally:
        os.umask(before)
    for place in (tmp_path / "a", tmp_path / "a" / "b", path, *(path / room for room in cache.ROOMS)):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700, place


def test_link_to_a_directory_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache may be reached through a link; what counts, and is used from then on, is where it leads."""
    (tmp_path / "large-disk").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("large-disk")
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "link"))
    assert cache.cache_dir() == tmp_path / "large-disk"
    (tmp_path / "large-disk").chmod(0o755)
    with pytest.raises(CacheError, match=rf"{tmp_path}/large-disk is open to others"):
        cache.cache_dir()


@pytest.mark.parametrize("target", ["nowhere", "link"])
def test_link_to_nowhere(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link to what is not there, or to itself, is no cache."""
    (tmp_path / "link").symlink_to(target)
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "link"))
    with pytest.raises(CacheError, match=r"cannot use the cache directory .*/link: .*\. Set LLTM_INLINE_CACHE"):
        cache.cache_dir()


def test_link_for_a_room_is_refused(fresh_cache: Path, tmp_path: Path) -> None:
    """A room of the cache that is a link leads to where nobody looks at owner and mode."""
    shutil.rmtree(cache.cache_dir() / "kernels")
    (tmp_path / "elsewhere").mkdir(mode=0o777)
    (fresh_cache / "kernels").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(
        CacheError, match=rf"{fresh_cache}/kernels in the cache is a symbolic link, want a directory. Remove"
    ):
        cache.cache_dir()


def test_room_of_somebody_else_is_refused(fresh_cache: Path) -> None:
    """Owned by us means every room."""
    need("root")  # which alone can give a directory away
    os.chown(cache.cache_dir() / "kernels", 12345, -1)
    with pytest.raises(CacheError, match=rf"{fresh_cache}/kernels belongs to user 12345, not to you \(0\)"):
        cache.cache_dir()


def test_directory_that_everybody_may_rename_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all may write, somebody can put a cache of his own in the place of ours; the sticky bit prevents that."""
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / "shared" / "cache"))
    (tmp_path / "shared").chmod(0o777)
    with pytest.raises(CacheError) as error:
        cache.cache_dir()
    assert (
        f"everybody may replace the cache directory {tmp_path}/shared/cache, because {tmp_path}/shared is open"
        in str(error.value)
    )
    assert f"Close it with: chmod +t {tmp_path}/shared. Or set LLTM_INLINE_CACHE" in str(error.value)
    (tmp_path / "shared").chmod(0o1777)
    assert cache.cache_dir() == tmp_path / "shared" / "cache"


def test_unknown_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """The home of a user who is not there is no place."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", "~nobody-of-that-name/cache")
    with pytest.raises(
        CacheError, match=r"cannot use the cache directory ~nobody-of-that-name/cache: .*Set LLTM_INLINE_CACHE"
    ):
        cache.cache_dir()


# Entries


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _forged(path: Path) -> None:
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "namespace": "li_evil"}))


DAMAGE: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "flipped bit": ("library.so", _flip),
    "truncated": ("library.so", _cut),
    "empty": ("library.so", lambda path: path.write_bytes(b"")),
    "removed": ("library.so", Path.unlink),
    "linked": ("library.so", lambda path: (path.unlink(), path.symlink_to("main.cpp"))),
    "directory": ("library.so", lambda path: (path.unlink(), path.mkdir())),
    "manifest truncated": ("build.json", _cut),
    "manifest flipped": ("build.json", _flip),
    "manifest forged": ("build.json", _forged),
    "manifest removed": ("build.json", Path.unlink),
    "manifest too deep": ("build.json", lambda path: path.write_text("[" * 10**5)),
    "manifest of another shape": ("build.json", lambda path: path.write_text('{"ok": true}')),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_entries_are_built_anew(what: str, fresh_cache: Path) -> None:
    """Whatever happens to an entry, it is not believed: it is built anew with one warning, and is whole afterwards."""
    first = build_plain()
    name, damage = DAMAGE[what]
    damage(first.path.with_name(name))
    with pytest.warns(
        RuntimeWarning, match="the cached library of 'tiny/plain' is not what was built; building it anew"
    ) as said:
        again = run_jobs([job()], False)[0]
    assert len(said) == 1 and not again.cached and again.namespace != first.namespace
    verify(again)
    assert build_plain().cached and not list((fresh_cache / "tmp").iterdir())


def test_damaged_failure_is_built_anew(tiny: Any, fresh_cache: Path) -> None:
    """A remembered failure whose words were tampered with is not told again."""
    with pytest.raises(BuildError) as first:
        build(tiny(text=BROKEN), progress=False)
    [entry] = entries()
    path = entry.path / cache.MANIFEST
    path.write_text(path.read_text().replace("FACTORY", "HARMLESS"))
    with pytest.warns(RuntimeWarning, match="is not what was built"), pytest.raises(BuildError) as again:
        build(tiny(text=BROKEN), progress=False)
    assert str(again.value) == str(first.value)


def test_building_loads_nothing(fresh_cache: Path, tmp_path: Path) -> None:
    """A library is built without being loaded: one that crashes when it is, is for the worker to find out."""
    text = f'#include <cstdlib>\n#include <fstream>\nstatic int crash = (std::ofstream("{tmp_path}/ran") << 1, std::abort(), 0);\n'
    found = run_jobs([Job("tiny/crash", text, None, {}, find_toolchain(None, ["-O0"]))], False)[0]
    verify(found)
    assert not (tmp_path / "ran").exists() and str(fresh_cache) not in Path("/proc/self/maps").read_text()


def test_proven_is_of_one_library(fresh_cache: Path) -> None:
    """That the worker ran a library is remembered of exactly that library, until it changes or is built again."""
    first = build_plain()
    assert not cache.is_proven(first.digest, first.sha256)
    cache.mark_proven(first.digest, first.sha256)
    assert cache.is_proven(first.digest, first.sha256) and not cache.is_proven(first.digest, "another")
    assert cache.read_manifest(first.digest) and build_plain().cached
    _flip(first.path)
    assert not cache.is_proven(first.digest, first.sha256), "the library is another by now"
    with pytest.warns(RuntimeWarning):
        again = run_jobs([job()], False)[0]
    assert not cache.is_proven(again.digest, again.sha256), "a new library is not yet proven"
    for text in ("", "[]", "{", '{"sha256": 1}', "\xff"):
        (again.path.parent / cache.PROVEN).write_text(text, encoding="latin-1")
        assert not cache.is_proven(again.digest, again.sha256)
    cache.mark_proven("no-such-entry", first.sha256)
    assert (
        not cache.is_proven("no-such-entry", first.sha256) and not (fresh_cache / "kernels" / "no-such-entry").exists()
    )


# The disk


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Give `mounted(size)`, a small disk of its own with the cache on it."""
    place = tmp_path / "disk"
    place.mkdir(mode=0o700)

    def mount(size: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(place)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"needs the right to mount: {done.stderr.strip()}")
        monkeypatch.setenv("LLTM_INLINE_CACHE", str(place))
        return place

    need("root")
    yield mount
    subprocess.run(["umount", "-l", str(place)], capture_output=True)


@pytest.mark.parametrize("free", [0, 4, 12, 20])
def test_full_disk(free: int, mounted: Any) -> None:
    """On a disk that is full, or fills up while the compiler writes, the error says so and where; with space it works."""
    disk = mounted("300k")
    find_toolchain(None, ["-O0"])
    earlier = build_plain(1)
    ballast = disk / "ballast"
    left = shutil.disk_usage(disk).free - free * 1024
    ballast.write_bytes(b"x" * left)
    with pytest.raises(CacheError) as error:
        build_plain(2)
    assert str(error.value).startswith("no space to build 'tiny/plain': ")
    assert f"MiB free in {disk}" in str(error.value) and "cache clear" in str(error.value)
    assert not list((disk / "tmp").iterdir()), "nothing is left that takes space"
    assert build_plain(1).path == earlier.path, "what is there can still be used"
    cache.mark_proven(earlier.digest, earlier.sha256)
    assert [entry.what for entry in cache.clear()] == ["tiny/plain"], "a full disk can be cleared"
    ballast.unlink()
    verify(build_plain(2))


LIMITED = """
import resource, sys
from tests.compiling.test_integrity import build_plain, cache, verify
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import CacheError
find_toolchain(None, ["-O0"])
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for limit in (0, 100, 700, 1500, 2000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        build_plain(limit)
    except CacheError as error:
        print(limit, error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    print(limit, [path.name for path in (cache.cache_dir() / "tmp").iterdir()], len(cache.entries()))
verify(build_plain(0))
print("works again")
"""


def test_files_that_cannot_grow(fresh_cache: Path, start: Any) -> None:
    """Where no file may grow beyond a limit, as with a quota, each step of a build that meets it says that there is no space."""
    lines = start(LIMITED).output().splitlines()
    said = [line for line in lines if "no space to build 'tiny/plain': " in line]
    assert len(said) == 5, lines
    assert [line for line in lines if line.endswith("[] 0")] == [f"{limit} [] 0" for limit in (0, 100, 700, 1500, 2000)]
    assert lines[-1] == "works again"


@pytest.fixture
def read_only(fresh_cache: Path) -> Iterator[Callable[[], None]]:
    """Give `read_only()`, which takes the right to write into the cache away."""

    def close() -> None:
        if os.getuid():
            for room in (fresh_cache, *fresh_cache.iterdir()):
                room.chmod(0o500)
            return
        # Modes mean nothing to root.
        for command in (["mount", "--bind"], ["mount", "-o", "remount,ro,bind"]):
            done = subprocess.run([*command, str(fresh_cache), str(fresh_cache)], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"needs the right to mount: {done.stderr.strip()}")

    yield close
    if os.getuid():
        for room in (fresh_cache, *fresh_cache.iterdir()):
            room.chmod(0o700)
    else:
        subprocess.run(["umount", "-l", str(fresh_cache)], capture_output=True)


def test_read_only_cache(fresh_cache: Path, read_only: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that cannot be written serves what it has; what it has not is refused with the cure; nothing is claimed."""
    first = build_plain(1)
    read_only()
    assert build_plain(1).cached and cache.entries()
    verify(first)
    cache.mark_proven(first.digest, first.sha256)
    assert not cache.is_proven(first.digest, first.sha256)
    with pytest.raises(
        CacheError, match=rf"'tiny/plain' is not in the cache, and the cache directory {fresh_cache} cannot be "
    ):
        build_plain(2)
    with pytest.raises(CacheError, match=rf"cannot remove {first.path.parent} from the cache"):
        cache.clear()
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/another")  # the compiler is looked at anew, and not remembered
    assert find_toolchain(None, ["-O0"]).version.startswith("g++")


# Names, params and flags


# fmt: off
NAMES = [
    "../x/y", "x/../y", "x/..", "/x/y", "x//y", "x/y/z", "x", "", "/", "x/y\0", "x/y\n", "x/y ", " x/y", "x\\y", "X/y", "x/Y",
    "x-y/z", "x.y/z", "x/y.so", "x/y$z", 'x/y"', "x/y;ls", "x/y`ls`", "x/y%", "1/y", "x/1", "_x/y", "x/_y", "lltm/fused@1",
    # Letters that look like others: Cyrillic, full width, a division slash, no width at all, an accent, no dot on the i.
    "\u0445/y", "x/\uff59", "x\u2215y", "x/y\u200b", "x/\xe9", "x/\u0131", "x\uff0fy",
]
# fmt: on


@pytest.mark.parametrize("name", NAMES)
def test_names_of_kernels_that_are_refused(name: str) -> None:
    """No name of a kernel leads out of a directory, ends a string, or looks like another."""
    with pytest.raises(DefinitionError, match="is not 'op/variant' in lower-case identifiers, like 'lltm/fused'"):
        Kernel(name, cpp=TEXT)


@pytest.mark.parametrize(
    "name", ["..", "/x", "x/y", "", "x\0", "x\n", "X", "1x", "_x", "\u0445", "x.y", "x-y", "x y", "x;ls", "x\u200b"]
)
def test_names_of_ops_that_are_refused(name: str) -> None:
    """Nor does the name of an op."""
    with pytest.raises(DefinitionError, match="is not a lower-case identifier like 'lltm'"):
        Op(name, "(Tensor x) -> Tensor y", reference, {"x": "N", "y": "N"}, inputs)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"int": 1}, "param int is a word of C++"),
        ({"co_await": 1}, "param co_await is a word of C++"),
        ({"defined": 1}, "param defined is a word of C++"),
        ({"and": 1}, "param and is a word of C++"),
        ({"std": 1}, "param std is a word of C++"),
        ({"forward": 1}, "of what a text must define"),
        ({"__LINE__": 1}, "param __LINE__ holds '__', as the compiler's own names do"),
        ({"A__B": 1}, "holds '__'"),
        ({"A B": 1}, "is not a C identifier"),
        ({"A(x)": 1}, "is not a C identifier"),
        ({"A\n#include": 1}, "is not a C identifier"),
        ({"A\\\n": 1}, "is not a C identifier"),
        ({"\u0410": 1}, "is not a C identifier"),  # a Cyrillic A
        ({"A": "1"}, "param A is '1', want a finite number"),
        ({"A": "1\\\n"}, "want a finite number"),
        ({"A": None}, "param A is None, want a finite number"),
        ({"A": 1j}, "want a finite number"),
        ({"A": -float("inf")}, "param A is -inf, want a finite number"),
        ({"A": 2**64}, "want an integer of at most 64 bits"),
        ({"A": -(2**63)}, "want an integer of at most 64 bits"),
        ({"A": 10**5000}, "want an integer of at most 64 bits"),
    ],
)
def test_params_that_are_refused(params: dict[str, Any], message: str) -> None:
    """A param is a name that is free in C++ and a number: nothing else comes into the text through it."""
    with pytest.raises(DefinitionError) as error:
        Kernel("tiny/params", cpp=TEXT, params=params)
    assert message in str(error.value) and str(error.value).startswith("kernel 'tiny/params': param ")


class Lying(int):
    """A number that prints itself as something else."""

    def __str__(self) -> str:
        return "1; evil()"

    __repr__ = __str__


def test_params_are_rendered_as_numbers(tiny: Any) -> None:
    """What a number says of itself is not what is rendered."""
    from lltm_inline.model.registry import registry
    from lltm_inline.source.template import render

    text = render(tiny(Lying(3)), registry.ops["tiny"]).text
    assert "#define FACTOR 3\n" in text and "evil" not in text
    for value in (2**64 - 1, 1 - 2**63, True, 1e308, 5e-324):
        assert (
            f"#define FACTOR {int(value) if isinstance(value, int) else value!r}\n"
            in render(tiny(value), registry.ops["tiny"]).text
        )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cpp": "int \ud800;"}, r"cpp holds '\\ud800', half a character"),
        ({"slots": {"A": "x\0"}}, "slot A holds a NUL character"),
        ({"slots": {"A": "\udcff"}}, r"slot A holds '\\udcff', half a character"),
        ({"slots": {"A\n": "x"}}, "must be an identifier"),
        ({"slots": {"\u0410": "x"}}, "must be an identifier"),
        ({"binding": " "}, "binding is empty, want 'torch_library', 'pybind11' or a text"),
        ({"binding": "\0"}, "binding holds a NUL character"),
        ({"saves": ("x y",)}, "saves 'x y', want names of inputs and outputs"),
    ],
)
def test_texts_that_are_refused(fields: dict[str, Any], message: str) -> None:
    """What no file of source text can hold is refused before one is written."""
    with pytest.raises(DefinitionError, match=message):
        Kernel("tiny/texts", **{"cpp": TEXT} | fields)


OTHER_PROGRAMS = "hands words to the linker, the assembler or the preprocessor"
PLUGINS = "loads code into the compiler"
LINKERS = "chooses another linker or assembler"
RESULTS = "changes what is made, or where"
LIBRARIES = "links a library, which only the playground does"
FILES = "reads or writes other files"
MESSAGES = "makes messages that the playground cannot read"
NONE = "is none that a kernel may have: want -D, -U, -I, -O, -f, -m, -W, -g, -std= or an option of nvcc for CUDA code"

# fmt: off
REFUSED = {
    OTHER_PROGRAMS: ["-Wl,-rpath,/evil", "-Wl,-init=evil", "-Wa,-o,x", "-Wp,-MD,x", "-Xlinker", "-Xassembler", "-Xclang"],
    PLUGINS: ["-fplugin=evil", "-fplugin=/evil.so", "-fplugin-arg-x-y", "-fpass-plugin=x", "-B/evil", "-specs=x", "-wrapper"],
    LINKERS: ["-fuse-ld=lld", "--ld-path=/evil", "-fno-integrated-as", "-fuse-linker-plugin"],
    RESULTS: [
        "-o", "-o/etc/passwd", "-c", "-S", "-E", "-x", "-xc", "-M", "-MD", "-MF/x", "-save-temps", "-save-temps=obj",
        "-fsyntax-only", "-shared", "-static", "-r", "-nostdlib", "-nostdinc", "-flto", "-flto=8", "-fwhole-program",
    ],
    LIBRARIES: ["-lm", "-L/evil", "-l:evil.so"],
    FILES: [
        "-include/etc/passwd", "-imacros/x", "-fdump-tree-all", "-fprofile-generate=/x", "-ftime-trace", "--coverage",
        "-fsanitize-ignorelist=/x", "-fopt-info-vec=/x", "-gsplit-dwarf", "-isysroot/x", "-fstack-usage", "-fmodules",
    ],
    MESSAGES: ["-fdiagnostics-format=json", "-fdiagnostics-color=always", "-fmessage-length=10"],
    NONE: [
        "-", "--", "-D", "-D=1", "-D1", "-I", "-T/script", "-z", "-Tx", "-h", "--help", "--version", "-dumpversion", "-###",
        "--sysroot=/x", "--target=arm", "-target", "-rdynamic", "-e", "-u", "--run", "-keep", "-ccbin=/evil", "--options-file=x", "-p",
    ],
}
SHELL = [
    "@file", "-DX=@(x)", "-DX=1\n-Wl,x", "-O2 -o x", "-DX='1'", '-DX="1"', "-DX=$(ls)", "-DX=`ls`", "-O2;ls", "-O2&&ls", "-O2>x",
    "-DX=\\", "-I*", "-DX=[a]", "-D{X,Y}", "-I~", "-DX=\0", "-DX\u200b", "-DX=\u2028", "\u2212O2", "O2", "", "/O2", 3, None,
]
TAKEN = (
    "-DX=1", "-DX=a/b", "-DX", "-UX", "-I/usr/include/a-b_c", "-isystem/usr/include", "-O2", "-Ofast", "-O", "-Os", "-std=c++23",
    "-std=gnu++20", "-fopenmp", "-ffast-math", "-fno-math-errno", "-funroll-loops", "-fmodulo-sched", "-fopt-info-vec-missed",
    "-fsanitize=address", "-fno-omit-frame-pointer", "-fvisibility=hidden", "-ffile-prefix-map=/a=/b", "-march=native",
    "-mtune=znver3", "-mavx512f", "-mprefer-vector-width=512", "-Wall", "-Wextra", "-Wno-unused", "-Werror=return-type",
    "-Wlarger-than=10", "-Wpedantic", "-w", "-g", "-g0", "-g1", "-g3", "-ggdb", "-gdwarf-4", "-Rpass=loop-vectorize", "-pedantic",
    "-pthread", "-pipe", "--param=max-unroll-times=4", "-arch=sm_90", "-gencode=arch=compute_80,code=sm_80", "-use_fast_math",
    "--use_fast_math", "-lineinfo", "-Xptxas=-v", "-Xptxas=-O3,-v,-dlcm=ca", "-Xcompiler=-O3,-Wall", "--expt-relaxed-constexpr",
    "-G", "-maxrregcount=32", "--diag-suppress=177", "-fmad=false", "--ftz=true", "-t=4", "--threads=4",
)
# fmt: on


@pytest.mark.parametrize("reason", REFUSED)
def test_flags_that_do_more_than_compile_are_refused(reason: str) -> None:
    """Through no flag does a kernel reach linker, assembler, plugins or files; each refusal says what the flag would do."""
    for flag in REFUSED[reason]:
        end = reason if reason == NONE else f"{reason}: leave it out"
        with pytest.raises(DefinitionError) as of_kernel:
            Kernel("tiny/flags", cpp=TEXT, flags=(flag,))
        assert str(of_kernel.value) == f"kernel 'tiny/flags': flag {flag!r} {end}"
        with pytest.raises(InputError) as of_build:
            validated_cflags([flag])
        assert str(of_build.value) == f"flag {flag!r} {end}"


@pytest.mark.parametrize("flag", SHELL)
def test_flags_that_a_shell_would_take_apart_are_refused(flag: Any) -> None:
    """A flag is one word of printable letters, with none that ninja or a shell reads in its own way."""
    assert complaint(flag) == "must start with '-' and hold no spaces or shell characters: give one list item per flag"


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("-Xcompiler=-Wl,-z", "holds '-Wl', which hands words to the linker"),
        ("-Xcompiler=-O3,-fplugin=x", "holds '-fplugin=x', which loads code"),
        ("-Xcompiler=-Xcompiler=-O3", "holds itself"),
        ("--compiler-options=-o,x", "holds '-o', which changes what is made"),
        ("-Xptxas=-o,evil", "hands '"),
        ("-Xptxas=--output-file=x", "hands '--output-file=x' to ptxas"),
        ("-Xptxas=@file", "hands '@file' to ptxas"),
    ],
)
def test_flags_inside_flags_are_looked_at(flag: str, message: str) -> None:
    """What nvcc hands on is held to the same rules."""
    assert complaint(flag).startswith(message)


def test_flags_that_a_kernel_may_have(tiny: Any) -> None:
    """What lessons, benchmarks and CUDA texts use is allowed."""
    assert [f"{flag} {complaint(flag)}" for flag in TAKEN if complaint(flag)] == []
    assert tiny(flags=TAKEN).flags == TAKEN


def test_refused_before_anything_is_made(tiny: Any, fresh_cache: Path, watched: Any) -> None:
    """A flag that is refused is refused before a compiler or the cache is asked."""
    with pytest.raises(InputError, match="hands words to the linker"):
        build(tiny(), cflags=["-O2", "-Wl,-rpath,/evil"], progress=False)
    with pytest.raises(InputError, match="cflags=3, want a tuple of strings"):
        build(tiny(), cflags=3, progress=False)  # type: ignore[call-overload]
    assert watched.compilations == 0 and entries() == []
