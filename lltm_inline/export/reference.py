"""Writes an op's reference and its inputs as a module of its own, with everything that they use and without lltm_inline."""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from collections.abc import Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import torch

from ..base.arguments import shown
from ..errors import InputError
from ..model.op import MEMBERS, Argument, Op
from ..run.cases.case import dtypes_of
from ..run.cases.tolerance import slack
from ..run.compare import dtype_name
from .render import WIDTH, as_tuple, broken, fill, inner, rows
from .source import (
    Import,
    class_text,
    definition_text,
    free_names,
    import_lines,
    import_of,
    imports_around,
    is_outside,
    value_of,
)

#: Names under which tests and benchmark know what is here.
REFERENCE, MAKE_INPUTS = "reference", "make_inputs"
_COMPUTED = "computed"
_TAKEN = (REFERENCE, MAKE_INPUTS, "SIZES", "TOLERANCES")
#: The dtype in which `randn` draws, by that of the inputs.
_REAL = {"complex64": "float32", "complex128": "float64"}
_CURE = "Write it as a plain `def`, or make it inside of the function that uses it"
#: Letters that ruff takes for numbers.
_UNCLEAR = {"I: int", "O: int"}


def reference_text(op: Op, constants: Sequence[str] = ()) -> str:
    """Write the imports and definitions that make `reference` and `make_inputs`, in this order.

    Functions and classes of the op's own modules and of a notebook are copied as they stand, with what they use; what was
    installed is imported; constants are written as their values.

    Args:
        op: whose reference and inputs these are.
        constants: what else goes behind the imports.

    Returns:
        Python text, less a docstring and `from __future__ import annotations`.

    Raises:
        InputError: something that they use cannot be written down: an object, a tensor, a function without a source.

    Example:
        >>> op = Op("twice", "(Tensor x) -> Tensor y", torch.neg, {"x": "N", "y": "N"})
        >>> print(reference_text(op).partition("def")[0])
        from collections.abc import Callable
        <BLANKLINE>
        import torch
        from torch import Tensor
        <BLANKLINE>
        <BLANKLINE>
    """
    found = _Collector(op)
    places = getattr(op.reference, "places", ())  # of a snippet that writes what its reference returns
    kept = getattr(op.reference, "kept", ())
    found.add_root(_own(op.reference), _COMPUTED if places or kept else REFERENCE)
    if places or kept:
        computed = found.reference or _COMPUTED
        count = len(op.signature.outputs) + len(kept)
        results = [f"results[{place}]" for place in range(count) if place not in kept]
        words = {"computed": computed, "places": places, "results": results}
        found.definitions[REFERENCE] = fill("package/computed.py", **words)
        found.reference = ""
    if op.inputs is not None and not hasattr(op.inputs, "texts"):
        found.add_root(op.inputs, MAKE_INPUTS)
    else:
        for name, function in getattr(op.inputs, "functions", {}).items():
            found.add_function(function, name)
        found.definitions[MAKE_INPUTS] = text = _drawn(op)
        found.imports |= {Import("collections.abc", "Callable"), Import("torch", "Tensor")}
        found.imports |= {Import("typing", "Any")} if "Any, ..." in text or places or kept else set()
        found.imports |= {Import("torch")} if "torch." in text else set()
    parts = [import_lines(found.imports), "\n\n".join([*constants, *found.constants.values()])]
    functions = "\n\n".join("\n" + text.strip("\n") for text in found.definitions.values())
    aliases = [f"#: What a kernel is compared with.\nreference = {found.reference}"] if found.reference else []
    aliases += [f"{MAKE_INPUTS} = {found.inputs}"] if found.inputs else []
    return "\n\n".join(part for part in (*parts, functions, *("\n" + alias for alias in aliases)) if part) + "\n"


def tolerances_of(op: Op) -> dict[str, tuple[float, float]]:
    """Return how far results may be off, (rtol, atol) by the dtype in which the inputs are drawn, as in the check.

    Example:
        >>> tolerances_of(Op("neg", "(Tensor x) -> Tensor y", torch.neg, {"x": "N", "y": "N"}))["float64"]
        (1e-12, 1e-12)
    """
    dtypes = [dtype_name(dtype) for dtype in dtypes_of(op)] if op.first.dtype else op.dtypes
    drawn = dict.fromkeys(_REAL.get(dtype, dtype) for dtype in dtypes)
    by_real = {_REAL.get(dtype, dtype): pair for dtype, pair in op.tolerances.items()}
    own = {dtype: slack(real) if (real := getattr(torch, dtype)).is_floating_point else 0.0 for dtype in drawn}
    return {dtype: by_real.get(dtype, (limit, limit)) for dtype, limit in own.items()}


