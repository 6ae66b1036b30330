"""Matches the functions of an extension with an op, by the names that its texts use."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.arguments import plural
from ..cpp.bodies import split
from ..cpp.functions import Function, find_function, laid_open
from ..cpp.masks import closing, mask
from ..errors import DefinitionError
from ..model.op import LIST
from ..model.registry import Argument, Op
from ..model.shapes import solve
from ..source.signature import aliases_in, meant_function
from ..source.types import CPP_DTYPES, CppType, read_type
from .reading import Result, Unclear, begun, body_of, result_of, whole_body

#: How a gradient is named after what it is the gradient of. Of many words that begin as the short forms do it is none.
_LONG = (r"(?:d|grad|gradient)_(\w+)", r"(\w+)_grad(?:ient)?")
_SHORT = (r"grad(\w+)", r"[dg](\w+)", r"(\w+)Grad")
#: What a function returns that leaves its results in tensors that it is given; an integer is how it went.
_NOTHING = re.compile(r"(?:static |inline )*(?:void|bool|int|long|int64_t)")
#: What such a tensor is called, where neither the op nor the other arguments say it.
FILLED = re.compile(r"_?(?:out\w*|\w+_out|dst\w*|dest|res\w*|ret\w*|[yzcCoO])_?")
#: Calls that make a tensor of a shape, which they take first; and the gradient of a table, whose rows they take third.
_MAKES = re.compile(r"(?:\w+\s*(?:::|\.)\s*)*(?:new_)?(?:zeros|empty|ones|full)\s*\(")
_TABLE = re.compile(r"(?:\w+\s*::\s*)*embedding_(?:dense_)?backward\s*\(")
_BY_HAND = "Or write 'forward' and 'backward' by hand, and take the file with li.Kernel.from_files"


@dataclass(frozen=True)
class Called:
    """One function of an extension.

    Attributes:
        name: of the function.
        function: as it is defined in the text.
        result: what it returns.
        space: the namespace that it is in, `"extension::"`.
        filled: those of its arguments that are its results: tensors that the caller gives.
    """

    name: str
    function: Function
    result: Result
    space: str = ""
    filled: tuple[str, ...] = ()

    @property
    def called(self) -> str:
        """Its name where it is called."""
        return self.space + self.name

    @property
    def call(self) -> str:
        """The same in brackets, which is looked up where it stands only: of a tensor's own namespace `at::square` would come along."""
        return self.called if self.space else f"({self.name})"

    def value(self, index: int, kind: str = "Tensor") -> str:
        """Spell one of the returned tensors, where `returned` holds what the function gives; as a number, how many a vector holds."""
        if self.filled:
            return made(self.result.names[index])
        if kind == "int" and read_type(self.function.returns).kind == LIST:
            return "static_cast<int64_t>(returned.size())"
        if self.is_single:
            return "returned"
        is_tuple = re.search(r"\b(?:tuple|pair)\b", self.function.returns)
        return f"std::get<{index}>(returned)" if is_tuple else f"returned[{index}]"

    @property
    def is_single(self) -> bool:
        """Whether it returns a tensor or a number, and no list of them."""
        if self.filled or not self.result.names:
            return False
        if self.function.returns == "auto":
            return len(self.result.names) == 1
        return re.search(r"(?<!\w)(?:Tensor|double|float|bool|int|long|int64_t)\Z", self.function.returns) is not None

    @property
    def is_kept(self) -> bool:
        """Whether what it returns is looked at."""
        return not self.filled and self.function.returns.rpartition(" ")[2] != "void"

    @property
    def names(self) -> tuple[str, ...]:
        """Its arguments, less those that it fills."""
        return tuple(name for name in self.function.names if name not in self.filled)

    @property
    def types(self) -> tuple[str, ...]:
        """Their types."""
        pairs = zip(self.function.names, self.function.types, strict=True)
        return tuple(type_ for name, type_ in pairs if name not in self.filled)

    def takes_tensor(self, position: int) -> bool:
        """Whether an argument is a tensor, and no number and nothing optional."""
        return is_tensor(self.types[position])

    def arguments(self, taken: Sequence[str]) -> list[str]:
        """Put what it fills between the arguments that it takes."""
        left = iter(taken)
        return [made(name) if name in self.filled else next(left) for name in self.function.names]


