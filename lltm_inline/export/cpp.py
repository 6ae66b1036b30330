"""The C++ of an export: the kernels' own texts as files, and the operators around them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from ..base.device import DEVICES
from ..cpp.bodies import split
from ..cpp.functions import Function, find_function
from ..cpp.masks import directives, headers, mask
from ..errors import DefinitionError
from ..model.kernel import Kernel
from ..model.op import Argument
from ..ops import KERNELS
from ..run.cases.case import Case
from ..run.cases.drawing import make_inputs
from ..source.binding import InputCheck, generate_binding, input_checks, refuses_negated, schemas
from ..source.custom_classes import NAMESPACE
from ..source.launchers import (
    SCALAR_TYPES,
    Launcher,
    find_launchers,
    host_parameter,
    launch_arguments,
    types_of,
)
from ..source.signature import cpp_type, tuple_of
from ..source.template import PARALLEL, fill, is_torch_free, place_of_params, prototype
from ..source.types import CPP_DTYPES, TENSOR
from .kernel_file import BEHIND, DECLARED, KernelFile, write_kernel_file
from .plan import Part, Plan
from .render import WIDTH, comment, commented, listed, render

_CSRC = "csrc"


def cpp_files(plan: Plan) -> dict[str, str]:
    """Write `csrc/`: kernels, operators and headers.

    Returns:
        Text by path.

    Raises:
        DefinitionError: a text cannot stand in a file of its own, or in a namespace.
    """
    view = _View(plan)
    files = {f"{plan.name}.h": view.header()}
    for part in plan.parts:
        files |= view.kernel_files(part)
    if any('#include "parallel.h"' in text for text in files.values()):
        files["parallel.h"] = render("csrc/parallel.h", plan, parallel=PARALLEL)
    if plan.style != "boxed":  # what is generated for it looks at what comes in, too
        files["checks.h"] = view.checks()
    for part in plan.parts:
        if _has_device_ops(plan):
            files[f"{part.device}_ops.cpp"] = view.device_ops(part)
    files["ops.cpp"] = view.ops()
    every = {f"{_CSRC}/{name}": text for name, text in files.items()}
    return {**every, "example/main.cpp": view.example()} if plan.how == "cmake" else every


def cpp_sources(plan: Plan, device: str) -> tuple[str, ...]:
    """List what is compiled for a device, `"cpu"` or `"cuda"`: the operators' own `ops.cpp` for each."""
    names = ["ops.cpp"]
    for part in plan.parts:
        if part.device == device:
            names += [path.rpartition("/")[2] for path in part.files.values()]
            names += [f"{device}_ops.cpp"] if _has_device_ops(plan) else []
    return tuple(f"{_CSRC}/{name}" for name in sorted(names))


def _has_device_ops(plan: Plan) -> bool:
    """Tell whether operators are registered for each device."""
    return plan.interface.has_backward and plan.style in ("library", "stable")


