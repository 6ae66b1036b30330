"""The form of a rule that gives advice: a pattern over the compiler's message, and who writes the sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .compiler_log import Record
from .source_text import line_of, mask

#: Writes a sentence from the match, the record (which it may move) and the user's texts; nothing when it has none.
Rule = Callable[[re.Match[str], Record, Mapping[str, str]], str]

_AKA = re.compile(r" \(aka '[^']*'\)| \{aka [^{}]*\}")


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

    def fixed(self, pattern: str, sentence: str, *, inside: str = "", headers: bool = False) -> None:
        """Enter a sentence; it may hold the groups of the pattern, or of `inside`, which is looked for in the code of the line.

        Without `inside` it is about the error: only with `headers` is it said of one in a header that the user's own line asked for.
        """

        def say(match: re.Match[str], record: Record, sources: Mapping[str, str]) -> str:
            found = re.search(inside, code_at(record, sources)) if inside else match
            return found.expand(sentence) if found and (inside or headers or not record.header) else ""

        self._rules.append((re.compile(pattern), say))

    def table(self, text: str) -> None:
        r"""Enter many sentences: lines of patterns, and indented below them what to say, where a line `in ...` fits the code.

        Example:
            >>> rules = Rules()
            >>> rules.table("^duplicate case\n^case .* used\n  in (\\d+)\n    Take one case \\1 away.\n")
            >>> rules.help(Record("op/mine", 1, 0, "error", "duplicate case value"), {"op/mine": "case 3:"})
            'Take one case 3 away.'
        """
        for patterns, cures in re.findall(r"((?:^\S.*\n)+)((?:^ .*\n)+)", text, re.MULTILINE):
            for inside, sentence in re.findall(r"(?:^  in (.*)\n)?((?:^    .*\n)+)", cures, re.MULTILINE):
                self.fixed("|".join(patterns.splitlines()), " ".join(sentence.split()), inside=inside)

    def help(self, record: Record, sources: Mapping[str, str]) -> str:
        """Return what the first rule that fits has to say, or nothing."""
        said = without_aka(record.message)
        found = ((pattern.search(said), rule) for pattern, rule in self._rules)
        return next((sentence for match, rule in found if match and (sentence := rule(match, record, sources))), "")


def without_aka(message: str) -> str:
    """Leave out what a type is called besides: the patterns know the name that the user wrote.

    >>> without_aka("cannot convert 'int64_t' {aka 'long int'} to 'const float*'")
    "cannot convert 'int64_t' to 'const float*'"
    """
    return _AKA.sub("", message)


def text_of(record: Record, sources: Mapping[str, str]) -> str:
    """Return the text that a record is about, or nothing."""
    return sources.get(record.file, "")


def line_at(record: Record, sources: Mapping[str, str]) -> str:
    """Return the line that a record is about, or nothing."""
    return line_of(text_of(record, sources), record.line)


def code_at(record: Record, sources: Mapping[str, str]) -> str:
    """Return the line that a record is about, with comments and strings blank."""
    return line_of(mask(text_of(record, sources)), record.line)


def guess_of(record: Record) -> str:
    """Return what the compiler suggests in place of a name; it often lies, so never print it unasked."""
    match = re.search(r"did you mean '([^']+)'\?", record.message)
    return match[1] if match else ""
