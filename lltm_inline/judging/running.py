"""Runs a file's own Python, in the worker: what asks for a GPU gets the CPU where there is none, and `load_inline` is ours."""

from __future__ import annotations

import ast
import os
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import cpp_extension

from ..compiling.inline import is_ours
from ..errors import InputError
from ..workers import steps
from .building import Builder
from .forms import python_of

#: Extents above this are made smaller; below, they are windows, heads and groups.
_SMALL = 16
#: What a judge is read by: a file that puts something else there is told.
_WATCHED = (
    (time, "time perf_counter perf_counter_ns monotonic sleep process_time"),
    (torch, "allclose equal isclose manual_seed"),
    (torch.testing, "assert_close"),
    (torch.cuda, "synchronize"),
    (torch.cuda.Event, "record elapsed_time synchronize query"),
    (torch.nn.Module, "__call__ load_state_dict"),
)


def _moved(value: Any) -> Any:
    """Return a device of the CPU for one of a GPU."""
    if isinstance(value, torch.device):
        return torch.device("cpu") if value.type == "cuda" else value
    return "cpu" if isinstance(value, str) and value.partition(":")[0] == "cuda" else value


#: How torch tells a mode that one of these is asked for.
_IS_CUDA, _DEVICE = Tensor.is_cuda.__get__, Tensor.device.__get__  # type: ignore[attr-defined]


class OnCpu(TorchFunctionMode):
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
    """A stream or an event, where all is done at once."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        self.begun = time.perf_counter()

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        """All is done."""

    def elapsed_time(self, other: _Stream) -> float:
        return max((other.begun - self.begun) * 1000, 1e-3)

    def query(self) -> bool:
        return True

    def record(self, *_: Any) -> None:
        self.begun = time.perf_counter()

    def record_event(self, event: Any = None) -> Any:
        return event or _Stream()

    def synchronize(self, *_: Any) -> None:
        """All is done."""

    wait_stream = wait_event = wait = synchronize


def _pretend() -> Callable[[], None]:
    """Let `torch.cuda` answer as if there were a GPU, on which all is done at once; return what ends that."""
    nothing: Callable[..., None] = lambda *_, **__: None  # noqa: E731
    answers: dict[str, Any] = dict.fromkeys(
        (
            "synchronize",
            "empty_cache",
            "set_device",
            "reset_peak_memory_stats",
            "manual_seed",
            "manual_seed_all",
            "init",
        ),
        nothing,
    )
    answers |= {
        "is_available": lambda: True,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "Event": _Stream,
        "Stream": _Stream,
    }
    answers |= {
        "current_stream": _Stream,
        "default_stream": _Stream,
        "stream": _Stream,
        "max_memory_allocated": lambda *_: 0,
    }
    answers |= {"get_device_capability": lambda *_: (9, 0), "get_device_name": lambda *_: "the CPU, as a GPU"}
    answers["device"] = _Stream
    before = {name: getattr(torch.cuda, name) for name in answers}
    vars(torch.cuda).update(answers)
    generator, set_default = torch.Generator, torch.set_default_device
    vars(torch)["Generator"] = lambda device="cpu": generator(_moved(device))
    vars(torch)["set_default_device"] = lambda device: set_default(_moved(device))

    def end() -> None:
        vars(torch.cuda).update(before)
        vars(torch).update(Generator=generator, set_default_device=set_default)

    return end


class Runner:
    """Runs files of one judgement in this process, which nothing else uses.

    Attributes:
        label: of the kernel, for what a crash says.
        builder: answers for `load_inline`.
        on_cpu: whether tensors on a GPU are made on the CPU.
    """

    def __init__(self, label: str, device: str, of_cuda: bool) -> None:
        self.label, self.on_cpu = label, device == "cuda-cpu" and of_cuda
        self.builder = Builder(device)
        self.paths: set[str] = set()
        self.end_pretence = _pretend() if self.on_cpu else lambda: None
        torchs = cpp_extension.load_inline

        def load_inline(name: str = "", *rest: Any, **named: Any) -> Any:
            if is_ours(name):  # the playground's own build
                return torchs(name, *rest, **named)
            with self._unlimited():
                return self.builder(name, *rest, **named)

        cpp_extension.load_inline = load_inline
        cpp_extension.load = partial(self._load, load_inline)
        self._watched = {(of, name): getattr(of, name) for of, names in self._all_watched() for name in names.split()}

    def _all_watched(self) -> Iterator[tuple[Any, str]]:
        yield from ((of, names) for of, names in _WATCHED)
        if self.on_cpu:
            yield _Stream, "record elapsed_time synchronize query"

    @staticmethod
    def _load(load_inline: Callable[..., Any], name: str, sources: Any, **named: Any) -> Any:
        """Stand in for `cpp_extension.load`: the same with files."""
        texts = {
            path: Path(path).read_text(encoding="utf-8")
            for path in ([sources] if isinstance(sources, str) else sources)
        }
        cuda = [text for path, text in texts.items() if str(path).endswith(".cu")]
        return load_inline(name, [text for text in texts.values() if text not in cuda], cuda or None, **named)

    @contextmanager
    def _unlimited(self) -> Iterator[None]:
        """A compiler takes what it takes, while the file's own steps have limits."""
        inside = self._step is not None
        if inside:
            steps.monitor.end()
        try:
            yield
        finally:
            if inside and self._step is not None:
                steps.monitor.begin(*self._step)

    _step: tuple[Any, ...] | None = None

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
        return [
            f"{of.__name__}.{name}" for (of, name), value in self._watched.items() if getattr(of, name, None) != value
        ]

    def load(self, path: str, knobs: Mapping[str, Any] = {}, name: str = "") -> types.ModuleType:
        """Run a file as a module, with other values for some of its numbers.

        Args:
            path: of it; its folder can be imported from.
            knobs: values of what it assigns at its top level.
            name: under which others import it; default: its own.
        """
        folder = os.path.dirname(os.path.abspath(path))
        if folder not in sys.path:
            sys.path.insert(0, folder)
        tree = ast.parse(python_of(Path(path)), path)
        if knobs:
            tree = _turned(tree, knobs)
        module = types.ModuleType(name or Path(path).stem.replace(".", "_"))
        module.__file__ = path
        sys.modules[module.__name__] = module
        self.paths.add(path)
        with self.step("import"):
            exec(compile(tree, path, "exec"), module.__dict__)
        return module

    def seeded(self, seed: int, make: Callable[[], Any]) -> Any:
        """Call what draws numbers, from a seed."""
        torch.manual_seed(seed)
        with self.step("inputs"):
            return make()

    def called(
        self, function: Callable[..., Any], values: Any, in_double: bool, step: str = "reference", at: str = ""
    ) -> Any:
        """Call a function of the file's with inputs; what is random in it comes from the same seed."""
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if in_double else before)
        torch.manual_seed(7)
        try:
            with self.step(step, at), torch.no_grad():
                return function(**values) if isinstance(values, dict) else function(*values)
        finally:
            torch.set_default_dtype(before)

    def line_of(self, error: BaseException) -> int:
        """Return the line of the file in which an exception was raised, or that called what raised it; 0 for none."""
        found, frame = 0, error.__traceback__
        while frame is not None:
            if frame.tb_frame.f_code.co_filename in self.paths:
                found = frame.tb_lineno
            frame = frame.tb_next
        return found


