"""What answers for `load_inline` in a file that is judged: the texts are built by our own compiler into our own cache.

So what does not compile is told as ever, CUDA source runs on the CPU where there is no GPU, with each step of a launch looked at, and a
crash has its line.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import torch
from torch import Tensor

from ..base.device import DEVICES
from ..base.flags import for_host
from ..base.progress import emit
from ..compiling.compiler import Build, run_jobs, verify
from ..compiling.job import Job
from ..compiling.toolchain import ALL_DEFINED, Toolchain, find_toolchain
from ..cpp.masks import mask
from ..cuda_cpu import rewrite
from ..extension.classic import flags_of
from ..extension.example import tensors_in
from ..extension.inline import Snippet, joined
from ..extension.reading import find_modules
from ..run.function import each
from ..source.template import lighter, prelude_text

#: Ahead of a text: what its functions return is looked at on their way out, as that of every kernel is.
_LOOK = """\
namespace judged {
template <class R, class... A>
auto looked_at(R (*f)(A...), const char* name) {
  return [f, name](A... a) -> R {
    if constexpr (std::is_void_v<R>) {
      f(std::forward<A>(a)...);
      if (!::cuda_cpu::last_fault().empty()) ::cuda_cpu::fail_unasked(name);
    } else {
      std::array<bool, 16> all;
      all.fill(true);
      return ::cuda_cpu::returned(f(std::forward<A>(a)...), name, all);
    }
  };
}
}  // namespace judged
"""
_BOUND = (("PYBIND11", "PY_BIND_11"), ("pybind11::", "py_bind_11::"), ("py::", "p_y::"))
#: The headers of most texts with kernels.
ON_CPU = "python cuda-cpu"
#: Headers of libraries of CUDA's of which nothing is called.
_UNUSED = {
    "cublas": "cublas",
    "cub/": "cub::",
    "curand": "curand",
    "cusparse": "cusparse",
    "cudnn": "cudnn",
    "thrust/": "thrust::",
}


@dataclass(frozen=True)
class Text:
    """One text of a `load_inline` that was built.

    Attributes:
        name: as `#line` calls it.
        source: the text.
        library: what was made of it; None while nothing is.
    """

    name: str
    source: str
    library: Path | None = None


class Builder:
    """Builds what a file gives to `load_inline`, and remembers what came of it.

    Attributes:
        device: where its CUDA source runs.
        used: the devices that something was built for.
        failure: the first error of a build, whatever the file has made of that.
        texts: what was built.
        calls: how often a function of an extension has come back; `raised`: and what it raised.
        first: the arguments of the first call of each.
        spoil: put NaN in the place of what the functions return.
        dry: build nothing, for a file of which only the reference is asked.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.used: set[str] = set()
        self.failure: Exception | None = None
        self.texts: list[Text] = []
        self.snippets: list[dict[str, Any]] = []
        self.calls, self.raised, self.spoil, self.spoilt, self.dry = 0, "", False, False, False
        self.first: dict[str, tuple[Any, ...]] = {}
        self._known: dict[Any, Any] = {}

    def __call__(
        self,
        name: str = "",
        cpp_sources: Any = "",
        cuda_sources: Any = None,
        functions: Any = None,
        extra_cflags: Sequence[str] | None = None,
        extra_cuda_cflags: Sequence[str] | None = None,
        extra_include_paths: Sequence[str] | None = None,
        **_: Any,
    ) -> Any:
        """Stand in for `load_inline`; what it links or how it is built is not asked."""
        given = {"name": name, "cpp_sources": cpp_sources, "cuda_sources": cuda_sources, "functions": functions}
        flags = {
            "extra_cflags": extra_cflags,
            "extra_cuda_cflags": extra_cuda_cflags,
            "extra_include_paths": extra_include_paths,
        }
        key = repr(given | flags)
        if self.dry and key not in self._known:
            return MagicMock()
        if key not in self._known:
            try:
                self.snippets.append(given | flags)
                where = f"load_inline({name!r})"
                snippet = Snippet(
                    where, name, joined("cpp_sources", cpp_sources, where), joined("cuda_sources", cuda_sources, where)
                )
                self._known[key] = self._built(snippet, functions, **flags)
            except Exception as error:
                self.failure = self.failure or error
                raise
        return self._known[key]

    def _built(self, snippet: Snippet, functions: Any, **flags: Any) -> Extension:
        has_kernels = "__global__" in mask(snippet.text)
        device = self.device if has_kernels or (snippet.cuda and self.device == "cuda") else "cpu"
        self.used.add(device)
        job = self._job(snippet, functions, device, **flags)
        (library,) = run_jobs([job], progress=False)
        for text in self.texts:
            if text.name in job.sources and text.library is None:
                self.texts[self.texts.index(text)] = replace(text, library=library.path)
                emit("built", text.name, text.source, str(library.path))
        return Extension(self, _module(library))

    def _job(
        self,
        snippet: Snippet,
        functions: Any,
        device: str,
        extra_cflags: Any,
        extra_cuda_cflags: Any,
        extra_include_paths: Any,
    ) -> Job:
        label = f"judged/{'cuda' if snippet.cuda else 'cpp'}" + f"{len(self.texts) + 1}" * bool(self.texts)
        text = _without_unused(snippet.text)
        self.texts.append(Text(label, snippet.text))
        has_gpu = DEVICES[device].needs_gpu
        toolchain = toolchain_for(device)
        own = flags_of(tuple(extra_cflags or ()), tuple(extra_cuda_cflags or ()), bool(snippet.cuda))
        flags = (
            *(for_host(own) if snippet.cuda and not has_gpu else own),
            *(f"-I{path}" for path in extra_include_paths or ()),
        )
        modules = find_modules(text)
        watched = device == "cuda-cpu"
        bound = {} if modules else snippet.bound(functions)
        for module in reversed(modules if watched else ()):
            inner = text[module.start : module.end]
            for one in {*module.functions.values()}:
                inner = inner.replace(f"&{one}", f'judged::looked_at(&{one}, "{one}")')
            text = text[: module.start] + inner + text[module.end :]
        text = rewrite(text, label, "cuda") if watched else text
        of = (lambda one: f'judged::looked_at(&{one}, "{one}")') if watched else "&{}".format
        defined = " ".join(f'm.def("{name}", {of(what)});' for name, what in bound.items())
        binding = f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ {defined} }}"
        for plain, hidden in _BOUND:  # what binds a module is among our headers, too
            text = text.replace(plain, hidden)
        text = lighter(text)
        for plain, hidden in _BOUND:
            text = text.replace(hidden, plain)
        prelude = (
            "extension" if "torch/extension.h" in text or "torch/all.h" in text or "torch/torch.h" in text else "python"
        )
        prelude = ON_CPU if watched and prelude == "python" else prelude + " cuda-cpu" * watched
        lines = [
            f'#line 1 "{label}"',
            text if not has_gpu else snippet.cpp,
            f'#line 1 "{label} (binding)"',
            *[binding] * (not modules),
        ]
        whole = "\n".join([prelude_text(prelude) + _LOOK * watched, *lines, ""])
        if has_gpu and toolchain.nvcc is not None:
            toolchain = replace(toolchain, nvcc=toolchain.nvcc.with_flags(flags))
            cuda = f'#include <torch/types.h>\n#line 1 "{label}"\n{snippet.cuda}'
            return Job(label, whole, None, {label: snippet.text}, toolchain, (), True, cuda=cuda)
        return Job(label, whole, None if flags else prelude, {label: snippet.text}, toolchain, flags, True)