def is_tensor(type_: str) -> bool:
    """Whether a type of C++ is a tensor, and no number and nothing optional."""
    return read_type(type_).kind == "Tensor"


def made(name: str) -> str:
    """Name the variable of what a function fills."""
    return f"made_{name.strip('_')}"


def is_backward(name: str) -> bool:
    """Tell by its name whether a function is the backward of another.

    Example:
        >>> [name for name in ("lltm_backward_cuda", "foo_bwd", "row_bw", "bwoop", "forward") if is_backward(name)]
        ['lltm_backward_cuda', 'foo_bwd', 'row_bw']
    """
    return re.search(r"backward|(?:^|_)(?:bwd|bw)(?:_|$)", name) is not None


def bound_of(functions: Mapping[str, str], op: str) -> dict[str, str]:
    """Choose what is the extension's forward and what its backward, of the functions that it binds by name.

    Raises:
        DefinitionError: it binds no forward, or several.
    """
    found = {}
    for kind, words in (("forward", "forward|fwd|fw"), ("backward", "backward|bwd|bw")):
        names = [name for name in functions if re.fullmatch(rf"(?:\w+_)?(?:{words})", name)]
        names = [name for name in names if name.rpartition("_")[0] == op] or names
        if len(names) > 1:
            raise DefinitionError(
                f"it binds {' and '.join(names)}: name one, import_extension(..., {kind}={names[0]!r}). {_BY_HAND}"
            )
        if names:
            found[kind] = functions[names[0]]
    if "forward" not in found and (op in functions or len(functions) == 1):
        found["forward"] = functions.get(op) or next(iter(functions.values()))
    if "forward" not in found:
        every, first = ", ".join(functions) or "nothing", next(iter(functions), "NAME")
        raise DefinitionError(
            f"it binds {every}, and none of that is called forward: name it, import_extension(..., forward={first!r}). {_BY_HAND}"
        )
    return found


