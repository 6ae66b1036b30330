"""The form of a rule that gives advice: a pattern over the compiler's message, and who writes the sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .compiler_log import Record
from .source_text import line_of

#: Writes a sentence from the match, the record (which it may move) and the user's texts; nothing when it has none.
Rule = Callable[[re.Match[str], Record, Mapping[str, str]], str]


class Rules:
    r"""An ordered list of rules; the first one that has something to say wins.

    Example:
        >>> rules = Rules()
        >>> rules.fixed("unterminated (#[a-z]+)", r"Close \1 with #endif.")
        >>> rules.help(Record("op/mine", 1, 0, "error", "unterminated #ifdef"), {})
        'Close #ifdef with #endif.'
    """

    def __init__(self) -> None:
        self._rules: list[tuple[re.Pattern[str], Rule]] = []

    def rule(self, pattern: str) -> Callable[[Rule], Rule]:
        """Enter the decorated function, to be asked when `pattern` is found in a message."""

        def enter(function: Rule) -> Rule:
            self._rules.append((re.compile(pattern), function))
            return function

        return enter

    def fixed(self, pattern: str, sentence: str, *, headers: bool = False) -> None:
        """Enter a sentence that needs nothing from the text; it may hold the pattern's groups.

        It is about the line of the error: only with `headers` is it said of a line in a header that the user's own line asked for.
        """

        def say(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
            return "" if record.header and not headers else match.expand(sentence)

        self._rules.append((re.compile(pattern), say))

    def help(self, record: Record, sources: Mapping[str, str]) -> str:
        """Return what the first rule that fits has to say, or nothing."""
        found = ((pattern.search(record.message), rule) for pattern, rule in self._rules)
        return next((sentence for match, rule in found if match and (sentence := rule(match, record, sources))), "")


def text_of(record: Record, sources: Mapping[str, str]) -> str:
    """Return the text that a record is about, or nothing."""
    return sources.get(record.file, "")


def line_at(record: Record, sources: Mapping[str, str]) -> str:
    """Return the line that a record is about, or nothing."""
    return line_of(text_of(record, sources), record.line)


def guess_of(record: Record) -> str:
    """Return what the compiler suggests in place of a name; it often lies, so never print it unasked."""
    match = re.search(r"did you mean '([^']+)'\?", record.message)
    return match[1] if match else ""
