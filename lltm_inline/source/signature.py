"""Holds `forward` and `backward` of a kernel's C++ text against the op's schema.

This is what makes a wrong argument count an instant, plain message in place of a page of template errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

from ..base.arguments import plural
from ..cpp.bodies import split
from ..cpp.functions import Function, find_function, squeezed
from ..cpp.masks import mask, placed, taken
from ..model.op import LIST, RESULTS
from ..model.registry import Argument, Kernel, Op
from .custom_classes import shared_names
from .types import NARROW, PLAIN, TENSOR, WIDE, item_of, read_type, spelled

_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([^;]+);|\btypedef\b([^;]+?)\b(\w+)\s*;")
#: A name that stands for itself: in no namespace, and no template.
_OWN_NAME = re.compile(r"(?<![\w:])[A-Za-z_]\w*\b(?!\s*(?:::|<))")
#: However many aliases stand behind each other; one that names itself must end.
_DEEPEST = 4
#: What holds several tensors and is no tuple.
_CONTAINER = re.compile(
    r"(?:std::(?:vector|pair|array|initializer_list|list)|(?:c10|at|torch)::\w+)<.*>|\w+::TensorList"
)
#: The numbers of C++ that an op's are handed to; what is optional or in a list is not narrowed.
_TAKEN = {"float": ("double",), "int": (*WIDE, *NARROW), "int?": WIDE, "int[]": WIDE}


@dataclass(frozen=True)
class Problem:
    """Why a text does not fit its op, at a line and column of the named source."""

    file: str
    line: int
    column: int
    message: str
    help: str


@dataclass(frozen=True)
class Interface:
    """What a kernel's text offers.

    Attributes:
        extras: how many extra tensors `forward` returns.
        has_backward: whether there is a `backward`.
        problems: why the text does not fit.
        optional_grads: for each output, whether `backward` takes its gradient as an optional tensor, and so undefined.
        through_aten: whether autograd is to differentiate the calls of ATen in `forward`.
        lists: which of `forward` and `backward` return a list, of which the type does not tell how many tensors there are.
        narrow: integers that `forward` takes with 32 bits.
    """

    extras: int
    has_backward: bool
    problems: tuple[Problem, ...] = ()
    optional_grads: tuple[bool, ...] = ()
    through_aten: bool = False
    lists: tuple[str, ...] = ()
    narrow: tuple[str, ...] = ()


#: How what is generated begins, behind a text of somebody's own: `export/templates/adapter.cpp.jinja`.
GENERATED = "// What the playground calls: "


def own_text(text: str) -> str:
    """Return what stands before what is generated: all of it, where nothing is.

    Example:
        >>> own_text("int f();\\n// What the playground calls: f, with")
        'int f();\\n'
    """
    ahead, found, _ = f"\n{text}".partition(f"\n{GENERATED}")
    return (ahead + "\n" * bool(found))[1:]


def examine(kernel: Kernel, op: Op, text: str) -> Interface:
    """Hold the functions of a kernel's C++ text against its op.

    Args:
        kernel: whose text this is.
        op: what it computes.
        text: the rendered C++ part, with `#line` directives.
    """
    masked = mask(taken(text))
    name, of_gradients = (*kernel.functions, "")[:2]
    forward = find_function(text, name)
    backward = find_function(text, of_gradients) if of_gradients else None
    if (opened := masked.find("/*")) >= 0:  # of those that end nothing is left
        place = _locate(text, opened, kernel.name)
        return Interface(0, False, (Problem(*place, "a comment begins here, and has no end", "End it with */"),))
    if forward is None:
        return Interface(0, backward is not None, (_missing(kernel, text, masked, name, cpp_declaration(kernel, op)),))
    check = _Examination(kernel, op, text, forward)
    problems, lists = check.problems, check.lists
    if backward is None and of_gradients not in ("", "backward"):
        problems.append(_missing(kernel, text, masked, of_gradients, "it is to compute the gradients"))
    extras, optional_grads = check.forward(backward), tuple[bool, ...]()
    if backward is not None and not problems:
        back = _Examination(kernel, op, text, backward)
        optional_grads = back.optional_grads
        back.backward(Interface(extras, True, optional_grads=optional_grads))
        problems, lists = problems + back.problems, lists + back.lists
    # Classes and operators that a second revision could not register again.
    problems += [Problem(*_locate(text, place, kernel.name), *words) for place, *words in shared_names(masked)]
    alone = backward is None and bool(op.gradients)
    return Interface(extras, backward is not None, tuple(problems), optional_grads, alone, tuple(lists), check.narrow)


def _missing(kernel: Kernel, text: str, masked: str, name: str, declaration: str) -> Problem:
    """Say that a function is not there, at the place where its name stands."""
    other = re.search(rf"\b{name}\s*\(", masked)
    first = text.find("\n") + 1 if text.startswith("#line") else 0
    place = _locate(text, other.start() if other else first, kernel.name)
    ended = re.search(rf"\b{name}\s*\([^;{{}}]*\)\s*(;)\s*{{", masked)
    ends = "Take the ';' after its ( ) away: it ends the function before its body."
    return Problem(*place, f"no function '{name}' at file scope", ends if ended else f"Define it as: {declaration}")


def cpp_type(argument: Argument, api: str) -> str:
    """Return the C++ type in which `forward` takes an argument."""
    return f"{TENSOR[api]}&" if argument.alias and argument.is_tensor else spelled(argument.type, api)


def cpp_declaration(kernel: Kernel, op: Op) -> str:
    """Spell out the `forward` that the op asks for."""
    parameters = ", ".join(f"{cpp_type(a, kernel.api)} {a.name}" for a in op.signature.inputs)
    return f"{returned_type(op.signature.outputs, kernel.api)} {kernel.functions[0]}({parameters})"


def skeleton(op: Op, name: str) -> Kernel:
    """Make a kernel whose text fits an op, computes nothing yet, and has the headers of all that ATen computes.

    Example:
        >>> from lltm_inline import registry
        >>> skeleton(registry.ops["axpy"], "axpy/mine").cpp.split("\\n")[3]
        'at::Tensor forward(const at::Tensor& x, const at::Tensor& y) {'
    """
    gradients = len(op.gradients)
    saved = [one.name for one in op.signature.inputs if one.type == "Tensor" and not one.alias] if gradients else []
    kernel = Kernel(name, cpp="...", saves=tuple(saved))
    heads = [cpp_declaration(kernel, op)]
    if gradients:
        given = [f"{cpp_type(a, kernel.api)} {a.name}" for a in backward_arguments(kernel, op, Interface(0, True))]
        taken_ = ", ".join([*given, f"std::array<bool, {gradients}> wanted"])
        heads.append(
            f"// Leave this out where forward only calls ATen, as in 2 * x: autograd knows those gradients.\n"
            f"{tuple_of(gradients, kernel.api)} backward({taken_})"
        )
    body = '{} {{\n  throw std::runtime_error("{} is not written yet");\n}}\n'
    bodies = map(body.format, heads, kernel.functions)
    return replace(kernel, cpp="\n".join(["#include <ATen/ATen.h>\n#include <stdexcept>\n", *bodies]))


def returned_type(outputs: Sequence[Argument], api: str) -> str:
    """Return the C++ type of an op's results: one is bare, and none is void."""
    types = [TENSOR[api] if output.is_tensor else PLAIN[output.type] for output in outputs]
    return types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>" if types else "void"


