"""Locks this process in, for good: what runs in it afterwards reaches no file, no network, no other process.

    namespaces   a user, a network and an IPC namespace of its own; a container may deny them, and the rest holds without
    Landlock     no file can be opened but those that are named, and none written but in one folder
    seccomp      only the system calls that computing takes; one that asks for a process or the network ends this process
    limits       memory, threads, open files, no file written, no core dump; nobody may look into its memory

No library is needed for it, and nothing of it needs root. Each lock is set by the process itself, before the first line
of somebody else's, and no process can take back its own.

Source: landlock(7), seccomp(2), user_namespaces(7); numbers of system calls from asm/unistd.h.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import resource
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

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

#: System calls by name, on x86-64 and on AArch64. Those that computing takes, the frequent ones first:
_ALLOWED = {
    "futex": (202, 98), "read": (0, 63), "write": (1, 64), "recvmsg": (47, 212), "sendmsg": (46, 211), "poll": (7, -1),
    "ppoll": (271, 73), "sendto": (44, 206), "recvfrom": (45, 207), "munmap": (11, 215), "madvise": (28, 233),
    "mprotect": (10, 226), "brk": (12, 214), "mremap": (25, 216), "sched_yield": (24, 124), "close": (3, 57),
    "openat": (257, 56), "fstat": (5, 80), "newfstatat": (262, 79), "lseek": (8, 62), "pread64": (17, 67),
    "readv": (19, 65), "writev": (20, 66), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "sigaltstack": (131, 132), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169), "times": (100, 153),
    "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "exit": (60, 93), "exit_group": (231, 94), "uname": (63, 160),
    "getrlimit": (97, 163), "getrusage": (98, 165), "sysinfo": (99, 179),
    "sched_getaffinity": (204, 123), "set_tid_address": (218, 96), "set_robust_list": (273, 99), "getcpu": (309, 168),
    "getrandom": (318, 278), "membarrier": (324, 283), "rseq": (334, 293), "restart_syscall": (219, 128),
    "statx": (332, 291), "readlink": (89, -1), "readlinkat": (267, 78), "access": (21, -1), "faccessat": (269, 48),
    "getcwd": (79, 17), "getdents64": (217, 61), "get_mempolicy": (239, 236),
}  # fmt: skip
#: Those that no kernel needs, and that only an attempt to get out makes: they end the process.
_DEADLY = {
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "fork": (57, -1), "vfork": (58, -1), "execve": (59, 221),
    "execveat": (322, 281), "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "setrlimit": (160, 164), "seccomp": (317, 277), "unshare": (272, 97),
    "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "keyctl": (250, 219), "add_key": (248, 217), "shmget": (29, 194), "memfd_create": (319, 279),
    "ftruncate": (77, 46), "truncate": (76, 45), "fallocate": (285, 47),
}  # fmt: skip
#: Those of which it depends on an argument: glibc makes threads, asks for a limit and names a thread by them.
_CLONE, _CLONE3, _TGKILL, _PRLIMIT, _MMAP = (56, 220), (435, 435), (234, 131), (302, 261), (9, 222)
#: Of `mmap`: MAP_SHARED, and MAP_GROWSDOWN, which counts as stack.
_THREAD, _UNCOUNTED, _ABORT = 0x10000, 0x101, 6
#: Numbers, which argument, and what it may be: names of threads and of memory; copies and flags of files, and not who gets their signals.
_CHOSEN = (((157, 167), 0, (15, 16, 0x53564D41, 42)), ((72, 25), 1, (0, 1, 2, 3, 4, 1030)))

_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_EPERM, _ENOSYS = 1, 38
_LOAD, _JUMP_IF, _JUMP_SET, _JUMP_GE, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


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


def landlock_version() -> int:
    """Return the version of Landlock that this system has, 0 for none."""
    return max(int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)), 0)


def _landlock(read: Sequence[str | os.PathLike[str]], write: str | os.PathLike[str] | None) -> bool:
    version = landlock_version()
    if not version:
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


def _seccomp() -> bool:
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    program = _program(machine[1], machine[0], os.getpid())
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("=H6xQ", len(program) // 8, ctypes.addressof(code))
    number = _DEADLY["seccomp"][machine[0]]
    return bool(_libc.syscall(number, 1, 0, header) == 0)


def _program(architecture: int, column: int, pid: int) -> bytes:
    """Write the filter: what is allowed, what depends on an argument, what is deadly; anything else is EPERM."""
    out: list[bytes] = []

    def add(code: int, k: int, yes: int = 0, no: int = 0) -> None:
        out.append(struct.pack("=HBBI", code, yes, no, k & 0xFFFFFFFF))

    def load(argument: int, high: bool = False) -> None:
        add(_LOAD, 16 + 8 * argument + 4 * high)

    add(_LOAD, 4)
    add(_JUMP_IF, architecture, 1)
    add(_RETURN, _KILL)
    add(_LOAD, 0)
    if column == 0:  # the calls of x32, which have other numbers
        add(_JUMP_GE, 0x40000000, 0, 1)
        add(_RETURN, _KILL)
    for table, action in ((_ALLOWED, _ALLOW), (_DEADLY, _KILL)):
        for numbers in table.values():
            if numbers[column] >= 0:
                add(_JUMP_IF, numbers[column], 0, 1)
                add(_RETURN, action)
    add(_JUMP_IF, _CLONE3[column], 0, 1)
    add(_RETURN, _ERRNO | _ENOSYS)  # its flags lie in memory, out of a filter's sight: glibc takes `clone` then
    add(_JUMP_IF, _CLONE[column], 0, 4)
    load(0)
    add(_JUMP_SET, _THREAD, 0, 1)
    add(_RETURN, _ALLOW)
    add(_RETURN, _KILL)
    add(_JUMP_IF, _TGKILL[column], 0, 6)  # abort() sends it to itself
    load(0)
    add(_JUMP_IF, pid, 0, 3)
    load(2)
    add(_JUMP_IF, _ABORT, 0, 1)
    add(_RETURN, _ALLOW)
    add(_RETURN, _KILL)
    add(_JUMP_IF, _PRLIMIT[column], 0, 6)
    load(2)
    add(_JUMP_IF, 0, 0, 3)
    load(2, high=True)
    add(_JUMP_IF, 0, 0, 1)
    add(_RETURN, _ALLOW)
    add(_RETURN, _KILL)
    add(_JUMP_IF, _MMAP[column], 0, 4)
    load(3)
    add(_JUMP_SET, _UNCOUNTED, 0, 1)
    add(_RETURN, _ERRNO | _EPERM)
    add(_RETURN, _ALLOW)
    for numbers, argument, values in _CHOSEN:
        add(_JUMP_IF, numbers[column], 0, 2 * len(values) + 2)
        load(argument)
        for value in values:
            add(_JUMP_IF, value, 0, 1)
            add(_RETURN, _ALLOW)
        add(_RETURN, _KILL)
    add(_RETURN, _ERRNO | _EPERM)
    return b"".join(out)
