"""The form of a rule that gives advice: a pattern over the compiler's message, and who writes the sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .compiler_log import Record
from .source_text import at_file_scope, mask

#: Writes a sentence from the match and the record, which it may move; nothing when it has none.
Rule = Callable[[re.Match[str], Record], str]

_NAME = re.compile("(?<![A-Z])NAME(?![A-Z])")
#: A group, or a backslash, in a sentence.
_GROUP = re.compile(r"\\([1-9\\])")
_AKA = re.compile(r" \(aka '[^']*'\)| \{aka [^{}]*\}")
#: A type that the library names for itself, `value_type`, and what that is.
_OF_LIBRARY = re.compile(
    r"'[^'{}]*\b(?:value_type|element_type|(?:const_)?reference|_Tp)\b ?[&*]*"
    r"(?:' (?:\(aka '(?P<clang>[^']*)'\)|\{aka '(?P<gcc>[^'{}]*)'\})| \{aka (?P<inside>[^'{}]*)\}(?P<rest>[^']*)')"
)


class Rules:
    r"""An ordered list of rules; the first one that has something to say wins.

    Args:
        parts: patterns that stand in the tables by these names, in capitals.

    Example:
        >>> rules = Rules()
        >>> rules.table("^duplicate case\n^case .* used\n  in (\\d+)\n    Take one case \\1 away.\n")
        >>> rules.help(Record("op/mine", 1, 0, "error", "duplicate case value", sources={"op/mine": "case 3:"}))
        'Take one case 3 away.'
    """

    def __init__(self, **parts: str) -> None:
        self._rules: list[tuple[re.Pattern[str], Rule]] = []
        self._parts = parts

    def rule(self, pattern: str) -> Callable[[Rule], Rule]:
        """Enter the decorated function, to be asked when `pattern` is found in a message."""

        def enter(function: Rule) -> Rule:
            self._rules.append((re.compile(pattern), function))
            return function

        return enter

    def table(self, text: str) -> None:
        """Enter many sentences: lines of patterns, one of which is found in the message, and indented below them what to say.

        Lines before a sentence say where else to look: `in ...` in the code of the line, `outside ...` there if it begins outside
        of all functions, `line ...` in all of it, strings and comments included, `said ...` in the message and its notes,
        `text ...` in the code of the whole text, and `no ...` there for what must not be found. The sentence then holds their
        groups, counted through, and each pattern may ask for one of those before it: `%1`. `NAME` in a pattern or a sentence is
        the first group of the message. Without such lines the sentence holds the groups of the message, and is not said of an
        error in a header.
        """
        for name, part in self._parts.items():
            text = part.join(re.split(rf"(?<![A-Z_]){name}(?![A-Z_])", text))
        for patterns, cures in re.findall(r"((?:^\S.*\n)+)((?:^ .*\n)+)", text, re.MULTILINE):
            for where, sentence in re.findall(r"((?:^  (?! ).*\n)*)((?:^    .*\n)+)", cures, re.MULTILINE):
                asked = [tuple(line.split(maxsplit=1)) for line in where.splitlines()]
                self.rule("|".join(patterns.splitlines()))(_sentence(asked, " ".join(sentence.split())))

    def help(self, record: Record) -> str:
        """Return what the first rule that fits has to say, or nothing."""
        said = without_aka(record.message)
        found = ((pattern.search(said), rule) for pattern, rule in self._rules)
        return next((sentence for match, rule in found if match and (sentence := rule(match, record))), "")


def _sentence(asked: Sequence[tuple[str, ...]], sentence: str) -> Rule:
    def say(match: re.Match[str], record: Record) -> str:
        if not asked:
            return "" if record.header else match.expand(sentence)
        name = next(filter(None, match.groups()), "")
        found = _groups([(where, _NAME.sub(lambda _: re.escape(name), what)) for where, what in asked], record, ())
        if found is None:
            return ""
        told = _NAME.sub(lambda _: name, sentence)
        return _GROUP.sub(lambda part: (*found, "\\")[-1 if part[1] == "\\" else int(part[1]) - 1], told)

    return say


def _groups(asked: Sequence[tuple[str, str]], record: Record, ahead: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return what the groups of all patterns have found, those ahead first; None where one is not found beside the others."""
    if not asked:
        return ahead
    (where, pattern), *others = asked
    for number, group in enumerate(ahead, 1):
        pattern = pattern.replace(f"%{number}", re.escape(group))
    if where == "outside" and not at_file_scope(record.text, record.line):
        return None
    places = {"in": "code", "outside": "code", "line": "row", "said": "said"}
    text = getattr(record, places[where]) if where in places else mask(record.text)
    if where == "no":
        return None if re.search(pattern, text) else _groups(others, record, ahead)
    found = (_groups(others, record, (*ahead, *one.groups(""))) for one in re.finditer(pattern, text))
    return next((each for each in found if each is not None), None)


def without_aka(message: str) -> str:
    """Leave out what a type is called besides: the patterns know the name that the user wrote.

    >>> without_aka("cannot convert 'int64_t' {aka 'long int'} to 'const float*'")
    "cannot convert 'int64_t' to 'const float*'"
    >>> without_aka("from 'double' to 'const value_type&' {aka 'const at::Tensor&'}")
    "from 'double' to 'const at::Tensor&'"
    """
    plain = _OF_LIBRARY.sub(lambda found: f"'{''.join(part or '' for part in found.groups())}'", message)
    return _AKA.sub("", plain)