def toolchain_for(device: str) -> Toolchain:
    """Return the compilers for a module of Python's: who loads it defines the rest, and each step of a launch is looked at."""
    found = find_toolchain(None, DEVICES[device].check_flags or None, device)
    return replace(found, ldflags=tuple(flag for flag in found.ldflags if flag != ALL_DEFINED))


def _without_unused(text: str) -> str:
    """Leave out the includes of CUDA's libraries of which the text calls nothing; every line stays where it was."""
    code = mask(text)
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.lstrip().startswith("#") and "include" in line:
            unused = [what for head, what in _UNUSED.items() if f"<{head}" in line and what not in code]
            lines[number] = f"// {line}" if unused else line
    return "\n".join(lines)


def _module(library: Build) -> Any:
    verify(library)
    spec = importlib.util.spec_from_file_location(library.namespace, library.path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Extension:
    """The module that a file gets; each call of its functions is counted."""

    def __init__(self, builder: Builder, module: Any) -> None:
        self._builder, self._module = builder, module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return self._counted(name, found) if callable(found) and not isinstance(found, type) else found

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            builder = self._builder
            builder.first.setdefault(name, tuple(each(v, Tensor.clone) for v in (*values, *named.values())))
            try:
                result = function(*values, **named)
            except Exception as error:
                builder.raised = f"{type(error).__name__}: {error}"
                raise
            builder.calls += 1
            if not builder.spoil:
                return result
            builder.spoilt |= any(one.is_floating_point() for one in tensors_in([result]))
            return spoiled(result)

        return call


def spoiled(value: Any) -> Any:
    """Put NaN, or the least number, in the place of all elements of tensors, in a list or tuple or alone."""
    if isinstance(value, list | tuple):
        return type(value)(map(spoiled, value))
    if not isinstance(value, Tensor):
        return value
    return torch.full_like(value, float("nan") if value.is_floating_point() else 0)


def place_in(text: str, name: str, line: int, texts: Sequence[Text] | Mapping[str, str]) -> int:
    """Return the line of a user's file in which a line of one of its sources stands; 0 where it is not there as it was built.

    Example:
        >>> place_in("a = 1\\nsource = '''\\nint f();\\nint g();\\n'''", "x/cpp", 3, [Text("x/cpp", "\\nint f();\\nint g();\\n")])
        4
    """
    known = texts if isinstance(texts, Mapping) else {one.name: one.source for one in texts}
    source = known.get(name, "")
    lines = source.split("\n")
    if not 0 < line <= len(lines):
        return 0
    wanted, rows = lines[line - 1].strip(), text.split("\n")
    found = [number for number, row in enumerate(rows, 1) if wanted and wanted in row]
    if len(found) > 1:  # the one with the same lines around it
        near = [one.strip() for one in lines[max(0, line - 3) : line + 2]]
        found.sort(key=lambda n: -sum(one in row for one in near for row in rows[max(0, n - 3) : n + 2]))
    return found[0] if found else 0
