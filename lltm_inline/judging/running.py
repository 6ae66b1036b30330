"""Runs a file's own Python, in the worker: what asks for a GPU gets the CPU where there is none, and `load_inline` is ours.

What it gives to that is built by our own compiler into our own cache. So what does not compile is told as ever, CUDA source runs on the
CPU where there is no GPU, with each step of a launch looked at, and a crash has its line.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import ContextDecorator, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import cpp_extension
from torch.utils._pytree import tree_map_only

from .. import cuda_cpu, native
from ..base.arguments import raised
from ..base.device import DEVICES
from ..base.flags import for_host
from ..base.progress import emit
from ..compiling.compiler import run_jobs, verify
from ..compiling.inline import is_ours
from ..compiling.job import Job
from ..compiling.toolchain import ALL_DEFINED, Toolchain, find_toolchain
from ..cpp.masks import mask
from ..errors import InputError, naming
from ..extension.classic import flags_of
from ..extension.inline import Snippet, joined
from ..extension.reading import find_modules
from ..run.function import copied, tensors
from ..run.library import module_of
from ..source.template import lighter, prelude_text
from ..workers import steps
from .forms import Form, python_of
from .verdict import Finding

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
            self.first.setdefault(name, copied((*values, *named.values())))
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


#: What a judge is read by: a file that puts something else there is told.
_WATCHED = (
    (time, "time perf_counter perf_counter_ns monotonic sleep process_time"),
    (torch, "allclose equal isclose manual_seed"),
    (torch.testing, "assert_close"),
    (torch.cuda, "synchronize"),
    (torch.cuda.Event, "record elapsed_time synchronize query"),
    (torch.nn.Module, "__call__ load_state_dict"),
)
#: How a message names a line of a source.
_LINE = re.compile(r"\bline (\d+)|:(\d+)\b")
_OF_SOURCE = re.compile(r"(?:line )?judged/\w+:\d+")


def _moved(value: Any) -> Any:
    """Return a device of the CPU for one of a GPU."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    return "cpu" if isinstance(value, str) and value.partition(":")[0] == "cuda" else value


#: How torch tells a mode that one of these is asked for.
_IS_CUDA, _DEVICE = Tensor.is_cuda.__get__, Tensor.device.__get__  # type: ignore[attr-defined]


class OnCpu(TorchFunctionMode, ContextDecorator):
    """Lets Python that asks for tensors on a GPU have them on the CPU: they say that they are where they were asked for."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.cuda:
            return args[0]
        if func == _IS_CUDA:
            return True
        if func == _DEVICE:
            return torch.device("cuda", 0)
        kwargs = {name: _moved(value) for name, value in (kwargs or {}).items() if name != "pin_memory"}
        return func(*map(_moved, args), **kwargs)


class _Stream:
    """A stream, an event or a device, where all is done at once."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        self.begun = time.perf_counter()

    def __enter__(self) -> _Stream:
        return self

    def elapsed_time(self, other: _Stream) -> float:
        return max((other.begun - self.begun) * 1000, 1e-3)

    def query(self) -> bool:
        return True

    def record(self, *_: Any) -> None:
        self.begun = time.perf_counter()

    def record_event(self, event: Any = None) -> Any:
        return event or _Stream()

    def synchronize(self, *_: object) -> None:
        """All is done."""

    __exit__ = wait_stream = wait_event = wait = synchronize