def tuple_of(count: int, api: str) -> str:
    """Return the C++ type of so many tensors: one is bare."""
    return returned_type([Argument("", "Tensor")] * count, api)


class _Examination:
    """Collects the problems of one function; a class only so that kernel, op, text and function need no passing around."""

    def __init__(self, kernel: Kernel, op: Op, text: str, function: Function) -> None:
        self.kernel, self.op, self.text, self.function = kernel, op, text, function
        self.aliases = aliases_in(mask(taken(text)))
        self.problems: list[Problem] = []
        self.lists: list[str] = []
        self.called, self.back = (*kernel.functions, "backward")[:2]

    def problem(self, message: str, help: str) -> None:
        self.problems.append(Problem(*_locate(self.text, self.function.offset, self.kernel.name), message, help))

    def forward(self, backward: Function | None) -> int:
        """Look at `forward`, and return how many extra tensors it returns."""
        inputs, outputs = self.op.signature.inputs, self.op.signature.outputs
        want, names = cpp_declaration(self.kernel, self.op), ", ".join(output.name for output in outputs) or "nothing"
        if len(self.function.types) != len(inputs):
            self.problem(
                f"'{self.called}' takes {plural(len(self.function.types), 'argument')}, op '{self.op.name}' has {len(inputs)}: "
                f"{', '.join(argument.name for argument in inputs)}",
                f"Want: {want}, then any extra tensors in the returned tuple.",
            )
            return 0
        self._order(inputs)
        for number, (argument, type_) in enumerate(zip(inputs, self.function.types, strict=True), 1):
            self._type(f"argument {number} of '{self.called}'", argument, type_)
        kinds = ["Tensor" if output.is_tensor else output.type for output in outputs]
        all_tensors, behind = {*kinds} <= {"Tensor"}, "then whatever extra tensors 'backward' needs"
        if all_tensors and outputs and self._is_list:
            self.lists.append("forward")
            handed = len(outputs) + len(self.kernel.saves) + 1  # to backward, but for the extra tensors
            return max(len(backward.types) - handed, 0) if backward is not None else 0
        returned = self._returned or []
        fits = (returned or not outputs) and all(map(self._is, returned, chain(kinds, repeat("Tensor"))))
        if self._returned is None or not fits:
            longer = ", or a longer tuple" if outputs else ""
            cure = self._cure(max(len(outputs), 2)) if all_tensors else ""
            self.problem(
                f"'{self.called}' returns '{self._named}', want {returned_type(outputs, self.kernel.api)}{longer}",
                f"Return {names}, {behind}{cure}.",
            )
            return 0
        more, is_last = len(returned) - len(outputs), not self.op.gradients
        if more < 0 or (outputs and more > 0 and is_last):
            values = plural(len(returned), "tensor" if all_tensors else "value")
            self.problem(
                f"'{self.called}' returns {values}, op '{self.op.name}' has {plural(len(outputs), 'output')}: {names}",
                f"Return the outputs first, {behind}."
                if more < 0
                else "Return these alone: the op has no gradients, so nobody takes more.",
            )
        # What a function returns of an op without outputs, as often the changed input, is dropped.
        return 0 if is_last else max(more, 0)

    @property
    def narrow(self) -> tuple[str, ...]:
        """Name the integers that `forward` takes with 32 bits."""
        pairs = zip(self.op.signature.inputs, self.function.types, strict=False)
        return tuple(a.name for a, type_ in pairs if a.type == "int" and read_type(self._meant(type_)).of in NARROW)

    @property
    def optional_grads(self) -> tuple[bool, ...]:
        """Tell for each output whether its gradient is taken as an optional tensor."""
        types = [*map(self._meant, self.function.types), *[""] * len(self.op.signature.outputs)]
        return tuple(bool(re.search(r"\boptional\s*<", types[i])) for i, _ in enumerate(self.op.signature.outputs))

    def backward(self, interface: Interface) -> None:
        arguments = backward_arguments(self.kernel, self.op, interface)
        gradients = len(self.op.gradients)
        if not gradients:
            self.problem(
                f"op '{self.op.name}' has no gradients, so nobody calls '{self.back}'",
                f"Leave it out, or name the function that computes: functions=('{self.called}',).",
            )
            return
        names = [*(argument.name for argument in arguments), "wanted"]
        if len(self.function.types) != len(names):
            self.problem(
                f"'{self.back}' takes {plural(len(self.function.types), 'argument')}, want {len(names)}: {', '.join(names)}",
                f"{self._forgotten(names)}That is a gradient for each output, then what saves= names, then the extra "
                f"tensors of '{self.called}', then std::array<bool, {gradients}>.",
            )
            return
        for number, (argument, type_) in enumerate(zip(arguments, self.function.types, strict=False), 1):
            self._type(f"argument {number} of '{self.back}'", argument, type_)
        mask_type = self._meant(self.function.types[-1]).replace("const ", "").rstrip("& ")
        if mask_type.replace("bool, ", "bool,") != f"std::array<bool,{gradients}>":
            self.problem(
                f"the last argument of '{self.back}' is '{self.function.types[-1]}', want std::array<bool, {gradients}>",
                f"It says which of the {gradients} gradients are wanted; leave the others undefined.",
            )
        if self._is_list:
            self.lists.append("backward")
            return
        returned = self._returned
        tensors = returned is not None and all(self._is(type_, "Tensor") for type_ in returned)
        if returned is None or not tensors or len(returned) != gradients:
            self.problem(
                f"'{self.back}' returns {plural(len(returned), 'gradient') if returned and tensors else 'a ' + self._named}, "
                f"want {gradients}: {', '.join('d_' + argument.name for argument in self.op.gradients)}",
                f"Return {tuple_of(gradients, self.kernel.api)}, with an undefined tensor for each gradient that is not wanted"
                f"{self._cure(gradients)}.",
            )

    def _forgotten(self, names: list[str]) -> str:
        """Ask for what `backward` takes by the name of an input or output, and is not given."""
        known = {argument.name for argument in (*self.op.signature.inputs, *self.op.signature.outputs)}
        missed = [name for name in self.function.names if name in known and name not in names]
        if not missed or len(self.function.types) - len(names) != len(missed):
            return ""
        saves = (*self.kernel.saves, *missed)
        return f"Did you forget saves=({', '.join(map(repr, saves))}{',' * (len(saves) == 1)})? "

    def _order(self, inputs: tuple[Argument, ...]) -> None:
        want = [argument.name for argument in inputs]
        if list(self.function.names) != want and sorted(self.function.names) == sorted(want):
            self.problem(
                f"'{self.called}' takes its arguments in the order {', '.join(self.function.names)}; op '{self.op.name}' passes "
                f"{', '.join(want)}",
                "Arguments are passed by position: bring them into the op's order.",
            )

    def _type(self, where: str, argument: Argument, type_: str) -> None:
        spelled = self._meant(type_)
        by_reference = "&" in spelled and not spelled.startswith("const ") and " const" not in spelled
        # The op may have no more digits than a float.
        is_float = argument.type == "float" and "float64" not in self.op.dtypes and read_type(spelled).of == "float"
        if (by_reference and argument.type != "Tensor") or not (is_float or self._is(spelled, argument.type)):
            self.problem(
                f"{where} ({argument.name}) is '{spelled}', want {cpp_type(argument, self.kernel.api)}",
                f"The op declares it as '{argument}'.",
            )

    def _is(self, spelled: str, kind: str) -> bool:
        """Tell whether a type of C++ takes all that a type of the op may be."""
        type_, tensors = read_type(spelled), {TENSOR[self.kernel.api], "Tensor"}
        taken = tensors if kind.startswith("Tensor") else _TAKEN.get(kind) or _TAKEN.get(item_of(kind))
        return type_.kind == kind and (taken is None or type_.of in taken)

    def _meant(self, type_: str) -> str:
        return meant(type_, self.aliases)

    @property
    def _named(self) -> str:
        """Name a return type, and what stands behind an alias."""
        whole = self._meant(self.function.returns)
        return self.function.returns if whole == self.function.returns else f"{self.function.returns} = {whole}"

    def _cure(self, count: int) -> str:
        """Say what to write in place of a container of tensors, of which the type does not tell how many they are."""
        if not _CONTAINER.fullmatch(self._meant(self.function.returns)):
            return ""
        return f": write {tuple_of(count, self.kernel.api)}, with one {TENSOR[self.kernel.api]} for each; `return {{a, b}};` may stay"

    @property
    def _is_list(self) -> bool:
        """Tell whether a function returns a list of tensors."""
        returns = self._meant(self.function.returns)
        return returns.startswith("std::vector") and self._is(returns, LIST)

    @property
    def _returned(self) -> list[str] | None:
        """List the types of what a function returns; None when the return type does not tell."""
        returns = squeezed(re.sub(r"\bconst\b|&", "", self._meant(self.function.returns)))
        if returns == "void":
            return []
        inner = re.fullmatch(r"std::(?:tuple|pair)<(.*)>", returns)
        parts = [squeezed(part) for part in split(inner[1])] if inner else [returns]
        known = all(any(self._is(part, kind) for kind in RESULTS) for part in parts)
        return parts if known and (len(parts) > 1 or not inner) else None