class Match:
    """How the functions that an extension binds compute an op: one after the other is matched when it is made.

    Args:
        op: that they compute.
        bound: the names of what is its `forward` and, if there is one, its `backward`.
        code: the text that defines them.
        space: the namespace that its functions are to be in, `"extension::"`.
        counted: the op has as many outputs as `forward` returns tensors, also where its text does not tell.

    Attributes:
        forward, backward: the functions; without a backward the extension differentiates through ATen.
        taken: the op's inputs in the order in which `forward` takes them; `names`: of each the name by its name in `forward`.
        outputs: where each output of the op stands in what `forward` returns.
        extras: by name, where each extra tensor stands that `backward` takes.
        saves: inputs and outputs of the op that `backward` takes.
        handed: what `backward` takes, in order: gradients `d_NAME`, saved values and extra tensors by name, several of these for
            a list, and extents of saved tensors, `w.size(0)`.
        known: what `backward` may ask for by name: extra tensors by their place.
        gradients: by tensor input of the op, where its gradient stands in what `backward` returns.
        rows: those inputs whose gradient is a matrix of one row, and should be that row.
        made, made_behind: the expression of each tensor that forward fills, and of those that backward does, by its variable.

    Raises:
        DefinitionError: what cannot be matched, by name.
    """

    def __init__(self, op: Op, bound: Mapping[str, str], code: str, space: str = "", counted: bool = False) -> None:
        self.op, self.code, self.space, self.counted = op, code, space, counted
        self.inputs = [argument.name for argument in op.signature.inputs]
        self.returned = [output.name for output in op.signature.outputs]
        self.values = {*self.inputs, *self.returned}
        self.used = self.values | {f"d_{name}" for name in self.values} | {"returned", "wanted"}
        self.forward = self.called(bound["forward"], len(self.returned), self.filled_forward)
        self.taken = self.taken_by_forward()
        self.outputs = self.outputs_of_forward()
        self.names = dict(zip(self.forward.names, self.taken, strict=True))
        self.made = self.made_ahead()
        self.backward: Called | None = None
        self.handed, self.saves, self.rows = tuple[str | tuple[str, ...], ...](), tuple[str, ...](), tuple[str, ...]()
        self.extras, self.gradients, self.made_behind = dict[str, int](), dict[str, int](), dict[str, str]()
        if back := bound.get("backward"):
            self._match_backward(self.called(back, len(op.gradients), self.filled_backward))

    def _match_backward(self, backward: Called) -> None:
        self.backward, self.known, self.gradients = backward, self._known(), self._gradients(backward)
        self.handed = self._handed(backward)
        used = re.findall(r"\w+", " ".join(" ".join((one,) if isinstance(one, str) else one) for one in self.handed))
        saves = [name for name in (*used, *self.gradients) if name in self.values and (name in used or backward.filled)]
        self.saves = tuple(dict.fromkeys(saves))
        extras = {self.spelled(name): index for name, index in self.known.items() if isinstance(index, int)}
        self.extras = {name: index for name, index in extras.items() if name in used}
        own = backward.result.names
        self.rows = tuple(name for name, index in self.gradients.items() if self.is_row(name, own[index]))
        behind = {backward.value(i): f"at::zeros({x}.sizes(), {x}.options())" for x, i in self.gradients.items()}
        self.made_behind = behind if backward.filled else {}

    def error(self, what: str) -> DefinitionError:
        return DefinitionError(f"{what}. {_BY_HAND}")

    def called(self, name: str, count: int, filled_of: Callable[[Function], tuple[str, ...]]) -> Called:
        """Find a function that is bound, and what it returns: so many tensors, where they are counted, or those that it fills."""
        if name.startswith("["):
            raise self.error("binds a lambda: want a function with a name")
        function = find_function(self.code, name) if name.isidentifier() else None
        if function is None:
            raise self.error(f"{name!r} is no function at file scope of its sources, outside of any namespace")
        function = meant_function(function, aliases_in(mask(self.code)))
        try:
            return Called(name, function, result_of(self.code, function, name), self.space)
        except Unclear as error:
            if self.counted:
                return Called(name, function, Result(("",) * count), self.space)
            if _NOTHING.fullmatch(function.returns):
                filled = filled_of(function)
                changed = {argument.alias: argument.name for argument in self.op.signature.changed}
                itself = [changed[output.alias] for output in self.op.signature.outputs if output.alias]
                return Called(name, function, Result(filled or tuple(itself)), self.space, filled)
            raise self.error(f"{name!r} {error}") from None

    def filled_forward(self, function: Function) -> tuple[str, ...]:
        """List the arguments that a forward which returns nothing fills: as many as it has beyond the op's inputs."""
        names, count = function.names, max(len(function.names) - len(self.inputs), 0)
        ways = (self.returned.__contains__, lambda name: name not in self.inputs, FILLED.fullmatch)
        found = (tuple(filter(way, names)) for way in ways)
        return next((one for one in found if len(one) == count), names[len(names) - count :]) if count else ()

    def filled_backward(self, function: Function) -> tuple[str, ...]:
        """List the arguments that a backward which returns nothing fills: those that are called gradients of inputs."""
        wanted = {argument.name for argument in self.op.gradients}
        wanted |= {name for name, taken in self.names.items() if taken in wanted}
        return tuple(name for name in function.names if of_gradient(name, wanted) in wanted)

    def made_ahead(self) -> dict[str, str]:
        """Write how the tensors are made that forward fills: zeros, as many of them only add to what is there."""
        forward = self.forward
        if not forward.filled:
            return {}
        if len(forward.filled) > len(self.outputs):
            more = [name for index, name in enumerate(forward.filled) if index not in self.outputs]
            raise self.error(
                f"{forward.name!r} fills {_listed(more)}, which is no output of op {self.op.name!r}: nothing says its shape. Make an "
                "op of which it is one"
            )
        pairs = zip(self.op.signature.outputs, self.outputs, strict=True)
        return {forward.value(index): self.zeros(output) for output, index in pairs}

    def zeros(self, output: Argument) -> str:
        """Write a tensor of zeros of the shape of an output, which follows from the inputs."""
        shape, first = self.op.shape_of[output.name], self.op.first
        options = f"{first.told}.options()"
        if output.dtype:
            options += f".dtype(at::ScalarType::{CPP_DTYPES[output.dtype]})"
        if shape.any_rank:
            return f"at::zeros({self.op.any_shape}.sizes(), {options})"
        tensors = [argument for argument in self.op.required if not argument.is_list]
        tells = solve([self.op.shape_of[argument.name] for argument in tensors])
        extents = {letter: f"{tensors[w].name}.size({axis})" for letter, (w, axis, dim) in tells.items() if dim.letter}
        if shape.untold or not {*shape.letters} <= {*extents}:
            raise self.error(
                f"{self.forward.name!r} fills {output.name!r}, whose shape is {shape}: only the caller knows it. Make an op that is given "
                f"it, ({', '.join(map(str, self.op.signature.inputs))}, Tensor(a!) {output.name}) -> ()"
            )
        words = [re.sub(r"\b[A-Z]\b", lambda one: extents[one[0]], str(dim).replace("//", "/")) for dim in shape.dims]
        return f"at::zeros({{{', '.join(words)}}}, {options})"

    def taken_by_forward(self) -> tuple[str, ...]:
        """Match the arguments of forward: by name where these are the op's, else by position."""
        forward, names = self.forward, self.forward.names
        if sorted(names) == sorted(self.inputs):
            return names
        if len(names) != len(self.inputs):
            raise self.error(
                f"{forward.name!r} takes {plural(len(names), 'argument')} ({', '.join(names)}), op {self.op.name!r} has "
                f"{len(self.inputs)}: {', '.join(self.inputs)}"
            )
        for position, (name, want) in enumerate(zip(names, self.inputs, strict=True), 1):
            if name in self.inputs and name != want:
                raise self.error(
                    f"argument {position} of {forward.name!r} is {name!r}, and of op {self.op.name!r} it is {want!r}: "
                    f"give the arguments the op's names, {', '.join(self.inputs)}"
                )
        return tuple(self.inputs)

    def outputs_of_forward(self) -> tuple[int, ...]:
        """Match the outputs: by name where it is there; the others come first of what is left."""
        names = self.forward.result.names
        if len(names) < len(self.returned):
            raise self.error(
                f"{self.forward.name!r} returns {_listed(names)}, op {self.op.name!r} has {len(self.returned)} outputs: "
                f"{', '.join(self.returned)}"
            )
        named = {name: names.index(name) for name in self.returned if name in names}
        left = iter([index for index in range(len(names)) if index not in named.values()])
        return tuple(named[name] if name in named else next(left) for name in self.returned)

    def _known(self) -> dict[str, str | int]:
        """List what backward may ask for by name: inputs and outputs as the op calls them, extra tensors by their place."""
        own = self.forward.result.names
        known: dict[str, str | int] = {**{name: name for name in (*self.inputs, *self.returned)}, **self.names}
        known |= {name: index for index, name in enumerate(own) if name and index not in self.outputs}
        return known | {own[i]: output for i, output in zip(self.outputs, self.returned, strict=True) if own[i]}

    def _handed(self, backward: Called) -> tuple[str | tuple[str, ...], ...]:
        """Match the arguments of backward: what forward took and returned by name, the gradients by position."""
        known, made = self.known, self.gradients
        other = {own: taken for taken, own in backward.result.aliases.items()}
        handed: list[Any] = []
        for position, name in enumerate(backward.names):
            named = next((one for one in (name, other.get(name, "")) if one in known), "")
            handed.append(named or self.derived(backward, position))
        left = [position for position, name in enumerate(handed) if not name]
        gradients = [p for p in left if of_gradient(backward.names[p], known)] or left[: len(self.returned)]
        # What forward returns without a name may be called anything here.
        others = [p for p in left if p not in gradients]
        own = self.forward.result.names
        nameless = [name for index, name in zip(self.outputs, self.returned, strict=True) if not own[index]]
        for position, output in zip(filter(backward.takes_tensor, others), nameless, strict=False):
            handed[position] = output
        if len(gradients) != len(self.returned):
            raise self.error(
                f"{backward.name!r} takes {_listed([backward.names[p] for p in gradients])} as gradients, "
                f"op {self.op.name!r} has {plural(len(self.returned), 'output')}: {', '.join(self.returned)}. It takes a gradient of each "
                "output, and all else under the names by which forward takes and returns it"
            )
        if unknown := [p for p in others if not handed[p]]:
            name, sized = backward.names[unknown[0]], next(iter(made), self.inputs[0])
            is_whole = read_type(backward.types[unknown[0]]).kind == "int"
            size = f"If it is the size of a tensor, write there of which, such as const int64_t {name} = {sized}.size(0); else give"
            raise self.error(
                f"argument {name!r} of {backward.name!r} is none of what {self.forward.name!r} takes or returns: {', '.join(known)}. "
                f"{size if is_whole else 'Give'} both the same name"
            )
        exact = {of_gradient(backward.names[position], known): position for position in gradients}
        in_order = [exact[name] for name in self.returned] if set(exact) == set(self.returned) else gradients
        for position, output in zip(in_order, self.returned, strict=True):
            handed[position] = f"d_{output}"

        def spelled(name: str) -> str:
            value = known.get(name, name)
            return value if isinstance(value, str) else self.spelled(name)

        return tuple(spelled(one) if isinstance(one, str) else tuple(map(spelled, one)) for one in handed)

    def derived(self, backward: Called, position: int) -> str | tuple[str, ...]:
        """Say what an argument of backward is that forward neither takes nor returns: a list of such, or extents of an input."""
        name, type_ = backward.names[position], backward.types[position]
        if read_type(type_).kind == LIST:
            return self.listed(backward, name)
        return "" if backward.takes_tensor(position) else self.extent(backward, name, type_)

    def listed(self, backward: Called, name: str) -> tuple[str, ...]:
        """Say what a list holds: what backward calls its elements, or all that forward returns beyond the op's outputs."""
        known, body = self.known, body_of(self.code, backward.function)
        element = rf"\b{name}\s*(?:\[|\.\s*at\s*\()\s*(\d+)"
        count = 1 + max(map(int, re.findall(element, body)), default=-1)
        called = {int(index): own for own, index in re.findall(rf"\b(\w+)\s*=\s*{element}", body)}
        names = tuple(called.get(index, "") for index in range(count))
        if count and all(one in known for one in names):
            return names
        kept = tuple(own for own, value in known.items() if isinstance(value, int))
        if count and count == len(kept) and not any(one in known for one in names):
            return kept
        raise self.error(
            f"{backward.name!r} takes the list {name!r}, and its text does not say what of that is which: call each element as the "
            f"forward does, auto {next(iter(known))} = {name}[0]. Forward takes and returns {', '.join(known)}"
        )

    def extent(self, backward: Called, name: str, type_: str) -> str:
        """Say of which input a number is an extent, or a list the extents: that whose gradient is made with it, or as forward says."""
        body = whole_body(self.code, backward.function)
        is_list = read_type(type_) == CppType("int[]", "int64_t")
        for taken, index in self.gradients.items():
            words = _sizes(body, next(iter(backward.result.begun[index : index + 1]), backward.result.names[index]))
            if name in words:
                return f"{taken}.sizes().vec()" if is_list else f"{taken}.size({words.index(name)})"
        text, tensors = body_of(self.code, self.forward.function), dict(self.names)
        for copy, own in re.findall(r"\b(\w+)\s*=\s*(\w+)\s*\.\s*contiguous\s*\(\s*\)\s*[;,]", text):
            tensors.setdefault(copy, tensors.get(own, ""))
        size = r"\s*\.\s*size\s*\(\s*(-?\d+)\s*\)"
        found = re.findall(rf"\b{name}\s*=\s*(\w+){size}\s*[;,]", text)
        told = {f"{tensors[own]}.size({axis})" for own, axis in found if tensors.get(own)}
        return told.pop() if len(told) == 1 and not is_list else ""

    def spelled(self, name: str) -> str:
        """Name an extra tensor in the playground's backward, where some names have another meaning."""
        return f"{name}_" if name in self.used else name

    def _gradients(self, backward: Called) -> dict[str, int]:
        """Match the gradients that backward returns, by the names of what they are the gradients of."""
        own, tensors = self.names, [argument.name for argument in self.op.gradients]
        names = backward.result.names
        if len(names) == len(tensors) == 1:
            return {tensors[0]: 0}
        found = {own.get(of_gradient(name, own), of_gradient(name, own)): index for index, name in enumerate(names)}
        if len(names) == len(tensors):
            by_name = {name: index for name, index in found.items() if name in tensors}
            found |= _left(names, tensors, own, by_name)
        missing = [name for name in tensors if name not in found]
        if missing:
            some = tuple(name for name in tensors if name in found)
            cure = f", or make an op without that gradient: Op(..., differentiable={some})" * bool(some)
            raise self.error(
                f"{backward.name!r} returns {_listed(names)}, and none of them is d_{missing[0]} or grad_{missing[0]}, the "
                f"gradient of {missing[0]!r}: give it that name where it is returned{cure}"
            )
        return {name: found[name] for name in tensors}

    def is_row(self, name: str, gradient: str) -> bool:
        """Tell whether the gradient of a vector is summed with its axis kept: autograd itself would take that away again."""
        shape = self.op.shape_of[name]
        kept = rf"\b{gradient}\s*=[^;]*\bsum\s*\([^;]*\btrue\b"
        return len(shape.dims) == 1 and not shape.any_rank and bool(gradient and re.search(kept, mask(self.code)))


