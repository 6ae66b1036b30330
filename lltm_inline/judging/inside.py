"""The judge's part in the worker: runs the file, and tells what comes of it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ..base.arguments import first_line, raised
from ..checking.check import check
from ..errors import BuildError, DefinitionError, InputError, LltmInlineError, TemplateError
from ..extension.inline import from_load_inline
from ..extension.matching import is_backward
from ..model.kernel import Kernel
from ..run.function import as_tuple
from ..source.template import usual_device
from ..workers import steps
from .forms import INPUTS, REFERENCES, Form
from .running import OnCpu, Runner, place_in
from .subjects import kernel_bench, kernel_bot, meant_of
from .trial import Trial

_SUBJECTS = {"KernelBench": kernel_bench, "KernelBot": kernel_bot}


def judge_here(form: Form, device: str) -> dict[str, Any]:
    """Judge a file in this process, its CUDA source on a device; what comes of it is told on the way, as events `told`.

    Returns:
        What `Verdict` has besides: where it ran, and how fast.

    Raises:
        MemoryError, ProcessesLeft: what a worker says by its end.
    """
    runner, speed = Runner(form, device), ""
    try:
        if form.name in _SUBJECTS:
            trial = Trial(runner, _SUBJECTS[form.name](runner, form))
            trial.run()
            speed = "" if runner.findings else trial.speed()
        else:
            _check(runner, form)
    except Exception as error:
        if steps.is_out_of_memory(error):
            raise
        if not runner.findings:
            _tell(error, runner)
    return {"device": device if device in (runner.builder.used or {device}) else "cpu", "speed": speed}


def _tell(error: Exception, runner: Runner) -> None:
    """Say what an exception means that ended a judgement: of a build, of the file, of something that is not there, or of ours."""
    cause, line, texts = runner.builder.failure or error, runner.line_of(error), runner.builder.texts
    said = first_line(str(cause))
    if isinstance(cause, BuildError):
        for one in cause.diagnostics:
            if one.severity == "error":
                place = place_in(runner.text, one.file, one.line, texts)
                runner.find("does not build", one.message, line=place, cure=one.help)
        if not runner.findings:
            runner.find("does not build", said, line=line)
    elif isinstance(cause, TemplateError):
        runner.find("refused", said, line=runner.line_in(said) or line)
    elif isinstance(cause, InputError | DefinitionError):
        runner.find("refused", said, line=line)
    elif isinstance(cause, ModuleNotFoundError):
        runner.find("refused", f"it needs {cause.name}, which is not installed here", line=line)
    elif isinstance(cause, LltmInlineError) or not line:
        runner.find("our fault", raised(cause), line=line)
    else:
        runner.find("wrong", f"it raises {raised(cause)}", line=line)


def _check(runner: Runner, form: Form) -> None:
    """Make kernels of a snippet for `load_inline`, or of a source, and check them as every kernel is."""
    kernels = (_of_source if form.name == "source" else _of_file)(runner, form)
    runner.pretence.close()  # for torch's own checks
    for kernel in kernels:
        device = runner.builder.device if kernel.cuda and usual_device(kernel) != "cpu" else "cpu"
        runner.builder.used.add(device)
        for said in kernel.doc.split("\n"):
            runner.say("notes", said)
        report = check(kernel, device=device)
        if report.forward_only:
            runner.say("notes", report.headline)
        for section in report.sections:
            if section.cases:
                runner.say("tried", f"{report.kernel}: {section.name}, {section.cases} cases")
            for said in section.skipped:
                runner.say("not_tried", said)
            for one in section.findings if report.wrong else ():
                at = ", ".join(filter(None, (one.case, f"smallest {one.smallest}" if one.smallest else "")))
                runner.find("wrong", one.text, at, runner.line_in(one.text), cause="; ".join(one.hints))


def _of_source(runner: Runner, form: Form) -> Sequence[Kernel]:
    path = Path(form.solution)
    reference = _named(runner, form)
    inputs = _said(runner, form, {})
    if not inputs:
        raise InputError(f"{path.name}: say with what it is called: --inputs 'torch.randn(7, 5)' 2.0")
    binds = any(word in runner.text for word in ("PYBIND11_MODULE", "TORCH_LIBRARY"))
    given: dict[str, Any] = {"name": path.stem, "functions": None if binds else [meant_of(runner.text, path.name)]}
    given["cuda_sources" if path.suffix in (".cu", ".cuh") else "cpp_sources"] = runner.text
    return as_tuple(from_load_inline(**given, reference=reference, inputs=inputs))


def _said(runner: Runner, form: Form, names: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the arguments that somebody has said with the file, expressions of torch and of what the file names."""
    with runner.blaming("--inputs"), runner.step("inputs"):
        inputs = tuple(eval(one, {"torch": torch, **names}) for one in form.inputs)
    return inputs[0] if len(inputs) == 1 and isinstance(inputs[0], tuple) else inputs


