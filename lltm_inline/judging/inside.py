"""The judge's part in the worker: runs the file, and says in plain values what came of it."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from ..checking.check import check
from ..checking.report import Report
from ..errors import BuildError, DefinitionError, InputError, LltmInlineError, TemplateError
from ..extension.inline import from_load_inline
from ..model.kernel import Kernel
from ..source.choose import usual_device
from ..workers import steps
from .building import place_in
from .forms import INPUTS, REFERENCES, Form, python_of
from .running import OnCpu, Runner
from .subjects import KernelBench, KernelBot, Subject, meant_of
from .trial import Trial, line_in
from .verdict import Finding

_SUBJECTS: dict[str, Callable[[Runner, Form], Subject]] = {"KernelBench": KernelBench, "KernelBot": KernelBot}
_WORST = ("our fault", "does not build", "refused", "wrong", "cheats")


def judge_here(form: Form, device: str) -> dict[str, Any]:
    """Judge a file in this process.

    Args:
        form: what it is.
        device: where its CUDA source runs.

    Returns:
        What `Verdict` has, as plain values.

    Raises:
        MemoryError, ProcessesLeft: what a worker says by its end.
    """
    path = Path(form.solution)
    text = python_of(path)
    beside = Path(form.reference)
    of_cuda = "cuda" in text.lower() or (
        beside.suffix == ".py" and beside.is_file() and "cuda" in python_of(beside).lower()
    )
    runner = Runner(path.stem, device, of_cuda or path.suffix in (".cu", ".cuh"))
    made: Any = Snippet(runner, form, text)
    if form.name in _SUBJECTS:
        made = Trial(runner, _SUBJECTS[form.name](runner, form), form, text)
    findings: list[Finding] = []
    try:
        made.run()
    except Exception as error:
        if steps.is_out_of_memory(error):
            raise
        if not made.findings:
            findings = _of_error(error, runner, form, text)
    findings = [*made.findings, *findings]
    kinds = [one.kind for one in findings]
    used = runner.builder.used or {device}
    return {
        "form": form.name,
        "word": next((word for word in _WORST if word in kinds), "right"),
        "findings": [asdict(one) for one in findings],
        "tried": made.tried,
        "not_tried": made.not_tried,
        "notes": list(dict.fromkeys([*(made.subject.notes if isinstance(made, Trial) else ()), *made.notes])),
        "device": device if device in used else "cpu",
        "speed": made.speed() if not findings else "",
    }


def _of_error(error: Exception, runner: Runner, form: Form, text: str) -> list[Finding]:
    """Say what an exception means that ended a judgement: of a build, of the file, of something that is not there, or of ours."""
    file = os.path.basename(form.solution)
    cause = runner.builder.failure or error
    line = runner.line_of(error)
    if isinstance(cause, BuildError):
        found = [
            Finding(
                "does not build",
                one.message,
                file,
                place_in(text, one.file, one.line, runner.builder.texts),
                cure=one.help,
            )
            for one in cause.diagnostics
            if one.severity == "error"
        ]
        return found or [Finding("does not build", str(cause).partition("\n")[0], file, line)]
    said = str(cause).strip().partition("\n")[0]
    if isinstance(cause, TemplateError):
        return [Finding("refused", said, file, line_in(said, text, runner) or line)]
    if isinstance(cause, InputError | DefinitionError):
        return [Finding("refused", said, file, line)]
    if isinstance(cause, ModuleNotFoundError):
        return [Finding("refused", f"it needs {cause.name}, which is not installed here", file, line)]
    if isinstance(cause, LltmInlineError) or not line:
        return [Finding("our fault", f"{type(cause).__name__}: {said}", file, line)]
    return [Finding("wrong", f"it raises {type(cause).__name__}: {said}", file, line)]


class Snippet:
    """A snippet for `load_inline` with a reference beside it: checked as every kernel is.

    Attributes:
        findings, tried, not_tried, notes: as those of `Verdict`.
    """

    def __init__(self, runner: Runner, form: Form, text: str) -> None:
        self.runner, self.form, self.text = runner, form, text
        self.findings: list[Finding] = []
        self.tried: list[str] = []
        self.not_tried: list[str] = []
        self.notes: list[str] = []

    def run(self) -> None:
        """Make kernels of the snippets, and check them."""
        kernels = self._of_source() if self.form.name == "source" else self._of_file()
        self.runner.end_pretence()  # for torch's own checks
        for kernel in kernels:
            device = self.runner.builder.device if kernel.cuda else usual_device(kernel)
            device = "cpu" if not kernel.cuda else device
            self.runner.builder.used.add(device)
            self.notes.append(kernel.doc)
            self._told(check(kernel, device=device))

    def speed(self) -> str:
        """Its benchmark says how fast it is."""
        return ""

    def _told(self, report: Report) -> None:
        for section in report.sections:
            self.tried += [f"{report.kernel}: {section.name}, {section.cases} cases"] * (section.cases > 0)
            self.not_tried += section.skipped
            for one in section.findings if not report.forward_only else ():
                at = ", ".join(filter(None, (one.case, f"smallest {one.smallest}" if one.smallest else "")))
                line = line_in(one.text, self.text, self.runner)
                self.findings.append(
                    Finding(
                        "wrong", one.text, os.path.basename(self.form.solution), line, "; ".join(one.hints), "", "", at
                    )
                )
        if report.forward_only:
            self.notes.append(report.headline)

    def _of_source(self) -> list[Kernel]:
        path = Path(self.form.solution)
        reference = self._reference(self.form.reference)
        names = {"torch": torch}
        with self.runner.step("inputs"):
            inputs = [eval(one, names) for one in self.form.inputs]
        if len(inputs) == 1 and isinstance(inputs[0], tuple):
            inputs = list(inputs[0])
        if not inputs:
            raise InputError(f"{path.name}: say with what it is called: --inputs 'torch.randn(7, 5)' 2.0")
        cuda = path.suffix in (".cu", ".cuh")
        bound = (
            None if "PYBIND11_MODULE" in self.text or "TORCH_LIBRARY" in self.text else [meant_of(self.text, path.name)]
        )
        given: dict[str, Any] = {
            "name": path.stem,
            "cuda_sources" if cuda else "cpp_sources": self.text,
            "functions": bound,
        }
        return _listed(from_load_inline(**given, reference=reference, inputs=tuple(inputs)))

    def _reference(self, word: str) -> Callable[..., Any]:
        """Find `FILE.py:FUNCTION` or `MODULE:FUNCTION`."""
        where, _, name = word.rpartition(":")
        if not where:
            raise InputError(f"--reference {word}: want FILE.py:FUNCTION or MODULE:FUNCTION")
        if where.endswith(".py"):
            path = Path(where)
            module = self.runner.load(str(path if path.is_file() else Path(self.form.solution).with_name(where)))
        else:
            with self.runner.step("import"):
                module = importlib.import_module(where)
        found = module
        for part in name.split("."):
            if not hasattr(found, part):
                raise InputError(f"--reference {word}: no {part} in {where}")
            found = getattr(found, part)
        return self._on_cpu(found)

    def _on_cpu(self, function: Any) -> Any:
        if not self.runner.on_cpu or "cuda" not in self.text:
            return function

        @functools.wraps(function)
        def call(*values: Any, **named: Any) -> Any:
            with OnCpu():
                return function(*values, **named)

        return call

    def _of_file(self) -> list[Kernel]:
        module = self.runner.load(self.form.solution, name="__main__" if self.form.solution.endswith(".ipynb") else "")
        other = module if self.form.reference == self.form.solution else self.runner.load(self.form.reference)
        found = {name: value for name, value in {**vars(module), **vars(other)}.items() if not name.startswith("_")}
        builder = self.runner.builder
        if not builder.snippets:
            raise InputError(
                "it defines load_inline calls, and makes none of them when it is run: call it at the top level"
            )
        kernels: list[Kernel] = []
        for given in builder.snippets:
            names = given["functions"]
            names = [names] if isinstance(names, str) else list(names or ())
            reference = {name: one for name in names if (one := _own(found, name))}
            plain = next((found[name] for name in REFERENCES if callable(found.get(name))), None)
            called = [name for name in builder.first if name in names] or names
            forward = next((name for name in called if "backward" not in name), called[0] if called else "")
            inputs = self._inputs(found, forward)
            if len(names) > 1 or reference:
                reference = reference or ({forward: plain} if plain else {})
                values = {name: builder.first.get(name, inputs) for name in reference}
                functions: Any = [name for name in names if name in reference or "backward" in name or "bwd" in name]
                self.not_tried += [
                    f"{name}: no reference of its own, {name}_reference" for name in names if name not in functions
                ]
                how = {
                    "reference": {n: self._on_cpu(f) for n, f in reference.items()},
                    "inputs": values,
                    "functions": functions,
                }
            else:
                how = {"reference": self._on_cpu(plain), "inputs": inputs}
            kernels += _listed(from_load_inline(**given | how))
        return kernels

    def _inputs(self, found: Mapping[str, Any], forward: str) -> Any:
        """Find the arguments of one call: what the file names so, or those of the call that it makes itself."""
        for name in INPUTS:
            if name in found:
                value = found[name]
                if not callable(value):
                    return tuple(value) if isinstance(value, list | tuple) else (value,)
                if inspect.signature(value).parameters and name == "inputs":
                    return value
                made = self.runner.seeded(0, value)
                return tuple(made) if isinstance(made, list | tuple) else (made,)
        if forward in self.runner.builder.first:
            self.notes.append(f"inputs: those of the first call of {forward} in the file")
            return self.runner.builder.first[forward]
        raise InputError(
            f"{os.path.basename(self.form.solution)}: it says nowhere with what {forward or 'it'} is called: want get_inputs(), or a call"
        )


def _own(found: Mapping[str, Any], name: str) -> Any:
    """Find the reference of one function by its name."""
    stem = name.removesuffix("_cuda").removesuffix("_forward").removesuffix("_cpp")
    names = [
        pattern.format(one) for one in (name, stem) for pattern in ("{}_reference", "{}_ref", "reference_{}", "ref_{}")
    ]
    return next((found[one] for one in names if callable(found.get(one))), None)


def _listed(made: Kernel | tuple[Kernel, ...]) -> list[Kernel]:
    return [made] if isinstance(made, Kernel) else list(made)
