"""What is to be compiled: the texts of a kernel with all that could change the result, under one digest."""

from __future__ import annotations

import platform
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from .. import native
from ..base.device import CHECKS
from ..base.flags import for_host
from ..cpp.masks import mask, unquoted
from ..cuda_cpu import tell_indices
from ..diagnosis.diagnostics import Diagnostic, excerpt_of
from ..errors import SignatureError
from ..model.registry import Kernel, fit, registry
from ..source.signature import Interface, Problem
from ..source.template import CUDA_PRELUDE, Rendered, render
from . import cache, environment
from .toolchain import ALL_DEFINED, Toolchain, find_toolchain, is_old_gcc

#: What a job leaves behind: a library that can be loaded; or of a compile check PTX, or the object file of the C++ text;
#: or what the C++ compiler says of the user's lines.
_RESULTS = {"": cache.LIBRARY, "ptx": "kernel.ptx", "object": "main.o", "remarks": "remarks.txt"}


@dataclass(frozen=True)
class Job:
    """What is to be compiled, with everything that could change the result.

    Attributes:
        label, parent: of the kernel, for messages.
        text: the C++ file; empty where only the CUDA file is compiled.
        prelude: key of the precompiled header that fits the text; None for none.
        sources: the user's texts by the name that `#line` gives them.
        toolchain: compilers and flags.
        flags: of this kernel, after those.
        python_module: a pybind11 module instead of a library of operators.
        cuda: the CUDA file, or nothing.
        only: `"ptx"` compiles the CUDA file and `"object"` the C++ file without making a library of it; `"remarks"` keeps what
            the compiler of the C++ file says that it did with the user's lines.
        interface: of the text of a kernel; None for a helper of ours.
        host: the other C++ file, whose object file is linked: an edit of `text` alone leaves it as it is.
        parts: `text` in two, as `Rendered` has it.
        spare: one can do without what it makes: where it fails, that is not there, and nothing else.
    """

    label: str
    text: str
    prelude: str | None
    sources: Mapping[str, str]
    toolchain: Toolchain
    flags: tuple[str, ...] = ()
    python_module: bool = False
    parent: str = ""
    cuda: str = ""
    only: str = ""
    interface: Interface | None = None
    host: Job | None = None
    parts: tuple[str, str] | None = None
    spare: bool = False

    @property
    def name(self) -> str:
        """The label without the revision: what is found out about a kernel holds for its next edit, too."""
        return self.label.partition("@")[0]

    @cached_property
    def key(self) -> str:
        """The digest under which the result is cached."""
        return cache.digest(
            "kernel",
            self.text,
            self.only or ("module" if self.python_module else "library"),
            self.toolchain.identity,
            self.cflags,
            self.toolchain.ldflags,
            environment.of_compilers(),
            _platform_identity(),
            *((self.cuda, nvcc.identity, nvcc.flags) if (nvcc := self.toolchain.nvcc) else ()),
            *([self.host.key] if self.host else []),
        )

    @property
    def cflags(self) -> tuple[str, ...]:
        return (*self.toolchain.cflags, *self.flags)

    @property
    def compiler(self) -> str:
        """The compilers by name and version: `g++ 12.2.0`, `nvcc 13.0 and g++ 12.2.0`."""
        version, nvcc = self.toolchain.version, self.toolchain.nvcc
        return f"nvcc {nvcc.version} and {version}" if nvcc else version

    @property
    def shown_flags(self) -> tuple[str, ...]:
        """The flags that make a difference to speed: nvcc's where it compiles the kernel."""
        return self.toolchain.nvcc.flags if self.toolchain.nvcc else self.cflags

    @property
    def result(self) -> str:
        """Name of the file that is made."""
        return _RESULTS[self.only]


@lru_cache(maxsize=1)
def _platform_identity() -> tuple[str, ...]:
    """Everything outside of text and compiler that a library depends on: torch and its ABI, Python, the processor."""
    import torch

    return (
        torch.__version__,
        str(torch.version.git_version),
        str(torch.compiled_with_cxx11_abi()),
        str(torch.version.cuda),
        sys.version,
        str(sysconfig.get_config_var("SOABI")),
        platform.platform(),
        _processor(),
    )


