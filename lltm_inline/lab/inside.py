"""What runs behind the locks: the builder, which compiles a text, and the runner, which calls what was compiled.

Both are forked from a small server that has imported torch and nothing of a lab; each serves one text and ends. They know the
text, the op's schema, and the numbers that they are given: no reference, no expected result, no seed.

The judge's messages are pickles. What goes back is never one: a header, records of fixed form, and a line of text. Inputs lie in
memory that the judge has made and shares; results lie where the kernel has put them, and the judge reads them there, of a runner
that is timed while it stands still. So nothing of ours in the runner is a part of an answer that a kernel could give in its place,
and be sooner. Whoever reads that takes every byte for a lie.
"""

from __future__ import annotations

import ctypes
import encodings.idna  # noqa: F401 (a connection imports it, and behind the locks nothing is imported)
import json
import mmap
import os
import re
import resource
import secrets
import socket
import struct
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..base.files import UTF8
from ..checking.guard import Guard
from ..checking.runner import one_line, threads
from ..compiling import header, inline, light
from ..compiling.compiler import Build, verify
from ..compiling.failures import failure_of, passing_failure
from ..compiling.job import Job, _platform_identity, compile_checks, make_job
from ..compiling.toolchain import Toolchain
from ..cpp.functions import find_functions
from ..errors import BuildError, LltmInlineError, SignatureError
from ..model.registry import Kernel, Op, registry
from ..run.built import Built
from ..run.cases.drawing import seeded
from ..run.function import Function, as_tuple
from ..run.library import _attach, load_built
from ..source.template import prelude_text
from ..tables.counts import WHATS
from ..workers import forkserver
from ..workers.channel import Reader
from ..workers.worker import Modes
from . import sandbox
from .symbols import complaint_of_code, complaint_of_cuda, complaint_of_text, expands_in_headers, own_texts

#: Memory that both map, for the inputs of calls. Untouched pages cost nothing.
ARENA = 1 << 29
#: What a CUDA text's launches have done stands behind it, in pages that only the runtime opens, see `cuda_cpu/book.h`: a head, and
#: lines of the text.
BOOK, BOOK_AT = 1 << 17, 1 << 44
BOOK_HEAD, BOOK_LINE = struct.Struct("<8Q1024s"), struct.Struct("<2I3Q8I")
BOOK_WHATS = (*WHATS[:6], "divergent branch")
#: A header is followed by its records, and these by its text.
MAGIC = b"LLTM"
HEADER = struct.Struct("<4sIBBHI")
RECORD = struct.Struct("<BBBBI8q8qQ")
DONE, RAISED = 0, 1
MISSING, TENSOR, NUMBER = 0, 1, 2
MOST_RECORDS, MOST_AXES, LONGEST_TEXT = 64, 8, 1 << 16
_REASON = 1000
DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex128, torch.complex64, torch.int64,
    torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
)  # fmt: skip


@dataclass(frozen=True)
class Laid:
    """A tensor in the arena: where its storage lies, and its place in that.

    Attributes:
        offset, nbytes: of the storage.
        dtype, size, stride, start: of the tensor; `start` counts elements.
        wanted: its gradient is.
    """

    offset: int
    nbytes: int
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    start: int
    wanted: bool = False


@dataclass(frozen=True)
class Ask:
    """One call.

    Attributes:
        number: of it; the answer has the same.
        inputs: `Laid` for each tensor, anything else as it is; None: the gradients of an earlier call.
        of: that call.
        grads: of its outputs; None for one that is not used.
        wanted: for each input, whether its gradient is.
        both: forward, and then the gradients, which is what is timed.
        threads: of torch.
        forget: calls whose gradients nobody wants any more.
        guard: `end` or `start`: tensors lie between pages that fault when they are touched.
        dtype: in which the guard's pattern is.
    """

    number: int
    inputs: tuple[Any, ...] | None = None
    of: int = 0
    grads: tuple[Any, ...] = ()
    wanted: tuple[bool, ...] = ()
    both: bool = False
    threads: int = 1
    forget: tuple[int, ...] = ()
    guard: str = ""
    dtype: torch.dtype = torch.float64


