"""Words that C++ or Python keep for themselves: no argument and no launch function can have one of them as its name."""

from __future__ import annotations

import keyword

_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
    new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return
    short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
    typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    at c10 std torch
"""
_CPP = frozenset(_WORDS.split())


def is_reserved(word: str) -> bool:
    """Tell whether a word cannot be a name in both languages; the namespaces that texts use are among them.

    Example:
        >>> [is_reserved(word) for word in ("double", "lambda", "input")]
        [True, True, False]
    """
    return word in _CPP or keyword.iskeyword(word)