class _View:
    """What the templates of C++ are filled with: pieces of one plan, spelled in its interface to PyTorch."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.op, self.api = plan, plan.op, plan.kernel.api
        self.outputs = [output.name for output in plan.op.signature.outputs]

    def render(self, template: str, **values: Any) -> str:
        """Fill a template with what all of them may use."""
        common = {
            "tensor": _tensor_type(self.api),
            "outputs": self.outputs,
            "first_taken": next((one.name for one in self.plan.taken if one.type == "Tensor"), ""),
            "parameters": self.parameters,
            "returned": self.returned,
            "own_memory": _own_memory,
            "definition": _definition,
        }
        return render(template, self.plan, **{**common, **values})

    def parameters(self, arguments: Iterable[Argument], flags: Sequence[str] = (), api: str = "") -> list[str]:
        """Spell the parameters of a function: `const at::Tensor& x`, and flags behind them."""
        api = api or self.api
        types = [
            (cpp_type(argument, api).replace(TENSOR[api], _tensor_type(api)), argument.name) for argument in arguments
        ]
        return [f"{type_} {name}" for type_, name in (*types, *(("bool", flag) for flag in flags))]

    def returned(self, results: Sequence[str], api: str = "") -> str:
        """Spell the type of so many tensors: one is bare, several are a tuple."""
        return tuple_of(len(results), api or self.api).replace("torch::stable::", "")

    def header(self) -> str:
        """Write the header of the package: what the kernels define and the operators call."""
        plan = self.plan
        declared = {}
        for part in plan.parts:
            kind = "cpp" if "cpp" in part.files else "cuda"
            text = fill(part.kernel, kind)
            found = {name: find_function(text, name) for name in plan.kernel.functions}
            for function in filter(None, found.values()):
                _require_linkage(part.kernel, kind, mask(text), function)
            declared[part.device] = [_declared(one, name, self.api) for name, one in found.items() if one]
        spelled = str(declared)
        includes = [
            name
            for name in ("array", "optional", "string", "string_view", "tuple", "vector")
            if re.search(rf"std::{name}\b", spelled)
        ]
        includes += ["torch/types.h"] * (plan.style == "boxed" and "torch::" in spelled)
        return self.render("csrc/package.h", declared=declared, includes=includes)

    def checks(self) -> str:
        """Write `checks.h`: what a kernel may rely on, and what torch may rely on in turn."""
        symbolic = self.plan.style == "library" and not self.plan.interface.has_backward
        checks = [_Check(one) for one in input_checks(self.op)]
        used = {letter for one in checks if one.extents for letter in one.shape.letters}
        letters = [
            f"{letter} = {one.name}.{'sym_' * symbolic}size({axis})"
            for one in checks
            for letter, axis in one.tells.items()
            if letter in used
        ]
        kinds = [CPP_DTYPES[dtype] for dtype in self.op.dtypes]
        negated = refuses_negated(self.plan.kernel, self.op)
        return self.render("csrc/checks.h", checks=checks, letters=letters, kinds=kinds, refuses_negated=negated)

    def device_ops(self, part: Part) -> str:
        """Write the operators of a kernel with a `backward` on one device."""
        plan = self.plan
        own = {*self.outputs, *plan.extra_names}  # given back by autograd, of which hooks may have changed the strides
        made = "dense({})" if plan.style == "stable" else "{}.contiguous()"
        handed = [made.format(one.name) if one.name in own else one.name for one in plan.taken]
        return self.render("csrc/device_ops.cpp", device=part.device, handed=handed)

    def ops(self) -> str:
        """Write `ops.cpp`: the schemas of the operators, and what is the same on every device."""
        plan = self.plan
        if plan.style == "boxed":
            device, declared = DEVICES[plan.devices[0]], operator_schemas(plan)
            library = f'"{plan.name}"'
            binding = generate_binding(plan.kernel, self.op, plan.interface, device, library, plan.name, declared)
            return self.render("csrc/ops_boxed.cpp", binding=binding, needs_gpu=device.needs_gpu)
        through_aten = not plan.interface.has_backward or plan.kernel.double_backward
        if len(plan.parts) > 1 and through_aten:
            raise DefinitionError(
                f"kernel {plan.kernel.label!r} is differentiated through ATen, as one function for all devices, and has texts "
                "for two: give device='cpu' or 'cuda'"
            )
        inputs = self.op.signature.inputs
        as_float = [f"to_float({one.name})" if one.is_tensor else one.name for one in inputs]
        values = {"schemas": operator_schemas(plan), "as_float": as_float}
        if plan.style == "pybind11" or plan.autograd_in_python:
            return self.render(f"csrc/ops_{plan.style}.cpp", **values)
        if not plan.interface.has_backward:
            return self.render("csrc/ops_composite.cpp", **values)
        return self.render("csrc/ops.cpp", **values, **self._words_of_autograd())

    def _words_of_autograd(self) -> dict[str, Any]:
        plan, signature = self.plan, self.op.signature
        op, ctx, incoming, saved = self.op.name, plan.free("ctx"), plan.free("gradients"), plan.free("saved")
        inputs = [argument.name for argument in signature.inputs]
        kept = [argument for argument in plan.saved if argument.is_tensor]
        some_optional = any(argument.type == "Tensor?" for argument in signature.tensors)
        given_back = [*(argument.name for argument in plan.taken), *plan.wanted]
        handed = []
        for index, argument in enumerate(plan.taken):
            value = f"{incoming}[{index}]" if index < len(self.outputs) else argument.name
            if not argument.is_tensor:
                kind = {"float": "toDouble", "int": "toInt", "bool": "toBool"}[argument.type]
                value = f'{ctx}->saved_data["{argument.name}"].{kind}()'
            handed.append(f"if_defined({value})" if argument.type == "Tensor?" else value)
        return {
            # The operators that call each other: name, results, parameters and arguments of each.
            "callers": [
                (op, self.outputs, self.parameters(signature.inputs), inputs),
                (f"{op}_forward", plan.results, self.parameters(signature.inputs), inputs),
                (f"{op}_backward", plan.gradients, self.parameters(plan.taken, plan.wanted), given_back),
            ],
            "kept_tensors": [f"{one.name}{'.value_or(at::Tensor())' * (one.type == 'Tensor?')}" for one in kept],
            "keeps": bool(plan.saved) or some_optional or plan.takes_none,
            "unpacked": [f"&{one.name} = {saved}[{index}]" for index, one in enumerate(kept)],
            "handed": handed,
            "needed": [f"{ctx}->needs_input_grad({index})" for index in range(len(signature.tensors))],
            "misses_extras": self._misses_extras(),
        }

    def _misses_extras(self) -> bool:
        """Tell whether gradients may depend on inputs that autograd does not see, because only extra tensors know of them.

        A saved output has all inputs behind it.
        """
        plan, saved = self.plan, set(self.plan.kernel.saves)
        seen = bool(saved & {*self.outputs}) or saved.issuperset(one.name for one in self.op.signature.tensors)
        return bool(plan.extra_names) and not plan.kernel.double_backward and not seen

    def kernel_files(self, part: Part) -> dict[str, str]:
        """Write the files with a kernel's texts, and those between a CUDA text without torch and its C++ text."""
        plan, kernel = self.plan, part.kernel
        launchers = find_launchers(kernel, self.op, fill(kernel, "cuda")) if is_torch_free(kernel) else ()
        functions = [_instance(one, type_) for one in launchers for type_ in types_of(one, self.op)]
        files = {}
        for kind, path in part.files.items():
            text = fill(kernel, kind)
            needed = _needed(text, part, kind)
            include, behind, doc, params = f"{plan.name}.h", "", _doc(kernel), dict(kernel.params)
            if launchers and kind == "cpp":
                params = {name: value for name, value in params.items() if re.search(rf"\b{name}\b", text)}
                needed = ['"launch.h"', *needed]
                doc = f"What {kernel.name} does with tensors: its kernels are in cuda_kernel.cu."
            elif launchers:
                include = DECLARED
                behind = self.render("csrc/instances.cu", functions=functions, behind=BEHIND)
                behind = behind.removeprefix(commented(plan.header, "//"))
            head = commented(plan.header, "//") + (comment(doc) + "\n" if doc.strip() else "")
            head += _macro(plan, text) + "".join(f"#include {header}\n" for header in needed)
            file = KernelFile(text, params, f"{plan.name}::{part.device}", include, head, behind)
            files[path.rpartition("/")[2]] = write_kernel_file(file, f"kernel {kernel.label!r} ({kind})")
        if launchers:
            files[DECLARED] = self.render("csrc/cuda_kernel.h", functions=functions)
            launches = [_launch(one, self.op.dtypes, types_of(one, self.op)) for one in launchers]
            narrows = any(".narrow(" in str(one) for one in launches)
            files["launch.h"] = self.render("csrc/launch.h", launchers=launches, narrows=narrows)
        return files

    def example(self) -> str:
        """Write the program that calls the operators without Python."""
        plan, op, raw = self.plan, self.op, self.plan.autograd_in_python
        # To know the op's numbers, and which of the optional tensors are there.
        made = make_inputs(op, Case("", tuple(plan.check_size.values())))
        values = {argument.name: value for argument, value in zip(op.signature.inputs, made, strict=True)}
        tensors = {one.name: op.shape_of[one.name].dims for one in op.signature.tensors if values[one.name] is not None}
        spelled = " ".join(map(str, [dim for dims in tensors.values() for dim in dims]))
        sizes = [f"{letter} = {number}" for letter, number in plan.check_size.items() if letter in spelled]
        dtype = {"float32": "", "float64": "at::kDouble"}.get(op.dtypes[0], f"at::k{CPP_DTYPES[op.dtypes[0]]}")
        options = f", {dtype}" * bool(dtype)
        headers = ["ATen/core/dispatch/Dispatcher.h", "ATen/ops/rand.h"]
        if plan.devices[0] == "cuda":
            options = f", at::device(at::kCUDA).dtype({dtype or 'at::kFloat'})"
            headers.append("ATen/Context.h")
        if raw:
            headers.append("ATen/ops/ones_like.h")
        elif len(self.outputs) > 1:
            headers.append("ATen/TensorOperators.h")  # for the sum of which it goes backward
        if plan.custom:
            headers += ["ATen/core/ivalue.h", "ATen/ops/allclose.h", "torch/custom_class.h", "torch/serialize.h"]
        trained = op.parameters or (tuple(one.name for one in op.signature.tensors) if raw else tuple(tensors))
        incoming = [f"at::ones_like({output})" for output in self.outputs]
        return self.render(
            "example/main.cpp",
            headers=sorted(headers),
            letters=sizes,
            options=options,
            tensors=tensors,
            numbers={one.name: repr(values[one.name]).lower() for one in op.signature.inputs if not one.is_tensor},
            trained=() if raw else op.parameters or [one.name for one in op.signature.tensors],
            traced=f"d_{trained[0]}" if raw else trained[0],
            handed=[*incoming, *(one.name for one in plan.saved), *["true"] * len(plan.gradients)],
            types=lambda arguments: [cpp_type(argument, "aten") for argument in arguments],
            parameters=lambda arguments: self.parameters(arguments, api="aten"),
            returned=lambda results: self.returned(results, "aten"),
        )


