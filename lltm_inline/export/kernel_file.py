"""A kernel's text as a source file of a project, and back.

    // The licence, then the kernel's doc: its formula above its code.
    #include "parallel.h"                       what the playground puts before a text, and this one needs
    #include "lltm_fused.h"                     ends the head

    #include <ATen/core/Tensor.h>               the text, letter for letter; its params stand behind its headers

    // Parameters.
    #define GRAIN 2048
    // End of parameters.

    namespace lltm_fused::cpu {                 around everything but headers

    ...

    }  // namespace lltm_fused::cpu

`read_kernel_file` takes away what `write_kernel_file` put in, and so gives back the text as it was, or as a person left it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..cpp.masks import behind_headers, directives, mask
from ..errors import DefinitionError
from ..source.template import number, place_of_params

_PARAMS_BEGIN, _PARAMS_END = "// Parameters.", "// End of parameters."
_PARAMS = re.compile(
    rf"^{re.escape(_PARAMS_BEGIN)}\n(.*?)^{re.escape(_PARAMS_END)}(?:\n\n|\n|\Z)", re.MULTILINE | re.DOTALL
)
#: The header that ends the head of a CUDA text without torch, in place of the package's own.
DECLARED = "cuda_kernel.h"
#: Begins what an export adds behind a CUDA text without torch.
BEHIND = "// For the C++ side: a C function for each launch function and dtype."

#: What cannot be put into a namespace: it would open `demo::cpu::at`, or name a template that is not of it.
_FOREIGN = re.compile(
    r"(?<!using )\bnamespace\s+(?:at|c10|std|torch)\b[\w:]*\s*\{"
    r"|\btemplate\s*<[^;{}]*>\s*(?:struct|class|union)\s+(?:::)?(?:at|c10|std|torch)::"
)


@dataclass(frozen=True)
class KernelFile:
    """A kernel's text, and what an export puts around it.

    Attributes:
        text: with its slots filled in.
        params: of the kernel.
        namespace: that the code is put into, `lltm_fused::cpu`.
        include: name of the header that ends the head, `lltm_fused.h`.
        head: what stands above that: comments, other headers.
        behind: code that follows the text; begins with `BEHIND`.
    """

    text: str
    params: Mapping[str, int | float]
    namespace: str
    include: str
    head: str = ""
    behind: str = ""


def write_kernel_file(file: KernelFile, what: str) -> str:
    """Write a kernel's text as a source file.

    Args:
        file: text and surroundings.
        what: names the text in messages, `kernel 'lltm/fused' (cpp)`.

    Raises:
        DefinitionError: the text cannot stand in a namespace, or holds a line by which a file is taken apart again.

    Example:
        >>> print(write_kernel_file(KernelFile("#include <cmath>\\n\\nint f();\\n", {"A": 2}, "demo::cpu", "demo.h"), "demo"), end="")
        #include "demo.h"
        #include <cmath>
        <BLANKLINE>
        // Parameters.
        #define A 2
        // End of parameters.
        <BLANKLINE>
        namespace demo::cpu {
        <BLANKLINE>
        int f();
        <BLANKLINE>
        }  // namespace demo::cpu
    """
    text = file.text.replace("\r\n", "\n")
    _refuse(file, text, what)
    lines = text.split("\n")
    ahead, is_open = _insertions(file, text, lines)
    body = "\n".join(f"{ahead.get(index, '')}{line}" for index, line in enumerate(lines))
    opening, closing = _opening(file.namespace), _closing(file.namespace)
    if file.behind:
        body += f"\n{'' if is_open else opening}{file.behind}"
    end = f"\n{closing}\n" if is_open or file.behind else ""
    return f'{file.head}#include "{file.include}"\n{body}{end}'


def read_kernel_file(source: str, *, namespace: str, include: str, what: str) -> tuple[str, dict[str, int | float]]:
    """Take a kernel's text and params out of a file that `write_kernel_file` wrote.

    Args:
        source: of the file; a person may have edited it.
        namespace, include: with which it was written.
        what: names the file in messages.

    Raises:
        DefinitionError: the line that ends the head is gone, or a param is no number.

    Example:
        >>> file = KernelFile("#include <cmath>\\nint f();", {"A": 2}, "demo::cpu", "demo.h")
        >>> read_kernel_file(write_kernel_file(file, "demo"), namespace="demo::cpu", include="demo.h", what="demo")
        ('#include <cmath>\\nint f();', {'A': 2})
    """
    source = source.replace("\r\n", "\n")
    found = re.search(rf'^#include "(?:{re.escape(include)}|{re.escape(DECLARED)})"\n', source, re.MULTILINE)
    if not found:
        raise DefinitionError(
            f"{what}: no line '#include \"{include}\"', with which the head of the file ends and the kernel begins: put it back"
        )
    ahead, text = source[: found.end()], source[found.end() :]
    text, behind, _ = text.partition(f"\n{BEHIND}\n")
    opening, closing = re.escape(_opening(namespace).rstrip("\n")), re.escape(_closing(namespace))
    # What stands at the very end was put behind a text that may not end in a line of its own.
    text = re.sub(rf"\n{opening}\n\Z" if behind else rf"\n{closing}\s*\Z", "", text)
    text = re.sub(rf"^(?:{closing}|{opening})(?:\n\n|\n|\Z)", "", text, flags=re.MULTILINE)
    params: dict[str, int | float] = {}
    block = _PARAMS.search(text)
    if block:
        first = ahead.count("\n") + text.count("\n", 0, block.start()) + 2
        params = _read_params(block[1], first, what)
        text = text[: block.start()] + text[block.end() :]
    return text, params


def _opening(namespace: str) -> str:
    return f"namespace {namespace} {{\n\n"


def _closing(namespace: str) -> str:
    return f"}}  // namespace {namespace}"


def _refuse(file: KernelFile, text: str, what: str) -> None:
    """Refuse what would mean something else in a namespace, and lines that `read_kernel_file` would take for its own."""
    foreign = _FOREIGN.search(mask(text))
    if foreign:
        line = text.count("\n", 0, foreign.start()) + 1
        raise DefinitionError(
            f"{what}, line {line}: '{' '.join(foreign[0].split())}' cannot stand in namespace {file.namespace}, into which an "
            "export puts the text: two packages that define the same would clash. Give what it defines a name of its own, "
            "outside of at, c10, std and torch"
        )
    own = (_PARAMS_BEGIN, _PARAMS_END, BEHIND, _closing(file.namespace), _opening(file.namespace).strip())
    for number_, line_ in enumerate(text.split("\n"), 1):
        if line_.rstrip() in own:
            raise DefinitionError(
                f"{what}, line {number_}: {line_.strip()!r} is a line that the export writes: change it"
            )


def _insertions(file: KernelFile, text: str, lines: list[str]) -> tuple[dict[int, str], bool]:
    """Say what goes before which line, and whether the namespace is still open at the end."""
    headers = {text.count("\n", 0, one.start) for one in directives(text) if one.name == "include"}
    depths = _depths(text)
    ahead: dict[int, str] = {}
    code = mask(text)
    start = behind_headers(text, len(code) - len(code.lstrip()))
    place = min(place_of_params(file.params, text), len(lines) - 1) if file.params else -1
    while 0 <= place < len(lines) - 1 and not lines[place].strip():
        place += 1
    is_open = False
    for index, line in enumerate(lines):
        is_header = index in headers and depths[index] == 0
        if is_header:
            if is_open:
                ahead[index] = f"{_closing(file.namespace)}\n\n"
            is_open = False
        inserted = _block(file.params) if index == place else ""
        if not is_open and not is_header and line.strip() and index >= start:
            inserted += _opening(file.namespace)
            is_open = True
        if inserted:
            ahead[index] = ahead.get(index, "") + inserted
    return ahead, is_open


def _block(params: Mapping[str, int | float]) -> str:
    defines = "".join(f"#define {name} {number(value)}\n" for name, value in sorted(params.items()))
    return f"{_PARAMS_BEGIN}\n{defines}{_PARAMS_END}\n\n"


def _depths(text: str) -> list[int]:
    """Tell for each line how many braces are open where it begins."""
    depths, depth = [], 0
    for line in mask(text).split("\n"):
        depths.append(depth)
        depth += line.count("{") - line.count("}")
    return depths


def _read_params(block: str, line: int, what: str) -> dict[str, int | float]:
    params: dict[str, int | float] = {}
    for number_, text in enumerate(block.split("\n"), line):
        match = re.fullmatch(r"\s*#\s*define\s+(\w+)\s+\(?([-+.\w]+)\)?\s*(?://.*)?", text)
        try:
            if match:
                params[match[1]] = _value(match[2])
            elif text.strip():
                raise ValueError
        except ValueError:
            raise DefinitionError(
                f"{what}, line {number_}: {text.strip()!r} is no param, want '#define NAME NUMBER'; other definitions stand "
                f"outside of the block that begins with '{_PARAMS_BEGIN}'"
            ) from None
    return params


def _value(text: str) -> int | float:
    """Read a number of C++.

    Raises:
        ValueError: it is none.
    """
    return int(text, 0) if re.fullmatch(r"[-+]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", text) else float(text)
