"""The readable text of an HTML page: blocks become paragraphs, entities characters.

Scripts, styles, navigation and what is marked hidden are left out. Nothing is run or fetched, style sheets are not applied, and
no attempt is made to tell the main text from what surrounds it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.text import Parsed, Unreadable, decode

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_DROPPED = re.compile("script|style|nav|noscript|template|iframe|object|svg|head|button|select|textarea")
_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|caption|center|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|footer|form|"
    "h[1-6]|header|hr|li|main|menu|ol|p|pre|section|summary|table|tbody|tfoot|thead|tr|ul"
)
_HEADINGS = re.compile("h[1-6]|summary")
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s(?:[-–—|·•~/«»‹›]|::?)\s")
_SPACES = re.compile(r"\s+")


def parse_html(data: bytes, limits: ReadingLimits) -> Parsed:
    """Title (from `title`, else the first `h1`) and text, paragraphs parted by a blank line.

    Where `title` is a heading, a separator and more (the name of a site), the heading is the title.

    Meant to run in the child process: blocks nested very deep take the parser quadratic time.

    Raises:
        Unreadable: not text, too large, or the parser gave up.
    """
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError

    if len(data) > limits.text:
        raise Unreadable(f"is larger than {limits.text} bytes: split it, or raise the limit `text`")
    markup = decode(data, _declared_encoding(data))
    try:
        tree = LexborHTMLParser(markup.text)
    except SelectolaxError as error:
        raise Unreadable(f"is not HTML that can be parsed ({error})") from error
    return Parsed(_title(tree), _tidied(_Reader().read(tree.body)) if tree.body else "", markup.notes)


def _title(tree: LexborHTMLParser) -> str:
    headings = [_SPACES.sub(" ", heading.text()).strip() for heading in tree.css("h1")]
    named = tree.css_first("head > title")
    if named is None:
        return headings[0] if headings else ""
    title = _SPACES.sub(" ", named.text()).strip()
    begun = (heading for heading in headings if title.startswith(heading) and _SEPARATOR.match(title, len(heading)))
    return next(begun, title)


def _declared_encoding(data: bytes) -> str | None:
    """What the page's own `meta` element says its encoding is."""
    found = _CHARSET.search(data, 0, 4096)
    return found[1].decode("ascii") if found else None


@dataclass(slots=True)
class _Row:
    """A table row that is being read: where its pieces begin, how many cells it has, and whether these hold more than words."""

    start: int
    cells: int = 0
    layout: bool = False


class _Reader:
    """Takes the text of a page and its breaks, in reading order."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._rows: list[_Row] = []
        self._verbatim = 0

    def read(self, root: LexborNode) -> list[str]:
        """Walks by hand: pages nest deeper than Python's stack."""
        node, depth = root, 0
        while True:
            child = None if self._enter(node) else node.child
            if child is not None:
                node, depth = child, depth + 1
                continue
            while node.next is None:
                self._leave(node)
                parent = node.parent
                if depth <= 1 or parent is None:
                    return self._pieces
                node, depth = parent, depth - 1
            self._leave(node)
            node = node.next

    def _enter(self, node: LexborNode) -> bool:
        """Take a node's own text; True if nothing below it is to be read."""
        tag = node.tag or ""
        if tag == "-text":
            text = node.text_content or ""
            self._pieces.append(text if self._verbatim else _SPACES.sub(" ", text))
            return True
        if self._breaks(tag):
            self._pieces.append("\n\n")
        elif tag == "br":
            self._pieces.append("\n")
        if self._rows and (tag in ("tr", "pre") or _HEADINGS.fullmatch(tag)):
            self._rows[-1].layout = True
        if tag == "tr":
            self._rows.append(_Row(len(self._pieces)))
        elif tag == "pre":
            self._verbatim += 1
        return _is_dropped(node)

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "pre":
            self._verbatim -= 1
        elif tag == "tr":
            self._end_row(self._rows.pop())
        elif tag in ("td", "th"):
            self._pieces.append("\t")
            if self._rows:
                self._rows[-1].cells += 1
        if self._breaks(tag):
            self._pieces.append("\n\n")

    def _breaks(self, tag: str) -> bool:
        return not self._verbatim and _BLOCKS.fullmatch(tag) is not None

    def _end_row(self, row: _Row) -> None:
        """What was a block in a cell is a line's part; not where one cell is the row, or the table serves to lay out a page."""
        if row.cells > 1 and not row.layout:
            cells = "".join(self._pieces[row.start :]).split("\t")
            self._pieces[row.start :] = ["\t".join(_SPACES.sub(" ", cell).strip() for cell in cells)]


def _is_dropped(node: LexborNode) -> bool:
    tag = node.tag or ""
    dropped = _DROPPED.fullmatch(tag) is not None and not (tag == "button" and _in_heading(node))
    return dropped or "hidden" in node.attributes


def _in_heading(node: LexborNode) -> bool:
    """Whether the nearest block around it is a heading: one that folds what is below it is often a button itself."""
    above = node.parent
    while above is not None and not _BLOCKS.fullmatch(above.tag or ""):
        above = above.parent
    return above is not None and _HEADINGS.fullmatch(above.tag or "") is not None


def _tidied(pieces: list[str]) -> str:
    """At most one blank line in a row, no white space at the ends of lines."""
    text = re.sub(r" {2,}", " ", "".join(pieces))
    lines = "\n".join(line.strip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()
