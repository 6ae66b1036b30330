"""Locks this process in, for good: what runs in it afterwards reaches no file, no network, no other process.

    namespaces   a user, a network and an IPC namespace of its own; a container may deny them, and the rest holds without
    Landlock     no file can be opened but those that are named, and none written but in one folder
    seccomp      only the system calls that computing takes; one that asks for a process or the network ends this process
    limits       memory, threads, open files, no file written, no core dump; nobody may look into its memory

Nothing of it needs root. Each lock is set by the process itself, before the first line of somebody else's, and no process can
take back its own. The filter is written by libseccomp, by way of pyseccomp; the package landlock knows nothing of the network and
of signals, and is not taken.

Source: landlock(7), seccomp(2), user_namespaces(7).
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
import resource
import signal
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_NEW_USER, _NEW_NET, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_SET_DUMPABLE, _SET_NO_NEW_PRIVS = 4, 38
_CAPABILITIES = 0x20080522

#: Landlock's rights on files, by the version that knows them first.
_RIGHTS = {1: 0x1FFF, 2: 0x2000, 3: 0x4000, 5: 0x8000}
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1, 2, 4, 8, 0x4000
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446

#: The locks without which nothing of a student's is loaded.
NEEDED = ("Landlock", "seccomp")
LOCKS = ("namespaces", *NEEDED)
#: What one process may have of each; torch has a thread for each core, and OpenMP as many.
THREADS, _FILES = max(128, 4 * (os.cpu_count() or 1)), 64

#: System calls that computing takes, the frequent ones first.
_ALLOWED = """
    futex read write recvmsg sendmsg poll ppoll sendto recvfrom munmap madvise mprotect brk mremap sched_yield close openat fstat
    newfstatat lseek pread64 readv writev rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack nanosleep clock_nanosleep
    clock_gettime clock_getres gettimeofday times getpid gettid getppid getuid geteuid getgid getegid exit exit_group uname
    getrlimit getrusage sysinfo sched_getaffinity set_tid_address set_robust_list getcpu getrandom membarrier rseq
    restart_syscall statx readlink readlinkat access faccessat getcwd getdents64 get_mempolicy
"""
#: Those that no kernel needs, and that only an attempt to get out makes: they end the process.
_DEADLY = """
    socket socketpair connect bind listen accept accept4 fork vfork execve execveat kill tkill rt_sigqueueinfo ptrace
    process_vm_readv process_vm_writev pidfd_open pidfd_getfd pidfd_send_signal setrlimit seccomp unshare setns mount umount2
    pivot_root chroot bpf perf_event_open userfaultfd io_uring_setup keyctl add_key shmget memfd_create ftruncate truncate fallocate
