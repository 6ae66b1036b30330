"""A class that a kernel's text registers with PyTorch: what the rest of an export says of it and does with it."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from ..custom_classes import NAMESPACE
from ..op import Op
from ..signature import cpp_type
from .filling import enumerated, fill
from .plan import Plan

#: What `example_text` needs.
EXAMPLE_HEADERS = (
    "ATen/core/ivalue.h",
    "torch/custom_class.h",
    "torch/serialize.h",
    "fstream",
    "iterator",
    "string",
    "vector",
)

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


def custom_class(plan: Plan) -> CustomClass | None:
    """Find the class that the CPU's text registers, if it computes the op and can be saved.

    Its constructor and its `forward` name their arguments with `torch::arg`, the op's inputs shared out between the two;
    it has a method without arguments for each that it holds, and a `def_pickle` of the tuple of these. Of any other class
    only its author knows what to do with it.

    Returns:
        The first such class, or None.

    Example:
        >>> import lltm_inline as li
        >>> text = li.registry["lltm/class"].cpp
        >>> _class_in(text, li.registry.ops["lltm"], "lltm_class").held
        ('weights', 'bias')
    """
    return next((_class_in(part.kernel.cpp, plan.op, plan.name) for part in plan.parts if part.device == "cpu"), None)


def _class_in(text: str, op: Op, name: str) -> CustomClass | None:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    namespace = name
    found = list(_REGISTRATION.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=False):
        if match[1]:
            namespace = name if match[1] == NAMESPACE else match[1]
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


_EXAMPLE = """\
// Makes an object of the class @name@, saves what it holds to a file, loads that into a second object, and says
// whether that one computes `want` too. Classes and methods are found by name, as in Python: no header is needed.
bool @function@(@parameters@) {
  const auto type = torch::getCustomClass("@qualified@");
  TORCH_CHECK(type, "no class @namespace@.@name@: is the library linked?");
  const auto call = [&](const char* method, std::vector<c10::IValue> arguments) {
    return type->getMethod(method)(std::move(arguments));
  };
  const auto object = [&] { return c10::IValue(c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 1)); };

  const c10::IValue first = object(), second = object();
  call("__init__", {first, @held@});
  const std::vector<char> saved = torch::pickle_save(call("__getstate__", {first}));
  std::ofstream(path, std::ios::binary).write(saved.data(), static_cast<std::streamsize>(saved.size()));

  std::ifstream file(path, std::ios::binary);
  const std::vector<char> loaded{std::istreambuf_iterator<char>(file), {}};
  call("__setstate__", {second, torch::pickle_load(loaded)});
  const c10::IValue result = call("forward", {second, @given@});
  return at::allclose(@output@, want, 1e-4, 1e-6);
}
"""


def example_text(plan: Plan, custom: CustomClass) -> str:
    """Write the C++ function with which a program without Python uses the class: `bool use_NAME(inputs..., want, path)`.

    `want` is the op's first output; `path` the file, which Python reads too: `NAME(*torch.load(path))`.
    """
    inputs = [f"{cpp_type(argument, 'aten')} {argument.name}" for argument in plan.op.signature.inputs]
    parameters = [*inputs, "const at::Tensor& want", "const std::string& path"]
    function = f"use_{custom.name}"
    listed = ", ".join(parameters)
    if len(f"bool {function}({listed}) {{") > 120:
        # A type and its name stay together.
        words = [parameter.replace(" ", "\0") for parameter in parameters]
        listed = "\n" + textwrap.indent(textwrap.fill(", ".join(words), 116), "    ").replace("\0", " ")
    several = len(plan.op.signature.outputs) > 1
    return fill(
        _EXAMPLE,
        name=custom.name,
        namespace=custom.namespace,
        qualified=custom.qualified,
        function=function,
        parameters=listed,
        held=", ".join(custom.held),
        given=", ".join(custom.given),
        output="result.toTuple()->elements()[0].toTensor()" if several else "result.toTensor()",
    )


def example_call(plan: Plan, custom: CustomClass, want: str, path: str) -> str:
    """Write the call of that function, as an expression.

    Args:
        want: C++ expression of the op's first output, computed without the class.
        path: C++ expression of the file's name.
    """
    inputs = ", ".join(argument.name for argument in plan.op.signature.inputs)
    return f"use_{custom.name}({inputs}, {want}, {path})"


def python_text(plan: Plan, custom: CustomClass) -> str:
    """Write the lines of the package's `ops.py` that give the class its name there."""
    held, given = ", ".join(custom.held), ", ".join(custom.given)
    return (
        f"#: A class of C++ that holds {enumerated(custom.held)}: `{custom.name}({held}).forward({given})`\n"
        f"#: computes what `{plan.op.name}` does.\n"
        f"{custom.name} = torch.classes.{custom.namespace}.{custom.name}\n"
    )


_TEST = '''\
def test_@name@_computes_the_same_and_comes_back_from_a_file(tmp_path: Path) -> None:
    """An object agrees with the reference, hands gradients on to what it holds, and is saved and loaded."""
    @inputs@ = draw(SIZE)
    for tensor in @held_tuple@:
        tensor.requires_grad_()
    cell = @name@(@held@)
    torch.save(@methods@, tmp_path / "cell.pt")
    again = @name@(*torch.load(tmp_path / "cell.pt"))

    want = reference(@inputs@)
    for one in (cell, again):
        torch.testing.assert_close(one.forward(@given@), want)
    got = torch.autograd.grad(cell.forward(@given@)@first@.sum(), @held_tuple@)
    torch.testing.assert_close(got, torch.autograd.grad(want@first@.sum(), @held_tuple@))
'''

#: What `class_test` needs beside torch, `draw`, `SIZE` and `reference`.
TEST_IMPORTS = ("from pathlib import Path",)


def class_test(plan: Plan, custom: CustomClass) -> str:
    """Write the test of the class for the package's tests."""
    return fill(
        _TEST,
        **_words(custom),
        inputs=", ".join(argument.name for argument in plan.op.signature.inputs),
        first="[0]" if len(plan.op.signature.outputs) > 1 else "",
    )


_README = """\
## The class `@name@`

A class of C++ (`torch::class_`) that holds @listed@. In Python it is `@package@.@name@`;
a program in C++ finds it by the name `@qualified@`, without a header.

```python
cell = @package@.@name@(@held@)
@outputs@ = cell.forward(@given@)
torch.save(@methods@, "cell.pt")
cell = @package@.@name@(*torch.load("cell.pt"))
```

Gradients flow to what it holds. In C++ `torch::pickle_load` reads that file and `torch::pickle_save` writes one like it.
`torch.compile` stops at a method of such an object and goes on behind it; `@package@.@op@` it compiles.
"""


def readme_text(plan: Plan, custom: CustomClass) -> str:
    """Write the section on the class for the package's README."""
    return fill(
        _README,
        **_words(custom),
        package=plan.name,
        qualified=custom.qualified,
        op=plan.op.name,
        outputs=", ".join(output.name for output in plan.op.signature.outputs),
        listed=enumerated(custom.held),
    )


def _words(custom: CustomClass) -> dict[str, str]:
    """Return the words that several texts have in common."""
    comma = "," * (len(custom.held) == 1)  # which makes a tuple of it
    return {
        "name": custom.name,
        "held": ", ".join(custom.held),
        "held_tuple": f"({', '.join(custom.held)}{comma})",
        "given": ", ".join(custom.given),
        "methods": f"({', '.join(f'cell.{name}()' for name in custom.held)}{comma})",
    }