class LabServer(forkserver.ForkServer):
    """Forks builders and runners; one that the judge has stopped has not ended."""

    ends = os.WEXITED

    def shown(self, pid: int) -> list[int]:
        """Open what shows a process to the judge, who counts processes otherwise where bubblewrap is around this one."""
        with suppress(OSError):  # as before Linux 5.3; where it is wanted, nothing is forked then
            return [os.pidfd_open(pid)]
        return []

    def work(self, requests: int, box: int) -> None:
        keep = sorted({0, 1, 2, requests, box})
        for low, high in zip(keep, [*keep[1:], 1 << 16], strict=True):
            os.closerange(low + 1, high)
        os.chdir("/")
        link = socket.socket(fileno=requests)
        reader = Reader(link, trusted=True)
        task = receive(reader)
        if task is not None:
            task.run(link, reader, box)


def main(control: int) -> None:
    """Serve until the other side of the control socket closes."""
    import platformdirs  # noqa: F401 (where the cache is)
    import torch.fx.experimental.symbolic_shapes  # the first gradient imports it
    import torch.utils.cpp_extension

    sandbox.rules()
    _platform_identity()  # remembered: behind the locks nobody may ask for it
    # The grammar is imported when it is first used, and behind the locks nothing is imported.
    find_functions("void f() {}")
    for apart in (True, False):  # read now: behind the locks there is no file of ours
        prelude_text("light cuda-cpu", apart)
    torch.get_num_threads()
    LabServer(socket.socket(fileno=control)).run()


def receive(reader: Reader) -> Any:
    """Wait for the next message; None at the end of the connection."""
    while (message := reader.message()) is None:
        if not reader.feed():
            return None
    return message[0]


def answer(
    link: socket.socket, number: int, status: int, text: str = "", records: Sequence[bytes] = (), file: int = -1
) -> None:
    """Send what came of a request; with an open file, if any."""
    line = text.encode(errors="replace")[:LONGEST_TEXT]
    message = HEADER.pack(MAGIC, number, status, len(records), 0, len(line)) + b"".join(records) + line
    if file >= 0:
        socket.send_fds(link, [message], [file])
    else:
        link.sendall(message)


#: What the preprocessor has made of a text; names in it; and what is a directive, or no end of a line, to who reads it again.
_PREPROCESSED, _NAME = "main.ii", re.compile(r"[^\W\d]\w*")
_DIRECTIVE = re.compile(r"""^(?!# \d+ "|\#pragma\b)[ \t\f\v]*(?:\#|%:)|\\[ \t\f\v]*$""", re.MULTILINE)
#: What compilers, and their drivers at the start of a line, say when they have reached a limit that was set for them.
_LIMITS = (
    (r"CPU time limit exceeded", "is still being compiled after minutes of the processor"),
    (r"File size limit exceeded|File too large", "is compiled to more than a file may hold: is there a large initialised array?"),
    (r"out of memory allocating|virtual memory exhausted|std::bad_alloc|memory exhausted", "takes its compiler too much memory"),
)  # fmt: skip
#: How they say that the machine has failed them, where a text has no words: in a fatal error of their own.
_PASSING = re.compile(
    r"^(?:[^\s:]+(?::\d+)*: )?fatal error: (?:error (?:writing|closing)|can.t write|cannot open output|unable to (?:open|write))",
    re.MULTILINE | re.IGNORECASE,
)
_UNDEFINED = re.compile(
    r"undefined (?:reference|symbol)|multiple definition|duplicate symbol|not defined", re.IGNORECASE
)


#: The namespace of what runs, checks and counts CUDA texts.
_RUNTIME = "cuda_cpu"