def _drawn(op: Op) -> str:
    """Write the generator of an op that has none of its own: as an example says, or all tensors normal, and what has a default as that."""

    def drawn(argument: Argument) -> str:
        if argument.name not in op.shapes:
            return repr(argument.value)
        one = f"randn({', '.join(map(str, op.shape_of[argument.name].dims))})"
        if argument.is_list:
            return f"[{', '.join([one] * MEMBERS)}]"
        if not argument.dtype:
            return one
        dtype = getattr(torch, argument.dtype)
        if dtype == torch.bool:
            return f"{one} > 0"
        if dtype.is_floating_point or dtype.is_complex:
            return f"{one}.to({dtype})"
        return f"(4 * {one}).round(){'.abs()' * (dtype == torch.uint8)}.to({dtype})"

    quiet = "  # noqa: E741"
    parameters = ["randn: Callable[..., Tensor]", *(f"{letter}: int" for letter in op.letters)]
    tensors = getattr(op.inputs, "texts", None) or [drawn(argument) for argument in op.signature.inputs]
    plain = op.signature.inputs == op.signature.tensors
    returns = f"tuple[{', '.join(['Tensor'] * len(tensors)) if plain else 'Any, ...'}]"
    head = broken(f"def {MAKE_INPUTS}({inner(parameters)}) -> {returns}:")
    if "\n" in head:
        lines = [f"    {parameter},{quiet * (parameter in _UNCLEAR)}" for parameter in parameters]
        head = "\n".join([f"def {MAKE_INPUTS}(", *lines, f") -> {returns}:"])
    elif _UNCLEAR & set(parameters):
        head += quiet
    returned = f"    return {', '.join(tensors)}"
    if len(tensors) == 1 or len(returned) > WIDTH:
        returned = broken(f"    return {as_tuple(tensors)}")
    said = "normal numbers all" if op.inputs is None else "like those of an example"
    return f'{head}\n    """Draw one set of inputs, {said}."""\n{returned}\n'


def _own(reference: Any) -> Any:
    """Return the function that somebody has written, that of an op which a snippet has made too."""
    return getattr(reference, "function", reference)


