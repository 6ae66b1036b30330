"""What is compared with what, in each form: a case is a size at which solution and reference can both be called."""

from __future__ import annotations

import copy
import inspect
import os
import runpy
import shutil
import sys
import tempfile
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..base.arguments import plural
from ..cpp.functions import at_file_scope
from ..errors import InputError
from ..run.function import each
from .forms import Form
from .running import Runner, is_extent, knobs_of, odd, require, smaller

#: So many elements may the inputs and parameters of a case have: on the CPU, and where each step of a launch is looked at.
MOST = {"cpu": 1 << 20, "cuda": 1 << 24, "cuda-cpu": 1 << 15}
_MOST_HALVINGS = 24
#: Modules of KernelBot's that lie elsewhere in its repository.
_UTILS = """
import torch
def verbose_allclose(received, expected, rtol=1e-05, atol=1e-08, max_print=5):
    if received.shape != expected.shape:
        return [f"SIZE MISMATCH: {tuple(received.shape)}, want {tuple(expected.shape)}"]
    wrong = ~torch.isclose(received.to(expected.dtype), expected, rtol=rtol, atol=atol, equal_nan=True)
    return [f"{int(wrong.sum())} of {wrong.numel()} elements differ"] if wrong.any() else []
def verbose_allequal(received, expected, max_print=5):
    return verbose_allclose(received, expected, 0, 0)
def match_reference(data, output, reference, rtol=1e-05, atol=1e-08):
    wanted = reference(data)
    pairs = [(output, wanted)] if isinstance(wanted, torch.Tensor) else zip(output, wanted)
    return "; ".join(one for got, want in pairs for one in verbose_allclose(got, want, rtol, atol))
def make_match_reference(reference, rtol=1e-05, atol=1e-08, **_):
    return lambda data, output: match_reference(data, output, reference, rtol, atol)
class DeterministicContext:
    __enter__ = lambda self: self
    __exit__ = lambda self, *_: None
set_seed = torch.manual_seed
get_device = lambda *_: torch.device("cuda")
clear_l2_cache = lambda: None
"""


@dataclass
class Case:
    """A size at which both can be called.

    Attributes:
        at: it in words.
        draw: makes the inputs from a seed.
        run: the solution; `want`: the reference, in double precision if that is asked for.
        verify: the form's own check: what it says of outputs for inputs; nothing where they are right.
        elements: of the inputs and parameters.
        notes: what was guessed.
    """

    at: str
    draw: Callable[[int], Any]
    want: Callable[[Any, bool], Any]
    run: Callable[[Any], Any] | None = None
    verify: Callable[[Any, Any], str] | None = None
    elements: int = 0
    notes: tuple[str, ...] = ()


class Subject(ABC):
    """A file of one form.

    Attributes:
        notes: what was made smaller.
        not_tried: which sizes the reference does not take.
        calls_reference: how often the solution has called the reference.
    """

    def __init__(self, runner: Runner, form: Form) -> None:
        self.runner, self.form = runner, form
        self.notes: list[str] = []
        self.not_tried: list[str] = []
        self.calls_reference, self.in_solution = 0, False

    @abstractmethod
    def case(self, size: Mapping[str, Any], solution: bool) -> Case:
        """Make a case, without the solution if only the reference is asked."""

    @abstractmethod
    def sizes(self) -> Sequence[Mapping[str, Any]]:
        """Return the sizes that the file itself names, the first one first."""

    def watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count the calls that the solution makes of the reference."""

        def call(*values: Any, **named: Any) -> Any:
            self.calls_reference += self.in_solution
            return function(*values, **named)

        return call

    def takes(self, size: Mapping[str, Any], most: int) -> tuple[bool, str]:
        """Tell whether the reference takes a size of no more elements than these, and why not."""
        try:
            case = self.case(size, solution=False)
            case.elements += sum(one.numel() for one in tensors(case.draw(0)))
            if case.elements > most:
                return False, "too many elements"
            case.want(case.draw(0), False)
        except Exception as error:  # whatever it says of a size that it refuses
            return False, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return True, ""

    def all(self) -> Iterator[Mapping[str, Any]]:
        """List the sizes to try: the file's own, made smaller, then odd ones, and the first extent 1."""
        most = MOST[self.runner.builder.device if self.runner.builder.used != {"cpu"} else "cpu"]
        seen: list[Mapping[str, Any]] = []
        for given in self.sizes():
            fitting: Mapping[str, Any] | None = None
            for halvings in range(_MOST_HALVINGS, -1, -1):
                size = {name: value if name == "seed" else smaller(value, halvings) for name, value in given.items()}
                if size == fitting:
                    continue
                takes, why = self.takes(size, most)
                if not takes and why == "too many elements":
                    break
                fitting = size if takes else fitting
            if fitting is None:
                if not given and not self.takes({}, 1 << 40)[0]:
                    raise InputError(f"the reference fails at the file's own sizes: {why}")
                fitting = given
            if fitting != given:
                self.notes.append(f"sizes made smaller: {_changes(given, fitting)}")
            if fitting not in seen:
                seen.append(fitting)
        yield from seen
        base = seen[0]
        free = [name for name, value in base.items() if name != "seed" and odd(value) != value]
        each_alone = [name for name in free if self.takes({**base, name: odd(base[name])}, 2 * most)[0]]
        for names in dict.fromkeys((tuple(free), tuple(each_alone))):
            size = {name: odd(value) if name in names else value for name, value in base.items()}
            if names and self.takes(size, 2 * most)[0]:
                yield size
                break
        else:
            self.not_tried += ["odd sizes: the reference takes none"] * bool(base)
        first = next((name for name, value in base.items() if name != "seed" and is_extent(value) and value > 1), None)
        if first and self.takes({**base, first: 1}, most)[0]:
            yield {**base, first: 1}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {before[name]} -> {after[name]}" for name in before if before[name] != after[name])


