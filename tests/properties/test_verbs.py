"""Malformed arguments of the verbs: build, check, benchmark, sweep, playground and the others; and malformed ops under them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import lltm_inline as li
from lltm_inline.calling import call
from lltm_inline.compiling import cache, compiler
from lltm_inline.errors import BuildError, DefinitionError, InputError, SignatureError
from tests.properties.malformed import ANYTHING, PROFILE, answer, in_cache
from tests.tiny import STABLE, forget, reference, register

#: Each verb, with arguments that are right and cost next to nothing.
VERBS: dict[Callable[..., Any], dict[str, Any]] = {
    li.build: {"kernel": "tiny/odd"},
    li.load: {"kernel": "tiny/odd"},
    li.check: {"kernel": "tiny/python", "sizes": [(2,)]},
    li.gradcheck: {"kernel": "tiny/python", "sizes": [(2,)]},
    li.benchmark: {
        "kernels": ["tiny/python"], "sizes": [(2,)], "seconds": 1e-3, "rounds": 1, "check": False, "directions": ["forward"],
    },
    li.memory: {"kernels": ["tiny/python"], "sizes": [(2,)], "check": False},
    li.counts: {"kernels": ["tiny/device"], "sizes": [(2,)]},
    li.trace: {"kernel": "tiny/device", "sizes": (2,)},
    li.sweep: {"kernel": "tiny/odd", "params": {"FACTOR": [2]}, "size": (2,), "seconds": 1e-3, "rounds": 1},
    li.playground: {"kernel": "tiny/odd"},
    li.self_check: {"exercise": "00.1", "praise": "Good.", "advice": "Go on.", "kernel": "tiny/python", "sizes": [(2,)]},
    li.export: {"kernel_or_op": "tiny/odd", "to": "export", "how": "load", "check": False, "force": True},
    call: {"kernel": "tiny/python"},
}  # fmt: skip
NAMES = {verb: [name for name in inspect.signature(verb).parameters if name != "inputs"] for verb in VERBS}
PAIRS = [(verb, name) for verb, names in NAMES.items() for name in names]


@pytest.fixture(scope="module", autouse=True)
def _no_compiler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let nothing reach a compiler, and hold the cache after all of this against the cache before."""

    def reached(*_: Any, **__: Any) -> Any:
        raise BuildError("the compiler was reached", kernel="tiny/odd")

    patch = pytest.MonkeyPatch()
    patch.chdir(tmp_path_factory.mktemp("verbs"))  # where exports go
    register()
    li.registry.register(li.Kernel("tiny/odd", cpp=STABLE, api="stable", params={"FACTOR": 2}))
    li.registry.register(li.Kernel("tiny/device", cuda="__global__ void k() {}"))
    li.check("tiny/python", sizes=[(2,)], progress=False)  # the worker is there
    patch.setattr(compiler, "_compile_all", reached)
    before = in_cache()
    yield
    assert in_cache() == before
    patch.undo()
    forget("tiny")
    forget("odd")


def use(verb: Callable[..., Any], changes: dict[str, Any]) -> Any:
    """Call a verb with right arguments but for the changes."""
    arguments = {**VERBS[verb], **({"progress": False} if "progress" in NAMES[verb] else {}), **changes}
    if verb is call:
        return call(arguments.pop("kernel"), torch.ones(2), **arguments)
    return verb(**arguments)


@PROFILE
@given(st.sampled_from(PAIRS), ANYTHING)
@example((li.benchmark, "dtype"), "float64")
@example((li.benchmark, "directions"), 5)
@example((li.check, "sizes"), [(10**30,)])
@example((li.build, "cflags"), [str])
def test_arguments(pair: tuple[Callable[..., Any], str], value: Any) -> None:
    """One malformed argument of a verb gives a result or an error of ours, whatever it is."""
    verb, name = pair
    answer(lambda: use(verb, {name: value}))


