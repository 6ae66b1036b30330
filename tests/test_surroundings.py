"""Odd surroundings: variables, paths, locales, file systems and limits under which everything is as ever, or one sentence says why not."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from lltm_inline.base.packages import install_command
from lltm_inline.compiling import environment, header
from lltm_inline.compiling.compiler import build, make_job
from lltm_inline.compiling.toolchain import find_toolchain
from lltm_inline.errors import CacheError
from tests.conftest import ROOT
from tests.quick import QUICK

#: What everybody does: a kernel is called, one that does not compile is diagnosed, one that crashes is named. What is said goes out
#: in ASCII, without the length of the log.
SESSION = r"""
import locale, os, re, sys

locale.setlocale(locale.LC_ALL, "")
sys.path[:0] = sys.argv[1:]

import torch
import lltm_inline as li
from lltm_inline.errors import LltmInlineError
from tests import tiny

tiny.register()
FAULT = "*(volatile int*)16 = 1; // gr\u00f6\u00dfe \u2026"
TEXTS = {
    "right": tiny.STABLE,
    "broken": tiny.BROKEN.replace("FACTORY);", "FACTORY);  // gr\u00f6\u00dfe \u2026"),
    "crash": tiny.STABLE.replace("return to;", f"{FAULT}\n  return to;"),
    **({"module": "#include <Python.h>\n" + tiny.STABLE} if "module" in sys.argv else {}),
}
# Each test builds texts of its own: what another has built tells nothing of these surroundings.
OWN = f"\n// {os.environ['PYTEST_CURRENT_TEST']}\n"
for variant, text in TEXTS.items():
    try:
        print(li.load(tiny.kernel(text=text + OWN, variant=variant), progress=False)(torch.ones(2)).tolist())
    except LltmInlineError as error:
        print(type(error).__name__, ascii(re.sub("\n  Full log: .*", "", str(error))))
        if not isinstance(error, li.BuildError | li.CrashError):
            break
"""

#: Nobody has these: a directory, and a library.
NOWHERE = "/nowhere/at/all"
#: Each is set in many a shell, none is read by what compiles here.
UNREAD = {
    **dict.fromkeys(("CC", "LD", "AR"), NOWHERE),
    **dict.fromkeys(("CFLAGS", "CXXFLAGS", "CPPFLAGS"), "-DFACTOR=what -fno-such-flag"),
    "LDFLAGS": "-lnowhere",
    "TORCH_CUDA_ARCH_LIST": "Foo",
    "MAX_JOBS": "many",
    "NINJA_STATUS": "%p is done: error: ",
    "TMPDIR": NOWHERE,
    "TERM": "no such terminal",
    "PYTHONSAFEPATH": "1",
    "PYTHONOPTIMIZE": "2",
    "PYTHONWARNINGS": "error",
    "PYTHONNOUSERSITE": "1",
}


def session(*arguments: str, before: str = "", inside: tuple[str, ...] = (), **variables: str | None) -> str:
    """Run the session in a process of its own; return what it has printed.

    Args:
        arguments: of the session.
        before: commands of a shell in whose mounts it is to run, with a network or without.
        inside: the command that runs it there.
        variables: of the environment; None for those that are not to be set.
    """
    given = {**os.environ, "CXX": QUICK, "PYTHONPATH": str(ROOT), **variables}
    command = [*inside, sys.executable, "-c", SESSION, *arguments]
    if before:
        command = [*unshared(), "sh", "-ec", f"{before}\nexec {shlex.join(command)}"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={k: v for k, v in given.items() if v is not None}
    )
    assert not done.returncode and "Traceback" not in done.stderr, done.stderr
    return done.stdout


def unshared() -> list[str]:
    """Return the command in which mounts and the network are one's own."""
    command = ["unshare", *(["--user", "--map-root-user"] if os.geteuid() else []), "--mount", "--net"]
    if not shutil.which("unshare") or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("needs the right to mount: unshare gives none")
    return command


