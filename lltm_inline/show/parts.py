"""HTML as a type of its own, and what every result is made of: a page, a table, something that folds, a note, a badge, a bar.

Plain strings are escaped wherever they meet HTML, so that no text of a user becomes markup.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from ..base.arguments import plural
from .style import style

#: A notebook keeps what it shows: of a log of megabytes the first pages are enough.
MOST_LETTERS = 60_000
_BAR = 110
#: HTML holds no control characters but these two; the others have pictures of their own.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}


class Html(str):
    """A string that is HTML already. Everything in this package returns one, and escapes what is none.

    Example:
        >>> html("a < b"), html(Html("<b>bold</b>"))
        ('a &lt; b', '<b>bold</b>')
    """

    __slots__ = ()


def html(value: object) -> Html:
    """Return HTML as it is, and anything else as escaped text."""
    return value if isinstance(value, Html) else Html(escape(str(value)).translate(_PICTURES))


def join(parts: Iterable[object], separator: object = "") -> Html:
    """Put parts side by side, each escaped unless it is HTML.

    Example:
        >>> join(["1 < 2", tag("b", "so")], ": ")
        '1 &lt; 2: <b>so</b>'
    """
    return Html(html(separator).join(html(part) for part in parts))


def tag(name: str, *children: object, **attributes: object) -> Html:
    """Write an element.

    Args:
        name: of the element.
        children: what stands in it; text is escaped.
        attributes: by name, `cls` for class, `_` for `-`; those that are None, False or empty are left out, True is bare.

    Example:
        >>> tag("th", "a & b", scope="row", cls="x", aria_label='say "b"', hidden=None)
        '<th scope="row" class="x" aria-label="say &quot;b&quot;">a &amp; b</th>'
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False or value == "":
            continue
        key = "class" if key == "cls" else key.strip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{html(str(value))}"')
    return Html(f"<{' '.join(words)}>{join(children)}</{name}>")


def hidden(text: str) -> Html:
    """Write text for screen readers only: what a sign or a colour says to those who see it."""
    return tag("span", text, cls="li-hidden")


def tick(good: bool, words: str = "") -> Html:
    """Write ✓ or ✗, with words for screen readers.

    Example:
        >>> tick(True)
        '<span aria-hidden="true">✓</span><span class="li-hidden">right</span>'
    """
    sign = tag("span", "✓" if good else "✗", aria_hidden="true")
    return Html(sign + hidden(words or ("right" if good else "wrong")))


def page(*parts: object) -> Html:
    """Put parts into one element with the style sheet beside them: what a `_repr_html_` returns.

    Example:
        >>> page("1 < 2").endswith('</style>1 &lt; 2</div>')
        True
    """
    return tag("div", tag("style", Html(style())), *parts, cls="lltm-inline")


def fold(summary: object, body: object, open: bool = False) -> Html:
    """Show one line that opens and closes what is behind it.

    Example:
        >>> fold("full log, 2 lines", "a\\nb")
        '<details><summary>full log, 2 lines</summary><div>a\\nb</div></details>'
    """
    return tag("details", tag("summary", summary), tag("div", body), open=open)


def note(kind: str, *body: object) -> Html:
    """Set something apart, with a coloured edge: `good`, `bad` or `plain`.

    Example:
        >>> note("bad", "d_weights differs")
        '<div class="li-note li-bad">d_weights differs</div>'
    """
    return tag("div", *body, cls=f"li-note li-{kind}")


def badge(text: object, kind: str = "plain") -> Html:
    """Show a word or two in a rounded box; `good` and `bad` have a sign in front, so that the colour is not all there is.

    Example:
        >>> "✓" in badge("right", "good"), "✓" in badge("python")
        (True, False)
    """
    sign = join([tag("span", "✓" if kind == "good" else "✗", aria_hidden="true"), " "]) if kind != "plain" else ""
    return tag("span", tag("span", sign, text, cls=f"li-is-{kind}"), cls=f"li-badge li-{kind}")


def cross() -> Html:
    """Write ✗ before a sentence that says itself that something is wrong."""
    return join([tag("span", "✗", cls="li-is-bad", aria_hidden="true"), " "])


def paragraph(*body: object, cls: str = "") -> Html:
    """Write a paragraph."""
    return tag("p", *body, cls=cls)