class _Check:
    """What is asked of one tensor, and how C++ speaks of it: an optional one is looked at where it is there."""

    def __init__(self, check: InputCheck) -> None:
        self.name, self.shape, self.tells, self.alike = check.name, check.shape, check.tells, check.alike
        self.guard, self.value = (f"if ({self.name}) ", f"*{self.name}") if check.optional else ("", self.name)
        # Its rank is looked at where it tells letters, its extents where these do not follow from it alone.
        self.extents = not self.shape.any_rank and (len(self.tells) < len(self.shape.dims) or not self.shape.dims)


def _tensor_type(api: str) -> str:
    """Spell the type of a tensor: what is on the stable ABI says `using torch::stable::Tensor`."""
    return TENSOR[api].removeprefix("torch::stable::")


def _own_memory(results: Sequence[str], arguments: Iterable[Argument]) -> str:
    """Write the call that gives results memory of their own."""
    mine = [f"&{name}" for name in results]
    tensors = [argument for argument in arguments if argument.is_tensor]
    theirs = [f"&{one.name}" if one.type == "Tensor" else f"{one.name} ? &*{one.name} : nullptr" for one in tensors]
    line = f"own_memory({{{', '.join(mine)}}}, {{{', '.join(theirs)}}});"
    return line if len(line) + 2 <= WIDTH else f"own_memory(\n      {{{listed(mine)}}},\n      {{{listed(theirs)}}});"