@PROFILE
@given(st.sampled_from([li.check, li.gradcheck, li.benchmark, li.memory, li.counts]), ANYTHING)
def test_sizes(verb: Callable[..., Any], extent: Any) -> None:
    """A size in which one extent is malformed, as a tuple and as a dict, is refused or measured."""
    answer(lambda: use(verb, {"sizes": [(extent,)]}))
    answer(lambda: use(verb, {"sizes": [{"N": extent}]}))


def failing() -> Callable[..., Any]:
    """Make a function that fails in a way of its own; made here, it goes to the worker by value."""

    def raises(*_: Any, **__: Any) -> Any:
        raise ArithmeticError("of its own")

    return raises


def gives(value: Any) -> Callable[..., Any]:
    """Make a function that returns a value whatever it is given."""
    return lambda *_, **__: value


ODD_FUNCTIONS = {
    "reference": [
        failing(),
        lambda: None,
        gives(None),
        gives(3),
        gives("ab"),
        gives(()),
        lambda x: (x, x),
        lambda x: x.to_sparse(),
    ],
    "inputs": [
        failing(),
        lambda: None,
        gives(None),
        gives(()),
        gives(5),
        gives(("a",)),
        gives((torch.ones(2), torch.ones(2))),
    ],
}


@pytest.mark.parametrize(("field", "function"), [(f, x) for f, functions in ODD_FUNCTIONS.items() for x in functions])
def test_ops_that_do_not_keep_their_word(field: str, function: Callable[..., Any]) -> None:
    """An op whose reference or inputs fail or give nonsense is named as the culprit, and not a kernel of it."""
    forget("odd")
    shapes = {"x": "N", "y": "N"}
    li.registry.register(li.Op(**{"name": "odd", "schema": "(Tensor x) -> Tensor y", "reference": reference, "shapes": shapes}
                               | {field: function}))  # fmt: skip
    with pytest.raises(DefinitionError, match=r"^op 'odd': (its reference|inputs\(\)) "):
        li.check("odd/python", sizes=[(2,)], progress=False)
    with pytest.raises(DefinitionError, match=r"^op 'odd': (its reference|inputs\(\)) "):
        li.benchmark("odd/python", sizes=[(2,)], seconds=1e-3, rounds=1, check=False, progress=False)


@pytest.mark.parametrize("cost", [failing(), lambda: None, gives(None), gives(3)])
def test_costs_that_do_not_keep_their_word(cost: Callable[..., Any]) -> None:
    """A cost that fails or is none is an error of the op, when it is timed."""
    forget("odd")
    li.registry.register(li.Op("odd", "(Tensor x) -> Tensor y", reference, {"x": "N", "y": "N"}, cost=cost))
    with pytest.raises(DefinitionError, match=r"^op 'odd': cost\(\) "):
        li.benchmark("odd/python", sizes=[(2,)], seconds=1e-3, rounds=1, check=False, progress=False)


