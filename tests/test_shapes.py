"""Shapes in letters: what they mean, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lltm_inline.errors import DefinitionError, InputError
from lltm_inline.model.shapes import Dim, Shape, letters_of, named_size


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("B", 3),
        ("3S", 15),
        ("3*S", 15),
        ("S+F", 22),
        ("2S+F+1", 28),
        ("F-S", 12),
        ("7", 7),
        ("S-1", 4),
        ("0", 0),
        ("S+S", 10),
        ("F-S+1", 13),
        ("S-F", -12),
        ("-S+F", 12),
    ],
)
def test_extents(text: str, value: int) -> None:
    """An extent is the sum of its terms."""
    assert Dim.parse(text)({"B": 3, "S": 5, "F": 17}) == value


@pytest.mark.parametrize("text", ["", "b", "S F", "S++F", "S+", "3.5S", "S/2", "SF", "2S3", "(S)", "é"])
def test_what_is_no_extent(text: str) -> None:
    """What does not read as a sum of terms is refused, with the text in the message."""
    with pytest.raises(DefinitionError, match="is not a sum of terms like B, 3S or 1"):
        Dim.parse(text)


@given(st.dictionaries(st.sampled_from("ABCS"), st.integers(1, 9), min_size=1), st.integers(0, 20), st.integers(0, 100))
def test_extent_is_linear(terms: dict[str, int], constant: int, size: int) -> None:
    """Whatever terms an extent has, it is their weighted sum."""
    text = "+".join([*(f"{count}{letter}" for letter, count in terms.items()), str(constant)])
    sizes = {letter: size + ord(letter) for letter in terms}
    assert Dim.parse(text)(sizes) == sum(count * sizes[letter] for letter, count in terms.items()) + constant


def test_shape_shows_itself_as_written() -> None:
    """A shape keeps the words it was written in, and a scalar has none."""
    assert str(Shape.parse("3S  S+F")) == "(3S, S+F)"
    assert Shape.parse("3S S+F").letters == ("S", "F")
    assert Shape.parse("")({}) == () and str(Shape.parse("")) == "()"


def test_letters_in_reading_order() -> None:
    """Letters come in the order in which they are whole extents, not in which they are parts of sums."""
    shapes = [Shape.parse("B F"), Shape.parse("3S S+F"), Shape.parse("B S")]
    assert letters_of(shapes) == ("B", "F", "S")


def test_letter_that_no_input_tells() -> None:
    """A letter that is nowhere a whole extent cannot be read off the inputs."""
    with pytest.raises(
        DefinitionError, match="no tensor has S as a whole extent, so it cannot be told from the inputs"
    ):
        letters_of([Shape.parse("B 3S")])


@pytest.mark.parametrize("size", [(3, 17), (3, 17, 5, 1), (3, 17, -5), (3, 17, 5.0), ()])
def test_size_that_does_not_fit(size: tuple[float, ...]) -> None:
    """A size of the wrong length, or of other things than non-negative integers, is refused with the letters it wants."""
    with pytest.raises(InputError, match=r"does not fit: want 3 non-negative integers \(B, F, S\)"):
        named_size("BFS", size)


def test_size_of_an_op_without_letters() -> None:
    """No list of numbers that is empty: it says that there is nothing to choose."""
    said = r"size \(3,\) does not fit: want \(\), as no shape of the op has a letter: all its sizes are fixed"
    with pytest.raises(InputError, match=said):
        named_size((), (3,))


def test_named_size() -> None:
    """Zero is a size like any other."""
    assert named_size(("B", "F"), (0, 17)) == {"B": 0, "F": 17}


def test_any_rank() -> None:
    """The shape "..." is one axis of N elements where a number is asked for, and shows itself as written."""
    shape = Shape.parse(" ... ")
    assert shape.any_rank and shape == Shape.parse("...") and str(shape) == "(...)"
    assert shape({"N": 12}) == (12,) and shape.letters == ("N",)
    assert not any(Shape.parse(text).any_rank for text in ("N", "", "B N"))
    assert letters_of([Shape.parse("B F"), shape]) == ("B", "F", "N")


@pytest.mark.parametrize("text", ["B ...", "... B", "... ...", "...B", "..", "....", "…"])
def test_any_rank_stands_alone(text: str) -> None:
    """Beside other extents the three dots mean nothing, and neither do two or four of them."""
    with pytest.raises(
        DefinitionError, match=r"'\.\.\.' is a whole shape, of any rank, and stands alone|is not a sum of terms"
    ):
        Shape.parse(text)