def _left(
    names: Sequence[str], tensors: Sequence[str], own: Mapping[str, str], found: Mapping[str, int]
) -> dict[str, int]:
    """Give what is left of as many gradients as tensors: `dw` to the only one that begins so, `weight`; the others in order.

    That is where they have no name, or where one says no more than that it is a gradient, `dgamma`, and those with a name that tells
    stand in order, too; or where none has such a name.
    """
    order, told = [name for name in own.values() if name in tensors], dict(found)
    for index in (index for index in range(len(names)) if index not in found.values()):
        stem = next(_stems(names[index]), "").lower()
        begun = {name for one, name in own.items() if name in order and stem and one.lower().startswith(stem)} - {
            *found
        }
        if len(begun) == 1:
            told.setdefault(begun.pop(), index)
    open_ = [index for index in range(len(names)) if index not in told.values()]
    is_straight = all(order[index] == name for name, index in told.items())
    if told and any(names[i] and not (is_straight and any(_stems(names[i]))) for i in open_):
        return told
    return told | dict(zip([name for name in order if name not in told], open_, strict=False))


def unqualified(names: Mapping[str, str], code: str) -> tuple[dict[str, str], str, str]:
    """Take functions out of the namespace that they are in: their names in it, its name, and the text with its inside at file scope.

    Raises:
        DefinitionError: they are in different namespaces.
    """
    if any(name.startswith("[") for name in names.values()):  # a lambda, which is refused where it is looked for
        return dict(names), "", code
    spaces = {name.rpartition("::")[0].removeprefix("::") for name in names.values()}
    if len(spaces) > 1:
        raise DefinitionError(f"{' and '.join(names.values())} are in different namespaces: want them in one")
    (space,) = spaces
    code = laid_open(code, space) if space else code
    return {kind: name.rpartition("::")[2] for kind, name in names.items()}, f"{space}::" * bool(space), code


