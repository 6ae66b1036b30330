"""Tab completion behind `%%kernel` and `%kernel`: names, revisions, verbs, options, params, and the words of a cell's own text.

What can follow is found without IPython (`complete`); the rest hands it to IPython's completer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.device import DEVICES
from ..base.verbs import Option
from ..model.kernel import Kernel
from ..model.registry import registry
from .options import BY_NAME
from .verbs import VERBS

_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_MOST = 300


@dataclass(frozen=True)
class Completion:
    """What can stand at the cursor: what a fragment there can become; `kind` is for the frontend's little sign."""

    fragment: str
    words: tuple[str, ...]
    kind: str


def complete(text: str, line: int, column: int) -> Completion | None:
    """Find what can stand at a place of a cell.

    Args:
        text: the cell.
        line: from 0.
        column: from 0, in that line.

    Returns:
        None where it is not for us: then Python's completion has its turn.

    Example:
        >>> complete("%%kernel axpy/cpp --che", 0, 23).words
        ('--check',)
    """
    lines = text.split("\n")
    ahead = lines[line][:column]
    first = next((number for number, each in enumerate(lines) if each.strip()), 0)
    if lines[first].lstrip().startswith("%%"):
        if lines[first].split(maxsplit=1)[0] != "%%kernel":
            return None
        if line > first:
            return _of_text(lines[first].split()[1:], lines[first + 1 :], ahead)
        return _of_cell_line(ahead) if line == first else None
    magic, rest = ahead.lstrip()[: len("%kernel")], ahead.lstrip()[len("%kernel") :]
    return _of_verb_line(rest) if magic == "%kernel" and rest[:1].isspace() else None


def _of_cell_line(ahead: str) -> Completion | None:
    words = ahead.split()[1:]
    if not ahead[len("%%kernel") :].startswith((" ", "\t")) and not words:
        return None
    fragment = "" if ahead[-1:].isspace() else words.pop()
    found = _of_options(BY_NAME, words, fragment)
    if found is not None:
        return found
    if any("/" in word for word in words):
        return _from(fragment, [name for name in BY_NAME if name not in words], "option")
    return _from(fragment, [*_labels(fragment), *(f"{op}/" for op in registry.ops)], "kernel")


def _of_options(options: Mapping[str, Option], words: Sequence[str], fragment: str) -> Completion | None:
    """Complete an option that is not given yet, or a value of the last one."""
    asked = next((word for word in reversed(words) if word.startswith("--")), "")
    option = options.get(asked)
    if fragment.startswith("-"):
        return _from(fragment, [name for name in options if name not in words], "option")
    if option is not None and option.takes and (option.many or words[-1] == asked):
        return _of_value(option.takes, option.choices, words, fragment)
    return None


def _of_value(takes: str, choices: Sequence[str], words: Sequence[str], fragment: str) -> Completion:
    names = [word for word in words if "/" in word]
    kernel = next((registry[name] for name in reversed(names) if name in registry), None)
    op = registry.ops.get(words[0].partition("/")[0]) if words else None
    if takes.startswith("KERNEL"):
        labels = _labels(fragment)
        own = [name for name in labels if op is not None and name.startswith(f"{op.name}/")]
        return _from(fragment, [*own, *labels], "kernel")
    if takes.startswith("NAME="):
        table = {} if kernel is None else kernel.slots if takes.startswith("NAME=TEXT") else kernel.params
        return _from(fragment, [f"{name}={value}" for name, value in table.items()], "param")
    if takes == "NAME ..." and op is not None:
        return _from(fragment, [each.name for each in (*op.signature.inputs, *op.signature.outputs)], "argument")
    if takes.startswith("SIZE") and op is not None:
        return _from(fragment, [",".join(map(str, size)) for size in op.benchmark_sizes], "size")
    return _from(fragment, choices or (DEVICES if takes == "DEVICE" else ()), "choice")