def aliases_in(masked: str) -> dict[str, str]:
    """Return what the names stand for that a text gives to types, by `using` or `typedef`.

    Example:
        >>> aliases_in("using Pair = std::tuple<Tensor, Tensor>; typedef at::Tensor T;")
        {'Pair': 'std::tuple<Tensor, Tensor>', 'T': 'at::Tensor'}
    """
    found = (match.groups() for match in _ALIAS.finditer(masked))
    return {new or old: squeezed(one or other) for new, one, other, old in found}


def meant(type_: str, aliases: Mapping[str, str]) -> str:
    """Put what they stand for in the place of a text's own names of types.

    Example:
        >>> meant("const T&", {"T": "Tensor"})
        'const Tensor&'
    """
    for _ in range(_DEEPEST):
        type_ = _OWN_NAME.sub(lambda name: aliases.get(name[0], name[0]), type_)
    return squeezed(type_)


def meant_function(function: Function, aliases: Mapping[str, str]) -> Function:
    """Put what they stand for in the place of a text's own names of types, in what a function takes and returns."""
    parameters = tuple(replace(one, type=meant(one.type, aliases)) for one in function.parameters)
    return replace(function, returns=meant(function.returns, aliases), parameters=parameters)


def backward_arguments(kernel: Kernel, op: Op, interface: Interface) -> tuple[Argument, ...]:
    """List what `backward` takes before the mask: gradients of the outputs, saved values, extra tensors."""
    outputs = op.signature.outputs
    known = {argument.name: argument for argument in (*op.signature.inputs, *outputs)}
    optional = interface.optional_grads or (False,) * len(outputs)
    return (
        *(Argument(f"d_{output.name}", f"Tensor{'?' * opt}") for output, opt in zip(outputs, optional, strict=True)),
        *(known[name] for name in kernel.saves),
        *(Argument(f"extra{number}", "Tensor") for number in range(interface.extras)),
    )


def _locate(text: str, offset: int, name: str) -> tuple[str, int, int]:
    """Turn an offset in a rendered text into (source, line, column); `name` is that of the first source."""
    file, line, column = placed(text, offset)
    return file or name, line, column