@pytest.mark.parametrize(
    ("verb", "changes", "message"),
    [
        (li.benchmark, {"dtype": "float64"}, "dtype='float64', want a floating-point dtype such as torch.float32: torch.float64"),
        (li.benchmark, {"dtype": torch.int32}, "dtype=torch.int32, want a floating-point dtype"),
        (li.benchmark, {"directions": 5}, "directions=5, want some of forward, backward, both"),
        (li.benchmark, {"seconds": float("nan")}, "seconds=nan, want a positive time"),
        (li.benchmark, {"rounds": True}, "rounds=True, want at least one round"),
        (li.benchmark, {"check": "no"}, "check='no', want True or False"),
        (li.benchmark, {"kernels": 5}, "kernels=5, want a list of kernels or labels"),
        (li.benchmark, {"kernels": [None]}, "kernels: one=None, want a Kernel or a label"),
        (li.benchmark, {"baseline": 5}, "baseline=5, want a kernel or a label"),
        (li.benchmark, {"sizes": 5}, "sizes=5, want a list of sizes, numbers for (N)"),
        (li.benchmark, {"sizes": [(2**40,)]}, "more than fit into the memory of this machine"),
        (li.memory, {"depth": 10**6}, "depth=1000000, want the number of layers"),
        (li.check, {"sizes": [5]}, "got 5 in it"),
        (li.check, {"sizes": [("a",)]}, "size ('a',) does not fit: want 1 non-negative integer (N)"),
        (li.check, {"kernel": None}, "kernel=None, want a Kernel or a label such as 'lltm/fused'"),
        (li.check, {"progress": int}, "progress=<class 'int'>, want a function"),
        (li.check, {"trust": 1}, "trust=1, want True or False"),
        (li.check, {"limits": 3}, "limits=3, want Limits"),
        (li.check, {"device": None}, "no device None; want one of cpu, cuda, cuda-cpu"),
        (li.build, {"kernel": 5}, "kernel=5, want a Kernel, a label"),
        (li.build, {"compile_only": "x"}, "compile_only='x', want True or False"),
        (li.load, {"compiler": 5}, "compiler=5, want the name or path of a compiler"),
        (li.load, {"cflags": 5}, "cflags=5, want a tuple of strings"),
    ],
)  # fmt: skip
def test_what_is_said(verb: Callable[..., Any], changes: dict[str, Any], message: str) -> None:
    """The error names the argument, the value and what is wanted."""
    with pytest.raises(InputError) as error:
        use(verb, changes)
    assert message in str(error.value)


#: Texts that do not fit the op, or that no compiler takes, and what is in the error.
REFUSED = {
    "no function at all": "int x;",
    "unbalanced": "at::Tensor forward(const at::Tensor& x) { return x; ",
    "another name": "at::Tensor forwards(const at::Tensor& x) { return x; }",
    "two arguments": "at::Tensor forward(const at::Tensor& x, double c) { return x; }",
    "hidden in a comment": "/* at::Tensor forward(const at::Tensor& x) { return x; } */",
    "hidden in a raw string": 'const char* s = R"(at::Tensor forward(const at::Tensor& x) { return x; })";',
    "backward alone": "at::Tensor backward(const at::Tensor& d_y, std::array<bool, 1> wanted) { return d_y; }",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_texts_without_the_functions(text: str) -> None:
    """A text that does not define what the op needs is refused before anything is compiled; an open brace is the compiler's."""
    error = answer(lambda: li.build(li.Kernel("tiny/odd2", cpp=text)))
    assert isinstance(error, BuildError)
    assert isinstance(error, SignatureError) == (text != REFUSED["unbalanced"]), error


@pytest.mark.parametrize(
    "text",
    [
        STABLE.replace("return times(x, FACTOR);", "return times(x, FACTOR)"),
        STABLE + "\n}\n",
        STABLE + '\n#include "/etc/passwd"\n',
        STABLE + "\n#line 99999999999999999999 \"other\"\nint y = z;\n",
        STABLE + "\n#error \"stop \\\" here\"\n",
    ],
    ids=["semicolon", "brace", "passwd", "line", "error"],
)  # fmt: skip
def test_texts_that_no_compiler_takes(
    text: str, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch, compile_all: Callable[..., Any]
) -> None:
    """The error has diagnostics, and the cache holds the remembered failure and nothing else."""
    monkeypatch.setattr(compiler, "_compile_all", compile_all)
    kernel = li.Kernel("tiny/odd2", cpp=text, api="stable", params={"FACTOR": 2})
    with pytest.raises(BuildError) as error:
        li.build(kernel, cflags=["-O0"], progress=False)
    assert error.value.diagnostics and error.value.diagnostics[0].line
    assert not list((fresh_cache / "tmp").iterdir())
    kept = [entry for entry in cache.entries() if not entry.what.startswith("autograd bridge")]
    assert [entry.what for entry in kept] in ([], ["tiny/odd2 (failed)"])
    for entry in kept:
        assert not list(entry.path.glob("*.so")) and not list(entry.path.glob("*.o"))


@pytest.fixture
def compile_all() -> Callable[..., Any]:
    """Give the function that compiles, which the other tests here do without."""
    return _COMPILE_ALL


_COMPILE_ALL = compiler._compile_all