def _of_verb_line(rest: str) -> Completion:
    words = rest.split()
    fragment = "" if not rest or rest[-1:].isspace() else words.pop()
    if not words:
        return _from(fragment, VERBS, "verb")
    verb = VERBS.get(words[0])
    if verb is None:
        return Completion(fragment, (), "verb")
    found = _of_options(verb.known, words[1:], fragment)
    if found is not None:
        return found
    if verb.name == "list":
        return _from(fragment, registry.ops, "op")
    more = registry.ops if verb.name == "recover" else ()
    return _from(fragment, [*more, *_labels(fragment)], "kernel")


def _labels(fragment: str) -> list[str]:
    """List the kernels, and behind an `@` the revisions."""
    name, at, _ = fragment.partition("@")
    if at and name in registry:
        return [f"{name}@{kernel.revision}" for kernel in registry.history(name)]
    return list(registry)


def _of_text(words: Sequence[str], body: Sequence[str], ahead: str) -> Completion | None:
    """Complete a word of the C++ text: from the cell, from the kernel as it stands, and from the op's signature."""
    match = re.search(r"[A-Za-z_]\w*\Z", ahead)
    if match is None:
        return None
    known = set(_WORD.findall("\n".join(body)))
    name = next((word for word in words if "/" in word), "")
    kernel = registry.get(name)
    if kernel is not None:
        known |= set(words_of(kernel))
    known.discard(match[0])
    return _from(match[0], sorted(known), "word")


def words_of(kernel: Kernel) -> list[str]:
    """List the words that a person may want in a kernel's text: its own, those of its params, and what the op's schema names.

    Example:
        >>> words_of(Kernel("axpy/mine", cpp="at::add(y, x);", params={"UNROLL": 8}))
        ['UNROLL', 'add', 'd_x', 'd_y', 'd_z', 'x', 'y', 'z']
    """
    op = registry.ops.get(kernel.op)
    arguments = {each.name for each in (*op.signature.inputs, *op.signature.outputs)} if op else set()
    gradients = {f"d_{name}" for name in arguments}
    return sorted({*_WORD.findall("\n".join(kernel.sources.values())), *kernel.params, *arguments, *gradients})


def _from(fragment: str, words: Iterable[str], kind: str) -> Completion:
    return Completion(fragment, tuple(dict.fromkeys(word for word in words if word.startswith(fragment)))[:_MOST], kind)


def load(shell: Any) -> None:
    """Let a shell's completer ask us first; a second time changes nothing.

    Before IPython 8.6, such as Colab's, a matcher sees the cursor's line alone: there the words of a text are not completed.
    """
    unload(shell)
    try:
        from IPython.core.completer import SimpleCompletion, context_matcher
    except ImportError:
        shell.Completer.custom_matchers.append(_line_matcher(shell.Completer))
        return

    @context_matcher(identifier=_IDENTIFIER, priority=200)
    def kernel_matcher(context: Any) -> Any:
        found = complete(context.full_text, context.cursor_line, context.cursor_position)
        if found is None:
            return {"completions": []}
        return {
            "completions": [SimpleCompletion(word, type=found.kind) for word in found.words],
            "matched_fragment": found.fragment,
            "suppress": True,
        }

    shell.Completer.custom_matchers.append(kernel_matcher)


_IDENTIFIER = "lltm_inline"


def _line_matcher(completer: Any) -> Callable[[str], list[str]]:
    """Return a matcher of IPython 7, which replaces what it is given: the end of what stands before the cursor."""

    def matcher(text: str) -> list[str]:
        found = complete(completer.line_buffer, 0, len(completer.text_until_cursor))
        if found is None or not found.fragment.endswith(text):
            return []
        return [word[len(found.fragment) - len(text) :] for word in found.words]

    matcher.matcher_identifier = _IDENTIFIER  # type: ignore[attr-defined]
    return matcher


def unload(shell: Any) -> None:
    """Take our part of the completer away again."""
    shell.Completer.custom_matchers[:] = [
        each for each in shell.Completer.custom_matchers if getattr(each, "matcher_identifier", "") != _IDENTIFIER
    ]