@dataclass(frozen=True)
class BuildTask:
    """Compile a text.

    Attributes:
        kernel, op: what is compiled; the op goes without its reference.
        toolchain: of the judge.
        directory: in which the library is to lie.
        read: what the compiler may read.
        trust: compile also where a lock is missing.
        memory, seconds, file: bytes that each of its processes may take, seconds of a processor, and bytes of a file that it may write:
            more than any kernel takes, and an end for those that have none.
        word: that stands for the runtime while a CUDA text is looked at.
    """

    kernel: Kernel
    op: Op
    toolchain: Toolchain
    directory: str
    read: tuple[str, ...]
    trust: bool = False
    memory: int = 4 * 2**30
    seconds: int = 180
    file: int = 64 * 2**20
    word: str = field(default_factory=lambda: f"w{secrets.token_hex(16)}")

    def run(self, link: socket.socket, reader: Reader, box: int) -> None:
        """Render, look at the text, compile, and say what came of it."""
        os.close(box)
        os.environ |= {"TMPDIR": self.directory, "LLTM_INLINE_NO_HEADER": "1"}
        locks = sandbox.lock_in(self.read, self.directory, memory=self.memory, seconds=self.seconds, file=self.file)
        if not self.trust and not set(sandbox.NEEDED) <= set(locks):
            said = f"locks that hold here: {', '.join(locks) or 'none'}"
            answer(link, 0, RAISED, json.dumps({"stage": "machine", "reason": said}))
            return
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.chdir(self.directory)
        try:
            told = self._told()
        except MemoryError:
            told = {"stage": "builds", "reason": "takes its compiler too much memory"}
        answer(link, 0, RAISED if "stage" in told else DONE, json.dumps(told))

    def _told(self) -> dict[str, Any]:
        registry.adopt(self.op)
        text = "\n".join(self.kernel.sources.values())
        complaint = complaint_of_text(text)
        if not complaint and self.kernel.cuda:
            complaint = complaint_of_cuda(text)
        if complaint:
            return {"stage": "forbidden", "reason": complaint}
        try:
            job = make_job(self.kernel, self.toolchain)
        except LltmInlineError as error:
            stage = "signature" if isinstance(error, SignatureError) else "builds"
            return {"stage": stage, "reason": _first_of(error)}
        try:
            namespace = self._compiled(job)
        except (RuntimeError, OSError) as error:
            told = self._blamed(job, str(error))
        else:
            told = {"namespace": namespace, "prelude": job.prelude or ""}
        complaint = self._complaint(job)
        return {"stage": "forbidden", "reason": complaint} if complaint else told

    def _compiled(self, job: Job) -> str:
        """Compile what is looked at, word by word: what the preprocessor has written down. Return the namespace.

        With g++ nothing of that is a macro again. With clang++ all is that a header of ours defines: a text that still has a name
        of these is compiled without.
        """
        directory = Path(self.directory)
        if job.toolchain.nvcc:  # asked what it has against the text, of which nothing is loaded
            return inline.compile_job(compile_checks([job])[0], directory)[0]
        if self.kernel.cuda:
            return light.compiled(job, self._compiled_cuda)
        if job.toolchain.kind == "gcc":
            return inline.compile_job(replace(job, flags=(*job.flags, "-save-temps")), directory)[0]
        return light.compiled(job, self._compiled_by_clang)

    def _compiled_by_clang(self, job: Job) -> str:
        namespace = inline.preprocess(job, Path(self.directory), _PREPROCESSED)
        if not self._complaint(job):
            text, own = self._preprocessed()
            names = header.macros(job.toolchain, job.prelude) if job.prelude else frozenset()
            self._compile_written(job, text, own if names and names.isdisjoint(_NAME.findall(own)) else "")
        return namespace

    def _compile_written(self, job: Job, text: str, own: str) -> None:
        """Compile what the preprocessor has written down; where there is a precompiled header, only what stands behind our own."""
        flags = (*job.flags, "-x", "c++-cpp-output", "-Wno-unused-command-line-argument")
        if precompiled := header.header_flags(job.toolchain, job.prelude) if job.prelude and own else ():
            given = tuple(word for flag in precompiled for word in ("-Xclang", flag))
            try:
                inline.compile_job(replace(job, text=own, flags=(*flags, *given)), Path(self.directory))
                return
            except RuntimeError as error:
                if not header.is_cause_of(str(error)):
                    raise
        inline.compile_job(replace(job, text=text, flags=flags, prelude=None), Path(self.directory))

    def _compiled_cuda(self, job: Job) -> str:
        """Compile a CUDA text as the preprocessor has written it down, in which a name of the runtime is none of the text's.

        All that the rewriter, the binding and our macros say of the runtime they say in a word that nobody knows: what still has the
        runtime's own name in the end has it of the text, however it was put together. Behind our word, too, there are only names
        that the rewriter has for it: a macro of the text may have given it another.
        """
        word, shout = self.word, self.word.upper()
        ahead = prelude_text(job.prelude or "", apart=True)
        own = job.text.replace(prelude_text(job.prelude or ""), "", 1)
        macros = (one.partition("\n")[0] for one in ahead.replace("\\\n", "").split("\n#define ")[1:])
        ours = "".join(f"#undef {one.split('(')[0]}\n#define {one}\n" for one in macros if _RUNTIME in one)
        given = f"{ours}\n{own}".replace(_RUNTIME, word).replace(_RUNTIME.upper(), shout)
        whole = f"{ahead}\n{word}_ CUDA_CPU_PLAIN\n{given}"
        namespace = inline.preprocess(replace(job, text=whole), Path(self.directory), _PREPROCESSED)
        if not self._complaint(job):
            text, own = self._preprocessed()
            said = text.partition(f"{word}_ ")[2].partition("\n")[0]
            text = text.replace(f"{word}_ {said}", "", 1)
            text, own = (one.replace(f"{shout}_PLAIN", said).replace(word, _RUNTIME) for one in (text, own))
            own = f"#pragma clang optimize off\n{own}" if job.toolchain.kind == "clang" else ""
            self._compile_written(job, text, own)
        return namespace

    def _preprocessed(self) -> tuple[str, str]:
        """Return what the preprocessor has written down, and of that what stands behind our own headers."""
        text = Path(self.directory, _PREPROCESSED).read_bytes().decode(**UTF8)
        return text, text[max(0, text.find(f'\n# 1 "{self.kernel.name}"') + 1) :]

    def _blamed(self, job: Job, log: str) -> dict[str, str]:
        """Say whose fault a failed build is: the text's own only where a compiler names a line of it, or a limit was reached."""
        for said, reason in _LIMITS:
            if re.search(said, log, re.MULTILINE):
                return {"stage": "builds", "reason": reason}
        failure = failure_of(job, log)
        if not _PASSING.search(log) and any(one.line or _UNDEFINED.search(one.message) for one in failure.diagnostics):
            return {"stage": "builds", "reason": _first_of(failure)}
        passing = passing_failure(job, log, Path(self.directory))
        said = next((line for line in log.splitlines() if "error" in line or "FAILED" in line), log.strip())
        return {"stage": "machine", "reason": str(passing or said or "nothing was said")[:_REASON]}

    def _complaint(self, job: Job) -> str:
        """Look at what is no header's as the compiler has had it, if it has come that far."""
        read = [Path(place).resolve() for place in self.read]
        is_header = lru_cache(maxsize=None)(lambda path: any(map(Path(path).resolve().is_relative_to, read)))
        try:
            _, own = self._preprocessed()
        except FileNotFoundError:
            return ""
        if _DIRECTIVE.search(own):
            return "a directive, or a line that goes on, which is none before macros are expanded, is closed in a lab: leave it out"
        found = [
            complaint_of_code(text) or (self.kernel.cuda and complaint_of_cuda(text, self.word))
            for text in own_texts(own.split("\n"), is_header)
        ]
        if complaint := next(filter(None, found), ""):
            return complaint
        # A header, too, has whatever words a macro of the text gives it.
        if expands_in_headers(job.text.partition(f'#line 1 "{self.kernel.name}"')[2]) and complaint_of_code(own):
            return "a header that it includes after a #define of its own has what is closed in a lab: put its #include lines first"
        return ""