def image(kind: str, data: bytes, words: str) -> Html:
    """Show a picture that is dark on white.

    Args:
        kind: `image/png`, say.
        data: the bytes of its file.
        words: what it shows, for readers who cannot see it.

    Example:
        >>> image("image/png", b"png", "times")
        '<img class="li-image" src="data:image/png;base64,cG5n" alt="times">'
    """
    source = f"data:{kind};base64,{b64encode(data).decode()}"
    return Html(tag("img", cls="li-image", src=source, alt=words).removesuffix("</img>"))


def plain(text: str, *, label: str = "text") -> Html:
    """Show text as it was printed: a log, an output; no more of it than `MOST_LETTERS`.

    Example:
        >>> plain("a < b", label="output")
        '<pre class="li-scroll" role="group" aria-label="output" tabindex="0">a &lt; b</pre>'
    """
    left = len(text) - MOST_LETTERS
    text = f"{text[:MOST_LETTERS]}\n... {left} more characters" if left > 0 else text
    return tag("pre", text, cls="li-scroll", role="group", aria_label=label, tabindex="0")


def folded(title: str, text: str, *, label: str = "", open: bool = False, count: bool = False) -> Html:
    """Show text as it was printed behind a line that opens it; nothing of an empty one.

    Args:
        title: the line.
        text: what is behind it.
        label: what that is, for screen readers; the title unless given.
        open: show it at once.
        count: say how many lines there are, without empty ones around them.

    Example:
        >>> "<summary>full log, 2 lines</summary>" in folded("full log", "a\\nb\\n", count=True)
        True
    """
    text = text.strip() if count else text
    lines = f", {plural(text.count(chr(10)) + 1, 'line')}" * count
    return fold(title + lines, plain(text, label=label or title), open) if text else Html()


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than its text.

    Attributes:
        content: text or HTML.
        kind: `good`, `bad`, `plain`, or nothing for no ground.
        align: `left`, `num` (right, with digits of one width), `mid`, or `wrap` for a heading of several lines.
        span: how many columns it takes.
    """

    content: object
    kind: str = ""
    align: str = "left"
    span: int = 1

    @property
    def classes(self) -> str:
        """For the element."""
        return " ".join([f"li-{name}" for name in (self.align if self.align != "left" else "", self.kind) if name])


def right_or_wrong(text: str) -> Cell:
    """Make a cell of a matrix of right and wrong: ✓ for "ok", ✗ and the text for anything else, a dash for nothing.

    Example:
        >>> right_or_wrong("ok").kind, right_or_wrong("110/330").kind, right_or_wrong("").content
        ('good', 'bad', '<span aria-label="not looked at" role="img">-</span>')
    """
    if not text:
        return Cell(tag("span", "-", aria_label="not looked at", role="img"), align="mid")
    if text == "ok":
        return Cell(tick(True), "good", "mid")
    return Cell(join([tick(False, "wrong: "), " ", text]), "bad", "mid")


@dataclass(frozen=True)
class Prose:
    """What is said of a row in sentences: the last of its cells, which stands below the others across the table."""

    content: object


def with_code(text: str) -> Html:
    """Write what stands between backticks as code.

    Example:
        >>> with_code("call `f`"), with_code("a lone `")
        ('call <code>f</code>', 'a lone `')
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one without a partner is no markup
        return join([text])
    return join(tag("code", part) if number % 2 else part for number, part in enumerate(parts))


def with_interval(text: str, *after: object) -> Html:
    """Write a text, and the interval in parentheses at its end so that no line breaks within.

    Args:
        text: what is measured.
        after: stands behind the interval, with it in one line.

    Example:
        >>> with_interval("2x faster (1.9-2.1)")
        '2x faster <span class="li-whole">(1.9-2.1)</span>'
    """
    words, opened, interval = text.partition(" (")
    return join([words, " ", tag("span", "(", interval, *after, cls="li-whole")] if opened else [words, *after])


