"""One plain sentence of help for the mistakes that beginners make.

The rules stand in `advice_cuda`, `advice_names` and `advice_types`. g++ and clang++ word most things differently, so most
patterns have two halves; `tests/build/mistakes.py` holds a wrong text for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from . import advice_cuda, advice_names, advice_types
from .compiler_log import Record

_GUESS = re.compile(r";? \(?(?:did you mean|maybe you meant)[^?]*\?\)?|; did you forget to [^?]*\?")
_CODE_POINT = re.compile(r"\\U0{0,4}([0-9a-fA-F]{4,5})")


def advise(record: Record, sources: Mapping[str, str]) -> None:
    """Give a record its `help`; take the compiler's own guess out of its message.

    Args:
        record: changed in place.
        sources: the user's texts by the name that `#line` gives them.
    """
    if not record.help:
        asked = (advice_cuda.rules, advice_names.rules, advice_types.rules)
        record.help = next((sentence for rules in asked if (sentence := rules.help(record, sources))), "")
    record.message = _CODE_POINT.sub(r"<U+\1>", _GUESS.sub("", record.message)).strip()