def _first_of(error: LltmInlineError) -> str:
    """Return the first message of a compiler with its line, else the first line of an error."""
    found = error.diagnostics[0] if isinstance(error, BuildError) and error.diagnostics else None
    return (f"line {found.line}: {found.message}" if found is not None else str(error).partition("\n")[0])[:_REASON]


def _lay_book(box: int) -> None:
    """Map the book where the runtime expects it; nobody can map anything over it behind the locks."""
    lay, (address, most) = ctypes.CDLL(None).mmap, map(ctypes.c_void_p, (BOOK_AT, BOOK))
    lay.restype, flags = ctypes.c_void_p, mmap.MAP_SHARED | 0x100000  # MAP_FIXED_NOREPLACE
    if lay(address, most, mmap.PROT_READ, flags, box, ctypes.c_long(ARENA)) != BOOK_AT:
        raise OSError("the book of a CUDA text cannot be laid")


@dataclass(frozen=True)
class Library:
    """A kernel that was compiled and looked at.

    Attributes:
        kernel: its text.
        op: what it computes, without its reference.
        toolchain: with which.
        build: where it lies.
    """

    kernel: Kernel
    op: Op
    toolchain: Toolchain
    build: Build


@dataclass(frozen=True)
class RunTask:
    """Load a library, and make the calls that are asked for, until the judge has enough.

    Attributes:
        library: of the kernel.
        helpers: our own libraries by name.
        memory: bytes that the kernel may take.
        seconds: of the processors that all its calls may take.
    """

    library: Library
    helpers: dict[str, Build]
    memory: int
    seconds: int

    def run(self, link: socket.socket, reader: Reader, box: int) -> None:
        """Lock this process in, load, and serve."""
        library = self.library
        _attach(self.helpers["bridge"])
        guard = Guard(self.helpers["guard"], progress=False)
        memory = mmap.mmap(box, ARENA)
        if runtime := self.helpers.get("runtime"):
            verify(runtime)
            _lay_book(box)
            ctypes.CDLL(str(runtime.path), mode=ctypes.RTLD_GLOBAL)  # before all that the text's library may define
        os.close(box)
        warnings.simplefilter("ignore")
        replace(Modes.here(), threads=1, deterministic=(True, True, True)).apply()
        # Behind the locks nobody gets it, the judge neither.
        sight = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
        locks = sandbox.lock_in([library.build.path], memory=self.memory, seconds=self.seconds)
        answer(link, 0, DONE, ", ".join(locks), file=sight)
        os.close(sight)
        if receive(reader) is None:  # the judge does not find them enough
            return
        registry.adopt(library.op)
        try:
            job, device = make_job(library.kernel, library.toolchain), library.toolchain.device.name
            function = load_built(Built(library.kernel, library.op, device, job, library.build, self.helpers))
        except Exception as error:
            answer(link, 1, RAISED, one_line(error))
            return
        answer(link, 1, DONE)
        server = Server(function, memory, guard)
        while (ask := receive(reader)) is not None:
            try:
                text, records = server.answer(ask)
            except Exception as error:
                answer(link, ask.number, RAISED, one_line(error))
            else:
                answer(link, ask.number, DONE, text, records)


