"""How kernels are built and run: the same by name and as one `Setting`, and shown by name wherever a function is looked at."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

import lltm_inline as li
from lltm_inline.errors import InputError

VERBS = (
    li.check,
    li.gradcheck,
    li.benchmark,
    li.memory,
    li.sweep,
    li.load,
    li.call,
    li.counts,
    li.trace,
    li.self_check,
)
#: What a function has no choice of.
FIXED = {li.call: {"trust"}, li.counts: {"device", "cflags"}, li.trace: {"device", "cflags"}}


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_options_are_shown_by_name(verb: Callable[..., Any]) -> None:
    """Signature and help have each option that there is a choice of with its meaning, and no `**options`."""
    fixed = FIXED.get(verb, set())
    every = ["device", "compiler", "cflags", "progress", "trust", "limits", "setting"]
    names = list(inspect.signature(verb).parameters)
    assert [name for name in names if name in every] == [name for name in every if name not in fixed]
    said = inspect.getdoc(verb) or ""
    assert {name for name in every if f"\n    {name}: " in said} == set(every) - fixed
    assert "options" not in names and "of `Setting`, by name" not in said


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_shell_completes_options(verb: Callable[..., Any]) -> None:
    """Behind the name of a function IPython offers its options."""
    from IPython.core.interactiveshell import InteractiveShell

    completer = InteractiveShell().Completer
    assert {"compiler", "progress", "setting"} <= {name.rstrip("=") for name in completer._default_arguments(verb)}


def test_setting_and_names_are_one() -> None:
    """What is given by name goes before what the setting says; the worker is not asked where it trusts."""
    setting = li.Setting(trust=True, progress=False)
    assert li.check("axpy/python", sizes=[(2,)], setting=setting).ok
    assert li.call("axpy/python", torch.ones(1), torch.ones(1), setting=li.Setting(progress=False)).item() == 3.0
    with pytest.raises(InputError, match="no device 'tpu'"):
        li.check("axpy/python", setting=setting, device="tpu")
    with pytest.raises(InputError, match="setting=5, want a Setting"):
        li.benchmark("axpy/python", setting=5)  # type: ignore[arg-type]


def test_a_name_that_is_none_is_refused() -> None:
    """As Python refuses it, with the name of the function, and the nearest that it has."""
    with pytest.raises(
        TypeError, match=r"^check\(\) got an unexpected keyword argument 'devise'. Did you mean 'device'\?$"
    ):
        li.check("axpy/python", devise="cpu")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^call\(\) got an unexpected keyword argument 'trust'$"):
        li.call("axpy/python", trust=True)  # type: ignore[call-arg]