@pytest.fixture(scope="module")
def usual() -> str:
    """Return what the session prints in plain surroundings."""
    said = session()
    right, broken, crash = said.splitlines()
    assert right == "[2.0, 2.0]"
    assert broken.startswith("BuildError \"kernel 'tiny/broken' did not compile (") and r"tiny/broken:20:" in broken
    assert r"gr\xf6\xdfe \u2026" in broken and "FACTORY" in broken
    assert crash.startswith("CrashError \"kernel 'tiny/crash' crashed in forward: SIGSEGV (segmentation fault)")
    assert "tiny/crash:16: it writes to address 0x10, 16 bytes past a null pointer" in crash
    assert r"-> 16 |   *(volatile int*)16 = 1; // gr\xf6\xdfe \u2026" in crash
    return said


def test_variables_that_nothing_reads(usual: str, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """CFLAGS and its kin reach no compiler, and so change no digest; nor do Python's own variables change what is said."""
    assert session(**UNREAD) == usual
    before = make_job(tiny(), find_toolchain()).key
    for name, value in UNREAD.items():
        monkeypatch.setenv(name, value)
    assert make_job(tiny(), find_toolchain()).key == before


@pytest.mark.parametrize("name", environment._OF_COMPILERS.split())
def test_what_compilers_read_is_part_of_the_digest(name: str, tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another value is another library, another precompiled header, and another build where one is remembered."""
    found, keys = find_toolchain(), set()
    for value in ("", "/one", "/another"):
        monkeypatch.setenv(name, value)
        keys.add((make_job(tiny(), found).key, header.header_key(found, "light"), environment.of_builds()))
    assert [len(set(each)) for each in zip(*keys, strict=True)] == [3, 3, 3]


def test_headers_by_another_cpath(
    tiny: Any, fresh_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same text with another header of the same name, found by CPATH, is another library."""
    made = []
    for factor in (3, 5):
        directory = tmp_path / str(factor)
        directory.mkdir()
        (directory / "factor.h").write_text(f"inline constexpr double factor = {factor};\n")
        monkeypatch.setenv("CPATH", str(directory))
        text = "#include <factor.h>\n" + tiny().cpp.replace("FACTOR", "factor")
        made.append(build(tiny(text=text, variant="path"), progress=False))
    assert made[0].digest != made[1].digest and not made[1].cached
    assert made[0].sha256 != made[1].sha256


@pytest.mark.full
def test_a_library_that_is_preloaded(usual: str) -> None:
    """What LD_PRELOAD brings, or fails to bring with a word in every log, changes nothing of what is said."""
    assert session(LD_PRELOAD=f"{NOWHERE}.so libm.so.6", LD_LIBRARY_PATH=NOWHERE) == usual


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        pytest.param(
            {"CXX": "env g++ -m64"},
            "ToolchainError \"'env g++ -m64' (from the environment variable CXX) is more than one word, want a compiler's name. "
            'Its flags: cflags=[...]"',
            id="CXX",
        ),
        pytest.param(
            {"HOME": "/proc", "LLTM_INLINE_CACHE": None, "XDG_CACHE_HOME": None},
            "CacheError 'cannot use the cache directory /proc/.cache/lltm_inline: No such file or directory. "
            "Set LLTM_INLINE_CACHE to a directory of your own'",
            id="HOME",
        ),
    ],
)
def test_what_cannot_be_is_said_first(variables: dict[str, str], said: str) -> None:
    """One typed error with the cure, before anything is compiled."""
    assert session(**variables) == f"{said}\n"


@pytest.mark.full
def test_a_compiler_that_finds_no_parts_of_its_own() -> None:
    """Where a compiler fails and says nothing of a text, the variables that it reads are named."""
    said = session(CXX="g++", GCC_EXEC_PREFIX=NOWHERE).splitlines()[0]
    assert said.startswith("BuildError") and "cannot execute 'cc1plus'" in said
    cure = (
        f"Compilers read what is set in the environment: GCC_EXEC_PREFIX={NOWHERE}. Try without: unset GCC_EXEC_PREFIX"
    )
    assert cure in said