class _Collector:
    """Gathers definitions, constants and imports; what others use comes before them."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.imports: set[Import] = set()
        self.constants: dict[str, str] = {}
        self.definitions: dict[str, str] = {}
        self.reference = ""
        self.inputs = ""
        self._bound: dict[str, Any] = {}
        self._files: dict[FunctionType, Mapping[str, Import]] = {}
        self._home = {
            getattr(one, "__module__", None) or "" for one in (_own(op.reference), op.inputs) if one is not None
        }

    def add_root(self, value: Any, name: str) -> None:
        """Add the reference or the generator of inputs, under its own name or one that is an alias of that."""
        if not isinstance(value, FunctionType) or (value.__module__ or "").partition(".")[0] == "torch":
            found = import_of(name, value, {})
            if found is None:
                raise self._refusal(f"its {name}", value)
            self.imports.add(Import(found.module))
            dotted = f"{found.module}.{found.name}"
            setattr(self, "inputs" if name == MAKE_INPUTS else "reference", dotted)
            return
        own = self._own_name(value, name)
        if own == "<lambda>" or name == own:
            self.add_function(value, name)
        elif name == MAKE_INPUTS:
            self.add_function(value, own)
            self._rename(own)
        else:
            self.add_function(value, own)
            self.reference = own

    def _own_name(self, value: Any, name: str) -> str:
        """Return the name that a function or class has where it is defined; `name` is what it is called where it is used."""
        own: str = inspect.unwrap(value).__name__
        if own in _TAKEN and own != name:
            raise InputError(
                f"op {self.op.name!r}: its {'reference' if name == REFERENCE else 'function of inputs'} is called {own}, "
                "a name that the export needs for something else: rename it"
            )
        return own

    def add_function(self, function: FunctionType, name: str) -> None:
        """Add a function by its source, and what that uses."""
        if not self._bind(name, function):
            return
        try:
            text = definition_text(function, name)
        except OSError as error:
            raise InputError(
                f"op {self.op.name!r}: the source of its function {name!r} cannot be read ({error}). "
                "An export copies it: define it in a file or a notebook's cell, and import or run that again"
            ) from None
        self._refuse_relative(text, name)
        self._add_names(text, function, name)
        self.definitions[name] = text

    def _add_names(self, text: str, function: FunctionType, user: str) -> None:
        for name in free_names(text):
            try:
                value = value_of(function, name)
            except NameError:
                if not hasattr(sys.modules["builtins"], name):
                    self._add_unbound(name, function, user)
                continue
            self._add_value(name, value, function, text, user)

    def _add_unbound(self, name: str, function: FunctionType, user: str) -> None:
        """Add what is imported for annotations only, where a type checker sees it."""
        found = self._around(function).get(name)
        if found is not None:
            self.imports.add(found)
            return
        raise InputError(f"op {self.op.name!r}: its function {user!r} uses {name}, which is not defined")

    def _around(self, function: FunctionType) -> Mapping[str, Import]:
        """Return the imports of a function's file."""
        if function not in self._files:
            self._files[function] = imports_around(function)
        return self._files[function]

    def _add_value(self, name: str, value: Any, function: FunctionType, text: str, user: str) -> None:
        """Add what one name of a text stands for."""
        found = import_of(name, value, self._around(function))
        if isinstance(value, ModuleType):
            self._add_module(name, value, text, user)
        elif found is not None and not self._is_own(value):
            if self._bind(name, value):
                self.imports.add(found)
        elif isinstance(value, FunctionType | type):
            self._add_own(name, value, user)
        else:
            if not self._written(value):
                raise self._refusal(f"its function {user!r} uses {name}, which", value)
            if self._bind(name, value):
                self.constants[name] = self._constant(name, value)

    def _add_own(self, name: str, value: Any, user: str) -> None:
        """Copy a function or class of the op's own modules."""
        module = getattr(value, "__module__", None) or ""
        if module.partition(".")[0] == "lltm_inline" and not module.startswith("lltm_inline.ops."):
            raise InputError(
                f"op {self.op.name!r}: its function {user!r} uses {name} of lltm_inline, and an export does without that: "
                "write it in plain PyTorch"
            )
        own = self._own_name(value, name)
        if isinstance(value, FunctionType):
            self.add_function(value, name if own == "<lambda>" else own)
        elif self._bind(own, value):
            self._add_class(own, value, user)
        if own not in (name, "<lambda>") and self._bind(name, value):
            self.definitions[name] = f"{name} = {own}"

    def _add_class(self, name: str, cls: type, user: str) -> None:
        try:
            text = class_text(cls)
        except OSError:
            raise self._refusal(f"its function {user!r} uses {name}, which", cls) from None
        methods = [value for value in vars(cls).values() if isinstance(value, FunctionType)]
        home = sys.modules.get(cls.__module__)
        for free in free_names(text):
            users = [method for method in methods if free in method.__globals__]
            if users:
                self._add_value(free, users[0].__globals__[free], users[0], text, name)
            elif not hasattr(sys.modules["builtins"], free):
                value = getattr(home, free, None)
                found = import_of(free, value, {})
                if found is None:
                    raise self._refusal(f"its class {name!r} uses {free}, which", value)
                self.imports.add(found)
        self.definitions[name] = text

    def _add_module(self, name: str, module: ModuleType, text: str, user: str) -> None:
        if not is_outside(module.__name__):
            raise InputError(
                f"op {self.op.name!r}: its function {user!r} uses the module {module.__name__!r}, which is not installed, so the "
                f"export could not import it. Import functions by name (from {module.__name__} import ...): they are copied"
            )
        self._bind(name, module)
        deeper = {part for part in _submodules(text, name, module) if module.__name__ == name and name != "torch"}
        self.imports |= {Import(part) for part in deeper} or {
            Import(module.__name__, "", "" if name == module.__name__ else name)
        }

    def _is_own(self, value: Any) -> bool:
        """Tell whether a value is of the package that the op is of, and so to be copied even where that is installed."""
        module = getattr(value, "__module__", None) or ""
        top = module.partition(".")[0]
        homes = {home.partition(".")[0] for home in self._home} - {"torch", "builtins"}
        return isinstance(value, FunctionType | type) and top in homes and top not in sys.stdlib_module_names

    def _bind(self, name: str, value: Any) -> bool:
        """Take a name for a value; False when it has it already.

        Raises:
            InputError: it stands for something else elsewhere.
        """
        if name in self._bound:
            if self._bound[name] is not value and self._bound[name] != value:
                raise InputError(
                    f"op {self.op.name!r}: {name} stands for two things in what its reference and inputs use, "
                    f"{shown(self._bound[name])} and {shown(value)}, and the export has one file for both: rename one"
                )
            return False
        if name in _TAKEN and value not in (_own(self.op.reference), self.op.inputs):
            raise InputError(
                f"op {self.op.name!r}: its reference or inputs use a name {name}, which the export needs for itself: rename it"
            )
        self._bound[name] = value
        return True

    def _rename(self, own: str) -> None:
        """Let the generator of inputs bear the name by which it is called, unless others call it by its own."""
        text = self.definitions[own]
        if own == self.reference or any(_is_named(own, other) for other in self.definitions.values()):
            self.inputs = own
            return
        renamed = re.sub(rf"^def {own}\(", f"def {MAKE_INPUTS}(", text, count=1, flags=re.MULTILINE)
        # What is said behind a noqa would make the longer line too long.
        lines = [
            re.sub(r"(# noqa: \w+)\s.*", r"\1", line) if len(line) > WIDTH else line for line in renamed.split("\n")
        ]
        self.definitions = {
            MAKE_INPUTS if name == own else name: "\n".join(lines) if name == own else text
            for name, text in self.definitions.items()
        }

    def _refuse_relative(self, text: str, name: str) -> None:
        """Refuse imports inside a function that would find nothing in the export."""
        for node in ast.walk(ast.parse(text)):
            inside = isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("lltm_inline"))
            if inside or (isinstance(node, ast.Import) and any(a.name.startswith("lltm_inline") for a in node.names)):
                raise InputError(
                    f"op {self.op.name!r}: its function {name!r} has {ast.unparse(node)!r}, which finds nothing in an export: "
                    "import at the top of the module, so that what is used can be copied"
                )

    def _constant(self, name: str, value: Any) -> str:
        """Write an assignment, each item in a line of its own where all in one would be too long."""
        ahead = f"{name} = "
        if value and type(value) is list:
            return broken(f"{ahead}[{rows(map(self._written, value))}]")
        if value and type(value) is tuple:
            return broken(ahead + as_tuple([self._written(item) for item in value]))
        if value and type(value) is dict:
            items = (f"{self._written(key)}: {self._written(item)}" for key, item in value.items())
            return broken(f"{ahead}{{{rows(items)}}}")
        return ahead + self._written(value)

    def _written(self, value: Any) -> str:
        """Write a constant as Python text; empty when it is none."""
        if type(value) in (list, tuple, set, frozenset):
            parts = [self._written(item) for item in value]
            if not all(parts):
                return ""
            inner = ", ".join(parts)
            if isinstance(value, tuple):
                return f"({inner}{',' * (len(parts) == 1)})"
            if isinstance(value, list):
                return f"[{inner}]"
            return f"{type(value).__name__}([{inner}])" if isinstance(value, frozenset) or not parts else f"{{{inner}}}"
        if type(value) is dict:
            pairs = [(self._written(key), self._written(item)) for key, item in value.items()]
            return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}" if all(map(all, pairs)) else ""
        if isinstance(value, float) and not math.isfinite(value):
            self.imports.add(Import("math"))
            return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"
        if isinstance(value, torch.dtype | torch.device | torch.memory_format):
            self.imports.add(Import("torch"))
            return f'torch.device("{value}")' if isinstance(value, torch.device) else repr(value)
        if type(value) is str:
            return f'"{value}"' if value.isprintable() and not {'"', "\\"} & set(value) else repr(value)
        return repr(value) if value is None or type(value) in (bool, int, float, complex, bytes, range) else ""

    def _refusal(self, what: str, value: Any) -> InputError:
        return InputError(
            f"op {self.op.name!r}: {what} is {shown(value)}: that cannot be written into a file, and an export does without "
            f"the playground. {_CURE}"
        )


def _is_named(name: str, text: str) -> bool:
    """Tell whether code of a text uses a name."""
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(text)))


def _submodules(text: str, name: str, module: ModuleType) -> set[str]:
    """List the modules below `module` that a text names by a dotted path: `scipy.special` of `scipy.special.erf(x)`."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        dotted = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if dotted.startswith(f"{name}."):
            path = module.__name__ + dotted[len(name) :]
            if isinstance(sys.modules.get(path), ModuleType):
                found.add(path)
    return {path for path in found if not any(other.startswith(f"{path}.") for other in found)}
