"""The one style sheet: it follows the colours of Lab and of VS Code, light or dark, and sets none of its own as they are.

Each colour is mixed with `currentColor`, the text colour of the page: what is too pale on white gets darker there, what is
too dark on black gets lighter, and a page that defines no variables at all is served as well. Grounds are tints.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Ink:
    """A colour of text.

    Attributes:
        names: CSS variables that may define it, the first that does counts.
        fallback: where none does.
        share: of it in the mixture with the page's own text colour, in percent.
        tokens: the classes that Pygments has for what stands in it.
    """

    names: tuple[str, ...]
    fallback: str
    share: int
    tokens: str = ""

    @property
    def css(self) -> str:
        """The value for a style sheet."""
        value = self.fallback
        for name in reversed(self.names):
            value = f"var({name},{value})"
        return f"color-mix(in srgb,{value} {self.share}%,currentColor)"


def _editor(role: str, fallback: str, share: int, tokens: str, vscode: str = "") -> Ink:
    names = (f"--jp-mirror-editor-{role}-color", *([f"--vscode-{vscode}"] if vscode else []))
    return Ink(names, fallback, share, tokens)


#: The inks by name; tests compute the contrast of each with the grounds of Lab's themes.
INKS = {
    "good": Ink((), "#1a9b40", 45),
    "bad": Ink((), "#e5333b", 50),
    "keyword": _editor("keyword", "#2a8a2e", 50, "k kc kd kn kp kr ow"),
    "type": _editor("variable-3", "#12855c", 55, "kt nb nc"),
    "number": _editor("number", "#18882a", 55, "m mb mf mh mi mo", "debugTokenExpression-number"),
    "string": _editor("string", "#c64040", 80, "s s1 s2 sa sb sc sd se si sr", "debugTokenExpression-string"),
    "comment": _editor("comment", "#408080", 55, "c c1 ch cm"),
    "meta": _editor("meta", "#aa22ff", 45, "cp cpf cs"),
    "name": _editor("def", "#3a5fff", 50, "nf fm nd"),
    "operator": _editor("operator", "#9a30dd", 45, "o"),
}

#: Translucent grounds by name: red, green, blue, alpha.
TINTS = {
    "good": (46, 160, 67, 0.13),
    "bad": (229, 51, 59, 0.13),
    "plain": (128, 128, 128, 0.12),
}

#: Text that matters less: this share of the text colour, the rest transparent.
FAINT = 78

#: What every rule begins with. Not to have an id weighs as much as an id does: Lab's own rules for tables, rows and code
#: have three classes in front, and would win otherwise.
SCOPE = ".lltm-inline:not(#li)"

#: Whatever scrolls has a position, and so holds the hidden words that stand in it: they have none, and would otherwise lengthen
#: the first box around it that has one.
_RULES = """
&{position:relative;line-height:1.45;font-size:var(--jp-content-font-size1,13px)}
& p,& pre,& ul{margin:.3em 0;padding:0;text-align:left}
& ul{padding-left:1.4em}
& .li-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
& pre,& code{font-family:var(--jp-code-font-family,var(--vscode-editor-font-family,ui-monospace,monospace));font-size:.96em;\
background:none;color:inherit;padding:0}
& pre,& .li-wide,& .li-scroll{position:relative}
& pre{white-space:pre;overflow-x:auto;line-height:1.4;padding-bottom:.35em}
& table pre{margin:0;white-space:pre-wrap}
& pre code{white-space:inherit}
& .li-wrap,& .li-wrap code{white-space:pre-wrap;overflow-wrap:break-word}
& .li-scroll{overflow:auto;max-height:116em}
& .li-wide{overflow-x:auto;container:li-wide / inline-size}
& .li-row{display:block;padding-right:1em}
& .li-no{display:inline-block;width:4.6em;box-sizing:border-box;padding-right:1.2em;text-align:right;white-space:pre;\
user-select:none;color:color-mix(in srgb,currentColor FAINT%,transparent)}
& .li-source{display:inline-block;min-width:100%}
& .li-at{text-decoration:underline wavy;text-underline-offset:.2em}
& .li-note{margin:.4em 0;padding:.35em .8em;border-left:3px solid #8888;overflow-wrap:break-word}
& .li-good{background:TINT-good;border-color:#2ea043}
& .li-bad{background:TINT-bad;border-color:#e5333b}
& .li-plain{background:TINT-plain}
& .li-badge .li-is-good,& .li-badge .li-is-bad{background:none}
& .li-is-good{color:INK-good}
& .li-is-bad{color:INK-bad}
& .li-badge{display:inline-block;padding:0 .55em;border:1px solid #8888;border-radius:.8em;font-size:.92em;white-space:nowrap}
& .li-faint{color:color-mix(in srgb,currentColor FAINT%,transparent)}
& .li-small{font-size:.92em}
& .li-whole{white-space:nowrap}
& details{margin:.25em 0}
& summary{cursor:pointer}
& details>:not(summary){margin-left:1.1em}
& table{border-collapse:collapse;table-layout:auto;margin:.3em 0;font-size:inherit;color:inherit}
& .li-title{margin:.5em 0 .2em}
& table tbody tr,& table thead tr{background:none;text-align:left}
& table th,& table td{text-align:left;vertical-align:baseline;padding:.18em .7em .18em 0;white-space:normal;\
overflow-wrap:normal;word-break:normal;font-weight:normal}
& table thead th{border-bottom:1px solid #8888;vertical-align:bottom}
& table tbody tr:hover{background:TINT-plain}
& table th.li-name{white-space:nowrap}
& table th.li-wrap{white-space:normal;min-width:12em}
& .li-wide th.li-name{position:sticky;left:0;z-index:1;background-color:var(--jp-layout-color0,var(--vscode-editor-background,transparent))}
& table .li-num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
& table .li-mid{text-align:center;white-space:nowrap;padding:.18em .4em;border:1px solid transparent;background-clip:padding-box}
& table thead .li-mid{border-bottom:1px solid #8888;white-space:normal;vertical-align:bottom}
& table .li-good{background-color:TINT-good}
& table .li-bad{background-color:TINT-bad;font-weight:bold}
& table .li-plain{background-color:TINT-plain}
& table .li-prose td{padding-left:1.4em}
& table .li-group th{font-weight:bold;padding-top:.6em}
& table .li-group code{font-weight:normal}
& svg.li-bar{display:inline-block;vertical-align:-2px;max-width:none}
& svg.li-bar rect{fill:currentColor;fill-opacity:.38}
& svg.li-bar .li-good,& svg.li-bar .li-good+rect{fill:#2ea043;fill-opacity:.8}
& svg.li-bar .li-bad{fill:#e5333b;fill-opacity:.8}
& svg.li-bar line{stroke:currentColor;stroke-width:1.5}
& figure{margin:.5em 0}
& svg.li-grid{display:block;fill:none;stroke:currentColor;shape-rendering:crispEdges}
& svg.li-grid rect{stroke-width:.2;stroke-opacity:.6}
& .li-image{max-width:100%;height:auto}
&:is([data-jp-theme-light=false] *) .li-image{DARK}
&:is(.vscode-dark *) .li-image{DARK}
@container li-wide (max-width:600px){& svg.li-middle{display:none}}
@container li-wide (max-width:380px){& svg.li-bar{display:none}}
@container li-wide (max-width:440px){& table th,& table td{padding-right:.3em}\
& table .li-num{white-space:normal}\
& .li-wide tr:has(.li-num)>th.li-name:not(.li-num){position:absolute}\
& table tr:has(.li-num):not(:has(th.li-num))>td{padding-top:1.6em}\
& table:has(tbody .li-num):not(:has(th.li-num.li-name)) thead th:first-child{font-size:0;padding:0}}
@media (forced-colors:active){& .li-note{border-color:CanvasText}}
"""


#: What a picture on white becomes on a dark page: light and dark change places, hues stay, and its ground is the page's.
_DARK = "filter:invert(1) hue-rotate(180deg);mix-blend-mode:screen"


@cache
def style() -> str:
    """Return the style sheet, every rule limited to what stands in an element of class `lltm-inline`.

    Example:
        >>> style().count("{") == style().count("}") and "lltm-inline" in style()
        True
    """
    rules = _RULES.replace("DARK", _DARK)
    for name, ground in TINTS.items():
        rules = rules.replace(f"TINT-{name}", f"rgba({','.join(map(str, ground))})")
    for name, ink in INKS.items():
        rules = rules.replace(f"INK-{name}", ink.css)
        selectors = ",".join(f"& .li-code .{word}" for word in ink.tokens.split())
        extra = {"keyword": ";font-weight:bold", "comment": ";font-style:italic"}.get(name, "")
        rules += f"{selectors}{{color:{ink.css}{extra}}}\n" if selectors else ""
    return rules.replace("FAINT", str(FAINT)).replace("&", SCOPE).strip()