def operator_schemas(plan: Plan) -> list[str]:
    """Return the schemas of the operators: `OP`, unless Python makes it, `OP_forward` and `OP_backward`."""
    op = plan.op.name
    names = {"call": op, "forward": f"{op}_forward", "backward": f"{op}_backward"}
    if not plan.interface.has_backward:
        del names["forward"], names["backward"]
    elif plan.autograd_in_python:
        del names["call"]
    spelled = schemas(plan.kernel, plan.op, plan.interface, plan.taken)
    if plan.style == "boxed":  # without a backward, the op is its forward
        names = {"forward": plan.operator} | {kind: name for kind, name in names.items() if kind == "backward"}
    return [name + spelled[kind].removeprefix(kind) for kind, name in names.items()]


def _definition(schema: str) -> str:
    """Write `m.def` of a schema, which may take several lines."""
    line = f'  m.def("{schema}");'
    if len(line) <= WIDTH:
        return line
    pieces = textwrap.wrap(schema, WIDTH - 10, break_long_words=False)
    quoted = [f'"{piece} "' for piece in pieces[:-1]] + [f'"{pieces[-1]}");']
    return "\n".join(["  m.def(", *(f"      {piece}" for piece in quoted)])


def _require_linkage(kernel: Kernel, kind: str, masked: str, function: Function) -> None:
    """Refuse a function that only its own file sees.

    Raises:
        DefinitionError: it is static or inline.
    """
    word = re.search(r"\b(?:static|inline)\b", masked[function.start : function.offset])
    if word:
        line = masked.count("\n", 0, function.start + word.start()) + 1
        raise DefinitionError(
            f"kernel {kernel.label!r} ({kind}), line {line}: this function is {word[0]}, and another file of the export "
            f"calls it: delete the word '{word[0]}'"
        )