def _take_memory(most: int, flags: int = 0) -> None:
    held = mmap.mmap(-1, 2 * most, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | flags)
    held[:: mmap.PAGESIZE] = b"x" * (len(held) // mmap.PAGESIZE)


#: What grows as a stack does counts for no limit of memory.
_GROWS_DOWN = 0x100
#: Ways out, by name: each is told a file, a process and a port that are not its own, and what it may take.
ESCAPES: dict[str, Callable[[str, int, int, int], Any]] = {
    "read a file of yours": lambda path, pid, port, most: Path(path).read_bytes(),
    "write into a folder of yours": lambda path, pid, port, most: Path(f"{path}.out").write_bytes(b"x"),
    "see what runs here": lambda path, pid, port, most: Path(f"/proc/{pid}/cmdline").read_bytes(),
    "start a program": lambda path, pid, port, most: os.execv("/bin/true", ["true"]),
    "make another process": lambda path, pid, port, most: os.fork() or os._exit(0),
    "reach the network": lambda path, pid, port, most: socket.create_connection(("127.0.0.1", port), 2.0),
    "send a signal to you": lambda path, pid, port, most: os.kill(pid, 0),
    "read your memory": lambda path, pid, port, most: os.read(os.open(f"/proc/{pid}/mem", os.O_RDONLY), 1),
    "raise its own limits": lambda path, pid, port, most: resource.setrlimit(resource.RLIMIT_DATA, (4 * most,) * 2),
    "take more memory": lambda path, pid, port, most: _take_memory(most),
    "take memory as a stack": lambda path, pid, port, most: _take_memory(most, _GROWS_DOWN),
}


@dataclass(frozen=True)
class ProbeTask:
    """Try to get out, in one way.

    Attributes:
        name: of `ESCAPES`.
        path, pid, port: a file, a process and a port on which somebody listens.
        memory, seconds: what may be taken.
    """

    name: str
    path: str
    pid: int
    port: int
    memory: int = 1 << 28
    seconds: int = 20

    def run(self, link: socket.socket, reader: Reader, box: int) -> None:
        """Lock this process in as for a submission, and try."""
        os.close(box)
        answer(link, 0, DONE, ", ".join(sandbox.lock_in([], memory=self.memory, seconds=self.seconds)))
        receive(reader)
        try:
            ESCAPES[self.name](self.path, self.pid, self.port, self.memory)
        except BaseException as error:
            answer(link, 1, RAISED, one_line(error))
        else:
            answer(link, 1, DONE, "nothing keeps it from that")


@dataclass
class Server:
    """Calls one kernel, and keeps what its gradients need and what the judge may look at again."""

    function: Function
    memory: mmap.mmap
    guard: Guard
    calls: dict[int, tuple[list[Any], tuple[Any, ...]]] = field(default_factory=dict)
    held: dict[int, list[Tensor]] = field(default_factory=dict)

    def answer(self, ask: Ask) -> tuple[str, list[bytes]]:
        """Make a call; return a line and the records of what it gave."""
        for number in ask.forget:
            self.calls.pop(number, None)
            self.held.pop(number, None)
        entered = {"end": self.guard.at_end, "start": self.guard.at_start}.get(ask.guard)
        with entered(ask.dtype) if entered else nullcontext():
            found = self._called(ask)
            told = [
                [d.name, d.shape, d.dtype, d.behind, d.distance, d.elements, d.old.hex(), d.new.hex()]
                for d in (self.guard.damages() if entered else ())
            ]
            return json.dumps(told) if told else "", self._described(ask.number, found)

    def _called(self, ask: Ask) -> tuple[Any, ...]:
        def put(name: str, value: Any) -> Any:
            """Have a tensor lie between pages that fault where that is asked for."""
            if not ask.guard or not isinstance(value, Tensor):
                return value
            return self.guard.place(name, value).requires_grad_(value.requires_grad)

        grads = [put(f"gradient {i}", self._tensor(value)) for i, value in enumerate(ask.grads)]
        with threads(ask.threads), seeded():
            if ask.inputs is None:
                return self._gradients(ask.of, grads, ask.wanted)
            signature, given = self.function.op.signature, [self._tensor(value) for value in ask.inputs]
            inputs = [put(one.name, value) for one, value in zip(signature.inputs, given, strict=False)]
            outputs = as_tuple(self.function(*inputs))
            for argument, mine, theirs in zip(signature.inputs, inputs, given, strict=False):
                if argument.alias and mine is not theirs:  # what the judge looks at are those that it gave
                    theirs.detach().copy_(mine.detach())
            self.calls[ask.number] = inputs, outputs
            for one, output in zip(signature.outputs, outputs, strict=False) if ask.guard else ():
                if isinstance(output, Tensor):
                    self.guard.name(one.name, output)
            return outputs + self._gradients(ask.number, grads, ask.wanted) if ask.both else outputs

    def _gradients(self, number: int, grads: Sequence[Any], wanted: Sequence[bool]) -> tuple[Any, ...]:
        """Differentiate an earlier call, for each of its inputs that is wanted."""
        inputs, outputs = self.calls[number]
        heads = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if grad is not None and isinstance(output, Tensor) and output.requires_grad
        ]
        leaves = [value for value, want in zip(inputs, wanted, strict=True) if want]
        if not heads or not leaves:
            return (None,) * len(wanted)
        outputs, incoming = zip(*heads, strict=True)
        found = iter(torch.autograd.grad(outputs, leaves, incoming, retain_graph=True, allow_unused=True))
        return tuple(next(found) if want else None for want in wanted)

    def _tensor(self, laid: Any) -> Any:
        """Return a tensor over the arena, or a list of such; anything else as it is."""
        if isinstance(laid, list):
            return [self._tensor(one) for one in laid]
        if not isinstance(laid, Laid):
            return laid
        if not laid.nbytes:
            tensor = torch.empty_strided(laid.size, laid.stride, dtype=laid.dtype)
        else:
            count = laid.nbytes // laid.dtype.itemsize
            flat = torch.frombuffer(self.memory, dtype=laid.dtype, count=count, offset=laid.offset)
            tensor = flat.as_strided(laid.size, laid.stride, laid.start).data
        return tensor.requires_grad_() if laid.wanted else tensor

    def _described(self, number: int, values: Sequence[Any]) -> list[bytes]:
        """Say where results lie. There they stay until the judge lets them go."""
        records, self.held[number] = [], []
        for value in values:
            if isinstance(value, Tensor):
                kind, tensor = TENSOR, value.detach().resolve_conj().resolve_neg()
            elif isinstance(value, bool | int | float):
                kind, tensor = NUMBER, torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
            else:
                records.append(RECORD.pack(MISSING, *[0] * (4 + 2 * MOST_AXES + 1)))
                continue
            axes = tensor.dim()
            plain = tensor.device.type == "cpu" and tensor.layout == torch.strided and tensor.dtype in DTYPES
            if not plain or axes > MOST_AXES or tensor.numel() * tensor.element_size() > ARENA:
                told = f"{tuple(tensor.shape)} {tensor.dtype}"
                raise RuntimeError(f"a result is a tensor {told}: too large, or of a dtype that no op has")
            self.held[number].append(tensor)
            rest = [0] * (MOST_AXES - axes)
            place = (*tensor.shape, *rest, *tensor.stride(), *rest, tensor.data_ptr())
            attached = isinstance(value, Tensor) and value.requires_grad
            records.append(RECORD.pack(kind, DTYPES.index(tensor.dtype), axes, attached, 0, *place))
        return records
