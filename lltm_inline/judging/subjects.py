"""What is compared with what, in each form, and at which sizes: a case is a size at which solution and reference can both be called."""

from __future__ import annotations

import ast
import copy
import inspect
import runpy
import shutil
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils import cpp_extension
from torch.utils._pytree import tree_map_only

from ..base.arguments import plural, raised
from ..cpp.bodies import find_calls
from ..cpp.functions import at_file_scope
from ..errors import InputError
from ..run.function import tensors
from .forms import Form, python_of
from .running import Runner, require

#: So many elements may the inputs and parameters of a case have: on the CPU, and where each step of a launch is looked at.
MOST = {"cpu": 1 << 20, "cuda": 1 << 24, "cuda-cpu": 1 << 15}
#: And of one that is tried because a solution takes no smaller ones.
_MOST_OF_ALL = 1 << 20
_TOO_MANY = "too many elements"
#: Extents above this are made smaller; below, they are windows, heads and groups.
_SMALL, _MOST_HALVINGS = 16, 24
#: Modules of KernelBot's that lie elsewhere in its repository, as far as references use them.
_UTILS = """
import torch
def _reasons(received, expected, rtol, atol):
    if received.shape != expected.shape:
        return [f"SIZE MISMATCH: {tuple(received.shape)}, want {tuple(expected.shape)}"]
    wrong = ~torch.isclose(received.to(expected.dtype), expected, rtol=rtol, atol=atol, equal_nan=True)
    return [f"{int(wrong.sum())} of {wrong.numel()} elements differ"] if wrong.any() else []
def verbose_allclose(received, expected, rtol=1e-05, atol=1e-08, max_print=5):
    found = _reasons(received, expected, rtol, atol)
    return (not found, found) if PAIRS else found
def verbose_allequal(received, expected, max_print=5):
    return verbose_allclose(received, expected, 0, 0)
def match_reference(data, output, reference, rtol=1e-05, atol=1e-08):
    wanted = reference(data)
    pairs = [(output, wanted)] if isinstance(wanted, torch.Tensor) else zip(output, wanted)
    found = "; ".join(one for got, want in pairs for one in _reasons(got, want, rtol, atol))
    return (not found, found) if PAIRS else found
def make_match_reference(reference, rtol=1e-05, atol=1e-08, **_):
    return lambda data, output: match_reference(data, output, reference, rtol, atol)
class DeterministicContext:
    __enter__ = lambda self: self
    __exit__ = lambda self, *_: None
DisableCuDNNTF32 = DeterministicContext
set_seed = torch.manual_seed
get_device = lambda *_: torch.device("cuda")
clear_l2_cache = lambda *_: None
"""
#: By the names under which they are imported.
_BESIDE = {"utils": _UTILS, "task": "from typing import Any\ninput_t = output_t = Any\nTestSpec = dict\n"}
Size = Mapping[str, Any]


@dataclass
class Case:
    """A size at which both can be called.

    Attributes:
        make: makes the arguments of a call, given a seed.
        reference: what is right; `double`: the same, called in double precision.
        solution: what is tried.
        check: the form's own, of the arguments and the output.
        elements: of the parameters.
        buffers: whether inputs may hold what becomes the output, as they do in KernelBot.
    """

    runner: Runner
    size: Size
    make: Callable[[int], Any]
    reference: Callable[..., Any]
    double: Callable[..., Any]
    solution: Any = None
    check: Any = None
    elements: int = 0
    buffers: bool = False

    @property
    def at(self) -> str:
        """The size in words: `batch_size=16, dim=125`."""
        return words_of(self.size)

    def draw(self, seed: int) -> Any:
        """Make the inputs from a seed."""
        return self.runner.seeded(seed, lambda: self.make(seed))

    def want(self, inputs: Any, in_double: bool = False) -> Any:
        """Call the reference."""
        if in_double:
            wide = tree_map_only(Tensor, lambda one: one.double() if one.is_floating_point() else one, inputs)
            return self.runner.called(self.double, wide, in_double=True)
        return self.runner.called(self.reference, inputs)

    def run(self, inputs: Any) -> Any:
        """Call the solution."""
        return self.runner.called(self.solution, inputs, "forward", self.at)

    def verify(self, inputs: Any, output: Any) -> str:
        """Say what the form's own check says of an output; nothing where that is right."""
        said = self.runner.called(self.check, [*inputs, output])
        if isinstance(said, tuple):
            said = True if said[0] else str(said[1])
        return "" if said in ("", None, True) else "check_implementation says no" if said is False else str(said)