def test_a_cache_from_which_nothing_may_be_loaded(tmp_path: Path) -> None:
    """On a disk that is mounted noexec nothing is compiled first."""
    cache = tmp_path / "cache"
    cache.mkdir(0o700)
    said = session(before=f"mount -t tmpfs -o noexec,mode=700 none {cache}", LLTM_INLINE_CACHE=str(cache))
    assert said == (
        f"CacheError 'the cache directory {cache} is mounted noexec: no kernel in it could be loaded. "
        "Set LLTM_INLINE_CACHE to a directory of your own, elsewhere'\n"
    )


@pytest.mark.full
def test_python_without_headers(usual: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that includes Python.h names the package that brings it; others need none."""
    folder = sysconfig.get_path("include")
    said = session("module", before=f"mount -t tmpfs none {shlex.quote(folder)}", CPATH=None)
    assert said.startswith(usual)
    version, cure = sys.version.split()[0], install_command("python headers")
    assert said.removeprefix(usual) == (
        f"ToolchainError \"no Python.h in {folder}, which 'tiny/module' includes: the headers of Python {version} are not installed. "
        f'Install them with: {cure}"\n'
    )


#: A container: no network, 64 MB of shared memory, packages that cannot be written, one core, and not root.
CONTAINER = f"""
mount -t tmpfs -o size=64m none /dev/shm
mount --bind {shlex.quote(sysconfig.get_path("purelib"))} {shlex.quote(sysconfig.get_path("purelib"))}
mount -o remount,bind,ro {shlex.quote(sysconfig.get_path("purelib"))}
"""
NOBODY = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "taskset", "-c", "0")
#: Of /dev what a program cannot do without, and no /dev/shm.
BARE = """
bare=$(mktemp -d)
mount -t tmpfs none $bare
for device in null zero urandom random; do touch $bare/$device; mount --bind /dev/$device $bare/$device; done
ln -s /proc/self/fd $bare/fd
mount --move $bare /dev
"""


@pytest.mark.parametrize(
    ("before", "inside"),
    [(CONTAINER, NOBODY), pytest.param(BARE, (), marks=pytest.mark.full)],
    ids=["container", "bare"],
)
def test_in_a_container(usual: str, before: str, inside: tuple[str, ...]) -> None:
    """Without network, shared memory, a second core or root's rights all is as ever."""
    assert session(before=before, inside=inside) == usual


@pytest.mark.parametrize(
    "locale",
    [
        "POSIX",
        pytest.param("de_DE ISO-8859-1", marks=pytest.mark.full),
        pytest.param("tr_TR UTF-8", marks=pytest.mark.full),
    ],
)
def test_locales(usual: str, locale: str, tmp_path: Path) -> None:
    """Texts and paths are UTF-8 whatever the locale says, a comma in numbers and an I without a dot change nothing."""
    name, _, charset = locale.partition(" ")
    if charset:
        made = subprocess.run(["localedef", "-i", name, "-f", charset, tmp_path / name], capture_output=True, text=True)
        if made.returncode and "cannot open locale definition file" in made.stderr:
            pytest.skip("needs the sources of locales: Debian and Ubuntu have them in the package locales")
        assert (tmp_path / name).is_dir(), made.stderr
    given = {"LC_ALL": name, "LOCPATH": str(tmp_path), "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    assert session(**given) == usual


#: Blanks, quotes, umlauts and all else that shells and ninja give a meaning; some 200 characters.
ODD = "a b'c\"d \u00fc\u2026 %20s #;,*[=@(&<`!\\ " + "x" * 150


@pytest.mark.full
def test_paths(usual: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory, the cache, the compiler, torch and this package may lie anywhere; where not, it is said."""
    project, cache = tmp_path / ODD, tmp_path / ODD.replace("'", "").replace('"', "")
    project.mkdir()
    for package in (Path(torch.__file__).parent, ROOT / "lltm_inline", ROOT / "tests"):
        (project / package.name).symlink_to(package)
    (project / "g++").symlink_to(QUICK)
    monkeypatch.chdir(project)
    given = {"LLTM_INLINE_NO_HEADER": "1", "CXX": str(project / "g++"), "PYTHONPATH": None}
    assert session(str(project), **given, LLTM_INLINE_CACHE=str(cache)) == usual


@pytest.mark.parametrize("letter", ["$", "'", '"', ":", "|", "\r"])
def test_letters_that_build_tools_misread(
    letter: str, tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache in whose path one of these stands is refused before anything is compiled."""
    monkeypatch.setenv("LLTM_INLINE_CACHE", str(tmp_path / f"a{letter}b"))
    said = f"the path of the cache directory {str(tmp_path / f'a{letter}b')!r} holds a character that build tools misread. "
    with pytest.raises(CacheError) as caught:
        build(tiny(), progress=False)
    assert str(caught.value) == said + "Set LLTM_INLINE_CACHE to a directory of your own"


@pytest.mark.full
def test_torch_where_ninja_cannot_find_it(tmp_path: Path) -> None:
    """One letter of torch's own path cannot be written down for ninja."""
    project = tmp_path / "a$b"
    project.mkdir()
    (project / "torch").symlink_to(Path(torch.__file__).parent)
    said = session(str(project), LLTM_INLINE_CACHE=str(tmp_path / "cache"), LLTM_INLINE_NO_HEADER="1")
    assert said == (
        f"ToolchainError \"{project / 'torch'} holds a '$', which ninja misreads: no kernel can be built here. Move it elsewhere\"\n"
    )


#: Prints how many compilers are run at a time, and what the doctor says of torch.
COUNTING = """
from lltm_inline.compiling.compiler import _workers
import lltm_inline as li

finding = li.doctor()["torch"]
print(_workers(), finding.state, finding.detail.partition(", ")[2].rstrip(")"), finding.cure, sep="; ")
"""


@pytest.fixture
def half() -> Iterator[Path]:
    """Make a control group that gives its processes one processor."""
    for root, limits in (
        (Path("/sys/fs/cgroup/cpu"), {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000"}),
        (Path("/sys/fs/cgroup"), {"cpu.max": "100000 100000"}),
    ):
        group = root / f"lltm_inline-test-{os.getpid()}"
        with suppress(OSError):
            group.mkdir()
            try:
                for name, value in limits.items():
                    (group / name).write_text(value)
                yield group
                return
            finally:
                group.rmdir()
    pytest.skip("needs the right to make control groups")


@pytest.mark.parametrize("how", ["cgroup", "taskset"])
def test_one_processor(how: str, request: pytest.FixtureRequest) -> None:
    """No more compilers run at a time than may; the doctor says that torch has more threads than a control group lets run."""
    given = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in ("MAX_JOBS", "OMP_NUM_THREADS"):
        given.pop(name, None)
    python = [sys.executable, "-c", COUNTING]
    threads = len(os.sched_getaffinity(0))
    if how == "taskset":
        command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *python]
        said = "1; ok; 1 threads; \n"
    elif threads == 1:
        pytest.skip("needs two processors")
    else:
        group = request.getfixturevalue("half")
        command = ["sh", "-ec", f"echo $$ > {group}/cgroup.procs; exec {shlex.join(python)}"]
        said = f"1; optional; {threads} threads) on 1 processor: they wait for each other; export OMP_NUM_THREADS=1\n"
    done = subprocess.run(command, capture_output=True, text=True, env=given)
    assert done.stdout == said, done.stderr