def table(
    head: Sequence[object], rows: Sequence[Sequence[object]], *, caption: str, hide_caption: bool = False
) -> Html:
    """Lay out a table below its heading; the first cell of each row is its heading, a row of one cell heads a group.

    The heading does not scroll with a table that is wider than its place, nor is it squeezed into the width of a narrow one.

    Args:
        head: the names of the columns: text, HTML or a `Cell`; empty for none.
        rows: the cells of each row, in the same form.
        caption: what the table shows.
        hide_caption: leave it out, where a line above says the same.

    Example:
        >>> table(["kernel", "time"], [["axpy/cpp", Cell("2 µs", align="num")]], caption="times").count("scope=")
        3
    """
    columns = max([len(head), *(sum(not isinstance(cell, Prose) for cell in row) for row in rows)])
    heads = tag("thead", tag("tr", *(_cell(cell, "th", scope="col") for cell in head))) if head else ""
    body = []
    for row in rows:
        first, *others = row
        said = others.pop() if others and isinstance(others[-1], Prose) else None
        assert said is None or isinstance(said, Prose)
        if not others and columns > 1:
            group = tag("th", first, colspan=str(columns), scope="rowgroup")
            body.append(tag("tr", group, cls="li-group"))
        else:
            cells = [_cell(first, "th", scope="row", extra="li-name"), *(_cell(cell, "td") for cell in others)]
            body.append(tag("tr", *cells))
        if said is not None:
            body.append(tag("tr", tag("td", said.content, colspan=str(columns)), cls="li-prose"))
    title = "" if hide_caption else tag("p", tag("b", caption), cls="li-title")
    inner = tag("table", heads, tag("tbody", *body))
    return join([title, tag("div", inner, cls="li-wide", role="group", aria_label=caption, tabindex="0")])


def filled(head: Sequence[object], rows: Sequence[Sequence[object]]) -> tuple[list[object], list[list[object]]]:
    """Leave out of a table the columns of which no row says anything; a heading over several stays with them.

    Example:
        >>> filled(["kernel", "time", "ratio"], [["N=2"], ["axpy/cpp", "2 µs", ""]])
        (['kernel', 'time'], [['N=2'], ['axpy/cpp', '2 µs']])
    """
    spans = [cell.span if isinstance(cell, Cell) else 1 for cell in head]
    over = [number for number, span in enumerate(spans) for _ in range(span)]  # by column its heading
    said = [[str(cell.content if isinstance(cell, Cell) else cell) for cell in row] for row in rows]
    empty = [spans[number] == 1 and not any(row[at] for row in said if at < len(row)) for at, number in enumerate(over)]
    gone = {number for number, is_empty in zip(over, empty, strict=True) if is_empty}
    kept = [[cell for cell, is_empty in zip(row, empty, strict=False) if not is_empty] for row in rows]
    return [cell for number, cell in enumerate(head) if number not in gone], kept


def _cell(value: object, name: str, *, scope: str = "", extra: str = "") -> Html:
    cell = value if isinstance(value, Cell) else Cell(value)
    if name == "th" and scope == "col" and not str(cell.content):
        return tag("td", cls=cell.classes)  # an empty heading heads nothing
    span = str(cell.span) if cell.span > 1 else None
    return tag(name, cell.content, scope=scope, colspan=span, cls=f"{extra} {cell.classes}".strip())


def bar(
    share: float,
    low: float | None = None,
    high: float | None = None,
    *,
    start: float = 0.0,
    label: str = "",
    kind: str = "plain",
    width: int = _BAR,
) -> Html:
    """Draw a little bar, with a whisker from `low` to `high`.

    Args:
        share: where the bar ends, from 0 at the left to 1.
        low: where the whisker begins, likewise.
        high: where it ends.
        start: where the bar begins; a line marks it, unless that is at the left.
        label: what it shows, for screen readers; without one they pass it over, as a text beside it says the same.
        kind: `good`, `bad` or `plain`.
        width: of all of it, in pixels.

    Example:
        >>> bar(0.5, 0.4, 0.6, label="2.0 µs (1.6-2.4)").count("<line")
        3
    """

    def at(value: float) -> float:
        return round(1 + min(max(value, 0.0), 1.0) * (width - 3), 1)

    first, last = sorted((at(start), at(share)))
    shapes = [tag("rect", x=first, y="2", width=last - first, height="10", cls=f"li-{kind}", opacity="0.6")]
    if start:
        shapes.append(tag("line", x1=at(start), y1="0", x2=at(start), y2="14", stroke="currentColor"))
    if low is not None and high is not None:
        left, right = at(low), at(high)
        lines = ((left, 7, right, 7), (left, 4, left, 10), (right, 4, right, 10))
        shapes += [tag("line", x1=x1, y1=str(y1), x2=x2, y2=str(y2), stroke="currentColor") for x1, y1, x2, y2 in lines]
    size = {"width": str(width), "height": "14", "viewBox": f"0 0 {width} 14"}
    spoken: dict[str, object] = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    return tag("svg", *shapes, cls="li-bar li-middle" if start else "li-bar", **spoken, **size)
