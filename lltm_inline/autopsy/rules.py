"""The form of a table that says something about a crash: sentences in order, each with when it is the one to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .facts import Facts

Test = Callable[[Facts], object]


@dataclass(frozen=True)
class Rule:
    """A sentence, or who writes it, and when it is the one to say."""

    applies: Test
    sentence: str | Callable[[Facts], str]

    def __call__(self, facts: Facts) -> str:
        return self.sentence if isinstance(self.sentence, str) else self.sentence(facts)


def first(rules: Sequence[Rule], facts: Facts) -> str:
    """Return the sentence of the first rule that applies, or nothing."""
    return next((rule(facts) for rule in rules if rule.applies(facts)), "")


def among(rules: Sequence[Rule]) -> Callable[[Facts], str]:
    """Make a table the sentence of a rule in another table."""
    return lambda facts: first(rules, facts)


def always(facts: Facts) -> bool:
    """Apply to everything: the last rule of a table."""
    return True


def ended(*kinds: str) -> Test:
    """Apply to endings of these kinds."""
    return lambda facts: facts.kind in kinds


def dies_of(*names: str) -> Test:
    """Apply to these signals."""
    return lambda facts: facts.signal in names


def prints(pattern: str) -> Test:
    """Apply where the pattern stands in what a library said before it ended the process."""
    return lambda facts: facts.signal == "SIGABRT" and re.search(pattern, facts.last_words)


def has(pattern: str) -> Test:
    """Apply where the pattern stands in the code of the user's texts."""
    return lambda facts: facts.has(pattern)


def near(pattern: str) -> Test:
    """Apply where the pattern stands close to where it happened."""
    return lambda facts: facts.near(pattern)


def in_any(*names: str) -> Test:
    """Apply where the worker was in one of these functions of the C library."""
    return lambda facts: not set(names).isdisjoint(facts.calls)


def both(*tests: Test) -> Test:
    """Apply where all of the tests do."""
    return lambda facts: all(test(facts) for test in tests)