def _pretend() -> ExitStack:
    """Let `torch.cuda` answer as if there were a GPU, on which all is done at once, till what is returned is closed."""
    values: dict[Any, str] = {
        None: "synchronize empty_cache set_device reset_peak_memory_stats manual_seed manual_seed_all init",
        True: "is_available",
        0: "current_device max_memory_allocated memory_allocated",
        (9, 0): "get_device_capability",
        "the CPU, as a GPU": "get_device_name",
    }
    answers: dict[str, Any] = {n: lambda *_, v=v, **__: v for v, names in values.items() for n in names.split()}
    answers |= dict.fromkeys(["Event", "Stream", "current_stream", "default_stream", "stream", "device"], _Stream)
    one = {"name": "the CPU, as a GPU", "major": 9, "minor": 0, "multi_processor_count": 8, "warp_size": 32}
    one |= {"total_memory": 1 << 34, "max_threads_per_multi_processor": 2048, "shared_memory_per_block": 48 << 10}
    answers |= {"device_count": lambda: 1, "get_device_properties": lambda *_: types.SimpleNamespace(**one)}
    generator: Any = torch.Generator
    set_default = torch.set_default_device

    class Generator(generator):  # a class, as annotations name it
        def __new__(cls, device: Any = "cpu") -> Any:
            return generator.__new__(cls, _moved(device))

    of_torch: dict[str, Any] = {
        "set_default_device": lambda device: set_default(_moved(device)),
        "Generator": Generator,
    }
    pretence = ExitStack()
    pretence.enter_context(patch.multiple(torch.cuda, **answers))
    pretence.enter_context(patch.multiple(torch, **of_torch))
    return pretence


