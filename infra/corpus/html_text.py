"""HTML page -> plain text: the main content only, one blank line between blocks, code kept as it stands."""

import re
from html.parser import HTMLParser
from typing import Final, NamedTuple

Attributes = list[tuple[str, str | None]]

NOTHING, SPACE, CELL, LINE, BLOCK = "", " ", "  ", "\n", "\n\n"
STRENGTH: Final = {NOTHING: 0, SPACE: 1, CELL: 2, LINE: 3, BLOCK: 4}

VOID_TAGS: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
SKIPPED_TAGS: Final = frozenset({"aside", "button", "footer", "form", "head", "header", "iframe", "nav"}) | {
    "noscript",
    "script",
    "select",
    "style",
    "svg",
    "template",
}
SKIPPED_CLASSES: Final = frozenset(
    {"breadcrumbs", "contents", "docnav", "footer", "headerlink", "navfooter", "navheader"}
) | {"related", "sphinxsidebar", "toc", "toctree-wrapper", "translations", "viewcode-link"}
SKIPPED_ROLES: Final = frozenset({"banner", "contentinfo", "navigation", "search"})
SKIPPED_IDS: Final = frozenset({"banner", "footer"})
BLOCK_TAGS: Final = (
    frozenset({"address", "article", "blockquote", "body", "caption", "center", "details", "div", "dl", "dt"})
    | {"fieldset", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "main", "ol", "p", "pre"}
    | {"section", "summary", "table", "tbody", "thead", "ul"}
)
LINE_TAGS: Final = frozenset({"br", "dd", "li", "tr"})
CELL_TAGS: Final = frozenset({"td", "th"})


def html_to_text(page: str) -> str:
    """Return the readable text of `page`: its main content where the page marks one, else its whole body.

    Navigation, scripts, forms and permalinks are left out; runs of blanks collapse except inside `pre`.
    """
    parser = _TextParser()
    parser.feed(page)
    parser.close()
    return parser.main.text() or parser.whole.text()


class _Flow:
    """Text written with the strongest separator asked for since the last word."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._separator = NOTHING
        self._after_marker = False

    def separate(self, separator: str) -> None:
        if not self._after_marker and STRENGTH[separator] > STRENGTH[self._separator]:
            self._separator = separator

    def write(self, text: str) -> None:
        if self._pieces:
            self._pieces.append(self._separator)
        self._pieces.append(text)
        self._separator, self._after_marker = NOTHING, False

    def write_words(self, text: str) -> None:
        words = " ".join(text.split())
        if not words or text[0].isspace():
            self.separate(SPACE)
        if words:
            self.write(words)
            self.separate(SPACE if text[-1].isspace() else NOTHING)

    def write_marker(self, marker: str) -> None:
        self.write(marker)
        self._after_marker = True

    def text(self) -> str:
        lines = (line.rstrip() for line in "".join(self._pieces).split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Element(NamedTuple):
    tag: str
    skipped: bool = False
    in_main: bool = False
    in_cell: bool = False
    in_pre: bool = False


class _TextParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.whole, self.main = _Flow(), _Flow()
        self._open = [_Element("")]

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        self._separate(tag)
        if tag in VOID_TAGS:
            return
        parent = self._open[-1]
        self._open.append(
            _Element(
                tag,
                skipped=parent.skipped or _is_skipped(tag, attrs),
                in_main=parent.in_main or tag == "main" or ("role", "main") in attrs,
                in_cell=parent.in_cell or tag in CELL_TAGS,
                in_pre=parent.in_pre or tag == "pre",
            )
        )
        if tag == "li":
            for flow in self._flows():
                flow.write_marker("- ")

    def handle_endtag(self, tag: str) -> None:
        if not any(element.tag == tag for element in self._open):
            return
        while self._open.pop().tag != tag:
            pass
        self._separate(tag)

    def handle_data(self, data: str) -> None:
        for flow in self._flows():
            if self._open[-1].in_pre:
                flow.write(data)
            else:
                flow.write_words(data)

    def _separate(self, tag: str) -> None:
        separator = _separator(tag, in_cell=self._open[-1].in_cell)
        for flow in self._flows():
            flow.separate(separator)

    def _flows(self) -> list[_Flow]:
        element = self._open[-1]
        if element.skipped:
            return []
        return [self.whole, self.main] if element.in_main else [self.whole]


def _separator(tag: str, *, in_cell: bool) -> str:
    if tag in CELL_TAGS:
        return CELL
    if tag not in LINE_TAGS and tag not in BLOCK_TAGS:
        return NOTHING
    if in_cell and tag != "pre":
        return SPACE
    return LINE if tag in LINE_TAGS else BLOCK


def _is_skipped(tag: str, attrs: Attributes) -> bool:
    values = dict(attrs)
    return (
        tag in SKIPPED_TAGS
        or values.get("role") in SKIPPED_ROLES
        or values.get("id") in SKIPPED_IDS
        or not SKIPPED_CLASSES.isdisjoint((values.get("class") or "").split())
    )