def _declared(function: Function, name: str, api: str) -> dict[str, Any]:
    """Take a declaration apart; the parameters have the names that the text gives them."""
    spelled = prototype(function, name).replace("torch::stable::", "").replace("at::Tensor", _tensor_type(api))
    returns, _, types = spelled.removesuffix(");").partition(f" {name}(")
    named = [f"{type_.strip()} {own}".strip() for type_, own in zip(split(types), function.names, strict=True)]
    return {"returns": returns, "name": name, "parameters": named}


def _instance(launcher: Launcher, type_: str) -> dict[str, Any]:
    """Spell the C function that instantiates a launch function for one type."""
    spelled = [parameter.spelled(launcher.template, type_) for parameter in launcher.parameters]
    stream = "stream_" if any(parameter.name == "stream" for parameter in launcher.parameters) else "stream"
    return {
        "symbol": launcher.symbol(type_),
        "parameters": [*spelled, f"void* {stream}"],
        "name": f"{launcher.name}<{type_}>" if launcher.template else launcher.name,
        "arguments": [
            *(parameter.name for parameter in launcher.parameters),
            f"static_cast<cudaStream_t>({stream})",
        ],
    }


def _launch(launcher: Launcher, dtypes: Sequence[str], types: Sequence[str]) -> dict[str, Any]:
    """Spell the function of tensors that calls the C functions of one launch function."""
    pointers = [parameter for parameter in launcher.parameters if parameter.is_pointer]
    return {
        "name": launcher.name,
        "parameters": [host_parameter(parameter, launcher.template) for parameter in launcher.parameters],
        "pointers": [f"&{parameter.name}" for parameter in pointers],
        "typed": [f"&{one.name}" for one in pointers if one.type == launcher.template],
        "calls": [
            {
                "dtype": SCALAR_TYPES.get(type_, ""),
                "symbol": launcher.symbol(type_),
                "arguments": launch_arguments(launcher, type_),
            }
            for type_ in types
        ],
    }


