"""The form of a rule that gives advice: a pattern over the compiler's message, and who writes the sentence."""

from __future__ import annotations

import re
from collections.abc import Callable

from .compiler_log import Record

#: Writes a sentence from the match and the record, which it may move; nothing when it has none.
Rule = Callable[[re.Match[str], Record], str]

_AKA = re.compile(r" \(aka '[^']*'\)| \{aka [^{}]*\}")
#: A type that the library names for itself, `value_type`, and what that is.
_OF_LIBRARY = re.compile(
    r"'[^'{}]*\b(?:value_type|element_type|(?:const_)?reference|_Tp)\b ?[&*]*"
    r"(?:' (?:\(aka '(?P<clang>[^']*)'\)|\{aka '(?P<gcc>[^'{}]*)'\})| \{aka (?P<inside>[^'{}]*)\}(?P<rest>[^']*)')"
)


class Rules:
    r"""An ordered list of rules; the first one that has something to say wins.

    Example:
        >>> rules = Rules()
        >>> rules.table("^duplicate case\n^case .* used\n  in (\\d+)\n    Take one case \\1 away.\n")
        >>> rules.help(Record("op/mine", 1, 0, "error", "duplicate case value", sources={"op/mine": "case 3:"}))
        'Take one case 3 away.'
    """

    def __init__(self) -> None:
        self._rules: list[tuple[re.Pattern[str], Rule]] = []

    def rule(self, pattern: str) -> Callable[[Rule], Rule]:
        """Enter the decorated function, to be asked when `pattern` is found in a message."""

        def enter(function: Rule) -> Rule:
            self._rules.append((re.compile(pattern), function))
            return function

        return enter

    def table(self, text: str) -> None:
        """Enter many sentences: lines of patterns, one of which is found in the message, and indented below them what to say.

        A line `in ...` ahead of a sentence is looked for in the code of the line, and `line ...` in all of it, strings and comments
        included; the sentence then holds the groups of that. Without either it holds those of the message, and is not said of an
        error in a header.
        """
        for patterns, cures in re.findall(r"((?:^\S.*\n)+)((?:^ .*\n)+)", text, re.MULTILINE):
            for where, what, sentence in re.findall(r"(?:^  (in|line) (.*)\n)?((?:^    .*\n)+)", cures, re.MULTILINE):
                self.rule("|".join(patterns.splitlines()))(_sentence(where, what, " ".join(sentence.split())))

    def help(self, record: Record) -> str:
        """Return what the first rule that fits has to say, or nothing."""
        said = without_aka(record.message)
        found = ((pattern.search(said), rule) for pattern, rule in self._rules)
        return next((sentence for match, rule in found if match and (sentence := rule(match, record))), "")


def _sentence(where: str, what: str, sentence: str) -> Rule:
    def say(match: re.Match[str], record: Record) -> str:
        if not where:
            return "" if record.header else match.expand(sentence)
        found = re.search(what, record.code if where == "in" else record.row)
        return found.expand(sentence) if found else ""

    return say


def without_aka(message: str) -> str:
    """Leave out what a type is called besides: the patterns know the name that the user wrote.

    >>> without_aka("cannot convert 'int64_t' {aka 'long int'} to 'const float*'")
    "cannot convert 'int64_t' to 'const float*'"
    >>> without_aka("from 'double' to 'const value_type&' {aka 'const at::Tensor&'}")
    "from 'double' to 'const at::Tensor&'"
    """
    plain = _OF_LIBRARY.sub(lambda found: f"'{''.join(part or '' for part in found.groups())}'", message)
    return _AKA.sub("", plain)
