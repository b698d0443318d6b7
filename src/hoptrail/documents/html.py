"""The readable text of an HTML page: blocks become paragraphs, entities characters.

Scripts, styles, navigation and what is marked hidden are left out. Nothing is run or fetched, style sheets are not applied, and
no attempt is made to tell the main text from what surrounds it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.text import Parsed, Unreadable, decode

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_DROPPED = re.compile("script|style|nav|noscript|template|iframe|object|svg|head|button|select|textarea")
_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|caption|center|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|footer|form|"
    "h[1-6]|header|hr|li|main|menu|ol|p|section|summary|table|tbody|tfoot|thead|tr|ul"
)
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def parse_html(data: bytes, limits: ReadingLimits) -> Parsed:
    """Title (from `title`, else the first `h1`) and text, paragraphs parted by a blank line.

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
    heading = tree.css_first("head > title") or tree.css_first("h1")
    title = heading.text() if heading else ""
    return Parsed(title, _tidied(_pieces(tree.body)) if tree.body else "", markup.notes)


def _declared_encoding(data: bytes) -> str | None:
    """What the page's own `meta` element says its encoding is."""
    found = _CHARSET.search(data, 0, 4096)
    return found[1].decode("ascii") if found else None


def _pieces(root: LexborNode) -> list[str]:
    """Text and breaks in reading order. Walks by hand: pages nest deeper than Python's stack."""
    pieces: list[str] = []
    node, depth = root, 0
    while True:
        child = None if _enter(node, pieces) else node.child
        if child is not None:
            node, depth = child, depth + 1
            continue
        while node.next is None:
            _leave(node, pieces)
            parent = node.parent
            if depth <= 1 or parent is None:
                return pieces
            node, depth = parent, depth - 1
        _leave(node, pieces)
        node = node.next


def _enter(node: LexborNode, pieces: list[str]) -> bool:
    """Take a node's own text; True if nothing below it is to be read."""
    tag = node.tag or ""
    if tag == "-text":
        pieces.append(_SPACES.sub(" ", node.text_content or ""))
        return True
    if tag == "pre":
        pieces.append(f"\n\n{node.text()}\n\n")
        return True
    if _DROPPED.fullmatch(tag) or "hidden" in node.attributes:
        return True
    if _BLOCKS.fullmatch(tag):
        pieces.append("\n\n")
    elif tag == "br":
        pieces.append("\n")
    return False


def _leave(node: LexborNode, pieces: list[str]) -> None:
    if _BLOCKS.fullmatch(node.tag or ""):
        pieces.append("\n\n")
    elif node.tag in ("td", "th"):
        pieces.append("\t")


def _tidied(pieces: list[str]) -> str:
    """At most one blank line in a row, no white space at the ends of lines."""
    text = re.sub(r" {2,}", " ", "".join(pieces))
    lines = "\n".join(line.strip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()