def _processor() -> str:
    """Name the instruction set of this processor: `-march=native` means another thing on another one."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n")
    except OSError:
        return platform.processor()
    return "\n".join(
        next((line for line in lines if line.startswith(key)), "") for key in ("model name", "flags", "Features")
    )


def make_job(kernel: Kernel, toolchain: Toolchain) -> Job:
    """Render a kernel and check its signature; nothing is compiled yet.

    Args:
        kernel: with a text for the device.
        toolchain: compilers and flags for the device. The kernel's own flags go to nvcc where there is one.

    Raises:
        SignatureError: `forward` or `backward` does not fit the op.
        DefinitionError: the kernel has no text for the device, or saves what the op has not.
        TemplateError: as for `render`.
    """
    rendered, nvcc = rendered_fit(kernel, toolchain.device.name), toolchain.nvcc
    module = "PYBIND11_MODULE" in mask(rendered.text)
    # Python's own symbols are undefined until it loads the library.
    if module or rendered.prelude.startswith("extension"):
        toolchain = replace(toolchain, ldflags=tuple(flag for flag in toolchain.ldflags if flag != ALL_DEFINED))
    flags = kernel.flags if nvcc is None else ()
    if toolchain.device.text == "cuda":  # on the CPU, if there is no nvcc
        flags = for_host(flags)
    if nvcc is not None:
        toolchain = replace(toolchain, nvcc=nvcc.with_flags(kernel.flags))
    job = Job(
        kernel.label,
        rendered.text,
        None if flags else rendered.prelude,
        rendered.sources,
        toolchain,
        flags,
        module,
        kernel.parent,
        rendered.cuda,
        interface=rendered.interface,
        parts=None if module else rendered.parts,
    )
    if nvcc is not None or not rendered.cuda:
        return job
    if CHECKS in job.cflags:
        return replace(job, text=rendered.whole, cuda="")
    host = replace(job, cuda="", only="object")
    return replace(job, text=rendered.cuda, prelude=None if flags else CUDA_PRELUDE, cuda="", host=host)


def rendered_fit(kernel: Kernel, device: str) -> Rendered:
    """Render a kernel, and hold its functions against its op.

    Raises:
        SignatureError, DefinitionError, TemplateError: as for `make_job`.
    """
    op = registry.op_of(kernel)
    fit(kernel, op)
    rendered = render(kernel, op, device)
    if rendered.interface.problems:
        raise _signature_error(kernel, rendered)
    return rendered


def _signature_error(kernel: Kernel, rendered: Rendered) -> SignatureError:
    """Make the error of a text that does not fit its op."""

    def diagnostic(problem: Problem) -> Diagnostic:
        place = problem.line, problem.column
        excerpt = excerpt_of(rendered.sources.get(problem.file, ""), *place)
        return Diagnostic(kernel.label, problem.file, *place, "error", problem.message, (), excerpt, problem.help)

    diagnostics = tuple(map(diagnostic, rendered.interface.problems))
    lines = [f"kernel {kernel.label!r} does not fit op {kernel.op!r}; nothing was compiled"]
    for item in diagnostics:
        lines += [f"  {item.place}: {item.message}", item.excerpt, f"  {item.help}"]
    return SignatureError("\n".join(filter(None, lines)), kernel=kernel.label, diagnostics=diagnostics)


def compile_checks(jobs: Sequence[Job]) -> list[Job]:
    """Take jobs apart into those of nvcc, in their order, followed by those of the C++ compiler."""
    return [
        *(replace(job, text="", prelude=None, only="ptx") for job in jobs),
        *(replace(job, cuda="", toolchain=replace(job.toolchain, nvcc=None), only="object") for job in jobs),
    ]


_HELPERS = {
    "bridge": "autograd bridge",
    "follow": "memory follower",
    "guard": "memory guard",
    "meter": "memory meter",
    "recorder": "crash recorder",
    "roofs": "measure of the machine's roofs",
}
# -fno-plt: what a signal handler calls is looked up when the library is loaded, not while the process dies.
# -O2: the follower is called at each load and store.
_CFLAGS = {"recorder": ("-fno-plt", *native.layout.LIMITS), "follow": ("-O2",)}
# load_inline links with torch, which the recorder has no use for.
_LDFLAGS = {"recorder": ("-Wl,--as-needed",)}


def helper_job(name: str, toolchain: Toolchain) -> Job:
    """Return the job of `name.cpp`: compiled once per compiler, whatever the flags of the kernels are."""
    # -O1: of the microsecond that the bridge takes per call, more saves nothing, and costs a second of the first build.
    # The roofs are those of what kernels are compiled to.
    flags = None if name == "roofs" else ("-O1", *_CFLAGS.get(name, ()))
    chosen = find_toolchain(toolchain.compiler, flags)
    chosen = replace(chosen, ldflags=(*_LDFLAGS.get(name, ()), *chosen.ldflags))
    return Job(_HELPERS[name], native.text(f"{name}.cpp"), None, {}, chosen)


#: With which each load and store calls the follower, which is linked in place of the library that these calls are meant for. What
#: the compiler says of itself then, a macro or a feature, would keep it from reading the precompiled header, which is the same.
_FOLLOWED = {
    "gcc": ("-Og", "-fsanitize=thread,bounds", "-U__SANITIZE_THREAD__"),
    # clang leaves out a load before a store to the same place, as of `sum += x`, unless it is told otherwise.
    "clang": (
        "-O0",
        "-fsanitize=thread,bounds",
        "-mllvm",
        "-tsan-instrument-read-before-write",
        "-Xclang",
        "-fno-validate-pch",
    ),
}
#: What a text has that touches memory itself, or shares out work: one that leaves all of it to torch is not followed.
_TOUCHES = ("parallel", "data_ptr", "accessor")


def follower_job(job: Job) -> Job | None:
    """Return the job of a kernel's second library, in which each load and store is followed; None for one of torch's functions alone."""
    if job.toolchain.device.name != "cpu" or not any(
        word in unquoted(text) for text in job.sources.values() for word in _TOUCHES
    ):
        return None
    old = is_old_gcc(job.toolchain.kind, job.toolchain.version)
    # OpenMP is the follower's: of what it has not, the linker says so.
    ldflags = tuple(flag for flag in job.toolchain.ldflags if flag != "-fopenmp")
    return replace(
        job,
        text=native.text("follow_index.h") + tell_indices(job.text),
        toolchain=replace(job.toolchain, ldflags=ldflags),
        flags=(*job.flags, *_FOLLOWED[job.toolchain.kind], *([] if old else ["-ftrivial-auto-var-init=pattern"])),
        host=replace(helper_job("follow", job.toolchain), only="object"),
        parts=None,
        spare=True,
    )