#: The functions of a file by which its sizes are given.
_SIZING = ("get_inputs", "get_init_inputs")


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr, Callable[[ast.expr], None]]]:
    """List what a file assigns to names at its top level, `M, K = 2, 3` too: the name, the value, and what puts another there."""
    for node in tree.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name):
            yield target.id, value, partial(setattr, node, "value")
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for place, one in enumerate(target.elts):
                if isinstance(one, ast.Name):
                    yield one.id, value.elts[place], partial(value.elts.__setitem__, place)


def _sizing(tree: ast.Module) -> Iterator[ast.AST]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in _SIZING:
            yield from ast.walk(node)


def _turned(tree: ast.Module, knobs: Mapping[str, Any]) -> ast.Module:
    """Put other values in the place of the numbers by which the sizes of a file are given."""
    for name, value, put in list(_assigned(tree)):
        if name in knobs:
            put(ast.copy_location(ast.parse(repr(knobs[name]), mode="eval").body, value))
    for one in _sizing(tree):
        if isinstance(one, ast.Constant) and isinstance(one.value, int) and str(one.value) in knobs:
            one.value = knobs[str(one.value)]
    return ast.fix_missing_locations(tree)


def knobs_of(path: str) -> dict[str, Any]:
    """Return the numbers, and lists of them, by which `get_inputs` and `get_init_inputs` are sized: by name, or by what they are.

    Raises:
        InputError: as for `python_of`.
    """
    tree = ast.parse(python_of(Path(path)), path)
    values, names = {}, {}
    for name, value, _ in _assigned(tree):
        names[name] = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
        with suppress(ValueError):
            values[name] = ast.literal_eval(value)
    asked = {one.id for one in _sizing(tree) if isinstance(one, ast.Name)}
    for _ in range(3):  # what those are made of
        asked |= {other for name in asked & {*names} for other in names[name]}
    known = {name: value for name, value in values.items() if name in asked}
    numbers = [one.value for one in _sizing(tree) if isinstance(one, ast.Constant) and is_extent(one.value)]
    known |= {str(one): one for one in numbers if isinstance(one, int) and one > _SMALL}
    return {name: value for name, value in known.items() if any(is_extent(one) for one in _flat(value))}


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def is_extent(value: Any) -> bool:
    """Tell whether a number may be an extent: a whole one."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def each_extent(value: Any, change: Callable[[int], int]) -> Any:
    """Change the extents of a knob, alone or in a list."""
    if isinstance(value, list | tuple):
        return type(value)(each_extent(one, change) for one in value)
    return change(value) if is_extent(value) else value


def smaller(value: Any, halvings: int) -> Any:
    """Halve the extents of a knob so many times, but not below what windows, heads and groups have.

    Example:
        >>> smaller(1024, 3), smaller((64, 7), 3)
        (128, (16, 7))
    """
    return each_extent(value, lambda extent: extent if extent <= _SMALL else max(extent >> halvings, _SMALL))


def odd(value: Any) -> Any:
    """Make extents odd that are no windows: what is a multiple of nothing.

    Example:
        >>> odd(128), odd((16, 7))
        (125, (13, 7))
    """
    return each_extent(
        value, lambda extent: extent if extent < _SMALL else extent - 3 if extent % 2 == 0 else extent - 2
    )


def require(module: types.ModuleType, name: str, path: str) -> Any:
    """Return what a module has by a name.

    Raises:
        InputError: it has none.
    """
    if not hasattr(module, name):
        raise InputError(f"{Path(path).name}: it defines no {name}")
    return getattr(module, name)