@dataclass
class Subject:
    """A file of one form.

    Attributes:
        sizes: those that it names itself, the first one first.
        case: makes a case of a size, without the solution if only the reference is asked.
    """

    runner: Runner
    sizes: list[Size]
    case: Callable[[Size, bool], Case]

    @property
    def most(self) -> int:
        """How many elements a case may have."""
        return MOST[self.runner.builder.device if self.runner.builder.used != {"cpu"} else "cpu"]

    def refusal(self, size: Size, most: int) -> str:
        """Say why the reference does not take a size of no more elements than these; nothing where it does."""
        try:
            case = self.case(size, False)
            if case.elements + sum(one.numel() for one in tensors(case.draw(0))) > most:
                return _TOO_MANY
            case.want(case.draw(0))
        except Exception as error:  # whatever it says of a size that it refuses
            return raised(error)
        return ""

    def own(self) -> list[Size]:
        """List the sizes of the file, made smaller as far as the reference takes that.

        Raises:
            InputError: it takes none of them.
        """
        found: list[Size] = []
        for given in self.sizes:
            fitting, why = None, ""
            for size in _shrunk(given):
                refusal = self.refusal(size, self.most if fitting else MOST["cuda"])
                if refusal == _TOO_MANY:
                    break
                fitting, why = (fitting, refusal) if refusal else (size, why)
            if fitting is None:
                raise InputError(f"the reference takes none of the sizes that were tried: {why or _TOO_MANY}")
            changed = [f"{name} {given[name]} -> {fitting[name]}" for name in given if given[name] != fitting[name]]
            if changed:
                self.runner.say("notes", f"sizes made smaller: {', '.join(changed)}")
            found += [fitting] * (fitting not in found)
        return found

    def fuller(self, base: Size) -> Iterator[Size]:
        """List sizes for a solution that takes only some of the file's own: all but one of them as they are, then all."""
        given = self.sizes[0]
        for size in [*({**given, name: base[name]} for name in given if given[name] != base[name]), given]:
            if size != base and not self.refusal(size, _MOST_OF_ALL):
                yield size

    def others(self, base: Size) -> Iterator[Size]:
        """List odd sizes, and the first extent 1, where the reference takes them."""
        most = self.most if self.refusal(base, self.most) != _TOO_MANY else _MOST_OF_ALL
        odder = tree_map_only(_is_extent, odd, base)
        free = [name for name in base if odder[name] != base[name]]
        alone = [name for name in free if not self.refusal({**base, name: odder[name]}, 2 * most)]
        sizes = ({**base, **{name: odder[name] for name in names}} for names in (free, alone) if names)
        if size := next((one for one in sizes if not self.refusal(one, 2 * most)), None):
            yield size
        elif base:
            self.runner.say("not_tried", "odd sizes: the reference takes none")
        first = next((name for name, value in base.items() if _is_extent(value) and value > 1), None)
        if first and not self.refusal({**base, first: 1}, most):
            yield {**base, first: 1}


