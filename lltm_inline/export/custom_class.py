"""A class that a kernel's text registers with PyTorch, and that the rest of an export speaks of and uses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..model.op import Op
from ..source.custom_classes import NAMESPACE

_REGISTRATION = re.compile(r"TORCH_LIBRARY(?:_FRAGMENT)?\(\s*(\w+)\s*,|\bclass_\s*<[\w:\s]+>\s*\(\s*\"(\w+)\"\s*\)")
_DEFINITION = re.compile(r"\.def(?=_pickle\s*\(|_static\s*\(|_property\s*\(|\s*\()")
_ARGUMENT = re.compile(r"torch::arg\(\s*\"(\w+)\"\s*\)")


@dataclass(frozen=True)
class CustomClass:
    """A class that computes the op from an object that holds some of its inputs.

    Attributes:
        name: `LLTMCell`.
        namespace: in `torch.classes`, `lltm_class`.
        held: the inputs that its constructor takes, by name, in its order: `weights`, `bias`.
        given: those that its method `forward` takes, in its order: all others.
    """

    name: str
    namespace: str
    held: tuple[str, ...]
    given: tuple[str, ...]

    @property
    def qualified(self) -> str:
        """The name under which C++ finds it."""
        return f"__torch__.torch.classes.{self.namespace}.{self.name}"

    @property
    def methods(self) -> tuple[str, ...]:
        """What an object `cell` holds, as Python asks for it."""
        return tuple(f"cell.{name}()" for name in self.held)


def custom_class(text: str, op: Op, package: str) -> CustomClass | None:
    """Find the class that a text registers, if it computes the op and can be saved.

    Its constructor and its `forward` name their arguments with `torch::arg`, the op's inputs shared out between the two;
    it has a method without arguments for each that it holds, and a `def_pickle` of the tuple of these. Of any other class
    only its author knows what to do with it.

    Args:
        text: C++.
        op: that the class computes.
        package: the namespace that the text's `TORCH_EXTENSION_NAME` stands for.

    Returns:
        The first such class, or None.

    Example:
        >>> import lltm_inline as li
        >>> text = li.registry["lltm/class"].cpp
        >>> custom_class(text, li.registry.ops["lltm"], "lltm_class").held
        ('weights', 'bias')
    """
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    namespace = package
    found = list(_REGISTRATION.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=False):
        if match[1]:
            namespace = package if match[1] == NAMESPACE else match[1]
            continue
        block = text[match.end() : end]
        held: tuple[str, ...] = ()
        given: tuple[str, ...] = ()
        definitions = _DEFINITION.split(block)[1:]
        for definition in map(str.lstrip, definitions):
            arguments = tuple(_ARGUMENT.findall(definition))
            if re.match(r"\(\s*torch::init\b", definition):
                held = arguments
            elif re.match(r'\(\s*"forward"', definition):
                given = arguments
        methods = {defined[1] for one in definitions if (defined := re.match(r'\(\s*"(\w+)"', one))}
        saved = methods.issuperset(held) and any(one.startswith("_pickle") for one in definitions)
        if saved and held and given and sorted(held + given) == sorted(a.name for a in op.signature.inputs):
            return CustomClass(match[2], namespace, held, given)
    return None
