"""Finds what a text registers with PyTorch in a way that only one library of a process may: classes and operators.

A class is known to PyTorch for the life of the process, by the name of its C++ type and by that under which it is
registered; an operator by its name. A library that brings one for the second time, as the next revision of a kernel would,
ends the process while it is loaded, and no `except` sees that. So all these names have to hold that of the build.

A class that computes an op is what the rest of an export speaks of and uses, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..cpp.bodies import Call, find_calls
from ..cpp.functions import find_functions
from ..cpp.masks import code_of, heads
from ..model.op import Op

#: The macro that holds a build's namespace (or module name). `load_inline`, `load` and setuptools all define it.
NAMESPACE = "TORCH_EXTENSION_NAME"

_LIBRARY = re.compile(r"\b(?:STABLE_)?TORCH_LIBRARY(?:_FRAGMENT)?\s*\(\s*(\w+)")
_OPERATORS = re.compile(r"\b(RegisterOperators)\b")
_CLASS = re.compile(r"(?P<member>\.\s*(?:template\s+)?)?\bclass_\s*<\s*(?:\w+::|::)*(?P<type>\w+)\b")
_OWN_SCOPE = re.compile(rf"\bnamespace\b[\w\s:]*\b{NAMESPACE}\b")
_ARGUMENT = re.compile(r"torch::arg\(\s*\"(\w+)\"\s*\)")


def shared_names(masked: str) -> Iterator[tuple[int, str, str]]:
    """List the classes and operators whose names are the same in every build of a masked text.

    Returns:
        For each its place in the text, what is wrong, and the cure.

    Example:
        >>> text = "struct Cell : torch::CustomClassHolder {}; TORCH_LIBRARY(TORCH_EXTENSION_NAME, m) { m.class_<Cell>(); }"
        >>> [(place, cure) for place, _, cure in shared_names(text)]
        [(7, "Define it in 'namespace TORCH_EXTENSION_NAME { ... }': each build has a name of its own.")]
        >>> list(shared_names(text.replace("struct", "namespace TORCH_EXTENSION_NAME { struct").replace("; T", "; } T")))
        []
    """
    libraries, fatal = list(_LIBRARY.finditer(masked)), "to load both ends the process"
    of_classes: set[str] = set()
    for found in _CLASS.finditer(masked):
        name = found["type"]
        definition = re.search(rf"\b(?:class|struct)\s+(?:final\s+)?({name})\b[^;{{}}()]*\{{", masked)
        if definition and not any(_OWN_SCOPE.search(head) for head in heads(masked, definition.start())):
            yield (
                definition.start(1),
                f"PyTorch knows class '{name}' by its C++ name, and the next revision's by the same: {fatal}",
                f"Define it in 'namespace {NAMESPACE} {{ ... }}': each build has a name of its own.",
            )
        ahead = [one[1] for one in libraries if one.start() < found.start()]
        within = ahead[-1] if found["member"] and ahead else ""
        of_classes.add(within)
        if within != NAMESPACE:
            where = f"in namespace '{within}'" if within else "in a namespace of its own choice"
            yield (
                found.start("type"),
                f"class '{name}' is registered {where}, and so is the next revision's: {fatal}",
                f"Register it with TORCH_LIBRARY_FRAGMENT({NAMESPACE}, m) {{ m.class_<{name}>(...) ... }}.",
            )

    for library in [*libraries, *_OPERATORS.finditer(masked)]:
        if library[1] not in {NAMESPACE, *of_classes}:
            where = "under names of its own choice" if library.re is _OPERATORS else f"in namespace '{library[1]}'"
            yield (
                library.start(),
                f"operators are registered {where}, and so are the next revision's: {fatal}",
                f"Leave it out: forward and backward are registered for you. Others go into TORCH_LIBRARY_FRAGMENT({NAMESPACE}, m).",
            )


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
    for module in find_functions(text):
        if module.name not in ("TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT"):
            continue
        library, classes = module.parameters[0].text, dict[str, list[Call]]()
        for call in find_calls(code_of(text)[slice(*module.body)]):
            if call.name == "class_" and len(call.arguments) == 1:
                classes[call.arguments[0].strip('"')] = []
            elif classes and call.is_member and call.arguments:
                [*classes.values()][-1].append(call)
        for name, calls in classes.items():
            named = {call.arguments[0]: tuple(_ARGUMENT.findall(", ".join(call.arguments[1:]))) for call in calls}
            held = next((names for first, names in named.items() if first.startswith("torch::init")), ())
            given = named.get('"forward"', ())
            saved = all(f'"{one}"' in named for one in held) and any(call.name == "def_pickle" for call in calls)
            if saved and held and given and sorted(held + given) == sorted(a.name for a in op.signature.inputs):
                return CustomClass(name, package if library == NAMESPACE else library, held, given)
    return None