def _is_extent(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _shrunk(given: Size) -> list[Size]:
    """List a size made smaller, the smallest first: where nothing else fits, below what windows have."""
    steps = [(_MOST_HALVINGS, 4), (_MOST_HALVINGS, 8), *((halvings, 16) for halvings in range(_MOST_HALVINGS, -1, -1))]
    found: list[Size] = []
    for halvings, least in steps:
        size = tree_map_only(_is_extent, partial(_smaller, halvings=halvings, least=least), given)
        found += [size] * (size not in found)
    return found


def _smaller(extent: int, halvings: int, least: int) -> int:
    return extent if extent <= _SMALL else max(extent >> halvings, least)


def odd(extent: int) -> int:
    """Make an extent odd that is no window: what is a multiple of nothing.

    Example:
        >>> odd(128), odd(16), odd(7)
        (125, 13, 7)
    """
    return extent if extent < _SMALL else extent - 2 - (extent % 2 == 0)


def words_of(size: Size) -> str:
    """Write a size: `batch_size=16, dim=125`."""
    return ", ".join(f"{name}={value}" for name, value in size.items()) or "the example's sizes"


class _Folded(ast.NodeTransformer):
    """Writes `1024 * 2` as one number."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        sides: list[Any] = [getattr(one, "value", None) for one in (node.left, node.right)]
        grows = isinstance(node.op, ast.Pow | ast.LShift) and _is_extent(sides[1]) and sides[1] > 32
        if grows or not all(map(_is_extent, sides)):
            return node
        return ast.copy_location(ast.Constant(eval(ast.unparse(node))), node)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """List what a file assigns to names at its top level, `M, K = 2, 3` too."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and (value := node.value) is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                pairs = [(target, value)]
                if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    pairs = list(zip(target.elts, value.elts, strict=False))
                yield from ((one.id, part) for one, part in pairs if isinstance(one, ast.Name))


def _walk(nodes: Any, kind: Any) -> list[Any]:
    return [one for node in nodes for one in ast.walk(node) if isinstance(one, kind)]


def _numbers(tree: ast.Module) -> Iterator[tuple[str, ast.Constant]]:
    """List the numbers by which `get_inputs` and `get_init_inputs` are sized: by name, or by what they are."""
    makers = [node for node in tree.body if getattr(node, "name", "") in ("get_inputs", "get_init_inputs")]
    asked = {one.id for one in _walk(makers, ast.Name)}
    for _ in range(3):  # what those are made of
        asked |= {one.id for name, value in _assigned(tree) if name in asked for one in _walk([value], ast.Name)}
    for name, value in _assigned(tree):
        numbers = [one for one in _walk([value], ast.Constant) if _is_extent(one.value)] if name in asked else []
        yield from ((f"{name}[{i}]" if len(numbers) > 1 else name, one) for i, one in enumerate(numbers))
    for one in _walk(makers, ast.Constant):
        if _is_extent(one.value) and one.value > _SMALL:
            yield str(one.value), one


def turned(text: str, path: str, size: Size) -> tuple[ast.Module, dict[str, Any]]:
    """Put other values in the place of the numbers by which the sizes of a file are given; return what they were, too.

    Example:
        >>> turned("N = 2 * 50\\ndef get_inputs():\\n    return N, 77", "it.py", {})[1]
        {'N': 100, '77': 77}
    """
    tree: ast.Module = _Folded().visit(ast.parse(text, path))
    before = {name: one.value for name, one in _numbers(tree)}
    for name, one in list(_numbers(tree)):
        one.value = size.get(name, one.value)
    return tree, before


def kernel_bench(runner: Runner, form: Form) -> Subject:
    """Hold `ModelNew` against `Model`."""

    def load(path: str, size: Size) -> types.ModuleType:
        return runner.load(path, tree=turned(python_of(Path(path)), path, size)[0])

    def case(size: Size, solution: bool) -> Case:
        runner.builder.dry = not solution
        reference = load(form.reference, size)
        init = runner.seeded(0, getattr(reference, "get_init_inputs", list))
        model = runner.seeded(0, lambda: _made(require(reference, "Model", form.reference), init))
        draw = require(reference, "get_inputs", form.reference)
        made = Case(runner, size, lambda _: draw(), model, copy.deepcopy(model).double())
        made.elements = sum(one.numel() for one in model.state_dict().values())
        if solution:
            module = reference if form.solution == form.reference else load(form.solution, size)
            reference.Model.forward = runner.watched(reference.Model.forward)
            made.solution = runner.seeded(0, lambda: _made(require(module, "ModelNew", form.solution), init))
            for note in copy_parameters(model, made.solution):
                runner.say("notes", note)
        return made

    return Subject(runner, [turned(python_of(Path(form.reference)), form.reference, {})[1]], case)


def _made(kind: Callable[..., Any], init: Any) -> Any:
    """Make a model of what `get_init_inputs` returns: its arguments, those by name, or `[[...], {...}]` of both."""
    if isinstance(init, dict):
        return kind(**init)
    if len(init) == 2 and isinstance(init[0], list | tuple) and isinstance(init[1], dict):
        return kind(*init[0], **init[1])
    return kind(*init)


@torch.no_grad()
def copy_parameters(old: torch.nn.Module, new: torch.nn.Module) -> Iterator[str]:
    """Give a model the parameters and buffers of another: by name, and else by order and number of elements; say what was guessed."""
    left, open_ = dict(old.state_dict()), dict(new.state_dict())
    pairs = [(name, name) for name in open_ if name in left and open_[name].numel() == left[name].numel()]
    for name, other in [*pairs, *((name, "") for name in open_ if (name, name) not in pairs)]:
        tensor, shape = open_[name], tuple(open_[name].shape)
        other = other or next((one for one, value in left.items() if value.numel() == tensor.numel()), "")
        if not other:
            yield f"parameter {name} {shape} of ModelNew is like none of Model's: it has what the same seed gives it"
            continue
        value = left.pop(other)
        turned = value.dim() == 2 and shape == tuple(value.shape)[::-1] != tuple(value.shape)
        how = ", transposed" * turned
        if name != other:
            yield f"parameter {name} of ModelNew is taken for {other} of Model, by order and number of elements{how}"
        elif shape != tuple(value.shape):
            yield f"parameter {name} {tuple(value.shape)} of Model goes into {shape} of ModelNew{how}"
        tensor.copy_((value.t() if turned else value).reshape(shape))


def kernel_bot(runner: Runner, form: Form) -> Subject:
    """Hold `custom_kernel` against `ref_kernel`, with `generate_input` and `check_implementation` beside it."""
    folder = Path(form.reference).parent
    # `good, reasons = verbose_allclose(...)` in some references, `reasons = ...` in others.
    lines = (line.partition("=") for line in python_of(Path(form.reference)).split("\n"))
    pairs = any("," in given and called.startswith((" verbose_all", " match_")) for given, _, called in lines)
    for name, text in _BESIDE.items():  # what lies elsewhere in KernelBot's repository
        here, above = folder / f"{name}.py", folder.parent / f"{name}.py"
        if not here.is_file():
            tree = None if above.is_file() else ast.parse(f"PAIRS = {pairs}\n{text}")
            runner.load(str(here if tree else above), name, tree)
    reference = runner.load(form.reference, "reference")
    kernel, generate = (require(reference, name, form.reference) for name in ("ref_kernel", "generate_input"))
    vars(reference)["ref_kernel"] = runner.watched(kernel)
    known = inspect.signature(generate).parameters
    sizes: list[Size] = [{name: one[name] for name in one if name != "seed"} for one in form.tests[:3]]
    if not sizes:
        needed = [one for one in known.values() if one.name != "seed"]
        sizes = [{one.name: 64 if one.default is one.empty else one.default for one in needed}]
        if any(one.default is one.empty for one in needed):
            runner.say("notes", f"no task.yml: generate_input is called with {words_of(sizes[0])}")

    @cache
    def solution_of() -> Callable[..., Any]:
        if form.solution.endswith(".cu"):
            return _of_source(runner, Path(form.solution).resolve())
        same = form.solution == form.reference
        module = reference if same else runner.load(form.solution, "submission")
        found: Callable[..., Any] = require(module, "custom_kernel", form.solution)
        return found

    def case(size: Size, solution: bool) -> Case:
        def make(seed: int) -> Any:
            return [generate(**size, **({"seed": 1000 + seed} if "seed" in known else {}))]

        custom = solution_of() if solution else None
        check = getattr(reference, "check_implementation", None)
        return Case(runner, size, make, kernel, kernel, custom, check, buffers=True)

    return Subject(runner, sizes, case)


def _of_source(runner: Runner, path: Path) -> Callable[..., Any]:
    """Make `custom_kernel` of a CUDA file: as CS149's own script does where it is there; else by its one function of tensors."""
    script = next(path.parent.glob("wrap_*submission.py"), None)
    if script:
        words = patch.object(sys, "argv", [script.name, "judge"])
        with TemporaryDirectory(prefix="lltm_inline-judge-") as folder, chdir(folder), words:
            shutil.copy(path, folder)
            with runner.step("import"):
                runpy.run_path(str(script), run_name="__main__")
            made: Callable[..., Any] = runner.load(f"{folder}/submission.py", "submission").custom_kernel
            return made
    function = meant_of(runner.text, path.name)
    with runner.step("import"):
        module = cpp_extension.load_inline(path.stem, "", runner.text, functions=[function])
    runner.say(
        "notes", f"custom_kernel is {function} of {path.name}, with what generate_input returns as its arguments"
    )
    return lambda data: getattr(module, function)(*(data if isinstance(data, tuple | list) else [data]))


def meant_of(text: str, where: str) -> str:
    """Name the one function of a text that is meant: `custom_kernel`, or the only one that takes tensors and that no other calls.

    Raises:
        InputError: there is none, or several.
    """
    found = [one for one in at_file_scope(text) if any("Tensor" in type_ for type_ in one.types)]
    names = list(dict.fromkeys(one.name for one in found))
    called = {call.name for one in found for call in find_calls(text[slice(*one.body)])}
    outer = [name for name in names if name == "custom_kernel"] or [name for name in names if name not in called]
    if not names:
        raise InputError(f"{where}: no function in it takes tensors: want torch::Tensor custom_kernel(torch::Tensor x)")
    if len(outer) != 1:
        these = f"{plural(len(outer), 'function')} of tensors ({', '.join(outer or names)})"
        raise InputError(f"{where}: {these}: which is meant? Call it custom_kernel")
    return outer[0]