class Runner:
    """Runs the files of one judgement in this process, which nothing else uses, and tells the caller at once what it sees.

    Attributes:
        text: of the file with the solution, `python_of` it; `name`: of that.
        builder: answers for `load_inline`.
        on_cpu: whether tensors on a GPU are made on the CPU.
        findings: what is wrong so far.
        calls_reference: how often the solution has called the reference.
    """

    def __init__(self, form: Form, device: str) -> None:
        path, beside = Path(form.solution), Path(form.reference)
        self.path, self.name, self.label, self.text = form.solution, path.name, path.stem, python_of(path)
        texts = [self.text, python_of(beside) if beside.suffix == ".py" and beside.is_file() else ""]
        of_cuda = path.suffix in (".cu", ".cuh") or any("cuda" in text.lower() for text in texts)
        self.on_cpu = device == "cuda-cpu" and of_cuda
        self.builder = Builder(device)
        self.findings: list[Finding] = []
        self.calls_reference = 0
        self._step: tuple[Any, ...] | None = None
        self.pretence = _pretend() if self.on_cpu else ExitStack()
        torchs = cpp_extension.load_inline

        def load_inline(name: str = "", *rest: Any, **named: Any) -> Any:
            if is_ours(name):  # the playground's own build
                return torchs(name, *rest, **named)
            step = self._step
            if step is not None:  # a compiler takes what it takes, while the file's own steps have limits
                steps.monitor.end()
            try:
                return self.builder(name, *rest, **named)
            finally:
                if step is not None:
                    steps.monitor.begin(*step)

        def load(name: str, sources: Any, **named: Any) -> Any:
            paths = [sources] if isinstance(sources, str) else sources
            texts = {str(path): Path(path).read_text(encoding="utf-8") for path in paths}
            cuda = [text for path, text in texts.items() if path.endswith((".cu", ".cuh"))]
            return load_inline(name, [text for text in texts.values() if text not in cuda], cuda or None, **named)

        vars(cpp_extension).update(load_inline=load_inline, load=load)
        watched = [*_WATCHED, (_Stream, "record elapsed_time synchronize query")]
        self._watched = {(of, name): getattr(of, name) for of, names in watched for name in names.split()}

    def say(self, what: str, text: str) -> None:
        """Tell what was `tried`, what was `not_tried`, or one of `notes`."""
        emit("told", what, text)

    def find(self, kind: str, text: str, at: str = "", line: int = 0, **more: str) -> None:
        """Tell what is wrong, with the lines of the user's file, and `more` that a `Finding` has."""
        text = _OF_SOURCE.sub(lambda found: f"line {self.line_in(found[0])}", text)
        self.findings.append(Finding(kind, text, self.name, line, at=at, **more))
        emit("told", "findings", self.findings[-1])

    @contextmanager
    def step(self, name: str, at: str = "") -> Iterator[None]:
        """Limit what runs in this block, and make a GPU of the CPU for it."""
        self._step = name, self.label, lambda: (at, ())
        try:
            with steps.step(*self._step), OnCpu() if self.on_cpu else torch.enable_grad():
                yield
        finally:
            self._step = None

    def touched(self) -> list[str]:
        """Name what of the clock and the judge is no longer what it was."""
        changed = ((of, name) for (of, name), value in self._watched.items() if getattr(of, name, None) != value)
        return [f"{getattr(of, '__name__', '')}.{name}" for of, name in changed]

    def load(self, path: str, name: str = "", tree: ast.Module | None = None) -> types.ModuleType:
        """Run a file as a module.

        Args:
            path: of it; its folder can be imported from.
            name: under which others import it; default: its own.
            tree: what is run in the place of its text.
        """
        folder = os.path.dirname(os.path.abspath(path))
        if folder not in sys.path:
            sys.path.insert(0, folder)
        tree = ast.parse(python_of(Path(path)), path) if tree is None else tree
        module = types.ModuleType(name or Path(path).stem.replace(".", "_"))
        module.__file__ = path
        sys.modules[module.__name__] = module
        with self.step("import"), self.blaming("" if path == self.path else os.path.basename(path)):
            exec(compile(tree, path, "exec"), module.__dict__)
        return module

    @contextmanager
    def blaming(self, other: str) -> Iterator[None]:
        """Let what is raised in this block be the fault of the reference or another file, and not of the solution."""
        try:
            yield
        except (InputError, ModuleNotFoundError, MemoryError):
            raise
        except Exception as error:
            if not other or steps.is_out_of_memory(error) or self.builder.failure:
                raise
            raise InputError(f"{other} raises {raised(error)}") from error

    def seeded(self, seed: int, make: Callable[[], Any]) -> Any:
        """Call what draws numbers, from a seed."""
        torch.manual_seed(seed)
        with self.step("inputs"):
            return make()

    def called(self, function: Any, values: Any, step: str = "reference", at: str = "", in_double: bool = False) -> Any:
        """Call a function of the file's with inputs; what is random in it comes from the same seed."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if in_double else before)
        torch.manual_seed(7)
        try:
            other = "the reference" if step == "reference" else ""
            with self.blaming(other), self.step(step, at), torch.no_grad():
                return function(**values) if isinstance(values, dict) else function(*values)
        finally:
            torch.set_default_dtype(before)

    def watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count the calls that the solution makes of the reference."""

        def call(*values: Any, **named: Any) -> Any:
            self.calls_reference += self._step is not None and self._step[0] == "forward"
            return function(*values, **named)

        return call

    def line_of(self, error: BaseException) -> int:
        """Return the line of the solution in which an exception was raised, or that called what raised it; 0 for none."""
        frames = traceback.walk_tb(error.__traceback__)
        return [0, *(line for frame, line in frames if frame.f_code.co_filename == self.path)][-1]

    def line_in(self, said: str) -> int:
        """Return the line of the user's file that a message names by the line of a source in it; 0 for none."""
        found, texts = _LINE.search(said), self.builder.texts
        number = int(found[1] or found[2]) if found else 0
        return next((line for name in texts if (line := place_in(self.text, name, number, texts))), 0)

    def row(self, *words: str) -> int:
        """Return the first line of the file, its comments left out, that has one of these words; 0 for none."""
        rows, wanted = enumerate(self.text.split("\n"), 1), [*filter(None, words)]
        return next((n for n, row in rows if row[:2] != "# " and any(word in row for word in wanted)), 0)


def require(module: types.ModuleType, name: str, path: str) -> Any:
    """Return what a module has by a name.

    Raises:
        InputError: it has none.
    """
    if not hasattr(module, name):
        raise InputError(f"{Path(path).name}: it defines no {name}")
    return getattr(module, name)
