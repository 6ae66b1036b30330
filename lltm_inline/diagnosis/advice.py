"""One plain sentence of help for the mistakes that beginners make.

The rules stand in `advice_habits`, `advice_tensors`, `advice_cuda`, `advice_names`, `advice_types` and `advice_pairs`,
and are asked in this order.
g++ and clang++ word most things differently, so most patterns have two halves;
`tests/build/mistakes.py` and its neighbours hold wrong texts for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from . import advice_cuda, advice_habits, advice_names, advice_pairs, advice_tensors, advice_types
from .compiler_log import Record

_ASKED = (advice_habits, advice_tensors, advice_cuda, advice_names, advice_types, advice_pairs)
_GUESS = re.compile(
    r";? \(?(?:did you mean|maybe you meant)[^?]*\?\)?|; did you forget to [^?]*\?|; (?:dereference with \*|take the address with &)"
)
_CODE_POINT = re.compile(r"\\U0{0,4}([0-9a-fA-F]{4,5})")


def advise(record: Record, sources: Mapping[str, str]) -> None:
    """Give a record its `help`; take the compiler's own guess out of its message.

    Args:
        record: changed in place.
        sources: the user's texts by the name that `#line` gives them.
    """
    if not record.help:
        record.help = next((sentence for part in _ASKED if (sentence := part.rules.help(record, sources))), "")
    if not record.help and record.header and record.trail and record.severity == "error":
        record.help = (
            "A template that this line uses does not take what it is given: compare types and number of the arguments."
        )
    record.message = _CODE_POINT.sub(r"<U+\1>", _GUESS.sub("", record.message)).strip()