def _doc(kernel: Kernel) -> str:
    """Return a kernel's doc for its file. One that ships goes on behind its formula about other kernels, and ends there."""
    if kernel.doc not in {shipped.doc for shipped in KERNELS}:
        return kernel.doc
    formula = re.match(r".*?\n\n {4}.*?\n\n(?=\S)(?:[a-z].*?\n\n)?", kernel.doc, re.DOTALL)
    return formula[0] if formula else kernel.doc


def _macro(plan: Plan, text: str) -> str:
    """Define the playground's name of a build's namespace, for texts that register something themselves."""
    if not re.search(rf"\b{NAMESPACE}\b", text):
        return ""
    return (
        "// The name under which the kernel registers what else it has; setuptools would have that of the Python module.\n"
        f"#undef {NAMESPACE}\n#define {NAMESPACE} {plan.name}\n\n"
    )


#: What the playground puts before every text, by the words that need it.
_PRELUDE = {
    "ATen/AccumulateType.h": r"\bacc_type\b",
    "ATen/Dispatch.h": r"\bAT_DISPATCH_",
    "ATen/NumericUtils.h": r"\b_is(?:nan|inf)\b",
    "ATen/Parallel.h": r"\bparallel_(?:for|reduce)\b|\bat::(?:get|set)_num_threads\b|\bin_parallel_region\b|\bdivup\b",
    "ATen/cpu/vec/vec.h": r"\bvec::|\bVectorized\b",
    "torch/csrc/inductor/aoti_torch/c/shim.h": r"\baoti_torch_|\btorch_(?:parallel_for|get_num_threads)\b",
}
#: And before one on the stable ABI.
_STABLE_PRELUDE = {
    "torch/csrc/inductor/aoti_torch/c/shim.h": r"\baoti_torch_|\btorch_(?:parallel_for|get_num_threads)\b",
    "torch/csrc/stable/ops.h": r"\bstable::(?!Tensor\b)\w+",
    "cmath": r"\bstd::(?:a?(?:sin|cos|tan)h?|exp|expm1|log|log1p|sqrt|pow|fabs|fma|erf|round|floor|ceil)\b",
    "string": r"\bstd::(?:to_)?string\b",
}


#: Headers with all of torch.
_WHOLE = ("torch/extension.h", "torch/torch.h", "torch/all.h", "torch/types.h")


def _needed(text: str, part: Part, kind: str) -> list[str]:
    """List the headers that a text relies on and does not include itself."""
    whole = next((one for one in directives(text) if one.header in _WHOLE), None)
    # What stands before it counts on it, as load_inline lets it.
    found = [f"<{whole.header}>"] if whole and mask(text[: whole.start]).strip() else []
    if kind == "cuda":
        return found
    prelude = _STABLE_PRELUDE if part.kernel.api == "stable" else _PRELUDE
    # What is included behind the params has to come before them, too: headers may use the same names.
    place = place_of_params(part.kernel.params, text) if part.kernel.params else text.count("\n") + 1
    ahead = "\n".join(text.split("\n")[:place])
    included = headers(ahead)
    code = mask(text)
    parallel = part.kernel.api == "aten" and re.search(_PRELUDE["ATen/Parallel.h"], code)
    found += ['"parallel.h"'] if parallel else []
    if part.kernel.binding == "pybind11":
        return found + ["<torch/extension.h>"] * ("torch/extension.h" not in included)
    if included & {"torch/csrc/stable/c/shim.h", "torch/csrc/stable/ops.h"}:
        included.add("torch/csrc/inductor/aoti_torch/c/shim.h")
    if included & {"ATen/ATen.h", *_WHOLE}:
        included.add("ATen/Dispatch.h")
    found += [f"<{header}>" for header, words in prelude.items() if header not in included and re.search(words, code)]
    return found
