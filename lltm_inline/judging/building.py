"""What answers for `load_inline` in a file that is judged: the texts are built by our own compiler into our own cache.

So what does not compile is told as ever, CUDA source runs on the CPU where there is no GPU, with each step of a launch looked at, and a
crash has its line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from .. import cuda_cpu, native
from ..base.device import DEVICES
from ..base.flags import for_host
from ..base.progress import emit
from ..compiling.compiler import run_jobs, verify
from ..compiling.job import Job
from ..compiling.toolchain import ALL_DEFINED, Toolchain, find_toolchain
from ..cpp.masks import mask
from ..errors import naming
from ..extension.classic import flags_of
from ..extension.inline import Snippet, joined
from ..extension.reading import find_modules
from ..run.function import tensors
from ..run.library import module_of
from ..source.template import lighter, prelude_text

#: The headers of most texts with kernels.
ON_CPU = "python cuda-cpu"


class Builder:
    """Builds what a file gives to `load_inline`, and remembers what came of it.

    Attributes:
        device: where its CUDA source runs.
        used: the devices that something was built for.
        failure: the first error of a build, whatever the file has made of that.
        texts: what was built, as `#line` calls it.
        snippets: the arguments of each call.
        calls: how often a function of an extension has come back; `raised`: and what it raised.
        first: the arguments of the first call of each.
        spoil: put NaN in the place of what the functions return; `spoilt`: whether that has been done.
        dry: build nothing, for a file of which only the reference is asked.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.used: set[str] = set()
        self.failure: Exception | None = None
        self.texts: dict[str, str] = {}
        self.snippets: list[dict[str, Any]] = []
        self.calls, self.raised, self.spoil, self.spoilt, self.dry = 0, "", False, False, False
        self.first: dict[str, tuple[Any, ...]] = {}
        self._known: dict[str, Any] = {}

    def __call__(
        self, name: str = "", cpp_sources: Any = "", cuda_sources: Any = None, functions: Any = None,
        extra_cflags: Any = None, extra_cuda_cflags: Any = None, extra_include_paths: Any = None, **_: Any,
    ) -> Any:  # fmt: skip
        """Stand in for `load_inline`; what it links or how it is built is not asked."""
        given = {what: value for what, value in locals().items() if what not in ("self", "_")}
        key = repr(given)
        if self.dry and key not in self._known:
            return MagicMock()
        if key not in self._known:
            self.snippets.append(given)
            try:
                with naming(f"load_inline({name!r})"):
                    self._known[key] = self._built(given)
            except Exception as error:
                self.failure = self.failure or error
                raise
        return self._known[key]

    def _built(self, given: Mapping[str, Any]) -> Any:
        cpp, cuda = (joined(what, given[what]) for what in ("cpp_sources", "cuda_sources"))
        snippet = Snippet(given["name"], cpp, cuda)
        device = self.device if cuda or "__global__" in mask(snippet.text) else "cpu"
        label = f"judged/{'cuda' if cuda else 'cpp'}{len(self.texts) + 1 if self.texts else ''}"
        self.used.add(device)
        self.texts[label] = snippet.text
        (library,) = run_jobs([_job(label, snippet, given, device)], progress=False)
        emit("built", label, snippet.text, str(library.path))
        verify(library)
        module = module_of(library)
        for name, found in list(vars(module).items()):
            if callable(found) and not isinstance(found, type):
                setattr(module, name, self._counted(name, found))
        return module

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count the calls of a function of an extension."""

        def call(*values: Any, **named: Any) -> Any:
            self.first.setdefault(name, tree_map_only(Tensor, Tensor.clone, (*values, *named.values())))
            try:
                result = function(*values, **named)
            except Exception as error:
                self.raised = f"{type(error).__name__}: {error}"
                raise
            self.calls += 1
            if not self.spoil:
                return result
            self.spoilt |= any(one.is_floating_point() for one in tensors(result))
            return tree_map_only(Tensor, _spoiled, result)

        return call


def _job(label: str, snippet: Snippet, given: Mapping[str, Any], device: str) -> Job:
    """Say what is to be compiled: the text, and behind it what binds its functions where it does not do so itself."""
    has_gpu, watched = DEVICES[device].needs_gpu, device == "cuda-cpu"
    cxx, nvcc, includes = (tuple(given[f"extra_{what}"] or ()) for what in ("cflags", "cuda_cflags", "include_paths"))
    own = flags_of(cxx, nvcc, bool(snippet.cuda))
    flags = (*(for_host(own) if snippet.cuda and not has_gpu else own), *(f"-I{path}" for path in includes))
    text = snippet.cpp if has_gpu else snippet.text
    binding, module = [], "LOOKED_AT_MODULE" if watched else "PYBIND11_MODULE"
    if not find_modules(snippet.text):
        defined = " ".join(f'm.def("{name}", &{what});' for name, what in snippet.bound(given["functions"]).items())
        binding = [f"{module}(TORCH_EXTENSION_NAME, m) {{ {defined} }}"]
    if watched:
        text = cuda_cpu.rewrite(text, label, needs_kernel=False).replace("PYBIND11_MODULE", module)
    text = lighter(text, binds=True)
    whole_torch = any(f"torch/{header}.h" in text for header in ("extension", "all", "torch"))
    prelude = ("extension" if whole_torch else "python") + " cuda-cpu" * watched
    lines = [f'#line 1 "{label}"', text, f'#line 1 "{label} (binding)"', *binding, ""]
    look = native.text("module.h", cuda_cpu.__name__)  # at what functions return, as at that of every kernel
    whole = "\n".join([prelude_text(prelude) + look * watched, *lines])
    toolchain, sources = toolchain_for(device), {label: snippet.text}
    if has_gpu and toolchain.nvcc is not None:
        toolchain = replace(toolchain, nvcc=toolchain.nvcc.with_flags(flags))
        cuda = f'#include <torch/types.h>\n#line 1 "{label}"\n{snippet.cuda}'
        return Job(label, whole, None, sources, toolchain, (), True, cuda=cuda)
    return Job(label, whole, None if flags else prelude, sources, toolchain, flags, True)


def toolchain_for(device: str) -> Toolchain:
    """Return the compilers for a module of Python's: who loads it defines the rest, and each step of a launch is looked at."""
    found = find_toolchain(None, DEVICES[device].check_flags or None, device)
    return replace(found, ldflags=tuple(flag for flag in found.ldflags if flag != ALL_DEFINED))


def _spoiled(value: Tensor) -> Tensor:
    """Put NaN, or 0, in the place of all elements."""
    return torch.full_like(value, float("nan") if value.is_floating_point() else 0)


def place_in(text: str, name: str, line: int, sources: Mapping[str, str]) -> int:
    """Return the line of a user's file in which a line of one of its sources stands; 0 where it is not there as it was built.

    Example:
        >>> place_in("a = 1\\nsource = '''\\nint f();\\nint g();\\n'''", "x/cpp", 3, {"x/cpp": "\\nint f();\\nint g();\\n"})
        4
    """
    lines, rows = sources.get(name, "").split("\n"), text.split("\n")
    if not 0 < line <= len(lines) or not (wanted := lines[line - 1].strip()):
        return 0
    near = [one.strip() for one in lines[max(0, line - 3) : line + 2]]

    def alike(number: int) -> int:  # of several the one with the same lines around it
        return sum(one in row for one in near for row in rows[max(0, number - 3) : number + 2])

    return max((number for number, row in enumerate(rows, 1) if wanted in row), key=alike, default=0)