"""
#: Of `clone`: a thread; of `mmap`: MAP_SHARED, and MAP_GROWSDOWN, which counts as stack.
_THREAD, _UNCOUNTED = 0x10000, 0x101
#: What a first argument may be: names of threads and of memory; and a second: copies and flags of files, and not who gets their signals.
_CHOSEN = {"prctl": (0, (15, 16, 0x53564D41, 42)), "fcntl": (1, (0, 1, 2, 3, 4, 1030))}
#: Of what else they are asked for, most ends the process: all that there is, for now.
_OTHERS = 100


def lock_in(
    read: Sequence[str | os.PathLike[str]],
    write: str | os.PathLike[str] | None = None,
    *,
    memory: int,
    seconds: int,
    file: int | None = None,
) -> tuple[str, ...]:
    """Lock this process in; it must have no threads yet.

    Args:
        read: files, and folders with all that is in them, that it may still read.
        write: the one folder in which it may write.
        memory: bytes that it may take beyond what it has.
        seconds: of the processors that it may take; of each program by itself.
        file: it may start programs out of what it may read, as a compiler does, which may write files of so many bytes; their
            system calls are not filtered.

    Returns:
        Those of `LOCKS` that hold.
    """
    locks = []
    rules()  # read now: behind the locks there is no file of libseccomp
    if _libc.unshare(_NEW_USER | _NEW_NET | _NEW_IPC) == 0:
        locks.append("namespaces")
    nothing = struct.pack("=6I", *[0] * 6)
    _libc.syscall(
        {"x86_64": 126, "aarch64": 91}.get(platform.machine(), -1), struct.pack("=Ii", _CAPABILITIES, 0), nothing
    )
    _limit(memory, seconds, file, own=bool(locks))
    _libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    if _landlock(read, write):
        locks.append("Landlock")
    if file is not None or _seccomp():
        locks.append("seccomp")
    return tuple(locks)


def _limit(memory: int, seconds: int, file: int | None, own: bool) -> None:
    with open("/proc/self/statm") as statm:
        held = int(statm.read().split()[5]) * resource.getpagesize()
    limits = {resource.RLIMIT_DATA: held + memory, resource.RLIMIT_CPU: math.ceil(time.process_time()) + seconds}
    limits |= {resource.RLIMIT_CORE: 0, resource.RLIMIT_MSGQUEUE: 0}
    if file is None:
        limits |= {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_NOFILE: _FILES, resource.RLIMIT_MEMLOCK: 0}
    else:
        limits[resource.RLIMIT_FSIZE] = file
    if own:  # else all that this user runs counts
        limits[resource.RLIMIT_NPROC] = THREADS
    for which, value in limits.items():
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with suppress(ValueError, OSError):
            # A signal of its own says that the seconds are used up, before the one that anybody may send.
            resource.setrlimit(which, (value, value + (which == resource.RLIMIT_CPU)))


def _landlock(read: Sequence[str | os.PathLike[str]], write: str | os.PathLike[str] | None) -> bool:
    version = int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))
    if version <= 0:  # there is none
        return False
    every = sum(rights for since, rights in _RIGHTS.items() if since <= version)
    # All of the network by TCP, and what is scoped: abstract sockets and signals to processes outside.
    wanted = struct.pack("=QQQ", every, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = _libc.syscall(_CREATE_RULESET, wanted, ctypes.c_size_t(size), 0)
    if rules < 0:
        return False
    readable = _EXECUTE | _READ_FILE | _READ_DIR
    null = [os.devnull] if write is not None else []
    for path, rights in [*((p, readable) for p in read), *((p, every) for p in [write, *null] if p is not None)]:
        with suppress(FileNotFoundError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rights &= every if Path(path).is_dir() else _OF_FILES & every
            failed = _libc.syscall(_ADD_RULE, rules, 1, struct.pack("=Qi", rights, place), 0)
            os.close(place)
            if failed:
                return False
    locked = _libc.syscall(_RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return locked


@lru_cache
def rules() -> Any:
    """Return the filter of system calls: what is allowed, what depends on an argument, what is deadly; anything else is EPERM.

    Before a process forks those that it locks in: of a page that is written after a fork there is a copy. None without libseccomp.
    """
    try:
        import pyseccomp as filters  # its import looks for libseccomp
    except (ImportError, RuntimeError):
        return None
    allow, kill, equal, masked = filters.ALLOW, filters.KILL_PROCESS, filters.EQ, filters.MASKED_EQ
    made = filters.SyscallFilter(filters.ERRNO(errno.EPERM))
    made.set_attr(filters.Attr.ACT_BADARCH, kill)  # the calls of x32, and of 32 bits
    for names, action in ((_ALLOWED, allow), (_DEADLY, kill)):
        for name in names.split():
            made.add_rule(action, name)
    for name, (argument, values) in _CHOSEN.items():
        for value in {*values, *range(_OTHERS)}:
            made.add_rule(allow if value in values else kill, name, filters.Arg(argument, equal, value))
    made.add_rule(
        filters.ERRNO(errno.ENOSYS), "clone3"
    )  # its flags are out of a filter's sight: glibc takes `clone` then
    made.add_rule(allow, "clone", filters.Arg(0, masked, _THREAD, _THREAD))
    made.add_rule(kill, "clone", filters.Arg(0, masked, _THREAD, 0))
    made.add_rule(allow, "mmap", filters.Arg(3, masked, _UNCOUNTED, 0))
    made.add_rule(allow, "prlimit64", filters.Arg(2, equal, 0))  # asks for a limit
    made.add_rule(kill, "prlimit64", filters.Arg(2, filters.NE, 0))
    made.add_rule(kill, "tgkill", filters.Arg(2, filters.NE, signal.SIGABRT))
    return made


def _seccomp() -> bool:
    """Filter the system calls of this process, which may send a signal to itself alone: abort() does."""
    made = rules()
    if made is None:
        return False
    import pyseccomp as filters

    try:
        own = filters.Arg(0, filters.EQ, os.getpid()), filters.Arg(2, filters.EQ, signal.SIGABRT)
        made.add_rule(filters.ALLOW, "tgkill", *own)
        made.load()
    except OSError:
        return False
    return True