def _named(runner: Runner, form: Form) -> Callable[..., Any]:
    """Find `FILE.py:FUNCTION` or `MODULE:FUNCTION`."""
    where, _, name = form.reference.rpartition(":")
    if not where:
        raise InputError(f"--reference {form.reference}: want FILE.py:FUNCTION or MODULE:FUNCTION")
    if where.endswith(".py"):
        path = Path(where)
        found: Any = runner.load(str(path if path.is_file() else Path(form.solution).with_name(where)))
    else:
        with runner.step("import"):
            found = importlib.import_module(where)
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"--reference {form.reference}: no {part} in {where}")
        found = getattr(found, part)
    return _on_cpu(runner, found)


def _on_cpu(runner: Runner, function: Any) -> Any:
    """Let a reference that asks for a GPU run on the CPU, where there is none."""
    return OnCpu()(function) if runner.on_cpu and "cuda" in runner.text else function


def _of_file(runner: Runner, form: Form) -> Sequence[Kernel]:
    builder = runner.builder
    module = runner.load(form.solution, name="__main__" if form.solution.endswith(".ipynb") else "")
    other = module if form.reference == form.solution else runner.load(form.reference)
    found = {name: value for name, value in {**vars(module), **vars(other)}.items() if not name.startswith("_")}
    if not builder.snippets:
        raise InputError(
            "it defines load_inline calls, and makes none of them when it is run: call it at the top level"
        )
    plain = next((found[name] for name in REFERENCES if callable(found.get(name))), None)
    kernels: list[Kernel] = []
    said = _said(runner, form, found)
    for given in builder.snippets:
        names = given["functions"]
        names = [names] if isinstance(names, str) else list(names or ())
        called = [name for name in builder.first if name in names] or names
        forward = next((name for name in called if not is_backward(name)), "".join(called[:1]))
        inputs = said or _inputs(runner, found, forward)
        own = {name: one for name in names if (one := _own(found, name))}
        how: dict[str, Any] = {"reference": _on_cpu(runner, plain), "inputs": inputs}
        if len(names) > 1 or own:
            own = own or ({forward: plain} if plain else {})
            functions = [name for name in names if name in own or is_backward(name)]
            for name in names:
                if name not in functions:
                    runner.say("not_tried", f"{name}: no reference of its own, {name}_reference")
            how = {"reference": {name: _on_cpu(runner, one) for name, one in own.items()}, "functions": functions}
            how["inputs"] = {name: said or builder.first.get(name, inputs) for name in own}
        kernels += as_tuple(from_load_inline(**given | how))
    return kernels


def _inputs(runner: Runner, found: Mapping[str, Any], forward: str) -> Any:
    """Find the arguments of one call: what the file names so, or those of the call that it makes itself."""
    for name in INPUTS:
        value = found.get(name)
        if name in found:
            if callable(value) and inspect.signature(value).parameters and name == "inputs":
                return value
            made = runner.seeded(0, value) if callable(value) else value
            return as_tuple(made)
    if forward in runner.builder.first:
        runner.say("notes", f"inputs: those of the first call of {forward} in the file")
        return runner.builder.first[forward]
    want = "want get_inputs(), or a call"
    raise InputError(f"{runner.name}: it says nowhere with what {forward or 'it'} is called: {want}")


def _own(found: Mapping[str, Any], name: str) -> Any:
    """Find the reference of one function by its name."""
    stem = name.removesuffix("_cuda").removesuffix("_forward").removesuffix("_cpp")
    names = (of.format(one) for one in (name, stem) for of in ("{}_reference", "{}_ref", "reference_{}", "ref_{}"))
    return next((found[one] for one in names if callable(found.get(one))), None)