def words_of(size: Mapping[str, Any]) -> str:
    """Write a size: `batch_size=16, dim=125`."""
    return ", ".join(f"{name}={value}" for name, value in size.items()) or "the example's sizes"


def wide(value: Any) -> Any:
    """Bring what is real into double precision, in lists too."""
    return each_tensor(value, lambda one: one.double() if one.is_floating_point() else one)


def each_tensor(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """Change the tensors of a value: of dicts, too."""
    if isinstance(value, dict):
        return {name: each_tensor(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(each_tensor(one, change) for one in value)
    return each(value, change)


class KernelBench(Subject):
    """`Model` and `ModelNew`."""

    def sizes(self) -> Sequence[Mapping[str, Any]]:
        return [knobs_of(self.form.reference)]

    def case(self, size: Mapping[str, Any], solution: bool) -> Case:
        runner, form = self.runner, self.form
        runner.builder.dry = not solution
        reference = runner.load(form.reference, size)
        init = runner.seeded(0, getattr(reference, "get_init_inputs", list))
        model = runner.seeded(0, lambda: _made(require(reference, "Model", form.reference), init))
        double = copy.deepcopy(model).double()

        def want(inputs: Any, in_double: bool) -> Any:
            return runner.called(double if in_double else model, wide(inputs) if in_double else inputs, in_double)

        draw = require(reference, "get_inputs", form.reference)
        count = sum(one.numel() for one in model.state_dict().values())
        case = Case(words_of(size), lambda seed: runner.seeded(seed, draw), want, elements=count)
        if solution:
            module = reference
            if form.solution != form.reference:
                own = knobs_of_top(form.solution)
                module = runner.load(form.solution, {n: v for n, v in size.items() if n in own})
            reference.Model.forward = self.watched(reference.Model.forward)
            new = runner.seeded(0, lambda: _made(require(module, "ModelNew", form.solution), init))
            case.notes = tuple(copy_parameters(model, new))
            case.run = lambda inputs: runner.called(new, inputs, False, "forward", case.at)
        return case


def _made(kind: Callable[..., Any], init: Any) -> Any:
    return kind(**init) if isinstance(init, dict) else kind(*init)


def knobs_of_top(path: str) -> set[str]:
    """Name what a file assigns at its top level that `get_inputs` of it may be sized by, too."""
    try:
        return set(knobs_of(path))
    except (SyntaxError, InputError):
        return set()


@torch.no_grad()
def copy_parameters(old: torch.nn.Module, new: torch.nn.Module) -> Iterator[str]:
    """Give a model the parameters and buffers of another: by name, and else by order and number of elements; say what was guessed."""
    left, open_ = dict(old.state_dict()), dict(new.state_dict())
    for name in [name for name in open_ if name in left and open_[name].numel() == left[name].numel()]:
        if open_[name].shape != left[name].shape:
            yield f"parameter {name} {tuple(left[name].shape)} of Model goes into {tuple(open_[name].shape)} of ModelNew"
        open_.pop(name).copy_(left.pop(name).reshape(new.state_dict()[name].shape))
    for name, tensor in open_.items():
        other = next((one for one, value in left.items() if value.numel() == tensor.numel()), None)
        if other is None:
            yield f"parameter {name} {tuple(tensor.shape)} of ModelNew is like none of Model's: it has what the same seed gives it"
            continue
        yield f"parameter {name} of ModelNew is taken for {other} of Model, by order and number of elements"
        tensor.copy_(left.pop(other).reshape(tensor.shape))


class KernelBot(Subject):
    """`custom_kernel`, and `ref_kernel`, `generate_input` and `check_implementation` beside it."""

    def sizes(self) -> Sequence[Mapping[str, Any]]:
        reference = self._reference()
        tests = [dict(one) for one in self.form.tests]
        if not tests:
            known = inspect.signature(require(reference, "generate_input", self.form.reference)).parameters.values()
            needed = [one for one in known if one.name != "seed"]
            tests = [{one.name: 64 if one.default is one.empty else one.default for one in needed}]
            if any(one.default is one.empty for one in needed):
                self.notes.append(f"no task.yml: generate_input is called with {words_of(tests[0])}")
        for one in tests:
            one.pop("seed", None)
        return tests[:3]

    def _reference(self) -> types.ModuleType:
        for name, text in (
            ("utils", _UTILS),
            ("task", "from typing import Any\ninput_t = output_t = Any\nTestSpec = dict\n"),
        ):
            folder = Path(self.form.reference).parent
            if name not in sys.modules and not (folder / f"{name}.py").is_file():
                path = next((p for p in (folder.parent / f"{name}.py",) if p.is_file()), None)
                if path:
                    self.runner.load(str(path))
                else:
                    module = sys.modules[name] = types.ModuleType(name)
                    exec(text, module.__dict__)
        if "reference" not in self.__dict__:
            self.reference = self.runner.load(self.form.reference, name="reference")
            self.own = require(self.reference, "ref_kernel", self.form.reference)
            vars(self.reference)["ref_kernel"] = self.watched(self.own)
        return self.reference

    def _solution(self) -> Callable[..., Any]:
        if "solution" not in self.__dict__:
            path = self.form.solution
            if path.endswith(".cu"):
                self.solution = self._of_source(Path(path))
            else:
                same = path == self.form.reference
                module = self.reference if same else self.runner.load(path, name="submission")
                self.solution = require(module, "custom_kernel", path)
        return self.solution

    def _of_source(self, path: Path) -> Callable[..., Any]:
        """Make `custom_kernel` of a CUDA file: as CS149's own script does where it is there; else by its one function of tensors."""
        path = path.resolve()
        script = next(path.parent.glob("wrap_*submission.py"), None)
        text = path.read_text(encoding="utf-8")
        if script:
            folder, before, words = Path(tempfile.mkdtemp(prefix="lltm_inline-judge-")), os.getcwd(), sys.argv
            try:
                shutil.copy(path, folder)
                os.chdir(folder)
                sys.argv = [script.name, "judge"]
                with self.runner.step("import"):
                    runpy.run_path(str(script), run_name="__main__")
                return require(
                    self.runner.load(str(folder / "submission.py"), name="submission"), "custom_kernel", str(path)
                )
            finally:
                os.chdir(before)
                sys.argv = words
                shutil.rmtree(folder, ignore_errors=True)
        function = meant_of(text, path.name)
        from torch.utils import cpp_extension

        with self.runner.step("import"):
            module = cpp_extension.load_inline(path.stem, "", text, functions=[function])
        self.notes.append(
            f"custom_kernel is {function} of {path.name}, with what generate_input returns as its arguments"
        )
        return lambda data: getattr(module, function)(*(data if isinstance(data, tuple | list) else [data]))

    def case(self, size: Mapping[str, Any], solution: bool) -> Case:
        runner, reference = self.runner, self._reference()
        generate = require(reference, "generate_input", self.form.reference)
        has_seed = "seed" in inspect.signature(generate).parameters

        def draw(seed: int) -> Any:
            return runner.seeded(seed, lambda: generate(**size, **{"seed": 1000 + seed} if has_seed else {}))

        def want(data: Any, in_double: bool) -> Any:
            return runner.called(lambda one: self.own(one), (wide(data) if in_double else data,), in_double)

        case = Case(words_of(size), draw, want)
        if solution:
            custom = self._solution()
            case.run = lambda data: runner.called(custom, (data,), False, "forward", case.at)
        check = getattr(reference, "check_implementation", None)
        if check is not None:

            def verify(data: Any, output: Any) -> str:
                said = runner.called(check, (data, output), False)
                if isinstance(said, tuple):
                    return "" if said[0] else str(said[1])
                return (
                    "" if said in ("", None, True) else "check_implementation says no" if said is False else str(said)
                )

            case.verify = verify
        return case


def meant_of(text: str, where: str) -> str:
    """Name the one function of a text that is meant: `custom_kernel`, or the only one that takes tensors.

    Raises:
        InputError: there is none, or several.
    """
    found = [one.name for one in at_file_scope(text) if any("Tensor" in type_ for type_ in one.types)]
    if "custom_kernel" in found:
        return "custom_kernel"
    inner = {
        name
        for name in found
        if any(f"{name}(" in text.replace(" ", "").partition(f"{other}(")[2] for other in found if other != name)
    }
    outer = [name for name in dict.fromkeys(found) if name not in inner] or found[-1:]
    if len(outer) != 1:
        raise InputError(
            f"{where}: {plural(len(outer), 'function')} of tensors ({', '.join(outer) or 'none'}): which is meant? Call it custom_kernel"
        )
    return outer[0]


def flat(value: Any) -> Sequence[Any]:
    """List what a result has: tensors and numbers."""
    if isinstance(value, dict):
        value = list(value.values())
    return [one for part in value for one in flat(part)] if isinstance(value, list | tuple) else [value]


def tensors(value: Any) -> list[Tensor]:
    """List the tensors of a value."""
    return [one for one in flat(value) if isinstance(one, Tensor)]
