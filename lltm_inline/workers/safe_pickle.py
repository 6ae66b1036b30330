"""What may come from the worker: data of ours, plain Python values and exceptions. A damaged worker may send anything."""

from __future__ import annotations

import importlib
import io
import pickle
import sys
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from typing import Any

import torch

from ..errors import made_again

_PLAIN = {"complex", "slice", "range", "bytearray", "set", "frozenset"}


class SafeUnpickler(pickle.Unpickler):
    """Knows data of ours, torch's dtypes, and exceptions; anything else is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if module == "builtins" and name in _PLAIN:
            return getattr(sys.modules["builtins"], name)
        found = _known(module, name)
        if isinstance(found, type) and issubclass(found, BaseException):
            return found
        root = module.partition(".")[0]
        if root == "lltm_inline" and isinstance(found, type) and (is_dataclass(found) or issubclass(found, dict)):
            return found
        if root == "torch" and isinstance(found, torch.dtype):
            return found
        if (module, name) in (("torch", "device"), ("torch", "Size")):
            return found
        raise pickle.UnpicklingError(f"the worker sent a {module}.{name}, which is not taken from it")


def _known(module: str, name: str) -> Any:
    """Look up what a module of this process has by that name; None for nothing. Only modules of ours are imported."""
    if module.partition(".")[0] == "lltm_inline" and module not in sys.modules:
        with suppress(ImportError):
            importlib.import_module(module)
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, "__dict__", {}).get(part)  # and not getattr: that may import
    return found


def _exception(module: str, name: str) -> type[BaseException] | None:
    found = _known(module, name)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


@dataclass(frozen=True)
class Raised:
    """An exception as it travels: by name, since the receiver may not know its class.

    Attributes:
        names: module and qualified name of its class, then of those that it derives from.
        made_of: its arguments and attributes, as far as they can travel; pickled, so that what the receiver does not know
            of them is no reason to lose the rest.
        text: what it says.
        traceback: of the worker.
    """

    names: tuple[tuple[str, str], ...]
    made_of: bytes
    text: str
    traceback: str

    @property
    def kind(self) -> type[BaseException] | None:
        """Its class, where this process knows it."""
        return _exception(*self.names[0])


def wrap(error: BaseException, traceback: str) -> Raised:
    """Make an exception ready to travel."""
    kinds = [kind for kind in type(error).__mro__ if issubclass(kind, BaseException)]
    args = _arguments(error) if _is_portable(_arguments(error)) else (str(error),)
    state = {key: value for key, value in vars(error).items() if _is_portable(value)}
    names = tuple((kind.__module__, kind.__qualname__) for kind in kinds)
    return Raised(names, pickle.dumps((args, state), protocol=5), str(error), traceback)


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """Return what it was made of. An OSError counts the name of its file there, and not among its `args`."""
    return error.__reduce__()[1] if type(error).__module__ == "builtins" else error.args  # type: ignore[return-value]


def _is_portable(value: Any) -> bool:
    """Tell whether a value can be sent from a worker and is known on the other side."""
    try:
        SafeUnpickler(io.BytesIO(pickle.dumps(value, protocol=5))).load()
    except Exception:  # whatever the user's objects raise
        return False
    return True


def unwrap(raised: Raised) -> BaseException:
    """Make the exception again, without running a constructor that is not Python's own.

    Where this process does not know its class, it becomes one of the nearest class that it derives from.
    """
    try:
        args, state = SafeUnpickler(io.BytesIO(raised.made_of)).load()
    except Exception:  # whatever the user's objects raise; or something that this process does not know
        args, state = (raised.text,), {}
    if raised.kind is not None:
        with suppress(Exception):  # a class that wants other arguments here
            return _made(raised.kind, args, state)
    name = ".".join(raised.names[0])
    text = f"{name}: {raised.text}"
    for module, base in raised.names[1:]:
        kind = _exception(module, base)
        if kind is not None and kind not in (Exception, BaseException):
            with suppress(Exception):
                error = _made(kind, (text,), state)
                if str(error):
                    return error
    return RuntimeError(text)


def _made(kind: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> BaseException:
    error = kind(*args) if kind.__module__ == "builtins" else made_again(kind, args)
    vars(error).update(state)
    return error