def of_gradient(gradient: str, known: Collection[str] = ()) -> str:
    """Name what a gradient is the gradient of; nothing if the name does not say that it is one.

    Args:
        gradient: `d_x`, `grad_x`, `x_grad`; and `dx`, `gradX` and the like where `x` is known.
        known: names of what may have one.

    Example:
        >>> of_gradient("grad_x"), of_gradient("dQ", ["q", "k"]), of_gradient("data", ["q", "k"])
        ('x', 'q', '')
    """
    names = [*_stems(gradient)]
    exact = [name for name in names if name in known]
    alike = [one for name in names for one in known if name.lower() == one.lower()]
    return next(iter([*exact, *alike, *_stems(gradient, _LONG)]), "")


def _stems(gradient: str, forms: Sequence[str] = _LONG + _SHORT) -> Iterator[str]:
    """List what a name may be the gradient of."""
    return (found[1] for form in forms if (found := re.fullmatch(form, gradient)))


def _sizes(body: str, gradient: str) -> list[str]:
    """List what stands for the extents of a gradient in the text that makes it, as far as that is read: the first of a table."""
    if re.fullmatch(r"\w+", gradient):
        found = {begun(body[one.end() :]) for one in re.finditer(rf"\b{gradient}\s*=(?!=)\s*", body)} - {gradient}
        gradient = found.pop() if len(found) == 1 else ""
    for pattern, place in ((_MAKES, 0), (_TABLE, 2)):
        if call := pattern.match(gradient):
            given = split(gradient[call.end() : closing(gradient, call.end() - 1)])[place : place + 1]
            return [word.strip() for one in given for word in split(one.strip().strip("{}"))]
    return []


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name or "(a nameless one)" for name in names) or "nothing"
